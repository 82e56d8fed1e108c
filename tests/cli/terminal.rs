//! Tests output and questions on a terminal.
#![cfg(unix)]

use std::time::Duration;

use forge_github_double::Fault;
use forge_testkit::{Run, Terminal, TtyOutput};

use crate::{
    hub::{Hub, REPO},
    world::World,
};

fn show(run: &Run, columns: u16) -> TtyOutput {
    let out = Terminal::start(&run.clone().env("PAGER", "cat"), columns, 40).finish();
    assert_eq!(out.code, Some(0), "{}", out.text);
    out
}

#[test]
fn list_has_heading_columns_and_colours() {
    let world = World::with_pull();
    let out = show(&world.forge(&["pr", "list"]), 100);
    let plain = world.stable(&out.plain());
    assert!(
        plain.contains("Showing 1 of 1 open pull request in file://[dir]/repo"),
        "{plain}"
    );
    assert!(plain.contains("ID  TITLE"), "{plain}");
    assert!(plain.contains("#1  Title of feature  feature"), "{plain}");
    assert!(plain.contains("ago"), "{plain}");
    assert!(!plain.contains("OPEN"), "{plain}");
    assert!(out.text.contains("\u{1b}["), "no colour: {:?}", out.text);
}

#[test]
fn table_fits_the_terminal() {
    let world = World::new();
    world.feature("feature");
    let title = "word ".repeat(50);
    world
        .forge(&[
            "pr",
            "create",
            "-H",
            "feature",
            "-t",
            title.trim(),
            "-b",
            "",
        ])
        .ok();
    for columns in [20, 30, 44, 60, 80, 120] {
        let plain = show(&world.forge(&["pr", "list"]), columns).plain();
        let row = plain.lines().find(|l| l.starts_with("#1")).unwrap();
        assert!(
            row.chars().count() <= usize::from(columns),
            "{columns}: {row:?}"
        );
    }
}

#[test]
fn wide_characters_take_two_columns_in_tables() {
    let world = World::new();
    world.feature("feature");
    world
        .forge(&[
            "pr",
            "create",
            "-H",
            "feature",
            "-t",
            &"漢字".repeat(40),
            "-b",
            "",
        ])
        .ok();
    let plain = show(&world.forge(&["pr", "list"]), 60).plain();
    let row = plain.lines().find(|l| l.starts_with("#1")).unwrap();
    let width: usize = row
        .chars()
        .map(|c| if c > '\u{2e80}' { 2 } else { 1 })
        .sum();
    assert!(width <= 60, "{width}: {row:?}");
}

#[test]
fn no_color_switches_colour_off() {
    let world = World::with_pull();
    for run in [
        world.forge(&["pr", "list"]).env("NO_COLOR", "1"),
        world.forge(&["pr", "list", "--color", "never"]),
        world.forge(&["pr", "view", "1"]).env("NO_COLOR", "1"),
        world.forge(&["pr", "diff", "1"]).env("NO_COLOR", "1"),
    ] {
        let out = show(&run, 80);
        assert!(!out.text.contains("\u{1b}["), "{:?}", out.text);
    }
}

#[test]
fn body_is_rendered_as_markdown() {
    let world = World::new();
    world.feature("feature");
    let body = "# Heading\n\nSome **bold** text.\n\n- one\n- two\n\n```rust\nfn f() {}\n```\n";
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", body])
        .ok();
    let out = show(&world.forge(&["pr", "view", "1"]), 80);
    let plain = out.plain();
    assert!(
        plain.contains("bold") && !plain.contains("**bold**"),
        "{plain}"
    );
    assert!(
        plain.contains("fn f() {}") && !plain.contains("```"),
        "{plain}"
    );
    assert!(out.text.contains("\u{1b}[1m"), "{:?}", out.text);
}

#[test]
fn diff_is_coloured() {
    let world = World::with_pull();
    let out = show(&world.forge(&["pr", "diff", "1"]), 80);
    assert!(out.text.contains("\u{1b}[32m+one"), "{:?}", out.text);
}

#[test]
fn empty_list_on_terminal_prints_message() {
    let world = World::new();
    let out = show(&world.forge(&["pr", "list"]), 80);
    let plain = world.stable(&out.plain());
    assert_eq!(plain.trim(), "no open pull requests in file://[dir]/repo");
}

#[test]
fn long_output_goes_through_the_pager() {
    let world = World::with_pull();
    let body = "A paragraph.\n\n".repeat(30);
    world.forge(&["pr", "edit", "1", "--body", &body]).ok();
    let run = world
        .forge(&["pr", "view", "1"])
        .env("FORGE_PAGER", "sed s/^/paged:/");
    let out = Terminal::start(&run, 80, 10).finish();
    assert_eq!(out.code, Some(0), "{}", out.text);
    let plain = out.plain();
    let paged = plain.lines().filter(|l| l.starts_with("paged:"));
    assert!(paged.count() >= 60, "{plain}");
}

#[test]
fn merge_on_terminal_asks_for_the_method() {
    let world = World::with_pull();
    let mut terminal = Terminal::start(&world.forge(&["pr", "merge", "1"]), 80, 24);
    terminal.expect("What merge method");
    let out = terminal.interrupt();
    assert_eq!(out.code, Some(2), "{}", out.text);
    assert_eq!(world.json("1", "state")["state"], "OPEN");
}

#[test]
fn forced_terminal_output_has_configured_width() {
    let world = World::new();
    world.feature("feature");
    let title = "word ".repeat(50);
    world
        .forge(&[
            "pr",
            "create",
            "-H",
            "feature",
            "-t",
            title.trim(),
            "-b",
            "",
        ])
        .ok();
    let text = world
        .forge(&["pr", "list"])
        .env("GH_FORCE_TTY", "50")
        .env("NO_COLOR", "1")
        .text();
    let row = text.lines().find(|l| l.starts_with("#1")).unwrap();
    assert!(row.chars().count() <= 50, "{row:?}");
}

/// The sequence that removes a spinner: it returns to the left margin and clears the line.
const CLEARED: &str = "\r\u{1b}[K";

#[test]
fn long_wait_shows_progress_until_done() {
    let hub = Hub::with_pull();
    let wait = Duration::from_millis(700);
    hub.double.fault(Fault::delayed(wait).always());
    let out = show(&hub.forge(&["pr", "list", "-R", REPO]), 80);
    let (before, after) = out.text.split_once(CLEARED).unwrap();
    assert!(before.contains(" Reading (pr.list)"), "{:?}", out.text);
    assert!(!before.contains("Work"), "{:?}", out.text);
    assert!(after.contains("Work"), "{:?}", out.text);
    assert!(!after.contains("Reading"), "{:?}", out.text);
    let out = show(&hub.forge(&["pr", "close", "1", "-R", REPO]), 80);
    assert!(out.text.contains(" Writing (pr.close)"), "{:?}", out.text);
    // Piped output shows no progress.
    let out = hub.forge(&["pr", "list", "-R", REPO]).output().success();
    assert!(out.stderr.is_empty(), "{out:?}");
}

#[test]
fn progress_appears_after_several_short_waits() {
    let hub = Hub::with_pull();
    let comment = |more: &[&str]| {
        let args = [&["pr", "comment", "1", "-R", REPO][..], more].concat();
        hub.forge(&args)
    };
    comment(&["-b", "First"]).ok();
    let wait = Duration::from_millis(300);
    hub.double.fault(Fault::delayed(wait).always());
    let out = show(&comment(&["--edit-last", "-b", "Second"]), 80);
    assert!(
        out.text.contains(" Writing (comment.edit)"),
        "{:?}",
        out.text
    );
    assert!(out.text.contains(CLEARED), "{:?}", out.text);
}

#[test]
fn check_rows_name_workflow_and_fit_the_terminal() {
    let hub = Hub::with_pull();
    hub.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
    hub.double.seed().status(REPO, 1, "deploy", "SUCCESS");
    let run = hub.forge(&["pr", "checks", "1", "-R", REPO]);
    let plain = show(&run, 100).plain();
    assert!(plain.contains("✓  CI/build (pull_request)"), "{plain}");
    assert!(plain.contains("✓  deploy "), "{plain}");
    let plain = show(&run, 20).plain();
    let rows: Vec<&str> = plain.lines().filter(|l| l.starts_with('✓')).collect();
    assert_eq!(rows.len(), 2, "{plain}");
    assert!(rows.iter().all(|row| row.chars().count() <= 20), "{plain}");
}

#[test]
fn view_shows_commits_reactions_and_newest_comment() {
    let hub = Hub::with_pull();
    {
        let mut seed = hub.double.seed();
        seed.react(REPO, 1, "ada", "THUMBS_UP");
        seed.react(REPO, 1, "grace", "HEART");
        seed.comment(REPO, 1, "ada", "First words.");
        seed.comment(REPO, 1, "grace", "Last words.");
    }
    let view = ["pr", "view", "1", "-R", REPO];
    let plain = show(&hub.forge(&view), 100).plain();
    for part in [
        "Work octo/tools#1\n",
        "grace wants to merge 1 commit into main from work",
        "1 👍 • 1 ❤️\n",
        "———————— Not showing 1 comment ————————",
        "grace (Collaborator) • ",
        " • Newest comment\n  Last words.\n",
        "Use --comments to view the full conversation",
    ] {
        assert!(plain.contains(part), "{part:?}: {plain}");
    }
    assert!(!plain.contains("First words."), "{plain}");
    let run = hub.forge(&[&view[..], &["--comments"]].concat());
    let plain = show(&run, 100).plain();
    assert!(plain.contains("First words."), "{plain}");
    assert_eq!(plain.matches("Newest comment").count(), 1, "{plain}");
    assert!(!plain.contains("Not showing"), "{plain}");
    hub.double.seed().thread(REPO, 1, "grace", "a.txt");
    let plain = show(&run, 100).plain();
    let threads = format!("1 open thread: forge pr thread list 1 -R {REPO}\n");
    assert!(plain.contains(&threads), "{plain}");
}
