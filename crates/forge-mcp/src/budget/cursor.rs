//! Cursors: opaque to the caller, bound to a tool, its arguments and a head commit.

use std::hash::Hash;

use forge_core::{Error, ErrorKind, Result, fingerprint};

const SEPARATOR: char = '~';

/// A cursor that goes on at `position`.
pub(crate) fn make(tool: &str, of: &impl Hash, head: &str, position: &str) -> String {
    format!("{}{SEPARATOR}{head}{SEPARATOR}{position}", bound(tool, of))
}

/// The position of a cursor.
///
/// # Errors
/// `invalid_input` when it belongs to another call; `conflict` when the head has moved since.
pub(crate) fn read<'a>(tool: &str, of: &impl Hash, head: &str, cursor: &'a str) -> Result<&'a str> {
    let again = "make the call again without cursor, and pass the same arguments with every cursor";
    let mut parts = cursor.trim().splitn(3, SEPARATOR);
    let (Some(bind), Some(then), Some(position)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(
            Error::invalid("cursor", "the cursor is not one of this server").with_hint(again),
        );
    };
    if bind != bound(tool, of) {
        return Err(Error::invalid(
            "cursor",
            "the cursor belongs to a call with other arguments",
        )
        .with_hint(again));
    }
    if then != head {
        return Err(Error::new(
            ErrorKind::Conflict {
                expected: then.to_owned(),
                actual: head.to_owned(),
            },
            format!(
                "the head has moved from {} to {} since the first page",
                short(then),
                short(head)
            ),
        )
        .with_hint("start again without cursor to read the new state"));
    }
    Ok(position)
}

fn bound(tool: &str, of: &impl Hash) -> String {
    format!("{:016x}", fingerprint(&(tool, fingerprint(of))))
}

/// An object id as people write it.
pub(crate) fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_fits_its_own_call_alone() {
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
