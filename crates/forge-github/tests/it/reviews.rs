//! Reviews and threads.

use forge_core::{
    Action, ErrorKind, Op, PageReq, Param,
    model::{
        NewReview, NewThread, PendingReview, ReviewState, Side, ThreadFilter, ThreadId, Verdict,
    },
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, body, data, error, refused},
    wire::{belongs, changed, line_comment, nodes, one, page, review, thread},
};

fn on(line: u64) -> NewThread {
    NewThread::new("src/lib.rs", Some(line), "Hm.")
}

fn before(state: &str) -> Value {
    one(changed(
        7,
        json!({ "state": state, "newestReview": { "nodes": [] } }),
    ))
}

#[tokio::test]
async fn review_with_threads_takes_two_requests() {
    let mut made = review("PRR_1", "ada", "CHANGES_REQUESTED");
    made["comments"] = nodes(vec![line_comment("PRRC_1", "Hm.")]);
    let script = Script::play(vec![
        data("PullView", before("OPEN")),
        data(
            "addPullRequestReview",
            json!({ "m": { "pullRequestReview": made } }),
        ),
    ])
    .await;
    let mut review = NewReview::new(Verdict::RequestChanges, "Please.");
    let mut range = on(5);
    range.start_line = Some(3);
    range.side = Side::Left;
    let mut single = on(10);
    single.start_line = Some(10);
    review.threads = vec![single, range];
    review.expected_head = Some("a".repeat(40));
    let outcome = script
        .repo
        .submit_review(&script.pr(), &review)
        .await
        .unwrap();
    assert_json_snapshot!("submit_review", (script.sent(), outcome));
}

#[tokio::test]
async fn invalid_review_is_refused_before_request() {
    let script = Script::play(vec![data("PullView", before("OPEN"))]).await;
    let (repo, pr) = (&script.repo, script.pr());
    let mut reversed = on(5);
    reversed.start_line = Some(9);
    let blank = NewThread::new("src/lib.rs", Some(5), " ");
    for bad in [
        NewReview::new(Verdict::RequestChanges, " "),
        NewReview::new(Verdict::Comment, ""),
        NewReview::new(Verdict::Approve, "").with_threads(vec![on(0)]),
        NewReview::new(Verdict::Approve, "").with_threads(vec![reversed]),
        NewReview::new(Verdict::Approve, "").with_threads(vec![blank]),
    ] {
        assert_eq!(
            repo.submit_review(&pr, &bad).await.unwrap_err().code(),
            "invalid_input"
        );
    }
    let stale = NewReview::new(Verdict::Approve, "").with_expected_head("f".repeat(40));
    assert_eq!(
        repo.submit_review(&pr, &stale).await.unwrap_err().code(),
        "conflict"
    );
    script.sent();
}

#[tokio::test]
async fn verdict_on_ended_pull_is_recorded_with_warning() {
    let ended = [("CLOSED", "closed"), ("MERGED", "merged")];
    let mut steps = Vec::new();
    for verdict in ["APPROVED", "CHANGES_REQUESTED", "COMMENTED"] {
        for (state, _) in ended {
            let made = review("R_1", "ada", verdict);
            steps.push(data("PullView", before(state)));
            steps.push(data(
                "addPullRequestReview",
                json!({ "m": { "pullRequestReview": made } }),
            ));
        }
    }
    let script = Script::play(steps).await;
    for verdict in [Verdict::Approve, Verdict::RequestChanges, Verdict::Comment] {
        for (_, word) in ended {
            let review = NewReview::new(verdict, "Words.");
            let made = script.repo.submit_review(&script.pr(), &review).await;
            let warnings = made.unwrap().warnings;
            let is_told = warnings
                .iter()
                .any(|w| w.message.contains(&format!("is {word}: the")));
            assert_eq!(is_told, verdict != Verdict::Comment, "{warnings:?}");
        }
    }
    script.sent();
}

#[tokio::test]
async fn refused_review_names_line() {
    let script = Script::play(vec![
        data("PullView", before("OPEN")),
        refused(
            "addPullRequestReview",
            "m",
            "UNPROCESSABLE",
            "Pull request review thread line must be part of the diff",
        ),
        data("PullView", before("OPEN")),
        refused(
            "addPullRequestReview",
            "m",
            "UNPROCESSABLE",
            "Review Can not approve your own pull request",
        ),
    ])
    .await;
    let review = NewReview::new(Verdict::Approve, "").with_threads(vec![on(99)]);
    let e = script
        .repo
        .submit_review(&script.pr(), &review)
        .await
        .unwrap_err();
    assert!(matches!(
        e.kind(),
        ErrorKind::InvalidInput {
            field: Some("line")
        }
    ));
    assert!(e.message().starts_with("src/lib.rs:99 "), "{e}");
    let diff = Action::op(Op::PrDiff).with(Param::Path, "src/lib.rs");
    assert_eq!(e.hint().unwrap().action(), Some(&diff));
    let e = script
        .repo
        .submit_review(&script.pr(), &NewReview::new(Verdict::Approve, ""))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "precondition_failed");
    script.sent();
}

/// Returns the pull request with a pending review of the viewer that has two comments, or none.
fn pending(is_there: bool) -> Value {
    let mut mine = review("PRR_1", "ada", "PENDING");
    mine["viewerDidAuthor"] = json!(true);
    mine["comments"] = json!({ "totalCount": 2 });
    let list = if is_there { vec![mine] } else { vec![] };
    one(changed(7, json!({ "pendingReview": { "nodes": list } })))
}

#[tokio::test]
async fn pending_review_operations_take_two_requests() {
    let made = |mutation: &str, state: &str| {
        let made = json!({ "pullRequestReview": review("PRR_1", "ada", state) });
        data(mutation, json!({ "m": made }))
    };
    let script = Script::play(vec![
        data("PullView", pending(false)),
        made("addPullRequestReview", "PENDING"),
        data("PullView", pending(true)),
        made("submitPullRequestReview", "APPROVED"),
        data("PullView", pending(true)),
        data("deletePullRequestReview", json!({ "m": {} })),
        data("PullView", pending(false)),
        data("PullView", pending(false)),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let keep = NewReview::new(Verdict::Comment, "Words.").with_pending(PendingReview::Keep);
    let kept = repo.submit_review(&pr, &keep).await.unwrap().value;
    assert_eq!((kept.state, kept.pending_before), (ReviewState::Pending, 0));
    let submit = NewReview::new(Verdict::Approve, "Good.").with_pending(PendingReview::Submit);
    let made = repo.submit_review(&pr, &submit).await.unwrap().value;
    assert_eq!(
        (made.state, made.pending_before),
        (ReviewState::Approved, 2)
    );
    let gone = repo.discard_pending_review(&pr).await.unwrap();
    assert_eq!((gone.value, gone.unchanged), (2, false));
    assert!(repo.discard_pending_review(&pr).await.unwrap().unchanged);
    let none = repo.submit_review(&pr, &submit).await.unwrap_err();
    assert_eq!(none.code(), "precondition_failed");
    let sent = script.sent();
    assert!(sent[1].1["m"].get("event").is_none(), "{sent:?}");
    let input = json!({
        "pullRequestReviewId": "PRR_1", "event": "APPROVE", "body": "Words.\n\nGood.",
    });
    assert_eq!(sent[3].1["m"], input);
}

#[tokio::test]
async fn outdated_pending_review_is_submitted_as_comment() {
    let mut pull = pending(true);
    pull["repository"]["pullRequest"]["headRefOid"] = json!("c".repeat(40));
    let made = json!({ "pullRequestReview": review("PRR_1", "ada", "COMMENTED") });
    let script = Script::play(vec![
        data("PullView", pull.clone()),
        data("PullView", pull.clone()),
        data("PullView", pull),
        data("submitPullRequestReview", json!({ "m": made })),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let says = |text: &str| text.contains(&format!("was begun at {}", "a".repeat(40)));
    for verdict in [Verdict::Approve, Verdict::RequestChanges] {
        let new = NewReview::new(verdict, "Words.").with_pending(PendingReview::Submit);
        let e = repo.submit_review(&pr, &new).await.unwrap_err();
        assert_eq!(e.code(), "conflict");
        assert!(says(e.message()), "{e}");
    }
    let new = NewReview::new(Verdict::Comment, "Words.").with_pending(PendingReview::Submit);
    let made = repo.submit_review(&pr, &new).await.unwrap();
    assert!(says(&made.warnings[0].message), "{:?}", made.warnings);
    script.sent();
}

#[tokio::test]
async fn answer_that_publishes_a_kept_review_is_refused() {
    let made = json!({ "pullRequestReview": review("PRR_1", "ada", "COMMENTED") });
    let script = Script::play(vec![
        data("PullView", pending(false)),
        data("addPullRequestReview", json!({ "m": made })),
        data("PullView", pending(false)),
    ])
    .await;
    let keep = NewReview::new(Verdict::Comment, "Words.").with_pending(PendingReview::Keep);
    let e = script.repo.submit_review(&script.pr(), &keep).await;
    assert!(e.unwrap_err().message().contains("another state"));
    script.sent();
}

#[tokio::test]
async fn dismissal_takes_two_requests() {
    let of = |pull: &str, state: &str| {
        let mut node = review("PRR_1", "grace", state);
        node["pullRequest"] = json!({ "id": pull });
        let asked = json!({ "pullRequest": { "id": "PR_7" } });
        json!({ "node": node, "repository": asked })
    };
    let dismissed = json!({ "pullRequestReview": review("PRR_1", "grace", "DISMISSED") });
    let script = Script::play(vec![
        data("Review", of("PR_7", "APPROVED")),
        data("dismissPullRequestReview", json!({ "m": dismissed })),
        data("Review", of("PR_7", "DISMISSED")),
        data("Review", of("PR_8", "APPROVED")),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let made = repo.dismiss_review(&pr, "PRR_1", "Mended.").await.unwrap();
    assert_eq!(made.value.state, ReviewState::Dismissed);
    let again = repo.dismiss_review(&pr, "PRR_1", "Mended.").await.unwrap();
    assert!(again.unchanged, "{again:?}");
    let other = repo.dismiss_review(&pr, "PRR_1", "Mended.").await;
    assert_eq!(other.unwrap_err().code(), "not_found");
    let input = json!({ "m": { "pullRequestReviewId": "PRR_1", "message": "Mended." } });
    assert_eq!(script.sent()[1].1, input);
}

#[tokio::test]
async fn reviews_are_listed() {
    let of = |list: Value| one(json!({ "reviews": list }));
    let script = Script::play(vec![data(
        "PullView",
        of(page(vec![review("PRR_1", "grace", "DISMISSED")], "r1")),
    )])
    .await;
    let got = script
        .repo
        .reviews(&script.pr(), PageReq::first(1))
        .await
        .unwrap();
    assert_json_snapshot!("reviews", (script.sent(), got.items));
}

fn edges(list: &[(&str, bool)], next: Option<&str>) -> Value {
    let edges: Vec<Value> = list
        .iter()
        .map(
            |(id, resolved)| json!({ "cursor": format!("at-{id}"), "node": thread(id, *resolved) }),
        )
        .collect();
    one(json!({ "reviewThreads": {
        "totalCount": 9, "edges": edges, "pageInfo": { "hasNextPage": next.is_some(), "endCursor": next },
    }}))
}

#[tokio::test]
async fn threads_are_listed() {
    let script = Script::play(vec![data("Threads", edges(&[("1", false)], None))]).await;
    let got = script
        .repo
        .threads(&script.pr(), ThreadFilter::All, PageReq::first(10))
        .await
        .unwrap();
    assert_json_snapshot!("threads", (script.sent(), got));
}

#[tokio::test]
async fn thread_filter_scans_until_page_is_full() {
    let script = Script::play(vec![
        data(
            "Threads",
            edges(&[("1", true), ("2", false), ("3", true)], Some("p1")),
        ),
        data(
            "Threads",
            edges(&[("4", true), ("5", false), ("6", false)], None),
        ),
        data("Threads", edges(&[("6", false)], None)),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let first = repo
        .threads(&pr, ThreadFilter::Unresolved, PageReq::first(2))
        .await
        .unwrap();
    let ids: Vec<_> = first.items.iter().map(|t| t.id.as_str()).collect();
    assert_eq!((ids, first.scanned), (vec!["2", "5"], Some(5)));
    let rest = PageReq::after(first.next.unwrap(), 2);
    let rest = repo
        .threads(&pr, ThreadFilter::Unresolved, rest)
        .await
        .unwrap();
    assert_eq!((rest.items.len(), rest.next), (1, None));
    assert_eq!(script.sent()[2].1["after"], "at-5");
}

#[tokio::test]
async fn oversized_threads_are_listed_in_smaller_pages() {
    let long = || data("Threads", json!({ "x": "x".repeat(9 << 20) }));
    let script = Script::play(vec![
        long(),
        data("Threads", edges(&[("1", false), ("2", false)], Some("p1"))),
        long(),
        data("Threads", edges(&[("3", false)], None)),
    ])
    .await;
    let (pr, page) = (script.pr(), PageReq::first(9));
    let found = script.repo.threads(&pr, ThreadFilter::All, page).await;
    assert_eq!(found.unwrap().items.len(), 3);
    let sent = script.sent();
    let first: Vec<_> = sent.iter().map(|(_, sent)| &sent["first"]).collect();
    assert_eq!(first, [10, 10, 8, 8]);
    for (document, size) in script.documents().iter().zip([100, 50, 50, 25]) {
        let list = format!("comments(first: {size})");
        assert!(document.contains(&list), "{size}: {document}");
    }
}

#[tokio::test]
async fn resolve_and_unresolve_check_thread_owner() {
    let mut missing = json!({ "data": belongs(7) });
    missing["data"]["node"] = json!(null);
    missing["errors"] = json!([error(
        &["node"],
        "NOT_FOUND",
        "Could not resolve to a node with the global id of 'x'"
    )]);
    let script = Script::play(vec![
        data("Belongs", belongs(7)),
        data(
            "resolveReviewThread",
            json!({ "m": { "thread": thread("PRRT_1", true) } }),
        ),
        data("Belongs", belongs(7)),
        data(
            "unresolveReviewThread",
            json!({ "m": { "thread": thread("PRRT_1", false) } }),
        ),
        // The first thread belongs to another pull request, and the second is missing.
        data("Belongs", belongs(8)),
        body("Belongs", missing),
    ])
    .await;
    let id = |key: &str| ThreadId {
        pr: script.pr(),
        key: key.into(),
    };
    assert!(
        script
            .repo
            .resolve_thread(&id("PRRT_1"), true)
            .await
            .unwrap()
            .value
            .resolved
    );
    assert!(
        !script
            .repo
            .resolve_thread(&id("PRRT_1"), false)
            .await
            .unwrap()
            .value
            .resolved
    );
    for key in ["PRRT_8", "x"] {
        let e = script.repo.resolve_thread(&id(key), true).await;
        let e = e.unwrap_err();
        assert!(e.is_not_found() && e.message().contains(key), "{e}");
    }
    assert_json_snapshot!("resolve", script.sent());
}
