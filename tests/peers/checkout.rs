//! Tests that gh and `forge` leave the same branch, commit and settings after `pr checkout`.

use forge_github_double::state::Permission;
use forge_testkit::Run;

use crate::{
    differences::listed,
    twins::Twins,
    world::{REPO, Tool, World},
};

const FORK: &str = "http://github.localhost/hubot/tools.git";

/// Returns the state of the clone: HEAD, its commit, and the upstream of the branch.
fn clone_state(world: &World) -> String {
    let branch = world.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    let name = branch.trim();
    let settings = format!("branch.{name}.");
    let config = world.git(&["config", "--local", "--list"]);
    let files = world.git(&["ls-files"]);
    let of_branch = config.lines().filter(|line| line.starts_with(&settings));
    let mut config: Vec<&str> = of_branch.collect();
    config.sort_unstable();
    format!("{branch}{}\n{files}", config.join("\n"))
}

fn same_checkout(twins: &Twins, line: &str) {
    let both = twins.run(line, |_, run: Run| run);
    assert_eq!(both.gh.code, both.forge.code, "{line}: {both:?}");
    assert_eq!(both.forge.stdout_text(), "", "{line}");
    assert_eq!(clone_state(&twins.gh), clone_state(&twins.forge), "{line}");
}

#[test]
fn checkout_of_a_branch_sets_upstream_like_gh() {
    let twins = Twins::new();
    twins.push("work");
    twins.both(|world| {
        world.command(Tool::Gh, "pr create -t T -b B").ok();
        world.git(&["switch", "--quiet", "main"]);
        world.git(&["branch", "--quiet", "-D", "work"]);
    });
    same_checkout(&twins, "pr checkout 1");
    // Here the branch of the pull request is already checked out.
    same_checkout(&twins, "pr checkout work");
    twins.git("switch --quiet main");
    same_checkout(&twins, "pr checkout 1 --branch mine");
    twins.git("switch --quiet main");
    same_checkout(&twins, "pr checkout 1 --detach");
    twins.git("switch --quiet main");
    same_checkout(&twins, "pr checkout 1 --recurse-submodules");
    twins.git("switch --quiet main");
    same_checkout(&twins, "pr checkout 1 -R octocat/tools");
    same_checkout(&twins, "pr checkout 77");
    same_checkout(&twins, "pr checkout");
    listed("`pr checkout` prints nothing on stdout");
}

#[test]
fn checkout_of_a_fork_sets_upstream_like_gh() {
    let twins = Twins::new();
    twins.both(|world| {
        let mut seed = world.double.seed();
        seed.fork(REPO, "hubot");
        seed.collaborator("hubot/tools", "octocat", Permission::Write);
        drop(seed);
        world.git(&["remote", "add", "fork", FORK]);
        world.push_to("fork", "theirs");
        world
            .command(Tool::Gh, "pr create -t T -b B --no-maintainer-edit")
            .ok();
        world.git(&["switch", "--quiet", "main"]);
        world.git(&["branch", "--quiet", "-D", "theirs"]);
        world.git(&["remote", "remove", "fork"]);
    });
    same_checkout(&twins, "pr checkout 1");
    same_checkout(&twins, "pr checkout 1");
}

#[test]
fn checkout_of_a_deleted_fork_sets_upstream_like_gh() {
    let twins = Twins::new();
    twins.both(|world| {
        let mut seed = world.double.seed();
        seed.fork(REPO, "hubot");
        seed.collaborator("hubot/tools", "octocat", Permission::Write);
        drop(seed);
        world.git(&["remote", "add", "fork", FORK]);
        world.push_to("fork", "theirs");
        world
            .command(Tool::Gh, "pr create -t T -b B --no-maintainer-edit")
            .ok();
        world.git(&["switch", "--quiet", "main"]);
        world.git(&["branch", "--quiet", "-D", "theirs"]);
        world.git(&["remote", "remove", "fork"]);
        world.double.seed().delete_repo("hubot/tools");
    });
    same_checkout(&twins, "pr checkout 1");
}

#[test]
fn checkout_over_other_commits_needs_force_like_gh() {
    let twins = Twins::new();
    twins.push("work");
    twins.both(|world| {
        world.command(Tool::Gh, "pr create -t T -b B").ok();
        world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        std::fs::write(world.clone_dir().join("other.txt"), "x\n").unwrap();
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "Other"]);
    });
    same_checkout(&twins, "pr checkout 1");
    same_checkout(&twins, "pr checkout 1 --force");
}

#[test]
fn checkout_in_another_work_tree_behaves_like_gh() {
    let twins = Twins::new();
    twins.push("work");
    twins.both(|world| {
        world.command(Tool::Gh, "pr create -t T -b B").ok();
        world.git(&["switch", "--quiet", "main"]);
    });
    same_checkout(&twins, "pr checkout 1 --worktree ../beside");
    let trees = |world: &World| {
        let listed = world.git(&["worktree", "list", "--porcelain"]);
        let branches = listed.lines().filter(|line| line.starts_with("branch "));
        branches.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(trees(&twins.gh), trees(&twins.forge));
    assert_eq!(trees(&twins.forge).len(), 2);
    // `--round` is only for forges that store patches. GitHub has no rounds, so `forge` refuses the
    // flag.
    let out = twins.forge.fails(Tool::Forge, "pr checkout 1 --round 0");
    assert!(out.stderr_text().contains("has no rounds"), "{out:?}");
}
