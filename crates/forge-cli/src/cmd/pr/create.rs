//! `forge pr create`.

use std::fs;

use clap::Args;
use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Noun, Op, Outcome, Param, PrId, Repo, Result,
    WebPage,
    model::{CreatePull, HeadRef, IssueFields, IssueId, MergeReq, PrFields, PullRequest},
    text,
};
use forge_git::{PushTarget, command_line};

use super::{
    attach::{AttachedText, Files},
    create_metadata,
    create_plan::dry_run,
    create_push::{self, Push},
    create_text::{self, PullCommits, PullText},
    edits, merged_issues, patch_source,
    pushed_head::{PushedHead, locate_pushed_head, unpushed_error},
    shared::{non_empty, repo_name, require, reviewers},
};
use crate::{
    args::wait::WaitArgs,
    cmd::{issue, pr::attach::AttachArgs},
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{browser, prompt},
};

/// Flags that cannot be combined with `--edit` and `--delete`.
const CONFLICTS_WITH_EDITS: [&str; 6] = [
    "patch",
    "depends_on",
    "fill",
    "fill_first",
    "fill_verbose",
    "web",
];

/// `forge pr create`
#[derive(Args, Debug, Default)]
pub struct CreateArgs {
    /// Assign people by login; "@me" assigns yourself
    #[arg(short, long, value_name = "login", value_delimiter = ',')]
    pub assignee: Vec<String>,
    /// Merge the pull request as soon as its requirements are met; at once if it has none
    #[arg(long, conflicts_with_all = ["draft", "dry_run", "web"])]
    pub auto: bool,
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// The branch to merge into [default: the configured one, else the default branch]
    #[arg(short = 'B', long, value_name = "branch")]
    pub base: Option<String>,
    /// The description
    #[arg(short, long, value_name = "text", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// Read the description from a file ("-" for standard input)
    #[arg(short = 'F', long, value_name = "file")]
    pub body_file: Option<String>,
    /// Issues that the merge closes, by number or URL; adds closing lines to the description
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub closes: Vec<String>,
    /// Delete this file in the pull request's commit; needs no clone; may be repeated
    #[arg(long, value_name = "path", conflicts_with_all = CONFLICTS_WITH_EDITS)]
    pub delete: Vec<String>,
    /// Build on another pull request, which has to be merged first: its number, URL, at-uri or
    /// branch
    #[arg(long, value_name = "pull request")]
    pub depends_on: Option<String>,
    /// Open the pull request as a draft
    #[arg(short, long)]
    pub draft: bool,
    /// Print what would be opened, and open nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Write the content of a local file ("-" for standard input) to a path in the repository,
    /// without a clone; may be repeated. --head names the new branch to create
    #[arg(long, value_name = "path>=<file", conflicts_with_all = CONFLICTS_WITH_EDITS)]
    pub edit: Vec<String>,
    /// Write title and description in an editor: the first line is the title
    #[arg(short, long)]
    pub editor: bool,
    /// Take title and description from the commits
    #[arg(short, long)]
    pub fill: bool,
    /// Take title and description from the first commit
    #[arg(long)]
    pub fill_first: bool,
    /// Take the description from the messages of all commits in full
    #[arg(long)]
    pub fill_verbose: bool,
    /// The branch with your changes, or owner:branch [default: the current branch]
    #[arg(short = 'H', long, value_name = "branch")]
    pub head: Option<String>,
    /// Add labels by name
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// Add the pull request to a milestone, by name
    #[arg(short, long, value_name = "name")]
    pub milestone: Option<String>,
    /// Do not let maintainers of the base repository push to the fork's branch
    #[arg(long)]
    pub no_maintainer_edit: bool,
    /// Take the changes from a file, as git format-patch writes it ("-" for standard input), not
    /// from a branch
    #[arg(long, value_name = "file", conflicts_with_all = ["head", "fill", "fill_first", "fill_verbose", "web"])]
    pub patch: Option<String>,
    /// Add the pull request to projects, by title
    #[arg(short, long, value_name = "title", value_delimiter = ',')]
    pub project: Vec<String>,
    /// Push the branch first, and set its upstream
    #[arg(long, conflicts_with_all = ["patch", "edit", "delete", "dry_run"])]
    pub push: bool,
    /// Restore the input of a failed attempt from the file that the attempt saved
    #[arg(long, value_name = "file")]
    pub recover: Option<String>,
    /// Ask people or teams for a review, by login or org/team
    #[arg(short, long, value_name = "handle", value_delimiter = ',')]
    pub reviewer: Vec<String>,
    /// Start the description from this template file
    #[arg(short = 'T', long, value_name = "file", conflicts_with_all = ["body", "body_file"])]
    pub template: Option<String>,
    /// The title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// Open the form in the browser instead
    #[arg(short, long)]
    pub web: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Creates a pull request.
///
/// # Errors
///
/// Fails if a required value is missing, or a value is refused. Nothing is created then.
pub async fn run(ctx: &Ctx, flag: Option<&str>, mut args: CreateArgs) -> Result<Exit> {
    args.base = non_empty(args.base.as_ref());
    args.head = non_empty(args.head.as_ref());
    create_text::check(ctx, &args)?;
    let mut repo = ctx.repo(flag).await?;
    if flag.is_none() && ctx.ui.can_prompt() {
        repo = choose_base(ctx, repo).await?;
    }
    if args.auto {
        require(&repo, Capability::MergeAuto)?;
    }
    let files = Files::read(ctx, &args.attach, &repo, args.body_file.as_deref())?;
    let patch = args.patch.as_deref().map(patch_source::read).transpose()?;
    let edits = edits::read(&args)?;
    let named = args.head.take();
    let mut head = match &patch {
        Some(_) => HeadRef::branch(""),
        None if !edits.is_empty() && named.is_none() => HeadRef::branch(""),
        None => head(ctx, &repo, flag, named.clone(), args.push).await?,
    };
    let depends_on = match &args.depends_on {
        Some(named) => Some(resolve_depends_on(ctx, flag, named).await?),
        None => None,
    };
    let mut base = match &depends_on {
        // With `--depends-on`, the base is the head branch of the pull request that the flag names,
        // even if a default base is configured.
        Some(_) => args.base.take(),
        None => named_base(ctx, &repo, &head, args.base.take()).await?,
    };
    // The default branch is read only if needed, because it costs a request.
    let reads_base = args.dry_run || args.web || args.push || ctx.ui.is_tty();
    if base.is_none()
        && depends_on.is_none()
        && (reads_base || create_text::reads_commits(ctx, &args))
    {
        base = Some(default_base(&repo).await?);
    }
    let configured = match &named {
        Some(_) => None,
        None => create_push::settle_head(ctx, &repo, &args, base.as_deref(), &mut head).await?,
    };
    let branches = (base.as_deref(), &mut head);
    let push = create_push::plan(ctx, &repo, &args, named.as_deref(), configured, branches).await?;
    let by_branch = patch.is_none() && edits.is_empty();
    if by_branch && !args.web && (push.is_some() || ctx.ui.can_prompt()) {
        create_push::check(&repo, &head, base.as_deref()).await?;
    }
    args.draft = args.draft || ctx.config_for(&repo).await?.pr_draft();
    if ctx.ui.is_tty() && !args.web && !args.dry_run {
        let what = if args.draft {
            "draft pull request"
        } else {
            "pull request"
        };
        let head = match (&patch, edits.len()) {
            (Some(_), _) => "a patch".to_owned(),
            (None, 0) => head.to_string(),
            (None, 1) => "an edit of one file".to_owned(),
            (None, files) => format!("edits of {files} files"),
        };
        let onto = match (&base, &depends_on) {
            (None, Some(below)) => format!("on top of {}", below.key),
            (base, _) => format!("into {}", base.as_deref().unwrap_or("")),
        };
        let name = repo_name(repo.id());
        let line = format!("Creating {what} for {head} {onto} in {name}");
        ctx.ui.note(&format!("\n{}\n", text::one_line(&line)));
    }
    if !args.web {
        let has_labels = !args.label.is_empty() || !args.assignee.is_empty();
        ctx.warn_of_index(&repo, Op::PrCreate, has_labels).await;
    }
    let local = match &named {
        None if by_branch && create_text::reads_commits(ctx, &args) => {
            forge_git::current_branch(ctx.git()).await?
        }
        Some(_) if args.push => Some(head.branch.clone()),
        _ => None,
    };
    let onto = PullCommits {
        base: base.as_deref(),
        below: depends_on.as_ref(),
        local: local.as_deref(),
    };
    let Some(text) = create_text::write(ctx, &repo, &args, onto, &head).await? else {
        return Err(prompt::cancelled());
    };
    let draft = &text.draft;
    let mut req = CreatePull::new("", draft.title.clone());
    req.description = draft.body.clone();
    req.base = base;
    req.head = head;
    req.draft = draft.draft;
    req.labels = draft.labels.clone();
    req.assignees = draft.assignees.clone();
    req.reviewers = reviewers(&draft.reviewers);
    req.milestone = draft.milestone.clone();
    req.projects = draft.projects.clone();
    req.maintainer_can_modify = !args.no_maintainer_edit;
    req.patch = patch;
    req.edits = edits;
    req.depends_on = depends_on;
    // If title and description are given, the only question was the one for the push target. Its
    // answer alone must not publish the changes, so ask for confirmation.
    if let Some(push) = push.as_ref().filter(|push| push.asked && !text.typed) {
        let question = format!("Push {}, and go on?", push.name());
        if !prompt::confirm(&question)? {
            return Err(prompt::cancelled());
        }
    }
    let made = make(ctx, &repo, &args, files, push.as_ref(), req, &text).await;
    let (created, attached) = match made {
        Ok(Some(made)) => made,
        Ok(None) => return Ok(Exit::Ok),
        Err(e) => {
            // Save the text only if the user typed it.
            if text.typed {
                text.draft.keep(&ctx.ui);
            }
            return Err(e);
        }
    };
    let created = ctx.ui.outcome(created)?;
    ctx.ui.url(&created.url)?;
    if args.auto {
        merge_later(ctx, &repo, &created).await?;
    }
    Ok(attached.report(ctx))
}

/// Pushes the branch and creates the pull request. Returns `None` after a dry run, or if the user
/// continues in the browser.
async fn make(
    ctx: &Ctx,
    repo: &Repo,
    args: &CreateArgs,
    files: Files,
    push: Option<&Push>,
    mut req: CreatePull,
    text: &PullText,
) -> Result<Option<(Outcome<PullRequest>, AttachedText)>> {
    let closes = closed_issues(ctx, repo, &args.closes).await?;
    let hosts = ctx.forges()?.hosts();
    req.description = forge::with_closing_lines(req.description, &closes, repo.id(), hosts);
    if args.dry_run {
        dry_run(ctx, repo, &req).await?;
        return Ok(None);
    }
    let in_browser = args.web || text.in_browser;
    if let Some(push) = push {
        if !in_browser {
            let check = async |req: &CreatePull| repo.check_create_pull(req).await;
            try_or_correct(ctx, &mut req, text, check).await?;
        }
        push.run(ctx, repo).await?;
    }
    if in_browser {
        let template = args.template.as_deref().filter(|_| args.web);
        web(ctx, repo, req, template).await?;
        return Ok(None);
    }
    let made = publish(ctx, repo, files, req, text).await;
    made.map(Some).map_err(|e| match push {
        Some(push) => push.failed_after(&e),
        None => e,
    })
}

/// Uploads the files and creates the pull request.
async fn publish(
    ctx: &Ctx,
    repo: &Repo,
    files: Files,
    mut req: CreatePull,
    text: &PullText,
) -> Result<(Outcome<PullRequest>, AttachedText)> {
    let description = std::mem::take(&mut req.description);
    let attached = files.upload(repo, description).await?;
    req.description.clone_from(&attached.text);
    let create = async |req: &CreatePull| open(ctx, repo, req).await;
    let created = try_or_correct(ctx, &mut req, text, create).await?;
    Ok((created, attached))
}

/// Runs `attempt`. If the forge refuses a name, such as a label's, and the user typed the text,
/// asks for the names again and repeats the attempt.
async fn try_or_correct<T>(
    ctx: &Ctx,
    req: &mut CreatePull,
    text: &PullText,
    attempt: impl AsyncFn(&CreatePull) -> Result<T>,
) -> Result<T> {
    let mut kept: Option<String> = None;
    loop {
        let e = match attempt(req).await {
            Ok(value) => {
                if let Some(path) = kept {
                    let _ = fs::remove_file(path);
                }
                return Ok(value);
            }
            Err(e) => e,
        };
        let Some(field) = create_metadata::refused(&e).filter(|_| text.typed) else {
            return Err(e);
        };
        ctx.ui.error(&e);
        // Save the input first, because Ctrl+C at the next question ends the process.
        if kept.is_none() {
            kept = text.draft.keep(&ctx.ui);
        }
        create_metadata::correct(field, req)?;
    }
}

/// Asks the forge to merge the new pull request as soon as possible.
async fn merge_later(ctx: &Ctx, repo: &Repo, created: &PullRequest) -> Result<()> {
    let mut req = MergeReq::default();
    req.method = ctx.config_for(repo).await?.merge_method();
    req.expected_head = created.head_oid.clone();
    req.auto = true;
    match repo.merge(&created.id, &req).await {
        Ok(outcome) => ctx.ui.outcome(outcome.map(|_| ())),
        Err(e) => {
            let merge = Action::op(Op::PrMerge)
                .on(&created.id.key)
                .with(Param::Auto, "true");
            let message = format!(
                "the pull request is open, but neither merged nor queued for auto-merge: {}",
                e.message()
            );
            Err(Error::new(e.kind().clone(), message)
                .with_hint(Hint::new("fix the cause, then merge it").with_action(merge)))
        }
    }
}

/// Reads each issue of `--closes` once. Warns about a missing issue.
async fn closed_issues(ctx: &Ctx, repo: &Repo, named: &[String]) -> Result<Vec<IssueId>> {
    let issues = issue::shared::all_related(ctx, repo, named).await?;
    for id in &issues {
        if let Err(e) = repo.issue(id, &IssueFields::NONE).await {
            let what = format!("merging the pull request might leave {id} open");
            ctx.ui.warning(&merged_issues::warning_of(&e, &what));
        }
    }
    Ok(issues)
}

async fn resolve_depends_on(ctx: &Ctx, flag: Option<&str>, named: &str) -> Result<PrId> {
    let none = PrFields::NONE;
    let selected = select::pull(ctx, flag, Some(named), Unnamed::NotWithRepo, none).await?;
    Ok(selected.id)
}

/// Creates the pull request. For an unpushed branch, a patch is sent if the forge accepts patches.
async fn open(ctx: &Ctx, repo: &Repo, req: &CreatePull) -> Result<Outcome<PullRequest>> {
    let e = match repo.create_pull(req).await {
        Ok(mut opened) => {
            let warning = patch_source::unpushed_warning(ctx, repo, req, &opened.value).await;
            opened.warnings.extend(warning);
            return Ok(opened);
        }
        Err(e) if req.edits.is_empty() && e.is_no_branch("head") => e,
        Err(e) => return Err(e),
    };
    let Some(made) = patch_source::of_unpushed(ctx, repo, req).await? else {
        return Err(unpushed(ctx, repo, &req.head, e).await);
    };
    let mut from_patch = req.clone();
    from_patch.head = HeadRef::branch("");
    from_patch.patch = Some(made.patch);
    match repo.create_pull(&from_patch).await {
        // A repository may refuse patches even if its forge accepts them. Then the branch has to be
        // pushed.
        Err(no) if matches!(no.kind(), ErrorKind::Unsupported { .. }) => {
            Err(unpushed(ctx, repo, &req.head, e).await)
        }
        Err(no) => Err(no),
        Ok(opened) => {
            let (branch, name) = (&req.head.branch, repo_name(repo.id()));
            let commits = &made.commits;
            ctx.ui.note(&text::one_line(&format!(
                "'{branch}' is not pushed to {name}: the pull request was opened with a patch from \
                 this clone ({commits})"
            )));
            Ok(opened)
        }
    }
}

/// Returns the error for a head branch that exists only in this clone.
async fn unpushed(ctx: &Ctx, repo: &Repo, head: &HeadRef, e: Error) -> Error {
    if ctx.is_here(repo).await {
        return e;
    }
    match forge_git::current_branch(ctx.git()).await {
        Ok(Some(branch)) if branch == head.branch => {
            let fork = match &head.owner {
                Some(_) => None,
                None => create_push::own_fork_remote(ctx, repo, head).await,
            };
            let remote = match fork {
                Some(fork) => Some(fork),
                None => ctx.remote_of(repo, head.owner.as_deref()).await,
            };
            let remote = remote.as_deref().unwrap_or("origin");
            let push = PushTarget::choose(remote, &branch, None).command(&branch, &[]);
            e.with_hint(format!("push it first, with --push or by hand: {push}"))
        }
        _ => e,
    }
}

/// Returns the head branch: `--head`, else the current branch.
async fn head(
    ctx: &Ctx,
    repo: &Repo,
    flag: Option<&str>,
    named: Option<String>,
    pushes: bool,
) -> Result<HeadRef> {
    if let Some(named) = named {
        return Ok(match named.split_once(':') {
            Some((place, branch)) => {
                let (owner, repo) = match place.split_once('/') {
                    Some((owner, repo)) => (owner, Some(repo.to_owned())),
                    None => (place, None),
                };
                let mut head = HeadRef::in_fork(owner, branch);
                head.repo = repo;
                head
            }
            None => HeadRef::branch(named),
        });
    }
    if flag.is_some() && !ctx.is_here(repo).await && ctx.remote_of(repo, None).await.is_none() {
        return head_elsewhere(ctx, repo, pushes).await;
    }
    ctx.current_head(repo).await?.ok_or_else(|| {
        Error::not_found(
            Noun::Branch,
            "no branch is checked out here (HEAD is detached)",
        )
        .with_hint("switch to the branch with your changes, or name it with --head")
    })
}

/// Returns the current branch as a head for `repo`, which is no remote of this clone: the branch has
/// to be on another remote, such as that of a fork, or is pushed there.
async fn head_elsewhere(ctx: &Ctx, repo: &Repo, pushes: bool) -> Result<HeadRef> {
    let name = repo_name(repo.id());
    let required = || {
        let why = format!("the `--head` flag is required: {name} is not a remote of this clone");
        Error::invalid("head", why).with_hint("name the branch, as in --head owner:branch")
    };
    let branch = forge_git::current_branch(ctx.git()).await.ok().flatten();
    let branch = branch.ok_or_else(required)?;
    let head = ctx.current_head(repo).await?;
    let mut head = head.ok_or_else(required)?;
    match locate_pushed_head(ctx, repo, &branch, &mut head).await? {
        PushedHead::Complete => Ok(head),
        _ if pushes => Ok(head),
        PushedHead::Behind { target, missing } => Err(unpushed_error(&branch, &target, missing)),
        PushedHead::Unknown => Err(required()),
    }
}

/// Asks which repository receives the pull request, if that of this clone is a fork and the user
/// chose none. gh refuses then, and names the command that chooses one.
async fn choose_base(ctx: &Ctx, repo: Repo) -> Result<Repo> {
    if ctx.working_copy()?.has_chosen_base().await? {
        return Ok(repo);
    }
    // A failure is reported when the default branch is read.
    let parent = repo.info().await.ok().and_then(|info| info.parent);
    let Some(parent) = parent else {
        return Ok(repo);
    };
    let names = [&parent, repo.id()].map(|id| text::one_line(&repo_name(id)).into_owned());
    let items: Vec<&str> = names.iter().map(String::as_str).collect();
    let chosen = prompt::choose("Which repository is the pull request for?", &items)?;
    let base = if chosen == 0 {
        ctx.forges()?.open(&parent, ctx.policy()?).await?
    } else {
        repo
    };
    let command = command_line(["git", "config", "forge.repo", &base.id().to_string()]);
    ctx.ui.note(&format!("To keep this choice: {command}"));
    Ok(base)
}

/// Returns the base branch: `--base`, else git's setting for the head branch, else forge's
/// configuration. `None` selects the repository's default branch.
async fn named_base(
    ctx: &Ctx,
    repo: &Repo,
    head: &HeadRef,
    named: Option<String>,
) -> Result<Option<String>> {
    if named.is_some() {
        return Ok(named);
    }
    if let Ok(config) = ctx.git_config().await
        && let Some(base) = config.branch(&head.branch).merge_base
    {
        return Ok(Some(base));
    }
    Ok(ctx.config_for(repo).await?.pr_base())
}

pub(super) async fn default_base(repo: &Repo) -> Result<String> {
    repo.info().await?.default_branch.ok_or_else(|| {
        Error::invalid(
            "base",
            format!("{} has no default branch", repo_name(repo.id())),
        )
        .with_hint(
            "name the base branch with --base; if the repository has no branch yet, push a first \
             commit",
        )
    })
}

async fn web(
    ctx: &Ctx,
    repo: &Repo,
    mut request: CreatePull,
    template: Option<&str>,
) -> Result<Exit> {
    if request.assignees.iter().any(|a| a == "@me") {
        let viewer = repo.viewer().await?.login;
        for assignee in &mut request.assignees {
            if assignee == "@me" {
                assignee.clone_from(&viewer);
            }
        }
    }
    let page = WebPage::NewPull {
        request: &request,
        template,
    };
    let url = match repo.web_page(&page) {
        Some(url) => url,
        None => repo.info().await?.url,
    };
    browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &url)?;
    Ok(Exit::Ok)
}
