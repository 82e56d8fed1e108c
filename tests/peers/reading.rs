use forge_github_double::{PullSeed, state::Permission};

use crate::world::{REPO, Tool, World};

#[test]
fn list_lines_match_gh() {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        seed.fork(REPO, "hubot");
        seed.collaborator(REPO, "hubot", Permission::Read);
        for (n, (head, draft)) in [("a", false), ("b", true), ("hubot:c", false)]
            .into_iter()
            .enumerate()
        {
            let title = format!("  Change {n}\twith ünïcode ");
            seed.open_pull(
                REPO,
                &PullSeed {
                    author: head.split_once(':').map_or("octocat", |(owner, _)| owner),
                    title: &title,
                    head,
                    draft,
                    labels: &["bug"],
                    ..PullSeed::default()
                },
            );
        }
    }
    for args in [
        &["pr", "list"][..],
        &["pr", "list", "--state", "all", "--limit", "2"],
        &["pr", "list", "--draft"],
        &["pr", "list", "--head", "c"],
        &["pr", "list", "--base", "main"],
        &[
            "pr",
            "list",
            "--search",
            "Change in:title",
            "--label",
            "bug",
        ],
        &["pr", "list", "--state", "merged"],
        &[
            "pr",
            "list",
            "--json",
            "number,title,headRefName,isDraft,isCrossRepository,state,url",
        ],
        &["pr", "list", "--json", "number", "--jq", ".[].number"],
        &[
            "pr",
            "view",
            "hubot:c",
            "--json",
            "number,title,isCrossRepository,headRefName",
        ],
        &[
            "pr",
            "view",
            "https://github.localhost/octocat/tools/pull/2",
            "--json",
            "number",
        ],
        &["pr", "diff", "1", "--name-only"],
    ] {
        world.same_output(args);
    }
}

#[test]
fn checks_output_and_exit_code_match_gh() {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        let pull = PullSeed {
            author: "octocat",
            title: "Checked",
            head: "checked",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
    }
    world.same_refusal(&["pr", "checks", "1"]);
    world.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
    world.same_output(&["pr", "checks", "1"]);
    world
        .double
        .seed()
        .check(REPO, 1, "CI", "test", "IN_PROGRESS");
    let pending = world.tool(Tool::Forge, &["pr", "checks", "1"]);
    assert_eq!(pending.code, Some(8), "{pending:?}");
    world.same_output(&["pr", "checks", "1"]);
    world.double.seed().status(REPO, 1, "deploy", "FAILURE");
    world.same_output(&["pr", "checks", "1"]);
    world.same("1", "statusCheckRollup");
    // gh keeps the order of the response, but `forge` lists failed checks first.
    let sorted = "sort_by(.name)[] | [.name,.state,.bucket,.link] | join(\" \")";
    let fields = ["--json", "name,state,bucket,link", "--jq", sorted];
    world.same_output(&[&["pr", "checks", "1"][..], &fields].concat());
}
