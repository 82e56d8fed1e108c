//! Deletes the local branch of a pull request (`-d`) in the current clone.

use forge::{SelectedPull, restore_command, restore_local_command};
use forge_core::{
    DeletedBranch, Repo, Result, Step, Warning, is_full_oid,
    model::{PrFields, PullRequest},
    text,
};
use forge_git::{Git, branch_problem, command_line, current_branch};

use super::shared::pull_with_title;
use crate::ctx::Ctx;

/// The state of the base branch on the forge. The local base branch is fast-forwarded if the base
/// branch has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseUpdate {
    /// The base branch has moved, because the pull request was just merged.
    Moved,
    /// The base branch has not moved.
    Same,
}

/// Returns true if the current repository stores the pull request and has its head branch checked
/// out. The forge does not delete a checked-out branch.
///
/// # Errors
///
/// Fails if the pull request cannot be read.
pub async fn is_on_head_branch(ctx: &Ctx, selected: &SelectedPull) -> Result<bool> {
    if !ctx.is_here(&selected.repo).await {
        return Ok(false);
    }
    let pull = selected.repo.pull(&selected.id, PrFields::NONE);
    let (branch, pull) = tokio::try_join!(current_branch(ctx.git()), pull)?;
    Ok(branch.as_ref() == Some(&pull.head_branch))
}

/// Returns true if the current clone has a local branch for the head branch of `pull`. `flag` is
/// `-R`. If it is set, the clone is ignored and the result is false.
///
/// # Errors
///
/// Fails if git cannot be run.
pub async fn has_branch(
    ctx: &Ctx,
    flag: Option<&str>,
    repo: &Repo,
    pull: &PullRequest,
) -> Result<bool> {
    if flag.is_some() || ctx.is_here(repo).await {
        return Ok(false);
    }
    Ok(local_branch_of(ctx, repo, pull).await?.is_some())
}

/// Returns the name and the commit of the local branch for the head branch of `pull`: the branch of
/// the same name, or else the current branch, if its upstream is the head branch.
async fn local_branch_of(
    ctx: &Ctx,
    repo: &Repo,
    pull: &PullRequest,
) -> Result<Option<(String, String)>> {
    // The branch names come from the forge, so git must not be able to read a name as an option.
    let (branch, base) = (&pull.head_branch, &pull.base_branch);
    let is_name = branch != base && branch_problem(branch).is_none();
    if is_name && let Some(tip) = commit(ctx.git(), &format!("refs/heads/{branch}")).await? {
        return Ok(Some((branch.clone(), tip)));
    }
    let Some(current) = current_branch(ctx.git()).await? else {
        return Ok(None);
    };
    if current == *base || !tracks_head(ctx, repo, pull, &current).await? {
        return Ok(None);
    }
    let tip = commit(ctx.git(), &format!("refs/heads/{current}")).await?;
    Ok(tip.map(|tip| (current, tip)))
}

/// Returns true if the upstream of a local branch is the head branch of `pull`, or the ref that the
/// forge keeps for `pull`, as after `pr checkout`.
async fn tracks_head(ctx: &Ctx, repo: &Repo, pull: &PullRequest, branch: &str) -> Result<bool> {
    let config = ctx.git_config().await?;
    let settings = config.branch(branch);
    let (Some(merge), Some(remote)) = (&settings.merge, &settings.remote) else {
        return Ok(false);
    };
    let place = if *merge == format!("refs/pull/{}/head", pull.id.key) {
        repo.id()
    } else if *merge != format!("refs/heads/{}", pull.head_branch) {
        return Ok(false);
    } else if let Some(head_repo) = &pull.head_repo {
        head_repo
    } else if pull.is_cross_repository() {
        return Ok(false);
    } else {
        repo.id()
    };
    let url = match config.remote(remote) {
        Some(remote) => &remote.url,
        None => remote,
    };
    let remote_repo = ctx.forges()?.remote_repo(ctx.place(), url).await;
    Ok(remote_repo.is_ok_and(|id| id.comparison_key() == place.comparison_key()))
}

/// Warns if the current branch has commits that `pull` lacks. The current branch is the one by
/// which the caller found `pull`.
pub async fn warn_if_diverged(ctx: &Ctx, repo: &Repo, pull: &PullRequest) {
    let Some(head) = pull.head_oid.as_deref() else {
        return;
    };
    // Two cases need no warning:
    // - The head is a patch. Its commit id proves nothing, because the author may claim any id.
    // - The current repository stores the pull request. The local branch is then the head.
    if pull.head_patch.is_some() || ctx.is_here(repo).await {
        return;
    }
    let git = ctx.git();
    let Ok(Some(tip)) = commit(git, "HEAD").await else {
        return;
    };
    if tip == head {
        return;
    }
    let name = pull_with_title(pull);
    if !contains(git, &tip, head).await.unwrap_or(false) {
        ctx.ui.caution(&format!(
            "Pull request {name} has diverged from local branch"
        ));
        return;
    }
    let warning = Warning::new(format!(
        "the local branch is ahead of pull request {name}: its newest commits are not merged"
    ));
    ctx.ui
        .warning(&warning.with_hint("push them first: git push"));
}

/// Switches from the head branch of `pull` to the base branch. The current repository must have
/// both branches.
///
/// # Errors
///
/// Fails if git cannot be run.
pub async fn switch_to_base(ctx: &Ctx, pull: &PullRequest) -> Result<bool> {
    let (branch, base) = (&pull.head_branch, &pull.base_branch);
    if branch_problem(base).is_some() {
        return Ok(false);
    }
    if let Err(why) = switch(ctx.git(), base, None).await? {
        let message = format!(
            "the local branch '{branch}' was not deleted, because it is checked out: {why}"
        );
        let hint = format!(
            "commit or stash your changes, switch to another branch, then run {}",
            delete_command(branch)
        );
        ctx.ui.warning(&Warning::new(message).with_hint(hint));
        return Ok(false);
    }
    Ok(true)
}

/// Prints the branches that the forge deleted, and the command that brings each back.
pub async fn report_deleted(ctx: &Ctx, repo: &Repo, steps: &[Step]) {
    let deleted: Vec<_> = steps
        .iter()
        .filter_map(|s| s.deleted_branch.as_ref())
        .collect();
    if deleted.is_empty() {
        return;
    }
    let remote = ctx.remote_of(repo, None).await;
    for branch in deleted {
        let command = restore_command(repo.id(), remote.as_deref(), branch);
        print_deleted(ctx, "branch", branch, &command);
    }
}

/// Prints a deleted branch with its commit.
fn print_deleted(ctx: &Ctx, what: &str, branch: &DeletedBranch, command: &str) {
    let name = text::one_line(&branch.name);
    let commit = match branch.commit.as_str() {
        "" => "an unknown commit",
        commit => commit,
    };
    ctx.ui.note(&format!(
        "Deleted {what} {name}, which was at {commit}; to bring it back: {command}"
    ));
}

/// Deletes the local branch of a finished pull request, after switching to the base branch if
/// needed. Keeps a branch with commits that the pull request lacks. Failures are only warnings,
/// because the pull request is already merged or closed.
///
/// `flag` is `-R`. If it is set, nothing is deleted.
///
/// # Errors
///
/// Fails if git cannot be run.
pub async fn delete_local_branch(
    ctx: &Ctx,
    flag: Option<&str>,
    repo: &Repo,
    pull: &PullRequest,
    base: BaseUpdate,
) -> Result<()> {
    // If the current repository stores the pull request, the forge itself deletes the branch, so
    // there is nothing left to delete.
    if flag.is_some() || ctx.is_here(repo).await {
        return Ok(());
    }
    // The commit of a patch is a claim of its author, and so is the name of a branch elsewhere.
    if pull.head_patch.is_some() && pull.is_cross_repository() {
        return Ok(());
    }
    let base_branch = pull.base_branch.as_str();
    if branch_problem(base_branch).is_some() {
        return Ok(());
    }
    let git = ctx.git();
    let Some((branch, tip)) = local_branch_of(ctx, repo, pull).await? else {
        return Ok(());
    };
    let branch = branch.as_str();
    let head = pull.head_oid.as_deref().unwrap_or("unknown");
    if !contains(git, head, &tip).await? {
        let warning = Warning::new(format!(
            "the local branch '{branch}' was not deleted: its commit {tip} is not in the pull \
             request, whose head is {head}"
        ));
        let hint = format!(
            "if you no longer need the branch: {}",
            delete_command(branch)
        );
        ctx.ui.warning(&warning.with_hint(hint));
        return Ok(());
    }
    let mut switched = "";
    if current_branch(git).await?.as_deref() == Some(branch) {
        let remote = ctx.remote_of(repo, None).await;
        if let Err(why) = switch(git, base_branch, remote.as_deref()).await? {
            warn_branch_kept(ctx, branch, &why, base_branch);
            return Ok(());
        }
        if let (BaseUpdate::Moved, Some(remote)) = (base, remote) {
            fast_forward_base(ctx, &remote, base_branch).await?;
        }
        switched = base_branch;
    }
    if let Err(why) = run(&git.for_write(), &["branch", "--quiet", "-D", "--", branch]).await? {
        warn_branch_kept(ctx, branch, &why, base_branch);
        return Ok(());
    }
    if ctx.ui.is_tty() {
        let then = match switched {
            "" => String::new(),
            base => format!(" and switched to branch {base}"),
        };
        ctx.ui
            .success(&format!("Deleted branch {branch} of this clone{then}"));
    }
    let deleted = DeletedBranch::new(branch, tip);
    let command = restore_local_command(&deleted);
    print_deleted(ctx, "local branch", &deleted, &command);
    Ok(())
}

fn warn_branch_kept(ctx: &Ctx, branch: &str, why: &str, base: &str) {
    let warning = Warning::new(format!(
        "the local branch '{branch}' was not deleted: {why}"
    ));
    // `git branch -D` alone would fail again, so the hint first names the cause.
    let hint = format!(
        "fix the cause, switch to another branch (such as '{base}'), then run {}",
        delete_command(branch)
    );
    ctx.ui.warning(&warning.with_hint(hint));
}

async fn switch(git: &Git, base: &str, remote: Option<&str>) -> Result<Result<(), String>> {
    let known = commit(git, &format!("refs/heads/{base}")).await?.is_some();
    let git = git.for_write();
    match remote {
        Some(remote) if !known => {
            let from = format!("{remote}/{base}");
            run(&git, &["switch", "--quiet", "-c", base, "--track", &from]).await
        }
        _ => run(&git, &["switch", "--quiet", "--no-guess", base]).await,
    }
}

async fn fast_forward_base(ctx: &Ctx, remote: &str, base: &str) -> Result<()> {
    let from = format!("refs/heads/{base}");
    let fetch = ["fetch", "--quiet", "--", remote, &from];
    // `git pull` is not used, because its merge would expose tokens to hooks and filters.
    let merge = ["merge", "--quiet", "--ff-only", "FETCH_HEAD"];
    let forwarded = match run(&ctx.git().for_remote().await?, &fetch).await? {
        Ok(()) => run(&ctx.git().for_write(), &merge).await?,
        failed => failed,
    };
    if let Err(why) = forwarded {
        let warning = Warning::new(format!("the local branch '{base}' was not updated: {why}"));
        let hint = command_line(["git", "pull", remote, base]);
        ctx.ui.warning(&warning.with_hint(hint));
    }
    Ok(())
}

async fn contains(git: &Git, head: &str, tip: &str) -> Result<bool> {
    if head == tip {
        return Ok(true);
    }
    // Only full commit ids are accepted: one of the two values comes from the forge, and git would
    // resolve a branch name to its tip.
    if ![head, tip].into_iter().all(is_full_oid) {
        return Ok(false);
    }
    let asked = git.run(["merge-base", "--is-ancestor", "--end-of-options", tip, head]);
    Ok(asked.await?.status == 0)
}

/// Resolves `name` to a commit id in hex.
pub(super) async fn commit(git: &Git, name: &str) -> Result<Option<String>> {
    git.commit_id(name).await
}

/// Runs git. If git fails, the inner result is git's message on one line.
async fn run(git: &Git, args: &[&str]) -> Result<Result<(), String>> {
    let output = git.run(args).await?;
    if output.status == 0 {
        return Ok(Ok(()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    Ok(Err(lines.join(" ")))
}
fn delete_command(branch: &str) -> String {
    command_line(["git", "branch", "-D", branch])
}
