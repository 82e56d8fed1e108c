//! Comments: add, reply, edit, delete, list.

use forge_core::{PageReq, model::CommentId};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, body, data, error, refused},
    wire::{belongs, comment, line_comment, nodes, one, page, thread},
};

fn before() -> Value {
    one(json!({ "id": "PR_7", "number": 7, "newestComment": { "nodes": [{ "id": "IC_0" }] } }))
}

fn id(script: &Script, key: &str) -> CommentId {
    CommentId {
        pr: script.pr(),
        key: key.into(),
    }
}

#[tokio::test]
async fn adding_comment_takes_two_requests() {
    let script = Script::play(vec![
        data("PullView", before()),
        data(
            "addComment",
            json!({ "m": { "commentEdge": { "node": comment("IC_1", "ada", "Hello") } } }),
        ),
    ])
    .await;
    let made = script
        .repo
        .comment(&script.pr(), "Hello", None)
        .await
        .unwrap();
    assert_json_snapshot!("comment", (script.sent(), made));
}

fn threads(list: Value, kind: &str) -> Value {
    json!({ "node": { "__typename": kind, "pullRequest": { "id": "PR_7" } }, "repository": { "pullRequest": { "id": "PR_7", "reviewThreads": list } } })
}

#[tokio::test]
async fn reply_to_line_comment_goes_into_thread() {
    let script = Script::play(vec![
        data(
            "ReplyPrepare",
            threads(
                page(vec![thread("PRRT_1", false)], "t1"),
                "PullRequestReviewComment",
            ),
        ),
        data(
            "ReplyPrepare",
            threads(
                nodes(vec![thread("PRRT_2", false)]),
                "PullRequestReviewComment",
            ),
        ),
        data(
            "addPullRequestReviewThreadReply",
            json!({ "m": { "comment": line_comment("PRRC_9", "Because.") } }),
        ),
    ])
    .await;
    let root = id(&script, "PRRC_PRRT_2");
    let made = script
        .repo
        .comment(&script.pr(), "Because.", Some(&root))
        .await
        .unwrap();
    assert_eq!(made.value.file_path.as_deref(), Some("src/lib.rs"));
    assert_json_snapshot!("reply", script.sent());
}

#[tokio::test]
async fn reply_into_pending_review_is_warned_about() {
    let mut made = line_comment("PRRC_9", "Because.");
    made["state"] = json!("PENDING");
    let found = nodes(vec![thread("PRRT_2", false)]);
    let script = Script::play(vec![
        data("ReplyPrepare", threads(found, "PullRequestReviewComment")),
        data(
            "addPullRequestReviewThreadReply",
            json!({ "m": { "comment": made } }),
        ),
    ])
    .await;
    let root = id(&script, "PRRC_PRRT_2");
    let (repo, pr) = (&script.repo, script.pr());
    let made = repo.comment(&pr, "Because.", Some(&root)).await;
    let warnings = made.unwrap().warnings;
    assert!(warnings[0].message.contains("nobody else sees it"));
    script.sent();
}

/// The URL of a comment ends with its number, and other MCP servers use this number as the id.
#[tokio::test]
async fn reply_to_number_or_anchor_goes_into_thread() {
    let url = "https://github.com/octo/tools/pull/7#discussion_r18";
    for key in ["18", "#discussion_r18", url] {
        let mut named = thread("PRRT_2", false);
        named["comments"]["nodes"][0]["url"] = json!(url);
        let all = nodes(vec![thread("PRRT_1", false), named]);
        let mut found = json!({ "data": threads(all, "") });
        found["data"]["node"] = Value::Null;
        let why = "Could not resolve to a node with the global id of '18'";
        found["errors"] = json!([error(&["node"], "NOT_FOUND", why)]);
        let script = Script::play(vec![
            body("ReplyPrepare", found),
            data(
                "addPullRequestReviewThreadReply",
                json!({ "m": { "comment": line_comment("PRRC_9", "Because.") } }),
            ),
        ])
        .await;
        let made = script
            .repo
            .comment(&script.pr(), "Because.", Some(&id(&script, key)))
            .await
            .unwrap();
        assert_eq!(made.value.id, "PRRC_9");
        let sent = script.sent();
        assert_eq!(
            sent[1].1["m"]["pullRequestReviewThreadId"], "PRRT_2",
            "{key}"
        );
    }
}

#[tokio::test]
async fn reply_to_conversation_comment_quotes_comment() {
    let answered = comment(
        "IC_2",
        "ada",
        "> Why?\n\nBecause.\n\n<!-- in-reply-to: IC_1 -->",
    );
    let mut conversation = threads(nodes(vec![]), "IssueComment");
    conversation["node"] =
        json!({ "__typename": "IssueComment", "body": "Why?", "conversationOf": { "id": "PR_7" } });
    let script = Script::play(vec![
        data("ReplyPrepare", conversation),
        data(
            "addComment",
            json!({ "m": { "commentEdge": { "node": answered } } }),
        ),
    ])
    .await;
    let made = script
        .repo
        .comment(&script.pr(), "Because.", Some(&id(&script, "IC_1")))
        .await
        .unwrap();
    assert_eq!(made.value.reply_to.as_deref(), Some("IC_1"));
    let sent = script.sent();
    assert_eq!(
        sent[1].1["m"]["body"],
        "> Why?\n\nBecause.\n\n<!-- in-reply-to: IC_1 -->"
    );
}

#[tokio::test]
async fn reply_to_missing_comment_is_not_found() {
    let mut missing = json!({ "data": threads(nodes(vec![]), "") });
    missing["data"]["node"] = Value::Null;
    missing["errors"] = json!([crate::script::error(
        &["node"],
        "NOT_FOUND",
        "Could not resolve to a node with the global id of 'x'"
    )]);
    let script = Script::play(vec![crate::script::body("ReplyPrepare", missing)]).await;
    let e = script
        .repo
        .comment(&script.pr(), "Because.", Some(&id(&script, "x")))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "not_found");
    script.sent();
}

#[tokio::test]
async fn comment_mutations_match_kind_of_comment() {
    let script = Script::play(vec![
        data("Belongs", belongs(7)),
        data(
            "updateIssueComment",
            json!({ "m": { "issueComment": comment("IC_1", "ada", "New") } }),
        ),
        data("Belongs", belongs(7)),
        data(
            "updatePullRequestReviewComment",
            json!({ "m": { "pullRequestReviewComment": line_comment("PRRC_1", "New") } }),
        ),
        data("Belongs", belongs(7)),
        data("deleteIssueComment", json!({ "m": {} })),
        data("Belongs", belongs(7)),
        data("deletePullRequestReviewComment", json!({ "m": {} })),
        data("Belongs", belongs(7)),
        refused(
            "deleteIssueComment",
            "m",
            "NOT_FOUND",
            "Could not resolve to a node with the global id of 'IC_2'",
        ),
    ])
    .await;
    let repo = &script.repo;
    assert_eq!(
        repo.edit_comment(&id(&script, "IC_1"), "New")
            .await
            .unwrap()
            .value
            .body,
        "New"
    );
    assert_eq!(
        repo.edit_comment(&id(&script, "PRRC_1"), "New")
            .await
            .unwrap()
            .value
            .body,
        "New"
    );
    repo.delete_comment(&id(&script, "IC_1")).await.unwrap();
    repo.delete_comment(&id(&script, "PRRC_1")).await.unwrap();
    let e = repo.delete_comment(&id(&script, "IC_2")).await.unwrap_err();
    assert!(e.is_not_found() && e.message().contains("IC_2"));
    assert_json_snapshot!("comment_changes", script.sent());
}

/// GitHub resolves an id to any object. Replying to, quoting, editing and deleting a comment of
/// another pull request are therefore refused.
#[tokio::test]
async fn comment_of_another_pull_request_is_refused() {
    let mut steps = Vec::new();
    for (kind, of) in [
        ("IssueComment", "conversationOf"),
        ("PullRequestReviewThread", "pullRequest"),
        ("PullRequestReviewComment", "pullRequest"),
    ] {
        let mut found = threads(nodes(vec![thread("PRRT_1", false)]), kind);
        found["node"] = json!({ "__typename": kind, "body": "Secret", of: { "id": "PR_8" } });
        steps.push(data("ReplyPrepare", found));
    }
    // The comment belongs to an issue, not to a pull request.
    let mut on_issue = belongs(7);
    on_issue["node"] = json!({ "__typename": "IssueComment", "conversationOf": null });
    steps.extend([data("Belongs", on_issue), data("Belongs", belongs(8))]);
    // The comment is missing or hidden from this account.
    let mut nothing = belongs(7);
    nothing["node"] = Value::Null;
    let hidden = json!({
        "data": nothing, "errors": [error(&["node"], "NOT_FOUND", "Could not resolve to a node")],
    });
    steps.extend([data("Belongs", nothing), body("Belongs", hidden)]);
    let script = Script::play(steps).await;
    let (repo, pr) = (&script.repo, script.pr());
    let key = id(&script, "PRRC_PRRT_1");
    let mut refused = Vec::new();
    for _ in 0..3 {
        refused.push(repo.comment(&pr, "Because.", Some(&key)).await.unwrap_err());
    }
    for _ in 0..2 {
        refused.push(repo.edit_comment(&key, "New").await.unwrap_err());
        refused.push(repo.delete_comment(&key).await.unwrap_err());
    }
    for e in refused {
        assert!(e.is_not_found() && !e.to_string().contains("Secret"), "{e}");
        assert!(e.message().contains("no comment 'PRRC_PRRT_1'"), "{e}");
    }
}

/// An edit of the last comment lists the comments first, and then needs no further query.
#[tokio::test]
async fn listed_comment_needs_no_ownership_query() {
    let listed = one(json!({ "comments": nodes(vec![comment("IC_1", "ada", "1")]) }));
    let script = Script::play(vec![
        data("PullView", listed),
        data("deleteIssueComment", json!({ "m": {} })),
        data("Belongs", belongs(7)),
        data("deleteIssueComment", json!({ "m": {} })),
    ])
    .await;
    let page = PageReq::first(2);
    script.repo.comments(&script.pr(), page).await.unwrap();
    for key in ["IC_1", "IC_2"] {
        script.repo.delete_comment(&id(&script, key)).await.unwrap();
    }
}

#[tokio::test]
async fn comments_are_paged() {
    let of = |list: Value| one(json!({ "comments": list }));
    let script = Script::play(vec![
        data(
            "PullView",
            of(page(
                vec![comment("IC_1", "ada", "1"), comment("IC_2", "ada", "2")],
                "c2",
            )),
        ),
        data("PullView", of(nodes(vec![comment("IC_3", "ada", "3")]))),
    ])
    .await;
    let first = script
        .repo
        .comments(&script.pr(), PageReq::first(2))
        .await
        .unwrap();
    let rest = script
        .repo
        .comments(&script.pr(), PageReq::after(first.next.clone().unwrap(), 2))
        .await
        .unwrap();
    assert_json_snapshot!("comments", (script.sent(), [first, rest]));
}

#[tokio::test]
async fn empty_and_oversized_comments_are_not_sent() {
    let script = Script::play(vec![]).await;
    for text in ["", " \n\t", &"x".repeat(65_537)] {
        assert_eq!(
            script
                .repo
                .comment(&script.pr(), text, None)
                .await
                .unwrap_err()
                .code(),
            "invalid_input"
        );
        assert_eq!(
            script
                .repo
                .edit_comment(&id(&script, "IC_1"), text)
                .await
                .unwrap_err()
                .code(),
            "invalid_input"
        );
    }
    script.sent();
}
