//! Tangled 1.0: writes that were interrupted.

use std::time::Duration;

use forge_core::{
    Action, Arg, Param, PullRequests, Retry, Reviews,
    model::{CloseReq, CreatePull, PrState, Resubmit},
};
use forge_tangled_world::{Fault, Repository};
use serde_json::{Value, json};

use crate::{
    stage::{Stage, action},
    ticket_ground::{TICKET, ground, opened},
};

const PATCH: &str = "org.tangled.review.patch";
const COMMENT: &str = "org.tangled.feed.comment";
const SUBMIT: &str = "org.tangled.review.submitPatch";
const CREATE: &str = "com.atproto.repo.createRecord";
const GET: &str = "com.atproto.repo.getRecord";
const LIST: &str = "com.atproto.repo.listRecords";
const PUT: &str = "com.atproto.repo.putRecord";

fn count(stage: &Stage, repo: &Repository, collection: &str) -> usize {
    stage.world.knot().records(&repo.did, collection).len()
}

/// Creates a ticket without a round.
fn begun(stage: &Stage, repo: &Repository, who: &str, title: &str) -> String {
    let ticket = json!({
        "title": {"text": title}, "body": {"text": "Old"}, "state": "open",
        "targetBranch": "main", "createdAt": "2026-11-01T00:00:00Z", "x-tngl-editor": who,
    });
    let rkey = "3mkuuamwfj322";
    let knot = stage.world.knot();
    knot.put_record(&repo.did, TICKET, rkey, ticket).0
}

#[tokio::test]
async fn lost_round_is_submitted_by_a_rerun() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let knot = stage.world.knot();
    let req = CreatePull::new("topic", "One");
    knot.host().fault(Fault::reset().on(SUBMIT));
    let e = stage.tangled(&stage.alice).create(&id, &req).await;
    let e = e.unwrap_err();
    assert_eq!(*action(&e), Action::again(&[]));
    assert_eq!(
        (count(&stage, &repo, TICKET), count(&stage, &repo, PATCH)),
        (1, 0)
    );
    let made = stage.tangled(&stage.alice).create(&id, &req).await.unwrap();
    assert_eq!(
        (count(&stage, &repo, TICKET), count(&stage, &repo, PATCH)),
        (1, 1)
    );
    assert_eq!(made.value.rounds, Some(1));
    let told = |part: &str| made.warnings.iter().any(|w| w.message.contains(part));
    assert!(
        told("command finished it") && told("experimental"),
        "{:?}",
        made.warnings
    );
}

/// An older round of the same head is not the submitted round.
#[tokio::test]
async fn dropped_round_is_not_mistaken_for_older_round() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let forge = stage.tangled(&stage.alice);
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let pr = made.unwrap().value.id;
    let first = repo.git.oid("topic").unwrap();
    repo.git.commit("topic", "Add b", &[("b", Some("1\n"))]);
    forge.resubmit(&pr, &Resubmit::default()).await.unwrap();
    repo.git.set_branch("topic", &first);
    let json = [("content-type", "application/json")];
    let knot = stage.world.knot().host();
    knot.fault(Fault::answer(200, &json, "{}").on(SUBMIT));
    let e = forge.resubmit(&pr, &Resubmit::default()).await;
    let e = e.unwrap_err();
    assert!(e.message().contains("its newest round"), "{e:?}");
    assert_eq!(count(&stage, &repo, PATCH), 2);
    let again = forge.resubmit(&pr, &Resubmit::default()).await.unwrap();
    assert_eq!(again.ingestion.word(), "immediate");
    assert_eq!(again.value.rounds, Some(3));
}

#[tokio::test]
async fn rerun_finishes_only_own_ticket_of_same_title() {
    for (who, title, finished) in [
        ("alice", "One", true),
        ("bob", "One", false),
        ("alice", "Two", false),
    ] {
        let stage = Stage::new();
        let (repo, id) = ground(&stage);
        let who = match who {
            "alice" => &stage.alice.did,
            _ => &stage.bob.did,
        };
        let uri = begun(&stage, &repo, who, title);
        let mut req = CreatePull::new("topic", "One");
        req.description = "New".into();
        let made = stage.tangled(&stage.alice).create(&id, &req).await.unwrap();
        assert_eq!(made.value.node_id == uri, finished, "{title} of {who}");
        assert_eq!(made.value.description, "New");
        let tickets = if finished { 1 } else { 2 };
        assert_eq!(count(&stage, &repo, TICKET), tickets);
    }
}

/// The last editor may be another account than the author.
#[tokio::test]
async fn unfinished_ticket_is_neither_erased_nor_emptied() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let knot = stage.world.knot();
    let uri = begun(&stage, &repo, &stage.alice.did, "One");
    let ticket = || knot.records(&repo.did, TICKET).remove(0).2;
    let mut labelled = ticket();
    labelled["tangledLabels"] = json!([{"key": "bug"}]);
    let rkey = uri.rsplit('/').next().unwrap();
    knot.put_record(&repo.did, TICKET, rkey, labelled.clone());
    let refusal = Fault::error(400, "InvalidRequest", "no");
    knot.host().fault(refusal.on(SUBMIT));
    let req = CreatePull::new("topic", "One");
    let forge = stage.tangled(&stage.alice);
    let e = forge.create(&id, &req).await.unwrap_err();
    assert!(e.hint().unwrap().text().contains(&uri), "{e:?}");
    assert_eq!((count(&stage, &repo, TICKET), ticket()), (1, labelled));
    let made = forge.create(&id, &req).await.unwrap().value;
    assert_eq!((made.node_id, made.description.as_str()), (uri, "Old"));
    assert_eq!(ticket()["tangledLabels"], json!([{"key": "bug"}]));
}

#[tokio::test]
async fn ticket_without_round_requires_a_named_head() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let uri = begun(&stage, &repo, &stage.alice.did, "One");
    let forge = stage.tangled(&stage.alice);
    let uri = forge_core::AtUri::parse(&uri).unwrap();
    let pr = forge.pull_of_record(&uri).await.unwrap();
    let e = forge.resubmit(&pr, &Resubmit::default()).await.unwrap_err();
    assert_eq!(*action(&e), Action::again(&[(Param::Head, Arg::Choose)]));
    let mut named = Resubmit::default();
    named.head = Some("topic".into());
    // The command line makes such a patch from the clone's branch.
    named.patch = Some(b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n".to_vec());
    let round = forge.resubmit(&pr, &named).await.unwrap();
    assert_eq!(round.value.head_branch, "topic");
    assert_eq!(round.value.head_oid, repo.git.oid("topic"));
    assert_eq!(count(&stage, &repo, PATCH), 1);
    let mut only_a_patch = named;
    only_a_patch.head = None;
    let e = forge.resubmit(&pr, &only_a_patch).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    // The ticket then has a round with this branch.
    let head = repo.git.commit("topic", "Add b", &[("b", Some("1\n"))]);
    let round = forge.resubmit(&pr, &Resubmit::default()).await.unwrap();
    assert_eq!(round.value.head_oid, Some(head));
    assert_eq!(id.kind, pr.repo.kind);
}

#[tokio::test]
async fn failed_comment_is_a_warning_and_retried() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let knot = stage.world.knot();
    let forge = stage.tangled(&stage.alice);
    let pr = opened(&forge, &id).await.id;
    let mut close = CloseReq::default();
    close.comment = Some("Not now.".into());
    let refusal = || Fault::error(403, "Forbidden", "no").on(CREATE).times(2);
    knot.host().fault(refusal());
    let closed = forge.close(&pr, &close).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
    let step = closed.steps.iter().find(|s| s.name == "comment").unwrap();
    assert!(!step.done, "{closed:?}");
    knot.host().clear_faults();
    for is_said in [false, true] {
        let again = forge.close(&pr, &close).await.unwrap();
        assert_eq!((again.already, again.unchanged), (true, is_said));
        assert_eq!(count(&stage, &repo, COMMENT), 1);
    }
    // A new state change writes the comment again.
    forge.reopen(&pr, None).await.unwrap();
    forge.close(&pr, &close).await.unwrap();
    assert_eq!(count(&stage, &repo, COMMENT), 2);
    let empty = forge.reopen(&pr, Some(" ")).await.unwrap_err();
    assert_eq!(empty.code(), "invalid_input");
    let records = knot.records(&repo.did, TICKET);
    assert_eq!(records[0].2["state"], Value::from("closed"));
}

/// Returns a fault on a read after a write: `write` succeeds, then `read` gets `answer`.
fn behind(write: &str, read: &str, answer: Fault) -> Fault {
    let passes = Fault::delayed(Duration::ZERO).on(write);
    passes.then(answer.on(read).always())
}

#[tokio::test]
async fn unreadable_round_is_not_withdrawn() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let knot = stage.world.knot();
    let req = CreatePull::new("topic", "One");
    knot.host().fault(behind(SUBMIT, LIST, Fault::gateway(502)));
    let e = stage.tangled(&stage.alice).create(&id, &req).await;
    let e = e.unwrap_err();
    assert!(e.message().contains("could not be read again"), "{e:?}");
    assert_eq!(e.retry(), Retry::Ambiguous);
    let there = || (count(&stage, &repo, TICKET), count(&stage, &repo, PATCH));
    assert_eq!(there(), (1, 1), "{e:?}");
    knot.host().clear_faults();
    let again = stage.tangled(&stage.alice).create(&id, &req).await;
    assert_eq!(again.unwrap_err().code(), "already_exists");
    assert_eq!(there(), (1, 1));
}

#[tokio::test]
async fn unreadable_state_is_not_reported_as_failed() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let knot = stage.world.knot();
    let forge = stage.tangled(&stage.alice);
    let pr = opened(&forge, &id).await.id;
    knot.host().fault(behind(PUT, GET, Fault::gateway(502)));
    let e = forge.close(&pr, &CloseReq::default()).await.unwrap_err();
    let told = format!("{} was written, but could not be read again", pr.key);
    assert!(e.message().contains(&told), "{e:?}");
    assert_eq!(e.retry(), Retry::Ambiguous);
    let records = knot.records(&repo.did, TICKET);
    assert_eq!(records[0].2["state"], Value::from("closed"));
}

#[tokio::test]
async fn unreadable_comment_is_reported_as_written() {
    let stage = Stage::new();
    let (repo, id) = ground(&stage);
    let knot = stage.world.knot();
    let forge = stage.tangled(&stage.alice);
    let pr = opened(&forge, &id).await.id;
    let refusal = Fault::error(400, "InvalidRequest", "no");
    let refusal = refusal.on(GET).about(COMMENT).always();
    knot.host().fault(refusal);
    let e = forge.comment(&pr, "Nice.", None).await.unwrap_err();
    assert!(e.message().contains("was written, but could not"), "{e:?}");
    assert_eq!(e.retry(), Retry::Ambiguous);
    assert_eq!(count(&stage, &repo, COMMENT), 1);
}
