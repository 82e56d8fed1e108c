//! Maps failures of XRPC to the workspace's error type.

use forge_core::{
    Action, Call, Changed, Error, ErrorKind, Hint, Noun, Retry,
    diff::MAX_PARTS,
    text::{one_line, truncate_chars},
};
use http::StatusCode;

use crate::{Origin, read_limits::human, xrpc::XrpcFailure};

/// Error context key for the name that the server gives a failure, such as `InvalidSwap`.
const NAME: &str = "xrpc_error";
/// Error context key of a token that was refused because of its audience.
const AUDIENCE: &str = "audience";
/// Error context key for the limit that stopped the reading of an answer.
const UNREAD: &str = "unread";
const TOO_LONG: &str = "too long";
const SPENT: &str = "spent";
/// Maximum length of a server's text in an error, in characters.
const MAX_TEXT_CHARS: usize = 500;
/// Beginning of the message of atproto's reference implementation for a missing record. If the
/// at-uri follows, the record is missing. Otherwise the account may be on another server.
const NO_RECORD: &str = "Could not locate record";

/// Returns the name that the server gives a failure, such as `InvalidSwap`.
pub(crate) fn name(error: &Error) -> Option<&str> {
    let (_, name) = error.context().iter().find(|(key, _)| *key == NAME)?;
    Some(name)
}

/// Returns true if a write reported a failure, but may have taken effect.
pub(crate) fn is_ambiguous(error: &Error) -> bool {
    error.retry() == Retry::Ambiguous
}

/// Returns true if the server refused the token before it did anything. A new token may work.
pub(crate) fn is_stale_token(error: &Error) -> bool {
    matches!(name(error), Some("ExpiredToken" | "InvalidToken"))
}

/// Returns true if the service may be too old for the requested method. Such a service answers 404
/// or 501. Status 400 counts too, because a knot answers 400 to a request that it cannot read.
pub(crate) fn is_unknown_method(error: &Error) -> bool {
    error.is_not_found()
        || matches!(
            error.kind(),
            ErrorKind::InvalidInput { .. } | ErrorKind::Upstream { status: 501, .. }
        )
}

/// Returns true if a knot has the repository, but no such branch or revision. An error about a
/// missing page or an unknown method says nothing about the branch, so it does not count.
pub(crate) fn is_missing_ref(error: &Error) -> bool {
    let is_other = |name: &str| matches!(name, "RepoNotFound" | "MethodNotFound");
    name(error).is_some_and(|name| name.ends_with("NotFound") && !is_other(name))
}

/// Returns true if a knot refused a procedure because it does not know a repository by the name in
/// the input: the name has another form than the knot accepts, or no repository has it.
pub(crate) fn is_unknown_repository(error: &Error) -> bool {
    !is_ambiguous(error) && matches!(name(error), Some("InvalidRepo" | "RepoNotFound"))
}

/// Returns true if somebody else changed the record.
pub(crate) fn is_conflict(error: &Error) -> bool {
    name(error) == Some("InvalidSwap")
}

/// Returns true if the service knows the method, and answers that there is no such record. Other
/// errors say nothing about the record: a missing page and an unknown method (404 without a name,
/// `XRPCNotSupported`, 501 `MethodNotImplemented`, 400 `InvalidRequest`).
pub(crate) fn is_missing_record(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound { what: Noun::Record })
}

/// Returns true if the server that stores a record says that the record or its account is missing.
/// A 404 that does not say what is missing does not count, because it may come from a service that
/// does not know the method.
pub(crate) fn is_gone(error: &Error) -> bool {
    let is_unclear = matches!(error.kind(), ErrorKind::NotFound { what: Noun::Other });
    error.is_not_found() && !is_unclear
}

/// Returns true if a service refused the audience of the token.
pub(crate) fn is_wrong_audience(error: &Error) -> bool {
    error.context().iter().any(|(key, _)| *key == AUDIENCE)
}

/// Shortens a server's text, and puts it into one line.
fn shorten(text: &str) -> String {
    one_line(&truncate_chars(text, MAX_TEXT_CHARS).0).into_owned()
}

/// Message of a PDS, with the name `InvalidRequest`, for a blob that it does not have.
const NO_BLOB: &str = "Blob not found";

/// Returns the error for an answer with a failure status.
///
/// A PDS answers nearly every failure with 400, so the failure's name decides before the status
/// does: 400 `ExpiredToken`, 400 `RecordNotFound`, 400 `InvalidSwap` (seen on pds 0.5.35).
pub(crate) fn of_status(
    origin: &Origin,
    nsid: &str,
    status: StatusCode,
    failure: &XrpcFailure,
    write: bool,
) -> Error {
    let host = origin.host();
    let said = shorten(&failure.message);
    let name = shorten(&failure.error);
    let words = match (name.as_str(), said.as_str()) {
        ("", "") => format!("status {}", status.as_u16()),
        (name, "") => name.to_owned(),
        ("", said) => said.to_owned(),
        (name, said) => format!("{said} ({name})"),
    };
    let message = format!("{host} refused {nsid}: {words}");
    let missing = said.starts_with(NO_RECORD)
        || said.starts_with("Could not find repo")
        || said == NO_BLOB
        || name.ends_with("NotFound");
    let no_record = matches!(name.as_str(), "RecordNotFound" | "NotFound")
        || said.contains(&format!("{NO_RECORD}: at://"));
    let what = if no_record { Noun::Record } else { Noun::Other };
    let kind = match name.as_str() {
        "InvalidSwap" => ErrorKind::Conflict {
            what: Changed::Record,
            expected: "the version that was read".to_owned(),
            actual: said.rsplit(' ').next().unwrap_or_default().to_owned(),
        },
        "ExpiredToken"
        | "InvalidToken"
        | "AuthMissing"
        | "AuthenticationRequired"
        | "AccountDeactivated"
        | "AccountTakedown"
        | "AuthFactorTokenRequired" => ErrorKind::Unauthenticated {
            host: host.to_owned(),
        },
        // A knot answers 401 even to an authenticated account without permission.
        "AccessControl" => ErrorKind::PermissionDenied {
            missing: vec!["repo:push".to_owned()],
            sso_url: None,
        },
        _ if missing => ErrorKind::NotFound { what },
        "MergeConflict" => ErrorKind::Precondition(forge_core::Precondition::Conflicts(Vec::new())),
        _ => match status {
            StatusCode::UNAUTHORIZED => ErrorKind::Unauthenticated {
                host: host.to_owned(),
            },
            StatusCode::FORBIDDEN => ErrorKind::PermissionDenied {
                missing: Vec::new(),
                sso_url: None,
            },
            StatusCode::NOT_FOUND => ErrorKind::NotFound { what },
            s if s.is_client_error() => ErrorKind::InvalidInput { field: None },
            _ => ErrorKind::Upstream {
                status: status.as_u16(),
                request_id: None,
            },
        },
    };
    let unauthenticated = matches!(kind, ErrorKind::Unauthenticated { .. });
    let refused = unauthenticated || matches!(kind, ErrorKind::PermissionDenied { .. });
    let mut error = Error::new(kind, message).with_context(NAME, name);
    if refused && words.to_lowercase().contains("aud") {
        error = error.with_context(AUDIENCE, "refused");
    }
    let error = if status.is_server_error() {
        error.with_retry(if write {
            Retry::Ambiguous
        } else {
            Retry::Transient
        })
    } else {
        error
    };
    if unauthenticated {
        error.with_hint(
            Hint::new("log in again with a new app password").with_action(Action::new(Call::Login)),
        )
    } else {
        error
    }
}

fn is_unread(error: &Error, why: &str) -> bool {
    error
        .context()
        .iter()
        .any(|(key, value)| *key == UNREAD && value == why)
}

/// Returns true if one answer exceeds its size limit. A request for fewer rows may then fit.
pub(crate) fn is_too_long(error: &Error) -> bool {
    is_unread(error, TOO_LONG) || forge_http::is_too_long(error)
}

/// Returns true if all answers to this command together reach the total size limit.
pub(crate) fn is_spent(error: &Error) -> bool {
    is_unread(error, SPENT)
}

/// Returns the error for an answer that would exceed the memory limit.
pub(crate) fn too_long(origin: &Origin) -> Error {
    let message = format!("{} sent more values than are read at once", origin.host());
    Error::new(ErrorKind::Protocol, message).with_context(UNREAD, TOO_LONG)
}

/// Returns the error for a patch or a comparison with more parts than are read.
pub(crate) fn too_many_parts(origin: &Origin) -> Error {
    let host = origin.host();
    let message = format!("{host} sent changes of more than {MAX_PARTS} files and hunks");
    Error::new(ErrorKind::Protocol, message)
}

/// Returns the error for a command whose answers together exceed the total size limit.
pub(crate) fn spent(most: usize) -> Error {
    let most = human(most);
    let message = format!("the answers to this command have more than {most} in total");
    Error::new(ErrorKind::Protocol, message)
        .with_context(UNREAD, SPENT)
        .with_hint("ask for less at once: a lower limit, or fewer fields")
}

/// Returns the error for an answer that cannot be parsed.
pub(crate) fn garbled(origin: &Origin, nsid: &str, why: &str, write: bool) -> Error {
    let error = Error::new(
        ErrorKind::Protocol,
        format!(
            "the answer of {} to {nsid} cannot be understood: {}",
            origin.host(),
            shorten(why)
        ),
    );
    if write {
        error.with_retry(Retry::Ambiguous)
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_part_limit_error_names_host_and_limit() {
        let origin = Origin::configured("https://knot.example").unwrap();
        let e = too_many_parts(&origin);
        assert_eq!(
            e.message(),
            "knot.example sent changes of more than 65536 files and hunks"
        );
    }

    #[test]
    fn long_text_of_server_is_cut() {
        let origin = Origin::configured("https://pds.example").unwrap();
        let failure = XrpcFailure {
            error: "e".repeat(900_000),
            message: "m".repeat(900_000),
        };
        let refused = of_status(&origin, "a.b.c", StatusCode::BAD_REQUEST, &failure, false);
        let garbled = garbled(&origin, "a.b.c", &failure.message, false);
        for e in [refused, garbled] {
            let said = format!("{e} {:?}", e.context());
            assert!(said.contains("mmm") && said.len() < 2_000, "{}", said.len());
        }
    }

    #[test]
    fn wrong_audience_is_recognized_in_error_answer() {
        let origin = Origin::configured("https://audio.example").unwrap();
        for (status, error, message, wrong) in [
            (401, "BadJwtAudience", "", true),
            (403, "Forbidden", "bad Audience", true),
            (403, "Forbidden", "no", false),
            (400, "InvalidRequest", "bad audience", false),
        ] {
            let failure = XrpcFailure {
                error: error.to_owned(),
                message: message.to_owned(),
            };
            let status = StatusCode::from_u16(status).unwrap();
            let e = of_status(&origin, "a.b.c", status, &failure, true);
            assert_eq!(is_wrong_audience(&e), wrong, "{e:?}");
        }
    }

    #[test]
    fn unknown_method_answer_is_not_a_missing_record() {
        let origin = Origin::configured("https://index.example").unwrap();
        let says = |status: u16, error: &str, message: &str| {
            let failure = XrpcFailure {
                error: error.to_owned(),
                message: message.to_owned(),
            };
            let status = StatusCode::from_u16(status).unwrap();
            is_missing_record(&of_status(&origin, "a.b.c", status, &failure, false))
        };
        for (status, error, message) in [
            (404, "RecordNotFound", "record not found"),
            (400, "RecordNotFound", "Could not locate record: at://x"),
            (400, "InvalidRequest", "Could not locate record: at://x"),
            (404, "NotFound", ""),
        ] {
            assert!(says(status, error, message), "{status} {error} {message}");
        }
        for (status, error, message) in [
            (404, "", ""),
            (404, "XRPCNotSupported", "XRPCNotSupported"),
            (404, "MethodNotFound", "no such method"),
            (501, "MethodNotImplemented", "Method Not Implemented"),
            (400, "InvalidRequest", "unknown method"),
            (400, "InvalidRequest", "Could not locate record"),
            (400, "InvalidRequest", "Could not find repo: did:plc:x"),
            (502, "", ""),
        ] {
            assert!(!says(status, error, message), "{status} {error} {message}");
        }
    }
}
