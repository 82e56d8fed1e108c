use crate::world::{DATE, World, rows};

#[test]
fn list_prints_a_tabbed_line_per_pull() {
    let world = World::new();
    world.open("one");
    world.feature("two");
    world
        .forge(&[
            "pr",
            "create",
            "-H",
            "two",
            "-t",
            "A  draft\twith gaps",
            "-b",
            "",
            "-d",
        ])
        .ok();
    let out = world.forge(&["pr", "list"]).output().success();
    let wanted =
        format!("2\tA draft with gaps\ttwo\tDRAFT\t{DATE}\n1\tTitle of one\tone\tOPEN\t{DATE}\n");
    assert_eq!(out.stdout_text(), wanted);
    assert_eq!(out.stderr_text(), "");
}

#[test]
fn list_is_filtered_by_state() {
    // C-000-8: `all` is a state of the list.
    let world = World::new();
    for branch in ["open", "closed", "merged"] {
        world.open(branch);
    }
    world.forge(&["pr", "close", "2"]).ok();
    world.forge(&["pr", "merge", "3", "--merge"]).ok();
    let state = |state: &str| {
        let text = world.forge(&["pr", "list", "--state", state]).text();
        rows(&text)
            .iter()
            .map(|r| format!("{} {}", r[0], r[3]))
            .collect::<Vec<_>>()
    };
    assert_eq!(state("open"), ["1 OPEN"]);
    assert_eq!(state("closed"), ["3 MERGED", "2 CLOSED"]);
    assert_eq!(state("merged"), ["3 MERGED"]);
    assert_eq!(state("all"), ["3 MERGED", "2 CLOSED", "1 OPEN"]);
}

#[test]
fn empty_list_is_silent_on_a_pipe() {
    let world = World::new();
    let out = world.forge(&["pr", "list"]).output().success();
    assert_eq!(
        (out.stdout_text().as_str(), out.stderr_text().as_str()),
        ("", "")
    );
}

#[test]
fn r_000_14_list_is_filtered() {
    let world = World::new();
    world.open("one");
    world.feature("two");
    world
        .grace(&[
            "pr",
            "create",
            "-H",
            "two",
            "-t",
            "By Grace",
            "-b",
            "",
            "-l",
            "bug,question",
        ])
        .ok();
    world.feature("release");
    world.feature("three");
    world
        .forge(&[
            "pr", "create", "-H", "three", "-B", "release", "-t", "Three", "-b", "", "-d", "-a",
            "grace",
        ])
        .ok();
    let found = |args: &[&str]| {
        let all: Vec<_> = ["pr", "list"].iter().chain(args).copied().collect();
        let text = world.forge(&all).text();
        rows(&text)
            .iter()
            .map(|r| r[0].to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(found(&["--author", "grace"]), "2");
    assert_eq!(found(&["-A", "@me"]), "3 1");
    assert_eq!(found(&["--assignee", "grace"]), "3");
    assert_eq!(found(&["--label", "bug", "-l", "question"]), "2");
    assert_eq!(found(&["--label", "bug,wontfix"]), "");
    assert_eq!(found(&["--base", "release"]), "3");
    assert_eq!(found(&["--head", "one"]), "1");
    assert_eq!(found(&["--draft"]), "3");
    assert_eq!(found(&["--draft=false"]), "2 1");
    assert_eq!(found(&["--search", "grace"]), "2");
    assert_eq!(found(&["-S", "author:grace is:open"]), "2");
    assert_eq!(found(&["--limit", "1"]), "3");
}

#[test]
fn list_limit_defaults_to_thirty() {
    let world = World::new();
    for n in 0..32 {
        world.open(&format!("b{n}"));
    }
    assert_eq!(world.forge(&["pr", "list"]).text().lines().count(), 30);
    assert_eq!(
        world
            .forge(&["pr", "ls", "-L", "31"])
            .text()
            .lines()
            .count(),
        31
    );
    assert_eq!(
        world
            .forge(&["pr", "list", "-L", "200"])
            .text()
            .lines()
            .count(),
        32
    );
}

#[test]
fn unreadable_pull_in_list_is_a_warning() {
    let world = World::new();
    for branch in ["one", "two", "three"] {
        world.open(branch);
    }
    let garbage = world
        .git
        .run(["hash-object", "-w", "--stdin"])
        .stdin("garbage")
        .text();
    world
        .git
        .run(["update-ref", "refs/forge/pulls/2", garbage.trim()])
        .ok();
    let out = world.forge(&["pr", "list"]).output().success();
    let text = out.stdout_text();
    assert_eq!(
        rows(&text).iter().map(|r| r[0]).collect::<Vec<_>>(),
        ["3", "1"]
    );
    assert!(out.stderr_text().contains("refs/forge/pulls/2"), "{out:?}");
    let out = world.forge(&["pr", "view", "2"]).output().exits(1);
    assert!(out.stderr_text().contains("refs/forge/pulls/2"), "{out:?}");
    // Other commands still work on this pull request.
    world.forge(&["pr", "merge", "3", "--merge"]).ok();
    world.open("four");
    assert_eq!(world.json("4", "number")["number"], 4);
}
