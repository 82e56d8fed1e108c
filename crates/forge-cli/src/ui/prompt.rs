//! Questions on a terminal.

use std::{
    future::{Future as _, poll_fn},
    io::{BufRead as _, Write as _, stderr, stdin},
    pin::pin,
    process,
    sync::mpsc,
    thread,
};

use dialoguer::{Confirm, Input, MultiSelect, Select, theme::ColorfulTheme};
use forge_core::{Error, ErrorKind, Result};

use super::io_error;
use crate::exit::Exit;

/// Ctrl+C while a question is open is an answer: exit code 2, as gh has it, and a cursor that is
/// visible again. The question keeps the main thread busy, so another one waits for the signal.
fn interruptible() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let (listens, listening) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let Ok(runtime) = runtime else { return };
            let interrupted = runtime.block_on(async {
                let mut interrupt = pin!(tokio::signal::ctrl_c());
                poll_fn(|cx| {
                    // The first poll takes the signal over.
                    let state = interrupt.as_mut().poll(cx);
                    let _ = listens.send(());
                    state
                })
                .await
            });
            if interrupted.is_ok() {
                let _ = writeln!(stderr(), "\x1b[?25h");
                process::exit(i32::from(Exit::Cancelled.code()));
            }
        });
        // Nothing is asked before somebody listens: until then the signal would just kill. An error
        // means that nobody will, and then it does.
        let _ = listening.recv();
    });
}

fn failed(e: dialoguer::Error) -> Error {
    match e {
        dialoguer::Error::IO(e) if e.kind() == std::io::ErrorKind::Interrupted => cancelled(),
        dialoguer::Error::IO(e) => io_error(e),
    }
}

/// The user does not want to go on.
#[must_use]
pub fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled; nothing was changed")
}

/// A line of text.
///
/// # Errors
/// `cancelled`; when the terminal cannot be used.
pub fn line(question: &str, default: &str) -> Result<String> {
    interruptible();
    let theme = ColorfulTheme::default();
    let input = Input::<String>::with_theme(&theme)
        .with_prompt(question)
        .allow_empty(true);
    let input = if default.is_empty() {
        input
    } else {
        input.default(default.to_owned())
    };
    input.interact_text().map_err(failed)
}

/// A line of text that stands there already, to be changed.
///
/// # Errors
/// As [`line`].
pub fn edit_line(question: &str, text: &str) -> Result<String> {
    interruptible();
    Input::<String>::with_theme(&ColorfulTheme::default())
        .with_prompt(question)
        .with_initial_text(text)
        .allow_empty(true)
        .interact_text()
        .map_err(failed)
}

/// One of several; its position.
///
/// # Errors
/// `cancelled` with Escape; when the terminal cannot be used.
pub fn choose(question: &str, items: &[&str]) -> Result<usize> {
    choose_from(question, items, 0)
}

/// As [`choose`], where Enter takes the item at `default`.
///
/// # Errors
/// As [`choose`].
pub fn choose_from(question: &str, items: &[&str], default: usize) -> Result<usize> {
    interruptible();
    Select::with_theme(&ColorfulTheme::default())
        .with_prompt(question)
        .items(items)
        .default(default)
        .interact_opt()
        .map_err(failed)?
        .ok_or_else(cancelled)
}

/// Any of several, each with whether it is chosen already; the positions of those chosen.
///
/// # Errors
/// As [`choose`].
pub fn choose_many(question: &str, items: &[(&str, bool)]) -> Result<Vec<usize>> {
    interruptible();
    MultiSelect::with_theme(&ColorfulTheme::default())
        .with_prompt(format!("{question} (space to select, enter to go on)"))
        .items_checked(items.iter().copied())
        .interact_opt()
        .map_err(failed)?
        .ok_or_else(cancelled)
}

/// Yes or no; Enter alone is no.
///
/// # Errors
/// As [`choose`].
pub fn confirm(question: &str) -> Result<bool> {
    yes_or_no(question, false)
}

/// The last question before something is published; Enter alone is yes, as for gh.
///
/// # Errors
/// As [`choose`]; `cancelled` with no.
pub fn submit() -> Result<()> {
    match yes_or_no("Submit?", true)? {
        true => Ok(()),
        false => Err(cancelled()),
    }
}

fn yes_or_no(question: &str, default: bool) -> Result<bool> {
    interruptible();
    Confirm::with_theme(&ColorfulTheme::default())
        .with_prompt(question)
        .default(default)
        // Whoever types `y` and Enter must not answer the next question with the Enter.
        .wait_for_newline(true)
        .interact_opt()
        .map_err(failed)?
        .ok_or_else(cancelled)
}

/// Waits for Enter behind `words`.
///
/// # Errors
/// `cancelled` where the input ends; when the terminal cannot be used.
pub fn press_enter(words: &str) -> Result<()> {
    interruptible();
    let mut err = stderr().lock();
    write!(err, "{words} ")
        .and_then(|()| err.flush())
        .map_err(io_error)?;
    drop(err);
    let mut line = String::new();
    match stdin().lock().read_line(&mut line).map_err(io_error)? {
        0 => Err(cancelled()),
        _ => Ok(()),
    }
}
