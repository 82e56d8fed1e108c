//! Tests how both programs choose the current branch's pull request and the clone's repository.

use forge_github_double::PullSeed;

use crate::world::{REPO, Tool, World};

const NUMBER: &str = "pr view --json number -q .number";

/// Creates three pull requests, from `topic`, the fork's `topic` and `dest`, and a remote `fork`.
fn three() -> World {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        seed.fork(REPO, "hubot");
        for (author, head) in [
            ("octocat", "topic"),
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
    }
    world.git(&[
        "remote",
        "add",
        "fork",
        "http://github.localhost/hubot/tools.git",
    ]);
    world.git(&["fetch", "--quiet", "--all"]);
    world
}

/// Asserts that on `branch`, with this configuration, both programs find this pull request.
#[track_caller]
fn found(branch: &str, config: &[(&str, &str)], number: u64) {
    let world = three();
    world.git(&[
        "checkout",
        "--quiet",
        "--no-track",
        "-b",
        branch,
        "origin/main",
    ]);
    for (key, value) in config {
        world.git(&["config", key, value]);
    }
    for out in world.both(NUMBER) {
        assert_eq!(
            out.stdout_text(),
            format!("{number}\n"),
            "{config:?}: {out:?}"
        );
    }
    world.same_line("pr status --json number -q .currentBranch.number");
    world.same_line("pr diff --name-only");
    for tool in [Tool::Forge, Tool::Gh] {
        let url = world.command(tool, "pr comment -b Here").text();
        assert!(url.contains(&format!("/pull/{number}#")), "{tool:?}: {url}");
    }
}

#[test]
fn pull_of_unconfigured_branch_is_found_by_name() {
    found("topic", &[], 1);
}

#[test]
fn branch_remote_and_merge_settings_select_pull() {
    found(
        "topic",
        &[
            ("branch.topic.remote", "origin"),
            ("branch.topic.merge", "refs/heads/topic"),
        ],
        1,
    );
    found(
        "topic",
        &[
            ("branch.topic.remote", "fork"),
            ("branch.topic.merge", "refs/heads/topic"),
        ],
        2,
    );
    let url = "http://github.localhost/hubot/tools.git";
    found(
        "topic",
        &[
            ("branch.topic.remote", url),
            ("branch.topic.merge", "refs/heads/topic"),
        ],
        2,
    );
}

#[test]
fn push_default_upstream_uses_the_upstream_name() {
    for name in ["upstream", "tracking"] {
        found(
            "local",
            &[
                ("push.default", name),
                ("branch.local.remote", "origin"),
                ("branch.local.merge", "refs/heads/dest"),
            ],
            3,
        );
    }
}

#[test]
fn push_default_simple_uses_the_branch_name() {
    found(
        "topic",
        &[
            ("push.default", "simple"),
            ("branch.topic.remote", "origin"),
            ("branch.topic.merge", "refs/heads/main"),
            ("branch.topic.pushRemote", "fork"),
        ],
        2,
    );
    let world = three();
    world.git(&[
        "checkout",
        "--quiet",
        "--no-track",
        "-b",
        "local",
        "origin/main",
    ]);
    world.git(&["config", "branch.local.remote", "origin"]);
    world.git(&["config", "branch.local.merge", "refs/heads/dest"]);
    for name in ["simple", "current"] {
        world.git(&["config", "push.default", name]);
        world.fails(Tool::Gh, NUMBER);
        assert_eq!(world.command(Tool::Forge, NUMBER).text(), "3\n", "{name}");
    }
}

#[test]
fn new_branch_has_its_own_name_with_push_default_upstream() {
    for name in ["upstream", "tracking"] {
        found("topic", &[("push.default", name)], 1);
        found(
            "topic",
            &[("push.default", name), ("branch.topic.remote", "origin")],
            1,
        );
        found(
            "topic",
            &[("push.default", name), ("remote.pushDefault", "fork")],
            2,
        );
    }
}

#[test]
fn pull_is_found_by_push_remote() {
    let tracked = [
        ("push.default", "current"),
        ("branch.topic.remote", "origin"),
        ("branch.topic.merge", "refs/heads/main"),
    ];
    found(
        "topic",
        &[&tracked[..], &[("branch.topic.pushRemote", "fork")]].concat(),
        2,
    );
    found(
        "topic",
        &[&tracked[..], &[("remote.pushDefault", "fork")]].concat(),
        2,
    );
    let both = [
        ("remote.pushDefault", "origin"),
        ("branch.topic.pushRemote", "fork"),
    ];
    found("topic", &[&tracked[..], &both].concat(), 2);
    let url = [(
        "branch.topic.pushRemote",
        "http://github.localhost/hubot/tools.git",
    )];
    found("topic", &[&tracked[..], &url].concat(), 2);
}

#[test]
fn branch_merge_setting_with_ref_selects_pull() {
    found(
        "anything",
        &[
            ("branch.anything.remote", "origin"),
            ("branch.anything.merge", "refs/pull/3/head"),
        ],
        3,
    );
}

#[test]
fn detached_head_and_default_branch_have_no_pull() {
    let world = three();
    world.same_refusal_of(NUMBER);
    world.same_line("pr status --json number -q .currentBranch");
    world.git(&["checkout", "--quiet", "--detach"]);
    world.same_refusal_of(NUMBER);
    world.same_refusal_of("pr create -t T -b B");
}

#[test]
fn repository_choice_matches_gh() {
    let world = three();
    world.double.seed().repo_with_readme("octocat/other");
    world.double.seed().many_pulls("octocat/other", 1);
    let number = |expected: &str| {
        for out in world.both("pr list --json number -q '.[].number'") {
            assert_eq!(out.stdout_text(), expected, "{out:?}");
        }
    };
    number("3\n2\n1\n");
    // If there is a remote `upstream`, the fork `origin` is not chosen.
    world.git(&["remote", "rename", "origin", "upstream"]);
    world.git(&["remote", "rename", "fork", "origin"]);
    number("3\n2\n1\n");
    world.git(&["config", "remote.origin.gh-resolved", "base"]);
    number("");
    world.git(&["config", "remote.origin.gh-resolved", "octocat/other"]);
    number("1\n");
    for tool in [Tool::Forge, Tool::Gh] {
        let run = |line: &str| world.command(tool, line).env("GH_REPO", "octocat/other");
        assert_eq!(run("pr list --json number -q '.[].number'").text(), "1\n");
        let named = run("pr list -R octocat/tools --json number -q '.[].number'");
        assert_eq!(named.text(), "3\n2\n1\n");
    }
}

#[test]
fn command_outside_a_clone_is_refused() {
    let world = three();
    let outside = world.scratch.path("home");
    for (line, code) in [
        ("pr list", 1),
        ("pr view 1", 1),
        (
            "pr view https://github.localhost/octocat/tools/pull/1 --json number",
            0,
        ),
        ("pr list -R octocat/tools --json number", 0),
        (
            "pr create -R octocat/tools -H dest -B topic -t T -b B --dry-run",
            0,
        ),
    ] {
        let run = |tool| world.command(tool, line).dir(&outside).output();
        let (ours, theirs) = (run(Tool::Forge), run(Tool::Gh));
        assert_eq!(
            (ours.code, theirs.code),
            (Some(code), Some(code)),
            "{ours:?}\n{theirs:?}"
        );
        assert_eq!(ours.stdout, theirs.stdout, "{ours:?}\n{theirs:?}");
    }
}
