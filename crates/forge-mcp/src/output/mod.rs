//! What results hold: the model with its texts cleaned, and its lines for a reader.

mod issue;
mod links;
mod parts;
mod pull;

pub(crate) use issue::{issue_row, issue_text};
pub(crate) use links::link_lines;
pub(crate) use parts::{
    CheckOut, CommentOut, CommitOut, EventOut, FileOut, ReviewOut, ThreadOut, WarningOut, quoted,
};
pub(crate) use pull::{PullOut, RowOut, Written, checks_word, state_word};

/// `1 file`, `2 files`.
pub(crate) fn files(count: u64) -> String {
    let noun = if count == 1 { "file" } else { "files" };
    format!("{count} {noun}")
}

/// A word for programs: the name that serde gives a value.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
