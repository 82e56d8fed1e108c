//! Renames names of the protocol on the wire. A host uses only default names internally: it
//! translates each request to default names before execution, and each answer to new names before
//! sending. A renamed item is unknown on the wire under its default name. A record's CID is
//! computed with the names on the wire.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use forge_double_wire::Reply;
use serde_json::{Map, Value};

use super::{Incoming, lock};
use crate::atproto::cid;

/// The kind of message in which a field occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Objects with this `$type`.
    Type(String),
    /// The query of this method.
    Query(String),
    /// The input of this method.
    Input(String),
    /// The answer of this method.
    Answer(String),
}

/// New names for names of the protocol.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Default and new name of each renamed text.
    texts: Vec<(String, String)>,
    fields: Vec<Field>,
    words: Vec<Word>,
    /// Default and new name of each renamed attribute.
    attributes: Vec<(String, String)>,
    /// Maps a record's CID with default names to its CID with new names. All clones share this map.
    cids: Arc<Mutex<BTreeMap<String, String>>>,
}

#[derive(Debug, Clone)]
struct Field {
    place: Place,
    path: Vec<String>,
    now: String,
}

#[derive(Debug, Clone)]
struct Word {
    place: Place,
    path: Vec<String>,
    usual: String,
    now: String,
}

impl Names {
    /// Renames an NSID in all queries and all JSON.
    pub fn text(&mut self, usual: &str, now: &str) {
        self.texts.push((usual.to_owned(), now.to_owned()));
        // Longer names come first, because a name may begin with a shorter one.
        let length = |text: &(String, String)| std::cmp::Reverse(text.0.len());
        self.texts.sort_by_key(length);
    }

    /// Renames a field. `path` contains the default names of the keys that lead to the field,
    /// joined by dots. A list on the path means all of its items.
    pub fn field(&mut self, place: Place, path: &str, now: &str) {
        self.fields.push(Field {
            place,
            path: split(path),
            now: now.to_owned(),
        });
        self.fields.sort_by_key(|field| field.path.len());
    }

    /// Renames a value of a field, where the value is `usual`.
    pub fn word(&mut self, place: Place, path: &str, usual: &str, now: &str) {
        self.words.push(Word {
            place,
            path: split(path),
            usual: usual.to_owned(),
            now: now.to_owned(),
        });
    }

    /// Renames an attribute of the elements in HTML pages.
    pub fn attribute(&mut self, usual: &str, now: &str) {
        self.attributes.push((usual.to_owned(), now.to_owned()));
    }

    /// Translates a request to the default names.
    pub(super) fn incoming(&self, mut request: Incoming) -> Incoming {
        let Some(method) = request.nsid().map(str::to_owned) else {
            return request;
        };
        if self.texts.is_empty() && self.fields.is_empty() {
            return request;
        }
        request.query = self.with_default_texts(&self.with_usual_cids(&request.query));
        let here = Place::Query(method.clone());
        for field in self.fields.iter().filter(|field| field.place == here) {
            let Some(usual) = field.path.first() else {
                continue;
            };
            let pairs = request.query.split('&').map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                match key {
                    key if key == field.now => format!("{usual}={value}"),
                    key if key == usual => format!("gone-{usual}={value}"),
                    _ => pair.to_owned(),
                }
            });
            request.query = pairs.collect::<Vec<_>>().join("&");
        }
        for word in self.words.iter().filter(|word| word.place == here) {
            let pairs = request.query.split('&').map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                let is_asked = word.path.first().is_some_and(|usual| key == usual);
                match value {
                    value if is_asked && value == word.now => format!("{key}={}", word.usual),
                    value if is_asked && value == word.usual => format!("{key}=gone-{value}"),
                    _ => pair.to_owned(),
                }
            });
            request.query = pairs.collect::<Vec<_>>().join("&");
        }
        let is_json = request
            .header("content-type")
            .starts_with("application/json");
        let sent = String::from_utf8_lossy(&request.body).into_owned();
        let body = self.with_default_texts(&self.with_usual_cids(&sent));
        if is_json && let Ok(mut value) = serde_json::from_str::<Value>(&body) {
            let here = Place::Input(method);
            for field in &self.fields {
                visit(&mut value, field, &here, &|map, key| {
                    if let Some(value) = map.remove(key) {
                        map.insert(format!("gone-{key}"), value);
                    }
                    if let Some(value) = map.remove(&field.now) {
                        map.insert(key.to_owned(), value);
                    }
                });
            }
            for word in &self.words {
                visit(&mut value, &word.field(), &here, &|map, key| {
                    let Some(value) = map.get_mut(key) else {
                        return;
                    };
                    if *value == word.now.as_str() {
                        *value = word.usual.as_str().into();
                    } else if *value == word.usual.as_str() {
                        *value = format!("gone-{}", word.usual).into();
                    }
                });
            }
            let sent = serde_json::from_str(&sent).unwrap_or_default();
            let pairs = written_cids(&value).into_iter().zip(written_cids(&sent));
            lock(&self.cids).extend(pairs.filter_map(|(usual, now)| usual.zip(now)));
            request.body = value.to_string().into_bytes();
        }
        request
    }

    /// Translates the answer of a method, or a page, to the new names.
    pub(super) fn outgoing(&self, method: Option<&str>, mut reply: Reply) -> Reply {
        if is(&reply, "text/html") {
            let page = String::from_utf8_lossy(&reply.body).into_owned();
            let page = self.attributes.iter().fold(page, |page, (usual, now)| {
                page.replace(&format!(" {usual}="), &format!(" {now}="))
            });
            reply.body = self.with_texts(page).into_bytes();
            return reply;
        }
        let Some(method) = method.filter(|_| !self.texts.is_empty() || !self.fields.is_empty())
        else {
            return reply;
        };
        if !is(&reply, "application/json") {
            return reply;
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&reply.body) else {
            return reply;
        };
        // The form of an error does not depend on the method.
        if reply.status < 400 {
            self.rename(&mut value, &Place::Answer(method.to_owned()));
        }
        let body = self.with_texts(value.to_string());
        if let Ok(value) = serde_json::from_str(&body) {
            self.add_cids(&value);
        }
        reply.body = self.with_new_cids(body).into_bytes();
        reply
    }

    /// Computes and stores the new CIDs of the records in an answer.
    fn add_cids(&self, answer: &Value) {
        if let (Some(Value::String(usual)), Some(value)) = (answer.get("cid"), answer.get("value"))
            && let Ok(value) = serde_json::from_str(&self.with_new_cids(value.to_string()))
            && let Some(now) = cid::of_record(&value)
        {
            lock(&self.cids).insert(usual.clone(), now);
        }
        match answer {
            Value::Array(items) => items.iter().for_each(|item| self.add_cids(item)),
            Value::Object(map) => map.values().for_each(|item| self.add_cids(item)),
            _ => {}
        }
    }

    fn with_new_cids(&self, text: String) -> String {
        let cids = lock(&self.cids);
        cids.iter()
            .fold(text, |text, (usual, now)| text.replace(usual, now))
    }

    fn with_usual_cids(&self, text: &str) -> String {
        let cids = lock(&self.cids);
        cids.iter().fold(text.to_owned(), |text, (usual, now)| {
            text.replace(now, usual)
        })
    }

    fn rename(&self, value: &mut Value, here: &Place) {
        for word in &self.words {
            visit(value, &word.field(), here, &|map, key| {
                if let Some(value) = map.get_mut(key)
                    && *value == word.usual.as_str()
                {
                    *value = word.now.as_str().into();
                }
            });
        }
        // Inner fields are renamed before outer ones, because their paths contain default names.
        for field in self.fields.iter().rev() {
            visit(value, field, here, &|map, key| {
                if let Some(value) = map.remove(key) {
                    map.insert(field.now.clone(), value);
                }
            });
        }
    }

    fn with_texts(&self, text: String) -> String {
        let texts = self.texts.iter();
        texts.fold(text, |text, (usual, now)| replace(&text, usual, now))
    }

    fn with_default_texts(&self, text: &str) -> String {
        let gone = |text: String, (usual, _): &(String, String)| {
            replace(&text, usual, &format!("gone.{usual}"))
        };
        let back = |text: String, (usual, now): &(String, String)| replace(&text, now, usual);
        let text = self.texts.iter().fold(text.to_owned(), gone);
        self.texts.iter().fold(text, back)
    }
}

impl Word {
    fn field(&self) -> Field {
        Field {
            place: self.place.clone(),
            path: self.path.clone(),
            now: String::new(),
        }
    }
}

/// Returns true if the reply has this content type.
fn is(reply: &Reply, kind: &str) -> bool {
    let mut headers = reply.headers.iter();
    headers
        .any(|(name, value)| name.eq_ignore_ascii_case("content-type") && value.starts_with(kind))
}

/// Returns the CIDs of the records that the input of a write contains.
fn written_cids(input: &Value) -> Vec<Option<String>> {
    let writes = input["writes"].as_array().into_iter().flatten();
    let records = input.get("record").into_iter();
    let records = records.chain(writes.filter_map(|write| write.get("value")));
    records.map(cid::of_record).collect()
}

fn split(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

/// Replaces a name wherever it is complete, and not only the start of a longer name.
fn replace(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|c: char| c.is_ascii_alphanumeric() || ".#-_".contains(c));
        result.push_str(if goes_on { from } else { to });
        result.push_str(part);
    }
    result
}

type Change<'a> = &'a dyn Fn(&mut Map<String, Value>, &str);

/// Calls `change` for every object that contains the field, if the field belongs to `here` or to a
/// record type.
fn visit(value: &mut Value, field: &Field, here: &Place, change: Change<'_>) {
    match &field.place {
        Place::Type(of) => typed(value, of, &field.path, change),
        place if place == here => at(value, &field.path, change),
        _ => {}
    }
}

fn typed(value: &mut Value, of: &str, path: &[String], change: Change<'_>) {
    if value.get("$type").and_then(Value::as_str) == Some(of) {
        at(value, path, change);
    }
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| typed(item, of, path, change)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|item| typed(item, of, path, change)),
        _ => {}
    }
}

fn at(value: &mut Value, path: &[String], change: Change<'_>) {
    match (value, path) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| at(item, path, change)),
        (Value::Object(map), [last]) => change(map, last),
        (Value::Object(map), [first, rest @ ..]) => {
            if let Some(inner) = map.get_mut(first) {
                at(inner, rest, change);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        names.text("sh.x.pull", "org.new.pull");
        names.text("sh.x.pull.status", "org.new.status");
        let of = || Place::Type("sh.x.pull".to_owned());
        names.field(of(), "target", "goal");
        names.field(of(), "target.repo", "home");
        names.field(of(), "rounds.at", "when");
        names.field(Place::Query("a.b.c".to_owned()), "repo", "which");
        names.field(Place::Answer("a.b.c".to_owned()), "items.state", "mood");
        names.word(of(), "state", "open", "fresh");
        names.word(Place::Query("a.b.c".to_owned()), "repo", "mine", "own");
        names
    }

    fn usual() -> Value {
        json!({
            "$type": "sh.x.pull", "target": { "repo": "r" }, "rounds": [{ "at": 1 }, { "at": 2 }],
            "state": "open", "about": "at://d/sh.x.pull.status/k", "repo": "kept",
        })
    }

    fn renamed() -> Value {
        json!({
            "$type": "org.new.pull", "goal": { "home": "r" }, "rounds": [{ "when": 1 }, { "when": 2 }],
            "state": "fresh", "about": "at://d/org.new.status/k", "repo": "kept",
        })
    }

    fn sent(query: &str, body: &Value) -> (String, Value) {
        let request = Incoming {
            path: "/xrpc/a.b.c".to_owned(),
            query: query.to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.to_string().into_bytes(),
            ..Incoming::default()
        };
        let request = names().incoming(request);
        let body = serde_json::from_slice(&request.body).unwrap();
        (request.query, body)
    }

    #[test]
    fn renames_apply_in_requests_and_responses() {
        let (query, body) = sent(
            "which=1&of=at%3A%2F%2Fd%2Forg.new.pull%2Fk",
            &json!({ "repo": "d", "record": renamed() }),
        );
        assert_eq!(query, "repo=1&of=at%3A%2F%2Fd%2Fsh.x.pull%2Fk");
        assert_eq!(body, json!({ "repo": "d", "record": usual() }));
        let answer = json!({ "items": [{ "state": "open", "value": usual() }] });
        let reply = names().outgoing(Some("a.b.c"), Reply::json(200, &answer));
        let answer: Value = serde_json::from_slice(&reply.body).unwrap();
        let wanted = json!({ "items": [{ "mood": "open", "value": renamed() }] });
        assert_eq!(answer, wanted);
    }

    #[test]
    fn renames_apply_to_page_attributes_but_not_errors() {
        let mut names = names();
        names.field(Place::Answer("a.b.c".to_owned()), "message", "words");
        names.attribute("data-of", "data-about");
        let said = |status| {
            let answer = json!({ "message": "m" });
            let reply = names.outgoing(Some("a.b.c"), Reply::json(status, &answer));
            serde_json::from_slice::<Value>(&reply.body).unwrap()
        };
        assert_eq!(said(200), json!({ "words": "m" }));
        assert_eq!(said(404), json!({ "message": "m" }));
        let page = b"<i data-of=\"at://d/sh.x.pull/k\">data-of=</i>".to_vec();
        let reply = names.outgoing(None, Reply::text(200, "text/html; charset=utf-8", page));
        let page = String::from_utf8(reply.body).unwrap();
        assert_eq!(page, "<i data-about=\"at://d/org.new.pull/k\">data-of=</i>");
    }

    #[test]
    fn original_name_of_renamed_field_is_unknown() {
        let mut half = renamed();
        half["target"] = json!("by its old name");
        let (query, body) = sent("repo=1&of=sh.x.pull", &half);
        assert_eq!(query, "gone-repo=1&of=gone.sh.x.pull");
        let (query, _) = sent("which=own&other=own", &half);
        assert_eq!(query, "repo=mine&other=own");
        let (query, _) = sent("which=mine", &half);
        assert_eq!(query, "repo=gone-mine");
        assert_eq!(body["target"], json!({ "repo": "r" }));
        assert_eq!(body["gone-target"], json!("by its old name"));
    }
}
