//! Tests the intended differences between `forge` and gh. `docs/reference/cli.md` lists them.

use std::fs;

use forge_github_double::PullSeed;
use forge_testkit::workspace_root;

use crate::{
    list::seed_four_pulls,
    world::{REPO, REVIEWER, Tool, World},
};

fn with_four() -> World {
    let world = World::new();
    seed_four_pulls(&mut world.double.seed());
    world
}

/// Asserts that the list in `docs/reference/cli.md` contains this sentence, ignoring line breaks.
#[track_caller]
pub fn listed(sentence: &str) {
    let page = fs::read_to_string(workspace_root().join("docs/reference/cli.md")).unwrap();
    let (_, page) = page.split_once("## Where it differs from gh").unwrap();
    let (list, _) = page.split_once("\n## ").unwrap();
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat(list).contains(&flat(sentence)),
        "docs/reference/cli.md does not list: {sentence}"
    );
}

/// Asserts the exit codes that `forge` and gh return for the same command line.
#[track_caller]
fn codes(world: &World, line: &str, forge: i32, gh: i32) {
    let [ours, theirs] = world.both(line);
    assert_eq!(
        (ours.code, theirs.code),
        (Some(forge), Some(gh)),
        "{ours:?}\n{theirs:?}"
    );
}

#[test]
fn conflicting_flags_are_refused_unlike_gh() {
    let world = with_four();
    codes(&world, "pr list --json number -q . -t x", 1, 0);
    codes(&world, "pr diff 1 --name-only --patch", 1, 0);
    world.push("topic");
    codes(&world, "pr create -t T -b B -F /dev/null", 1, 0);
    listed("Flags that exclude each other are refused");
}

#[test]
fn forge_accepts_more_locators_than_gh() {
    let world = with_four();
    codes(&world, "pr view octocat/tools#1", 0, 1);
    listed("`owner/repo#7` and every other locator name a pull request too");
    codes(&world, "pr view octocat:feature", 0, 1);
    listed("`owner:branch` finds the repository's own branches too");
}

#[test]
fn create_with_unknown_reviewer_makes_nothing() {
    for (tool, made) in [(Tool::Forge, 0), (Tool::Gh, 1)] {
        let world = World::new();
        world.push("topic");
        let out = world.fails(tool, "pr create -t T -b B -r nosuch");
        assert!(out.stderr_text().contains("nosuch"), "{out:?}");
        assert_eq!(world.double.seed().pulls_of(REPO).len(), made, "{tool:?}");
    }
    listed("is refused before anything is made");
}

#[test]
fn refused_review_request_is_a_warning() {
    for (tool, code) in [(Tool::Forge, 0), (Tool::Gh, 1)] {
        let world = World::new();
        world.push("topic");
        let line = "pr create -t T -b B -r octocat";
        let out = world.command(tool, line).output();
        assert_eq!(out.code, Some(code), "{out:?}");
        assert!(out.stdout_text().ends_with("/pull/1\n"), "{out:?}");
        assert!(out.stderr_text().contains("pull request author"), "{out:?}");
    }
    listed("as a review by the author, is a warning with the command that does the rest");
}

#[test]
fn fill_and_dry_run_output_differs_from_gh() {
    let world = World::new();
    world.push("topic");
    let [ours, theirs] = world.both("pr create --fill --dry-run");
    assert!(ours.stdout_text().ends_with("\nWhy.\n"), "{ours:?}");
    assert!(theirs.stdout_text().ends_with("\nWhy.\n\n"), "{theirs:?}");
    let [ours, theirs] = world.both("pr create -t T -b B -a @me --dry-run");
    assert!(ours.stdout_text().contains("assignees:\t@me\n"), "{ours:?}");
    assert!(
        theirs.stdout_text().contains("assignees:\toctocat\n"),
        "{theirs:?}"
    );
    listed("`--fill` leaves out the empty lines that git puts after a commit's message");
    listed("prints `@me` as it was typed");
    world.command(Tool::Gh, "pr create -t T -b B").ok();
    codes(&world, "pr create -t T -b B --dry-run", 0, 1);
    listed("a pull request that is open already, or a label that does not exist");
}

#[test]
fn branch_with_unpushed_commits_is_not_deleted() {
    for (tool, branches) in [(Tool::Forge, "main\ntopic\n"), (Tool::Gh, "main\n")] {
        let world = World::new();
        world.push("topic");
        world.command(tool, "pr create -t T -b B").ok();
        world.git(&["commit", "--quiet", "--allow-empty", "-m", "Not pushed"]);
        world.command(tool, "pr merge 1 -m -d").ok();
        assert_eq!(
            world.git(&["branch", "--format=%(refname:short)"]),
            branches
        );
    }
    listed("keeps the clone's branch when it holds a commit");
}

#[test]
fn removing_absent_label_changes_nothing() {
    let world = with_four();
    codes(&world, "pr edit 1 --remove-label nosuch", 0, 1);
    listed("Removing a label that the pull request does not have changes nothing");
}

#[test]
fn empty_assignee_name_removes_no_account() {
    for (tool, nobody) in [(Tool::Forge, false), (Tool::Gh, true)] {
        let world = with_four();
        world
            .command(tool, "pr edit 1 --add-assignee reviewer")
            .ok();
        world
            .command(tool, "pr edit 1 -t x --remove-assignee ''")
            .ok();
        let line = ["pr", "view", "1", "--json", "assignees"];
        let seen = world.tool(Tool::Gh, &line).success().json();
        assert_eq!(seen["assignees"] == serde_json::json!([]), nobody, "{seen}");
    }
    listed("name in `--remove-assignee` removes nobody; gh removes everybody.");
}

#[test]
fn diff_names_and_line_ends_differ_from_gh() {
    let world = World::new();
    let files = [
        ("a.txt", Some("x\n")),
        ("b.txt", Some("x\n")),
        ("ü.txt", Some("y\n")),
    ];
    world.double.seed().commit(REPO, "odd", &files, "Add");
    let pull = forge_github_double::PullSeed {
        author: "octocat",
        title: "Odd",
        head: "odd",
        ..Default::default()
    };
    world.double.seed().open_pull(REPO, &pull);
    let [ours, theirs] = world.both("pr diff 1 --name-only");
    assert_eq!(ours.stdout_text(), "a.txt\nb.txt\nü.txt\n");
    assert_eq!(theirs.stdout_text(), "a.txt\nb.txt\n\"\\303\\274.txt\"\n");
    let [ours, theirs] = world.both("pr diff 1 --exclude nothing.txt");
    assert_eq!(
        ours.stdout,
        world.command(Tool::Forge, "pr diff 1").output().stdout
    );
    assert!(theirs.stdout_text().contains("+xdiff --git"), "{theirs:?}");
    listed("Names that are not ASCII stay readable,");
    listed("`--exclude` keeps the line end before");
}

#[test]
fn diff_escapes_on_a_pipe_differ_from_gh() {
    let world = World::new();
    let files = [
        ("a.txt", Some("first\n")),
        ("e.txt", Some("\u{1b}[31mred\n")),
    ];
    world.double.seed().commit(REPO, "red", &files, "Add");
    let pull = forge_github_double::PullSeed {
        author: "octocat",
        title: "\u{1b}[31mRed",
        body: "\u{1b}[31mred",
        head: "red",
        ..Default::default()
    };
    world.double.seed().open_pull(REPO, &pull);
    let [ours, theirs] = world.same_refusal_of("pr diff 1");
    assert!(ours.stdout_text().contains("+first\n") && theirs.stdout.is_empty());
    assert!(!ours.stdout.contains(&0x1b), "{ours:?}");
    listed("The part before the escape has been printed");
    let [ours, theirs] = world.both("pr view 1 --json body");
    assert_eq!(ours.stdout_text(), "{\"body\":\"\\u001b[31mred\"}\n");
    assert_eq!(theirs.stdout_text(), "{\"body\":\"^[[31mred\"}\n");
    listed("JSON has them as `\\u…`");
}

#[test]
fn separators_in_piped_view_differ_from_gh() {
    let world = World::new();
    let pull = PullSeed {
        author: "octocat",
        title: "a\tb",
        head: "tab",
        ..PullSeed::default()
    };
    world.double.seed().open_pull(REPO, &pull);
    world.double.seed().comment(REPO, 1, "octocat", "x\n--\ny");
    let [ours, theirs] = world.both("pr view 1").map(|out| out.stdout_text());
    assert!(ours.starts_with("title:\ta b\n"), "{ours}");
    assert!(theirs.starts_with("title:\ta\tb\n"), "{theirs}");
    let [ours, theirs] = world
        .both("pr view 1 --comments")
        .map(|out| out.stdout_text());
    assert!(ours.contains("\nx\n --\ny\n--\n"), "{ours}");
    assert!(theirs.contains("\nx\n--\ny\n--\n"), "{theirs}");
    listed("writes a tab within a value as a space");
}

#[test]
fn exit_code_of_unstarted_checks_differs_from_gh() {
    for (conclusion, forge, gh) in [("STARTUP_FAILURE", 1, 8), ("STALE", 8, 8)] {
        let world = World::new();
        world.double.seed().many_pulls(REPO, 1);
        world
            .double
            .seed()
            .check(REPO, 1, "CI", "build", conclusion);
        codes(&world, "pr checks 1", forge, gh);
    }
    listed("STARTUP_FAILURE is a failure.");
}

#[test]
fn parentheses_in_search_differ_from_gh() {
    let world = with_four();
    world.command(Tool::Gh, "pr close 1").ok();
    let line = "pr list -S '(is:closed OR is:merged)' --json number -q '.[].number'";
    let found = world.both(line).map(|out| out.stdout_text());
    assert_eq!(found, ["1\n", ""]);
    codes(&world, "pr list -S '(bug'", 1, 0);
    listed("refuse a `--search` with an unclosed parenthesis or quote");
    listed("A state in parentheses, as in `(is:closed OR is:merged)`, replaces the default");
}

#[test]
fn status_lines_omit_the_counts_of_gh() {
    let world = with_four();
    let mut seed = world.double.seed();
    seed.check(REPO, 1, "CI", "build", "FAILURE");
    seed.status(REPO, 1, "deploy", "SUCCESS");
    drop(seed);
    world.command_as(Tool::Gh, REVIEWER, "pr review 1 -a").ok();
    let [ours, theirs] = world.both("pr status");
    let has = |text: String, part: &str| assert!(text.contains(part), "{part}: {text}");
    has(ours.stdout_text(), "  × Checks failing ✓ Approved\n");
    has(
        theirs.stdout_text(),
        "  × 1/2 checks failing ✓ 1 Approved\n",
    );
    listed(
        "`pr status` shows whether checks fail and whether the pull request is approved, without counts",
    );
}

#[test]
fn output_of_finished_watch_differs_from_gh() {
    let world = World::new();
    world.double.seed().many_pulls(REPO, 1);
    world.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
    for line in [
        "pr checks 1 --watch",
        "pr checks 1 --watch -i 1 --fail-fast",
    ] {
        let [ours, theirs] = world.both(line);
        assert_eq!((ours.code, theirs.code), (Some(0), Some(0)));
        let rows = ours.stdout_text();
        assert_eq!(rows.lines().count(), 1, "{rows}");
        assert_eq!(theirs.stdout_text(), rows.repeat(2));
    }
    listed("On a pipe, `--watch` prints the checks once, when they have finished");
}

#[test]
fn write_to_ambiguous_branch_is_refused_unlike_gh() {
    let world = World::new();
    world.git(&[
        "push",
        "--quiet",
        "origin",
        "origin/main:refs/heads/release",
    ]);
    world.push("topic");
    for base in ["main", "release"] {
        world
            .command(Tool::Gh, &format!("pr create -t T -b B -B {base}"))
            .ok();
    }
    for line in [
        "pr view topic --json number,baseRefName",
        "pr diff topic --name-only",
    ] {
        world.same_line(line);
    }
    let [ours, theirs] = world.both("pr comment topic -b Seen.");
    assert_eq!((ours.code, theirs.code), (Some(1), Some(0)));
    let said = ours.stderr_text();
    assert!(
        said.contains("#1 into main") && said.contains("#2 into release"),
        "{said}"
    );
    listed("Of two open pull requests of a branch gh takes the newest.");
    listed("Commands that change a pull request refuse,");
}

#[test]
fn handling_of_empty_files_and_refused_tokens_differs() {
    let world = World::new();
    world.push("topic");
    world.command(Tool::Gh, "pr create -t T -b B").ok();
    codes(&world, "pr edit 1 -F -", 1, 0);
    listed("An empty body file is an error where it would replace a text");
    codes(&world, "pr list -R ''", 1, 0);
    listed("An empty `-R`, `--match-head-commit` and name of a pull request are errors");
    let code = |tool| {
        world
            .command_as(tool, "gho_0canary0nobody", "pr list")
            .output()
            .code
    };
    assert_eq!((code(Tool::Forge), code(Tool::Gh)), (Some(4), Some(1)));
    listed("A refused token is exit code 4");
}

/// The page lists every command of `gh pr` that `forge` does not have.
#[test]
fn commands_only_in_gh_are_listed() {
    let world = with_four();
    let help = world.command(Tool::Gh, "pr --help").text();
    let (_, commands) = help.split_once("GENERAL COMMANDS\n").unwrap();
    let (commands, _) = commands.split_once("\nFLAGS\n").unwrap();
    let missing: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.trim_start().split_once(':'))
        .map(|(name, _)| name)
        .filter(|name| {
            let help = format!("pr {name} --help");
            world.command(Tool::Forge, &help).output().code != Some(0)
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The page lists every flag that gh does not have.
#[test]
fn flags_only_in_forge_are_listed() {
    let world = with_four();
    world.command(Tool::Forge, "pr view 1 --history").ok();
    let head = world.double.seed().pull_of(REPO, 1).head_oid.clone();
    let run = |line: &str| world.command_as(Tool::Forge, REVIEWER, line);
    let line = format!("pr review 1 -c --line feature.txt:1=Why? --match-head-commit {head}");
    run(&line).ok();
    let comments = r#"[{"path": "feature.txt", "line": 1, "body": "Again?"}]"#;
    run("pr review 1 -c --comments-file -").stdin(comments).ok();
    let threads = world.command(Tool::Forge, "pr thread list 1").text();
    assert_eq!(threads.lines().count(), 2, "{threads}");
    listed("`pr review` comments on lines");
    for line in [
        "pr view 1 --history",
        "pr review 1 -c --line feature.txt:1=x",
        "pr review 1 -c --comments-file -",
        "pr review 1 -c -b x --match-head-commit abc",
    ] {
        let out = world.fails(Tool::Gh, line);
        assert!(out.stderr_text().contains("unknown flag"), "{out:?}");
    }
}

#[test]
fn gh_reads_closing_issues_of_new_pull() {
    let world = World::new();
    world.command(Tool::Gh, "issue create -t Bug -b B").ok();
    world.push("topic");
    let line = "pr create -t T -b B --closes 1";
    world.command(Tool::Forge, line).ok();
    let view = "pr view 2 --json closingIssuesReferences -q .closingIssuesReferences[].number";
    assert_eq!(world.command(Tool::Gh, view).text(), "1\n");
    let out = world.fails(Tool::Gh, line);
    assert!(out.stderr_text().contains("unknown flag"), "{out:?}");
}

#[test]
fn round_and_index_flags_have_no_effect() {
    let world = World::new();
    for (branch, waiting) in [("one", "--wait 5s"), ("two", "--no-wait")] {
        world.push(branch);
        let line = match waiting {
            "--no-wait" => "pr create -t T -b B --no-wait",
            _ => "pr create -t T -b B --wait 5s",
        };
        world.command(Tool::Forge, line).ok();
    }
    // GitHub shows a write at once, so these flags have no effect.
    for line in [
        "pr comment 1 -b x --wait 5s",
        "pr comment 1 -b x --no-wait",
        "pr edit 1 -t New --wait 5s",
        "pr edit 1 -t Newer --no-wait",
        "pr close 1 --wait 5s",
        "pr reopen 1 --wait 5s",
        "pr close 1 --no-wait",
        "pr reopen 1 --no-wait",
        "pr ready 1 --undo --wait 5s",
        "pr ready 1 --no-wait",
        "pr review 1 -c -b x --wait 5s",
        "pr review 1 -c -b x --no-wait",
        "pr update-branch 1 --wait 5s",
        "pr update-branch 1 --no-wait --leave-checkout",
        "pr merge 1 -m --wait 5s",
        "pr merge 2 -m --no-wait --leave-checkout",
        "label create fresh --wait 5s",
        "label delete fresh --yes --no-wait",
    ] {
        world.command(Tool::Forge, line).ok();
    }
    listed("Commands that write take `--wait DURATION` and `--no-wait` on every forge");
    listed("`pr merge` and `pr update-branch` take `--leave-checkout`");
    world.push("three");
    world.command(Tool::Forge, "pr create -t T -b B").ok();
    let made = world.double.seed().pulls_of(REPO).len();
    for line in [
        "pr create -t T -b B --patch nosuch.patch",
        "pr create -t T -b B --depends-on 3",
        "pr diff 3 --round 0",
        "pr diff 3 --round 1 --since 0",
    ] {
        let out = world.fails(Tool::Forge, line);
        assert!(out.stderr_text().contains("Recovery: "), "{line}: {out:?}");
    }
    assert_eq!(world.double.seed().pulls_of(REPO).len(), made);
}

#[test]
fn pull_from_whole_files_is_read_by_gh() {
    let world = World::new();
    let file = world.scratch.write("new.md", "# New\n");
    let line = format!(
        "pr create -t 'Edit two files' -b Why. -H edit/two --edit docs/new.md={} --delete README.md -l bug",
        file.display()
    );
    world.command(Tool::Forge, &line).ok();
    let seen = world.command(
        Tool::Gh,
        "pr view 1 --json headRefName,title,files,commits,author",
    );
    let seen = seen.output().success().json();
    assert_eq!(seen["headRefName"], "edit/two");
    assert_eq!(seen["author"]["login"], "octocat");
    assert_eq!(seen["commits"][0]["messageHeadline"], "Edit two files");
    let paths: Vec<_> = seen["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].clone())
        .collect();
    assert_eq!(paths, ["README.md", "docs/new.md"]);
    world.same("1", "files,commits,headRefOid,labels");
    listed("`pr create --edit PATH=FILE --delete PATH` takes whole files instead of a branch");
    // `forge` refuses bad edits before it creates anything, even without a terminal.
    let made = world.double.seed().pulls_of(REPO).len();
    for line in [
        "pr create -t T -b B --delete nosuch.md",
        "pr create -t T -b B --edit ../x=/dev/null",
        "pr create -t T -b B -H edit/two --edit a=/dev/null",
    ] {
        let out = world.fails(Tool::Forge, line);
        assert!(out.stderr_text().contains("Recovery: "), "{line}: {out:?}");
    }
    assert_eq!(world.double.seed().pulls_of(REPO).len(), made);
}

/// gh does not have these flags, but it shows their effect.
#[test]
fn gh_sees_effects_of_forge_only_flags() {
    let world = World::new();
    world.push("feature");
    world.command(Tool::Gh, "pr create -t Title -b Body").ok();
    let seen = |jq: &str| {
        let line = format!("pr view 1 --json comments,reviews --jq '{jq}'");
        world.command(Tool::Gh, &line).text().trim().to_owned()
    };
    let ours = |line: &str| world.command(Tool::Forge, line).text();
    assert_eq!(
        ours("pr list --owner octocat --json number -q '.[].number'"),
        "1\n"
    );
    assert!(ours("pr status --owner octocat").contains("Title"));
    let none = world
        .command(Tool::Forge, "pr checks 1 --rerun-failed")
        .output();
    let said = none.stderr_text();
    assert!(
        said.contains("no check of") && said.contains("has failed"),
        "{said}"
    );
    ours("pr comment 1 -b First");
    let id = seen(".comments[0].id");
    ours(&format!("pr comment 1 --edit {id} -b Second"));
    assert_eq!(seen(".comments[].body"), "Second");
    ours(&format!("pr comment 1 --delete {id} --yes"));
    assert_eq!(seen(".comments[].body"), "");
    let review = "pr review 1 --request-changes -b No. --file 'feature.txt=Too short.'";
    world.command_as(Tool::Forge, REVIEWER, review).ok();
    let thread = ours("pr thread list 1 --json id -q '.[0].id'");
    ours(&format!(
        "pr comment 1 --reply-to {} -b Longer.",
        thread.trim()
    ));
    let id = seen(".reviews[0].id");
    ours(&format!("pr review 1 --dismiss {id} -b Done."));
    assert_eq!(seen(".reviews[0].state"), "DISMISSED");
}
