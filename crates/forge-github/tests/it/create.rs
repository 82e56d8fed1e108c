//! Opening a pull request: two requests, or three with labels and people. All checks come before
//! the first mutation.

use forge_core::{
    Action, ErrorKind, Hint, Op, Param,
    model::{CreatePull, HeadRef, Reviewer},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, body, data, error, gateway, refused},
    wire::{changed, label, pull, user},
};

pub fn prepared(other: Value) -> Value {
    let mut data = json!({
        "viewer": { "login": "ada" },
        "repository": {
            "__typename": "Repository", "id": "R_1", "isArchived": false, "defaultBranchRef": { "name": "main" },
            "existing": { "nodes": [] }, "headRef": { "id": "REF_1", "name": "feature" },
        },
    });
    for (key, value) in other.as_object().unwrap() {
        match value {
            Value::Object(more) if key == "repository" => {
                data[key].as_object_mut().unwrap().extend(more.clone())
            }
            value => data[key] = value.clone(),
        }
    }
    data
}

fn lookups() -> Value {
    prepared(json!({
        "repository": {
            "label0": { "id": "LA_bug", "name": "bug" }, "label1": null,
            "labels": { "nodes": [label("bug"), label("Help wanted")] },
            "assignableUsers": { "nodes": [{ "login": "grace" }] },
            "milestones": { "nodes": [{ "id": "MI_1", "title": "1.0" }] },
            "projectsV2": { "nodes": [] },
            "owner": { "projectsV2": { "nodes": [{ "id": "PVT_1", "title": "Roadmap" }] } },
        },
        "user0": { "id": "U_grace", "login": "grace" },
        "team0": { "team": { "id": "T_core" }, "teams": { "nodes": [{ "slug": "core" }] } },
        "me": { "id": "U_ada", "login": "ada" },
        "boards": { "projectsV2": { "nodes": [] } },
    }))
}

fn full() -> CreatePull {
    let mut req = CreatePull::new("feature", "Add it");
    req.description = "Why.".into();
    req.labels = vec!["bug".into(), "help WANTED".into()];
    req.assignees = vec!["@me".into(), "grace".into()];
    req.reviewers = vec![Reviewer::parse("grace"), Reviewer::parse("octo/core")];
    req.milestone = Some("1.0".into());
    req.projects = vec!["roadmap".into()];
    req
}

/// Returns the answer to opening `Add it` with this description.
fn opened(description: &str) -> Value {
    let pull = changed(7, json!({ "title": "Add it", "body": description }));
    json!({ "create": { "pullRequest": pull } })
}

fn decorated() -> Value {
    let done = changed(
        7,
        json!({
            "labels": { "nodes": [label("bug"), label("Help wanted")] },
            "assignees": { "nodes": [user("ada"), user("grace")] },
        }),
    );
    json!({
        "milestone": { "pullRequest": pull(7) },
        "labels": { "labelable": pull(7) },
        "assignees": { "assignable": pull(7) },
        "reviewers": { "pullRequest": done },
        "project0": { "item": { "id": "PVTI_1" } },
    })
}

#[tokio::test]
async fn create_takes_two_requests() {
    let script = Script::play(vec![
        data("CreatePrepare", prepared(json!({}))),
        data("createPullRequest", opened("Text.")),
    ])
    .await;
    let made = script
        .repo
        .create_pull(&CreatePull::new("feature", "Add it"))
        .await
        .unwrap();
    assert!(made.warnings.is_empty() && made.steps.is_empty());
    assert_json_snapshot!("create", (script.sent(), made));
}

#[tokio::test]
async fn create_with_labels_people_boards_takes_three_requests() {
    let script = Script::play(vec![
        data("CreatePrepare", lookups()),
        data("createPullRequest", opened("Why.")),
        data("updatePullRequest", decorated()),
    ])
    .await;
    let made = script.repo.create_pull(&full()).await.unwrap();
    assert_eq!(made.value.labels.len(), 2);
    assert_json_snapshot!("create_full", (script.sent(), &made.steps, &made.warnings));
}

#[tokio::test]
async fn create_from_fork_names_head_repository() {
    let script = Script::play(vec![
        data(
            "CreatePrepare",
            prepared(json!({ "fork": { "ref": { "id": "REF_2" } } })),
        ),
        data("createPullRequest", opened("Text.")),
    ])
    .await;
    let mut req = CreatePull::new("feature", "Add it");
    req.head = HeadRef::in_fork("grace", "feature");
    req.base = None;
    script.repo.create_pull(&req).await.unwrap();
    let input = script.sent()[1].1["create"].clone();
    assert_eq!(input["headRefName"], "grace:feature");
    assert_eq!(input["maintainerCanModify"], true);
}

#[tokio::test]
async fn create_from_renamed_fork_sends_only_owner() {
    let mut answer = json!({ "data": prepared(json!({ "fork": null })) });
    answer["errors"] = json!([error(
        &["fork"],
        "NOT_FOUND",
        "Could not resolve to a Repository with the name 'grace/tools'."
    )]);
    let script = Script::play(vec![
        body("CreatePrepare", answer),
        data("createPullRequest", opened("Text.")),
    ])
    .await;
    let mut req = CreatePull::new("feature", "Add it");
    req.head.owner = Some("grace".into());
    script.repo.create_pull(&req).await.unwrap();
    script.sent();
}

async fn refusal(answer: Value, req: CreatePull) -> forge_core::Error {
    let script = Script::play(vec![body("CreatePrepare", answer)]).await;
    let e = script.repo.create_pull(&req).await.unwrap_err();
    assert!(e.hint().is_some(), "{e:?}");
    assert_eq!(script.names(), ["CreatePrepare"], "nothing was made");
    e
}

/// Only the head branch may be missing, because it is pushed after this check.
#[tokio::test]
async fn check_before_push_takes_one_request() {
    let missing = json!({ "headRef": null });
    let unknown = json!({ "headRef": null, "label0": null, "labels": { "nodes": [] } });
    for (part, labels, field) in [
        (missing, vec![], None),
        (unknown, vec!["zzzzz".to_owned()], Some("labels")),
    ] {
        let prepared = json!({ "data": prepared(json!({ "repository": part })) });
        let script = Script::play(vec![body("CreatePrepare", prepared)]).await;
        let mut req = CreatePull::new("feature", "Add it");
        req.labels = labels;
        let refused = script.repo.check_create_pull(&req).await.err();
        let refused = refused.as_ref().map(|e| e.kind());
        match field {
            None => assert!(refused.is_none(), "{refused:?}"),
            Some(_) => assert!(
                matches!(refused, Some(ErrorKind::InvalidInput { field: at }) if *at == field),
                "{refused:?}"
            ),
        }
        assert_eq!(script.names(), ["CreatePrepare"]);
    }
}

#[tokio::test]
async fn create_with_unknown_name_sends_no_mutation() {
    let base = |other: Value| json!({ "data": prepared(other) });
    let plain = || CreatePull::new("feature", "Add it");
    let repo = |part: Value| base(json!({ "repository": part }));

    let e = refusal(repo(json!({ "headRef": null })), plain()).await;
    assert!(
        matches!(
            e.kind(),
            ErrorKind::InvalidInput {
                field: Some("head")
            }
        ),
        "{e:?}"
    );
    let mut into = plain();
    into.base = Some("maain".into());
    let e = refusal(repo(json!({ "baseRef": null })), into).await;
    assert!(
        matches!(
            e.kind(),
            ErrorKind::InvalidInput {
                field: Some("base")
            }
        ) && e.message().contains("maain")
    );
    let e = refusal(
        repo(json!({ "defaultBranchRef": { "name": "feature" } })),
        plain(),
    )
    .await;
    assert!(matches!(
        e.kind(),
        ErrorKind::InvalidInput {
            field: Some("head")
        }
    ));
    let e = refusal(repo(json!({ "isArchived": true })), plain()).await;
    assert_eq!(e.code(), "precondition_failed");

    let labels =
        json!({ "label0": null, "labels": { "nodes": [label("bug"), label("documentation")] } });
    let mut req = plain();
    req.labels = vec!["documentatoin".into()];
    let e = refusal(repo(labels), req).await;
    assert!(matches!(
        e.kind(),
        ErrorKind::InvalidInput {
            field: Some("labels")
        }
    ));
    assert_eq!(
        e.hint().map(Hint::text),
        Some("did you mean 'documentation'?")
    );
    for (there, hint) in [
        (
            vec![],
            "no label was found here: correct the name, or leave it out; or create the label",
        ),
        (
            vec![label("bug"), label("documentation")],
            "the labels here are 'bug', 'documentation'; or create the label",
        ),
    ] {
        let labels = json!({ "label0": null, "labels": { "nodes": there } });
        let mut wanted = plain();
        wanted.labels = vec!["zzzzz".into()];
        let e = refusal(repo(labels), wanted).await;
        let create = Action::op(Op::LabelDefine).with(Param::Label, "zzzzz");
        assert_eq!(e.hint().map(Hint::text), Some(hint));
        assert_eq!(e.hint().and_then(Hint::action), Some(&create));
    }

    let mut nobody = repo(json!({ "assignableUsers": { "nodes": [{ "login": "grace" }] } }));
    nobody["data"]["user0"] = Value::Null;
    nobody["errors"] = json!([error(
        &["user0"],
        "NOT_FOUND",
        "Could not resolve to a User with the login of 'grcae'."
    )]);
    let mut req = plain();
    req.reviewers = vec![Reviewer::parse("grcae")];
    let e = refusal(nobody, req).await;
    assert!(matches!(
        e.kind(),
        ErrorKind::InvalidInput {
            field: Some("reviewers")
        }
    ));
    assert_eq!(e.hint().map(Hint::text), Some("did you mean 'grace'?"));

    let teams =
        base(json!({ "team0": { "team": null, "teams": { "nodes": [{ "slug": "core" }] } } }));
    let mut req = plain();
    req.reviewers = vec![Reviewer::parse("octo/cor")];
    let e = refusal(teams, req).await;
    assert_eq!(e.hint().map(Hint::text), Some("did you mean 'octo/core'?"));

    let milestones = repo(json!({ "milestones": { "nodes": [{ "id": "MI_1", "title": "1.0" }] } }));
    let mut req = plain();
    req.milestone = Some("2.0".into());
    let e = refusal(milestones, req).await;
    assert!(matches!(
        e.kind(),
        ErrorKind::InvalidInput {
            field: Some("milestone")
        }
    ));
}

#[tokio::test]
async fn create_without_team_scope_names_scope() {
    let mut answer = json!({ "data": prepared(json!({ "team0": null })) });
    answer["errors"] = json!([error(
        &["team0", "team"],
        "INSUFFICIENT_SCOPES",
        "Your token has not been granted the required scopes to execute this query. The 'team' field requires one of the following scopes: ['read:org'], but your token has only been granted the: ['repo'] scopes."
    )]);
    let mut req = CreatePull::new("feature", "T");
    req.reviewers = vec![Reviewer::parse("octo/core")];
    let e = refusal(answer, req).await;
    assert!(
        matches!(e.kind(), ErrorKind::PermissionDenied { missing, .. } if *missing == ["read:org"]),
        "{e:?}"
    );
}

#[tokio::test]
async fn duplicate_create_error_names_existing_pull() {
    let other = json!({ "number": 3, "url": "https://github.com/octo/tools/pull/3", "baseRefName": "main",
        "isCrossRepository": false, "headRepositoryOwner": { "login": "octo" } });
    let answer =
        json!({ "data": prepared(json!({ "repository": { "existing": { "nodes": [other] } } })) });
    let e = refusal(answer, CreatePull::new("feature", "Again")).await;
    assert!(
        matches!(e.kind(), ErrorKind::AlreadyExists { existing: Some(url) } if url.ends_with("/pull/3"))
    );
}

#[tokio::test]
async fn pull_of_deleted_fork_is_no_duplicate() {
    let other = json!({ "number": 3, "url": "https://github.com/octo/tools/pull/3", "baseRefName": "main",
        "isCrossRepository": true, "headRepository": null, "headRepositoryOwner": { "login": "octo" } });
    let twin = json!({ "repository": { "existing": { "nodes": [other] } } });
    let script = Script::play(vec![
        data("CreatePrepare", prepared(twin)),
        refused("createPullRequest", "create", "FORBIDDEN", "Sent."),
    ])
    .await;
    let sent = script
        .repo
        .create_pull(&CreatePull::new("feature", "Mine"))
        .await;
    assert!(!matches!(
        sent.unwrap_err().kind(),
        ErrorKind::AlreadyExists { .. }
    ));
}

#[tokio::test]
async fn create_after_concurrent_create_names_existing_pull() {
    let script = Script::play(vec![
        data("CreatePrepare", prepared(json!({}))),
        refused(
            "createPullRequest",
            "create",
            "UNPROCESSABLE",
            "A pull request already exists for octo:feature.",
        ),
        data(
            "PullList",
            json!({ "repository": { "pullRequests": { "nodes": [pull(3)] } } }),
        ),
    ])
    .await;
    let e = script
        .repo
        .create_pull(&CreatePull::new("feature", "Again"))
        .await
        .unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::AlreadyExists { existing: Some(url) } if url.ends_with("/pull/3"))
    );
    script.sent();
}

#[tokio::test]
async fn failed_parts_of_create_are_warnings_with_commands() {
    let mut answer = json!({ "data": decorated() });
    answer["data"]["reviewers"] = Value::Null;
    answer["errors"] = json!([error(
        &["reviewers"],
        "UNPROCESSABLE",
        "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the octo/tools repository."
    )]);
    let script = Script::play(vec![
        data("CreatePrepare", lookups()),
        data("createPullRequest", opened("Why.")),
        body("updatePullRequest", answer),
    ])
    .await;
    let made = script.repo.create_pull(&full()).await.unwrap();
    assert_eq!(made.value.number, Some(7));
    assert_json_snapshot!("create_half", (&made.steps, &made.warnings));
    script.sent();
}

#[tokio::test]
async fn create_with_lost_labels_answer_is_read_back() {
    let now = changed(
        7,
        json!({
            "labels": { "nodes": [label("bug"), label("Help wanted")] }, "milestone": { "title": "1.0" },
            "projectItems": { "nodes": [{ "id": "PVTI_1", "project": { "id": "PVT_1", "title": "Roadmap" } }] },
        }),
    );
    let script = Script::play(vec![
        data("CreatePrepare", lookups()),
        data("createPullRequest", opened("Why.")),
        gateway("updatePullRequest"),
        data("PullView", crate::wire::one(now)),
    ])
    .await;
    let made = script.repo.create_pull(&full()).await.unwrap();
    let actions: Vec<_> = made
        .warnings
        .iter()
        .filter_map(|w| w.hint.as_ref()?.action())
        .collect();
    let edit = || Action::op(Op::PrEdit).on(7);
    assert_eq!(
        actions,
        [
            &edit()
                .with(Param::AddAssignee, "@me")
                .with(Param::AddAssignee, "grace"),
            &edit()
                .with(Param::AddReviewer, "grace")
                .with(Param::AddReviewer, "octo/core"),
        ]
    );
    script.sent();
}

#[tokio::test]
async fn invalid_create_request_is_not_sent() {
    let script = Script::play(vec![]).await;
    let mut long = CreatePull::new("feature", "T");
    long.description = "x".repeat(65_537);
    let mut labelled = CreatePull::new("feature", "T");
    labelled.labels = (0..101).map(|n| n.to_string()).collect();
    for req in [
        CreatePull::new("feature", " "),
        CreatePull::new("feature", "x".repeat(257)),
        CreatePull::new("feature", "one\ntwo"),
        long,
        labelled,
    ] {
        assert_eq!(
            script.repo.create_pull(&req).await.unwrap_err().code(),
            "invalid_input"
        );
    }
    script.sent();
}
