//! Sends each recorded request to the double of GitHub.

use std::collections::BTreeMap;

use forge_github_double::{
    ALL_SCOPES, Fault, GitHubDouble, Options,
    state::{Permission, Protection},
};
use forge_tangled_world::Caller;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    shape::{Observed, Shapes, Tree, read},
    table::{Difference, assert_listed},
};

#[derive(Deserialize)]
struct Requests {
    /// GraphQL documents by name.
    documents: BTreeMap<String, String>,
    /// Requests by the recording that they stand for.
    scenarios: BTreeMap<String, Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    /// Branches, each with a file and its content.
    branches: BTreeMap<String, (String, String)>,
    /// Names of documents, or methods and paths, each with variables or a body. Names with `!` are
    /// preparations, which no recording has.
    steps: Vec<(String, Tree)>,
}

/// A repository of the double, and what its answers have named so far.
struct Stage<'a> {
    double: &'a GitHubDouble,
    caller: Caller,
    repo: String,
    /// Ids in the order in which answers have named them.
    ids: Vec<String>,
    cursor: String,
    number: u64,
}

impl<'a> Stage<'a> {
    fn new(double: &'a GitHubDouble, index: usize, scenario: &Scenario) -> Self {
        let repo = format!("nest{index}");
        let full_name = format!("wren/{repo}");
        let mut seed = double.seed();
        seed.repo_with_readme(&full_name);
        seed.collaborator(&full_name, "otter", Permission::Write);
        for (branch, (file, content)) in &scenario.branches {
            seed.commit(
                &full_name,
                branch,
                &[(file.as_str(), Some(content.as_str()))],
                "Add",
            );
        }
        drop(seed);
        Self {
            double,
            caller: Caller::new(&double.url()).with_authorization("token gho_0canary0wren"),
            repo,
            ids: Vec::new(),
            cursor: String::new(),
            number: 0,
        }
    }

    /// Replaces what stands for names, ids and numbers of the double.
    fn fill(&self, text: &str) -> Value {
        if text == "@number" {
            return self.number.into();
        }
        let mut text = text
            .replace("@number", &self.number.to_string())
            .replace("@cursor", &self.cursor)
            .replace("@fork", "burrow")
            .replace("@repo", &self.repo);
        if text.contains("@oid") {
            let seed = self.double.seed();
            let head = &seed
                .pull_of(&format!("wren/{}", self.repo), self.number)
                .head_oid;
            text = text.replace("@oid", head);
        }
        for (index, id) in self.ids.iter().enumerate().rev() {
            text = text.replace(&format!("@{}", index + 1), id);
        }
        text.into()
    }

    fn remember(&mut self, answer: &Tree) {
        let Tree::Object(fields) = answer else {
            return answer.items().iter().for_each(|it| self.remember(it));
        };
        for (key, field) in fields {
            match (key.as_str(), field) {
                ("id", _) if !field.text().is_empty() => {
                    let id = field.text().to_owned();
                    if !self.ids.contains(&id) {
                        self.ids.push(id);
                    }
                }
                ("endCursor", _) => self.cursor = field.text().to_owned(),
                ("number", Tree::Value(number)) => {
                    self.number = number.as_u64().unwrap_or(self.number);
                }
                _ => self.remember(field),
            }
        }
    }

    /// Does what no request can: a fork with another name, rules, the end of the request limit.
    fn prepare(&self, what: &str) {
        let full_name = format!("wren/{}", self.repo);
        let mut seed = self.double.seed();
        match what {
            "fork" => {
                seed.fork(&full_name, "otter");
                seed.move_repo(&format!("otter/{}", self.repo), "otter", "burrow");
            }
            "protect" => seed.protect(&full_name, "main", protection()),
            "no email" => seed.unverify_email("wren"),
            "limit" => {
                drop(seed);
                self.double.fault(Fault::secondary(403, None));
            }
            _ => panic!("no preparation {what}"),
        }
    }

    fn send(&mut self, documents: &BTreeMap<String, String>, name: &str, body: &Tree) -> Observed {
        let mut body = body.clone();
        body.change_texts(&|text| self.fill(text));
        let has_body = body != Tree::Value(Value::Null);
        let (method, target, sent) = match documents.get(name) {
            Some(document) => {
                let query = self.fill(document);
                let sent = json!({ "query": query, "variables": body.to_json() });
                if !has_body {
                    body = Tree::Object(Vec::new());
                }
                ("POST", "/graphql".to_owned(), sent.to_string())
            }
            None => {
                let (method, path) = name.split_once(' ').expect("a method and a path");
                let sent = if has_body {
                    body.to_json().to_string()
                } else {
                    String::new()
                };
                (method, self.fill(path).as_str().unwrap().to_owned(), sent)
            }
        };
        let is_graphql = target == "/graphql";
        let kind = [("content-type", "application/json")];
        let answer = self
            .caller
            .send(method, &target[1..], &kind, sent.as_bytes());
        let text = String::from_utf8(answer.bytes.clone()).unwrap();
        let tree = Tree::parse(&text).unwrap_or(Tree::Value(Value::Null));
        self.remember(&tree);
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let query = query.split('&').filter_map(|it| it.split_once('='));
        let query = query.map(|(key, it)| (key.to_owned(), Tree::Value(it.into())));
        Observed {
            method: method.to_owned(),
            path: path.to_owned(),
            query: Tree::Object(query.collect()),
            body: (has_body || is_graphql).then_some(body),
            status: answer.status,
            headers: answer.headers,
            answer: tree,
        }
    }
}

/// Returns rules with the recorded values.
fn protection() -> Protection {
    Protection {
        approvals: 1,
        dismiss_stale: true,
        checks: ["twigs".to_owned()].into(),
        ..Protection::default()
    }
}

fn start_double() -> GitHubDouble {
    let double = GitHubDouble::start(Options {
        web: Some("https://github.com".to_owned()),
        merge_state_lag: Some(2),
        ..Options::default()
    })
    .unwrap();
    let mut seed = double.seed();
    seed.token("gho_0canary0wren", "wren", ALL_SCOPES);
    seed.user("otter");
    seed.org("birds", &[("wren", Permission::Admin)]);
    drop(seed);
    double
}

#[test]
fn github_double_answers_as_recorded() {
    let shapes: Shapes = read("github.shapes.json");
    let requests: Requests = read("github.json");
    let double = start_double();
    let mut found = Vec::new();
    for (index, (recording, keys)) in shapes.recordings.iter().enumerate() {
        let scenario = requests.scenarios.get(recording);
        let scenario = scenario.unwrap_or_else(|| panic!("nothing stands for {recording}"));
        let mut stage = Stage::new(&double, index, scenario);
        let mut keys = keys.iter();
        for (name, body) in &scenario.steps {
            let preparation = name.strip_prefix('!');
            match preparation {
                Some(name) if requests.documents.contains_key(name) || name.contains(" /") => {
                    let observed = stage.send(&requests.documents, name, body);
                    assert!(
                        observed.status < 300,
                        "{recording}: {name}: {:?}",
                        observed.answer
                    );
                }
                Some(what) => stage.prepare(what),
                None => {
                    let key = keys
                        .next()
                        .unwrap_or_else(|| panic!("{recording} has no {name}"));
                    let observed = stage.send(&requests.documents, name, body);
                    let differences = observed.differences(&shapes.exchanges[key]);
                    found.extend(differences.into_iter().map(|what| Difference {
                        exchange: format!("github {key}"),
                        what,
                    }));
                }
            }
        }
        assert_eq!(keys.next(), None, "{recording}: a request is not sent");
    }
    assert_eq!(shapes.recordings.len(), requests.scenarios.len());
    assert_listed("github", &found);
}
