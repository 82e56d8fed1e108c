use crate::world::{DATE, World};

#[test]
fn view_prints_header_line_and_body() {
    let world = World::with_pull();
    world
        .forge(&[
            "pr",
            "edit",
            "1",
            "--add-label",
            "bug,question",
            "--add-assignee",
            "@me",
            "--add-reviewer",
            "grace",
        ])
        .ok();
    let text = world.forge(&["pr", "view", "1"]).text();
    let wanted = format!(
        "title:\tTitle of feature\nstate:\tOPEN\nauthor:\tada (Ada Lovelace)\n\
         labels:\tbug, question\nassignees:\tada\nreviewers:\tgrace (Requested)\nprojects:\t\n\
         milestone:\t\nnumber:\t1\nurl:\t{}\nadditions:\t2\ndeletions:\t0\nauto-merge:\tdisabled\n\
         --\nText.\n",
        world.url(1)
    );
    let text = text.replace("assignees:\tada (Ada Lovelace)\n", "assignees:\tada\n");
    assert_eq!(text, wanted);
}

#[test]
fn view_prints_states_as_words() {
    let world = World::with_pull();
    let state = || {
        let text = world.forge(&["pr", "view", "1"]).text();
        text.lines()
            .find_map(|l| l.strip_prefix("state:\t"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(state(), "OPEN");
    world.forge(&["pr", "ready", "1", "--undo"]).ok();
    assert_eq!(state(), "DRAFT");
    world.forge(&["pr", "close", "1"]).ok();
    assert_eq!(state(), "CLOSED");
    world.forge(&["pr", "reopen", "1"]).ok();
    world.forge(&["pr", "ready", "1"]).ok();
    world.forge(&["pr", "merge", "1", "--merge"]).ok();
    assert_eq!(state(), "MERGED");
}

#[test]
fn view_lists_comments_and_reviews_by_time() {
    let world = World::with_pull();
    world
        .forge(&["pr", "comment", "1", "-b", "A comment."])
        .ok();
    world
        .grace(&[
            "pr",
            "review",
            "1",
            "--request-changes",
            "-b",
            "Please change.",
        ])
        .ok();
    let text = world.forge(&["pr", "view", "1", "--comments"]).text();
    let keys = [
        "author:\tada",
        "association:\t",
        "edited:\tfalse",
        "status:\tnone",
        "A comment.",
    ];
    let mut at = 0;
    for key in keys.iter().chain(&[
        "author:\tgrace",
        "status:\tchanges requested",
        "Please change.",
    ]) {
        let found = text[at..]
            .find(key)
            .unwrap_or_else(|| panic!("{key:?} is not next in\n{text}"));
        at += found + key.len();
    }
    assert!(text.trim_end().ends_with("--"), "{text}");
}

#[test]
fn view_lists_reviewers_with_their_verdicts() {
    let world = World::with_pull();
    world.grace(&["pr", "review", "1", "--approve"]).ok();
    let text = world.forge(&["pr", "view", "1"]).text();
    assert!(
        text.contains("reviewers:\tgrace (Grace Hopper) (Approved)\n"),
        "{text}"
    );
}

#[test]
fn view_prints_the_history() {
    let world = World::with_pull();
    world.grace(&["pr", "close", "1"]).ok();
    world.forge(&["pr", "reopen", "1"]).ok();
    let text = world.forge(&["pr", "view", "1", "--history"]).text();
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            format!("{DATE}\topened\tada"),
            format!("{DATE}\tclosed\tgrace"),
            format!("{DATE}\treopened\tada")
        ]
    );
}

#[test]
fn long_pull_of_current_branch_is_shown() {
    let world = World::with_pull();
    world.switch("feature");
    let text = world.forge(&["pr", "view"]).text();
    assert!(text.contains("number:\t1\n"), "{text}");
}

#[test]
fn pull_with_deleted_head_is_shown() {
    let world = World::with_pull();
    world.git.delete_branch("feature");
    let out = world.forge(&["pr", "view", "1"]).output().success();
    assert!(
        out.stdout_text().contains("title:\tTitle of feature\n"),
        "{out:?}"
    );
}
