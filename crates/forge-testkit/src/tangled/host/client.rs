//! A request from one host of the world to another.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// Gets an `http://` address: the status and the body.
///
/// HTTP 1.0, so that the answer ends with the connection and comes in one piece.
pub(crate) fn get(url: &str) -> io::Result<(u16, Vec<u8>)> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{url}: {what}"));
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("no http"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let head = format!("GET /{path} HTTP/1.0\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer
        .windows(4)
        .position(|it| it == b"\r\n\r\n")
        .ok_or_else(|| wrong("no headers"))?;
    let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|it| it.parse().ok())
        .ok_or_else(|| wrong("no status"))?;
    let body = answer.get(end + 4..).unwrap_or_default().to_vec();
    Ok((status, body))
}
