//! Limits the length of results; a limited result states every omission.
//!
//! A tool result has two forms: the text result for the model, and the structured result (JSON,
//! called data here) for programs. The text consists of blocks, such as one comment or one hunk. A
//! page is a list of blocks that fits the length limit.

pub(crate) mod context_cache;
pub(crate) mod cursor;
pub(crate) mod diff_cache;

use std::ops::Range;

use forge_core::text::truncate_chars;

/// Default length of a result in characters, about six thousand tokens.
pub(crate) const DEFAULT_CHARS: usize = 25_000;

/// Maximum length that a caller can request, in characters.
const MAX_CHARS: usize = 100_000;

/// Minimum length of a result, in characters. A shorter result has no room for a line of content
/// and the last lines (see [`TAIL_CHARS`]).
const MIN_CHARS: usize = 1_000;

/// The length reserved for the last lines of a page, in characters. These lines say what is left
/// out and how to continue.
const TAIL_CHARS: usize = 500;

/// When a block is cut, the part of the block on the page has room for at least this many
/// characters.
const MIN_CUT: usize = 200;

/// Maximum length of a structured result with long texts, such as comments, in characters. A longer
/// structured result omits the long texts, because the text result contains them.
const MAX_TWICE_CHARS: usize = 10_000;

/// Returns the length limit of a call, in characters.
pub(crate) fn chars(asked: Option<u64>) -> usize {
    let asked = asked.map_or(DEFAULT_CHARS, |n| usize::try_from(n).unwrap_or(MAX_CHARS));
    asked.clamp(MIN_CHARS, MAX_CHARS)
}

/// Returns the combined limit for the text result and the structured result. The text result has at
/// most `max` characters.
const fn combined_limit(max: usize) -> usize {
    max / 3 * 8
}

/// Returns how many characters the name lists of a pull request, such as its labels, may take in
/// the structured result. The text result has at most `max` characters.
pub(crate) const fn names(max: usize) -> usize {
    max / 2
}

/// Returns true if the structured result may contain the long texts, such as comments, that the
/// text result contains. `data` and `text` are the lengths of the two results.
pub(crate) fn may_repeat(data: usize, text: usize, max: usize) -> bool {
    data <= MAX_TWICE_CHARS && data + text <= combined_limit(max)
}

/// Returns the length of data as JSON, in characters.
pub(crate) fn length(data: &impl serde::Serialize) -> usize {
    serde_json::to_string(data).map_or(0, |json| json.chars().count())
}

/// Lengths of the parts of a structured result, in characters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lengths<'a> {
    /// The length of the structured data that every page contains.
    pub always: usize,
    /// The length of each block's data, which is on the page where the block begins.
    pub blocks: &'a [usize],
}

/// A position in a result: a block, and the number of its bytes already shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResultPosition {
    pub block: usize,
    pub offset: usize,
}

impl ResultPosition {
    /// Formats the position for a cursor.
    pub fn to_text(self) -> String {
        format!("{}.{}", self.block, self.offset)
    }

    /// Parses the position from a cursor.
    pub fn from_text(text: &str) -> Option<Self> {
        let (block, offset) = text.split_once('.')?;
        Some(Self {
            block: block.parse().ok()?,
            offset: offset.parse().ok()?,
        })
    }
}

/// A page of blocks.
#[derive(Debug)]
pub(crate) struct FittedPage {
    pub text: String,
    /// The first block shown, completely or in part.
    pub from: usize,
    pub to: usize,
    /// The blocks that begin on this page. Each block begins on exactly one page.
    pub begun: Range<usize>,
    pub next: Option<ResultPosition>,
}

/// Fits as many blocks as possible after `head` into `max` characters, starting at a position.
///
/// Only two kinds of block are cut, after one of their lines: a block that is longer than a page,
/// and a block that would leave more than a fifth of this page empty if it moved to the next page.
pub(crate) fn fit<S: AsRef<str>>(
    head: &str,
    blocks: &[S],
    from: ResultPosition,
    max: usize,
) -> FittedPage {
    fit_both(head, blocks, Lengths::default(), from, max)
}

/// Like [`fit`], for blocks with structured data. A page ends when its text or its structured data
/// has no room left.
pub(crate) fn fit_both<S: AsRef<str>>(
    head: &str,
    blocks: &[S],
    data: Lengths<'_>,
    from: ResultPosition,
    max: usize,
) -> FittedPage {
    let mut text = head.to_owned();
    if from.offset > 0 {
        let block = blocks.get(from.block).map_or("", AsRef::as_ref);
        let before = block.get(..from.offset).unwrap_or_default();
        // The second part of a cut line lacks the sign or quote mark at the start of the line. The
        // label shows that the line continues.
        text.push_str(match before.ends_with('\n') {
            true => "[continued]\n",
            false => "[continued within a line] ",
        });
    }
    let room = max.saturating_sub(TAIL_CHARS);
    let mut used = text.chars().count();
    let mut used_data = data.always;
    let mut at = from;
    let mut shown = false;
    while let Some(block) = blocks.get(at.block) {
        let rest = block.as_ref().get(at.offset..).unwrap_or_default();
        let length = rest.chars().count();
        let of_data = match at.offset {
            0 => data.blocks.get(at.block).copied().unwrap_or_default(),
            _ => 0,
        };
        let has_room = !shown || used + length + used_data + of_data <= combined_limit(max);
        if used + length <= room && has_room {
            text.push_str(rest);
            used += length;
            used_data += of_data;
            at = ResultPosition {
                block: at.block + 1,
                offset: 0,
            };
            // An empty block takes no room, so a long block may follow it on the page.
            shown |= !rest.is_empty();
            continue;
        }
        let left = room.saturating_sub(used);
        let left = match shown {
            false => left.max(MIN_CUT),
            true => left.min(combined_limit(max).saturating_sub(used + used_data + of_data)),
        };
        let cut = cut(rest, left);
        let part = rest.get(..cut).unwrap_or(rest);
        let is_worth_it = left > MIN_CUT.max(room / 5) && part.ends_with('\n');
        if !shown || is_worth_it {
            text.push_str(part);
            if !text.ends_with('\n') {
                text.push('\n');
            }
            at.offset += cut;
        }
        break;
    }
    let done = at.block >= blocks.len();
    let to = at.block + usize::from(at.offset > 0);
    FittedPage {
        text,
        from: from.block,
        to,
        begun: from.block + usize::from(from.offset > 0)..to,
        next: (!done).then_some(at),
    }
}

/// Cuts a text that is shown without pages. `rest` says where the reader finds the whole text.
///
/// The cut may be within a line, because a description may be one long line.
pub(crate) fn beginning(text: &str, rest: &str) -> String {
    match truncate_chars(text, DEFAULT_CHARS - TAIL_CHARS) {
        (whole, 0) => whole.into_owned(),
        (kept, more) => format!("{kept}\n[{more} more characters: {rest}]\n"),
    }
}

/// Returns the cut position: after the last line that fits, or within the first line if this line
/// is too long.
fn cut(text: &str, room: usize) -> usize {
    let end = text
        .char_indices()
        .nth(room)
        .map_or(text.len(), |(at, _)| at);
    let fits = text.get(..end).unwrap_or(text);
    fits.rfind('\n').map_or(end, |at| at + 1)
}

/// Returns the last line of a list: how much is shown, and how to continue.
pub(crate) fn tail(noun: &str, fitted: &FittedPage, total: usize, cursor: Option<&str>) -> String {
    match cursor {
        None if fitted.from == 0 => format!("All {total} {noun} shown."),
        None => format!(
            "{noun} {}-{} of {total}: the end.",
            fitted.from + 1,
            fitted.to
        ),
        Some(cursor) => format!(
            "{noun} {}-{} of {total}. More: cursor=\"{cursor}\"",
            fitted.from + 1,
            fitted.to
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_show_every_block_once() {
        let blocks: Vec<String> = (0..40)
            .map(|n| format!("block {n}\n{}", "é line\n".repeat(n * 9)))
            .collect();
        let (mut at, mut all, mut pages) = (ResultPosition::default(), String::new(), 0);
        loop {
            let page = fit("head\n", &blocks, at, 1_000);
            assert!(
                page.text.chars().count() <= 1_000,
                "{}",
                page.text.chars().count()
            );
            let body = page.text.strip_prefix("head\n").unwrap();
            all.push_str(body.strip_prefix("[continued]\n").unwrap_or(body));
            pages += 1;
            match page.next {
                Some(next) => at = ResultPosition::from_text(&next.to_text()).unwrap(),
                None => break,
            }
        }
        assert_eq!(all, blocks.concat());
        assert!(pages > 3);
    }

    #[test]
    fn pages_within_data_limit_show_every_block() {
        let blocks: Vec<String> = (0..300).map(|n| format!("{n}\n")).collect();
        let blocks = [vec!["a line\n".repeat(400)], blocks].concat();
        let lengths: Vec<usize> = (0..301).map(|n| 50 + n % 7).collect();
        let data = Lengths {
            always: 300,
            blocks: &lengths,
        };
        let (mut at, mut begun) = (ResultPosition::default(), Vec::new());
        loop {
            let page = fit_both("", &blocks, data, at, 1_000);
            let of_data: usize = lengths[page.begun.clone()].iter().sum();
            assert!(page.text.len() + of_data + 300 <= 2_750, "{page:?}");
            begun.extend(page.begun);
            match page.next {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(begun, (0..301).collect::<Vec<_>>());
    }

    #[test]
    fn long_block_begins_on_page_with_room() {
        let long = format!("head\n{}", "é line\n".repeat(2_000));
        let wide = format!("{}\n", "x".repeat(2_000));
        let blocks = ["first\n", long.as_str(), "last\n", wide.as_str()];
        let (mut at, mut begun, mut all, mut pages) =
            (ResultPosition::default(), Vec::new(), String::new(), 0);
        loop {
            let page = fit("", &blocks, at, 1_500);
            assert!(page.text.chars().count() <= 1_500, "{}", page.text);
            let text = page.text.strip_prefix("[continued]\n");
            let text = text.unwrap_or(&page.text);
            all.push_str(text.trim_start_matches("[continued within a line] "));
            begun.extend(page.begun);
            pages += 1;
            if pages == 1 {
                assert!(page.text.starts_with("first\nhead\né line\n"));
                assert!(page.text.chars().count() > 980, "{}", page.text);
            }
            // A line longer than a page begins at the top of a page.
            assert!(!page.text.contains("last\nx"), "{}", page.text);
            match page.next {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(begun, [0, 1, 2, 3]);
        assert_eq!(all.replace('\n', ""), blocks.concat().replace('\n', ""));
    }

    #[test]
    fn long_data_moves_block_to_next_page() {
        let long = "a line\n".repeat(400);
        let data = Lengths {
            always: 0,
            blocks: &[0, 2_600],
        };
        let page = fit_both(
            "",
            &["first\n", long.as_str()],
            data,
            ResultPosition::default(),
            1_000,
        );
        assert_eq!((page.text.as_str(), page.begun), ("first\n", 0..1));
    }

    #[test]
    fn empty_blocks_do_not_count_as_a_page() {
        let long = "a line\n".repeat(300);
        let page = fit(
            "",
            &["", "", long.as_str(), "b\n"],
            ResultPosition::default(),
            1_000,
        );
        assert!(page.text.starts_with("a line\n"), "{page:?}");
        let next = page.next.unwrap();
        assert_eq!((next.block, page.begun), (2, 0..3));
        assert_eq!(next.offset, page.text.len());
    }

    #[test]
    fn overlong_line_is_cut_at_a_character_boundary() {
        let long = "é".repeat(3_000);
        let page = fit("", &[&long], ResultPosition::default(), 1_000);
        let next = page.next.unwrap();
        assert_eq!(next.offset, 1_000);
        assert!(long.is_char_boundary(next.offset));
    }

    #[test]
    fn continued_line_is_labelled() {
        let long = format!("> {}Next: pr_merge {{}}\n", "x".repeat(998));
        let page = fit("head\n", &[&long], ResultPosition::default(), 1_000);
        let rest = fit("head\n", &[&long], page.next.unwrap(), 1_000);
        let begins = "head\n[continued within a line] ";
        assert!(rest.text.starts_with(begins), "{}", rest.text);
    }

    #[test]
    fn requested_length_is_clamped() {
        assert_eq!(
            [chars(None), chars(Some(1)), chars(Some(u64::MAX))],
            [25_000, 1_000, 100_000]
        );
    }
}
