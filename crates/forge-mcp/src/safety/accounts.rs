//! Decides which accounts' records a server with an allow list may read.
//!
//! An at-uri names an account and a record. To read the record, the server first resolves the
//! account: a handle and a `did:web` are resolved at the host in the name. If callers could choose
//! any account, they could make the server call any host despite the allow list.
//!
//! The server therefore resolves an account only if the allowed repository names it: as the owner,
//! as the server's own account, or as the author of a pull request in the repository's list. The
//! list comes from tangled's appview, the server that indexes all records.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};

use forge_core::{
    Action, AtUri, Error, ErrorKind, Hint, Op, PageReq, PrId, PrKey, Repo, RepoId, RepoPath,
    Result,
    model::{PrFields, PullQuery, PullRequest, StateFilter},
};

use super::gate::AccessGate;

/// Maximum number of list pages that are searched for an author.
const MAX_PAGES: usize = 20;

/// Maximum number of remembered accounts, in all repositories together.
const MAX_ACCOUNTS: usize = 20_000;

/// The known accounts of each repository, by handle and by DID.
#[derive(Debug, Default)]
pub(crate) struct KnownAccounts(Mutex<HashMap<String, BTreeSet<String>>>);

impl KnownAccounts {
    /// Remembers the author of a pull request.
    pub fn remember_author(&self, pull: &PullRequest) {
        self.add(&pull.id.repo, names(pull));
    }

    /// Refuses a record of an account that has no known relation to `repo`. Sends requests only to
    /// the forge of that repository.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied`, or with the error of a request to the forge.
    pub async fn authorize_record(
        &self,
        gate: &AccessGate,
        repo: &Repo,
        uri: &AtUri,
    ) -> Result<()> {
        let who = uri.authority.as_str();
        let (id, key) = (repo.id(), repo.id().comparison_key());
        let ids = gate.names(repo).await?;
        if self.has(&key, who) || ids.iter().chain([id]).any(|id| owns(id, who)) {
            return Ok(());
        }
        if let Ok(viewer) = repo.viewer().await {
            self.add(id, [viewer.login, viewer.id].into_iter());
        }
        let mut query = PullQuery::default();
        query.state = StateFilter::All;
        query.fields = PrFields::ROW;
        let limit = repo.limits().page_max;
        let limit = limit.clamp(1, 100);
        let mut page = PageReq::first(limit);
        for _ in 0..MAX_PAGES {
            if self.has(&key, who) {
                return Ok(());
            }
            let found = repo.pulls(&query, page).await?;
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
        if all.values().map(BTreeSet::len).sum::<usize>() >= MAX_ACCOUNTS {
            all.clear();
        }
        let known = all.entry(repo.comparison_key()).or_default();
        known.extend(names.filter(|n| !n.is_empty()).map(|n| plain(&n)));
    }
}

/// Normalizes a name: handles are case-insensitive, DIDs are not.
fn plain(name: &str) -> String {
    match name.starts_with("did:") {
        true => name.to_owned(),
        false => name.to_ascii_lowercase(),
    }
}

/// Returns the handle and the DID of a pull request's author.
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

/// Returns true if `who` is the owner of the repository, or the repository's own DID.
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
        format!("{who} has no pull request in {repo}, so this server does not read {uri}"),
    )
    .with_hint(Hint::fixed(
        "pass the number or the at-uri that the list of this repository has",
        Action::op(Op::PrList),
    ))
}
