//! How git processes end: by a limit, by a signal to `forge`, or after `forge` was killed.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use forge_testkit::{GitDir, Identity, Run, Scratch};
use serde_json::json;

/// How long a test waits for a process to start or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Creates a repository with pull request 1, whose merge takes for ever, and pull request 2, whose
/// merge is clean.
fn crossed(scratch: &Scratch) -> GitDir {
    let git = scratch.repository("crossed");
    git.cross_histories();
    git.commit("plain", "Plain", &[("plain.txt", Some("x\n"))]);
    for branch in ["topic", "plain"] {
        forge(scratch, &git)
            .args(["pr", "create", "-H", branch, "-t", branch, "-b", ""])
            .ok();
    }
    git
}

fn forge(scratch: &Scratch, git: &GitDir) -> Run {
    scratch.forge(git.path(), &Identity::ADA)
}

/// A merge may take a quarter of the time of a call.
#[test]
fn endless_merge_costs_only_mergeability() {
    let scratch = Scratch::new();
    let git = crossed(&scratch);
    let run = |args: &[&str]| forge(&scratch, &git).env("FORGE_TIMEOUT", "4").args(args);
    let fields = "number,title,mergeable,files";
    let view = run(&["pr", "view", "1", "--json", fields])
        .output()
        .success();
    assert_eq!(view.json()["mergeable"], "UNKNOWN");
    assert_eq!(view.json()["files"].as_array().unwrap().len(), 1);
    let said = view.stderr_text();
    assert!(said.contains("git merge-tree may take 1 s"), "{said}");
    let list = run(&["pr", "list", "--json", fields]).output().success();
    let rows = list.json();
    assert_eq!(
        (&rows[0]["number"], &rows[1]["number"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(rows[0]["mergeable"], "MERGEABLE");
    assert_eq!(rows[1]["mergeable"], "UNKNOWN");
    let refs = git.refs();
    for method in ["--merge", "--squash"] {
        let merge = run(&["pr", "merge", "1", method]).output().exits(1);
        let said = merge.stderr_text();
        assert!(said.contains("cannot merge #1: "), "{said}");
        let by_hand = "git switch main && git merge -s resolve topic";
        assert!(said.contains(by_hand), "{said}");
    }
    assert_eq!(git.refs(), refs);
    run(&["pr", "merge", "2", "--merge"]).ok();
}

/// Returns the processes whose parent is `parent` and whose command line contains `word`.
fn children(parent: u32, word: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|pid| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
        let stat = read("stat").unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let mut fields = fields.split_whitespace().skip(1);
        let is_child = fields.next().and_then(|id| id.parse().ok()) == Some(parent);
        is_child && read("cmdline").is_ok_and(|line| line.contains(word))
    })
    .collect()
}

fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z "))
}

#[cfg(target_os = "linux")]
fn has_time_limit(pid: u32) -> bool {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let mut lines = limits.lines();
    lines.any(|line| line.starts_with("Max cpu time") && !line.contains("unlimited"))
}

fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits for a child of `forge` whose command line contains `word`.
fn wait_for_child(forge: &Child, word: &str) -> u32 {
    let mut found = Vec::new();
    wait_until(word, || {
        found = children(forge.id(), word);
        !found.is_empty()
    });
    found[0]
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

fn start(run: &Run) -> Child {
    let mut command = run.command();
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Returns true if the tests run in a way in which a signal is ignored, as under `nohup`. `forge`
/// then ignores it as well.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0) >> (signal - 1) & 1 == 1
}

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

#[test]
fn signal_ends_processes_that_compute() {
    if !has_proc() {
        return;
    }
    let scratch = Scratch::new();
    let git = crossed(&scratch);
    let view = ["pr", "view", "1", "--json", "mergeable"];
    for (signal, code) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130)] {
        if is_ignored(code - 128) {
            continue;
        }
        let mut child = start(&forge(&scratch, &git).args(view));
        let merge = wait_for_child(&child, "merge-tree");
        send(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        wait_until(signal, || has_ended(merge));
    }
}

#[test]
fn signal_ends_the_computations_of_a_server() {
    use std::io::Write as _;
    if !has_proc() {
        return;
    }
    let scratch = Scratch::new();
    let git = crossed(&scratch);
    let mut child = start(&forge(&scratch, &git).args(["mcp"]));
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "tests", "version": "1" },
    });
    let call = json!({ "name": "pr_view", "arguments": { "number": "1" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ] {
        writeln!(child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }
    let merge = wait_for_child(&child, "merge-tree");
    send("-TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    wait_until("the merge ends", || has_ended(merge));
}

/// Nobody is left to stop the merge. The limit of processor time does.
#[cfg(target_os = "linux")]
#[test]
fn killed_program_leaves_no_endless_computation() {
    let scratch = Scratch::new();
    let git = crossed(&scratch);
    let view = ["pr", "view", "1", "--json", "mergeable"];
    let run = forge(&scratch, &git).env("FORGE_TIMEOUT", "4").args(view);
    let mut child = start(&run);
    let merge = wait_for_child(&child, "merge-tree");
    // The limit is set just after the start of the merge.
    wait_until("the merge has a limit", || has_time_limit(merge));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    wait_until("the merge ends", || has_ended(merge));
}

/// A killed git would leave its lock files.
#[test]
fn signal_lets_a_write_finish() {
    if !has_proc() {
        return;
    }
    let scratch = Scratch::new();
    let git = crossed(&scratch);
    let hook = git.path().join(".git/hooks/reference-transaction");
    let (begun, ended) = (scratch.path("begun"), scratch.path("ended"));
    let text = format!(
        "#!/bin/sh\ncat > /dev/null\n[ $1 = prepared ] || exit 0\n: > '{}'\nsleep 1\n: > '{}'\n",
        begun.display(),
        ended.display()
    );
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        if is_ignored(code - 128) {
            continue;
        }
        for mark in [&begun, &ended] {
            let _ = fs::remove_file(mark);
        }
        fs::write(&hook, &text).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let old = git.oid("refs/forge/pulls/2");
        let mut child = start(&forge(&scratch, &git).args(["pr", "comment", "2", "-b", "x"]));
        wait_until("the write begins", || begun.exists());
        send(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(ended.exists(), "{signal}");
        fs::remove_file(&hook).unwrap();
        assert_ne!(git.oid("refs/forge/pulls/2"), old, "{signal}");
        assert!(!git.path().join(".git/refs/forge/pulls/2.lock").exists());
    }
}
