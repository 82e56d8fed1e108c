//! The one question that we ask the domain name system: the TXT records of `_atproto.<handle>`.
//!
//! The standard library resolves addresses alone, and a whole resolver for one question is too
//! much. This asks the name server of the configuration, else the system's first ones, over UDP;
//! what does not fit into one answer is no handle's record.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::net::UdpSocket;

use crate::blocking;

const PATIENCE: Duration = Duration::from_secs(2);
/// How often a question is put: to two servers once, to a single one twice, since a datagram may be
/// lost.
const TRIES: usize = 2;
const TXT: u16 = 16;

/// The texts at `name`, by `server` or those of the system. `None` where nobody gave a whole answer
/// in time: nothing is known then.
pub(super) async fn txt(name: &str, server: Option<SocketAddr>) -> Option<Vec<String>> {
    let servers = match server {
        Some(server) => vec![server],
        None => {
            let read = || Ok(std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default());
            name_servers(&blocking::run(read).await.unwrap_or_default())
        }
    };
    for server in servers.iter().cycle().take(TRIES) {
        let asked = tokio::time::timeout(PATIENCE, ask(*server, name));
        if let Ok(Some(texts)) = asked.await {
            return Some(texts);
        }
    }
    None
}

fn name_servers(conf: &str) -> Vec<SocketAddr> {
    conf.lines()
        .filter_map(|line| line.trim().strip_prefix("nameserver"))
        .filter_map(|rest| rest.trim().parse::<IpAddr>().ok())
        .map(|ip| SocketAddr::new(ip, 53))
        .collect()
}

async fn ask(server: SocketAddr, name: &str) -> Option<Vec<String>> {
    let local: SocketAddr = if server.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0_u16; 8], 0).into()
    };
    let socket = UdpSocket::bind(local).await.ok()?;
    socket.connect(server).await.ok()?;
    let id = fastrand::u16(..);
    let question = question(id, name)?;
    socket.send(&question).await.ok()?;
    let mut buffer = vec![0; 4096];
    loop {
        let length = socket.recv(&mut buffer).await.ok()?;
        let answer = buffer.get(..length)?;
        // Anything that does not repeat our id and question is somebody else's.
        if answer.get(..2) == Some(&id.to_be_bytes())
            && answer.get(12..question.len()) == question.get(12..)
        {
            return is_whole(answer)
                .then(|| answers(answer, question.len()))
                .flatten();
        }
    }
}

/// Returns true if this is a complete answer to the question: the names exist, or they do not. A
/// server that failed or refused says nothing about the names (RFC 1035, section 4.1.1).
fn is_whole(answer: &[u8]) -> bool {
    const RESPONSE: u8 = 0x80;
    const TRUNCATED: u8 = 0x02;
    const CODE: u8 = 0x0f;
    const NO_ERROR: u8 = 0;
    const NO_SUCH_NAME: u8 = 3;
    match answer.get(2..4) {
        Some(&[first, second]) => {
            first & RESPONSE != 0
                && first & TRUNCATED == 0
                && matches!(second & CODE, NO_ERROR | NO_SUCH_NAME)
        }
        _ => false,
    }
}

/// A query with recursion desired (RFC 1035, section 4.1).
fn question(id: u16, name: &str) -> Option<Vec<u8>> {
    let mut out = id.to_be_bytes().to_vec();
    out.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        let length = u8::try_from(label.len())
            .ok()
            .filter(|n| (1..64).contains(n))?;
        out.push(length);
        out.extend(label.as_bytes());
    }
    out.push(0);
    out.extend(TXT.to_be_bytes());
    out.extend(1_u16.to_be_bytes());
    Some(out)
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let pair: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_be_bytes(pair))
}

/// The TXT records of an answer whose question ends at `at`.
fn answers(bytes: &[u8], mut at: usize) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    for _ in 0..word(bytes, 6)? {
        at = skip_name(bytes, at)?;
        let kind = word(bytes, at)?;
        let length = usize::from(word(bytes, at + 8)?);
        let data = bytes.get(at + 10..at + 10 + length)?;
        if kind == TXT {
            texts.push(strings(data)?);
        }
        at += 10 + length;
    }
    Some(texts)
}

fn skip_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            0 => return Some(at + 1),
            n if n & 0xc0 == 0xc0 => return Some(at + 2),
            n => at += 1 + usize::from(*n),
        }
    }
}

/// The strings of one record, joined.
fn strings(mut data: &[u8]) -> Option<String> {
    let mut joined = Vec::new();
    while let Some((length, rest)) = data.split_first() {
        let length = usize::from(*length);
        joined.extend(rest.get(..length)?);
        data = rest.get(length..)?;
    }
    String::from_utf8(joined).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_answer_is_read_and_truncated_answer_refused() {
        let q = question(7, "_atproto.a.example").unwrap();
        let mut answer = q.clone();
        answer[7] = 2;
        // A CNAME in front, then a record of two strings; both names are pointers.
        answer.extend([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12]);
        answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 9, 0, 10]);
        answer.extend(b"\x04did=\x04did:");
        assert_eq!(answers(&answer, q.len()).unwrap(), ["did=did:"]);
        for cut in q.len()..answer.len() {
            assert_eq!(answers(&answer[..cut], q.len()), None, "{cut}");
        }
        assert!(question(1, "a..b").is_none());
        assert!(question(1, &"x".repeat(64)).is_none());
    }

    #[test]
    fn name_servers_are_read_from_resolv_conf() {
        let conf = "# c\nsearch x\nnameserver 10.0.0.1\n nameserver ::1 \nnameserver junk\n";
        let found = name_servers(conf);
        assert_eq!(
            found,
            ["10.0.0.1:53".parse().unwrap(), "[::1]:53".parse().unwrap()]
        );
        // There is no public server to fall back to.
        assert!(name_servers("search x\n").is_empty());
    }

    #[tokio::test]
    async fn dns_reply_with_another_id_is_ignored() {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let serve = async move {
            let mut buffer = [0; 512];
            let (n, from) = server.recv_from(&mut buffer).await.unwrap();
            let mut reply = buffer[..n].to_vec();
            reply[2] |= 0x80;
            let mut forged = reply.clone();
            forged[0] ^= 1;
            server.send_to(&forged, from).await.unwrap();
            reply[7] = 1;
            reply.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 9, 0, 3, 2, b'h', b'i']);
            server.send_to(&reply, from).await.unwrap();
        };
        let (answer, ()) = tokio::join!(ask(address, "_atproto.a.example"), serve);
        assert_eq!(answer.unwrap(), ["hi"]);
    }

    #[test]
    fn dns_answer_with_error_or_truncation_is_incomplete() {
        let header = |first: u8, second: u8| [0, 7, first, second, 0, 1, 0, 0, 0, 0, 0, 0];
        for (first, second, whole) in [
            (0x81, 0x80, true),
            (0x85, 0x83, true),
            // A question that comes back, a truncated answer, and servers that fail or refuse.
            (0x01, 0x00, false),
            (0x83, 0x80, false),
            (0x81, 0x82, false),
            (0x81, 0x85, false),
        ] {
            let answer = header(first, second);
            assert_eq!(is_whole(&answer), whole, "{first:x} {second:x}");
        }
        assert!(!is_whole(&[0, 7, 0x81]));
    }
}
