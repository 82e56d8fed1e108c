//! Verifies blobs and records from other people's servers by their content ids (CIDs).
//!
//! atproto uses CIDs of version 1 with SHA-256: of a blob's raw bytes, and of a record's DAG-CBOR
//! (<https://atproto.com/specs/data-model>, <https://atproto.com/specs/blob>).

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use forge_core::{Error, ErrorKind, Result, text::one_line};
use ipld_core::cid::{Cid, multihash::Multihash};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::{
    Origin,
    dialect::{STAMP, STAMPED},
};

const RAW: u64 = 0x55;
const DAG_CBOR: u64 = 0x71;
const SHA2_256: u64 = 0x12;

const HINT: &str =
    "do not use the data of this server: it is damaged or forged; tell the operator of the server";

/// Checks that `bytes` have the CID `named`. `origin` sent them as a blob of the record `uri`.
///
/// # Errors
/// `protocol` if the bytes have another CID.
pub(crate) fn check_blob(named: &str, bytes: &[u8], origin: &Origin, uri: &str) -> Result<()> {
    check(named, of(RAW, bytes), "a blob", origin, uri)
}

/// Checks that `value` has the CID `named`, and returns the CID of the value. `origin` sent the
/// value as the record `uri`. A Tangled 1.0 record with stamps, which are fields that the knot
/// added, is not checked. The result is then `None`.
///
/// # Errors
/// `protocol` if the value has another CID, or if atproto's data model does not allow the value
/// (for example a fraction), so that it has no CID.
pub(crate) fn check_record(
    named: Option<&str>,
    value: &Value,
    origin: &Origin,
    uri: &str,
) -> Result<Option<String>> {
    if is_stamped(value, uri) {
        return Ok(None);
    }
    let Some(actual) = of_record(value) else {
        let message = format!(
            "the value that {} sent as {} is not an atproto record: it has no CID",
            origin.host(),
            one_line(uri)
        );
        return Err(Error::new(ErrorKind::Protocol, message).with_hint(HINT));
    };
    if let Some(named) = named {
        check(named, Some(actual), "a record", origin, uri)?;
    }
    Ok(Some(actual.to_string()))
}

/// Returns true for a Tangled 1.0 record with stamps: fields that the knot added. Such a record
/// cannot be checked, because it is not known whether its CID covers the stamps.
fn is_stamped(value: &Value, uri: &str) -> bool {
    let collection = uri.split('/').nth(3).unwrap_or_default();
    let has_stamp = |fields: &Map<String, Value>| fields.keys().any(|key| key.starts_with(STAMP));
    collection.starts_with(STAMPED) && value.as_object().is_some_and(has_stamp)
}

/// Returns true if `text` is the CID of a blob in the only form that atproto allows.
pub(crate) fn is_of_blob(text: &str) -> bool {
    text.parse().is_ok_and(|cid: Cid| {
        (cid.codec(), cid.hash().code()) == (RAW, SHA2_256) && cid.to_string() == text
    })
}

fn check(named: &str, actual: Option<Cid>, what: &str, origin: &Origin, uri: &str) -> Result<()> {
    if actual.is_some() && named.parse().ok() == actual {
        return Ok(());
    }
    let actual = actual.map_or_else(String::new, |cid| cid.to_string());
    let message = format!(
        "{} sent {what} of {} with the CID {}, but its content has the CID {actual}",
        origin.host(),
        one_line(uri),
        one_line(named)
    );
    Err(Error::new(ErrorKind::Protocol, message).with_hint(HINT))
}

pub(crate) fn of_blob(bytes: &[u8]) -> String {
    of(RAW, bytes).map_or_else(String::new, |cid| cid.to_string())
}

fn of(codec: u64, bytes: &[u8]) -> Option<Cid> {
    let hash = Multihash::wrap(SHA2_256, &Sha256::digest(bytes)).ok()?;
    Some(Cid::new_v1(codec, hash))
}

/// The CID of a record. `None` if its JSON does not fit atproto's data model.
fn of_record(value: &Value) -> Option<Cid> {
    let fields = value.as_object()?;
    let mut bytes = Vec::new();
    object(fields, &mut bytes)?;
    of(DAG_CBOR, &bytes)
}

/// Major types of CBOR (RFC 8949, 3.1).
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

/// The CBOR tag of a CID (<https://ipld.io/specs/codecs/dag-cbor/spec/>).
const LINK: u64 = 42;

/// Writes a value as DAG-CBOR. The recursion is bounded, because the JSON parser limits the depth
/// of a value.
fn encode(value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(is) => out.push(0xf4 + u8::from(*is)),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => head(UNSIGNED, number, out),
            (None, Some(number)) => head(NEGATIVE, number.unsigned_abs() - 1, out),
            (None, None) => return None,
        },
        Value::String(text) => string(TEXT, text.as_bytes(), out),
        Value::Array(items) => {
            head(ARRAY, items.len() as u64, out);
            for item in items {
                encode(item, out)?;
            }
        }
        Value::Object(fields) => object(fields, out)?,
    }
    Some(())
}

fn object(fields: &Map<String, Value>, out: &mut Vec<u8>) -> Option<()> {
    let alone = fields.iter().next().filter(|_| fields.len() == 1);
    match alone {
        Some((key, Value::String(link))) if key == "$link" => {
            let link: Cid = link.parse().ok()?;
            head(TAG, LINK, out);
            string(BYTES, &[&[0][..], &link.to_bytes()].concat(), out);
        }
        Some((key, Value::String(encoded))) if key == "$bytes" => {
            let padding = GeneralPurposeConfig::new()
                .with_decode_padding_mode(DecodePaddingMode::Indifferent);
            let base64 = GeneralPurpose::new(&alphabet::STANDARD, padding);
            string(BYTES, &base64.decode(encoded).ok()?, out);
        }
        _ => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| (key.len(), *key));
            head(MAP, fields.len() as u64, out);
            for (key, value) in fields {
                string(TEXT, key.as_bytes(), out);
                encode(value, out)?;
            }
        }
    }
    Some(())
}

fn string(major: u8, bytes: &[u8], out: &mut Vec<u8>) {
    head(major, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Writes a major type and its number in as few bytes as possible.
fn head(major: u8, number: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    if let Ok(number) = u8::try_from(number) {
        match number {
            0..24 => out.push(major | number),
            _ => out.extend([major | 24, number]),
        }
    } else if let Ok(number) = u16::try_from(number) {
        out.push(major | 25);
        out.extend(number.to_be_bytes());
    } else if let Ok(number) = u32::try_from(number) {
        out.push(major | 26);
        out.extend(number.to_be_bytes());
    } else {
        out.push(major | 27);
        out.extend(number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(value: Value) -> Option<String> {
        of_record(&value).map(|cid| cid.to_string())
    }

    /// The bytes of each value are those of the examples in RFC 8949, appendix A, and of the
    /// specification of DAG-CBOR.
    #[test]
    fn record_values_are_encoded_as_dag_cbor() {
        let hex = |value: Value| -> Option<String> {
            let mut bytes = Vec::new();
            encode(&value, &mut bytes)?;
            Some(bytes.iter().map(|b| format!("{b:02x}")).collect())
        };
        for (value, bytes) in [
            (json!(null), "f6"),
            (json!([false, true]), "82f4f5"),
            (json!(23), "17"),
            (json!(24), "1818"),
            (json!(1000), "1903e8"),
            (json!(1_000_000), "1a000f4240"),
            (json!(1_000_000_000_000_u64), "1b000000e8d4a51000"),
            (json!(u64::MAX), "1bffffffffffffffff"),
            (json!(-1), "20"),
            (json!(-1000), "3903e7"),
            (json!(i64::MIN), "3b7fffffffffffffff"),
            (json!("ü"), "62c3bc"),
            // DAG-CBOR sorts a shorter key before a longer one.
            (json!({"aa": 1, "b": [2, 3]}), "a2616282020362616101"),
            (json!({"$bytes": "AQID"}), "43010203"),
            (json!({"$bytes": "AQ=="}), "4101"),
            (json!({"$bytes": "AQ"}), "4101"),
            (
                json!({"$bytes": "AQ", "a": 1}),
                "a261610166246279746573624151",
            ),
        ] {
            assert_eq!(hex(value.clone()).as_deref(), Some(bytes), "{value}");
        }
        let link = of_blob(b"");
        let linked = hex(json!({ "$link": link })).unwrap();
        assert!(linked.starts_with("d82a58250001551220"), "{linked}");
        for inexact in [
            json!(1.5),
            json!({"a": [1.0]}),
            json!({"$link": "x"}),
            json!({"$bytes": "*"}),
        ] {
            assert_eq!(hex(inexact.clone()), None, "{inexact}");
        }
    }

    #[test]
    fn computed_cids_match_known_values() {
        let blob = of_blob(b"");
        assert_eq!(
            blob,
            "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
        );
        let empty = record(json!({})).unwrap();
        assert_eq!(
            empty,
            "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"
        );
        assert_eq!(record(json!("text")), None);
    }

    #[test]
    fn wrong_blob_is_reported_with_both_cids() {
        let origin = Origin::configured("https://pds.example").unwrap();
        let named = of_blob(b"a");
        let uri = "at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322";
        check_blob(&named, b"a", &origin, uri).unwrap();
        // The same digest with another codec makes another CID.
        let as_record = of(DAG_CBOR, b"a").unwrap().to_string();
        for (named, bytes) in [
            (named.as_str(), b"b"),
            (as_record.as_str(), b"a"),
            ("bafy", b"a"),
        ] {
            let e = check_blob(named, bytes, &origin, uri).unwrap_err();
            assert_eq!(e.code(), "protocol");
            let actual = of_blob(bytes);
            for part in ["pds.example", uri, named, actual.as_str()] {
                assert!(e.message().contains(part), "{e:?}");
            }
        }
        let value = json!({"a": 1});
        let own = check_record(None, &value, &origin, uri).unwrap();
        assert_eq!(
            check_record(own.as_deref(), &value, &origin, uri).unwrap(),
            own
        );
        let stamped = json!({"a": 1, "x-tngl-editor": "did:plc:a"});
        for other in [json!({"a": 2}), json!({"a": 1.5}), stamped.clone()] {
            let e = check_record(own.as_deref(), &other, &origin, uri).unwrap_err();
            assert_eq!(e.code(), "protocol", "{other}");
        }
        let of_1_0 = "at://did:plc:a/org.tangled.track.ticket/3mkuuamwfj322";
        let unchecked = check_record(own.as_deref(), &stamped, &origin, of_1_0);
        assert_eq!(unchecked.unwrap(), None);
    }
}
