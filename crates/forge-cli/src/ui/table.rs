//! Tables: aligned and fitted to the width of a terminal.

use unicode_width::UnicodeWidthStr as _;

use super::color::Palette;

/// Colours the text of a cell.
pub type Paint = fn(Palette, &str) -> String;

/// A cell: plain text with an optional colour.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    paint: Option<Paint>,
}

impl Cell {
    /// Creates a cell without colour.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            paint: None,
        }
    }

    /// Creates a cell with a colour.
    pub fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self {
            text: text.into(),
            paint: Some(paint),
        }
    }
}

/// The heading of a table's column, and whether the column shrinks.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The heading; empty for none.
    pub title: &'static str,
    /// True if the column shrinks in a table that is too wide.
    pub shrinks: bool,
}

const GAP: usize = 2;
/// Minimum width of a shrinking column.
const MIN_COLUMN_WIDTH: usize = 8;

/// Renders the rows, with a heading if any column has a title. Ends with a newline.
#[must_use]
pub fn render(columns: &[Column], rows: &[Vec<Cell>], width: usize, palette: Palette) -> String {
    let mut lines: Vec<Vec<Cell>> = Vec::with_capacity(rows.len() + 1);
    if columns.iter().any(|c| !c.title.is_empty()) {
        let heading: Paint = |p, t| p.gray(&p.underline(t));
        lines.push(
            columns
                .iter()
                .map(|c| Cell::painted(c.title, heading))
                .collect(),
        );
    }
    lines.extend(rows.iter().cloned());
    let widths = fit(columns, &lines, width);
    let mut out = String::new();
    for line in &lines {
        let last = line.len().saturating_sub(1);
        for (at, (cell, room)) in line.iter().zip(&widths).enumerate() {
            let text = truncate(&cell.text, *room);
            let used = text.width();
            match cell.paint {
                Some(paint) => out.push_str(&paint(palette, &text)),
                None => out.push_str(&text),
            }
            if at != last {
                out.extend(std::iter::repeat_n(' ', room.saturating_sub(used) + GAP));
            }
        }
        // Empty headings and cells must not leave trailing spaces.
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

/// Returns the width of each column: the width that its cells need or, for a shrinking column, an
/// equal share of the remaining width. If the table is still too wide, every column shrinks.
fn fit(columns: &[Column], lines: &[Vec<Cell>], width: usize) -> Vec<usize> {
    let need: Vec<usize> = (0..columns.len())
        .map(|i| {
            lines
                .iter()
                .filter_map(|l| l.get(i))
                .map(|c| c.text.width())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let gaps = GAP * columns.len().saturating_sub(1);
    let fixed: usize = columns
        .iter()
        .zip(&need)
        .filter(|(c, _)| !c.shrinks)
        .map(|(_, n)| *n)
        .sum();
    let mut widths = need.clone();
    let shrinking = |(i, _): &(usize, usize)| columns.get(*i).is_some_and(|c| c.shrinks);
    let numbered = || need.iter().copied().enumerate();
    let room = width.saturating_sub(gaps + fixed);
    share(
        &mut widths,
        numbered().filter(shrinking).collect(),
        room,
        MIN_COLUMN_WIDTH,
    );
    if widths.iter().sum::<usize>() + gaps > width {
        let room = width.saturating_sub(gaps);
        share(&mut widths, numbered().collect(), room, 0);
    }
    widths
}

/// Sets the widths of `columns` (index and needed width) to equal shares of `room`. A share is at
/// least `least`, and no column gets more than it needs.
fn share(widths: &mut [usize], mut columns: Vec<(usize, usize)>, mut room: usize, least: usize) {
    // Narrow columns are served first, so that wide columns get the width that narrow ones do not
    // need.
    columns.sort_by_key(|(_, need)| *need);
    let mut left = columns.len();
    for (at, need) in columns {
        let part = room.checked_div(left).unwrap_or(0);
        let given = need.min(part.max(least));
        if let Some(width) = widths.get_mut(at) {
            *width = given;
        }
        room = room.saturating_sub(given);
        left -= 1;
    }
}

/// Truncates text to `room` columns, and keeps its end: `…tools#12`.
#[must_use]
pub fn truncate_start(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut tails = text.char_indices().filter_map(|(at, _)| text.get(at..));
    let tail = tails.find(|tail| tail.width() < room);
    format!("…{}", tail.unwrap_or_default())
}

/// Truncates text to `room` columns with `…`. A wide character counts as two columns, and a joined
/// emoji counts as displayed.
#[must_use]
pub fn truncate(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = "";
    for (at, c) in text.char_indices() {
        let Some(head) = text.get(..at + c.len_utf8()) else {
            break;
        };
        if head.width() >= room {
            break;
        }
        kept = head;
    }
    if room == 0 {
        String::new()
    } else {
        format!("{kept}…")
    }
}

/// Truncates as gh does: adds three dots if two letters fit before them, and pads to the width.
pub fn truncate_as_gh(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let dots = if room >= 5 { "..." } else { "" };
    let mut out = String::new();
    for c in text.chars() {
        let before = out.len();
        out.push(c);
        if out.width() + dots.len() > room {
            out.truncate(before);
            break;
        }
    }
    out.push_str(dots);
    if out.width() < room {
        out.push(' ');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column {
            title: "ID",
            shrinks: false,
        },
        Column {
            title: "TITLE",
            shrinks: true,
        },
        Column {
            title: "BRANCH",
            shrinks: true,
        },
    ];

    fn row(cells: &[&str]) -> Vec<Cell> {
        cells.iter().map(|c| Cell::plain(*c)).collect()
    }

    fn table(rows: &[Vec<Cell>], width: usize) -> String {
        render(COLUMNS, rows, width, Palette { on: false })
    }

    #[test]
    fn columns_are_aligned_and_fit_the_width() {
        let rows = [
            row(&["#1", "Fix the thing that broke yesterday", "fix"]),
            row(&["#22", "x", "a"]),
        ];
        assert_eq!(
            table(&rows, 30),
            "ID   TITLE              BRANCH\n\
             #1   Fix the thing th…  fix\n\
             #22  x                  a\n"
        );
        assert!(table(&rows, 30).lines().all(|l| l.width() <= 30));
    }

    #[test]
    fn narrow_terminal_shrinks_every_column() {
        let rows = [row(&["#1024", "Fix the thing that broke", "fix"])];
        for width in [12, 16, 20] {
            let shown = table(&rows, width);
            assert!(
                shown.lines().all(|l| l.width() <= width),
                "{width}: {shown}"
            );
        }
        assert_eq!(
            table(&rows, 20),
            "ID     TITLE   BRAN…\n#1024  Fix t…  fix\n"
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let rows = [
            row(&["#1", "漢字漢字漢字漢字漢字漢字", "b"]),
            row(&["#2", "👩‍💻 emoji", "b"]),
        ];
        let shown = table(&rows, 26);
        assert!(shown.lines().all(|l| l.width() <= 26), "{shown}");
        let branch = |line: &str| line.rfind('b').map(|at| line[..at].width());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(branch(lines[1]), branch(lines[2]));
    }

    #[test]
    fn truncated_text_fits_the_width() {
        for room in 0..12 {
            assert!(truncate("aé漢👩‍💻zzzz漢漢", room).width() <= room);
        }
        assert_eq!(truncate("short", 5), "short");
        assert_eq!(truncate("longer", 5), "long…");
    }
}
