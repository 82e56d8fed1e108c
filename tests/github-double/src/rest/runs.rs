//! Reruns the failed jobs of a workflow run. A run has the number of its check suite.

use serde_json::json;

use super::require;
use crate::{
    graphql::Ctx,
    reply::{self, Reply},
    state::{Id, Permission, Repo},
};

pub(super) fn rerun(ctx: &Ctx<'_>, repo: &Repo, run: &str) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Write) {
        return reply;
    }
    let mut state = ctx.state();
    let suite: Option<Id> = run.parse().ok();
    let suite = suite.and_then(|id| state.suites.get(&id));
    let Some(suite) = suite.filter(|s| s.repo == repo.id && s.workflow.is_some()) else {
        return reply::not_found();
    };
    let id = suite.id;
    let mut again = 0;
    for job in state.runs.values_mut().filter(|job| job.suite == id) {
        let passed = ["SUCCESS", "SKIPPED", "NEUTRAL"];
        let conclusion = job.conclusion.as_deref();
        if conclusion.is_some_and(|conclusion| !passed.contains(&conclusion)) {
            "QUEUED".clone_into(&mut job.status);
            job.conclusion = None;
            job.completed_at = None;
            again += 1;
        }
    }
    match again {
        0 => reply::message(403, "This workflow run cannot be retried"),
        _ => Reply::json(201, &json!({})),
    }
}
