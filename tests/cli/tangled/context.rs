use serde_json::{Value, json};

use super::world::{Tangled, WIDGET};
use crate::html_tree::{elements, first};

#[test]
fn tangled_context_has_the_documented_facts() {
    let t = Tangled::new();
    let _spindle = t.spindle();
    let uri = t.open("topic");
    let args = ["pr", "context", &uri, "-R", WIDGET, "--json"];
    let found = t.forge(&t.bob, &args).output().success().json();
    assert_eq!(found["pr"]["number"], uri);
    assert_eq!(found["pr"]["title"], "T");
    assert_eq!(found["pr"]["state"], "open");
    assert_eq!(found["diff"]["files"][0]["path"], "topic.txt");
    assert_eq!(found["diff"]["contextLines"], Value::Null);
    assert_eq!(
        found["summary"]["keyChanges"],
        json!(["adds topic.txt (+1)"])
    );
    // The verdict is unknown because no review gives one. The spindle has run no check, which does
    // not count as a passed check.
    assert_eq!(found["summary"]["readyToMerge"], Value::Null, "{found}");
    let first = &found["verdict"]["requirements"][0];
    assert_eq!(first["rule"], "checks_reported");
    assert_eq!(found["summary"]["blockers"], json!([]));
}

#[test]
fn at_uri_contradicting_repo_flag_is_refused() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let _ = t.world.repository(&t.alice, "gadget");
    let gadget = "tangled:alice.test/gadget";
    for (command, repo) in [
        ("context", gadget),
        ("watch", gadget),
        ("context", "octo/tools"),
    ] {
        let out = t.forge(&t.bob, &["pr", command, &uri, "-R", repo]);
        let why = out.output().exits(1).stderr_text();
        let wanted = ", but the pull request is in tangled.org/alice.test/widget";
        assert!(why.contains(wanted), "{why}");
    }
    // These are other names of the repository.
    for own in [&t.repo.did, &format!("tangled:{}/widget", t.alice.did)] {
        t.forge(&t.bob, &["pr", "context", &uri, "-R", own]).ok();
    }
}

#[test]
fn html_page_shows_facts_of_tangled_pull() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let args = ["pr", "context", &uri, "-R", WIDGET, "--html", "-"];
    let page = t.forge(&t.bob, &args).text();
    let all = elements(&page);
    assert_eq!(first(&all, "h1", "").text, format!("T {uri}"));
    let body = &first(&all, "main", "").text;
    for part in ["Ready to merge", "✓ met", "topic.txt", "one"] {
        assert!(body.contains(part), "{part:?} is not in\n{body}");
    }
}

fn requirement<'a>(found: &'a Value, rule: &str) -> &'a Value {
    let mut all = found["verdict"]["requirements"].as_array().unwrap().iter();
    all.find(|r| r["rule"] == rule).unwrap()
}

#[test]
fn tangled_context_has_every_default_section() {
    let t = Tangled::new();
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nverdict_comments = true\n",
    );
    let spindle = t.spindle();
    let issue = [
        "issue",
        "create",
        "-R",
        WIDGET,
        "-t",
        "Leak",
        "-b",
        "Since May.",
    ];
    let issue = t.forge(&t.alice, &issue).text().trim().to_owned();
    let uri = t.open("topic");
    let alice = |args: &[&str]| t.forge(&t.alice, args).ok();
    alice(&["pr", "edit", &uri, "-b", &format!("Related to {issue}")]);
    let bob = |args: &[&str]| t.forge(&t.bob, args).ok();
    bob(&["pr", "comment", &uri, "-b", "Why so?"]);
    bob(&["pr", "review", &uri, "--request-changes", "-b", "Not yet."]);
    // Submits a second round with two files.
    let two = [("topic.txt", Some("one\ntwo\n")), ("two.txt", Some("2\n"))];
    t.repo.git.commit("topic", "Two", &two);
    alice(&["pr", "resubmit", &uri]);
    bob(&["pr", "review", &uri, "--approve", "-b", "Now."]);
    let head = t.repo.git.oid("topic").unwrap();
    spindle.run(
        &t.repo.did,
        &head,
        "push",
        &[("build.yml", "failed"), ("lint.yml", "success")],
    );

    let args = ["pr", "context", &uri, "-R", WIDGET, "--json"];
    let found = t.forge(&t.bob, &args).output().success().json();
    assert_eq!(
        (&found["partial"], &found["errors"]),
        (&json!(false), &json!([])),
        "{found}"
    );
    assert_eq!(found["comments"][0]["body"], "Why so?");
    assert_eq!(found["comments"][0]["author"], "bob.test");
    let states: Vec<&str> = found["reviews"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["changes_requested", "approved"]);
    assert_eq!(found["pr"]["approvals"], 1);
    assert_eq!(requirement(&found, "no_changes_requested")["status"], "met");
    assert_eq!(requirement(&found, "approved")["status"], "met");
    let checks = &found["ciStatus"]["checks"];
    assert_eq!(checks[0]["name"], "build.yml", "{checks}");
    assert_eq!(
        found["summary"]["blockers"],
        json!(["CI failing: build.yml"])
    );
    assert_eq!(found["linkedIssues"][0]["key"], issue, "{found}");
    assert_eq!(found["linkedIssues"][0]["title"], "Leak");
    assert_eq!(found["diff"]["files"].as_array().unwrap().len(), 2);
    // A patch identifies its round. The commit id is only what the author claims.
    assert_ne!(found["verdict"]["headSha"], head);
    assert_eq!(found["diff"]["headSha"], found["verdict"]["headSha"]);
}

#[test]
fn tangled_dependency_is_a_requirement_until_merged() {
    let t = Tangled::new();
    let lower = t.open("lower");
    t.repo.git.set_branch("upper", "lower");
    let upper = t.create("upper", &["--depends-on", &lower]);
    let upper = upper.text().trim().to_owned();
    let args = ["pr", "context", &upper, "-R", WIDGET, "--json"];
    let found = t.forge(&t.bob, &args).output().success().json();
    let below = requirement(&found, "dependency_merged");
    assert_eq!(below["status"], "unmet");
    assert_eq!(below["evidence"], format!("{lower} is open"));
    t.forge(&t.alice, &["pr", "merge", &lower, "--rebase"]).ok();
    let found = t.forge(&t.bob, &args).output().success().json();
    assert_eq!(
        requirement(&found, "dependency_merged")["status"],
        "met",
        "{found}"
    );
    assert_eq!(found["verdict"]["readyToMerge"], true, "{found}");
}
