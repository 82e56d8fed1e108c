//! Opens pages for `--web`.

use std::process::{Command, Stdio};

use forge_core::{Error, ErrorKind, Result, text};
use forge_git::without_secrets;

use super::{Ui, words};

/// Opens a page.
///
/// # Errors
///
/// `invalid_input` if the URL is not a web page, such as that of a local repository, or if it has a
/// user name; `config` if the browser cannot be started.
pub fn open(ui: &Ui, browser: Option<&str>, url: &str) -> Result<()> {
    if !(url.starts_with("https://") || url.starts_with("http://")) {
        return Err(Error::invalid(
            "web",
            format!(
                "there is no web page to open: {} is not on a web server",
                text::one_line(url)
            ),
        )
        .with_hint("leave out --web"));
    }
    if has_user(url) {
        return Err(Error::invalid(
            "web",
            format!(
                "the page URL that the forge sent has a user name, which can look like a host: {}",
                text::one_line(url)
            ),
        )
        .with_hint("open the page yourself if you trust its host, which is after the '@'"));
    }
    let system = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let command = browser.unwrap_or(system);
    let words = words::split(command).unwrap_or_default();
    let Some((program, args)) = words.split_first() else {
        return Err(Error::new(
            ErrorKind::Config,
            format!("the browser '{command}' is not a command"),
        )
        .with_hint(format!("set FORGE_BROWSER, or open {url} yourself")));
    };
    if ui.err_is_tty() {
        ui.note(&format!("Opening {} in your browser.", text::one_line(url)));
    }
    ui.flush()?;
    let mut browser = Command::new(program);
    browser.args(args).arg(url).stdin(Stdio::null());
    match without_secrets(&mut browser).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("ended with {status}")),
        Err(e) => Err(format!("could not be started: {e}")),
    }
    .map_err(|why| {
        Error::new(ErrorKind::Config, format!("the browser '{program}' {why}"))
            .with_hint(format!("set FORGE_BROWSER, or open {url} yourself"))
    })
}

/// Returns true if a URL has a user name before its host: `https://github.com@other.example/`.
fn has_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '\\', '?', '#']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::has_user;

    #[test]
    fn user_name_in_url_is_detected() {
        assert!(has_user("https://github.com@other.example/a/b"));
        assert!(has_user("https://a:b@other.example"));
        assert!(!has_user("https://github.com/a/b?c=@d"));
        assert!(!has_user("http://127.0.0.1:8080/@a"));
    }
}
