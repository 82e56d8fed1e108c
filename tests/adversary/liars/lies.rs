//! Turns an honest response into a lie: changes the body, or changes how the body is delivered.

use std::{io::Write as _, sync::OnceLock, time::Duration};

use flate2::{Compression, write::GzEncoder};
use forge_testkit::Random;
use serde_json::{Value, json};

use super::{
    answers::Answer,
    fields::{self, Coverage},
    tap::Seen,
};

/// Values that lies may insert into a response.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    /// Origin of the thief's server, as `http://localhost:PORT`. No login is stored for this
    /// origin.
    pub thief: String,
    /// Host and port of the thief's server.
    pub thief_authority: String,
    /// Identifiers of other people's objects: DIDs, at-uris, CIDs, commit ids, logins.
    pub others: Vec<String>,
    /// The path of a program that no process may run.
    pub program: String,
    /// Other contents that a blob may have.
    pub blobs: Vec<Vec<u8>>,
}

/// How a server sends the bytes of a response.
#[derive(Clone, Debug)]
pub enum Delivery {
    Whole,
    /// Closes the connection after this many bytes of the body.
    Cut(usize),
    /// Sends one byte at a time.
    Drip,
    /// Sends no response.
    Silence,
    /// Sends these bytes, which need not be an HTTP response.
    Raw(Vec<u8>),
    /// Sends a beginning, and then repeats one block without end.
    Endless {
        before: Vec<u8>,
        block: Vec<u8>,
        /// Pause between two blocks.
        pause: Duration,
    },
}

/// Makes a lie. Returns a description of the lie, and the bytes to send.
pub fn lie(
    random: &mut Random,
    mut answer: Answer,
    stock: &Stock,
    seen: &Seen,
    kind: &str,
    coverage: &mut Coverage,
) -> (String, Answer, Delivery) {
    let json = serde_json::from_slice::<Value>(&answer.body).ok();
    let by_field = random.below(100) < 72;
    match json {
        Some(mut body) if by_field => {
            let told = fields::change(random, &mut body, stock, kind, coverage);
            answer.body = match random.below(40) {
                0 => unusual_text(random, &body),
                _ => body.to_string().into_bytes(),
            };
            (told, answer, Delivery::Whole)
        }
        None if by_field && !answer.body.is_empty() => {
            let told = change_bytes(random, &mut answer.body, stock);
            (told, answer, Delivery::Whole)
        }
        _ => transport(random, answer, stock, seen),
    }
}

/// Returns JSON text that parsers interpret differently.
fn unusual_text(random: &mut Random, body: &Value) -> Vec<u8> {
    let text = body.to_string();
    match random.below(6) {
        // Writes every key twice, with a different value the first time.
        0 => match text.strip_prefix('{') {
            Some(rest) => format!("{{\"data\":null,\"uri\":1,\"cid\":[],{rest}").into_bytes(),
            None => text.into_bytes(),
        },
        1 => format!("\u{feff}{text}").into_bytes(),
        2 => format!("{text}{text}").into_bytes(),
        3 => text.replace(":\"", ":\"\\ud800").into_bytes(),
        4 => "[".repeat(200_000).into_bytes(),
        _ => text.replace(":\"", ":\"\u{1}\0").into_bytes(),
    }
}

/// Changes a body that is not JSON: a page, a patch, a blob, or git's protocol.
fn change_bytes(random: &mut Random, body: &mut Vec<u8>, stock: &Stock) -> String {
    match random.below(7) {
        0 => {
            for _ in 0..=random.below(8) {
                let at = index(random, body.len());
                body[at] = u8::try_from(random.below(256)).unwrap_or(0);
            }
            "other bytes".to_owned()
        }
        1 => {
            body.truncate(index(random, body.len()));
            "fewer bytes".to_owned()
        }
        2 => {
            let again = body.clone();
            body.extend(again);
            "the same bytes twice".to_owned()
        }
        3 if !stock.blobs.is_empty() => {
            body.clone_from(random.pick(&stock.blobs));
            "another blob".to_owned()
        }
        4 if !stock.blobs.is_empty() => {
            body.extend(random.pick(&stock.blobs));
            "another blob behind it".to_owned()
        }
        5 => {
            let other = fields::odd_text(random, stock);
            let text = String::from_utf8_lossy(body).into_owned();
            let parts: Vec<&str> = text.split(['"', ' ']).filter(|it| it.len() > 3).collect();
            if parts.is_empty() {
                *body = other.into_bytes();
            } else {
                let part = (*random.pick(&parts)).to_owned();
                *body = text.replace(&part, &other).into_bytes();
            }
            "another word".to_owned()
        }
        _ => {
            *body = fields::odd_text(random, stock).into_bytes();
            "another text".to_owned()
        }
    }
}

fn index(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length.max(1) as u64)).unwrap_or(0)
}

fn transport(
    random: &mut Random,
    mut answer: Answer,
    stock: &Stock,
    seen: &Seen,
) -> (String, Answer, Delivery) {
    let whole = |told: &str, answer: Answer| (told.to_owned(), answer, Delivery::Whole);
    match random.below(21) {
        0..=3 => {
            answer.status = *random.pick(&[301, 302, 303, 307, 308]);
            let place = redirect_target(random, stock, seen);
            let told = format!("{} to {place}", answer.status);
            answer.set("location", place);
            (told, answer, Delivery::Whole)
        }
        4 | 5 => {
            let statuses = [
                100, 101, 200, 201, 202, 204, 205, 206, 300, 304, 400, 401, 403, 404, 407, 409,
                410, 413, 422, 429, 451, 500, 502, 503, 599, 999,
            ];
            answer.status = *random.pick(&statuses);
            if random.below(2) == 0 {
                let waits = [
                    "0",
                    "99999999999999999999",
                    "-1",
                    "Fri, 31 Dec 9999 23:59:59 GMT",
                ];
                answer.set("retry-after", *random.pick(&waits));
            }
            let told = format!("status {}", answer.status);
            (told, answer, Delivery::Whole)
        }
        6 => {
            let kinds = [
                "text/html",
                "image/png",
                "",
                "application/json; charset=utf-16",
                "a/b\tc",
            ];
            answer.set("content-type", *random.pick(&kinds));
            if random.below(2) == 0 {
                answer.body = b"<html><script>alert(1)</script></html>".to_vec();
            }
            whole("another content type", answer)
        }
        7 => {
            let keep = index(random, answer.body.len());
            (
                format!("cut after {keep} bytes"),
                answer,
                Delivery::Cut(keep),
            )
        }
        8 => {
            answer.body.truncate(index(random, answer.body.len()));
            whole("a body that ends early", answer)
        }
        9 => {
            let (encoding, body) = bomb(random);
            answer.set("content-encoding", encoding);
            answer.body = body;
            whole("a compressed bomb", answer)
        }
        10 => {
            answer.set(
                "content-encoding",
                *random.pick(&["gzip", "br", "deflate", "zstd", "gzip, gzip"]),
            );
            whole("a body that is not compressed as it says", answer)
        }
        11 => {
            let many = 1 << (8 + random.below(8));
            for n in 0..many {
                answer.headers.push((format!("x-many-{n}"), "a".repeat(40)));
            }
            whole("many headers", answer)
        }
        12 => {
            answer.set("x-long", "a".repeat(1 << (14 + random.below(8))));
            whole("a long header", answer)
        }
        13 => {
            let link = format!(
                "<{}/page>; rel=\"next\", <{0}/page>; rel=\"last\"",
                stock.thief
            );
            answer.set("link", link);
            answer.set("set-cookie", "adversary=cookie; Path=/; Domain=localhost");
            answer.set(
                "x-ratelimit-remaining",
                *random.pick(&["0", "-1", "x", "18446744073709551616"]),
            );
            answer.set(
                "x-ratelimit-reset",
                *random.pick(&["0", "99999999999999", "-5", "\u{1}"]),
            );
            answer.set("ratelimit-reset", "99999999999999");
            answer.set("dpop-nonce", "x".repeat(100_000));
            whole("other headers", answer)
        }
        14 => {
            echo(random, &mut answer, seen);
            whole("an error that repeats what it was told", answer)
        }
        15 => {
            let raw: &[&[u8]] = &[
                b"",
                b"\0\0\0\0",
                b"HTTP/1.1\r\n\r\n",
                b"HTTP/9.9 200 OK\r\ncontent-length: 2\r\n\r\n{}",
                b"SSH-2.0-OpenSSH_9.9\r\n",
                b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}",
                b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n{}",
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}",
                b"HTTP/1.1 200 \x1b]0;pwn\x07\r\ncontent-length: 0\r\n\r\n",
                b"HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            ];
            let bytes = random.pick(raw).to_vec();
            ("no HTTP".to_owned(), answer, Delivery::Raw(bytes))
        }
        16 => ("a byte at a time".to_owned(), answer, Delivery::Drip),
        17 => match random.below(3) {
            0 => ("silence".to_owned(), answer, Delivery::Silence),
            _ => ("a byte at a time".to_owned(), answer, Delivery::Drip),
        },
        18 if !answer.headers.is_empty() => {
            let (name, _) = random.pick(&answer.headers).clone();
            let value: String = fields::odd_text(random, stock)
                .chars()
                .take(4_000)
                .collect();
            answer.set(&name, value);
            whole(&format!("another value of {name}"), answer)
        }
        _ => endless(random, answer),
    }
}

/// Returns a URL to which a redirect may lead.
fn redirect_target(random: &mut Random, stock: &Stock, seen: &Seen) -> String {
    let path = seen.head.split(' ').nth(1).unwrap_or_default();
    let path = match path.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => path,
    };
    let authority = &stock.thief_authority;
    let port = authority.rsplit(':').next().unwrap_or_default();
    match random.below(12) {
        0..=3 => format!("{}{path}", stock.thief),
        4 => format!("//{authority}{path}"),
        5 => format!("http://127.0.0.1:{port}{path}"),
        6 => format!("http://{}@{authority}{path}", seen.origin),
        7 => format!("http://thief.localhost:{port}{path}"),
        8 => path.to_owned(),
        9 => format!("{path}?{}", "again=1&".repeat(3)),
        10 => format!("file://{}", stock.program),
        _ => (*random.pick(&[
            "",
            "\\\\x\\y",
            "http://[::1",
            "gopher://x/",
            "http:///",
            "https://127.0.0.1:1/",
        ]))
        .to_owned(),
    }
}

/// Replaces the response by an error that repeats the request with its secrets.
fn echo(random: &mut Random, answer: &mut Answer, seen: &Seen) {
    answer.status = *random.pick(&[200, 400, 401, 403, 404, 409, 422, 500, 502]);
    let body = String::from_utf8_lossy(&seen.body).into_owned();
    let named = |name: &str| {
        let mut lines = seen.head.lines();
        let found = lines.find(|line| line.to_ascii_lowercase().starts_with(name));
        found.unwrap_or_default().to_owned()
    };
    let told = match random.below(3) {
        0 => named("authorization:"),
        1 => seen.head.clone(),
        _ => format!("{}{body}", seen.head),
    };
    let said = json!({
        "error": "InvalidRequest", "message": told, "error_description": told,
        "errors": [{ "message": told, "type": told, "code": told, "field": told }],
        "errorMessages": [told], "documentation_url": told,
    });
    answer.set("content-type", "application/json");
    answer.set(
        "www-authenticate",
        format!("Bearer realm=\"{}\"", named("authorization:")),
    );
    answer.body = said.to_string().into_bytes();
}

fn endless(random: &mut Random, answer: Answer) -> (String, Answer, Delivery) {
    let head = answer.head();
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
    let (told, before, block) = match random.below(6) {
        0 => (
            "an endless text in JSON",
            [
                format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes(),
                chunk("{\"data\":\""),
            ]
            .concat(),
            chunk(&"A".repeat(64 << 10)),
        ),
        1 => (
            "an endless list in JSON",
            [
                format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes(),
                chunk("[{}"),
            ]
            .concat(),
            chunk(&",{\"a\":[1,2,3]}".repeat(4 << 10)),
        ),
        2 => (
            "a length without an end",
            format!("{head}content-length: 9223372036854775807\r\n\r\n").into_bytes(),
            vec![b' '; 64 << 10],
        ),
        3 => (
            "a body until the connection ends",
            format!("{head}\r\n").into_bytes(),
            vec![0; 64 << 10],
        ),
        4 => (
            "endless headers",
            head.into_bytes(),
            b"x-more: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(1 << 10),
        ),
        _ => (
            "endless early hints",
            Vec::new(),
            b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n".repeat(1 << 4),
        ),
    };
    // Without a pause, an unoptimised `forge` would parse early hints for the whole test.
    let pause = Duration::from_millis(if before.is_empty() { 5 } else { 0 });
    (
        told.to_owned(),
        answer,
        Delivery::Endless {
            before,
            block,
            pause,
        },
    )
}

/// Returns an encoding, and a few kilobytes that decompress to hundreds of megabytes.
fn bomb(random: &mut Random) -> (&'static str, Vec<u8>) {
    static MEMBER: OnceLock<Vec<u8>> = OnceLock::new();
    let member = MEMBER.get_or_init(|| gzip(&vec![b' '; 8 << 20]));
    match random.below(3) {
        // A long sequence of gzip members.
        0 => ("gzip", member.repeat(64)),
        // A compressed body that decompresses to another compressed body.
        1 => ("gzip", gzip(&member.repeat(64))),
        _ => ("gzip", member.clone()),
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
