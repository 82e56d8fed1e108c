//! Finds the work trees that use a branch, and updates their files when the branch moves.
//!
//! If a branch moves but the files of its work tree do not, the user's next commit of all files
//! reverts the move. The files are therefore updated as well, as with git's
//! `receive.denyCurrentBranch=updateInstead`. As in git, the files are updated before the branch:
//! if the process is killed in between, the merge is staged on the old commit, and committing it
//! reverts nothing.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use forge_core::{Action, Arg, Error, Hint, Op, Param, Precondition, Result, Step, Warning, text};
use forge_git::{
    Git, MAX_STATE_FILE, blocking, command_line, path_of, state_file, without_line_end,
};

use crate::{
    Local,
    repository::{LocalRepository, show},
};

/// Maximum number of commits of a branch to search for the one on which an index is based.
const MAX_COMMITS_BEHIND: &str = "20";
/// Maximum number of files that the text of an error lists. The data of the error has all files.
const MAX_NAMED_FILES: usize = 5;
/// Recovery: repeat the failed call without updating work trees.
const LEAVE_CHECKOUT: Action =
    Action::again(&[(Param::LeaveCheckout, Arg::Set(Cow::Borrowed("true")))]);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BranchUse {
    CheckedOut,
    /// A git operation such as a rebase is unfinished. When it ends, it returns to the branch or
    /// moves it. The text names the operation.
    Busy(&'static str),
}

/// A work tree that uses a particular branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkTree {
    pub path: PathBuf,
    pub usage: BranchUse,
    is_main: bool,
    /// True if `git worktree lock` has locked the work tree. This command is for work trees on
    /// disks that are not always mounted.
    is_locked: bool,
}

/// Result of the check whether a directory is a work tree of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectoryCheck {
    /// The directory is the work tree.
    Verified,
    /// The directory of a linked work tree is missing.
    Missing,
    /// The directory of a linked work tree is missing, but `git worktree lock` has locked the work
    /// tree. Its disk may be mounted again.
    LockedMissing,
    /// The directory does not point to the repository, or the repository does not point to the
    /// directory.
    Mismatch,
}

#[derive(Debug)]
pub(crate) struct BranchMove {
    branch: String,
    from: String,
    to: String,
    /// True to leave the files of work trees unchanged.
    leave: bool,
    checkouts: Vec<Checkout>,
    warnings: Vec<Warning>,
}

/// Result of updating the work trees.
#[derive(Debug, Default)]
pub(crate) struct TreeUpdates {
    pub steps: Vec<Step>,
    pub warnings: Vec<Warning>,
}

/// A work tree whose files will be updated with the branch if `check_can_follow` succeeds.
#[derive(Debug)]
struct Checkout {
    git: Git,
    path: PathBuf,
    branch: String,
    from: String,
    to: String,
    coming: Vec<ChangedPath>,
    /// An older commit of the branch, if the index is based on it.
    older: Option<String>,
    has_staged: bool,
}

/// A path that differs between the commits `from` and `to` of a [`Checkout`].
#[derive(Debug)]
struct ChangedPath {
    path: Vec<u8>,
    added: bool,
    removed: bool,
    /// True if the path is a submodule in one of the commits.
    submodule: bool,
}

impl WorkTree {
    /// Returns two texts: how the work tree uses the branch (the end of a sentence), and the
    /// command that ends this use. `leave` is the argument of `git switch` in this command.
    pub fn explain(&self, leave: &str) -> (String, String) {
        let (shown, path) = (show(&self.path), self.path.as_path());
        match self.usage {
            BranchUse::CheckedOut => (
                format!("it is checked out in {shown}"),
                git_in(path, &["switch", leave]),
            ),
            BranchUse::Busy("bisect") => (
                format!("a bisect that started on it is unfinished in {shown}"),
                format!("end it with {}", git_in(path, &["bisect", "reset"])),
            ),
            BranchUse::Busy(operation) => (
                format!("a {operation} of it is unfinished in {shown}"),
                format!(
                    "end it with {}, or give it up with --abort",
                    git_in(path, &[operation, "--continue"])
                ),
            ),
        }
    }
}

impl Local {
    /// Returns the work trees that use `branch`. Those with an unfinished operation come first.
    pub(crate) async fn work_trees_using(&self, branch: &str) -> Result<Vec<WorkTree>> {
        let (found, direct) =
            tokio::join!(self.checked_out(branch), self.refuse_symbolic_ref(branch));
        direct?;
        let (repository, branch) = (self.repository.clone(), branch.to_owned());
        let find = move || {
            let dirs = state_dirs(&repository).into_iter().enumerate();
            let using = dirs.filter_map(|(n, (state, path))| {
                let usage = BranchUse::Busy(unfinished(&state, &branch)?);
                let is_main = n == 0;
                Some(WorkTree {
                    path,
                    usage,
                    is_main,
                    is_locked: false,
                })
            });
            Ok(using.collect::<Vec<_>>())
        };
        let mut using = blocking(find).await?;
        using.extend(found?);
        Ok(using)
    }

    async fn checked_out(&self, branch: &str) -> Result<Vec<WorkTree>> {
        let list = ["worktree", "list", "--porcelain", "-z"];
        let list = self.git().run_ok(list).await?;
        let wanted = format!("branch refs/heads/{branch}");
        let mut trees: Vec<PathBuf> = Vec::new();
        let mut found: Vec<WorkTree> = Vec::new();
        // Each work tree has a line for its directory, then a line for its branch, then possibly
        // `locked`.
        for line in list.split(|b| *b == 0) {
            if let Some(dir) = line.strip_prefix(b"worktree ") {
                trees.push(path_of(dir));
            } else if line == b"locked" || line.starts_with(b"locked ") {
                let of = found.last_mut().filter(|f| trees.last() == Some(&f.path));
                if let Some(tree) = of {
                    tree.is_locked = true;
                }
            } else if line == wanted.as_bytes()
                && let Some(listed) = trees.last()
            {
                // git lists the main work tree first.
                let is_main = trees.len() == 1;
                let path = match is_main {
                    true => self.main_tree(listed).await,
                    false => listed.clone(),
                };
                found.push(WorkTree {
                    path,
                    usage: BranchUse::CheckedOut,
                    is_main,
                    is_locked: false,
                });
            }
        }
        Ok(found)
    }

    /// Returns the directory of the main work tree. `listed` is the directory that git's list of
    /// work trees has for it. If the git directory is not called `.git`, this list has the git
    /// directory instead. In this case only the `.git` link in the work tree shows that the two
    /// directories belong together.
    async fn main_tree(&self, listed: &Path) -> PathBuf {
        if let Some(top) = &self.repository.main_tree {
            return top.clone();
        }
        let current_work_tree = self
            .repository
            .current_work_tree()
            .filter(|(_, is_main)| *is_main);
        let dir = current_work_tree.map_or_else(|| listed.to_owned(), |(top, _)| top);
        let git = self.git().in_dir(&dir);
        match git.run(["rev-parse", "--show-toplevel"]).await {
            Ok(top) if top.status == 0 => path_of(without_line_end(&top.stdout)),
            _ => dir,
        }
    }

    /// Refuses a branch that is a symbolic ref, because the search would miss work trees that have
    /// its target branch checked out.
    async fn refuse_symbolic_ref(&self, branch: &str) -> Result<()> {
        let full = format!("refs/heads/{branch}");
        let asked = self.git().run(["symbolic-ref", "--quiet", &full]).await?;
        if asked.status != 0 {
            return Ok(());
        }
        let target = String::from_utf8_lossy(&asked.stdout);
        let target = text::one_line(target.trim()).into_owned();
        let message = format!(
            "'{}' is a symbolic ref to {target}, and forge neither moves nor deletes symbolic refs",
            text::one_line(branch)
        );
        let hint = Hint::new("name the branch itself as the base")
            .with_action(Action::op(Op::PrEdit).choose(Param::Base));
        Err(Error::precondition(Precondition::Rule, message).with_hint(hint))
    }

    /// Checks whether the directory of `tree` is a work tree of the repository.
    async fn directory_of(&self, tree: &WorkTree) -> DirectoryCheck {
        let (repository, tree) = (self.repository.clone(), tree.clone());
        let check = move || Ok(directory_of(&repository, &tree));
        blocking(check).await.unwrap_or(DirectoryCheck::Mismatch)
    }

    /// Prepares a move of `branch` from `from` to `to`. Checks that the files of all work trees
    /// with this branch checked out can be updated. Changes nothing.
    ///
    /// # Errors
    /// `precondition_failed` in these cases:
    /// - Files block the move; the error names them.
    /// - A git operation on the branch is unfinished.
    /// - Without `leave`, the directory of a work tree is unknown, or a locked work tree is
    ///   missing.
    pub(crate) async fn prepare_move(
        &self,
        branch: &str,
        from: &str,
        to: &str,
        leave: bool,
    ) -> Result<BranchMove> {
        let mut the_move = BranchMove {
            branch: branch.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            leave,
            checkouts: Vec::new(),
            warnings: Vec::new(),
        };
        for tree in self.work_trees_using(branch).await? {
            if tree.usage != BranchUse::CheckedOut {
                return Err(branch_in_use_error(branch, &tree));
            }
            if leave {
                continue;
            }
            let directory = self.directory_of(&tree).await;
            match directory {
                DirectoryCheck::Verified => {
                    let checkout = self.checkout(&the_move, tree.path).await?;
                    the_move.checkouts.push(checkout);
                }
                DirectoryCheck::Missing => the_move
                    .warnings
                    .push(missing_work_tree_warning(&the_move, &tree.path)),
                DirectoryCheck::LockedMissing => {
                    return Err(missing_work_tree_error(branch, &tree.path));
                }
                DirectoryCheck::Mismatch => return Err(self.unknown_directory_error(branch, &tree)),
            }
        }
        Ok(the_move)
    }

    /// Prepares the work tree at `path`, and checks that its files can be updated.
    async fn checkout(&self, the_move: &BranchMove, path: PathBuf) -> Result<Checkout> {
        let BranchMove {
            branch, from, to, ..
        } = the_move;
        let git = self.git().in_dir(&path).for_write();
        let git = git.with_attributes_file().await?.without_hooks().await?;
        let shown = shown_in(&git, from).await;
        let checkout = Checkout {
            coming: touched(&git, from, to).await?,
            has_staged: shown.as_ref() != Some(from),
            older: shown.filter(|shown| shown != from),
            from: from.clone(),
            to: to.clone(),
            branch: branch.clone(),
            path,
            git,
        };
        checkout.check_can_follow().await?;
        Ok(checkout)
    }

    /// Checks the work trees again after the move. If a work tree has checked out the branch in the
    /// meantime, updates its files. If a work tree has left the branch, resets its files to its
    /// current commit. A failure becomes a warning, because the branch has already moved.
    pub(crate) async fn finish_move(&self, the_move: BranchMove) -> TreeUpdates {
        let mut brought = TreeUpdates {
            warnings: the_move.warnings.clone(),
            ..TreeUpdates::default()
        };
        let trees = match self.checked_out(&the_move.branch).await {
            Ok(trees) => trees,
            Err(e) => {
                brought.warnings.push(crate::pulls::warning_of(&e));
                return brought;
            }
        };
        let (stayed, left): (Vec<_>, Vec<_>) = the_move
            .checkouts
            .iter()
            .partition(|checkout| trees.iter().any(|tree| tree.path == checkout.path));
        for checkout in left {
            if let Err(e) = checkout.reset().await {
                brought.warnings.push(crate::pulls::warning_of(&e));
            }
        }
        for tree in trees {
            if stayed.iter().any(|checkout| checkout.path == tree.path) {
                continue;
            }
            let directory = self.directory_of(&tree).await;
            if !the_move.leave && directory == DirectoryCheck::Missing {
                continue;
            }
            if !the_move.leave && directory == DirectoryCheck::Verified {
                // If this update fails, the warning below gives the user the command for it.
                if let Ok(step) = self.follow(&the_move, tree.path.clone()).await {
                    brought.steps.extend(step);
                    continue;
                }
            }
            brought
                .warnings
                .push(self.stale_files_warning(&the_move, &tree).await);
        }
        brought
    }

    /// Updates a work tree that checked out the branch during the move.
    async fn follow(&self, the_move: &BranchMove, path: PathBuf) -> Result<Option<Step>> {
        let git = self.git().in_dir(&path);
        if staged(&git, &the_move.to).await?.is_empty() {
            // The work tree checked out the branch after the move, so its files are already new.
            return Ok(None);
        }
        let checkout = self.checkout(the_move, path).await?;
        checkout.forward().await.map(Some)
    }

    /// Returns the warning about a work tree that has the branch checked out but still has the old
    /// files.
    async fn stale_files_warning(&self, the_move: &BranchMove, tree: &WorkTree) -> Warning {
        let shown = shown_in(&self.git().in_dir(&tree.path), &the_move.from).await;
        let from = shown.as_deref().unwrap_or(&the_move.from);
        let git = match self.directory_of(tree).await {
            DirectoryCheck::Verified => git_in(&tree.path, &[]),
            DirectoryCheck::Missing | DirectoryCheck::LockedMissing | DirectoryCheck::Mismatch => {
                "git".to_owned()
            }
        };
        let mut hint =
            format!("update them and keep local changes with: {git} read-tree -m -u {from} HEAD");
        if shown.is_none() {
            hint.push_str(&format!(
                " (its index has changes of its own, see: {git} diff --cached {from})"
            ));
        }
        Warning::new(format!(
            "'{}' is checked out in {}, whose files were not updated: a commit of all files there \
             would revert the changes",
            text::one_line(&the_move.branch),
            show(&tree.path)
        ))
        .with_hint(hint)
    }

    /// Returns the error for a directory that could not be verified as the work tree.
    fn unknown_directory_error(&self, branch: &str, tree: &WorkTree) -> Error {
        let branch = text::one_line(branch);
        let (message, hint) = match tree.is_main {
            true => (
                format!(
                    "'{branch}' is checked out in the main work tree of {}, but {} is not that \
                     work tree; nothing was changed",
                    show(&self.repository.common_dir),
                    show(&tree.path)
                ),
                Hint::new(
                    "name the repository by the path of that work tree, or leave its files \
                     unchanged",
                )
                .with_action(Action::again(&[(Param::Repo, Arg::Choose)])),
            ),
            false => (
                format!(
                    "'{branch}' is checked out in a linked work tree, but {} is not that work \
                     tree; nothing was changed",
                    show(&tree.path)
                ),
                Hint::new(
                    "run `git worktree repair` in the work tree if it was moved, and try again; or \
                     leave its files unchanged",
                )
                .with_action(LEAVE_CHECKOUT),
            ),
        };
        Error::precondition(Precondition::WorkTree(Vec::new()), message).with_hint(hint)
    }
}

impl BranchMove {
    /// Updates the files of all work trees. If one update fails, resets the updated ones.
    ///
    /// # Errors
    /// `git` if an update fails halfway.
    pub async fn forward(&self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for (done, checkout) in self.checkouts.iter().enumerate() {
            match checkout.forward().await {
                Ok(step) => steps.push(step),
                Err(e) => {
                    let done = self.checkouts.get(..done).unwrap_or_default();
                    reset_all(done).await?;
                    return Err(e.with_hint(format!(
                        "the branch did not move, but some files may already be updated; see these \
                         changes with: {}",
                        git_in(&checkout.path, &["status"])
                    )));
                }
            }
        }
        Ok(steps)
    }

    /// Resets all work trees to the files of their current commits. Called if the branch did not
    /// move, or if another process moved it.
    ///
    /// # Errors
    /// `git` if a work tree was changed in the meantime. The error has the command that resets it.
    pub async fn reset(&self) -> Result<()> {
        reset_all(&self.checkouts).await
    }

    /// Resets all work trees like [`Self::reset`] after the failure `e`, and returns the error to
    /// report.
    pub async fn reset_after(&self, e: Error) -> Error {
        match self.reset().await {
            Ok(()) => e,
            Err(left) => left.with_source(e),
        }
    }
}

async fn reset_all(checkouts: &[Checkout]) -> Result<()> {
    let mut result = Ok(());
    for checkout in checkouts {
        if let Err(e) = checkout.reset().await {
            result = Err(e);
        }
    }
    result
}

impl Checkout {
    async fn forward(&self) -> Result<Step> {
        self.read_tree(&["-u"], &self.from, &self.to).await?;
        let name = format!("update the files of {}", show(&self.path));
        Ok(Step::new(name, true))
    }

    /// Resets the work tree to the files of its `HEAD`, and keeps the changes of the user. A
    /// concurrent commit cannot interfere: git reads `HEAD` under the index lock, and a commit
    /// releases this lock only after it has moved `HEAD`.
    async fn reset(&self) -> Result<()> {
        let Self { to, path, .. } = self;
        self.read_tree(&["-u"], to, "HEAD").await.map_err(|e| {
            let message = format!(
                "the work tree {} still has the files of {to}, but its HEAD is another commit: {}",
                show(path),
                e.message()
            );
            let back = format!(
                "update them to that commit and keep local changes with: {}",
                git_in(path, &["read-tree", "-m", "-u", to, "HEAD"])
            );
            Error::new(e.kind().clone(), message)
                .with_hint(back)
                .with_source(e)
        })
    }

    /// Merges two trees into the index. With `-u`, also into the files.
    async fn read_tree(&self, options: &[&str], from: &str, to: &str) -> Result<()> {
        // The check for programs is repeated here. Git's configuration may include a file of
        // another work tree, and forge may have just updated that file.
        self.git
            .in_dir(&self.path)
            .refuse_programs(&self.operation(), is_filter)
            .await?;
        let mut git = self.git.clone();
        let mut args: Vec<OsString> = Vec::new();
        let cwd = std::env::current_dir().and_then(|cwd| cwd.canonicalize());
        if let Ok(cwd) = cwd
            && cwd.starts_with(&self.path)
        {
            // Git never deletes the directory in which it was started. Git therefore starts in the
            // current directory of the user, so that this directory is kept.
            git = git.in_dir(cwd);
            args.extend(["-C".into(), self.path.clone().into()]);
        }
        let fixed = ["read-tree", "-m", "--no-recurse-submodules"];
        let all = fixed.iter().chain(options).chain([&from, &to]);
        args.extend(all.map(OsString::from));
        let output = git.run_with_locks(args, b"").await?;
        output.ok("read-tree").map(|_| ())
    }

    /// Describes the operation, for the error about programs that git would start.
    fn operation(&self) -> String {
        format!("changing the files of {}", show(&self.path))
    }

    /// Returns the submodules that change and are checked out. They block the update, because git
    /// would not move them, or would overwrite untracked files in them.
    async fn submodules(&self) -> Result<BTreeSet<String>> {
        self.files_with(
            |file| file.submodule,
            |dir| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()),
        )
        .await
    }

    /// Returns the changing files that `wanted` accepts and whose path in the work tree passes
    /// `is_so`. `is_so` may block the thread.
    async fn files_with(
        &self,
        wanted: fn(&ChangedPath) -> bool,
        is_so: fn(&Path) -> bool,
    ) -> Result<BTreeSet<String>> {
        let files = self.coming.iter().filter(|file| wanted(file));
        let files: Vec<Vec<u8>> = files.map(|file| file.path.clone()).collect();
        let root = self.path.clone();
        let find = move || {
            let found = files.iter().filter(|path| is_so(&root.join(path_of(path))));
            Ok(found.map(|path| lossy(path)).collect::<BTreeSet<_>>())
        };
        blocking(find).await
    }

    /// Fails if the update would lose or overwrite a change or a file of the user.
    async fn check_can_follow(&self) -> Result<()> {
        self.git
            .refuse_programs(&self.operation(), is_filter)
            .await?;
        let submodules = self.submodules().await?;
        if !submodules.is_empty() {
            return Err(self.refusal(&submodules, "is a submodule, which only git itself moves"));
        }
        // After a refresh of the index, files with a new modification time but the old content
        // count as unchanged.
        let refresh = ["update-index", "-q", "--ignore-submodules", "--refresh"];
        self.git.run_with_locks(refresh, b"").await?;
        if let Some(older) = &self.older {
            return Err(self.ambiguous(older));
        }
        let deleted = self.deleted().await?;
        if !deleted.is_empty() {
            return Err(self.refusal(&deleted, "was deleted here, and the deletion is not staged"));
        }
        let half_staged = self.half_staged().await?;
        if !half_staged.is_empty() {
            return Err(self.refusal(&half_staged, "has unstaged changes"));
        }
        let mut in_the_way = self.overwritten().await?;
        if in_the_way.is_empty() {
            let Err(e) = self.read_tree(&["-u", "-n"], &self.from, &self.to).await else {
                return Ok(());
            };
            in_the_way = self.changed_here().await?;
            if in_the_way.is_empty() {
                let message = format!(
                    "the files of {} cannot follow '{}': {}",
                    show(&self.path),
                    text::one_line(&self.branch),
                    e.message()
                );
                return Err(
                    Error::precondition(Precondition::WorkTree(Vec::new()), message)
                        .with_hint(self.recovery())
                        .with_source(e),
                );
            }
        }
        Err(self.refusal(&in_the_way, "would be overwritten"))
    }

    /// Returns the error about `files`, with the reason `why`.
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
            show(&self.path),
            shown.join(", ")
        );
        let files = files.iter().cloned().collect();
        Error::precondition(Precondition::WorkTree(files), message).with_hint(self.recovery())
    }

    /// Returns the error for an index that is based on an older commit. There are two possible
    /// causes: an earlier merge did not update the files, or the user is reverting that merge.
    fn ambiguous(&self, older: &str) -> Error {
        let update = git_in(&self.path, &["read-tree", "-m", "-u", older, "HEAD"]);
        let message = format!(
            "'{}' is checked out in {}, whose index is built on the older commit {older}; nothing was \
             changed",
            text::one_line(&self.branch),
            show(&self.path)
        );
        let hint = Hint::from(format!(
            "if an earlier merge left the files behind, update them first: {update}; if you mean to \
             revert commits, commit that first; or leave the files unchanged"
        ));
        Error::precondition(Precondition::WorkTree(Vec::new()), message)
            .with_hint(hint.with_action(LEAVE_CHECKOUT))
    }

    fn recovery(&self) -> Hint {
        Hint::from(format!(
            "commit, stash or move these files in {}, then try again; or leave its files unchanged",
            show(&self.path)
        ))
        .with_action(LEAVE_CHECKOUT)
    }

    /// Returns the untracked and ignored files that the new commit would overwrite. Git itself
    /// would overwrite ignored files.
    async fn overwritten(&self) -> Result<BTreeSet<String>> {
        let added = self.coming.iter().filter(|file| file.added);
        let added: Vec<PathBuf> = added.map(|file| path_of(&file.path)).collect();
        let root = self.path.clone();
        let collect = move || {
            let mut there = BTreeSet::new();
            for path in &added {
                collect_files(&root, path, &mut there);
            }
            Ok(there)
        };
        let there = blocking(collect).await?;
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

    /// Returns the files that the new commit changes and that the user has deleted without staging
    /// the deletion. Git would restore them. Files outside of a sparse checkout are ignored.
    async fn deleted(&self) -> Result<BTreeSet<String>> {
        let missing = self.files_with(
            |file| !file.added && !file.removed && !file.submodule,
            |path| path.symlink_metadata().is_err(),
        );
        let missing = missing.await?;
        if missing.is_empty() {
            return Ok(missing);
        }
        let diff = ["diff-files", "-z", "--name-only", "--diff-filter=D"];
        let listed = self.git.run_ok(diff).await?;
        Ok(&missing & &fields(&listed).map(lossy).collect())
    }

    /// Returns the files that have unstaged changes while the index also has changes.
    ///
    /// For example, a checkout that a full disk has stopped leaves the new content in the index and
    /// the old file in the work tree. Git then keeps the old file, and the user's next commit of
    /// all files would revert the merge.
    async fn half_staged(&self) -> Result<BTreeSet<String>> {
        if !self.has_staged {
            return Ok(BTreeSet::new());
        }
        let diff = [
            "diff-files",
            "-z",
            "--name-only",
            "--ignore-submodules=dirty",
        ];
        let listed = self.git.run_ok(diff).await?;
        let unstaged: BTreeSet<String> = fields(&listed).map(lossy).collect();
        let coming = self.coming.iter().map(|file| lossy(&file.path));
        Ok(coming.filter(|file| unstaged.contains(file)).collect())
    }

    /// Returns the files with local changes, staged or not, that also differ between the two
    /// commits.
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

/// Returns the paths that differ between two commits.
async fn touched(git: &Git, from: &str, to: &str) -> Result<Vec<ChangedPath>> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to];
    let listed = git.run_ok(args).await?;
    let mut fields = fields(&listed);
    let mut touched = Vec::new();
    // `:<old mode> <new mode> <old id> <new id> <letter>`, then the path.
    while let (Some(raw), Some(path)) = (fields.next(), fields.next()) {
        touched.push(ChangedPath {
            path: path.to_owned(),
            added: raw.starts_with(b":000000 "),
            removed: raw.get(8..15) == Some(b"000000 "),
            submodule: raw.starts_with(b":160000 ") || raw.get(8..15) == Some(b"160000 "),
        });
    }
    Ok(touched)
}

/// Returns the paths in which the index differs from a commit. Does not use `git write-tree`, which
/// would lock the index.
async fn staged(git: &Git, commit: &str) -> Result<BTreeSet<Vec<u8>>> {
    let args = [
        "diff-index",
        "--cached",
        "-z",
        "--no-renames",
        "--name-only",
        commit,
        "--",
    ];
    let listed = git.run_ok(args).await?;
    Ok(fields(&listed).map(<[u8]>::to_owned).collect())
}

/// Returns the commit on which the index of a work tree is based. This is `onto`, or an older
/// commit if an earlier merge did not update the files. If forge updated an index of an older
/// commit as if it were based on `onto`, the difference between the two commits would look like a
/// change by the user.
///
/// An index with staged changes is assumed to be based on an older commit under two conditions: it
/// differs from that commit in fewer paths than from `onto`, and each of these paths also differs
/// from `onto`.
async fn shown_in(git: &Git, onto: &str) -> Option<String> {
    let from_onto = staged(git, onto).await.ok()?;
    if from_onto.is_empty() {
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
    let mut fewest = from_onto.len();
    let mut shown = None;
    for commit in std::str::from_utf8(&commits).ok()?.lines() {
        let differing = staged(git, commit).await.ok()?;
        if differing.len() < fewest && differing.is_subset(&from_onto) {
            fewest = differing.len();
            shown = Some(commit.to_owned());
        }
        if fewest == 0 {
            break;
        }
    }
    shown
}

/// Returns the warning about a linked work tree that has the branch checked out but is missing.
fn missing_work_tree_warning(the_move: &BranchMove, path: &Path) -> Warning {
    let message = format!(
        "'{}' is checked out in {}, which is missing; its files were not updated",
        text::one_line(&the_move.branch),
        show(path)
    );
    Warning::new(message).with_hint(format!(
        "if it was moved, run in it: git worktree repair, and {}; if it is gone for good: git \
         worktree prune",
        command_line(["git", "read-tree", "-m", "-u", &the_move.from, "HEAD"])
    ))
}

/// Returns the error for a work tree that has the branch checked out and is locked but missing.
fn missing_work_tree_error(branch: &str, path: &Path) -> Error {
    let shown = show(path);
    let message = format!(
        "cannot update '{}': it is checked out in {shown}, a locked work tree that is missing; \
         once the work tree is back, a commit of all its files would revert the changes; nothing \
         was changed",
        text::one_line(branch)
    );
    let hint = format!(
        "mount the disk of {shown}; or, if it never comes back, run {} and git worktree prune; or leave its \
         files unchanged",
        command_line(["git", "worktree", "unlock", &*path.to_string_lossy()])
    );
    Error::precondition(Precondition::WorkTree(Vec::new()), message)
        .with_hint(Hint::from(hint).with_action(LEAVE_CHECKOUT))
}

/// Returns true if a configuration key names a program that a checkout starts, or another work
/// tree.
fn is_filter(key: &str) -> bool {
    key.starts_with("filter.") || key == "core.worktree"
}

/// Returns a git command in the directory `path`, for a shell.
fn git_in(path: &Path, words: &[&str]) -> String {
    let path = path.to_string_lossy();
    command_line([&["git", "-C", &*path], words].concat())
}

/// Returns the error for moving a branch that an unfinished git operation uses.
pub(crate) fn branch_in_use_error(branch: &str, tree: &WorkTree) -> Error {
    let (why, recovery) = tree.explain("--detach");
    let message = format!("'{}' cannot be moved: {why}", text::one_line(branch));
    Error::precondition(Precondition::WorkTree(Vec::new()), message)
        .with_hint(format!("{recovery}, then try again"))
}

fn directory_of(repository: &LocalRepository, tree: &WorkTree) -> DirectoryCheck {
    if repository.owns(&tree.path, tree.is_main) {
        return DirectoryCheck::Verified;
    }
    let is_there = tree.path.join(".git").symlink_metadata().is_ok();
    // The current directory may be in a linked work tree that was moved. This moved work tree may
    // be `tree`.
    let is_here = || {
        let current_work_tree = repository.current_work_tree();
        current_work_tree.is_some_and(|(top, is_main)| !is_main && !repository.owns(&top, false))
    };
    match tree.is_main || is_there || is_here() {
        true => DirectoryCheck::Mismatch,
        false if tree.is_locked => DirectoryCheck::LockedMissing,
        false => DirectoryCheck::Missing,
    }
}

/// Returns git's state directory of each work tree, with the path of the work tree.
fn state_dirs(repository: &LocalRepository) -> Vec<(PathBuf, PathBuf)> {
    let common = &repository.common_dir;
    let main = repository.main_tree.as_ref();
    let main = main.unwrap_or(&repository.root).clone();
    let mut dirs = vec![(common.clone(), main)];
    for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten() {
        let Ok(state) = entry.map(|entry| entry.path()) else {
            continue;
        };
        let Some(link) = state_file(&state.join("gitdir")) else {
            continue;
        };
        let dot_git = state.join(path_of(without_line_end(&link)));
        let path = dot_git.parent().unwrap_or(&dot_git).to_owned();
        dirs.push((state, path));
    }
    dirs
}

/// Returns the name of the unfinished git operation on `branch`, according to the files in `state`.
///
/// Source: `branch.c` of git, which refuses to move or delete such branches.
fn unfinished(state: &Path, branch: &str) -> Option<&'static str> {
    let full = format!("refs/heads/{branch}");
    let has = |file: &str, wanted: &str| {
        let file = state.join(file);
        let text = state_file(&file).unwrap_or_default();
        // Of a file above the size limit, only the beginning is read. Such a file is assumed to
        // name every branch.
        let is_cut = fs::metadata(&file).is_ok_and(|found| found.len() > MAX_STATE_FILE);
        is_cut
            || text
                .split(|b| *b == b'\n')
                .any(|line| line == wanted.as_bytes())
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

/// Collects the file at `path` below `root`, or all files in it if it is a directory. If a parent
/// is a link or a file, collects that parent instead.
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

/// Splits git's NUL-terminated output.
fn fields(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|b| *b == 0).filter(|field| !field.is_empty())
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
