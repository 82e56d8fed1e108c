//! Applies a patch in a scratch repository, to find out what git makes of it.
//!
//! The scratch repository reads the objects of a clone as alternates, and has an index of the base
//! and an empty work tree. Nothing is written to the clone, and its configuration, hooks, filters
//! and attributes files have no effect. Neither have the user's.

use std::{fs, path::Path};

use forge_core::{Error, ErrorKind, Result, is_full_oid};

use crate::{
    CatFile, Git, Output, RawCommit, TreeEntry, apply::files_that_refuse, blocking,
    error::is_out_of_memory, path_of, tree::scratch,
};

/// Maximum number of mails in a patch. git writes the whole index for each mail.
const MAX_MAILS: usize = 1_000;

/// Maximum size of one allocation of git, in bytes. A small binary patch can unpack to gigabytes.
const MAX_ALLOCATION: &str = "134217728";

/// A patch in one of the two forms that `git am` and `git apply` read.
#[derive(Clone, Copy, Debug)]
pub enum PatchSource<'a> {
    /// The mails of a series, one commit each, for `git am`.
    Mails(&'a [&'a [u8]]),
    /// Like [`Self::Mails`], for mails whose carriage returns belong to the changed files.
    MailsWithReturns(&'a [&'a [u8]]),
    /// A plain diff, for `git apply`.
    Diff(&'a [u8]),
}

/// Result of [`PatchTrial::apply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialResult {
    /// The changes of each commit, oldest first. A plain diff is one commit.
    Applied(Vec<TreeStep>),
    /// git refuses the patch.
    Refused {
        /// The message of git.
        why: String,
        /// Names of the files to which the patch does not apply, sorted.
        files: Vec<String>,
    },
    /// The patch is too large to be tried, for this reason.
    TooLarge(String),
    /// The clone lacks an object of the base, as a partial clone does.
    ObjectMissing,
}

/// The changes from one tree to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeStep {
    /// Tree before the change, hex.
    pub before: String,
    /// Tree after the change, hex.
    pub after: String,
    /// The changed paths. A renamed file has two.
    pub changes: Vec<TreeChange>,
}

/// A path whose entry differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    /// The path. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Entry before the change; `None` if there was none.
    pub old: Option<TreeEntry>,
    /// Entry after the change; `None` if there is none.
    pub new: Option<TreeEntry>,
}

/// A scratch repository at a base commit.
#[derive(Debug)]
pub struct PatchTrial {
    git: Git,
    base: String,
    /// True if the clone is a partial one, which can lack objects.
    is_partial: bool,
    dir: tempfile::TempDir,
}

impl Git {
    /// Creates a scratch repository at the commit `base` (full hex) of this repository. Returns
    /// `None` if this repository lacks the commit. Starts three processes, of which one is in this
    /// repository, and fetches nothing.
    ///
    /// # Errors
    /// `internal` if the temporary directory cannot be written; `git` if git cannot be run.
    pub async fn patch_trial(&self, base: &str) -> Result<Option<PatchTrial>> {
        if !is_full_oid(base) {
            return Ok(None);
        }
        let commit = format!("{base}^{{commit}}");
        let ask = [
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "objects",
            &commit,
        ];
        let found = self.clone().without_lazy_fetch().run(ask).await?;
        let mut lines = found.stdout.split(|b| *b == b'\n');
        let (objects, commit) = (lines.next().unwrap_or_default(), lines.next());
        // A path with a line break has no form in a file of alternates.
        if found.status != 0 || commit != Some(base.as_bytes()) {
            return Ok(None);
        }
        let dir = scratch()?;
        let git = isolated_git(dir.path());
        let format = if base.len() == 40 { "sha1" } else { "sha256" };
        let format = format!("--object-format={format}");
        git.run_ok(["init", "-q", "--template=", &format, "."])
            .await?;
        let (git_dir, objects) = (dir.path().join(".git"), path_of(objects));
        let head = format!("{base}\n");
        let is_partial = blocking(move || {
            write_links(&git_dir, &objects, &head).map_err(not_written)?;
            Ok(has_promisor_pack(&objects))
        })
        .await?;
        // Fails in a clone that lacks trees of the base.
        let read = git.run(["read-tree", base]).await?;
        let base = base.to_owned();
        Ok((read.status == 0).then_some(PatchTrial {
            git,
            base,
            is_partial,
            dir,
        }))
    }
}

impl PatchTrial {
    /// Returns a process for lookups of objects of the clone and of the applied patch.
    #[must_use]
    pub fn cat_file(&self) -> CatFile {
        self.git.cat_file()
    }

    /// Returns git for the scratch repository.
    #[must_use]
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The base commit, hex.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Applies a patch to the base. Call this once.
    ///
    /// # Errors
    /// `git` if git cannot be run or fails to read what it wrote; `timeout` after the limit of
    /// reads.
    pub async fn apply(&self, cat: &mut CatFile, patch: PatchSource<'_>) -> Result<TrialResult> {
        let applied = match patch {
            PatchSource::Mails(mails) | PatchSource::MailsWithReturns(mails)
                if mails.len() > MAX_MAILS =>
            {
                let many = mails.len();
                let why = format!("it has {many} mails, and the maximum is {MAX_MAILS}");
                return Ok(TrialResult::TooLarge(why));
            }
            PatchSource::Mails(mails) => self.run_am(mails, &["--no-keep-cr"]).await?,
            PatchSource::MailsWithReturns(mails) => self.run_am(mails, &["--keep-cr"]).await?,
            PatchSource::Diff(diff) => {
                let apply = ["apply", "--index", "--whitespace=nowarn", "-"];
                self.git.run_with_stdin(apply, diff).await?
            }
        };
        if applied.status != 0 {
            return Ok(read_failure(&applied, self.is_partial));
        }
        let trees = match patch {
            PatchSource::Diff(_) => {
                let tree = self.git.run_ok(["write-tree"]).await?;
                let base = tree_and_parent(cat, &self.base).await?.0;
                vec![base, String::from_utf8_lossy(&tree).trim().to_owned()]
            }
            _ => self.trees_of_commits(cat).await?,
        };
        Ok(TrialResult::Applied(self.steps_between(&trees).await?))
    }

    async fn run_am(&self, mails: &[&[u8]], options: &[&str]) -> Result<Output> {
        let inside = self.dir.path().join(".git/mails");
        let texts: Vec<Vec<u8>> = mails.iter().map(|mail| mail.to_vec()).collect();
        let write = move || {
            fs::create_dir(&inside)?;
            for (number, text) in texts.iter().enumerate() {
                fs::write(inside.join(number.to_string()), text)?;
            }
            Ok(())
        };
        blocking(move || write().map_err(not_written)).await?;
        let names: Vec<String> = (0..mails.len())
            .map(|number| format!(".git/mails/{number}"))
            .collect();
        let am = ["am", "-q", "--no-gpg-sign"].iter().chain(options).copied();
        let args = am.chain(["--"]).chain(names.iter().map(String::as_str));
        self.git.run(args).await
    }

    /// Returns the tree of the base, then the tree of each new commit, oldest first.
    async fn trees_of_commits(&self, cat: &mut CatFile) -> Result<Vec<String>> {
        let head = self.dir.path().join(".git/HEAD");
        let head = blocking(move || fs::read_to_string(head).map_err(not_written)).await?;
        let mut commit = head.trim().to_owned();
        let mut trees = Vec::new();
        loop {
            let (tree, parent) = tree_and_parent(cat, &commit).await?;
            trees.push(tree);
            match parent {
                Some(parent) if commit != self.base => commit = parent,
                _ => break,
            }
        }
        trees.reverse();
        Ok(trees)
    }

    async fn steps_between(&self, trees: &[String]) -> Result<Vec<TreeStep>> {
        let mut pairs = String::new();
        for pair in trees.windows(2) {
            pairs.push_str(&format!("{}\n", pair.join(" ")));
        }
        let args = [
            "diff-tree",
            "--stdin",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
        ];
        let listed = self.git.run_ok_with_stdin(args, pairs.as_bytes()).await?;
        read_steps(&listed).ok_or_else(|| {
            let message = "git diff-tree printed an unknown form of raw diff";
            Error::new(ErrorKind::Internal, message)
        })
    }
}

/// Returns git for the scratch repository in `dir`, without any settings but those of forge.
fn isolated_git(dir: &Path) -> Git {
    let mut git = Git::at(dir)
        .with_env("GIT_CONFIG_NOSYSTEM", "1")
        .with_env("GIT_ATTR_NOSYSTEM", "1")
        .with_env("GIT_CONFIG_GLOBAL", dir.join(".git/no-settings"))
        .with_env("XDG_CONFIG_HOME", dir.join(".git"))
        .with_env("GIT_ALLOC_LIMIT", MAX_ALLOCATION)
        .with_env("TZ", "UTC");
    for (variable, value) in [
        ("NAME", "forge"),
        ("EMAIL", "forge@localhost"),
        ("DATE", "@0 +0000"),
    ] {
        git = git.with_env(format!("GIT_COMMITTER_{variable}"), value);
    }
    git
}

/// Connects a new repository to the objects of a clone, and detaches its HEAD at a commit.
fn write_links(git_dir: &Path, objects: &Path, head: &str) -> std::io::Result<()> {
    let info = git_dir.join("objects/info");
    fs::create_dir_all(&info)?;
    let mut alternates = objects.as_os_str().to_owned();
    alternates.push("\n");
    fs::write(info.join("alternates"), alternates.as_encoded_bytes())?;
    fs::write(git_dir.join("HEAD"), head)
}

async fn tree_and_parent(cat: &mut CatFile, commit: &str) -> Result<(String, Option<String>)> {
    let object = cat.get(commit).await?;
    let parsed = object.as_ref().and_then(|it| RawCommit::parse(&it.data));
    let parsed = parsed.ok_or_else(|| {
        let message = format!("the commit {commit} cannot be read from the scratch repository");
        Error::new(ErrorKind::Internal, message)
    })?;
    let parent = parsed.parents.first();
    Ok((
        parsed.tree.to_owned(),
        parent.map(|parent| (*parent).to_owned()),
    ))
}

/// Returns true if some objects of a repository came from a promisor remote, so that others can be
/// missing (gitrepository-layout(5)).
fn has_promisor_pack(objects: &Path) -> bool {
    let Ok(files) = fs::read_dir(objects.join("pack")) else {
        return false;
    };
    let mut names = files.flatten().map(|file| file.path());
    names.any(|path| path.extension().is_some_and(|it| it == "promisor"))
}

/// Reads why git refused a patch. Messages have names of the patch in them, so a message about a
/// missing object counts only in a clone that can lack one.
fn read_failure(output: &Output, is_partial: bool) -> TrialResult {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let has = |part: &str| stderr.contains(part);
    if is_out_of_memory(&output.stderr) || has("over limit") {
        return TrialResult::TooLarge(
            "git needs more than 128 MiB for one of its files".to_owned(),
        );
    }
    let missing = ["unable to read", "could not read", "missing blob"];
    if is_partial && missing.into_iter().any(has) {
        return TrialResult::ObjectMissing;
    }
    TrialResult::Refused {
        why: output.error("am").message().to_owned(),
        files: files_that_refuse(&stderr),
    }
}

/// Reads the output of `git diff-tree --stdin -z --raw` for pairs of trees. `None` if it has
/// another form.
fn read_steps(listed: &[u8]) -> Option<Vec<TreeStep>> {
    let mut steps: Vec<TreeStep> = Vec::new();
    let mut rest = listed;
    while let Some(first) = rest.first() {
        if *first != b':' {
            let end = rest.iter().position(|b| *b == b'\n')?;
            let (before, after) = std::str::from_utf8(rest.get(..end)?)
                .ok()?
                .split_once(' ')?;
            steps.push(TreeStep {
                before: before.to_owned(),
                after: after.to_owned(),
                changes: Vec::new(),
            });
            rest = rest.get(end + 1..)?;
            continue;
        }
        let mut fields = rest.splitn(3, |b| *b == 0);
        let (about, path) = (fields.next()?, fields.next()?);
        rest = fields.next()?;
        let mut about = std::str::from_utf8(about.get(1..)?).ok()?.split(' ');
        let modes = (about.next()?, about.next()?);
        let ids = (about.next()?, about.next()?);
        steps.last_mut()?.changes.push(TreeChange {
            path: String::from_utf8_lossy(path).into_owned(),
            old: tree_entry(modes.0, ids.0)?,
            new: tree_entry(modes.1, ids.1)?,
        });
    }
    Some(steps)
}

/// Returns an entry of a raw diff: outer `None` for another form, inner `None` for no entry.
#[allow(
    clippy::option_option,
    reason = "the form and the entry can be missing"
)]
fn tree_entry(mode: &str, oid: &str) -> Option<Option<TreeEntry>> {
    let mode = u32::from_str_radix(mode, 8).ok()?;
    let oid = oid.to_owned();
    Some((mode != 0).then_some(TreeEntry { mode, oid }))
}

fn not_written(e: std::io::Error) -> Error {
    let message = format!("cannot write a scratch repository: {e}");
    Error::new(ErrorKind::Internal, message)
        .with_source(e)
        .with_hint("make the directory of TMPDIR writable")
}
