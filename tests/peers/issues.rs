//! Tests issues: each program opens, lists, views, closes, reopens and comments on issues that the
//! other has made. gh's `issue view` needs `--json` here, because otherwise it requests issue types
//! and summaries of sub-issues, which the double does not cover.

use forge_github_double::Seed;

use crate::{
    differences::listed,
    twins::Twins,
    world::{REPO, REVIEWER, Tool, World},
};

/// Fields of gh's issues that `forge` has as well.
const FIELDS: &str = "assignees,author,body,closed,closedAt,comments,createdAt,id,isPinned,labels,\
    number,milestone,reactionGroups,state,stateReason,title,updatedAt,url";

fn seed_two_issues(seed: &mut Seed<'_>) {
    seed.open_issue(REPO, "octocat", "  Ünïcode\t✓", "First line\r\n\r\nSecond.");
    seed.open_issue(REPO, "reviewer", "Theirs", "");
}

#[test]
fn issue_commands_exit_like_gh() {
    let twins = Twins::with(seed_two_issues);
    for line in [
        "issue create -t 'Made here' -b 'Why.' -l bug,'\"good, first\"' -a @me",
        "issue new --title Plain --body ''",
        "issue comment 1 -b 'A comment.'",
        "issue comment 2 --body 'Another.'",
        "issue edit 1 --title Renamed",
        "issue edit 2 -b 'Now with a body.'",
        "issue edit 1 --add-label 'help wanted,bug'",
        "issue edit 1 --add-label '\"good, first\"' --remove-label bug --remove-label 'help wanted'",
        "issue edit 1 --remove-label '\"good, first\"' --add-label bug -t 'And a title'",
        "issue edit 1 --add-label ''",
        "issue create -t 'On it' -b '' -m v1.0",
        "issue edit 2 --milestone v1.0",
        "issue edit 2 --remove-milestone",
        "issue list",
        "issue ls",
        "issue list -s ALL",
        "issue list -L 2",
        "issue list --limit 1 --state all",
        "issue list -l bug",
        "issue list --label bug,'\"good, first\"'",
        "issue list --label 'help wanted'",
        "issue list --search Renamed",
        "issue list -S 'is:closed label:bug'",
        "issue list -S 'Renamed OR label:bug' -A @me",
        "issue list --milestone v1.0",
        "issue list -m v1.0 -s all",
        "issue list --assignee @me",
        "issue list -a reviewer",
        "issue list --author @me",
        "issue list -A reviewer",
        "issue list -R octocat/tools",
        "issue list --repo http://github.localhost/octocat/tools",
        "issue list --json number,title,state,stateReason,url",
        "issue list --json number --jq '.[].number'",
        "issue list --json title -t '{{range .}}{{.title}}{{end}}'",
        "issue list -s closed --json number",
        "issue view '#2' --json title --jq .title",
        "issue view http://github.localhost/octocat/tools/issues/1 --json title,body,labels",
        "issue view 3 --json assignees -t '{{range .assignees}}{{.login}}{{end}}'",
    ] {
        twins.same(line);
    }
    for line in [
        "issue close 1",
        "issue close 1",
        "issue close 2 -c 'Not now.' -r 'not planned'",
        "issue close 3 --reason completed",
        "issue reopen 1",
        "issue close 1 --duplicate-of 2",
        "issue reopen 1",
        "issue reopen 2 --comment 'After all.'",
    ] {
        twins.same_words(line);
    }
    for line in ["issue list -s all", "issue list -s closed"] {
        twins.same(line);
    }
    listed(
        "If an issue already has the state that `close` or `reopen` would set, the comment is made all the same",
    );
    for line in [
        "issue close 3 --comment Again",
        "issue reopen 1 -c 'Unheard.'",
    ] {
        let both = twins.same(line);
        let said = both.forge.stderr_text();
        assert!(said.starts_with(&both.gh.stderr_text()), "{said}");
        assert!(said.contains("additionally done: comment"), "{said}");
    }
    let bodies = [
        "issue",
        "view",
        "3",
        "--json",
        "comments",
        "-q",
        ".comments[].body",
    ];
    assert_eq!(twins.forge.ok(Tool::Gh, &bodies), "Again\n");
}

#[test]
fn empty_issue_list_is_silent_on_a_pipe() {
    Twins::new().same_words("issue list");
}

#[test]
fn issue_of_one_program_is_closed_by_other() {
    for (maker, other) in Tool::TURNS {
        let world = World::new();
        let create = [
            "issue",
            "create",
            "-t",
            "Ünïcode ✓",
            "-b",
            "Why.",
            "-l",
            "bug",
        ];
        let url = world.ok(maker, &create);
        assert!(url.trim().ends_with("/octocat/tools/issues/1"), "{url}");
        world.same_json(&["issue", "view", "1", "--json", FIELDS]);
        let url = world.ok(other, &["issue", "comment", "1", "-b", "From the other"]);
        assert!(url.contains("#issuecomment-"), "{url}");
        world.says(
            other,
            &["issue", "close", "1", "-r", "not planned"],
            "Closed issue octocat/tools#1",
        );
        world.same_json(&["issue", "view", "1", "--json", FIELDS]);
        let reopen = ["issue", "reopen", "1", "-c", "Wait."];
        let out = world.tool_as(maker, REVIEWER, &reopen).success();
        assert!(out.stderr_text().contains("Reopened issue octocat/tools#1"));
        world.same_json(&["issue", "list", "--json", FIELDS]);
        world.same_json(&["issue", "view", "1", "--json", FIELDS]);
    }
}

#[test]
fn bad_issue_commands_are_refused_by_both() {
    let twins = Twins::with(seed_two_issues);
    for line in [
        "issue view 77 --json title",
        "issue view feature",
        "issue close 77",
        "issue comment 1",
        "issue edit 1",
        "issue edit 1 --add-label nosuch -t x",
        "issue edit 1 -m nosuch",
        "issue create -t 'No body'",
        "issue close 1 -r maybe",
        "issue close 1 --duplicate-of 1",
        "issue close 1 --duplicate-of 77",
        "issue close 1 --duplicate-of 2 -r completed",
        "issue view 1 --json nothing",
        "issue list -L 0",
    ] {
        twins.refused(line);
    }
}
