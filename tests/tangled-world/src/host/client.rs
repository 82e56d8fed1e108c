//! Sends requests to the hosts of the world, for tests and for other hosts.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// The answer to a request of a [`Caller`].
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status of the answer.
    pub status: u16,
    /// Headers of the answer, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body of the answer.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// Returns the body as JSON, or null if the body is not JSON.
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

    /// Returns the header with this lower-case name. The value is empty if the header is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the name of the XRPC error.
    #[must_use]
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the message of the XRPC error.
    #[must_use]
    pub fn message(&self) -> String {
        self.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Calls XRPC methods of a host, logged in or anonymously, so that a test can act as another
/// client.
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

    /// Returns a caller of the same host that sends a token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        self.with_authorization(&format!("Bearer {token}"))
    }

    /// Returns a caller of the same host that sends an `Authorization` header.
    #[must_use]
    pub fn with_authorization(&self, authorization: &str) -> Self {
        Self {
            base: self.base.clone(),
            authorization: Some(authorization.to_owned()),
        }
    }

    /// Logs in with a password, and returns a caller with the session.
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

    /// Calls an XRPC query.
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

    /// Requests a path that is not an XRPC method.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn page(&self, path: &str) -> Answer {
        self.send("GET", path.trim_start_matches('/'), &[], &[])
    }

    /// Calls an XRPC procedure with a JSON body.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn post(&self, nsid: &str, body: &Value) -> Answer {
        self.post_bytes(nsid, "application/json", body.to_string().as_bytes())
    }

    /// Calls an XRPC procedure without a body.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn post_nothing(&self, nsid: &str) -> Answer {
        self.send("POST", &format!("xrpc/{nsid}"), &[], &[])
    }

    /// Calls an XRPC procedure with a body of bytes.
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

    /// Sends any request, to a path without its first slash.
    ///
    /// # Panics
    ///
    /// Panics if the host cannot be reached.
    #[must_use]
    pub fn send(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let authorization = self
            .authorization
            .as_deref()
            .map(|it| ("authorization", it));
        let headers: Vec<_> = headers.iter().copied().chain(authorization).collect();
        let url = format!("{}/{path}", self.base);
        request(verb, &url, &headers, body).unwrap_or_else(|error| panic!("{verb} {url}: {error}"))
    }
}

/// Requests an `http://` URL, and returns the status and the body.
pub(crate) fn get(url: &str) -> io::Result<(u16, Vec<u8>)> {
    let answer = request("GET", url, &[], &[])?;
    Ok((answer.status, answer.bytes))
}

/// Sends a request in HTTP 1.0, so that the answer is not chunked and ends with the connection.
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
    if verb == "POST" || !body.is_empty() {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    // A host that refuses a large body answers before it has read all of it, so a failed write is
    // ignored.
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
