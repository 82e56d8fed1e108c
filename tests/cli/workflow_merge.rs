//! Tests how a merge changes the issues that its pull request closes.

use forge_github_double::{Fault, PullSeed};
use forge_testkit::Output;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::World,
};

/// Merges a pull request, which must succeed.
fn merge(world: &World, pull: &str) -> Output {
    let args = ["pr", "merge", pull, "--merge"];
    world.now(&args).output().success()
}

/// Opens a pull request that closes these issues.
fn open(world: &World, branch: &str, closes: &[&str]) -> Output {
    world.feature(branch);
    let mut args = vec!["pr", "create", "-H", branch, "-t", branch, "-b", "Why."];
    for issue in closes {
        args.extend(["--closes", issue]);
    }
    world.now(&args).output().success()
}

fn reconcile(world: &World, pull: &str) -> Value {
    world.workflow(&["reconcile", pull])
}

/// Returns the numbers of transitioned, failed and skipped issues in a report.
fn counts(report: &Value) -> [usize; 3] {
    ["transitioned", "failed", "skipped"].map(|list| report[list].as_array().unwrap().len())
}

fn comments(world: &World, issue: &str) -> Vec<String> {
    let shown = world.now(&["issue", "view", issue, "--json", "comments"]);
    let shown = shown.output().success().json();
    let comments = shown["comments"].as_array().unwrap().iter();
    comments
        .map(|c| c["body"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn create_writes_closing_lines() {
    let world = World::with_issues(2);
    let out = open(&world, "one", &["1,#2", "1"]);
    assert_eq!(out.stderr_text(), "");
    let body = world.json("1", "body");
    assert_eq!(body["body"], "Closes #1\nCloses #2\n\nWhy.");
    let out = open(&world, "two", &["99"]);
    assert!(
        out.stderr_text()
            .contains("merging the pull request might leave"),
        "{out:?}"
    );
    assert!(out.stderr_text().contains("issue-99"), "{out:?}");
    assert_eq!(world.json("2", "body")["body"], "Closes #99\n\nWhy.");
    let merged = merge(&world, "2");
    assert!(merged.stderr_text().contains("#99"), "{merged:?}");
    let none = [
        "pr", "create", "-H", "two", "-t", "x", "-b", "", "--closes", "one",
    ];
    let out = world.now(&none).output().exits(1);
    assert!(
        out.stderr_text().contains("invalid issue format"),
        "{out:?}"
    );
}

#[test]
fn merge_without_a_workflow_closes_issues() {
    let world = World::with_issues(2);
    open(&world, "one", &["1"]);
    let out = merge(&world, "1");
    assert_eq!(out.stderr_text(), "closed: #1\n");
    assert!(!world.is_open("1") && world.is_open("2"));
    // The trail records the merge, so a second call leaves a reopened issue open.
    world.now(&["issue", "reopen", "1"]).ok();
    let out = merge(&world, "1");
    assert!(
        out.stderr_text()
            .contains("not closed: #1 (the merge moved it before (open -> closed))"),
        "{out:?}"
    );
    assert!(world.is_open("1"));
    // If a pull request closes no issue, the merge prints nothing about issues.
    open(&world, "two", &[]);
    assert_eq!(merge(&world, "2").stderr_text(), "");
}

#[test]
fn r_000_21_merge_moves_issues_to_done() {
    let world = World::with_issues(3);
    world.set("workflow.store", "fields");
    world.put("1", "In Review");
    world.put("2", "Backlog");
    open(&world, "one", &["1,2,3"]);
    let out = merge(&world, "1");
    assert_eq!(
        out.stderr_text(),
        "moved: #1: In Review -> Done (closed)\nmoved: #2: Backlog -> Done (closed)\n\
         moved: #3: no state -> Done (closed)\n"
    );
    for issue in ["1", "2", "3"] {
        assert!(!world.is_open(issue));
        assert_eq!(world.state(issue), "Done");
    }
    let trail = comments(&world, "1");
    let last = trail.last().unwrap();
    assert!(
        last.starts_with("**In Review** → **Done** by the merge of "),
        "{last}"
    );
}

/// Every clone gets the trail, and a path says nothing there.
#[test]
fn shared_trail_has_no_path_of_this_machine() {
    let world = World::with_issues(2);
    world.define(|text| text);
    world.set("workflow.store", "fields");
    world.edit("2", &["--parent", "1"]);
    for issue in ["1", "2"] {
        world.put(issue, "Research Needed");
        let claim = world.claim(issue, "research", &[]);
        let done = ["set-state", issue, "__COMPLETE__", "-c", "research"];
        world.workflow(&[&done[..], &["--claim", &claim]].concat());
    }
    open(&world, "one", &["1,2"]);
    merge(&world, "1");
    reconcile(&world, "1");
    let scratch = world.scratch.path("").canonicalize().unwrap();
    for issue in ["refs/forge/issues/1", "refs/forge/issues/2"] {
        let log = ["log", "--patch", "--format=%B", issue];
        let trail = world.git.run(log).text();
        assert!(trail.contains("by the merge of #1"), "{trail}");
        for path in [scratch.as_path(), world.git.path()] {
            let path = path.to_str().unwrap().trim_end_matches('/');
            assert!(!trail.contains(path), "{path}: {trail}");
        }
    }
}

#[test]
fn r_000_22_failed_transition_never_fails_the_merge() {
    let world = World::with_issues(1);
    open(&world, "one", &["1"]);
    world.set("workflow.store", "fields");
    world.set("workflow.definition", "/nowhere/workflow.toml");
    let out = merge(&world, "1");
    let text = out.stderr_text();
    assert!(
        text.contains("the merge is done, and no issue was moved: the definition of the workflow"),
        "{text}"
    );
    assert_eq!(world.json("1", "state")["state"], "MERGED");
    assert!(world.is_open("1"));
    // Once the configuration is corrected, the failed transitions succeed.
    world.now(&["config", "unset", "workflow.definition"]).ok();
    assert_eq!(counts(&reconcile(&world, "1")), [1, 0, 0]);
    assert!(!world.is_open("1"));
}

#[test]
fn r_000_23_refused_merge_moves_nothing() {
    let world = World::with_issues(1);
    world.set("workflow.store", "fields");
    world.put("1", "In Review");
    open(&world, "one", &["1"]);
    world
        .git
        .commit("main", "Conflict", &[("one.txt", Some("other\n"))]);
    let out = world
        .now(&["pr", "merge", "1", "--merge"])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("one.txt"), "{out:?}");
    assert!(!out.stderr_text().contains("moved"), "{out:?}");
    assert_eq!(world.state("1"), "In Review");
    let text = world.workflow_fails(&["reconcile", "1"], 1).stderr_text();
    assert!(text.contains("#1 is not merged"), "{text}");
    assert!(text.contains("forge pr merge"), "{text}");
    // The error quotes GitHub's message.
    let hub = Hub::with_pull();
    let body = r#"{"data":{"merge":null},"errors":[{"type":"UNPROCESSABLE","path":["merge"],
        "message":"Required status check \"ci\" is expected."}]}"#;
    hub.double
        .fault(Fault::answer(200, &[], body).on_mutations());
    let merge = hub.forge(&["pr", "merge", "1", "--merge", "-R", REPO]);
    let said = "github.localhost says: Required status check \"ci\" is expected";
    let _ = merge.output().exits(1).says(said);
}

#[test]
fn r_000_24_reconcile_twice_equals_once() {
    let world = World::with_issues(2);
    open(&world, "one", &["1,2"]);
    // git itself merged the pull request, so its issues have not moved.
    world.set("workflow.store", "fields");
    world.set("workflow.definition", "/nowhere/workflow.toml");
    merge(&world, "1");
    world.now(&["config", "unset", "workflow.definition"]).ok();
    let dry = world.workflow(&["reconcile", "1", "--dry-run"]);
    assert_eq!(counts(&dry), [2, 0, 0]);
    assert!(world.is_open("1"));
    let first = reconcile(&world, "1");
    assert_eq!(first["transitioned"], dry["transitioned"]);
    assert_eq!(first["transitioned"][0]["toState"], "Done");
    assert_eq!(first["transitioned"][0]["closed"], true);
    let trail = comments(&world, "1");
    let second = reconcile(&world, "1");
    assert_eq!(counts(&second), [0, 0, 2]);
    assert_eq!(
        second["skipped"][0]["reason"],
        "the merge moved it before (no state -> Done)"
    );
    assert_eq!(comments(&world, "1"), trail);
    let text = world
        .now(&["workflow", "reconcile", "1"])
        .output()
        .success();
    assert_eq!(text.stdout_text(), "");
    assert!(
        text.stderr_text().contains("no issue is left to move"),
        "{text:?}"
    );
    // `forge` keeps changes that a person made after the merge.
    world.workflow(&["set-state", "2", "Backlog", "-c", "split"]);
    assert_eq!(counts(&reconcile(&world, "1")), [0, 0, 2]);
    assert_eq!(world.state("2"), "Backlog");
}

#[test]
fn merge_without_the_label_suggests_init() {
    let world = World::with_issues(1);
    open(&world, "one", &["1"]);
    world.set("workflow.store", "labels");
    let init = "or create what the workflow needs: forge workflow init";
    let _ = merge(&world, "1").says(init);
    let _ = world.workflow_fails(&["reconcile", "1"], 1).says(init);
    let failed = world.now(&["workflow", "reconcile", "1", "--json"]);
    let failed = failed.output().exits(1).json();
    let reason = failed["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(init), "{reason}");
}

#[test]
fn reconcile_without_a_store_only_closes_issues() {
    let world = World::with_issues(1);
    open(&world, "one", &["1"]);
    // An unusable workflow prevents the merge from closing the issue.
    world.set("workflow.store", "fields");
    world.set("workflow.definition", "/nowhere/workflow.toml");
    merge(&world, "1");
    assert!(world.is_open("1"));
    for key in ["workflow.store", "workflow.definition"] {
        world.now(&["config", "unset", key]).ok();
    }
    let out = world.now(&["workflow", "reconcile", "1"]).output();
    assert_eq!(out.success().stdout_text(), "closed: #1\n");
    assert!(!world.is_open("1"));
    assert!(world.state("1").is_null());
    assert_eq!(counts(&reconcile(&world, "1")), [0, 0, 1]);
}

/// Opens issue 1, and pull request 2 of branch `work`, which closes that issue.
fn linked_on_github() -> Hub {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.open_issue(REPO, "grace", "It breaks", "Often.");
    let pull = PullSeed {
        author: "grace",
        title: "Work",
        body: "Closes #1",
        head: "work",
        ..PullSeed::default()
    };
    seed.open_pull(REPO, &pull);
    drop(seed);
    hub
}

#[test]
fn github_reconcile_without_store_needs_no_labels() {
    let hub = linked_on_github();
    hub.forge(&["pr", "merge", "2", "--merge", "-R", REPO]).ok();
    let reconcile = hub.forge(&["workflow", "reconcile", "2", "-R", REPO]);
    let out = reconcile.output().success();
    let left = "not closed: #1 (it was closed before)";
    assert!(out.stderr_text().contains(left), "{out:?}");
}

#[test]
fn issue_closed_by_github_is_reported() {
    for named in ["2", "work"] {
        let hub = linked_on_github();
        // The first read makes GitHub compute mergeability, and the next read returns the result.
        hub.forge(&["pr", "view", "2", "--json", "mergeable", "-R", REPO])
            .ok();
        hub.double.reset_record();
        let merge = ["pr", "merge", named, "--merge", "-R", REPO];
        let out = hub.forge(&merge).output().success();
        assert_eq!(out.stdout_text(), "");
        assert_eq!(out.stderr_text(), "closed: #1\n");
        // The four requests read the pull request, merge it, and read the default branch and the
        // issue.
        assert_eq!(hub.double.counts().api, 4, "{:?}", hub.double.requests());
        let again = hub.forge(&["pr", "merge", "2", "--merge", "-R", REPO]);
        let again = again.output().success();
        let left = "not closed: #1 (it was closed before)";
        assert!(again.stderr_text().contains(left), "{again:?}");
    }
}

#[test]
fn issue_of_other_repository_is_left_to_github() {
    let hub = linked_on_github();
    {
        let mut seed = hub.double.seed();
        seed.repo_with_readme("octo/other");
        seed.open_issue("octo/other", "grace", "Elsewhere", "Text.");
    }
    let body = "Closes #1, closes octo/other#1";
    hub.forge(&["pr", "edit", "2", "-b", body, "-R", REPO]).ok();
    let merge = ["pr", "merge", "2", "--merge", "-R", REPO];
    let out = hub.forge(&merge).output().success();
    let text = out.stderr_text();
    let lines = "closed: #1\nleft to github.localhost, not read: ";
    assert!(text.contains(lines), "{text}");
    assert!(text.ends_with("octo/other#1\n"), "{text}");
}

/// GitHub may close linked issues some time after the merge, and a repository can disable this.
#[test]
fn issue_left_open_by_github_is_only_reported() {
    let hub = linked_on_github();
    hub.double.seed().keeps_linked_open = true;
    // On the second call, the pull request is already merged.
    for _ in 0..2 {
        let merge = hub.forge(&["pr", "merge", "2", "--merge", "-R", REPO]);
        let out = merge.output().success();
        let left = "not closed: #1 (github.localhost has not closed it yet)";
        assert!(out.stderr_text().contains(left), "{out:?}");
        let view = ["issue", "view", "1", "--json", "state,comments", "-R", REPO];
        let issue = hub.forge(&view).output().success().json();
        assert_eq!(issue, json!({"comments": [], "state": "OPEN"}));
    }
    let reconcile = hub.forge(&["workflow", "reconcile", "2", "-R", REPO]);
    assert_eq!(reconcile.output().success().stdout_text(), "closed: #1\n");
}

#[test]
fn issue_in_review_after_first_merge_advances() {
    let world = World::with_issues(1);
    world.define(|text| {
        format!(
            "{text}\n[on_merge.from]\n\"In Progress\" = \"In Review\"\n\"In Review\" = \"Done\"\n"
        )
    });
    world.set("workflow.store", "fields");
    world.put("1", "In Progress");
    open(&world, "one", &["1"]);
    open(&world, "two", &["1"]);
    let out = merge(&world, "1");
    assert_eq!(out.stderr_text(), "moved: #1: In Progress -> In Review\n");
    assert!(world.is_open("1"));
    // A repeated merge command does not move the issue again.
    assert_eq!(counts(&reconcile(&world, "1")), [0, 0, 1]);
    let out = merge(&world, "2");
    assert_eq!(out.stderr_text(), "moved: #1: In Review -> Done (closed)\n");
    // A merge moves an issue only if the definition's table of merge moves lists the issue's state.
    world.issue("Another");
    world.put("2", "Backlog");
    open(&world, "three", &["2"]);
    let out = merge(&world, "3");
    assert_eq!(
        out.stderr_text(),
        "not moved: #2 (no merge rule applies to Backlog)\n"
    );
}

#[test]
fn issue_reopened_before_the_merge_is_closed() {
    for store in [None, Some("fields")] {
        let world = World::with_issues(1);
        if let Some(store) = store {
            world.set("workflow.store", store);
        }
        open(&world, "one", &["1"]);
        world.now(&["issue", "close", "1"]).ok();
        world.now(&["issue", "reopen", "1"]).ok();
        merge(&world, "1");
        assert!(!world.is_open("1"), "{store:?}");
    }
}

#[test]
fn reconcile_closes_issue_reopened_before_the_merge() {
    let world = World::with_issues(2);
    open(&world, "one", &["1,2"]);
    world.forge(&["issue", "close", "1"]).ok();
    world.forge(&["issue", "reopen", "1"]).ok();
    // An unusable workflow prevents the merge from closing the issues.
    world.set("workflow.definition", "/nowhere/workflow.toml");
    world.forge(&["pr", "merge", "1", "--merge"]).ok();
    world.now(&["config", "unset", "workflow.definition"]).ok();
    // `World::forge` uses a fixed clock, so the events after the merge need a later time.
    for turn in ["close", "reopen"] {
        let late = world.forge(&["issue", turn, "2"]);
        late.env("GIT_COMMITTER_DATE", "2026-03-02T12:00:00Z").ok();
    }
    let report = reconcile(&world, "1");
    assert_eq!(report["transitioned"][0]["number"], 1);
    assert_eq!(
        report["skipped"],
        json!([{"issue": "#2", "reason": "it was reopened after the merge"}])
    );
    assert!(!world.is_open("1") && world.is_open("2"));
}

#[test]
fn definition_or_preset_alone_makes_merges_move_issues() {
    let world = World::with_issues(2);
    world.set("workflow.preset", "small");
    open(&world, "one", &["1"]);
    let out = merge(&world, "1");
    assert_eq!(out.stderr_text(), "moved: #1: no state -> Done (closed)\n");
    world.now(&["config", "unset", "workflow.preset"]).ok();
    world.define(|text| format!("{text}\n[on_merge.from]\n\"In Progress\" = \"In Review\"\n"));
    world.put("2", "In Progress");
    open(&world, "two", &["2"]);
    let out = merge(&world, "2");
    assert_eq!(out.stderr_text(), "moved: #2: In Progress -> In Review\n");
}

#[test]
fn merge_into_another_branch_moves_nothing() {
    // C-000-15: an issue that does not move is reported with the reason.
    let world = World::with_issues(1);
    world.set("workflow.store", "fields");
    world
        .git
        .commit("release", "Release", &[("release.txt", Some("1\n"))]);
    world.feature("one");
    let args = [
        "pr", "create", "-H", "one", "-B", "release", "-t", "x", "-b", "y", "--closes", "1",
    ];
    world.now(&args).ok();
    let out = merge(&world, "1");
    assert_eq!(
        out.stderr_text(),
        "not moved: #1 (only a merge into main moves issues)\n"
    );
    assert!(world.is_open("1"));
}

#[test]
fn merge_ends_claim_of_linked_issue() {
    let world = World::with_issues(1);
    world.set("workflow.store", "fields");
    world.put("1", "Plan in Review");
    let claim = world.claim("1", "impl", &["--holder", "agent"]);
    open(&world, "one", &["1"]);
    merge(&world, "1");
    let text = world.workflow_fails(&["heartbeat", "1", "--claim", &claim], 1);
    assert!(
        text.stderr_text().contains("nobody holds it now"),
        "{text:?}"
    );
    assert_eq!(world.state("1"), json!("Done"));
}
