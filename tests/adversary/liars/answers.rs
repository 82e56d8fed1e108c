//! Parses a double's HTTP response and serializes the changed response.

/// An HTTP response: status, headers, and a body that is neither chunked nor compressed.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: body.as_bytes().to_vec(),
        }
    }

    /// Parses a complete response, which ends with the connection.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut headers: Vec<(String, String)> = lines
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut body = bytes[end + 4..].to_vec();
        if headers
            .iter()
            .any(|(name, value)| name == "transfer-encoding" && value.contains("chunked"))
        {
            body = without_chunks(&body);
        }
        let framing = [
            "content-length",
            "transfer-encoding",
            "connection",
            "keep-alive",
        ];
        headers.retain(|(name, _)| !framing.contains(&name.as_str()));
        Some(Self {
            status,
            headers,
            body,
        })
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.headers.retain(|(it, _)| it != name);
        self.headers.push((name.to_owned(), value.into()));
    }

    /// Returns status line and headers, without the empty line and without `Content-Length`.
    pub fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("connection: close\r\n");
        head
    }

    /// Returns the complete response as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head().into_bytes();
        if self.status != 304 && self.status >= 200 && self.status != 204 {
            bytes.extend(format!("content-length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }
}

pub fn without_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|it| it == b"\r\n") {
        let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = line.split(';').next().unwrap_or_default().trim().to_owned();
        let Ok(length) = usize::from_str_radix(&length, 16) else {
            break;
        };
        let from = end + 2;
        if length == 0 || bytes.len() < from + length {
            break;
        }
        whole.extend(&bytes[from..from + length]);
        bytes = bytes.get(from + length + 2..).unwrap_or_default();
    }
    whole
}
