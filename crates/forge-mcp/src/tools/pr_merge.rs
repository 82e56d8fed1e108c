use std::fmt::Debug;

use forge::{
    context::{
        ClearedBy, Readiness, Requirement, RequirementSource, RequirementStatus, Rule,
        VERDICT_FIELDS, readiness,
    },
    workflow::linked_issues,
};
use forge_core::{
    Action, Capability, Error, Hint, LOST_HEAD, Op, Outcome, Param, PrId, Precondition, Support,
    Warning, check_expected_head,
    mentions::mentions,
    model::{
        Check, CheckRollup, CheckStatus, IssueId, Merge, MergeFacts, MergeMethod, MergeReq,
        MergeState, PrFields, PrState, PullRequest, ReviewDecision, Thread,
    },
    settle_mergeability,
    text::one_line,
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    confirmation::{
        ConfirmationArgs, ConfirmationQuestion, QuestionFacts, changed, head_text, in_quotes,
        index_warnings, mentioned, named, quote_names, quoted, require_confirmation,
        require_supported, require_supported_here, titled,
    },
    linked::{LinkedIssuesOut, LinkedIssuesPlan},
    workflow_parts::issue_name,
    write_output,
};
use crate::{
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::{WarningOut, WriteOut},
};

pub(super) struct PrMerge;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrMergeInput {
    repo: Option<String>,
    number: String,
    /// Default: configured, repo's, else squash
    method: Option<MergeMethodArg>,
    expected_head: Option<String>,
    /// Message's first line
    subject: Option<String>,
    body: Option<String>,
    #[serde(default)]
    delete_branch: bool,
    /// Let the forge merge later
    #[serde(default)]
    auto: bool,
    /// Refuse unless checks passed
    #[serde(default)]
    require_checks: bool,
    /// Refuse unless approved
    #[serde(default)]
    require_approval: bool,
    /// Previous call's token; only without elicitation
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MergeMethodArg {
    Merge,
    Squash,
    Rebase,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PrMergeOut {
    #[serde(flatten)]
    written: WriteOut,
    merged: bool,
    /// Merged before this call
    already_merged: bool,
    /// Auto-merge is on: the forge merges later
    queued: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    branch_deleted: bool,
    #[serde(flatten)]
    linked: LinkedIssuesOut,
}

impl Tool for PrMerge {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_merge",
        title: "Merge a pull request",
        description: "Asks the user, merges, closes linked issues. Refuses conflicts or a moved \
                      head; warns of unmet rules. Safe to repeat.",
        effect: ToolEffect::Destroy,
    };
    type Args = PrMergeInput;
    type Out = PrMergeOut;

    async fn run(
        call: &CallContext,
        args: PrMergeInput,
    ) -> Result<ToolOutput<PrMergeOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let mut fields = VERDICT_FIELDS | PrFields::LINKED_ISSUES | PrFields::MERGED_BASE;
        if args.delete_branch {
            fields |= PrFields::DEPENDENTS;
        }
        let mut pull = settled(call, &target, fields).await?;
        let said = ConfirmationArgs {
            head: args.expected_head.as_deref(),
            confirm: args.confirm.as_deref(),
        };
        let mut finished = None;
        if pull.state == PrState::Merged {
            ensure_verified(&target, &pull)?;
        } else if has_conflicts(&pull)
            && let Ok(done) = finish_merge(call, &target, said.head, args.subject.as_deref()).await
        {
            // The API can lag: a merged pull request shows as conflicting until it catches up.
            pull.state = PrState::Merged;
            finished = Some(done);
        }
        // A closed pull request is refused before the user is asked. Otherwise a confirmation could
        // count for a pull request that is reopened later.
        if pull.state == PrState::Closed {
            return Err(closed(&target).into());
        }
        check_expected_head(&target.id, said.head, pull.head_id())?;
        if pull.state == PrState::Merged && !args.delete_branch {
            return merged_before(call, &target, &pull, &said, finished).await;
        }
        let mut warnings = unread(&pull);
        let mut plan = LinkedIssuesPlan::of(call, &target, &pull).await?;
        let mut by = None;
        let mut judged = None;
        let question = if pull.state == PrState::Open {
            if args.auto {
                require_supported_here(&target.repo, &[Capability::MergeAuto]).await?;
            }
            let verdict = verdict(call, &target, &pull).await;
            check(&target, &pull, &args, &verdict)?;
            check_closings(call, &target, &pull, &args, &plan)?;
            by = method(call, &target, args.method).await?;
            require_supported(&target.repo, &needs(by, &args))?;
            let text = question(call, &target, &pull, &args, by, &plan)
                + &requirements(call, &verdict)
                + &facts_in_words(&pull, args.delete_branch)
                + &warned(call, &warnings)
                + &warned(call, &index_warnings(&target.repo, Op::PrMerge).await)
                // Repository names and the message come last. If the question is too long for an
                // error message, its end is cut. A long name or message therefore cannot displace a
                // warning.
                + &plan.closed_by_forge_in_words(&target)
                + &message(call, &target.id, &args);
            warnings.extend(warn_of_unmet(&verdict));
            judged = Some(verdict);
            text
        } else {
            plan = plan.left_alone("this call only deletes the branch; omit delete_branch");
            about_branch(call, &target, &pull)
                + &facts_in_words(&pull, true)
                + &warned(call, &warnings)
        };
        let facts = facts(&pull);
        let question = ConfirmationQuestion {
            text: &question,
            bound: &facts.with((
                by.map(MergeMethod::as_str),
                plan.bound(),
                judged.as_ref().map(OpenRequirements::of),
            )),
        };
        require_confirmation(call, &target, &pull, &said, question).await?;
        // The user may have taken minutes to answer, so the facts in the question are checked
        // again.
        let now = match is_unknown(&pull) || judged.is_none() {
            // This read does not wait for the mergeability: either the call has already waited for
            // it, or the call only deletes a branch.
            true => target.repo.pull(&target.id, fields).await?,
            false => settled(call, &target, fields).await?,
        };
        facts.ensure_unchanged(&self::facts(&now))?;
        // Links and requirements are compared only for an open pull request. In other states, the
        // forge itself decides whether to accept the merge.
        if let Some(judged) = &judged
            && now.state == PrState::Open
        {
            ensure_links_unchanged(call, &target, &pull, &now)?;
            let now = verdict(call, &target, &now).await;
            OpenRequirements::of(judged).ensure_not_worse(&target, &now)?;
        }
        let mut req = MergeReq::default();
        req.method = by;
        // The request names the confirmed head, so that no other head is merged or deleted.
        req.expected_head = pull.head_id().map(str::to_owned);
        req.expected_base = Some(pull.base_branch.clone());
        req.expected_version = record(&pull).filter(|_| pull.state == PrState::Open);
        req.subject = args.subject;
        req.body = args.body;
        req.delete_branch = args.delete_branch;
        req.auto = args.auto;
        // If the user confirmed only a deletion, the request must not merge.
        req.only_left_over = pull.state == PrState::Merged;
        req.skip_wait = is_unknown(&pull);
        req.clone = call.server.clone_of(&target.repo).await;
        let outcome = drop_redundant_warning(target.repo.merge(&target.id, &req).await?);
        let merge = &outcome.value;
        let did = match merge {
            m if m.branch_deleted && m.already_merged => {
                "was merged before, and its branch is deleted"
            }
            m if m.already_merged => "was merged before",
            m if m.queued => "will be merged when its requirements are met",
            m if m.branch_deleted => "merged, and its branch is deleted",
            _ => "merged",
        };
        let mut out = write_output::of(call, &target.id, did, &outcome);
        out.state = crate::output::state_word(&merge.pull_request).to_owned();
        out.url = Some(call.cleaner.line(&merge.pull_request.url));
        out.id = merge.commit.clone();
        let mut all = WarningOut::all(&warnings, &call.about(), &call.cleaner);
        all.append(&mut out.warnings);
        out.warnings = all;
        if merge.queued {
            plan = plan
                .left_alone("the merge happens later, and its effect on issues is not known yet");
        }
        // The pull request in the forge's answer can still be open, so `Merged` is set here.
        let mut merged = pull.clone();
        merged.state = PrState::Merged;
        merged.merge_commit.clone_from(&merge.commit);
        let linked = plan.carry_out(call, &target, &merged).await;
        let answer = write_output::answer(out);
        Ok(ToolOutput {
            text: answer.text + &linked.text(),
            data: PrMergeOut {
                merged: !merge.queued,
                already_merged: merge.already_merged,
                queued: merge.queued,
                method: merge.method.or(by).map(|m| m.as_str().to_owned()),
                commit: merge.commit.clone(),
                branch_deleted: merge.branch_deleted,
                linked,
                written: answer.data,
            },
        })
    }
}

async fn verdict(call: &CallContext, target: &PullTarget, pull: &PullRequest) -> Readiness {
    let settings = call.server.forges().config().context_settings();
    readiness(&target.repo, pull, &settings).await
}

/// The requirements that were unmet or unknown when the user was asked. The confirmation covers
/// only these.
#[derive(Debug)]
struct OpenRequirements(Vec<(&'static str, &'static str, RequirementStatus)>);

impl OpenRequirements {
    fn of(verdict: &Readiness) -> Self {
        let open = verdict.open().filter(|r| !passes_by_itself(r));
        let mut open: Vec<_> = open.map(Self::key).collect();
        open.sort_unstable();
        Self(open)
    }

    fn key(r: &Requirement) -> (&'static str, &'static str, RequirementStatus) {
        (r.rule.name(), r.source.name(), r.status)
    }

    /// Returns the status that the requirement with the same rule and source had when the user was
    /// asked.
    fn status_of(&self, r: &Requirement) -> RequirementStatus {
        let (rule, source, _) = Self::key(r);
        let mut open = self.0.iter();
        let found = open.find(|known| (known.0, known.1) == (rule, source));
        found.map_or(RequirementStatus::Met, |known| known.2)
    }

    /// Checks that no requirement got worse since the question. A requirement gets worse if it was
    /// met and is now open, or if it was unknown and is now unmet.
    fn ensure_not_worse(&self, target: &PullTarget, now: &Readiness) -> Result<(), Error> {
        let mut open = now.open().filter(|r| !passes_by_itself(r));
        let Some(new) = open.find(|r| r.status < self.status_of(r)) else {
            return Ok(());
        };
        let (rule, source, status) = Self::key(new);
        Err(changed(
            self.status_of(new).name().to_owned(),
            status.name().to_owned(),
            format!(
                "{rule} ({source}) of {} has become {} meanwhile: {}",
                target.id,
                status.name(),
                new.evidence
            ),
        ))
    }
}

/// Returns true for a requirement that may become met without any action while the user decides.
/// Its change must not invalidate the user's answer. Such requirements are:
/// - `ChecksFinished`, because checks are running.
/// - An unknown requirement that only time or CI can clear, unless it counts named items.
fn passes_by_itself(r: &Requirement) -> bool {
    let by_itself = |who| matches!(who, ClearedBy::Ci | ClearedBy::Time);
    r.rule == Rule::ChecksFinished
        || r.status == RequirementStatus::Unknown
            && r.counted.is_none()
            && !r.cleared_by.is_empty()
            && r.cleared_by.iter().all(|by| by_itself(by.who))
}

/// Checks that the pull request closes the same issues as when the user was asked. An issue that
/// was closed meanwhile counts as unchanged.
fn ensure_links_unchanged(
    call: &CallContext,
    target: &PullTarget,
    then: &PullRequest,
    now: &PullRequest,
) -> Result<(), Error> {
    let linked = |pull: &PullRequest| -> Vec<(IssueId, bool)> {
        let linked = linked_issues(pull, &target.repo, call.server.forges().hosts());
        let linked = linked.into_iter();
        linked
            .map(|issue| (issue.id, issue.open != Some(false)))
            .collect()
    };
    let (before, after) = (linked(then), linked(now));
    let new = after
        .iter()
        .filter(|linked| linked.1 && !before.contains(linked));
    let gone = before
        .iter()
        .filter(|(id, open)| *open && !after.iter().any(|(other, _)| other == id));
    let ids: Vec<String> = new.chain(gone).map(|(id, _)| id.to_string()).collect();
    let is_unread = then.linked_issues.is_some() && now.linked_issues.is_none();
    let what = match is_unread {
        true => "cannot be read again".to_owned(),
        false if ids.is_empty() => return Ok(()),
        false => format!("were changed meanwhile: {}", ids.join(", ")),
    };
    let names = |linked: &[(IssueId, bool)]| listed(linked.iter().map(|(id, _)| id.to_string()));
    Err(changed(
        names(&before),
        names(&after),
        format!("the issues that {} closes {what}", target.id),
    ))
}

/// Reads the pull request until its mergeability is known, for at most seven seconds.
async fn settled(
    call: &CallContext,
    target: &PullTarget,
    fields: PrFields,
) -> Result<PullRequest, Error> {
    let read = || target.repo.pull(&target.id, fields);
    let pause = |number, length| async move {
        let what = "the forge computes whether it can be merged";
        call.progress(number, Some(3), what).await;
        tokio::time::sleep(length).await;
    };
    settle_mergeability(read().await?, is_unknown, pause, read).await
}

/// Returns true if the forge has not yet computed the mergeability.
fn is_unknown(pull: &PullRequest) -> bool {
    let found = pull.mergeability.as_ref();
    pull.state == PrState::Open && found.is_some_and(|m| m.state == MergeState::Unknown)
}

/// Handles a pull request that is already merged. The user is asked again before the remaining
/// issues are closed, because the description may have changed since the merge was confirmed.
async fn merged_before(
    call: &CallContext,
    target: &PullTarget,
    pull: &PullRequest,
    said: &ConfirmationArgs<'_>,
    finished: Option<Outcome<Merge>>,
) -> Result<ToolOutput<PrMergeOut>, ToolError> {
    let warnings = unread(pull);
    let mut plan = LinkedIssuesPlan::of(call, target, pull).await?;
    let issues = plan.in_words();
    if !issues.is_empty() {
        let title = titled(call, pull);
        let mut text = format!("{} {title} is merged. {} {issues}?", target.id, plan.verb());
        text.push_str(&plan.off_board_in_words());
        text.push_str(&warned(call, &warnings));
        let question = ConfirmationQuestion {
            text: &text,
            bound: &QuestionFacts(vec![("title", pull.title.clone())]).with(plan.bound()),
        };
        match require_confirmation(call, target, pull, said, question).await {
            Ok(()) => {}
            Err(ToolError::Failed(e)) => plan = plan.left_alone(&call.error_text(&e)),
            Err(ask @ ToolError::Ask(_)) => return Err(ask),
        }
    }
    let mut out = match finished {
        Some(done) => done,
        None => finish_merge(call, target, said.head, None).await?,
    };
    out.warnings.splice(0..0, warnings);
    let linked = plan.carry_out(call, target, pull).await;
    out.unchanged &= linked.is_unchanged();
    let commit = out.value.commit.clone();
    let out = out.map(|merge| merge.pull_request);
    let ToolOutput { text, data } = write_output::of_pull(call, "was merged before", &out);
    Ok(ToolOutput {
        text: text + &linked.text(),
        data: PrMergeOut {
            merged: true,
            already_merged: true,
            queued: false,
            method: None,
            commit,
            branch_deleted: false,
            linked,
            written: data,
        },
    })
}

/// Finishes a merge that has already happened. Fails if the pull request is not merged. `subject`
/// helps to find the merge commit.
async fn finish_merge(
    call: &CallContext,
    target: &PullTarget,
    head: Option<&str>,
    subject: Option<&str>,
) -> Result<Outcome<Merge>, Error> {
    let mut req = MergeReq::default();
    req.only_left_over = true;
    req.expected_head = head.map(str::to_owned);
    req.subject = subject.map(str::to_owned);
    req.clone = call.server.clone_of(&target.repo).await;
    Ok(drop_redundant_warning(
        target.repo.merge(&target.id, &req).await?,
    ))
}

/// Removes the first warning of a merge that changed nothing. The result's text already says that
/// nothing was changed.
fn drop_redundant_warning(mut outcome: Outcome<Merge>) -> Outcome<Merge> {
    if outcome.unchanged {
        outcome.warnings = outcome.warnings.into_iter().skip(1).collect();
    }
    outcome
}

fn has_conflicts(pull: &PullRequest) -> bool {
    let found = pull.mergeability.as_ref();
    pull.state == PrState::Open && found.is_some_and(|m| m.state == MergeState::Conflicting)
}

/// The parts of a pull request on which a merge and its effects depend.
const MERGE_SECTIONS: [&str; 8] = [
    "checks",
    "dependents",
    "latest_reviews",
    "linked_issues",
    "mergeability",
    "merged_base",
    "reviews",
    "threads",
];

/// Returns the warnings for those of [`MERGE_SECTIONS`] that could not be read. The confirmation
/// question must include them.
fn unread(pull: &PullRequest) -> Vec<Warning> {
    let tells = |w: &&Warning| w.section.is_some_and(|s| MERGE_SECTIONS.contains(&s));
    pull.warnings.iter().filter(tells).cloned().collect()
}

/// Maximum length of a warning in a question, in characters.
const MAX_WARNING: usize = 400;

/// Formats the warnings, for the end of a confirmation question.
pub(super) fn warned(call: &CallContext, warnings: &[Warning]) -> String {
    let mut text = String::new();
    for warning in warnings {
        let message = call.cleaner.line(&warning.message).cut(MAX_WARNING);
        text.push_str(&format!(" Warning: {}.", in_quotes(message.as_data())));
    }
    text
}

/// Refuses a pull request that is reported as merged, if a warning says that the merge is not
/// verified. Such a pull request does not count as merged, and its branch must not be deleted.
pub(super) fn ensure_verified(target: &PullTarget, pull: &PullRequest) -> Result<(), Error> {
    let doubt = pull.warnings.iter().find(|w| w.section == Some("state"));
    let Some(doubt) = doubt else {
        return Ok(());
    };
    Err(Error::precondition(
        Precondition::Rule,
        format!(
            "the merge of {} is not verified: {}",
            target.id, doubt.message
        ),
    )
    .with_hint(Hint::fixed(
        "to merge it, reopen it first",
        Action::op(Op::PrReopen),
    )))
}

fn closed(target: &PullTarget) -> Error {
    Error::precondition(
        Precondition::Closed,
        format!("{} is closed and cannot be merged", target.id),
    )
    .with_hint(Hint::fixed("reopen it first", Action::op(Op::PrReopen)))
}

/// Returns the merge method: that of the argument, else of the configuration, else the repository's
/// default, else squash if allowed, else the first allowed method.
async fn method(
    call: &CallContext,
    target: &PullTarget,
    named: Option<MergeMethodArg>,
) -> Result<Option<MergeMethod>, Error> {
    let named = named.map(|m| match m {
        MergeMethodArg::Merge => MergeMethod::Merge,
        MergeMethodArg::Squash => MergeMethod::Squash,
        MergeMethodArg::Rebase => MergeMethod::Rebase,
    });
    if let Some(method) = named.or_else(|| call.server.forges().config().merge_method()) {
        return Ok(Some(method));
    }
    let info = target.repo.info().await?;
    let allowed = &info.merge_methods;
    let squash = allowed
        .contains(&MergeMethod::Squash)
        .then_some(MergeMethod::Squash);
    Ok(info
        .default_merge_method
        .or(squash)
        .or_else(|| allowed.first().copied()))
}

fn needs(by: Option<MergeMethod>, args: &PrMergeInput) -> Vec<Capability> {
    let by = by.map(|by| match by {
        MergeMethod::Merge => Capability::MergeCommit,
        MergeMethod::Squash => Capability::MergeSquash,
        MergeMethod::Rebase => Capability::MergeRebase,
    });
    let auto = args.auto.then_some(Capability::MergeAuto);
    let branch = args.delete_branch.then_some(Capability::PrDeleteBranch);
    [by, auto, branch].into_iter().flatten().collect()
}

pub(super) fn conflicting(pull: &PullRequest) -> Error {
    let (id, base) = (&pull.id, &pull.base_branch);
    let found = pull.mergeability.as_ref();
    let files = found.map(|m| m.conflicts.as_slice()).unwrap_or_default();
    let named = match files.is_empty() {
        true => String::new(),
        false => format!(" in {}", files.join(", ")),
    };
    let error = Error::precondition(
        Precondition::Conflicts(files.to_vec()),
        format!("cannot merge {id}: it has conflicts with {base}{named}"),
    );
    if pull.head_repo_is_unknown {
        error.with_hint(&LOST_HEAD)
    } else {
        error.with_hint("merge the base branch into the head branch and push, then try again")
    }
}

/// Refuses a draft, an immediate merge with conflicts, and a merge that does not meet the caller's
/// conditions (`require_checks`, `require_approval`). Called before the user is asked.
fn check(
    target: &PullTarget,
    pull: &PullRequest,
    args: &PrMergeInput,
    verdict: &Readiness,
) -> Result<(), Error> {
    let is_unmet = |rule| {
        let mut open = verdict.open();
        open.any(|r| r.rule == rule && r.status == RequirementStatus::Unmet)
    };
    if is_unmet(Rule::NotDraft) {
        return Err(
            Error::precondition(Precondition::Draft, format!("{} is a draft", target.id))
                .with_hint(
                    Hint::new("mark it as ready for review first")
                        .with_action(Action::op(Op::PrSetDraft).with(Param::Draft, "false")),
                ),
        );
    }
    // A scheduled merge waits until the conflicts are solved. The question names them.
    if is_unmet(Rule::NoConflicts) && !args.auto {
        return Err(conflicting(pull));
    }
    let overall = pull.checks.as_ref().map(|checks| checks.overall);
    // GitHub may require an approval by a person whom this server does not know. GitHub's own
    // review decision is therefore checked in addition to the rules.
    let is_refused = matches!(
        pull.review_decision,
        Some(ReviewDecision::ReviewRequired | ReviewDecision::ChangesRequested)
    );
    let wanted = [
        (
            args.require_checks,
            // If no check is required, the rules are met even if no check has passed. The overall
            // result of the checks must therefore be a success as well.
            verdict.are_met(&CHECKED) && overall == Some(CheckRollup::Success),
            &CHECKED[..],
            "the checks have not passed",
            "look at the checks; if there are none, omit require_checks",
            Op::Checks,
        ),
        (
            args.require_approval,
            verdict.are_met(&APPROVED) && !is_refused,
            &REVIEWED[..],
            "it is not approved",
            "see who was asked for a review, and ask further reviewers",
            Op::ReviewList,
        ),
    ];
    for (is_wanted, is_done, rules, what, hint, look) in wanted {
        let open = verdict.open().filter(|r| rules.contains(&r.rule));
        let open: Vec<&str> = open.map(|r| r.evidence.as_str()).collect();
        if is_wanted && !(is_done && open.is_empty()) {
            let why = match open.is_empty() {
                true => "none".to_owned(),
                false => open.join("; "),
            };
            return Err(Error::precondition(
                Precondition::Rule,
                format!("cannot merge {}: {what}: {why}", target.id),
            )
            .with_hint(Hint::fixed(hint, Action::op(look))));
        }
    }
    if args.auto {
        return Ok(());
    }
    check_rules(target, pull, verdict)
}

/// Refuses a merge if a rule of the base branch is not met. Otherwise the forge would refuse the
/// merge, but only after the user has confirmed it.
fn check_rules(target: &PullTarget, pull: &PullRequest, verdict: &Readiness) -> Result<(), Error> {
    let found = pull.mergeability.as_ref();
    let (hint, op) = match found.map_or("", |m| m.status.as_str()) {
        "BLOCKED" => (
            "meet them first, or pass auto=true: the forge then merges as soon as they are met",
            Op::Checks,
        ),
        "BEHIND" => ("update the branch first", Op::PrUpdateBranch),
        _ => return Ok(()),
    };
    let is_of_branch = |r: &&Requirement| {
        let source = matches!(
            r.source,
            RequirementSource::Ruleset
                | RequirementSource::BranchProtection
                | RequirementSource::CodeOwners
        );
        r.status == RequirementStatus::Unmet && source
    };
    let why = verdict.open().filter(is_of_branch);
    let why: Vec<&str> = why.map(|r| r.evidence.as_str()).collect();
    let mut all = verdict.requirements.iter();
    // A merge queue accepts a pull request that GitHub reports as BLOCKED, so the rules are not
    // checked here.
    if why.is_empty() || all.any(|r| r.source == RequirementSource::MergeQueue) {
        return Ok(());
    }
    let message = format!(
        "cannot merge {}: rules of the base branch are not met: {}",
        target.id,
        why.join("; ")
    );
    Err(Error::precondition(Precondition::Rule, message)
        .with_hint(Hint::fixed(hint, Action::op(op))))
}

/// Refuses a merge by which the forge would close an issue in a repository that this server may not
/// change. The title and the caller's message are searched for such issues, because they become the
/// message of a commit.
fn check_closings(
    call: &CallContext,
    target: &PullTarget,
    pull: &PullRequest,
    args: &PrMergeInput,
    plan: &LinkedIssuesPlan,
) -> Result<(), Error> {
    let closes = target.repo.support(Capability::PrCreateCloses);
    if !matches!(closes, Support::Native) {
        return Ok(());
    }
    let texts = [Some(&pull.title), args.subject.as_ref(), args.body.as_ref()];
    let texts: Vec<&str> = texts.into_iter().flatten().map(String::as_str).collect();
    // The texts are joined, because a closing word at the end of the subject counts for an issue at
    // the beginning of the body.
    let by_message = closed_by_message(call, &target.id, &texts.join(" "));
    let of_forge = by_message
        .into_iter()
        .filter(|issue| issue.repo.kind == target.id.repo.kind);
    for issue in plan.closed_by_forge().cloned().chain(of_forge) {
        if let Err(denied) = call.server.may_close(&issue) {
            let (id, why) = (&target.id, denied.message());
            let message = format!("cannot merge {id}: the merge closes {issue}, but {why}");
            return Err(Error::new(denied.kind().clone(), message).with_hint(
                "remove the issue's closing word from the title, description or message; or tell \
                 the user, who can start the server with the issue's repository in the list",
            ));
        }
    }
    Ok(())
}

/// The rules that `require_checks` covers.
const CHECKED: [Rule; 3] = [
    Rule::ChecksPassed,
    Rule::ChecksReported,
    Rule::ChecksFinished,
];
/// The rules that `require_approval` covers.
const APPROVED: [Rule; 2] = [Rule::NoChangesRequested, Rule::Approved];
/// Rules that `require_approval` covers. None of them may be open, but only those in [`APPROVED`]
/// must be in the verdict.
const REVIEWED: [Rule; 4] = [
    Rule::NoChangesRequested,
    Rule::Approved,
    Rule::CodeOwnersApproved,
    Rule::LastPushApproved,
];

/// Returns the facts in the question other than the head, the method and the issues.
fn facts(pull: &PullRequest) -> QuestionFacts {
    let threads = match pull.threads {
        Some(_) => listed(unresolved(pull).map(|thread| &thread.id)),
        None => "not read".to_owned(),
    };
    let facts = MergeFacts::of(pull);
    let dependents = match &facts.dependents {
        Some(keys) => listed(keys.iter().map(ToString::to_string)),
        None => "not read".to_owned(),
    };
    QuestionFacts(vec![
        ("base branch", pull.base_branch.clone()),
        ("head branch", pull.head_branch.clone()),
        ("title", pull.title.clone()),
        ("result of the checks", checks(pull)),
        ("list of unresolved threads", threads),
        (
            "list of reviewers who request changes",
            listed(facts.changes_requested_by.iter()),
        ),
        (
            "list of pull requests that are based on its branch",
            dependents,
        ),
        ("record", record(pull).unwrap_or_default()),
    ])
}

/// Formats the facts that no requirement names: pull requests that the deletion of the branch
/// affects, and a merge queue.
fn facts_in_words(pull: &PullRequest, deletes: bool) -> String {
    let facts = MergeFacts::of(pull).in_words(deletes);
    facts.iter().map(|fact| format!(" {fact}.")).collect()
}

/// Returns the version of the pull request's record on tangled if the head is a patch. The record
/// determines the patch, its target branch and the message of the merge.
fn record(pull: &PullRequest) -> Option<String> {
    pull.head_patch.as_ref().map(|_| pull.version.clone())
}

/// Formats a sorted list of names. Unlike their number, the names also change if one item replaces
/// another.
fn listed(names: impl Iterator<Item = impl Debug + Ord>) -> String {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

fn unresolved(pull: &PullRequest) -> impl Iterator<Item = &Thread> {
    let threads = pull.threads.as_deref().unwrap_or_default();
    threads.iter().filter(|thread| thread.is_open())
}

/// Formats the overall result of the checks, with the names of failed checks. Pending checks are
/// not named, because every check that passes would then invalidate the user's answer.
fn checks(pull: &PullRequest) -> String {
    let unread = pull.warnings.iter().any(|w| w.section == Some("checks"));
    match &pull.checks {
        Some(report) => match report.overall {
            CheckRollup::Success => "success".to_owned(),
            CheckRollup::Failure => {
                let is_bad =
                    |c: &&Check| matches!(c.status, CheckStatus::Failure | CheckStatus::Cancelled);
                let failed = report.checks.iter().filter(is_bad);
                let name = |c: &Check| match &c.workflow {
                    Some(workflow) => format!("{workflow}/{}", c.name),
                    None => c.name.clone(),
                };
                format!("failed {}", listed(failed.map(name)))
            }
            CheckRollup::Pending if report.truncated => "not read in full".to_owned(),
            CheckRollup::Pending => "pending".to_owned(),
            CheckRollup::Neutral => "none".to_owned(),
        },
        None if unread => "not read".to_owned(),
        None => "none".to_owned(),
    }
}

/// Returns the question about deleting the branch of a merged pull request.
fn about_branch(call: &CallContext, target: &PullTarget, pull: &PullRequest) -> String {
    format!(
        "{} {} is merged. Delete its branch {}? Head {}.",
        target.id,
        titled(call, pull),
        named(&pull.head_branch),
        head_text(pull),
    )
}

fn question(
    call: &CallContext,
    target: &PullTarget,
    pull: &PullRequest,
    args: &PrMergeInput,
    method: Option<MergeMethod>,
    plan: &LinkedIssuesPlan,
) -> String {
    let how = method.map_or("the default method", MergeMethod::as_str);
    let when = if args.auto {
        " as soon as the forge allows it"
    } else {
        ""
    };
    let delete = match args.delete_branch {
        true => format!(" and delete its branch {}", named(&pull.head_branch)),
        false => String::new(),
    };
    let mut question = format!(
        "Merge {} into {} by {how}{when}{delete}? Head {}. Title {}, by {}.",
        target.id,
        named(&pull.base_branch),
        head_text(pull),
        titled(call, pull),
        mentioned(call, &pull.author.login),
    );
    if require_supported(&target.repo, &[Capability::Checks]).is_ok() && checks(pull) == "none" {
        question.push_str(" Nothing has checked the head.");
    }
    let issues = plan.in_words();
    if !issues.is_empty() {
        question.push_str(&format!(" {}s {issues}.", plan.verb()));
    }
    question.push_str(&plan.off_board_in_words());
    question
}

/// Formats the message that the caller passed, and the issues that follow its closing keywords. A
/// forge may close these issues although the plan for linked issues does not name them.
fn message(call: &CallContext, id: &PrId, args: &PrMergeInput) -> String {
    let parts = [&args.subject, &args.body].into_iter().flatten();
    let parts: Vec<&str> = parts
        .map(String::as_str)
        .filter(|part| !part.trim().is_empty())
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    let own = IssueId {
        repo: id.repo.clone(),
        key: id.key.clone(),
    };
    let closing = closed_by_message(call, id, &parts.join(" ")).into_iter();
    let closing: Vec<String> = closing
        .map(|issue| issue_name(call, &issue, &own))
        .collect();
    let shown: Vec<String> = parts.iter().map(|part| quoted(call, part)).collect();
    let mut text = format!(" Message {}.", shown.join(", "));
    if !closing.is_empty() {
        let issues = quote_names(call, "Closing words in the message", &closing);
        text.push_str(&format!(" {issues}."));
    }
    text
}

/// Returns the issues that follow the closing keywords of a commit message.
fn closed_by_message(call: &CallContext, id: &PrId, message: &str) -> Vec<IssueId> {
    // A commit message is not Markdown. A keyword in it counts even if the text around it looks
    // like code or HTML.
    let plain = one_line(message).replace(['`', '~', '<', '>', '['], " ");
    let found = mentions(&plain, call.server.forges().hosts(), &mut Vec::new());
    let closing = found.into_iter().filter(|mention| mention.closes);
    let closing = closing.map(|mention| {
        let link = mention.named.link(&id.repo);
        IssueId {
            repo: link.repo.unwrap_or_else(|| id.repo.clone()),
            key: link.key,
        }
    });
    closing.collect()
}

/// Formats the requirements that the merge ignores, each with its source. Foreign names, such as
/// those of checks, are quoted.
fn requirements(call: &CallContext, verdict: &Readiness) -> String {
    let mut text = String::new();
    let groups = [
        (RequirementStatus::Unmet, "Not met"),
        (RequirementStatus::Unknown, "Not known"),
    ];
    for (status, what) in groups {
        let of = |r: &Requirement| {
            let evidence = match &r.counted {
                Some((what, names)) => quote_names(call, what, names),
                None => quoted(call, &r.evidence),
            };
            format!("{} ({}) {evidence}", r.rule.name(), r.source.name())
        };
        let open = verdict.open().filter(|r| r.status == status);
        let open: Vec<String> = open.map(of).collect();
        if !open.is_empty() {
            text.push_str(&format!(" {what}: {}.", open.join("; ")));
        }
    }
    text
}

/// Returns a warning for each requirement that the merge ignored.
fn warn_of_unmet(verdict: &Readiness) -> Vec<Warning> {
    let open = verdict.open();
    let unmet = open.filter(|r| r.status == RequirementStatus::Unmet);
    let of = |r: &Requirement| {
        let (rule, source) = (r.rule.name(), r.source.name());
        Warning::new(format!("{rule} ({source}) is not met: {}", r.evidence))
    };
    unmet.map(of).collect()
}
