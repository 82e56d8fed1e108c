use forge_github_double::{PullSeed, Seed};

use crate::{
    twins::Twins,
    world::{REPO, REVIEWER, Tool, World},
};

/// Creates pull requests 1 to 4: one with a value in every field, a draft, one of another
/// account's, and one from a fork.
pub fn seed_four_pulls(seed: &mut Seed<'_>) {
    seed.fork(REPO, "hubot");
    let pulls = [
        ("octocat", "  Ünïcode  ✓", "feature", false),
        ("octocat", "Draft", "wip", true),
        ("reviewer", "Theirs", "theirs", false),
        ("hubot", "From a fork", "hubot:patch", false),
    ];
    for (author, title, head, draft) in pulls {
        let first = head == "feature";
        seed.open_pull(
            REPO,
            &PullSeed {
                author,
                title,
                body: "First line\r\n\r\nSecond ünïcode.",
                head,
                draft,
                labels: if first { &["bug", "good, first"] } else { &[] },
                assignees: if first { &["octocat"] } else { &[] },
                ..PullSeed::default()
            },
        );
    }
}

#[test]
fn list_filters_match_gh() {
    let twins = Twins::with(|seed| {
        seed_four_pulls(seed);
        seed.repo_with_readme("octocat/other");
        let pull = PullSeed {
            author: "octocat",
            title: "Elsewhere",
            head: "topic",
            draft: true,
            ..PullSeed::default()
        };
        seed.open_pull("octocat/other", &pull);
    });
    twins.same_words("pr close 3 -c 'Not now.'");
    for line in [
        "pr list",
        "pr ls",
        "pr list --state all",
        "pr list -s ALL",
        "pr list -s closed",
        "pr list -s merged",
        "pr list --limit 1",
        "pr list -L 2 -s all",
        "pr list --label bug,'\"good, first\"'",
        "pr list -l bug -l '\"good, first\"'",
        "pr list -l 'help wanted'",
        "pr list -l none-of-these",
        "pr list --assignee @me",
        "pr list -a octocat",
        "pr list -a reviewer",
        "pr list --author @me",
        "pr list -A hubot",
        "pr list -A nobody-knows",
        "pr list --app renovate",
        "pr list --base main",
        "pr list -B elsewhere",
        "pr list --head feature",
        "pr list -H patch",
        "pr list -H octocat:feature",
        "pr list --draft",
        "pr list -d",
        "pr list -d=false",
        "pr list --draft=true",
        "pr list --search 'draft in:title'",
        "pr list -S is:closed",
        "pr list -S 'state:merged'",
        "pr list -S '-label:bug'",
        "pr list --search '-author:reviewer -label:bug'",
        "pr list -S 'author:reviewer OR label:bug'",
        "pr list -S 'is:closed OR label:bug sort:created-asc'",
        "pr list -S '-(author:octocat draft:true)' -A octocat",
        "pr list -S repo:octocat/other",
        "pr list -S 'repo:octocat/other OR draft:true' --json title",
        "pr list -S '' -l '' -a '' -A '' -B '' -H ''",
        "pr list -A reviewer -A octocat",
        "pr list -S 'ünïcode' -l bug",
        "pr list -R octocat/tools",
        "pr list --repo github.localhost/octocat/tools",
        "pr list -R http://github.localhost/octocat/tools -s all",
        "pr list --json number,title,headRefName,isDraft,isCrossRepository,state,url",
        "pr list --json number --json title -s all",
        "pr list --json number,labels,assignees --jq '.[] | [.number, (.labels | map(.name) | join(\"+\"))]'",
        "pr list --json number,title -t '{{range .}}{{tablerow .number .title}}{{end}}'",
        "pr list --json number --template '{{len .}}'",
        "pr list --json number -t '{{range .}}{{if gt .number 1.0}}{{color `red` .number}}{{end}}{{end}}'",
        "pr list --json createdAt -t '{{range .}}{{timeago .createdAt}}{{end}}'",
        "pr list --json number -q 'map(.number) | add * 2 / 2'",
        "pr list -s merged --json number",
    ] {
        twins.same(line);
    }
}

#[test]
fn empty_pull_list_is_silent_on_a_pipe() {
    let twins = Twins::new();
    let both = twins.same("pr list");
    for out in [both.forge, both.gh] {
        assert_eq!(out.code, Some(0));
        assert!(out.stdout.is_empty() && out.stderr.is_empty(), "{out:?}");
    }
}

#[test]
fn list_web_flag_opens_page_with_filters() {
    let twins = Twins::new();
    for line in [
        "pr list --web",
        "pr list -w -s closed",
        "pr list -w -s merged -B main",
        "pr list -w -s all -l bug,'help wanted'",
        "pr list -w -l '\"good, first\"'",
        "pr list -w -A @me -B 'ma in' -H f -d -a z",
        "pr list -w -d=false",
        "pr list -w --app renovate",
        "pr list -w -S 'x is:closed'",
        "pr list -w -S sort:created-asc -L 3",
    ] {
        let page = twins.same(line).page;
        assert!(page.contains("/octocat/tools/pulls?q="), "{line}: {page}");
    }
}

#[test]
fn bad_list_commands_are_refused_by_both() {
    let twins = Twins::new();
    for line in [
        "pr list -L 0",
        "pr list -L -1",
        "pr list -L many",
        "pr list -s sideways",
        "pr list -A octocat --app renovate",
        "pr list -w --json number",
        "pr list --json",
        "pr list --json nonsense",
        "pr list --jq .",
        "pr list -t x",
        "pr list --json number --jq '.['",
        "pr list --json number -t '{{'",
        "pr list -R no-slash",
        "pr list -R octocat/missing",
        "pr list -R one/two/three/four",
        "pr list extra",
        "pr list --no-such-flag",
    ] {
        twins.refused(line);
    }
    twins
        .refused("pr list --json nonsense")
        .say("Unknown JSON field: \"nonsense\"");
    twins
        .refused("pr list --jq .")
        .say("cannot use `--jq` without specifying `--json`");
}

#[test]
fn status_matches_gh() {
    let twins = Twins::with(seed_four_pulls);
    // GitHub has not computed mergeability yet.
    let both = twins.same("pr status -c");
    let said = both.forge.stdout_text();
    assert!(said.contains("! Merge conflict status unknown"), "{said}");
    twins.both(|world| {
        world.ok(Tool::Gh, &["pr", "edit", "1", "--add-reviewer", "reviewer"]);
        world.git(&["fetch", "--quiet"]);
        world.git(&["checkout", "--quiet", "feature"]);
        // The first read makes GitHub compute mergeability.
        world.ok(Tool::Gh, &["pr", "view", "1", "--json", "mergeable"]);
        world.ok(Tool::Gh, &["pr", "view", "2", "--json", "mergeable"]);
    });
    for line in [
        "pr status",
        "pr status -c",
        "pr status --conflict-status",
        "pr status -R octocat/tools",
        "pr status --json number,title",
        "pr status --json number --jq '.createdBy[].number'",
        "pr status --json number -q .currentBranch.number",
        "pr status --json number -t '{{range .createdBy}}{{.number}}{{end}}'",
        "pr status --json number --template '{{.currentBranch.number}}'",
    ] {
        twins.same(line);
    }
    twins.same_with("pr status", |_, run| run.env("GH_TOKEN", REVIEWER));
    twins.git("checkout --quiet -b nothing-here");
    twins.same("pr status");
    for line in [
        "pr status --json nonsense",
        "pr status --jq .",
        "pr status 1",
    ] {
        twins.refused(line);
    }
}

/// gh does not have such a filter, so the expected result comes from the file lists that gh prints.
#[test]
fn touches_flag_agrees_with_files_of_gh() {
    let world = World::new();
    seed_four_pulls(&mut world.double.seed());
    let files =
        "pr list --json number,files -q '.[] | select(.files[].path == \"wip.txt\") | .number'";
    let theirs = world.command(Tool::Gh, files).text();
    let ours = "pr list --touches wip.txt --json number -q '.[].number'";
    assert_eq!(world.command(Tool::Forge, ours).text(), theirs);
    assert_eq!(theirs.lines().count(), 1, "{theirs}");
}
