//! Adds, edits and deletes comments.

use forge_core::{
    Action, Error, ErrorKind, Hint, Noun, Op, Outcome, Param, Result,
    model::{Comment, CommentId, SubjectKind},
    text,
};

use super::{CommentMapper, comment_id};
use crate::{
    Local,
    caps::LIMITS,
    ident::{CommitIdentity, identity},
    store::{AppendOutcome, NewEvent, PullEvent, WriteRetry},
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
            .with_hint("reply on the pull request of the comment"));
        }
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            // The returned comment is built from the written data. Reading the conversation again
            // could fail, and then a stored comment would be reported as failed.
            let url = self.pr(number).to_string();
            let writer = CommentMapper {
                url: &url,
                viewer: Some(&by.actor.login),
            };
            let id = comment_id(pull.snapshot.events + 1);
            let mut comment = writer.comment(id, &by.actor, by.at, body);
            let mut thread = None;
            if let Some(to) = reply_to {
                let said = self.conversation(&mut cat, &pull, Some(&by)).await?;
                let (answered, of) = said
                    .answered_by(&to.key)
                    .ok_or_else(|| no_comment(PULL, number, &to.key))?;
                comment.reply_to = Some(answered.id.clone());
                if let Some(of) = of {
                    comment.file_path = Some(of.path.clone());
                    comment.line_number = of.line;
                    thread = Some(of.id.clone());
                }
            }
            let mut snapshot = pull.snapshot.clone();
            snapshot.comments += u64::from(thread.is_none());
            let event = PullEvent::Commented {
                body: body.to_owned(),
                reply_to: comment.reply_to.clone(),
                thread,
            };
            match self
                .store
                .append(&mut cat, &pull, &by, NewEvent::new(event, snapshot))
                .await?
            {
                AppendOutcome::Done(_) => return Ok(Outcome::immediate(comment)),
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
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
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let said = self.conversation(&mut cat, &pull, Some(&by)).await?;
            let comment = require_own(PULL, number, said.comment(key), key, &by, "changed")?;
            let mut comment = comment.clone();
            body.clone_into(&mut comment.body);
            comment.updated_at = Some(by.at);
            let event = PullEvent::CommentEdited {
                comment: key.to_owned(),
                body: body.to_owned(),
            };
            let draft = NewEvent::new(event, pull.snapshot.clone());
            match self.store.append(&mut cat, &pull, &by, draft).await? {
                AppendOutcome::Done(_) => return Ok(Outcome::immediate(comment)),
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    pub(super) async fn remove_comment(&self, number: u64, key: &str) -> Result<Outcome<()>> {
        let by = identity(self.user_git()).await?;
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
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }
}

/// Fails if the comment is missing or belongs to another author.
pub(crate) fn require_own<'a>(
    kind: SubjectKind,
    number: u64,
    comment: Option<&'a Comment>,
    key: &str,
    by: &CommitIdentity,
    done: &str,
) -> Result<&'a Comment> {
    let comment = comment.ok_or_else(|| no_comment(kind, number, key))?;
    if by.is(&comment.author.login) {
        return Ok(comment);
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
        Hint::new("reply to the comment instead")
            .with_action(Action::op(answer).on(number).choose(Param::Body)),
    ))
}

fn no_comment(kind: SubjectKind, number: u64, key: &str) -> Error {
    let view = Action::op(match kind {
        SubjectKind::PullRequest => Op::PrView,
        SubjectKind::Issue => Op::IssueView,
    });
    let view = view.with(Param::Include, "comments");
    let view = match kind {
        SubjectKind::PullRequest => view.with(Param::Include, "threads"),
        SubjectKind::Issue => view,
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
