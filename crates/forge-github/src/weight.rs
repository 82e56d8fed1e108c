//! Limits the memory that an answer takes, before the answer is parsed.

use std::fmt;

use forge_core::{Action, Arg, Error, ErrorKind, Hint, Param, Result, call};

/// Maximum size of an answer, in bytes: 128 ASCII texts of GitHub's maximum length
/// ([`crate::caps`]). A page has at most 100 texts. Lists with longer rows are read in smaller
/// pages. [`hold`] also counts the printed text, because memory has several copies of a text
/// (parsed, rendered, escaped).
pub(crate) const MAX_ANSWER: usize = 128 * 65_536;
/// Maximum number of objects and list elements in an answer. The largest page that this crate
/// requests has fewer.
const MAX_ITEMS: usize = 65_536;
const MAX_FIELDS: usize = 8 * MAX_ITEMS;
/// Memory that an item takes in addition to its text, in bytes.
const BYTES_PER_ITEM: usize = 256;
/// The JSON parser's depth limit.
const MAX_DEPTH: usize = 128;

/// Marks errors about an answer with too many items. It is the `source()` of such an error.
#[derive(Debug)]
struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer has more items than are read")
    }
}

impl std::error::Error for TooMany {}

/// Returns whether an answer was refused because of the number of its items.
pub(crate) fn is_too_many(error: &Error) -> bool {
    use std::error::Error as _;
    error.source().is_some_and(|source| source.is::<TooMany>())
}

/// Charges an answer of `host` to the memory budget of the current call.
///
/// # Errors
///
/// Fails with `protocol` if the JSON has too many items; otherwise as [`call::hold`] does.
pub(crate) fn hold(host: &str, answer: &[u8], is_json: bool) -> Result<()> {
    let count = match is_json {
        true => ResponseWeight::of(answer),
        false => ResponseWeight::default(),
    };
    if count.items > MAX_ITEMS || count.fields > MAX_FIELDS {
        let message = format!("{host} sent an answer of more than {MAX_ITEMS} items");
        return Err(Error::new(ErrorKind::Protocol, message)
            .with_source(TooMany)
            .with_hint(
                Hint::new("ask for less at once: fewer rows, or fewer fields")
                    .with_action(Action::again(&[(Param::Limit, Arg::Choose)])),
            ));
    }
    // Memory has each text twice: parsed and printed.
    let texts = answer.len().saturating_mul(2);
    call::hold(host, texts.saturating_add(count.items * BYTES_PER_ITEM))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ResponseWeight {
    /// The count of objects and of list elements.
    items: usize,
    /// The count of fields in objects.
    fields: usize,
}

impl ResponseWeight {
    /// Counts the items and fields of `json` without parsing it.
    fn of(json: &[u8]) -> Self {
        let mut count = Self::default();
        // The open brackets: true for a list, false for an object.
        let mut open: Vec<bool> = Vec::new();
        let (mut in_string, mut is_escaped, mut begins) = (false, false, false);
        for byte in json {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' if in_string => in_string = false,
                _ if in_string => {}
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'}' | b']' => {
                    open.pop();
                    begins = false;
                }
                b',' => begins = open.last() == Some(&true),
                b':' => count.fields += 1,
                _ => {
                    if begins || *byte == b'{' {
                        count.items += 1;
                    }
                    in_string = *byte == b'"';
                    begins = *byte == b'[';
                    if matches!(byte, b'{' | b'[') {
                        open.push(begins);
                    }
                }
            }
            if open.len() > MAX_DEPTH {
                count.items = usize::MAX;
                return count;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_fields_of_json_are_counted() {
        for (json, items, fields) in [
            ("null", 0, 0),
            (r#"{"a": [], "b": "x"}"#, 1, 2),
            (r#"[{}, {}, {"a": {}}]"#, 4, 1),
            (r#"[null, 1, "a,b", [true, false]]"#, 6, 0),
            (r#"{"a": "{[\",:\\", "b": [ "]" ]}"#, 2, 2),
        ] {
            let count = ResponseWeight::of(json.as_bytes());
            assert_eq!(count, ResponseWeight { items, fields }, "{json}");
        }
    }

    #[test]
    fn answer_of_many_small_values_is_refused() {
        let list = |element: &str| format!("[{}0]", format!("{element},").repeat(70_000));
        let fields = format!("{{{}\"z\":0}}", "\"a\":0,".repeat(600_000));
        let deep = "[".repeat(200);
        for json in [list("null"), list("{}"), list("\"\""), fields, deep] {
            let e = hold("h.example", json.as_bytes(), true).unwrap_err();
            assert!(is_too_many(&e), "{e}");
            assert!(hold("h.example", json.as_bytes(), false).is_ok());
        }
    }
}
