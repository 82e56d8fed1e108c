//! Changes several refs in one `git update-ref` transaction.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use forge_core::{Error, Result};

use super::EventStore;

/// A change of a ref. The change fails if the ref does not have the required old value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefChange {
    /// Creates a ref, which must not exist.
    Create { name: String, new: String },
    /// Updates a ref whose value must be `old`.
    Update {
        name: String,
        new: String,
        old: String,
    },
    /// Deletes a ref whose value must be `old`.
    Delete { name: String, old: String },
    /// Requires that the value of a ref is `old`. Does not change the ref.
    Verify { name: String, old: String },
}

/// Reason why a transaction changed nothing but may succeed if it is repeated.
#[derive(Debug)]
pub(crate) struct RefConflict {
    pub error: Error,
    /// The lock file that blocked the transaction, if that was the reason.
    pub lock: Option<PathBuf>,
}

impl RefConflict {
    /// Returns the age of the lock file.
    pub fn lock_age(&self) -> Option<Duration> {
        let made = std::fs::metadata(self.lock.as_ref()?)
            .ok()?
            .modified()
            .ok()?;
        SystemTime::now().duration_since(made).ok()
    }
}

impl EventStore {
    /// Applies all of `changes`, or none. Returns `Ok(Some)` if another writer was faster.
    ///
    /// If the repository stores refs as files, git applies the changes in order. If the process is
    /// killed, it may therefore have applied only the first changes.
    pub async fn update_refs(
        &self,
        reason: &str,
        changes: &[RefChange],
    ) -> Result<Option<RefConflict>> {
        let mut input = b"start\0".to_vec();
        for change in changes {
            // Without this option, a change of a symbolic ref would change the ref to which it
            // points.
            input.extend_from_slice(b"option no-deref\0");
            let fields: [&str; 4] = match change {
                RefChange::Create { name, new } => ["create ", name, new, ""],
                RefChange::Update { name, new, old } => ["update ", name, new, old],
                RefChange::Delete { name, old } => ["delete ", name, old, ""],
                RefChange::Verify { name, old } => ["verify ", name, old, ""],
            };
            let [verb, name, first, second] = fields;
            input.extend_from_slice(format!("{verb}{name}\0{first}\0").as_bytes());
            if matches!(change, RefChange::Update { .. }) {
                input.extend_from_slice(format!("{second}\0").as_bytes());
            }
        }
        // Without these two commands, git would apply a truncated input.
        input.extend_from_slice(b"prepare\0commit\0");
        let args = ["update-ref", "-m", reason, "-z", "--stdin"];
        let git = self.git.for_write().without_hooks().await?;
        let output = git.run_with_locks(args, &input).await?;
        if output.status == 0 {
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let error = output.error("update-ref");
        if is_race(&said) {
            Ok(Some(RefConflict {
                error,
                lock: lock_file(&said, self.git.dir()),
            }))
        } else {
            Err(error)
        }
    }
}

/// Returns true if git's message means that another writer was faster. Any other failure is
/// permanent.
fn is_race(said: &str) -> bool {
    let hopeless = [
        "Permission denied",
        "Read-only file system",
        "No space left",
        "bad ref",
        "File name too long",
        // In git, a branch `a` excludes any branch `a/b`.
        "; cannot create '",
    ];
    if hopeless.iter().any(|h| said.contains(h)) {
        return false;
    }
    // The three words match these messages of git: "cannot lock ref", "cannot lock references",
    // "unable to create '….lock'", "is at … but expected", "reference already exists".
    ["lock", "expected", "already exists"]
        .iter()
        .any(|w| said.contains(w))
}

fn lock_file(said: &str, dir: &Path) -> Option<PathBuf> {
    let (_, rest) = said.split_once("nable to create '")?;
    let (path, _) = rest.split_once(".lock'")?;
    Some(dir.join(format!("{path}.lock")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_conflict_is_distinguished_from_permanent_failure() {
        let busy = "fatal: prepare: cannot lock ref 'refs/forge/pulls/1': Unable to create '/r/.git/refs/forge/pulls/1.lock': File exists.\n\nAnother git process";
        assert!(is_race(busy));
        assert_eq!(
            lock_file(busy, Path::new("/x")),
            Some(PathBuf::from("/r/.git/refs/forge/pulls/1.lock"))
        );
        let moved = "fatal: prepare: cannot lock ref 'refs/heads/x': is at aa but expected bb";
        assert!(is_race(moved) && lock_file(moved, Path::new("/x")).is_none());
        assert!(!is_race("Unable to create '/r/x.lock': Permission denied"));
        assert!(!is_race("fatal: invalid new value for x"));
        let long = "fatal: prepare: cannot lock ref 'refs/heads/xxx': Unable to create '/r/.git/refs/heads/xxx.lock': File name too long";
        assert!(!is_race(long));
        let below = "fatal: prepare: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/heads/a/b'";
        assert!(!is_race(below));
    }
}
