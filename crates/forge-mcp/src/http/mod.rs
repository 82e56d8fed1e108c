//! Serves MCP over HTTP to programs on this machine.
//!
//! A request of protocol version 2026-07-28 is independent, so the server keeps no state for it. A
//! client of version 2025-11-25 has a session, because confirmations need one. An idle session
//! expires.
//!
//! The server listens on loopback by default, requires a bearer token on every request, refuses
//! `Host` and `Origin` headers of other addresses, and limits bodies, connections and sessions.
//! Clients without the token cannot displace clients with the token. All clients use the accounts
//! of the user who started the server.

mod compat;
mod sessions;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque, convert::Infallible, future, net::SocketAddr, sync::Arc, time::Duration,
};

use bytes::Bytes;
use forge_core::{Error, ErrorKind, Result, call::weight_of_json};
use futures::stream;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{
    BodyExt, BodyStream, Full, LengthLimitError, Limited, StreamBody, combinators::BoxBody,
};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::{
    net::TcpListener,
    sync::{OnceCell, OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};
use tower_service::Service as _;

use self::sessions::{SESSION_ID, Sessions};
use crate::server::{
    Server,
    message::{self, MAX_VALUES_WEIGHT},
};

/// Maximum size of a request, in bytes.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Maximum size of the buffer in which a connection receives headers and parts of a body, in bytes.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// How long an authenticated connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The path of the endpoint.
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
    /// Takes a token that the user has chosen.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the token has fewer than 16 characters or is not valid in a
    /// header.
    pub fn new(token: &str) -> Result<Self> {
        let token = token.trim();
        if token.len() < 16 || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::invalid(
                "token",
                "the bearer token has fewer than 16 characters, or contains blanks",
            )
            .with_hint("omit the token to have one generated"));
        }
        Ok(Self(token.into()))
    }

    /// Creates a random token of 256 bits.
    ///
    /// # Errors
    ///
    /// Fails with `internal` if the system provides no random numbers.
    pub fn random() -> Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| {
            Error::new(
                ErrorKind::Internal,
                format!("the system provides no random numbers: {e}"),
            )
        })?;
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Ok(Self(hex.into()))
    }

    /// Returns the secret, to be shown to the user who started the server.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns true if a header contains the token. The duration of the comparison depends only on
    /// the length of the token, not on its characters.
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

/// Options of the listener.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The address to listen on; port 0 selects a free port.
    pub addr: SocketAddr,
    /// The token that requests must have. `None` only in test fixtures.
    pub bearer: Option<Bearer>,
    /// Host names that the `Host` header of requests may have besides the address and `localhost`.
    pub hosts: Vec<String>,
    /// Counts and timeouts that limit clients.
    pub limits: HttpLimits,
}

/// Limits for clients: counts and timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum number of authenticated connections. Requests on more connections are refused.
    pub connections: usize,
    /// Maximum number of unauthenticated connections. A new connection closes the oldest one.
    pub strangers: usize,
    /// How long a connection may take to send the token.
    pub head: Duration,
    /// How long an authenticated request may take to send its body.
    pub body: Duration,
    /// Maximum memory of all requests that are being received or handled, in bytes. It includes the
    /// bodies and the values parsed from them. Requests above the maximum are refused.
    pub bodies: usize,
    /// Maximum number of sessions (protocol version 2025-11-25). A new session above the maximum
    /// ends the least recently used one.
    pub sessions: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 256,
            strangers: 256,
            head: Duration::from_secs(5),
            body: Duration::from_secs(30),
            bodies: 32 * 1024 * 1024,
            sessions: 256,
        }
    }
}

/// A listening server.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    server: Server,
    options: HttpOptions,
    addr: SocketAddr,
}

/// Starts to listen.
///
/// # Errors
///
/// Fails with `config` if the address is not available.
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

type BoxedResponse = Response<BoxBody<Bytes, Infallible>>;
type Mcp = StreamableHttpService<Server, Sessions>;

/// State shared by the requests of one connection.
#[derive(Clone)]
struct ConnectionShared {
    mcp: Mcp,
    sessions: Arc<Sessions>,
    bearer: Option<Bearer>,
    limits: HttpLimits,
    room: Arc<Semaphore>,
    /// One permit for each byte that request bodies may still take; see [`HttpLimits::bodies`].
    body_room: Arc<Semaphore>,
    /// The permit for an authenticated connection; empty until the token is received.
    place: Arc<OnceCell<OwnedSemaphorePermit>>,
}

impl Listening {
    /// Returns the address to connect to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.addr)
    }

    /// Serves requests until the future is dropped.
    pub async fn run(self) {
        let (server, limits) = (self.server, self.options.limits);
        let sessions = Arc::new(Sessions::new(limits.sessions));
        let mcp: Mcp = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::clone(&sessions),
            config(self.addr, &self.options.hosts),
        );
        let room = Arc::new(Semaphore::new(limits.connections));
        let body_room = Arc::new(Semaphore::new(limits.bodies));
        // The newest unauthenticated connections. Removing a connection from this list closes it,
        // unless it has authenticated in the meantime.
        let mut strangers = VecDeque::new();
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                // The process has too many open files, or the client has disconnected. Retry later.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            // Without `TCP_NODELAY`, each event of a stream would wait for a delayed
            // acknowledgement.
            let _ = stream.set_nodelay(true);
            if strangers.len() >= limits.strangers {
                strangers.pop_front();
            }
            let (stays, falls_out) = oneshot::channel::<()>();
            strangers.push_back(stays);
            let shared = ConnectionShared {
                mcp: mcp.clone(),
                sessions: Arc::clone(&sessions),
                bearer: self.options.bearer.clone(),
                limits,
                room: Arc::clone(&room),
                body_room: Arc::clone(&body_room),
                place: Arc::default(),
            };
            tokio::spawn(async move {
                let place = Arc::clone(&shared.place);
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(IDLE_TIMEOUT)
                    .max_buf_size(MAX_BUFFER_BYTES)
                    .serve_connection(
                        TokioIo::new(stream),
                        service_fn(move |request| answer(shared.clone(), request)),
                    );
                let must_go = async {
                    let _ = timeout(limits.head, falls_out).await;
                    if place.initialized() {
                        future::pending::<()>().await;
                    }
                };
                tokio::select! {
                    _ = connection => {}
                    () = must_go => {}
                }
            });
        }
    }
}

fn config(addr: SocketAddr, more: &[String]) -> StreamableHttpServerConfig {
    let mut hosts = vec![addr.to_string(), format!("localhost:{}", addr.port())];
    hosts.extend(more.iter().cloned());
    StreamableHttpServerConfig::default()
        .with_json_response(true)
        // The sessions send these events, to clients that understand them.
        .with_sse_retry(None)
        .with_allowed_hosts(hosts)
        // Requests from browser pages are refused, except from pages at this address.
        .with_allowed_origins([
            format!("http://{addr}"),
            format!("http://localhost:{}", addr.port()),
        ])
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY_BYTES)
}

async fn answer(
    mut shared: ConnectionShared,
    request: Request<Incoming>,
) -> Result<BoxedResponse, Infallible> {
    for name in [header::HOST, header::ORIGIN] {
        // A repeated header is refused, because later code would check only its first value.
        if request.headers().get_all(&name).iter().count() > 1 {
            let text = format!("the header {name} was sent more than once\n");
            return Ok(plain(StatusCode::BAD_REQUEST, text));
        }
    }
    // rmcp compares only the host, and ignores user information in front of it.
    let host = request.headers().get(header::HOST);
    if host.is_some_and(|host| host.as_bytes().contains(&b'@')) {
        let text = "the header host has user information: send host and port alone\n";
        return Ok(plain(StatusCode::BAD_REQUEST, text));
    }
    if let Some(bearer) = &shared.bearer
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
    let room = Arc::clone(&shared.room);
    let take = || async move { room.try_acquire_owned() };
    if shared.place.get_or_try_init(take).await.is_err() {
        let text = format!(
            "{} connections are open already: close some, or try again in a second\n",
            shared.limits.connections
        );
        return Ok(busy_response(text));
    }
    if request.uri().path().trim_end_matches('/') != PATH {
        return Ok(plain(
            StatusCode::NOT_FOUND,
            "unknown path: MCP is served at /mcp\n",
        ));
    }
    let received = read_whole_request(request, shared.limits.body, &shared.body_room).await;
    let (mut request, mut held) = match received {
        Ok(received) => received,
        Err((StatusCode::SERVICE_UNAVAILABLE, text)) => return Ok(busy_response(text)),
        Err((status, text)) => return Ok(plain(status, text)),
    };
    compat::widen_accept(&request.method().clone(), request.headers_mut());
    let values = weight_of_json(request.body()) - request.body().len();
    // A message with too many values is refused without being parsed.
    if values <= MAX_VALUES_WEIGHT {
        match take_room(&shared.body_room, values) {
            Ok(more) => held.merge(more),
            Err((_, text)) => return Ok(busy_response(text)),
        }
    }
    // The handler keeps the extensions of its request, and thus the permits, until the call ends.
    // With protocol version 2025-11-25, this function returns earlier: the head of the response is
    // sent while the call runs.
    request.extensions_mut().insert(Arc::new(held));
    // Only the versions with sessions have batches.
    let may_be_batch =
        request.method() == Method::POST && request.headers().contains_key(SESSION_ID);
    match may_be_batch.then(|| message::split_batch(request.body())) {
        Some(Some(messages)) => answer_batch(&mut shared, request, messages).await,
        _ => answer_message(&mut shared, request).await,
    }
}

/// Answers a batch (protocol version 2025-03-26) with one stream of the events of all its answers.
async fn answer_batch(
    shared: &mut ConnectionShared,
    request: Request<Bytes>,
    messages: Vec<Vec<u8>>,
) -> Result<BoxedResponse, Infallible> {
    let (head, _) = request.into_parts();
    let mut answers = Vec::new();
    for message in messages {
        let message = Bytes::from(message);
        let answer =
            answer_message(shared, Request::from_parts(head.clone(), message.clone())).await?;
        let kind = answer.headers().get(header::CONTENT_TYPE);
        let json = match kind.and_then(|kind| kind.to_str().ok()) {
            Some(compat::EVENTS) => {
                answers.push(answer.into_body());
                continue;
            }
            // A notification has no answer.
            _ if answer.status() == StatusCode::ACCEPTED => continue,
            Some(compat::JSON) => answer.into_body().collect().await?.to_bytes(),
            // An answer in plain text, for example to an unknown session.
            _ if answers.is_empty() => return Ok(answer),
            // The messages before this one may have changed something, so their answers are sent.
            _ => {
                let text = answer.into_body().collect().await?.to_bytes();
                let why = String::from_utf8_lossy(&text).into_owned();
                message::error_answer(&message, why).into()
            }
        };
        let event = [b"data: ", json.as_ref(), b"\n\n"].concat();
        answers.push(Full::new(Bytes::from(event)).boxed());
    }
    if answers.is_empty() {
        return Ok(plain(StatusCode::ACCEPTED, ""));
    }
    let answers = stream::select_all(answers.into_iter().map(BodyStream::new));
    let mut response = Response::new(StreamBody::new(answers).boxed());
    let events = HeaderValue::from_static(compat::EVENTS);
    response.headers_mut().insert(header::CONTENT_TYPE, events);
    Ok(response)
}

async fn answer_message(
    shared: &mut ConnectionShared,
    request: Request<Bytes>,
) -> Result<BoxedResponse, Infallible> {
    let method = request.method().clone();
    if method == Method::POST
        && let Some((is_answer, body)) = compat::refusal(request.headers(), request.body())
    {
        let status = match is_answer {
            true => StatusCode::OK,
            false => StatusCode::BAD_REQUEST,
        };
        let mut refused = plain(status, body);
        let json = HeaderValue::from_static(compat::JSON);
        refused.headers_mut().insert(header::CONTENT_TYPE, json);
        return Ok(refused);
    }
    let is_known = method == Method::DELETE && shared.sessions.knows(request.headers()).await;
    let request = request.map(Full::new);
    let answer = shared.mcp.call(request).await?;
    // Clients expect 200 or 204 when a session ends, and 404 for an unknown session.
    Ok(match (method, answer.status(), is_known) {
        (Method::DELETE, StatusCode::ACCEPTED, true) => plain(StatusCode::NO_CONTENT, ""),
        (Method::DELETE, StatusCode::ACCEPTED, false) => {
            plain(StatusCode::NOT_FOUND, "there is no such session\n")
        }
        _ => answer,
    })
}

/// The response to a refused request: status and text.
type Refusal = (StatusCode, String);

/// Reads a request with its complete body. Also returns the permits for the bytes of the body.
async fn read_whole_request(
    request: Request<Incoming>,
    within: Duration,
    room: &Arc<Semaphore>,
) -> Result<(Request<Bytes>, OwnedSemaphorePermit), Refusal> {
    let (head, body) = request.into_parts();
    match timeout(within, received(body, room)).await {
        Ok(received) => received.map(|(body, held)| (Request::from_parts(head, body), held)),
        Err(_) => Err((
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "the body did not end within {} s: send the request again, with all of it\n",
                within.as_secs_f32()
            ),
        )),
    }
}

/// Reads a body, with a permit of `room` for each byte.
async fn received(
    body: Incoming,
    room: &Arc<Semaphore>,
) -> Result<(Bytes, OwnedSemaphorePermit), Refusal> {
    let mut body = Limited::new(body, MAX_BODY_BYTES);
    let mut bytes = Vec::new();
    let mut held = take_room(room, 0)?;
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(unreadable)?.into_data() {
            held.merge(take_room(room, data.len())?);
            // The data is copied, because the frame may keep a large buffer for a few bytes.
            bytes.extend_from_slice(&data);
        }
    }
    Ok((Bytes::from(bytes), held))
}

/// Takes one permit for each byte of a request in memory.
fn take_room(room: &Arc<Semaphore>, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let taken = Arc::clone(room).try_acquire_many_owned(bytes);
    taken.map_err(|_| {
        let text = "the requests in progress have too many bytes: try again in a second\n";
        (StatusCode::SERVICE_UNAVAILABLE, text.to_owned())
    })
}

/// Returns the response to a request whose body cannot be read.
fn unreadable(e: Box<dyn std::error::Error + Send + Sync>) -> Refusal {
    match e.is::<LengthLimitError>() {
        true => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body has more than {MAX_BODY_BYTES} bytes: send less\n"),
        ),
        false => (
            StatusCode::BAD_REQUEST,
            format!("the body cannot be read: {e}; send the request again\n"),
        ),
    }
}

/// Returns the response to a request for which there is no room at the moment.
fn busy_response(text: impl Into<Bytes>) -> BoxedResponse {
    let mut refused = plain(StatusCode::SERVICE_UNAVAILABLE, text);
    let headers = refused.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    refused
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> BoxedResponse {
    let text: Bytes = text.into();
    let mut response = Response::new(Full::new(text).boxed());
    *response.status_mut() = status;
    response
}
