//! Sessions: login, renewal of tokens, restarts, and wrong clocks.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_core::{
    Action, Call, ErrorKind, Param, PullRequests, Repos, Retry, Reviews, Secret,
    model::{CreatePull, MergeReq, PrFields, PrState},
};
use forge_http::Http;
use forge_tangled::{FixedLogin, PdsLogin, Tangled, TangledSettings};
use forge_tangled_world::{Caller, Fault, Trap};
use forge_testkit::CANARY;
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage, action};

const CREATE: &str = "com.atproto.server.createSession";
const REFRESH: &str = "com.atproto.server.refreshSession";
const UPLOAD: &str = "com.atproto.repo.uploadBlob";
const APPLY: &str = "com.atproto.repo.applyWrites";
const PULL: &str = "sh.tangled.repo.pull";

fn stored(stage: &Stage, dir: &tempfile::TempDir) -> TangledSettings {
    TangledSettings {
        sessions: Some(dir.path().join("sessions")),
        ..stage.settings()
    }
}

/// Returns a process of Alice that shares its sessions with other processes of the directory.
fn process(stage: &Stage, dir: &tempfile::TempDir) -> Tangled {
    stage.tangled_with(stored(stage, dir), Some(&stage.alice))
}

/// Opens a pull request from a new branch, which needs a session.
async fn write(tangled: &Tangled, stage: &Stage, branch: &str) {
    stage.repo.git.commit(branch, "A", &[(branch, Some("x\n"))]);
    let req = CreatePull::new(branch, "T");
    PullRequests::create(tangled, &stage.id(), &req)
        .await
        .unwrap();
}

#[tokio::test]
async fn login_is_shared_by_processes() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    for branch in ["a", "b"] {
        let tangled = process(&stage, &dir);
        write(&tangled, &stage, branch).await;
    }
    assert_eq!(stage.world.pds().host().count_of(CREATE), 1);
}

#[tokio::test]
async fn expired_token_is_renewed_once_for_waiters() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let tangled = process(&stage, &dir);
    write(&tangled, &stage, "first").await;
    // The server's clock is three hours ahead, so it refuses a token that is valid by our clock.
    stage.world.pds().set_clock(3 * 3600);
    for branch in ["a", "b", "c"] {
        stage.repo.git.commit(branch, "A", &[(branch, Some("x\n"))]);
    }
    let titles = ["a", "b", "c"].map(|b| CreatePull::new(b, "T"));
    let all = titles
        .iter()
        .map(|req| PullRequests::create(&tangled, stage.repo_id(), req));
    for done in futures::future::join_all(all).await {
        done.unwrap();
    }
    assert_eq!(stage.world.pds().host().count_of(REFRESH), 1);
    assert_eq!(stage.world.pds().host().count_of(CREATE), 1);
}

#[tokio::test]
async fn login_is_repeated_after_session_is_revoked() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let tangled = process(&stage, &dir);
    write(&tangled, &stage, "a").await;
    stage.world.pds().set_clock(3 * 3600);
    stage.world.pds().revoke_sessions(&stage.alice.did);
    write(&tangled, &stage, "b").await;
    assert_eq!(stage.world.pds().host().count_of(CREATE), 2);

    let wrong = stage.tangled_as(stage.settings(), "alice.test", "0canary0-wrong");
    stage.repo.git.commit("c", "A", &[("c", Some("x\n"))]);
    let req = CreatePull::new("c", "T");
    let e = PullRequests::create(&wrong, &stage.id(), &req)
        .await
        .unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::Unauthenticated { .. }),
        "{e:?}"
    );
    assert!(!format!("{e} {e:?}").contains(CANARY));
    assert!(e.hint().unwrap().text().contains("app password"), "{e:?}");
}

#[tokio::test]
async fn stored_session_rejects_wrong_password() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    write(&process(&stage, &dir), &stage, "a").await;
    let wrong = stage.tangled_as(stored(&stage, &dir), "alice.test", "0canary0-wrong");
    stage.repo.git.commit("b", "A", &[("b", Some("x\n"))]);
    let e = wrong.create(&stage.id(), &CreatePull::new("b", "T")).await;
    assert_eq!(e.unwrap_err().code(), "unauthenticated");
    let host = stage.world.pds().host();
    assert_eq!(host.count_of(CREATE), 2);
    // The correct password keeps its own session, by handle or by DID.
    let by_did = stage.tangled_as(stored(&stage, &dir), &stage.alice.did, PASSWORD);
    write(&by_did, &stage, "c").await;
    assert_eq!(host.count_of(CREATE), 2);
}

/// A refused token has changed nothing, whichever call was refused and with whichever status.
#[tokio::test]
async fn refused_token_is_renewed_and_call_retried_once() {
    for (status, word) in [
        (400, "ExpiredToken"),
        (401, "ExpiredToken"),
        (400, "InvalidToken"),
    ] {
        for method in [UPLOAD, APPLY] {
            let stage = Stage::new();
            let dir = tempfile::tempdir().unwrap();
            let forge = process(&stage, &dir);
            write(&forge, &stage, "first").await;
            let pds = stage.world.pds().host();
            pds.reset_record();
            pds.fault(Fault::error(status, word, "No.").on(method));
            write(&forge, &stage, "second").await;
            let calls = [CREATE, REFRESH, method].map(|it| pds.count_of(it));
            assert_eq!(calls, [0, 1, 2], "{status} {word} of {method}");
            let made = stage.world.pds().records(&stage.alice.did, PULL);
            assert_eq!(made.len(), 2, "{status} {word} of {method}");
        }
    }
}

#[tokio::test]
async fn server_refusing_new_tokens_ends_retries() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let forge = process(&stage, &dir);
    write(&forge, &stage, "first").await;
    let pds = stage.world.pds().host();
    pds.reset_record();
    let never = Fault::error(400, "ExpiredToken", "Token has expired");
    pds.fault(never.on(APPLY).always());
    stage.repo.git.commit("b", "A", &[("b", Some("x\n"))]);
    let e = forge.create(&stage.id(), &CreatePull::new("b", "T")).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "unauthenticated", "{e:?}");
    assert_eq!(e.retry(), forge_core::Retry::Never, "{e:?}");
    let calls = [CREATE, REFRESH, APPLY].map(|it| pds.count_of(it));
    assert_eq!(calls, [0, 1, 2]);
}

#[tokio::test]
async fn revoked_app_password_ends_session_with_recovery() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let pds = stage.world.pds();
    let password = pds.app_password(&stage.alice.did);
    let forge = stage.tangled_as(stored(&stage, &dir), "alice.test", &password);
    write(&forge, &stage, "first").await;
    let herself = Caller::new(&pds.host().url()).sign_in("alice.test", PASSWORD);
    let which = json!({ "name": "test 0" });
    let revoked = herself.post("com.atproto.server.revokeAppPassword", &which);
    assert_eq!(revoked.status, 200);
    pds.set_clock(3 * 3600);
    pds.host().reset_record();
    stage.repo.git.commit("b", "A", &[("b", Some("x\n"))]);
    let e = forge.create(&stage.id(), &CreatePull::new("b", "T")).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "unauthenticated", "{e:?}");
    assert!(e.hint().unwrap().text().contains("app password"), "{e:?}");
    assert!(!format!("{e} {e:?}").contains(&password));
    let calls = [CREATE, REFRESH].map(|it| pds.host().count_of(it));
    assert_eq!(calls, [1, 1]);
    let left = std::fs::read_dir(dir.path().join("sessions")).unwrap();
    let left = left.map(|entry| entry.unwrap().path());
    let tokens = left.filter(|path| path.extension().is_some_and(|it| it == "json"));
    for path in tokens {
        let kept: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let tokens = ["access", "refresh"].map(|name| kept[name].as_str());
        assert_eq!(tokens, [Some(""); 2], "what has ended is not kept");
    }
}

/// Copies the current sessions of a home to another.
fn copied(from: &tempfile::TempDir) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    let (there, here) = (from.path().join("sessions"), to.path().join("sessions"));
    std::fs::create_dir(&here).unwrap();
    for entry in std::fs::read_dir(there).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), here.join(entry.file_name())).unwrap();
    }
    to
}

/// Machines with a copy of the same home share no lock.
#[tokio::test]
async fn session_renewed_elsewhere_continues_or_reopens() {
    let stage = Stage::new();
    let ours = tempfile::tempdir().unwrap();
    let on = |home: &tempfile::TempDir| process(&stage, home);
    write(&on(&ours), &stage, "first").await;
    let (soon, late) = (copied(&ours), copied(&ours));
    let pds = stage.world.pds();
    let calls = || [CREATE, REFRESH].map(|it| pds.host().count_of(it));
    pds.set_clock(3 * 3600);
    write(&on(&ours), &stage, "a").await;
    // The server accepts the old token for a while, and answers it with the same new tokens.
    write(&on(&soon), &stage, "b").await;
    assert_eq!(calls(), [1, 2]);
    pds.set_clock(6 * 3600);
    write(&on(&late), &stage, "c").await;
    assert_eq!(calls(), [2, 3]);
    // The session of the other machine still works.
    write(&on(&ours), &stage, "d").await;
    assert_eq!(calls(), [2, 4]);
}

/// The server signs with a key that the identity no longer names.
#[tokio::test]
async fn record_signed_with_rotated_key_is_not_merged() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let before = stage.repo.git.refs();
    stage.world.directory().rotate_key(&stage.alice.did);
    let forge = stage.tangled(&stage.alice);
    let e = forge.merge(&made.id, &MergeReq::default()).await;
    let e = e.unwrap_err();
    let why = "signature verification failed";
    assert!(e.message().contains(why), "{e:?}");
    assert_eq!(stage.repo.git.refs(), before);
}

#[tokio::test]
async fn echoed_password_is_masked() {
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
async fn unreachable_server_does_not_end_the_session() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let tangled = process(&stage, &dir);
    write(&tangled, &stage, "a").await;
    stage.world.pds().set_clock(3 * 3600);
    let pds = stage.world.pds().host();
    pds.fault(Fault::gateway(503).on(REFRESH).always());
    stage.repo.git.commit("b", "A", &[("b", Some("x\n"))]);
    let req = CreatePull::new("b", "T");
    let e = PullRequests::create(&tangled, &stage.id(), &req)
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
async fn anonymous_session_reads_but_cannot_write() {
    let stage = Stage::new();
    let nobody = stage.tangled_with(stage.settings(), None);
    let info = nobody.repo(&stage.id()).await.unwrap();
    assert_eq!(info.default_branch.as_deref(), Some("main"));
    assert_eq!(info.permission, forge_core::model::Permission::Read);
    let e = nobody.viewer(&stage.id()).await.unwrap_err();
    let login = Action::new(Call::Login).with(Param::Host, "tangled.org");
    assert_eq!(*action(&e), login);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_token_is_renewed_once_across_processes() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let process = || process(&stage, &dir);
    write(&process(), &stage, "first").await;
    stage.world.pds().set_clock(3 * 3600);
    // Each process opens the lock file separately.
    let processes: Vec<_> = (0..8).map(|_| process()).collect();
    let made = stage.world.pds().records(&stage.alice.did, PULL);
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

/// Runs a write until request `at` has been executed; the process ends there.
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
async fn new_tokens_are_saved_before_use() {
    let mut renewed_first = 0;
    for at in 1.. {
        let stage = Stage::new();
        let dir = tempfile::tempdir().unwrap();
        let process = || process(&stage, &dir);
        write(&process(), &stage, "first").await;
        let pds = stage.world.pds();
        pds.set_clock(3 * 3600);
        if !killed(&stage, at, process(), "killed").await {
            break;
        }
        // The refresh was answered, so the old token is no longer valid.
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
async fn clock_skew_of_ten_minutes_is_harmless() {
    for skew in [-600, 600] {
        let stage = Stage::new();
        stage.world.pds().set_clock(skew);
        let dir = tempfile::tempdir().unwrap();
        let forge = process(&stage, &dir);
        write(&forge, &stage, "topic").await;
        write(&forge, &stage, "other").await;
        let pds = stage.world.pds().host();
        assert_eq!(
            (pds.count_of(CREATE), pds.count_of(REFRESH)),
            (1, 0),
            "{skew}"
        );
        // The token has expired by the server's clock, but not by ours.
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
async fn last_state_change_wins_despite_slow_clock() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    // Bob's clock is ten minutes ahead of ours, and another clock is years ahead.
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

/// Servers and knots agree on the time, and our clock is ten minutes off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn knots_accept_tokens_despite_wrong_clock() {
    for skew in [-600, 600] {
        let stage = Stage::new();
        let (pds, knot) = (stage.world.pds(), stage.world.knot());
        let set_clocks = |seconds: i64| {
            pds.set_clock(seconds);
            knot.set_clock(seconds);
        };
        set_clocks(skew);
        let dir = tempfile::tempdir().unwrap();
        let forge = process(&stage, &dir);
        stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
        let req = CreatePull::new("topic", "T");
        let made = forge.create(&stage.id(), &req).await.unwrap().value;
        let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
        assert_eq!(merged.value.pull_request.state, PrState::Merged, "{skew}");
        let tickets = stage.world.repository_1_0(&stage.alice, "new");
        let id = stage.id_of(&tickets);
        tickets.git.commit("topic", "A", &[("a", Some("x\n"))]);
        let made = forge.create(&id, &req).await.unwrap().value;
        forge.comment(&made.id, "Text.", None).await.unwrap();
        let renewed = || {
            let host = pds.host();
            (host.count_of(CREATE), host.count_of(REFRESH))
        };
        assert_eq!(renewed(), (1, 0), "{skew}");
        // The session has expired by the server's clock; a new session gets the knot's token.
        set_clocks(skew + 2 * 3600);
        let closed = forge.close(&made.id, &Default::default()).await.unwrap();
        assert_eq!(closed.value.state, PrState::Closed, "{skew}");
        assert_eq!(renewed(), (1, 1), "{skew}");
    }
}

/// A knot with a wrong clock refuses the server's tokens: the error says so, and nothing is merged.
#[tokio::test]
async fn knot_with_wrong_clock_is_reported() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let before = stage.repo.git.refs();
    for (skew, why) in [
        (600, "token is expired"),
        (-600, "token used before issued"),
    ] {
        stage.world.knot().set_clock(skew);
        let forge = stage.tangled(&stage.alice);
        let e = forge.merge(&made.id, &MergeReq::default()).await;
        let e = e.unwrap_err();
        assert!(e.message().contains(why), "{e:?}");
        assert_eq!(stage.repo.git.refs(), before);
    }
    stage.world.knot().set_clock(0);
    let forge = stage.tangled(&stage.alice);
    let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(!merged.value.already_merged);
}

/// Returns a process with real pauses between retries: a restart takes time.
fn patient(stage: &Stage, dir: &tempfile::TempDir) -> Tangled {
    let http = Http::new(forge_http::HttpSettings {
        in_flight: 8,
        ..forge_http::HttpSettings::default()
    });
    let login = PdsLogin {
        account: stage.alice.handle.clone(),
        password: Secret::new(PASSWORD),
        pin: None,
    };
    let logins = FixedLogin(Some(login));
    Tangled::new(stored(stage, dir), http.unwrap(), Arc::new(logins))
}

/// Returns a fault that fails a request before or after executing it, and then two more requests.
fn dies(committed: bool) -> Fault {
    let fault = match committed {
        true => Fault::reset().committed(),
        false => Fault::reset(),
    };
    fault.then(Fault::reset().times(2))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_restart_during_create_is_all_or_nothing() {
    for method in [CREATE, "com.atproto.repo.listRecords", UPLOAD, APPLY] {
        for committed in [false, true] {
            let stage = Stage::new();
            stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
            let dir = tempfile::tempdir().unwrap();
            let process = || patient(&stage, &dir);
            let pds = stage.world.pds().host();
            pds.fault(dies(committed).on(method));
            let req = CreatePull::new("topic", "T");
            let first = process().create(&stage.id(), &req).await;
            pds.clear_faults();
            let made = || stage.world.pds().records(&stage.alice.did, PULL);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_leaves_one_ticket_and_round() {
    for (of_the_knot, method) in [
        (false, "com.atproto.server.getServiceAuth"),
        (true, "com.atproto.repo.getRecord"),
        (true, "com.atproto.repo.createRecord"),
        (true, "org.tangled.review.submitPatch"),
    ] {
        for committed in [false, true] {
            let stage = Stage::new();
            let repo = stage.world.repository_1_0(&stage.alice, "new");
            let id = stage.id_of(&repo);
            repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
            let dir = tempfile::tempdir().unwrap();
            let process = || patient(&stage, &dir);
            let knot = stage.world.knot();
            let host = match of_the_knot {
                true => knot.host(),
                false => stage.world.pds().host(),
            };
            host.fault(dies(committed).on(method));
            let req = CreatePull::new("topic", "T");
            let first = process().create(&id, &req).await;
            host.clear_faults();
            let tickets = || knot.records(&repo.did, "org.tangled.track.ticket");
            let rounds = || knot.records(&repo.did, "org.tangled.review.patch").len();
            let at = format!("{method}, committed: {committed}");
            match first {
                Ok(done) => assert_eq!(done.value.node_id, tickets()[0].0, "{at}"),
                Err(e) => {
                    let finished = rounds() == 1;
                    let again = process().create(&id, &req).await;
                    assert_eq!(again.is_err(), finished, "{at}: {e:?}, then {again:?}");
                }
            }
            assert_eq!((tickets().len(), rounds()), (1, 1), "{at}");
        }
    }
}

/// Each request repeats the token, and memory has it several times.
#[tokio::test]
async fn oversized_session_is_refused() {
    let stage = Stage::new();
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let session = json!({
        "did": stage.alice.did, "handle": stage.alice.handle,
        "accessJwt": "x".repeat(300 << 10), "refreshJwt": "y",
    });
    let json = [("content-type", "application/json")];
    let sent = Fault::answer(200, &json, session.to_string()).on(CREATE);
    stage.world.pds().host().fault(sent.always());
    let tangled = stage.tangled(&stage.alice);
    let req = CreatePull::new("topic", "T");
    let made = PullRequests::create(&tangled, &stage.id(), &req).await;
    let e = made.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    let part = "more than 262144 bytes in one answer";
    assert!(e.message().contains(part), "{e:?}");
}

/// Starts a server that issues a token to everybody and records what it receives.
fn thief() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let sent = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&sent);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 8192];
            let length = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).to_lowercase();
            kept.lock().unwrap().push_str(&head);
            let body = r#"{"token":"a.b.c"}"#;
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    (format!("http://localhost:{port}"), sent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirect_of_service_auth_does_not_forward_tokens() {
    for (of_the_knot, method) in [
        (false, "com.atproto.server.getServiceAuth"),
        (true, "com.atproto.repo.createRecord"),
    ] {
        for status in [302, 307, 308] {
            let stage = Stage::new();
            let repo = stage.world.repository_1_0(&stage.alice, "new");
            repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
            let dir = tempfile::tempdir().unwrap();
            let (url, sent) = thief();
            let to = format!("{url}/xrpc/{method}");
            let host = match of_the_knot {
                true => stage.world.knot().host(),
                false => stage.world.pds().host(),
            };
            let away = Fault::answer(status, &[("location", to.as_str())], "");
            host.fault(away.on(method).always());
            let req = CreatePull::new("topic", "T");
            let made = process(&stage, &dir)
                .create(&stage.id_of(&repo), &req)
                .await;
            assert!(made.is_err(), "{method} {status}");
            let sent = sent.lock().unwrap().clone();
            // The redirect of a read is followed without credentials; that of a write is not
            // followed.
            assert_eq!(sent.is_empty(), of_the_knot, "{method} {status}: {sent}");
            for secret in ["authorization", "dpop", &PASSWORD.to_lowercase()] {
                assert!(!sent.contains(secret), "{method} {status}: {sent}");
            }
        }
    }
}

#[tokio::test]
async fn token_with_line_end_names_its_server() {
    const MERGE: &str = "sh.tangled.repo.merge";
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, knot) = (stage.world.pds().host(), stage.world.knot().host());
    let session = json!({
        "accessJwt": "a\nb", "refreshJwt": "c", "handle": "alice.test", "did": stage.alice.did,
    });
    for (method, answer) in [
        (CREATE, session),
        (
            "com.atproto.server.getServiceAuth",
            json!({ "token": "a\r\nb" }),
        ),
    ] {
        let lie = Fault::answer(
            200,
            &[("content-type", "application/json")],
            answer.to_string(),
        );
        pds.fault(lie.on(method));
        let forge = stage.tangled(&stage.alice);
        let merged = forge.merge(&made.id, &MergeReq::default()).await;
        let e = merged.unwrap_err();
        assert_eq!(e.code(), "protocol", "{e:?}");
        assert!(
            e.message().contains(&format!("to {method} cannot")),
            "{e:?}"
        );
        assert_ne!(e.retry(), Retry::Ambiguous, "{e:?}");
        assert_eq!(knot.count_of(MERGE), 0);
    }
}
