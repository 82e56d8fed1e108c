use std::{
    fs::File,
    io::{Read, stdin},
};

use forge_core::{Error, Repo, Result};

use crate::{
    args::output::BodyArgs,
    ctx::Ctx,
    ui::{editor, prompt},
};

/// Returns the text of `--body` or `--body-file`; `None` when neither is given. For a text that
/// replaces another one or must not be empty.
///
/// # Errors
///
/// `invalid_input` if a file is empty, not UTF-8, or longer than the forge accepts.
pub(crate) fn read(args: &BodyArgs, repo: &Repo) -> Result<Option<String>> {
    let (body, file) = (args.body.as_deref(), args.body_file.as_deref());
    let text = read_parts(body, file, repo)?;
    if let Some(source) = empty_source(body, file, text.as_deref()) {
        return Err(Error::invalid("body", format!("{source} is empty"))
            .with_hint("write something into it, or pass --body \"\" for an empty text"));
    }
    Ok(text)
}

/// Like [`read`], for a new text: an empty file is an empty text, with a caution.
pub(crate) fn read_new(
    ctx: &Ctx,
    body: Option<&str>,
    file: Option<&str>,
    repo: &Repo,
) -> Result<Option<String>> {
    let text = read_parts(body, file, repo)?;
    if let Some(source) = empty_source(body, file, text.as_deref()) {
        ctx.ui.caution(&format!("the text is empty: {source} is"));
    }
    Ok(text)
}

/// Returns the name of the file if the text was read from one and is blank.
fn empty_source(body: Option<&str>, file: Option<&str>, text: Option<&str>) -> Option<String> {
    let file = file.filter(|_| body.is_none())?;
    text?.trim().is_empty().then(|| source_name(file))
}

/// Asks whether to edit the description `text` in the editor. If the editor fails, `text` does not
/// change.
pub(crate) fn ask(program: Option<&str>, text: &mut String) -> Result<()> {
    let keep = match text.is_empty() {
        true => "Skip",
        false => "Keep the text as it is",
    };
    if prompt::choose("Body", &["Open the editor", keep])? == 0 {
        *text = editor::edit(program, text)?;
    }
    Ok(())
}

fn source_name(path: &str) -> String {
    match path {
        "-" => "standard input".to_owned(),
        path => format!("body file '{path}'"),
    }
}

fn read_parts(body: Option<&str>, file: Option<&str>, repo: &Repo) -> Result<Option<String>> {
    let max = repo.limits().body_max;
    match (body, file) {
        (Some(body), _) => Ok(Some(body.to_owned())),
        (None, Some(path)) => read_file(path, max).map(Some),
        (None, None) => Ok(None),
    }
}

/// Reads at most `max` characters from a file, or from standard input if `path` is `-`.
pub(super) fn read_file(path: &str, max: usize) -> Result<String> {
    let name = source_name(path);
    let bytes = if path == "-" {
        read_capped(stdin().lock(), max)
    } else {
        File::open(path).and_then(|f| read_capped(f, max))
    };
    let bytes = bytes.map_err(|e| {
        Error::invalid("body", format!("{name} cannot be read: {e}"))
            .with_hint("check the path, or pass the text with --body")
            .with_source(e)
    })?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Error::invalid("body", format!("{name} is not UTF-8 (byte {at})"))
            .with_hint("convert it to UTF-8 first")
    })?;
    let length = text.chars().count();
    if length > max {
        return Err(Error::invalid(
            "body",
            format!("{name} is too long: more than the {max} characters that this forge takes"),
        )
        .with_hint("shorten it, or keep the long part in a file of the branch"));
    }
    Ok(text)
}

/// Reads slightly more bytes than `max` characters can have, and no more. Therefore the function
/// also ends for endless input.
fn read_capped(mut from: impl Read, max: usize) -> std::io::Result<Vec<u8>> {
    let most = u64::try_from(max)
        .unwrap_or(u64::MAX)
        .saturating_mul(4)
        .saturating_add(4);
    let mut bytes = Vec::new();
    from.by_ref().take(most).read_to_end(&mut bytes)?;
    // The limit may have cut the last character, so remove its incomplete bytes.
    if u64::try_from(bytes.len()).is_ok_and(|n| n == most)
        && let Err(e) = std::str::from_utf8(&bytes)
        && e.error_len().is_none()
    {
        bytes.truncate(e.valid_up_to());
    }
    Ok(bytes)
}
