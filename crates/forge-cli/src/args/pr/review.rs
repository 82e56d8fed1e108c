use std::str::FromStr;

use clap::Args;
use forge_core::model::{NewThread, Side};

use super::WaitArgs;
use crate::args::output::BodyArgs;

/// `forge pr review`
#[derive(Args, Debug, Default)]
pub struct ReviewArgs {
    /// Number, URL or branch [default: that of the current branch]
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
    /// Comment on a line or a range of lines; may be repeated
    ///
    /// Lines are those of the head (R, the default) or of the base (L), and must stand in the
    /// diff: "src/lib.rs:12=Why?", "src/lib.rs:10-12=…", "src/old.rs:L7=…".
    #[arg(long = "line", value_name = "PATH:[L|R]LINE[-LINE]=TEXT")]
    pub lines: Vec<LineComment>,
    /// Read comments on lines from a JSON file ("-" for standard input)
    ///
    /// An array of objects with "path", "line", "body" and optionally "start_line" and "side"
    /// ("LEFT" or "RIGHT").
    #[arg(long, value_name = "file")]
    pub comments_file: Option<String>,
    /// Refuse unless the head is this commit, given by its full id
    #[arg(long, value_name = "SHA")]
    pub match_head_commit: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// The value of `--line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineComment {
    /// The file.
    pub path: String,
    /// The (last) line.
    pub line: u64,
    /// The first line of a range.
    pub start_line: Option<u64>,
    /// On which side they are counted.
    pub side: Side,
    /// The text.
    pub body: String,
}

impl From<LineComment> for NewThread {
    fn from(c: LineComment) -> Self {
        Self {
            path: c.path,
            line: c.line,
            start_line: c.start_line,
            side: c.side,
            body: c.body,
        }
    }
}

impl FromStr for LineComment {
    type Err = String;

    /// The first `:LINES=` ends the path, so that neither a `:` or `=` in the path nor one in the
    /// text needs a quote.
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

/// `12`, `L12`, `R10-12`.
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
mod tests {
    use super::*;

    fn parse(text: &str) -> (String, Side, Option<u64>, u64, String) {
        let c: LineComment = text.parse().unwrap();
        (c.path, c.side, c.start_line, c.line, c.body)
    }

    #[test]
    fn reads_line_range_side_and_odd_paths() {
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
    fn refuses_what_names_no_line() {
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
