//! Tangled 1.0: data that a write must not change.

use std::time::Duration;

use forge_core::{
    Issues, Labels, PullRequests, Reviews,
    model::{
        CommentId, EditIssue, EditPull, IssueState, NewIssue, NewLabel, Resubmit, SetChange,
        SetIssueState,
    },
};
use forge_tangled::Era;
use serde_json::{Value, json};

use crate::{
    stage::Stage,
    ticket_ground::{TICKET, labelled_ground, opened, record},
};

fn titled(text: &str) -> EditPull {
    let mut edit = EditPull::default();
    edit.title = Some(text.to_owned());
    edit
}

fn labelled(name: &str) -> EditPull {
    let mut edit = EditPull::default();
    edit.labels = SetChange {
        add: vec![name.to_owned()],
        remove: Vec::new(),
    };
    edit
}

/// Returns an account's records of the protocol before 1.0, and its declarations.
fn older(stage: &Stage, did: &str) -> Vec<(String, String, Value)> {
    let collections = [
        "org.tangled.repo.declaration",
        "sh.tangled.feed.comment",
        "sh.tangled.label.definition",
        "sh.tangled.label.op",
        "sh.tangled.repo",
        "sh.tangled.repo.collaborator",
        "sh.tangled.repo.issue",
        "sh.tangled.repo.issue.comment",
        "sh.tangled.repo.issue.state",
        "sh.tangled.repo.pull",
        "sh.tangled.repo.pull.comment",
        "sh.tangled.repo.pull.status",
    ];
    let pds = stage.world.pds();
    let all = collections.iter().map(|name| pds.records(did, name));
    all.flatten().collect()
}

#[tokio::test]
async fn older_protocol_records_are_never_written() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug"]);
    // The repository moved from 2026, and its older record still exists.
    let before_it = json!({
        "name": "new", "knot": stage.world.knot().host().authority(), "repoDid": repo.did,
        "labels": [], "createdAt": "2026-05-01T00:00:00Z",
    });
    stage
        .world
        .pds()
        .put(&stage.alice.did, "sh.tangled.repo", "new", before_it);
    let people = [&stage.alice.did, &stage.bob.did];
    let before = people.map(|did| older(&stage, did));
    assert!(before[0].len() >= 4, "{before:?}");
    let same = |what: &str| {
        let now = people.map(|did| older(&stage, did));
        assert_eq!(now, before, "{what}");
    };

    let forge = stage.tangled(&stage.alice);
    assert_eq!(forge.era(&id).await.unwrap(), Era::Org10);
    let pr = opened(&forge, &id).await.id;
    same("create");
    forge.edit(&pr, &titled("Two")).await.unwrap();
    same("edit");
    forge.edit(&pr, &labelled("bug")).await.unwrap();
    same("labels");
    let bob = stage.tangled(&stage.bob);
    bob.comment(&pr, "Nice.", None).await.unwrap();
    same("comment");
    repo.git.commit("topic", "Add b", &[("b", Some("1\n"))]);
    forge.resubmit(&pr, &Resubmit::default()).await.unwrap();
    same("resubmit");
    forge.close(&pr, &Default::default()).await.unwrap();
    same("close");
    forge.reopen(&pr, Some("Again.")).await.unwrap();
    same("reopen");

    let mut issue = NewIssue::new("It breaks", "Why");
    issue.labels = vec!["bug".into()];
    let issue = forge.create_issue(&id, &issue).await.unwrap().value.id;
    same("create an issue");
    let mut edit = EditIssue::default();
    edit.title = Some("It is broken".into());
    forge.edit_issue(&issue, &edit).await.unwrap();
    same("edit an issue");
    let close = SetIssueState::to(IssueState::Closed).with_comment("Done.");
    forge.set_issue_state(&issue, &close).await.unwrap();
    same("close an issue");

    for overwrite in [false, true] {
        let mut label = NewLabel::new("new");
        label.overwrite = overwrite;
        let e = forge.define_label(&id, &label).await.unwrap_err();
        assert_eq!(e.code(), "unsupported", "{e:?}");
        same("define a label");
    }
    let e = forge.delete_label(&id, "bug").await.unwrap_err();
    assert_eq!(e.code(), "unsupported", "{e:?}");
    same("delete a label");
}

#[tokio::test]
async fn immutable_comment_is_not_reported_missing() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &[]);
    let forge = stage.tangled(&stage.alice);
    let pr = opened(&forge, &id).await.id;
    let said = forge.comment(&pr, "First.", None).await.unwrap().value;
    let key = CommentId { pr, key: said.id };
    let edited = forge.edit_comment(&key, "Other.").await;
    assert_eq!(edited.unwrap_err().code(), "unsupported");
    let deleted = forge.delete_comment(&key).await;
    assert_eq!(deleted.unwrap_err().code(), "unsupported");
    let comments = "org.tangled.feed.comment";
    let there = stage.world.knot().records(&repo.did, comments);
    assert_eq!(there[0].2["body"]["text"], "First.");
}

/// Other programs may write fields that this version does not know.
#[tokio::test]
async fn unknown_fields_survive_every_change() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug"]);
    let forge = stage.tangled(&stage.alice);
    let made = opened(&forge, &id).await;
    let issue = NewIssue::new("Issue", "Why");
    let issue = forge.create_issue(&id, &issue).await.unwrap().value;
    let future = json!({"deep": [1, {"x": null}], "text": "ä"});
    let facets = json!([{"index": {"byteStart": 0, "byteEnd": 1}, "features": []}]);
    for uri in [&made.node_id, &issue.node_id] {
        let mut odd = record(&stage, &repo, uri);
        odd["fromTheFuture"] = future.clone();
        odd["title"]["facets"] = facets.clone();
        odd["tangledLabels"] = json!([{"key": "docs", "since": future}]);
        odd["body"] = json!({"text": "Body", "facets": facets});
        let rkey = uri.rsplit('/').next().unwrap();
        stage.world.knot().put_record(&repo.did, TICKET, rkey, odd);
    }
    let kept = |uri: &str, what: &str| {
        let now = record(&stage, &repo, uri);
        assert_eq!(now["fromTheFuture"], future, "{what}: {now}");
        assert_eq!(now["body"]["facets"], facets, "{what}: {now}");
        assert_eq!(now["body"]["text"], "Body", "{what}: {now}");
        assert_eq!(now["title"]["facets"], facets, "{what}: {now}");
        let kind = "org.tangled.markup.markdown#inline";
        assert_eq!(now["title"]["$type"], kind, "{what}: {now}");
        assert_eq!(now["tangledLabels"][0]["since"], future, "{what}: {now}");
    };

    let (pr, uri) = (&made.id, &made.node_id);
    forge.edit(pr, &titled("Two")).await.unwrap();
    assert_eq!(record(&stage, &repo, uri)["title"]["text"], "Two");
    kept(uri, "edit");
    forge.edit(pr, &labelled("bug")).await.unwrap();
    kept(uri, "labels");
    forge.close(pr, &Default::default()).await.unwrap();
    assert_eq!(record(&stage, &repo, uri)["state"], "closed");
    kept(uri, "close");
    forge.reopen(pr, None).await.unwrap();
    kept(uri, "reopen");

    let uri = &issue.node_id;
    let mut edit = EditIssue::default();
    edit.title = Some("Better".into());
    forge.edit_issue(&issue.id, &edit).await.unwrap();
    assert_eq!(record(&stage, &repo, uri)["title"]["text"], "Better");
    kept(uri, "edit an issue");
    for state in [IssueState::Closed, IssueState::Open] {
        let to = SetIssueState::to(state);
        forge.set_issue_state(&issue.id, &to).await.unwrap();
        kept(uri, "an issue's state");
    }
}

/// The web offers `original` for the next edit (lexicon `org.tangled.markup.markdown`).
#[tokio::test]
async fn description_edit_replaces_original_text() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &[]);
    let forge = stage.tangled(&stage.alice);
    let made = opened(&forge, &id).await;
    let uri = &made.node_id;
    let mut old = record(&stage, &repo, uri);
    old["body"] = json!({"$type": "org.tangled.markup.markdown", "text": "Old", "original": "Old"});
    let rkey = uri.rsplit('/').next().unwrap();
    stage.world.knot().put_record(&repo.did, TICKET, rkey, old);
    let mut edit = EditPull::default();
    edit.description = Some("New".to_owned());
    forge.edit(&made.id, &edit).await.unwrap();
    let body = record(&stage, &repo, uri)["body"].clone();
    assert_eq!(
        (&body["text"], &body["original"]),
        (&json!("New"), &json!("New"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_concurrent_ticket_labels_are_kept() {
    let stage = Stage::new();
    let names: Vec<String> = (0..8).map(|n| format!("label{n}")).collect();
    let keys: Vec<&str> = names.iter().map(String::as_str).collect();
    let (repo, id) = labelled_ground(&stage, &keys);
    let forge = stage.tangled(&stage.alice);
    let made = opened(&forge, &id).await;
    let forges: Vec<_> = names.iter().map(|_| stage.tangled(&stage.alice)).collect();
    // All processes read the record before the first has written.
    let host = stage.world.knot().host();
    host.set_latency(Duration::from_millis(20));
    let edits = forges.iter().zip(&names).map(|(forge, name)| {
        let pr = made.id.clone();
        async move { forge.edit(&pr, &labelled(name)).await }
    });
    for done in futures::future::join_all(edits).await {
        assert!(!done.unwrap().unchanged);
    }
    host.set_latency(Duration::ZERO);
    let now = record(&stage, &repo, &made.node_id);
    let labels = now["tangledLabels"].as_array().unwrap().iter();
    let mut there: Vec<&str> = labels.map(|l| l["key"].as_str().unwrap()).collect();
    there.sort_unstable();
    assert_eq!(there, keys);
}
