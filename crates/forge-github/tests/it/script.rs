//! A GitHub server that plays a script of answers.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use forge_core::{Client, ForgeKind, Policy, PrId, Repo, RepoId, RepoPath};
use forge_github::{Endpoint, FixedToken, GitHub, TokenSource};
use forge_http::{Http, HttpSettings, RetryPolicy};
use forge_testkit::{LogWatch, watch_logs};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

/// The token of every script. GitHub's tokens have another format.
pub const TOKEN: &str = "0canary0-token";

/// A request that is expected, and its answer.
pub struct Step {
    needle: String,
    answer: ResponseTemplate,
}

/// Answers a GraphQL operation with this `data`.
pub fn data(operation: &str, data: Value) -> Step {
    body(operation, json!({ "data": data }))
}

/// Answers a GraphQL operation with this whole body.
pub fn body(operation: &str, body: Value) -> Step {
    answer(operation, ResponseTemplate::new(200).set_body_json(body))
}

/// Answers a GraphQL operation with any response.
pub fn answer(operation: &str, answer: ResponseTemplate) -> Step {
    Step {
        needle: format!("graphql {operation}"),
        answer,
    }
}

/// Answers a REST request, such as `GET /repos/o/r/pulls/1`.
pub fn rest(request: &str, answer: ResponseTemplate) -> Step {
    Step {
        needle: request.to_owned(),
        answer,
    }
}

/// Answers a GraphQL operation with one error and without data.
pub fn refused(operation: &str, root: &str, kind: &str, message: &str) -> Step {
    body(
        operation,
        json!({ "data": { root: null }, "errors": [error(&[root], kind, message)] }),
    )
}

pub fn error(path: &[&str], kind: &str, message: &str) -> Value {
    json!({ "type": kind, "path": path, "message": message })
}

/// Answers a GraphQL operation with an error of a gateway.
pub fn gateway(operation: &str) -> Step {
    answer(
        operation,
        ResponseTemplate::new(502).set_body_string("<html>Unicorn!</html>"),
    )
}

#[derive(Default)]
struct Play {
    steps: VecDeque<Step>,
    sent: Vec<(String, Value)>,
    wrong: Vec<String>,
}

#[derive(Clone, Default)]
struct Player(Arc<Mutex<Play>>);

impl Respond for Player {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut play = self.0.lock().unwrap();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let name = match body.get("query").and_then(Value::as_str) {
            Some(query) => {
                let name = query.split([' ', '(', '{']).nth(1).unwrap_or_default();
                format!("graphql {name}")
            }
            None => {
                let query = request
                    .url
                    .query()
                    .map(|q| format!("?{q}"))
                    .unwrap_or_default();
                format!("{} {}{query}", request.method, request.url.path())
            }
        };
        play.sent.push((name.clone(), body));
        match play.steps.pop_front() {
            Some(step) if step.needle == name => step.answer,
            other => {
                let expected = other.map_or("nothing".to_owned(), |s| s.needle);
                play.wrong.push(format!("got {name}, expected {expected}"));
                ResponseTemplate::new(418)
            }
        }
    }
}

/// A repository handle on a script. Dropping the script checks that all its requests were sent, and
/// no others.
pub struct Script {
    pub repo: Repo,
    pub forge: Arc<GitHub>,
    player: Player,
    _server: MockServer,
    _logs: LogWatch,
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.ended();
        }
    }
}

impl Script {
    pub async fn play(steps: Vec<Step>) -> Self {
        Self::with_token(steps, Arc::new(FixedToken::new(TOKEN))).await
    }

    pub async fn with_token(steps: Vec<Step>, tokens: Arc<dyn TokenSource>) -> Self {
        let logs = watch_logs();
        let server = MockServer::start().await;
        let player = Player::default();
        player.0.lock().unwrap().steps = steps.into();
        Mock::given(any())
            .respond_with(player.clone())
            .mount(&server)
            .await;
        let settings = HttpSettings {
            retry: RetryPolicy::without_pauses(),
            ..HttpSettings::default()
        };
        let http = Http::new(settings).unwrap();
        let forge = GitHub::at("github.com", Endpoint::at(&server.uri()), http, tokens);
        let forge = Arc::new(forge);
        let client = Client::new(forge.clone(), Policy::default());
        Self {
            repo: client.repo(repo_id()),
            forge,
            player,
            _server: server,
            _logs: logs,
        }
    }

    pub fn pr(&self) -> PrId {
        PrId::number(repo_id(), 7)
    }

    /// Checks that no request was unexpected and none is missing.
    fn ended(&self) {
        let play = self.player.0.lock().unwrap();
        assert!(play.wrong.is_empty(), "{:?}", play.wrong);
        let left: Vec<_> = play.steps.iter().map(|s| s.needle.clone()).collect();
        assert!(left.is_empty(), "nobody asked for {left:?}");
    }

    /// Ends the script. Returns the name and the variables of each request, in order.
    pub fn sent(&self) -> Vec<(String, Value)> {
        self.ended();
        let play = self.player.0.lock().unwrap();
        let variables = |b: &Value| b.get("variables").cloned().unwrap_or_else(|| b.clone());
        play.sent
            .iter()
            .map(|(n, b)| (n.replace("graphql ", ""), variables(b)))
            .collect()
    }

    /// Ends the script. Returns the names of the requests, in order.
    pub fn names(&self) -> Vec<String> {
        self.sent().into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the GraphQL documents that were sent.
    pub fn documents(&self) -> Vec<String> {
        let play = self.player.0.lock().unwrap();
        play.sent
            .iter()
            .filter_map(|(_, b)| Some(b.get("query")?.as_str()?.to_owned()))
            .collect()
    }
}

pub fn repo_id() -> RepoId {
    RepoId {
        kind: ForgeKind::GITHUB,
        host: "github.com".into(),
        path: RepoPath::Named {
            owner: "octo".into(),
            name: "tools".into(),
        },
    }
}
