//! Tests which pull request a local branch has whose upstream branch has another name.

use forge_github_double::PullSeed;

use crate::{
    differences::listed,
    world::{REPO, Tool, World},
};

const NUMBER: &str = "pr view --json number -q .number";

/// Creates pull requests from the fork's default branch, from another branch of the fork and from
/// the repository's branch `dest`.
fn with_pulls() -> World {
    let world = World::new();
    let mut seed = world.double.seed();
    seed.fork(REPO, "hubot");
    seed.commit("hubot/tools", "main", &[("m", Some("1\n"))], "Change m");
    for (author, head) in [
        ("hubot", "hubot:main"),
        ("hubot", "hubot:topic"),
        ("octocat", "dest"),
    ] {
        let pull = PullSeed {
            author,
            title: head,
            head,
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
    }
    drop(seed);
    world.git(&["fetch", "--quiet", "origin"]);
    world
}

/// Checkouts of the pull requests, and the local branches that they make.
const CHECKOUTS: [(&str, &str, &str); 5] = [
    ("1", "", "hubot/main"),
    ("1", "--branch mine", "mine"),
    ("2", "--branch mine", "mine"),
    ("3", "--branch mine", "mine"),
    ("3", "--branch origin-dest", "origin-dest"),
];

fn branches(world: &World) -> String {
    world.git(&["branch", "--format=%(refname:short)"])
}

#[test]
fn checkout_under_another_name_is_found_and_merged() {
    for tool in [Tool::Forge, Tool::Gh] {
        for (number, flags, branch) in CHECKOUTS {
            let world = with_pulls();
            let checkout = format!("pr checkout {number} {flags}");
            world.command(tool, checkout.trim()).ok();
            let current = world.git(&["branch", "--show-current"]);
            assert_eq!(current.trim(), branch, "{checkout}");
            let ours = |line: &str| world.command(Tool::Forge, line).text();
            assert_eq!(ours(NUMBER).trim(), number, "{checkout}");
            let status = "pr status --json number -q .currentBranch.number";
            assert_eq!(ours(status).trim(), number, "{checkout}");
            let merged = world
                .command(Tool::Forge, "pr merge -m -d")
                .output()
                .success();
            assert_eq!(branches(&world), "main\n", "{checkout}: {merged:?}");
            assert!(merged.stderr_text().contains(branch), "{merged:?}");
            let seen = world.fields(Tool::Gh, number, "state");
            assert_eq!(seen["state"], "MERGED", "{checkout}");
        }
    }
    listed("the one of the upstream branch (`branch.NAME.merge`) counts");
}

#[test]
fn close_deletes_checkout_under_another_name() {
    for (number, flags, branch) in CHECKOUTS {
        let world = with_pulls();
        let checkout = format!("pr checkout {number} {flags}");
        world.command(Tool::Forge, checkout.trim()).ok();
        world
            .command(Tool::Forge, &format!("pr close {number} -d"))
            .ok();
        assert_eq!(branches(&world), "main\n", "{checkout}");
        // Elsewhere, such a branch is not the current one, and stays.
        let world = with_pulls();
        world.command(Tool::Forge, checkout.trim()).ok();
        world.git(&["checkout", "--quiet", "main"]);
        world
            .command(Tool::Forge, &format!("pr close {number} -d"))
            .ok();
        assert!(branches(&world).contains(branch), "{checkout}");
    }
}

#[test]
fn commit_of_tracking_branch_is_not_deleted() {
    let world = with_pulls();
    world
        .command(Tool::Forge, "pr checkout 3 --branch mine")
        .ok();
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "Not pushed"]);
    let merged = world.command(Tool::Forge, "pr merge -m -d").output();
    let merged = merged.success().stderr_text();
    assert!(merged.contains("'mine' was not deleted"), "{merged}");
    assert!(branches(&world).contains("mine"));
}

/// `git switch -c fresh origin/main` makes `main` the upstream branch.
#[test]
fn new_branch_has_no_pull_of_shared_branch() {
    let world = with_pulls();
    {
        let mut seed = world.double.seed();
        for branch in ["release", "develop"] {
            seed.commit(REPO, branch, &[(branch, Some("1\n"))], branch);
        }
        seed.commit(REPO, "main", &[("later", Some("1\n"))], "Later");
        for (head, base) in [("main", "release"), ("develop", "main"), ("low", "develop")] {
            let pull = PullSeed {
                author: "octocat",
                title: head,
                head,
                base,
                ..PullSeed::default()
            };
            seed.open_pull(REPO, &pull);
        }
    }
    world.git(&[
        "remote",
        "add",
        "fork",
        "http://github.localhost/hubot/tools.git",
    ]);
    world.git(&["fetch", "--quiet", "--all"]);
    for start in ["origin/main", "origin/develop", "fork/main"] {
        world.git(&["switch", "--quiet", "-C", "fresh", "--track", start]);
        for line in [NUMBER, "pr merge -m", "pr comment -b Here"] {
            let [ours, _] = world.same_refusal_of(line);
            let said = ours.stderr_text();
            assert!(said.contains("no pull requests found"), "{start}: {said}");
        }
        world.same_line("pr status --json number -q .currentBranch");
    }
    // A branch that is a head and nothing else is found.
    world.git(&["switch", "--quiet", "-C", "fresh", "--track", "origin/dest"]);
    assert_eq!(world.command(Tool::Forge, NUMBER).text(), "3\n");
}
