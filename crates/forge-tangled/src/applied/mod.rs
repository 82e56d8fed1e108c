//! Applies a round to the objects of a clone, as the knot (git server) will, and compares what git
//! makes of it with what its diff shows.
//!
//! A knot splits a series at its `From ` lines and applies each mail with `git am`; a plain diff is
//! applied with `git apply` (tangled's `patchutil` and `knotserver/git/merge.go`). git finds
//! changes where no reader of a diff looks, searches for hunks that are not at their place, and
//! takes the content of a binary file from an object that it has. Only git's own result shows all
//! of that.

mod binary;
mod lines;

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Error, Result, Warning,
    diff::{self, DiffLine, FileDiff, HeaderKey, LineReader},
    model::{FileStatus, LocalClone},
    text::one_line,
};
use forge_git::{
    CatFile, Git, PatchSource, PatchTrial, TreeChange, TreeEntry, TreeStep, TrialResult,
};

use crate::patch::Patch;
use binary::PackedContent;
use lines::ShownHunks;

/// Maximum size of the files that a round changes, together and in bytes, with the binary contents
/// that it has. git holds all files of a mail in memory.
const MAX_APPLIED: u64 = 64 * 1024 * 1024;

/// Maximum number of lines of a file, or of the hunks of a file, that are compared.
const MAX_LINES: usize = 1_000_000;

const GITLINK: u32 = 0o160_000;

/// What git makes of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoundTrial {
    /// git makes this tree, hex, and exactly the changes that the round shows.
    AsShown {
        tree: String,
    },
    /// git makes other changes. The text says which, as a sentence without its end.
    Differs(String),
    Refused {
        why: String,
        files: Vec<String>,
    },
    /// The round is too large to be compared, for this reason.
    TooLarge(String),
}

/// A reason to end a comparison early.
enum Stop {
    Differs(String),
    TooLarge(String),
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(e: Error) -> Self {
        Self::Failed(e)
    }
}

type Compared<T> = std::result::Result<T, Stop>;

/// Returns the commit of a branch that a clone knows, hex: the tip of its remote-tracking branch.
/// Starts one process.
pub(crate) async fn known_tip(clone: &LocalClone, branch: &str) -> Option<String> {
    let name = format!("refs/remotes/{}/{branch}", clone.remote);
    git_of(clone).ref_oid(&name).await.ok().flatten()
}

/// Applies a round to the commit `base`. Returns `None` if the clone lacks the commit, or objects of
/// it. Starts at most 7 processes, and one for each commit that copies files: the first one in the
/// clone, the others in a scratch repository.
pub(crate) async fn try_round(
    clone: &LocalClone,
    base: &str,
    patch: &Patch,
) -> Result<Option<RoundTrial>> {
    let Some(trial) = git_of(clone).patch_trial(base).await? else {
        return Ok(None);
    };
    let mut cat = trial.cat_file();
    if let Some(why) = find_excess(&mut cat, base, patch).await? {
        return Ok(Some(RoundTrial::TooLarge(why)));
    }
    let mails = split_mails(&patch.raw);
    let source = match patch.mails.is_empty() {
        true => PatchSource::Diff(&patch.raw),
        false => PatchSource::Mails(&mails),
    };
    let steps = match trial.apply(&mut cat, source).await? {
        TrialResult::Applied(steps) => steps,
        TrialResult::Refused { why, files } => {
            return Ok(Some(RoundTrial::Refused { why, files }));
        }
        TrialResult::TooLarge(why) => return Ok(Some(RoundTrial::TooLarge(why))),
        TrialResult::ObjectMissing => return Ok(None),
    };
    match compare_steps(&trial, &mut cat, &steps, patch).await {
        Ok(()) => {
            let tree = steps.last().map(|step| step.after.clone());
            let tree = tree.unwrap_or_default();
            Ok(Some(RoundTrial::AsShown { tree }))
        }
        Err(Stop::Differs(why)) => Ok(Some(RoundTrial::Differs(why))),
        Err(Stop::TooLarge(why)) => Ok(Some(RoundTrial::TooLarge(why))),
        Err(Stop::Failed(e)) => Err(e),
    }
}

/// Returns a warning if git makes other changes of a round than it shows, on top of the branch
/// `base` as the clone knows it. A round that does not apply gives no warning: nothing of it would
/// land.
pub(crate) async fn difference_warning(
    clone: &LocalClone,
    base: &str,
    patch: &Patch,
) -> Option<Warning> {
    let tip = known_tip(clone, base).await?;
    match try_round(clone, &tip, patch).await {
        Ok(Some(RoundTrial::Differs(why))) => Some(Warning::new(format!(
            "forge does not merge this round: git makes other changes of it than the ones shown: \
             {why}"
        ))),
        Ok(Some(RoundTrial::TooLarge(why))) => Some(Warning::new(format!(
            "this round was not compared with what git makes of it, because it is too large: {why}"
        ))),
        Ok(Some(RoundTrial::AsShown { .. } | RoundTrial::Refused { .. }) | None) => None,
        Err(e) => Some(Warning::new(format!(
            "this round was not compared with what git makes of it: {}",
            e.message()
        ))),
    }
}

/// Returns the tree that the commits of a knot's answer make of the commit `base`, hex. `None` if
/// the answer cannot be applied.
pub(crate) async fn tree_of_commits(
    clone: &LocalClone,
    base: &str,
    printed: &Patch,
) -> Result<Option<String>> {
    let Some(trial) = git_of(clone).patch_trial(base).await? else {
        return Ok(None);
    };
    let mut cat = trial.cat_file();
    if find_excess(&mut cat, base, printed).await?.is_some() {
        return Ok(None);
    }
    let mails = split_mails(&printed.raw);
    // A knot prints the bytes of its files, so a carriage return is one of the file.
    let source = PatchSource::MailsWithReturns(&mails);
    match trial.apply(&mut cat, source).await? {
        TrialResult::Applied(steps) => Ok(steps.last().map(|step| step.after.clone())),
        _ => Ok(None),
    }
}

fn git_of(clone: &LocalClone) -> Git {
    Git::at(&clone.dir).with_trust(clone.trust)
}

/// Splits a series as a knot does: at each line that begins with `From ` and 40 hex digits, without
/// blanks at both ends of a mail (tangled's `patchutil`, `splitFormatPatch`).
fn split_mails(raw: &[u8]) -> Vec<&[u8]> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in raw.split_inclusive(|b| *b == b'\n') {
        let id = line.strip_prefix(b"From ").and_then(|rest| rest.get(..41));
        let is_start = id.is_some_and(|id| {
            let (id, blank) = id.split_at(40);
            let is_hex = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            blank == b" " && id.iter().all(is_hex)
        });
        if is_start {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(raw.len());
    let pairs = starts.windows(2).filter_map(|pair| match pair {
        [from, to] => raw.get(*from..*to),
        _ => None,
    });
    pairs.map(<[u8]>::trim_ascii).collect()
}

/// Returns the diffs of a round as it shows them, one a commit.
fn shown_diffs(patch: &Patch) -> Vec<&[u8]> {
    match patch.mails.as_slice() {
        [] => vec![patch.raw.as_slice()],
        mails => mails.iter().map(|mail| mail.diff.as_slice()).collect(),
    }
}

/// Returns why a round is too large to be applied here. Without this limit, a patch of some
/// kilobytes could make git hold gigabytes: a packed file, or many copies of a large one.
async fn find_excess(cat: &mut CatFile, base: &str, patch: &Patch) -> Result<Option<String>> {
    let mut total: u64 = 0;
    let mut names = Vec::new();
    let most = usize::try_from(MAX_APPLIED).unwrap_or(usize::MAX);
    for diff in shown_diffs(patch) {
        for file in diff::files(diff) {
            if file.header.binary
                && let Some(packed) = PackedContent::read(file.head, most)
            {
                let size = packed.size().unwrap_or(usize::MAX);
                total = total.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
            } else if has_packed_content(&file) {
                return Ok(Some("a binary file of it cannot be unpacked".to_owned()));
            }
            if total > MAX_APPLIED {
                return Ok(Some(too_large()));
            }
            let path = file.header.old_path.filter(|path| !path.contains('\n'));
            names.extend(path.map(|path| format!("{base}:{path}")));
        }
    }
    let found = cat.info_many(&names).await?;
    let sizes = found.into_iter().flatten().map(|info| info.size);
    total = sizes.fold(total, u64::saturating_add);
    Ok((total > MAX_APPLIED).then(too_large))
}

fn too_large() -> String {
    let most = MAX_APPLIED / 1024 / 1024;
    format!("the files that it changes have more than {most} MiB together")
}

fn has_packed_content(file: &FileDiff<'_>) -> bool {
    let mut lines = file.head.split(|b| *b == b'\n');
    lines.any(|line| line.trim_ascii_end() == b"GIT binary patch")
}

async fn compare_steps(
    trial: &PatchTrial,
    cat: &mut CatFile,
    steps: &[TreeStep],
    patch: &Patch,
) -> Compared<()> {
    let shown = shown_diffs(patch);
    if shown.len() != steps.len() {
        let (made, shown) = (steps.len(), shown.len());
        return Err(Stop::Differs(format!(
            "git makes {made} commits of it, and the series shows {shown}"
        )));
    }
    for (step, diff) in steps.iter().zip(shown) {
        let files = diff::files(diff);
        let comparison = Comparison {
            step,
            changes: index_changes(step)?,
            sources: source_entries(trial, step, &files).await?,
            files: &files,
            names: ShownNames::of(&files),
            drops_returns: !patch.mails.is_empty(),
        };
        comparison.run(cat).await?;
    }
    Ok(())
}

fn index_changes(step: &TreeStep) -> Compared<BTreeMap<&str, &TreeChange>> {
    let mut changes = BTreeMap::new();
    for change in &step.changes {
        if changes.insert(change.path.as_str(), change).is_some() {
            let path = one_line(&change.path);
            return Err(Stop::Differs(format!(
                "git changes two files named '{path}'"
            )));
        }
    }
    Ok(changes)
}

/// Returns the entries of unchanged files that a commit copies.
async fn source_entries(
    trial: &PatchTrial,
    step: &TreeStep,
    files: &[FileDiff<'_>],
) -> Result<BTreeMap<String, TreeEntry>> {
    let changed: BTreeSet<&str> = step.changes.iter().map(|it| it.path.as_str()).collect();
    let paths = files
        .iter()
        .filter_map(|file| file.header.old_path.as_deref());
    let paths: BTreeSet<&str> = paths.filter(|path| !changed.contains(path)).collect();
    if paths.is_empty() {
        return Ok(BTreeMap::new());
    }
    let paths: Vec<&str> = paths.into_iter().collect();
    trial.git().tree_entries(&step.before, &paths).await
}

/// The names of the files in a diff, by the kind of change.
#[derive(Default)]
struct ShownNames<'a> {
    added: BTreeSet<&'a str>,
    deleted: BTreeSet<&'a str>,
    /// Old names of renamed files.
    left: BTreeSet<&'a str>,
    /// Names that files have after the change.
    kept: BTreeSet<&'a str>,
}

impl<'a> ShownNames<'a> {
    fn of(files: &'a [FileDiff<'_>]) -> Self {
        let mut names = Self::default();
        for header in files.iter().map(|file| &file.header) {
            names.kept.extend(header.new_path.as_deref());
            match header.status {
                FileStatus::Added => names.added.extend([header.path()]),
                FileStatus::Deleted => names.deleted.extend([header.path()]),
                FileStatus::Renamed => names.left.extend(header.old_path.as_deref()),
                FileStatus::Copied | FileStatus::Modified => {}
            }
        }
        names
    }

    /// Returns true for a file that is deleted and added again, as one that becomes a link.
    fn is_replaced(&self, path: &str) -> bool {
        self.added.contains(path) && self.deleted.contains(path)
    }
}

/// The changes of one commit: as git makes them, and as a diff shows them.
struct Comparison<'a> {
    step: &'a TreeStep,
    changes: BTreeMap<&'a str, &'a TreeChange>,
    /// Entries of files that the commit copies and does not change.
    sources: BTreeMap<String, TreeEntry>,
    files: &'a [FileDiff<'a>],
    names: ShownNames<'a>,
    /// True if git drops carriage returns at the ends of the patch's lines.
    drops_returns: bool,
}

impl Comparison<'_> {
    async fn run(&self, cat: &mut CatFile) -> Compared<()> {
        let mut explained = BTreeSet::new();
        for file in self.files {
            self.compare_file(cat, file, &mut explained).await?;
        }
        for change in &self.step.changes {
            if !explained.contains(change.path.as_str()) {
                return Err(differs(
                    &change.path,
                    "is changed by git, and not in the diff",
                ));
            }
        }
        Ok(())
    }

    async fn compare_file<'f>(
        &self,
        cat: &mut CatFile,
        file: &'f FileDiff<'_>,
        explained: &mut BTreeSet<&'f str>,
    ) -> Compared<()> {
        let header = &file.header;
        let path = header.path();
        let Some(change) = self.changes.get(path) else {
            return Err(differs(path, "is changed in the diff, and not by git"));
        };
        let is_deleted = header.status == FileStatus::Deleted;
        let is_replaced = self.names.is_replaced(path);
        if !explained.insert(path) && !is_replaced {
            return Err(differs(path, "is in the diff twice"));
        }
        self.compare_names(file, explained)?;
        let old = match header.status {
            FileStatus::Added => None,
            _ => self.old_entry(header.old_path.as_deref().unwrap_or(path)),
        };
        if old.is_none() && header.status != FileStatus::Added {
            return Err(differs(path, "was not there before the change"));
        }
        let new = change.new.as_ref().filter(|_| !is_deleted);
        if is_deleted && change.new.is_some() && !is_replaced {
            return Err(differs(path, "is not deleted by git"));
        }
        if !is_deleted && new.is_none() {
            return Err(differs(path, "is deleted by git"));
        }
        compare_modes(file, old, new)?;
        compare_contents(cat, file, old, new, self.drops_returns).await
    }

    /// Checks which files a change creates and deletes besides its own.
    fn compare_names<'f>(
        &self,
        file: &'f FileDiff<'_>,
        explained: &mut BTreeSet<&'f str>,
    ) -> Compared<()> {
        let header = &file.header;
        let target = self
            .changes
            .get(header.path())
            .and_then(|it| it.old.as_ref());
        let is_made = matches!(
            header.status,
            FileStatus::Added | FileStatus::Renamed | FileStatus::Copied
        );
        let (path, names) = (header.path(), &self.names);
        if is_made
            && target.is_some()
            && !names.deleted.contains(path)
            && !names.left.contains(path)
        {
            return Err(differs(path, "was there before the change"));
        }
        let Some(source) = header.old_path.as_deref() else {
            return Ok(());
        };
        if header.status == FileStatus::Renamed && !names.kept.contains(source) {
            let change = self.changes.get(source);
            if change.is_none_or(|change| change.new.is_some()) {
                return Err(differs(source, "keeps its name for git"));
            }
            explained.insert(source);
        }
        Ok(())
    }

    fn old_entry(&self, path: &str) -> Option<&TreeEntry> {
        match self.changes.get(path) {
            Some(change) => change.old.as_ref(),
            None => self.sources.get(path),
        }
    }
}

fn differs(path: &str, what: &str) -> Stop {
    Stop::Differs(format!("'{}' {what}", one_line(path)))
}

fn compare_modes(
    file: &FileDiff<'_>,
    old: Option<&TreeEntry>,
    new: Option<&TreeEntry>,
) -> Compared<()> {
    let header = &file.header;
    let (old, new) = (old.map(|it| it.mode), new.map(|it| it.mode));
    let shown_new = header.new_mode.or(old);
    for (shown, made) in [(header.old_mode, old), (shown_new, new)] {
        if let (Some(shown), Some(made)) = (shown, made)
            && shown != made
        {
            let what = format!("has the mode {made:o} for git, and {shown:o} in the diff");
            return Err(differs(header.path(), &what));
        }
    }
    Ok(())
}

async fn compare_contents(
    cat: &mut CatFile,
    file: &FileDiff<'_>,
    old: Option<&TreeEntry>,
    new: Option<&TreeEntry>,
    drops_returns: bool,
) -> Compared<()> {
    let path = file.header.path();
    let before = read_entry(cat, path, old).await?;
    let after = read_entry(cat, path, new).await?;
    let ids = shown_ids(file.head);
    let has_same_base = match (&ids, old) {
        (Some((shown, _)), Some(old)) => old.oid.starts_with(shown.as_str()),
        (Some((shown, _)), None) => shown.bytes().all(|b| b == b'0'),
        (None, _) => true,
    };
    if file.header.binary {
        let most = usize::try_from(MAX_APPLIED).unwrap_or(usize::MAX);
        let packed = PackedContent::read(file.head, most);
        let Some(packed) = packed else {
            let what = "has a content that is not in the diff: git takes it from an object that \
                        the clone has already";
            return Err(differs(path, what));
        };
        return match packed.apply(&before) {
            Some(made) if made == after => Ok(()),
            _ => Err(differs(path, "gets other binary content from git")),
        };
    }
    let too_long = |content: &[u8]| content.iter().filter(|b| **b == b'\n').count() > MAX_LINES;
    if file.hunks.is_empty() {
        return match before == after {
            true => Ok(()),
            false => Err(differs(path, "gets another content from git")),
        };
    }
    if too_long(&before) || file.hunks.iter().any(|hunk| too_long(hunk.raw)) {
        let (path, most) = (one_line(path), MAX_LINES);
        return Err(Stop::TooLarge(format!(
            "'{path}' has more than {most} lines"
        )));
    }
    let Some(hunks) = ShownHunks::read(&file.hunks, drops_returns) else {
        return Err(differs(path, "has a hunk that git reads in another way"));
    };
    if let Some(made) = hunks.apply_exactly(&before) {
        return match made == after {
            true => compare_ids(file, ids.filter(|_| has_same_base), new, drops_returns),
            false => Err(differs(path, "gets another content from git")),
        };
    }
    // The base branch may have moved since the round was made. Then the hunks are at their place in
    // the file that the round was made from, and git finds the only place of the lines now.
    let original = match ids.filter(|_| !has_same_base) {
        Some((shown, _)) => read_original(cat, &shown).await?,
        None => None,
    };
    let original = original.filter(|it| !too_long(it));
    let is_true = original.is_some_and(|it| hunks.apply_exactly(&it).is_some());
    let made = if is_true {
        hunks.apply_at_only_place(&before)
    } else {
        None
    };
    match made {
        Some(made) if made == after => Ok(()),
        _ => Err(differs(
            path,
            "is changed by git at another place than the diff shows",
        )),
    }
}

/// Compares the id of the new content in the `index` line with the id that git makes.
fn compare_ids(
    file: &FileDiff<'_>,
    ids: Option<(String, String)>,
    new: Option<&TreeEntry>,
    drops_returns: bool,
) -> Compared<()> {
    let has_returns = |raw: &[u8]| raw.windows(2).any(|it| it == b"\r\n");
    let (Some((_, shown)), Some(new)) = (ids, new) else {
        return Ok(());
    };
    let lost_returns = drops_returns && file.hunks.iter().any(|hunk| has_returns(hunk.raw));
    match new.oid.starts_with(&shown) || lost_returns {
        true => Ok(()),
        false => Err(differs(
            file.header.path(),
            "gets another content from git than its `index` line names",
        )),
    }
}

/// Returns the blob ids of the `index` line of a file, as far as it has them.
fn shown_ids(head: &[u8]) -> Option<(String, String)> {
    let mut reader = LineReader::default();
    head.split_inclusive(|b| *b == b'\n').find_map(|line| {
        let DiffLine::Header(HeaderKey::Index, value) = reader.read(line) else {
            return None;
        };
        let ids = std::str::from_utf8(value).ok()?.split(' ').next()?;
        let (old, new) = ids.split_once("..")?;
        let is_id = |id: &str| {
            let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            (4..=64).contains(&id.len()) && id.bytes().all(is_hex)
        };
        (is_id(old) && is_id(new)).then(|| (old.to_owned(), new.to_owned()))
    })
}

/// Returns the content of a tree's entry as `git apply` patches it; empty if there is no entry.
async fn read_entry(cat: &mut CatFile, path: &str, entry: Option<&TreeEntry>) -> Compared<Vec<u8>> {
    let Some(entry) = entry else {
        return Ok(Vec::new());
    };
    if entry.mode == GITLINK {
        return Ok(format!("Subproject commit {}\n", entry.oid).into_bytes());
    }
    let too_large = |why: &str| Stop::TooLarge(format!("'{}': {why}", one_line(path)));
    match cat.get(&entry.oid).await {
        Ok(Some(object)) => Ok(object.data),
        Ok(None) => Err(too_large("its content is missing")),
        Err(e) => Err(too_large(e.message())),
    }
}

/// Reads the blob with a possibly abbreviated id; `None` if the clone has no such blob.
async fn read_original(cat: &mut CatFile, id: &str) -> Result<Option<Vec<u8>>> {
    let object = cat.get(id).await.ok().flatten();
    let blob = object.filter(|it| it.kind == "blob" && it.oid.starts_with(id));
    Ok(blob.map(|it| it.data))
}

#[cfg(test)]
mod tests {
    use forge_testkit::GitDir;

    use super::*;

    fn patch(diff: &str) -> Patch {
        Patch::parse(diff.as_bytes().to_vec())
    }

    /// Returns a binary patch whose first line claims a size.
    fn packed(name: &str, kind: &str, size: u64) -> String {
        // "x" packed by zlib, in base 85.
        let data = "Ic$}*M004Oac>n+a";
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\nindex {}..{}\nGIT binary patch\n\
             {kind} {size}\n{data}\n\nliteral 0\nHcmV?d00001\n\n",
            "0".repeat(40),
            "1".repeat(40),
        )
    }

    #[tokio::test]
    async fn packed_or_copied_gigabytes_are_not_applied() {
        let dir = tempfile::tempdir().unwrap();
        let git = GitDir::init(dir.path(), &[]);
        let large = "x".repeat(1 << 20);
        git.commit("main", "Large", &[("large", Some(&large))]);
        let base = git.oid("main").unwrap();
        let copies: String = (0..200)
            .map(|n| {
                format!(
                    "diff --git a/large b/c{n}\nsimilarity index 100%\ncopy from large\n\
                     copy to c{n}\n"
                )
            })
            .collect();
        let clone = LocalClone::new(dir.path(), "origin", forge_core::Trust::Guarded);
        for (diff, why) in [
            (copies, "more than 64 MiB together"),
            (packed("x", "literal", 9_000_000_000), "cannot be unpacked"),
            (packed("x", "literal", 90_000), "cannot be unpacked"),
            (packed("x", "delta", 9_000_000_000), "cannot be unpacked"),
        ] {
            let found = try_round(&clone, &base, &patch(&diff)).await.unwrap();
            let Some(RoundTrial::TooLarge(found)) = found else {
                panic!("{found:?}");
            };
            assert!(found.contains(why), "{found}");
        }
        let missing = try_round(&clone, &"1".repeat(40), &patch("")).await;
        assert_eq!(missing.unwrap(), None);
    }

    #[test]
    fn series_is_split_as_a_knot_splits_it() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let mail = format!("From {id} Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n");
        let raw = format!("text\n{mail}\n\n{mail}From {id}9 x\nFrom {}\n", &id[1..]);
        let found = split_mails(raw.as_bytes());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], mail.trim().as_bytes());
        assert!(found[1].ends_with(&id.as_bytes()[1..]));
    }
}
