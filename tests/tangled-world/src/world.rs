//! Connects all services of tangled's world.

use std::io;

use serde_json::Value;

use super::{
    directory::DirectoryDouble,
    identities::Identities,
    index::IndexDouble,
    knot::{KnotDouble, KnotOptions, Repo, Repos, Repository},
    network::Network,
    pds::{Account, PdsDouble, PdsOptions},
};

/// A directory, a PDS, a knot and an index that are connected to each other.
pub struct World {
    directory: DirectoryDouble,
    pds: PdsDouble,
    knot: KnotDouble,
    index: IndexDouble,
    network: Network,
    repos: Repos,
}

impl World {
    /// Starts a world.
    ///
    /// # Errors
    ///
    /// Fails if a port, or the directory for the repositories, is unavailable.
    pub fn start() -> io::Result<Self> {
        Self::with(PdsOptions::default(), KnotOptions::default())
    }

    /// Starts a world as [`Self::start`] does, with options for PDS and knot.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::start`] does.
    pub fn with(pds: PdsOptions, knot: KnotOptions) -> io::Result<Self> {
        let directory = DirectoryDouble::start()?;
        let network = Network::default();
        let repos = Repos::default();
        let identities = Identities::Entries(directory.entries());
        Ok(Self {
            pds: PdsDouble::start(pds, &directory, network.clone())?,
            knot: KnotDouble::start(
                knot,
                directory.entries(),
                identities.clone(),
                network.clone(),
                repos.clone(),
            )?,
            index: IndexDouble::start(network.clone(), identities, repos.clone())?,
            directory,
            network,
            repos,
        })
    }

    /// Returns the directory of DIDs.
    #[must_use]
    pub fn directory(&self) -> &DirectoryDouble {
        &self.directory
    }

    /// Returns the PDS of the world.
    #[must_use]
    pub fn pds(&self) -> &PdsDouble {
        &self.pds
    }

    /// Returns the knot of the world.
    #[must_use]
    pub fn knot(&self) -> &KnotDouble {
        &self.knot
    }

    /// Returns the index of the world, with its backlinks and web pages.
    #[must_use]
    pub fn index(&self) -> &IndexDouble {
        &self.index
    }

    /// Starts a second PDS in the same network.
    ///
    /// # Errors
    ///
    /// Fails if no port is available.
    pub fn another_pds(&self, options: PdsOptions) -> io::Result<PdsDouble> {
        PdsDouble::start(options, &self.directory, self.network.clone())
    }

    /// Starts a second knot in the same network.
    ///
    /// # Errors
    ///
    /// Fails if a port, or the directory for its repositories, is unavailable.
    pub fn another_knot(&self, options: KnotOptions) -> io::Result<KnotDouble> {
        KnotDouble::start(
            options,
            self.directory.entries(),
            Identities::Entries(self.directory.entries()),
            self.network.clone(),
            self.repos.clone(),
        )
    }

    /// Creates a repository of 2026 with a first commit on `main`, and a record in the owner's
    /// account.
    #[must_use]
    pub fn repository(&self, owner: &Account, name: &str) -> Repository {
        let (repo, record) = self.knot.add_2026(owner, name, &name.to_lowercase());
        self.announce(&repo, "sh.tangled.repo", record)
    }

    /// Creates a repository of 2026 whose record has the key `rkey`, and a name in a field of its
    /// own: the form of records before May 2026.
    #[must_use]
    pub fn repository_with_key(&self, owner: &Account, name: &str, rkey: &str) -> Repository {
        let (repo, mut record) = self.knot.add_2026(owner, name, rkey);
        record["name"] = name.into();
        self.announce(&repo, "sh.tangled.repo", record)
    }

    /// Creates a repository of 2025. Unlike a repository of [`Self::repository`], it has no DID.
    #[must_use]
    pub fn repository_2025(&self, owner: &Account, name: &str) -> Repository {
        let (repo, record) = self.knot.add_2025(owner, name);
        self.announce(&repo, "sh.tangled.repo", record)
    }

    /// Creates a repository of Tangled 1.0, with an account on the knot and a declaration in the
    /// owner's account.
    #[must_use]
    pub fn repository_1_0(&self, owner: &Account, name: &str) -> Repository {
        let (repo, record) = self.knot.add_1_0(owner, name);
        self.announce(&repo, "org.tangled.repo.declaration", record)
    }

    /// Creates a fork of a repository of 2026 on the same knot, with the same name.
    #[must_use]
    pub fn fork(&self, upstream: &Repository, owner: &Account) -> Repository {
        self.fork_on(&self.knot, upstream, owner, &upstream.name)
    }

    /// Creates a fork of a repository of 2026 on the given knot, with the given name.
    #[must_use]
    pub fn fork_on(
        &self,
        knot: &KnotDouble,
        upstream: &Repository,
        owner: &Account,
        name: &str,
    ) -> Repository {
        let (repo, mut record) = knot.add_2026(owner, name, &name.to_lowercase());
        record["source"] = upstream.did.as_str().into();
        let fork = self.announce(&repo, "sh.tangled.repo", record);
        copy(upstream, &fork);
        fork
    }

    /// Creates a fork of a repository of Tangled 1.0 on the same knot, with the same name.
    #[must_use]
    pub fn fork_1_0(&self, upstream: &Repository, owner: &Account) -> Repository {
        let (repo, record) = self.knot.add_1_0(owner, &upstream.name);
        let fork = self.announce(&repo, "org.tangled.repo.declaration", record);
        copy(upstream, &fork);
        fork
    }

    fn announce(&self, repo: &Repo, collection: &str, record: Value) -> Repository {
        let (uri, _) = self.pds.put(&repo.owner, collection, &repo.rkey, record);
        Repository::new(repo, uri)
    }
}

/// Copies the upstream's current content to a new fork.
fn copy(upstream: &Repository, fork: &Repository) {
    let path = upstream.path().to_string_lossy().into_owned();
    fork.git.run(["remote", "add", "origin", &path]).ok();
    fork.git
        .run([
            "fetch",
            "--quiet",
            "--force",
            "--update-head-ok",
            &path,
            "+refs/heads/*:refs/heads/*",
        ])
        .ok();
}
