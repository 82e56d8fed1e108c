//! Mutations that merge a pull request now, or as soon as every requirement is met.

use super::{Payload, pull::with_pull, pull_target};
use crate::{
    actions, git,
    graphql::{Args, Ctx, Fail},
    messages,
    resolve::{
        Attempt, get_pull, mail, merge_state, not_allowed, queue_entry, queue_method, refusal,
    },
    state::{AsyncMerge, AutoMerge, Id, Permission, Pull, PullState, Repo},
};

/// Method and message that a merge requests.
struct Wish {
    method: String,
    headline: Option<String>,
    body: Option<String>,
    email: Option<String>,
}

impl Wish {
    fn read(input: &Args) -> Self {
        Self {
            method: input
                .string("mergeMethod")
                .unwrap_or_else(|| "MERGE".to_owned()),
            headline: input.string("commitHeadline"),
            body: input.string("commitBody"),
            email: input.string("authorEmail"),
        }
    }
}

pub(crate) fn merge(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let pull = get_pull(ctx, id)?;
    ctx.require(pull.repo, Permission::Write, "MergePullRequest")?;
    if pull.state != PullState::Open {
        return Err(Fail::unprocessable("Pull Request is not mergeable"));
    }
    if pull.draft {
        return Err(Fail::unprocessable("Pull Request is still a draft"));
    }
    check_head(&pull, input)?;
    check_stack(ctx, id)?;
    let wish = Wish::read(input);
    let repo = ctx.repo(pull.repo)?;
    check_method(&repo, &wish.method)?;
    let how = Attempt {
        method: Some(&wish.method),
        bypass: true,
        queue: false,
    };
    if let Some(refusal) = refusal(ctx, &pull, how) {
        return Err(Fail::unprocessable(refusal));
    }
    carry_out(ctx, &pull, &repo, &wish)?;
    with_pull(id, Vec::new())
}

fn has_queue(ctx: &Ctx<'_>, pull: &Pull) -> bool {
    queue_method(&ctx.state(), pull).is_some()
}

fn check_stack(ctx: &Ctx<'_>, id: Id) -> Result<(), Fail> {
    if ctx.state().stack_of(id).is_some() {
        return Err(Fail::unprocessable(
            "This pull request is part of a stack and must be merged using the asynchronous merge REST API",
        ));
    }
    Ok(())
}

pub(super) fn enqueue(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let pull = get_pull(ctx, id)?;
    ctx.require(pull.repo, Permission::Write, "EnqueuePullRequest")?;
    if !has_queue(ctx, &pull) {
        return Err(Fail::unprocessable(
            "The merge queue is not enabled for the base branch.",
        ));
    }
    if pull.state != PullState::Open || pull.draft {
        return Err(Fail::unprocessable("Pull request is not ready to merge."));
    }
    check_head(&pull, input)?;
    check_stack(ctx, id)?;
    let how = Attempt {
        method: None,
        bypass: false,
        queue: true,
    };
    if let Some(refusal) = refusal(ctx, &pull, how) {
        return Err(Fail::unprocessable(refusal));
    }
    let mut state = ctx.state();
    if state.queue.contains(&id) {
        return Err(Fail::unprocessable("Pull request is already in the queue."));
    }
    state.queue.push(id);
    drop(state);
    Ok(vec![("mergeQueueEntry", queue_entry(ctx, id))])
}

/// Merges the pull request at the front of the queue.
pub(crate) fn merge_queued(ctx: &Ctx<'_>, id: Id) -> Result<(), Fail> {
    let pull = get_pull(ctx, id)?;
    let repo = ctx.repo(pull.repo)?;
    let wish = Wish {
        method: queue_method(&ctx.state(), &pull).unwrap_or_else(|| "MERGE".to_owned()),
        headline: None,
        body: None,
        email: None,
    };
    ctx.state().queue.retain(|it| *it != id);
    carry_out(ctx, &pull, &repo, &wish)
}

/// Merges all pull requests of a stack up to the requested one, or none of them. The pull requests
/// above then target the base branch of the stack. GitHub also rebases those, but the double does
/// not.
pub(crate) fn merge_stack(ctx: &Ctx<'_>, merge: &AsyncMerge) -> Result<(), Fail> {
    let stack = ctx.state().stack_of(merge.pull).map(|it| it.pulls.clone());
    let stack = stack.unwrap_or_else(|| vec![merge.pull]);
    let (mut base, mut part, mut above) = (None, Vec::new(), None);
    let mut reached = false;
    for id in stack {
        let pull = get_pull(ctx, id)?;
        let base: &String = base.get_or_insert_with(|| pull.base_branch.clone());
        match pull.state {
            PullState::Open if reached => {
                above = Some(id);
                break;
            }
            PullState::Open => part.push(Pull {
                base_branch: base.clone(),
                ..pull
            }),
            PullState::Closed if !reached => {
                return Err(Fail::unprocessable("A pull request below it is closed."));
            }
            PullState::Closed | PullState::Merged => {}
        }
        reached |= id == merge.pull;
    }
    for pull in &part {
        check_lands(ctx, pull, merge)?;
    }
    let wish = Wish {
        method: merge.method.clone(),
        headline: merge.headline.clone(),
        body: merge.body.clone(),
        email: None,
    };
    for pull in part {
        retarget(ctx, pull.id, &pull.base_branch)?;
        let (pull, repo) = (get_pull(ctx, pull.id)?, ctx.repo(pull.repo)?);
        carry_out(ctx, &pull, &repo, &wish)?;
    }
    match (above, base) {
        (Some(above), Some(base)) => retarget(ctx, above, &base),
        _ => Ok(()),
    }
}

/// Refuses a pull request if the rules of its base branch do not allow the merge, unless the merge
/// bypasses the rules.
fn check_lands(ctx: &Ctx<'_>, pull: &Pull, merge: &AsyncMerge) -> Result<(), Fail> {
    if pull.draft {
        return Err(Fail::unprocessable("Pull Request is still a draft"));
    }
    let how = Attempt {
        method: Some(&merge.method),
        bypass: merge.bypass_rules,
        queue: false,
    };
    if let Some(refusal) = refusal(ctx, pull, how) {
        return Err(Fail::unprocessable(refusal));
    }
    let dir = ctx.repo(pull.repo)?.git_dir;
    let tip = git::branch(&dir, &pull.base_branch).unwrap_or_default();
    match git::merge_tree(&dir, &tip, &pull.head_oid)? {
        Some(_) => Ok(()),
        None => Err(Fail::unprocessable("Pull Request is not mergeable")),
    }
}

/// Changes the base branch of a pull request to `base`, at that branch's current tip.
fn retarget(ctx: &Ctx<'_>, id: Id, base: &str) -> Result<(), Fail> {
    let dir = ctx.repo(get_pull(ctx, id)?.repo)?.git_dir;
    let tip = git::branch(&dir, base).unwrap_or_default();
    let mut state = ctx.state();
    if let Some(pull) = state.pulls.get_mut(&id) {
        base.clone_into(&mut pull.base_branch);
        pull.base_oid = tip;
    }
    actions::reset_merge_state(&mut state, id);
    Ok(())
}

fn check_head(pull: &Pull, input: &Args) -> Result<(), Fail> {
    match input.str("expectedHeadOid") {
        Some(expected) if expected != pull.head_oid => Err(Fail::unprocessable(
            "Head branch was modified. Review and try the merge again.",
        )),
        _ => Ok(()),
    }
}

fn check_method(repo: &Repo, method: &str) -> Result<(), Fail> {
    if repo.methods().any(|it| it == method) {
        return Ok(());
    }
    Err(Fail::unprocessable(not_allowed(method)))
}

/// Creates the commits, moves the base branch, and updates all pull requests.
fn carry_out(ctx: &Ctx<'_>, pull: &Pull, repo: &Repo, wish: &Wish) -> Result<(), Fail> {
    let dir = &repo.git_dir;
    let not_mergeable = || Fail::unprocessable("Pull Request is not mergeable");
    let (login, name, now) = {
        let mut state = ctx.state();
        let now = state.tick();
        let login = state.login(ctx.viewer).to_owned();
        let name = state
            .accounts
            .get(&ctx.viewer)
            .and_then(|account| account.name.clone());
        (login, name, now)
    };
    let author = git::Person {
        name: name.unwrap_or_else(|| login.clone()),
        email: wish.email.clone().unwrap_or_else(|| mail(&login)),
        date: now.clone(),
    };
    let github = git::Person {
        name: "GitHub".to_owned(),
        email: "noreply@github.com".to_owned(),
        date: now,
    };
    let (headline, body) = messages::default(&ctx.state(), dir, pull, &wish.method);
    let headline = wish.headline.clone().unwrap_or(headline);
    let body = wish.body.clone().unwrap_or(body);
    let message = if body.is_empty() {
        headline
    } else {
        format!("{headline}\n\n{body}")
    };
    let (base, head) = (pull.base_oid.as_str(), pull.head_oid.as_str());
    let commit = match wish.method.as_str() {
        "REBASE" => {
            let from = git::merge_base(dir, base, head).ok_or_else(not_mergeable)?;
            git::rebase(dir, &from, head, base, &github)?.ok_or_else(not_mergeable)?
        }
        method => {
            let tree = git::merge_tree(dir, base, head)?.ok_or_else(not_mergeable)?;
            let parents: &[&str] = if method == "SQUASH" {
                &[base]
            } else {
                &[base, head]
            };
            git::commit_tree(dir, &tree, parents, &message, &author, &github)?
        }
    };
    let mut state = ctx.state();
    let before = actions::branches(&state, repo.id);
    let name = format!("refs/heads/{}", pull.base_branch);
    git::update_ref(dir, &name, &commit, Some(base)).map_err(|_| {
        Fail::unprocessable("Base branch was modified. Review and try the merge again.")
    })?;
    actions::finish_merge(&mut state, pull.id, commit, ctx.viewer);
    if repo.delete_branch_on_merge && pull.head_repo == Some(repo.id) {
        git::delete_ref(dir, &format!("refs/heads/{}", pull.head_branch))?;
    }
    actions::refs_moved(&mut state, repo.id, &before, ctx.viewer);
    Ok(())
}

pub(super) fn enable_auto(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let pull = get_pull(ctx, id)?;
    ctx.require(pull.repo, Permission::Write, "EnablePullRequestAutoMerge")?;
    let repo = ctx.repo(pull.repo)?;
    if !repo.allow_auto_merge {
        return Err(Fail::unprocessable(
            "Pull request Auto merge is not allowed for this repository",
        ));
    }
    let viewer = ctx.state().accounts.get(&ctx.viewer).cloned();
    if let Some(account) = viewer.filter(|it| !it.has_verified_email) {
        return Err(Fail::unprocessable(format!(
            "{} does not have a verified email, which is required to enable auto-merging.",
            account.login
        )));
    }
    if pull.state != PullState::Open {
        return Err(Fail::unprocessable("Pull request is closed"));
    }
    check_head(&pull, input)?;
    check_stack(ctx, id)?;
    let wish = Wish::read(input);
    check_method(&repo, &wish.method)?;
    let now = merge_state::compute(ctx, &pull)?;
    if now.status == "CLEAN" {
        return Err(Fail::unprocessable("Pull request is in clean status"));
    }
    if now.status == "UNSTABLE" {
        return Err(Fail::unprocessable("Pull request is in unstable status"));
    }
    let mut state = ctx.state();
    let at = state.tick();
    if let Some(pull) = state.pulls.get_mut(&id) {
        pull.auto_merge = Some(AutoMerge {
            by: ctx.viewer,
            at,
            method: wish.method,
            headline: wish.headline,
            body: wish.body,
            email: wish.email,
        });
    }
    with_pull(id, Vec::new())
}

pub(super) fn disable_auto(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let pull = get_pull(ctx, id)?;
    ctx.require(pull.repo, Permission::Write, "DisablePullRequestAutoMerge")?;
    let mut state = ctx.state();
    let disabled = state
        .pulls
        .get_mut(&id)
        .and_then(|pull| pull.auto_merge.take());
    if disabled.is_none() {
        return Err(Fail::unprocessable(
            "Can't disable auto-merge for this pull request.",
        ));
    }
    with_pull(id, Vec::new())
}

/// Merges a pull request with auto-merge if it has no unmet requirement.
pub(crate) fn merge_when_clean(ctx: &Ctx<'_>, id: Id) -> Result<(), Fail> {
    let pull = get_pull(ctx, id)?;
    let Some(auto) = pull.auto_merge.clone() else {
        return Ok(());
    };
    if !matches!(
        merge_state::compute(ctx, &pull)?.status,
        "CLEAN" | "UNSTABLE" | "HAS_HOOKS"
    ) {
        return Ok(());
    }
    if has_queue(ctx, &pull) {
        let mut state = ctx.state();
        if let Some(pull) = state.pulls.get_mut(&id) {
            pull.auto_merge = None;
        }
        state.queue.push(id);
        return Ok(());
    }
    let repo = ctx.repo(pull.repo)?;
    let wish = Wish {
        method: auto.method,
        headline: auto.headline,
        body: auto.body,
        email: auto.email,
    };
    carry_out(ctx, &pull, &repo, &wish)
}
