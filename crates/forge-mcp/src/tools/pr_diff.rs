use std::sync::Arc;

use forge::context::{LATEST_REVIEW, MAX_DERIVED_LINES, OmissionReason, diff_since};
use forge_core::{
    Action, Error, Hint, Op, Warning,
    model::{DiffReq, FileStatus, PrFields, PullRequest},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{
        self, Lengths, ResultPosition, cursor,
        diff_cache::{DiffEnds, DiffFile, FullDiff},
    },
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec, diff},
    content::{self, Clean, name_of},
    output::{Blocks, Format, WarningOut, files, serde_name},
};

pub(super) struct PrDiff;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrDiffInput {
    repo: Option<String>,
    number: String,
    /// Only these files and directories
    #[serde(default)]
    paths: Vec<String>,
    /// Only changes since a commit, review id or "review" (your latest review)
    since: Option<String>,
    /// Only names and counts
    #[serde(default)]
    names_only: bool,
    /// detailed shows generated files
    format: Option<Format>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PrDiffOut {
    repo: String,
    number: String,
    head_oid: String,
    /// With since: the head commit at that time
    #[serde(skip_serializing_if = "Option::is_none")]
    from_sha: Option<String>,
    /// With since: unchanged, continued, rebased or rewritten
    #[serde(skip_serializing_if = "Option::is_none")]
    head_change: Option<String>,
    files_total: usize,
    additions: u64,
    deletions: u64,
    /// Changed files that the forge counts but did not send
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<u64>,
    /// Number of files whose lines are missing: binary, or not sent by the forge
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld_lines: Option<usize>,
    /// Files that begin on this page; the diff is in the text
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
    /// code, test, docs, ci, generated, lock or vendored
    class: String,
    additions: u64,
    deletions: u64,
    /// Why the file's lines are not in the text: generated, binary or too_large
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<String>,
}

impl FileRow {
    fn of(file: &DiffFile, omitted: Option<OmissionReason>, call: &CallContext) -> Self {
        Self {
            path: call.cleaner.line(&file.path),
            status: serde_name(&file.status),
            class: file.class.name().to_owned(),
            additions: file.additions,
            deletions: file.deletions,
            omitted: omitted.map(|reason| reason.name().to_owned()),
        }
    }
}

impl Tool for PrDiff {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_diff",
        title: "Read the diff",
        description: "The unified diff: code, then tests, docs; long generated, lock and vendored \
                      files as counts, unless paths names them. Comments: pr_view \
                      include=threads.",
        effect: ToolEffect::Read,
    };
    type Args = PrDiffInput;
    type Out = PrDiffOut;

    async fn run(
        call: &CallContext,
        args: PrDiffInput,
    ) -> Result<ToolOutput<PrDiffOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let (pull, whole) = read(call, &target, args.since.as_deref()).await?;
        let head = whole.ends.head.clone();
        let detailed = args.format == Some(Format::Detailed);
        let bound = (
            target.id.to_string(),
            &args.paths,
            &args.since,
            args.names_only,
            detailed,
        );
        // The cursor is bound to the content of the diff, because a change of the base changes the
        // diff without changing the head.
        let content = whole.content();
        let from = match &args.cursor {
            None => ResultPosition::default(),
            Some(text) => {
                let pinned = cursor::read(Self::SPEC.name, &bound, &head, text)?;
                cursor::unpin(pinned, "the diff", |_| content)?
            }
        };
        let mut chosen: Vec<&DiffFile> = whole
            .files
            .iter()
            .filter(|f| is_wanted(&f.path, &args.paths))
            .collect();
        // The order is that of the diff in `pr_context`: by class (code, test, docs, …). In each
        // class, the files with only deletions come last.
        chosen.sort_by_key(|f| (f.class, f.additions == 0));
        let missing = diff::missing(&pull, &whole);
        if chosen.is_empty() && !args.paths.is_empty() {
            return Err(unknown_path(&args.paths, &whole, missing.as_deref()).into());
        }
        let mut warnings = whole.warnings.clone();
        let unknown = args.paths.iter().filter(|path| {
            let alone = std::slice::from_ref(*path);
            !chosen.iter().any(|f| is_wanted(&f.path, alone))
        });
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            warnings.push(match &missing {
                None => Warning::new(format!("no changed file is at or below {unknown}")),
                Some(missing) => Warning::new(format!(
                    "no file at or below {unknown} is in the diff that was read, and {missing}"
                ))
                .with_hint(all_files()),
            });
        }
        let warnings = WarningOut::all(&warnings, &call.about(), &call.cleaner);
        let mut blocks = Blocks::default();
        blocks.push(
            warnings.iter().map(WarningOut::text).collect(),
            budget::length(&warnings),
        );
        // The index of the file to which each block belongs. The entry for the first block of a
        // file also has the file's row.
        let mut parts: Vec<(usize, Option<FileRow>)> = Vec::new();
        for (n, file) in chosen.iter().enumerate() {
            let omitted = omission(file, &args);
            let mut row = Some(FileRow::of(file, omitted, call));
            for text in file_blocks(call, file, omitted, &args) {
                let row = row.take();
                blocks.push(text, row.as_ref().map_or(0, budget::length));
                parts.push((n, row));
            }
        }
        let sum = |of: fn(&DiffFile) -> u64| chosen.iter().map(|f| of(f)).sum::<u64>();
        let mut out = PrDiffOut {
            repo: target.id.repo.to_string(),
            number: target.id.key.to_string(),
            files_total: chosen.len(),
            additions: sum(|f| f.additions),
            deletions: sum(|f| f.deletions),
            from_sha: whole.since.as_ref().and_then(|since| since.oid.clone()),
            head_change: whole
                .since
                .as_ref()
                .map(|since| serde_name(&since.head_change)),
            withheld: diff::withheld(&pull, &whole),
            withheld_lines: Some(chosen.iter().filter(|f| f.binary || f.left_out).count())
                .filter(|n| *n > 0),
            files: Vec::new(),
            next_cursor: None,
            warnings: Vec::new(),
            head_oid: head,
        };
        let mut top = format!(
            "Diff of {} at head {}: {} +{} -{}\n",
            target.id,
            name_of(&out.head_oid),
            files(chosen.len() as u64),
            out.additions,
            out.deletions
        );
        if let Some(since) = &whole.since {
            let from = since.oid.as_ref().map_or_else(
                || "an earlier round".to_owned(),
                |oid| format!("commit {}", name_of(oid)),
            );
            let change = since.head_change.meaning();
            top.push_str(&format!(
                "Only what changed since {from}: the head {change}\n"
            ));
        }
        if let Some(missing) = &missing {
            top.push_str(&format!("{missing}\n"));
        }
        let lengths = Lengths {
            always: budget::length(&out),
            blocks: &blocks.lengths,
        };
        let max = budget::chars(args.max_chars);
        let fitted = budget::fit_both(&top, &blocks.texts, lengths, from, max);
        // The first block contains the warnings. `parts` has no entry for it, hence the shift by
        // one.
        let page = |from: usize, to: usize| from.saturating_sub(1)..to.saturating_sub(1);
        let shown = parts.get(page(fitted.from, fitted.to)).unwrap_or_default();
        let first = shown.first().map_or(0, |(n, _)| n + 1);
        let last = shown.last().map_or(0, |(n, _)| n + 1);
        out.next_cursor = fitted.next.map(|at| {
            let at = cursor::pin(at, content);
            cursor::make(Self::SPEC.name, &bound, &out.head_oid, &at)
        });
        let mut text = fitted.text;
        text.push_str(&match &out.next_cursor {
            None if from == ResultPosition::default() && missing.is_some() => {
                "All files that were read are shown.".to_owned()
            }
            None if from == ResultPosition::default() => {
                format!("All of {} shown.", files(chosen.len() as u64))
            }
            None => format!("Files {first}-{last} of {}: the end.", chosen.len()),
            Some(cursor) => format!(
                "Files {first}-{last} of {}. More: cursor=\"{cursor}\"",
                chosen.len()
            ),
        });
        if fitted.begun.contains(&0) {
            out.warnings = warnings;
        }
        let begun = page(fitted.begun.start, fitted.begun.end);
        let rows = parts.into_iter().skip(begun.start).take(begun.len());
        out.files = rows.filter_map(|(_, row)| row).collect();
        Ok(ToolOutput { text, data: out })
    }
}

/// Reads the diff and the pull request, both with the same head and base.
async fn read(
    call: &CallContext,
    target: &PullTarget,
    since: Option<&str>,
) -> Result<(PullRequest, Arc<FullDiff>), Error> {
    let mut fields = PrFields::ROW | PrFields::STATS;
    if since.is_some() {
        fields |= PrFields::REVIEWS;
    }
    let (repo, id) = (&target.repo, &target.id);
    let mut pull = repo.pull(id, fields).await?;
    let ends = DiffEnds::of(&pull);
    let mut req = DiffReq::default();
    if let Some(asked) = since {
        let viewer = match asked == LATEST_REVIEW {
            true => Some(repo.viewer().await),
            false => None,
        };
        req = diff_since(asked, &pull, viewer, req)?;
    }
    let diffs = call.server.diffs();
    let whole = diff::read(diffs, repo, id, ends.clone(), &req, Some(call)).await?;
    if whole.ends != ends {
        pull = target.repo.pull(&target.id, fields).await?;
        let now = DiffEnds::of(&pull);
        if now != whole.ends {
            return Err(diff::moved(&whole.ends, &now));
        }
    }
    Ok((pull, whole))
}

fn is_wanted(path: &str, wanted: &[String]) -> bool {
    let below = |dir: &str| {
        let rest = path.strip_prefix(dir.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    wanted.is_empty() || wanted.iter().any(|w| below(w.trim_start_matches("./")))
}

/// Returns the hint to list all changed files, including those that the diff lacks.
fn all_files() -> Hint {
    Hint::fixed("look at the list of changed files", Action::op(Op::PrFiles))
}

fn unknown_path(paths: &[String], whole: &FullDiff, missing: Option<&str>) -> Error {
    let known = whole.files.iter().map(|f| f.path.as_str());
    let wanted = paths.join(", ");
    if let Some(missing) = missing {
        let why =
            format!("no file at or below {wanted} is in the diff that was read, and {missing}");
        return Error::invalid("paths", why).with_hint(all_files());
    }
    let near = forge_core::suggest::did_you_mean(&wanted, known);
    Error::invalid("paths", format!("no changed file is at or below {wanted}"))
        .with_hint(near.map_or_else(all_files, Hint::from))
}

/// Returns why a file's lines are omitted.
fn omission(file: &DiffFile, args: &PrDiffInput) -> Option<OmissionReason> {
    let is_asked_for = !args.paths.is_empty() || args.format == Some(Format::Detailed);
    let is_long = file.additions + file.deletions > MAX_DERIVED_LINES;
    if file.binary {
        Some(OmissionReason::Binary)
    } else if file.left_out {
        Some(OmissionReason::TooLarge)
    } else if !is_asked_for && file.class.is_derived() && is_long {
        Some(OmissionReason::Generated)
    } else {
        None
    }
}

/// Returns the blocks of a file: the header with the first hunk, then one block for each further
/// hunk.
fn file_blocks(
    call: &CallContext,
    file: &DiffFile,
    omitted: Option<OmissionReason>,
    args: &PrDiffInput,
) -> Vec<String> {
    let counts = if file.binary {
        "binary".to_owned()
    } else if file.left_out {
        "too large".to_owned()
    } else {
        format!("+{} -{}", file.additions, file.deletions)
    };
    let row = |more: &str| {
        let mark = match file.status {
            FileStatus::Added => "A",
            FileStatus::Deleted => "D",
            FileStatus::Renamed => "R",
            FileStatus::Copied => "C",
            FileStatus::Modified => "M",
        };
        let path = content::name(&call.cleaner.line(&file.path));
        format!("{mark} {counts}{more} {path}\n")
    };
    if args.names_only {
        return vec![row("")];
    }
    if omitted == Some(OmissionReason::Generated) {
        let class = file.class.name();
        return vec![row(&format!(" ({class}, not shown: name it in paths)"))];
    }
    let mut head = call.cleaner.diff(&file.header);
    if file.hunks.is_empty() {
        return vec![head];
    }
    file.hunks
        .iter()
        .map(|hunk| {
            head.push_str(&call.cleaner.diff(hunk));
            std::mem::take(&mut head)
        })
        .collect()
}
