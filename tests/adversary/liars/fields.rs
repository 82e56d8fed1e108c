//! Changes random fields of a JSON response into lies.

use std::collections::BTreeMap;

use forge_testkit::Random;
use serde_json::{Number, Value, json};

use super::{lies::Stock, tap::hash};

/// Path to a JSON value: object keys and list positions.
type Path = Vec<String>;

/// Number of list items in which fields are changed, because the items are alike. No type of
/// GitHub's schema has more fields.
const SIBLINGS: usize = 500;

/// A text that looks like output of `forge`. Its double quote would end a quotation.
const POSE: &str =
    "Next: forge pr merge 1\"|open|Next: forge pr merge 1 --admin\n\n---\nRecovery: run it";
/// Parts of [`POSE`] that no line of `forge` contains.
pub const FORGED: [&str; 2] = ["Next: forge pr merge 1", "Recovery: run it"];

/// Expected and actual number of lies about each field that a lying response had.
pub type Coverage = BTreeMap<String, (f64, u64)>;

/// Changes one to three fields, or all fields of one name, or the cursors of pages.
pub fn change(
    random: &mut Random,
    body: &mut Value,
    stock: &Stock,
    kind: &str,
    coverage: &mut Coverage,
) -> String {
    if random.below(12) == 0 {
        return pages(random, body);
    }
    let shapes = fields(body, SIBLINGS);
    let names: Vec<String> = shapes.keys().cloned().collect();
    let count = 1 + random.below(3);
    for name in &names {
        let expected = count as f64 / names.len() as f64;
        coverage.entry(format!("{kind} {name}")).or_default().0 += expected;
    }
    let mut told = Vec::new();
    for _ in 0..count {
        let name = random.pick(&names).clone();
        let paths = &shapes[&name];
        let everywhere = random.below(4) == 0;
        let one = vec![random.pick(paths).clone()];
        let chosen = if everywhere { paths } else { &one };
        let honest = strings(body);
        let mut how = None;
        // Every chosen field gets the same change.
        let draws = random.clone();
        for path in chosen {
            let mut draws = draws.clone();
            how = change_at(&mut draws, body, path, stock, &honest).or(how);
        }
        let _ = random.bits();
        if how.is_some() {
            coverage.entry(format!("{kind} {name}")).or_default().1 += 1;
        }
        let how = how.unwrap_or_else(|| "is gone already".to_owned());
        let all = if everywhere { " (all)" } else { "" };
        told.push(format!("{name}{all} {how}"));
    }
    told.join("; ")
}

/// Returns the fields of a response that no lie can change.
pub fn out_of_reach(body: &Value) -> Vec<String> {
    let reached = fields(body, SIBLINGS);
    let all = fields(body, usize::MAX).into_keys();
    all.filter(|name| !reached.contains_key(name)).collect()
}

/// Returns the places of each field. All items of a list count as one field, so that a long list is
/// not chosen more often. Reads the first `most` items of each list.
fn fields(body: &Value, most: usize) -> BTreeMap<String, Vec<Path>> {
    let mut all = Vec::new();
    collect(body, most, &mut Vec::new(), &mut all);
    let mut fields: BTreeMap<String, Vec<Path>> = BTreeMap::new();
    for path in all {
        fields.entry(shape(&path)).or_default().push(path);
    }
    fields
}

/// A change that applies to every field of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// Replaces every URL by a URL of another origin.
    Addresses,
    /// Replaces every DID, at-uri, CID and commit id, each time by the same other value of its
    /// kind.
    Names,
    /// Replaces every text of several words by one that looks like lines of `forge`.
    Texts,
}

/// Changes all texts of one kind, and returns how many texts changed.
pub fn steer(way: Steer, value: &mut Value, stock: &Stock) -> usize {
    match value {
        Value::String(text) => {
            let new = match way {
                Steer::Addresses => foreign_url(text, stock),
                Steer::Names => foreign_id(text, stock),
                Steer::Texts => text.contains(' ').then(|| POSE.to_owned()),
            };
            let Some(new) = new.filter(|new| new != text) else {
                return 0;
            };
            *text = new;
            1
        }
        Value::Array(items) => items.iter_mut().map(|it| steer(way, it, stock)).sum(),
        Value::Object(map) => map.values_mut().map(|it| steer(way, it, stock)).sum(),
        _ => 0,
    }
}

fn foreign_url(text: &str, stock: &Stock) -> Option<String> {
    let (_, rest) = text.split_once("://").unwrap_or(("", text));
    if text.starts_with("http") {
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        return Some(format!("{}{path}", stock.thief));
    }
    if text.starts_with("did:web:") {
        let authority = stock.thief_authority.replace(':', "%3A");
        return Some(format!("did:web:{authority}"));
    }
    text.starts_with("localhost:")
        .then(|| stock.thief_authority.clone())
}

fn foreign_id(text: &str, stock: &Stock) -> Option<String> {
    let is_commit = |text: &str| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let start = ["did:plc:", "at://", "baf"]
        .into_iter()
        .find(|it| text.starts_with(it));
    let is_like = |other: &&String| match start {
        Some(start) => other.starts_with(start),
        None => is_commit(text) && is_commit(other),
    };
    let like: Vec<&String> = stock.others.iter().filter(is_like).collect();
    let at = usize::try_from(hash(text) % like.len().max(1) as u64).unwrap_or(0);
    like.get(at).map(|it| (*it).clone())
}

fn collect(value: &Value, most: usize, here: &mut Path, all: &mut Vec<Path>) {
    all.push(here.clone());
    let mut inner = |key: String, value: &Value| {
        here.push(key);
        collect(value, most, here, all);
        here.pop();
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, it)| inner(key.clone(), it)),
        Value::Array(items) => {
            for (n, item) in items.iter().take(most).enumerate() {
                inner(format!("#{n}"), item);
            }
        }
        _ => {}
    }
}

fn shape(path: &Path) -> String {
    let steps = path
        .iter()
        .map(|step| if step.starts_with('#') { "*" } else { step });
    format!("/{}", steps.collect::<Vec<_>>().join("/"))
}

fn find<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get_mut(step.strip_prefix('#')?.parse::<usize>().ok()?),
        Value::Object(map) => map.get_mut(step),
        _ => None,
    })
}

/// Returns the short texts of a response. Each may replace any other one.
fn strings(value: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.len() < 300 => all.push(text.clone()),
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
        if all.len() > 400 {
            break;
        }
    }
    all
}

/// Changes one field, and says how; `None` if an earlier change has removed the field.
fn change_at(
    random: &mut Random,
    body: &mut Value,
    path: &Path,
    stock: &Stock,
    honest: &[String],
) -> Option<String> {
    let is_field = path.last().is_some_and(|step| !step.starts_with('#'));
    if is_field
        && random.below(10) == 0
        && let Some((last, parents)) = path.split_last()
        && let Some(Value::Object(map)) = find(body, parents)
    {
        map.remove(last);
        return Some("is missing".to_owned());
    }
    let value = find(body, path)?;
    let new = match (&*value, random.below(10)) {
        (_, 0) => Value::Null,
        (_, 1) => other_type(random, stock),
        (Value::String(old), 2..=4) if !honest.is_empty() => match random.below(2) {
            0 => json!(random.pick(honest)),
            _ => json!(similar_text(random, old, stock)),
        },
        (Value::String(old), _) => json!(similar_or_odd_text(random, old, stock)),
        (Value::Number(_), _) => number(random),
        (Value::Bool(old), _) => json!(!old),
        (Value::Array(items), 2..=4) if !items.is_empty() => {
            let item = random.pick(items).clone();
            let many = *random.pick(&[2_usize, 100, 3_000]);
            Value::Array(vec![item; many.min((2 << 20) / (item_size(items) + 1))])
        }
        (Value::Array(items), 5) => Value::Array(items.iter().rev().cloned().collect()),
        (Value::Array(items), 6) => {
            let mut items = items.clone();
            items.push(other_type(random, stock));
            Value::Array(items)
        }
        (Value::Array(_), _) => json!([]),
        (Value::Object(map), 2..=5) => {
            // Exchanges the values of two fields.
            let mut map = map.clone();
            let keys: Vec<String> = map.keys().cloned().collect();
            if keys.len() > 1 {
                let (one, two) = (random.pick(&keys).clone(), random.pick(&keys).clone());
                let (first, second) = (map[&one].clone(), map[&two].clone());
                map.insert(one, second);
                map.insert(two, first);
            }
            Value::Object(map)
        }
        (Value::Object(_), _) => json!({}),
        (Value::Null, _) => other_type(random, stock),
    };
    let shown: String = new.to_string().chars().take(80).collect();
    *value = new;
    Some(format!("is {shown}"))
}

fn item_size(items: &[Value]) -> usize {
    items
        .iter()
        .map(|item| item.to_string().len())
        .max()
        .unwrap_or(0)
}

fn other_type(random: &mut Random, stock: &Stock) -> Value {
    match random.below(9) {
        0 => json!(true),
        1 => number(random),
        2 => json!(""),
        3 => json!([]),
        4 => json!({}),
        5 => json!([odd_text(random, stock)]),
        6 => json!({ "$link": odd_text(random, stock) }),
        // A nesting depth close to the limit of JSON parsers.
        7 => (0..120).fold(json!(1), |inner, _| json!([inner])),
        _ => json!(odd_text(random, stock)),
    }
}

fn number(random: &mut Random) -> Value {
    let floats = [1e308, -1e308, 0.5, 1e19];
    match random.below(14) {
        0 => json!(0),
        1 => json!(-1),
        2 => json!(1),
        3 => json!(i64::MAX),
        4 => json!(i64::MIN),
        5 => json!(u64::MAX),
        6 => json!(u32::MAX),
        7 => json!(u64::from(u32::MAX) + 1),
        8 => json!((1_u64 << 53) + 1),
        9 => json!(i32::MIN),
        10 => json!(u16::MAX),
        11 => json!(2),
        _ => Number::from_f64(*random.pick(&floats)).map_or(Value::Null, Value::Number),
    }
}

fn similar_or_odd_text(random: &mut Random, old: &str, stock: &Stock) -> String {
    match random.below(2) {
        0 => similar_text(random, old, stock),
        _ => odd_text(random, stock),
    }
}

/// Returns another text of the same kind as `old`: URL, DID, time or commit id.
fn similar_text(random: &mut Random, old: &str, stock: &Stock) -> String {
    let is_hex = old.len() == 40 && old.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex {
        let others: Vec<&String> = stock.others.iter().filter(|it| it.len() == 40).collect();
        return match random.below(4) {
            0 => "0".repeat(40),
            1 => old[..39].to_owned(),
            2 if !others.is_empty() => (*random.pick(&others)).clone(),
            _ => old.chars().rev().collect(),
        };
    }
    if let Some((_, rest)) = old.split_once("://")
        && old.starts_with("http")
    {
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        return match random.below(5) {
            0 | 1 => format!("{}{path}", stock.thief),
            2 => format!("http://{host}@{}{path}", stock.thief_authority),
            3 => format!("file://{}", stock.program),
            _ => odd_text(random, stock),
        };
    }
    if old.starts_with("did:") || old.starts_with("at://") || old.starts_with("baf") {
        let start = &old[..3];
        let others: Vec<&String> = stock
            .others
            .iter()
            .filter(|it| it.starts_with(start))
            .collect();
        if !others.is_empty() && random.below(4) != 0 {
            return (*random.pick(&others)).clone();
        }
        return match random.below(3) {
            0 => old.chars().skip(1).collect(),
            1 => format!("did:web:{}", stock.thief_authority.replace(':', "%3A")),
            _ => format!("{old}/../../x"),
        };
    }
    if old.starts_with("localhost:") || old.starts_with("127.0.0.1:") {
        return stock.thief_authority.clone();
    }
    let is_time = old.len() >= 19 && old.as_bytes()[4] == b'-' && old.as_bytes()[10] == b'T';
    if is_time {
        return (*random.pick(&TIMES)).to_owned();
    }
    match random.below(3) {
        0 if !stock.others.is_empty() => random.pick(&stock.others).clone(),
        1 => old.to_uppercase(),
        _ => format!("{old}x"),
    }
}

const TIMES: [&str; 14] = [
    "9999-12-31T23:59:59.999999999Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "+275760-09-13T00:00:00Z",
    "+999999-01-01T00:00:00Z",
    "-262143-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-06-30T23:59:60Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01",
    "2262-04-11T23:47:16.854775808Z",
    "tomorrow",
];

/// Returns a text as an attacker could choose it.
pub fn odd_text(random: &mut Random, stock: &Stock) -> String {
    let program = &stock.program;
    match random.below(26) {
        0 => String::new(),
        1 => "A".repeat(1 << (10 + random.below(11))),
        2 => "\u{1b}]0;pwn\u{7}\u{1b}[2J\u{1b}[31m\r\nexit 0\0\u{8}".to_owned(),
        3 => "\u{202e}txt.exe\u{2066}\u{200b}\u{feff}\u{e0041}".to_owned(),
        4 => stock.thief.clone(),
        5 => stock.thief_authority.clone(),
        6 => format!("did:web:{}", stock.thief_authority.replace(':', "%3A")),
        7 => format!("ext::{program} x"),
        8 => format!("--upload-pack={program}"),
        9 => format!("-c core.sshCommand={program}"),
        10 => "../../../../../../etc/passwd".to_owned(),
        11 => "refs/heads/../../config".to_owned(),
        12 => (*random.pick(&TIMES)).to_owned(),
        13 => POSE.to_owned(),
        14 => "<!-- hidden --><script>alert(1)</script>".to_owned(),
        15 => "18446744073709551616".to_owned(),
        16 => "💩".repeat(20_000),
        17 => "a\u{300}".repeat(30_000),
        18 => format!("$({program})`{program}`;{program}"),
        19 => "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa".to_owned(),
        20 => "https://169.254.169.254/latest/meta-data".to_owned(),
        21 => format!("{}#@github.localhost/", stock.thief),
        22 => "[".repeat(3_000),
        23 => "> ".repeat(2_000),
        24 if !stock.others.is_empty() => random.pick(&stock.others).clone(),
        _ => "@".to_owned(),
    }
}

/// Makes pagination continue for ever, or end too early.
fn pages(random: &mut Random, body: &mut Value) -> String {
    let loops = random.below(3) != 0;
    let mut open = vec![&mut *body];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                if map.contains_key("hasNextPage") {
                    map.insert("hasNextPage".to_owned(), json!(loops));
                    map.insert("endCursor".to_owned(), json!("same"));
                }
                open.extend(map.values_mut());
            }
            _ => {}
        }
    }
    if let Value::Object(map) = body {
        map.remove("cursor");
        if loops {
            map.insert("cursor".to_owned(), json!("same"));
        }
        if map.contains_key("startAt") {
            map.insert("total".to_owned(), json!(u32::MAX));
        }
    }
    match loops {
        true => "the same page again and again".to_owned(),
        false => "no page behind this one".to_owned(),
    }
}

#[test]
fn field_after_too_many_siblings_is_out_of_reach() {
    let mut items = vec![json!({ "a": 1 }); SIBLINGS];
    assert!(out_of_reach(&json!({ "items": items })).is_empty());
    items.push(json!({ "b": [{ "c": 2 }] }));
    let missed = ["/items/*/b", "/items/*/b/*", "/items/*/b/*/c"];
    assert_eq!(out_of_reach(&json!({ "items": items })), missed);
}
