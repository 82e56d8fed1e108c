//! Shapes of JSON: field names in their order, the kinds of values, and the texts of an API.
//! `shapes.py` makes shapes of recordings by the same rules, which are in `kinds.json`.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use forge_testkit::workspace_root;
use regex::Regex;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// JSON whose objects keep the order of their keys. In a shape, each value is the name of its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    Value(Value),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Value(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Value(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Value(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Value(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Value(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tree, A::Error> {
        let mut object = Vec::new();
        while let Some(field) = fields.next_entry()? {
            object.push(field);
        }
        Ok(Tree::Object(object))
    }
}

/// What `shapes.py` has made from the recordings of one service.
#[derive(Debug, Deserialize)]
pub struct Shapes {
    /// Recordings, each with the names of its exchanges in order.
    pub recordings: BTreeMap<String, Vec<String>>,
    pub exchanges: BTreeMap<String, Exchange>,
}

/// The shape of a request and its answer.
#[derive(Debug, Deserialize)]
pub struct Exchange {
    pub request: Tree,
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    /// False if the recorder has sorted the keys of the answer.
    pub is_ordered: bool,
    pub answer: Tree,
}

#[derive(Deserialize)]
struct Rules {
    words: Vec<String>,
    kinds: Vec<(String, String)>,
    names: Vec<(String, String)>,
}

static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| read::<Rules>("kinds.json").words);
static KINDS: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
    let kinds = read::<Rules>("kinds.json").kinds.into_iter();
    kinds
        .map(|(pattern, kind)| (Regex::new(&format!("^(?:{pattern})$")).unwrap(), kind))
        .collect()
});
static NAMES: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
    let names = read::<Rules>("kinds.json").names.into_iter();
    names
        .map(|(pattern, name)| (Regex::new(&pattern).unwrap(), name))
        .collect()
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let time = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:[.]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})$";
    Regex::new(time).unwrap()
});
static URL: LazyLock<Regex> = LazyLock::new(|| Regex::new("^https?://([^/]+)").unwrap());
static AT_URI: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("at://did:[a-z]+:[^/]+/[A-Za-z0-9_.]+/[A-Za-z0-9_]+").unwrap());

/// Reads a file beside this one.
pub fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = workspace_root().join("tests/recorded").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Replaces names and numbers in an address.
pub fn without_names(url: &str) -> String {
    NAMES.iter().fold(url.to_owned(), |url, (pattern, name)| {
        pattern.replace_all(&url, name).into_owned()
    })
}

/// The name of a field of a request, and its value, which messages may repeat.
pub type Name = (String, String);

fn kind_of(text: &str, names: &[Name], key: &str) -> String {
    if text.is_empty() {
        return "empty".to_owned();
    }
    if let Some(time) = TIME.captures(text) {
        let digits = time.get(1).map_or(0, |it| it.len());
        let zone = if &time[2] == "Z" { "Z" } else { "offset" };
        return format!("time {digits} {zone}");
    }
    if key == "message" {
        return format!("={}", message_template(text, names));
    }
    if WORDS.iter().any(|it| it == key) {
        return format!("={text}");
    }
    if let Some((pattern, kind)) = KINDS.iter().find(|(pattern, _)| pattern.is_match(text)) {
        return pattern.replace(text, kind).into_owned();
    }
    match URL.captures(text) {
        Some(url) => {
            let host = &url[1];
            let is_shape = host.contains("github") || host == "w3id.org" || host == "www.w3.org";
            let from = if is_shape { 0 } else { url[0].len() };
            format!("url {}", without_names(&text[from..]))
        }
        None => "text".to_owned(),
    }
}

fn message_template(message: &str, names: &[Name]) -> String {
    let mut names: Vec<_> = names.iter().collect();
    names.sort_by_key(|(_, value)| std::cmp::Reverse(value.chars().count()));
    let mut message = message.to_owned();
    for (name, value) in names {
        message = message.replace(value, &format!("<{name}>"));
    }
    let message = AT_URI.replace_all(&message, "<at-uri>").into_owned();
    match message.split_once(" does not have a") {
        Some((login, rest)) if !login.contains(' ') => format!("<login> does not have a{rest}"),
        _ => message,
    }
}

impl Tree {
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else {
            return None;
        };
        fields.iter().find(|(it, _)| it == name).map(|(_, it)| it)
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Value(value) => value.as_str().unwrap_or_default(),
            _ => "",
        }
    }

    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub fn to_json(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, it)| (key.clone(), it.to_json()));
                Value::Object(fields.collect())
            }
        }
    }

    /// Calls `change` with each text.
    pub fn change_texts(&mut self, change: &impl Fn(&str) -> Value) {
        match self {
            Self::Value(Value::String(text)) => *self = Self::Value(change(text)),
            Self::Value(_) => {}
            Self::List(items) => items.iter_mut().for_each(|it| it.change_texts(change)),
            Self::Object(fields) => {
                for (_, field) in fields {
                    field.change_texts(change);
                }
            }
        }
    }

    /// Returns the texts of a request that a message may repeat.
    pub fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        self.add_names("", &mut names);
        names
    }

    fn add_names(&self, key: &str, names: &mut Vec<Name>) {
        match self {
            Self::Value(_) if self.text().chars().count() > 3 => {
                names.push((key.to_owned(), self.text().to_owned()));
            }
            Self::Value(_) => {}
            Self::List(items) => items.iter().for_each(|it| it.add_names(key, names)),
            Self::Object(fields) => {
                for (key, field) in fields {
                    field.add_names(key, names);
                }
            }
        }
    }

    pub fn shape(&self, names: &[Name], key: &str) -> Self {
        match self {
            Self::Value(Value::String(text)) => Self::Value(kind_of(text, names, key).into()),
            Self::Value(Value::Number(_)) => Self::Value("int".into()),
            Self::Value(value) => Self::Value(value.to_string().into()),
            Self::List(items) => Self::List(unique(items.iter().map(|it| it.shape(names, key)))),
            Self::Object(fields) => {
                let fields = fields.iter();
                Self::Object(
                    fields
                        .map(|(key, field)| (key.clone(), field.shape(names, key)))
                        .collect(),
                )
            }
        }
    }

    pub fn sorted(&self) -> Self {
        match self {
            Self::Value(_) => self.clone(),
            Self::List(items) => Self::List(unique(items.iter().map(Self::sorted))),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, it)| (key.clone(), it.sorted()));
                let mut fields: Vec<_> = fields.collect();
                fields.sort_by(|one, other| one.0.cmp(&other.0));
                Self::Object(fields)
            }
        }
    }
}

fn unique(shapes: impl Iterator<Item = Tree>) -> Vec<Tree> {
    let mut kept = Vec::new();
    for shape in shapes {
        if !kept.contains(&shape) {
            kept.push(shape);
        }
    }
    kept
}

/// A request and its answer as they were observed.
pub struct Observed {
    pub method: String,
    /// Path of the request, without its query.
    pub path: String,
    pub query: Tree,
    /// Body of the request; for GraphQL its variables.
    pub body: Option<Tree>,
    pub status: u16,
    /// Headers of the answer, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub answer: Tree,
}

impl Observed {
    /// Returns how this exchange differs from a recorded one.
    pub fn differences(&self, recorded: &Exchange) -> Vec<String> {
        let mut found = Vec::new();
        let mut names = self.body.as_ref().map(Tree::names).unwrap_or_default();
        let parts: Vec<&str> = self.path.split('/').collect();
        if let ["", "repos", owner, repo, ..] = parts[..] {
            names.push(("owner".to_owned(), owner.to_owned()));
            names.push(("repo".to_owned(), repo.to_owned()));
        }
        compare(
            &recorded.request,
            &self.request_shape(&names),
            "request",
            &mut found,
        );
        if self.status != recorded.status {
            found.push(format!("status {}, not {}", self.status, recorded.status));
            return found;
        }
        for (name, kind) in &recorded.headers {
            let Some((_, value)) = self.headers.iter().find(|(it, _)| it == name) else {
                found.push(format!("no header `{name}`"));
                continue;
            };
            let value = if name == "content-type" {
                value.clone()
            } else {
                kind_of(value, &names, name)
            };
            if value != *kind {
                found.push(format!("header `{name}` is `{value}`, not `{kind}`"));
            }
        }
        let mut answer = self.answer.shape(&names, "");
        if !recorded.is_ordered {
            answer = answer.sorted();
        }
        compare(&recorded.answer, &answer, "", &mut found);
        found
    }

    fn request_shape(&self, names: &[Name]) -> Tree {
        let text = |text: &str| Tree::Value(text.into());
        let mut fields = vec![
            ("method".to_owned(), text(&self.method)),
            ("path".to_owned(), text(&without_names(&self.path))),
        ];
        if self.query != Tree::Object(Vec::new()) {
            fields.push(("query".to_owned(), self.query.shape(names, "").sorted()));
        }
        if let Some(body) = &self.body {
            fields.push(("body".to_owned(), body.shape(names, "").sorted()));
        }
        Tree::Object(fields)
    }
}

/// Adds how the shape `ours` differs from a recorded one.
pub fn compare(recorded: &Tree, ours: &Tree, path: &str, found: &mut Vec<String>) {
    let place = if path.is_empty() { "answer" } else { path };
    match (recorded, ours) {
        (Tree::Object(recorded), Tree::Object(ours)) => {
            let (shared, our_order) = (keys(recorded, ours, true), keys(ours, recorded, true));
            add_keys(
                &keys(recorded, ours, false),
                &format!("`{place}` lacks"),
                found,
            );
            add_keys(
                &keys(ours, recorded, false),
                &format!("`{place}` has also"),
                found,
            );
            let order = "keys in another order".to_owned();
            if shared != our_order && !found.contains(&order) {
                found.push(order);
            }
            for (key, field) in recorded {
                if let Some((_, our_field)) = ours.iter().find(|(it, _)| it == key) {
                    let inner = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    compare(field, our_field, &inner, found);
                }
            }
        }
        (Tree::List(recorded), Tree::List(ours)) if recorded.len() == ours.len() => {
            for (item, our_item) in recorded.iter().zip(ours) {
                compare(item, our_item, &format!("{place}[]"), found);
            }
        }
        (Tree::List(recorded), Tree::List(ours)) => {
            let (recorded, ours) = (recorded.len(), ours.len());
            found.push(format!(
                "`{place}` has {ours} kinds of items, not {recorded}"
            ));
        }
        _ if recorded == ours => {}
        _ => found.push(format!(
            "`{place}` is {}, not {}",
            brief(ours),
            brief(recorded)
        )),
    }
}

/// Returns the keys of `one` that `other` has, or those that it has not.
fn keys(one: &[(String, Tree)], other: &[(String, Tree)], shared: bool) -> Vec<String> {
    let keys = one.iter().map(|(key, _)| key);
    keys.filter(|key| other.iter().any(|(it, _)| it == *key) == shared)
        .cloned()
        .collect()
}

fn add_keys(keys: &[String], how: &str, found: &mut Vec<String>) {
    match keys {
        [] => {}
        [.., _, _, _, _, _, _] => found.push(format!("{how} {} fields", keys.len())),
        _ => found.push(format!("{how} {}", keys.join(", "))),
    }
}

fn brief(shape: &Tree) -> String {
    match shape {
        Tree::Value(kind) => format!("`{}`", kind.as_str().unwrap_or_default()),
        Tree::List(_) => "a list".to_owned(),
        Tree::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns shapes that have one edit each: a field that is missing, has another kind, or
    /// another place among the others.
    fn edits(shape: &Tree) -> Vec<Tree> {
        match shape {
            Tree::Value(kind) => vec![Tree::Value(format!("{kind} edited").into())],
            Tree::List(items) => {
                let mut found = vec![Tree::List([&items[..], &[Tree::List(vec![])]].concat())];
                for (at, item) in items.iter().enumerate() {
                    for edit in edits(item) {
                        let mut items = items.clone();
                        items[at] = edit;
                        found.push(Tree::List(items));
                    }
                }
                found
            }
            Tree::Object(fields) => {
                let mut found = Vec::new();
                for at in 0..fields.len() {
                    let mut fewer = fields.clone();
                    fewer.remove(at);
                    found.push(Tree::Object(fewer));
                    let mut moved = fields.clone();
                    moved.rotate_left(at);
                    found.push(Tree::Object(moved));
                    for edit in edits(&fields[at].1) {
                        let mut fields = fields.clone();
                        fields[at].1 = edit;
                        found.push(Tree::Object(fields));
                    }
                }
                found
            }
        }
    }

    #[test]
    fn every_edit_of_a_shape_is_a_difference() {
        for name in ["github.shapes.json", "tangled.shapes.json"] {
            for (key, exchange) in read::<Shapes>(name).exchanges {
                for part in [exchange.request, exchange.answer] {
                    let mut found = Vec::new();
                    compare(&part, &part, "", &mut found);
                    assert!(found.is_empty(), "{key}: {found:?}");
                    for edit in edits(&part).into_iter().filter(|it| *it != part) {
                        compare(&part, &edit, "", &mut found);
                        assert!(!found.is_empty(), "{key}: {edit:?}");
                        found.clear();
                    }
                }
            }
        }
    }
}
