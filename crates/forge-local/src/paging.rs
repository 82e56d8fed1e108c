//! Cuts pages out of lists that are in memory.

use std::hash::Hash;

use forge_core::{Cursor, Error, Page, PageReq, Result};

use crate::caps::LIMITS;

/// The prefix of cursors from this backend.
pub(crate) const SCHEME: &str = "local";

/// Maximum page size of lists that are always computed in full. Every page repeats the whole
/// computation, so short pages would be slow.
const MAX_FULL_LIST: usize = 10_000;

/// Returns the maximum number of items on the requested page.
pub(crate) fn limit(page: &PageReq) -> usize {
    page.limit.clamp(1, LIMITS.page_max)
}

/// Returns the list position that the cursor contains; `None` for the first page.
pub(crate) fn position(page: &PageReq, query: &impl Hash) -> Result<Option<u64>> {
    let Some(cursor) = &page.cursor else {
        return Ok(None);
    };
    let position = cursor.position(SCHEME, query)?;
    position.parse().map(Some).map_err(|_| {
        Error::invalid(
            "cursor",
            format!("cursor '{}' has no position", cursor.as_str()),
        )
        .with_hint("start again without a cursor")
    })
}

/// Cuts the requested page out of `all`. `query` identifies the list.
pub(crate) fn slice<T>(all: Vec<T>, page: &PageReq, query: &impl Hash) -> Result<Page<T>> {
    let total = all.len();
    slice_iter(all.into_iter(), total, page, query)
}

/// Like [`slice`], for a list that stays in memory.
pub(crate) fn slice_ref<T: Clone>(all: &[T], page: &PageReq, query: &impl Hash) -> Result<Page<T>> {
    let cut = slice_iter(all.iter(), all.len(), page, query)?;
    let mut result = Page::new(cut.items.into_iter().cloned().collect());
    result.next = cut.next;
    result.total = cut.total;
    Ok(result)
}

fn slice_iter<T>(
    all: impl Iterator<Item = T>,
    total: usize,
    page: &PageReq,
    query: &impl Hash,
) -> Result<Page<T>> {
    let begin = usize::try_from(position(page, query)?.unwrap_or(0)).unwrap_or(usize::MAX);
    let limit = page.limit.clamp(1, MAX_FULL_LIST);
    let end = begin.saturating_add(limit).min(total);
    let items = all.skip(begin).take(limit).collect();
    let next = (end < total).then(|| Cursor::new(SCHEME, query, &end.to_string()));
    let mut result = Page::new(items);
    result.next = next;
    result.total = Some(total as u64);
    Ok(result)
}
