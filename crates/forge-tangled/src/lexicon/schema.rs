//! The parts of a Lexicon document that describe records.
//!
//! A document with an unknown rule is refused, because skipping the rule would weaken the check.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Number, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LexiconDocument {
    pub(super) lexicon: u8,
    pub(super) id: String,
    #[serde(rename = "description")]
    _description: IgnoredAny,
    pub(super) defs: BTreeMap<String, Def>,
}

/// A definition, or the type of a field.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Def {
    Record(Record),
    Object(Object),
    Array(Array),
    String(Text),
    Integer(Integer),
    Boolean(Plain),
    Bytes(Bytes),
    CidLink(Plain),
    Blob(Blob),
    Ref(Ref),
    Union(Union),
    Token(Plain),
    Unknown(Plain),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    pub(super) key: String,
    pub(super) record: Box<Def>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Object {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    #[serde(default)]
    pub(super) required: Vec<String>,
    #[serde(default)]
    pub(super) nullable: Vec<String>,
    pub(super) properties: BTreeMap<String, Def>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Array {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    pub(super) items: Box<Def>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
}

/// A string type. `min_length` and `max_length` count bytes of UTF-8, as atproto does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Text {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    pub(super) format: Option<String>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) min_graphemes: Option<usize>,
    pub(super) max_graphemes: Option<usize>,
    #[serde(rename = "enum")]
    pub(super) one_of: Option<Vec<String>>,
    #[serde(default, rename = "knownValues")]
    _known_values: IgnoredAny,
    #[serde(default, rename = "default")]
    _default: IgnoredAny,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Integer {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
}

/// A byte string type. Its lengths count bytes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Bytes {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Blob {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    #[serde(default)]
    pub(super) accept: Vec<String>,
    pub(super) max_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ref {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    #[serde(rename = "ref")]
    pub(super) to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Union {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    pub(super) refs: Vec<String>,
    #[serde(default)]
    pub(super) closed: bool,
}

/// A type without rules of its own, such as `boolean`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plain {
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
}

/// Returns the number if it is an integer that atproto's data model allows. The limit is 53 bits,
/// because every language can represent such integers exactly.
pub(super) fn integer(number: &Number) -> Option<i64> {
    const LARGEST: i64 = (1 << 53) - 1;
    number
        .as_i64()
        .filter(|it| (-LARGEST..=LARGEST).contains(it))
}

/// Returns the name of a JSON type, with an article.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
