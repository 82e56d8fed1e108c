//! A process that runs for weeks: changing logins, slow files, and wrong clocks.

use std::{
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use forge_core::{
    Error, ErrorKind, PullRequests, Repos, Result, Reviews, Secret,
    model::{CloseReq, PrFields, PrState},
};
use forge_tangled::{LoginSource, PdsLogin, TangledSettings};
use forge_tangled_world::Account;
use serde_json::json;

use crate::stage::{PASSWORD, Stage};

/// Returns these logins one after the other, then repeats the last.
#[derive(Clone, Debug)]
struct Changing(Arc<Mutex<Vec<Result<Option<PdsLogin>>>>>);

impl Changing {
    fn new(logins: Vec<Result<Option<PdsLogin>>>) -> Self {
        Self(Arc::new(Mutex::new(logins)))
    }
}

#[async_trait]
impl LoginSource for Changing {
    async fn login(&self, _host: &str) -> Result<Option<PdsLogin>> {
        let mut logins = self.0.lock().unwrap();
        match logins.len() {
            1 => logins[0].as_ref().map(Clone::clone).map_err(|_| unread()),
            _ => logins.remove(0),
        }
    }
}

fn login(account: &Account, password: &str) -> Result<Option<PdsLogin>> {
    Ok(Some(PdsLogin {
        account: account.handle.clone(),
        password: Secret::new(password),
        pin: None,
    }))
}

fn unread() -> Error {
    Error::new(ErrorKind::Config, "the store is locked")
}

#[tokio::test]
async fn changed_login_is_reread_by_running_process() {
    let stage = Stage::new();
    let settings = TangledSettings {
        kept: Duration::ZERO,
        ..stage.settings()
    };
    let (alice, bob) = (login(&stage.alice, PASSWORD), login(&stage.bob, PASSWORD));
    let logins = Changing::new(vec![Err(unread()), Ok(None), alice, bob]);
    let forge = stage.tangled_by(settings, logins);
    let codes = async || match forge.viewer(stage.repo_id()).await {
        Ok(viewer) => viewer.login,
        Err(e) => e.code().to_owned(),
    };
    for wanted in [
        "config",
        "unauthenticated",
        "alice.test",
        "bob.test",
        "bob.test",
    ] {
        assert_eq!(codes().await, wanted);
    }
}

/// The refused login is read again although its cache time has not ended.
#[tokio::test]
async fn refused_login_is_reread_immediately() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await.id;
    let wrong = login(&stage.bob, "0canary0-wrong");
    let logins = Changing::new(vec![wrong, login(&stage.bob, PASSWORD)]);
    let forge = stage.tangled_by(stage.settings(), logins);
    forge.comment(&made, "So?", None).await.unwrap();

    // An unchanged password is tried only once.
    let host = stage.world.pds().host();
    let create = "com.atproto.server.createSession";
    let before = host.count_of(create);
    let logins = Changing::new(vec![login(&stage.bob, "0canary0-wrong")]);
    let forge = stage.tangled_by(stage.settings(), logins);
    let e = forge.comment(&made, "So?", None).await.unwrap_err();
    assert_eq!(e.code(), "unauthenticated", "{e:?}");
    assert_eq!(host.count_of(create), before + 1);
}

#[tokio::test]
async fn tokens_are_not_sent_for_another_account() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await.id;
    let settings = TangledSettings {
        kept: Duration::ZERO,
        ..stage.settings()
    };
    let logins = Changing::new(vec![login(&stage.alice, PASSWORD)]);
    let forge = stage.tangled_by(settings, logins.clone());
    forge.comment(&made, "Alice's", None).await.unwrap();
    *logins.0.lock().unwrap() = vec![login(&stage.bob, PASSWORD)];
    forge.comment(&made, "Bob's", None).await.unwrap();
    let of_bob = stage
        .world
        .pds()
        .records(&stage.bob.did, "sh.tangled.feed.comment");
    assert_eq!(of_bob.len(), 1);
}

/// A file that blocks delays no other call.
#[cfg(unix)]
#[tokio::test]
async fn slow_session_file_does_not_delay_other_calls() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await.id;
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let file = sessions.join(format!("{}.json", stage.bob.did.replace([':', '%'], "_")));
    let made_pipe = Command::new("mkfifo")
        .args(["-m", "600"])
        .arg(&file)
        .status();
    assert!(made_pipe.unwrap().success());
    let settings = TangledSettings {
        sessions: Some(sessions),
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.bob));
    // Each reader of the pipe blocks until there is a writer.
    std::thread::spawn(move || {
        for _ in 0..9 {
            std::thread::sleep(Duration::from_millis(500));
            std::fs::write(&file, "{}").unwrap();
        }
    });
    let ticks = AtomicUsize::new(0);
    let ticking = async {
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            ticks.fetch_add(1, Ordering::Relaxed);
        }
    };
    tokio::select! {
        said = forge.comment(&made, "So?", None) => drop(said.unwrap()),
        () = ticking => {}
    }
    let ticks = ticks.into_inner();
    assert!(ticks > 20, "the runtime stood still: {ticks} ticks");
}

#[tokio::test]
async fn status_dated_9999_is_a_warning_only() {
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let status = json!({
        "$type": STATUS, "pull": made.node_id, "status": format!("{STATUS}.closed"),
        "createdAt": "9999-12-31T23:59:59.999Z",
    });
    stage.world.pds().add(&stage.bob.did, STATUS, status);
    let forge = stage.tangled(&stage.alice);
    let states = async || {
        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        let told = view
            .warnings
            .iter()
            .any(|w| w.message.contains("in the future"));
        (view.state, told)
    };
    assert_eq!(states().await, (PrState::Closed, true));
    let opened = forge.reopen(&made.id, None).await.unwrap();
    assert_eq!(opened.value.state, PrState::Open);
    assert_eq!(states().await, (PrState::Open, true));
    let closed = forge.close(&made.id, &CloseReq::default()).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
    assert_eq!(states().await, (PrState::Closed, true));
}
