//! Edits of any mix: two requests.

use forge_core::{
    ErrorKind,
    model::{EditPull, Reviewer, SetChange},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, body, data, error},
    wire::{changed, label, pull, user},
};

fn prepared(pull: Value, repo: Value, query: Value) -> Value {
    let mut repository = json!({ "__typename": "Repository", "pullRequest": pull });
    repository
        .as_object_mut()
        .unwrap()
        .extend(repo.as_object().unwrap().clone());
    let mut data = json!({ "__typename": "Query", "repository": repository });
    data.as_object_mut()
        .unwrap()
        .extend(query.as_object().unwrap().clone());
    data
}

fn set(add: &[&str], remove: &[&str]) -> SetChange<String> {
    let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    SetChange {
        add: own(add),
        remove: own(remove),
    }
}

fn title(text: &str) -> EditPull {
    EditPull {
        title: Some(text.into()),
        ..EditPull::default()
    }
}

fn dressed() -> Value {
    changed(
        7,
        json!({
            "labels": { "nodes": [label("old"), label("kept")] },
            "assignees": { "nodes": [user("linus")] },
            "reviewRequests": { "nodes": [
                { "requestedReviewer": { "__typename": "User", "id": "U_linus", "login": "linus" } },
                { "requestedReviewer": { "__typename": "User", "id": "U_grace", "login": "Grace" } },
                { "requestedReviewer": { "__typename": "Team", "id": "T_core", "teamName": "Core", "combinedSlug": "octo/core" } },
                { "requestedReviewer": { "__typename": "Bot", "id": "B_1", "login": "copilot" } },
            ] },
        }),
    )
}

#[tokio::test]
async fn everything_at_once_is_two_requests() {
    let edit = EditPull {
        title: Some("New".into()),
        description: Some(String::new()),
        base: Some("release".into()),
        labels: set(&["bug"], &["OLD", "absent"]),
        assignees: set(&["@me"], &["linus"]),
        reviewers: SetChange {
            add: vec![Reviewer::parse("octo/docs")],
            remove: vec![Reviewer::parse("grace")],
        },
        milestone: Some(None),
        ..EditPull::default()
    };
    let prepared = prepared(
        dressed(),
        json!({ "label0": { "id": "LA_bug", "name": "bug" }, "labels": { "nodes": [] }, "newBase": { "id": "REF" } }),
        json!({
            "user0": { "id": "U_linus", "login": "linus" }, "me": { "id": "U_ada", "login": "ada" },
            "team0": { "team": { "id": "T_docs" }, "teams": { "nodes": [] } },
        }),
    );
    let done = json!({
        "fields": { "pullRequest": pull(7) }, "labels": { "labelable": pull(7) },
        "unlabel": { "labelable": pull(7) }, "assignees": { "assignable": pull(7) },
        "unassign": { "assignable": pull(7) },
        "reviewers": { "pullRequest": changed(7, json!({ "title": "New" })) },
    });
    let script = Script::play(vec![
        data("EditPrepare", prepared),
        data("updatePullRequest", done),
    ])
    .await;
    let made = script.repo.edit(&script.pr(), &edit).await.unwrap();
    assert_eq!((made.value.title.as_str(), made.warnings.len()), ("New", 0));
    assert_json_snapshot!("edit", script.sent());
}

#[tokio::test]
async fn reviewers_are_added_without_replacing() {
    let edit = EditPull {
        reviewers: SetChange {
            add: vec![Reviewer::parse("@ken")],
            remove: vec![Reviewer::parse("nobody")],
        },
        ..EditPull::default()
    };
    let script = Script::play(vec![
        data(
            "EditPrepare",
            prepared(
                dressed(),
                json!({ "assignableUsers": { "nodes": [] } }),
                json!({ "user0": { "id": "U_ken", "login": "ken" } }),
            ),
        ),
        data(
            "requestReviews",
            json!({ "reviewers": { "pullRequest": dressed() } }),
        ),
    ])
    .await;
    script.repo.edit(&script.pr(), &edit).await.unwrap();
    let input = script.sent()[1].1["reviewers"].clone();
    assert_eq!(
        input,
        json!({ "pullRequestId": "PR_7", "userIds": ["U_ken"], "teamIds": [], "union": true })
    );
}

#[tokio::test]
async fn a_stale_version_changes_nothing() {
    let script = Script::play(vec![
        data("EditPrepare", prepared(pull(7), json!({}), json!({}))),
        data("EditPrepare", prepared(pull(7), json!({}), json!({}))),
        data(
            "updatePullRequest",
            json!({ "fields": { "pullRequest": changed(7, json!({ "title": "x" })) } }),
        ),
    ])
    .await;
    let stale = EditPull {
        expected_version: Some("0".into()),
        ..title("x")
    };
    let e = script.repo.edit(&script.pr(), &stale).await.unwrap_err();
    let ErrorKind::Conflict { actual, .. } = e.kind() else {
        panic!("{e:?}")
    };
    let fresh = EditPull {
        expected_version: Some(actual.clone()),
        ..title("x")
    };
    let made = script.repo.edit(&script.pr(), &fresh).await.unwrap();
    assert_ne!(made.value.version, *actual);
    script.sent();
}

#[tokio::test]
async fn an_edit_that_changes_nothing_sends_no_mutation() {
    let edit = EditPull {
        labels: set(&[], &["absent"]),
        ..EditPull::default()
    };
    let script = Script::play(vec![data(
        "EditPrepare",
        prepared(pull(7), json!({}), json!({})),
    )])
    .await;
    let made = script.repo.edit(&script.pr(), &edit).await.unwrap();
    assert_eq!(made.warnings.len(), 1);
    script.sent();
}

#[tokio::test]
async fn a_base_that_is_missing_or_the_head() {
    for (repo, base) in [
        (json!({ "newBase": null }), "nowhere"),
        (json!({ "newBase": { "id": "R" } }), "feature"),
    ] {
        let script = Script::play(vec![data(
            "EditPrepare",
            prepared(pull(7), repo, json!({})),
        )])
        .await;
        let edit = EditPull {
            base: Some(base.into()),
            ..EditPull::default()
        };
        let e = script.repo.edit(&script.pr(), &edit).await.unwrap_err();
        assert!(
            matches!(
                e.kind(),
                ErrorKind::InvalidInput {
                    field: Some("base")
                }
            ) && e.message().contains(base)
        );
        script.sent();
    }
}

#[tokio::test]
async fn an_edit_that_half_failed_says_which_half() {
    let edit = EditPull {
        labels: set(&["bug"], &[]),
        ..title("New")
    };
    let repo = json!({ "label0": { "id": "LA_bug", "name": "bug" }, "labels": { "nodes": [] } });
    let mut half = json!({ "data": { "fields": { "pullRequest": pull(7) }, "labels": null } });
    half["errors"] = json!([error(
        &["labels"],
        "FORBIDDEN",
        "Resource not accessible by integration"
    )]);
    let script = Script::play(vec![
        data("EditPrepare", prepared(pull(7), repo, json!({}))),
        body("updatePullRequest", half),
    ])
    .await;
    let e = script.repo.edit(&script.pr(), &edit).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    assert_eq!(
        e.context(),
        [
            ("failed", "labels".to_owned()),
            ("done", "fields".to_owned())
        ]
    );
    assert!(e.hint().unwrap().ends_with("done already: fields"));
    script.sent();
}
