//! Tests drafts and verdicts, which the configuration must enable, and pull requests from a fork.

use super::world::{PULL, Tangled, WIDGET, says};

#[test]
fn disabled_feature_is_refused_with_config_key() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let key = "hosts.tangled.org.draft_marker";
    says(&t.forge(&t.alice, &["pr", "ready", &uri, "--undo"]), 1, key);
    says(&t.create("other", &["--draft"]), 1, key);
    let approve = t.forge(&t.bob, &["pr", "review", &uri, "--approve"]);
    says(&approve, 1, "hosts.tangled.org.verdict_comments");
    assert_eq!(t.world.pds().records(&t.alice.did, PULL).len(), 1);
}

#[test]
fn drafts_and_verdicts_work_once_enabled() {
    let t = Tangled::new();
    for (key, value) in [("draft_marker", "[draft]"), ("verdict_comments", "true")] {
        let key = format!("hosts.tangled.org.{key}");
        t.forge(&t.alice, &["config", "set", &key, value]).ok();
    }
    t.create("topic", &["--draft"]).ok();
    let (uri, _, _) = t.world.pds().records(&t.alice.did, PULL).remove(0);
    let view = |fields: &str| {
        let args = ["pr", "view", &uri, "--json", fields];
        t.forge(&t.bob, &args).output().json()
    };
    let draft = view("isDraft,title");
    assert_eq!(draft["isDraft"], true, "{draft}");
    assert_eq!(draft["title"], "[draft] T");
    let list = ["pr", "list", "-R", WIDGET, "--draft", "--json", "title"];
    let list = t.forge(&t.bob, &list).output().json();
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    let merge = t.forge(&t.bob, &["pr", "merge", &uri, "--rebase"]);
    says(&merge, 1, "is a draft");
    t.forge(&t.alice, &["pr", "ready", &uri]).ok();
    let ready = view("isDraft,title");
    assert_eq!(ready["isDraft"], false, "{ready}");
    assert_eq!(ready["title"], "T");

    let approve = ["pr", "review", &uri, "--approve", "-b", "Good."];
    t.forge(&t.bob, &approve).ok();
    let read = view("reviewDecision,latestReviews,comments");
    assert_eq!(read["reviewDecision"], "APPROVED", "{read}");
    let review = &read["latestReviews"][0];
    assert_eq!(review["body"], "Good.");
    assert_eq!(review["round"], 0);
    assert_eq!(read["comments"].as_array().map(Vec::len), Some(0));
}

#[test]
fn fork_head_is_named_by_owner_and_branch() {
    let t = Tangled::new();
    let fork = t.world.fork(&t.repo, &t.bob);
    fork.git
        .commit("topic", "Add one", &[("one.txt", Some("one\n"))]);
    let create = [
        "pr",
        "create",
        "-R",
        WIDGET,
        "-H",
        "bob.test:topic",
        "-t",
        "T",
        "-b",
        "B",
    ];
    t.forge(&t.bob, &create).ok();
    let (uri, _, record) = t.world.pds().records(&t.bob.did, PULL).remove(0);
    assert_eq!(record["source"]["repo"], fork.did.as_str());
    let args = ["pr", "view", &uri, "--json", "isCrossRepository,files"];
    let view = t.forge(&t.alice, &args).output().json();
    assert_eq!(view["isCrossRepository"], true, "{view}");
    assert_eq!(view["files"][0]["path"], "one.txt");
}
