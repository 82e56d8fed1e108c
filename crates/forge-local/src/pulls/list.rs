//! Lists pull requests, and finds them by branch.

use forge_core::{
    Cursor, MAX_TOUCH_SCAN, Page, PageReq, PathFilter, Result,
    call::{cut_list, is_spent},
    model::{HeadMatches, HeadRef, PrFields, PrState, PullQuery, PullRequest, StateFilter},
    pull_filter::{Filter, SearchCandidate},
};
use forge_git::CatFile;

use super::view::warning_of;
use crate::{
    Local,
    ident::identity,
    labels::LabelSet,
    paging::{self, SCHEME},
    store::{LabelRef, LoadedIndex, MAX_IN_MEMORY, PullRead, Snapshot, StoredPull},
};

/// Number of pull requests that are read at once if a filter may drop most of them.
const BATCH_SIZE: usize = 64;

impl Local {
    pub(crate) async fn list_pulls(
        &self,
        query: &PullQuery,
        page: &PageReq,
    ) -> Result<Page<PullRequest>> {
        let mut filter = Filter::of(query)?;
        let touches = PathFilter::of(query)?;
        let mine: Vec<&mut String> = filter.logins_mut().filter(|l| *l == "@me").collect();
        if !mine.is_empty() {
            let viewer = identity(self.user_git()).await?.actor;
            for login in mine {
                login.clone_from(&viewer.login);
            }
        }
        let below = paging::position(page, query)?.unwrap_or(u64::MAX);
        let mut cat = self.store.cat();
        let loaded = self.store.index(&mut cat).await?;
        let mut numbers = candidates(&loaded, filter.state(), below);
        let is_narrow = filter.is_narrow() || touches.is_some();
        let mut listing = PullListing {
            query,
            book: self.store.labels(&mut cat).await.map(|l| Some(l.book)),
            filter,
            touches,
            limit: paging::limit(page),
            compared: 0,
            scanned: 0,
            last: 0,
            more: false,
            result: Page::new(Vec::new()),
        };
        match self
            .fill_listing(&mut cat, &mut numbers, &mut listing)
            .await
        {
            Err(e) if is_spent(&e) && !listing.result.items.is_empty() => {
                listing.result.warnings.push(cut_list(&e));
                listing.more = true;
            }
            filled => filled?,
        }
        let PullListing {
            filter,
            more,
            last,
            scanned,
            mut result,
            ..
        } = listing;
        if more {
            result.next = Some(Cursor::new(SCHEME, query, &last.to_string()));
            let all = match filter.state() {
                // A rebuilt index also lists closed pull requests as open.
                StateFilter::Open if loaded.rebuilt => None,
                StateFilter::Open => Some(loaded.index.open.len()),
                StateFilter::All => Some(loaded.all.len()),
                StateFilter::Closed | StateFilter::Merged => None,
            };
            result.total = all.filter(|_| !is_narrow);
        } else if page.cursor.is_none() {
            result.total = Some(result.items.len() as u64);
        }
        result.scanned = Some(scanned);
        Ok(result)
    }

    /// Reads the pull requests `numbers` until the page is full.
    async fn fill_listing(
        &self,
        cat: &mut CatFile,
        numbers: &mut (impl Iterator<Item = u64> + Send),
        listing: &mut PullListing<'_>,
    ) -> Result<()> {
        loop {
            // One pull request more than fits on the page is read. If there is such a pull request,
            // there is a next page.
            let room = listing.limit + 1 - listing.result.items.len();
            let take = if listing.filter.is_narrow() || listing.touches.is_some() {
                BATCH_SIZE
            } else {
                room.min(BATCH_SIZE)
            };
            let mut chunk: Vec<u64> = numbers.by_ref().take(take).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            listing.scanned += chunk.len() as u64;
            if listing.filter.is_narrow() {
                let wanted = |s: &Snapshot| listing.is_wanted(s);
                chunk = self.store.preselect(cat, &chunk, wanted).await?;
            }
            for part in chunk.chunks(MAX_IN_MEMORY) {
                for read in self.store.read_many(cat, part).await? {
                    if self.add_row(cat, listing, read).await? == ScanStep::Stop {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Adds a pull request to the page, if the filters accept it. Returns [`ScanStep::Stop`] if the
    /// page is full.
    async fn add_row(
        &self,
        cat: &mut CatFile,
        listing: &mut PullListing<'_>,
        read: PullRead,
    ) -> Result<ScanStep> {
        let pull = match read {
            PullRead::Pull(pull) if listing.is_wanted(&pull.snapshot) => pull,
            PullRead::Pull(_) | PullRead::Missing => return Ok(ScanStep::Continue),
            PullRead::Broken(e) => {
                listing.result.warnings.push(warning_of(&e));
                return Ok(ScanStep::Continue);
            }
        };
        let is_full = listing.result.items.len() == listing.limit;
        if let Some(touches) = &listing.touches {
            if listing.compared == MAX_TOUCH_SCAN {
                if !is_full {
                    listing.result.warnings.push(touches.scan_ended());
                }
                listing.more = true;
                return Ok(ScanStep::Stop);
            }
            listing.compared += 1;
            match self.changed_files(&pull).await {
                Ok(changed) if touches.is_touched_by(&changed.files) => {}
                found => {
                    let warning = found.err().map(|e| warning_of(&e));
                    listing.result.warnings.extend(warning);
                    // If the page ends here because of the scan limit, the next page starts after
                    // this number.
                    if !is_full {
                        listing.last = pull.number;
                    }
                    return Ok(ScanStep::Continue);
                }
            }
        }
        if is_full {
            listing.more = true;
            return Ok(ScanStep::Stop);
        }
        let (number, fields) = (pull.number, listing.query.fields);
        let row = self.present_with(cat, *pull, fields, &listing.book).await?;
        listing.last = number;
        listing.result.items.push(row);
        Ok(ScanStep::Continue)
    }

    pub(crate) async fn find_pulls(
        &self,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<HeadMatches> {
        let mut matches = HeadMatches::default();
        if head.owner.is_some() {
            // In this backend, a head branch is never in another repository.
            return Ok(matches);
        }
        let mut cat = self.store.cat();
        let mut found = Vec::new();
        let wanted = |s: &Snapshot| s.head_branch == head.branch && state.shows(s.state);
        self.scan(&mut cat, state, wanted, |pull| {
            found.push(pull);
            ScanStep::Continue
        })
        .await?;
        // Open pull requests come first. The sort is stable, so each group stays sorted from new to
        // old.
        found.sort_by_key(|p| !p.is_open());
        for pull in self.keep_proven(&mut cat, found, &mut matches).await {
            matches
                .pulls
                .push(self.present(&mut cat, pull, fields).await?);
        }
        Ok(matches)
    }

    /// Calls `each` for each matching pull request, newest first, until `each` returns
    /// `ScanStep::Stop`.
    pub(crate) async fn scan(
        &self,
        cat: &mut CatFile,
        state: StateFilter,
        wanted: impl Fn(&Snapshot) -> bool + Send + Sync,
        mut each: impl FnMut(StoredPull) -> ScanStep + Send,
    ) -> Result<()> {
        let loaded = self.store.index(cat).await?;
        let mut numbers = candidates(&loaded, state, u64::MAX);
        loop {
            let chunk: Vec<u64> = numbers.by_ref().take(BATCH_SIZE).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            let chunk = self.store.preselect(cat, &chunk, &wanted).await?;
            for part in chunk.chunks(MAX_IN_MEMORY) {
                for read in self.store.read_many(cat, part).await? {
                    if let PullRead::Pull(pull) = read
                        && wanted(&pull.snapshot)
                        && each(*pull) == ScanStep::Stop
                    {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Returns the newest open pull request that `wanted` accepts.
    pub(crate) async fn find_open(
        &self,
        cat: &mut CatFile,
        wanted: impl Fn(&Snapshot) -> bool + Send + Sync,
    ) -> Result<Option<StoredPull>> {
        let mut found = None;
        let open = |s: &Snapshot| s.state == PrState::Open && wanted(s);
        self.scan(cat, StateFilter::Open, open, |pull| {
            found = Some(pull);
            ScanStep::Stop
        })
        .await?;
        Ok(found)
    }
}

/// A page of a list while it is read.
struct PullListing<'a> {
    query: &'a PullQuery,
    filter: Filter,
    touches: Option<PathFilter>,
    book: Result<Option<LabelSet>>,
    limit: usize,
    /// Number of pull requests whose files were read.
    compared: u64,
    scanned: u64,
    /// Number of the last pull request that the page covers.
    last: u64,
    more: bool,
    result: Page<PullRequest>,
}

impl PullListing<'_> {
    fn is_wanted(&self, s: &Snapshot) -> bool {
        let labels = label_names(&s.labels, &self.book);
        self.filter.matches(&to_candidate(s, &labels))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanStep {
    Continue,
    Stop,
}

/// Returns the numbers less than `below` whose pull requests may be in `state`, in descending
/// order.
fn candidates(
    loaded: &LoadedIndex,
    state: StateFilter,
    below: u64,
) -> impl Iterator<Item = u64> + Send + use<> {
    match state {
        StateFilter::Open => loaded.index.open.below(below),
        _ => loaded.all.below(below),
    }
}

/// Returns the fields of a pull request that a filter tests.
fn to_candidate<'a>(s: &'a Snapshot, labels: &[&'a str]) -> SearchCandidate<'a> {
    SearchCandidate {
        number: Some(s.number),
        title: &s.title,
        description: &s.description,
        author: &s.author.login,
        assignees: s.assignees.iter().map(String::as_str).collect(),
        labels: labels.to_vec(),
        base: &s.base_branch,
        head: &s.head_branch,
        state: s.state,
        draft: s.draft,
        decision: s.review_counts().decision(),
        reviewed: s.counted_reviews().next().is_some(),
        pending_reviewers: s.pending_reviewers.iter().map(|r| r.handle()).collect(),
    }
}

/// Returns the current names of those `labels` that the repository still defines.
pub(crate) fn label_names<'a>(
    labels: &'a [LabelRef],
    book: &'a Result<Option<LabelSet>>,
) -> Vec<&'a str> {
    let labels = labels.iter();
    match book {
        Ok(Some(book)) => labels
            .filter_map(|l| book.current(l))
            .map(|l| l.name.as_str())
            .collect(),
        _ => labels.map(|l| l.name.as_str()).collect(),
    }
}
