//! Records that were written to do harm, or by accident.

use forge_core::{
    PageReq, PullRequests,
    model::{PrFields, PullQuery},
};
use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn none_panics_and_none_is_lost_silently() {
    let stage = Stage::new();
    let good = stage.open(&stage.handle(&stage.alice), "topic").await;
    let target = json!({"repo": stage.repo.did, "branch": "main"});
    let pds = stage.world.pds();
    let blob = pds.blob(&stage.bob.did, "application/gzip", b"not gzip");
    let huge = "x".repeat(900_000);
    for record in [
        json!({"title": 7, "target": target}),
        json!({"title": "no rounds", "target": target, "createdAt": "2026-11-01T00:00:00Z"}),
        json!({"title": huge, "target": target, "rounds": "x", "createdAt": "never"}),
        json!({"title": "T", "target": target, "rounds": [null, 1, {}], "source": [], "body": {}}),
        json!({"title": "T", "target": target, "rounds": [{"patchBlob": blob}],
               "createdAt": "2026-11-01T00:00:00+23:59"}),
    ] {
        pds.add(&stage.bob.did, "sh.tangled.repo.pull", record);
    }
    for value in [
        json!(null),
        json!({"uri": [1]}),
        json!({"uri": good.node_id, "cid": 3}),
    ] {
        let comment = json!({"subject": value, "body": 3, "replyTo": {"uri": {}}});
        pds.add(&stage.bob.did, "sh.tangled.feed.comment", comment);
        let op = json!({"subject": good.node_id, "add": [value], "delete": 1});
        pds.add(&stage.alice.did, "sh.tangled.label.op", op);
        let status = json!({"pull": good.node_id, "status": value, "createdAt": 1});
        pds.add(&stage.alice.did, "sh.tangled.repo.pull.status", status);
    }
    for index_is_down in [false, true] {
        stage.world.index().host().set_down(index_is_down);
        let forge = stage.tangled(&stage.bob);
        let page = forge
            .list(&stage.id(), &PullQuery::default(), PageReq::first(50))
            .await
            .unwrap();
        assert!(page.items.iter().any(|p| p.id == good.id));
        if index_is_down {
            // What is no pull request at all is told as a warning.
            let told = |w: &forge_core::Warning| w.message.contains("is no pull request");
            assert!(page.warnings.iter().any(told), "{:?}", page.warnings);
        }
        for row in page.items {
            let fields = PrFields::STATS | PrFields::COMMENTS | PrFields::COMMITS;
            let view = forge.view(&row.id, fields).await.unwrap();
            if view.id != good.id {
                assert!(!view.warnings.is_empty(), "{view:?}");
            }
        }
    }
}

#[tokio::test]
async fn answers_to_oneself_and_odd_times_are_only_data() {
    let stage = Stage::new();
    let good = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    let mut comment = json!({
        "subject": {"uri": good.node_id, "cid": good.version},
        "body": {"$type": "sh.tangled.markup.markdown", "text": "me"},
        "createdAt": "2026-11-01T00:00:00-11:30",
    });
    let (uri, cid) = pds.add(&stage.bob.did, "sh.tangled.feed.comment", comment.clone());
    comment["replyTo"] = json!({"uri": uri, "cid": cid});
    let rkey = uri.rsplit('/').next().unwrap();
    pds.put(&stage.bob.did, "sh.tangled.feed.comment", rkey, comment);
    let forge = stage.tangled(&stage.alice);
    let view = forge.view(&good.id, PrFields::COMMENTS).await.unwrap();
    let comments = view.comments.unwrap();
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].reply_to.as_ref(), Some(&uri));
    let _: Value = serde_json::to_value(&comments[0]).unwrap();
}
