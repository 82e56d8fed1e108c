//! Merges pull requests with git objects and refs.

mod commits;
mod update;

use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Op, Outcome, Param, Precondition, Result, Step,
    Warning, check_expected_base, check_expected_head,
    model::{Merge, MergeMethod, MergeReq, MergeState, Mergeability, PrFields, PrState},
    text,
};
use forge_git::{CatFile, Merged, command_line};

use crate::{
    Local,
    caps::LIMITS,
    ident::{CommitIdentity, identity},
    pulls::{MergeBases, deleted_branch},
    store::{
        AppendOutcome, IndexChange, MergeIntent, NewEvent, PullEvent, RefChange, StoredPull,
        WriteRetry, branch_ref,
    },
};

/// Maximum number of conflicting files that the text of an error lists. The data of the error has
/// all of them.
const MAX_NAMED_FILES: usize = 5;

impl Local {
    pub(crate) async fn pull_mergeability(&self, number: u64) -> Result<Mergeability> {
        let pull = self.store.read(&mut self.store.cat(), number).await?;
        crate::pulls::require_open(&pull, "only an open pull request can be merged")?;
        Ok(self.mergeability_of(&pull).await?.0)
    }

    /// Computes whether the open pull request `pull` can be merged. Also returns the error of a
    /// merge if the head is older than a known one.
    pub(crate) async fn mergeability_of(
        &self,
        pull: &StoredPull,
    ) -> Result<(Mergeability, Option<Error>)> {
        let (base, head) = (pull.base()?, pull.head()?);
        let (merged, contained, old_head) = tokio::join!(
            self.git().merge_trees(base, head, false),
            self.git().contains(base, head),
            self.old_head_error(pull)
        );
        let old_head = old_head?;
        let (state, conflicts) = match merged? {
            Merged::Clean(_) => (MergeState::Mergeable, Vec::new()),
            Merged::Conflicts(files) => (MergeState::Conflicting, files),
        };
        let below = self.open_below(&mut self.store.cat(), pull).await?;
        let status = match state {
            MergeState::Conflicting => "DIRTY",
            _ if pull.snapshot.draft => "DRAFT",
            _ if below.is_some() => "BLOCKED",
            _ if !(pull.head_exists && pull.base_exists) => "BLOCKED",
            // The base already contains the head.
            _ if contained? => "BLOCKED",
            _ if old_head.is_some() => "BLOCKED",
            _ => "CLEAN",
        };
        let mut mergeability = Mergeability::new(state, status);
        mergeability.conflicts = conflicts;
        mergeability.head_oid = head.to_owned();
        mergeability.base_oid = base.to_owned();
        Ok((mergeability, old_head))
    }

    pub(crate) async fn merge_pull(&self, number: u64, req: &MergeReq) -> Result<Outcome<Merge>> {
        if req.auto {
            return Err(Self::unsupported(Capability::MergeAuto));
        }
        if req.admin {
            return Err(Self::unsupported(Capability::MergeAdmin));
        }
        check_request(req)?;
        let method = req.method.unwrap_or(MergeMethod::Merge);
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            if pull.snapshot.state == PrState::Merged {
                ensure_expected(&pull, req)?;
                drop(attempts);
                return Box::pin(self.merged_before(&mut cat, pull, req)).await;
            }
            req.may_merge(&format_args!("#{number}"))?;
            if pull.is_open() {
                self.check_opened_head(&mut cat, &pull).await?;
            }
            // The parts are boxed, because their states together overflow the stack of a thread.
            Box::pin(self.check_mergeable(&pull, req)).await?;
            Box::pin(self.check_below(&mut cat, &pull, method)).await?;
            let prepared = self.prepare(&mut cat, &pull, method, req, &by);
            let intent = Box::pin(prepared).await?;
            let the_move = self
                .prepare_move(
                    &intent.base_branch,
                    &intent.onto,
                    &intent.result,
                    req.leave_checkout,
                )
                .await?;
            let mut started = NewEvent::new(
                PullEvent::MergeStarted(intent.clone()),
                pull.snapshot.clone(),
            );
            started.snapshot.intent = Some(intent.clone());
            let pull = match self.store.append(&mut cat, &pull, &by, started).await? {
                AppendOutcome::Done(pull) => *pull,
                AppendOutcome::Lost(lost) => {
                    attempts.wait_before_retry(lost).await?;
                    continue;
                }
            };
            let deletion = match req.delete_branch {
                true => Some(Box::pin(self.deletion(&mut cat, &pull)).await?),
                false => None,
            };
            let mut snapshot = pull.snapshot.clone();
            snapshot.finish_merge(&intent);
            let mut draft = NewEvent::new(PullEvent::Merged(intent.clone()), snapshot);
            draft.index = IndexChange::Closed;
            draft.before.push(RefChange::Update {
                name: branch_ref(&intent.base_branch),
                new: intent.result.clone(),
                old: intent.onto.clone(),
            });
            draft
                .after
                .extend(deletion.iter().flat_map(|d| d.as_ref().ok()).cloned());
            let brought = the_move.forward().await?;
            match self.store.append(&mut cat, &pull, &by, draft).await {
                Ok(AppendOutcome::Done(_)) => {
                    drop(attempts);
                    let late = self.finish_move(the_move).await;
                    let merged = self.merged_now(&mut cat, number, req, &intent, deletion);
                    let mut outcome = Box::pin(merged).await?;
                    outcome.steps.extend(brought);
                    outcome.steps.extend(late.steps);
                    outcome.warnings.extend(late.warnings);
                    return Ok(outcome);
                }
                Ok(AppendOutcome::Lost(lost)) => {
                    the_move.reset().await?;
                    attempts.wait_before_retry(lost).await?;
                }
                Err(e) => return Err(the_move.reset_after(e).await),
            }
        }
    }

    /// Refuses a merge that cannot succeed. Called before any git object is created.
    async fn check_mergeable(&self, pull: &StoredPull, req: &MergeReq) -> Result<()> {
        let number = pull.number;
        crate::pulls::require_open(pull, "only an open pull request can be merged")?;
        if pull.snapshot.draft {
            return Err(Error::precondition(
                Precondition::Draft,
                format!("#{number} is a draft, and drafts are not merged"),
            )
            .with_hint(
                Hint::from(format!("mark #{number} as ready first")).with_action(
                    Action::op(Op::PrSetDraft)
                        .on(number)
                        .with(Param::Draft, "false"),
                ),
            ));
        }
        let (base, head) = self.require_both_tips(pull).await?;
        ensure_expected(pull, req)?;
        if self.git().contains(base, head).await? {
            return Err(Error::precondition(
                Precondition::NothingToMerge,
                format!(
                    "'{}' already has all commits of #{number}",
                    text::one_line(&pull.snapshot.base_branch)
                ),
            )
            .with_hint(close_hint(number)));
        }
        Ok(())
    }

    /// Returns the tips of base and head. Fails if a branch is missing, or if the head is older
    /// than a known one.
    async fn require_both_tips<'a>(&self, pull: &'a StoredPull) -> Result<(&'a str, &'a str)> {
        let (head, base) = (pull.head()?, pull.base()?);
        let (field, branch, oid) = match (pull.head_exists, pull.base_exists) {
            (true, true) => {
                return match self.old_head_error(pull).await? {
                    Some(error) => Err(error),
                    None => Ok((base, head)),
                };
            }
            (false, _) => ("head", &pull.snapshot.head_branch, head),
            (true, false) => ("base", &pull.snapshot.base_branch, base),
        };
        let (what, hint) = self.explain_missing(branch, oid).await?;
        let shown = text::one_line(branch);
        let message = format!("the {field} branch '{shown}' of #{} {what}", pull.number);
        Err(Error::invalid(field, message).with_hint(hint))
    }

    /// Creates the objects of the merge. Changes no ref.
    async fn prepare(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        method: MergeMethod,
        req: &MergeReq,
        by: &CommitIdentity,
    ) -> Result<MergeIntent> {
        let make = async {
            match method {
                MergeMethod::Merge => self.merge_commit(pull, req, by).await,
                MergeMethod::Squash => self.squash_commit(cat, pull, req, by).await,
                MergeMethod::Rebase => self.rebased(cat, pull, by, merge_instead()).await,
            }
        };
        let (result, bases) = tokio::join!(make, self.merge_bases_of(pull));
        let (result, bases) = (result?, bases.ok());
        if method == MergeMethod::Rebase {
            self.check_shown_result(cat, pull, &result, bases.as_ref())
                .await?;
        }
        Ok(MergeIntent {
            method,
            result,
            onto: pull.base()?.to_owned(),
            merged_head: pull.head()?.to_owned(),
            merge_base: bases.and_then(MergeBases::into_recorded),
            base_branch: pull.snapshot.base_branch.clone(),
            by: by.actor.clone(),
            started_at: by.at,
        })
    }

    /// Refuses a rebase that brings other changes than a merge, which the diff shows. A rebase
    /// leaves out a commit that the base has too; if a later commit takes its change back, the
    /// rebase takes back what the base has.
    async fn check_shown_result(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        result: &str,
        bases: Option<&MergeBases>,
    ) -> Result<()> {
        let (base, head) = (pull.base()?, pull.head()?);
        let tree = cat.info(&format!("{result}^{{tree}}")).await?;
        let shown = match bases {
            // The base has no changes of its own, so nothing is merged.
            Some(MergeBases::One(only)) if only == base => {
                let tree = cat.info(&format!("{head}^{{tree}}")).await?;
                tree.map(|tree| Merged::Clean(tree.oid))
            }
            _ => Some(self.git().merge_trees(base, head, false).await?),
        };
        if tree.is_some_and(|tree| shown == Some(Merged::Clean(tree.oid))) {
            return Ok(());
        }
        Err(Error::precondition(
            Precondition::Rule,
            format!(
                "cannot rebase #{}: a rebase brings other changes than the diff shows; nothing was \
                 changed",
                pull.number
            ),
        )
        .with_hint(merge_instead()))
    }

    /// Returns the outcome for a pull request that an earlier call merged. Deletes the head branch
    /// if `req` asks for it.
    async fn merged_before(
        &self,
        cat: &mut CatFile,
        pull: StoredPull,
        req: &MergeReq,
    ) -> Result<Outcome<Merge>> {
        self.refuse_undone_merge(cat, &pull).await?;
        let commit = pull.snapshot.merge_commit.clone();
        let method = pull.snapshot.merge_method;
        let followed = Box::pin(self.retarget_dependents(cat, &pull)).await;
        let mut steps = Vec::new();
        let (mut answer, branch_deleted) = if req.delete_branch {
            let deletion = Box::pin(self.delete_left_head(cat, &pull)).await?;
            let deleted = matches!(deletion, Some(Ok(())));
            let step = |deletion| Step::delete_head_branch(deleted_branch(&pull, deletion));
            steps.extend(deletion.as_ref().map(step));
            let mut answer = if deleted || !followed.steps.is_empty() {
                Outcome::immediate(Box::pin(self.present(cat, pull, PrFields::NONE)).await?)
            } else {
                Box::pin(self.unchanged(cat, pull, "merged already")).await?
            };
            answer.warnings.extend(deletion.and_then(Result::err));
            (answer, deleted)
        } else if followed.steps.is_empty() {
            let unchanged = self.unchanged(cat, pull, "merged already");
            (Box::pin(unchanged).await?, false)
        } else {
            let view = Box::pin(self.present(cat, pull, PrFields::NONE)).await?;
            (Outcome::immediate(view), false)
        };
        answer.steps.append(&mut steps);
        answer.steps.extend(followed.steps);
        answer.warnings.extend(followed.warnings);
        Ok(answer.map(|pull_request| {
            let mut merge = Merge::of(pull_request);
            merge.commit = commit;
            merge.method = method;
            merge.already_merged = true;
            merge.branch_deleted = branch_deleted;
            merge
        }))
    }

    /// Deletes the head branch of a closed or merged `pull`, unless the branch has moved since
    /// then. Returns `None` if the branch is gone.
    pub(crate) async fn delete_left_head(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<Option<Result<(), Warning>>> {
        let name = branch_ref(&pull.snapshot.head_branch);
        let Some(tip) = cat.info(&name).await?.map(|i| i.oid) else {
            return Ok(None);
        };
        if pull.snapshot.head_oid.as_ref() != Some(&tip) {
            return Ok(Some(Err(head_moved_warning(pull, &tip))));
        }
        // The commit in an event is a claim. The ref of the pull request keeps every head that was
        // really merged.
        if !self.git().contains(&pull.tip, &tip).await? {
            return Ok(Some(Err(unmerged_head_warning(pull, &tip))));
        }
        let there = StoredPull {
            head_exists: true,
            head_oid: Some(tip),
            ..pull.clone()
        };
        let change = match self.deletion(cat, &there).await? {
            Ok(change) => change,
            Err(warning) => return Ok(Some(Err(warning))),
        };
        let reason = format!("forge: #{} delete head branch", pull.number);
        match self.store.update_refs(&reason, &[change]).await? {
            None => Ok(Some(Ok(()))),
            Some(lost) => Err(lost.error),
        }
    }

    async fn merged_now(
        &self,
        cat: &mut CatFile,
        number: u64,
        req: &MergeReq,
        intent: &MergeIntent,
        deletion: Option<Result<RefChange, Warning>>,
    ) -> Result<Outcome<Merge>> {
        let pull = self.store.read(cat, number).await?;
        let followed = Box::pin(self.retarget_dependents(cat, &pull)).await;
        let deletion = match deletion {
            // The deletion may have failed because other pull requests were based on the head
            // branch. These pull requests have a new base now, so the deletion is tried again.
            Some(Err(_)) if !followed.steps.is_empty() => {
                Box::pin(self.delete_left_head(cat, &pull))
                    .await
                    .unwrap_or_else(|e| Some(Err(crate::pulls::warning_of(&e))))
            }
            Some(deletion) => Some(deletion.map(|_| ())),
            None => None,
        };
        let branch_deleted = matches!(deletion, Some(Ok(())));
        let deleted = deletion.as_ref().and_then(|d| deleted_branch(&pull, d));
        let view = Box::pin(self.present(cat, pull, PrFields::NONE)).await?;
        let mut merge = Merge::of(view);
        merge.commit = Some(intent.result.clone());
        merge.method = Some(intent.method);
        merge.branch_deleted = branch_deleted;
        let mut outcome = Outcome::immediate(merge);
        outcome.steps.push(Step::new("merge", true));
        if let Some(deletion) = deletion {
            outcome.steps.push(Step::delete_head_branch(deleted));
            outcome.warnings.extend(deletion.err());
        }
        outcome.steps.extend(followed.steps);
        outcome.warnings.extend(followed.warnings);
        let given = req.subject.is_some() || req.body.is_some() || req.author_email.is_some();
        if intent.method == MergeMethod::Rebase && given {
            outcome.warnings.push(Warning::new(
                "subject, body and author were not used: a rebase keeps those of each commit",
            ));
        }
        Ok(outcome)
    }
}

/// Refuses the merge if the head commit or the base branch is not the one that `req` expects.
fn ensure_expected(pull: &StoredPull, req: &MergeReq) -> Result<()> {
    let id = format!("#{}", pull.number);
    let base = &pull.snapshot.base_branch;
    check_expected_head(&id, req.expected_head.as_deref(), pull.head_oid.as_deref())?;
    check_expected_base(&id, req.expected_base.as_deref(), base)
}

/// Returns the warning for a head branch that is kept because it moved to `tip`.
pub(crate) fn head_moved_warning(pull: &StoredPull, tip: &str) -> Warning {
    let branch = &pull.snapshot.head_branch;
    let shown = text::one_line(branch);
    Warning::new(format!(
        "the branch '{shown}' was not deleted: it has moved to {tip}"
    ))
    .with_hint(format!(
        "if its commits are not needed: {}",
        command_line(["git", "branch", "-D", branch])
    ))
}

/// Returns the warning for a head branch that is kept because its tip `tip` was not merged.
fn unmerged_head_warning(pull: &StoredPull, tip: &str) -> Warning {
    let branch = &pull.snapshot.head_branch;
    let shown = text::one_line(branch);
    Warning::new(format!(
        "the branch '{shown}' was not deleted: the history of #{} does not have its commit {tip}",
        pull.number
    ))
    .with_hint(format!(
        "if its commits are not needed: {}",
        command_line(["git", "branch", "-D", branch])
    ))
}

/// Returns the hint for commits that a rebase cannot keep.
fn merge_instead() -> Hint {
    Hint::new("make a merge commit instead, or squash")
        .with_action(Action::again(&[]).with(Param::Method, MergeMethod::Merge.as_str()))
}

/// Returns the hint for a pull request without changes: close it.
pub(super) fn close_hint(number: u64) -> Hint {
    Hint::from(format!("close #{number}")).with_action(Action::op(Op::PrClose).on(number))
}

/// Adds the commands for a merge by hand to the error of a merge that took too long. The strategy
/// `resolve` needs no merge of the merge bases, which is what takes the time.
pub(super) fn merge_by_hand(e: Error, number: u64, into: &str, from: &str) -> Error {
    if !matches!(e.kind(), ErrorKind::Timeout { .. }) {
        return e;
    }
    let message = format!(
        "cannot merge #{number}: {}; nothing was changed",
        e.message()
    );
    let hint = format!(
        "merge by hand: {} && {}; or allow more time with FORGE_TIMEOUT (seconds)",
        command_line(["git", "switch", into]),
        command_line(["git", "merge", "-s", "resolve", from])
    );
    Error::new(e.kind().clone(), message)
        .with_hint(hint)
        .with_source(e)
}

fn check_request(req: &MergeReq) -> Result<()> {
    if let Some(subject) = &req.subject {
        LIMITS.check_text("subject", subject)?;
    }
    if let Some(body) = &req.body {
        LIMITS.check_text("body", body)?;
    }
    if let Some(email) = &req.author_email {
        let bad = email.is_empty()
            || email
                .chars()
                .any(|c| c.is_control() || c.is_whitespace() || "<>".contains(c));
        if bad {
            let shown = text::one_line(email).into_owned();
            return Err(Error::invalid(
                "author_email",
                format!("'{shown}' is not an e-mail address"),
            )
            .with_hint("give an address such as you@example.com"));
        }
    }
    Ok(())
}

pub(super) fn conflict(pull: &StoredPull, files: Vec<String>, at: Option<&str>) -> Error {
    let shown: Vec<_> = files
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|f| text::one_line(f).into_owned())
        .collect();
    let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let at = at.map_or(String::new(), |oid| format!(" at commit {oid}"));
    let base = text::one_line(&pull.snapshot.base_branch).into_owned();
    let head = text::one_line(&pull.snapshot.head_branch).into_owned();
    let message = format!(
        "#{} conflicts with '{base}'{at} in {}{more}; nothing was changed",
        pull.number,
        shown.join(", ")
    );
    Error::precondition(Precondition::Conflicts(files), message).with_hint(format!(
        "merge '{base}' into '{head}' (or rebase '{head}' onto it), solve the conflicts there, and try again"
    ))
}
