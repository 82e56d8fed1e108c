//! Registry of the backends of this build, by kind of forge.

use std::{borrow::Cow, sync::Arc};

use forge_core::{
    Action, Arg, AtUri, Capabilities, Client, Error, ErrorKind, Forge, ForgeKind, Hint, Param,
    Policy, Repo, RepoId, Result, Secret, Trust, model::Actor,
};
use futures::future::BoxFuture;

use crate::{Config, Forges, auth::Pin, config::Var};

/// Opens the backend of a repository. Also returns the repository's canonical id.
type OpenBackend =
    for<'a> fn(&'a Forges, &'a RepoId, Trust) -> BoxFuture<'a, Result<(Arc<dyn Forge>, RepoId)>>;

/// Finds the pin for a login at a host: the permanent id of the account. Arguments: host, account
/// name.
type PinLogin = for<'a> fn(&'a Forges, &'a str, &'a str) -> BoxFuture<'a, Result<Option<Pin>>>;

/// Asks a host for the account that a secret belongs to.
type SecretOwner = for<'a> fn(&'a Forges, &'a str, &'a Secret) -> BoxFuture<'a, Result<Actor>>;

/// A backend of this build.
#[derive(Clone, Copy, Debug)]
pub struct Backend {
    kind: &'static ForgeKind,
    title: &'static str,
    capabilities: &'static Capabilities,
    open: OpenBackend,
}

impl Backend {
    /// Returns the kind of forge that the backend serves.
    #[must_use]
    pub fn kind(&self) -> &'static ForgeKind {
        self.kind
    }

    /// Returns the display name.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// Returns the capabilities of the backend. A single repository may have fewer capabilities.
    #[must_use]
    pub fn capabilities(&self) -> &'static Capabilities {
        self.capabilities
    }
}

/// Returns the backends of this build, in the order of the docs.
#[must_use]
pub fn backends() -> &'static [Backend] {
    BACKENDS
}

static BACKENDS: &[Backend] = &[
    #[cfg(feature = "github")]
    Backend {
        kind: &ForgeKind::GITHUB,
        title: "GitHub",
        capabilities: &forge_github::CAPABILITIES,
        open: |forges, id, _| {
            Box::pin(async move { forges.github().open(id, forges.config(), forges.accounts()) })
        },
    },
    #[cfg(feature = "local")]
    Backend {
        kind: &ForgeKind::LOCAL,
        title: "Git repository (local)",
        capabilities: &forge_local::CAPABILITIES,
        open: |forges, id, trust| {
            Box::pin(async move {
                let forge_core::RepoPath::Dir(dir) = &id.path else {
                    return Err(Error::invalid("repo", format!("{id} is not a directory"))
                        .with_hint("name a local repository by its path, such as local:."));
                };
                let shared = forges.local();
                let local = forge_local::Local::open_shared(dir, trust, shared).await?;
                let id = local.id().clone();
                Ok((local as Arc<dyn Forge>, id))
            })
        },
    },
    #[cfg(feature = "tangled")]
    Backend {
        kind: &ForgeKind::TANGLED,
        title: "Tangled",
        capabilities: &forge_tangled::CAPABILITIES,
        open: |forges, id, _| Box::pin(async move { forges.tangled().open(forges, id) }),
    },
];

/// Properties of accounts on one kind of forge. They are known even if this build has no backend
/// for this kind.
#[derive(Clone, Copy, Debug)]
pub struct AccountShape {
    kind: &'static ForgeKind,
    account: &'static str,
    secret: &'static str,
    name_rule: fn(&str) -> Result<(), &'static str>,
    variables: fn(&str) -> Variables,
    git_origin: Option<fn(&str) -> String>,
    forget: fn(&Config, &str) -> Result<()>,
    pin: PinLogin,
    owner: Option<SecretOwner>,
    other_login: Option<OtherLogin>,
}

/// Finds the secret of another program's login at a host, for example of gh's login.
type OtherLogin = for<'a> fn(&'a Forges, &'a str) -> BoxFuture<'a, Result<Option<Secret>>>;

/// Environment variables of a credential.
pub(crate) struct Variables {
    /// Variable of the account's name; `None` if the host finds the name from the secret.
    pub account: Option<Var>,
    /// Variables of the secret. The first variable that is set is used.
    pub secret: &'static [Var],
}

impl AccountShape {
    /// Returns the label for the account's name in a prompt, such as `Login`.
    #[must_use]
    pub fn account(&self) -> &'static str {
        self.account
    }

    /// Returns the label for the secret in a prompt, such as `Token`.
    #[must_use]
    pub fn secret(&self) -> &'static str {
        self.secret
    }

    /// Returns true if the host can tell the account's name from the secret.
    #[must_use]
    pub fn is_named_by_secret(&self) -> bool {
        self.owner.is_some()
    }

    /// Returns the only URL origin, such as `https://github.com`, for which forge's credential
    /// helper gives git the secret of `host`. `None` if git cannot use the secret.
    #[must_use]
    pub fn git_origin(&self, host: &str) -> Option<String> {
        self.git_origin.map(|origin| origin(host))
    }

    /// Checks the form of an account name. The `Err` is the reason why the name is invalid.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), &'static str> {
        (self.name_rule)(name)
    }

    pub(crate) fn variables(&self, host: &str) -> Variables {
        (self.variables)(host)
    }

    /// Removes sessions and other data that were obtained with an account's secret and are outside
    /// of the store.
    ///
    /// # Errors
    /// `config` if a file cannot be removed.
    pub(crate) fn forget(&self, config: &Config, account: &str) -> Result<()> {
        (self.forget)(config, account)
    }
}

/// Returns no pin. Used for forges on which an account name never gets another owner, and for
/// backends that this build lacks.
const NO_PIN: PinLogin = |_, _, _| Box::pin(async { Ok(None) });

/// Returns the pin for a login at a host of `kind`, by the account's name.
///
/// # Errors
/// The backend's errors if the name cannot be resolved.
pub(crate) async fn pin_login(
    forges: &Forges,
    kind: &ForgeKind,
    host: &str,
    account: &str,
) -> Result<Option<Pin>> {
    match account_shape(kind) {
        Some(shape) => (shape.pin)(forges, host, account).await,
        None => Ok(None),
    }
}

/// Returns the account that `secret` belongs to at a host of `kind`. `None` on forges that check a
/// secret only when it is first used.
///
/// # Errors
/// The backend's errors: `unauthenticated` if the host refuses the secret.
pub(crate) async fn secret_owner(
    forges: &Forges,
    kind: &ForgeKind,
    host: &str,
    secret: &Secret,
) -> Result<Option<Actor>> {
    match account_shape(kind).and_then(|shape| shape.owner) {
        Some(owner) => owner(forges, host, secret).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the secret of another program's login at a host of `kind`. The secret is used if the
/// store has no account for the host.
///
/// # Errors
/// `unauthenticated` if there is a login but it cannot be read.
pub(crate) async fn other_login(
    forges: &Forges,
    kind: &ForgeKind,
    host: &str,
) -> Result<Option<Secret>> {
    match account_shape(kind).and_then(|shape| shape.other_login) {
        Some(other_login) => other_login(forges, host).await,
        None => Ok(None),
    }
}

/// Names of the kinds of forges with accounts. These are the values of `hosts.<host>.kind` and of
/// `auth login --kind`.
pub const ACCOUNT_KINDS: &[&str] = &["github", "tangled"];

/// Account properties by kind of forge.
static ACCOUNTS: &[AccountShape] = &[
    AccountShape {
        kind: &ForgeKind::GITHUB,
        account: "Login",
        secret: "Token",
        name_rule: |_| Ok(()),
        // As in gh, `GH_TOKEN` is sent only to GitHub's own hosts.
        variables: |host| Variables {
            account: None,
            secret: if host == "github.com"
                || host == "github.localhost"
                || host.ends_with(".ghe.com")
            {
                &[Var::GhToken, Var::GithubToken]
            } else {
                &[Var::GhEnterpriseToken, Var::GithubEnterpriseToken]
            },
        },
        git_origin: Some(|host| {
            // As in gh, `github.localhost` is a development server without TLS.
            let scheme = match host {
                "github.localhost" => "http",
                _ => "https",
            };
            format!("{scheme}://{host}")
        }),
        forget: |_, _| Ok(()),
        pin: NO_PIN,
        #[cfg(feature = "github")]
        owner: Some(crate::github::token_owner),
        #[cfg(not(feature = "github"))]
        owner: None,
        #[cfg(feature = "github")]
        other_login: Some(crate::github::gh_login),
        #[cfg(not(feature = "github"))]
        other_login: None,
    },
    AccountShape {
        kind: &ForgeKind::TANGLED,
        account: "Handle",
        secret: "App password",
        name_rule: |name| match name.contains(['.', ':']) {
            true => Ok(()),
            false => Err("on tangled an account is a handle with a dot, or a DID"),
        },
        variables: |_| Variables {
            account: Some(Var::TangledHandle),
            secret: &[Var::TangledPassword],
        },
        git_origin: None,
        #[cfg(feature = "tangled")]
        forget: crate::tangled::forget_sessions,
        #[cfg(not(feature = "tangled"))]
        forget: |_, _| Ok(()),
        #[cfg(feature = "tangled")]
        pin: |forges, host, account| Box::pin(forges.tangled().pin_login(forges, host, account)),
        #[cfg(not(feature = "tangled"))]
        pin: NO_PIN,
        owner: None,
        other_login: None,
    },
];

/// Returns the account properties of `kind`; `None` for a kind without accounts.
#[must_use]
pub fn account_shape(kind: &ForgeKind) -> Option<&'static AccountShape> {
    ACCOUNTS.iter().find(|shape| shape.kind == kind)
}

/// Opens `id` with the backend of its kind.
pub(crate) async fn open(forges: &Forges, id: &RepoId, policy: Policy) -> Result<Repo> {
    let built_in = BACKENDS.iter().find(|b| *b.kind == id.kind);
    let (forge, id) = match (built_in, forges.external(&id.kind)) {
        (Some(backend), _) => (backend.open)(forges, id, policy.trust).await?,
        (None, Some(external)) => external.open(id, policy.trust).await?,
        (None, None) => return Err(no_backend(&id.kind, &id.to_string())),
    };
    Ok(Client::new(forge, policy).repo(id))
}

/// Tangled's own host.
#[cfg(feature = "tangled")]
pub(crate) const TANGLED_HOST: &str = "tangled.org";

/// Returns the tangled host for a repository that is known only by its DID: the default host if
/// this is a tangled host, otherwise tangled.org.
#[cfg(feature = "tangled")]
pub(crate) fn tangled_host(forges: &Forges) -> &str {
    let host = forges.hosts().default_host();
    if forges.hosts().kind_of(host) == Some(ForgeKind::TANGLED) {
        host
    } else {
        TANGLED_HOST
    }
}

/// Opens the repository of a pull request from the at-uri of its record.
#[cfg(feature = "tangled")]
pub(crate) async fn open_record(
    forges: &Forges,
    uri: &AtUri,
    policy: Policy,
) -> Result<(Repo, Option<forge_core::PrKey>)> {
    let pr = forges.tangled().pull_of_record(forges, uri).await?;
    Ok((open(forges, &pr.repo, policy).await?, Some(pr.key)))
}

/// Returns true if this build can open repositories of `kind`.
pub(crate) fn has_backend(kind: &ForgeKind) -> bool {
    BACKENDS.iter().any(|b| b.kind == kind)
}

/// Recovery: repeat the failed call with the repository of the current directory.
pub(crate) const KEEP_HERE: Action =
    Action::again(&[(Param::Repo, Arg::Set(Cow::Borrowed("local:.")))]);

fn no_backend(kind: &ForgeKind, what: &str) -> Error {
    let name = match kind.as_str() {
        "github" => "GitHub",
        "local" => "repositories on this machine",
        other => other,
    };
    let have: Vec<&str> = BACKENDS.iter().map(|b| b.kind.as_str()).collect();
    let have = if have.is_empty() {
        "none".to_owned()
    } else {
        have.join(", ")
    };
    Error::new(
        ErrorKind::Config,
        format!("cannot open {what}: this build has no backend for {name} (it has: {have})"),
    )
    .with_hint(
        Hint::new("in a clone of the repository, use local pull requests of the clone")
            .with_action(KEEP_HERE),
    )
    .with_context("kind", kind.as_str())
}

/// Returns the error for a record if this build lacks the tangled backend. No other backend can
/// find the record's repository.
pub(crate) fn no_backend_for_record(uri: &AtUri) -> Error {
    no_backend(&ForgeKind::TANGLED, &uri.to_string())
}

#[cfg(test)]
mod tests {
    use forge_core::RepoPath;

    use super::*;
    use crate::{Config, config::Env};

    #[test]
    fn account_kinds_match_accounts() {
        let kinds: Vec<&str> = ACCOUNTS.iter().map(|shape| shape.kind.as_str()).collect();
        assert_eq!(kinds, ACCOUNT_KINDS);
    }

    #[tokio::test]
    async fn missing_backend_is_named() {
        let forges = Forges::from_parts(Config::without_files(Env::fixed([("HOME", "")])));
        let id = RepoId {
            kind: ForgeKind::new("my-forge").unwrap(),
            host: "code.example".to_owned(),
            path: RepoPath::Named {
                owner: "o".to_owned(),
                name: "r".to_owned(),
            },
        };
        let e = forges.open(&id, forges.policy()).await.unwrap_err();
        assert_eq!(e.code(), "config");
        let text = e.message();
        assert!(text.contains("no backend for my-forge"), "{text}");
        assert!(text.contains("local") && e.hint().is_some(), "{e:?}");
    }
}
