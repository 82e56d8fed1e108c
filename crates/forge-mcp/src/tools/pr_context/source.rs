//! Shows the changed files at the head commit.

use forge::context::{PackedSource, SourceExcerpt, SourceFile};
use forge_core::text::{self, Quote};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::OmissionOut;
use crate::{
    content::{Clean, Cleaner, name, name_of},
    output::{BlockList, Blocks, SectionItem, serde_name},
};

/// A file; its lines are in the text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SourceOut {
    path: Clean,
    status: String,
    /// code, test, docs, ci, generated, lock or vendored
    class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_total: Option<usize>,
    /// First and last line of each excerpt, as in 12-40
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<OmissionOut>,
    #[serde(skip)]
    text: String,
}

impl SourceOut {
    fn of(file: &SourceFile, c: &Cleaner) -> Self {
        Self {
            path: c.line(&file.path),
            status: serde_name(&file.status),
            class: file.class.name().to_owned(),
            lines_total: file.lines_total,
            lines: file.excerpts.iter().map(range).collect(),
            omitted: file.omitted.iter().map(OmissionOut::of).collect(),
            text: file.excerpts.iter().map(|e| numbered(e, c)).collect(),
        }
    }
}

fn range(excerpt: &SourceExcerpt) -> String {
    let count = excerpt.text.lines().count();
    let last = (excerpt.line + count).saturating_sub(1);
    format!("{}-{last}", excerpt.line)
}

/// Returns the lines of a file with line numbers, so that no line can imitate the server's text.
fn numbered(excerpt: &SourceExcerpt, c: &Cleaner) -> String {
    let text = c.source(&excerpt.text);
    let lines = text.split_inclusive('\n').zip(excerpt.line..);
    let lines = lines.map(|(line, n)| {
        let prefix = &format!("{n}| ");
        text::quote(line, Quote::Lines { prefix })
    });
    format!("lines {}\n{}", range(excerpt), lines.collect::<String>())
}

impl SectionItem for SourceOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        let notes = self.omitted.iter().map(OmissionOut::note);
        let notes = notes.collect::<String>();
        format!(
            "source {} {}{notes} of {}\n{}",
            self.status,
            self.class,
            name(&self.path),
            self.text
        )
    }
}

/// Adds the section, with one block for each file.
pub(super) fn section(
    found: &PackedSource,
    c: &Cleaner,
    blocks: &mut Blocks,
) -> BlockList<SourceOut> {
    let files = found.files.iter().map(|file| SourceOut::of(file, c));
    let head = name_of(found.head_sha.get(..12).unwrap_or_default());
    let name = format!("source at {head}");
    blocks.section(&name, "", files.collect(), false, c)
}
