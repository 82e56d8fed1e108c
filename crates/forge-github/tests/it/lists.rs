//! Lists: one request per hundred rows, searches, large sections, find and status.

use forge_core::{
    PageReq,
    model::{HeadRef, IssueQuery, PrFields, PullQuery, PullScope, StateFilter},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, Step, answer, body, data, error, gateway},
    wire::{changed, head, nodes, page, pull, thread},
};

fn list(pulls: Vec<Value>, total: u64, next: Option<&str>) -> Value {
    json!({ "repository": { "pullRequests": {
        "totalCount": total, "nodes": pulls,
        "pageInfo": { "hasNextPage": next.is_some(), "endCursor": next },
    }}})
}

fn found(pulls: Vec<Value>, total: u64, next: Option<&str>) -> Value {
    json!({ "repository": { "id": "R_tools" }, "search": {
        "issueCount": total, "nodes": pulls,
        "pageInfo": { "hasNextPage": next.is_some(), "endCursor": next },
    }})
}

fn pulls(range: std::ops::Range<u64>) -> Vec<Value> {
    range.map(pull).collect()
}

#[tokio::test]
async fn listing_takes_one_request() {
    let script = Script::play(vec![data("PullList", list(pulls(1..4), 3, None))]).await;
    let mut query = PullQuery::default();
    query.base = Some("main".into());
    let page = script.repo.pulls(&query, PageReq::first(30)).await.unwrap();
    assert_json_snapshot!(
        "list",
        (script.sent(), page.items[0].clone(), page.total, page.next)
    );
}

#[tokio::test]
async fn list_takes_one_request_per_hundred_rows() {
    let script = Script::play(vec![
        data("PullList", list(pulls(1..101), 250, Some("c1"))),
        data("PullList", list(pulls(100..201), 250, Some("c2"))),
        data("PullList", list(pulls(201..251), 250, None)),
    ])
    .await;
    let page = script
        .repo
        .pulls(&PullQuery::default(), PageReq::first(250))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 250, "one that came twice is there once");
    let sent = script.sent();
    let firsts: Vec<_> = sent
        .iter()
        .map(|(_, v)| v["first"].as_u64().unwrap())
        .collect();
    assert_eq!(firsts, [100, 100, 50]);
}

#[tokio::test]
async fn cursor_continues_page_and_is_bound_to_query() {
    let script = Script::play(vec![
        data("PullList", list(pulls(1..3), 3, Some("c1"))),
        data("PullList", list(pulls(3..4), 3, None)),
    ])
    .await;
    let query = PullQuery::default();
    let first = script.repo.pulls(&query, PageReq::first(2)).await.unwrap();
    let cursor = first.next.unwrap();
    let rest = script
        .repo
        .pulls(&query, PageReq::after(cursor.clone(), 2))
        .await
        .unwrap();
    assert_eq!((rest.items.len(), rest.next), (1, None));
    let mut other = PullQuery::default();
    other.state = StateFilter::All;
    let e = script
        .repo
        .pulls(&other, PageReq::after(cursor, 2))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "invalid_input");
    assert_eq!(script.sent()[1].1["after"], json!("c1"));
}

#[tokio::test]
async fn state_filters_map_to_github_states() {
    let steps = (0..4)
        .map(|_| data("PullList", list(vec![], 0, None)))
        .collect();
    let script = Script::play(steps).await;
    for state in [
        StateFilter::Open,
        StateFilter::Closed,
        StateFilter::Merged,
        StateFilter::All,
    ] {
        let mut query = PullQuery::default();
        query.state = state;
        script.repo.pulls(&query, PageReq::first(1)).await.unwrap();
    }
    let states: Vec<_> = script
        .sent()
        .iter()
        .map(|(_, v)| v["states"].to_string())
        .collect();
    assert_eq!(
        states,
        [
            r#"["OPEN"]"#,
            r#"["CLOSED","MERGED"]"#,
            r#"["MERGED"]"#,
            r#"["OPEN","CLOSED","MERGED"]"#
        ]
    );
}

#[tokio::test]
async fn list_is_sorted_by_update_only_on_request() {
    let steps = (0..2)
        .map(|_| data("PullList", list(vec![], 0, None)))
        .collect();
    let script = Script::play(steps).await;
    let mut query = PullQuery::default();
    for prefers_updated in [false, true] {
        query.prefers_updated = prefers_updated;
        script.repo.pulls(&query, PageReq::first(1)).await.unwrap();
    }
    let orders: Vec<_> = script
        .sent()
        .iter()
        .map(|(_, v)| v["order"].clone())
        .collect();
    let by_update = json!({ "field": "UPDATED_AT", "direction": "DESC" });
    assert_eq!(orders, [Value::Null, by_update]);
}

#[tokio::test]
async fn search_scans_until_page_is_full() {
    // C-000-7: reading continues until the page is full, and `scanned` counts the rows.
    let stale = changed(2, json!({ "state": "CLOSED" }));
    let script = Script::play(vec![
        data(
            "PullSearch",
            found(
                vec![pull(1), stale, json!({ "__typename": "Issue" })],
                5,
                Some("s1"),
            ),
        ),
        data("PullSearch", found(pulls(3..5), 5, Some("s2"))),
    ])
    .await;
    let mut query = PullQuery::default();
    query.author = Some("@me".into());
    query.labels = vec!["help wanted".into()];
    let page = script.repo.pulls(&query, PageReq::first(3)).await.unwrap();
    let numbers: Vec<_> = page.items.iter().filter_map(|p| p.number).collect();
    assert_eq!(
        (numbers, page.scanned, page.total),
        (vec![1, 3, 4], Some(5), Some(5))
    );
    let sent = script.sent();
    assert_eq!(
        sent[0].1["query"],
        "repo:octo/tools is:pr state:open author:@me label:\"help wanted\" sort:created-desc"
    );
    assert_eq!(sent[1].1["first"], 2);
}

/// On Enterprise Server before 3.18, a search text can name another repository. Its pull requests are
/// left out, because the numbers belong to that repository and its readers may be other people.
#[tokio::test]
async fn search_results_of_other_repositories_are_left_out() {
    let elsewhere = |n| {
        changed(
            n,
            json!({ "title": "Secret", "repository": { "id": "R_secret" } }),
        )
    };
    let script = Script::play(vec![
        data(
            "PullSearch",
            found(vec![elsewhere(1), pull(1)], 4, Some("s1")),
        ),
        data(
            "PullSearch",
            found(vec![elsewhere(2), pull(2)], 4, Some("s2")),
        ),
        data("PullSearch", found(vec![], 4, None)),
    ])
    .await;
    let mut query = PullQuery::default();
    query.search = Some("repo:octo/secret".into());
    let page = script.repo.pulls(&query, PageReq::first(9)).await.unwrap();
    let titles: Vec<_> = page.items.iter().map(|p| p.title.as_str()).collect();
    assert_eq!((titles, page.total), (vec!["Title 1", "Title 2"], None));
    assert_eq!(page.warnings.len(), 1, "{:?}", page.warnings);
    assert!(
        page.warnings[0]
            .message
            .contains("search results outside of")
    );
    script.sent();
    // If all rows of a page belong to other repositories, the page ends here and returns a cursor.
    let nothing = found(vec![elsewhere(3), elsewhere(4)], 900, Some("s3"));
    let script = Script::play(vec![data("PullSearch", nothing)]).await;
    let page = script.repo.pulls(&query, PageReq::first(9)).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_some());
    assert_eq!(script.sent().len(), 1);
    let missing = json!({ "repository": null, "search": found(vec![], 0, None)["search"] });
    let script = Script::play(vec![data("PullSearch", missing)]).await;
    let e = script.repo.pulls(&query, PageReq::first(9)).await;
    assert!(e.unwrap_err().is_not_found());
}

#[tokio::test]
async fn unclosed_search_is_refused_before_requests() {
    let script = Script::play(vec![]).await;
    let mut query = PullQuery::default();
    query.search = Some("x) OR (y".into());
    let listed = script.repo.pulls(&query, PageReq::first(9)).await;
    let mut scope = PullScope::default();
    scope.repos = vec![script.repo.id().clone()];
    let client = script.repo.client();
    let across = client.list_across(&scope, &[query], 9).await;
    let mut query = IssueQuery::default();
    query.search = Some("(x".into());
    let issues = script.repo.issues(&query, PageReq::first(9)).await;
    for error in [listed.err(), across.err(), issues.err()] {
        let error = error.unwrap();
        assert_eq!(error.code(), "invalid_input", "{error}");
        assert!(error.message().contains("parenthesis"), "{error}");
    }
    assert!(script.sent().is_empty());
}

#[tokio::test]
async fn search_beyond_one_thousand_results_warns() {
    let script = Script::play(vec![data("PullSearch", found(pulls(1..3), 4000, None))]).await;
    let mut query = PullQuery::default();
    query.search = Some("x".into());
    let page = script
        .repo
        .pulls(&query, PageReq::first(100))
        .await
        .unwrap();
    assert!(page.warnings[0].message.contains("1000"));
    script.sent();
}

fn heavy(range: std::ops::Range<u64>) -> Vec<Value> {
    range
        .map(|n| changed(n, json!({ "head": head(nodes(vec![])) })))
        .collect()
}

fn firsts(script: &Script) -> Vec<u64> {
    script
        .sent()
        .iter()
        .map(|(_, v)| v["first"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn large_sections_are_read_in_small_pages() {
    let script = Script::play(vec![
        data("PullList", list(heavy(1..26), 60, Some("c1"))),
        data("PullList", list(heavy(26..51), 60, Some("c2"))),
        data("PullList", list(heavy(51..61), 60, None)),
    ])
    .await;
    let mut query = PullQuery::default();
    query.fields = PrFields::CHECKS;
    let page = script.repo.pulls(&query, PageReq::first(60)).await.unwrap();
    assert_eq!(page.items.len(), 60);
    assert_eq!(firsts(&script), [25, 25, 10]);
}

#[tokio::test]
async fn large_pages_shrink_at_resource_limit() {
    let too_large = || {
        body(
            "PullList",
            json!({ "errors": [error(&[], "RESOURCE_LIMITS_EXCEEDED", "Resource limits for this query exceeded.")] }),
        )
    };
    let script = Script::play(vec![
        gateway("PullList"),
        answer("PullList", ResponseTemplate::new(504)),
        too_large(),
        data("PullList", list(heavy(1..4), 5, Some("c1"))),
        data("PullList", list(heavy(4..6), 5, None)),
    ])
    .await;
    let mut query = PullQuery::default();
    query.fields = PrFields::CHECKS;
    let page = script.repo.pulls(&query, PageReq::first(30)).await.unwrap();
    assert_eq!(page.items.len(), 5);
    assert_eq!(firsts(&script), [25, 12, 6, 3, 3]);
}

#[tokio::test]
async fn large_pages_shrink_to_one_row_before_failing() {
    let steps: Vec<Step> = (0..5).map(|_| gateway("PullList")).collect();
    let script = Script::play(steps).await;
    let mut query = PullQuery::default();
    query.fields = PrFields::CHECKS;
    let e = script
        .repo
        .pulls(&query, PageReq::first(30))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "upstream");
    assert!(e.hint().unwrap().text().contains("fewer fields"));
    assert_eq!(firsts(&script), [25, 12, 6, 3, 1]);
}

#[tokio::test]
async fn unreadable_row_gives_list_a_warning() {
    let strange = changed(2, json!({ "state": "HAUNTED" }));
    let mut answer = json!({ "data": list(vec![pull(1), strange, Value::Null], 3, None) });
    answer["errors"] = json!([error(
        &["repository", "pullRequests", "nodes"],
        "FORBIDDEN",
        "Resource not accessible by integration"
    )]);
    let script = Script::play(vec![body("PullList", answer)]).await;
    let page = script
        .repo
        .pulls(&PullQuery::default(), PageReq::first(10))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.warnings.len(), 2);
    assert!(page.warnings[1].message.contains("HAUNTED"));
    script.sent();
}

#[tokio::test]
async fn rows_missing_from_answer_are_counted_in_warning() {
    let rows = || vec![pull(1), Value::Null, Value::Null];
    let script = Script::play(vec![
        data("PullList", list(rows(), 3, None)),
        data("PullSearch", found(rows(), 3, None)),
        data("PullList", list(vec![], 2, None)),
        data("PullSearch", found(vec![], 2, None)),
        data("PullList", list(vec![], 0, None)),
    ])
    .await;
    let mut search = PullQuery::default();
    search.search = Some("words".into());
    let own = PullQuery::default();
    for (query, rows, missing) in [
        (&own, 1, "left out 2 pull request(s)"),
        (&search, 1, "left out 2 pull request(s)"),
        (&own, 0, "left out 2 pull request(s)"),
        (&search, 0, "left out 2 pull request(s)"),
        (&own, 0, ""),
    ] {
        let page = script.repo.pulls(query, PageReq::first(10)).await.unwrap();
        let said: Vec<_> = page.warnings.iter().map(|w| w.message.as_str()).collect();
        assert_eq!(page.items.len(), rows, "{said:?}");
        assert_eq!(said.is_empty(), missing.is_empty(), "{said:?}");
        assert!(said.join("").contains(missing), "{said:?}");
    }
    script.sent();
}

#[tokio::test]
async fn find_matches_forks_and_sorts_open_first() {
    let fork = |n, state: &str| {
        changed(
            n,
            json!({ "state": state, "isCrossRepository": true, "headRepository": { "name": "tools", "owner": { "login": "grace" } } }),
        )
    };
    let all = vec![
        changed(5, json!({ "state": "CLOSED" })),
        fork(4, "OPEN"),
        pull(3),
        fork(2, "MERGED"),
    ];
    let steps = (0..2)
        .map(|_| data("PullList", list(all.clone(), 4, None)))
        .collect();
    let script = Script::play(steps).await;
    let numbers = |pulls: Vec<forge_core::model::PullRequest>| {
        pulls.iter().filter_map(|p| p.number).collect::<Vec<_>>()
    };
    let own = script
        .repo
        .find(
            &HeadRef::branch("feature"),
            StateFilter::All,
            PrFields::NONE,
        )
        .await
        .unwrap()
        .pulls;
    assert_eq!(numbers(own), [3, 5]);
    let theirs = HeadRef::in_fork("Grace", "feature");
    let theirs = script
        .repo
        .find(&theirs, StateFilter::All, PrFields::NONE)
        .await
        .unwrap()
        .pulls;
    assert_eq!(numbers(theirs), [4, 2]);
    assert_json_snapshot!("find", script.sent()[0]);
}

#[tokio::test]
async fn reading_status_takes_one_request() {
    let answer = json!({
        "repository": { "pullRequests": { "nodes": [changed(9, json!({ "state": "MERGED" })), pull(8)] } },
        "created": { "nodes": [pull(8), pull(6)] },
        "requested": { "nodes": [pull(5), changed(4, json!({ "state": "CLOSED" }))] },
    });
    let without =
        json!({ "repository": {}, "created": { "nodes": [] }, "requested": { "nodes": [] } });
    let script = Script::play(vec![
        data("PullStatus", answer),
        data("PullStatus", without),
    ])
    .await;
    let head = HeadRef::branch("feature");
    let status = script
        .repo
        .status(Some(&head), PrFields::ROW)
        .await
        .unwrap();
    assert_eq!(status.current_branch.unwrap().number, Some(8));
    assert_eq!((status.created_by.len(), status.needs_review.len()), (2, 1));
    assert!(
        script
            .repo
            .status(None, PrFields::ROW)
            .await
            .unwrap()
            .current_branch
            .is_none()
    );
    assert_json_snapshot!("status", script.sent());
}

#[tokio::test]
async fn status_continues_long_lists_in_smaller_pages() {
    let more = found(pulls(1..3), 3, Some("s1"))["search"].clone();
    let answer = json!({ "repository": {}, "created": { "nodes": [pull(6)] }, "requested": more });
    let script = Script::play(vec![
        data("PullStatus", answer),
        data("PullSearch", found(pulls(1..3), 3, Some("s1"))),
        data("PullSearch", found(pulls(3..4), 3, None)),
    ])
    .await;
    let status = script.repo.status(None, PrFields::REVIEWS).await.unwrap();
    assert_eq!((status.created_by.len(), status.needs_review.len()), (1, 3));
    let sent = script.sent();
    assert_eq!(sent[0].1["first"], 10);
    assert_eq!(
        sent[1].1["query"],
        "review-requested:@me repo:octo/tools is:pr state:open sort:created-desc"
    );
}

/// Returns a pull request with more than twelve MiB of data that was not requested.
fn long(number: u64) -> Vec<Value> {
    let groups = vec![json!({}); 60_000];
    vec![changed(number, json!({ "reactionGroups": groups }))]
}

#[tokio::test]
async fn oversized_list_ends_with_cursor() {
    let script = Script::play(vec![
        data("PullList", list(long(1), 9, Some("c1"))),
        data("PullList", list(long(2), 9, Some("c2"))),
        data("PullList", list(long(3), 9, Some("c3"))),
        // The next call has its own memory budget.
        data("PullList", list(long(3), 9, Some("c3"))),
    ])
    .await;
    let query = PullQuery::default();
    let page = script.repo.pulls(&query, PageReq::first(9)).await.unwrap();
    assert_eq!(page.items.len(), 2);
    let said = &page.warnings[0];
    assert!(said.message.contains("more than 32 MiB in all"), "{said:?}");
    assert!(said.hint.as_ref().unwrap().text().contains("lower limit"));
    let next = PageReq::after(page.next.unwrap(), 1);
    let page = script.repo.pulls(&query, next).await.unwrap();
    assert_eq!(page.items[0].number, Some(3));
    let sent = script.sent();
    assert_eq!(
        (&sent[2].1["after"], &sent[3].1["after"]),
        (&json!("c2"), &json!("c2"))
    );
}

/// A row of nine MiB is refused even on a page of one row.
#[tokio::test]
async fn long_rows_are_read_in_smaller_pages() {
    let body = "x".repeat(9 << 20);
    let row = || changed(1, json!({ "body": body }));
    let long = || data("PullList", list(vec![row()], 9, None));
    let few = data("PullList", list(pulls(1..3), 9, Some("c1")));
    let script = Script::play(vec![long(), few, long(), long()]).await;
    let query = PullQuery::default();
    let page = script.repo.pulls(&query, PageReq::first(5)).await;
    let e = page.unwrap_err();
    assert_eq!(e.code(), "protocol");
    assert!(e.message().contains("more than 8 MiB in one answer"), "{e}");
    assert!(e.hint().unwrap().text().contains("fewer fields"), "{e:?}");
    let sent = script.sent();
    let first: Vec<_> = sent
        .iter()
        .map(|(_, variables)| &variables["first"])
        .collect();
    assert_eq!(first, [5, 2, 2, 1]);
}

#[tokio::test]
async fn oversized_threads_of_row_use_smaller_pages() {
    let long = || {
        let long = ResponseTemplate::new(200).set_body_string("x".repeat(9 << 20));
        answer("PullList", long)
    };
    let threads = page(vec![thread("PRRT_1", false)], "r1");
    let row = changed(7, json!({ "reviewThreads": threads }));
    let more = json!({ "id": "PR_7", "reviewThreads": nodes(vec![thread("PRRT_2", false)]) });
    let script = Script::play(vec![
        long(),
        long(),
        long(),
        data("PullList", list(vec![row], 1, None)),
        data("PullMore", json!({ "node": more })),
    ])
    .await;
    let mut query = PullQuery::default();
    query.fields = PrFields::THREADS;
    let found = script.repo.pulls(&query, PageReq::first(1)).await.unwrap();
    assert_eq!(found.items[0].threads.as_ref().unwrap().len(), 2);
    let documents = script.documents();
    for (document, size) in documents.iter().zip([100, 50, 25, 12, 100]) {
        let list = format!("reviewThreads(first: {size}");
        assert!(document.contains(&list), "{size}: {document}");
    }
    script.sent();
}

#[tokio::test]
async fn answer_of_too_many_items_is_refused() {
    let empty = |count: usize| vec![json!({}); count];
    let rows = |rows: Vec<Value>| data("PullList", list(rows, 9, None));
    let labels = changed(1, json!({ "labels": { "nodes": empty(70_000) } }));
    let script = Script::play(vec![rows(empty(1_001)), rows(vec![labels])]).await;
    let query = PullQuery::default();
    for said in ["more than 1000 nodes", "more than 65536 items"] {
        let e = script
            .repo
            .pulls(&query, PageReq::first(9))
            .await
            .unwrap_err();
        assert_eq!(e.code(), "protocol");
        assert!(e.message().contains(said), "{e}");
    }
    script.sent();
}

#[tokio::test]
async fn seven_places_take_two_searches() {
    let rows = |number: u64| {
        let repo = json!({ "id": "R_1", "name": "tools", "owner": { "login": "octo" } });
        let row = changed(
            number,
            json!({ "id": format!("PR_{number}"), "foundIn": repo }),
        );
        json!({ "nodes": [row], "pageInfo": { "hasNextPage": false } })
    };
    let mut answer = json!({ "q0": rows(7), "q1": rows(8) });
    let mut scope = PullScope::default();
    scope.owners = (0..7).map(|n| format!("owner{n}")).collect();
    for n in 0..7 {
        answer[format!("o{n}")] = json!({ "id": "U" });
    }
    let script = Script::play(vec![data("PullsAcross", answer)]).await;
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    let client = script.repo.client();
    let found = client.list_across(&scope, &[query], 9).await.unwrap();
    let numbers = found.lists[0].iter().map(|p| p.id.key.to_string());
    let numbers: Vec<String> = numbers.collect();
    assert_eq!(numbers, ["7", "8"]);
    let sent = &script.sent()[0].1;
    let first = sent["q0"].as_str().unwrap();
    assert_eq!(first.matches(" OR ").count(), 5, "{first}");
    assert_eq!(sent["q1"], "user:owner6 is:pr state:open sort:created-desc");
}

#[tokio::test]
async fn repositories_and_owners_share_one_search() {
    let row = |number: u64, owner: &str, name: &str| {
        let repo = json!({ "id": "R_1", "name": name, "owner": { "login": owner } });
        let id = format!("PR_{owner}_{number}");
        changed(number, json!({ "id": id, "foundIn": repo }))
    };
    let rows = vec![
        row(7, "octo", "tools"),
        row(7, "ada", "own"),
        row(8, "ada", "own"),
    ];
    let mut answer = json!({ "data": {
        "q0": { "nodes": rows, "pageInfo": { "hasNextPage": true, "endCursor": "c1" } },
        "r0": { "id": "R_tools" }, "r1": null, "o0": { "id": "U_ada" },
    }});
    answer["errors"] = json!([error(&["r1"], "NOT_FOUND", "Could not resolve")]);
    let script = Script::play(vec![body("PullsAcross", answer)]).await;
    let own = script.repo.id().clone();
    let mut gone = own.clone();
    gone.path = forge_core::RepoPath::Named {
        owner: "octo".into(),
        name: "gone".into(),
    };
    let mut scope = PullScope::default();
    scope.repos = vec![own, gone.clone()];
    scope.owners = vec!["ada".into(), "a b".into()];
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    let client = script.repo.client();
    let found = client.list_across(&scope, &[query], 2).await.unwrap();
    let ids: Vec<String> = found.lists[0].iter().map(|p| p.id.to_string()).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(ids[0].ends_with("octo/tools#7") && ids[1].ends_with("ada/own#7"));
    assert!(found.is_cut && found.warnings.is_empty(), "{found:?}");
    let failed: Vec<&str> = found.failed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(failed, ["a b", gone.to_string().as_str()]);
    let sent = script.sent();
    let words = "(repo:octo/tools OR repo:octo/gone OR user:ada) \
                 is:pr state:open sort:created-desc";
    assert_eq!(sent[0].1["q0"], words);
    assert_eq!(sent[0].1["first"], 2);
    // A search also counts as cut if GitHub has more results than it returned.
    for (total, is_cut) in [(2, false), (3, true)] {
        let rows = vec![row(7, "octo", "tools"), row(8, "octo", "tools")];
        let end = json!({ "hasNextPage": false, "endCursor": "c1" });
        let all = json!({ "issueCount": total, "nodes": rows, "pageInfo": end });
        let answer = json!({ "q0": all, "r0": { "id": "R_tools" } });
        let script = Script::play(vec![data("PullsAcross", answer)]).await;
        let mut scope = PullScope::default();
        scope.repos = vec![script.repo.id().clone()];
        let mut query = PullQuery::default();
        query.fields = PrFields::ROW;
        let queries = [query];
        let client = script.repo.client();
        let found = client.list_across(&scope, &queries, 9).await.unwrap();
        assert_eq!((found.lists[0].len(), found.is_cut), (2, is_cut));
        script.sent();
    }
    // If no name in the scope is valid, no request is sent.
    let mut nowhere = PullScope::default();
    nowhere.owners = vec!["a b".into()];
    let queries = [PullQuery::default()];
    let found = client.list_across(&nowhere, &queries, 2).await.unwrap();
    assert_eq!(found.failed.len(), 1);
}
