//! Implements the mutations, one file per family.

mod branch;
mod checks;
mod comment;
mod commit;
mod issue;
mod labels;
mod merge;
mod people;
mod project;
mod pull;
mod refs;
mod review;
mod thread;

pub(crate) use merge::{merge, merge_queued, merge_stack, merge_when_clean};
pub(crate) use pull::blank as blank_pull;

use super::{
    graphql::{Args, Ctx, Fail, Node, Resolved, Val, find},
    state::{Id, Permission},
};

/// Fields of a mutation's payload.
type Payload = Result<Vec<(&'static str, Val)>, Fail>;

/// Runs the mutation with this name. Returns `None` if the double does not implement it.
pub(crate) fn run(ctx: &Ctx<'_>, name: &str, args: &Args) -> Resolved {
    let input = args.object("input").unwrap_or_default();
    let outcome = dispatch(ctx, name, &input);
    let mut fields = match outcome {
        Some(outcome) => outcome?,
        None => return Ok(None),
    };
    let actor = ctx.viewer_node();
    fields.extend([
        ("actor", actor.into()),
        (
            "clientMutationId",
            Val::option(input.string("clientMutationId")),
        ),
    ]);
    let web = ctx.web.clone();
    super::actions::auto_merges(&mut ctx.state(), &web)?;
    Ok(Some(Val::record(
        &format!("{}Payload", capital(name)),
        fields,
    )))
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn dispatch(ctx: &Ctx<'_>, name: &str, input: &Args) -> Option<Payload> {
    Some(match name {
        "createPullRequest" => pull::create(ctx, input),
        "updatePullRequest" => pull::update(ctx, input),
        "closePullRequest" => pull::close(ctx, input),
        "reopenPullRequest" => pull::reopen(ctx, input),
        "markPullRequestReadyForReview" => pull::ready(ctx, input),
        "convertPullRequestToDraft" => pull::draft(ctx, input),
        "lockLockable" => pull::lock(ctx, input),
        "unlockLockable" => pull::unlock(ctx, input),
        "mergePullRequest" => merge::merge(ctx, input),
        "enqueuePullRequest" => merge::enqueue(ctx, input),
        "enablePullRequestAutoMerge" => merge::enable_auto(ctx, input),
        "disablePullRequestAutoMerge" => merge::disable_auto(ctx, input),
        "updatePullRequestBranch" => branch::update(ctx, input),
        "revertPullRequest" => branch::revert(ctx, input),
        "addLabelsToLabelable" => labels::add(ctx, input),
        "removeLabelsFromLabelable" => labels::remove(ctx, input),
        "createLabel" => labels::create(ctx, input),
        "updateLabel" => labels::update(ctx, input),
        "deleteLabel" => labels::delete(ctx, input),
        "addAssigneesToAssignable" => people::add_assignees(ctx, input),
        "removeAssigneesFromAssignable" => people::remove_assignees(ctx, input),
        "replaceActorsForAssignable" => people::replace_actors(ctx, input),
        "requestReviews" => people::request_reviews(ctx, input),
        "requestReviewsByLogin" => people::request_reviews_by_login(ctx, input),
        "addComment" => comment::add(ctx, input),
        "updateIssueComment" => comment::update(ctx, input),
        "deleteIssueComment" => comment::delete(ctx, input),
        "minimizeComment" => comment::minimize(ctx, input, true),
        "unminimizeComment" => comment::minimize(ctx, input, false),
        "addReaction" => comment::react(ctx, input, true),
        "removeReaction" => comment::react(ctx, input, false),
        "addPullRequestReview" => review::add(ctx, input),
        "submitPullRequestReview" => review::submit(ctx, input),
        "updatePullRequestReview" => review::update(ctx, input),
        "deletePullRequestReview" => review::delete(ctx, input),
        "dismissPullRequestReview" => review::dismiss(ctx, input),
        "addPullRequestReviewThread" => thread::add(ctx, input),
        "addPullRequestReviewThreadReply" => thread::reply(ctx, input),
        "addPullRequestReviewComment" => thread::add_comment(ctx, input),
        "updatePullRequestReviewComment" => thread::update_comment(ctx, input),
        "deletePullRequestReviewComment" => thread::delete_comment(ctx, input),
        "resolveReviewThread" => thread::resolve(ctx, input, true),
        "unresolveReviewThread" => thread::resolve(ctx, input, false),
        "createRef" => refs::create(ctx, input),
        "updateRef" => refs::update(ctx, input),
        "deleteRef" => refs::delete(ctx, input),
        "createCommitOnBranch" => commit::create(ctx, input),
        "createCheckSuite" => checks::create_suite(ctx, input),
        "createCheckRun" => checks::create_run(ctx, input),
        "updateCheckRun" => checks::update_run(ctx, input),
        "createIssue" => issue::create(ctx, input),
        "updateIssue" => issue::update(ctx, input),
        "closeIssue" => issue::close(ctx, input, true),
        "reopenIssue" => issue::close(ctx, input, false),
        "deleteIssue" => issue::delete(ctx, input),
        "addSubIssue" => issue::add_sub_issue(ctx, input),
        "removeSubIssue" => issue::remove_sub_issue(ctx, input),
        "addBlockedBy" => issue::add_blocked_by(ctx, input),
        "removeBlockedBy" => issue::remove_blocked_by(ctx, input),
        "addProjectV2ItemById" => project::add(ctx, input),
        "deleteProjectV2Item" => project::delete(ctx, input),
        "updateProjectV2ItemFieldValue" => project::set_field(ctx, input),
        "clearProjectV2ItemFieldValue" => project::clear_field(ctx, input),
        "createProjectV2Field" => project::create_field(ctx, input),
        "updateProjectV2Field" => project::update_field(ctx, input),
        _ => return None,
    })
}

/// Returns the object with the id in the input, if the viewer may see it.
fn target(ctx: &Ctx<'_>, input: &Args, name: &str) -> Result<Node, Fail> {
    let id = input.str(name).unwrap_or_default();
    let node = find(&ctx.state(), id).map_err(|_| no_node(id))?;
    match super::resolve::repo_of(ctx, &node) {
        Some(repo) if !ctx.may_see(repo) => Err(no_node(id)),
        _ => Ok(node),
    }
}

/// Returns the error for an unknown id. Unlike a query's, a mutation's message ends with a dot.
fn no_node(id: &str) -> Fail {
    Fail::not_found(format!(
        "Could not resolve to a node with the global id of '{id}'."
    ))
}

/// Returns the pull request with the id in the input.
fn pull_target(ctx: &Ctx<'_>, input: &Args, name: &str) -> Result<Id, Fail> {
    match target(ctx, input, name)? {
        Node::Pull(id) => Ok(id),
        _ => Err(no_node(input.str(name).unwrap_or_default())),
    }
}

/// Returns the repository with the id in the input.
fn repo_target(ctx: &Ctx<'_>, input: &Args, name: &str) -> Result<Id, Fail> {
    match target(ctx, input, name)? {
        Node::Repo(id) => Ok(id),
        _ => Err(no_node(input.str(name).unwrap_or_default())),
    }
}

/// Returns the object numbers for a list of node ids, which must all be of one kind.
fn ids_of(
    ctx: &Ctx<'_>,
    ids: &[String],
    pick: impl Fn(&Node) -> Option<Id>,
) -> Result<Vec<Id>, Fail> {
    let state = ctx.state();
    ids.iter()
        .map(|id| {
            let found = find(&state, id).ok();
            found
                .and_then(|node| pick(&node))
                .ok_or_else(|| no_node(id))
        })
        .collect()
}

/// Returns the repository and the author of an issue or a pull request.
fn subject(ctx: &Ctx<'_>, node: &Node) -> Result<(Id, Id), Fail> {
    let state = ctx.state();
    match node {
        Node::Pull(id) => state.pulls.get(id).map(|it| (it.repo, it.author)),
        Node::Issue(id) => state.issues.get(id).map(|it| (it.repo, it.author)),
        _ => None,
    }
    .ok_or_else(|| Fail::not_found("Could not resolve to an issue or pull request."))
}

/// Refuses a viewer who is neither the author nor has the permission `least`.
fn author_or(ctx: &Ctx<'_>, node: &Node, least: Permission, mutation: &str) -> Result<Id, Fail> {
    let (repo, author) = subject(ctx, node)?;
    let least = if author == ctx.viewer {
        Permission::Read
    } else {
        least
    };
    ctx.require(repo, least, mutation)?;
    Ok(repo)
}

/// Sets the time of the last change of an issue or a pull request.
fn touch(ctx: &Ctx<'_>, node: &Node) {
    let mut state = ctx.state();
    let now = state.tick();
    match node {
        Node::Pull(id) => {
            if let Some(pull) = state.pulls.get_mut(id) {
                pull.updated_at = now;
            }
        }
        Node::Issue(id) => {
            if let Some(issue) = state.issues.get_mut(id) {
                issue.updated_at = now;
            }
        }
        _ => {}
    }
}

/// Refuses a text that is too long, and a blank text unless `blank` is true.
fn check_body(ctx: &Ctx<'_>, body: &str, blank: bool) -> Result<(), Fail> {
    if !blank && body.trim().is_empty() {
        return Err(Fail::unprocessable("Body can't be blank"));
    }
    check_length(ctx, body)
}

fn check_length(ctx: &Ctx<'_>, body: &str) -> Result<(), Fail> {
    let most = ctx.state().limits.body;
    if body.chars().count() > most {
        return Err(Fail::unprocessable(format!(
            "Body is too long (maximum is {most} characters)"
        )));
    }
    Ok(())
}
