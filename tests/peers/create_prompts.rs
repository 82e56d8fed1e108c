//! Tests the questions, pushes and saved text of `pr create` on a terminal.

use std::fs;

use forge_testkit::Terminal;

use crate::{
    differences::listed,
    world::{REPO, REVIEWER, Tool, World},
};

const ENTER: &str = "\r";
const DOWN: &str = "\u{1b}[B";
const UP: &str = "\u{1b}[A";

/// Creates a branch with one commit that is not pushed.
fn unpushed(world: &World, branch: &str) {
    world.git(&["checkout", "--quiet", "-b", branch, "origin/main"]);
    fs::write(world.clone_dir().join("late.txt"), "late\n").unwrap();
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "Add late.txt", "-m", "Why."]);
}

fn terminal(world: &World, tool: Tool, line: &str) -> Terminal {
    let run = world.command(tool, line).env("GH_SPINNER_DISABLED", "1");
    Terminal::start(&run, 120, 40)
}

fn pulls(world: &World) -> usize {
    world.double.seed().pulls_of(REPO).len()
}

/// Returns the branches of the repository, one per line.
fn pushed(world: &World) -> String {
    world.git(&["ls-remote", "--heads", "origin"])
}

#[test]
fn create_asks_in_the_order_of_gh() {
    for tool in [Tool::Forge, Tool::Gh] {
        let world = World::new();
        unpushed(&world, "late");
        let before = pushed(&world);
        let mut terminal = terminal(&world, tool, "pr create");
        terminal.reply("Where should we push the 'late' branch?", ENTER);
        terminal.reply("Title", ENTER);
        terminal.expect("Body");
        // gh opens its editor on a key press, and `forge` on the first of two answers.
        match tool {
            Tool::Forge => terminal.send(&format!("{DOWN}{ENTER}")),
            Tool::Gh => terminal.send(ENTER),
        }
        terminal.reply("What's next?", &format!("{UP}{ENTER}"));
        let out = terminal.finish();
        assert_eq!(out.code, Some(2), "{out:?}");
        let line = format!("Creating pull request for late into main in {REPO}");
        let said = out.plain();
        assert!(said.contains(&line), "{out:?}");
        let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
        let order = [
            "Where should",
            "Creating",
            "Title",
            "Body",
            "What's next?",
            "Submit",
        ];
        assert!(order.map(at).is_sorted(), "{said}");
        for item in [
            "Submit as draft",
            "Continue in browser",
            "Add metadata",
            "Cancel",
        ] {
            assert!(said.contains(item), "{item}: {said}");
        }
        // Nothing is written before the last answer.
        assert_eq!((pulls(&world), pushed(&world)), (0, before), "{tool:?}");
    }
}

#[test]
fn create_finds_obstacles_before_questions() {
    for tool in [Tool::Forge, Tool::Gh] {
        let world = World::new();
        world.push("feature");
        world.command(Tool::Gh, "pr create -t T -b B").ok();
        let out = terminal(&world, tool, "pr create").finish();
        assert_eq!(out.code, Some(1), "{out:?}");
        assert!(out.plain().contains("/octocat/tools/pull/1"), "{out:?}");
        assert!(!out.plain().contains("Title"), "{out:?}");
        world.git(&["checkout", "--quiet", "main"]);
        let out = terminal(&world, tool, "pr create").finish();
        assert_eq!(out.code, Some(1), "{out:?}");
        assert!(!out.plain().contains("Title"), "{out:?}");
        assert_eq!(pulls(&world), 1);
    }
}

#[test]
fn create_prompts_can_push_and_label_a_draft() {
    let world = World::new();
    unpushed(&world, "late");
    let mut terminal = terminal(&world, Tool::Forge, "pr create");
    terminal.reply("Where should we push", ENTER);
    terminal.reply("Title", ENTER);
    terminal.reply("Body", &format!("{DOWN}{ENTER}"));
    terminal.reply("What's next?", &format!("{UP}{UP}{ENTER}"));
    terminal.expect("What would you like to add?");
    // These keys select the third item.
    terminal.send(&format!("{DOWN}{DOWN} {ENTER}"));
    // These keys select the first and the third label of the repository.
    terminal.reply("Labels (space", &format!(" {DOWN}{DOWN} {ENTER}"));
    terminal.reply("What's next?", &format!("{DOWN}{ENTER}"));
    let out = terminal.finish();
    assert_eq!(out.code, Some(0), "{out:?}");
    assert!(out.plain().contains("/octocat/tools/pull/1"), "{out:?}");
    let seen = world.fields(Tool::Gh, "1", "title,body,isDraft,labels,headRefName");
    assert_eq!(seen["title"], "Add late.txt");
    // As in gh, the commit's body becomes the description unless the user types another one.
    assert_eq!(seen["body"], "Why.");
    assert_eq!(seen["isDraft"], true);
    assert_eq!(seen["headRefName"], "late");
    let labels = seen["labels"].as_array().unwrap().iter();
    let labels: Vec<&str> = labels.filter_map(|l| l["name"].as_str()).collect();
    assert_eq!(labels, ["bug", "help wanted"], "{seen}");
    let upstream = world.git(&["rev-parse", "--abbrev-ref", "late@{upstream}"]);
    assert_eq!(upstream.trim(), "origin/late");
}

/// Answers all questions of `pr create` up to the submission. The chosen reviewer does not exist.
fn with_unknown_reviewer(world: &World) -> Terminal {
    world.push("feature");
    let mut terminal = terminal(world, Tool::Forge, "pr create");
    terminal.reply("Title", ENTER);
    terminal.reply("Body", &format!("{DOWN}{ENTER}"));
    terminal.reply("What's next?", &format!("{UP}{UP}{ENTER}"));
    terminal.reply("What would you like to add?", &format!(" {ENTER}"));
    terminal.reply("Reviewers (with commas between them)", "reveiwer\r");
    terminal.reply("What's next?", ENTER);
    terminal
}

#[test]
fn create_asks_again_for_an_unknown_reviewer() {
    let world = World::new();
    let mut terminal = with_unknown_reviewer(&world);
    let other = format!("{}reviewer\r", "\u{7f}".repeat(8));
    terminal.reply("Reviewers (with commas between them)", &other);
    let out = terminal.finish();
    assert_eq!(out.code, Some(0), "{out:?}");
    let text = out.plain();
    assert!(text.contains("there is no account 'reveiwer'"), "{text}");
    assert!(
        text.contains("Your text was saved. To continue with it: "),
        "{text}"
    );
    let seen = world.fields(Tool::Gh, "1", "reviewRequests");
    assert_eq!(seen["reviewRequests"][0]["login"], "reviewer", "{seen}");
}

#[test]
fn create_aborted_at_unknown_reviewer_keeps_the_text() {
    let world = World::new();
    let mut terminal = with_unknown_reviewer(&world);
    terminal.expect("Reviewers (with commas between them)");
    let out = terminal.interrupt();
    assert_eq!((out.code, pulls(&world)), (Some(2), 0), "{out:?}");
    let said = out.plain();
    let (_, kept) = said.split_once("pr create --recover ").expect("a file");
    let (file, _) = kept.split_once('`').expect("its end");
    let again = format!("pr create --recover {file} -r reviewer");
    world.command(Tool::Forge, &again).ok();
    let seen = world.fields(Tool::Gh, "1", "title,body,reviewRequests");
    assert_eq!(seen["title"], "Add feature.txt");
    assert_eq!(seen["body"], "Why.");
    assert_eq!(seen["reviewRequests"][0]["login"], "reviewer", "{seen}");
}

#[test]
fn create_with_a_title_confirms_before_push() {
    let world = World::new();
    unpushed(&world, "late");
    let before = pushed(&world);
    let mut asked = terminal(&world, Tool::Forge, "pr create -t T -b B");
    asked.expect("Where should we push");
    asked.send(ENTER);
    asked.expect("and go on?");
    asked.send(ENTER);
    let out = asked.finish();
    assert_eq!(out.code, Some(2), "{out:?}");
    assert_eq!((pulls(&world), pushed(&world)), (0, before));
    listed("`pr create` asks once more before it pushes");
}

#[test]
fn create_shows_the_push_target_of_git() {
    let world = World::new();
    unpushed(&world, "late");
    for (url, place) in [
        (
            "http://github.localhost/mallory/tools.git",
            "mallory/tools)",
        ),
        ("http://x:secret@evil.example/tools", "an unknown address)"),
    ] {
        world.git(&["remote", "set-url", "--push", "origin", url]);
        let mut asked = terminal(&world, Tool::Forge, "pr create");
        asked.expect(place);
        let out = asked.interrupt();
        assert_eq!(out.code, Some(2), "{out:?}");
        let said = out.plain();
        assert!(said.contains("octocat/tools (git pushes to "), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn create_makes_a_missing_fork() {
    for tool in [Tool::Forge, Tool::Gh] {
        let world = World::new();
        unpushed(&world, "late");
        let run = world.command_as(tool, REVIEWER, "pr create");
        let mut terminal = Terminal::start(&run.env("GH_SPINNER_DISABLED", "1"), 120, 40);
        terminal.expect("Create a fork of octocat/tools");
        if tool == Tool::Gh {
            let _ = terminal.interrupt();
            continue;
        }
        terminal.send(&format!("{DOWN}{ENTER}"));
        terminal.reply("Title", ENTER);
        terminal.reply("Body", &format!("{DOWN}{ENTER}"));
        terminal.reply("What's next?", ENTER);
        let out = terminal.finish();
        assert_eq!(out.code, Some(0), "{out:?}");
        let fields = "isCrossRepository,headRefName,headRepositoryOwner";
        let seen = world.fields(Tool::Gh, "1", fields);
        assert_eq!(seen["isCrossRepository"], true, "{seen}");
        assert_eq!(seen["headRepositoryOwner"]["login"], "reviewer", "{seen}");
        let upstream = world.git(&["rev-parse", "--abbrev-ref", "late@{upstream}"]);
        assert_eq!(upstream.trim(), "fork/late");
    }
}

#[test]
fn create_offers_the_templates() {
    let world = World::new();
    let dir = "clone/.github/PULL_REQUEST_TEMPLATE";
    world.push("feature");
    world
        .scratch
        .write(format!("{dir}/fix.md"), "What does it fix?\n");
    world
        .scratch
        .write(format!("{dir}/new.md"), "What is new?\n");
    let mut terminal = terminal(&world, Tool::Forge, "pr create --title T");
    terminal.reply("Choose a template", &format!("{DOWN}{ENTER}"));
    terminal.reply("Body", &format!("{DOWN}{ENTER}"));
    terminal.reply("What's next?", ENTER);
    let out = terminal.finish();
    assert_eq!(out.code, Some(0), "{out:?}");
    let body = world.fields(Tool::Gh, "1", "body")["body"].clone();
    // As in gh, the commit's body comes first, and then the template.
    assert_eq!(body.as_str().unwrap().trim(), "Why.\n\nWhat is new?");
}

#[test]
fn create_push_pushes_and_sets_the_upstream() {
    let world = World::new();
    unpushed(&world, "late");
    let made = world
        .command(Tool::Forge, "pr create -t T -b B --push")
        .output()
        .success();
    assert!(
        made.stdout_text().ends_with("/octocat/tools/pull/1\n"),
        "{made:?}"
    );
    assert!(
        made.stderr_text().contains("Pushed late -> origin/late"),
        "{made:?}"
    );
    let upstream = world.git(&["rev-parse", "--abbrev-ref", "late@{upstream}"]);
    assert_eq!(upstream.trim(), "origin/late");
    world.same("1", "title,body,headRefName,headRefOid");
    // If an error prevents the pull request, the branch is not pushed either.
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "More"]);
    let before = pushed(&world);
    world.fails(Tool::Forge, "pr create -t T -b B --push");
    world.git(&["checkout", "--quiet", "main"]);
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "On main"]);
    world.fails(Tool::Forge, "pr create -t T -b B --push");
    world.fails(Tool::Forge, "pr create -t T -b B --push -H no-such-branch");
    world.git(&["checkout", "--quiet", "-b", "later"]);
    for (flags, missing) in [
        ("-r nobody-here", "there is no account 'nobody-here'"),
        ("-l no-label", "there is no label 'no-label'"),
        ("-B no-base", "there is no branch 'no-base'"),
    ] {
        let line = format!("pr create -t T -b B --push {flags}");
        let said = world.fails(Tool::Forge, &line).stderr_text();
        assert!(said.contains(missing) && !said.contains("ushed"), "{said}");
    }
    assert_eq!((pulls(&world), pushed(&world)), (1, before));
    listed("`pr create --push` pushes the branch first, without a question");
}

#[test]
fn create_with_rejected_push_opens_nothing() {
    let world = World::new();
    world.push("late");
    world.git(&["commit", "--quiet", "--amend", "-m", "Another history"]);
    let before = pushed(&world);
    let out = world.fails(Tool::Forge, "pr create -t T -b B --push");
    assert!(out.stderr_text().contains("not pushed: late"), "{out:?}");
    assert_eq!((pulls(&world), pushed(&world)), (0, before));
}

#[test]
fn create_with_auto_flag_enables_auto_merge() {
    let world = World::new();
    let mut seed = world.double.seed();
    seed.configure(REPO, |repo| repo.allow_auto_merge = true);
    let rules = forge_github_double::state::Protection {
        approvals: 1,
        ..Default::default()
    };
    seed.protect(REPO, "main", rules);
    drop(seed);
    world.push("feature");
    world
        .command(Tool::Forge, "pr create -t T -b B --auto")
        .ok();
    let seen = world.fields(Tool::Gh, "1", "state,autoMergeRequest");
    assert_eq!(seen["state"], "OPEN");
    assert!(seen["autoMergeRequest"].is_object(), "{seen}");
    listed("`pr create --auto` has the pull request merged as soon as its requirements are met");
}

#[test]
fn create_with_disallowed_auto_merge_still_opens_pull() {
    let world = World::new();
    let rules = forge_github_double::state::Protection {
        approvals: 1,
        ..Default::default()
    };
    world.double.seed().protect(REPO, "main", rules);
    world.push("feature");
    let out = world.fails(Tool::Forge, "pr create -t T -b B --auto");
    assert!(
        out.stdout_text().ends_with("/octocat/tools/pull/1\n"),
        "{out:?}"
    );
    assert!(
        out.stderr_text()
            .contains("is open, but neither merged nor queued"),
        "{out:?}"
    );
    assert_eq!(world.fields(Tool::Gh, "1", "state")["state"], "OPEN");
}
