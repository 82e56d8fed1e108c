use forge_core::{ErrorKind, Repos};
use forge_tangled::Settings;
use forge_testkit::tangled::Fault;

use crate::stage::Stage;

const CREATE: &str = "com.atproto.server.createSession";
const REFRESH: &str = "com.atproto.server.refreshSession";

fn stored(stage: &Stage, dir: &tempfile::TempDir) -> Settings {
    Settings {
        sessions: Some(dir.path().join("sessions")),
        ..stage.settings()
    }
}

/// Opens a pull request from a new branch: something that needs a session.
async fn write(tangled: &forge_tangled::Tangled, stage: &Stage, branch: &str) {
    stage.repo.git.commit(branch, "A", &[(branch, Some("x\n"))]);
    let req = forge_core::model::CreatePull::new(branch, "T");
    forge_core::PullRequests::create(tangled, &stage.id(), &req)
        .await
        .unwrap();
}

#[tokio::test]
async fn one_login_serves_many_processes() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    for branch in ["a", "b"] {
        let tangled = stage.tangled_with(stored(&stage, &dir), Some(&stage.alice));
        write(&tangled, &stage, branch).await;
    }
    assert_eq!(stage.world.pds().host().count_of(CREATE), 1);
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_for_all_who_wait() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let tangled = stage.tangled_with(stored(&stage, &dir), Some(&stage.alice));
    write(&tangled, &stage, "first").await;
    // The server's clock is three hours ahead of ours: it says no to what looks fresh to us.
    stage.world.pds().set_clock(3 * 3600);
    for branch in ["a", "b", "c"] {
        stage.repo.git.commit(branch, "A", &[(branch, Some("x\n"))]);
    }
    let titles = ["a", "b", "c"].map(|b| forge_core::model::CreatePull::new(b, "T"));
    let all = titles
        .iter()
        .map(|req| forge_core::PullRequests::create(&tangled, stage.repo_id(), req));
    for done in futures::future::join_all(all).await {
        done.unwrap();
    }
    assert_eq!(stage.world.pds().host().count_of(REFRESH), 1);
    assert_eq!(stage.world.pds().host().count_of(CREATE), 1);
}

#[tokio::test]
async fn a_revoked_session_logs_in_again_and_a_wrong_password_says_so() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let tangled = stage.tangled_with(stored(&stage, &dir), Some(&stage.alice));
    write(&tangled, &stage, "a").await;
    stage.world.pds().set_clock(3 * 3600);
    stage.world.pds().revoke_sessions(&stage.alice.did);
    write(&tangled, &stage, "b").await;
    assert_eq!(stage.world.pds().host().count_of(CREATE), 2);

    let wrong = stage.tangled_as(stage.settings(), "alice.test", "wrong");
    stage.repo.git.commit("c", "A", &[("c", Some("x\n"))]);
    let req = forge_core::model::CreatePull::new("c", "T");
    let e = forge_core::PullRequests::create(&wrong, &stage.id(), &req)
        .await
        .unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::Unauthenticated { .. }),
        "{e:?}"
    );
    assert!(!format!("{e:?}").contains("wrong\""), "{e:?}");
    assert!(e.hint().unwrap().contains("app password"), "{e:?}");
}

#[tokio::test]
async fn a_server_that_is_away_ends_no_session() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let tangled = stage.tangled_with(stored(&stage, &dir), Some(&stage.alice));
    write(&tangled, &stage, "a").await;
    stage.world.pds().set_clock(3 * 3600);
    let pds = stage.world.pds().host();
    pds.fault(Fault::gateway(503).on(REFRESH).always());
    stage.repo.git.commit("b", "A", &[("b", Some("x\n"))]);
    let req = forge_core::model::CreatePull::new("b", "T");
    let e = forge_core::PullRequests::create(&tangled, &stage.id(), &req)
        .await
        .unwrap_err();
    assert!(
        !matches!(e.kind(), ErrorKind::Unauthenticated { .. }),
        "{e:?}"
    );
    pds.clear_faults();
    write(&tangled, &stage, "c").await;
    assert_eq!(pds.count_of(CREATE), 1, "the old session was renewed");
}

#[tokio::test]
async fn nobody_can_read_but_not_write() {
    let stage = Stage::new();
    let nobody = stage.tangled_with(stage.settings(), None);
    let info = nobody.repo(&stage.id()).await.unwrap();
    assert_eq!(info.default_branch.as_deref(), Some("main"));
    assert_eq!(info.permission, forge_core::model::Permission::Read);
    let e = nobody.viewer(&stage.id()).await.unwrap_err();
    assert!(e.hint().unwrap().contains("forge auth login"), "{e:?}");
}
