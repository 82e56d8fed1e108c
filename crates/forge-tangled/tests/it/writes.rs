//! Writes whose answers are lost.

use forge_core::{
    Call, Issues, Labels, Op, PageReq, PrId, PullRequests, Retry,
    model::{
        CloseReq, CreatePull, EditPull, FileEdit, MergeReq, NewLabel, PrFields, PrState, PullQuery,
        Resubmit, SetChange, Subject,
    },
};
use forge_tangled_world::Fault;
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage, action};

const APPLY: &str = "com.atproto.repo.applyWrites";
const PULL: &str = "sh.tangled.repo.pull";

#[tokio::test]
async fn long_title_and_text_are_written() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let mut req = CreatePull::new("topic", "t".repeat(257));
    req.description = "d".repeat(65_537);
    let made = repo.create_pull(&req).await.unwrap().value;
    assert_eq!((made.title.len(), made.description.len()), (257, 65_537));
    let comment = repo.comment(&made.id, &"c".repeat(65_537), None).await;
    assert_eq!(comment.unwrap().value.body.len(), 65_537);
}

#[tokio::test]
async fn create_takes_a_blob_and_a_single_write() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let label = forge_core::model::NewLabel::new("bug");
    repo.define_label(&label).await.unwrap();
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let mut req = CreatePull::new("topic", "T");
    req.labels = vec!["BUG".into()];
    let pds = stage.world.pds();
    pds.host().reset_record();
    let made = repo.create_pull(&req).await.unwrap().value;
    assert_eq!(pds.host().count_of("com.atproto.repo.uploadBlob"), 1);
    assert_eq!(pds.host().count_of(APPLY), 1);
    assert_eq!(pds.records(&stage.alice.did, PULL).len(), 1);
    assert_eq!(
        pds.records(&stage.alice.did, "sh.tangled.repo.pull.status")
            .len(),
        1
    );
    assert_eq!(
        pds.records(&stage.alice.did, "sh.tangled.label.op").len(),
        1
    );
    assert_eq!(made.labels[0].name, "bug");
    let (cid, record) = pds.record(&made.node_id).unwrap();
    assert_eq!(cid, made.version);
    forge_tangled::lexicon::check(PULL, &record).unwrap();
}

#[tokio::test]
async fn patch_for_missing_base_branch_is_refused() {
    let stage = Stage::new();
    let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let repo = stage.handle(&stage.alice);
    let open = async |base: &str| {
        let mut req = CreatePull::new("", "T");
        req.base = Some(base.to_owned());
        req.patch = Some(patch.into());
        repo.create_pull(&req).await
    };
    let e = open("mian").await.unwrap_err();
    assert!(e.message().contains("has no branch 'mian'"), "{e:?}");
    let count = || stage.world.pds().records(&stage.alice.did, PULL).len();
    assert_eq!(count(), 0);
    let made = open("main").await.unwrap().value;
    assert_eq!((made.base_oid, count()), (stage.repo.git.oid("main"), 1));
}

#[tokio::test]
async fn lost_write_answer_neither_fails_nor_repeats() {
    for fault in [Fault::reset().committed(), Fault::gateway(502).committed()] {
        let stage = Stage::new();
        stage.world.pds().host().fault(fault.on(APPLY));
        let repo = stage.handle(&stage.alice);
        let made = stage.open(&repo, "topic").await;
        let records = stage.world.pds().records(&stage.alice.did, PULL);
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].0, made.node_id);
    }
}

#[tokio::test]
async fn lost_request_is_sent_again() {
    for fault in [Fault::reset(), Fault::gateway(502)] {
        let stage = Stage::new();
        stage.world.pds().host().fault(fault.on(APPLY));
        let repo = stage.handle(&stage.alice);
        stage.open(&repo, "topic").await;
        assert_eq!(stage.world.pds().records(&stage.alice.did, PULL).len(), 1);
    }
}

#[tokio::test]
async fn undelivered_write_names_the_record() {
    let stage = Stage::new();
    let fault = Fault::gateway(502).on(APPLY).always();
    stage.world.pds().host().fault(fault);
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let forge = stage.tangled(&stage.alice);
    let req = CreatePull::new("topic", "T");
    let e = forge.create(&stage.id(), &req).await.unwrap_err();
    assert_eq!(e.retry(), forge_core::Retry::Ambiguous);
    let view = action(&e);
    assert_eq!(view.call(), Call::Op(Op::PrView));
    assert!(view.target().unwrap().starts_with("at://"), "{view:?}");
    assert!(stage.world.pds().records(&stage.alice.did, PULL).is_empty());
}

#[tokio::test]
async fn defined_unused_label_is_not_defined_twice() {
    const DEFINITION: &str = "sh.tangled.label.definition";
    let stage = Stage::new();
    let other = stage.id_of(&stage.world.repository(&stage.alice, "other"));
    let pds = stage.world.pds();
    let count = |name: &str| {
        let all = pds.records(&stage.alice.did, DEFINITION).into_iter();
        all.filter(|(_, _, value)| value["name"] == name).count()
    };
    let forge = stage.tangled(&stage.alice);
    let refusal = Fault::error(400, "InvalidRequest", "no");
    pds.host().fault(refusal.on("com.atproto.repo.putRecord"));
    let e = forge
        .define_label(stage.repo_id(), &NewLabel::new("bug"))
        .await;
    let e = e.unwrap_err();
    assert!(e.message().contains("is written ("), "{e:?}");
    assert!(
        e.hint()
            .unwrap()
            .text()
            .contains("does only the remaining steps"),
        "{e:?}"
    );
    let defined = forge
        .define_label(stage.repo_id(), &NewLabel::new("bug"))
        .await;
    assert!(e.message().contains(&defined.unwrap().value.id));
    assert_eq!(count("bug"), 1);
    // A definition in use by a repository belongs to that repository.
    forge
        .define_label(&other, &NewLabel::new("bug"))
        .await
        .unwrap();
    assert_eq!(count("bug"), 2);
    // An old unused definition may be in use elsewhere.
    let docs = forge
        .define_label(&other, &NewLabel::new("docs"))
        .await
        .unwrap();
    let (_, mut record) = pds.record(&docs.value.id).unwrap();
    record["createdAt"] = json!("2026-06-01T00:00:00Z");
    let uri = forge_core::AtUri::parse(&docs.value.id).unwrap();
    pds.put(&uri.authority, DEFINITION, &uri.rkey, record);
    forge.delete_label(&other, "docs").await.unwrap();
    forge
        .define_label(&other, &NewLabel::new("docs"))
        .await
        .unwrap();
    assert_eq!(count("docs"), 2);
    // A label that another process lists meanwhile is listed once.
    let conflict = Fault::error(400, "InvalidSwap", "no").committed();
    let conflict = conflict.on("com.atproto.repo.putRecord");
    pds.host().fault(conflict);
    let defined = forge
        .define_label(stage.repo_id(), &NewLabel::new("late"))
        .await;
    let late = defined.unwrap().value.id;
    let repo = format!("at://{}/sh.tangled.repo/widget", stage.alice.did);
    let (_, record) = pds.record(&repo).unwrap();
    let listed = record["labels"].as_array().unwrap().iter();
    assert_eq!(listed.filter(|uri| **uri == late).count(), 1);
}

#[tokio::test]
async fn label_deletion_reads_the_current_record() {
    let stage = Stage::new();
    let (forge, other) = (stage.tangled(&stage.alice), stage.handle(&stage.alice));
    let e = forge.delete_label(stage.repo_id(), "bug").await;
    assert_eq!(e.unwrap_err().code(), "not_found");
    // A second process defines the label meanwhile.
    other.define_label(&NewLabel::new("bug")).await.unwrap();
    forge.delete_label(stage.repo_id(), "bug").await.unwrap();
    let docs = other
        .define_label(&NewLabel::new("docs"))
        .await
        .unwrap()
        .value
        .id;
    let unread = Fault::error(400, "InvalidRequest", "no").on("com.atproto.repo.getRecord");
    let rkey = docs.rsplit('/').next().unwrap();
    stage.world.pds().host().fault(unread.about(rkey).always());
    let e = forge.delete_label(stage.repo_id(), "docs").await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "network", "{e:?}");
    assert!(e.message().contains(&docs), "{e:?}");
    // A label named by at-uri is known without its record.
    forge.delete_label(stage.repo_id(), &docs).await.unwrap();
    let repo = format!("at://{}/sh.tangled.repo/widget", stage.alice.did);
    let (_, record) = stage.world.pds().record(&repo).unwrap();
    let mut listed = record["labels"].as_array().unwrap().iter();
    assert!(listed.all(|uri| *uri != docs), "{record}");
}

#[tokio::test]
async fn labels_in_unknown_form_are_not_overwritten() {
    let stage = Stage::new();
    let pds = stage.world.pds();
    let uri = format!("at://{}/sh.tangled.repo/widget", stage.alice.did);
    let (_, mut record) = pds.record(&uri).unwrap();
    record["labels"] = json!({"bug": "at://did:plc:x/sh.tangled.label.definition/bug"});
    pds.put(
        &stage.alice.did,
        "sh.tangled.repo",
        "widget",
        record.clone(),
    );
    let repo = stage.handle(&stage.alice);
    let docs = NewLabel::new("docs");
    let e = repo.define_label(&docs).await.unwrap_err();
    assert!(e.message().contains("are not a list"), "{e:?}");
    assert_eq!(pds.record(&uri).unwrap().1, record);
}

#[tokio::test]
async fn account_label_value_is_written_as_did() {
    const OP: &str = "sh.tangled.label.op";
    let stage = Stage::new();
    let reviewer = stage.use_label(&json!({
        "name": "reviewer",
        "valueType": { "type": "string", "format": "did" },
        "scope": [PULL],
        "createdAt": "2026-06-01T00:00:00Z",
    }));
    let (repo, pds, bob) = (stage.handle(&stage.alice), stage.world.pds(), &stage.bob);
    let made = stage.open(&repo, "topic").await;
    let labelled = |add: &str, remove: &[String]| {
        let mut edit = EditPull::default();
        edit.labels = SetChange {
            add: vec![format!("reviewer:{add}")],
            remove: remove.to_vec(),
        };
        edit
    };
    for (typed, said) in [
        ("nobody.test", "nobody has the handle nobody.test"),
        ("bob", "'bob' is neither a handle nor a DID"),
        ("did:plc:", "'did:plc:' is not a DID"),
    ] {
        let e = repo.edit_pull(&made.id, &labelled(typed, &[])).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains(said), "{e:?}");
    }
    assert!(pds.records(&stage.alice.did, OP).is_empty());
    let value = |did: &str| json!([{"key": reviewer, "value": did}]);
    let edit = labelled(&bob.handle, &[]);
    let edited = repo.edit_pull(&made.id, &edit).await.unwrap().value;
    // The displayed value is accepted as input.
    let shown = format!("reviewer:{}", bob.did);
    assert_eq!(edited.labels[0].name, shown);
    let edit = labelled("@me", &[shown]);
    repo.edit_pull(&made.id, &edit).await.unwrap();
    let ops = pds.records(&stage.alice.did, OP);
    let ops: Vec<Value> = ops.into_iter().map(|(_, _, value)| value).collect();
    assert_eq!(ops.len(), 2);
    assert_eq!(ops[0]["add"], value(&bob.did));
    assert_eq!(ops[1]["add"], value(&stage.alice.did));
    assert_eq!(ops[1]["delete"], value(&bob.did));
}

/// The label was added under a clock in 2036, so our clock is behind.
#[tokio::test]
async fn label_is_removed_despite_slow_clock() {
    const OP: &str = "sh.tangled.label.op";
    let stage = Stage::new();
    let (repo, pds) = (stage.handle(&stage.alice), stage.world.pds());
    let bug = NewLabel::new("bug");
    let label = repo.define_label(&bug).await.unwrap().value.id;
    let made = stage.open(&repo, "topic").await;
    let added = json!({
        "subject": made.node_id, "performedAt": "2036-01-01T00:00:00.5Z",
        "add": [{"key": label, "value": "null"}], "delete": [],
    });
    // A record key of the same second.
    pds.put(&stage.alice.did, OP, "3vacbxdfk2222", added);
    let bob = stage.handle(&stage.bob);
    let view = bob.pull(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.labels.len(), 1, "{:?}", view.warnings);
    let mut edit = EditPull::default();
    edit.labels = SetChange {
        add: Vec::new(),
        remove: vec!["bug".into()],
    };
    let edited = bob.edit_pull(&made.id, &edit).await.unwrap();
    assert_eq!(edited.ingestion.word(), "confirmed");
    assert!(edited.value.labels.is_empty(), "{:?}", edited.value.labels);
    let (_, _, removed) = pds.records(&stage.bob.did, OP).remove(0);
    assert_eq!(removed["performedAt"], "2036-01-01T00:00:00.501Z");
}

#[tokio::test]
async fn partial_edit_names_the_failed_part() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let bug = NewLabel::new("bug");
    repo.define_label(&bug).await.unwrap();
    let made = stage.open(&repo, "topic").await;
    let pds = stage.world.pds();
    let labelled = |title: &str| {
        let mut edit = EditPull::default();
        edit.title = Some(title.to_owned());
        edit.labels = SetChange {
            add: vec!["bug".to_owned()],
            remove: Vec::new(),
        };
        edit
    };
    let refusal = Fault::error(400, "InvalidRequest", "no");
    for (fault, retry, said) in [
        (
            refusal,
            Retry::Never,
            "title, but the change of its labels was not written",
        ),
        (
            Fault::gateway(502).always(),
            Retry::Ambiguous,
            "title; whether the change of its labels was written is not known",
        ),
    ] {
        pds.host()
            .fault(fault.on(APPLY).about("sh.tangled.label.op"));
        let e = repo.edit_pull(&made.id, &labelled(said)).await.unwrap_err();
        pds.host().clear_faults();
        assert_eq!(e.retry(), retry, "{e:?}");
        assert!(e.message().contains(said), "{e:?}");
        assert!(e.message().starts_with(&made.node_id), "{e:?}");
        assert!(
            e.hint()
                .unwrap()
                .text()
                .contains("does only the remaining steps"),
            "{e:?}"
        );
        let (_, record) = pds.record(&made.node_id).unwrap();
        assert_eq!(record["title"], said);
        let view = repo.pull(&made.id, Default::default()).await.unwrap();
        assert!(view.labels.is_empty(), "{:?}", view.labels);
    }
    // An edit of only a label has no other part.
    pds.host()
        .fault(Fault::error(400, "InvalidRequest", "no").on(APPLY));
    let mut alone = labelled("");
    alone.title = None;
    let e = repo.edit_pull(&made.id, &alone).await.unwrap_err();
    assert!(!e.message().contains("was not written"), "{e:?}");
    let edited = repo.edit_pull(&made.id, &labelled("Last")).await.unwrap();
    assert_eq!(edited.value.labels[0].name, "bug");
}

#[tokio::test]
async fn failed_state_change_reports_written_comment() {
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let refuse = || {
        let refusal = Fault::error(400, "InvalidRequest", "no");
        stage
            .world
            .pds()
            .host()
            .fault(refusal.on(APPLY).about(STATUS));
    };
    let said = format!(
        "the comment is written, but the new state of {} was not written",
        made.node_id
    );
    let mut close = CloseReq::default();
    close.comment = Some("Not now.".into());
    refuse();
    let e = forge.close(&made.id, &close).await.unwrap_err();
    assert!(e.message().starts_with(&said), "{e:?}");
    forge.close(&made.id, &close).await.unwrap();
    refuse();
    let e = forge.reopen(&made.id, Some("Now.")).await.unwrap_err();
    assert!(e.message().starts_with(&said), "{e:?}");
    let open = forge.reopen(&made.id, Some("Now.")).await.unwrap();
    assert_eq!(open.value.state, PrState::Open);
    let comments = stage
        .world
        .pds()
        .records(&stage.alice.did, "sh.tangled.feed.comment");
    assert_eq!(comments.len(), 2, "each was said once");
    // The same holds if our clock is behind the time of the last state.
    let closed = json!({
        "pull": made.node_id, "status": format!("{STATUS}.closed"),
        "createdAt": "2036-01-01T00:00:00Z",
    });
    stage.world.pds().add(&stage.bob.did, STATUS, closed);
    refuse();
    let e = forge.reopen(&made.id, Some("Again.")).await.unwrap_err();
    assert!(e.message().starts_with(&said), "{e:?}");
    let open = forge.reopen(&made.id, Some("Again.")).await.unwrap();
    assert_eq!(open.value.state, PrState::Open);
    let comments = stage
        .world
        .pds()
        .records(&stage.alice.did, "sh.tangled.feed.comment");
    assert_eq!(comments.len(), 3, "it was said once");
    let of_then = |value: &Value| value["createdAt"].as_str().unwrap().starts_with("2036");
    assert!(!comments.iter().any(|(_, _, value)| of_then(value)));
}

#[tokio::test]
async fn edit_keeps_unknown_fields() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let made = stage.open(&repo, "topic").await;
    let (_, mut record) = stage.world.pds().record(&made.node_id).unwrap();
    record["fromTheFuture"] = serde_json::json!({"x": [1, null]});
    let rkey = made.node_id.rsplit('/').next().unwrap().to_owned();
    stage.world.pds().put(&stage.alice.did, PULL, &rkey, record);
    let mut edit = forge_core::model::EditPull::default();
    edit.title = Some("New".into());
    edit.description = Some("Text".into());
    let edited = repo.edit_pull(&made.id, &edit).await.unwrap();
    assert_eq!(edited.ingestion.word(), "confirmed");
    let (_, record) = stage.world.pds().record(&made.node_id).unwrap();
    assert_eq!(record["fromTheFuture"], serde_json::json!({"x": [1, null]}));
    assert_eq!(
        (record["title"].as_str(), record["body"].as_str()),
        (Some("New"), Some("Text"))
    );
}

#[tokio::test]
async fn new_round_is_added_after_old_round() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let made = stage.open(&repo, "topic").await;
    let forge = stage.tangled(&stage.alice);
    let same = forge
        .resubmit(&made.id, &Resubmit::default())
        .await
        .unwrap();
    assert!(same.unchanged && !same.warnings.is_empty());
    let head = stage
        .repo
        .git
        .commit("topic", "More", &[("more", Some("y\n"))]);
    let round = forge
        .resubmit(&made.id, &Resubmit::default())
        .await
        .unwrap();
    assert_eq!(round.ingestion.word(), "confirmed");
    assert_eq!(round.value.head_oid.as_deref(), Some(head.as_str()));
    let (_, record) = stage.world.pds().record(&made.node_id).unwrap();
    assert_eq!(record["rounds"].as_array().map(Vec::len), Some(2));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(!text(forge.round(&made.id, 0).await.unwrap()).contains("more"));
    assert!(text(forge.round(&made.id, 1).await.unwrap()).contains("more"));
    let e = forge.round(&made.id, 2).await.unwrap_err();
    assert!(e.hint().unwrap().text().contains("it has 2"), "{e:?}");
    let theirs = stage.tangled(&stage.bob);
    let e = theirs.resubmit(&made.id, &Resubmit::default()).await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
}

#[tokio::test]
async fn patch_needs_no_branch() {
    let stage = Stage::new();
    stage
        .repo
        .git
        .commit("elsewhere", "Fix it", &[("f", Some("x\n"))]);
    let patch = ["format-patch", "--stdout", "main..elsewhere"];
    let patch = stage.repo.git.run(patch).text();
    stage.repo.git.delete_branch("elsewhere");
    let forge = stage.tangled(&stage.bob);
    let from = |patch: &[u8]| {
        let mut req = CreatePull::new("", "From a patch");
        req.patch = Some(patch.to_vec());
        req
    };
    let req = from(patch.as_bytes());
    let made = forge.create(&stage.id(), &req).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
    let files = forge
        .files(&made.value.id, forge_core::PageReq::first(5))
        .await
        .unwrap();
    assert_eq!(files.items[0].path, "f");
    let e = forge
        .create(&stage.id(), &from(b"hello"))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "invalid_input");
}

#[tokio::test]
async fn file_edits_become_round_of_the_account() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.bob);
    let mut req = CreatePull::new("", "Ein Skript für alle");
    req.edits = vec![
        FileEdit::write("bin/run.sh", "#!/bin/sh\n").with_executable(true),
        FileEdit::write("README.md", "# Ünïcode\n"),
    ];
    let made = forge.create(&stage.id(), &req).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
    assert_eq!(made.value.base_oid, stage.repo.git.oid("main"));
    let round = String::from_utf8(forge.round(&made.value.id, 0).await.unwrap()).unwrap();
    let from = format!("From: \"bob.test\" <{}>\n", stage.bob.did);
    assert!(round.contains(&from), "{round}");
    assert!(round.contains("new file mode 100755"), "{round}");
    // The commit takes its date from its parent, so the same edits always give the same bytes.
    let dates = stage.repo.git.log("main", "%cD");
    let date = format!("\nDate: {}\n", dates.lines().next().unwrap());
    assert!(round.contains(&date), "{date}: {round}");
    let again = forge.create(&stage.id(), &req).await.unwrap_err();
    assert_eq!(again.code(), "already_exists");
    // The author's name, and bytes that no mail carries unchanged, survive a merge.
    stage.repo.git.commit_bytes(
        "main",
        &forge_testkit::Identity::ADA,
        "Odd",
        &[("odd", Some(b"a\r\n\xff\n"))],
    );
    // If the branch has moved, the same edits give other bytes but the same pull request.
    let again = forge.create(&stage.id(), &req).await.unwrap_err();
    assert_eq!(again.code(), "already_exists");
    let mut odd = CreatePull::new("", "Odd bytes");
    odd.edits = vec![FileEdit::write("odd", b"b\r\n\xfe\n".as_slice())];
    let odd = forge.create(&stage.id(), &odd).await.unwrap();
    let theirs = stage.tangled(&stage.alice);
    for made in [made, odd] {
        theirs
            .merge(&made.value.id, &MergeReq::default())
            .await
            .unwrap();
    }
    let odd = stage
        .repo
        .git
        .run(["cat-file", "blob", "main:odd"])
        .output();
    assert_eq!(odd.stdout, b"b\r\n\xfe\n");
    let authors = stage.repo.git.log("main~2..main", "%an <%ae> %s");
    let wanted = ["Odd bytes", "Ein Skript für alle"]
        .map(|title| format!("bob.test <{}> {title}", stage.bob.did));
    assert_eq!(authors, wanted.join("\n"));
    let listed = stage.repo.git.run(["ls-tree", "main", "bin/run.sh"]).text();
    assert!(listed.starts_with("100755 "), "{listed}");
}

#[tokio::test]
async fn ticket_with_file_edits_is_refused() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let before = repo.git.refs();
    let mut req = CreatePull::new("", "T");
    req.edits = vec![FileEdit::write("a", "x\n")];
    let e = stage.tangled(&stage.alice).create(&id, &req).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    assert!(e.message().contains("two commits on the knot"), "{e}");
    assert_eq!(repo.git.refs(), before);
}

#[tokio::test]
async fn repositories_of_2025_are_not_written() {
    let stage = Stage::new();
    let repo = stage.world.repository_2025(&stage.alice, "old");
    repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let forge = stage.tangled(&stage.alice);
    let id = forge_core::RepoId {
        path: forge_core::RepoPath::Named {
            owner: "alice.test".into(),
            name: repo.name.clone(),
        },
        ..stage.id()
    };
    let e = forge
        .create(&id, &CreatePull::new("topic", "T"))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "unsupported");
    assert!(stage.world.pds().records(&stage.alice.did, PULL).is_empty());
}

/// The error of a repository that is only read names the operation that was asked for.
#[tokio::test]
async fn refusal_of_2025_names_the_operation() {
    let stage = Stage::new();
    let old = stage.world.repository_2025(&stage.alice, "old");
    let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let record = json!({
        "title": "Old", "target": {"repo": old.uri, "branch": "main"}, "patch": patch,
        "createdAt": "2025-11-01T00:00:00Z",
    });
    let pds = stage.world.pds();
    let (uri, ..) = pds.add(&stage.alice.did, PULL, record);
    let pr = PrId {
        repo: forge_core::RepoId {
            path: forge_core::RepoPath::Named {
                owner: "alice.test".into(),
                name: "old".into(),
            },
            ..stage.id()
        },
        key: forge_core::PrKey::Record(uri),
    };
    let forge = stage.tangled(&stage.alice);
    let (merge, close) = (MergeReq::default(), CloseReq::default());
    for (refused, operation) in [
        (forge.close(&pr, &close).await.err(), "Closing a pull"),
        (forge.reopen(&pr, None).await.err(), "Reopening a pull"),
        (
            forge.reopen(&pr, Some("again")).await.err(),
            "Reopening a pull",
        ),
        (forge.set_draft(&pr, true).await.err(), "Switching"),
        (forge.merge(&pr, &merge).await.err(), "Merging"),
    ] {
        let e = refused.unwrap();
        assert_eq!(e.code(), "unsupported", "{e:?}");
        assert!(e.message().starts_with(operation), "{operation}: {e:?}");
    }
}

#[tokio::test]
async fn pull_requests_of_2025_are_read() {
    let stage = Stage::new();
    let old = stage.world.repository_2025(&stage.alice, "old");
    let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let blob = stage
        .world
        .pds()
        .blob(&stage.bob.did, "text/x-patch", patch.as_bytes());
    let base = serde_json::json!({
        "title": "Old", "target": {"repo": old.uri, "branch": "main"},
        "source": {
            "branch": "f", "repo": old.uri, "sha": "0123456789012345678901234567890123456789",
        },
        "createdAt": "2025-11-01T00:00:00Z",
    });
    let with = |name: &str, value: Value| {
        let mut record = base.clone();
        record[name] = value;
        stage.world.pds().add(&stage.bob.did, PULL, record).0
    };
    let uris = [with("patch", patch.into()), with("patchBlob", blob)];
    let forge = stage.tangled(&stage.alice);
    let id = forge_core::RepoId {
        path: forge_core::RepoPath::Named {
            owner: "alice.test".into(),
            name: "old".into(),
        },
        ..stage.id()
    };
    let named = |uri: &str| PrId {
        repo: id.clone(),
        key: forge_core::PrKey::Record(uri.to_owned()),
    };
    for uri in &uris {
        let pr = named(uri);
        let view = forge.view(&pr, Default::default()).await.unwrap();
        assert_eq!(
            (view.title.as_str(), view.author.login.as_str()),
            ("Old", "bob.test")
        );
        assert_eq!((view.head_branch.as_str(), view.head_repo), ("f", None));
        assert_eq!(
            view.head_oid.as_deref(),
            Some("0123456789012345678901234567890123456789")
        );
        let files = forge
            .files(&pr, forge_core::PageReq::first(5))
            .await
            .unwrap();
        assert_eq!(files.items[0].additions, Some(1));
        let e = forge_core::Checks::checks(&forge, &pr).await.unwrap_err();
        assert!(e.message().contains("this repository has none"), "{e}");
    }

    // No index lists such a repository. Strangers' records are found by the name they use for it.
    let mut with_target = base;
    with_target["title"] = "Stranger's".into();
    let oldest = json!({
        "title": "Oldest", "body": format!("As {}.", uris[0]), "pullId": 1, "patch": patch,
        "targetRepo": old.uri, "targetBranch": "main",
    });
    let pds = stage.world.pds();
    for (stranger, record) in [("carol.test", with_target), ("dave.test", oldest)] {
        pds.add(&pds.account(stranger, PASSWORD).did, PULL, record);
    }
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    let page = forge.list(&id, &query, PageReq::first(9)).await.unwrap();
    let mut titles: Vec<_> = page.items.iter().map(|pr| pr.title.as_str()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Old", "Old", "Oldest", "Stranger's"]);
    assert_eq!(page.total, Some(4), "{:?}", page.warnings);
    let links = forge.links(&Subject::Pull(named(&uris[0]))).await.unwrap();
    let by: Vec<_> = links.mentioned_by.iter().map(|l| &l.title).collect();
    assert_eq!(by, [&Some("Oldest".to_owned())]);
}
