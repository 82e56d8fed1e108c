//! Tests that `forge` continues work on pull requests that `tang` made.

use serde_json::json;

use crate::stage::{PULL, Stage, rkey};

#[test]
fn tang_pull_is_listed_by_forge() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    let args = ["pr", "list", "--json", "url,title,author,state,headRefName"];
    let listed = stage.forge(&stage.alice, &args).success().json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let pull = &listed[0];
    assert_eq!(pull["url"], uri.as_str());
    assert_eq!(pull["title"], "A topic");
    assert_eq!(pull["author"]["login"], "bob.test");
    assert_eq!(pull["headRefName"], "topic");
    // `tang` writes no status record for a new pull request.
    assert_eq!(pull["state"], "OPEN");
    assert_eq!(stage.world.index().dropped(), []);
}

#[test]
fn tang_pull_is_viewed_by_forge() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.\n\nAnd *how*.");
    let fields =
        "title,body,author,state,baseRefName,headRefName,isCrossRepository,mergeable,files";
    let pull = stage.view(&uri, fields);
    assert_eq!(pull["title"], "A topic");
    assert_eq!(pull["body"], "Why.\n\nAnd *how*.");
    assert_eq!(pull["author"]["login"], "bob.test");
    assert_eq!(
        (&pull["state"], &pull["mergeable"]),
        (&json!("OPEN"), &json!("MERGEABLE"))
    );
    assert_eq!(
        (&pull["baseRefName"], &pull["headRefName"]),
        (&json!("main"), &json!("topic"))
    );
    assert_eq!(pull["isCrossRepository"], false);
    assert_eq!(pull["files"][0]["path"], "topic.txt");
    let history = stage
        .forge(&stage.alice, &["pr", "view", &uri, "--history"])
        .success();
    assert!(
        history.stdout_text().contains("opened\tbob.test\tauthor"),
        "{history:?}"
    );
}

#[test]
fn tang_pull_has_git_diff_and_uploaded_patch() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    let by_git = stage.repo.git.run(["diff", "main...topic"]).text();
    assert_eq!(stage.diff(&uri, &[]).trim_end(), by_git.trim_end());
    let uploaded = stage.patch_by_tang(&stage.bob, rkey(&uri));
    assert!(uploaded.starts_with("From "), "{uploaded}");
    assert_eq!(
        stage.diff(&uri, &["--patch"]).trim_end(),
        uploaded.trim_end()
    );
}

/// `tang` uploads a patch with one unnumbered mail per commit, and an empty line between mails.
#[test]
fn tang_commits_are_merged_with_authors() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    stage.repo.git.commit(
        "topic",
        "Say more\n\nBecause.",
        &[("topic.txt", Some("one\ntwo\nthree\n"))],
    );
    stage.fetch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    let commits = &stage.view(&uri, "commits")["commits"];
    let text = |n: usize, field: &str| commits[n][field].as_str().unwrap().to_owned();
    assert_eq!(commits.as_array().unwrap().len(), 2, "{commits}");
    assert_eq!(
        [text(0, "messageHeadline"), text(0, "messageBody")],
        ["Add topic.txt", ""]
    );
    assert_eq!(
        [text(1, "messageHeadline"), text(1, "messageBody")],
        ["Say more", "Because."]
    );
    let tip = stage.repo.git.oid("topic").unwrap();
    assert_eq!(text(1, "oid"), tip);

    let _ = stage
        .forge(&stage.alice, &["pr", "merge", &uri, "--rebase"])
        .success();
    assert_eq!(
        stage.repo.git.show("main", "topic.txt"),
        "one\ntwo\nthree\n"
    );
    let log = |what: &str| {
        stage
            .repo
            .git
            .log(&format!("{what}~2..{what}"), "%an <%ae> %s")
    };
    assert_eq!(log("main"), log("topic"));
    assert_eq!(stage.view(&uri, "state")["state"], "MERGED");
    let history = stage
        .forge(&stage.alice, &["pr", "view", &uri, "--history"])
        .success();
    assert!(
        history.stdout_text().contains("merged\talice.test\towner"),
        "{history:?}"
    );
}

#[test]
fn tang_pull_is_commented_on() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    let _ = stage
        .forge(&stage.alice, &["pr", "comment", &uri, "-b", "Well done."])
        .success();
    let out = stage.forge(&stage.bob, &["pr", "view", &uri, "--json", "comments"]);
    let comments = &out.success().json()["comments"];
    assert_eq!(comments[0]["author"]["login"], "alice.test");
    assert_eq!(comments[0]["body"], "Well done.");
    let (_, record) = stage
        .world
        .pds()
        .record(comments[0]["id"].as_str().unwrap())
        .unwrap();
    assert_eq!(record["subject"]["uri"], uri.as_str());
}

/// `tang` writes comment records of 2025, which the index accepts. Other clients show an approval
/// as plain text.
#[test]
fn tang_review_is_shown_as_comment() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    let review = ["pull", "review", rkey(&uri)];
    let _ = stage
        .tang(
            &stage.bob,
            &[&review[..], &["--comment", "Look here."]].concat(),
        )
        .success();
    let _ = stage
        .tang(&stage.bob, &[&review[..], &["--approve"]].concat())
        .success();
    let pull = stage.view(&uri, "comments,reviews,reviewDecision");
    let bodies: Vec<&str> = pull["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["body"].as_str().unwrap())
        .collect();
    assert_eq!(bodies, ["Look here.", "LGTM"]);
    assert_eq!(pull["comments"][0]["author"]["login"], "bob.test");
    assert_eq!(pull["reviewDecision"], "");
}

#[test]
fn edited_tang_pull_keeps_unknown_fields() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    let before = stage.world.pds().record(&uri).unwrap().1;
    let _ = stage
        .forge(&stage.bob, &["pr", "edit", &uri, "-t", "A better topic"])
        .success();
    let shown = stage.tang_json(&stage.bob, &["pull", "show", rkey(&uri)]);
    assert_eq!(shown["pull"]["title"], "A better topic");
    let mut after = stage.world.pds().record(&uri).unwrap().1;
    assert!(after["target"]["repoDid"].is_string(), "{after}");
    after["title"] = before["title"].clone();
    assert_eq!(after, before);
}

#[test]
fn tang_pull_is_closed_and_reopened_by_owner() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    for (command, state) in [("close", "CLOSED"), ("reopen", "OPEN")] {
        let _ = stage.forge(&stage.alice, &["pr", command, &uri]).success();
        assert_eq!(stage.view(&uri, "state")["state"], state);
    }
    // The owner cannot change the author's record, so the record stays unchanged.
    let listed = stage.tang_json(&stage.bob, &["pull", "list"]);
    assert_eq!(listed[0]["rkey"], rkey(&uri));
}

#[test]
fn tang_pull_from_fork_names_fork() {
    let Some(stage) = Stage::new() else { return };
    let fork = stage.world.fork(&stage.repo, &stage.bob);
    stage.branch("topic");
    let from = [
        "pull",
        "create",
        "--repo",
        "bob.test/widget",
        "--target",
        "alice.test/widget",
    ];
    let what = [
        "--base", "main", "--head", "topic", "--title", "Forked", "--body", "b",
    ];
    let uri = stage.tang_creates(&stage.bob, &[&from[..], &what].concat());
    let (_, record) = stage.world.pds().record(&uri).unwrap();
    assert_eq!(record["source"]["repo"], fork.did.as_str());
    let pull = stage.view(&uri, "isCrossRepository,headRefName");
    assert_eq!(pull["isCrossRepository"], true);
    assert_eq!(pull["headRefName"], "topic");
}

#[test]
fn tang_records_match_forge_lexicons() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.tang_opens(&stage.bob, "topic", "A topic", "Why.");
    let _ = stage
        .tang(&stage.bob, &["pull", "review", rkey(&uri), "--approve"])
        .success();
    for collection in [PULL, "sh.tangled.repo.pull.comment"] {
        let records = stage.world.pds().records(&stage.bob.did, collection);
        assert_eq!(records.len(), 1, "{collection}");
        let set = match collection {
            PULL => forge_tangled::lexicon::Set::Sh2026,
            _ => forge_tangled::lexicon::Set::Sh2025,
        };
        let checked = forge_tangled::lexicon::check_in(set, collection, &records[0].2);
        assert_eq!(checked, Ok(()));
    }
}
