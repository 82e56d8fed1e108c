use serde::Serialize;

use crate::{Error, ErrorKind, text};

/// Whether a service answers as a backend expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExaminedVerdict {
    /// The service answers as expected.
    Ok,
    /// The service answers otherwise than expected.
    Differs,
    /// The service does not answer, or not to this account.
    Unreachable,
    /// The service was not asked, or this account may not ask.
    Skipped,
}

impl ExaminedVerdict {
    /// The word for it, the same in text and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Differs => "differs",
            Self::Unreachable => "unreachable",
            Self::Skipped => "skipped",
        }
    }

    /// The verdict on a service that answered with a failure.
    #[must_use]
    pub fn of_error(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Network
            | ErrorKind::Timeout { .. }
            | ErrorKind::RateLimited { .. }
            | ErrorKind::Upstream { .. }
            | ErrorKind::Unauthenticated { .. } => Self::Unreachable,
            ErrorKind::Unsupported { .. } | ErrorKind::PermissionDenied { .. } => Self::Skipped,
            _ => Self::Differs,
        }
    }
}

/// How much of a detail is kept, in characters.
const MAX_DETAIL: usize = 500;

/// One expectation of a backend, compared with a live service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// The operation, route or method that was asked.
    pub name: String,
    /// Whether the service answers as expected.
    pub verdict: ExaminedVerdict,
    /// How it answers, on one line, without the query of an address.
    pub detail: String,
}

impl Examined {
    /// A verdict with its reason.
    #[must_use]
    pub fn new(name: impl Into<String>, verdict: ExaminedVerdict, detail: &str) -> Self {
        let detail = without_queries(&text::one_line(detail));
        let (kept, dropped) = text::truncate_chars(&detail, MAX_DETAIL);
        let end = if dropped > 0 { "…" } else { "" };
        Self {
            name: name.into(),
            verdict,
            detail: format!("{kept}{end}"),
        }
    }

    /// The verdict on a failure, with the failure's message.
    #[must_use]
    pub fn of_error(name: impl Into<String>, error: &Error) -> Self {
        Self::new(name, ExaminedVerdict::of_error(error), error.message())
    }

    /// What a live examination would ask.
    #[must_use]
    pub fn not_asked(name: impl Into<String>) -> Self {
        Self::new(name, ExaminedVerdict::Skipped, "not asked")
    }
}

/// Cuts the query off each address: it may hold a credential.
fn without_queries(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once('?') {
        Some((address, query)) if address.contains("://") || query.contains('=') => address,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detail_has_no_query_and_one_line() {
        let found = Examined::new("a", ExaminedVerdict::Ok, "see https://h/p?k=v or\nwhy? so");
        assert!(found.detail.starts_with("see https://h/p or"), "{found:?}");
        assert!(!found.detail.contains('\n') && !found.detail.contains("k=v"));
        assert!(found.detail.contains("why?"), "{found:?}");
    }

    #[test]
    fn long_detail_is_cut() {
        let found = Examined::new("a", ExaminedVerdict::Differs, &"é".repeat(10_000));
        assert_eq!(found.detail.chars().count(), MAX_DETAIL + 1);
    }

    #[test]
    fn failure_of_the_network_is_no_difference() {
        let of = |kind| ExaminedVerdict::of_error(&Error::new(kind, "x")).word();
        assert_eq!(of(ErrorKind::Network), "unreachable");
        assert_eq!(of(ErrorKind::Protocol), "differs");
        let host = "h".to_owned();
        assert_eq!(of(ErrorKind::Unauthenticated { host }), "unreachable");
    }
}
