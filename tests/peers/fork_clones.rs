//! Tests `pr create` in a clone of one's own fork, without and with a chosen base repository.

use std::fs;

use forge_github_double::state::Permission;
use forge_testkit::Terminal;

use crate::{
    differences::listed,
    twins::Twins,
    world::{Tool, World},
};

const BASE: &str = "hubot/up";
const CREATE: &str = "pr create -t T -b B";

/// Makes the clone one of octocat's fork of [`BASE`].
fn in_fork(world: &World) {
    {
        let mut seed = world.double.seed();
        seed.repo_with_readme(BASE);
        seed.fork(BASE, "octocat");
    }
    let url = "http://github.localhost/octocat/up.git";
    world.git(&["remote", "set-url", "origin", url]);
    world.git(&["fetch", "--quiet", "--prune", "origin"]);
    world.git(&["checkout", "--quiet", "-B", "main", "origin/main"]);
}

fn add_upstream(world: &World) {
    let url = "http://github.localhost/hubot/up.git";
    world.git(&["remote", "add", "upstream", url]);
    world.git(&["fetch", "--quiet", "upstream"]);
}

/// Creates a branch with one commit that is not pushed. Its upstream branch is `start`.
fn unpushed(world: &World, branch: &str, start: &str) {
    world.git(&["switch", "--quiet", "-c", branch, "--track", start]);
    fs::write(world.clone_dir().join(branch), "late\n").unwrap();
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "Late"]);
}

/// Returns the branches of a remote.
fn branches(world: &World, remote: &str) -> String {
    world.git(&["ls-remote", "--heads", remote])
}

#[test]
fn create_in_fork_clone_equals_gh_on_pipe() {
    let twins = Twins::new();
    twins.both(in_fork);
    for branch in ["one", "two", "three"] {
        twins.push(branch);
        twins.same(&format!("{CREATE} --dry-run"));
        twins.same(&format!("{CREATE} --dry-run -R {BASE}"));
    }
    twins.same(&format!("{CREATE} -R {BASE}"));
    twins.same_state_of(BASE);
    twins.git("checkout --quiet two");
    twins.git(&format!("config remote.origin.gh-resolved {BASE}"));
    twins.same(&format!("{CREATE} --dry-run"));
    twins.same(CREATE);
    twins.same_state_of(BASE);
    twins.git("config remote.origin.gh-resolved base");
    twins.same(&format!("{CREATE} --dry-run"));
    twins.same(CREATE);
    twins.same_state_of("octocat/up");
    // What is not pushed is refused.
    twins.both(|world| unpushed(world, "late", "origin/main"));
    for more in ["", " -R hubot/up", " -R octocat/up"] {
        twins.refused(&format!("{CREATE}{more}"));
    }
    twins.same_state_of(BASE);
}

#[test]
fn create_in_fork_clone_with_upstream_equals_gh() {
    let twins = Twins::new();
    twins.both(|world| {
        in_fork(world);
        add_upstream(world);
    });
    twins.push("one");
    twins.same(&format!("{CREATE} --dry-run"));
    twins.same(CREATE);
    twins.push("two");
    twins.git("config remote.origin.gh-resolved base");
    twins.same(CREATE);
    twins.same_state_of(BASE);
    twins.same_state_of("octocat/up");
}

#[test]
fn push_flag_goes_to_own_fork() {
    for start in ["origin/main", "upstream/main"] {
        let world = World::new();
        in_fork(&world);
        add_upstream(&world);
        let before = branches(&world, "upstream");
        unpushed(&world, "late", start);
        let made = world.command(Tool::Forge, &format!("{CREATE} --push"));
        let made = made.output().success();
        let said = made.stderr_text();
        assert!(
            said.contains("Pushed late -> origin/late"),
            "{start}: {said}"
        );
        assert!(
            made.stdout_text().ends_with("/hubot/up/pull/1\n"),
            "{made:?}"
        );
        let pull = world.double.seed().pull_of(BASE, 1).clone();
        assert_eq!(pull.head_branch, "late");
        assert!(branches(&world, "origin").contains("refs/heads/late"));
        assert_eq!(branches(&world, "upstream"), before);
    }
    listed("If git's configuration names none, your own fork gets it");
}

#[test]
fn push_flag_needs_no_remote_of_base() {
    for flags in ["", "-R hubot/up"] {
        let world = World::new();
        in_fork(&world);
        if flags.is_empty() {
            world.git(&["config", "remote.origin.gh-resolved", BASE]);
        }
        unpushed(&world, "late", "origin/main");
        world.git(&["branch", "--quiet", "--unset-upstream"]);
        let line = format!("{CREATE} --push {flags}");
        let made = world.command(Tool::Forge, line.trim()).text();
        assert!(made.ends_with("/hubot/up/pull/1\n"), "{made}");
    }
}

/// A member of the base repository chooses the remote in git's configuration.
#[test]
fn push_flag_follows_configured_remote() {
    for (key, value) in [
        ("remote.pushDefault", "upstream"),
        ("branch.late.pushRemote", "upstream"),
        ("branch.late.merge", "refs/heads/late"),
    ] {
        let world = World::new();
        in_fork(&world);
        add_upstream(&world);
        let mut seed = world.double.seed();
        seed.collaborator(BASE, "octocat", Permission::Write);
        drop(seed);
        unpushed(&world, "late", "upstream/main");
        world.git(&["config", key, value]);
        let made = world.command(Tool::Forge, &format!("{CREATE} --push"));
        let said = made.output().success().stderr_text();
        assert!(
            said.contains("Pushed late -> upstream/late"),
            "{key}: {said}"
        );
    }
}

#[test]
fn unpushed_branch_leads_to_own_fork() {
    let world = World::new();
    in_fork(&world);
    add_upstream(&world);
    world.git(&[
        "switch",
        "--quiet",
        "--no-track",
        "-c",
        "late",
        "origin/main",
    ]);
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "Late"]);
    let said = world.fails(Tool::Forge, CREATE).stderr_text();
    assert!(
        said.contains("git push -u origin late:refs/heads/late"),
        "{said}"
    );
}

#[test]
fn terminal_asks_for_base_of_fork_clone() {
    const DOWN: &str = "\u{1b}[B";
    for (keys, base, head) in [
        ("\r".to_owned(), "hubot/up", "octocat:one"),
        (format!("{DOWN}\r"), "octocat/up", "one"),
    ] {
        let world = World::new();
        in_fork(&world);
        world.push("one");
        let line = format!("{CREATE} --dry-run");
        let run = |tool| world.command(tool, &line).env("GH_SPINNER_DISABLED", "1");
        let gh = Terminal::start(&run(Tool::Gh), 120, 40).finish();
        assert_eq!(gh.code, Some(1), "{gh:?}");
        assert!(
            gh.plain().contains("No default remote repository"),
            "{gh:?}"
        );
        let mut terminal = Terminal::start(&run(Tool::Forge), 120, 40);
        terminal.reply("Which repository is the pull request for?", &keys);
        let out = terminal.finish();
        assert_eq!(out.code, Some(0), "{out:?}");
        let said = out.plain();
        assert!(said.contains(&format!("Head: {head}")), "{said}");
        let keep = format!("git config forge.repo github:github.localhost/{base}");
        assert!(said.contains(&keep), "{said}");
        // A chosen repository is not asked for.
        world.git(&[
            "config",
            "forge.repo",
            &format!("github:github.localhost/{base}"),
        ]);
        let out = Terminal::start(&run(Tool::Forge), 120, 40).finish();
        assert_eq!(out.code, Some(0), "{out:?}");
        assert!(!out.plain().contains("Which repository"), "{out:?}");
        assert!(out.plain().contains(&format!("Head: {head}")), "{out:?}");
    }
    listed("asks whether the pull request is for the fork or for its origin");
}
