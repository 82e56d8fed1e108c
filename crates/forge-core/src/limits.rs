//! Size limits of a forge, and the checks of texts and labels before a write.
//!
//! Lengths are counted in characters. A title is trimmed before the check, as GitHub does. The text
//! of a description or comment is not trimmed.

use serde::Serialize;

use crate::{Action, Arg, Error, Hint, Param, Result, text::one_line};

/// Maximum length of a label's description in characters. It is the same on all forges whose labels
/// have descriptions.
const MAX_LABEL_DESCRIPTION: usize = 100;

/// Maximum size of a file that [`Repos::repo_file`](crate::Repos::repo_file) reads, in bytes.
pub const MAX_REPO_FILE: usize = 1 << 20;

/// Limits that a forge enforces; this program checks them before any write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Maximum length of a title, in characters.
    pub title_max: usize,
    /// Maximum length of a description or comment, in characters.
    pub body_max: usize,
    /// Maximum number of labels on one pull request, if the forge has one.
    pub labels_max: Option<usize>,
    /// Maximum number of pull requests in one page of a list.
    pub page_max: usize,
    /// Whether several accounts may each have an open pull request of the same branches.
    pub has_pull_per_account: bool,
}

static GIVE_TITLE: Hint = Hint::fixed(
    "give it a title",
    Action::again(&[(Param::Title, Arg::Choose)]),
);

static WRITE_SOMETHING: Hint = Hint::fixed(
    "write something",
    Action::again(&[(Param::Body, Arg::Choose)]),
);

impl Limits {
    /// Trims a title and checks that it is one line, not empty and not too long.
    ///
    /// # Errors
    /// `invalid_input` (field `title`).
    pub fn check_title<'t>(&self, title: &'t str) -> Result<&'t str> {
        let title = title.trim();
        if title.is_empty() {
            return Err(Error::invalid("title", "the title is empty").with_hint(&GIVE_TITLE));
        }
        if title.contains(['\n', '\r']) {
            return Err(
                Error::invalid("title", "the title has more than one line").with_hint(
                    "keep only the first line, and move the other lines into the description",
                ),
            );
        }
        check_length("title", title, self.title_max)
            .map_err(|e| e.with_hint("shorten it, and put the rest into the description"))?;
        Ok(title)
    }

    /// Checks that a text is not too long; it may be empty. `field` is the name of the argument.
    ///
    /// # Errors
    /// `invalid_input` (field `field`).
    pub fn check_text(&self, field: &'static str, text: &str) -> Result<()> {
        check_length(field, text, self.body_max).map_err(|e| {
            e.with_hint("shorten it, or commit the long part as a file and refer to the file")
        })
    }

    /// Checks that a text is neither empty nor too long. `field` is the name of the argument.
    ///
    /// # Errors
    /// `invalid_input` (field `field`).
    pub fn check_comment(&self, field: &'static str, text: &str) -> Result<()> {
        if text.trim().is_empty() {
            let message = format!("the {field} is empty");
            return Err(Error::invalid(field, message).with_hint(&WRITE_SOMETHING));
        }
        self.check_text(field, text)
    }

    /// Checks the number of labels on one pull request or issue.
    ///
    /// # Errors
    /// `invalid_input` (field `labels`).
    pub fn check_label_count(&self, count: usize) -> Result<()> {
        let Some(most) = self.labels_max.filter(|most| count > *most) else {
            return Ok(());
        };
        let message = format!("{count} labels are too many: the maximum is {most}");
        Err(Error::invalid("labels", message).with_hint("name fewer labels"))
    }
}

fn check_length(field: &'static str, text: &str, most: usize) -> Result<()> {
    let length = text.chars().count();
    if length <= most {
        return Ok(());
    }
    let message = format!("the {field} has {length} characters, and the maximum is {most}");
    Err(Error::invalid(field, message))
}

/// Trims and checks the name of a label.
///
/// # Errors
/// `invalid_input` (field `name`) for an empty name, more than `most` characters, or a control
/// character.
pub fn check_label_name(name: &str, most: usize) -> Result<&str> {
    let name = name.trim();
    let length = name.chars().count();
    let message = if length == 0 || length > most {
        format!("a label's name has 1 to {most} characters, and this one has {length}")
    } else if name.chars().any(char::is_control) {
        "a label's name has no control character".to_owned()
    } else {
        return Ok(name);
    };
    Err(Error::invalid("name", message).with_hint("choose another name"))
}

/// Converts the colour of a label to six lowercase hex digits, without a leading `#`.
///
/// # Errors
/// `invalid_input` (field `color`).
pub fn check_label_color(color: &str) -> Result<String> {
    let digits = color.strip_prefix('#').unwrap_or(color);
    if digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(digits.to_ascii_lowercase());
    }
    let message = format!("'{}' is not a colour", one_line(color));
    Err(Error::invalid("color", message).with_hint("write six hex digits, such as c0392b"))
}

/// Trims a label's description and checks that it is one line of at most 100 characters.
///
/// # Errors
/// `invalid_input` (field `description`).
pub fn check_label_description(description: &str) -> Result<&str> {
    let description = description.trim();
    let length = description.chars().count();
    if length <= MAX_LABEL_DESCRIPTION && !description.contains(['\n', '\r']) {
        return Ok(description);
    }
    let most = MAX_LABEL_DESCRIPTION;
    let message = format!("a label's description is one line of at most {most} characters");
    Err(Error::invalid("description", message).with_hint("shorten it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        title_max: 5,
        body_max: 7,
        labels_max: Some(2),
        page_max: 1,
        has_pull_per_account: false,
    };

    #[test]
    fn title_is_trimmed_before_check() {
        assert_eq!(LIMITS.check_title(" \tätsch\n").unwrap(), "ätsch");
        for (title, problem) in [
            (" \n", "the title is empty"),
            ("a\nb", "the title has more than one line"),
            ("longer", "the title has 6 characters, and the maximum is 5"),
        ] {
            let e = LIMITS.check_title(title).unwrap_err();
            assert_eq!((e.code(), e.message()), ("invalid_input", problem));
        }
    }

    #[test]
    fn empty_text_is_accepted_and_empty_comment_refused() {
        assert!(LIMITS.check_text("body", " ").is_ok());
        assert!(LIMITS.check_comment("body", " seven ").is_ok());
        let message = |checked: Result<()>| checked.unwrap_err().message().to_owned();
        let long = "the body has 8 characters, and the maximum is 7";
        assert_eq!(message(LIMITS.check_text("body", "12345678")), long);
        assert_eq!(message(LIMITS.check_comment("body", "12345678")), long);
        assert_eq!(
            message(LIMITS.check_comment("comment", "\n ")),
            "the comment is empty"
        );
        assert!(LIMITS.check_label_count(2).is_ok() && LIMITS.check_label_count(3).is_err());
    }

    #[test]
    fn label_parts_are_normalised_or_refused() {
        assert_eq!(check_label_name(" bug ", 3).unwrap(), "bug");
        for name in [" ", "bugs", "a\nb"] {
            assert!(check_label_name(name, 3).is_err(), "{name}");
        }
        assert_eq!(check_label_color("#ABCDEF").unwrap(), "abcdef");
        assert!(check_label_color("red").is_err() && check_label_color("12345é").is_err());
        assert_eq!(check_label_description(" a b ").unwrap(), "a b");
        assert!(check_label_description(&"x".repeat(101)).is_err());
        assert!(check_label_description("a\nb").is_err());
    }
}
