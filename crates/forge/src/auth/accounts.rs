use std::{fmt, path::PathBuf};

use forge_core::{
    Action, Arg, Call, Error, ErrorKind, ForgeKind, Hint, Noun, Param, Result, Secret,
    locator::Hosts, suggest,
};
use serde::{Serialize, Serializer};

use super::{
    parse_secret,
    secret::masked,
    store::{self, CredentialFile, StoredHost},
};
use crate::{
    Config, account_shape,
    config::{Scope, Var, load},
    registry,
};

/// Maximum length of an account name. Real DIDs and handles fit.
const MAX_NAME_LENGTH: usize = 253;

/// Origin of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialSource {
    /// An environment variable of [`Var`].
    Env(Var),
    /// An environment variable named in the configuration.
    Named(String),
    /// The store of accounts, at this path.
    Store(PathBuf),
}

impl fmt::Display for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(var) => f.write_str(var.name()),
            Self::Named(name) => f.write_str(name),
            Self::Store(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Serialize for CredentialSource {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// A credential for one host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Credential {
    /// The only host that may get the credential.
    pub host: String,
    /// Kind of forge at the host.
    pub kind: ForgeKind,
    /// Name of the account; `None` for a token from the environment.
    pub account: Option<String>,
    /// A token, or for tangled an app password.
    pub secret: Secret,
    /// Permanent id of the account to which the secret belongs. The secret is not sent if the
    /// account's name has another id by now. `None` if account names are permanent on the forge, or
    /// if the name was not resolved yet.
    pub pin: Option<Pin>,
    /// Where the credential comes from.
    pub source: CredentialSource,
}

/// The permanent id of an account, and the server that may receive the account's secret. An account
/// name can get a new owner, who must not receive the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// The account's DID.
    pub did: String,
    /// URL origin of the account's server.
    pub server: Option<String>,
}

/// A line of `forge auth status`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AccountStatus {
    /// Host that the credential belongs to.
    pub host: String,
    /// Kind of forge at the host.
    #[serde(serialize_with = "kind_word")]
    pub kind: ForgeKind,
    /// Name of the account; `None` for a token from the environment.
    pub account: Option<String>,
    /// True if forge uses this credential for the host.
    pub active: bool,
    /// Where the credential comes from: the name of a variable, or the path of the store.
    pub source: CredentialSource,
    /// The secret, masked, such as `gho_****`.
    pub token: String,
}

fn kind_word<S: Serializer>(kind: &ForgeKind, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(kind.as_str())
}

/// Result of a login.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Login {
    /// The canonical host name.
    pub host: String,
    /// Kind of forge at the host.
    pub kind: ForgeKind,
    /// True if an existing account got a new secret.
    pub replaced: bool,
    /// An environment variable that is set and overrides the stored credential.
    pub shadowed_by: Option<Var>,
    /// True if this build has a backend for the host. Without a backend the secret is stored
    /// unchecked.
    pub has_backend: bool,
}

/// The accounts of the user.
#[derive(Clone, Debug)]
pub struct Accounts {
    config: Config,
    hosts: Hosts,
}

impl Accounts {
    /// Returns the accounts for a configuration.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            hosts: config.hosts(),
        }
    }

    /// Returns the credential for `host`. Tries the environment, then the stored account that
    /// `hosts.<host>.account` names, then the active account in the store.
    ///
    /// # Errors
    /// `config` for an unusable store; `unauthenticated` if the configured account is not stored.
    pub fn credential(&self, host: &str) -> Result<Option<Credential>> {
        let host = canonical(host)?;
        let kind = self.hosts.kind_of(&host);
        if let Some(credential) = self.environment(&host, kind.as_ref())? {
            return Ok(Some(credential));
        }
        let Some(store) = self.store() else {
            return Ok(None);
        };
        let Some(stored) = store.read()?.into_iter().find(|h| h.host == host) else {
            return Ok(None);
        };
        let found = match self.configured(&host) {
            Some(name) => Some(stored.account(&name).ok_or_else(|| {
                Error::new(
                    ErrorKind::Unauthenticated { host: host.clone() },
                    format!("hosts.{host}.account is '{name}', and that account is not logged in"),
                )
                .with_hint(
                    Hint::new("log in to that account").with_action(
                        Action::new(Call::Login)
                            .with(Param::Host, &host)
                            .with(Param::Account, &name),
                    ),
                )
            })?),
            None => stored.active(),
        };
        Ok(found.map(|account| Credential {
            host: host.clone(),
            kind: kind.unwrap_or_else(|| stored.kind.clone()),
            account: Some(account.name.clone()),
            secret: account.secret.clone(),
            pin: account.pin.clone(),
            source: CredentialSource::Store(store.path().to_owned()),
        }))
    }

    /// Returns the stored credential of one account at a host, even if another account is active.
    ///
    /// # Errors
    /// `config` for an unusable store; `not_found` for an account that is not stored.
    pub fn credential_of(&self, host: &str, account: &str) -> Result<Credential> {
        let host = canonical(host)?;
        let name = self.pick(&host, Some(account))?;
        let stored = self.stored(&host)?;
        let Some(found) = stored.account(&name) else {
            return Err(account_choice_error(&host, &stored));
        };
        let path = self.store().map(|store| store.path().to_owned());
        Ok(Credential {
            kind: self
                .hosts
                .kind_of(&host)
                .unwrap_or_else(|| stored.kind.clone()),
            account: Some(found.name.clone()),
            secret: found.secret.clone(),
            pin: found.pin.clone(),
            source: CredentialSource::Store(path.unwrap_or_default()),
            host,
        })
    }

    /// Returns the hosts of a kind that have a stored account.
    ///
    /// # Errors
    /// `config` for an unusable store.
    pub fn stored_hosts(&self, kind: &ForgeKind) -> Result<Vec<String>> {
        let stored = match self.store() {
            Some(store) => store.read()?,
            None => Vec::new(),
        };
        let has_one = |h: &StoredHost| h.kind == *kind && !h.accounts.is_empty();
        let hosts = stored.into_iter().filter(has_one).map(|h| h.host);
        Ok(hosts.collect())
    }

    /// Returns every credential, sorted by host. Credentials from the environment come first, and
    /// the credential of JIRA comes last.
    ///
    /// # Errors
    /// `config` for an unusable store.
    pub fn status(&self) -> Result<Vec<AccountStatus>> {
        let mut lines = Vec::new();
        let stored = match self.store() {
            Some(store) => store.read()?,
            None => Vec::new(),
        };
        let mut hosts: Vec<&str> = self.hosts.iter().map(|(host, _)| host).collect();
        hosts.extend(stored.iter().map(|h| h.host.as_str()));
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            let kind = self.hosts.kind_of(host);
            let env = self.environment(host, kind.as_ref())?;
            let shadowed = env.is_some();
            lines.extend(env.map(|c| AccountStatus {
                host: c.host,
                kind: c.kind,
                account: c.account,
                active: true,
                source: c.source,
                token: masked(&c.secret),
            }));
            let Some(stored) = stored.iter().find(|h| h.host == host) else {
                continue;
            };
            lines.extend(self.stored_lines(stored, kind, shadowed));
        }
        lines.extend(self.jira_status()?);
        Ok(lines)
    }

    fn stored_lines(
        &self,
        stored: &StoredHost,
        kind: Option<ForgeKind>,
        shadowed: bool,
    ) -> Vec<AccountStatus> {
        let active = match self.configured(&stored.host) {
            Some(name) => stored.account(&name),
            None => stored.active(),
        };
        let path = self
            .store()
            .map(|s| s.path().to_owned())
            .unwrap_or_default();
        stored
            .accounts
            .iter()
            .map(|account| AccountStatus {
                host: stored.host.clone(),
                kind: kind.clone().unwrap_or_else(|| stored.kind.clone()),
                account: Some(account.name.clone()),
                active: !shadowed && active.is_some_and(|active| active.name == account.name),
                source: CredentialSource::Store(path.clone()),
                token: masked(&account.secret),
            })
            .collect()
    }

    /// Returns the kind of forge for a login at `host`.
    ///
    /// # Errors
    /// `invalid_input` if the kind is unknown, or if `kind` contradicts a known host.
    pub fn kind_for_login(&self, host: &str, kind: Option<&ForgeKind>) -> Result<ForgeKind> {
        let host = canonical(host)?;
        match (self.hosts.kind_of(&host), kind) {
            (Some(known), Some(asked)) if known != *asked => Err(Error::invalid(
                "kind",
                format!("{host} is a {known} host, not a {asked} one"),
            )
            .with_hint(
                Hint::new("omit the kind").with_action(Action::again(&[(Param::Kind, Arg::Omit)])),
            )),
            (Some(known), _) => Ok(known),
            (None, Some(kind)) if account_shape(kind).is_some() => Ok(kind.clone()),
            (None, Some(kind)) => Err(Error::invalid(
                "kind",
                format!("there are no accounts on a forge of kind '{kind}'"),
            )
            .with_hint(&WHICH_KIND)),
            (None, None) => Err(Error::invalid(
                "host",
                format!("the kind of forge at {host} is not configured"),
            )
            .with_hint(&WHICH_KIND)),
        }
    }

    /// Checks the arguments of a login. Returns the canonical host, the kind of forge and the
    /// account.
    ///
    /// # Errors
    /// `invalid_input` for a malformed host or account; also the errors of
    /// [`Self::kind_for_login`].
    pub(crate) fn check_login<'a>(
        &self,
        host: &str,
        kind: Option<&ForgeKind>,
        account: &'a str,
    ) -> Result<(String, ForgeKind, &'a str)> {
        let (host, kind) = self.check_login_host(host, kind)?;
        let account = check_account(account, &kind)?;
        Ok((host, kind, account))
    }

    /// Checks the host of a login. Returns the canonical host and the kind of forge.
    ///
    /// # Errors
    /// `invalid_input` for a malformed host; also the errors of [`Self::kind_for_login`].
    pub(crate) fn check_login_host(
        &self,
        host: &str,
        kind: Option<&ForgeKind>,
    ) -> Result<(String, ForgeKind)> {
        Ok((canonical(host)?, self.kind_for_login(host, kind)?))
    }

    /// Stores a credential, and makes its account the active account of the host. For an unknown
    /// host, also stores `kind`. `pin` is the result of [`Forges::pin_login`].
    ///
    /// [`Forges::pin_login`]: crate::Forges::pin_login
    ///
    /// # Errors
    /// `invalid_input` for a malformed host or account; also the errors of
    /// [`Self::kind_for_login`]; `config` if the store cannot be written.
    pub fn login(
        &self,
        host: &str,
        kind: Option<&ForgeKind>,
        account: &str,
        secret: &Secret,
        pin: Option<&Pin>,
    ) -> Result<Login> {
        let (host, kind, account) = self.check_login(host, kind, account)?;
        let store = self.store().ok_or_else(load::no_dir)?;
        let shadowed_by = match self.environment(&host, Some(&kind))?.map(|c| c.source) {
            Some(CredentialSource::Env(var)) => Some(var),
            _ => None,
        };
        let mut replaced = false;
        store.change(|hosts| {
            let old = hosts.get(&host).and_then(|h| h.get("accounts"));
            replaced = old
                .and_then(|accounts| accounts.as_table_like())
                .is_some_and(|t| t.iter().any(|(name, _)| name.eq_ignore_ascii_case(account)));
            store::put(hosts, &host, &kind, account, secret, pin);
            Ok(true)
        })?;
        if self.hosts.kind_of(&host).is_none() {
            self.config
                .set(&format!("hosts.{host}.kind"), kind.as_str(), Scope::User)?;
        }
        // The sessions that were opened with the old secret are removed last. If the removal fails,
        // they do no harm, because they do not work with the new secret.
        if replaced {
            self.forget(&kind, account)?;
        }
        let has_backend = registry::has_backend(&kind);
        Ok(Login {
            host,
            kind,
            replaced,
            shadowed_by,
            has_backend,
        })
    }

    /// Adds a pin (the permanent id of the account) to an account that was stored without a pin.
    ///
    /// # Errors
    /// `config` if the store cannot be written.
    #[cfg(feature = "tangled")]
    pub(crate) fn keep_pin(&self, host: &str, account: &str, pin: &Pin) -> Result<()> {
        let host = canonical(host)?;
        let store = self.store().ok_or_else(load::no_dir)?;
        store.change(|hosts| Ok(store::put_pin(hosts, &host, account, pin)))
    }

    /// Removes an account and its sessions from the store. If `account` is `None`, removes the only
    /// account of the host. Returns the name of the removed account.
    ///
    /// # Errors
    /// `not_found` if the account is not stored; `invalid_input` without a name if the host has
    /// several accounts; `config` if a file cannot be removed.
    pub fn logout(&self, host: &str, account: Option<&str>) -> Result<String> {
        let host = canonical(host)?;
        let name = self.pick(&host, account)?;
        let store = self.store().ok_or_else(load::no_dir)?;
        let kind = match self.hosts.kind_of(&host) {
            Some(kind) => kind,
            None => self.stored(&host)?.kind,
        };
        // Sessions are removed first, so that a failed logout can be repeated.
        self.forget(&kind, &name)?;
        store.change(|hosts| {
            store::remove(hosts, &host, &name);
            Ok(true)
        })?;
        Ok(name)
    }

    /// Makes another stored account the active account. If `account` is `None`, the host must have
    /// two accounts, and the inactive one becomes active. Returns the name of the new active
    /// account.
    ///
    /// # Errors
    /// `not_found` if the account is not stored; `invalid_input` if the choice is ambiguous.
    pub fn switch(&self, host: &str, account: Option<&str>) -> Result<String> {
        let host = canonical(host)?;
        let name = match account {
            Some(_) => self.pick(&host, account)?,
            None => self.other(&host)?,
        };
        let store = self.store().ok_or_else(load::no_dir)?;
        store.change(|hosts| {
            store::activate(hosts, &host, &name);
            Ok(true)
        })?;
        Ok(name)
    }

    fn forget(&self, kind: &ForgeKind, account: &str) -> Result<()> {
        account_shape(kind).map_or(Ok(()), |shape| shape.forget(&self.config, account))
    }

    fn other(&self, host: &str) -> Result<String> {
        let stored = self.stored(host)?;
        let active = stored.active().map(|account| account.name.as_str());
        let others: Vec<&str> = stored
            .accounts
            .iter()
            .map(|account| account.name.as_str())
            .filter(|n| Some(*n) != active)
            .collect();
        match others.as_slice() {
            [other] => Ok((*other).to_owned()),
            [] => Err(Error::invalid(
                "account",
                format!("{host} has no second account to switch to"),
            )
            .with_hint(
                Hint::new("log in to another account").with_action(
                    Action::new(Call::Login)
                        .with(Param::Host, host)
                        .choose(Param::Account),
                ),
            )),
            _ => Err(account_choice_error(host, &stored)),
        }
    }

    fn pick(&self, host: &str, account: Option<&str>) -> Result<String> {
        let stored = self.stored(host)?;
        let names: Vec<&str> = stored
            .accounts
            .iter()
            .map(|account| account.name.as_str())
            .collect();
        match (account, names.as_slice()) {
            (None, [sole]) => Ok((*sole).to_owned()),
            (None, _) => Err(account_choice_error(host, &stored)),
            (Some(name), _) => stored
                .account(name)
                .map(|account| account.name.clone())
                .ok_or_else(|| {
                    let e = Error::not_found(
                        Noun::Account,
                        format!(
                            "account '{}' is not logged in at {host}",
                            name.escape_debug()
                        ),
                    );
                    let meant = suggest::did_you_mean(name, names.iter().copied());
                    let hint =
                        meant.unwrap_or_else(|| format!("name one of: {}", names.join(", ")));
                    let corrected =
                        suggest::corrected(&[Param::Account], name, names.iter().copied());
                    e.with_hint(Hint::from(hint).with_any_action(corrected))
                }),
        }
    }

    fn stored(&self, host: &str) -> Result<StoredHost> {
        let stored = match self.store() {
            Some(store) => store.read()?,
            None => Vec::new(),
        };
        let names: Vec<String> = stored.iter().map(|h| h.host.clone()).collect();
        stored.into_iter().find(|h| h.host == host).ok_or_else(|| {
            let hint = if names.is_empty() {
                Hint::new("log in first")
                    .with_action(Action::new(Call::Login).with(Param::Host, host))
            } else {
                let names = names.join(", ");
                Hint::from(format!("name one of the hosts with accounts ({names})"))
                    .with_action(CHOOSE_HOST)
            };
            Error::not_found(Noun::Account, format!("no account is stored for {host}"))
                .with_hint(hint)
        })
    }

    fn configured(&self, host: &str) -> Option<String> {
        self.config.value(&format!("hosts.{host}.account"))
    }

    /// Returns the token for project boards of `host`, if the environment has a separate token for
    /// them. It is used for the same hosts as `GH_TOKEN`.
    ///
    /// # Errors
    ///
    /// `config` if the variable's value cannot be a token.
    #[cfg(feature = "github")]
    pub(crate) fn board_token(&self, host: &str) -> Result<Option<Secret>> {
        let host = canonical(host)?;
        let shape = self.hosts.kind_of(&host).as_ref().and_then(account_shape);
        let is_own = shape.is_some_and(|s| s.variables(&host).secret.contains(&Var::GhToken));
        let text = self.config.env().get(Var::GhProjectToken);
        let text = text.filter(|_| is_own);
        text.map(|text| secret_in(Var::GhProjectToken, &text))
            .transpose()
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn store(&self) -> Option<CredentialFile> {
        self.config.dir().map(CredentialFile::in_dir)
    }

    /// Returns the credential from the environment; see [`AccountShape`](crate::AccountShape).
    ///
    /// # Errors
    ///
    /// `config` if the variable's value cannot be a token. In this case the stored account is not
    /// used instead, because the user may want another account.
    fn environment(&self, host: &str, kind: Option<&ForgeKind>) -> Result<Option<Credential>> {
        let Some((kind, shape)) = kind.and_then(|kind| Some((kind, account_shape(kind)?))) else {
            return Ok(None);
        };
        let env = self.config.env();
        let variables = shape.variables(host);
        let account = variables.account.and_then(|var| env.get(var));
        let found = match variables.account {
            // On this kind of forge, a secret cannot be used without the name of its account.
            Some(_) if account.is_none() => None,
            _ => env.first(variables.secret),
        };
        let Some((var, text)) = found else {
            return Ok(None);
        };
        let secret = secret_in(var, &text)?;
        let source = CredentialSource::Env(var);
        Ok(Some(Credential {
            host: host.to_owned(),
            kind: kind.clone(),
            account,
            secret,
            pin: None,
            source,
        }))
    }
}

/// Hint for a host whose kind of forge is unknown.
static WHICH_KIND: Hint = Hint::fixed(
    "name the kind of forge at the host: github or tangled",
    Action::again(&[(Param::Kind, Arg::Choose)]),
);
/// Recovery: repeat the failed call with an account that the caller chooses.
const CHOOSE_ACCOUNT: Action = Action::again(&[(Param::Account, Arg::Choose)]);
const CHOOSE_HOST: Action = Action::again(&[(Param::Host, Arg::Choose)]);

fn account_choice_error(host: &str, stored: &StoredHost) -> Error {
    let names: Vec<&str> = stored
        .accounts
        .iter()
        .map(|account| account.name.as_str())
        .collect();
    Error::invalid(
        "account",
        format!("{host} has several accounts: {}", names.join(", ")),
    )
    .with_hint(Hint::new("name one of the accounts").with_action(CHOOSE_ACCOUNT))
}

/// Parses the token in an environment variable.
fn secret_in(var: Var, text: &str) -> Result<Secret> {
    let name = var.name();
    parse_secret(text).map_err(|e| {
        Error::new(ErrorKind::Config, format!("the variable {name}: {e}"))
            .with_hint(format!("correct {name}, or unset it"))
            .with_source(e)
    })
}

/// Returns the host name used in the store. Aliases of a built-in host share that host's name.
fn canonical(host: &str) -> Result<String> {
    let host = Hosts::normalise(host).map_err(|e| {
        Error::invalid("host", e.to_string())
            .with_hint(e.hint())
            .with_source(e)
    })?;
    Ok(Hosts::builtin()
        .with_default_host(&host)
        .default_host()
        .to_owned())
}

fn check_account<'a>(account: &'a str, kind: &ForgeKind) -> Result<&'a str> {
    let account = account.trim().trim_start_matches('@');
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':');
    let why = if account.is_empty() {
        "it is empty"
    } else if account.len() > MAX_NAME_LENGTH || !account.bytes().all(plain) {
        "it has characters that no account name has"
    } else {
        match account_shape(kind).map_or(Ok(()), |shape| shape.check_name(account)) {
            Ok(()) => return Ok(account),
            Err(why) => why,
        }
    };
    Err(Error::invalid(
        "account",
        format!("'{}' is not an account: {why}", account.escape_debug()),
    )
    .with_hint(
        Hint::new("name the account by its login, handle or DID").with_action(CHOOSE_ACCOUNT),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::config::Env;

    const CANARY: &str = "gho_canary0000000000";

    struct Place(TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn accounts(&self, vars: &[(&str, &str)]) -> Accounts {
            let dir = self.0.path().join("conf");
            let vars = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            let env = Env::fixed(vars.chain([(
                "FORGE_CONFIG_DIR".to_owned(),
                dir.to_str().unwrap().to_owned(),
            )]));
            Accounts::new(&Config::read(env, self.0.path()).unwrap())
        }

        fn login(&self, host: &str, account: &str, secret: &str) -> Login {
            let secret = parse_secret(secret).unwrap();
            self.accounts(&[])
                .login(host, None, account, &secret, None)
                .unwrap()
        }

        fn file(&self) -> PathBuf {
            self.0.path().join("conf/credentials.toml")
        }

        fn secret(&self, vars: &[(&str, &str)], host: &str) -> Option<String> {
            let found = self.accounts(vars).credential(host).unwrap();
            found.map(|c| c.secret.expose().to_owned())
        }
    }

    #[test]
    fn stored_credential_is_found_only_for_own_host() {
        let place = Place::new();
        assert!(!place.login("GitHub.com", "alice", CANARY).replaced);
        assert_eq!(place.secret(&[], "github.com").as_deref(), Some(CANARY));
        assert_eq!(place.secret(&[], "www.github.com").as_deref(), Some(CANARY));
        for other in [
            "github.com:8443",
            "tenant.ghe.com",
            "tangled.org",
            "example.org",
        ] {
            assert_eq!(place.secret(&[], other), None, "{other}");
        }
        assert!(place.login("github.com", "Alice", "new").replaced);
        assert_eq!(place.secret(&[], "github.com").as_deref(), Some("new"));
        assert_eq!(place.accounts(&[]).status().unwrap().len(), 1);
    }

    #[test]
    fn token_variables_override_store_only_for_own_hosts() {
        let place = Place::new();
        place.login("github.com", "alice", "stored");
        let config =
            Config::read(place.accounts(&[]).config.env().clone(), place.0.path()).unwrap();
        config
            .set("hosts.git.example.org.kind", "github", Scope::User)
            .unwrap();
        let all = [
            ("GITHUB_TOKEN", "b"),
            ("GH_TOKEN", "a"),
            ("GITHUB_ENTERPRISE_TOKEN", "d"),
            ("GH_ENTERPRISE_TOKEN", "c"),
            ("TANGLED_HANDLE", "me.example"),
            ("TANGLED_PASSWORD", "e"),
        ];
        for (vars, host, expected) in [
            (&all[..], "github.com", Some("a")),
            (&all[..1], "github.com", Some("b")),
            (&all[..], "tenant.ghe.com", Some("a")),
            (&all[..], "git.example.org", Some("c")),
            (&all[..3], "git.example.org", Some("d")),
            (&all[..2], "git.example.org", None),
            (&all[..], "unknown.example", None),
            (&all[..], "github.com:8443", None),
            (&all[..], "tangled.org", Some("e")),
            (&all[..5], "tangled.org", None),
            (&[("GH_TOKEN", "")][..], "github.com", Some("stored")),
        ] {
            assert_eq!(
                place.secret(vars, host).as_deref(),
                expected,
                "{host} {vars:?}"
            );
        }
        let tangled = place
            .accounts(&all)
            .credential("tangled.org")
            .unwrap()
            .unwrap();
        assert_eq!(tangled.account.as_deref(), Some("me.example"));
    }

    #[test]
    fn invalid_token_variable_is_refused_without_printing_value() {
        let place = Place::new();
        place.login("github.com", "alice", "stored");
        let e = place
            .accounts(&[("GH_TOKEN", "canary canary")])
            .credential("github.com")
            .unwrap_err();
        assert_eq!(e.code(), "config");
        assert!(e.message().starts_with("the variable GH_TOKEN: "), "{e}");
        assert!(!format!("{e:?}").contains("canary"));
    }

    #[test]
    fn board_token_applies_to_hosts_of_gh_token() {
        let place = Place::new();
        let accounts = place.accounts(&[("GH_PROJECT_TOKEN", CANARY)]);
        for (host, expected) in [
            ("github.com", true),
            ("tenant.ghe.com", true),
            ("tangled.org", false),
            ("unknown.example", false),
        ] {
            let token = accounts.board_token(host).unwrap();
            assert_eq!(token.is_some(), expected, "{host}");
        }
        assert!(accounts.credential("github.com").unwrap().is_none());
        let broken = place.accounts(&[("GH_PROJECT_TOKEN", "canary canary")]);
        let e = broken.board_token("github.com").unwrap_err();
        assert!(
            e.message().starts_with("the variable GH_PROJECT_TOKEN: "),
            "{e}"
        );
        assert!(!format!("{e:?}").contains("canary"));
    }

    #[test]
    fn status_shows_sources_and_active_account() {
        let place = Place::new();
        place.login("github.com", "alice", CANARY);
        place.login("github.com", "bob", CANARY);
        let line = |vars: &[(&str, &str)]| {
            let status = place.accounts(vars).status().unwrap();
            status
                .iter()
                .map(|s| {
                    (
                        s.account.clone().unwrap_or_default(),
                        s.active,
                        s.token.clone(),
                    )
                })
                .collect::<Vec<_>>()
        };
        let row = |name: &str, active| (name.to_owned(), active, "gho_****".to_owned());
        assert_eq!(line(&[]), [row("alice", false), row("bob", true)]);
        assert_eq!(
            line(&[("GH_TOKEN", CANARY)]),
            [row("", true), row("alice", false), row("bob", false)]
        );
    }

    #[test]
    fn accounts_are_switched_and_logged_out() {
        let place = Place::new();
        place.login("github.com", "alice", "a");
        let accounts = place.accounts(&[]);
        assert!(accounts.switch("github.com", None).is_err());
        place.login("github.com", "bob", "b");
        assert_eq!(accounts.switch("github.com", None).unwrap(), "alice");
        assert_eq!(place.secret(&[], "github.com").as_deref(), Some("a"));
        assert_eq!(accounts.switch("github.com", Some("BOB")).unwrap(), "bob");
        let e = accounts.logout("github.com", None).unwrap_err();
        assert!(e.message().contains("several accounts: alice, bob"), "{e}");
        let e = accounts.logout("github.com", Some("bobb")).unwrap_err();
        assert!(
            e.is_not_found() && e.hint().is_some_and(|h| h.text() == "did you mean 'bob'?"),
            "{e:?}"
        );
        assert_eq!(accounts.logout("github.com", Some("bob")).unwrap(), "bob");
        assert_eq!(place.secret(&[], "github.com").as_deref(), Some("a"));
        assert_eq!(accounts.logout("github.com", None).unwrap(), "alice");
        assert_eq!(place.secret(&[], "github.com"), None);
        assert!(
            accounts
                .logout("github.com", None)
                .unwrap_err()
                .is_not_found()
        );
        assert!(
            !fs::read_to_string(place.file())
                .unwrap()
                .contains("github.com")
        );
    }

    #[test]
    fn configured_account_overrides_active_account_if_stored() {
        let place = Place::new();
        place.login("github.com", "alice", "a");
        place.login("github.com", "bob", "b");
        let config =
            Config::read(place.accounts(&[]).config.env().clone(), place.0.path()).unwrap();
        config
            .set("hosts.github.com.account", "alice", Scope::User)
            .unwrap();
        assert_eq!(place.secret(&[], "github.com").as_deref(), Some("a"));
        config
            .set("hosts.github.com.account", "carol", Scope::User)
            .unwrap();
        let e = place.accounts(&[]).credential("github.com").unwrap_err();
        assert_eq!(e.code(), "unauthenticated");
    }

    #[test]
    fn new_host_login_requires_and_stores_kind() {
        let place = Place::new();
        let secret = parse_secret("x").unwrap();
        let accounts = place.accounts(&[]);
        let e = accounts
            .login("git.example.org", None, "alice", &secret, None)
            .unwrap_err();
        assert_eq!(e.hint(), Some(&WHICH_KIND));
        accounts
            .login(
                "git.example.org",
                Some(&ForgeKind::GITHUB),
                "alice",
                &secret,
                None,
            )
            .unwrap();
        assert_eq!(
            place.accounts(&[]).hosts.kind_of("git.example.org"),
            Some(ForgeKind::GITHUB)
        );
        for (host, kind, account) in [
            ("github.com", Some(&ForgeKind::TANGLED), "alice"),
            ("other.example", Some(&ForgeKind::LOCAL), "alice"),
            ("tangled.org", None, "nodot"),
            ("github.com", None, ""),
            ("github.com", None, "a b"),
            ("bad host", None, "alice"),
        ] {
            let e = accounts.login(host, kind, account, &secret, None);
            let e = e.unwrap_err();
            assert_eq!(e.code(), "invalid_input", "{host}");
        }
    }

    #[test]
    fn login_reports_overriding_variable() {
        let place = Place::new();
        let secret = parse_secret("x").unwrap();
        let login =
            place
                .accounts(&[("GITHUB_TOKEN", "t")])
                .login("github.com", None, "a", &secret, None);
        assert_eq!(login.unwrap().shadowed_by, Some(Var::GithubToken));
    }

    #[test]
    fn concurrent_logins_are_all_stored() {
        let place = Place::new();
        std::thread::scope(|scope| {
            for n in 0..20 {
                let place = &place;
                scope.spawn(move || place.login("github.com", &format!("user{n}"), "x"));
            }
        });
        assert_eq!(place.accounts(&[]).status().unwrap().len(), 20);
    }

    #[cfg(unix)]
    #[test]
    fn store_is_readable_only_by_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = Place::new();
        place.login("github.com", "alice", CANARY);
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.file()), 0o600);
        assert_eq!(mode(place.file().parent().unwrap()), 0o700);
        for bad in [0o640, 0o604, 0o620] {
            fs::set_permissions(place.file(), fs::Permissions::from_mode(bad)).unwrap();
            let e = place.accounts(&[]).credential("github.com").unwrap_err();
            assert!(e.hint().unwrap().text().contains("chmod 600"), "{e:?}");
            assert!(!format!("{e:?}").contains("canary"));
            // A token in the environment is used without reading the store.
            assert!(place.secret(&[("GH_TOKEN", "t")], "github.com").is_some());
        }
    }

    #[test]
    fn messages_never_contain_secrets() {
        let place = Place::new();
        place.login("github.com", "alice", CANARY);
        let accounts = place.accounts(&[("GH_TOKEN", CANARY)]);
        let credential = accounts.credential("github.com").unwrap().unwrap();
        assert_eq!(credential.secret.expose(), CANARY);
        let status = accounts.status().unwrap();
        let shown = format!(
            "{accounts:?} {credential:?} {status:?} {:?}",
            place.accounts(&[])
        );
        assert!(!shown.contains("canary"), "{shown}");
        for broken in [
            format!("secret = {CANARY}"),
            CANARY.to_owned(),
            format!(
                "[hosts.\"github.com\"]\nkind = \"github\"\n[hosts.\"github.com\".accounts.a]\nsecret = \"{CANARY} x\""
            ),
            format!("[hosts.\"github.com\"]\nkind = \"{CANARY} x\""),
            format!("hosts = \"{CANARY}\""),
            format!("[hosts]\n\"github.com\" = \"{CANARY}\""),
        ] {
            let text = fs::read_to_string(place.file()).unwrap();
            fs::write(place.file(), &broken).unwrap();
            let place_accounts = place.accounts(&[]);
            if let Err(e) = place_accounts.credential("github.com") {
                assert_eq!(e.code(), "config");
                assert!(
                    !format!("{e} {e:?} {:?}", e.hint()).contains("canary"),
                    "{e:?}"
                );
            } else {
                assert!(broken.starts_with("hosts"), "{broken}");
            }
            fs::write(place.file(), text).unwrap();
        }
    }
}
