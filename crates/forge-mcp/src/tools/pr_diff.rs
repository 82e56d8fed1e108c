use forge_core::{
    Error,
    model::{FileStatus, PrFields, PullRequest},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{self, Position, cursor, diff, diff::File, diff_cache::Whole},
    content::Clean,
    output::{WarningOut, files, word},
    server::{Answer, Call, Effect, Spec, Stop, Tool},
};

pub(super) struct PrDiff;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Only these files, or what is below these directories
    #[serde(default)]
    paths: Vec<String>,
    /// Names and counts alone
    #[serde(default)]
    names_only: bool,
    /// Default 25000
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Out {
    repo: String,
    number: String,
    head_oid: String,
    files_total: usize,
    additions: usize,
    deletions: usize,
    /// Files that the forge does not send, where it says how many there are
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<u64>,
    /// On this page; the diff itself is in the text
    files: Vec<FileRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileRow {
    path: Clean,
    status: String,
    additions: usize,
    deletions: usize,
}

impl Tool for PrDiff {
    const SPEC: Spec = Spec {
        name: "pr_diff",
        title: "Read the diff",
        description: "The unified diff from merge base to head, as plain text, cut between hunks. \
                      Lock files and generated ones are counted alone unless named in paths. No comments: \
                      pr_view include=threads.",
        effect: Effect::Read,
    };
    type Args = Args;
    type Out = Out;

    async fn run(call: &Call, args: Args) -> Result<Answer<Out>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let pull = target
            .repo
            .view(&target.id, PrFields::ROW | PrFields::STATS)
            .await?;
        let head = pull.head_oid.clone().unwrap_or_default();
        let whole = diff::read(
            call.server.diffs(),
            &target.repo,
            &target.id,
            &head,
            Some(call),
        )
        .await?;
        let bound = (target.id.to_string(), &args.paths, args.names_only);
        let from = match &args.cursor {
            None => Position::default(),
            Some(text) => Position::from_text(cursor::read(Self::SPEC.name, &bound, &head, text)?)
                .unwrap_or_default(),
        };
        let chosen: Vec<&File> = whole
            .files
            .iter()
            .filter(|f| is_wanted(&f.path, &args.paths))
            .collect();
        if chosen.is_empty() && !args.paths.is_empty() {
            return Err(unknown_path(&args.paths, &whole).into());
        }
        // What file each block belongs to, so that a page can say which it has.
        let mut blocks: Vec<(usize, String)> = Vec::new();
        for (n, file) in chosen.iter().enumerate() {
            blocks.extend(
                file_blocks(call, file, &args)
                    .into_iter()
                    .map(|block| (n, block)),
            );
        }
        let texts: Vec<&str> = blocks.iter().map(|(_, text)| text.as_str()).collect();
        let sum = |of: fn(&File) -> usize| chosen.iter().map(|f| of(f)).sum::<usize>();
        let (additions, deletions) = (sum(|f| f.additions), sum(|f| f.deletions));
        let withheld = withheld(&pull, whole.files.len());
        let warnings = WarningOut::all(&whole.warnings, &call.cleaner);
        let mut top = format!(
            "Diff of {} at head {head}: {} +{additions} -{deletions}\n",
            target.id,
            files(chosen.len() as u64),
        );
        if let Some(n) = withheld {
            top.push_str(&format!("{n} more files are not sent by the forge\n"));
        }
        warnings.iter().for_each(|w| top.push_str(&w.text()));
        let fitted = budget::fit(&top, &texts, from, budget::chars(args.max_chars));
        let next = fitted
            .next
            .map(|at| cursor::make(Self::SPEC.name, &bound, &head, &at.to_text()));
        let page = blocks.get(fitted.from..fitted.to).unwrap_or_default();
        let mut shown: Vec<usize> = page.iter().map(|(n, _)| *n).collect();
        shown.dedup();
        let last = shown.last().map_or(0, |n| n + 1);
        let first = shown.first().map_or(0, |n| n + 1);
        let mut text = fitted.text;
        text.push_str(&match &next {
            None if from == Position::default() => {
                format!("All of {} shown.", files(chosen.len() as u64))
            }
            None => format!("Files {first}-{last} of {}: the end.", chosen.len()),
            Some(cursor) => format!(
                "Files {first}-{last} of {}. More: cursor=\"{cursor}\"",
                chosen.len()
            ),
        });
        let rows = shown
            .iter()
            .filter_map(|n| chosen.get(*n))
            .map(|f| FileRow {
                path: call.cleaner.line(&f.path),
                status: word(&f.status),
                additions: f.additions,
                deletions: f.deletions,
            });
        Ok(Answer {
            data: Out {
                repo: target.id.repo.to_string(),
                number: target.id.key.to_string(),
                head_oid: head,
                files_total: chosen.len(),
                additions,
                deletions,
                withheld,
                files: rows.collect(),
                next_cursor: next,
                warnings,
            },
            text,
        })
    }
}

/// How many files the forge says there are beyond those that it sent.
fn withheld(pull: &PullRequest, sent: usize) -> Option<u64> {
    let all = pull.changed_files?;
    all.checked_sub(sent as u64).filter(|n| *n > 0)
}

fn is_wanted(path: &str, wanted: &[String]) -> bool {
    let below = |dir: &str| {
        let rest = path.strip_prefix(dir.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    wanted.is_empty() || wanted.iter().any(|w| below(w.trim_start_matches("./")))
}

fn unknown_path(paths: &[String], whole: &Whole) -> Error {
    let known = whole.files.iter().map(|f| f.path.as_str());
    let wanted = paths.join(", ");
    let near = forge_core::near::did_you_mean(&wanted, known);
    Error::invalid("paths", format!("no changed file is at or below {wanted}")).with_hint(
        near.unwrap_or_else(|| "pass names_only=true to see the changed files".to_owned()),
    )
}

/// A file as blocks: its header with the first hunk, then each hunk.
fn file_blocks(call: &Call, file: &File, args: &Args) -> Vec<String> {
    let counts = if file.binary {
        "binary".to_owned()
    } else {
        format!("+{} -{}", file.additions, file.deletions)
    };
    let row = || {
        let mark = match file.status {
            FileStatus::Added => "A",
            FileStatus::Deleted => "D",
            FileStatus::Renamed => "R",
            FileStatus::Copied => "C",
            FileStatus::Modified => "M",
        };
        format!("{mark} {} {counts}", call.cleaner.line(&file.path))
    };
    if args.names_only {
        return vec![format!("{}\n", row())];
    }
    if args.paths.is_empty()
        && diff::is_generated(&file.path)
        && file.additions + file.deletions > 40
    {
        return vec![format!(
            "{} (generated, not shown: name it in paths)\n",
            row()
        )];
    }
    let mut head = call.cleaner.plain(&file.header).to_string();
    if file.hunks.is_empty() {
        return vec![head];
    }
    file.hunks
        .iter()
        .map(|hunk| {
            head.push_str(call.cleaner.plain(hunk).as_str());
            std::mem::take(&mut head)
        })
        .collect()
}
