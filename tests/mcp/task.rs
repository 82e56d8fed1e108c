//! A complete task: find my failing pull request, read the failed check and the open threads, reply
//! to one thread and resolve it, and merge. `tests/bench/mcp.rs` counts the same calls.

use forge_github_double::PullSeed;
use serde_json::json;

use crate::{
    hub::{Hub, REPO},
    world::{Called, User, Wire},
};

#[test]
fn failing_pull_request_is_found_and_merged() {
    for user in [User::Agrees, User::Absent] {
        let hub = Hub::new();
        {
            let mut seed = hub.double.seed();
            for (branch, author) in [("work", "ada"), ("other", "grace")] {
                let file = format!("{branch}.txt");
                seed.commit(REPO, branch, &[(&file, Some("one\ntwo\n"))], "Work");
                let pull = PullSeed {
                    author,
                    title: "Work",
                    head: branch,
                    ..PullSeed::default()
                };
                seed.open_pull(REPO, &pull);
            }
            let failed = seed.check(REPO, 1, "ci", "test", "FAILURE");
            seed.log(failed, "running 12 tests\ntest sums ... FAILED\n");
            seed.check(REPO, 1, "ci", "lint", "SUCCESS");
        }
        let mut wire = hub.server(&["--write"]);
        wire.user = user;
        let comments = json!([{"path": "work.txt", "line": 1, "body": "Why one?"}]);
        let review = json!({"repo": REPO, "number": 1, "verdict": "comment", "body": "b", "comments": comments});
        wire.call("pr_review", review).ok();
        hub.double.reset_record();

        let (mut calls, mut bytes) = (0, 0);
        let mut take = |called: Called| {
            let called = called.ok();
            calls += 1;
            bytes += called.text().len();
            called
        };
        let list = take(wire.call("pr_list", json!({"repo": REPO, "author": "@me"})));
        let mine = list.data()["pull_requests"].as_array().unwrap();
        assert_eq!((mine.len(), &mine[0]["checks"]), (1, &json!("failure")));
        let number = mine[0]["number"].clone();
        let checks = json!({"repo": REPO, "number": number, "failed_only": true, "logs": true});
        let checks = take(wire.call("pr_checks", checks)).says("> test sums ... FAILED");
        assert!(!checks.text().contains("lint"));
        let view = json!({"repo": REPO, "number": number, "include": ["threads"]});
        let view = take(wire.call("pr_view", view));
        let (thread, head) = (
            view.data()["threads"][0].clone(),
            view.data()["pull_request"]["head_oid"].clone(),
        );
        let reply_to = &thread["comments"][0]["id"];
        let answer =
            json!({"repo": REPO, "number": number, "body": "Fixed.", "reply_to": reply_to});
        take(wire.call("pr_comment", answer));
        let resolve = json!({"repo": REPO, "number": number, "thread": thread["id"]});
        take(wire.call("pr_thread_resolve", resolve));
        let mut merge = json!({"repo": REPO, "number": number, "expected_head": head});
        if user == User::Absent {
            // The confirmation takes one more call.
            let asked = wire.call("pr_merge", merge.clone()).fails("invalid_input");
            merge["confirm"] = Wire::seal(&asked);
        }
        let merged = take(wire.call("pr_merge", merge))
            .says("Warning: \"checks_passed (own) is not met: 1 failed: ");
        assert_eq!(merged.data()["merged"], true);
        match user {
            User::Absent => assert!(wire.asked.is_empty()),
            _ => assert!(
                wire.asked[0].contains("checks_passed (own) 1 failed: \"test\""),
                "{:?}",
                wire.asked
            ),
        }
        assert_eq!(calls, 6);
        assert!(bytes < 3_000, "{bytes} bytes of text");
    }
}
