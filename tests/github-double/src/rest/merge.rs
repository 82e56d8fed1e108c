//! Immediate and asynchronous merges. Stacks can be merged only asynchronously.

use serde_json::{Value, json};

use super::{pulls, require};
use crate::{
    graphql::{Args, Ctx, Node, node_id},
    mutations,
    reply::{self, Reply},
    server::Incoming,
    state::{AsyncMerge, Permission, PullState, Repo},
};

/// Merges immediately, as the GraphQL mutation does.
pub(super) fn now(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, number: &str) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Write) {
        return reply;
    }
    let Some(pull) = pulls::find(ctx, repo, number) else {
        return reply::not_found();
    };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    if text("sha").is_some_and(|sha| sha != pull.head_oid) {
        return reply::message(
            409,
            "Head branch was modified. Review and try the merge again.",
        );
    }
    let mut input = serde_json::Map::new();
    let method = text("merge_method").unwrap_or("merge").to_uppercase();
    input.insert(
        "pullRequestId".to_owned(),
        json!(node_id(&Node::Pull(pull.id))),
    );
    input.insert("mergeMethod".to_owned(), json!(method));
    input.insert("commitHeadline".to_owned(), json!(text("commit_title")));
    input.insert("commitBody".to_owned(), json!(text("commit_message")));
    if let Err(fail) = mutations::merge(ctx, &Args(input)) {
        return reply::message(405, &fail.message);
    }
    let commit = ctx
        .state()
        .pulls
        .get(&pull.id)
        .and_then(|it| it.merge.clone());
    let sha = commit.map(|it| it.commit);
    let merged =
        json!({ "sha": sha, "merged": true, "message": "Pull Request successfully merged" });
    Reply::json(200, &merged)
}

/// Starts an asynchronous merge, and answers with the key for polling.
pub(super) fn start(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, number: &str) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Write) {
        return reply;
    }
    let Some(pull) = pulls::find(ctx, repo, number) else {
        return reply::not_found();
    };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    match pull.state {
        PullState::Merged => {
            return status_reply(200, "merged", "Pull request was already merged.", None);
        }
        PullState::Open if !pull.draft => {}
        _ => return status_reply(400, "failed", "Pull request is closed or a draft.", None),
    }
    if text("sha").is_some_and(|sha| sha != pull.head_oid) {
        return reply::message(
            422,
            "Head branch was modified. Review and try the merge again.",
        );
    }
    let mut state = ctx.state();
    let pending = |merge: &&AsyncMerge| merge.pull == pull.id && merge.done.is_none();
    if let Some((key, _)) = state.async_merges.iter().find(|(_, it)| pending(it)) {
        return status_reply(409, "pending", "Merge request is in progress.", Some(key));
    }
    let key = format!("00000000-0000-4000-8000-{:012}", state.next_id());
    state.async_merges.insert(
        key.clone(),
        AsyncMerge {
            pull: pull.id,
            method: text("merge_method").map_or("MERGE".to_owned(), |it| it.to_uppercase()),
            headline: text("commit_title"),
            body: text("commit_message"),
            bypass_rules: body.get("bypass_rules") == Some(&Value::Bool(true)),
            polls: 0,
            done: None,
        },
    );
    status_reply(202, "pending", "Merge request enqueued.", Some(&key))
}

/// Formats the state of a merge for the routes that start and poll it.
fn status_reply(status: u16, state: &str, message: &str, key: Option<&str>) -> Reply {
    let mut details = json!({ "message": message });
    if let Some(key) = key {
        details["uuid"] = json!(key);
    }
    Reply::json(status, &json!({ "status": state, "details": details }))
}

/// Answers with the state of an asynchronous merge.
pub(super) fn poll(ctx: &Ctx<'_>, key: &str) -> Reply {
    let Some(mut merge) = ctx.state().async_merges.get(key).cloned() else {
        return reply::not_found();
    };
    if merge.done.is_none() {
        merge.polls += 1;
        if merge.polls > ctx.state().async_lag {
            merge.done = Some(match mutations::merge_stack(ctx, &merge) {
                Ok(()) => Ok("merged".to_owned()),
                Err(fail) => Err(fail.message),
            });
        }
        ctx.state()
            .async_merges
            .insert(key.to_owned(), merge.clone());
    }
    match merge.done {
        None => status_reply(200, "pending", "Merge request is in progress.", Some(key)),
        Some(Ok(status)) => status_reply(200, &status, "Pull request was merged.", None),
        Some(Err(why)) => status_reply(200, "failed", &why, None),
    }
}
