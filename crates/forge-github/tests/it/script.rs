//! A GitHub that plays a script.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use forge_core::{Client, ForgeKind, Policy, PrId, Repo, RepoId, RepoPath};
use forge_github::{Endpoint, FixedToken, GitHub, TokenSource};
use forge_http::{Http, RetryPolicy, Settings};
use forge_testkit::{LogWatch, watch_logs};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

/// The token of every script: of no shape that anybody could know it by.
pub const TOKEN: &str = "0canary0-token";

/// An answer, and what a request must contain to get it.
pub struct Step {
    needle: String,
    answer: ResponseTemplate,
}

/// The answer to a GraphQL operation of that name: `data` alone.
pub fn data(operation: &str, data: Value) -> Step {
    body(operation, json!({ "data": data }))
}

/// The answer to a GraphQL operation of that name: the whole body.
pub fn body(operation: &str, body: Value) -> Step {
    answer(operation, ResponseTemplate::new(200).set_body_json(body))
}

/// Any answer to a GraphQL operation of that name.
pub fn answer(operation: &str, answer: ResponseTemplate) -> Step {
    Step {
        needle: format!("graphql {operation}"),
        answer,
    }
}

/// The answer to a REST request: `GET /repos/o/r/pulls/1`.
pub fn rest(request: &str, answer: ResponseTemplate) -> Step {
    Step {
        needle: request.to_owned(),
        answer,
    }
}

/// The answer of an error alone.
pub fn refused(operation: &str, root: &str, kind: &str, message: &str) -> Step {
    body(
        operation,
        json!({ "data": { root: null }, "errors": [error(&[root], kind, message)] }),
    )
}

pub fn error(path: &[&str], kind: &str, message: &str) -> Value {
    json!({ "type": kind, "path": path, "message": message })
}

/// A gateway's answer.
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

/// A repository handle over a script. When it is dropped, everything must have been asked for, and
/// nothing else.
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
        let settings = Settings {
            retry: RetryPolicy::without_pauses(),
            ..Settings::default()
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

    /// Fails when a request came that the script did not expect, or one that it expected did not.
    fn ended(&self) {
        let play = self.player.0.lock().unwrap();
        assert!(play.wrong.is_empty(), "{:?}", play.wrong);
        let left: Vec<_> = play.steps.iter().map(|s| s.needle.clone()).collect();
        assert!(left.is_empty(), "nobody asked for {left:?}");
    }

    /// The variables of the requests, in order, with their names; ends the script.
    pub fn sent(&self) -> Vec<(String, Value)> {
        self.ended();
        let play = self.player.0.lock().unwrap();
        let variables = |b: &Value| b.get("variables").cloned().unwrap_or_else(|| b.clone());
        play.sent
            .iter()
            .map(|(n, b)| (n.replace("graphql ", ""), variables(b)))
            .collect()
    }

    /// The names of the requests, in order; ends the script.
    pub fn names(&self) -> Vec<String> {
        self.sent().into_iter().map(|(name, _)| name).collect()
    }

    /// The documents that were sent.
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
