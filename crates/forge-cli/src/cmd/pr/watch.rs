//! `forge pr watch`.

use std::{collections::BTreeSet, io, time::Duration};

use clap::Args;
use forge::{
    SelectedPull,
    context::{
        ContextSettings, MAX_PAUSE, Pace, Readiness, RequirementStatus, VERDICT_FIELDS, Watch,
        WatchChange, WatchEnd, WatchEvent, WatchOutcome, WatchReq, WatchUntil, readiness,
    },
};
use forge_core::{Error, Result, model::PrFields, text};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::context::{check_record, check_repo};
use crate::{
    args::{output::JsonArgs, wait::parse_duration},
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    signals::OwnInterrupt,
    ui::json::{Selection, WATCH_FIELDS},
};

/// `forge pr watch`
#[derive(Args, Debug, Default)]
pub struct WatchArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Wait for the first of these: checks, review, state, verdict
    #[arg(
        short,
        long,
        value_name = "what",
        value_delimiter = ',',
        default_value = "checks"
    )]
    pub until: Vec<String>,
    /// Stop waiting after this time, with exit code 8, as in 90s, 30m or 2h
    #[arg(long, value_name = "duration", value_parser = parse_duration, default_value = "30m")]
    pub timeout: Duration,
    /// Time between two requests; grows to a minute while nothing changes
    #[arg(short, long, value_name = "duration", value_parser = parse_duration, default_value = "10s")]
    pub interval: Duration,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Watches a pull request.
///
/// # Errors
///
/// Fails if the pull request cannot be read, or if the forge lacks a capability that `--until`
/// needs.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WatchArgs) -> Result<Exit> {
    let names = WATCH_FIELDS.iter().map(|f| f.name);
    let selection = Selection::from_args(&args.json.or_all(names), WATCH_FIELDS)?;
    let until = args.until.iter().map(|name| WatchUntil::parse(name));
    let until = until.collect::<Result<BTreeSet<_>>>()?;
    let named = args.selector.as_deref();
    check_repo(ctx, repo, named)?;
    let selected =
        select::pull_to_read(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    check_record(ctx, repo, named, selected.repo.id()).await?;
    let settings = ctx.config()?.context_settings();
    let pace = Pace::new(args.interval, MAX_PAUSE).with_timeout(args.timeout);
    let req = WatchReq::new(until, pace, settings.clone());
    let mut watch = Watch::new(&selected.repo, &selected.id, req)?;
    // With `--json`, standard output has only the verdict.
    let printer = LinePrinter {
        ctx,
        is_json: selection.is_some(),
    };
    let interrupt = OwnInterrupt::begin();
    let end = tokio::select! {
        end = follow(&mut watch, &printer) => end?,
        () = interrupt.receive() => {
            let seen = watch.seen().map(ToString::to_string);
            let seen = seen.unwrap_or_else(|| "nothing".to_owned());
            ctx.ui.note(&format!("stopped; last seen: {}", text::one_line(&seen)));
            return Ok(Exit::Cancelled);
        }
        () = output_closed() => return Ok(Exit::Ok),
    };
    if let Some(selection) = selection {
        let last = watch.seen().and_then(|seen| seen.readiness.clone());
        let verdict = match last {
            Some(verdict) => verdict,
            None => read_verdict(&selected, &settings).await?,
        };
        selection.print(&ctx.ui, &selection.object(&verdict))?;
    }
    Ok(match end.outcome {
        WatchOutcome::Passed => Exit::Ok,
        WatchOutcome::Failed => Exit::Failure,
        WatchOutcome::Pending => Exit::Pending,
    })
}

/// Prints the events of the watch until it ends.
async fn follow(watch: &mut Watch<'_>, printer: &LinePrinter<'_>) -> Result<WatchEnd> {
    while let Some(event) = watch.next().await? {
        match event {
            WatchEvent::Began => {
                let seen = watch.seen().map(ToString::to_string).unwrap_or_default();
                printer.print(["seen", "", "", &seen])?;
            }
            WatchEvent::Same => {}
            WatchEvent::Change(WatchChange {
                what,
                name,
                from,
                to,
                ..
            }) => printer.print([what, &name, from.as_deref().unwrap_or_default(), &to])?,
            WatchEvent::Waits { error, again } => {
                let when = again.map_or_else(
                    || "the deadline is before the next request".to_owned(),
                    |again| format!("next request at {again}"),
                );
                printer
                    .ctx
                    .ui
                    .caution(&format!("{}; {when}", error.message()));
            }
            WatchEvent::Ended(end) => {
                let by = end.by.map_or("", WatchUntil::name);
                printer.print(["end", by, "", end.outcome.name()])?;
                let verdict = watch.seen().and_then(|seen| seen.readiness.as_ref());
                if let (WatchOutcome::Pending, Some(verdict)) = (end.outcome, verdict) {
                    note_open_requirements(printer.ctx, verdict);
                }
                return Ok(end);
            }
        }
    }
    Err(Error::new(
        forge_core::ErrorKind::Internal,
        "the watch ended without a result",
    ))
}

/// Prints the requirements that kept the watch waiting until its deadline.
fn note_open_requirements(ctx: &Ctx, verdict: &Readiness) {
    for open in verdict.open() {
        let status = match open.status {
            RequirementStatus::Unmet => "is not met",
            _ => "is not known",
        };
        let line = format!("{} {status}: {}", open.rule.name(), open.evidence);
        ctx.ui.note(&text::one_line(&line));
    }
}

async fn read_verdict(selected: &SelectedPull, settings: &ContextSettings) -> Result<Readiness> {
    let pull = selected.repo.pull(&selected.id, VERDICT_FIELDS).await?;
    Ok(readiness(&selected.repo, &pull, settings).await)
}

/// Prints each event immediately, as one line.
struct LinePrinter<'a> {
    ctx: &'a Ctx,
    is_json: bool,
}

impl LinePrinter<'_> {
    /// Prints an event with name, old value and new value: as columns on a pipe, as a readable line
    /// on a terminal.
    fn print(&self, columns: [&str; 4]) -> Result<()> {
        let ui = &self.ctx.ui;
        let [what, name, from, to] = columns.map(text::one_line);
        if !ui.is_tty() && !self.is_json {
            ui.line(&format!("{what}\t{name}\t{from}\t{to}"))?;
            return ui.flush();
        }
        let name = match name.is_empty() {
            true => String::new(),
            false => format!(" {name}"),
        };
        let from = match from.is_empty() {
            true => String::new(),
            false => format!("{from} → "),
        };
        let paint = |word: &str| match word {
            "success" | "passed" | "approved" | "met" | "yes" => ui.palette().green(word),
            "failure" | "failed" | "changes_requested" | "unmet" | "no" => ui.palette().red(word),
            "pending" | "unknown" => ui.palette().yellow(word),
            _ => word.to_owned(),
        };
        if self.is_json {
            ui.note(&format!("{what}{name}: {from}{to}"));
            return Ok(());
        }
        ui.line(&format!("{what}{name}: {from}{}", paint(&to)))?;
        ui.flush()
    }
}

/// Completes when the reader of standard output closes it.
async fn output_closed() {
    let output = io::stdout();
    loop {
        let mut polled = [PollFd::new(&output, PollFlags::empty())];
        let now = Timespec::default();
        let is_polled = poll(&mut polled, Some(&now)).is_ok();
        let closed = PollFlags::ERR | PollFlags::HUP;
        if is_polled && polled.iter().any(|fd| fd.revents().intersects(closed)) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
