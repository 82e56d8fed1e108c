//! `forge pr merge`.

use clap::Args;
use forge::{
    SelectedPull,
    context::{RequirementSource, RequirementStatus, Rule, VERDICT_FIELDS, readiness},
};
use forge_core::{
    Call, Capability, Error, ErrorKind, Hint, Op, Precondition, Repo, Result, Warning,
    model::{Merge, MergeFacts, MergeMethod, MergeReq, PrFields, PrState, PullRequest},
};
use forge_git::command_line;

use super::{
    body,
    clone_branch::{self, BaseUpdate},
    merge_prompt, merged_issues,
    shared::{has, non_empty, pull_name, pull_with_title},
};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::prompt,
};

/// `forge pr merge`
#[derive(Args, Debug, Default)]
#[command(mut_args(BodyArgs::with_help(
    "The body of the merge commit's message",
    "Read the body of the merge commit's message from a file (\"-\" for standard input)",
)))]
pub struct MergeArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Merge although requirements are not met
    #[arg(long, conflicts_with = "auto")]
    pub admin: bool,
    /// The e-mail address of the merge commit's author
    #[arg(short = 'A', long, value_name = "text")]
    pub author_email: Option<String>,
    /// Merge as soon as the requirements are met; at once if there are none
    #[arg(long)]
    pub auto: bool,
    /// The body of the merge commit's message.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Delete the head branch afterwards
    #[arg(short, long)]
    pub delete_branch: bool,
    /// Cancel an earlier --auto
    #[arg(long, conflicts_with_all = ["auto", "admin", "merge", "rebase", "squash"])]
    pub disable_auto: bool,
    /// Do not update the files of work trees that have the base branch checked out (git
    /// repositories only)
    #[arg(long)]
    pub leave_checkout: bool,
    /// Refuse unless the head is this commit (full id), or on tangled the patch with this CID
    #[arg(long, value_name = "SHA")]
    pub match_head_commit: Option<String>,
    /// Merge with a merge commit
    #[arg(short, long)]
    pub merge: bool,
    /// Rebase the commits onto the base branch
    #[arg(short, long)]
    pub rebase: bool,
    /// Squash the commits into one
    #[arg(short, long)]
    pub squash: bool,
    /// The subject of the merge commit's message
    #[arg(short = 't', long, value_name = "text")]
    pub subject: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Merges a pull request.
///
/// # Errors
///
/// Fails if the pull request cannot be merged. Nothing is changed then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: MergeArgs) -> Result<Exit> {
    let named = named_method(&args)?;
    let selected = select::pull(
        ctx,
        repo,
        args.selector.as_deref(),
        Unnamed::NotWithRepo,
        PrFields::TO_MERGE,
    )
    .await?;
    if args.disable_auto {
        let pull = ctx
            .ui
            .outcome(selected.repo.cancel_merge(&selected.id).await?)?;
        if ctx.ui.is_tty() {
            let name = pull_with_title(&pull);
            ctx.ui
                .success(&format!("Auto-merge disabled for pull request {name}"));
        }
        return Ok(Exit::Ok);
    }
    let config = ctx.config_for(&selected.repo).await?;
    let configured = config.merge_method();
    // On a terminal, ask for the merge method even if one is configured: a setting in the
    // repository's file must not decide for the user.
    let asks = named.is_none() && ctx.ui.can_prompt();
    let method = match named.or(configured) {
        None if !asks => {
            return Err(missing_method_error(
                &selected.repo.info().await?.merge_methods,
            ));
        }
        method => method,
    };
    let may_delete = args.delete_branch || config.merge_delete_branch() || asks;
    let mut fields = VERDICT_FIELDS | PrFields::MERGED_BASE;
    if may_delete {
        fields |= PrFields::DEPENDENTS;
    }
    let mut seen = None;
    // The pull request without its requirements, if the requirements could not be read.
    let mut unjudged = None;
    if ctx.ui.is_tty() {
        match selected.repo.pull(&selected.id, fields).await {
            Ok(pull) => seen = Some(pull),
            Err(error) if asks => return Err(error),
            // The merge does not read the requirements, so the failure is reported here.
            Err(error) => {
                // The merge reports a missing pull request itself.
                if !error.is_not_found() {
                    let why = error.message();
                    ctx.ui
                        .caution(&format!("the requirements could not be read: {why}"));
                }
                unjudged = match selected.found() {
                    Some(pull) => Some(pull.clone()),
                    None => selected.repo.pull(&selected.id, PrFields::NONE).await.ok(),
                };
            }
        }
    }
    let mut req = MergeReq::default();
    req.method = method;
    req.expected_head = args.match_head_commit;
    req.subject = non_empty(args.subject.as_ref());
    let (body, file) = (args.body.body.as_deref(), args.body.body_file.as_deref());
    req.body = body::read_new(ctx, body, file, &selected.repo)?;
    req.author_email = non_empty(args.author_email.as_ref());
    req.delete_branch = args.delete_branch || config.merge_delete_branch();
    req.auto = args.auto;
    req.admin = args.admin;
    req.leave_checkout = args.leave_checkout;
    req.clone = ctx.clone_of(&selected.repo).await;
    let open = |pull: &&PullRequest| pull.state == PrState::Open;
    if asks && let Some(pull) = seen.as_ref().filter(open) {
        merge_prompt::show(ctx, &selected.repo, pull);
        ctx.warn_of_index(&selected.repo, Op::PrMerge, false).await;
    }
    if args.selector.is_none()
        && let Some(pull) = seen.as_ref().or(selected.found()).filter(open)
    {
        clone_branch::warn_if_diverged(ctx, &selected.repo, pull).await;
    }
    if let Some(pull) = seen.as_ref().filter(open) {
        warn_of_requirements(ctx, &selected.repo, pull).await;
        for fact in MergeFacts::of(pull).in_words(may_delete) {
            ctx.ui.note(&fact);
        }
        let unread = |w: &&Warning| matches!(w.section, Some("dependents" | "merged_base"));
        for warning in pull.warnings.iter().filter(unread) {
            ctx.ui.warning(warning);
        }
    }
    match &seen {
        Some(pull) if asks && pull.state != PrState::Merged => {
            let can_wait = has(&selected.repo, Capability::MergeAuto);
            merge_prompt::check(pull, &req, can_wait)?;
            merge_prompt::ask_merge(ctx, repo, &selected.repo, pull, configured, &mut req).await?;
            // The merge fails if the head, the base or a patch's record has changed since the user
            // saw it.
            req.expected_head = req.expected_head.or(pull.head_id().map(str::to_owned));
            req.expected_base = Some(pull.base_branch.clone());
            let record = pull.head_patch.as_ref();
            req.expected_version = record.map(|_| pull.version.clone());
        }
        // If the head is a patch, the merge fails unless it is still the patch whose requirements
        // were shown.
        Some(pull) if pull.state == PrState::Open => {
            req.expected_head = req.expected_head.or(pull.head_patch.clone());
        }
        _ => {}
    }
    if let Some(pull) = unjudged.as_ref().filter(open) {
        req.expected_head = req.expected_head.or(pull.head_patch.clone());
    }
    // `linking` is the pull request as it was before the merge. Only its issue links are used: a
    // link that is added later, to the description or to the references, does not close its issue.
    let linking = match seen.as_ref().or(unjudged.as_ref()) {
        Some(pull) => Some(pull.clone()),
        None if merged_issues::links_by_text(&selected.repo) => match selected.found() {
            Some(pull) => Some(pull.clone()),
            // A failed read is ignored here, because the merge reports it.
            None => selected.repo.pull(&selected.id, PrFields::NONE).await.ok(),
        },
        None => None,
    };
    if let Some(pull) = linking.as_ref().filter(open).filter(|_| !asks)
        && let Some(names) = merge_prompt::linked_names(ctx, &selected.repo, pull)
    {
        ctx.ui.note(&format!("linked issues: {names}"));
    }
    let deletes = req.delete_branch;
    let on_head = deletes && clone_branch::is_on_head_branch(ctx, &selected).await?;
    req.delete_branch = deletes && !on_head;
    let workflow = merged_issues::workflow(ctx, &selected.repo).await;
    let merged = selected.repo.merge(&selected.id, &req).await;
    let outcome = match req.admin {
        true => merged?,
        false => merged.map_err(name_rule_flags)?,
    };
    if outcome.value.already_merged {
        let already = format!(
            "Pull request {} was already merged",
            pull_name(&selected.id)
        );
        // If the forge keeps the branch, it may have commits that were not merged. Then the local
        // branch is also kept.
        let goes = req.delete_branch && outcome.steps.iter().all(|step| step.done);
        let steps = outcome.steps.clone();
        // The first warning of an unchanged outcome has the same meaning as `already`, which
        // replaces it.
        let merge = if outcome.unchanged {
            ctx.ui.report_unchanged(outcome, &already)?
        } else {
            ctx.ui.caution(&already);
            ctx.ui.outcome(outcome)?
        };
        merged_issues::apply(ctx, &selected.repo, workflow, &merge, linking.as_ref()).await;
        if req.delete_branch {
            report_deletion(ctx, &merge);
        }
        clone_branch::report_deleted(ctx, &selected.repo, &steps).await;
        if on_head {
            delete_left_head(ctx, &selected, &merge).await?;
        }
        let pull = &merge.pull_request;
        let goes = goes || {
            let asks = !deletes && ctx.ui.can_prompt();
            asks && clone_branch::has_branch(ctx, repo, &selected.repo, pull).await?
                && prompt::confirm("Delete the branch locally?")?
        };
        if goes {
            clone_branch::delete_local_branch(ctx, repo, &selected.repo, pull, BaseUpdate::Moved)
                .await?;
        }
        return Ok(Exit::Ok);
    }
    // If the merge is neither done nor queued, a warning of the outcome reports this, so no success
    // line is printed.
    let complete = outcome.steps.iter().all(|step| step.done);
    let under_way = outcome.value.queued && !complete;
    let steps = outcome.steps.clone();
    let merge = ctx.ui.outcome(outcome)?;
    if ctx.ui.is_tty() && !under_way {
        report(ctx, &merge, req.method);
    }
    clone_branch::report_deleted(ctx, &selected.repo, &steps).await;
    merged_issues::apply(ctx, &selected.repo, workflow, &merge, linking.as_ref()).await;
    if on_head {
        return delete_left_head(ctx, &selected, &merge).await;
    }
    let over = !merge.queued && merge.queue_position.is_none();
    // If the forge keeps the branch, the local branch is also kept.
    if req.delete_branch && over && complete {
        clone_branch::delete_local_branch(
            ctx,
            repo,
            &selected.repo,
            &merge.pull_request,
            BaseUpdate::Moved,
        )
        .await?;
    }
    Ok(Exit::Ok)
}

/// Prints the unmet and unknown requirements of the open `pull`. The merge ignores them.
///
/// The requirements that this program adds do not stop a merge, so they share one line.
async fn warn_of_requirements(ctx: &Ctx, repo: &Repo, pull: &PullRequest) {
    let Ok(config) = ctx.config() else {
        return;
    };
    let verdict = readiness(repo, pull, &config.context_settings()).await;
    let mut own = Vec::new();
    for open in verdict.open() {
        let status = match open.status {
            RequirementStatus::Unmet => "is not met",
            // The merge itself checks for conflicts.
            _ if open.rule == Rule::NoConflicts => continue,
            _ => "is not known",
        };
        let (rule, evidence) = (open.rule.name(), &open.evidence);
        match open.source {
            RequirementSource::Own => own.push(format!("{rule} {status}: {evidence}")),
            source => {
                let source = source.name();
                ctx.ui
                    .caution(&format!("{rule} ({source}) {status}: {evidence}"));
            }
        }
    }
    if !own.is_empty() {
        let own = own.join("; ");
        ctx.ui
            .caution(&format!("{own} (not required by the forge)"));
    }
}

/// If unmet rules refused the merge, suggests the flags `--auto` and `--admin`, as gh does.
fn name_rule_flags(error: Error) -> Error {
    let is_rule = matches!(error.kind(), ErrorKind::Precondition(Precondition::Rule));
    let action = error.hint().and_then(Hint::action).cloned();
    match action.filter(|action| is_rule && action.call() == Call::Op(Op::Checks)) {
        Some(checks) => error.with_hint(
            Hint::new(
                "add --auto to merge as soon as the rules are met, or --admin to merge despite \
                 them; to see the checks",
            )
            .with_action(checks),
        ),
        None => error,
    }
}

/// Deletes the checked-out head branch of a merged pull request, after a switch to the base branch.
async fn delete_left_head(ctx: &Ctx, selected: &SelectedPull, merge: &Merge) -> Result<Exit> {
    if clone_branch::switch_to_base(ctx, &merge.pull_request).await? {
        let mut req = MergeReq::default();
        req.delete_branch = true;
        req.only_left_over = true;
        let outcome = selected.repo.merge(&selected.id, &req).await?;
        let steps = outcome.steps.clone();
        let merge = ctx.ui.outcome(outcome)?;
        report_deletion(ctx, &merge);
        clone_branch::report_deleted(ctx, &selected.repo, &steps).await;
    }
    Ok(Exit::Ok)
}

fn named_method(args: &MergeArgs) -> Result<Option<MergeMethod>> {
    let named: Vec<MergeMethod> = [
        (args.merge, MergeMethod::Merge),
        (args.rebase, MergeMethod::Rebase),
        (args.squash, MergeMethod::Squash),
    ]
    .into_iter()
    .filter_map(|(given, method)| given.then_some(method))
    .collect();
    match named.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(Error::invalid(
            "method",
            "only one of --merge, --rebase, or --squash can be enabled",
        )),
    }
}

/// Returns gh's error for a merge without a method, for a user who cannot be asked. The error lists
/// the repository's methods.
fn missing_method_error(methods: &[MergeMethod]) -> Error {
    let all = [MergeMethod::Merge, MergeMethod::Rebase, MergeMethod::Squash];
    let here = |method: &MergeMethod| methods.is_empty() || methods.contains(method);
    let known: Vec<&str> = all
        .into_iter()
        .filter(here)
        .map(MergeMethod::as_str)
        .collect();
    let flags: Vec<String> = known.iter().map(|name| format!("--{name}")).collect();
    let flags = match flags.as_slice() {
        [first @ .., last] if first.len() > 1 => format!("{}, or {last}", first.join(", ")),
        few => few.join(" or "),
    };
    let pass = match known.len() {
        1 => "pass it",
        _ => "pass one of them",
    };
    let example = known.last().copied().unwrap_or_default();
    Error::invalid(
        "method",
        format!("{flags} required when not running interactively"),
    )
    .with_hint(format!(
        "{pass}, or set it once with `{}`",
        command_line(["forge", "config", "set", "merge.method", example])
    ))
}

/// Prints the result on a terminal; on a pipe, success is silent, as in gh.
fn report(ctx: &Ctx, merge: &Merge, method: Option<MergeMethod>) {
    let pull = &merge.pull_request;
    if let Some(position) = merge.queue_position {
        ctx.ui.success(&format!(
            "Pull request {} is number {position} in the merge queue of {}",
            pull_with_title(pull),
            pull.base_branch
        ));
        return;
    }
    if merge.queued {
        ctx.ui.success(&format!(
            "Pull request {} will be merged automatically when all requirements are met",
            pull_with_title(pull)
        ));
        return;
    }
    let how = match merge.method.or(method) {
        Some(MergeMethod::Squash) => "Squashed and merged",
        Some(MergeMethod::Rebase) => "Rebased and merged",
        Some(MergeMethod::Merge) | None => "Merged",
    };
    ctx.ui
        .success(&format!("{how} pull request {}", pull_with_title(pull)));
    report_deletion(ctx, merge);
}

fn report_deletion(ctx: &Ctx, merge: &Merge) {
    if merge.branch_deleted && ctx.ui.is_tty() {
        let branch = &merge.pull_request.head_branch;
        ctx.ui.success(&format!("Deleted branch {branch}"));
    }
}
