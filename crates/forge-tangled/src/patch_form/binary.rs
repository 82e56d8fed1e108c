//! Checks the content of a binary file in a patch (git's `diff.c`, `emit_binary_diff_body`;
//! `base85.c`).

use std::io::Read as _;

use flate2::bufread::ZlibDecoder;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::file::is_zero;

/// Maximum size of the unpacked binary content of a patch, in bytes. A packed patch of 15 MiB could
/// hold a thousand times as much.
pub(super) const MAX_CONTENT: u64 = 128 << 20;

/// Number of bytes in each line of packed content but the last one.
const LINE_BYTES: usize = 52;

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

const OTHER_CONTENT: &str = "binary content in a form that git does not print";

/// Checks both blocks of a binary file: the new content, then the old content. `ids` are the ids of
/// the old and of the new content. git takes an object with the new id if it has one, so whole
/// content must have the id that the patch names.
pub(super) fn check_blocks(
    text: &[u8],
    ids: &(String, String),
    content_left: &mut u64,
) -> Result<(), &'static str> {
    let (old, new) = ids;
    let is_full = |id: &str| matches!(id.len(), 40 | 64);
    if !is_full(old) || old.len() != new.len() {
        return Err("a binary file with shortened ids, which git does not apply");
    }
    let rest = check_block(text, (old, new), content_left)?;
    let rest = check_block(rest, (new, old), content_left)?;
    if rest.is_empty() {
        Ok(())
    } else {
        Err(OTHER_CONTENT)
    }
}

/// Checks the block at the start of `text`, which makes the content with the id `to` from the
/// content with the id `from`. Returns the text after it.
fn check_block<'a>(
    text: &'a [u8],
    (from, to): (&str, &str),
    content_left: &mut u64,
) -> Result<&'a [u8], &'static str> {
    let (first, mut rest) = split_line(text)?;
    let first = std::str::from_utf8(first).map_err(|_| OTHER_CONTENT)?;
    let (kind, size) = first.split_once(' ').ok_or(OTHER_CONTENT)?;
    let size: u64 = size.parse().map_err(|_| OTHER_CONTENT)?;
    let is_literal = kind == "literal";
    if !is_literal && kind != "delta" || first != format!("{kind} {size}") {
        return Err(OTHER_CONTENT);
    }
    *content_left = content_left
        .checked_sub(size)
        .ok_or("more than 128 MiB of binary content")?;
    let values = digit_values();
    let mut packed = Vec::new();
    loop {
        let (line, after) = split_line(rest)?;
        rest = after;
        if line.is_empty() {
            break;
        }
        if packed.len() % LINE_BYTES != 0 {
            return Err(OTHER_CONTENT);
        }
        decode_line(line, &values, &mut packed)?;
    }
    let mut hash = BlobHash::new(to, size);
    unpack(&packed, size, &mut hash)?;
    // git makes no delta from or to empty content. A delta alone does not tell the result.
    let is_known = match (is_literal, is_zero(to)) {
        (true, true) => size == 0,
        (true, false) => hash.hex() == to,
        (false, is_gone) => !is_gone && !is_zero(from),
    };
    if is_known {
        Ok(rest)
    } else {
        Err("binary content that differs from its id in the `index` line")
    }
}

/// Splits off the first line, without its line end.
fn split_line(text: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let end = text.iter().position(|b| *b == b'\n').ok_or(OTHER_CONTENT)?;
    let (line, rest) = text.split_at_checked(end).ok_or(OTHER_CONTENT)?;
    Ok((line, rest.get(1..).unwrap_or_default()))
}

/// Returns the value of each byte as a digit.
fn digit_values() -> [Option<u8>; 256] {
    let mut values = [None; 256];
    for (value, digit) in (0..).zip(ALPHABET) {
        if let Some(slot) = values.get_mut(usize::from(*digit)) {
            *slot = Some(value);
        }
    }
    values
}

/// Decodes a line: the number of its bytes as a letter, and five characters for four bytes.
fn decode_line(
    line: &[u8],
    values: &[Option<u8>; 256],
    packed: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let (letter, digits) = line.split_first().ok_or(OTHER_CONTENT)?;
    let count = match letter {
        b'A'..=b'Z' => usize::from(letter - b'A') + 1,
        b'a'..=b'z' => usize::from(letter - b'a') + 27,
        _ => return Err(OTHER_CONTENT),
    };
    if digits.len() != count.div_ceil(4) * 5 {
        return Err(OTHER_CONTENT);
    }
    let end = packed.len() + count;
    for group in digits.chunks_exact(5) {
        let mut value = 0_u64;
        for digit in group {
            let digit = values.get(usize::from(*digit)).copied().flatten();
            value = value * 85 + u64::from(digit.ok_or(OTHER_CONTENT)?);
        }
        let value = u32::try_from(value).map_err(|_| OTHER_CONTENT)?;
        packed.extend(value.to_be_bytes());
    }
    // git fills the last group with zeros.
    let has_zeros = packed
        .get(end..)
        .is_some_and(|fill| fill.iter().all(|b| *b == 0));
    packed.truncate(end);
    if has_zeros {
        Ok(())
    } else {
        Err(OTHER_CONTENT)
    }
}

/// Unpacks content of exactly `size` bytes into a hash.
fn unpack(packed: &[u8], size: u64, hash: &mut BlobHash) -> Result<(), &'static str> {
    let mut reader = ZlibDecoder::new(packed);
    let mut buffer = [0; 8192];
    let mut count = 0_u64;
    loop {
        let read = reader.read(&mut buffer).map_err(|_| OTHER_CONTENT)?;
        if read == 0 {
            break;
        }
        count += u64::try_from(read).map_err(|_| OTHER_CONTENT)?;
        if count > size {
            return Err(OTHER_CONTENT);
        }
        hash.update(buffer.get(..read).unwrap_or_default());
    }
    if count == size && reader.into_inner().is_empty() {
        Ok(())
    } else {
        Err(OTHER_CONTENT)
    }
}

/// Computes the id of content, as git does.
enum BlobHash {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl BlobHash {
    /// Starts a hash of the form that `id` has.
    fn new(id: &str, size: u64) -> Self {
        let mut hash = if id.len() == 40 {
            Self::Sha1(Sha1::default())
        } else {
            Self::Sha256(Sha256::default())
        };
        hash.update(format!("blob {size}\0").as_bytes());
        hash
    }

    fn update(&mut self, content: &[u8]) {
        match self {
            Self::Sha1(hash) => hash.update(content),
            Self::Sha256(hash) => hash.update(content),
        }
    }

    fn hex(self) -> String {
        let bytes = match self {
            Self::Sha1(hash) => hash.finalize().to_vec(),
            Self::Sha256(hash) => hash.finalize().to_vec(),
        };
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
