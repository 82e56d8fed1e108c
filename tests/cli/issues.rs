//! `forge issue` on issues that are kept in a git repository, and labels on GitHub's too.

use forge_testkit::Run;
use serde_json::json;

use crate::{
    hub::{Hub, REPO},
    world::{DATE, World, rows},
};

/// With issue 1.
fn world() -> World {
    let world = World::new();
    world.forge(&["label", "create", "bug", "--force"]).ok();
    let out = world
        .forge(&[
            "issue",
            "create",
            "-t",
            "It breaks",
            "-b",
            "Often.",
            "-l",
            "Bug",
            "-a",
            "@me",
        ])
        .output()
        .success();
    assert_eq!(out.stdout_text(), format!("{}\n", world.url(1)));
    world
}

#[test]
fn what_is_opened_is_listed_and_viewed() {
    let world = world();
    let list = world.forge(&["issue", "list"]).output().success();
    assert_eq!(
        rows(&list.stdout_text()),
        [["1", "OPEN", "It breaks", "bug", DATE]]
    );
    let view = world.forge(&["issue", "view", "1"]).output().success();
    assert_eq!(
        view.stdout_text(),
        "title:\tIt breaks\nstate:\tOPEN\nauthor:\tada\nlabels:\tbug\ncomments:\t0\n\
         assignees:\tada\nprojects:\t\nmilestone:\t\nnumber:\t1\n--\nOften.\n"
    );
    let url = world.url(1);
    let json = [
        "issue",
        "view",
        &url,
        "--json",
        "number,title,state,comments",
    ];
    let json = world.forge(&json).output().success().json();
    assert_eq!(json["number"], 1);
    assert_eq!(json["comments"].as_array().map(Vec::len), Some(0));
}

#[test]
fn it_is_closed_commented_on_and_reopened() {
    let world = world();
    let close = ["issue", "close", "1", "-r", "not planned", "-c", "Not now."];
    let out = world.grace(&close).output().success();
    let said = out.stderr_text();
    assert!(said.contains("Closed issue") && said.contains("#1 (It breaks)"));
    let list = world.forge(&["issue", "list"]).output().success();
    assert!(list.stdout.is_empty(), "{list:?}");
    let again = world.forge(&["issue", "close", "1"]).output().success();
    assert!(again.says("is already closed").stdout.is_empty());
    world.forge(&["issue", "reopen", "1"]).ok();
    let made = world.forge(&["issue", "comment", "1", "-b", "Again."]);
    assert_eq!(
        made.output().success().stdout_text(),
        format!("{}\n", world.url(1))
    );
    let said = world
        .forge(&["issue", "view", "1", "-c"])
        .output()
        .success();
    assert_eq!(
        said.stdout_text(),
        "author:\tgrace\nassociation:\tnone\nedited:\tfalse\nstatus:\tnone\n--\nNot now.\n--\n\
         author:\tada\nassociation:\tnone\nedited:\tfalse\nstatus:\tnone\n--\nAgain.\n--\n"
    );
}

#[test]
fn title_and_body_are_edited() {
    let world = world();
    world
        .forge(&["issue", "edit", "1", "--title", "It broke", "-F", "-"])
        .stdin("Once.\n")
        .ok();
    let view = world.forge(&["issue", "view", "1", "--json", "title,body"]);
    let view = view.output().success().json();
    assert_eq!(
        (&view["title"], &view["body"]),
        (&"It broke".into(), &"Once.\n".into())
    );
    let out = world.forge(&["issue", "edit", "1"]).output().exits(1);
    assert!(out.stderr_text().contains("nothing to change was named"));
}

/// Labels of issue 1, which come and go with `run`; there are `bug`, `help wanted` and `question`.
fn labels_come_and_go(run: impl Fn(&[&str]) -> Run) {
    let edit = |flags: &[&str]| run(&[&["issue", "edit", "1"][..], flags].concat());
    let is = |title: &str, labels: &[&str]| {
        let view = run(&["issue", "view", "1", "--json", "title,labels,url"]);
        let issue = view.output().success().json();
        let names = issue["labels"].as_array().unwrap();
        let mut names: Vec<_> = names.iter().map(|l| l["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!((&issue["title"], names), (&json!(title), labels.to_vec()));
        format!("{}\n", issue["url"].as_str().unwrap())
    };
    let lists = ["--add-label", "bug,Question", "--add-label", "help wanted"];
    let said = edit(&lists).text();
    assert_eq!(said, is("It breaks", &["bug", "help wanted", "question"]));
    let lists = ["-t", "New", "--add-label", "bug", "--remove-label"];
    edit(&[&lists[..], &["BUG,help wanted"]].concat()).ok();
    is("New", &["question"]);
    // A label that does not exist is found out before anything is written.
    let unknown = edit(&["-t", "Newer", "--add-label", "bug,bgu"]);
    assert!(unknown.output().exits(1).says("bgu").stdout.is_empty());
    is("New", &["question"]);
    assert_eq!(
        edit(&["--add-label", "", "--remove-label", "bug"]).text(),
        is("New", &["question"])
    );
}

#[test]
fn labels_come_and_go_here_and_on_github() {
    let world = world();
    labels_come_and_go(|line| world.forge(line));
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    for label in ["help wanted", "question"] {
        seed.label(REPO, label);
    }
    seed.open_issue(REPO, "grace", "It breaks", "Often.");
    drop(seed);
    labels_come_and_go(|line| hub.forge(&[line, &["-R", REPO]].concat()));
}

#[test]
fn what_cannot_be_done_says_why() {
    let world = world();
    for (line, why) in [
        (vec!["issue", "view", "7"], "issue #7 was not found"),
        (
            vec!["issue", "view", "feature"],
            "invalid issue format: \"feature\"",
        ),
        (
            vec!["issue", "create", "-t", "T"],
            "must provide `--title` and `--body`",
        ),
        (
            vec!["issue", "create", "-t", " ", "-b", ""],
            "the title is empty",
        ),
        (
            vec!["issue", "create", "-t", "T", "-b", "", "-l", "bgu"],
            "no label is called 'bgu'",
        ),
        (
            vec!["issue", "comment", "1"],
            "flags required when not running interactively",
        ),
        (
            vec!["issue", "view", "https://github.com/o/r/pull/7"],
            "is a pull request, not an issue",
        ),
        (
            vec!["issue", "list", "--json", "nothing"],
            "Unknown JSON field: \"nothing\"",
        ),
    ] {
        let out = world.forge(&line).output().exits(1);
        assert!(out.stderr_text().contains(why), "{line:?}: {out:?}");
        assert!(out.stdout.is_empty(), "{line:?}");
    }
}

#[test]
fn stored_text_commands_no_terminal() {
    let world = World::new();
    let evil = "evil\u{1b}[2J\u{202e}";
    world
        .forge(&["issue", "create", "-t", evil, "-b", evil])
        .ok();
    world.forge(&["issue", "comment", "1", "-b", evil]).ok();
    for line in [
        vec!["issue", "list"],
        vec!["issue", "view", "1"],
        vec!["issue", "view", "1", "-c"],
        vec!["issue", "list", "--json", "title,body"],
        vec!["issue", "close", "1"],
    ] {
        let out = world.forge(&line).output().success();
        let said = format!("{}{}", out.stdout_text(), out.stderr_text());
        assert!(said.contains("evil"), "{line:?}: {said}");
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{line:?}: {said:?}");
    }
}
