use forge_core::{
    Capability, Error, Precondition, Warning,
    model::{PrFields, PrState, PullRequest, UpdateBranch, UpdateMethod},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    agreed::{Facts, Question, Said, agreed, can, named, titled},
    pr_merge::{mergeable, warned},
    written,
};
use crate::{
    output::Written,
    server::{Answer, Call, Effect, Spec, Stop, Target, Tool},
};

pub(super) struct PrUpdateBranch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Default merge; rebase rewrites the branch, asks the user
    method: Option<Method>,
    /// Full id that the head must be
    expected_head: Option<String>,
    /// Only for clients that cannot ask
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Method {
    Merge,
    Rebase,
}

impl Tool for PrUpdateBranch {
    const SPEC: Spec = Spec {
        name: "pr_update_branch",
        title: "Update the head branch",
        description: "Brings the head branch up to date with the base. Merges no pull request: \
                      pr_merge. Resolves no conflicts.",
        effect: Effect::Destroy,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let mut req = UpdateBranch {
            expected_head: args.expected_head.clone(),
            leave_checkout: false,
            ..UpdateBranch::default()
        };
        let rebases = args.method == Some(Method::Rebase);
        if rebases || call.server.restricts_changes() {
            can(&target, &[Capability::PrUpdateBranch])?;
            let fields = match rebases {
                true => PrFields::ROW | PrFields::MERGEABILITY,
                false => PrFields::ROW,
            };
            let pull = target.repo.view(&target.id, fields).await?;
            call.server.may_change_head(&pull)?;
            if rebases {
                req.method = UpdateMethod::Rebase;
                req.expected_head = agreed_head(call, &target, &args, pull).await?;
            }
        }
        let outcome = target.repo.update_branch(&target.id, &req).await?;
        Ok(written::of_pull(call, "head branch updated", &outcome))
    }
}

/// The head that somebody agreed to rewrite.
async fn agreed_head(
    call: &Call,
    target: &Target,
    args: &Args,
    pull: PullRequest,
) -> Result<Option<String>, Stop> {
    is_open(target, &pull)?;
    let doubt = conflicts(target, &pull)?;
    let question = format!(
        "Rewrite the branch {} of {} on top of {}? Whoever has it has to fetch it again. Head {}. \
         Title \"{}\".",
        named(&pull.head_branch),
        target.id,
        named(&pull.base_branch),
        pull.head_oid.as_deref().unwrap_or("unknown"),
        titled(call, &pull),
    ) + &warned(call, doubt.as_slice());
    let said = Said {
        head: args.expected_head.as_deref(),
        confirm: args.confirm.as_deref(),
    };
    let facts = facts(&pull);
    let question = Question {
        text: &question,
        bound: &facts.with(()),
    };
    agreed(call, target, &pull, &said, question).await?;
    // What was agreed to is what is rewritten, and on top of what it is.
    let now = target.repo.view(&target.id, PrFields::ROW).await?;
    facts.still(&self::facts(&now))?;
    Ok(pull.head_oid)
}

/// What the question names beside the head.
fn facts(pull: &PullRequest) -> Facts {
    Facts(vec![
        ("base branch", pull.base_branch.clone()),
        ("title", pull.title.clone()),
    ])
}

/// Refuses one whose branch is not brought up to date: nobody is asked about it.
fn is_open(target: &Target, pull: &PullRequest) -> Result<(), Error> {
    let why = match pull.state {
        PrState::Open => return Ok(()),
        PrState::Closed => Precondition::Closed,
        PrState::Merged => Precondition::Merged,
    };
    Err(Error::precondition(
        why,
        format!("{} is not open: its branch is left as it is", target.id),
    )
    .with_hint("pr_set_state with state=open opens a closed one again"))
}

/// How many of the files that conflict a question names; the others are counted.
const NAMED: usize = 10;

/// Refuses one that the forge calls conflicting: nobody is asked about it. Where it names the files
/// it has tried a merge, and that is a warning: a rebase leaves out what the base has already, and
/// may go all the same. A state that is not worked out yet is not waited for.
fn conflicts(target: &Target, pull: &PullRequest) -> Result<Option<Warning>, Error> {
    let found = pull.mergeability.as_ref();
    let Err(e) = mergeable(&target.id, &pull.base_branch, found) else {
        return Ok(None);
    };
    let files = found.map(|m| m.conflicts.as_slice()).unwrap_or_default();
    if files.is_empty() {
        return Err(e);
    }
    let named: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Ok(Some(Warning::new(format!(
        "a merge of the two has conflicts in {}{more}, and a rebase may be refused",
        named.join(", ")
    ))))
}
