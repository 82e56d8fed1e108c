//! Compares every field of `--json` as both programs print it.

use forge_github_double::{
    PullSeed,
    state::{Permission, Protection, ReviewState},
};
use serde_json::Value;

use crate::world::{REPO, Tool, World};

/// The fields of gh except two. [`latest_reviews_have_more_fields_than_in_gh`] tests
/// `latestReviews`. GitHub has removed `projectCards`: `forge` prints `[]`, and gh prints `null` in
/// a view and `[]` in a list.
pub const FIELDS: &str = "additions,assignees,author,autoMergeRequest,baseRefName,baseRefOid,body,\
    changedFiles,closed,closedAt,closingIssuesReferences,comments,commits,createdAt,deletions,files,\
    fullDatabaseId,headRefName,headRefOid,headRepository,headRepositoryOwner,id,isCrossRepository,\
    isDraft,labels,maintainerCanModify,mergeCommit,mergeStateStatus,mergeable,mergedAt,mergedBy,\
    milestone,number,potentialMergeCommit,projectItems,reactionGroups,reviewDecision,\
    reviewRequests,reviews,state,statusCheckRollup,title,updatedAt,url";

/// Creates a pull request from a fork that has a value in every field.
fn world() -> World {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        seed.named_user("hubot", "Hu Bot");
        seed.fork(REPO, "hubot");
        seed.org("acme", &[("octocat", Permission::Admin)]);
        let issue = seed.open_issue(REPO, "hubot", "It is broken", "Really.");
        let body = format!("Fixes #{issue}\n\nMore.");
        seed.configure(REPO, |repo| repo.allow_auto_merge = true);
        let rules = Protection {
            checks: ["must".to_owned()].into(),
            ..Protection::default()
        };
        seed.protect(REPO, "main", rules);
        let pull = PullSeed {
            author: "hubot",
            title: "Everything",
            body: &body,
            head: "hubot:patch",
            labels: &["bug", "help wanted"],
            assignees: &["octocat"],
            ..PullSeed::default()
        };
        assert_eq!(seed.open_pull(REPO, &pull), 2);
        seed.comment(REPO, 2, "octocat", "Hello.");
        seed.review(REPO, 2, "reviewer", ReviewState::Approved, "Good.");
        seed.check(REPO, 2, "CI", "build", "SUCCESS");
        seed.status(REPO, 2, "deploy", "PENDING");
        seed.react(REPO, 2, "reviewer", "HEART");
        seed.react(REPO, 2, "octocat", "THUMBS_UP");
        let board = seed.project("octocat", "Sooner", &["Todo", "Done"]);
        seed.project_item(board, REPO, 2, "Done");
        let board = seed.project("octocat", "Later", &["Todo"]);
        seed.project_item(board, REPO, 2, "");
    }
    world.ok(Tool::Gh, &["pr", "edit", "2", "--milestone", "v1.0"]);
    world
}

#[test]
fn review_threads_are_a_field_only_in_forge() {
    let world = world();
    let review = [
        "pr",
        "review",
        "2",
        "-c",
        "-b",
        "See.",
        "--line",
        "patch.txt:1=Why?",
    ];
    let made = world.tool_as(Tool::Forge, crate::world::REVIEWER, &review);
    assert_eq!(made.code, Some(0), "{made:?}");
    let threads = world.fields(Tool::Forge, "2", "reviewThreads")["reviewThreads"].clone();
    let thread = &threads[0];
    assert_eq!(thread["path"], "patch.txt");
    assert_eq!(thread["line"], 1);
    assert_eq!(thread["isResolved"], false);
    assert_eq!(thread["comments"][0]["body"], "Why?");
    let listed = [
        "pr",
        "list",
        "--json",
        "number,reviewThreads",
        "-q",
        ".[0].reviewThreads[0].id",
    ];
    assert_eq!(
        world.ok(Tool::Forge, &listed).trim(),
        thread["id"].as_str().unwrap()
    );
    let gh = world.tool(Tool::Gh, &["pr", "view", "2", "--json", "reviewThreads"]);
    assert_eq!(gh.code, Some(1), "{gh:?}");
    crate::differences::listed("`--json` has `reviewThreads`, the threads of `pr thread list`");
}

#[test]
fn every_field_matches_gh_in_every_state() {
    let world = world();
    world.same("2", FIELDS);
    world.same_output(&["pr", "view", "2"]);
    for (method, more) in [
        ("--merge", &[][..]),
        ("--rebase", &[]),
        (
            "--squash",
            &["-t", "Subject", "-b", "Body", "-A", "mona@example.com"],
        ),
    ] {
        let args = ["pr", "merge", "2", "--auto", method];
        world.ok(Tool::Gh, &[&args[..], more].concat());
        world.same("2", FIELDS);
        world.same_output(&["pr", "view", "2"]);
    }
    world.double.seed().check(REPO, 2, "CI", "must", "SUCCESS");
    world.same("2", FIELDS);
    let merged = world.fields(Tool::Forge, "2", "state,autoMergeRequest,mergedBy");
    assert_eq!(merged["state"], "MERGED");
}

#[test]
fn list_and_status_fields_match_gh() {
    let world = world();
    world.double.seed().open_pull(
        REPO,
        &PullSeed {
            author: "octocat",
            title: "Another",
            head: "another",
            ..PullSeed::default()
        },
    );
    let list = ["pr", "list", "--state", "all", "--json", FIELDS];
    // The first read makes GitHub compute mergeability.
    world.ok(Tool::Gh, &list);
    world.same_json(&list);
    // If the branch has no pull request, gh omits `currentBranch`, but `forge` prints `null`.
    let created = ["pr", "status", "--json", FIELDS, "--jq", ".createdBy"];
    world.same_json(&created);
}

#[test]
fn every_field_of_deleted_fork_matches_gh() {
    let world = world();
    world.double.seed().delete_repo("hubot/tools");
    world.same("2", FIELDS);
    world.same_output(&["pr", "list"]);
}

#[test]
fn every_field_of_minimal_pull_matches_gh() {
    let world = World::new();
    world.push("bare");
    world.ok(Tool::Gh, &["pr", "create", "-t", "Bare", "-b", ""]);
    world.same("1", FIELDS);
    world.ok(Tool::Gh, &["pr", "close", "1"]);
    world.same("1", FIELDS);
}

/// GitHub drops a reviewer's verdict once the reviewer comments or is asked again. gh requests
/// neither the ids nor the commits of reviews.
#[test]
fn latest_reviews_have_more_fields_than_in_gh() {
    let world = world();
    let latest = |tool: Tool| world.fields(tool, "2", "latestReviews")["latestReviews"].clone();
    let words = |reviews: &Value, key: &str| reviews[0][key].clone();
    let (ours, theirs) = (latest(Tool::Forge), latest(Tool::Gh));
    for key in [
        "author",
        "authorAssociation",
        "body",
        "submittedAt",
        "state",
    ] {
        assert_eq!(words(&ours, key), words(&theirs, key), "{key}");
    }
    assert_ne!(words(&ours, "id"), "");
    assert_eq!(words(&theirs, "id"), "");
    world.ok(Tool::Gh, &["pr", "edit", "2", "--add-reviewer", "reviewer"]);
    assert_eq!(words(&latest(Tool::Forge), "state"), "APPROVED");
    assert_eq!(latest(Tool::Gh).as_array().map(Vec::len), Some(0));
}

#[test]
fn latest_reviews_include_the_authors_own() {
    let world = world();
    let mine = ("hubot", ReviewState::Commented, "Mine.");
    world.double.seed().review(REPO, 2, mine.0, mine.1, mine.2);
    let seen = |tool: Tool| {
        let fields = world.fields(tool, "2", "latestReviews");
        let reviews = fields["latestReviews"].as_array().unwrap().iter();
        let mut seen: Vec<String> = reviews
            .map(|r| format!("{} {} {}", r["author"]["login"], r["state"], r["body"]))
            .collect();
        seen.sort();
        seen
    };
    assert_eq!(seen(Tool::Forge), seen(Tool::Gh));
    assert_eq!(seen(Tool::Forge).len(), 2);
}
