//! Tests conversations that one program locks and the other unlocks.

use crate::{
    differences::listed,
    world::{REPO, Tool, World},
};

/// Returns the reason for which pull request 1 is locked. The outer `None` means that it is not
/// locked.
fn lock_of(world: &World) -> Option<Option<String>> {
    world.double.seed().pull_of(REPO, 1).locked.clone()
}

fn with_pull(maker: Tool) -> World {
    let world = World::new();
    world.push("feature");
    world.command(maker, "pr create -t T -b B").ok();
    world
}

#[test]
fn lock_is_removed_by_other_program() {
    for (maker, other) in Tool::TURNS {
        let world = with_pull(other);
        for (flags, reason) in [
            ("", None),
            (" --reason spam", Some("SPAM")),
            (" -r off_topic", Some("OFF_TOPIC")),
            (" -r too_heated", Some("TOO_HEATED")),
            (" -r resolved", Some("RESOLVED")),
        ] {
            let locked = world.command(maker, &format!("pr lock 1{flags}")).text();
            assert_eq!(locked, "");
            assert_eq!(lock_of(&world), Some(reason.map(str::to_owned)));
            let url = world.ok(maker, &["pr", "view", "1", "--json", "url", "-q", ".url"]);
            let unlocked = world.command(other, &format!("pr unlock {}", url.trim()));
            assert_eq!(unlocked.text(), "");
            assert_eq!(lock_of(&world), None);
        }
        // In both programs, unlocking an unlocked conversation changes nothing.
        world.same_line("pr unlock 1");
    }
}

#[test]
fn missing_pull_lock_is_refused_like_gh() {
    let world = with_pull(Tool::Gh);
    world.double.seed().open_issue(REPO, "octocat", "I", "");
    for line in [
        "pr lock 99",
        "pr lock 2",
        "pr lock 1 -r nonsense",
        "pr lock",
        "pr unlock",
    ] {
        world.same_refusal_of(line);
        assert_eq!(lock_of(&world), None, "{line}");
    }
}

#[test]
fn lock_of_locked_pull_succeeds_unlike_gh() {
    for (tool, code, reason) in [(Tool::Forge, 0, "SPAM"), (Tool::Gh, 1, "RESOLVED")] {
        let world = with_pull(tool);
        world.command(tool, "pr lock 1 -r resolved").ok();
        for line in ["pr lock 1", "pr lock 1 -r spam"] {
            let again = world.command(tool, line).output();
            assert_eq!(again.code, Some(code), "{again:?}");
        }
        assert_eq!(lock_of(&world), Some(Some(reason.to_owned())));
    }
    listed(
        "`pr lock` of a locked pull request is not an error, and a new `--reason` replaces the old one",
    );
}

#[test]
fn lock_accepts_branch_and_common_write_flags() {
    let world = with_pull(Tool::Forge);
    world.command(Tool::Forge, "pr lock feature --no-wait").ok();
    assert_eq!(lock_of(&world), Some(None));
    world.command(Tool::Forge, "pr unlock 1 --no-wait").ok();
    world
        .command(Tool::Forge, "pr lock 1 --wait 5s -R octocat/tools")
        .ok();
    world
        .command(Tool::Forge, "pr unlock 1 --wait 5s -R octocat/tools")
        .ok();
    assert_eq!(lock_of(&world), None);
    listed("`pr lock` and `unlock` take a branch too");
}
