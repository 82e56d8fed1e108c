//! `forge pr diff`.

use std::path::Path;

use clap::Args;
use forge::SelectedPull;
use forge_core::{
    Error, ErrorKind, Locator, PageReq, PathFilter, Result, WebPage, call,
    diff::quote_path,
    glob, locator,
    model::{DiffFormat, DiffReq, FileChange, PrFields, Rounds},
    text,
};
use futures::StreamExt as _;

use crate::{
    cmd::pages,
    ctx::Ctx,
    exit::Exit,
    gh_habits::DIFF_PATH,
    select::{self, Unnamed},
    ui::{
        browser,
        diff::{DiffOptions, Escapes, Printer, stat_text},
    },
};

/// `forge pr diff`
#[derive(Args, Debug, Default)]
pub struct DiffArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Show only these files, directories and globs; paths start at the repository's root
    #[arg(last = true, value_name = "path")]
    pub paths: Vec<String>,
    /// Do not escape terminal control sequences
    #[arg(long)]
    pub allow_escape_sequences: bool,
    /// Leave out files that match these globs, by path or by base name
    #[arg(short, long, value_name = "patterns", value_delimiter = ',')]
    pub exclude: Vec<String>,
    /// Print only the names of the changed files
    #[arg(long)]
    pub name_only: bool,
    /// Print a patch for each commit, as git format-patch writes it
    #[arg(long, conflicts_with = "name_only")]
    pub patch: bool,
    /// Show how many lines each file changes, as git does
    #[arg(long, conflicts_with_all = ["name_only", "patch", "web"])]
    pub stat: bool,
    /// Show this round instead of the newest; the first round is 0
    #[arg(long, value_name = "number", conflicts_with_all = ["name_only", "stat", "web"])]
    pub round: Option<usize>,
    /// Show only files whose changes differ from this earlier round
    #[arg(long, value_name = "number", conflicts_with_all = ["name_only", "stat", "web", "patch"])]
    pub since: Option<usize>,
    /// Open the diff in the browser
    #[arg(short, long)]
    pub web: bool,
}

/// Prints the diff.
///
/// # Errors
///
/// Fails if the diff cannot be read. Also fails on a pipe if the diff contains terminal escapes,
/// because a program behind the pipe would print them.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: DiffArgs) -> Result<Exit> {
    let named = args.selector.as_deref();
    let rounds = rounds(ctx, &args)?;
    let paths = match args.paths.is_empty() {
        true => None,
        false => Some(PathFilter::new(&args.paths)?),
    };
    let selected =
        select::pull_to_read(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await;
    let mut selected = selected.map_err(|e| match named {
        Some(name) if e.is_not_found() && Path::new(name).exists() => e.with_hint(DIFF_PATH),
        _ => e,
    })?;
    if args.web {
        let url = selected.view(PrFields::NONE).await?.url;
        let page = selected.repo.web_page(&WebPage::Files(&url)).unwrap_or(url);
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &page)?;
        return Ok(Exit::Ok);
    }
    let asked = args.paths.join(" ");
    let mut is_empty = true;
    if args.name_only {
        for_each_file(ctx, &selected, &args.exclude, paths.as_ref(), |file| {
            is_empty = false;
            ctx.ui.line(&path_line(&file.path))
        })
        .await?;
    } else if args.stat {
        let (mut files, mut held) = (Vec::new(), 0_usize);
        for_each_file(ctx, &selected, &args.exclude, paths.as_ref(), |file| {
            held = held.saturating_add(weight(&file));
            files.push(file);
            match held > call::MAX_HELD {
                true => Err(too_many_names()),
                false => Ok(()),
            }
        })
        .await?;
        let width = ctx.ui.is_tty().then(|| ctx.ui.width());
        is_empty = files.is_empty();
        ctx.ui.page(&stat_text(&files, width, ctx.ui.palette()))?;
    } else {
        is_empty = stream(ctx, &selected, args, paths, rounds).await?;
    }
    if is_empty && !asked.is_empty() {
        ctx.ui.caution(&format!(
            "no changed file matches {asked}; paths start at the top of the repository"
        ));
    }
    Ok(Exit::Ok)
}

/// Number of changed files per request. A forge with smaller pages needs several requests.
const ROWS_PER_PAGE: usize = 10_000;

/// Returns how much memory a file in `--stat` needs at most, in bytes: for its names, their quoted
/// forms and the printed line.
fn weight(file: &FileChange) -> usize {
    let previous = file.previous_path.as_ref().map_or(0, String::len);
    file.path.len().saturating_add(previous) * 4 + 128
}

fn too_many_names() -> Error {
    let most = call::MAX_HELD >> 20;
    let message = format!("the names of the changed files take more than {most} MiB");
    Error::new(ErrorKind::Protocol, message)
        .with_hint("pass --name-only, which prints the names without collecting them")
}

/// Passes the changed files to `take`, and prints the warnings of the list.
async fn for_each_file(
    ctx: &Ctx,
    selected: &SelectedPull,
    exclude: &[String],
    paths: Option<&PathFilter>,
    mut take: impl FnMut(FileChange) -> Result<()>,
) -> Result<()> {
    let SelectedPull { repo, id, .. } = selected;
    let fetch = async |page: PageReq| repo.files(id, page).await;
    let warnings = pages::for_each(ROWS_PER_PAGE, fetch, |file: FileChange| {
        let is_excluded = exclude.iter().any(|g| glob::matches(g, &file.path));
        let is_named = |paths: &PathFilter| paths.is_touched_by(std::slice::from_ref(&file));
        match !is_excluded && paths.is_none_or(is_named) {
            true => take(file),
            false => Ok(()),
        }
    })
    .await?;
    for warning in &warnings {
        ctx.ui.warning(warning);
    }
    Ok(())
}

/// Formats a path on one line as git does. Control characters and hidden characters become visible.
fn path_line(path: &str) -> String {
    text::neutralise(&quote_path(path)).into_owned()
}

/// Returns the round in the URL of a pull request. A round is one submitted version of a pull
/// request on tangled.
pub(super) fn addressed_round(ctx: &Ctx, selector: &str) -> Result<Option<usize>> {
    let parsed = locator::parse(selector, ctx.forges()?.hosts());
    Ok(match parsed.map(|parsed| parsed.locator) {
        Ok(Locator::Pull { round, .. }) => round.and_then(|round| usize::try_from(round).ok()),
        _ => None,
    })
}

/// Returns the requested rounds: from flags, or from a URL.
fn rounds(ctx: &Ctx, args: &DiffArgs) -> Result<Option<Rounds>> {
    let addressed = match &args.selector {
        Some(text) => addressed_round(ctx, text)?,
        None => None,
    };
    if addressed.is_some() && (args.name_only || args.stat || args.web) {
        return Err(Error::invalid(
            "round",
            "`--name-only`, `--stat` and `--web` work only with the newest round, and the address \
             names a round",
        )
        .with_hint("name the pull request without its round"));
    }
    let round = args.round.or(addressed);
    Ok((round.is_some() || args.since.is_some()).then(|| Rounds::new(round, args.since)))
}

/// Prints the diff. Returns true if there was nothing to print.
async fn stream(
    ctx: &Ctx,
    selected: &SelectedPull,
    args: DiffArgs,
    paths: Option<PathFilter>,
    rounds: Option<Rounds>,
) -> Result<bool> {
    let format = if args.patch {
        DiffFormat::Patch
    } else {
        DiffFormat::Diff
    };
    let mut req = DiffReq::default();
    req.format = format;
    req.rounds = rounds;
    req.clone = ctx.clone_of(&selected.repo).await;
    let diff = selected.repo.diff(&selected.id, &req).await?;
    for warning in &diff.warnings {
        ctx.ui.warning(warning);
    }
    let escapes = if args.allow_escape_sequences {
        Escapes::Allow
    } else if ctx.ui.is_tty() {
        Escapes::Neutralise
    } else {
        Escapes::Refuse
    };
    let mut printer = Printer::new(DiffOptions {
        exclude: args.exclude,
        paths,
        escapes,
        palette: ctx.ui.palette(),
        mails: args.patch,
    });
    let mut pager = ctx.ui.start_pager()?;
    let mut body = diff.body;
    let mut out = Vec::new();
    let mut is_empty = true;
    loop {
        out.clear();
        let next = body.next().await;
        let ended = next.is_none();
        let fed = match next {
            Some(Ok(chunk)) => printer.feed(&chunk, &mut out),
            Some(Err(e)) => Err(e),
            None => printer.finish(&mut out),
        };
        // Print each chunk at once, because the reader may wait for the first line while git
        // computes the last. Report a failure only after the chunks.
        let wanted = match &mut pager {
            Some(pager) => pager.write(&out)?,
            None => {
                ctx.ui.write(&out)?;
                ctx.ui.flush()?;
                true
            }
        };
        is_empty &= out.is_empty();
        fed?;
        if ended || !wanted {
            break;
        }
    }
    if let Some(pager) = pager {
        pager.finish()?;
    }
    Ok(is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_paths_are_quoted() {
        assert_eq!(path_line("a b/ä.rs"), "a b/ä.rs");
        assert_eq!(path_line("a\n\"b\u{1b}"), "\"a\\n\\\"b\\033\"");
        assert_eq!(path_line("\u{9b}"), "\"\\302\\233\"");
    }

    #[test]
    fn quoted_path_shows_hidden_characters() {
        let shown = path_line("inv\t\u{202e}fdp.exe\u{200b}");
        assert_eq!(shown, "\"inv\\t<U+202E>fdp.exe<U+200B>\"");
    }
}
