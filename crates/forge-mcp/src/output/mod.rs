//! Result types: the types of `forge_core` with cleaned texts, and their lines of text.

mod ingestion;
mod issue;
mod links;
mod parts;
mod pull;
mod sections;

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

pub(crate) use ingestion::IngestionDetail;
pub(crate) use issue::{IssueOut, RelatedOut, issue_row, issue_text};
pub(crate) use links::link_lines;
pub(crate) use parts::{
    CheckOut, CommentOut, CommitOut, EventOut, FileOut, ReviewOut, SectionItem, ThreadOut,
    WarningOut, quoted,
};
pub(crate) use pull::{
    CheckCountsOut, DeletedBranchOut, PullOut, RowOut, WriteOut, checks_word, state_word,
};
pub(crate) use sections::{BlockList, Blocks};

/// How much of each thing a result shows.
#[derive(Clone, Copy, Debug, Default, Deserialize, Hash, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    #[default]
    Concise,
    Detailed,
}

/// Formats a count: `1 file`, `2 files`.
pub(crate) fn files(count: u64) -> String {
    let noun = if count == 1 { "file" } else { "files" };
    format!("{count} {noun}")
}

pub(crate) fn serde_name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::schemars::generate::SchemaSettings;
    use serde_json::{Value, json};

    use super::*;

    /// Checks that required fields are never null, because schemas for clients have no nullable
    /// types.
    fn required_is_never_null<T: JsonSchema>() {
        let settings = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
        let generator = settings.for_serialize().into_generator();
        visit(&generator.into_root_schema_for::<T>().to_value());
    }

    fn visit(schema: &Value) {
        for name in schema["required"].as_array().into_iter().flatten() {
            let of = &schema["properties"][name.as_str().unwrap()];
            let types = of["type"].as_array();
            let null = types.is_some_and(|t| t.contains(&json!("null")));
            assert!(!null && of.get("anyOf").is_none(), "{name}: {of}");
        }
        match schema {
            Value::Object(object) => object.values().for_each(visit),
            Value::Array(items) => items.iter().for_each(visit),
            _ => {}
        }
    }

    #[test]
    fn required_fields_are_never_null() {
        required_is_never_null::<PullOut>();
        required_is_never_null::<RowOut>();
        required_is_never_null::<WriteOut>();
        required_is_never_null::<(CheckOut, CheckCountsOut, WarningOut)>();
        required_is_never_null::<(ThreadOut, CommentOut, ReviewOut)>();
        required_is_never_null::<(FileOut, CommitOut, EventOut)>();
        required_is_never_null::<(IssueOut, RelatedOut)>();
    }
}
