//! Checks a record against its lexicon.

use serde_json::{Map, Value};
use unicode_segmentation::UnicodeSegmentation;

use super::{
    Differences, LexiconProblem, Set, format,
    schema::{self, Array, Blob, Bytes, Def, Object, Text, Union},
};
use crate::dialect::STAMP;

/// Message about a missing required field. [`differences`] finds the missing fields by this text.
const MISSING: &str = "is missing";

/// Maximum number of reported problems; a hostile record could have any number.
const MAX_PROBLEMS: usize = 50;

/// Maximum nesting depth of a record. The records that this program writes have five levels.
const MAX_LEVELS: usize = 32;

pub(super) fn record(
    set: &Set,
    collection: &str,
    record: &Value,
) -> Result<(), Vec<LexiconProblem>> {
    let walk = walk(set, collection, record);
    if walk.problems.is_empty() {
        Ok(())
    } else {
        Err(walk.problems)
    }
}

pub(super) fn differences(set: &Set, collection: &str, record: &Value) -> Differences {
    let Walk {
        problems, unknown, ..
    } = walk(set, collection, record);
    let is_missing = |problem: &LexiconProblem| problem.what.starts_with(MISSING);
    let (missing, changed): (Vec<_>, Vec<_>) = problems.into_iter().partition(is_missing);
    let paths = |all: Vec<LexiconProblem>| all.into_iter().map(|problem| problem.path).collect();
    Differences {
        missing: paths(missing),
        changed: paths(changed),
        unknown,
    }
}

fn walk(set: &Set, collection: &str, record: &Value) -> Walk {
    let mut walk = Walk {
        set: *set,
        problems: Vec::new(),
        unknown: Vec::new(),
    };
    match set.find(collection, "main") {
        Some(Def::Record(def)) => {
            walk.data(record, "$", 0);
            // `value` recurses, so it runs only after `data` has found that the nesting is not too
            // deep.
            if walk.problems.is_empty() {
                walk.typed(record, collection);
                walk.value(&def.record, record, "$", collection);
            }
        }
        _ => walk.add(
            "$",
            format!("forge has no lexicon for {}", excerpt(collection)),
        ),
    }
    walk
}

struct Walk {
    set: Set,
    problems: Vec<LexiconProblem>,
    /// Paths of fields that the lexicon does not name. Such fields are allowed.
    unknown: Vec<String>,
}

impl Walk {
    fn add(&mut self, path: &str, what: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(LexiconProblem {
                path: path.to_owned(),
                what: what.into(),
            });
        }
    }

    /// Checks `value` against atproto's data model, which every lexicon shares.
    fn data(&mut self, value: &Value, path: &str, level: usize) {
        if level > MAX_LEVELS {
            self.add(
                path,
                format!("is nested more than {MAX_LEVELS} levels deep"),
            );
            return;
        }
        match value {
            Value::Number(number) if schema::integer(number).is_none() => {
                self.add(path, format!("{number} is no integer of at most 53 bits"));
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.data(item, &format!("{path}[{index}]"), level + 1);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.data(field, &join_path(path, name), level + 1);
                }
            }
            _ => {}
        }
    }

    fn typed(&mut self, record: &Value, collection: &str) {
        let kind = record.get("$type").and_then(Value::as_str);
        if record.is_object() && kind != Some(collection) {
            let is = kind.map_or_else(
                || "is missing".to_owned(),
                |it| format!("is {}", excerpt(it)),
            );
            self.add("$.$type", format!("{is}, and must be \"{collection}\""));
        }
    }

    fn value(&mut self, def: &Def, value: &Value, path: &str, document: &str) {
        match (def, value) {
            (Def::Record(record), _) => self.value(&record.record, value, path, document),
            (Def::Object(object), Value::Object(fields)) => {
                self.object(object, fields, path, document);
            }
            (Def::Array(array), Value::Array(items)) => self.array(array, items, path, document),
            (Def::String(text), Value::String(value)) => self.text(text, value, path),
            (Def::Integer(rule), Value::Number(number)) => {
                let number = schema::integer(number);
                let low = rule.minimum.filter(|minimum| number < Some(*minimum));
                let high = rule.maximum.filter(|maximum| number > Some(*maximum));
                if let (Some(number), Some(bound)) = (number, low.or(high)) {
                    let side = if low.is_some() { "least" } else { "most" };
                    self.add(path, format!("is {number}, and must be at {side} {bound}"));
                }
            }
            (Def::Boolean(_), Value::Bool(_))
            | (Def::Token(_), Value::String(_))
            | (Def::Unknown(_), Value::Object(_)) => {}
            (Def::Bytes(bytes), Value::Object(fields)) => self.bytes(bytes, fields, path),
            (Def::CidLink(_), Value::Object(fields)) => self.link(fields, path),
            (Def::Blob(blob), Value::Object(fields)) => self.blob(blob, fields, path),
            (Def::Union(union), Value::Object(fields)) => {
                self.union(union, fields, value, path, document);
            }
            (Def::Ref(reference), _) => {
                let (id, name) = resolve(&reference.to, document);
                match self.set.find(id, name) {
                    Some(def) => self.value(def, value, path, id),
                    None => self.add(path, format!("forge has no lexicon for {}", reference.to)),
                }
            }
            _ => self.add(
                path,
                format!("is {}, and must be {}", schema::kind(value), wanted(def)),
            ),
        }
    }

    fn object(&mut self, object: &Object, fields: &Map<String, Value>, path: &str, document: &str) {
        for name in object
            .required
            .iter()
            .filter(|name| !fields.contains_key(*name))
        {
            self.add(&join_path(path, name), MISSING);
        }
        let is_unknown = |name: &&String| {
            !object.properties.contains_key(*name) && *name != "$type" && !name.starts_with(STAMP)
        };
        let room = MAX_PROBLEMS.saturating_sub(self.unknown.len());
        let unknown = fields.keys().filter(is_unknown).take(room);
        self.unknown
            .extend(unknown.map(|name| join_path(path, name)));
        for (name, def) in &object.properties {
            match fields.get(name) {
                None => {}
                Some(Value::Null) if object.nullable.contains(name) => {}
                Some(value) => self.value(def, value, &join_path(path, name), document),
            }
        }
    }

    fn array(&mut self, array: &Array, items: &[Value], path: &str, document: &str) {
        self.length(
            path,
            "items",
            items.len(),
            array.min_length,
            array.max_length,
        );
        for (index, item) in items.iter().enumerate() {
            self.value(&array.items, item, &format!("{path}[{index}]"), document);
        }
    }

    fn length(
        &mut self,
        path: &str,
        of: &str,
        is: usize,
        least: Option<usize>,
        most: Option<usize>,
    ) {
        if let Some(least) = least.filter(|least| is < *least) {
            self.add(
                path,
                format!("has {is} {of}, and must have at least {least}"),
            );
        }
        if let Some(most) = most.filter(|most| is > *most) {
            self.add(path, format!("has {is} {of}, and may have {most}"));
        }
    }

    fn text(&mut self, rule: &Text, text: &str, path: &str) {
        self.length(path, "bytes", text.len(), rule.min_length, rule.max_length);
        if rule.min_graphemes.is_some() || rule.max_graphemes.is_some() {
            let graphemes = text.graphemes(true).count();
            self.length(
                path,
                "characters",
                graphemes,
                rule.min_graphemes,
                rule.max_graphemes,
            );
        }
        if let Some(allowed) = rule
            .one_of
            .as_ref()
            .filter(|all| !all.iter().any(|it| it == text))
        {
            let allowed = allowed.join(", ");
            self.add(
                path,
                format!("is {}, and must be one of {allowed}", excerpt(text)),
            );
        }
        let complaint = rule
            .format
            .as_deref()
            .and_then(|it| format::complaint(it, text));
        if let Some(complaint) = complaint {
            self.add(path, format!("{complaint}: {}", excerpt(text)));
        }
    }

    fn bytes(&mut self, rule: &Bytes, fields: &Map<String, Value>, path: &str) {
        let encoded = fields.get("$bytes").and_then(Value::as_str);
        let Some(encoded) = encoded.filter(|_| fields.len() == 1) else {
            self.add(path, "is no {\"$bytes\": …}");
            return;
        };
        // Base 64 encodes three bytes as four characters. Its padding is optional.
        let length = encoded.trim_end_matches('=').len() * 3 / 4;
        self.length(path, "bytes", length, rule.min_length, rule.max_length);
    }

    fn link(&mut self, fields: &Map<String, Value>, path: &str) {
        let cid = fields.get("$link").and_then(Value::as_str);
        match cid.filter(|_| fields.len() == 1) {
            Some(cid) => {
                if let Some(complaint) = format::complaint("cid", cid) {
                    self.add(
                        &join_path(path, "$link"),
                        format!("{complaint}: {}", excerpt(cid)),
                    );
                }
            }
            None => self.add(path, "is no {\"$link\": CID}"),
        }
    }

    fn blob(&mut self, rule: &Blob, fields: &Map<String, Value>, path: &str) {
        if fields.get("$type").and_then(Value::as_str) != Some("blob") {
            self.add(path, "is no blob: its $type is another");
            return;
        }
        match fields.get("ref") {
            Some(Value::Object(link)) => self.link(link, &join_path(path, "ref")),
            _ => self.add(&join_path(path, "ref"), "is no {\"$link\": CID}"),
        }
        match fields.get("mimeType").and_then(Value::as_str) {
            Some(mime) if accepts(&rule.accept, mime) => {}
            Some(mime) => {
                let wanted = rule.accept.join(" or ");
                let path = join_path(path, "mimeType");
                self.add(&path, format!("is {}, and must be {wanted}", excerpt(mime)));
            }
            None => self.add(&join_path(path, "mimeType"), "is missing"),
        }
        match (fields.get("size").and_then(Value::as_u64), rule.max_size) {
            (None, _) => self.add(&join_path(path, "size"), "is no number of bytes"),
            (Some(size), Some(most)) if size > most => {
                self.add(
                    &join_path(path, "size"),
                    format!("is {size}, and may be {most}"),
                );
            }
            _ => {}
        }
    }

    fn union(
        &mut self,
        union: &Union,
        fields: &Map<String, Value>,
        value: &Value,
        path: &str,
        document: &str,
    ) {
        let Some(kind) = fields.get("$type").and_then(Value::as_str) else {
            self.add(
                &join_path(path, "$type"),
                format!("is missing, and must be one of {}", union.refs.join(", ")),
            );
            return;
        };
        let member = union
            .refs
            .iter()
            .map(|it| resolve(it, document))
            .find(|(id, name)| {
                kind == *id && *name == "main" || kind.split_once('#') == Some((*id, *name))
            });
        match member.map(|(id, name)| (id, self.set.find(id, name))) {
            Some((id, Some(def))) => self.value(def, value, path, id),
            Some((id, None)) => self.add(path, format!("forge has no lexicon for {id}")),
            None if union.closed => {
                self.add(
                    &join_path(path, "$type"),
                    format!(
                        "is {}, and must be one of {}",
                        excerpt(kind),
                        union.refs.join(", ")
                    ),
                );
            }
            None => {}
        }
    }
}

/// Splits a reference in `document` into document id and definition name.
fn resolve<'a>(reference: &'a str, document: &'a str) -> (&'a str, &'a str) {
    match reference.split_once('#') {
        Some(("", name)) => (document, name),
        Some(both) => both,
        None => (reference, "main"),
    }
}

fn accepts(patterns: &[String], mime: &str) -> bool {
    patterns.is_empty()
        || patterns
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some("*/") => true,
                Some(start) => mime.starts_with(start),
                None => pattern == mime,
            })
}

fn join_path(path: &str, name: &str) -> String {
    format!("{path}.{}", name.escape_debug())
}

/// Quotes the start of a text that may be hostile.
fn excerpt(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    let dots = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{dots}")
}

fn wanted(def: &Def) -> &'static str {
    match def {
        Def::Record(_) | Def::Object(_) | Def::Ref(_) | Def::Union(_) | Def::Unknown(_) => {
            "an object"
        }
        Def::Array(_) => "an array",
        Def::String(_) | Def::Token(_) => "a string",
        Def::Integer(_) => "an integer",
        Def::Boolean(_) => "a boolean",
        Def::Bytes(_) => "bytes",
        Def::CidLink(_) => "a link",
        Def::Blob(_) => "a blob",
    }
}
