//! Sends requests to GitHub and parses its answers: token, headers, GraphQL envelope, errors.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use forge_core::{Error, ErrorKind, Result, Retry, Secret, Timestamp, Warning, model::BoardId};
use forge_http::{BodyMax, Http, HttpService, Idempotency, MaxRetries, StreamBody};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, combinators::BoxBody};
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use crate::{
    Endpoint, TokenSource,
    error::{self, ErrorContext, GqlError},
    gql::{with_page_size, without_teams},
    weight,
};

/// The version of GitHub's REST API that requests use unless the caller chooses another.
///
/// No recording shows an answer of a newer version, and Enterprise Servers before 3.21 refuse one.
/// forge reads nothing that version 2026-03-10 removed.
const API_VERSION: &str = "2022-11-28";
const VERSION_HEADER: &str = "x-github-api-version";
/// Media type with a preview that older Enterprise Servers need to return `mergeStateStatus`.
const GRAPHQL_ACCEPT: &str = "application/vnd.github.merge-info-preview+json, application/json";

/// The media type of REST answers.
pub(crate) const JSON: &str = "application/vnd.github+json";

type Stream = BoxBody<Bytes, octocrab::Error>;

/// The connection to one GitHub host.
pub(crate) struct Api {
    pub host: String,
    pub endpoint: Endpoint,
    pub http: Http,
    account: TokenSlot,
    /// The token for project boards, if a separate one is configured.
    boards: Option<TokenSlot>,
    /// Set once GitHub has refused a document because the token may not read teams. Later documents
    /// then do not select teams.
    no_teams: AtomicBool,
    /// Set once the end of the token was logged.
    expiry_logged: AtomicBool,
    crab: OnceCell<Octocrab>,
}

/// A source of tokens, and the token that it returned last.
struct TokenSlot {
    tokens: Arc<dyn TokenSource>,
    token: Mutex<Option<Secret>>,
}

impl TokenSlot {
    fn new(tokens: Arc<dyn TokenSource>) -> Self {
        Self {
            tokens,
            token: Mutex::new(None),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenChoice {
    #[default]
    Account,
    /// The token for project boards. If none is configured, the account's token is used.
    Board,
}

impl TokenChoice {
    /// Selects the board token if the request names a board.
    pub fn of(board: Option<&BoardId>) -> Self {
        match board {
            Some(_) => Self::Board,
            None => Self::Account,
        }
    }
}

/// A GraphQL answer: the data, and the errors of parts that failed.
#[derive(Debug)]
pub(crate) struct GqlAnswer<T> {
    pub data: Option<T>,
    pub errors: Vec<GqlError>,
    headers: HeaderMap,
    write: bool,
    access: TokenChoice,
}

impl<T> GqlAnswer<T> {
    /// Replaces the data and keeps the errors.
    pub fn with_data<U>(self, data: Option<U>) -> GqlAnswer<U> {
        GqlAnswer {
            data,
            errors: self.errors,
            headers: self.headers,
            write: self.write,
            access: self.access,
        }
    }
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Envelope<T> {
    #[serde(default = "Option::default")]
    data: Option<T>,
    #[serde(default)]
    errors: Vec<GqlError>,
}

/// A GraphQL request, and how it is sent.
#[derive(Clone, Copy)]
pub(crate) struct GqlCall<'a> {
    pub document: &'a str,
    pub variables: &'a Value,
    pub write: bool,
    pub access: TokenChoice,
    /// How often a gateway error is retried; `None` for the default.
    pub retries: Option<u32>,
}

/// Lowers the page size in the variable `first` to `size`, if the query has this variable.
fn with_first(variables: &Value, size: usize) -> Value {
    let mut variables = variables.clone();
    if let Some(first) = variables.get_mut("first")
        && first.as_u64().is_some_and(|rows| rows > size as u64)
    {
        *first = json!(size);
    }
    variables
}

impl Api {
    pub fn new(host: String, endpoint: Endpoint, http: Http, tokens: Arc<dyn TokenSource>) -> Self {
        Self {
            host,
            endpoint,
            http,
            account: TokenSlot::new(tokens),
            boards: None,
            no_teams: AtomicBool::new(false),
            expiry_logged: AtomicBool::new(false),
            crab: OnceCell::new(),
        }
    }

    /// Sets a separate token for requests that name a project board.
    pub fn set_board_tokens(&mut self, tokens: Arc<dyn TokenSource>) {
        self.boards = Some(TokenSlot::new(tokens));
    }

    /// Returns whether project boards use a separate token.
    pub fn has_board_token(&self) -> bool {
        self.boards.is_some()
    }

    fn slot(&self, access: TokenChoice) -> &TokenSlot {
        match (&self.boards, access) {
            (Some(boards), TokenChoice::Board) => boards,
            _ => &self.account,
        }
    }

    /// Returns the context for errors from this host.
    pub fn error_context(&self, write: bool) -> ErrorContext<'_> {
        self.error_context_as(TokenChoice::Account, write)
    }

    fn error_context_as(&self, access: TokenChoice, write: bool) -> ErrorContext<'_> {
        ErrorContext {
            host: &self.host,
            http: &self.http,
            tokens: self.slot(access).tokens.as_ref(),
            write,
        }
    }

    /// Sends a query. Fails if the whole query fails. The answer contains the errors of single
    /// fields.
    pub async fn query<T: DeserializeOwned>(
        &self,
        document: &str,
        variables: &Value,
    ) -> Result<GqlAnswer<T>> {
        self.query_as(TokenChoice::Account, document, variables)
            .await
    }

    /// Like [`Self::query`], but uses the token of `access`.
    pub async fn query_as<T: DeserializeOwned>(
        &self,
        access: TokenChoice,
        document: &str,
        variables: &Value,
    ) -> Result<GqlAnswer<T>> {
        self.graphql(GqlCall {
            document,
            variables,
            write: false,
            access,
            retries: None,
        })
        .await
    }

    /// Like [`Self::query_as`], for answers that contain user-written texts.
    ///
    /// If the answer is too long, sends the query again with half the page size, until the answer
    /// fits. `size` is the maximum page size. After the call, `size` is the page size that fitted.
    pub async fn query_in_pages<T: DeserializeOwned>(
        &self,
        access: TokenChoice,
        document: &str,
        variables: &Value,
        size: &mut usize,
    ) -> Result<GqlAnswer<T>> {
        let of_size = |size| (with_page_size(document, size), with_first(variables, size));
        let mut query = of_size(*size);
        loop {
            let error = match self.query_as(access, &query.0, &query.1).await {
                Err(error) if forge_http::is_too_long(&error) => error,
                answer => return answer,
            };
            let before = query.clone();
            while *size > 1 && query == before {
                *size /= 2;
                query = of_size(*size);
            }
            if query == before {
                return Err(error);
            }
            tracing::debug!(size = *size, "the answer was too long, halving its pages");
        }
    }

    /// Sends a mutation. Retries only if GitHub refused the mutation before running it.
    pub async fn mutate_as<T: DeserializeOwned>(
        &self,
        access: TokenChoice,
        document: &str,
        variables: &Value,
    ) -> Result<GqlAnswer<T>> {
        self.graphql(GqlCall {
            document,
            variables,
            write: true,
            access,
            retries: None,
        })
        .await
    }

    /// Sends a GraphQL request and parses `data` and `errors` of the answer.
    pub async fn graphql<T: DeserializeOwned>(&self, call: GqlCall<'_>) -> Result<GqlAnswer<T>> {
        let policy = self.http.settings().retry;
        let body =
            |document: &str| json!({ "query": document, "variables": call.variables }).to_string();
        let mut document = Cow::Borrowed(call.document);
        if self.no_teams.load(Ordering::Relaxed)
            && let Some(less) = without_teams(&document)
        {
            document = Cow::Owned(less);
        }
        let mut budget = policy.budget;
        for attempt in 0.. {
            let mut request = Request::post(&self.endpoint.graphql)
                .header(header::ACCEPT, GRAPHQL_ACCEPT)
                .header(header::CONTENT_TYPE, "application/json")
                .extension(if call.write {
                    Idempotency::Write
                } else {
                    Idempotency::Read
                });
            if let Some(retries) = call.retries {
                request = request.extension(MaxRetries(retries));
            }
            let (status, headers, bytes) = self
                .buffered(call.access, request, body(&document).into(), call.write)
                .await?;
            if !status.is_success() {
                return Err(error::from_http(
                    self.error_context_as(call.access, call.write),
                    status,
                    &headers,
                    &bytes,
                ));
            }
            let answer = self.open(&bytes, headers, call)?;
            // GitHub checks the rate limit before it runs a document, so a refused mutation has not
            // run.
            if answer.errors.iter().any(GqlError::is_rate_limit) {
                if call.write {
                    forge_core::call::write_refused();
                }
                let wait = forge_http::rate_limit_wait(&answer.headers);
                if wait <= budget && attempt < policy.retries {
                    budget -= wait;
                    tracing::warn!(seconds = wait.as_secs(), "rate limited, waiting");
                    forge_core::call::rate_limited(&self.host, wait);
                    policy.wait(wait).await;
                    continue;
                }
                return Err(self.first_error(&answer));
            }
            // GitHub refused the whole document, so no mutation in it has run.
            if answer.data.is_none()
                && answer.errors.iter().any(GqlError::is_about_teams)
                && let Some(less) = without_teams(&document)
            {
                self.no_teams.store(true, Ordering::Relaxed);
                document = Cow::Owned(less);
                continue;
            }
            return Ok(answer);
        }
        Err(no_answer())
    }

    fn open<T: DeserializeOwned>(
        &self,
        bytes: &[u8],
        headers: HeaderMap,
        call: GqlCall<'_>,
    ) -> Result<GqlAnswer<T>> {
        let GqlCall { write, access, .. } = call;
        let wrong = match serde_json::from_slice::<Envelope<T>>(bytes) {
            Ok(envelope) if envelope.data.is_none() && envelope.errors.is_empty() => {
                "it has neither data nor errors".to_owned()
            }
            Ok(Envelope { data, mut errors }) => {
                error::limit_texts(&mut errors);
                return Ok(GqlAnswer {
                    data,
                    errors,
                    headers,
                    write,
                    access,
                });
            }
            Err(e) => e.to_string(),
        };
        // GitHub nulls a field with an error, even if the schema calls the field non-null. Such an
        // answer does not parse as `T`. Its errors still parse, and give the reason.
        if let Ok(Envelope::<serde::de::IgnoredAny> { mut errors, .. }) =
            serde_json::from_slice(bytes)
            && !errors.is_empty()
        {
            error::limit_texts(&mut errors);
            return Ok(GqlAnswer {
                data: None,
                errors,
                headers,
                write,
                access,
            });
        }
        let error = Error::new(
            ErrorKind::Protocol,
            format!(
                "the answer of {} cannot be understood: {}",
                self.host,
                self.error_context(write).sanitize(&wrong)
            ),
        );
        Err(if write {
            error::ambiguous(error)
        } else {
            error
        })
    }

    /// Converts the first GraphQL error of an answer to an [`Error`].
    pub fn first_error<T>(&self, answer: &GqlAnswer<T>) -> Error {
        match answer.errors.first() {
            Some(e) => self.error(answer, e),
            None => Error::new(
                ErrorKind::Protocol,
                format!("the answer of {} lacks the requested data", self.host),
            ),
        }
    }

    /// Converts a GraphQL error of an answer to an [`Error`].
    pub fn error<T>(&self, answer: &GqlAnswer<T>, e: &GqlError) -> Error {
        error::from_graphql(
            self.error_context_as(answer.access, answer.write),
            e,
            &answer.headers,
        )
    }

    /// Fails if the token lacks the scope for changing project boards. A token that can read boards
    /// may lack this scope, so callers check it before their first write.
    pub fn may_change_boards<T>(&self, answer: &GqlAnswer<T>) -> Result<()> {
        let what = "change project boards";
        match error::lacks_scope(
            self.error_context_as(answer.access, true),
            &answer.headers,
            "project",
            what,
        ) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns the scopes for changing pull requests that the token is known to lack.
    pub fn missing_scopes<T>(&self, answer: &GqlAnswer<T>) -> Vec<String> {
        error::missing_for_pulls(&answer.headers)
    }

    /// Returns the data if the answer has no errors.
    pub fn require_complete<T>(&self, answer: GqlAnswer<T>) -> Result<T> {
        if !answer.errors.is_empty() {
            return Err(self.first_error(&answer));
        }
        match answer.data {
            Some(data) => Ok(data),
            None => Err(Error::new(
                ErrorKind::Protocol,
                format!("{} sent no data", self.host),
            )),
        }
    }

    /// Turns the errors of a GraphQL answer into warnings.
    ///
    /// `part` returns the part of the result that an error concerns: its title for the message, and
    /// its field in the model.
    pub fn warnings<T>(
        &self,
        answer: &GqlAnswer<T>,
        part: impl Fn(&GqlError) -> (String, Option<&'static str>),
    ) -> Vec<Warning> {
        self.warnings_of(answer, &answer.errors, part)
    }

    /// Like [`Self::warnings`], but only for `errors`.
    pub fn warnings_of<'a, T>(
        &self,
        answer: &GqlAnswer<T>,
        errors: impl IntoIterator<Item = &'a GqlError>,
        part: impl Fn(&GqlError) -> (String, Option<&'static str>),
    ) -> Vec<Warning> {
        let mut seen = BTreeSet::new();
        let mut warnings = Vec::new();
        for e in errors {
            let error = self.error(answer, e);
            let (title, section) = part(e);
            // A title may contain part of the error's path, which is text from the host.
            let title = self.error_context(answer.write).sanitize(&title);
            let message = format!("{title} could not be read: {}", error.message());
            if seen.insert(message.clone()) {
                let mut warning = error::warning(message, &error);
                warning.section = section;
                warnings.push(warning);
            }
        }
        warnings
    }

    /// Sends a REST request and buffers the answer.
    pub async fn rest(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, HeaderMap, Bytes)> {
        self.rest_versioned(API_VERSION, method, path, accept, body)
            .await
    }

    /// Like [`Self::rest`], for a route of the API version `version`.
    pub async fn rest_versioned(
        &self,
        version: &'static str,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, HeaderMap, Bytes)> {
        let write = method != Method::GET;
        let mut request = self.rest_request(method, path, accept);
        if let Some(headers) = request.headers_mut() {
            headers.insert(VERSION_HEADER, HeaderValue::from_static(version));
        }
        let body = match body {
            Some(value) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Bytes::from(value.to_string())
            }
            None => Bytes::new(),
        };
        self.buffered(TokenChoice::Account, request, body, write)
            .await
    }

    /// Uploads to the attachments host, without retries.
    pub async fn upload(&self, path: &str, body: Bytes) -> Result<(StatusCode, HeaderMap, Bytes)> {
        let base = self.endpoint.uploads.as_deref().unwrap_or_default();
        let request = Request::post(format!("{base}{path}"))
            .header(header::ACCEPT, JSON)
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(VERSION_HEADER, API_VERSION)
            .extension(Idempotency::Write);
        self.buffered(TokenChoice::Account, request, body, true)
            .await
    }

    /// Sends a REST read and streams the body.
    pub async fn stream(&self, path: &str, accept: &str) -> Result<Response<Stream>> {
        let request = self
            .rest_request(Method::GET, path, accept)
            .extension(StreamBody);
        let request = complete_request(request, Bytes::new())?;
        self.authorised(TokenChoice::Account, &request).await
    }

    fn rest_request(&self, method: Method, path: &str, accept: &str) -> http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint.rest))
            .header(header::ACCEPT, accept)
            .header(VERSION_HEADER, API_VERSION)
    }

    async fn buffered(
        &self,
        access: TokenChoice,
        request: http::request::Builder,
        body: Bytes,
        write: bool,
    ) -> Result<(StatusCode, HeaderMap, Bytes)> {
        let accept = request.headers_ref().and_then(|h| h.get(header::ACCEPT));
        let accept = accept.and_then(|value| value.to_str().ok());
        let is_json = accept.is_some_and(|accept| accept.contains("json"));
        let unread = |error: Error| match write {
            true => error.with_retry(Retry::Ambiguous),
            false => error,
        };
        let request = complete_request(request, body)?;
        let policy = self.http.settings().retry;
        let mut budget = policy.budget;
        for attempt in 0.. {
            let (parts, body) = self.authorised(access, &request).await?.into_parts();
            let bytes = body.collect().await;
            let bytes = bytes.map_err(|e| unread(from_octocrab(e)))?.to_bytes();
            // The transport waits for the limits that the headers tell. Only the body tells about
            // this one. GitHub checks the limit before it runs a request.
            let is_limited = parts.status == StatusCode::FORBIDDEN
                && forge_http::limited_for(parts.status, &parts.headers).is_none()
                && error::is_secondary_limit(&String::from_utf8_lossy(&bytes));
            if is_limited && write {
                forge_core::call::write_refused();
            }
            let wait = forge_http::rate_limit_wait(&parts.headers);
            if is_limited && wait <= budget && attempt < policy.retries {
                budget -= wait;
                tracing::warn!(seconds = wait.as_secs(), "rate limited, waiting");
                forge_core::call::rate_limited(&self.host, wait);
                policy.wait(wait).await;
                continue;
            }
            weight::hold(&self.host, &bytes, is_json).map_err(unread)?;
            return Ok((parts.status, parts.headers, bytes));
        }
        Err(no_answer())
    }

    /// Sends a request with the token. After a 401, sends the request once more with a renewed
    /// token.
    async fn authorised(
        &self,
        access: TokenChoice,
        request: &Request<Bytes>,
    ) -> Result<Response<Stream>> {
        let slot = self.slot(access);
        let token = self.token(slot).await?;
        let response = self.execute(request, &token).await?;
        if let Some(end) = error::soon_expired(response.headers(), &Timestamp::now())
            && !self.expiry_logged.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(host = self.host, %end, "the token expires soon: make a new one");
        }
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        match slot.tokens.renewed(&self.host, &token).await? {
            Some(renewed) if renewed != token => {
                *slot.token.lock().await = Some(renewed.clone());
                self.no_teams.store(false, Ordering::Relaxed);
                self.execute(request, &renewed).await
            }
            _ => Ok(response),
        }
    }

    async fn token(&self, slot: &TokenSlot) -> Result<Secret> {
        let mut token = slot.token.lock().await;
        if token.is_none() {
            *token = slot.tokens.token(&self.host).await?;
        }
        token.clone().ok_or_else(|| error::no_token(&self.host))
    }

    async fn execute(&self, request: &Request<Bytes>, token: &Secret) -> Result<Response<Stream>> {
        let mut request = request.clone();
        self.http.remember(token);
        let mut value =
            HeaderValue::try_from(format!("token {}", token.expose())).map_err(|_| {
                Error::new(
                    ErrorKind::Unauthenticated {
                        host: self.host.clone(),
                    },
                    format!(
                        "the token for {} has characters that no token can have",
                        self.host
                    ),
                )
                .with_hint("remove line breaks and blanks from the token")
            })?;
        value.set_sensitive(true);
        request.headers_mut().insert(header::AUTHORIZATION, value);
        // octocrab spawns a worker when it is built. Spawning needs the async runtime, so the
        // client is built here and not in `new`.
        let crab = self
            .crab
            .get_or_init(|| async {
                let leaf = HttpService::new(self.http.clone());
                let builder = OctocrabBuilder::new_empty()
                    .with_service(leaf)
                    .with_auth(AuthState::None);
                match builder.build() {
                    Ok(crab) => crab,
                    Err(never) => match never {},
                }
            })
            .await;
        crab.execute(request).await.map_err(from_octocrab)
    }
}

fn complete_request(request: http::request::Builder, body: Bytes) -> Result<Request<Bytes>> {
    let request = request.extension(BodyMax(weight::MAX_ANSWER)).body(body);
    request.map_err(|e| {
        Error::new(ErrorKind::Internal, format!("a request is malformed: {e}")).with_source(e)
    })
}

fn no_answer() -> Error {
    let message = "the retry loop ended without an answer";
    Error::new(ErrorKind::Internal, message)
}

/// Unwraps the transport error inside an octocrab error. octocrab's own message is dropped, because
/// it may contain a backtrace.
fn from_octocrab(error: octocrab::Error) -> Error {
    if let octocrab::Error::Service { source, .. } = error
        && let Ok(ours) = source.downcast::<Error>()
    {
        return *ours;
    }
    Error::new(
        ErrorKind::Internal,
        "the GitHub client failed before it sent anything",
    )
}

/// Converts a response body into the workspace's stream of chunks.
pub(crate) fn chunks(body: Stream) -> forge_core::model::ByteStream {
    use futures::StreamExt;
    let frames = http_body_util::BodyStream::new(body);
    Box::pin(frames.filter_map(|frame| async {
        match frame {
            Ok(frame) => frame.into_data().ok().map(|bytes| Ok(bytes.to_vec())),
            Err(e) => Some(Err(from_octocrab(e))),
        }
    }))
}
