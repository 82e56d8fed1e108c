//! Makes XRPC calls (atproto's HTTP API) with the crate atrium, over the transport of this
//! workspace.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use atrium_api::client::AtpServiceClient;
use atrium_xrpc::{
    HttpClient, InputDataOrBytes, OutputDataOrBytes, XrpcClient, XrpcRequest,
    types::AuthorizationToken,
};
use bytes::Bytes;
use forge_core::{Error, ErrorKind, Result, Retry, Secret, Timestamp, call};
use forge_http::{Body, BodyMax, Http, Idempotency, MAX_REDIRECTS, MaxRetries};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    Origin,
    address_policy::{Guard, NamedBy},
    field_rename::{self, Answer},
    json_field::null_as_default,
    part_window::{self, PartWindow},
    read_limits::{
        MAX_ANSWER, MAX_ANSWER_WEIGHT, MAX_COMPARISON, MAX_COMPARISON_WEIGHT, MAX_SESSION,
        ReadLimits,
    },
    xrpc_error,
};

/// Query parameters, in order.
pub(crate) type Params<'a> = &'a [(&'a str, &'a str)];

/// The body of every XRPC failure.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct XrpcFailure {
    #[serde(default, deserialize_with = "null_as_default")]
    pub error: String,
    #[serde(default, deserialize_with = "null_as_default")]
    pub message: String,
}

/// Client of a service, with or without a token. Atrium sends its requests through this client.
#[derive(Clone, Debug)]
pub(crate) struct Xrpc {
    http: Http,
    origin: Origin,
    named_by: NamedBy,
    guard: Arc<Guard>,
    token: Option<Secret>,
    class: Option<Idempotency>,
    retries: Option<u32>,
    /// How long a request waits for its answer, with all retries.
    patience: Option<Duration>,
    /// The time within which all answers have to come.
    window: Option<PartWindow>,
    /// True if the answer counts against [`ReadLimits`].
    is_bounded: bool,
    /// Maximum size in bytes of an answer that is not a list.
    max_body: Option<usize>,
    /// True if the answer is bytes, regardless of its content type.
    is_blob: bool,
}

impl Xrpc {
    /// Creates a client of a service; `guard` limits its address and its redirects.
    pub fn new(http: Http, origin: Origin, named_by: NamedBy, guard: Arc<Guard>) -> Self {
        Self {
            http,
            origin,
            named_by,
            guard,
            token: None,
            class: None,
            retries: None,
            patience: None,
            window: None,
            is_bounded: false,
            max_body: None,
            is_blob: false,
        }
    }

    /// Returns the same service without retries, for a caller that falls back to another service.
    pub fn asked_once(mut self) -> Self {
        self.retries = Some(0);
        self
    }

    /// Returns the same service with one retry. This is for a request whose failure would waste
    /// costly earlier requests.
    pub fn asked_twice(mut self) -> Self {
        self.retries = Some(1);
        self
    }

    /// Returns the same service for a caller that goes on without an answer after `wait`.
    pub fn patient(mut self, wait: Duration) -> Self {
        self.patience = Some(wait);
        self
    }

    /// Returns the same service for answers that have to come within `window`.
    pub fn within(mut self, window: PartWindow) -> Self {
        self.window = Some(window);
        self
    }

    /// Returns true if no further answer can come in time.
    pub fn is_out_of_time(&self) -> bool {
        self.window.is_some_and(|window| window.left().is_zero())
    }

    /// Returns true if the caller goes on without an answer.
    pub fn is_optional(&self) -> bool {
        self.window.is_some()
    }

    /// Returns the same service for lists, whose answers count against [`ReadLimits`].
    pub fn bounded(mut self) -> Self {
        self.is_bounded = true;
        self
    }

    /// Returns the same service for one record, with the size limit of a page of a list.
    pub fn for_record(mut self) -> Self {
        self.max_body = Some(self.limits().page);
        self
    }

    /// Returns the same service for a blob of at most `max` bytes.
    pub fn for_blob(mut self, max: usize) -> Self {
        self.max_body = Some(max);
        self.is_blob = true;
        self
    }

    /// Returns the same service for an answer with a token.
    pub fn for_token(mut self) -> Self {
        self.max_body = Some(MAX_SESSION);
        self
    }

    /// Returns the same service with the limits of a comparison of commits.
    pub fn for_comparison(mut self) -> Self {
        self.max_body = Some(MAX_COMPARISON);
        self
    }

    pub fn limits(&self) -> &ReadLimits {
        self.guard.read_limits()
    }

    /// Returns the same service with a token.
    pub fn with_token(mut self, token: Secret) -> Self {
        self.token = Some(token);
        self
    }

    /// Returns the same service for calls of this idempotency class, which says whether a call may
    /// be repeated.
    pub fn with_class(mut self, class: Idempotency) -> Self {
        self.class = Some(class);
        self
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns atrium's typed client of this service.
    pub fn typed(self) -> AtpServiceClient<Self> {
        AtpServiceClient::new(self)
    }

    /// Converts a failure of one of atrium's typed calls.
    pub fn failed<E: std::fmt::Debug + Send + Sync + 'static>(
        &self,
        nsid: &str,
        error: atrium_xrpc::Error<E>,
        named: impl Fn(&E) -> XrpcFailure,
        write: bool,
    ) -> Error {
        use atrium_xrpc::error::{Error as X, XrpcErrorKind};
        match error {
            X::XrpcResponse(answer) => {
                let failure = match answer.error {
                    Some(XrpcErrorKind::Custom(e)) => named(&e),
                    Some(XrpcErrorKind::Undefined(body)) => XrpcFailure {
                        error: body.error.unwrap_or_default(),
                        message: body.message.unwrap_or_default(),
                    },
                    None => XrpcFailure::default(),
                };
                // A service may repeat secrets of the request: a password, a token.
                let failure = XrpcFailure {
                    error: self.http.redact(&failure.error),
                    message: self.http.redact(&failure.message),
                };
                xrpc_error::of_status(&self.origin, nsid, answer.status, &failure, write)
            }
            X::HttpClient(error) => sent(error),
            X::Authentication(_) => xrpc_error::of_status(
                &self.origin,
                nsid,
                StatusCode::UNAUTHORIZED,
                &XrpcFailure::default(),
                write,
            ),
            X::SerdeJson(e) => {
                let why = self.http.redact(&e.to_string());
                xrpc_error::garbled(&self.origin, nsid, &why, write)
            }
            _ => xrpc_error::garbled(
                &self.origin,
                nsid,
                "its format is not the expected one",
                write,
            ),
        }
    }

    /// Sends a query with a JSON answer.
    pub async fn query<O: DeserializeOwned + Send + Sync>(
        &self,
        nsid: &str,
        params: Params<'_>,
    ) -> Result<O> {
        let answer = self.value(nsid, params).await?;
        field_rename::parse(answer)
            .map_err(|why| xrpc_error::garbled(&self.origin, nsid, &why, false))
    }

    async fn value(&self, nsid: &str, params: Params<'_>) -> Result<Value> {
        let output = self
            .call::<Value>(Method::GET, nsid, params, None, None, false)
            .await?;
        match output {
            OutputDataOrBytes::Data(data) => Ok(data),
            // A knot sends JSON with the content type `*/*`.
            OutputDataOrBytes::Bytes(bytes) => self.parse(nsid, &bytes, false),
        }
    }

    fn parse(&self, nsid: &str, json: &[u8], write: bool) -> Result<Value> {
        self.weigh(json, write)?;
        serde_json::from_slice(json).map_err(|e| {
            xrpc_error::garbled(&self.origin, nsid, &e.to_string(), write).with_source(e)
        })
    }

    /// Refuses JSON that would take much more memory than its bytes.
    fn weigh(&self, json: &[u8], write: bool) -> Result<()> {
        let max = match (self.is_bounded, self.max_body) {
            (true, _) => 2 * self.limits().page,
            (false, Some(MAX_COMPARISON)) => MAX_COMPARISON_WEIGHT,
            (false, Some(max)) => 2 * max,
            (false, None) => MAX_ANSWER_WEIGHT,
        };
        if call::weight_of_json(json) <= max {
            return Ok(());
        }
        let error = xrpc_error::too_long(&self.origin);
        Err(match write {
            true => error.with_retry(Retry::Ambiguous),
            false => error,
        })
    }

    /// Sends a query whose answer has configurable field names.
    pub async fn ask<A: Answer>(
        &self,
        nsid: &str,
        params: Params<'_>,
        names: &A::Names,
    ) -> Result<A> {
        let answer = self.value(nsid, params).await?;
        field_rename::read(answer, names)
            .map_err(|why| xrpc_error::garbled(&self.origin, nsid, &why, false))
    }

    /// Sends a query whose answer is bytes.
    pub async fn bytes(&self, nsid: &str, params: Params<'_>) -> Result<Vec<u8>> {
        let output = self
            .call::<Value>(Method::GET, nsid, params, None, None, false)
            .await?;
        match output {
            OutputDataOrBytes::Bytes(bytes) => Ok(bytes),
            OutputDataOrBytes::Data(value) => Ok(value.to_string().into_bytes()),
        }
    }

    /// Calls a procedure with a JSON body. Returns `Null` if the answer has no body.
    pub async fn procedure(&self, nsid: &str, input: &Value) -> Result<Value> {
        let write = self.class.is_none_or(|c| c != Idempotency::Read);
        let output = self
            .call::<Value>(
                Method::POST,
                nsid,
                &[],
                Some(InputDataOrBytes::Data(input.clone())),
                Some("application/json"),
                write,
            )
            .await?;
        match output {
            OutputDataOrBytes::Data(value) => Ok(value),
            OutputDataOrBytes::Bytes(bytes) if bytes.is_empty() => Ok(Value::Null),
            OutputDataOrBytes::Bytes(bytes) => self.parse(nsid, &bytes, write),
        }
    }

    /// Calls a procedure whose body is bytes of `encoding`.
    pub async fn upload(&self, nsid: &str, encoding: &str, body: Vec<u8>) -> Result<Value> {
        let output = self
            .call::<Value>(
                Method::POST,
                nsid,
                &[],
                Some(InputDataOrBytes::Bytes(body)),
                Some(encoding),
                true,
            )
            .await?;
        match output {
            OutputDataOrBytes::Data(value) => Ok(value),
            OutputDataOrBytes::Bytes(_) => Err(xrpc_error::garbled(
                &self.origin,
                nsid,
                "it is no JSON",
                true,
            )),
        }
    }

    async fn call<O: DeserializeOwned + Send + Sync>(
        &self,
        method: Method,
        nsid: &str,
        params: Params<'_>,
        input: Option<InputDataOrBytes<Value>>,
        encoding: Option<&str>,
        write: bool,
    ) -> Result<OutputDataOrBytes<O>> {
        let request = XrpcRequest {
            method,
            nsid: nsid.to_owned(),
            parameters: (!params.is_empty()).then_some(params),
            input,
            encoding: encoding.map(str::to_owned),
        };
        // Boxed, because an operation nests dozens of these futures, which would overflow a
        // thread's stack.
        let sent = Box::pin(self.send_xrpc::<Params<'_>, Value, O, XrpcFailure>(&request));
        sent.await.map_err(|e| {
            self.failed(
                nsid,
                e,
                |f| XrpcFailure {
                    error: f.error.clone(),
                    message: f.message.clone(),
                },
                write,
            )
        })
    }
}

/// Returns true if atrium parses an answer with these headers as JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/json"))
}

/// Unwraps the error of our own transport from atrium's box.
fn sent(error: Box<dyn StdError + Send + Sync>) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => Error::new(
            ErrorKind::Internal,
            format!("a request could not be made: {other}"),
        )
        .with_source(other),
    }
}

impl HttpClient for Xrpc {
    async fn send_http(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, Box<dyn StdError + Send + Sync + 'static>> {
        let mut request = request.map(Bytes::from);
        if let Some(class) = self.class {
            request.extensions_mut().insert(class);
        }
        if let Some(retries) = self.retries {
            request.extensions_mut().insert(MaxRetries(retries));
        }
        let max = match (self.max_body, self.is_bounded) {
            (Some(max), _) => max,
            (None, true) => self.limits().page,
            (None, false) => MAX_ANSWER,
        };
        request.extensions_mut().insert(BodyMax(max));
        let write = request.method() != Method::GET && self.class != Some(Idempotency::Read);
        // The total read limit stops neither a write nor the request for its token.
        let is_limited = !write && self.max_body != Some(MAX_SESSION);
        if is_limited && call::received(0) > self.limits().command {
            return Err(Box::new(xrpc_error::spent(self.limits().command)));
        }
        let left = self.window.map(|window| window.left());
        let sent = match self.patience.into_iter().chain(left).min() {
            None => self.send(request).await,
            Some(wait) => match timeout(wait, self.send(request)).await {
                Ok(sent) => sent,
                Err(_) => Err(part_window::silent(self.origin.host(), wait)),
            },
        };
        if sent.as_ref().is_err_and(forge_http::is_too_long) {
            let _ = call::received(max);
        }
        let (mut parts, body) = sent?.into_parts();
        if parts.status == StatusCode::TOO_MANY_REQUESTS {
            return Err(Box::new(self.limited(&parts.headers)));
        }
        // atrium drops the body of an answer with this header, although the body states the cause
        // of the failure.
        parts.headers.remove(header::WWW_AUTHENTICATE);
        let body = body.into_bytes().unwrap_or_default();
        let _ = call::received(body.len());
        if self.is_blob && parts.status.is_success() {
            // atrium would parse a blob of the type JSON and change its bytes.
            parts.headers.remove(header::CONTENT_TYPE);
        }
        // atrium parses a failure of any content type as JSON, so the size of each failure is
        // checked.
        if self.is_bounded || !parts.status.is_success() || is_json(&parts.headers) {
            self.weigh(&body, write)?;
        }
        Ok(Response::from_parts(parts, body.into()))
    }
}

impl Xrpc {
    /// Sends a request. The transport does not repeat a request after status 500, so this function
    /// does if [`Self::asked_twice`] has marked the request.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Body>> {
        let again = self.retries == Some(1) && request.method() == Method::GET;
        let sent = || {
            self.guard
                .send(request.clone(), self.named_by, MAX_REDIRECTS)
        };
        match sent().await {
            Ok(it) if again && it.status() == StatusCode::INTERNAL_SERVER_ERROR => sent().await,
            answer => answer,
        }
    }

    /// Builds the error for a request that was refused by a rate limit. `ratelimit-reset` is in
    /// seconds since the epoch (the PDS's reference implementation).
    fn limited(&self, headers: &HeaderMap) -> Error {
        let number =
            |name: &str| -> Option<i64> { headers.get(name)?.to_str().ok()?.trim().parse().ok() };
        let reset = number("ratelimit-reset").map(Timestamp::from_unix);
        let wait = number("retry-after").and_then(|s| u64::try_from(s).ok());
        let error = Error::new(
            ErrorKind::RateLimited {
                bucket: self.origin.host().to_owned(),
                reset,
            },
            format!("{} refuses more requests for now", self.origin.host()),
        )
        .with_hint(match reset {
            Some(reset) => format!("try again after {reset}"),
            None => "try again in a minute".to_owned(),
        });
        match wait {
            Some(seconds) => error.with_retry(Retry::After(Duration::from_secs(seconds))),
            None => error,
        }
    }
}

impl XrpcClient for Xrpc {
    fn base_uri(&self) -> String {
        self.origin.as_str().to_owned()
    }

    async fn authorization_token(&self, _is_refresh: bool) -> Option<AuthorizationToken> {
        self.token
            .as_ref()
            .map(|t| AuthorizationToken::Bearer(t.expose().to_owned()))
    }
}
