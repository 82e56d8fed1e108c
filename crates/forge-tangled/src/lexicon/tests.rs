use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use super::{Set, check, check_in, collections, key_fits, schema::LexiconDocument, store};
use crate::Dialects;

const CID: &str = "bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454";
const BLOB: &str = "bafkreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454";
const AT: &str = "2026-08-02T10:00:00.000Z";

fn pull() -> Value {
    json!({
        "$type": "sh.tangled.repo.pull",
        "target": { "repo": "did:plc:repo", "branch": "main" },
        "source": { "repo": "did:plc:fork", "branch": "topic" },
        "title": "Add a thing",
        "body": "It adds.",
        "rounds": [{
            "createdAt": AT,
            "patchBlob": {
                "$type": "blob", "ref": { "$link": BLOB }, "mimeType": "application/gzip", "size": 12
            },
        }],
        "createdAt": AT,
    })
}

fn ticket() -> Value {
    json!({
        "$type": "org.tangled.track.ticket",
        "title": { "$type": "org.tangled.markup.markdown#inline", "text": "Add a thing" },
        "body": { "$type": "org.tangled.markup.markdown", "text": "It adds." },
        "state": "open",
        "targetBranch": "main",
        "tangledLabels": [{ "key": "bug" }],
        "createdAt": AT,
    })
}

fn problems(record: &Value) -> Vec<String> {
    let collection = record["$type"].as_str().unwrap();
    let problems = check(collection, record).err().unwrap_or_default();
    problems.iter().map(ToString::to_string).collect()
}

/// Returns `record` with the value at `pointer` set or removed.
fn with(mut record: Value, pointer: &str, value: Option<Value>) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = record.pointer_mut(parent).unwrap();
    match value {
        Some(value) => {
            parent[name] = value;
        }
        None => {
            parent.as_object_mut().unwrap().remove(name).unwrap();
        }
    }
    record
}

#[test]
fn every_lexicon_document_is_parsed_and_compiled_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lexicons");
    let folders = [
        ("atproto", store::ATPROTO),
        ("2025", store::SH_2025),
        ("2026", store::SH_2026),
        ("1.0", store::ORG_1_0),
    ];
    for (folder, compiled) in folders {
        let on_disk: BTreeSet<String> = fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let ours: BTreeSet<String> = compiled
            .iter()
            .map(|(id, _)| format!("{id}.json"))
            .collect();
        assert_eq!(on_disk, ours, "{folder}");
        for (id, text) in compiled {
            let document: LexiconDocument =
                serde_json::from_str(text).unwrap_or_else(|error| panic!("{folder}/{id}: {error}"));
            assert_eq!((document.lexicon, document.id.as_str()), (1, *id));
        }
    }
}

#[test]
fn every_lexicon_field_is_marked_seen_or_inferred() {
    fn fields(value: &Value, place: &str, found: &mut usize) {
        let Some(object) = value.as_object() else {
            return;
        };
        for (name, property) in object
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let text = property["description"].as_str().unwrap_or_default();
            let marked = ["Seen.", "Seen:", "Seen;", "Inferred:"]
                .iter()
                .any(|it| text.starts_with(it));
            assert!(marked, "{place} {name}: {text:?}");
            *found += 1;
        }
        for (name, below) in object {
            fields(below, &format!("{place} {name}"), found);
        }
    }
    let mut found = 0;
    for (id, text) in [
        store::ATPROTO,
        store::SH_2025,
        store::SH_2026,
        store::ORG_1_0,
    ]
    .concat()
    {
        fields(&serde_json::from_str(text).unwrap(), id, &mut found);
    }
    assert!(found > 150, "{found}");
}

#[test]
fn every_dialect_field_is_in_a_lexicon() {
    fn properties(value: &Value, found: &mut BTreeSet<String>) {
        let Some(object) = value.as_object() else {
            return;
        };
        let here = object.get("properties").and_then(Value::as_object);
        found.extend(here.into_iter().flat_map(|it| it.keys().cloned()));
        object.values().for_each(|it| properties(it, found));
    }
    let documents = [store::SH_2025, store::SH_2026, store::ORG_1_0].concat();
    // The collections of pipelines are left out, because [`Dialects`] names none of their fields.
    let sh = [
        "sh.tangled.feed.",
        "sh.tangled.label.",
        "sh.tangled.markup.",
        "sh.tangled.repo",
    ];
    let mut missing = Vec::new();
    for (prefix, of) in [
        ("sh_field_", &sh[..]),
        ("field_", &["org.tangled."][..]),
        ("manifest_", &["org.tangled.repo.manifest"][..]),
    ] {
        let mut found = BTreeSet::new();
        for (id, text) in &documents {
            if of.iter().any(|begin| id.starts_with(begin)) {
                properties(&serde_json::from_str(text).unwrap(), &mut found);
            }
        }
        let names = Dialects::default().names().into_iter();
        let names = names.filter(|(key, _)| key.starts_with(prefix));
        missing.extend(names.filter(|(_, name)| !found.contains(name)));
    }
    let missing: Vec<&str> = missing.iter().map(|(key, _)| key.as_str()).collect();
    // No lexicon contains these fields: the first two are inputs of a method, and the last is a
    // prefix of field names.
    assert_eq!(
        missing,
        ["field_sent_repo", "field_sent_branch", "field_stamp"]
    );
}

#[test]
fn every_lexicon_reference_resolves() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("ref").and_then(Value::as_str).map(str::to_owned));
                let refs = object
                    .get("refs")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                found.extend(refs.filter_map(Value::as_str).map(str::to_owned));
                object.values().for_each(|it| references(it, found));
            }
            Value::Array(items) => items.iter().for_each(|it| references(it, found)),
            _ => {}
        }
    }
    let sets = [
        (Set::Sh2025, store::SH_2025),
        (Set::Sh2026, store::SH_2026),
        (Set::Org10, store::ORG_1_0),
    ];
    for (set, documents) in sets {
        for (id, text) in documents {
            let mut found = Vec::new();
            references(&serde_json::from_str(text).unwrap(), &mut found);
            for reference in found {
                let (document, name) = reference.split_once('#').unwrap_or((&reference, "main"));
                let document = if document.is_empty() { id } else { document };
                assert!(set.find(document, name).is_some(), "{id}: {reference}");
            }
        }
    }
}

#[test]
fn written_records_match_their_lexicons() {
    assert_eq!(problems(&pull()), [""; 0]);
    assert_eq!(problems(&ticket()), [""; 0]);
    let comment = json!({
        "$type": "sh.tangled.feed.comment",
        "subject": { "uri": "at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322", "cid": CID },
        "body": { "$type": "sh.tangled.markup.markdown", "text": "Fine." },
        "pullRoundIdx": 0,
        "createdAt": AT,
    });
    assert_eq!(problems(&comment), [""; 0]);
    let op = json!({
        "$type": "sh.tangled.label.op",
        "subject": "at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322",
        "add": [{ "key": "at://did:plc:b/sh.tangled.label.definition/bug", "value": "null" }],
        "delete": [],
        "performedAt": AT,
    });
    assert_eq!(problems(&op), [""; 0]);
    let patch = json!({
        "$type": "org.tangled.review.patch",
        "ticket": "3mkuuamwfj322",
        "base": { "oid": "0".repeat(40) },
        "head": { "oid": "1".repeat(64) },
        "source": { "repo": "did:plc:fork", "branch": "topic" },
        "createdAt": AT,
    });
    assert_eq!(problems(&patch), [""; 0]);
}

#[test]
fn invalid_record_error_names_field_and_reason() {
    let at_uri = json!("at://did:plc:a/sh.tangled.repo/r");
    let cases: &[(Value, &str, Option<Value>, &str)] = &[
        (pull(), "/title", None, "$.title: is missing"),
        (
            pull(),
            "/title",
            Some(json!(5)),
            "$.title: is a number, and must be a string",
        ),
        (
            pull(),
            "/title",
            Some(Value::Null),
            "$.title: is null, and must be a string",
        ),
        (
            pull(),
            "/target/repo",
            Some(at_uri),
            "$.target.repo: is no DID: \"at://did:plc:a/sh.tangled.repo/r\"",
        ),
        (
            pull(),
            "/rounds",
            Some(json!({})),
            "$.rounds: is an object, and must be an array",
        ),
        (
            pull(),
            "/rounds/0/createdAt",
            Some(json!("now")),
            "$.rounds[0].createdAt: is no date and time with a zone: \"now\"",
        ),
        (
            pull(),
            "/rounds/0/patchBlob",
            Some(json!(BLOB)),
            "$.rounds[0].patchBlob: is a string, and must be a blob",
        ),
        (
            pull(),
            "/rounds/0/patchBlob/$type",
            Some(json!("x")),
            "$.rounds[0].patchBlob: is no blob: its $type is another",
        ),
        (
            pull(),
            "/rounds/0/patchBlob/mimeType",
            Some(json!("text/x-patch")),
            "$.rounds[0].patchBlob.mimeType: is \"text/x-patch\", and must be application/gzip",
        ),
        (
            pull(),
            "/rounds/0/patchBlob/ref",
            Some(json!({ "$link": "Qm" })),
            "$.rounds[0].patchBlob.ref.$link: is no CID: \"Qm\"",
        ),
        (
            pull(),
            "/rounds/0/patchBlob/size",
            Some(json!(-1)),
            "$.rounds[0].patchBlob.size: is no number of bytes",
        ),
        (
            pull(),
            "/dependentOn",
            Some(json!("3mkuuamwfj322")),
            "$.dependentOn: is no at-uri: \"3mkuuamwfj322\"",
        ),
        (
            pull(),
            "/unknown",
            Some(json!(1.5)),
            "$.unknown: 1.5 is no integer of at most 53 bits",
        ),
        (
            pull(),
            "/unknown",
            Some(json!(1_u64 << 53)),
            "$.unknown: 9007199254740992 is no integer of at most 53 bits",
        ),
        (
            ticket(),
            "/title",
            Some(json!("Add")),
            "$.title: is a string, and must be an object",
        ),
        (
            ticket(),
            "/title/$type",
            None,
            "$.title.$type: is missing, and must be one of org.tangled.markup.markdown#inline",
        ),
        (
            ticket(),
            "/body/text",
            Some(json!("")),
            "$.body.text: has 0 bytes, and must have at least 1",
        ),
    ];
    for (record, pointer, value, problem) in cases {
        assert_eq!(
            problems(&with(record.clone(), pointer, value.clone())),
            [*problem]
        );
    }
}

#[test]
fn lexicon_limits_count_graphemes() {
    let definition = |name: &str, kind: &str| {
        json!({
            "$type": "sh.tangled.label.definition",
            "name": name,
            "valueType": { "type": kind, "format": "any" },
            "scope": ["sh.tangled.repo.pull"],
            "createdAt": AT,
        })
    };
    // The family emoji is one grapheme of seven code points.
    assert_eq!(problems(&definition(&"👨‍👩‍👧‍👦".repeat(40), "null")), [""; 0]);
    assert_eq!(
        problems(&definition(&"é".repeat(41), "null")),
        ["$.name: has 41 characters, and may have 40"]
    );
    assert_eq!(
        problems(&definition("", "null")),
        ["$.name: has 0 characters, and must have at least 1"]
    );
    assert_eq!(
        problems(&definition("bug", "text")),
        ["$.valueType.type: is \"text\", and must be one of null, boolean, integer, string"]
    );
    let comment = json!({
        "$type": "sh.tangled.feed.comment",
        "subject": { "uri": "at://did:plc:a", "cid": CID },
        "body": { "$type": "sh.tangled.markup.markdown", "text": "", "blobs": [{
            "$type": "blob", "ref": { "$link": BLOB }, "mimeType": "image/png", "size": 1_000_001
        }]},
        "pullRoundIdx": -1,
        "createdAt": AT,
    });
    assert_eq!(
        problems(&comment),
        [
            "$.body.blobs[0].size: is 1000001, and may be 1000000",
            "$.pullRoundIdx: is -1, and must be at least 0",
        ]
    );
}

#[test]
fn record_with_wrong_or_unknown_type_is_refused() {
    let other = with(pull(), "/$type", Some(json!("sh.tangled.repo.issue")));
    let found = check("sh.tangled.repo.pull", &other).unwrap_err();
    assert_eq!(
        found[0].to_string(),
        "$.$type: is \"sh.tangled.repo.issue\", and must be \"sh.tangled.repo.pull\""
    );
    let none = with(pull(), "/$type", None);
    assert!(check("sh.tangled.repo.pull", &none).is_err());
    let found = check("sh.tangled.no.such", &json!({})).unwrap_err();
    assert_eq!(
        found[0].to_string(),
        "$: forge has no lexicon for \"sh.tangled.no.such\""
    );
    // A definition that is not a record cannot be written.
    assert!(check("sh.tangled.markup.markdown", &json!({ "text": "x" })).is_err());
}

#[test]
fn record_is_checked_by_lexicons_of_the_protocol() {
    let old = json!({
        "$type": "sh.tangled.repo.pull",
        "target": { "repo": "at://did:plc:a/sh.tangled.repo/3mkuuamwfj322", "branch": "main" },
        "title": "t",
        "patch": "diff --git",
        "createdAt": AT,
    });
    assert_eq!(check_in(Set::Sh2025, "sh.tangled.repo.pull", &old), Ok(()));
    assert!(check_in(Set::Sh2026, "sh.tangled.repo.pull", &old).is_err());
    let oldest = json!({
        "$type": "sh.tangled.repo.pull",
        "targetRepo": "at://did:plc:a/sh.tangled.repo/3mkuuamwfj322",
        "targetBranch": "main",
        "title": "t",
        "patch": "diff --git",
        "pullId": 1,
    });
    let fits = |record: &Value| check_in(Set::Sh2025, "sh.tangled.repo.pull", record);
    assert_eq!(fits(&oldest), Ok(()));
    assert!(fits(&with(oldest, "/targetRepo", Some(json!("did:plc:a")))).is_err());
    assert!(check_in(Set::Sh2025, "sh.tangled.repo.pull", &pull()).is_err());
    assert!(check_in(Set::Org10, "sh.tangled.repo.pull", &pull()).is_err());
    // The lexicon of `sh.tangled.label.op` did not change, so both versions have it.
    let both = |set| collections(set).contains(&"sh.tangled.label.op");
    assert!(both(Set::Sh2025) && both(Set::Sh2026) && !both(Set::Org10));
}

#[test]
fn record_key_must_match_kind_of_lexicon() {
    assert!(key_fits(
        Set::Sh2026,
        "sh.tangled.repo.pull",
        "3mkuuamwfj322"
    ));
    assert!(!key_fits(Set::Sh2026, "sh.tangled.repo.pull", "seven"));
    assert!(key_fits(Set::Sh2026, "sh.tangled.repo", "my-repo"));
    assert!(!key_fits(Set::Sh2026, "sh.tangled.repo", "a/b"));
    assert!(key_fits(Set::Org10, "org.tangled.repo.manifest", "self"));
    assert!(!key_fits(Set::Org10, "org.tangled.repo.manifest", "other"));
    assert!(!key_fits(Set::Org10, "sh.tangled.repo", "my-repo"));
}

#[test]
fn hostile_record_is_refused_with_bounded_errors() {
    let mut deep = json!({});
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    let record = with(pull(), "/deep", Some(deep));
    let found = check("sh.tangled.repo.pull", &record).unwrap_err();
    assert!(found[0].what.contains("levels deep"), "{found:?}");
    let many = with(pull(), "/rounds", Some(Value::Array(vec![json!(1); 1_000])));
    assert_eq!(check("sh.tangled.repo.pull", &many).unwrap_err().len(), 50);
    let long = with(
        pull(),
        "/createdAt",
        Some(json!("\u{1b}[2J".repeat(250_000))),
    );
    let found = check("sh.tangled.repo.pull", &long).unwrap_err();
    assert!(
        found[0].to_string().len() < 700,
        "{}",
        found[0].to_string().len()
    );
    assert!(!found[0].to_string().contains('\u{1b}'));
}
