//! Changes as a patch, from a file or from a local branch.

use std::{
    fs::File,
    io::{Read as _, stdin},
};

use forge_core::{
    Action, Capability, Error, Hint, Op, PrId, PrKey, Repo, Result, Warning,
    diff::mail_commit,
    model::{CreatePull, PrFields, PrState, PullRequest},
};
use forge_git::{PushTarget, command_line};

use super::{create::default_base, shared::has};
use crate::ctx::Ctx;

/// Maximum size of a patch; larger than the limit of tangled, and than the message of a tool. A
/// patch is in memory several times while it is applied.
pub(super) const MAX_PATCH_BYTES: usize = 24 * 1024 * 1024;

/// Reads `--patch`: a file, or standard input for `-`.
///
/// # Errors
///
/// `invalid_input` for a file that is unreadable, empty or too large.
pub(super) fn read(path: &str) -> Result<Vec<u8>> {
    let refused = |why: String| {
        Error::invalid("patch", why)
            .with_hint("make it with `git format-patch --stdout BASE..HEAD`")
    };
    let mut bytes = Vec::new();
    let (name, done) = if path == "-" {
        let done = stdin()
            .lock()
            .take(MAX_PATCH_BYTES as u64 + 1)
            .read_to_end(&mut bytes);
        ("standard input".to_owned(), done)
    } else {
        let done = File::open(path)
            .and_then(|f| f.take(MAX_PATCH_BYTES as u64 + 1).read_to_end(&mut bytes));
        (format!("patch file '{path}'"), done)
    };
    done.map_err(|e| refused(format!("{name} cannot be read: {e}")).with_source(e))?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(refused(format!("{name} is empty")));
    }
    if bytes.len() > MAX_PATCH_BYTES {
        return Err(refused(format!(
            "{name} is larger than {MAX_PATCH_BYTES} bytes"
        )));
    }
    Ok(bytes)
}

/// A patch with the commits of an unpushed branch.
pub(super) struct UnpushedPatch {
    pub(super) patch: Vec<u8>,
    /// The description of the commits, such as `main..feature, 2 commits`.
    pub(super) commits: String,
}

/// Returns true for a pull request from a branch of the base repository.
fn is_by_branch(req: &CreatePull) -> bool {
    req.patch.is_none() && req.edits.is_empty() && req.head.owner.is_none()
}

/// Returns the patch of a head branch that is only in the user's clone.
///
/// Returns `None` if the clone lacks the branch, or if the forge does not accept a patch as a
/// round. A round is one submitted version of a pull request.
///
/// # Errors
///
/// The errors of [`of_branch`]; also `invalid_input` if the clone lacks the commits of the pull
/// request on which the new one depends.
pub(super) async fn of_unpushed(
    ctx: &Ctx,
    repo: &Repo,
    req: &CreatePull,
) -> Result<Option<UnpushedPatch>> {
    let branch = &req.head.branch;
    // If the forge does not accept patches as rounds, the branch has to be pushed.
    let takes = has(repo, Capability::PrCreatePatch) && has(repo, Capability::PrResubmit);
    if !is_by_branch(req) || !takes {
        return Ok(None);
    }
    let head = format!("refs/heads/{branch}");
    if commit(ctx, &head).await.is_none() || ctx.remote_of(repo, None).await.is_none() {
        return Ok(None);
    }
    let below = match &req.depends_on {
        Some(below) => Some(repo.pull(below, PrFields::NONE).await?),
        None => None,
    };
    let base = match (&req.base, &below) {
        (Some(base), _) => base.clone(),
        (None, Some(below)) => below.base_branch.clone(),
        (None, None) => default_base(repo).await?,
    };
    if base == *branch {
        return Ok(None);
    }
    if let Some(below) = &below {
        let tip = match &below.head_oid {
            Some(oid) => commit(ctx, oid).await,
            None => None,
        };
        // If the clone lacks the commits of the pull request `below`, they cannot be excluded from
        // the patch.
        if tip.is_none() {
            let key = &below.id.key;
            return Err(Error::invalid(
                "head",
                format!("'{branch}' builds on {key}, and this clone lacks the commits of {key}"),
            )
            .with_hint(format!("fetch them, or push '{branch}' first")));
        }
    }
    let key = req.depends_on.as_ref().map(|below| &below.key);
    let patch = of_branch(ctx, repo, (base.as_str(), key), branch).await?;
    let count = patch
        .split(|b| *b == b'\n')
        .filter(|line| mail_commit(line).is_some())
        .count();
    let noun = if count == 1 { "commit" } else { "commits" };
    let commits = match key {
        Some(key) => format!("{branch} on top of {key}, {count} {noun}"),
        None => format!("{base}..{branch}, {count} {noun}"),
    };
    Ok(Some(UnpushedPatch { patch, commits }))
}

/// Returns a warning if the local branch of a new pull request has unpushed commits. The pull
/// request lacks these commits until they are pushed and, on tangled, until another round is
/// submitted.
pub(super) async fn unpushed_warning(
    ctx: &Ctx,
    repo: &Repo,
    req: &CreatePull,
    made: &PullRequest,
) -> Option<Warning> {
    if req.patch.is_some() || !req.edits.is_empty() {
        return None;
    }
    let branch = &req.head.branch;
    let pushed = made.head_oid.as_deref()?;
    let here = commit(ctx, &format!("refs/heads/{branch}")).await?;
    if here == pushed {
        return None;
    }
    let remote = ctx.remote_of(repo, req.head.owner.as_deref()).await?;
    let ahead = format!("{pushed}..{here}");
    let args = ["rev-list", "--count", "--end-of-options", &ahead];
    // If the clone lacks the head commit of the pull request, git fails, and nothing is reported.
    let count = ctx.git().run_ok(args).await.ok()?;
    let count: u64 = String::from_utf8(count).ok()?.trim().parse().ok()?;
    let (commits, are) = match count {
        0 => return None,
        1 => ("1 commit".to_owned(), "is"),
        more => (format!("{more} commits"), "are"),
    };
    let message = format!(
        "{commits} of '{branch}' in this clone {are} not pushed, and not in the pull request"
    );
    let hint = if has(repo, Capability::PrResubmit) {
        let resubmit = Action::op(Op::PrResubmit).on(branch);
        Hint::new("push, then submit another round").with_action(resubmit)
    } else {
        let push = PushTarget::choose(&remote, branch, None).command(branch, &[]);
        Hint::from(format!("push: {push}"))
    };
    Some(Warning::new(message).with_hint(hint))
}

/// Creates the patch of a local branch: its commits without those of the base branch and of the
/// pull request `below`.
///
/// # Errors
///
/// `invalid_input` if the clone lacks the branch or the base, if the branch has no new commits, or
/// if it has a merge commit with additional changes.
pub(super) async fn of_branch(
    ctx: &Ctx,
    repo: &Repo,
    (base_branch, below): (&str, Option<&PrKey>),
    branch: &str,
) -> Result<Vec<u8>> {
    let head = format!("refs/heads/{branch}");
    if commit(ctx, &head).await.is_none() {
        return Err(Error::invalid(
            "head",
            format!("there is no branch '{branch}' in this clone"),
        )
        .with_hint("name a branch of your clone, or pass the changes with --patch"));
    }
    let base = base(ctx, repo, base_branch, below).await?;
    if let Some(merge) = ctx.git().find_evil_merge(&base, &head).await?
        && takes_patches(repo).await?
    {
        let message = format!(
            "the merge commit {merge} of '{branch}' has changes of its own (a solved \
             conflict, an edit, or a third parent), and a patch leaves merge commits out"
        );
        return Err(Error::invalid("head", message).with_hint(format!(
            "rebase the branch (`{}`), commit the changes of the merge there, and submit the result",
            command_line(["git", "rebase", &base])
        )));
    }
    let args = forge_git::applied_mail_args(&base, &head);
    let patch = ctx.git().run_ok(&args).await?;
    if patch.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::invalid(
            "head",
            format!("'{branch}' has no commits that '{base_branch}' lacks"),
        )
        .with_hint("commit something first"));
    }
    Ok(patch)
}

/// Returns true if the rounds of this repository are patches. On Tangled 1.0, a round is a pair of
/// commits instead.
async fn takes_patches(repo: &Repo) -> Result<bool> {
    let here = repo.capabilities().await?;
    Ok(here
        .iter()
        .any(|(c, support)| *c == Capability::PrCreatePatch && support.is_yes()))
}

/// Returns the base commit of the changes.
async fn base(ctx: &Ctx, repo: &Repo, name: &str, below: Option<&PrKey>) -> Result<String> {
    if let Some(key) = below {
        let id = PrId {
            repo: repo.id().clone(),
            key: key.clone(),
        };
        let below = repo.pull(&id, PrFields::NONE).await?;
        if let (PrState::Open, Some(oid)) = (below.state, below.head_oid)
            && let Some(oid) = commit(ctx, &oid).await
        {
            return Ok(oid);
        }
    }
    let remote = ctx.remote_of(repo, None).await;
    let tracked = remote.map(|remote| format!("refs/remotes/{remote}/{name}"));
    for candidate in tracked.into_iter().chain([format!("refs/heads/{name}")]) {
        if let Some(oid) = commit(ctx, &candidate).await {
            return Ok(oid);
        }
    }
    Err(
        Error::invalid("base", format!("this clone has no branch '{name}'")).with_hint(format!(
            "fetch it: {}",
            command_line(["git", "fetch", "origin", name])
        )),
    )
}

async fn commit(ctx: &Ctx, rev: &str) -> Option<String> {
    ctx.git().commit_id(rev).await.ok()?
}
