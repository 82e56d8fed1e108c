//! Parses answers of knots (git servers) and spindles (CI services), whose field names can be
//! configured. The Rust types use the default names, so configured names are first renamed to
//! these.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::dialect::Table;

/// An answer of a service, or an object in it. The type deserializes the default names.
pub(crate) trait Answer: DeserializeOwned + Send + Sync {
    /// The table that names the fields of the answer.
    type Names: Table;

    /// Returns all fields that are read. Their order never changes, because they are renamed by
    /// position.
    fn fields(names: &Self::Names) -> Vec<AnswerField<'_>>;
}

pub(crate) struct AnswerField<'a> {
    name: &'a str,
    inner: Vec<AnswerField<'a>>,
}

impl<'a> AnswerField<'a> {
    /// Returns fields with these names, without subfields.
    pub fn from_names<const N: usize>(names: [&'a str; N]) -> Vec<Self> {
        names.map(|name| Self::of(name, Vec::new())).into()
    }

    /// Returns a field whose value is an object, or a list of objects, with the fields `inner`.
    pub fn of(name: &'a str, inner: Vec<Self>) -> Self {
        Self { name, inner }
    }
}

/// Parses an answer. The error is the reason of the failure, with the path of the field.
pub(crate) fn parse<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|e| match e.path().to_string().as_str() {
        "." => e.inner().to_string(),
        path => format!("`{path}`: {}", e.inner()),
    })
}

/// Parses an answer with configured `names`, as [`parse`] does. Default names need no conversion.
pub(crate) fn read<A: Answer>(value: Value, names: &A::Names) -> Result<A, String> {
    let usual = A::Names::usual();
    let value = match names == usual {
        true => value,
        false => renamed(value, &A::fields(names), &A::fields(usual)),
    };
    parse(value)
}

/// Renames the fields `from` of `value` to the names `to`. Drops a field that already had one of
/// the names `to`, because it means something else.
fn renamed(value: Value, from: &[AnswerField<'_>], to: &[AnswerField<'_>]) -> Value {
    match value {
        Value::Array(items) => {
            let items = items.into_iter();
            items.map(|item| renamed(item, from, to)).collect()
        }
        Value::Object(map) => {
            let fields = map.into_iter().filter_map(|(key, value)| {
                let found = from.iter().zip(to).find(|(from, _)| from.name == key);
                match found {
                    Some((from, to)) => {
                        let value = renamed(value, &from.inner, &to.inner);
                        Some((to.name.to_owned(), value))
                    }
                    None if to.iter().any(|to| to.name == key) => None,
                    None => Some((key, value)),
                }
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fmt::Debug;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::{Answers, Dialects, dialect::SpindleAnswers};

    /// Names of answer fields that all differ from the defaults: each begins with an `x`.
    pub fn other_names() -> Answers {
        let mut names = Dialects::default();
        for (key, _) in Dialects::default().names() {
            if key.contains("_answer_") {
                let other = format!("x{}", key.replace('_', ""));
                names.set(&key, &other).unwrap();
            }
        }
        names.answers
    }

    /// All keys in a value, at any depth.
    fn keys(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
            Value::Object(map) => {
                for (key, value) in map {
                    found.push(key.clone());
                    keys(value, found);
                }
            }
            _ => {}
        }
    }

    /// Checks that the type `A` reads its fields by their configured names:
    /// - A sample with renamed fields gives the same value.
    /// - The original sample does not, because its fields have the default names.
    pub fn assert_reads_configured_names<A: Answer + Debug>(names: &A::Names, sample: &Value) {
        let usual = A::Names::usual();
        let sent = renamed(sample.clone(), &A::fields(usual), &A::fields(names));
        let mut all = Vec::new();
        keys(&sent, &mut all);
        assert!(all.iter().all(|key| key.starts_with('x')), "{all:?}");
        let said =
            |value: &Value, names: &A::Names| format!("{:?}", read::<A>(value.clone(), names));
        let meant = said(sample, usual);
        assert!(meant.starts_with("Ok("), "{meant}");
        assert_eq!(said(&sent, names), meant);
        assert_ne!(said(sample, names), meant);
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Two {
        commit: String,
        trigger: String,
    }

    impl Answer for Two {
        type Names = SpindleAnswers;

        fn fields(names: &SpindleAnswers) -> Vec<AnswerField<'_>> {
            AnswerField::from_names([&names.commit, &names.trigger])
        }
    }

    #[test]
    fn swapped_field_names_are_read_crosswise() {
        let mut names = Dialects::default();
        names.set("spindle_answer_commit", "trigger").unwrap();
        names.set("spindle_answer_trigger", "commit").unwrap();
        let sent = json!({ "trigger": "c", "commit": "t", "other": 7 });
        let said: Two = read(sent, &names.answers.spindle).unwrap();
        let meant = Two {
            commit: "c".to_owned(),
            trigger: "t".to_owned(),
        };
        assert_eq!(said, meant);
    }
}
