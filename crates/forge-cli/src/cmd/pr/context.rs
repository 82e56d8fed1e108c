//! `forge pr context`.

use std::collections::BTreeSet;

use clap::Args;
use forge::context::{ContextReq, ContextSection, context};
use forge_core::{Error, Locator, Result, locator, model::PrFields};

use super::context_text::shown;
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::json::{CONTEXT_FIELDS, Selection},
};

/// `forge pr context`
#[derive(Args, Debug, Default)]
pub struct ContextArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Sections: comments, reviews, ci, ci_logs, linked_issues, related_prs, diff, files, history
    /// [default: comments,reviews,ci,linked_issues,diff, or those of --json]
    #[arg(short, long, value_name = "sections", value_delimiter = ',')]
    pub include: Vec<String>,
    /// Show so many bytes of the diff
    #[arg(long, value_name = "bytes", default_value_t = forge::context::DEFAULT_DIFF_BYTES)]
    pub max_diff: usize,
    /// Lines of context around changes, where the forge can choose
    #[arg(short = 'U', long, value_name = "lines")]
    pub context_lines: Option<u32>,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Runs it.
///
/// # Errors
/// When the pull request cannot be read; a section that cannot be read is a warning.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ContextArgs) -> Result<Exit> {
    let names = CONTEXT_FIELDS.iter().map(|f| f.name);
    let selection = Selection::from_args(&args.json.or_all(names), CONTEXT_FIELDS)?;
    let named_fields = args.json.json.as_ref().is_some_and(|f| !f.is_empty());
    let hosts = ctx.forges()?.hosts().clone();
    let mut req = ContextReq::new(hosts);
    if !args.include.is_empty() {
        let sections = args.include.iter().map(|name| ContextSection::parse(name));
        req.include = sections.collect::<Result<BTreeSet<_>>>()?;
    } else if let Some(selection) = selection.as_ref().filter(|_| named_fields) {
        req.include = selection.context_sections();
    }
    req.diff_bytes = args.max_diff;
    req.context_lines = args.context_lines;
    let named = args.selector.as_deref();
    check_repo(ctx, repo, named)?;
    let selected = select::pull(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    if req.wants(ContextSection::Diff) {
        req.clone = ctx.clone_of(&selected.repo).await;
    }
    let found = context(&selected.repo, &selected.id, &req).await?;
    for error in &found.errors {
        let mut warning = forge_core::Warning::new(&error.message);
        warning.hint.clone_from(&error.hint);
        ctx.ui.warning(&warning);
    }
    for warning in &found.warnings {
        ctx.ui.warning(warning);
    }
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&found))?,
        None => ctx.ui.page(&shown(&found, ctx.ui.palette()))?,
    }
    Ok(Exit::Ok)
}

/// A URL that names another repository than `-R` is a mistake in one of the two.
fn check_repo(ctx: &Ctx, repo: Option<&str>, selector: Option<&str>) -> Result<()> {
    let (Some(flag), Some(selector)) = (repo, selector) else {
        return Ok(());
    };
    let hosts = ctx.forges()?.hosts();
    let of = |text: &str| match locator::parse(text, hosts).map(|parsed| parsed.locator) {
        Ok(Locator::Pull { id, .. }) => Some(id.repo),
        Ok(Locator::Repo(id)) => Some(id),
        _ => None,
    };
    match (of(flag), of(selector)) {
        (Some(of_flag), Some(named))
            if ctx.forges()?.absolute(&of_flag).comparison_key()
                != ctx.forges()?.absolute(&named).comparison_key() =>
        {
            Err(Error::invalid(
                "repo",
                format!("-R is {of_flag}, and the pull request is one of {named}"),
            )
            .with_hint("name the repository once"))
        }
        _ => Ok(()),
    }
}
