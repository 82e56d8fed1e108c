//! Tests `forge auth` with an account on tangled: the password opens sessions on the account's PDS.

use forge_tangled_world::{Account, Fault, PdsDouble, PdsOptions};
use forge_testkit::Run;
use serde_json::json;

use super::world::{PASSWORD, Tangled, says};

#[test]
fn logout_deletes_the_session() {
    let t = Tangled::new();
    let config = t.scratch.path("config");
    let auth = |args: &[&str]| {
        let at = ["--host", "tangled.org", "--account", "alice.test"];
        let args = [&["auth"], args, &at].concat();
        t.forge(&t.alice, &args).env("FORGE_CONFIG_DIR", &config)
    };
    let sessions = || {
        let files = std::fs::read_dir(config.join("sessions")).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|it| it == "json"))
            .count()
    };
    let create = |branch| {
        t.create(branch, &[])
            .env("FORGE_CONFIG_DIR", &config)
            .env("TANGLED_HANDLE", "")
    };
    auth(&["login", "--with-token"]).stdin(PASSWORD).ok();
    create("topic").ok();
    assert_eq!(sessions(), 1);
    // A repeated login may set a new password.
    auth(&["login", "--with-token"]).stdin(PASSWORD).ok();
    assert_eq!(sessions(), 0);
    create("second").ok();
    assert_eq!(sessions(), 1);
    auth(&["logout"]).ok();
    assert_eq!(sessions(), 0);
    says(&create("other"), 4, "nobody is logged in");
}

/// A user with stored accounts, in a world with a server of Mallory's.
struct Stored {
    t: Tangled,
    theirs: PdsDouble,
    mallory: Account,
}

impl Stored {
    fn new() -> Self {
        let t = Tangled::new();
        let theirs = t.world.another_pds(PdsOptions::default()).unwrap();
        let mallory = theirs.account("mallory.test", PASSWORD);
        Self { t, theirs, mallory }
    }

    fn run(&self, args: &[&str]) -> Run {
        let run = self.t.forge(&self.t.alice, args);
        run.env("FORGE_CONFIG_DIR", self.t.scratch.path("config"))
            .env("TANGLED_HANDLE", "")
    }

    fn login(&self, account: &str) -> Run {
        let args = ["auth", "login", "--host", "tangled.org", "--with-token"];
        self.run(&[&args[..], &["--account", account]].concat())
            .stdin(PASSWORD)
    }

    fn create(&self, branch: &str) -> Run {
        self.t.branch(branch);
        // The command names the repository by its owner's DID, because the moved handle no longer
        // leads to the repository.
        let repo = format!("tangled:{}/widget", self.t.alice.did);
        self.run(&[
            "pr", "create", "-R", &repo, "-H", branch, "-t", "T", "-b", "B",
        ])
    }

    fn file(&self) -> std::path::PathBuf {
        self.t.scratch.path("config/credentials.toml")
    }

    fn stored(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap_or_default()
    }

    /// Moves Alice's handle to Mallory's account. The handle then resolves to this account, and its
    /// DID document claims the handle.
    fn take_handle(&self) {
        let answer = json!({ "did": self.mallory.did }).to_string();
        let answer = Fault::answer(200, &[("content-type", "application/json")], answer);
        let answer = answer.on("com.atproto.identity.resolveHandle");
        let pds = self.t.world.pds().host();
        pds.fault(answer.about("alice.test").always());
        let directory = self.t.world.directory();
        directory.rename(&self.mallory.did, Some("alice.test"));
    }

    #[track_caller]
    fn refused(&self, run: &Run) {
        let said = run.output().exits(4).stderr_text();
        for part in [
            self.t.alice.did.as_str(),
            &self.mallory.did,
            "no password and no token was sent",
            "forge auth login --host tangled.org",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert_eq!(self.theirs.host().count(), 0);
    }
}

#[test]
fn login_stores_did_and_server() {
    let world = Stored::new();
    world.login("alice.test").ok();
    let pds = world.t.world.pds().host();
    let stored = world.stored();
    assert!(
        stored.contains(&format!("did = \"{}\"", world.t.alice.did)),
        "{stored}"
    );
    assert!(
        stored.contains(&format!("server = \"{}\"", pds.url())),
        "{stored}"
    );
    let asked = pds.requests();
    let secret = asked.iter().find(|it| it.path.contains(".server."));
    assert!(secret.is_none(), "a login sends no password: {secret:?}");
    // `forge` refuses a handle that does not resolve, without sending a password.
    world.t.world.pds().host().reset_record();
    says(
        &world.login("nobody.test"),
        1,
        "nobody has the handle nobody.test",
    );
    world
        .t
        .world
        .directory()
        .rename(&world.t.bob.did, Some("other.test"));
    says(&world.login("bob.test"), 1, "does not list the handle");
    assert_eq!(world.stored(), stored);
}

#[test]
fn moved_handle_is_refused_until_the_next_login() {
    let world = Stored::new();
    world.login("alice.test").ok();
    world.create("first").ok();
    world.take_handle();
    world.refused(&world.create("second"));
    // `forge` must refuse even without a stored session.
    std::fs::remove_dir_all(world.t.scratch.path("config/sessions")).unwrap();
    world.refused(&world.create("third"));
    // When the user logs in again, the password is stored for the account that has the handle now.
    world.login("alice.test").ok();
    assert!(world.stored().contains(&world.mallory.did));
    let _ = world.create("fourth").output();
    let create = "com.atproto.server.createSession";
    assert_eq!(world.theirs.host().count_of(create), 1);
}

#[test]
fn login_from_older_version_gets_did_at_first_use() {
    let world = Stored::new();
    world.login("alice.test").ok();
    let older: String = world
        .stored()
        .lines()
        .filter(|line| !line.starts_with("did =") && !line.starts_with("server ="))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(world.file(), &older).unwrap();
    world.create("first").ok();
    assert!(world.stored().contains(&world.t.alice.did));
    std::fs::remove_dir_all(world.t.scratch.path("config/sessions")).unwrap();
    world.take_handle();
    world.refused(&world.create("second"));
}

#[test]
fn moved_handle_from_environment_is_refused() {
    let world = Stored::new();
    let create = |handle: &str, branch| {
        let run = world.create(branch).env("TANGLED_HANDLE", handle);
        run.env("TANGLED_PASSWORD", PASSWORD)
    };
    create("alice.test", "first").ok();
    world.take_handle();
    world.refused(&create("alice.test", "second"));
    create(&world.t.alice.did, "third").ok();
    assert_eq!(world.theirs.host().count(), 0);
}
