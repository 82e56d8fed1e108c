//! The REST route that sets a status on a commit.

use serde_json::{Value, json};

use super::{account, require};
use crate::{
    actions, git,
    graphql::{Ctx, Node, node_id},
    reply::{self, Reply},
    server::Incoming,
    state::{CommitStatus, Permission, Repo},
};

pub(super) fn create(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, oid: &str) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Write) {
        return reply;
    }
    if git::commit_of(&repo.git_dir, oid).is_none() {
        return reply::message(422, &format!("No commit found for SHA: {oid}"));
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let status = {
        let mut state = ctx.state();
        let id = state.next_id();
        let status = CommitStatus {
            id,
            repo: repo.id,
            commit: oid.to_owned(),
            context: text("context").unwrap_or_else(|| "default".to_owned()),
            state: text("state").unwrap_or_default().to_uppercase(),
            description: text("description"),
            target_url: text("target_url"),
            creator: ctx.viewer,
            created_at: state.tick(),
        };
        state.statuses.insert(id, status.clone());
        status
    };
    if let Err(fail) = actions::auto_merges(&mut ctx.state(), &ctx.web) {
        return reply::message(500, &fail.message);
    }
    let api = ctx.web.replacen("://", "://api.", 1);
    let full_name = ctx.state().full_name(repo.id);
    let answer = json!({
        "url": format!("{api}/repos/{full_name}/statuses/{oid}"),
        "avatar_url": format!("https://avatars.githubusercontent.com/oa/{}?v=4", ctx.viewer),
        "id": status.id,
        "node_id": node_id(&Node::Status(status.id)),
        "state": status.state.to_lowercase(),
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": status.created_at,
        "updated_at": status.created_at,
        "creator": account(ctx, status.creator),
    });
    Reply::json(201, &answer)
}
