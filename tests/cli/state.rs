use crate::world::World;

fn state(world: &World) -> String {
    world.json("1", "state")["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn close_and_reopen_print_only_on_stderr() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "close", "1"]).output().success();
    assert_eq!(out.stdout_text(), "");
    assert!(
        out.stderr_text().starts_with("✓ Closed pull request "),
        "{out:?}"
    );
    assert_eq!(state(&world), "CLOSED");
    let out = world.forge(&["pr", "reopen", "1"]).output().success();
    assert_eq!(out.stdout_text(), "");
    assert!(
        out.stderr_text().starts_with("✓ Reopened pull request "),
        "{out:?}"
    );
    assert_eq!(state(&world), "OPEN");
}

#[test]
fn repeated_state_change_prints_a_note() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "reopen", "1"]).output().success();
    assert!(out.stderr_text().contains("already open"), "{out:?}");
    let out = world.forge(&["pr", "ready", "1"]).output().success();
    assert!(out.stderr_text().contains("already"), "{out:?}");
    world.forge(&["pr", "close", "1"]).ok();
    let out = world.forge(&["pr", "close", "1"]).output().success();
    assert!(out.stderr_text().contains("already closed"), "{out:?}");
}

#[test]
fn close_with_flags_adds_comment_and_deletes_branch() {
    let world = World::with_pull();
    world
        .forge(&[
            "pr",
            "close",
            "1",
            "--comment",
            "Not now.",
            "--delete-branch",
        ])
        .ok();
    let pr = world.json("1", "state,comments");
    assert_eq!(pr["state"], "CLOSED");
    assert_eq!(pr["comments"][0]["body"], "Not now.");
    assert_eq!(world.git.oid("refs/heads/feature"), None);
}

#[test]
fn r_000_19_draft_becomes_ready_and_draft_again() {
    let world = World::with_pull();
    let out = world
        .forge(&["pr", "ready", "1", "--undo"])
        .output()
        .success();
    assert_eq!(out.stdout_text(), "");
    assert_eq!(world.json("1", "isDraft")["isDraft"], true);
    let out = world.forge(&["pr", "ready", "1"]).output().success();
    assert!(out.stderr_text().contains('✓'), "{out:?}");
    assert_eq!(world.json("1", "isDraft")["isDraft"], false);
}

#[test]
fn merged_pull_stays_merged() {
    let world = World::with_pull();
    world.forge(&["pr", "merge", "1", "--merge"]).ok();
    for args in [["pr", "close", "1"], ["pr", "reopen", "1"]] {
        let out = world.forge(&args).output().exits(1);
        assert!(out.stderr_text().contains("merged"), "{out:?}");
    }
    assert_eq!(state(&world), "MERGED");
}
