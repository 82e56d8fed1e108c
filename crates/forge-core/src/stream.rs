//! Streams for all paged lists of a [`Repo`].

use futures::{Stream, TryStreamExt as _, stream};

use crate::{
    Error, Page, PageReq, PrId, Repo, Result,
    model::{
        Branch, Comment, Commit, FileChange, Issue, IssueId, IssueQuery, Label, PullQuery,
        PullRequest, Review, StatusEvent, Thread, ThreadFilter,
    },
};

/// The paged lists as streams that read the next page on demand.
///
/// If a page fails, its error is the last item. Warnings are dropped; the method without `all_` in
/// its name returns them.
impl Repo {
    /// Streams the pull requests of a query, newest first.
    pub fn all_pulls(&self, query: PullQuery) -> impl Stream<Item = Result<PullRequest>> {
        items(self.limits().page_max, move |page| {
            let query = query.clone();
            async move { self.pulls(&query, page).await }
        })
    }

    /// Streams the issues of a query, in the order of the query.
    pub fn all_issues(&self, query: IssueQuery) -> impl Stream<Item = Result<Issue>> {
        items(self.limits().page_max, move |page| {
            let query = query.clone();
            async move { self.issues(&query, page).await }
        })
    }

    /// Streams the comments, oldest first.
    pub fn all_comments(&self, pr: &PrId) -> impl Stream<Item = Result<Comment>> {
        items(self.limits().page_max, move |page| self.comments(pr, page))
    }

    /// Streams the reviews, oldest first.
    pub fn all_reviews(&self, pr: &PrId) -> impl Stream<Item = Result<Review>> {
        items(self.limits().page_max, move |page| self.reviews(pr, page))
    }

    /// Streams the review threads.
    pub fn all_threads(
        &self,
        pr: &PrId,
        filter: ThreadFilter,
    ) -> impl Stream<Item = Result<Thread>> {
        items(self.limits().page_max, move |page| {
            self.threads(pr, filter, page)
        })
    }

    /// Streams the changed files.
    pub fn all_files(&self, pr: &PrId) -> impl Stream<Item = Result<FileChange>> {
        items(self.limits().page_max, move |page| self.files(pr, page))
    }

    /// Streams the commits, oldest first.
    pub fn all_commits(&self, pr: &PrId) -> impl Stream<Item = Result<Commit>> {
        items(self.limits().page_max, move |page| self.commits(pr, page))
    }

    /// Streams the status history, oldest first.
    pub fn all_history(&self, pr: &PrId) -> impl Stream<Item = Result<StatusEvent>> {
        items(self.limits().page_max, move |page| self.history(pr, page))
    }

    /// Streams the events of an issue, oldest first.
    pub fn all_issue_history(&self, issue: &IssueId) -> impl Stream<Item = Result<StatusEvent>> {
        items(self.limits().page_max, move |page| {
            self.issue_history(issue, page)
        })
    }

    /// Streams the labels of the repository.
    pub fn all_labels(&self) -> impl Stream<Item = Result<Label>> {
        items(self.limits().page_max, move |page| self.labels(page))
    }

    /// Streams the branches with their head commits, sorted by name.
    pub fn all_branches(&self) -> impl Stream<Item = Result<Branch>> {
        items(self.limits().page_max, move |page| self.branches(page))
    }
}

/// Streams the items of a list. `read` reads one page.
fn items<T, P>(limit: usize, read: impl Fn(PageReq) -> P) -> impl Stream<Item = Result<T>>
where
    P: Future<Output = Result<Page<T>>>,
{
    let first = Some(PageReq::first(limit));
    let pages = stream::try_unfold(first, move |page: Option<PageReq>| {
        let page = page.map(&read);
        async move {
            let Some(page) = page else { return Ok(None) };
            let page = page.await?;
            let next = page.next.map(|cursor| PageReq::after(cursor, limit));
            let items = stream::iter(page.items.into_iter().map(Ok::<T, Error>));
            Ok::<_, Error>(Some((items, next)))
        }
    });
    pages.try_flatten()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::Cursor;

    /// Returns a page of two numbers. Page 2 is the last one, or fails if `is_broken`.
    async fn page(req: PageReq, is_broken: bool) -> Result<Page<u64>> {
        let number = match req.position("test", &"numbers")? {
            Some(_) => 2,
            None => 1,
        };
        if number == 2 && is_broken {
            return Err(Error::invalid("page", "broken"));
        }
        let mut page = Page::complete(vec![number * 10, number * 10 + 1]);
        page.next = (number == 1).then(|| Cursor::new("test", &"numbers", "2"));
        Ok(page)
    }

    #[tokio::test]
    async fn stream_reads_pages_on_demand() {
        let asked = RefCell::new(Vec::new());
        let read = |req: PageReq| {
            asked.borrow_mut().push(req.limit);
            page(req, false)
        };
        let mut numbers = std::pin::pin!(items(2, read));
        for number in [10, 11] {
            assert_eq!(numbers.try_next().await.unwrap(), Some(number));
        }
        assert_eq!(*asked.borrow(), [2]);
        let rest: Vec<u64> = numbers.try_collect().await.unwrap();
        assert_eq!(rest, [20, 21]);
        assert_eq!(*asked.borrow(), [2, 2]);
    }

    #[tokio::test]
    async fn failed_page_ends_stream() {
        let mut numbers = std::pin::pin!(items(2, |req| page(req, true)));
        for number in [10, 11] {
            assert_eq!(numbers.try_next().await.unwrap(), Some(number));
        }
        assert!(numbers.try_next().await.is_err());
        assert_eq!(numbers.try_next().await.unwrap(), None);
    }
}
