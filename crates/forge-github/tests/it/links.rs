//! Links: requests, and the links found in answers.

use forge_core::model::{IssueId, Link, LinkState, Subject, SubjectKind};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, body, data, error, refused, repo_id},
    wire::{nodes, page},
};

fn end(kind: &str, name: &str, number: u64, state: &str) -> Value {
    let field = if kind == "Issue" {
        "state"
    } else {
        "pullState"
    };
    json!({
        "__typename": kind, "number": number, "title": format!("Title {number}"), field: state,
        "repository": { "name": name, "owner": { "login": "octo" } },
    })
}

fn subject(other: Value) -> Value {
    let mut subject = json!({
        "state": "OPEN", "body": "", "baseRefName": "main", "baseRef": null,
        "comments": nodes(vec![]), "reviews": nodes(vec![]), "closes": nodes(vec![]),
        "timelineItems": nodes(vec![]),
    });
    for (key, value) in other.as_object().unwrap() {
        subject[key] = value.clone();
    }
    json!({ "repository": { "defaultBranchRef": { "name": "main" }, "subject": subject } })
}

fn shown(links: &[Link]) -> Vec<String> {
    links
        .iter()
        .map(|l| format!("{l} {:?} {:?} {:?}", l.kind, l.state, l.title))
        .map(|text| text.replace("github.com/octo/", ""))
        .collect()
}

fn issue() -> Subject {
    Subject::Issue(IssueId::number(repo_id(), 7))
}

#[tokio::test]
async fn reading_links_takes_two_requests() {
    let below = nodes(vec![
        end("PullRequest", "tools", 5, "OPEN"),
        end("PullRequest", "fork", 6, "OPEN"),
    ]);
    let found = subject(json!({
        "body": "Fixes #1, as #2 and `#3`.",
        "baseRefName": "lower",
        "baseRef": { "associatedPullRequests": below },
        "comments": nodes(vec![json!({ "body": "#2 again, #99, #5000000000 and octo/other#4" })]),
        "reviews": nodes(vec![
            json!({ "body": "", "comments": nodes(vec![json!({ "body": "#8" })]) }),
        ]),
        "closes": nodes(vec![end("Issue", "tools", 1, "OPEN")]),
        "timelineItems": page(vec![
            json!({ "source": end("Issue", "other", 9, "CLOSED") }),
            json!({ "source": end("PullRequest", "tools", 8, "MERGED") }),
            Value::Null,
        ], "c1"),
    }));
    let named = json!({
        "data": { "repository": {
            "n1": end("Issue", "tools", 1, "OPEN"),
            "n2": end("PullRequest", "tools", 2, "CLOSED"),
            "n99": null,
            "n8": end("PullRequest", "tools", 8, "MERGED"),
        } },
        "errors": [error(&["repository", "n99"], "NOT_FOUND", "Could not resolve")],
    });
    let script = Script::play(vec![data("PullLinks", found), body("LinksNamed", named)]).await;
    let links = script
        .repo
        .links(&Subject::Pull(script.pr()))
        .await
        .unwrap();
    assert_eq!(
        shown(&links.closes),
        ["tools#1 Some(Issue) Some(Open) Some(\"Title 1\")"]
    );
    assert_eq!(
        shown(&links.depends_on),
        ["tools#5 Some(PullRequest) Some(Open) Some(\"Title 5\")"]
    );
    assert_eq!(
        shown(&links.mentions),
        [
            "tools#2 Some(PullRequest) Some(Closed) Some(\"Title 2\")",
            "tools#8 Some(PullRequest) Some(Merged) Some(\"Title 8\")",
            "other#4 None None None",
        ]
    );
    assert_eq!(
        shown(&links.mentioned_by),
        [
            "other#9 Some(Issue) Some(Closed) Some(\"Title 9\")",
            "tools#8 Some(PullRequest) Some(Merged) Some(\"Title 8\")",
        ]
    );
    let warnings: Vec<_> = links.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(warnings, ["only the first 2 mentions were read"]);
    assert_eq!(script.names(), ["PullLinks", "LinksNamed"]);
    let asked = &script.documents()[1];
    assert!(asked.contains("n99: issueOrPullRequest(number: 99)") && !asked.contains("n3:"));
    assert_json_snapshot!("links", (script.sent(), &links));
}

#[tokio::test]
async fn reading_links_without_mentions_takes_one_request() {
    let base = nodes(vec![end("PullRequest", "tools", 5, "OPEN")]);
    let found = subject(json!({ "baseRef": { "associatedPullRequests": base } }));
    let closed =
        subject(json!({ "closedBy": nodes(vec![end("PullRequest", "tools", 5, "OPEN")]) }));
    let script = Script::play(vec![data("PullLinks", found), data("IssueLinks", closed)]).await;
    let links = script
        .repo
        .links(&Subject::Pull(script.pr()))
        .await
        .unwrap();
    assert!(links.depends_on.is_empty(), "{links:?}");
    let links = script.repo.links(&issue()).await.unwrap();
    assert_eq!(links.closed_by[0].kind, Some(SubjectKind::PullRequest));
    assert_eq!(links.closed_by[0].state, Some(LinkState::Open));
    assert_eq!(script.names(), ["PullLinks", "IssueLinks"]);
    assert!(script.documents()[1].contains("includeClosedPrs: true"));
}

#[tokio::test]
async fn older_comments_and_reviews_are_counted() {
    let of = |total: u64| json!({ "totalCount": total, "nodes": [{ "body": "Fine." }] });
    let review = json!({ "body": "", "comments": of(51) });
    let reviews = json!({ "totalCount": 1, "nodes": [review] });
    let found = subject(json!({ "comments": of(101), "reviews": reviews }));
    let script = Script::play(vec![data("PullLinks", found)]).await;
    let subject = Subject::Pull(script.pr());
    let links = script.repo.links(&subject).await.unwrap();
    let warnings: Vec<_> = links.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "the newest 1 of 101 comments were searched for links",
            "the newest 1 of 51 comments of a review were searched for links",
        ]
    );
    let asked = &script.documents()[0];
    assert!(asked.contains("comments(last: 100)") && asked.contains("reviews(last: 100)"));
}

#[tokio::test]
async fn links_of_missing_subject_are_not_found() {
    let script = Script::play(vec![
        refused(
            "IssueLinks",
            "repository",
            "NOT_FOUND",
            "Could not resolve to an Issue",
        ),
        data("PullLinks", json!({ "repository": { "subject": null } })),
    ])
    .await;
    for subject in [issue(), Subject::Pull(script.pr())] {
        let e = script.repo.links(&subject).await.unwrap_err();
        assert_eq!(e.code(), "not_found", "{e}");
    }
}
