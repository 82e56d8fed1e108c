//! Parses tool arguments leniently: accepts the variants that models send.

use std::{collections::BTreeMap, fmt};

use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use forge_core::{Error, Result, suggest};

use super::aliases::{
    ALIASES, INSTEAD, MAYBE_DATES, NOT_A_DESCRIPTION, VALUE_ALIASES, VALUES_ELSEWHERE,
    replaced_method,
};
use crate::content::{Cleaner, MAX_VALUE_CHARS};

/// Maximum number of unknown arguments that an error names.
const MAX_NAMES: usize = 3;

/// Maximum length, in bytes, of an argument outside [`LONG_TEXTS`], such as a name, a path or a
/// search. The length is limited because a waiting call keeps its arguments in memory.
const MAX_WORD_BYTES: usize = 4096;

/// Arguments that [`MAX_WORD_BYTES`] does not limit. The forge limits the length of texts, and this
/// server limits the length of cursors.
const LONG_TEXTS: [&str; 11] = [
    "append", "body", "comment", "content", "cursor", "message", "patch", "reason", "subject",
    "title", "values",
];

/// The value that empties a field. An empty text cannot do this, because it counts as absent.
pub(crate) const CLEARED: &str = "-";

/// Returns the text to store for an argument; [`CLEARED`] becomes the empty text.
pub(crate) fn replacement(text: String) -> String {
    match text.trim() {
        CLEARED => String::new(),
        _ => text,
    }
}

/// Adapts the received arguments to the tool's schema.
///
/// Names may be in camelCase or be [`ALIASES`]. `owner` is put in front of `repo`. A text is
/// converted if the schema requires a number, boolean or list. A blank optional argument counts as
/// absent; see [`is_blank`].
///
/// # Errors
///
/// Fails with `invalid_input` if an argument is given twice, or if the owner contradicts the
/// repository.
pub(super) fn fit(sent: Option<JsonObject>, schema: &JsonObject) -> Result<JsonObject> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|p| p.contains_key(name));
    let mut sent = sent.unwrap_or_default();
    let owner = match known("repo") && !known("owner") {
        true => sent.keys().find(|k| snake_case(k) == "owner").cloned(),
        false => None,
    };
    let owner = owner.and_then(|name| sent.remove(&name));
    let mut args = fitted(sent, schema)?;
    if let Some(owner) = owner.filter(|o| !o.is_null()) {
        put_owner(&mut args, &owner)?;
    }
    Ok(args)
}

/// Deserializes the arguments of a tool.
///
/// # Errors
///
/// Fails with `invalid_input`, and says which argument is wrong and what the tool takes there.
pub(super) fn read<A: DeserializeOwned>(args: &JsonObject, schema: &JsonObject) -> Result<A> {
    serde_path_to_error::deserialize(args).map_err(|e| refusal(args, e.path(), schema))
}

/// Explains the wrong argument at a path. The wording comes from the schema, because serde's own
/// message names Rust types.
fn refusal(args: &JsonObject, path: &serde_path_to_error::Path, schema: &JsonObject) -> Error {
    let (mut at, mut is_optional) = (String::new(), false);
    // The value at the part of the path read so far, with its schema; `None` at the top level.
    let mut inner: Option<(&Value, &Value)> = None;
    for segment in path.iter() {
        inner = Some(match segment {
            Segment::Map { key } => {
                let (sent, of) = match inner {
                    Some((value, of)) => (value.as_object(), of.as_object()),
                    None => (Some(args), Some(schema)),
                };
                let known = of.and_then(|of| Some((of, of.get("properties")?.get(key)?)));
                let Some((of, known)) = known else { break };
                is_optional = !is_required(of, key);
                at = join(&at, key);
                let value = sent.and_then(|sent| sent.get(key));
                (value.unwrap_or(&Value::Null), known)
            }
            Segment::Seq { index } => {
                let Some((value, of)) = inner else { break };
                is_optional = false;
                at.push_str(&format!("[{index}]"));
                let (value, of) = (value.get(*index), of.get("items"));
                (value.unwrap_or(&Value::Null), of.unwrap_or(&Value::Null))
            }
            // The value of an enum has the same path as the enum itself, so the search ends here.
            Segment::Enum { .. } | Segment::Unknown => break,
        });
    }
    let Some((value, of)) = inner else {
        return wrong_names(&at, args, schema);
    };
    match (value.as_object(), of.as_object()) {
        (Some(sent), Some(schema)) if schema.contains_key("properties") => {
            wrong_names(&at, sent, schema)
        }
        _ => wrong_value(&at, value, of, is_optional),
    }
}

fn join(at: &str, name: &str) -> String {
    match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    }
}

/// Refuses an object with unknown arguments or without required arguments.
fn wrong_names(at: &str, sent: &JsonObject, schema: &JsonObject) -> Error {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|p| p.contains_key(name));
    let names: Vec<&str> = properties
        .map(|p| p.keys().map(String::as_str).collect())
        .unwrap_or_default();
    // A plain list is ambiguous if the tool has separate arguments for additions and removals.
    let listed = sent.keys().map(|name| snake_case(name));
    let listed = listed.filter(|name| known(&format!("remove_{name}")));
    let parted: String = listed
        .map(|name| format!("pass add_{name} or remove_{name} for {name}; "))
        .collect();
    let unknown: Vec<&String> = sent.keys().filter(|name| !known(name)).collect();
    let advice = |name: &String| {
        let properties = properties?;
        let call = method_call(name, sent.get(name)?, properties);
        call.or_else(|| alternative_to(name, properties).map(str::to_owned))
    };
    let mut advised: Vec<String> = unknown.iter().copied().filter_map(advice).collect();
    advised.dedup();
    let near = match unknown.first().filter(|_| advised.is_empty()) {
        Some(name) => suggest::did_you_mean(name, names.iter().copied())
            .map_or_else(String::new, |near| format!("{near} ")),
        None => advised.iter().map(|what| format!("{what}; ")).collect(),
    };
    let place = if at.is_empty() { "this tool" } else { at };
    let missing = find_missing(sent, schema);
    let mut why: Vec<String> = unknown
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("{place} takes no {}", quote(name)))
        .collect();
    let absent = missing.iter().map(|name| join(at, name));
    why.extend(absent.map(|name| format!("{name} is missing")));
    let is_advised = |name: &&&str| {
        let pass = format!("pass {name}, ");
        advised.iter().any(|what| what.starts_with(&pass))
    };
    let undescribed = missing.iter().filter(|name| !is_advised(name));
    let missing: String = undescribed
        .map(|name| describe(at, name, properties))
        .collect();
    refused(why.join("; ")).with_hint(format!(
        "{near}{parted}{missing}{place} takes {}",
        names.join(", ")
    ))
}

/// Refuses a value that has the wrong type, or is outside the range or the choices of the schema.
fn wrong_value(at: &str, value: &Value, schema: &Value, is_optional: bool) -> Error {
    let kind = schema.get("type").and_then(Value::as_str);
    let takes = match kind {
        // Some arguments are 32-bit numbers, and no argument needs a larger number.
        Some("integer") => format!("a whole number from 0 to {}", u32::MAX),
        _ => describe_type(schema).unwrap_or_else(|| "another value".to_owned()),
    };
    let choices: Vec<&str> = match (choices(schema), kind) {
        (Some(choices), _) => choices.iter().filter_map(Value::as_str).collect(),
        (None, Some("boolean")) => vec!["true", "false"],
        _ => Vec::new(),
    };
    let text = value.as_str();
    let elsewhere = VALUES_ELSEWHERE.iter().find(|(other, beside, _)| {
        text.is_some_and(|text| alike(other, text)) && choices.contains(beside)
    });
    let near = match elsewhere {
        Some((.., advice)) => Some((*advice).to_owned()),
        None => text.and_then(|text| suggest::did_you_mean(text, choices)),
    };
    let hint = match (near, is_optional) {
        (Some(near), _) => near,
        (None, true) => format!("pass {at} as {takes}, or leave it out"),
        (None, false) => format!("pass {at} as {takes}"),
    };
    refused(format!("{at} is {}, but takes {takes}", show_value(value))).with_hint(hint)
}

/// Formats a value that the caller passed: quoted, on one line, and cut.
fn quote(sent: impl fmt::Display) -> String {
    let cleaner = Cleaner::new();
    cleaner.excerpt(sent, MAX_VALUE_CHARS).to_string()
}

/// Formats a value that the caller passed; objects and lists are quoted as JSON.
fn show_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(_) => format!("the list {}", quote(value)),
        Value::Object(_) => format!("the object {}", quote(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns the advice in [`INSTEAD`] for an argument that is not in `properties`.
fn alternative_to(name: &str, properties: &JsonObject) -> Option<&'static str> {
    let snake = snake_case(name);
    let mut rows = INSTEAD.iter();
    let row = rows.find(|(names, beside, _)| {
        let mut beside = beside.split(' ');
        names.contains(&snake.as_str()) && beside.all(|name| properties.contains_key(name))
    });
    row.map(|(_, _, what)| *what)
}

/// Returns the advice for a `method` of `pull_request_read` or `issue_read`, the tools of
/// github-mcp-server that read pull requests and issues.
fn method_call(name: &str, value: &Value, properties: &JsonObject) -> Option<String> {
    // A tool with a `body` argument writes, so the methods of these reading tools do not apply.
    if snake_case(name) != "method" || properties.contains_key("body") {
        return None;
    }
    let other = match properties.contains_key("issue") {
        true => "issue_read",
        false => "pull_request_read",
    };
    replaced_method(other, value.as_str()?).map(|(_, call)| call)
}

/// Returns the names of the missing required arguments.
fn find_missing<'a>(args: &JsonObject, schema: &'a JsonObject) -> Vec<&'a str> {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| !args.contains_key(*name)).collect()
}

/// Returns the advice to pass a missing argument, with the values that are possible.
fn describe(at: &str, name: &str, properties: Option<&JsonObject>) -> String {
    let of = properties.and_then(|properties| properties.get(name));
    let Some((of, what)) = of.and_then(|of| Some((of, describe_type(of)?))) else {
        return String::new();
    };
    let name = join(at, name);
    match of.get("description").and_then(Value::as_str) {
        Some(text) => format!("pass {name}, {what}: {text}; "),
        None => format!("pass {name}, {what}; "),
    }
}

fn describe_type(schema: &Value) -> Option<String> {
    if let Some(choices) = choices(schema) {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return Some(format!("one of {}", choices.join(", ")));
    }
    Some(match schema.get("type")?.as_str()? {
        "integer" => "a whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "string" => "a text".to_owned(),
        "array" => format!("a list, each {}", describe_type(schema.get("items")?)?),
        "object" => {
            let names = schema.get("properties")?.as_object()?.keys();
            let names: Vec<&str> = names.map(String::as_str).collect();
            format!("an object with {}", names.join(", "))
        }
        _ => return None,
    })
}

/// Maps the received arguments to the schema's names and types.
fn fitted(sent: JsonObject, schema: &JsonObject) -> Result<JsonObject> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|p| p.contains_key(name));
    let mut args = JsonObject::new();
    // The received name of each argument in `args`, for errors.
    let mut received: BTreeMap<String, String> = BTreeMap::new();
    // Only the arguments of a comment on a line of the diff include these two.
    let line = LineArguments {
        is_given: sent.contains_key("line"),
        side: sent
            .get("side")
            .and_then(Value::as_str)
            .unwrap_or("right")
            .to_owned(),
    };
    let replaces_description = known("title") && !is_required(schema, "title");
    for (sent_name, value) in sent {
        let snake = snake_case(&sent_name);
        let is_foreign = |all| !known(&snake) && alternative_to(&snake, all).is_some();
        let changes_nothing =
            properties.is_some_and(is_foreign) && is_default(&snake, &value, &line, known);
        if value.is_null() || changes_nothing {
            continue;
        }
        let name = if known(&snake) {
            snake
        } else {
            ALIASES
                .iter()
                .find(|(to, from)| {
                    let overwrites = replaces_description && *to == "body";
                    let is_refused = (overwrites && NOT_A_DESCRIPTION.contains(&snake.as_str()))
                        || (known("edits") && *to == "body" && snake == "commit_message")
                        || (known("limit") && MAYBE_DATES.contains(&snake.as_str()));
                    known(to) && from.contains(&snake.as_str()) && !is_refused
                })
                .map_or_else(|| sent_name.clone(), |(to, _)| (*to).to_owned())
        };
        let of = properties.and_then(|p| p.get(&name));
        let is_text = of.and_then(|s| s.get("type")).and_then(Value::as_str) == Some("string");
        // Check this before the conversion to text, which turns 0 into "0".
        let is_zero_text = is_text && value.is_number() && is_blank(&value);
        let value = coerced(value, of)?;
        let may_go = name != "content" && !is_required(schema, &name);
        if known(&name) && may_go && (is_zero_text || is_blank(&value)) {
            continue;
        }
        if let Some(of) = of {
            check_word_length(&name, &value, of)?;
        }
        if let Some(before) = args.get(&name).filter(|before| **before != value) {
            let first = received.get(&name).unwrap_or(&name);
            let (before, value) = (show_value(before), show_value(&value));
            return Err(refused(format!(
                "{name} is given twice, as {first} {before} and as {sent_name} {value}"
            ))
            .with_hint(format!("pass {name} once")));
        }
        received.insert(name.clone(), sent_name);
        args.insert(name, value);
    }
    Ok(args)
}

/// Refuses a text, or an item of a list, that is too long for the argument `name`. Arguments with
/// fixed choices are skipped, because an unknown choice is refused anyway.
fn check_word_length(name: &str, value: &Value, schema: &Value) -> Result<()> {
    let schema = schema.get("items").unwrap_or(schema);
    let is_text = schema.get("type").and_then(Value::as_str) == Some("string");
    if !is_text || choices(schema).is_some() || LONG_TEXTS.contains(&name) {
        return Ok(());
    }
    let texts = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let longest = texts.iter().filter_map(|text| Some(text.as_str()?.len()));
    match longest.max().filter(|length| *length > MAX_WORD_BYTES) {
        None => Ok(()),
        Some(length) => Err(refused(format!(
            "{name} has {length} bytes, and the maximum is {MAX_WORD_BYTES}"
        ))
        .with_hint(format!("pass a shorter {name}"))),
    }
}

/// Returns true for an empty value. Strict modes (OpenAI, Gemini) send every argument of a schema,
/// with an empty text, an empty list or 0 if the user gave no value. Callers do not use this
/// function for `content`, where an empty text is an empty file.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        Value::Number(n) => n.as_u64() == Some(0),
        _ => false,
    }
}

/// Two arguments of a comment on a line. [`is_default`] compares arguments of other servers with
/// them.
struct LineArguments {
    is_given: bool,
    side: String,
}

/// Returns true if an argument of another server asks for the tool's default, such as the first
/// page. `known` returns true for the names of the tool's own arguments.
fn is_default(
    name: &str,
    value: &Value,
    line: &LineArguments,
    known: impl Fn(&str) -> bool,
) -> bool {
    let text = match value {
        Value::String(text) => text.trim().to_ascii_lowercase(),
        other => other.to_string(),
    };
    match name {
        "direction" | "order" => text == "desc",
        // Only the schema of `pr_create` has `depends_on`. When a pull request is created, `true`
        // is the default; in an edit, `true` would be a change.
        "maintainer_can_modify" => text == "true" && known("depends_on"),
        "method" => text == "get" && known("include"),
        "page" => ["0", "1", "1.0"].contains(&text.as_str()),
        "sort" => text == "created",
        "start_side" => text.eq_ignore_ascii_case(&line.side),
        "subject_type" => text == "line" && line.is_given,
        _ => false,
    }
}

fn is_required(schema: &JsonObject, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)))
}

/// Puts `owner` in front of `repo`, because github-mcp-server takes them as two arguments. If the
/// owner were ignored, the call would go to another repository.
fn put_owner(args: &mut JsonObject, owner: &Value) -> Result<()> {
    let name = owner.as_str().map(str::trim);
    let (Some(name), repo) = (name, args.get_mut("repo")) else {
        return Err(other_owner_error(owner, "is not a name"));
    };
    if name.is_empty() {
        return Ok(());
    }
    let same = |part: &str| part.eq_ignore_ascii_case(name);
    match repo {
        Some(Value::String(repo)) if !repo.contains(['/', ':']) => {
            *repo = format!("{name}/{repo}");
            Ok(())
        }
        Some(Value::String(repo)) if repo.split(['/', ':']).any(same) => Ok(()),
        Some(repo) => Err(other_owner_error(
            owner,
            &format!("is not in {}", show_value(repo)),
        )),
        None => Err(other_owner_error(owner, "is given without repo")),
    }
}

fn other_owner_error(owner: &Value, why: &str) -> Error {
    refused(format!("owner {} {why}", show_value(owner)))
        .with_hint("pass repo alone: owner/repo, a URL or a path")
}

fn refused(why: String) -> Error {
    Error::new(forge_core::ErrorKind::InvalidInput { field: None }, why)
}

fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut before_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            if before_lower {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        } else {
            out.push(if c == '-' { '_' } else { c });
        }
        before_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    out
}

/// Converts a value to the type in the schema, if possible.
///
/// # Errors
///
/// Fails as [`fitted`] does if the value contains an invalid object.
pub(super) fn coerced(value: Value, schema: Option<&Value>) -> Result<Value> {
    let wanted = schema.and_then(|s| s.get("type")).and_then(Value::as_str);
    Ok(match (wanted, value) {
        (Some("integer"), Value::String(text)) => {
            let digits = text.trim();
            let digits = digits.strip_prefix('#').unwrap_or(digits);
            let number = digits.parse::<u64>();
            number.map_or(Value::String(text), Value::from)
        }
        // Some models send 30.0 instead of 30.
        (Some("integer"), Value::Number(n)) if n.as_u64().is_none() => match n.as_f64() {
            Some(f) if f.fract() == 0.0 && (0.0..9e15).contains(&f) => {
                Value::from(format!("{f:.0}").parse::<u64>().unwrap_or_default())
            }
            _ => Value::Number(n),
        },
        (Some("boolean"), Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        (Some("string"), Value::Number(n)) => Value::String(match n.as_f64() {
            Some(f) if f.fract() == 0.0 && n.as_u64().is_none() => format!("{f:.0}"),
            _ => n.to_string(),
        }),
        (Some("string"), Value::Bool(on)) if schema.and_then(choices).is_some() => {
            coerced(Value::String(on.to_string()), schema)?
        }
        (Some("string"), Value::String(text)) => {
            // An enum value may be in another case, in the plural, or surrounded by blanks.
            let choices = schema.and_then(choices);
            let same = |c: &&Value| {
                c.as_str()
                    .is_some_and(|c| alike(c, &text) || is_alias(c, &text))
            };
            choices
                .and_then(|c| c.iter().find(same).cloned())
                .unwrap_or(Value::String(text))
        }
        (Some("array"), Value::String(text)) => {
            // A list may be sent as JSON text, or as words between commas.
            match serde_json::from_str::<Value>(&text) {
                Ok(written @ (Value::Array(_) | Value::Object(_))) => coerced(written, schema)?,
                _ => {
                    let items = text.split(',').map(str::trim).filter(|s| !s.is_empty());
                    coerced(items.map(Value::from).collect(), schema)?
                }
            }
        }
        (Some("array"), Value::Array(items)) => {
            let of = schema.and_then(|s| s.get("items"));
            let all = |item: &Value| item.as_str().is_some_and(|text| alike("all", text));
            if let Some(choices) = of.and_then(choices)
                && items.iter().any(all)
            {
                return Ok(Value::Array(choices.clone()));
            }
            let items = items.into_iter().flat_map(|item| split_choices(item, of));
            let items = items.map(|item| coerced(item, of));
            Value::Array(items.collect::<Result<_>>()?)
        }
        // A list of texts may be sent as an object of names and values.
        (Some("array"), Value::Object(sent))
            if schema.and_then(|s| s.get("items")).is_some_and(|of| {
                let kind = of.get("type").and_then(Value::as_str);
                kind == Some("string") && choices(of).is_none()
            }) =>
        {
            let pairs = sent.into_iter().filter(|(_, value)| !value.is_null());
            let pairs = pairs.map(|(name, value)| match value {
                Value::String(text) => Value::from(format!("{name}={text}")),
                other => Value::from(format!("{name}={other}")),
            });
            pairs.collect()
        }
        // A list with one item may be sent as that item.
        (Some("array"), one @ (Value::Object(_) | Value::Number(_))) => {
            coerced(Value::Array(vec![one]), schema)?
        }
        (Some("object"), Value::Object(sent)) => match schema.and_then(Value::as_object) {
            Some(schema) => Value::Object(fitted(sent, schema)?),
            None => Value::Object(sent),
        },
        (_, value) => value,
    })
}

/// Splits a text at its commas into the items of a list of choices.
fn split_choices(item: Value, of: Option<&Value>) -> Vec<Value> {
    match (&item, of.and_then(choices)) {
        (Value::String(text), Some(_)) if text.contains(',') => {
            let parts = text.split(',').map(str::trim).filter(|s| !s.is_empty());
            parts.map(Value::from).collect()
        }
        _ => vec![item],
    }
}

fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("enum").and_then(Value::as_array)
}

fn alike(choice: &str, text: &str) -> bool {
    let plain = |s: &str| s.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let (choice, text) = (plain(choice), plain(text));
    choice == text || choice.strip_suffix('s') == Some(text.as_str())
}

fn is_alias(choice: &str, text: &str) -> bool {
    let aliases = VALUE_ALIASES.iter().find(|(to, _)| *to == choice);
    aliases.is_some_and(|(_, from)| from.iter().any(|from| alike(from, text)))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Args {
        repo: String,
        number: String,
        limit: Option<u64>,
        draft: Option<bool>,
        #[serde(default)]
        labels: Vec<String>,
        #[serde(default)]
        include: Vec<Choice>,
        #[serde(default)]
        add_teams: Vec<String>,
        #[serde(default)]
        remove_teams: Vec<String>,
        verdict: Option<Choice>,
        #[serde(default)]
        comments: Vec<Inline>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inline {
        path: String,
        line: u64,
        side: Option<Choice>,
    }

    /// The choices of all arguments in these tests.
    #[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Choice {
        Approve,
        RequestChanges,
        Checks,
        Threads,
        Left,
        Right,
    }

    fn parse(sent: Value) -> Result<Args> {
        let schema = json!({"required": ["repo", "number"], "properties": {
            "repo": {"type": "string"}, "number": {"type": "string"}, "limit": {"type": "integer"},
            "draft": {"type": "boolean"}, "labels": {"type": "array", "items": {"type": "string"}},
            "include": {"type": "array", "items": {"type": "string", "enum": ["checks", "threads"]}},
            "add_teams": {"type": "array", "items": {"type": "string"}},
            "remove_teams": {"type": "array", "items": {"type": "string"}},
            "verdict": {"type": "string", "enum": ["approve", "request_changes"]},
            "comments": {"type": "array", "items": {"type": "object", "required": ["path", "line"], "properties": {
                "path": {"type": "string"}, "line": {"type": "integer"},
                "side": {"type": "string", "enum": ["left", "right"]}
            }}}
        }});
        let schema = schema.as_object().unwrap();
        read(&fit(sent.as_object().cloned(), schema)?, schema)
    }

    #[test]
    fn argument_aliases_are_accepted_and_documented() {
        let mut table = String::from("| argument | also taken |\n|---|---|\n");
        for (name, also) in ALIASES {
            table += &format!("| `{name}` | `{}` |\n", also.join("`, `"));
            let schema = json!({"properties": {(*name): {"type": "string"}}});
            for other in *also {
                let sent = json!({(*other): "7"});
                let got = fit(sent.as_object().cloned(), schema.as_object().unwrap())
                    .unwrap_or_else(|e| panic!("{other}: {e}"));
                assert_eq!(Value::from(got), json!({(*name): "7"}), "{other}");
            }
        }
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/mcp.md");
        let docs = std::fs::read_to_string(docs).unwrap();
        assert!(
            docs.contains(&(table.clone() + "\n")),
            "docs/reference/mcp.md lacks\n{table}"
        );
    }

    #[test]
    fn argument_names_and_numbers_are_parsed_leniently() {
        for key in [
            "number",
            "pullNumber",
            "pull_number",
            "pr",
            "pr-number",
            "PrNumber",
        ] {
            for number in [json!(7), json!("7"), json!(7.0)] {
                let got = parse(json!({"repo": "o/r", key: number})).unwrap();
                assert_eq!(
                    (got.repo.as_str(), got.number.as_str()),
                    ("o/r", "7"),
                    "{key}"
                );
            }
        }
        let got = parse(json!({
            "owner": "o", "repo": "r", "number": "#7", "perPage": "30", "draft": "True",
            "labels": "bug, help", "event": "REQUEST_CHANGES", "cursor": null,
        }))
        .unwrap();
        assert_eq!(got.repo, "o/r");
        assert_eq!((got.limit, got.draft), (Some(30), Some(true)));
        assert_eq!(got.labels, ["bug", "help"]);
        assert_eq!(got.verdict, Some(Choice::RequestChanges));
        assert_eq!(
            parse(json!({"repo": "o/r", "number": 1, "limit": 5.0}))
                .unwrap()
                .limit,
            Some(5)
        );
        for (include, sections) in [
            (json!("thread"), &[Choice::Threads][..]),
            (
                json!(["Check", "THREADS"]),
                &[Choice::Checks, Choice::Threads][..],
            ),
            (json!("all"), &[Choice::Checks, Choice::Threads][..]),
            (
                json!(["threads", "all"]),
                &[Choice::Checks, Choice::Threads][..],
            ),
        ] {
            let got = parse(json!({"repo": "o/r", "number": 1, "include": include})).unwrap();
            assert_eq!(got.include, sections);
        }
        let listed = parse(json!({"repo": "o/r", "number": 1, "labels": "[\"a,b\"]"})).unwrap();
        assert_eq!(listed.labels, ["a,b"]);
    }

    #[test]
    fn list_items_are_parsed_leniently() {
        for comments in [
            json!([{"path": "a.rs", "line": 7, "side": "right"}]),
            json!([{"filePath": "a.rs", "lineNumber": "7", "side": "RIGHT"}]),
            json!([{"path": "a.rs", "line": 7.0, "side": " Right", "end_line": null}]),
            json!({"file": "a.rs", "line": "7", "side": "right"}),
            json!(r#"[{"path": "a.rs", "line": "7", "side": "RIGHT"}]"#),
            json!(r#"{"path": "a.rs", "line": "7", "side": "RIGHT"}"#),
        ] {
            let got = parse(json!({"repo": "o/r", "number": 1, "comments": comments})).unwrap();
            let inline = Inline {
                path: "a.rs".to_owned(),
                line: 7,
                side: Some(Choice::Right),
            };
            assert_eq!(got.comments, [inline], "{comments}");
        }
        for comments in [
            json!([{"path": "a.rs", "file": "b.rs", "line": 7}]),
            json!([{"path": "a.rs", "line": 7, "bogus": 1}]),
            json!([{"path": "a.rs", "line": "seven"}]),
        ] {
            let args = json!({"repo": "o/r", "number": 1, "comments": comments});
            assert_eq!(
                parse(args).unwrap_err().code(),
                "invalid_input",
                "{comments}"
            );
        }
    }

    #[test]
    fn owner_is_prepended_or_must_match_repository() {
        for (mut sent, repo) in [
            (json!({"owner": "o", "repo": "r"}), "o/r"),
            (json!({"Owner": " o ", "repo": "r"}), "o/r"),
            (json!({"owner": "O", "repo": "o/r"}), "o/r"),
            (
                json!({"owner": "o", "repo": "https://h/o/r"}),
                "https://h/o/r",
            ),
            (json!({"owner": "", "repo": "o/r"}), "o/r"),
            (json!({"owner": null, "repo": "o/r"}), "o/r"),
        ] {
            sent["number"] = json!(1);
            assert_eq!(parse(sent).unwrap().repo, repo);
        }
        // If the owner were ignored, these calls would go to another repository.
        for (mut sent, says) in [
            (json!({"owner": "o"}), "\"o\" is given without repo"),
            (
                json!({"owner": "x", "repo": "o/r"}),
                "\"x\" is not in \"o/r\"",
            ),
            (json!({"owner": 7, "repo": "r"}), "7 is not a name"),
        ] {
            sent["number"] = json!(1);
            let e = parse(sent).unwrap_err();
            assert!(e.message().contains(says), "{e:?}");
        }
    }

    #[test]
    fn overlong_name_or_path_is_refused() {
        let long = "x".repeat(MAX_WORD_BYTES + 1);
        for (sent, name) in [
            (json!({"repo": &long}), "repo"),
            (json!({"labels": ["bug", &long]}), "labels"),
            (json!({"comments": [{"path": &long, "line": 1}]}), "path"),
        ] {
            let message = parse(sent).unwrap_err().message().to_owned();
            let expected = format!("{name} has 4097 bytes, and the maximum is 4096");
            assert_eq!(message, expected);
        }
        let schema = json!({"properties": {"body": {"type": "string"}}});
        let sent = json!({"body": &long});
        let got = fit(sent.as_object().cloned(), schema.as_object().unwrap()).unwrap();
        assert_eq!(got["body"], long);
    }

    #[test]
    fn blank_optional_arguments_count_as_absent() {
        let sent = json!({
            "repo": "o/r", "number": 1, "limit": 0, "labels": [], "include": [""], "verdict": " ",
            "comments": [{"path": "a.rs", "line": 7, "side": ""}],
        });
        let got = parse(sent).unwrap();
        assert_eq!((got.limit, got.verdict), (None, None));
        assert_eq!((got.labels.len(), got.include.len()), (0, 0));
        assert_eq!(got.comments[0].side, None);
        // A required argument stays, even if blank.
        let got = parse(json!({"repo": "", "number": 1})).unwrap();
        assert_eq!(got.repo, "");
    }

    #[test]
    fn comma_separated_choices_are_split() {
        let sent = json!({"repo": "o/r", "number": 1, "include": ["checks,threads"]});
        let both = [Choice::Checks, Choice::Threads];
        assert_eq!(parse(sent).unwrap().include, both);
        // The name of a label may contain a comma.
        let sent = json!({"repo": "o/r", "number": 1, "labels": ["a,b"]});
        assert_eq!(parse(sent).unwrap().labels, ["a,b"]);
    }

    #[test]
    fn empty_content_is_an_empty_file() {
        let schema = json!({"properties": {"edits": {"type": "array", "items": {
        "type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}
        }}}}});
        let sent = json!({"edits": [{"path": "a", "content": ""}]});
        let got = fit(sent.as_object().cloned(), schema.as_object().unwrap()).unwrap();
        assert_eq!(Value::from(got), sent);
    }

    #[test]
    fn boolean_becomes_the_choice_of_its_alias() {
        let choices = json!({"type": "string", "enum": ["draft", "ready"]});
        for (sent, wanted) in [
            (json!(true), "draft"),
            (json!(false), "ready"),
            (json!("False"), "ready"),
            (json!("ready-for-review"), "ready"),
            (json!("Draft"), "draft"),
        ] {
            assert_eq!(coerced(sent, Some(&choices)).unwrap(), wanted);
        }
        let other = json!({"type": "string", "enum": ["open", "closed"]});
        assert_eq!(coerced(json!(true), Some(&other)).unwrap(), "true");
        // Strict clients send `false` for an unset argument, so `false` never means `reopen`.
        let thread = json!({"type": "string", "enum": ["resolve", "reopen"]});
        for (sent, wanted) in [
            (json!(true), "resolve"),
            (json!("resolve_thread"), "resolve"),
            (json!("UNRESOLVE_THREAD"), "reopen"),
            (json!(false), "false"),
        ] {
            assert_eq!(coerced(sent, Some(&thread)).unwrap(), wanted);
        }
    }

    #[test]
    fn comment_alias_does_not_replace_description() {
        let schema = json!({"properties": {
            "title": {"type": "string"}, "body": {"type": "string"}, "append": {"type": "string"}
        }});
        let schema = schema.as_object().unwrap();
        for name in ["comment", "message", "commitMessage"] {
            let sent = json!({(name): "Looks good"});
            let got = fit(sent.as_object().cloned(), schema).unwrap();
            assert_eq!(Value::from(got), sent, "{name}");
        }
        let sent = json!({"description": "What it does"});
        let got = fit(sent.as_object().cloned(), schema).unwrap();
        assert_eq!(Value::from(got), json!({"body": "What it does"}));
        assert!(alternative_to("comment", schema["properties"].as_object().unwrap()).is_some());
    }

    #[test]
    fn commit_message_of_edits_does_not_become_description() {
        let schema = json!({"required": ["title"], "properties": {
            "title": {"type": "string"}, "body": {"type": "string"}, "edits": {"type": "array"},
            "depends_on": {"type": "string"}
        }});
        let schema = schema.as_object().unwrap();
        let sent = json!({"title": "Add a", "commitMessage": "feat: add a"});
        let got = fit(sent.as_object().cloned(), schema).unwrap();
        assert_eq!(Value::from(got), sent);
        let advice = alternative_to("commitMessage", schema["properties"].as_object().unwrap());
        assert!(advice.unwrap().contains("title"));
    }

    #[test]
    fn from_and_to_are_aliases_except_in_lists() {
        let branches = json!({"head": {"type": "string"}, "base": {"type": "string"}});
        let mut schema = json!({"properties": branches});
        let sent = json!({"from": "work", "to": "main"});
        let got = fit(sent.as_object().cloned(), schema.as_object().unwrap()).unwrap();
        assert_eq!(Value::from(got), json!({"head": "work", "base": "main"}));
        let twice = json!({"source": "work", "head": "other"});
        let e = fit(twice.as_object().cloned(), schema.as_object().unwrap()).unwrap_err();
        assert!(e.message().contains("head is given twice"), "{e:?}");
        schema["properties"]["limit"] = json!({"type": "integer"});
        let got = fit(sent.as_object().cloned(), schema.as_object().unwrap()).unwrap();
        assert_eq!(Value::from(got), sent);
    }

    #[test]
    fn zero_for_optional_text_counts_as_absent() {
        let schema = json!({
            "properties": {"body": {"type": "string"}, "title": {"type": "string"}},
            "required": ["title"],
        });
        let schema = schema.as_object().unwrap();
        let sent = json!({"title": 0, "body": 0});
        let got = fit(sent.as_object().cloned(), schema).unwrap();
        assert_eq!(Value::from(got), json!({"title": "0"}));
        let sent = json!({"title": "x", "body": "0"});
        let got = fit(sent.as_object().cloned(), schema).unwrap();
        assert_eq!(Value::from(got), sent);
    }

    #[test]
    fn page_argument_of_one_or_zero_is_dropped() {
        let schema = json!({"properties": {"cursor": {"type": "string"}}});
        let schema = schema.as_object().unwrap();
        for page in [json!(1), json!("1"), json!(1.0), json!(0)] {
            let sent = json!({"page": page});
            assert!(fit(sent.as_object().cloned(), schema).unwrap().is_empty());
        }
        let sent = json!({"page": 2});
        let got = fit(sent.as_object().cloned(), schema).unwrap();
        assert_eq!(Value::from(got), sent);
    }

    #[test]
    fn arguments_that_repeat_the_default_are_dropped() {
        let comment = json!([{"path": "a.rs", "line": 7, "side": "LEFT", "startSide": "left",
                              "subjectType": "LINE"}]);
        let sent = json!({"repo": "o/r", "number": 1, "direction": "desc", "sort": "created",
                          "method": "get", "comments": comment});
        assert_eq!(parse(sent).unwrap().comments[0].line, 7);
        for (name, value) in [("direction", "asc"), ("sort", "updated")] {
            let mut sent = json!({"repo": "o/r", "number": 1});
            sent[name] = json!(value);
            assert!(parse(sent).is_err(), "{name}");
        }
        let file = json!([{"path": "a.rs", "subjectType": "LINE"}]);
        let sent = json!({"repo": "o/r", "number": 1, "comments": file});
        assert!(parse(sent).is_err());
    }

    #[test]
    fn foreign_section_error_names_its_tool() {
        let sections = json!({"properties": {"include": {"type": "array", "items": {
            "type": "string", "enum": ["checks", "commits"]
        }}}});
        let sections = sections.as_object().unwrap();
        let sent = json!({"include": ["diff"]});
        let sent = fit(sent.as_object().cloned(), sections).unwrap();
        let e = read::<Sections>(&sent, sections).unwrap_err();
        assert_eq!(e.hint().unwrap().text(), "pr_diff has the diff");
    }

    /// The `include` argument, which selects optional sections of a result.
    #[derive(Debug, Deserialize)]
    struct Sections {
        #[serde(rename = "include")]
        _include: Vec<Choice>,
    }

    #[test]
    fn section_names_of_other_servers_are_accepted() {
        let one = |choices: Value, sent: &str| {
            let schema = json!({"type": "string", "enum": choices});
            coerced(json!(sent), Some(&schema)).unwrap()
        };
        let view = json!(["checks", "threads", "comments"]);
        assert_eq!(one(view.clone(), "status"), "checks");
        assert_eq!(one(view.clone(), "review_comments"), "threads");
        assert_eq!(one(view, "threads"), "threads");
        let context = json!(["comments", "ci", "ci_logs"]);
        assert_eq!(one(context.clone(), "checks"), "ci");
        assert_eq!(one(context.clone(), "logs"), "ci_logs");
        assert_eq!(one(context, "threads"), "comments");
    }

    #[test]
    fn refused_arguments_get_advice() {
        let comment = json!([{"path": "a", "line": 1, "startSide": "LEFT"}]);
        for (sent, says) in [
            (json!({"repo": "o/r"}), "pass number, a text; "),
            (
                json!({"repo": "o/r", "number": 1, "direction": "asc"}),
                "the order is newest first; this tool takes ",
            ),
            (
                json!({"repo": "o/r", "number": 1, "method": "get_reviews"}),
                "for get_reviews, call pr_view with include=reviews; this tool takes ",
            ),
            (
                json!({"repo": "o/r", "number": 1, "comments": comment}),
                "side applies to both ends; comments[0] takes line, path, side",
            ),
        ] {
            let e = parse(sent).unwrap_err();
            let hint = e.hint().unwrap().text().to_owned();
            assert!(hint.starts_with(says), "{hint}");
        }
    }

    #[test]
    fn object_becomes_list_of_name_value_texts() {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let sent = json!({"Points": 3, "Size": "M", "None": null});
        let got = coerced(sent, Some(&texts)).unwrap();
        assert_eq!(got, json!(["Points=3", "Size=M"]));
    }

    /// Parses the required arguments together with one that is refused. Returns the message and the
    /// hint.
    fn refused_with(name: &str, value: Value) -> (String, String) {
        let mut sent = json!({"repo": "o/r", "number": 1});
        sent[name] = value;
        let e = parse(sent).unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        let said = (e.message().to_owned(), e.hint().unwrap().text().to_owned());
        for of_serde in ["invalid", "expected", "field", "u64", "variant", "line 1"] {
            assert!(!said.0.contains(of_serde), "{of_serde}: {said:?}");
            assert!(!said.1.contains(of_serde), "{of_serde}: {said:?}");
        }
        said
    }

    #[test]
    fn wrong_value_error_names_argument_value_and_type() {
        let number = "a whole number from 0 to 4294967295";
        let choice = "one of approve, request_changes";
        for (name, value, at, is, takes) in [
            ("limit", json!("many"), "limit", "\"many\"", number),
            ("limit", json!(-1), "limit", "-1", number),
            ("limit", json!(1.5), "limit", "1.5", number),
            ("limit", json!(true), "limit", "true", number),
            (
                "draft",
                json!("later"),
                "draft",
                "\"later\"",
                "true or false",
            ),
            ("verdict", json!("later"), "verdict", "\"later\"", choice),
            ("verdict", json!({}), "verdict", "the object \"{}\"", choice),
            (
                "verdict",
                json!({"a": 1}),
                "verdict",
                "the object \"{'a':1}\"",
                choice,
            ),
            (
                "labels",
                json!(true),
                "labels",
                "true",
                "a list, each a text",
            ),
        ] {
            let (message, hint) = refused_with(name, value);
            assert_eq!(message, format!("{at} is {is}, but takes {takes}"));
            assert_eq!(hint, format!("pass {at} as {takes}, or leave it out"));
        }
        let (message, hint) = refused_with("repo", json!(["o/r"]));
        assert_eq!(message, "repo is the list \"['o/r']\", but takes a text");
        assert_eq!(hint, "pass repo as a text");
    }

    #[test]
    fn wrong_list_item_error_names_its_position() {
        let comment = |name: &str, value: Value| {
            let mut comment = json!({"path": "a.rs", "line": 7});
            comment[name] = value;
            json!([{"path": "b.rs", "line": 7}, comment])
        };
        for (name, value, says) in [
            (
                "labels",
                json!(["a", {}]),
                "labels[1] is the object \"{}\", but takes a text",
            ),
            (
                "include",
                json!({}),
                "include[0] is the object \"{}\", but takes one of checks, threads",
            ),
            (
                "include",
                json!(["checks", "files"]),
                "include[1] is \"files\", but takes one of checks, threads",
            ),
            (
                "comments",
                json!(["a.rs"]),
                "comments[0] is \"a.rs\", but takes an object with line, path, side",
            ),
            (
                "comments",
                comment("line", json!("seven")),
                "comments[1].line is \"seven\", but takes a whole number from 0 to 4294967295",
            ),
            (
                "comments",
                comment("side", json!("top")),
                "comments[1].side is \"top\", but takes one of left, right",
            ),
            (
                "comments",
                comment("bogus", json!(1)),
                "comments[1] takes no \"bogus\"",
            ),
            (
                "comments",
                json!([{"path": "a.rs"}]),
                "comments[0].line is missing",
            ),
        ] {
            assert_eq!(refused_with(name, value).0, says);
        }
    }

    #[test]
    fn similar_choice_is_suggested_for_wrong_value() {
        for (name, value, near) in [
            ("verdict", json!("aprove"), "approve"),
            ("draft", json!("ture"), "true"),
            ("include", json!(["cheks"]), "checks"),
            (
                "comments",
                json!([{"path": "a.rs", "line": 7, "side": "rigth"}]),
                "right",
            ),
        ] {
            let (_, hint) = refused_with(name, value);
            assert_eq!(hint, format!("did you mean '{near}'?"));
        }
    }

    #[test]
    fn caller_text_is_cut_and_cleaned() {
        let text = format!("a\n\u{202e}\"b\"{}", "x".repeat(10_000));
        let (message, hint) = refused_with("verdict", json!(text));
        assert!(message.starts_with("verdict is \"a 'b'xx"), "{message}");
        assert!(
            message.contains("more characters]\", but takes"),
            "{message}"
        );
        assert!(message.chars().count() + hint.chars().count() < 500);
        let list = json!([text, text]);
        let (message, _) = refused_with("verdict", list);
        assert!(message.chars().count() < 500, "{message}");
        let (message, _) = refused_with(&text, json!(1));
        assert!(
            message.starts_with("this tool takes no \"a 'b'xx"),
            "{message}"
        );
        assert!(message.chars().count() < 500, "{message}");
    }

    #[test]
    fn wrong_argument_names_are_refused_with_advice() {
        for (sent, message, hint) in [
            (
                json!({"repo": "o/r"}),
                "number is missing",
                "pass number, a text; ",
            ),
            (
                json!({"pulls": 7}),
                "this tool takes no \"pulls\"; repo is missing; number is missing",
                "pass repo, a text; pass number, a text; this tool takes ",
            ),
            (
                json!({"repo": "o/r", "number": 1, "bogus": 1}),
                "this tool takes no \"bogus\"",
                "this tool takes ",
            ),
            (
                json!({"repo": "o/r", "number": 1, "lables": ["a"]}),
                "this tool takes no \"lables\"",
                "did you mean 'labels'? this tool takes ",
            ),
            (
                json!({"repo": "o/r", "number": 1, "teams": ["core"]}),
                "this tool takes no \"teams\"",
                "did you mean 'add_teams' or 'remove_teams'? \
                 pass add_teams or remove_teams for teams; this tool takes ",
            ),
            (
                json!({"repo": "o/r", "number": 1, "pr": 2}),
                "number is given twice, as number \"1\" and as pr \"2\"",
                "pass number once",
            ),
        ] {
            let e = parse(sent).unwrap_err();
            assert_eq!(e.message(), message);
            let said = e.hint().unwrap().text().to_owned();
            assert!(said.starts_with(hint), "{said}");
        }
    }
}
