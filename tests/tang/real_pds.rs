//! Runs the exchanges with `tang` on a real PDS, with our knot, and with an index that follows the
//! PDS's firehose.

use std::time::{Duration, Instant};

use crate::stage::{Stage, for_tang, rkey};

/// Waits until another program's write is visible.
fn until(what: &str, mut is_there: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_there() {
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn tang_and_forge_continue_foreign_pulls() {
    let Some(stage) = Stage::real() else { return };
    let (alice, bob) = (&stage.alice, &stage.bob);
    stage.branch("first");
    let first = stage.tang_opens(bob, "first", "By tang", "Why.");
    until("the pull request", || {
        stage.world.index().knows(&first).is_some()
    });
    let args = ["pr", "list", "--json", "url,title,state"];
    let listed = stage.forge(alice, &args).success().json();
    assert_eq!(listed[0]["url"], first.as_str());
    assert_eq!(listed[0]["state"], "OPEN");
    let uploaded = stage.patch_by_tang(bob, rkey(&first));
    assert_eq!(
        stage.diff(&first, &["--patch"]).trim_end(),
        uploaded.trim_end()
    );

    let _ = stage
        .forge(alice, &["pr", "comment", &first, "-b", "By forge."])
        .success();
    let review = ["pull", "review", rkey(&first), "--comment", "By tang."];
    let _ = stage.tang(bob, &review).success();
    until("the comment", || {
        stage.view(&first, "comments")["comments"]
            .as_array()
            .unwrap()
            .len()
            == 2
    });
    let comments = stage.view(&first, "comments");
    assert_eq!(comments["comments"][0]["body"], "By forge.");
    assert_eq!(comments["comments"][1]["body"], "By tang.");
    let _ = stage
        .forge(alice, &["pr", "merge", &first, "--rebase"])
        .success();
    assert_eq!(stage.repo.git.show("main", "first.txt"), "one\ntwo\n");

    stage.branch("second");
    let second = stage.forge_opens(bob, "second", "By forge", "Why.");
    let listed = stage.tang_json(bob, &["pull", "list", "--repo", "alice.test/widget"]);
    let keys: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["rkey"].as_str().unwrap())
        .collect();
    assert_eq!(keys, [rkey(&second), rkey(&first)]);
    let shown = stage.tang_json(alice, &["pull", "show", &for_tang(&second)]);
    assert_eq!(shown["pull"]["title"], "By forge");
    let by_tang = stage.patch_by_tang(alice, &for_tang(&second));
    assert_eq!(
        stage.diff(&second, &["--patch"]).trim_end(),
        by_tang.trim_end()
    );
    assert_eq!(stage.world.index().dropped(), []);
}
