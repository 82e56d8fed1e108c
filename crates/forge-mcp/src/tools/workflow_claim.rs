use forge::workflow::{ClaimRequest, PickRequest, Workflow};
use forge_core::{Error, model::IssueId};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    issue_written::given,
    workflow_parts::{ChangeOut, ClaimOut, PickOut, moved, workflow_of},
};
use crate::{
    calls::{Answer, Call, Effect, IssueTarget, Spec, Stop, Tool},
    output::WarningOut,
};

pub(super) struct WorkflowClaim;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    issue: Option<String>,
    action: Option<Action>,
    /// For claim
    command: Option<String>,
    /// For heartbeat, release
    claim: Option<String>,
    /// Pick from it; or release to it
    state: Option<String>,
    /// Of a pick
    max_estimate: Option<String>,
    holder: Option<String>,
    /// Seconds; default 3600
    lease_s: Option<u64>,
    reason: Option<String>,
    /// Take it from its holder; needs reason
    #[serde(default)]
    force: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    #[default]
    Claim,
    Heartbeat,
    Release,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Out {
    /// Yours, until it is released or its lease ends
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimOut>,
    /// What the claim or its end did with the issue
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<ChangeOut>,
    /// Where no issue was named
    #[serde(skip_serializing_if = "Option::is_none")]
    pick: Option<PickOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

impl Tool for WorkflowClaim {
    const SPEC: Spec = Spec {
        name: "workflow_claim",
        title: "Claim an issue",
        description: "Takes an issue for a command (without issue: picks the next and takes it), \
                      renews its lease, or gives it back. Pass the claim's id with later writes. \
                      Recovery: a conflict names the holder; take another issue.",
        effect: Effect::Add,
    };
    type Args = Args;
    type Out = Out;

    async fn run(call: &Call, args: Args) -> Result<Answer<Out>, Stop> {
        let repo = given(args.repo);
        let issue = given(args.issue);
        let (claim, reason) = (given(args.claim), given(args.reason));
        let action = args.action.unwrap_or_default();
        let claim_id = || {
            claim.as_deref().ok_or_else(|| {
                Error::invalid("claim", "the id of the claim is missing")
                    .with_hint("pass the id that the claim had, or claim the issue")
            })
        };
        if let (Action::Heartbeat | Action::Release, None) = (action, &issue) {
            return Err(Error::invalid("issue", "the issue of the claim is missing")
                .with_hint("pass issue and claim")
                .into());
        }
        if let Action::Heartbeat | Action::Release = action {
            let target = call
                .issue(repo.as_deref(), &issue.unwrap_or_default())
                .await?;
            let workflow = workflow_of(call, &target).await?;
            if let Action::Heartbeat = action {
                return Ok(renewed(call, &workflow, &target, claim_id()?).await?);
            }
            let state = given(args.state);
            let outcome = workflow
                .release(&target.id, claim_id()?, state.as_deref(), reason.as_deref())
                .await?;
            return Ok(changed(moved(call, &outcome), None));
        }
        // The workflow refuses a missing command with the list of known ones.
        let command = given(args.command).unwrap_or_default();
        let holder = given(args.holder);
        let req = ClaimRequest {
            command: &command,
            holder: holder.as_deref(),
            lease_s: args.lease_s,
            reason: reason.as_deref(),
            force: args.force,
        };
        if let Some(issue) = issue {
            let target = call.issue(repo.as_deref(), &issue).await?;
            let workflow = workflow_of(call, &target).await?;
            let outcome = workflow.claim(&target.id, &req).await?;
            return Ok(changed(moved(call, &outcome), None));
        }
        if args.force {
            return Err(Error::invalid("force", "a pick passes no claim")
                .with_hint("name the issue, or leave force away")
                .into());
        }
        let repo = call.repo(repo.as_deref()).await?;
        let workflow = call.server.forges().workflow(&repo).await?;
        workflow.definition().command_named(&command)?;
        let (state, max_estimate) = (given(args.state), given(args.max_estimate));
        let picked = workflow
            .pick(&PickRequest {
                state: state.as_deref(),
                command: Some(&command),
                max_estimate: max_estimate.as_deref(),
                claim: Some(req),
            })
            .await?;
        let own = IssueId::number(repo.id().clone(), 0);
        let pick = PickOut::of(call, &own, &picked.pick);
        Ok(match &picked.claimed {
            Some(outcome) => changed(moved(call, outcome), Some(pick)),
            None => Answer {
                text: pick.text().trim_end().to_owned(),
                data: Out {
                    pick: Some(pick),
                    ..Out::default()
                },
            },
        })
    }
}

/// The result of a claim or a release.
fn changed(moved: Answer<ChangeOut>, pick: Option<PickOut>) -> Answer<Out> {
    let Answer { mut text, mut data } = moved;
    if let Some(pick) = &pick {
        text.push_str(&format!("\n{}", pick.text().trim_end()));
    }
    Answer {
        text,
        data: Out {
            claim: data.take_claim(),
            change: Some(data),
            pick,
            warnings: Vec::new(),
        },
    }
}

async fn renewed(
    call: &Call,
    workflow: &Workflow,
    target: &IssueTarget,
    claim: &str,
) -> Result<Answer<Out>, Error> {
    let outcome = workflow.heartbeat(&target.id, claim).await?;
    let claim = ClaimOut::of(call, &outcome.value);
    let warnings = WarningOut::all(&outcome.warnings, &call.about(), &call.cleaner);
    let mut text = format!("{}: renewed\n{}", target.id, claim.text());
    warnings.iter().for_each(|w| text.push_str(&w.text()));
    text.truncate(text.trim_end().len());
    Ok(Answer {
        text,
        data: Out {
            claim: Some(claim),
            warnings,
            ..Out::default()
        },
    })
}
