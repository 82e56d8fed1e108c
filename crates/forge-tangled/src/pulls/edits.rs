//! Turns whole-file edits into a patch, the content of a round.
//!
//! No clone is needed: the commit is made from the files on the knot (the git server), and is
//! printed in the format of `git format-patch`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge_core::{
    Error, ErrorKind, Precondition, Result, Timestamp, Warning,
    limits::MAX_REPO_FILE,
    model::{CreatePull, DirectoryEntry, FileContent, FileEdit, PathContent},
    text::one_line,
};
use forge_git::{Git, TreeEntry, applied_mail_args};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use tempfile::TempDir;

use crate::{
    KnotAnswers, Tangled, blocking,
    field_rename::{Answer, AnswerField},
    identity::AccountIdentity,
    json_field::null_as_default,
    knot::{Checked, no_branch},
    patch::Patch,
    repository::TangledRepository,
    sources::IN_FLIGHT,
    xrpc_error,
};

/// A file of the base branch.
#[derive(Debug)]
struct BaseFile {
    mode: u32,
    content: Vec<u8>,
}

#[derive(Debug, Deserialize)]
struct Tree {
    files: Vec<Listed>,
}

#[derive(Debug, Deserialize)]
struct Listed {
    name: String,
    mode: String,
}

impl Answer for Tree {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        let listed = AnswerField::from_names([&names.file_name, &names.file_mode]);
        vec![AnswerField::of(&names.files, listed)]
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Blob {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
    #[serde(default)]
    size: Option<usize>,
    #[serde(default, deserialize_with = "null_as_default")]
    file_too_large: bool,
}

impl Answer for Blob {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        AnswerField::from_names([
            &names.blob_content,
            &names.blob_encoding,
            &names.blob_size,
            &names.blob_too_large,
        ])
    }
}

impl Blob {
    /// Returns the bytes of the file, or the reason why the knot's answer does not give them.
    fn bytes(self) -> std::result::Result<Vec<u8>, &'static str> {
        let content = self.content.unwrap_or_default();
        let bytes = match self.encoding.as_deref() {
            Some("base64") => STANDARD
                .decode(&content)
                .map_err(|_| "it is not valid base64")?,
            _ => content.into_bytes(),
        };
        // In a file that it sends as text, a knot replaces bytes that are not UTF-8 by U+FFFD. This
        // changes the size.
        match self.size.is_some_and(|size| size != bytes.len()) {
            true => Err("it is not UTF-8, but was sent as text"),
            false => Ok(bytes),
        }
    }
}

fn is_missing_file(error: &Error) -> bool {
    let names = ["PathNotFound", "FileNotFound"];
    xrpc_error::name(error).is_some_and(|name| names.contains(&name))
}

impl Tangled {
    /// Returns the edits as a patch onto `base`, the tip of `base`, and a warning about edits that
    /// change nothing. Fails if the knot finds that the patch conflicts.
    pub(super) async fn patch_of_edits(
        &self,
        repository: &TangledRepository,
        base: &str,
        req: &CreatePull,
        author: &AccountIdentity,
    ) -> Result<(Patch, String, Option<Warning>)> {
        let branch = self
            .branch(repository, base)
            .await?
            .ok_or_else(|| no_branch("base", repository, base))?;
        let date = date(branch.when.as_deref());
        let tip = branch.hash;
        let modes = self.modes(repository, base, &tip, &req.edits).await?;
        let mut wanted = Vec::with_capacity(req.edits.len());
        for edit in &req.edits {
            let there = modes.get(edit.path.as_str()).copied();
            wanted.push((edit, there, edit.mode_on(base, there)?));
        }
        let reads: Vec<_> = wanted
            .iter()
            .map(|(edit, mode, _)| self.read_existing(repository, &tip, edit, *mode))
            .collect();
        let there: Vec<Option<BaseFile>> = stream::iter(reads)
            .buffered(IN_FLIGHT)
            .try_collect()
            .await?;
        let all = wanted
            .iter()
            .zip(&there)
            .map(|((edit, _, mode), there)| Change {
                edit,
                there: there.as_ref(),
                mode: *mode,
            });
        let (unchanged, changes): (Vec<Change<'_>>, Vec<Change<'_>>) =
            all.partition(Change::is_empty);
        let unchanged: Vec<&FileEdit> = unchanged.iter().map(|change| change.edit).collect();
        let left_out = FileEdit::check_unchanged(&unchanged, &req.edits, base)?;
        let raw = print(&changes, req.title.trim(), author, &date).await?;
        let text = String::from_utf8_lossy(&raw).into_owned();
        match self.merge_check(repository, base, &text).await? {
            // A knot that could not check the patch may still be able to apply it.
            Checked::Clean | Checked::Unknown(_) => Ok((Patch::parse(raw), tip, left_out)),
            Checked::Conflicts(files) => {
                let shown: Vec<_> = files.iter().map(|f| one_line(f).into_owned()).collect();
                Err(Error::precondition(
                    Precondition::Conflicts(files),
                    format!(
                        "the knot says that the edits do not fit '{}': {}; nothing was written",
                        one_line(base),
                        shown.join(", ")
                    ),
                )
                .with_hint(
                    "look at the branch, then try again: a file may be where a directory is \
                     needed, or the branch moved",
                ))
            }
        }
    }

    /// Returns the modes of the files that exist at the paths of the edits.
    ///
    /// Sends a request for each directory. For a missing directory, its parents are listed too,
    /// because one of the parents may be a file instead of a directory.
    async fn modes<'a>(
        &self,
        repository: &TangledRepository,
        base: &str,
        tip: &str,
        edits: &'a [FileEdit],
    ) -> Result<BTreeMap<&'a str, u32>> {
        let directories: BTreeSet<&str> = edits.iter().map(|e| split(&e.path).0).collect();
        let reads: Vec<_> = directories
            .into_iter()
            .map(|directory| async move {
                let files = self.list_directory(repository, tip, directory).await?;
                Ok::<_, Error>((directory, files))
            })
            .collect();
        let listed: BTreeMap<&str, Vec<Listed>> = stream::iter(reads)
            .buffered(IN_FLIGHT)
            .try_collect()
            .await?;
        let mut modes = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for edit in edits {
            let (directory, name) = split(&edit.path);
            let files = listed.get(directory).map(Vec::as_slice).unwrap_or_default();
            if let Some(mode) = mode_in(files, name)? {
                modes.insert(edit.path.as_str(), mode);
            }
            if files.is_empty() && edit.content.is_some() {
                missing.extend(edit.directories());
            }
        }
        // An edit may need a directory where the branch has a file. This is found here, because
        // `git apply --check` does not notice it.
        let mut above = BTreeMap::new();
        for path in missing {
            let (directory, name) = split(path);
            // A directory below a missing directory is missing too, so it is not looked up.
            if directory.is_empty() || above.contains_key(directory) {
                let files = self.list_directory(repository, tip, directory).await?;
                above.extend(mode_in(&files, name)?.map(|mode| (path, mode)));
            }
        }
        FileEdit::check_directories(edits, base, |path| above.get(path).copied())?;
        Ok(modes)
    }

    /// Lists a directory; a missing directory is empty.
    async fn list_directory(
        &self,
        repository: &TangledRepository,
        tip: &str,
        path: &str,
    ) -> Result<Vec<Listed>> {
        let knot = self.knot(repository).await?;
        let repo = repository.knot_name();
        let names = &self.settings.dialects;
        let of = &names.inputs.knot;
        let params = [
            (&*of.repo, repo.as_str()),
            (&*of.revision, tip),
            (&*of.path, path),
        ];
        let method = &names.methods.knot.tree;
        let answers = &names.answers.knot;
        let found = knot.ask::<Tree>(method, &params, answers).await;
        match found {
            Ok(tree) => Ok(tree.files),
            Err(e) if e.is_not_found() && xrpc_error::name(&e) == Some("PathNotFound") => {
                Ok(Vec::new())
            }
            Err(e) => Err(e),
        }
    }

    /// Reads the file if it exists, i.e. has a mode.
    async fn read_existing(
        &self,
        repository: &TangledRepository,
        tip: &str,
        edit: &FileEdit,
        mode: Option<u32>,
    ) -> Result<Option<BaseFile>> {
        let Some(mode) = mode else { return Ok(None) };
        let content = self.read_content(repository, tip, edit).await?;
        Ok(Some(BaseFile { mode, content }))
    }

    /// Reads a file at a revision, as the knot sends it.
    async fn blob(&self, repository: &TangledRepository, tip: &str, path: &str) -> Result<Blob> {
        let knot = self.knot(repository).await?;
        let repo = repository.knot_name();
        let names = &self.settings.dialects;
        let of = &names.inputs.knot;
        let params = [
            (&*of.repo, repo.as_str()),
            (&*of.revision, tip),
            (&*of.path, path),
        ];
        let method = &names.methods.knot.blob;
        knot.ask(method, &params, &names.answers.knot).await
    }

    /// Reads a file or a directory at a revision; `None` if there is neither. An empty path is the
    /// root.
    ///
    /// # Errors
    /// `invalid_input` (field `path`) for a file of more than [`MAX_REPO_FILE`] bytes; `protocol`
    /// if the knot does not send the file unchanged.
    pub(crate) async fn path_content(
        &self,
        repository: &TangledRepository,
        revision: &str,
        path: &str,
    ) -> Result<Option<PathContent>> {
        if path.is_empty() {
            let inside = self.list_directory(repository, revision, path).await?;
            return Ok((!inside.is_empty()).then(|| directory(inside)));
        }
        let shown = one_line(path);
        let blob = match self.blob(repository, revision, path).await {
            Ok(blob) => blob,
            Err(e) if is_missing_file(&e) => {
                let inside = self.list_directory(repository, revision, path).await?;
                return Ok((!inside.is_empty()).then(|| directory(inside)));
            }
            Err(e) => return Err(e),
        };
        let is_large = |bytes: usize| bytes > MAX_REPO_FILE;
        let too_large = || {
            let message = format!("'{shown}' has more than {MAX_REPO_FILE} bytes");
            Error::invalid("path", message).with_hint("read it in a clone")
        };
        if blob.file_too_large || blob.size.is_some_and(is_large) {
            return Err(too_large());
        }
        let bytes = blob.bytes().map_err(|why| {
            let message = format!("the knot does not send '{shown}' unchanged: {why}");
            Error::new(ErrorKind::Protocol, message).with_hint("read it in a clone")
        })?;
        match is_large(bytes.len()) {
            true => Err(too_large()),
            false => Ok(Some(PathContent::File(bytes))),
        }
    }

    /// Reads a file at a revision. A file that the knot lacks gives [`FileContent::Missing`].
    pub(super) async fn file_content(
        &self,
        repository: &TangledRepository,
        tip: &str,
        path: &str,
    ) -> Result<FileContent> {
        let blob = match self.blob(repository, tip, path).await {
            Ok(blob) => blob,
            Err(e) if is_missing_file(&e) => return Ok(FileContent::Missing),
            Err(e) => return Err(e),
        };
        let content = blob.content.unwrap_or_default();
        let most = usize::try_from(FileContent::MAX_BYTES).unwrap_or(usize::MAX);
        Ok(match blob.encoding.as_deref() {
            _ if blob.file_too_large || content.len() > most => FileContent::TooLarge,
            Some("base64") => match STANDARD.decode(&content) {
                Ok(bytes) => FileContent::of(&bytes),
                Err(_) => FileContent::Binary,
            },
            _ => FileContent::of(content.as_bytes()),
        })
    }

    /// Reads a complete file.
    async fn read_content(
        &self,
        repository: &TangledRepository,
        tip: &str,
        edit: &FileEdit,
    ) -> Result<Vec<u8>> {
        let blob = self.blob(repository, tip, &edit.path).await?;
        let unusable = |why: &'static str| {
            Error::new(
                ErrorKind::Protocol,
                format!("the knot does not send '{}' unchanged: {why}", edit.shown()),
            )
            .with_hint("change it in a clone, and submit the changes as a patch")
        };
        if blob.file_too_large {
            return Err(unusable("it is too large"));
        }
        blob.bytes().map_err(unusable)
    }
}

/// An edit of a file, with the file before the edit and the mode after it.
#[derive(Debug)]
struct Change<'a> {
    edit: &'a FileEdit,
    there: Option<&'a BaseFile>,
    mode: Option<u32>,
}

impl Change<'_> {
    /// Returns whether the file already has the content and the mode of the edit.
    fn is_empty(&self) -> bool {
        self.there.is_some_and(|there| {
            Some(there.mode) == self.mode && Some(&there.content) == self.edit.content.as_ref()
        })
    }
}

/// Splits a path into directory and name. The directory of a name at the root is empty.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the mode of the file `name` in a directory.
fn mode_in(files: &[Listed], name: &str) -> Result<Option<u32>> {
    let Some(found) = files.iter().find(|f| f.name == name) else {
        return Ok(None);
    };
    match mode(&found.mode) {
        Some(mode) => Ok(Some(mode)),
        None => Err(Error::new(
            ErrorKind::Protocol,
            format!(
                "the knot says that '{}' has the mode '{}', which git does not have",
                one_line(name),
                one_line(&found.mode)
            ),
        )),
    }
}

fn directory(files: Vec<Listed>) -> PathContent {
    let entries = files.into_iter().map(|file| {
        let is_directory = mode(&file.mode) == Some(0o040_000);
        DirectoryEntry::new(file.name, is_directory)
    });
    PathContent::Directory(entries.collect())
}

/// Parses a mode as knots print it: octal digits (`0100644`), or the form of `ls -l` (older knots).
fn mode(text: &str) -> Option<u32> {
    if let Ok(mode) = u32::from_str_radix(text, 8) {
        return Some(mode);
    }
    let executable = text.get(3..4) == Some("x");
    Some(match text.chars().next()? {
        'd' => 0o040_000,
        'L' | 'l' => 0o120_000,
        '-' if executable => FileEdit::EXECUTABLE,
        '-' => FileEdit::PLAIN,
        _ => return None,
    })
}

/// Prints the changes as one commit, in the format of `git format-patch`.
///
/// The commit's tree has only the edited files, so no repository has a commit with this id. This
/// does no harm, because git needs only the ids of the files to apply the patch, and those ids are
/// right.
///
/// The output does not depend on the time of the call: the same edits of the same tip give the same
/// bytes. By these bytes, a repeated command finds the pull request that an interrupted command has
/// opened.
async fn print(
    changes: &[Change<'_>],
    title: &str,
    author: &AccountIdentity,
    date: &str,
) -> Result<Vec<u8>> {
    let dir = blocking::run(|| tempfile::tempdir().map_err(no_directory)).await?;
    let git = scratch(&dir, author, date);
    let printed = print_in(&git, dir.path(), changes, title).await;
    // The directory is deleted in the background.
    tokio::task::spawn_blocking(move || drop(dir));
    printed
}

async fn print_in(git: &Git, dir: &Path, changes: &[Change<'_>], title: &str) -> Result<Vec<u8>> {
    let init = [
        "init",
        "-q",
        "--bare",
        "--template=",
        "--object-format=sha1",
        ".",
    ];
    git.run_ok(init).await?;
    let attributes = attributes(changes);
    if !attributes.is_empty() {
        let info = dir.join("info");
        let write = move || {
            std::fs::create_dir_all(&info)
                .and_then(|()| std::fs::write(info.join("attributes"), attributes))
                .map_err(no_directory)
        };
        blocking::run(write).await?;
    }
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    for change in changes {
        let path = change.edit.path.as_str();
        if let Some(there) = change.there {
            before.insert(path, Some(entry(git, there.mode, &there.content).await?));
        }
        let entry = match (change.mode, &change.edit.content) {
            (Some(mode), Some(content)) => Some(entry(git, mode, content).await?),
            _ => None,
        };
        after.insert(path, entry);
    }
    let empty = git.run_ok_with_stdin(["mktree"], b"").await?;
    let before = git.make_tree(&id(&empty), &before).await?;
    let after = git.make_tree(&before, &after).await?;
    let base = git
        .run_ok_with_stdin(["commit-tree", &before], b"base\n")
        .await?;
    let base = id(&base);
    let message = format!("{title}\n");
    let head = git
        .run_ok_with_stdin(["commit-tree", &after, "-p", &base], message.as_bytes())
        .await?;
    let mut args = applied_mail_args(&base, &id(&head));
    let at = args.iter().position(|a| a == "format-patch");
    args.insert(at.map_or(args.len(), |at| at + 1), "--binary".to_owned());
    git.run_ok(args).await
}

/// Returns a git command for `dir` that ignores user settings. Its author is the account.
fn scratch(dir: &TempDir, author: &AccountIdentity, date: &str) -> Git {
    let mut git = Git::at(dir.path())
        .opening_bare()
        .with_env("GIT_CONFIG_NOSYSTEM", "1")
        .with_env("GIT_ATTR_NOSYSTEM", "1")
        .with_env("GIT_CONFIG_GLOBAL", dir.path().join("no-settings"))
        .with_env("XDG_CONFIG_HOME", dir.path())
        .with_env("TZ", "UTC");
    for role in ["AUTHOR", "COMMITTER"] {
        // An account has no public email address, so its DID is used instead.
        git = git
            .with_env(format!("GIT_{role}_NAME"), author.name())
            .with_env(format!("GIT_{role}_EMAIL"), &author.did)
            .with_env(format!("GIT_{role}_DATE"), date);
    }
    git
}

/// Returns the time of a branch's tip in git's format.
///
/// The result is the epoch if the time is missing, or if git cannot represent it (Go's zero time).
fn date(when: Option<&str>) -> String {
    let when = when.and_then(|text| text.parse::<Timestamp>().ok());
    let seconds = when.map_or(0, |at| at.unix()).max(0);
    format!("@{seconds} +0000")
}

async fn entry(git: &Git, mode: u32, content: &[u8]) -> Result<TreeEntry> {
    let args = ["hash-object", "-w", "--stdin"];
    let oid = git.run_ok_with_stdin(args, content).await?;
    Ok(TreeEntry {
        mode,
        oid: id(&oid),
    })
}

fn id(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).trim().to_owned()
}

/// Returns the git attributes that mark some edited files as binary.
///
/// - Files that are not UTF-8: the JSON for the knot carries only UTF-8.
/// - Files with carriage returns: `git am` removes them at the ends of lines.
fn attributes(changes: &[Change<'_>]) -> String {
    let fragile = |bytes: &[u8]| bytes.contains(&b'\r') || std::str::from_utf8(bytes).is_err();
    let mut lines = String::new();
    for change in changes {
        let old = change.there.map(|t| t.content.as_slice());
        let new = change.edit.content.as_deref();
        if old.into_iter().chain(new).any(fragile) {
            lines.push_str(&format!("\"{}\" -diff\n", pattern(&change.edit.path)));
        }
    }
    lines
}

/// Returns a pattern of gitattributes(5) that matches only this path, escaped for use in quotes.
fn pattern(path: &str) -> String {
    let mut pattern = String::from("/");
    for c in path.chars() {
        match c {
            // Escaped once for the pattern, and once more for the quotes.
            '*' | '?' | '[' | ']' => pattern.push_str("\\\\"),
            '\\' => pattern.push_str("\\\\\\"),
            '"' => pattern.push('\\'),
            _ => {}
        }
        pattern.push(c);
    }
    pattern
}

fn no_directory(e: std::io::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("a directory for the patch could not be made: {e}"),
    )
    .with_hint("see that the directory of TMPDIR can be written")
    .with_source(e)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field_rename::tests::{assert_reads_configured_names, other_names};

    #[test]
    fn file_answers_are_read_by_configured_names() {
        let names = &other_names().knot;
        let tree = json!({ "files": [{ "name": "n", "mode": "0100644" }] });
        assert_reads_configured_names::<Tree>(names, &tree);
        let blob = json!({ "content": "c", "encoding": "e", "size": 1, "fileTooLarge": true });
        assert_reads_configured_names::<Blob>(names, &blob);
    }

    #[test]
    fn file_modes_of_all_knots_are_read() {
        assert_eq!(mode("0100644"), Some(0o100_644));
        assert_eq!(mode("0100755"), Some(0o100_755));
        assert_eq!(mode("0040000"), Some(0o040_000));
        assert_eq!(mode("-rw-r--r--"), Some(0o100_644));
        assert_eq!(mode("-rwxr-xr-x"), Some(0o100_755));
        assert_eq!(mode("drwxrwxrwx"), Some(0o040_000));
        assert_eq!(mode("Lrwxrwxrwx"), Some(0o120_000));
        assert_eq!(mode("?"), None);
    }

    #[test]
    fn tip_time_becomes_a_git_date() {
        assert_eq!(date(Some("2026-01-01T01:00:00+01:00")), "@1767225600 +0000");
        for none in [None, Some("yesterday"), Some("0001-01-01T00:00:00Z")] {
            assert_eq!(date(none), "@0 +0000");
        }
    }

    #[test]
    fn attributes_pattern_matches_a_single_path() {
        assert_eq!(pattern("a b/c"), "/a b/c");
        assert_eq!(pattern("[x]*"), r"/\\[x\\]\\*");
        assert_eq!(pattern("a\"b\\c"), r#"/a\"b\\\\c"#);
    }
}
