use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
};

use crate::{Error, Result, Warning, text};

/// Maximum length of a path in bytes. Most systems cannot check out a longer path.
const MAX_PATH_BYTES: usize = 4095;
/// Maximum length, in bytes, of the words that a generated branch name takes from the title.
const MAX_SLUG_LENGTH: usize = 40;

/// Maximum number of unchanged files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// The new content of a whole file, or its deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FileEdit {
    /// Path in the repository, with `/` as separator.
    pub path: String,
    /// Complete new content; `None` deletes the file.
    pub content: Option<Vec<u8>>,
    /// Executable bit of the file. `None` keeps the mode; a new file is then not executable.
    pub executable: Option<bool>,
}

/// Git mode of a directory.
const DIRECTORY: u32 = 0o040_000;
/// Git mode of a symbolic link.
const LINK: u32 = 0o120_000;
/// Git mode of a submodule.
const SUBMODULE: u32 = 0o160_000;

impl FileEdit {
    /// Maximum size of the files of one pull request together, in bytes.
    pub const MAX_TOTAL_BYTES: usize = 32 * 1024 * 1024;
    /// Git mode of a file.
    pub const PLAIN: u32 = 0o100_644;
    /// Git mode of an executable file.
    pub const EXECUTABLE: u32 = 0o100_755;

    /// Creates or replaces a file.
    pub fn write(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            content: Some(content.into()),
            executable: None,
        }
    }

    /// Deletes a file.
    pub fn delete(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            content: None,
            executable: None,
        }
    }

    /// Sets the executable bit of the file.
    #[must_use]
    pub fn with_executable(mut self, executable: bool) -> Self {
        self.executable = Some(executable);
        self
    }

    /// Returns the parent directories, from the root down: `a` and `a/b` for `a/b/c`.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        directories(&self.path)
    }

    /// Checks the edits without reading the repository.
    ///
    /// # Errors
    /// `invalid_input` (field `edits`) for:
    ///
    /// - a path that git refuses,
    /// - two edits of the same path,
    /// - an edit that needs a directory where another edit writes a file,
    /// - too many bytes,
    /// - a deletion that sets an executable bit.
    pub fn check(edits: &[Self]) -> Result<()> {
        let bytes: usize = edits.iter().flat_map(|e| &e.content).map(Vec::len).sum();
        if bytes > Self::MAX_TOTAL_BYTES {
            return Err(Error::invalid(
                "edits",
                format!(
                    "the files have {bytes} bytes together, and the maximum is {}",
                    Self::MAX_TOTAL_BYTES
                ),
            )
            .with_hint("make a branch with git, and open the pull request from that branch"));
        }
        let mut paths = BTreeSet::new();
        for edit in edits {
            if let Some(problem) = path_problem(&edit.path) {
                return Err(Error::invalid(
                    "edits",
                    format!("'{}' is not a file path: {problem}", edit.shown()),
                )
                .with_hint("name files from the root of the repository, as in src/main.rs"));
            }
            if edit.content.is_none() && edit.executable.is_some() {
                return Err(Error::invalid(
                    "edits",
                    format!(
                        "'{}' is to be deleted, so it cannot get a mode",
                        edit.shown()
                    ),
                )
                .with_hint("leave out the deletion or the mode"));
            }
            if !paths.insert(edit.path.as_str()) {
                return Err(
                    Error::invalid("edits", format!("'{}' is edited twice", edit.shown()))
                        .with_hint("pass each file once"),
                );
            }
        }
        let written: BTreeSet<&str> = edits
            .iter()
            .filter(|e| e.content.is_some())
            .map(|e| e.path.as_str())
            .collect();
        for path in &written {
            if let Some(above) = directories(path).find(|d| written.contains(d)) {
                return Err(Error::invalid(
                    "edits",
                    format!(
                        "'{}' cannot be a file, because '{}' needs a directory of that name",
                        text::one_line(above),
                        text::one_line(path)
                    ),
                )
                .with_hint("give one of them another name"));
            }
        }
        Ok(())
    }

    /// Returns the git mode of the file after the edit, such as `0o100644`, or `None` for a
    /// deletion. `there` is the mode that the path has in `branch`, or `None` if the path does not
    /// exist there.
    ///
    /// # Errors
    /// `invalid_input` (field `edits`) if the file to delete is missing, or if the path is a
    /// directory, a link or a submodule.
    pub fn mode_on(&self, branch: &str, there: Option<u32>) -> Result<Option<u32>> {
        let (path, branch) = (self.shown(), text::one_line(branch));
        let refused =
            |message: String, hint: &str| Err(Error::invalid("edits", message).with_hint(hint));
        match (there, &self.content) {
            (Some(DIRECTORY), _) => refused(
                format!("'{path}' is a directory in '{branch}', not a file"),
                "name the files in it one by one",
            ),
            (Some(LINK | SUBMODULE), Some(_)) => refused(
                format!("'{path}' is a symbolic link or a submodule in '{branch}', not a file"),
                "change it with git, and open the pull request from that branch",
            ),
            (None, None) => refused(
                format!("'{path}' cannot be deleted: '{branch}' has no such file"),
                "check the name, including upper and lower case",
            ),
            (_, None) => Ok(None),
            (there, Some(_)) => {
                let executable = self.executable.unwrap_or(there == Some(Self::EXECUTABLE));
                Ok(Some(if executable {
                    Self::EXECUTABLE
                } else {
                    Self::PLAIN
                }))
            }
        }
    }

    /// Returns a warning that names the edits which are left out of the commit, because their files
    /// in `branch` are already the same; `None` if `unchanged` is empty.
    ///
    /// # Errors
    /// `invalid_input` (field `edits`) if no edit is left of all `edits`.
    pub fn check_unchanged(
        unchanged: &[&Self],
        edits: &[Self],
        branch: &str,
    ) -> Result<Option<Warning>> {
        if unchanged.is_empty() {
            return Ok(None);
        }
        let named = unchanged.iter().take(MAX_NAMED_FILES);
        let mut files: Vec<String> = named.map(|edit| format!("'{}'", edit.shown())).collect();
        let unnamed = unchanged.len() - files.len();
        if unnamed > 0 {
            files.push(format!("{unnamed} more"));
        }
        let (files, branch) = (files.join(", "), text::one_line(branch));
        if unchanged.len() == edits.len() {
            let message = format!("the edits change nothing in '{branch}': {files}");
            return Err(Error::invalid("edits", message)
                .with_hint("pass at least one file with another content"));
        }
        Ok(Some(Warning::new(format!(
            "left out of the commit, because '{branch}' already has the same content: {files}"
        ))))
    }

    /// Refuses an edit if a parent path of the edited file is itself a file in `branch`, unless
    /// another edit deletes that file.
    ///
    /// # Errors
    /// `invalid_input` (field `edits`).
    pub fn check_directories(
        edits: &[Self],
        branch: &str,
        mode_of: impl Fn(&str) -> Option<u32>,
    ) -> Result<()> {
        for edit in edits.iter().filter(|e| e.content.is_some()) {
            let in_the_way = edit.directories().find(|directory| {
                let goes = || edits.iter().any(|e| e.path == **directory);
                mode_of(directory).is_some_and(|mode| mode != DIRECTORY) && !goes()
            });
            if let Some(path) = in_the_way {
                return Err(Self::path_conflict_error(path, branch));
            }
        }
        Ok(())
    }

    /// Returns the error for an edit whose path conflicts with a file of `branch`.
    #[must_use]
    pub fn path_conflict_error(path: &str, branch: &str) -> Error {
        Error::invalid(
            "edits",
            format!(
                "the edits conflict with '{}', which exists in '{}'",
                text::one_line(path),
                text::one_line(branch)
            ),
        )
        .with_hint("delete that path as well, or give the new file another name")
    }

    /// Returns the path, escaped for a message.
    #[must_use]
    pub fn shown(&self) -> String {
        text::one_line(&self.path).into_owned()
    }

    /// Returns a branch name made of words of the title and a random suffix. The suffix makes the
    /// name unique.
    #[must_use]
    pub fn branch_name(title: &str) -> String {
        let mut slug = String::new();
        for c in title.chars().flat_map(char::to_lowercase) {
            if c.is_ascii_alphanumeric() {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= MAX_SLUG_LENGTH {
                break;
            }
        }
        let slug = match slug.trim_end_matches('-') {
            "" => "edit",
            slug => slug,
        };
        // `RandomState` has random keys from the system, so the same title gets another suffix each
        // time.
        let random = RandomState::new().hash_one(title) & 0xffff_ffff;
        format!("{slug}-{random:08x}")
    }
}

fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Returns the reason why git refuses a path. The reason completes the sentence of an error
/// message.
fn path_problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.len() > MAX_PATH_BYTES {
        return Some("it is longer than 4095 bytes");
    }
    if path.chars().any(char::is_control) {
        return Some("it has a control character in it");
    }
    if path.starts_with('/') {
        return Some("it begins with /");
    }
    path.split('/').find_map(|part| match part {
        "" => Some("a directory in it, or the file, has no name"),
        "." | ".." => Some("it has . or .. in it"),
        part if is_dot_git(part) => Some("git keeps .git for itself"),
        _ => None,
    })
}

/// Returns true for every spelling that some file system treats as `.git`. Like `verify_path` in
/// git's `read-cache.c`, ignores case and the characters that HFS+ and NTFS drop.
fn is_dot_git(part: &str) -> bool {
    let ignored = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    part.split('\\').any(|name| {
        let name: String = name.chars().filter(|c| !ignored(*c)).collect();
        let name = name.split(':').next().unwrap_or_default();
        let name = name.trim_end_matches(['.', ' ']);
        name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(edits: &[FileEdit]) -> String {
        let e = FileEdit::check(edits).unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.hint().is_some());
        e.message().to_owned()
    }

    #[test]
    fn path_refused_by_git_is_refused() {
        for path in [
            "",
            "/etc/passwd",
            "a/",
            "a//b",
            ".",
            "../x",
            "a/../b",
            "a/./b",
            ".git",
            "a/.GIT/config",
            ".git./x",
            "git~1/x",
            ".g\u{200c}it/config",
            "a\\.git\\hooks",
            ".git::$INDEX_ALLOCATION/x",
            "a\0b",
            "a\nb",
            &"x".repeat(4096),
        ] {
            let said = refused(&[FileEdit::write(path, "x")]);
            assert!(said.contains("is not a file path"), "{path:?}: {said}");
        }
        for path in [
            "a",
            ".gitignore",
            ".github/x.yml",
            "a b/c",
            "ä/…",
            "..a/b..",
            "-x",
        ] {
            FileEdit::check(&[FileEdit::write(path, "")]).unwrap();
        }
    }

    #[test]
    fn contradicting_edits_are_refused() {
        let write = |path: &str| FileEdit::write(path, "x");
        assert!(refused(&[write("a"), FileEdit::delete("a")]).contains("edited twice"));
        assert!(refused(&[write("a/b"), write("a")]).contains("cannot be a file"));
        FileEdit::check(&[write("a/b"), FileEdit::delete("a")]).unwrap();
        FileEdit::check(&[write("a/b"), write("ab")]).unwrap();
        let mode = FileEdit {
            executable: Some(true),
            ..FileEdit::delete("a")
        };
        assert!(refused(&[mode]).contains("cannot get a mode"));
    }

    #[test]
    fn edit_mode_depends_on_existing_entry() {
        let write = FileEdit::write("a", "x");
        let program = FileEdit {
            executable: Some(true),
            ..write.clone()
        };
        let mode = |edit: &FileEdit, there| edit.mode_on("main", there).unwrap();
        assert_eq!(mode(&write, None), Some(0o100_644));
        assert_eq!(mode(&write, Some(0o100_755)), Some(0o100_755));
        assert_eq!(mode(&program, None), Some(0o100_755));
        assert_eq!(mode(&FileEdit::delete("a"), Some(0o120_000)), None);
        for (edit, there) in [
            (&write, Some(0o040_000)),
            (&write, Some(0o120_000)),
            (&write, Some(0o160_000)),
            (&FileEdit::delete("a"), Some(0o040_000)),
            (&FileEdit::delete("a"), None),
        ] {
            let e = edit.mode_on("main", there).unwrap_err();
            assert!(e.message().contains("'main'") && e.hint().is_some(), "{e}");
        }
    }

    #[test]
    fn edit_below_a_file_is_refused() {
        let mode_of = |path: &str| match path {
            "a" | "b" => Some(0o040_000),
            "a/b" => Some(0o100_644),
            _ => None,
        };
        let check = |edits: &[FileEdit]| FileEdit::check_directories(edits, "main", mode_of);
        let below = FileEdit::write("a/b/c", "x");
        let e = check(std::slice::from_ref(&below)).unwrap_err();
        assert!(e.message().contains("'a/b'"), "{e}");
        check(&[below, FileEdit::delete("a/b")]).unwrap();
        check(&[FileEdit::write("b/c/d", "x")]).unwrap();
    }

    #[test]
    fn unchanged_edits_are_named_unless_all_are() {
        let paths = ["a", "b", "c", "d", "e", "f", "g"];
        let edits = paths.map(|path| FileEdit::write(path, "x"));
        let unchanged: Vec<_> = edits.iter().take(6).collect();
        let none = FileEdit::check_unchanged(&[], &edits, "main").unwrap();
        assert!(none.is_none());
        let warning = FileEdit::check_unchanged(&unchanged, &edits, "main").unwrap();
        let message = warning.unwrap().message;
        assert!(
            message.ends_with(": 'a', 'b', 'c', 'd', 'e', 1 more"),
            "{message}"
        );
        let e = FileEdit::check_unchanged(&unchanged, &edits[..6], "main").unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains("'main': 'a', "), "{e}");
    }

    #[test]
    fn edits_are_limited_by_bytes_not_files() {
        let many: Vec<_> = (0..5000)
            .map(|n| FileEdit::write(format!("{n}/x"), ""))
            .collect();
        FileEdit::check(&many).unwrap();
        let big = FileEdit::write("a", vec![0; FileEdit::MAX_TOTAL_BYTES + 1]);
        assert!(refused(&[big]).contains("33554433 bytes"));
    }

    #[test]
    fn branch_is_named_after_title() {
        let name = FileEdit::branch_name("Fix: the Ünicode thing, at last!");
        assert!(name.starts_with("fix-the-nicode-thing-at-last-"), "{name}");
        assert!(FileEdit::branch_name("…").starts_with("edit-"));
        assert!(FileEdit::branch_name(&"word ".repeat(99)).len() <= 50);
        assert_ne!(FileEdit::branch_name("x"), FileEdit::branch_name("x"));
    }
}
