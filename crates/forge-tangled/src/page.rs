//! Cuts pages from lists that are completely in memory.

use forge_core::{Cursor, Error, Page, PageReq, Result};

use crate::hints::from_start;

/// Returns the page of `all` for `req`. The cursor is valid only for the same `query`.
pub(crate) fn of<T>(scheme: &str, query: &str, all: Vec<T>, req: &PageReq) -> Result<Page<T>> {
    let from: usize = match &req.cursor {
        Some(cursor) => cursor.position(scheme, &query)?.parse().map_err(|_| {
            Error::invalid(
                "cursor",
                format!("cursor '{}' has no position", cursor.as_str()),
            )
            .with_hint(from_start())
        })?,
        None => 0,
    };
    let total = all.len();
    let items: Vec<T> = all.into_iter().skip(from).take(req.limit).collect();
    let end = from.saturating_add(items.len());
    let mut result = Page::new(items);
    result.next = (end < total).then(|| Cursor::new(scheme, &query, &end.to_string()));
    result.total = Some(total as u64);
    Ok(result)
}
