//! Edits of several fields at once: two requests, and one more to remove reviewers.

use forge_core::{
    ErrorKind,
    model::{EditPull, Reviewer, SetChange},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, body, data, error, rest},
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
    let mut edit = EditPull::default();
    edit.title = Some(text.into());
    edit
}

fn pull_with_people() -> Value {
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
async fn edit_sends_third_request_to_remove_reviewers() {
    let mut edit = EditPull::default();
    edit.title = Some("New".into());
    edit.description = Some(String::new());
    edit.base = Some("release".into());
    edit.labels = set(&["bug"], &["OLD", "absent"]);
    edit.assignees = set(&["@me"], &["linus"]);
    edit.reviewers = SetChange {
        add: vec![Reviewer::parse("octo/docs")],
        remove: vec![Reviewer::parse("grace")],
    };
    edit.milestone = Some(None);
    let prepared = prepared(
        pull_with_people(),
        json!({ "label0": { "id": "LA_bug", "name": "bug" }, "labels": { "nodes": [] }, "newBase": { "id": "REF" } }),
        json!({
            "user0": { "id": "U_linus", "login": "linus" }, "me": { "id": "U_ada", "login": "ada" },
            "team0": { "team": { "id": "T_docs" }, "teams": { "nodes": [] } },
        }),
    );
    let mut last = pull_with_people();
    last["title"] = json!("New");
    last["body"] = json!("");
    last["baseRefName"] = json!("release");
    let done = json!({
        "fields": { "pullRequest": last }, "labels": { "labelable": pull(7) },
        "unlabel": { "labelable": pull(7) }, "assignees": { "assignable": pull(7) },
        "unassign": { "assignable": pull(7) },
        "reviewers": { "pullRequest": last },
    });
    let script = Script::play(vec![
        data("EditPrepare", prepared),
        data("updatePullRequest", done),
        rest(
            WITHDRAW,
            ResponseTemplate::new(200).set_body_json(json!({})),
        ),
    ])
    .await;
    let made = script.repo.edit_pull(&script.pr(), &edit).await.unwrap();
    assert_eq!((made.value.title.as_str(), made.warnings.len()), ("New", 0));
    let left = made.value.pending_reviewers.iter().map(Reviewer::handle);
    assert_eq!(left.collect::<Vec<_>>(), ["linus", "octo/core", "copilot"]);
    assert_json_snapshot!("edit", script.sent());
}

const WITHDRAW: &str = "DELETE /repos/octo/tools/pulls/7/requested_reviewers";

#[tokio::test]
async fn edit_removes_only_named_reviewers() {
    let remove = ["LINUS", "octo/core", "copilot"].map(Reviewer::parse);
    let mut edit = EditPull::default();
    edit.reviewers = SetChange {
        add: vec![],
        remove: remove.into(),
    };
    let script = Script::play(vec![
        data(
            "EditPrepare",
            prepared(pull_with_people(), json!({}), json!({})),
        ),
        rest(
            WITHDRAW,
            ResponseTemplate::new(200).set_body_json(json!({})),
        ),
        data(
            "EditPrepare",
            prepared(pull_with_people(), json!({}), json!({})),
        ),
        rest(
            WITHDRAW,
            ResponseTemplate::new(422).set_body_json(json!({ "message": "No." })),
        ),
    ])
    .await;
    let before = script
        .repo
        .edit_pull(&script.pr(), &edit)
        .await
        .unwrap()
        .value;
    let left = before.pending_reviewers.iter().map(Reviewer::handle);
    assert_eq!(left.collect::<Vec<_>>(), ["Grace"]);
    assert!(script.repo.edit_pull(&script.pr(), &edit).await.is_err());
    let sent = script.sent();
    assert_eq!(
        sent[1].1,
        json!({ "reviewers": ["linus", "copilot[bot]"], "team_reviewers": ["core"] })
    );
}

#[tokio::test]
async fn edit_requests_and_assigns_copilot_by_name() {
    let mut edit = EditPull::default();
    edit.assignees = set(&["@copilot"], &[]);
    edit.reviewers = SetChange {
        add: vec![Reviewer::parse("@copilot")],
        remove: vec![],
    };
    let actors = |nodes: Value| json!({ "suggestedActors": { "nodes": nodes } });
    let agent = json!([{ "login": "ada" }, { "login": "copilot-swe-agent", "id": "BOT_1" }]);
    let done =
        json!({ "assignees": { "assignable": pull(7) }, "bots": { "pullRequest": pull(7) } });
    let script = Script::play(vec![
        data("EditPrepare", prepared(pull(7), actors(agent), json!({}))),
        data("addAssigneesToAssignable", done),
        data(
            "EditPrepare",
            prepared(pull(7), actors(json!([{ "login": "ada" }])), json!({})),
        ),
    ])
    .await;
    script.repo.edit_pull(&script.pr(), &edit).await.unwrap();
    let e = script
        .repo
        .edit_pull(&script.pr(), &edit)
        .await
        .unwrap_err();
    assert!(e.message().starts_with("Copilot cannot be assigned"), "{e}");
    let sent = script.sent();
    assert_eq!(sent[1].1["assignees"]["assigneeIds"], json!(["BOT_1"]));
    assert_eq!(
        sent[1].1["bots"],
        json!({ "pullRequestId": "PR_7", "botLogins": ["copilot-pull-request-reviewer[bot]"], "union": true })
    );
}

fn boards(titles: &[&str]) -> Value {
    let node = |t: &&str| json!({ "id": format!("PVT_{t}"), "title": t });
    json!({ "projectsV2": { "nodes": titles.iter().map(node).collect::<Vec<_>>() } })
}

#[tokio::test]
async fn edit_finds_boards_and_removes_board_items() {
    let item =
        json!({ "id": "PVTI_1", "project": { "id": "PVT_old", "title": "Old" }, "status": null });
    let on = changed(7, json!({ "projectItems": { "nodes": [item] } }));
    let mut repo = boards(&["Here"]);
    repo["owner"] = boards(&["Ours"]);
    let viewer = json!({ "boards": boards(&["Mine", "Here"]) });
    let edit = |add: &[&str], remove: &[&str]| {
        let mut edit = EditPull::default();
        edit.projects = set(add, remove);
        edit
    };
    let prepared = prepared(on, repo, viewer);
    let item = |id: &str| json!({ "item": { "id": id } });
    let done = json!({
        "project0": item("PVTI_2"), "project1": item("PVTI_3"), "project2": item("PVTI_4"),
        "unproject0": { "deletedItemId": "PVTI_1" },
    });
    let script = Script::play(vec![
        data("EditPrepare", prepared.clone()),
        data("addProjectV2ItemById", done),
        data("EditPrepare", prepared.clone()),
        data("EditPrepare", prepared.clone()),
        data("EditPrepare", prepared),
    ])
    .await;
    let pr = script.pr();
    let wanted = edit(&["mine", "OURS", "here"], &["old"]);
    let made = script.repo.edit_pull(&pr, &wanted).await.unwrap();
    assert_eq!((made.value.number, made.warnings.len()), (Some(7), 0));
    let e = script
        .repo
        .edit_pull(&pr, &edit(&["Min"], &[]))
        .await
        .unwrap_err();
    assert!(e.hint().unwrap().text().contains("Mine"), "{e:?}");
    assert!(
        script
            .repo
            .edit_pull(&pr, &edit(&[], &["Nowhere"]))
            .await
            .is_err()
    );
    let nothing = script.repo.edit_pull(&pr, &edit(&["old"], &["Mine"])).await;
    assert!(
        nothing.is_err(),
        "a closed board cannot be found by its title"
    );
    let sent = script.sent();
    let id = |n: usize| sent[1].1[format!("project{n}")]["projectId"].clone();
    assert_eq!(
        [id(0), id(1), id(2)],
        ["PVT_Mine", "PVT_Ours", "PVT_Here"].map(Value::from)
    );
    assert_eq!(
        sent[1].1["unproject0"],
        json!({ "projectId": "PVT_old", "itemId": "PVTI_1" })
    );
}

#[tokio::test]
async fn board_edit_without_scope_is_refused() {
    let answer = prepared(pull(7), boards(&["Here"]), json!({ "boards": boards(&[]) }));
    let step = crate::script::answer(
        "EditPrepare",
        ResponseTemplate::new(200)
            .insert_header("x-oauth-scopes", "repo, read:project")
            .set_body_json(json!({ "data": answer })),
    );
    let script = Script::play(vec![step]).await;
    let mut edit = title("New");
    edit.projects = set(&["Here"], &[]);
    let e = script
        .repo
        .edit_pull(&script.pr(), &edit)
        .await
        .unwrap_err();
    let ErrorKind::PermissionDenied { missing, .. } = e.kind() else {
        panic!("{e:?}")
    };
    assert_eq!(missing, &["project"]);
    script.sent();
}

#[tokio::test]
async fn edit_adds_reviewers_without_replacing() {
    // C-000-9: `union` keeps the earlier requests.
    let mut edit = EditPull::default();
    edit.reviewers = SetChange {
        add: vec![Reviewer::parse("@ken")],
        remove: vec![Reviewer::parse("nobody")],
    };
    let script = Script::play(vec![
        data(
            "EditPrepare",
            prepared(
                pull_with_people(),
                json!({ "assignableUsers": { "nodes": [] } }),
                json!({ "user0": { "id": "U_ken", "login": "ken" } }),
            ),
        ),
        data(
            "requestReviews",
            json!({ "reviewers": { "pullRequest": pull_with_people() } }),
        ),
    ])
    .await;
    script.repo.edit_pull(&script.pr(), &edit).await.unwrap();
    let input = script.sent()[1].1["reviewers"].clone();
    assert_eq!(
        input,
        json!({ "pullRequestId": "PR_7", "userIds": ["U_ken"], "teamIds": [], "union": true })
    );
}

#[tokio::test]
async fn edit_with_stale_version_is_refused() {
    let script = Script::play(vec![
        data("EditPrepare", prepared(pull(7), json!({}), json!({}))),
        data("EditPrepare", prepared(pull(7), json!({}), json!({}))),
        data(
            "updatePullRequest",
            json!({ "fields": { "pullRequest": changed(7, json!({ "title": "x" })) } }),
        ),
    ])
    .await;
    let mut stale = title("x");
    stale.expected_version = Some("0".into());
    let e = script
        .repo
        .edit_pull(&script.pr(), &stale)
        .await
        .unwrap_err();
    let ErrorKind::Conflict { actual, .. } = e.kind() else {
        panic!("{e:?}")
    };
    let mut fresh = title("x");
    fresh.expected_version = Some(actual.clone());
    let made = script.repo.edit_pull(&script.pr(), &fresh).await.unwrap();
    assert_ne!(made.value.version, *actual);
    script.sent();
}

#[tokio::test]
async fn edit_without_changes_sends_no_mutation() {
    let mut edit = EditPull::default();
    edit.labels = set(&[], &["absent"]);
    let script = Script::play(vec![data(
        "EditPrepare",
        prepared(pull(7), json!({}), json!({})),
    )])
    .await;
    let made = script.repo.edit_pull(&script.pr(), &edit).await.unwrap();
    assert_eq!(made.warnings.len(), 1);
    script.sent();
}

#[tokio::test]
async fn edit_to_missing_or_own_base_is_refused() {
    for (repo, base) in [
        (json!({ "newBase": null }), "nowhere"),
        (json!({ "newBase": { "id": "R" } }), "feature"),
    ] {
        let script = Script::play(vec![data(
            "EditPrepare",
            prepared(pull(7), repo, json!({})),
        )])
        .await;
        let mut edit = EditPull::default();
        edit.base = Some(base.into());
        let e = script
            .repo
            .edit_pull(&script.pr(), &edit)
            .await
            .unwrap_err();
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
async fn partly_failed_edit_names_failed_parts() {
    let mut edit = title("New");
    edit.labels = set(&["bug"], &[]);
    let repo = json!({ "label0": { "id": "LA_bug", "name": "bug" }, "labels": { "nodes": [] } });
    let fields = changed(7, json!({ "title": "New" }));
    let mut half = json!({ "data": { "fields": { "pullRequest": fields }, "labels": null } });
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
    let e = script
        .repo
        .edit_pull(&script.pr(), &edit)
        .await
        .unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    assert_eq!(
        e.context(),
        [
            ("failed", "labels".to_owned()),
            ("done", "fields".to_owned())
        ]
    );
    assert!(e.hint().unwrap().text().ends_with("(done already: fields)"));
    script.sent();
}
