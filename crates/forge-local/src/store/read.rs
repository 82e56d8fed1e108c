//! Reads pull requests and the index.

use std::{borrow::Cow, path::Path, sync::Arc};

use forge_core::{
    Action, Arg, Call, Error, ErrorKind, Hint, Noun, Op, Param, Result,
    call::{Charge, charge, weight_of_json},
    model::PrState,
};
use forge_git::{CatFile, ObjectLookup, state_file};

use super::{
    EventStore, Index, MergeIntent, NumberRanges, Snapshot, Unreadable, format::MAX_RECORD_WEIGHT,
    refs,
};

/// Limit for the highest number in the index. If the number is above the limit, one more git
/// process lists the existing refs. A forged index therefore causes at most this many lookups.
const MAX_TRUSTED: u64 = 100_000;
/// Number of pull requests that are read at once.
const BATCH_SIZE: usize = 64;
/// Number of stored pull requests or issues that are in memory at once, in addition to the result of
/// a call. Each takes up to [`MAX_RECORD_WEIGHT`].
pub(crate) const MAX_IN_MEMORY: usize = 8;
/// Maximum size of the index, in bytes. A larger one counts as damaged.
const MAX_INDEX_BYTES: usize = 4 * 1024 * 1024;
/// Memory of the index, as a multiple of its size: each number becomes a range.
const INDEX_WEIGHT: usize = 4;
/// What stored pull requests are called in an error about memory.
pub(crate) const STORED_PULLS: &str = "the pull requests";

/// Hint for a number that belongs to no pull request.
static LIST_PULLS: Hint = Hint::fixed(
    "list the pull requests",
    Action::fixed(
        Call::Op(Op::PrList),
        &[(Param::State, Arg::Set(Cow::Borrowed("all")))],
    ),
);

/// A pull request with its current state.
#[derive(Clone, Debug)]
pub(crate) struct StoredPull {
    pub number: u64,
    /// The commit of the last event. Its id is the version of the pull request.
    pub tip: String,
    pub snapshot: Snapshot,
    /// The tip of the head branch while the pull request is open. If the pull request is closed or
    /// the branch is gone, the recorded head commit.
    pub head_oid: Option<String>,
    /// The tip of the base branch while the pull request is open.
    pub base_oid: Option<String>,
    /// True if the head branch exists. Only set while the pull request is open.
    pub head_exists: bool,
    /// True if the base branch exists. Only set while the pull request is open.
    pub base_exists: bool,
    /// A merge that moved the base branch but was not recorded as done, for example after a crash.
    pub unrecorded_merge: Option<MergeIntent>,
    /// The memory of the pull request.
    #[expect(dead_code, reason = "counts the memory until it is dropped")]
    pub charge: Arc<Charge>,
}

impl StoredPull {
    /// Returns true if the pull request is open.
    pub fn is_open(&self) -> bool {
        self.snapshot.state == PrState::Open
    }

    /// Returns the head commit.
    ///
    /// # Errors
    /// `not_found` if there is neither a branch nor a recorded commit.
    pub fn head(&self) -> Result<&str> {
        self.head_oid.as_deref().ok_or_else(|| {
            Error::not_found(
                Noun::Commit,
                format!(
                    "#{} has no head commit: {} is gone",
                    self.number, self.snapshot.head_branch
                ),
            )
        })
    }

    /// Returns the base commit.
    ///
    /// # Errors
    /// `not_found` if there is neither a branch nor a recorded commit.
    pub fn base(&self) -> Result<&str> {
        self.base_oid.as_deref().ok_or_else(|| {
            Error::not_found(
                Noun::Commit,
                format!(
                    "#{} has no base commit: {} is gone",
                    self.number, self.snapshot.base_branch
                ),
            )
        })
    }
}

/// Result of reading one of several pull requests.
#[derive(Debug)]
pub(crate) enum PullRead {
    Pull(Box<StoredPull>),
    Missing,
    Broken(Error),
}

/// The index as stored, or rebuilt from the refs.
pub(crate) struct LoadedIndex {
    pub index: Index,
    /// The numbers that may have a pull request.
    pub all: NumberRanges,
    /// The object to which the ref of the index points.
    pub old: Option<String>,
    /// True if the index was rebuilt. It then lists all pull requests as open.
    pub rebuilt: bool,
    /// The memory of the index.
    _charge: Charge,
}

impl EventStore {
    /// Reads pull request `number`.
    ///
    /// # Errors
    /// `not_found` if there is no such pull request; `protocol` if it is damaged.
    pub async fn read(&self, cat: &mut CatFile, number: u64) -> Result<StoredPull> {
        match self.read_many(cat, &[number]).await?.pop() {
            Some(PullRead::Pull(pull)) => Ok(*pull),
            Some(PullRead::Broken(e)) => Err(e),
            Some(PullRead::Missing) | None => Err(Error::not_found(
                Noun::PullRequest,
                format!("pull request #{number} was not found in {}", self.url),
            )
            .with_hint(&LIST_PULLS)),
        }
    }

    /// Reads the pull requests `numbers`, in order.
    ///
    /// # Errors
    /// `git` if git cannot be run; `protocol` if the call holds too much in memory. The errors of
    /// single pull requests are in their [`PullRead`].
    pub async fn read_many(&self, cat: &mut CatFile, numbers: &[u64]) -> Result<Vec<PullRead>> {
        let mut all = Vec::with_capacity(numbers.len());
        for chunk in numbers.chunks(BATCH_SIZE) {
            self.read_chunk(cat, chunk, &mut all).await?;
        }
        Ok(all)
    }

    /// Filters `numbers` by the stored state. This needs one lookup for each number, while a full
    /// read needs four. Keeps the pull requests that `wanted` accepts, and those whose state only a
    /// full read can determine.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn preselect(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
        wanted: impl Fn(&Snapshot) -> bool + Send,
    ) -> Result<Vec<u64>> {
        let names: Vec<_> = numbers
            .iter()
            .map(|n| format!("{}:{}", refs::pull(*n), refs::PULL_FILE))
            .collect();
        let mut left = numbers.iter();
        let undecided = move |found: ObjectLookup| {
            let number = left.next().copied()?;
            let is_undecided = match found {
                ObjectLookup::Object(object) => match Snapshot::decode(&object.data, number) {
                    Ok(snapshot) => snapshot.intent.is_some() || wanted(&snapshot),
                    Err(_) => true,
                },
                ObjectLookup::Missing | ObjectLookup::Unreadable(_) => true,
            };
            is_undecided.then_some(number)
        };
        let found = cat.get_each(&names, MAX_RECORD_WEIGHT, undecided).await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn read_chunk(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
        all: &mut Vec<PullRead>,
    ) -> Result<()> {
        let names: Vec<_> = numbers.iter().map(|n| refs::pull(*n)).collect();
        let tips = cat.info_many(&names).await?;
        let files: Vec<_> = tips
            .iter()
            .map(|t| {
                t.as_ref()
                    .map_or(String::new(), |t| format!("{}:{}", t.oid, refs::PULL_FILE))
            })
            .collect();
        let begin = all.len();
        let mut rows = numbers.iter().zip(tips);
        let read = |file| match rows.next() {
            None => Ok(PullRead::Missing),
            Some((number, None)) if self.loose_ref_exists(*number) => {
                Ok(PullRead::Broken(self.dangling(*number)))
            }
            Some((_, None)) => Ok(PullRead::Missing),
            Some((number, Some(tip))) if tip.kind != "commit" => Ok(PullRead::Broken(broken(
                *number,
                format!("the ref names a {}", tip.kind),
            ))),
            Some((number, Some(tip))) => decode(*number, tip.oid, file),
        };
        for read in cat.get_each(&files, MAX_RECORD_WEIGHT, read).await? {
            all.push(read?);
        }
        self.resolve_branch_tips(cat, all.get_mut(begin..).unwrap_or_default())
            .await
    }

    /// Adds the tips of head and base branch to each open pull request. Checks whether a merge that
    /// was started has moved the base branch; if that takes too long, the pull request counts as
    /// unreadable.
    async fn resolve_branch_tips(&self, cat: &mut CatFile, pulls: &mut [PullRead]) -> Result<()> {
        let open = |read: &&mut PullRead| matches!(read, PullRead::Pull(p) if p.is_open());
        let mut names = Vec::new();
        for read in pulls.iter_mut().filter(open) {
            let PullRead::Pull(pull) = read else { continue };
            names.push(refs::branch(&pull.snapshot.head_branch));
            names.push(refs::branch(&pull.snapshot.base_branch));
        }
        let mut tips = cat.info_many(&names).await?.into_iter();
        for read in pulls.iter_mut().filter(open) {
            let PullRead::Pull(pull) = read else { continue };
            let head = tips.next().flatten().map(|i| i.oid);
            let base = tips.next().flatten().map(|i| i.oid);
            pull.head_exists = head.is_some();
            pull.base_exists = base.is_some();
            pull.head_oid = head.or_else(|| pull.snapshot.head_oid.clone());
            pull.base_oid = base.or_else(|| pull.snapshot.base_oid.clone());
            let Some(intent) = pull.snapshot.intent.clone() else {
                continue;
            };
            match self.is_merged(cat, pull, &intent).await {
                Ok(false) => {}
                Ok(true) => {
                    pull.snapshot.finish_merge(&intent);
                    pull.unrecorded_merge = Some(intent);
                    pull.head_oid.clone_from(&pull.snapshot.head_oid);
                    pull.base_oid.clone_from(&pull.snapshot.base_oid);
                }
                // The state of this pull request is unknown; the others can be shown.
                Err(e) if matches!(e.kind(), ErrorKind::Timeout { .. }) => {
                    *read = PullRead::Broken(merge_unknown(pull.number, &e));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Returns true if the base branch contains the commit of `intent`.
    ///
    /// A fast-forward has no commit of its own: another merge can bring this head commit into the
    /// base. If the head branch has moved on since, its newest commits then have to be in the base
    /// as well.
    async fn is_merged(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        intent: &MergeIntent,
    ) -> Result<bool> {
        let Some(base) = cat.info(&refs::branch(&intent.base_branch)).await? else {
            return Ok(false);
        };
        if !(self.git.contains_within_limit(&base.oid, &intent.result)).await? {
            return Ok(false);
        }
        let is_fast_forward = intent.result == intent.merged_head;
        match pull.head_oid.as_deref().filter(|_| pull.head_exists) {
            Some(head) if is_fast_forward && head != intent.merged_head => {
                self.git.contains_within_limit(&base.oid, head).await
            }
            _ => Ok(true),
        }
    }

    /// Reads the index. Rebuilds it from the refs if it is lost, damaged or outdated.
    pub async fn index(&self, cat: &mut CatFile) -> Result<LoadedIndex> {
        let read = |found| match found {
            ObjectLookup::Object(object) if object.kind == "blob" => {
                let memory = charge("the index", INDEX_WEIGHT * object.data.len())?;
                let text = std::str::from_utf8(&object.data).ok();
                Ok::<_, Error>(text.and_then(Index::decode).map(|index| LoadedIndex {
                    all: NumberRanges::up_to(index.highest),
                    index,
                    old: Some(object.oid),
                    rebuilt: false,
                    _charge: memory,
                }))
            }
            _ => Ok(None),
        };
        let stored = cat.get_each(&[refs::INDEX], MAX_INDEX_BYTES, read);
        let stored = stored.await?.pop().transpose()?.flatten();
        if let Some(mut stored) = stored {
            // A fetch may add pull requests that are not in the index. The index is outdated if the
            // number after its highest one has a ref.
            let next = refs::pull(stored.index.highest + 1);
            if cat.info(&next).await?.is_none() {
                // A forged index must not make a command look for billions of pull requests.
                if stored.index.highest > MAX_TRUSTED {
                    stored.all = NumberRanges::default();
                    let claimed = std::mem::take(&mut stored.index.open);
                    for number in self.pull_numbers().await? {
                        stored.all.insert(number);
                        if claimed.contains(number) {
                            stored.index.open.insert(number);
                        }
                    }
                }
                return Ok(stored);
            }
        }
        let index = Index::rebuild(self.pull_numbers().await?);
        Ok(LoadedIndex {
            all: index.open.clone(),
            index,
            old: self.git.ref_oid(refs::INDEX).await?,
            rebuilt: true,
            _charge: Charge::new(),
        })
    }

    /// Returns the numbers of the pull requests that have a ref.
    async fn pull_numbers(&self) -> Result<Vec<u64>> {
        let names = self
            .git
            .run_ok(["for-each-ref", "--format=%(refname)", refs::PULLS])
            .await?;
        let names = String::from_utf8_lossy(&names).into_owned();
        let numbers = names.lines().map(|name| refs::number(name, refs::PULLS));
        Ok(numbers.flatten().collect())
    }

    /// Deletes the file of the index ref if a crash made it unreadable, because git refuses to
    /// overwrite such a ref. No data is lost, because the index can be rebuilt.
    pub fn clear_unreadable_index(&self) {
        let file = self.common_dir.join(refs::INDEX);
        if file.is_file() && !is_ref_file(&file) {
            // A failed deletion is ignored, because the next git command reports the unreadable
            // ref.
            let _ = std::fs::remove_file(file);
        }
    }

    /// Returns the error for a ref file that names an object which git cannot find.
    fn dangling(&self, number: u64) -> Error {
        let name = refs::pull(number);
        let file = self.common_dir.join(&name);
        if is_ref_file(&file) {
            return broken(number, "the object that the ref names is gone");
        }
        // Git does not delete an unreadable ref, so the hint tells the user to delete its file.
        let file = forge_core::text::one_line(&file.to_string_lossy()).into_owned();
        broken(number, "the ref's file does not hold an object id").with_hint(format!(
            "the pull request is lost; delete its damaged ref with rm '{file}'"
        ))
    }

    /// Returns true if a pull request has a ref file, even one that git cannot read.
    pub fn loose_ref_exists(&self, number: u64) -> bool {
        self.common_dir.join(refs::pull(number)).is_file()
    }
}

/// Returns true if `file` begins with an object id, like the file of a ref. As in git, text after
/// the first white space does not count.
fn is_ref_file(file: &Path) -> bool {
    let text = state_file(file).unwrap_or_default();
    let first = text.split(u8::is_ascii_whitespace).next();
    let first = first.and_then(|id| std::str::from_utf8(id).ok());
    first.is_some_and(forge_core::is_full_oid)
}

/// Parses a pull request.
///
/// # Errors
/// `protocol` if the call holds too much in memory.
fn decode(number: u64, tip: String, file: ObjectLookup) -> Result<PullRead> {
    let object = match file {
        ObjectLookup::Object(object) if object.kind == "blob" => object,
        ObjectLookup::Object(_) => {
            return Ok(PullRead::Broken(broken(number, "pull.json is not a file")));
        }
        ObjectLookup::Missing => {
            let missing = Unreadable::Missing("pull.json");
            return Ok(PullRead::Broken(broken(number, missing)));
        }
        ObjectLookup::Unreadable(e) => return Ok(PullRead::Broken(broken(number, e))),
    };
    Ok(match Snapshot::decode(&object.data, number) {
        Ok(snapshot) => PullRead::Pull(Box::new(StoredPull {
            charge: Arc::new(charge(STORED_PULLS, weight_of_json(&object.data))?),
            number,
            tip,
            head_oid: snapshot.head_oid.clone(),
            base_oid: snapshot.base_oid.clone(),
            snapshot,
            head_exists: false,
            base_exists: false,
            unrecorded_merge: None,
        })),
        Err(why) => PullRead::Broken(broken(number, why)),
    })
}

/// Returns the error for a pull request whose unfinished merge was not looked up.
fn merge_unknown(number: u64, e: &Error) -> Error {
    let message = format!(
        "whether pull request #{number} was merged is unknown: {}",
        e.message()
    );
    let unknown = Error::new(e.kind().clone(), message);
    match e.hint() {
        Some(hint) => unknown.with_hint(hint.clone()),
        None => unknown,
    }
}

/// Returns the error for a pull request that exists but cannot be read.
pub(crate) fn broken(number: u64, why: impl Into<Unreadable>) -> Error {
    let what = format!("pull request #{number}");
    why.into()
        .into_error(&what, &refs::pull(number), "deletes the pull request")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files are sparse, so their terabyte takes no room on the disk.
    #[test]
    fn only_beginning_of_ref_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ref");
        let id = "1".repeat(40);
        for (text, is_ref) in [(id.clone(), true), (format!("{id}0"), false)] {
            std::fs::write(&file, text + "\n").unwrap();
            let ref_file = std::fs::OpenOptions::new().append(true).open(&file);
            ref_file.unwrap().set_len(1 << 40).unwrap();
            assert_eq!(is_ref_file(&file), is_ref);
        }
    }
}
