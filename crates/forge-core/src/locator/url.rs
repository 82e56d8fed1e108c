//! Parses URLs with a host, and the scp form of git.
//!
//! The scp form is `user@host:path`. The `url` crate is not used, because it repairs URLs that must
//! be refused here. Examples are URLs with Unicode or percent-encoding in the host, with
//! backslashes, with missing slashes, or with dot segments.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::{
    ForgeKind, Hosts, Locator, ParseLocatorError,
    authority::{self, Host},
    error::sanitize_input,
    named::{self, PageError},
};

/// The parts of a URL that name a repository: scheme, host and path.
struct Url<'a> {
    scheme: Scheme,
    host: Host,
    path: &'a str,
    had_credentials: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    Ssh,
    Git,
}

impl Scheme {
    fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "http" => Self::Http,
            "https" | "git+https" => Self::Https,
            "ssh" | "git+ssh" | "ssh+git" => Self::Ssh,
            "git" => Self::Git,
            _ => return None,
        })
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Ssh => 22,
            Self::Git => 9418,
        }
    }

    /// Returns true for http and https. For these schemes, the port is part of the forge's host.
    const fn is_web(self) -> bool {
        matches!(self, Self::Http | Self::Https)
    }
}

/// Splits `scheme://rest`.
pub(super) fn scheme_of(text: &str) -> Option<(&str, &str)> {
    text.split_once("://").filter(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    })
}

/// Returns true for the URL of a web page whose fragment is not just a number, as in
/// `…/pulls/7#round-#1`. Such a fragment marks a position on the page, even if its end looks like a
/// number suffix (`#1`).
pub(super) fn has_anchor(text: &str) -> bool {
    let scheme = scheme_of(text).and_then(|(scheme, _)| Scheme::of(scheme));
    let fragment = text.split_once('#').map_or("", |(_, fragment)| fragment);
    scheme.is_some_and(Scheme::is_web) && !fragment.bytes().all(|b| b.is_ascii_digit())
}

fn split<'a>(text: &str, scheme: &str, rest: &'a str) -> Result<Url<'a>, ParseLocatorError> {
    let scheme = Scheme::of(scheme).ok_or_else(|| ParseLocatorError::UnsupportedScheme {
        scheme: sanitize_input(scheme),
    })?;
    if rest.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(ParseLocatorError::invalid_because(
            text,
            "a URL has no spaces, backslashes or control characters",
        ));
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let path = after
        .find(['?', '#'])
        .and_then(|end| after.get(..end))
        .unwrap_or(after);
    let (userinfo, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let had_credentials =
        !password.is_empty() || (scheme != Scheme::Ssh && !matches!(user, "" | "git"));
    // An error about the host repeats only the host. If the host is malformed, the text after it
    // may be the rest of a password with an unescaped slash.
    let host = authority::host(host)?;
    Ok(Url {
        scheme,
        host,
        path,
        had_credentials,
    })
}

/// Returns name and kind of the forge at the host of a URL.
fn forge_of(
    scheme: Scheme,
    mut host: Host,
    hosts: &Hosts,
) -> Result<(String, ForgeKind), ParseLocatorError> {
    if host.port == Some(scheme.default_port()) {
        host.port = None;
    }
    hosts
        .lookup(&host.to_string())
        .or_else(|| {
            // The port of an ssh or git server does not identify the forge, so the host is also
            // looked up without its port.
            (!scheme.is_web())
                .then(|| hosts.lookup(&host.name))
                .flatten()
        })
        .ok_or_else(|| ParseLocatorError::UnknownHost {
            host: host.to_string(),
        })
}

/// Parses a URL into a locator. The returned flag is true if the URL had credentials. `text` is the
/// whole input, for error messages.
pub(super) fn parse(
    text: &str,
    scheme: &str,
    rest: &str,
    hosts: &Hosts,
) -> Result<(Locator, bool), ParseLocatorError> {
    let url = split(text, scheme, rest)?;
    let (host, kind) = forge_of(url.scheme, url.host, hosts)?;
    let refuse = |why| ParseLocatorError::invalid_because(text, why);
    let raw = named::segments(url.path).map_err(refuse)?;
    let decoded: Vec<Cow<'_, str>> = raw
        .into_iter()
        .map(decode)
        .collect::<Option<_>>()
        .ok_or_else(|| refuse("the path has percent-encoded bytes that are not UTF-8"))?;
    let segments: Vec<&str> = decoded.iter().map(AsRef::as_ref).collect();
    let locator = if url.scheme.is_web() {
        named::page(kind, host, &segments).map_err(|e| match e {
            PageError::Path(why) => refuse(why),
            PageError::Number(number) => ParseLocatorError::InvalidNumber {
                number: sanitize_input(&number),
            },
        })?
    } else {
        Locator::Repo(named::exact(kind, host, &segments).map_err(refuse)?)
    };
    Ok((locator, url.had_credentials))
}

/// Percent-decodes one path segment, once. The callers check every letter of the decoded text, so
/// encoded letters cannot bypass a check. A DID is not decoded, because it may itself contain `%`.
fn decode(segment: &str) -> Option<Cow<'_, str>> {
    if segment.starts_with("did:") {
        return Some(segment.into());
    }
    percent_decode_str(segment).decode_utf8().ok()
}

/// Splits the scp form `[user@]host:path`.
pub(super) fn scp(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        let (host, path) = text.split_once("]:")?;
        return (!host.contains('/')).then_some((text.get(..=host.len())?, path));
    }
    text.split_once(':').filter(|(host, _)| !host.contains('/'))
}

/// Parses the repository that an scp form names.
pub(super) fn parse_scp(
    text: &str,
    user_and_host: &str,
    path: &str,
    hosts: &Hosts,
) -> Result<Locator, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::invalid_because(text, why);
    // In `user:password@host:path`, the text before the first colon is a user name or a token, not
    // a host, so this form is refused.
    if path.find('@').is_some_and(|at| at > 0) || path.starts_with("//") {
        return Err(refuse("write a URL with 'ssh://' or 'https://'"));
    }
    if path.starts_with('/') && Scheme::of(user_and_host).is_some() {
        return Err(refuse("a URL has '//' after the scheme"));
    }
    let host = user_and_host
        .rsplit_once('@')
        .map_or(user_and_host, |(_, host)| host);
    let segments = named::segments(path).map_err(refuse)?;
    if segments.is_empty() {
        return Err(refuse("nothing follows the ':'"));
    }
    // A word, a colon and a single path segment are more likely a typo than a host and a path.
    if segments.len() == 1
        && !user_and_host.contains('@')
        && !authority::looks_like_host(user_and_host)
    {
        return Err(ParseLocatorError::invalid(text));
    }
    let host = authority::host(host)?;
    let (host, kind) = forge_of(Scheme::Ssh, host, hosts)?;
    Ok(Locator::Repo(
        named::exact(kind, host, &segments).map_err(refuse)?,
    ))
}

/// Returns the host of a URL, to compare it with the result of the `url` crate.
#[cfg(test)]
pub(super) fn authority_of(text: &str) -> Option<Host> {
    let (scheme, rest) = scheme_of(text)?;
    split(text, scheme, rest).ok().map(|url| url.host)
}
