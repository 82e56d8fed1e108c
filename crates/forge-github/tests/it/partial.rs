//! Answers in which one part failed.

use forge_core::{
    PageReq,
    model::{CheckRollup, PrFields, PullQuery, ThreadFilter},
};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, answer, body, data, error, gateway},
    wire::{changed, comment, head, nodes, one, page, review, thread},
};

#[tokio::test]
async fn failed_section_is_warning() {
    let pull = changed(
        7,
        json!({ "reviews": null, "allComments": nodes(vec![comment("IC_1", "ada", "1")]) }),
    );
    let mut answer = json!({ "data": one(pull) });
    let denied = "Resource not accessible by personal access token";
    answer["errors"] = json!([
        error(
            &["repository", "pullRequest", "reviews"],
            "FORBIDDEN",
            denied
        ),
        error(
            &["repository", "pullRequest", "reviews", "nodes"],
            "FORBIDDEN",
            denied
        ),
        error(
            &["repository", "pullRequest", "milestone"],
            "FORBIDDEN",
            denied
        ),
    ]);
    let script = Script::play(vec![body("PullView", answer)]).await;
    let pull = script
        .repo
        .pull(&script.pr(), PrFields::COMMENTS | PrFields::REVIEWS)
        .await
        .unwrap();
    assert_eq!(pull.comments.unwrap().len(), 1);
    assert_eq!(pull.reviews.unwrap().len(), 0);
    let said: Vec<_> = pull
        .warnings
        .iter()
        .map(|w| w.message.split(" could").next().unwrap())
        .collect();
    assert_eq!(said, ["reviews", "the field milestone"]);
    assert!(pull.warnings[0].hint.is_some());
    script.sent();
}

#[tokio::test]
async fn secret_in_error_path_is_masked() {
    const CANARY: &str = "ghp_0123456789abcdefghij";
    let name = format!("a\nWarning: {CANARY} {}", "x".repeat(1000));
    let mut answer = json!({ "data": one(changed(7, json!({}))) });
    let path = ["repository", "pullRequest", name.as_str()];
    answer["errors"] = json!([error(&path, "FORBIDDEN", "no")]);
    let strange = one(changed(7, json!({ "state": CANARY })));
    let script = Script::play(vec![body("PullView", answer), data("PullView", strange)]).await;
    let pull = script.repo.pull(&script.pr(), PrFields::NONE).await;
    let warnings = pull.unwrap().warnings;
    let said = &warnings[0].message;
    assert!(said.starts_with("the field a Warning: ***"), "{said}");
    assert!(!said.contains('\n') && said.len() < 1000, "{said}");
    let strange = script.repo.pull(&script.pr(), PrFields::NONE).await;
    let e = strange.unwrap_err();
    assert!(!format!("{e:?}").contains(CANARY), "{e:?}");
    script.sent();
}

/// Returns the error for a missing board scope, at `path` or, without a path, for the whole query.
fn no_scope(path: Option<&[&str]>) -> Value {
    let said = "Your token has not been granted the required scopes to execute this query. The \
        'projectItems' field requires one of the following scopes: ['read:project', 'project'], but \
        your token has only been granted the: ['repo'] scopes.";
    let mut error = json!({ "type": "INSUFFICIENT_SCOPES", "message": said });
    if let Some(path) = path {
        error["path"] = json!(path);
    }
    json!([error])
}

#[tokio::test]
async fn boards_without_permission_are_warning() {
    let path = ["repository", "pullRequest", "projectItems"];
    let mut answer = json!({ "data": one(changed(7, json!({ "projectItems": null }))) });
    answer["errors"] = no_scope(Some(&path));
    let script = Script::play(vec![body("PullView", answer)]).await;
    let pull = script
        .repo
        .pull(&script.pr(), PrFields::PROJECTS)
        .await
        .unwrap();
    script.sent();
    let warning = &pull.warnings[0];
    assert_eq!(
        (pull.warnings.len(), warning.section),
        (1, Some("projects"))
    );
    let hint = warning.hint.as_ref().unwrap();
    assert!(hint.text().contains("read:project"), "{hint}");
    assert_eq!(pull.projects, None);
}

#[tokio::test]
async fn query_refused_for_boards_is_repeated_without_boards() {
    let refusal = || json!({ "errors": no_scope(None) });
    let old = json!({ "errors": [{
        "message": "Field 'projectItems' doesn't exist on type 'PullRequest'",
        "path": ["fragment PullSections", "projectItems"],
        "extensions": { "code": "undefinedField", "typeName": "PullRequest", "fieldName": "projectItems" },
    }] });
    let list = json!({ "repository": { "pullRequests": { "totalCount": 1, "nodes": [changed(7, json!({}))] } } });
    let script = Script::play(vec![
        body("PullView", refusal()),
        data("PullView", one(changed(7, json!({})))),
        body("PullList", refusal()),
        data("PullList", list),
        body("PullView", old),
        data("PullView", one(changed(7, json!({})))),
    ])
    .await;
    let pull = script
        .repo
        .pull(&script.pr(), PrFields::PROJECTS)
        .await
        .unwrap();
    let mut query = PullQuery::default();
    query.fields = PrFields::PROJECTS;
    let page = script
        .repo
        .pulls(&query, forge_core::PageReq::first(1))
        .await
        .unwrap();
    let server = script.repo.pull(&script.pr(), PrFields::PROJECTS).await;
    let server = server.unwrap();
    script.sent();
    assert_eq!(pull.projects, None);
    assert_eq!(page.items.len(), 1);
    for warnings in [&pull.warnings, &page.warnings, &server.warnings] {
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].section, Some("projects"));
    }
    let asks: Vec<bool> = script
        .documents()
        .iter()
        .map(|d| d.contains("projectItems"))
        .collect();
    assert_eq!(asks, [true, false, true, false, true, false]);
}

#[tokio::test]
async fn failed_further_pages_are_warning() {
    let first = changed(
        7,
        json!({ "allComments": page(vec![comment("IC_1", "ada", "1")], "c1") }),
    );
    let mut steps = vec![data("PullView", one(first))];
    steps.extend((0..4).map(|_| gateway("PullMore")));
    let script = Script::play(steps).await;
    let pull = script
        .repo
        .pull(&script.pr(), PrFields::COMMENTS)
        .await
        .unwrap();
    assert_eq!(pull.comments.unwrap().len(), 1);
    assert!(
        pull.warnings[0]
            .message
            .starts_with("comments could not be read in full")
    );
    script.sent();
}

#[tokio::test]
async fn partial_checks_are_error() {
    let mut answer = json!({ "data": one(changed(7, json!({ "head": null }))) });
    answer["errors"] = json!([error(
        &["repository", "pullRequest", "head"],
        "FORBIDDEN",
        "Resource not accessible by integration"
    )]);
    let script = Script::play(vec![body("PullView", answer)]).await;
    let e = script.repo.checks(&script.pr()).await.unwrap_err();
    assert!(e.message().starts_with("checks could not be read"));
    script.sent();
}

#[tokio::test]
async fn error_is_reported_despite_malformed_data() {
    let strange = json!({ "data": { "repository": { "pullRequests": { "nodes": "haunted" } } },
        "errors": [error(&["repository"], "SERVICE_UNAVAILABLE", "Try again later")] });
    let script = Script::play(vec![body("PullList", strange)]).await;
    let e = script
        .repo
        .pulls(&PullQuery::default(), forge_core::PageReq::first(1))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "upstream");
    script.sent();
}

#[tokio::test]
async fn malformed_answers_are_protocol_errors() {
    for text in [
        "",
        "{}",
        "[]",
        "null",
        "<html>",
        "{\"data\": 1}",
        "{\"data\": {\"repository\": {\"pullRequest\": {\"number\": 7}}}}",
    ] {
        let step = answer("PullView", ResponseTemplate::new(200).set_body_string(text));
        let script = Script::play(vec![step]).await;
        let e = script
            .repo
            .pull(&script.pr(), PrFields::NONE)
            .await
            .unwrap_err();
        assert_eq!(e.code(), "protocol", "{text}: {e}");
        script.sent();
    }
}

#[tokio::test]
async fn missing_pull_request_is_not_found() {
    let mut gone = json!({ "data": one(Value::Null) });
    gone["errors"] = json!([error(
        &["repository", "pullRequest"],
        "NOT_FOUND",
        "Could not resolve to a PullRequest with the number of 7."
    )]);
    let script = Script::play(vec![
        body("PullView", gone),
        data("PullView", one(Value::Null)),
    ])
    .await;
    for _ in 0..2 {
        let e = script
            .repo
            .pull(&script.pr(), PrFields::NONE)
            .await
            .unwrap_err();
        assert!(
            e.is_not_found() && e.hint().is_some() && !e.message().ends_with('.'),
            "{e:?}"
        );
    }
    script.sent();
}

#[tokio::test]
async fn omitted_threads_and_reviews_give_warnings() {
    let opinion = || review("R_1", "grace", "APPROVED");
    let all = || json!({ "nodes": null });
    let one_more = || nodes(vec![Value::Null]);
    let (threads, latest) = (Some("threads"), Some("latest_reviews"));
    let resolved = || nodes(vec![thread("PRRT_1", true)]);
    let (lists, opinions) = ("latestReviews", "latestOpinionatedReviews");
    let answers = [
        (json!({ "reviewThreads": resolved() }), vec![]),
        (json!({ "reviewThreads": null }), vec![threads]),
        (json!({ "reviewThreads": all() }), vec![threads]),
        (
            json!({ "reviewThreads": nodes(vec![thread("PRRT_1", true), Value::Null]) }),
            vec![threads],
        ),
        (
            json!({ "reviewThreads": resolved(), opinions: one_more() }),
            vec![latest],
        ),
        (
            json!({ "reviewThreads": resolved(), lists: nodes(vec![opinion()]), opinions: null }),
            vec![latest],
        ),
        (
            json!({ "reviewThreads": one_more(), lists: all(), opinions: all() }),
            vec![latest, threads],
        ),
    ];
    let steps = answers.iter();
    let steps = steps.map(|(other, _)| data("PullView", one(changed(7, other.clone()))));
    let script = Script::play(steps.collect()).await;
    for (other, wanted) in &answers {
        let fields = PrFields::THREADS;
        let pull = script.repo.pull(&script.pr(), fields).await.unwrap();
        let said: Vec<_> = pull.warnings.iter().map(|w| w.section).collect();
        assert_eq!(&said, wanted, "{other}");
    }
    script.sent();
}

#[tokio::test]
async fn null_page_of_threads_is_a_warning() {
    let first = json!({ "reviewThreads": page(vec![thread("PRRT_1", true)], "t1") });
    let script = Script::play(vec![
        data("PullView", one(changed(7, first))),
        data(
            "PullMore",
            json!({ "node": { "id": "PR_7", "reviewThreads": null } }),
        ),
    ])
    .await;
    let pull = script.repo.pull(&script.pr(), PrFields::THREADS).await;
    let pull = pull.unwrap();
    assert_eq!(pull.threads.unwrap().len(), 1);
    assert_eq!(pull.warnings[0].section, Some("threads"));
    script.sent();
}

#[tokio::test]
async fn thread_missing_from_list_is_protocol_error() {
    let list = |edges: Value| {
        let end = json!({ "hasNextPage": false, "endCursor": null });
        let threads = json!({ "totalCount": 0, "edges": edges, "pageInfo": end });
        data("Threads", one(json!({ "reviewThreads": threads })))
    };
    let script = Script::play(vec![
        list(json!([null])),
        list(json!([{ "cursor": "c1", "node": null }])),
        list(Value::Null),
        list(json!([])),
    ])
    .await;
    for is_read in [false, false, false, true] {
        let filter = ThreadFilter::Unresolved;
        let page = PageReq::first(10);
        match script.repo.threads(&script.pr(), filter, page).await {
            Ok(page) => assert!(is_read && page.items.is_empty()),
            Err(e) => assert_eq!((is_read, e.code()), (false, "protocol"), "{e}"),
        }
    }
    script.sent();
}

#[tokio::test]
async fn omitted_checks_are_reported_as_truncated() {
    let answers = [
        Value::Null,
        json!({ "nodes": null }),
        json!({ "nodes": [null] }),
        json!({ "nodes": [{ "commit": null }] }),
        head(json!({ "nodes": null })),
        head(nodes(vec![Value::Null])),
    ];
    let steps = answers.iter();
    let steps = steps.map(|head| data("PullView", one(changed(7, json!({ "head": head })))));
    let script = Script::play(steps.collect()).await;
    for head in &answers {
        let pull = script.repo.pull(&script.pr(), PrFields::CHECKS).await;
        let checks = pull.unwrap().checks.unwrap();
        let seen = (checks.overall, checks.truncated);
        assert_eq!(seen, (CheckRollup::Pending, true), "{head}");
    }
    script.sent();
}

#[tokio::test]
async fn omitted_section_is_not_an_empty_page() {
    let script = Script::play(vec![
        data("PullView", one(changed(7, json!({ "reviews": null })))),
        data(
            "PullView",
            one(changed(7, json!({ "reviews": nodes(vec![Value::Null]) }))),
        ),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let e = repo.reviews(&pr, PageReq::first(10)).await.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e}");
    let page = repo.reviews(&pr, PageReq::first(10)).await.unwrap();
    assert_eq!((page.items.len(), page.warnings.len()), (0, 1));
    script.sent();
}
