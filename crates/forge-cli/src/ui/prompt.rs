//! Questions on a terminal.

use std::{
    fmt,
    future::{Future as _, poll_fn},
    io::{BufRead as _, Write as _, stderr, stdin},
    panic,
    pin::pin,
    process,
    sync::mpsc,
    thread,
};

use dialoguer::{
    Confirm, Input,
    theme::{ColorfulTheme, Theme},
};
use forge_core::{Error, ErrorKind, Result};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::{io_error, menu};
use crate::{exit::Exit, signals};

/// Handles Ctrl+C at a prompt. As in gh, the program ends with exit code 2. Before that, it
/// restores the cursor, and the echo of typed keys, which a prompt for a secret turns off. A prompt
/// blocks the runtime, so a separate thread waits for the signal.
fn interruptible() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        signals::leave_interrupt_to_prompt();
        let modes = tcgetattr(stdin()).ok();
        let (listens, listening) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let Ok(runtime) = runtime else { return };
            let interrupted = runtime.block_on(async {
                let mut interrupt = pin!(tokio::signal::ctrl_c());
                poll_fn(|cx| {
                    // The first poll installs the signal handler.
                    let state = interrupt.as_mut().poll(cx);
                    let _ = listens.send(());
                    state
                })
                .await
            });
            if interrupted.is_ok() {
                signals::end_git_processes();
                if let Some(modes) = modes {
                    let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
                }
                let _ = writeln!(stderr(), "\x1b[?25h");
                process::exit(i32::from(Exit::Cancelled.code()));
            }
        });
        // Waits until the signal handler is installed, because without a handler, the signal would
        // kill the process. A receive error means that the handler cannot be installed.
        let _ = listening.recv();
    });
}

/// Runs a prompt.
///
/// A signal such as `SIGCHLD`, which a dropped git process raises when it ends, interrupts the wait
/// for a key. `console` would report this as Ctrl+C. The kernel delivers signals to the main thread
/// first, so the prompt has its own thread.
///
/// # Errors
/// `cancelled` if the user cancels; other kinds if the terminal is not usable.
pub fn ask<T: Send>(prompt: impl FnOnce() -> dialoguer::Result<T> + Send) -> Result<T> {
    interruptible();
    thread::scope(|scope| scope.spawn(prompt).join())
        .unwrap_or_else(|panic| panic::resume_unwind(panic))
        .map_err(failed)
}

fn failed(e: dialoguer::Error) -> Error {
    match e {
        dialoguer::Error::IO(e) if e.kind() == std::io::ErrorKind::Interrupted => cancelled(),
        dialoguer::Error::IO(e) => io_error(e),
    }
}

/// Returns the error for a cancelled prompt.
#[must_use]
pub fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled; nothing was changed")
}

/// Asks for a line of text.
///
/// # Errors
///
/// `cancelled` if the user cancels; other kinds if the terminal is not usable.
pub fn line(question: &str, default: &str) -> Result<String> {
    valid_line(question, default, |_| Ok(()))
}

/// Asks for a title until it is not empty.
///
/// # Errors
/// The errors of [`line()`].
pub fn title(default: &str) -> Result<String> {
    valid_line("Title", default, |typed| match typed.trim().is_empty() {
        true => Err("the title is empty"),
        false => Ok(()),
    })
}

fn valid_line(
    question: &str,
    default: &str,
    check: fn(&str) -> std::result::Result<(), &'static str>,
) -> Result<String> {
    ask(|| {
        let theme = ColorfulTheme::default();
        let input = Input::<String>::with_theme(&theme)
            .with_prompt(question)
            .allow_empty(true)
            .validate_with(move |typed: &String| check(typed));
        let input = if default.is_empty() {
            input
        } else {
            input.default(default.to_owned())
        };
        input.interact_text()
    })
}

/// Asks for a line of text, prefilled with `text`.
///
/// # Errors
/// The errors of [`line()`].
pub fn edit_line(question: &str, text: &str) -> Result<String> {
    ask(|| {
        Input::<String>::with_theme(&ColorfulTheme::default())
            .with_prompt(question)
            .with_initial_text(text)
            .allow_empty(true)
            .interact_text()
    })
}

/// Asks for one of several items; returns the position of the chosen item. Typed text filters the
/// items.
///
/// # Errors
///
/// `cancelled` on Escape; other kinds if the terminal is not usable.
pub fn choose(question: &str, items: &[&str]) -> Result<usize> {
    choose_from(question, items, 0)
}

/// Like [`choose`], with a default item.
///
/// # Errors
/// The errors of [`choose`].
pub fn choose_from(question: &str, items: &[&str], default: usize) -> Result<usize> {
    ask(|| menu::choose_row(&ColorfulTheme::default(), question, items, default))?
        .ok_or_else(cancelled)
}

/// The theme for choosing several items. The theme marks the current row by a cursor. The default
/// theme marks it only by colour, which not every terminal supports.
struct WithCursor(ColorfulTheme);

impl Theme for WithCursor {
    fn format_multi_select_prompt(&self, f: &mut dyn fmt::Write, prompt: &str) -> fmt::Result {
        self.0.format_multi_select_prompt(f, prompt)
    }

    fn format_multi_select_prompt_selection(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        selections: &[&str],
    ) -> fmt::Result {
        self.0
            .format_multi_select_prompt_selection(f, prompt, selections)
    }

    fn format_multi_select_prompt_item(
        &self,
        f: &mut dyn fmt::Write,
        text: &str,
        checked: bool,
        active: bool,
    ) -> fmt::Result {
        let cursor = match active {
            true => &self.0.active_item_prefix,
            false => &self.0.inactive_item_prefix,
        };
        write!(f, "{cursor} ")?;
        self.0
            .format_multi_select_prompt_item(f, text, checked, active)
    }
}

/// Asks for any of several items; returns the chosen positions. An item is preselected if its flag
/// is true.
///
/// # Errors
/// The errors of [`choose`].
pub fn choose_many(question: &str, items: &[(&str, bool)]) -> Result<Vec<usize>> {
    let question = format!("{question} (space to select, enter to go on)");
    ask(|| menu::choose_rows(&WithCursor(ColorfulTheme::default()), &question, items))?
        .ok_or_else(cancelled)
}

/// Asks yes or no; the default is no.
///
/// # Errors
/// The errors of [`choose`].
pub fn confirm(question: &str) -> Result<bool> {
    confirm_yes_or_no(question, false)
}

/// Asks before publishing; the default is yes, as in gh.
///
/// # Errors
///
/// The errors of [`choose`]; `cancelled` for no.
pub fn submit() -> Result<()> {
    match confirm_yes_or_no("Submit?", true)? {
        true => Ok(()),
        false => Err(cancelled()),
    }
}

fn confirm_yes_or_no(question: &str, default: bool) -> Result<bool> {
    ask(|| {
        Confirm::with_theme(&ColorfulTheme::default())
            .with_prompt(question)
            .default(default)
            // Reads the Enter after a typed `y`, so that it does not answer the next question.
            .wait_for_newline(true)
            .interact_opt()
    })?
    .ok_or_else(cancelled)
}

/// Shows `words` and waits for Enter.
///
/// # Errors
///
/// `cancelled` if the input ends; other kinds if the terminal is not usable.
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
