use forge_core::{
    Action, Capability, Error, Hint, Op, Outcome, Param,
    model::{FileEdit, PushEdits, PushedCommit},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{confirmation::require_supported, pr_create::Edit, pr_update_branch::shared_as};
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::{Clean, name, name_of},
    output::WarningOut,
};

pub(super) struct RepoPush;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RepoPushInput {
    /// For a fork's branch: the fork
    repo: Option<String>,
    branch: String,
    /// The branch's full commit id; if omitted, the call fails and names it
    #[schemars(required)]
    expected_head: Option<String>,
    /// First line: what it changes
    message: String,
    /// Whole files
    edits: Vec<Edit>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RepoPushOut {
    repo: String,
    branch: Clean,
    /// The new commit
    head_oid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

impl Tool for RepoPush {
    const SPEC: ToolSpec = ToolSpec {
        name: "repo_push",
        title: "Commit files to a branch",
        description: "Commits whole files to an existing branch, such as the head branch of a \
                      pull request, if it is still at expected_head. Refuses the default branch \
                      and base branches of pull requests. New branch: pr_create.",
        effect: ToolEffect::Replace,
    };
    type Args = RepoPushInput;
    type Out = RepoPushOut;

    async fn run(
        call: &CallContext,
        args: RepoPushInput,
    ) -> Result<ToolOutput<RepoPushOut>, ToolError> {
        let repo = call.repo(args.repo.as_deref()).await?;
        require_supported(&repo, &[Capability::BranchPush])?;
        let branch = args.branch.strip_prefix("refs/heads/");
        let branch = branch.unwrap_or(&args.branch).to_owned();
        if branch.starts_with("refs/") {
            return Err(no_name(&branch).into());
        }
        let edits = args.edits.into_iter().map(Edit::read);
        let edits = edits.collect::<Result<Vec<FileEdit>, _>>()?;
        // Without an expected head, the push is refused, and the error names the current commit.
        let expected = args.expected_head.unwrap_or_default();
        let req = PushEdits::new(branch, expected, args.message, edits);
        req.check()?;
        // A branch that others use is refused, because nobody has reviewed this commit or confirmed
        // the push.
        if let Some(shared) = shared_as(&repo, &req.branch).await? {
            return Err(on_shared_branch(&req.branch, &shared).into());
        }
        let outcome = repo.push_edits(&req).await?;
        Ok(answer(call, repo.id().to_string(), &outcome))
    }
}

fn answer(
    call: &CallContext,
    repo: String,
    outcome: &Outcome<PushedCommit>,
) -> ToolOutput<RepoPushOut> {
    let made = &outcome.value;
    let branch = call.cleaner.line(&made.branch);
    let warnings = WarningOut::all(&outcome.warnings, &call.about(), &call.cleaner);
    let mut text = format!(
        "{repo}: branch {} is at {}",
        name(&branch),
        name_of(&made.oid)
    );
    for warning in &warnings {
        text.push_str(&format!("\n{}", warning.text().trim_end()));
    }
    ToolOutput {
        text,
        data: RepoPushOut {
            repo,
            branch,
            head_oid: made.oid.clone(),
            warnings,
        },
    }
}

/// Returns the error for a full ref name. A full ref name is refused because some forges would read
/// `refs/heads/x` as the branch `x`.
fn no_name(branch: &str) -> Error {
    let shown = forge_core::text::one_line(branch);
    Error::invalid("branch", format!("'{shown}' is not a branch name"))
        .with_hint("pass the name without refs/heads/")
}

fn on_shared_branch(branch: &str, shared: &str) -> Error {
    let shown = forge_core::text::one_line(branch);
    let message = format!("'{shown}' is {shared}, which may change only by pull requests");
    let open = Action::op(Op::PrCreate).with(Param::Base, branch);
    let hint = Hint::new("open a pull request with the same edits").with_action(open);
    Error::invalid("branch", message).with_hint(hint)
}
