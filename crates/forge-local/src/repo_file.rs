//! Reads a file or a directory of a branch, a tag or a commit.

use forge_core::{
    Error, ErrorKind, Hint, Noun, Result,
    call::charge,
    limits::MAX_REPO_FILE,
    model::{DiffReq, DirectoryEntry, PathContent},
    suggest, text,
};
use forge_git::{CatFile, refname_problem};

use crate::{Local, store::branch_ref};

/// git's mode for symbolic links.
const SYMLINK: &str = "120000";
/// Memory of an entry of a directory in addition to its name, in bytes.
const BYTES_PER_ENTRY: usize = 128;
/// git's mode for directories.
const DIRECTORY: &str = "040000";

impl Local {
    /// Reads the stored bytes of the file `path`, without conversion and without following links.
    /// If `path` is a directory, reads its entries.
    pub(crate) async fn read_repo_file(
        &self,
        path: &str,
        at: Option<&str>,
    ) -> Result<Option<PathContent>> {
        let is_root = path.is_empty();
        if !is_root {
            check_path(path)?;
        }
        let mut cat = self.store.cat();
        let commit = match at {
            Some(at) => Some(self.commit_at(&mut cat, at).await?),
            // A repository without commits has no files.
            None => match self.default_branch().await? {
                Some(branch) => cat.info(&branch_ref(&branch)).await?.map(|i| i.oid),
                None => None,
            },
        };
        let Some(commit) = commit else {
            return Ok(None);
        };
        if is_root {
            return self.directory(&commit).await.map(Some);
        }
        let args = [
            "--literal-pathspecs",
            "ls-tree",
            "-z",
            "--full-tree",
            &commit,
            "--",
            path,
        ];
        let listed = self.git().run_ok(args).await?;
        let Some((mode, oid)) = entry(&listed, path) else {
            return Ok(None);
        };
        let refuse = |why: String, hint: &'static str| {
            let message = format!("'{}' cannot be read: {why}", text::one_line(path));
            Err(Error::invalid("path", message).with_hint(hint))
        };
        if mode == SYMLINK {
            let why = "it is a symbolic link, and links are not followed".to_owned();
            return refuse(why, "name the target of the link");
        }
        let gone = || {
            let message = format!(
                "the content of '{}' is not in this repository",
                text::one_line(path)
            );
            Error::new(ErrorKind::Protocol, message)
                .with_hint("in a partial clone run 'git fetch --refetch --no-filter' and try again")
        };
        match cat.info(&oid).await? {
            _ if mode == DIRECTORY => self.directory(&oid).await.map(Some),
            _ if !mode.starts_with("100") => refuse("it is a submodule".to_owned(), "name a file"),
            Some(info) if info.size > MAX_REPO_FILE as u64 => {
                let why = format!(
                    "it has {} bytes, and the maximum is {MAX_REPO_FILE}",
                    info.size
                );
                refuse(why, "name a smaller file")
            }
            Some(_) => match cat.get(&oid).await? {
                Some(blob) => Ok(Some(PathContent::File(blob.keep()))),
                None => Err(gone()),
            },
            None => Err(gone()),
        }
    }

    /// Lists a directory. `tree` is the id of a tree or a commit.
    async fn directory(&self, tree: &str) -> Result<PathContent> {
        let args = ["ls-tree", "-z", "--full-tree", tree];
        let listed = self.git().run_ok(args).await?;
        // The names are in memory as listed, as entries, and as printed.
        let lines = listed.iter().filter(|byte| **byte == 0).count();
        charge("the directory", listed.len() + lines * BYTES_PER_ENTRY)?.keep();
        let entries = listed
            .split(|byte| *byte == 0)
            .filter_map(directory_entry)
            .collect();
        Ok(PathContent::Directory(entries))
    }

    /// Resolves `at` to a commit id. `at` is a branch or tag (short name or full ref), or a commit
    /// id that may be abbreviated.
    async fn commit_at(&self, cat: &mut CatFile, at: &str) -> Result<String> {
        let is_ref = at.starts_with("refs/heads/") || at.starts_with("refs/tags/");
        // A tag may be called `refs/heads/main`, like a full ref. As in git, the full ref is tried
        // before such a tag.
        let short = [branch_ref(at), format!("refs/tags/{at}")];
        let mut names: Vec<String> = is_ref
            .then(|| at.to_owned())
            .into_iter()
            .chain(short)
            // A text that is not a valid ref name is left out, because git could read it as a
            // revision expression.
            .filter(|name| refname_problem(name).is_none())
            .collect();
        if DiffReq::is_commit(at) {
            // As in git, a full id means the commit, even if a branch has this id as its name.
            let is_whole = matches!(at.len(), 40 | 64);
            let place = if is_whole { 0 } else { names.len() };
            names.insert(place, at.to_owned());
        }
        for name in &mut names {
            name.push_str("^{commit}");
        }
        let found = cat.info_many(&names).await?.into_iter().flatten().next();
        if let Some(info) = found {
            return Ok(info.oid);
        }
        let shown = text::one_line(at);
        let message = format!("'{shown}' is not a branch, tag or commit of {}", self.url());
        let format = "--format=%(refname:lstrip=2)";
        let names = self
            .git()
            .run_ok(["for-each-ref", format, "refs/heads/", "refs/tags/"]);
        let names = String::from_utf8_lossy(&names.await?).into_owned();
        let near = suggest::did_you_mean(at, names.lines());
        let hint = match near {
            Some(near) => Hint::from(near),
            None => Hint::new("see the branches and tags with `git for-each-ref`"),
        };
        Err(Error::not_found(Noun::Branch, message).with_hint(hint))
    }
}

/// Refuses a path that could lead out of the tree or be ambiguous.
fn check_path(path: &str) -> Result<()> {
    let odd = |part: &str| matches!(part, "" | "." | "..");
    let why = if path.contains('\0') {
        "it has a NUL character"
    } else if path.starts_with('/') {
        "it is absolute"
    } else if path.split('/').any(odd) {
        "the path has an empty part, '.' or '..'"
    } else {
        return Ok(());
    };
    let message = format!("'{}' is not a file path: {why}", text::one_line(path));
    Err(Error::invalid("path", message)
        .with_hint("write the path from the top of the repository, such as docs/plan.md"))
}

/// Parses a line of `git ls-tree`. Returns `None` after the last line.
fn directory_entry(line: &[u8]) -> Option<DirectoryEntry> {
    let line = String::from_utf8_lossy(line);
    let (header, name) = line.split_once('\t')?;
    Some(DirectoryEntry::new(name, header.starts_with(DIRECTORY)))
}

/// Returns mode and object id if `listed` has exactly one entry, and this is the entry of `path`.
fn entry(listed: &[u8], path: &str) -> Option<(String, String)> {
    let line = std::str::from_utf8(listed.strip_suffix(b"\0")?).ok()?;
    let (header, found) = line.split_once('\t')?;
    let mut fields = header.split(' ');
    let (mode, _kind, oid) = (fields.next()?, fields.next()?, fields.next()?);
    (found == path).then(|| (mode.to_owned(), oid.to_owned()))
}
