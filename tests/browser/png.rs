//! Reads as much of a PNG as is needed to distinguish a page from an empty one.

use std::{collections::HashSet, io::Read as _};

use flate2::read::ZlibDecoder;

pub struct Png {
    /// Colour of the first pixel, which no PNG filter changes.
    pub corner: [u8; 3],
    /// Number of distinct pixel rows, compared with their filter bytes.
    pub different_rows: usize,
}

impl Png {
    /// Parses an eight-bit RGB or RGBA image (PNG specification, "Datastream structure" and
    /// "Filtering").
    pub fn read(bytes: &[u8]) -> Self {
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
        let width = number(16);
        let channels = match bytes[25] {
            2 => 3,
            6 => 4,
            other => panic!("colour type {other}"),
        };
        let mut packed = Vec::new();
        let mut at = 8;
        while at + 8 <= bytes.len() {
            let length = number(at);
            if &bytes[at + 4..at + 8] == b"IDAT" {
                packed.extend_from_slice(&bytes[at + 8..at + 8 + length]);
            }
            at += length + 12;
        }
        let mut rows = Vec::new();
        ZlibDecoder::new(&packed[..])
            .read_to_end(&mut rows)
            .unwrap();
        let different: HashSet<&[u8]> = rows.chunks(width * channels + 1).collect();
        Self {
            corner: rows[1..4].try_into().unwrap(),
            different_rows: different.len(),
        }
    }
}
