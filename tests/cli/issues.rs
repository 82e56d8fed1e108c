//! Tests `forge issue` on issues that a git repository stores. The label commands are also tested
//! on GitHub.

use forge_github_double::PullSeed;
use forge_testkit::{Run, Scratch, Terminal};
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO, TOKEN},
    prompts::editor,
    world::{DATE, World, rows},
};

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
    assert_eq!(out.stdout_text(), format!("{}\n", url(&world, 1)));
    world
}

fn url(world: &World, number: u64) -> String {
    let path = world.git.path().canonicalize().unwrap();
    format!("file://{}#issue-{number}", path.display())
}

fn open(world: &World, title: &str, flags: &[&str]) {
    let line = ["issue", "create", "-t", title, "-b", ""];
    world.forge(&[&line, flags].concat()).ok();
}

fn json(world: &World, number: &str, fields: &str) -> Value {
    let view = world.forge(&["issue", "view", number, "--json", fields]);
    view.output().success().json()
}

fn numbers(list: &Value) -> Vec<u64> {
    let nodes = list["nodes"].as_array().unwrap();
    assert_eq!(list["totalCount"], nodes.len());
    nodes
        .iter()
        .map(|n| n["number"].as_u64().unwrap())
        .collect()
}

#[test]
fn opened_issue_is_listed_and_viewed() {
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
    let url = url(&world, 1);
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
fn issue_is_closed_commented_on_and_reopened() {
    let world = world();
    let close = ["issue", "close", "1", "-r", "not planned", "-c", "Not now."];
    let out = world.grace(&close).output().success();
    let said = out.stderr_text();
    assert!(said.contains("Closed issue") && said.contains("#issue-1 (It breaks)"));
    let list = world.forge(&["issue", "list"]).output().success();
    assert!(list.stdout.is_empty(), "{list:?}");
    let again = world.forge(&["issue", "close", "1"]).output().success();
    assert!(again.says("is already closed").stdout.is_empty());
    let again = ["issue", "close", "1", "-c", "Still not."];
    let again = world.forge(&again).output().success();
    let _ = again
        .says("is already closed")
        .says("additionally done: comment");
    world.forge(&["issue", "reopen", "1"]).ok();
    let made = world.forge(&["issue", "comment", "1", "-b", "Again."]);
    assert_eq!(
        made.output().success().stdout_text(),
        format!("{}\n", url(&world, 1))
    );
    let said = world
        .forge(&["issue", "view", "1", "-c"])
        .output()
        .success();
    assert_eq!(
        said.stdout_text(),
        "author:\tgrace\nassociation:\tnone\nedited:\tfalse\nstatus:\tnone\n--\nNot now.\n--\n\
         author:\tada\nassociation:\tnone\nedited:\tfalse\nstatus:\tnone\n--\nStill not.\n--\n\
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
    assert!(out.stderr_text().contains("no change was given"));
}

/// Adds labels to issue 1 and removes them. `run` returns the command for given arguments. The
/// labels `bug`, `help wanted` and `question` exist.
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
    // An unknown label is an error before anything is written.
    let unknown = edit(&["-t", "Newer", "--add-label", "bug,bgu"]);
    assert!(unknown.output().exits(1).says("bgu").stdout.is_empty());
    is("New", &["question"]);
    assert_eq!(
        edit(&["--add-label", "", "--remove-label", "bug"]).text(),
        is("New", &["question"])
    );
}

#[test]
fn labels_are_added_and_removed_on_both_forges() {
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
fn refused_issue_commands_name_the_reason() {
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
fn issue_text_is_printed_without_escapes() {
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

#[test]
fn relations_are_added_shown_and_removed() {
    let world = world();
    open(&world, "Part", &["--parent", "1", "--blocked-by", "#1"]);
    open(&world, "Blocker", &["--blocking", "1,2"]);
    let of = |number: &str| json(&world, number, "parent,subIssues,blockedBy,blocking");
    assert_eq!(
        of("2")["parent"],
        json!({"number": 1, "state": "OPEN", "title": "It breaks", "url": url(&world, 1)})
    );
    assert_eq!(numbers(&of("1")["subIssues"]), [2]);
    assert_eq!(numbers(&of("2")["blockedBy"]), [1, 3]);
    assert_eq!(numbers(&of("3")["blocking"]), [1, 2]);
    let view = world.forge(&["issue", "view", "2"]).text();
    let lines = "parent:\t#1 It breaks\nblocked-by:\t#1 It breaks, #3 Blocker\n";
    assert!(view.contains(lines), "{view}");
    let edit = |flags: &[&str]| world.forge(&[&["issue", "edit"], flags].concat());
    edit(&["2", "--remove-parent", "--remove-blocked-by", "1"]).ok();
    edit(&["1", "--add-sub-issue", "3", "--remove-blocked-by", "3"]).ok();
    assert_eq!(of("2")["parent"], Value::Null);
    assert_eq!(numbers(&of("2")["blockedBy"]), [3]);
    assert_eq!(of("3")["parent"]["number"], 1);
    assert_eq!(numbers(&of("1")["blockedBy"]), [0; 0]);
    let wrong = edit(&["1", "--remove-sub-issue", "2"]).output().exits(1);
    let _ = wrong.says("is not a sub-issue");
    edit(&["1", "--remove-sub-issue", "3", "--add-blocking", "3"]).ok();
    edit(&["2", "--parent", &url(&world, 3)]).ok();
    assert_eq!(numbers(&of("3")["blockedBy"]), [1]);
    assert_eq!(numbers(&of("3")["subIssues"]), [2]);
    edit(&["1", "--remove-blocking", "3"]).ok();
    assert_eq!(numbers(&of("3")["blockedBy"]), [0; 0]);
}

#[test]
fn edit_of_related_issues_alone_warns_about_nothing() {
    let world = world();
    open(&world, "Part", &[]);
    let edit = |flag| world.forge(&["issue", "edit", "1", flag, "2"]).output();
    for flag in ["--add-sub-issue", "--add-blocking"] {
        let out = edit(flag).success();
        assert_eq!(out.stderr_text(), "", "{flag}");
        assert_eq!(out.stdout_text(), format!("{}\n", url(&world, 1)));
    }
    let said = edit("--add-sub-issue").success().stderr_text();
    assert!(said.contains("issue #2 is already as requested"), "{said}");
    assert!(!said.contains("#1"), "{said}");
}

#[test]
fn estimate_and_priority_flags_set_workflow_fields() {
    let world = world();
    open(&world, "Sized", &["--estimate", "M", "--priority", "P1"]);
    let of = |number: &str| json(&world, number, "estimate,priority,values");
    assert_eq!(
        of("2"),
        json!({"estimate": "M", "priority": "P1", "values": {"Estimate": "M", "Priority": "P1"}})
    );
    assert_eq!(
        of("1"),
        json!({"estimate": null, "priority": null, "values": {}})
    );
    let edit = [
        "issue",
        "edit",
        "1",
        "2",
        "--estimate",
        "XS",
        "--priority",
        "",
    ];
    let urls = format!("{}\n{}\n", url(&world, 1), url(&world, 2));
    assert_eq!(world.forge(&edit).text(), urls);
    for number in ["1", "2"] {
        assert_eq!(of(number)["values"], json!({"Estimate": "XS"}), "{number}");
    }
    let view = world.forge(&["issue", "view", "2"]).text();
    assert!(view.contains("Estimate:\tXS\n"), "{view}");
    let list = [
        "issue",
        "list",
        "--json",
        "number,estimate",
        "--jq",
        ".[].estimate",
    ];
    assert_eq!(world.forge(&list).text(), "XS\nXS\n");
}

#[test]
fn several_issues_are_edited_at_once() {
    let world = world();
    open(&world, "Second", &[]);
    let edit = |flags: &[&str]| world.forge(&[&["issue", "edit", "1", "2"], flags].concat());
    edit(&["--add-label", "bug", "--add-assignee", "@me"]).ok();
    edit(&["--remove-assignee", "ada"]).ok();
    for number in ["1", "2"] {
        let issue = json(&world, number, "labels,assignees");
        assert_eq!(issue["labels"][0]["name"], "bug");
        assert_eq!(issue["assignees"], json!([]));
    }
    let refused = edit(&["--add-label", "bug", "--expected-version", "x"]);
    let _ = refused.output().exits(1).says("works with one issue");
    // If one issue is missing, the command still edits the others.
    let partly = world.forge(&["issue", "edit", "1", "9", "-t", "New"]);
    let partly = partly.output().exits(1).says("not changed: ");
    assert!(partly.stderr_text().contains("#9"), "{partly:?}");
    assert_eq!(partly.stdout_text(), format!("{}\n", url(&world, 1)));
    assert_eq!(json(&world, "1", "title")["title"], "New");
}

#[test]
fn edit_of_stale_version_is_refused() {
    let world = world();
    let version = json(&world, "1", "version")["version"].clone();
    let version = version.as_str().unwrap();
    let edit = |run: Run| run.args(["--expected-version", version]).output();
    let first = edit(world.forge(&["issue", "edit", "1", "-t", "Ada's"]));
    let _ = first.success();
    let second = edit(world.grace(&["issue", "edit", "1", "-t", "Grace's"]));
    let second = second.exits(1).says("Recovery: ");
    assert!(second.stdout.is_empty(), "{second:?}");
    assert_eq!(json(&world, "1", "title")["title"], "Ada's");
}

#[test]
fn comments_are_edited_and_deleted() {
    let world = world();
    let comment = |flags: &[&str]| world.forge(&[&["issue", "comment", "1"], flags].concat());
    let bodies = || -> Vec<String> {
        let comments = json(&world, "1", "comments");
        let comments = comments["comments"].as_array().unwrap().iter();
        comments
            .map(|c| c["body"].as_str().unwrap().to_owned())
            .collect()
    };
    let none = comment(&["--edit-last", "-b", "x"]).output().exits(1);
    let _ = none.says("no comments found for current user");
    comment(&["--edit-last", "--create-if-none", "-b", "One"]).ok();
    comment(&["-b", "Two"]).ok();
    world
        .grace(&["issue", "comment", "1", "-b", "Of Grace"])
        .ok();
    comment(&["--edit-last", "-b", "Two again"]).ok();
    assert_eq!(bodies(), ["One", "Two again", "Of Grace"]);
    let ids = json(&world, "1", "comments");
    let [first, third] = [0, 2].map(|n| ids["comments"][n]["id"].as_str().unwrap().to_owned());
    comment(&["--edit", &first, "-b", "One again"]).ok();
    let foreign = comment(&["--edit", &third, "-b", "x"]).output().exits(1);
    let _ = foreign.says("Recovery: ");
    let unasked = comment(&["--delete", &first]).output().exits(1);
    let _ = unasked.says("should provide `--yes`");
    comment(&["--delete", &first, "--yes"]).ok();
    comment(&["--delete-last", "--yes"]).ok();
    assert_eq!(bodies(), ["Of Grace"]);
    for (flags, why) in [
        (&["--delete", "none", "--yes"][..], "Recovery: "),
        (&["-b", "x", "--yes"], "`--yes` should only be used"),
        (
            &["--edit-last"],
            "flags required when not running interactively",
        ),
        (
            &["--edit", &third, "--delete-last", "-b", "x"],
            "cannot be used with",
        ),
    ] {
        let refused = comment(flags).output().exits(1);
        assert!(
            refused.stderr_text().contains(why),
            "{flags:?}: {refused:?}"
        );
    }
    assert_eq!(bodies(), ["Of Grace"]);
}

#[test]
fn deletion_needs_a_confirmation() {
    let world = world();
    let unasked = world.forge(&["issue", "delete", "1"]).output().exits(1);
    let _ = unasked.says("--yes required when not running interactively");
    assert_eq!(json(&world, "1", "number")["number"], 1);
    let gone = world
        .forge(&["issue", "delete", "1", "--yes"])
        .output()
        .success();
    let _ = gone.says("Deleted issue").says("#issue-1 (It breaks)");
    let lost = world.forge(&["issue", "view", "1"]).output().exits(1);
    let _ = lost.says("Recovery: ");
    // A new issue does not reuse the number of a deleted one.
    open(&world, "Next", &[]);
    assert_eq!(json(&world, "2", "title")["title"], "Next");
    // `--confirm` is gh's older name for `--yes`.
    world.forge(&["issue", "delete", "2", "--confirm"]).ok();
    let _ = world.forge(&["issue", "view", "2"]).output().exits(1);
}

#[test]
fn history_has_a_line_for_each_event() {
    let world = world();
    world.grace(&["issue", "close", "1", "-c", "Done."]).ok();
    world.forge(&["issue", "reopen", "1"]).ok();
    let lines = world.forge(&["issue", "history", "1"]).text();
    let lines = rows(&lines);
    let events: Vec<_> = lines.iter().map(|line| (line[1], line[2])).collect();
    assert_eq!(events.first(), Some(&("opened", "ada")));
    assert!(events.contains(&("closed", "grace")), "{events:?}");
    assert_eq!(events.last(), Some(&("reopened", "ada")));
    assert!(lines.iter().all(|line| line[0] == DATE), "{lines:?}");
    let kinds = [
        "issue",
        "history",
        "1",
        "--json",
        "event",
        "--jq",
        ".[0].event",
    ];
    assert_eq!(world.forge(&kinds).text(), "opened\n");
}

#[test]
fn github_issue_has_history_until_deletion() {
    let hub = Hub::new();
    let on = |args: &[&str]| hub.forge(&[&["issue"], args, &["-R", REPO]].concat());
    on(&["create", "-t", "It breaks", "-b", ""]).ok();
    on(&["close", "1"]).ok();
    on(&["reopen", "1"]).ok();
    let history = on(&["history", "1"]).text();
    let rows = rows(&history);
    let events: Vec<_> = rows.iter().map(|row| (row[1], row[2])).collect();
    assert_eq!(
        events,
        [("opened", "ada"), ("closed", "ada"), ("reopened", "ada")]
    );
    let gone = on(&["delete", "1", "--yes"]).output().success();
    let _ = gone.says("Deleted issue").says("#1 (It breaks)");
    for reads in ["view", "history"] {
        let lost = on(&[reads, "1"]).output().exits(1);
        let _ = lost.says("Recovery: ");
    }
}

#[test]
fn list_is_filtered_by_every_flag() {
    let world = world();
    open(&world, "Second", &[]);
    world
        .grace(&["issue", "create", "-t", "Of Grace", "-b", ""])
        .ok();
    world.forge(&["issue", "close", "2"]).ok();
    let list = |flags: &[&str]| -> Vec<u64> {
        let line = [&["issue", "list", "--json", "number"], flags].concat();
        let found = world.forge(&line).output().success().json();
        let found = found.as_array().unwrap().iter();
        found.map(|i| i["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(list(&[]), [3, 1]);
    assert_eq!(list(&["--state", "all"]), [3, 2, 1]);
    assert_eq!(list(&["--state", "closed"]), [2]);
    assert_eq!(list(&["--author", "grace"]), [3]);
    assert_eq!(list(&["--assignee", "@me"]), [1]);
    assert_eq!(list(&["--label", "bug"]), [1]);
    assert_eq!(list(&["--limit", "1"]), [3]);
    let template = [
        "issue",
        "list",
        "--json",
        "title",
        "--template",
        "{{range .}}{{.title}};{{end}}",
    ];
    assert_eq!(world.forge(&template).text(), "Of Grace;It breaks;");
}

#[test]
fn pull_and_issue_urls_are_distinguished() {
    let world = World::with_pull();
    open(&world, "Issue one", &[]);
    let pull = world.url(1);
    let refused = world.forge(&["issue", "close", &pull]).output().exits(1);
    let _ = refused
        .says("is a pull request, not an issue")
        .says(&format!(
            "Recovery: close the pull request: forge pr close '{pull}'"
        ));
    let issue = url(&world, 1);
    let refused = world.forge(&["pr", "view", &issue]).output().exits(1);
    assert!(refused.stdout.is_empty(), "{refused:?}");
    assert_eq!(json(&world, &issue, "title")["title"], "Issue one");
}

#[test]
fn label_values_are_refused_in_git_repositories() {
    let world = World::new();
    let line = ["label", "create", "size", "--value", "S", "--value", "M"];
    let refused = world.forge(&line).output().exits(1);
    let _ = refused.says("a label of a git repository has no values");
    let list = world.forge(&["label", "list"]).text();
    assert!(!list.contains("size"), "{list}");
}

#[test]
fn issues_on_github_are_searched_and_filtered() {
    let hub = Hub::new();
    {
        let mut seed = hub.double.seed();
        seed.open_issue(REPO, "ada", "Slow start", "Ask @grace.");
        seed.open_issue(REPO, "grace", "Slow end", "");
        seed.open_issue(REPO, "grace", "Slow but over", "");
    }
    let list = |flags: &[&str]| -> String {
        let line = ["issue", "list", "-R", REPO, "--json", "number"];
        let line = [&line[..], flags, &["--jq", "[.[].number]"]].concat();
        hub.forge(&line).text().trim().to_owned()
    };
    hub.forge(&["issue", "close", "3", "-R", REPO]).ok();
    assert_eq!(list(&["--search", "slow"]), "[2,1]");
    assert_eq!(list(&["-S", "slow is:closed"]), "[3]");
    assert_eq!(list(&["-S", "slow sort:created-asc"]), "[1,2]");
    assert_eq!(list(&["--search", "slow", "--author", "grace"]), "[2]");
    assert_eq!(list(&["--mention", "grace"]), "[1]");
    assert_eq!(list(&["--app", "robot"]), "[]");
    assert_eq!(list(&["-m", "v1.0"]), "[]");
    // A search covers only the given repository, even if its words name another one.
    hub.double.seed().repo_with_readme("octo/other");
    hub.double
        .seed()
        .open_issue("octo/other", "ada", "Slow elsewhere", "");
    let search = ["--search", "slow repo:octo/other", "-s", "all"];
    assert_eq!(list(&search), "[]");
    let search = ["--search", "slow OR repo:octo/other", "-s", "all"];
    assert_eq!(list(&search), "[3,2,1]");
    // The other filters apply to each alternative.
    assert_eq!(list(&["-S", "start OR end", "--author", "grace"]), "[2]");
    assert_eq!(list(&["-S", "start OR (slow is:closed)"]), "[3,1]");
    let ascending = "sort:created-asc start OR end";
    assert_eq!(list(&["-S", ascending]), "[1,2]");
    let unclosed = ["issue", "list", "-R", REPO, "-S", "(slow"];
    let refused = hub.forge(&unclosed).output().exits(1);
    let _ = refused.says("the search has a parenthesis without its counterpart");
}

#[test]
fn search_of_issues_is_refused_without_an_index() {
    let world = world();
    for flags in [["--search", "x"], ["--mention", "ada"], ["-m", "v1"]] {
        let line = [&["issue", "list"][..], &flags].concat();
        let refused = world.forge(&line).output().exits(1);
        let _ = refused
            .says("a git repository has no search index for issues")
            .says("Recovery: list by author, assignee or label");
    }
}

#[test]
fn workflow_store_checks_and_keeps_issue_values() {
    let world = world();
    for (flag, scale) in [("--estimate", "XS, S, M, L, XL"), ("--priority", "P0, P1")] {
        let refused = world.forge(&["issue", "edit", "1", flag, "Huge"]);
        let refused = refused.output().exits(1).says(scale);
        let _ = refused
            .says("Recovery: retry with one of: ")
            .says(&format!(": {flag} VALUE"));
    }
    assert_eq!(json(&world, "1", "values")["values"], json!({}));
    world.set("workflow.store", "labels");
    world.forge(&["workflow", "init"]).ok();
    open(&world, "Sized", &["--estimate", "m", "--priority", "P1"]);
    let of = |number: &str| {
        let labels = json(&world, number, "labels,estimate,priority");
        let names = labels["labels"].as_array().unwrap().iter();
        let names: Vec<&str> = names.map(|l| l["name"].as_str().unwrap()).collect();
        (names.join("; "), labels["estimate"].clone())
    };
    let sized = "estimate: M; priority: P1".to_owned();
    assert_eq!(of("2"), (sized, json!("M")));
    // A new value of a field replaces only the field's own label.
    let edit = ["issue", "edit", "1", "2", "--estimate", "XS"];
    world.forge(&edit).ok();
    world.forge(&["issue", "edit", "2", "--priority", ""]).ok();
    assert_eq!(of("1"), ("bug; estimate: XS".to_owned(), json!("XS")));
    assert_eq!(of("2"), ("estimate: XS".to_owned(), json!("XS")));
}

#[test]
fn milestone_on_github_is_set_and_removed() {
    let hub = Hub::new();
    let on = |args: &[&str]| hub.forge(&[&["issue"], args, &["-R", REPO]].concat());
    let of = |number: &str| {
        let view = on(&["view", number, "--json", "milestone"]).output();
        view.success().json()["milestone"]["title"].clone()
    };
    on(&["create", "-t", "One", "-b", "", "-m", "V1.0"]).ok();
    on(&["create", "-t", "Two", "-b", ""]).ok();
    assert_eq!([of("1"), of("2")], [json!("v1.0"), Value::Null]);
    on(&["edit", "1", "2", "--milestone", "v1.0"]).ok();
    assert_eq!([of("1"), of("2")], [json!("v1.0"), json!("v1.0")]);
    let list = ["list", "-m", "v1.0", "--json", "number", "--jq", "length"];
    assert_eq!(on(&list).text(), "2\n");
    on(&["edit", "1", "--remove-milestone", "-t", "New"]).ok();
    assert_eq!([of("1"), of("2")], [Value::Null, json!("v1.0")]);
    let refused = on(&["edit", "1", "-m", "v1.1", "-t", "Lost"]).output();
    let _ = refused.exits(1).says("v1.1").says("v1.0");
    let refused = on(&["create", "-t", "Lost", "-b", "", "-m", "v9"]).output();
    let _ = refused.exits(1).says("v9");
    let list = [
        "list",
        "-s",
        "all",
        "--json",
        "title",
        "--jq",
        "[.[].title]",
    ];
    assert_eq!(on(&list).text(), "[\"Two\",\"New\"]\n");
}

#[test]
fn related_issues_on_github_have_page_urls() {
    let hub = Hub::new();
    let on = |args: &[&str]| hub.forge(&[&["issue"], args, &["-R", REPO]].concat());
    let of = |number: &str, fields: &str| {
        let view = on(&["view", number, "--json", fields]).output();
        view.success().json()
    };
    on(&["create", "-t", "Whole", "-b", ""]).ok();
    on(&[
        "create",
        "-t",
        "Part",
        "-b",
        "",
        "--parent",
        "1",
        "--blocked-by",
        "1",
    ])
    .ok();
    let part = of("2", "url,parent,blockedBy");
    let whole = of("1", "url,subIssues,blocking");
    assert!(whole["url"].as_str().unwrap().starts_with("http"));
    assert_eq!(part["parent"]["url"], whole["url"]);
    assert_eq!(part["blockedBy"]["nodes"][0]["url"], whole["url"]);
    for list in ["subIssues", "blocking"] {
        assert_eq!(whole[list]["nodes"][0]["url"], part["url"], "{list}");
    }
}

#[test]
fn milestone_is_refused_on_forge_without_milestones() {
    let world = world();
    for line in [
        &["issue", "edit", "1", "-m", "v1"][..],
        &["issue", "edit", "1", "--remove-milestone"],
        &["issue", "create", "-t", "Lost", "-b", "", "-m", "v1"],
    ] {
        let refused = world.forge(line).output().exits(1);
        let _ = refused
            .says("a git repository has no milestones")
            .says("Recovery: use a label");
    }
    let list = world.forge(&["issue", "list", "--json", "number"]);
    assert_eq!(list.output().success().json(), json!([{"number": 1}]));
}

/// Path of an issue template with the name `Bug report`, and the template's text.
const TEMPLATE: [&str; 2] = [
    ".github/ISSUE_TEMPLATE/bug.md",
    "---\nname: Bug report\ntitle: 'Bug: '\nlabels: bug\n---\n\nWhat happens?\n",
];

#[test]
fn template_gives_the_text_of_an_issue() {
    let world = World::new();
    let [file, text] = TEMPLATE;
    world.scratch.write(format!("repo/{file}"), text);
    for (number, name) in [("1", "bug report"), ("2", "bug.md"), ("3", file)] {
        let create = ["issue", "create", "-t", "It breaks", "--template", name];
        world.forge(&create).ok();
        let issue = json(&world, number, "title,body");
        let wanted = json!({"title": "It breaks", "body": "What happens?\n"});
        assert_eq!(issue, wanted, "{name}");
    }
    // Without a terminal, the title of the template counts.
    world.forge(&["issue", "create", "-T", "bug.md"]).ok();
    let wanted = json!({"title": "Bug:", "body": "What happens?\n"});
    assert_eq!(json(&world, "4", "title,body"), wanted);
    world.scratch.write("repo/plain.md", "What?\n");
    world
        .scratch
        .write("repo/.github/ISSUE_TEMPLATE/form.yml", "name: Form\n");
    for (flags, why) in [
        (
            &["-t", "Lost", "-T", "none"][..],
            "there is no template 'none'",
        ),
        (
            &["-t", "Lost", "-T", "bug.md", "-b", "B"],
            "cannot be used with",
        ),
        (
            &["-T", "plain.md"],
            "the template 'plain.md' proposes no title",
        ),
        (&["-t", "Lost", "-T", "form.yml"], "is an issue form"),
        (&["-T", "Form"], "is an issue form"),
    ] {
        let create = [&["issue", "create"], flags].concat();
        let _ = world.forge(&create).output().exits(1).says(why);
    }
    let list = ["issue", "list", "--json", "number", "--jq", "length"];
    assert_eq!(world.forge(&list).text(), "4\n");
}

#[test]
fn template_and_attached_file_work_on_github() {
    let hub = Hub::new();
    let clone = hub.scratch.repository("clone");
    let [file, text] = TEMPLATE;
    hub.scratch.write(format!("clone/{file}"), text);
    hub.scratch.write("clone/a.png", "png");
    let on = |args: &[&str]| {
        let line = [&["issue"], args, &["-R", REPO]].concat();
        hub.forge(&line).dir(clone.path())
    };
    let body = |number: &str| {
        let view = on(&["view", number, "--json", "body,comments"]).output();
        view.success().json()
    };
    let attach = ["--attach", "a.png"];
    let create = [&["create", "-t", "T", "-T", "Bug report"], &attach[..]].concat();
    let foreign = on(&create).output().exits(1);
    let _ = foreign.says("this directory is not a clone of");
    let url = format!("http://github.localhost/{REPO}.git");
    clone.run(["remote", "add", "origin", url.as_str()]).ok();
    on(&create).ok();
    let made = body("1")["body"].as_str().unwrap().to_owned();
    assert!(made.starts_with("What happens?\n\n![a](http"), "{made}");
    on(&["create", "-t", "Plain", "-b", "Text"]).ok();
    on(&[&["edit", "2"], &attach[..]].concat()).ok();
    let edited = body("2")["body"].as_str().unwrap().to_owned();
    assert!(edited.starts_with("Text\n\n![a](http"), "{edited}");
    on(&[&["comment", "2"], &attach[..]].concat()).ok();
    let comment = body("2")["comments"][0]["body"].clone();
    assert!(comment.as_str().unwrap().starts_with("![a](http"));
    let several = on(&[&["edit", "1", "2"], &attach[..]].concat()).output();
    let _ = several.exits(1).says("--attach works with one issue");
    let deleted = on(&[&["comment", "2", "--delete-last", "--yes"], &attach[..]].concat());
    let _ = deleted.output().exits(1).says("not supported when using");
}

#[test]
fn attached_files_are_refused_in_git_repositories() {
    let world = world();
    for line in [
        &["issue", "create", "-t", "Lost", "-b", ""][..],
        &["issue", "edit", "1"],
        &["issue", "comment", "1", "-b", "Lost"],
    ] {
        let refused = world.forge(&[line, &["--attach", "a.png"]].concat());
        let refused = refused.output().exits(1).says("Recovery: ");
        let _ = refused.says("a plain git repository has no server that would show the file");
    }
    let list = ["issue", "list", "--json", "number", "--jq", "length"];
    assert_eq!(world.forge(&list).text(), "1\n");
    assert_eq!(json(&world, "1", "comments")["comments"], json!([]));
}

/// Runs `issue create` with an editor on a terminal, and returns the file with the text that the
/// refusal keeps.
fn kept_text(run: &Run) -> String {
    let out = Terminal::start(run, 120, 40).finish();
    assert_eq!(out.code, Some(1), "{}", out.text);
    let said = out.plain();
    let (_, path) = said.split_once("forge issue create --recover ").unwrap();
    path.split_once('`').unwrap().0.to_owned()
}

#[test]
fn editor_of_new_issue_needs_a_terminal() {
    let world = World::new();
    let editor = editor(&world.scratch, "Title");
    let create = ["issue", "create", "--editor"];
    let run = world.forge(&create).env("FORGE_EDITOR", editor);
    let _ = run.output().exits(1).says("needs a terminal");
    assert_eq!(world.forge(&["issue", "list"]).text(), "");
}

/// Tests that a refused `issue create` keeps the typed text, and that a later command with a valid
/// label restores the text.
fn typed_text_is_recovered(scratch: &Scratch, run: impl Fn(&[&str]) -> Run) {
    let editor = editor(scratch, "Typed title\n\nTyped text.");
    let create = ["issue", "create", "--editor", "-l", "bgu", "-a", "@me"];
    let kept = kept_text(&run(&create).env("FORGE_EDITOR", editor));
    let path = kept.as_str();
    run(&["issue", "create", "--recover", path, "-l", "bug"]).ok();
    std::fs::remove_file(path).unwrap();
    let fields = ["--json", "title,body,labels,assignees"];
    let view = run(&[&["issue", "view", "1"], &fields[..]].concat());
    let issue = view.output().success().json();
    assert_eq!(issue["title"], "Typed title");
    assert_eq!(issue["body"].as_str().unwrap().trim_end(), "Typed text.");
    assert_eq!(issue["labels"][0]["name"], "bug");
    assert_eq!(issue["assignees"][0]["login"], "ada");
    let gone = run(&["issue", "create", "--recover", path]).output();
    let _ = gone.exits(1).says("cannot be recovered");
}

#[test]
fn typed_text_of_refused_issue_is_recovered() {
    let world = World::new();
    world.forge(&["label", "create", "bug", "--force"]).ok();
    typed_text_is_recovered(&world.scratch, |line| world.forge(line));
    let hub = Hub::new();
    typed_text_is_recovered(&hub.scratch, |line| {
        hub.forge(&[line, &["-R", REPO]].concat())
    });
}

/// A draft has the relations and values of the flags, and its text replaces a template's.
#[test]
fn recovered_draft_keeps_flags_and_text() {
    let world = world();
    open(&world, "Later", &[]);
    let [file, text] = TEMPLATE;
    world.scratch.write(format!("repo/{file}"), text);
    let editor = editor(&world.scratch, "Part\n\nTyped text.");
    let create = ["issue", "create", "--editor", "--parent", "1", "-l", "bgu"];
    let values = ["--blocking", "2", "--estimate", "M", "--priority", "P1"];
    let refused = world.forge(&[&create[..], &values].concat());
    let kept = kept_text(&refused.env("FORGE_EDITOR", editor));
    let path = kept.as_str();
    let recover = ["issue", "create", "--recover", path, "-T", "bug.md"];
    let flags = ["-l", "bug", "--estimate", "S"];
    world.forge(&[&recover[..], &flags].concat()).ok();
    std::fs::remove_file(path).unwrap();
    let made = json(&world, "3", "body,blocking,estimate,parent,priority");
    assert_eq!(made["body"].as_str().unwrap().trim_end(), "Typed text.");
    assert_eq!(numbers(&made["blocking"]), [2]);
    assert_eq!(made["parent"]["number"], 1);
    assert_eq!([&made["estimate"], &made["priority"]], ["S", "P1"]);
}

#[test]
fn project_flag_is_refused_with_web_flag() {
    let hub = Hub::new();
    let create = ["issue", "create", "-R", REPO, "--web", "-p", "Roadmap"];
    let refused = hub.forge(&create).output().exits(1);
    let _ = refused.says("`--project` flag is not supported with `--web`");
}

#[test]
fn close_as_duplicate_shows_other_issue() {
    let world = world();
    open(&world, "It breaks again", &[]);
    let close = |flags: &[&str]| world.forge(&[&["issue", "close"], flags].concat());
    for (flags, why) in [
        (
            &["2", "--duplicate-of", "1", "-r", "completed"][..],
            "can only be used with `--reason duplicate`",
        ),
        (
            &["2", "--duplicate-of", "2"],
            "cannot reference the current",
        ),
        (&["2", "--duplicate-of", "9"], "issue #9 was not found"),
    ] {
        let _ = close(flags).output().exits(1).says(why);
    }
    assert_eq!(json(&world, "2", "state")["state"], "OPEN");
    close(&["2", "--duplicate-of", "1", "-c", "See there."]).ok();
    let closed = json(&world, "2", "stateReason,comments");
    assert_eq!(closed["stateReason"], "DUPLICATE");
    let comment = "See there.\n\nDuplicate of #1";
    assert_eq!(closed["comments"][0]["body"], comment);
    let hub = Hub::new();
    for title in ["It breaks", "It breaks again"] {
        hub.double.seed().open_issue(REPO, "grace", title, "");
    }
    let close = ["issue", "close", "2", "-R", REPO, "--duplicate-of"];
    let refused = hub.forge(&[&close[..], &["9"]].concat()).output();
    let _ = refused.exits(1).says("number of 9");
    hub.forge(&[&close[..], &["#1", "-r", "duplicate"]].concat())
        .ok();
    let seed = hub.double.seed();
    let (first, second) = (seed.issue_of(REPO, 1), seed.issue_of(REPO, 2));
    assert_eq!(second.reason.as_deref(), Some("DUPLICATE"));
    assert_eq!(second.duplicate_of, Some(first.id));
}

#[test]
fn type_on_github_is_set_filtered_and_removed() {
    let hub = Hub::new();
    for name in ["Bug", "Task"] {
        hub.double.seed().issue_type("octo", name);
    }
    let on = |args: &[&str]| hub.forge(&[&["issue"], args, &["-R", REPO]].concat());
    let of = |number: &str| {
        let view = on(&["view", number, "--json", "issueType"]).output();
        view.success().json()["issueType"]["name"].clone()
    };
    on(&["create", "-t", "One", "-b", "", "--type", "bug"]).ok();
    on(&["create", "-t", "Two", "-b", ""]).ok();
    assert_eq!([of("1"), of("2")], [json!("Bug"), Value::Null]);
    on(&["edit", "1", "2", "--type", "Task"]).ok();
    assert_eq!([of("1"), of("2")], [json!("Task"), json!("Task")]);
    let list = ["list", "--type", "Task", "--json", "number"];
    let list = || on(&[&list[..], &["--jq", "length"]].concat()).text();
    assert_eq!(list(), "2\n");
    on(&["edit", "1", "--remove-type"]).ok();
    assert_eq!([of("1"), of("2")], [Value::Null, json!("Task")]);
    assert_eq!(list(), "1\n");
    for line in [
        &["edit", "2", "--type", "Tusk", "-t", "Lost"][..],
        &["create", "-t", "Lost", "-b", "", "--type", "Tusk"],
    ] {
        let refused = on(line).output().exits(1);
        let _ = refused.says("there is no issue type 'Tusk'").says("Task");
    }
    let titles = ["list", "-s", "all", "--json", "title", "--jq"];
    let titles = on(&[&titles[..], &["[.[].title]"]].concat());
    assert_eq!(titles.text(), "[\"Two\",\"One\"]\n");
}

#[test]
fn projects_on_github_are_added_and_removed() {
    let hub = Hub::new();
    let on = |args: &[&str]| hub.forge(&[&["issue"], args, &["-R", REPO]].concat());
    let boards = || {
        let view = on(&["view", "1", "--json", "title,projectItems"]).output();
        let issue = view.success().json();
        assert_eq!(issue["title"], "One");
        let items = issue["projectItems"].as_array().unwrap().iter();
        let titles: Vec<String> = items
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect();
        titles
    };
    on(&["create", "-t", "One", "-b", "", "-p", "roadmap"]).ok();
    assert_eq!(boards(), ["Roadmap"]);
    on(&["edit", "1", "--remove-project", "Roadmap"]).ok();
    assert_eq!(boards(), [""; 0]);
    on(&["edit", "1", "--add-project", "Roadmap"]).ok();
    on(&["edit", "1", "--add-project", "Roadmap"]).ok();
    assert_eq!(boards(), ["Roadmap"]);
    for line in [
        &["edit", "1", "--add-project", "Raodmap", "-t", "Lost"][..],
        &["edit", "1", "--remove-project", "Raodmap", "-t", "Lost"],
        &["create", "-t", "Lost", "-b", "", "--project", "Raodmap"],
    ] {
        let _ = on(line).output().exits(1).says("Raodmap").says("Roadmap");
    }
    let list = ["list", "-s", "all", "--json", "number", "--jq", "length"];
    assert_eq!(on(&list).text(), "1\n");
    assert_eq!(boards(), ["Roadmap"]);
}

#[test]
fn types_and_projects_are_refused_in_git_repositories() {
    let world = world();
    let create = ["create", "-t", "Lost", "-b", ""];
    let no_type = "an issue in a git repository has no type";
    let no_boards = "a git repository has no project boards";
    for (line, why) in [
        ([&create[..], &["--type", "Bug"]].concat(), no_type),
        (vec!["edit", "1", "--type", "Bug"], no_type),
        (vec!["edit", "1", "--remove-type"], no_type),
        ([&create[..], &["-p", "Roadmap"]].concat(), no_boards),
        (vec!["edit", "1", "--add-project", "Roadmap"], no_boards),
        (vec!["edit", "1", "--remove-project", "Roadmap"], no_boards),
        (vec!["list", "--type", "Bug"], "has no search index"),
    ] {
        let refused = world.forge(&[&["issue"], &line[..]].concat());
        let _ = refused.output().exits(1).says(why).says("Recovery: ");
    }
    let list = ["issue", "list", "--json", "number"];
    let list = world.forge(&list).output().success();
    assert_eq!(list.json(), json!([{"number": 1}]));
}

#[test]
fn further_gh_fields_of_issues_are_shown() {
    let world = world();
    open(&world, "Part", &["--parent", "1"]);
    open(&world, "Other part", &["--parent", "1"]);
    world.forge(&["issue", "close", "2"]).ok();
    let fields = "isPinned,issueType,projectCards,projectItems,reactionGroups,subIssuesSummary";
    let summary = json!({"total": 2, "completed": 1, "percentCompleted": 50});
    let mut wanted = json!({
        "isPinned": false,
        "issueType": null,
        "projectCards": [],
        "projectItems": [],
        "reactionGroups": [],
        "subIssuesSummary": summary,
    });
    assert_eq!(json(&world, "1", fields), wanted);
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.issue_type("octo", "Bug");
    for title in ["Whole", "Part", "Other part"] {
        seed.open_issue(REPO, "grace", title, "");
    }
    for part in [2, 3] {
        seed.sub_issue((REPO, 1), (REPO, part));
    }
    seed.pin_issue(REPO, 1);
    seed.react(REPO, 1, "grace", "HEART");
    drop(seed);
    let on = |args: &[&str]| hub.forge(&[&["issue"], args, &["-R", REPO]].concat());
    on(&["edit", "1", "--type", "Bug"]).ok();
    on(&["close", "2"]).ok();
    wanted["isPinned"] = json!(true);
    wanted["reactionGroups"] = json!([{"content": "HEART", "users": {"totalCount": 1}}]);
    let mut found = on(&["view", "1", "--json", fields])
        .output()
        .success()
        .json();
    let id = found["issueType"]["id"].take();
    assert!(id.as_str().unwrap().starts_with("IT_"), "{id}");
    wanted["issueType"] = json!({
        "color": "GRAY", "description": "Bug of a user", "id": null, "name": "Bug",
    });
    assert_eq!(found, wanted);
    let list = [
        "list",
        "--json",
        fields,
        "--jq",
        ".[-1].subIssuesSummary.total",
    ];
    assert_eq!(on(&list).text(), "2\n");
}

#[test]
fn closing_pulls_of_issue_are_shown() {
    const FIELD: &str = "closedByPullRequestsReferences";
    let world = world();
    world.feature("feature");
    let create = ["pr", "create", "-H", "feature", "-t", "Mend it", "-b", ""];
    world
        .forge(&[&create[..], &["--closes", "1"]].concat())
        .ok();
    let found = json(&world, "1", FIELD)[FIELD].clone();
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["number"], 1);
    assert_eq!(found[0]["url"], world.url(1));
    world.forge(&["pr", "close", "1"]).ok();
    assert_eq!(json(&world, "1", FIELD)[FIELD], json!([]));
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.open_issue(REPO, "grace", "It breaks", "");
    let pull = PullSeed {
        author: "grace",
        title: "Mend it",
        body: "Closes #1",
        head: "feature",
        ..PullSeed::default()
    };
    seed.open_pull(REPO, &pull);
    drop(seed);
    let list = ["issue", "list", "-R", REPO, "--json", FIELD];
    let list = hub.forge(&list).output().success().json();
    let found = &list[0][FIELD];
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["number"], 2);
    assert_eq!(found[0]["repository"]["owner"]["login"], "octo");
    assert!(found[0]["url"].as_str().unwrap().ends_with("/pull/2"));
}

#[test]
fn missing_project_scope_stops_writes_alone() {
    let hub = Hub::new();
    hub.double.seed().open_issue(REPO, "grace", "One", "");
    let scopes = ["repo", "read:org"];
    hub.double.seed().token(TOKEN, "ada", &scopes);
    let on = |args: &[&str]| hub.forge(&[&["issue"], args, &["-R", REPO]].concat());
    for line in [&["view", "1"][..], &["list"]] {
        let read = on(&[line, &["--json", "title,projectItems"]].concat());
        let read = read.output().success().says("read:project");
        let shown = read.stdout_text();
        assert!(shown.contains("\"projectItems\":[]"), "{shown}");
    }
    for line in [
        &["edit", "1", "--add-project", "Roadmap", "-t", "Lost"][..],
        &["create", "-t", "Lost", "-b", "", "-p", "Roadmap"],
    ] {
        let _ = on(line).output().exits(1).says("the scope project");
    }
    let titles = ["list", "-s", "all", "--json", "title", "--jq"];
    let titles = on(&[&titles[..], &["[.[].title]"]].concat());
    assert_eq!(titles.text(), "[\"One\"]\n");
}
