use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use forge_tangled_world::{
    Account, DirectoryDouble, IndexDouble, KnotDouble, KnotOptions, PdsOptions, RealWorld,
    Repository, World,
};
use forge_testkit::{GitDir, Output, Run, Scratch, forge_binary, workspace_root};
use serde_json::{Value, json};

/// Password of both accounts.
const PASSWORD: &str = "0canary0-of-the-account";

/// Password of the desktop keyrings.
const KEYRING: &str = "0canary0-keyring";

/// Shell script that starts a session bus and an unlocked keyring in `$HOME`, and then the program.
const IN_A_DESKTOP: &str = "printf %s \"$KEYRING\" \
    | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec \"$@\"";

/// Name of the knot for `tang`. It has no port, because a PDS refuses the DIDs that `tang` makes of
/// host and port.
const KNOT: &str = "knot.example";

/// The collection of pull request records.
pub const PULL: &str = "sh.tangled.repo.pull";

/// A world with a repository, its owner and a contributor. Both accounts use both programs.
pub struct Stage<W> {
    pub world: W,
    pub alice: Account,
    pub bob: Account,
    pub repo: Repository,
    pub clone: GitDir,
    at: Addresses,
    scratch: Scratch,
    tang: PathBuf,
    desktops: AtomicUsize,
}

/// Addresses of the servers, with which both programs are configured.
struct Addresses {
    pds: String,
    directory: String,
    knot: String,
    index: String,
    web: String,
}

impl Stage<World> {
    /// Creates a stage with doubles. Returns `None` without `tang`.
    pub fn new() -> Option<Self> {
        let tang = installed()?;
        let knot = KnotOptions {
            alias: Some(KNOT.to_owned()),
            ..KnotOptions::default()
        };
        let world = World::with(PdsOptions::default(), knot).unwrap();
        let account = |handle: &str| world.pds().account(handle, PASSWORD);
        let accounts = [account("alice.test"), account("bob.test")];
        let repo = world.repository(&accounts[0], "widget");
        let at = Addresses::of(
            world.pds().host().url(),
            world.directory(),
            world.knot(),
            world.index(),
        );
        let stage = Self::with(world, at, accounts, repo, tang);
        for who in [&stage.alice, &stage.bob] {
            stage.log_in(who, &stage.world.pds().app_password(&who.did));
        }
        Some(stage)
    }

    /// Calls `run` while the owner's record has the address of the knot that `tang` needs: with
    /// plain HTTP, and without a port.
    pub fn with_a_knot_for_tang<T>(&self, run: impl FnOnce() -> T) -> T {
        let put = |record| {
            let pds = self.world.pds();
            pds.put(&self.alice.did, "sh.tangled.repo", "widget", record)
        };
        let (_, record) = self.world.pds().record(&self.repo.uri).unwrap();
        let mut other = record.clone();
        other["knot"] = json!(format!("http://{KNOT}"));
        put(other);
        let done = run();
        put(record);
        done
    }
}

impl Stage<RealWorld> {
    /// Creates a stage with a real PDS. Returns `None` without the PDS or `tang`.
    pub fn real() -> Option<Self> {
        let tang = installed()?;
        let world = RealWorld::start(&RealWorld::installed()?).unwrap();
        let account = |handle: &str| world.account(handle, PASSWORD);
        let accounts = [account("alice.test"), account("bob.test")];
        let repo = world.repository(&accounts[0], "widget");
        let at = Addresses::of(
            world.pds_url(),
            world.directory(),
            world.knot(),
            world.index(),
        );
        let stage = Self::with(world, at, accounts, repo, tang);
        for who in [&stage.alice, &stage.bob] {
            let body = json!({ "name": "tang" });
            let pds = stage.world.caller(who);
            let made = pds.post("com.atproto.server.createAppPassword", &body).ok();
            stage.log_in(who, made["password"].as_str().unwrap());
        }
        Some(stage)
    }
}

impl Addresses {
    fn of(
        pds: String,
        directory: &DirectoryDouble,
        knot: &KnotDouble,
        index: &IndexDouble,
    ) -> Self {
        Self {
            pds,
            directory: directory.host().url(),
            knot: knot.host().url(),
            index: index.host().url(),
            web: index.web().url(),
        }
    }
}

impl<W> Stage<W> {
    fn with(
        world: W,
        at: Addresses,
        [alice, bob]: [Account; 2],
        repo: Repository,
        tang: PathBuf,
    ) -> Self {
        let scratch = Scratch::new();
        let from = repo.path().to_string_lossy().into_owned();
        let to = scratch.path("clone").to_string_lossy().into_owned();
        repo.git.run(["clone", "--quiet", &from, &to]).ok();
        let clone = GitDir::at(&scratch.path("clone"));
        scratch.write(
            "forge/config.toml",
            format!(
                "[hosts.\"tangled.org\"]\napi_url = \"{}\"\npds_url = \"{}\"\nplc_url = \"{}\"\n",
                at.index, at.pds, at.directory
            ),
        );
        Self {
            world,
            alice,
            bob,
            repo,
            clone,
            at,
            scratch,
            tang,
            desktops: AtomicUsize::new(0),
        }
    }

    /// Logs an account in to `tang`. `forge` reads its login from the environment.
    fn log_in(&self, who: &Account, app_password: &str) {
        let login = ["auth", "login", "--handle", &who.handle];
        let with = ["--password", app_password, "--pds", &self.at.pds];
        let out = self.tang(who, &[&login[..], &with].concat()).success();
        assert!(out.stdout_text().contains(&who.did), "{out:?}");
    }

    /// Runs `tang` with an account's login, in the clone.
    pub fn tang(&self, who: &Account, args: &[&str]) -> Output {
        self.tang_in_a_desktop(who).args(args).output()
    }

    fn tang_in_a_desktop(&self, who: &Account) -> Run {
        let home = self.scratch.path(&who.handle);
        // Each run has a separate directory, because the keyring of an earlier run may still be
        // ending.
        let desktop = self.desktops.fetch_add(1, Ordering::Relaxed);
        let run = self.scratch.path(format!("run/{desktop}"));
        fs::create_dir_all(&run).unwrap();
        self.scratch
            .run("dbus-run-session")
            .dir(self.clone.path())
            .env("HOME", &home)
            .env("XDG_RUNTIME_DIR", run)
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("KEYRING", KEYRING)
            .env("TANGLED_API_BASE", &self.at.index)
            .env("TANGLED_WEB_BASE", &self.at.web)
            .env("HTTP_PROXY", &self.at.knot)
            .env("NO_PROXY", "localhost")
            .args(["--", "sh", "-c", IN_A_DESKTOP, "sh"])
            .arg(&self.tang)
    }

    /// Runs `tang --format json`, and returns its output.
    pub fn tang_json(&self, who: &Account, args: &[&str]) -> Value {
        let args = [args, &["--format", "json"]].concat();
        self.tang(who, &args).success().json()
    }

    /// Runs `forge` with an account's login.
    pub fn forge(&self, who: &Account, args: &[&str]) -> Output {
        self.scratch
            .run(forge_binary())
            .env("FORGE_CONFIG_DIR", self.scratch.path("forge"))
            .env("TANGLED_HANDLE", &who.handle)
            .env("TANGLED_PASSWORD", &who.password)
            .args(args)
            .args(["-R", "tangled:alice.test/widget"])
            .output()
    }

    /// Returns fields of a pull request as JSON.
    pub fn view(&self, pull: &str, fields: &str) -> Value {
        let args = ["pr", "view", pull, "--json", fields];
        self.forge(&self.alice, &args).success().json()
    }

    /// Returns the diff of a pull request, as `forge` prints it.
    pub fn diff(&self, pull: &str, args: &[&str]) -> String {
        let args = [&["pr", "diff", pull], args].concat();
        self.forge(&self.alice, &args).success().stdout_text()
    }

    /// Returns the patch of a pull request, as `tang` prints it.
    pub fn patch_by_tang(&self, who: &Account, id: &str) -> String {
        let shown = self.tang_json(who, &["pull", "show", id, "--diff"]);
        shown["patch"].as_str().expect("a patch").to_owned()
    }

    /// Creates a branch with one commit, which adds a file, in both the repository and the clone.
    pub fn branch(&self, name: &str) {
        let file = format!("{name}.txt");
        self.repo
            .git
            .commit(name, &format!("Add {file}"), &[(&file, Some("one\ntwo\n"))]);
        self.fetch(name);
    }

    /// Fetches a branch of the repository into the clone.
    pub fn fetch(&self, name: &str) {
        let spec = format!("+{name}:{name}");
        self.clone.run(["fetch", "--quiet", "origin", &spec]).ok();
    }

    /// Opens a pull request with `tang` from an existing branch, and returns its at-uri.
    pub fn tang_opens(&self, who: &Account, head: &str, title: &str, body: &str) -> String {
        let create = [
            "pull",
            "create",
            "--repo",
            "alice.test/widget",
            "--base",
            "main",
        ];
        let texts = ["--head", head, "--title", title, "--body", body];
        self.tang_creates(who, &[&create[..], &texts].concat())
    }

    /// Opens a pull request with `tang`, and returns its at-uri.
    pub fn tang_creates(&self, who: &Account, args: &[&str]) -> String {
        let out = self.tang(who, args).success();
        let text = out.stdout_text();
        let rest = text.split_once("rkey=").expect("a key").1;
        let rkey = rest.split_whitespace().next().unwrap();
        format!("at://{}/{PULL}/{rkey}", who.did)
    }

    /// Opens a pull request with `forge` from an existing branch, and returns its at-uri.
    pub fn forge_opens(&self, who: &Account, head: &str, title: &str, body: &str) -> String {
        let args = ["pr", "create", "-H", head, "-t", title, "-b", body];
        let uri = self.forge(who, &args).success().stdout_text();
        assert!(
            uri.starts_with(&format!("at://{}/{PULL}/", who.did)),
            "{uri}"
        );
        uri.trim().to_owned()
    }
}

/// Returns the record key in an at-uri.
pub fn rkey(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap()
}

/// Returns an at-uri in the form that `tang` 0.1.0 needs for another account's pull request: `tang`
/// reads the key after the fourth slash instead of the third.
pub fn for_tang(uri: &str) -> String {
    uri.replace(PULL, &format!("{PULL}/-"))
}

/// Returns the path of `tang`: `FORGE_TANG`, or by default the binary that `cargo xtask test` put
/// into `target/peers`.
fn installed() -> Option<PathBuf> {
    let usual = workspace_root().join("target/peers/tang/bin/tang");
    let program = std::env::var_os("FORGE_TANG").map_or(usual, PathBuf::from);
    if program.is_file() {
        return Some(program);
    }
    assert!(
        std::env::var_os("FORGE_REQUIRE_TANG").is_none(),
        "tang is required but not at {}",
        program.display()
    );
    eprintln!(
        "no tang at {}: nothing was compared with it",
        program.display()
    );
    None
}
