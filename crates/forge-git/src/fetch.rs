//! Fetches objects from a remote without writing refs.

use forge_core::{Error, ErrorKind, Result, Trust, is_full_oid, text::one_line};

use crate::Git;

impl Git {
    /// Fetches refs or commits (hex) from a remote into the object store. Writes no ref, not even a
    /// remote-tracking one.
    ///
    /// # Errors
    /// `git` if the remote cannot be reached or lacks a `wanted` object; `protocol` if an element
    /// of `wanted` is a refspec and not the name of a ref or commit; the errors of
    /// [`Git::for_remote`].
    pub async fn fetch_objects(&self, remote: &str, wanted: &[&str]) -> Result<()> {
        self.for_remote().await?.fetched(remote, wanted).await
    }

    /// Like [`Git::fetch_objects`], for an operation that only reads. Never starts a program that
    /// the repository's configuration names, even if a person chose the repository.
    ///
    /// # Errors
    /// `permission_denied` with the keys if the configuration names a program for remotes; `git` if
    /// the fetch fails.
    pub async fn fetch_for_read(&self, remote: &str, wanted: &[&str]) -> Result<()> {
        let git = self.for_remote().await?;
        if git.has_programs_for_remotes().await? {
            return Err(self.refused_fetch(remote, wanted).await);
        }
        let sealed = match git.trust().is_guarded() {
            true => git,
            false => git.with_trust(Trust::Named),
        };
        sealed.fetched(remote, wanted).await
    }

    async fn fetched(&self, remote: &str, wanted: &[&str]) -> Result<()> {
        if let Some(refspec) = wanted.iter().find(|name| is_refspec(name)) {
            let name = one_line(refspec);
            let message = format!("cannot fetch '{name}': it is not the name of a ref or a commit");
            return Err(Error::new(ErrorKind::Protocol, message)
                .with_hint("ask the author of the change to rename its branch"));
        }
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

    /// Returns true if the commit with the full id `oid` is in the object store; false for the name
    /// of a ref. Never fetches, even in a partial clone: the forge chooses the id, and the
    /// configuration of the repository could name a program that a fetch would start.
    pub async fn has_commit(&self, oid: &str) -> bool {
        if !is_full_oid(oid) {
            return false;
        }
        let commit = format!("{oid}^{{commit}}");
        let git = self.clone().without_lazy_fetch();
        git.run_ok(["cat-file", "-e", &commit]).await.is_ok()
    }
}

/// Returns true if git would read `name` as a refspec, or as the keyword `tag`, which turns the
/// next name into a refspec. Refspecs are refused, because strangers choose the names to fetch, and
/// a refspec can write refs or match several refs.
fn is_refspec(name: &str) -> bool {
    name == "tag" || name.starts_with(['+', '^']) || name.contains([':', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refspec_is_not_fetched() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path()).with_trust(Trust::Person);
        git.run_ok(["init", "-q"]).await.unwrap();
        for wanted in [
            "refs/heads/main:refs/replace/1234567890123456789012345678901234567890",
            "+refs/heads/main",
            "^refs/heads/main",
            "refs/heads/*",
            "tag",
        ] {
            let e = git.fetch_objects(".", &[wanted]).await.unwrap_err();
            assert_eq!(e.code(), "protocol", "{wanted}: {e}");
        }
        assert!(!is_refspec("refs/heads/c++"));
    }

    #[tokio::test]
    async fn revision_does_not_count_as_commit_id() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q", "-b", "main"]).await.unwrap();
        let tree = git.run_ok_with_stdin(["mktree"], b"").await.unwrap();
        let tree = String::from_utf8(tree).unwrap();
        let who = ["-c", "user.name=A", "-c", "user.email=a@x.example"];
        let commit = ["commit-tree", tree.trim(), "-m", "A"];
        let oid = git.run_ok(who.iter().chain(&commit)).await.unwrap();
        let oid = String::from_utf8(oid).unwrap();
        let update = ["update-ref", "refs/heads/main", oid.trim()];
        git.run_ok(update).await.unwrap();
        assert!(git.has_commit(oid.trim()).await);
        for other in ["HEAD", "main", "main~0", &oid[..7], "--output=x"] {
            assert!(!git.has_commit(other).await, "{other}");
        }
    }
}
