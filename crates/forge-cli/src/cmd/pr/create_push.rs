//! Pushes the head branch of a new pull request.

use std::time::Duration;

use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Op, Precondition, Repo, RepoId, Result, Retry,
    model::{HeadRef, PrFields, StateFilter},
    text,
};
use forge_git::quoted;

use super::{
    clone_branch::commit,
    create::CreateArgs,
    shared::{has, repo_name},
};
use crate::{cmd::git_credential, ctx::Ctx, ui::prompt};

/// A push before the pull request is created.
#[derive(Debug)]
pub(super) struct Push {
    /// The remote; `None` for a fork that has to be created first.
    remote: Option<String>,
    branch: String,
    /// The branch's name on the remote.
    name: String,
    /// True if the user chose the target by a single key press.
    pub(super) asked: bool,
}

/// Plans the push that `--push` requests, or that the user confirms for an unpushed branch. In
/// `head`, sets the repository that receives the push.
pub(super) async fn plan(
    ctx: &Ctx,
    repo: &Repo,
    args: &CreateArgs,
    named: Option<&str>,
    head: &mut HeadRef,
) -> Result<Option<Push>> {
    let by_branch = args.patch.is_none() && args.edit.is_empty() && args.delete.is_empty();
    // If the current repository stores its pull requests, the branch needs no push.
    if !by_branch || args.dry_run || ctx.is_here(repo).await {
        return Ok(None);
    }
    if args.push {
        return push_of_flag(ctx, repo, named, head).await.map(Some);
    }
    // As in gh, a branch named with `--head` is not pushed. If the forge accepts patches, an
    // unpushed branch is sent as a patch.
    let takes_patches = has(repo, Capability::PrCreatePatch) && has(repo, Capability::PrResubmit);
    if named.is_some() || takes_patches || !ctx.ui.can_prompt() {
        return Ok(None);
    }
    let Some(branch) = forge_git::current_branch(ctx.git()).await? else {
        return Ok(None);
    };
    if is_pushed(ctx, &branch, &head.branch).await? {
        return Ok(None);
    }
    ask_push_target(ctx, repo, branch, head).await
}

async fn push_of_flag(ctx: &Ctx, repo: &Repo, named: Option<&str>, head: &HeadRef) -> Result<Push> {
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
        return Err(Error::invalid(
            "push",
            format!("this clone has no branch '{shown}' to push"),
        )
        .with_hint("name a branch of this clone with --head, or omit --push"));
    }
    let Some(remote) = ctx.remote_of(repo, head.owner.as_deref()).await else {
        let owner = head.owner.as_deref();
        let place = owner.map_or_else(|| repo_name(repo.id()), |o| format!("a repository of {o}"));
        let message = format!("'{shown}' cannot be pushed: no remote of this clone is {place}");
        return Err(Error::invalid("push", message)
            .with_hint("add one with `git remote add`, or push the branch and omit --push"));
    };
    Ok(Push {
        remote: Some(remote),
        branch,
        name: head.branch.clone(),
        asked: false,
    })
}

/// Returns true if a remote-tracking branch matches the local branch.
async fn is_pushed(ctx: &Ctx, branch: &str, name: &str) -> Result<bool> {
    let local = format!("refs/heads/{branch}");
    let points = format!("--points-at={local}");
    let args = [
        "for-each-ref",
        "--format=%(refname)",
        &points,
        "refs/remotes/",
    ];
    let listed = ctx.git().run_ok(args).await?;
    let listed = String::from_utf8_lossy(&listed);
    let remotes = &ctx.git_config().await?.remotes;
    Ok(listed.lines().any(|found| {
        let is_of = |remote: &str| found == format!("refs/remotes/{remote}/{name}");
        remotes.iter().any(|remote| is_of(&remote.name))
    }))
}

struct PushTarget {
    remote: String,
    repo: RepoId,
}

async fn ask_push_target(
    ctx: &Ctx,
    repo: &Repo,
    branch: String,
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
        name: head.branch.clone(),
        asked: true,
    }))
}

/// Returns the name of a push target. If `pushurl` or `pushInsteadOf` redirects the push, adds the
/// repository that git pushes to. Shows no URL, because a URL can contain a password.
async fn push_label(ctx: &Ctx, target: &PushTarget) -> Result<String> {
    let args = ["remote", "get-url", "--push", "--all", "--", &target.remote];
    let printed = ctx.git().run_ok(args).await?;
    let urls = String::from_utf8_lossy(&printed);
    let forges = ctx.forges()?;
    let mut places: Vec<String> = Vec::new();
    let mut leads_elsewhere = false;
    for url in urls.lines() {
        match forges.remote_repo(ctx.place(), url).await {
            Ok(id) => {
                leads_elsewhere |= id.comparison_key() != target.repo.comparison_key();
                places.push(id.to_string());
            }
            Err(_) => {
                leads_elsewhere = true;
                places.push("an unknown address".to_owned());
            }
        }
    }
    let mut label = repo_name(&target.repo);
    if leads_elsewhere {
        label = format!("{label} (git pushes to {})", places.join(" and "));
    }
    Ok(text::one_line(&label).into_owned())
}

/// Returns the user's login if the user can fork the repository and owns no push target.
async fn fork_owner(repo: &Repo, targets: &[PushTarget]) -> Option<String> {
    if !has(repo, Capability::RepoFork) {
        return None;
    }
    let login = repo.viewer().await.ok()?.login;
    let is_theirs = |id: &RepoId| {
        let owner = id.owner_and_name().map(|(owner, _)| owner);
        owner.is_some_and(|owner| owner.eq_ignore_ascii_case(&login))
    };
    let has_one = is_theirs(repo.id()) || targets.iter().any(|target| is_theirs(&target.repo));
    (!has_one).then_some(login)
}

/// Returns the remotes on the repository's host. The remote that git has configured for the branch
/// comes first.
async fn push_targets(ctx: &Ctx, repo: &Repo, head: &HeadRef) -> Result<Vec<PushTarget>> {
    let forges = ctx.forges()?;
    let mut found: Vec<PushTarget> = Vec::new();
    for remote in &ctx.git_config().await?.remotes {
        let Ok(id) = forges.remote_repo(ctx.place(), &remote.url).await else {
            continue;
        };
        let is_there = id.kind == repo.id().kind && id.host == repo.id().host;
        let key = id.comparison_key();
        if is_there && found.iter().all(|t| t.repo.comparison_key() != key) {
            found.push(PushTarget {
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
fn head_at(base: &RepoId, place: &RepoId, branch: &str) -> HeadRef {
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

/// Refuses equal head and base branches, and a second pull request for the same branches. Runs
/// before the user is asked for a title, and before a push.
pub(super) async fn check(repo: &Repo, head: &HeadRef, base: Option<&str>) -> Result<()> {
    let Some(base) = base else { return Ok(()) };
    let branch = text::one_line(&head.branch);
    if head.owner.is_none() && head.branch == base {
        let message = format!("head and base are both '{branch}'");
        return Err(Error::invalid("head", message)
            .with_hint("commit on a new branch, or choose another base with --base"));
    }
    let open = match repo.find(head, StateFilter::Open, PrFields::NONE).await {
        Ok(found) => found.pulls,
        // A temporary failure is ignored: the forge checks again when the pull request is created.
        Err(e) if matches!(e.retry(), Retry::Transient | Retry::After(_)) => return Ok(()),
        Err(e) => return Err(e),
    };
    let Some(twin) = open.into_iter().find(|pull| pull.base_branch == base) else {
        return Ok(());
    };
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
    /// Describes the push for the user: `'topic' to origin`.
    pub(super) fn name(&self) -> String {
        let branch = text::one_line(&self.branch);
        match &self.remote {
            Some(remote) => format!("'{branch}' to {}", text::one_line(remote)),
            None => format!("'{branch}' to a new fork"),
        }
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
        let spec = format!("refs/heads/{}:refs/heads/{}", self.branch, self.name);
        let mut git = ctx.git().for_remote().await?;
        let args = ["push", "--quiet", "--set-upstream", "--", &remote, &spec];
        let mut output = git.run(args).await?;
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
            output = git.run(args).await?;
        }
        for pause in pauses {
            if output.status == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_secs(*pause)).await;
            output = git.run(args).await?;
        }
        let branch = text::one_line(&self.branch);
        let shown = text::one_line(&remote);
        if output.status == 0 {
            ctx.ui.note(&format!("Pushed '{branch}' to {shown}"));
            return Ok(());
        }
        let failed = output.error("push");
        let why = text::one_line(failed.message());
        let message = format!("'{branch}' was not pushed to {shown}: {why}");
        let hint = recovery(&why, is_withheld, &remote, &self.branch);
        Err(Error::precondition(Precondition::Rule, message).with_hint(hint))
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
fn recovery(why: &str, is_withheld: bool, remote: &str, branch: &str) -> String {
    let push = format!("push -u {} {}", quoted(remote), quoted(branch));
    match is_refused_login(why) {
        false => format!("push it yourself: git {push}"),
        true if is_withheld => format!(
            "check the programs, proxies and certificates for remotes in this repository's \
             configuration; if you trust them, push with forge's token: git -c \
             credential.helper='!forge auth git-credential' {push}"
        ),
        true => {
            format!("give git a login (an SSH remote, or a credential helper), then: git {push}")
        }
    }
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
        let hint = |why: &str, is_withheld: bool| recovery(why, is_withheld, "origin", "t");
        let rejected = hint("git push failed: non-fast-forward", true);
        assert_eq!(rejected, "push it yourself: git push -u origin t");
        let refused = "git push failed: could not read Username for 'https://github.com'";
        let (tried, withheld) = (hint(refused, false), hint(refused, true));
        assert!(tried.ends_with(", then: git push -u origin t"), "{tried}");
        let command = ": git -c credential.helper='!forge auth git-credential' push -u origin t";
        assert!(withheld.ends_with(command), "{withheld}");
    }

    #[test]
    fn failure_after_push_names_the_push() {
        let push = Push {
            remote: Some("origin".to_owned()),
            branch: "t".to_owned(),
            name: "t".to_owned(),
            asked: false,
        };
        let e = Error::invalid("reviewers", "there is no account 'x'; nothing was changed")
            .with_hint("choose another");
        let failed = push.failed_after(&e);
        assert_eq!(
            failed.message(),
            "pushed 't' to origin, but opening the pull request failed: there is no account 'x'"
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
