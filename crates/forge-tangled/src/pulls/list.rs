//! Lists the pull requests of a repository.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use forge_core::{
    Action, Arg, Cursor, Error, ErrorKind, Hint, MAX_TOUCH_SCAN, Op, Page, PageReq, Param,
    PathFilter, RepoId, Result, Warning, fingerprint,
    model::{
        HeadMatches, HeadRef, Label, PrFields, PrState, PullQuery, PullRequest, PullStatus,
        StateFilter, UnprovenPull,
    },
    pull_filter::{Filter, SearchCandidate},
    text::one_line,
};
use futures::{StreamExt as _, future, stream};
use serde_json::Value;

use super::{
    build::PullFacts,
    head_claims::HeadClaims,
    merge_claim::find_merge_claim,
    record::TangledPull,
    status::{self, Status},
    unindexed_lists::{self, FullList, Place, Placed},
    view::LocatedPull,
};
use crate::{
    DraftMarker, Era, Tangled,
    index_pager::{IndexPager, Item, PagePosition, SCAN},
    labels::Labelled,
    malformed, patch,
    records::Record,
    related_records,
    repository::TangledRepository,
    sources::{FallbackListing, IN_FLIGHT, is_down},
    tickets,
};

const SCHEME: &str = "tangled";

/// A pull request of a list, before its model is built.
#[derive(Clone, Debug)]
pub(crate) struct PullRow {
    pull: TangledPull,
    state: PrState,
    comments: u64,
    /// Warning about the state.
    mark: Option<Warning>,
    /// The status record that sets the state to merged, if it was read.
    merged: Option<Status>,
}

impl Placed for PullRow {
    fn place(&self) -> Place {
        Place {
            created_at: self.pull.created_at,
            uri: self.pull.record.uri.clone(),
        }
    }
}

/// Rows that were read from the index.
struct IndexedRows {
    rows: Vec<PullRow>,
    next: Option<PagePosition>,
    scanned: u64,
    warnings: Vec<Warning>,
    /// True if the list has rows that no later page shows.
    is_cut: bool,
}

/// The filters that the index (the service that lists all records) cannot apply.
struct Filters {
    author: Option<String>,
    assignee: Option<String>,
    /// The title marker of drafts, and true if drafts are wanted.
    draft: Option<(DraftMarker, bool)>,
    search: Option<Search>,
    /// Paths. A pull request must change at least one of them.
    touches: Option<PathFilter>,
    /// The search for a head branch, which only certain authors may answer.
    claims: Option<Arc<HeadClaims>>,
}

impl Filters {
    /// Returns true if there is no search, or if the search finds the row.
    ///
    /// `labels` and `assignees` belong to the row. The assignees are given by their DIDs.
    fn finds(&self, row: &PullRow, labels: &[Label], assignees: &[String]) -> bool {
        let search = self.search.as_ref();
        search.is_none_or(|search| search.finds(row, labels, assignees))
    }

    /// Returns true unless a head branch is searched that the author may not name.
    fn accepts_author(&self, repository: &TangledRepository, row: &PullRow) -> bool {
        let claims = self.claims.as_ref();
        claims.is_none_or(|claims| claims.accepts(repository, &row.pull))
    }

    /// Returns true if there is a search and its filter fulfils `asks`.
    fn searches(&self, asks: impl Fn(&Filter) -> bool) -> bool {
        self.search.as_ref().is_some_and(|s| asks(&s.filter))
    }
}

/// A search by words and qualifiers. forge applies it, because no service of tangled does.
struct Search {
    /// The parsed search, in which accounts have the names that the list shows.
    filter: Filter,
    /// The shown names of the filter's accounts, by DID.
    people: HashMap<String, String>,
    marker: Option<DraftMarker>,
}

impl Search {
    /// Returns the shown name of an account if the search names the account, else its DID.
    fn name_of<'a>(&'a self, did: &'a str) -> &'a str {
        self.people.get(did).map_or(did, String::as_str)
    }

    fn finds(&self, row: &PullRow, labels: &[Label], assignees: &[String]) -> bool {
        let pull = &row.pull;
        let marks = |marker: &DraftMarker| marker.marks(&pull.title);
        self.filter.matches(&SearchCandidate {
            number: None,
            title: &pull.title,
            description: &pull.body,
            author: self.name_of(pull.author()),
            assignees: assignees.iter().map(|a| self.name_of(a)).collect(),
            labels: labels.iter().map(|l| l.name.as_str()).collect(),
            base: &pull.base,
            head: &pull.head,
            state: row.state,
            draft: self.marker.as_ref().is_some_and(marks),
            decision: None,
            reviewed: false,
            pending_reviewers: Vec::new(),
        })
    }
}

impl Tangled {
    /// See [`forge_core::PullRequests::list`].
    pub(crate) async fn list_pulls(
        &self,
        repo: &RepoId,
        query: &PullQuery,
        req: PageReq,
    ) -> Result<Page<PullRequest>> {
        self.list_claimed_pulls(repo, query, req, None).await
    }

    /// As [`Self::list_pulls`]. With `claims`, only pull requests whose author may name the head
    /// branch.
    pub(super) async fn list_claimed_pulls(
        &self,
        repo: &RepoId,
        query: &PullQuery,
        req: PageReq,
        claims: Option<Arc<HeadClaims>>,
    ) -> Result<Page<PullRequest>> {
        let claimed = self.claimed_repository(repo).await?;
        // The list is read while the knot confirms the owner of the repository. The rows are
        // returned only after the confirmation.
        let (confirmed, page) = future::join(
            self.confirm_owner(&claimed),
            self.page_of(&claimed, query, req, claims),
        )
        .await;
        confirmed?;
        let mut page = page?;
        if claimed.era != Era::Org10 {
            page.warnings.extend(claimed.doubt());
        }
        Ok(page)
    }

    async fn page_of(
        &self,
        repository: &TangledRepository,
        query: &PullQuery,
        req: PageReq,
        claims: Option<Arc<HeadClaims>>,
    ) -> Result<Page<PullRequest>> {
        let touches = PathFilter::of(query)?;
        let search = self.search_of(repository, query).await?;
        // A state in the search text replaces the default state.
        let state = search.as_ref().map_or(query.state, |s| s.filter.state());
        let mut query = query.clone();
        query.state = state;
        let query = &query;
        let people = futures::try_join!(
            self.did_filter(repository, query.author.as_deref()),
            self.did_filter(repository, query.assignee.as_deref()),
        );
        let filters = match people {
            Ok((author, assignee)) => Filters {
                author,
                assignee,
                draft: self.settings.draft_marker.clone().zip(query.draft),
                search,
                touches,
                claims,
            },
            // An account that does not exist has written no pull request, so the list is empty.
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
            return self
                .rest_page(repository, query, &filters, (&down, Some(place)), req.limit)
                .await;
        }
        let position = PagePosition::of(&req, SCHEME, &bound)?;
        if query.draft == Some(true) && filters.draft.is_none() {
            return Ok(Page::complete(Vec::new()));
        }
        if repository.era == Era::Org10 {
            let skip = position.map_or(0, |p| p.skip);
            let found = self.tickets_page(repository, query, &filters).await?;
            let (rows, warnings, scanned, is_cut) = found;
            let end = skip.saturating_add(req.limit);
            let (total, more) = (rows.len() as u64, rows.len() > end);
            let rows: Vec<PullRow> = rows.into_iter().skip(skip).take(req.limit).collect();
            let next = PagePosition::in_memory(end);
            let mut result = Page::new(self.models(repository, rows, query.fields).await);
            result.next = more.then(|| Cursor::new(SCHEME, &bound, &next.text()));
            result.total = (!is_cut).then_some(total);
            result.scanned = Some(scanned);
            result.source = Some(knot_name(repository));
            result.warnings = warnings;
            return Ok(result);
        }
        let names = &self.settings.dialects.sh;
        let first = match self.check_ingested([&names.pull, &names.status]) {
            Ok(()) => {
                self.index_page(repository, query, &filters, position, req.limit)
                    .await
            }
            Err(e) => Err(e),
        };
        let found = match first {
            Ok(found) => found,
            Err(e) if is_down(&e) && req.cursor.is_none() => {
                return self
                    .rest_page(repository, query, &filters, (&e, None), req.limit)
                    .await;
            }
            Err(e) => return Err(e),
        };
        let items = self.models(repository, found.rows, query.fields).await;
        // tangled's index reports no total, so the total is known only if this page has all rows.
        let whole = req.cursor.is_none() && found.next.is_none() && !found.is_cut;
        let total = whole.then_some(items.len() as u64);
        let next = found.next;
        let mut result = Page::new(items);
        result.total = total;
        result.next = next.map(|p| Cursor::new(SCHEME, &bound, &p.text()));
        result.scanned = Some(found.scanned);
        result.source = Some(self.index_name());
        result.warnings = found.warnings;
        if by_label(query, &filters) {
            let missed = self.missed_by_labels(repository).await;
            result.warnings.extend(missed);
        }
        Ok(result)
    }

    /// Reads the page after the position `behind` while the index is down.
    ///
    /// The index is the service that lists all records. Without it, each known account is read.
    async fn rest_page(
        &self,
        repository: &TangledRepository,
        query: &PullQuery,
        filters: &Filters,
        (down, behind): (&Error, Option<Place>),
        limit: usize,
    ) -> Result<Page<PullRequest>> {
        let bound = (repository.record.uri.as_str(), query);
        let asked = fingerprint(&(bound, filters.claims.is_some()));
        let kept = behind.as_ref().and_then(|_| self.listed.get(asked));
        let (whole, scanned, mut warnings) = match kept {
            Some(whole) => (whole, None, Vec::new()),
            None => {
                let (whole, scanned, warnings) = self
                    .pulls_without_index(repository, query, filters, down)
                    .await?;
                let whole = whole.unless_unread(down)?;
                (self.listed.keep(asked, whole), Some(scanned), warnings)
            }
        };
        if by_label(query, filters) {
            warnings.extend(self.missed_by_labels(repository).await);
        }
        let (rows, end) = unindexed_lists::page(&whole.rows, behind.as_ref(), limit, false);
        let mut result = Page::new(self.models(repository, rows, query.fields).await);
        result.next = end.map(|place| Cursor::new(SCHEME, &bound, &place.to_string()));
        result.total = whole.total();
        result.scanned = scanned;
        result.source = Some(whole.source.clone());
        result.warnings = warnings;
        Ok(result)
    }

    pub(crate) async fn did_filter(
        &self,
        repository: &TangledRepository,
        name: Option<&str>,
    ) -> Result<Option<String>> {
        match name {
            Some(name) => Ok(Some(self.did_of(repository, name).await?)),
            None => Ok(None),
        }
    }

    /// Returns the search of a query. Its handles, DIDs and `@me` are replaced by the names that
    /// the list shows.
    async fn search_of(
        &self,
        repository: &TangledRepository,
        query: &PullQuery,
    ) -> Result<Option<Search>> {
        if query.search.is_none() {
            return Ok(None);
        }
        let mut searched = PullQuery::default();
        searched.state = query.state;
        searched.search = query.search.clone();
        let mut filter = Filter::of(&searched)?;
        if filter.needs_reviews() {
            let why = "a list of tangled's pull requests has no reviews to search in";
            return Err(Error::invalid("search", why).with_hint(
                Hint::new(
                    "leave out review: and review-requested:, and view a pull request for its \
                     reviews",
                )
                .with_action(Action::again(&[(Param::Search, Arg::Choose)])),
            ));
        }
        let mut people = HashMap::new();
        let logins: Vec<&mut String> = filter.logins_mut().collect();
        for login in logins {
            let did = self.did_of(repository, login).await;
            match did {
                Ok(did) => {
                    *login = self.identities.name_of(&did).await;
                    people.insert(did, login.clone());
                }
                // An account that does not exist has written nothing, so its name stays and finds
                // no row.
                Err(e) if is_unknown_owner(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Some(Search {
            filter,
            people,
            marker: self.settings.draft_marker.clone(),
        }))
    }

    /// Reads rows from tangled's index until `limit` rows match or the list ends.
    async fn index_page(
        &self,
        repository: &TangledRepository,
        query: &PullQuery,
        filters: &Filters,
        position: Option<PagePosition>,
        limit: usize,
    ) -> Result<IndexedRows> {
        // If the first page came from tangled's index, the next pages can come only from the index.
        let index = match position {
            Some(_) => self.index(),
            None => self.index_or_others(),
        };
        let of = &self.settings.dialects.inputs.index;
        let status = match query.state {
            StateFilter::Open => Some(&*of.state_open),
            StateFilter::Merged => Some(&*of.state_merged),
            StateFilter::Closed | StateFilter::All => None,
        };
        let scans = query.state == StateFilter::Closed
            || by_label(query, filters)
            || filters.draft.is_some()
            || filters.search.is_some()
            || filters.touches.is_some()
            || query.base.is_some()
            || query.head.is_some();
        let size = if scans { SCAN } else { limit.min(SCAN) };
        let mut params = vec![(&*of.subject, repository.target())];
        params.extend(status.map(|s| (&*of.wanted_status, s)));
        params.extend(filters.author.as_deref().map(|a| (&*of.author, a)));
        let method = &self.settings.dialects.methods.index.list_pulls;
        let mut walk = IndexPager::new(index, (method, of), params, position, size);
        let is_filtered = matches!(query.state, StateFilter::Merged | StateFilter::Closed);
        let mark = as_indexed(is_filtered.then_some(Op::PrList));
        let (mut rows, mut warnings) = (Vec::new(), Vec::new());
        if is_filtered {
            warnings.push(mark.clone());
        }
        let mut compared = 0;
        while rows.len() < limit
            && let Some(item) = walk.next().await?
        {
            let row = match self.row(repository, item, &mark).await {
                Ok(row) => row,
                Err(e) => {
                    warnings.push(Warning::new(e.message()));
                    continue;
                }
            };
            if !self.matches(repository, &row, query, filters).await? {
                continue;
            }
            let Some(touches) = &filters.touches else {
                rows.push(row);
                continue;
            };
            match self.is_touching(repository, touches, &row).await {
                Ok(true) => rows.push(row),
                Ok(false) => {}
                Err(e) => warnings.push(Warning::new(e.message())),
            }
            compared += 1;
            if compared == MAX_TOUCH_SCAN && rows.len() < limit && walk.position().is_some() {
                warnings.push(touches.scan_ended());
                break;
            }
        }
        let is_cut = walk.is_cut();
        warnings.extend(walk.cut().filter(|_| is_cut || rows.len() < limit));
        Ok(IndexedRows {
            rows,
            next: walk.position(),
            scanned: walk.scanned(),
            warnings,
            is_cut,
        })
    }

    /// Returns the matching pull requests of a Tangled 1.0 repository.
    ///
    /// Its knot (git server) sends all pull requests unfiltered, so they are filtered here.
    async fn tickets_page(
        &self,
        repository: &TangledRepository,
        query: &PullQuery,
        filters: &Filters,
    ) -> Result<(Vec<PullRow>, Vec<Warning>, u64, bool)> {
        let (pulls, mut warnings, is_cut) = self.tickets(repository).await?;
        warnings.extend(repository.doubt());
        if filters.assignee.is_some() || filters.searches(Filter::needs_assignees) {
            let records = pulls.iter().map(|p| &p.record);
            warnings.extend(tickets::unassigned(records, &self.settings.dialects));
        }
        let scanned = pulls.len() as u64;
        let mut rows = Vec::new();
        for pull in pulls {
            let said = tickets::inline(&pull.record, &self.settings.dialects);
            warnings.extend(said.warnings);
            let labelled = query.labels.iter().all(|wanted| {
                said.labels
                    .iter()
                    .any(|l| l.name.eq_ignore_ascii_case(wanted))
            });
            let assigned = filters
                .assignee
                .as_ref()
                .is_none_or(|did| said.assignees.contains(did));
            let row = PullRow {
                pull,
                state: said.state.unwrap_or(PrState::Open),
                comments: 0,
                mark: None,
                merged: None,
            };
            let found = filters.finds(&row, &said.labels, &said.assignees);
            let matches = labelled && assigned && found && plain_match(&row, query, filters);
            if matches && filters.accepts_author(repository, &row) {
                rows.push(row);
            }
        }
        let (rows, unread) = self.touching(repository, filters, rows).await;
        warnings.extend(unread);
        Ok((rows, warnings, scanned, is_cut))
    }

    /// Returns the rows whose newest round changes a requested file.
    ///
    /// Only the first [`MAX_TOUCH_SCAN`] rows are checked. Also returns warnings about rounds that
    /// could not be read.
    async fn touching(
        &self,
        repository: &TangledRepository,
        filters: &Filters,
        rows: Vec<PullRow>,
    ) -> (Vec<PullRow>, Vec<Warning>) {
        let Some(touches) = &filters.touches else {
            return (rows, Vec::new());
        };
        let most = usize::try_from(MAX_TOUCH_SCAN).unwrap_or(usize::MAX);
        let mut warnings = Vec::new();
        if rows.len() > most {
            warnings.push(touches.scan_ended());
        }
        let looks = rows.into_iter().take(most).map(|row| async move {
            let found = self.is_touching(repository, touches, &row).await;
            (row, found)
        });
        let looked: Vec<_> = stream::iter(looks).buffered(IN_FLIGHT).collect().await;
        let mut kept = Vec::new();
        for (row, found) in looked {
            match found {
                Ok(true) => kept.push(row),
                Ok(false) => {}
                Err(e) => warnings.push(Warning::new(e.message())),
            }
        }
        (kept, warnings)
    }

    /// Returns true if the newest round changes a wanted file.
    async fn is_touching(
        &self,
        repository: &TangledRepository,
        touches: &PathFilter,
        row: &PullRow,
    ) -> Result<bool> {
        let patch = self.patch_for_row(repository, &row.pull).await?;
        Ok(touches.is_touched_by(&patch::files(&patch.diff())))
    }

    /// Builds a row from an item of tangled's index. `mark` is the warning about an indexed state.
    async fn row(
        &self,
        repository: &TangledRepository,
        item: Value,
        mark: &Warning,
    ) -> Result<PullRow> {
        let item = Item::parse(item, "pull request", &self.settings.dialects.inputs.index)?;
        let (word, comments) = (item.state, item.comment_count);
        let pull = TangledPull::parse(item.record, self.fields())?;
        let words = status::Words::of_pulls(&self.settings.dialects);
        let (state, mark) = match words.state_of(&word) {
            Some(state) => (state, mark.clone()),
            None => state_of_unknown_word(&word, self.state_of(repository, &pull).await),
        };
        Ok(PullRow {
            pull,
            state,
            comments,
            mark: Some(mark),
            merged: None,
        })
    }

    async fn matches(
        &self,
        repository: &TangledRepository,
        row: &PullRow,
        query: &PullQuery,
        filters: &Filters,
    ) -> Result<bool> {
        if !plain_match(row, query, filters) || !filters.accepts_author(repository, row) {
            return Ok(false);
        }
        if !by_label(query, filters) {
            return Ok(filters.finds(row, &[], &[]));
        }
        let Labelled {
            labels, assigned, ..
        } = self.labels_for(repository, &row.pull).await?;
        let labelled = query
            .labels
            .iter()
            .all(|wanted| labels.iter().any(|l| l.name.eq_ignore_ascii_case(wanted)));
        let is_assigned = filters
            .assignee
            .as_ref()
            .is_none_or(|did| assigned.contains(did));
        Ok(labelled && is_assigned && filters.finds(row, &labels, &assigned))
    }

    async fn labels_for(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Labelled> {
        let uri = pull.record.uri.as_str();
        let found = self.label_ops_about(repository, uri).await?;
        self.labels_of(repository, uri, found.value).await
    }

    /// Reads all matching pull requests without tangled's index, newest first.
    ///
    /// Instead, the pull requests and the status records of all known accounts are read, each
    /// account once.
    async fn pulls_without_index(
        &self,
        repository: &TangledRepository,
        query: &PullQuery,
        filters: &Filters,
        down: &Error,
    ) -> Result<(FullList<PullRow>, u64, Vec<Warning>)> {
        let names = &self.settings.dialects;
        let collections: [&str; 2] = [&names.sh.pull, &names.sh.status];
        let targets = related_records::targets_of_pulls(names);
        let FallbackListing {
            records,
            statuses,
            mut warnings,
            source,
            is_all,
        } = self
            .without_index(repository, collections, &targets, down)
            .await;
        let mut pulls = Vec::new();
        let scanned = records.len() as u64;
        for record in records {
            match TangledPull::parse(record, self.fields()) {
                Ok(pull) if repository.is_target(&pull.target) => pulls.push(pull),
                Ok(_) => {}
                Err(e) => warnings.push(Warning::new(e.message())),
            }
        }
        warnings.extend(malformed::malformed_warnings(&statuses, |r| {
            status::broken(r, names)
        }));
        let mut by_pull: std::collections::HashMap<String, Vec<Record>> = Default::default();
        for record in statuses {
            if let Some(pull) = record.text(&names.sh_fields.status_pull).map(str::to_owned) {
                by_pull.entry(pull).or_default().push(record);
            }
        }
        let writers = self.writers(repository).await;
        warnings.extend(writers.doubt.clone());
        let mut seen = BTreeSet::new();
        let mut rows = Vec::new();
        for pull in pulls {
            if !seen.insert(pull.record.uri.clone()) {
                continue;
            }
            let about = by_pull.remove(&pull.record.uri).unwrap_or_default();
            let read = status::read(about, &pull.record.uri, pull.author(), &writers, names);
            let state = status::winner(&read).and_then(|s| s.state);
            let row = PullRow {
                pull,
                state: state.unwrap_or(PrState::Open),
                comments: 0,
                mark: None,
                merged: find_merge_claim(&read).cloned(),
            };
            if self.matches(repository, &row, query, filters).await? {
                rows.push(row);
            }
        }
        rows.sort_by_cached_key(|row| std::cmp::Reverse(row.place()));
        let (rows, unread) = self.touching(repository, filters, rows).await;
        warnings.extend(unread);
        let whole = FullList {
            rows,
            source,
            is_all,
        };
        Ok((whole, scanned, warnings))
    }

    async fn models(
        &self,
        repository: &TangledRepository,
        rows: Vec<PullRow>,
        fields: PrFields,
    ) -> Vec<PullRequest> {
        // The CI checks of all rows are read together, because otherwise each row would send a
        // request.
        let checks = fields.contains(PrFields::CHECKS) && !fields.contains(PrFields::ROW);
        let fields = fields.without(PrFields::CHECKS);
        let talk = match repository.era == Era::Org10 && !fields.contains(PrFields::ROW) {
            true => Some(self.all_ticket_comments(repository).await),
            false => None,
        };
        let talk = talk.as_ref().map(Result::as_ref);
        let authors = rows.iter().map(|row| row.pull.author().to_owned());
        self.learn_names(authors.collect()).await;
        let models = rows.into_iter().map(|row| async move {
            if fields.contains(PrFields::ROW) {
                let beside = PullFacts {
                    state: Some(row.state),
                    statuses: row.merged.into_iter().collect(),
                    comments: row.comments,
                    warnings: row.mark.into_iter().collect(),
                    ..PullFacts::default()
                };
                return self.build(repository, &row.pull, beside).await;
            }
            let located = LocatedPull {
                repository: std::sync::Arc::new(repository.clone()),
                pull: row.pull,
                number: None,
            };
            let view = match talk {
                Some(talk) => self.view_ticket_of(&located, talk, fields).await,
                None => self.view_located(&located, fields).await,
            };
            match view {
                Ok(view) => view,
                Err(e) => {
                    let beside = PullFacts {
                        state: Some(row.state),
                        comments: row.comments,
                        warnings: vec![Warning::new(e.message())],
                        ..PullFacts::default()
                    };
                    self.build(repository, &located.pull, beside).await
                }
            }
        });
        let mut models: Vec<PullRequest> = stream::iter(models).buffered(IN_FLIGHT).collect().await;
        if checks {
            self.checks_of_rows(repository, &mut models).await;
        }
        models
    }

    /// See [`forge_core::PullRequests::find`].
    pub(crate) async fn find_pulls(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<HeadMatches> {
        let (page, unproven) = self.page_of_head(repo, head, state, fields).await?;
        let Page {
            mut items,
            total,
            warnings,
            ..
        } = page;
        if items.is_empty() && total.is_none() {
            return Err(unproven_search_error(&head.branch, &warnings));
        }
        for pr in &mut items {
            let new = |warning: &&Warning| !pr.warnings.contains(warning);
            let told: Vec<Warning> = warnings.iter().filter(new).cloned().collect();
            pr.warnings.extend(told);
        }
        let mut matches = HeadMatches::from(items);
        for pull in unproven {
            matches.add_unproven(pull.key, pull.claim);
        }
        Ok(matches)
    }

    /// Returns the pull requests of a head branch, open ones first, and those that name the branch
    /// although their author is not proven to push there.
    async fn page_of_head(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<(Page<PullRequest>, Vec<UnprovenPull>)> {
        let mut query = PullQuery::default();
        query.state = state;
        query.head = Some(head.branch.clone());
        query.fields = fields;
        let repository = self.repository(repo).await?;
        let owner = self.did_filter(&repository, head.owner.as_deref()).await?;
        let claims = Arc::new(HeadClaims::new(self.writers(&repository).await, owner));
        let first = PageReq::first(SCAN);
        let mut page = self
            .list_claimed_pulls(repo, &query, first, Some(Arc::clone(&claims)))
            .await?;
        page.items.sort_by_key(|pr| pr.state != PrState::Open);
        Ok((page, claims.unproven()))
    }

    /// See [`forge_core::PullRequests::status`].
    pub(crate) async fn status_of(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        self.session.viewer().await?;
        let (current, mut warnings) = match head {
            Some(head) => {
                let found = self.page_of_head(repo, head, StateFilter::All, fields);
                let (found, _) = found.await?;
                (found.items.into_iter().next(), found.warnings)
            }
            None => (None, Vec::new()),
        };
        let mut mine = PullQuery::default();
        mine.author = Some("@me".to_owned());
        mine.fields = fields;
        let page = self.list_pulls(repo, &mine, PageReq::first(SCAN)).await?;
        for warning in page.warnings {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        if page.next.is_some() {
            let more = format!("only the newest {SCAN} of your open pull requests are shown");
            let all = Action::op(Op::PrList).with(Param::Author, "@me");
            warnings
                .push(Warning::new(more).with_hint(Hint::new("list them all").with_action(all)));
        }
        let mut status = PullStatus::new(page.items, Vec::new());
        status.current_branch = current;
        status.warnings = warnings;
        Ok(status)
    }
}

/// Returns the error for a search that found nothing, but lacks the answer of a source. That source
/// may know a matching pull request.
fn unproven_search_error(branch: &str, warnings: &[Warning]) -> Error {
    let told: Vec<&str> = warnings.iter().map(|w| w.message.as_str()).collect();
    Error::new(
        ErrorKind::Network,
        format!(
            "it is unknown whether branch '{}' has a pull request: {}",
            one_line(branch),
            told.join("; ")
        ),
    )
    .with_hint("try again later, or name the pull request by its at-uri")
}

/// Name of the knot of a 1.0 repository, as the source of a list.
pub(crate) fn knot_name(repository: &TangledRepository) -> String {
    format!("the knot {}", repository.knot().host())
}

/// Returns the warning that the state comes from tangled's index and was not verified.
///
/// Versions of the index count the status records of different accounts. That of mid-2026 counts
/// none of the owner and the collaborators, only those of the author and of the repository's own
/// DID (`accept_state_source` in bobbin). A list of merged or closed rows can then lack some, so
/// `filtered` has the call that lists all states.
pub(crate) fn as_indexed(filtered: Option<Op>) -> Warning {
    let warning = match filtered {
        None => Warning::new("the state is that of the index; a view also checks who set it"),
        Some(list) => Warning::new(
            "the state is that of the index, so rows may be missing whose state was set by others \
             than their author; a view also checks who set it",
        )
        .with_hint(
            Hint::new("list all states, then view a missing one for its state")
                .with_action(Action::op(list).with(Param::State, "all")),
        ),
    };
    warning.of_section("state")
}

/// Returns the state of a row whose state word is unknown, and a warning.
///
/// `word` is the state in the index. For example, tangled's index calls a pull request `abandoned`
/// if its record was deleted. `read` is the state from the status records.
pub(crate) fn state_of_unknown_word(word: &str, read: Result<PrState>) -> (PrState, Warning) {
    let said = match word {
        "" => "the index gives no state".to_owned(),
        word => format!(
            "the index has the state '{}', which forge does not know",
            status::shown(word)
        ),
    };
    let (state, how) = match read {
        Ok(state) => (
            state,
            "the state is computed from the status records".to_owned(),
        ),
        Err(e) => {
            let why = e.message();
            let how = format!("shown as open, because the status records cannot be read: {why}");
            (PrState::Open, how)
        }
    };
    let mark = Warning::new(format!("{said}; {how}")).of_section("state");
    (state, mark)
}

/// Returns true if the query filters by labels, or by assignees, which are labels on tangled.
fn by_label(query: &PullQuery, filters: &Filters) -> bool {
    !query.labels.is_empty()
        || filters.assignee.is_some()
        || filters.searches(|search| search.needs_labels() || search.needs_assignees())
}

/// Applies the filters that need only the record and its state.
fn plain_match(row: &PullRow, query: &PullQuery, filters: &Filters) -> bool {
    let state = query.state.shows(row.state);
    let author = filters
        .author
        .as_deref()
        .is_none_or(|a| a == row.pull.author());
    let base = query.base.as_ref().is_none_or(|b| *b == row.pull.base);
    let head = query.head.as_ref().is_none_or(|h| *h == row.pull.head);
    let draft = filters
        .draft
        .as_ref()
        .is_none_or(|(marker, wanted)| marker.marks(&row.pull.title) == *wanted);
    state && author && base && head && draft
}

pub(crate) fn is_unknown_owner(error: &Error) -> bool {
    error.is_not_found()
        || matches!(
            error.kind(),
            forge_core::ErrorKind::InvalidInput {
                field: Some("owner")
            }
        )
}
