//! Behaviour of finding a branch's pull requests, and those that concern the viewer.

use forge_core::model::{CreatePull, EditPull, PrFields, Reviewer, StateFilter};

use super::{Fixture, Set, cases};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        branch_without_pull_is_empty;
        open_pull_comes_first [PrClose];
        find_is_limited_to_requested_state [PrClose];
        branch_with_two_bases_finds_both_pulls;
        branch_name_must_match_whole;
        status_without_pulls_is_empty;
        status_has_pull_of_current_branch;
        status_lists_pulls_of_the_viewer [PrClose];
        status_lists_pulls_waiting_for_the_viewer [PrReviewers];
    ];
}

async fn branch_without_pull_is_empty(fx: Fixture) {
    fx.open("feature").await;
    let found = fx
        .author
        .find(&Fixture::head("other"), StateFilter::All, PrFields::NONE)
        .await
        .unwrap()
        .pulls;
    assert!(found.is_empty());
}

async fn open_pull_comes_first(fx: Fixture) {
    let first = fx.open("feature").await.id;
    fx.author.close(&first, &Default::default()).await.unwrap();
    let second = fx.open_from("feature").await.id;
    fx.author.close(&second, &Default::default()).await.unwrap();
    fx.author.reopen(&first, None).await.unwrap();
    let found = fx
        .author
        .find(&Fixture::head("feature"), StateFilter::All, PrFields::NONE)
        .await
        .unwrap()
        .pulls;
    let ids: Vec<_> = found.into_iter().map(|p| p.id).collect();
    assert_eq!(ids, [first, second]);
}

async fn find_is_limited_to_requested_state(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    let head = Fixture::head("feature");
    let open = fx
        .author
        .find(&head, StateFilter::Open, PrFields::NONE)
        .await
        .unwrap()
        .pulls;
    assert!(open.is_empty());
    let closed = fx
        .author
        .find(&head, StateFilter::Closed, PrFields::NONE)
        .await
        .unwrap()
        .pulls;
    assert_eq!(closed.len(), 1);
}

async fn branch_with_two_bases_finds_both_pulls(fx: Fixture) {
    fx.open("feature").await;
    fx.feature("release");
    let mut req = CreatePull::new("feature", "Too");
    req.base = Some("release".into());
    fx.author.create_pull(&req).await.unwrap();
    let head = Fixture::head("feature");
    let found = fx
        .author
        .find(&head, StateFilter::Open, PrFields::NONE)
        .await
        .unwrap()
        .pulls;
    assert_eq!(found.len(), 2);
}

async fn branch_name_must_match_whole(fx: Fixture) {
    fx.open("topic/a-b").await;
    for branch in ["topic", "topic/a", "topic/a-b-c", "Topic/A-B", ""] {
        let head = Fixture::head(branch);
        let found = fx
            .author
            .find(&head, StateFilter::All, PrFields::NONE)
            .await
            .unwrap()
            .pulls;
        assert!(found.is_empty(), "{branch:?}");
    }
}

async fn status_without_pulls_is_empty(fx: Fixture) {
    let status = fx.author.status(None, PrFields::NONE).await.unwrap();
    assert!(status.current_branch.is_none());
    assert!(status.created_by.is_empty() && status.needs_review.is_empty());
}

async fn status_has_pull_of_current_branch(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let head = Fixture::head("feature");
    let status = fx.author.status(Some(&head), PrFields::NONE).await.unwrap();
    assert_eq!(status.current_branch.map(|p| p.id), Some(pr));
    let none = fx
        .author
        .status(Some(&Fixture::head("main")), PrFields::NONE)
        .await
        .unwrap();
    assert!(none.current_branch.is_none());
}

async fn status_lists_pulls_of_the_viewer(fx: Fixture) {
    let closed = fx.open("closed").await.id;
    fx.author.close(&closed, &Default::default()).await.unwrap();
    let open = fx.open("open").await.id;
    fx.feature("theirs");
    fx.reviewer
        .create_pull(&CreatePull::new("theirs", "T"))
        .await
        .unwrap();
    let status = fx.author.status(None, PrFields::NONE).await.unwrap();
    let ids: Vec<_> = status.created_by.into_iter().map(|p| p.id).collect();
    assert_eq!(ids, [open]);
}

async fn status_lists_pulls_waiting_for_the_viewer(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.open("other").await;
    let login = fx.reviewer_login().await;
    let mut edit = EditPull::default();
    edit.reviewers.add = vec![Reviewer::user(login)];
    fx.author.edit_pull(&pr, &edit).await.unwrap();
    let status = fx.reviewer.status(None, PrFields::NONE).await.unwrap();
    let ids: Vec<_> = status.needs_review.into_iter().map(|p| p.id).collect();
    assert_eq!(ids, [pr]);
}
