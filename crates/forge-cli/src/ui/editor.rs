//! Text input with an editor.

use std::{
    fs,
    io::{ErrorKind as Io, Write as _},
    process::Command,
};

use forge_core::{Error, ErrorKind, Result};
use forge_git::without_secrets;

use super::{Ui, io_error, words};

/// Refuses the flag `--editor` of a command that creates something, if no terminal is there. gh does
/// the same. The editor would wait for keys that nobody presses.
///
/// # Errors
///
/// `invalid_input` without a terminal.
pub fn check_flag(ui: &Ui, is_given: bool) -> Result<()> {
    if is_given && !ui.can_prompt() {
        let message = "the `--editor` flag needs a terminal";
        return Err(Error::invalid("body", message)
            .with_hint("omit `--editor`, and pass `--title` and `--body`"));
    }
    Ok(())
}

/// Opens `initial` in the editor, and returns the saved text.
///
/// # Errors
///
/// `config` if the editor cannot be started, `cancelled` if it exits with a failure,
/// `invalid_input` if the saved text is not UTF-8.
pub fn edit(editor: Option<&str>, initial: &str) -> Result<String> {
    let command = editor.unwrap_or(if cfg!(windows) { "notepad" } else { "vi" });
    let words = words::split(command).unwrap_or_default();
    let Some((program, args)) = words.split_first() else {
        return Err(Error::new(
            ErrorKind::Config,
            format!("the editor '{command}' is not a command"),
        )
        .with_hint("set FORGE_EDITOR, or pass the text with --body or --body-file"));
    };
    let mut file = tempfile::Builder::new()
        .suffix(".md")
        .tempfile()
        .map_err(io_error)?;
    file.write_all(initial.as_bytes())
        .and_then(|()| file.flush())
        .map_err(io_error)?;
    // An editor may replace the file, so the text is read from the path, not from the open handle.
    let path = file.into_temp_path();
    let mut editor = Command::new(program);
    editor.args(args).arg(&path);
    let status = without_secrets(&mut editor).status().map_err(|e| {
        Error::new(
            ErrorKind::Config,
            format!("the editor '{program}' could not be started: {e}"),
        )
        .with_hint("set FORGE_EDITOR to a program that exists")
        .with_source(e)
    })?;
    if !status.success() {
        return Err(Error::new(
            ErrorKind::Cancelled,
            format!("the editor '{program}' ended with a failure; nothing was changed"),
        )
        .with_hint("run the command again, or pass the text with flags"));
    }
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == Io::InvalidData => {
            Err(Error::invalid("body", "the saved text is not UTF-8")
                .with_hint("save the text as UTF-8, or pass it with flags"))
        }
        Err(e) => Err(io_error(e)),
    }
}
