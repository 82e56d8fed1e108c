//! Closes and reopens pull requests, and switches between draft and ready.

use forge_core::{
    Action, DeletedBranch, Error, Hint, Op, Outcome, Param, Precondition, Result, Step, Warning,
    is_expected_head,
    model::{CloseReq, PrFields, PrState, PullRequest},
    text,
};
use forge_git::{CatFile, command_line};

use crate::{
    Local,
    caps::LIMITS,
    ident::identity,
    merge::head_moved_warning,
    pulls::{MergeBases, MergeCommit},
    repos::DefaultSource,
    store::{
        AppendOutcome, IndexChange, NewEvent, PullEvent, RefChange, Snapshot, StoredPull,
        WriteRetry, branch_ref,
    },
};

/// Hint for a change of a pull request that is already merged.
static OPEN_ANOTHER: Hint = Hint::fixed(
    "open a new pull request for further changes",
    Action::op(Op::PrCreate),
);

impl Local {
    pub(crate) async fn close_pull(
        &self,
        number: u64,
        req: &CloseReq,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(comment) = &req.comment {
            LIMITS.check_comment("body", comment)?;
        }
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let head_moved_warning = match is_expected_head(
                &format_args!("#{number}"),
                req.expected_head.as_deref(),
                pull.head_oid.as_deref(),
            )? {
                true => None,
                false => pull
                    .head_oid
                    .as_deref()
                    .map(|tip| head_moved_warning(&pull, tip)),
            };
            match pull.snapshot.state {
                PrState::Open => {}
                PrState::Closed => {
                    drop(attempts);
                    let comment = req.comment.as_deref();
                    let mut outcome = self
                        .unchanged_with_comment(&mut cat, pull, "closed already", comment)
                        .await?;
                    let kept = req.branch_kept_warning(&outcome.value);
                    outcome.warnings.extend(kept);
                    return Ok(outcome);
                }
                PrState::Merged => {
                    let nothing = Hint::new("nothing is left to do");
                    let comment = req.comment.as_deref();
                    return Err(Error::precondition(
                        Precondition::Merged,
                        format!("#{number} is merged, so it cannot be closed"),
                    )
                    .with_hint(comment_alone(number, comment).unwrap_or(nothing)));
                }
            }
            let mut snapshot = pull.snapshot.clone();
            snapshot.state = PrState::Closed;
            snapshot.closed_at = Some(by.at);
            snapshot.intent = None;
            let bases = self.merge_bases_of(&pull).await.ok();
            snapshot.merge_base = bases.and_then(MergeBases::into_recorded);
            snapshot.comments += u64::from(req.comment.is_some());
            let mut draft = NewEvent::new(
                PullEvent::Closed {
                    comment: req.comment.clone(),
                },
                snapshot,
            );
            draft.index = IndexChange::Closed;
            let mut warnings = Vec::new();
            let mut steps = Vec::new();
            if req.delete_branch {
                let deletion = match head_moved_warning {
                    Some(kept) => Err(kept),
                    None => self.deletion(&mut cat, &pull).await?,
                };
                steps.push(Step::new("close", true));
                steps.push(Step::delete_head_branch(deleted_branch(&pull, &deletion)));
                match deletion {
                    Ok(deletion) => draft.after.push(deletion),
                    Err(warning) => warnings.push(warning),
                }
            }
            match self.store.append(&mut cat, &pull, &by, draft).await? {
                AppendOutcome::Done(_) => {
                    let mut outcome = self.after_write(&mut cat, number).await?;
                    outcome.steps = steps;
                    outcome.warnings.append(&mut warnings);
                    return Ok(outcome);
                }
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    pub(crate) async fn reopen_pull(
        &self,
        number: u64,
        comment: Option<&str>,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(comment) = comment {
            LIMITS.check_comment("body", comment)?;
        }
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let mut undone = None;
            match pull.snapshot.state {
                PrState::Closed => {}
                PrState::Open => {
                    drop(attempts);
                    return self
                        .unchanged_with_comment(&mut cat, pull, "open already", comment)
                        .await;
                }
                PrState::Merged => match self.find_merge_commit(&mut cat, &pull).await? {
                    MergeCommit::Undone(commit) => undone = Some(commit),
                    found => return Err(reopen_error(&pull, &found, comment)),
                },
            }
            let mut snapshot = pull.snapshot.clone();
            let (head, base) = (&snapshot.head_branch, &snapshot.base_branch);
            let recorded = snapshot.head_oid.as_deref();
            let head = self.tip_to_reopen(&mut cat, "head", head, recorded).await?;
            let recorded = snapshot.base_oid.as_deref();
            let base = self.tip_to_reopen(&mut cat, "base", base, recorded).await?;
            self.check_no_duplicate(&mut cat, &snapshot, Some(number))
                .await?;
            snapshot.reopen();
            snapshot.head_oid = Some(head);
            snapshot.base_oid = Some(base);
            snapshot.comments += u64::from(comment.is_some());
            let event = PullEvent::Reopened {
                comment: comment.map(str::to_owned),
            };
            let mut draft = NewEvent::new(event, snapshot);
            draft.index = IndexChange::Opened;
            match self.store.append(&mut cat, &pull, &by, draft).await? {
                AppendOutcome::Done(_) => {
                    let mut outcome = self.after_write(&mut cat, number).await?;
                    let warning = undone.map(|commit| undone_warning(number, &commit));
                    outcome.warnings.extend(warning);
                    return Ok(outcome);
                }
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    /// Returns the tip of `branch`. If the branch is missing, the hint of the error creates the
    /// branch again. `recorded` is the last known tip.
    async fn tip_to_reopen(
        &self,
        cat: &mut CatFile,
        field: &'static str,
        branch: &str,
        recorded: Option<&str>,
    ) -> Result<String> {
        match (self.branch_tip(cat, field, branch).await, recorded) {
            (Err(e), Some(oid)) if e.is_no_branch(field) => {
                let (_, hint) = self.explain_missing(branch, oid).await?;
                Err(e.with_hint(hint))
            }
            (tip, _) => tip,
        }
    }

    pub(crate) async fn set_pull_draft(
        &self,
        number: u64,
        draft: bool,
    ) -> Result<Outcome<PullRequest>> {
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            require_open(&pull, "only an open pull request can be a draft or ready")?;
            if pull.snapshot.draft == draft {
                let what = if draft {
                    "a draft already"
                } else {
                    "ready already"
                };
                return self.unchanged(&mut cat, pull, what).await;
            }
            let mut snapshot = pull.snapshot.clone();
            snapshot.draft = draft;
            let event = if draft {
                PullEvent::Drafted
            } else {
                PullEvent::Ready
            };
            match self
                .store
                .append(&mut cat, &pull, &by, NewEvent::new(event, snapshot))
                .await?
            {
                AppendOutcome::Done(_) => return self.after_write(&mut cat, number).await,
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    /// Returns the outcome for a pull request that already has the requested state.
    pub(crate) async fn unchanged(
        &self,
        cat: &mut CatFile,
        pull: StoredPull,
        what: &str,
    ) -> Result<Outcome<PullRequest>> {
        let message = format!("#{} is {what}", pull.number);
        let value = self.present(cat, pull, PrFields::NONE).await?;
        Ok(Outcome::unchanged(value, Warning::new(message)))
    }

    /// Like [`Self::unchanged`], but also adds `comment`. Skips the comment if the newest comment
    /// has the same text, because an earlier call has probably added it.
    async fn unchanged_with_comment(
        &self,
        cat: &mut CatFile,
        pull: StoredPull,
        what: &str,
        comment: Option<&str>,
    ) -> Result<Outcome<PullRequest>> {
        let Some(body) = comment else {
            return self.unchanged(cat, pull, what).await;
        };
        let number = pull.number;
        let said = self.conversation(cat, &pull, None).await?;
        let newest = said.comments.last();
        if newest.is_some_and(|c| c.viewer_did_author && c.body == body) {
            return self.unchanged(cat, pull, what).await;
        }
        self.add_comment(number, body, None).await?;
        let pull = self.store.read(cat, number).await?;
        let mut outcome = self.unchanged(cat, pull, what).await?;
        outcome.add_steps([Step::new("comment", true)]);
        Ok(outcome)
    }

    /// Returns the outcome of a write, with the current pull request.
    pub(crate) async fn after_write(
        &self,
        cat: &mut CatFile,
        number: u64,
    ) -> Result<Outcome<PullRequest>> {
        let pull = self.store.read(cat, number).await?;
        Ok(Outcome::immediate(
            self.present(cat, pull, PrFields::NONE).await?,
        ))
    }

    /// Returns the change that deletes the head branch, or a warning that says why the branch is
    /// kept.
    pub(crate) async fn deletion(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<Result<RefChange, Warning>> {
        let branch = &pull.snapshot.head_branch;
        let shown = text::one_line(branch).into_owned();
        let stays = |why: String, hint: Hint| {
            Ok(Err(Warning::new(format!(
                "the branch '{shown}' was not deleted: {why}"
            ))
            .with_hint(hint)))
        };
        let Some(old) = pull.head_oid.clone().filter(|_| pull.head_exists) else {
            return stays("it is gone already".into(), "nothing is left to do".into());
        };
        let claim = self.branch_claim(cat, pull).await;
        if let Some(objection) = claim.objection() {
            return stays(objection.into(), "delete it with git".into());
        }
        let default = self
            .find_default_branch()
            .await?
            .filter(|(name, source)| name == branch && *source != DefaultSource::CheckedOut);
        if default.is_some() {
            return stays("it is the default branch".into(), "keep it".into());
        }
        let using = match self.work_trees_using(branch).await {
            Ok(using) => using,
            Err(e) if matches!(e.kind(), forge_core::ErrorKind::Precondition(_)) => {
                return stays(e.message().to_owned(), "delete it with git".into());
            }
            Err(e) => return Err(e),
        };
        if let Some(tree) = using.first() {
            let base = &pull.snapshot.base_branch;
            // The hint proposes to switch the work tree to the base branch. Git allows a branch in
            // one work tree only, so the hint does this only if no work tree has the base branch
            // checked out.
            let is_free = self
                .work_trees_using(base)
                .await
                .is_ok_and(|u| u.is_empty());
            let leave = match is_free {
                true => base.as_str(),
                false => "--detach",
            };
            let (why, recovery) = tree.explain(leave);
            let recovery = format!(
                "{recovery}, then {}",
                command_line(["git", "branch", "-D", branch])
            );
            return stays(why, recovery.into());
        }
        let needs = |s: &Snapshot| {
            s.number != pull.number && (&s.base_branch == branch || &s.head_branch == branch)
        };
        if let Some(other) = self.find_open(cat, needs).await? {
            if &other.snapshot.head_branch == branch {
                let close = Action::op(Op::PrClose).on(other.number);
                return stays(
                    format!("#{} is open and has the same head branch", other.number),
                    Hint::from(format!("close #{} first", other.number)).with_action(close),
                );
            }
            let rebase = Action::op(Op::PrEdit).on(other.number);
            return stays(
                format!("#{} is open and has this branch as its base", other.number),
                Hint::from(format!("give #{} another base first", other.number))
                    .with_action(rebase.with(Param::Base, &pull.snapshot.base_branch)),
            );
        }
        Ok(Ok(RefChange::Delete {
            name: branch_ref(branch),
            old,
        }))
    }
}

/// Returns the error for reopening `pull`, which is merged.
fn reopen_error(pull: &StoredPull, found: &MergeCommit, comment: Option<&str>) -> Error {
    let number = pull.number;
    let message = format!("#{number} is merged, so it cannot be reopened");
    let error = Error::precondition(Precondition::Merged, message);
    match (comment_alone(number, comment), found) {
        (Some(hint), _) => error.with_hint(hint),
        (None, MergeCommit::NotFetched { commit, remote }) => error.with_hint(format!(
            "its merge commit {commit} is not on '{0}' here: run `{1}` and update '{0}'; \
             open a new pull request for further changes",
            text::one_line(&pull.snapshot.base_branch),
            command_line(["git", "fetch", remote])
        )),
        (None, _) => error.with_hint(&OPEN_ANOTHER),
    }
}

fn undone_warning(number: u64, commit: &str) -> Warning {
    Warning::new(format!(
        "the merge of #{number} as {commit} counts as undone, because the base branch has this \
         commit no more; issues that it closed stay closed"
    ))
}

/// Names the branch that `deletion` deletes; `None` if it is kept.
pub(crate) fn deleted_branch<T>(
    pull: &StoredPull,
    deletion: &Result<T, Warning>,
) -> Option<DeletedBranch> {
    let tip = pull.head_oid.as_deref()?;
    let name = &pull.snapshot.head_branch;
    deletion.is_ok().then(|| DeletedBranch::new(name, tip))
}

/// Returns the hint for a refused change that had a comment: add only the comment.
fn comment_alone(number: u64, comment: Option<&str>) -> Option<Hint> {
    let action = Action::op(Op::Comment)
        .on(number)
        .with(Param::Body, comment?);
    Some(Hint::new("add only the comment").with_action(action))
}

pub(crate) fn require_open(pull: &StoredPull, why: &str) -> Result<()> {
    let number = pull.number;
    match pull.snapshot.state {
        PrState::Open => Ok(()),
        PrState::Closed => Err(Error::precondition(
            Precondition::Closed,
            format!("#{number} is closed, and {why}"),
        )
        .with_hint(
            Hint::from(format!("reopen #{number} first"))
                .with_action(Action::op(Op::PrReopen).on(number)),
        )),
        PrState::Merged => Err(Error::precondition(
            Precondition::Merged,
            format!("#{number} is merged, and {why}"),
        )
        .with_hint(&OPEN_ANOTHER)),
    }
}
