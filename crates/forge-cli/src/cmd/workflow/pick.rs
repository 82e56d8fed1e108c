//! `forge workflow pick`: picks the next issue to work on.

use clap::Args;
use forge::workflow::{Candidate, ClaimRequest, PickRequest, PickResult};
use forge_core::{Result, text};

use super::shared::{
    HolderArgs, change_json, change_line, command_named, count, fields, issue_json, issue_name,
    member_fields, selection,
};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    ui::json::Json,
};

/// `forge workflow pick`
#[derive(Args, Debug)]
pub struct WorkflowPickArgs {
    /// Claim the issue for --command, and print the id of the claim
    #[arg(long)]
    pub claim: bool,
    /// The workflow's command that takes the issue, such as research, or a role
    #[arg(short, long, value_name = "name")]
    pub command: Option<String>,
    /// Holder of the claim, with --claim.
    #[command(flatten)]
    pub holder: HolderArgs,
    /// The largest estimate [default: the limit of the workflow]
    #[arg(long, value_name = "estimate")]
    pub max_estimate: Option<String>,
    /// Pick only from this state
    #[arg(short, long, value_name = "state")]
    pub state: Option<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

fields! {
    FIELDS of PickResult:
        "alternatives", |p| count(p.pick.alternatives);
        "claimed", |p| Json::maybe(p.claimed.as_ref(), |claimed| change_json(&claimed.value));
        "found", |p| Json::Bool(p.pick.issue.is_some());
        "issue", |p| Json::maybe(p.pick.issue.as_ref(), candidate_json);
        "reason", |p| Json::text(&p.pick.reason);
        "scanned", |p| count(p.scanned);
        "skipped", |p| Json::list(&p.pick.skipped, |(id, reason)| {
            issue_json(id, vec![("reason", Json::text(reason))])
        });
        "truncated", |p| Json::Bool(p.truncated);
}

/// Formats an issue with its open blockers, and whether somebody has claimed it.
fn candidate_json(found: &Candidate) -> Json {
    let blockers = Json::list(&found.blocked_by, |id| issue_json(id, vec![]));
    let mut fields = member_fields(&found.member);
    fields.push(("isLocked", Json::Bool(found.held_by.is_some())));
    fields.push(("blockedBy", blockers));
    issue_json(&found.member.id, fields)
}

/// Picks an issue.
///
/// # Errors
/// `invalid_input` for an invalid field `command`, `state` or `max_estimate`.
pub async fn run(ctx: &Ctx, flag: Option<&str>, args: &WorkflowPickArgs) -> Result<Exit> {
    let selection = selection(&args.json, FIELDS)?;
    let repo = ctx.repo(flag).await?;
    let workflow = ctx.forges()?.workflow(&repo).await?;
    let named = args.command.as_deref();
    let claim = match args.claim {
        true => {
            let mut claim = ClaimRequest::new(command_named(workflow.definition(), named)?);
            claim.holder = args.holder.holder.as_deref();
            claim.lease_s = args.holder.lease;
            Some(claim)
        }
        false => None,
    };
    let mut req = PickRequest::default();
    req.state = args.state.as_deref();
    req.command = named;
    req.max_estimate = args.max_estimate.as_deref();
    req.claim = claim;
    let mut picked = workflow.pick(&req).await?;
    let mut exit = match picked.pick.issue {
        Some(_) => Exit::Ok,
        None => Exit::Pending,
    };
    if let Some(claimed) = picked.claimed.take() {
        let kept = forge_core::Outcome::immediate(claimed.value.clone());
        if !ctx.ui.outcome(claimed)?.moved {
            exit = Exit::Failure;
        }
        picked.claimed = Some(kept);
    }
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.object(&picked))?;
        return Ok(exit);
    }
    if let Some(found) = &picked.pick.issue {
        let name = issue_name(&found.member.id, repo.id());
        let line = format!("{name} {}", found.member.title);
        ctx.ui.line(&text::one_line(&line))?;
    }
    ctx.ui.line(&text::one_line(&picked.pick.reason))?;
    if let Some(claimed) = &picked.claimed {
        ctx.ui.line(&text::one_line(&change_line(&claimed.value)))?;
    }
    for (id, reason) in &picked.pick.skipped {
        ctx.ui.note(&text::one_line(&format!(
            "skipped: {} ({reason})",
            issue_name(id, repo.id())
        )));
    }
    if picked.truncated && picked.pick.issue.is_none() {
        let scanned = picked.scanned;
        ctx.ui
            .caution(&format!("only the first {scanned} issues were examined"));
    }
    Ok(exit)
}
