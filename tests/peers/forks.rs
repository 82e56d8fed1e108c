//! Tests pull requests from forks of users and of organisations.

use forge_github_double::state::Permission;

use crate::{
    twins::Twins,
    world::{REPO, Tool, World},
};

const FORK: &str = "http://github.localhost/hubot/tools.git";
const ORG: &str = "http://github.localhost/acme/tools.git";

/// Adds remotes for the forks of a user and of an organisation. Mona may push to both.
fn forked(world: &World) {
    {
        let mut seed = world.double.seed();
        seed.org("acme", &[("octocat", Permission::Admin)]);
        seed.fork(REPO, "hubot");
        seed.fork(REPO, "acme");
        seed.collaborator("hubot/tools", "octocat", Permission::Write);
    }
    world.git(&["remote", "add", "fork", FORK]);
    world.git(&["remote", "add", "org", ORG]);
}

#[test]
fn create_takes_branch_pushed_to_fork() {
    let twins = Twins::new();
    twins.both(forked);
    for (remote, branch, head) in [
        ("fork", "theirs", "hubot:theirs"),
        ("org", "ours", "acme:ours"),
    ] {
        twins.both(|world| world.push_to(remote, branch));
        twins.same("pr create -t T -b B --dry-run");
        twins.same("pr create -t T -b B");
        twins.same("pr view");
        twins.same(&format!("pr view {head}"));
        twins.same("pr view --json number,headRefName,isCrossRepository");
        twins.same("pr status");
        twins.same("pr checks --web");
        twins.same("pr edit -t 'A fork'");
        twins.refused(&format!("pr view {branch}"));
    }
    twins.same("pr list");
    twins.same_state();
    twins.same("pr merge ours -m").refused();
    twins.same("pr merge acme:ours -m");
    twins.same("pr close hubot:theirs -d");
    twins.same_state();
}

#[test]
fn fork_head_is_named_by_owner_and_branch() {
    let twins = Twins::new();
    twins.both(|world| {
        forked(world);
        world.push_to("fork", "theirs");
        world.push_to("org", "ours");
        world.git(&["checkout", "--quiet", "main"]);
    });
    twins.same("pr create -t T -b B --head hubot:theirs --no-maintainer-edit");
    twins.same("pr create -t T -b B -H acme:ours");
    twins.same("pr list");
    twins.same_state();
    twins
        .refused("pr create -t T -b B -H acme:ours")
        .say("/octocat/tools/pull/2");
    twins.refused("pr create -t T -b B -H acme:not-pushed");
}

/// gh does not know `ORG/REPO:BRANCH` and fails. `forge` opens the pull request, and gh then shows
/// it.
#[test]
fn fork_head_is_named_by_repository_and_branch() {
    let world = World::new();
    forked(&world);
    world.push_to("org", "ours");
    world.git(&["checkout", "--quiet", "main"]);
    let line = "pr create -t T -b B --head acme/tools:ours";
    let out = world.fails(Tool::Gh, line);
    assert!(
        out.stderr_text().contains("Head ref must be a branch"),
        "{out:?}"
    );
    assert!(
        world
            .command(Tool::Forge, line)
            .text()
            .ends_with("/pull/1\n")
    );
    world.same_line("pr view acme:ours");
    world.same_line("pr list");
    let missing = "pr create -t T -b B --head acme/missing:ours";
    let out = world.fails(Tool::Forge, missing);
    assert!(out.stderr_text().contains("acme/missing"), "{out:?}");
    assert_eq!(world.double.seed().pulls_of(REPO).len(), 1);
}

/// A fork in the base repository's own organisation has the same owner, but another name.
#[test]
fn fork_in_same_organisation_is_opened() {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        let fork = seed.fork(REPO, "hubot");
        let octocat = seed.find_account("octocat");
        let repo = seed.repos.get_mut(&fork).unwrap();
        repo.owner = octocat;
        repo.name = "tools-fork".to_owned();
    }
    let url = "http://github.localhost/octocat/tools-fork.git";
    world.git(&["remote", "add", "fork", url]);
    world.push_to("fork", "same-owner");
    let out = world.command(Tool::Forge, "pr create -t T -b B").text();
    assert!(out.ends_with("/pull/1\n"), "{out}");
    let seen = world.fields(
        Tool::Gh,
        "1",
        "isCrossRepository,headRepository,headRefName",
    );
    assert_eq!(seen["isCrossRepository"], true);
    assert_eq!(seen["headRepository"]["name"], "tools-fork");
    let number = world
        .command(Tool::Forge, "pr view --json number -q .number")
        .text();
    assert_eq!(number, "1\n");
}
