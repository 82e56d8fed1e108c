//! Maps GitHub's failures to the workspace's errors: by GraphQL error type or by HTTP status. An
//! answer with neither is mapped by its message.
//!
//! Sources for shapes and messages: docs.github.com ("Troubleshooting the GraphQL API"), public
//! issue threads, and the output of gh. A message that is not in the table `MESSAGES` is shown as
//! GitHub sent it.

use std::{error::Error as StdError, fmt};

use forge_core::{
    Action, Arg, Call, Error, ErrorKind, Hint, Noun, Op, Param, PrId, Precondition, RepoId, Retry,
    Timestamp, Warning, text,
};
use forge_http::Http;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::TokenSource;

mod refusals;

pub(crate) use refusals::UNMET;
use refusals::{is_about, known_refusal};

/// An entry of `errors` in a GraphQL answer.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct GqlError {
    /// The error type, such as `NOT_FOUND` or `FORBIDDEN`. GitHub may add types, and many errors
    /// have none.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub path: Option<Vec<Value>>,
    #[serde(default)]
    pub extensions: Option<Value>,
}

impl GqlError {
    /// Returns the field names in the error's path, without list indices.
    pub fn names(&self) -> Vec<&str> {
        self.path
            .iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Returns the first name in the error's path: the alias of a mutation or a lookup.
    pub fn root(&self) -> &str {
        self.names().first().copied().unwrap_or_default()
    }

    /// Returns whether this error is a rate limit. GitHub uses two spellings, and the secondary limit
    /// has no type.
    pub fn is_rate_limit(&self) -> bool {
        matches!(self.kind.as_deref(), Some("RATE_LIMITED" | "RATE_LIMIT"))
            || self.kind.is_none() && is_secondary_limit(&self.message)
    }

    /// Returns whether GitHub refused a token that may not read teams. The message then names the
    /// scope `read:org` or `read:discussion`.
    pub fn is_about_teams(&self) -> bool {
        self.kind.as_deref() == Some("INSUFFICIENT_SCOPES")
            && scopes_in(&self.message).iter().any(|s| s == TEAM_SCOPE)
    }

    fn code(&self) -> &str {
        let code = self.extensions.as_ref().and_then(|e| e.get("code"));
        code.and_then(Value::as_str).unwrap_or_default()
    }
}

/// Maximum total size of the messages and paths of all errors in one answer, in bytes.
const MAX_ERRORS_SIZE: usize = 512 * 1024;

/// Clears the messages and paths of errors beyond [`MAX_ERRORS_SIZE`]. Each text is later searched
/// for credentials, which takes seconds for an answer of megabytes.
pub(crate) fn limit_texts(errors: &mut [GqlError]) {
    // The search for credentials reads at most 8 KiB of a text.
    let searched = |len: usize| len.min(8 * 1024);
    let mut left = MAX_ERRORS_SIZE;
    for error in errors {
        let path: usize = error.names().iter().map(|name| name.len()).sum();
        match left.checked_sub(searched(path) + searched(error.message.len())) {
            Some(rest) => left = rest,
            None => {
                error.message.clear();
                error.path = None;
            }
        }
    }
}

/// What an error needs to know about its request: host, transport, token, and read or write.
#[derive(Clone, Copy)]
pub(crate) struct ErrorContext<'a> {
    pub host: &'a str,
    pub http: &'a Http,
    /// The source of the token. Error messages say where the token comes from.
    pub tokens: &'a dyn TokenSource,
    pub write: bool,
}

impl ErrorContext<'_> {
    /// Returns the name of the token in messages.
    fn token(&self) -> String {
        match self.tokens.origin(self.host) {
            Some(origin) => format!("the token from {origin}"),
            None => "the token".to_owned(),
        }
    }

    /// Sanitizes a GitHub message: one line, no control characters, no credentials, limited length.
    pub fn sanitize(&self, message: &str) -> String {
        let clean = self.http.redact(message);
        let line = text::one_line(clean.trim()).into_owned();
        text::truncate_chars(line.trim_end_matches('.'), 500)
            .0
            .into_owned()
    }

    /// Returns the error for an answer of the wrong shape. serde's message quotes the answer, so it
    /// is sanitized here. The serde error itself is not kept as source.
    pub fn misread(&self, what: &str, why: &serde_json::Error) -> Error {
        Error::new(
            ErrorKind::Protocol,
            format!(
                "{what} cannot be understood: {}",
                self.sanitize(&why.to_string())
            ),
        )
    }
}

/// The body of a failed REST request or a refused GraphQL request.
#[derive(Debug, Default, Deserialize)]
struct RestBody {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<Value>,
    /// Why a repository is blocked (docs.github.com, "Repository access blocked").
    #[serde(default)]
    block: Option<Value>,
}

impl RestBody {
    /// Returns the address of the notice because of which a repository is blocked.
    fn notice(&self, about: ErrorContext<'_>) -> Option<String> {
        let url = self.block.as_ref()?.get("html_url")?.as_str()?;
        let is_web = url.starts_with("https://");
        is_web.then(|| about.sanitize(url))
    }

    /// Joins the message with the messages of `errors`, which say more than "Validation Failed".
    fn sentence(&self) -> String {
        let parts: Vec<String> = self
            .errors
            .iter()
            .filter_map(|e| match e {
                Value::String(text) => Some(text.clone()),
                _ => e
                    .get("message")
                    .and_then(Value::as_str)
                    .map(str::to_owned)
                    .or_else(|| {
                        let get = |key| e.get(key).and_then(Value::as_str);
                        Some(format!(
                            "{} {}: {}",
                            get("resource")?,
                            get("field")?,
                            get("code")?
                        ))
                    }),
            })
            .collect();
        match (self.message.as_str(), parts.is_empty()) {
            (message, true) => message.to_owned(),
            ("Validation Failed" | "", false) => parts.join("; "),
            (message, false) => format!("{message}: {}", parts.join("; ")),
        }
    }
}

/// The scope that lets a classic token read teams.
const TEAM_SCOPE: &str = "read:org";

/// Returns the error for a token that may not read the teams that a request needs.
pub(crate) fn no_teams(about: ErrorContext<'_>) -> Error {
    let said = "this token may not read the name of a team whose review is requested";
    forbidden(about, &HeaderMap::new(), said, &[TEAM_SCOPE.to_owned()])
}

/// Maps a failed HTTP answer to an error.
pub(crate) fn from_http(
    about: ErrorContext<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Error {
    let rest: RestBody = serde_json::from_slice(body).unwrap_or_default();
    let said = about.sanitize(&rest.sentence());
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
    let request_id = request_id(about, headers);
    let host = about.host;
    if let Some(wait) = forge_http::limited_for(status, headers) {
        return rate_limited(host, headers, wait, &said);
    }
    let is_limit = is_secondary_limit(&said) || is_about(&said, "rate limit exceeded");
    if status == StatusCode::FORBIDDEN && is_limit {
        return rate_limited(host, headers, forge_http::rate_limit_wait(headers), &said);
    }
    let error = match status.as_u16() {
        401 => refused_token(about, &said),
        403 if is_about(&said, "login attempt") => Error::new(
            ErrorKind::Unauthenticated {
                host: host.to_owned(),
            },
            format!("{host} refused {} for now: {said}", about.token()),
        )
        .with_hint("wait some minutes before the next request, then log in again"),
        403 => match text("x-github-sso").and_then(sso_url) {
            Some(url) => sso(host, &about.sanitize(&url)),
            None => forbidden(
                about,
                headers,
                &said,
                &missing_scopes(about, headers, false),
            ),
        },
        404 => missing_object(about, headers, &said),
        409 | 422 => from_message(about, &said),
        410 => known_refusal(&said, &format!("{host} says: {said}")).unwrap_or_else(|| {
            Error::not_found(
                Noun::Other,
                format!("{host} says that this is gone: {said}"),
            )
        }),
        451 => blocked(host, &said, rest.notice(about).as_deref()),
        // REST answers a refused merge with this status.
        405 if known_refusal(&said, "").is_some() => from_message(about, &said),
        status => {
            let what = if said.is_empty() {
                String::new()
            } else {
                format!(": {said}")
            };
            Error::new(
                ErrorKind::Upstream {
                    status,
                    request_id: request_id.clone(),
                },
                format!("{host} answered with HTTP {status}{what}"),
            )
        }
    };
    let error = match status.is_server_error() {
        true if about.write => ambiguous(error),
        true => error
            .with_retry(Retry::Transient)
            .with_hint("try again in a while; see www.githubstatus.com"),
        false => error,
    };
    match request_id {
        Some(id) => error.with_context("request_id", id),
        None => error,
    }
}

/// The time before the end of a token from which on its end is reported, in seconds: a week.
const EXPIRY_NOTICE: i64 = 7 * 24 * 60 * 60;

/// Returns the end of the token if it is less than a week away. GitHub names the end of tokens that
/// have one: `2026-12-03 10:00:00 UTC`, or with an offset such as `-0500`.
pub(crate) fn soon_expired(headers: &HeaderMap, now: &Timestamp) -> Option<Timestamp> {
    let name = "github-authentication-token-expiration";
    let mut words = headers.get(name)?.to_str().ok()?.split_ascii_whitespace();
    let (date, time) = (words.next()?, words.next()?);
    let offset = match words.next().unwrap_or("UTC") {
        "UTC" => "Z".to_owned(),
        digits => format!("{}:{}", digits.get(..3)?, digits.get(3..)?),
    };
    let end: Timestamp = format!("{date}T{time}{offset}").parse().ok()?;
    (end.unix() - now.unix() < EXPIRY_NOTICE).then_some(end)
}

/// Returns the error for an object that does not exist, or that the token may not see.
fn missing_object(about: ErrorContext<'_>, headers: &HeaderMap, said: &str) -> Error {
    let host = about.host;
    if let Some(known) = known_refusal(said, &format!("{host} says: {said}")) {
        return known;
    }
    let detail = if said.is_empty() || said == "Not Found" {
        String::new()
    } else {
        format!(": {said}")
    };
    let message = format!("{host} has no such object, or hides it from this account{detail}");
    let error = Error::not_found(Noun::Other, message);
    let missing = missing_scopes(about, headers, true);
    if missing.is_empty() {
        error.with_hint("check the name, and whether the account may see it")
    } else {
        error.with_hint(scope_hint(about, &missing))
    }
}

/// Returns the error for a repository that the host may not show for legal reasons.
fn blocked(host: &str, said: &str, notice: Option<&str>) -> Error {
    let kind = ErrorKind::PermissionDenied {
        missing: vec![],
        sso_url: None,
    };
    let error = Error::new(
        kind,
        format!("{host} blocks this for legal reasons: {said}"),
    );
    match notice {
        Some(url) => error.with_hint(format!("read the notice: {url}")),
        None => error,
    }
}

/// Returns whether GitHub answers that the plan of a private repository lacks a feature, such as
/// rulesets. The repository then has none.
pub(crate) fn is_paid_feature(body: &[u8]) -> bool {
    let rest: RestBody = serde_json::from_slice(body).unwrap_or_default();
    is_about(&rest.message, "upgrade to github pro")
}

/// Returns whether GitHub refused a request because of its limit for the rate of requests that is
/// not in the headers.
pub(crate) fn is_secondary_limit(said: &str) -> bool {
    is_about(said, "secondary rate limit") || is_about(said, "abuse detection")
}

/// Returns GitHub's id of the request. A value of any other form may contain a credential, so it is
/// ignored.
fn request_id(about: ErrorContext<'_>, headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-github-request-id")?.to_str().ok()?;
    let is_id = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'-');
    let fits = (1..=80).contains(&id.len()) && id.bytes().all(is_id);
    (fits && about.http.redact(id) == id).then(|| id.to_owned())
}

/// The codes of graphql-ruby for a document that names a part that the host's schema lacks.
const UNKNOWN_PART_CODES: [&str; 4] = [
    "argumentLiteralsIncompatible",
    "argumentNotAccepted",
    "undefinedField",
    "undefinedType",
];

/// Maps an entry of `errors` in a GraphQL answer to an error.
pub(crate) fn from_graphql(
    about: ErrorContext<'_>,
    error: &GqlError,
    headers: &HeaderMap,
) -> Error {
    let mapped = from_gql_error(about, error, headers);
    match request_id(about, headers) {
        Some(id) => mapped.with_context("request_id", id),
        None => mapped,
    }
}

fn from_gql_error(about: ErrorContext<'_>, error: &GqlError, headers: &HeaderMap) -> Error {
    let said = about.sanitize(&error.message);
    let host = about.host;
    match error.kind.as_deref().unwrap_or_default() {
        "RATE_LIMITED" | "RATE_LIMIT" => {
            rate_limited(host, headers, forge_http::rate_limit_wait(headers), &said)
        }
        "NOT_FOUND" => {
            let noun = noun(error);
            let list = match noun {
                Noun::PullRequest => Some((
                    Op::PrList,
                    "look for the number in the list of pull requests (issues are not listed \
                     there)",
                )),
                Noun::Issue => Some((
                    Op::IssueList,
                    "look for the number in the list of issues (pull requests are not listed \
                     there)",
                )),
                _ => None,
            };
            let error = Error::not_found(noun, said);
            let missing = missing_scopes(about, headers, true);
            match list {
                None if !missing.is_empty() => {
                    let hint = scope_hint(about, &missing);
                    error.with_hint(hint.map_text(|text| {
                        format!("check the name; for a private repository, {text}")
                    }))
                }
                Some((list, hint)) => error.with_hint(
                    Hint::new(hint).with_action(Action::op(list).with(Param::State, "all")),
                ),
                None => error.with_hint("check the name, and whether the account may see it"),
            }
        }
        "FORBIDDEN" => match headers
            .get("x-github-sso")
            .and_then(|v| v.to_str().ok())
            .and_then(sso_url)
        {
            Some(url) => sso(host, &about.sanitize(&url)),
            None => forbidden(
                about,
                headers,
                &said,
                &missing_scopes(about, headers, false),
            ),
        },
        "INSUFFICIENT_SCOPES" => forbidden(about, headers, &said, &scopes_in(&said)),
        "SERVICE_UNAVAILABLE" => server_error(about, 503, headers, &said),
        "MAX_NODE_LIMIT_EXCEEDED" | "RESOURCE_LIMITS_EXCEEDED" => Error::new(
            ErrorKind::Internal,
            format!("{host} refused forge's query as too large: {said}"),
        )
        .with_hint(
            Hint::new("ask for less at once: fewer rows, or fewer fields")
                .with_action(Action::again(&[(Param::Limit, Arg::Choose)])),
        ),
        _ if UNKNOWN_PART_CODES.contains(&error.code()) => {
            let unknown = Error::new(
                ErrorKind::Protocol,
                format!("{host} does not know a part of forge's query: {said}"),
            )
            .with_hint(
                Hint::new(
                    "ask for fewer fields, since an older GitHub Enterprise Server may lack this one",
                )
                .with_action(Action::again(&[(Param::Include, Arg::Choose)])),
            );
            match said.to_lowercase().contains("project") {
                true => unknown.with_source(NoProjects),
                false => unknown.with_source(UnknownField),
            }
        }
        _ if error.is_rate_limit() => {
            rate_limited(host, headers, forge_http::rate_limit_wait(headers), &said)
        }
        "" if said.starts_with("Something went wrong while executing your query") => {
            server_error(about, 502, headers, &said)
        }
        _ => from_message(about, &said),
    }
}

fn server_error(about: ErrorContext<'_>, status: u16, headers: &HeaderMap, said: &str) -> Error {
    let request_id = request_id(about, headers);
    let error = Error::new(
        ErrorKind::Upstream { status, request_id },
        format!("{} failed during the request: {said}", about.host),
    );
    if about.write {
        ambiguous(error)
    } else {
        error.with_retry(Retry::Transient).with_hint("try again")
    }
}

/// Marks an error as ambiguous: the write may have happened.
pub(crate) fn ambiguous(error: Error) -> Error {
    error
        .with_retry(Retry::Ambiguous)
        .with_hint("the request may have succeeded: check that before you try again")
}

/// Returns the error for a missing pull request. Used if GitHub's answer contains no error.
pub(crate) fn missing(pr: &PrId) -> Error {
    Error::not_found(Noun::PullRequest, format!("there is no pull request {pr}")).with_hint(
        Hint::new("look for the number in the list of pull requests")
            .with_action(Action::op(Op::PrList).with(Param::State, "all")),
    )
}

/// Returns the error for a repository that does not exist or is hidden from the account.
pub(crate) fn no_repository(repo: &RepoId) -> Error {
    Error::not_found(Noun::Repo, format!("there is no repository {repo}"))
        .with_hint("check the name, and whether the account may see it")
}

/// Returns the error for a host without a configured account.
pub(crate) fn no_token(host: &str) -> Error {
    Error::new(
        ErrorKind::Unauthenticated {
            host: host.to_owned(),
        },
        format!("there is no account for {host}"),
    )
    .with_hint(login_hint(host))
}

fn login_hint(host: &str) -> Hint {
    let variable =
        if host == "github.com" || host == "github.localhost" || host.ends_with(".ghe.com") {
            "GH_TOKEN"
        } else {
            "GH_ENTERPRISE_TOKEN"
        };
    let text = format!("log in to {host} (`gh auth login` also works), or set {variable}");
    Hint::from(text).with_action(login(host))
}

fn login(host: &str) -> Action {
    Action::new(Call::Login).with(Param::Host, host)
}

fn refused_token(about: ErrorContext<'_>, said: &str) -> Error {
    let host = about.host;
    let said = if said.is_empty() { "HTTP 401" } else { said };
    Error::new(
        ErrorKind::Unauthenticated {
            host: host.to_owned(),
        },
        format!("{host} refused {}: {said}", about.token()),
    )
    .with_hint(match about.tokens.origin(host) {
        // An environment variable overrides every stored login.
        Some(origin) if is_variable(&origin) => Hint::from(format!(
            "correct {origin}, or unset it to use a stored account"
        )),
        _ => login_hint(host),
    })
}

/// Returns true for the name of an environment variable.
fn is_variable(origin: &str) -> bool {
    let is_name = |b: u8| b == b'_' || b.is_ascii_uppercase() || b.is_ascii_digit();
    origin.bytes().all(is_name)
}

fn sso(host: &str, url: &str) -> Error {
    Error::new(
        ErrorKind::PermissionDenied {
            missing: vec![],
            sso_url: Some(url.to_owned()),
        },
        format!(
            "the organisation on {host} requires that this token is authorised for single sign-on"
        ),
    )
    .with_hint(format!("authorise the token in a browser: {url}"))
}

fn sso_url(header: &str) -> Option<String> {
    let url = header
        .split(';')
        .find_map(|part| part.trim().strip_prefix("url="))?;
    (url.starts_with("https://") || url.starts_with("http://")).then(|| url.to_owned())
}

/// Returns the error for a refused permission. `missing` are the scopes that the token lacks.
fn forbidden(
    about: ErrorContext<'_>,
    headers: &HeaderMap,
    said: &str,
    missing: &[String],
) -> Error {
    let detail = if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    };
    let message = format!("{} does not allow this{detail}", about.host);
    let denied = |message| {
        let kind = ErrorKind::PermissionDenied {
            missing: missing.to_vec(),
            sso_url: None,
        };
        Error::new(kind, message)
    };
    if !missing.is_empty() {
        return denied(message).with_hint(scope_hint(about, missing));
    }
    let wanted = accepted_permissions(about, headers);
    if let Some(wanted) = wanted.filter(|_| is_about(said, "resource not accessible")) {
        let hint = format!("give {} one of these permissions: {wanted}", about.token());
        return denied(message).with_hint(Hint::from(hint));
    }
    known_refusal(said, &message).unwrap_or_else(|| denied(message))
}

/// Returns the permissions that a fine-grained token or an app needs for a REST route.
fn accepted_permissions(about: ErrorContext<'_>, headers: &HeaderMap) -> Option<String> {
    let text = headers
        .get("x-accepted-github-permissions")?
        .to_str()
        .ok()?;
    Some(about.sanitize(text)).filter(|text| !text.is_empty())
}

fn scope_hint(about: ErrorContext<'_>, missing: &[String]) -> Hint {
    let host = about.host;
    let text = format!(
        "give {} the scope {} with `gh auth refresh -h {host} -s {}`, or log in with a token that has it",
        about.token(),
        missing.join(" or "),
        missing.first().map_or("repo", String::as_str)
    );
    Hint::from(text).with_action(login(host))
}

pub(crate) fn lacks_scope(
    about: ErrorContext<'_>,
    headers: &HeaderMap,
    scope: &str,
    what: &str,
) -> Option<Error> {
    // GitHub sends this header for classic tokens only; other tokens have no scopes.
    let has = headers.get("x-oauth-scopes")?.to_str().ok()?;
    if has.split(',').any(|s| s.trim() == scope) {
        return None;
    }
    let missing = vec![scope.to_owned()];
    let hint = scope_hint(about, &missing);
    let kind = ErrorKind::PermissionDenied {
        missing,
        sso_url: None,
    };
    Some(
        Error::new(
            kind,
            format!("the token may not {what}; nothing was changed"),
        )
        .with_hint(hint),
    )
}

/// The scopes for working on pull requests, each with the scopes that can replace it.
///
/// `repo` is for changes, `read:org` for teams as reviewers (docs.github.com, "Scopes for OAuth
/// apps").
const FOR_PULLS: [(&str, &[&str]); 2] = [
    ("repo", &["public_repo"]),
    ("read:org", &["write:org", "admin:org"]),
];

/// Returns the scopes of [`FOR_PULLS`] that a token is known to lack.
pub(crate) fn missing_for_pulls(headers: &HeaderMap) -> Vec<String> {
    // GitHub sends this header for classic tokens only; other tokens have no scopes.
    let Some(has) = headers.get("x-oauth-scopes").and_then(|h| h.to_str().ok()) else {
        return Vec::new();
    };
    let has: Vec<&str> = has.split(',').map(str::trim).collect();
    let lacks = |(scope, also): &&(&str, &[&str])| {
        !has.contains(scope) && !also.iter().any(|a| has.contains(a))
    };
    let lacking = FOR_PULLS.iter().filter(lacks);
    lacking.map(|(scope, _)| (*scope).to_owned()).collect()
}

/// Returns the scopes that a request accepts, if the token has none of them.
///
/// GitHub names the scope `repo` also where `public_repo` is enough for a public repository. A token
/// with that scope lacks `repo` only if the repository is hidden from it (`is_hidden`).
fn missing_scopes(about: ErrorContext<'_>, headers: &HeaderMap, is_hidden: bool) -> Vec<String> {
    let list = |name: &str| -> Option<Vec<String>> {
        let text = about.sanitize(headers.get(name)?.to_str().ok()?);
        Some(
            text.split(',')
                .map(|s| s.trim().to_owned())
                .filter(|s| !s.is_empty())
                .collect(),
        )
    };
    let (Some(accepted), Some(has)) = (list("x-accepted-oauth-scopes"), list("x-oauth-scopes"))
    else {
        return vec![];
    };
    let is_enough = |scope: &String| {
        let is_public = !is_hidden && scope == "repo" && has.iter().any(|s| s == "public_repo");
        is_public || has.contains(scope)
    };
    if accepted.iter().any(is_enough) {
        vec![]
    } else {
        accepted
    }
}

/// Returns the scopes in a message such as `requires one of the following scopes: ['read:org',
/// 'repo']`.
fn scopes_in(message: &str) -> Vec<String> {
    let list = message
        .split_once("following scopes: [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(list, _)| list);
    list.split(',')
        .map(|s| s.trim().trim_matches(['\'', '"']).to_owned())
        .filter(|s| !s.is_empty())
        .collect()
}

fn rate_limited(host: &str, headers: &HeaderMap, wait: std::time::Duration, said: &str) -> Error {
    // Names of rate limits are `core`, `graphql`, `code_search`, …
    let is_name =
        |text: &&str| text.len() <= 40 && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let resource = headers
        .get("x-ratelimit-resource")
        .and_then(|v| v.to_str().ok())
        .filter(is_name);
    let bucket = if said.contains("secondary") {
        "secondary"
    } else {
        resource.unwrap_or("requests")
    };
    let seconds = wait.as_secs();
    let reset = Timestamp::from_unix(Timestamp::now().unix() + i64::try_from(seconds).unwrap_or(0));
    Error::new(
        ErrorKind::RateLimited {
            bucket: bucket.to_owned(),
            reset: Some(reset),
        },
        format!(
            "{host} limits the rate of requests{}{}{said}",
            match bucket {
                "requests" => String::new(),
                _ => format!(" ({bucket} limit)"),
            },
            if said.is_empty() { "" } else { ": " }
        ),
    )
    .with_retry(Retry::After(wait))
    .with_hint(format!("try again in {seconds} s (at {reset})"))
}

/// Returns the kind of the missing object. A NOT_FOUND message contains GitHub's type of the
/// object.
fn noun(error: &GqlError) -> Noun {
    let what = error
        .message
        .strip_prefix("Could not resolve to a")
        .unwrap_or_default();
    let what = what.trim_start_matches('n').trim_start();
    for (name, noun) in [
        ("Repository", Noun::Repo),
        ("PullRequestReviewThread", Noun::Thread),
        ("PullRequest", Noun::PullRequest),
        ("issue or pull request", Noun::PullRequest),
        ("Issue", Noun::Issue),
        ("User", Noun::Account),
        ("Organization", Noun::Account),
        ("Team", Noun::Account),
        ("Label", Noun::Label),
        ("Ref", Noun::Branch),
    ] {
        if what.starts_with(name) {
            return noun;
        }
    }
    Noun::Other
}

/// Maps a refusal by its message, because it has neither a type nor a status. An unknown message is
/// passed on without advice, which would be a guess.
fn from_message(about: ErrorContext<'_>, said: &str) -> Error {
    let known = known_refusal(said, &format!("{} says: {said}", about.host));
    known.unwrap_or_else(|| {
        Error::new(
            ErrorKind::Precondition(Precondition::Rule),
            format!("{} refused this: {said}", about.host),
        )
    })
}

/// Marks errors of a host without project boards. It is the `source()` of such an error.
#[derive(Debug)]
struct NoProjects;

impl fmt::Display for NoProjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the host has no project boards")
    }
}

impl StdError for NoProjects {}

/// Marks errors about a field that the host lacks. It is the `source()` of such an error.
#[derive(Debug)]
struct UnknownField;

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the host lacks a field")
    }
}

impl StdError for UnknownField {}

/// Returns whether a query was refused for a field that an older Enterprise Server lacks.
pub(crate) fn is_unknown_field(error: &Error) -> bool {
    error
        .source()
        .is_some_and(|source| source.is::<UnknownField>())
}

/// Returns whether a query was refused because of project boards: most tokens lack the scope, and
/// older Enterprise Servers have no boards.
pub(crate) fn is_without_projects(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::PermissionDenied { missing, .. } => {
            missing.iter().any(|scope| scope.ends_with("project"))
        }
        _ => error
            .source()
            .is_some_and(|source| source.is::<NoProjects>()),
    }
}

/// Returns the error for a failed part of a write. `done` has the names of the parts that
/// succeeded.
pub(crate) fn partial_failure(error: Error, done: &[&str]) -> Error {
    let done = done.join(", ");
    let hint = error.hint().cloned();
    let hint = hint.unwrap_or_else(|| Hint::new("try that part again"));
    error
        .with_hint(hint.map_text(|text| format!("{text} (done already: {done})")))
        .with_context("done", done)
}

/// Converts an error into a warning, keeping its hint.
pub(crate) fn warning(message: String, error: &Error) -> Warning {
    let mut warning = Warning::new(message);
    warning.hint = error.hint().cloned();
    warning
}

#[cfg(test)]
mod tests;
