use forge_github_double::{Seed, state::Protection};

use crate::{
    differences::listed,
    list::seed_four_pulls,
    twins::Twins,
    world::{REPO, Tool},
};

/// Creates pull requests 1 to 6 from branches `bulk-1` to `bulk-6`.
fn seed_six_pulls(seed: &mut Seed<'_>) {
    seed.many_pulls(REPO, 6);
}

#[test]
fn merge_methods_and_messages_match_gh() {
    let twins = Twins::with(seed_six_pulls);
    for line in [
        "pr merge 1 --merge --subject Subject --body Body",
        "pr merge 2 --squash -t 'Squashed ünïcode' -b '' -A ''",
        "pr merge bulk-3 --rebase",
        "pr merge '#4' -m -t '' --author-email someone@example.com",
        "pr merge https://github.localhost/octocat/tools/pull/5 -s -R acme/elsewhere -A me@example.com",
        "pr merge 1 -m",
        "pr merge 1 -s -d",
    ] {
        let both = twins.same_with(line, |_, run| run.stdin("x"));
        assert_eq!(both.forge.code, Some(0), "{both:?}");
        assert!(both.forge.stdout.is_empty(), "{both:?}");
        twins.same_branches();
    }
    twins.same("pr merge 1 -r").say("already merged");
    twins.same_with("pr merge 6 -r --body-file -", |_, run| {
        run.stdin("From standard input\n")
    });
    twins.same_branches();
    twins.same_state();
}

#[test]
fn squash_body_comes_from_a_file() {
    let twins = Twins::with(seed_six_pulls);
    twins.same_with("pr merge 1 -s -t S -F -", |_, run| {
        run.stdin("From standard input\n")
    });
    twins.both(|world| {
        world.scratch.write("clone/body.md", "From a file\n");
    });
    twins.same("pr merge 2 -s -t S --body-file body.md");
    twins.same_branches();
}

#[test]
fn merge_deletes_branch_on_request() {
    let twins = Twins::with(seed_four_pulls);
    for line in [
        "pr merge 1 --squash --delete-branch",
        "pr merge 3 -m -d",
        "pr merge 4 -m -d",
    ] {
        twins.same(line);
    }
    twins.same_branches();
    twins.both(|world| {
        let branches = world.git(&["ls-remote", "--heads", "origin"]);
        assert!(
            !branches.contains("feature") && !branches.contains("theirs"),
            "{branches}"
        );
    });
    twins.same_state();
}

#[test]
fn match_head_commit_flag_must_match_the_head() {
    let twins = Twins::with(seed_six_pulls);
    twins.refused(&format!(
        "pr merge 1 -m --match-head-commit {}",
        "0".repeat(40)
    ));
    twins.same_state();
    twins.both(|world| {
        let head = world.double.seed().pull_of(REPO, 1).head_oid.clone();
        for tool in [Tool::Forge, Tool::Gh] {
            // The second merge finds that the pull request is already merged.
            world
                .command(tool, &format!("pr merge 1 -m --match-head-commit {head}"))
                .ok();
        }
    });
    twins.same_state();
}

#[test]
fn bad_merge_commands_are_refused_by_both() {
    let twins = Twins::with(seed_four_pulls);
    for line in [
        "pr merge",
        "pr merge 1",
        "pr merge 1 -m -s",
        "pr merge 1 -m -r",
        "pr merge 1 -m -b x -F -",
        "pr merge 1 -m -F no-such-file",
        "pr merge 1 --admin --auto -m",
        "pr merge 1 --auto --disable-auto",
        "pr merge 1 --disable-auto",
        "pr merge 2 -m",
    ] {
        twins.refused(line);
    }
    twins.same_words("pr close 3");
    twins.refused("pr merge 3 -m");
    twins.same_state();
    twins.same_branches();
}

#[test]
fn merge_conflict_is_refused_by_gh_and_forge() {
    let twins = Twins::new();
    twins.both(|world| {
        let mut seed = world.double.seed();
        seed.commit(REPO, "ours", &[("README.md", Some("ours\n"))], "Ours");
        seed.commit(REPO, "theirs", &[("README.md", Some("theirs\n"))], "Theirs");
        for head in ["ours", "theirs"] {
            let pull = forge_github_double::PullSeed {
                author: "octocat",
                title: head,
                head,
                ..Default::default()
            };
            seed.open_pull(REPO, &pull);
        }
    });
    twins.same("pr merge 1 -m");
    twins.both(|world| {
        world.ok(Tool::Gh, &["pr", "view", "2", "--json", "mergeable"]);
    });
    twins.refused("pr merge 2 -m");
    twins.same_state();
    twins.same_branches();
}

#[test]
fn auto_merge_waits_and_admin_bypasses_rules() {
    let twins = Twins::with(|seed| {
        seed_six_pulls(seed);
        seed.configure(REPO, |repo| repo.allow_auto_merge = true);
        let rules = Protection {
            approvals: 1,
            ..Protection::default()
        };
        seed.protect(REPO, "main", rules);
    });
    twins.both(|world| {
        for number in ["1", "2", "3"] {
            world.ok(
                Tool::Gh,
                &["pr", "view", number, "--json", "mergeStateStatus"],
            );
        }
    });
    twins.refused("pr merge 1 --squash");
    twins.same("pr merge 1 --squash --auto -t Later -b ''");
    twins.both(|world| {
        world.same_line("pr view 1");
        world.same_line("pr view 1 --json autoMergeRequest -q .autoMergeRequest.mergeMethod");
    });
    twins.same("pr merge 1 --disable-auto");
    twins.both(|world| world.same_line("pr view 1"));
    twins.same("pr merge 2 --merge --admin");
    twins.same_state();
    twins.same_branches();
}

#[test]
fn merge_warns_about_unpushed_commits() {
    let twins = Twins::new();
    twins.push("topic");
    twins.same("pr create -t T -b B");
    twins.git("commit --quiet --allow-empty -m Later");
    let both = twins.same("pr merge -m");
    let (ours, theirs) = (both.forge.stderr_text(), both.gh.stderr_text());
    assert!(ours.contains("is ahead of pull request"), "{both:?}");
    assert!(theirs.contains("diverged from local branch"), "{both:?}");
    listed("A local branch with commits that were not pushed is reported");
}
