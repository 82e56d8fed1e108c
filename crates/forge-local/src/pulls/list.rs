//! Lists and lookups by branch.

use forge_core::{
    Cursor, Page, PageReq, Result,
    model::{HeadRef, PrFields, PrState, PullQuery, PullRequest, StateFilter},
};
use forge_git::CatFile;

use super::view::warning_of;
use crate::{
    Local,
    ident::identity,
    labels::Book,
    paging::{self, SCHEME},
    search::Filter,
    store::{Index, LabelRef, Pull, Read, Snapshot},
};

/// How many candidates are read at once when a filter may drop most of them.
const BATCH: usize = 64;

impl Local {
    pub(crate) async fn list_pulls(
        &self,
        query: &PullQuery,
        page: &PageReq,
    ) -> Result<Page<PullRequest>> {
        let mut filter = Filter::of(query)?;
        if filter.needs_viewer() {
            filter.resolve(&identity(self.git()).await?.actor.login);
        }
        let below = paging::position(page, query)?.unwrap_or(u64::MAX);
        let limit = paging::limit(page);
        let mut cat = self.store.cat();
        let index = self.store.index(&mut cat).await?.index;
        let mut numbers = candidates(&index, filter.state(), below);
        let book = self.store.labels(&mut cat).await.map(|l| Some(l.book));

        let mut result = Page {
            items: Vec::new(),
            next: None,
            total: None,
            scanned: Some(0),
            source: None,
            warnings: Vec::new(),
        };
        let matches = |s: &Snapshot| filter.matches(s, &label_names(&s.labels, &book));
        let (mut scanned, mut last, mut more) = (0, 0, false);
        'chunks: loop {
            // One more than the page holds tells whether there is another page.
            let room = limit + 1 - result.items.len();
            let take = if filter.is_narrow() {
                BATCH
            } else {
                room.min(BATCH)
            };
            let mut chunk: Vec<u64> = numbers.by_ref().take(take).collect();
            if chunk.is_empty() {
                break;
            }
            scanned += chunk.len() as u64;
            if filter.is_narrow() {
                chunk = self.store.preselect(&mut cat, &chunk, matches).await?;
            }
            for read in self.store.read_many(&mut cat, &chunk).await? {
                let pull = match read {
                    Read::Pull(pull) if matches(&pull.snapshot) => pull,
                    Read::Pull(_) | Read::Missing => continue,
                    Read::Broken(e) => {
                        result.warnings.push(warning_of(&e));
                        continue;
                    }
                };
                if result.items.len() == limit {
                    more = true;
                    break 'chunks;
                }
                last = pull.number;
                let shown = self
                    .present_with(&mut cat, *pull, query.fields, &book)
                    .await?;
                result.items.push(shown);
            }
        }
        if more {
            result.next = Some(Cursor::new(SCHEME, query, &last.to_string()));
            let all = match filter.state() {
                StateFilter::Open => Some(index.open.len()),
                StateFilter::All => Some(index.highest),
                StateFilter::Closed | StateFilter::Merged => None,
            };
            result.total = all.filter(|_| !filter.is_narrow());
        } else if page.cursor.is_none() {
            result.total = Some(result.items.len() as u64);
        }
        result.scanned = Some(scanned);
        Ok(result)
    }

    pub(crate) async fn find_pulls(
        &self,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<Vec<PullRequest>> {
        if head.owner.is_some() {
            // No branch of another repository is ever a head here.
            return Ok(Vec::new());
        }
        let mut cat = self.store.cat();
        let mut found = Vec::new();
        let wanted = |s: &Snapshot| s.head_branch == head.branch && in_state(s.state, state);
        self.scan(&mut cat, state, wanted, |pull| {
            found.push(pull);
            Scan::Goes
        })
        .await?;
        // Newest first already; the sort is stable.
        found.sort_by_key(|p| !p.is_open());
        let mut shown = Vec::with_capacity(found.len());
        for pull in found {
            shown.push(self.present(&mut cat, pull, fields).await?);
        }
        Ok(shown)
    }

    /// Hands those in `state` that `wanted` takes to `each`, newest first, until it has enough.
    pub(crate) async fn scan(
        &self,
        cat: &mut CatFile,
        state: StateFilter,
        wanted: impl Fn(&Snapshot) -> bool + Send + Sync,
        mut each: impl FnMut(Pull) -> Scan + Send,
    ) -> Result<()> {
        let index = self.store.index(cat).await?.index;
        let mut numbers = candidates(&index, state, u64::MAX);
        loop {
            let chunk: Vec<u64> = numbers.by_ref().take(BATCH).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            let chunk = self.store.preselect(cat, &chunk, &wanted).await?;
            for read in self.store.read_many(cat, &chunk).await? {
                if let Read::Pull(pull) = read
                    && wanted(&pull.snapshot)
                    && each(*pull) == Scan::Ends
                {
                    return Ok(());
                }
            }
        }
    }

    /// The newest open one that `wanted` takes.
    pub(crate) async fn find_open(
        &self,
        cat: &mut CatFile,
        wanted: impl Fn(&Snapshot) -> bool + Send + Sync,
    ) -> Result<Option<Pull>> {
        let mut found = None;
        let open = |s: &Snapshot| s.state == PrState::Open && wanted(s);
        self.scan(cat, StateFilter::Open, open, |pull| {
            found = Some(pull);
            Scan::Ends
        })
        .await?;
        Ok(found)
    }
}

/// Whether a scan wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    Goes,
    Ends,
}

/// The numbers below `below` that may be in `state`, from the highest down.
fn candidates(
    index: &Index,
    state: StateFilter,
    below: u64,
) -> Box<dyn Iterator<Item = u64> + Send> {
    match state {
        StateFilter::Open => Box::new(index.open.below(below)),
        _ => Box::new((1..below.min(index.highest + 1)).rev()),
    }
}

/// Whether `state` is one of those that `filter` shows.
pub(crate) fn in_state(state: PrState, filter: StateFilter) -> bool {
    match filter {
        StateFilter::Open => state == PrState::Open,
        StateFilter::Closed => state != PrState::Open,
        StateFilter::Merged => state == PrState::Merged,
        StateFilter::All => true,
    }
}

/// The names of those labels that still exist.
pub(crate) fn label_names(labels: &[LabelRef], book: &Result<Option<Book>>) -> Vec<String> {
    let labels = labels.iter();
    match book {
        Ok(Some(book)) => labels
            .filter_map(|l| book.current(l))
            .map(|l| l.name.clone())
            .collect(),
        _ => labels.map(|l| l.name.clone()).collect(),
    }
}
