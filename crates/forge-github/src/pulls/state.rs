//! Closes, reopens, marks as ready and converts to draft: one query for id and state, one document
//! of mutations.

use forge_core::{
    Action, Error, ErrorKind, Hint, Op, Outcome, Param, PrId, Precondition, Result, Retry, Step,
    Warning, is_expected_head,
    model::{CloseReq, PrFields, PrState, PullRequest},
};
use serde_json::json;

use super::head_branch::{head_moved_warning, kept_in_fork};
use crate::{
    GitHub,
    caps::LIMITS,
    error::ambiguous,
    gql::{
        mutation::{
            ADD_COMMENT, Batch, CLOSE_PULL, CONVERT_TO_DRAFT, DISABLE_AUTO_MERGE, MARK_READY,
            Mutation, REOPEN_PULL,
        },
        selections::{self, Branches},
        types as wire,
    },
    hints::{OPEN_ANOTHER, reopen},
    map,
    mutate::{PullPayload, failed, last_pull, or_read_back},
    number,
};

impl GitHub {
    pub(super) async fn close_pull(
        &self,
        pr: &PrId,
        req: &CloseReq,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(comment) = &req.comment {
            LIMITS.check_comment("body", comment)?;
        }
        let branches = match req.delete_branch {
            true => Branches::Head,
            false => Branches::None,
        };
        let (wire, pull) = self
            .read_before_change(pr, req.comment.is_some(), branches)
            .await?;
        let head = pull.head_oid.clone();
        let is_meant = is_expected_head(pr, req.expected_head.as_deref(), head.as_deref())?;
        match pull.state {
            PrState::Merged => return Err(merged(pr, "closed", req.comment.as_deref())),
            PrState::Closed => {
                let mut outcome = unchanged(pull, "closed");
                self.comment_on_unchanged(&wire, req.comment.as_deref(), &mut outcome)
                    .await?;
                outcome
                    .warnings
                    .extend(req.branch_kept_warning(&outcome.value));
                return Ok(outcome);
            }
            PrState::Open => {}
        }
        if req.delete_branch && is_meant && !wire.is_cross_repository && wire.head_ref.is_some() {
            self.refuse_to_close_dependents(pr, &pull.head_branch, &wire)
                .await?;
        }
        let comment = req.comment.as_deref();
        let mut outcome = self
            .change(&wire, pull, CLOSE_PULL, comment, |p| {
                p.state == PrState::Closed
            })
            .await?;
        if req.delete_branch && wire.is_cross_repository {
            outcome.warnings.push(kept_in_fork(pr, &wire));
        } else if req.delete_branch && !(is_meant && outcome.value.head_oid == head) {
            // GitHub would delete the branch even if the branch has newer commits, so such a branch
            // is kept.
            let closed = &outcome.value;
            let kept = head_moved_warning(&closed.head_branch, closed.head_oid.as_deref());
            outcome.steps.push(Step::delete_head_branch(None));
            outcome.warnings.push(kept);
        } else if req.delete_branch {
            let branch = outcome.value.head_branch.clone();
            self.delete_head(
                pr,
                &wire,
                &branch,
                &mut outcome.steps,
                &mut outcome.warnings,
            )
            .await;
        }
        Ok(outcome)
    }

    pub(super) async fn reopen_pull(
        &self,
        pr: &PrId,
        comment: Option<&str>,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(comment) = comment {
            LIMITS.check_comment("body", comment)?;
        }
        let (wire, pull) = self
            .read_before_change(pr, comment.is_some(), Branches::Both)
            .await?;
        match pull.state {
            PrState::Merged => return Err(merged(pr, "reopened", comment)),
            PrState::Open => {
                let mut outcome = unchanged(pull, "open");
                self.comment_on_unchanged(&wire, comment, &mut outcome)
                    .await?;
                return Ok(outcome);
            }
            PrState::Closed => {}
        }
        for (field, branch, there) in [
            ("head", &pull.head_branch, wire.head_ref.is_some()),
            ("base", &pull.base_branch, wire.base_ref.is_some()),
        ] {
            if !there {
                return Err(Error::invalid(
                    field,
                    format!("the {field} branch '{branch}' of {pr} is gone"),
                )
                .with_hint("push the branch again, then reopen"));
            }
        }
        self.change(&wire, pull, REOPEN_PULL, comment, |p| {
            p.state == PrState::Open
        })
        .await
    }

    pub(super) async fn set_pull_draft(
        &self,
        pr: &PrId,
        draft: bool,
    ) -> Result<Outcome<PullRequest>> {
        let (wire, pull) = self.read_before_change(pr, false, Branches::None).await?;
        match pull.state {
            PrState::Merged => {
                let what = if draft { "made a draft" } else { "made ready" };
                return Err(merged(pr, what, None));
            }
            PrState::Closed => {
                return Err(
                    Error::precondition(Precondition::Closed, format!("{pr} is closed"))
                        .with_hint(reopen(pr)),
                );
            }
            PrState::Open if pull.draft == draft => {
                return Ok(unchanged(pull, if draft { "a draft" } else { "ready" }));
            }
            PrState::Open => {}
        }
        let mutation = if draft { CONVERT_TO_DRAFT } else { MARK_READY };
        self.change(&wire, pull, mutation, None, |p| p.draft == draft)
            .await
    }

    /// Cancels auto-merge; GitHub refuses if auto-merge is not enabled.
    pub(super) async fn cancel_auto_merge(&self, pr: &PrId) -> Result<Outcome<PullRequest>> {
        let (wire, pull) = self.read_before_change(pr, false, Branches::None).await?;
        let mut batch = Batch::default();
        batch.push(
            "change",
            DISABLE_AUTO_MERGE,
            json!({ "pullRequestId": wire.id }),
        );
        let written = self
            .send_change(pull, &batch, None, map::after_change)
            .await;
        let (mut outcome, warning) = or_read_back(written, || async {
            let pull = self.fetch(pr, PrFields::AUTO_MERGE).await?;
            Ok(pull.auto_merge.is_none().then(|| Outcome::immediate(pull)))
        })
        .await?;
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// Adds the comment to a pull request that already had the requested state. Skips the comment
    /// if the newest comment has the same text, because an earlier call has then added it.
    async fn comment_on_unchanged(
        &self,
        before: &wire::Pull,
        comment: Option<&str>,
        outcome: &mut Outcome<PullRequest>,
    ) -> Result<()> {
        let Some(body) = comment else {
            return Ok(());
        };
        let pr = &outcome.value.id.clone();
        let (now, _) = self.lookup(pr, selections::RECENT_COMMENTS).await?;
        let newest = now.recent_comments.into_vec().pop();
        if newest.is_some_and(|c| is_mine(&c, body)) {
            return Ok(());
        }
        let commented = self.comment_once_on_pull(pr, before, body).await?;
        outcome.warnings.extend(commented.warnings);
        outcome.add_steps([Step::new("comment", true)]);
        Ok(())
    }

    /// Reads the pull request before a change; returns the answer and the mapped pull request.
    pub(super) async fn read_before_change(
        &self,
        pr: &PrId,
        comments: bool,
        branches: Branches,
    ) -> Result<(wire::Pull, PullRequest)> {
        let (mut wire, warnings) = match self.known.take(pr, PrFields::TO_CHANGE) {
            Some(found) => (found, vec![]),
            None => {
                self.lookup(pr, &selections::select_before_change(branches, comments))
                    .await?
            }
        };
        let (head_ref, base_ref) = (wire.head_ref.take(), wire.base_ref.take());
        let base_repository = wire.base_repository.clone();
        let newest = std::mem::take(&mut wire.newest_comment);
        let id = wire.id.clone();
        let is_cross_repository = wire.is_cross_repository;
        let pull = self.domain(&pr.repo, wire, PrFields::NONE, warnings)?;
        let rest = wire::Pull {
            is_cross_repository,
            id,
            head_ref,
            base_ref,
            base_repository,
            newest_comment: newest,
            ..wire::Pull::default()
        };
        Ok((rest, pull))
    }

    /// Sends a state change and its comment in one document.
    async fn change(
        &self,
        before: &wire::Pull,
        pull: PullRequest,
        mutation: Mutation,
        comment: Option<&str>,
        done: impl Fn(&PullRequest) -> bool,
    ) -> Result<Outcome<PullRequest>> {
        let pr = &pull.id.clone();
        let mut batch = Batch::default();
        if let Some(comment) = comment {
            batch.push(
                "comment",
                ADD_COMMENT,
                json!({ "subjectId": before.id, "body": comment }),
            );
        }
        batch.push("change", mutation, json!({ "pullRequestId": before.id }));
        // Marking as ready can request reviews from code owners, so the answer has more fields.
        let with_the_rest = match mutation == MARK_READY {
            true => map::after_edit,
            false => map::after_change,
        };
        let written = self.send_change(pull, &batch, comment, with_the_rest).await;
        // If the answer shows the old state, the pull request is read again as after a lost answer.
        let written = written.and_then(|outcome| match done(&outcome.value) {
            true => Ok(outcome),
            false => {
                let message = format!("{} answered that {pr} is unchanged", self.info.host);
                Err(Error::new(ErrorKind::Protocol, message).with_retry(Retry::Ambiguous))
            }
        });
        let (outcome, warning) = or_read_back(written, || async {
            let (mut wire, warnings) = self.lookup(pr, selections::AFTER_CHANGE).await?;
            let recent = std::mem::take(&mut wire.recent_comments).into_vec();
            let pull = self.domain(&pr.repo, wire, PrFields::NONE, warnings)?;
            if !done(&pull) {
                return Ok(None);
            }
            let mut outcome = Outcome::immediate(pull);
            if let Some(body) = comment
                && since(recent, before, |c| &c.id).all(|c| !is_mine(&c, body))
            {
                outcome
                    .warnings
                    .push(comment_failed(pr, body, "its answer was lost"));
            }
            Ok(Some(outcome))
        })
        .await?;
        let mut outcome = outcome;
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// Sends the batch. `comment` is the body of the comment in the batch. `with_the_rest` adds the
    /// fields that the answer lacks.
    async fn send_change(
        &self,
        before: PullRequest,
        batch: &Batch,
        comment: Option<&str>,
        with_the_rest: fn(PullRequest, PullRequest) -> PullRequest,
    ) -> Result<Outcome<PullRequest>> {
        let pr = &before.id.clone();
        let mut answer = self.send::<PullPayload>(batch).await?;
        if let Some(error) = self.refused_change(&answer, comment) {
            return Err(error);
        }
        let refused = failed(&answer, "comment").map(|e| self.api.error(&answer, e));
        let unread = self.unread(&answer);
        let Some(pull) = last_pull(batch, answer.data.take()) else {
            return Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous));
        };
        self.check_number(pr, number(pr)?, pull.number)
            .map_err(ambiguous)?;
        let now = self.domain(&pr.repo, pull, PrFields::NONE, unread)?;
        let mut outcome = Outcome::immediate(with_the_rest(before, now));
        let lost = comment.zip(refused);
        outcome
            .warnings
            .extend(lost.map(|(body, e)| comment_failed(pr, body, e.message())));
        Ok(outcome)
    }
}

/// Returns the entries that are newer than the newest comment or review in `before`, oldest first.
pub(crate) fn since<T>(
    recent: Vec<T>,
    before: &wire::Pull,
    id: impl Fn(&T) -> &String,
) -> impl Iterator<Item = T> {
    let known: Vec<&wire::Id> = [&before.newest_comment, &before.newest_review]
        .into_iter()
        .flat_map(|n| n.nodes.iter().flatten().flatten())
        .collect();
    let old = recent
        .iter()
        .rposition(|item| known.iter().any(|k| k.id == *id(item)));
    recent.into_iter().skip(old.map_or(0, |i| i + 1))
}

/// Returns whether the comment is by the viewer and has this body.
pub(crate) fn is_mine(comment: &wire::Comment, body: &str) -> bool {
    comment.viewer_did_author && same_text(&comment.body, body)
}

/// Returns whether `stored` is the text `sent`. GitHub may change line ends and trim the end of a
/// text.
pub(crate) fn same_text(stored: &str, sent: &str) -> bool {
    stored
        .lines()
        .map(str::trim_end)
        .eq(sent.trim_end().lines().map(str::trim_end))
        || stored.trim_end() == sent.trim_end()
}

fn comment_failed(pr: &PrId, body: &str, why: &str) -> Warning {
    let again = Action::op(Op::Comment).on(&pr.key).with(Param::Body, body);
    Warning::new(format!("the comment was not added: {why}"))
        .with_hint(Hint::new("write the comment again").with_action(again))
}

/// Returns the error for changing a merged pull request; suggests sending only the comment.
fn merged(pr: &PrId, what: &str, comment: Option<&str>) -> Error {
    let error = Error::precondition(
        Precondition::Merged,
        format!("{pr} is merged, and cannot be {what}"),
    );
    match comment {
        Some(body) => error.with_hint(
            Hint::new("add only the comment")
                .with_action(Action::op(Op::Comment).on(&pr.key).with(Param::Body, body)),
        ),
        None => error.with_hint(&OPEN_ANOTHER),
    }
}

fn unchanged(pull: PullRequest, what: &str) -> Outcome<PullRequest> {
    let warning = Warning::new(format!("{} is {what} already", pull.id));
    Outcome::unchanged(pull, warning)
}
