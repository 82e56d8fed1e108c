//! Tests bad input: the error is clear, the exit code is 1, and nothing is written.

use crate::world::World;

fn error_table(world: &World, cases: &[&[&str]]) -> String {
    let before = world.git.refs();
    let mut text = String::new();
    for args in cases {
        let out = world.forge(args).output();
        assert_eq!(out.code, Some(1), "{out:?}");
        assert_eq!(out.stdout_text(), "", "{out:?}");
        assert!(out.stderr_text().starts_with("error: "), "{out:?}");
        text.push_str(&world.transcript(args, &out));
        assert_eq!(world.git.refs(), before, "it has written: {out:?}");
    }
    text
}

#[test]
fn bad_repositories_and_locators_are_refused() {
    let world = World::new();
    let text = error_table(
        &world,
        &[
            &["pr", "list", "-R", "/no/such/repository"],
            &["pr", "list", "-R", "./nowhere"],
            &["pr", "list", "-R", "not a locator"],
            &["pr", "list", "-R", ""],
            &["pr", "list", "-R", "https://"],
            &["pr", "list", "-R", "https://github.com"],
            &["pr", "list", "-R", "at://nobody"],
            &["pr", "list", "-R", "did:plc:abc#x"],
            &["pr", "list", "-R", "file://host/x"],
            &["pr", "list", "-R", "owner/repo/extra/more"],
            &["pr", "list", "-R", "%00/%00"],
            &["pr", "view", "1", "-R", "/"],
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn bad_arguments_of_create_are_refused() {
    let world = World::with_pull();
    world.feature("new");
    let main = world.git.oid("main").unwrap();
    world.git.set_branch("same", &main);
    let long = "x".repeat(257);
    let huge = world.scratch.write("huge.md", "x".repeat(65_537));
    let text = error_table(
        &world,
        &[
            &[
                "pr",
                "create",
                "-H",
                "new",
                "-t",
                "T",
                "-b",
                "",
                "-l",
                "enhancment",
            ],
            &[
                "pr", "create", "-H", "new", "-t", "T", "-b", "", "-l", "zzz",
            ],
            &["pr", "create", "-H", "new", "-t", "", "-b", ""],
            &["pr", "create", "-H", "new", "-t", &long, "-b", ""],
            &[
                "pr",
                "create",
                "-H",
                "new",
                "-t",
                "T",
                "-F",
                huge.to_str().unwrap(),
            ],
            &[
                "pr",
                "create",
                "-H",
                "new",
                "-t",
                "T",
                "-F",
                "no-such-file.md",
            ],
            &[
                "pr", "create", "-H", "new", "-t", "T", "-b", "", "-B", "nowhere",
            ],
            &["pr", "create", "-H", "gone", "-t", "T", "-b", ""],
            &["pr", "create", "-H", "main", "-t", "T", "-b", ""],
            &["pr", "create", "-H", "same", "-t", "T", "-b", ""],
            &["pr", "create", "-H", "feature", "-t", "T", "-b", ""],
            &[
                "pr", "create", "-H", "new", "-t", "T", "-b", "", "-m", "1.0",
            ],
            &[
                "pr", "create", "-H", "new", "-t", "T", "-b", "", "-r", "org/team",
            ],
            &[
                "pr", "create", "-H", "new", "-t", "T", "-b", "", "-p", "Roadmap",
            ],
            &["pr", "create", "-H", "owner:new", "-t", "T", "-b", ""],
            &[
                "pr", "create", "-H", "new", "-t", "T", "-b", "", "--attach", "a.png",
            ],
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn bad_arguments_of_changes_are_refused() {
    let world = World::with_pull();
    world.open("closed");
    world.forge(&["pr", "close", "2"]).ok();
    world.open("merged");
    world.forge(&["pr", "merge", "3", "--merge"]).ok();
    world.open("draft");
    world.forge(&["pr", "ready", "4", "--undo"]).ok();
    let empty = world.scratch.write("empty.md", "");
    let empty = empty.to_str().unwrap();
    let text = error_table(
        &world,
        &[
            &["pr", "view", "99"],
            &["pr", "view", "no-such-branch"],
            &["pr", "edit", "1"],
            &["pr", "edit", "1", "-t", " "],
            &["pr", "edit", "1", "--add-label", "bugg"],
            &["pr", "edit", "1", "-B", "nowhere"],
            &["pr", "edit", "1", "-B", "feature"],
            &["pr", "edit", "99", "-t", "T"],
            &["pr", "comment", "1", "-b", ""],
            &["pr", "comment", "1", "-F", empty],
            &["pr", "comment", "1"],
            &["pr", "review", "1"],
            &["pr", "review", "1", "--approve"],
            &["pr", "review", "1", "--request-changes"],
            &["pr", "review", "1", "-c", "--line", "feature.txt:99=What?"],
            &["pr", "review", "1", "-c", "--line", "README.md:1=What?"],
            &["pr", "thread", "resolve", "1", "nope"],
            &["pr", "reopen", "3"],
            &["pr", "close", "3"],
            &["pr", "merge", "2", "--merge"],
            &["pr", "merge", "4", "--merge"],
            &[
                "pr",
                "merge",
                "1",
                "--merge",
                "--match-head-commit",
                "0123456789012345678901234567890123456789",
            ],
            &[
                "pr",
                "merge",
                "1",
                "--merge",
                "--match-head-commit",
                "eb1f3895e4e2",
            ],
            &["pr", "merge", "1", "--merge", "--match-head-commit", "xyz"],
            &["pr", "merge", "1", "--merge", "--squash"],
            &["pr", "merge", "1", "--merge", "--auto"],
            &["pr", "merge", "1", "--merge", "--admin"],
            &["pr", "list", "-S", "colour:blue"],
            &["pr", "list", "--app", "robot"],
            &["pr", "edit", "1", "--attach", "README.md"],
            &["pr", "comment", "1", "-b", "See", "--attach", "a.png"],
            &["label", "create", "bug"],
            &["label", "create", "x", "--color", "red"],
            &["label", "delete", "bugg", "--yes"],
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn bad_usage_prints_help() {
    let world = World::new();
    for args in [
        ["pr", "list", "--nope"].as_slice(),
        &["pr", "list", "--state", "odd"],
        &["pr", "list", "--limit", "0"],
        &["pr", "close"],
        &["pr", "frobnicate"],
        &["nope"],
    ] {
        let out = world.forge(args).output().exits(1);
        assert_eq!(out.stdout_text(), "", "{out:?}");
        assert!(out.stderr_text().contains("--help"), "{out:?}");
    }
}
