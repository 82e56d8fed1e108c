//! The file `credentials.toml`: hosts, their accounts, and the active account of each host.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use forge_core::{Action, Call, Error, ErrorKind, ForgeKind, Hint, Result, Secret};
use toml_edit::{DocumentMut, Item, Table, value};

use super::{Pin, parse_secret};
use crate::config::{file, write};

#[derive(Clone, Debug)]
pub(super) struct StoredHost {
    pub host: String,
    pub kind: ForgeKind,
    pub active: Option<String>,
    pub accounts: Vec<StoredAccount>,
}

#[derive(Clone, Debug)]
pub(super) struct StoredAccount {
    pub name: String,
    pub secret: Secret,
    pub pin: Option<Pin>,
}

impl StoredHost {
    /// Returns the active account. If there is only one account, it is always active.
    pub fn active(&self) -> Option<&StoredAccount> {
        let named = self.active.as_ref().and_then(|active| self.account(active));
        match (named, self.accounts.as_slice()) {
            (None, [sole]) => Some(sole),
            (named, _) => named,
        }
    }

    /// Returns the account with this name, ignoring case.
    pub fn account(&self, name: &str) -> Option<&StoredAccount> {
        self.accounts
            .iter()
            .find(|account| account.name.eq_ignore_ascii_case(name))
    }
}

#[derive(Clone, Debug)]
pub(super) struct CredentialFile {
    path: PathBuf,
}

impl CredentialFile {
    pub fn in_dir(dir: &Path) -> Self {
        Self {
            path: dir.join("credentials.toml"),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the stored hosts; empty if there is no file.
    ///
    /// # Errors
    /// `config` if the file cannot be read, is readable by other users, or is malformed.
    pub fn read(&self) -> Result<Vec<StoredHost>> {
        let doc = self.document()?;
        let Some(hosts) = doc.get("hosts").and_then(Item::as_table_like) else {
            return Ok(Vec::new());
        };
        hosts
            .iter()
            .map(|(host, item)| self.host(host, item))
            .collect()
    }

    /// Changes the table `hosts` of the file while holding its lock. The file is written if `edit`
    /// returns true.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; `config` if the file cannot be written.
    pub fn change(&self, edit: impl FnOnce(&mut Table) -> Result<bool>) -> Result<()> {
        self.change_document(|doc| {
            let hosts = doc.entry("hosts").or_insert_with(implicit);
            let hosts = hosts
                .as_table_mut()
                .ok_or_else(|| self.broken("`hosts` is not a table"))?;
            edit(hosts)
        })
    }

    /// Like [`Self::change`], but `edit` gets the whole file.
    ///
    /// # Errors
    /// The errors of [`Self::change`].
    pub fn change_document(
        &self,
        edit: impl FnOnce(&mut DocumentMut) -> Result<bool>,
    ) -> Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let _lock = write::lock(dir)?;
        let mut doc = self.document()?;
        if edit(&mut doc)? {
            write::replace(&self.path, &doc.to_string(), true)?;
        }
        Ok(())
    }

    fn host(&self, host: &str, item: &Item) -> Result<StoredHost> {
        let bad = |what: &str| self.broken(&format!("{what} of host '{}'", host.escape_debug()));
        let table = item.as_table_like().ok_or_else(|| bad("the entry"))?;
        let text = |name| table.get(name).and_then(Item::as_str);
        let kind = text("kind")
            .and_then(ForgeKind::new)
            .ok_or_else(|| bad("`kind`"))?;
        let accounts = table.get("accounts").and_then(Item::as_table_like);
        let accounts = accounts
            .into_iter()
            .flat_map(|accounts| accounts.iter())
            .map(|(name, item)| {
                let text = |key| item.as_table_like()?.get(key)?.as_str();
                let secret = text("secret").and_then(|s| parse_secret(s).ok());
                let secret = secret.ok_or_else(|| bad("an account"))?;
                let pin = text("did").map(|did| Pin {
                    did: did.to_owned(),
                    server: text("server").map(str::to_owned),
                });
                Ok(StoredAccount {
                    name: name.to_owned(),
                    secret,
                    pin,
                })
            })
            .collect::<Result<_>>()?;
        let active = text("active").map(str::to_owned);
        Ok(StoredHost {
            host: host.to_owned(),
            kind,
            active,
            accounts,
        })
    }

    pub fn document(&self) -> Result<DocumentMut> {
        self.check_private()?;
        let text = file::text_of(&self.path)?.unwrap_or_default();
        text.parse::<DocumentMut>().map_err(|e| {
            // The parser's message is not used, because it quotes the line, which may contain a
            // token.
            let start = e.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|b| *b == b'\n').count() + 1;
            self.broken(&format!("line {line} is not valid TOML"))
        })
    }

    pub fn broken(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Config,
            format!(
                "the credentials in {} cannot be used: {what}",
                self.path.display()
            ),
        )
        .with_hint(
            Hint::new("correct the file, or delete it and log in again")
                .with_action(Action::new(Call::Login)),
        )
    }

    /// Refuses a file that other users can read, as ssh refuses such a key. The error says that the
    /// secrets may have leaked.
    #[cfg(unix)]
    fn check_private(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = match fs::metadata(&self.path) {
            Ok(meta) => meta.permissions().mode() & 0o777,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(self.broken(&e.to_string()).with_source(e)),
        };
        if mode & 0o077 == 0 {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Config,
            format!(
                "the credentials in {} are not used: others can read or write the file (mode {mode:04o})",
                self.path.display()
            ),
        )
        .with_hint(format!(
            "run `chmod 600 {}`; if others may have read it, create new tokens",
            self.path.display()
        )))
    }

    #[cfg(not(unix))]
    fn check_private(&self) -> Result<()> {
        Ok(())
    }
}

/// Adds or replaces an account and makes it the active account.
pub(super) fn put(
    hosts: &mut Table,
    host: &str,
    kind: &ForgeKind,
    name: &str,
    secret: &Secret,
    pin: Option<&Pin>,
) {
    let entry = hosts
        .entry(host)
        .or_insert_with(|| Item::Table(Table::new()));
    let Some(entry) = entry.as_table_like_mut() else {
        return;
    };
    entry.insert("kind", value(kind.as_str()));
    entry.insert("active", value(name));
    let accounts = entry.entry("accounts").or_insert_with(implicit);
    let Some(accounts) = accounts.as_table_like_mut() else {
        return;
    };
    let same = accounts
        .iter()
        .map(|(key, _)| key.to_owned())
        .find(|k| k.eq_ignore_ascii_case(name));
    if let Some(same) = same {
        accounts.remove(&same);
    }
    let mut account = Table::new();
    account.insert("secret", value(secret.expose()));
    accounts.insert(name, Item::Table(account));
    if let Some(pin) = pin {
        put_pin(hosts, host, name, pin);
    }
}

/// Adds a pin (the permanent id of the account) to a stored account. Returns false if the account
/// does not exist.
pub(super) fn put_pin(hosts: &mut Table, host: &str, name: &str, pin: &Pin) -> bool {
    let accounts = hosts.get_mut(host).and_then(|it| it.get_mut("accounts"));
    let account = accounts.and_then(|it| it.get_mut(name));
    let Some(account) = account.and_then(Item::as_table_like_mut) else {
        return false;
    };
    account.insert("did", value(&pin.did));
    if let Some(server) = &pin.server {
        account.insert("server", value(server));
    }
    true
}

pub(super) fn activate(hosts: &mut Table, host: &str, name: &str) {
    if let Some(entry) = hosts.get_mut(host).and_then(Item::as_table_like_mut) {
        entry.insert("active", value(name));
    }
}

/// Removes an account. Also removes its host if no account remains. If the account was active, the
/// first remaining account becomes active.
pub(super) fn remove(hosts: &mut Table, host: &str, name: &str) {
    let Some(entry) = hosts.get_mut(host).and_then(Item::as_table_like_mut) else {
        return;
    };
    let accounts = entry.get_mut("accounts").and_then(Item::as_table_like_mut);
    let left = accounts.and_then(|accounts| {
        accounts.remove(name);
        accounts.iter().next().map(|(name, _)| name.to_owned())
    });
    match left {
        None => {
            hosts.remove(host);
        }
        Some(left) => {
            let was = entry
                .get("active")
                .and_then(Item::as_str)
                .unwrap_or_default();
            if was.eq_ignore_ascii_case(name) {
                entry.insert("active", value(left));
            }
        }
    }
}

fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}
