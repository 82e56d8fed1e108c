//! Reads the links between pull requests and issues. A record names other records by at-uri, in its
//! text and in a list of references. A pull request also names the pull request that it depends on.
//! Links to a record are found in the index's lists of the repository, because these lists contain
//! whole records.
//!
//! Tangled has no keywords that close an issue, and its pages do not link a bare `#7`. A merge by
//! forge closes the issues that the pull request's own record lists as references.

use std::collections::BTreeSet;

use forge_core::{
    AtUri, Error, ForgeKind, PrKey, RepoId, RepoPath, Result, Warning,
    locator::{Hosts, RecordKind},
    mentions::{MentionTarget, mentions_within_limit},
    model::{Link, LinkState, Links, Subject, SubjectKind},
};
use futures::future;
use serde_json::Value;

use crate::{
    Dialects, Era, ShFields, Tangled, comments,
    index_pager::{IndexPager, Item},
    issues::ISSUES,
    pulls::{
        number::{Numbered, PULLS},
        status::Words,
        view::unread,
    },
    records::{self, Record},
    related_records,
    repository::TangledRepository,
    sources::{TargetField, is_down},
    tickets::{self, inline, markdown},
};

/// Number of rows in one request for an index's list. At most [`MAX_LINK_ROWS`] rows are read.
const PAGE: usize = 1_000;
const MAX_LINK_ROWS: usize = 5_000;
/// Maximum number of web pages that are requested to find the records of pull requests and issues
/// that a text names by number.
const PAGES: usize = 10;

/// A pull request or an issue, with the facts from its own record.
struct Ticket {
    kind: SubjectKind,
    title: Option<String>,
    body: String,
    record: Record,
    state: Option<LinkState>,
}

impl Ticket {
    /// Creates a ticket from a record; `[title, body]` are the names of its fields.
    fn new(
        kind: SubjectKind,
        record: Record,
        state: Option<LinkState>,
        [title, body]: [&str; 2],
        names: &Dialects,
    ) -> Self {
        let text = |field| markdown(&record.value, field, names).map(str::to_owned);
        Self {
            kind,
            title: text(title),
            body: text(body).unwrap_or_default(),
            record,
            state,
        }
    }

    fn uri(&self) -> &str {
        &self.record.uri
    }

    fn link(&self, repository: &TangledRepository) -> Link {
        let key = PrKey::Record(self.record.uri.clone());
        let mut link = Link::bare(Some(self.kind), Some(repository.id.clone()), key);
        link.title.clone_from(&self.title);
        link.state = self.state;
        link
    }

    fn body(&self) -> &str {
        &self.body
    }

    fn depends_on(&self, fields: &ShFields) -> Option<&str> {
        self.record.text(&fields.depends_on)
    }
}

/// Returns the title and body fields of records in the protocols of 2025 and 2026.
fn texts(fields: &ShFields) -> [&str; 2] {
    [&fields.title, &fields.body]
}

/// Returns the title and body fields of tickets, the records of Tangled 1.0.
fn texts_of_ticket(names: &Dialects) -> [&str; 2] {
    [&names.fields.title, &names.fields.body]
}

/// A list of the index, and the collections that contain the same records.
struct List<'a> {
    kind: SubjectKind,
    query: &'a str,
    words: Words<'a>,
    collections: [&'a str; 2],
    targets: Vec<TargetField>,
}

/// Returns the at-uris in the list of references of a record.
pub(crate) fn references<'a>(
    record: &'a Record,
    fields: &ShFields,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let listed = record.value.get(&*fields.references);
    let listed = listed.and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str)
}

/// The repository to which a text belongs. Mentions in the text are compared with its names.
struct Home {
    id: RepoId,
    /// Comparison keys of all names of this repository.
    names: BTreeSet<String>,
    hosts: Hosts,
}

/// Records, pages and repositories that texts and records name.
#[derive(Default)]
struct Mentioned {
    records: Vec<AtUri>,
    /// Web pages of pull requests and issues of this repository, by number.
    pages: Vec<(SubjectKind, u64)>,
    /// Links to other repositories and hosts.
    others: Vec<Link>,
}

impl Tangled {
    /// See [`forge_core::Issues::links`].
    pub(crate) async fn links_of(&self, subject: &Subject) -> Result<Links> {
        let (repository, own, number) = match subject {
            Subject::Pull(id) => {
                let found = self.locate(id).await?;
                (found.repository, found.pull.record, found.number)
            }
            Subject::Issue(id) => {
                let found = self.locate_issue(id).await?;
                (found.repository, found.issue.record, found.number)
            }
        };
        let names = &self.settings.dialects;
        let fields = self.fields();
        let texts = match repository.era {
            Era::Org10 => texts_of_ticket(names),
            Era::Sh2025 | Era::Sh2026 => texts(fields),
        };
        let own = Ticket::new(subject.kind(), own, None, texts, names);
        let mut links = Links::default();
        links.warnings.extend(repository.doubt());
        let (said, others) = future::join(
            self.list_comments_about(&repository, &own.record),
            self.tickets_of(&repository),
        )
        .await;
        let said = said.unwrap_or_else(|e| {
            links.warnings.push(unread("the comments", &e));
            (Vec::new(), Vec::new())
        });
        links.warnings.extend(said.1);
        let (others, warnings) = others;
        links.warnings.extend(warnings);

        let at = |uri: &str| match others.iter().find(|other| other.uri() == uri) {
            Some(other) => Some(other.link(&repository)),
            None => Some(MentionTarget::Record(AtUri::parse(uri).ok()?).link(&repository.id)),
        };
        let home = self.home(&repository);
        let mut mentioned = Mentioned::default();
        mentioned.read(
            own.body(),
            references(&own.record, fields),
            &home,
            &mut links.warnings,
        );
        for comment in &said.0 {
            let text = comments::text(&comment.value, fields).unwrap_or_default();
            mentioned.read(
                text,
                references(comment, fields),
                &home,
                &mut links.warnings,
            );
        }
        let pages = self
            .records_of_pages(&repository, &mentioned.pages, &mut links.warnings)
            .await;
        let named = mentioned.records.iter().chain(&pages);
        links.mentions = named.filter_map(|uri| at(&uri.to_string())).collect();
        links.mentions.append(&mut mentioned.others);
        links.depends_on = own.depends_on(fields).and_then(at).into_iter().collect();
        // Records of Tangled 1.0 have no list of references.
        let has_references = repository.era != Era::Org10;
        if has_references && own.kind == SubjectKind::PullRequest {
            let is_issue = |other: &&Ticket| other.kind == SubjectKind::Issue;
            let listed = references(&own.record, fields)
                .filter_map(|uri| others.iter().filter(is_issue).find(|it| it.uri() == uri));
            links.closes = listed.map(|issue| issue.link(&repository)).collect();
        }

        let mut by_pages = 0;
        for other in others.iter().filter(|other| other.uri() != own.uri()) {
            if other.depends_on(fields) == Some(own.uri()) {
                links.needed_by.push(other.link(&repository));
                continue;
            }
            let is_closing = has_references
                && own.kind == SubjectKind::Issue
                && other.kind == SubjectKind::PullRequest
                && references(&other.record, fields).any(|uri| uri == own.uri());
            if is_closing {
                links.closed_by.push(other.link(&repository));
                continue;
            }
            let mut mentioned = Mentioned::default();
            mentioned.read(
                other.body(),
                references(&other.record, fields),
                &home,
                &mut links.warnings,
            );
            let by_uri = mentioned
                .records
                .iter()
                .any(|uri| uri.to_string() == own.uri());
            let by_page = number.is_some_and(|n| mentioned.pages.contains(&(own.kind, n)));
            let names_page = mentioned.pages.iter().any(|(kind, _)| *kind == own.kind);
            if by_uri || by_page {
                links.mentioned_by.push(other.link(&repository));
            } else if number.is_none() && names_page {
                by_pages += 1;
            }
        }
        if by_pages > 0 {
            let told = format!(
                "{by_pages} more record(s) link to numbered pages of this repository; whether \
                 they mean this record is unknown, because the record has no number"
            );
            let hint = "pass the page number of the pull request or issue, so that these records \
                        are searched too";
            links.warnings.push(Warning::new(told).with_hint(hint));
        }
        if repository.era != Era::Org10 {
            links.warnings.push(Warning::new(
                "comments elsewhere that mention this pull request or issue are unknown, because \
                 no service of tangled lists them",
            ));
        }
        Ok(links.settled(&match subject {
            Subject::Pull(id) => Subject::Pull(forge_core::PrId {
                key: PrKey::Record(own.record.uri),
                ..id.clone()
            }),
            Subject::Issue(id) => Subject::Issue(forge_core::model::IssueId {
                key: PrKey::Record(own.record.uri),
                ..id.clone()
            }),
        }))
    }

    /// Reads the comments on a pull request or an issue.
    async fn list_comments_about(
        &self,
        repository: &TangledRepository,
        record: &Record,
    ) -> Result<(Vec<Record>, Vec<Warning>)> {
        if repository.era == Era::Org10 {
            return self.ticket_comments(repository, record).await;
        }
        let kind = related_records::comments(&self.settings.dialects);
        let accounts = self.known_accounts(repository, Some(record.author()));
        let found = self.about(&kind, &record.uri, accounts).await?;
        Ok((found.value, found.warnings))
    }

    /// Reads all pull requests and issues of the repository, newest first. Returns warnings about
    /// records that could not be read.
    async fn tickets_of(&self, repository: &TangledRepository) -> (Vec<Ticket>, Vec<Warning>) {
        if repository.era == Era::Org10 {
            return match self.tickets_in_account(repository).await {
                Ok(found) => found,
                Err(e) => (Vec::new(), vec![unread("what mentions it", &e)]),
            };
        }
        let lists = self.lists();
        let found = lists.iter().map(|list| async move {
            let found = self.indexed_or_known(repository, list).await;
            found.unwrap_or_else(|e| (Vec::new(), vec![unread(list.query, &e)]))
        });
        let (mut tickets, mut warnings) = (Vec::new(), Vec::new());
        for (found, more) in future::join_all(found).await {
            tickets.extend(found);
            for warning in more {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        (tickets, warnings)
    }

    /// See [`forge_core::Issues::listed_issues`] and [`forge_core::PullRequests::listed_pulls`].
    pub(crate) async fn listed_records(
        &self,
        repository: &TangledRepository,
        kind: SubjectKind,
        records: &[String],
    ) -> Result<BTreeSet<String>> {
        let (listed, _) = match repository.era {
            Era::Org10 => self.tickets_in_account(repository).await?,
            Era::Sh2025 | Era::Sh2026 => {
                let [pulls, issues] = self.lists();
                let list = match kind {
                    SubjectKind::PullRequest => pulls,
                    SubjectKind::Issue => issues,
                };
                self.indexed_or_known(repository, &list).await?
            }
        };
        let of_kind = listed.iter().filter(|it| it.kind == kind);
        let uris = of_kind.map(|it| it.uri().to_owned());
        Ok(uris.filter(|uri| records.contains(uri)).collect())
    }

    /// Returns the lists of pull requests and of issues.
    fn lists(&self) -> [List<'_>; 2] {
        let dialects = &self.settings.dialects;
        let (names, methods) = (&dialects.sh, &dialects.methods.index);
        [
            List {
                kind: SubjectKind::PullRequest,
                query: &methods.list_pulls,
                words: Words::of_pulls(dialects),
                collections: [&names.pull, &names.status],
                targets: related_records::targets_of_pulls(dialects),
            },
            List {
                kind: SubjectKind::Issue,
                query: &methods.list_issues,
                words: Words::of_issues(dialects),
                collections: [&names.issue, &names.issue_state],
                targets: related_records::targets_of_issues(dialects),
            },
        ]
    }

    /// Reads a list of the index; while the index is down, reads the known accounts.
    async fn indexed_or_known(
        &self,
        repository: &TangledRepository,
        list: &List<'_>,
    ) -> Result<(Vec<Ticket>, Vec<Warning>)> {
        match self.indexed(repository, list).await {
            Err(e) if is_down(&e) => Ok(self.listed_elsewhere(repository, list, &e).await),
            found => found,
        }
    }

    async fn indexed(
        &self,
        repository: &TangledRepository,
        list: &List<'_>,
    ) -> Result<(Vec<Ticket>, Vec<Warning>)> {
        let [records, states] = list.collections;
        self.check_ingested([records])?;
        // Missing states are only a warning, because the list of records is complete without them.
        let states = self.check_ingested([states]);
        let fields = &self.settings.dialects.inputs.index;
        let params = vec![(&*fields.subject, repository.target())];
        let index = self.index_or_others();
        let mut walk = IndexPager::new(index, (list.query, fields), params, None, PAGE);
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        if let Err(e) = &states {
            let told = format!(
                "the states of the linked records are unknown: {}",
                e.message()
            );
            warnings.push(Warning::new(told));
        }
        while let Some(row) = walk.next().await? {
            match Item::parse(row, "record", fields) {
                Ok(item) => {
                    let state = list.words.state_of(&item.state);
                    let state = state.filter(|_| states.is_ok()).map(LinkState::from);
                    let names = &self.settings.dialects;
                    let texts = texts(self.fields());
                    found.push(Ticket::new(list.kind, item.record, state, texts, names));
                }
                Err(e) => warnings.push(Warning::new(e.message())),
            }
            if found.len() >= MAX_LINK_ROWS {
                warnings.push(Warning::new(format!(
                    "only the newest {MAX_LINK_ROWS} rows of {} were searched for mentions",
                    list.query
                )));
                return Ok((found, warnings));
            }
        }
        warnings.extend(walk.cut());
        Ok((found, warnings))
    }

    /// As [`Self::indexed`], but from the known accounts instead of the index, and without states.
    async fn listed_elsewhere(
        &self,
        repository: &TangledRepository,
        list: &List<'_>,
        down: &Error,
    ) -> (Vec<Ticket>, Vec<Warning>) {
        let found = self
            .without_index(repository, list.collections, &list.targets, down)
            .await;
        let is_ours = |record: &Record| {
            let target = TargetField::find(&list.targets, record);
            target.is_some_and(|target| repository.is_target(target))
        };
        let names = &self.settings.dialects;
        let records = found.records.into_iter().filter(is_ours);
        let texts = texts(self.fields());
        let tickets = records.map(|record| Ticket::new(list.kind, record, None, texts, names));
        (tickets.collect(), found.warnings)
    }

    async fn tickets_in_account(
        &self,
        repository: &TangledRepository,
    ) -> Result<(Vec<Ticket>, Vec<Warning>)> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let listed =
            records::all(&knot, did, &names.org.issue, tickets::MAX_TICKET_RECORDS).await?;
        let tickets = listed.records.into_iter().map(|record| {
            let kind = match record.text(&names.fields.target_branch) {
                Some(_) => SubjectKind::PullRequest,
                None => SubjectKind::Issue,
            };
            let state = inline(&record, names).state.map(LinkState::from);
            Ticket::new(kind, record, state, texts_of_ticket(names), names)
        });
        Ok((tickets.collect(), listed.warnings))
    }

    /// Returns the records that numbered web pages of this repository show. Skips pages that do not
    /// exist.
    async fn records_of_pages(
        &self,
        repository: &TangledRepository,
        pages: &[(SubjectKind, u64)],
        warnings: &mut Vec<Warning>,
    ) -> Vec<AtUri> {
        if pages.len() > PAGES {
            warnings.push(Warning::new(format!(
                "{} pages are mentioned; the first {PAGES} were looked up",
                pages.len()
            )));
        }
        let names = self.settings.dialects.of(repository.era);
        let lookups = pages.iter().take(PAGES).map(|(kind, number)| {
            let (of, collection): (&Numbered, _) = match kind {
                SubjectKind::PullRequest => (&PULLS, &names.pull),
                SubjectKind::Issue => (&ISSUES, &names.issue),
            };
            self.web_record(repository, of, *number, collection)
        });
        let mut found = Vec::new();
        for record in future::join_all(lookups).await {
            match record {
                Ok(uri) => found.push(uri),
                Err(e) if e.is_not_found() => {}
                Err(e) => warnings.push(unread("a page that it mentions", &e)),
            }
        }
        found
    }

    fn home(&self, repository: &TangledRepository) -> Home {
        let key = |host: &str, path: RepoPath| {
            let id = RepoId {
                kind: ForgeKind::TANGLED,
                host: host.to_owned(),
                path,
            };
            id.comparison_key()
        };
        let host = &self.settings.host;
        let named = |owner: &str| {
            let path = RepoPath::Named {
                owner: owner.to_owned(),
                name: repository.name.clone(),
            };
            key(host, path)
        };
        let names = [
            repository.id.comparison_key(),
            named(repository.owner.name()),
            named(&repository.owner.did),
        ];
        // A DID is global, so a text can name it without a host.
        let did = repository.did.iter().flat_map(|did| {
            let path = || RepoPath::Did(did.clone());
            [key("", path()), key(host, path())]
        });
        Home {
            id: repository.id.clone(),
            names: names.into_iter().chain(did).collect(),
            hosts: self.text_hosts(),
        }
    }

    /// Returns the hosts that a text of this host can name.
    pub(crate) fn text_hosts(&self) -> Hosts {
        let host = &self.settings.host;
        let hosts = self.settings.dialects.in_locators(Hosts::builtin());
        hosts.with(host, ForgeKind::TANGLED).with_default_host(host)
    }
}

impl Mentioned {
    /// Adds the mentions in a text and in the references of its record.
    fn read<'a>(
        &mut self,
        text: &str,
        references: impl Iterator<Item = &'a str>,
        home: &Home,
        warnings: &mut Vec<Warning>,
    ) {
        let is_own = |repo: &RepoId| home.names.contains(&repo.comparison_key());
        let mut page = |kind, key: &PrKey| {
            if let PrKey::Number(number) = key
                && !self.pages.contains(&(kind, *number))
            {
                self.pages.push((kind, *number));
            }
        };
        for mention in mentions_within_limit(text, &home.hosts, warnings) {
            match mention.named {
                MentionTarget::Number(_) => {}
                MentionTarget::InRepo(repo, _) if is_own(&repo) => {}
                MentionTarget::Pull(id) if is_own(&id.repo) => {
                    page(SubjectKind::PullRequest, &id.key)
                }
                MentionTarget::Issue(id) if is_own(&id.repo) => page(SubjectKind::Issue, &id.key),
                MentionTarget::Record(uri) => self.records.push(uri),
                elsewhere => self.others.push(elsewhere.link(&home.id)),
            }
        }
        let is_ticket = |uri: &AtUri| {
            let records = home.hosts.records_of(&uri.collection);
            records == Some(RecordKind::Ticket)
        };
        let references = references.filter_map(|uri| AtUri::parse(uri).ok());
        self.records.extend(references.filter(is_ticket));
    }
}
