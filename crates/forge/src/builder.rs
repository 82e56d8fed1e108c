//! Builds [`Forges`] for a program that registers additional backends.

use std::{fmt, path::Path, sync::Arc};

use forge_core::{Error, Forge, ForgeKind, RepoId, Result, Trust, locator::Hosts};
use futures::{FutureExt as _, future::BoxFuture};

use crate::{Config, Forges, registry};

/// Opens a repository. Returns its forge and its canonical id.
type OpenRepo =
    dyn Fn(RepoId, Trust) -> BoxFuture<'static, Result<(Arc<dyn Forge>, RepoId)>> + Send + Sync;

/// A backend from outside this crate, for [`ForgesBuilder::backend`].
#[derive(Clone)]
pub struct ExternalBackend {
    kind: ForgeKind,
    hosts: Vec<String>,
    open: Arc<OpenRepo>,
}

impl ExternalBackend {
    /// Creates a backend for forges of `kind`. `open` returns the forge of a repository, and the
    /// repository's canonical id. The backend manages its own credentials.
    pub fn new<F, O>(kind: ForgeKind, open: F) -> Self
    where
        F: Fn(RepoId, Trust) -> O + Send + Sync + 'static,
        O: Future<Output = Result<(Arc<dyn Forge>, RepoId)>> + Send + 'static,
    {
        Self {
            kind,
            hosts: Vec::new(),
            open: Arc::new(move |id: RepoId, trust: Trust| open(id, trust).boxed()),
        }
    }

    /// Adds a host on which this kind of forge runs: `name` or `name:port`.
    #[must_use]
    pub fn with_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Returns the kind of forge that the backend serves.
    #[must_use]
    pub fn kind(&self) -> &ForgeKind {
        &self.kind
    }

    pub(crate) async fn open(&self, id: &RepoId, trust: Trust) -> Result<(Arc<dyn Forge>, RepoId)> {
        (self.open)(id.clone(), trust).await
    }
}

impl fmt::Debug for ExternalBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalBackend")
            .field("kind", &self.kind)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

/// Builds [`Forges`]; see [`Forges::builder`].
#[derive(Debug, Default)]
pub struct ForgesBuilder {
    config: Option<Config>,
    backends: Vec<ExternalBackend>,
}

impl ForgesBuilder {
    /// Sets the configuration. Without this call, [`Self::build`] reads the user's files, as
    /// [`Forges::load`] does.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = Some(config);
        self
    }

    /// Registers a backend for the repositories of its kind.
    #[must_use]
    pub fn backend(mut self, backend: ExternalBackend) -> Self {
        self.backends.push(backend);
        self
    }

    /// Builds the forges.
    ///
    /// # Errors
    /// `invalid_input` (field `backend`) if a kind has two backends, or if a host is already known
    /// as another kind of forge; also the errors of [`Forges::load`].
    pub fn build(self) -> Result<Forges> {
        let forges = match self.config {
            Some(config) => Forges::from_parts(config),
            None => Forges::load(Path::new("."))?,
        };
        let mut hosts = forges.hosts().clone();
        for (n, backend) in self.backends.iter().enumerate() {
            let kind = &backend.kind;
            let is_taken = self.backends.iter().take(n).any(|b| b.kind == *kind);
            if is_taken || registry::has_backend(kind) {
                let message = format!("cannot register a backend: '{kind}' has one already");
                return Err(Error::invalid("backend", message)
                    .with_hint("choose another name for the kind"));
            }
            for host in &backend.hosts {
                hosts = with_host(hosts, host, kind)?;
            }
        }
        Ok(forges.with_external(hosts, self.backends))
    }
}

/// Adds a host of `kind`. Fails if the host is already known as another kind of forge.
fn with_host(hosts: Hosts, host: &str, kind: &ForgeKind) -> Result<Hosts> {
    let host = Hosts::normalise(host)?;
    match hosts.kind_of(&host) {
        Some(known) if known != *kind => Err(Error::invalid(
            "backend",
            format!("cannot register {host} as a {kind} host: it is a {known} host"),
        )
        .with_hint("omit the host, or correct its kind in the configuration")),
        _ => Ok(hosts.with(&host, kind.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Env;

    fn backend(kind: &str) -> ExternalBackend {
        ExternalBackend::new(ForgeKind::new(kind).unwrap(), |id, _| async move {
            Err(Error::invalid("repo", format!("opened {id}")))
        })
    }

    fn builder() -> ForgesBuilder {
        Forges::builder().config(Config::without_files(Env::fixed([("HOME", "")])))
    }

    #[tokio::test]
    async fn registered_backend_opens_its_hosts() {
        let backend = backend("my-forge").with_host("Code.Example");
        let forges = builder().backend(backend).build().unwrap();
        for locator in [
            "code.example/o/r",
            "https://code.example/o/r",
            "my-forge:code.example/o/r",
        ] {
            let opened = forges.open_locator(locator, forges.policy()).await;
            let e = opened.unwrap_err();
            assert_eq!(e.message(), "opened my-forge:code.example/o/r", "{locator}");
        }
    }

    #[test]
    fn second_backend_of_a_kind_is_refused() {
        let twins = builder().backend(backend("a")).backend(backend("a"));
        let e = twins.build().unwrap_err();
        assert!(e.message().contains("'a' has one already"), "{e:?}");
        for built_in in registry::backends() {
            let twin = builder().backend(backend(built_in.kind().as_str()));
            assert_eq!(twin.build().unwrap_err().code(), "invalid_input");
        }
    }

    #[test]
    fn host_of_another_kind_is_refused() {
        let e = builder()
            .backend(backend("a").with_host("code.example"))
            .backend(backend("b").with_host("code.example"))
            .build()
            .unwrap_err();
        assert!(e.message().contains("it is a a host"), "{e:?}");
        let github = builder().backend(backend("b").with_host("github.com"));
        assert_eq!(github.build().unwrap_err().code(), "invalid_input");
    }
}
