//! Views of a pull request: sections, further pages, history, commits and checks.

use forge_core::{
    PageReq,
    model::{CheckRollup, PrFields, ReviewState},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, data},
    wire::{
        changed, check_run, comment, commit, head, label, line_comment, nodes, one, page, review,
        thread, user,
    },
};

fn everything() -> PrFields {
    PrFields::STATS
        | PrFields::MERGEABILITY
        | PrFields::COMMENTS
        | PrFields::REVIEWS
        | PrFields::THREADS
        | PrFields::COMMITS
        | PrFields::FILES
        | PrFields::CHECKS
        | PrFields::LINKED_ISSUES
        | PrFields::AUTO_MERGE
        | PrFields::MAINTAINER_ACCESS
        | PrFields::DATABASE_ID
        | PrFields::POTENTIAL_MERGE
        | PrFields::REACTIONS
        | PrFields::PROJECTS
}

fn file(path: &str) -> Value {
    json!({ "path": path, "additions": 3, "deletions": 1, "changeType": "RENAMED" })
}

fn project_item(title: &str, status: Value) -> Value {
    json!({ "id": format!("PVTI_{title}"), "project": { "id": format!("PVT_{title}"), "title": title }, "status": status })
}

fn full() -> Value {
    let mut assignee = user("ada");
    assignee["databaseId"] = json!(583231);
    changed(
        7,
        json!({
            "isCrossRepository": true,
            "headRepository": { "id": "R_fork", "name": "tools-fork", "owner": { "id": "U_grace", "login": "grace" } },
            "author": { "__typename": "Bot", "login": "robot" },
            "labels": { "nodes": [label("bug")] },
            "assignees": { "nodes": [assignee] },
            "milestone": { "number": 3, "title": "1.0", "description": "", "dueOn": "2026-06-01T00:00:00Z" },
            "reviewRequests": { "nodes": [
                { "requestedReviewer": { "__typename": "Team", "id": "T_1", "teamName": "Core", "combinedSlug": "octo/core" } },
                { "requestedReviewer": { "__typename": "User", "id": "U_1", "login": "linus", "userName": "Linus" } },
                { "requestedReviewer": { "__typename": "Bot", "id": "BOT_1", "login": "robot" } },
                { "requestedReviewer": null },
            ] },
            "reviewDecision": "CHANGES_REQUESTED",
            "latestOpinionatedReviews": { "nodes": [review("PRR_1", "grace", "APPROVED")] },
            "latestReviews": { "nodes": [review("PRR_2", "grace", "COMMENTED"), review("PRR_3", "linus", "COMMENTED")] },
            "comments": { "totalCount": 1 },
            "additions": 10, "deletions": 2, "changedFiles": 1,
            "mergeable": "UNKNOWN", "mergeStateStatus": "UNKNOWN",
            "allComments": nodes(vec![comment("IC_1", "grace", "Hello")]),
            "reviews": nodes(vec![review("PRR_1", "grace", "APPROVED")]),
            "reviewThreads": nodes(vec![thread("PRRT_1", true)]),
            "commits": nodes(vec![commit(1)]),
            "files": nodes(vec![file("b")]),
            "head": head(nodes(vec![
                check_run("build", "SUCCESS"),
                json!({ "__typename": "StatusContext", "context": "ci/x", "state": "ERROR", "targetUrl": "", "description": "Broken", "createdAt": "2026-01-02T06:00:00Z", "isRequired": false }),
            ])),
            "closingIssuesReferences": nodes(vec![json!({
                "id": "I_3", "number": 3, "title": "It fails", "url": "https://github.com/octo/other/issues/3", "state": "OPEN",
                "repository": { "id": "R_other", "name": "other", "owner": { "id": "O_octo", "login": "octo" } },
            })]),
            "autoMergeRequest": {
                "mergeMethod": "SQUASH", "enabledAt": "2026-01-02T07:00:00Z", "enabledBy": user("ada"),
                "commitHeadline": "Subject", "commitBody": null, "authorEmail": null,
            },
            "maintainerCanModify": true,
            "fullDatabaseId": "2047493647",
            "potentialMergeCommit": { "oid": "c".repeat(40) },
            "reactionGroups": [
                { "content": "HEART", "reactors": { "totalCount": 2 } },
                { "content": "EYES", "reactors": { "totalCount": 0 } },
            ],
            "projectItems": nodes(vec![
                project_item("Roadmap", json!({ "optionId": "98236657", "name": "Done" })),
                project_item("Later", Value::Null),
                project_item("Strange", json!({})),
            ]),
        }),
    )
}

#[tokio::test]
async fn full_view_takes_one_request() {
    let script = Script::play(vec![data("PullView", one(full()))]).await;
    let pull = script.repo.pull(&script.pr(), everything()).await.unwrap();
    assert_json_snapshot!("view", (script.sent(), pull));
}

#[tokio::test]
async fn unrequested_sections_are_not_queried() {
    let script = Script::play(vec![
        data("PullView", one(full())),
        data("PullView", one(full())),
    ])
    .await;
    let pull = script
        .repo
        .pull(&script.pr(), PrFields::NONE)
        .await
        .unwrap();
    assert!(pull.comments.is_none() && pull.checks.is_none() && pull.additions.is_none());
    script.repo.pull(&script.pr(), PrFields::ROW).await.unwrap();
    script.sent();
    let documents = script.documents();
    for word in [
        "allComments",
        "statusCheckRollup",
        "additions",
        "mergeable",
        "reviewThreads",
        "project",
        "autoMergeRequest",
        "maintainerCanModify",
        "fullDatabaseId",
        "potentialMergeCommit",
        "reactionGroups",
        "closingIssues",
        "files(",
    ] {
        assert!(documents.iter().all(|d| !d.contains(word)), "{word}");
    }
    for word in ["body", "labels", "latestReviews"] {
        assert!(
            documents[0].contains(word) && !documents[1].contains(word),
            "{word}"
        );
    }
}

#[tokio::test]
async fn further_pages_of_sections_share_requests() {
    let first = changed(
        7,
        json!({
            "allComments": page(vec![comment("IC_1", "ada", "1")], "c1"),
            "reviews": page(vec![review("PRR_1", "grace", "COMMENTED")], "r1"),
            "reviewThreads": nodes(vec![]),
            "commits": page(vec![commit(1)], "k1"),
            "files": page(vec![file("a")], "f1"),
            "head": head(page(vec![check_run("a", "SUCCESS")], "h1")),
            "closingIssuesReferences": nodes(vec![]),
            "latestReviews": page(vec![review("PRR_1", "grace", "COMMENTED")], "l1"),
            "latestOpinionatedReviews": page(vec![review("PRR_3", "linus", "APPROVED")], "o1"),
        }),
    );
    let second = json!({ "node": { "__typename": "PullRequest", "id": "PR_7",
        "allComments": page(vec![comment("IC_2", "ada", "2")], "c2"),
        "reviews": nodes(vec![review("PRR_2", "grace", "APPROVED")]),
        "commits": nodes(vec![commit(2)]),
        "files": nodes(vec![file("b")]),
        "head": head(nodes(vec![check_run("b", "FAILURE")])),
        "latestReviews": nodes(vec![review("PRR_4", "eve", "COMMENTED")]),
        "latestOpinionatedReviews": nodes(vec![review("PRR_2", "grace", "APPROVED")]),
    }});
    let third = json!({ "node": { "__typename": "PullRequest", "id": "PR_7",
        "allComments": nodes(vec![comment("IC_3", "ada", "3")]),
    }});
    let script = Script::play(vec![
        data("PullView", one(first)),
        data("PullMore", second),
        data("PullMore", third),
    ])
    .await;
    let pull = script.repo.pull(&script.pr(), everything()).await.unwrap();
    assert!(pull.warnings.is_empty(), "{:?}", pull.warnings);
    let counts = pull.review_counts();
    assert_eq!((counts.approved, counts.commented), (2, 1));
    assert_eq!(pull.comments.unwrap().len(), 3);
    assert_eq!(pull.reviews.unwrap().len(), 2);
    assert_eq!(pull.commits.unwrap().len(), 2);
    assert_eq!(pull.files.unwrap().len(), 2);
    let checks = pull.checks.unwrap();
    assert_eq!(
        (checks.checks.len(), checks.overall),
        (2, CheckRollup::Failure)
    );
    let sent = script.sent();
    assert_eq!(
        sent[1].1,
        json!({
            "id": "PR_7", "after0": "c1", "after1": "r1", "after2": "k1", "after3": "f1",
            "after4": "h1", "after5": "l1", "after6": "o1",
        })
    );
    assert_eq!(sent[2].1, json!({ "id": "PR_7", "after0": "c2" }));
}

#[tokio::test]
async fn long_threads_are_read_completely() {
    let mut long = thread("PRRT_1", false);
    long["comments"] = page(vec![line_comment("PRRC_1", "1")], "t1");
    let first = changed(
        7,
        json!({ "reviewThreads": nodes(vec![long, thread("PRRT_2", false)]) }),
    );
    let script = Script::play(vec![
        data("PullView", one(first)),
        data(
            "CommentsMore",
            json!({ "n0": { "comments": nodes(vec![line_comment("PRRC_2", "2")]) } }),
        ),
    ])
    .await;
    let pull = script
        .repo
        .pull(&script.pr(), PrFields::THREADS)
        .await
        .unwrap();
    assert_eq!(pull.threads.unwrap()[0].comments.len(), 2);
    assert_eq!(script.sent()[1].1, json!({ "n0": "PRRT_1", "a0": "t1" }));
}

#[tokio::test]
async fn oversized_sections_are_read_in_smaller_pages() {
    let long = || data("PullView", one(json!({ "body": "x".repeat(9 << 20) })));
    let mut parted = thread("PRRT_1", false);
    parted["comments"] = page(vec![line_comment("PRRC_1", "1")], "t1");
    let fits = changed(7, json!({ "reviewThreads": page(vec![parted], "r1") }));
    let threads = nodes(vec![thread("PRRT_2", false)]);
    let more = json!({ "node": { "id": "PR_7", "reviewThreads": threads } });
    let comments = json!({ "n0": { "comments": nodes(vec![line_comment("PRRC_2", "2")]) } });
    let script = Script::play(vec![
        long(),
        long(),
        data("PullView", one(fits)),
        data("PullMore", more),
        data("CommentsMore", comments),
    ])
    .await;
    let pull = script.repo.pull(&script.pr(), PrFields::THREADS).await;
    let pull = pull.unwrap();
    assert!(pull.warnings.is_empty(), "{:?}", pull.warnings);
    let threads = pull.threads.unwrap();
    let counts: Vec<usize> = threads.iter().map(|t| t.comments.len()).collect();
    assert_eq!(counts[0], 2, "{counts:?}");
    assert_eq!(counts.len(), 2, "{counts:?}");
    let documents = script.documents();
    for (document, size) in documents.iter().zip([100, 50, 25, 25, 25]) {
        let list = format!("comments(first: {size}");
        assert!(document.contains(&list), "{size}: {document}");
    }
    let list = "reviewThreads(first: 25, after: $after0)";
    assert!(documents[3].contains(list), "{}", documents[3]);
    script.sent();
}

#[tokio::test]
async fn repeated_cursor_ends_paging() {
    let stuck = page(vec![comment("IC_1", "ada", "1")], "same");
    let again = json!({ "node": { "id": "PR_7", "allComments": stuck.clone() } });
    let script = Script::play(vec![
        data("PullView", one(changed(7, json!({ "allComments": stuck })))),
        data("PullMore", again),
    ])
    .await;
    script
        .repo
        .pull(&script.pr(), PrFields::COMMENTS)
        .await
        .unwrap();
    assert_eq!(script.names().len(), 2);
}

#[tokio::test]
async fn reading_checks_takes_one_request() {
    let row = changed(
        7,
        json!({ "head": head(nodes(vec![check_run("build", "STARTUP_FAILURE"), check_run("old", "STALE")])) }),
    );
    let script = Script::play(vec![data("PullView", one(row))]).await;
    let report = script.repo.checks(&script.pr()).await.unwrap();
    assert_json_snapshot!("checks", (script.sent(), report));
    assert!(script.documents()[0].contains("isRequired(pullRequestNumber: $number)"));
}

#[tokio::test]
async fn commit_without_checks_has_empty_report() {
    let row = changed(
        7,
        json!({ "head": { "nodes": [{ "commit": { "oid": "a".repeat(40), "statusCheckRollup": null } }] } }),
    );
    let script = Script::play(vec![data("PullView", one(row))]).await;
    let report = script.repo.checks(&script.pr()).await.unwrap();
    assert_eq!(
        (report.overall, report.checks.len()),
        (CheckRollup::Neutral, 0)
    );
    script.sent();
}

#[tokio::test]
async fn commits_beyond_one_hundred_are_read() {
    let first: Vec<Value> = (0..100).map(commit).collect();
    let rest: Vec<Value> = (100..130).map(commit).collect();
    let of = |list: Value| one(json!({ "commits": list }));
    let script = Script::play(vec![
        data("PullView", of(page(first.clone(), "c100"))),
        data("PullView", of(nodes(rest.clone()))),
        data("PullView", of(page(first, "c100"))),
        data("PullView", of(nodes(rest))),
    ])
    .await;
    let all = script
        .repo
        .commits(&script.pr(), PageReq::first(500))
        .await
        .unwrap();
    assert_eq!((all.items.len(), all.next), (130, None));
    assert_json_snapshot!("commit", all.items[0]);
    let first = script
        .repo
        .commits(&script.pr(), PageReq::first(100))
        .await
        .unwrap();
    assert_eq!(first.items.len(), 100);
    let next = PageReq::after(first.next.unwrap(), 100);
    assert_eq!(
        script
            .repo
            .commits(&script.pr(), next)
            .await
            .unwrap()
            .items
            .len(),
        30
    );
    let sent = script.sent();
    assert_eq!(
        (&sent[1].1["first"], &sent[1].1["after"]),
        (&json!(100), &json!("c100"))
    );
}

#[tokio::test]
async fn history_has_one_opening_and_one_close() {
    let event = |kind: &str, id: &str, at: &str, more: Value| {
        let mut e =
            json!({ "__typename": kind, "id": id, "createdAt": at, "actor": user("grace") });
        e.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        e
    };
    let events = vec![
        event(
            "RenamedTitleEvent",
            "E1",
            "2026-01-02T04:00:00Z",
            json!({ "previousTitle": "a", "currentTitle": "b" }),
        ),
        event(
            "BaseRefChangedEvent",
            "E2",
            "2026-01-02T05:00:00Z",
            json!({ "previousRefName": "x", "currentRefName": "y" }),
        ),
        event(
            "ConvertToDraftEvent",
            "E3",
            "2026-01-02T06:00:00Z",
            json!({}),
        ),
        event(
            "ReadyForReviewEvent",
            "E4",
            "2026-01-02T07:00:00Z",
            json!({}),
        ),
        event(
            "HeadRefForcePushedEvent",
            "E5",
            "2026-01-02T08:00:00Z",
            json!({ "afterCommit": { "oid": "f".repeat(40) } }),
        ),
        event("ClosedEvent", "E6", "2026-01-02T09:00:00Z", json!({})),
        event("ReopenedEvent", "E7", "2026-01-02T10:00:00Z", json!({})),
        event(
            "MergedEvent",
            "E8",
            "2026-01-02T11:00:00Z",
            json!({ "commit": { "oid": "d".repeat(40) } }),
        ),
        event("ClosedEvent", "E9", "2026-01-02T11:00:00Z", json!({})),
    ];
    let of = |list: Value| {
        one(json!({
            "id": "PR_7", "createdAt": "2026-01-02T03:04:05Z", "mergedAt": "2026-01-02T11:00:00Z",
            "author": user("ada"), "timelineItems": list,
        }))
    };
    let script = Script::play(vec![
        data("Timeline", of(nodes(events.clone()))),
        data("Timeline", of(page(events[..1].to_vec(), "e1"))),
        data("Timeline", of(page(events[..1].to_vec(), "e1"))),
    ])
    .await;
    let all = script
        .repo
        .history(&script.pr(), PageReq::first(50))
        .await
        .unwrap();
    assert_json_snapshot!("history", all.items);
    let first = script
        .repo
        .history(&script.pr(), PageReq::first(1))
        .await
        .unwrap();
    assert_eq!(first.items.len(), 1);
    let second = script
        .repo
        .history(&script.pr(), PageReq::after(first.next.unwrap(), 1))
        .await
        .unwrap();
    assert_eq!(second.items[0].id, "E1");
    assert!(second.next.is_some());
    script.sent();
}

#[tokio::test]
async fn latest_reviews_include_comment_reviews() {
    let script = Script::play(vec![data("PullView", one(full()))]).await;
    let pull = script
        .repo
        .pull(&script.pr(), PrFields::NONE)
        .await
        .unwrap();
    assert_eq!((pull.approvals, pull.changes_requested), (1, 0));
    let states: Vec<_> = pull
        .latest_reviews
        .iter()
        .map(|r| (r.author.login.as_str(), r.state))
        .collect();
    assert_eq!(
        states,
        [
            ("grace", ReviewState::Approved),
            ("linus", ReviewState::Commented)
        ]
    );
}
