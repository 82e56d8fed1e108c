use forge_testkit::GitDir;

use crate::world::World;

fn subject(world: &World) -> String {
    world.git.log("main^!", "%s")
}

#[test]
fn merge_by_each_method_makes_expected_commits() {
    for (flag, parents) in [("--merge", 2), ("-s", 1), ("--rebase", 1)] {
        let world = World::with_pull();
        world
            .git
            .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
        let out = world.forge(&["pr", "merge", "1", flag]).output().success();
        assert_eq!(out.stdout_text(), "", "{flag}");
        let found = world.git.log("main^!", "%P").split(' ').count();
        assert_eq!(found, parents, "{flag}");
        assert_eq!(world.json("1", "state")["state"], "MERGED");
        let oid = world.json("1", "mergeCommit")["mergeCommit"]["oid"].clone();
        assert_eq!(
            oid.as_str().map(str::to_owned),
            world.git.oid("main"),
            "{flag}"
        );
    }
}

#[test]
fn merge_flags_set_subject_body_and_author() {
    let world = World::with_pull();
    world
        .forge(&[
            "pr",
            "merge",
            "1",
            "--squash",
            "-t",
            "A subject",
            "-b",
            "A body.",
            "-A",
            "bot@example.com",
        ])
        .ok();
    assert_eq!(
        world.git.log("main^!", "%s|%b|%ae"),
        "A subject|A body.\n|bot@example.com"
    );
}

#[test]
fn merge_subject_of_several_lines_is_split() {
    let world = World::with_pull();
    let merge = [
        "pr", "merge", "1", "--squash", "-t", "One\nTwo", "-b", "Three.",
    ];
    let out = world.forge(&merge).output().success();
    assert_eq!(world.git.log("main^!", "%s|%b|"), "One|Two\n\nThree.\n|");
    let text = out.stderr_text();
    assert!(text.contains("the subject has several lines"), "{text}");
}

#[test]
fn blank_merge_subject_counts_as_none() {
    let world = World::with_pull();
    world
        .forge(&["pr", "merge", "1", "--squash", "-t", " "])
        .ok();
    assert_eq!(subject(&world), "Title of feature (#1)");
}

#[test]
fn default_merge_message_names_pull() {
    let world = World::with_pull();
    world.forge(&["pr", "merge", "1", "--squash"]).ok();
    assert_eq!(subject(&world), "Title of feature (#1)");
}

#[test]
fn merge_deletes_branch_on_request() {
    let world = World::with_pull();
    world
        .forge(&["pr", "merge", "1", "--merge", "--delete-branch"])
        .ok();
    assert_eq!(world.git.oid("refs/heads/feature"), None);
}

#[test]
fn merge_without_method_or_terminal_is_refused() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "merge", "1"]).output().exits(1);
    assert!(
        out.stderr_text()
            .contains("--merge, --rebase, or --squash required when not running interactively"),
        "{out:?}"
    );
}

#[test]
fn merge_method_comes_from_configuration() {
    let world = World::with_pull();
    world
        .forge(&["config", "set", "merge.method", "rebase"])
        .ok();
    world
        .git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    world.forge(&["pr", "merge", "1"]).ok();
    assert_eq!(subject(&world), "Add feature.txt");
}

#[test]
fn merge_of_merged_pull_prints_a_note() {
    // C-000-13: a merged pull request is a success.
    let world = World::with_pull();
    world.forge(&["pr", "merge", "1", "--merge"]).ok();
    let before = world.git.refs();
    let out = world
        .forge(&["pr", "merge", "1", "--merge"])
        .output()
        .success();
    assert!(out.stderr_text().contains("already merged"), "{out:?}");
    assert_eq!(world.git.refs(), before);
}

#[test]
fn leave_checkout_flag_keeps_work_tree_and_index() {
    let world = World::with_pull();
    world.switch("main");
    let before = world.git.run(["write-tree"]).text();
    let out = world
        .forge(&["pr", "merge", "1", "--merge", "--leave-checkout"])
        .output()
        .success();
    assert!(out.stderr_text().contains("main"), "{out:?}");
    assert_eq!(
        world.git.run(["write-tree"]).text(),
        before,
        "the index has changed"
    );
    assert!(
        !world.git.path().join("feature.txt").exists(),
        "the work tree has changed"
    );
}

#[test]
fn merge_conflict_names_files_and_changes_nothing() {
    let world = World::new();
    for (branch, text) in [("feature", "ours\n"), ("main", "theirs\n")] {
        if branch == "main" {
            world
                .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
                .ok();
        }
        world
            .git
            .commit(branch, "Change", &[("README.md", Some(text))]);
    }
    let before = world.git.refs();
    for how in ["--merge", "--squash", "--rebase"] {
        let out = world.forge(&["pr", "merge", "1", how]).output().exits(1);
        assert!(out.stderr_text().contains("README.md"), "{out:?}");
        assert!(out.stderr_text().contains("Recovery: "), "{out:?}");
    }
    assert_eq!(world.git.refs(), before);
}

#[test]
fn cancelled_merge_in_git_repository_has_own_hint() {
    let world = World::with_pull();
    let cancel = ["pr", "merge", "1", "--disable-auto"];
    let out = world.forge(&cancel).output().exits(1);
    let said = out
        .says("no pull request here is merged later")
        .stderr_text();
    assert!(!said.contains("--auto"), "{said}");
}

#[test]
fn repeated_merge_deletes_remaining_branch() {
    let world = World::with_pull();
    let head = world.git.oid("feature").unwrap();
    world.forge(&["pr", "merge", "1", "--merge", "-d"]).ok();
    world.git.set_branch("feature", &head);
    world.forge(&["pr", "merge", "1", "--merge", "-d"]).ok();
    assert_eq!(world.git.oid("refs/heads/feature"), None);
}

/// A branch's author must not be able to run commands in the user's shell through the branch name
/// in a hint.
#[test]
fn branch_names_in_hints_are_quoted() {
    let world = World::new();
    world.git.commit("a;id", "Change", &[("a", Some("x\n"))]);
    world
        .forge(&["pr", "create", "-H", "a;id", "-t", "T", "-b", ""])
        .ok();
    let path = world.scratch.path("clone");
    let (from, to) = (world.git.path().to_str().unwrap(), path.to_str().unwrap());
    world.git.run(["clone", "--quiet", from, to]).ok();
    let clone = GitDir::at(&path);
    clone.run(["branch", "--quiet", "a;id", "origin/a;id"]).ok();
    // The clone keeps its branch, because the pull request lacks one of the branch's commits.
    clone.commit("a;id", "More", &[("b", Some("y\n"))]);
    let out = world
        .forge(&["pr", "merge", "a;id", "--merge", "-d"])
        .dir(&path)
        .output()
        .success();
    assert!(
        out.stderr_text()
            .contains("Recovery: if you no longer need the branch: git branch -D 'a;id'"),
        "{out:?}"
    );
}

/// Regression test: a merge left the work tree unchanged, so the next `git commit -a` reverted the
/// merge.
#[test]
fn commit_after_merge_into_checked_out_base_keeps_merge() {
    let world = World::with_pull();
    world.switch("main");
    world.forge(&["pr", "merge", "1", "-s"]).ok();
    std::fs::write(world.git.path().join("README.md"), "w\n").unwrap();
    world
        .git
        .run(["commit", "--quiet", "-a", "-m", "work"])
        .ok();
    assert_eq!(world.git.show("main", "feature.txt"), "one\ntwo\n");
}

/// The test kills `forge` after the branch has moved, while git updates the files. git finishes the
/// update.
#[test]
#[cfg(target_os = "linux")]
fn commit_after_killed_merge_keeps_the_merge() {
    use std::os::unix::fs::PermissionsExt as _;
    let kill = "{ read _ _ _ forge _ < /proc/$PPID/stat; kill -9 $forge; }";
    for in_files in [true, false] {
        let world = World::with_pull();
        world.switch("main");
        let git_dir = world.git.path().join(".git");
        let hook = git_dir.join("hooks/reference-transaction");
        if in_files {
            std::fs::write(git_dir.join("info/attributes"), "feature.txt filter=kill\n").unwrap();
            let smudge = format!("{kill}; cat");
            let args = ["config", "filter.kill.smudge", &smudge];
            world.git.run(args).ok();
        } else {
            std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
            let moved = "[ $1 = committed ] && grep -q refs/heads/main";
            std::fs::write(&hook, format!("#!/bin/sh\n{moved} && {kill}\nexit 0\n")).unwrap();
            std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let out = world.forge(&["pr", "merge", "1", "-s"]).output();
        assert_eq!(out.code, None, "{out:?}");
        while git_dir.join("index.lock").exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let _ = std::fs::remove_file(hook);
        world.git.run(["config", "filter.kill.smudge", "cat"]).ok();
        let state = world.json("1", "state")["state"].clone();
        assert_eq!(state, if in_files { "OPEN" } else { "MERGED" });
        std::fs::write(world.git.path().join("README.md"), "w\n").unwrap();
        let args = ["commit", "--quiet", "-a", "-m", "work"];
        world.git.run(args).ok();
        world.forge(&["pr", "merge", "1", "-s"]).ok();
        assert_eq!(world.git.show("main", "feature.txt"), "one\ntwo\n");
        assert_eq!(world.git.show("main", "README.md"), "w\n");
        assert_eq!(world.json("1", "state")["state"], "MERGED");
    }
}

#[test]
fn merge_refused_by_work_tree_names_files_and_flag() {
    let world = World::with_pull();
    world.switch("main");
    std::fs::write(world.git.path().join("feature.txt"), "mine\n").unwrap();
    let out = world.forge(&["pr", "merge", "1", "-s"]).output().exits(1);
    let said = out.stderr_text();
    assert!(said.contains("feature.txt would be overwritten"), "{said}");
    assert!(said.contains("--leave-checkout"), "{said}");
    assert_eq!(world.json("1", "state")["state"], "OPEN");
    let args = ["pr", "merge", "1", "-s", "--leave-checkout"];
    let said = world.forge(&args).output().success().stderr_text();
    assert!(said.contains("read-tree -m -u"), "{said}");
    let mine = std::fs::read_to_string(world.git.path().join("feature.txt")).unwrap();
    assert_eq!(mine, "mine\n");
}

#[test]
fn deletion_of_checked_out_head_switches_to_base_first() {
    for close in [false, true] {
        let world = World::with_pull();
        world.switch("feature");
        let args: &[&str] = match close {
            true => &["pr", "close", "1", "-d"],
            false => &["pr", "merge", "1", "-s", "-d"],
        };
        let out = world.forge(args).output().success();
        assert!(
            !out.stderr_text().contains("warning"),
            "{}",
            out.stderr_text()
        );
        assert_eq!(world.git.oid("feature"), None);
        assert_eq!(world.git.log("HEAD", "%S").lines().next(), Some("HEAD"));
        let branch = world.git.run(["branch", "--show-current"]).output();
        assert_eq!(branch.stdout_text(), "main\n");
        assert_eq!(world.git.path().join("feature.txt").exists(), !close);
    }
}

/// No setting names the default branch `dev`, so the checked-out head is guessed.
#[test]
fn merge_from_checked_out_head_closes_issues() {
    let world = World::new();
    world.feature("feature");
    world.git.run(["branch", "-m", "main", "dev"]).ok();
    world.switch("feature");
    world
        .forge(&["issue", "create", "-t", "Bug", "-b", ""])
        .ok();
    let create = ["pr", "create", "-B", "dev", "-t", "T", "-b", "Closes #1"];
    world.forge(&create).ok();
    world.forge(&["pr", "merge", "1", "-s", "-d"]).ok();
    let view = ["issue", "view", "1", "--json", "state"];
    let issue = world.forge(&view).output().success().json();
    assert_eq!(issue["state"], "CLOSED");
    assert_eq!(world.git.oid("refs/heads/feature"), None);
    // A merged pull request of the checked-out branch is found by that branch.
    world.git.run(["branch", "other", "dev"]).ok();
    let tree = [("other", Some("x\n"))];
    world.git.commit("other", "Other", &tree);
    world.switch("other");
    let create = ["pr", "create", "-B", "dev", "-t", "Other", "-b", ""];
    world.forge(&create).ok();
    world.forge(&["pr", "merge", "-s"]).ok();
    let view = world.forge(&["pr", "view", "--json", "state"]).output();
    assert_eq!(view.success().json()["state"], "MERGED");
}

#[test]
fn failed_branch_deletion_does_not_suggest_failed_switch() {
    let world = World::with_pull();
    world.switch("feature");
    std::fs::write(world.git.path().join("feature.txt"), "mine\n").unwrap();
    world
        .git
        .commit("main", "Same file", &[("feature.txt", Some("other\n"))]);
    let out = world.forge(&["pr", "close", "1", "-d"]).output().success();
    let said = out.stderr_text();
    assert!(
        said.contains("the local branch 'feature' was not deleted"),
        "{said}"
    );
    let recovery = said.lines().find(|line| line.contains("Recovery")).unwrap();
    assert!(!recovery.contains("git switch main"), "{said}");
    assert!(world.git.oid("feature").is_some());
}

#[test]
fn merge_keeps_the_current_directory() {
    let world = World::new();
    world.git.commit("main", "Add d", &[("d/f", Some("x\n"))]);
    world.git.commit("feature", "Go on", &[("d/f", None)]);
    world.switch("main");
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    let inside = world.git.path().join("d");
    world.forge(&["pr", "merge", "1", "-s"]).dir(&inside).ok();
    assert!(inside.is_dir() && !inside.join("f").exists());
}

#[test]
fn merge_works_with_separate_git_directory() {
    let world = World::with_pull();
    world.switch("main");
    let elsewhere = world.scratch.path("elsewhere");
    let link = world.git.path().join(".git");
    std::fs::rename(&link, &elsewhere).unwrap();
    std::fs::write(&link, format!("gitdir: {}\n", elsewhere.display())).unwrap();
    world.forge(&["pr", "merge", "1", "-s"]).ok();
    assert!(world.git.path().join("feature.txt").exists());
    assert_eq!(world.git.run(["status", "--porcelain"]).text(), "");
}

#[test]
fn merge_uses_signing_settings_of_linked_work_tree() {
    let world = World::with_pull();
    let linked = world.scratch.path("linked");
    let at = linked.to_str().unwrap();
    world
        .git
        .run(["config", "extensions.worktreeConfig", "true"])
        .ok();
    world
        .git
        .run(["worktree", "add", "--quiet", "--detach", at])
        .ok();
    for (key, value) in [("commit.gpgsign", "true"), ("gpg.program", "/bin/false")] {
        world
            .git
            .run(["-C", at, "config", "--worktree", key, value])
            .ok();
    }
    let out = world
        .forge(&["pr", "merge", "1", "-s"])
        .dir(&linked)
        .output();
    assert!(out.exits(1).stderr_text().contains("/bin/false"));
    world.forge(&["pr", "merge", "1", "-s"]).ok();
}

#[test]
fn merge_in_a_moved_work_tree_is_refused() {
    let world = World::with_pull();
    world.git.run(["switch", "--quiet", "--detach"]).ok();
    let [linked, moved] = ["linked", "moved"].map(|name| world.scratch.path(name));
    let at = linked.to_str().unwrap();
    world
        .git
        .run(["worktree", "add", "--quiet", at, "main"])
        .ok();
    std::fs::rename(&linked, &moved).unwrap();
    let merge = || world.forge(&["pr", "merge", "1", "-s"]).dir(&moved);
    let said = merge().output().exits(1).stderr_text();
    assert!(
        said.contains(at) && said.contains("git worktree repair"),
        "{said}"
    );
    let repair = ["-C", moved.to_str().unwrap(), "worktree", "repair"];
    world.git.run(repair).ok();
    merge().ok();
    assert!(moved.join("feature.txt").exists());
}
