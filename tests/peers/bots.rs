//! Tests bots: review requests to Copilot, assignments of Copilot, and pull requests of apps.

use forge_github_double::PullSeed;

use crate::world::{REPO, Tool, World};

fn world() -> World {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        for bot in [
            "copilot-pull-request-reviewer",
            "copilot-swe-agent",
            "dependabot",
        ] {
            seed.bot(bot);
        }
        for author in ["octocat", "dependabot"] {
            let pull = PullSeed {
                author,
                title: "Change",
                head: author,
                ..PullSeed::default()
            };
            seed.open_pull(REPO, &pull);
        }
    }
    world
}

/// Returns the numbers of reviewers and of assignees of pull request 1 on the double.
fn people(world: &World) -> (usize, usize) {
    let seed = world.double.seed();
    let pull = seed.pull_of(REPO, 1);
    (pull.requested.len(), pull.assignees.len())
}

#[test]
fn both_programs_request_and_assign_copilot() {
    for (maker, other) in Tool::TURNS {
        let world = world();
        let copilot = |tool: Tool, what: &str| {
            let reviewer = format!("--{what}-reviewer=@copilot");
            let assignee = format!("--{what}-assignee=@copilot");
            world.ok(tool, &["pr", "edit", "1", &reviewer, &assignee]);
        };
        copilot(maker, "add");
        assert_eq!(people(&world), (1, 1));
        world.same_output(&["pr", "view", "1"]);
        world.ok(maker, &["pr", "edit", "1", "--add-reviewer", "reviewer"]);
        copilot(other, "remove");
        assert_eq!(people(&world), (1, 0));
        world.same_output(&["pr", "view", "1"]);
    }
}

#[test]
fn app_pull_is_listed_like_gh() {
    let world = world();
    world.same_output(&["pr", "list", "--app", "dependabot"]);
    let listed = world.ok(Tool::Forge, &["pr", "list", "--app", "dependabot"]);
    assert!(listed.starts_with("2\t"), "{listed}");
    world.same("2", "author");
}
