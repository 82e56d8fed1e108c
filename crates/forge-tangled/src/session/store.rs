//! Sessions on disk: one file per account, which its owner alone can read, and a lock beside it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use forge_core::{Error, ErrorKind, Result};
use forge_http::Secret;
use serde::{Deserialize, Serialize};

/// The tokens of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub access: Secret,
    pub refresh: Secret,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    did: String,
    access: String,
    refresh: String,
}

/// Where sessions are kept; without a directory, nowhere.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    dir: Option<PathBuf>,
}

/// Held while a session is renewed, so that one process does it.
pub(crate) struct Lock {
    _file: Option<File>,
}

impl Store {
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    /// Waits until no other process renews the session of `did`.
    pub async fn lock(&self, did: &str) -> Result<Lock> {
        let Some(dir) = self.dir.clone() else {
            return Ok(Lock { _file: None });
        };
        let path = dir.join(format!("{}.lock", file_name(did)));
        let taken = tokio::task::spawn_blocking(move || -> io::Result<File> {
            make_dir(&dir)?;
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(path)?;
            file.lock()?;
            Ok(file)
        });
        let file = taken
            .await
            .unwrap_or_else(|e| Err(io::Error::other(e)))
            .map_err(|e| self.failed(&e))?;
        Ok(Lock { _file: Some(file) })
    }

    /// The stored tokens. A file that others can read, or that is broken, counts as none: it costs
    /// one login, and is replaced.
    pub fn read(&self, did: &str) -> Option<Tokens> {
        let path = self.path(did)?;
        if !is_private(&path) {
            tracing::warn!(path = %path.display(), "this session is not used: others can read the file");
            return None;
        }
        let stored: Stored = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (stored.did == did).then(|| Tokens {
            access: Secret::new(stored.access),
            refresh: Secret::new(stored.refresh),
        })
    }

    /// Replaces the stored tokens in one step.
    pub fn write(&self, did: &str, tokens: &Tokens) -> Result<()> {
        let (Some(dir), Some(path)) = (&self.dir, self.path(did)) else {
            return Ok(());
        };
        let stored = Stored {
            did: did.to_owned(),
            access: tokens.access.expose().to_owned(),
            refresh: tokens.refresh.expose().to_owned(),
        };
        let put = || -> io::Result<()> {
            make_dir(dir)?;
            let text = serde_json::to_vec(&stored)?;
            // Made with mode 0600.
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        put().map_err(|e| self.failed(&e))
    }

    /// Forgets a session.
    pub fn remove(&self, did: &str) {
        if let Some(path) = self.path(did) {
            // Not there is as good.
            let _ = fs::remove_file(path);
        }
    }

    fn path(&self, did: &str) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?;
        Some(dir.join(format!("{}.json", file_name(did))))
    }

    fn failed(&self, e: &io::Error) -> Error {
        let dir = self.dir.as_deref().unwrap_or(Path::new("."));
        Error::new(
            ErrorKind::Config,
            format!("the sessions in {} cannot be kept: {e}", dir.display()),
        )
        .with_hint("make the directory writable, or set FORGE_CONFIG_DIR to one that is")
    }
}

/// A DID has no `/`, but `:` and `%`, which not every file system takes.
fn file_name(did: &str) -> String {
    did.replace([':', '%'], "_")
}

fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(dir)
}

#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(access: &str) -> Tokens {
        Tokens {
            access: Secret::new(access),
            refresh: Secret::new("r"),
        }
    }

    #[test]
    fn sessions_of_several_accounts_are_kept_apart() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(Some(dir.path().join("sessions")));
        assert_eq!(store.read("did:plc:a"), None);
        store.write("did:plc:a", &tokens("a")).unwrap();
        store.write("did:web:b%3A1", &tokens("b")).unwrap();
        store.write("did:plc:a", &tokens("a2")).unwrap();
        assert_eq!(store.read("did:plc:a"), Some(tokens("a2")));
        assert_eq!(store.read("did:web:b%3A1"), Some(tokens("b")));
        store.remove("did:plc:a");
        assert_eq!(store.read("did:plc:a"), None);
        let memory = Store::new(None);
        memory.write("did:plc:a", &tokens("a")).unwrap();
        assert_eq!(memory.read("did:plc:a"), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_the_owners_alone_and_one_that_is_not_is_passed_over() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(Some(dir.path().to_owned()));
        store.write("did:plc:a", &tokens("a")).unwrap();
        let path = dir.path().join("did_plc_a.json");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(store.read("did:plc:a"), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "{").unwrap();
        assert_eq!(store.read("did:plc:a"), None);
    }
}
