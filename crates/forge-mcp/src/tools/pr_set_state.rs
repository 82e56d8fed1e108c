use forge_core::{
    Error, Precondition,
    model::{CloseReq, PrFields, PrState, PullRequest},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    agreed::{Question, Said, agreed, same_head, titled},
    pr_merge::is_proved,
    written,
};
use crate::{
    output::Written,
    server::{Answer, Call, Effect, Spec, Stop, Target, Tool},
};

pub(super) struct PrSetState;

/// What is looked at. A row of a list would be less, and lacks the head on tangled.
const LOOK: PrFields = PrFields::NONE;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    state: State,
    /// To leave with it
    comment: Option<String>,
    /// Also delete the head branch; asks the user
    #[serde(default)]
    delete_branch: bool,
    expected_head: Option<String>,
    /// Only for clients that cannot ask
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum State {
    #[serde(alias = "reopen", alias = "reopened")]
    Open,
    #[serde(alias = "close")]
    Closed,
}

impl Tool for PrSetState {
    const SPEC: Spec = Spec {
        name: "pr_set_state",
        title: "Close or reopen",
        description: "Closes without merging, or reopens. Merging: pr_merge. Draft or ready: \
                      pr_edit.",
        effect: Effect::Destroy,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        if args.state == State::Open && args.delete_branch {
            return Err(Error::invalid(
                "delete_branch",
                "a pull request cannot be opened without its branch",
            )
            .with_hint("leave delete_branch away")
            .into());
        }
        // Where a branch goes too, the head is looked at with the question.
        if !args.delete_branch && args.expected_head.is_some() {
            let pull = target.repo.view(&target.id, LOOK).await?;
            same_head(args.expected_head.as_deref(), pull.head_oid.as_deref())?;
        }
        if args.state == State::Open {
            let outcome = target
                .repo
                .reopen(&target.id, args.comment.as_deref())
                .await?;
            return Ok(written::of_pull(call, "reopened", &outcome));
        }
        if args.delete_branch {
            let pull = target.repo.view(&target.id, LOOK).await?;
            goes_with_it(&target, &pull).await?;
            let question = format!(
                "Close {} \"{}\" and delete its branch {}?",
                target.id,
                titled(call, &pull),
                call.cleaner.line(&pull.head_branch),
            );
            let said = Said {
                head: args.expected_head.as_deref(),
                confirm: args.confirm.as_deref(),
            };
            agreed(call, &target, &pull, &said, Question::of(&question)).await?;
            // The user may have thought for minutes: what was looked at is what goes.
            let now = target.repo.view(&target.id, LOOK).await?;
            same_head(pull.head_oid.as_deref(), now.head_oid.as_deref())?;
            goes_with_it(&target, &now).await?;
        }
        let req = CloseReq {
            comment: args.comment,
            delete_branch: args.delete_branch,
        };
        let outcome = target.repo.close(&target.id, &req).await?;
        Ok(written::of_pull(call, "closed", &outcome))
    }
}

/// Refuses one whose branch would not go, because it is not open: nobody is asked about it.
async fn goes_with_it(target: &Target, pull: &PullRequest) -> Result<(), Error> {
    let (why, what, hint) = match pull.state {
        PrState::Open => return Ok(()),
        PrState::Closed => (
            Precondition::Closed,
            "closed already, and its branch goes with the closing alone",
            "if its commits are not needed, delete the branch with \
             'git push <remote> --delete <branch>'",
        ),
        PrState::Merged => {
            // What a record alone calls merged is closed where this does not find the change.
            let found = target.repo.view(&target.id, PrFields::MERGEABILITY).await?;
            if is_proved(target, &found).is_err() {
                return Ok(());
            }
            (
                Precondition::Merged,
                "merged, so it cannot be closed",
                "pr_merge with delete_branch=true deletes the branch that a merge left over",
            )
        }
    };
    Err(Error::precondition(why, format!("{} is {what}", target.id)).with_hint(hint))
}
