use std::collections::BTreeSet;

use forge_testkit::Identity;
use serde_json::json;

use crate::world::{LEGACY, MODERN, World, column};

#[test]
fn both_protocol_eras_get_equal_results() {
    let world = World::with_feature();
    let mut texts = Vec::new();
    for era in [LEGACY, MODERN] {
        let mut wire = world.server(era, &[]);
        assert!(
            wire.hello["instructions"]
                .as_str()
                .unwrap()
                .contains("only reads")
        );
        let list = wire.call("pr_list", json!({})).ok();
        assert_eq!(list.data()["pull_requests"][0]["number"], "1");
        let view = wire
            .call(
                "pr_view",
                json!({"number": 1, "include": ["threads", "comments", "reviews", "files", "commits", "history"]}),
            )
            .ok();
        assert_eq!(view.data()["files"][0]["path"], "feature.txt");
        assert_eq!(view.0["_meta"]["forge/content"]["integrity"], "untrusted");
        let diff = wire
            .call("pr_diff", json!({"number": 1}))
            .ok()
            .says("+two\n");
        assert_eq!(diff.data()["files_total"], 1);
        let status = wire.call("forge_status", json!({"repo": "."})).ok();
        assert_eq!(status.data()["write"], false);
        let all = [list, view, diff, status]
            .map(|c| world.stable(c.text()))
            .join("\n----\n");
        texts.push(all);
        assert_eq!(wire.end(), "");
    }
    assert_eq!(texts[0], texts[1]);
    insta::assert_snapshot!("reading", without_ids(&texts[0]));
}

/// Replaces object ids, which differ only because the repositories have different object formats.
fn without_ids(text: &str) -> String {
    let is_id = |w: &str| w.len() >= 12 && w.bytes().all(|b| b.is_ascii_hexdigit());
    let word = |w: &str| {
        if is_id(w) {
            "[id]".to_owned()
        } else {
            w.to_owned()
        }
    };
    let line = |l: &str| {
        let parts: Vec<String> = l.split(' ').map(word).collect();
        let line = parts.join(" ");
        match line.split_once("index ") {
            Some(("", _)) => "index [ids]".to_owned(),
            _ => line,
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn arguments_are_accepted_in_any_spelling() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    let path = world.git.path().display().to_string();
    for args in [
        json!({"number": 1}),
        json!({"number": "#1"}),
        json!({"number": 1.0}),
        json!({"pullNumber": "1"}),
        json!({"pull_number": 1, "repo": path}),
        json!({"pr": "1", "repository": world.name()}),
        json!({"number": format!("{}#1", world.name())}),
        json!({"number": 1, "include": "files,commits", "max_chars": "5000"}),
        json!({"number": 1, "include": "[\"files\"]", "format": "Detailed"}),
    ] {
        let view = wire.call("pr_view", args.clone()).ok();
        assert_eq!(view.data()["pull_request"]["number"], "1", "{args}");
    }
}

#[test]
fn failure_names_the_next_call() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    let missing = wire
        .call("pr_view", json!({"number": 9}))
        .fails("not_found");
    let missing = missing.says("Next: pr_list {");
    let next = &missing.data()["error"]["next"];
    assert_eq!(
        (&next["tool"], &next["arguments"]["state"]),
        (&json!("pr_list"), &json!("all"))
    );
    assert_eq!(missing.data()["error"]["retryable"], false);
    wire.call("pr_view", json!({"number": 1, "bogus": 1}))
        .fails("invalid_input")
        .says("this tool takes no 'bogus'");
    wire.call("pr_view", json!({}))
        .fails("invalid_input")
        .says("number is missing");
    wire.call("pr_view", json!({"number": "main"}))
        .fails("not_found")
        .says("Next: pr_list {");
    // No call can correct this failure, so the result has no hint.
    let none = wire
        .call("pr_checks", json!({"number": 1}))
        .fails("unsupported");
    assert!(none.data()["error"]["next"].is_null(), "{}", none.text());
    wire.call(
        "pr_view",
        json!({"repo": "https://unknown.example/o/r", "number": 1}),
    )
    .fails("invalid_input");
    wire.call("pr_list", json!({"cursor": "x"}))
        .fails("invalid_input")
        .says("without cursor");
    wire.call("pr_list", json!({"head": "grace:feature"}))
        .fails("invalid_input")
        .says("pass head=feature");
    for (args, says) in [
        (json!({"state": "draft"}), "pass draft=draft, not state"),
        (json!({"files": ["a"]}), "pass touches, a list of paths"),
        (json!({"reviewer": "ada"}), "pass search, such as review-"),
    ] {
        wire.call("pr_list", args).fails("invalid_input").says(says);
    }
    wire.call("pr_view", json!({"number": 1, "method": "get_diff"}))
        .fails("invalid_input")
        .says("for get_diff, call pr_diff");
    let unknown = wire.request("tools/call", json!({"name": "pr_vew", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .contains("did you mean pr_view?")
    );
    for (tool, says) in [
        (
            "pull_request_read",
            "did you mean pr_view or pr_diff or pr_checks?",
        ),
        ("get_pull_request_files", "did you mean pr_view?"),
        (
            "list_commits",
            "did you mean pr_view? include=commits has its commits",
        ),
        (
            "search_issues",
            "issue_list does that, and this server was started without it: to have it, the user \
             starts the server with --toolsets issues",
        ),
        (
            "issue_read",
            "issue_view does that, and this server was started without it",
        ),
        ("issue_edit", "with --write --toolsets issues"),
        ("pr_close", "pr_set_state does that"),
        ("pr_reopening", "there are "),
        ("list_workflow_runs", "did you mean pr_checks?"),
    ] {
        let unknown = wire.request("tools/call", json!({"name": tool, "arguments": {}}));
        let message = unknown["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
    let files = json!({"name": "pull_request_read", "arguments": {"method": "get_files"}});
    let unknown = wire.request("tools/call", files);
    let message = unknown["error"]["message"].as_str().unwrap();
    let call = "for get_files, call pr_view with include=files";
    assert!(message.contains(call), "{message}");
    let hidden = wire.request(
        "tools/call",
        json!({"name": "pr_merge", "arguments": {"number": 1}}),
    );
    assert!(
        hidden["error"]["message"]
            .as_str()
            .unwrap()
            .contains("--write"),
        "{hidden}"
    );
}

#[test]
fn failure_text_is_bounded() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    let long = "a".repeat(100_000);
    let mut args = json!({"number": 1});
    args[&long] = json!(1);
    for args in [args, json!({"number": 1, "include": long})] {
        let failed = wire.call("pr_view", args).fails("invalid_input");
        let whole = failed.0.to_string().chars().count();
        assert!(whole < 12_000, "{whole} characters");
        failed.says(" more characters]");
    }
    for (method, params) in [
        ("tools/call", json!({"name": long, "arguments": {}})),
        ("resources/read", json!({"uri": format!("forge://{long}")})),
    ] {
        let error = wire.request(method, params)["error"].to_string();
        assert!(error.chars().count() < 12_000 && error.contains(" more characters]"));
    }
}

#[test]
fn list_continues_from_cursor() {
    let world = World::new();
    for n in 0..7 {
        world.propose(&format!("b{n}"), &format!("Title {n}"), "");
    }
    let mut wire = world.server(MODERN, &[]);
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = wire
            .call("pr_list", json!({"limit": 3, "cursor": cursor}))
            .ok();
        for row in page.data()["pull_requests"].as_array().unwrap() {
            seen.push(row["number"].as_str().unwrap().to_owned());
        }
        cursor = page.cursor();
        assert_eq!(cursor.is_some(), page.text().contains("More: cursor="));
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["7", "6", "5", "4", "3", "2", "1"]);
    let first = wire
        .call("pr_list", json!({"limit": 3}))
        .ok()
        .cursor()
        .unwrap();
    wire.call(
        "pr_list",
        json!({"limit": 3, "state": "all", "cursor": first}),
    )
    .fails("invalid_input")
    .says("other arguments");
}

#[test]
fn long_view_is_paged_and_bound_to_head() {
    let world = World::with_feature();
    for n in 0..60 {
        let body = format!("Comment {n}\n{}", "word ".repeat(60));
        world
            .forge_as(&Identity::ADA, &[])
            .args(["pr", "comment", "1", "-b", &body])
            .ok();
    }
    let mut wire = world.server(MODERN, &[]);
    let args = json!({"number": 1, "include": ["comments"], "max_chars": 4000});
    let pages = wire.pages("pr_view", args.clone(), 4_000);
    let lines = pages.iter().flat_map(|p| p.text().lines());
    let seen: Vec<&str> = lines.filter_map(|l| l.strip_prefix("> Comment ")).collect();
    assert_eq!(seen, (0..60).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(pages.len() > 4);
    let ids = column(&pages, "comments", "id");
    assert_eq!(ids.len(), 60);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 60);
    // Large data is only on the first page, but small data is on every page.
    let all = json!({"number": 1, "include": "comments"});
    let all = wire.call("pr_view", all).ok().bounded(25_000);
    assert_eq!(all.data()["bodies_in_text"], true);
    assert_eq!(column(&[all], "comments", "id"), ids);
    let first = &pages[0].data()["comments"][0];
    assert!(first["body"].as_str().unwrap().starts_with("Comment 0\n"));
    assert_eq!(
        pages[0].data()["pull_request"]["description"],
        "Closes nothing."
    );
    assert!(pages[1].data()["pull_request"]["description"].is_null());
    let last = pages[pages.len() - 2].cursor().unwrap();
    let mut again = args;
    again["cursor"] = json!(last);
    wire.call("pr_view", again.clone()).ok();
    world.git.commit("feature", "More", &[("more", Some("x"))]);
    wire.call("pr_view", again)
        .fails("conflict")
        .says("the head has moved");
}

#[test]
fn conflicting_files_are_counted_and_partly_named() {
    let world = World::new();
    let names: Vec<String> = (0..60)
        .map(|n| format!("a/directory/with/a/file/of/this/name/{n:03}.txt"))
        .collect();
    let files = |text| names.iter().map(move |n| (n.as_str(), Some(text)));
    world
        .git
        .commit("work", "Ours", &files("ours\n").collect::<Vec<_>>());
    world
        .git
        .commit("main", "Theirs", &files("theirs\n").collect::<Vec<_>>());
    let create = ["pr", "create", "-H", "work", "-t", "Work", "-b", ""];
    world.forge(&create).ok();
    let mut wire = world.server(MODERN, &[]);
    let view = wire.call("pr_view", json!({"number": 1})).ok();
    let pull = &view.data()["pull_request"];
    let shown = pull["conflicts"].as_array().unwrap();
    assert_eq!((&pull["conflicts_total"], shown.len()), (&json!(60), 18));
    let last = format!("{}, {}\n", names[16], names[17]);
    let view = view.says("merge: conflicting (DIRTY) in 60 files, 42 of them not named: ");
    let view = view.says(&last);
    let path = world.git.path().canonicalize().unwrap();
    let uri = format!("forge://local{}/pull/1", path.display());
    let answer = wire.request("resources/read", json!({"uri": uri}));
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains(&last), "{text}");
    // The list is only on the first page, and no page exceeds its size limit.
    let args = json!({"number": 1, "max_chars": 1000});
    let pages = wire.pages("pr_view", args, 1_000);
    let of = |n: usize| &pages[n].data()["pull_request"];
    assert_eq!(of(0)["conflicts"], view.data()["pull_request"]["conflicts"]);
    assert!(of(1)["conflicts"].is_null() && of(1)["conflicts_total"] == 60);
}

#[test]
fn reviewers_missing_from_data_are_in_the_text() {
    let world = World::with_feature();
    let names: Vec<String> = (0..150)
        .map(|n| format!("reviewer-with-a-name-{n:03}"))
        .collect();
    let all = names.join(",");
    world
        .forge(&["pr", "edit", "1", "--add-reviewer", &all])
        .ok();
    let mut wire = world.server(MODERN, &[]);
    for (tool, mut args, at) in [
        (
            "pr_view",
            json!({"number": 1}),
            "/structuredContent/pull_request/reviews",
        ),
        (
            "pr_list",
            json!({}),
            "/structuredContent/pull_requests/0/reviews",
        ),
    ] {
        let view = wire.call(tool, args.clone()).ok().bounded(25_000);
        let reviews = view.0.pointer(at).unwrap();
        assert_eq!(reviews["pending"], json!(names));
        assert!(reviews["pending_total"].is_null(), "{reviews}");
        args["max_chars"] = json!(1000);
        let pages = wire.pages(tool, args, 1_000);
        let reviews = pages[0].0.pointer(at).unwrap();
        assert_eq!(reviews["pending"], json!(names[..18]), "{tool}");
        assert_eq!(reviews["pending_total"], 150);
        // The pages mention each reviewer once, and the author once.
        let shown: usize = pages.iter().map(|p| p.text().matches('@').count()).sum();
        assert_eq!(shown, 151, "{tool}");
    }
}

#[test]
fn view_restarts_after_edit_between_pages() {
    let world = World::with_feature();
    let body = "word ".repeat(1_000);
    for edit in [
        &["pr", "edit", "1", "-t", "Another title"][..],
        &["pr", "comment", "1", "-b", "One more."],
        &["pr", "close", "1"],
    ] {
        world.forge(&["pr", "edit", "1", "-b", &body]).ok();
        let mut wire = world.server(MODERN, &[]);
        let args = json!({"number": 1, "max_chars": 2000, "include": "comments"});
        let first = wire.call("pr_view", args.clone()).ok().bounded(2_000);
        let mut next = args;
        next["cursor"] = json!(first.cursor().unwrap());
        wire.call("pr_view", next.clone()).ok();
        world.forge(edit).ok();
        let refused = wire
            .call("pr_view", next.clone())
            .fails("conflict")
            .says("has changed since the first page")
            .says("start again without cursor");
        let anew = json!({"number": "1", "max_chars": 2000, "include": ["comments"]});
        let anew = json!({"tool": "pr_view", "arguments": anew});
        assert_eq!(refused.data()["error"]["next"], anew);
        next["cursor"] = json!("x");
        wire.call("pr_view", next).fails("invalid_input");
    }
}

#[test]
fn list_restarts_after_change_between_pages() {
    let world = World::new();
    for n in 0..9 {
        world.propose(&format!("b{n}"), &"title ".repeat(40), "");
    }
    let mut wire = world.server(MODERN, &[]);
    // The rows are so long that one page from the forge fills several pages of the tool.
    let mut args = json!({"max_chars": 1500});
    let first = wire.call("pr_list", args.clone()).ok();
    assert!(first.data()["pull_requests"].as_array().unwrap().len() < 9);
    args["cursor"] = json!(first.cursor().unwrap());
    wire.call("pr_list", args.clone()).ok();
    // A change after the rows already shown keeps the cursor valid. A change before them moves the
    // remaining rows.
    world.forge(&["pr", "close", "1"]).ok();
    wire.call("pr_list", args.clone()).ok();
    world.forge(&["pr", "close", "9"]).ok();
    wire.call("pr_list", args.clone())
        .fails("conflict")
        .says("has changed since the first page");
    // A truncated cursor is an error, and does not start again from the first page.
    let cursor = first.cursor().unwrap();
    let bound = cursor.split('~').next().unwrap();
    args["cursor"] = json!(format!("{bound}~~3."));
    wire.call("pr_list", args)
        .fails("invalid_input")
        .says("damaged");
}

#[test]
fn r_000_16_list_has_total_and_more_on_request() {
    let world = World::new();
    for n in 0..9 {
        world.propose(
            &format!("b{n}"),
            &format!("{n} {}", "title ".repeat(40)),
            "",
        );
    }
    let mut wire = world.server(MODERN, &[]);
    let plain = wire.call("pr_list", json!({})).ok();
    let row = &plain.data()["pull_requests"][0];
    assert_eq!(plain.data()["total"], 9);
    assert_eq!(row["url"], format!("{}#9", world.name()));
    assert_eq!(row["created_at"], "2026-03-01T12:00:00Z");
    assert!(!plain.text().contains(" opened "), "{}", plain.text());
    let detailed = json!({"format": "detailed", "max_chars": 1500});
    let pages = wire.pages("pr_list", detailed, 1_500);
    assert!(pages.len() > 2);
    let lines = pages.iter().flat_map(|p| p.text().lines());
    assert_eq!(lines.filter(|l| l.starts_with("  opened ")).count(), 9);
    let numbers = column(&pages, "pull_requests", "number");
    assert_eq!(numbers, ["9", "8", "7", "6", "5", "4", "3", "2", "1"]);
    // A closed pull request shows when it was closed. A row that is longer than a page continues on
    // the next page.
    let labels: Vec<String> = (0..12).map(|n| format!("{}{n}", "é".repeat(40))).collect();
    for label in &labels {
        world.forge(&["label", "create", label]).ok();
    }
    world
        .forge(&["pr", "edit", "1", "--add-label", &labels.join(",")])
        .ok();
    world.forge(&["pr", "close", "1"]).ok();
    let view = wire.call("pr_view", json!({"number": 1})).ok();
    assert_eq!(
        view.data()["pull_request"]["closed_at"],
        "2026-03-01T12:00:00Z"
    );
    let closed = json!({"state": "closed", "max_chars": 1000});
    let pages = wire.pages("pr_list", closed, 1_000);
    assert_eq!(column(&pages, "pull_requests", "number"), ["1"]);
    assert!(pages.len() > 1);
    let shown: usize = pages.iter().map(|p| p.text().matches('é').count()).sum();
    assert_eq!(shown, 480);
}

#[test]
fn word_current_is_a_branch_for_every_tool() {
    let world = World::with_feature();
    world.git.run(["switch", "-q", "feature"]).ok();
    let mut wire = world.server(MODERN, &["--write"]);
    for (tool, args) in [
        ("pr_view", json!({"number": "current"})),
        ("pr_merge", json!({"number": "current"})),
        (
            "pr_set_state",
            json!({"number": "current", "state": "closed"}),
        ),
    ] {
        let _ = wire.call(tool, args).fails("not_found").says("pass '.'");
    }
    world.propose("current", "Another", "B");
    let seen = wire.call("pr_view", json!({"number": "current"})).ok();
    assert_eq!(seen.data()["pull_request"]["number"], "2");
    let close = json!({"number": "current", "state": "closed"});
    let closed = wire.call("pr_set_state", close).ok();
    assert_eq!(closed.data()["number"], "2");
    let first = wire.call("pr_view", json!({"number": "."})).ok();
    assert_eq!(first.data()["pull_request"]["state"], "open");
}

#[test]
fn r_000_8_number_argument_accepts_branch_current_and_url() {
    let world = World::with_feature();
    world.git.run(["switch", "-q", "feature"]).ok();
    let mut wire = world.server(MODERN, &[]);
    let address = world.name().replace("file://", "forge://local");
    for number in [
        "feature",
        "branch:feature",
        ".",
        &format!("{address}/pull/1"),
        &format!("{}#1", world.name()),
    ] {
        let seen = wire.call("pr_view", json!({"number": number})).ok();
        assert_eq!(seen.data()["pull_request"]["number"], "1", "{number}");
    }
    wire.call("pr_view", json!({"number": "main"}))
        .fails("not_found")
        .says("no pull requests found for branch 'main'");
    wire.call("pr_view", json!({"number": address}))
        .fails("invalid_input")
        .says("not a pull request");
}
