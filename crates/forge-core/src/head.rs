//! Checks of the expected head commit and base branch.

use std::fmt;

use crate::{Action, Changed, Error, ErrorKind, Hint, Op, Result, text};

/// Checks that the head of `pull` is the commit `expected`; passes if `expected` is `None`.
///
/// Only full ids are accepted, because two commits whose ids share the first twelve digits can be
/// made in seconds. If the head is a patch, its id is a CID, the content hash that atproto uses
/// ([`crate::model::PullRequest::head_id`]).
///
/// # Errors
/// `invalid_input` if `expected` is not a full object id; `conflict` if the head is another commit
/// or unknown.
pub fn check_expected_head(
    pull: &dyn fmt::Display,
    expected: Option<&str>,
    head: Option<&str>,
) -> Result<()> {
    if is_expected_head(pull, expected, head)? {
        return Ok(());
    }
    let head = head.unwrap_or_default();
    Err(head_moved(pull, expected.unwrap_or_default(), head))
}

/// Returns true if the head of `pull` is the commit `expected`, or if `expected` is `None`.
///
/// # Errors
/// `invalid_input` if `expected` is not a full object id.
pub fn is_expected_head(
    pull: &dyn fmt::Display,
    expected: Option<&str>,
    head: Option<&str>,
) -> Result<bool> {
    let Some(expected) = expected else {
        return Ok(true);
    };
    let head = head.unwrap_or_default();
    if !is_full_id(expected) {
        let (shown, _) = text::truncate_chars(expected, 80);
        let message = match expected {
            "" => "the expected head is missing".to_owned(),
            _ => format!(
                "'{}' is not a full commit id, which has 40 or 64 hex digits",
                text::one_line(&shown)
            ),
        };
        return Err(
            Error::invalid("expected_head", message).with_hint(match head {
                "" => "pass the full id of the head that was reviewed".to_owned(),
                _ => format!("the head of {pull} is {head}: review it, then pass the full id"),
            }),
        );
    }
    Ok(head.eq_ignore_ascii_case(expected))
}

/// Checks that the base branch of `pull` is `expected`; passes if `expected` is `None`.
///
/// # Errors
/// `conflict` if the base is another branch.
pub fn check_expected_base(
    pull: &dyn fmt::Display,
    expected: Option<&str>,
    base: &str,
) -> Result<()> {
    let Some(expected) = expected.filter(|expected| *expected != base) else {
        return Ok(());
    };
    let [shown, now] = [expected, base].map(text::one_line);
    let kind = ErrorKind::Conflict {
        what: Changed::Base,
        expected: expected.to_owned(),
        actual: base.to_owned(),
    };
    let message = format!("the base branch of {pull} is '{now}', not '{shown}'");
    Err(Error::new(kind, message).with_hint(Hint::fixed(
        "check the new base branch, then try again",
        Action::op(Op::PrView),
    )))
}

/// Returns the error for a head that is `actual` instead of `expected`.
///
/// - `actual` is empty if the head is unknown.
/// - `actual` equals `expected` if the host refused `expected` although it still shows this head.
#[must_use]
pub fn head_moved(pull: &dyn fmt::Display, expected: &str, actual: &str) -> Error {
    let (message, hint) = match actual {
        "" => (
            format!("the head of {pull} is not known, so it cannot be compared with {expected}"),
            "review the changes, then try again without an expected head".to_owned(),
        ),
        _ if actual.eq_ignore_ascii_case(expected) => (
            format!(
                "the host refused {expected} as the head of {pull}, but still shows it as the head"
            ),
            "view the pull request, then try again if it still has that head".to_owned(),
        ),
        _ if is_cid(actual) && !is_cid(expected) => (
            format!(
                "cannot compare the head of {pull} with commit {expected}: the head is the patch \
                 {actual}, and a commit id in a patch is only claimed by its author"
            ),
            format!("review that patch, then try again with the head {actual}"),
        ),
        _ => (
            format!("the head of {pull} is {actual}, not {expected}"),
            format!("review what was pushed, then try again with the head {actual}"),
        ),
    };
    let kind = ErrorKind::Conflict {
        what: Changed::Head,
        expected: expected.to_owned(),
        actual: actual.to_owned(),
    };
    Error::new(kind, message).with_hint(hint)
}

/// Returns true if `text` is a full object id of git in hex: 40 digits (SHA-1) or 64 (SHA-256).
#[must_use]
pub fn is_full_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns true if `text` is a full object id or a CID.
fn is_full_id(text: &str) -> bool {
    is_cid(text) || is_full_oid(text)
}

/// Returns true if `text` has the form of an atproto CID: version 1 and SHA-256, in base 32.
fn is_cid(text: &str) -> bool {
    let is_base32 = |b: u8| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b);
    text.len() == 59 && text.starts_with("baf") && text.bytes().all(is_base32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

    fn check(expected: &str, head: Option<&str>) -> Result<()> {
        check_expected_head(&"#7", Some(expected), head)
    }

    #[test]
    fn full_expected_head_is_accepted_in_either_case() {
        assert!(check_expected_head(&"#7", None, None).is_ok());
        assert!(check(HEAD, Some(HEAD)).is_ok());
        assert!(check(&HEAD.to_uppercase(), Some(HEAD)).is_ok());
        let sha256 = "ab".repeat(32);
        assert!(check(&sha256, Some(&sha256)).is_ok());
    }

    #[test]
    fn expected_head_prefix_is_refused_naming_full_head() {
        let longer = format!("{HEAD}0");
        for bad in [
            &HEAD[..7],
            &HEAD[..12],
            &HEAD[..39],
            &longer,
            "",
            "\u{1b}[2J",
        ] {
            let e = check(bad, Some(HEAD)).unwrap_err();
            assert_eq!(e.code(), "invalid_input", "{bad:?}");
            assert!(e.hint().unwrap().text().contains(HEAD), "{e:?}");
            assert!(!e.message().contains('\u{1b}'), "{e:?}");
        }
        // A SHA-256 id may begin with the 40 digits of the SHA-1 head, but it is another commit.
        let sha256 = format!("{HEAD}{}", "0".repeat(24));
        assert_eq!(check(HEAD, Some(&sha256)).unwrap_err().code(), "conflict");
    }

    #[test]
    fn unexpected_base_is_a_conflict() {
        let check = |expected, base| check_expected_base(&"#7", expected, base);
        assert!(check(None, "main").is_ok());
        assert!(check(Some("main"), "main").is_ok());
        for (expected, base) in [("main", "prod"), ("main", "Main"), ("", "main")] {
            let e = check(Some(expected), base).unwrap_err();
            let kind = ErrorKind::Conflict {
                what: Changed::Base,
                expected: expected.to_owned(),
                actual: base.to_owned(),
            };
            assert_eq!(*e.kind(), kind);
        }
        let e = check(Some("main"), "\u{1b}[2J").unwrap_err();
        assert!(!e.message().contains('\u{1b}'), "{e:?}");
    }

    #[test]
    fn unexpected_or_unknown_head_is_a_conflict() {
        let other = "f".repeat(40);
        let e = check(&other, Some(HEAD)).unwrap_err();
        assert!(
            e.message().contains(&other) && e.message().contains(HEAD),
            "{e:?}"
        );
        assert!(e.hint().unwrap().text().contains(HEAD), "{e:?}");
        let e = check(HEAD, None).unwrap_err();
        assert_eq!(e.code(), "conflict");
        assert!(e.message().contains("not known"), "{e:?}");
    }

    #[test]
    fn refused_but_shown_head_is_reported() {
        let e = head_moved(&"#7", HEAD, HEAD);
        assert_eq!(e.code(), "conflict");
        assert_eq!(e.message().matches(HEAD).count(), 1, "{e:?}");
        assert!(e.message().contains("still shows it as the head"), "{e:?}");
    }

    #[test]
    fn expected_head_of_patch_is_a_cid() {
        let patch = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
        let other = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
        assert!(check_expected_head(&"#7", Some(patch), Some(patch)).is_ok());
        for expected in [other, HEAD] {
            let e = check_expected_head(&"#7", Some(expected), Some(patch)).unwrap_err();
            assert_eq!(e.code(), "conflict");
            for id in [expected, patch] {
                assert!(e.message().contains(id), "{e:?}");
            }
        }
        let e = check_expected_head(&"#7", Some(&patch[..58]), Some(patch)).unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.hint().unwrap().text().contains(patch), "{e:?}");
    }
}
