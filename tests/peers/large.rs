//! Tests pull requests that are too large for gh, or for one response of GitHub.

use forge_github_double::PullSeed;

use crate::{
    twins::Twins,
    world::{REPO, Tool, World},
};

#[test]
fn body_of_60_kb_is_written() {
    let twins = Twins::new();
    twins.push("long");
    let body = format!("{}ünïcode\n", "0123456789 abcdef ".repeat(3_500));
    assert!(body.len() > 60_000);
    twins.same_with("pr create -t Long -F -", |_, run| run.stdin(body.clone()));
    twins.same("pr view long");
    twins.same("pr view long --json body");
    twins.same_with("pr comment 1 -F -", |_, run| run.stdin(body.clone()));
    twins.same("pr view 1 --comments");
    twins.same_state();
}

#[test]
fn pull_with_350_files_is_shown_by_forge() {
    let world = World::new();
    let names: Vec<String> = (0..350).map(|n| format!("f/{n:03}.txt")).collect();
    {
        let mut seed = world.double.seed();
        let files: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), Some("new\n")))
            .collect();
        seed.commit(REPO, "many", &files, "Add many");
        let pull = PullSeed {
            author: "octocat",
            title: "Many",
            head: "many",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
    }
    // GitHub refuses a diff of more than 300 files, so gh fails.
    for line in ["pr diff 1", "pr diff 1 --name-only"] {
        let refused = world.command(Tool::Gh, line).output().exits(1);
        assert!(refused.stderr_text().contains("406"), "{refused:?}");
    }
    let told = world.command(Tool::Forge, "pr diff 1 --name-only").text();
    assert_eq!(told.lines().collect::<Vec<_>>(), names);
    let diff = world.command(Tool::Forge, "pr diff 1").text();
    assert_eq!(diff.matches("\n+new\n").count(), 350);
    assert_eq!(diff.matches("diff --git ").count(), 350);
    // gh prints only the first 100 files, without a warning.
    let files = "pr view 1 --json files -q '.files | length'";
    let [ours, theirs] = world.both(files);
    assert_eq!(
        (ours.stdout_text(), theirs.stdout_text()),
        ("350\n".into(), "100\n".into())
    );
    world.same_line("pr view 1 --json changedFiles,additions");
}

#[test]
fn pull_with_130_commits_is_shown_like_gh() {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        for n in 0..130 {
            let text = format!("{n}\n");
            seed.commit(
                REPO,
                "long",
                &[("l.txt", Some(&text))],
                &format!("Commit {n}"),
            );
        }
        let pull = PullSeed {
            author: "octocat",
            title: "Long",
            head: "long",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
    }
    let [ours, theirs] = world.both("pr view 1 --json commits -q '.commits[].messageHeadline'");
    let (ours, theirs) = (ours.stdout_text(), theirs.stdout_text());
    // gh prints only the first 100 commits, without a warning.
    assert_eq!((ours.lines().count(), theirs.lines().count()), (130, 100));
    assert_eq!(
        ours.lines().take(100).collect::<Vec<_>>(),
        theirs.lines().collect::<Vec<_>>()
    );
    assert!(ours.ends_with("Commit 129\n"));
    world.same_line("pr view 1");
    world.same_line("pr diff 1");
    for tool in [Tool::Forge, Tool::Gh] {
        let patch = world.command(tool, "pr diff 1 --patch").text();
        assert_eq!(patch.matches("Subject: [PATCH").count(), 130, "{tool:?}");
    }
}

#[test]
fn list_of_three_pages_is_complete() {
    let world = World::new();
    world.double.seed().many_pulls(REPO, 250);
    for line in [
        "pr list -L 250 --json number",
        "pr list -L 101",
        "pr list -L 1000 --json number -q length",
        "pr list -L 250 -S bulk --json number -q length",
    ] {
        world.same_line(line);
    }
}
