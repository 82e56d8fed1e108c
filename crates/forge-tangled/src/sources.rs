//! Where records by other people are found: the index; if it does not answer, an index of
//! backlinks; if that does not either, the servers of the accounts that we know of.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{Error, ErrorKind, Result, Warning};
use futures::{StreamExt as _, future, stream};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Tangled,
    records::{self, Record},
    repository::Repository,
    xrpc::Xrpc,
};

/// How many accounts are asked at once.
pub(crate) const IN_FLIGHT: usize = 8;
/// The most records of one kind about one thing that are read.
const MOST: usize = 10_000;
/// More records of one collection than an account is read for.
const ACCOUNT_MOST: usize = 20_000;

/// What was found, and how sure that is all of it.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub value: T,
    pub warnings: Vec<Warning>,
}

/// A kind of record that is about a pull request.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// The query of the index.
    pub query: &'static str,
    pub collection: String,
    /// Where the record names what it is about, as the index of backlinks writes it.
    pub path: &'static str,
    /// The same, as keys of the record.
    pub keys: &'static [&'static str],
}

#[derive(Debug, Deserialize)]
pub(crate) struct Items {
    #[serde(default)]
    pub items: Vec<Value>,
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Links {
    #[serde(default)]
    records: Vec<Link>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Link {
    did: String,
    collection: String,
    rkey: String,
}

/// Whether another source may know what this one did not say.
pub(crate) fn is_down(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Network
            | ErrorKind::Timeout { .. }
            | ErrorKind::Upstream { .. }
            | ErrorKind::RateLimited { .. }
            | ErrorKind::Protocol
            | ErrorKind::NotFound { .. }
            | ErrorKind::InvalidInput { field: None }
    )
}

fn no_answer(error: &Error) -> String {
    format!("the index does not answer: {}", error.message())
}

impl Tangled {
    pub(crate) fn index(&self) -> Xrpc {
        Xrpc::new(self.http.clone(), self.settings.index.clone())
    }

    /// All records of `kind` about `subject`.
    pub(crate) async fn about(
        &self,
        kind: &Kind,
        subject: &str,
        accounts: &BTreeSet<String>,
    ) -> Result<Found<Vec<Record>>> {
        let why = if self.settings.not_ingested(&kind.collection).is_some() {
            format!("this index does not take in {}", kind.collection)
        } else {
            match self.ask_index(kind.query, subject).await {
                Ok(value) => {
                    return Ok(Found {
                        value,
                        warnings: Vec::new(),
                    });
                }
                Err(e) if is_down(&e) => no_answer(&e),
                Err(e) => return Err(e),
            }
        };
        let source = format!("{}:{}", kind.collection, kind.path);
        if let Ok(links) = self.backlinks(subject, &source).await {
            let (value, warnings) = self.hydrate(links).await;
            let by = format!("the backlinks at {}", self.backlinks_host());
            return Ok(self.second_best(&why, value, by, warnings));
        }
        let (all, warnings) = self.in_accounts(&kind.collection, accounts).await;
        let value = all
            .into_iter()
            .filter(|r| {
                let mut at = Some(&r.value);
                for key in kind.keys {
                    at = at.and_then(|v| v.get(key));
                }
                at.and_then(Value::as_str) == Some(subject)
            })
            .collect();
        let by = format!("the servers of {} accounts", accounts.len());
        Ok(self.second_best(&why, value, by, warnings))
    }

    fn second_best<T>(
        &self,
        why: &str,
        value: T,
        by: String,
        mut warnings: Vec<Warning>,
    ) -> Found<T> {
        warnings.insert(
            0,
            Warning::new(format!("read from {by}, because {why}"))
                .with_hint("what other people wrote may be missing; try again later"),
        );
        Found { value, warnings }
    }

    pub(crate) fn backlinks_host(&self) -> &str {
        self.settings.backlinks.as_ref().map_or("", |o| o.host())
    }

    pub(crate) async fn ask_index(&self, query: &str, subject: &str) -> Result<Vec<Record>> {
        let index = self.index();
        let mut records = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut params = vec![("subject", subject), ("limit", "1000")];
            if let Some(cursor) = &cursor {
                params.push(("cursor", cursor));
            }
            let page: Items = index.query(query, &params).await?;
            let got = page.items.len();
            records.extend(
                page.items
                    .into_iter()
                    .filter_map(|item| serde_json::from_value(item).ok()),
            );
            if got == 0 || records.len() >= MOST || page.cursor.is_none() || page.cursor == cursor {
                return Ok(records);
            }
            cursor = page.cursor;
        }
    }

    /// Who links to `subject`: `<did>`, collection and key of each record.
    async fn backlinks(
        &self,
        subject: &str,
        source: &str,
    ) -> Result<Vec<(String, String, String)>> {
        let Some(origin) = &self.settings.backlinks else {
            return Err(Error::new(
                ErrorKind::Config,
                "no index of backlinks is configured",
            ));
        };
        let xrpc = Xrpc::new(self.http.clone(), origin.clone());
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut params = vec![("subject", subject), ("source", source), ("limit", "100")];
            if let Some(cursor) = &cursor {
                params.push(("cursor", cursor));
            }
            let page: Links = xrpc
                .query("blue.microcosm.links.getBacklinks", &params)
                .await?;
            let got = page.records.len();
            found.extend(
                page.records
                    .into_iter()
                    .map(|l| (l.did, l.collection, l.rkey)),
            );
            if got == 0 || found.len() >= MOST || page.cursor.is_none() || page.cursor == cursor {
                return Ok(found);
            }
            cursor = page.cursor;
        }
    }

    /// The records themselves. An account with several is read as a whole: one request for a
    /// hundred records beats a hundred requests.
    async fn hydrate(&self, links: Vec<(String, String, String)>) -> (Vec<Record>, Vec<Warning>) {
        let mut by_account: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (did, collection, rkey) in links {
            by_account
                .entry((did, collection))
                .or_default()
                .insert(rkey);
        }
        let reads = by_account
            .into_iter()
            .map(|((did, collection), keys)| async move {
                let read = async {
                    let pds = self.identities.pds(&did).await?;
                    if let (1, Some(key)) = (keys.len(), keys.first()) {
                        let found = records::find(&pds, &did, &collection, key).await?;
                        return Ok(found.into_iter().collect());
                    }
                    let (mut all, _) = records::all(&pds, &did, &collection, ACCOUNT_MOST).await?;
                    all.retain(|r| keys.contains(r.rkey()));
                    Ok::<Vec<Record>, Error>(all)
                };
                (did.clone(), read.await)
            });
        self.gather(
            stream::iter(reads)
                .buffer_unordered(IN_FLIGHT)
                .collect()
                .await,
        )
    }

    /// All records of a collection in the accounts that we know of.
    pub(crate) async fn in_accounts(
        &self,
        collection: &str,
        accounts: &BTreeSet<String>,
    ) -> (Vec<Record>, Vec<Warning>) {
        let reads = accounts.iter().cloned().map(|did| async move {
            let read = async {
                let pds = self.identities.pds(&did).await?;
                let (all, _) = records::all(&pds, &did, collection, ACCOUNT_MOST).await?;
                Ok::<Vec<Record>, Error>(all)
            };
            let read = read.await;
            (did, read)
        });
        self.gather(
            stream::iter(reads)
                .buffer_unordered(IN_FLIGHT)
                .collect()
                .await,
        )
    }

    fn gather(&self, read: Vec<(String, Result<Vec<Record>>)>) -> (Vec<Record>, Vec<Warning>) {
        let mut records = Vec::new();
        let mut warnings = Vec::new();
        for (did, result) in read {
            match result {
                Ok(found) => records.extend(found),
                Err(e) => warnings.push(Warning::new(format!(
                    "the records of {did} could not be read: {}",
                    e.message()
                ))),
            }
        }
        (records, warnings)
    }

    /// The pull requests of a repository without the index's help, and who was asked.
    pub(crate) async fn pulls_without_index(
        &self,
        repository: &Repository,
        down: &Error,
    ) -> Result<Found<Vec<Record>>> {
        let collection = &self.settings.dialects.sh.pull;
        let mut links = Vec::new();
        let mut answered = false;
        let mut subjects = vec![(repository.record.uri.as_str(), "target.repo")];
        if let Some(did) = &repository.did {
            subjects.push((did, "target.repo"));
            subjects.push((did, "target.repoDid"));
        }
        let asked = subjects.into_iter().map(|(subject, path)| async move {
            self.backlinks(subject, &format!("{collection}:{path}"))
                .await
        });
        for found in future::join_all(asked).await.into_iter().flatten() {
            answered = true;
            links.extend(found);
        }
        if answered {
            let (value, warnings) = self.hydrate(links).await;
            let by = format!("the backlinks at {}", self.backlinks_host());
            return Ok(self.second_best(&no_answer(down), value, by, warnings));
        }
        let accounts = self.known_accounts(repository, None).await;
        let (value, warnings) = self.in_accounts(collection, &accounts).await;
        let by = format!("the servers of {} accounts", accounts.len());
        Ok(self.second_best(&no_answer(down), value, by, warnings))
    }

    /// The accounts that can have said something about a repository's pull requests: its owner, its
    /// collaborators, the viewer, and the author of the one that is asked about.
    pub(crate) async fn known_accounts(
        &self,
        repository: &Repository,
        author: Option<&str>,
    ) -> BTreeSet<String> {
        let mut accounts = self.collaborators(repository).await;
        accounts.insert(repository.owner.did.clone());
        accounts.extend(author.map(str::to_owned));
        if let Ok(Some(viewer)) = self.session.viewer_if_any().await {
            accounts.insert(viewer.identity.did.clone());
        }
        accounts
    }

    /// The collaborators, by DID: from the knot, which decides; where it does not say, from the
    /// index, then from the owner's records.
    pub(crate) async fn collaborators(&self, repository: &Repository) -> BTreeSet<String> {
        let cell = self.collaborators.cell(&repository.record.uri);
        let found = cell.get_or_init(|| self.find_collaborators(repository));
        found.await.clone()
    }

    async fn find_collaborators(&self, repository: &Repository) -> BTreeSet<String> {
        let subject = repository.target();
        if let Ok(knot) = self.identities.service(repository.knot.clone()).await
            && let Ok(found) = collaborators_at(&knot, subject).await
        {
            return found;
        }
        if let Ok(found) = collaborators_at(&self.index(), subject).await {
            return found;
        }
        let owner = BTreeSet::from([repository.owner.did.clone()]);
        let (records, _) = self
            .in_accounts("sh.tangled.repo.collaborator", &owner)
            .await;
        records
            .iter()
            .filter(|r| r.text("repo").is_some_and(|t| repository.is_target(t)))
            .filter_map(|r| r.text("subject").map(str::to_owned))
            .collect()
    }
}

/// The collaborators that a service names.
pub(crate) async fn collaborators_at(xrpc: &Xrpc, subject: &str) -> Result<BTreeSet<String>> {
    let page: Items = xrpc
        .query(
            "sh.tangled.repo.listCollaborators",
            &[("subject", subject), ("limit", "1000")],
        )
        .await?;
    let subjects = page.items.iter().filter_map(|item| {
        let named = item
            .get("subject")
            .or_else(|| item.get("value")?.get("subject"));
        named.and_then(Value::as_str).map(str::to_owned)
    });
    Ok(subjects.collect())
}
