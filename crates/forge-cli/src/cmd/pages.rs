//! Reads paged lists.

use forge_core::{Error, ErrorKind, Page, PageReq, Repo, Result, Warning, call, text};

use crate::ctx::Ctx;

/// Maximum number of pages to read for a list without a limit.
const MAX_PAGES: usize = 100;
/// Maximum number of pages to read for a list with a limit.
const MAX_LIMITED_PAGES: usize = 1_000;

/// The items of a list, with the metadata of its pages.
pub(super) struct PagedItems<T> {
    pub items: Vec<T>,
    /// The total number of items, if the forge reports it.
    pub total: Option<u64>,
    more: bool,
    /// The number of items read before filtering. Zero if the forge itself filters the list.
    scanned: u64,
    /// The service that answered, if several services can answer.
    source: Option<String>,
    /// The warnings of the pages, already printed.
    warnings: Vec<Warning>,
}

/// Reads up to `limit` items page by page, and prints each warning of the pages once. If all pages
/// together exceed the size limit, or if there are too many pages, the list ends with a warning.
///
/// # Errors
/// The errors of `fetch`.
pub(super) async fn collect<T>(
    ctx: &Ctx,
    repo: &Repo,
    limit: u32,
    fetch: impl AsyncFn(PageReq) -> Result<Page<T>>,
) -> Result<PagedItems<T>> {
    call::together(pages(ctx, repo, limit, fetch)).await
}

async fn pages<T>(
    ctx: &Ctx,
    repo: &Repo,
    limit: u32,
    fetch: impl AsyncFn(PageReq) -> Result<Page<T>>,
) -> Result<PagedItems<T>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page_max = repo.limits().page_max.max(1);
    let mut found = PagedItems {
        items: Vec::new(),
        total: None,
        more: false,
        scanned: 0,
        source: None,
        warnings: Vec::new(),
    };
    let most = limit.div_ceil(page_max).clamp(MAX_PAGES, MAX_LIMITED_PAGES);
    let mut request = PageReq::first(limit.min(page_max));
    for _ in 0..most {
        let page = match fetch(request).await {
            Err(error) if call::is_spent(&error) && !found.items.is_empty() => {
                found.print_new_warnings(ctx, vec![call::cut_list(&error)]);
                found.more = true;
                return Ok(found);
            }
            page => page?,
        };
        found.print_new_warnings(ctx, page.warnings);
        let scanned = page.scanned.unwrap_or_default();
        found.scanned = match page.total {
            // A backend that reads the whole list at once reports the same full count with every
            // page, so these counts are not added.
            Some(_) => found.scanned.max(scanned),
            None => found.scanned.saturating_add(scanned),
        };
        found.total = found.total.or(page.total);
        found.source = found.source.or(page.source);
        found.items.extend(page.items);
        let left = limit.saturating_sub(found.items.len());
        match page.next {
            Some(next) if left > 0 => request = PageReq::after(next, left.min(page_max)),
            next => {
                found.more = next.is_some() || found.items.len() > limit;
                found.items.truncate(limit);
                return Ok(found);
            }
        }
    }
    let cut = format!("the list is incomplete: {}", too_many(most));
    found.print_new_warnings(ctx, vec![Warning::new(cut)]);
    found.more = true;
    Ok(found)
}

/// Reads a whole list in pages of `size` items, and passes each item to `take`, which must limit
/// the memory of the items that it keeps. Returns each warning of the pages once.
///
/// # Errors
/// The errors of `fetch` and `take`; `protocol` for a list of more than [`MAX_PAGES`] pages.
pub(super) async fn for_each<T>(
    size: usize,
    fetch: impl AsyncFn(PageReq) -> Result<Page<T>>,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<Vec<Warning>> {
    let mut request = PageReq::first(size);
    let mut warnings = Vec::new();
    for _ in 0..MAX_PAGES {
        let page = fetch(request).await?;
        for warning in page.warnings {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        for item in page.items {
            take(item)?;
        }
        match page.next {
            Some(next) => request = PageReq::after(next, size),
            None => return Ok(warnings),
        }
    }
    Err(Error::new(ErrorKind::Protocol, too_many(MAX_PAGES))
        .with_hint("open the list on the web page of the forge"))
}

/// Reads a whole list, in pages of the maximum size that the forge allows.
///
/// # Errors
/// The errors of [`for_each`]; `protocol` for a list that exceeds the size limit.
pub(super) async fn all<T>(
    repo: &Repo,
    fetch: impl AsyncFn(PageReq) -> Result<Page<T>>,
) -> Result<Vec<T>> {
    let size = repo.limits().page_max;
    let mut items = Vec::new();
    let take = |item| {
        items.push(item);
        Ok(())
    };
    call::together(for_each(size, fetch, take)).await?;
    Ok(items)
}

fn too_many(pages: usize) -> String {
    format!("the forge sends more than {pages} pages, and the rest is not read")
}

impl<T> PagedItems<T> {
    fn print_new_warnings(&mut self, ctx: &Ctx, warnings: Vec<Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                ctx.ui.warning(&warning);
                self.warnings.push(warning);
            }
        }
    }

    /// Prints each warning of the rows once, except warnings that were already printed for a page.
    /// `row` returns a row's name and warnings.
    pub fn print_row_warnings(&self, ctx: &Ctx, row: impl Fn(&T) -> (String, &[Warning])) {
        for warning in Warning::of_rows(self.items.iter().map(row), &self.warnings) {
            ctx.ui.warning(&warning);
        }
    }

    /// If this program filtered the list, prints how many items it read, and from which service.
    pub fn print_scan_note(&self, ctx: &Ctx, many: &str) {
        let matching = self.total.unwrap_or(self.items.len() as u64);
        if let Some(source) = &self.source
            && self.scanned > matching
        {
            let line = format!("looked at {} {many} of {source}", self.scanned);
            ctx.ui.note(&text::one_line(&line));
        }
    }

    /// Formats the line that gh prints above a list. `nouns` are singular and plural. `state` ends
    /// with a space, or is empty. If the total is unknown, the line does not claim that the list is
    /// complete.
    pub fn heading(&self, nouns: [&str; 2], state: &str, filtered: bool, place: &str) -> String {
        let count = self.items.len() as u64;
        let (total, shown) = match self.total {
            None if self.more => (count, format!("the first {count}")),
            total => {
                let total = total.unwrap_or(count);
                (total, format!("{count} of {total}"))
            }
        };
        let [one, many] = nouns;
        let noun = if total == 1 { one } else { many };
        if filtered {
            let verb = if total == 1 { "matches" } else { "match" };
            format!("Showing {shown} {noun} in {place} that {verb} your search")
        } else {
            format!("Showing {shown} {state}{noun} in {place}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use forge_core::Cursor;

    use super::*;

    #[tokio::test]
    async fn endless_list_is_a_protocol_error() {
        let fetched = Cell::new(0_usize);
        let fetch = async |_: PageReq| {
            fetched.set(fetched.get() + 1);
            let next = Some(Cursor::new("test", &1, &fetched.get().to_string()));
            let mut page = Page::complete(vec![1_usize]);
            page.next = next;
            Ok::<_, Error>(page)
        };
        let mut taken = 0;
        let take = |one: usize| {
            taken += one;
            Ok(())
        };
        let error = for_each(10, fetch, take).await.unwrap_err();
        assert_eq!(error.code(), "protocol");
        assert!(error.message().contains("more than 100 pages"), "{error}");
        assert_eq!((fetched.get(), taken), (MAX_PAGES, MAX_PAGES));
    }

    #[test]
    fn heading_omits_unknown_total() {
        let found = |total, more| PagedItems {
            items: vec![(), ()],
            total,
            more,
            scanned: 0,
            source: None,
            warnings: Vec::new(),
        };
        let heading = |total, more, filtered| {
            let nouns = ["issue", "issues"];
            found(total, more).heading(nouns, "open ", filtered, "a/b")
        };
        assert_eq!(
            heading(None, false, false),
            "Showing 2 of 2 open issues in a/b"
        );
        assert_eq!(
            heading(Some(9), true, false),
            "Showing 2 of 9 open issues in a/b"
        );
        assert_eq!(
            heading(None, true, false),
            "Showing the first 2 open issues in a/b"
        );
        assert_eq!(
            heading(None, true, true),
            "Showing the first 2 issues in a/b that match your search"
        );
    }
}
