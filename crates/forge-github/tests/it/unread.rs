//! Data that could not be read is reported, and must not look like data that does not exist.

use forge_core::{
    PageReq,
    model::{
        CheckRollup, CloseReq, CreatePull, EditPull, HeadRef, MergeReq, PrFields, PrState,
        PullQuery, Reviewer, SetChange, StateFilter,
    },
};
use forge_github_double::PullSeed;
use serde_json::{Value, json};

use crate::{
    double::{World, handle},
    merge::{merged, ready},
    script::{Script, body, data, error, gateway},
    wire::{changed, comment, nodes, one, page, pull, review},
};

const REPO: &str = "octo/tools";
/// A classic token without `read:org`.
const CLASSIC: &str = "gho_0canary0few";
/// A fine-grained token without the permission to read teams.
const FINE: &str = "github_pat_0canary0fine";

fn reviewers(add: &[&str], remove: &[&str]) -> EditPull {
    let own = |list: &[&str]| list.iter().map(|r| Reviewer::parse(r)).collect();
    let mut edit = EditPull::default();
    edit.reviewers = SetChange {
        add: own(add),
        remove: own(remove),
    };
    edit
}

fn world() -> World {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        seed.token(CLASSIC, "ada", &["repo"]);
        seed.fine_grained_token(FINE, "ada", false);
        seed.hide_teams(FINE);
    }
    world
}

#[tokio::test]
async fn token_without_team_access_can_change_pulls() {
    let world = world();
    for (head, token) in [("one", CLASSIC), ("two", FINE)] {
        let number = {
            let mut seed = world.double.seed();
            let file = format!("{head}.txt");
            seed.commit(REPO, head, &[(file.as_str(), Some("1\n"))], "Add");
            let pull = PullSeed {
                author: "ada",
                title: "Title",
                head,
                draft: true,
                ..PullSeed::default()
            };
            seed.open_pull(REPO, &pull)
        };
        let repo = handle(&world.double, token);
        let id = repo.pull_id(number);
        let asked = reviewers(&["grace", "octo/core"], &[]);
        world.ada.edit_pull(&id, &asked).await.unwrap();

        let seen = repo.pull(&id, PrFields::NONE).await.unwrap();
        let names: Vec<&str> = seen
            .pending_reviewers
            .iter()
            .map(Reviewer::handle)
            .collect();
        assert_eq!(names, ["grace"], "{token}");
        assert_eq!(seen.warnings.len(), 1, "{:?}", seen.warnings);
        assert_eq!(seen.warnings[0].section, Some("pending_reviewers"));

        let ready = repo.set_draft(&id, false).await.unwrap().value;
        assert!(!ready.draft, "{token}");
        let mut title = EditPull::default();
        title.title = Some("New".into());
        let edited = repo.edit_pull(&id, &title).await.unwrap().value;
        assert_eq!(edited.title, "New", "{token}");
        let req = CloseReq::default();
        let closed = repo.close(&id, &req).await.unwrap().value;
        assert_eq!(closed.state, PrState::Closed, "{token}");
        let open = repo.reopen(&id, None).await.unwrap().value;
        assert_eq!(open.state, PrState::Open, "{token}");
        let denied = repo.edit_pull(&id, &reviewers(&[], &["octo/core"])).await;
        assert_eq!(denied.unwrap_err().code(), "permission_denied", "{token}");
        let done = repo.merge(&id, &MergeReq::default()).await.unwrap().value;
        assert_eq!(done.pull_request.state, PrState::Merged, "{token}");
        assert_eq!(done.pull_request.title, "New", "{token}");
    }
}

#[tokio::test]
async fn token_without_team_scope_is_refused_once() {
    let world = world();
    let repo = handle(&world.double, CLASSIC);
    let number = {
        let mut seed = world.double.seed();
        let pull = PullSeed {
            author: "ada",
            title: "Title",
            head: "feature",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull)
    };
    let id = repo.pull_id(number);
    let mut costs = Vec::new();
    for _ in 0..2 {
        world.double.reset_record();
        let seen = repo.pull(&id, PrFields::NONE).await.unwrap();
        assert_eq!(seen.warnings, [], "no team was asked");
        costs.push(world.double.counts().api);
    }
    assert_eq!(costs, [2, 1]);

    let mut asked = CreatePull::new("feature", "Again");
    asked.reviewers = vec![Reviewer::parse("octo/core")];
    let e = repo.create_pull(&asked).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    assert!(e.hint().unwrap().text().contains("read:org"), "{e:?}");
}

/// Returns an answer that has both data and errors at these paths.
fn half(data: Value, paths: &[&[&str]]) -> Value {
    let denied = "Resource not accessible by integration";
    let errors: Vec<Value> = paths
        .iter()
        .map(|path| error(path, "FORBIDDEN", denied))
        .collect();
    json!({ "data": data, "errors": errors })
}

#[tokio::test]
async fn error_inside_payload_does_not_fail_mutation() {
    let done = json!({ "merge": { "pullRequest": merged() } });
    let path = ["merge", "pullRequest", "reviewRequests", "nodes"];
    let edited = json!({ "fields": { "pullRequest": changed(7, json!({ "title": "New" })) } });
    let labels = ["fields", "pullRequest", "labels", "nodes"];
    let prepared = json!({ "__typename": "Query", "repository": { "pullRequest": pull(7) } });
    let script = Script::play(vec![
        data("MergePrepare", ready(json!({}))),
        body("mergePullRequest", half(done, &[&path])),
        data("EditPrepare", prepared),
        body("updatePullRequest", half(edited, &[&labels])),
    ])
    .await;
    let made = script.repo.merge(&script.pr(), &MergeReq::default()).await;
    let after = made.unwrap().value.pull_request;
    assert_eq!(after.state, PrState::Merged);
    assert_eq!(after.warnings.len(), 1);
    assert_eq!(after.warnings[0].section, Some("pending_reviewers"));
    let mut title = EditPull::default();
    title.title = Some("New".into());
    let made = script
        .repo
        .edit_pull(&script.pr(), &title)
        .await
        .unwrap()
        .value;
    assert_eq!(made.title, "New");
    assert_eq!(made.warnings[0].section, Some("labels"));
    script.sent();
}

#[tokio::test]
async fn comment_is_created_despite_unreadable_answer_part() {
    let made = |node| json!({ "m": { "commentEdge": { "node": node } } });
    let before = || changed(7, json!({ "newestComment": { "nodes": [] } }));
    let recent = changed(
        7,
        json!({ "recentComments": { "nodes": [comment("IC_2", "ada", "Two")] } }),
    );
    let author = ["m", "commentEdge", "node", "author"];
    let script = Script::play(vec![
        data("PullView", one(before())),
        body(
            "addComment",
            half(made(comment("IC_1", "ada", "One")), &[&author]),
        ),
        data("PullView", one(before())),
        body("addComment", half(made(Value::Null), &[&author])),
        data("PullView", one(recent)),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let one = repo.comment(&pr, "One", None).await.unwrap();
    assert_eq!((one.value.id.as_str(), one.warnings.len()), ("IC_1", 0));
    let two = repo.comment(&pr, "Two", None).await.unwrap();
    assert_eq!((two.value.id.as_str(), two.warnings.len()), ("IC_2", 1));
    script.sent();
}

#[tokio::test]
async fn mutation_selects_only_changeable_fields() {
    let closed = changed(7, json!({ "state": "CLOSED" }));
    let before = changed(
        7,
        json!({
            "labels": { "nodes": [crate::wire::label("bug")] },
            "latestOpinionatedReviews": { "nodes": [review("R_1", "grace", "APPROVED")] },
        }),
    );
    let script = Script::play(vec![
        data("PullView", one(before)),
        data(
            "closePullRequest",
            json!({ "change": { "pullRequest": closed } }),
        ),
    ])
    .await;
    let req = CloseReq::default();
    let closed = script.repo.close(&script.pr(), &req).await.unwrap().value;
    let mutation = &script.documents()[1];
    for part in [
        "latestReviews",
        "latestOpinionatedReviews",
        "Team",
        "labels(",
    ] {
        assert!(!mutation.contains(part), "{part} in {mutation}");
    }
    // The mutation does not select the other fields, so the result keeps their earlier values.
    let seen = (closed.state, closed.labels.len(), closed.approvals);
    assert_eq!(seen, (PrState::Closed, 1, 1));
    assert_eq!(closed.latest_reviews.len(), 1);
}

#[tokio::test]
async fn list_selects_only_requested_parts() {
    let list = || json!({ "repository": { "pullRequests": nodes(vec![pull(7)]) } });
    let script = Script::play(vec![data("PullList", list()), data("PullList", list())]).await;
    let less = PrFields::NO_DESCRIPTION
        | PrFields::NO_ASSIGNEES
        | PrFields::NO_MILESTONE
        | PrFields::NO_REVIEW_REQUESTS
        | PrFields::NO_LATEST_REVIEWS;
    for fields in [less, PrFields::NONE] {
        let mut query = PullQuery::default();
        query.fields = fields;
        let page = script.repo.pulls(&query, PageReq::first(1)).await.unwrap();
        assert_eq!(page.items[0].version.is_empty(), fields == less);
    }
    let documents = script.documents();
    let asks = |part: &str| (documents[0].contains(part), documents[1].contains(part));
    assert_eq!(asks("labels("), (true, true));
    for part in [
        " body ",
        "assignees(",
        "milestone {",
        "reviewRequests(",
        "latestReviews(",
    ] {
        assert_eq!(asks(part), (false, true), "{part}");
    }
}

/// Returns the answer with the three lists of a status.
fn status(branch: Value, created: Value, requested: Value) -> Value {
    json!({ "repository": { "pullRequests": branch }, "created": created, "requested": requested })
}

fn found(pulls: Vec<Value>) -> Value {
    let count = pulls.len();
    json!({ "repository": { "id": "R_tools" }, "search": {
        "issueCount": count, "nodes": pulls,
        "pageInfo": { "hasNextPage": false, "endCursor": null },
    }})
}

#[tokio::test]
async fn partly_unreadable_status_shows_readable_lists() {
    let strange = changed(6, json!({ "state": "HAUNTED" }));
    let mine = nodes(vec![pull(8), strange, Value::Null]);
    let of = status(nodes(vec![pull(8)]), mine, Value::Null);
    let answer = half(of, &[&["created", "nodes"], &["requested"]]);
    let script = Script::play(vec![body("PullStatus", answer)]).await;
    let head = HeadRef::branch("feature");
    let seen = script.repo.status(Some(&head), PrFields::NONE).await;
    let seen = seen.unwrap();
    assert_eq!(seen.current_branch.unwrap().number, Some(8));
    assert_eq!((seen.created_by.len(), seen.needs_review.len()), (1, 0));
    let said: Vec<&str> = seen.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].starts_with("pull request 6 could not"), "{said:?}");
    script.sent();
}

#[tokio::test]
async fn row_missing_from_status_is_counted_in_warning() {
    let mine = nodes(vec![pull(8), Value::Null]);
    let of = status(nodes(vec![]), mine, nodes(vec![]));
    let script = Script::play(vec![data("PullStatus", of)]).await;
    let seen = script.repo.status(None, PrFields::NONE).await.unwrap();
    let said: Vec<&str> = seen.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(seen.created_by.len(), 1);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("left out 1 pull request(s)"), "{said:?}");
    script.sent();
}

#[tokio::test]
async fn oversized_status_is_read_in_parts() {
    let list = json!({ "repository": { "pullRequests": nodes(vec![pull(8)]) } });
    let script = Script::play(vec![
        gateway("PullStatus"),
        data("PullList", list),
        gateway("PullSearch"),
        data("PullSearch", found(vec![pull(8)])),
        data("PullSearch", found(vec![])),
    ])
    .await;
    let head = HeadRef::branch("feature");
    let seen = script.repo.status(Some(&head), PrFields::CHECKS).await;
    let seen = seen.unwrap();
    assert_eq!(seen.current_branch.unwrap().number, Some(8));
    assert_eq!((seen.created_by.len(), seen.needs_review.len()), (1, 0));
    let firsts: Vec<Value> = script
        .sent()
        .iter()
        .map(|(_, v)| v["first"].clone())
        .collect();
    assert_eq!(firsts, [25, 25, 25, 12, 25]);
}

#[tokio::test]
async fn status_without_board_scope_warns() {
    let said = "Your token has not been granted the required scopes to execute this query. The \
        'projectItems' field requires one of the following scopes: ['read:project', 'project'].";
    let refusal = json!({ "errors": [{ "type": "INSUFFICIENT_SCOPES", "message": said }] });
    let empty = || nodes(vec![]);
    let script = Script::play(vec![
        body("PullStatus", refusal),
        data("PullStatus", status(empty(), nodes(vec![pull(8)]), empty())),
    ])
    .await;
    let seen = script.repo.status(None, PrFields::PROJECTS).await.unwrap();
    assert_eq!(seen.created_by.len(), 1);
    assert_eq!(seen.warnings.len(), 1);
    assert_eq!(seen.warnings[0].section, Some("projects"));
    script.sent();
}

#[tokio::test]
async fn status_searches_past_forks_with_same_branch() {
    let theirs = changed(
        9,
        json!({ "isCrossRepository": true, "headRepository": { "name": "tools", "owner": { "login": "eve" } } }),
    );
    let many = page(vec![theirs], "c1");
    let empty = || nodes(vec![]);
    let list = json!({ "repository": { "pullRequests": nodes(vec![pull(3)]) } });
    let script = Script::play(vec![
        data("PullStatus", status(many, empty(), empty())),
        data("PullList", list),
    ])
    .await;
    let head = HeadRef::branch("feature");
    let seen = script
        .repo
        .status(Some(&head), PrFields::ROW)
        .await
        .unwrap();
    assert_eq!(seen.current_branch.unwrap().number, Some(3));
    script.sent();
}

#[tokio::test]
async fn unreadable_pull_request_is_not_reported_missing() {
    let list = |pulls| json!({ "repository": { "pullRequests": nodes(pulls) } });
    let strange = || changed(2, json!({ "state": "HAUNTED" }));
    let script = Script::play(vec![
        data("PullList", list(vec![strange()])),
        data("PullList", list(vec![strange(), pull(3)])),
        data("PullList", list(vec![])),
    ])
    .await;
    let head = HeadRef::branch("feature");
    let find = || script.repo.find(&head, StateFilter::All, PrFields::NONE);
    let e = find().await.unwrap_err();
    assert!(
        e.message().contains("pull request 2 could not be read"),
        "{e}"
    );
    let other = find().await.unwrap().pulls;
    assert_eq!(other[0].number, Some(3));
    assert_eq!(other[0].warnings.len(), 1);
    assert_eq!(find().await.unwrap().pulls.len(), 0);
    script.sent();
}

/// Returns the checks of a head commit.
fn head(contexts: Value) -> Value {
    json!({ "nodes": [{ "commit": { "oid": "a".repeat(40), "statusCheckRollup": { "contexts": contexts } } }] })
}

fn passed() -> Value {
    json!({ "__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS" })
}

#[tokio::test]
async fn partial_checks_are_not_reported_as_success() {
    let with = |head: Value| changed(7, json!({ "head": head }));
    let none =
        json!({ "nodes": [{ "commit": { "oid": "a".repeat(40), "statusCheckRollup": null } }] });
    let rollup = [
        "repository",
        "pullRequest",
        "head",
        "nodes",
        "commit",
        "statusCheckRollup",
    ];
    let event = [
        "repository",
        "pullRequest",
        "head",
        "nodes",
        "commit",
        "statusCheckRollup",
        "contexts",
        "nodes",
        "checkSuite",
        "workflowRun",
    ];
    let more = vec![
        gateway("PullMore"),
        gateway("PullMore"),
        gateway("PullMore"),
        gateway("PullMore"),
    ];
    let mut steps = vec![
        data("PullView", one(with(head(nodes(vec![passed()]))))),
        body(
            "PullView",
            half(one(with(head(nodes(vec![passed()])))), &[&event]),
        ),
        body(
            "PullView",
            half(
                one(with(head(nodes(vec![passed(), Value::Null])))),
                &[&event[..8]],
            ),
        ),
        body("PullView", half(one(with(none.clone())), &[&rollup])),
        data("PullView", one(with(none))),
        data("PullView", one(with(head(page(vec![passed()], "c1"))))),
    ];
    steps.extend(more);
    let script = Script::play(steps).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        let pull = script
            .repo
            .pull(&script.pr(), PrFields::CHECKS)
            .await
            .unwrap();
        let checks = pull.checks.unwrap();
        seen.push((checks.overall, checks.truncated, checks.counts.success));
    }
    let wanted = [
        (CheckRollup::Success, false, 1),
        // The check is complete; only the name of its workflow is missing.
        (CheckRollup::Success, false, 1),
        (CheckRollup::Pending, true, 1),
        (CheckRollup::Pending, true, 0),
        (CheckRollup::Neutral, false, 0),
        (CheckRollup::Pending, true, 1),
    ];
    assert_eq!(seen, wanted);
    script.sent();
}

#[tokio::test]
async fn unreadable_checks_in_list_affect_one_row() {
    let with = |n, rollup: Value| {
        let head = json!({ "nodes": [{ "commit": { "oid": "a".repeat(40), "statusCheckRollup": rollup } }] });
        changed(n, json!({ "head": head }))
    };
    let rows = vec![with(1, Value::Null), with(2, Value::Null)];
    let mut list = json!({ "data": { "repository": { "pullRequests": nodes(rows) } } });
    list["errors"] = json!([{
        "type": "FORBIDDEN", "message": "Resource not accessible by integration",
        "path": ["repository", "pullRequests", "nodes", 1, "head", "nodes", 0, "commit", "statusCheckRollup"],
    }]);
    let script = Script::play(vec![body("PullList", list)]).await;
    let mut query = PullQuery::default();
    query.fields = PrFields::CHECKS;
    let page = script.repo.pulls(&query, PageReq::first(10)).await.unwrap();
    let truncated = page
        .items
        .iter()
        .map(|p| p.checks.as_ref().unwrap().truncated);
    assert_eq!(truncated.collect::<Vec<_>>(), [false, true]);
    assert_eq!(page.warnings[0].section, Some("checks"));
    script.sent();
}

#[tokio::test]
async fn partial_section_pages_show_readable_entries() {
    let commits = changed(
        7,
        json!({ "commits": nodes(vec![json!({ "commit": { "oid": "a".repeat(40) } })]) }),
    );
    let path = [
        "repository",
        "pullRequest",
        "commits",
        "nodes",
        "commit",
        "committer",
    ];
    let gone = changed(7, json!({ "commits": null }));
    let event =
        json!({ "__typename": "ReopenedEvent", "id": "E", "createdAt": "2026-01-02T04:00:00Z" });
    let events = changed(
        7,
        json!({ "timelineItems": nodes(vec![event, Value::Null]) }),
    );
    let items = ["repository", "pullRequest", "timelineItems", "nodes"];
    let script = Script::play(vec![
        body("PullView", half(one(commits), &[&path])),
        body("PullView", half(one(gone), &[&path[..3]])),
        body("Timeline", half(one(events), &[&items])),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let page = repo.commits(&pr, PageReq::first(10)).await.unwrap();
    assert_eq!((page.items.len(), page.warnings.len()), (1, 1));
    let e = repo.commits(&pr, PageReq::first(10)).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let page = repo.history(&pr, PageReq::first(10)).await.unwrap();
    assert_eq!((page.items.len(), page.warnings.len()), (2, 1));
    script.sent();
}

#[tokio::test]
async fn unreadable_latest_reviews_give_a_warning() {
    let first = || {
        let some = page(vec![review("R_1", "grace", "APPROVED")], "c1");
        let other = json!({ "latestReviews": some, "latestOpinionatedReviews": some });
        data("PullView", one(changed(7, other)))
    };
    let more = |opinions: Value| {
        let latest = nodes(vec![]);
        let node = json!({
            "id": "PR_7", "latestReviews": latest, "latestOpinionatedReviews": opinions,
        });
        data("PullMore", json!({ "node": node }))
    };
    let stuck = page(vec![review("R_2", "linus", "APPROVED")], "c1");
    let mut steps = vec![first(), more(stuck), first(), more(Value::Null), first()];
    steps.extend((0..4).map(|_| gateway("PullMore")));
    let script = Script::play(steps).await;
    for approvals in [2, 1, 1] {
        let seen = script
            .repo
            .pull(&script.pr(), PrFields::NONE)
            .await
            .unwrap();
        assert_eq!(seen.warnings.len(), 1, "{:?}", seen.warnings);
        assert_eq!(seen.warnings[0].section, Some("latest_reviews"));
        assert_eq!(seen.approvals, approvals);
        assert_eq!(seen.review_counts().approved, approvals);
    }
    script.sent();
}

#[tokio::test]
async fn labels_and_milestones_beyond_hundred_are_found() {
    let world = World::new();
    let number = {
        let mut seed = world.double.seed();
        for i in 0..101 {
            seed.milestone(REPO, &format!("2.{i}"));
            seed.label(REPO, &format!("area {i:03}"));
        }
        seed.milestone(REPO, "Someday");
        seed.label(REPO, "security");
        let pull = PullSeed {
            author: "ada",
            title: "Title",
            head: "feature",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull)
    };
    let id = world.ada.pull_id(number);
    let milestone = |title: &str| {
        let mut edit = EditPull::default();
        edit.milestone = Some(Some(title.into()));
        edit
    };
    let edited = world
        .ada
        .edit_pull(&id, &milestone("someday"))
        .await
        .unwrap();
    assert_eq!(edited.value.milestone.unwrap().title, "Someday");
    let mut label = EditPull::default();
    label.labels = SetChange {
        add: vec!["securty".into()],
        remove: vec![],
    };
    let e = world.ada.edit_pull(&id, &label).await.unwrap_err();
    assert!(e.hint().unwrap().text().contains("'security'"), "{e:?}");
}
