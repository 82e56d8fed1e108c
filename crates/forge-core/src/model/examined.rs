use serde::Serialize;

use crate::{Error, ErrorKind, text};

/// Verdict on whether a service answers as the backend expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExaminedVerdict {
    /// The service answers as expected.
    Ok,
    /// The service's answer differs from the expected one.
    Differs,
    /// The service does not answer, or refuses this account.
    Unreachable,
    /// The service was not queried, or this account may not query it.
    Skipped,
}

impl ExaminedVerdict {
    /// Returns the stable name of the verdict. It is the same in text and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Differs => "differs",
            Self::Unreachable => "unreachable",
            Self::Skipped => "skipped",
        }
    }

    /// Returns the verdict for a service that answered with an error.
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

/// Maximum length of [`Examined::detail`], in characters.
const MAX_DETAIL: usize = 500;

/// Result of checking one expectation of a backend against a running service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Examined {
    /// The operation, route or method of the service that was checked.
    pub name: String,
    /// Verdict on the service's answer.
    pub verdict: ExaminedVerdict,
    /// Description of the service's answer, on one line. Queries of URLs are removed.
    pub detail: String,
}

impl Examined {
    /// Builds a verdict with its reason.
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

    /// Builds the verdict for an error, with the message of the error.
    #[must_use]
    pub fn of_error(name: impl Into<String>, error: &Error) -> Self {
        Self::new(name, ExaminedVerdict::of_error(error), error.message())
    }

    /// Builds the entry for a check that was skipped, because it runs only if `live` is requested
    /// ([`Repos::examine`](crate::Repos::examine)).
    #[must_use]
    pub fn not_asked(name: impl Into<String>) -> Self {
        Self::new(name, ExaminedVerdict::Skipped, "not asked")
    }
}

/// Removes the query part of each URL, because it may contain a credential.
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
    fn detail_is_one_line_without_query() {
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
    fn network_failure_is_examined_as_unreachable() {
        let of = |kind| ExaminedVerdict::of_error(&Error::new(kind, "x")).word();
        assert_eq!(of(ErrorKind::Network), "unreachable");
        assert_eq!(of(ErrorKind::Protocol), "differs");
        let host = "h".to_owned();
        assert_eq!(of(ErrorKind::Unauthenticated { host }), "unreachable");
    }
}
