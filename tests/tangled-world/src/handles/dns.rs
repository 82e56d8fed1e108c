//! A name server that answers only queries for TXT records (RFC 1035, section 4).

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use crate::{host::lock, worker::Worker};

/// How the name server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DnsMood {
    /// Sends correct answers.
    #[default]
    Fine,
    /// Sends no answers.
    Silent,
    /// Ignores the next queries, as many as given.
    Loses(u32),
    /// Sends only the first record, and marks the answer as truncated.
    Truncates,
    /// Adds a record that is larger than a resolver accepts.
    Oversized,
    /// Sends a failure code.
    Fails,
    /// Sends a forged answer with a wrong query id, and then the real answer.
    AfterAForgery,
}

#[derive(Default)]
struct State {
    records: BTreeMap<String, Vec<String>>,
    mood: DnsMood,
    questions: Vec<String>,
}

/// A name server on loopback. It stops when it is dropped.
pub struct DnsDouble {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    _worker: Worker,
}

impl DnsDouble {
    /// Starts a server without records.
    ///
    /// # Errors
    ///
    /// Fails if no port is available.
    pub fn start() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        let address = socket.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
        let known = Arc::clone(&state);
        let worker = Worker::start("dns-double", move |ended| {
            let mut buffer = [0; 512];
            while !ended.load(Ordering::SeqCst) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                for reply in replies(&known, &buffer[..length]) {
                    // The client may have stopped waiting for the answer.
                    let _ = socket.send_to(&reply, from);
                }
            }
        })?;
        Ok(Self {
            address,
            state,
            _worker: worker,
        })
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the TXT records of a name.
    pub fn set(&self, name: &str, texts: &[&str]) {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        lock(&self.state).records.insert(name.to_owned(), texts);
    }

    /// Sets how the server answers from now on.
    pub fn set_mood(&self, mood: DnsMood) {
        lock(&self.state).mood = mood;
    }

    /// Returns the number of queries for a name.
    #[must_use]
    pub fn asked(&self, name: &str) -> usize {
        let state = lock(&self.state);
        state.questions.iter().filter(|it| *it == name).count()
    }

    /// Returns the names of all queries so far, in lower case.
    #[must_use]
    pub fn questions(&self) -> Vec<String> {
        lock(&self.state).questions.clone()
    }
}

const RESPONSE: u16 = 0x8180;
const TRUNCATED: u16 = 0x0200;
const FAILED: u16 = 2;
const NO_SUCH_NAME: u16 = 3;

/// Returns the datagrams that answer a question.
fn replies(state: &Mutex<State>, question: &[u8]) -> Vec<Vec<u8>> {
    let mut state = lock(state);
    let name = name_in(question);
    state.questions.push(name.clone());
    let texts = state.records.get(&name).cloned().unwrap_or_default();
    let known = if texts.is_empty() { NO_SUCH_NAME } else { 0 };
    let mood = state.mood;
    match mood {
        DnsMood::Fine => vec![reply(question, RESPONSE | known, &texts)],
        DnsMood::Silent => Vec::new(),
        DnsMood::Loses(0) => {
            state.mood = DnsMood::Fine;
            vec![reply(question, RESPONSE | known, &texts)]
        }
        DnsMood::Loses(more) => {
            state.mood = DnsMood::Loses(more - 1);
            Vec::new()
        }
        DnsMood::Truncates => {
            let first = &texts[..texts.len().min(1)];
            vec![reply(question, RESPONSE | TRUNCATED, first)]
        }
        DnsMood::Oversized => {
            let texts = [texts, vec!["x".repeat(5_000)]].concat();
            vec![reply(question, RESPONSE, &texts)]
        }
        DnsMood::Fails => vec![reply(question, RESPONSE | FAILED, &[])],
        DnsMood::AfterAForgery => {
            let text = "did=did:plc:thisoneisanattackersown2";
            let mut forged = reply(question, RESPONSE, &[text.to_owned()]);
            forged[0] ^= 1;
            vec![forged, reply(question, RESPONSE | known, &texts)]
        }
    }
}

/// Returns the name that a question asks for, in lower case.
fn name_in(question: &[u8]) -> String {
    let mut labels = Vec::new();
    let mut at = 12;
    while let Some(length) = question.get(at).filter(|length| **length > 0) {
        let end = at + 1 + usize::from(*length);
        let label = question.get(at + 1..end).unwrap_or_default();
        labels.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        at = end;
    }
    labels.join(".")
}

/// Returns an answer with TXT records. Each text is split into as many strings as it needs.
fn reply(question: &[u8], flags: u16, texts: &[String]) -> Vec<u8> {
    let count = u16::try_from(texts.len()).expect("a few records");
    let mut out = question[..2].to_vec();
    out.extend(flags.to_be_bytes());
    for number in [1, count, 0, 0] {
        out.extend(number.to_be_bytes());
    }
    // Records after the question, such as that of EDNS, are not part of the answer.
    let name_end = 12
        + question[12..]
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(0);
    out.extend(&question[12..question.len().min(name_end + 5)]);
    for text in texts {
        let mut data = Vec::new();
        for part in text.as_bytes().chunks(255) {
            data.push(u8::try_from(part.len()).expect("at most 255"));
            data.extend(part);
        }
        // The record refers to the question's name, and has type TXT, class IN and a TTL of one
        // minute.
        out.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60]);
        let length = u16::try_from(data.len()).expect("a short record");
        out.extend(length.to_be_bytes());
        out.extend(data);
    }
    out
}
