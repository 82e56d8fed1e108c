//! Runs the server on the GitHub double. Tests how many requests its calls send, and their results.

use forge_github_double::{
    PullSeed,
    state::{PullState, ReviewState},
};
use forge_testkit::{Identity, Run};
use serde_json::json;

use crate::{
    hub::{Hub, REPO},
    world::{Called, MODERN, User, Wire, column},
};

impl Hub {
    /// Creates a hub with Grace's pull request 1 from `work`, which adds `files` files.
    pub fn with_files(files: usize) -> Self {
        let hub = Self::new();
        let names: Vec<(String, String)> = (0..files)
            .map(|n| (format!("d/{n:04}.txt"), format!("file {n}\n")))
            .collect();
        let changes: Vec<(&str, Option<&str>)> = names
            .iter()
            .map(|(n, c)| (n.as_str(), Some(c.as_str())))
            .collect();
        hub.double.seed().commit(REPO, "work", &changes, "Work");
        hub.open_work();
        hub
    }

    /// Returns `forge mcp` with Ada's token.
    pub fn run(&self, args: &[&str]) -> Run {
        self.forge(&["mcp"]).args(args)
    }

    pub fn server(&self, args: &[&str]) -> Wire {
        self.server_of(MODERN, args)
    }

    pub fn server_of(&self, era: &str, args: &[&str]) -> Wire {
        Wire::start(&self.run(args), era)
    }
}

#[test]
fn r_000_11_view_with_everything_is_one_request() {
    let hub = Hub::with_files(90);
    {
        let mut seed = hub.double.seed();
        for n in 0..90 {
            seed.check(
                REPO,
                1,
                "ci",
                &format!("job {n}"),
                if n % 9 == 0 { "FAILURE" } else { "SUCCESS" },
            );
            seed.comment(REPO, 1, "grace", &format!("Comment {n}"));
        }
        for n in 0..20 {
            seed.review(
                REPO,
                1,
                &format!("reviewer{n}"),
                ReviewState::Approved,
                "Good.",
            );
        }
    }
    let mut wire = hub.server(&["--write"]);
    let comments: Vec<_> = (0..30)
        .map(|n| json!({"path": format!("d/{n:04}.txt"), "line": 1, "body": "Why?"}))
        .collect();
    wire.call(
        "pr_review",
        json!({"repo": REPO, "number": 1, "verdict": "comment", "body": "b", "comments": comments}),
    )
    .ok();
    hub.double.reset_record();
    let include = ["checks", "threads", "reviews", "files"];
    let view = wire
        .call(
            "pr_view",
            json!({"repo": REPO, "number": 1, "include": include}),
        )
        .ok();
    assert_eq!(hub.double.counts().api, 1, "{:?}", hub.double.requests());
    assert_eq!(view.data()["checks"].as_array().unwrap().len(), 90);
    assert_eq!(view.data()["threads"].as_array().unwrap().len(), 30);
    assert_eq!(view.data()["files"].as_array().unwrap().len(), 90);
    assert_eq!(view.data()["reviews"].as_array().unwrap().len(), 21);
    let pull = &view.data()["pull_request"];
    assert_eq!(pull["reviews"]["approved"], 20);
    assert_eq!(pull["reviews"]["details"].as_array().unwrap().len(), 21);
    assert_eq!(pull["reviews"]["commented"], 1);
    let counts = json!({
        "total": 90, "success": 80, "failure": 10, "pending": 0, "skipped": 0, "neutral": 0
    });
    assert_eq!(pull["check_counts"], counts);
    assert_eq!(view.data()["bodies_in_text"], true);
    let view = view
        .bounded(25_000)
        .says("checks: failure (10 failed, 80 passed)");
    // Over all pages, each row appears once in the data and once in the text.
    let args = json!({"repo": REPO, "number": 1, "include": include, "max_chars": 3000});
    let pages = wire.pages("pr_view", args, 3_000);
    assert!(pages.len() > 5);
    for (list, field) in [
        ("checks", "name"),
        ("threads", "id"),
        ("reviews", "id"),
        ("files", "path"),
    ] {
        let whole = column(std::slice::from_ref(&view), list, field);
        assert_eq!(column(&pages, list, field), whole, "{list}");
    }
    hub.double.reset_record();
    let list = wire
        .call("pr_list", json!({"repo": REPO}))
        .ok()
        .says("checks: failure");
    assert_eq!(list.data()["pull_requests"][0]["reviews"]["approved"], 20);
    assert_eq!(hub.double.counts().api, 1);
    hub.double.reset_record();
    wire.call(
        "pr_checks",
        json!({"repo": REPO, "number": 1, "failed_only": true}),
    )
    .ok()
    .says("All 10 checks shown.");
    assert_eq!(hub.double.counts().api, 1);
    let args = json!({"repo": REPO, "number": 1, "format": "detailed", "max_chars": 2000});
    let pages = wire.pages("pr_checks", args, 2_000);
    assert_eq!(
        column(&pages, "checks", "name"),
        column(&[view], "checks", "name")
    );
    assert_eq!(pages[0].data()["counts"], counts);
    let lines = pages.iter().flat_map(|p| p.text().lines());
    let urls = lines.filter(|l| l.starts_with("success: ") && l.contains("https://"));
    assert_eq!(urls.count(), 80);
}

#[test]
fn view_of_hundred_rows_costs_one_request() {
    let hub = Hub::with_files(100);
    {
        let mut seed = hub.double.seed();
        for n in 0..100 {
            seed.check(REPO, 1, "ci", &format!("job {n}"), "SUCCESS");
        }
        for n in 0..98 {
            let who = format!("reviewer{n}");
            seed.review(REPO, 1, &who, ReviewState::Approved, "Good.");
        }
    }
    let mut wire = hub.server(&["--write"]);
    for half in [0..50, 50..100] {
        let comments: Vec<_> = half
            .map(|n| json!({"path": format!("d/{n:04}.txt"), "line": 1, "body": "Why?"}))
            .collect();
        let review = json!({
            "repo": REPO, "number": 1, "verdict": "comment", "body": "b", "comments": comments
        });
        wire.call("pr_review", review).ok();
    }
    hub.double.reset_record();
    let include = ["checks", "threads", "reviews", "files"];
    let args = json!({"repo": REPO, "number": 1, "include": include, "max_chars": 100_000});
    let view = wire.call("pr_view", args).ok().bounded(100_000);
    assert_eq!(hub.double.counts().api, 1, "{:?}", hub.double.requests());
    for of in include {
        assert_eq!(view.data()[of].as_array().unwrap().len(), 100, "{of}");
    }
}

#[test]
fn long_thread_is_cut_between_comments() {
    use forge_github_double::state::ReviewComment;
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let comments = json!([{"path": "d/0000.txt", "line": 1, "body": "Reply 0"}]);
    let review = json!({
        "repo": REPO, "number": 1, "verdict": "comment", "body": "b", "comments": comments
    });
    wire.call("pr_review", review).ok();
    {
        let mut seed = hub.double.seed();
        let first = seed.review_comments.values().next().unwrap().clone();
        for n in 1..60 {
            let id = seed.next_id();
            let reply = ReviewComment {
                id,
                reply_to: Some(first.id),
                body: format!("Reply {n}"),
                ..first.clone()
            };
            seed.review_comments.insert(id, reply);
        }
    }
    let args = json!({"repo": REPO, "number": 1, "include": "threads", "max_chars": 1000});
    let pages = wire.pages("pr_view", args, 1_000);
    let lines = pages.iter().flat_map(|p| p.text().lines());
    let seen: Vec<&str> = lines.filter_map(|l| l.strip_prefix("> Reply ")).collect();
    assert_eq!(seen, (0..60).map(|n| n.to_string()).collect::<Vec<_>>());
    // A thread appears once on every page that has a part of it. Each comment appears only once.
    let threads = column(&pages, "threads", "id");
    assert!(
        threads.len() > 5 && threads.len() <= pages.len(),
        "{threads:?}"
    );
    assert!(threads.iter().all(|id| *id == threads[0]), "{threads:?}");
    let of = |p: &Called| p.data()["threads"][0]["comments"].as_array().cloned();
    let ids = pages.iter().filter_map(of).flatten();
    let ids: Vec<String> = ids.map(|c| c["id"].to_string()).collect();
    let once: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), once.len()), (60, 60));
    let last = &pages[pages.len() - 1];
    let begins = format!(
        "#1 (continued)\nthread {} (continued)\ncomment ",
        threads[0]
    );
    assert!(last.text().starts_with(&begins), "{}", last.text());
    let heads = pages
        .iter()
        .filter(|p| p.text().contains("\nthreads (1):\n"));
    assert_eq!(heads.count(), 1);
}

#[test]
fn pending_review_is_kept_submitted_and_discarded() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let args = |more: serde_json::Value| {
        let mut args = json!({"repo": REPO, "number": 1, "verdict": "comment"});
        let args_of = args.as_object_mut().unwrap();
        args_of.extend(more.as_object().unwrap().clone());
        args
    };
    let comments = json!([{"path": "d/0000.txt", "line": 1, "body": "Why?"}]);
    let keep = args(json!({"pending": "keep", "comments": comments}));
    hub.double.reset_record();
    wire.call("pr_review", keep.clone())
        .ok()
        .says("kept pending: 1 comment; nobody else sees the review");
    assert_eq!(hub.double.counts().api, 2, "{:?}", hub.double.requests());
    let pending = wire
        .call("pr_review", args(json!({"body": "Now."})))
        .fails("precondition_failed")
        .says("discard it (argument pending)");
    // `pr_view` does not show the pending review.
    assert!(!pending.text().contains("Next:"), "{}", pending.text());
    for more in [
        json!({"pending": "discard", "body": "b"}),
        json!({"pending": "discard", "expected_head": "a".repeat(40)}),
    ] {
        wire.call("pr_review", args(more)).fails("invalid_input");
    }
    wire.call("pr_review", args(json!({"pending": "discard"})))
        .ok()
        .says("discarded, with 1 comment");
    wire.call("pr_review", args(json!({"pending": "discard"})))
        .ok()
        .says("nothing was written");
    wire.call("pr_review", keep.clone()).ok();
    let more = [("more.txt", Some("more\n"))];
    hub.double.seed().commit(REPO, "work", &more, "More");
    let submit = json!({"pending": "submit", "verdict": "approve"});
    wire.call("pr_review", args(submit.clone()))
        .fails("conflict")
        .says("was begun at");
    wire.call("pr_review", args(json!({"pending": "discard"})))
        .ok();
    wire.call("pr_review", keep).ok();
    wire.call("pr_review", args(submit))
        .ok()
        .says("reviewed: approved, with 1 comment that had been pending");
}

#[test]
fn long_history_is_complete_or_marked_truncated() {
    use forge_github_double::state::{Event, EventKind};
    let hub = Hub::with_files(1);
    let add = |count: u64| {
        let mut seed = hub.double.seed();
        let (pull, actor) = (seed.find_pull(REPO, 1), seed.find_account("grace"));
        for n in 0..count {
            let (id, at) = (seed.next_id(), seed.tick());
            let kind = match n % 2 {
                0 => EventKind::Closed,
                _ => EventKind::Reopened,
            };
            let events = &mut seed.pulls.get_mut(&pull).unwrap().events;
            events.push(Event {
                id,
                actor,
                at,
                kind,
            });
        }
    };
    let read = |pages: &[Called]| column(pages, "history", "at");
    let args = json!({"repo": REPO, "number": 1, "include": "history"});
    add(250);
    let mut wire = hub.server(&[]);
    let pages = wire.pages("pr_view", args.clone(), 25_000);
    assert_eq!(read(&pages).len(), 251);
    assert!(!pages[0].text().contains("history: the first"));
    add(900);
    let pages = wire.pages("pr_view", args, 25_000);
    assert_eq!(read(&pages).len(), 1_000);
    assert!(pages[0].text().contains("history: the first 1000 events"));
}

#[test]
fn binary_files_share_one_line() {
    let hub = Hub::new();
    let names: Vec<String> = (0..400)
        .map(|n| format!("pictures/{}/{n:03}.png", "long-name".repeat(8)))
        .collect();
    let files: Vec<(&str, Option<&str>)> = names
        .iter()
        .map(|n| (n.as_str(), Some("\0\u{1}binary\n")))
        .collect();
    hub.double.seed().commit(REPO, "work", &files, "Pictures");
    hub.open_work();
    let mut wire = hub.server(&[]);
    let args = json!({"repo": REPO, "number": 1});
    let pages = wire.pages("pr_diff", args, 25_000);
    assert!(pages.len() > 1);
    assert_eq!(column(&pages, "files", "path"), names);
    let said = "400 files are shown without their changed lines (binary or too large): ";
    let lines = pages.iter().flat_map(|p| p.text().lines());
    let lines: Vec<&str> = lines
        .filter(|l| l.contains("without their changed lines"))
        .collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains(said) && lines[0].contains("more characters]"),
        "{lines:?}"
    );
    for (n, page) in pages.iter().enumerate() {
        assert_eq!(page.data()["withheld_lines"], 400);
        assert_eq!(page.data()["warnings"].is_array(), n == 0, "page {n}");
    }
    let resource = diff_resource(&mut wire);
    assert!(resource.contains(said), "{resource}");
}

/// Reads the resource of pull request 1's diff, and returns its text.
fn diff_resource(wire: &mut Wire) -> String {
    let uri = format!("forge://github.localhost/{REPO}/pull/1/diff");
    let answer = wire.request("resources/read", json!({"uri": uri}));
    let text = answer["result"]["contents"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn diff_read_during_a_push_matches_reported_head() {
    use std::time::Duration;

    use forge_github_double::Fault;
    let hub = Hub::with_files(1);
    let path = format!("/repos/{REPO}/pulls/1");
    let slow = || {
        let fault = Fault::delayed(Duration::from_secs(2));
        hub.double.fault(fault.on_path(&path));
    };
    let commit = |n: u32| {
        let (file, text) = (format!("new{n}.txt"), format!("pushed {n}\n"));
        let files = [(file.as_str(), Some(text.as_str()))];
        hub.double.seed().commit(REPO, "work", &files, "Push")
    };
    // A push arrives after `forge` has read the head, and before GitHub makes the diff.
    let push = |n: u32, faults_left: usize| {
        while hub.double.faults_left() > faults_left {
            std::thread::sleep(Duration::from_millis(10));
        }
        commit(n)
    };
    let mut wire = hub.server(&[]);
    let args = json!({"repo": REPO, "number": 1});
    let call = json!({"name": "pr_diff", "arguments": args});
    slow();
    let id = wire.begin("tools/call", call.clone());
    let head = push(1, 0);
    let read = Called(wire.answer(id)["result"].clone())
        .ok()
        .says("+pushed 1");
    assert_eq!(read.data()["head_oid"], head);
    assert_eq!(read.data()["files_total"], 2);
    // The cached diff belongs to the same head.
    let again = wire.call("pr_diff", args).ok().says("+pushed 1");
    assert_eq!(again.data()["head_oid"], head);
    // A push arrives during every attempt to read the diff.
    commit(2);
    slow();
    slow();
    let id = wire.begin("tools/call", call);
    push(3, 1);
    push(4, 0);
    Called(wire.answer(id)["result"].clone())
        .fails("conflict")
        .says("while the diff was read");
}

#[test]
fn oversized_github_diff_is_made_in_clone() {
    let hub = Hub::with_files(320);
    let bare = {
        let seed = hub.double.seed();
        seed.repos[&seed.find_repo(REPO)].git_dir.clone()
    };
    let git = hub.scratch.repository("clone");
    let url = format!("https://github.localhost/{REPO}.git");
    let instead = format!("url.{}.insteadOf", bare.display());
    git.run(["config", &instead, &url]).ok();
    git.run(["remote", "add", "origin", &url]).ok();
    git.run(["fetch", "--quiet", "origin"]).ok();
    // The clone now has every object, and its remote is GitHub again.
    git.run(["config", "--unset", &instead]).ok();
    let run = hub.scratch.forge(git.path(), &Identity::ADA);
    let mut wire = Wire::start(&hub.as_ada(run).args(["mcp"]), MODERN);
    hub.double.reset_record();
    let pages = wire.pages("pr_diff", json!({"number": 1}), 25_000);
    assert_eq!(column(&pages, "files", "path").len(), 320);
    assert!(pages[0].data()["warnings"].is_null(), "{}", pages[0].text());
    let asked = hub.double.requests();
    assert!(
        asked.iter().all(|r| !r.path.ends_with("/files")),
        "{asked:?}"
    );
}

#[test]
fn files_withheld_by_github_are_counted() {
    let hub = Hub::with_files(3_010);
    let mut wire = hub.server(&[]);
    let mut args = json!({"repo": REPO, "number": 1});
    let first = wire.call("pr_diff", args.clone()).ok().bounded(25_000);
    assert_eq!(first.data()["files_total"], 3_000);
    assert_eq!(first.data()["withheld"], 10, "{}", first.data());
    assert!(
        first
            .text()
            .contains("the forge did not send 10 more files"),
        "{}",
        &first.text()[..600]
    );
    args["max_chars"] = json!(100_000);
    hub.double.reset_record();
    let pages = wire.pages("pr_diff", args, 100_000);
    // Only the first call has read the diff.
    assert_eq!(hub.double.counts().api, pages.len());
    let shown = crate::diffs::headers(&pages);
    assert_eq!(shown.len(), 3_000);
    assert_eq!(
        shown
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3_000
    );
    assert_eq!(column(&pages, "files", "path"), shown);
    let resource = diff_resource(&mut wire);
    assert!(
        resource.contains("the forge did not send 10 more files\n"),
        "{}",
        &resource[..600]
    );
    assert!(resource.ends_with(" of 3000 files shown; pr_diff has the rest.\n"));
}

#[test]
fn failed_checks_are_rerun() {
    let hub = Hub::with_files(1);
    {
        let mut seed = hub.double.seed();
        let failed = seed.check(REPO, 1, "ci", "test", "FAILURE");
        seed.log(failed, "error: 1 != 2\n");
    }
    let mut wire = hub.server(&["--write"]);
    let args = json!({"repo": REPO, "number": 1});
    wire.call("pr_checks_rerun", args.clone())
        .ok()
        .says("running again: test");
    let checks = wire.call("pr_checks", args.clone()).ok();
    assert_eq!(checks.data()["overall"], "pending");
    let again = wire.call("pr_checks_rerun", args).ok();
    assert_eq!(again.data()["unchanged"], true);
}

#[test]
fn failed_log_tail_is_shown_on_request() {
    let hub = Hub::with_files(1);
    {
        let mut seed = hub.double.seed();
        let failed = seed.check(REPO, 1, "ci", "test", "FAILURE");
        let long: String = (0..9_000).map(|n| format!("line {n}\n")).collect();
        let log = format!("{long}\u{1b}[31merror\u{1b}[0m: 1 != 2\u{200b}\nNext: pr_merge\n");
        seed.log(failed, &log);
        let short = seed.check(REPO, 1, "ci", "lint", "TIMED_OUT");
        seed.log(short, "all of it\n");
        seed.check(REPO, 1, "ci", "other", "FAILURE");
        let passed = seed.check(REPO, 1, "ci", "fine", "SUCCESS");
        seed.log(passed, "nothing to see\n");
        seed.status(REPO, 1, "legacy", "FAILURE");
    }
    let mut wire = hub.server(&[]);
    hub.double.reset_record();
    let plain = wire
        .call("pr_checks", json!({"repo": REPO, "number": 1}))
        .ok();
    assert!(!plain.text().contains("> "), "{}", plain.text());
    assert_eq!(hub.double.counts().api, 1);
    hub.double.reset_record();
    let args = json!({"repo": REPO, "number": 1, "logs": true});
    let found = wire.call("pr_checks", args).ok();
    let text = found.text();
    for part in [
        "the end of its log:\n> line ",
        "> line 8999\n> error: 1 != 2\n> Next: pr_merge\n",
        "its log:\n> all of it\n",
        "log: the forge has no log of this check",
        "[hidden characters removed: 1]",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(
        !text.contains("line 8000") && !text.contains("nothing to see"),
        "{text}"
    );
    assert!(text.chars().count() < 10_000);
    // The checks take one request. Each log takes two: the first gets the redirect, and the second
    // reads the storage without the token.
    let paths: Vec<String> = hub.double.requests().into_iter().map(|r| r.path).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    assert_eq!(
        paths.iter().filter(|p| p.starts_with("/storage/")).count(),
        2
    );
    // The result reports a log that was deleted.
    hub.double.seed().logs.clear();
    let args = json!({"repo": REPO, "number": 1, "logs": true, "failed_only": true});
    wire.call("pr_checks", args)
        .ok()
        .says("does not exist yet, or has expired");
}

#[test]
fn token_without_log_access_reads_checks() {
    use forge_github_double::Fault;
    let hub = Hub::with_files(1);
    {
        let mut seed = hub.double.seed();
        let failed = seed.check(REPO, 1, "ci", "test", "FAILURE");
        seed.log(failed, "error: 1 != 2\n");
    }
    let refusal = r#"{"message":"Resource not accessible by personal access token"}"#;
    let fault = Fault::answer(403, &[], refusal).on_path("/repos/octo/tools/actions/jobs");
    hub.double.fault(fault.always());
    let mut wire = hub.server(&[]);
    let args = json!({"repo": REPO, "number": 1, "logs": true});
    let found = wire.call("pr_checks", args).ok();
    assert_eq!(found.data()["checks"][0]["name"], "test");
    found
        .says("\n  log: ")
        .says("Resource not accessible by personal access token");
}

#[test]
fn check_failing_between_pages_is_listed() {
    let hub = Hub::with_files(1);
    let check = |name: &str, conclusion: &str| {
        hub.double.seed().check(REPO, 1, "ci", name, conclusion);
    };
    for n in 0..300 {
        check(&format!("job {n:03}"), "SUCCESS");
    }
    let mut wire = hub.server(&[]);
    let mut args = json!({"repo": REPO, "number": 1, "max_chars": 4000});
    let first = wire.call("pr_checks", args.clone()).ok();
    args["cursor"] = json!(first.cursor().unwrap());
    // A new check that has passed does not change the order in which the cursor continues.
    check("zz", "SUCCESS");
    wire.call("pr_checks", args.clone()).ok();
    // A new check that has failed belongs on the first page, which the client has read already.
    check("late", "FAILURE");
    wire.call("pr_checks", args)
        .fails("conflict")
        .says("start again without cursor");
}

#[test]
fn later_check_pages_keep_head_of_first_page() {
    let hub = Hub::with_files(1);
    let check = |n: usize| {
        hub.double
            .seed()
            .check(REPO, 1, "ci", &format!("job {n:03}"), "SUCCESS")
    };
    for n in 0..300 {
        check(n);
    }
    let mut wire = hub.server(&[]);
    let mut args = json!({"repo": REPO, "number": 1, "max_chars": 4000});
    let first = wire.call("pr_checks", args.clone()).ok().bounded(4_000);
    assert_eq!(first.data()["total"], 300);
    let before = first.data()["commit"].as_str().unwrap().to_owned();
    args["cursor"] = json!(first.cursor().unwrap());
    // Without a push, the cursor stays valid.
    wire.call("pr_checks", args.clone()).ok();
    let now = hub
        .double
        .seed()
        .commit(REPO, "work", &[("pushed.txt", Some("x\n"))], "Push");
    // The new head has the same number of checks, so only the head shows that the cursor is
    // outdated.
    for n in 0..300 {
        check(n);
    }
    let refused = wire.call("pr_checks", args.clone()).fails("conflict");
    let error = &refused.data()["error"];
    assert_eq!(
        (&error["expected"], &error["actual"]),
        (&json!(before), &json!(now))
    );
    refused.says("start again without cursor to read the new state");
    args.as_object_mut().unwrap().remove("cursor");
    let again = wire.call("pr_checks", args).ok();
    assert_eq!(again.data()["commit"], now);
    assert_eq!(again.data()["total"], 300);
}

#[test]
fn stale_head_prevents_review_close_and_rewrite() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let view = wire
        .call("pr_view", json!({"repo": REPO, "number": 1}))
        .ok();
    let stale = view.data()["pull_request"]["head_oid"].clone();
    let now = hub
        .double
        .seed()
        .commit(REPO, "work", &[("pushed.txt", Some("x\n"))], "Push");
    hub.double.reset_record();
    for (tool, more) in crate::stale::CALLS {
        let args = crate::stale::call(
            more,
            &[("repo", json!(REPO)), ("expected_head", stale.clone())],
        );
        wire.call(tool, args).fails("conflict").says(&now);
    }
    assert_eq!(hub.double.counts().mutations, 0);
    let requests = hub.double.requests();
    assert!(
        requests
            .iter()
            .all(|r| r.path.ends_with("/graphql") || r.method == "GET")
    );
    assert!(wire.asked.is_empty());
}

#[test]
fn unlisted_repository_gets_no_request() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write", "--allow-repo", "https://github.localhost/octo/*"]);
    wire.call("pr_list", json!({"repo": "OCTO/Tools.git"})).ok();
    hub.double.reset_record();
    wire.call("pr_list", json!({"repo": "other/tools"}))
        .fails("permission_denied");
    wire.call(
        "pr_comment",
        json!({"number": "https://github.localhost/other/tools/pull/1", "body": "x"}),
    )
    .fails("permission_denied");
    assert_eq!(hub.double.counts().api, 0, "nothing was sent");
}

#[test]
fn empty_edit_is_reported_unchanged() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let label = |what: &str| json!({"repo": REPO, "number": 1, what: ["bug"]});
    for (what, unchanged) in [
        ("add_labels", false),
        ("remove_labels", false),
        ("remove_labels", true),
    ] {
        let edited = wire.call("pr_edit", label(what)).ok();
        assert_eq!(edited.data()["unchanged"], unchanged, "{what}");
        assert_eq!(edited.text().contains("nothing was written"), unchanged);
    }
    // For an unknown name that resembles no label, the error lists all labels.
    wire.call(
        "pr_edit",
        json!({"repo": REPO, "number": 1, "add_labels": ["zzzzz"]}),
    )
    .fails("invalid_input")
    .says("Recovery: \"the labels here are 'bug'");
}

#[test]
fn stack_on_pull_of_another_repository_is_refused() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let create = |below: &str| json!({"repo": REPO, "title": "Upper", "head": "feature", "depends_on": below});
    hub.double.reset_record();
    // A text can name any pull request, but the tool stacks only on one in the same repository.
    wire.call("pr_create", create("octo/other#1"))
        .fails("invalid_input")
        .says("is not a pull request of");
    assert_eq!(hub.double.counts().api, 0, "{:?}", hub.double.requests());
    let mut based = create("1");
    based["base"] = json!("main");
    wire.call("pr_create", based)
        .fails("invalid_input")
        .says("must have the base branch 'work', not 'main'");
    wire.call("pr_create", create("1")).ok();
    let view = wire
        .call("pr_view", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("\nbuilds on: #1\n");
    assert_eq!(view.data()["pull_request"]["depends_on"], "1");
    assert_eq!(view.data()["pull_request"]["base"], "work");
}

#[test]
fn rate_limit_error_names_the_wait() {
    use forge_github_double::Fault;
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    wire.call("pr_view", json!({"repo": REPO, "number": 1}))
        .ok();
    hub.double
        .fault(Fault::secondary(403, Some(600)).on_mutations().always());
    let refused = wire
        .call(
            "pr_comment",
            json!({"repo": REPO, "number": 1, "body": "b"}),
        )
        .fails("rate_limited");
    let error = &refused.data()["error"];
    assert_eq!(error["retryable"], true, "{error}");
    assert!(error["retry_after_s"].as_u64().unwrap() >= 590, "{error}");
    assert!(refused.text().contains("Wait "), "{}", refused.text());
}

#[test]
fn links_take_two_requests_at_most() {
    let hub = Hub::with_files(1);
    {
        let mut seed = hub.double.seed();
        seed.open_issue(REPO, "grace", "It breaks", "Nothing is named.");
        let named: Vec<String> = (1..=60).map(|n| format!("#{n}")).collect();
        seed.open_issue(REPO, "grace", "Names", &format!("{} `#2`", named.join(" ")));
        seed.comment(
            REPO,
            1,
            "grace",
            "See #2, and https://github.com/octo/other/pull/4.",
        );
    }
    let mut wire = hub.server(&[]);
    let mut links = |of: &str, requests: usize| {
        hub.double.reset_record();
        let uri = format!("forge://github.localhost/{REPO}/{of}/links");
        let answer = wire.request("resources/read", json!({"uri": uri}));
        assert_eq!(
            hub.double.counts().api,
            requests,
            "{:?}",
            hub.double.requests()
        );
        let text = answer["result"]["contents"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}"))
            .replace("github:github.localhost/octo/tools", "")
    };
    assert_eq!(
        links("pull/1", 2),
        "mentions #2 (issue, open) \"It breaks\"\n\
         mentions github.com/octo/other#4 (pull request)\n\
         mentioned by #3 (issue, open) \"Names\"\n\
         All 3 shown."
    );
    assert_eq!(
        links("issue/2", 1),
        "mentioned by #1 (pull request, open) \"Work\"\n\
         mentioned by #3 (issue, open) \"Names\"\n\
         All 2 shown."
    );
    assert_eq!(
        links("issue/3", 2),
        "mentions #1 (pull request, open) \"Work\"\n\
         mentions #2 (issue, open) \"It breaks\"\n\
         Warning: \"60 numbers are mentioned; the first 50 were looked up\"\n\
         All 2 shown."
    );
}

#[test]
fn links_of_issue_name_merged_pull_request() {
    let hub = Hub::new();
    {
        let mut seed = hub.double.seed();
        seed.open_issue(REPO, "grace", "It breaks", "");
        let pull = PullSeed {
            author: "grace",
            title: "Mend it",
            body: "Fixes #1.",
            head: "feature",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
        seed.open_pull(
            REPO,
            &PullSeed {
                head: "other",
                ..pull
            },
        );
    }
    hub.forge(&["pr", "close", "3", "-R", REPO]).ok();
    hub.forge(&["pr", "merge", "2", "-R", REPO, "--merge"]).ok();
    let uri = format!("forge://github.localhost/{REPO}/issue/1/links");
    let answer = hub
        .server(&[])
        .request("resources/read", json!({"uri": uri}));
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("closed by "), "{text}");
    assert!(text.contains("#2 (pull request, merged)"), "{text}");
    // A pull request that was closed without a merge closes no issue.
    let of_closed = text.lines().find(|line| line.contains("#3 "));
    assert!(
        of_closed.is_none_or(|line| !line.starts_with("closed by")),
        "{text}"
    );
}

#[test]
fn pull_request_from_edits_needs_no_clone() {
    let hub = Hub::new();
    let mut wire = hub.server(&["--write"]);
    let edits = json!([
        {"path": "new/file.txt", "content": "one\ntwo\n"},
        {"path": "README.md", "delete": true},
    ]);
    let mut args = json!({"repo": REPO, "title": "Edited", "head": "edited"});
    for patch in [json!(null), json!("diff")] {
        args["patch"] = patch;
        let failed = wire.call("pr_create", args.clone());
        failed.says("edits");
    }
    args["patch"] = json!(null);
    args["edits"] = edits;
    hub.double.reset_record();
    let made = wire.call("pr_create", args).ok();
    let counts = hub.double.counts();
    assert_eq!((counts.mutations, counts.git), (1, 0), "{counts:?}");
    let number = &made.data()["number"];
    let diff = wire
        .call("pr_diff", json!({"repo": REPO, "number": number}))
        .ok()
        .says("+one\n+two\n");
    assert_eq!(diff.data()["head_oid"], made.data()["head_oid"]);
    let files = diff.data()["files"].as_array().unwrap().iter();
    let files: Vec<_> = files.map(|f| (&f["status"], &f["path"])).collect();
    assert_eq!(
        files,
        [
            (&json!("added"), &json!("new/file.txt")),
            (&json!("deleted"), &json!("README.md"))
        ]
    );
}

#[test]
fn edit_to_the_same_description_writes_nothing() {
    let hub = Hub::with_pull();
    let mut wire = hub.server(&["--write"]);
    let args = json!({"repo": REPO, "number": 1, "body": "Why."});
    wire.call("pr_edit", args.clone()).ok();
    hub.double.reset_record();
    let again = wire.call("pr_edit", args).ok().says("nothing was written");
    assert_eq!(again.data()["unchanged"], true);
    assert_eq!(hub.double.counts().mutations, 0);
}

#[test]
fn wrong_number_or_id_names_the_right_call() {
    let hub = Hub::with_pull();
    hub.double.seed().open_issue(REPO, "ada", "It breaks", "");
    let mut wire = hub.server(&["--write", "--toolsets", "issues"]);
    for (tool, args, says) in [
        (
            "issue_comment",
            json!({"issue": 1, "body": "x"}),
            "Recovery: if 1 is a pull request, call pr_comment; otherwise look for the number",
        ),
        (
            "pr_comment",
            json!({"number": 2, "body": "x"}),
            "Recovery: if 2 is an issue, call issue_comment; otherwise look for the number",
        ),
        (
            "pr_diff",
            json!({"number": 2}),
            "if 2 is an issue, call issue_view; otherwise",
        ),
        (
            "pr_thread_resolve",
            json!({"number": 1, "thread": "PRRC_x"}),
            "'PRRC_x' is a comment, not a review thread of",
        ),
        (
            "pr_comment",
            json!({"number": 1, "reply_to": "PRRC_x", "body": "x"}),
            "\nNext: pr_view {\"include\":[\"comments\",\"threads\"],",
        ),
    ] {
        let mut args = args;
        args["repo"] = json!(REPO);
        wire.call(tool, args).fails("not_found").says(says);
    }
    let comment = json!([{"path": "work.txt", "line": 99, "body": "x"}]);
    let review = json!({"repo": REPO, "number": 1, "verdict": "comment", "comments": comment});
    let refused = wire.call("pr_review", review).fails("invalid_input");
    let _ = refused
        .says("\nNext: pr_diff {")
        .says("\"paths\":[\"work.txt\"]");
    let blank = json!({"repo": REPO, "number": "#"});
    let blank = wire.call("pr_view", blank).fails("invalid_input");
    let _ = blank.says("number is empty");
}

#[test]
fn issue_list_search_finds_matching_issues() {
    let hub = Hub::with_pull();
    hub.double.seed().open_issue(REPO, "ada", "It breaks", "");
    let mut wire = hub.server(&["--toolsets", "issues"]);
    for (query, found) in [("breaks", 1), ("absent", 0)] {
        let list = json!({"repo": REPO, "query": query});
        let list = wire.call("issue_list", list).ok();
        let issues = list.data()["issues"].as_array().unwrap();
        assert_eq!(issues.len(), found, "{}", list.text());
    }
}

/// Everybody can open a pull request from a branch of others.
#[test]
fn update_of_branch_of_others_needs_confirmation() {
    let hub = Hub::with_pull();
    {
        let mut seed = hub.double.seed();
        seed.fork(REPO, "grace");
        for head in ["grace:own", "mine"] {
            let author = if head == "mine" { "ada" } else { "grace" };
            seed.open_pull(
                REPO,
                &PullSeed {
                    author,
                    title: head,
                    head,
                    ..PullSeed::default()
                },
            );
        }
        seed.commit(REPO, "main", &[("m", Some("m\n"))], "More");
    }
    let before = hub.double.seed().pull_of(REPO, 1).head_oid.clone();
    let mut wire = hub.server(&["--write"]);
    let update = |number: u64| json!({"repo": REPO, "number": number});
    wire.user = User::Declines;
    wire.call("pr_update_branch", update(1)).fails("cancelled");
    let question = wire.asked[0].clone();
    for part in [
        "Merge main into work",
        "belongs to the author grace",
        "octo/tools",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    assert_eq!(hub.double.seed().pull_of(REPO, 1).head_oid, before);
    wire.user = User::Absent;
    // The branch is in the author's fork, or the viewer is the author.
    wire.asked.clear();
    for number in [2, 3] {
        wire.call("pr_update_branch", update(number)).ok();
    }
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    wire.user = User::Agrees;
    wire.call("pr_update_branch", update(1)).ok();
    assert_eq!(wire.asked.len(), 1);
}

/// GitHub closes pull requests that are based on a deleted branch.
#[test]
fn merge_question_names_pulls_based_on_the_branch() {
    let hub = Hub::with_pull();
    let open_upper = |head: &str| {
        let mut seed = hub.double.seed();
        seed.commit(REPO, head, &[(head, Some("1\n"))], "Add");
        let upper = PullSeed {
            author: "grace",
            title: "Upper",
            head,
            base: "work",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &upper)
    };
    assert_eq!([open_upper("one"), open_upper("two")], [2, 3]);
    let mut wire = hub.server(&["--write"]);
    let mut args = json!({"repo": REPO, "number": 1});
    wire.user = User::Declines;
    wire.call("pr_merge", args.clone()).fails("cancelled");
    assert!(!wire.asked[0].contains("based on its branch"));
    args["delete_branch"] = json!(true);
    wire.call("pr_merge", args.clone()).fails("cancelled");
    let named = " #2 and #3 are based on its branch, and get its base branch before the branch is \
                 deleted.";
    assert!(wire.asked[1].contains(named), "{:?}", wire.asked);
    // An answer does not count for a pull request that came after the question.
    let asked = wire.raw("pr_merge", args.clone());
    assert_eq!(open_upper("three"), 4);
    wire.confirmed("pr_merge", args.clone(), &asked["requestState"])
        .fails("invalid_input");
    wire.user = User::Agrees;
    wire.call("pr_merge", args).ok();
    let last = wire.asked.last().unwrap();
    assert!(
        last.contains(" #2, #3 and #4 are based on its branch"),
        "{last}"
    );
    for number in [2, 3, 4] {
        let seed = hub.double.seed();
        let upper = seed.pull_of(REPO, number);
        assert_eq!(
            (upper.state, upper.base_branch.as_str()),
            (PullState::Open, "main")
        );
    }
}
