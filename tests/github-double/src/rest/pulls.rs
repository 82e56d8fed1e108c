//! Pull requests as JSON, as diff and as patch, and the list of their files.

use serde_json::{Value, json};

use super::{account, link_pages, page_of, repos};
use crate::{
    git::{self, FileDiff},
    graphql::{Ctx, Node, node_id},
    reply::{self, Reply},
    resolve::{merge_state, summary},
    server::Incoming,
    state::{Pull, PullState, Repo},
};

pub(super) fn find(ctx: &Ctx<'_>, repo: &Repo, number: &str) -> Option<Pull> {
    let number = number.parse().ok()?;
    ctx.state().pull(repo.id, number).cloned()
}

pub(super) fn get(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, number: &str) -> Reply {
    let Some(pull) = find(ctx, repo, number) else {
        return reply::not_found();
    };
    let accept = request.header("accept");
    if accept.contains("diff") {
        diff(ctx, repo, &pull)
    } else if accept.contains("patch") {
        match git::patches(&repo.git_dir, &pull.base_oid, &pull.head_oid) {
            Ok(patches) => Reply::text(200, "application/vnd.github.patch; charset=utf-8", patches),
            Err(error) => reply::message(500, &error.to_string()),
        }
    } else {
        Reply::json(200, &as_json(ctx, repo, &pull))
    }
}

fn diff(ctx: &Ctx<'_>, repo: &Repo, pull: &Pull) -> Reply {
    let limits = ctx.state().limits;
    let files = match summary(ctx, pull) {
        Ok(summary) => summary.files.len(),
        Err(fail) => return reply::message(500, &fail.message),
    };
    if files > limits.diff_files {
        return too_large(&format!(
            "Sorry, the diff exceeded the maximum number of files ({}). Consider using 'List pull requests files' API or locally cloning the repository instead.",
            limits.diff_files
        ));
    }
    match git::diff(&repo.git_dir, &pull.base_oid, &pull.head_oid, None) {
        Ok(diff) => {
            let lines = diff.iter().filter(|byte| **byte == b'\n').count();
            if lines > limits.diff_lines {
                return too_large(&format!(
                    "Sorry, the diff exceeded the maximum number of lines ({})",
                    limits.diff_lines
                ));
            }
            Reply::text(200, "application/vnd.github.diff; charset=utf-8", diff)
        }
        Err(error) => reply::message(500, &error.to_string()),
    }
}

fn too_large(message: &str) -> Reply {
    Reply::json(
        406,
        &json!({
            "message": message,
            "errors": [{ "resource": "PullRequest", "field": "diff", "code": "too_large" }],
            "documentation_url": "https://docs.github.com/rest/pulls/pulls#list-pull-requests-files",
            "status": "406",
        }),
    )
}

pub(super) fn as_json(ctx: &Ctx<'_>, repo: &Repo, pull: &Pull) -> Value {
    let url = format!("{}/pull/{}", ctx.repo_url(repo.id), pull.number);
    let state = merge_state::of(ctx, pull.id).map_or("UNKNOWN", |it| it.mergeable);
    let mergeable = match state {
        "MERGEABLE" => Some(true),
        "CONFLICTING" => Some(false),
        _ => None,
    };
    let head = pull.head_repo.and_then(|id| ctx.repo(id).ok());
    let end = |branch: &str, oid: &str, repo: Option<&Repo>| {
        json!({
            "ref": branch,
            "sha": oid,
            "label": repo.map(|it| format!("{}:{branch}", ctx.state().login(it.owner))),
            "repo": repo.map(|it| repos::json(ctx, it)),
        })
    };
    let totals = summary(ctx, pull).map(|it| (it.totals(), it.files.len()));
    let ((additions, deletions), files) = totals.unwrap_or_default();
    json!({
        "id": pull.id,
        "node_id": node_id(&Node::Pull(pull.id)),
        "number": pull.number,
        "html_url": url,
        "diff_url": format!("{url}.diff"),
        "patch_url": format!("{url}.patch"),
        "state": if pull.state == PullState::Open { "open" } else { "closed" },
        "draft": pull.draft,
        "merged": pull.state == PullState::Merged,
        "mergeable": mergeable,
        "title": pull.title,
        "body": pull.body,
        "user": account(ctx, pull.author),
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": pull.closed_at,
        "merged_at": pull.merge.as_ref().map(|merge| &merge.at),
        "merge_commit_sha": pull.merge.as_ref().map(|merge| &merge.commit),
        "additions": additions,
        "deletions": deletions,
        "changed_files": files,
        "head": end(&pull.head_branch, &pull.head_oid, head.as_ref()),
        "base": end(&pull.base_branch, &pull.base_oid, Some(repo)),
    })
}

pub(super) fn files(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, number: &str) -> Reply {
    let Some(pull) = find(ctx, repo, number) else {
        return reply::not_found();
    };
    let limits = ctx.state().limits;
    let files = match summary(ctx, &pull) {
        Ok(summary) => summary.files,
        Err(fail) => return reply::message(500, &fail.message),
    };
    let diff = match git::diff(&repo.git_dir, &pull.base_oid, &pull.head_oid, None) {
        Ok(diff) => diff,
        Err(error) => return reply::message(500, &error.to_string()),
    };
    let patches = patches(&String::from_utf8_lossy(&diff));
    let page @ (size, number) = page_of(request);
    let all = files.len().min(limits.listed_files);
    let (mut lines, mut bytes) = (0, 0);
    let rows: Vec<Value> = files
        .iter()
        .zip(patches.iter().map(Some).chain(std::iter::repeat(None)))
        .take(limits.listed_files)
        .skip((number - 1) * size)
        .take(size)
        .map(|(file, patch)| {
            lines += patch.map_or(0, |patch| patch.lines().count());
            bytes += patch.map_or(0, String::len);
            let shown = lines <= limits.diff_lines && bytes <= limits.page_bytes;
            row(ctx, &pull, file, patch.filter(|_| shown), shown)
        })
        .collect();
    let mut reply = Reply::json(200, &Value::Array(rows));
    let route = format!("pulls/{}/files", pull.number);
    link_pages(ctx, &mut reply, repo, &route, page, all);
    reply
}

fn row(ctx: &Ctx<'_>, pull: &Pull, file: &FileDiff, patch: Option<&String>, shown: bool) -> Value {
    let status = match file.letter {
        'A' => "added",
        'D' => "removed",
        'R' => "renamed",
        'C' => "copied",
        'T' => "changed",
        _ => "modified",
    };
    let count = |count: usize| if shown { count } else { 0 };
    let url = ctx.repo_url(pull.repo);
    let mut row = json!({
        "sha": file.blob,
        "filename": file.path,
        "status": status,
        "additions": count(file.additions),
        "deletions": count(file.deletions),
        "changes": count(file.additions + file.deletions),
        "blob_url": format!("{url}/blob/{}/{}", pull.head_oid, file.path),
        "raw_url": format!("{url}/raw/{}/{}", pull.head_oid, file.path),
    });
    if let Some(row) = row.as_object_mut() {
        if let Some(previous) = &file.previous {
            row.insert("previous_filename".to_owned(), json!(previous));
        }
        if let Some(patch) = patch.filter(|patch| !patch.is_empty()) {
            row.insert("patch".to_owned(), json!(patch));
        }
    }
    row
}

/// Returns the hunks of each file in a diff, in order.
fn patches(diff: &str) -> Vec<String> {
    let mut patches: Vec<String> = Vec::new();
    let mut inside = false;
    for line in diff.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            patches.push(String::new());
            inside = false;
            continue;
        }
        inside |= line.starts_with("@@ ");
        if inside && let Some(patch) = patches.last_mut() {
            patch.push_str(line);
        }
    }
    for patch in &mut patches {
        if patch.ends_with('\n') {
            patch.pop();
        }
    }
    patches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_is_split_into_file_patches() {
        let diff = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\
                    diff --git a/y b/y\nsimilarity index 100%\nrename from y\nrename to z\n";
        assert_eq!(patches(diff), ["@@ -1 +1 @@\n-a\n+b", ""]);
    }
}
