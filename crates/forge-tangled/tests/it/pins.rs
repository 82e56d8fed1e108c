//! A password is sent only to the account and server of its login, even if the handle moves.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use forge_core::{Action, Call, Error, Param, PullRequests, Result, Secret, model::CreatePull};
use forge_tangled::{FixedLogin, LoginSource, PdsLogin, PinnedAccount, Tangled, TangledSettings};
use forge_tangled_world::{Account, Fault, PdsDouble, PdsOptions};
use serde_json::json;

use crate::stage::{PASSWORD, Stage, action};

const CREATE: &str = "com.atproto.server.createSession";
const RESOLVE: &str = "com.atproto.identity.resolveHandle";

/// Alice's world, and Mallory with a server that records the requests it gets.
struct Hijack {
    stage: Stage,
    theirs: PdsDouble,
    mallory: Account,
    home: tempfile::TempDir,
}

impl Hijack {
    fn new() -> Self {
        let stage = Stage::new();
        let theirs = stage.world.another_pds(PdsOptions::default()).unwrap();
        let mallory = theirs.account("mallory.test", PASSWORD);
        Self {
            stage,
            theirs,
            mallory,
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn settings(&self) -> TangledSettings {
        TangledSettings {
            sessions: Some(self.home.path().join("sessions")),
            ..self.stage.settings()
        }
    }

    fn pin(&self) -> PinnedAccount {
        PinnedAccount {
            did: self.stage.alice.did.clone(),
            server: Some(self.stage.world.pds().host().url()),
        }
    }

    /// Returns a process of Alice, who logged in as `account`.
    fn process(&self, account: &str, pin: Option<PinnedAccount>) -> Tangled {
        let login = login(account, pin);
        let logins = FixedLogin(Some(login));
        self.stage.tangled_by(self.settings(), logins)
    }

    /// Moves Alice's handle to Mallory: the handle resolves to Mallory, and Mallory's document
    /// names it.
    fn take_handle(&self) {
        let stage = &self.stage;
        let answer = json!({ "did": self.mallory.did }).to_string();
        let answer = Fault::answer(200, &[("content-type", "application/json")], answer);
        let pds = stage.world.pds().host();
        pds.fault(answer.on(RESOLVE).about("alice.test").always());
        let directory = stage.world.directory();
        directory.rename(&self.mallory.did, Some("alice.test"));
    }

    async fn write(&self, forge: &Tangled, branch: &str) -> Result<()> {
        let git = &self.stage.repo.git;
        git.commit(branch, "A", &[(branch, Some("x\n"))]);
        let id = self.stage.id_of(&self.stage.repo);
        let made = forge.create(&id, &CreatePull::new(branch, "T")).await;
        made.map(drop)
    }

    /// Asserts that Mallory got no request, and that no request with a password was sent.
    #[track_caller]
    fn nothing_was_sent(&self) {
        assert_eq!(self.theirs.host().count(), 0);
        let pds = self.stage.world.pds().host();
        let asked = pds.requests();
        let secret = asked.iter().find(|it| it.path.contains(".server."));
        assert!(secret.is_none(), "{secret:?}");
    }
}

fn login(account: &str, pin: Option<PinnedAccount>) -> PdsLogin {
    PdsLogin {
        account: account.to_owned(),
        password: Secret::new(PASSWORD),
        pin,
    }
}

#[track_caller]
fn says_log_in_again(e: &Error, parts: &[&str]) {
    assert_eq!(e.code(), "unauthenticated", "{e:?}");
    for part in parts {
        assert!(e.message().contains(part), "{part} in {e:?}");
    }
    assert!(e.message().contains("no password and no token was sent"));
    let again = Action::new(Call::Login).with(Param::Host, "tangled.org");
    assert_eq!(*action(e), again);
}

#[tokio::test]
async fn pinned_login_with_moved_handle_sends_nothing() {
    let world = Hijack::new();
    world.take_handle();
    for (account, branch) in [("alice.test", "a"), ("@Alice.Test", "b")] {
        let forge = world.process(account, Some(world.pin()));
        let e = world.write(&forge, branch).await.unwrap_err();
        let dids = [world.stage.alice.did.as_str(), &world.mallory.did];
        says_log_in_again(&e, &dids);
        world.nothing_was_sent();
    }
}

#[tokio::test]
async fn login_with_hijacked_handle_sends_nothing() {
    let world = Hijack::new();
    world.take_handle();
    let directory = world.stage.world.directory();
    directory.rename(&world.mallory.did, Some("mallory.test"));
    let forge = world.process("alice.test", Some(world.pin()));
    let e = world.write(&forge, "topic").await.unwrap_err();
    says_log_in_again(&e, &[&world.mallory.did]);
    world.nothing_was_sent();
}

/// A password from the environment is also used without a stored login.
#[tokio::test]
async fn earlier_session_with_moved_handle_sends_nothing() {
    let world = Hijack::new();
    let first = world.process("alice.test", None);
    world.write(&first, "first").await.unwrap();
    world.take_handle();
    world.stage.world.pds().host().reset_record();
    let forge = world.process("alice.test", None);
    let e = world.write(&forge, "second").await.unwrap_err();
    says_log_in_again(&e, &[&world.stage.alice.did, &world.mallory.did]);
    world.nothing_was_sent();
    // The DID identifies the account even if the handle has moved.
    let forge = world.process(&world.stage.alice.did, None);
    world.write(&forge, "third").await.unwrap();
    assert_eq!(world.theirs.host().count(), 0);
}

/// The server ends the session, and then refuses the password.
#[tokio::test]
async fn ended_session_with_moved_handle_sends_nothing() {
    let world = Hijack::new();
    let first = world.process("alice.test", None);
    world.write(&first, "first").await.unwrap();
    let pds = world.stage.world.pds();
    pds.revoke_sessions(&world.stage.alice.did);
    pds.set_clock(3 * 3600);
    let refused = Fault::error(401, "AuthenticationRequired", "Invalid password");
    pds.host().fault(refused.on(CREATE).always());
    let second = world.process("alice.test", None);
    let e = world.write(&second, "second").await.unwrap_err();
    assert_eq!(e.code(), "unauthenticated", "{e:?}");
    pds.host().clear_faults();
    world.take_handle();
    pds.host().reset_record();
    let third = world.process("alice.test", None);
    let e = world.write(&third, "third").await.unwrap_err();
    says_log_in_again(&e, &[&world.stage.alice.did, &world.mallory.did]);
    world.nothing_was_sent();
}

/// An older version followed the handle, and so stored a session of each account.
#[tokio::test]
async fn sessions_of_ambiguous_handle_send_nothing() {
    let world = Hijack::new();
    let dir = world.home.path().join("sessions");
    std::fs::create_dir(&dir).unwrap();
    for did in [&world.stage.alice.did, &world.mallory.did] {
        let session = json!({
            "did": did, "access": "a", "refresh": "r", "account": "alice.test",
        });
        let file = format!("{}.json", did.replace(':', "_"));
        std::fs::write(dir.join(file), session.to_string()).unwrap();
    }
    let forge = world.process("alice.test", None);
    let e = world.write(&forge, "topic").await.unwrap_err();
    says_log_in_again(&e, &[&world.stage.alice.did, &world.mallory.did]);
    world.nothing_was_sent();
}

#[tokio::test]
async fn older_session_pins_the_account() {
    let world = Hijack::new();
    let dir = world.home.path().join("sessions");
    std::fs::create_dir(&dir).unwrap();
    let did = &world.stage.alice.did;
    let session = json!({ "did": did, "access": "a", "refresh": "r", "account": "alice.test" });
    let file = format!("{}.json", did.replace(':', "_"));
    std::fs::write(dir.join(file), session.to_string()).unwrap();
    world.take_handle();
    let forge = world.process("alice.test", None);
    let e = world.write(&forge, "topic").await.unwrap_err();
    says_log_in_again(&e, &[did, &world.mallory.did]);
    world.nothing_was_sent();
}

/// The pin names only the account, so its owner may rename the account.
#[tokio::test]
async fn renamed_account_keeps_login() {
    let world = Hijack::new();
    let pds = world.stage.world.pds().host();
    let nobody = Fault::error(400, "HandleNotFound", "Unable to resolve handle");
    pds.fault(nobody.on(RESOLVE).about("alice.test").always());
    let directory = world.stage.world.directory();
    directory.rename(&world.stage.alice.did, Some("other.test"));
    let forge = world.process("alice.test", Some(world.pin()));
    world.write(&forge, "topic").await.unwrap();
    assert_eq!(pds.count_of(CREATE), 1);
}

/// App passwords and sessions are issued by one server and are invalid on another.
#[tokio::test]
async fn moved_server_of_a_pinned_account_gets_nothing() {
    let world = Hijack::new();
    let bob = &world.stage.bob;
    let (here, there) = (world.pin().server, world.theirs.host().url());
    let here = here.unwrap();
    let marked = format!("@{}", bob.did);
    let pin = Some(PinnedAccount {
        did: bob.did.clone(),
        ..world.pin()
    });
    let first = world.process("bob.test", None);
    world.write(&first, "first").await.unwrap();
    let directory = world.stage.world.directory();
    let (id, kind) = ("#atproto_pds", "AtprotoPersonalDataServer");
    directory.set_service(&bob.did, id, kind, &there);
    world.stage.world.pds().host().reset_record();
    for (account, pin, branch) in [
        ("bob.test", pin.clone(), "a"),
        (bob.did.as_str(), pin.clone(), "b"),
        // The stored session pins the account.
        ("bob.test", None, "c"),
        (&bob.did, None, "d"),
        (&marked, pin, "e"),
        (&marked, None, "f"),
    ] {
        let forge = world.process(account, pin);
        let e = world.write(&forge, branch).await.unwrap_err();
        says_log_in_again(&e, &[&here, &there]);
        world.nothing_was_sent();
    }
}

/// Stores pins as a store of accounts does.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Option<PinnedAccount>>>);

#[async_trait]
impl LoginSource for Kept {
    async fn login(&self, _: &str) -> Result<Option<PdsLogin>> {
        Ok(Some(login("alice.test", self.0.lock().unwrap().clone())))
    }

    async fn keep_pin(&self, _: &str, _: &PdsLogin, pin: &PinnedAccount) -> Result<()> {
        *self.0.lock().unwrap() = Some(pin.clone());
        Ok(())
    }
}

#[tokio::test]
async fn older_login_gets_did_at_first_use() {
    let world = Hijack::new();
    let kept = Kept::default();
    let process = || world.stage.tangled_by(world.stage.settings(), kept.clone());
    // No session is stored here: only the pin protects.
    world.write(&process(), "first").await.unwrap();
    assert_eq!(*kept.0.lock().unwrap(), Some(world.pin()));
    world.take_handle();
    world.stage.world.pds().host().reset_record();
    let e = world.write(&process(), "second").await.unwrap_err();
    says_log_in_again(&e, &[&world.mallory.did]);
    world.nothing_was_sent();
}

#[tokio::test]
async fn new_login_needs_handle_and_did_to_agree() {
    let world = Hijack::new();
    let forge = world.stage.tangled_with(world.settings(), None);
    for account in ["alice.test", &world.stage.alice.did] {
        assert_eq!(forge.pin_login(account).await.unwrap(), world.pin());
    }
    let directory = world.stage.world.directory();
    directory.rename(&world.stage.alice.did, Some("other.test"));
    let forge = world.stage.tangled_with(world.settings(), None);
    let e = forge.pin_login("alice.test").await.unwrap_err();
    assert!(e.is_not_found(), "{e:?}");
    let e = forge.pin_login("nobody.test").await.unwrap_err();
    assert!(e.is_not_found(), "{e:?}");
    world.nothing_was_sent();
}

/// Verifying the handle costs no more requests than resolving it did.
#[tokio::test]
async fn pinned_login_costs_two_lookups() {
    let world = Hijack::new();
    let (pds, directory) = (world.stage.world.pds(), world.stage.world.directory());
    let id = world.stage.id_of(&world.stage.repo);
    world.stage.repo.git.commit("t", "A", &[("t", Some("x\n"))]);
    for pin in [None, Some(world.pin())] {
        let forge = world.process("alice.test", pin);
        pds.host().reset_record();
        directory.host().reset_record();
        // The second attempt may report that the pull request already exists.
        let _ = forge.create(&id, &CreatePull::new("t", "T")).await;
        let asked = pds.host().requests();
        let handles = asked.iter().filter(|it| it.method() == Some(RESOLVE));
        let handles = handles.filter(|it| it.query.contains("alice.test")).count();
        let asked = directory.host().requests();
        let documents = asked
            .iter()
            .filter(|it| it.path.contains(&world.stage.alice.did));
        assert_eq!((handles, documents.count()), (1, 1));
    }
}

/// Recovery for a login without stored data.
#[tokio::test]
async fn new_password_of_moved_account_reaches_new_server() {
    let world = Hijack::new();
    let first = world.process("bob.test", None);
    world.write(&first, "first").await.unwrap();
    // The DID stays the same, and its document names the new server.
    let moved = world.theirs.account("bob.test", "another0canary0");
    assert_eq!(moved.did, world.stage.bob.did);
    world.stage.world.pds().host().reset_record();
    let login = PdsLogin {
        password: Secret::new("another0canary0"),
        ..login("bob.test", None)
    };
    let logins = FixedLogin(Some(login));
    let forge = world.stage.tangled_by(world.settings(), logins);
    world.write(&forge, "second").await.unwrap();
    assert_eq!(world.theirs.host().count_of(CREATE), 1);
    assert_eq!(world.stage.world.pds().host().count_of(CREATE), 0);
}
