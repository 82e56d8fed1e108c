//! Many processes that write at the same time.

use std::{collections::BTreeSet, process::Stdio, thread};

use forge_testkit::{Identity, Run, Scratch};

/// Starts all of `runs` before it waits for any.
fn at_once(runs: &[Run]) -> Vec<forge_testkit::Output> {
    thread::scope(|scope| {
        let running: Vec<_> = runs
            .iter()
            .map(|run| scope.spawn(|| run.output()))
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    })
}

#[test]
fn fifty_edits_of_one_pull_request() {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    git.commit("feature", "Change", &[("new", Some("x\n"))]);
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    forge()
        .args(["pr", "create", "-H", "feature", "-t", "Title", "-b", ""])
        .ok();
    let edits: Vec<_> = (0..50)
        .map(|n| forge().args(["pr", "edit", "1", "--title", &format!("Title {n:02}")]))
        .collect();
    for output in at_once(&edits) {
        let _ = output.success();
    }
    let events = git
        .run([
            "log",
            "--first-parent",
            "--format=%B%x00",
            "refs/forge/pulls/1",
        ])
        .text();
    let lost: Vec<_> = (0..50)
        .filter(|n| events.matches(&format!("\"Title {n:02}\"")).count() != 1)
        .collect();
    assert!(
        lost.is_empty(),
        "edits that are not in the history once: {lost:?}\n{events}"
    );
    let history = forge().args(["pr", "view", "1", "--history"]).text();
    assert_eq!(history.matches("edited").count(), 50, "{history}");
    let json = forge()
        .args(["pr", "view", "1", "--json", "title"])
        .output()
        .success()
        .json();
    assert!(json["title"].as_str().unwrap().starts_with("Title "));
    git.run(["fsck", "--strict", "--no-dangling"]).ok();
}

#[test]
fn twenty_creates_at_once() {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    let creates: Vec<_> = (0..20)
        .map(|n| {
            let branch = format!("feature-{n}");
            git.commit(&branch, "Change", &[(&branch, Some("x\n"))]);
            forge().args(["pr", "create", "-H", &branch, "-t", &branch, "-b", ""])
        })
        .collect();
    let urls: BTreeSet<_> = at_once(&creates)
        .into_iter()
        .map(|output| output.success().stdout_text())
        .collect();
    assert_eq!(urls.len(), 20, "{urls:?}");
    let list = forge()
        .args(["pr", "list", "-L", "100", "--json", "number,headRefName"])
        .output()
        .success()
        .json();
    let rows = list.as_array().unwrap();
    let numbers: BTreeSet<_> = rows.iter().map(|r| r["number"].as_u64().unwrap()).collect();
    let heads: BTreeSet<_> = rows
        .iter()
        .map(|r| r["headRefName"].as_str().unwrap())
        .collect();
    assert_eq!((rows.len(), numbers.len(), heads.len()), (20, 20, 20));
}

#[test]
fn one_of_two_merges_at_once_does_it() {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    git.commit("feature", "Change", &[("new", Some("x\n"))]);
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    forge()
        .args(["pr", "create", "-H", "feature", "-t", "Title", "-b", ""])
        .ok();
    let merges: Vec<_> = ["--merge", "--squash", "--rebase", "--merge"]
        .map(|how| forge().args(["pr", "merge", "1", how]))
        .into();
    for output in at_once(&merges) {
        let _ = output.success();
    }
    let commits = git
        .run(["rev-list", "--count", "--first-parent", "main"])
        .text();
    assert_eq!(commits.trim(), "2", "the base moved more than once");
}

#[test]
fn writers_of_different_pull_requests_do_not_wait_for_the_dead() {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    git.commit("feature", "Change", &[("new", Some("x\n"))]);
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    forge()
        .args(["pr", "create", "-H", "feature", "-t", "Title", "-b", ""])
        .ok();
    let mut child = forge()
        .args(["pr", "edit", "1", "--body-file", "-"])
        .command()
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    forge().args(["pr", "edit", "1", "--title", "Other"]).ok();
    child.kill().unwrap();
    child.wait().unwrap();
    forge()
        .args(["pr", "comment", "1", "--body", "Still here."])
        .ok();
}
