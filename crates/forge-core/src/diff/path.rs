use std::{borrow::Cow, fmt::Write as _};

/// Quotes a path like git does: a path with control characters, quotes or backslashes becomes a
/// quoted string with escapes. Other characters stay readable, as with `core.quotePath=false`.
#[must_use]
pub fn quote_path(path: &str) -> Cow<'_, str> {
    let is_special = |c: char| c.is_control() || matches!(c, '"' | '\\');
    if !path.chars().any(is_special) {
        return Cow::Borrowed(path);
    }
    let mut out = String::from("\"");
    for c in path.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    Cow::Owned(out)
}

/// Reverses git's quoting of a path (`"a/\303\244"`) and removes a trailing tab.
#[must_use]
pub fn unquote_path(text: &[u8]) -> String {
    let text = text.split(|b| *b == b'\t').next().unwrap_or_default();
    let inner = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\""));
    let Some(inner) = inner else {
        return String::from_utf8_lossy(text).into_owned();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(first @ b'0'..=b'3') => {
                let mut value = first - b'0';
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|b| (b'0'..=b'7').contains(b)) {
                        value = value.wrapping_mul(8).wrapping_add(digit - b'0');
                    }
                }
                out.push(value);
            }
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'a') => out.push(0x07),
            Some(b'b') => out.push(0x08),
            Some(b'v') => out.push(0x0B),
            Some(b'f') => out.push(0x0C),
            Some(other) => out.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the path `x` from `a/x b/x`, or `None` if the two names have different paths.
#[must_use]
pub fn shared_path(names: &[u8]) -> Option<String> {
    let (old, new) = halves(names)?;
    let path = old.strip_prefix("a/")?;
    (new.strip_prefix("b/") == Some(path)).then(|| path.to_owned())
}

/// Splits the names of a `diff --git` line in the middle, so that both have the same length.
pub(super) fn halves(names: &[u8]) -> Option<(String, String)> {
    let half = names.len().checked_sub(1)? / 2;
    let (old, new) = (names.get(..half)?, names.get(half + 1..)?);
    Some((unquote_path(old), unquote_path(new)))
}
