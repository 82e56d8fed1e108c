//! The JIRA account: one base URL and one token.

use forge_core::{Error, ErrorKind, ForgeKind, Noun, Result, Secret, fingerprint};
use toml_edit::{Item, Table, value};

use super::{
    AccountStatus, Accounts, CredentialSource, parse_secret, secret::masked, store::CredentialFile,
};
use crate::config::{
    Var,
    keys::{ValueType, variable_name},
    load,
};

/// Name of JIRA's table in the store of accounts. `forge auth status` shows it as the kind of
/// forge.
const JIRA: &str = "jira";

/// Base URL and credentials of JIRA.
#[derive(Clone, Debug)]
pub(crate) struct JiraAccount {
    /// Base URL without a trailing slash.
    pub base_url: String,
    /// E-mail address of a JIRA Cloud account; `None` for a token of JIRA Data Center.
    pub email: Option<String>,
    pub token: Secret,
    source: CredentialSource,
}

/// Result of a login to JIRA.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JiraLogin {
    /// Base URL of the login.
    pub base_url: String,
    /// An environment variable that is set and overrides the stored token.
    pub shadowed_by: Option<String>,
}

impl Accounts {
    /// Returns the base URL of JIRA: from the configuration, else from the stored login.
    ///
    /// # Errors
    /// `config` if the store of accounts cannot be used.
    pub fn jira_url(&self) -> Result<Option<String>> {
        match self.config().value("jira.base_url") {
            Some(url) => Ok(Some(url)),
            None => Ok(self.stored_jira()?.map(|stored| stored.base_url)),
        }
    }

    /// Returns the JIRA account: the token from the environment, else the stored token. The stored
    /// token is sent only to the base URL of its login.
    ///
    /// # Errors
    /// `config` if the store of accounts cannot be used, or if the variable has no valid token.
    pub(crate) fn jira(&self) -> Result<Option<JiraAccount>> {
        let configured = self.config().value("jira.base_url");
        let from_env = self.jira_token()?;
        // The store is not read if the environment has the token and the configuration has the base
        // URL.
        let stored = match from_env.is_some() && configured.is_some() {
            true => None,
            false => self.stored_jira()?,
        };
        let stored_url = || stored.as_ref().map(|stored| stored.base_url.clone());
        let Some(base_url) = configured.or_else(stored_url) else {
            return Ok(None);
        };
        let stored = stored.filter(|stored| stored.base_url == base_url);
        let email = self.config().value("jira.email");
        let email = email.or_else(|| stored.as_ref().and_then(|s| s.email.clone()));
        let account = from_env.or_else(|| stored.map(|s| (s.token, s.source)));
        Ok(account.map(|(token, source)| JiraAccount {
            base_url,
            email,
            token,
            source,
        }))
    }

    /// Returns a fingerprint of the JIRA account. Used as a cache key, because another account may
    /// see other tickets.
    #[must_use]
    pub fn jira_fingerprint(&self) -> u64 {
        let account = self.jira().ok().flatten();
        fingerprint(&account.map(|a| (a.base_url, a.email, a.token.expose().to_owned())))
    }

    /// Stores a token for JIRA at `base_url`. Replaces an earlier JIRA login.
    ///
    /// # Errors
    /// `invalid_input` for a malformed base URL or e-mail address, and for JIRA Cloud without an
    /// e-mail address; `config` if the store of accounts cannot be written.
    pub fn login_jira(
        &self,
        base_url: &str,
        email: Option<&str>,
        token: &Secret,
    ) -> Result<JiraLogin> {
        let base_url = ValueType::Url.parse(base_url).ok_or_else(|| {
            Error::invalid(
                "base_url",
                "the base URL of JIRA has to be an https:// address without credentials",
            )
            .with_hint(
                "pass the address that the browser shows, such as https://acme.atlassian.net",
            )
        })?;
        let is_address = |text: &str| {
            let plain = text.bytes().all(|b| b.is_ascii_graphic() && b != b':');
            plain
                && text
                    .split_once('@')
                    .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
        };
        match email {
            Some(email) if !is_address(email) => {
                return Err(Error::invalid("email", "this is not an e-mail address")
                    .with_hint("pass the e-mail address of the account at JIRA Cloud"));
            }
            None if host_of(&base_url).ends_with(".atlassian.net") => {
                return Err(Error::invalid(
                    "email",
                    "JIRA Cloud accepts a token only with the e-mail address of its account",
                )
                .with_hint("pass --email as well"));
            }
            _ => {}
        }
        let store = self.store().ok_or_else(load::no_dir)?;
        store.change_document(|document| {
            let mut table = Table::new();
            table.insert("base_url", value(&base_url));
            if let Some(email) = email {
                table.insert("email", value(email));
            }
            table.insert("secret", value(token.expose()));
            document.insert(JIRA, Item::Table(table));
            Ok(true)
        })?;
        let shadowed_by = self.jira_token()?.map(|(_, source)| source.to_string());
        Ok(JiraLogin {
            base_url,
            shadowed_by,
        })
    }

    /// Removes the JIRA login from the store and returns its base URL.
    ///
    /// # Errors
    /// `not_found` if no JIRA login is stored; `config` if the store cannot be written.
    pub fn logout_jira(&self) -> Result<String> {
        let stored = self.stored_jira()?.ok_or_else(|| {
            Error::not_found(Noun::Account, "no account is stored for JIRA").with_hint(
                "if JIRA_TOKEN is set, unset it: the environment is not part of the stored \
                     login",
            )
        })?;
        let store = self.store().ok_or_else(load::no_dir)?;
        store.change_document(|document| Ok(document.remove(JIRA).is_some()))?;
        Ok(stored.base_url)
    }

    /// Returns the JIRA lines of `forge auth status`.
    pub(super) fn jira_status(&self) -> Result<Vec<AccountStatus>> {
        let used = self.jira()?;
        let is_used = |source: &CredentialSource, url: &str| {
            used.as_ref()
                .is_some_and(|used| used.source == *source && used.base_url == url)
        };
        let mut all = self.stored_jira()?.into_iter().collect::<Vec<_>>();
        if let Some(used) = &used
            && !all
                .iter()
                .any(|stored| is_used(&stored.source, &stored.base_url))
        {
            all.insert(0, used.clone());
        }
        let Some(kind) = ForgeKind::new(JIRA) else {
            return Ok(Vec::new());
        };
        let line = |account: JiraAccount| AccountStatus {
            host: host_of(&account.base_url).to_owned(),
            kind: kind.clone(),
            active: is_used(&account.source, &account.base_url),
            account: account.email,
            token: masked(&account.token),
            source: account.source,
        };
        Ok(all.into_iter().map(line).collect())
    }

    /// Returns the token in the variable that `jira.auth_token` names.
    fn jira_token(&self) -> Result<Option<(Secret, CredentialSource)>> {
        let value = self.config().value("jira.auth_token").unwrap_or_default();
        let Some(name) = variable_name(&value) else {
            return Ok(None);
        };
        let text = self.config().env().named(name).unwrap_or_default();
        if text.is_empty() {
            return Ok(None);
        }
        let token = parse_secret(&text).map_err(|e| {
            Error::new(ErrorKind::Config, format!("the variable {name}: {e}"))
                .with_hint(format!("correct {name}, or unset it"))
                .with_source(e)
        })?;
        let source = match name == Var::JiraToken.name() {
            true => CredentialSource::Env(Var::JiraToken),
            false => CredentialSource::Named(name.to_owned()),
        };
        Ok(Some((token, source)))
    }

    fn stored_jira(&self) -> Result<Option<JiraAccount>> {
        let Some(store) = self.store() else {
            return Ok(None);
        };
        let document = store.document()?;
        document
            .get(JIRA)
            .map(|item| parse_account(item, &store).ok_or_else(|| store.broken("`jira`")))
            .transpose()
    }
}

fn parse_account(item: &Item, store: &CredentialFile) -> Option<JiraAccount> {
    let table = item.as_table_like()?;
    let text = |name| table.get(name).and_then(Item::as_str);
    Some(JiraAccount {
        base_url: ValueType::Url.parse(text("base_url")?)?,
        email: text("email").map(str::to_owned),
        token: parse_secret(text("secret")?).ok()?,
        source: CredentialSource::Store(store.path().to_owned()),
    })
}

/// Returns the host in a base URL, including the port.
pub(crate) fn host_of(base_url: &str) -> &str {
    let rest = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}
