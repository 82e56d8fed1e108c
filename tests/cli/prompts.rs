//! Tests the questions on a terminal. Pressing Enter once must never publish anything.
#![cfg(unix)]

use std::{
    fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command, thread::sleep,
    time::Duration,
};

use forge_github_double::PullSeed;
use forge_testkit::{Run, Scratch, Terminal, TtyOutput};

use crate::{
    hub::{Hub, REPO},
    tangled::world::{PULL, Tangled, WIDGET},
    world::World,
};

/// The key that moves the selection down by one item.
const DOWN: &str = "\u{1b}[B";

fn answer(run: &Run, answers: &[(&str, &str)]) -> TtyOutput {
    Terminal::start(&run.clone().env("PAGER", "cat"), 120, 40).answer(answers)
}

/// Creates an editor that replaces a file's text by `text`, and returns its path.
pub fn editor(scratch: &Scratch, text: &str) -> PathBuf {
    let path = scratch.path("editor");
    fs::write(&path, format!("#!/bin/sh\nprintf '%s' '{text}' >\"$1\"\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Asserts that the parts occur in the text in this order.
#[track_caller]
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("no {part:?} in its place:\n{text}");
        };
        rest = after;
    }
}

/// The menu counts the columns of a row, and cannot know how wide a tab is.
#[test]
fn rows_of_checkout_menu_have_no_tabs() {
    let world = World::with_pull();
    world.switch("main");
    let out = answer(
        &world.forge(&["pr", "checkout"]),
        &[("Select a pull request", "\r")],
    );
    assert_eq!(out.code, Some(0), "{}", out.text);
    let shown = out.plain();
    assert!(shown.contains("1  Title of feature [feature]"), "{shown}");
    assert!(!shown.contains('\t'), "{shown}");
}

#[test]
fn text_without_match_checks_nothing_out() {
    let world = World::with_pull();
    world.open("topic/two");
    world.switch("main");
    let branch = || world.git.run(["branch", "--show-current"]).text();
    for typed in ["9\r", "main\r", "jj\r", "#2\r"] {
        let mut terminal = Terminal::start(&world.forge(&["pr", "checkout"]), 120, 40);
        terminal.expect("Select a pull request");
        terminal.send(typed);
        terminal.expect("no row has this text");
        let out = terminal.interrupt();
        assert_eq!(out.code, Some(2), "{typed:?}: {}", out.text);
        assert_eq!(branch(), "main\n", "{typed:?}");
    }
    for (typed, wanted) in [("feat\r", "feature\n"), ("TWO\r", "topic/two\n")] {
        let question = [("Select a pull request", typed)];
        let out = answer(&world.forge(&["pr", "checkout"]), &question);
        assert_eq!(out.code, Some(0), "{}", out.text);
        assert_eq!(branch(), wanted);
        world.switch("main");
    }
}

#[test]
fn single_enter_publishes_nothing() {
    let world = World::with_pull();
    let editor = editor(&world.scratch, "Words.");
    let issue = world
        .forge(&["issue", "create", "-t", "T", "-b", "B"])
        .text();
    let remark = "feature.txt:1=Why one?";
    world.grace(&["pr", "review", "1", "--line", remark]).ok();
    let list = [
        "pr", "thread", "list", "1", "--json", "id", "--jq", ".[0].id",
    ];
    let thread = world.forge(&list).text();
    let before = world.git.run(["for-each-ref"]).text();
    for (line, first, second) in [
        (
            &["pr", "merge", "1"][..],
            "What merge method",
            "What's next?",
        ),
        (&["pr", "review", "1"], "What kind of review", "Review body"),
        (&["pr", "comment", "1"], "Press Enter", "Submit?"),
        (&["pr", "edit", "1"], "(Title of feature)", "Submit?"),
        (
            &["pr", "thread", "reply", "1", thread.trim()],
            "Press Enter",
            "Submit?",
        ),
        (
            &["issue", "comment", issue.trim()],
            "Press Enter",
            "Submit?",
        ),
        (&["issue", "create"], "Title", "What's next?"),
    ] {
        let run = world.forge(line).env("FORGE_EDITOR", &editor);
        let mut terminal = Terminal::start(&run, 120, 40);
        match line[1] {
            "merge" => {
                terminal.expect(first);
                terminal.send("\r");
                terminal.expect("Delete the branch");
                terminal.send("\r");
            }
            "edit" => {
                terminal.expect("What would you like to edit?");
                terminal.send(" \r");
                terminal.expect(first);
                terminal.send("New\r");
            }
            "create" => {
                terminal.reply(first, "\r");
                terminal.reply("the title is empty", "T\r");
                terminal.reply("Body", "\r");
            }
            _ => {
                terminal.expect(first);
                terminal.send("\r");
            }
        }
        terminal.expect(second);
        let out = terminal.interrupt();
        assert_eq!(out.code, Some(2), "{line:?}: {}", out.text);
        assert_eq!(world.git.run(["for-each-ref"]).text(), before, "{line:?}");
    }
    let out = answer(
        &world.forge(&["pr", "edit", "1"]),
        &[("What would you like to edit?", "\r")],
    );
    assert_eq!(out.code, Some(0), "{}", out.text);
    assert!(out.plain().contains("nothing was changed"), "{}", out.text);
    assert_eq!(world.git.run(["for-each-ref"]).text(), before);
}

#[test]
fn edit_menu_without_colour_shows_the_cursor() {
    let world = World::with_pull();
    let run = world.forge(&["pr", "edit", "1"]).env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&run, 120, 40);
    terminal.expect("❯ ⬚ Title");
    terminal.send(DOWN);
    terminal.expect("❯ ⬚ Body");
    let out = terminal.interrupt();
    assert_eq!(out.code, Some(2), "{}", out.text);
}

#[test]
fn merge_shows_branches_checks_and_threads() {
    let hub = Hub::with_pull();
    hub.double.seed().check(REPO, 1, "CI", "build", "FAILURE");
    hub.double.seed().check(REPO, 1, "CI", "test", "SUCCESS");
    let line = "work.txt:1=Why?";
    hub.forge(&["pr", "review", "1", "-R", REPO, "-c", "--line", line])
        .ok();
    let out = answer(
        &hub.forge(&["pr", "merge", "1", "-R", REPO]),
        &[
            ("What merge method", "\r"),
            ("Delete the branch in octo/tools?", "y\r"),
            ("What's next?", "\r"),
        ],
    );
    assert_eq!(out.code, Some(0), "{}", out.text);
    in_order(
        &out.plain(),
        &[
            "Merging pull request octo/tools#1 (Work)\n",
            "into main from work • checks: 1 failing, 1 successful • 1 open thread\n",
            "What merge method",
            "Delete the branch",
            "What's next?",
            "Merged pull request octo/tools#1 (Work)",
            "Deleted branch work",
        ],
    );
}

#[test]
fn update_of_branch_of_others_asks() {
    let hub = Hub::with_pull();
    let files = [("m", Some("m\n"))];
    hub.double.seed().commit(REPO, "main", &files, "More");
    let head = || hub.double.seed().pull_of(REPO, 1).head_oid.clone();
    let before = head();
    let update = hub.forge(&["pr", "update-branch", "1", "-R", REPO]);
    let question = "grace is the author of the pull request. Update the branch?";
    let answer = |key: &str| Terminal::start(&update, 200, 40).answer(&[(question, key)]);
    let out = answer("\r");
    assert_eq!(out.code, Some(2), "{}", out.text);
    assert_eq!(head(), before);
    let out = answer("y\r");
    assert_eq!(out.code, Some(0), "{}", out.text);
    assert!(out.text.contains("PR branch updated"), "{}", out.text);
}

/// The question shows issues that are only in the record's references, not in its visible text.
#[test]
fn merge_on_tangled_shows_issues_in_references() {
    let t = Tangled::new();
    let create = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    let issue = t.forge(&t.alice, &create).text();
    let issue = issue.trim();
    let pull = t.open("work");
    let (_, mut record) = t.world.pds().record(&pull).unwrap();
    record["references"] = serde_json::json!([issue]);
    let rkey = pull.rsplit('/').next().unwrap();
    t.world.pds().put(&t.alice.did, PULL, rkey, record);
    let merge = t.forge(&t.alice, &["pr", "merge", &pull, "-R", WIDGET]);
    let mut terminal = Terminal::start(&merge, 200, 40);
    terminal.expect(&format!("linked issues: {issue}"));
    let _ = terminal.interrupt();
}

/// A request for changes that the index never comes to is unknown before the questions.
#[test]
fn merge_on_tangled_shows_unread_verdicts() {
    let t = Tangled::new();
    t.enable_verdicts();
    let pull = t.open("work");
    let review = ["pr", "review", &pull, "--request-changes", "-b", "No."];
    t.forge(&t.bob, &review).ok();
    let merge = t.forge(&t.alice, &["pr", "merge", &pull, "-R", WIDGET]);
    for words in [
        "no_changes_requested is not met",
        "no_changes_requested is not known",
    ] {
        let mut terminal = Terminal::start(&merge, 200, 40);
        terminal.expect(words);
        let _ = terminal.interrupt();
        t.flood_comments();
    }
}

#[test]
fn merge_message_is_edited_before_submission() {
    let world = World::with_pull();
    let run = world
        .forge(&["pr", "merge", "1"])
        .env("FORGE_EDITOR", editor(&world.scratch, "Typed subject"));
    let (squash, edit) = (DOWN.repeat(2) + "\r", DOWN.to_owned() + "\r");
    let mut terminal = Terminal::start(&run, 120, 40);
    terminal.reply("What merge method", &squash);
    terminal.reply("Delete the branch", "\r");
    terminal.reply("What's next?", &edit);
    // The terminal repeats the answer without a cursor, and `forge` then asks the question again.
    terminal.expect("❯");
    terminal.send("\r");
    let out = terminal.finish();
    assert_eq!(out.code, Some(0), "{}", out.text);
    let subject = world.git.run(["log", "-1", "--format=%s", "main"]).text();
    assert_eq!(subject, "Typed subject\n");
}

#[test]
fn merge_with_base_edited_during_question_is_refused() {
    let world = World::with_pull();
    world.git.run(["branch", "release", "main"]).ok();
    let before = world.git.run(["for-each-ref", "refs/heads"]).text();
    let mut terminal = Terminal::start(&world.forge(&["pr", "merge", "1"]), 120, 40);
    for question in ["What merge method", "Delete the branch"] {
        terminal.expect(question);
        terminal.send("\r");
    }
    terminal.expect("What's next?");
    world.forge(&["pr", "edit", "1", "--base", "release"]).ok();
    terminal.send("\r");
    let out = terminal.finish();
    assert_eq!(out.code, Some(1), "{}", out.text);
    let said = out.plain();
    assert!(said.contains("is 'release', not 'main'"), "{said}");
    let after = world.git.run(["for-each-ref", "refs/heads"]).text();
    assert_eq!(after, before);
}

#[test]
fn merge_of_stacked_pull_names_the_lower_pull() {
    let world = World::with_pull();
    world.feature("upper");
    let create = ["pr", "create", "-H", "upper", "-t", "T", "-b", "B"];
    world.forge(&create).args(["--depends-on", "1"]).ok();
    let out = answer(&world.forge(&["pr", "merge", "2"]), &[]);
    let said = out.plain();
    assert_eq!(out.code, Some(1), "{said}");
    assert!(said.contains("first: forge pr merge 1"), "{said}");
    assert!(!said.contains("--auto"), "{said}");
    assert!(!said.contains("What merge method"), "{said}");
}

#[test]
fn configured_merge_method_is_preselected() {
    let world = World::with_pull();
    world
        .forge(&["config", "set", "merge.method", "squash"])
        .ok();
    let out = answer(
        &world.forge(&["pr", "merge", "1"]),
        &[
            ("What merge method", "\r"),
            ("Delete the branch", "\r"),
            ("What's next?", "\r"),
        ],
    );
    assert_eq!(out.code, Some(0), "{}", out.text);
    assert!(out.plain().contains("Squashed and merged"), "{}", out.text);
}

/// A git process that `forge` no longer needs can end while `forge` waits for a key. The question
/// must stay open.
#[test]
fn exit_of_child_process_does_not_end_question() {
    let world = World::with_pull();
    let mut terminal = Terminal::start(&world.forge(&["pr", "merge", "1"]), 120, 40);
    terminal.reply("What merge method", "");
    let pid = terminal.pid().to_string();
    let sent = Command::new("kill").args(["-CHLD", &pid]).status().unwrap();
    assert!(sent.success());
    terminal.send("\r");
    terminal.reply("Delete the branch", "\r");
    terminal.reply("What's next?", "\r");
    let out = terminal.finish();
    assert_eq!(out.code, Some(0), "{}", out.text);
}

/// A question for a secret turns off the terminal's echo. An interrupted `forge` must turn the echo
/// on again, because the setting outlives the program.
#[test]
fn interrupted_question_for_a_secret_restores_the_echo() {
    let world = World::new();
    let run = world.forge(&["auth", "login", "--host", "github.com"]);
    let mut terminal = Terminal::start(&run, 120, 40);
    terminal.expect("Token");
    let becomes = |echoes: bool| {
        (0..400).any(|_| {
            sleep(Duration::from_millis(25));
            terminal.echoes() == echoes
        })
    };
    assert!(becomes(false));
    let pid = terminal.pid().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(sent.success());
    assert!(becomes(true));
    let out = terminal.finish();
    assert_eq!(out.code, Some(2), "{}", out.text);
}

#[test]
fn edit_changes_labels_and_people() {
    let world = World::with_pull();
    for label in ["bug", "docs"] {
        world.forge(&["label", "create", label, "--force"]).ok();
    }
    world.forge(&["pr", "edit", "1", "--add-label", "bug"]).ok();
    // The menu of a local repository lists title, body, reviewers, assignees and labels.
    let menu = DOWN.repeat(3) + " " + DOWN + " \r";
    let labels = " ".to_owned() + DOWN + " \r";
    let out = answer(
        &world.forge(&["pr", "edit", "1"]),
        &[
            ("What would you like to edit?", &menu),
            ("Assignees (with", "@me\r"),
            ("Labels (space", &labels),
            ("Submit?", "\r"),
        ],
    );
    assert_eq!(out.code, Some(0), "{}", out.text);
    let seen = world.json("1", "labels,assignees");
    assert_eq!(seen["labels"][0]["name"], "docs", "{seen}");
    assert_eq!(seen["labels"].as_array().map(Vec::len), Some(1), "{seen}");
    assert_eq!(
        seen["assignees"].as_array().map(Vec::len),
        Some(1),
        "{seen}"
    );
}

#[test]
fn names_in_questions_are_cleaned() {
    let hub = Hub::with_pull();
    let title = "\u{1b}]0;owned\u{7}Work";
    hub.double.seed().label(REPO, "\u{1b}[2Jlabel");
    hub.double.seed().open_pull(
        REPO,
        &PullSeed {
            author: "grace",
            title,
            head: "hostile",
            ..PullSeed::default()
        },
    );
    for (line, answers) in [
        (["pr", "merge", "2"], &[("What merge method", "\u{1b}")][..]),
        (
            ["pr", "edit", "2"],
            &[
                (
                    "What would you like to edit?",
                    " \u{1b}[B\u{1b}[B\u{1b}[B\u{1b}[B \r",
                ),
                ("owned", "Harmless\r"),
                ("Labels (space", "\u{1b}"),
            ],
        ),
    ] {
        let run = hub.forge(&[&line[..], &["-R", REPO]].concat());
        let out = answer(&run, answers);
        assert_eq!(out.code, Some(2), "{line:?}: {}", out.text);
        for escape in ["\u{1b}]0;", "\u{1b}[2J"] {
            assert!(!out.text.contains(escape), "{line:?}: {:?}", out.text);
        }
    }
}

#[test]
fn commit_subject_offered_as_title_is_cleaned() {
    let world = World::new();
    let subject = "\u{1b}]0;owned\u{7}Fix \u{202e}it";
    world
        .git
        .commit("hostile", subject, &[("a.txt", Some("one\n"))]);
    let out = answer(
        &world.forge(&["pr", "create", "-H", "hostile"]),
        &[("Title", "\r"), ("Body", "\u{1b}")],
    );
    assert_eq!(out.code, Some(2), "{}", out.text);
    for hostile in ["\u{1b}]0;", "\u{202e}"] {
        assert!(!out.text.contains(hostile), "{:?}", out.text);
    }
    assert!(out.plain().contains("Fix <U+202E>it"), "{}", out.text);
}
