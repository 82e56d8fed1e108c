use std::time::Duration;

use forge_testkit::Run;
use serde_json::Value;

use super::hall::Hall;
use crate::sweep;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_that_is_killed_at_any_request_is_submitted_once() {
    sweep::round(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_the_library_that_is_killed_at_any_request_does_things_once() {
    sweep::creation(1).await;
    sweep::creation_without_a_branch(1).await;
    sweep::merge(1).await;
    sweep::comments(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_tangled_1_0_a_client_that_is_killed_at_any_request_does_things_once() {
    sweep::ticket_creation(1).await;
    sweep::ticket_round(1).await;
    sweep::ticket_comments(1).await;
    sweep::ticket_merge(1).await;
}

#[test]
fn a_round_with_a_comment_that_is_killed_at_any_request_is_submitted_and_said_once() {
    let hall = Hall::new();
    let mut at = 1;
    loop {
        let mut came_there = false;
        for after in [false, true] {
            let branch = format!("b{at}{after}");
            hall.branch(&branch, &branch, "x\n");
            hall.create(&branch).ok();
            let uri = hall.pulls(&branch).remove(0);
            hall.branch(&branch, &branch, "x\ny\n");
            let resubmit = hall.forge(&["pr", "resubmit", &uri, "-c", "With more."]);
            came_there |= hall.kill(at, after, &resubmit);
            let again = resubmit.output().success();
            let (_, record) = hall.world.pds().record(&uri).unwrap();
            let rounds = record["rounds"].as_array().map(Vec::len);
            assert_eq!(rounds, Some(2), "request {at}, after: {after}: {again:?}");
            let said = hall.comments(&uri);
            assert_eq!(
                said,
                ["With more."],
                "request {at}, after: {after}: {again:?}"
            );
        }
        if !came_there {
            break;
        }
        at += 1;
    }
    println!("killed at each of {} requests", at - 1);
    assert!(at > 8);
}

#[test]
fn a_creation_that_is_killed_at_any_request_is_made_once() {
    let hall = Hall::new();
    let mut at = 1;
    loop {
        let mut came_there = false;
        for after in [false, true] {
            let branch = format!("b{at}{after}");
            hall.branch(&branch, &branch, "x\n");
            let create = hall.create(&branch);
            came_there |= hall.kill(at, after, &create);
            let before = hall.pulls(&branch);
            let again = create.output();
            let now = hall.pulls(&branch);
            assert_eq!(now.len(), 1, "request {at}, after: {after}: {again:?}");
            assert_eq!(hall.statuses(&now[0]), ["open"]);
            match again.code {
                Some(0) => assert!(before.is_empty() && again.stdout_text().contains(&now[0])),
                // It had been made: that is said, with its name.
                _ => {
                    assert_eq!(before, now, "{again:?}");
                    assert!(again.stderr_text().contains(&now[0]), "{again:?}");
                }
            }
        }
        if !came_there {
            break;
        }
        at += 1;
    }
    println!("killed at each of {} requests", at - 1);
    assert!(at > 8);
}

/// Kills the command that opens a pull request of this name at each of its requests, and gives it
/// again in another second.
fn made_once(hall: &Hall, create: impl Fn(&str) -> Run) {
    let (mut at, mut finished) = (1, 0);
    loop {
        let mut came_there = false;
        for after in [false, true] {
            let title = format!("t{at}{after}");
            let create = create(&title);
            came_there |= hall.kill(at, after, &create);
            let before = hall.titled(&title);
            if !before.is_empty() {
                std::thread::sleep(Duration::from_millis(1100));
            }
            let again = create.output();
            let now = hall.titled(&title);
            assert_eq!(now.len(), 1, "request {at}, after: {after}: {again:?}");
            match again.code {
                Some(0) => assert!(before.is_empty() && again.stdout_text().contains(&now[0])),
                // It had been made: that is said, with its name.
                _ => {
                    assert_eq!(before, now, "{again:?}");
                    assert!(again.stderr_text().contains(&now[0]), "{again:?}");
                    finished += 1;
                }
            }
        }
        if !came_there {
            break;
        }
        at += 1;
    }
    println!("killed at each of {} requests", at - 1);
    assert!(at > 6 && finished > 0, "{at} requests, {finished} finished");
}

#[test]
fn a_creation_from_files_that_is_killed_at_any_request_is_made_once() {
    let hall = Hall::new();
    let file = hall.scratch.write("file", "x\n");
    made_once(&hall, |title| {
        let edit = format!("{title}={}", file.display());
        let named = ["pr", "create", "-R", "tangled:alice.test/widget"];
        let said = ["-t", title, "-b", "Text.", "--edit", &edit];
        hall.forge(&[&named[..], &said].concat())
    });
}

#[test]
fn a_creation_from_a_clone_that_is_killed_at_any_request_is_made_once() {
    let hall = Hall::new();
    let clone = hall.clone_of_it();
    made_once(&hall, |title| {
        hall.commit_in(&clone, title);
        hall.forge(&["pr", "create", "-t", title, "-b", "Text."])
            .dir(&clone)
    });
}

#[test]
fn a_merge_that_is_killed_at_any_request_is_made_once() {
    let hall = Hall::new();
    let git = &hall.repo.git;
    // One more line of the same fits behind any number of them: it would apply again and again.
    let lines = |n: usize| "x\n".repeat(n);
    git.commit("main", "Ten lines", &[("same", Some(&lines(10)))]);
    let (mut at, mut length) = (1, 10);
    loop {
        let mut came_there = false;
        for after in [false, true] {
            let branch = format!("b{at}{after}");
            length += 1;
            hall.branch(&branch, "same", &lines(length));
            hall.create(&branch).ok();
            let uri = hall.pulls(&branch).remove(0);
            let merge = hall.forge(&["pr", "merge", &uri, "--rebase"]);
            came_there |= hall.kill(at, after, &merge);
            let again = merge.output().success();
            let times = git
                .log("main", "%s")
                .matches(&format!("Add {branch}."))
                .count();
            assert_eq!(times, 1, "request {at}, after: {after}: {again:?}");
            assert_eq!(git.show("main", "same"), lines(length));
            let statuses = hall.statuses(&uri);
            let merged = statuses.iter().filter(|word| *word == "merged").count();
            assert_eq!(merged, 1, "request {at}, after: {after}: {again:?}");
        }
        if !came_there {
            break;
        }
        at += 1;
    }
    println!("killed at each of {} requests", at - 1);
    assert!(at > 10);
}

#[test]
fn on_tangled_1_0_a_creation_that_is_killed_at_any_request_is_made_once() {
    let hall = Hall::new();
    let repo = hall.world.repository_1_0(&hall.alice, "new");
    let knot = hall.world.knot();
    let titled = |title: &str| {
        let mut all = knot.records(&repo.did, "org.tangled.track.ticket");
        all.retain(|(_, _, value)| value["title"]["text"] == title);
        let uris = all.into_iter().map(|(uri, _, _)| uri);
        uris.collect::<Vec<_>>()
    };
    let rounds = |uri: &str| {
        let rkey = uri.rsplit('/').next().unwrap();
        let all = knot.records(&repo.did, "org.tangled.review.patch");
        all.iter()
            .filter(|(_, _, value)| value["ticket"] == rkey)
            .count()
    };
    let mut at = 1;
    loop {
        let mut came_there = false;
        for after in [false, true] {
            let branch = format!("b{at}{after}");
            repo.git.commit(&branch, &branch, &[(&branch, Some("x\n"))]);
            let named = ["-R", "tangled:alice.test/new", "-H", &branch];
            let said = ["-t", &branch, "-b", "Text."];
            let create = hall.forge(&[&["pr", "create"][..], &named, &said].concat());
            came_there |= hall.kill(at, after, &create);
            let begun = titled(&branch);
            let finished = begun.iter().any(|uri| rounds(uri) > 0);
            let again = create.output();
            let now = titled(&branch);
            assert_eq!(now.len(), 1, "request {at}, after: {after}: {again:?}");
            assert_eq!(rounds(&now[0]), 1, "request {at}, after: {after}");
            match again.code {
                Some(0) => assert!(!finished, "request {at}, after: {after}: {again:?}"),
                // It had been made: that is said, with its name.
                _ => assert!(
                    finished && again.stderr_text().contains(&now[0]),
                    "request {at}, after: {after}: {again:?}"
                ),
            }
        }
        if !came_there {
            break;
        }
        at += 1;
    }
    println!("killed at each of {} requests", at - 1);
    assert!(at > 8);
}

#[test]
fn on_tangled_1_0_a_round_and_an_end_that_are_killed_at_any_request_are_made_and_said_once() {
    let hall = Hall::new();
    let repo = hall.world.repository_1_0(&hall.alice, "new");
    let records = |name: &str| {
        let collection = format!("org.tangled.{name}");
        hall.world.knot().records(&repo.did, &collection)
    };
    let ticket = |title: &str| {
        let mut all = records("track.ticket").into_iter();
        all.find(|(_, _, value)| value["title"]["text"] == title)
            .unwrap()
    };
    let rounds = |uri: &str| {
        let rkey = uri.rsplit('/').next().unwrap();
        let all = records("review.patch").into_iter();
        all.filter(|(_, _, value)| value["ticket"] == rkey).count()
    };
    let said = |uri: &str, text: &str| {
        let all = records("feed.comment").into_iter();
        let same = |value: &Value| value["subject"]["uri"] == uri && value["body"]["text"] == text;
        all.filter(|(_, _, value)| same(value)).count()
    };
    let mut at = 1;
    loop {
        let mut came_there = false;
        for after in [false, true] {
            let branch = format!("b{at}{after}");
            repo.git.commit(&branch, &branch, &[(&branch, Some("x\n"))]);
            let named = ["-R", "tangled:alice.test/new", "-H", &branch];
            let text = ["-t", &branch, "-b", "Text."];
            let create = hall.forge(&[&["pr", "create"][..], &named, &text].concat());
            create.ok();
            let uri = ticket(&branch).0;
            repo.git
                .commit(&branch, "More", &[(&branch, Some("x\ny\n"))]);
            let resubmit = hall.forge(&["pr", "resubmit", &uri, "-c", "With more."]);
            came_there |= hall.kill(at, after, &resubmit);
            let again = resubmit.output().success();
            let there = (rounds(&uri), said(&uri, "With more."));
            assert_eq!(there, (2, 1), "request {at}, after: {after}: {again:?}");

            let close = hall.forge(&["pr", "close", &uri, "-c", "Not now."]);
            came_there |= hall.kill(at, after, &close);
            let again = close.output().success();
            let times = said(&uri, "Not now.");
            assert_eq!(times, 1, "request {at}, after: {after}: {again:?}");
            assert_eq!(ticket(&branch).2["state"], "closed");
        }
        if !came_there {
            break;
        }
        at += 1;
    }
    println!("killed at each of {} requests", at - 1);
    assert!(at > 8);
}
