//! Tests `since`, `context_lines` and the section `source` of `pr_context`.

use forge_github_double::state::ReviewState;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    tangled_world::{Tangled, WIDGET},
    world::{LEGACY, MODERN, Wire, World, column},
};

const GONE: &str = "1111111111111111111111111111111111111111";

fn paths(data: &Value) -> Vec<&str> {
    let files = data["since"]["diff"]["files"].as_array().unwrap().iter();
    files.map(|f| f["path"].as_str().unwrap()).collect()
}

#[test]
fn changes_since_review_are_only_pushed_commits() {
    let world = World::with_feature();
    let review = ["pr", "review", "1", "--comment", "-b", "Seen."];
    world.grace(&review).ok();
    world
        .git
        .commit("feature", "Add b", &[("b.txt", Some("two\n"))]);
    for era in [LEGACY, MODERN] {
        let mut wire = world.server(era, &[]);
        let found = wire
            .call("pr_context", json!({"number": 1, "since": "review"}))
            .ok()
            .says(": the head has more commits; other commits (1):\nadded ")
            .says("\nchanges since then: 1 file +1 -0\n")
            .says("+two\n");
        let data = found.data();
        assert_eq!(data["since"]["head_change"], "continued");
        assert_eq!(data["since"]["commits"][0]["headline"], "Add b");
        assert_eq!(paths(data), ["b.txt"]);
        assert!(data.get("diff").is_none(), "{data}");
        let diff = wire.call("pr_diff", json!({"number": 1, "since": "review"}));
        let diff = diff.ok().says("Only what changed since commit ");
        let diff = diff.says(": the head has more commits\n").says("+two\n");
        assert_eq!(diff.data()["head_change"], "continued");
        assert_eq!(
            column(std::slice::from_ref(&diff), "files", "path"),
            ["b.txt"]
        );
        let both = json!({"number": 1, "since": "review", "include": ["diff"]});
        let both = wire.call("pr_context", both).ok();
        assert_eq!(both.data()["diff"]["files_total"], 2);
    }
}

#[test]
fn pure_rebase_since_review_shows_no_changes() {
    let world = World::with_feature();
    let review = ["pr", "review", "1", "--comment", "-b", "Seen."];
    world.grace(&review).ok();
    let text = world.git.show("feature", "feature.txt");
    let headline = world.git.log("feature~1..feature", "%s");
    world.git.delete_branch("feature");
    world.git.commit("main", "Move on", &[("new", Some("x\n"))]);
    let files = [("feature.txt", Some(text.as_str()))];
    world.git.commit("feature", &headline, &files);
    let mut wire = world.server(MODERN, &[]);
    let found = wire
        .call("pr_context", json!({"number": 1, "since": "review"}))
        .ok()
        .says("the head was rebased; other commits (0):\n")
        .says("\nchanges since then: 0 files +0 -0\n");
    assert_eq!(found.data()["since"]["head_change"], "rebased");
    assert_eq!(found.data()["since"]["diff"]["files_total"], 0);
}

#[test]
fn unknown_since_commit_has_recovery() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    for since in [GONE, "r99", "review"] {
        let args = json!({"number": 1, "since": since});
        let found = wire.call("pr_context", args).ok().says("name ");
        let data = found.data();
        assert_eq!(data["errors"][0]["section"], "since", "{since}");
        assert_eq!(data["partial"], true);
        assert!(data.get("since").is_none());
        assert_eq!(data["verdict"]["ready_to_merge"], false);
        if since != GONE {
            let args = json!({"number": 1, "since": since});
            let refused = wire.call("pr_diff", args).fails("not_found");
            let _ = refused.says("name the commit that was the head");
        }
    }
}

#[test]
fn changes_since_review_are_compared_by_github() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
    let reviewed = seed.pull_of(REPO, 1).head_oid.clone();
    drop(seed);
    let mut wire = hub.server(&[]);
    let args = json!({"repo": REPO, "number": 1, "since": "review", "context_lines": 9});
    let found = wire
        .call("pr_context", args)
        .ok()
        .says("the head has not moved")
        .says("GitHub always sends three lines of context");
    let data = found.data();
    assert_eq!(data["since"]["from_sha"], reviewed);
    assert_eq!(data["since"]["diff"]["context_lines"], 3);
}

#[test]
fn source_section_has_line_numbers_and_pages() {
    let hub = Hub::with_files(30);
    let mut wire = hub.server(&[]);
    let args = json!({"repo": REPO, "number": 1, "include": ["source"], "max_chars": 3000});
    let pages = wire.pages("pr_context", args, 3_000);
    assert_eq!(column(&pages, "source", "path").len(), 30);
    let text: String = pages.iter().map(|p| p.text()).collect();
    let wanted = "source added code of d/0007.txt\nlines 1-1\n1| file 7\n";
    assert!(text.contains(wanted), "{text}");
    let first = pages
        .iter()
        .find_map(|p| p.data()["source"].get(0))
        .unwrap();
    assert_eq!(first["lines"], json!(["1-1"]));
    assert_eq!(first["lines_total"], 1);
}

#[test]
fn r_002_1_hunks_have_five_lines_of_context() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    for (args, lines) in [
        (json!({"number": 1}), 5),
        (json!({"number": 1, "diff_context_lines": 2}), 2),
    ] {
        let found = wire.call("pr_context", args).ok();
        assert_eq!(found.data()["diff"]["context_lines"], lines);
    }
}

#[test]
fn changes_since_review_on_tangled_compare_rounds() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let head = t.repo.git.oid("topic").unwrap();
    t.repo
        .git
        .commit("topic", "Add more", &[("more.txt", Some("more\n"))]);
    t.forge(&t.alice, &["pr", "resubmit", &uri]).ok();
    let mut wire = Wire::start(&t.forge(&t.bob, &["mcp"]), MODERN);
    let args = json!({"repo": WIDGET, "number": uri, "since": head, "include": ["source"]});
    let found = wire.call("pr_context", args).ok();
    let data = found.data();
    assert_eq!(data["since"]["head_change"], "continued", "{data}");
    assert_eq!(data["since"]["commits"][0]["headline"], "Add more");
    assert_eq!(paths(data), ["more.txt"]);
    let args = json!({"repo": WIDGET, "number": uri, "since": head});
    let diff = wire.call("pr_diff", args).ok();
    assert_eq!(column(&[diff], "files", "path"), ["more.txt"]);
    let source: Vec<_> = column(std::slice::from_ref(&found), "source", "path");
    assert_eq!(source, ["more.txt", "topic.txt"]);
    found.says("1| more\n");
}
