//! The account at JIRA: one base URL with one token.

use forge_core::{Error, ErrorKind, ForgeKind, Noun, Result, Secret, fingerprint};
use toml_edit::{Item, Table, value};

use super::{
    AccountStatus, Accounts, CredentialSource, parse_secret, secret::masked, store::Store,
};
use crate::config::{
    Var,
    keys::{Type, variable_name},
    load,
};

/// The table of the store, and the name of its kind in `forge auth status`.
const JIRA: &str = "jira";

/// Where JIRA is, and as whom it is asked.
#[derive(Clone, Debug)]
pub(crate) struct JiraAccount {
    /// Without a slash at its end.
    pub base_url: String,
    /// The address of an account at JIRA Cloud; `None` for a token of JIRA Data Center.
    pub email: Option<String>,
    /// The token.
    pub token: Secret,
    source: CredentialSource,
}

/// What a login has stored.
#[derive(Clone, Debug)]
pub struct JiraLogin {
    /// Where JIRA is.
    pub base_url: String,
    /// This variable is set and wins over what was stored.
    pub shadowed_by: Option<String>,
}

impl Accounts {
    /// Where JIRA is: what the configuration says, else where the stored login is for.
    ///
    /// # Errors
    /// `config` for a store that cannot be used.
    pub fn jira_url(&self) -> Result<Option<String>> {
        match self.config().value("jira.base_url") {
            Some(url) => Ok(Some(url)),
            None => Ok(self.stored_jira()?.map(|stored| stored.base_url)),
        }
    }

    /// The account at JIRA: the token of the environment, else the stored one, which goes to the base
    /// URL that it was stored for and to no other.
    ///
    /// # Errors
    /// `config` for a store that cannot be used, and for a variable that holds no token.
    pub(crate) fn jira(&self) -> Result<Option<JiraAccount>> {
        let configured = self.config().value("jira.base_url");
        let from_env = self.jira_token()?;
        // A token of the environment for an address of the configuration needs no store.
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

    /// What the account at JIRA is known by here: another one sees other tickets.
    #[must_use]
    pub fn jira_fingerprint(&self) -> u64 {
        let account = self.jira().ok().flatten();
        fingerprint(&account.map(|a| (a.base_url, a.email, a.token.expose().to_owned())))
    }

    /// Stores a token for JIRA at `base_url`, in place of the one that is there.
    ///
    /// # Errors
    /// `invalid_input` for what is no base URL or no e-mail address, and for JIRA Cloud without one;
    /// `config` when the store cannot be written.
    pub fn login_jira(
        &self,
        base_url: &str,
        email: Option<&str>,
        token: &Secret,
    ) -> Result<JiraLogin> {
        let base_url = Type::Url.parse(base_url).ok_or_else(|| {
            Error::invalid(
                "base_url",
                "the base URL of JIRA has to be an https:// address without credentials",
            )
            .with_hint("pass it as the browser shows it, such as https://acme.atlassian.net")
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
                return Err(Error::invalid("email", "this is no e-mail address")
                    .with_hint("pass the address that the account at JIRA Cloud has"));
            }
            None if host_of(&base_url).ends_with(".atlassian.net") => {
                return Err(Error::invalid(
                    "email",
                    "JIRA Cloud takes a token together with the e-mail address of its account",
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

    /// Takes the login for JIRA out of the store. Gives its base URL.
    ///
    /// # Errors
    /// `not_found` when there is none; `config` when the store cannot be written.
    pub fn logout_jira(&self) -> Result<String> {
        let stored = self.stored_jira()?.ok_or_else(|| {
            Error::not_found(Noun::Account, "no account is stored for JIRA")
                .with_hint("unset JIRA_TOKEN if it is set")
        })?;
        let store = self.store().ok_or_else(load::no_dir)?;
        store.change_document(|document| Ok(document.remove(JIRA).is_some()))?;
        Ok(stored.base_url)
    }

    /// The lines of JIRA in `forge auth status`.
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

    /// The token of the variable that `jira.auth_token` names.
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
            .map(|item| stored(item, &store).ok_or_else(|| store.broken("`jira`")))
            .transpose()
    }
}

fn stored(item: &Item, store: &Store) -> Option<JiraAccount> {
    let table = item.as_table_like()?;
    let text = |name| table.get(name).and_then(Item::as_str);
    Some(JiraAccount {
        base_url: Type::Url.parse(text("base_url")?)?,
        email: text("email").map(str::to_owned),
        token: parse_secret(text("secret")?).ok()?,
        source: CredentialSource::Store(store.path().to_owned()),
    })
}

/// The host of a base URL, with its port.
pub(crate) fn host_of(base_url: &str) -> &str {
    let rest = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}
