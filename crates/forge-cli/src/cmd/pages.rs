//! Lists that come in pages.

use forge_core::{Page, PageReq, Repo, Result, Warning, call, text};

use crate::ctx::Ctx;

/// What a list has.
pub(super) struct Found<T> {
    pub items: Vec<T>,
    /// How many there are in all, where the forge says so.
    pub total: Option<u64>,
    /// There are more than these.
    more: bool,
    /// How many were looked at, where filters run on our side.
    scanned: u64,
    /// Who answered, where several can.
    source: Option<String>,
    /// What the pages warned of. It has been told.
    warnings: Vec<Warning>,
}

/// Up to `limit` items, page by page. The warnings of the pages are told, each once. What the pages
/// have in all is bounded: then the list ends with a warning.
///
/// # Errors
/// As `fetch`.
pub(super) async fn collect<T>(
    ctx: &Ctx,
    repo: &Repo,
    limit: u32,
    fetch: impl AsyncFn(PageReq) -> Result<Page<T>>,
) -> Result<Found<T>> {
    call::together(pages(ctx, repo, limit, fetch)).await
}

async fn pages<T>(
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
        more: false,
        scanned: 0,
        source: None,
        warnings: Vec::new(),
    };
    let mut request = PageReq::first(limit.min(page_max));
    loop {
        let page = match fetch(request).await {
            Err(error) if call::is_spent(&error) && !found.items.is_empty() => {
                found.tell(ctx, vec![call::cut_list(&error)]);
                found.more = true;
                return Ok(found);
            }
            page => page?,
        };
        found.tell(ctx, page.warnings);
        let scanned = page.scanned.unwrap_or_default();
        found.scanned = match page.total {
            // Each page of a list that was read as a whole says how long that is.
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
}

impl<T> Found<T> {
    /// Tells the warnings of a page that no page before had.
    fn tell(&mut self, ctx: &Ctx, warnings: Vec<Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                ctx.ui.warning(&warning);
                self.warnings.push(warning);
            }
        }
    }

    /// Tells the warnings of the rows, each once, and none that a page had. `row` is the name of
    /// one and its warnings.
    pub fn tell_of_rows(&self, ctx: &Ctx, row: impl Fn(&T) -> (String, &[Warning])) {
        for warning in Warning::of_rows(self.items.iter().map(row), &self.warnings) {
            ctx.ui.warning(&warning);
        }
    }

    /// Tells how many had to be looked at because a filter runs on our side, and who was asked.
    pub fn tell_of_looks(&self, ctx: &Ctx, many: &str) {
        let matching = self.total.unwrap_or(self.items.len() as u64);
        if let Some(source) = &self.source
            && self.scanned > matching
        {
            let line = format!("looked at {} {many} of {source}", self.scanned);
            ctx.ui.note(&text::one_line(&line));
        }
    }

    /// gh's line above a list. `nouns` are one and several of them; `state` ends with a blank, or
    /// is empty. Where nobody knows how many there are, it does not say that these are all.
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
    use super::*;

    #[test]
    fn a_heading_claims_no_number_that_nobody_knows() {
        let found = |total, more| Found {
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
