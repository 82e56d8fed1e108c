use crate::{
    fields::FIELDS as CORE,
    twins::Twins,
    world::{REVIEWER, Tool, World},
};

fn create(world: &World, tool: Tool, branch: &str, more: &[&str]) {
    world.push(branch);
    let mut args = vec![
        "pr",
        "create",
        "-t",
        "Ünïcode ✓",
        "-b",
        "First line\n\nSecond.",
    ];
    args.extend(more);
    let url = world.ok(tool, &args);
    assert!(url.trim().ends_with("/octocat/tools/pull/1"), "{url}");
}

#[test]
fn pull_of_one_program_is_viewed_by_other() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        let metadata = [
            "-l",
            "bug",
            "-l",
            "help wanted",
            "-a",
            "@me",
            "-r",
            "reviewer",
            "-m",
            "v1.0",
            "-p",
            "roadmap",
        ];
        create(&world, maker, "feature", &metadata);
        let row = world.ok(other, &["pr", "list"]);
        assert!(row.starts_with("1\tÜnïcode ✓\tfeature\tOPEN\t"), "{row}");
        let labels = world.fields(other, "1", "labels")["labels"].clone();
        assert_eq!(labels.as_array().unwrap().len(), 2);
        world.same("1", CORE);
        world.same("feature", CORE);
        world.same_output(&["pr", "view", "1"]);
        world.same_output(&["pr", "list", "--label", "bug", "--author", "octocat"]);
        world.same_output(&["pr", "diff", "1"]);
    }
}

#[test]
fn draft_becomes_ready_and_draft_again() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        create(&world, maker, "feature", &["--draft"]);
        assert!(world.ok(other, &["pr", "list"]).contains("\tDRAFT\t"));
        world.ok(other, &["pr", "ready", "1"]);
        world.same("1", CORE);
        world.ok(maker, &["pr", "ready", "1", "--undo"]);
        world.same("1", CORE);
        assert_eq!(world.fields(other, "1", "isDraft")["isDraft"], true);
    }
}

#[test]
fn last_comment_is_edited_by_other_program() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        create(&world, maker, "feature", &[]);
        let url = world.ok(other, &["pr", "comment", "1", "-b", "From the other"]);
        assert!(url.contains("#issuecomment-"), "{url}");
        world.ok(maker, &["pr", "comment", "feature", "-b", "From the maker"]);
        world.ok(
            other,
            &["pr", "comment", "1", "--edit-last", "-b", "Edited"],
        );
        world.same("1", "comments");
        let bodies = world.ok(
            maker,
            &[
                "pr",
                "view",
                "1",
                "--json",
                "comments",
                "-q",
                ".comments[].body",
            ],
        );
        assert_eq!(bodies, "From the other\nEdited\n");
        world.same_output(&["pr", "view", "1", "--comments"]);
        world.ok(maker, &["pr", "comment", "1", "--delete-last", "--yes"]);
        world.same("1", "comments");
    }
}

#[test]
fn reviews_are_counted_by_gh_and_forge() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        create(&world, maker, "feature", &["-r", "reviewer"]);
        let review = |tool: Tool, flag: &str, body: &str| {
            let args = ["pr", "review", "1", flag, "-b", body];
            let out = world.tool_as(tool, REVIEWER, &args).success();
            assert!(out.stdout.is_empty(), "{out:?}");
        };
        review(other, "--request-changes", "Not yet.");
        world.same("1", "reviews,reviewDecision,reviewRequests");
        review(maker, "--approve", "Now.");
        review(other, "--comment", "By the way.");
        world.same("1", "reviews,reviewDecision,reviewRequests");
        let states = world.ok(
            other,
            &[
                "pr",
                "view",
                "1",
                "--json",
                "reviews",
                "-q",
                ".reviews[].state",
            ],
        );
        assert_eq!(states, "CHANGES_REQUESTED\nAPPROVED\nCOMMENTED\n");
    }
}

#[test]
fn pull_of_one_program_is_edited_by_other() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        create(&world, maker, "feature", &["-l", "bug"]);
        world.git(&[
            "push",
            "--quiet",
            "origin",
            "origin/main:refs/heads/release",
        ]);
        world.ok(
            other,
            &[
                "pr",
                "edit",
                "1",
                "--title",
                "New title",
                "--body",
                "New body",
                "--add-label",
                "\"good, first\"",
                "--remove-label",
                "bug",
                "--add-assignee",
                "octocat",
                "--add-reviewer",
                "reviewer",
                "--milestone",
                "v1.0",
                "--base",
                "release",
                "--add-project",
                "Roadmap",
            ],
        );
        world.same("1", CORE);
        let view = world.fields(maker, "1", "title,labels,baseRefName");
        assert_eq!(view["title"], "New title");
        assert_eq!(view["labels"][0]["name"], "good, first");
        assert_eq!(view["baseRefName"], "release");
        world.ok(
            maker,
            &[
                "pr",
                "edit",
                "1",
                "--remove-reviewer",
                "reviewer",
                "--remove-project",
                "roadmap",
                "--remove-milestone",
            ],
        );
        world.same("1", CORE);
    }
}

#[test]
fn closed_pull_is_reopened_by_other_program() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        create(&world, maker, "feature", &[]);
        world.says(
            other,
            &["pr", "close", "1", "-c", "Not now."],
            "Closed pull request octocat/tools#1 (Ünïcode ✓)",
        );
        world.same("1", CORE);
        assert_eq!(world.ok(maker, &["pr", "list"]), "");
        world.says(maker, &["pr", "close", "1"], "is already closed");
        world.says(
            maker,
            &["pr", "reopen", "1"],
            "Reopened pull request octocat/tools#1",
        );
        world.says(other, &["pr", "reopen", "1"], "is already open");
        world.same("1", CORE);
    }
}

#[test]
fn pull_of_one_program_is_merged_by_other() {
    for (maker, other) in Tool::TURNS {
        for method in ["--merge", "--squash", "--rebase"] {
            let world = World::new();
            create(&world, maker, "feature", &[]);
            let out = world.tool(other, &["pr", "merge", "1", method]).success();
            assert!(out.stdout.is_empty(), "{out:?}");
            world.same("1", CORE);
            assert_eq!(world.fields(maker, "1", "state")["state"], "MERGED");
            world.says(maker, &["pr", "merge", "1", method], "already merged");
            world.git(&["fetch", "--quiet"]);
            assert_eq!(
                world.git(&["show", "origin/main:feature.txt"]),
                "one\ntwo\nthree\n"
            );
        }
    }
}

/// Returns the state of the clone: its branches, the checked-out branch, and the subject of its
/// newest commit.
fn clone_state(world: &World) -> String {
    world.git(&["branch", "--format=%(HEAD)%(refname:short) %(subject)"])
}

#[test]
fn merge_hides_token_from_hooks_and_filters() {
    let world = World::new();
    world.push("topic");
    world.command(Tool::Forge, "pr create -t T -b B").ok();
    let dir = world.clone_dir();
    let program = dir.join(".git/canary");
    let log = dir.join(".git/canary.log");
    let script = format!(
        "#!/bin/sh\necho \"ran:$GH_TOKEN$GH_ENTERPRISE_TOKEN\" >> '{}'\nexec cat\n",
        log.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    std::fs::create_dir_all(dir.join(".git/hooks")).unwrap();
    std::fs::copy(&program, dir.join(".git/hooks/post-merge")).unwrap();
    world.git(&["config", "filter.own.smudge", program.to_str().unwrap()]);
    std::fs::write(dir.join(".git/info/attributes"), "*.txt filter=own\n").unwrap();
    world.command(Tool::Forge, "pr merge -m -d").ok();
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.lines().count() >= 2, "{said}");
    assert!(said.lines().all(|line| line == "ran:"), "{said}");
}

#[test]
fn checked_out_branch_is_deleted_like_gh() {
    let cases: &[(&str, &[&str])] = &[
        ("topic", &["pr", "merge", "-m", "-d"]),
        ("topic", &["pr", "merge", "1", "-s", "-d"]),
        ("main", &["pr", "merge", "1", "-m", "-d"]),
        ("topic", &["pr", "close", "1", "-d"]),
        ("main", &["pr", "close", "1", "-d"]),
    ];
    for (from, command) in cases {
        let ends = [Tool::Forge, Tool::Gh].map(|tool| {
            let world = World::new();
            world.push("topic");
            world.command(tool, "pr create -t T -b B").ok();
            world.git(&["checkout", "--quiet", from]);
            world.ok(tool, command);
            clone_state(&world)
        });
        assert!(!ends[0].contains("topic "), "{command:?}: {}", ends[0]);
        assert_eq!(ends[0], ends[1], "from {from}: {command:?}");
    }
}

#[test]
fn repeated_merge_leaves_clone_unchanged() {
    let twins = Twins::new();
    twins.push("topic");
    twins.same("pr create -t T -b B");
    for line in ["pr merge -m", "pr merge 1 -m", "pr merge -s"] {
        twins.same_words(line);
        for world in [&twins.forge, &twins.gh] {
            let branches = world.git(&["branch", "--format=%(HEAD)%(refname:short)"]);
            assert_eq!(branches, " main\n*topic\n", "{line}");
        }
    }
}

#[test]
fn merge_creates_missing_local_base() {
    for tool in [Tool::Forge, Tool::Gh] {
        let world = World::new();
        world.push("topic");
        world.command(tool, "pr create -t T -b B").ok();
        world.git(&["branch", "-D", "main"]);
        world.command(tool, "pr merge -m -d").ok();
        assert_eq!(
            world.git(&[
                "branch",
                "--format=%(HEAD)%(refname:short) %(upstream:short)"
            ]),
            "*main origin/main\n"
        );
    }
}

#[test]
fn both_programs_delete_merged_branch_on_request() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        create(&world, maker, "feature", &[]);
        world.git(&["checkout", "--quiet", "main"]);
        world.ok(
            other,
            &[
                "pr",
                "merge",
                "1",
                "--squash",
                "--delete-branch",
                "-t",
                "Subject",
                "-b",
                "Body",
            ],
        );
        let branches = world.git(&["ls-remote", "--heads", "origin"]);
        assert!(!branches.contains("refs/heads/feature"), "{branches}");
        world.git(&["fetch", "--quiet"]);
        assert_eq!(
            world.git(&["log", "-1", "--format=%s", "origin/main"]),
            "Subject\n"
        );
    }
}
