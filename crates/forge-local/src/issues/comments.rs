//! Adds, edits and deletes issue comments.

use forge_core::{
    Action, Op, Outcome, Result,
    call::charge,
    check_version,
    model::{Comment, IssueId, SubjectKind},
};
use forge_git::CatFile;

use crate::{
    Local,
    caps::LIMITS,
    ident::{CommitIdentity, identity},
    reviews::{CommentMapper, comment_id, fold_issue_comments, require_own},
    store::{IssueEvent, StoredIssue, WriteRetry},
};

impl Local {
    pub(super) async fn add_issue_comment(
        &self,
        number: u64,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let before = self.store.read_issue(&mut cat, number).await?;
            let mut snapshot = before.snapshot.clone();
            snapshot.comments += 1;
            let event = IssueEvent::Commented {
                body: body.to_owned(),
            };
            let written = self
                .store
                .write_issue(Some(&before), snapshot, &by, event, Vec::new());
            match written.await? {
                Ok(issue) => {
                    let url = self.issue_id(number).to_string();
                    let writer = CommentMapper {
                        url: &url,
                        viewer: Some(&by.actor.login),
                    };
                    let id = comment_id(issue.snapshot.events);
                    let made = writer.comment(id, &by.actor, by.at, body);
                    return Ok(Outcome::immediate(made));
                }
                Err(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    pub(super) async fn change_issue_comment(
        &self,
        number: u64,
        key: &str,
        body: &str,
        expected_version: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let changed = self
            .rewrite_issue_comment(number, key, Some(body), expected_version)
            .await?;
        Ok(Outcome::immediate(changed))
    }

    pub(super) async fn remove_issue_comment(&self, number: u64, key: &str) -> Result<Outcome<()>> {
        self.rewrite_issue_comment(number, key, None, None).await?;
        Ok(Outcome::immediate(()))
    }

    /// Replaces the body of the viewer's comment `key`, or deletes the comment. Returns the comment
    /// as it was written instead of reading it again, because that read could fail.
    async fn rewrite_issue_comment(
        &self,
        number: u64,
        key: &str,
        body: Option<&str>,
        expected_version: Option<&str>,
    ) -> Result<Comment> {
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let before = self.store.read_issue(&mut cat, number).await?;
            let view = Action::op(Op::IssueView).on(number);
            check_version(&self.issue_id(number), expected_version, &before.tip, view)?;
            let comments = self.comments_of_issue(&mut cat, &before, Some(&by)).await?;
            let comment = comments.iter().find(|c| c.id == key);
            let done = if body.is_some() { "changed" } else { "deleted" };
            let comment = require_own(SubjectKind::Issue, number, comment, key, &by, done)?;
            let mut written = comment.clone();
            let mut snapshot = before.snapshot.clone();
            let comment = key.to_owned();
            let event = match body {
                Some(body) => {
                    body.clone_into(&mut written.body);
                    written.updated_at = Some(by.at);
                    IssueEvent::CommentEdited {
                        comment,
                        body: body.to_owned(),
                    }
                }
                None => {
                    snapshot.comments = snapshot.comments.saturating_sub(1);
                    IssueEvent::CommentDeleted { comment }
                }
            };
            let write = self
                .store
                .write_issue(Some(&before), snapshot, &by, event, Vec::new());
            match write.await? {
                Ok(_) => return Ok(written),
                Err(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    /// Returns the comments on `issue`, oldest first. Reads the viewer from git if `viewer` is
    /// `None`.
    pub(super) async fn comments_of_issue(
        &self,
        cat: &mut CatFile,
        issue: &StoredIssue,
        viewer: Option<&CommitIdentity>,
    ) -> Result<Vec<Comment>> {
        let ask = async {
            match viewer {
                Some(viewer) => Some(viewer.clone()),
                // Comments can be read without an identity of the viewer. In this case no comment
                // counts as the viewer's.
                None => identity(self.user_git()).await.ok(),
            }
        };
        let (log, viewer) = tokio::join!(self.store.issue_log(cat, issue), ask);
        let url = self.issue_id(issue.number()).to_string();
        let writer = CommentMapper {
            url: &url,
            viewer: viewer.as_ref().map(|i| i.actor.login.as_str()),
        };
        let log = log?;
        charge("the comments of the issue", 2 * log.weight())?.keep();
        Ok(fold_issue_comments(&log, &writer))
    }

    pub(super) fn issue_id(&self, number: u64) -> IssueId {
        IssueId::number(self.id().clone(), number)
    }
}
