//! Endpoints and tokens of GitHub hosts.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use forge_core::{
    Action, Call, Client, Error, ErrorKind, Forge, ForgeKind, Hint, Param, RepoId, RepoPath,
    Result, Secret, model::Actor,
};
use forge_github::{Endpoint, FixedToken, GitHub, TokenSource};
use forge_http::{Http, HttpSettings};
use futures::future::BoxFuture;
use tokio::sync::Mutex;

use crate::{
    Config, Forges,
    auth::{self, Accounts, Gh, GhHosts},
    config::{Env, Var},
};

/// State shared by the GitHub hosts of a process. Created when the first repository is opened.
#[derive(Debug, Default)]
pub(crate) struct SharedGithub {
    http: OnceLock<Http>,
    tokens: OnceLock<Arc<Tokens>>,
}

impl SharedGithub {
    /// Opens a repository without sending a request and without reading a token.
    ///
    /// # Errors
    /// `config` for an invalid proxy, and for certificates that cannot be read.
    pub fn open(
        &self,
        id: &RepoId,
        config: &Config,
        accounts: &Accounts,
    ) -> Result<(Arc<dyn Forge>, RepoId)> {
        let endpoint = endpoint(&id.host, config);
        let mut forge = GitHub::at(
            &id.host,
            endpoint,
            self.http(config.env())?,
            self.tokens(config, accounts) as Arc<dyn TokenSource>,
        );
        if let Some(token) = accounts.board_token(&id.host)? {
            forge = forge.with_board_tokens(Arc::new(BoardToken(token)));
        }
        Ok((Arc::new(forge), id.clone()))
    }

    fn tokens(&self, config: &Config, accounts: &Accounts) -> Arc<Tokens> {
        let new = || Arc::new(Tokens::new(accounts.clone(), config.env()));
        Arc::clone(self.tokens.get_or_init(new))
    }

    fn http(&self, env: &Env) -> Result<Http> {
        if let Some(http) = self.http.get() {
            return Ok(http.clone());
        }
        let http = Http::new(HttpSettings {
            write_pace: Some(forge_github::WRITE_PACE),
            ..HttpSettings::from_env(&|name| env.named(name), false)?
        })?;
        Ok(self.http.get_or_init(|| http).clone())
    }
}

/// Returns the account of a token at `host`. Sends one request with this token.
///
/// # Errors
/// `config` as in [`SharedGithub::open`]; `unauthenticated` if the host refuses the token;
/// `network` if the host does not answer.
pub(crate) fn token_owner<'a>(
    forges: &'a Forges,
    host: &'a str,
    token: &'a Secret,
) -> BoxFuture<'a, Result<Actor>> {
    Box::pin(async move {
        let http = forges.github().http(forges.config().env())?;
        let endpoint = endpoint(host, forges.config());
        let tokens = Arc::new(FixedToken::new(token.expose()));
        let forge = Arc::new(GitHub::at(host, endpoint, http, tokens));
        // The client needs the id of a repository, but the owner of the token does not depend on
        // it. The id is therefore a placeholder.
        let id = RepoId {
            kind: ForgeKind::GITHUB,
            host: host.to_owned(),
            path: RepoPath::Named {
                owner: "viewer".to_owned(),
                name: "viewer".to_owned(),
            },
        };
        Client::new(forge, forges.policy()).repo(id).viewer().await
    })
}

/// Returns the token of gh's login at `host`.
///
/// # Errors
/// The errors of [`Tokens::read_gh_token`].
pub(crate) fn gh_login<'a>(
    forges: &'a Forges,
    host: &'a str,
) -> BoxFuture<'a, Result<Option<Secret>>> {
    Box::pin(async move {
        let tokens = forges.github().tokens(forges.config(), forges.accounts());
        tokens.cached_gh_token(host).await
    })
}

/// Returns the API endpoints of a host, from the configuration or else the defaults.
fn endpoint(host: &str, config: &Config) -> Endpoint {
    let usual = Endpoint::of_host(host);
    let configured = |key: &str| config.value(&format!("hosts.{host}.{key}"));
    Endpoint {
        rest: configured("api_url").unwrap_or(usual.rest),
        graphql: configured("graphql_url").unwrap_or(usual.graphql),
        web: usual.web,
        uploads: usual.uploads,
    }
}

/// How long forge remembers that gh has no login. The time is short, because a process may run for
/// weeks and must notice a later login.
const NO_LOGIN_LIFETIME: Duration = Duration::from_secs(60);

/// Tokens from the environment, then from the store, then from gh's login.
#[derive(Debug)]
struct Tokens {
    accounts: Accounts,
    file: GhHosts,
    gh: Gh,
    /// Tokens of gh's login, by host. A token is cached until the host refuses it. `None` is cached
    /// for [`NO_LOGIN_LIFETIME`].
    from_gh: Mutex<HashMap<String, (Option<Secret>, Instant)>>,
    /// Origin of the last token of each host, for error messages.
    origins: std::sync::Mutex<HashMap<String, String>>,
}

impl Tokens {
    fn new(accounts: Accounts, env: &Env) -> Self {
        Self {
            accounts,
            file: GhHosts::of(env),
            gh: Gh::of(env),
            from_gh: Mutex::default(),
            origins: std::sync::Mutex::default(),
        }
    }

    /// Returns gh's token, cached after the first read.
    ///
    /// # Errors
    /// The errors of [`Self::read_gh_token`].
    async fn cached_gh_token(&self, host: &str) -> Result<Option<Secret>> {
        let mut known = self.from_gh.lock().await;
        if let Some((token, at)) = known.get(host)
            && (token.is_some() || at.elapsed() < NO_LOGIN_LIFETIME)
        {
            return Ok(token.clone());
        }
        let token = self.read_gh_token(host, None).await?;
        known.insert(host.to_owned(), (token.clone(), Instant::now()));
        Ok(token)
    }

    /// Reads gh's token. Tries gh's file first, because this needs no process. Then runs the gh
    /// program, which also reads the keyring and renews expired tokens. Never returns the token
    /// `refused`.
    ///
    /// # Errors
    ///
    /// `unauthenticated` if the file is unusable and the gh program has no token.
    async fn read_gh_token(&self, host: &str, refused: Option<&Secret>) -> Result<Option<Secret>> {
        let is_new = |secret: &Secret| refused.is_none_or(|r| r.expose() != secret.expose());
        let in_file = self.file.token(host);
        if let Ok(Some(secret)) = &in_file
            && is_new(secret)
        {
            return Ok(Some(self.with_origin(host, secret, self.file.name())));
        }
        let asked = self.gh.token(host).await.filter(is_new);
        match (asked, in_file) {
            (Some(secret), _) => Ok(Some(self.with_origin(
                host,
                &secret,
                "gh auth token".to_owned(),
            ))),
            (None, Err(why)) => Err(Error::new(
                ErrorKind::Unauthenticated {
                    host: host.to_owned(),
                },
                format!("there is no account for {host}: {why}"),
            )
            .with_hint(
                Hint::new("log in, or install gh, which can read its file")
                    .with_action(Action::new(Call::Login).with(Param::Host, host)),
            )),
            (None, Ok(_)) => Ok(None),
        }
    }

    fn with_origin(&self, host: &str, secret: &Secret, origin: String) -> Secret {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.insert(host.to_owned(), origin);
        secret.clone()
    }
}

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self, host: &str) -> Result<Option<Secret>> {
        if let Some(credential) = auth::credential(&self.accounts, host).await? {
            let origin = credential.source.to_string();
            return Ok(Some(self.with_origin(host, &credential.secret, origin)));
        }
        if let Some(token) = self.cached_gh_token(host).await? {
            return Ok(Some(token));
        }
        let others = auth::stored_hosts(&self.accounts, &ForgeKind::GITHUB).await?;
        match others.is_empty() {
            true => Ok(None),
            false => Err(account_elsewhere(host, &others)),
        }
    }

    async fn renewed(&self, host: &str, refused: &Secret) -> Result<Option<Secret>> {
        let mut known = self.from_gh.lock().await;
        match known.get(host) {
            Some((Some(token), _)) if token == refused => {}
            // Another request has renewed the token in the meantime.
            Some((Some(token), _)) => return Ok(Some(token.clone())),
            _ => return Ok(None),
        }
        // An error of gh is ignored. The caller then reports that the host refused the token, which
        // is more useful.
        let token = self
            .read_gh_token(host, Some(refused))
            .await
            .unwrap_or_default();
        known.insert(host.to_owned(), (token.clone(), Instant::now()));
        Ok(token)
    }

    fn origin(&self, host: &str) -> Option<String> {
        let origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.get(host).cloned()
    }
}

/// Returns the error for a host without an account. `others` are the hosts with an account.
fn account_elsewhere(host: &str, others: &[String]) -> Error {
    let kind = ErrorKind::Unauthenticated {
        host: host.to_owned(),
    };
    let examples: Vec<String> = others.iter().map(|h| format!("{h}/OWNER/REPO")).collect();
    let hint = format!(
        "name a repository where you are logged in, as {}, or log in to {host}",
        examples.join(" or ")
    );
    Error::new(kind, format!("there is no account for {host}"))
        .with_hint(Hint::from(hint).with_action(Action::new(Call::Login).with(Param::Host, host)))
}

/// A separate token for project boards, from the environment.
#[derive(Debug)]
struct BoardToken(Secret);

#[async_trait]
impl TokenSource for BoardToken {
    async fn token(&self, _: &str) -> Result<Option<Secret>> {
        Ok(Some(self.0.clone()))
    }

    async fn renewed(&self, _: &str, _: &Secret) -> Result<Option<Secret>> {
        Ok(None)
    }

    fn origin(&self, _: &str) -> Option<String> {
        Some(Var::GhProjectToken.name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(vars: &[(&str, &str)]) -> Config {
        Config::without_files(Env::fixed(vars.iter().copied()))
    }

    fn tokens(vars: &[(&str, &str)]) -> Tokens {
        let config = config(vars);
        Tokens::new(Accounts::new(&config), config.env())
    }

    #[tokio::test]
    async fn request_without_account_is_not_sent() {
        let forges = Forges::from_parts(config(&[("HTTPS_PROXY", "http://127.0.0.1:1")]));
        let (repo, _) = forges.open_locator("o/r", forges.policy()).await.unwrap();
        let e = repo.info().await.unwrap_err();
        assert!(
            matches!(e.kind(), ErrorKind::Unauthenticated { host } if host == "github.com"),
            "{e:?}"
        );
        let login = e.hint().and_then(Hint::action).unwrap();
        assert_eq!(login.call(), Call::Login, "{e:?}");
    }

    #[tokio::test]
    async fn invalid_proxy_is_named_on_open() {
        let forges = Forges::from_parts(config(&[("HTTPS_PROXY", "socks5://h:1")]));
        let e = forges
            .open_locator("o/r", forges.policy())
            .await
            .unwrap_err();
        assert_eq!(e.code(), "config");
        assert!(e.message().contains("HTTPS_PROXY"), "{e}");
    }

    #[tokio::test]
    async fn token_variable_depends_on_host_kind() {
        let all = tokens(&[
            ("GH_TOKEN", "own"),
            ("GH_ENTERPRISE_TOKEN", "enterprise"),
            ("GH_HOST", "git.example"),
        ]);
        for (host, token) in [
            ("github.com", "own"),
            ("a.ghe.com", "own"),
            ("git.example", "enterprise"),
        ] {
            let found = all.token(host).await.unwrap();
            assert_eq!(found.unwrap().expose(), token, "{host}");
        }
        let local = tokens(&[("GH_TOKEN", "own"), ("GH_HOST", "github.localhost")]);
        let found = local.token("github.localhost").await.unwrap();
        assert_eq!(found.unwrap().expose(), "own");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn gh_runs_again_only_after_token_refusal() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let gh = dir.path().join("gh");
        let log = dir.path().join("log");
        let script = format!(
            "#!/bin/sh\necho x >> '{0}'\necho gho_$(wc -l < '{0}' | tr -d ' ')\n",
            log.display()
        );
        std::fs::write(&gh, script).unwrap();
        std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
        let tokens = tokens(&[("GH_PATH", gh.to_str().unwrap())]);
        let first = tokens.token("github.com").await.unwrap().unwrap();
        assert_eq!(tokens.token("github.com").await.unwrap().unwrap(), first);
        assert_eq!(first.expose(), "gho_1");
        let second = tokens.renewed("github.com", &first).await.unwrap();
        assert_eq!(second.unwrap().expose(), "gho_2");
        let other = tokens.renewed("github.com", &first).await.unwrap();
        assert_eq!(other.unwrap().expose(), "gho_2");
        assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 2);
        assert_eq!(
            tokens.origin("github.com").as_deref(),
            Some("gh auth token")
        );
    }

    /// Writes gh's `hosts.yml`, and a fake gh that logs each start. Returns `Tokens` that use both.
    #[cfg(unix)]
    fn login_of_gh(dir: &std::path::Path, file: &str, script: &str) -> Tokens {
        use std::os::unix::fs::PermissionsExt as _;
        let gh = dir.join("gh");
        let log = dir.join("log");
        let script = format!("#!/bin/sh\necho x >> '{}'\n{script}\n", log.display());
        std::fs::write(&gh, script).unwrap();
        std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(dir.join("hosts.yml"), file).unwrap();
        tokens(&[
            ("GH_PATH", gh.to_str().unwrap()),
            ("GH_CONFIG_DIR", dir.to_str().unwrap()),
        ])
    }

    #[cfg(unix)]
    fn times_asked(dir: &std::path::Path) -> usize {
        let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
        log.lines().count()
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn token_in_gh_file_needs_no_process() {
        let dir = tempfile::tempdir().unwrap();
        let file = "github.com:\n    oauth_token: gho_file\n    user: ada\n";
        let tokens = login_of_gh(dir.path(), file, "echo gho_program");
        let first = tokens.token("github.com").await.unwrap().unwrap();
        assert_eq!(first.expose(), "gho_file");
        assert_eq!(times_asked(dir.path()), 0);
        let origin = tokens.origin("github.com").unwrap();
        assert_eq!(std::path::Path::new(&origin), dir.path().join("hosts.yml"));
        // If the token in the file has expired, the gh program supplies a renewed token.
        let second = tokens.renewed("github.com", &first).await.unwrap();
        assert_eq!(second.unwrap().expose(), "gho_program");
        assert_eq!(times_asked(dir.path()), 1);
        assert_eq!(
            tokens.origin("github.com").as_deref(),
            Some("gh auth token")
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn gh_program_supplies_token_missing_in_hosts_file() {
        let dir = tempfile::tempdir().unwrap();
        let keyring = "github.com:\n    users:\n        ada: {}\n    user: ada\n";
        for file in [keyring, "github.com: &a\n", "git.example:\n    user: a\n"] {
            let tokens = login_of_gh(dir.path(), file, "echo gho_program");
            let token = tokens.token("github.com").await.unwrap().unwrap();
            assert_eq!(token.expose(), "gho_program", "{file}");
        }
        assert_eq!(times_asked(dir.path()), 3);
        let tokens = login_of_gh(dir.path(), keyring, "exit 1");
        assert_eq!(tokens.token("github.com").await.unwrap(), None);
        assert_eq!(tokens.origin("github.com"), None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn malformed_gh_hosts_file_is_named_in_error() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = login_of_gh(dir.path(), "github.com: &a\n", "exit 1");
        let e = tokens.token("github.com").await.unwrap_err();
        assert_eq!(e.code(), "unauthenticated");
        assert!(e.message().contains("line 1 of "), "{e}");
        assert!(e.message().contains("hosts.yml"), "{e}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn refused_gh_token_is_not_reused() {
        let dir = tempfile::tempdir().unwrap();
        let file = "github.com:\n    oauth_token: gho_file\n";
        let tokens = login_of_gh(dir.path(), file, "echo gho_file");
        let first = tokens.token("github.com").await.unwrap().unwrap();
        assert_eq!(tokens.renewed("github.com", &first).await.unwrap(), None);
        let origin = tokens.origin("github.com").unwrap();
        assert!(origin.ends_with("hosts.yml"), "{origin}");
    }

    #[tokio::test]
    async fn environment_token_wins_over_gh_token() {
        let dir = tempfile::tempdir().unwrap();
        let file = "github.com:\n    oauth_token: gho_file\n";
        std::fs::write(dir.path().join("hosts.yml"), file).unwrap();
        let tokens = tokens(&[
            ("GH_TOKEN", "own"),
            ("GH_CONFIG_DIR", dir.path().to_str().unwrap()),
        ]);
        let token = tokens.token("github.com").await.unwrap().unwrap();
        assert_eq!(token.expose(), "own");
        assert_eq!(tokens.origin("github.com").as_deref(), Some("GH_TOKEN"));
    }

    #[tokio::test]
    async fn environment_token_is_not_renewed() {
        let tokens = tokens(&[("GH_TOKEN", "own"), ("GH_PATH", "/nonexistent/gh")]);
        let token = tokens.token("github.com").await.unwrap().unwrap();
        assert_eq!(tokens.renewed("github.com", &token).await.unwrap(), None);
    }

    #[test]
    fn configured_urls_replace_default_endpoints() {
        let moved = |name: &str, value: &str| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(
                dir.path().join("config.toml"),
                format!("[hosts.\"git.example\"]\nkind = \"github\"\n{name} = \"{value}\"\n"),
            )
            .unwrap();
            let env = Env::fixed([("FORGE_CONFIG_DIR", dir.path())]);
            endpoint("git.example", &Config::load(env, dir.path()).unwrap())
        };
        let usual = Endpoint::of_host("git.example");
        let url = "http://127.0.0.1:8080/x";
        assert_eq!(
            moved("api_url", url),
            Endpoint {
                rest: url.to_owned(),
                ..usual.clone()
            }
        );
        assert_eq!(
            moved("graphql_url", url),
            Endpoint {
                graphql: url.to_owned(),
                ..usual
            }
        );
    }
}
