use forge_core::{
    Error, Noun, fingerprint,
    model::{DirectoryEntry, PathContent},
    text::one_line,
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{self, ResultPosition, cursor},
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::{Clean, name},
};

pub(super) struct RepoFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RepoFileInput {
    repo: Option<String>,
    /// Path from the root; / is the root
    path: String,
    /// Branch, tag or commit; default: the default branch
    #[serde(rename = "ref")]
    at: Option<String>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RepoFileOut {
    repo: String,
    path: Clean,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    at: Option<Clean>,
    /// Size of the whole file
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    /// In a directory: the names on this page; directories end with a slash
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<Clean>>,
    /// Lines of the file, or names in the directory
    lines_total: usize,
    /// First line in the text, from 1; 0 if the file is empty
    first_line: usize,
    last_line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Tool for RepoFile {
    const SPEC: ToolSpec = ToolSpec {
        name: "repo_file",
        title: "Read a file",
        description: "A text file with line numbers, or the names in a directory, at a branch, a \
                      tag or a commit. What a pull request changes: pr_diff.",
        effect: ToolEffect::Read,
    };
    type Args = RepoFileInput;
    type Out = RepoFileOut;

    async fn run(
        call: &CallContext,
        args: RepoFileInput,
    ) -> Result<ToolOutput<RepoFileOut>, ToolError> {
        let repo = call.repo(args.repo.as_deref()).await?;
        let (path, at) = (relative(&args.path), args.at.as_deref());
        let found = repo.repo_path(path, at).await?;
        let found = found.ok_or_else(|| no_file(path, at))?;
        let content = fingerprint(&found);
        let (noun, size, bytes, lines, names) = match found {
            PathContent::File(bytes) => {
                let length = bytes.len();
                let source = String::from_utf8(bytes).map_err(|_| no_text(path))?;
                let lines = numbered(&call.cleaner.source(&source));
                let size = format!("{length} bytes");
                ("Lines", size, Some(length), lines, None)
            }
            PathContent::Directory(entries) => {
                let of = |entry: &DirectoryEntry| match entry.is_directory {
                    true => call.cleaner.line(&format!("{}/", entry.name)),
                    false => call.cleaner.line(&entry.name),
                };
                let names: Vec<Clean> = entries.iter().map(of).collect();
                let lines = names.iter().map(|entry| format!("{}\n", name(entry)));
                let size = "a directory".to_owned();
                ("Entries", size, None, lines.collect(), Some(names))
            }
        };
        let bound = (repo.id().comparison_key(), path, at);
        let from = match &args.cursor {
            None => ResultPosition::default(),
            Some(text) => {
                let pinned = cursor::read(Self::SPEC.name, &bound, "", text)?;
                cursor::unpin(pinned, "the file", |_| content)?
            }
        };
        let mut out = RepoFileOut {
            repo: repo.id().to_string(),
            path: call.cleaner.line(path),
            at: at.map(|at| call.cleaner.line(at)),
            bytes,
            entries: None,
            lines_total: lines.len(),
            first_line: 0,
            last_line: 0,
            next_cursor: None,
        };
        let of = out
            .at
            .as_ref()
            .map_or(String::new(), |at| format!(" at {}", name(at)));
        let top = match path {
            "" => format!("the root{of}, {size}\n"),
            _ => format!("{}{of}, {size}\n", name(&out.path)),
        };
        let max = budget::chars(args.max_chars);
        let fitted = budget::fit(&top, &lines, from, max);
        if fitted.to > fitted.from {
            (out.first_line, out.last_line) = (fitted.from + 1, fitted.to);
        }
        let begun = fitted.begun;
        out.entries = names.map(|all| {
            all.into_iter()
                .skip(begun.start)
                .take(begun.len())
                .collect()
        });
        out.next_cursor = fitted.next.map(|at| {
            let at = cursor::pin(at, content);
            cursor::make(Self::SPEC.name, &bound, "", &at)
        });
        let shown = format!("{noun} {}-{}", out.first_line, out.last_line);
        let mut text = fitted.text;
        text.push_str(&match &out.next_cursor {
            None => format!("{shown} of {}: the end.", lines.len()),
            Some(cursor) => format!("{shown} of {}. More: cursor=\"{cursor}\"", lines.len()),
        });
        Ok(ToolOutput { text, data: out })
    }
}

/// Returns the path in the form that backends take: relative, and empty for the root.
fn relative(path: &str) -> &str {
    match path.trim_start_matches("./").trim_end_matches('/') {
        "." => "",
        path => path,
    }
}

fn numbered(source: &str) -> Vec<String> {
    let lines = source.split_inclusive('\n').enumerate();
    lines
        .map(|(n, line)| format!("{:>5}\t{}\n", n + 1, line.trim_end_matches('\n')))
        .collect()
}

fn no_file(path: &str, at: Option<&str>) -> Error {
    let at = at.map_or_else(
        || "the default branch".to_owned(),
        |at| format!("'{}'", one_line(at)),
    );
    let why = format!("there is no file '{}' in {at}", one_line(path));
    Error::not_found(Noun::Other, why).with_hint(
        "check the name, including upper and lower case, or pass ref to read another branch",
    )
}

fn no_text(path: &str) -> Error {
    let why = format!("'{}' is a binary file", one_line(path));
    Error::invalid("path", why).with_hint("name a text file; read a binary file with git")
}
