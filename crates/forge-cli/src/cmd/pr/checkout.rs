//! `forge pr checkout`.

use std::path::PathBuf;

use clap::Args;
use forge::SelectedPull;
use forge_core::{
    Changed, Error, ErrorKind, Noun, PageReq, Precondition, Repo, Result,
    model::{DiffFormat, DiffReq, PrFields, PrState, PullQuery, PullRequest, Rounds},
    text::one_line,
};
use forge_git::{ApplyResult, Git, Mail, RawCommit, branch_problem};
use futures::TryStreamExt as _;

use super::{
    checkout_place::{CheckoutHead, CheckoutTarget, place},
    clone_branch::commit,
    diff::addressed_round,
    patch_source::MAX_PATCH_BYTES,
    shared::pull_with_title,
};
use crate::{
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::prompt,
};

/// `forge pr checkout`
#[derive(Args, Debug, Default)]
pub struct CheckoutArgs {
    /// Number, URL or branch [default, on a terminal: choose one of the newest]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// The name of the local branch [default: the name of the head branch]
    #[arg(short, long, value_name = "name", conflicts_with = "detach")]
    pub branch: Option<String>,
    /// Check the head out without a branch
    #[arg(long)]
    pub detach: bool,
    /// Set an existing local branch to the head even if it has other commits
    #[arg(short, long)]
    pub force: bool,
    /// Also update the submodules, recursively
    #[arg(long)]
    pub recurse_submodules: bool,
    /// Check the head out in a new work tree at this path; the current work tree does not change
    #[arg(long, value_name = "path")]
    pub worktree: Option<PathBuf>,
    /// Check out this round instead of the newest; the first round is 0
    #[arg(long, value_name = "number")]
    pub round: Option<usize>,
}

/// Checks out a pull request.
///
/// # Errors
///
/// `precondition_failed` outside a clone of the repository, for a deleted head, and if local
/// commits or changes are in the way.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &CheckoutArgs) -> Result<Exit> {
    let fields = PrFields::MAINTAINER_ACCESS;
    let mut selected = match &args.selector {
        Some(named) => {
            select::pull_to_read(ctx, repo, Some(named), Unnamed::NotWithRepo, fields).await?
        }
        None => choose(ctx, repo).await?,
    };
    let round = match (args.round, &args.selector) {
        (None, Some(text)) => addressed_round(ctx, text)?,
        (round, _) => round,
    };
    let pull = selected.view(fields).await?;
    let is_here = ctx.is_here(&selected.repo).await;
    let remote = match is_here {
        true => None,
        false => Some(remote_of(ctx, &selected.repo).await?),
    };
    let head = match (&pull.head_ref, &remote) {
        (Some(_), _) if round.is_some() => {
            return Err(Error::invalid(
                "round",
                format!("{} has no rounds: its head is its branch", pull.id),
            )
            .with_hint("omit the round to check out the head"));
        }
        (Some(_), None) => in_this_repository(ctx, &pull).await?,
        (Some(head_ref), Some(remote)) => {
            fetched(ctx, &selected.repo, &pull, remote, head_ref).await?
        }
        (None, remote) => from_patch(ctx, &selected, &pull, remote.as_deref(), round).await?,
    };
    let branch = match args.detach {
        true => None,
        false => Some(branch_name(ctx, &pull, args.branch.as_deref()).await?),
    };
    let target = CheckoutTarget {
        branch: branch.as_deref(),
        is_named: args.branch.is_some(),
        worktree: args.worktree.as_deref(),
        force: args.force,
        submodules: args.recurse_submodules,
    };
    place(ctx, &head, &target).await?;
    let what = branch.map_or_else(
        || format!("commit {}", head.tip),
        |branch| format!("branch {branch}"),
    );
    let at = args.worktree.as_ref().map_or_else(String::new, |path| {
        format!(" in {}", one_line(&path.to_string_lossy()))
    });
    let name = pull_with_title(&pull);
    ctx.ui.success(&format!("Checked out {what}{at}: {name}"));
    Ok(Exit::Ok)
}

/// Maximum number of pull requests to choose from, as in gh.
const MAX_CHOICES: usize = 10;

async fn choose(ctx: &Ctx, repo: Option<&str>) -> Result<SelectedPull> {
    if !ctx.ui.is_tty() {
        return Err(Error::invalid(
            "pull_request",
            "pull request number, URL, or branch required when not running interactively",
        )
        .with_hint("name the pull request: a number, a URL or a branch"));
    }
    let repo = ctx.repo(repo).await?;
    let page = repo
        .pulls(&PullQuery::default(), PageReq::first(MAX_CHOICES))
        .await?;
    let lines: Vec<String> = page
        .items
        .iter()
        .map(|pull| {
            let title = one_line(&pull.title);
            // The menu counts a tab as one column, and then redraws long rows wrongly.
            format!("{}  {title} [{}]", pull.id.key, one_line(&pull.head_branch))
        })
        .collect();
    if lines.is_empty() {
        return Err(Error::not_found(
            Noun::PullRequest,
            format!("{} has no open pull request", repo.id()),
        )
        .with_hint("name a closed pull request by its number"));
    }
    let rows: Vec<&str> = lines.iter().map(String::as_str).collect();
    let chosen = prompt::choose("Select a pull request", &rows)?;
    match page.items.into_iter().nth(chosen) {
        Some(pull) => Ok(SelectedPull::by_key(repo, pull.id.key)),
        None => Err(Error::invalid("pull_request", "nothing was chosen")),
    }
}

async fn remote_of(ctx: &Ctx, repo: &Repo) -> Result<String> {
    match ctx.remote_of(repo, None).await {
        Some(remote) => Ok(remote),
        None => Err(Error::invalid(
            "repo",
            format!("this directory is not a clone of {}", repo.id()),
        )
        .with_hint("run it in a clone of the repository, or `git clone` it first")),
    }
}

/// Returns the name of the local branch. If a fork's branch has the name of the base branch, the
/// owner's name is prepended, as in gh. If the name already means something else to git, such as
/// `origin/main`, the branch is named after the number.
async fn branch_name(ctx: &Ctx, pull: &PullRequest, wanted: Option<&str>) -> Result<String> {
    if let Some(wanted) = wanted {
        check_branch_name(wanted)?;
        return Ok(wanted.to_owned());
    }
    let by_number = format!("pull-{}", pull.id.key);
    let owner = pull.fork_owner().filter(|owner| !owner.is_empty());
    let is_base = pull.head_branch == pull.base_branch || pull.head_is_default == Some(true);
    let name = match owner {
        Some(owner) if is_base => format!("{owner}/{}", pull.head_branch),
        None if is_base || pull.head_branch.is_empty() => by_number.clone(),
        _ => pull.head_branch.clone(),
    };
    let remotes = &ctx.git_config().await?.remotes;
    for name in [&name, &by_number] {
        check_branch_name(name)?;
        let Some(meaning) = ctx.git().find_taken_name(name, remotes).await? else {
            return Ok(name.clone());
        };
        ctx.ui.note(&format!(
            "no local branch is named '{}': to git, this is already {}",
            one_line(name),
            one_line(&meaning)
        ));
    }
    let message = format!(
        "the names '{}' and '{by_number}' already mean something else to git",
        one_line(&name)
    );
    Err(Error::invalid("branch", message).with_hint("name the local branch with `--branch`"))
}

fn check_branch_name(name: &str) -> Result<()> {
    match branch_problem(name) {
        None => Ok(()),
        Some(problem) => Err(Error::invalid(
            "branch",
            format!("'{}' is not a branch name: {problem}", one_line(name)),
        )
        .with_hint("name the local branch with `--branch`")),
    }
}

/// Returns the head of `pull`, if the current repository itself stores its pull requests.
async fn in_this_repository(ctx: &Ctx, pull: &PullRequest) -> Result<CheckoutHead> {
    let git = ctx.git();
    let branch = format!("refs/heads/{}", pull.head_branch);
    let mut found = commit(git, &branch).await?;
    // In a clone that fetched the pull request, the remote-tracking branch may be newer than the
    // recorded head.
    if found.is_none()
        && pull.state == PrState::Open
        && let Some(oid) = &pull.head_oid
        && let Some(tracking) = git.tracking_branch(&pull.head_branch, oid).await?
    {
        found = commit(git, &tracking).await?;
    }
    if found.is_none()
        && let Some(oid) = &pull.head_oid
    {
        found = commit(git, oid).await?;
    }
    let tip = found.ok_or_else(|| head_gone_error(pull))?;
    Ok(CheckoutHead {
        tip,
        upstream: None,
        upstreams: Vec::new(),
    })
}

/// Fetches the head commit: from the head branch if it still exists, otherwise from the ref that
/// the forge keeps for the pull request.
async fn fetched(
    ctx: &Ctx,
    repo: &Repo,
    pull: &PullRequest,
    remote: &str,
    head_ref: &str,
) -> Result<CheckoutHead> {
    let head = pull.head_oid.clone().ok_or_else(|| head_gone_error(pull))?;
    let branch = format!("refs/heads/{}", pull.head_branch);
    let owner = pull.head_repo.as_ref().and_then(|r| r.owner_and_name());
    let of_branch = match (owner, branch_problem(&pull.head_branch)) {
        (_, Some(_)) => None,
        // A branch of the same name in the base repository is unrelated to a deleted fork.
        (None, None) => (!pull.is_cross_repository()).then(|| remote.to_owned()),
        (Some((owner, _)), None) => ctx.remote_of(repo, Some(owner)).await,
    };
    let git = ctx.git();
    let base_url = ctx
        .git_config()
        .await?
        .remote(remote)
        .map(|r| r.url.clone());
    let fork = match (owner, base_url) {
        (Some(fork), Some(url)) => fork_url(&url, repo, fork),
        _ => None,
    };
    let mut upstreams = vec![(remote.to_owned(), head_ref.to_owned())];
    // If the owner of the head is unknown, the head may be in a deleted fork. A branch of the same
    // name in the base repository may then be unrelated.
    if owner.is_some() {
        let of_head = of_branch.iter().chain(&fork);
        upstreams.extend(of_head.map(|remote| (remote.clone(), branch.clone())));
    }
    if let Some(remote) = of_branch {
        let tracking = format!("refs/remotes/{remote}/{}", pull.head_branch);
        let spec = format!("+{branch}:{tracking}");
        let fetch = ["fetch", "--quiet", "--no-tags", "--", &remote, &spec];
        let done = git.for_remote().await?.run(fetch).await?;
        if done.status == 0 && commit(git, &tracking).await?.as_ref() == Some(&head) {
            upstreams.push((remote.clone(), branch.clone()));
            return Ok(CheckoutHead {
                tip: head,
                upstream: Some((remote, branch, None)),
                upstreams,
            });
        }
    }
    git.fetch_objects(remote, &[head_ref]).await?;
    // The forge may report any text as the head commit, so only a full commit id is accepted.
    if commit(git, &head).await?.as_ref() != Some(&head) {
        let kind = ErrorKind::Conflict {
            what: Changed::Head,
            expected: head.clone(),
            actual: String::new(),
        };
        let message = format!("the head of {} moved from {head} during the fetch", pull.id);
        return Err(Error::new(kind, message).with_hint("try again"));
    }
    let upstream = match fork.filter(|_| pull.maintainer_can_modify == Some(true)) {
        // The fork's owner allows maintainers to push, so pulls and pushes use the fork's branch.
        Some(fork) => (fork.clone(), branch, Some(fork)),
        // As in gh, a push goes to the base repository, to a branch with the local branch's name.
        None => {
            let remote = remote.to_owned();
            (remote.clone(), head_ref.to_owned(), Some(remote))
        }
    };
    Ok(CheckoutHead {
        tip: head,
        upstream: Some(upstream),
        upstreams,
    })
}

/// Derives the URL of a fork from the URL of the base repository's remote. Returns `None` if that
/// URL does not end in the repository's name.
fn fork_url(base: &str, repo: &Repo, (owner, name): (&str, &str)) -> Option<String> {
    let (base_owner, base_name) = repo.id().owner_and_name()?;
    let (stem, suffix) = match base.strip_suffix(".git") {
        Some(stem) => (stem, ".git"),
        None => (base, ""),
    };
    let path = format!("{base_owner}/{base_name}");
    let at = stem.len().checked_sub(path.len())?;
    let (before, after) = (stem.get(..at)?, stem.get(at..)?);
    let is_path = after.eq_ignore_ascii_case(&path) && before.ends_with(['/', ':']);
    is_path.then(|| format!("{before}{owner}/{name}{suffix}"))
}

/// Creates commits on the base branch from the patch of a round (one submitted version of a pull
/// request on tangled).
///
/// The author of each commit is also its committer, so that the round has the same commit ids in
/// every clone.
async fn from_patch(
    ctx: &Ctx,
    selected: &SelectedPull,
    pull: &PullRequest,
    remote: Option<&str>,
    round: Option<usize>,
) -> Result<CheckoutHead> {
    let mut req = DiffReq::default();
    req.format = DiffFormat::Patch;
    req.rounds = round.map(|round| Rounds::new(Some(round), None));
    let diff = selected.repo.diff(&selected.id, &req).await?;
    diff.warnings.iter().for_each(|w| ctx.ui.warning(w));
    let mut body = diff.body;
    let mut patch = Vec::new();
    while let Some(bytes) = body.try_next().await? {
        patch.extend_from_slice(&bytes);
        if patch.len() > MAX_PATCH_BYTES {
            let why = format!(
                "the patch of {} is larger than {MAX_PATCH_BYTES} bytes",
                pull.id
            );
            return Err(
                Error::invalid("patch", why).with_hint("read it with `forge pr diff --patch`")
            );
        }
    }
    let git = ctx.git();
    if branch_problem(&pull.base_branch).is_some() {
        return Err(head_gone_error(pull));
    }
    if let Some(remote) = remote {
        let base = format!("refs/heads/{}", pull.base_branch);
        let spec = format!("+{base}:refs/remotes/{remote}/{}", pull.base_branch);
        let fetch = ["fetch", "--quiet", "--no-tags", "--", remote, &spec];
        git.for_remote().await?.run_ok(fetch).await?;
    }
    let base = match remote {
        Some(remote) => format!("refs/remotes/{remote}/{}", pull.base_branch),
        None => format!("refs/heads/{}", pull.base_branch),
    };
    let base = commit(git, &base)
        .await?
        .ok_or_else(|| head_gone_error(pull))?;
    let mails = git.mails(&patch).await?.unwrap_or_default();
    if mails.is_empty() {
        let why = format!("the patch of {} has no commit in it", pull.id);
        return Err(Error::invalid("patch", why)
            .with_hint("read it with `forge pr diff`, and apply it with `git apply`"));
    }
    let mut tip = base;
    let git = git.for_write().for_diffs().await?;
    for mail in &mails {
        tip = commit_mail(&git, &tip, mail, pull).await?;
    }
    Ok(CheckoutHead {
        tip,
        upstream: None,
        upstreams: Vec::new(),
    })
}

async fn commit_mail(git: &Git, onto: &str, mail: &Mail, pull: &PullRequest) -> Result<String> {
    match git.apply(onto, &mail.diff).await? {
        ApplyResult::Tree(tree) => {
            let made = RawCommit {
                tree: &tree,
                parents: vec![onto],
                author: &mail.author,
                committer: &mail.author,
                encoding: None,
                message: mail.message.as_bytes(),
            };
            git.put("commit", &made.encode()).await
        }
        ApplyResult::Conflicts(files) => {
            let shown: Vec<_> = files.iter().take(5).map(|file| one_line(file)).collect();
            let message = format!(
                "the patch of {} does not apply to '{}' in {}; nothing was changed",
                pull.id,
                one_line(&pull.base_branch),
                shown.join(", ")
            );
            Err(Error::precondition(Precondition::Conflicts(files), message)
                .with_hint("apply it to an older commit: `forge pr diff --patch | git am --3way`"))
        }
    }
}

fn head_gone_error(pull: &PullRequest) -> Error {
    Error::not_found(
        Noun::Branch,
        format!(
            "the head of {} was not found: neither the branch '{}' nor its commit exists",
            pull.id,
            one_line(&pull.head_branch)
        ),
    )
    .with_hint("inspect the pull request with `forge pr view` and `forge pr diff`")
}
