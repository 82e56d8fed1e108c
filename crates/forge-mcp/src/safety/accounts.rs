//! Whose records are read where a list is in force.
//!
//! An at-uri names an account, and to read the record that account is looked up first: a handle and a
//! `did:web` at a host of that very name. A caller who may choose it sends the server wherever it
//! likes, whatever the list of repositories says. So only an account is looked up that the allowed
//! repository names itself: its owner, the server's own account, or an author in its list of pull
//! requests, which comes from the index.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};

use forge_core::{
    Action, AtUri, Error, ErrorKind, Hint, Op, PageReq, PrId, PrKey, Repo, RepoId, RepoPath,
    Result,
    model::{PrFields, PullQuery, PullRequest, StateFilter},
};

use super::gate::Gate;

/// How many pages of a repository's list are looked through for an author.
const PAGES: usize = 20;

/// How many accounts are remembered of all repositories together.
const REMEMBERED: usize = 20_000;

/// By repository, the accounts that are known to have to do with it, by handle and by DID.
#[derive(Debug, Default)]
pub(crate) struct Accounts(Mutex<HashMap<String, BTreeSet<String>>>);

impl Accounts {
    /// Remembers whose a pull request is.
    pub fn learn(&self, pull: &PullRequest) {
        self.add(&pull.id.repo, names(pull));
    }

    /// Refuses a record of somebody who has nothing to do with `repo`, as far as that can be known
    /// without asking anybody but the repository's own forge.
    ///
    /// # Errors
    /// `permission_denied`; why the forge could not be asked.
    pub async fn vouch(&self, gate: &Gate, repo: &Repo, uri: &AtUri) -> Result<()> {
        let who = uri.authority.as_str();
        let (id, key) = (repo.id(), repo.id().comparison_key());
        let ids = gate.names(repo).await?;
        if self.has(&key, who) || ids.iter().chain([id]).any(|id| owns(id, who)) {
            return Ok(());
        }
        if let Ok(viewer) = repo.viewer().await {
            self.add(id, [viewer.login, viewer.id].into_iter());
        }
        let query = PullQuery {
            state: StateFilter::All,
            fields: PrFields::ROW,
            ..PullQuery::default()
        };
        let limit = repo.client().forge().capabilities().limits.page_max;
        let limit = limit.clamp(1, 100);
        let mut page = PageReq::first(limit);
        for _ in 0..PAGES {
            if self.has(&key, who) {
                return Ok(());
            }
            let found = repo.list(&query, page).await?;
            self.add(id, found.items.iter().flat_map(names));
            match found.next {
                Some(next) => page = PageReq::after(next, limit),
                None => break,
            }
        }
        match self.has(&key, who) {
            true => Ok(()),
            false => Err(stranger(repo.id(), uri)),
        }
    }

    fn has(&self, key: &str, who: &str) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(key)
            .is_some_and(|known| known.contains(&plain(who)))
    }

    fn add(&self, repo: &RepoId, names: impl Iterator<Item = String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.values().map(BTreeSet::len).sum::<usize>() >= REMEMBERED {
            all.clear();
        }
        let known = all.entry(repo.comparison_key()).or_default();
        known.extend(names.filter(|n| !n.is_empty()).map(|n| plain(&n)));
    }
}

/// A handle in any case is the same; of a DID the case counts.
fn plain(name: &str) -> String {
    match name.starts_with("did:") {
        true => name.to_owned(),
        false => name.to_ascii_lowercase(),
    }
}

/// What the author of a pull request is called.
fn names(pull: &PullRequest) -> impl Iterator<Item = String> + use<> {
    let holder = match &pull.id {
        PrId {
            key: PrKey::Record(uri),
            ..
        } => AtUri::parse(uri).ok().map(|uri| uri.authority),
        _ => None,
    };
    let author = &pull.author;
    [holder, Some(author.login.clone()), Some(author.id.clone())]
        .into_iter()
        .flatten()
}

/// Whether a repository is in this account, or is the account itself.
fn owns(id: &RepoId, who: &str) -> bool {
    let own = match &id.path {
        RepoPath::Named { owner, .. } => owner,
        RepoPath::Did(did) => did,
        RepoPath::Record(uri) => &uri.authority,
        RepoPath::Dir(_) => return false,
    };
    plain(own) == plain(who)
}

fn stranger(repo: &RepoId, uri: &AtUri) -> Error {
    let who = &uri.authority;
    Error::new(
        ErrorKind::PermissionDenied {
            missing: vec!["--allow-repo".to_owned()],
            sso_url: None,
        },
        format!(
            "{who} has no pull request in {repo}, and this server looks up nobody else: \
             {uri} is not read"
        ),
    )
    .with_hint(Hint::fixed(
        "pass the number or the at-uri that the list of this repository has",
        Action::op(Op::PrList),
    ))
}
