//! Menus whose rows are filtered by what the user types.
//!
//! A menu that ignores typed text takes the Enter after it as a choice of the first row. Here typed
//! text hides the rows without it, and Enter does nothing while no row is left.

use std::io;

use console::{Key, Term};
use dialoguer::theme::Theme;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns that the signs before a row need.
const PREFIX_WIDTH: usize = 6;
/// Lines of a terminal that a menu leaves free, apart from its question.
const FREE_LINES: usize = 2;

/// Effect of a key on a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MenuStep {
    /// The menu stays.
    Stay,
    /// The user chose.
    Done,
    /// The user gave up.
    Cancelled,
}

/// Rows to choose from, and what the user typed.
#[derive(Debug)]
struct Menu<'a> {
    rows: Vec<&'a str>,
    /// The flags of the rows if several can be chosen; empty if only one can.
    checked: Vec<bool>,
    typed: String,
    /// Position of the cursor among the visible rows.
    cursor: usize,
}

impl Menu<'_> {
    /// Returns the positions of the rows that contain the typed text, in any case.
    fn visible(&self) -> Vec<usize> {
        let wanted = self.typed.trim().to_lowercase();
        let rows = self.rows.iter().enumerate();
        let found = rows.filter(|(_, row)| row.to_lowercase().contains(&wanted));
        found.map(|(at, _)| at).collect()
    }

    /// Returns the position of the row under the cursor.
    fn current(&self) -> Option<usize> {
        self.visible().get(self.cursor).copied()
    }

    fn filter_by(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.typed);
        self.cursor = 0;
    }

    fn press(&mut self, key: &Key) -> MenuStep {
        let count = self.visible().len();
        match key {
            Key::Enter if count > 0 => return MenuStep::Done,
            Key::Escape => return MenuStep::Cancelled,
            Key::ArrowDown | Key::Tab if count > 0 => self.cursor = (self.cursor + 1) % count,
            Key::ArrowUp | Key::BackTab if count > 0 => {
                self.cursor = (self.cursor + count - 1) % count;
            }
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = count.saturating_sub(1),
            Key::Backspace => self.filter_by(|typed| {
                typed.pop();
            }),
            Key::Char(' ') if !self.checked.is_empty() => self.toggle(),
            Key::Char(typed_char) if !typed_char.is_control() => {
                self.filter_by(|typed| typed.push(*typed_char));
            }
            _ => {}
        }
        MenuStep::Stay
    }

    /// Changes the flag of the row under the cursor. Shows all rows again, with the cursor on the
    /// same row.
    fn toggle(&mut self) {
        let Some(at) = self.current() else { return };
        if let Some(flag) = self.checked.get_mut(at) {
            *flag = !*flag;
        }
        if !self.typed.is_empty() {
            self.typed.clear();
            self.cursor = at;
        }
    }
}

/// Draws a menu on a terminal.
struct MenuScreen<'a> {
    term: Term,
    theme: &'a dyn Theme,
    question: &'a str,
    lines: usize,
}

impl MenuScreen<'_> {
    fn draw(&mut self, menu: &Menu<'_>) -> io::Result<()> {
        let (height, width) = self.term.size();
        let room = usize::from(width).saturating_sub(PREFIX_WIDTH);
        let capacity = usize::from(height).saturating_sub(FREE_LINES + 1).max(1);
        let visible = menu.visible();
        let mut question = self.question.to_owned();
        if !menu.typed.is_empty() {
            question = format!("{question} [{}]", menu.typed);
        }
        if visible.is_empty() {
            question.push_str(" (no row has this text)");
        }
        let page = menu.cursor / capacity;
        let mut text = String::new();
        let is_many = !menu.checked.is_empty();
        let question = fit(&question, room);
        let drawn = if is_many {
            self.theme.format_multi_select_prompt(&mut text, &question)
        } else {
            self.theme.format_select_prompt(&mut text, &question)
        };
        drawn.map_err(io::Error::other)?;
        let mut lines = vec![text];
        let shown = visible.iter().enumerate().skip(page * capacity);
        for (place, at) in shown.take(capacity) {
            let mut line = String::new();
            let row = fit(menu.rows.get(*at).copied().unwrap_or_default(), room);
            let is_active = place == menu.cursor;
            let drawn = match menu.checked.get(*at) {
                Some(checked) => self
                    .theme
                    .format_multi_select_prompt_item(&mut line, &row, *checked, is_active),
                None => self
                    .theme
                    .format_select_prompt_item(&mut line, &row, is_active),
            };
            drawn.map_err(io::Error::other)?;
            lines.push(line);
        }
        self.clear()?;
        self.lines = lines.len();
        for line in lines {
            self.term.write_line(&line)?;
        }
        self.term.flush()
    }

    fn clear(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.lines);
        self.term.clear_last_lines(lines)
    }

    /// Replaces the menu by a line with what was chosen.
    fn close(&mut self, menu: &Menu<'_>, step: MenuStep) -> io::Result<()> {
        self.clear()?;
        if step == MenuStep::Done {
            let mut line = String::new();
            let drawn = if menu.checked.is_empty() {
                let row = menu.current().and_then(|at| menu.rows.get(at).copied());
                self.theme.format_select_prompt_selection(
                    &mut line,
                    self.question,
                    row.unwrap_or_default(),
                )
            } else {
                let rows = menu.rows.iter().zip(&menu.checked);
                let chosen = rows.filter(|(_, flag)| **flag);
                let chosen: Vec<&str> = chosen.map(|(row, _)| *row).collect();
                self.theme
                    .format_multi_select_prompt_selection(&mut line, self.question, &chosen)
            };
            drawn.map_err(io::Error::other)?;
            self.term.write_line(&line)?;
        }
        self.term.show_cursor()?;
        self.term.flush()
    }
}

/// Shortens a row to the columns that a terminal has, because a wrapped row is redrawn wrongly.
fn fit(row: &str, room: usize) -> String {
    if row.width() <= room {
        return row.to_owned();
    }
    let mut short = String::new();
    let mut used = 1;
    for c in row.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// Asks for one of `rows`, with the cursor on the row `first`. Returns `None` if the user gives up.
///
/// # Errors
/// Fails if the terminal is not usable, or if the wait for a key is interrupted.
pub(super) fn choose_row(
    theme: &dyn Theme,
    question: &str,
    rows: &[&str],
    first: usize,
) -> dialoguer::Result<Option<usize>> {
    let mut menu = Menu {
        rows: rows.to_vec(),
        checked: Vec::new(),
        typed: String::new(),
        cursor: first,
    };
    let step = run_menu(theme, question, &mut menu)?;
    Ok(menu.current().filter(|_| step == MenuStep::Done))
}

/// Asks for any of `rows`, each with its flag. Returns the positions of the chosen rows, or `None`
/// if the user gives up.
///
/// # Errors
/// The errors of [`choose_row`].
pub(super) fn choose_rows(
    theme: &dyn Theme,
    question: &str,
    rows: &[(&str, bool)],
) -> dialoguer::Result<Option<Vec<usize>>> {
    let mut menu = Menu {
        rows: rows.iter().map(|(row, _)| *row).collect(),
        checked: rows.iter().map(|(_, flag)| *flag).collect(),
        typed: String::new(),
        cursor: 0,
    };
    let step = run_menu(theme, question, &mut menu)?;
    let flags = menu.checked.iter().enumerate();
    let chosen = flags.filter(|(_, flag)| **flag).map(|(at, _)| at).collect();
    Ok(Some(chosen).filter(|_| step == MenuStep::Done))
}

fn run_menu(theme: &dyn Theme, question: &str, menu: &mut Menu<'_>) -> io::Result<MenuStep> {
    let term = Term::buffered_stderr();
    if !term.is_term() {
        return Err(io::Error::new(
            io::ErrorKind::NotConnected,
            "not a terminal",
        ));
    }
    term.hide_cursor()?;
    let mut screen = MenuScreen {
        term,
        theme,
        question,
        lines: 0,
    };
    loop {
        screen.draw(menu)?;
        let key = screen.term.read_key()?;
        let step = menu.press(&key);
        if step != MenuStep::Stay {
            screen.close(menu, step)?;
            return Ok(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [&str; 3] = [
        "7  Fix the parser [fix]",
        "12  Add docs [docs]",
        "3  Größe [x]",
    ];

    fn menu(checked: &[bool]) -> Menu<'static> {
        Menu {
            rows: ROWS.to_vec(),
            checked: checked.to_vec(),
            typed: String::new(),
            cursor: 0,
        }
    }

    fn type_text(menu: &mut Menu<'_>, text: &str) -> MenuStep {
        let steps = text.chars().map(|c| match c {
            '\r' => menu.press(&Key::Enter),
            c => menu.press(&Key::Char(c)),
        });
        steps.last().unwrap()
    }

    #[test]
    fn typed_text_chooses_only_rows_with_it() {
        for (typed, wanted) in [
            ("\r", 0),
            ("12\r", 1),
            ("DOCS\r", 1),
            ("add d\r", 1),
            ("größe\r", 2),
            (" fix\r", 0),
        ] {
            let mut menu = menu(&[]);
            assert_eq!(type_text(&mut menu, typed), MenuStep::Done, "{typed:?}");
            assert_eq!(menu.current(), Some(wanted), "{typed:?}");
        }
    }

    #[test]
    fn enter_after_text_without_match_chooses_nothing() {
        // The letters `j`, `k`, `q` and a space are text as well.
        for typed in ["99\r", "main\r", "jj\r", "q\r", "kk 1\r", "#7\r"] {
            let mut menu = menu(&[]);
            assert_eq!(type_text(&mut menu, typed), MenuStep::Stay, "{typed:?}");
            assert_eq!(menu.current(), None, "{typed:?}");
        }
        let mut menu = menu(&[]);
        type_text(&mut menu, "docsx\r");
        menu.press(&Key::Backspace);
        assert_eq!(type_text(&mut menu, "\r"), MenuStep::Done);
        assert_eq!(menu.current(), Some(1));
        assert_eq!(menu.press(&Key::Escape), MenuStep::Cancelled);
    }

    #[test]
    fn typed_text_checks_no_other_row() {
        let mut many = menu(&[false, false, true]);
        // The letter `a` used to check every row.
        type_text(&mut many, "a");
        assert_eq!(many.checked, [false, false, true]);
        type_text(&mut many, "dd ");
        assert_eq!(many.checked, [false, true, true]);
        assert_eq!((many.typed.as_str(), many.cursor), ("", 1));
        assert_eq!(type_text(&mut many, "none\r"), MenuStep::Stay);
        type_text(&mut many, " ");
        assert_eq!(many.checked, [false, true, true]);
    }

    #[test]
    fn cursor_moves_among_visible_rows() {
        let mut menu = menu(&[]);
        menu.press(&Key::ArrowUp);
        assert_eq!(menu.current(), Some(2));
        menu.press(&Key::ArrowDown);
        assert_eq!(menu.current(), Some(0));
        type_text(&mut menu, "d");
        menu.press(&Key::Tab);
        assert_eq!(menu.current(), Some(1));
    }

    #[test]
    fn long_row_is_cut_to_the_terminal() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
    }
}
