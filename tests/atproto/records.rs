//! Tests that a real PDS accepts every record of our dialect, and stores it unchanged.

use std::{collections::BTreeSet, io::Write};

use forge_tangled::lexicon::{self, Set};
use forge_tangled_world::{Account, Caller, PdsDouble, RealWorld, World};
use serde_json::{Value, json};

use crate::lexicons;

/// Returns bytes from which a PDS detects this MIME type.
fn bytes_of(mime: &str) -> Vec<u8> {
    match mime {
        "application/gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(b"From 0\n").unwrap();
            encoder.finish().unwrap()
        }
        "image/png" => b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0".to_vec(),
        "image/gif" => b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(),
        other => panic!("no bytes of {other}"),
    }
}

/// Uploads a blob to both PDSes for each blob reference of a record, and updates the references.
fn upload(record: &mut Value, real: &Caller, light: &PdsDouble, twin: &Account) {
    if record["$type"] == "blob" {
        let mime = record["mimeType"].as_str().unwrap().to_owned();
        let bytes = bytes_of(&mime);
        let uploaded = real
            .post_bytes("com.atproto.repo.uploadBlob", &mime, &bytes)
            .ok();
        let ours = light.blob(&twin.did, &mime, &bytes);
        assert_eq!(uploaded["blob"], ours);
        *record = ours;
        return;
    }
    let below: Vec<&mut Value> = match record {
        Value::Object(fields) => fields.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    for value in below {
        upload(value, real, light, twin);
    }
}

#[test]
fn records_are_stored_and_read_back_unchanged() {
    let Some(dir) = RealWorld::installed() else {
        return;
    };
    let (world, light) = (RealWorld::start(&dir).unwrap(), World::start().unwrap());
    let alice = world.account("alice.test", "0canary0-of-alice");
    let twin = light.pds().account("alice.test", "0canary0-of-alice");
    let pds = world.caller(&alice);
    let records = lexicons::records(Set::Sh2026);
    let named: BTreeSet<&str> = records.iter().map(|(collection, _)| *collection).collect();
    let known: BTreeSet<&str> = lexicon::collections(Set::Sh2026).into_iter().collect();
    assert_eq!(named, known);
    for (collection, mut record) in records {
        record["$type"] = collection.into();
        upload(&mut record, &pds, light.pds(), &twin);
        assert_eq!(lexicon::check(collection, &record), Ok(()));
        let rkey = "3mkuuamwfj322";
        assert!(
            lexicon::key_fits(Set::Sh2026, collection, rkey),
            "{collection}"
        );
        let (uri, cid) = world.put(&alice, collection, rkey, &record);
        let (read_cid, read) = world.record(&uri);
        assert_eq!((&read_cid, &read), (&cid, &record), "{collection}");
        // A CID is the hash of a record's bytes, so equal CIDs prove equal bytes.
        let (_, by_us) = light.pds().put(&twin.did, collection, rkey, record);
        assert_eq!(by_us, cid, "{collection}");
    }
    let described = pds
        .get("com.atproto.repo.describeRepo", &[("repo", &alice.did)])
        .ok();
    assert_eq!(
        described["collections"].as_array().unwrap().len(),
        known.len()
    );
    assert_eq!(json!(known), described["collections"]);
}
