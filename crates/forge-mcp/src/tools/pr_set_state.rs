use forge_core::{
    Action, Error, Hint, Op, Param, Precondition, Step, check_expected_head,
    model::{CloseReq, PrFields, PrState, PullRequest},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    confirmation::{
        ConfirmationArgs, ConfirmationQuestion, QuestionFacts, head_text, index_warnings, named,
        require_confirmation, titled,
    },
    pr_merge::{ensure_verified, warned},
    write_output,
};
use crate::{
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::{WriteOut, state_word},
};

pub(super) struct PrSetState;

/// The fields to read. `PrFields::ROW` is smaller, but lacks the head on tangled.
const READ_FIELDS: PrFields = PrFields::NONE;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrSetStateInput {
    repo: Option<String>,
    number: String,
    state: PrStateArg,
    /// Comment to leave
    comment: Option<String>,
    /// Also delete the head branch; asks the user
    #[serde(default)]
    delete_branch: bool,
    /// Full id; refused if the head differs
    expected_head: Option<String>,
    /// Previous call's token; only without elicitation
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum PrStateArg {
    #[serde(alias = "reopen", alias = "reopened")]
    Open,
    #[serde(alias = "close")]
    Closed,
}

impl Tool for PrSetState {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_set_state",
        title: "Close or reopen",
        description: "Closes without merging, or reopens. Merging: pr_merge. Draft or ready: \
                      pr_edit.",
        effect: ToolEffect::Destroy,
    };
    type Args = PrSetStateInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrSetStateInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        write_output::refuse_trail_entry("comment", args.comment.as_deref().unwrap_or_default())?;
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        if args.state == PrStateArg::Open && args.delete_branch {
            return Err(Error::invalid(
                "delete_branch",
                "an open pull request needs its branch, so state=open excludes delete_branch",
            )
            .with_hint("omit delete_branch")
            .into());
        }
        // With `delete_branch`, [`require_confirmation`] checks the expected head.
        if !args.delete_branch && args.expected_head.is_some() {
            let pull = target.repo.pull(&target.id, READ_FIELDS).await?;
            let expected = args.expected_head.as_deref();
            check_expected_head(&target.id, expected, pull.head_id())?;
        }
        if args.state == PrStateArg::Open {
            let outcome = target
                .repo
                .reopen(&target.id, args.comment.as_deref())
                .await?;
            return Ok(write_output::of_pull(call, "reopened", &outcome));
        }
        let mut req = CloseReq::default();
        req.comment = args.comment;
        req.delete_branch = args.delete_branch;
        let mut kept = None;
        if args.delete_branch {
            let pull = target.repo.pull(&target.id, READ_FIELDS).await?;
            // A pull request that is closed already keeps its branch, so nobody is asked.
            if pull.state == PrState::Closed {
                kept = req.branch_kept_warning(&pull);
                req.delete_branch = false;
            } else {
                let answer = ConfirmationArgs {
                    head: args.expected_head.as_deref(),
                    confirm: args.confirm.as_deref(),
                };
                confirm_deletion(call, &target, &pull, &answer).await?;
                // If commits are pushed after this check, the branch is kept.
                req.expected_head = pull.head_oid;
            }
        }
        let mut outcome = target.repo.close(&target.id, &req).await?;
        outcome.warnings.extend(kept);
        let is_deletion = |step: &Step| step.deleted_branch.is_some();
        let did = match !outcome.already && outcome.steps.iter().any(is_deletion) {
            true => "closed, and its branch is deleted",
            false => "closed",
        };
        Ok(write_output::of_pull(call, did, &outcome))
    }
}

/// Asks the user whether the pull request may be closed and its branch deleted.
async fn confirm_deletion(
    call: &CallContext,
    target: &PullTarget,
    pull: &PullRequest,
    answer: &ConfirmationArgs<'_>,
) -> Result<(), ToolError> {
    require_unmerged(target, pull).await?;
    let (title, head) = (titled(call, pull), head_text(pull));
    let branch = named(&pull.head_branch);
    let limits = index_warnings(&target.repo, Op::PrClose).await;
    let question = format!(
        "Close {} and delete its branch {branch}? Head {head}. Title {title}.{}",
        target.id,
        warned(call, &limits)
    );
    let asked = ConfirmationQuestion {
        text: &question,
        bound: &facts(pull).with(()),
    };
    require_confirmation(call, target, pull, answer, asked).await?;
    // The user may have taken minutes to answer, so the facts in the question are checked again.
    let now = target.repo.pull(&target.id, READ_FIELDS).await?;
    check_expected_head(&target.id, pull.head_id(), now.head_id())?;
    facts(pull).ensure_unchanged(&facts(&now))?;
    Ok(())
}

/// Refuses to close a merged pull request, before asking the user.
async fn require_unmerged(target: &PullTarget, pull: &PullRequest) -> Result<(), Error> {
    if pull.state != PrState::Merged {
        return Ok(());
    }
    // A pull request that is reported as merged can still be closed if the merge is not verified.
    let found = target.repo.pull(&target.id, PrFields::MERGEABILITY).await?;
    if ensure_verified(target, &found).is_err() {
        return Ok(());
    }
    Err(Error::precondition(
        Precondition::Merged,
        format!("{} is merged, so it cannot be closed", target.id),
    )
    .with_hint(
        Hint::new("delete the branch that still exists after the merge")
            .with_action(Action::op(Op::PrMerge).with(Param::DeleteBranch, "true")),
    ))
}

/// Returns the facts in the question other than the head. The state is one of them. A user who
/// confirms only deleting the branch has not confirmed closing a pull request that was reopened
/// meanwhile.
fn facts(pull: &PullRequest) -> QuestionFacts {
    QuestionFacts(vec![
        ("state", state_word(pull).to_owned()),
        ("title", pull.title.clone()),
        ("head branch", pull.head_branch.clone()),
    ])
}
