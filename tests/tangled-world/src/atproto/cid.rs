//! Content ids (CIDs) of version 1, with SHA-256 and base 32.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::cbor;

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

const DAG_CBOR: u8 = 0x71;
const RAW: u8 = 0x55;

fn of(codec: u8, bytes: &[u8]) -> String {
    let mut id = vec![1, codec, 0x12, 32];
    id.extend(Sha256::digest(bytes));
    text(&id)
}

/// Returns the CID of bytes that are DAG-CBOR.
pub(crate) fn of_cbor(bytes: &[u8]) -> String {
    of(DAG_CBOR, bytes)
}

/// Returns the CID of a record, or `None` if the record does not fit the data model.
pub(crate) fn of_record(record: &Value) -> Option<String> {
    cbor::encode(record).map(|bytes| of_cbor(&bytes))
}

pub(crate) fn of_blob(bytes: &[u8]) -> String {
    of(RAW, bytes)
}

/// Returns the text form of a CID's bytes.
pub(crate) fn text(bytes: &[u8]) -> String {
    format!("b{}", base32(bytes))
}

/// Encodes bytes in base 32, in lower case without padding.
pub(crate) fn base32(bytes: &[u8]) -> String {
    let mut out = String::new();
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(char::from(ALPHABET[(held >> bits & 31) as usize]));
        }
        held &= (1 << bits) - 1;
    }
    if bits > 0 {
        out.push(char::from(ALPHABET[(held << (5 - bits) & 31) as usize]));
    }
    out
}

/// Returns the bytes of a CID, or `None` if the text is not a CID.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let (mut held, mut bits) = (0_u32, 0_u32);
    let mut out = Vec::new();
    for character in text.strip_prefix('b')?.bytes() {
        let digit = ALPHABET.iter().position(|it| *it == character)?;
        held = held << 5 | u32::try_from(digit).ok()?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(held >> bits & 0xff).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    (out.len() == 36 && out.first() == Some(&1)).then_some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cids_of_known_values_match() {
        // Both CIDs are widely known: that of the empty blob, and that of the empty map.
        assert_eq!(
            of_blob(b""),
            "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
        );
        assert_eq!(
            of_record(&json!({})).unwrap(),
            "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"
        );
    }

    #[test]
    fn cid_text_and_bytes_round_trip() {
        let id = of_blob(b"hello");
        assert_eq!(text(&bytes(&id).unwrap()), id);
        assert_eq!(bytes("bafy"), None);
        assert_eq!(
            bytes("QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"),
            None
        );
    }
}
