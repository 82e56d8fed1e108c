//! A record that changes while it is about to be merged.

use std::time::Duration;

use forge_core::{AtUri, PullRequests, model::MergeReq};
use forge_tangled_world::Fault;
use serde_json::json;

use crate::stage::Stage;

const CHECK: &str = "sh.tangled.repo.mergeCheck";
const MERGE: &str = "sh.tangled.repo.merge";
const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";

#[tokio::test]
async fn record_changed_during_merge_check_is_not_merged() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let tip = stage.repo.git.oid("main");
    let (forge, req) = (stage.tangled(&stage.bob), MergeReq::default());
    let uri = AtUri::parse(&made.node_id).unwrap();
    let pds = stage.world.pds();
    let knot = stage.world.knot().host();
    let (before, record) = pds.record(&made.node_id).unwrap();
    knot.fault(Fault::delayed(Duration::from_secs(1)).on(CHECK));
    let change = async {
        while knot.faults_left() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut record = record.clone();
        record["title"] = json!("Something else");
        pds.put(&uri.authority, PULL, &uri.rkey, record).1
    };
    let (merged, now) = futures::join!(forge.merge(&made.id, &req), change);
    let e = merged.unwrap_err();
    assert_eq!(e.code(), "conflict", "{e:?}");
    match e.kind() {
        forge_core::ErrorKind::Conflict {
            what,
            expected,
            actual,
        } => {
            assert_eq!(*what, forge_core::Changed::Record);
            assert_eq!((expected, actual), (&before, &now));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(knot.count_of(MERGE), 0);
    assert_eq!(stage.repo.git.oid("main"), tip);
    assert!(pds.records(&stage.bob.did, STATUS).is_empty());
    // A second merge call reads the current record and merges it.
    let merged = forge.merge(&made.id, &req).await.unwrap();
    assert_eq!(merged.value.commit, stage.repo.git.oid("main"));
    assert_eq!(knot.count_of(MERGE), 1);
}
