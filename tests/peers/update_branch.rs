//! Tests head branches that one program creates and the other updates.

use crate::{
    differences::listed,
    world::{REPO, Tool, World},
};

/// Creates pull request 1 from `feature`, one commit behind its base branch.
pub fn behind(world: &World, maker: Tool) {
    world.push("feature");
    world.command(maker, "pr create -t T -b B").ok();
    base_moves(world, "elsewhere.txt", "x\n");
}

/// Adds a commit to the base branch.
fn base_moves(world: &World, file: &str, text: &str) {
    world.git(&["checkout", "--quiet", "-B", "main", "origin/main"]);
    std::fs::write(world.clone_dir().join(file), text).unwrap();
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "Elsewhere"]);
    world.git(&["push", "--quiet", "origin", "main"]);
    world.git(&["checkout", "--quiet", "feature"]);
}

/// Returns the subjects of the commits that the head has and the base lacks, newest first.
fn commits(world: &World) -> String {
    world.git(&["fetch", "--quiet", "origin"]);
    world.git(&["log", "--format=%s", "origin/main..origin/feature"])
}

#[test]
fn updated_branch_is_current_for_gh_and_forge() {
    for (maker, other) in Tool::TURNS {
        for (line, log) in [
            (
                "pr update-branch 1",
                "Merge branch 'main' into feature\nAdd feature.txt\n",
            ),
            ("pr update-branch 1 --rebase", "Add feature.txt\n"),
        ] {
            let world = World::new();
            behind(&world, other);
            let made = world.command(maker, line).output().success();
            assert_eq!(made.stdout_text(), "✓ PR branch updated\n", "{made:?}");
            assert_eq!(made.stderr_text(), "", "{made:?}");
            assert_eq!(commits(&world), log, "{line}");
            let again = world.command(other, line).output().success();
            assert_eq!(again.stdout_text(), "✓ PR branch already up-to-date\n");
            world.same_line(line);
            world.same("1", "headRefOid,commits,mergeable");
        }
    }
}

#[test]
fn update_branch_defaults_to_current_branch() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        behind(&world, other);
        let made = world.command(maker, "pr update-branch").text();
        assert_eq!(made, "✓ PR branch updated\n");
        world.same_line("pr update-branch feature");
        world.same_refusal_of(&format!("pr update-branch -R {REPO}"));
    }
}

#[test]
fn update_conflict_is_refused_by_gh_and_forge() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        world.push("feature");
        world.command(maker, "pr create -t T -b B").ok();
        base_moves(&world, "feature.txt", "something else\n");
        let before = commits(&world);
        for line in ["pr update-branch 1", "pr update-branch 1 --rebase"] {
            for tool in [other, maker] {
                let out = world.fails(tool, line);
                assert!(out.stderr_text().contains("conflict"), "{out:?}");
                assert_eq!(out.stdout_text(), "");
            }
        }
        assert_eq!(commits(&world), before);
    }
    listed("`pr update-branch` names the conflicting files in its error, if the forge names them");
}

#[test]
fn closed_pull_update_is_refused_like_gh() {
    let world = World::new();
    behind(&world, Tool::Gh);
    world.command(Tool::Gh, "pr close 1").ok();
    let out = world.fails(Tool::Forge, "pr update-branch 1");
    assert!(out.stderr_text().contains("is closed"), "{out:?}");
    world.same_refusal_of("pr update-branch 99");
}
