//! `forge pr review`.

use forge_core::{
    Error, Repo, Result,
    model::{NewReview, NewThread, PrFields, Side, Verdict},
};
use serde::Deserialize;

use super::{body, shared::pull_name};
use crate::{
    args::pr::ReviewArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{editor, prompt},
};

/// Runs it.
///
/// # Errors
/// When the review is refused; then nothing of it is stored.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: ReviewArgs) -> Result<Exit> {
    let inline = !args.lines.is_empty() || args.comments_file.is_some();
    let named = verdict(&args, inline);
    if named.is_none() && !ctx.ui.can_prompt() {
        return Err(Error::invalid(
            "verdict",
            "--approve, --request-changes, or --comment required when not running interactively",
        ));
    }
    if args.comments_file.as_deref() == Some("-") && args.body.body_file.as_deref() == Some("-") {
        return Err(Error::invalid(
            "body",
            "--body-file and --comments-file cannot both read standard input",
        ));
    }
    let selector = args.selector.as_deref();
    let fields = PrFields::TO_CHANGE;
    let selected = select::pull(ctx, repo, selector, Unnamed::NotWithRepo, fields).await?;
    let mut threads: Vec<NewThread> = args.lines.into_iter().map(NewThread::from).collect();
    if let Some(path) = &args.comments_file {
        threads.extend(read_comments(path, &selected.repo)?);
    }
    let mut text = body::read(&args.body, &selected.repo)?;
    let verdict = match named {
        Some(verdict) => verdict,
        None => {
            let words = ["Comment", "Approve", "Request changes"];
            let chosen = prompt::choose("What kind of review do you want to give?", &words)?;
            if text.is_none() {
                text = Some(editor::edit(ctx.config()?.editor().as_deref(), "")?);
            }
            match chosen {
                0 => Verdict::Comment,
                1 => Verdict::Approve,
                _ => Verdict::RequestChanges,
            }
        }
    };
    let text = text.unwrap_or_default();
    let blank = text.trim().is_empty();
    match verdict {
        Verdict::RequestChanges if blank => {
            return Err(blank_body("request-changes"));
        }
        Verdict::Comment if blank && threads.is_empty() => return Err(blank_body("comment")),
        _ => {}
    }
    let review = NewReview {
        verdict,
        body: text,
        threads,
        expected_head: args.match_head_commit,
    };
    ctx.ui
        .outcome(selected.repo.submit_review(&selected.id, &review).await?)?;
    if ctx.ui.is_tty() {
        let (what, name) = (ctx.ui.err_palette(), pull_name(&selected.id));
        ctx.ui.note(&match verdict {
            Verdict::Approve => format!("{} Approved pull request {name}", what.green("✓")),
            Verdict::RequestChanges => {
                format!("{} Requested changes to pull request {name}", what.red("+"))
            }
            Verdict::Comment => format!("{} Reviewed pull request {name}", what.gray("-")),
        });
    }
    Ok(Exit::Ok)
}

/// Comments on lines alone are a review without a verdict.
fn verdict(args: &ReviewArgs, inline: bool) -> Option<Verdict> {
    if args.approve {
        Some(Verdict::Approve)
    } else if args.request_changes {
        Some(Verdict::RequestChanges)
    } else {
        (args.comment || inline).then_some(Verdict::Comment)
    }
}

fn blank_body(kind: &str) -> Error {
    Error::invalid("body", format!("body cannot be blank for {kind} review"))
        .with_hint("pass the text with --body or --body-file")
}

/// One comment of `--comments-file`, in the words of GitHub's REST API.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileComment {
    path: String,
    line: u64,
    body: String,
    start_line: Option<u64>,
    side: Option<FileSide>,
}

#[derive(Deserialize)]
enum FileSide {
    #[serde(rename = "LEFT", alias = "left")]
    Left,
    #[serde(rename = "RIGHT", alias = "right")]
    Right,
}

impl From<FileComment> for NewThread {
    fn from(c: FileComment) -> Self {
        let side = match c.side {
            Some(FileSide::Left) => Side::Left,
            Some(FileSide::Right) | None => Side::Right,
        };
        Self {
            path: c.path,
            line: c.line,
            start_line: c.start_line,
            side,
            body: c.body,
        }
    }
}

/// A file of comments may be longer than one of them.
const COMMENTS_MAX: usize = 100;

fn read_comments(path: &str, repo: &Repo) -> Result<Vec<NewThread>> {
    let max = repo.client().forge().capabilities().limits.body_max;
    let text = body::read_file(path, max.saturating_mul(COMMENTS_MAX))?;
    parse_comments(&text).map_err(|e| {
        Error::invalid("comments", format!("comments file '{path}': {e}"))
            .with_hint(
                r#"write it as [{"path": "src/lib.rs", "line": 12, "body": "Why?"}], with "start_line" and "side" where wanted"#,
            )
            .with_source(e)
    })
}

fn parse_comments(text: &str) -> Result<Vec<NewThread>, serde_json::Error> {
    let comments: Vec<FileComment> = serde_json::from_str(text)?;
    Ok(comments.into_iter().map(NewThread::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_files_are_strict() {
        let ok = r#"[{"path":"a","line":2,"body":"x","side":"LEFT","start_line":1},{"path":"b","line":1,"body":"y"}]"#;
        let read = parse_comments(ok).unwrap();
        assert_eq!((read[0].side, read[0].start_line), (Side::Left, Some(1)));
        assert_eq!((read[1].side, read[1].start_line), (Side::Right, None));
        for bad in [
            r#"[{"path":"a","body":"x"}]"#,
            r#"[{"path":"a","line":1,"body":"x","lin":2}]"#,
            "{}",
            "",
        ] {
            assert!(parse_comments(bad).is_err(), "{bad}");
        }
    }
}
