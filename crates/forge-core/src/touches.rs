//! Matches changed files against paths, directories and globs.

use crate::{
    Error, Result, Warning, glob,
    model::{FileChange, PullQuery},
};

/// Maximum number of pull requests examined for one page of a list that is filtered by changed
/// files.
pub const MAX_TOUCH_SCAN: u64 = 300;

/// A filter of paths, directories and globs, relative to the root of the repository.
///
/// A path matches itself and, as a directory, everything below it. A glob follows the rules of
/// [`glob::matches`]; a glob without a `/` also matches file names in any directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFilter(Vec<String>);

impl PathFilter {
    /// Returns the path filter of a query, or `None` if the query has no paths.
    ///
    /// # Errors
    /// `invalid_input` (field `touches`) for a path that names no file below the root of the
    /// repository.
    pub fn of(query: &PullQuery) -> Result<Option<Self>> {
        match query.touches.is_empty() {
            true => Ok(None),
            false => Self::new(&query.touches).map(Some),
        }
    }

    /// Parses paths from user input. Ignores a leading `./` and a trailing `/`.
    ///
    /// # Errors
    /// The errors of [`Self::of`].
    pub fn new(paths: &[impl AsRef<str>]) -> Result<Self> {
        let paths = paths.iter().map(|path| {
            let written = path.as_ref();
            let path = written.trim_start_matches("./").trim_end_matches('/');
            let is_outside = path.starts_with('/') || path.split('/').any(|part| part == "..");
            if path.is_empty() || path == "." || is_outside {
                let why = format!("'{written}' names no file of the repository");
                let hint = "name a file, a directory or a glob relative to the repository's root, \
                            such as src/main.rs";
                return Err(Error::invalid("touches", why).with_hint(hint));
            }
            Ok(path.to_owned())
        });
        paths.collect::<Result<Vec<_>>>().map(Self)
    }

    /// Returns true if the filter matches `path`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let is_below = |dir: &str| {
            let rest = path.strip_prefix(dir);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut all = self.0.iter();
        all.any(|named| is_below(named) || glob::is_pattern(named) && glob::matches(named, path))
    }

    /// Returns true if the filter matches the path or previous path of one of `files`.
    #[must_use]
    pub fn is_touched_by(&self, files: &[FileChange]) -> bool {
        let mut names = files.iter().flat_map(FileChange::names);
        names.any(|name| self.matches(name))
    }

    /// Returns the warning for a page that ended early because [`MAX_TOUCH_SCAN`] was reached.
    #[must_use]
    pub fn scan_ended(&self) -> Warning {
        let paths = self.0.join(", ");
        let message = format!(
            "the files of {MAX_TOUCH_SCAN} pull requests were compared with {paths}, and there are \
             more pull requests"
        );
        Warning::new(message)
            .with_hint("narrow the list with another filter, such as the base branch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FileStatus;

    #[test]
    fn path_filter_matches_paths_directories_and_globs() {
        for (named, path, is_match) in [
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "lib/src/a.rs", false),
            ("src", "src/deep/a.rs", true),
            ("./src/", "src/a.rs", true),
            ("src", "src.rs", false),
            ("a.rs", "src/a.rs", false),
            ("*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**", "src/deep/a.rs", true),
            ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
        ] {
            let filter = PathFilter::new(&[named]).unwrap();
            assert_eq!(filter.matches(path), is_match, "{named} {path}");
        }
    }

    #[test]
    fn path_filter_matches_previous_path() {
        let renamed = FileChange {
            path: "new.rs".to_owned(),
            previous_path: Some("old.rs".to_owned()),
            status: FileStatus::Renamed,
            additions: None,
            deletions: None,
        };
        let filter = PathFilter::new(&["none", "old.rs"]).unwrap();
        assert!(filter.is_touched_by(&[renamed]));
        assert!(!filter.is_touched_by(&[]));
    }

    #[test]
    fn path_outside_the_repository_is_refused() {
        for path in ["", ".", "./", "/etc", "../x", "a/../b"] {
            let error = PathFilter::new(&[path]).unwrap_err();
            assert_eq!(error.code(), "invalid_input", "{path}");
        }
    }
}
