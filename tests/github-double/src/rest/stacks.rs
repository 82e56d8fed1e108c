//! Stacks of pull requests: listing them, creating one, and adding pull requests at the top.
//!
//! Routes, bodies and answers are in docs.github.com/en/rest/pulls/stacks. The refusals have the
//! wording that GitHub's own gh-stack expects.

use serde_json::{Value, json};

use super::{query, require};
use crate::{
    graphql::Ctx,
    reply::{self, Reply},
    server::Incoming,
    state::{Id, Permission, Pull, PullState, Repo, Stack, State},
};

/// Answers a request about the stacks of a repository. The status is 404 if stacks are disabled.
pub(super) fn answer(
    ctx: &Ctx<'_>,
    request: &Incoming,
    method: &str,
    repo: &Repo,
    rest: &[&str],
) -> Reply {
    if ctx.state().stacks_off {
        return reply::not_found();
    }
    match (method, rest) {
        ("GET", []) => list(ctx, request, repo),
        ("POST", []) => create(ctx, request, repo),
        ("POST", [number, "add"]) => add(ctx, request, repo, number),
        _ => reply::not_found(),
    }
}

/// Lists all stacks, or only the stack that contains pull request `N` of `?pull_request=N`.
fn list(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo) -> Reply {
    let wanted = query(request, "pull_request");
    let state = ctx.state();
    let holds = |stack: &Stack| {
        let mut numbers = stack.pulls.iter().filter_map(|id| state.pulls.get(id));
        wanted.is_none_or(|wanted| numbers.any(|pull| pull.number.to_string() == wanted))
    };
    let stacks = state.stacks.iter().rev().filter(|it| it.repo == repo.id);
    let found = stacks.filter(|it| holds(it)).map(|it| as_json(&state, it));
    Reply::json(200, &Value::Array(found.collect()))
}

fn create(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Write) {
        return reply;
    }
    let mut state = ctx.state();
    match chained(&state, repo, &[], request) {
        Ok(pulls) => {
            state.add_stack(repo.id, pulls);
            let made = state.stacks.last().map(|it| as_json(&state, it));
            Reply::json(201, &made.unwrap_or_default())
        }
        Err(why) => reply::message(422, &why),
    }
}

fn add(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, number: &str) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Write) {
        return reply;
    }
    let mut state = ctx.state();
    let named = |it: &Stack| it.repo == repo.id && it.number.to_string() == number;
    let Some(at) = state.stacks.iter().position(named) else {
        return reply::not_found();
    };
    let have = state.stacks.get(at).map(|it| it.pulls.clone());
    match chained(&state, repo, &have.unwrap_or_default(), request) {
        Ok(pulls) => {
            if let Some(stack) = state.stacks.get_mut(at) {
                stack.pulls = pulls;
            }
            let grown = state.stacks.get(at).map(|it| as_json(&state, it));
            Reply::json(200, &grown.unwrap_or_default())
        }
        Err(why) => reply::message(422, &why),
    }
}

/// Appends the requested pull requests to the stack `have`. Fails with the reason if they do not
/// form a stack.
fn chained(state: &State, repo: &Repo, have: &[Id], request: &Incoming) -> Result<Vec<Id>, String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let numbers = body.get("pull_requests").and_then(Value::as_array);
    let mut chain = have.to_vec();
    for number in numbers.into_iter().flatten().filter_map(Value::as_u64) {
        let Some(pull) = state.pull(repo.id, number) else {
            return Err(format!("Pull request #{number} was not found"));
        };
        if state.stack_of(pull.id).is_some() {
            return Err(format!("Pull requests #{number} are already stacked"));
        }
        let below = chain.last().and_then(|id| state.pulls.get(id));
        let follows = |below: &Pull| below.head_branch == pull.base_branch;
        let own = pull.state == PullState::Open && pull.head_repo == Some(repo.id);
        if !own || !below.is_none_or(follows) {
            return Err(
                "Pull requests must form a stack, where each PR's base ref is the previous PR's \
                 head ref"
                    .to_owned(),
            );
        }
        chain.push(pull.id);
    }
    if chain.len() < 2 || chain.len() == have.len() {
        return Err("Stack must contain at least two pull requests".to_owned());
    }
    Ok(chain)
}

fn as_json(state: &State, stack: &Stack) -> Value {
    let pulls: Vec<&Pull> = stack
        .pulls
        .iter()
        .filter_map(|id| state.pulls.get(id))
        .collect();
    let shown = |pull: &&Pull| {
        json!({
            "number": pull.number,
            "state": if pull.state == PullState::Open { "open" } else { "closed" },
            "draft": pull.draft,
            "merged_at": pull.merge.as_ref().map(|merge| &merge.at),
            "head": { "ref": pull.head_branch, "sha": pull.head_oid },
        })
    };
    json!({
        "number": stack.number,
        "base": { "ref": pulls.first().map(|pull| &pull.base_branch) },
        "open": pulls.iter().any(|pull| pull.state == PullState::Open),
        "created_at": stack.created_at,
        "pull_requests": pulls.iter().map(shown).collect::<Vec<Value>>(),
    })
}
