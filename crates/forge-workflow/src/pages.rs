//! Reads all pages of a list.

use forge_core::{Error, ErrorKind, Page, PageReq, Result, call};

const MAX_PAGES: usize = 50;

/// Reads the items of all pages.
///
/// # Errors
///
/// Fails as `read` does, and with `protocol` for a list of more than [`MAX_PAGES`] pages.
pub(crate) async fn read_all_pages<T>(
    read: impl AsyncFn(PageReq) -> Result<Page<T>>,
) -> Result<Vec<T>> {
    call::together(pages(read)).await
}

async fn pages<T>(read: impl AsyncFn(PageReq) -> Result<Page<T>>) -> Result<Vec<T>> {
    let mut items = Vec::new();
    let mut page = PageReq::first(100);
    for _ in 0..MAX_PAGES {
        let found = read(page).await?;
        items.extend(found.items);
        match found.next {
            Some(cursor) => page = PageReq::after(cursor, 100),
            None => return Ok(items),
        }
    }
    let message = format!("the forge's list has more than {MAX_PAGES} pages");
    Err(Error::new(ErrorKind::Protocol, message)
        .with_hint("open the list on the forge's web site: forge stops at that many pages"))
}
