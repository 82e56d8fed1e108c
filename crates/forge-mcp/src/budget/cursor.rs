//! Opaque cursors of result pages. A cursor is valid only for the same tool, arguments and head
//! commit.

use std::hash::Hash;

use forge_core::{Action, Arg, Changed, Error, ErrorKind, Hint, Param, Result, fingerprint};

use super::ResultPosition;

const SEPARATOR: char = '~';
/// The action that repeats the call from its first page.
const WITHOUT_CURSOR: Action = Action::again(&[(Param::Cursor, Arg::Omit)]);

pub(crate) fn make(tool: &str, of: &impl Hash, head: &str, position: &str) -> String {
    format!("{}{SEPARATOR}{head}{SEPARATOR}{position}", bound(tool, of))
}

/// Returns the position that a cursor contains.
///
/// # Errors
///
/// Fails with `invalid_input` if the cursor belongs to another call, and with `conflict` if the
/// head has moved since the cursor was made.
pub(crate) fn read<'a>(tool: &str, of: &impl Hash, head: &str, cursor: &'a str) -> Result<&'a str> {
    let again = || {
        let text = "start again without cursor, and pass the same arguments with every cursor";
        Hint::fixed(text, WITHOUT_CURSOR)
    };
    let mut parts = cursor.trim().splitn(3, SEPARATOR);
    let (Some(bind), Some(then), Some(position)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(
            Error::invalid("cursor", "this server did not make the cursor").with_hint(again()),
        );
    };
    if bind != bound(tool, of) {
        return Err(Error::invalid(
            "cursor",
            "the cursor belongs to a call with other arguments",
        )
        .with_hint(again()));
    }
    if then != head {
        return Err(Error::new(
            ErrorKind::Conflict {
                what: Changed::View,
                expected: then.to_owned(),
                actual: head.to_owned(),
            },
            format!("the head has moved from {then} to {head} since the first page"),
        )
        .with_hint(Hint::fixed(
            "start again without cursor to read the new state",
            WITHOUT_CURSOR,
        )));
    }
    Ok(position)
}

/// How the errors of [`unpin`] usually call the content of earlier pages.
pub(crate) const SHOWN: &str = "what was shown";

/// Binds a position to a hash of the content before the position; [`unpin`] checks the hash.
pub(crate) fn pin(at: ResultPosition, before: u64) -> String {
    format!("{}{SEPARATOR}{before:016x}", at.to_text())
}

/// Returns the position that [`pin`] bound. `before` computes the hash of the current content
/// before a position. In errors, `what` is the name of that content.
///
/// # Errors
///
/// Fails with `invalid_input` if the cursor is damaged. Fails with `conflict` if the content before
/// the position has changed, because the pages would then show two different states.
pub(crate) fn unpin(
    text: &str,
    what: &str,
    before: impl Fn(ResultPosition) -> u64,
) -> Result<ResultPosition> {
    let (at, pinned) = text.split_once(SEPARATOR).ok_or_else(damaged)?;
    let at = position(at)?;
    let now = format!("{:016x}", before(at));
    if pinned != now {
        return Err(Error::new(
            ErrorKind::Conflict {
                what: Changed::View,
                expected: pinned.to_owned(),
                actual: now,
            },
            format!("{what} has changed since the first page"),
        )
        .with_hint(Hint::fixed(
            "start again without cursor to read the new state",
            WITHOUT_CURSOR,
        )));
    }
    Ok(at)
}

/// Parses a position from [`ResultPosition::to_text`].
///
/// # Errors
///
/// Fails with `invalid_input` if the text is damaged. The function does not fall back to the first
/// page, because that would repeat content.
fn position(text: &str) -> Result<ResultPosition> {
    ResultPosition::from_text(text).ok_or_else(damaged)
}

/// Returns the error for a cursor without a valid position.
pub(crate) fn damaged() -> Error {
    Error::invalid("cursor", "the cursor is damaged")
        .with_hint(Hint::fixed("start again without cursor", WITHOUT_CURSOR))
}

fn bound(tool: &str, of: &impl Hash) -> String {
    format!("{:016x}", fingerprint(&(tool, fingerprint(of))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_refused_after_content_changed() {
        let at = ResultPosition {
            block: 3,
            offset: 7,
        };
        let text = pin(at, 42);
        assert_eq!(unpin(&text, SHOWN, |_| 42).unwrap(), at);
        let moved = unpin(&text, SHOWN, |_| 43).unwrap_err();
        assert_eq!(moved.code(), "conflict");
        assert!(moved.hint().unwrap().text().contains("start again"));
        for damaged in ["3.7", "x~000000000000002a", ""] {
            let e = unpin(damaged, SHOWN, |_| 42).unwrap_err();
            assert_eq!(e.code(), "invalid_input", "{damaged}");
        }
        assert_eq!(position("3.7").unwrap(), at);
        assert!(position("3.").is_err() && position("3").is_err() && position("").is_err());
    }

    #[test]
    fn cursor_of_another_call_is_refused() {
        let cursor = make("pr_diff", &("r", 1), "abc", "3.0~x");
        assert_eq!(read("pr_diff", &("r", 1), "abc", &cursor).unwrap(), "3.0~x");
        assert_eq!(
            read("pr_diff", &("r", 2), "abc", &cursor)
                .unwrap_err()
                .code(),
            "invalid_input"
        );
        assert_eq!(
            read("pr_view", &("r", 1), "abc", &cursor)
                .unwrap_err()
                .code(),
            "invalid_input"
        );
        assert_eq!(
            read("pr_diff", &("r", 1), "def", &cursor)
                .unwrap_err()
                .code(),
            "conflict"
        );
        assert_eq!(
            read("pr_diff", &("r", 1), "abc", "1").unwrap_err().code(),
            "invalid_input"
        );
    }
}
