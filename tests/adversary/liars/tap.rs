//! Servers in front of the honest doubles. They record each request, and lie in some responses.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_testkit::Random;
use serde_json::Value;

use super::{
    answers::Answer,
    fields::{Coverage, Steer, out_of_reach, steer},
    lies::{Delivery, Stock, lie},
};

/// Timeout of a read or write on a connection.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for which a silent server keeps the connection open.
const SILENCE: Duration = Duration::from_secs(12);
/// Number of bytes that a server sends of an endless body.
const ENDLESS: usize = 192 << 20;

/// The server that a lying server replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    GitHub,
    Jira,
    Pds,
    /// PDS of another account.
    Stranger,
    /// The PDS's handle resolution.
    Handles,
    /// The name server and the host of a handle, which no login may reach.
    Domain,
    /// Directory of DID documents.
    Directory,
    Knot,
    Index,
    Backlinks,
    Web,
    /// A server for which no login is stored. The thief forwards requests to the server that it
    /// imitates.
    Thief,
}

/// A request that a server received.
#[derive(Clone, Debug)]
pub struct Seen {
    pub role: Role,
    /// Host and port to which the request was sent.
    pub origin: String,
    /// Request line and headers of the request.
    pub head: String,
    pub body: Vec<u8>,
}

/// A text that only its holders may receive.
#[derive(Clone, Debug)]
pub struct Secret {
    pub name: String,
    pub text: String,
    /// Roles that may receive the secret. For a service token, these are the servers in its
    /// audience.
    pub holders: Vec<Role>,
    pub audience: Option<String>,
}

/// The roles that lie in a case, and how often they lie.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub seed: u64,
    pub liars: Vec<Role>,
    /// The roles that lie in some cases of the stage, besides the thief.
    pub roles: &'static [Role],
    /// Average number of requests per lie; 0 means no lies.
    pub rate: u64,
    /// Kind of every lie, if the lies of the case have to be consistent.
    pub steer: Option<Steer>,
}

#[derive(Default)]
struct State {
    plan: Plan,
    log: Vec<Seen>,
    told: Vec<String>,
    /// Number of requests that still wait for the honest response.
    asked: usize,
    /// Number of requests of each kind in this case so far.
    nth: BTreeMap<(Role, String), u64>,
    secrets: Vec<Secret>,
    stock: Stock,
    /// Address of each honest server.
    backs: BTreeMap<Role, SocketAddr>,
    coverage: Coverage,
    /// Fields of the honest responses that no lie can change.
    out_of_reach: BTreeSet<String>,
}

/// State that all lying servers of a stage share.
#[derive(Clone, Default)]
pub struct Tap(Arc<Mutex<State>>);

impl Tap {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no server handles a request, so that a request from an ended process counts in
    /// the case that caused it.
    pub fn wait_until_idle(&self) {
        for _ in 0..2_000 {
            if self.state().asked == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a case, and clears the requests of the previous case.
    pub fn begin(&self, plan: Plan) {
        let mut state = self.state();
        state.plan = plan;
        state.log.clear();
        state.told.clear();
        state.nth.clear();
    }

    pub fn set_stock(&self, stock: Stock) {
        self.state().stock = stock;
    }

    pub fn set_back(&self, role: Role, address: SocketAddr) {
        self.state().backs.insert(role, address);
    }

    pub fn add_secret(&self, name: &str, text: &str, holders: &[Role]) {
        self.state().secrets.push(Secret {
            name: name.to_owned(),
            text: text.to_owned(),
            holders: holders.to_vec(),
            audience: None,
        });
    }

    pub fn secrets(&self) -> Vec<Secret> {
        self.state().secrets.clone()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state().log.clone()
    }

    /// Returns true if a role may lie in this case.
    pub fn lies(&self, role: Role) -> bool {
        self.state().plan.liars.contains(&role)
    }

    /// Returns descriptions of the lies in this case.
    pub fn told(&self) -> Vec<String> {
        self.state().told.clone()
    }

    /// Records a lie that no server sends, such as one in a repository.
    pub fn record_lie(&self, lie: String) {
        self.state().told.push(lie);
    }

    /// Returns the coverage of the fields, and the fields that no lie can change.
    pub fn coverage(&self) -> (Coverage, BTreeSet<String>) {
        let state = self.state();
        (state.coverage.clone(), state.out_of_reach.clone())
    }

    /// Serves a connection for `role` on a new thread.
    pub fn accept(&self, role: Role, stream: TcpStream) {
        self.state().asked += 1;
        let tap = self.clone();
        thread::spawn(move || {
            let asked = tap.receive(role, stream);
            tap.state().asked -= 1;
            // A client may close the connection at any time.
            let _ = asked.and_then(|asked| match asked {
                Some((client, request, honest)) => tap.answer(client, &request, honest),
                None => Ok(()),
            });
        });
    }

    /// Reads a request, and asks the honest server for the response.
    fn receive(
        &self,
        role: Role,
        mut client: TcpStream,
    ) -> std::io::Result<Option<(TcpStream, Request, Answer)>> {
        client.set_nodelay(true)?;
        client.set_read_timeout(Some(SOCKET_TIMEOUT))?;
        client.set_write_timeout(Some(SOCKET_TIMEOUT))?;
        let Some((head, body)) = read_message(&mut client)? else {
            return Ok(None);
        };
        let request = Request::of(role, head, body, client.local_addr()?.port());
        self.state().log.push(request.seen.clone());
        if request.verb == "CONNECT" {
            let refusal = b"HTTP/1.1 502 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            client.write_all(refusal)?;
            return Ok(None);
        }
        let honest = self.ask(&request)?;
        self.register_tokens(&request, &honest);
        Ok(Some((client, request, honest)))
    }

    fn answer(
        &self,
        mut client: TcpStream,
        request: &Request,
        honest: Answer,
    ) -> std::io::Result<()> {
        let (answer, delivery) = self.decide(request, honest);
        deliver(&mut client, &answer, &delivery)?;
        client.shutdown(Shutdown::Both)
    }

    /// Sends a request to the honest server, and returns its response.
    fn ask(&self, request: &Request) -> std::io::Result<Answer> {
        let backs = self.state().backs.clone();
        let mut last = Answer::text(404, "Not here");
        for role in request.posed_as() {
            let Some(back) = backs.get(&role) else {
                continue;
            };
            let mut server = TcpStream::connect(back)?;
            server.set_read_timeout(Some(SOCKET_TIMEOUT))?;
            server.write_all(&request.forwarded())?;
            let mut bytes = Vec::new();
            // A server may reset the connection after its response, so the bytes read before an
            // error count.
            let read = server.read_to_end(&mut bytes);
            match Answer::read(&bytes) {
                Some(answer) => last = answer,
                None => read.map(drop)?,
            }
            if last.status < 400 {
                break;
            }
        }
        Ok(last)
    }

    /// Registers the tokens that the PDS issued as secrets.
    fn register_tokens(&self, request: &Request, honest: &Answer) {
        if !request.path.contains("com.atproto.server.") || honest.status != 200 {
            return;
        }
        let said: Value = serde_json::from_slice(&honest.body).unwrap_or_default();
        let mut state = self.state();
        for (field, holders) in [
            ("accessJwt", &[Role::Pds, Role::Handles][..]),
            ("refreshJwt", &[Role::Pds, Role::Handles]),
            ("token", &[]),
        ] {
            let Some(text) = said[field].as_str() else {
                continue;
            };
            if state.secrets.iter().all(|known| known.text != text) {
                state.secrets.push(Secret {
                    name: field.to_owned(),
                    text: text.to_owned(),
                    holders: holders.to_vec(),
                    audience: audience_of(text).filter(|_| field == "token"),
                });
            }
        }
    }

    fn decide(&self, request: &Request, honest: Answer) -> (Answer, Delivery) {
        let mut state = self.state();
        let role = request.seen.role;
        let kind = request.kind();
        let nth = state.nth.entry((role, kind.clone())).or_default();
        *nth += 1;
        let nth = *nth;
        // Only the first response of each kind counts, because later ones have nearly the same
        // fields. During the login, before the first case, no server lies.
        if nth == 1 && state.plan.rate > 0 {
            let fields = match role == Role::Thief || state.plan.roles.contains(&role) {
                true => serde_json::from_slice(&honest.body).map(|body: Value| out_of_reach(&body)),
                false => Ok(vec!["(all)".to_owned()]),
            };
            let fields = fields.unwrap_or_default().into_iter();
            let fields = fields.map(|field| format!("{role:?} {kind} {field}"));
            state.out_of_reach.extend(fields);
        }
        let lies = state.plan.liars.contains(&role) && state.plan.rate > 0;
        // The request's kind and number seed the choice, because concurrent requests have no fixed
        // order.
        let mut random = Random::new(state.plan.seed ^ hash(&format!("{role:?} {kind} {nth}")));
        let _ = random.bits();
        if !lies || random.below(state.plan.rate) != 0 {
            return (honest, Delivery::Whole);
        }
        let seen = format!("{role:?} {kind}");
        let State {
            plan,
            stock,
            told,
            coverage,
            ..
        } = &mut *state;
        if let Some(way) = plan.steer
            && let Ok(mut body) = serde_json::from_slice::<Value>(&honest.body)
        {
            let changed = steer(way, &mut body, stock);
            if changed > 0 {
                told.push(format!("{seen} #{nth}: {way:?}, {changed} texts"));
                let body = body.to_string().into_bytes();
                return (Answer { body, ..honest }, Delivery::Whole);
            }
        }
        let told_lie = lie(&mut random, honest, stock, &request.seen, &seen, coverage);
        told.push(format!("{seen} #{nth}: {}", told_lie.0));
        (told_lie.1, told_lie.2)
    }
}

/// Accepts connections for one role until dropped.
pub struct Listener {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub fn start(tap: &Tap, role: Role) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let (tap, stop) = (tap.clone(), Arc::clone(&ended));
        let thread = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                tap.accept(role, stream);
            }
        });
        Self {
            address,
            ended,
            thread: Some(thread),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Request {
    seen: Seen,
    verb: String,
    path: String,
}

impl Request {
    fn of(role: Role, head: String, body: Vec<u8>, port: u16) -> Self {
        let mut words = head.split(' ');
        let verb = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default().to_owned();
        let (origin, path) = match target.strip_prefix("http://") {
            // A request to a proxy has a whole URL as its target.
            Some(rest) => match rest.split_once('/') {
                Some((host, path)) => (host.to_owned(), format!("/{path}")),
                None => (rest.to_owned(), "/".to_owned()),
            },
            None => (format!("localhost:{port}"), target.clone()),
        };
        let of_github = ["", "api.", "uploads."]
            .map(|name| format!("{name}github.localhost"))
            .contains(&origin);
        let role = match role {
            _ if verb == "CONNECT" => Role::Thief,
            Role::GitHub if !of_github => Role::Thief,
            Role::Pds if path.contains("com.atproto.identity.resolveHandle") => Role::Handles,
            Role::Pds if path.starts_with("/.well-known/atproto-did") => Role::Handles,
            role => role,
        };
        let seen = Seen {
            role,
            origin,
            head,
            body,
        };
        Self { seen, verb, path }
    }

    /// Returns the servers that the receiving server imitates. Only the thief imitates several,
    /// depending on the path.
    fn posed_as(&self) -> Vec<Role> {
        match self.seen.role {
            Role::Thief if self.path.starts_with("/xrpc/com.atproto.") => {
                vec![Role::Pds, Role::Stranger, Role::Knot]
            }
            Role::Thief if self.path.starts_with("/xrpc/") => {
                vec![Role::Knot, Role::Index, Role::Backlinks]
            }
            Role::Thief if self.path.starts_with("/did:") => vec![Role::Directory],
            Role::Thief if self.path.starts_with("/rest/") => vec![Role::Jira],
            Role::Thief => vec![Role::GitHub, Role::Web],
            role => vec![role],
        }
    }

    /// Returns the kind of the request, without parts that differ between runs.
    fn kind(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        if path.ends_with("/graphql") {
            let said: Value = serde_json::from_slice(&self.seen.body).unwrap_or_default();
            let document = said["query"].as_str().unwrap_or_default();
            let end = document.find(['(', '{']).unwrap_or(document.len());
            return document[..end].trim().to_owned();
        }
        let plain = |part: &&str| !part.is_empty();
        let parts = path.split('/').filter(plain).map(|part| {
            let is_name = part.contains('.') && !part.contains(':');
            let is_word = part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c == '-' || c == '_');
            if is_name || is_word { part } else { "*" }
        });
        let collection = self.path.split("collection=").nth(1).unwrap_or_default();
        let collection = collection.split('&').next().unwrap_or_default();
        format!("{} {collection}", parts.collect::<Vec<_>>().join("/"))
            .trim_end()
            .to_owned()
    }

    /// Returns the request for the honest server, with `Connection: close`.
    fn forwarded(&self) -> Vec<u8> {
        let mut head = String::new();
        for line in self.seen.head.lines().filter(|line| !line.is_empty()) {
            let name = line.split(':').next().unwrap_or_default();
            let drops = [
                "connection",
                "proxy-connection",
                "transfer-encoding",
                "accept-encoding",
            ];
            let is_length = name.eq_ignore_ascii_case("content-length");
            if !is_length && !drops.iter().any(|it| name.eq_ignore_ascii_case(it)) {
                head.push_str(line);
                head.push_str("\r\n");
            }
        }
        let length = self.seen.body.len();
        head.push_str(&format!(
            "content-length: {length}\r\nconnection: close\r\n\r\n"
        ));
        [head.as_bytes(), &self.seen.body].concat()
    }
}

/// Reads head and body of a request. Returns `None` if the connection ends first.
fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let mut block = [0; 16 << 10];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
        let read = stream.read(&mut block)?;
        if read == 0 {
            return Ok(None);
        }
        bytes.extend(&block[..read]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut body = bytes.split_off(end);
    let field = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    };
    let chunked = field("transfer-encoding").is_some_and(|it| it.contains("chunked"));
    let length = field("content-length").and_then(|it| it.parse::<usize>().ok());
    let expects = field("expect").is_some();
    if expects {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    loop {
        let is_whole = match (chunked, length) {
            (true, _) => body.ends_with(b"0\r\n\r\n"),
            (false, Some(length)) => body.len() >= length,
            (false, None) => true,
        };
        if is_whole {
            break;
        }
        let read = stream.read(&mut block)?;
        if read == 0 {
            break;
        }
        body.extend(&block[..read]);
    }
    if chunked {
        body = super::answers::without_chunks(&body);
    }
    Ok(Some((head, body)))
}

fn deliver(client: &mut TcpStream, answer: &Answer, delivery: &Delivery) -> std::io::Result<()> {
    match delivery {
        Delivery::Whole => client.write_all(&answer.bytes()),
        Delivery::Raw(bytes) => client.write_all(bytes),
        Delivery::Cut(keep) => {
            let bytes = answer.bytes();
            let keep = bytes.len().saturating_sub(answer.body.len()) + keep;
            client.write_all(&bytes[..keep.min(bytes.len())])
        }
        Delivery::Drip => {
            for byte in answer.bytes() {
                client.write_all(&[byte])?;
                thread::sleep(Duration::from_millis(25));
            }
            Ok(())
        }
        Delivery::Silence => {
            thread::sleep(SILENCE);
            Ok(())
        }
        Delivery::Endless {
            before,
            block,
            pause,
        } => {
            client.write_all(before)?;
            let mut sent = 0;
            while sent < ENDLESS {
                client.write_all(block)?;
                sent += block.len();
                thread::sleep(*pause);
            }
            Ok(())
        }
    }
}

fn audience_of(token: &str) -> Option<String> {
    let claims = token.split('.').nth(1)?;
    let claims = base64::prelude::BASE64_URL_SAFE_NO_PAD
        .decode(claims)
        .ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims["aud"].as_str().map(str::to_owned)
}

/// Hashes a text with FNV-1a, which gives the same result in every run.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the texts in which a request could carry a secret: the request itself, its
/// percent-decoded form, and its decoded `Basic` credentials.
pub fn readings(seen: &Seen) -> Vec<String> {
    let mut text = seen.head.clone();
    text.push_str(&String::from_utf8_lossy(&seen.body));
    let mut plain = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    let mut readings = vec![String::from_utf8_lossy(&plain).into_owned()];
    for line in seen.head.lines() {
        let encoded = line
            .to_ascii_lowercase()
            .find("basic ")
            .map(|at| &line[at + 6..]);
        if let Some(bytes) = encoded.and_then(|it| BASE64_STANDARD.decode(it.trim()).ok()) {
            readings.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    readings.push(text);
    readings
}

#[test]
fn secret_is_found_in_every_encoding() {
    let seen = |head: &str, body: &str| Seen {
        role: Role::Thief,
        origin: String::new(),
        head: head.to_owned(),
        body: body.as_bytes().to_vec(),
    };
    let basic = format!(
        "authorization: Basic {}",
        BASE64_STANDARD.encode("me:s/cret")
    );
    for (head, body) in [
        ("GET /?a=s%2Fcret HTTP/1.1", ""),
        ("POST / HTTP/1.1", "{\"password\":\"s/cret\"}"),
        ("GET / HTTP/1.1\r\nauthorization: Bearer s/cret", ""),
        (basic.as_str(), ""),
    ] {
        let found = readings(&seen(head, body));
        assert!(found.iter().any(|text| text.contains("s/cret")), "{head}");
    }
    let found = readings(&seen("GET /s%2 HTTP/1.1", "cret"));
    assert!(!found.iter().any(|text| text.contains("s/cret")));
}
