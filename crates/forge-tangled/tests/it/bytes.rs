//! Merges and reviews apply to exact bytes, which are checked against their CIDs.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use forge_core::{
    Changed, Error, ErrorKind, Outcome, PageReq, PrId, PullRequests, Reviews,
    model::{
        CreatePull, Diff, DiffReq, HeadChange, MergeReq, NewReview, PrFields, PrState, PullRequest,
        Resubmit, Rounds, Verdict,
    },
};
use forge_tangled::Tangled;
use forge_tangled_world::Fault;
use futures::TryStreamExt as _;
use serde_json::{Value, json};

use crate::stage::Stage;

const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";
const BLOB: &str = "com.atproto.sync.getBlob";
const RECORD: &str = "com.atproto.repo.getRecord";
const LIST: &str = "com.atproto.repo.listRecords";
const MERGE: &str = "sh.tangled.repo.merge";

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn packed(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(text.as_ref()).unwrap();
    gz.finish().unwrap()
}

fn rkey(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap()
}

/// Replaces the newest round by another patch with the same `From` line.
async fn replace_round(stage: &Stage, made: &PullRequest) {
    let forge = stage.tangled(&stage.alice);
    let patch = String::from_utf8(forge.round(&made.id, 0).await.unwrap()).unwrap();
    assert!(patch.contains("+one\n"));
    put_round(stage, made, &packed(patch.replace("+one\n", "+two\n")));
}

fn put_round(stage: &Stage, made: &PullRequest, blob: &[u8]) {
    let (pds, did) = (stage.world.pds(), &stage.alice.did);
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    record["rounds"][0]["patchBlob"] = pds.blob(did, "application/gzip", blob);
    pds.put(did, PULL, rkey(&made.node_id), record);
}

/// References the newest round's blob, because a server drops unreferenced blobs.
fn keep_blob(stage: &Stage, made: &PullRequest) {
    let pds = stage.world.pds();
    let (_, record) = pds.record(&made.node_id).unwrap();
    let kept = json!({ "kept": record["rounds"] });
    pds.add(&stage.alice.did, "com.example.kept", kept);
}

fn at(head: &str) -> MergeReq {
    let mut req = MergeReq::default();
    req.expected_head = Some(head.to_owned());
    req
}

fn is_head_conflict(e: &Error, expected: &str, actual: &str) {
    let ErrorKind::Conflict { what, .. } = e.kind() else {
        panic!("{e:?}");
    };
    assert_eq!(*what, Changed::Head);
    assert!(e.message().contains(expected), "{e:?}");
    assert!(e.message().contains(actual), "{e:?}");
}

async fn text(diff: Diff) -> String {
    let chunks: Vec<Vec<u8>> = diff.body.try_collect().await.unwrap();
    String::from_utf8(chunks.concat()).unwrap()
}

async fn view(forge: &Tangled, pr: &PrId) -> PullRequest {
    forge.view(pr, PrFields::NONE).await.unwrap()
}

#[tokio::test]
async fn replaced_round_of_same_head_is_not_merged() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let seen = view(&stage.tangled(&stage.bob), &made.id).await;
    replace_round(&stage, &made).await;
    let forge = stage.tangled(&stage.bob);
    let now = view(&forge, &made.id).await;
    assert_eq!(now.head_oid, seen.head_oid, "its author's word is the same");
    let [was, is] = [&seen, &now].map(|pull| pull.head_id().unwrap());
    assert_ne!(was, is);
    // A commit id in the `From` line says nothing about the bytes of the patch.
    for expected in [was, seen.head_oid.as_deref().unwrap()] {
        let e = forge.merge(&made.id, &at(expected)).await.unwrap_err();
        is_head_conflict(&e, expected, is);
        let review = NewReview::new(Verdict::Comment, "Fine.").with_expected_head(expected);
        let e = forge.submit_review(&made.id, &review).await.unwrap_err();
        is_head_conflict(&e, expected, is);
    }
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
    forge.merge(&made.id, &at(is)).await.unwrap();
    assert_eq!(stage.repo.git.show("main", "topic.txt"), "two\n");
}

/// The title of the record is not part of the patch, but can become the message of the merge.
#[tokio::test]
async fn record_changed_after_confirmation_question_is_not_merged() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let seen = view(&stage.tangled(&stage.bob), &made.id).await;
    let (pds, did) = (stage.world.pds(), &stage.alice.did);
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    record["title"] = json!("Another title");
    pds.put(did, PULL, rkey(&made.node_id), record);
    let forge = stage.tangled(&stage.bob);
    let now = view(&forge, &made.id).await;
    assert_eq!(now.head_id(), seen.head_id());
    let of = |pull: &PullRequest| {
        let mut req = at(pull.head_id().unwrap());
        req.expected_version = Some(pull.version.clone());
        req
    };
    let e = forge.merge(&made.id, &of(&seen)).await.unwrap_err();
    let ErrorKind::Conflict { what, .. } = e.kind() else {
        panic!("{e:?}");
    };
    assert_eq!(*what, Changed::Record);
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
    forge.merge(&made.id, &of(&now)).await.unwrap();
}

/// `git am` also applies a change that follows the signature of a mail. No view shows such a
/// change.
#[tokio::test]
async fn round_with_change_after_signature_is_not_merged() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.bob);
    let patch = String::from_utf8(forge.round(&made.id, 0).await.unwrap()).unwrap();
    let evil = "--- /dev/null\n+++ b/evil.sh\n@@ -0,0 +1 @@\n+evil\n";
    put_round(&stage, &made, &packed(format!("{patch}{evil}")));
    let forge = stage.tangled(&stage.bob);
    let diff = forge.diff(&made.id, &DiffReq::default()).await.unwrap();
    let [warning] = &diff.warnings[..] else {
        panic!("{:?}", diff.warnings);
    };
    assert!(warning.message.contains("other changes"), "{warning:?}");
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    assert!(e.message().contains("outside of its files"), "{e:?}");
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
}

/// Files that git reads otherwise than a view shows them.
const FILES_IN_OTHER_FORM: [(&str, &str); 10] = [
    (
        "a blank line after `copy to`",
        "diff --git a/x b/build.sh.snap\nsimilarity index 90%\ncopy from x\ncopy to build.sh.snap\n\n\
         index 1234567..2345678 100644\n--- a/x\n+++ b/build.sh.snap\n@@ -1 +1 @@\n-x\n+y\n",
    ),
    (
        "an escaped NUL in a name",
        "diff --git \"a/x\\000y\" \"b/x\\000y\"\nindex 1234567..2345678 100644\n\
         --- \"a/x\\000y\"\n+++ \"b/x\\000y\"\n@@ -1 +1 @@\n-x\n+y\n",
    ),
    (
        "a NUL byte in a name",
        "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\0.sh\n",
    ),
    (
        "an early quote in a name",
        "diff --git \"a/x\\ty\" \"b/x\\ty\"\nindex 1234567..2345678 100644\n\
         --- \"a/x\\ty\"\n+++ \"b/x\"ty\"\n@@ -1 +1 @@\n-x\n+y\n",
    ),
    (
        "a binary file without content",
        "diff --git a/x b/x\nindex 1234567..2345678 100644\nBinary files a/x and b/x differ\n",
    ),
    (
        "an empty file with the id of another",
        "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..1234567\n",
    ),
    (
        "a mark of a missing newline between two added lines",
        "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..2345678\n--- /dev/null\n\
         +++ b/x\n@@ -0,0 +1,2 @@\n+one\n\\ No newline at end of file\n+two\n",
    ),
    (
        "a hunk whose places disagree",
        "diff --git a/x b/x\nindex 1234567..2345678 100644\n--- a/x\n+++ b/x\n@@ -1,2 +9,2 @@\n\
         -one\n+ONE\n two\n",
    ),
    (
        "two hunks in the wrong order",
        "diff --git a/x b/x\nindex 1234567..2345678 100644\n--- a/x\n+++ b/x\n@@ -9,2 +9,2 @@\n\
         -nine\n+NINE\n ten\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n",
    ),
    (
        "a heading without its space",
        "diff --git a/x b/x\nindex 1234567..2345678 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@x\n\
         -one\n+ONE\n two\n",
    ),
];

/// Without a clone, the form of a round is all that tells of changes which a view does not show.
#[tokio::test]
async fn round_in_other_form_is_refused_without_clone() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let patch = String::from_utf8(forge.round(&made.id, 0).await.unwrap()).unwrap();
    let first_file = "diff --git a/topic.txt";
    let with_file = |file: &str| patch.replacen(first_file, &format!("{file}{first_file}"), 1);
    let author = patch.lines().find(|line| line.starts_with("From: "));
    let with_author =
        |name: &str| patch.replacen(author.unwrap(), &format!("From: {name} <m@example.com>"), 1);
    let mails = [
        (
            "Mail System Internal Data",
            with_author("Mail System Internal Data"),
        ),
        (
            "the same in quotes",
            with_author("\"Mail System Internal Data\""),
        ),
        (
            "the same in words",
            with_author("=?UTF-8?q?Mail_System_Internal_Data?="),
        ),
        (
            "a change in the diffstat",
            with_file("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n"),
        ),
    ];
    let files = FILES_IN_OTHER_FORM.map(|(name, file)| (name, with_file(file)));
    let (pds, git) = (stage.world.pds(), &stage.repo.git);
    let state = || {
        let of = |did: &str| pds.records(did, STATUS).len();
        (of(&stage.alice.did), of(&stage.bob.did), git.oid("main"))
    };
    let before = state();
    for (name, other) in files.into_iter().chain(mails) {
        assert_ne!(other, patch, "{name}");
        put_round(&stage, &made, &packed(&other));
        let forge = stage.tangled(&stage.bob);
        let e = forge.merge(&made.id, &MergeReq::default()).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "precondition_failed", "{name}: {e:?}");
        let reason = "git may apply other changes than the ones shown";
        assert!(e.message().contains(reason), "{name}: {e:?}");
        assert_eq!(state(), before, "{name}");
        assert_eq!(stage.world.knot().host().count_of(MERGE), 0, "{name}");
    }
    put_round(&stage, &made, &packed(&patch));
    let forge = stage.tangled(&stage.bob);
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert_eq!(git.show("main", "topic.txt"), "one\n");
}

/// The knot takes such a patch. So it is written, and its author is warned and not refused.
#[tokio::test]
async fn given_patch_in_other_form_is_warned_of() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let patch = String::from_utf8(forge.round(&made.id, 0).await.unwrap()).unwrap();
    let honest = patch.replace("topic.txt", "given.txt");
    let hidden = format!("{honest}--- /dev/null\n+++ b/evil.sh\n@@ -0,0 +1 @@\n+evil\n");
    let reason = "has a change outside of its files";
    let warns = |outcome: &Outcome<PullRequest>| {
        let mut warnings = outcome.warnings.iter();
        warnings.any(|w| w.message.contains(reason) && w.hint.is_some())
    };
    let mut create = CreatePull::new("", "A given patch");
    create.patch = Some(hidden.clone().into());
    let created = forge.create(stage.repo_id(), &create).await.unwrap();
    assert!(warns(&created), "{:?}", created.warnings);
    let pr = &created.value.id;
    let e = forge.merge(pr, &MergeReq::default()).await.unwrap_err();
    assert!(
        e.message().contains(reason),
        "the merge says the same: {e:?}"
    );
    let mut round = Resubmit::default();
    for (text, is_other) in [(&honest, false), (&hidden, true)] {
        round.patch = Some(text.clone().into());
        let outcome = forge.resubmit(pr, &round).await.unwrap();
        assert_eq!(warns(&outcome), is_other, "{:?}", outcome.warnings);
    }
    let (_, record) = stage.world.pds().record(&created.value.node_id).unwrap();
    assert_eq!(record["rounds"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn diff_between_rounds_warns_about_unseen_changes() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let patch = String::from_utf8(forge.round(&made.id, 0).await.unwrap()).unwrap();
    let (head, newer) = (made.head_oid.clone().unwrap(), "b".repeat(40));
    let evil = |name: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+evil\n");
    let patches = [
        format!("{patch}{}", evil("a.sh")),
        format!("{}{}", patch.replace(&head, &newer), evil("b.sh")),
    ];
    let (pds, did) = (stage.world.pds(), &stage.alice.did);
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    let time = record["rounds"][0]["createdAt"].clone();
    let rounds = patches.map(|patch| {
        let blob = pds.blob(did, "application/gzip", &packed(&patch));
        json!({ "createdAt": time, "patchBlob": blob })
    });
    record["rounds"] = json!(rounds);
    pds.put(did, PULL, rkey(&made.node_id), record);
    let forge = stage.tangled(&stage.bob);
    let of = |round, since| {
        let mut req = DiffReq::default();
        req.rounds = Some(Rounds::new(round, since));
        req
    };
    // The given commit is the head of the newest round, and nothing has changed since.
    let mut since_newest = DiffReq::default();
    since_newest.since = Some(newer);
    for (req, named) in [
        (of(Some(0), None), &["this round"][..]),
        (of(None, Some(0)), &["round 0", "round 1"][..]),
        (since_newest, &["this round"][..]),
    ] {
        let diff = forge.diff(&made.id, &req).await.unwrap();
        for name in named {
            let unseen = format!("forge does not merge {name}: git may apply");
            let told = |w: &forge_core::Warning| w.message.contains(&unseen);
            assert!(
                diff.warnings.iter().any(told),
                "{name}: {:?}",
                diff.warnings
            );
        }
    }
}

/// The author of a round chooses the commit ids in it. The knot may have the diff of another change
/// for these ids.
#[tokio::test]
async fn round_with_foreign_commit_ids_shows_uploaded_patch() {
    let stage = Stage::new();
    for text in ["one\n", "one\nmore\n"] {
        let files = [("topic.txt", Some(text))];
        stage.repo.git.commit("topic", "Change it", &files);
    }
    let repo = stage.handle(&stage.alice);
    let req = CreatePull::new("topic", "Topic");
    let made = repo.create_pull(&req).await.unwrap().value;
    replace_round(&stage, &made).await;
    let forge = stage.tangled(&stage.bob);
    let diff = forge.diff(&made.id, &DiffReq::default()).await.unwrap();
    let warnings = diff.warnings.clone();
    let shown = text(diff).await;
    assert!(shown.contains("\n+two\n"), "{shown}");
    let told = warnings.iter().map(|w| w.message.as_str());
    let told = told.collect::<String>();
    assert!(
        told.contains("commits other than those of this round"),
        "{told}"
    );
}

#[tokio::test]
async fn record_changed_before_merge_names_both_ids() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.bob);
    let (was, old) = stage.world.pds().record(&made.node_id).unwrap();
    let stale = json!({ "uri": made.node_id, "cid": was, "value": old });
    keep_blob(&stage, &made);
    replace_round(&stage, &made).await;
    let (is, _) = stage.world.pds().record(&made.node_id).unwrap();
    // The first read returns the old round, the read before the merge returns the new round.
    let fault = Fault::answer(200, &JSON, stale.to_string());
    let host = stage.world.pds().host();
    host.fault(fault.on(RECORD).about(rkey(&made.node_id)));
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "conflict");
    for id in [&was, &is] {
        assert!(e.message().contains(id), "{e:?}");
    }
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
}

#[tokio::test]
async fn round_diff_is_identified_by_patch() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let diff = forge.diff(&made.id, &DiffReq::default()).await.unwrap();
    let row = forge.view(&made.id, PrFields::ROW).await.unwrap();
    assert_eq!(Some(diff.head_oid.as_str()), row.head_id());
    let (_, record) = stage.world.pds().record(&made.node_id).unwrap();
    let cid = &record["rounds"][0]["patchBlob"]["ref"]["$link"];
    assert_eq!(cid.as_str(), row.head_id());
}

/// Checks that `e` names the promised id, the sent id, the record and the record's host.
fn is_mismatch(stage: &Stage, e: &Error, uri: &str, ids: [&str; 2]) {
    assert_eq!(e.code(), "protocol", "{e:?}");
    let url = stage.world.pds().host().url();
    let host = url.split_once("://").unwrap().1;
    for part in [host, uri, ids[0], ids[1]] {
        assert!(e.message().contains(part), "{part}: {e:?}");
    }
}

#[tokio::test]
async fn blob_of_other_bytes_is_protocol_error() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    // A PDS stores the blob under its correct CID and sends it under another.
    let other =
        "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n";
    let own = pds.blob(&stage.alice.did, "text/plain", other.as_bytes());
    let own = own["ref"]["$link"].as_str().unwrap();
    let header = [("content-type", "application/octet-stream")];
    pds.host()
        .fault(Fault::answer(200, &header, other).on(BLOB).always());
    let forge = stage.tangled(&stage.bob);
    let named = made.head_id().unwrap();
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    is_mismatch(&stage, &e.unwrap_err(), &made.node_id, [named, own]);
    let e = forge.diff(&made.id, &DiffReq::default()).await.unwrap_err();
    is_mismatch(&stage, &e, &made.node_id, [named, own]);
    let view = view(&forge, &made.id).await;
    let told = |w: &forge_core::Warning| w.message.contains(named) && w.message.contains(own);
    assert!(view.warnings.iter().any(told), "{:?}", view.warnings);
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
    pds.host().clear_faults();
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
}

#[tokio::test]
async fn record_of_other_value_is_protocol_error() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    let (named, old) = pds.record(&made.node_id).unwrap();
    let mut value = old;
    value["target"]["branch"] = json!("other");
    let blob = pds.blob_bytes(&stage.alice.did, made.head_id().unwrap());
    pds.blob(&stage.bob.did, "application/gzip", &blob.unwrap());
    let (uri, own) = pds.put(&stage.bob.did, PULL, "3mkuuamwfj322", value.clone());
    let sent = |uri: &str, value: &Value| {
        let body = json!({ "uri": uri, "cid": named, "value": value });
        Fault::answer(200, &JSON, body.to_string())
            .on(RECORD)
            .about(rkey(&made.node_id))
            .always()
    };
    pds.host().fault(sent(&made.node_id, &value));
    let forge = stage.tangled(&stage.alice);
    let e = forge.view(&made.id, PrFields::NONE).await.unwrap_err();
    is_mismatch(&stage, &e, &made.node_id, [&named, &own]);
    // Neither the stamp of Tangled 1.0 nor a fraction, which atproto lacks, avoids the check.
    let mut stamped = value.clone();
    stamped["x-tngl-note"] = json!("stamped");
    let mut fraction = value.clone();
    fraction["score"] = json!(1.5);
    for value in [stamped, fraction] {
        pds.host().clear_faults();
        pds.host().fault(sent(&made.node_id, &value));
        let e = forge.view(&made.id, PrFields::NONE).await.unwrap_err();
        assert_eq!(e.code(), "protocol", "{value}: {e:?}");
        assert!(e.message().contains(&made.node_id), "{value}: {e:?}");
    }
    // A record of another account has the wrong id, too.
    pds.host().clear_faults();
    pds.host().fault(sent(&uri, &value));
    let e = forge.view(&made.id, PrFields::NONE).await.unwrap_err();
    is_mismatch(&stage, &e, &made.node_id, [&uri, RECORD]);
}

#[tokio::test]
async fn foreign_or_mismatched_records_in_lists_are_skipped() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let closed = json!({
        "$type": STATUS, "pull": made.node_id, "createdAt": "2030-01-01T00:00:00Z",
        "status": "sh.tangled.repo.pull.status.closed",
    });
    let pds = stage.world.pds();
    // Bob, who may push, deleted his status. The server still sends his status and the owner's.
    let (of_bob, cid) = pds.put(&stage.bob.did, STATUS, "3mkuuamwfj322", closed.clone());
    pds.delete(&stage.bob.did, STATUS, "3mkuuamwfj322");
    let of_owner = format!("at://{}/{STATUS}/3mkuuamwfj322", stage.alice.did);
    let of_other = format!("at://{}/com.example.other/3mkuuamwfj322", stage.bob.did);
    let other = "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua";
    let without_cid = format!("at://{}/{STATUS}/3mkuuamwfj323", stage.bob.did);
    let listed = json!({ "records": [
        { "uri": without_cid, "value": closed },
        { "uri": of_owner, "cid": cid, "value": closed },
        { "uri": of_bob, "cid": other, "value": closed },
        { "uri": of_other, "cid": cid, "value": closed },
    ]});
    let lie = Fault::answer(200, &JSON, listed.to_string());
    pds.host().fault(
        lie.on(LIST)
            .about(&stage.bob.did.replace(':', "%3A"))
            .always(),
    );
    stage.world.index().host().set_down(true);
    stage.world.index().backlinks().set_down(true);
    let forge = stage.tangled(&stage.alice);
    let view = view(&forge, &made.id).await;
    assert_eq!(view.state, PrState::Open);
    for uri in [&of_owner, &of_bob, &of_other, &without_cid] {
        let told = |w: &forge_core::Warning| w.message.contains(uri.as_str());
        assert!(view.warnings.iter().any(told), "{uri}: {:?}", view.warnings);
    }
}

#[tokio::test]
async fn upload_answered_with_other_cid_writes_no_record() {
    let stage = Stage::new();
    let pds = stage.world.pds();
    let other = pds.blob(&stage.alice.did, "application/gzip", &packed("other"));
    let answer = json!({ "blob": other }).to_string();
    let upload = "com.atproto.repo.uploadBlob";
    pds.host()
        .fault(Fault::answer(200, &JSON, answer).on(upload));
    let git = &stage.repo.git;
    git.commit("topic", "Add topic", &[("topic", Some("one\n"))]);
    let forge = stage.tangled(&stage.alice);
    let e = forge
        .create(stage.repo_id(), &CreatePull::new("topic", "Topic"))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(pds.records(&stage.alice.did, PULL).is_empty());
}

#[tokio::test]
async fn gzip_members_are_shown_indexed_and_merged_alike() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let patch = String::from_utf8(forge.round(&made.id, 0).await.unwrap()).unwrap();
    // Some readers stop at the end of the first member, others continue.
    let second = patch
        .replace("topic.txt", "second.txt")
        .replace("Add topic", "Add second");
    put_round(&stage, &made, &[packed(&patch), packed(&second)].concat());
    let forge = stage.tangled(&stage.bob);
    let files = forge.files(&made.id, PageReq::first(9)).await.unwrap();
    let paths: Vec<_> = files.items.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["second.txt", "topic.txt"]);
    let diff = forge.diff(&made.id, &DiffReq::default()).await.unwrap();
    assert!(text(diff).await.contains("second.txt"));
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    for file in ["topic.txt", "second.txt"] {
        assert_eq!(stage.repo.git.show("main", file), "one\n");
    }
    // Bytes after the last member belong to no member; every reader refuses them.
    let other = stage.open(&stage.handle(&stage.alice), "other").await;
    put_round(
        &stage,
        &other,
        &[packed(&patch), b"\0\0\0\0".to_vec()].concat(),
    );
    let forge = stage.tangled(&stage.bob);
    let e = forge
        .merge(&other.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert!(e.message().contains("it is not gzip"), "{e:?}");
}

/// The double of the index reads a round as tangled's index does.
#[tokio::test]
async fn index_double_reads_all_gzip_members() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let patch = forge.round(&made.id, 0).await.unwrap();
    let stored = || stage.world.pds().record(&made.node_id).unwrap().0;
    let indexed = || stage.world.index().knows(&made.node_id).unwrap();
    put_round(&stage, &made, &[packed(&patch), packed("\n")].concat());
    assert_eq!(indexed(), stored());
    // The second member is not UTF-8, so the index drops the new version of the record.
    put_round(&stage, &made, &[packed(&patch), packed(b"\xff")].concat());
    assert_ne!(indexed(), stored());
}

#[tokio::test]
async fn branch_with_other_changes_than_round_is_kept() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    replace_round(&stage, &made).await;
    let forge = stage.tangled(&stage.bob);
    let mut req = MergeReq::default();
    req.delete_branch = true;
    let merged = forge.merge(&made.id, &req).await.unwrap();
    assert!(!merged.value.branch_deleted);
    assert!(stage.repo.git.oid("topic").is_some());
}

#[tokio::test]
async fn diff_since_commit_of_two_rounds_is_complete() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, did) = (stage.world.pds(), &stage.alice.did);
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    let first = record["rounds"][0].clone();
    keep_blob(&stage, &made);
    replace_round(&stage, &made).await;
    let (_, replaced) = pds.record(&made.node_id).unwrap();
    record["rounds"] = json!([first, replaced["rounds"][0]]);
    pds.put(did, PULL, rkey(&made.node_id), record);
    let forge = stage.tangled(&stage.bob);
    let mut since = DiffReq::default();
    since.since = made.head_oid.clone();
    let diff = forge.diff(&made.id, &since).await.unwrap();
    let head = diff.since.as_ref().unwrap().head_change;
    assert_eq!(head, HeadChange::Rewritten);
    assert!(text(diff).await.contains("+two\n"));
}
