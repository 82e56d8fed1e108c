//! `forge workflow advance`: moves the sub-issues of an issue, or its parent.

use clap::Args;
use forge::workflow::{AdvanceReport, Workflow};
use forge_core::{RepoId, Result, model::IssueId, text};

use super::shared::{
    IssueArg, fields, issue_json, issue_name, json_or_null, selection, state_word, warn,
};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    ui::{json::Json, prompt},
};

/// `forge workflow advance`
#[derive(Args, Debug)]
pub struct WorkflowAdvanceArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// Print what would move, and move nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Move the issue's parent to the last gate that all sub-issues of the parent have reached
    #[arg(long, conflicts_with_all = ["to", "pass_locks"])]
    pub parent: bool,
    /// Also move sub-issues that somebody works on
    #[arg(long)]
    pub pass_locks: bool,
    /// The state to which the sub-issues move; a state that ends the work also closes them
    #[arg(long, value_name = "state", required_unless_present = "parent")]
    pub to: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

fields! {
    FIELDS of AdvanceReport:
        "advanced", |r| Json::list(&r.advanced, |moved| issue_json(&moved.id, vec![
            ("fromState", json_or_null(&moved.from_state)),
            ("toState", Json::text(&moved.to_state)),
        ]));
        "dryRun", |r| Json::Bool(r.dry_run);
        "errors", |r| Json::list(&r.errors, |failed| {
            issue_json(&failed.id, vec![("error", Json::text(&failed.error))])
        });
        "skipped", |r| Json::list(&r.skipped, |left| issue_json(&left.id, vec![
            ("currentState", json_or_null(&left.current_state)),
            ("reason", Json::text(&left.reason)),
        ]));
        "targetState", |r| Json::text(&r.target_state);
}

/// Moves the issues. On a terminal, asks for confirmation before moving several.
///
/// # Errors
///
/// Fails if the issue cannot be read, or the user does not confirm.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowAdvanceArgs) -> Result<Exit> {
    let selection = selection(&args.json, FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let mut confirmed: Option<Vec<IssueId>> = None;
    if !args.dry_run && !args.yes && ctx.ui.can_prompt() {
        let plan = advance(&workflow, &id, args, true, None).await?;
        let count = plan.advanced.len();
        if count > 1 {
            for line in moves(&plan, &id.repo) {
                ctx.ui.note(&line);
            }
            let to = text::one_line(&plan.target_state).into_owned();
            if !prompt::confirm(&format!("Move {count} issues to {to}?"))? {
                return Err(prompt::cancelled());
            }
        }
        confirmed = Some(plan.advanced.into_iter().map(|moved| moved.id).collect());
    }
    let confirmed = confirmed.as_deref();
    let mut report = advance(&workflow, &id, args, args.dry_run, confirmed).await?;
    for failed in &mut report.errors {
        let advice = ctx.ui.advice(&failed.hint);
        failed.error.push_str(&format!(". Recovery: {advice}"));
    }
    warn(ctx, &report.warnings);
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&report))?,
        None => {
            for line in moves(&report, &id.repo) {
                ctx.ui.line(&line)?;
            }
            for left in &report.skipped {
                let name = issue_name(&left.id, &id.repo);
                let line = format!("skipped: {name} ({})", left.reason);
                ctx.ui.note(&text::one_line(&line));
            }
            for failed in &report.errors {
                let name = issue_name(&failed.id, &id.repo);
                ctx.ui.caution(&format!("{name}: {}", failed.error));
            }
            if report.advanced.is_empty() && report.errors.is_empty() {
                ctx.ui.note("nothing to move");
            }
        }
    }
    Ok(match report.errors.is_empty() {
        true => Exit::Ok,
        false => Exit::Failure,
    })
}

async fn advance(
    workflow: &Workflow,
    id: &IssueId,
    args: &WorkflowAdvanceArgs,
    dry_run: bool,
    confirmed: Option<&[IssueId]>,
) -> Result<AdvanceReport> {
    let to = args.to.as_deref().filter(|_| !args.parent);
    let locks = args.pass_locks;
    match (to, confirmed) {
        (Some(to), Some(ids)) => workflow.advance_confirmed(id, to, locks, ids).await,
        (Some(to), None) => workflow.advance(id, to, locks, dry_run).await,
        (None, _) => workflow.advance_parent(id, dry_run).await,
    }
}

fn moves(report: &AdvanceReport, own: &RepoId) -> Vec<String> {
    let would = match report.dry_run {
        true => "would move ",
        false => "",
    };
    let line = |moved: &forge::workflow::AdvancedIssue| {
        let (id, from) = (issue_name(&moved.id, own), state_word(&moved.from_state));
        text::one_line(&format!("{would}{id}: {from} -> {}", moved.to_state)).into_owned()
    };
    report.advanced.iter().map(line).collect()
}
