//! REST routes that create, fork and delete repositories.

use serde_json::{Value, json};

use super::{account, repo_node, require};
use crate::{
    graphql::Ctx,
    reply::{self, Reply},
    server::{Incoming, wall_time},
    state::{Permission, Repo},
};

/// Formats a repository as REST does.
pub(super) fn json(ctx: &Ctx<'_>, repo: &Repo) -> Value {
    let url = ctx.repo_url(repo.id);
    let full_name = ctx.state().full_name(repo.id);
    let parent = repo.parent.and_then(|id| ctx.repo(id).ok());
    let permission = ctx.permission(repo.id);
    json!({
        "id": repo.id,
        "node_id": repo_node(repo.id),
        "name": repo.name,
        "full_name": full_name,
        "private": repo.private,
        "visibility": if repo.private { "private" } else { "public" },
        "owner": account(ctx, repo.owner),
        "html_url": url,
        "clone_url": format!("{url}.git"),
        "description": repo.description,
        "fork": repo.parent.is_some(),
        "parent": parent.map(|parent| json(ctx, &parent)),
        "created_at": repo.created_at,
        "pushed_at": repo.pushed_at,
        "default_branch": repo.default_branch,
        "archived": repo.archived,
        "has_issues": true,
        "allow_merge_commit": repo.allow_merge,
        "allow_squash_merge": repo.allow_squash,
        "allow_rebase_merge": repo.allow_rebase,
        "allow_auto_merge": repo.allow_auto_merge,
        "delete_branch_on_merge": repo.delete_branch_on_merge,
        "permissions": {
            "admin": permission >= Some(Permission::Admin),
            "push": permission >= Some(Permission::Write),
            "pull": permission >= Some(Permission::Read),
        },
    })
}

fn body(request: &Incoming) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

pub(super) fn create(ctx: &Ctx<'_>, request: &Incoming, owner: Option<&str>) -> Reply {
    let body = body(request);
    let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        return reply::message(422, "Repository creation failed.");
    }
    let owner = match owner {
        Some(login) => match ctx.state().account(login) {
            Some(account) => account.id,
            None => return reply::not_found(),
        },
        None => ctx.viewer,
    };
    let made = {
        let mut state = ctx.state();
        let login = state.login(owner).to_owned();
        if state.repo(&login, name).is_some() {
            return reply::message(422, "name already exists on this account");
        }
        let flag = |name: &str| body.get(name).and_then(Value::as_bool).unwrap_or(false);
        let made = state.add_repo(owner, name, flag("private"), flag("auto_init"));
        let description = body.get("description").and_then(Value::as_str);
        if let Ok(id) = &made
            && let Some(repo) = state.repos.get_mut(id)
        {
            repo.description = description.map(str::to_owned);
        }
        made
    };
    match made
        .map_err(|error| error.to_string())
        .and_then(|id| ctx.repo(id).map_err(|fail| fail.message))
    {
        Ok(repo) => Reply::json(201, &json(ctx, &repo)),
        Err(problem) => reply::message(500, &problem),
    }
}

pub(super) fn fork(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo) -> Reply {
    let body = body(request);
    let owner = match body.get("organization").and_then(Value::as_str) {
        Some(login) => match ctx.state().account(login) {
            Some(account) => account.id,
            None => return reply::not_found(),
        },
        None => ctx.viewer,
    };
    let name = body
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or(&repo.name);
    let had = {
        let state = ctx.state();
        let mut repos = state.repos.values();
        repos
            .find(|it| it.owner == owner && it.parent == Some(repo.id))
            .map(|it| it.id)
    };
    let made = match had {
        Some(id) => Ok(id),
        None => ctx
            .state()
            .add_fork(repo.id, owner, name)
            .map_err(|error| error.to_string()),
    };
    match made.and_then(|id| ctx.repo(id).map_err(|fail| fail.message)) {
        Ok(fork) => {
            let mut shown = json(ctx, &fork);
            if let (None, Some(shown)) = (had, shown.as_object_mut()) {
                // gh compares this time with the current time to recognise a new fork.
                shown.insert("created_at".to_owned(), json!(wall_time()));
            }
            Reply::json(202, &shown)
        }
        Err(problem) => reply::message(500, &problem),
    }
}

pub(super) fn edit(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Admin) {
        return reply;
    }
    let body = body(request);
    if let Some(repo) = ctx.state().repos.get_mut(&repo.id) {
        if let Some(name) = body.get("name").and_then(Value::as_str) {
            name.clone_into(&mut repo.name);
        }
        let flag = |name: &str, slot: &mut bool| {
            if let Some(value) = body.get(name).and_then(Value::as_bool) {
                *slot = value;
            }
        };
        flag("private", &mut repo.private);
        flag("archived", &mut repo.archived);
        flag("allow_merge_commit", &mut repo.allow_merge);
        flag("allow_squash_merge", &mut repo.allow_squash);
        flag("allow_rebase_merge", &mut repo.allow_rebase);
        flag("allow_auto_merge", &mut repo.allow_auto_merge);
        flag("delete_branch_on_merge", &mut repo.delete_branch_on_merge);
    }
    match ctx.repo(repo.id) {
        Ok(repo) => Reply::json(200, &json(ctx, &repo)),
        Err(fail) => reply::message(404, &fail.message),
    }
}

pub(super) fn delete(ctx: &Ctx<'_>, repo: &Repo) -> Reply {
    if let Err(reply) = require(ctx, repo, Permission::Admin) {
        return reply;
    }
    if !ctx.token.has_scope(&["delete_repo"]) {
        return reply::message(403, "Must have admin rights to Repository.");
    }
    ctx.state().delete_repo(repo.id);
    Reply {
        status: 204,
        ..Reply::default()
    }
}
