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
    store::{Index, Pull, Read},
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
            warnings: Vec::new(),
        };
        let (mut scanned, mut last, mut more) = (0u64, 0, false);
        'pages: loop {
            let room = limit + 1 - result.items.len();
            let take = if filter.is_narrow() {
                BATCH
            } else {
                room.min(BATCH)
            };
            let chunk: Vec<u64> = numbers.by_ref().take(take).collect();
            if chunk.is_empty() {
                break;
            }
            for (number, read) in chunk
                .iter()
                .zip(self.store.read_many(&mut cat, &chunk).await?)
            {
                if result.items.len() == limit {
                    more = true;
                    break 'pages;
                }
                scanned += 1;
                match read {
                    Read::Missing => {}
                    Read::Broken(e) => result.warnings.push(warning_of(&e)),
                    Read::Pull(pull) if filter.matches(&pull, &label_names(&pull, &book)) => {
                        let shown = self
                            .present_with(&mut cat, *pull, query.fields, &book)
                            .await?;
                        result.items.push(shown);
                    }
                    Read::Pull(_) => {}
                }
                last = *number;
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
        let index = self.store.index(&mut cat).await?.index;
        let mut numbers = candidates(&index, state, u64::MAX);
        loop {
            let chunk: Vec<u64> = numbers.by_ref().take(BATCH).collect();
            if chunk.is_empty() {
                break;
            }
            for read in self.store.read_many(&mut cat, &chunk).await? {
                let Read::Pull(pull) = read else { continue };
                let s = &pull.snapshot;
                if s.head_branch == head.branch && in_state(s.state, state) {
                    found.push(*pull);
                }
            }
        }
        // Newest first already; the sort is stable.
        found.sort_by_key(|p| !p.is_open());
        let mut shown = Vec::with_capacity(found.len());
        for pull in found {
            shown.push(self.present(&mut cat, pull, fields).await?);
        }
        Ok(shown)
    }

    /// Reads all open ones, newest first, and hands them to `each`.
    pub(crate) async fn for_each_open(
        &self,
        cat: &mut CatFile,
        mut each: impl FnMut(Pull) + Send,
    ) -> Result<()> {
        let index = self.store.index(cat).await?.index;
        let mut numbers = index.open.below(u64::MAX);
        loop {
            let chunk: Vec<u64> = numbers.by_ref().take(BATCH).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            for read in self.store.read_many(cat, &chunk).await? {
                if let Read::Pull(pull) = read
                    && pull.is_open()
                {
                    each(*pull);
                }
            }
        }
    }
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

/// The names of the labels of `pull` that still exist.
fn label_names(pull: &Pull, book: &Result<Option<Book>>) -> Vec<String> {
    let labels = pull.snapshot.labels.iter();
    match book {
        Ok(Some(book)) => labels
            .filter_map(|l| book.current(l))
            .map(|l| l.name.clone())
            .collect(),
        _ => labels.map(|l| l.name.clone()).collect(),
    }
}
