//! The format version of stored objects, and the errors for objects that cannot be read.

use forge_core::{
    Error, ErrorKind, Result,
    call::{is_about_memory, weight_of_json},
    text,
};
use forge_git::command_line;
use serde::Deserialize;

/// The format version of plain pull requests and issues.
///
/// Every new field needs a higher format version. Stored files are rewritten as a whole, so an
/// older version of forge would otherwise drop the fields that it does not know.
pub(crate) const FORMAT: u32 = 1;
/// The format version of a pull request whose description closes issues.
pub(crate) const PULL_FORMAT: u32 = 2;
/// The format version of a deleted issue, and of an issue with custom field values or relations.
pub(crate) const ISSUE_FORMAT: u32 = 2;
/// The format version of the labels. Format 1 also had `next`, the id of the next label.
pub(crate) const LABELS_FORMAT: u32 = 2;

/// Maximum memory of a pull request or issue, in bytes: room for a body and thirty reviews of
/// maximum length. A list holds up to a hundred pull requests in memory.
pub(crate) const MAX_RECORD_WEIGHT: usize = 2 * 1024 * 1024;

/// Refuses to store a record that would be too large to read again.
pub(crate) fn check_room(record: &[u8]) -> Result<()> {
    if weight_of_json(record) <= MAX_RECORD_WEIGHT {
        return Ok(());
    }
    let most = MAX_RECORD_WEIGHT >> 20;
    let message = format!(
        "the description and the texts of the newest reviews are together too long: one pull \
         request or issue may have {most} MiB"
    );
    Err(Error::invalid("body", message).with_hint("write less, or write it as a comment"))
}

/// Reason why a stored object cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// A newer version of forge has written the object in the format `found`. This version reads
    /// formats up to `newest`.
    Newer { found: u32, newest: u32 },
    /// The clone has only the newest `found` of `recorded` events, because it is shallow.
    Shallow { found: u64, recorded: u64 },
    /// The object is damaged. The text completes the sentence of an error message.
    Damaged(String),
    /// The file of the record is missing. It was never written, or a partial clone left it out: git
    /// does not distinguish these two cases.
    Missing(&'static str),
    /// Git refuses the object and says what to do. The object itself may be intact, so the recovery
    /// must not delete the ref.
    Withheld(Error),
}

impl From<Error> for Unreadable {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Protocol if !is_about_memory(&error) => {
                Self::Damaged(error.message().to_owned())
            }
            _ => Self::Withheld(error),
        }
    }
}

impl From<String> for Unreadable {
    fn from(why: String) -> Self {
        Self::Damaged(why)
    }
}

impl From<&str> for Unreadable {
    fn from(why: &str) -> Self {
        Self::Damaged(why.to_owned())
    }
}

impl Unreadable {
    /// Checks that the record in a stored JSON file does not exceed the memory limit of one record.
    pub fn check_weight(file: &str, data: &[u8]) -> Result<(), Self> {
        match weight_of_json(data) {
            0..=MAX_RECORD_WEIGHT => Ok(()),
            weight => Err(Self::Damaged(format!(
                "its {file} would take {weight} bytes of memory, and the maximum is \
                 {MAX_RECORD_WEIGHT}"
            ))),
        }
    }

    /// Checks the field `format` of a stored JSON file before the rest is parsed. `newest` is the
    /// highest format that can be read.
    pub fn check_format(file: &str, data: &[u8], newest: u32) -> Result<(), Self> {
        #[derive(Deserialize)]
        struct FormatHead {
            format: u32,
        }
        let head: FormatHead = serde_json::from_slice(data).map_err(|e| format!("{file}: {e}"))?;
        match head.format {
            found if found > newest => Err(Self::Newer { found, newest }),
            _ => Ok(()),
        }
    }

    /// Returns the error about the object `what` in the ref `name`. `undo` says what a deletion of
    /// the ref does, such as `deletes the issue`.
    pub fn into_error(self, what: &str, name: &str, undo: &str) -> Error {
        let log = command_line(["git", "log", "--first-parent", name]);
        let delete = command_line(["git", "update-ref", "-d", name]);
        let (why, hint) = match self {
            Self::Withheld(error) => {
                let message = format!("{what} ({name}) cannot be read: {}", error.message());
                let hint = error.hint().cloned();
                let outer = Error::new(error.kind().clone(), message);
                return hint
                    .into_iter()
                    .fold(outer, Error::with_hint)
                    .with_source(error);
            }
            Self::Newer { found, newest } => (
                format!(
                    "it has format {found}, which a newer version of forge wrote (this one reads \
                     up to {newest})"
                ),
                format!(
                    "use the version of forge that wrote {name}, or a later one; this version \
                     changes no data there"
                ),
            ),
            Self::Missing(file) => (
                format!("its {file} is not in this repository"),
                format!(
                    "in a partial clone run `git fetch --refetch --no-filter` and try again; \
                     elsewhere look at it with `{log}`, and `{delete}` {undo}"
                ),
            ),
            Self::Shallow { found, recorded } => (
                format!(
                    "this clone is shallow and has {found} of its {recorded} events, and the others \
                     can decide what holds now"
                ),
                "run `git fetch --unshallow --no-prune` and try again".to_owned(),
            ),
            Self::Damaged(why) => (
                text::one_line(&why).into_owned(),
                format!("look at it with `{log}`; `{delete}` {undo}"),
            ),
        };
        Error::new(
            ErrorKind::Protocol,
            format!("{what} ({name}) cannot be read: {why}"),
        )
        .with_hint(hint)
        .with_context("ref", name)
    }
}
