//! Moves or closes issues after the merge of a pull request.

use forge::workflow::{MergeEffects, MergeReport, MergeStep, Workflow, linked_issues};
use forge_core::{
    Capability, Error, Repo, Result, Support, Warning,
    mentions::mentions,
    model::{Merge, PrFields, PrState, PullRequest},
    text,
};

use forge_git::command_line;

use crate::ctx::Ctx;

/// Returns the message about issues if a step after the merge fails. A merge that waits for its
/// requirements is not done.
fn no_issue_moved(merge: &Merge) -> &'static str {
    if merge.queued || merge.queue_position.is_some() {
        "the merge happens later, and no issue was moved"
    } else {
        "the merge is done, and no issue was moved"
    }
}

/// Moves or closes the issues of a completed merge, and reports this on stderr. A pending merge
/// does not move issues. Failures are only warnings, because the merge itself succeeded.
///
/// `linking` is the pull request as the user saw it before the merge. If only the description and
/// the references link issues, the description and references of `linking` are used.
pub(super) async fn apply(
    ctx: &Ctx,
    repo: &Repo,
    workflow: Result<Option<Workflow>>,
    merge: &Merge,
    linking: Option<&PullRequest>,
) {
    let workflow = match workflow {
        Ok(workflow) => workflow,
        Err(e) => return ctx.ui.warning(&warning_of(&e, no_issue_moved(merge))),
    };
    let Some(pull) = with_issues(ctx, repo, merge, linking).await else {
        return;
    };
    let hosts = match ctx.forges() {
        Ok(forges) => forges.hosts().clone(),
        Err(_) => return,
    };
    if linked_issues(&pull, repo, &hosts).is_empty() {
        return;
    }
    if merge.queued || merge.queue_position.is_some() {
        if workflow.is_none() && closes_itself(repo) {
            ctx.ui
                .note("the merge happens later, and its effect on issues is not known yet");
            return;
        }
        let id = pull.id.to_string();
        let reconcile = command_line(["forge", "workflow", "reconcile", &id]);
        ctx.ui.note(&format!(
            "no issue is moved before the merge: run `{reconcile}` once it is done"
        ));
        return;
    }
    let effects = MergeEffects::new(repo.clone(), workflow.as_ref(), hosts);
    // For a new merge, the plan is made as if the pull request were still open. Otherwise it would
    // skip issues that a person reopened before the merge.
    let mut judged = pull.clone();
    if !merge.already_merged {
        judged.state = PrState::Open;
    }
    let mut report = match effects.plan(&judged).await {
        Ok(plan) => effects.apply(&pull, plan).await,
        Err(e) => return ctx.ui.warning(&warning_of(&e, no_issue_moved(merge))),
    };
    add_recovery(ctx, &mut report);
    for line in lines(&report) {
        ctx.ui.note(&line);
    }
    let left_to_forge = report.closed_by_forge.iter();
    let left_to_forge: Vec<&str> = left_to_forge.map(|issue| issue.name.as_str()).collect();
    if !left_to_forge.is_empty() {
        let (host, issues) = (&repo.id().host, left_to_forge.join(", "));
        let line = format!("left to {host}, not read: {issues}");
        ctx.ui.note(&text::one_line(&line));
    }
    print_unchanged_issues(ctx, &report);
}

/// Reads the workflow definition. This happens before the merge, because a head commit that changes
/// the definition must not decide about its own merge.
///
/// # Errors
///
/// `config` for an unusable workflow.
pub(super) async fn workflow(ctx: &Ctx, repo: &Repo) -> Result<Option<Workflow>> {
    ctx.forges()?.merge_workflow(repo).await
}

/// Returns the merged pull request with the issues that it closes. Requests the issues only if the
/// forge's answer to the merge lacks them. Returns `None` if the forge does not close issues
/// itself, and neither the description nor a reference links one.
async fn with_issues(
    ctx: &Ctx,
    repo: &Repo,
    merge: &Merge,
    linking: Option<&PullRequest>,
) -> Option<PullRequest> {
    let mut pull = merge.pull_request.clone();
    if links_by_text(repo) {
        let Some(linking) = linking else {
            ctx.ui.note(&format!(
                "{}: the linked issues were not read before the merge",
                no_issue_moved(merge)
            ));
            return None;
        };
        pull.description.clone_from(&linking.description);
        pull.closing_references
            .clone_from(&linking.closing_references);
    }
    let hosts = ctx.forges().ok()?.hosts();
    if !closes_itself(repo) && pull.closing_references.is_empty() {
        let named = mentions(&pull.description, hosts, &mut Vec::new());
        if !named.iter().any(|mention| mention.closes) {
            return None;
        }
    }
    // If only the description links issues, no request is needed, because the forge's answer to the
    // merge contains the description.
    if !matches!(closing(repo), Support::ClientSide { .. }) {
        if pull.linked_issues.is_none() {
            match repo.pull(&pull.id, PrFields::LINKED_ISSUES).await {
                Ok(viewed) => {
                    pull = viewed;
                    // The issues are treated as open, because the merge itself may just have closed
                    // them.
                    let closed = closes_itself(repo) && !merge.already_merged;
                    for issue in pull.linked_issues.iter_mut().flatten().filter(|_| closed) {
                        issue.open = true;
                    }
                }
                Err(e) => {
                    ctx.ui.warning(&warning_of(&e, no_issue_moved(merge)));
                    return None;
                }
            }
        }
        warn_of_unread(ctx, &pull);
    }
    if !merge.queued {
        // The forge's answer may lag behind the merge.
        pull.state = PrState::Merged;
        pull.merge_commit = pull.merge_commit.or_else(|| merge.commit.clone());
    }
    Some(pull)
}

pub(crate) fn warning_of(e: &Error, what: &str) -> Warning {
    let warning = Warning::new(format!("{what}: {}", e.message()));
    match e.hint() {
        Some(hint) => warning.with_hint(hint),
        None => warning,
    }
}

pub(crate) fn warn_of_unread(ctx: &Ctx, pull: &PullRequest) {
    let unread = |w: &&Warning| w.section == Some("linked_issues");
    for warning in pull.warnings.iter().filter(unread) {
        ctx.ui.warning(warning);
    }
}

/// Returns a line for each issue: `moved: #3: In Review -> Done (closed)`, or `closed: #3`.
pub(crate) fn lines(report: &MergeReport) -> Vec<String> {
    let did = if report.moves { "moved" } else { "closed" };
    let line = |step: &MergeStep| format!("{did}: {}", step.in_words());
    let lines = report.transitioned.iter().map(line);
    lines.map(|l| text::one_line(&l).into_owned()).collect()
}

/// For each issue that could not be changed, appends the hint to the reason.
pub(crate) fn add_recovery(ctx: &Ctx, report: &mut MergeReport) {
    for left in &mut report.failed {
        if let Some(hint) = left.hint.take() {
            let advice = ctx.ui.advice(&hint);
            left.reason.push_str(&format!("; {advice}"));
        }
    }
}

/// Prints the issues that were not changed, with the reasons. Failures are printed as warnings.
pub(crate) fn print_unchanged_issues(ctx: &Ctx, report: &MergeReport) {
    let did = if report.moves { "moved" } else { "closed" };
    for left in &report.skipped {
        let line = format!("not {did}: {} ({})", left.issue, left.reason);
        ctx.ui.note(&text::one_line(&line));
    }
    for left in &report.failed {
        let message = format!("{} was not {did}: {}", left.issue, left.reason);
        ctx.ui.warning(&Warning::new(message));
    }
}

/// Returns true if the forge itself closes the linked issues with a merge.
pub(super) fn closes_itself(repo: &Repo) -> bool {
    matches!(closing(repo), Support::Native)
}

/// Returns true if only the description and references link issues. In this case the forge's answer
/// to the merge may contain links that the user has not seen.
pub(super) fn links_by_text(repo: &Repo) -> bool {
    matches!(closing(repo), Support::ClientSide { .. })
}

/// Returns how the forge supports closing issues.
fn closing(repo: &Repo) -> Support {
    repo.support(Capability::PrCreateCloses)
}

#[cfg(test)]
mod tests {
    use forge_core::{PrId, RepoId, Timestamp, model::Actor};

    use super::*;

    #[test]
    fn waiting_merge_is_never_called_done() {
        let id = PrId::number(RepoId::local("/r"), 7);
        let pull = PullRequest::new(id, "Work", Actor::new("ada"), Timestamp::from_unix(0));
        let mut merge = Merge::of(pull);
        assert!(no_issue_moved(&merge).contains("is done"));
        merge.queued = true;
        assert!(!no_issue_moved(&merge).contains("is done"));
        merge.queued = false;
        merge.queue_position = Some(2);
        assert!(!no_issue_moved(&merge).contains("is done"));
    }
}
