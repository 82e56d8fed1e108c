//! Reads the commits, comments or reviews of a pull request page by page.

use forge_core::{Cursor, Page, PageReq, PrId, Result, Warning};
use serde_json::json;

use crate::{
    GitHub,
    api::TokenChoice,
    gql::{
        GqlDocument,
        types::{self as wire, Nodes},
    },
    map, pr_variables,
    pulls::view::RepositoryOf,
};

/// GitHub's maximum page size.
pub(crate) const MAX_PAGE_SIZE: usize = 100;

pub(crate) struct Paged<T> {
    pub scheme: &'static str,
    /// The selection, which uses the variables `$first` and `$after`.
    pub selection: &'static str,
    pub take: fn(wire::Pull) -> Option<Nodes<T>>,
}

impl GitHub {
    /// Reads a page of at most `page.limit` entries, from as many of GitHub's pages as needed.
    pub(crate) async fn section_page<T>(
        &self,
        pr: &PrId,
        page: &PageReq,
        what: &Paged<T>,
    ) -> Result<Page<T>> {
        let key = pr.to_string();
        let cursor = page.position(what.scheme, &key)?;
        let mut after = cursor.map(str::to_owned);
        let mut document = GqlDocument::query("PullView");
        document.variable("first", "Int!");
        document.variable("after", "String");
        document.fragment("PullSections", "PullRequest", what.selection);
        let text = document.text();
        let (mut items, mut warnings) = (Vec::new(), Vec::new());
        let mut size = MAX_PAGE_SIZE;
        loop {
            let mut variables = pr_variables(pr)?;
            variables.insert(
                "first".into(),
                json!((page.limit - items.len()).min(MAX_PAGE_SIZE)),
            );
            variables.insert("after".into(), json!(after));
            let mut answer = self
                .api
                .query_in_pages::<RepositoryOf>(
                    TokenChoice::Account,
                    &text,
                    &variables.into(),
                    &mut size,
                )
                .await?;
            let (pull, unread) = self.pull_of(pr, &mut answer)?;
            let nodes = match (what.take)(pull) {
                Some(nodes) => nodes,
                None => return Err(self.api.first_error(&answer)),
            };
            if unread.is_empty() && nodes.has_gaps() {
                let host = &self.info.host;
                let message = format!("{host} left out a requested part of {pr}");
                warnings.push(Warning::new(message).with_hint("try again"));
            }
            warnings = map::merge_warnings(warnings, unread);
            let (next, total) = (nodes.next(), nodes.total_count);
            items.extend(nodes.into_vec());
            let stuck = next == after;
            after = next;
            if after.is_none() || stuck || items.len() >= page.limit {
                let next = after.filter(|_| !stuck);
                let mut result = Page::new(items);
                result.next = next.map(|position| Cursor::new(what.scheme, &key, &position));
                result.total = total;
                result.warnings = warnings;
                return Ok(result);
            }
        }
    }
}

/// Returns a warning if rows are missing and no error explains why. A row is missing if it is null,
/// or if the page is empty although GitHub counts rows.
///
/// `counted` is GitHub's count, which is given for the first page of a list only.
pub(crate) fn missing_rows_warning<T>(
    host: &str,
    what: &str,
    rows: &Nodes<T>,
    counted: Option<u64>,
    errors: usize,
) -> Option<Warning> {
    let all = rows.nodes.as_deref().unwrap_or_default();
    let nulls = all.iter().filter(|row| row.is_none()).count();
    let missing = match counted {
        Some(counted) if all.is_empty() && rows.next().is_none() => counted,
        _ => nulls as u64,
    };
    let unnamed = missing.saturating_sub(errors as u64);
    (unnamed > 0).then(|| {
        Warning::new(format!("{host} left out {unnamed} {what} of this list"))
            .with_hint("try again; if they are still missing, look at the page of the repository")
    })
}

/// Converts the items of a page.
pub(crate) fn map<T, U>(page: Page<T>, each: impl FnMut(T) -> U) -> Page<U> {
    let mut result = Page::new(page.items.into_iter().map(each).collect());
    result.next = page.next;
    result.total = page.total;
    result.scanned = page.scanned;
    result.source = page.source;
    result.warnings = page.warnings;
    result
}
