//! Serves the hosts of handles over TLS. One proxy acts as all of these hosts.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use crate::{host::lock, worker::Worker};

/// A certificate for `*.handles.example`. The file also has its key.
const SERVER: &[u8] = include_bytes!("server.pem");
/// Time limit for a client to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The answer of a handle's host.
#[derive(Debug, Clone)]
pub struct Page {
    status: u16,
    location: Option<String>,
    body: Vec<u8>,
}

impl Page {
    /// Creates an answer with status 200 and a text.
    #[must_use]
    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            location: None,
            body: body.into(),
        }
    }

    /// Creates an answer with a status and no body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::text("")
        }
    }

    /// Creates a redirect to `to`.
    #[must_use]
    pub fn redirect(to: &str) -> Self {
        Self {
            location: Some(to.to_owned()),
            ..Self::status(302)
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} Status\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
             connection: close\r\n",
            self.status,
            self.body.len()
        );
        if let Some(to) = &self.location {
            head += &format!("location: {to}\r\n");
        }
        head += "\r\n";
        [head.as_bytes(), &self.body].concat()
    }
}

#[derive(Default)]
struct State {
    pages: BTreeMap<String, Page>,
    /// Host and path of every request so far.
    asked: Vec<(String, String)>,
    /// Text of every request so far, and of the requests that open a tunnel.
    requests: Vec<String>,
}

/// Hosts in the domain `handles.example`. Each host answers every path with one page, and a host
/// without a page does not exist. A client uses [`Self::url`] as its proxy and trusts
/// [`Self::authority`]. The hosts stop when this value is dropped.
pub struct HandleHosts {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    worker: Worker,
}

impl HandleHosts {
    /// Starts the proxy without any host.
    ///
    /// # Errors
    ///
    /// Fails if no port is available.
    ///
    /// # Panics
    ///
    /// Panics if the certificate cannot be used.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
        let known = Arc::clone(&state);
        let tls = tls();
        let worker = Worker::start("handle-hosts", move |ended| {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else {
                    continue;
                };
                let (known, tls) = (Arc::clone(&known), Arc::clone(&tls));
                std::thread::spawn(move || {
                    // A client may disconnect early, which is not an error.
                    let _ = serve(stream, &known, tls);
                });
            }
        })?;
        Ok(Self {
            address,
            state,
            worker,
        })
    }

    /// Returns the URL of the proxy for `https`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the path of the certificate authority's file, which the client must trust.
    #[must_use]
    pub fn authority() -> PathBuf {
        let path = "src/handles/authority.pem";
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
    }

    /// Sets the answer of a host. With `None`, the host does not exist.
    pub fn set(&self, host: &str, page: Option<Page>) {
        let mut state = lock(&self.state);
        match page {
            Some(page) => state.pages.insert(host.to_owned(), page),
            None => state.pages.remove(host),
        };
    }

    /// Returns the paths that clients requested from a host.
    #[must_use]
    pub fn asked(&self, host: &str) -> Vec<String> {
        let state = lock(&self.state);
        let asked = state.asked.iter().filter(|(it, _)| it == host);
        asked.map(|(_, path)| path.clone()).collect()
    }

    /// Returns the text of every request that a host or the proxy received, with its body.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        lock(&self.state).requests.clone()
    }
}

impl Drop for HandleHosts {
    fn drop(&mut self) {
        // The worker waits for a connection, so this connection wakes it.
        let address = self.address;
        self.worker.stop(|| TcpStream::connect(address).is_ok());
    }
}

fn tls() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(SERVER).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(SERVER).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the usual versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a key that fits");
    Arc::new(config)
}

/// Serves one connection: the `CONNECT` request, and then the request inside the tunnel.
fn serve(mut stream: TcpStream, state: &Mutex<State>, tls: Arc<ServerConfig>) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    let connect = request(&mut stream)?;
    lock(state).requests.push(connect.clone());
    let target = second_word(&connect);
    let host = target.split(':').next().unwrap_or_default().to_owned();
    let page = lock(state).pages.get(&host).cloned();
    let Some(page) = page else {
        return stream.write_all(b"HTTP/1.1 502 No such host\r\ncontent-length: 0\r\n\r\n");
    };
    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    let connection = ServerConnection::new(tls).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let request = request(&mut stream)?;
    {
        let mut state = lock(state);
        state.asked.push((host, second_word(&request)));
        state.requests.push(request);
    }
    stream.write_all(&page.bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// Reads the head of a request, and the body if the head states its length.
fn request(stream: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut one = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut one)?;
        bytes.extend(one);
    }
    let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    let length = |line: &str| line.strip_prefix("content-length:")?.trim().parse().ok();
    let mut body = vec![0_u8; head.lines().find_map(length).unwrap_or(0)];
    stream.read_exact(&mut body)?;
    bytes.extend(body);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn second_word(request: &str) -> String {
    request.split(' ').nth(1).unwrap_or_default().to_owned()
}
