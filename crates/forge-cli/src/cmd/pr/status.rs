//! `forge pr status`.

use std::fmt::Write as _;

use clap::Args;
use forge_core::{
    Result, Warning,
    model::{CheckRollup, MergeState, PrFields, PrState, PullRequest, PullStatus, ReviewDecision},
    text,
};
use unicode_width::UnicodeWidthStr as _;

use super::shared::{has, head_label, pull_name, repo_name, state_word};
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::{
        color::Palette,
        json::{Json, PULL_FIELDS, Selection},
        table::{truncate, truncate_as_gh, truncate_start},
    },
};

/// `forge pr status`
#[derive(Args, Debug, Default)]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct StatusArgs {
    /// Show whether each pull request can be merged
    #[arg(short, long)]
    pub conflict_status: bool,
    /// All repositories of this owner (owner or host/owner); may be repeated
    #[arg(long, value_name = "owner")]
    pub owner: Vec<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Prints the status.
///
/// # Errors
///
/// Fails if the forge does not know who the user is.
pub async fn run(ctx: &Ctx, flag: Option<&str>, args: &StatusArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, PULL_FIELDS)?;
    let repo = ctx.repo(flag).await?;
    let mut fields = selection
        .as_ref()
        .map_or(PrFields::NONE, Selection::sections);
    if selection.is_none() && has(&repo, forge_core::Capability::Checks) {
        fields |= PrFields::CHECKS;
    }
    if args.conflict_status {
        fields |= PrFields::MERGEABILITY;
    }
    let head = match flag {
        Some(_) => None,
        None => ctx.current_head(&repo).await?,
    };
    let mut status = repo.status(head.as_ref(), fields).await?;
    for warning in &status.warnings {
        ctx.ui.warning(warning);
    }
    if flag.is_none() && status.current_branch.is_none() {
        let here = ctx.working_copy()?;
        status.current_branch = here.configured_pull(&repo, fields).await?;
    }
    print_row_warnings(ctx, &status);
    if let Some(selection) = selection {
        let current = Json::maybe(status.current_branch.as_ref(), |p| selection.object(p));
        let value = Json::Object(vec![
            ("createdBy", selection.array(&status.created_by)),
            ("currentBranch", current),
            ("needsReview", selection.array(&status.needs_review)),
        ]);
        selection.print(&ctx.ui, &value)?;
        return Ok(Exit::Ok);
    }
    let branch = head.map(|h| h.branch);
    let name = repo_name(repo.id());
    let show_current = flag.is_none().then_some(branch.as_deref());
    let shown = render(
        ctx.ui.palette(),
        &name,
        &status,
        show_current,
        RowOptions {
            conflicts: args.conflict_status,
            ..RowOptions::default()
        },
    );
    ctx.ui.write(shown.as_bytes())?;
    Ok(Exit::Ok)
}

/// Prints the warnings of the pull requests, each once.
pub(super) fn print_row_warnings(ctx: &Ctx, status: &PullStatus) {
    let mine = &status.created_by;
    let current = status.current_branch.iter();
    let current = current.filter(|p| mine.iter().all(|own| own.id != p.id));
    let rows = current.chain(mine).chain(&status.needs_review);
    let rows = rows.map(|p| (p.id.key.to_string(), p.warnings.as_slice()));
    for warning in Warning::of_rows(rows, &status.warnings) {
        ctx.ui.warning(&warning);
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowOptions {
    /// True if rows show whether the pull request conflicts with its base.
    pub conflicts: bool,
    /// True if rows show the repository.
    pub repos: bool,
    /// True if repositories are shown with their host.
    pub hosts: bool,
    /// The maximum width of a row, in columns; `None` for gh's rows, which are not truncated.
    pub width: Option<usize>,
}

/// Renders the status. `current` is the name of the current branch: `None` with `-R`, `Some(None)`
/// on a detached head.
pub(super) fn render(
    c: Palette,
    repo: &str,
    status: &PullStatus,
    current: Option<Option<&str>>,
    rows: RowOptions,
) -> String {
    let mut out = format!("\nRelevant pull requests in {}\n\n", text::one_line(repo));
    let row = |p: &PullRequest| line(c, p, rows);
    if let Some(branch) = current {
        let _ = writeln!(out, "{}", c.bold("Current branch"));
        match (&status.current_branch, branch) {
            (Some(pull), _) => out.push_str(&row(pull)),
            (None, Some(branch)) => {
                let branch = text::one_line(branch);
                let _ = writeln!(
                    out,
                    "  There is no pull request associated with {}",
                    c.cyan(&format!("[{branch}]"))
                );
            }
            (None, None) => out.push_str("  There is no current branch\n"),
        }
        out.push('\n');
    }
    let mut section = |title: &str, pulls: &[PullRequest], none: &str| {
        let _ = writeln!(out, "{}", c.bold(title));
        if pulls.is_empty() {
            let _ = writeln!(out, "  {none}");
        }
        out.extend(pulls.iter().map(row));
        out.push('\n');
    };
    section(
        "Created by you",
        &status.created_by,
        "You have no open pull requests",
    );
    section(
        "Requesting a code review from you",
        &status.needs_review,
        "You have no pull requests to review",
    );
    out
}

fn line(c: Palette, p: &PullRequest, rows: RowOptions) -> String {
    let room = rows.width.map(|width| width.saturating_sub(2));
    let mut number = match (rows.repos, rows.hosts) {
        (true, true) => text::one_line(&p.id.to_string()).into_owned(),
        (true, false) => text::one_line(&pull_name(&p.id)).into_owned(),
        (false, _) => format!("#{}", p.id.key),
    };
    let mut title = truncate_as_gh(&text::one_line(&p.title), 50);
    let mut head = format!("[{}]", text::one_line(&head_label(p)));
    if let Some(room) = room {
        number = truncate_start(&number, room / 2);
        let room = room.saturating_sub(number.width() + 3);
        title = truncate(&title, room.saturating_sub(head.width()).max(room / 2));
        head = truncate(&head, room.saturating_sub(title.width()));
    }
    let number = match p.state {
        PrState::Open if p.draft => c.gray(&number),
        PrState::Open => c.green(&number),
        PrState::Closed => c.red(&number),
        PrState::Merged => c.magenta(&number),
    };
    let head = c.cyan(&head);
    let mut out = format!("  {number}  {title} {head}");
    if p.state == PrState::Open {
        // With a maximum width, each note gets its own line.
        let between = if room.is_some() { "\n  " } else { " " };
        let notes = notes(c, p);
        if !notes.is_empty() {
            let _ = write!(out, "\n  {}", notes.join(between));
        }
        // As in gh, the merge note is on the first line if there are no other notes.
        if let Some(merge) = merge_note(c, p).filter(|_| rows.conflicts) {
            let _ = write!(out, "{between}{merge}");
        }
    } else {
        let word = state_word(p);
        let _ = write!(
            out,
            " - {}{}",
            word.get(..1).unwrap_or(""),
            word.get(1..).unwrap_or("").to_lowercase()
        );
    }
    out + "\n"
}

fn notes(c: Palette, p: &PullRequest) -> Vec<String> {
    let checks = p.checks.as_ref().and_then(|r| match r.overall {
        CheckRollup::Success => Some(c.green("✓ Checks passing")),
        CheckRollup::Failure => Some(c.red("× Checks failing")),
        CheckRollup::Pending if r.truncated => Some(c.yellow("- Checks unknown")),
        CheckRollup::Pending => Some(c.yellow("- Checks pending")),
        CheckRollup::Neutral => None,
    });
    let review = p.review_decision.map(|d| match d {
        ReviewDecision::ChangesRequested => c.red("+ Changes requested"),
        ReviewDecision::ReviewRequired => c.yellow("- Review required"),
        ReviewDecision::Approved => c.green("✓ Approved"),
    });
    [checks, review].into_iter().flatten().collect()
}

fn merge_note(c: Palette, p: &PullRequest) -> Option<String> {
    match p.mergeability.as_ref()?.state {
        MergeState::Mergeable => Some(c.green("✓ No merge conflicts")),
        MergeState::Conflicting => Some(c.red("× Merge conflicts")),
        // The state may be unknown, because the forge computes it only after the first read.
        MergeState::Unknown => Some(c.yellow("! Merge conflict status unknown")),
    }
}

#[cfg(test)]
mod tests {
    use forge_core::model::Mergeability;

    use super::*;
    use crate::cmd::pr::sample::pull;

    #[test]
    fn status_sections_match_gh() {
        let status = PullStatus::new(vec![pull()], vec![]);
        let c = Palette { on: false };
        let usual = RowOptions::default();
        let shown = render(c, "o/r", &status, Some(Some("topic")), usual);
        assert_eq!(
            shown,
            "\nRelevant pull requests in o/r\n\n\
             Current branch\n  There is no pull request associated with [topic]\n\n\
             Created by you\n  #7  Greet the reader [polite]\n  ✓ Approved\n\n\
             Requesting a code review from you\n  You have no pull requests to review\n\n"
        );
        assert!(!render(c, "o/r", &status, None, usual).contains("Current branch"));
        let repos = RowOptions {
            repos: true,
            hosts: true,
            ..usual
        };
        assert!(line(c, &pull(), repos).contains(&format!("  {}  Greet", pull().id)));
        let short = RowOptions {
            hosts: false,
            ..repos
        };
        let mut hosted = pull();
        hosted.id.repo = forge_core::RepoId {
            kind: forge_core::ForgeKind::GITHUB,
            host: "github.com".into(),
            path: forge_core::RepoPath::Named {
                owner: "o".into(),
                name: "r".into(),
            },
        };
        assert!(line(c, &hosted, short).starts_with("  o/r#7  Greet"));
        let narrow = RowOptions {
            width: Some(20),
            ..repos
        };
        let shown = line(c, &pull(), narrow);
        assert!(shown.lines().all(|line| line.width() <= 20), "{shown}");
        assert!(shown.contains("#7  G"), "{shown}");
        let mut merged = pull();
        merged.state = PrState::Merged;
        let conflicts = RowOptions {
            conflicts: true,
            ..usual
        };
        assert!(line(c, &merged, conflicts).ends_with("[polite] - Merged\n"));
    }

    #[test]
    fn unknown_conflicts_are_shown_if_requested() {
        let mut unknown = pull();
        unknown.mergeability = Some(Mergeability::new(MergeState::Unknown, "UNKNOWN"));
        let c = Palette { on: false };
        let conflicts = RowOptions {
            conflicts: true,
            ..RowOptions::default()
        };
        assert_eq!(
            line(c, &unknown, conflicts),
            "  #7  Greet the reader [polite]\n  ✓ Approved ! Merge conflict status unknown\n"
        );
        assert!(!line(c, &unknown, RowOptions::default()).contains("unknown"));
    }
}
