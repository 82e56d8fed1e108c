//! Unpacks the content of binary files from `GIT binary patch` (git's `base85.c` and
//! `patch-delta.c`).

use std::io::Read as _;

use flate2::read::ZlibDecoder;

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// The new content of a binary file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PackedContent {
    Literal(Vec<u8>),
    /// Instructions that make the new content from the old one.
    Delta(Vec<u8>),
}

impl PackedContent {
    /// Reads the part of a binary patch that makes the new content. `head` has the lines of the
    /// file, from `diff --git` on. `None` if the part is damaged, or unpacks to more than `most`
    /// bytes.
    pub fn read(head: &[u8], most: usize) -> Option<Self> {
        let mut lines = head.split(|b| *b == b'\n');
        lines.find(|line| line.trim_ascii_end() == b"GIT binary patch")?;
        let first = std::str::from_utf8(lines.next()?).ok()?.trim_end();
        let (kind, size) = first.split_once(' ')?;
        let size: usize = size.parse().ok().filter(|size| *size <= most)?;
        let mut packed = Vec::new();
        for line in lines.take_while(|line| !line.trim_ascii_end().is_empty()) {
            decode_line(line.trim_ascii_end(), &mut packed)?;
        }
        let mut data = Vec::new();
        let limit = u64::try_from(size).ok()? + 1;
        let mut unpacked = ZlibDecoder::new(packed.as_slice()).take(limit);
        unpacked.read_to_end(&mut data).ok()?;
        if data.len() != size {
            return None;
        }
        match kind {
            "literal" => Some(Self::Literal(data)),
            "delta" => Some(Self::Delta(data)),
            _ => None,
        }
    }

    /// Returns the size of the new content.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Literal(data) => Some(data.len()),
            Self::Delta(data) => {
                let mut bytes = data.iter();
                read_size(&mut bytes)?;
                read_size(&mut bytes)
            }
        }
    }

    /// Returns the new content of the file with the content `old`. `None` if a delta is for other
    /// content, or damaged.
    pub fn apply(self, old: &[u8]) -> Option<Vec<u8>> {
        let delta = match self {
            Self::Literal(data) => return Some(data),
            Self::Delta(delta) => delta,
        };
        let mut bytes = delta.iter();
        let (from, to) = (read_size(&mut bytes)?, read_size(&mut bytes)?);
        let mut rest = bytes.as_slice();
        let mut made = Vec::new();
        while let Some((code, after)) = rest.split_first() {
            rest = after;
            let part = if code & 0x80 == 0 {
                let (inserted, after) = rest.split_at_checked(usize::from(*code))?;
                rest = after;
                inserted
            } else {
                let offset = read_number(&mut rest, *code, 0..4)?;
                let size = match read_number(&mut rest, *code >> 4, 0..3)? {
                    0 => 0x1_0000,
                    size => size,
                };
                old.get(offset..offset.checked_add(size)?)?
            };
            if *code == 0 || made.len() + part.len() > to {
                return None;
            }
            made.extend_from_slice(part);
        }
        (old.len() == from && made.len() == to).then_some(made)
    }
}

/// Decodes a line: its first character is the number of bytes, the others are groups of five.
fn decode_line(line: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (first, groups) = line.split_first()?;
    let count = usize::from(match first {
        b'A'..=b'Z' => first - b'A' + 1,
        b'a'..=b'z' => first - b'a' + 27,
        _ => return None,
    });
    let start = out.len();
    for group in groups.chunks(5) {
        let mut number: u32 = 0;
        for byte in group {
            let digit = ALPHABET.iter().position(|it| it == byte)?;
            let digit = u32::try_from(digit).ok()?;
            number = number.checked_mul(85)?.checked_add(digit)?;
        }
        if group.len() != 5 {
            return None;
        }
        out.extend_from_slice(&number.to_be_bytes());
    }
    let end = start + count;
    if out.len() < end || out.len() >= end + 4 {
        return None;
    }
    out.truncate(end);
    Some(())
}

/// Reads a number of 7 bits a byte, the lowest first.
fn read_size(bytes: &mut std::slice::Iter<'_, u8>) -> Option<usize> {
    let mut size: usize = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = bytes.next()?;
        let part = usize::from(byte & 0x7f);
        size |= part.checked_shl(shift).filter(|it| it >> shift == part)?;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
    None
}

/// Reads the bytes of a number that the bits of `code` select, the lowest first.
fn read_number(rest: &mut &[u8], code: u8, bits: std::ops::Range<u32>) -> Option<usize> {
    let mut number = 0;
    for bit in bits {
        if code & (1 << bit) != 0 {
            let (byte, after) = rest.split_first()?;
            *rest = after;
            number |= usize::from(*byte) << (8 * bit);
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use forge_testkit::GitDir;

    use super::*;

    #[test]
    fn binary_patch_of_git_is_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let git = GitDir::init(dir.path(), &[]);
        let old: Vec<u8> = (0..70_000_u32)
            .flat_map(|n| n.wrapping_mul(n).to_le_bytes())
            .collect();
        let mut new = old.clone();
        new.splice(1_000..1_010, *b"\0other\0");
        new.extend_from_slice(&old[..66_000]);
        let ada = &forge_testkit::Identity::ADA;
        git.commit_bytes("main", ada, "One", &[("large", Some(&old))]);
        let small: [(&str, Option<&[u8]>); 2] = [("large", Some(&new)), ("small", Some(b"\0\xff"))];
        git.commit_bytes("topic", ada, "Two", &small);
        let diff = git.run(["diff", "--binary", "main", "topic"]).text();
        let files = forge_core::diff::files(diff.as_bytes());
        let read = |file: &forge_core::diff::FileDiff<'_>| PackedContent::read(file.head, 1 << 20);
        let large = read(&files[0]).unwrap();
        assert!(matches!(large, PackedContent::Delta(_)), "{diff}");
        assert_eq!(large.size(), Some(new.len()));
        assert!(large.apply(&old).is_some_and(|made| made == new));
        assert_eq!(read(&files[0]).unwrap().apply(&old[1..]), None);
        assert_eq!(
            read(&files[1]).unwrap().apply(b""),
            Some(b"\0\xff".to_vec())
        );
        assert_eq!(PackedContent::read(files[1].head, 1), None);
    }

    #[test]
    fn damaged_delta_makes_nothing() {
        for delta in [
            &[][..],
            &[1, 1, 0],
            &[1, 1, 0x80],
            &[1, 9, 1, b'x'],
            &[1, 1, 0x91, 1, 9],
            &[0xff; 12],
        ] {
            assert_eq!(
                PackedContent::Delta(delta.to_vec()).apply(b"x"),
                None,
                "{delta:?}"
            );
        }
    }
}
