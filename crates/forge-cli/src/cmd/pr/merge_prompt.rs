//! Summary and questions of `forge pr merge`, shown on a terminal if no flag names the method.

use forge::workflow::{MAX_LINKED_ISSUES, linked_issues};
use forge_core::{
    Action, Capability, Error, Hint, LOST_HEAD, Op, Param, PrId, PrKey, Precondition, Repo, Result,
    model::{
        BaseRuleKind, CheckStatus, MergeMethod, MergeReq, MergeState, Mergeability, PrState,
        PullRequest,
    },
    text,
};

use super::{
    clone_branch, merged_issues,
    shared::{has, head_label, pull_with_title, repo_name},
};
use crate::{
    ctx::Ctx,
    ui::{editor, prompt, time::plural},
};

/// Prints the summary: number, title, branches, checks and open threads. On a forge without issue
/// links of its own, also prints the issues that the description and the references link.
pub(super) fn show(ctx: &Ctx, repo: &Repo, pull: &PullRequest) {
    let ui = &ctx.ui;
    ui.note(&format!("Merging pull request {}", pull_with_title(pull)));
    let c = ui.err_palette();
    let (base, head) = (text::one_line(&pull.base_branch), head_label(pull));
    let head = text::one_line(&head);
    let mut facts = vec![format!("into {} from {}", c.cyan(&base), c.cyan(&head))];
    facts.extend(checks(pull));
    let threads = pull.threads.iter().flatten().filter(|t| t.is_open());
    let open = threads.count();
    if open > 0 {
        facts.push(c.yellow(&counted(open, "open thread")));
    }
    ui.note(&format!("  {}", facts.join(" • ")));
    if let Some(names) = linked_names(ctx, repo, pull) {
        ui.note(&format!("  linked issues: {names}"));
    }
}

/// Returns the issues that the merge of `pull` closes, on one line; `None` if there are none. The
/// user has to see them here, because references in a tangled record are not part of the
/// description.
pub(super) fn linked_names(ctx: &Ctx, repo: &Repo, pull: &PullRequest) -> Option<String> {
    let issues = linked_issues(pull, repo, ctx.forges().ok()?.hosts());
    let more = issues.len().saturating_sub(MAX_LINKED_ISSUES);
    let named = issues.iter().take(MAX_LINKED_ISSUES);
    let mut names: Vec<String> = named.map(|issue| issue.id.to_string()).collect();
    if more > 0 {
        let unchanged = match merged_issues::closes_itself(repo) {
            true => "",
            false => ", which are not changed",
        };
        names.push(format!("and {more} more{unchanged}"));
    }
    let names = names.join(", ");
    (!names.is_empty()).then(|| text::one_line(&names).into_owned())
}

/// Returns the line `checks: 1 failing, 2 successful`; `None` if the forge has no checks.
fn checks(pull: &PullRequest) -> Option<String> {
    let checks = &pull.checks.as_ref()?.checks;
    let words = [
        (CheckStatus::Failure, "failing"),
        (CheckStatus::Cancelled, "cancelled"),
        (CheckStatus::Pending, "pending"),
        (CheckStatus::Success, "successful"),
        (CheckStatus::Skipped, "skipped"),
    ];
    let counts: Vec<String> = words
        .into_iter()
        .map(|(status, word)| (checks.iter().filter(|c| c.status == status).count(), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    Some(match counts.is_empty() {
        true => "no checks".to_owned(),
        false => format!("checks: {}", counts.join(", ")),
    })
}

fn counted(count: usize, unit: &str) -> String {
    plural(i64::try_from(count).unwrap_or(i64::MAX), unit)
}

/// Refuses a merge that would fail, before the user answers questions. `can_wait` is true if the
/// forge can merge automatically later.
///
/// # Errors
///
/// `precondition_failed` for a closed pull request; also for a draft, conflicts or unmet rules,
/// unless the merge waits for its requirements.
pub(super) fn check(pull: &PullRequest, req: &MergeReq, can_wait: bool) -> Result<()> {
    let (pr, key) = (&pull.id, &pull.id.key);
    if pull.state == PrState::Closed {
        let reopen = Action::op(Op::PrReopen).on(key);
        return Err(
            Error::precondition(Precondition::Closed, format!("{pr} is closed"))
                .with_hint(Hint::new("open it again first").with_action(reopen)),
        );
    }
    if req.auto {
        return Ok(());
    }
    if pull.draft {
        let ready = Action::op(Op::PrSetDraft).on(key);
        let ready = ready.with(Param::Draft, "false");
        return Err(
            Error::precondition(Precondition::Draft, format!("{pr} is a draft"))
                .with_hint(Hint::new("make it ready for review first").with_action(ready)),
        );
    }
    let Some(found) = &pull.mergeability else {
        return Ok(());
    };
    if found.state == MergeState::Conflicting {
        return Err(conflicts_error(pull, found));
    }
    let mut rules = pull.base_rules.iter().flat_map(|base| &base.rules);
    // With a merge queue, GitHub reports BLOCKED even for a pull request that the queue would
    // accept, so this status is ignored.
    if req.admin || rules.any(|rule| rule.wants == BaseRuleKind::MergeQueue) {
        return Ok(());
    }
    let (why, hint) = match found.status.as_str() {
        "BLOCKED" if !can_wait => {
            return pull
                .depends_on
                .as_ref()
                .map_or(Ok(()), |below| Err(stacked_error(pull, below)));
        }
        "BLOCKED" => (
            "its requirements are not met",
            Hint::new("pass --auto to merge once they are met, or --admin to merge anyway"),
        ),
        "BEHIND" => (
            "the head branch is behind the base branch, and the rules require its newest commits \
             in the head",
            Hint::new("update the branch").with_action(Action::op(Op::PrUpdateBranch).on(key)),
        ),
        _ => return Ok(()),
    };
    let message = format!("{pr} cannot be merged: {why}");
    Err(Error::precondition(Precondition::Rule, message).with_hint(hint))
}

/// Returns the error for `pull` if the pull request `below`, on which it depends, is still open.
fn stacked_error(pull: &PullRequest, below: &PrKey) -> Error {
    let first = PrId {
        repo: pull.id.repo.clone(),
        key: below.clone(),
    };
    let message = format!("{} builds on {first}, which must be merged first", pull.id);
    let merge = Action::op(Op::PrMerge).on(below);
    Error::precondition(Precondition::Stacked, message)
        .with_hint(Hint::from(format!("merge {first} first")).with_action(merge))
}

fn conflicts_error(pull: &PullRequest, found: &Mergeability) -> Error {
    let files = match found.conflicts.as_slice() {
        [] => String::new(),
        files => {
            let names: Vec<_> = files.iter().map(|name| text::one_line(name)).collect();
            format!(" in {}", names.join(", "))
        }
    };
    let message = format!("{} conflicts with {}{files}", pull.id, pull.base_branch);
    let error = Error::precondition(Precondition::Conflicts(found.conflicts.clone()), message);
    if pull.head_repo_is_unknown {
        error.with_hint(&LOST_HEAD)
    } else {
        error.with_hint("merge the base branch into the head, solve the conflicts and push")
    }
}

/// Asks for method, branch deletion and next step, and sets the answers in `req`. `configured` is
/// the default method.
///
/// # Errors
///
/// `cancelled` if the user cancels; other kinds if the terminal, the editor or the repository is
/// not usable.
pub(super) async fn ask_merge(
    ctx: &Ctx,
    flag: Option<&str>,
    repo: &Repo,
    pull: &PullRequest,
    configured: Option<MergeMethod>,
    req: &mut MergeReq,
) -> Result<()> {
    let method = ask_method(repo, configured).await?;
    req.method = Some(method);
    if !req.delete_branch
        && let Some(question) = deletion(ctx, flag, repo, pull).await?
    {
        req.delete_branch = prompt::confirm(&question)?;
    }
    // A rebase keeps the commit messages, so there is nothing to edit.
    let next: &[&str] = match method {
        MergeMethod::Rebase => &["Submit", "Cancel"],
        MergeMethod::Merge | MergeMethod::Squash => &[
            "Submit",
            "Edit commit subject",
            "Edit commit message",
            "Cancel",
        ],
    };
    loop {
        let chosen = prompt::choose("What's next?", next)?;
        match next.get(chosen).copied() {
            Some("Submit") => return Ok(()),
            Some("Edit commit subject") => {
                let before = req.subject.clone();
                req.subject = Some(edit(ctx, &before.unwrap_or_else(|| subject(pull, method)))?);
            }
            Some("Edit commit message") => {
                let before = req.body.clone();
                req.body = Some(edit(ctx, &before.unwrap_or_else(|| body(pull, method)))?);
            }
            _ => return Err(prompt::cancelled()),
        }
    }
}

/// Asks for one of the repository's merge methods, listed in gh's order.
async fn ask_method(repo: &Repo, configured: Option<MergeMethod>) -> Result<MergeMethod> {
    let allowed = repo.info().await?.merge_methods;
    let methods: Vec<(MergeMethod, &str)> = [
        (MergeMethod::Merge, "Create a merge commit"),
        (MergeMethod::Rebase, "Rebase and merge"),
        (MergeMethod::Squash, "Squash and merge"),
    ]
    .into_iter()
    // If a token cannot read the repository's settings, `allowed` is empty. Then all methods are
    // offered.
    .filter(|(method, _)| allowed.is_empty() || allowed.contains(method))
    .collect();
    let titles: Vec<&str> = methods.iter().map(|(_, title)| *title).collect();
    let default = methods.iter().position(|(m, _)| Some(*m) == configured);
    let question = "What merge method would you like to use?";
    let chosen = prompt::choose_from(question, &titles, default.unwrap_or(0))?;
    let method = methods.get(chosen).map(|(method, _)| *method);
    method.ok_or_else(prompt::cancelled)
}

/// Returns the question whether to delete the head branch; `None` if the branch cannot be deleted.
async fn deletion(
    ctx: &Ctx,
    flag: Option<&str>,
    repo: &Repo,
    pull: &PullRequest,
) -> Result<Option<String>> {
    let remote = !pull.is_cross_repository() && has(repo, Capability::PrDeleteBranch);
    let name = text::one_line(&repo_name(repo.id())).into_owned();
    Ok(
        match clone_branch::has_branch(ctx, flag, repo, pull).await? {
            true if remote => Some(format!("Delete the branch locally and in {name}?")),
            true => Some("Delete the branch locally?".to_owned()),
            false if remote => Some(format!("Delete the branch in {name}?")),
            false => None,
        },
    )
}

/// Returns the initial subject in the editor: the subject that the forge would use, as far as
/// known.
fn subject(pull: &PullRequest, method: MergeMethod) -> String {
    match (method, pull.number) {
        (MergeMethod::Merge, Some(number)) => {
            format!("Merge pull request #{number} from {}", head_label(pull))
        }
        (_, Some(number)) => format!("{} (#{number})", pull.title),
        (_, None) => pull.title.clone(),
    }
}

/// Returns the initial body in the editor.
fn body(pull: &PullRequest, method: MergeMethod) -> String {
    match method {
        MergeMethod::Squash => pull.description.clone(),
        MergeMethod::Merge | MergeMethod::Rebase => pull.title.clone(),
    }
}

fn edit(ctx: &Ctx, before: &str) -> Result<String> {
    let text = editor::edit(ctx.config()?.editor().as_deref(), before)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use forge_core::model::{Check, ChecksReport};

    use super::*;
    use crate::cmd::pr::sample::pull;

    fn with_status(status: &str, state: MergeState) -> PullRequest {
        let mut mergeability = Mergeability::new(state, status);
        mergeability.conflicts = vec!["a.txt".to_owned()];
        let mut pull = pull();
        pull.mergeability = Some(mergeability);
        pull
    }

    #[test]
    fn merge_known_to_fail_is_refused_before_questions() {
        let mut closed = pull();
        closed.state = PrState::Closed;
        let mut draft = pull();
        draft.draft = true;
        let conflicting = with_status("DIRTY", MergeState::Conflicting);
        let blocked = with_status("BLOCKED", MergeState::Mergeable);
        let behind = with_status("BEHIND", MergeState::Mergeable);
        let plain = MergeReq::default();
        let (mut auto, mut admin) = (plain.clone(), plain.clone());
        auto.auto = true;
        admin.admin = true;
        for pull in [&closed, &draft, &conflicting, &blocked, &behind] {
            assert!(check(pull, &plain, true).is_err(), "{pull:?}");
        }
        for pull in [&draft, &conflicting, &blocked, &behind] {
            assert!(check(pull, &auto, true).is_ok(), "{pull:?}");
        }
        assert!(check(&blocked, &admin, true).is_ok());
        assert!(check(&conflicting, &admin, true).is_err());
        assert!(check(&pull(), &plain, true).is_ok());
        let message = check(&conflicting, &plain, true).unwrap_err();
        assert!(message.message().ends_with("conflicts with main in a.txt"));
    }

    #[test]
    fn checks_are_counted_by_status() {
        let report = |statuses: &[CheckStatus]| {
            let mut report = ChecksReport::of(String::new(), Vec::new());
            report.checks = statuses.iter().map(|s| Check::new("c", *s)).collect();
            let mut pull = pull();
            pull.checks = Some(report);
            pull
        };
        let (failed, passed) = (CheckStatus::Failure, CheckStatus::Success);
        let shown = checks(&report(&[passed, failed, passed]));
        assert_eq!(shown.as_deref(), Some("checks: 1 failing, 2 successful"));
        assert_eq!(checks(&report(&[])).as_deref(), Some("no checks"));
        assert_eq!(checks(&pull()), None);
    }
}
