//! Tests pull requests that are made from whole files, and branches that are updated from their
//! base.

use crate::world::World;

#[test]
fn create_from_local_files_opens_pull_request() {
    let world = World::new();
    let file = world.scratch.write("new", "new\n");
    let edit = format!("docs/new.md={}", file.display());
    let out = world
        .forge(&[
            "pr",
            "create",
            "-t",
            "Edit",
            "-b",
            "B",
            "-H",
            "edit",
            "--edit",
            &edit,
            "--edit",
            "src/lib.rs=-",
            "--delete",
            "README.md",
        ])
        .stdin("piped\n")
        .output()
        .success();
    assert_eq!(out.stdout_text(), format!("{}\n", world.url(1)));
    assert_eq!(out.stderr_text(), "");
    assert_eq!(world.git.show("edit", "docs/new.md"), "new\n");
    assert_eq!(world.git.show("edit", "src/lib.rs"), "piped\n");
    let files = world
        .git
        .run(["ls-tree", "-r", "--name-only", "edit"])
        .text();
    assert_eq!(files, "docs/new.md\nsrc/lib.rs\n");
    assert_eq!(world.git.log("edit^!", "%s %ae"), "Edit ada@example.com");
    // `forge` commits the edits without changing the work tree.
    assert_eq!(world.git.run(["status", "--porcelain"]).text(), "");
}

#[test]
fn create_from_files_needs_no_clone() {
    let world = World::new();
    let elsewhere = world.scratch.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let repo = world.git.path().display().to_string();
    let args = [
        "pr",
        "create",
        "-R",
        &repo,
        "-t",
        "Edit a file",
        "-b",
        "",
        "--edit",
        "a=-",
    ];
    let run = world.forge(&args).dir(&elsewhere).stdin("x\n");
    let url = run.output().success().stdout_text();
    assert_eq!(url, format!("{}\n", world.url(1)));
    let head = world.json("1", "headRefName")["headRefName"].clone();
    let head = head.as_str().unwrap();
    assert!(head.starts_with("edit-a-file-"), "{head}");
    assert_eq!(world.git.show(head, "a"), "x\n");
}

#[test]
fn dry_run_of_edits_lists_the_files() {
    let world = World::new();
    let before = world.git.refs();
    let args = [
        "pr",
        "create",
        "-t",
        "T",
        "-b",
        "B",
        "--dry-run",
        "--edit",
        "a=-",
        "--delete",
        "README.md",
    ];
    let out = world
        .forge(&args)
        .stdin("four")
        .output()
        .success()
        .stdout_text();
    assert!(
        out.contains("edit:\ta (4 bytes)\ndelete:\tREADME.md\n"),
        "{out}"
    );
    assert_eq!(world.git.refs(), before);
}

#[test]
fn invalid_file_edits_are_refused() {
    let world = World::with_pull();
    let before = world.git.refs();
    let create = ["pr", "create", "-t", "T", "-b", "B"];
    let mut text = String::new();
    for more in [
        &["--edit", "a"][..],
        &["--edit", "a="],
        &["--edit", "a=/no/such/file"],
        &["--edit", "a=-", "--edit", "b=-"],
        &["--edit", "../a=/dev/null"],
        &["--edit", ".git/config=/dev/null"],
        &["--edit", "a=/dev/null", "--delete", "a"],
        &["--delete", "nowhere"],
        &["--delete", "src"],
        &["--edit", "README.md/a=/dev/null"],
        &["--edit", "a=/dev/null", "-H", "feature"],
        &["--edit", "a=/dev/null", "-H", "feature/more"],
        &["--edit", "a=/dev/null", "-H", "a..b"],
        &["--edit", "a=/dev/null", "--patch", "x"],
        &["--edit", "a=/dev/null", "--fill"],
        &["--delete", "README.md", "--web"],
    ] {
        let args = [&create[..], more].concat();
        let out = world.forge(&args).stdin("").output();
        assert_eq!(out.code, Some(1), "{out:?}");
        text.push_str(&world.transcript(more, &out));
        assert_eq!(world.git.refs(), before, "it has written: {out:?}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn update_branch_merges_the_base() {
    for flags in [&[][..], &["--rebase"]] {
        let world = World::with_pull();
        world.git.commit("main", "Elsewhere", &[("e", Some("x\n"))]);
        let args = [&["pr", "update-branch", "1"][..], flags].concat();
        let out = world.forge(&args).output().success();
        assert_eq!(out.stdout_text(), "✓ PR branch updated\n");
        assert_eq!(out.stderr_text(), "");
        assert_eq!(world.git.show("feature", "e"), "x\n");
        let head = world.git.oid("feature");
        let again = world.forge(&args).output().success();
        assert_eq!(again.stdout_text(), "✓ PR branch already up-to-date\n");
        assert_eq!(again.stderr_text(), "");
        assert_eq!(world.git.oid("feature"), head);
    }
}

#[test]
fn checked_out_head_is_updated_by_default() {
    let world = World::with_pull();
    world.switch("feature");
    world.git.commit("main", "Elsewhere", &[("e", Some("x\n"))]);
    let args = ["pr", "update-branch", "--leave-checkout"];
    let out = world.forge(&args).output().success();
    assert_eq!(out.stdout_text(), "✓ PR branch updated\n");
    assert!(
        out.stderr_text().contains("'feature' is checked out in"),
        "{out:?}"
    );
    assert!(!world.git.path().join("e").exists());

    world.switch("feature");
    world.git.commit("main", "More", &[("f", Some("x\n"))]);
    let out = world.forge(&["pr", "update-branch"]).output().success();
    assert_eq!(out.stderr_text(), "");
    assert!(world.git.path().join("e").exists() && world.git.path().join("f").exists());
}

#[test]
fn update_conflict_names_file_and_changes_nothing() {
    let world = World::with_pull();
    world
        .git
        .commit("main", "The same", &[("feature.txt", Some("other\n"))]);
    let before = world.git.refs();
    for flags in [&[][..], &["--rebase"]] {
        let args = [&["pr", "update-branch", "1"][..], flags].concat();
        let out = world.forge(&args).output();
        assert_eq!(out.code, Some(1), "{out:?}");
        assert!(out.stderr_text().contains("in feature.txt"), "{out:?}");
        assert!(out.stderr_text().contains("Recovery: "), "{out:?}");
    }
    assert_eq!(world.git.refs(), before);
}
