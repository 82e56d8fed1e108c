//! Tests `pr create` for branches whose newest commits are on no remote, or only on one of several.

use forge_testkit::Terminal;

use crate::{
    differences::listed,
    twins::Twins,
    world::{REPO, Tool, World},
};

const FORK: &str = "http://github.localhost/hubot/tools.git";
const CREATE: &str = "pr create -t T -b B";

/// Commits to the current branch, and pushes nothing.
fn commit(world: &World, message: &str) {
    world.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
}

/// Adds Hubot's fork as the remote `fork`, with the tracking branch of `main`.
fn with_fork(world: &World) {
    world.double.seed().fork(REPO, "hubot");
    world.double.seed().collaborator(
        "hubot/tools",
        "octocat",
        forge_github_double::state::Permission::Write,
    );
    world.git(&["remote", "add", "fork", FORK]);
    world.git(&["fetch", "--quiet", "fork"]);
}

#[test]
fn create_without_newest_commits_is_refused() {
    let twins = Twins::new();
    twins.push("topic");
    twins.both(|world| commit(world, "Late"));
    for more in [
        "",
        " --draft",
        " -B main",
        " --dry-run",
        " -R octocat/tools",
    ] {
        let both = twins.refused(&format!("{CREATE}{more}"));
        let said = both.forge.stderr_text();
        for part in [
            "1 commit of 'topic' is not pushed: origin/topic lacks it",
            "with --push or by hand: git push -u origin topic:refs/heads/topic",
        ] {
            assert!(said.contains(part), "{more}: {said}");
        }
    }
    for flags in ["--fill", "--fill-first", "--web", "--web -t T"] {
        twins.refused(&format!("pr create {flags}"));
    }
    twins.both(|world| commit(world, "Later"));
    let said = twins.refused(CREATE).forge.stderr_text();
    assert!(
        said.contains("2 commits of 'topic' are not pushed"),
        "{said}"
    );
    // An amended commit is on no remote either.
    twins.git("reset --quiet --hard origin/topic");
    twins.git("commit --quiet --amend -m Amended");
    twins.refused(CREATE);
    twins.both(|world| assert!(world.double.seed().pulls_of(REPO).is_empty()));
    twins.git("push --quiet --force origin topic");
    twins.same(CREATE);
    twins.same_state();
}

#[test]
fn web_flag_refuses_branch_on_no_remote() {
    let twins = Twins::new();
    twins.git("switch --quiet -c late origin/main");
    twins.both(|world| commit(world, "Late"));
    let said = twins.refused("pr create --web").forge.stderr_text();
    assert!(said.contains("is not pushed to a remote"), "{said}");
    assert!(
        said.contains("git push -u origin late:refs/heads/late"),
        "{said}"
    );
}

#[test]
fn head_flag_opens_pushed_commits_with_warning() {
    let twins = Twins::new();
    twins.push("topic");
    twins.both(|world| commit(world, "Late"));
    let both = twins.same(&format!("{CREATE} -H topic"));
    let said = both.forge.stderr_text();
    assert!(
        said.contains(
            "1 commit of 'topic' in this clone is not pushed, and not in the pull request"
        ),
        "{said}"
    );
    assert!(
        said.contains("git push -u origin topic:refs/heads/topic"),
        "{said}"
    );
    twins.same_state();
    listed("With `--head`, commits that are only in the clone are a warning");
}

/// The upstream repository has a branch of the same name, which is one commit short.
#[test]
fn create_takes_remote_with_newest_commit() {
    let twins = Twins::new();
    twins.both(|world| {
        with_fork(world);
        world.push("theirs");
        world.git(&["branch", "--quiet", "--unset-upstream"]);
        commit(world, "Second");
        world.git(&["push", "--quiet", "fork", "theirs"]);
    });
    let both = twins.same(&format!("{CREATE} --dry-run"));
    let plan = both.forge.stdout_text();
    assert!(plan.contains("\nhead:\thubot:theirs\n"), "{plan}");
    twins.same(CREATE);
    twins.both(|world| {
        let seed = world.double.seed();
        let pull = seed.pull_of(REPO, 1);
        assert_eq!(pull.head_oid, world.git(&["rev-parse", "HEAD"]).trim());
    });
    twins.same_state();
    // The configured remote is the one that lacks the commit.
    twins.both(|world| {
        world.git(&["checkout", "--quiet", "main"]);
        world.push("other");
        commit(world, "Second");
        world.git(&["push", "--quiet", "fork", "other"]);
    });
    twins.same(CREATE);
    twins.same_state();
}

#[test]
fn newest_commit_is_found_on_every_remote() {
    let world = World::new();
    with_fork(&world);
    world.push_to("fork", "theirs");
    world.git(&["branch", "--quiet", "--unset-upstream"]);
    let line = format!("{CREATE} --dry-run");
    let plan = world.command(Tool::Forge, &line).text();
    assert!(plan.contains("\nhead:\thubot:theirs\n"), "{plan}");
    world.fails(Tool::Gh, &line);
    listed("`pr create` looks for the branch's newest commit on every remote");
    // A remote branch that is ahead of the clone has every commit.
    world.push("ahead");
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    commit(&world, "First");
    world.git(&["push", "--quiet", "--force", "origin", "ahead"]);
    commit(&world, "Second");
    world.git(&["push", "--quiet", "origin", "ahead"]);
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    world.fails(Tool::Gh, CREATE);
    let made = world.command(Tool::Forge, CREATE).output().success();
    assert_eq!(made.stderr_text(), "", "{made:?}");
    listed("A remote branch that is ahead of the clone counts as pushed");
}

#[test]
fn unpushed_commits_on_base_belong_on_new_branch() {
    let world = World::new();
    commit(&world, "On main");
    for more in ["", " -B main"] {
        let out = world.fails(Tool::Forge, &format!("{CREATE}{more}"));
        let said = out.stderr_text();
        assert!(said.contains("head and base are both 'main'"), "{said}");
        assert!(!said.contains("git push"), "{said}");
    }
}

#[test]
fn terminal_asks_where_to_push_newest_commits() {
    for tool in [Tool::Forge, Tool::Gh] {
        let world = World::new();
        world.push("topic");
        commit(&world, "Late");
        let run = world
            .command(tool, "pr create")
            .env("GH_SPINNER_DISABLED", "1");
        let mut terminal = Terminal::start(&run, 120, 40);
        terminal.expect("Where should we push the 'topic' branch?");
        let _ = terminal.interrupt();
        assert!(world.double.seed().pulls_of(REPO).is_empty(), "{tool:?}");
    }
}
