//! Reads tickets from JIRA Cloud (REST v3) and JIRA Data Center (REST v2).
//!
//! Source: developer.atlassian.com, "The Jira Cloud platform REST API" and "Jira Data Center REST
//! API", the resource `issue` and its comments. Authentication:
//! - Cloud: an e-mail address and an API token (Basic).
//! - Data Center: a personal access token (Bearer).

mod adf;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use forge_context::{TicketDetails, Tickets};
use forge_core::{
    Error, ErrorKind, Noun, Result, Timestamp, call,
    model::{Actor, Comment},
};
use forge_http::{
    Http, HttpSettings, MaxRetries, NoRedirect, RetryPolicy, limited_for, mask_secrets, mask_start,
};
use futures::try_join;
use http::{HeaderValue, Request, StatusCode, header};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use crate::{
    Forges,
    auth::{Accounts, JiraAccount, host_of},
    config::Env,
};

/// Maximum number of comments that are read for a ticket. The newest comments are read.
const MAX_COMMENTS: usize = 5;
/// Maximum number of tickets that are read concurrently. Each ticket needs two requests.
const MAX_TICKETS_IN_FLIGHT: usize = 20;
/// Maximum size of an answer from JIRA, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;
/// Maximum memory of a parsed answer, in bytes. It is higher than [`MAX_BODY`], because many small
/// values take more memory than their text.
const MAX_WEIGHT: usize = 4 * MAX_BODY;
/// Maximum size of a description or comment, in bytes. `forge pr context` has a lower limit for all
/// texts together.
const MAX_TEXT: usize = 64 * 1024;
/// Maximum size of any other text of a ticket (such as its title), in bytes.
const MAX_NAME: usize = 1024;
const MAX_LABELS: usize = 100;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for reading one ticket, unless `timeout_s` is smaller.
const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time to wait before a retry when JIRA limits the rate of requests.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Returns the client of the configured JIRA; `None` if the base URL or the token is missing.
pub(crate) fn tracker(forges: &Forges) -> Option<Arc<dyn Tickets>> {
    let jira = match forges.accounts().jira() {
        Ok(None) => return None,
        Ok(Some(account)) => Jira {
            account,
            env: forges.config().env().clone(),
            timeout: READ_TIMEOUT.min(forges.config().timeout()),
            http: OnceLock::new(),
        },
        // An unreadable login is reported only when a ticket is requested, because nothing else
        // needs JIRA.
        Err(_) => return Some(Arc::new(BrokenLogin(forges.accounts().clone()))),
    };
    Some(Arc::new(jira))
}

/// Placeholder for JIRA if its login cannot be read. Every read of a ticket fails with the error of
/// the login.
#[derive(Debug)]
struct BrokenLogin(Accounts);

#[async_trait]
impl Tickets for BrokenLogin {
    async fn read(&self, key: &str) -> Result<TicketDetails> {
        self.0.jira()?;
        Err(Error::new(
            ErrorKind::Config,
            format!("the login for JIRA has changed while {key} was read"),
        )
        .with_hint("try again"))
    }
}

#[derive(Debug)]
struct Jira {
    account: JiraAccount,
    env: Env,
    timeout: Duration,
    http: OnceLock<Http>,
}

#[async_trait]
impl Tickets for Jira {
    async fn read(&self, key: &str) -> Result<TicketDetails> {
        let issue = format!("issue/{key}");
        let details = format!("{issue}?fields=summary,status,labels,description");
        let newest = format!("{issue}/comment?orderBy=-created&maxResults={MAX_COMMENTS}");
        let reads = async {
            try_join!(
                self.get::<TicketIssue>(&details),
                self.get::<TicketCommentsPage>(&newest)
            )
        };
        let (issue, page) = tokio::time::timeout(self.timeout, reads)
            .await
            .unwrap_or_else(|_| Err(self.timeout_error()))?;
        // JIRA also finds a moved ticket by its old key. Such a ticket is refused, because the
        // configuration may exclude its new project.
        if !issue.key.eq_ignore_ascii_case(key) {
            return Err(self.other_ticket_error(key));
        }
        let fields = issue.fields;
        let is_done = match fields.status.category.key.as_str() {
            "done" => true,
            "new" | "indeterminate" | "undefined" => false,
            _ => return Err(self.unknown_category_error(key)),
        };
        let mut ticket = TicketDetails::new(fields.summary, fields.status.name);
        ticket.is_done = is_done;
        ticket.labels = fields.labels;
        ticket.body = text_of(fields.description);
        ticket.comments = page.newest(&self.account.base_url, key);
        let (_, credential) = self.credential();
        mask(&mut ticket, &[self.account.token.expose(), &credential]);
        Ok(ticket)
    }
}

impl Jira {
    fn host(&self) -> &str {
        host_of(&self.account.base_url)
    }

    fn http(&self) -> Result<&Http> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let http = Http::new(HttpSettings {
            connect_timeout: CONNECT_TIMEOUT,
            idle_timeout: self.timeout,
            body_max: MAX_BODY,
            in_flight: MAX_TICKETS_IN_FLIGHT,
            retry: RetryPolicy {
                budget: MAX_WAIT,
                ..RetryPolicy::default()
            },
            ..HttpSettings::from_env(&|name| self.env.named(name), false)?
        })?;
        http.remember(&self.account.token);
        Ok(self.http.get_or_init(|| http))
    }

    /// Returns the scheme and the credential of the `Authorization` header.
    fn credential(&self) -> (&'static str, String) {
        let token = self.account.token.expose();
        match &self.account.email {
            Some(email) => ("Basic", BASE64_STANDARD.encode(format!("{email}:{token}"))),
            None => ("Bearer", token.to_owned()),
        }
    }

    /// Reads a resource of the REST API. Follows no redirects, so that only the configured origin
    /// gets the token.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let base_url = &self.account.base_url;
        let (scheme, credential) = self.credential();
        let version = if self.account.email.is_some() { 3 } else { 2 };
        let authorization = format!("{scheme} {credential}");
        // The error of the HTTP library is dropped, because its text may contain the token.
        let unfit = |_| {
            Error::new(
                ErrorKind::Config,
                "the JIRA token has characters that an HTTP header cannot hold",
            )
            .with_hint("log in to JIRA again with the token alone")
        };
        let mut authorization = HeaderValue::from_str(&authorization).map_err(unfit)?;
        authorization.set_sensitive(true);
        let request = Request::get(format!("{base_url}/rest/api/{version}/{path}"))
            .header(header::AUTHORIZATION, authorization)
            .header(header::ACCEPT, "application/json")
            .extension(NoRedirect)
            .extension(MaxRetries(1))
            .body(Bytes::new())
            .map_err(|e| Error::new(ErrorKind::Config, format!("malformed JIRA request: {e}")))?;
        let response = self.http()?.send(request).await?;
        let (parts, body) = response.into_parts();
        let bytes = body.into_bytes().unwrap_or_default();
        if parts.status.is_success() {
            self.charge_memory(&bytes)?;
            // The error of serde is dropped, because its message quotes JIRA's answer.
            return serde_json::from_slice(&bytes).map_err(|_| {
                Error::new(
                    ErrorKind::Protocol,
                    format!("the answer of JIRA at {} is not a ticket", self.host()),
                )
                .with_hint("check whether jira.base_url is the address of JIRA itself")
            });
        }
        Err(self.status_error(parts.status, &parts.headers, &bytes))
    }

    /// Checks the memory of an answer against the limit for one answer, and counts it towards the
    /// limit of the command.
    fn charge_memory(&self, answer: &[u8]) -> Result<()> {
        let weight = call::weight_of_json(answer);
        if weight <= MAX_WEIGHT {
            return call::hold(self.host(), weight);
        }
        let message = format!(
            "the answer of JIRA at {} has more values than are read at once",
            self.host()
        );
        Err(Error::new(ErrorKind::Protocol, message)
            .with_hint("check whether jira.base_url is the address of JIRA itself"))
    }

    fn timeout_error(&self) -> Error {
        let after = self.timeout;
        let seconds = after.as_secs();
        let message = format!("JIRA at {} took longer than {seconds} s", self.host());
        Error::new(ErrorKind::Timeout { after }, message).with_hint("try again")
    }

    fn other_ticket_error(&self, key: &str) -> Error {
        let message = format!(
            "JIRA at {} answers with another ticket for {key}",
            self.host()
        );
        Error::new(ErrorKind::Protocol, message)
            .with_hint("open the ticket in JIRA: if it was moved, use its new key")
    }

    fn unknown_category_error(&self, key: &str) -> Error {
        let host = self.host();
        let message = format!("JIRA at {host} reports an unknown status category for {key}");
        Error::new(ErrorKind::Protocol, message)
            .with_hint("open the ticket in JIRA, or check whether jira.base_url is right")
    }

    fn status_error(&self, status: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> Error {
        let host = self.host();
        let is_jiras = || serde_json::from_slice::<JiraErrors>(body).is_ok();
        if status.is_redirection() {
            let message =
                format!("JIRA at {host} redirects, and the token is not sent to another address");
            return Error::new(ErrorKind::Protocol, message)
                .with_hint("set jira.base_url to the address that it redirects to");
        }
        if limited_for(status, headers).is_some() {
            let kind = ErrorKind::RateLimited {
                bucket: "jira".to_owned(),
                reset: None,
            };
            return Error::new(kind, format!("JIRA at {host} limits the rate of requests"))
                .with_hint("try again in some minutes");
        }
        match status {
            StatusCode::UNAUTHORIZED => {
                let kind = ErrorKind::Unauthenticated {
                    host: host.to_owned(),
                };
                Error::new(kind, format!("JIRA at {host} refuses the token"))
                    .with_hint("log in to JIRA again with a new token")
            }
            StatusCode::FORBIDDEN => {
                let kind = ErrorKind::PermissionDenied {
                    missing: Vec::new(),
                    sso_url: None,
                };
                Error::new(kind, format!("JIRA at {host} denies this account access"))
                    .with_hint("log in to JIRA with an account that may read the project")
            }
            StatusCode::NOT_FOUND if is_jiras() => {
                Error::not_found(Noun::Issue, format!("JIRA at {host} has no such ticket"))
                    .with_hint("check the key, and whether the account may read the project")
            }
            _ => {
                let kind = ErrorKind::Upstream {
                    status: status.as_u16(),
                    request_id: None,
                };
                Error::new(kind, format!("JIRA at {host} answers with {status}"))
                    .with_hint("check whether jira.base_url is right, then try again")
            }
        }
    }
}

/// The error messages in JIRA's answers. An answer with this field comes from JIRA itself, so its
/// status 404 means a missing ticket and not a wrong base URL.
#[derive(Deserialize)]
struct JiraErrors {
    #[serde(rename = "errorMessages")]
    _messages: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct TicketIssue {
    key: String,
    fields: TicketFields,
}

#[derive(Deserialize)]
struct TicketFields {
    summary: String,
    status: Status,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    description: Value,
}

#[derive(Deserialize)]
struct Status {
    name: String,
    #[serde(rename = "statusCategory")]
    category: Category,
}

/// The category of a ticket's status: `new`, `indeterminate`, `done` or `undefined`.
#[derive(Deserialize)]
struct Category {
    key: String,
}

#[derive(Deserialize)]
struct TicketCommentsPage {
    comments: Vec<TicketComment>,
}

impl TicketCommentsPage {
    /// Returns the newest comments, sorted from old to new. Cuts the list, because a server may
    /// send more comments than were requested.
    fn newest(self, base_url: &str, key: &str) -> Vec<Comment> {
        let comments = self.comments.into_iter();
        let mut all: Vec<Comment> = comments
            .filter_map(|comment| comment.into_comment(base_url, key))
            .collect();
        all.sort_by_key(|comment| comment.created_at);
        all.drain(..all.len().saturating_sub(MAX_COMMENTS));
        all
    }
}

#[derive(Deserialize)]
struct TicketComment {
    id: String,
    author: Option<Author>,
    #[serde(default)]
    body: Value,
    created: String,
    updated: Option<String>,
}

/// Author of a comment. Cloud sends no user names, and Data Center may hide display names.
#[derive(Deserialize)]
struct Author {
    name: Option<String>,
    #[serde(rename = "displayName")]
    displayed: Option<String>,
}

impl TicketComment {
    /// Converts the comment; `None` if its time is missing or malformed.
    fn into_comment(self, base_url: &str, key: &str) -> Option<Comment> {
        let created_at = time(&self.created)?;
        let updated_at = self.updated.as_deref().and_then(time);
        let author = match self.author {
            Some(Author { name, displayed }) => {
                let login = name.or_else(|| displayed.clone());
                let mut actor = Actor::new(login.unwrap_or_default());
                actor.name = displayed;
                actor
            }
            None => Actor::new(""),
        };
        let url = format!("{base_url}/browse/{key}?focusedCommentId={}", self.id);
        let mut comment = Comment::new(self.id, author, text_of(self.body), created_at);
        comment.url = url;
        comment.updated_at = updated_at.filter(|at| *at != created_at);
        Some(comment)
    }
}

/// Cuts every text of a ticket to its maximum size. Masks the user's credentials in the texts,
/// because a server may echo them.
fn mask(ticket: &mut TicketDetails, secrets: &[&str]) {
    let mask = |text: &mut String, max| {
        *text = mask_start(text, max, |start| mask_secrets(start, secrets).into_owned());
    };
    ticket.labels.truncate(MAX_LABELS);
    let names = [&mut ticket.title, &mut ticket.status];
    for name in names.into_iter().chain(&mut ticket.labels) {
        mask(name, MAX_NAME);
    }
    mask(&mut ticket.body, MAX_TEXT);
    for comment in &mut ticket.comments {
        mask(&mut comment.body, MAX_TEXT);
        let author = &mut comment.author;
        let names = [&mut comment.id, &mut comment.url, &mut author.login];
        for name in names.into_iter().chain(&mut author.name) {
            mask(name, MAX_NAME);
        }
    }
}

/// Converts a value to plain text. Wiki markup (REST v2) is not changed. A document (REST v3) is
/// converted.
fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => adf::plain_text(&other),
    }
}

/// Parses `2026-01-31T12:00:00.000+0000`, which is RFC 3339 without the colon in the offset.
fn time(text: &str) -> Option<Timestamp> {
    let at = text.len().checked_sub(5)?;
    let (moment, offset) = text.split_at_checked(at)?;
    let (hours, minutes) = offset.split_at_checked(3)?;
    let with_colon = || format!("{moment}{hours}:{minutes}").parse();
    text.parse().or_else(|_| with_colon()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_beyond_the_page_are_dropped() {
        let comment = |n: u32| {
            let created = format!("2026-07-22T08:{n:02}:00.000+0000");
            json!({ "id": n.to_string(), "body": "It leaks.", "created": created })
        };
        let all: Vec<Value> = (0..50).rev().map(comment).collect();
        let page: TicketCommentsPage = serde_json::from_value(json!({ "comments": all })).unwrap();
        let newest = page.newest("https://jira.example", "PROJ-1");
        let ids: Vec<&str> = newest.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["45", "46", "47", "48", "49"]);
    }

    #[test]
    fn credentials_in_an_answer_are_masked() {
        let split = "the tok\u{200b}en";
        // The base64 forms of "token" and of "other:token".
        let encoded = "dG9rZW4 or b3RoZXI6dG9rZW4=, %74oken";
        let mut ticket = TicketDetails::new("Basic cGFpcg==", split);
        ticket.labels = vec![encoded.to_owned()];
        ticket.body = split.to_owned();
        let mut author = Actor::new("token");
        author.name = Some(split.to_owned());
        let mut comment = Comment::new("token", author, encoded, Timestamp::from_unix(0));
        comment.url = "https://jira.example/token".to_owned();
        ticket.comments = vec![comment];
        mask(&mut ticket, &["token", "cGFpcg==", "a"]);
        let comment = &ticket.comments[0];
        for (text, masked) in [
            (&ticket.title, "Basic ***"),
            (&ticket.status, "the ***"),
            (&ticket.labels[0], "*** or *** ***"),
            (&ticket.body, "the ***"),
            (&comment.id, "***"),
            (&comment.url, "https://jira.example/***"),
            (&comment.author.login, "***"),
            (comment.author.name.as_ref().unwrap(), "the ***"),
            (&comment.body, "*** or *** ***"),
        ] {
            assert_eq!(text, masked);
        }
    }

    #[test]
    fn long_ticket_is_cut_before_masking() {
        let mut ticket = TicketDetails::new("x ".repeat(50_000), "Open");
        ticket.labels = vec!["x ".repeat(50_000)];
        ticket.labels.resize(1_000, String::new());
        mask(&mut ticket, &["token"]);
        assert_eq!(
            (ticket.title.len(), ticket.labels[0].len()),
            (MAX_NAME, MAX_NAME)
        );
        assert_eq!(ticket.labels.len(), MAX_LABELS);
    }

    #[test]
    fn jira_times_are_parsed() {
        for (text, read) in [
            (
                "2026-01-31T12:00:00.000+0000",
                Some("2026-01-31T12:00:00+00:00"),
            ),
            (
                "2026-01-31T12:00:00.5-0830",
                Some("2026-01-31T12:00:00.500-08:30"),
            ),
            ("2026-01-31T12:00:00Z", Some("2026-01-31T12:00:00Z")),
            ("yesterday", None),
            ("é+00", None),
        ] {
            let same = |read: &str| read.parse::<Timestamp>().unwrap();
            assert_eq!(time(text), read.map(same), "{text}");
        }
    }
}
