//! Mutations that update a head branch from its base, or revert a merge.

use super::{
    Payload,
    pull::{blank, open, with_pull},
    pull_target,
};
use crate::{
    actions, git,
    graphql::{Args, Ctx, Fail, Node},
    resolve::{get_pull, mail},
    state::{Permission, Pull, PullState},
};

pub(super) fn viewer_person(ctx: &Ctx<'_>) -> git::Person {
    let mut state = ctx.state();
    let date = state.tick();
    let login = state.login(ctx.viewer).to_owned();
    git::Person {
        email: mail(&login),
        name: login,
        date,
    }
}

pub(super) fn update(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let pull = get_pull(ctx, id)?;
    let head_repo = pull
        .head_repo
        .ok_or_else(|| Fail::unprocessable("Head repository was deleted"))?;
    if ctx.permission(head_repo) < Some(Permission::Write) && !pull.maintainer_can_modify {
        ctx.require(head_repo, Permission::Write, "UpdatePullRequestBranch")?;
    }
    if let Some(expected) = input.str("expectedHeadOid")
        && expected != pull.head_oid
    {
        return Err(Fail::unprocessable(
            "expected head sha didn’t match current head ref.",
        ));
    }
    let dir = ctx.repo(pull.repo)?.git_dir;
    if git::is_ancestor(&dir, &pull.base_oid, &pull.head_oid) {
        return Err(Fail::unprocessable(
            "There are no new commits on the base branch.",
        ));
    }
    let conflict = || Fail::unprocessable("merge conflict between base and head");
    let person = viewer_person(ctx);
    let commit = if input.str("updateMethod") == Some("REBASE") {
        let from = git::merge_base(&dir, &pull.base_oid, &pull.head_oid).ok_or_else(conflict)?;
        git::rebase(&dir, &from, &pull.head_oid, &pull.base_oid, &person)?.ok_or_else(conflict)?
    } else {
        let tree = git::merge_tree(&dir, &pull.head_oid, &pull.base_oid)?.ok_or_else(conflict)?;
        let message = format!(
            "Merge branch '{}' into {}",
            pull.base_branch, pull.head_branch
        );
        let parents = [pull.head_oid.as_str(), pull.base_oid.as_str()];
        git::commit_tree(&dir, &tree, &parents, &message, &person, &person)?
    };
    let head_dir = ctx.repo(head_repo)?.git_dir;
    let mut state = ctx.state();
    let before = actions::branches(&state, head_repo);
    let name = format!("refs/heads/{}", pull.head_branch);
    if head_repo == pull.repo {
        git::update_ref(&head_dir, &name, &commit, None)?;
    } else {
        git::update_ref(&dir, "refs/forge/outgoing", &commit, None)?;
        git::fetch(&head_dir, &dir, "refs/forge/outgoing", &name)?;
        git::delete_ref(&dir, "refs/forge/outgoing")?;
    }
    actions::refs_moved(&mut state, head_repo, &before, ctx.viewer);
    drop(state);
    with_pull(id, Vec::new())
}

pub(super) fn revert(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let pull = get_pull(ctx, id)?;
    ctx.require(pull.repo, Permission::Write, "RevertPullRequest")?;
    let merged = match &pull.merge {
        Some(merge) if pull.state == PullState::Merged => merge.commit.clone(),
        _ => return Err(Fail::unprocessable("Pull request is not merged")),
    };
    let repo = ctx.repo(pull.repo)?;
    let dir = &repo.git_dir;
    let missing = || Fail::unprocessable("Could not revert the pull request");
    let tip = git::branch(dir, &pull.base_branch).ok_or_else(missing)?;
    let tree = git::merge_tree_from(dir, &merged, &tip, &pull.base_oid)?.ok_or_else(missing)?;
    let title = input
        .string("title")
        .unwrap_or_else(|| format!("Revert \"{}\"", pull.title));
    let person = viewer_person(ctx);
    let message = format!("{title}\n\nThis reverts commit {merged}.");
    let commit = git::commit_tree(dir, &tree, &[&tip], &message, &person, &person)?;
    let branch = free_branch(dir, &format!("revert-{}-{}", pull.number, pull.head_branch));
    git::update_ref(dir, &format!("refs/heads/{branch}"), &commit, None)?;
    let body = input.string("body").unwrap_or_else(|| {
        format!(
            "Reverts {}#{}",
            ctx.state().full_name(pull.repo),
            pull.number
        )
    });
    let reverting = Pull {
        title,
        body,
        draft: input.bool("draft").unwrap_or(false),
        ..blank(ctx.viewer, pull.repo, &pull.base_branch, &repo, &branch)
    };
    let new = open(ctx, reverting, &repo, &repo)?;
    with_pull(id, vec![("revertPullRequest", Node::Pull(new).into())])
}

/// Returns an unused branch name: `name`, or `name` with the lowest number that makes it unused.
fn free_branch(dir: &std::path::Path, name: &str) -> String {
    let mut branch = name.to_owned();
    let mut number = 1;
    while git::branch(dir, &branch).is_some() {
        number += 1;
        branch = format!("{name}-{number}");
    }
    branch
}
