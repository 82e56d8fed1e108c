//! Serves the logs of jobs: a route that redirects to the log storage, and the storage.

use crate::{
    graphql::Ctx,
    reply::{self, Reply},
    server::Incoming,
    state::{Id, Repo, State},
};

/// Path of the log storage on the host of the web pages.
const STORAGE: &str = "/storage/logs/";

pub(super) fn redirect(ctx: &Ctx<'_>, repo: &Repo, job: &str) -> Reply {
    let state = ctx.state();
    let job: Option<Id> = job.parse().ok();
    let run = job.and_then(|job| state.runs.get(&job));
    let here = run
        .and_then(|run| state.suites.get(&run.suite))
        .is_some_and(|suite| suite.repo == repo.id);
    match run.filter(|run| here && state.logs.contains_key(&run.id)) {
        Some(run) => {
            let mut reply = Reply::json(302, &serde_json::json!({}));
            reply.set("location", format!("{}{STORAGE}{}?sig=x", ctx.web, run.id));
            reply
        }
        None => reply::not_found(),
    }
}

/// Answers a request to the log storage, or returns `None` for another path. Each line begins with
/// a time, as in the logs of GitHub Actions. As Azure does, the storage refuses a request with credentials other than the URL's signature.
pub(crate) fn stored(state: &State, request: &Incoming) -> Option<Reply> {
    let id: Id = request.path.strip_prefix(STORAGE)?.parse().ok()?;
    if request.token.is_some() || !request.query.contains("sig=") {
        return Some(reply::message(
            403,
            "Server failed to authenticate the request.",
        ));
    }
    let lines = state.logs.get(&id)?.split_inclusive('\n');
    let timed = lines.map(|line| format!("2026-01-02T03:04:05.1234567Z {line}"));
    Some(Reply {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body: timed.collect::<String>().into_bytes(),
    })
}
