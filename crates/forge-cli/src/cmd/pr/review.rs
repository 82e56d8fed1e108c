//! `forge pr review`.

use std::str::FromStr;

use clap::Args;
use forge_core::{
    Action, Arg, Capability, Error, ErrorKind, Hint, Op, Param, Repo, Result,
    model::{NewReview, NewThread, PendingReview, PrFields, Side, Verdict},
    text,
};
use serde::Deserialize;

use super::{
    body,
    shared::{has, pull_name},
};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{editor, markdown, prompt, time},
};

/// `forge pr review`
#[derive(Args, Debug, Default)]
pub struct ReviewArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Approve
    #[arg(short, long, conflicts_with_all = ["comment", "request_changes"])]
    pub approve: bool,
    /// Comment without a verdict
    #[arg(short, long, conflicts_with = "request_changes")]
    pub comment: bool,
    /// Request changes
    #[arg(short, long)]
    pub request_changes: bool,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Dismiss the review with this id; give the reason with --body
    ///
    /// "forge pr view --json reviews" has the ids.
    #[arg(
        long,
        value_name = "id",
        conflicts_with_all = [
            "approve", "comment", "request_changes", "lines", "files", "comments_file",
            "match_head_commit", "pending", "with_pending", "discard_pending",
        ]
    )]
    pub dismiss: Option<String>,
    /// Keep text and comments in your pending review, which nobody else sees
    ///
    /// Later calls and the web page can add to it. GitHub has at most one for each account and pull
    /// request.
    #[arg(long, conflicts_with_all = ["approve", "request_changes", "with_pending"])]
    pub pending: bool,
    /// Also submit your pending review, with the comments that it has already
    #[arg(long)]
    pub with_pending: bool,
    /// Delete your pending review, with its comments
    #[arg(
        long,
        conflicts_with_all = [
            "approve", "comment", "request_changes", "body", "body_file", "lines", "files",
            "comments_file", "match_head_commit", "pending", "with_pending",
        ]
    )]
    pub discard_pending: bool,
    /// Comment on a line or a range of lines; may be repeated
    ///
    /// Lines are lines of the head (R, the default) or of the base (L), and must be in the diff:
    /// "src/lib.rs:12=Why?", "src/lib.rs:10-12=…", "src/old.rs:L7=…".
    #[arg(long = "line", value_name = "PATH:[L|R]LINE[-LINE]=TEXT")]
    pub lines: Vec<LineComment>,
    /// Comment on a whole file; may be repeated
    ///
    /// The first "=" ends the path: "src/lib.rs=Too long."
    #[arg(long = "file", value_name = "PATH=TEXT")]
    pub files: Vec<WholeFile>,
    /// Read comments on lines and files from a JSON file ("-" for standard input)
    ///
    /// An array of objects with "path", "line", "body" and optionally "start_line" and "side"
    /// ("LEFT" or "RIGHT"). With "subject_type": "file" in place of the line, the comment is about
    /// the whole file.
    #[arg(long, value_name = "file")]
    pub comments_file: Option<String>,
    /// Refuse unless the head is this commit (full id), or on tangled the patch with this CID
    #[arg(long, value_name = "SHA")]
    pub match_head_commit: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// The value of `--line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineComment {
    /// The path of the file with the lines.
    pub path: String,
    /// The last (or only) line.
    pub line: u64,
    /// The first line of a range; `None` for a single line.
    pub start_line: Option<u64>,
    /// The side of the diff (before or after the change) that `line` counts on.
    pub side: Side,
    /// The text of the comment.
    pub body: String,
}

/// The value of `--file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeFile {
    /// The path of the file.
    pub path: String,
    /// The text of the comment.
    pub body: String,
}

impl FromStr for WholeFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((path, body)) if !path.is_empty() && !body.trim().is_empty() => Ok(Self {
                path: path.to_owned(),
                body: body.to_owned(),
            }),
            _ => Err("expected PATH=TEXT, as in src/lib.rs=Too long.".to_owned()),
        }
    }
}

impl From<WholeFile> for NewThread {
    fn from(c: WholeFile) -> Self {
        Self::new(c.path, None, c.body)
    }
}

impl From<LineComment> for NewThread {
    fn from(c: LineComment) -> Self {
        let mut thread = Self::new(c.path, Some(c.line), c.body);
        thread.start_line = c.start_line;
        thread.side = c.side;
        thread
    }
}

impl FromStr for LineComment {
    type Err = String;

    /// The path ends at the first `:LINES=`, so that other `:` and `=` need no quotes.
    fn from_str(text: &str) -> Result<Self, String> {
        let place = text.match_indices(':').find_map(|(colon, _)| {
            let (path, rest) = (text.get(..colon)?, text.get(colon + 1..)?);
            let (lines, body) = rest.split_once('=')?;
            let (side, start, line) = parse_lines(lines)?;
            Some((path, side, start, line, body))
        });
        let Some((path, side, start_line, line, body)) = place else {
            return Err("expected PATH:LINE=TEXT, as in src/lib.rs:12=Why?".to_owned());
        };
        if path.is_empty() {
            return Err("the path before the line is empty".to_owned());
        }
        if body.trim().is_empty() {
            return Err(format!("the text for {path}:{line} is empty"));
        }
        if line == 0 || start_line.is_some_and(|s| s == 0 || s > line) {
            return Err("lines count from 1, and a range goes from low to high".to_owned());
        }
        Ok(Self {
            path: path.to_owned(),
            line,
            start_line,
            side,
            body: body.to_owned(),
        })
    }
}

/// Parses the lines of a comment: `12`, `L12` or `R10-12`.
fn parse_lines(text: &str) -> Option<(Side, Option<u64>, u64)> {
    let (side, numbers) = match text.split_at_checked(1)? {
        ("L", rest) => (Side::Left, rest),
        ("R", rest) => (Side::Right, rest),
        _ => (Side::Right, text),
    };
    let number = |digits: &str| {
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse().ok())
            .flatten()
    };
    match numbers.split_once('-') {
        Some((first, last)) => Some((side, Some(number(first)?), number(last)?)),
        None => Some((side, None, number(numbers)?)),
    }
}

#[cfg(test)]
mod args_tests {
    use super::*;

    fn parse(text: &str) -> (String, Side, Option<u64>, u64, String) {
        let c: LineComment = text.parse().unwrap();
        (c.path, c.side, c.start_line, c.line, c.body)
    }

    #[test]
    fn line_comment_parses_range_side_and_unusual_paths() {
        assert_eq!(
            parse("a.rs:3=x=y:4=z"),
            ("a.rs".into(), Side::Right, None, 3, "x=y:4=z".into())
        );
        assert_eq!(
            parse("a.rs:L3-5=no"),
            ("a.rs".into(), Side::Left, Some(3), 5, "no".into())
        );
        assert_eq!(
            parse("c:/k=v:R1=é"),
            ("c:/k=v".into(), Side::Right, None, 1, "é".into())
        );
    }

    #[test]
    fn line_comment_without_a_line_is_refused() {
        for bad in [
            "",
            "a.rs",
            "a.rs:=x",
            "a.rs:x=y",
            "a.rs:0=x",
            "a.rs:5-3=x",
            ":3=x",
            "a:3= ",
            "a:+3=x",
        ] {
            assert!(bad.parse::<LineComment>().is_err(), "{bad}");
        }
    }
}

/// Submits a review, or keeps or discards a pending one.
///
/// # Errors
///
/// Fails if the review is refused. Nothing is stored then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: ReviewArgs) -> Result<Exit> {
    if let Some(key) = &args.dismiss {
        return dismiss(ctx, repo, &args, key).await;
    }
    if args.discard_pending {
        return discard_pending(ctx, repo, args.selector.as_deref()).await;
    }
    let inline = !args.lines.is_empty() || !args.files.is_empty() || args.comments_file.is_some();
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
    let pending = match (args.pending, args.with_pending) {
        (true, _) => PendingReview::Keep,
        (false, true) => PendingReview::Submit,
        (false, false) => PendingReview::Refuse,
    };
    let selector = args.selector.as_deref();
    let fields = PrFields::TO_CHANGE;
    let selected = select::pull(ctx, repo, selector, Unnamed::NotWithRepo, fields).await?;
    let mut threads: Vec<NewThread> = args.lines.into_iter().map(NewThread::from).collect();
    threads.extend(args.files.into_iter().map(NewThread::from));
    if let Some(path) = &args.comments_file {
        threads.extend(read_comments(path, &selected.repo)?);
    }
    let mut text = body::read(&args.body, &selected.repo)?;
    let verdict = match named {
        Some(verdict) => verdict,
        None => {
            let words = ["Comment", "Approve", "Request Changes"];
            let chosen = prompt::choose("What kind of review do you want to give?", &words)?;
            let verdict = match chosen {
                0 => Verdict::Comment,
                1 => Verdict::Approve,
                _ => Verdict::RequestChanges,
            };
            if text.is_none() && write_body(verdict, args.with_pending)? {
                text = Some(editor::edit(ctx.config()?.editor().as_deref(), "")?);
            }
            verdict
        }
    };
    let text = text.unwrap_or_default();
    let blank = text.trim().is_empty();
    match verdict {
        // The verdict may lack a text, because the pending review may contain texts.
        _ if args.with_pending => {}
        Verdict::Comment if args.pending && blank && threads.is_empty() => {
            return Err(blank_body("pending"));
        }
        Verdict::Comment if blank && threads.is_empty() => return Err(blank_body("comment")),
        _ => {}
    }
    if named.is_none() {
        if !blank {
            let shown = markdown::render(&text, ctx.ui.width(), ctx.ui.palette());
            ctx.ui.write(format!("Got:\n{shown}").as_bytes())?;
            ctx.ui.flush()?;
        }
        prompt::submit()?;
    }
    let mut review = NewReview::new(verdict, text)
        .with_threads(threads)
        .with_pending(pending);
    review.expected_head = args.match_head_commit;
    let submitted = selected.repo.submit_review(&selected.id, &review).await;
    let submitted = submitted.map_err(|e| name_pending_flags(&selected.repo, e))?;
    let made = ctx.ui.outcome(submitted)?;
    let name = pull_name(&selected.id);
    if args.pending {
        let new = u64::try_from(review.threads.len()).unwrap_or(u64::MAX);
        let count = comments(made.pending_before.saturating_add(new));
        let has_text = !blank || made.body.is_some_and(|body| !body.trim().is_empty());
        let text = if has_text { "a text and " } else { "" };
        ctx.ui.note(&format!(
            "Your pending review of pull request {name} has {text}{count}; nobody else sees it"
        ));
        return Ok(Exit::Ok);
    }
    if args.with_pending {
        let count = comments(made.pending_before);
        ctx.ui
            .note(&format!("Submitted with {count} that had been pending"));
    }
    if ctx.ui.is_tty() {
        let what = ctx.ui.err_palette();
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

/// Asks whether to write a text. As in gh, an approval needs no text.
fn write_body(verdict: Verdict, with_pending: bool) -> Result<bool> {
    const WRITE: &str = "Open the editor";
    let items: &[&str] = match verdict {
        Verdict::Comment | Verdict::RequestChanges if !with_pending => &[WRITE],
        _ => &["Skip", WRITE],
    };
    let chosen = prompt::choose("Review body", items)?;
    Ok(items.get(chosen) == Some(&WRITE))
}

async fn discard_pending(ctx: &Ctx, repo: Option<&str>, named: Option<&str>) -> Result<Exit> {
    let selected = select::pull(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    let name = pull_name(&selected.id);
    let outcome = selected.repo.discard_pending_review(&selected.id).await?;
    if outcome.already {
        let line = format!("You have no pending review of pull request {name}");
        ctx.ui.report_unchanged(outcome, &line)?;
        return Ok(Exit::Ok);
    }
    let count = comments(ctx.ui.outcome(outcome)?);
    ctx.ui.success(&format!(
        "Discarded your pending review of pull request {name}, with {count}"
    ));
    Ok(Exit::Ok)
}

fn comments(count: u64) -> String {
    time::plural(i64::try_from(count).unwrap_or(i64::MAX), "comment")
}

/// Completes the hint of an error about a pending review:
/// - A pending review exists: the new hint names the flags that submit or delete it.
/// - The forge has no pending reviews: the hint gets `--comments-file`, which submits all comments
///   at once.
fn name_pending_flags(repo: &Repo, error: Error) -> Error {
    if let ErrorKind::Unsupported {
        capability: Capability::ReviewPending,
    } = error.kind()
        && has(repo, Capability::ReviewInline)
        && let Some(hint) = error.hint().cloned()
    {
        return error.with_hint(hint.map_text(|text| format!("{text} (--comments-file)")));
    }
    let is_choice = |hint: &Hint| {
        let args = hint.action().map(Action::args).unwrap_or_default();
        args.contains(&(Param::Pending, Arg::Choose))
    };
    match error.hint().is_some_and(is_choice) {
        true => error.with_hint(
            Hint::new(
                "add --with-pending to submit your pending review together with this one, or \
                 delete it with --discard-pending; to see its comments",
            )
            .with_action(Action::op(Op::ThreadList)),
        ),
        false => error,
    }
}

async fn dismiss(ctx: &Ctx, repo: Option<&str>, args: &ReviewArgs, key: &str) -> Result<Exit> {
    let named = args.selector.as_deref();
    let selected = select::pull(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    let why = match body::read(&args.body, &selected.repo)? {
        Some(why) => why,
        None if ctx.ui.can_prompt() => editor::edit(ctx.config()?.editor().as_deref(), "")?,
        None => return Err(blank_body("dismissed")),
    };
    let outcome = selected
        .repo
        .dismiss_review(&selected.id, key, &why)
        .await?;
    let name = pull_name(&selected.id);
    if outcome.already {
        let line = format!("The review of pull request {name} is dismissed already");
        ctx.ui.report_unchanged(outcome, &line)?;
        return Ok(Exit::Ok);
    }
    let review = ctx.ui.outcome(outcome)?;
    let author = text::one_line(&review.author.login);
    ctx.ui.success(&format!(
        "Dismissed the review of {author} on pull request {name}"
    ));
    Ok(Exit::Ok)
}

/// Returns the verdict that the flags name. Comments on lines alone mean the verdict `Comment`.
fn verdict(args: &ReviewArgs, inline: bool) -> Option<Verdict> {
    if args.approve {
        Some(Verdict::Approve)
    } else if args.request_changes {
        Some(Verdict::RequestChanges)
    } else {
        (args.comment || args.pending || inline).then_some(Verdict::Comment)
    }
}

fn blank_body(kind: &str) -> Error {
    Error::invalid("body", format!("body cannot be blank for {kind} review"))
        .with_hint("pass the text with --body or --body-file")
}

/// A comment in `--comments-file`. The field names are those of GitHub's REST API.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileComment {
    path: String,
    line: Option<u64>,
    body: String,
    start_line: Option<u64>,
    side: Option<FileSide>,
    #[serde(default)]
    subject_type: SubjectType,
}

/// Subject of a comment. A comment without a line must have `"subject_type": "file"`.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum SubjectType {
    #[default]
    Line,
    File,
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
        let mut thread = Self::new(c.path, c.line, c.body);
        thread.start_line = c.start_line;
        thread.side = match c.side {
            Some(FileSide::Left) => Side::Left,
            Some(FileSide::Right) | None => Side::Right,
        };
        thread
    }
}

/// Maximum size of `--comments-file`, as a number of comments that each have the maximum length.
const MAX_COMMENTS: usize = 100;

fn read_comments(path: &str, repo: &Repo) -> Result<Vec<NewThread>> {
    let max = repo.limits().body_max;
    let text = body::read_file(path, max.saturating_mul(MAX_COMMENTS))?;
    parse_comments(&text).map_err(|e| {
        Error::invalid("comments", format!("comments file '{path}': {e}"))
            .with_hint(
                r#"write it as [{"path": "src/lib.rs", "line": 12, "body": "Why?"}], and optionally "start_line" and "side""#,
            )
            .with_source(e)
    })
}

fn parse_comments(text: &str) -> Result<Vec<NewThread>, serde_json::Error> {
    let comments: Vec<FileComment> = serde_json::from_str(text)?;
    for comment in &comments {
        if comment.line.is_some() != (comment.subject_type == SubjectType::Line) {
            return Err(serde::de::Error::custom(
                r#"a comment has either "line" or "subject_type": "file""#,
            ));
        }
    }
    Ok(comments.into_iter().map(NewThread::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_comments_file_is_refused() {
        let ok = r#"[{"path":"a","line":2,"body":"x","side":"LEFT","start_line":1},{"path":"b","line":1,"body":"y"}]"#;
        let read = parse_comments(ok).unwrap();
        assert_eq!((read[0].side, read[0].start_line), (Side::Left, Some(1)));
        assert_eq!((read[1].side, read[1].start_line), (Side::Right, None));
        let file = r#"[{"path":"a","body":"x","subject_type":"file"}]"#;
        assert_eq!(parse_comments(file).unwrap()[0].line, None);
        for bad in [
            r#"[{"path":"a","body":"x"}]"#,
            r#"[{"path":"a","line":1,"body":"x","subject_type":"file"}]"#,
            r#"[{"path":"a","line":1,"body":"x","lin":2}]"#,
            "{}",
            "",
        ] {
            assert!(parse_comments(bad).is_err(), "{bad}");
        }
    }
}
