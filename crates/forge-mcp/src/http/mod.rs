//! The server over HTTP, for programs on this machine.
//!
//! A request of 2026-07-28 stands alone; nothing is kept between two. A client of 2025-11-25 has a
//! session, because without one it could not be asked before a merge; a session that is not used
//! ends by itself.
//!
//! It listens on loopback unless told otherwise, wants a bearer token on every request, refuses a
//! `Host` and an `Origin` that are not the address it listens on, and bounds bodies and
//! connections. It serves one principal: the accounts of whoever started it.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use forge_core::{Error, ErrorKind, Result};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::{net::TcpListener, sync::Semaphore};
use tower_service::Service as _;

use crate::server::Server;

/// The largest request, in bytes.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// How many connections are served at once; the next ones wait to be accepted.
const CONNECTIONS: usize = 256;

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a session of a client of 2025-11-25 is kept that nobody uses.
const SESSION_IDLE: Duration = Duration::from_secs(600);

/// How long a session keeps an answer for a client whose connection broke before it had it. All that
/// were made meanwhile are in memory, and each can have tens of kilobytes.
const SESSION_ANSWERS: Duration = Duration::from_secs(10);

/// Where it is served.
pub const PATH: &str = "/mcp";

/// The secret that a client sends as `Authorization: Bearer …`.
#[derive(Clone)]
pub struct Bearer(Arc<str>);

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer(****)")
    }
}

impl Bearer {
    /// A token that somebody chose.
    ///
    /// # Errors
    /// `invalid_input` when it is shorter than 16 characters or cannot stand in a header.
    pub fn new(token: &str) -> Result<Self> {
        let token = token.trim();
        if token.len() < 16 || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::invalid(
                "token",
                "the bearer token has fewer than 16 characters, or blanks",
            )
            .with_hint("leave it away to have one made"));
        }
        Ok(Self(token.into()))
    }

    /// A new one of 256 random bits.
    ///
    /// # Errors
    /// `internal` when the system has no random numbers.
    pub fn random() -> Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| {
            Error::new(
                ErrorKind::Internal,
                format!("the system has no random numbers: {e}"),
            )
        })?;
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Ok(Self(hex.into()))
    }

    /// The token itself, to tell whoever started the server.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a header has it; takes as long for any other of the same length.
    fn is_in(&self, header: Option<&HeaderValue>) -> bool {
        let Some((scheme, token)) = header
            .and_then(|h| h.to_str().ok())
            .and_then(|h| h.split_once(' '))
        else {
            return false;
        };
        let (sent, own) = (token.trim().as_bytes(), self.0.as_bytes());
        let differs = sent.iter().zip(own).fold(0, |d, (a, b)| d | (a ^ b));
        scheme.eq_ignore_ascii_case("bearer") && sent.len() == own.len() && differs == 0
    }
}

/// How it listens.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The address; port 0 takes a free one.
    pub addr: SocketAddr,
    /// The token that every request has to have; `None` for fixtures of tests alone.
    pub bearer: Option<Bearer>,
    /// Hosts that requests may name beside the address itself.
    pub hosts: Vec<String>,
}

/// A server that listens.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    server: Server,
    options: HttpOptions,
    addr: SocketAddr,
}

/// Listens.
///
/// # Errors
/// `config` when the address cannot be taken.
pub async fn serve(server: Server, options: HttpOptions) -> Result<Listening> {
    let taken = |e: std::io::Error| {
        Error::new(
            ErrorKind::Config,
            format!("cannot listen on {}: {e}", options.addr),
        )
        .with_hint("pass another address, such as 127.0.0.1:0 for a free port")
    };
    let listener = TcpListener::bind(options.addr).await.map_err(taken)?;
    let addr = listener.local_addr().map_err(taken)?;
    Ok(Listening {
        listener,
        server,
        options,
        addr,
    })
}

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Mcp = StreamableHttpService<Server, LocalSessionManager>;

impl Listening {
    /// The address to connect to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.addr)
    }

    /// Serves until the future is dropped.
    pub async fn run(self) {
        let server = self.server;
        let mcp: Mcp = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(sessions()),
            config(self.addr, &self.options.hosts),
        );
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                // Too many open files, or a client that left: wait for better times.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            // Without it each answer of an event stream waits for the delayed acknowledgement.
            let _ = stream.set_nodelay(true);
            let (mcp, bearer) = (mcp.clone(), self.options.bearer.clone());
            tokio::spawn(async move {
                let service =
                    service_fn(move |request| answer(mcp.clone(), bearer.clone(), request));
                let _ = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
                drop(permit);
            });
        }
    }
}

fn sessions() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    sessions.session_config.completed_cache_ttl = SESSION_ANSWERS;
    sessions
}

fn config(addr: SocketAddr, more: &[String]) -> StreamableHttpServerConfig {
    let mut hosts = vec![addr.to_string(), format!("localhost:{}", addr.port())];
    hosts.extend(more.iter().cloned());
    StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_allowed_hosts(hosts)
        // A page of a browser has no business here, but one that this very address served.
        .with_allowed_origins([
            format!("http://{addr}"),
            format!("http://localhost:{}", addr.port()),
        ])
        .enforce_origin_validation()
        .with_max_request_body_bytes(BODY_MAX)
}

async fn answer(
    mut mcp: Mcp,
    bearer: Option<Bearer>,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    if let Some(bearer) = &bearer
        && !bearer.is_in(request.headers().get(header::AUTHORIZATION))
    {
        let mut refused = plain(
            StatusCode::UNAUTHORIZED,
            "a bearer token is required: see what `forge mcp --http` printed\n",
        );
        refused.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"forge\""),
        );
        return Ok(refused);
    }
    if request.uri().path().trim_end_matches('/') != PATH {
        return Ok(plain(StatusCode::NOT_FOUND, "it is served at /mcp\n"));
    }
    mcp.call(request).await
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
