//! Stores sessions on disk: for each account, a file that only its owner can read, and a lock file.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use forge_core::Secret;
use forge_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{PdsLogin, PinnedAccount};
use crate::Origin;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub access: Secret,
    pub refresh: Secret,
}

/// Content of a session file.
///
/// Fields that later versions added are optional. An ended session has empty tokens; its file
/// stays, because it still pins the account and the server of the password.
#[derive(Serialize, Deserialize)]
struct Stored {
    did: String,
    access: String,
    refresh: String,
    /// The account's name in the credential store at the time of the login.
    account: Option<String>,
    /// The origin of the server that opened the session. Only this server gets the tokens.
    server: Option<String>,
    /// Fingerprint of the password that opened the session.
    opened_by: Option<Fingerprint>,
}

impl Stored {
    /// Returns true if the session belongs to `account`. A session without an account name can no
    /// longer be used, so it counts as a session of every account.
    fn is_of(&self, account: &str) -> bool {
        let named = self.account.as_deref();
        named.is_none_or(|it| is_same_name(it, account)) || self.did == account
    }
}

fn is_same_name(one: &str, other: &str) -> bool {
    let plain = |name: &'_ str| name.trim_start_matches('@').to_ascii_lowercase();
    plain(one) == plain(other)
}

/// Salted hash by which a password is recognized. App passwords are random, so their hash does not
/// reveal them. The salt makes the hashes of equal passwords differ, and need not be secret.
#[derive(Serialize, Deserialize)]
struct Fingerprint {
    salt: String,
    sha256: String,
}

impl Fingerprint {
    fn new(password: &Secret) -> Self {
        let salt = format!("{:032x}", fastrand::u128(..));
        let sha256 = Self::hash(&salt, password);
        Self { salt, sha256 }
    }

    fn is_of(&self, password: &Secret) -> bool {
        self.sha256 == Self::hash(&self.salt, password)
    }

    fn hash(salt: &str, password: &Secret) -> String {
        let hash = Sha256::new()
            .chain_update(salt)
            .chain_update(password.expose());
        URL_SAFE_NO_PAD.encode(hash.finalize())
    }
}

/// The store of sessions; without a directory, sessions are not stored.
#[derive(Clone, Debug)]
pub(crate) struct SessionStore {
    dir: Option<PathBuf>,
}

/// Lock that is held while a session is renewed, so that only one process renews it.
pub(crate) struct SessionLock {
    _file: Option<File>,
}

impl SessionStore {
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    /// Locks the session of `did`, after waiting for other processes that renew it.
    pub async fn lock(&self, did: &str) -> Result<SessionLock> {
        let Some(dir) = self.dir.clone() else {
            return Ok(SessionLock { _file: None });
        };
        let path = dir.join(format!("{}.lock", file_name(did)));
        let taken = tokio::task::spawn_blocking(move || take(&dir, &path));
        let file = taken
            .await
            .unwrap_or_else(|e| Err(io::Error::other(e)))
            .map_err(|e| self.failed(e))?;
        Ok(SessionLock { _file: Some(file) })
    }

    /// Returns the stored tokens; `None` if the file cannot be used.
    ///
    /// A file cannot be used if other users can read it, if it is broken, or if its session was
    /// opened with another password or at another server. The next login replaces such a file.
    pub fn read(&self, did: &str, server: &Origin, password: &Secret) -> Option<Tokens> {
        let path = self.path(did)?;
        if !is_private(&path) {
            tracing::warn!(path = %path.display(), "this session is not used: others can read the file");
            return None;
        }
        let stored: Stored = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let opened_by = stored.opened_by.as_ref();
        let fits = stored.did == did
            && !stored.refresh.is_empty()
            && stored.server.as_deref() == Some(server.as_str())
            && opened_by.is_some_and(|it| it.is_of(password));
        fits.then(|| Tokens {
            access: Secret::new(stored.access),
            refresh: Secret::new(stored.refresh),
        })
    }

    /// Returns the pins (account and server) of the sessions that were opened under the login's
    /// name.
    ///
    /// There are several pins if an older version of forge followed a handle that had moved to
    /// another account. A pin has a server only if the session was opened with the same password,
    /// because another password may be for another server.
    pub fn pins(&self, login: &PdsLogin) -> Vec<PinnedAccount> {
        let entries = self.dir.as_ref().and_then(|dir| fs::read_dir(dir).ok());
        let paths = entries.into_iter().flatten().flatten().map(|it| it.path());
        let stored = paths
            .filter(|path| path.extension().is_some_and(|it| it == "json"))
            .filter_map(|path| serde_json::from_slice::<Stored>(&fs::read(path).ok()?).ok());
        let account = login.account.as_str();
        let is_named = |it: &Stored| {
            let named = it.account.as_deref();
            named.is_some_and(|it| is_same_name(it, account)) || it.did == account
        };
        let pins = stored.filter(is_named).map(|it| PinnedAccount {
            did: it.did,
            server: it
                .opened_by
                .is_some_and(|it| it.is_of(&login.password))
                .then_some(it.server)
                .flatten(),
        });
        pins.collect()
    }

    /// Replaces the session file of an account in one step.
    pub fn write(
        &self,
        did: &str,
        server: &Origin,
        login: &PdsLogin,
        tokens: &Tokens,
    ) -> Result<()> {
        let (Some(dir), Some(path)) = (&self.dir, self.path(did)) else {
            return Ok(());
        };
        let stored = Stored {
            did: did.to_owned(),
            access: tokens.access.expose().to_owned(),
            refresh: tokens.refresh.expose().to_owned(),
            account: Some(login.account.clone()),
            server: Some(server.to_string()),
            opened_by: Some(Fingerprint::new(&login.password)),
        };
        let put = || -> io::Result<()> {
            make_dir(dir)?;
            let text = serde_json::to_vec(&stored)?;
            // The file is created with mode 0600, so only its owner can read it.
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        put().map_err(|e| self.failed(e))
    }

    /// Removes the stored tokens, but keeps the file, because the file pins the account and the
    /// server. A password from the environment has no other pin.
    pub fn end(&self, did: &str, server: &Origin, login: &PdsLogin) -> Result<()> {
        let none = Tokens {
            access: Secret::new(""),
            refresh: Secret::new(""),
        };
        self.write(did, server, login, &none)
    }

    /// Removes the sessions of an account. Waits for a process that is renewing one of them.
    ///
    /// # Errors
    /// `config` if a file cannot be removed.
    pub fn forget(&self, account: &str) -> Result<()> {
        let Some(dir) = &self.dir else {
            return Ok(());
        };
        let forget = |path: &Path| -> io::Result<()> {
            let stored: Option<Stored> = serde_json::from_slice(&fs::read(path)?).ok();
            if stored.is_none_or(|it| it.is_of(account)) {
                let _lock = take(dir, &path.with_extension("lock"))?;
                fs::remove_file(path)?;
            }
            Ok(())
        };
        let forget_all = || -> io::Result<()> {
            for entry in fs::read_dir(dir)? {
                let path = entry?.path();
                if path.extension().is_some_and(|it| it == "json") {
                    or_absent(forget(&path))?;
                }
            }
            Ok(())
        };
        or_absent(forget_all()).map_err(|e| {
            Error::new(
                ErrorKind::Config,
                format!(
                    "the sessions of {account} in {} cannot be removed: {e}",
                    dir.display()
                ),
            )
            .with_hint("delete the files there, then repeat the command")
            .with_source(e)
        })
    }

    fn path(&self, did: &str) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?;
        Some(dir.join(format!("{}.json", file_name(did))))
    }

    fn failed(&self, e: io::Error) -> Error {
        let dir = self.dir.as_deref().unwrap_or(Path::new("."));
        Error::new(
            ErrorKind::Config,
            format!("the sessions in {} cannot be kept: {e}", dir.display()),
        )
        .with_hint("make the directory writable, or set FORGE_CONFIG_DIR to one that is")
        .with_source(e)
    }
}

/// Returns a file name for a DID. `:` and `%` are replaced, because some file systems refuse them.
fn file_name(did: &str) -> String {
    did.replace([':', '%'], "_")
}

/// Treats a missing file as removed.
fn or_absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn take(dir: &Path, path: &Path) -> io::Result<File> {
    make_dir(dir)?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    file.lock()?;
    Ok(file)
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

    fn login(account: &str, password: &str) -> PdsLogin {
        PdsLogin {
            account: account.to_owned(),
            password: Secret::new(password),
            pin: None,
        }
    }

    fn server(url: &str) -> Origin {
        Origin::configured(url).unwrap()
    }

    #[test]
    fn session_of_another_server_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let store = SessionStore::new(Some(dir.path().to_owned()));
        let (here, there) = (server("https://a.example"), server("https://b.example"));
        let login = login("a.test", "p");
        store
            .write("did:plc:a", &here, &login, &tokens("a"))
            .unwrap();
        assert_eq!(store.read("did:plc:a", &there, &login.password), None);
        assert_eq!(
            store.read("did:plc:a", &here, &login.password),
            Some(tokens("a"))
        );
    }

    #[test]
    fn stored_session_pins_did_of_handle() {
        let dir = tempfile::tempdir().unwrap();
        let store = SessionStore::new(Some(dir.path().to_owned()));
        let pds = server("https://a.example");
        let login = login("@A.test", "p");
        store
            .write("did:plc:a", &pds, &login, &tokens("a"))
            .unwrap();
        let pin = PinnedAccount {
            did: "did:plc:a".to_owned(),
            server: Some("https://a.example".to_owned()),
        };
        let by = |account| store.pins(&self::login(account, "p"));
        assert_eq!(by("a.test"), std::slice::from_ref(&pin));
        assert_eq!(by("did:plc:a"), std::slice::from_ref(&pin));
        assert_eq!(by("b.test"), []);
        let other_password = store.pins(&self::login("a.test", "q"));
        assert_eq!(
            other_password,
            [PinnedAccount {
                server: None,
                ..pin
            }]
        );
        // A session file of an older version, without a server and a fingerprint.
        let old = r#"{"did":"did:plc:b","access":"a","refresh":"r","account":"b.test"}"#;
        fs::write(dir.path().join("did_plc_b.json"), old).unwrap();
        let pins = by("b.test");
        assert_eq!(
            (pins[0].did.as_str(), &pins[0].server),
            ("did:plc:b", &None)
        );
        assert_eq!(SessionStore::new(None).pins(&login), []);
    }

    #[test]
    fn sessions_of_several_accounts_are_kept_apart() {
        let dir = tempfile::tempdir().unwrap();
        let pds = server("https://pds.example");
        let store = SessionStore::new(Some(dir.path().join("sessions")));
        let (a, b) = (login("a.test", "p"), login("@B.test", "q"));
        assert_eq!(store.read("did:plc:a", &pds, &a.password), None);
        store.forget("a.test").unwrap();
        store.write("did:plc:a", &pds, &a, &tokens("a")).unwrap();
        store
            .write("did:web:b%3A1", &pds, &b, &tokens("b"))
            .unwrap();
        store.write("did:plc:a", &pds, &a, &tokens("a2")).unwrap();
        assert_eq!(
            store.read("did:plc:a", &pds, &a.password),
            Some(tokens("a2"))
        );
        assert_eq!(
            store.read("did:web:b%3A1", &pds, &b.password),
            Some(tokens("b"))
        );
        let pins = store.pins(&a);
        store.end("did:plc:a", &pds, &a).unwrap();
        assert_eq!(store.read("did:plc:a", &pds, &a.password), None);
        assert_eq!(store.pins(&a), pins);
        store.forget("a.test").unwrap();
        assert_eq!(
            store.read("did:web:b%3A1", &pds, &b.password),
            Some(tokens("b"))
        );
        for name in ["b.test", "did:web:b%3A1"] {
            store
                .write("did:web:b%3A1", &pds, &b, &tokens("b"))
                .unwrap();
            store.forget(name).unwrap();
            assert_eq!(
                store.read("did:web:b%3A1", &pds, &b.password),
                None,
                "{name}"
            );
        }
        let memory = SessionStore::new(None);
        memory.write("did:plc:a", &pds, &a, &tokens("a")).unwrap();
        assert_eq!(memory.read("did:plc:a", &pds, &a.password), None);
    }

    #[test]
    fn session_of_another_password_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let pds = server("https://pds.example");
        let store = SessionStore::new(Some(dir.path().to_owned()));
        let right = login("a.test", "canary");
        store
            .write("did:plc:a", &pds, &right, &tokens("a"))
            .unwrap();
        let path = dir.path().join("did_plc_a.json");
        assert!(!fs::read_to_string(&path).unwrap().contains("canary"));
        assert_eq!(store.read("did:plc:a", &pds, &Secret::new("canarx")), None);
        assert_eq!(
            store.read("did:plc:a", &pds, &right.password),
            Some(tokens("a"))
        );
        // A session file of a version that stored no fingerprint of the password.
        let old = r#"{"did":"did:plc:a","access":"a","refresh":"r"}"#;
        fs::write(&path, old).unwrap();
        assert_eq!(store.read("did:plc:a", &pds, &right.password), None);
        store.forget("other.test").unwrap();
        assert!(!path.exists(), "nobody can use it any more");
        fs::write(&path, "{").unwrap();
        store.forget("other.test").unwrap();
        assert!(!path.exists(), "nobody can read whose it is");
    }

    #[cfg(unix)]
    #[test]
    fn session_file_readable_by_others_is_ignored() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let pds = server("https://pds.example");
        let store = SessionStore::new(Some(dir.path().to_owned()));
        let login = login("a.test", "p");
        store
            .write("did:plc:a", &pds, &login, &tokens("a"))
            .unwrap();
        let path = dir.path().join("did_plc_a.json");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(store.read("did:plc:a", &pds, &login.password), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(
            store.read("did:plc:a", &pds, &login.password),
            Some(tokens("a"))
        );
        fs::write(&path, "{").unwrap();
        assert_eq!(store.read("did:plc:a", &pds, &login.password), None);
    }
}
