//! Repositories of Tangled 1.0 whose owner has written no declaration: only the repository's own
//! account on the knot shows it.

use std::time::Duration;

use forge_core::{
    Issues, PullRequests, Reviews,
    model::{CloseReq, CreatePull, EditPull, MergeReq, NewIssue, PrFields, PrState, PullRequest},
};
use forge_tangled::Tangled;
use forge_tangled_world::{Fault, Recorded};
use serde_json::json;

use crate::stage::Stage;

const GET: &str = "com.atproto.repo.getRecord";
const MANIFEST: &str = "org.tangled.repo.manifest";
const MERGE: &str = "sh.tangled.repo.merge";

async fn ground() -> (Stage, Tangled, PullRequest) {
    let stage = Stage::new();
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    stage.repo.git.commit("next", "Next", &[("n", Some("1\n"))]);
    let forge = stage.tangled(&stage.alice);
    (stage, forge, pull)
}

/// Tries a write of each kind, and returns the errors.
async fn try_writes(stage: &Stage, forge: &Tangled, pull: &PullRequest) -> Vec<forge_core::Error> {
    let pr = &pull.id;
    let mut edit = EditPull::default();
    edit.title = Some("Other".to_owned());
    let (req, issue) = (CreatePull::new("next", "Next"), NewIssue::new("One", ""));
    let errors = [
        forge.create(stage.repo_id(), &req).await.err(),
        forge.create_issue(stage.repo_id(), &issue).await.err(),
        forge.comment(pr, "So?", None).await.err(),
        forge.edit(pr, &edit).await.err(),
        forge.close(pr, &CloseReq::default()).await.err(),
        forge.merge(pr, &MergeReq::default()).await.err(),
    ];
    errors.into_iter().flatten().collect()
}

fn writes(stage: &Stage) -> usize {
    let pds = stage.world.pds().host().requests().into_iter();
    let is_write = |nsid: &str| nsid.ends_with("Record") && !nsid.ends_with("getRecord");
    let all = pds.filter(|it| it.verb == "POST");
    all.filter(|it| {
        it.method()
            .is_some_and(|nsid| is_write(nsid) || nsid.ends_with("Writes"))
    })
    .count()
}

#[tokio::test]
async fn manifest_without_declaration_refuses_writes_of_2026() {
    let (stage, forge, pull) = ground().await;
    let knot = stage.world.knot().host();
    let did = &stage.repo.did;
    let record = json!({
        "uri": format!("at://{did}/{MANIFEST}/self"),
        "value": { "$type": MANIFEST, "owner": stage.alice.did, "name": "widget" },
    });
    let kind = [("content-type", "application/json")];
    let manifest = Fault::answer(200, &kind, record.to_string());
    knot.fault(manifest.on(GET).always());
    let before = writes(&stage);
    let errors = try_writes(&stage, &forge, &pull).await;
    assert_eq!(errors.len(), 6);
    for e in errors {
        assert_eq!(e.code(), "precondition_failed", "{e:?}");
        assert!(e.message().contains("uses Tangled 1.0 by now"), "{e:?}");
        assert!(e.message().contains(MANIFEST), "{e:?}");
        assert!(e.hint().unwrap().text().contains("on the web"), "{e:?}");
    }
    assert_eq!((writes(&stage), knot.count_of(MERGE)), (before, 0));
    let view = forge.view(&pull.id, PrFields::NONE).await.unwrap();
    assert_eq!(view.state, PrState::Open);
}

#[tokio::test]
async fn unreadable_manifest_refuses_writes_of_2026() {
    let (stage, forge, pull) = ground().await;
    let knot = stage.world.knot().host();
    knot.fault(Fault::gateway(502).on(GET).always());
    let before = writes(&stage);
    let errors = try_writes(&stage, &forge, &pull).await;
    assert_eq!(errors.len(), 6);
    for e in errors {
        assert!(e.message().contains("it is unknown whether"), "{e:?}");
    }
    assert_eq!((writes(&stage), knot.count_of(MERGE)), (before, 0));
}

/// The knot is asked while the owner's server is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manifest_is_probed_beside_the_declarations() {
    let (stage, forge, pull) = ground().await;
    forge.comment(&pull.id, "First.", None).await.unwrap();
    let hosts = [stage.world.pds().host(), stage.world.knot().host()];
    for host in hosts {
        host.set_latency(Duration::from_millis(200));
        host.reset_record();
    }
    forge.comment(&pull.id, "Second.", None).await.unwrap();
    let knot = stage.world.knot().host();
    assert_eq!((knot.count(), knot.count_of(GET)), (1, 1));
    // The pull request, the declarations with the manifest, and the comment.
    assert_eq!(Recorded::longest_chain(&hosts), 3);
}

/// Knots of 2026 know no accounts, and refuse the question in several ways.
#[tokio::test]
async fn knot_without_accounts_has_no_manifest() {
    for fault in [
        Fault::error(501, "MethodNotImplemented", "Method Not Implemented"),
        Fault::error(404, "", ""),
        Fault::error(400, "InvalidRequest", "Could not find repo"),
        Fault::error(400, "RecordNotFound", "Could not locate record"),
    ] {
        let (stage, forge, pull) = ground().await;
        let knot = stage.world.knot().host();
        knot.reset_record();
        knot.fault(fault.on(GET).always());
        forge.comment(&pull.id, "So?", None).await.unwrap();
        assert_eq!(knot.count_of(GET), 1);
    }
}
