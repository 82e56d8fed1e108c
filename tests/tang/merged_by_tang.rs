//! Tests merges for which `tang` asks the knot, with the inputs of 2025 and a token from the PDS.

use forge_testkit::Output;

use crate::stage::{Stage, for_tang, rkey};

/// Asserts the error that `tang` prints after a merge. `tang` expects an object, but a knot of 2025
/// answers with an empty body, so `tang` writes no status record.
fn assert_empty_answer_error(out: Output) {
    let out = out.exits(1);
    let text = out.stderr_text();
    assert!(
        text.contains("sh.tangled.repo.merge") && text.contains("EOF"),
        "{text}"
    );
}

#[test]
fn merge_by_tang_is_recorded_by_forge() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let merge = ["pull", "merge", &for_tang(&uri)];
    assert_empty_answer_error(stage.with_a_knot_for_tang(|| stage.tang(&stage.alice, &merge)));
    assert_eq!(stage.repo.git.show("main", "topic.txt"), "one\ntwo\n");
    // Without a status record, the branch does not prove the merge.
    assert_eq!(stage.view(&uri, "state")["state"], "OPEN");
    let tip = stage.repo.git.oid("main");
    let out = stage
        .forge(&stage.alice, &["pr", "merge", &uri, "--rebase"])
        .success();
    assert!(out.stderr_text().contains("already merged"), "{out:?}");
    assert_eq!(stage.repo.git.oid("main"), tip);
    assert_eq!(stage.view(&uri, "state")["state"], "MERGED");
    let merges = stage.world.knot().host().count_of("sh.tangled.repo.merge");
    assert_eq!(merges, 1);
}

#[test]
fn tang_merges_own_pull() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.alice, "topic", "A topic", "Why.");
    let merge = ["pull", "merge", rkey(&uri)];
    assert_empty_answer_error(stage.with_a_knot_for_tang(|| stage.tang(&stage.alice, &merge)));
    assert_eq!(
        stage.repo.git.log("main^!", "%an %s"),
        "Ada Lovelace Add topic.txt"
    );
}

#[test]
fn tang_merge_needs_push_permission() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let refs = stage.repo.git.refs();
    let merge = ["pull", "merge", rkey(&uri)];
    let out = stage
        .with_a_knot_for_tang(|| stage.tang(&stage.bob, &merge))
        .exits(1);
    assert!(out.stderr_text().contains("AccessControl"), "{out:?}");
    assert_eq!(stage.repo.git.refs(), refs);
    assert_eq!(stage.view(&uri, "state")["state"], "OPEN");
}

#[test]
fn merge_conflict_is_predicted_and_refused() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    stage
        .repo
        .git
        .commit("main", "Take the name", &[("topic.txt", Some("other\n"))]);
    let refs = stage.repo.git.refs();
    assert_eq!(stage.view(&uri, "mergeable")["mergeable"], "CONFLICTING");
    let merge = ["pull", "merge", &for_tang(&uri)];
    let out = stage
        .with_a_knot_for_tang(|| stage.tang(&stage.alice, &merge))
        .exits(1);
    assert!(out.stderr_text().contains("MergeConflict"), "{out:?}");
    assert_eq!(stage.repo.git.refs(), refs);
}

/// A PDS refuses the audience that `tang` requests for a knot with a port.
#[test]
fn tang_cannot_reach_knot_with_port() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.alice, "topic", "A topic", "Why.");
    let out = stage
        .tang(&stage.alice, &["pull", "merge", rkey(&uri)])
        .exits(1);
    let text = out.stderr_text();
    assert!(text.contains("aud must be a valid atproto DID"), "{text}");
    assert_eq!(
        stage.world.knot().host().count_of("sh.tangled.repo.merge"),
        0
    );
}
