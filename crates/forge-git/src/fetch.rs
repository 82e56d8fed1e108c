//! Fetches objects of a remote without writing refs.

use forge_core::{Result, Trust};

use crate::{Git, process::Purpose};

impl Git {
    /// Fetches refs or commits (hex) of a remote into the object store. No ref is written, not even
    /// a remote-tracking one.
    ///
    /// # Errors
    /// `git` if the remote cannot be reached or lacks a `wanted` object; as [`Git::for_remote`].
    pub async fn fetch_objects(&self, remote: &str, wanted: &[&str]) -> Result<()> {
        self.for_remote().await?.fetched(remote, wanted).await
    }

    /// Like [`Git::fetch_objects`], for a read: no program of the repository's own configuration
    /// runs, for any level of trust.
    ///
    /// # Errors
    /// `permission_denied` with the keys if the configuration names such a program; `git`.
    pub async fn fetch_for_read(&self, remote: &str, wanted: &[&str]) -> Result<()> {
        let git = self.for_remote().await?;
        if git.purpose() == (Purpose::Remote { tokens: false }) {
            return Err(self.refused_fetch(remote, wanted).await);
        }
        let sealed = match git.trust().is_guarded() {
            true => git,
            false => git.with_trust(Trust::Named),
        };
        sealed.fetched(remote, wanted).await
    }

    async fn fetched(&self, remote: &str, wanted: &[&str]) -> Result<()> {
        let options = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            // Keeps git from updating the remote-tracking branch.
            "--refmap=",
            "--end-of-options",
            remote,
        ];
        let args = options.into_iter().chain(wanted.iter().copied());
        self.run_ok(args).await?;
        Ok(())
    }

    /// Whether the commit `oid` is in the object store. Nothing is fetched, even in a partial
    /// clone, because the forge chooses the id and the repository could name the program that
    /// fetches.
    pub async fn has_commit(&self, oid: &str) -> bool {
        let commit = format!("{oid}^{{commit}}");
        let git = self.clone().without_lazy_fetch();
        git.run_ok(["cat-file", "-e", &commit]).await.is_ok()
    }
}
