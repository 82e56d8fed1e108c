//! Merges pull requests: one query for state and head, then one mutation that names that head.

use std::time::Duration;

use forge_core::{
    Action, Changed, Error, ErrorKind, Hint, Op, Outcome, Param, PrId, Precondition, Result, Retry,
    Step, Warning, check_expected_base, check_expected_head, head_moved,
    model::{Merge, MergeMethod, MergeReq, MergeState, Mergeability, PrFields, PrState},
    settle_mergeability,
};
use serde::Deserialize;

use super::{
    head_branch::kept_in_fork,
    merge_attempt::{MergeAttempt, MergeMode, MergeResult},
    view,
};
use crate::{
    GitHub,
    error::{UNMET, ambiguous},
    gql::{GqlDocument, mutation::Batch, selections, types as wire},
    hints::{reopen, solve_conflicts},
    map,
    mutate::{PullPayload, failed, last_pull, or_read_back},
    number, pr_variables, repos,
};

#[derive(Deserialize)]
struct PreparedOf {
    repository: Option<PreparedMerge>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedMerge {
    #[serde(flatten)]
    repo: wire::Repo,
    pull_request: Option<wire::Pull>,
}

impl GitHub {
    pub(super) async fn pull_mergeability(&self, pr: &PrId) -> Result<Mergeability> {
        let read = || async {
            let (pull, _) = self.lookup(pr, selections::MERGEABILITY).await?;
            match pull.state.as_str() {
                "OPEN" => Ok(map::mergeability(&pull)),
                state => Err(not_open(pr, state)),
            }
        };
        let is_unknown = |found: &Mergeability| found.state == MergeState::Unknown;
        settle_mergeability(read().await?, is_unknown, |_, p| self.pause(p), read).await
    }

    pub(super) async fn merge_pull(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        let known = match self.merge_known(pr) {
            Some(found) => found,
            None => self.prepare_merge(pr).await?,
        };
        let is_unknown = |found: &MergePreflight| {
            let mergeable = found.pull.mergeable.as_deref();
            !req.skip_wait && found.pull.state == "OPEN" && mergeable == Some("UNKNOWN")
        };
        let read = || self.prepare_merge(pr);
        let prepared = settle_mergeability(known, is_unknown, |_, p| self.pause(p), read).await?;
        let mut warnings = Vec::new();
        let MergePreflight {
            repo,
            mut pull,
            mut unread,
        } = prepared;
        unread.extend(self.complete(&mut pull).await);
        if pull.state == "MERGED" {
            ensure_expected(pr, req, &pull)?;
            return self.handle_merged(pr, req, pull, unread).await;
        }
        req.may_merge(pr)?;
        if pull.state != "OPEN" {
            return Err(not_open(pr, &pull.state));
        }
        if pull.is_in_merge_queue {
            return self.queued_before(pr, pull, unread);
        }
        ensure_expected(pr, req, &pull)?;
        let head = pull.head_ref_oid.0.clone().unwrap_or_default();
        let method = choose(pr, req, &repo)?;
        let way = select_mode(pr, req, &pull)?;
        if pull.mergeable.as_deref() == Some("UNKNOWN") {
            warnings.push(Warning::new(format!(
                "{} does not know yet whether {pr} can be merged; forge tried the merge anyway",
                self.info.host
            )));
        }
        if way == MergeMode::Queue
            && (req.method.is_some() || req.subject.is_some() || req.body.is_some())
        {
            warnings.push(Warning::new(format!(
                "the merge queue of {} chooses the merge method and the message",
                pull.base_ref_name
            )));
        }
        let before = self.domain(&pr.repo, pull.clone(), sections(&pull), unread)?;
        let ask = MergeAttempt {
            pr,
            req,
            pull: &pull,
            before: &before,
            method,
            head: &head,
        };
        let (done, warning) = self.send_merge(&ask, way).await?;
        let (way, mut after, queue_position) = (done.way, done.pull, done.position);
        // GitHub closes linked issues with the merge. Only the answer before the merge has their
        // old states.
        after.linked_issues.clone_from(&before.linked_issues);
        let unread = |w: &&Warning| w.section == Some("linked_issues");
        let unread = before.warnings.iter().filter(unread).cloned();
        after.warnings.extend(unread);
        warnings.extend(warning);
        let merged = after.state == PrState::Merged;
        let name = match way {
            MergeMode::Now => "merge",
            MergeMode::Auto => "enable auto-merge",
            MergeMode::Queue => "put it into the merge queue",
        };
        // The merge of a stack may still be running. The step is then not done.
        let mut steps = vec![Step::new(name, merged || way != MergeMode::Now)];
        let mut branch_deleted = false;
        if req.delete_branch && merged {
            if pull.is_cross_repository {
                warnings.push(kept_in_fork(pr, &pull));
            } else {
                let branches = (
                    pull.head_ref_name.as_str(),
                    Some(pull.base_ref_name.as_str()),
                );
                branch_deleted = self
                    .delete_head_of(pr, &pull, branches, &mut steps, &mut warnings)
                    .await;
            }
        } else if req.delete_branch {
            warnings.push(
                Warning::new("the head branch is kept until the merge has happened").with_hint(
                    "delete it afterwards, or let the repository delete merged branches itself",
                ),
            );
        }
        let mut value = Merge::of(after);
        value.commit.clone_from(&value.pull_request.merge_commit);
        value.method = Some(method);
        value.queued = !merged;
        value.queue_position = queue_position;
        value.branch_deleted = branch_deleted;
        let mut outcome = Outcome::immediate(value);
        outcome.steps = steps;
        outcome.warnings = warnings;
        Ok(outcome)
    }

    async fn pause(&self, length: Duration) {
        self.api.http.settings().retry.wait(length).await;
    }

    /// Returns the cached pull request of the preceding search, if the search read all fields that
    /// a merge needs.
    fn merge_known(&self, pr: &PrId) -> Option<MergePreflight> {
        let pull = self.known.take(pr, PrFields::TO_MERGE)?;
        Some(MergePreflight {
            repo: pull.base_repository.clone()?,
            pull,
            unread: vec![],
        })
    }

    async fn prepare_merge(&self, pr: &PrId) -> Result<MergePreflight> {
        let text = GqlDocument::query("MergePrepare").text();
        let mut answer = self
            .api
            .query::<PreparedOf>(&text, &pr_variables(pr)?.into())
            .await?;
        match answer.data.take().and_then(|d| d.repository) {
            Some(PreparedMerge {
                repo,
                pull_request: Some(pull),
            }) => {
                let unread = self
                    .api
                    .warnings(&answer, |e| (view::title(e, 2), view::model_field(e, 2)));
                Ok(MergePreflight { repo, pull, unread })
            }
            _ => Err(self.not_found(pr, &answer)),
        }
    }

    /// Handles a pull request that is already merged. Deletes the branch only if the request asks
    /// for this cleanup and nothing else. gh keeps the branch even with `-d`.
    async fn handle_merged(
        &self,
        pr: &PrId,
        req: &MergeReq,
        pull: wire::Pull,
        unread: Vec<Warning>,
    ) -> Result<Outcome<Merge>> {
        let pull_request = self.domain(&pr.repo, pull.clone(), sections(&pull), unread)?;
        let mut value = Merge::of(pull_request);
        value.commit.clone_from(&value.pull_request.merge_commit);
        value.already_merged = true;
        let (mut steps, mut warnings) = (Vec::new(), Vec::new());
        if req.only_left_over && req.delete_branch {
            value.branch_deleted = self
                .delete_left_head(pr, &value.pull_request, &pull, &mut steps, &mut warnings)
                .await;
        }
        let mut outcome = if value.branch_deleted {
            Outcome::immediate(value)
        } else {
            let warning = Warning::new(format!("{pr} was merged before; nothing was changed"));
            Outcome::unchanged(value, warning)
        };
        outcome.steps = steps;
        outcome.warnings.append(&mut warnings);
        Ok(outcome)
    }

    fn queued_before(
        &self,
        pr: &PrId,
        pull: wire::Pull,
        unread: Vec<Warning>,
    ) -> Result<Outcome<Merge>> {
        let fields = sections(&pull);
        let pull_request = self.domain(&pr.repo, pull, fields, unread)?;
        let mut value = Merge::of(pull_request);
        value.queued = true;
        let warning = Warning::new(format!(
            "{pr} is in the merge queue already; nothing was changed"
        ));
        Ok(Outcome::immediate(value).with_warning(warning))
    }

    /// Sends the merge in one request. A second request follows in two cases: the queue refuses and
    /// `auto` is set, or the pull request is in a stack. Returns a warning about the result, if
    /// any.
    async fn send_merge(
        &self,
        ask: &MergeAttempt<'_>,
        way: MergeMode,
    ) -> Result<(MergeResult, Option<Warning>)> {
        let mut sent = way;
        let written = match self.merged(ask, way).await {
            Err(error) if is_stacked(&error) => return self.merge_stacked(ask).await,
            Err(error) if way == MergeMode::Queue && ask.req.auto && is_unmet(&error) => {
                sent = MergeMode::Auto;
                self.merged(ask, sent).await
            }
            Err(error) if way == MergeMode::Queue && is_unmet(&error) => {
                let later = Action::again(&[]).with(Param::Auto, "true");
                Err(error.with_hint(
                    Hint::new(
                        "merge automatically: the pull request then enters the queue as soon as \
                         the rules are met",
                    )
                    .with_action(later),
                ))
            }
            written => written,
        };
        // If the answer shows an unmerged pull request, it is read again as after a lost answer.
        let written = written.and_then(|done| self.check_merged(ask.pr, done));
        or_read_back(written, || async { self.merge_read_back(ask, sent).await }).await
    }

    async fn merged(&self, ask: &MergeAttempt<'_>, way: MergeMode) -> Result<MergeResult> {
        let batch = Batch::of("merge", way.mutation(), ask.input(way));
        let (pr, head) = (ask.pr, ask.head);
        let mut answer = self.send::<PullPayload>(&batch).await?;
        if let Some(e) = failed(&answer, "merge") {
            let error = self.api.error(&answer, e);
            return Err(match error.kind() {
                ErrorKind::Conflict {
                    what: Changed::Head,
                    ..
                } => {
                    let actual = self
                        .lookup(pr, selections::ROW)
                        .await
                        .ok()
                        .and_then(|(p, _)| p.head_ref_oid.0);
                    head_moved(pr, head, &actual.unwrap_or_default())
                }
                _ => error,
            });
        }
        let entry = answer.data.as_ref().and_then(|d| d.get("merge")?.as_ref());
        let position = entry.and_then(|p| p.merge_queue_entry.as_ref()?.position);
        let unread = self.unread(&answer);
        match last_pull(&batch, answer.data.take()) {
            Some(pull) => {
                self.check_number(pr, number(pr)?, pull.number)
                    .map_err(ambiguous)?;
                let now = self.domain(&pr.repo, pull, PrFields::NONE, unread)?;
                Ok(MergeResult {
                    way,
                    pull: map::after_change(ask.before.clone(), now),
                    position,
                })
            }
            None => Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous)),
        }
    }
}

/// Fails if the head or base branch differs from the expected one. A change of the base after this
/// check is not detected, because GitHub's mutation checks only the head.
fn ensure_expected(pr: &PrId, req: &MergeReq, pull: &wire::Pull) -> Result<()> {
    let (head, base) = (pull.head_ref_oid.0.as_deref(), &pull.base_ref_name);
    check_expected_head(pr, req.expected_head.as_deref(), head)?;
    check_expected_base(pr, req.expected_base.as_deref(), base)
}

/// Selects the mode of the merge; fails if GitHub is known to refuse the merge.
fn select_mode(pr: &PrId, req: &MergeReq, pull: &wire::Pull) -> Result<MergeMode> {
    if pull.is_merge_queue_enabled && !req.admin {
        // In a repository with a queue, GitHub reports BLOCKED even for pull requests that the
        // queue accepts. That state is therefore not checked. An automatic merge waits until
        // conflicts are solved.
        if req.auto {
            refuse_draft(pr, pull)?;
        } else {
            check_ready(pr, pull)?;
        }
        return Ok(MergeMode::Queue);
    }
    // GitHub refuses auto-merge if an immediate merge is possible.
    let clean = matches!(
        pull.merge_state_status.as_deref(),
        Some("CLEAN" | "HAS_HOOKS" | "UNSTABLE")
    );
    if req.auto {
        return Ok(if clean {
            MergeMode::Now
        } else {
            MergeMode::Auto
        });
    }
    check_mergeable(pr, req, pull)?;
    Ok(MergeMode::Now)
}

/// Returns whether GitHub refused a merge because the pull request is in a stack.
fn is_stacked(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Precondition(Precondition::Stacked))
}

/// Returns whether GitHub refused a merge because of a rule that may be met later.
fn is_unmet(error: &Error) -> bool {
    error.retry() == Retry::Never
        && !matches!(
            error.kind(),
            ErrorKind::PermissionDenied { .. }
                | ErrorKind::Unauthenticated { .. }
                | ErrorKind::NotFound { .. }
                | ErrorKind::Conflict { .. }
        )
}

struct MergePreflight {
    repo: wire::Repo,
    pull: wire::Pull,
    /// Warnings about parts that could not be read.
    unread: Vec<Warning>,
}

/// Returns the optional parts to map: the linked issues, if the answer has them. Issues that were
/// not read must not look like an empty list.
fn sections(pull: &wire::Pull) -> PrFields {
    match pull.closing_issues_references {
        Some(_) => PrFields::LINKED_ISSUES,
        None => PrFields::NONE,
    }
}

pub(super) fn not_open(pr: &PrId, state: &str) -> Error {
    match state {
        "MERGED" => Error::precondition(Precondition::Merged, format!("{pr} is merged"))
            .with_hint("do nothing: the pull request is already merged"),
        "CLOSED" => Error::precondition(Precondition::Closed, format!("{pr} is closed"))
            .with_hint(reopen(pr)),
        other => map::unknown_state(&pr.repo.host, other, &pr.to_string()),
    }
}

/// Returns the requested merge method, or the repository's default.
fn choose(pr: &PrId, req: &MergeReq, repo: &wire::Repo) -> Result<MergeMethod> {
    let allowed = repos::methods(repo);
    let names: Vec<&str> = allowed.iter().map(|m| m.as_str()).collect();
    match (req.method, allowed.first()) {
        (Some(method), _) if allowed.contains(&method) => Ok(method),
        (Some(method), Some(first)) => Err(Error::precondition(
            Precondition::Rule,
            format!(
                "{} does not allow the method '{}'",
                pr.repo,
                method.as_str()
            ),
        )
        .with_hint(
            Hint::from(format!(
                "merge with an allowed method ({})",
                names.join(", ")
            ))
            .with_action(Action::again(&[]).with(Param::Method, first.as_str())),
        )),
        (None, Some(first)) => Ok(*first),
        // A token without access to the settings sees no allowed methods. The method is then sent
        // unchecked, and GitHub checks it.
        (wanted, None) => Ok(wanted.unwrap_or(MergeMethod::Merge)),
    }
}

fn refuse_draft(pr: &PrId, pull: &wire::Pull) -> Result<()> {
    if !pull.is_draft {
        return Ok(());
    }
    let ready = Action::op(Op::PrSetDraft)
        .on(&pr.key)
        .with(Param::Draft, "false");
    Err(
        Error::precondition(Precondition::Draft, format!("{pr} is a draft"))
            .with_hint(Hint::new("make it ready for review first").with_action(ready)),
    )
}

/// Refuses drafts and conflicts.
fn check_ready(pr: &PrId, pull: &wire::Pull) -> Result<()> {
    refuse_draft(pr, pull)?;
    if pull.mergeable.as_deref() == Some("CONFLICTING") {
        return Err(Error::precondition(
            Precondition::Conflicts(vec![]),
            format!("{pr} conflicts with {}", pull.base_ref_name),
        )
        .with_hint(solve_conflicts(pull)));
    }
    Ok(())
}

/// Checks GitHub's merge state. Only an explicit request for a merge as an admin skips this check,
/// because such a merge bypasses unmet rules.
fn check_mergeable(pr: &PrId, req: &MergeReq, pull: &wire::Pull) -> Result<()> {
    check_ready(pr, pull)?;
    let rule = |what: &str, hint: &'static str, op: Op| {
        Err(
            Error::precondition(Precondition::Rule, format!("{pr} cannot be merged: {what}"))
                .with_hint(Hint::new(hint).with_action(Action::op(op).on(&pr.key))),
        )
    };
    match pull.merge_state_status.as_deref() {
        Some("BLOCKED") if !req.admin => rule(blocked_reason(pull), UNMET, Op::Checks),
        Some("BEHIND") if !req.admin => rule(
            "the head branch is behind the base branch, and the rules require its newest commits \
             in the head",
            "update the branch; an admin can merge despite the rule",
            Op::PrUpdateBranch,
        ),
        _ => Ok(()),
    }
}

/// Returns why the base branch blocks the merge, as far as the review decision tells. GitHub
/// reports `CHANGES_REQUESTED` even if no rule requires reviews.
fn blocked_reason(pull: &wire::Pull) -> &'static str {
    match pull.review_decision.as_deref() {
        Some("REVIEW_REQUIRED") => {
            "the rules of the base branch are not met: an approving review is missing"
        }
        Some("CHANGES_REQUESTED") => {
            "the rules of the base branch are not met, and a reviewer requests changes"
        }
        _ => "the rules of the base branch are not met",
    }
}
