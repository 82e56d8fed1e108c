//! REST routes for review requests.

use serde_json::Value;

use super::{pulls, require};
use crate::{
    graphql::Ctx,
    reply::{self, Reply},
    server::Incoming,
    state::{Permission, Repo, Reviewer},
};

/// Removes people and teams from a pull request's review requests.
pub(super) fn remove(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, number: &str) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Triage) {
        return reply;
    }
    let Some(pull) = pulls::find(ctx, repo, number) else {
        return reply::not_found();
    };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let names = |key: &str| -> Vec<String> {
        let list = body.get(key).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_lowercase)
            .collect()
    };
    // GitHub refuses a request without this list, but accepts an empty list.
    if body.get("reviewers").is_none() {
        return reply::message(422, "Invalid request.\n\n\"reviewers\" wasn't supplied.");
    }
    let (people, teams) = (names("reviewers"), names("team_reviewers"));
    let mut state = ctx.state();
    let leaves = |reviewer: &Reviewer| match reviewer {
        Reviewer::Account(id) => {
            let login = state.login(*id).to_lowercase();
            people.contains(&login) || people.contains(&format!("{login}[bot]"))
        }
        Reviewer::Team(id) => state
            .teams
            .get(id)
            .is_some_and(|it| teams.contains(&it.slug)),
    };
    let left = pull.requested.iter().copied().filter(|it| !leaves(it));
    let left: Vec<Reviewer> = left.collect();
    let now = state.tick();
    if let Some(pull) = state.pulls.get_mut(&pull.id) {
        pull.requested = left;
        pull.updated_at = now;
    }
    drop(state);
    match pulls::find(ctx, repo, number) {
        Some(pull) => Reply::json(200, &pulls::as_json(ctx, repo, &pull)),
        None => reply::not_found(),
    }
}
