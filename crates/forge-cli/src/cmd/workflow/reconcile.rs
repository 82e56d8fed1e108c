//! `forge workflow reconcile`: moves or closes the issues of a pull request that was merged before.

use clap::Args;
use forge::workflow::{MergeEffects, MergePlan, MergeReport};
use forge_core::{
    Action, Error, Hint, Op, Precondition, Result,
    model::{PrFields, PrState},
};

use super::shared::{REPORT_FIELDS, selection};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    cmd::pr::merged_issues,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// `forge workflow reconcile`
#[derive(Args, Debug)]
pub struct WorkflowReconcileArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Moves or closes the issues of the merged pull request. A second call does nothing.
///
/// # Errors
/// `precondition_failed` for a pull request that is not merged.
pub async fn run(ctx: &Ctx, flag: Option<&str>, args: &WorkflowReconcileArgs) -> Result<Exit> {
    let selection = selection(&args.json, REPORT_FIELDS)?;
    let fields = PrFields::LINKED_ISSUES;
    let named = args.selector.as_deref();
    let mut selected = select::pull(ctx, flag, named, Unnamed::NotWithRepo, fields).await?;
    let pull = selected.view(fields).await?;
    if pull.state != PrState::Merged {
        let message = format!(
            "{} is not merged: there is nothing to reconcile",
            selected.id
        );
        let merge = Action::op(Op::PrMerge).on(selected.id.to_string());
        let state = match pull.state {
            PrState::Closed => Precondition::Closed,
            PrState::Open | PrState::Merged => Precondition::Open,
        };
        return Err(Error::precondition(state, message)
            .with_hint(Hint::new("merge it first").with_action(merge)));
    }
    merged_issues::warn_of_unread(ctx, &pull);
    let forges = ctx.forges()?;
    let workflow = forges.merge_workflow(&selected.repo).await?;
    let hosts = forges.hosts().clone();
    let effects = MergeEffects::new(selected.repo.clone(), workflow.as_ref(), hosts);
    let effects = effects.closing_left_open();
    let plan = effects.plan(&pull).await?;
    let mut report = match args.dry_run {
        true => as_report(plan),
        false => effects.apply(&pull, plan).await,
    };
    merged_issues::add_recovery(ctx, &mut report);
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&report))?,
        None => {
            for line in merged_issues::lines(&report) {
                let would = if args.dry_run { "would be " } else { "" };
                ctx.ui.line(&format!("{would}{line}"))?;
            }
            if report.transitioned.is_empty() && report.failed.is_empty() {
                ctx.ui.note("no issue is left to move");
            }
        }
    }
    merged_issues::print_unchanged_issues(ctx, &report);
    Ok(match report.failed.is_empty() {
        true => Exit::Ok,
        false => Exit::Failure,
    })
}

/// Converts the plan of a dry run to a report.
fn as_report(plan: MergePlan) -> MergeReport {
    let mut report = MergeReport::default();
    report.transitioned = plan.steps;
    report.failed = plan.failed;
    report.skipped = plan.skipped;
    report.moves = plan.moves;
    report
}
