use super::{
    line::{DiffLine, HeaderKey, LineReader},
    path::{halves, shared_path, unquote_path},
};
use crate::model::FileStatus;

/// The parsed header of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Path at the base; `None` for an added file.
    pub old_path: Option<String>,
    /// Path at the head; `None` for a deleted file.
    pub new_path: Option<String>,
    /// Kind of change.
    pub status: FileStatus,
    /// File mode at the base, if the header states it.
    pub old_mode: Option<u32>,
    /// File mode at the head, if the header states it.
    pub new_mode: Option<u32>,
    /// Similarity of a renamed or copied file, in percent.
    pub similarity: Option<u8>,
    /// Dissimilarity of a file that was rewritten, in percent.
    pub dissimilarity: Option<u8>,
    /// Ids of the contents at the base and at the head, as shortened in the `index` line. An id of
    /// zeros means that the file does not exist.
    pub ids: Option<(String, String)>,
    /// The file is binary. The diff has no lines of its content, but may contain a binary patch.
    pub binary: bool,
    /// The file is text, but the diff leaves out its lines.
    pub lines_left_out: bool,
    /// Both names from the `diff --git` line, used only if no other line names the file.
    names: String,
}

impl Default for FileHeader {
    fn default() -> Self {
        Self {
            old_path: None,
            new_path: None,
            status: FileStatus::Modified,
            old_mode: None,
            new_mode: None,
            similarity: None,
            dissimilarity: None,
            ids: None,
            binary: false,
            lines_left_out: false,
            names: String::new(),
        }
    }
}

impl FileHeader {
    /// Parses the lines from `diff --git` to the first hunk.
    #[must_use]
    pub fn parse(header: &[u8]) -> Self {
        let mut file = Self::default();
        let mut names: &[u8] = &[];
        // The paths in the `---` and `+++` lines, used if no `rename` or `copy` line names the
        // path.
        let (mut old_name, mut new_name) = (None, None);
        let mut reader = LineReader::default();
        for line in header.split_inclusive(|b| *b == b'\n') {
            match reader.read(line) {
                DiffLine::File(both) => names = both,
                DiffLine::Combined(name) => {
                    file.new_path = Some(unquote_path(name));
                    return file;
                }
                DiffLine::Header(HeaderKey::OldName, name) => old_name = side(name, "a/"),
                DiffLine::Header(HeaderKey::NewName, name) => new_name = side(name, "b/"),
                DiffLine::Header(key, value) => file.take(key, value),
                _ => {}
            }
        }
        let shared = shared_path(names).or_else(|| {
            let (old, new) = halves(names)?;
            (old == new).then_some(old)
        });
        let is = |status| file.status == status;
        let (is_added, is_deleted) = (is(FileStatus::Added), is(FileStatus::Deleted));
        file.old_path = file.old_path.or(old_name);
        file.new_path = file.new_path.or(new_name);
        if file.old_path.is_none() && !is_added {
            file.old_path.clone_from(&shared);
        }
        if file.new_path.is_none() && !is_deleted {
            file.new_path = shared;
        }
        if file.old_path.is_none() && file.new_path.is_none() {
            file.names = String::from_utf8_lossy(names).into_owned();
        }
        file
    }

    /// Returns the path at the head, or the path at the base for a deleted file.
    #[must_use]
    pub fn path(&self) -> &str {
        let path = self.new_path.as_ref().or(self.old_path.as_ref());
        path.unwrap_or(&self.names)
    }

    /// Returns the path at the base of a renamed or copied file.
    #[must_use]
    pub fn previous_path(&self) -> Option<&str> {
        match self.status {
            FileStatus::Renamed | FileStatus::Copied => self.old_path.as_deref(),
            FileStatus::Added | FileStatus::Deleted | FileStatus::Modified => None,
        }
    }

    fn take(&mut self, key: HeaderKey, value: &[u8]) {
        match key {
            HeaderKey::OldMode => self.old_mode = mode(value),
            HeaderKey::NewMode => self.new_mode = mode(value),
            HeaderKey::NewFileMode => {
                self.status = FileStatus::Added;
                self.new_mode = mode(value);
            }
            HeaderKey::DeletedFileMode => {
                self.status = FileStatus::Deleted;
                self.old_mode = mode(value);
            }
            HeaderKey::RenameFrom => {
                self.status = FileStatus::Renamed;
                self.old_path = Some(unquote_path(value));
            }
            HeaderKey::RenameTo => {
                self.status = FileStatus::Renamed;
                self.new_path = Some(unquote_path(value));
            }
            HeaderKey::CopyFrom => {
                self.status = FileStatus::Copied;
                self.old_path = Some(unquote_path(value));
            }
            HeaderKey::CopyTo => {
                self.status = FileStatus::Copied;
                self.new_path = Some(unquote_path(value));
            }
            HeaderKey::Similarity => self.similarity = percentage(value),
            HeaderKey::Dissimilarity => self.dissimilarity = percentage(value),
            HeaderKey::Index => {
                let ids = value.split(|b| *b == b' ').next().unwrap_or_default();
                let ids = String::from_utf8_lossy(ids);
                self.ids = ids
                    .split_once("..")
                    .map(|(old, new)| (old.to_owned(), new.to_owned()));
                // The `index` line has a mode only if the mode did not change.
                let modes = value.iter().position(|b| *b == b' ');
                if let Some(both) = modes.and_then(|at| mode(value.get(at + 1..)?)) {
                    (self.old_mode, self.new_mode) = (Some(both), Some(both));
                }
            }
            HeaderKey::BinaryFiles | HeaderKey::BinaryPatch => self.binary = true,
            HeaderKey::LinesLeftOut => self.lines_left_out = true,
            HeaderKey::OldName | HeaderKey::NewName => {}
        }
    }
}

/// Returns the path in a `---` or `+++` line, or `None` if the file does not exist on this side.
fn side(name: &[u8], prefix: &str) -> Option<String> {
    let name = unquote_path(name);
    if name == "/dev/null" {
        return None;
    }
    Some(
        name.strip_prefix(prefix)
            .map_or(name.clone(), str::to_owned),
    )
}

fn percentage(value: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(value).ok()?;
    text.strip_suffix('%')?.parse().ok()
}

fn mode(value: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(value).ok()?, 8).ok()
}
