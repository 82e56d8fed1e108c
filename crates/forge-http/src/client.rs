use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use forge_core::{
    Action, Arg, Error, ErrorKind, Hint, Param, Quota, Result, Retry, Secret, SentRequest, call,
};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use rustls::ClientConfig;
use tracing::{Instrument, Span, debug_span, field};
use url::{Host, Url};

use crate::{
    Body, HttpSettings, RateLimit,
    address::is_public_address,
    connections::Connections,
    failure::{self, HttpFailure},
    host_limiter::HostLimiter,
    mask_secrets, mask_start, proxy, rate_limit,
    rate_limit::Rates,
    redact, redirect,
    resolve::{PrivateAddress, Resolver},
    tls,
};

/// Idempotency of a request. It decides whether the request is retried.
///
/// Set it as an extension of [`http::Request`]. Without the extension, `GET` and `HEAD` count as
/// reads, and all other methods count as writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotency {
    /// The request changes nothing.
    Read,
    /// The request changes something and is not idempotent.
    Write,
    /// The request changes something and is idempotent, such as a put under a key that the caller
    /// chose.
    Replay,
}

/// Request extension: streams the body of a successful response, whatever its size.
#[derive(Clone, Copy, Debug)]
pub struct StreamBody;

/// Request extension: maximum number of retries. For callers whose fallback is better than a retry.
#[derive(Clone, Copy, Debug)]
pub struct MaxRetries(pub u32);

/// Request extension: maximum size of the response body in bytes. It has an effect only if it is
/// smaller than [`HttpSettings::body_max`].
#[derive(Clone, Copy, Debug)]
pub struct BodyMax(pub usize);

/// Request extension: returns a redirect as the response instead of following it. For callers that
/// check the target first.
#[derive(Clone, Copy, Debug)]
pub struct NoRedirect;

/// Request extension: sends the request only to public addresses. For requests to a host that a
/// stranger named. If there is a proxy, the proxy decides where to connect, because this machine
/// may be unable to resolve the name.
#[derive(Clone, Copy, Debug)]
pub struct PublicOnly;

/// The HTTP transport. Clones share connections, limits and state.
#[derive(Clone)]
pub struct Http(Arc<HttpInner>);

struct HttpInner {
    client: reqwest::Client,
    /// Client for [`PublicOnly`] requests without a proxy. Its connections are separate, so that
    /// such a request never reuses a connection to a private address.
    public: reqwest::Client,
    connections: Connections,
    settings: HttpSettings,
    gates: HostLimiter,
    rates: Rates,
    secrets: Mutex<Secrets>,
}

/// The registered credentials. For each one, `last_use` has the value of the counter `uses` at the
/// time of its last use.
#[derive(Default)]
struct Secrets {
    last_use: HashMap<Secret, u64>,
    uses: u64,
}

/// Maximum number of registered credentials. A long-running process may get a new token every few
/// seconds, and each token is valid for a minute. Without a maximum, the tokens would pile up.
const MAX_SECRETS: usize = 1_000;

/// Size to which [`Http::redact`] cuts a long text, in bytes.
const MAX_MESSAGE: usize = 4 * 1024;

impl Secrets {
    fn add(&mut self, secret: &Secret) {
        self.uses += 1;
        self.last_use.insert(secret.clone(), self.uses);
        if self.last_use.len() > MAX_SECRETS {
            let oldest = self.last_use.iter().min_by_key(|(_, last)| **last);
            if let Some(oldest) = oldest.map(|(secret, _)| secret.clone()) {
                self.last_use.remove(&oldest);
            }
        }
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("user_agent", &self.0.settings.user_agent)
            .finish_non_exhaustive()
    }
}

impl Http {
    /// Creates a transport. Does not connect yet.
    ///
    /// # Errors
    /// `config` if certificates cannot be read.
    pub fn new(settings: HttpSettings) -> Result<Self> {
        let tls = tls::config(&settings.roots)?;
        let proxies = settings.proxies.clone();
        let proxy = reqwest::Proxy::custom(move |url| proxies.for_url(url).cloned());
        let not_started = |e: reqwest::Error| {
            Error::new(
                ErrorKind::Internal,
                format!("the HTTP client cannot start: {e}"),
            )
            .with_source(e)
        };
        let client = builder(&settings, tls.clone(), false).proxy(proxy).build();
        let client = client.map_err(not_started)?;
        let public = builder(&settings, tls, true).build();
        let public = public.map_err(not_started)?;
        let gates = HostLimiter::new(settings.in_flight, settings.write_pace);
        Ok(Self(Arc::new(HttpInner {
            client,
            public,
            connections: Connections::default(),
            settings,
            gates,
            rates: Rates::default(),
            secrets: Mutex::default(),
        })))
    }

    /// Returns the settings of the transport.
    #[must_use]
    pub fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    /// Returns the addresses at which this program may contact a host that a stranger named. For
    /// callers that connect without this transport. Returns `None` if a proxy makes the connection.
    ///
    /// # Errors
    /// `protocol` if there is no public address; `network` if the name does not resolve.
    pub async fn public_addresses(&self, url: &Url) -> Result<Option<Vec<IpAddr>>> {
        if self.0.settings.proxies.for_url(url).is_some() {
            return Ok(None);
        }
        check_literal(url)?;
        let host = url.host_str().unwrap_or_default();
        let resolver = Resolver {
            lookup: Arc::clone(&self.0.settings.lookup),
            public_only: true,
        };
        let found = match literal(url) {
            Some(ip) => Ok(vec![ip]),
            None => resolver.addresses(host).await,
        };
        found.map(Some).map_err(|e| match e.is::<PrivateAddress>() {
            true => failure::private_address(host),
            false => Error::new(
                ErrorKind::Network,
                format!("the addresses of {host} could not be looked up: {e}"),
            )
            .with_hint("check the network, then try again"),
        })
    }

    /// Returns the rate limits that `host` has reported.
    #[must_use]
    pub fn rate_limits(&self, host: &str) -> Vec<RateLimit> {
        self.0.rates.of(host)
    }

    /// Registers a credential, so that [`Self::redact`] recognises it whatever its shape.
    /// Credentials in `Authorization` headers are registered automatically. If there are more than
    /// a thousand, the least recently used credential is removed.
    pub fn remember(&self, secret: &Secret) {
        if secret.expose().len() >= 4 {
            let mut secrets = self
                .0
                .secrets
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            secrets.add(secret);
        }
    }

    /// Returns `text` with `***` instead of credentials. These are the registered credentials, as
    /// [`mask_secrets`] finds them, and everything else that looks like a credential. If the text
    /// has more than 8 KiB, only its beginning is returned, as by [`mask_start`].
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        mask_start(text, MAX_MESSAGE, |start| self.redact_all(start))
    }

    /// Like [`Self::redact`], for the whole text, which takes seconds for megabytes.
    #[must_use]
    pub fn redact_all(&self, text: &str) -> String {
        let secrets: Vec<Secret> = self
            .0
            .secrets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .last_use
            .keys()
            .cloned()
            .collect();
        let known: Vec<&str> = secrets.iter().map(Secret::expose).collect();
        redact(&mask_secrets(text, &known)).into_owned()
    }

    /// Sends a request with an absolute URI, and retries it as [`crate::RetryPolicy`] allows.
    ///
    /// Returns the response whatever its status. After a 5xx status, a write may have taken effect.
    ///
    /// # Errors
    /// - `network` or `timeout` if there is no complete response. The error has
    ///   [`Retry::Ambiguous`] for a write that the server may have received, and
    ///   [`Retry::Transient`] otherwise.
    /// - `protocol` for a body that is too large.
    /// - `config` for a URL that would send clear text over a network.
    pub async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Body>> {
        let class = idempotency_of(&request);
        self.remember_authorization(request.headers());
        let follows = request.extensions().get::<NoRedirect>().is_none();
        for _ in 0..=redirect::MAX_REDIRECTS {
            let url = self.checked_url(&request)?;
            let response = self.with_retries(&request, &url, class).await?;
            if !follows {
                return Ok(response);
            }
            match redirect::next(&request, &url, response.status(), response.headers()) {
                Some(next) => request = next,
                None => return Ok(response),
            }
        }
        Err(Error::new(
            ErrorKind::Protocol,
            format!(
                "the request was redirected more than {} times, the last time to {}",
                redirect::MAX_REDIRECTS,
                host_of(&self.checked_url(&request)?)
            ),
        )
        .with_hint("check the URL: its server keeps redirecting"))
    }

    fn remember_authorization(&self, headers: &HeaderMap) {
        let value = headers
            .get(header::AUTHORIZATION)
            .and_then(|v| v.to_str().ok());
        if let Some(value) = value {
            let credential = value
                .split_once(' ')
                .map_or(value, |(_, credential)| credential);
            self.remember(&Secret::new(credential.trim()));
        }
    }

    /// Checks the URL of a request. HTTP without TLS is allowed only if the connection (to the host
    /// or to the proxy) stays on this machine.
    fn checked_url(&self, request: &Request<Bytes>) -> Result<Url> {
        let text = request.uri().to_string();
        let url = Url::parse(&text).map_err(|e| {
            Error::new(
                ErrorKind::Internal,
                format!("a request has no absolute URL: {e}"),
            )
            .with_source(e)
        })?;
        let ends_here = |url: &Url| url.host().is_some_and(|h| proxy::is_loopback(&h));
        if request.extensions().get::<PublicOnly>().is_some() {
            check_literal(&url)?;
        }
        match url.scheme() {
            "https" => Ok(url),
            "http"
                if self
                    .0
                    .settings
                    .proxies
                    .for_url(&url)
                    .map_or_else(|| ends_here(&url), ends_here) =>
            {
                Ok(url)
            }
            scheme => Err(Error::new(
                ErrorKind::Config,
                format!(
                    "cannot contact {scheme}://{}: the request would be sent in clear text",
                    host_of(&url)
                ),
            )
            .with_hint("use https; http is allowed only to this machine and to a proxy on it")),
        }
    }

    async fn with_retries(
        &self,
        request: &Request<Bytes>,
        url: &Url,
        class: Idempotency,
    ) -> Result<Response<Body>> {
        let policy = &self.0.settings.retry;
        let most = request
            .extensions()
            .get::<MaxRetries>()
            .map_or(policy.retries, |m| m.0);
        let again = class != Idempotency::Write;
        let writes = class != Idempotency::Read;
        let host = host_of(url);
        call::uses_transport();
        let _permit = self.0.gates.acquire(&host, writes, policy).await;
        let mut attempt = 0;
        let mut budget = policy.budget;
        let mut limited = 0;
        loop {
            let span = debug_span!(
                "http.request",
                method = %request.method(),
                host,
                path = %redact(url.path()),
                attempt,
                status = field::Empty,
                bytes = field::Empty,
                request_id = field::Empty,
                rate_remaining = field::Empty,
            );
            if writes {
                call::write_begins();
            }
            let begun = Instant::now();
            let outcome = self
                .send_once(request, url, &host, &span)
                .instrument(span.clone())
                .await;
            let answer = outcome.as_ref().ok();
            let rate = answer.and_then(|answer| RateLimit::from_headers(answer.headers()));
            let path = redact(url.path());
            let method = request.method().as_str();
            let mut sent = SentRequest::new(method, &host, &path, begun.elapsed());
            sent.quota = rate.map(|rate| Quota::new(rate.limit, rate.remaining, rate.reset));
            call::requested(&sent);
            let pause = match outcome {
                Ok(response) => {
                    let status = response.status();
                    if let Some(wait) = rate_limit::limited_for(status, response.headers()) {
                        if writes {
                            call::write_refused();
                        }
                        if wait > budget || limited >= policy.retries {
                            return Ok(response);
                        }
                        limited += 1;
                        budget -= wait;
                        tracing::warn!(parent: &span, seconds = wait.as_secs(), "rate limited, waiting");
                        call::rate_limited(&host, wait);
                        policy.wait(wait).await;
                        continue;
                    }
                    // A 500 may come from a crash, so an idempotent write is retried.
                    let broke =
                        class == Idempotency::Replay && status == StatusCode::INTERNAL_SERVER_ERROR;
                    if !(again && (is_gateway(status) || broke) && attempt < most) {
                        return Ok(response);
                    }
                    policy.pause(attempt)
                }
                Err(HttpFailure::NotSent { error, again }) => {
                    if writes {
                        call::write_refused();
                    }
                    if !again || attempt >= most {
                        return Err(error);
                    }
                    policy.pause(attempt)
                }
                Err(HttpFailure::Unknown(error)) => {
                    if !again {
                        return Err(error.with_retry(Retry::Ambiguous).with_hint(
                            "the request may have succeeded: check that before you try again",
                        ));
                    }
                    if attempt >= most {
                        return Err(error.with_retry(Retry::Transient).with_hint("try again"));
                    }
                    policy.pause(attempt)
                }
                Err(HttpFailure::Final(error)) if class == Idempotency::Write => {
                    return Err(error.with_retry(Retry::Ambiguous));
                }
                Err(HttpFailure::Final(error)) => return Err(error),
            };
            tracing::debug!(parent: &span, millis = pause.as_millis(), "trying again");
            policy.wait(pause).await;
            attempt += 1;
        }
    }

    async fn send_once(
        &self,
        request: &Request<Bytes>,
        url: &Url,
        host: &str,
        span: &Span,
    ) -> Result<Response<Body>, HttpFailure> {
        let failed =
            |e: reqwest::Error| failure::from_reqwest(&e, host, self.0.settings.idle_timeout);
        if tracing::enabled!(tracing::Level::TRACE) {
            self.trace_body("request body", request.body());
        }
        let mut sent = reqwest::Request::new(request.method().clone(), url.clone());
        *sent.headers_mut() = request.headers().clone();
        if !request.body().is_empty() {
            *sent.body_mut() = Some(request.body().clone().into());
        }
        let direct = self.0.settings.proxies.for_url(url).is_none();
        let client = match request.extensions().get::<PublicOnly>() {
            Some(PublicOnly) if direct => self.0.public.clone(),
            _ => self.0.client.clone(),
        };
        // `execute` is called inside of the future, because reqwest's timers belong to the runtime
        // in which they are created.
        let sending = async move { client.execute(sent).await }.instrument(span.clone());
        let response = self.0.connections.run(sending).await?.map_err(failed)?;
        let status = response.status();
        let headers = response.headers().clone();
        span.record("status", status.as_u16());
        if let Some(id) = headers
            .get("x-github-request-id")
            .and_then(|v| v.to_str().ok())
        {
            span.record("request_id", self.redact(id).as_str());
        }
        if let Some(left) = self.0.rates.note(host, &headers) {
            span.record("rate_remaining", left);
        }
        let streamed = request.extensions().get::<StreamBody>().is_some() && status.is_success();
        let body = if streamed {
            Body::stream(response.into(), host.to_owned())
        } else {
            let asked = request.extensions().get::<BodyMax>();
            let max = self.0.settings.body_max;
            let max = asked.map_or(max, |asked| asked.0.min(max));
            let bytes = self.collect(response, host, max).await?;
            span.record("bytes", bytes.len());
            if tracing::enabled!(tracing::Level::TRACE) {
                self.trace_body("answer body", &bytes);
            }
            Body::whole(bytes)
        };
        tracing::debug!(parent: span, "answered");
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }

    /// Reads a body of at most `max` bytes into memory.
    async fn collect(
        &self,
        mut response: reqwest::Response,
        host: &str,
        max: usize,
    ) -> Result<Bytes, HttpFailure> {
        let too_large = || {
            HttpFailure::Final(
                Error::new(
                    ErrorKind::Protocol,
                    format!("{host} sent more than {} in one answer", size(max)),
                )
                .with_source(failure::TooLong)
                .with_hint(
                    Hint::new("ask for less at once: fewer rows, or fewer fields")
                        .with_action(Action::again(&[(Param::Limit, Arg::Choose)])),
                ),
            )
        };
        let announced = response
            .content_length()
            .and_then(|n| usize::try_from(n).ok());
        if announced.is_some_and(|n| n > max) {
            return Err(too_large());
        }
        let mut bytes = BytesMut::with_capacity(announced.unwrap_or(0));
        loop {
            let chunk = response.chunk().await;
            match chunk
                .map_err(|e| failure::from_reqwest(&e, host, self.0.settings.idle_timeout))?
            {
                Some(chunk) if bytes.len() + chunk.len() > max => return Err(too_large()),
                Some(chunk) => bytes.extend_from_slice(&chunk),
                None => return Ok(bytes.freeze()),
            }
        }
    }

    fn trace_body(&self, what: &str, bytes: &[u8]) {
        tracing::trace!(body = %self.redact_all(&String::from_utf8_lossy(bytes)), "{what}");
    }
}

/// Formats a size in MiB, or in bytes if it is not a whole number of MiB.
fn size(bytes: usize) -> String {
    match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{bytes} bytes"),
    }
}

/// Configures a client that follows no redirects, repeats no requests, uses no proxies, and
/// resolves names with the lookup of the transport.
fn builder(
    settings: &HttpSettings,
    tls: ClientConfig,
    public_only: bool,
) -> reqwest::ClientBuilder {
    let resolver = Resolver {
        lookup: Arc::clone(&settings.lookup),
        public_only,
    };
    reqwest::Client::builder()
        .use_preconfigured_tls(tls)
        .user_agent(&settings.user_agent)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .dns_resolver(Arc::new(resolver))
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.idle_timeout)
        .pool_idle_timeout(Duration::from_secs(90))
        .tcp_nodelay(true)
}

/// Returns the IP address of a URL whose host is an address and not a name. The resolver never sees
/// such an address and therefore cannot check it.
fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(ip) => Some(ip.into()),
        Host::Ipv6(ip) => Some(ip.into()),
    }
}

/// Refuses a URL whose host is a private IP address.
///
/// # Errors
/// `protocol` for such a URL.
pub fn check_literal(url: &Url) -> Result<()> {
    match literal(url) {
        Some(ip) if !is_public_address(ip) => Err(failure::private_address(&host_of(url))),
        _ => Ok(()),
    }
}

fn idempotency_of(request: &Request<Bytes>) -> Idempotency {
    request
        .extensions()
        .get::<Idempotency>()
        .copied()
        .unwrap_or_else(|| match *request.method() {
            Method::GET | Method::HEAD => Idempotency::Read,
            _ => Idempotency::Write,
        })
}

fn is_gateway(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Returns the host, with the port unless it is the default port.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
