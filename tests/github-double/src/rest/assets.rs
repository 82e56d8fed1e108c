//! Stores attachments: the server at `uploads.…`, as gh 2.103.3 uses it.

use serde_json::json;

use super::{decode, require};
use crate::{
    graphql::Ctx,
    reply::{self, Reply},
    server::Incoming,
    state::{Asset, Id, Permission},
};

/// Media types that GitHub shows in a description or a comment.
const TYPES: [(&str, &str); 9] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("webm", "video/webm"),
];

pub(super) fn upload(ctx: &Ctx<'_>, request: &Incoming) -> Reply {
    let value = |key: &str| {
        let pairs = request.query.split('&').filter_map(|p| p.split_once('='));
        let found = pairs.into_iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| decode(&value.replace('+', " ")))
    };
    let (Some(name), Some(content_type)) = (value("name"), value("content_type")) else {
        return reply::message(422, "name and content_type are required");
    };
    let repo = value("repository_id").and_then(|id| id.parse::<Id>().ok());
    let Some(repo) = repo.and_then(|id| ctx.repo(id).ok()) else {
        return reply::not_found();
    };
    if !ctx.may_see(repo.id) || require(ctx, &repo, Permission::Write).is_err() {
        return reply::not_found();
    }
    let extension = name.rsplit_once('.').map_or("", |(_, e)| e).to_lowercase();
    if !TYPES.contains(&(&*extension, &*content_type)) {
        return reply::message(422, "the file's type is not supported");
    }
    if request.body.is_empty() {
        return reply::message(422, "the file is empty");
    }
    let mut state = ctx.state();
    state.assets.push(Asset {
        repo: repo.id,
        name: name.clone(),
        bytes: request.body.clone(),
    });
    let url = format!("{}/user-attachments/assets/{}", ctx.web, state.assets.len());
    Reply::json(201, &json!({ "name": name, "url": url }))
}
