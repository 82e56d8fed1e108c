//! The mutation that commits whole files to a branch.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{Payload, branch::viewer_person, target};
use crate::{
    actions, git,
    graphql::{Args, Ctx, Fail, Node},
    state::{Id, Permission},
};

pub(super) fn create(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let wanted = input.object("branch").unwrap_or_default();
    let (id, name) = branch(ctx, &wanted)?;
    ctx.require(id, Permission::Write, "CreateCommitOnBranch")?;
    let dir = ctx.repo(id)?.git_dir;
    let tip = git::commit_of(&dir, &name).ok_or_else(|| no_branch(&name))?;
    if input.str("expectedHeadOid") != Some(&tip) {
        return Err(Fail::new(
            "STALE_DATA",
            format!("Expected branch to point to \"{tip}\" but it did not. Pull and try again."),
        ));
    }
    let message = input.object("message").unwrap_or_default();
    let headline = message.string("headline").unwrap_or_default();
    if headline.trim().is_empty() {
        return Err(Fail::unprocessable(
            "A commit message headline is required.",
        ));
    }
    let message = match message.str("body").unwrap_or_default() {
        "" => headline,
        body => format!("{headline}\n\n{body}"),
    };
    let changes = input.object("fileChanges").unwrap_or_default();
    let mut writes = Vec::new();
    for addition in changes.objects("additions") {
        let path = path_of(&addition)?;
        let content = STANDARD
            .decode(addition.str("contents").unwrap_or_default())
            .map_err(|_| Fail::unprocessable("The contents are not valid Base64."))?;
        writes.push((path, content));
    }
    let mut deletes = Vec::new();
    for deletion in changes.objects("deletions") {
        let path = path_of(&deletion)?;
        if git::tree_entry(&dir, &tip, &path).is_none() {
            return Err(Fail::unprocessable(format!(
                "A path was requested for deletion which does not exist as of commit oid `{tip}`: {path}"
            )));
        }
        deletes.push(path);
    }
    let tree = git::edit_tree(&dir, &tip, &writes, &deletes)?;
    let author = viewer_person(ctx);
    let github = git::Person {
        name: "GitHub".to_owned(),
        email: "noreply@github.com".to_owned(),
        date: author.date.clone(),
    };
    let commit = git::commit_tree(&dir, &tree, &[&tip], &message, &author, &github)?;
    let mut state = ctx.state();
    let before = actions::branches(&state, id);
    git::update_ref(&dir, &name, &commit, Some(&tip))?;
    actions::refs_moved(&mut state, id, &before, ctx.viewer);
    Ok(vec![
        ("commit", Node::Commit(id, commit).into()),
        ("ref", Node::Ref(id, name).into()),
    ])
}

/// Returns the repository and the full ref name of a branch. The input has the branch's id, or the
/// names of the repository and the branch.
fn branch(ctx: &Ctx<'_>, wanted: &Args) -> Result<(Id, String), Fail> {
    if wanted.has("id") {
        return match target(ctx, wanted, "id")? {
            Node::Ref(repo, name) if name.starts_with("refs/heads/") => Ok((repo, name)),
            _ => Err(Fail::not_found("Could not resolve to a Ref.")),
        };
    }
    let full_name = wanted.str("repositoryNameWithOwner").unwrap_or_default();
    let name = wanted.str("branchName").unwrap_or_default();
    let (owner, repo) = full_name.split_once('/').unwrap_or_default();
    let found = ctx.state().repo(owner, repo).map(|it| it.id);
    let id = found.filter(|id| ctx.may_see(*id)).ok_or_else(|| {
        Fail::not_found(format!(
            "Could not resolve to a Repository with the name '{full_name}'."
        ))
    })?;
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    if name.is_empty() {
        return Err(no_branch(name));
    }
    Ok((id, format!("refs/heads/{name}")))
}

fn no_branch(name: &str) -> Fail {
    Fail::not_found(format!("No branch named \"{name}\" was found."))
}

fn path_of(change: &Args) -> Result<String, Fail> {
    let path = change.string("path").unwrap_or_default();
    let bad = |part: &str| part.is_empty() || matches!(part, "." | ".." | ".git");
    if path.split('/').any(bad) {
        return Err(Fail::unprocessable(format!("Path is invalid: {path}")));
    }
    Ok(path)
}
