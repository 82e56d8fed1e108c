//! A JIRA server in memory: Cloud (REST v3 and v2) or Data Center (REST v2).
//!
//! Sources: developer.atlassian.com, "The Jira Cloud platform REST API" and "Jira Data Center REST
//! API". The double serves only those parts of tickets that `forge` and the Python package `jira`
//! read.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a double of a test fails by panicking"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

/// The JIRA product that the double imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JiraEdition {
    /// Uses basic authentication with e-mail address and token. Texts in v3 are documents.
    Cloud,
    /// Uses a bearer token. Texts are wiki markup.
    DataCenter,
}

/// E-mail address of the double's only account.
pub const JIRA_EMAIL: &str = "ada@example.com";
/// API token that the double accepts.
pub const JIRA_TOKEN: &str = "jira0canary0canary0canary0";

/// Values for a new ticket.
#[derive(Clone, Debug)]
pub struct TicketSeed {
    /// Key of the ticket, such as `PROJ-123`.
    pub key: &'static str,
    /// Title of the ticket.
    pub summary: &'static str,
    /// Name of the ticket's status.
    pub status: &'static str,
    /// Category of the status: `new`, `indeterminate` or `done`.
    pub category: &'static str,
    /// Labels of the ticket.
    pub labels: &'static [&'static str],
    /// Text of the ticket, with one paragraph per line.
    pub description: &'static str,
    /// Texts of the ticket's comments, oldest first.
    pub comments: Vec<String>,
}

impl Default for TicketSeed {
    fn default() -> Self {
        Self {
            key: "PROJ-123",
            summary: "It leaks",
            status: "In Progress",
            category: "indeterminate",
            labels: &["backend"],
            description: "Since May.",
            comments: vec!["Seen again.".to_owned()],
        }
    }
}

#[derive(Default)]
struct State {
    tickets: Vec<TicketSeed>,
    /// Answer to every request, if one is set.
    fault: Option<ResponseTemplate>,
}

/// A JIRA server. It stops when it is dropped.
pub struct JiraDouble {
    runtime: Runtime,
    server: MockServer,
    state: Arc<Mutex<State>>,
}

impl JiraDouble {
    /// Starts a server without tickets.
    ///
    /// # Panics
    ///
    /// Panics if no port is available.
    #[must_use]
    pub fn start(edition: JiraEdition) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let server = runtime.block_on(MockServer::start());
        let state = Arc::new(Mutex::new(State::default()));
        let answers = Arc::clone(&state);
        let mock = Mock::given(any())
            .respond_with(move |request: &Request| answer(&lock(&answers), edition, request));
        runtime.block_on(mock.mount(&server));
        Self {
            runtime,
            server,
            state,
        }
    }

    /// Returns the base URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.uri()
    }

    /// Adds a ticket.
    pub fn ticket(&self, seed: TicketSeed) {
        lock(&self.state).tickets.push(seed);
    }

    /// Makes the server answer every later request with this status.
    pub fn fail(&self, status: u16) {
        lock(&self.state).fault = Some(failure(status, "It fails."));
    }

    /// Makes the server answer every later request with this JSON.
    pub fn answer_all(&self, body: &Value) {
        let answer = ResponseTemplate::new(200).set_body_json(body);
        lock(&self.state).fault = Some(answer);
    }

    /// Makes the server redirect every later request to another address.
    pub fn redirect(&self, to: &str) {
        let answer = ResponseTemplate::new(302).insert_header("location", to);
        lock(&self.state).fault = Some(answer);
    }

    /// Makes the server answer every later request with an HTML page, as a login page does.
    pub fn page(&self, status: u16) {
        let answer = ResponseTemplate::new(status).set_body_string("<html>Log in</html>");
        lock(&self.state).fault = Some(answer);
    }

    /// Returns the path with query, and the `Authorization` header, of each request.
    #[must_use]
    pub fn requests(&self) -> Vec<(String, Option<String>)> {
        let received = self.runtime.block_on(self.server.received_requests());
        let of = |request: Request| {
            let header = request.headers.get("authorization");
            let header = header.and_then(|value| value.to_str().ok());
            let query = request
                .url
                .query()
                .map_or(String::new(), |q| format!("?{q}"));
            (
                format!("{}{query}", request.url.path()),
                header.map(str::to_owned),
            )
        };
        received.unwrap_or_default().into_iter().map(of).collect()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failure(status: u16, message: &str) -> ResponseTemplate {
    let body = json!({ "errorMessages": [message], "errors": {} });
    ResponseTemplate::new(status).set_body_json(body)
}

fn answer(state: &State, edition: JiraEdition, request: &Request) -> ResponseTemplate {
    if let Some(fault) = &state.fault {
        return fault.clone();
    }
    let wanted = match edition {
        JiraEdition::Cloud => {
            let pair = format!("{JIRA_EMAIL}:{JIRA_TOKEN}");
            format!("Basic {}", BASE64_STANDARD.encode(pair))
        }
        JiraEdition::DataCenter => format!("Bearer {JIRA_TOKEN}"),
    };
    let given = request.headers.get("authorization");
    if given.is_none_or(|given| given.as_bytes() != wanted.as_bytes()) {
        return failure(401, "Client must be authenticated to access this resource.");
    }
    let path = request.url.path();
    let (is_v3, rest) = match (edition, path.strip_prefix("/rest/api/")) {
        (JiraEdition::Cloud, Some(rest)) if rest.starts_with("3/") => (true, &rest[2..]),
        (_, Some(rest)) if rest.starts_with("2/") => (false, &rest[2..]),
        _ => return ResponseTemplate::new(404).set_body_string("<html>Not here</html>"),
    };
    let parts: Vec<&str> = rest.split('/').collect();
    let ticket = |key: &str| state.tickets.iter().find(|ticket| ticket.key == key);
    let found = match parts.as_slice() {
        ["serverInfo"] => Some(server_info(edition)),
        ["issue", key] => ticket(key).map(|ticket| issue(ticket, is_v3, request)),
        ["issue", key, "comment"] => {
            ticket(key).map(|ticket| comments(ticket, edition, is_v3, request))
        }
        _ => None,
    };
    match found {
        Some(body) => ResponseTemplate::new(200).set_body_json(body),
        None => failure(
            404,
            "Issue does not exist or you do not have permission to see it.",
        ),
    }
}

fn server_info(edition: JiraEdition) -> Value {
    let (version, deployment) = match edition {
        JiraEdition::Cloud => ("1001.0.0", "Cloud"),
        JiraEdition::DataCenter => ("10.3.0", "Server"),
    };
    let numbers: Vec<u64> = version.split('.').filter_map(|n| n.parse().ok()).collect();
    json!({
        "version": version, "versionNumbers": numbers, "deploymentType": deployment,
        "buildNumber": 1, "serverTitle": "JIRA",
    })
}

fn parameter(request: &Request, name: &str) -> Option<String> {
    let mut pairs = request.url.query_pairs();
    pairs
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

fn issue(ticket: &TicketSeed, is_v3: bool, request: &Request) -> Value {
    let category = json!({ "id": 4, "key": ticket.category, "name": ticket.category });
    let all = json!({
        "summary": ticket.summary,
        "status": { "id": "3", "name": ticket.status, "statusCategory": category },
        "labels": ticket.labels,
        "description": text(ticket.description, is_v3),
        "issuetype": { "id": "1", "name": "Bug" },
    });
    let wanted = parameter(request, "fields").filter(|fields| !fields.contains('*'));
    let is_wanted = |name: &str| {
        wanted
            .as_ref()
            .is_none_or(|w| w.split(',').any(|f| f == name))
    };
    let fields = all.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| is_wanted(name));
    let fields: Map<String, Value> = fields.map(|(k, v)| (k.clone(), v.clone())).collect();
    json!({ "id": "10001", "key": ticket.key, "self": own_url(request), "fields": fields })
}

fn comments(ticket: &TicketSeed, edition: JiraEdition, is_v3: bool, request: &Request) -> Value {
    let own = own_url(request);
    let author = match edition {
        JiraEdition::Cloud => json!({ "accountId": "5b10", "displayName": "Grace Hopper" }),
        JiraEdition::DataCenter => json!({ "name": "grace", "displayName": "Grace Hopper" }),
    };
    let comment = |(n, body): (usize, &String)| {
        let at = format!("2026-07-22T08:{n:02}:00.000+0000");
        json!({
            "id": (20_000 + n).to_string(), "self": format!("{own}/{}", 20_000 + n),
            "author": author, "body": text(body, is_v3), "created": at, "updated": at,
        })
    };
    let mut all: Vec<Value> = ticket.comments.iter().enumerate().map(comment).collect();
    let total = all.len();
    if parameter(request, "orderBy").is_some_and(|order| order == "-created") {
        all.reverse();
    }
    let number = |name, usual| {
        let given = parameter(request, name).and_then(|text| text.parse().ok());
        given.unwrap_or(usual)
    };
    let (start, most) = (number("startAt", 0), number("maxResults", 50));
    let page: Vec<Value> = all.into_iter().skip(start).take(most).collect();
    json!({ "startAt": start, "maxResults": most, "total": total, "comments": page })
}

/// Returns a text as JIRA sends it: as a string, or for v3 as a document with one paragraph per
/// line.
fn text(text: &str, is_v3: bool) -> Value {
    if !is_v3 {
        return json!(text);
    }
    let paragraph =
        |line: &str| json!({ "type": "paragraph", "content": [{ "type": "text", "text": line }] });
    let paragraphs: Vec<Value> = text.lines().map(paragraph).collect();
    json!({ "type": "doc", "version": 1, "content": paragraphs })
}

fn own_url(request: &Request) -> String {
    let mut url = request.url.clone();
    url.set_query(None);
    url.to_string()
}
