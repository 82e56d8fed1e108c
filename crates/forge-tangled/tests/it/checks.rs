//! Checks: the pipelines that the repository's spindle has run.

use forge_core::{
    Checks, ErrorKind, PageReq, PullRequests, Repo,
    model::{CheckRollup, CheckStatus, CreatePull, DiffReq, PrFields, PullQuery, PullRequest},
};
use forge_tangled_world::{Fault, SpindleDouble};
use serde_json::json;

use crate::stage::Stage;

/// Creates a repository with a spindle, and opens a pull request.
async fn with_spindle() -> (Stage, SpindleDouble, Repo, PullRequest) {
    let stage = Stage::new();
    let spindle = SpindleDouble::start().unwrap();
    let uri = format!("at://{}/sh.tangled.repo/widget", stage.alice.did);
    let (_, mut record) = stage.world.pds().record(&uri).unwrap();
    record["spindle"] = json!(spindle.host().authority());
    let did = &stage.alice.did;
    stage
        .world
        .pds()
        .put(did, "sh.tangled.repo", "widget", record);
    let repo = stage.handle(&stage.alice);
    let pull = stage.open(&repo, "topic").await;
    (stage, spindle, repo, pull)
}

#[tokio::test]
async fn newest_run_of_each_workflow_counts() {
    let (stage, spindle, repo, pull) = with_spindle().await;
    let (did, head) = (&stage.repo.did, pull.head_oid.clone().unwrap());
    let old = [("build.yml", "failed"), ("test.yml", "success")];
    spindle.run(did, &head, "push", &old);
    let new = [("build.yml", "success"), ("lint.yml", "timeout")];
    spindle.run(did, &head, "push", &new);
    spindle.run(did, &head, "manual", &[("nightly.yml", "running")]);
    // Runs of another commit, and of another repository, do not count.
    spindle.run(did, &"0".repeat(40), "push", &[("other.yml", "failed")]);
    spindle.run("did:plc:else", &head, "push", &[("else.yml", "failed")]);

    let report = repo.checks(&pull.id).await.unwrap();
    let seen: Vec<_> = report
        .checks
        .iter()
        .map(|c| (c.name.as_str(), c.status, c.event.as_deref().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            ("lint.yml", CheckStatus::Failure, "push"),
            ("nightly.yml", CheckStatus::Pending, "manual"),
            ("build.yml", CheckStatus::Success, "push"),
            ("test.yml", CheckStatus::Success, "push"),
        ]
    );
    assert_eq!(report.checks[0].conclusion.as_deref(), Some("TIMEOUT"));
    assert_eq!(
        (report.commit, report.overall),
        (head, CheckRollup::Failure)
    );
    assert_eq!(spindle.host().count(), 1);
}

#[tokio::test]
async fn unknown_check_state_is_not_success() {
    let (stage, spindle, repo, pull) = with_spindle().await;
    let head = pull.head_oid.clone().unwrap();
    spindle.run(&stage.repo.did, &head, "push", &[("build.yml", "queued")]);
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.overall, CheckRollup::Pending);
}

#[tokio::test]
async fn all_pages_of_check_runs_are_read() {
    let (stage, spindle, repo, pull) = with_spindle().await;
    let head = pull.head_oid.clone().unwrap();
    let names: Vec<String> = (0..251).map(|n| format!("{n}.yml")).collect();
    for name in &names {
        spindle.run(&stage.repo.did, &head, "push", &[(name, "success")]);
    }
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.checks.len(), names.len());
    assert_eq!(spindle.host().count(), 2);
}

#[tokio::test]
async fn idle_spindle_is_neutral_and_unreachable_is_error() {
    let (_stage, spindle, repo, pull) = with_spindle().await;
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.overall, CheckRollup::Neutral);
    spindle.host().set_down(true);
    let e = repo.checks(&pull.id).await.unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Network), "{e:?}");
}

#[tokio::test]
async fn repository_without_spindle_has_no_checks() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let pull = stage.open(&repo, "topic").await;
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.overall, CheckRollup::Neutral);
    assert!(report.checks.is_empty());
}

/// Without the newest round, its head commit is unknown, so nobody knows its checks.
#[tokio::test]
async fn checks_of_unread_round_are_unknown() {
    let (stage, spindle, _, pull) = with_spindle().await;
    let head = pull.head_oid.clone().unwrap();
    spindle.run(&stage.repo.did, &head, "push", &[("build.yml", "failed")]);
    let blobs = "com.atproto.sync.getBlob";
    let garbage = Fault::answer(200, &[("content-type", "application/gzip")], "no patch");
    for fault in [
        Fault::error(400, "InvalidRequest", "Blob not found"),
        Fault::gateway(503),
        garbage,
    ] {
        let reader = stage.handle(&stage.bob);
        stage.world.pds().host().fault(fault.on(blobs).always());
        let view = reader.pull(&pull.id, PrFields::CHECKS).await.unwrap();
        stage.world.pds().host().clear_faults();
        assert!(view.checks.is_none(), "{view:?}");
        let unread = |w: &&forge_core::Warning| w.section == Some("checks");
        assert_eq!(view.warnings.iter().filter(unread).count(), 1, "{view:?}");
        let told: Vec<&str> = view.warnings.iter().map(|w| w.message.as_str()).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        let checks = "the checks could not be read: the head commit is not known";
        assert!(told.contains(&checks), "{told:?}");
    }
    assert_eq!(spindle.host().count(), 0);
}

#[tokio::test]
async fn missing_patch_is_not_found_with_a_recovery() {
    let (stage, _spindle, _, pull) = with_spindle().await;
    let missing = Fault::error(400, "InvalidRequest", "Blob not found");
    let missing = missing.on("com.atproto.sync.getBlob").always();
    stage.world.pds().host().fault(missing);
    let reader = stage.handle(&stage.bob);
    let errors = [
        reader.checks(&pull.id).await.unwrap_err(),
        reader
            .diff(&pull.id, &DiffReq::default())
            .await
            .unwrap_err(),
        reader.mergeability(&pull.id).await.unwrap_err(),
    ];
    for e in errors {
        assert_eq!(e.code(), "not_found", "{e:?}");
        let hint = e.hint().unwrap().to_string();
        assert!(
            hint.contains("have its author submit another round"),
            "{hint}"
        );
    }
}

/// A record may name a commit whose checks succeed, while its server keeps the patch back.
#[tokio::test]
async fn recorded_commit_of_unread_round_proves_no_checks() {
    let (stage, spindle, _, pull) = with_spindle().await;
    let head = pull.head_oid.clone().unwrap();
    spindle.run(&stage.repo.did, &head, "push", &[("build.yml", "success")]);
    let (pds, did) = (stage.world.pds(), &stage.alice.did);
    let (_, mut record) = pds.record(&pull.node_id).unwrap();
    record["source"]["sha"] = json!(head);
    let key = pull.node_id.rsplit('/').next().unwrap();
    pds.put(did, "sh.tangled.repo.pull", key, record);
    let missing = Fault::error(400, "InvalidRequest", "Blob not found");
    let missing = missing.on("com.atproto.sync.getBlob").always();
    pds.host().fault(missing);
    let reader = stage.handle(&stage.bob);
    let view = reader.pull(&pull.id, PrFields::CHECKS).await.unwrap();
    assert_eq!(view.head_oid.as_ref(), Some(&head));
    assert!(view.checks.is_none());
    let unread = |w: &&forge_core::Warning| w.section == Some("checks");
    assert_eq!(view.warnings.iter().filter(unread).count(), 1);
    let e = reader.checks(&pull.id).await.unwrap_err();
    assert_eq!(e.code(), "not_found", "{e:?}");
}

#[tokio::test]
async fn view_has_checks_on_request() {
    let (stage, spindle, repo, pull) = with_spindle().await;
    let head = pull.head_oid.clone().unwrap();
    spindle.run(&stage.repo.did, &head, "push", &[("build.yml", "failed")]);
    let view = repo.pull(&pull.id, PrFields::NONE).await.unwrap();
    assert!(view.checks.is_none() && spindle.host().count() == 0);

    let view = repo.pull(&pull.id, PrFields::CHECKS).await.unwrap();
    let report = view.checks.unwrap();
    assert_eq!(
        (report.commit, report.overall),
        (head, CheckRollup::Failure)
    );
    assert_eq!(report.checks[0].name, "build.yml");
    assert_eq!(spindle.host().count(), 1);
}

#[tokio::test]
async fn view_works_without_spindle() {
    let (_stage, spindle, repo, pull) = with_spindle().await;
    spindle.host().set_down(true);
    let view = repo.pull(&pull.id, PrFields::CHECKS).await.unwrap();
    assert_eq!(view.title, pull.title);
    assert!(view.checks.is_none());
    let sections: Vec<_> = view.warnings.iter().map(|w| w.section).collect();
    assert_eq!(sections, [Some("checks")], "{:?}", view.warnings);
    assert!(view.warnings[0].message.contains("could not be read"));
}

#[tokio::test]
async fn checks_of_all_list_rows_are_requested_once() {
    let (stage, spindle, repo, first) = with_spindle().await;
    let second = stage.open(&repo, "other").await;
    let head = |pull: &PullRequest| pull.head_oid.clone().unwrap();
    let did = &stage.repo.did;
    spindle.run(did, &head(&first), "push", &[("build.yml", "success")]);
    spindle.run(did, &head(&second), "push", &[("build.yml", "failed")]);
    let mut query = PullQuery::default();
    query.fields = PrFields::CHECKS;
    let page = repo.pulls(&query, PageReq::first(30)).await.unwrap();
    let overall: Vec<_> = page
        .items
        .iter()
        .map(|pull| pull.checks.as_ref().unwrap().overall)
        .collect();
    assert_eq!(overall, [CheckRollup::Failure, CheckRollup::Success]);
    assert_eq!(spindle.host().count(), 1);

    spindle.host().set_down(true);
    let page = repo.pulls(&query, PageReq::first(30)).await.unwrap();
    for row in &page.items {
        assert!(row.checks.is_none());
        assert!(row.warnings.iter().any(|w| w.section == Some("checks")));
    }
}

/// In Tangled 1.0, the repository's manifest names the spindle.
#[tokio::test]
async fn checks_of_1_0_come_from_its_own_method() {
    let stage = Stage::new();
    let spindle = SpindleDouble::start().unwrap();
    let (repo, id) = stage.repo_1_0();
    let head = repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let forge = stage.tangled(&stage.alice);
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let pr = made.unwrap().value.id;
    let host = spindle.host().authority();
    let run = [("build.yml", "failed")];
    spindle.run(&repo.did, &head, "push", &run);
    let knot = stage.world.knot();
    let manifest = |named: serde_json::Value| {
        let manifest = json!({ "owner": stage.alice.did, "name": "new", "spindle": named });
        knot.put_record(&repo.did, "org.tangled.repo.manifest", "self", manifest);
    };
    for (named, reads) in [
        // The first command also asks for the protocol of the repository.
        (host.clone(), 2),
        (format!("did:web:{}", host.replace(':', "%3A")), 1),
    ] {
        manifest(json!(named));
        // The manifest is read each time, because the owner may choose another spindle.
        knot.host().reset_record();
        let report = forge.checks(&pr).await.unwrap();
        let requests = knot.host().requests();
        let manifests = requests
            .iter()
            .filter(|it| it.query.contains("org.tangled.repo.manifest"));
        assert_eq!(manifests.count(), reads, "{requests:?}");
        assert_eq!(
            (report.commit.as_str(), report.overall),
            (&*head, CheckRollup::Failure)
        );
        let view = forge.view(&pr, PrFields::CHECKS).await.unwrap();
        assert_eq!(view.checks.unwrap().checks[0].name, "build.yml");
        let view = forge.view(&pr, PrFields::NONE).await.unwrap();
        assert!(view.checks.is_none());
    }
    let host = spindle.host();
    assert_eq!(host.count_of("org.tangled.ci.queryPipelines"), 4);
    assert_eq!(host.count(), 4);
    // The name of the field is known from prose alone, so its absence is not "no checks".
    for named in [json!(null), json!(7), json!(" ")] {
        manifest(named);
        let e = forge.checks(&pr).await.unwrap_err();
        assert_eq!(e.code(), "unsupported", "{e:?}");
        assert!(
            e.hint()
                .unwrap()
                .text()
                .contains("dialect.manifest_spindle")
        );
        let view = forge.view(&pr, PrFields::CHECKS).await.unwrap();
        assert!(view.checks.is_none());
        let unread = |w: &forge_core::Warning| w.section == Some("checks");
        assert!(view.warnings.iter().any(unread), "{:?}", view.warnings);
    }
}

#[tokio::test]
async fn all_pages_of_1_0_check_runs_are_read() {
    let stage = Stage::new();
    let spindle = SpindleDouble::start().unwrap();
    let (repo, id) = stage.repo_1_0();
    let head = repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let forge = stage.tangled(&stage.alice);
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let pr = made.unwrap().value.id;
    let named = spindle.host().authority();
    let manifest = json!({ "owner": stage.alice.did, "name": "new", "spindle": named });
    let knot = stage.world.knot();
    knot.put_record(&repo.did, "org.tangled.repo.manifest", "self", manifest);
    let names: Vec<String> = (0..501).map(|n| format!("{n}.yml")).collect();
    for name in &names {
        spindle.run(&repo.did, &head, "push", &[(name, "success")]);
    }
    let report = forge.checks(&pr).await.unwrap();
    assert_eq!(report.checks.len(), names.len());
    let host = spindle.host();
    assert_eq!(host.count_of("org.tangled.ci.queryPipelines"), 3);
    assert_eq!(host.count(), 3);
}
