//! What can be checked before anything is sent.

use forge_core::{Error, Result};

use crate::caps::CAPABILITIES;

/// A title: one line, not empty, not too long.
pub(crate) fn title(text: &str) -> Result<()> {
    let max = CAPABILITIES.limits.title_max;
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err(
            Error::invalid("title", "the title is empty").with_hint("pass --title with one line")
        );
    }
    if text.contains(['\n', '\r']) {
        return Err(Error::invalid("title", "the title has more than one line")
            .with_hint("keep the first line as title, and put the rest into the description"));
    }
    if length > max {
        return Err(Error::invalid(
            "title",
            format!("the title has {length} characters; {max} are allowed"),
        )
        .with_hint("shorten it, and put the rest into the description"));
    }
    Ok(())
}

/// A text of any number of lines; `field` is what it is called.
pub(crate) fn body(field: &'static str, text: &str) -> Result<()> {
    let max = CAPABILITIES.limits.body_max;
    let length = text.chars().count();
    if length > max {
        return Err(Error::invalid(
            field,
            format!("the {field} has {length} characters; {max} are allowed"),
        )
        .with_hint("shorten it, or link to the long version"));
    }
    Ok(())
}

/// A text that must say something.
pub(crate) fn said(field: &'static str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(
            Error::invalid(field, format!("the {field} is empty")).with_hint("write something")
        );
    }
    body(field, text)
}

/// A number of labels.
pub(crate) fn labels(names: &[String]) -> Result<()> {
    let max = CAPABILITIES.limits.labels_max;
    if names.len() > max {
        return Err(Error::invalid(
            "labels",
            format!("{} labels; {max} are allowed", names.len()),
        )
        .with_hint("name fewer"));
    }
    Ok(())
}
