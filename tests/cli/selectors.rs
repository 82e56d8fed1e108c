use crate::world::World;

fn number(world: &World, args: &[&str]) -> String {
    let all: Vec<_> = ["pr", "view"]
        .iter()
        .chain(args)
        .chain(&["--json", "number", "-q", ".number"])
        .copied()
        .collect();
    world.forge(&all).text().trim().to_owned()
}

#[test]
fn pull_is_found_by_every_selector() {
    let world = World::with_pull();
    world.open("topic/two");
    let url = world.url(2);
    for selector in ["2", "#2", "topic/two", url.as_str()] {
        assert_eq!(number(&world, &[selector]), "2", "{selector}");
    }
}

#[test]
fn missing_selector_selects_pull_of_current_branch() {
    let world = World::with_pull();
    world.switch("feature");
    assert_eq!(number(&world, &[]), "1");
    world.switch("main");
    let out = world.forge(&["pr", "view"]).output().exits(1);
    assert!(
        out.stderr_text()
            .contains("no pull requests found for branch \"main\""),
        "{out:?}"
    );
}

#[test]
fn repo_flag_needs_a_selector() {
    let world = World::with_pull();
    let path = world.git.path().display().to_string();
    let out = world.forge(&["pr", "view", "-R", &path]).output().exits(1);
    assert!(
        out.stderr_text()
            .contains("argument required when using the --repo flag"),
        "{out:?}"
    );
}

#[test]
fn branch_selector_prefers_open_to_closed_pull() {
    let world = World::with_pull();
    world.forge(&["pr", "close", "1"]).ok();
    assert_eq!(number(&world, &["feature"]), "1");
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "Again", "-b", ""])
        .ok();
    assert_eq!(number(&world, &["feature"]), "2");
}

#[test]
fn branch_with_two_open_pulls_is_ambiguous() {
    let world = World::with_pull();
    world.feature("release");
    world
        .forge(&[
            "pr", "create", "-H", "feature", "-B", "release", "-t", "Too", "-b", "",
        ])
        .ok();
    let out = world
        .forge(&["pr", "merge", "feature", "--merge"])
        .output()
        .exits(1);
    let said = out.stderr_text();
    assert!(said.contains("#1") && said.contains("#2"), "{said}");
}

#[test]
fn numeric_selector_never_names_a_branch() {
    let world = World::with_pull();
    world.open("7");
    let out = world.forge(&["pr", "view", "7"]).output().exits(1);
    assert!(out.stderr_text().contains("#7"), "{out:?}");
}

fn state(world: &World, pull: &str) -> String {
    world.json(pull, "state")["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn word_current_is_the_branch_of_that_name() {
    let world = World::with_pull();
    world.open("current");
    world.switch("feature");
    assert_eq!(number(&world, &["current"]), "2");
    assert_eq!(number(&world, &["."]), "1");
    world.forge(&["pr", "close", "current"]).ok();
    assert_eq!((state(&world, "1"), state(&world, "2")), open_and_closed());
    world.forge(&["pr", "reopen", "2"]).ok();
    world.forge(&["pr", "merge", "current", "-m"]).ok();
    assert_eq!(
        (state(&world, "1").as_str(), state(&world, "2").as_str()),
        ("OPEN", "MERGED")
    );
}

fn open_and_closed() -> (String, String) {
    ("OPEN".to_owned(), "CLOSED".to_owned())
}

#[test]
fn word_current_without_such_pull_changes_nothing() {
    let world = World::with_pull();
    world.switch("feature");
    for has_branch in [false, true] {
        if has_branch {
            world.feature("current");
        }
        for args in [
            &["pr", "close", "current"][..],
            &["pr", "close", "current", "-d"],
            &["pr", "merge", "current", "-m"],
            &["pr", "edit", "current", "-t", "Other"],
        ] {
            let out = world.forge(args).output().exits(1);
            let told = out.stderr_text();
            assert!(told.contains("pass '.'"), "{args:?}: {told}");
        }
        let seen = world.json("1", "state,title");
        assert_eq!(seen["state"], "OPEN");
        assert_eq!(seen["title"], "Title of feature");
    }
}

#[test]
fn deletion_names_commit_and_restore_command() {
    for action in [
        &["pr", "close", "1", "-d"][..],
        &["pr", "merge", "1", "-m", "-d"],
    ] {
        let world = World::with_pull();
        let tip = world.git.oid("feature").unwrap();
        let out = world.forge(action).output();
        let told = out.stderr_text();
        let command = format!("git branch feature {tip}");
        assert!(told.contains(&command), "{action:?}: {told}");
        assert_eq!(world.git.oid("feature"), None);
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        world.git.run(words).ok();
        assert_eq!(world.git.oid("feature"), Some(tip));
    }
}
