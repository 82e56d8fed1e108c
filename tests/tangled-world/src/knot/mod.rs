//! A knot, which serves git repositories over XRPC. It answers as the Go knot that tangled ran in
//! 2025 and 2026. For repositories of Tangled 1.0 it answers as the observed knot, which is also
//! the PDS of these repositories.

mod account;
mod auth;
mod compare;
mod merge;
mod read;
mod refs;
mod server;

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use forge_testkit::GitDir;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    atproto::{keys::Key, tid},
    directory::Entries,
    host::{Host, lock},
    identities::Identities,
    network::Network,
    pds::{Account, Pds, PdsOptions},
};

/// Audience that a service token for a knot of Tangled 1.0 must name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// The `did:web` of the knot's host.
    #[default]
    Host,
    /// The DID of the repository to which the call writes.
    Repository,
}

/// Behaviour of a knot.
#[derive(Debug, Clone)]
pub struct KnotOptions {
    /// True for a knot of 2025. It reports no version, ignores the audience of tokens, accepts no
    /// DIDs of repositories, and misspells `is_default`.
    pub legacy: bool,
    /// Capabilities that `sh.tangled.knot.version` reports. A knot with `legacy` reports none. A
    /// knot without `repo-did-input` is one of May to August 2026: its procedures take no DIDs of
    /// repositories, and merge by the key of a repository's record.
    pub capabilities: Vec<String>,
    /// True if `mergeCheck` fails internally, which a knot reports with status 200.
    pub broken_merge_check: bool,
    /// True if anybody may push over HTTP. A real knot accepts pushes only over SSH or, in Tangled
    /// 1.0, with a service token. The double always accepts service tokens.
    pub open_push: bool,
    /// Audience that tokens for writing records must name.
    pub audience: Audience,
    /// Fields that the knot loses when it writes a ticket. `title.text` names a nested field.
    pub loses: Vec<String>,
    /// A second host name without a port, whose tokens the knot also accepts. Clients need this
    /// name if their PDS does not accept a port in the audience.
    pub alias: Option<String>,
}

impl Default for KnotOptions {
    fn default() -> Self {
        Self {
            legacy: false,
            capabilities: vec!["knot-acl".to_owned(), "repo-did-input".to_owned()],
            broken_merge_check: false,
            open_push: false,
            audience: Audience::default(),
            loses: Vec::new(),
            alias: None,
        }
    }
}

impl KnotOptions {
    /// Returns true if the knot's procedures take the DIDs of repositories.
    fn takes_dids(&self) -> bool {
        !self.legacy && self.capabilities.iter().any(|it| it == "repo-did-input")
    }
}

/// Version of the protocol that a repository uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Sh2025,
    Sh2026,
    Org10,
}

#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) rkey: String,
    /// DID of the repository; `None` for a repository of 2025, which has no DID.
    pub(crate) did: Option<String>,
    pub(crate) era: Era,
    pub(crate) collaborators: BTreeSet<String>,
    dir: PathBuf,
}

impl Repo {
    pub(crate) fn may_push(&self, did: &str) -> bool {
        self.owner == did || self.collaborators.contains(did)
    }

    pub(crate) fn git(&self) -> GitDir {
        GitDir::at(&self.dir)
    }
}

/// The repositories of all knots in a world, so that any host can check permissions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repos(Arc<Mutex<Vec<Repo>>>);

impl Repos {
    pub(crate) fn find(&self, fits: impl Fn(&Repo) -> bool) -> Option<Repo> {
        lock(&self.0).iter().find(|it| fits(it)).cloned()
    }

    /// Returns a repository by its DID, by its at-uri, or by its owner's DID and its name.
    pub(crate) fn named(&self, name: &str) -> Option<Repo> {
        self.find(|it| {
            it.did.as_deref() == Some(name)
                || format!("{}/{}", it.owner, it.name) == name
                || format!("at://{}/sh.tangled.repo/{}", it.owner, it.rkey) == name
        })
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Repo)) {
        let found = self.named(name).map(|it| it.dir);
        let mut repos = lock(&self.0);
        if let Some(repo) = repos.iter_mut().find(|it| Some(&it.dir) == found.as_ref()) {
            change(repo);
        }
    }
}

/// A repository of the world, as tests use it.
#[derive(Debug)]
pub struct Repository {
    /// DID of the repository's owner.
    pub owner: String,
    /// Name of the repository.
    pub name: String,
    /// DID of the repository; empty for a repository of 2025.
    pub did: String,
    /// At-uri of the repository's record in the owner's account.
    pub uri: String,
    /// The bare git repository that the knot serves.
    pub git: GitDir,
}

pub(crate) struct Knot {
    pub(crate) options: KnotOptions,
    pub(crate) identities: Identities,
    pub(crate) repos: Repos,
    pub(crate) did: String,
    pub(crate) authority: String,
    pub(crate) root: PathBuf,
    /// The PDS that holds the accounts of Tangled 1.0 repositories.
    pub(crate) accounts: Pds,
    /// Seconds by which the knot's clock is ahead of the system time.
    clock_ahead: AtomicI64,
}

impl Knot {
    /// Returns the time of the knot's clock, in seconds since the epoch.
    fn now(&self) -> i64 {
        chrono::Utc::now().timestamp() + self.clock_ahead.load(Ordering::SeqCst)
    }

    pub(crate) fn repo(&self, name: &str) -> Option<Repo> {
        self.repos
            .named(name)
            .filter(|it| it.dir.starts_with(&self.root))
    }
}

/// A knot on loopback. It stops when it is dropped.
pub struct KnotDouble {
    host: Host,
    knot: Arc<Knot>,
    directory: Entries,
    _root: TempDir,
}

impl KnotDouble {
    pub(crate) fn start(
        options: KnotOptions,
        directory: Entries,
        identities: Identities,
        network: Network,
        repos: Repos,
    ) -> io::Result<Self> {
        let root = TempDir::with_prefix("forge-knot-double-")?;
        let claimed = Host::claim()?;
        let accounts = Pds::new(
            PdsOptions::default(),
            directory.clone(),
            network,
            claimed.url(),
        );
        let knot = Arc::new(Knot {
            options,
            identities,
            repos,
            did: claimed.did(),
            authority: claimed.authority(),
            root: root.path().to_owned(),
            accounts,
            clock_ahead: AtomicI64::new(0),
        });
        let host = claimed.serve("knot-double", server::Answers(Arc::clone(&knot)))?;
        Ok(Self {
            host,
            knot,
            directory,
            _root: root,
        })
    }

    /// Returns the host of the knot, with its address, its requests and its faults.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Sets the knot's clock ahead by `seconds_ahead`. Tokens that another clock issued are then
    /// expired, or not valid yet.
    pub fn set_clock(&self, seconds_ahead: i64) {
        let clock = &self.knot.clock_ahead;
        clock.store(seconds_ahead, Ordering::SeqCst);
    }

    /// Gives an account the right to push and merge.
    pub fn add_collaborator(&self, repository: &Repository, did: &str) {
        self.knot.repos.change(&name_of(repository), |it| {
            it.collaborators.insert(did.to_owned());
        });
    }

    /// Removes an account's right to push and merge.
    pub fn remove_collaborator(&self, repository: &Repository, did: &str) {
        self.knot.repos.change(&name_of(repository), |it| {
            it.collaborators.remove(did);
        });
    }

    /// Returns the URL from which clients clone a repository.
    #[must_use]
    pub fn clone_url(&self, repository: &Repository) -> String {
        format!(
            "{}/{}/{}",
            self.host.url(),
            repository.owner,
            repository.name
        )
    }

    /// Adds a repository of 2025, which is found by its name and has no DID. Returns it with the
    /// record for the owner's PDS.
    pub(crate) fn add_2025(&self, owner: &Account, name: &str) -> (Repo, Value) {
        let repo = self.add(owner, name, &tid::next(), None, Era::Sh2025);
        let record = json!({
            "name": name, "knot": self.host.authority(), "createdAt": "2025-06-01T00:00:00Z",
        });
        (repo, record)
    }

    /// Adds a repository of the protocol of 2026, which has a DID and a record with the key `rkey`.
    /// Returns it with the record for the owner's PDS.
    pub(crate) fn add_2026(&self, owner: &Account, name: &str, rkey: &str) -> (Repo, Value) {
        let did = self.repo_did(owner, name);
        let repo = self.add(owner, name, rkey, Some(did.clone()), Era::Sh2026);
        let record = json!({
            "knot": self.host.authority(), "repoDid": did, "createdAt": "2026-06-01T00:00:00Z",
        });
        (repo, record)
    }

    /// Adds a repository of Tangled 1.0, whose account is on this knot. Returns it with the owner's
    /// declaration for the owner's PDS.
    pub(crate) fn add_1_0(&self, owner: &Account, name: &str) -> (Repo, Value) {
        let did = self.repo_did(owner, name);
        self.directory.set_service(
            &did,
            "#atproto_pds",
            "AtprotoPersonalDataServer",
            &self.host.url(),
        );
        let repo = self.add(
            owner,
            name,
            &name.to_lowercase(),
            Some(did.clone()),
            Era::Org10,
        );
        let key = Key::from_seed(&seed(owner, name));
        lock(&self.knot.accounts.state).open(&did, &did, "", None, key);
        let manifest =
            json!({ "owner": owner.did, "name": name, "createdAt": "2026-10-20T00:00:00Z" });
        self.put_record(&did, "org.tangled.repo.manifest", "self", manifest);
        (
            repo,
            json!({ "repo": did, "createdAt": "2026-10-20T00:00:00Z" }),
        )
    }

    fn repo_did(&self, owner: &Account, name: &str) -> String {
        let seed = seed(owner, name);
        let did = self.directory.register(&seed, None, &Key::from_seed(&seed));
        // Knots mint documents whose endpoint has a path (knot1.tangled.sh, October 2026).
        let tag: String = did.chars().rev().take(24).collect();
        let endpoint = format!("{}/repo/{tag}22", self.host.url());
        self.directory
            .set_service(&did, "#tangled_knot", "TangledKnot", &endpoint);
        did
    }

    fn add(&self, owner: &Account, name: &str, rkey: &str, did: Option<String>, era: Era) -> Repo {
        let dir = self.knot.root.join(format!(
            "{}.git",
            seed(owner, name).replace([':', '/'], "-")
        ));
        let _ = GitDir::init(&dir, &["--bare"]);
        let repo = Repo {
            owner: owner.did.clone(),
            name: name.to_owned(),
            rkey: rkey.to_owned(),
            did,
            era,
            collaborators: BTreeSet::new(),
            dir,
        };
        lock(&self.knot.repos.0).push(repo.clone());
        repo
    }

    /// Writes a record to the account of a Tangled 1.0 repository without a request. Returns the
    /// at-uri and the CID.
    ///
    /// # Panics
    ///
    /// Panics if the knot does not have the account, or if `record` is invalid.
    pub fn put_record(
        &self,
        repo: &str,
        collection: &str,
        rkey: &str,
        record: Value,
    ) -> (String, String) {
        account::put(&self.knot, repo, collection, rkey, record)
            .expect("a record of an account here")
    }

    /// Returns at-uri, CID and value of a Tangled 1.0 repository's records in a collection, oldest
    /// key first.
    #[must_use]
    pub fn records(&self, repo: &str, collection: &str) -> Vec<(String, String, Value)> {
        let state = lock(&self.knot.accounts.state);
        let records = state
            .accounts
            .get(repo)
            .and_then(|it| it.records.get(collection));
        records
            .into_iter()
            .flatten()
            .map(|(rkey, it)| {
                let uri = format!("at://{repo}/{collection}/{rkey}");
                (uri, it.cid.clone(), it.value.clone())
            })
            .collect()
    }
}

fn seed(owner: &Account, name: &str) -> String {
    format!("{}/{name}", owner.did)
}

fn name_of(repository: &Repository) -> String {
    format!("{}/{}", repository.owner, repository.name)
}

impl Repository {
    pub(crate) fn new(repo: &Repo, uri: String) -> Self {
        Self {
            owner: repo.owner.clone(),
            name: repo.name.clone(),
            did: repo.did.clone().unwrap_or_default(),
            uri,
            git: repo.git(),
        }
    }

    /// Returns the path of the bare git repository.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.git.path()
    }
}
