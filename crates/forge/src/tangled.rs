//! Tangled hosts: where their services are, and with which account they are asked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use async_trait::async_trait;
use forge_core::{AtUri, Error, ErrorKind, Forge, PrId, RepoId, Result};
use forge_http::{Http, Settings as HttpSettings};
use forge_tangled::{Login, LoginSource, Origin, Reach, Settings, Tangled};

use crate::{Config, Forges, auth::Accounts, config::Env, registry};

/// Sessions are in a directory of this name, beside the store of accounts.
const SESSIONS: &str = "sessions";

/// What the tangled hosts of a process share: connections, sessions, and what was looked up.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    http: OnceLock<Http>,
    hosts: Mutex<HashMap<String, Arc<Tangled>>>,
}

impl Shared {
    /// Opens a repository. Nothing is sent and no account is asked for yet.
    ///
    /// # Errors
    /// `config` for addresses that cannot be used, and as the transport.
    pub fn open(&self, forges: &Forges, id: &RepoId) -> Result<(Arc<dyn Forge>, RepoId)> {
        let host = match id.host.as_str() {
            "" => registry::tangled_host(forges),
            host => host,
        };
        let forge = self.host(host, forges.config(), forges.accounts())?;
        let id = RepoId {
            host: host.to_owned(),
            ..id.clone()
        };
        Ok((forge as Arc<dyn Forge>, id))
    }

    /// The pull request that a record is.
    ///
    /// # Errors
    /// As [`Self::open`]; `not_found`; `protocol` for a record that is no pull request.
    pub async fn pull_of_record(&self, forges: &Forges, uri: &AtUri) -> Result<PrId> {
        let forge = self.host(
            registry::tangled_host(forges),
            forges.config(),
            forges.accounts(),
        )?;
        forge.pull_of_record(uri).await
    }

    fn host(&self, host: &str, config: &Config, accounts: &Accounts) -> Result<Arc<Tangled>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host) {
            return Ok(Arc::clone(known));
        }
        let logins = Arc::new(Logins(accounts.clone()));
        let http = self.http(config.env())?;
        let forge = Arc::new(Tangled::new(settings(host, config)?, http, logins));
        hosts.insert(host.to_owned(), Arc::clone(&forge));
        Ok(forge)
    }

    fn http(&self, env: &Env) -> Result<Http> {
        if let Some(http) = self.http.get() {
            return Ok(http.clone());
        }
        let http = Http::new(HttpSettings {
            in_flight: 8,
            ..HttpSettings::from_env(&|name| env.named(name), false)?
        })?;
        Ok(self.http.get_or_init(|| http).clone())
    }
}

/// The usual services, unless the configuration says otherwise. A service that it puts on this
/// machine opens the way to others there; they name each other in their documents.
fn settings(host: &str, config: &Config) -> Result<Settings> {
    let usual = Settings::usual()?;
    let configured = |key: &str| -> Result<Option<Origin>> {
        let value = config.value(&format!("hosts.{host}.{key}"));
        value.map(|url| Origin::configured(&url)).transpose()
    };
    let (index, pds, plc) = (
        configured("api_url")?,
        configured("pds_url")?,
        configured("plc_url")?,
    );
    let here = |origin: &Option<Origin>| {
        origin
            .as_ref()
            .is_some_and(|o| o.as_str().starts_with("http://"))
    };
    let reach = if here(&index) || here(&pds) || here(&plc) {
        Reach::Loopback
    } else {
        Reach::Public
    };
    let web = match &index {
        Some(index) if reach == Reach::Loopback => index.clone(),
        _ if host == registry::TANGLED_HOST => usual.web.clone(),
        _ => Origin::configured(&format!("https://{host}"))?,
    };
    Ok(Settings {
        host: host.to_owned(),
        web,
        backlinks: usual.backlinks.filter(|_| reach == Reach::Public),
        index: index.unwrap_or(usual.index),
        handles: pds.clone().filter(|_| here(&pds)),
        pds,
        plc: plc.unwrap_or(usual.plc),
        reach,
        sessions: config.dir().map(|dir| dir.join(SESSIONS)),
        ..Settings::usual()?
    })
}

/// Handle and app password, from the environment, then from the store.
#[derive(Debug)]
struct Logins(Accounts);

#[async_trait]
impl LoginSource for Logins {
    async fn login(&self, host: &str) -> Result<Option<Login>> {
        let Some(credential) = self.0.credential(host)? else {
            return Ok(None);
        };
        let Some(account) = credential.account else {
            return Err(Error::new(
                ErrorKind::Unauthenticated {
                    host: host.to_owned(),
                },
                format!("{} is set, and nothing says whose it is", credential.source),
            )
            .with_hint("set TANGLED_HANDLE to your handle as well"));
        };
        Ok(Some(Login {
            account,
            password: forge_http::Secret::new(credential.secret.expose()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> (tempfile::TempDir, Config) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), text).unwrap();
        let env = Env::fixed([("FORGE_CONFIG_DIR", dir.path())]);
        let config = Config::load(env, dir.path()).unwrap();
        (dir, config)
    }

    #[test]
    fn the_usual_services_are_tangleds_own() {
        let (dir, config) = config("");
        let settings = settings("tangled.org", &config).unwrap();
        assert_eq!(settings.index.as_str(), "https://api.tangled.org");
        assert_eq!(settings.web.as_str(), "https://tangled.org");
        assert_eq!(settings.reach, Reach::Public);
        assert!(settings.handles.is_none());
        assert_eq!(settings.sessions, Some(dir.path().join("sessions")));
    }

    #[test]
    fn services_on_this_machine_may_name_each_other() {
        let (_dir, config) = config(
            "[hosts.\"tangled.org\"]\napi_url = \"http://localhost:1\"\n\
             pds_url = \"http://localhost:2\"\nplc_url = \"http://localhost:3\"\n",
        );
        let settings = settings("tangled.org", &config).unwrap();
        assert_eq!(settings.reach, Reach::Loopback);
        assert_eq!(settings.index.as_str(), "http://localhost:1");
        assert_eq!(settings.handles, settings.pds);
        assert!(
            settings.backlinks.is_none(),
            "strangers are not asked about it"
        );
    }

    #[tokio::test]
    async fn a_password_without_a_handle_is_nobodys() {
        let env = Env::fixed([("TANGLED_PASSWORD", "aaaa-bbbb-cccc-dddd")]);
        let logins = Logins(Accounts::new(&Config::without_files(env)));
        assert!(logins.login("tangled.org").await.unwrap().is_none());
        let env = Env::fixed([
            ("TANGLED_PASSWORD", "aaaa-bbbb-cccc-dddd"),
            ("TANGLED_HANDLE", "alice.example"),
        ]);
        let logins = Logins(Accounts::new(&Config::without_files(env)));
        let login = logins.login("tangled.org").await.unwrap().unwrap();
        assert_eq!(login.account, "alice.example");
    }
}
