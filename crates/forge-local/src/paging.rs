//! Pages of lists that are in memory.

use std::hash::Hash;

use forge_core::{Cursor, Error, Page, PageReq, Result};

use crate::caps::LIMITS;

/// The word of our cursors.
pub(crate) const SCHEME: &str = "local";

/// The longest page of a list that is worked out as a whole whatever its pages: short pages would
/// only repeat the work.
const WHOLE_MAX: usize = 10_000;

/// How many pull requests a page may hold.
pub(crate) fn limit(page: &PageReq) -> usize {
    page.limit.clamp(1, LIMITS.page_max)
}

/// The position of the page, a number; `None` on the first.
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

/// The page of `all` that was asked for; `query` says which list it is.
pub(crate) fn slice<T>(all: Vec<T>, page: &PageReq, query: &impl Hash) -> Result<Page<T>> {
    let begin = usize::try_from(position(page, query)?.unwrap_or(0)).unwrap_or(usize::MAX);
    let limit = page.limit.clamp(1, WHOLE_MAX);
    let total = all.len();
    let end = begin.saturating_add(limit).min(total);
    let items = all.into_iter().skip(begin).take(limit).collect();
    let next = (end < total).then(|| Cursor::new(SCHEME, query, &end.to_string()));
    Ok(Page {
        items,
        next,
        total: Some(total as u64),
        scanned: None,
        source: None,
        warnings: Vec::new(),
    })
}
