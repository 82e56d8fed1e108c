//! Parses the host of a URL, of `HOST/owner/repo`, and of git's scp form (`user@host:path`).

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use super::{ParseLocatorError, error::sanitize_input};

/// A host in lower case, with the port if the text names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Parses `name`, `name:port`, `[v6]` or `[v6]:port`.
pub(super) fn host(text: &str) -> Result<Host, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::InvalidHost {
        host: sanitize_input(text),
        why,
    };
    let (name, port) = if let Some(rest) = text.strip_prefix('[') {
        let (v6, after) = rest
            .split_once(']')
            .ok_or_else(|| refuse("the ']' is missing"))?;
        let addr: Ipv6Addr = v6
            .parse()
            .map_err(|_| refuse("this is not an IPv6 address"))?;
        // Refuses IPv4 addresses embedded in IPv6, because libraries spell them differently.
        if addr.to_ipv4().is_some() && !addr.is_loopback() && !addr.is_unspecified() {
            return Err(refuse("write an embedded IPv4 address as IPv4"));
        }
        let port = match after.strip_prefix(':') {
            Some(port) => Some(port),
            None if after.is_empty() => None,
            None => return Err(refuse("there is text after the ']'")),
        };
        (format!("[{addr}]"), port)
    } else {
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        };
        let name = name.to_ascii_lowercase();
        check_name(&name).map_err(|why| ParseLocatorError::InvalidHost {
            host: sanitize_input(&name),
            why,
        })?;
        (name, port)
    };
    // The error message contains only the name of the host, because an invalid port may be part of
    // a password.
    let refuse = |why| ParseLocatorError::InvalidHost {
        host: sanitize_input(&name),
        why,
    };
    let port = match port {
        None | Some("") => None,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(
            digits
                .parse()
                .map_err(|_| refuse("the port is too large"))?,
        ),
        Some(_) => return Err(refuse("the port is not a number")),
    };
    Ok(Host { name, port })
}

/// Checks a lowercase DNS name or an IPv4 address. Refuses every spelling that two parsers could
/// read differently: percent-encoding, Unicode (which includes look-alike letters), and shorthand
/// addresses.
fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it is empty");
    }
    if name.len() > 253 {
        return Err("it is too long");
    }
    if !name.is_ascii() {
        return Err("it has letters outside ASCII");
    }
    if !name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
    {
        return Err("only letters, digits, '-', '_' and '.' are allowed");
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err("it has an empty label");
        }
        if label.len() > 63 {
            return Err("it has a label of more than 63 letters");
        }
        // ssh could read a leading `-` as an option.
        if label.starts_with('-') || label.ends_with('-') {
            return Err("a label begins or ends with '-'");
        }
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|b| b.is_ascii_digit())
        || last
            .strip_prefix("0x")
            .is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if numeric && name.parse::<Ipv4Addr>().is_err() {
        return Err("this is not an IPv4 address in its usual form");
    }
    Ok(())
}

/// Returns true if a word probably is a host: a name with a dot or a port, `localhost`, or an IP
/// address.
pub(super) fn looks_like_host(word: &str) -> bool {
    word.contains(['.', ':']) || word == "localhost" || word.parse::<IpAddr>().is_ok()
}
