use serde_json::{Value, json};

use super::world::{Tangled, WIDGET};

fn since(t: &Tangled, uri: &str, asked: &str) -> Value {
    let args = [
        "pr", "context", uri, "-R", WIDGET, "--since", asked, "--json",
    ];
    t.forge(&t.bob, &args).output().success().json()
}

/// Rewrites the branch as a rebase does, with another text in its file.
fn rebase(t: &Tangled, text: &str) {
    let git = &t.repo.git;
    git.delete_branch("topic");
    git.commit("topic", "Add topic", &[("topic.txt", Some(text))]);
    t.forge(&t.alice, &["pr", "resubmit", "topic", "-R", WIDGET])
        .ok();
}

#[test]
fn changes_since_review_of_a_round_are_shown() {
    let t = Tangled::new();
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nverdict_comments = true\n",
    );
    let uri = t.open("topic");
    let first = t.repo.git.oid("topic").unwrap();
    let review = ["pr", "review", &uri, "--request-changes", "-b", "Not yet."];
    t.forge(&t.bob, &review).ok();
    let found = since(&t, &uri, "review");
    assert_eq!(found["since"]["headChange"], "unchanged", "{found}");

    t.repo
        .git
        .commit("main", "Move on", &[("new", Some("x\n"))]);
    rebase(&t, "one\n");
    let found = since(&t, &uri, "review");
    assert_eq!(found["since"]["headChange"], "rewritten", "{found}");
    assert_eq!(found["since"]["round"], 0);
    assert_eq!(found["since"]["commits"], json!([]));
    assert_eq!(found["since"]["diff"]["stats"]["files"], 0);

    rebase(&t, "two\n");
    for asked in ["review", &first, &first[..8]] {
        let found = since(&t, &uri, asked);
        assert_eq!(found["since"]["fromSha"], first);
        assert_eq!(found["since"]["commits"][0]["change"], "changed");
        let files = found["since"]["diff"]["files"].as_array().unwrap();
        assert_eq!(files.len(), 1, "{found}");
        assert_eq!(files[0]["path"], "topic.txt");
        assert_eq!(found["since"]["diff"]["contextLines"], Value::Null);
        assert_eq!(found["diff"], Value::Null);
    }
}

#[test]
fn unknown_since_commit_names_the_rounds() {
    let t = Tangled::new();
    let uri = t.open("topic");
    for (asked, why) in [
        ("1111111", "no round of"),
        ("review", "bob.test has not reviewed"),
        ("zzz", "'zzz' is not a review"),
    ] {
        let found = since(&t, &uri, asked);
        let error = &found["errors"][0];
        assert_eq!(error["section"], "since", "{found}");
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
        assert_eq!(found["since"], Value::Null);
        assert_eq!(found["pr"]["title"], "T");
    }
}

#[test]
fn source_section_is_read_from_the_knot() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let args = ["pr", "context", &uri, "-R", WIDGET, "--json", "source"];
    let found = t.forge(&t.bob, &args).output().success().json();
    let source = &found["source"];
    assert_eq!(source["headSha"], t.repo.git.oid("topic").unwrap());
    assert_eq!(source["files"][0]["path"], "topic.txt");
    let text = json!([{"line": 1, "text": "one\n"}]);
    assert_eq!(source["files"][0]["excerpts"], text);
}
