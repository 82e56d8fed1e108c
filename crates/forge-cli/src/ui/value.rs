//! JSON values for the fields of `--json`.

use std::fmt::Write as _;

use forge_core::text;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::ui::color::Palette;

/// A JSON value that keeps the order of its members, as gh does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Number(u64),
    /// Text.
    Text(String),
    /// A list.
    Array(Vec<Json>),
    /// An object with its members in order.
    Object(Vec<(&'static str, Json)>),
    /// An object with member names that are known only at run time.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// Creates a text.
    pub fn text(value: impl Into<String>) -> Self {
        Self::Text(value.into())
    }

    /// Creates a list of the results of `each`.
    pub fn list<T>(items: &[T], each: impl Fn(&T) -> Self) -> Self {
        Self::Array(items.iter().map(each).collect())
    }

    /// Returns the result of `each`; `null` if there is no item.
    pub fn maybe<T>(item: Option<&T>, each: impl Fn(&T) -> Self) -> Self {
        item.map_or(Self::Null, each)
    }

    /// Serializes on one line. Terminal escapes are escaped, as in [`Self::pretty`].
    #[must_use]
    pub fn compact(&self) -> String {
        // Serialising texts, numbers and string keys cannot fail.
        safe(serde_json::to_string(self).unwrap_or_default())
    }

    /// Serializes on several lines, in jq's colours. Terminal escapes are escaped.
    #[must_use]
    pub fn pretty(&self, palette: Palette) -> String {
        let mut out = String::new();
        self.write(palette, 0, &mut out);
        out
    }

    pub(super) fn members(&self) -> Vec<(&str, &Self)> {
        match self {
            Self::Object(members) => members.iter().map(|(name, m)| (*name, m)).collect(),
            Self::Map(members) => members.iter().map(|(name, m)| (name.as_str(), m)).collect(),
            _ => Vec::new(),
        }
    }

    fn write(&self, p: Palette, depth: usize, out: &mut String) {
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Self::Array(items) if !items.is_empty() => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    item.write(p, depth + 1, out);
                }
                line(out, depth);
                out.push(']');
            }
            Self::Object(_) | Self::Map(_) if !self.members().is_empty() => {
                out.push('{');
                for (i, (name, member)) in self.members().into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    out.push_str(&p.blue(&Self::text(name).compact()));
                    out.push_str(": ");
                    member.write(p, depth + 1, out);
                }
                line(out, depth);
                out.push('}');
            }
            Self::Text(_) => out.push_str(&p.green(&self.compact())),
            Self::Null => out.push_str(&p.gray("null")),
            other => out.push_str(&other.compact()),
        }
    }
}

/// Escapes terminal controls in JSON without changing its value: DEL, C1, direction controls and
/// invisible characters. The JSON serializer already escapes C0. Joiners and variation selectors
/// are not escaped, because emoji use them.
#[must_use]
pub fn safe(json: String) -> String {
    let suspect = |c: char| {
        !matches!(c, ' '..='~' | '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
            && *text::neutralise(c.encode_utf8(&mut [0; 4])) != *c.encode_utf8(&mut [0; 4])
    };
    if !json.chars().any(suspect) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if suspect(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => s.serialize_unit(),
            Self::Bool(b) => s.serialize_bool(*b),
            Self::Number(n) => s.serialize_u64(*n),
            Self::Text(t) => s.serialize_str(t),
            Self::Array(items) => s.collect_seq(items),
            Self::Object(_) | Self::Map(_) => {
                let members = self.members();
                let mut map = s.serialize_map(Some(members.len()))?;
                for (name, member) in members {
                    map.serialize_entry(name, member)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_escaping_preserves_the_value() {
        let text = "é \u{7f}\u{9b}\u{200b}\u{e0041} ❤\u{fe0f} 👩\u{200d}💻 \\u202e";
        let json = Json::text(text).compact();
        assert!(json.contains("\\udb40\\udc41"), "{json}");
        assert!(json.contains("❤\u{fe0f} 👩\u{200d}💻"), "{json}");
        assert!(!json.contains(['\u{7f}', '\u{9b}', '\u{200b}']), "{json}");
        let read: String = serde_json::from_str(&json).unwrap();
        assert_eq!(read, text);
    }

    #[test]
    fn json_keeps_order_and_escapes_controls() {
        let v = Json::Object(vec![
            ("z", Json::text("<a> \u{1b}[0m \u{202e}")),
            ("a", Json::Array(vec![Json::Number(1), Json::Null])),
        ]);
        assert_eq!(
            v.compact(),
            "{\"z\":\"<a> \\u001b[0m \\u202e\",\"a\":[1,null]}"
        );
        assert_eq!(
            v.pretty(Palette { on: false }),
            "{\n  \"z\": \"<a> \\u001b[0m \\u202e\",\n  \"a\": [\n    1,\n    null\n  ]\n}"
        );
    }
}
