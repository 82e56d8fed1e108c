//! A spindle, which runs the pipelines of repositories. The double implements the queries that
//! clients use.

use std::{
    io,
    sync::{Arc, Mutex},
};

use forge_double_wire::Reply;
use serde_json::{Value, json};

use super::{
    host::{Host, Incoming, Service, lock},
    xrpc::{self, Answer, Failure},
};

#[derive(Default)]
struct Runs(Mutex<Vec<Value>>);

/// A spindle on loopback. It stops when it is dropped.
pub struct SpindleDouble {
    host: Host,
    runs: Arc<Runs>,
}

impl SpindleDouble {
    /// Starts a spindle that has run no pipeline.
    ///
    /// # Errors
    ///
    /// Fails if no port is available.
    pub fn start() -> io::Result<Self> {
        let runs = Arc::new(Runs::default());
        let host = Host::claim()?.serve("spindle-double", Answers(Arc::clone(&runs)))?;
        Ok(Self { host, runs })
    }

    /// Returns the host of the spindle, with its requests and its faults.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Adds a pipeline run for a commit of the repository with this DID. `kind` is the trigger:
    /// `push`, `pull_request` or `manual`. `workflows` are pairs of a name and a state: `pending`,
    /// `running`, `success`, `failed`, `timeout` or `cancelled`. Runs added later are newer.
    pub fn run(&self, repo: &str, commit: &str, kind: &str, workflows: &[(&str, &str)]) {
        let mut runs = lock(&self.runs.0);
        let minute = runs.len() % 60;
        let at = |second: usize| format!("2026-07-22T08:{minute:02}:{second:02}Z");
        let workflow = |(name, status): &(&str, &str)| {
            let mut workflow = json!({
                "id": name,
                "name": name,
                "status": status,
                "startedAt": at(10),
            });
            if !matches!(*status, "pending" | "running") {
                workflow["finishedAt"] = json!(at(50));
            }
            if *status == "failed" {
                workflow["error"] = json!("a step ended with code 1");
            }
            workflow
        };
        let workflows: Vec<Value> = workflows.iter().map(workflow).collect();
        let id = format!("3mr7m2f6ge{:03}", runs.len());
        runs.push(json!({
            "id": id,
            "commit": commit,
            "repo": repo,
            "createdAt": at(0),
            "trigger": { "$type": format!("sh.tangled.ci.trigger#{kind}") },
            "workflows": workflows,
        }));
    }
}

struct Answers(Arc<Runs>);

impl Service for Answers {
    fn answer(&self, request: &Incoming) -> Reply {
        match request.nsid() {
            Some("sh.tangled.ci.queryPipelines" | "org.tangled.ci.queryPipelines") => {
                xrpc::reply(query(&self.0, request))
            }
            _ => Reply::text(404, "text/plain", b"404 page not found\n".to_vec()),
        }
    }
}

/// Lists runs, newest first. A cursor is the number of rows on earlier pages.
fn query(runs: &Runs, request: &Incoming) -> Answer {
    let repo = request
        .param("repo")
        .filter(|repo| repo.starts_with("did:"))
        .ok_or_else(|| Failure::invalid("repo must be a DID"))?;
    let number = |name: &str, otherwise: usize| match request.param(name) {
        None => Ok(otherwise),
        Some(text) => text
            .parse()
            .map_err(|_| Failure::invalid(format!("{name} must be a number"))),
    };
    let limit = number("limit", 50)?;
    if !(1..=250).contains(&limit) {
        return Err(Failure::invalid("limit must be between 1 and 250"));
    }
    let skip = number("cursor", 0)?;
    let commits = request.params("commits");
    let runs = lock(&runs.0);
    let wanted = |run: &&Value| {
        let is = |field: &str, text: &str| run.get(field).and_then(Value::as_str) == Some(text);
        is("repo", &repo) && (commits.is_empty() || commits.iter().any(|c| is("commit", c)))
    };
    let all: Vec<&Value> = runs.iter().rev().filter(wanted).collect();
    let page: Vec<&Value> = all.iter().copied().skip(skip).take(limit).collect();
    let mut answer = json!({ "total": all.len() });
    // A spindle that has run nothing omits the list.
    if !page.is_empty() {
        answer["pipelines"] = json!(page);
    }
    if skip + page.len() < all.len() {
        answer["cursor"] = json!((skip + page.len()).to_string());
    }
    Ok(answer)
}
