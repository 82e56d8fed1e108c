//! `forge workflow heartbeat`: renews the lease of a claim. A claim reserves an issue for its
//! holder until the lease ends.

use clap::Args;
use forge::workflow::{Claim, took_effect};
use forge_core::{Result, text};

use super::shared::{IssueArg, fields, issue_name, json_or_null, selection};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    ui::json::Json,
};

/// `forge workflow heartbeat`
#[derive(Args, Debug)]
pub struct WorkflowHeartbeatArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// The id of the claim, as claim or pick printed it
    #[arg(long, value_name = "id")]
    pub claim: String,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

fields! {
    FIELDS of Claim:
        "command", |c| Json::text(&c.command);
        "expiresAt", |c| Json::text(c.expires_at().to_string());
        "from", |c| json_or_null(&c.from);
        "holder", |c| Json::text(&c.holder);
        "id", |c| Json::text(&c.id);
        "leaseSeconds", |c| Json::Number(c.lease_s);
        "renewedAt", |c| Json::text(c.renewed_at.to_string());
        "since", |c| Json::text(c.since.to_string());
}

/// Renews the lease. A renewal without effect is a failure. In that case the claim is printed only
/// as JSON, because the text line would look like a success.
///
/// # Errors
///
/// Fails if the claim has ended. The holder must then stop working on the issue.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowHeartbeatArgs) -> Result<Exit> {
    let selection = selection(&args.json, FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let outcome = workflow.heartbeat(&id, &args.claim).await?;
    let is_renewed = took_effect(&outcome.ingestion);
    let claim = ctx.ui.outcome(outcome)?;
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&claim))?,
        None if !is_renewed => {}
        None => ctx.ui.line(&text::one_line(&format!(
            "{}: claim {} of {} until {}",
            issue_name(&id, &id.repo),
            claim.id,
            claim.holder,
            claim.expires_at()
        )))?,
    }
    Ok(match is_renewed {
        true => Exit::Ok,
        false => Exit::Failure,
    })
}
