//! Title and description of a new pull request: from flags, commits, a template, an editor or
//! questions.

use forge_core::{
    Capability, Error, ErrorKind, PrId, Repo, RepoPath, Result, WebPage,
    model::{CreatePull, HeadRef, PrFields, PullRequest},
    text,
};
use forge_git::Git;

use super::{
    attach, body,
    create::default_base,
    create_metadata as metadata,
    draft::PullDraft,
    fill::{self, CommitMessage, FillSource},
    shared::{has, names, non_empty},
    templates::{self, TemplateKind},
};
use crate::{
    cmd::pr::create::CreateArgs,
    ctx::Ctx,
    ui::{editor, prompt},
};

/// Title, description and metadata.
pub(super) struct PullText {
    pub(super) draft: PullDraft,
    /// True if the user continues in the browser.
    pub(super) in_browser: bool,
    /// True if the user typed text that must not be lost.
    pub(super) typed: bool,
}

/// The commits of the pull request.
#[derive(Clone, Copy)]
pub(super) struct PullCommits<'a> {
    /// The base branch; `None` for the default branch.
    pub(super) base: Option<&'a str>,
    /// The pull request that the new one depends on. Its commits are excluded.
    pub(super) below: Option<&'a PrId>,
    /// The local branch that is or will be pushed; `None` if `--head` names a pushed branch.
    pub(super) local: Option<&'a str>,
}

/// Checks the flags without reading anything.
pub(super) fn check(ctx: &Ctx, args: &CreateArgs) -> Result<()> {
    let fills = [args.fill, args.fill_first, args.fill_verbose]
        .into_iter()
        .filter(|f| *f)
        .count();
    let refuse = |message: &str| Err(Error::invalid("body", message));
    if fills > 1 {
        return refuse("only one of `--fill`, `--fill-first` or `--fill-verbose` can be used");
    }
    if args.web && args.dry_run {
        return refuse("`--dry-run` is not supported when using `--web`");
    }
    if args.web && !args.reviewer.is_empty() {
        return refuse("the `--reviewer` flag is not supported with `--web`");
    }
    if args.web && args.draft {
        return refuse("the `--draft` flag is not supported with `--web`");
    }
    if args.web && args.depends_on.is_some() {
        return refuse("the `--depends-on` flag is not supported with `--web`");
    }
    if args.web && args.no_maintainer_edit {
        return refuse("the `--no-maintainer-edit` flag is not supported with `--web`");
    }
    for (flag, given) in [("--web", args.web), ("--dry-run", args.dry_run)] {
        if given && !args.attach.attach.is_empty() {
            return Err(attach::attach_conflict_error(flag));
        }
    }
    editor::check_flag(&ctx.ui, args.editor)?;
    let body = args.body.is_some() || args.body_file.is_some() || args.template.is_some();
    let complete =
        fills > 0 || args.web || args.recover.is_some() || (args.title.is_some() && body);
    if !complete && !ctx.ui.can_prompt() {
        return Err(Error::invalid(
            "title",
            "must provide `--title` and `--body` (or `--fill` or `--fill-first` or `--fill-verbose`) when not running interactively",
        ));
    }
    Ok(())
}

/// Composes title and description; `None` if the user cancels.
pub(super) async fn write(
    ctx: &Ctx,
    repo: &Repo,
    args: &CreateArgs,
    onto: PullCommits<'_>,
    head: &HeadRef,
) -> Result<Option<PullText>> {
    let mut title = args.title.clone();
    let (body, file) = (args.body.as_deref(), args.body_file.as_deref());
    let mut text = body::read_new(ctx, body, file, repo)?;
    let how = fill_of(args);
    if let Some(how) = how {
        let (filled_title, filled_body) =
            fill::fill(&commits(ctx, repo, onto, head).await?, how, &head.branch)?;
        title = title.or(Some(filled_title));
        text = text.or(Some(filled_body));
    }
    let mut draft = recovered(args)?;
    // The initial description, which the questions on a terminal offer for editing.
    let mut start = None;
    if args.recover.is_some() {
        start = Some(std::mem::take(&mut draft.body));
    }
    // With `--web`, the form in the browser reads the template itself. Recovered text takes
    // precedence over a template.
    if let Some(name) = args.template.as_ref().filter(|_| !args.web)
        && start.as_ref().is_none_or(String::is_empty)
    {
        let template = templates::selected(ctx, TemplateKind::Pull, name).await?;
        start = Some(template.body);
    }
    let recovered_title = std::mem::take(&mut draft.title);
    let is_given = title.is_some() && text.is_some() && !args.editor;
    if args.web || !ctx.ui.can_prompt() || is_given {
        draft.title = title.unwrap_or(recovered_title);
        draft.body = text.or(start).unwrap_or_default();
        return Ok(Some(PullText {
            draft,
            in_browser: false,
            typed: false,
        }));
    }
    let recovers = args.recover.is_some();
    let (offered_title, offered_body) = match title.is_some() && (text.is_some() || recovers) {
        true => <(String, String)>::default(),
        // The default texts are optional, so failures to find them are ignored.
        false => default_text(ctx, repo, onto, head).await,
    };
    draft.title = match title {
        Some(title) => title,
        None if !recovered_title.is_empty() => recovered_title,
        None => offered_title,
    };
    let start = DescriptionStart {
        text: start,
        commits: if recovers {
            String::new()
        } else {
            offered_body
        },
    };
    let asked = ask_text(ctx, repo, args, &mut draft, text, start).await;
    let in_browser = match asked {
        Ok(NextStep::Cancel) => return Ok(None),
        Ok(next) => next == NextStep::Browser,
        Err(e) => {
            if !matches!(e.kind(), ErrorKind::Cancelled) {
                draft.keep(&ctx.ui);
            }
            return Err(e);
        }
    };
    Ok(Some(PullText {
        draft,
        in_browser,
        typed: true,
    }))
}

/// Returns the draft of `--recover`, overridden by flags.
fn recovered(args: &CreateArgs) -> Result<PullDraft> {
    let mut draft = match &args.recover {
        Some(path) => PullDraft::load(path)?,
        None => PullDraft::default(),
    };
    draft.draft |= args.draft;
    for (list, flag) in [
        (&mut draft.reviewers, &args.reviewer),
        (&mut draft.assignees, &args.assignee),
        (&mut draft.labels, &args.label),
        (&mut draft.projects, &args.project),
    ] {
        if !flag.is_empty() {
            *list = names(flag);
        }
    }
    draft.milestone = non_empty(args.milestone.as_ref()).or(draft.milestone);
    Ok(draft)
}

fn fill_of(args: &CreateArgs) -> Option<FillSource> {
    if args.fill_first {
        Some(FillSource::First)
    } else if args.fill_verbose {
        Some(FillSource::Verbose)
    } else {
        args.fill.then_some(FillSource::All)
    }
}

/// Returns true if [`write`] will read commits. Reading commits needs the base branch.
pub(super) fn reads_commits(ctx: &Ctx, args: &CreateArgs) -> bool {
    fill_of(args).is_some() || ctx.ui.can_prompt()
}

/// Composes title and description as `--fill` does. The questions on a terminal offer both for
/// editing.
async fn default_text(
    ctx: &Ctx,
    repo: &Repo,
    onto: PullCommits<'_>,
    head: &HeadRef,
) -> (String, String) {
    let commits = commits(ctx, repo, onto, head).await.unwrap_or_default();
    fill::fill(&commits, FillSource::All, &head.branch)
        .unwrap_or_else(|_| (fill::humanised(&head.branch), String::new()))
}

/// The initial description, used if no flag sets the description.
struct DescriptionStart {
    /// The template or the recovered text; `None` if a template is still to be chosen.
    text: Option<String>,
    /// The messages of the commits, placed above the template.
    commits: String,
}

impl DescriptionStart {
    /// Returns the description. `template` is used if the text is missing.
    fn with(self, template: String) -> String {
        let text = self.text.unwrap_or(template);
        match (self.commits.trim_end(), text.is_empty()) {
            ("", _) => text,
            (commits, true) => commits.to_owned(),
            (commits, false) => format!("{commits}\n\n{text}"),
        }
    }
}

/// The user's choice after title and description.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Submit,
    Draft,
    Browser,
    Metadata,
    Cancel,
}

/// Asks for the title and description that no flag sets, then for the next step. `start` is the
/// initial description.
async fn ask_text(
    ctx: &Ctx,
    repo: &Repo,
    args: &CreateArgs,
    draft: &mut PullDraft,
    body: Option<String>,
    start: DescriptionStart,
) -> Result<NextStep> {
    let command = ctx.config()?.editor();
    if args.editor {
        let start = match (body, start.text.is_some()) {
            (Some(body), _) => body,
            (None, true) => start.with(String::new()),
            (None, false) => start.with(templates::default_text(ctx, TemplateKind::Pull).await),
        };
        let written = editor::edit(command.as_deref(), &format!("{}\n\n{start}", draft.title))?;
        let (first, rest) = written.split_once('\n').unwrap_or((&written, ""));
        draft.title = first.trim().to_owned();
        draft.body = rest.trim().to_owned();
        return Ok(NextStep::Submit);
    }
    if args.title.is_none() {
        // Shown on one line, because another person's commit subject may contain terminal escapes.
        draft.title = prompt::title(&text::one_line(&draft.title))?;
    }
    match body {
        Some(body) => draft.body = body,
        None => {
            draft.body = match start.text.is_some() {
                true => start.with(String::new()),
                false => {
                    let blank = "Open a blank pull request";
                    start.with(templates::choose(ctx, TemplateKind::Pull, blank).await?)
                }
            };
            body::ask(command.as_deref(), &mut draft.body)?;
        }
    }
    choose_next(repo, args, draft).await
}

async fn choose_next(repo: &Repo, args: &CreateArgs, draft: &mut PullDraft) -> Result<NextStep> {
    let can_draft = has(repo, Capability::PrCreateDraft);
    let can_add = !metadata::supported_kinds(repo).is_empty();
    let mut form = CreatePull::new("", "");
    form.base = Some(String::new());
    let page = WebPage::NewPull {
        request: &form,
        template: None,
    };
    let plain = args.patch.is_none() && args.edit.is_empty() && args.delete.is_empty();
    let plain = plain && args.depends_on.is_none() && args.attach.attach.is_empty();
    let has_form = plain && !args.dry_run && repo.web_page(&page).is_some();
    let mut asked = false;
    loop {
        let offered = [
            (!draft.draft, NextStep::Submit, "Submit"),
            (can_draft, NextStep::Draft, "Submit as draft"),
            (
                has_form && !draft.has_metadata(),
                NextStep::Browser,
                "Continue in browser",
            ),
            (can_add && !asked, NextStep::Metadata, "Add metadata"),
            (true, NextStep::Cancel, "Cancel"),
        ];
        let offered: Vec<_> = offered
            .into_iter()
            .filter(|(is_there, ..)| *is_there)
            .collect();
        let titles: Vec<&str> = offered.iter().map(|(_, _, title)| *title).collect();
        let chosen = prompt::choose("What's next?", &titles)?;
        match offered
            .get(chosen)
            .map_or(NextStep::Cancel, |(_, next, _)| *next)
        {
            NextStep::Metadata => {
                metadata::ask_metadata(repo, draft).await?;
                asked = true;
            }
            NextStep::Draft => {
                draft.draft = true;
                return Ok(NextStep::Submit);
            }
            next => return Ok(next),
        }
    }
}

/// Returns the commits of the branch, usually from this clone. If `repo` is a directory, its
/// commits are read there in two cases: it is the current repository, or this clone lacks the
/// branch.
async fn commits(
    ctx: &Ctx,
    repo: &Repo,
    onto: PullCommits<'_>,
    head: &HeadRef,
) -> Result<Vec<CommitMessage>> {
    let start = match (onto.below, onto.base) {
        (Some(below), _) => RangeStart::Pull(Box::new(repo.pull(below, PrFields::NONE).await?)),
        (None, Some(base)) => RangeStart::Branch(base.to_owned()),
        (None, None) => RangeStart::Branch(default_base(repo).await?),
    };
    let head_name = name_head_ref(ctx, repo, onto.local, head).await;
    let clone = ctx.git();
    if let RepoPath::Dir(dir) = &repo.id().path
        && (ctx.is_here(repo).await || !fill::has(clone, &head_name).await)
    {
        let git = clone.in_dir(dir);
        let start = start.known_as(&git, &[]).await?;
        let branch = format!("refs/heads/{}", head.branch);
        return fill::messages(&git, &start, &branch).await;
    }
    let config = ctx.git_config().await?;
    let forges = ctx.forges()?;
    let wanted = repo.id().comparison_key();
    let mut remotes: Vec<&str> = Vec::new();
    for remote in &config.remotes {
        let id = forges.remote_repo(ctx.place(), &remote.url).await;
        if id.is_ok_and(|id| id.comparison_key() == wanted) {
            remotes.push(&remote.name);
        }
    }
    let start = start.known_as(clone, &remotes).await?;
    fill::messages(clone, &start, &head_name).await
}

/// Returns this clone's ref with the commits of the pull request: the local branch `local`, else the
/// remote-tracking branch of `head`, else the local branch of that name.
async fn name_head_ref(ctx: &Ctx, repo: &Repo, local: Option<&str>, head: &HeadRef) -> String {
    if local.is_none()
        && let Some(remote) = ctx.remote_of(repo, head.owner.as_deref()).await
    {
        let tracking = format!("refs/remotes/{remote}/{}", head.branch);
        if fill::has(ctx.git(), &tracking).await {
            return tracking;
        }
    }
    format!("refs/heads/{}", local.unwrap_or(&head.branch))
}

/// The start of the commit range, exclusive.
enum RangeStart {
    Branch(String),
    Pull(Box<PullRequest>),
}

impl RangeStart {
    /// Resolves the start in a clone. For a pull request, this is its head commit, or else its head
    /// branch.
    async fn known_as(&self, git: &Git, remotes: &[&str]) -> Result<String> {
        let pull = match self {
            Self::Branch(branch) => return fill::known_as(git, branch, remotes).await,
            Self::Pull(pull) => pull,
        };
        if let Some(oid) = &pull.head_oid {
            let commit = format!("{oid}^{{commit}}");
            if fill::has(git, &commit).await {
                return Ok(commit);
            }
        }
        // A branch of a fork is not used, because this clone may have an unrelated branch of the
        // same name.
        if !pull.is_cross_repository()
            && let Ok(branch) = fill::known_as(git, &pull.head_branch, remotes).await
        {
            return Ok(branch);
        }
        Err(Error::invalid(
            "depends_on",
            format!("this clone does not have the commits of {}", pull.id),
        )
        .with_hint("fetch them, or pass --title and --body"))
    }
}
