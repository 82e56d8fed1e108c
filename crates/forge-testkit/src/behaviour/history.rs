//! Behaviour of the status history.

use forge_core::{
    PageReq,
    model::{CloseReq, StatusEventKind},
};

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        history_begins_with_opened [PrHistory];
        events_have_actors_in_order [PrHistory, PrClose, PrReopen, PrDraft, MergeCommit];
        repeated_changes_add_no_events [PrHistory, PrClose];
        history_is_paged [PrHistory, PrClose, PrReopen];
        history_of_missing_pull_is_not_found [PrHistory];
    ];
}

async fn history_begins_with_opened(fx: Fixture) {
    let pr = fx.open("feature").await;
    let events = fx
        .author
        .history(&pr.id, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].kind, StatusEventKind::Opened);
    assert_eq!(events[0].actor.login, fx.author_login().await);
    assert_eq!(events[0].created_at, pr.created_at);
}

async fn events_have_actors_in_order(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.set_draft(&pr, true).await.unwrap();
    fx.author.set_draft(&pr, false).await.unwrap();
    fx.reviewer.close(&pr, &CloseReq::default()).await.unwrap();
    fx.author.reopen(&pr, None).await.unwrap();
    fx.reviewer.merge(&pr, &Default::default()).await.unwrap();
    let events = fx
        .author
        .history(&pr, PageReq::first(50))
        .await
        .unwrap()
        .items;
    let (ada, grace) = (fx.author_login().await, fx.reviewer_login().await);
    let got: Vec<_> = events
        .iter()
        .map(|e| (e.kind, e.actor.login.as_str()))
        .collect();
    let wanted = [
        (StatusEventKind::Opened, ada.as_str()),
        (StatusEventKind::ConvertedToDraft, &ada),
        (StatusEventKind::ReadyForReview, &ada),
        (StatusEventKind::Closed, &grace),
        (StatusEventKind::Reopened, &ada),
        (StatusEventKind::Merged, &grace),
    ];
    assert_eq!(got, wanted);
    assert!(
        events
            .windows(2)
            .all(|w| w[0].created_at <= w[1].created_at)
    );
}

async fn repeated_changes_add_no_events(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    let events = fx
        .author
        .history(&pr, PageReq::first(50))
        .await
        .unwrap()
        .items;
    assert_eq!(events.len(), 2, "{events:?}");
}

async fn history_is_paged(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for _ in 0..2 {
        fx.author.close(&pr, &CloseReq::default()).await.unwrap();
        fx.author.reopen(&pr, None).await.unwrap();
    }
    let mut ids = Vec::new();
    let mut page = PageReq::first(2);
    loop {
        let got = fx.author.history(&pr, page).await.unwrap();
        ids.extend(got.items.into_iter().map(|e| e.id));
        let Some(next) = got.next else { break };
        page = PageReq::after(next, 2);
    }
    let all = ids.len();
    ids.dedup();
    assert_eq!((all, ids.len()), (5, 5));
}

async fn history_of_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author
            .history(&fx.author.pull_id(31), PageReq::first(1))
            .await,
        "not_found",
    );
}
