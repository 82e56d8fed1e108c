//! Sends equal requests to the double and to another imitation of GitHub, `myworld` 0.2.1 from
//! PyPI, and compares the results. `docs/explanation/github-double.md` lists the differences, and
//! says which side we believe. The test fails if a difference is not listed, or if a listed
//! difference no longer exists.
//!
//! `FORGE_MYWORLD` names the program; without it, the test is skipped.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Stdio},
    time::Duration,
};

use forge_github_double::{ALL_SCOPES, GitHubDouble, Options, state::Permission};
use forge_testkit::{Run, Scratch, workspace_root};
use serde_json::{Value, json};

use crate::world::{MONA, REPO, REVIEWER};

/// The repository of the double, in the format of myworld.
const ENVIRONMENT: &str = r#"
name: lifecycle
task: "-"
agents:
  octocat: {as: octocat}
  reviewer: {as: reviewer}
servers:
  github:
    seed:
      viewer: octocat
      users:
        - {login: octocat, name: Mona Lisa, email: octocat@example.com}
        - {login: reviewer, name: reviewer, email: reviewer@example.com}
      repos:
        - name: octocat/tools
          files: {README.md: "tools"}
          branches:
            feature: {files: {feature.txt: "new"}, author: octocat, message: Add}
            wip: {files: {wip.txt: "new"}, author: octocat, message: Add}
            clash: {files: {feature.txt: "other"}, author: octocat, message: Add}
            last: {files: {last.txt: "new"}, author: octocat, message: Add}
"#;

/// The double or myworld, with the ids that it gave to the objects of the steps.
struct Side {
    port: u16,
    path: &'static str,
    tokens: BTreeMap<&'static str, String>,
    ids: BTreeMap<String, String>,
}

/// A process that is killed when this value is dropped.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn post(port: u16, method: &str, path: &str, token: &str, body: &str) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: api.github.com\r\nAuthorization: token {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut text = String::new();
    reader.read_to_string(&mut text).ok()?;
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let begin = body.find('{')?;
    let end = body.rfind('}')? + 1;
    Some((status, serde_json::from_str(&body[begin..end]).ok()?))
}

impl Side {
    fn ask(&mut self, step: &Step) -> Value {
        let mut input = step.input.clone();
        if let Value::Object(members) = &mut input {
            for value in members.values_mut() {
                if let Some(name) = value.as_str().and_then(|text| text.strip_prefix('@')) {
                    *value = json!(self.ids.get(name));
                }
            }
        }
        let body = json!({ "query": step.query, "variables": { "i": input } }).to_string();
        let token = self.tokens[step.who].clone();
        let (status, answer) = post(self.port, "POST", self.path, &token, &body)
            .unwrap_or_else(|| panic!("no answer to {}", step.name));
        self.remember(&answer["data"]);
        let errors = answer["errors"].as_array().cloned().unwrap_or_default();
        let errors: Vec<Value> = errors
            .iter()
            .map(|e| json!([e["type"], e["message"]]))
            .collect();
        let mut data = answer["data"].clone();
        without_ids(&mut data);
        json!({ "status": status, "data": data, "errors": errors, "message": answer["message"] })
    }

    fn remember(&mut self, data: &Value) {
        if let Some(id) = data["repository"]["id"].as_str() {
            self.ids.insert("repo".into(), id.into());
        }
        let pull = &data["r"]["pullRequest"];
        if let (Some(id), Some(head)) = (pull["id"].as_str(), pull["headRefName"].as_str()) {
            self.ids.insert(head.into(), id.into());
        }
    }
}

fn without_ids(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("id");
            members.values_mut().for_each(without_ids);
        }
        Value::Array(items) => items.iter_mut().for_each(without_ids),
        _ => {}
    }
}

struct Step {
    name: &'static str,
    who: &'static str,
    query: String,
    input: Value,
}

fn query(name: &'static str, who: &'static str, selection: &str) -> Step {
    Step {
        name,
        who,
        query: format!("{{ {selection} }}"),
        input: Value::Null,
    }
}

fn of_repo(name: &'static str, selection: &str) -> Step {
    let text = format!("repository(owner: \"octocat\", name: \"tools\") {{ {selection} }}");
    query(name, "octocat", &text)
}

fn mutation(name: &'static str, who: &'static str, field: &str, input: Value, of: &str) -> Step {
    let mut letters = field.chars();
    let first = letters.next().unwrap().to_ascii_uppercase();
    let kind: String = std::iter::once(first).chain(letters).collect();
    Step {
        name,
        who,
        query: format!("mutation($i: {kind}Input!) {{ r: {field}(input: $i) {{ {of} }} }}"),
        input,
    }
}

const PULL: &str = "pullRequest { id number title state isDraft merged headRefName baseRefName }";

fn create(name: &'static str, head: &str, more: &[(&str, Value)]) -> Step {
    let mut input = json!({
        "repositoryId": "@repo", "baseRefName": "main", "headRefName": head,
        "title": format!("Title of {head}"), "body": "Body",
    });
    for (key, value) in more {
        input[*key] = value.clone();
    }
    mutation(name, "octocat", "createPullRequest", input, PULL)
}

fn on(name: &'static str, field: &str, pull: &str, more: &[(&str, Value)], of: &str) -> Step {
    let mut input = json!({ "pullRequestId": format!("@{pull}") });
    for (key, value) in more {
        input[*key] = value.clone();
    }
    mutation(name, "octocat", field, input, of)
}

fn review(name: &'static str, who: &'static str, event: &str, body: Option<&str>) -> Step {
    let mut input = json!({ "pullRequestId": "@feature", "event": event });
    if let Some(body) = body {
        input["body"] = body.into();
    }
    let of = "pullRequestReview { state }";
    mutation(name, who, "addPullRequestReview", input, of)
}

/// Returns the steps that the test takes with three pull requests.
fn steps() -> Vec<Step> {
    let state = "pullRequest { state }";
    let draft = "pullRequest { isDraft }";
    let head = ("expectedHeadOid", json!("0".repeat(40)));
    let squash = ("mergeMethod", json!("SQUASH"));
    let said = "commentEdge { node { body } }";
    vec![
        query("viewer", "octocat", "viewer { login }"),
        query("another viewer", "reviewer", "viewer { login }"),
        query("a token that nobody has", "nobody", "viewer { login }"),
        of_repo("the repository", "id name defaultBranchRef { name }"),
        query(
            "a missing repository",
            "octocat",
            "repository(owner: \"octocat\", name: \"missing\") { id }",
        ),
        of_repo("a missing pull request", "pullRequest(number: 99) { id }"),
        query("an unknown field", "octocat", "viewer { login nope }"),
        of_repo("101 records", "pullRequests(first: 101) { totalCount }"),
        create("open", "feature", &[]),
        create("open again", "feature", &[]),
        create("open without commits", "main", &[]),
        create("open from a missing branch", "nosuch", &[]),
        create("open a draft", "wip", &[("draft", json!(true))]),
        create("open a conflicting one", "clash", &[]),
        of_repo("look", "pullRequest(number: 1) { mergeable title state }"),
        of_repo(
            "look again",
            "pullRequest(number: 1) { mergeable mergeStateStatus reviewDecision }",
        ),
        review("approve one's own", "octocat", "APPROVE", Some("Good.")),
        review(
            "request changes without a word",
            "reviewer",
            "REQUEST_CHANGES",
            None,
        ),
        review(
            "request changes",
            "reviewer",
            "REQUEST_CHANGES",
            Some("No."),
        ),
        review("approve", "reviewer", "APPROVE", Some("Good.")),
        review("an unknown verdict", "reviewer", "NONSENSE", Some("?")),
        of_repo("the decision", "pullRequest(number: 1) { reviewDecision }"),
        mutation(
            "comment",
            "octocat",
            "addComment",
            json!({ "subjectId": "@feature", "body": "Said." }),
            said,
        ),
        mutation(
            "an empty comment",
            "octocat",
            "addComment",
            json!({ "subjectId": "@feature", "body": "" }),
            said,
        ),
        on("merge a draft", "mergePullRequest", "wip", &[], state),
        on("ready", "markPullRequestReadyForReview", "wip", &[], draft),
        on(
            "a draft again",
            "convertPullRequestToDraft",
            "wip",
            &[],
            draft,
        ),
        on("close", "closePullRequest", "wip", &[], state),
        on("reopen", "reopenPullRequest", "wip", &[], state),
        on(
            "edit",
            "updatePullRequest",
            "wip",
            &[("title", json!("New")), ("body", json!("New body"))],
            "pullRequest { title body }",
        ),
        on(
            "merge at another head",
            "mergePullRequest",
            "feature",
            &[head],
            state,
        ),
        on(
            "merge",
            "mergePullRequest",
            "feature",
            &[squash],
            "pullRequest { state merged }",
        ),
        on("merge again", "mergePullRequest", "feature", &[], state),
        on("merge a conflict", "mergePullRequest", "clash", &[], state),
        on(
            "reopen what is merged",
            "reopenPullRequest",
            "feature",
            &[],
            state,
        ),
        on(
            "merge later",
            "enablePullRequestAutoMerge",
            "wip",
            &[],
            state,
        ),
        of_repo(
            "list",
            "pullRequests(first: 10, orderBy: { field: CREATED_AT, direction: DESC }) \
             { totalCount nodes { number state isDraft title } }",
        ),
        query(
            "search",
            "octocat",
            "search(query: \"repo:octocat/tools is:pr is:open\", type: ISSUE, first: 10) \
             { issueCount nodes { ... on PullRequest { number } } }",
        ),
        of_repo(
            "the rollup",
            "pullRequest(number: 1) { statusCheckRollup { state } }",
        ),
        create("open without a title", "last", &[("title", json!(""))]),
    ]
}

fn double() -> (GitHubDouble, Side) {
    let double = GitHubDouble::start(Options::default()).unwrap();
    let mut seed = double.seed();
    seed.named_user("octocat", "Mona Lisa");
    seed.token(MONA, "octocat", ALL_SCOPES);
    seed.token(REVIEWER, "reviewer", ALL_SCOPES);
    seed.repo_with_readme(REPO);
    seed.collaborator(REPO, "reviewer", Permission::Write);
    for (branch, file, text) in [
        ("feature", "feature.txt", "new"),
        ("wip", "wip.txt", "new"),
        ("clash", "feature.txt", "other"),
        ("last", "last.txt", "new"),
    ] {
        seed.commit(REPO, branch, &[(file, Some(text))], "Add");
    }
    drop(seed);
    let port = double.url().rsplit(':').next().unwrap().parse().unwrap();
    let tokens = [
        ("octocat", MONA),
        ("reviewer", REVIEWER),
        ("nobody", "gho_nobody"),
    ];
    let side = Side {
        port,
        path: "/graphql",
        tokens: tokens.map(|(name, token)| (name, token.to_owned())).into(),
        ids: BTreeMap::new(),
    };
    (double, side)
}

fn myworld(program: PathBuf, scratch: &Scratch) -> (Ends, Side) {
    let environment = scratch.write("lifecycle.yaml", ENVIRONMENT);
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let run: Run = scratch.run(program).args(["serve", "--log-level", "error"]);
    let child = run
        .args(["--port", &port.to_string(), "--env"])
        .arg(environment)
        .command()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("myworld starts");
    let child = Ends(child);
    for _ in 0..300 {
        if let Some((200, found)) = post(port, "GET", "/envs", "", "") {
            let token = |who: &str| {
                let token = &found["envs"][0]["credentials"][who]["github_token"];
                token.as_str().expect("a token").to_owned()
            };
            let side = Side {
                port,
                path: "/gw/api.github.com/graphql",
                tokens: BTreeMap::from([
                    ("octocat", token("octocat")),
                    ("reviewer", token("reviewer")),
                    ("nobody", "gho_nobody".to_owned()),
                ]),
                ids: BTreeMap::new(),
            };
            return (child, side);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("myworld does not answer");
}

/// Returns the steps in the table of `docs/explanation/github-double.md`.
fn listed() -> Vec<String> {
    let page =
        fs::read_to_string(workspace_root().join("docs/explanation/github-double.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let names = rows.filter_map(|row| row.split(" |").next());
    names
        .filter(|name| *name != "step" && !name.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn table_mentions_only_existing_steps() {
    let steps: Vec<_> = steps().iter().map(|step| step.name).collect();
    for name in listed() {
        assert!(steps.contains(&name.as_str()), "{name} is no step");
    }
}

#[test]
fn doubles_agree_except_for_listed_differences() {
    let Some(program) = std::env::var_os("FORGE_MYWORLD").map(PathBuf::from) else {
        eprintln!("FORGE_MYWORLD is not set: there is no second opinion");
        return;
    };
    let scratch = Scratch::new();
    let (_double, mut ours) = double();
    let (_process, mut theirs) = myworld(program, &scratch);
    let mut differ = Vec::new();
    let mut told = String::new();
    for step in steps() {
        let (a, b) = (ours.ask(&step), theirs.ask(&step));
        if a != b {
            told.push_str(&format!("{}\n  double  {a}\n  myworld {b}\n", step.name));
            differ.push(step.name.to_owned());
        }
    }
    assert_eq!(
        differ,
        listed(),
        "found on the left, listed on the right\n{told}"
    );
}
