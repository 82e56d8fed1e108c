//! Lists issues. There is no index of issues, so a list reads the state of each issue until the
//! page is full.

use forge_core::{
    Cursor, Page, PageReq, Result,
    call::{cut_list, is_spent},
    model::{Issue, IssueQuery},
};

use forge_git::CatFile;

use crate::{
    Local,
    ident::identity,
    labels::LabelSet,
    paging::{self, SCHEME},
    pulls::{label_names, warning_of},
    store::{IssueSnapshot, MAX_IN_MEMORY, StoredIssue, same_login},
};

impl Local {
    pub(super) async fn list_issues(
        &self,
        query: &IssueQuery,
        page: &PageReq,
    ) -> Result<Page<Issue>> {
        let bound = ("issues", query);
        let last = paging::position(page, &bound)?;
        let mut query = query.clone();
        for login in [&mut query.author, &mut query.assignee] {
            if login.as_deref() == Some("@me") {
                *login = Some(identity(self.user_git()).await?.actor.login);
            }
        }
        let limit = paging::limit(page);
        let mut cat = self.store.cat();
        let book = self.store.labels(&mut cat).await.map(|l| Some(l.book));
        let mut result = Page::new(Vec::new());
        let numbers = self.store.issue_numbers().await?;
        let is_left = |n: &u64| match query.oldest_first {
            true => last.is_none_or(|last| *n > last),
            false => last.is_none_or(|last| *n < last),
        };
        let mut numbers: Vec<u64> = numbers.into_iter().filter(is_left).collect();
        if query.oldest_first {
            numbers.reverse();
        }
        let mut listing = IssueListing {
            query: &query,
            limit,
            scanned: 0,
            last: 0,
            more: false,
            rows: Vec::new(),
        };
        let filled = self
            .fill_issues(&mut cat, &numbers, &book, &mut listing, &mut result)
            .await;
        match filled {
            Err(e) if is_spent(&e) && !listing.rows.is_empty() => {
                result.warnings.push(cut_list(&e));
                listing.more = true;
            }
            filled => filled?,
        }
        let IssueListing {
            scanned,
            last,
            more,
            rows,
            ..
        } = listing;
        result.items = rows;
        if query.fields.relations && !result.items.is_empty() {
            match self.issue_graph(&mut cat).await {
                Ok(graph) => {
                    for issue in &mut result.items {
                        graph.fill(self, issue);
                    }
                }
                Err(e) if is_spent(&e) => {
                    let unread = warning_of(&e).of_section("relations");
                    result.warnings.push(unread);
                }
                Err(e) => return Err(e),
            }
        }
        if more {
            result.next = Some(Cursor::new(SCHEME, &bound, &last.to_string()));
        } else if page.cursor.is_none() {
            result.total = Some(result.items.len() as u64);
        }
        result.scanned = Some(scanned);
        Ok(result)
    }

    /// Reads the issues `numbers` until the page is full.
    async fn fill_issues(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
        book: &Result<Option<LabelSet>>,
        listing: &mut IssueListing<'_>,
        result: &mut Page<Issue>,
    ) -> Result<()> {
        for chunk in numbers.chunks(MAX_IN_MEMORY) {
            for read in self.store.read_issues(cat, chunk).await? {
                listing.scanned += 1;
                let issue = match read {
                    Some(Ok(issue)) => issue,
                    Some(Err(e)) => {
                        result.warnings.push(warning_of(&e));
                        continue;
                    }
                    None => continue,
                };
                if !listing.is_wanted(&issue, book) {
                    continue;
                }
                if listing.rows.len() == listing.limit {
                    listing.more = true;
                    return Ok(());
                }
                let mut row = self.issue_header(&issue, book)?;
                self.add_comments(cat, &issue, &listing.query.fields, &mut row)
                    .await;
                listing.last = issue.number();
                listing.rows.push(row);
            }
        }
        Ok(())
    }
}

/// A page of a list while it is read.
struct IssueListing<'a> {
    query: &'a IssueQuery,
    limit: usize,
    scanned: u64,
    /// Number of the last issue on the page.
    last: u64,
    more: bool,
    rows: Vec<Issue>,
}

impl IssueListing<'_> {
    fn is_wanted(&self, issue: &StoredIssue, book: &Result<Option<LabelSet>>) -> bool {
        let labels = label_names(&issue.snapshot.labels, book);
        matches(self.query, &issue.snapshot, &labels)
    }
}

fn matches(query: &IssueQuery, s: &IssueSnapshot, labels: &[&str]) -> bool {
    let author = query.author.as_ref();
    let assignee = query.assignee.as_ref();
    query.state.shows(s.state)
        && author.is_none_or(|login| same_login(&s.author.login, login))
        && assignee.is_none_or(|login| s.assignees.iter().any(|a| same_login(a, login)))
        && query
            .labels
            .iter()
            .all(|wanted| labels.iter().any(|l| same_login(l, wanted)))
}
