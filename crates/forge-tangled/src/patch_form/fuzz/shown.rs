//! Applies the changes that forge shows to a tree, at exactly the places that forge shows.

use std::collections::BTreeMap;

use forge_core::{
    diff::{self, FileDiff},
    model::FileStatus,
};
use forge_testkit::GitDir;
use sha1::{Digest as _, Sha1};

pub(super) type Tree = BTreeMap<String, TreeEntry>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub mode: u32,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    /// Binary content that is known by its id.
    Id(String),
    /// The commit of a submodule.
    Submodule(String),
    /// Lines that forge shows.
    Changed {
        /// The content with the changes at the shown places, if they fit there.
        placed: Option<Vec<u8>>,
        old: Vec<u8>,
        removed: Vec<Vec<u8>>,
        added: Vec<Vec<u8>>,
    },
}

impl Content {
    pub fn placed_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Changed { placed, .. } => placed.as_deref(),
            Self::Id(_) | Self::Submodule(_) => None,
        }
    }
}

pub(super) fn blob_id(bytes: &[u8]) -> String {
    let mut hash = Sha1::default();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a tree. `contents` has the known blobs by their ids.
pub(super) fn read_tree(
    git: &GitDir,
    commit: &str,
    contents: &mut BTreeMap<String, Vec<u8>>,
) -> Tree {
    let text = git.run(["ls-tree", "-r", "-z", commit]).text();
    let rows = text.split('\0').filter_map(|row| row.split_once('\t'));
    rows.map(|(meta, path)| {
        let words: Vec<&str> = meta.split(' ').collect();
        let mode = u32::from_str_radix(words[0], 8).unwrap();
        let id = words[2].to_owned();
        let content = if words[1] == "commit" {
            Content::Submodule(id)
        } else {
            let known = contents
                .entry(id.clone())
                .or_insert_with(|| git.run(["cat-file", "blob", &id]).output().success().stdout);
            Content::Bytes(known.clone())
        };
        (path.to_owned(), TreeEntry { mode, content })
    })
    .collect()
}

/// Returns a tree with the changes of a diff. All files of a diff start from the same tree.
pub(super) fn apply_shown(tree: &Tree, diff: &[u8], is_mail: bool) -> Result<Tree, String> {
    let files = diff::files(diff);
    let mut changed = tree.clone();
    for file in &files {
        let header = &file.header;
        let is_gone = matches!(header.status, FileStatus::Deleted | FileStatus::Renamed);
        if let (true, Some(old)) = (is_gone, &header.old_path) {
            changed.remove(old);
        }
    }
    for file in &files {
        let header = &file.header;
        let Some(new) = &header.new_path else {
            continue;
        };
        let before = header
            .old_path
            .as_ref()
            .map(|old| tree.get(old).ok_or_else(|| format!("{old} does not exist")));
        let before = before.transpose()?;
        let is_mode_changed = header.old_mode != header.new_mode;
        let mode = match before {
            Some(entry) if !is_mode_changed => entry.mode,
            _ => header
                .new_mode
                .ok_or_else(|| format!("{new} has no mode"))?,
        };
        let old = match before.map(|entry| &entry.content) {
            None => Vec::new(),
            Some(Content::Bytes(bytes)) => bytes.clone(),
            Some(Content::Submodule(id)) => format!("Subproject commit {id}\n").into_bytes(),
            Some(other) => return Err(format!("{new} starts from {other:?}")),
        };
        let content = change_content(file, &old, mode, is_mail);
        changed.insert(new.clone(), TreeEntry { mode, content });
    }
    Ok(changed)
}

fn change_content(file: &FileDiff<'_>, old: &[u8], mode: u32, is_mail: bool) -> Content {
    if file.header.binary {
        let (_, id) = file.header.ids.clone().unwrap_or_default();
        return Content::Id(id);
    }
    let old_lines: Vec<&[u8]> = old.split_inclusive(|b| *b == b'\n').collect();
    let mut out: Vec<Vec<u8>> = Vec::new();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut fits = true;
    for hunk in &file.hunks {
        let start = hunk.header.old_start as usize;
        let start = if hunk.header.old_count == 0 {
            start
        } else {
            start - 1
        };
        for line in old_lines.get(at..start).unwrap_or_default() {
            out.push(line.to_vec());
        }
        fits &= start >= at && start <= old_lines.len();
        at = start;
        for (kind, line) in hunk_lines(hunk.raw, is_mail) {
            if kind != b'+' {
                fits &= old_lines.get(at).copied() == Some(&*line);
                at += 1;
            }
            if kind != b'-' {
                out.push(line.clone());
            }
            match kind {
                b'-' => removed.push(line),
                b'+' => added.push(line),
                _ => {}
            }
        }
    }
    for line in old_lines.get(at..).unwrap_or_default() {
        out.push(line.to_vec());
    }
    let bytes = out.concat();
    if mode == 0o160_000 && fits {
        let text = String::from_utf8_lossy(&bytes);
        let id = text.trim_end().trim_start_matches("Subproject commit ");
        return Content::Submodule(id.to_owned());
    }
    Content::Changed {
        placed: fits.then_some(bytes),
        old: old.to_vec(),
        removed,
        added,
    }
}

/// Returns the lines of a hunk, each with its first character. `git am` removes the CR at the end
/// of a line.
fn hunk_lines(raw: &[u8], is_mail: bool) -> Vec<(u8, Vec<u8>)> {
    let mut lines: Vec<(u8, Vec<u8>)> = Vec::new();
    for line in raw.split_inclusive(|b| *b == b'\n').skip(1) {
        let (kind, text) = match line {
            b"\n" => (b' ', line),
            [kind, text @ ..] => (*kind, text),
            [] => continue,
        };
        if kind == b'\\' {
            if let Some((_, last)) = lines.last_mut() {
                last.pop();
            }
            continue;
        }
        let text = match text.strip_suffix(b"\r\n") {
            Some(text) if is_mail => [text, b"\n"].concat(),
            _ => text.to_vec(),
        };
        lines.push((kind, text));
    }
    lines
}

/// Compares the tree that forge shows with the one that git made. Returns true if lines are at
/// another place than shown.
pub(super) fn compare_trees(shown: &Tree, actual: &Tree) -> Result<bool, String> {
    if !shown.keys().eq(actual.keys()) {
        let shown: Vec<_> = shown.keys().collect();
        let actual: Vec<_> = actual.keys().collect();
        return Err(format!("paths {shown:?}, but git has {actual:?}"));
    }
    let mut is_moved = false;
    for (path, entry) in shown {
        let other = &actual[path];
        if entry.mode != other.mode {
            return Err(format!(
                "{path}: mode {:o}, but git has {:o}",
                entry.mode, other.mode
            ));
        }
        match (&entry.content, &other.content) {
            (content, other) if content == other => {}
            (Content::Id(id), Content::Bytes(bytes)) if *id == blob_id(bytes) => {}
            (content, Content::Bytes(bytes)) if content.placed_bytes() == Some(bytes) => {}
            (
                Content::Changed {
                    old,
                    removed,
                    added,
                    ..
                },
                Content::Bytes(bytes),
            ) if is_same_sum(old, bytes, removed, added) => is_moved = true,
            (Content::Changed { added, .. }, Content::Submodule(id))
                if added.concat() == format!("Subproject commit {id}\n").into_bytes() =>
            {
                is_moved = true;
            }
            (content, other) => return Err(format!("{path}: {content:?}, but git has {other:?}")),
        }
    }
    Ok(is_moved)
}

/// Returns true if the lines of `new` are those of `old` without `removed` and with `added`.
fn is_same_sum(old: &[u8], new: &[u8], removed: &[Vec<u8>], added: &[Vec<u8>]) -> bool {
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let lines = bytes.split_inclusive(|b| *b == b'\n');
        lines.map(|line| line.trim_ascii_end().to_vec()).collect()
    };
    let trimmed = |lines: &[Vec<u8>]| -> Vec<Vec<u8>> {
        lines
            .iter()
            .map(|line| line.trim_ascii_end().to_vec())
            .collect()
    };
    let mut left = [lines(old), trimmed(added)].concat();
    let mut right = [lines(new), trimmed(removed)].concat();
    left.sort();
    right.sort();
    left == right
}
