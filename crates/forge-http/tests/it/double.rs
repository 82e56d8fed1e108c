//! A test server on plain TCP. Unlike wiremock, it can break off connections.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The server's reaction to a request.
#[derive(Clone)]
pub enum Act {
    /// Sends these bytes and closes the connection.
    Send(String),
    /// Resets the connection at once.
    Reset,
}

/// Returns an answer with the announced length.
pub fn answer(status: &str, headers: &str, body: &str) -> Act {
    Act::Send(format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    ))
}

/// Returns an answer that ends ten bytes before the announced length.
pub fn truncated(body: &str) -> Act {
    Act::Send(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len() + 10
    ))
}

/// A server that plays a script with one act for each request, and repeats the last act.
pub struct Double {
    pub url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Double {
    pub async fn start(script: Vec<Act>) -> Self {
        Self::serve(TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    pub fn serve(listener: TcpListener, script: Vec<Act>) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let Some(head) = request(&mut socket).await else {
                    continue;
                };
                let n = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(head);
                    seen.len()
                };
                match script.get(n - 1).or(script.last()).unwrap() {
                    Act::Send(bytes) => socket.write_all(bytes.as_bytes()).await.unwrap(),
                    Act::Reset => socket.set_zero_linger().unwrap(),
                }
            }
        });
        Self { url, heads }
    }

    /// Returns the heads of the received requests, in order.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.heads().len()
    }
}

/// Reads one request and returns its head.
async fn request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|l| {
                    l.to_ascii_lowercase()
                        .strip_prefix("content-length:")
                        .map(str::to_owned)
                })
                .find_map(|n| n.trim().parse::<usize>().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return Some(head.to_owned());
            }
        }
    }
}
