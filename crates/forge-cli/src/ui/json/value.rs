use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::ui::color::Palette;

/// A JSON value that keeps its members in the order in which they were put in, as gh does.
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
    /// Members in order.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// A text.
    pub fn text(value: impl Into<String>) -> Self {
        Self::Text(value.into())
    }

    /// A list of what `each` makes.
    pub fn list<T>(items: &[T], each: impl Fn(&T) -> Self) -> Self {
        Self::Array(items.iter().map(each).collect())
    }

    /// What `each` makes, or `null`.
    pub fn maybe<T>(item: Option<&T>, each: impl Fn(&T) -> Self) -> Self {
        item.map_or(Self::Null, each)
    }

    /// On one line.
    #[must_use]
    pub fn compact(&self) -> String {
        // Texts, numbers and string keys cannot fail to serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Over several lines, in jq's colours. What would be obeyed by a terminal is escaped.
    #[must_use]
    pub fn pretty(&self, palette: Palette) -> String {
        let mut out = String::new();
        self.write(palette, 0, &mut out);
        out
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
            Self::Object(members) if !members.is_empty() => {
                out.push('{');
                for (i, (name, member)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    out.push_str(&p.blue(&format!("\"{name}\"")));
                    out.push_str(": ");
                    member.write(p, depth + 1, out);
                }
                line(out, depth);
                out.push('}');
            }
            Self::Text(_) => out.push_str(&p.green(&safe(&self.compact()))),
            Self::Null => out.push_str(&p.gray("null")),
            other => out.push_str(&other.compact()),
        }
    }
}

/// JSON escapes C0 controls by itself; the rest that a terminal obeys (C1, bidirectional
/// controls) is escaped here, which leaves the value the same.
fn safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let suspect = c.is_control()
            || matches!(c, '\u{200B}' | '\u{200E}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
        if suspect {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
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
            Self::Object(members) => {
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
    fn order_and_escapes() {
        let v = Json::Object(vec![
            ("z", Json::text("<a> \u{1b}[0m \u{202e}")),
            ("a", Json::Array(vec![Json::Number(1), Json::Null])),
        ]);
        assert_eq!(
            v.compact(),
            "{\"z\":\"<a> \\u001b[0m \u{202e}\",\"a\":[1,null]}"
        );
        assert_eq!(
            v.pretty(Palette { on: false }),
            "{\n  \"z\": \"<a> \\u001b[0m \\u202e\",\n  \"a\": [\n    1,\n    null\n  ]\n}"
        );
    }
}
