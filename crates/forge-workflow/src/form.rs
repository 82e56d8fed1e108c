//! Parses the text of a definition, and finds the line and column of each value.
//!
//! A value of a wrong type is replaced, so that one run can find the other mistakes as well.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
};

use forge_core::text::one_line;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, json, value::RawValue};
use serde_path_to_error::{Path, Segment};
use toml_edit::{Document, Item};

use crate::{Definition, Mistake};

/// Path of a value: keys and array positions.
pub(crate) type KeyPath = Vec<String>;

/// Maximum number of values that are repaired before the check of a definition stops.
const MAX_REPAIRS: usize = 200;
pub(crate) const MAX_MISTAKES: usize = 50;
/// Maximum number of entries of each list and table, such as states and commands.
const MAX_ENTRIES: usize = 200;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 100;
/// Maximum length of a message, in characters.
const MAX_MESSAGE: usize = 1_000;
/// Maximum nesting depth of the values in a definition. Real definitions are less deep.
const MAX_DEPTH: usize = 8;

/// The text of a definition. `document` is the parsed text if it is TOML, and `None` for JSON.
pub(crate) struct DefinitionText<'t> {
    text: &'t str,
    document: Option<Document<String>>,
}

impl<'t> DefinitionText<'t> {
    /// Parses the text as JSON if it begins with `{`, otherwise as TOML. Returns the text with its
    /// values.
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

    /// Returns line and column of each value. A missing value has the position of its nearest
    /// existing parent.
    pub fn places(&self, paths: &[&[String]]) -> Vec<(usize, usize)> {
        let mut offsets = vec![0; paths.len()];
        match &self.document {
            Some(document) => {
                for (offset, path) in offsets.iter_mut().zip(paths) {
                    *offset = span_of(document, path).map_or(0, |span| span.start);
                }
            }
            None => {
                let all = paths.iter().copied().enumerate().collect();
                json_offsets(self.text, self.text.trim_start(), all, &mut offsets);
            }
        }
        let places = offsets.into_iter().map(|at| place_of(self.text, at));
        places.collect()
    }

    /// Finds duplicate keys in JSON, because the parser keeps only the last value of a key. In
    /// TOML, a duplicate key is already a syntax error.
    pub fn find_duplicate_keys(&self) -> Vec<(KeyPath, String)> {
        let mut found = Vec::new();
        if self.document.is_none() {
            find_duplicates(self.text.trim_start(), &mut KeyPath::new(), &mut found);
        }
        found
    }
}

/// The entries of a JSON object, including those with the same key.
struct JsonEntries<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for JsonEntries<'t> {
    fn deserialize<D: Deserializer<'t>>(source: D) -> Result<Self, D::Error> {
        struct EntryVisitor;

        impl<'t> Visitor<'t> for EntryVisitor {
            type Value = JsonEntries<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(JsonEntries(entries))
            }
        }

        source.deserialize_map(EntryVisitor)
    }
}

fn find_duplicates(at: &str, path: &mut KeyPath, found: &mut Vec<(KeyPath, String)>) {
    if path.len() > MAX_DEPTH || found.len() > MAX_MISTAKES {
        return;
    }
    if at.starts_with('[') {
        let list = serde_json::from_str::<Vec<&RawValue>>(at).unwrap_or_default();
        for (n, part) in list.into_iter().enumerate() {
            path.push(n.to_string());
            find_duplicates(part.get(), path, found);
            path.pop();
        }
        return;
    }
    // Only an object has keys, so any other value is skipped.
    let Ok(JsonEntries(entries)) = serde_json::from_str(at) else {
        return;
    };
    let mut seen = BTreeSet::new();
    for (key, part) in entries {
        if is_long(&key) || found.len() > MAX_MISTAKES {
            continue;
        }
        path.push(key.clone());
        if !seen.insert(key) {
            let why = "duplicate key: keep one of its values".to_owned();
            found.push((path.clone(), why));
        }
        find_duplicates(part.get(), path, found);
        path.pop();
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

/// Returns the span of a value. A missing value has the span of its nearest existing parent.
fn span_of(document: &Document<String>, path: &[String]) -> Option<Range<usize>> {
    let mut item: &Item = document.as_item();
    let mut span = None;
    for (n, step) in path.iter().enumerate() {
        let next = match (item, step.parse::<usize>()) {
            (Item::ArrayOfTables(tables), Ok(at)) => {
                let table = tables.get(at)?;
                span = table.span().or(span);
                // A table in an array is not an `Item`, so its keys are looked up here.
                return span_in(table, path.get(n + 1..)?).or(span);
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

/// Finds the byte offsets of JSON values in `text`. A missing value has the offset of its nearest
/// existing parent.
///
/// `at` is the part of `text` that begins with the current value. An entry of `paths` is an index
/// in `offsets`, and a path relative to `at`. Each value is parsed once.
fn json_offsets(text: &str, at: &str, paths: Vec<(usize, &[String])>, offsets: &mut [usize]) {
    // `at` is a slice of `text`, so the difference of their addresses is the offset.
    let start = at.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    let mut below: BTreeMap<&String, Vec<(usize, &[String])>> = BTreeMap::new();
    for (n, path) in paths {
        if let Some(offset) = offsets.get_mut(n) {
            *offset = start;
        }
        if let Some((step, rest)) = path.split_first() {
            below.entry(step).or_default().push((n, rest));
        }
    }
    if below.is_empty() {
        return;
    }
    let parts: BTreeMap<String, &RawValue> = match at.starts_with('[') {
        true => {
            let list = serde_json::from_str::<Vec<&RawValue>>(at).unwrap_or_default();
            let parts = list.into_iter().enumerate();
            parts.map(|(n, part)| (n.to_string(), part)).collect()
        }
        false => serde_json::from_str(at).unwrap_or_default(),
    };
    for (step, paths) in below {
        if let Some(part) = parts.get(step) {
            json_offsets(text, part.get(), paths, offsets);
        }
    }
}

/// Returns line and column of a byte, counted from 1.
fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Turns a text into one line of at most [`MAX_MESSAGE`] characters, for a message.
pub(crate) fn sanitize_text(text: &str) -> String {
    cut(text, MAX_MESSAGE)
}

/// Turns a name into one line of at most [`MAX_NAME`] characters, for a message.
pub(crate) fn shown_name(name: &str) -> String {
    cut(name, MAX_NAME)
}

fn cut(text: &str, length: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.into_owned(),
    }
}

/// Finds lists and tables with too many entries, and names that are too long. Both limits bound the
/// time of the other checks.
pub(crate) fn oversized(value: &Value) -> Vec<(KeyPath, String)> {
    let mut found = Vec::new();
    find_oversized(value, &mut KeyPath::new(), &mut found);
    found
}

fn find_oversized(value: &Value, path: &mut KeyPath, found: &mut Vec<(KeyPath, String)>) {
    let count = match value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    };
    if count > MAX_ENTRIES {
        let why = format!("there are {count} entries, and at most {MAX_ENTRIES} are allowed");
        return found.push((path.clone(), why));
    }
    if path.len() > MAX_DEPTH || found.len() > MAX_MISTAKES {
        return;
    }
    let no_name = |name: &str| {
        let name = shown_name(name);
        format!("'{name}' is not a name: a name is one line of at most {MAX_NAME} characters")
    };
    match value {
        Value::Array(list) => {
            for (n, part) in list.iter().enumerate() {
                path.push(n.to_string());
                find_oversized(part, path, found);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, part) in map {
                if one_line(key) != *key || is_long(key) {
                    found.push((path.clone(), no_name(key)));
                    continue;
                }
                path.push(key.clone());
                find_oversized(part, path, found);
                path.pop();
            }
        }
        Value::String(name) if is_name(path) && is_long(name) => {
            found.push((path.clone(), no_name(name)));
        }
        _ => {}
    }
}

fn is_long(name: &str) -> bool {
    name.chars().nth(MAX_NAME).is_some()
}

/// Returns true for the path of a state's name, and for the path of a value of a scale.
fn is_name(path: &[String]) -> bool {
    match path {
        [table, _, key] if table == "state" => key == "name",
        [table, key, _] => key == "scale" && (table == "estimate" || table == "priority"),
        _ => false,
    }
}

/// Checks the keys and the types of the values. Repairs each mistake, so that the remaining values
/// are checked as well.
#[derive(Default)]
pub(crate) struct FormCheck {
    pub mistakes: Vec<(KeyPath, String)>,
    /// The values that were replaced, with the number of replacements of each.
    replaced: BTreeMap<KeyPath, usize>,
}

impl FormCheck {
    /// Returns the definition in `value`, or `None` if its mistakes cannot be repaired.
    pub fn definition(&mut self, value: &mut Value) -> Option<Definition> {
        for _ in 0..MAX_REPAIRS {
            if self.mistakes.len() > MAX_MISTAKES {
                return None;
            }
            match serde_path_to_error::deserialize::<_, Definition>(&*value) {
                Ok(definition) => return Some(definition),
                Err(e) => self.repair_value(value, keys_of(e.path()), &e.inner().to_string())?,
            }
        }
        None
    }

    /// Records the mistake that serde's message describes, and repairs the value so that serde can
    /// continue.
    fn repair_value(&mut self, value: &mut Value, mut path: KeyPath, message: &str) -> Option<()> {
        let missing = message.strip_prefix("missing field `");
        path.extend(missing.and_then(|rest| Some(rest.split_once('`')?.0.to_owned())));
        if !self.is_replaced(&path) {
            self.mistakes.push((path.clone(), sanitize_text(message)));
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
            // The first repair removes the key. This is enough if the key is optional.
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

    /// Returns true if a value below the top-level key `section` was replaced.
    pub fn touches(&self, section: &str) -> bool {
        let mut all = self.replaced.keys();
        all.any(|path| path.first().is_some_and(|first| first == section))
    }

    /// Returns true if a repair may have removed a name that the top-level key `section` defines.
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

/// Returns the `n`-th value to try in place of a value of a wrong type. Every key of a definition
/// accepts one of these values.
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
