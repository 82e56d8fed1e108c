//! Requests to hosts of the world, sent by a test or by another host.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// An answer to a [`Caller`].
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// Returns the body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// Returns the body of an answer with status 200 as JSON.
    ///
    /// # Panics
    ///
    /// Panics on another status.
    #[must_use]
    pub fn ok(&self) -> Value {
        let text = String::from_utf8_lossy(&self.bytes);
        assert_eq!(self.status, 200, "{text}");
        self.json()
    }

    /// Returns a header; empty if it is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the name of the error.
    #[must_use]
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the message of the error.
    #[must_use]
    pub fn message(&self) -> String {
        self.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Calls a host with XRPC, signed in or anonymously, so that a test can act as another client.
///
/// Every request uses a separate connection.
#[derive(Debug, Clone)]
pub struct Caller {
    base: String,
    authorization: Option<String>,
}

impl Caller {
    /// Creates an anonymous caller of the host at `http://…`.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            base: url.to_owned(),
            authorization: None,
        }
    }

    /// Returns a caller of the same host with a token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        self.with_authorization(&format!("Bearer {token}"))
    }

    /// Returns a caller of the same host with an `Authorization` header.
    #[must_use]
    pub fn with_authorization(&self, authorization: &str) -> Self {
        Self {
            base: self.base.clone(),
            authorization: Some(authorization.to_owned()),
        }
    }

    /// Returns a caller of the same host, signed in with a password.
    ///
    /// # Panics
    ///
    /// Panics if the host refuses.
    #[must_use]
    pub fn sign_in(&self, identifier: &str, password: &str) -> Self {
        let body = serde_json::json!({ "identifier": identifier, "password": password });
        let session = self.post("com.atproto.server.createSession", &body).ok();
        self.with_token(session["accessJwt"].as_str().expect("a token"))
    }

    /// Calls a query.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn get(&self, nsid: &str, params: &[(&str, &str)]) -> Answer {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> = params
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value)))
            .collect();
        let query = if pairs.is_empty() {
            String::new()
        } else {
            format!("?{}", pairs.join("&"))
        };
        self.send("GET", &format!("xrpc/{nsid}{query}"), &[], &[])
    }

    /// Gets a path that is not an XRPC method.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn page(&self, path: &str) -> Answer {
        self.send("GET", path.trim_start_matches('/'), &[], &[])
    }

    /// Calls a procedure with JSON.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn post(&self, nsid: &str, body: &Value) -> Answer {
        self.post_bytes(nsid, "application/json", body.to_string().as_bytes())
    }

    /// Calls a procedure without a body.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn post_nothing(&self, nsid: &str) -> Answer {
        self.send("POST", &format!("xrpc/{nsid}"), &[], &[])
    }

    /// Calls a procedure with bytes.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn post_bytes(&self, nsid: &str, kind: &str, body: &[u8]) -> Answer {
        self.send(
            "POST",
            &format!("xrpc/{nsid}"),
            &[("content-type", kind)],
            body,
        )
    }

    fn send(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let authorization = self
            .authorization
            .as_deref()
            .map(|it| ("authorization", it));
        let headers: Vec<_> = headers.iter().copied().chain(authorization).collect();
        let url = format!("{}/{path}", self.base);
        request(verb, &url, &headers, body).unwrap_or_else(|error| panic!("{verb} {url}: {error}"))
    }
}

/// Gets an `http://` address; returns status and body.
pub(crate) fn get(url: &str) -> io::Result<(u16, Vec<u8>)> {
    let answer = request("GET", url, &[], &[])?;
    Ok((answer.status, answer.bytes))
}

/// Uses HTTP 1.0, so that the answer is not chunked and ends with the connection.
fn request(verb: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Answer> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{url}: {what}"));
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| wrong("no http"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut head = format!("{verb} /{path} HTTP/1.0\r\nhost: {authority}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if verb == "POST" {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    // A host that refuses a large body answers before it has read the whole body.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let Some(end) = end else {
        read?;
        return Err(wrong("no headers"));
    };
    let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|it| it.parse().ok())
        .ok_or_else(|| wrong("no status"))?;
    let headers = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let bytes = answer.get(end + 4..).unwrap_or_default().to_vec();
    Ok(Answer {
        status,
        headers,
        bytes,
    })
}
