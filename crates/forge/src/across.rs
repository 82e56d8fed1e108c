//! Lists pull requests of several repositories and forges. The hosts are queried concurrently, each
//! with one query for all its repositories. A backend without such a query lists each repository
//! separately.

use std::collections::BTreeMap;

use forge_core::{
    Action, Call, Capability, Client, Error, ErrorKind, Hint, Policy, RepoId, RepoPath, Result,
    Warning,
    locator::{self, Hosts},
    model::{PrFields, PullQuery, PullScope, PullStatus, PullsAcross},
};
use futures::future;

use crate::{Forges, auth::AccountStatus, registry};

/// Placeholder in [`Places::repos`] for the user's own repositories.
pub const MINE: &str = "@mine";

/// Maximum number of pull requests in each list of [`Forges::status_across`].
const MAX_STATUS_ROWS: usize = 100;

/// The repositories to query.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Places {
    /// Repository locators, or [`MINE`].
    pub repos: Vec<String>,
    /// Owners: `name` for an owner at the default host, or `host/name`.
    pub owners: Vec<String>,
}

/// Repositories and owners to query at one host, or one repository on this machine.
struct HostGroup {
    client: Client,
    scope: PullScope,
}

/// The groups. The key is the name of the host, or the locator of a repository on this machine.
type HostGroups = BTreeMap<String, HostGroup>;

impl Forges {
    /// Lists the pull requests that match `query` in `places`, newest first, at most `limit`.
    /// Places that could not be read are in [`PullsAcross::failed`].
    ///
    /// [`MINE`] means the repositories of the logged-in accounts.
    ///
    /// # Errors
    /// `invalid_input` for a malformed locator; `unauthenticated` for [`MINE`] without a login.
    pub async fn list_across(
        &self,
        places: &Places,
        query: &PullQuery,
        limit: usize,
        policy: &Policy,
    ) -> Result<PullsAcross> {
        let queries = std::slice::from_ref(query);
        let (groups, mut across) = self.groups(places, false, policy).await?;
        let asked: Vec<_> = groups
            .values()
            .map(|group| group.ask(queries, limit))
            .collect();
        across.lists.push(Vec::new());
        for (name, found) in groups.keys().zip(future::join_all(asked).await) {
            add(&mut across, name, found);
        }
        across.keep_newest(limit);
        Ok(across)
    }

    /// Lists the viewer's own pull requests in `places`, and the pull requests that wait for the
    /// viewer's review. Places that could not be read are returned with their errors.
    ///
    /// [`MINE`] means all pull requests that concern the logged-in accounts.
    ///
    /// # Errors
    /// The errors of [`Self::list_across`].
    pub async fn status_across(
        &self,
        places: &Places,
        fields: PrFields,
        policy: &Policy,
    ) -> Result<(PullStatus, Vec<(String, Error)>)> {
        let (groups, mut across) = self.groups(places, true, policy).await?;
        across.lists = vec![Vec::new(), Vec::new()];
        let asked: Vec<_> = groups
            .values()
            .map(|group| async move {
                let queries = group.status_queries(fields);
                group.ask(&queries, MAX_STATUS_ROWS).await
            })
            .collect();
        for (name, found) in groups.keys().zip(future::join_all(asked).await) {
            add(&mut across, name, found);
        }
        across.keep_newest(usize::MAX);
        if across.is_cut {
            let why = "there are more pull requests than are shown";
            let hint = "name fewer repositories, or list the pull requests";
            across.warnings.push(Warning::new(why).with_hint(hint));
        }
        let mut lists = across.lists.into_iter();
        let created_by = lists.next().unwrap_or_default();
        let mut status = PullStatus::new(created_by, lists.next().unwrap_or_default());
        status.warnings = across.warnings;
        Ok((status, across.failed))
    }

    /// Groups the places by host. Places that could not be opened are in [`PullsAcross::failed`].
    async fn groups(
        &self,
        places: &Places,
        is_about_viewer: bool,
        policy: &Policy,
    ) -> Result<(HostGroups, PullsAcross)> {
        let mut groups = HostGroups::new();
        let mut across = PullsAcross::default();
        let named = places.repos.iter().filter(|text| *text != MINE);
        let mut ids: Vec<RepoId> = Vec::new();
        for text in named {
            ids.push(self.target(locator::parse(text, self.hosts())?.locator)?.0);
        }
        let opened: Vec<_> = ids.iter().map(|id| self.open(id, policy.clone())).collect();
        for (id, opened) in ids.iter().zip(future::join_all(opened).await) {
            let repo = match opened {
                Ok(repo) => repo,
                Err(e) => {
                    across.failed.push((id.to_string(), e));
                    continue;
                }
            };
            let id = repo.id();
            // Each repository on this machine is a separate group.
            let name = match id.host.as_str() {
                "" => id.to_string(),
                host => host.to_owned(),
            };
            let scope = scope_of(&mut groups, &name, repo.client());
            let key = id.comparison_key();
            if scope
                .repos
                .iter()
                .all(|known| known.comparison_key() != key)
            {
                scope.repos.push(id.clone());
            }
        }
        for text in &places.owners {
            let (host, owner) = match text.split_once('/') {
                Some((host, owner)) => (host, owner),
                None => (self.hosts().default_host(), text.as_str()),
            };
            match self.client_at(host, policy).await {
                Ok(client) => scope_of(&mut groups, host, &client)
                    .owners
                    .push(owner.to_owned()),
                Err(e) => across.failed.push((text.clone(), e)),
            }
        }
        if places.repos.iter().any(|text| text == MINE) {
            for host in self.logged_in().await? {
                match self.client_at(&host, policy).await {
                    Ok(client) => {
                        let scope = scope_of(&mut groups, &host, &client);
                        match is_about_viewer {
                            true => scope.everywhere = true,
                            false => scope.owners.push("@me".to_owned()),
                        }
                    }
                    Err(e) => across.failed.push((host, e)),
                }
            }
        }
        Ok((groups, across))
    }

    /// Returns the client of a host. Sends no request.
    async fn client_at(&self, host: &str, policy: &Policy) -> Result<Client> {
        let kind = self.hosts().kind_of(host).ok_or_else(|| {
            let shown = forge_core::text::one_line(host);
            Error::invalid("owner", format!("no forge is known at '{shown}'"))
                .with_hint("name the owner alone, or after a known host, as in github.com/<owner>")
        })?;
        let path = RepoPath::Named {
            owner: String::new(),
            name: String::new(),
        };
        let id = RepoId {
            kind,
            host: host.to_owned(),
            path,
        };
        Ok(self.open(&id, policy.clone()).await?.client().clone())
    }

    /// Returns the hosts at which the user is logged in, with an account of forge or through gh.
    /// Hosts for which this build has no backend are left out.
    async fn logged_in(&self) -> Result<Vec<String>> {
        let accounts = self.accounts().status()?;
        let mut hosts: Vec<String> = accounts
            .iter()
            .filter(|account| account.active && registry::has_backend(&account.kind))
            .filter(|account| account.account.is_some() || self.is_host_of_variable(account))
            .map(|account| account.host.clone())
            .collect();
        hosts.dedup();
        for (host, kind) in self.hosts().iter() {
            // A credential from the store or the environment takes precedence over gh's login.
            if accounts.iter().any(|account| account.host == host) {
                continue;
            }
            // A login of gh that cannot be read counts as present, because its first use reports
            // the error.
            let other = registry::other_login(self, kind, host).await;
            if !matches!(other, Ok(None)) {
                hosts.push(host.to_owned());
            }
        }
        if hosts.is_empty() {
            let host = self.hosts().default_host().to_owned();
            let message =
                format!("{MINE} needs an account: the store, the environment and gh have none");
            return Err(Error::new(ErrorKind::Unauthenticated { host }, message)
                .with_hint(Hint::new("log in first").with_action(Action::new(Call::Login))));
        }
        Ok(hosts)
    }

    /// Returns true if a token variable counts as a login at the host of `account`. A variable such
    /// as `GH_TOKEN` applies to several hosts, but it counts as a login at only one of them. This
    /// is the default host or, if another kind of forge runs there, the built-in default host.
    fn is_host_of_variable(&self, account: &AccountStatus) -> bool {
        let default_host = self.hosts().default_host();
        let of_default = self.hosts().kind_of(default_host);
        account.host == default_host
            || (of_default.as_ref() != Some(&account.kind)
                && account.host == Hosts::builtin().default_host())
    }
}

impl HostGroup {
    async fn ask(&self, queries: &[PullQuery], limit: usize) -> Result<PullsAcross> {
        self.client.list_across(&self.scope, queries, limit).await
    }

    /// Returns the queries of [`Forges::status_across`]: the viewer's own pull requests and, on
    /// forges with review requests, those that wait for the viewer's review.
    fn status_queries(&self, fields: PrFields) -> Vec<PullQuery> {
        let capabilities = self.client.forge().capabilities();
        let fields = match capabilities.has(Capability::Checks) {
            true => fields,
            false => fields.without(PrFields::CHECKS),
        };
        let of = |search: &str| {
            let mut query = PullQuery::default();
            query.search = Some(search.to_owned());
            query.fields = fields;
            query
        };
        let mut queries = vec![of("author:@me")];
        if capabilities.has(Capability::PrReviewers) {
            queries.push(of("review-requested:@me"));
        }
        queries
    }
}

/// Returns the scope of the group `name`. Creates a missing group.
fn scope_of<'a>(groups: &'a mut HostGroups, name: &str, client: &Client) -> &'a mut PullScope {
    let group = groups.entry(name.to_owned()).or_insert_with(|| HostGroup {
        client: client.clone(),
        scope: PullScope::default(),
    });
    &mut group.scope
}

fn add(across: &mut PullsAcross, name: &str, found: Result<PullsAcross>) {
    match found {
        Ok(found) => across.add(found),
        Err(e) => across.failed.push((name.to_owned(), e)),
    }
}

#[cfg(test)]
#[cfg(feature = "github")]
mod tests {
    use super::*;
    use crate::{Config, config::Env};

    async fn logged_in(vars: &[(&str, &str)]) -> Result<Vec<String>> {
        let config = Config::without_files(Env::fixed(vars.iter().copied()));
        Forges::from_parts(config).logged_in().await
    }

    #[tokio::test]
    async fn token_variable_counts_as_login_at_one_host() {
        let token = ("GH_TOKEN", "gho_0canary0");
        for (default_host, wanted) in [
            ("github.com", "github.com"),
            ("github.localhost", "github.localhost"),
            ("tangled.org", "github.com"),
        ] {
            let found = logged_in(&[token, ("GH_HOST", default_host)]).await;
            assert_eq!(found.unwrap(), [wanted], "{default_host}");
        }
    }

    #[tokio::test]
    async fn gh_login_counts_unless_variable_is_set() {
        let dir = tempfile::tempdir().unwrap();
        let file = "github.com:\n    oauth_token: gho_0canary0\n    user: ada\n";
        std::fs::write(dir.path().join("hosts.yml"), file).unwrap();
        let gh = ("GH_CONFIG_DIR", dir.path().to_str().unwrap());
        assert_eq!(logged_in(&[gh]).await.unwrap(), ["github.com"]);
        let token = ("GH_TOKEN", "gho_0canary0");
        assert_eq!(logged_in(&[gh, token]).await.unwrap(), ["github.com"]);
        let e = logged_in(&[]).await.unwrap_err();
        assert_eq!(e.code(), "unauthenticated");
    }
}
