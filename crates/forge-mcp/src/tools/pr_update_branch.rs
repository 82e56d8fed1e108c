use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Op, PageReq, Precondition, Repo, Warning,
    model::{
        MergeState, PrFields, PrState, PullQuery, PullRequest, StateFilter, UpdateBranch,
        UpdateMethod,
    },
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    confirmation::{
        ConfirmationArgs, ConfirmationQuestion, QuestionFacts, commit_text, named,
        require_confirmation, require_supported, titled,
    },
    pr_merge::{conflicting, warned},
    write_output,
};
use crate::{
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WriteOut,
};

pub(super) struct PrUpdateBranch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrUpdateBranchInput {
    repo: Option<String>,
    number: String,
    /// Default merge; rebase rewrites the branch, asks the user
    method: Option<UpdateMethodArg>,
    /// Full id; refused if the head differs
    expected_head: Option<String>,
    /// Previous call's token; only without elicitation
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum UpdateMethodArg {
    Merge,
    Rebase,
}

impl Tool for PrUpdateBranch {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_update_branch",
        title: "Update the head branch",
        description: "Brings the head branch up to date with the base. Does not resolve \
                      conflicts. To merge the pull request: pr_merge.",
        effect: ToolEffect::Destroy,
    };
    type Args = PrUpdateBranchInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrUpdateBranchInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let mut req = UpdateBranch::default();
        req.expected_head.clone_from(&args.expected_head);
        require_supported(&target.repo, &[Capability::PrUpdateBranch])?;
        let rebases = args.method == Some(UpdateMethodArg::Rebase);
        let fields = match rebases {
            true => PrFields::ROW | PrFields::MERGEABILITY,
            false => PrFields::ROW,
        };
        let pull = target.repo.pull(&target.id, fields).await?;
        call.server.may_change_head(&pull)?;
        // A rebase that cannot succeed is refused before another request is sent and before the
        // user is asked.
        let doubt = match rebases {
            true => {
                require_open(&target, &pull)?;
                conflicts(&pull)?
            }
            false => None,
        };
        let shared = use_of_head(&target.repo, &pull).await?;
        if let Some(shared) = &shared {
            may_merge(call, &target, &pull, shared)?;
        }
        if rebases {
            req.method = UpdateMethod::Rebase;
        }
        req.expected_base = Some(pull.base_branch.clone());
        let is_authors = head_is_authors(&target.repo, &pull).await;
        if rebases || shared.is_some() || !is_authors {
            let shared = shared.as_deref();
            req.expected_head = agreed_head(call, &target, &args, pull, shared, doubt).await?;
        }
        let outcome = target.repo.update_branch(&target.id, &req).await?;
        Ok(write_output::of_pull(call, "head branch updated", &outcome))
    }
}

/// Returns true if the head branch belongs to the author of the pull request. Reads the viewer only
/// if the owner of the head's repository is another account; an unknown viewer is not the author.
async fn head_is_authors(repo: &Repo, pull: &PullRequest) -> bool {
    if pull.head_is_authors(None) {
        return true;
    }
    let viewer = repo.viewer().await.ok();
    pull.head_is_authors(viewer.as_ref())
}

/// Returns how others use the head branch; see [`shared_as`]. `None` for a branch of a fork.
async fn use_of_head(repo: &Repo, pull: &PullRequest) -> Result<Option<String>, Error> {
    match pull.is_cross_repository() {
        true => Ok(None),
        false => shared_as(repo, &pull.head_branch).await,
    }
}

/// Returns how others use a branch: as the default branch, or as the base of pull requests.
/// Changing such a branch has the effect of a merge. Branches of forks are not checked. On a file
/// system that ignores case, names that differ only in case are the same branch.
pub(super) async fn shared_as(repo: &Repo, branch: &str) -> Result<Option<String>, Error> {
    let info = repo.info().await?;
    if let Some(default) = &info.default_branch
        && default.to_lowercase() == branch.to_lowercase()
    {
        let case = if default == branch {
            ""
        } else {
            ", except for upper and lower case"
        };
        return Ok(Some(format!("the default branch of {}{case}", info.id)));
    }
    let mut query = PullQuery::default();
    query.base = Some(branch.to_owned());
    // Pull requests in all states count, because the caller may have closed the open ones.
    query.state = StateFilter::All;
    let page = repo.pulls(&query, PageReq::first(1)).await?;
    let into = |other: &PullRequest| format!("the base branch of {}", other.id);
    let unread = page.next.is_some() || page.total > Some(0) || !page.warnings.is_empty();
    let unread = || {
        unread.then(|| "possibly the base branch of pull requests that were not read".to_owned())
    };
    Ok(page.items.first().map(into).or_else(unread))
}

/// Refuses an update that has the effect of a merge if the server does not offer `pr_merge`.
fn may_merge(
    call: &CallContext,
    target: &PullTarget,
    pull: &PullRequest,
    shared: &str,
) -> Result<(), Error> {
    if call.server.options().offers("pr_merge") {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::PermissionDenied {
            missing: vec!["pr_merge".to_owned()],
            sso_url: None,
        },
        format!(
            "the head branch of {}, {}, is {shared}: an update would merge {} into it, and this \
             server merges nothing",
            target.id,
            named(&pull.head_branch),
            named(&pull.base_branch)
        ),
    )
    .with_hint("nothing was done. Tell the user, who can do it by hand"))
}

/// Asks the user to confirm, and returns the confirmed head. The update then rewrites that head, or
/// merges the base branch into it.
async fn agreed_head(
    call: &CallContext,
    target: &PullTarget,
    args: &PrUpdateBranchInput,
    pull: PullRequest,
    shared: Option<&str>,
    doubt: Option<Warning>,
) -> Result<Option<String>, ToolError> {
    require_open(target, &pull)?;
    let head = named(&pull.head_branch);
    let base = named(&pull.base_branch);
    let mut question = match args.method {
        Some(UpdateMethodArg::Rebase) => format!(
            "Rewrite the branch {head} of {} on top of {base}? Everyone who has it must fetch it \
            again.",
            target.id
        ),
        _ => format!(
            "Merge {base} into {head}, the head branch of {}?",
            target.id
        ),
    };
    if let Some(shared) = shared {
        let at = commit_text(pull.base_oid.as_deref());
        question.push_str(&format!(
            " {head} is {shared}, and gets all commits of {base} up to {at}."
        ));
    }
    if !head_is_authors(&target.repo, &pull).await {
        let place = pull.head_repo.as_ref().unwrap_or(&pull.id.repo);
        question.push_str(&format!(
            " The forge does not say that {head} belongs to the author {}: it is a branch of {}.",
            named(&pull.author.login),
            named(&place.to_string())
        ));
    }
    question.push_str(&format!(
        " Head {}. Title {}.",
        commit_text(pull.head_oid.as_deref()),
        titled(call, &pull)
    ));
    question.push_str(&warned(call, doubt.as_slice()));
    let said = ConfirmationArgs {
        head: args.expected_head.as_deref(),
        confirm: args.confirm.as_deref(),
    };
    let facts = facts(&pull, shared);
    let question = ConfirmationQuestion {
        text: &question,
        bound: &facts.with(()),
    };
    require_confirmation(call, target, &pull, &said, question).await?;
    // The update uses exactly the head and base that the user confirmed.
    let now = target.repo.pull(&target.id, PrFields::ROW).await?;
    let shared = use_of_head(&target.repo, &now).await?;
    facts.ensure_unchanged(&self::facts(&now, shared.as_deref()))?;
    Ok(pull.head_oid)
}

/// Returns the facts in the confirmation question other than the head.
fn facts(pull: &PullRequest, shared: Option<&str>) -> QuestionFacts {
    let mut facts = vec![
        ("base branch", pull.base_branch.clone()),
        ("title", pull.title.clone()),
        ("author", pull.author.login.clone()),
        ("head branch", pull.head_branch.clone()),
        (
            "use of the head branch",
            shared.unwrap_or("none").to_owned(),
        ),
    ];
    if shared.is_some() {
        facts.push(("base commit", pull.base_oid.clone().unwrap_or_default()));
    }
    QuestionFacts(facts)
}

/// Refuses a pull request that is not open, before asking the user.
fn require_open(target: &PullTarget, pull: &PullRequest) -> Result<(), Error> {
    let (why, hint) = match pull.state {
        PrState::Open => return Ok(()),
        PrState::Closed => {
            let reopen = Action::op(Op::PrReopen);
            (Precondition::Closed, Hint::fixed("reopen it first", reopen))
        }
        PrState::Merged => {
            let open = Action::op(Op::PrCreate);
            let hint = Hint::fixed("open another pull request for the new commits", open);
            (Precondition::Merged, hint)
        }
    };
    Err(Error::precondition(
        why,
        format!("{} is not open; nothing was changed", target.id),
    )
    .with_hint(hint))
}

/// Maximum number of conflicting files that a question names. The names end with the number of
/// files left out.
const MAX_NAMED_FILES: usize = 10;

/// Refuses to rebase a pull request with conflicts, before the user is asked. If the forge names
/// the conflicting files, only returns a warning: they conflict in a merge, but a rebase drops
/// commits that the base already has, and may succeed. Does not wait if the mergeability is still
/// unknown.
fn conflicts(pull: &PullRequest) -> Result<Option<Warning>, Error> {
    let found = pull.mergeability.as_ref();
    let Some(found) = found.filter(|m| m.state == MergeState::Conflicting) else {
        return Ok(None);
    };
    let files = found.conflicts.as_slice();
    if files.is_empty() {
        return Err(conflicting(pull));
    }
    let first: Vec<String> = files
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|file| named(file))
        .collect();
    let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Ok(Some(Warning::new(format!(
        "a merge of the two branches has conflicts in {}{more}, so a rebase may be refused",
        first.join(", ")
    ))))
}
