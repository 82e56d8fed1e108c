use crate::world::{World, rows};

#[test]
fn review_verdict_prints_nothing_on_stdout() {
    let world = World::with_pull();
    let out = world
        .grace(&["pr", "review", "1", "--approve", "-b", "Good."])
        .output()
        .success();
    assert_eq!(out.stdout_text(), "");
    let pr = world.json("1", "reviews,reviewDecision");
    assert_eq!(pr["reviewDecision"], "APPROVED");
    assert_eq!(pr["reviews"][0]["state"], "APPROVED");
    assert_eq!(pr["reviews"][0]["body"], "Good.");
    assert_eq!(pr["reviews"][0]["author"]["login"], "grace");
}

/// As in gh, `latestReviews` contains the author's own review.
#[test]
fn own_review_is_listed_without_counting() {
    let world = World::with_pull();
    world
        .forge(&["pr", "review", "1", "-c", "-b", "Mine."])
        .ok();
    world
        .forge(&["pr", "review", "1", "-c", "-b", "Again."])
        .ok();
    let pr = world.json("1", "latestReviews,reviews,reviewDecision");
    let latest = pr["latestReviews"].as_array().unwrap();
    assert_eq!(latest.len(), 1, "{pr}");
    assert_eq!(latest[0]["id"], pr["reviews"][1]["id"], "{pr}");
    assert_eq!(pr["reviewDecision"], "", "{pr}");
    let search = ["pr", "list", "--search", "review:none", "--json", "number"];
    let listed = world.forge(&search).output().success().json();
    assert_eq!(listed[0]["number"], 1, "{listed}");
}

#[test]
fn review_can_request_changes_or_comment() {
    let world = World::with_pull();
    world.grace(&["pr", "review", "1", "-r", "-b", "No."]).ok();
    assert_eq!(
        world.json("1", "reviewDecision")["reviewDecision"],
        "CHANGES_REQUESTED"
    );
    world
        .grace(&["pr", "review", "1", "-c", "-F", "-"])
        .stdin("Well.")
        .ok();
    let pr = world.json("1", "reviews");
    assert_eq!(pr["reviews"][1]["state"], "COMMENTED");
    assert_eq!(pr["reviews"][1]["body"], "Well.");
}

#[test]
fn comments_on_lines_become_threads() {
    let world = World::with_pull();
    world
        .grace(&[
            "pr",
            "review",
            "1",
            "--comment",
            "--line",
            "feature.txt:1=Why one?",
            "--line",
            "feature.txt:R1-2=Both, really?",
        ])
        .ok();
    let list = world
        .forge(&["pr", "thread", "list", "1", "--unresolved"])
        .text();
    let threads = rows(&list);
    assert_eq!(threads.len(), 2, "{list}");
    assert!(list.contains("Why one?"), "{list}");
    let id = threads[0][0];
    world
        .forge(&["pr", "thread", "reply", "1", id, "-b", "Because."])
        .ok();
    world.forge(&["pr", "thread", "resolve", "1", id]).ok();
    let open = world
        .forge(&["pr", "thread", "list", "1", "--unresolved"])
        .text();
    assert_eq!(open.lines().count(), 1, "{open}");
    let done = world
        .forge(&["pr", "thread", "list", "1", "--resolved"])
        .text();
    assert!(done.contains(id), "{done}");
    world.forge(&["pr", "thread", "unresolve", "1", id]).ok();
    let open = world
        .forge(&["pr", "thread", "list", "1", "--unresolved"])
        .text();
    assert_eq!(open.lines().count(), 2, "{open}");
}

#[test]
fn review_with_given_id_is_dismissed() {
    let world = World::with_pull();
    world.grace(&["pr", "review", "1", "-r", "-b", "No."]).ok();
    let id = world.json("1", "reviews")["reviews"][0]["id"].clone();
    let dismiss = ["pr", "review", "1", "--dismiss", id.as_str().unwrap()];
    let out = world.forge(&dismiss).output().exits(1);
    assert!(out.stderr_text().contains("--body"), "{out:?}");
    let why = ["-b", "It was mended."];
    let out = world.forge(&dismiss).args(why).output().success();
    assert!(out.stderr_text().contains("the review of grace"), "{out:?}");
    let pr = world.json("1", "reviews,reviewDecision,comments");
    assert_eq!(pr["reviews"][0]["state"], "DISMISSED");
    assert_eq!(pr["reviewDecision"], "");
    assert_eq!(pr["comments"][0]["body"], "It was mended.");
    let out = world.forge(&dismiss).args(why).output().success();
    assert!(out.stderr_text().contains("dismissed already"), "{out:?}");
}

#[test]
fn comment_on_a_whole_file_becomes_a_thread() {
    let world = World::with_pull();
    let args = ["pr", "review", "1", "--file", "feature.txt=Too short."];
    world.grace(&args).ok();
    let list = world.forge(&["pr", "thread", "list", "1"]).text();
    let threads = rows(&list);
    assert_eq!(threads.len(), 1, "{list}");
    assert_eq!(
        (threads[0][2], threads[0][5]),
        ("feature.txt", "Too short.")
    );
    let args = ["pr", "review", "1", "--file", "feature.txt"];
    let out = world.grace(&args).output();
    assert!(out.stderr_text().contains("PATH=TEXT"), "{out:?}");
}

#[test]
fn comments_on_lines_are_read_from_a_file() {
    let world = World::with_pull();
    let file = world.scratch.write(
        "comments.json",
        r#"[{"path": "feature.txt", "line": 2, "start_line": 1, "body": "From a file."}]"#,
    );
    world
        .grace(&[
            "pr",
            "review",
            "1",
            "-r",
            "-b",
            "See below.",
            "--comments-file",
            file.to_str().unwrap(),
        ])
        .ok();
    let list = world.forge(&["pr", "thread", "list", "1"]).text();
    assert!(list.contains("From a file."), "{list}");
    let text = world.forge(&["pr", "context", "1"]).text();
    assert_eq!(text.matches("feature.txt:1-2").count(), 2, "{text}");
    let found = world.context(&["1", "--json", "threads"]);
    let thread = &found["threads"][0];
    assert_eq!(thread["startLine"], 1);
    assert_eq!(thread["line"], 2);
    assert_eq!(thread["side"], "RIGHT");
}

#[test]
fn local_pending_review_is_refused_with_a_flag() {
    let world = World::with_pull();
    let args = ["pr", "review", "1", "--pending", "-b", "Later."];
    let said = world.grace(&args).output().exits(1).stderr_text();
    assert!(said.contains("one review (--comments-file)"), "{said}");
}

#[test]
fn review_of_moved_head_is_refused() {
    let world = World::with_pull();
    let stale = world.git.oid("feature").unwrap();
    world
        .git
        .commit("feature", "More", &[("more", Some("x\n"))]);
    let out = world
        .grace(&[
            "pr",
            "review",
            "1",
            "--approve",
            "--match-head-commit",
            &stale,
        ])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains(&stale), "{out:?}");
    assert!(
        world.json("1", "reviews")["reviews"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn pending_review_is_refused_in_git_repository() {
    let world = World::with_pull();
    for flags in [&["--pending", "-b", "Later."][..], &["--discard-pending"]] {
        let out = world.grace(&["pr", "review", "1"]).args(flags).output();
        let said = out.exits(1).stderr_text();
        assert!(
            said.contains("is not possible here") && said.contains("in one review"),
            "{said}"
        );
    }
    assert_eq!(world.json("1", "reviews")["reviews"], serde_json::json!([]));
}
