//! Finds refs by their full names.
//!
//! If there is no ref with a given full name, git tries other refs, such as `refs/tags/<name>`.
//! These refs are called shadows here. A fetch also brings tags, so a stranger's tag
//! `refs/tags/refs/heads/x` could pose as the missing branch `x`. In addition, git reads a missing
//! name such as `<name>-g1a2b3c4` as output of `git describe` (gitrevisions(7)).

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
};

use forge_core::{ErrorKind, Result};

use crate::{Git, refname_problem};

/// Prefixes of shadows: the refs that git tries for a missing ref below `refs/`.
const SHADOWS: [&str; 4] = [
    "refs/refs/",
    "refs/tags/refs/",
    "refs/heads/refs/",
    "refs/remotes/refs/",
];

/// Maximum size of a `packed-refs` file that is searched without git, in bytes.
const MAX_PACKED_REFS: u64 = 4 << 20;

/// Maximum number of names in the arguments of one process.
const MAX_NAMES: usize = 256;

impl Git {
    /// Returns the object id of the ref with this full name, or `None` if there is no such ref.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn ref_oid(&self, name: &str) -> Result<Option<String>> {
        Ok(self.ref_oids(&[name]).await?.remove(name))
    }

    /// Returns the object ids of refs with full names. A name without a ref is not in the map.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub(crate) async fn ref_oids(&self, names: &[&str]) -> Result<HashMap<String, String>> {
        let valid = names.iter().copied();
        let valid: Vec<&str> = valid
            .filter(|name| refname_problem(name).is_none())
            .collect();
        let mut found = HashMap::new();
        for chunk in valid.chunks(MAX_NAMES) {
            let mut args = vec!["for-each-ref", "--format=%(refname) %(objectname)"];
            args.extend(chunk);
            let listed = self.run_ok(args).await?;
            let listed = String::from_utf8_lossy(&listed);
            let refs = listed.lines().filter_map(|line| line.split_once(' '));
            found.extend(refs.map(|(name, oid)| (name.to_owned(), oid.to_owned())));
        }
        Ok(found)
    }

    /// Returns the id of the commit that a revision names, or `None` if there is none. A revision
    /// that begins with the full name of a ref finds only that ref.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn commit_id(&self, name: &str) -> Result<Option<String>> {
        if let Some((full, rest)) = split_ref(name) {
            let oid = match self.ref_oid(full).await {
                // Outside of a repository, git fails, and there is no commit.
                Err(e) if matches!(e.kind(), ErrorKind::Git { status: 128 }) => None,
                found => found?,
            };
            // A tag can point to a tag object instead of a commit. Such an id is resolved to the
            // commit below.
            if oid.is_none() || (rest.is_empty() && !full.starts_with("refs/tags/")) {
                return Ok(oid);
            }
        }
        let name = format!("{name}^{{commit}}");
        let output = self
            .run([
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &name,
            ])
            .await?;
        let oid = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.status == 0).then_some(oid))
    }

    /// Returns true if the repository has shadows: refs that git could find instead of a missing
    /// ref.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub(crate) async fn has_shadows(&self) -> Result<bool> {
        let mut args = vec!["for-each-ref", "--count=1", "--format=%(refname)"];
        args.extend(SHADOWS);
        Ok(!self.run_ok(args).await?.is_empty())
    }
}

/// Splits a name into the full name of a ref and the rest, such as `^{commit}` or `:path`. Returns
/// `None` if the name does not begin with the full name of a ref.
pub(crate) fn split_ref(name: &str) -> Option<(&str, &str)> {
    let ends = [name.find([':', '^', '~']), name.find("@{")];
    let end = ends.into_iter().flatten().min().unwrap_or(name.len());
    name.starts_with("refs/").then(|| name.split_at(end))
}

/// Returns true if git could read the name of a missing ref as output of `git describe`.
pub(crate) fn is_description(name: &str) -> bool {
    name.rsplit_once("-g")
        .is_some_and(|(_, id)| id.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns false if the files in `common_dir` prove that [`Git::has_shadows`] would return false.
pub(crate) fn may_have_shadows(common_dir: &Path) -> bool {
    let is_dir = |prefix: &str| common_dir.join(prefix).is_dir();
    common_dir.join("reftable").exists()
        || SHADOWS.into_iter().any(is_dir)
        || has_packed_shadows(&common_dir.join("packed-refs")).unwrap_or(true)
}

fn has_packed_shadows(packed_refs: &Path) -> io::Result<bool> {
    let found = match fs::metadata(packed_refs) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if !found.is_file() || found.len() > MAX_PACKED_REFS {
        return Ok(true);
    }
    let mut lines = BufReader::new(File::open(packed_refs)?.take(MAX_PACKED_REFS));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        // A line is an object id, a space and the name.
        let space = line.iter().position(|b| *b == b' ');
        let name = space.and_then(|at| line.get(at + 1..)).unwrap_or_default();
        if SHADOWS.iter().any(|p| name.starts_with(p.as_bytes())) {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shadows_are_found_in_loose_and_packed_refs() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let blob = git.put("blob", b"x").await.unwrap();
        let common = dir.path().join(".git");
        let pack = async || git.run_ok(["pack-refs", "--all"]).await.unwrap();
        for shadow in [
            "refs/tags/refs/heads/x",
            "refs/remotes/refs/heads/x/HEAD",
            "refs/refs/heads/x",
        ] {
            git.run_ok(["update-ref", "refs/tags/v1", &blob])
                .await
                .unwrap();
            pack().await;
            assert!(!may_have_shadows(&common) && !git.has_shadows().await.unwrap());
            git.run_ok(["update-ref", shadow, &blob]).await.unwrap();
            assert!(may_have_shadows(&common) && git.has_shadows().await.unwrap());
            pack().await;
            assert!(!common.join(shadow).exists());
            assert!(may_have_shadows(&common), "{shadow}");
            git.run_ok(["update-ref", "-d", shadow]).await.unwrap();
        }
    }

    #[tokio::test]
    async fn commit_id_of_missing_ref_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q", "-b", "main"]).await.unwrap();
        let by = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let commit = ["commit", "-q", "--allow-empty", "-m", "m"];
        git.run_ok(by.into_iter().chain(commit)).await.unwrap();
        let tag = ["tag", "-a", "-m", "m", "refs/heads/x", "main"];
        git.run_ok(by.into_iter().chain(tag)).await.unwrap();
        let tip = git.commit_id("HEAD").await.unwrap().unwrap();
        for name in [
            "refs/heads/main",
            "refs/heads/main^0",
            "refs/tags/refs/heads/x",
        ] {
            assert_eq!(
                git.commit_id(name).await.unwrap().as_ref(),
                Some(&tip),
                "{name}"
            );
        }
        let outside = git.in_dir(dir.path().parent().unwrap());
        assert_eq!(outside.commit_id("refs/heads/x").await.unwrap(), None);
        let described = format!("refs/heads/x-g{}", &tip[..8]);
        for name in [
            "refs/heads/x",
            "refs/heads/x~0",
            "refs/heads/x@{0}",
            &described,
        ] {
            assert_eq!(git.commit_id(name).await.unwrap(), None, "{name}");
        }
    }
}
