//! Repositories under an old name: GitHub's search does not follow a rename.

use forge_core::{
    PageReq, Warning,
    model::{HeadRef, IssueQuery, PrFields, PullQuery, PullScope},
};
use forge_github_double::{PullSeed, state::Permission};
use serde_json::json;

use crate::{
    double::World,
    script::{Script, data},
    wire::pull,
};

const OLD: &str = "octo/tools";

/// Returns a world whose repository was renamed after a pull request and an issue were opened.
fn renamed(owner: &str) -> World {
    let world = World::new();
    let mut seed = world.double.seed();
    seed.org("acme", &[("ada", Permission::Admin)]);
    let pull = PullSeed {
        author: "ada",
        title: "Title",
        head: "feature",
        ..PullSeed::default()
    };
    seed.open_pull(OLD, &pull);
    seed.open_issue(OLD, "ada", "Broken", "It is broken.");
    seed.move_repo(OLD, owner, "instruments");
    drop(seed);
    world
}

fn by_ada() -> PullQuery {
    let mut query = PullQuery::default();
    query.author = Some("ada".into());
    query
}

fn names(warnings: &[Warning], owner: &str) {
    let told = format!("octo/tools was renamed: it is {owner}/instruments now");
    let messages: Vec<&str> = warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(messages, [told]);
    assert!(warnings[0].hint.is_some());
}

#[tokio::test]
async fn filtered_list_of_renamed_repository_is_complete() {
    for owner in ["octo", "acme"] {
        let world = renamed(owner);
        // The second list knows the new name already.
        for requests in [2, 1] {
            world.double.reset_record();
            let page = world.ada.pulls(&by_ada(), PageReq::first(9)).await.unwrap();
            assert_eq!(page.items.len(), 1);
            names(&page.warnings, owner);
            assert_eq!(world.double.counts().api, requests);
        }
    }
}

#[tokio::test]
async fn status_of_renamed_repository_is_complete() {
    let world = renamed("octo");
    for requests in [2, 1] {
        world.double.reset_record();
        let head = HeadRef::branch("feature");
        let status = world.ada.status(Some(&head), PrFields::NONE).await.unwrap();
        assert_eq!(status.created_by.len(), 1);
        assert!(status.current_branch.is_some());
        names(&status.warnings, "octo");
        assert_eq!(world.double.counts().api, requests);
    }
}

#[tokio::test]
async fn filtered_issues_of_renamed_repository_are_complete() {
    let world = renamed("acme");
    let mut query = IssueQuery::default();
    query.author = Some("ada".into());
    for requests in [2, 1] {
        world.double.reset_record();
        let page = world.ada.issues(&query, PageReq::first(9)).await.unwrap();
        assert_eq!(page.items.len(), 1);
        names(&page.warnings, "acme");
        assert_eq!(world.double.counts().api, requests);
    }
    // The text of a search is limited to the repository under its new name.
    query.search = Some("broken".into());
    let page = world.ada.issues(&query, PageReq::first(9)).await.unwrap();
    assert_eq!(page.items.len(), 1);
}

#[tokio::test]
async fn list_across_renamed_repository_is_complete() {
    let world = renamed("octo");
    let mut scope = PullScope::default();
    scope.repos = vec![world.ada.id().clone()];
    let client = world.ada.client();
    world.double.reset_record();
    let found = client.list_across(&scope, &[by_ada()], 9).await.unwrap();
    assert_eq!(found.lists[0].len(), 1);
    assert!(found.failed.is_empty());
    names(&found.warnings, "octo");
    assert_eq!(world.double.counts().api, 2);
}

#[tokio::test]
async fn rest_routes_follow_the_rename() {
    let world = renamed("acme");
    let pr = world.ada.pull_id(1);
    let files = world.ada.files(&pr, PageReq::first(9)).await.unwrap();
    assert_eq!(files.items.len(), 1);
    let rules = world.ada.pull(&pr, PrFields::RULES).await.unwrap();
    let rules = world.ada.base_rules(&rules).await.unwrap().unwrap();
    assert!(rules.unread.is_empty(), "{rules:?}");
    // A write is redirected with its method and body.
    let fork = world.grace.fork().await.unwrap().value;
    assert_eq!(fork.owner_and_name(), Some(("grace", "instruments")));
}

#[tokio::test]
async fn repository_with_ever_new_names_is_searched_twice() {
    let found = |name: &str| {
        let repository = json!({ "id": "R_tools", "nameWithOwner": name });
        let mut row = pull(7);
        row["repository"] = json!({ "id": "R_tools" });
        json!({ "repository": repository, "search": {
            "issueCount": 1, "nodes": [row],
            "pageInfo": { "hasNextPage": false, "endCursor": null },
        }})
    };
    let script = Script::play(vec![
        data("PullSearch", found("octo/one")),
        data("PullSearch", found("octo/two")),
    ])
    .await;
    let page = script
        .repo
        .pulls(&by_ada(), PageReq::first(9))
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.warnings.len()), (1, 1));
    let sent = script.sent();
    let names: Vec<_> = sent.iter().map(|(_, v)| v["name"].clone()).collect();
    assert_eq!(names, ["tools", "one"]);
}
