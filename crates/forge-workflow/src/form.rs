//! The syntax of a definition: values, their positions in the text, and values of a wrong type.

use std::{collections::BTreeMap, ops::Range};

use forge_core::text::one_line;
use serde_json::{Value, json, value::RawValue};
use serde_path_to_error::{Path, Segment};
use toml_edit::{Document, Item};

use crate::{Definition, Mistake};

/// Path of a value: keys and array positions.
pub(crate) type KeyPath = Vec<String>;

/// Maximum number of repairs; the check of a definition stops there.
const MAX_REPAIRS: usize = 200;

/// The text of a definition: TOML with its document, or JSON.
pub(crate) struct DefinitionText<'t> {
    text: &'t str,
    document: Option<Document<String>>,
}

impl<'t> DefinitionText<'t> {
    /// Parses JSON if the text begins with `{`, else TOML; also returns the values.
    pub fn parse(text: &'t str) -> Result<(Self, Value), Mistake> {
        if text.trim_start().starts_with('{') {
            let value = serde_json::from_str(text).map_err(|e| json_mistake(&e))?;
            let document = None;
            return Ok((Self { text, document }, value));
        }
        let wrong = |message: &str, span: Option<Range<usize>>| {
            let (line, column) = place_of(text, span.map_or(0, |span| span.start));
            Mistake {
                key: String::new(),
                message: one_line(message.trim()).into_owned(),
                line,
                column,
            }
        };
        let document: Document<String> =
            Document::parse(text.to_owned()).map_err(|e| wrong(e.message(), e.span()))?;
        let value = toml_edit::de::from_str(text).map_err(|e| wrong(e.message(), e.span()))?;
        let document = Some(document);
        Ok((Self { text, document }, value))
    }

    /// Line and column of a value, or of the deepest existing part of its path.
    pub fn place(&self, path: &[String]) -> (usize, usize) {
        let at = match &self.document {
            Some(document) => span_of(document, path).map_or(0, |span| span.start),
            None => json_offset(self.text, path),
        };
        place_of(self.text, at)
    }

    /// A duplicate key in JSON, of which the values show the last only.
    pub fn twin(&self) -> Option<Mistake> {
        match &self.document {
            Some(_) => None,
            None => serde_json::from_str::<Definition>(self.text)
                .err()
                .map(|e| json_mistake(&e)),
        }
    }
}

fn json_mistake(e: &serde_json::Error) -> Mistake {
    Mistake {
        key: String::new(),
        message: one_line(&e.to_string()).into_owned(),
        line: e.line().max(1),
        column: e.column().max(1),
    }
}

/// The span of a key's value, or of the deepest existing part of its path.
fn span_of(document: &Document<String>, path: &[String]) -> Option<Range<usize>> {
    let mut item: &Item = document.as_item();
    let mut span = None;
    for step in path {
        let next = match (item, step.parse::<usize>()) {
            (Item::ArrayOfTables(tables), Ok(at)) => {
                let table = tables.get(at)?;
                span = table.span().or(span);
                // A table in an array is not an `Item`, so its keys are looked up here.
                return span_in(table, path.get(path.iter().position(|s| s == step)? + 1..)?)
                    .or(span);
            }
            (Item::Value(toml_edit::Value::Array(values)), Ok(at)) => {
                return values.get(at).and_then(toml_edit::Value::span).or(span);
            }
            _ => item.get(step.as_str()),
        };
        let Some(next) = next else { break };
        span = next.span().or(span);
        item = next;
    }
    span
}

fn span_in(table: &toml_edit::Table, path: &[String]) -> Option<Range<usize>> {
    let item = table.get(path.first()?)?;
    let at = path.get(1).and_then(|at| at.parse::<usize>().ok());
    let element = at.and_then(|at| item.as_array()?.get(at)?.span());
    element.or_else(|| item.span())
}

/// The byte offset of a JSON value, or of the deepest existing part of its path.
fn json_offset(text: &str, path: &[String]) -> usize {
    let mut at = text.trim_start();
    for step in path {
        let next = match step.parse::<usize>() {
            Ok(n) if at.starts_with('[') => {
                let list = serde_json::from_str::<Vec<&RawValue>>(at);
                list.ok().and_then(|list| list.get(n).copied())
            }
            _ => {
                let map = serde_json::from_str::<BTreeMap<String, &RawValue>>(at);
                map.ok().and_then(|map| map.get(step).copied())
            }
        };
        let Some(next) = next else { break };
        // A raw value borrows from the text, so its address gives the offset.
        at = next.get();
    }
    at.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

/// Line and column of a byte, from 1.
fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Checks the syntax. Each mistake is repaired in the values, so that the rest can be checked.
#[derive(Default)]
pub(crate) struct FormCheck {
    /// The mistakes with their paths.
    pub mistakes: Vec<(KeyPath, String)>,
    /// The values that were replaced, with the number of replacements.
    replaced: BTreeMap<KeyPath, usize>,
}

impl FormCheck {
    /// The definition in `value`; `None` if its mistakes cannot be repaired.
    pub fn definition(&mut self, value: &mut Value) -> Option<Definition> {
        for _ in 0..MAX_REPAIRS {
            match serde_path_to_error::deserialize::<_, Definition>(&*value) {
                Ok(definition) => return Some(definition),
                Err(e) => self.put_right(value, keys_of(e.path()), &e.inner().to_string())?,
            }
        }
        None
    }

    /// Records a mistake that serde reports and repairs the value, so that serde reports the next.
    fn put_right(&mut self, value: &mut Value, mut path: KeyPath, message: &str) -> Option<()> {
        let missing = message.strip_prefix("missing field `");
        path.extend(missing.and_then(|rest| Some(rest.split_once('`')?.0.to_owned())));
        if !self.is_replaced(&path) {
            let message = one_line(message).into_owned();
            self.mistakes.push((path.clone(), message));
        }
        let (last, parents) = path.split_last()?;
        let parent = parents.iter().try_fold(value, |at, step| match at {
            Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
            other => other.get_mut(step.as_str()),
        })?;
        if message.starts_with("unknown field `") {
            return parent.as_object_mut()?.remove(last).map(drop);
        }
        let tried = self.replaced.entry(path.clone()).or_default();
        *tried += 1;
        match parent {
            // An optional key is removed.
            Value::Object(map) if *tried == 1 => drop(map.remove(last)),
            Value::Object(map) => drop(map.insert(last.clone(), substitute(*tried - 2)?)),
            Value::Array(list) => {
                *list.get_mut(last.parse::<usize>().ok()?)? = substitute(*tried - 1)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns true if the value at `path` was replaced.
    pub fn is_replaced(&self, path: &[String]) -> bool {
        self.replaced.keys().any(|start| path.starts_with(start))
    }

    /// Returns true if a value of a section was replaced.
    pub fn touches(&self, section: &str) -> bool {
        let mut all = self.replaced.keys();
        all.any(|path| path.first().is_some_and(|first| first == section))
    }

    /// Returns true if names that a section defines may be missing.
    pub fn lacks_names(&self, section: &str) -> bool {
        let mut all = self.replaced.keys();
        all.any(|path| match path.as_slice() {
            [first, ..] if first != section => false,
            [first, key, ..] if first == "estimate" => key == "scale",
            [_, _, key, ..] => key == "name",
            _ => true,
        })
    }
}

/// Replacement values for a value of a wrong type: every key of a definition accepts one of them.
fn substitute(n: usize) -> Option<Value> {
    [json!(""), json!([]), json!({}), json!("any")]
        .into_iter()
        .nth(n)
}

fn keys_of(path: &Path) -> KeyPath {
    path.iter()
        .map_while(|step| match step {
            Segment::Map { key } => Some(key.clone()),
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}
