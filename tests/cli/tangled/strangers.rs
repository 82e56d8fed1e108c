//! Records of strangers: some name a branch of the maintainer's as their head, and some are on a
//! server that does not answer.

use std::time::{Duration, Instant};

use super::world::{PULL, STATUS, Tangled, WIDGET, says};

#[test]
fn branch_selects_no_record_of_stranger_to_merge() {
    let t = Tangled::new();
    t.branch("topic");
    let theirs = t.claim_of_stranger("topic");
    let clone = t.clone_on("topic");
    let forge = |args: &[&str]| t.forge_in(clone.clone(), &t.alice, args);
    let main = t.repo.git.oid("main");
    let reason = format!("{theirs} names it, but the author may not push to this repository");
    for args in [
        &["pr", "merge", "--rebase"][..],
        &["pr", "merge", "topic", "--rebase"],
        &["pr", "merge", "topic", "--rebase", "--delete-branch"],
        &["pr", "close", "topic", "--delete-branch"],
        &["pr", "view"],
    ] {
        says(&forge(args), 1, &reason);
    }
    assert_eq!(t.repo.git.oid("main"), main);
    assert!(t.repo.git.oid("topic").is_some());
    // The record of the stranger blocks no pull request of the maintainer, and is not merged with
    // it.
    let own = forge(&["pr", "create", "-t", "Own", "-b", "B"]).text();
    assert_eq!(t.world.pds().records(&t.alice.did, PULL).len(), 1);
    assert_ne!(own.trim(), theirs);
    forge(&["pr", "merge", "--rebase"]).ok();
    assert_eq!(t.repo.git.show("main", "topic.txt"), "one\n");
    assert!(t.repo.git.oid("main:evil.txt").is_none());
}

#[test]
fn closed_record_of_stranger_deletes_no_branch() {
    let t = Tangled::new();
    t.branch("topic");
    let theirs = t.claim_of_stranger("topic");
    let clone = t.clone_on("topic");
    let tip = t.repo.git.oid("topic").unwrap();
    let close = ["pr", "close", &theirs, "--delete-branch"];
    let close = t.forge_in(clone.clone(), &t.alice, &close);
    says(&close, 0, "the author may not push to this repository");
    assert_eq!(t.world.pds().records(&t.alice.did, STATUS).len(), 1);
    assert_eq!(t.repo.git.oid("topic"), Some(tip.clone()));
    let local = ["rev-parse", "refs/heads/topic"];
    let local = t.scratch.run(forge_testkit::git_program()).args(local);
    assert_eq!(local.dir(&clone).text().trim(), tip);
}

#[test]
fn silent_server_of_commenter_delays_view_for_seconds() {
    let t = Tangled::new();
    let pull = t.open("topic");
    let silent = t.silent_commenter(&pull);
    let begin = Instant::now();
    let view = ["pr", "view", &pull, "-R", WIDGET, "--comments"];
    let output = t.forge(&t.alice, &view).output().exits(0);
    // The server is silent for ten minutes, and a command has much less than that.
    assert!(begin.elapsed() < Duration::from_secs(120));
    assert!(output.stdout_text().contains("Fine."), "{output:?}");
    let warnings = output.stderr_text();
    assert!(warnings.contains(&silent.host().authority()), "{warnings}");
}
