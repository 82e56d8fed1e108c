//! Mutations of git refs.

use super::{Payload, repo_target, target};
use crate::{
    actions, git,
    graphql::{Args, Ctx, Fail, Node},
    state::{Id, Permission},
};

fn ref_target(ctx: &Ctx<'_>, input: &Args, mutation: &str) -> Result<(Id, String), Fail> {
    let Node::Ref(repo, name) = target(ctx, input, "refId")? else {
        return Err(Fail::not_found("Could not resolve to a Ref."));
    };
    ctx.require(repo, Permission::Write, mutation)?;
    Ok((repo, name))
}

pub(super) fn create(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = repo_target(ctx, input, "repositoryId")?;
    ctx.require(id, Permission::Write, "CreateRef")?;
    let repo = ctx.repo(id)?;
    let name = input.string("name").unwrap_or_default();
    let oid = input.str("oid").unwrap_or_default();
    if !name.starts_with("refs/heads/") && !name.starts_with("refs/tags/") {
        return Err(Fail::unprocessable(format!(
            "{name} is not a valid ref name."
        )));
    }
    if git::commit_of(&repo.git_dir, &name).is_some() {
        return Err(Fail::unprocessable(format!(
            "A ref named \"{name}\" already exists in the repository."
        )));
    }
    let missing = || Fail::unprocessable("Object does not exist");
    let oid = git::commit_of(&repo.git_dir, oid).ok_or_else(missing)?;
    let mut state = ctx.state();
    let before = actions::branches(&state, id);
    git::update_ref(&repo.git_dir, &name, &oid, None)?;
    actions::refs_moved(&mut state, id, &before, ctx.viewer);
    Ok(vec![("ref", Node::Ref(id, name).into())])
}

pub(super) fn update(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (id, name) = ref_target(ctx, input, "UpdateRef")?;
    let repo = ctx.repo(id)?;
    let missing = || Fail::unprocessable("Object does not exist");
    let oid = input.str("oid").unwrap_or_default();
    let oid = git::commit_of(&repo.git_dir, oid).ok_or_else(missing)?;
    let old = git::commit_of(&repo.git_dir, &name).ok_or_else(missing)?;
    if input.bool("force") != Some(true) && !git::is_ancestor(&repo.git_dir, &old, &oid) {
        return Err(Fail::unprocessable("Update is not a fast forward"));
    }
    let mut state = ctx.state();
    let before = actions::branches(&state, id);
    git::update_ref(&repo.git_dir, &name, &oid, None)?;
    actions::refs_moved(&mut state, id, &before, ctx.viewer);
    Ok(vec![("ref", Node::Ref(id, name).into())])
}

pub(super) fn delete(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (id, name) = ref_target(ctx, input, "DeleteRef")?;
    let repo = ctx.repo(id)?;
    if git::commit_of(&repo.git_dir, &name).is_none() {
        return Err(Fail::unprocessable("Reference does not exist"));
    }
    let mut state = ctx.state();
    let before = actions::branches(&state, id);
    git::delete_ref(&repo.git_dir, &name)?;
    actions::refs_moved(&mut state, id, &before, ctx.viewer);
    Ok(Vec::new())
}
