//! Results of a bounded size that never stop silently.

pub(crate) mod context_cache;
pub(crate) mod cursor;
pub(crate) mod diff_cache;

use std::ops::Range;

use forge_core::text::truncate_chars;

/// How long a result is unless the caller says otherwise, in characters: about six thousand tokens.
pub(crate) const DEFAULT_CHARS: usize = 25_000;

/// The longest that a caller can ask for.
const MOST_CHARS: usize = 100_000;

/// The shortest: less has no room for a line of content beside the tail.
const LEAST_CHARS: usize = 1_000;

/// Kept for the lines at the end.
const TAIL: usize = 500;

/// A part of a block with no more characters than this is not worth a page's end.
const LEAST_CUT: usize = 200;

/// Data of more characters than this does not repeat the long texts that the model's text has.
const TWICE_MAX: usize = 10_000;

/// The budget of a call.
pub(crate) fn chars(asked: Option<u64>) -> usize {
    let asked = asked.map_or(DEFAULT_CHARS, |n| usize::try_from(n).unwrap_or(MOST_CHARS));
    asked.clamp(LEAST_CHARS, MOST_CHARS)
}

/// How many characters text and data have together, where the text may have `max`.
const fn both(max: usize) -> usize {
    max / 3 * 8
}

/// How many characters the lists of names in the data of a pull request have, where the text may
/// have `max`: the rest of its data and the text have room beside them.
pub(crate) const fn names(max: usize) -> usize {
    max / 2
}

/// Whether data of `data` characters may repeat the long texts of a text of `text` characters.
pub(crate) fn may_repeat(data: usize, text: usize, max: usize) -> bool {
    data <= TWICE_MAX && data + text <= both(max)
}

/// How long data is as JSON, in characters.
pub(crate) fn length(data: &impl serde::Serialize) -> usize {
    serde_json::to_string(data).map_or(0, |json| json.chars().count())
}

/// How long the data of a result is, in characters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lengths<'a> {
    /// What every page has.
    pub always: usize,
    /// What the page has on which a block begins.
    pub blocks: &'a [usize],
}

/// Where a result goes on: a block, and how many bytes of it were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub block: usize,
    pub offset: usize,
}

impl Position {
    /// For a cursor.
    pub fn to_text(self) -> String {
        format!("{}.{}", self.block, self.offset)
    }

    /// From a cursor.
    pub fn from_text(text: &str) -> Option<Self> {
        let (block, offset) = text.split_once('.')?;
        Some(Self {
            block: block.parse().ok()?,
            offset: offset.parse().ok()?,
        })
    }
}

/// What fits.
#[derive(Debug)]
pub(crate) struct Fitted {
    pub text: String,
    /// The first block of which something is shown, and the one behind the last.
    pub from: usize,
    pub to: usize,
    /// The blocks that begin here: over all pages each is in one of these.
    pub begun: Range<usize>,
    pub next: Option<Position>,
}

/// As many blocks as fit behind `head` in `max` characters, from a position on.
///
/// A block is cut behind a line where it is longer than a page, or where a fifth of the page would
/// stay empty without its beginning; any other stays whole.
pub(crate) fn fit<S: AsRef<str>>(head: &str, blocks: &[S], from: Position, max: usize) -> Fitted {
    fit_both(head, blocks, Lengths::default(), from, max)
}

/// As [`fit`], of blocks that are data as well: a page ends where either has no more room.
pub(crate) fn fit_both<S: AsRef<str>>(
    head: &str,
    blocks: &[S],
    data: Lengths<'_>,
    from: Position,
    max: usize,
) -> Fitted {
    let mut text = head.to_owned();
    if from.offset > 0 {
        let block = blocks.get(from.block).map_or("", AsRef::as_ref);
        let before = block.get(..from.offset).unwrap_or_default();
        // The rest of a line that is too long alone is no line: it lacks its sign or its quote.
        text.push_str(match before.ends_with('\n') {
            true => "[continued]\n",
            false => "[continued within a line] ",
        });
    }
    let room = max.saturating_sub(TAIL);
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
        let has_room = !shown || used + length + used_data + of_data <= both(max);
        if used + length <= room && has_room {
            text.push_str(rest);
            used += length;
            used_data += of_data;
            at = Position {
                block: at.block + 1,
                offset: 0,
            };
            // Behind an empty one there is still nothing on the page.
            shown |= !rest.is_empty();
            continue;
        }
        let left = room.saturating_sub(used);
        let left = match shown {
            false => left.max(LEAST_CUT),
            true => left.min(both(max).saturating_sub(used + used_data + of_data)),
        };
        let cut = cut(rest, left);
        let part = rest.get(..cut).unwrap_or(rest);
        let is_worth_it = left > LEAST_CUT.max(room / 5) && part.ends_with('\n');
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
    Fitted {
        text,
        from: from.block,
        to,
        begun: from.block + usize::from(from.offset > 0)..to,
        next: (!done).then_some(at),
    }
}

/// A text that has no second page, as much of it as fits; `rest` says what has all of it.
///
/// It is cut at a character: a description may be one long line.
pub(crate) fn beginning(text: &str, rest: &str) -> String {
    match truncate_chars(text, DEFAULT_CHARS - TAIL) {
        (whole, 0) => whole.into_owned(),
        (kept, more) => format!("{kept}\n[{more} more characters: {rest}]\n"),
    }
}

/// Where to cut: behind the last line that fits, or in a line that is too long alone.
fn cut(text: &str, room: usize) -> usize {
    let end = text
        .char_indices()
        .nth(room)
        .map_or(text.len(), |(at, _)| at);
    let fits = text.get(..end).unwrap_or(text);
    fits.rfind('\n').map_or(end, |at| at + 1)
}

/// The last line of a list.
pub(crate) fn tail(noun: &str, fitted: &Fitted, total: usize, cursor: Option<&str>) -> String {
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
    fn following_the_positions_yields_everything_once() {
        let blocks: Vec<String> = (0..40)
            .map(|n| format!("block {n}\n{}", "é line\n".repeat(n * 9)))
            .collect();
        let (mut at, mut all, mut pages) = (Position::default(), String::new(), 0);
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
                Some(next) => at = Position::from_text(&next.to_text()).unwrap(),
                None => break,
            }
        }
        assert_eq!(all, blocks.concat());
        assert!(pages > 3);
    }

    #[test]
    fn data_ends_a_page_as_well_and_every_block_begins_once() {
        let blocks: Vec<String> = (0..300).map(|n| format!("{n}\n")).collect();
        let blocks = [vec!["a line\n".repeat(400)], blocks].concat();
        let lengths: Vec<usize> = (0..301).map(|n| 50 + n % 7).collect();
        let data = Lengths {
            always: 300,
            blocks: &lengths,
        };
        let (mut at, mut begun) = (Position::default(), Vec::new());
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
    fn long_block_begins_on_a_page_with_room() {
        let long = format!("head\n{}", "é line\n".repeat(2_000));
        let wide = format!("{}\n", "x".repeat(2_000));
        let blocks = ["first\n", long.as_str(), "last\n", wide.as_str()];
        let (mut at, mut begun, mut all, mut pages) =
            (Position::default(), Vec::new(), String::new(), 0);
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
            // A line that is too long alone does not begin behind others.
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
    fn block_with_long_data_begins_on_the_next_page() {
        let long = "a line\n".repeat(400);
        let data = Lengths {
            always: 0,
            blocks: &[0, 2_600],
        };
        let page = fit_both(
            "",
            &["first\n", long.as_str()],
            data,
            Position::default(),
            1_000,
        );
        assert_eq!((page.text.as_str(), page.begun), ("first\n", 0..1));
    }

    #[test]
    fn a_page_with_empty_blocks_alone_is_not_a_page() {
        let long = "a line\n".repeat(300);
        let page = fit(
            "",
            &["", "", long.as_str(), "b\n"],
            Position::default(),
            1_000,
        );
        assert!(page.text.starts_with("a line\n"), "{page:?}");
        let next = page.next.unwrap();
        assert_eq!((next.block, page.begun), (2, 0..3));
        assert_eq!(next.offset, page.text.len());
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_in_a_character_boundary() {
        let long = "é".repeat(3_000);
        let page = fit("", &[&long], Position::default(), 1_000);
        let next = page.next.unwrap();
        assert_eq!(next.offset, 1_000);
        assert!(long.is_char_boundary(next.offset));
    }

    #[test]
    fn rest_of_a_cut_line_does_not_begin_a_line() {
        let long = format!("> {}Next: pr_merge {{}}\n", "x".repeat(998));
        let page = fit("head\n", &[&long], Position::default(), 1_000);
        let rest = fit("head\n", &[&long], page.next.unwrap(), 1_000);
        let begins = "head\n[continued within a line] ";
        assert!(rest.text.starts_with(begins), "{}", rest.text);
    }

    #[test]
    fn budgets_have_bounds() {
        assert_eq!(
            [chars(None), chars(Some(1)), chars(Some(u64::MAX))],
            [25_000, 1_000, 100_000]
        );
    }
}
