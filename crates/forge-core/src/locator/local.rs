//! Parses and prints local repositories: paths, `file:` URLs and `local:<path>`.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::{ParseLocatorError, RepoId, error::sanitize_input};

/// Characters that are percent-encoded in a canonical path: all except letters, digits and `- . _ ~
/// /`. In particular, `#` and `!` are encoded, because they begin a number suffix.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Returns true if the text is a path locator: `.`, `..` or `~`, or a text that begins with `/`,
/// `./`, `../` or `~/`.
pub(super) fn is_path(text: &str) -> bool {
    ["/", "./", "../", "~/"]
        .iter()
        .any(|prefix| text.starts_with(prefix))
        || matches!(text, "." | ".." | "~")
        || is_drive(text)
}

/// Returns true on Windows for a path with a drive letter, such as `C:\x` or `C:/x`. On other
/// systems, git reads such a text as `host:path` with a host of one letter.
fn is_drive(text: &str) -> bool {
    let mut bytes = text.bytes();
    cfg!(windows)
        && bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.next() == Some(b':')
        && matches!(bytes.next(), Some(b'/' | b'\\'))
}

/// Returns the repository at a path. The path is used as typed, without decoding.
pub(super) fn plain(text: &str) -> Result<RepoId, ParseLocatorError> {
    if text.contains('\0') {
        return Err(ParseLocatorError::InvalidPath {
            input: sanitize_input(text),
            why: "it has a NUL character",
        });
    }
    Ok(RepoId::local(text))
}

/// Returns the repository of `local:<path>`; `text` is the percent-encoded part after the colon.
pub(super) fn tagged(text: &str) -> Result<RepoId, ParseLocatorError> {
    if text.is_empty() {
        return Err(ParseLocatorError::InvalidPath {
            input: "local:".to_owned(),
            why: "it is empty",
        });
    }
    Ok(RepoId::local(decode(text)?))
}

/// Returns the repository of a `file:` URL; `rest` is the percent-encoded part after `file://`.
///
/// In a URL, `?` begins a query and `#` begins a fragment, so a URL with one of them is refused. If
/// `lenient` is true, both are ordinary characters, as in git.
pub(super) fn file_url(rest: &str, lenient: bool) -> Result<RepoId, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::InvalidFileUrl {
        input: sanitize_input(&format!("file://{rest}")),
        why,
    };
    let slash = rest
        .find('/')
        .ok_or_else(|| refuse("it has no absolute path"))?;
    let (host, path) = rest.split_at(slash);
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(refuse("it names another host"));
    }
    if !lenient && path.contains('?') {
        return Err(refuse("it has a query"));
    }
    if !lenient && path.contains('#') {
        return Err(refuse("it has a fragment that is not a number"));
    }
    // `file:///C:/x` means the path `C:/x`.
    let path = match path.strip_prefix('/') {
        Some(drive) if is_drive(drive) => drive,
        _ => path,
    };
    Ok(RepoId::local(decode(path)?))
}

/// Writes the canonical text: `file:///…` for an absolute path, `local:…` for any other.
pub(super) fn write(path: &Path, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    let bytes = to_bytes(path);
    let scheme = match bytes.first() {
        Some(b'/') => "file://",
        _ if path.is_absolute() => "file:///",
        _ => "local:",
    };
    write!(f, "{scheme}{}", percent_encode(&bytes, ENCODED))
}

fn decode(text: &str) -> Result<PathBuf, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::InvalidPath {
        input: sanitize_input(text),
        why,
    };
    let mut escapes = text.split('%');
    escapes.next();
    for escape in escapes {
        let digits = escape.bytes().take(2).filter(u8::is_ascii_hexdigit).count();
        if digits != 2 {
            return Err(refuse("a '%' is not followed by two hexadecimal digits"));
        }
    }
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    if bytes.contains(&0) {
        return Err(refuse("it has a NUL character"));
    }
    from_bytes(bytes).ok_or_else(|| refuse("it is not UTF-8"))
}

#[cfg(unix)]
fn to_bytes(path: &Path) -> std::borrow::Cow<'_, [u8]> {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes().into()
}

// On Unix, any bytes are a valid path.
#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

// On other systems a path is Unicode text. A path with invalid Unicode has no canonical form.
#[cfg(not(unix))]
fn to_bytes(path: &Path) -> std::borrow::Cow<'_, [u8]> {
    path.to_string_lossy()
        .replace('\\', "/")
        .into_bytes()
        .into()
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}
