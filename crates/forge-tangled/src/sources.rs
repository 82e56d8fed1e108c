//! Finds records by other people, such as comments on a pull request (their subject). The first
//! source that answers is used: the index, then an index of backlinks (which lists the records that
//! link to a record), then the servers of the known accounts.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::pin,
};

use forge_core::{Error, ErrorKind, Result, Warning, call, text::one_line};
use futures::{StreamExt as _, future, stream};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Era, IndexFields, Tangled,
    hints::from_start,
    json_field::OptionalField,
    malformed::Skipped,
    page_trail::{NextPage, PageTrail},
    part_window::PartWindow,
    read_limits::{self, Budget},
    records::{self, Listing, PAGE, Record},
    related_records::named_repository,
    repository::{LISTS_COLLABORATORS, TangledRepository},
    xrpc::Xrpc,
    xrpc_error,
};

/// Maximum number of concurrent requests to a host.
pub(crate) const IN_FLIGHT: usize = 8;
/// Maximum number of accounts that are read at once. It exceeds [`IN_FLIGHT`], because the servers
/// of some accounts answer while the directory still resolves others.
const ACCOUNTS: usize = 3 * IN_FLIGHT;
/// Maximum number of records of one kind that are read about one subject.
pub(crate) const MAX_SUBJECT_RECORDS: usize = 10_000;
/// Maximum number of pages of a list of an index or of the backlinks.
pub(crate) const MAX_PAGES: usize = 1_000;
/// Maximum number of pages of a knot's list of collaborators. A page has up to a thousand.
const MAX_COLLABORATOR_PAGES: usize = 20;
/// Maximum number of records about collaborators that are read of a Tangled 1.0 repository.
const MAX_COLLABORATORS: usize = 2_000;
/// Maximum number of accounts whose names are looked up at once.
const NAMES: usize = 8 * IN_FLIGHT;
/// Maximum number of accounts that a request or a list of warnings names.
const MAX_NAMED_ACCOUNTS: usize = 50;
/// Maximum size of a record about a subject. The limit keeps a few long records of a stranger from
/// displacing the other records.
const ABOUT_MAX: usize = 256 * 1024;
/// Maximum number of records of one collection that are read from an account.
pub(crate) const MAX_ACCOUNT_RECORDS: usize = 20_000;

/// Accounts other than the owner that may push to a repository.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pushers {
    /// The DIDs of the accounts.
    pub accounts: BTreeSet<String>,
    /// Warning if the knot, which decides who may push, did not answer.
    pub doubt: Option<Warning>,
}

impl Pushers {
    /// Approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        let accounts = self.accounts.iter();
        accounts.map(|did| size_of::<String>() + did.len()).sum()
    }
}

/// Records that were found, and warnings about their completeness.
#[derive(Debug, Default)]
pub(crate) struct Sourced<T> {
    pub value: T,
    pub warnings: Vec<Warning>,
    /// True if there may be records of other people that were not read.
    pub is_cut: bool,
}

/// The records of a repository that were found without the index.
#[derive(Debug)]
pub(crate) struct FallbackListing {
    /// Pull requests, or issues.
    pub records: Vec<Record>,
    /// Status records of these pull requests or issues.
    pub statuses: Vec<Record>,
    pub warnings: Vec<Warning>,
    /// Name of the service that answered.
    pub source: String,
    /// True if every source was read completely.
    pub is_all: bool,
}

/// A kind of record that is about a pull request or an issue, its subject.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub query: String,
    pub collection: String,
    /// Path of the field with the subject's at-uri, as a list of keys.
    pub path: Vec<String>,
    /// Earlier collections of records with the same meaning. An index returns their records
    /// together with those of `collection`.
    pub older: Vec<Older>,
}

/// An older collection, whose records are about one kind of subject: pull requests or issues.
#[derive(Clone, Debug)]
pub(crate) struct Older {
    pub collection: String,
    /// Collection of the subjects: that of pull requests or that of issues.
    pub of: String,
    /// The field that names the subject.
    pub field: String,
}

/// A field in which records name their repository.
#[derive(Clone, Debug)]
pub(crate) struct TargetField {
    /// The path of the field, as an index of backlinks writes it.
    pub path: String,
    /// True if the field of some records holds the at-uri of the repository's record.
    pub held_uri: bool,
    /// True if the field of some records holds the repository's DID.
    pub held_did: bool,
}

impl TargetField {
    /// Returns the value of the field in a record.
    pub fn of<'a>(&self, record: &'a Record) -> Option<&'a str> {
        let keys: Vec<&str> = self.path.split('.').collect();
        record.text_at(&keys)
    }

    /// Returns the repository that a record names: its DID if one of the fields `all` has it.
    pub fn find<'a>(all: &[Self], record: &'a Record) -> Option<&'a str> {
        let named: Vec<&str> = all.iter().filter_map(|field| field.of(record)).collect();
        let did = named.iter().find(|name| name.starts_with("did:"));
        did.or(named.first()).copied()
    }
}

impl Kind {
    /// Returns the older collection whose records can be about `subject`.
    fn find_older(&self, subject: &str) -> Option<&Older> {
        let collection = subject.split('/').nth(3)?;
        self.older.iter().find(|older| older.of == collection)
    }

    /// Returns the subject of a record.
    pub fn subject<'a>(&self, record: &'a Record) -> Option<&'a str> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        record.text_at(&path)
    }

    fn is_about(&self, record: &Record, subject: &str) -> bool {
        self.subject(record) == Some(subject)
    }
}

/// Records of a collection that were read from the servers of some accounts.
#[derive(Debug)]
pub(crate) struct Fresh {
    collection: String,
    /// Accounts that were read completely. If an index shows a record of these accounts that is not
    /// in `records`, the record was deleted.
    accounts: BTreeSet<String>,
    records: Vec<Record>,
}

impl Fresh {
    /// Applies [`Self::overlay`] to a successful answer of an index.
    pub fn overlay_found(
        self,
        found: Result<Sourced<Vec<Record>>>,
    ) -> Result<Sourced<Vec<Record>>> {
        found.map(|found| Sourced {
            value: self.overlay(found.value),
            ..found
        })
    }

    /// Replaces the index's records of the accounts by the accounts' own records.
    pub fn overlay(self, mut indexed: Vec<Record>) -> Vec<Record> {
        let collection = format!("/{}/", self.collection);
        let replaced = |r: &Record| {
            let gone = r.uri.contains(&collection) && self.accounts.contains(r.author());
            gone || self.records.iter().any(|own| own.uri == r.uri)
        };
        indexed.retain(|r| !replaced(r));
        indexed.extend(self.records);
        indexed
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Items {
    pub items: Vec<Value>,
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Links {
    records: Vec<Link>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Linking {
    #[serde(default)]
    total: Option<u64>,
    linking_dids: Vec<String>,
    #[serde(default)]
    cursor: Option<String>,
}

/// Records that link to a subject, and a warning if some are missing.
struct Linked<T> {
    found: T,
    cut: Option<Warning>,
}

#[derive(Clone, Debug, Deserialize)]
struct Link {
    did: String,
    collection: String,
    rkey: String,
}

/// Returns true if, after this error, another source may still have the records.
pub(crate) fn is_down(error: &Error) -> bool {
    // If the answers to this command have reached their total size limit, another source's answer
    // would not be read.
    !xrpc_error::is_spent(error)
        && matches!(
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
    /// Returns the name of the index, as the source of an answer.
    pub(crate) fn index_name(&self) -> String {
        format!("the index at {}", self.settings.index.host())
    }

    pub(crate) fn index(&self) -> Xrpc {
        self.identities.configured(self.settings.index.clone())
    }

    /// Returns the index for a query that another source can answer too. Such a query has only one
    /// retry while the index is down.
    pub(crate) fn index_or_others(&self) -> Xrpc {
        let index = self.index();
        match self.settings.backlinks {
            Some(_) => index.asked_twice(),
            None => index,
        }
    }

    /// Fails if this index does not ingest one of the collections, because its records may then be
    /// incomplete. The error is that of an index that is down, so that callers use another source.
    pub(crate) fn check_ingested<const N: usize>(&self, collections: [&str; N]) -> Result<()> {
        let mut names = collections.into_iter();
        match names.find(|name| self.settings.ingested.lacks(name)) {
            None => Ok(()),
            Some(name) => {
                let why = format!("this index does not ingest {name}");
                Err(Error::new(ErrorKind::Network, why).with_hint(from_start()))
            }
        }
    }

    /// Reads all records of `kind` about `subject`. `accounts` are determined and read only if no
    /// index answers.
    pub(crate) async fn about(
        &self,
        kind: &Kind,
        subject: &str,
        accounts: impl Future<Output = BTreeSet<String>>,
    ) -> Result<Sourced<Vec<Record>>> {
        self.about_by(kind, subject, accounts, false).await
    }

    /// As [`Self::about`]. With `only_accounts`, records of other accounts do not count, so no
    /// server of another account is asked for them.
    pub(crate) async fn about_by(
        &self,
        kind: &Kind,
        subject: &str,
        accounts: impl Future<Output = BTreeSet<String>>,
        only_accounts: bool,
    ) -> Result<Sourced<Vec<Record>>> {
        let why = match self.check_ingested([&kind.collection]) {
            Err(e) => e.message().to_owned(),
            Ok(()) => match self.ask_index(&kind.query, subject).await {
                Ok(listing) => {
                    return Ok(Sourced {
                        value: listing.records,
                        warnings: listing.warnings,
                        is_cut: listing.is_cut,
                    });
                }
                Err(e) if is_down(&e) => no_answer(&e),
                Err(e) => return Err(e),
            },
        };
        let older = kind.find_older(subject);
        let (accounts, linked) = if only_accounts {
            let accounts = accounts.await;
            let linked = self.linked(kind, older, subject, Some(&accounts)).await;
            (future::Either::Left(future::ready(accounts)), linked)
        } else {
            let linked = self.linked(kind, older, subject, None).await;
            (future::Either::Right(accounts), linked)
        };
        if let Ok(links) = linked {
            let mut found = self.hydrate(links.found).await;
            found.warnings.extend(links.cut);
            let by = format!("the backlinks at {}", self.backlinks_host());
            return Ok(self.second_best(&why, found, by));
        }
        let accounts = accounts.await;
        let found = match older {
            None => {
                let about = |r: &Record| kind.is_about(r, subject);
                let names = [kind.collection.as_str()];
                let [found] = self.list_in_accounts(names, &accounts, about).await;
                found
            }
            Some(older) => {
                let names = [kind.collection.as_str(), older.collection.as_str()];
                let about = |r: &Record| match r.collection() == older.collection {
                    true => r.text(&older.field) == Some(subject),
                    false => kind.is_about(r, subject),
                };
                let [mut found, mut others] = self.list_in_accounts(names, &accounts, about).await;
                found.records.append(&mut others.records);
                for warning in others.warnings {
                    if !found.warnings.contains(&warning) {
                        found.warnings.push(warning);
                    }
                }
                found
            }
        };
        let by = format!("the servers of {} accounts", accounts.len());
        Ok(self.second_best(&why, found, by))
    }

    /// Finds the records that link to `subject`, in the collection of `kind` and in `older`. With
    /// `accounts`, only those of these accounts.
    async fn linked(
        &self,
        kind: &Kind,
        older: Option<&Older>,
        subject: &str,
        accounts: Option<&BTreeSet<String>>,
    ) -> Result<Linked<Vec<(String, String, String)>>> {
        let source = format!("{}:{}", kind.collection, kind.path.join("."));
        let Some(older) = older else {
            return self.backlinks(subject, &source, accounts).await;
        };
        let before = format!("{}:{}", older.collection, older.field);
        let (mut links, more) = future::try_join(
            self.backlinks(subject, &source, accounts),
            self.backlinks(subject, &before, accounts),
        )
        .await?;
        links.found.extend(more.found);
        links.cut = links.cut.or(more.cut);
        Ok(links)
    }

    /// Builds the warning about a subject with more links than are read.
    fn cut(&self, subject: &str, why: &str) -> Warning {
        let host = self.backlinks_host();
        Warning::new(format!(
            "the backlinks at {host} have more links to {subject}, and only the first were read: \
             {why}"
        ))
    }

    fn second_best(&self, why: &str, found: Listing, by: String) -> Sourced<Vec<Record>> {
        let mut warnings = found.warnings;
        warnings.insert(
            0,
            Warning::new(format!("the records were read from {by}, because {why}"))
                .with_hint("try again later: what other people wrote may be missing"),
        );
        Sourced {
            value: found.records,
            warnings,
            is_cut: true,
        }
    }

    pub(crate) fn backlinks_host(&self) -> &str {
        self.settings.backlinks.as_ref().map_or("", |o| o.host())
    }

    pub(crate) async fn ask_index(&self, query: &str, subject: &str) -> Result<Listing> {
        let index = self.index_or_others();
        let mut records = Vec::new();
        let mut skipped = Skipped::default();
        let (mut seen, mut cursor): (usize, Option<String>) = (0, None);
        let (mut limit, mut bytes, mut is_cut) = (1_000, 0_usize, false);
        let mut trail = PageTrail::new(MAX_PAGES);
        let most = self.settings.read_limits.list;
        loop {
            let of = &*self.settings.dialects.inputs.index.subject;
            let mut params = vec![(of, subject)];
            if let Some(cursor) = &cursor {
                params.push(("cursor", cursor));
            }
            let page: Items = records::page(&index, query, &params, &mut limit).await?;
            let got = page.items.len();
            for (place, item) in page.items.into_iter().enumerate() {
                let weight = read_limits::weight(&item);
                match Record::of_entry(item) {
                    Ok(record) if weight > ABOUT_MAX => {
                        skipped.add(&record.uri, "it exceeds the size limit for records");
                    }
                    Ok(record) => {
                        bytes = bytes.saturating_add(weight);
                        if bytes > most {
                            break;
                        }
                        if trail.is_new_row(&record.uri) {
                            records.push(record);
                        }
                    }
                    Err(uri) => {
                        let place = format!("item {} of {query}", seen + place + 1);
                        skipped.add(uri.as_deref().unwrap_or(&place), "it is no record");
                    }
                }
            }
            seen = seen.saturating_add(got);
            if bytes > most {
                is_cut = true;
                skipped.add_rest(format!(
                    "{subject} has more than {} of records about it; only the first were read",
                    read_limits::human(most)
                ));
                break;
            }
            let why = match trail.next(page.cursor, got) {
                NextPage::End => break,
                NextPage::At(next) if seen < MAX_SUBJECT_RECORDS => {
                    cursor = Some(next);
                    continue;
                }
                NextPage::At(_) => format!("it has more than {MAX_SUBJECT_RECORDS} records"),
                NextPage::Cut { why, .. } => why,
            };
            is_cut = true;
            skipped.add_rest(format!(
                "the index's list of the records about {subject} was not read to its end: {why}"
            ));
            break;
        }
        Ok(Listing {
            records,
            warnings: skipped.warnings(),
            is_cut,
        })
    }

    fn backlinks_service(&self) -> Result<Xrpc> {
        match &self.settings.backlinks {
            Some(origin) => Ok(self.identities.configured(origin.clone())),
            None => Err(Error::new(
                ErrorKind::Config,
                "no index of backlinks is configured",
            )),
        }
    }

    /// Builds the warning that the backlinks service failed after it had named `read` accounts.
    fn backlinks_cut_warning(
        &self,
        subject: &str,
        read: usize,
        total: Option<u64>,
        error: &Error,
    ) -> Warning {
        let host = self.backlinks_host();
        let of = total.map_or_else(String::new, |total| format!("of {total} "));
        let why = error.message();
        Warning::new(format!(
            "the backlinks at {host} named {read} {of}accounts that link to {subject}, and then \
             failed: {why}"
        ))
        .with_hint("try again later: records of other accounts may be missing")
    }

    /// Returns the accounts that have a record with a link to `subject`. The service sends a
    /// hundred on each page (Constellation's `getBacklinkDids`). If a later page fails, returns the
    /// accounts of the earlier pages.
    async fn linking_accounts(
        &self,
        subject: &str,
        source: &str,
    ) -> Result<Linked<BTreeSet<String>>> {
        let xrpc = self.backlinks_service()?.asked_once().bounded();
        let mut found = BTreeSet::new();
        let (mut total, mut cursor): (Option<u64>, Option<String>) = (None, None);
        let mut trail = PageTrail::new(MAX_PAGES);
        loop {
            let mut params = vec![("subject", subject), ("source", source), ("limit", "100")];
            if let Some(cursor) = &cursor {
                params.push(("cursor", cursor));
            }
            let asked = xrpc.query::<Linking>("blue.microcosm.links.getBacklinkDids", &params);
            let page = match asked.await {
                Ok(page) => page,
                Err(e) if !found.is_empty() => {
                    let cut = Some(self.backlinks_cut_warning(subject, found.len(), total, &e));
                    return Ok(Linked { found, cut });
                }
                Err(e) => return Err(e),
            };
            total = page.total.or(total);
            let before = found.len();
            found.extend(page.linking_dids);
            let rows = found.len() - before;
            let why = match trail.next(page.cursor, rows) {
                NextPage::End => return Ok(Linked { found, cut: None }),
                NextPage::At(_) if rows == 0 => "a page named no further account".to_owned(),
                NextPage::At(next) if found.len() < MAX_SUBJECT_RECORDS => {
                    cursor = Some(next);
                    continue;
                }
                NextPage::At(_) => too_many_links(),
                NextPage::Cut { why, .. } => why,
            };
            let cut = Some(self.cut(subject, &why));
            return Ok(Linked { found, cut });
        }
    }

    /// Reads the backlinks of `subject`: DID, collection and key of each record that links to it.
    /// With `accounts`, the service is asked for the links of these accounts alone (`did` of
    /// Constellation's `getBacklinks`), and others are dropped.
    async fn backlinks(
        &self,
        subject: &str,
        source: &str,
        accounts: Option<&BTreeSet<String>>,
    ) -> Result<Linked<Vec<(String, String, String)>>> {
        let xrpc = self.backlinks_service()?.bounded();
        let mut found = Vec::new();
        let (mut seen, mut cursor): (usize, Option<String>) = (0, None);
        let mut trail = PageTrail::new(MAX_PAGES);
        loop {
            let mut params = vec![("subject", subject), ("source", source), ("limit", "100")];
            let few = accounts.filter(|accounts| accounts.len() <= MAX_NAMED_ACCOUNTS);
            params.extend(few.into_iter().flatten().map(|did| ("did", did.as_str())));
            if let Some(cursor) = &cursor {
                params.push(("cursor", cursor));
            }
            let page: Links = xrpc
                .query("blue.microcosm.links.getBacklinks", &params)
                .await?;
            let rows = page.records.len();
            seen = seen.saturating_add(rows);
            let counts = |link: &Link| accounts.is_none_or(|all| all.contains(&link.did));
            let links = page.records.into_iter().filter(counts);
            found.extend(links.map(|l| (l.did, l.collection, l.rkey)));
            let why = match trail.next(page.cursor, rows) {
                NextPage::At(next) if rows > 0 && seen < MAX_SUBJECT_RECORDS => {
                    cursor = Some(next);
                    continue;
                }
                NextPage::At(_) if rows > 0 => too_many_links(),
                NextPage::End | NextPage::At(_) => return Ok(Linked { found, cut: None }),
                NextPage::Cut { why, .. } => why,
            };
            let cut = Some(self.cut(subject, &why));
            return Ok(Linked { found, cut });
        }
    }

    /// Returns the keys of the records of `account` that link to `subject`, from the backlinks.
    ///
    /// # Errors
    /// Those of the service; `protocol` if it does not list all of them.
    pub(crate) async fn linked_keys(
        &self,
        kind: &Kind,
        subject: &str,
        account: &str,
    ) -> Result<BTreeSet<String>> {
        let source = format!("{}:{}", kind.collection, kind.path.join("."));
        let account = BTreeSet::from([account.to_owned()]);
        let links = self.backlinks(subject, &source, Some(&account)).await?;
        match links.cut {
            Some(cut) => Err(Error::new(ErrorKind::Protocol, cut.message)),
            None => Ok(links.found.into_iter().map(|(.., key)| key).collect()),
        }
    }

    /// Reads the linked records. If an account has several linked records, its whole collection is
    /// read, because one request then returns a hundred records.
    async fn hydrate(&self, links: Vec<(String, String, String)>) -> Listing {
        let mut by_account: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (did, collection, rkey) in links {
            by_account
                .entry((did, collection))
                .or_default()
                .insert(rkey);
        }
        let budget = &Budget::new(self.settings.read_limits.list);
        let window = &PartWindow::begin();
        let reads = by_account
            .into_iter()
            .map(|((did, collection), keys)| async move {
                let read = |pds| {
                    let (did, collection) = (&did, &collection);
                    async move { read_linked(&pds, did, collection, &keys, budget).await }
                };
                let read = self.identities.read_account(&did, window, read).await;
                (did, read)
            });
        let read: Vec<_> = stream::iter(reads)
            .buffer_unordered(ACCOUNTS)
            .collect()
            .await;
        let mut all = Listing::default();
        let mut unread = Unread::default();
        for (did, listing) in read {
            unread.gather(&mut all, &did, listing);
        }
        all.warnings.extend(unread.warning());
        all
    }

    /// Reads the records about `subject` from the accounts themselves, because an index may lack
    /// some. Reads all records of the viewer, and the newest page of each other account. The
    /// index's records of an account that cannot be read stay valid.
    pub(crate) async fn fresh<const N: usize>(
        &self,
        kinds: [&Kind; N],
        subject: &str,
        accounts: &BTreeSet<String>,
    ) -> [Fresh; N] {
        let viewer = self.session.viewer_if_any().await.ok().flatten();
        let viewer = &viewer.map(|viewer| viewer.identity.did.clone());
        let budget = &Budget::new(self.settings.read_limits.list);
        let window = &PartWindow::begin();
        let reads = accounts.iter().cloned().map(|did| async move {
            let most = match viewer.as_ref() == Some(&did) {
                true => MAX_ACCOUNT_RECORDS,
                false => PAGE,
            };
            let of_one = kinds.map(|kind| {
                let did = &did;
                let read = move |pds| async move {
                    let name = &kind.collection;
                    let about = |r: &Record| kind.is_about(r, subject);
                    records::list_matching(&pds, did, name, most, budget, about).await
                };
                async move { self.identities.read_account(did, window, read).await.ok() }
            });
            let read = future::join_all(of_one).await;
            (did, read)
        });
        let read: Vec<_> = stream::iter(reads)
            .buffer_unordered(ACCOUNTS)
            .collect()
            .await;
        let mut all = kinds.map(|kind| Fresh {
            collection: kind.collection.clone(),
            accounts: BTreeSet::new(),
            records: Vec::new(),
        });
        for (did, listings) in read {
            for (into, listing) in all.iter_mut().zip(listings) {
                let Some(listing) = listing else { continue };
                // A list that was cut or has unreadable records does not replace the index's
                // records, because the index may know more about the account.
                if listing.warnings.is_empty() {
                    into.accounts.insert(did.clone());
                }
                into.records.extend(listing.records);
            }
        }
        all
    }

    /// As [`Self::fresh`], for the viewer's account only; empty without a login.
    pub(crate) async fn fresh_of_viewer<const N: usize>(
        &self,
        kinds: [&Kind; N],
        subject: &str,
    ) -> [Fresh; N] {
        let viewer = self.session.viewer_if_any().await.ok().flatten();
        let accounts = viewer.map(|viewer| viewer.identity.did.clone());
        let accounts = accounts.into_iter().collect();
        self.fresh(kinds, subject, &accounts).await
    }

    /// Reads records of some collections from accounts, the first accounts first, and returns those
    /// that `keep` accepts.
    pub(crate) async fn list_in_accounts<'a, const N: usize>(
        &self,
        collections: [&str; N],
        accounts: impl IntoIterator<Item = &'a String>,
        keep: impl Fn(&Record) -> bool + Sync,
    ) -> [Listing; N] {
        let budget = &Budget::new(self.settings.read_limits.list);
        let keep = &keep;
        let window = &PartWindow::begin();
        let accounts: Vec<String> = accounts.into_iter().cloned().collect();
        let reads = accounts.into_iter().map(|did| async move {
            let of_one = collections.map(|name| {
                let did = &did;
                let read = move |pds| async move {
                    records::list_matching(&pds, did, name, MAX_ACCOUNT_RECORDS, budget, keep).await
                };
                self.identities.read_account(did, window, read)
            });
            let read = future::join_all(of_one).await;
            (did, read)
        });
        let read: Vec<_> = stream::iter(reads)
            .buffer_unordered(ACCOUNTS)
            .collect()
            .await;
        let mut all: [Listing; N] = std::array::from_fn(|_| Listing::default());
        let mut unread: [Unread; N] = std::array::from_fn(|_| Unread::default());
        for (did, listings) in read {
            let into = all.iter_mut().zip(&mut unread);
            for ((all, unread), listing) in into.zip(listings) {
                unread.gather(all, &did, listing);
            }
        }
        for (all, unread) in all.iter_mut().zip(unread) {
            all.warnings.extend(unread.warning());
        }
        all
    }

    /// Looks up the names of accounts at once, so that the cache has them when rows are shown.
    pub(crate) async fn learn_names(&self, accounts: BTreeSet<String>) {
        let lookups = accounts.into_iter().map(|did| async move {
            self.identities.name_of(&did).await;
        });
        stream::iter(lookups)
            .buffer_unordered(NAMES)
            .collect::<()>()
            .await;
    }

    /// Looks up the names of accounts while `read` runs. The time of `read` counts for no limit of
    /// names.
    async fn with_names<T>(&self, accounts: &BTreeSet<String>, read: impl Future<Output = T>) -> T {
        let lookups = accounts.iter().cloned().map(|did| async move {
            self.identities.learn(&did).await;
        });
        let lookups = stream::iter(lookups).buffer_unordered(NAMES);
        let lookups = lookups.collect::<()>();
        match future::select(pin!(read), pin!(lookups)).await {
            future::Either::Left((read, lookups)) => {
                call::optional(self.settings.name_wait, lookups).await;
                read
            }
            future::Either::Right(((), read)) => read.await,
        }
    }

    /// Reads the pull requests or issues of a repository and their states without the index.
    /// `names` are two collections: that of the pull requests or issues, and that of their states.
    /// The fields `targets` of the first collection name the repository.
    ///
    /// The backlinks service names the accounts, a hundred for each request. Then each account is
    /// read once, as a whole.
    pub(crate) async fn without_index(
        &self,
        repository: &TangledRepository,
        names: [&str; 2],
        targets: &[TargetField],
        down: &Error,
    ) -> FallbackListing {
        let [collection, _] = names;
        let (uri, did) = (&*repository.record.uri, repository.did.as_deref());
        let mut subjects = Vec::new();
        for field in targets {
            let uri = field.held_uri.then_some(uri);
            let did = did.filter(|_| field.held_did);
            subjects.extend(uri.into_iter().chain(did).map(|name| (name, &field.path)));
        }
        let asked = subjects.into_iter().map(|(subject, path)| async move {
            let source = format!("{collection}:{path}");
            (subject, self.linking_accounts(subject, &source).await)
        });
        let (answers, known) = future::join(
            future::join_all(asked),
            self.known_accounts(repository, None),
        )
        .await;
        let answered = answers.iter().any(|(_, links)| links.is_ok());
        let mut accounts = known.clone();
        let mut cuts = Vec::new();
        for (subject, links) in answers {
            match links {
                Ok(links) => {
                    accounts.extend(links.found);
                    cuts.extend(links.cut);
                }
                Err(e) if answered => cuts.push(self.backlinks_cut_warning(subject, 0, None, &e)),
                Err(_) => {}
            }
        }
        let source = if answered {
            format!("the backlinks at {}", self.backlinks_host())
        } else {
            format!("the servers of {} accounts", accounts.len())
        };
        // A record that names no repository is kept, so that it is reported as unreadable.
        let keep = |r: &Record| {
            let is_subject = r.collection() == collection;
            let named = TargetField::find(targets, r);
            !is_subject || named.is_none_or(|it| repository.is_target(it))
        };
        // Strangers may have servers that do not answer, so they come last.
        let others = accounts.difference(&known);
        let in_order: Vec<String> = known.iter().chain(others).cloned().collect();
        let read = self.list_in_accounts(names, &in_order, keep);
        let [subjects, statuses] = self.with_names(&accounts, read).await;
        cuts.extend(statuses.warnings);
        let is_all = answered && cuts.is_empty() && subjects.warnings.is_empty();
        let why = match self.check_ingested(names) {
            Err(e) => e.message().to_owned(),
            Ok(()) => no_answer(down),
        };
        let found = self.second_best(&why, subjects, source.clone());
        let mut warnings = found.warnings;
        for warning in cuts {
            // An unreadable account gives only one warning.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        FallbackListing {
            records: found.value,
            statuses: statuses.records,
            warnings,
            source,
            is_all,
        }
    }

    /// Returns the accounts that are read for records about a repository's pull requests and
    /// issues: its owner, its collaborators, the viewer, and `author`.
    pub(crate) async fn known_accounts(
        &self,
        repository: &TangledRepository,
        author: Option<&str>,
    ) -> BTreeSet<String> {
        let mut accounts = self.collaborators(repository).await.accounts;
        accounts.insert(repository.owner.did.clone());
        accounts.extend(author.map(str::to_owned));
        if let Ok(Some(viewer)) = self.session.viewer_if_any().await {
            accounts.insert(viewer.identity.did.clone());
        }
        accounts
    }

    /// Returns the collaborators. They are the accounts on the knot's list or, without the list, in
    /// the owner's records. In Tangled 1.0, they are the accounts in records of the repository's
    /// own account.
    pub(crate) async fn collaborators(&self, repository: &TangledRepository) -> Pushers {
        let cell = self.collaborators.cell(&repository.record.uri);
        let found = cell.get_or_init(|| self.find_collaborators(repository));
        found.await.clone()
    }

    /// Reads the collaborators of a Tangled 1.0 repository. The record key of a collaborator is
    /// their DID, according to the project's description of its records. The content of such a
    /// record is not used, because it was never seen.
    async fn collaborators_of_account(&self, repository: &TangledRepository) -> Pushers {
        let read = async {
            let (knot, did) = self.account(repository).await?;
            let collection = &self.settings.dialects.org.collaborator;
            records::all(&knot, did, collection, MAX_COLLABORATORS).await
        };
        let (all, why) = match read.await {
            Ok(all) => {
                let why = all.warnings.first().map(|w| w.message.clone());
                (all.records, why)
            }
            Err(e) => (Vec::new(), Some(e.message().to_owned())),
        };
        let keys = all.iter().map(Record::rkey);
        Pushers {
            accounts: keys
                .filter(|key| key.starts_with("did:"))
                .map(str::to_owned)
                .collect(),
            doubt: why.map(|why| {
                Warning::new(format!(
                    "the collaborators of {} could not be read: {why}",
                    repository.id
                ))
                .with_hint("try again later: you may have more rights than are shown here")
            }),
        }
    }

    /// Reads the collaborators that a knot lists, without a request to another service.
    pub(crate) async fn collaborators_of_knot(
        &self,
        knot: &Xrpc,
        subject: &str,
    ) -> Result<BTreeSet<String>> {
        let names = &self.settings.dialects;
        let method = &names.methods.knot.list_collaborators;
        let asked = (&*names.inputs.knot.collaborators_of, subject);
        let knot = knot.clone().patient(self.settings.account_wait);
        collaborators_at(knot, method, asked, &names.inputs.index).await
    }

    async fn find_collaborators(&self, repository: &TangledRepository) -> Pushers {
        if repository.era == Era::Org10 {
            return self.collaborators_of_account(repository).await;
        }
        let subject = repository.target();
        let asked = async {
            let knot = self.identities.service(repository.knot().clone()).await?;
            self.collaborators_of_knot(&knot, subject).await
        };
        let doubt = |why: String| {
            Warning::new(format!(
                "the collaborators are read from the owner's records, because the knot does not \
                 list them: {why}"
            ))
            .with_hint("try again later: changes by other collaborators may be missing here")
        };
        let why = match asked.await {
            Ok(accounts) => {
                return Pushers {
                    accounts,
                    doubt: None,
                };
            }
            Err(e) => e,
        };
        // Knots of an older version lack the method, so a missing method on such a knot is no
        // reason for doubt.
        let is_old = xrpc_error::is_unknown_method(&why)
            && self
                .is_knot_without(repository.knot(), LISTS_COLLABORATORS)
                .await;
        let why = (!is_old).then(|| why.message().to_owned());
        // The index is not asked, because it lists records of any account, and it can lie.
        let owner = BTreeSet::from([repository.owner.did.clone()]);
        let fields = self.fields();
        let of_this = |r: &Record| {
            let (repo, did) = (r.text(&fields.push_repo), r.text(&fields.target_did));
            named_repository(repo, did).is_some_and(|it| repository.is_target(it))
        };
        let collection = [self.settings.dialects.sh.collaborator.as_ref()];
        let [found] = self.list_in_accounts(collection, &owner, of_this).await;
        let unread = found.warnings.first().map(|w| w.message.clone());
        let accounts = found.records.iter();
        Pushers {
            accounts: accounts
                .filter_map(|r| r.text(&fields.push_account).map(str::to_owned))
                .collect(),
            doubt: unread.or(why).map(doubt),
        }
    }
}

/// Returns an empty listing, with the warning that `record` exceeds the byte limit of a list.
fn without_room(record: &Record, pds: &Xrpc) -> Listing {
    let most = read_limits::human(pds.limits().list);
    let told = format!(
        "{} is left out: the records of the accounts read before it exceed {most}",
        one_line(&record.uri)
    );
    Listing {
        warnings: vec![Warning::new(told)],
        is_cut: true,
        ..Listing::default()
    }
}

/// Accounts whose records could not be read. The first are named, and the others counted, because
/// strangers choose their number.
#[derive(Default)]
struct Unread {
    accounts: usize,
}

impl Unread {
    /// Adds the records of an account to `all`, or the warning that they could not be read.
    fn gather(&mut self, all: &mut Listing, did: &str, read: Result<Listing>) {
        match read {
            Ok(found) => {
                all.records.extend(found.records);
                all.warnings.extend(found.warnings);
                all.is_cut |= found.is_cut;
            }
            Err(e) => {
                self.accounts += 1;
                if self.accounts <= MAX_NAMED_ACCOUNTS {
                    all.warnings.push(Warning::new(format!(
                        "the records of {did} could not be read: {}",
                        e.message()
                    )));
                }
            }
        }
    }

    fn warning(self) -> Option<Warning> {
        let more = self.accounts.checked_sub(MAX_NAMED_ACCOUNTS);
        more.filter(|more| *more > 0).map(|more| {
            Warning::new(format!(
                "the records of {more} more accounts could not be read"
            ))
        })
    }
}

fn too_many_links() -> String {
    format!("there are more than {MAX_SUBJECT_RECORDS}")
}

/// Reads the linked records `keys` of an account.
async fn read_linked(
    pds: &Xrpc,
    did: &str,
    collection: &str,
    keys: &BTreeSet<String>,
    budget: &Budget,
) -> Result<Listing> {
    if let (1, Some(key)) = (keys.len(), keys.first()) {
        let _room = budget.room_for_page().await;
        let records = match records::get(pds, did, collection, key).await {
            Ok(record) if budget.take(record.weight()) => vec![record],
            Ok(record) => return Ok(without_room(&record, pds)),
            // The record was deleted, and the backlinks still list it.
            Err(e) if xrpc_error::is_missing_record(&e) => Vec::new(),
            Err(e) => return Err(e),
        };
        return Ok(Listing {
            records,
            ..Listing::default()
        });
    }
    let keep = |r: &Record| keys.contains(r.rkey());
    records::list_matching(pds, did, collection, MAX_ACCOUNT_RECORDS, budget, keep).await
}

/// Reads the collaborators that a knot lists, with the given method and parameter.
///
/// # Errors
/// `protocol` for an answer of another form, and for an endless list, because the accounts that are
/// not read may also push.
async fn collaborators_at(
    xrpc: Xrpc,
    method: &str,
    asked: (&str, &str),
    fields: &IndexFields,
) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    let mut cursor: Option<String> = None;
    let mut trail = PageTrail::new(MAX_COLLABORATOR_PAGES);
    let xrpc = xrpc.bounded();
    loop {
        let mut params = vec![asked, ("limit", "1000")];
        params.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page: Items = xrpc.query(method, &params).await?;
        let before = all.len();
        for (place, item) in page.items.iter().enumerate() {
            let name = &*fields.collaborator;
            let named = item
                .field(name)
                .or_else(|| item.get("value")?.field(name))
                .and_then(Value::as_str);
            let Some(named) = named else {
                let why = format!("`items[{place}]`: missing field `{name}`");
                return Err(xrpc_error::garbled(xrpc.origin(), method, &why, false));
            };
            all.insert(named.to_owned());
        }
        let rows = all.len() - before;
        let why = match trail.next(page.cursor, rows) {
            NextPage::End => return Ok(all),
            // A knot may send the whole list again, with the same cursor.
            NextPage::At(_) | NextPage::Cut { .. } if rows == 0 => return Ok(all),
            NextPage::At(next) => {
                cursor = Some(next);
                continue;
            }
            NextPage::Cut { why, .. } => why,
        };
        let (_, subject) = asked;
        let message = format!("the list of the collaborators of {subject} does not end: {why}");
        return Err(Error::new(ErrorKind::Protocol, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(author: &str, key: &str, cid: &str) -> Record {
        Record {
            uri: format!("at://did:plc:{author}/sh.tangled.feed.comment/{key}"),
            cid: Some(cid.to_owned()),
            value: Value::Null,
        }
    }

    #[test]
    fn records_read_from_account_replace_indexed_records() {
        let indexed = || {
            vec![
                record("a", "1", "old"),
                record("a", "2", "old"),
                record("b", "1", "old"),
            ]
        };
        let over = |accounts: &[&str]| {
            let fresh = Fresh {
                collection: "sh.tangled.feed.comment".to_owned(),
                accounts: accounts
                    .iter()
                    .map(|did| format!("did:plc:{did}"))
                    .collect(),
                records: vec![record("a", "2", "new")],
            };
            fresh.overlay(indexed())
        };
        let of_b = record("b", "1", "old");
        let new = record("a", "2", "new");
        assert_eq!(over(&["a"]), [of_b.clone(), new.clone()]);
        assert_eq!(over(&[]), [record("a", "1", "old"), of_b, new]);
    }
}
