//! Converts DAG-CBOR to and from the JSON form of atproto's data model
//! (<https://atproto.com/specs/data-model>). The doubles have a separate implementation, so that
//! the code under test does not compute the CIDs that it is compared with.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use serde_json::{Map, Number, Value};

use super::cid;

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;

/// CBOR tag of a CID.
const LINK: u64 = 42;

/// Encodes a value. Returns `None` if the data model does not allow the value, such as a fraction.
pub(crate) fn encode(value: &Value) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write(value, &mut out)?;
    Some(out)
}

fn head(major: u8, number: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    let bytes = number.to_be_bytes();
    match number {
        0..=23 => out.push(major | bytes[7]),
        24..=0xff => out.extend([major | 24, bytes[7]]),
        0x100..=0xffff => {
            out.push(major | 25);
            out.extend(&bytes[6..]);
        }
        0x1_0000..=0xffff_ffff => {
            out.push(major | 26);
            out.extend(&bytes[4..]);
        }
        _ => {
            out.push(major | 27);
            out.extend(bytes);
        }
    }
}

fn length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn write(value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(false) => out.push(0xf4),
        Value::Bool(true) => out.push(0xf5),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => head(UNSIGNED, number, out),
            (None, Some(number)) => head(NEGATIVE, number.unsigned_abs() - 1, out),
            (None, None) => return None,
        },
        Value::String(text) => {
            head(TEXT, length(text.len()), out);
            out.extend(text.as_bytes());
        }
        Value::Array(items) => {
            head(ARRAY, length(items.len()), out);
            for item in items {
                write(item, out)?;
            }
        }
        Value::Object(fields) => object(fields, out)?,
    }
    Some(())
}

fn object(fields: &Map<String, Value>, out: &mut Vec<u8>) -> Option<()> {
    let single = (fields.len() == 1).then(|| fields.iter().next()).flatten();
    match single {
        Some((name, Value::String(link))) if name == "$link" => {
            let bytes = cid::bytes(link)?;
            head(TAG, LINK, out);
            head(BYTES, length(bytes.len()) + 1, out);
            out.push(0);
            out.extend(bytes);
        }
        Some((name, Value::String(encoded))) if name == "$bytes" => {
            let bytes = STANDARD_NO_PAD.decode(encoded.trim_end_matches('=')).ok()?;
            head(BYTES, length(bytes.len()), out);
            out.extend(bytes);
        }
        _ => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
            head(MAP, length(sorted.len()), out);
            for (name, field) in sorted {
                head(TEXT, length(name.len()), out);
                out.extend(name.as_bytes());
                write(field, out)?;
            }
        }
    }
    Some(())
}

/// Decodes the first value in `bytes`, and returns it with the number of bytes that it takes.
pub(crate) fn decode(bytes: &[u8]) -> Option<(Value, usize)> {
    let mut reader = Reader { bytes, at: 0 };
    let value = reader.value(0)?;
    Some((value, reader.at))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn head(&mut self) -> Option<(u8, u64)> {
        let first = self.take(1)?[0];
        let number = match first & 0x1f {
            small @ 0..=23 => u64::from(small),
            size @ 24..=27 => {
                let bytes = self.take(1 << (size - 24))?;
                bytes
                    .iter()
                    .fold(0, |all, byte| all << 8 | u64::from(*byte))
            }
            _ => return None,
        };
        Some((first >> 5, number))
    }

    fn text(&mut self, length: u64) -> Option<String> {
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    fn value(&mut self, level: usize) -> Option<Value> {
        if level > 100 {
            return None;
        }
        let (major, number) = self.head()?;
        Some(match major {
            UNSIGNED => Value::Number(Number::from(number)),
            NEGATIVE => Value::Number(Number::from(-1 - i64::try_from(number).ok()?)),
            BYTES => wrap("$bytes", STANDARD_NO_PAD.encode(self.take(number)?)),
            TEXT => Value::String(self.text(number)?),
            ARRAY => Value::Array(
                (0..number)
                    .map(|_| self.value(level + 1))
                    .collect::<Option<_>>()?,
            ),
            MAP => {
                let mut fields = Map::new();
                for _ in 0..number {
                    let (TEXT, length) = self.head()? else {
                        return None;
                    };
                    fields.insert(self.text(length)?, self.value(level + 1)?);
                }
                Value::Object(fields)
            }
            TAG if number == LINK => {
                let (BYTES, length) = self.head()? else {
                    return None;
                };
                wrap("$link", cid::text(self.take(length)?.get(1..)?))
            }
            SIMPLE => match number {
                20 => Value::Bool(false),
                21 => Value::Bool(true),
                22 => Value::Null,
                _ => return None,
            },
            _ => return None,
        })
    }
}

fn wrap(name: &str, text: String) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), Value::String(text))]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn map_keys_are_sorted_by_length_first() {
        let bytes = encode(&json!({ "bb": 1, "c": 2, "a": 3 })).unwrap();
        assert_eq!(
            bytes,
            [0xa3, 0x61, b'a', 3, 0x61, b'c', 2, 0x62, b'b', b'b', 1]
        );
    }

    #[test]
    fn cbor_round_trip_keeps_every_kind() {
        let link = cid::of_blob(b"x");
        let value = json!({
            "null": null, "yes": true, "no": false,
            "numbers": [0, 23, 24, 255, 256, 65_535, 65_536, 4_294_967_296_u64, -1, -24, -25, -1_000_000],
            "text": "é\u{1f600}", "bytes": { "$bytes": "AAEC" }, "link": { "$link": link },
            "empty": {}, "list": [],
        });
        let bytes = encode(&value).unwrap();
        assert_eq!(decode(&bytes), Some((value, bytes.len())));
        assert_eq!(encode(&json!(1.5)), None);
        assert_eq!(encode(&json!({ "$link": "x" })), None);
    }

    #[test]
    fn broken_bytes_are_refused() {
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[0x61]), None);
        assert_eq!(decode(&[0x5f]), None);
        assert_eq!(decode(&[0x81; 300]), None);
        assert_eq!(
            decode(&[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            None
        );
    }
}
