//! Services and accounts of tangled hosts.
//!
//! Tangled runs on atproto. Accounts store their records (pull requests, issues, comments) on a
//! PDS, and an index collects the records of all accounts.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forge_core::{AtUri, Error, ErrorKind, Forge, PrId, RepoId, Result, model::IssueId};
use forge_http::{Http, HttpSettings, WritePace};
use forge_tangled::{
    Dialects, DraftMarker, IngestedCollections, LoginSource, Origin, PdsLogin, PinnedAccount,
    Reach, Tangled, TangledSettings,
};

use crate::{
    Config, Forges,
    auth::{self, Accounts, CredentialSource},
    config::Env,
    registry,
};

/// Name of the directory for sessions, next to the store of accounts.
const SESSIONS: &str = "sessions";

/// The pace of a long series of writes. It stays below the rate limit of a PDS for the writes of
/// one account.
const WRITE_PACE: WritePace = WritePace {
    free: 20,
    spacing: Duration::from_secs(1),
};

/// State shared by the tangled hosts of a process: connections, sessions and caches.
#[derive(Debug, Default)]
pub(crate) struct SharedTangled {
    http: OnceLock<Http>,
    hosts: Mutex<HashMap<String, Arc<Tangled>>>,
}

/// Applies the configured deadline to the search for a record. Other operations get their deadline
/// from a repository handle, which does not exist before the record is found.
async fn within_deadline<T>(
    forges: &Forges,
    uri: &AtUri,
    search: impl Future<Output = Result<T>>,
) -> Result<T> {
    let after = forges.policy().deadline;
    tokio::time::timeout(after, search)
        .await
        .unwrap_or_else(|_| {
            let seconds = after.as_secs_f32();
            let message = format!("cannot find {uri}: its server took longer than {seconds} s");
            Err(Error::new(ErrorKind::Timeout { after }, message)
                .with_hint("try again, or allow more time with FORGE_TIMEOUT (seconds)"))
        })
}

impl SharedTangled {
    /// Opens a repository without sending a request and without reading an account.
    ///
    /// # Errors
    /// `config` for invalid addresses, and the errors of the transport.
    pub fn open(&self, forges: &Forges, id: &RepoId) -> Result<(Arc<dyn Forge>, RepoId)> {
        let host = match id.host.as_str() {
            "" => registry::tangled_host(forges),
            host => host,
        };
        let forge = self.host(host, forges)?;
        let id = RepoId {
            host: host.to_owned(),
            ..id.clone()
        };
        Ok((forge as Arc<dyn Forge>, id))
    }

    /// Returns the pull request whose record has the address `uri`.
    ///
    /// # Errors
    /// The errors of [`Self::open`]; `not_found`; `protocol` for a record that is not a pull
    /// request.
    pub async fn pull_of_record(&self, forges: &Forges, uri: &AtUri) -> Result<PrId> {
        let host = self.usual_host(forges)?;
        within_deadline(forges, uri, host.pull_of_record(uri)).await
    }

    /// Returns the issue whose record has the address `uri`.
    ///
    /// # Errors
    /// The errors of [`Self::open`]; `not_found`; `protocol` for a record that is not an issue.
    pub async fn issue_of_record(&self, forges: &Forges, uri: &AtUri) -> Result<IssueId> {
        let host = self.usual_host(forges)?;
        within_deadline(forges, uri, host.issue_of_record(uri)).await
    }

    /// Returns the default tangled host, for repository ids without a host.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn usual_host(&self, forges: &Forges) -> Result<Arc<Tangled>> {
        self.host(registry::tangled_host(forges), forges)
    }

    /// Returns the pin (the permanent id of the account) for a login of `account` at `host`.
    ///
    /// # Errors
    /// The errors of [`Self::open`] and [`Tangled::pin_login`].
    pub async fn pin_login(
        &self,
        forges: &Forges,
        host: &str,
        account: &str,
    ) -> Result<Option<auth::Pin>> {
        let pin = self.host(host, forges)?.pin_login(account).await?;
        Ok(Some(auth::Pin {
            did: pin.did,
            server: pin.server,
        }))
    }

    fn host(&self, host: &str, forges: &Forges) -> Result<Arc<Tangled>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host) {
            return Ok(Arc::clone(known));
        }
        let config = forges.config();
        let logins = Arc::new(Logins(forges.accounts().clone()));
        let http = self.http(config.env())?;
        let settings = TangledSettings {
            wait: forges.wait(),
            ..settings(host, config)?
        };
        let forge = Arc::new(Tangled::new(settings, http, logins));
        hosts.insert(host.to_owned(), Arc::clone(&forge));
        Ok(forge)
    }

    fn http(&self, env: &Env) -> Result<Http> {
        if let Some(http) = self.http.get() {
            return Ok(http.clone());
        }
        let http = Http::new(HttpSettings {
            in_flight: 8,
            write_pace: Some(WRITE_PACE),
            ..HttpSettings::from_env(&|name| env.named(name), false)?
        })?;
        Ok(self.http.get_or_init(|| http).clone())
    }
}

/// Removes the sessions of an account, because their tokens stay valid after the password is
/// removed.
///
/// # Errors
///
/// `config` if a file cannot be removed.
pub(crate) fn forget_sessions(config: &Config, account: &str) -> Result<()> {
    match config.dir() {
        Some(dir) => forge_tangled::forget_sessions(&dir.join(SESSIONS), account),
        None => Ok(()),
    }
}

/// Returns the services of a host: the defaults, unless the configuration overrides them. The
/// services refer to each other, so if one is configured on this machine, all of them may be at
/// loopback addresses.
fn settings(host: &str, config: &Config) -> Result<TangledSettings> {
    let usual = TangledSettings::usual()?;
    let configured = |key: &str| -> Result<Option<Origin>> {
        let value = config.value(&format!("hosts.{host}.{key}"));
        value.map(|url| Origin::configured(&url)).transpose()
    };
    let index = match configured("index_url")? {
        Some(index) => Some(index),
        None => configured("api_url")?,
    };
    let (web, backlinks) = (configured("web_url")?, configured("backlinks_url")?);
    let (plc, handles, pds) = (
        configured("plc_url")?,
        configured("resolver_url")?,
        configured("pds_url")?,
    );
    let value = |key: &str| config.value(&format!("hosts.{host}.{key}"));
    let here = |origin: &Option<Origin>| {
        origin
            .as_ref()
            .is_some_and(|o| o.as_str().starts_with("http://"))
    };
    let reach = if value("private_addresses").as_deref() == Some("true") {
        Reach::Private
    } else if [&index, &web, &backlinks, &plc, &handles, &pds]
        .into_iter()
        .any(here)
    {
        Reach::Loopback
    } else {
        Reach::Public
    };
    let web = match (web, &index) {
        (Some(web), _) => web,
        (None, Some(index)) if here(&Some(index.clone())) => index.clone(),
        _ if host == registry::TANGLED_HOST => usual.web.clone(),
        _ => Origin::configured(&format!("https://{host}"))?,
    };
    let dialects = dialects(host, config)?;
    let is_tangleds_own = index.as_ref().is_none_or(|index| *index == usual.index);
    let ingested = match value("index_date") {
        Some(date) => IngestedCollections::at(&date, &dialects),
        None if is_tangleds_own => IngestedCollections::of_tangled(&dialects),
        None => IngestedCollections::default(),
    };
    Ok(TangledSettings {
        host: host.to_owned(),
        web,
        backlinks: backlinks.or(usual.backlinks.filter(|_| reach == Reach::Public)),
        index: index.unwrap_or(usual.index),
        handles: handles.or_else(|| pds.clone().filter(|_| here(&pds))),
        dns: value("dns_server").and_then(|text| name_server(&text)),
        pds,
        plc: plc.unwrap_or(usual.plc),
        reach,
        sessions: config.dir().map(|dir| dir.join(SESSIONS)),
        ingested,
        draft_marker: value("draft_marker")
            .map(|marker| DraftMarker::new(&marker))
            .transpose()?,
        verdict_comments: value("verdict_comments").as_deref() == Some("true"),
        dialects,
        ..TangledSettings::usual()?
    })
}

/// Parses the address of a name server; the default port is 53.
fn name_server(text: &str) -> Option<SocketAddr> {
    let usual_port = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53));
    usual_port.or_else(|_| text.parse::<SocketAddr>()).ok()
}

/// Returns the names of record types, methods and fields in tangled's protocol (the dialect). These
/// are the defaults, unless the configuration overrides them.
fn dialects(host: &str, config: &Config) -> Result<Dialects> {
    let mut dialects = Dialects::default();
    for (key, _) in Dialects::default().names() {
        if let Some(name) = config.value(&format!("hosts.{host}.dialect.{key}")) {
            dialects.set(&key, &name)?;
        }
    }
    Ok(dialects)
}

/// Source of handle and app password: the environment, then the store.
#[derive(Debug)]
struct Logins(Accounts);

#[async_trait]
impl LoginSource for Logins {
    async fn login(&self, host: &str) -> Result<Option<PdsLogin>> {
        let Some(credential) = auth::credential(&self.0, host).await? else {
            return Ok(None);
        };
        let Some(account) = credential.account else {
            return Err(Error::new(
                ErrorKind::Unauthenticated {
                    host: host.to_owned(),
                },
                format!("{} is set without an account", credential.source),
            )
            .with_hint("set TANGLED_HANDLE to your handle as well"));
        };
        Ok(Some(PdsLogin {
            account,
            password: credential.secret,
            pin: credential.pin.map(|pin| PinnedAccount {
                did: pin.did,
                server: pin.server,
            }),
        }))
    }

    /// Stores the pin of an account. Does nothing for a login from the environment, because it is
    /// not in the store; the session of such a login contains the pin.
    async fn keep_pin(&self, host: &str, login: &PdsLogin, pin: &PinnedAccount) -> Result<()> {
        let credential = auth::credential(&self.0, host).await?;
        let stored = credential.filter(|it| matches!(it.source, CredentialSource::Store(_)));
        let name = stored.and_then(|it| it.account);
        match name.filter(|name| *name == login.account) {
            Some(name) => {
                let pin = auth::Pin {
                    did: pin.did.clone(),
                    server: pin.server.clone(),
                };
                auth::keep_pin(&self.0, host, name, pin).await
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use forge_tangled::Ingests;

    use super::*;

    fn config(text: &str) -> (tempfile::TempDir, Config) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), text).unwrap();
        let env = Env::fixed([("FORGE_CONFIG_DIR", dir.path())]);
        let config = Config::load(env, dir.path()).unwrap();
        (dir, config)
    }

    #[test]
    fn default_services_are_public_tangled_services() {
        let (dir, config) = config("");
        let settings = settings("tangled.org", &config).unwrap();
        assert_eq!(settings.index.as_str(), "https://api.tangled.org");
        assert_eq!(settings.web.as_str(), "https://tangled.org");
        assert_eq!(settings.reach, Reach::Public);
        assert!(settings.handles.is_none());
        assert_eq!(settings.sessions, Some(dir.path().join("sessions")));
    }

    #[test]
    fn configured_local_services_allow_loopback() {
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

    #[test]
    fn every_service_is_configurable_by_file_and_environment() {
        let keys = [
            ("index_url", "TANGLED_INDEX_URL"),
            ("web_url", "TANGLED_WEB_URL"),
            ("backlinks_url", "TANGLED_BACKLINKS_URL"),
            ("plc_url", "TANGLED_PLC_URL"),
            ("resolver_url", "TANGLED_RESOLVER_URL"),
            ("pds_url", "TANGLED_PDS_URL"),
        ];
        let shown = |settings: &TangledSettings| {
            let some = |o: &Option<Origin>| o.as_ref().unwrap().to_string();
            [
                settings.index.to_string(),
                settings.web.to_string(),
                some(&settings.backlinks),
                settings.plc.to_string(),
                some(&settings.handles),
                some(&settings.pds),
            ]
        };
        let wanted: Vec<String> = (1..=6).map(|n| format!("http://localhost:{n}")).collect();
        let mut file = String::from("[hosts.\"tangled.org\"]\nprivate_addresses = true\n");
        let mut variables = Vec::new();
        for ((key, variable), url) in keys.iter().zip(&wanted) {
            file.push_str(&format!("{key} = \"{url}\"\n"));
            variables.push((*variable, url.as_str()));
        }
        let (_dir, from_file) = config(&file);
        let from_file = settings("tangled.org", &from_file).unwrap();
        assert_eq!(shown(&from_file).as_slice(), wanted);
        assert_eq!(from_file.reach, Reach::Private);
        let from_env = Config::without_files(Env::fixed(variables));
        let from_env = settings("tangled.org", &from_env).unwrap();
        assert_eq!(shown(&from_env).as_slice(), wanted);
        assert_eq!(from_env.reach, Reach::Loopback);
    }

    #[test]
    fn name_server_comes_from_file_or_environment() {
        for (text, address) in [
            ("192.0.2.53", "192.0.2.53:53"),
            ("2001:db8::35", "[2001:db8::35]:53"),
            ("127.0.0.1:5353", "127.0.0.1:5353"),
        ] {
            let file = format!("[hosts.\"tangled.org\"]\ndns_server = \"{text}\"\n");
            let (_dir, from_file) = config(&file);
            let from_env = Config::without_files(Env::fixed([("TANGLED_DNS_SERVER", text)]));
            for config in [from_file, from_env] {
                let settings = settings("tangled.org", &config).unwrap();
                assert_eq!(settings.dns, Some(address.parse().unwrap()));
                // A name server often has a local address. This address must not make other local
                // services reachable.
                assert_eq!(settings.reach, Reach::Public);
            }
        }
    }

    #[test]
    fn older_index_is_configured_by_date() {
        let (_dir, config) = config("[hosts.\"tangled.org\"]\nindex_date = \"2026-06\"\n");
        let settings = settings("tangled.org", &config).unwrap();
        let ingests = |collection: &str| settings.ingested.of(collection);
        for states in ["sh.tangled.repo.pull.status", "sh.tangled.repo.issue.state"] {
            assert_eq!(ingests(states), Some(Ingests::No));
        }
        assert_eq!(ingests("sh.tangled.repo.pull"), Some(Ingests::Yes));
    }

    #[test]
    fn only_the_index_of_tangled_has_default_limits() {
        const PULL: &str = "sh.tangled.repo.pull";
        for (text, wanted) in [
            ("", Some(Ingests::Unknown)),
            (
                "index_url = \"https://api.tangled.org\"\n",
                Some(Ingests::Unknown),
            ),
            ("index_url = \"https://index.example\"\n", None),
            ("api_url = \"http://localhost:1\"\n", None),
            ("index_date = \"2026-07\"\n", Some(Ingests::Yes)),
        ] {
            let (_dir, config) = config(&format!("[hosts.\"tangled.org\"]\n{text}"));
            let settings = settings("tangled.org", &config).unwrap();
            assert_eq!(settings.ingested.of(PULL), wanted, "{text}");
        }
    }

    #[test]
    fn dialect_names_are_configurable() {
        let (_dir, config) = config(
            "[hosts.\"tangled.org\"]\nindex_date = \"2026-06\"\n\
             [hosts.\"tangled.org\".dialect]\nknot_merge = \"org.example.merge\"\n\
             sh_status = \"org.example.status\"\nfield_title = \"heading\"\n\
             audience = \"repository\"\n",
        );
        let settings = settings("tangled.org", &config).unwrap();
        let names = &settings.dialects;
        assert_eq!(names.methods.knot.merge, "org.example.merge");
        assert_eq!(names.fields.title, "heading");
        assert_eq!(names.audience, forge_tangled::Audience::Repository);
        let ingests = settings.ingested.of("org.example.status");
        assert_eq!(ingests, Some(Ingests::No));
        let other = super::settings("knot.example", &config).unwrap();
        assert_eq!(other.dialects, Dialects::default());
        let listed = config.list();
        let listed = listed.iter().filter(|e| e.name.contains(".dialect."));
        let listed: Vec<_> = listed.map(|e| e.name.as_str()).collect();
        assert_eq!(
            listed,
            ["audience", "field_title", "knot_merge", "sh_status"]
                .map(|key| format!("hosts.tangled.org.dialect.{key}"))
        );
    }

    #[test]
    fn invalid_dialect_setting_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |line: &str| {
            let text = format!("[hosts.\"tangled.org\".dialect]\n{line}\n");
            std::fs::write(dir.path().join("config.toml"), text).unwrap();
            let env = Env::fixed([("FORGE_CONFIG_DIR", dir.path())]);
            Config::load(env, dir.path()).unwrap_err()
        };
        let e = refused("knot_merg = \"org.example.merge\"");
        assert_eq!(e.code(), "config");
        assert!(e.message().contains("knot_merg"), "{e}");
        let hint = e.hint().unwrap();
        assert!(
            hint.text().contains("hosts.tangled.org.dialect.knot_merge"),
            "{hint}"
        );
        let e = refused("knot_merge = \"merge\"");
        assert!(e.message().contains("it takes an NSID"), "{e}");
        let e = refused("field_title = \"two words\"");
        assert!(e.message().contains("it takes a word"), "{e}");
    }

    #[test]
    fn drafts_and_verdicts_need_configuration() {
        use forge_core::Capability::{PrDraft, ReviewVerdict};
        let can = |text: &str| {
            let (_dir, config) = config(text);
            let settings = settings("tangled.org", &config).unwrap();
            let can = settings.capabilities();
            (can.has(PrDraft), can.has(ReviewVerdict))
        };
        let host = "[hosts.\"tangled.org\"]\n";
        assert_eq!(can(""), (false, false));
        let drafts = "draft_marker = \"[draft]\"\n";
        assert_eq!(can(&format!("{host}{drafts}")), (true, false));
        let verdicts = "verdict_comments = true\n";
        assert_eq!(can(&format!("{host}{verdicts}")), (false, true));
        assert_eq!(can(&format!("{host}{drafts}{verdicts}")), (true, true));
        let long = format!("{host}draft_marker = \"{}\"\n", "x".repeat(33));
        let (_dir, config) = config(&long);
        let e = settings("tangled.org", &config).unwrap_err();
        assert!(e.message().contains("1 to 32 characters"), "{e}");
    }

    #[test]
    fn remote_at_configured_knot_belongs_to_tangled_host() {
        let (_dir, config) = config("[hosts.\"knot.example\"]\nknot_of = \"tangled.org\"\n");
        let id = forge_core::locator::parse_remote(
            "git@knot.example:alice.example/widget",
            &config.hosts(),
        );
        assert_eq!(id.unwrap().to_string(), "tangled.org/alice.example/widget");
    }

    #[tokio::test]
    async fn password_without_handle_is_ignored() {
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

    /// Another process may hold the lock of the store of accounts.
    #[tokio::test]
    async fn locked_store_does_not_block_other_calls() {
        let (dir, config) = config("");
        let accounts = Accounts::new(&config);
        let password = auth::parse_secret("aaaa-bbbb-cccc-dddd").unwrap();
        accounts
            .login("tangled.org", None, "alice.example", &password, None)
            .unwrap();
        let logins = Logins(accounts);
        let login = logins.login("tangled.org").await.unwrap().unwrap();
        let lock = std::fs::File::create(dir.path().join(".lock")).unwrap();
        lock.lock().unwrap();
        let (tick, ticked) = std::sync::mpsc::channel();
        let holder = std::thread::spawn(move || {
            let in_time = ticked.recv_timeout(Duration::from_secs(20)).is_ok();
            drop(lock);
            in_time
        });
        let pin = PinnedAccount {
            did: "did:plc:alice".to_owned(),
            server: None,
        };
        let other_call = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            tick.send(()).unwrap();
        };
        let kept = logins.keep_pin("tangled.org", &login, &pin);
        let (kept, ()) = futures::join!(kept, other_call);
        kept.unwrap();
        assert!(holder.join().unwrap(), "the runtime stood still");
        let login = logins.login("tangled.org").await.unwrap().unwrap();
        assert_eq!(login.pin, Some(pin));
    }
}
