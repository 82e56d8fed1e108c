//! The state that a write relies on comes from the accounts that may set it, not from the index.

use forge_core::{
    ErrorKind, Issues, Precondition, PullRequests, Reviews,
    model::{
        CloseReq, IssueState, MergeReq, NewIssue, NewReview, PrFields, PrState, SetIssueState,
        Verdict,
    },
};
use forge_tangled::{ReadLimits, TangledSettings};
use forge_tangled_world::Fault;
use serde_json::{Value, json};

use crate::stage::Stage;

const STATUS: &str = "sh.tangled.repo.pull.status";
const ISSUE_STATE: &str = "sh.tangled.repo.issue.state";
const LIST: &str = "com.atproto.repo.listRecords";

/// Has the index show a status of the owner that the owner has not written.
fn lie(stage: &Stage, pull: &str, state: &str) {
    let uri = format!("at://{}/{STATUS}/3mzzzzzzzzzz2", stage.alice.did);
    let status = json!({
        "$type": STATUS, "pull": pull, "status": format!("{STATUS}.{state}"),
        "createdAt": "2026-11-20T00:00:00Z",
    });
    let item = json!({ "uri": uri, "cid": "bafyreib", "value": status });
    let body = json!({ "items": [item] }).to_string();
    let json = [("content-type", "application/json")];
    let fault = Fault::answer(200, &json, body).on("sh.tangled.repo.pull.listStatuses");
    stage.world.index().host().fault(fault.always());
}

/// Makes the list of the account's statuses unreadable.
fn hide(stage: &Stage, did: &str, collection: &str) {
    let query = format!("repo={}&collection={collection}", did.replace(':', "%3A"));
    let fault = Fault::gateway(502).on(LIST).about(&query);
    stage.world.pds().host().fault(fault.always());
}

#[tokio::test]
async fn state_that_only_index_shows_enables_no_write() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.bob);
    forge.close(&made.id, &CloseReq::default()).await.unwrap();
    // The index calls the closed pull request open.
    lie(&stage, &made.node_id, "open");
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert_eq!(*e.kind(), ErrorKind::Precondition(Precondition::Closed));
    let again = forge.close(&made.id, &CloseReq::default()).await.unwrap();
    assert!(again.already, "{again:?}");
}

#[tokio::test]
async fn unreadable_statuses_refuse_every_write() {
    for reopens in [false, true] {
        let stage = Stage::new();
        let made = stage.open(&stage.handle(&stage.alice), "topic").await;
        let forge = stage.tangled(&stage.bob);
        if reopens {
            forge.close(&made.id, &CloseReq::default()).await.unwrap();
        }
        hide(&stage, &stage.alice.did, STATUS);
        let before = stage.world.pds().records(&stage.bob.did, STATUS).len();
        let errors = [
            forge.merge(&made.id, &MergeReq::default()).await.err(),
            forge.close(&made.id, &CloseReq::default()).await.err(),
            forge.reopen(&made.id, None).await.err(),
        ];
        for e in errors {
            let e = e.unwrap();
            assert_eq!(e.code(), "precondition_failed", "{e:?}");
            let told = format!("the records of {} could not be read", stage.alice.did);
            assert!(e.message().contains("is unknown"), "{e:?}");
            assert!(e.message().contains(&told), "{e:?}");
        }
        let after = stage.world.pds().records(&stage.bob.did, STATUS).len();
        assert_eq!(after, before);
        assert_eq!(stage.repo.git.log("main", "%s").lines().count(), 1);
        // A view still shows what is known.
        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        let shown = if reopens {
            PrState::Closed
        } else {
            PrState::Open
        };
        assert_eq!(view.state, shown);
    }
}

#[tokio::test]
async fn cut_list_of_statuses_refuses_merge() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    for number in 0..40 {
        let status = json!({
            "$type": STATUS, "pull": made.node_id, "status": format!("{STATUS}.closed"),
            "createdAt": "2026-11-20T00:00:00Z", "note": "x".repeat(8_000),
        });
        pds.put(
            &stage.alice.did,
            STATUS,
            &format!("3maaaaaaaa{number:03}"),
            status,
        );
    }
    let settings = TangledSettings {
        read_limits: ReadLimits {
            account: 64 * 1024,
            ..ReadLimits::default()
        },
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.bob));
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert!(e.message().contains("is unknown"), "{e:?}");
    assert_eq!(stage.repo.git.log("main", "%s").lines().count(), 1);
}

#[tokio::test]
async fn old_status_behind_many_newer_records_counts() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    forge.close(&made.id, &CloseReq::default()).await.unwrap();
    let pds = stage.world.pds();
    for number in 0..150 {
        let status = json!({
            "$type": STATUS, "pull": "at://did:plc:x/sh.tangled.repo.pull/3maaaaaaaaaa2",
            "status": format!("{STATUS}.open"), "createdAt": "2026-11-20T00:00:00Z",
        });
        pds.put(
            &stage.alice.did,
            STATUS,
            &format!("3mzzzzzzzz{number:03}"),
            status,
        );
    }
    lie(&stage, &made.node_id, "open");
    let bob = stage.tangled(&stage.bob);
    let e = bob.merge(&made.id, &MergeReq::default()).await.unwrap_err();
    assert_eq!(*e.kind(), ErrorKind::Precondition(Precondition::Closed));
}

#[tokio::test]
async fn unreadable_issue_states_refuse_closing() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let new = NewIssue::new("T", "");
    let issue = forge.create_issue(stage.repo_id(), &new).await;
    let issue = issue.unwrap().value;
    hide(&stage, &stage.alice.did, ISSUE_STATE);
    let before: Vec<(String, String, Value)> =
        stage.world.pds().records(&stage.bob.did, ISSUE_STATE);
    let bob = stage.tangled(&stage.bob);
    let req = SetIssueState::to(IssueState::Closed);
    let e = bob.set_issue_state(&issue.id, &req).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    let after = stage.world.pds().records(&stage.bob.did, ISSUE_STATE);
    assert_eq!(after, before);
}

#[tokio::test]
async fn verdict_hidden_by_flood_of_comments_is_unknown() {
    let stage = Stage::new();
    let settings = || TangledSettings {
        verdict_comments: true,
        ..stage.settings()
    };
    let made = stage.open(&stage.handle(&stage.bob), "topic").await;
    let alice = stage.tangled_with(settings(), Some(&stage.alice));
    let review = NewReview::new(Verdict::RequestChanges, "No.");
    alice.submit_review(&made.id, &review).await.unwrap();
    let seen = alice.view(&made.id, PrFields::NONE).await.unwrap();
    assert_eq!(seen.changes_requested, 1);
    let unread = |w: &forge_core::Warning| w.section == Some("latest_reviews");
    assert!(!seen.warnings.iter().any(unread), "{:?}", seen.warnings);
    // The index never comes to the verdict: it sends pages of other comments, one of a huge size.
    let filler = json!({
        "uri": "at://did:plc:x/sh.tangled.feed.comment/3maaaaaaaaaa2", "cid": "bafyreib",
        "value": { "body": { "text": "x" } },
    });
    let json = [("content-type", "application/json")];
    let page = |at: usize| {
        let body = json!({ "items": [filler], "cursor": format!("c{at}") }).to_string();
        Fault::answer(200, &json, body).on("sh.tangled.feed.listComments")
    };
    let mut settings = settings();
    settings.read_limits.list = 2_000;
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let pages = (0..60)
        .rev()
        .map(page)
        .reduce(|later, page| page.then(later));
    stage.world.index().host().fault(pages.unwrap());
    let seen = forge.view(&made.id, PrFields::NONE).await.unwrap();
    assert_eq!(seen.changes_requested, 0);
    assert!(seen.warnings.iter().any(unread), "{:?}", seen.warnings);
}
