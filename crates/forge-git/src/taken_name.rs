//! Finds out what the name of a new branch already means to git.

use forge_core::{Result, is_full_oid};

use crate::{Git, Remote};

/// Names of files in the git directory that git reads as refs and that do not end with `_HEAD`.
///
/// Source: `is_root_ref` in git's `refs.c`.
const ROOT_REFS: [&str; 6] = [
    "HEAD",
    "AUTO_MERGE",
    "BISECT_EXPECTED_REV",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "MERGE_AUTOSTASH",
];

/// First parts under which git looks for refs of another kind.
const REF_PREFIXES: [&str; 4] = ["refs", "heads", "tags", "remotes"];

impl Git {
    /// Returns what `name` means to git, if a branch of this name would change or confuse that
    /// meaning. `None` if the name is free, or if the branch exists already.
    ///
    /// Git finds `refs/heads/origin/main` before `refs/remotes/origin/main`, and a branch before the
    /// beginning of a commit id. A stranger who names a branch could so choose what `git log
    /// origin/main` shows. A branch with the name of a tag makes the name ambiguous.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn find_taken_name(&self, name: &str, remotes: &[Remote]) -> Result<Option<String>> {
        let branch = format!("refs/heads/{name}");
        let exists = [
            "show-ref",
            "--verify",
            "--quiet",
            "--end-of-options",
            &branch,
        ];
        if self.run(exists).await?.status == 0 {
            return Ok(None);
        }
        if let Some(meaning) = reserved_meaning(name, remotes) {
            return Ok(Some(meaning));
        }
        let options = ["rev-parse", "--verify", "--quiet", "--symbolic-full-name"];
        let words = options.into_iter().chain(["--end-of-options", name]);
        let found = self.run(words).await?;
        let refname = String::from_utf8_lossy(found.stdout.trim_ascii());
        Ok(match (found.status, refname.is_empty()) {
            (0, true) => Some("the beginning of a commit id".to_owned()),
            (0, false) => Some(refname.into_owned()),
            _ => None,
        })
    }
}

/// Returns what a name means to git whatever refs there are.
fn reserved_meaning(name: &str, remotes: &[Remote]) -> Option<String> {
    let first = name.split('/').next().unwrap_or_default();
    if is_full_oid(&name.to_ascii_lowercase()) {
        return Some("a commit id".to_owned());
    }
    if ROOT_REFS.contains(&name) || name.ends_with("_HEAD") {
        return Some("a name of git's own".to_owned());
    }
    if first != name && REF_PREFIXES.contains(&first) {
        return Some(format!("a ref below {first}/"));
    }
    let is_of = |remote: &&Remote| {
        let rest = name.strip_prefix(remote.name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let remote = remotes.iter().find(is_of)?;
    Some(format!("a branch of the remote {}", remote.name))
}

#[cfg(test)]
mod tests {
    use forge_core::Trust;

    use super::*;

    struct Clone {
        _dir: tempfile::TempDir,
        git: Git,
        commit: String,
    }

    impl Clone {
        /// Creates a repository with the commits, tags and remote-tracking branches of a clone.
        async fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::at(dir.path()).with_trust(Trust::Person).for_write();
            git.run_ok(["init", "-q", "-b", "main"]).await.unwrap();
            let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
            let commit = ["commit", "-q", "--allow-empty", "-m", "m"];
            git.run_ok(who.iter().chain(&commit)).await.unwrap();
            let commit = git.run_ok(["rev-parse", "HEAD"]).await.unwrap();
            let commit = String::from_utf8(commit).unwrap().trim().to_owned();
            for name in [
                "refs/tags/v1",
                "refs/remotes/origin/main",
                "refs/remotes/origin/HEAD",
                "refs/stash",
                "refs/heads/topic",
            ] {
                git.run_ok(["update-ref", name, &commit]).await.unwrap();
            }
            Self {
                _dir: dir,
                git,
                commit,
            }
        }

        async fn meaning(&self, name: &str) -> Option<String> {
            let remote = |name: &str| Remote {
                name: name.to_owned(),
                url: "/r".to_owned(),
                resolved: None,
            };
            let remotes = [remote("origin"), remote("team/fork")];
            self.git.find_taken_name(name, &remotes).await.unwrap()
        }
    }

    #[tokio::test]
    async fn name_with_another_meaning_is_taken() {
        let clone = Clone::new().await;
        let upper = clone.commit.to_ascii_uppercase();
        let short = &clone.commit[..7];
        let described = format!("x-1-g{short}");
        for name in [
            "origin",
            "origin/main",
            "origin/not-fetched",
            "team/fork/x",
            "v1",
            "tags/v1",
            "heads/main",
            "refs/heads/main",
            "refs/x",
            "remotes/origin/main",
            "FETCH_HEAD",
            "ORIG_HEAD",
            "AUTO_MERGE",
            "stash",
            clone.commit.as_str(),
            upper.as_str(),
            short,
            described.as_str(),
        ] {
            assert!(clone.meaning(name).await.is_some(), "{name}");
        }
        for name in [
            "feature",
            "topic",
            "main",
            "origins/x",
            "team/x",
            "head",
            "refs",
            "heads",
            "facade",
            "HEADER",
            "v1/x",
            "fix/origin/main",
        ] {
            assert_eq!(clone.meaning(name).await, None, "{name}");
        }
    }

    /// git would find the branch in place of what the name meant, so forge makes no such branch.
    #[tokio::test]
    async fn name_that_a_branch_would_hide_is_taken() {
        let clone = Clone::new().await;
        let blob = clone.git.put("blob", b"x").await.unwrap();
        let tree = format!("100644 blob {blob}\tf\n");
        let tree = clone
            .git
            .run_ok_with_stdin(["mktree"], tree.as_bytes())
            .await;
        let tree = String::from_utf8(tree.unwrap()).unwrap();
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let make = ["commit-tree", tree.trim(), "-m", "stranger"];
        let stranger = clone.git.run_ok(who.iter().chain(&make)).await.unwrap();
        let stranger = String::from_utf8(stranger).unwrap().trim().to_owned();
        for name in ["origin/main", "origin", &clone.commit[..7], "ORIG_HEAD"] {
            assert!(clone.meaning(name).await.is_some(), "{name}");
            let branch = format!("refs/heads/{name}");
            let create = ["update-ref", branch.as_str(), &stranger];
            clone.git.run_ok(create).await.unwrap();
            let found = clone.git.run_ok(["rev-parse", "--verify", name]).await;
            let found = String::from_utf8(found.unwrap()).unwrap();
            assert_eq!(found.trim(), stranger, "{name}");
            let delete = ["update-ref", "-d", branch.as_str()];
            clone.git.run_ok(delete).await.unwrap();
        }
    }
}
