//! Reads all pages of a list.

use forge_core::{Page, PageReq, Result};

/// Maximum number of pages.
const MAX_PAGES: usize = 50;

/// Reads the items of all pages.
pub(crate) async fn all<T>(read: impl AsyncFn(PageReq) -> Result<Page<T>>) -> Result<Vec<T>> {
    let mut items = Vec::new();
    let mut page = PageReq::first(100);
    for _ in 0..MAX_PAGES {
        let found = read(page).await?;
        items.extend(found.items);
        match found.next {
            Some(cursor) => page = PageReq::after(cursor, 100),
            None => break,
        }
    }
    Ok(items)
}
