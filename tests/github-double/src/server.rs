//! The HTTP server: authenticates, routes, injects faults and records requests.

use std::{
    fmt, io,
    os::fd::{AsFd, OwnedFd},
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http_body_util::BodyExt;
use hyper::{Request, Response, body, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::{
    control,
    faults::{Action, Plan, Subject},
    git_http,
    graphql::{self, Ctx, Outline},
    record::Recorded,
    reply::{self, Parts, Reply},
    rest,
    state::{POINTS_AN_HOUR, State, Token, format_time},
};

/// State that all connections share.
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) plan: Mutex<Plan>,
    pub(crate) log: Mutex<Vec<Recorded>>,
    pub(crate) latency: Duration,
    /// Address of the web pages. `None` derives the address from the request's host.
    pub(crate) web: Option<String>,
    /// True if git needs no token.
    pub(crate) open_git: bool,
    requests: AtomicU64,
}

/// Locks a mutex, even if a request that panicked has poisoned it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(
        state: State,
        latency: Duration,
        web: Option<String>,
        open_git: bool,
    ) -> Self {
        Self {
            state: Mutex::new(state),
            plan: Mutex::default(),
            log: Mutex::default(),
            latency,
            web,
            open_git,
            requests: AtomicU64::new(0),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A request that the server has read completely.
#[derive(Default)]
pub(crate) struct Incoming {
    pub(crate) index: u64,
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) token: Option<String>,
    /// Address of the web pages for this request.
    pub(crate) web: String,
}

impl Incoming {
    /// Returns a header by its lower-case name. The value is empty if the header is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(it, _)| it == name)
            .map_or("", |(_, value)| value)
    }

    fn is_graphql(&self) -> bool {
        matches!(self.path.as_str(), "/graphql" | "/api/graphql")
    }

    /// Returns the part of the path after the prefix of the REST interface.
    pub(crate) fn rest_path(&self) -> &str {
        self.path.strip_prefix("/api/v3").unwrap_or(&self.path)
    }
}

fn wall_seconds() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0))
}

/// Returns the system time in GitHub's format. Everything else in the double uses the state's
/// clock.
pub(crate) fn wall_time() -> String {
    format_time(wall_seconds())
}

/// Returns the time at which the rate limit resets, in seconds since the epoch and in GitHub's
/// format.
pub(crate) fn reset_at() -> (i64, String) {
    let now = wall_seconds();
    let reset = now - now % 3_600 + 3_600;
    (reset, format_time(reset))
}

/// Serves connections until the task is dropped.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, Arc::clone(&shared)));
            }
            // Usually the process has no free file descriptor, so wait until some are closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Error that makes the server reset the connection.
#[derive(Debug)]
struct Hangup;

impl fmt::Display for Hangup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fault plan resets the connection")
    }
}

impl std::error::Error for Hangup {}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    // A second handle of the socket sets how it closes, because hyper owns the first handle.
    let handle: io::Result<OwnedFd> = stream.as_fd().try_clone_to_owned();
    let handle = Arc::new(handle.ok());
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        let handle = Arc::clone(&handle);
        async move {
            let incoming = read(request, &shared).await;
            match answer(&shared, incoming).await {
                Ok(response) => Ok(response),
                Err(hangup) => {
                    if let Some(handle) = handle.as_ref() {
                        let _ =
                            rustix::net::sockopt::set_socket_linger(handle, Some(Duration::ZERO));
                    }
                    Err(hangup)
                }
            }
        }
    });
    // An error means that the client disconnected, or that a fault broke the connection.
    let _ = http1::Builder::new()
        .max_buf_size(1 << 20)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn read(request: Request<body::Incoming>, shared: &Shared) -> Incoming {
    let (parts, body) = request.into_parts();
    let headers: Vec<(String, String)> = parts
        .headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    let body = body
        .collect()
        .await
        .map(|body| body.to_bytes().to_vec())
        .unwrap_or_default();
    let mut incoming = Incoming {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers,
        body,
        ..Incoming::default()
    };
    let host = parts.uri.authority().map(ToString::to_string);
    incoming.host = host.unwrap_or_else(|| incoming.header("host").to_owned());
    incoming.token = token(incoming.header("authorization"));
    incoming.web = shared.web.clone().unwrap_or_else(|| {
        let host = ["api.", "uploads."]
            .iter()
            .find_map(|part| incoming.host.strip_prefix(part));
        format!("http://{}", host.unwrap_or(&incoming.host))
    });
    incoming
}

fn token(header: &str) -> Option<String> {
    let (scheme, rest) = header.split_once(' ')?;
    let rest = rest.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "token" | "bearer" => Some(rest.to_owned()),
        "basic" => {
            let pair = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
            let (user, password) = pair.split_once(':')?;
            let token = if password.is_empty() || password == "x-oauth-basic" {
                user
            } else {
                password
            };
            Some(token.to_owned())
        }
        _ => None,
    }
}

async fn answer(shared: &Arc<Shared>, mut incoming: Incoming) -> Result<Response<Parts>, Hangup> {
    if incoming.path.starts_with("/_double/") {
        return Ok(control::answer(shared, &incoming).into_response(None));
    }
    let began = Instant::now();
    incoming.index = shared.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let parsed = incoming
        .is_graphql()
        .then(|| graphql::Request::parse(&incoming.body))
        .flatten();
    let outline = parsed.as_ref().map(graphql::outline).unwrap_or_default();
    let fault = lock(&shared.plan).take(&Subject {
        method: &incoming.method,
        path: &incoming.path,
        operation: outline.name.as_deref(),
        fields: &outline.fields,
        mutation: outline.mutation,
        body: &incoming.body,
    });
    let delay = shared.latency + fault.as_ref().map_or(Duration::ZERO, |fault| fault.delay);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let mut record = record(&incoming, &outline, parsed.as_ref());
    record.faulted = fault.is_some();
    record.executed = fault.as_ref().is_none_or(|fault| {
        fault.committed || !matches!(fault.action, Action::Answer { .. } | Action::Reset)
    });
    let reply = if record.executed {
        execute(shared, incoming, parsed).await
    } else {
        Reply::default()
    };
    let sent = apply_fault(reply, fault.map(|fault| fault.action));
    if let Some((reply, _)) = &sent {
        record.status = reply.status;
        record.response_bytes = reply.body.len();
    }
    record.work = Some((began, Instant::now()));
    lock(&shared.log).push(record);
    sent.map(|(reply, keep)| reply.into_response(keep))
        .ok_or(Hangup)
}

fn record(incoming: &Incoming, outline: &Outline, parsed: Option<&graphql::Request>) -> Recorded {
    Recorded {
        index: incoming.index,
        method: incoming.method.clone(),
        path: incoming.path.clone(),
        host: incoming.host.clone(),
        agent: incoming.header("user-agent").to_owned(),
        operation: outline.name.clone(),
        fields: outline.fields.clone(),
        mutation: outline.mutation,
        document: parsed.map(|it| it.query.clone()),
        variables: parsed.map(|it| Value::Object(it.variables.clone()).to_string()),
        git: git_http::repository(&incoming.path).is_some(),
        request_bytes: incoming.body.len(),
        ..Recorded::default()
    }
}

/// Applies a fault to an answer. `None` means that the connection is reset. The number is the
/// length to which the body is cut.
fn apply_fault(mut reply: Reply, action: Option<Action>) -> Option<(Reply, Option<usize>)> {
    match action {
        None | Some(Action::Pass) => Some((reply, None)),
        Some(Action::Reset) => None,
        Some(Action::Truncate(keep)) => Some((reply, Some(keep))),
        Some(Action::Malformed) => {
            reply.body.splice(0..reply.body.len().min(1), *b"<");
            Some((reply, None))
        }
        Some(Action::Headers(headers)) => {
            for (name, value) in headers {
                reply.set(&name, value);
            }
            Some((reply, None))
        }
        Some(Action::Answer {
            status,
            headers,
            body,
        }) => Some((
            Reply {
                status,
                headers,
                body: body.into_bytes(),
            },
            None,
        )),
    }
}

async fn execute(
    shared: &Arc<Shared>,
    incoming: Incoming,
    parsed: Option<graphql::Request>,
) -> Reply {
    let shared = Arc::clone(shared);
    let work = tokio::task::spawn_blocking(move || {
        // A bug in a resolver must not stop the server. As on GitHub, only the request fails.
        std::panic::catch_unwind(AssertUnwindSafe(|| dispatch(&shared, &incoming, parsed)))
            .unwrap_or_else(|_| reply::message(500, "Server Error"))
    });
    work.await
        .unwrap_or_else(|_: tokio::task::JoinError| reply::message(500, "Server Error"))
}

fn dispatch(shared: &Shared, incoming: &Incoming, parsed: Option<graphql::Request>) -> Reply {
    if git_http::repository(&incoming.path).is_some() {
        return git_http::serve(shared, incoming);
    }
    let mut state = shared.state();
    if let Some(reply) = rest::stored(&state, incoming) {
        return reply;
    }
    let Some((text, token)) = viewer(&state, incoming) else {
        return if incoming.token.is_some() {
            reply::message(401, "Bad credentials")
        } else {
            reply::message(401, "This endpoint requires you to be authenticated.")
        };
    };
    let graphql = incoming.is_graphql();
    if graphql && token.remaining == 0 {
        let mut reply = Reply::json(
            200,
            &json!({ "errors": [{
                "type": "RATE_LIMITED",
                "message": format!("API rate limit exceeded for user ID {}.", token.account),
            }]}),
        );
        limits(&mut reply, 0, "graphql");
        return reply;
    }
    let ctx = Ctx::new(&mut state, &text, token, &incoming.web, incoming.index);
    let mut reply = match (graphql, parsed) {
        (true, Some(request)) => {
            let answer = graphql::execute(&ctx, &request).to_string();
            Reply::text(200, "application/json; charset=utf-8", answer.into_bytes())
        }
        (true, None) => reply::message(400, "Problems parsing JSON"),
        (false, _) => rest::answer(&ctx, incoming),
    };
    if let Some(url) = ctx.sso_url() {
        reply.set("x-github-sso", format!("required; url={url}"));
    }
    if let Some(scopes) = &ctx.token.scopes {
        reply.set("x-oauth-scopes", scopes.join(", "));
        reply.set("x-accepted-oauth-scopes", if graphql { "repo" } else { "" });
    }
    let resource = if graphql { "graphql" } else { "core" };
    limits(&mut reply, ctx.remaining(), resource);
    reply.set(
        "x-github-request-id",
        format!("D0B1:{:06X}", incoming.index),
    );
    reply.set("x-github-media-type", "github.v4; format=json");
    if !graphql {
        reply.set("x-github-api-version-selected", "2022-11-28");
    }
    reply
}

fn viewer(state: &State, incoming: &Incoming) -> Option<(String, Token)> {
    let text = incoming.token.clone()?;
    let token = state.tokens.get(&text).filter(|token| !token.revoked)?;
    Some((text, token.clone()))
}

fn limits(reply: &mut Reply, remaining: u64, resource: &str) {
    reply.set("x-ratelimit-limit", POINTS_AN_HOUR.to_string());
    reply.set("x-ratelimit-remaining", remaining.to_string());
    let used = POINTS_AN_HOUR.saturating_sub(remaining);
    reply.set("x-ratelimit-used", used.to_string());
    reply.set("x-ratelimit-reset", reset_at().0.to_string());
    reply.set("x-ratelimit-resource", resource);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorization_header_is_read_in_every_form() {
        assert_eq!(token("token abc").as_deref(), Some("abc"));
        assert_eq!(token("Bearer abc").as_deref(), Some("abc"));
        // The encoded credentials are `x-access-token:abc`.
        assert_eq!(
            token("Basic eC1hY2Nlc3MtdG9rZW46YWJj").as_deref(),
            Some("abc")
        );
        assert_eq!(token("Digest abc"), None);
        assert_eq!(token(""), None);
    }
}
