use std::time::Duration;

use forge_testkit::{GitShim, Output, Run, ShimPlan};

use super::hall::{Hall, Tickets, at_each_write, wait_for};

#[test]
fn killed_resubmit_with_comment_writes_both_once() {
    let hall = Hall::new();
    at_each_write(2, |at, after| {
        let branch = format!("b{at}{after}");
        hall.branch(&branch, &branch, "x\n");
        hall.create(&branch).ok();
        let uri = hall.pulls(&branch).remove(0);
        hall.branch(&branch, &branch, "x\ny\n");
        let resubmit = hall.forge(&["pr", "resubmit", &uri, "-c", "With more."]);
        let came_there = hall.kill(at, after, &resubmit);
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
        came_there
    });
}

#[test]
fn killed_create_opens_pull_once() {
    let hall = Hall::new();
    at_each_write(2, |at, after| {
        let branch = format!("b{at}{after}");
        hall.branch(&branch, &branch, "x\n");
        let create = hall.create(&branch);
        let came_there = hall.kill(at, after, &create);
        let before = hall.pulls(&branch);
        let again = create.output();
        let now = hall.pulls(&branch);
        assert_eq!(now.len(), 1, "request {at}, after: {after}: {again:?}");
        assert_eq!(hall.statuses(&now[0]), ["open"]);
        existed_already(&again, &before, &now);
        came_there
    });
}

/// Checks that the repeated command either creates the only pull request, or fails and names the
/// existing one. Returns true if the pull request existed already.
fn existed_already(again: &Output, before: &[String], now: &[String]) -> bool {
    let is_made = again.code == Some(0);
    if is_made {
        assert!(before.is_empty() && again.stdout_text().contains(&now[0]));
    } else {
        assert_eq!(before, now, "{again:?}");
        assert!(again.stderr_text().contains(&now[0]), "{again:?}");
    }
    !is_made
}

/// Kills the command that creates a pull request with this name, at each of its requests in turn.
/// Repeats the command one second later.
fn assert_created_once(hall: &Hall, create: impl Fn(&str) -> Run) {
    let mut finished = 0;
    at_each_write(2, |at, after| {
        let title = format!("t{at}{after}");
        let create = create(&title);
        let came_there = hall.kill(at, after, &create);
        let before = hall.titled(&title);
        if !before.is_empty() {
            std::thread::sleep(Duration::from_millis(1100));
        }
        let again = create.output();
        let now = hall.titled(&title);
        assert_eq!(now.len(), 1, "request {at}, after: {after}: {again:?}");
        finished += usize::from(existed_already(&again, &before, &now));
        came_there
    });
    assert!(finished > 0);
}

#[test]
fn killed_and_repeated_create_from_files_opens_one_pull() {
    let hall = Hall::new();
    let file = hall.scratch.write("file", "x\n");
    assert_created_once(&hall, |title| {
        let edit = format!("{title}={}", file.display());
        let named = ["pr", "create", "-R", "tangled:alice.test/widget"];
        let said = ["-t", title, "-b", "Text.", "--edit", &edit];
        hall.forge(&[&named[..], &said].concat())
    });
}

#[test]
fn killed_and_repeated_create_from_clone_opens_one_pull() {
    let hall = Hall::new();
    let clone = hall.clone_repository();
    assert_created_once(&hall, |title| {
        hall.commit_in(&clone, title);
        hall.forge(&["pr", "create", "-t", title, "-b", "Text."])
            .dir(&clone)
    });
}

#[test]
fn killed_merge_merges_once() {
    let hall = Hall::new();
    let git = &hall.repo.git;
    // All lines are equal, so merging the same patch twice would succeed and add a second line.
    let lines = |n: usize| "x\n".repeat(n);
    git.commit("main", "Ten lines", &[("same", Some(&lines(10)))]);
    let mut length = 10;
    at_each_write(2, |at, after| {
        let branch = format!("b{at}{after}");
        length += 1;
        hall.branch(&branch, "same", &lines(length));
        hall.create(&branch).ok();
        let uri = hall.pulls(&branch).remove(0);
        let merge = hall.forge(&["pr", "merge", &uri, "--rebase"]);
        let came_there = hall.kill(at, after, &merge);
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
        came_there
    });
}

#[test]
fn tangled_1_0_killed_create_opens_pull_once() {
    let hall = Hall::new();
    let tickets = Tickets::in_hall(&hall);
    let records = tickets.records();
    at_each_write(2, |at, after| {
        let branch = format!("b{at}{after}");
        tickets.branch(&branch, "x\n");
        let create = tickets.create(&branch);
        let came_there = hall.kill(at, after, &create);
        let begun = records.titled(&branch);
        let finished = begun.iter().any(|(uri, _)| records.rounds(uri) > 0);
        let again = create.output();
        let now = records.titled(&branch);
        assert_eq!(now.len(), 1, "request {at}, after: {after}: {again:?}");
        let uri = &now[0].0;
        assert_eq!(records.rounds(uri), 1, "request {at}, after: {after}");
        match again.code {
            Some(0) => assert!(!finished, "request {at}, after: {after}: {again:?}"),
            // The pull request existed already, so the error names it.
            _ => assert!(
                finished && again.stderr_text().contains(uri),
                "request {at}, after: {after}: {again:?}"
            ),
        }
        came_there
    });
}

#[test]
fn tangled_1_0_killed_resubmit_and_close_write_once() {
    let hall = Hall::new();
    let tickets = Tickets::in_hall(&hall);
    let records = tickets.records();
    at_each_write(2, |at, after| {
        let branch = format!("b{at}{after}");
        let uri = tickets.opened(&branch);
        tickets.branch(&branch, "x\ny\n");
        let resubmit = hall.forge(&["pr", "resubmit", &uri, "-c", "With more."]);
        let mut came_there = hall.kill(at, after, &resubmit);
        let again = resubmit.output().success();
        let there = (records.rounds(&uri), records.said(&uri, "With more."));
        assert_eq!(there, (2, 1), "request {at}, after: {after}: {again:?}");

        let close = hall.forge(&["pr", "close", &uri, "-c", "Not now."]);
        came_there |= hall.kill(at, after, &close);
        let again = close.output().success();
        let times = records.said(&uri, "Not now.");
        assert_eq!(times, 1, "request {at}, after: {after}: {again:?}");
        assert_eq!(records.titled(&branch)[0].1["state"], "closed");
        came_there
    });
}

/// A repeated comment command writes a second comment, unless a flag makes it search for the first
/// one.
#[test]
fn comment_repeated_after_kill_is_written_once() {
    let hall = Hall::new();
    let tickets = Tickets::in_hall(&hall);
    for of_1_0 in [false, true] {
        let mut there = 0;
        at_each_write(2, |at, after| {
            let branch = format!("b{at}{after}");
            let uri = match of_1_0 {
                true => tickets.opened(&branch),
                false => {
                    hall.branch(&branch, &branch, "x\n");
                    hall.create(&branch).ok();
                    hall.pulls(&branch).remove(0)
                }
            };
            let said = || match of_1_0 {
                true => tickets.records().said(&uri, "Well."),
                false => hall.comments(&uri).len(),
            };
            let comment = ["pr", "comment", &uri, "-b", "Well."];
            let looks = ["--edit-last", "--create-if-none"];
            let comment = hall.forge(&[&comment[..], &looks].concat());
            let came_there = hall.kill(at, after, &comment);
            let before = said();
            let again = comment.output();
            assert_eq!(said(), 1, "request {at}, after: {after}: {again:?}");
            // Comments of Tangled 1.0 cannot be edited, so the repeated command fails and writes
            // nothing.
            let done = before == 0 || !of_1_0;
            assert_eq!(again.code == Some(0), done, "{again:?}");
            there += before;
            came_there
        });
        assert!(there > 0, "never killed behind it, of 1.0: {of_1_0}");
    }
}

#[test]
fn tangled_1_0_merge_killed_at_requests_merges_once() {
    let hall = Hall::new();
    let tickets = Tickets::in_hall(&hall);
    let mut landed = 0;
    at_each_write(2, |at, after| {
        let branch = format!("b{at}{after}");
        let merge = tickets.merge_of_new(&branch);
        let came_there = hall.kill(at, after, &merge);
        landed += usize::from(tickets.merge_again(&merge, &branch));
        came_there
    });
    assert!(landed > 0, "never killed between the push and its record");
}

#[test]
fn tangled_1_0_merge_killed_at_git_merges_once() {
    let hall = Hall::new();
    let tickets = Tickets::in_hall(&hall);
    let mut landed = 0;
    let mut calls = 0;
    for at in 1.. {
        let mut came_there = false;
        for plan in [ShimPlan::KillBefore { at }, ShimPlan::KillAfter { at }] {
            let after = plan == ShimPlan::KillAfter { at };
            let branch = format!("b{at}{after}");
            let merge = tickets.merge_of_new(&branch);
            let shim = GitShim::new(&hall.scratch, &format!("git-{branch}"), plan);
            let killed = merge.clone().env("FORGE_GIT", shim.program()).output();
            came_there |= shim.struck(killed.code);
            landed += usize::from(tickets.merge_again(&merge, &branch));
        }
        if !came_there {
            break;
        }
        calls = at;
    }
    println!("killed at each of {calls} calls of git");
    assert!(calls > 4, "{calls} calls");
    assert!(landed > 0, "never killed between the push and its record");
}

/// The push continues after the program is killed.
#[test]
fn tangled_1_0_merge_killed_in_push_merges_once() {
    for hook in ["pre-receive", "post-receive"] {
        let hall = Hall::new();
        let tickets = Tickets::in_hall(&hall);
        let merge = tickets.merge_of_new("topic");
        let held = tickets.delay_first_push(hook);
        held.kill(&merge);
        let is_there = hook == "post-receive";
        assert_eq!(
            tickets.count_landed("topic"),
            usize::from(is_there),
            "{hook}"
        );
        if !is_there {
            held.release();
            wait_for("the push", || tickets.count_landed("topic") > 0);
        }
        let again = merge.output().success();
        let _ = again.says("the branch already had the change");
        assert_eq!(tickets.count_landed("topic"), 1, "{hook}");
        assert_eq!(tickets.records().titled("topic")[0].1["state"], "merged");
    }
}
