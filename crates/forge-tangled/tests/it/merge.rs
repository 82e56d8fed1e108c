//! Merges that fail half-way.

use std::time::Duration;

use forge_core::{
    Action, ErrorKind, Ingestion, Op, Outcome, PageReq, PrId, PrKey, Precondition, PullRequests,
    Retry, Timestamp,
    model::{
        CreatePull, Merge, MergeReq, PrFields, PrState, PullQuery, PullRequest, Resubmit,
        StateFilter,
    },
};
use forge_tangled_world::{Account, Fault};
use forge_testkit::Identity;
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage, action, merging};

const MERGE: &str = "sh.tangled.repo.merge";
const APPLY: &str = "com.atproto.repo.applyWrites";
const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn subjects(stage: &Stage) -> String {
    stage.repo.git.log("main", "%s")
}

async fn open_from(stage: &Stage, patch: &str, title: &str) -> PullRequest {
    let mut req = CreatePull::new("", title);
    req.patch = Some(patch.into());
    let forge = stage.tangled(&stage.alice);
    forge.create(stage.repo_id(), &req).await.unwrap().value
}

/// Merges on the knot while writing the record fails, and checks the result.
async fn merged_and_not_recorded(stage: &Stage, made: &PullRequest) -> Outcome<Merge> {
    let pds = stage.world.pds().host();
    pds.fault(Fault::gateway(502).on(APPLY).always());
    let forge = stage.tangled(&stage.alice);
    let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    let steps: Vec<_> = merged.steps.iter().map(|s| s.done).collect();
    assert_eq!(steps, [true, false]);
    pds.clear_faults();
    merged
}

/// Commits to `main` between the client's read of the branch and the merge: the first answer about
/// the branch is stale.
fn pushed_meanwhile(stage: &Stage, message: &str) {
    let git = &stage.repo.git;
    let before = git.oid("main").unwrap();
    git.commit("main", message, &[(message, Some("theirs\n"))]);
    let answer = json!({ "name": "main", "hash": before, "message": "First commit" });
    let stale = Fault::answer(200, &JSON, answer.to_string());
    let knot = stage.world.knot().host();
    knot.fault(stale.on("sh.tangled.repo.branch"));
}

/// Returns a fast-import stream of commits onto `from`: one a minute, starting at `at`, each with a
/// file of its own.
fn series(branch: &str, from: &str, count: i64, at: i64) -> Vec<u8> {
    let mut stream = String::new();
    for n in 0..count {
        let who = format!("Ada Lovelace <ada@example.com> {} +0000", at + 60 * n);
        let message = format!("Part {n} of {branch}");
        let length = message.len();
        stream += &format!("commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\n");
        stream += &format!("data {length}\n{message}\n");
        if n == 0 {
            stream += &format!("from {from}\n");
        }
        stream += &format!("M 100644 inline part-{n}\ndata 2\nx\n\n");
    }
    stream.into_bytes()
}

#[tokio::test]
async fn merge_is_recorded_by_the_merger() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.bob);
    let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert_eq!(merged.ingestion.word(), "confirmed");
    assert_eq!(merged.value.commit, stage.repo.git.oid("main"));
    assert!(subjects(&stage).contains("Add topic"));
    let statuses = stage.world.pds().records(&stage.bob.did, STATUS);
    assert_eq!(statuses.len(), 1);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    assert_eq!(view.merged_by.unwrap().login, "bob.test");
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.unchanged && again.value.already_merged);
    assert_eq!(again.ingestion.word(), "confirmed");
}

#[tokio::test]
async fn merge_with_lost_answer_is_decided_by_branch() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let knot = stage.world.knot().host();
    knot.fault(Fault::reset().committed().on(MERGE));
    let forge = stage.tangled(&stage.alice);
    let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(merged.steps.iter().all(|s| s.done));
    assert_eq!(knot.count_of(MERGE), 1);

    let lost = stage.open(&stage.handle(&stage.alice), "other").await;
    knot.fault(Fault::reset().on(MERGE));
    let e = forge
        .merge(&lost.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert_eq!(e.retry(), forge_core::Retry::Ambiguous);
    assert!(!subjects(&stage).contains("Add other"));
    let view = forge.view(&lost.id, Default::default()).await.unwrap();
    assert_eq!(view.state, PrState::Open);
}

#[tokio::test]
async fn unrecorded_merge_is_finished_by_a_rerun() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let merged = merged_and_not_recorded(&stage, &made).await;
    let none = Ingestion::Pending {
        uri: None,
        waited: Duration::ZERO,
        doubt: None,
    };
    assert_eq!(
        merged.ingestion, none,
        "no record is named that is not there"
    );
    let hint = merged.warnings[0].hint.clone().unwrap();
    assert_eq!(hint.action(), Some(&merging(&made.node_id)));
    assert_eq!(merged.value.pull_request.state, PrState::Open);

    let forge = stage.tangled(&stage.alice);
    let log = subjects(&stage);
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.value.already_merged, "{again:?}");
    assert_eq!(subjects(&stage), log, "nothing was applied twice");
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    assert_eq!(stage.world.knot().host().count_of(MERGE), 1);
}

#[tokio::test]
async fn merge_by_stranger_or_with_conflict_sends_nothing() {
    let stage = Stage::new();
    let carol = stage
        .world
        .pds()
        .account("carol.test", crate::stage::PASSWORD);
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&carol);
    let e = forge
        .merge(&made.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let mut other = MergeReq::default();
    other.expected_head = Some("0".repeat(40));
    let e = stage
        .tangled(&stage.alice)
        .merge(&made.id, &other)
        .await
        .unwrap_err();
    assert_eq!(e.code(), "conflict");
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
}

#[tokio::test]
async fn non_utf8_changes_are_neither_submitted_nor_merged() {
    const LATIN: &[u8] = b"diff --git a/latin1 b/latin1\nnew file mode 100644\n--- /dev/null\n\
        +++ b/latin1\n@@ -0,0 +1 @@\n+caf\xe9\n";
    let stage = Stage::new();
    let (forge, pds) = (stage.tangled(&stage.alice), stage.world.pds());
    let mut req = CreatePull::new("", "Latin-1");
    req.patch = Some(LATIN.into());
    let e = forge.create(stage.repo_id(), &req).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input", "{e:?}");
    assert!(
        e.hint().unwrap().text().contains("'latin1' as `-diff`"),
        "{e:?}"
    );
    assert!(pds.records(&stage.alice.did, PULL).is_empty());
    // A different program has written such a record.
    let blob = pds.blob(&stage.alice.did, "application/gzip", LATIN);
    let record = json!({
        "$type": PULL,
        "title": "Latin-1",
        "target": { "repo": stage.repo.did, "branch": "main" },
        "rounds": [{ "createdAt": "2026-11-01T00:00:00Z", "patchBlob": blob }],
        "createdAt": "2026-11-01T00:00:00Z",
    });
    let pr = PrId {
        repo: stage.id(),
        key: PrKey::Record(pds.add(&stage.alice.did, PULL, record).0),
    };
    let asked = forge.mergeability(&pr).await.map(drop);
    let merged = forge.merge(&pr, &MergeReq::default()).await.map(drop);
    for done in [asked, merged] {
        let e = done.unwrap_err();
        assert_eq!(e.code(), "precondition_failed", "{e:?}");
        assert!(e.message().contains("in 'latin1' is not"), "{e:?}");
    }
    // A person with a clone can push the change, and the merge is recorded.
    let git = &stage.repo.git;
    let files = [("latin1", Some(&b"caf\xe9\n"[..]))];
    let main = git.oid("main").unwrap();
    git.commit_bytes("main", &Identity::ADA, "Latin-1", &files);
    let merged = forge.merge(&pr, &MergeReq::default()).await.unwrap();
    assert!(merged.value.already_merged, "{merged:?}");
    git.set_branch("main", &main);
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
    // The knot sends these bytes as U+FFFD, as if the file contained that character.
    git.commit_bytes("latin1", &Identity::ADA, "Latin-1", &files);
    let req = CreatePull::new("latin1", "Latin-1");
    let made = forge.create(stage.repo_id(), &req).await.unwrap();
    let told = |w: &forge_core::Warning| w.message.contains("U+FFFD");
    assert!(made.warnings.iter().any(told), "{:?}", made.warnings);
    git.commit_bytes("latin1", &Identity::ADA, "More", &[("more", files[0].1)]);
    let again = forge.resubmit(&made.value.id, &Resubmit::default()).await;
    let again = again.unwrap();
    assert!(again.warnings.iter().any(told), "{:?}", again.warnings);
    // A patch given by the user needs no warning.
    let given = String::from_utf8_lossy(LATIN).into_owned();
    let mut req = Resubmit::default();
    req.patch = Some(given.into());
    let given = forge.resubmit(&made.value.id, &req).await.unwrap();
    assert!(!given.warnings.iter().any(told), "{:?}", given.warnings);
}

#[tokio::test]
async fn status_record_does_not_prove_a_merge() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let knot = stage.world.knot().host();
    // The knot reports success and does nothing.
    knot.fault(Fault::answer(200, &[], "").on(MERGE));
    let forge = stage.tangled(&stage.alice);
    let e = forge
        .merge(&made.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert!(e.message().contains("does not hold the change"), "{e:?}");
    assert_eq!(
        stage.world.pds().records(&stage.alice.did, STATUS).len(),
        1,
        "the opening one"
    );
}

#[tokio::test]
async fn unreadable_branch_after_merge_stays_undecided() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let knot = stage.world.knot().host();
    let unread = Fault::error(500, "InternalServerError", "no");
    knot.fault(unread.on("sh.tangled.repo.branch").skip(1).always());
    let forge = stage.tangled(&stage.alice);
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert!(e.message().contains("it is unknown whether"), "{e:?}");
    assert_eq!(e.retry(), Retry::Ambiguous, "{e:?}");
    assert!(subjects(&stage).contains("Add topic"));
    // The hint is to repeat the merge.
    assert_eq!(*action(&e), merging(&made.node_id));
    knot.clear_faults();
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.value.already_merged);
}

/// Writes a "merged" status without merging.
fn say_merged(stage: &Stage, by: &Account, made: &PullRequest) {
    let status = json!({
        "pull": made.node_id,
        "status": format!("{STATUS}.merged"),
        "createdAt": "2036-01-01T00:00:00Z",
    });
    stage.world.pds().add(&by.did, STATUS, status);
}

/// Returns the warnings of a view about the state.
fn doubts(view: &PullRequest) -> Vec<&str> {
    let doubts = view.warnings.iter().filter(|w| w.section == Some("state"));
    doubts.map(|w| w.message.as_str()).collect()
}

#[tokio::test]
async fn merged_status_is_verified_on_branch() {
    let stage = Stage::new();
    // Carol may set the state of the pull requests she opens, but has no push access.
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let forge = stage.tangled(&stage.alice);
    for (by, right) in [
        (&carol, "author"),
        (&stage.alice, "owner"),
        (&stage.bob, "collaborator"),
    ] {
        let branch = format!("of-{right}");
        let made = stage.open(&stage.handle(&carol), &branch).await;
        let head = stage.repo.git.oid(&branch);
        say_merged(&stage, by, &made);
        let said = format!("a status record of {} ({right}) says that", by.handle);

        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Merged);
        let told =
            format!("{said} the pull request is merged; 'main' was not searched for the change");
        assert_eq!(doubts(&view), [told]);
        let view = forge.view(&made.id, PrFields::MERGEABILITY).await.unwrap();
        let uri = &made.node_id;
        let told = format!("{said} {uri} is merged, and 'main' does not show the change");
        assert_eq!(doubts(&view), [told.as_str()]);

        let mut req = MergeReq::default();
        req.delete_branch = true;
        let e = forge.merge(&made.id, &req).await.unwrap_err();
        assert_eq!(e.code(), "precondition_failed", "{e:?}");
        assert_eq!(e.message(), format!("{told}; nothing was merged"));
        assert_eq!(*action(&e), Action::op(Op::PrReopen).on(uri));
        assert_eq!(stage.repo.git.oid(&branch), head, "the branch is kept");
        let round = stage.tangled(&carol);
        let round = round.resubmit(&made.id, &Resubmit::default()).await;
        let e = round.unwrap_err();
        assert_eq!(e.message(), format!("{told}; no round was added"));

        // The hint is to reopen.
        let opened = forge.reopen(&made.id, None).await.unwrap();
        assert_eq!(opened.value.state, PrState::Open);
        assert_eq!(opened.warnings[0].message, told);
        let merged = forge.merge(&made.id, &req).await.unwrap();
        assert!(!merged.value.already_merged, "{merged:?}");
        // Carol may not push, so her record deletes no branch.
        assert!(!merged.value.branch_deleted, "{merged:?}");
        assert_eq!(stage.repo.git.oid(&branch), head);
        assert_eq!(doubts(&merged.value.pull_request), [""; 0]);
        let view = forge.view(&made.id, PrFields::MERGEABILITY).await.unwrap();
        assert_eq!((view.state, doubts(&view)), (PrState::Merged, vec![]));
        let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
        assert!(again.unchanged && again.value.already_merged);
        let e = forge.reopen(&made.id, None).await.unwrap_err();
        assert!(e.message().contains("is merged and cannot be"), "{e:?}");
        assert_eq!(*action(&e), Action::op(Op::PrCreate));
    }
    assert_eq!(stage.world.knot().host().count_of(MERGE), 3);
}

/// An author without push access can claim a merge. A pull request stacked on it does not rely on
/// that claim.
#[tokio::test]
async fn authors_merged_claim_does_not_unblock_stack() {
    for (author_may_push, code) in [(false, Err("precondition_failed")), (true, Ok(()))] {
        let stage = Stage::new();
        let author = match author_may_push {
            false => stage.world.pds().account("carol.test", PASSWORD),
            true => stage.bob.clone(),
        };
        let repo = stage.handle(&author);
        let lower = stage.open(&repo, "lower").await;
        let git = &stage.repo.git;
        git.set_branch("upper", "lower");
        git.commit("upper", "Add upper", &[("upper.txt", Some("one\n"))]);
        let mut req = CreatePull::new("upper", "Upper");
        req.depends_on = Some(lower.id.clone());
        let upper = repo.create_pull(&req).await.unwrap().value;
        say_merged(&stage, &author, &lower);
        let forge = stage.tangled(&stage.alice);
        let merged = forge.merge(&upper.id, &MergeReq::default()).await;
        if let Err(e) = &merged {
            let below = format!("{}, which only a status record calls", lower.node_id);
            assert!(e.message().contains(&below), "{e:?}");
            assert_eq!(*e.kind(), ErrorKind::Precondition(Precondition::Stacked));
            assert_eq!(*action(e), merging(&lower.node_id));
        }
        assert_eq!(merged.map(|_| ()).map_err(|e| e.code()), code);
        let merges = usize::from(author_may_push);
        assert_eq!(stage.world.knot().host().count_of(MERGE), merges);
    }
}

#[tokio::test]
async fn pull_with_unverified_merged_status_can_be_closed() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    say_merged(&stage, &stage.bob, &made);
    let forge = stage.tangled(&stage.alice);
    let closed = forge.close(&made.id, &Default::default()).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
    let told = &closed.warnings[0].message;
    assert!(told.contains("does not show the change"), "{told}");
}

#[tokio::test]
async fn row_without_index_reports_author_of_merged_status() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    say_merged(&stage, &stage.bob, &made);
    stage.world.index().host().set_down(true);
    let mut query = PullQuery::default();
    query.state = StateFilter::Merged;
    query.fields = PrFields::ROW;
    let forge = stage.tangled(&stage.alice);
    let rows = forge.list(stage.repo_id(), &query, PageReq::first(9)).await;
    let rows = rows.unwrap().items;
    assert_eq!(rows.len(), 1);
    let told = doubts(&rows[0]);
    assert!(told[0].contains("bob.test (collaborator)"), "{told:?}");
}

/// A merged round stays merged, whatever another program has submitted since.
#[tokio::test]
async fn later_round_does_not_undo_a_merge() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let made = stage.open(&repo, "topic").await;
    let other = stage.open(&repo, "other").await;
    let forge = stage.tangled(&stage.alice);
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    let pds = stage.world.pds();
    let mut round = pds.record(&other.node_id).unwrap().1["rounds"][0].clone();
    round["createdAt"] = json!("2999-01-01T00:00:00Z");
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    record["rounds"].as_array_mut().unwrap().push(round);
    let rkey = made.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, "sh.tangled.repo.pull", rkey, record);
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.unchanged && again.value.already_merged);
}

#[tokio::test]
async fn malformed_log_stops_the_merge() {
    let now = Timestamp::now().to_string();
    let no_address = json!({ "Hash": "00", "Message": "Theirs", "Author": { "When": now } });
    for commits in [json!([no_address]), json!([{ "id": 1 }]), Value::Null] {
        let stage = Stage::new();
        let made = stage.open(&stage.handle(&stage.alice), "topic").await;
        let answer = json!({ "commits": commits }).to_string();
        let knot = stage.world.knot().host();
        let log = Fault::answer(200, &JSON, answer).on("sh.tangled.repo.log");
        knot.fault(log.always());
        let forge = stage.tangled(&stage.alice);
        let e = forge.merge(&made.id, &MergeReq::default()).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "precondition_failed", "{commits}: {e:?}");
        assert!(e.message().contains("cannot be read"), "{e:?}");
        assert_eq!(knot.count_of(MERGE), 0);
    }
}

/// The knot reports success without merging, and somebody else has pushed a commit with this
/// subject.
#[tokio::test]
async fn same_subject_does_not_prove_a_merge() {
    let stage = Stage::new();
    let made = open_from(&stage, MORE, "One more").await;
    pushed_meanwhile(&stage, "One more");
    stage
        .repo
        .git
        .commit("main", "Later", &[("later", Some("x\n"))]);
    let knot = stage.world.knot().host();
    knot.fault(Fault::answer(200, &[], "").on(MERGE));
    let forge = stage.tangled(&stage.alice);
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert!(e.message().contains("it is not proven that"), "{e:?}");
    let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
    assert_eq!(view.state, PrState::Open, "nothing was recorded");
}

/// The knot commits other bytes under the change's subject and reports success.
#[tokio::test]
async fn merge_of_other_bytes_is_not_recorded() {
    for (patch, subject, said) in [
        (Some(MORE), "One more", "it is not proven that"),
        (None, "Add topic", "does not hold the change"),
    ] {
        let stage = Stage::new();
        let made = match patch {
            Some(patch) => open_from(&stage, patch, "One more").await,
            None => stage.open(&stage.handle(&stage.alice), "topic").await,
        };
        let git = &stage.repo.git;
        let head = git.oid("topic");
        pushed_meanwhile(&stage, subject);
        let knot = stage.world.knot().host();
        knot.fault(Fault::answer(200, &[], "").on(MERGE));
        let mut req = MergeReq::default();
        req.delete_branch = true;
        let forge = stage.tangled(&stage.alice);
        let e = forge.merge(&made.id, &req).await.unwrap_err();
        assert!(e.message().contains(said), "{e:?}");
        assert_eq!(e.retry(), Retry::Ambiguous, "{e:?}");
        assert_eq!(git.oid("topic"), head, "the head branch is kept");
        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Open, "nothing was recorded");
    }
}

const MORE: &str = "diff --git a/more b/more\nnew file mode 100644\n--- /dev/null\n+++ b/more\n\
    @@ -0,0 +1 @@\n+more\n";

#[tokio::test]
async fn merged_diff_is_found_by_subject_and_lines() {
    let stage = Stage::new();
    let git = &stage.repo.git;
    git.commit("main", "Ten lines", &[("same", Some(&"x\n".repeat(10)))]);
    // The diff could be applied again and again.
    let diff =
        "diff --git a/same b/same\n--- a/same\n+++ b/same\n@@ -7,3 +7,4 @@ x\n x\n x\n x\n+x\n";
    let made = open_from(&stage, diff, "One more").await;
    merged_and_not_recorded(&stage, &made).await;
    let tip = git.oid("main");
    let forge = stage.tangled(&stage.alice);
    // If the changes of a commit with the same subject cannot be read, the merge stays undecided.
    let knot = stage.world.knot().host();
    knot.fault(Fault::gateway(502).on("sh.tangled.repo.compare").always());
    let mut named = MergeReq::default();
    named.subject = Some("Another".into());
    forge.merge(&made.id, &named).await.unwrap_err();
    assert_eq!(git.oid("main"), tip);
    knot.clear_faults();
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.value.already_merged, "{again:?}");
    assert_eq!(git.oid("main"), tip);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
}

#[tokio::test]
async fn merge_is_undecided_if_only_commit_subject_matches() {
    let stage = Stage::new();
    let git = &stage.repo.git;
    let made = open_from(&stage, MORE, "Part 0 of main").await;
    let tip = git.oid("main").unwrap();
    git.import(series("main", &tip, 1, Timestamp::now().unix()));
    let tip = git.oid("main");
    let forge = stage.tangled(&stage.alice);
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "already_exists", "{e:?}");
    assert!(
        e.hint().unwrap().text().contains("look at the branch"),
        "{e:?}"
    );
    assert_eq!(git.oid("main"), tip);
    // The hint is to choose another subject.
    let mut named = MergeReq::default();
    named.subject = Some("More of it".into());
    let merged = forge.merge(&made.id, &named).await.unwrap();
    assert!(!merged.value.already_merged);
    assert!(subjects(&stage).starts_with("More of it\nPart 0 of main\n"));
}

/// An amended commit keeps author, time and subject.
#[tokio::test]
async fn commit_with_same_author_and_subject_is_compared() {
    // The time of the mail, 2026-01-01T00:00:00Z.
    const WRITTEN: i64 = 1_767_225_600;
    let mail = format!(
        "From {} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.com>\n\
         Date: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: [PATCH] Fix it\n\n---\n\n{MORE}",
        "1".repeat(40)
    );
    let now = Timestamp::now().unix();
    for (file, committed, merged) in [
        ("more", now, Ok(true)),
        ("more", WRITTEN, Ok(true)),
        ("also", now, Err("already_exists")),
        // A commit older than the round cannot be its merge.
        ("also", WRITTEN, Ok(false)),
    ] {
        let stage = Stage::new();
        let git = &stage.repo.git;
        let made = open_from(&stage, &mail.replace("more", file), "Fix it").await;
        let tip = git.oid("main").unwrap();
        let stream = format!(
            "commit refs/heads/main\nauthor Ada <ada@example.com> {WRITTEN} +0000\n\
             committer Ada <ada@example.com> {committed} +0000\ndata 6\nFix it\nfrom {tip}\n\
             M 100644 inline more\ndata 5\nmore\n\n"
        );
        git.import(stream.into_bytes());
        let tip = git.oid("main");
        let forge = stage.tangled(&stage.alice);
        let done = forge.merge(&made.id, &MergeReq::default()).await;
        if let Err(e) = &done {
            assert!(e.message().contains("'Fix it'"), "{e:?}");
            assert!(e.hint().unwrap().text().contains("--date=now"), "{e:?}");
        }
        let done = done.map(|m| m.value.already_merged).map_err(|e| e.code());
        assert_eq!(done, merged, "{file}, {committed}");
        assert_eq!(git.oid("main") != tip, merged == Ok(false));
    }
}

#[tokio::test]
async fn plain_diff_merge_uses_given_message() {
    let stage = Stage::new();
    let made = open_from(&stage, MORE, "One more").await;
    let mut named = MergeReq::default();
    named.subject = Some("More of it".into());
    named.body = Some("With a reason.".into());
    named.author_email = Some("ada@example.com".into());
    let forge = stage.tangled(&stage.alice);
    forge.merge(&made.id, &named).await.unwrap();
    let message = stage.repo.git.log("main^!", "%ae %B");
    assert_eq!(message, "ada@example.com More of it\n\nWith a reason.");
}

#[tokio::test]
async fn foreign_push_is_not_taken_for_lost_merge() {
    for (patch, pushed, said, again) in [
        (Some(MORE), "Elsewhere", "does not show", Ok(false)),
        (
            Some(MORE),
            "One more",
            "nothing proves",
            Err("already_exists"),
        ),
        (None, "Add topic", "does not show", Ok(false)),
    ] {
        let stage = Stage::new();
        let made = match patch {
            Some(patch) => open_from(&stage, patch, "One more").await,
            None => stage.open(&stage.handle(&stage.alice), "topic").await,
        };
        pushed_meanwhile(&stage, pushed);
        let knot = stage.world.knot().host();
        knot.fault(Fault::reset().on(MERGE));
        let forge = stage.tangled(&stage.alice);
        let e = forge.merge(&made.id, &MergeReq::default()).await;
        let e = e.unwrap_err();
        assert_eq!(e.retry(), Retry::Ambiguous, "{e:?}");
        assert!(e.hint().unwrap().text().contains(said), "{e:?}");
        assert_eq!(*action(&e), merging(&made.node_id));
        assert_eq!(knot.faults_left(), 0);
        let view = forge.view(&made.id, Default::default()).await.unwrap();
        assert_eq!(view.state, PrState::Open, "{pushed}");
        // The hint names this call.
        let merged = forge.merge(&made.id, &MergeReq::default()).await;
        let merged = merged.map(|m| m.value.already_merged);
        assert_eq!(merged.map_err(|e| e.code()), again, "{pushed}");
    }
}

#[tokio::test]
async fn round_longer_than_log_page_is_found() {
    let stage = Stage::new();
    let git = &stage.repo.git;
    let base = git.oid("main").unwrap();
    git.import(series("long", &base, 105, 1_780_000_000));
    let patch = ["format-patch", "--stdout", "main..long"];
    let patch = git.run(patch).text();
    let made = open_from(&stage, &patch, "Long").await;
    merged_and_not_recorded(&stage, &made).await;
    let tip = git.oid("main");
    let forge = stage.tangled(&stage.alice);
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.value.already_merged, "{again:?}");
    assert_eq!(git.oid("main"), tip);
    assert_eq!(stage.world.knot().host().count_of(MERGE), 1);
}

#[tokio::test]
async fn merge_before_many_pushes_is_found() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    merged_and_not_recorded(&stage, &made).await;
    let git = &stage.repo.git;
    let tip = git.oid("main").unwrap();
    git.import(series("main", &tip, 110, Timestamp::now().unix()));
    let forge = stage.tangled(&stage.alice);
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.value.already_merged, "{again:?}");
    assert_eq!(subjects(&stage).matches("Add topic").count(), 1);
}

#[tokio::test]
async fn short_log_stops_the_merge() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let now = Timestamp::now().to_string();
    let commit = json!({
        "Hash": "00", "Message": "Theirs",
        "Author": { "Name": "A", "Email": "a@example.com", "When": now },
    });
    // The double sends the same page for every cursor.
    let page: Vec<Value> = vec![commit; 100];
    let answer = Fault::answer(200, &JSON, json!({ "commits": page }).to_string());
    let knot = stage.world.knot().host();
    knot.fault(answer.on("sh.tangled.repo.log").always());
    let forge = stage.tangled(&stage.alice);
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    assert!(e.message().contains("it is unknown whether"), "{e:?}");
    assert_eq!(*action(&e), Action::op(Op::PrResubmit).on(&made.node_id));
    assert_eq!(knot.count_of(MERGE), 0);
}

#[tokio::test]
async fn message_for_mailed_commits_is_refused_before_requests() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let changes: [fn(&mut MergeReq); 3] = [
        |req| req.subject = Some("Other".to_owned()),
        |req| req.body = Some("Other".to_owned()),
        |req| req.author_email = Some("Other".to_owned()),
    ];
    for change in changes {
        let mut req = MergeReq::default();
        change(&mut req);
        let e = forge.merge(&made.id, &req).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains("of a round unchanged"), "{e:?}");
    }
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
    assert!(!subjects(&stage).contains("Add topic"));
}
