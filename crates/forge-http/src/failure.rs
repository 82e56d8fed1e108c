//! Maps failed connections and unusable responses to the error type of the workspace.

use std::{error::Error as StdError, fmt, io, time::Duration};

use forge_core::{Error, ErrorKind, Retry};

use crate::{redact, resolve::PrivateAddress};

/// Failure of a request that has no usable response.
#[derive(Debug)]
pub(crate) enum HttpFailure {
    /// The connection failed, so nothing was sent.
    NotSent { error: Error, again: bool },
    /// The request may have been sent, but no complete response arrived.
    Unknown(Error),
    /// The request was sent, but its response is unusable.
    Final(Error),
}

/// Reason why no connection could be made. It is the source of an [`Error`], so that
/// [`is_no_connection`] recognises the error.
#[derive(Debug)]
struct NoConnection(String);

impl fmt::Display for NoConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for NoConnection {}

/// Returns true if a request failed because no connection to the host could be made. In this case
/// nothing was sent.
#[must_use]
pub fn is_no_connection(error: &Error) -> bool {
    error
        .source()
        .is_some_and(|source| source.is::<NoConnection>())
}

/// Returns true if a request was not sent because it is limited to public addresses.
#[must_use]
pub fn is_private_address(error: &Error) -> bool {
    error
        .source()
        .is_some_and(|source| source.is::<PrivateAddress>())
}

/// Returns the error for a request that is limited to public addresses, if `host` has none.
pub(crate) fn private_address(host: &str) -> Error {
    let why = PrivateAddress(host.to_owned());
    Error::new(ErrorKind::Protocol, why.to_string())
        .with_source(why)
        .with_retry(Retry::Never)
}

/// Source of the error for a response that exceeds its size limit.
#[derive(Debug)]
pub(crate) struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer exceeds the size limit")
    }
}

impl StdError for TooLong {}

/// Returns true if a request failed because its response exceeded [`crate::BodyMax`] or
/// [`crate::HttpSettings::body_max`].
#[must_use]
pub fn is_too_long(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<TooLong>())
}

/// Maps an error of reqwest that occurs before the response is complete.
pub(crate) fn from_reqwest(error: &reqwest::Error, host: &str, idle: Duration) -> HttpFailure {
    let why = cause(error);
    // A TLS error on an established connection may follow a request that the server has received.
    if error.is_connect()
        && let Some(tls) = find::<rustls::Error>(error)
    {
        let error = Error::new(
            ErrorKind::Network,
            format!("the TLS connection to {host} failed: {tls}"),
        )
        .with_hint(
            "behind a proxy that opens TLS, set FORGE_CA_BUNDLE to its certificate (PEM), \
                 or tls.roots to system",
        )
        .with_retry(Retry::Never);
        return HttpFailure::NotSent {
            error,
            again: false,
        };
    }
    if find::<PrivateAddress>(error).is_some() {
        return HttpFailure::NotSent {
            error: private_address(host),
            again: false,
        };
    }
    if error.is_connect() {
        let error = Error::new(
            ErrorKind::Network,
            format!("no connection to {host}: {why}"),
        )
        .with_source(NoConnection(why))
        .with_hint("check the network and the proxy settings, then try again");
        return HttpFailure::NotSent { error, again: true };
    }
    if error.is_builder() || error.is_redirect() {
        let error = Error::new(
            ErrorKind::Internal,
            format!("a request to {host} could not be made: {why}"),
        );
        return HttpFailure::NotSent {
            error,
            again: false,
        };
    }
    if error.is_timeout() {
        return HttpFailure::Unknown(Error::new(
            ErrorKind::Timeout { after: idle },
            format!("{host} sent nothing for {} s", idle.as_secs()),
        ));
    }
    HttpFailure::Unknown(Error::new(
        ErrorKind::Network,
        format!("the connection to {host} broke before the answer was complete: {why}"),
    ))
}

/// Returns the error for a response body that ended too early.
pub(crate) fn broken_body(error: &reqwest::Error, host: &str) -> Error {
    let what = if error.is_timeout() {
        "timed out"
    } else {
        "broke"
    };
    let why = cause(error);
    Error::new(
        ErrorKind::Network,
        format!("the connection to {host} {what} in the middle of the answer: {why}"),
    )
    .with_hint("try again")
}

/// Returns the innermost cause of an error. The outer causes repeat the URL and add little.
fn cause(error: &(dyn StdError + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    redact(&innermost.to_string()).into_owned()
}

/// Returns the first cause of the type `E` in the chain of an error.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(e) = next {
        if let Some(found) = e.downcast_ref::<E>() {
            return Some(found);
        }
        // `source()` of an `io::Error` skips the error that it wraps, and returns the source of the
        // wrapped error.
        let wrapped = e.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => e.source(),
        };
    }
    None
}
