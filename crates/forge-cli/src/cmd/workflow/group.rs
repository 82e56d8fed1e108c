//! `forge workflow group`: the issues linked with an issue.

use clap::Args;
use forge::workflow::GroupView;
use forge_core::Result;

use super::{
    position::member_table,
    shared::{IssueArg, fields, id_json, issue_json, issue_name, member_json, selection, warn},
};
use crate::{args::output::JsonArgs, ctx::Ctx, exit::Exit, ui::json::Json};

/// `forge workflow group`
#[derive(Args, Debug)]
pub struct WorkflowGroupArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

fields! {
    FIELDS of GroupView:
        "cycles", |g| Json::list(&g.group.cycles, |cycle| Json::list(cycle, id_json));
        "issues", |g| Json::list(&g.issues, member_json);
        "primary", |g| Json::maybe(g.group.primary.as_ref(), |id| issue_json(id, Vec::new()));
        "truncated", |g| Json::Bool(g.group.truncated);
}

/// Prints the group.
///
/// # Errors
///
/// Fails if the issue cannot be read.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowGroupArgs) -> Result<Exit> {
    let selection = selection(&args.json, FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let group = workflow.group(&id).await?;
    warn(ctx, &group.warnings);
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.object(&group))?;
        return Ok(Exit::Ok);
    }
    ctx.ui.page(&member_table(ctx, &group.issues, &id.repo))?;
    for cycle in &group.group.cycles {
        let names: Vec<String> = cycle
            .iter()
            .map(|other| issue_name(other, &id.repo))
            .collect();
        ctx.ui.caution(&format!(
            "these issues wait for each other: {}",
            names.join(", ")
        ));
    }
    if group.group.truncated {
        ctx.ui.caution("the group has more issues than are shown");
    }
    Ok(Exit::Ok)
}
