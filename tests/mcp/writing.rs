use serde_json::json;

use crate::world::{LEGACY, MODERN, User, World, column};

/// A refused review without `pending` would publish what is unfinished.
#[test]
fn hint_of_refused_pending_review_publishes_nothing() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let keep = json!({"number": 1, "verdict": "comment", "body": "Unfinished.", "pending": "keep"});
    let discard = json!({"number": 1, "verdict": "comment", "pending": "discard"});
    for args in [keep, discard] {
        let refused = wire
            .call("pr_review", args)
            .fails("unsupported")
            .says("collect the comments in a file");
        assert!(!refused.text().contains("Next:"), "{}", refused.text());
        assert!(refused.data()["error"]["next"].is_null());
    }
}

#[test]
fn pull_request_lifecycle_on_local() {
    for era in [LEGACY, MODERN] {
        let world = World::new();
        world
            .git
            .commit("work", "Work", &[("w.txt", Some("one\ntwo\n"))]);
        let mut wire = world.server(era, &["--write"]);
        let made = wire
            .call("pr_create", json!({"title": "Work", "head": "work", "body": "Why.\n<!-- keep -->", "draft": true}))
            .ok();
        assert_eq!(
            (&made.data()["number"], &made.data()["state"]),
            (&json!("1"), &json!("draft"))
        );
        wire.call(
            "pr_edit",
            json!({"number": 1, "draft": false, "add_labels": "bug", "append": "More."}),
        )
        .ok()
        .says(": edited, marked as ready for review | open");
        let view = wire
            .call("pr_view", json!({"number": 1}))
            .ok()
            .says("> More.")
            .says("labels: bug");
        assert_eq!(view.data()["pull_request"]["state"], "open");
        // The tool stores the parts of a text that the model does not see.
        let stored = world
            .forge_as(&forge_testkit::Identity::ADA, &[])
            .args(["pr", "view", "1", "--json", "body"])
            .text();
        assert!(stored.contains("<!-- keep -->"), "{stored}");
        let head = view.data()["pull_request"]["head_oid"]
            .as_str()
            .unwrap()
            .to_owned();
        let reviewed = wire
            .call(
                "pr_review",
                json!({"number": 1, "verdict": "comment", "body": "See below.", "expected_head": head,
                       "comments": [{"path": "w.txt", "line": 2, "body": "Why two?"}]}),
            )
            .ok();
        let view = wire
            .call("pr_view", json!({"number": 1, "include": "threads"}))
            .ok();
        let thread = &view.data()["threads"][0];
        let id = thread["id"].clone();
        assert_eq!(reviewed.data()["threads"], json!([id]));
        wire.call(
            "pr_comment",
            json!({"number": 1, "body": "Because.", "thread": id}),
        )
        .ok();
        wire.call("pr_thread_resolve", json!({"number": 1, "thread": id}))
            .ok()
            .says("thread resolved");
        let again = wire
            .call("pr_thread_resolve", json!({"number": 1, "thread": id}))
            .ok()
            .says("nothing was written");
        assert_eq!(again.data()["unchanged"], true);
        let filler = json!({"number": 1, "thread": id, "resolved": false});
        wire.call("pr_thread_resolve", filler)
            .fails("invalid_input")
            .says("action is 'false', but takes one of resolve, reopen");
        // A view without comments still contains the ids of threads.
        let view = wire
            .call("pr_view", json!({"number": 1, "include": "threads"}))
            .ok();
        let thread = &view.data()["threads"][0];
        assert_eq!((&thread["id"], &thread["comments"]), (&id, &json!([])));
        let line = format!(
            "thread {} resolved at line 2 of w.txt",
            id.as_str().unwrap()
        );
        let view = view.says(&line).says(", 1 resolved without its comments");
        assert!(!view.text().contains("Because."), "{}", view.text());
        let plain = wire
            .call("pr_comment", json!({"number": 1, "body": "Plain."}))
            .ok();
        let id = plain.data()["id"].clone();
        let args = json!({"number": 1, "body": "Plain, better.", "edit": id});
        let edited = wire.call("pr_comment", args).ok().says("comment replaced");
        assert_eq!(edited.data()["id"], id);
        let args = json!({"number": 1, "body": "x", "delete": id});
        wire.call("pr_comment", args).fails("invalid_input");
        wire.call("pr_comment", json!({"number": 1}))
            .fails("invalid_input")
            .says("body is missing");
        wire.call("pr_comment", json!({"number": 1, "delete": id}))
            .ok()
            .says("comment deleted");
        wire.call("pr_comment", json!({"number": 1, "delete": id}))
            .fails("not_found");
        wire.call("pr_set_state", json!({"number": 1, "state": "closed"}))
            .ok()
            .says("closed");
        wire.call("pr_set_state", json!({"number": 1, "state": "open"}))
            .ok()
            .says("reopened");
        assert!(wire.asked.is_empty(), "closing alone asks nobody");
        wire.call("pr_resubmit", json!({"number": 1}))
            .fails("unsupported")
            .says("push to branch 'work'");
        let merged = wire
            .call("pr_merge", json!({"number": 1, "expected_head": head}))
            .ok();
        assert_eq!(merged.data()["merged"], true);
        assert_eq!(merged.data()["method"], "squash");
        assert_eq!(wire.asked.len(), 1);
        let again = wire.call("pr_merge", json!({"number": 1})).ok();
        assert_eq!(again.data()["already_merged"], true);
        assert_eq!(wire.asked.len(), 1, "what is merged asks nobody");
    }
}

#[test]
fn edit_with_draft_argument_reports_one_combined_result() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    for (title, draft, unchanged, warnings) in [
        ("New", false, false, 1),
        ("New", true, false, 1),
        ("New", true, true, 2),
    ] {
        let args = json!({"number": 1, "title": title, "draft": draft});
        let told = wire.call("pr_edit", args).ok();
        let text = told.text();
        assert_eq!(told.data()["unchanged"], unchanged, "{text}");
        assert_eq!(text.contains("nothing was written"), unchanged, "{text}");
        let said = told.data()["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!(said, warnings, "{text}");
    }
}

#[test]
fn unmergeable_pull_asks_no_confirmation() {
    // C-000-13: a draft is refused, and the error names the call that makes it ready.
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_edit", json!({"number": 1, "draft": true}))
        .ok();
    wire.call("pr_merge", json!({"number": 1}))
        .fails("precondition_failed")
        .says("\nNext: pr_edit {\"draft\":\"ready\",");
    wire.call("pr_edit", json!({"number": 1, "draft": false}))
        .ok();
    wire.call("pr_merge", json!({"number": 1, "auto": true}))
        .fails("unsupported");
    world
        .git
        .commit("main", "Other", &[("feature.txt", Some("another\n"))]);
    wire.call("pr_merge", json!({"number": 1}))
        .fails("precondition_failed")
        .says("feature.txt");
    wire.call("pr_merge", json!({"number": 1, "expected_head": "abc"}))
        .fails("invalid_input");
    let moved = wire
        .call(
            "pr_merge",
            json!({"number": 1, "expected_head": "0".repeat(40)}),
        )
        .fails("conflict");
    let actual = moved.data()["error"]["actual"].as_str().unwrap().to_owned();
    assert_eq!(actual, world.git.oid("feature").unwrap());
    assert!(moved.text().contains(&format!("with the head {actual}")));
    wire.call("pr_edit", json!({"number": 1, "body": ""}))
        .fails("invalid_input")
        .says("nothing to change")
        .says("'-' clears body");
    assert!(wire.asked.is_empty());
}

#[test]
fn pull_request_is_opened_without_clone() {
    let world = World::new();
    let mut wire = world.server(MODERN, &["--write"]);
    for (edit, says) in [
        (json!({"path": "a.txt"}), "a.txt has no content"),
        (
            json!({"path": "a.txt", "content": "x", "delete": true}),
            "is to be deleted",
        ),
        (json!({"path": "../a.txt", "content": "x"}), "../a.txt"),
    ] {
        wire.call("pr_create", json!({"title": "T", "edits": [edit]}))
            .fails("invalid_input")
            .says(says);
    }
    wire.call("pr_create", json!({"title": "T"}))
        .fails("invalid_input")
        .says("edits");
    let edits = json!([
        {"path": "new/file.txt", "content": "one\ntwo\n"},
        {"path": "run.sh", "content": "#!/bin/sh\n"},
        {"path": "README.md", "delete": true},
    ]);
    let made = wire
        .call(
            "pr_create",
            json!({"title": "Edited", "head": "edited", "edits": edits}),
        )
        .ok();
    assert_eq!(made.data()["number"], "1");
    wire.call(
        "pr_create",
        json!({"title": "Again", "head": "edited", "edits": edits}),
    )
    .fails("invalid_input")
    .says("already exists")
    .says("with repo_push (argument branch), pass another name");
    let view = wire
        .call("pr_view", json!({"number": 1, "include": "files"}))
        .ok();
    let files: Vec<_> = view.data()["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["status"].as_str().unwrap(), f["path"].as_str().unwrap()))
        .collect();
    assert_eq!(
        files,
        [
            ("deleted", "README.md"),
            ("added", "new/file.txt"),
            ("added", "run.sh")
        ]
    );
    assert_eq!(world.git.show("edited", "new/file.txt"), "one\ntwo\n");
}

#[test]
fn edit_of_description_keeps_hidden_comments() {
    let world = World::new();
    world.propose("w", "Work", "Why.\n\n<!-- keep -->");
    let mut wire = world.server(MODERN, &["--write"]);
    let stored = || world.json("1", "body")["body"].clone();
    let view = wire.call("pr_view", json!({"number": 1})).ok();
    let shown = view.data()["pull_request"]["description"].as_str().unwrap();
    let edited = format!("{shown}\n\nMore.");
    wire.call("pr_edit", json!({"number": 1, "body": edited}))
        .fails("invalid_input")
        .says("append");
    assert_eq!(stored(), "Why.\n\n<!-- keep -->");
    wire.call("pr_edit", json!({"number": 1, "append": "More."}))
        .ok();
    assert_eq!(stored(), "Why.\n\n<!-- keep -->\n\nMore.");
    // A repeated call appends the text again, as the tool's annotations say.
    wire.call("pr_edit", json!({"number": 1, "append": "More."}))
        .ok();
    assert_eq!(stored(), "Why.\n\n<!-- keep -->\n\nMore.\n\nMore.");
    let tools = wire.tools();
    let edit = tools.iter().find(|tool| tool["name"] == "pr_edit").unwrap();
    assert_eq!(edit["annotations"]["idempotentHint"], false);
    assert_eq!(edit["annotations"]["destructiveHint"], true);
    // Without the marker, the user's text replaces the whole description.
    for body in ["New.", edited.as_str()] {
        wire.call("pr_edit", json!({"number": 1, "body": body}))
            .ok();
        assert_eq!(stored(), body);
    }
}

#[test]
fn pull_created_on_another_is_stacked() {
    let world = World::with_feature();
    world.git.set_branch("upper", "feature");
    let upper = [("upper.txt", Some("upper\n"))];
    world.git.commit("upper", "Add upper", &upper);
    // The configured base branch does not apply to a stacked pull request.
    world.grace(&["config", "set", "pr.base", "main"]).ok();
    let mut wire = world.server(MODERN, &["--write"]);
    let create =
        |below: serde_json::Value| json!({"title": "Upper", "head": "upper", "depends_on": below});
    wire.call("pr_create", create(json!("feature")))
        .fails("invalid_input")
        .says("'feature' names no pull request");
    wire.call("pr_create", create(json!("#9")))
        .fails("not_found");
    wire.call("pr_create", create(json!("#1"))).ok();
    let args = json!({"number": 2, "include": "files"});
    let view = wire.call("pr_view", args).ok().says("\nbuilds on: #1\n");
    assert_eq!(view.data()["pull_request"]["depends_on"], "1");
    assert_eq!(view.data()["pull_request"]["base"], "feature");
    assert_eq!(column(&[view], "files", "path"), ["upper.txt"]);
    let below = wire.call("pr_view", json!({"number": 1})).ok();
    let alone = &below.data()["pull_request"];
    assert!(alone.get("depends_on").is_none(), "{alone}");
}

#[test]
fn aliases_of_argument_names_work_inside_lists() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let comment = json!({
        "path": "feature.txt", "startLine": "1", "line": "2", "side": "RIGHT", "body": "Why?",
        "startSide": "RIGHT", "subjectType": "LINE"
    });
    let review = json!({"pullNumber": 1, "event": "COMMENT", "body": "b", "comments": [comment]});
    wire.call("pr_review", review).ok();
    // An added line does not exist in the old version of the file.
    let comment = json!({"path": "feature.txt", "line": 1, "side": "LEFT", "body": "Why?"});
    let review = json!({"number": 1, "verdict": "COMMENT", "comments": [comment]});
    wire.call("pr_review", review)
        .fails("invalid_input")
        .says("'feature.txt' has no left side in #1");
    for (more, says) in [
        (
            json!({"path": "feature.txt", "line": 1}),
            "pass comments, a list of objects with path, line and body; this tool takes",
        ),
        (
            json!({"method": "submit_pending"}),
            "pending=submit for submit_pending",
        ),
    ] {
        let mut review = more;
        review["number"] = json!(1);
        review["verdict"] = json!("comment");
        wire.call("pr_review", review)
            .fails("invalid_input")
            .says(says);
    }
    let view = json!({"number": 1, "include": "threads"});
    let thread = wire.call("pr_view", view).ok().data()["threads"][0].clone();
    assert_eq!(
        (&thread["start_line"], &thread["line"]),
        (&json!(1), &json!(2))
    );
    // The tool accepts a single object instead of a list of files, and a single number instead of a
    // list of issues.
    let edits = json!({
        "title": "T", "head": "made", "closes": "Fixes #3", "files": {"filePath": "z.txt", "content": "z\n"}
    });
    wire.call("pr_create", edits).ok();
    assert_eq!(world.git.show("made", "z.txt"), "z\n");
    assert_eq!(world.json("2", "body")["body"], "Closes #3");
    let close = json!({"number": 1, "state": "close", "body": "Bye."});
    wire.call("pr_set_state", close).ok().says("closed");
    wire.call("pr_view", json!({"number": 1, "include": "comments"}))
        .ok()
        .says("> Bye.");
    wire.call("pr_set_state", json!({"number": 1, "state": "reopened"}))
        .ok();
    wire.call(
        "pr_merge",
        json!({"number": 1, "commit_title": "A subject", "commit_message": "Why."}),
    )
    .ok();
    let log = world.git.log("main", "%B");
    assert!(log.starts_with("A subject\n\nWhy.\n"), "{log}");
    // The error for a plain list names the two arguments that change the list.
    for list in ["labels", "assignees"] {
        wire.call("pr_edit", json!({"number": 2, (list): ["ada"]}))
            .fails("invalid_input")
            .says(&format!("pass add_{list} or remove_{list} for {list}"));
    }
    let list = wire.call("pr_list", json!({"isDraft": true})).ok();
    assert_eq!(list.data()["pull_requests"], json!([]));
    // The tool refuses an owner without a repository instead of ignoring the owner.
    wire.call("pr_list", json!({"owner": "octo"}))
        .fails("invalid_input")
        .says("without repo");
}

#[test]
fn pr_update_branch_merges_base_into_head() {
    for era in [LEGACY, MODERN] {
        let world = World::with_feature();
        let mut wire = world.server(era, &["--write"]);
        wire.call("pr_update_branch", json!({"number": 1}))
            .ok()
            .says("nothing was written");
        world
            .git
            .commit("main", "More", &[("more.txt", Some("m\n"))]);
        let before = world.git.oid("feature").unwrap();
        wire.call(
            "pr_update_branch",
            json!({"number": 1, "expected_head": "0".repeat(40)}),
        )
        .fails("conflict");
        wire.call("pr_update_branch", json!({"number": 1})).ok();
        let merged = world.git.oid("feature").unwrap();
        assert_ne!(merged, before);
        // Everybody may open a pull request from a branch of others, so its author need not agree.
        let asked = wire.asked.len();
        assert!(asked > 0);
        // Rewriting the branch of another account needs the user's consent.
        world
            .git
            .commit("main", "Yet more", &[("more.txt", Some("n\n"))]);
        wire.user = User::Declines;
        let rebase = json!({"number": 1, "method": "rebase"});
        wire.call("pr_update_branch", rebase.clone())
            .fails("cancelled");
        assert_eq!(world.git.oid("feature").as_ref(), Some(&merged));
        wire.user = User::Agrees;
        wire.call("pr_update_branch", rebase).ok();
        assert!(wire.asked[asked].starts_with("Rewrite the branch feature"));
        assert_eq!(wire.asked.len(), asked + 2);
        let log = world.git.log("main..feature", "%P");
        assert_eq!(log.trim().lines().count(), 1, "{log}");
        assert_eq!(log.trim(), world.git.oid("main").unwrap());
        // The tool asks no question before an update that cannot succeed.
        world.forge(&["pr", "close", "1"]).ok();
        let rebase = json!({"number": 1, "method": "rebase"});
        wire.call("pr_update_branch", rebase)
            .fails("precondition_failed")
            .says("is not open");
        assert_eq!(wire.asked.len(), asked + 2, "{:?}", wire.asked);
    }
}

#[test]
fn full_ref_name_is_accepted_as_head() {
    let world = World::new();
    let mut wire = world.server(MODERN, &["--write"]);
    let edits = json!([{"path": "new.txt", "content": "new\n"}]);
    let args = json!({"title": "New", "head": "refs/heads/new", "edits": edits});
    wire.call("pr_create", args).ok();
    assert!(world.git.oid("refs/heads/new").is_some());
    assert!(world.git.oid("refs/heads/refs/heads/new").is_none());
    assert_eq!(world.json("1", "headRefName")["headRefName"], "new");
}

#[test]
fn edit_with_comment_argument_keeps_the_description() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let before = wire.call("pr_view", json!({"number": 1})).ok();
    wire.call("pr_edit", json!({"number": 1, "comment": "Nice."}))
        .fails("invalid_input")
        .says("to comment, use pr_comment");
    let after = wire.call("pr_view", json!({"number": 1})).ok();
    assert_eq!(
        before.data()["pull_request"]["description"],
        after.data()["pull_request"]["description"]
    );
}

#[test]
fn reason_for_pull_request_state_is_refused() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    for state in ["open", "closed"] {
        let args = json!({"number": 1, "state": state, "reason": "duplicate"});
        wire.call("pr_set_state", args)
            .fails("invalid_input")
            .says("this tool takes no 'reason'")
            .says("a pull request has no reason for its state");
    }
}
