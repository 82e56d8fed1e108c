//! What calls cost, and what they do when the index is down.

use forge_core::{
    PageReq, PullRequests,
    model::{PrFields, PullQuery, StateFilter},
};

use crate::stage::Stage;

#[tokio::test]
async fn rows_of_a_list_cost_one_request() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    for branch in ["a", "b", "c"] {
        stage.open(&repo, branch).await;
    }
    let forge = stage.tangled(&stage.bob);
    forge.era(&stage.id()).await.unwrap();
    let (index, knot) = (stage.world.index().host(), stage.world.knot().host());
    index.reset_record();
    knot.reset_record();
    let query = PullQuery {
        fields: PrFields::ROW,
        ..PullQuery::default()
    };
    let page = forge
        .list(&stage.id(), &query, PageReq::first(30))
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.scanned), (3, Some(3)));
    assert_eq!((index.count(), knot.count()), (1, 0));
}

#[tokio::test]
async fn pages_meet_without_gaps() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    for branch in ["a", "b", "c", "d", "e"] {
        stage.open(&repo, branch).await;
    }
    for base in [None, Some("main".to_owned())] {
        let query = PullQuery {
            base,
            fields: PrFields::ROW,
            ..PullQuery::default()
        };
        let mut seen = Vec::new();
        let mut next = PageReq::first(2);
        loop {
            let page = repo.list(&query, next).await.unwrap();
            seen.extend(page.items.into_iter().map(|p| p.head_branch));
            match page.next {
                Some(cursor) => next = PageReq::after(cursor, 2),
                None => break,
            }
        }
        assert_eq!(seen, ["e", "d", "c", "b", "a"]);
    }
}

#[tokio::test]
async fn without_the_index_others_are_asked_and_that_is_said() {
    for backlinks in [true, false] {
        let stage = Stage::new();
        let repo = stage.handle(&stage.alice);
        let open = stage.open(&repo, "open").await;
        let closed = stage.open(&repo, "closed").await;
        stage
            .tangled(&stage.bob)
            .close(&closed.id, &Default::default())
            .await
            .unwrap();
        let index = stage.world.index();
        index.host().set_down(true);
        index.backlinks().set_down(!backlinks);
        let forge = stage.tangled(&stage.bob);
        let page = forge
            .list(&stage.id(), &PullQuery::default(), PageReq::first(30))
            .await
            .unwrap();
        let ids: Vec<_> = page.items.iter().map(|p| p.id.clone()).collect();
        assert_eq!(
            ids,
            std::slice::from_ref(&open.id),
            "backlinks: {backlinks}"
        );
        let said = &page.warnings[0].message;
        let by = if backlinks {
            "the backlinks at"
        } else {
            "the servers of"
        };
        assert!(
            said.contains(by) && said.contains("index does not answer"),
            "{said}"
        );
        let query = PullQuery {
            state: StateFilter::All,
            ..PullQuery::default()
        };
        let all = forge
            .list(&stage.id(), &query, PageReq::first(30))
            .await
            .unwrap();
        assert_eq!(all.items.len(), 2);
        let view = forge.view(&closed.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, forge_core::model::PrState::Closed);
        assert!(view.warnings[0].message.contains(by), "{:?}", view.warnings);
    }
}
