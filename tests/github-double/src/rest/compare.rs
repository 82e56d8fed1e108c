//! Compares two commits, as JSON and as a diff.

use serde_json::{Value, json};

use super::{link_pages, page_of, query};
use crate::{
    git::{self, CommitInfo},
    graphql::Ctx,
    reply::{self, Reply},
    server::Incoming,
    state::Repo,
};

pub(super) fn answer(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, range: &str) -> Reply {
    let Some((base, head)) = range.split_once("...") else {
        return reply::not_found();
    };
    let commit = |name: &str| git::commit(&repo.git_dir, name);
    let (Some(base), Some(head)) = (commit(base), commit(head)) else {
        return reply::not_found();
    };
    let Some(parting) = git::merge_base(&repo.git_dir, &base.oid, &head.oid) else {
        return reply::message(404, "No common ancestor between the commits.");
    };
    if request.header("accept").contains("diff") {
        return match git::diff(&repo.git_dir, &base.oid, &head.oid, None) {
            Ok(diff) => Reply::text(200, "application/vnd.github.diff; charset=utf-8", diff),
            Err(error) => reply::message(500, &error.to_string()),
        };
    }
    let between = |from: &str, to: &str| {
        let range = format!("{from}..{to}");
        git::commits(&repo.git_dir, &range).unwrap_or_default()
    };
    let (ahead, behind) = (between(&base.oid, &head.oid), between(&head.oid, &base.oid));
    let status = match (ahead.len(), behind.len()) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let url = ctx.repo_url(repo.id);
    let is_paged = query(request, "page").or(query(request, "per_page"));
    let is_paged = is_paged.is_some();
    let page @ (size, number) = page_of(request);
    let (skipped, listed) = match is_paged {
        true => ((number - 1) * size, size),
        // Without these parameters, GitHub lists the newest 250 commits.
        false => (ahead.len().saturating_sub(250), 250),
    };
    let commits = ahead.iter().skip(skipped).take(listed);
    let commits: Vec<Value> = commits.map(|it| json_of(&url, it)).collect();
    let parting = commit(&parting).unwrap_or_default();
    let mut reply = Reply::json(
        200,
        &json!({
            "url": url,
            "status": status,
            "ahead_by": ahead.len(),
            "behind_by": behind.len(),
            "total_commits": ahead.len(),
            "base_commit": json_of(&url, &base),
            "merge_base_commit": json_of(&url, &parting),
            "commits": commits,
            "files": [],
        }),
    );
    if is_paged {
        let route = format!("compare/{range}");
        link_pages(ctx, &mut reply, repo, &route, page, ahead.len());
    }
    reply
}

fn json_of(url: &str, commit: &CommitInfo) -> Value {
    let person = |p: &git::Person| json!({ "name": p.name, "email": p.email, "date": p.date });
    json!({
        "sha": commit.oid,
        "html_url": format!("{url}/commit/{}", commit.oid),
        "commit": {
            "message": commit.message,
            "author": person(&commit.author),
            "committer": person(&commit.committer),
            "tree": { "sha": commit.tree },
        },
        "parents": commit.parents.iter().map(|oid| json!({ "sha": oid })).collect::<Vec<_>>(),
    })
}
