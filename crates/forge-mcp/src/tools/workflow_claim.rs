use forge::workflow::{Claim, ClaimRequest, DEFAULT_LEASE_S, PickRequest, took_effect};
use forge_core::{Error, Outcome, Warning, model::IssueId};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    issue_write_output::non_blank,
    workflow_parts::{ClaimOut, PickOut, WorkflowChangeOut, moved, workflow_of},
};
use crate::{
    calls::{CallContext, IssueTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WarningOut,
};

pub(super) struct WorkflowClaim;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowClaimInput {
    repo: Option<String>,
    issue: Option<String>,
    /// claim (default) needs command
    action: Option<ClaimAction>,
    command: Option<String>,
    /// For heartbeat, release
    claim: Option<String>,
    /// State to pick from or release to
    state: Option<String>,
    /// Skips larger
    max_estimate: Option<String>,
    holder: Option<String>,
    #[schemars(description = format!("Seconds; default {DEFAULT_LEASE_S}"))]
    lease_s: Option<u64>,
    reason: Option<String>,
    /// Replace another claim; needs reason
    #[serde(default)]
    force: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ClaimAction {
    #[default]
    Claim,
    Heartbeat,
    Release,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct WorkflowClaimOut {
    /// Your claim, until released or the lease ends
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimOut>,
    /// How the claim or its end changed the issue
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<WorkflowChangeOut>,
    /// If no issue was named
    #[serde(skip_serializing_if = "Option::is_none")]
    pick: Option<PickOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

impl Tool for WorkflowClaim {
    const SPEC: ToolSpec = ToolSpec {
        name: "workflow_claim",
        title: "Claim an issue",
        description: "Claims an issue for a command (without issue: the next one), renews the \
                      lease, or releases it. Pass the claim's id with later writes. Recovery: \
                      after a conflict, take another issue.",
        effect: ToolEffect::Add,
    };
    type Args = WorkflowClaimInput;
    type Out = WorkflowClaimOut;

    async fn run(
        call: &CallContext,
        args: WorkflowClaimInput,
    ) -> Result<ToolOutput<WorkflowClaimOut>, ToolError> {
        let repo = non_blank(args.repo);
        let issue = non_blank(args.issue);
        let (claim, reason) = (non_blank(args.claim), non_blank(args.reason));
        let action = args.action.unwrap_or_default();
        let claim_id = || {
            claim.as_deref().ok_or_else(|| {
                Error::invalid("claim", "the id of the claim is missing")
                    .with_hint("pass the id of your claim, or claim the issue")
            })
        };
        if let (ClaimAction::Heartbeat | ClaimAction::Release, None) = (action, &issue) {
            return Err(Error::invalid("issue", "the issue of the claim is missing")
                .with_hint("pass issue and claim")
                .into());
        }
        if let ClaimAction::Heartbeat | ClaimAction::Release = action {
            let target = call
                .issue(repo.as_deref(), &issue.unwrap_or_default())
                .await?;
            let workflow = workflow_of(call, &target).await?;
            if let ClaimAction::Heartbeat = action {
                let mut outcome = workflow.heartbeat(&target.id, claim_id()?).await?;
                if reason.is_some() {
                    let message = "the reason was ignored: a heartbeat records none";
                    outcome.warnings.push(Warning::new(message));
                }
                return Ok(format_renewal(call, &target, &outcome));
            }
            let state = non_blank(args.state);
            let outcome = workflow
                .release(&target.id, claim_id()?, state.as_deref(), reason.as_deref())
                .await?;
            return Ok(format_change(
                moved(call, workflow.definition(), &outcome),
                None,
            ));
        }
        // A missing command is passed on as an empty one, because the workflow's error then lists
        // the known commands.
        let command = non_blank(args.command).unwrap_or_default();
        let holder = non_blank(args.holder);
        let mut req = ClaimRequest::new(&command);
        req.holder = holder.as_deref();
        req.lease_s = args.lease_s;
        req.reason = reason.as_deref();
        req.force = args.force;
        if let Some(issue) = issue {
            let target = call.issue(repo.as_deref(), &issue).await?;
            let workflow = workflow_of(call, &target).await?;
            let outcome = workflow.claim(&target.id, &req).await?;
            return Ok(format_change(
                moved(call, workflow.definition(), &outcome),
                None,
            ));
        }
        if args.force {
            return Err(
                Error::invalid("force", "force needs the issue of the claim")
                    .with_hint("name the issue, or omit force")
                    .into(),
            );
        }
        let repo = call.repo(repo.as_deref()).await?;
        let workflow = call.server.forges().workflow(&repo).await?;
        let (state, max_estimate) = (non_blank(args.state), non_blank(args.max_estimate));
        let mut pick = PickRequest::of_command(&command);
        pick.state = state.as_deref();
        pick.max_estimate = max_estimate.as_deref();
        pick.claim = Some(req);
        let picked = workflow.pick(&pick).await?;
        let own = IssueId::number(repo.id().clone(), 0);
        let pick = PickOut::of(call, workflow.definition(), &own, &picked.pick);
        Ok(match &picked.claimed {
            Some(outcome) => format_change(moved(call, workflow.definition(), outcome), Some(pick)),
            None => ToolOutput {
                text: pick.text().trim_end().to_owned(),
                data: WorkflowClaimOut {
                    pick: Some(pick),
                    ..WorkflowClaimOut::default()
                },
            },
        })
    }
}

/// Returns the result of a claim or a release.
fn format_change(
    moved: ToolOutput<WorkflowChangeOut>,
    pick: Option<PickOut>,
) -> ToolOutput<WorkflowClaimOut> {
    let ToolOutput { mut text, mut data } = moved;
    if let Some(pick) = &pick {
        text.push_str(&format!("\n{}", pick.text().trim_end()));
    }
    ToolOutput {
        text,
        data: WorkflowClaimOut {
            claim: data.take_claim(),
            change: Some(data),
            pick,
            warnings: Vec::new(),
        },
    }
}

/// Returns the result of a heartbeat. A heartbeat renews a claim before its lease, its time limit,
/// ends.
fn format_renewal(
    call: &CallContext,
    target: &IssueTarget,
    outcome: &Outcome<Claim>,
) -> ToolOutput<WorkflowClaimOut> {
    let claim = ClaimOut::of(call, &outcome.value);
    let warnings = WarningOut::all(&outcome.warnings, &call.about(), &call.cleaner);
    let said = match took_effect(&outcome.ingestion) {
        true => "renewed",
        false => "not renewed",
    };
    let mut text = format!("{}: {said}\n{}", target.id, claim.text());
    warnings.iter().for_each(|w| text.push_str(&w.text()));
    text.truncate(text.trim_end().len());
    ToolOutput {
        text,
        data: WorkflowClaimOut {
            claim: Some(claim),
            warnings,
            ..WorkflowClaimOut::default()
        },
    }
}
