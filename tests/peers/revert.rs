//! Tests reverts of merged pull requests: one program merges, and the other reverts.

use crate::world::{REPO, Tool, World};

/// Creates a world in which pull request 1 is opened and merged.
fn merged(maker: Tool) -> World {
    let world = World::new();
    world.push("feature");
    world.command(maker, "pr create -t 'Add it' -b B").ok();
    world.command(maker, "pr merge 1 --merge").ok();
    world
}

const FIELDS: &str = "title,body,isDraft,state,baseRefName,author,additions,deletions";

#[test]
fn revert_by_gh_or_forge_opens_equal_pull() {
    for line in [
        "pr revert 1",
        "pr revert feature",
        "pr revert 1 --draft",
        "pr revert 1 -t Back -b 'It broke.'",
        "pr revert 1 --title '' --body ''",
    ] {
        let made = Tool::TURNS.map(|(maker, other)| {
            let world = merged(other);
            let made = world.command(maker, line).output().success();
            assert_eq!(made.stderr_text(), "", "{line}: {made:?}");
            let url = format!("http://github.localhost/{REPO}/pull/2\n");
            assert_eq!(made.stdout_text(), url, "{line}");
            world.same("2", FIELDS);
            // The revert undoes the changes of the merge.
            world.git(&["fetch", "--quiet", "origin"]);
            let before = world.git(&["rev-parse", "origin/main^1^{tree}"]);
            let head = world.ok(
                other,
                &[
                    "pr",
                    "view",
                    "2",
                    "--json",
                    "headRefOid",
                    "-q",
                    ".headRefOid",
                ],
            );
            let tree = world.git(&["rev-parse", &format!("{}^{{tree}}", head.trim())]);
            assert_eq!(tree, before, "{line}");
            world.fields(other, "2", FIELDS)
        });
        assert_eq!(
            made[0], made[1],
            "{line}: made by forge on the left, by gh on the right"
        );
    }
}

#[test]
fn revert_reads_the_body_from_a_file() {
    for (maker, other) in Tool::TURNS {
        let world = merged(other);
        let file = world.scratch.path("body.md");
        std::fs::write(&file, "From a file.").unwrap();
        let file = file.display();
        world
            .command(maker, &format!("pr revert 1 --body-file {file}"))
            .ok();
        assert_eq!(world.fields(other, "2", "body")["body"], "From a file.");
    }
}

#[test]
fn unmerged_pull_revert_is_refused_like_gh() {
    let world = World::new();
    world.push("feature");
    world.command(Tool::Gh, "pr create -t T -b B").ok();
    for line in ["pr revert 1", "pr revert", "pr revert 99"] {
        world.same_refusal_of(line);
    }
    world.command(Tool::Gh, "pr close 1").ok();
    world.same_refusal_of("pr revert 1");
    let listed = world.ok(Tool::Gh, &["pr", "list", "--state", "all"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn revert_takes_the_flags_of_every_write() {
    let world = merged(Tool::Forge);
    world.command(Tool::Forge, "pr revert 1 --no-wait").ok();
    world
        .command(Tool::Forge, "pr revert 1 --wait 5s -R octocat/tools")
        .ok();
    world.same("3", "title,body");
}
