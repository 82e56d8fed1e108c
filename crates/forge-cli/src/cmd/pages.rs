//! Lists that come in pages.

use forge_core::{Page, PageReq, Repo, Result, Warning};

use super::Ctx;

/// What a list has.
pub(super) struct Found<T> {
    pub items: Vec<T>,
    /// How many there are in all, where the forge says so.
    pub total: Option<u64>,
    /// What the pages warned of. It has been told.
    warnings: Vec<Warning>,
}

/// Up to `limit` items, page by page. The warnings of the pages are told, each once.
///
/// # Errors
/// As `fetch`.
pub(super) async fn collect<T>(
    ctx: &Ctx,
    repo: &Repo,
    limit: u32,
    fetch: impl AsyncFn(PageReq) -> Result<Page<T>>,
) -> Result<Found<T>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page_max = repo.client().forge().capabilities().limits.page_max.max(1);
    let mut found = Found {
        items: Vec::new(),
        total: None,
        warnings: Vec::new(),
    };
    let mut request = PageReq::first(limit.min(page_max));
    loop {
        let page = fetch(request).await?;
        for warning in page.warnings {
            if !found.warnings.contains(&warning) {
                ctx.ui.warning(&warning);
                found.warnings.push(warning);
            }
        }
        found.total = found.total.or(page.total);
        found.items.extend(page.items);
        let left = limit.saturating_sub(found.items.len());
        match page.next {
            Some(next) if left > 0 => request = PageReq::after(next, left.min(page_max)),
            _ => {
                found.items.truncate(limit);
                return Ok(found);
            }
        }
    }
}

impl<T> Found<T> {
    /// Tells the warnings of the rows, each once, and none that a page had. `row` is the name of
    /// one and its warnings.
    pub fn tell_of_rows(&self, ctx: &Ctx, row: impl Fn(&T) -> (String, &[Warning])) {
        for warning in Warning::of_rows(self.items.iter().map(row), &self.warnings) {
            ctx.ui.warning(&warning);
        }
    }

    /// gh's line above a list. `nouns` are one and several of them; `state` ends with a blank, or
    /// is empty.
    pub fn heading(&self, nouns: [&str; 2], state: &str, filtered: bool, place: &str) -> String {
        let count = self.items.len();
        let total = self.total.unwrap_or(count as u64);
        let [one, many] = nouns;
        let noun = if total == 1 { one } else { many };
        if filtered {
            let verb = if total == 1 { "matches" } else { "match" };
            format!("Showing {count} of {total} {noun} in {place} that {verb} your search")
        } else {
            format!("Showing {count} of {total} {state}{noun} in {place}")
        }
    }
}
