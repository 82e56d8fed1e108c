//! Builds answers in GitHub's form.

use serde_json::{Value, json};

pub fn user(login: &str) -> Value {
    json!({ "__typename": "User", "id": format!("U_{login}"), "login": login, "name": "" })
}

pub fn nodes(list: Vec<Value>) -> Value {
    json!({ "nodes": list, "pageInfo": { "hasNextPage": false, "endCursor": null } })
}

pub fn page(list: Vec<Value>, end: &str) -> Value {
    json!({ "nodes": list, "pageInfo": { "hasNextPage": true, "endCursor": end } })
}

/// Returns a pull request with all fields outside the sections.
pub fn pull(number: u64) -> Value {
    json!({
        "__typename": "PullRequest",
        "id": format!("PR_{number}"),
        "number": number,
        "title": format!("Title {number}"),
        "state": "OPEN",
        "isDraft": false,
        "url": format!("https://github.com/octo/tools/pull/{number}"),
        "createdAt": "2026-01-02T03:04:05Z",
        "updatedAt": "2026-01-03T03:04:05Z",
        "closedAt": null,
        "mergedAt": null,
        "repository": { "id": "R_tools" },
        "baseRefName": "main",
        "baseRefOid": "b".repeat(40),
        "headRefName": "feature",
        "headRefOid": "a".repeat(40),
        "isCrossRepository": false,
        "headRepository": { "id": "R_tools", "name": "tools", "owner": { "id": "O_octo", "login": "octo" } },
        "author": user("ada"),
        "body": "Text.",
        "mergedBy": null,
        "mergeCommit": null,
        "milestone": null,
        "labels": { "nodes": [] },
        "assignees": { "nodes": [] },
        "reviewRequests": { "nodes": [] },
        "reviewDecision": null,
        "latestReviews": { "nodes": [] },
        "latestOpinionatedReviews": { "nodes": [] },
        "comments": { "totalCount": 0 },
        "baseRepository": { "openPulls": nodes(vec![]) },
    })
}

/// Returns a pull request with some values replaced.
pub fn changed(number: u64, other: Value) -> Value {
    let mut pull = pull(number);
    for (key, value) in other.as_object().unwrap() {
        pull[key] = value.clone();
    }
    pull
}

pub fn one(pull: Value) -> Value {
    json!({ "repository": { "pullRequest": pull } })
}

pub fn label(name: &str) -> Value {
    json!({ "id": format!("LA_{name}"), "name": name, "color": "d73a4a", "description": null })
}

pub fn comment(id: &str, author: &str, body: &str) -> Value {
    json!({
        "__typename": "IssueComment",
        "id": id,
        "url": format!("https://github.com/octo/tools/pull/7#{id}"),
        "body": body,
        "createdAt": "2026-01-02T04:00:00Z",
        "lastEditedAt": null,
        "authorAssociation": "MEMBER",
        "isMinimized": false,
        "minimizedReason": null,
        "viewerDidAuthor": author == "ada",
        "author": user(author),
        "reactionGroups": [
            { "content": "THUMBS_UP", "reactors": { "totalCount": 2 } },
            { "content": "EYES", "reactors": { "totalCount": 0 } },
        ],
    })
}

pub fn line_comment(id: &str, body: &str) -> Value {
    let mut comment = comment(id, "grace", body);
    comment["__typename"] = json!("PullRequestReviewComment");
    comment["path"] = json!("src/lib.rs");
    comment["line"] = json!(10);
    comment["originalLine"] = json!(10);
    comment["diffHunk"] = json!("@@ -9,2 +9,2 @@");
    comment["replyTo"] = Value::Null;
    comment
}

pub fn review(id: &str, author: &str, state: &str) -> Value {
    json!({
        "id": id,
        "state": state,
        "body": "Words.",
        "submittedAt": "2026-01-02T05:00:00Z",
        "authorAssociation": "MEMBER",
        "author": user(author),
        "commit": { "oid": "a".repeat(40) },
        "comments": nodes(vec![]),
        "reactionGroups": [{ "content": "HOORAY", "reactors": { "totalCount": 1 } }],
    })
}

pub fn thread(id: &str, resolved: bool) -> Value {
    json!({
        "__typename": "PullRequestReviewThread",
        "id": id,
        "path": "src/lib.rs",
        "line": 10,
        "startLine": null,
        "originalLine": 9,
        "originalStartLine": null,
        "diffSide": "RIGHT",
        "isResolved": resolved,
        "isOutdated": false,
        "resolvedBy": if resolved { user("ada") } else { Value::Null },
        "comments": nodes(vec![line_comment(&format!("PRRC_{id}"), "Why?")]),
    })
}

/// Returns the answer that names the pull request to which a comment or thread belongs.
pub fn belongs(number: u64) -> Value {
    let node = json!({ "pullRequest": { "id": format!("PR_{number}") } });
    json!({ "node": node, "repository": { "pullRequest": { "id": "PR_7" } } })
}

pub fn commit(n: usize) -> Value {
    let person = json!({ "name": "Ada", "email": "ada@example.com", "date": "2026-01-01T00:00:00+02:00", "user": { "id": "U_ada", "login": "ada" } });
    json!({ "commit": {
        "oid": format!("{n:040x}"),
        "messageHeadline": format!("Commit {n}"),
        "messageBody": "",
        "authoredDate": "2026-01-01T00:00:00Z",
        "committedDate": "2026-01-01T00:00:01Z",
        "authors": { "nodes": [person] },
        "committer": { "name": "GitHub", "email": "noreply@github.com", "date": null, "user": null },
    }})
}

pub fn check_run(name: &str, conclusion: &str) -> Value {
    json!({
        "__typename": "CheckRun",
        "name": name,
        "status": "COMPLETED",
        "conclusion": conclusion,
        "startedAt": "2026-01-02T06:00:00Z",
        "completedAt": "2026-01-02T06:01:00Z",
        "detailsUrl": "https://ci.example/1",
        "title": "All good",
        "isRequired": true,
        "checkSuite": { "workflowRun": { "event": "push", "workflow": { "name": "CI" } } },
    })
}

pub fn head(contexts: Value) -> Value {
    json!({ "nodes": [{ "commit": { "oid": "a".repeat(40), "statusCheckRollup": { "contexts": contexts } } }] })
}
