//! Checks the records that forge reads and writes against their lexicons (atproto's schemas).
//!
//! The lexicon documents are in `lexicons/` of the workspace. We wrote them from the records and
//! the public clients that we could observe. So each document states which of its fields were seen,
//! and which are inferred. [`check`] is called on every record before it is sent. [`check_in`] can
//! also check against an older version of the protocol:
//!
//! ```
//! use forge_tangled::lexicon;
//! use serde_json::json;
//!
//! let status = json!({
//!     "$type": "sh.tangled.repo.pull.status",
//!     "pull": "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/sh.tangled.repo.pull/3mkuuamwfj322",
//!     "status": "sh.tangled.repo.pull.status.closed",
//! });
//! let problems = lexicon::check("sh.tangled.repo.pull.status", &status).unwrap_err();
//! assert_eq!(problems[0].to_string(), "$.createdAt: is missing");
//! assert!(
//!     lexicon::check_in(lexicon::Set::Sh2025, "sh.tangled.repo.pull.status", &status).is_ok()
//! );
//! ```
//!
//! A field that the lexicon does not name is allowed, as atproto requires. So a record keeps the
//! fields that newer clients have written.

mod check;
mod format;
mod schema;
mod store;

use std::fmt;

use serde_json::Value;

pub(crate) use format::{is_did, is_nsid};
pub use store::Set;

/// A part of a record that its lexicon does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexiconProblem {
    /// The path of the part: `$` is the record, then `.field` and `[index]`.
    pub path: String,
    /// The problem, with the beginning of the value.
    pub what: String,
}

impl fmt::Display for LexiconProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// Checks a record before it is written in `collection`.
///
/// A `sh.tangled.*` record is checked against the lexicons of 2026, an `org.tangled.*` record
/// against those of Tangled 1.0.
///
/// # Errors
/// All problems of the record (at most 50); one problem at `$` if forge has no lexicon for the
/// collection.
pub fn check(collection: &str, record: &Value) -> Result<(), Vec<LexiconProblem>> {
    let set = if collection.starts_with("org.tangled.") {
        Set::Org10
    } else {
        Set::Sh2026
    };
    check_in(set, collection, record)
}

/// Checks a record as [`check`] does, against the lexicons of the version `set`.
///
/// # Errors
/// As [`check`].
pub fn check_in(set: Set, collection: &str, record: &Value) -> Result<(), Vec<LexiconProblem>> {
    check::record(&set, collection, record)
}

/// Fields in which a record differs from its lexicon.
///
/// Each field is a path as in [`LexiconProblem`], without its value. The names of unknown fields
/// come from the record's author, so they can be any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// Required fields that the record lacks.
    pub missing: Vec<String>,
    /// Fields whose value does not fit the lexicon.
    pub changed: Vec<String>,
    /// Fields that the lexicon does not name.
    pub unknown: Vec<String>,
}

/// Compares a record with its lexicon. Lists at most 50 fields of each kind.
pub(crate) fn differences(set: Set, collection: &str, record: &Value) -> Differences {
    check::differences(&set, collection, record)
}

/// Returns true if `rkey` can be the key of a record in `collection`: well formed, and of the kind
/// (a TID, a literal, or any key) that the lexicon requires.
#[must_use]
pub fn key_fits(set: Set, collection: &str, rkey: &str) -> bool {
    let Some(schema::Def::Record(record)) = set.find(collection, "main") else {
        return false;
    };
    format::is_record_key(rkey)
        && match record.key.as_str() {
            "tid" => format::is_tid(rkey),
            "nsid" => is_nsid(rkey),
            key => key.strip_prefix("literal:").is_none_or(|it| it == rkey),
        }
}

/// Returns the collections of a protocol version that have a lexicon, sorted by name.
#[must_use]
pub fn collections(set: Set) -> Vec<&'static str> {
    set.ids()
        .filter(|id| matches!(set.find(id, "main"), Some(schema::Def::Record(_))))
        .collect()
}

#[cfg(test)]
mod tests;
