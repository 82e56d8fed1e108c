//! Comments, reviews and threads.

mod comment;
mod conversation;
mod dismissal;
mod hunks;
mod issue_comments;
mod submit;
mod thread;

pub(crate) use comment::require_own;
pub(crate) use conversation::{CommentMapper, comment_id};
pub(crate) use issue_comments::fold_issue_comments;

use async_trait::async_trait;
use forge_core::{
    Capability, Outcome, Page, PageReq, PrId, Result, Reviews,
    model::{Comment, CommentId, NewReview, Review, Thread, ThreadFilter, ThreadId},
};

use crate::{Local, paging};

#[async_trait]
impl Reviews for Local {
    async fn comment(
        &self,
        pr: &PrId,
        body: &str,
        reply_to: Option<&CommentId>,
    ) -> Result<Outcome<Comment>> {
        self.add_comment(self.number(pr)?, body, reply_to).await
    }

    async fn edit_comment(&self, comment: &CommentId, body: &str) -> Result<Outcome<Comment>> {
        self.change_comment(self.number(&comment.pr)?, &comment.key, body)
            .await
    }

    async fn delete_comment(&self, comment: &CommentId) -> Result<Outcome<()>> {
        self.remove_comment(self.number(&comment.pr)?, &comment.key)
            .await
    }

    async fn comments(&self, pr: &PrId, page: PageReq) -> Result<Page<Comment>> {
        let number = self.number(pr)?;
        let all = self.read_conversation(number).await?.comments;
        paging::slice(all, &page, &("comments", number))
    }

    async fn reviews(&self, pr: &PrId, page: PageReq) -> Result<Page<Review>> {
        let number = self.number(pr)?;
        let all = self.read_conversation(number).await?.reviews;
        paging::slice(all, &page, &("reviews", number))
    }

    async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>> {
        self.add_review(self.number(pr)?, review).await
    }

    async fn discard_pending_review(&self, _: &PrId) -> Result<Outcome<u64>> {
        Err(Self::unsupported(Capability::ReviewPending))
    }

    async fn dismiss_review(&self, pr: &PrId, key: &str, message: &str) -> Result<Outcome<Review>> {
        self.dismiss(self.number(pr)?, key, message).await
    }

    async fn threads(
        &self,
        pr: &PrId,
        filter: ThreadFilter,
        page: PageReq,
    ) -> Result<Page<Thread>> {
        let number = self.number(pr)?;
        let mut all = self.read_conversation(number).await?.threads;
        all.retain(|t| match filter {
            ThreadFilter::All => true,
            ThreadFilter::Unresolved => !t.resolved,
            ThreadFilter::Resolved => t.resolved,
        });
        paging::slice(all, &page, &("threads", number, filter))
    }

    async fn resolve_thread(&self, thread: &ThreadId, resolved: bool) -> Result<Outcome<Thread>> {
        self.set_thread(self.number(&thread.pr)?, &thread.key, resolved)
            .await
    }
}
