//! Tests that `tang` reads pull requests that `forge` made.

use crate::stage::{Stage, for_tang, rkey};

#[test]
fn forge_pull_is_listed_by_tang() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    for args in [
        &["pull", "list"][..],
        &["pull", "list", "--repo", "alice.test/widget"],
    ] {
        let listed = stage.tang_json(&stage.bob, args);
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed[0]["rkey"], rkey(&uri));
        assert_eq!(listed[0]["authorDid"], stage.bob.did.as_str());
        assert_eq!(listed[0]["pull"]["title"], "A topic");
    }
    // The table contains the name of the repository, which `tang` looks up in the index and in the
    // owner's record.
    let table = stage.tang(&stage.bob, &["pull", "list"]).success();
    assert!(
        table.stdout_text().contains("alice.test/widget"),
        "{table:?}"
    );
}

#[test]
fn forge_pull_is_shown_by_tang() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let shown = stage
        .tang(&stage.bob, &["pull", "show", rkey(&uri)])
        .success();
    let text = shown.stdout_text();
    assert!(text.starts_with("TITLE: A topic\nBODY:\nWhy.\n"), "{text}");
    let target = format!("TARGET: {} @ main", stage.repo.did);
    assert!(text.contains(&target), "{text}");
}

#[test]
fn foreign_forge_pull_is_shown_by_tang() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let shown = stage.tang_json(&stage.alice, &["pull", "show", &for_tang(&uri)]);
    assert_eq!(shown["authorDid"], stage.bob.did.as_str());
    assert_eq!(shown["pull"]["body"], "Why.");
}

#[test]
fn forge_patch_is_equal_in_tang() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    stage.repo.git.commit(
        "topic",
        "Say more",
        &[("topic.txt", Some("one\ntwo\nthree\n"))],
    );
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let by_tang = stage.patch_by_tang(&stage.bob, rkey(&uri));
    assert_eq!(by_tang.matches("\nSubject: ").count(), 2, "{by_tang}");
    assert_eq!(
        stage.diff(&uri, &["--patch"]).trim_end(),
        by_tang.trim_end()
    );
}

#[test]
fn tang_shows_the_newest_round() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let first = stage.patch_by_tang(&stage.bob, rkey(&uri));
    let more = [("more.txt", Some("more\n"))];
    stage.repo.git.commit("topic", "Say more", &more);
    let again = ["pr", "resubmit", &uri];
    let _ = stage.forge(&stage.bob, &again).success();
    let second = stage.patch_by_tang(&stage.bob, rkey(&uri));
    assert!(second.contains("Subject: [PATCH] Say more"), "{second}");
    let diff = |round| stage.diff(&uri, &["--patch", "--round", round]);
    assert_eq!(diff("0").trim_end(), first.trim_end());
    assert_eq!(diff("1").trim_end(), second.trim_end());
}

#[test]
fn tang_shows_the_edited_title() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let _ = stage
        .forge(
            &stage.bob,
            &["pr", "edit", &uri, "-t", "Better", "-b", "Because."],
        )
        .success();
    let shown = stage.tang_json(&stage.bob, &["pull", "show", rkey(&uri)]);
    assert_eq!(shown["pull"]["title"], "Better");
    assert_eq!(shown["pull"]["body"], "Because.");
}

#[test]
fn tang_comments_on_forge_pull() {
    let Some(stage) = Stage::new() else { return };
    stage.branch("topic");
    let uri = stage.forge_opens(&stage.bob, "topic", "A topic", "Why.");
    let review = [
        "pull",
        "review",
        &for_tang(&uri),
        "--comment",
        "From elsewhere.",
    ];
    let _ = stage.tang(&stage.alice, &review).success();
    let args = ["pr", "view", &uri, "--json", "comments"];
    let comments = &stage.forge(&stage.bob, &args).success().json()["comments"];
    assert_eq!(comments.as_array().unwrap().len(), 1, "{comments}");
    assert_eq!(comments[0]["author"]["login"], "alice.test");
    assert_eq!(comments[0]["body"], "From elsewhere.");
}

#[test]
fn repository_is_described_by_tang() {
    let Some(stage) = Stage::new() else { return };
    let info = stage
        .tang(&stage.bob, &["repo", "info", "alice.test/widget"])
        .success();
    let text = info.stdout_text();
    assert!(
        text.contains("widget") && text.contains(&stage.alice.did),
        "{text}"
    );
    assert!(
        text.contains(&stage.world.knot().host().authority()),
        "{text}"
    );
}
