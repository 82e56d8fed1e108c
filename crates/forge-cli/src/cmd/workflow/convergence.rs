//! `forge workflow convergence`: checks whether a group of linked issues has reached a state.

use clap::Args;
use forge::workflow::Convergence;
use forge_core::{Result, text};

use super::shared::{
    IssueArg, NOT_ALL_READ, count, fields, issue_json, issue_name, json_or_null,
    recommendation_name, selection, state_word, warn,
};
use crate::{args::output::JsonArgs, ctx::Ctx, exit::Exit, ui::json::Json};

/// `forge workflow convergence`
#[derive(Args, Debug)]
pub struct WorkflowConvergenceArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// The state that all issues of the group must have reached
    #[arg(long, value_name = "state")]
    pub to: String,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

fields! {
    FIELDS of Convergence:
        "blocking", |c| Json::list(&c.blocking, |b| issue_json(&b.id, vec![
            ("title", Json::text(&b.title)),
            ("currentState", json_or_null(&b.current_state)),
            ("distanceToTarget", b.distance_to_target.map_or(Json::Null, count)),
        ]));
        "converged", |c| Json::Bool(c.converged);
        "ready", |c| count(c.ready);
        "recommendation", |c| Json::text(recommendation_name(c.recommendation));
        "targetState", |c| Json::text(&c.target_state);
        "total", |c| count(c.total);
        "truncated", |c| Json::Bool(c.truncated);
}

/// Prints whether the issue's group has reached the state, and which issues have not.
///
/// # Errors
///
/// Fails if the issue cannot be read; `invalid_input` (field `target_state`) for an invalid state.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowConvergenceArgs) -> Result<Exit> {
    let selection = selection(&args.json, FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let (found, group) = workflow.convergence(&id, &args.to).await?;
    warn(ctx, &group.warnings);
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&found))?,
        None => {
            let is = match found.converged {
                true => "converged",
                false => "not converged",
            };
            ctx.ui.line(&text::one_line(&format!(
                "{is} at {}: {} of {} (recommendation: {})",
                found.target_state,
                found.ready,
                found.total,
                recommendation_name(found.recommendation)
            )))?;
            for blocker in &found.blocking {
                let behind = match blocker.distance_to_target {
                    Some(1) => "1 state behind".to_owned(),
                    Some(n) => format!("{n} states behind"),
                    None if blocker.current_state.is_none() => "without a state".to_owned(),
                    None => "not in the order of work".to_owned(),
                };
                let state = state_word(&blocker.current_state);
                let name = issue_name(&blocker.id, &id.repo);
                let line = format!("{name}: {state}, {behind}");
                ctx.ui.line(&text::one_line(&line))?;
            }
            if found.truncated {
                ctx.ui.line(NOT_ALL_READ)?;
            }
        }
    }
    Ok(match found.converged {
        true => Exit::Ok,
        false => Exit::Pending,
    })
}
