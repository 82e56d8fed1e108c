//! Tests many processes that write concurrently.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use forge_testkit::{Identity, Run, Scratch, git_program};

/// Starts all `runs` before it waits for any of them.
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
fn fifty_concurrent_edits_all_take_effect() {
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
fn twenty_concurrent_creates_get_own_numbers() {
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
fn concurrent_merges_merge_once() {
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

/// Creates a git program that writes the file `held` before it changes a ref, and then waits until
/// `gone` exists. Returns its path.
fn stopping_git(scratch: &Scratch, held: &Path, gone: &Path) -> PathBuf {
    let script = format!(
        "#!/bin/sh\n\
         case \" $* \" in\n\
         *' update-ref '*) ;;\n\
         *) exec '{}' \"$@\" ;;\n\
         esac\n\
         : >'{}'\n\
         n=0\n\
         while [ ! -e '{}' ] && [ $n -lt 3000 ]; do n=$((n + 1)); sleep 0.02; done\n\
         exit 1\n",
        git_program().display(),
        held.display(),
        gone.display()
    );
    let program = scratch.write("stopping-git", script);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    program
}

#[test]
fn lock_of_dead_writer_is_released() {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    for branch in ["one", "two"] {
        git.commit(branch, "Change", &[(branch, Some("x\n"))]);
        forge()
            .args(["pr", "create", "-H", branch, "-t", "Title", "-b", ""])
            .ok();
    }
    let (held, gone) = (scratch.path("held"), scratch.path("gone"));
    let mut child = forge()
        .env("FORGE_GIT", stopping_git(&scratch, &held, &gone))
        .args(["pr", "edit", "1", "--title", "Never"])
        .command()
        .spawn()
        .unwrap();
    while !held.exists() {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended before it wrote: {ended:?}");
        thread::sleep(Duration::from_millis(5));
    }
    let turn = File::open(git.path().join(".git/forge.turn")).unwrap();
    let other = turn.try_lock();
    assert!(
        matches!(other, Err(TryLockError::WouldBlock)),
        "it is not in its turn: {other:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    turn.try_lock().unwrap();
    drop(turn);
    fs::write(&gone, "").unwrap();
    for number in ["2", "1"] {
        forge()
            .args(["pr", "edit", number, "--title", "Other"])
            .ok();
    }
    let titles = forge()
        .args(["pr", "list", "--json", "title", "--jq", ".[].title"])
        .text();
    assert_eq!(titles, "Other\nOther\n");
}
