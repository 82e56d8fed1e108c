//! Pushes the head branch of a new pull request.

use std::time::Duration;

use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Op, PageReq, Precondition, Repo, RepoId, Result,
    Retry,
    model::{HeadRef, PrFields, PullQuery, StateFilter},
    text,
};
use forge_git::{ConfiguredBranch, PushTarget};

use super::{
    clone_branch::commit,
    create::{CreateArgs, default_base},
    pushed_head::{PushedHead, locate_pushed_head, unpushed_error, untracked_error},
    shared::{has, repo_name},
};
use crate::{cmd::git_credential, ctx::Ctx, ui::prompt};

/// A push before the pull request is created.
#[derive(Debug)]
pub(super) struct Push {
    /// The remote; `None` for a fork that has to be created first.
    remote: Option<String>,
    branch: String,
    /// The branch that git's configuration names for the push.
    configured: Option<SharedUse>,
    /// True if the user chose the target by a single key press.
    pub(super) asked: bool,
}

/// Branch that git's configuration names for pushes of the current branch, and why others use it.
#[derive(Clone, Debug)]
pub(super) struct SharedUse {
    name: String,
    shared: Option<String>,
}

impl SharedUse {
    fn as_configured(&self) -> ConfiguredBranch<'_> {
        ConfiguredBranch {
            name: &self.name,
            shared: self.shared.as_deref(),
        }
    }
}

/// Replaces the head branch by the current branch, if git's configuration names another branch for
/// the head, and others use that branch. Returns what is known of the configured branch.
///
/// A branch that was made from `origin/main` often has `main` as its configured branch.
pub(super) async fn settle_head(
    ctx: &Ctx,
    repo: &Repo,
    args: &CreateArgs,
    base: Option<&str>,
    head: &mut HeadRef,
) -> Result<Option<SharedUse>> {
    let by_branch = args.patch.is_none() && args.edit.is_empty() && args.delete.is_empty();
    if !by_branch || ctx.is_here(repo).await {
        return Ok(None);
    }
    let local = match forge_git::current_branch(ctx.git()).await? {
        Some(local) if local != head.branch => local,
        _ => return Ok(None),
    };
    let shared = match ctx.git_config().await?.branch(&local).has_several_merges {
        true => Some("one of several upstream branches".to_owned()),
        false => find_shared_use(ctx, repo, args, base, head).await,
    };
    let found = SharedUse {
        name: head.branch.clone(),
        shared,
    };
    let target = PushTarget::choose("", &local, Some(found.as_configured()));
    if let Some(why) = &found.shared {
        ctx.ui.note(&format!(
            "'{}' is set to push to '{}', which is {why}: its head is '{}'",
            text::one_line(&local),
            text::one_line(&found.name),
            text::one_line(target.branch())
        ));
    }
    target.branch().clone_into(&mut head.branch);
    Ok(Some(found))
}

/// Returns why others use the head branch that git's configuration names. A fact that cannot be
/// read counts as such a use.
async fn find_shared_use(
    ctx: &Ctx,
    repo: &Repo,
    args: &CreateArgs,
    base: Option<&str>,
    head: &HeadRef,
) -> Option<String> {
    let branch = head.branch.as_str();
    let is_same = |other: &str| other.to_lowercase() == branch.to_lowercase();
    if base.is_some_and(is_same) {
        return Some("the base branch".to_owned());
    }
    // The base is then the head branch of another pull request.
    if args.depends_on.is_some() {
        return Some("possibly the branch of the pull request below".to_owned());
    }
    let unknown = || Some("possibly a protected branch (its rules could not be read)".to_owned());
    let Ok(owner) = head_repo(ctx, repo, head).await else {
        return unknown();
    };
    let Ok(info) = owner.info().await else {
        return unknown();
    };
    if info.default_branch.as_deref().is_none_or(is_same) {
        return Some(format!("the default branch of {}", repo_name(owner.id())));
    }
    match owner.branch_is_protected(branch).await {
        Ok(false) => {}
        Ok(true) => return Some("a protected branch".to_owned()),
        Err(_) => return unknown(),
    }
    let mut query = PullQuery::default();
    query.base = Some(branch.to_owned());
    query.state = StateFilter::All;
    match owner.pulls(&query, PageReq::first(1)).await {
        Ok(page) => {
            let into = page.items.first()?;
            Some(format!("the base branch of {}", into.id))
        }
        Err(_) => unknown(),
    }
}

/// Returns the repository that has the head branch.
async fn head_repo(ctx: &Ctx, repo: &Repo, head: &HeadRef) -> Result<Repo> {
    let Some(owner) = head.owner.as_deref() else {
        return Ok(repo.clone());
    };
    let forges = ctx.forges()?;
    let remote = ctx.remote_of(repo, Some(owner)).await;
    let config = ctx.git_config().await?;
    let remote = remote.and_then(|name| config.remote(&name));
    let Some(remote) = remote else {
        return Err(Error::invalid("head", "no remote has the head branch"));
    };
    let id = forges.remote_repo(ctx.place(), &remote.url).await;
    let id = id.map_err(|e| Error::invalid("head", e.to_string()))?;
    ctx.repo(Some(&id.to_string())).await
}

/// Plans the push that `--push` requests, or that the user confirms for an unpushed branch. In
/// `head`, sets the repository that has or receives the newest commit.
///
/// # Errors
///
/// `invalid_input` if the remote branch lacks commits of this clone, and nobody can be asked.
pub(super) async fn plan(
    ctx: &Ctx,
    repo: &Repo,
    args: &CreateArgs,
    named: Option<&str>,
    configured: Option<SharedUse>,
    (base, head): (Option<&str>, &mut HeadRef),
) -> Result<Option<Push>> {
    let by_branch = args.patch.is_none() && args.edit.is_empty() && args.delete.is_empty();
    // If the current repository stores its pull requests, the branch needs no push.
    if !by_branch || ctx.is_here(repo).await {
        return Ok(None);
    }
    let current = match named {
        Some(_) => None,
        None => forge_git::current_branch(ctx.git()).await?,
    };
    let pushed = match &current {
        Some(branch) => locate_pushed_head(ctx, repo, branch, head).await?,
        None => PushedHead::Unknown,
    };
    if args.push {
        let is_pushed = matches!(pushed, PushedHead::Complete);
        return push_of_flag(ctx, repo, named, configured, (is_pushed, head))
            .await
            .map(Some);
    }
    // As in gh, a branch named with `--head` is not pushed.
    let Some(branch) = current else {
        return Ok(None);
    };
    // If the forge accepts patches, an unpushed branch is sent as a patch.
    let takes_patches = has(repo, Capability::PrCreatePatch) && has(repo, Capability::PrResubmit);
    let asks = ctx.ui.can_prompt() && !takes_patches && !args.dry_run;
    match pushed {
        PushedHead::Complete => Ok(None),
        _ if asks => ask_push_target(ctx, repo, branch, configured, head).await,
        PushedHead::Behind { target, missing } => {
            // Commits on the base branch belong on a new branch, and not into a push.
            match base {
                Some(base) => refuse_same_branches(head, base)?,
                None => refuse_same_branches(head, &default_base(repo).await?)?,
            }
            Err(unpushed_error(&branch, &target, missing))
        }
        // The form in the browser would not tell that the branch is missing.
        PushedHead::Unknown if args.web => {
            let remote = ctx.remote_of(repo, head.owner.as_deref()).await;
            let remote = remote.as_deref().unwrap_or("origin");
            Err(untracked_error(&branch, remote))
        }
        PushedHead::Unknown => Ok(None),
    }
}

async fn push_of_flag(
    ctx: &Ctx,
    repo: &Repo,
    named: Option<&str>,
    configured: Option<SharedUse>,
    (is_pushed, head): (bool, &mut HeadRef),
) -> Result<Push> {
    let branch = match named {
        Some(_) => head.branch.clone(),
        None => forge_git::current_branch(ctx.git())
            .await?
            .unwrap_or_else(|| head.branch.clone()),
    };
    let shown = text::one_line(&branch).into_owned();
    if commit(ctx.git(), &format!("refs/heads/{branch}"))
        .await?
        .is_none()
    {
        let message = format!("this clone has no branch '{shown}' to push");
        return Err(Error::invalid("push", message)
            .with_hint("name a branch of this clone with --head, or omit --push"));
    }
    let names_destination = is_pushed
        || head.owner.is_some()
        || has_push_destination(ctx, &branch, configured.as_ref()).await?;
    let fork = if names_destination {
        None
    } else {
        find_own_fork(ctx, repo, head).await?
    };
    let remote = match fork {
        Some(fork) => {
            *head = head_at(repo.id(), &fork.repo, &head.branch);
            Some(fork.remote)
        }
        None => ctx.remote_of(repo, head.owner.as_deref()).await,
    };
    let Some(remote) = remote else {
        let owner = head.owner.as_deref();
        let place = owner.map_or_else(|| repo_name(repo.id()), |o| format!("a repository of {o}"));
        let message = format!("'{shown}' cannot be pushed: no remote of this clone is {place}");
        return Err(Error::invalid("push", message)
            .with_hint("add one with `git remote add`, or push the branch and omit --push"));
    };
    Ok(Push {
        remote: Some(remote),
        branch,
        configured,
        asked: false,
    })
}

/// Returns true if git's configuration says where a branch is pushed. `git switch -c topic
/// upstream/main` says it only with `push.default=upstream`.
async fn has_push_destination(
    ctx: &Ctx,
    branch: &str,
    configured: Option<&SharedUse>,
) -> Result<bool> {
    let config = ctx.git_config().await?;
    let settings = config.branch(branch);
    let own_name = format!("refs/heads/{branch}");
    let is_upstream = settings.remote.is_some() && settings.merge == Some(own_name);
    let is_configured = configured.is_some_and(|used| used.shared.is_none());
    let push_remote = settings.push_remote.as_ref();
    let push_remote = push_remote.or(config.push_default_remote.as_ref());
    Ok(push_remote.is_some() || is_upstream || is_configured)
}

/// Returns the remote of the user's own repository, if the base repository is somebody else's.
async fn find_own_fork(ctx: &Ctx, repo: &Repo, head: &HeadRef) -> Result<Option<PushTargetRepo>> {
    let base = repo.id().comparison_key();
    let mut targets = push_targets(ctx, repo, head).await?;
    targets.retain(|target| target.repo.comparison_key() != base);
    if targets.is_empty() {
        return Ok(None);
    }
    let login = repo.viewer().await?.login;
    if is_owned_by(repo.id(), &login) {
        return Ok(None);
    }
    Ok(targets
        .into_iter()
        .find(|target| is_owned_by(&target.repo, &login)))
}

/// Returns the name of the remote of the user's own repository (see [`find_own_fork`]).
pub(super) async fn own_fork_remote(ctx: &Ctx, repo: &Repo, head: &HeadRef) -> Option<String> {
    let fork = find_own_fork(ctx, repo, head).await.ok()??;
    Some(fork.remote)
}

fn is_owned_by(id: &RepoId, login: &str) -> bool {
    id.owner_and_name()
        .is_some_and(|(owner, _)| owner.eq_ignore_ascii_case(login))
}

struct PushTargetRepo {
    remote: String,
    repo: RepoId,
}

async fn ask_push_target(
    ctx: &Ctx,
    repo: &Repo,
    branch: String,
    configured: Option<SharedUse>,
    head: &mut HeadRef,
) -> Result<Option<Push>> {
    let targets = push_targets(ctx, repo, head).await?;
    let fork_owner = fork_owner(repo, &targets).await;
    let mut names: Vec<String> = Vec::new();
    for target in &targets {
        names.push(push_label(ctx, target).await?);
    }
    let fork = format!("Create a fork of {}", repo_name(repo.id()));
    let mut items: Vec<&str> = names.iter().map(String::as_str).collect();
    items.extend(fork_owner.is_some().then_some(fork.as_str()));
    items.extend(["Skip pushing the branch", "Cancel"]);
    let shown = text::one_line(&branch).into_owned();
    let question = format!("Where should we push the '{shown}' branch?");
    let chosen = prompt::choose(&question, &items)?;
    let remote = match (targets.into_iter().nth(chosen), fork_owner) {
        (Some(target), _) => {
            *head = head_at(repo.id(), &target.repo, &head.branch);
            Some(target.remote)
        }
        (None, Some(login)) if chosen == names.len() => {
            head.owner = Some(login);
            head.repo = None;
            None
        }
        _ if chosen + 1 == items.len() => return Err(prompt::cancelled()),
        _ => return Ok(None),
    };
    Ok(Some(Push {
        remote,
        branch,
        configured,
        asked: true,
    }))
}

/// Returns the name of a push target, and the repository that git pushes to if it is another one.
async fn push_label(ctx: &Ctx, target: &PushTargetRepo) -> Result<String> {
    let mut label = repo_name(&target.repo);
    if let Some(elsewhere) = find_redirect(ctx, &target.remote, &target.repo).await? {
        label = format!("{label} ({elsewhere})");
    }
    Ok(text::one_line(&label).into_owned())
}

/// Returns where git pushes, if `pushurl`, `pushInsteadOf` or a second URL leads a push of `remote`
/// to another repository than `repo`. Shows no URL, because a URL can contain a password.
async fn find_redirect(ctx: &Ctx, remote: &str, repo: &RepoId) -> Result<Option<String>> {
    let args = ["remote", "get-url", "--push", "--all", "--", remote];
    let printed = ctx.git().run_ok(args).await?;
    let urls = String::from_utf8_lossy(&printed);
    let forges = ctx.forges()?;
    let mut places: Vec<String> = Vec::new();
    let mut leads_elsewhere = false;
    for url in urls.lines() {
        match forges.remote_repo(ctx.place(), url).await {
            Ok(id) => {
                leads_elsewhere |= id.comparison_key() != repo.comparison_key();
                places.push(id.to_string());
            }
            Err(_) => {
                leads_elsewhere = true;
                places.push("an unknown address".to_owned());
            }
        }
    }
    let elsewhere = format!("git pushes to {}", places.join(" and "));
    Ok(leads_elsewhere.then(|| text::one_line(&elsewhere).into_owned()))
}

/// Returns the user's login if the user can fork the repository and owns no push target.
async fn fork_owner(repo: &Repo, targets: &[PushTargetRepo]) -> Option<String> {
    if !has(repo, Capability::RepoFork) {
        return None;
    }
    let login = repo.viewer().await.ok()?.login;
    let owns = |id: &RepoId| is_owned_by(id, &login);
    let has_one = owns(repo.id()) || targets.iter().any(|target| owns(&target.repo));
    (!has_one).then_some(login)
}

/// Returns the remotes on the repository's host. The remote that git has configured for the branch
/// comes first.
async fn push_targets(ctx: &Ctx, repo: &Repo, head: &HeadRef) -> Result<Vec<PushTargetRepo>> {
    let forges = ctx.forges()?;
    let mut found: Vec<PushTargetRepo> = Vec::new();
    for remote in &ctx.git_config().await?.remotes {
        let Ok(id) = forges.remote_repo(ctx.place(), &remote.url).await else {
            continue;
        };
        let is_there = id.kind == repo.id().kind && id.host == repo.id().host;
        let key = id.comparison_key();
        if is_there && found.iter().all(|t| t.repo.comparison_key() != key) {
            found.push(PushTargetRepo {
                remote: remote.name.clone(),
                repo: id,
            });
        }
    }
    let own = ctx.remote_of(repo, head.owner.as_deref()).await;
    found.sort_by_key(|target| Some(&target.remote) != own.as_ref());
    Ok(found)
}

/// Returns the head reference of `branch` in the repository `place`. If `place` is not `base`, the
/// reference contains the owner, and the repository's name if needed.
pub(super) fn head_at(base: &RepoId, place: &RepoId, branch: &str) -> HeadRef {
    let mut head = HeadRef::branch(branch);
    if base.comparison_key() == place.comparison_key() {
        return head;
    }
    let base_owner = base.owner_and_name().map(|(owner, _)| owner);
    if let Some((owner, name)) = place.owner_and_name() {
        head.owner = Some(owner.to_owned());
        // If the owner has both repositories, only the repository's name distinguishes them.
        head.repo = (base_owner == Some(owner)).then(|| name.to_owned());
    }
    head
}

fn refuse_same_branches(head: &HeadRef, base: &str) -> Result<()> {
    if head.owner.is_some() || head.branch != base {
        return Ok(());
    }
    let message = format!("head and base are both '{}'", text::one_line(base));
    Err(Error::invalid("head", message)
        .with_hint("commit on a new branch, or choose another base with --base"))
}

/// Refuses equal head and base branches, and a second pull request for the same branches. Runs
/// before the user is asked for a title, and before a push.
pub(super) async fn check(repo: &Repo, head: &HeadRef, base: Option<&str>) -> Result<()> {
    let Some(base) = base else { return Ok(()) };
    refuse_same_branches(head, base)?;
    let branch = text::one_line(&head.branch);
    let open = match repo.find(head, StateFilter::Open, PrFields::NONE).await {
        Ok(found) => found.pulls,
        // A temporary failure is ignored: the forge checks again when the pull request is created.
        Err(e) if matches!(e.retry(), Retry::Transient | Retry::After(_)) => return Ok(()),
        Err(e) => return Err(e),
    };
    let mut twins = open.into_iter().filter(|pull| pull.base_branch == base);
    let Some(mut twin) = twins.next() else {
        return Ok(());
    };
    // The backend warns of a pull request of another account that the forge allows beside this one.
    if repo.limits().has_pull_per_account {
        let viewer = match repo.viewer().await {
            Ok(viewer) => viewer,
            // The backend looks for a twin again.
            Err(e) if matches!(e.retry(), Retry::Transient | Retry::After(_)) => return Ok(()),
            Err(e) => return Err(e),
        };
        let mut twins = std::iter::once(twin).chain(twins);
        let Some(own) = twins.find(|pull| pull.author.login == viewer.login) else {
            return Ok(());
        };
        twin = own;
    }
    let base = text::one_line(base);
    let url = text::one_line(&twin.url).into_owned();
    let message = format!("a pull request for '{branch}' into '{base}' is open already: {url}");
    let kind = ErrorKind::AlreadyExists {
        existing: Some(twin.url.clone()),
    };
    let edit = Action::op(Op::PrEdit).on(&twin.id.key);
    Err(Error::new(kind, message)
        .with_hint(Hint::new("edit the open pull request instead").with_action(edit)))
}

/// Creates the fork and a remote for it; returns the remote's name.
async fn add_fork(ctx: &Ctx, repo: &Repo) -> Result<String> {
    let fork = ctx.ui.outcome(repo.fork().await?)?;
    let config = ctx.git_config().await?;
    let base = ctx.remote_of(repo, None).await;
    let base = base.and_then(|name| config.remote(&name));
    let name = repo_name(&fork);
    let Some(url) = base.and_then(|base| fork_url(&base.url, repo.id(), &fork)) else {
        let message = format!(
            "{name} was created, but no remote was added: its URL cannot be derived from the \
             remotes of this clone"
        );
        return Err(Error::invalid("push", message)
            .with_hint("add the fork with `git remote add`, push to the fork, and try again"));
    };
    let owner = fork.owner_and_name().map_or("", |(owner, _)| owner);
    let remote = match config.remote("fork") {
        None => "fork",
        Some(_) => owner,
    };
    ctx.git()
        .run_ok(["remote", "add", "--", remote, &url])
        .await?;
    let (remote, name) = (text::one_line(remote), text::one_line(&name));
    ctx.ui.note(&format!("Forked {name}, the remote {remote}"));
    Ok(remote.into_owned())
}

/// Returns the URL of a fork, derived from the repository's URL.
fn fork_url(url: &str, base: &RepoId, fork: &RepoId) -> Option<String> {
    let path = |id: &RepoId| {
        let (owner, name) = id.owner_and_name()?;
        Some(format!("{owner}/{name}"))
    };
    let (old, new) = (path(base)?, path(fork)?);
    let at = url.to_ascii_lowercase().rfind(&old.to_ascii_lowercase())?;
    let (before, after) = (url.get(..at)?, url.get(at + old.len()..)?);
    Some(format!("{before}{new}{after}"))
}

/// Pauses in seconds before the push to a new fork is retried, because the forge may create the
/// fork with a delay.
const FORK_PAUSES: [u64; 2] = [2, 4];

impl Push {
    fn target(&self, remote: &str) -> PushTarget {
        let configured = self.configured.as_ref().map(SharedUse::as_configured);
        PushTarget::choose(remote, &self.branch, configured)
    }

    /// Describes the push for the user: `topic -> origin/topic`.
    pub(super) fn name(&self) -> String {
        let remote = self.remote.as_deref().unwrap_or("a new fork");
        self.target(remote).route(&self.branch)
    }

    /// Returns the error `e`, which occurred after the push, with a message that names the push.
    pub(super) fn failed_after(&self, e: &Error) -> Error {
        // The error's "nothing was changed" is no longer true, because the branch was pushed.
        let why = e.message();
        let why = why.strip_suffix("; nothing was changed").unwrap_or(why);
        let message = format!(
            "pushed {}, but opening the pull request failed: {why}",
            self.name()
        );
        let mut failed = Error::new(e.kind().clone(), message).with_retry(e.retry());
        if let Some(op) = e.op() {
            failed = failed.with_op(op);
        }
        match e.hint() {
            Some(hint) => failed.with_hint(hint.clone()),
            None => failed,
        }
    }

    /// Pushes the branch, and sets its upstream.
    ///
    /// # Errors
    ///
    /// `precondition_failed` with git's message. The push is never forced.
    pub(super) async fn run(&self, ctx: &Ctx, repo: &Repo) -> Result<()> {
        let (remote, pauses) = match &self.remote {
            Some(remote) => (remote.clone(), &[][..]),
            None => (add_fork(ctx, repo).await?, &FORK_PAUSES[..]),
        };
        let target = self.target(&remote);
        let mut git = ctx.git().for_remote().await?;
        let mut output = git.push_branch(&self.branch, &target).await?;
        let login = git_credential::with_login(&git, repo.id());
        let is_withheld = login.is_none() && git_credential::is_supported(repo.id());
        // The first push uses only the user's own credential helpers. If forge's helper were added
        // to them, git would also store forge's token in the user's helpers. Therefore forge's
        // helper is used alone, and only if the host accepted no login in the first push.
        if output.status != 0
            && is_refused_login(&String::from_utf8_lossy(&output.stderr))
            && let Some(login) = login
        {
            git = login;
            output = git.push_branch(&self.branch, &target).await?;
        }
        for pause in pauses {
            if output.status == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_secs(*pause)).await;
            output = git.push_branch(&self.branch, &target).await?;
        }
        let route = target.route(&self.branch);
        // The push is done, so an error of this description is no failure.
        let elsewhere = find_redirect_of(ctx, &remote).await.unwrap_or_default();
        let elsewhere = elsewhere.map_or_else(String::new, |place| format!(" ({place})"));
        if output.status == 0 {
            ctx.ui.note(&format!("Pushed {route}{elsewhere}"));
            return Ok(());
        }
        let failed = output.error("push");
        let why = text::one_line(failed.message());
        let message = format!("not pushed: {route}{elsewhere}: {why}");
        let hint = recovery(&why, is_withheld, &target, &self.branch);
        Err(Error::precondition(Precondition::Rule, message).with_hint(hint))
    }
}

/// Returns where git pushes, if it is not the repository from which `remote` fetches.
async fn find_redirect_of(ctx: &Ctx, remote: &str) -> Result<Option<String>> {
    let config = ctx.git_config().await?;
    let Some(url) = config.remote(remote).map(|remote| remote.url.as_str()) else {
        return Ok(None);
    };
    match ctx.forges()?.remote_repo(ctx.place(), url).await {
        Ok(repo) => find_redirect(ctx, remote, &repo).await,
        Err(_) => Ok(None),
    }
}

/// Returns true if a push failed because git has no login that the host accepts.
fn is_refused_login(stderr: &str) -> bool {
    let said = stderr.to_ascii_lowercase();
    let parts = ["could not read username", "authentication failed"];
    parts.iter().any(|part| said.contains(part))
}

/// Returns the hint for a failed push. `is_withheld` is true if forge did not give git its token,
/// because a setting of the repository could expose the token.
fn recovery(why: &str, is_withheld: bool, target: &PushTarget, branch: &str) -> String {
    let push = target.command(branch, &[]);
    if !is_refused_login(why) {
        return format!("push it yourself: {push}");
    }
    if is_withheld {
        let helper = ["-c", "credential.helper=!forge auth git-credential"];
        return format!(
            "check the programs, proxies and certificates for remotes in this repository's \
             configuration; if you trust them, push with forge's token: {}",
            target.command(branch, &helper)
        );
    }
    format!("give git a login (an SSH remote, or a credential helper), then: {push}")
}

#[cfg(test)]
mod tests {
    use forge_core::{ForgeKind, RepoPath};

    use super::*;

    fn repo(owner: &str, name: &str) -> RepoId {
        RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Named {
                owner: owner.to_owned(),
                name: name.to_owned(),
            },
        }
    }

    #[test]
    fn fork_url_is_derived_from_repository_url() {
        let (base, fork) = (repo("Octo", "tools"), repo("mona", "tools-1"));
        for (url, wanted) in [
            (
                "https://github.com/octo/tools.git",
                Some("https://github.com/mona/tools-1.git"),
            ),
            (
                "git@github.com:Octo/tools",
                Some("git@github.com:mona/tools-1"),
            ),
            ("https://github.com/other/thing", None),
        ] {
            assert_eq!(fork_url(url, &base, &fork).as_deref(), wanted, "{url}");
        }
    }

    #[test]
    fn withheld_login_of_push_names_the_credential_helper() {
        let target = PushTarget::choose("origin", "t", None);
        let hint = |why: &str, is_withheld: bool| recovery(why, is_withheld, &target, "t");
        let rejected = hint("git push failed: non-fast-forward", true);
        assert_eq!(
            rejected,
            "push it yourself: git push -u origin t:refs/heads/t"
        );
        let refused = "git push failed: could not read Username for 'https://github.com'";
        let (tried, withheld) = (hint(refused, false), hint(refused, true));
        assert!(
            tried.ends_with(", then: git push -u origin t:refs/heads/t"),
            "{tried}"
        );
        let command = ": git -c 'credential.helper=!forge auth git-credential' push -u origin \
                       t:refs/heads/t";
        assert!(withheld.ends_with(command), "{withheld}");
    }

    #[test]
    fn failure_after_push_names_the_push() {
        let push = Push {
            remote: Some("origin".to_owned()),
            branch: "t".to_owned(),
            configured: None,
            asked: false,
        };
        let e = Error::invalid("reviewers", "there is no account 'x'; nothing was changed")
            .with_hint("choose another");
        let failed = push.failed_after(&e);
        assert_eq!(
            failed.message(),
            "pushed t -> origin/t, but opening the pull request failed: there is no account 'x'"
        );
        assert_eq!((failed.kind(), failed.hint()), (e.kind(), e.hint()));
    }

    #[test]
    fn fork_head_includes_owner_or_repository() {
        let base = repo("octo", "tools");
        let head = |owner: &str, name: &str| head_at(&base, &repo(owner, name), "t").to_string();
        assert_eq!(head("octo", "tools"), "t");
        assert_eq!(head("mona", "tools"), "mona:t");
        assert_eq!(head("octo", "fork"), "octo/fork:t");
    }
}
