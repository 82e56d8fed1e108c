use std::{sync::Arc, time::Duration};

use forge_core::{
    ErrorKind, PullRequests, Repos, Reviews,
    model::{CreatePull, PrFields, PrState},
};
use forge_http::{Http, Secret};
use forge_tangled::{FixedLogin, Login, Settings, Tangled};
use forge_testkit::{
    CANARY,
    tangled::{Fault, Trap},
};
use serde_json::json;

use crate::stage::{PASSWORD, Stage};

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

    let wrong = stage.tangled_as(stage.settings(), "alice.test", "0canary0-wrong");
    stage.repo.git.commit("c", "A", &[("c", Some("x\n"))]);
    let req = forge_core::model::CreatePull::new("c", "T");
    let e = forge_core::PullRequests::create(&wrong, &stage.id(), &req)
        .await
        .unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::Unauthenticated { .. }),
        "{e:?}"
    );
    assert!(!format!("{e} {e:?}").contains(CANARY));
    assert!(e.hint().unwrap().contains("app password"), "{e:?}");
}

#[tokio::test]
async fn a_server_that_repeats_the_password_does_not_get_it_shown() {
    let words = format!("{PASSWORD} is no password");
    let faults = [400, 401, 403, 500].map(|status| Fault::error(status, "InvalidRequest", &words));
    let no_json = Fault::answer(200, &[], words.as_str());
    for fault in faults.into_iter().chain([no_json]) {
        let stage = Stage::new();
        let pds = stage.world.pds().host();
        pds.fault(fault.on(CREATE).always());
        stage.repo.git.commit("a", "A", &[("a", Some("x\n"))]);
        let req = CreatePull::new("a", "T");
        let answer = stage.tangled(&stage.alice).create(&stage.id(), &req).await;
        let e = answer.unwrap_err();
        let said = format!("{e} {e:?}");
        assert!(!said.contains(CANARY), "{}", said.replace(CANARY, "(it)"));
    }
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_token_is_renewed_once_for_all_processes() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let process = || stage.tangled_with(stored(&stage, &dir), Some(&stage.alice));
    write(&process(), &stage, "first").await;
    stage.world.pds().set_clock(3 * 3600);
    // Each opens the lock file for itself, as processes do.
    let processes: Vec<_> = (0..8).map(|_| process()).collect();
    let made = stage
        .world
        .pds()
        .records(&stage.alice.did, "sh.tangled.repo.pull");
    let uri = &made[0].0;
    let comments = processes.iter().enumerate().map(|(n, forge)| {
        let id = forge_core::PrId {
            repo: stage.id(),
            key: forge_core::PrKey::Record(uri.clone()),
        };
        async move { forge.comment(&id, &format!("comment {n}"), None).await }
    });
    for done in futures::future::join_all(comments).await {
        done.unwrap();
    }
    let pds = stage.world.pds().host();
    assert_eq!((pds.count_of(CREATE), pds.count_of(REFRESH)), (1, 1));
}

/// Runs something until its request of this number has been carried out, and no further.
async fn killed(stage: &Stage, at: u64, tangled: Tangled, branch: &str) -> bool {
    let trap = Trap::new(at, true);
    let hosts = [stage.world.pds().host(), stage.world.knot().host()];
    hosts
        .iter()
        .for_each(|host| host.set_trap(Some(trap.clone())));
    stage.repo.git.commit(branch, "A", &[(branch, Some("x\n"))]);
    let (id, req) = (stage.id(), CreatePull::new(branch, "T"));
    let task = tokio::spawn(async move { drop(tangled.create(&id, &req).await) });
    while !trap.has_sprung() && !task.is_finished() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    task.abort();
    let _ = task.await;
    hosts.iter().for_each(|host| host.set_trap(None));
    trap.has_sprung()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_tokens_are_saved_before_they_are_used() {
    let mut renewed_first = 0;
    for at in 1.. {
        let stage = Stage::new();
        let dir = tempfile::tempdir().unwrap();
        let process = || stage.tangled_with(stored(&stage, &dir), Some(&stage.alice));
        write(&process(), &stage, "first").await;
        let pds = stage.world.pds();
        pds.set_clock(3 * 3600);
        if !killed(&stage, at, process(), "killed").await {
            break;
        }
        // The answer came and was not lost: the old token has nothing to go by any more.
        if pds.host().count_of(REFRESH) == 1 {
            renewed_first += 1;
            pds.set_clock(3 * 3600 + 3 * 3600);
        }
        write(&process(), &stage, "next").await;
        assert_eq!(pds.host().count_of(CREATE), 1, "killed at request {at}");
    }
    assert!(renewed_first > 0);
}

#[tokio::test]
async fn clocks_that_differ_by_ten_minutes_do_no_harm() {
    for skew in [-600, 600] {
        let stage = Stage::new();
        stage.world.pds().set_clock(skew);
        let dir = tempfile::tempdir().unwrap();
        let forge = stage.tangled_with(stored(&stage, &dir), Some(&stage.alice));
        write(&forge, &stage, "topic").await;
        write(&forge, &stage, "other").await;
        let pds = stage.world.pds().host();
        assert_eq!(
            (pds.count_of(CREATE), pds.count_of(REFRESH)),
            (1, 0),
            "{skew}"
        );
        // Expired by the server's clock, whatever ours says.
        stage.world.pds().set_clock(skew + 2 * 3600);
        write(&forge, &stage, "third").await;
        assert_eq!(
            (pds.count_of(CREATE), pds.count_of(REFRESH)),
            (1, 1),
            "{skew}"
        );
    }
}

#[tokio::test]
async fn whoever_acts_last_decides_also_with_a_clock_that_is_behind() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    // Bob's clock is ten minutes ahead of ours, and somebody's is years ahead.
    let ahead = chrono::Utc::now() + chrono::TimeDelta::minutes(10);
    for (word, at, closes) in [
        ("open", ahead.to_rfc3339(), true),
        ("closed", "2036-01-01T00:00:00+05:30".to_owned(), false),
    ] {
        let status = json!({
            "pull": made.node_id,
            "status": format!("sh.tangled.repo.pull.status.{word}"),
            "createdAt": at,
        });
        stage
            .world
            .pds()
            .add(&stage.bob.did, "sh.tangled.repo.pull.status", status);
        let forge = stage.tangled(&stage.alice);
        let (outcome, wanted) = match closes {
            true => (
                forge.close(&made.id, &Default::default()).await,
                PrState::Closed,
            ),
            false => (forge.reopen(&made.id, None).await, PrState::Open),
        };
        let outcome = outcome.unwrap();
        assert_eq!((outcome.unchanged, outcome.value.state), (false, wanted));
        let view = stage
            .tangled(&stage.bob)
            .view(&made.id, PrFields::NONE)
            .await;
        assert_eq!(view.unwrap().state, wanted, "{word}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_in_the_middle_leaves_all_or_nothing() {
    for method in [
        CREATE,
        "com.atproto.repo.listRecords",
        "com.atproto.repo.uploadBlob",
        "com.atproto.repo.applyWrites",
    ] {
        for committed in [false, true] {
            let stage = Stage::new();
            stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
            let dir = tempfile::tempdir().unwrap();
            let login = Login {
                account: stage.alice.handle.clone(),
                password: Secret::new(PASSWORD),
            };
            // With its pauses: a restart takes a while.
            let process = || {
                let http = Http::new(forge_http::Settings {
                    in_flight: 8,
                    ..forge_http::Settings::default()
                });
                let logins = FixedLogin(Some(login.clone()));
                Tangled::new(stored(&stage, &dir), http.unwrap(), Arc::new(logins))
            };
            let pds = stage.world.pds().host();
            let dies = match committed {
                true => Fault::reset().committed(),
                false => Fault::reset(),
            };
            pds.fault(dies.on(method));
            // What comes next meets a server that is still down.
            pds.fault(Fault::reset().times(2));
            let req = CreatePull::new("topic", "T");
            let first = process().create(&stage.id(), &req).await;
            pds.clear_faults();
            let made = || {
                stage
                    .world
                    .pds()
                    .records(&stage.alice.did, "sh.tangled.repo.pull")
            };
            let at = format!("{method}, committed: {committed}");
            match first {
                Ok(done) => assert_eq!(done.value.node_id, made()[0].0, "{at}"),
                Err(e) => {
                    let after = made().len();
                    let ambiguous = e.retry() == forge_core::Retry::Ambiguous;
                    assert!(ambiguous || after == 0, "{at}: {e:?}");
                    let again = process().create(&stage.id(), &req).await;
                    assert_eq!(again.is_err(), after == 1, "{at}: {again:?}");
                }
            }
            assert_eq!(made().len(), 1, "{at}");
        }
    }
}
