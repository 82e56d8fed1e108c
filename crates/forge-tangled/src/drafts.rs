//! Drafts: tangled has none, so a configured marker at the start of the title marks a draft.

use forge_core::{Error, ErrorKind, Result};

/// Maximum length of a marker, in characters: the title needs room after it.
const LENGTH_MAX: usize = 32;

/// Marker at the start of the title of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftMarker(String);

impl DraftMarker {
    /// Creates a marker, such as `[draft]`.
    ///
    /// # Errors
    /// `config` for a marker that is empty, has more than 32 characters, or is not on one line.
    pub fn new(text: &str) -> Result<Self> {
        let marker = text.trim();
        let length = marker.chars().count();
        if (1..=LENGTH_MAX).contains(&length) && !marker.contains(char::is_control) {
            return Ok(Self(marker.to_owned()));
        }
        Err(Error::new(
            ErrorKind::Config,
            format!("a draft marker must have 1 to {LENGTH_MAX} characters on one line"),
        )
        .with_hint("write `[draft]`, for example"))
    }

    /// Returns the title without the marker; `None` if this is not the title of a draft. Case does
    /// not matter. The marker must be a whole word, so `wip` does not mark "Wipe the cache". A
    /// title that is only a marker is not a draft.
    pub(crate) fn strip<'t>(&self, title: &'t str) -> Option<&'t str> {
        // Removes repeated markers in a loop, because a stranger's title can have any number of
        // them.
        let mut rest = self.strip_one(title)?;
        while let Some(inner) = self.strip_one(rest) {
            rest = inner;
        }
        Some(rest)
    }

    /// Returns the title without the first marker.
    fn strip_one<'t>(&self, title: &'t str) -> Option<&'t str> {
        let (front, rest) = title.trim().split_at_checked(self.0.len())?;
        let apart = rest.starts_with(char::is_whitespace)
            || self.0.ends_with(|c: char| !c.is_alphanumeric());
        let rest = rest.trim();
        let marked = front.eq_ignore_ascii_case(&self.0) && apart && !rest.is_empty();
        marked.then_some(rest)
    }

    pub(crate) fn marks(&self, title: &str) -> bool {
        self.strip(title).is_some()
    }

    /// Returns the title with the marker, which is added if missing.
    pub(crate) fn add_to(&self, title: &str) -> String {
        match self.marks(title) {
            true => title.to_owned(),
            false => format!("{} {title}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draft_marker_is_added_once_and_stripped_completely() {
        let draft = DraftMarker::new(" [draft] ").unwrap();
        assert_eq!(draft.add_to("Add a"), "[draft] Add a");
        assert_eq!(draft.add_to("[Draft] Add a"), "[Draft] Add a");
        for (title, rest) in [
            ("[draft] Add a", Some("Add a")),
            ("[DRAFT]Add a", Some("Add a")),
            ("[draft] [draft]  Add a", Some("Add a")),
            ("Add a [draft]", None),
            ("[draft]", None),
            ("", None),
            ("ééé", None),
        ] {
            assert_eq!(draft.strip(title), rest, "{title}");
        }
        let many = format!("{}Add a", "[draft]".repeat(200_000));
        assert_eq!(draft.strip(&many), Some("Add a"));
        let wip = DraftMarker::new("wip").unwrap();
        assert_eq!(wip.strip("WIP fix"), Some("fix"));
        assert_eq!(wip.strip("Wipe the cache"), None);
        for bad in ["", "  ", "a\nb", &"x".repeat(33)] {
            assert_eq!(DraftMarker::new(bad).unwrap_err().code(), "config");
        }
    }
}
