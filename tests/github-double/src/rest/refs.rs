//! REST routes for git refs.

use serde_json::json;

use super::require;
use crate::{
    actions, git,
    graphql::Ctx,
    reply::{self, Reply},
    state::{Permission, Repo},
};

pub(super) fn get(repo: &Repo, name: &str) -> Reply {
    let full = format!("refs/{name}");
    match git::commit_of(&repo.git_dir, &full) {
        Some(oid) => Reply::json(
            200,
            &json!({ "ref": full, "object": { "type": "commit", "sha": oid } }),
        ),
        None => reply::not_found(),
    }
}

pub(super) fn delete(ctx: &Ctx<'_>, repo: &Repo, name: &str) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Write) {
        return reply;
    }
    let full = format!("refs/{name}");
    if git::commit_of(&repo.git_dir, &full).is_none() {
        return reply::message(422, "Reference does not exist");
    }
    let mut state = ctx.state();
    let before = actions::branches(&state, repo.id);
    if let Err(error) = git::delete_ref(&repo.git_dir, &full) {
        return reply::message(500, &error.to_string());
    }
    actions::refs_moved(&mut state, repo.id, &before, ctx.viewer);
    Reply {
        status: 204,
        ..Reply::default()
    }
}
