//! Lists the issues of a repository.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use forge_core::{
    Cursor, Error, ErrorKind, Op, Page, PageReq, RepoId, Result, Warning, fingerprint,
    model::{Issue, IssueFields, IssueFilter, IssueQuery, PrState},
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;

use super::{
    record::Stored,
    view::{IssueFacts, LocatedIssue},
};
use crate::{
    Era, Tangled,
    index_pager::{IndexPager, Item, PagePosition, SCAN},
    label_definitions::no_board,
    malformed,
    pulls::{
        list::{as_indexed, is_unknown_owner, knot_name, state_of_unknown_word},
        state::EffectiveState,
        status::{self, Words},
        unindexed_lists::{self, FullList, Place, Placed},
    },
    records::{self, Record},
    related_records,
    repository::TangledRepository,
    sources::{FallbackListing, IN_FLIGHT, is_down},
    tickets,
};

const SCHEME: &str = "tangled-issues";

/// An issue of a list, before the names of its accounts are looked up.
#[derive(Clone, Debug)]
pub(crate) struct IssueRow {
    issue: Stored,
    beside: IssueFacts,
}

impl Placed for IssueRow {
    fn place(&self) -> Place {
        Place {
            created_at: self.issue.created_at,
            uri: self.issue.record.uri.clone(),
        }
    }
}

/// The accounts by which a query filters, as DIDs.
struct People {
    author: Option<String>,
    assignee: Option<String>,
}

/// Issues that were found, and the number of issues that were scanned.
struct FoundIssues {
    rows: Vec<IssueRow>,
    next: Option<PagePosition>,
    /// Number of all matching issues, if known.
    total: Option<u64>,
    scanned: u64,
    /// Name of the service that the list came from.
    source: String,
    warnings: Vec<Warning>,
}

impl Tangled {
    /// See [`forge_core::Issues::issues`].
    pub(super) async fn list_issues(
        &self,
        repo: &RepoId,
        query: &IssueQuery,
        req: PageReq,
    ) -> Result<Page<Issue>> {
        no_board(query.fields.board.as_ref())?;
        let repository = self.repository(repo).await?;
        let people = futures::try_join!(
            self.did_filter(&repository, query.author.as_deref()),
            self.did_filter(&repository, query.assignee.as_deref()),
        );
        let people = match people {
            Ok((author, assignee)) => People { author, assignee },
            // An account that does not exist has written no issue, so the list is empty.
            Err(e) if is_unknown_owner(&e) => return Ok(Page::complete(Vec::new())),
            Err(e) => return Err(e),
        };
        let bound = (repository.record.uri.as_str(), query);
        if let Some(cursor) = &req.cursor
            && let Some(place) = Place::parse(cursor.position(SCHEME, &bound)?)
        {
            let down = Error::new(
                ErrorKind::Network,
                "earlier pages of this list were read without the index",
            );
            let behind = (&down, Some(place));
            return self
                .rest_of_issues(&repository, query, &people, behind, req.limit)
                .await;
        }
        let position = PagePosition::of(&req, SCHEME, &bound)?;
        let mut found = if repository.era == Era::Org10 {
            let skip = position.map_or(0, |p| p.skip);
            let all = self.issues_of_account(&repository, query, &people).await?;
            let mut found = page_of(all, skip, req.limit);
            found.warnings.extend(repository.doubt());
            found
        } else {
            let names = &self.settings.dialects.sh;
            let page = match self.check_ingested([&names.issue, &names.issue_state]) {
                Ok(()) => {
                    self.issues_of_index(&repository, query, &people, position, req.limit)
                        .await
                }
                Err(e) => Err(e),
            };
            match page {
                Ok(found) => found,
                Err(e) if is_down(&e) && req.cursor.is_none() => {
                    return self
                        .rest_of_issues(&repository, query, &people, (&e, None), req.limit)
                        .await;
                }
                Err(e) => return Err(e),
            }
        };
        if repository.era != Era::Org10 {
            found.warnings.extend(repository.doubt());
            if by_label(query, &people) {
                let missed = self.missed_by_labels(&repository).await;
                found.warnings.extend(missed);
            }
        }
        let rows = self.issue_rows(&repository, found.rows, &query.fields);
        let mut result = Page::new(rows.await);
        result.next = found.next.map(|p| Cursor::new(SCHEME, &bound, &p.text()));
        result.total = found.total;
        result.scanned = Some(found.scanned);
        result.source = Some(found.source);
        result.warnings = found.warnings;
        Ok(result)
    }

    /// Reads the page after the position `behind` while the index is down.
    ///
    /// The index is the service that lists all records. Without it, each known account is read.
    async fn rest_of_issues(
        &self,
        repository: &Arc<TangledRepository>,
        query: &IssueQuery,
        people: &People,
        (down, behind): (&Error, Option<Place>),
        limit: usize,
    ) -> Result<Page<Issue>> {
        let bound = (repository.record.uri.as_str(), query);
        let asked = fingerprint(&bound);
        let kept = behind.as_ref().and_then(|_| self.listed_issues.get(asked));
        let (whole, scanned, mut warnings) = match kept {
            Some(whole) => (whole, None, Vec::new()),
            None => {
                let (whole, scanned, warnings) = self
                    .issues_without_index(repository, query, people, down)
                    .await?;
                let whole = self.listed_issues.keep(asked, whole.unless_unread(down)?);
                (whole, Some(scanned), warnings)
            }
        };
        warnings.extend(repository.doubt());
        if by_label(query, people) {
            warnings.extend(self.missed_by_labels(repository).await);
        }
        let (rows, end) =
            unindexed_lists::page(&whole.rows, behind.as_ref(), limit, query.oldest_first);
        let mut result = Page::new(self.issue_rows(repository, rows, &query.fields).await);
        result.next = end.map(|place| Cursor::new(SCHEME, &bound, &place.to_string()));
        result.total = whole.total();
        result.scanned = scanned;
        result.source = Some(whole.source.clone());
        result.warnings = warnings;
        Ok(result)
    }

    /// Builds the issues of the rows, with the optional parts (comments, relations) that `fields`
    /// requests.
    async fn issue_rows(
        &self,
        repository: &Arc<TangledRepository>,
        rows: Vec<IssueRow>,
        fields: &IssueFields,
    ) -> Vec<Issue> {
        let is_ticket = repository.era == Era::Org10;
        let mut graph = match fields.relations && !is_ticket && !rows.is_empty() {
            true => Some(self.issue_graph(repository).await),
            false => None,
        };
        let graph_of_rows = graph.as_ref();
        let authors = rows.iter().map(|row| row.issue.author.clone());
        self.learn_names(authors.collect()).await;
        let models = rows.into_iter().map(|mut row| async move {
            if let Some(graph) = graph_of_rows {
                row.beside.warnings.retain(|w| *w != unlabelled());
                let uri = &row.issue.record.uri;
                self.label_from_graph(graph, uri, &mut row.beside).await;
            }
            let mut issue = self
                .build_issue(repository, &row.issue, None, row.beside)
                .await;
            if fields.comments && is_ticket {
                self.add_ticket_comments(repository, &row.issue, &mut issue)
                    .await;
            } else if fields.comments {
                self.add_comments(repository, &mut issue).await;
            }
            issue
        });
        let mut issues: Vec<Issue> = stream::iter(models).buffered(IN_FLIGHT).collect().await;
        if let Some(graph) = &mut graph {
            self.add_relations_to(graph, &mut issues).await;
        }
        issues
    }

    /// Reads rows from tangled's index until `limit` rows match or the list ends.
    async fn issues_of_index(
        &self,
        repository: &TangledRepository,
        query: &IssueQuery,
        people: &People,
        position: Option<PagePosition>,
        limit: usize,
    ) -> Result<FoundIssues> {
        // If the first page came from tangled's index, the next pages can come only from the index.
        let index = match position {
            Some(_) => self.index(),
            None => self.index_or_others(),
        };
        let of = &self.settings.dialects.inputs.index;
        let state = match query.state {
            IssueFilter::Open => Some(&*of.state_open),
            IssueFilter::Closed => Some(&*of.state_closed),
            IssueFilter::All => None,
        };
        let scans = by_label(query, people);
        let size = if scans { SCAN } else { limit.min(SCAN) };
        let mut params = vec![(&*of.subject, repository.target())];
        params.extend(state.map(|s| (&*of.wanted_state, s)));
        params.extend(people.author.as_deref().map(|a| (&*of.author, a)));
        let method = &self.settings.dialects.methods.index.list_issues;
        let begun = position.is_none();
        let mut walk = IndexPager::new(index, (method, of), params, position, size);
        if query.oldest_first {
            walk = walk.oldest_first();
        }
        let is_filtered = query.state == IssueFilter::Closed;
        let mark = as_indexed(is_filtered.then_some(Op::IssueList));
        let (mut rows, mut warnings) = (Vec::new(), Vec::new());
        if is_filtered {
            warnings.push(mark.clone());
        }
        let mut ended = false;
        while !ended && rows.len() < limit {
            // Takes at most the rows that the page still needs, because the next page begins after
            // the last row taken.
            let most = IN_FLIGHT.min(limit - rows.len());
            let mut some = Vec::new();
            while !ended && some.len() < most {
                let Some(item) = walk.next().await? else {
                    ended = true;
                    continue;
                };
                match self.issue_of_item(repository, item, &mark).await {
                    Ok(row) => some.push(row),
                    Err(e) => warnings.push(Warning::new(e.message())),
                }
            }
            rows.extend(self.all_wanted(repository, some, query, people).await?);
        }
        let is_cut = walk.is_cut();
        warnings.extend(walk.cut().filter(|_| is_cut || rows.len() < limit));
        let next = walk.position();
        Ok(FoundIssues {
            // tangled's index reports no total, so the total is known only if this page has all
            // rows.
            total: (begun && next.is_none() && !is_cut).then_some(rows.len() as u64),
            rows,
            next,
            scanned: walk.scanned(),
            source: self.index_name(),
            warnings,
        })
    }

    /// Builds a row from an item of tangled's index. `indexed` is the warning about its state.
    async fn issue_of_item(
        &self,
        repository: &TangledRepository,
        item: Value,
        indexed: &Warning,
    ) -> Result<IssueRow> {
        let item = Item::parse(item, "issue", &self.settings.dialects.inputs.index)?;
        let (word, comments) = (item.state, item.comment_count);
        let issue = Stored::parse(item.record, self.fields())?;
        let words = Words::of_issues(&self.settings.dialects);
        let (state, mark) = match words.state_of(&word) {
            Some(state) => (state, indexed.clone()),
            None => {
                let located = LocatedIssue {
                    repository: Arc::new(repository.clone()),
                    issue: issue.clone(),
                    number: None,
                };
                let read = self.issue_statuses(&located).await;
                state_of_unknown_word(&word, read.map(|all| EffectiveState::of(&all).state))
            }
        };
        Ok(IssueRow {
            beside: IssueFacts {
                state: Some(state),
                comments,
                warnings: vec![mark, unlabelled()],
                ..IssueFacts::default()
            },
            issue,
        })
    }

    /// Returns the rows that match the query, in the same order. A few rows are checked at a time.
    async fn all_wanted(
        &self,
        repository: &TangledRepository,
        rows: Vec<IssueRow>,
        query: &IssueQuery,
        people: &People,
    ) -> Result<Vec<IssueRow>> {
        let looks = rows
            .into_iter()
            .map(|row| self.wanted(repository, row, query, people));
        let found: Vec<Option<IssueRow>> = stream::iter(looks)
            .buffered(IN_FLIGHT)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns the row if it matches the query. Labels and assignees are read only if a filter
    /// needs them.
    async fn wanted(
        &self,
        repository: &TangledRepository,
        mut row: IssueRow,
        query: &IssueQuery,
        people: &People,
    ) -> Result<Option<IssueRow>> {
        if !plain_match(&row, query, people) {
            return Ok(None);
        }
        if !by_label(query, people) {
            return Ok(Some(row));
        }
        if repository.era != Era::Org10 {
            let uri = row.issue.record.uri.as_str();
            let found = self.label_ops_about(repository, uri).await?;
            let labelled = self.labels_of(repository, uri, found.value).await?;
            row.beside.warnings.retain(|w| *w != unlabelled());
            row.beside.add_labels(labelled);
        }
        let has = |wanted: &String| {
            let mut labels = row.beside.labels.iter();
            labels.any(|l| l.name.eq_ignore_ascii_case(wanted))
        };
        let labelled = query.labels.iter().all(has);
        let is_assigned = people
            .assignee
            .as_ref()
            .is_none_or(|did| row.beside.assigned.contains(did));
        Ok((labelled && is_assigned).then_some(row))
    }

    /// Reads all matching issues in the order of the query, without tangled's index.
    async fn issues_without_index(
        &self,
        repository: &TangledRepository,
        query: &IssueQuery,
        people: &People,
        down: &Error,
    ) -> Result<(FullList<IssueRow>, u64, Vec<Warning>)> {
        let names = &self.settings.dialects;
        let words = Words::of_issues(names);
        let collections: [&str; 2] = [&names.sh.issue, &names.sh.issue_state];
        let targets = related_records::targets_of_issues(names);
        let FallbackListing {
            records,
            statuses: states,
            mut warnings,
            source,
            is_all,
        } = self
            .without_index(repository, collections, &targets, down)
            .await;
        let scanned = records.len() as u64;
        warnings.extend(malformed::malformed_warnings(&states, |r| words.broken(r)));
        let mut by_issue: HashMap<String, Vec<Record>> = HashMap::new();
        for record in states {
            if let Some(issue) = record.text(words.subject).map(str::to_owned) {
                by_issue.entry(issue).or_default().push(record);
            }
        }
        let writers = self.writers(repository).await;
        warnings.extend(writers.doubt.clone());
        let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
        for record in records {
            let issue = match Stored::parse(record, self.fields()) {
                Ok(issue) if repository.is_target(&issue.target) => issue,
                Ok(_) => continue,
                Err(e) => {
                    warnings.push(Warning::new(e.message()));
                    continue;
                }
            };
            let uri = issue.record.uri.clone();
            if !seen.insert(uri.clone()) {
                continue;
            }
            let about = by_issue.remove(&uri).unwrap_or_default();
            let statuses = status::read_as(words, about, &uri, &issue.author, &writers);
            let beside = IssueFacts {
                statuses,
                warnings: vec![unlabelled()],
                ..IssueFacts::default()
            };
            rows.push(IssueRow { issue, beside });
        }
        let mut rows = self.all_wanted(repository, rows, query, people).await?;
        sort(&mut rows, query);
        let whole = FullList {
            rows,
            source,
            is_all,
        };
        Ok((whole, scanned, warnings))
    }

    /// Returns the matching issues of a Tangled 1.0 repository. Its knot (git server) sends all
    /// issues unfiltered, so they are filtered here.
    async fn issues_of_account(
        &self,
        repository: &TangledRepository,
        query: &IssueQuery,
        people: &People,
    ) -> Result<FoundIssues> {
        let (tickets, mut warnings, is_cut) = self.issue_tickets(repository).await?;
        if people.assignee.is_some() {
            let records = tickets.iter().map(|t| &t.record);
            warnings.extend(tickets::unassigned(records, &self.settings.dialects));
        }
        let scanned = tickets.len() as u64;
        let mut rows = Vec::new();
        for issue in tickets {
            let beside = self.read_ticket_facts(&issue.record).await;
            let row = IssueRow { issue, beside };
            if let Some(row) = self.wanted(repository, row, query, people).await? {
                warnings.extend(row.beside.warnings.iter().cloned());
                rows.push(row);
            }
        }
        sort(&mut rows, query);
        Ok(FoundIssues {
            total: (!is_cut).then_some(rows.len() as u64),
            rows,
            next: None,
            scanned,
            source: knot_name(repository),
            warnings,
        })
    }

    /// Reads the issues of a Tangled 1.0 repository. A ticket is its record for an issue or a pull
    /// request.
    ///
    /// Also returns warnings, and true if there are tickets that were not read.
    pub(super) async fn issue_tickets(
        &self,
        repository: &TangledRepository,
    ) -> Result<(Vec<Stored>, Vec<Warning>, bool)> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let collection = &names.org.issue;
        let all = records::all(&knot, did, collection, tickets::MAX_TICKET_RECORDS).await?;
        let (mut issues, mut warnings, is_cut) = (Vec::new(), all.warnings, all.is_cut);
        for ticket in all.records {
            match Stored::of_ticket(ticket, names) {
                Ok(found) => issues.extend(found),
                Err(e) => warnings.push(Warning::new(e.message())),
            }
        }
        Ok((issues, warnings, is_cut))
    }
}

/// Returns the warning that the labels of a list row are not looked up, because each row would need
/// a request of its own.
fn unlabelled() -> Warning {
    Warning::new("labels and assignees are not looked up for a list; a view has them")
        .of_section("labels")
}

fn sort(rows: &mut [IssueRow], query: &IssueQuery) {
    rows.sort_by_key(Placed::place);
    if !query.oldest_first {
        rows.reverse();
    }
}

/// Cuts one page out of a list that is in memory.
fn page_of(all: FoundIssues, skip: usize, limit: usize) -> FoundIssues {
    let end = skip.saturating_add(limit);
    let more = all.rows.len() > end;
    FoundIssues {
        rows: all.rows.into_iter().skip(skip).take(limit).collect(),
        next: more.then(|| PagePosition::in_memory(end)),
        ..all
    }
}

/// Returns true if the query filters by labels, or by assignees, which are labels on tangled.
fn by_label(query: &IssueQuery, people: &People) -> bool {
    !query.labels.is_empty() || people.assignee.is_some()
}

/// Applies the filters that need only the record and its state.
fn plain_match(row: &IssueRow, query: &IssueQuery, people: &People) -> bool {
    let decided = status::winner(&row.beside.statuses).and_then(|s| s.state);
    let state = row.beside.state.or(decided).unwrap_or(PrState::Open);
    let fits = match query.state {
        IssueFilter::Open => state == PrState::Open,
        IssueFilter::Closed => state != PrState::Open,
        IssueFilter::All => true,
    };
    let author = people.author.as_ref();
    fits && author.is_none_or(|author| *author == row.issue.author)
}
