//! Checks out the head of a pull request in the current work tree or in a new one.

use std::{ffi::OsStr, path::Path};

use forge_core::{Changed, Error, ErrorKind, Precondition, Result, text::one_line};
use forge_git::{Git, command_line, current_branch};

use super::clone_branch::commit;
use crate::ctx::Ctx;

/// The head of a pull request, whose commits are in the clone.
pub(super) struct CheckoutHead {
    /// The id of the head commit, in hex.
    pub tip: String,
    /// Settings of a new local branch: `branch.<name>.remote`, `.merge`, and `.pushRemote`.
    pub upstream: Option<(String, String, Option<String>)>,
    /// Upstreams of the head: a remote or its URL, and a full ref. A local branch with such an
    /// upstream belongs to this head.
    pub upstreams: Vec<(String, String)>,
}

pub(super) struct CheckoutTarget<'a> {
    /// The local branch; `None` for a detached head.
    pub branch: Option<&'a str>,
    /// True if the user chose the local branch's name, false if the pull request's author did.
    pub is_named: bool,
    /// The path of a new work tree; `None` for the current work tree.
    pub worktree: Option<&'a Path>,
    /// True if the checkout may discard commits of an existing local branch.
    pub force: bool,
    /// True if submodules are also updated.
    pub submodules: bool,
}

/// Checks out the head in the current work tree or in a new one. Refuses if commits or changes of
/// the user would be lost.
///
/// # Errors
///
/// `conflict` for a local branch with other commits; `precondition_failed` for a branch with
/// another upstream, unless the user named it; `git` if changes are in the way.
pub(super) async fn place(
    ctx: &Ctx,
    head: &CheckoutHead,
    target: &CheckoutTarget<'_>,
) -> Result<()> {
    let CheckoutTarget {
        branch,
        is_named,
        worktree,
        force,
        submodules,
    } = *target;
    let git = ctx.git().for_write();
    let tip = head.tip.as_str();
    let local = match branch {
        Some(branch) => BranchRelation::of(&git, branch, tip).await?,
        None => BranchRelation::New,
    };
    if let (Some(branch), BranchRelation::Diverged(at), false) = (branch, &local, force) {
        return Err(diverged(branch, at, tip));
    }
    if let (Some(branch), BranchRelation::Behind, false) = (branch, &local, force || is_named)
        && let Some(other) = find_other_upstream(ctx, branch, head).await?
    {
        return Err(follows_other(branch, &other));
    }
    let stays = local == BranchRelation::HasHead && !force;
    let is_current = branch.is_some() && current_branch(&git).await?.as_deref() == branch;
    let path = worktree.map(Path::as_os_str);
    let (words, at): (Vec<&str>, _) = match (path, branch) {
        (Some(_), None) => (vec!["worktree", "add", "--quiet", "--detach"], Some(tip)),
        (Some(_), Some(name)) if stays => (vec!["worktree", "add", "--quiet"], Some(name)),
        (Some(_), Some(name)) => (
            vec!["worktree", "add", "--quiet", "--no-track", "-B", name],
            Some(tip),
        ),
        (None, None) => (vec!["switch", "--quiet", "--detach"], Some(tip)),
        (None, Some(_)) if stays && is_current => (Vec::new(), None),
        (None, Some(name)) if stays => (vec!["switch", "--quiet", "--no-guess"], Some(name)),
        (None, Some(_)) if is_current && local == BranchRelation::Behind => {
            (vec!["merge", "--quiet", "--ff-only"], Some(tip))
        }
        // `reset --keep` keeps uncommitted changes. If this is impossible, git fails and the branch
        // does not move.
        (None, Some(_)) if is_current => (vec!["reset", "--quiet", "--keep"], Some(tip)),
        (None, Some(name)) => (
            vec!["switch", "--quiet", "--no-track", "-C", name],
            Some(tip),
        ),
    };
    let words = words.into_iter().map(OsStr::new);
    let words: Vec<&OsStr> = words.chain(path).chain(at.map(OsStr::new)).collect();
    if !words.is_empty() {
        git.run_ok(words).await.map_err(with_recovery)?;
    }
    if let (Some(branch), Some((remote, merge, push))) = (branch, &head.upstream) {
        follow(ctx, &git, branch, remote, merge, push.as_deref()).await?;
    }
    if submodules {
        let within = match worktree {
            Some(path) => git.in_dir(git.dir().join(path)),
            None => git,
        };
        within
            .run_ok(["submodule", "--quiet", "sync", "--recursive"])
            .await?;
        let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
        // This does not use `for_remote`, whose environment contains tokens: a submodule's
        // configuration could name a program, which would read these tokens.
        within.run_ok(update).await?;
    }
    Ok(())
}

/// Adds a hint if git failed because of another work tree or an existing path.
fn with_recovery(e: Error) -> Error {
    let message = e.message();
    // Before 2.42, git says `is already checked out at`.
    let is_elsewhere = ["already used by worktree", "already checked out at"];
    let hint = if is_elsewhere.iter().any(|part| message.contains(part)) {
        "change to that work tree, or pass `--branch NAME` for another local branch, or `--detach` \
         for none"
    } else if message.contains("already exists") {
        "name another path with `--worktree`"
    } else {
        return e;
    };
    e.with_hint(hint)
}

/// Relation of the local branch to the head.
#[derive(Debug, PartialEq, Eq)]
enum BranchRelation {
    /// No branch has the name.
    New,
    /// The head has all commits of the branch, and more.
    Behind,
    /// The branch has all commits of the head.
    HasHead,
    /// Branch and head each have commits that the other lacks. Contains the tip of the branch.
    Diverged(String),
}

impl BranchRelation {
    async fn of(git: &Git, branch: &str, tip: &str) -> Result<Self> {
        let Some(at) = commit(git, &format!("refs/heads/{branch}")).await? else {
            return Ok(Self::New);
        };
        if git.contains(&at, tip).await? {
            return Ok(Self::HasHead);
        }
        Ok(match git.contains(tip, &at).await? {
            true => Self::Behind,
            false => Self::Diverged(at),
        })
    }
}

/// Gives `branch` the upstream of the head, unless `branch` already has an upstream.
async fn follow(
    ctx: &Ctx,
    git: &Git,
    branch: &str,
    remote: &str,
    merge: &str,
    push: Option<&str>,
) -> Result<()> {
    if ctx.git_config().await?.branch(branch).merge.is_some() {
        return Ok(());
    }
    let settings = [
        ("remote", Some(remote)),
        ("merge", Some(merge)),
        ("pushRemote", push),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            let key = format!("branch.{branch}.{key}");
            git.run_ok(["config", "--local", &key, value]).await?;
        }
    }
    Ok(())
}

/// Returns the upstream of a local branch, if this is not one of the head's upstreams.
async fn find_other_upstream(
    ctx: &Ctx,
    branch: &str,
    head: &CheckoutHead,
) -> Result<Option<String>> {
    let config = ctx.git_config().await?;
    let settings = config.branch(branch);
    let (Some(remote), Some(merge)) = (settings.remote, settings.merge) else {
        return Ok(None);
    };
    let url_of = |name: &str| {
        let remote = config.remote(name);
        remote.map_or_else(|| name.to_owned(), |remote| remote.url.clone())
    };
    let is_same = |(of, at): &(String, String)| *at == merge && url_of(of) == url_of(&remote);
    Ok((!head.upstreams.iter().any(is_same)).then(|| format!("{merge} of {remote}")))
}

fn follows_other(branch: &str, other: &str) -> Error {
    let branch = one_line(branch);
    let message = format!(
        "the local branch '{branch}' follows {}, which is not the head of the pull request; \
         nothing was changed",
        one_line(other)
    );
    Error::precondition(Precondition::Rule, message).with_hint(
        "check it out under another name with `--branch NAME`, or without a branch with \
         `--detach`; `--force` moves this branch",
    )
}

fn diverged(branch: &str, at: &str, tip: &str) -> Error {
    let kind = ErrorKind::Conflict {
        what: Changed::Ref,
        expected: tip.to_owned(),
        actual: at.to_owned(),
    };
    let message = format!(
        "the local branch '{}' is at {at}, which is not in the head {tip}; nothing was changed",
        one_line(branch)
    );
    Error::new(kind, message).with_hint(format!(
        "check it out under another name with `--branch`, or give up those commits with `--force`; \
         `{}` shows them",
        command_line(["git", "log", &format!("{tip}..{branch}")])
    ))
}
