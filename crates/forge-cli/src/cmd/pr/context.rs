//! `forge pr context`.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use forge::{
    SelectedPull,
    context::{
        ContextEvent, ContextObserver, ContextReq, ContextSection, LATEST_REVIEW, PullContext,
        context,
    },
};
use forge_core::{
    Error, Hint, Locator, Repo, RepoId, Result, locator,
    model::{DiffReq, PrFields},
};

use super::{clone_branch::commit, context_html, context_text::render_context};
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{
        json::{CONTEXT_FIELDS, Selection},
        value::safe,
    },
};

/// `forge pr context`
#[derive(Args, Debug, Default)]
pub struct ContextArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Sections: comments, reviews, ci, ci_logs, linked_issues, related_prs, diff, files, history,
    /// source [default: comments,reviews,ci,linked_issues,diff, or those of --json, or of
    /// context.include]
    #[arg(short, long, value_name = "sections", value_delimiter = ',')]
    pub include: Vec<String>,
    /// Maximum size of the shown diff, in bytes
    #[arg(long, value_name = "bytes", default_value_t = forge::context::DEFAULT_DIFF_BYTES)]
    pub max_diff: usize,
    /// Lines of context around changes, if git computes the diff [default: 5, or
    /// context.diff_context_lines]
    #[arg(short = 'U', long, value_name = "lines")]
    pub context_lines: Option<u32>,
    /// Show the changes since a commit (in a clone, any git revision), the review with this id, or
    /// your latest review ("review"), instead of the whole diff; also after a rebase
    #[arg(long, value_name = "review")]
    pub since: Option<String>,
    /// Write an HTML page to a file ("-" for standard output); without --include it has the default
    /// sections and related_prs
    #[arg(long, value_name = "file", conflicts_with_all = ["json", "jq", "template"])]
    pub html: Option<PathBuf>,
    /// Report each read on stderr, one JSON object per line
    #[arg(long, value_name = "format", value_parser = ["jsonl"])]
    pub events: Option<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Prints the context of a pull request.
///
/// # Errors
///
/// Fails if the pull request cannot be read. A section that cannot be read causes only a warning.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ContextArgs) -> Result<Exit> {
    let names = CONTEXT_FIELDS.iter().map(|f| f.name);
    let selection = Selection::from_args(&args.json.or_all(names), CONTEXT_FIELDS)?;
    let named_fields = args.json.json.as_ref().is_some_and(|f| !f.is_empty());
    let mut req = ctx.forges()?.context_req();
    if args.events.is_some() {
        req.observer = ContextObserver::new(print_event);
    }
    if !args.include.is_empty() {
        let sections = args.include.iter().map(|name| ContextSection::parse(name));
        req.include = sections.collect::<Result<BTreeSet<_>>>()?;
    } else if let Some(selection) = selection.as_ref().filter(|_| named_fields) {
        req.include = selection.context_sections();
    } else {
        if args.html.is_some() {
            req.include = ContextSection::DEFAULT.into();
            req.include.insert(ContextSection::RelatedPrs);
        }
        if args.since.is_some() {
            req.include.remove(&ContextSection::Diff);
        }
    }
    req.diff_bytes = args.max_diff;
    req.context_lines = args.context_lines.or(req.context_lines);
    req.since.clone_from(&args.since);
    let selected = match selected_pull(ctx, repo, args, &mut req).await {
        Ok(selected) => selected,
        Err(e) => {
            if args.events.is_some() {
                print_failed_selection(repo, args, &req, &e);
            }
            return Err(e);
        }
    };
    let mut found = context(&selected.repo, &selected.id, &req).await?;
    found.warnings.extend(selected.ambiguity());
    for error in &found.errors {
        let mut warning = forge_core::Warning::new(&error.message);
        warning.hint.clone_from(&error.hint);
        ctx.ui.warning(&warning);
    }
    for warning in &found.warnings {
        ctx.ui.warning(warning);
    }
    match (selection, &args.html) {
        (Some(selection), _) => {
            append_commands(&mut found, |hint| ctx.ui.advice(hint));
            selection.print(&ctx.ui, &selection.object(&found))?;
        }
        (None, Some(file)) => context_html::write(&ctx.ui, &found, file)?,
        (None, None) => {
            let advice = |hint: &Hint| ctx.ui.advice(hint);
            ctx.ui
                .page(&render_context(&found, ctx.ui.palette(), advice))?;
        }
    }
    Ok(Exit::Ok)
}

/// Returns the pull request that the user named, and sets the parts of `req` that depend on its
/// repository.
async fn selected_pull(
    ctx: &Ctx,
    repo: Option<&str>,
    args: &ContextArgs,
    req: &mut ContextReq,
) -> Result<SelectedPull> {
    let named = args.selector.as_deref();
    check_repo(ctx, repo, named)?;
    let selected =
        select::newest_pull(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    check_record(ctx, repo, named, selected.repo.id()).await?;
    let needs_commits = [ContextSection::Diff, ContextSection::Source];
    if req.since.is_some() || needs_commits.into_iter().any(|section| req.wants(section)) {
        req.clone = ctx.clone_of(&selected.repo).await;
    }
    req.since_commit = since_commit(ctx, &selected.repo, req).await?;
    Ok(selected)
}

/// Resolves the git revision of `--since` to a commit, if a clone of the repository is available.
async fn since_commit(ctx: &Ctx, repo: &Repo, req: &ContextReq) -> Result<Option<String>> {
    let is_name = |text: &&str| *text != LATEST_REVIEW && !DiffReq::is_commit(text);
    let Some(name) = req.since.as_deref().filter(is_name) else {
        return Ok(None);
    };
    match req.clone.is_some() || ctx.is_here(repo).await {
        true => commit(ctx.git(), name).await,
        false => Ok(None),
    }
}

/// Appends to each hint the command that carries it out.
fn append_commands(found: &mut PullContext, advice: impl Fn(&Hint) -> String) {
    let since = found.since.iter_mut().map(|since| &mut since.diff);
    let diffs = found.diff.iter_mut().chain(since).map(|d| &mut d.recovery);
    let warnings = found.warnings.iter_mut().map(|w| &mut w.hint);
    let errors = found.errors.iter_mut().map(|e| &mut e.hint);
    for hint in diffs.chain(warnings).chain(errors).flatten() {
        *hint = Hint::from(advice(hint));
    }
}

/// Prints the events if the pull request could not be found. The events contain the selector as
/// typed, because neither a number nor a repository is known.
fn print_failed_selection(repo: Option<&str>, args: &ContextArgs, req: &ContextReq, e: &Error) {
    print_event(&ContextEvent::Start {
        pr_identifier: args.selector.as_deref().unwrap_or(".").to_owned(),
        repo: repo.unwrap_or_default().to_owned(),
        include: req.include.iter().map(|s| s.name()).collect(),
    });
    print_event(&ContextEvent::Error {
        error_type: e.code(),
        message: e.message().to_owned(),
    });
}

fn print_event(event: &ContextEvent) {
    let json = serde_json::to_string(event).unwrap_or_default();
    // A closed stderr must not stop the command.
    let _ = writeln!(io::stderr().lock(), "{}", safe(json));
}

/// Refuses a URL of a repository other than `-R`, because either the URL or the flag is a mistake.
pub(super) fn check_repo(ctx: &Ctx, repo: Option<&str>, selector: Option<&str>) -> Result<()> {
    let (Some(flag), Some(selector)) = (repo, selector) else {
        return Ok(());
    };
    match (named_repo(ctx, flag)?, named_repo(ctx, selector)?) {
        (Some(of_flag), Some(named)) if of_flag.comparison_key() != named.comparison_key() => {
            Err(repo_mismatch_error(&of_flag, &named))
        }
        _ => Ok(()),
    }
}

/// Refuses an at-uri of a repository other than `-R`. An at-uri does not contain the repository, so
/// the check runs after the pull request was `found`.
pub(super) async fn check_record(
    ctx: &Ctx,
    repo: Option<&str>,
    selector: Option<&str>,
    found: &RepoId,
) -> Result<()> {
    let (Some(flag), Some(selector)) = (repo, selector) else {
        return Ok(());
    };
    let forges = ctx.forges()?;
    let selector = locator::parse(selector, forges.hosts()).map(|parsed| parsed.locator);
    let (Ok(Locator::Record(_)), Some(of_flag)) = (selector, named_repo(ctx, flag)?) else {
        return Ok(());
    };
    if of_flag.comparison_key() == found.comparison_key() {
        return Ok(());
    }
    // A repository on tangled has several names, so the repositories of the flag and of the pull
    // request are resolved before the comparison.
    let of_flag = match of_flag.kind == found.kind {
        true => forges.open(&of_flag, ctx.policy()?).await?.info().await?.id,
        false => of_flag,
    };
    match of_flag.comparison_key() == found.comparison_key() {
        true => Ok(()),
        false => Err(repo_mismatch_error(&of_flag, found)),
    }
}

/// Returns the repository that a locator contains; `None` if the forge must be asked for the
/// repository.
fn named_repo(ctx: &Ctx, text: &str) -> Result<Option<RepoId>> {
    let forges = ctx.forges()?;
    let named = match locator::parse(text, forges.hosts()).map(|parsed| parsed.locator) {
        Ok(Locator::Pull { id, .. }) => id.repo,
        Ok(Locator::Repo(id)) => id,
        _ => return Ok(None),
    };
    Ok(Some(forges.absolute(&named)))
}

fn repo_mismatch_error(of_flag: &RepoId, named: &RepoId) -> Error {
    Error::invalid(
        "repo",
        format!("-R is {of_flag}, but the pull request is in {named}"),
    )
    .with_hint("name the repository once")
}
