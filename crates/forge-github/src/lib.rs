//! Pull requests on GitHub, GitHub Enterprise Cloud and GitHub Enterprise Server.
//!
//! Nearly everything uses GitHub's GraphQL API, in the fewest requests. REST provides what GraphQL
//! lacks, such as diffs and the previous names of files. The client is octocrab, over the HTTP
//! transport of this workspace.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use forge_github::{FixedToken, GitHub};
//! # fn main() -> forge_core::Result<()> {
//! let http = forge_http::Http::new(forge_http::HttpSettings {
//!     write_pace: Some(forge_github::WRITE_PACE),
//!     ..forge_http::HttpSettings::default()
//! })?;
//! let forge = GitHub::new("github.com", http, Arc::new(FixedToken::new("ghp_…")));
//! let client = forge_core::Client::new(Arc::new(forge), forge_core::Policy::default());
//! # drop(client); Ok(())
//! # }
//! ```

use std::{fmt, num::NonZeroUsize, sync::Arc, time::Duration};

use forge_core::{
    Action, Arg, Capabilities, Error, Forge, ForgeInfo, ForgeKind, Hint, Param, PrId, PrKey,
    RepoId, Result, WebPage,
};
use forge_http::{Http, RateLimit, WritePace};
use serde_json::{Map, Value, json};

mod answered;
mod api;
mod attachments;
mod boards;
mod caps;
mod checks;
mod comment_id_cache;
mod comments;
mod decorate;
mod dismissal;
mod endpoint;
mod error;
mod examine;
mod gql;
mod hints;
mod issues;
mod labels;
mod links;
mod map;
mod mutate;
mod paged;
mod pending_review;
mod pulls;
mod renamed;
mod reply;
mod repo_file;
mod repos;
mod rerun;
mod reviews;
mod summary;
mod threads;
mod timeline;
mod token_source;
mod web;
mod weight;

pub use caps::{CAPABILITIES, SERVER_CAPABILITIES};
pub use endpoint::Endpoint;
pub use token_source::{FixedToken, TokenSource};

use api::Api;

/// GitHub's limit for writes that create content: 80 a minute (docs.github.com, REST, "Rate
/// limits").
pub const WRITE_PACE: WritePace = WritePace {
    free: 20,
    spacing: Duration::from_secs(1),
};

/// A GitHub host, with one account.
pub struct GitHub {
    api: Api,
    info: ForgeInfo,
    known: pulls::pull_cache::PullCache,
    listed: comment_id_cache::CommentIdCache,
    boards: boards::BoardCache,
    shared_rows: pulls::shared_rows::SharedRows,
    renamed: renamed::RenamedRepos,
}

impl GitHub {
    /// Creates the backend for `host`: `github.com`, `tenant.ghe.com` or a GitHub Enterprise
    /// Server. Sends no request and reads no token. `http` must be configured with [`WRITE_PACE`].
    #[must_use]
    pub fn new(host: &str, http: Http, tokens: Arc<dyn TokenSource>) -> Self {
        let host = host.to_ascii_lowercase();
        Self::at(&host, Endpoint::of_host(&host), http, tokens)
    }

    /// Like [`Self::new`], with other API addresses; for tests.
    #[must_use]
    pub fn at(host: &str, endpoint: Endpoint, http: Http, tokens: Arc<dyn TokenSource>) -> Self {
        Self {
            api: Api::new(host.to_owned(), endpoint, http, tokens),
            info: ForgeInfo::new(ForgeKind::GITHUB, host),
            known: pulls::pull_cache::PullCache::default(),
            listed: comment_id_cache::CommentIdCache::default(),
            boards: boards::BoardCache::default(),
            shared_rows: pulls::shared_rows::SharedRows::default(),
            renamed: renamed::RenamedRepos::default(),
        }
    }

    /// Uses a separate token for requests that name a project board.
    #[must_use]
    pub fn with_board_tokens(mut self, tokens: Arc<dyn TokenSource>) -> Self {
        self.api.set_board_tokens(tokens);
        self
    }

    /// Returns the ref of a pull request's head in the base repository. Anyone who can read the
    /// repository can fetch this ref, even after the head branch is deleted.
    #[must_use]
    pub fn head_ref(number: u64) -> String {
        format!("refs/pull/{number}/head")
    }

    /// Returns the URL for cloning and fetching a repository of this host over HTTP.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the repository id does not consist of owner and name.
    pub fn clone_url(&self, repo: &RepoId) -> Result<String> {
        let (owner, name) = owner_and_name(repo)?;
        Ok(format!("{}/{owner}/{name}.git", self.api.endpoint.web))
    }

    /// Returns the rate limits that the host has reported so far.
    #[must_use]
    pub fn rate_limits(&self) -> Vec<RateLimit> {
        let url = &self.api.endpoint.graphql;
        let host = url
            .split("://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        self.api.http.rate_limits(host.unwrap_or_default())
    }
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub")
            .field("host", &self.info.host)
            .finish_non_exhaustive()
    }
}

impl Forge for GitHub {
    fn info(&self) -> &ForgeInfo {
        &self.info
    }

    fn capabilities(&self) -> &'static Capabilities {
        if self.api.endpoint.uploads.is_some() {
            &CAPABILITIES
        } else {
            &SERVER_CAPABILITIES
        }
    }

    fn concurrency(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.api.http.settings().in_flight).unwrap_or(NonZeroUsize::MIN)
    }

    fn web_page(&self, repo: &RepoId, page: &WebPage<'_>) -> Option<String> {
        self.page(repo, page)
    }
}

fn owner_and_name(repo: &RepoId) -> Result<(&str, &str)> {
    repo.owner_and_name().ok_or_else(|| {
        Error::invalid("repo", format!("'{repo}' is not a repository on GitHub")).with_hint(
            Hint::new("name it as owner/repo")
                .with_action(Action::again(&[(Param::Repo, Arg::Choose)])),
        )
    })
}

fn number(pr: &PrId) -> Result<u64> {
    match &pr.key {
        // GraphQL's `Int` has 31 bits for a positive number.
        PrKey::Number(number) if i32::try_from(*number).is_ok() => Ok(*number),
        PrKey::Number(_) => Err(error::missing(pr)),
        PrKey::Record(uri) => Err(Error::invalid(
            "pr",
            format!("'{uri}' is not a pull request on GitHub"),
        )
        .with_hint("name it by its number")),
    }
}

fn repo_variables(repo: &RepoId) -> Result<Map<String, Value>> {
    let (owner, name) = owner_and_name(repo)?;
    Ok(Map::from_iter([
        ("owner".to_owned(), json!(owner)),
        ("name".to_owned(), json!(name)),
    ]))
}

fn pr_variables(pr: &PrId) -> Result<Map<String, Value>> {
    let mut variables = repo_variables(&pr.repo)?;
    variables.insert("number".to_owned(), json!(number(pr)?));
    Ok(variables)
}
