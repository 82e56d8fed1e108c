//! The version of what is stored, and the errors of objects that cannot be read.

use forge_core::{Error, ErrorKind, Result, text};
use serde::Deserialize;

/// The format of pull requests, labels and plain issues.
///
/// A stored file is rewritten whole, so a field that an older version does not know would be lost:
/// every new field needs a higher format.
pub(crate) const FORMAT: u32 = 1;
/// The format of an issue with values or relations, and of a deleted one.
pub(crate) const ISSUE_FORMAT: u32 = 2;

/// Why a stored object cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// A newer version of forge wrote it, with the format `found`; this one reads up to `newest`.
    Newer { found: u32, newest: u32 },
    /// The rest of a sentence.
    Damaged(String),
    /// The file that the record consists of is not there: it never was, or a partial clone left it
    /// out, which git does not tell apart.
    Missing(&'static str),
    /// git does not give the object out, and says what to do: nothing of it needs to be dropped.
    Withheld(Error),
}

impl From<Error> for Unreadable {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Protocol => Self::Damaged(error.message().to_owned()),
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
    /// Checks the field `format` of a stored JSON file, before anything else of it is read; `newest`
    /// is the highest that is read.
    pub fn check_format(file: &str, data: &[u8], newest: u32) -> Result<(), Self> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head = serde_json::from_slice(data).map_err(|e| format!("{file}: {e}"))?;
        match head.format {
            found if found > newest => Err(Self::Newer { found, newest }),
            _ => Ok(()),
        }
    }

    /// The error about `what`, which the ref `name` holds; `undo` is what dropping the ref does.
    pub fn into_error(self, what: &str, name: &str, undo: &str) -> Error {
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
                    "use the version of forge that wrote {name}, or a later one; this one changes \
                     nothing in it"
                ),
            ),
            Self::Missing(file) => (
                format!("its {file} is not in this repository"),
                format!(
                    "in a partial clone run 'git fetch --refetch --no-filter' and try again; \
                     elsewhere look at it with 'git log --first-parent {name}', and \
                     'git update-ref -d {name}' {undo}"
                ),
            ),
            Self::Damaged(why) => (
                text::one_line(&why).into_owned(),
                format!(
                    "look at it with 'git log --first-parent {name}'; 'git update-ref -d {name}' {undo}"
                ),
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
