//! Lists issues. There is no index of issues, so a list reads the state of each issue until the
//! page is full.

use forge_core::{
    Cursor, Page, PageReq, Result,
    model::{Issue, IssueQuery},
};

use crate::{
    Local,
    ident::identity,
    paging::{self, SCHEME},
    pulls::{label_names, warning_of},
    store::{IssueSnapshot, same_login},
};

/// Number of issues that are read at once.
const BATCH_SIZE: usize = 64;

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
        let (mut scanned, mut last, mut more) = (0, 0, false);
        'chunks: for chunk in numbers.chunks(BATCH_SIZE) {
            for read in self.store.read_issues(&mut cat, chunk).await? {
                scanned += 1;
                let issue = match read {
                    Some(Ok(issue)) => issue,
                    Some(Err(e)) => {
                        result.warnings.push(warning_of(&e));
                        continue;
                    }
                    None => continue,
                };
                let labels = label_names(&issue.snapshot.labels, &book);
                if !matches(&query, &issue.snapshot, &labels) {
                    continue;
                }
                if result.items.len() == limit {
                    more = true;
                    break 'chunks;
                }
                last = issue.number();
                let mut row = self.issue_header(&issue, &book);
                self.add_comments(&mut cat, &issue, &query.fields, &mut row)
                    .await;
                result.items.push(row);
            }
        }
        if query.fields.relations && !result.items.is_empty() {
            let graph = self.issue_graph(&mut cat).await?;
            for issue in &mut result.items {
                graph.fill(self, issue);
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
}

fn matches(query: &IssueQuery, s: &IssueSnapshot, labels: &[String]) -> bool {
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
