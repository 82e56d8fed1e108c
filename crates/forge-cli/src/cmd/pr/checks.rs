//! `forge pr checks`.

use std::time::Duration;

use clap::Args;
use forge::{
    SelectedPull,
    context::{Pace, Pacer},
};
use forge_core::{
    Error, ErrorKind, Result, Retry, WebPage,
    model::{Check, CheckStatus, ChecksReport, PrFields},
    text,
};

use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{
        browser,
        color::Palette,
        json::{CHECK_FIELDS, Selection, bucket},
        table::{self, Cell, Column},
        time::elapsed,
    },
};

/// `forge pr checks`
#[derive(Args, Debug, Default)]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct ChecksArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Stop --watch at the first failure
    #[arg(long, requires = "watch")]
    pub fail_fast: bool,
    /// Seconds between two requests of --watch
    #[arg(
        short,
        long,
        value_name = "seconds",
        default_value_t = 10,
        requires = "watch"
    )]
    pub interval: u64,
    /// Only checks that the base branch requires
    #[arg(long)]
    pub required: bool,
    /// First run the failed and cancelled checks again
    #[arg(long, conflicts_with = "web")]
    pub rerun_failed: bool,
    /// Wait until the checks have finished
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Open the checks in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Prints the checks.
///
/// # Errors
///
/// Fails if the forge has no checks, or the pull request has none.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ChecksArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, CHECK_FIELDS)?;
    let named = args.selector.as_deref();
    let mut selected =
        select::pull_to_read(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    if args.web {
        let url = selected.view(PrFields::NONE).await?.url;
        let page = selected
            .repo
            .web_page(&WebPage::Checks(&url))
            .unwrap_or(url);
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &page)?;
        return Ok(Exit::Ok);
    }
    if args.rerun_failed {
        let again = selected.repo.rerun_failed_checks(&selected.id).await?;
        let again = ctx.ui.outcome(again)?;
        if !again.is_empty() {
            let names: Vec<_> = again.iter().map(|c| text::one_line(&c.name)).collect();
            ctx.ui
                .success(&format!("Running again: {}", names.join(", ")));
        }
    }
    let mut checks = read(&selected, args).await?;
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.array(&checks))?;
        return Ok(Exit::Ok);
    }
    let interval = Duration::from_secs(args.interval);
    let mut pacer = Pacer::new(Pace::new(interval, interval));
    while args.watch && count(&checks, CheckStatus::Pending) > 0 {
        if args.fail_fast && count(&checks, CheckStatus::Failure) > 0 {
            break;
        }
        if ctx.ui.is_tty() {
            show(ctx, &checks)?;
            ctx.ui.note(&format!(
                "Refreshing every {} s. Press Ctrl+C to quit.",
                args.interval
            ));
        }
        checks = read_again(ctx, &selected, args, &mut pacer).await?;
    }
    show(ctx, &checks)?;
    Ok(exit(&checks))
}

/// Waits, then reads the checks. Rate limits and transient failures extend the wait.
async fn read_again(
    ctx: &Ctx,
    selected: &SelectedPull,
    args: &ChecksArgs,
    pacer: &mut Pacer,
) -> Result<Vec<Check>> {
    let mut pause = pacer.after_look(false);
    loop {
        tokio::time::sleep(pause.unwrap_or_default()).await;
        match read(selected, args).await {
            Ok(checks) => return Ok(checks),
            Err(e) => {
                let (e, again) = pacer.after_failure(e)?;
                ctx.ui.caution(e.message());
                pause = again;
            }
        }
    }
}

async fn read(selected: &SelectedPull, args: &ChecksArgs) -> Result<Vec<Check>> {
    let ChecksReport {
        commit,
        mut checks,
        truncated,
        ..
    } = selected.repo.checks(&selected.id).await?;
    if args.required {
        checks.retain(|c| c.required == Some(true));
    }
    let commit = text::one_line(&commit);
    // A check that was not read may have failed, so an incomplete list without failures is reported
    // as an error.
    if truncated && count(&checks, CheckStatus::Failure) == 0 {
        return Err(Error::new(
            ErrorKind::Upstream {
                status: 200,
                request_id: None,
            },
            format!("the checks of commit {commit} could not be read in full"),
        )
        .with_retry(Retry::Transient)
        .with_hint("try again; if checks are still missing, open the page of the pull request"));
    }
    if checks.is_empty() {
        let what = if args.required {
            "required checks"
        } else {
            "checks"
        };
        return Err(Error::new(
            ErrorKind::NotFound {
                what: forge_core::Noun::Other,
            },
            format!("no {what} reported on commit {commit}"),
        ));
    }
    Ok(checks)
}

fn count(checks: &[Check], status: CheckStatus) -> usize {
    checks.iter().filter(|c| c.status == status).count()
}

/// Returns the exit code. A failed check takes precedence over a pending one. Cancelled checks are
/// not failures (as in gh).
fn exit(checks: &[Check]) -> Exit {
    if count(checks, CheckStatus::Failure) > 0 {
        Exit::Failure
    } else if count(checks, CheckStatus::Pending) > 0 {
        Exit::Pending
    } else {
        Exit::Ok
    }
}

fn format_duration(c: &Check) -> String {
    match (c.started_at, c.completed_at) {
        (Some(start), Some(end)) => elapsed(end.unix().saturating_sub(start.unix())),
        _ => "0".to_owned(),
    }
}

/// Returns gh's word for the status: gh prints a cancelled check as failed.
fn status_name(c: &Check) -> &'static str {
    if c.status == CheckStatus::Cancelled {
        "fail"
    } else {
        bucket(c.status)
    }
}

fn row(c: &Check) -> String {
    let one = |text: Option<&str>| text::one_line(text.unwrap_or("")).into_owned();
    format!(
        "{}\t{}\t{}\t{}\t{}",
        one(Some(&c.name)),
        status_name(c),
        format_duration(c),
        one(c.url.as_deref()),
        one(c.summary.as_deref())
    )
}

fn show(ctx: &Ctx, checks: &[Check]) -> Result<()> {
    if !ctx.ui.is_tty() {
        return checks.iter().try_for_each(|c| ctx.ui.line(&row(c)));
    }
    let of = |status| count(checks, status);
    let verdict = match exit(checks) {
        Exit::Failure => "Some checks were not successful",
        Exit::Pending => "Some checks are still pending",
        _ if of(CheckStatus::Cancelled) > 0 => "Some checks were cancelled",
        _ => "All checks were successful",
    };
    let tally = format!(
        "{} cancelled, {} failing, {} successful, {} skipped, and {} pending checks",
        of(CheckStatus::Cancelled),
        of(CheckStatus::Failure),
        of(CheckStatus::Success),
        of(CheckStatus::Skipped),
        of(CheckStatus::Pending)
    );
    let rows: Vec<Vec<Cell>> = checks.iter().map(cells).collect();
    let column = |title, shrinks| Column { title, shrinks };
    let columns = [
        column("", false),
        column("NAME", true),
        column("DESCRIPTION", true),
        column("ELAPSED", false),
        column("URL", true),
    ];
    let table = table::render(&columns, &rows, ctx.ui.width(), ctx.ui.palette());
    ctx.ui
        .write(format!("{}\n{tally}\n\n{table}", ctx.ui.palette().bold(verdict)).as_bytes())
}

fn cells(c: &Check) -> Vec<Cell> {
    let (mark, paint): (&str, fn(Palette, &str) -> String) = match c.status {
        CheckStatus::Success => ("✓", Palette::green),
        CheckStatus::Failure => ("X", Palette::red),
        CheckStatus::Pending => ("*", Palette::yellow),
        CheckStatus::Skipped | CheckStatus::Cancelled => ("-", Palette::gray),
    };
    let one = |text: Option<&str>| Cell::plain(text::one_line(text.unwrap_or("")));
    let elapsed = format_duration(c);
    vec![
        Cell::painted(mark, paint),
        one(Some(&full_name(c))),
        one(c.summary.as_deref()),
        Cell::plain(if elapsed == "0" {
            String::new()
        } else {
            elapsed
        }),
        one(c.url.as_deref()),
    ]
}

/// Returns the full name of a check: `workflow/name (event)`, as far as known.
fn full_name(c: &Check) -> String {
    let known = |part: &Option<String>| part.clone().filter(|text| !text.is_empty());
    let workflow = known(&c.workflow).map(|w| format!("{w}/"));
    let event = known(&c.event).map(|e| format!(" ({e})"));
    let (workflow, event) = (workflow.unwrap_or_default(), event.unwrap_or_default());
    format!("{workflow}{}{event}", c.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_name_of_check_has_workflow_and_event() {
        let named = |workflow: Option<&str>, event: Option<&str>| {
            let mut check = Check::new("build", CheckStatus::Success);
            check.workflow = workflow.map(str::to_owned);
            check.event = event.map(str::to_owned);
            full_name(&check)
        };
        assert_eq!(named(Some("CI"), Some("push")), "CI/build (push)");
        assert_eq!(named(Some("CI"), None), "CI/build");
        assert_eq!(named(Some(""), Some("")), "build");
    }

    fn check(name: &str, status: CheckStatus) -> Check {
        let mut check = Check::new(name, status);
        check.url = Some("https://ci".into());
        check.started_at = "2026-11-21T10:00:00Z".parse().ok();
        check.completed_at = "2026-11-21T10:01:26Z".parse().ok();
        check.summary = Some("a\tb\nc".into());
        check
    }

    #[test]
    fn check_row_has_five_columns_for_any_text() {
        assert_eq!(
            row(&check("build", CheckStatus::Cancelled)),
            "build\tfail\t1m26s\thttps://ci\ta b c"
        );
        let mut unfinished = check("t", CheckStatus::Pending);
        unfinished.completed_at = None;
        assert_eq!(row(&unfinished), "t\tpending\t0\thttps://ci\ta b c");
    }

    #[test]
    fn exit_codes_of_checks_match_gh() {
        use CheckStatus::{Cancelled, Failure, Pending, Skipped, Success};
        let of =
            |all: &[CheckStatus]| exit(&all.iter().map(|s| check("x", *s)).collect::<Vec<_>>());
        assert_eq!(of(&[Success, Pending, Failure]), Exit::Failure);
        assert_eq!(of(&[Success, Pending, Cancelled]), Exit::Pending);
        assert_eq!(of(&[Success, Cancelled, Skipped]), Exit::Ok);
    }
}
