//! Adds, edits and deletes comments.

use forge_core::{
    Action, Error, ErrorKind, Hint, Noun, Op, Outcome, Param, Result,
    model::{Comment, CommentId, SubjectKind},
    text,
};
use forge_git::CatFile;

use super::conversation::comment_id;
use crate::{
    Local,
    caps::LIMITS,
    ident::{Identity, identity},
    store::{AppendOutcome, NewEvent, Pull, PullEvent, WriteRetry},
};

const PULL: SubjectKind = SubjectKind::PullRequest;

impl Local {
    pub(crate) async fn add_comment(
        &self,
        number: u64,
        body: &str,
        reply_to: Option<&CommentId>,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        if let Some(to) = reply_to
            && self.number(&to.pr)? != number
        {
            return Err(Error::invalid(
                "reply_to",
                format!(
                    "the comment {} is on {} and not on #{number}",
                    shown(&to.key),
                    to.pr
                ),
            )
            .with_hint("answer it on its own pull request"));
        }
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let (reply_to, thread) = match reply_to {
                None => (None, None),
                Some(to) => {
                    let said = self.conversation(&mut cat, &pull, Some(&by)).await?;
                    let (answered, thread) = said
                        .answered_by(&to.key)
                        .ok_or_else(|| no_comment(PULL, number, &to.key))?;
                    (
                        Some(answered.id.clone()),
                        thread.map(|thread| thread.id.clone()),
                    )
                }
            };
            let mut snapshot = pull.snapshot.clone();
            snapshot.comments += u64::from(thread.is_none());
            let event = PullEvent::Commented {
                body: body.to_owned(),
                reply_to,
                thread,
            };
            match self
                .store
                .append(&mut cat, &pull, &by, NewEvent::new(event, snapshot))
                .await?
            {
                AppendOutcome::Done(pull) => {
                    drop(attempts);
                    let id = comment_id(pull.snapshot.events);
                    return self.comment_now(&mut cat, &pull, &by, &id).await;
                }
                AppendOutcome::Lost(lost) => attempts.again(lost).await?,
            }
        }
    }

    pub(super) async fn change_comment(
        &self,
        number: u64,
        key: &str,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let said = self.conversation(&mut cat, &pull, Some(&by)).await?;
            require_own(PULL, number, said.comment(key), key, &by, "changed")?;
            let event = PullEvent::CommentEdited {
                comment: key.to_owned(),
                body: body.to_owned(),
            };
            let draft = NewEvent::new(event, pull.snapshot.clone());
            match self.store.append(&mut cat, &pull, &by, draft).await? {
                AppendOutcome::Done(pull) => {
                    drop(attempts);
                    return self.comment_now(&mut cat, &pull, &by, key).await;
                }
                AppendOutcome::Lost(lost) => attempts.again(lost).await?,
            }
        }
    }

    pub(super) async fn remove_comment(&self, number: u64, key: &str) -> Result<Outcome<()>> {
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let said = self.conversation(&mut cat, &pull, Some(&by)).await?;
            require_own(PULL, number, said.comment(key), key, &by, "deleted")?;
            let mut snapshot = pull.snapshot.clone();
            if said.thread_of(key).is_none() {
                snapshot.comments = snapshot.comments.saturating_sub(1);
            }
            let event = PullEvent::CommentDeleted {
                comment: key.to_owned(),
            };
            match self
                .store
                .append(&mut cat, &pull, &by, NewEvent::new(event, snapshot))
                .await?
            {
                AppendOutcome::Done(_) => return Ok(Outcome::immediate(())),
                AppendOutcome::Lost(lost) => attempts.again(lost).await?,
            }
        }
    }

    /// Reads a comment again after a write.
    async fn comment_now(
        &self,
        cat: &mut CatFile,
        pull: &Pull,
        by: &Identity,
        id: &str,
    ) -> Result<Outcome<Comment>> {
        let said = self.conversation(cat, pull, Some(by)).await?;
        let comment = said
            .comment(id)
            .cloned()
            .ok_or_else(|| no_comment(PULL, pull.number, id))?;
        Ok(Outcome::immediate(comment))
    }
}

/// Refuses a comment that is missing or written by another author.
pub(crate) fn require_own(
    kind: SubjectKind,
    number: u64,
    comment: Option<&Comment>,
    key: &str,
    by: &Identity,
    done: &str,
) -> Result<()> {
    let comment = comment.ok_or_else(|| no_comment(kind, number, key))?;
    if by.is(&comment.author.login) {
        return Ok(());
    }
    let author = text::one_line(&comment.author.login).into_owned();
    let answer = match kind {
        SubjectKind::PullRequest => Op::Comment,
        SubjectKind::Issue => Op::IssueComment,
    };
    Err(Error::new(
        ErrorKind::PermissionDenied {
            missing: Vec::new(),
            sso_url: None,
        },
        format!(
            "the comment {key} on #{number} is {author}'s, and can be {done} by {author} alone"
        ),
    )
    .with_hint(
        Hint::new("answer it instead")
            .with_action(Action::op(answer).on(number).choose(Param::Body)),
    ))
}

pub(crate) fn no_comment(kind: SubjectKind, number: u64, key: &str) -> Error {
    let view = match kind {
        SubjectKind::PullRequest => Action::op(Op::PrView).with(Param::Include, "comments"),
        SubjectKind::Issue => Action::op(Op::IssueView),
    };
    Error::not_found(
        Noun::Comment,
        format!("#{number} has no comment {}", shown(key)),
    )
    .with_hint(
        Hint::from(format!("look at the comments that #{number} has")).with_action(view.on(number)),
    )
}

fn shown(key: &str) -> String {
    text::one_line(key).into_owned()
}
