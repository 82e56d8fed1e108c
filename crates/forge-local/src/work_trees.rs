//! The work trees of the repository: which branches they use, and how their files follow a branch.
//!
//! A branch that moves under a work tree leaves its files behind, and the user's next `git commit -a`
//! would take the difference back. So the files go along, as with git's
//! `receive.denyCurrentBranch=updateInstead`, and like there they go first: a process that is killed
//! in between leaves the merge staged on the old commit, which no later commit reverts.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use forge_core::{Error, Precondition, Result, Step, Warning, text};
use forge_git::{Git, path_of, quoted};

use crate::Local;

/// How many commits of a branch are looked through for the one that a work tree shows.
const MAX_COMMITS_BEHIND: &str = "20";
/// How much of a file of git's own state is read, in bytes; a larger one counts as naming any branch.
const MAX_STATE_FILE: u64 = 64 * 1024;
/// How many files a message names; the error itself has all of them.
const MAX_NAMED_FILES: usize = 5;

/// How a work tree uses a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BranchUse {
    /// The branch is checked out.
    CheckedOut,
    /// An operation of git that goes back to the branch, or moves it, has not ended.
    Busy(&'static str),
}

/// A work tree that uses a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkTree {
    /// Its directory, lossy UTF-8.
    pub path: String,
    /// How it uses the branch.
    pub usage: BranchUse,
}

/// A work tree whose files go along with a branch, once it is proved that they can.
#[derive(Debug)]
pub(crate) struct Checkout {
    git: Git,
    path: String,
    branch: String,
    from: String,
    to: String,
    coming: Vec<Touched>,
    /// An older commit of the branch whose files the index has.
    older: Option<String>,
}

/// A path that differs between the two commits of a [`Checkout`].
#[derive(Debug)]
struct Touched {
    path: Vec<u8>,
    /// Whether it is new.
    added: bool,
    /// Whether it is a submodule in one of them.
    submodule: bool,
}

impl WorkTree {
    /// What the work tree does with the branch, as the end of a sentence, and how to end that; a work
    /// tree leaves the branch by `git switch` with `leave`.
    pub fn explain(&self, leave: &str) -> (String, String) {
        let (shown, dir) = (text::one_line(&self.path), quoted(&self.path));
        match self.usage {
            BranchUse::CheckedOut => (
                format!("it is checked out in {shown}"),
                format!("git -C {dir} switch {leave}"),
            ),
            BranchUse::Busy("bisect") => (
                format!("a bisect that began on it has not ended in {shown}"),
                format!("end it with git -C {dir} bisect reset"),
            ),
            BranchUse::Busy(operation) => (
                format!("a {operation} of it has not ended in {shown}"),
                format!(
                    "end it with git -C {dir} {operation} --continue, or give it up with --abort"
                ),
            ),
        }
    }
}

impl Local {
    /// The work trees that use `branch`, those with an unfinished operation first.
    pub(crate) async fn work_trees_using(&self, branch: &str) -> Result<Vec<WorkTree>> {
        let list = ["worktree", "list", "--porcelain", "-z"];
        let (list, direct) = tokio::join!(self.git().run_ok(list), self.is_direct(branch));
        direct?;
        let list = list?;
        let wanted = format!("branch refs/heads/{branch}");
        let mut path = String::new();
        let mut found = Vec::new();
        for line in list.split(|b| *b == 0) {
            if let Some(dir) = line.strip_prefix(b"worktree ") {
                path = String::from_utf8_lossy(dir).into_owned();
            } else if line == wanted.as_bytes() {
                found.push(WorkTree {
                    path: path.clone(),
                    usage: BranchUse::CheckedOut,
                });
            }
        }
        let mut using: Vec<WorkTree> = self
            .state_dirs()
            .into_iter()
            .filter_map(|(state, path)| {
                let usage = BranchUse::Busy(unfinished(&state, branch)?);
                let path = path.to_string_lossy().into_owned();
                Some(WorkTree { path, usage })
            })
            .collect();
        using.extend(found);
        Ok(using)
    }

    /// Refuses a branch that is another name of a branch: whoever uses that one would not be seen.
    async fn is_direct(&self, branch: &str) -> Result<()> {
        let full = format!("refs/heads/{branch}");
        let asked = self.git().run(["symbolic-ref", "--quiet", &full]).await?;
        if asked.status != 0 {
            return Ok(());
        }
        let target = String::from_utf8_lossy(&asked.stdout);
        let target = text::one_line(target.trim()).into_owned();
        let message = format!(
            "'{}' is a symbolic ref to {target}, and is neither moved nor deleted",
            text::one_line(branch)
        );
        let hint = "name the branch itself: forge pr edit --base changes the base";
        Err(Error::precondition(Precondition::Rule, message).with_hint(hint))
    }

    /// The directories in which git keeps the state of each work tree, with the work tree's own.
    fn state_dirs(&self) -> Vec<(PathBuf, PathBuf)> {
        let common = &self.repository.common_dir;
        let mut dirs = vec![(common.clone(), self.repository.root.clone())];
        for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten() {
            let Ok(state) = entry.map(|entry| entry.path()) else {
                continue;
            };
            let Some(link) = state_file(&state.join("gitdir")) else {
                continue;
            };
            let dot_git = state.join(link.trim_end());
            let path = dot_git.parent().unwrap_or(&dot_git).to_owned();
            dirs.push((state, path));
        }
        dirs
    }

    /// Whether a directory is a work tree of this repository, as the directory itself says.
    fn is_own(&self, dir: &Path) -> bool {
        let dot_git = dir.join(".git");
        let state = match state_file(&dot_git) {
            Some(link) => dir.join(link.trim_end().trim_start_matches("gitdir: ")),
            None => dot_git,
        };
        let Ok(state) = state.canonicalize() else {
            return false;
        };
        let common = self.repository.common_dir.canonicalize();
        common.is_ok_and(|common| {
            state == common || state.parent() == Some(&common.join("worktrees"))
        })
    }

    /// Proves that the files of every work tree that has `branch` checked out can go from `before` to
    /// `after`. Nothing is changed.
    ///
    /// # Errors
    /// `precondition_failed` with the files that are in the way, or where git has not finished with
    /// the branch; with `leave`, in the latter case alone.
    pub(crate) async fn prepare_checkouts(
        &self,
        branch: &str,
        before: &str,
        after: &str,
        leave: bool,
    ) -> Result<Vec<Checkout>> {
        let mut checkouts = Vec::new();
        for tree in self.work_trees_using(branch).await? {
            if tree.usage != BranchUse::CheckedOut {
                return Err(in_use(branch, &tree));
            }
            // The directory of a work tree may be gone, be on a disk that is away, or be that of the
            // repository which this one is a copy of.
            if leave || !self.is_own(Path::new(&tree.path)) {
                continue;
            }
            let git = self.git().in_dir(&tree.path).for_write();
            let shown = shown_in(&git, before).await;
            let checkout = Checkout {
                coming: touched(&git, before, after).await?,
                older: shown.filter(|shown| shown != before),
                from: before.to_owned(),
                to: after.to_owned(),
                branch: branch.to_owned(),
                path: tree.path,
                git,
            };
            checkout.prove().await?;
            checkouts.push(checkout);
        }
        Ok(checkouts)
    }

    /// The warning about a work tree that stays behind although it has `branch` checked out; `before`
    /// is where the branch was.
    pub(crate) async fn files_left(&self, branch: &str, before: &str) -> Result<Option<Warning>> {
        let using = self.work_trees_using(branch).await?;
        let Some(WorkTree { path, .. }) = using.first() else {
            return Ok(None);
        };
        let shown = shown_in(&self.git().in_dir(path), before).await;
        let dir = quoted(path);
        let from = shown.as_deref().unwrap_or(before);
        let mut hint = format!(
            "bring them along, local changes kept, with: git -C {dir} read-tree -m -u {from} HEAD"
        );
        if shown.is_none() {
            hint.push_str(&format!(
                " (its index has changes of its own, see: git -C {dir} diff --cached {from})"
            ));
        }
        let warning = Warning::new(format!(
            "'{}' is checked out in {}, whose files were left as they are: a commit of all files \
             there would take the changes back",
            text::one_line(branch),
            text::one_line(path)
        ));
        Ok(Some(warning.with_hint(hint)))
    }
}

impl Checkout {
    /// Brings the files of all `checkouts` along, or of none.
    pub(crate) async fn forward_all(checkouts: &[Self]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for (done, checkout) in checkouts.iter().enumerate() {
            if let Err(e) = checkout
                .read_tree(&["-u"], &checkout.from, &checkout.to)
                .await
            {
                Self::back_all(checkouts.get(..done).unwrap_or_default()).await?;
                let dir = quoted(&checkout.path);
                return Err(e.with_hint(format!(
                    "the branch did not move; files that were written before that are changes of \
                     the work tree now, see: git -C {dir} status"
                )));
            }
            steps.push(Step {
                name: format!(
                    "bring the files of {} along",
                    text::one_line(&checkout.path)
                ),
                done: true,
            });
        }
        Ok(steps)
    }

    /// Takes the files of all `checkouts` back, unless the branch did move: then the failure came after
    /// its move, and the files are right.
    ///
    /// # Errors
    /// `git` when a work tree was changed meanwhile, with the command that takes it back.
    pub(crate) async fn back_all(checkouts: &[Self]) -> Result<()> {
        let mut failed = None;
        for checkout in checkouts {
            let Self { from, to, path, .. } = checkout;
            let tip = format!("refs/heads/{}", checkout.branch);
            let tip = checkout.git.run(["rev-parse", "--verify", &tip]).await?;
            if tip.stdout.trim_ascii() == to.as_bytes() {
                continue;
            }
            if let Err(e) = checkout.read_tree(&["-u"], to, from).await {
                failed = Some(e.with_hint(format!(
                    "the branch did not move, and {} has the merge staged: git -C {} read-tree -m -u \
                     {to} {from}",
                    text::one_line(path),
                    quoted(path)
                )));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn read_tree(&self, options: &[&str], from: &str, to: &str) -> Result<()> {
        let mut args = vec!["read-tree", "-m", "--no-recurse-submodules"];
        args.extend(options);
        args.extend([from, to]);
        let output = self.git.run_with_locks(args, b"").await?;
        output.ok("read-tree").map(|_| ())
    }

    /// The submodules that are checked out here and change. git would leave them where they are, or
    /// overwrite the untracked files in them.
    fn submodules(&self) -> BTreeSet<String> {
        let is_there = |file: &&Touched| {
            let dir = Path::new(&self.path).join(path_of(&file.path));
            fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
        };
        let submodules = self.coming.iter().filter(|file| file.submodule);
        submodules
            .filter(is_there)
            .map(|file| lossy(&file.path))
            .collect()
    }

    /// Fails where a change or a file of the user would be lost or overwritten.
    async fn prove(&self) -> Result<()> {
        let is_filter = |key: &str| key.starts_with("filter.") || key == "core.worktree";
        let operation = format!("changing the files of {}", text::one_line(&self.path));
        self.git.refuse_programs(&operation, is_filter).await?;
        let submodules = self.submodules();
        if !submodules.is_empty() {
            return Err(self.refusal(&submodules, "is a submodule, which only git itself moves"));
        }
        // A file that was touched and not changed is no change.
        let refresh = ["update-index", "-q", "--ignore-submodules", "--refresh"];
        self.git.run_with_locks(refresh, b"").await?;
        if let Some(older) = &self.older {
            return Err(self.ambiguous(older));
        }
        let mut in_the_way = self.overwritten().await?;
        if in_the_way.is_empty() {
            let Err(e) = self.read_tree(&["-u", "-n"], &self.from, &self.to).await else {
                return Ok(());
            };
            in_the_way = self.changed_here().await?;
            if in_the_way.is_empty() {
                let message = format!(
                    "the files of {} cannot go along with '{}': {}",
                    text::one_line(&self.path),
                    text::one_line(&self.branch),
                    e.message()
                );
                return Err(
                    Error::precondition(Precondition::WorkTree(Vec::new()), message)
                        .with_hint(self.recovery()),
                );
            }
        }
        Err(self.refusal(&in_the_way, "would be overwritten"))
    }

    /// The refusal because of `files`, of which `why` is true.
    fn refusal(&self, files: &BTreeSet<String>, why: &str) -> Error {
        let shown: Vec<_> = files
            .iter()
            .take(MAX_NAMED_FILES)
            .map(|file| text::one_line(file).into_owned())
            .collect();
        let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let message = format!(
            "'{}' is checked out in {}, where {}{more} {why}; nothing was changed",
            text::one_line(&self.branch),
            text::one_line(&self.path),
            shown.join(", ")
        );
        let files = files.iter().cloned().collect();
        Error::precondition(Precondition::WorkTree(files), message).with_hint(self.recovery())
    }

    /// The refusal where the index is that of an older commit: either the files of an earlier merge
    /// were left behind, or the user takes that merge back.
    fn ambiguous(&self, older: &str) -> Error {
        let dir = quoted(&self.path);
        let message = format!(
            "'{}' is checked out in {}, which has the files of the older commit {older} staged; \
             nothing was changed",
            text::one_line(&self.branch),
            text::one_line(&self.path)
        );
        Error::precondition(Precondition::WorkTree(Vec::new()), message).with_hint(format!(
            "if they were left behind, bring them along first: git -C {dir} read-tree -m -u {older} \
             HEAD; if you mean to take commits back, commit that first; or pass --leave-checkout"
        ))
    }

    fn recovery(&self) -> String {
        format!(
            "commit, stash or move these files in {}, then try again; or pass --leave-checkout to \
             leave its files behind",
            text::one_line(&self.path)
        )
    }

    /// The files that git does not track and the new commit has: untracked and ignored ones. git
    /// itself would overwrite the ignored ones.
    async fn overwritten(&self) -> Result<BTreeSet<String>> {
        let mut there = BTreeSet::new();
        for file in self.coming.iter().filter(|file| file.added) {
            collect_files(Path::new(&self.path), &path_of(&file.path), &mut there);
        }
        if there.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut tracked = BTreeSet::new();
        let all: Vec<&PathBuf> = there.iter().collect();
        for chunk in all.chunks(100) {
            let list = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsStr::new);
            let args = list
                .into_iter()
                .chain(chunk.iter().map(|path| path.as_os_str()));
            let listed = self.git.run_ok(args).await?;
            tracked.extend(fields(&listed).map(path_of));
        }
        let there = there.difference(&tracked);
        Ok(there
            .map(|path| path.to_string_lossy().into_owned())
            .collect())
    }

    /// The files that were changed here, staged or not, and change between the two commits as well.
    async fn changed_here(&self) -> Result<BTreeSet<String>> {
        let diff = async |args: &[&str]| {
            let options = [
                "-z",
                "--no-renames",
                "--name-only",
                "--ignore-submodules=dirty",
            ];
            let args = args
                .iter()
                .take(1)
                .chain(&options)
                .chain(args.iter().skip(1));
            let listed = self.git.run_ok(args).await?;
            Ok::<_, Error>(fields(&listed).map(lossy).collect::<BTreeSet<_>>())
        };
        let coming = self.coming.iter().map(|file| lossy(&file.path)).collect();
        let unstaged = diff(&["diff-files"]).await?;
        let from = diff(&["diff-index", "--cached", &self.from, "--"]).await?;
        let to = diff(&["diff-index", "--cached", &self.to, "--"]).await?;
        let staged = &from & &to;
        Ok(&(&unstaged | &staged) & &coming)
    }
}

/// The paths that differ between two commits.
async fn touched(git: &Git, from: &str, to: &str) -> Result<Vec<Touched>> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to];
    let listed = git.run_ok(args).await?;
    let mut fields = fields(&listed);
    let mut touched = Vec::new();
    // `:<old mode> <new mode> <old id> <new id> <letter>`, then the path.
    while let (Some(raw), Some(path)) = (fields.next(), fields.next()) {
        touched.push(Touched {
            path: path.to_owned(),
            added: raw.starts_with(b":000000 "),
            submodule: raw.starts_with(b":160000 ") || raw.get(8..15) == Some(b"160000 "),
        });
    }
    Ok(touched)
}

/// The commit that the index of a work tree has: `onto`, or an older one when the files of an earlier
/// merge were left behind. Git would take their absence for a change to keep, if it were told to go on
/// from `onto`.
///
/// The index is compared and never written: `git write-tree` would do it in one step, and lock it.
async fn shown_in(git: &Git, onto: &str) -> Option<String> {
    let has = async |commit: &str| {
        let args = ["diff-index", "--cached", "--quiet", commit, "--"];
        git.run(args)
            .await
            .is_ok_and(|compared| compared.status == 0)
    };
    if has(onto).await {
        return Some(onto.to_owned());
    }
    let list = [
        "rev-list",
        "--first-parent",
        "--skip=1",
        "-n",
        MAX_COMMITS_BEHIND,
        "--end-of-options",
        onto,
    ];
    let commits = git.run_ok(list).await.ok()?;
    for commit in std::str::from_utf8(&commits).ok()?.lines() {
        if has(commit).await {
            return Some(commit.to_owned());
        }
    }
    None
}

/// The refusal to move a branch that git has not finished with.
pub(crate) fn in_use(branch: &str, tree: &WorkTree) -> Error {
    let (why, recovery) = tree.explain("--detach");
    let message = format!("'{}' cannot be moved: {why}", text::one_line(branch));
    Error::precondition(Precondition::WorkTree(Vec::new()), message)
        .with_hint(format!("{recovery}, then try again"))
}

/// The operation of git with `branch` that has not ended, by the files in `state`.
///
/// Source: git's `branch.c`, which refuses to move or delete these branches.
fn unfinished(state: &Path, branch: &str) -> Option<&'static str> {
    let full = format!("refs/heads/{branch}");
    let has = |file: &str, wanted: &str| {
        let file = state.join(file);
        let text = state_file(&file).unwrap_or_default();
        let is_cut = fs::metadata(&file).is_ok_and(|found| found.len() > MAX_STATE_FILE);
        is_cut || text.lines().any(|line| line == wanted)
    };
    let rebased = [
        "rebase-merge/head-name",
        "rebase-apply/head-name",
        "rebase-merge/update-refs",
    ];
    if rebased.iter().any(|file| has(file, &full)) {
        return Some("rebase");
    }
    has("BISECT_START", branch).then_some("bisect")
}

/// A small regular file of git's own; `None` for anything else.
fn state_file(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(MAX_STATE_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds what there is at `path` below `root`: the file, or all files of the directory. A directory
/// above it that is a link or a file has nothing there of its own.
fn collect_files(root: &Path, path: &Path, into: &mut BTreeSet<PathBuf>) {
    let mut walked = PathBuf::new();
    for part in path.components() {
        walked.push(part);
        let Ok(found) = fs::symlink_metadata(root.join(&walked)) else {
            return;
        };
        if !found.is_dir() {
            into.insert(walked);
            return;
        }
    }
    for entry in fs::read_dir(root.join(path))
        .into_iter()
        .flatten()
        .flatten()
    {
        collect_files(root, &path.join(entry.file_name()), into);
    }
}

/// The fields of what git ended by NUL each.
fn fields(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|b| *b == 0).filter(|field| !field.is_empty())
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
