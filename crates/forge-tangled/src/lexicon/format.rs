//! The string formats of atproto, as <https://atproto.com/specs/lexicon> names them.

use chrono::DateTime;
use percent_encoding::percent_decode_str;

/// Checks a string against a string format. Returns the problem; `None` for a valid string or an
/// unknown format.
pub(super) fn complaint(format: &str, text: &str) -> Option<&'static str> {
    let (fine, want) = match format {
        "did" => (is_did(text), "is no DID"),
        "handle" => (is_handle(text), "is no handle"),
        "at-identifier" => (is_did(text) || is_handle(text), "is no DID and no handle"),
        "at-uri" => (is_at_uri(text), "is no at-uri"),
        "nsid" => (is_nsid(text), "is no NSID"),
        "cid" => (is_cid(text), "is no CID"),
        "datetime" => (is_datetime(text), "is no date and time with a zone"),
        "uri" => (is_uri(text), "is no URI"),
        "tid" => (is_tid(text), "is no TID"),
        "record-key" => (is_record_key(text), "is no record key"),
        _ => return None,
    };
    (!fine).then_some(want)
}

fn has_only(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(allowed)
}

pub(crate) fn is_did(text: &str) -> bool {
    let mut parts = text.splitn(3, ':');
    let (Some("did"), Some(method), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    text.len() <= 2048
        && has_only(method, |c| c.is_ascii_lowercase())
        && has_only(rest, |c| c.is_ascii_alphanumeric() || "._:%-".contains(c))
        && !rest.ends_with([':', '%'])
        // Every `%` must begin an escape. Decoding shortens the text by two bytes per escape.
        && percent_decode_str(rest).count() == rest.len() - 2 * rest.matches('%').count()
}

fn is_label(text: &str) -> bool {
    text.len() <= 63
        && has_only(text, |c| c.is_ascii_alphanumeric() || c == '-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_handle(text: &str) -> bool {
    text.len() <= 253
        && text.contains('.')
        && text.split('.').all(is_label)
        && text
            .rsplit('.')
            .next()
            .is_some_and(|last| last.starts_with(|c: char| c.is_ascii_alphabetic()))
}

pub(crate) fn is_nsid(text: &str) -> bool {
    let Some((authority, name)) = text.rsplit_once('.') else {
        return false;
    };
    text.len() <= 317
        && authority.contains('.')
        && authority.split('.').all(is_label)
        && !authority.starts_with(|c: char| c.is_ascii_digit())
        && name.len() <= 63
        && has_only(name, |c| c.is_ascii_alphanumeric())
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

pub(super) fn is_record_key(text: &str) -> bool {
    text.len() <= 512
        && !matches!(text, "." | "..")
        && has_only(text, |c| c.is_ascii_alphanumeric() || ".-_:~".contains(c))
}

pub(super) fn is_tid(text: &str) -> bool {
    text.len() == 13
        && text.starts_with(|c| ('2'..='7').contains(&c) || ('a'..='j').contains(&c))
        && has_only(text, |c| ('2'..='7').contains(&c) || c.is_ascii_lowercase())
}

fn is_at_uri(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("at://") else {
        return false;
    };
    let mut parts = rest.split('/');
    let authority = parts.next().is_some_and(|it| is_did(it) || is_handle(it));
    let collection = parts.next().is_none_or(is_nsid);
    let key = parts.next().is_none_or(is_record_key);
    text.len() <= 8192 && authority && collection && key && parts.next().is_none()
}

/// Returns true for a CID of version 1 in base 32, the only form in records.
fn is_cid(text: &str) -> bool {
    (8..=256).contains(&text.len())
        && text.starts_with('b')
        && has_only(text, |c| c.is_ascii_lowercase() || ('2'..='7').contains(&c))
}

/// Returns true for an RFC 3339 time as atproto allows it: with a `T`, with whole or fractional
/// seconds, and with a zone other than `-00:00`.
fn is_datetime(text: &str) -> bool {
    text.len() <= 64
        && text.is_ascii()
        && text.get(10..11) == Some("T")
        && !text.ends_with("-00:00")
        && !text.ends_with('z')
        && !text.starts_with("000")
        && DateTime::parse_from_rfc3339(text).is_ok()
}

/// Returns true for a URI scheme with a non-empty text after it. No URL parser is used, because it
/// would refuse at-uris.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    text.len() <= 8192
        && has_only(scheme, |c| c.is_ascii_alphanumeric() || "+-._".contains(c))
        && scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && !rest.starts_with('/')
        && has_only(rest, |c| !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats, each with valid and invalid texts.
    const TABLE: &[(&str, &[&str], &[&str])] = &[
        (
            "did",
            &[
                "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
                "did:web:localhost%3A8080",
                "did:web:a.b:c",
            ],
            &[
                "",
                "did",
                "did:plc:",
                "DID:plc:a",
                "did:web:a%",
                "did:web:a%zz",
                "did:p1c:a",
                "did:plc:a b",
            ],
        ),
        (
            "handle",
            &["alice.test", "a-b.example.com", "8.cn"],
            &[
                "alice",
                "alice.",
                ".test",
                "-a.test",
                "a_b.test",
                "a.1",
                "@alice.test",
            ],
        ),
        (
            "at-identifier",
            &["alice.test", "did:plc:x"],
            &["alice", "did:"],
        ),
        (
            "at-uri",
            &[
                "at://did:plc:x",
                "at://alice.test/sh.tangled.repo/r",
                "at://did:plc:x/sh.tangled.repo.pull/3mkuuamwfj322",
            ],
            &[
                "https://x",
                "at://",
                "at://x",
                "at://did:plc:x/",
                "at://did:plc:x/notansid/r",
                "at://did:plc:x/sh.tangled.repo/",
                "at://did:plc:x/sh.tangled.repo/r/s",
                "at://did:plc:x/sh.tangled.repo/r#f",
            ],
        ),
        (
            "nsid",
            &["sh.tangled.repo", "com.atproto.repo.strongRef"],
            &[
                "sh.tangled",
                "sh.tangled.a-b",
                "sh..repo",
                "1sh.tangled.repo",
                "sh.tangled.1repo",
            ],
        ),
        (
            "cid",
            &["bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454"],
            &[
                "",
                "bafy",
                "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG",
                "bafyreiE5cvv4h45",
            ],
        ),
        (
            "datetime",
            &[
                "2026-05-02T10:00:00Z",
                "2026-05-02T10:00:00.123456Z",
                "2026-05-02T10:00:00+02:00",
            ],
            &[
                "2026-05-02",
                "2026-05-02 10:00:00Z",
                "2026-05-02T10:00:00",
                "2026-05-02T10:00:00-00:00",
                "2026-13-02T10:00:00Z",
                "2026-02-30T10:00:00Z",
                "2026-05-02T10:00:00z",
                "now",
                "",
            ],
        ),
        (
            "uri",
            &["https://example.com/a?b", "at://did:plc:x"],
            &["example.com", "https://a b", ""],
        ),
        (
            "tid",
            &["3mkuuamwfj322", "2222222222222"],
            &[
                "3mkuuamwfj32",
                "3MKUUAMWFJ322",
                "zmkuuamwfj322",
                "1mkuuamwfj322",
            ],
        ),
        (
            "record-key",
            &["self", "a.b-c_d:e~f", "did:plc:x"],
            &["", ".", "..", "a/b", "a b", "a#b"],
        ),
    ];

    #[test]
    fn string_formats_accept_only_valid_texts() {
        for (format, good, bad) in TABLE {
            for text in *good {
                assert_eq!(complaint(format, text), None, "{format} {text:?}");
            }
            for text in *bad {
                assert!(complaint(format, text).is_some(), "{format} {text:?}");
            }
        }
    }
}
