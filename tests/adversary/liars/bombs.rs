//! Small repositories that unpack to large ones: the memory of the real program.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use forge_testkit::{GitDir, Identity, Run, Scratch};
use serde_json::{Value, json};

use super::child::{Client, Running, check_end};
use crate::world::LEGACY;

const MIB: usize = 1 << 20;
const DEADLINE: Duration = Duration::from_secs(120);
const WHO: &str = "committer A <a@example.com> 1 +0000";

/// Creates a repository with pull request 1 on the branch `topic`.
fn repository(scratch: &Scratch) -> GitDir {
    let git = scratch.repository("bombs");
    git.commit("topic", "Topic", &[("topic.txt", Some("x\n"))]);
    forge(scratch, &git)
        .args(["pr", "create", "-H", "topic", "-t", "One", "-b", ""])
        .ok();
    git
}

fn forge(scratch: &Scratch, git: &GitDir) -> Run {
    scratch.forge(git.path(), &Identity::ADA)
}

/// Stores the pull requests 2 to `last`, each like pull request 1 with a long text in `field`.
fn add_pulls(git: &GitDir, last: u64, field: &str, bytes: usize) {
    let mut pull: Value =
        serde_json::from_str(&git.show("refs/forge/pulls/1", "pull.json")).unwrap();
    let mut stream = String::new();
    for number in 2..=last {
        pull["number"] = json!(number);
        pull[field] = json!(format!("{number} {}", "x".repeat(bytes)));
        let text = pull.to_string();
        let _ = write!(
            stream,
            "commit refs/forge/pulls/{number}\n{WHO}\ndata 1\nx\nM 100644 inline pull.json\n\
             data {}\n{text}\n",
            text.len()
        );
    }
    git.import(stream.into_bytes());
}

/// Adds `count` comments of `bytes` bytes to pull request 1.
fn add_comments(git: &GitDir, count: u64, bytes: usize) {
    let mut stream = String::new();
    for seq in 2..2 + count {
        let entry = json!({
            "seq": seq, "at": "2026-01-01T00:00:00Z", "actor": { "login": "eve" },
            "event": "commented", "body": format!("{seq} {}", "x".repeat(bytes)),
        });
        let message = format!("comment: eve\n\n{entry}\n");
        let from = match seq {
            2 => "from refs/forge/pulls/1^0\n",
            _ => "",
        };
        let _ = write!(
            stream,
            "commit refs/forge/pulls/1\n{WHO}\ndata {}\n{message}\n{from}",
            message.len()
        );
    }
    git.import(stream.into_bytes());
}

/// Adds commits with long messages to the branch `topic`.
fn add_commits(git: &GitDir, count: usize, message: &str) {
    let mut stream = String::new();
    for n in 0..count {
        let message = format!("{n}\n\n{message}");
        let from = match n {
            0 => "from refs/heads/topic^0\n",
            _ => "",
        };
        let _ = write!(
            stream,
            "commit refs/heads/topic\n{WHO}\ndata {}\n{message}\n{from}",
            message.len()
        );
    }
    git.import(stream.into_bytes());
}

/// Adds the branch `large` with a directory of many files of the same content.
fn add_directory(git: &GitDir, files: usize) {
    let mut stream =
        format!("commit refs/heads/large\n{WHO}\ndata 1\nx\nM 100644 inline a\ndata 0\n\n");
    stream.insert_str(0, "blob\nmark :1\ndata 2\nx\n\n");
    for n in 0..files {
        let _ = writeln!(stream, "M 100644 :1 large/{n:07}{}", "n".repeat(60));
    }
    git.import(stream.into_bytes());
}

/// Replaces the labels of the repository by `count` labels, whose names end with `text`.
fn set_labels(git: &GitDir, count: usize, text: &str) {
    let label =
        |n: usize| json!({ "id": n.to_string(), "name": format!("{n}{text}"), "color": "ffffff" });
    let labels: Vec<Value> = (0..count).map(label).collect();
    let text = json!({ "format": 2, "labels": labels }).to_string();
    let stream = format!(
        "commit refs/forge/labels\n{WHO}\ndata 1\nx\nM 100644 inline labels.json\ndata {}\n{text}\n",
        text.len()
    );
    git.import(stream.into_bytes());
}

/// Runs a command, and checks its memory. Returns the exit code and what was printed on stderr.
fn measure(scratch: &Scratch, git: &GitDir, args: &[&str]) -> (i64, String) {
    let run = forge(scratch, git).args(args);
    let ended = Running::start(&run, scratch.path("probe.result"), DEADLINE).end();
    let ended = ended.unwrap_or_else(|why| panic!("{args:?}: {why}"));
    println!("{args:?}: {} KiB in {:?}", ended.peak, ended.took);
    assert_eq!(check_end(&ended), Ok(()), "{args:?}");
    (ended.code, ended.stderr_text())
}

#[test]
fn long_list_of_long_texts_needs_little_memory() {
    let scratch = Scratch::new();
    let git = repository(&scratch);
    add_pulls(&git, 400, "description", MIB);
    let json = [
        "pr",
        "list",
        "-L",
        "400",
        "-s",
        "all",
        "--json",
        "number,body",
    ];
    let (code, said) = measure(&scratch, &git, &json);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the list is incomplete: "), "{said}");
    let (code, said) = measure(&scratch, &git, &["pr", "list", "-L", "400", "-A", "nobody"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(measure(&scratch, &git, &["pr", "view", "300"]).0, 0);
}

#[test]
fn long_events_need_little_memory() {
    let scratch = Scratch::new();
    let git = repository(&scratch);
    add_comments(&git, 250, 2 * MIB);
    let (code, said) = measure(&scratch, &git, &["pr", "view", "1", "--comments"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the events of pull request #1"), "{said}");
}

#[test]
fn long_commit_messages_need_little_memory() {
    let scratch = Scratch::new();
    let git = repository(&scratch);
    add_commits(&git, 40, &"x".repeat(6 * MIB));
    let view = ["pr", "view", "1", "--json", "commits"];
    assert!(measure(&scratch, &git, &view).1.contains("32 MiB"));
}

#[test]
fn message_of_trailers_needs_little_memory() {
    let scratch = Scratch::new();
    let git = repository(&scratch);
    add_commits(&git, 1, &"co-authored-by:<>\n".repeat(1_500_000));
    let view = ["pr", "view", "1", "--json", "commits"];
    assert!(measure(&scratch, &git, &view).1.contains("32 MiB"));
}

#[test]
fn many_or_long_labels_need_little_memory() {
    let scratch = Scratch::new();
    let git = repository(&scratch);
    let long = "x".repeat(MIB);
    let long = long.as_str();
    for (count, text, is_read) in [(70_000, "", true), (3, long, true), (200, long, false)] {
        set_labels(&git, count, text);
        for (command, needs_labels) in [
            (&["label", "list"][..], true),
            (&["label", "list", "--json", "name"], true),
            (&["pr", "list", "-l", "none"], false),
            (&["pr", "view", "1"], false),
        ] {
            let (code, said) = measure(&scratch, &git, command);
            let expected = i64::from(needs_labels && !is_read);
            assert_eq!(code, expected, "{count} {command:?}: {said}");
        }
    }
}

/// Many calls at once share the limit: a call that would exceed it runs again later, alone.
#[test]
fn twelve_calls_on_bombs_need_little_memory() {
    let scratch = Scratch::new();
    let git = repository(&scratch);
    add_comments(&git, 8, MIB);
    add_pulls(&git, 60, "title", MIB);
    add_commits(&git, 8, &"x".repeat(MIB));
    add_directory(&git, 100_000);
    let run = forge(&scratch, &git).args(["mcp"]);
    let result = scratch.path("probe.result");
    let mut client = Client::new(Running::start(&run, result, 2 * DEADLINE));
    let hello = json!({
        "protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": { "name": "tests", "version": "1" },
    });
    let id = client.send("initialize", &hello);
    assert!(client.answer(id, DEADLINE).unwrap().is_some());
    let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    client.running.write(initialized);
    let calls = [
        (
            "pr_view",
            json!({ "number": "1", "include": ["comments", "reviews", "threads"] }),
        ),
        (
            "pr_view",
            json!({ "number": "1", "include": ["commits", "files"] }),
        ),
        ("pr_list", json!({ "state": "all", "limit": 100 })),
        ("repo_file", json!({ "path": "large", "ref": "large" })),
    ];
    let mut open = BTreeSet::new();
    for (name, arguments) in calls.iter().cycle().take(12) {
        let params = json!({ "name": name, "arguments": arguments });
        open.insert(client.send("tools/call", &params));
    }
    while !open.is_empty() {
        let line = client.running.line(DEADLINE).unwrap();
        let message: Value = serde_json::from_slice(&line).unwrap();
        if let Some(id) = message["id"].as_u64() {
            let result = message["result"].to_string();
            assert!(!result.contains("held in memory by all calls"), "{result}");
            assert!(message["error"].is_null() && open.remove(&id), "{message}");
        }
    }
    let ended = client.running.end().unwrap();
    println!("{} KiB", ended.peak);
    assert_eq!(check_end(&ended), Ok(()));
}
