//! Tests comments, reviews, edits and state changes with every flag.

use crate::{
    list::seed_four_pulls,
    twins::Twins,
    update_branch::behind,
    world::{REVIEWER, Tool, World},
};

#[test]
fn comment_flags_match_gh() {
    let twins = Twins::with(seed_four_pulls);
    for line in [
        "pr comment 1 --body One",
        "pr comment feature -b 'By branch'",
        "pr comment https://github.localhost/octocat/tools/pull/1 -b 'By URL' -R acme/elsewhere",
        "pr comment 1 --edit-last -b Two",
        "pr comment 2 --edit-last --create-if-none -b Made",
        "pr comment 2 --edit-last --create-if-none -b Edited",
        "pr comment 2 -b '- a list\n- of two'",
        "pr comment 2 --body --edit-last",
        "pr comment 2 -b First -b Last",
        "pr comment 1 --delete-last --yes",
    ] {
        twins.same(line);
    }
    twins.same_with("pr comment 1 --body-file -", |_, run| {
        run.stdin("From standard input\n")
    });
    twins.both(|world| {
        world.scratch.write("clone/body.md", "From a file\n");
    });
    twins.same("pr comment 1 -F body.md");
    twins.same_state();
    let edited = |line: &str| {
        twins.same_with(line, |world, run| {
            run.env("GH_EDITOR", world.editor("Typed.\n"))
        });
    };
    edited("pr comment 1 --editor");
    edited("pr comment 1 -e");
    edited("pr comment 1 --edit-last -e");
    twins.same_state();
}

#[test]
fn bad_comment_commands_are_refused_by_both() {
    let twins = Twins::with(seed_four_pulls);
    for line in [
        "pr comment 1",
        "pr comment 1 -b ''",
        "pr comment 1 -F no-such-file",
        "pr comment 1 -b x -F -",
        "pr comment 1 -b x -e",
        "pr comment 1 -b x -w",
        "pr comment 1 -e -w",
        "pr comment 1 --delete-last",
        "pr comment 1 --delete-last --yes -b x",
        "pr comment 1 --delete-last --edit-last --yes",
        "pr comment 1 --yes -b x",
        "pr comment 1 --create-if-none -b x",
        "pr comment 1 --edit-last -b x",
        "pr comment 1 --delete-last --yes",
    ] {
        twins.refused(line);
    }
    let long = format!("pr comment 1 -b {}", "x".repeat(66_000));
    twins.refused(&long);
    twins
        .refused("pr comment 1 --edit-last -b x")
        .say("no comments found for current user");
    twins.same_state();
}

#[test]
fn review_flags_match_gh() {
    let twins = Twins::with(seed_four_pulls);
    let review = |line: &str| {
        let both = twins.same_with(line, |_, run| {
            run.env("GH_TOKEN", REVIEWER).stdin("Typed.\n")
        });
        assert!(both.forge.stdout.is_empty(), "{both:?}");
        both
    };
    for line in [
        "pr review 1 --request-changes --body 'Not yet.'",
        "pr review 1 -r -F -",
        "pr review feature --comment -b 'By the way.'",
        "pr review 1 -c --body-file -",
        "pr review 1 --approve",
        "pr review 1 -a -b 'Good, ünïcode.'",
    ] {
        assert_eq!(review(line).forge.code, Some(0), "{line}");
    }
    for line in [
        "pr review 1",
        "pr review 1 -b x",
        "pr review 1 -c",
        "pr review 1 -r",
        "pr review 1 -a -r",
        "pr review 1 -a -c",
        "pr review 1 -a -b x -F -",
        "pr review 1 -a -F no-such-file",
        "pr review 3 -a",
        "pr review 3 -r -b 'My own.'",
    ] {
        review(line).refused();
    }
    twins.same_state();
}

#[test]
fn edit_flags_match_gh() {
    let twins = Twins::with(seed_four_pulls);
    twins.git("push --quiet origin origin/main:refs/heads/release");
    for line in [
        "pr edit 1 --title 'Nëw title'",
        "pr edit feature -t 'By branch'",
        "pr edit hubot:patch -t 'By owner and branch'",
        "pr edit '#2' -t 'By number'",
        "pr edit 1 --body ''",
        "pr edit 1 -b 'New body'",
        "pr edit 1 --add-label 'help wanted,bug' --remove-label '\"good, first\"'",
        "pr edit 1 --add-label '\"good, first\"'",
        "pr edit 1 --add-assignee @me,reviewer --remove-assignee octocat",
        "pr edit 1 --remove-assignee @me",
        "pr edit 1 --add-reviewer reviewer",
        "pr edit 1 --remove-reviewer reviewer",
        "pr edit 1 --milestone v1.0",
        "pr edit 1 -m ''",
        "pr edit 2 -m v1.0",
        "pr edit 2 --remove-milestone",
        "pr edit 1 --base release",
        "pr edit 1 -B main",
        "pr edit 1 -t '-v is a flag' -b '- a list'",
        "pr edit 1 --add-label '' --add-project '' -t x",
        "pr edit 1 --add-label '' --add-reviewer ''",
    ] {
        twins.same(line);
        twins.same_state();
    }
    twins.same_with("pr edit 1 --body-file -", |_, run| {
        run.stdin("From standard input\n")
    });
    twins.same_with("pr edit 1 -F -", |_, run| run.stdin("Again\n"));
    twins.git("fetch --quiet");
    twins.git("checkout --quiet feature");
    twins.same("pr edit -t 'The current branch'");
    twins.same("pr edit -R octocat/tools -t 'It is an exception'");
    twins.same_state();
}

#[test]
fn bad_edit_commands_are_refused_by_both() {
    let twins = Twins::with(seed_four_pulls);
    for line in [
        "pr edit 1",
        "pr edit 1 -t ''",
        "pr edit 1 -b x -F -",
        "pr edit 1 -F no-such-file",
        "pr edit 1 -B no-such-branch",
        "pr edit 1 --add-label nosuch",
        "pr edit 1 --add-assignee nosuch",
        "pr edit 1 --add-reviewer nosuch",
        "pr edit 1 -m nosuch",
        "pr edit 1 -m v1.0 --remove-milestone",
    ] {
        twins.refused(line);
    }
    twins.same_state();
}

#[test]
fn state_changes_match_gh() {
    let twins = Twins::with(seed_four_pulls);
    for line in [
        "pr close 3 --comment 'Not now.'",
        "pr close 3",
        "pr reopen 3 -c ''",
        "pr close 3 -c ''",
        "pr reopen 3 -c '- a list'",
        "pr close 3 -c --delete-branch",
        "pr reopen 3 --comment 'Now.'",
        "pr reopen 3",
        "pr close theirs -c 'By branch.'",
        "pr reopen 3 -c 'Again.'",
        "pr close https://github.localhost/octocat/tools/pull/4/files -R acme/elsewhere",
        "pr reopen hubot:patch",
        "pr ready 2",
        "pr ready 2",
        "pr ready 2 --undo",
        "pr ready wip --undo",
        "pr ready hubot:patch",
    ] {
        twins.same_words(line);
        twins.same_state();
    }
    twins.git("fetch --quiet");
    twins.git("checkout --quiet wip");
    twins.same_words("pr ready");
    twins.same_words("pr ready --undo");
    twins.same_state();
}

#[test]
fn close_deletes_branch_on_request() {
    let twins = Twins::with(seed_four_pulls);
    for line in [
        "pr close wip --delete-branch",
        "pr close 3 -d",
        "pr close 4 -d",
    ] {
        twins.same(line);
    }
    twins.same_branches();
    twins.same_state();
    twins.both(|world| {
        let branches = world.git(&["ls-remote", "--heads", "origin"]);
        assert!(
            !branches.contains("wip") && !branches.contains("theirs"),
            "{branches}"
        );
        // Neither gh nor `forge` deletes the branch of a fork.
        let fork = "http://github.localhost/hubot/tools.git";
        assert!(world.git(&["ls-remote", "--heads", fork]).contains("patch"));
    });
    // The pull request cannot be reopened, because its branch is deleted.
    twins.refused("pr reopen 2");
}

#[test]
fn merged_pull_stays_merged() {
    let twins = Twins::with(seed_four_pulls);
    twins.both(|world| {
        world.ok(Tool::Gh, &["pr", "merge", "1", "--merge"]);
    });
    for line in ["pr close 1", "pr reopen 1", "pr ready 1"] {
        twins.refused(line);
    }
    twins.same("pr comment 1 -b 'Still talking.'");
    twins.same("pr edit 1 -t 'Still naming.'");
    for line in ["pr review 1 -c -b 'Too late.'", "pr review 1 -a"] {
        twins.same_with(line, |_, run| run.env("GH_TOKEN", REVIEWER));
    }
    twins.same_state();
}

// The benchmarks count the requests of all other commands.
#[test]
fn new_commands_send_no_more_requests_than_gh() {
    let spent = |tool: Tool| {
        let world = World::new();
        behind(&world, Tool::Gh);
        let count = |line: &str| {
            world.double.reset_record();
            world.command(tool, line).ok();
            world.double.counts().api
        };
        let lines = [
            "pr lock 1 --reason spam",
            "pr unlock 1",
            "pr checkout 1",
            "pr update-branch 1",
        ];
        let mut spent = lines.map(count).to_vec();
        world.command(Tool::Gh, "pr merge 1 --merge").ok();
        spent.push(count("pr revert 1"));
        spent
    };
    let (ours, theirs) = (spent(Tool::Forge), spent(Tool::Gh));
    let mut pairs = ours.iter().zip(&theirs);
    assert!(
        pairs.all(|(ours, theirs)| (1..=*theirs).contains(ours)),
        "forge sent {ours:?}, and gh {theirs:?}"
    );
}
