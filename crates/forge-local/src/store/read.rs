//! Reading pull requests and the index.

use std::{borrow::Cow, path::Path};

use forge_core::{Action, Arg, Call, Error, Hint, Noun, Op, Param, Result, model::PrState};
use forge_git::{CatFile, Found};

use super::{Index, Intent, Snapshot, Store, Unreadable, refs};

/// How many pull requests are read at once when many are looked at.
const BATCH: usize = 64;

/// What to do about a number that no pull request has.
static LIST_PULLS: Hint = Hint::fixed(
    "list the pull requests",
    Action::fixed(
        Call::Op(Op::PrList),
        &[(Param::State, Arg::Set(Cow::Borrowed("all")))],
    ),
);

/// A pull request as it stands now.
#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub number: u64,
    /// The last event's commit: the version.
    pub tip: String,
    pub snapshot: Snapshot,
    /// The head: the branch's tip while open (what was last recorded, if the branch is gone).
    pub head_oid: Option<String>,
    /// The base: the branch's tip while open.
    pub base_oid: Option<String>,
    /// The head branch exists. Known for open ones alone.
    pub head_exists: bool,
    /// The base branch exists. Known for open ones alone.
    pub base_exists: bool,
    /// The merge that happened, if its record was cut short.
    pub unrecorded_merge: Option<Intent>,
}

impl Pull {
    /// It is open.
    pub fn is_open(&self) -> bool {
        self.snapshot.state == PrState::Open
    }

    /// The head commit.
    ///
    /// # Errors
    /// `not_found` when neither the branch nor the record has one.
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

    /// The base commit.
    ///
    /// # Errors
    /// `not_found` when neither the branch nor the record has one.
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

/// The answer for one of many.
#[derive(Debug)]
pub(crate) enum Read {
    Pull(Box<Pull>),
    Missing,
    Broken(Error),
}

/// The index and how it was come by.
pub(crate) struct LoadedIndex {
    pub index: Index,
    /// The object that the ref points to.
    pub old: Option<String>,
    /// It was made anew, and so names every pull request.
    pub rebuilt: bool,
}

impl Store {
    /// Pull request `number`.
    ///
    /// # Errors
    /// `not_found`; `protocol` when it is damaged.
    pub async fn read(&self, cat: &mut CatFile, number: u64) -> Result<Pull> {
        match self.read_many(cat, &[number]).await?.pop() {
            Some(Read::Pull(pull)) => Ok(*pull),
            Some(Read::Broken(e)) => Err(e),
            Some(Read::Missing) | None => Err(Error::not_found(
                Noun::PullRequest,
                format!("pull request #{number} was not found in {}", self.url),
            )
            .with_hint(&LIST_PULLS)),
        }
    }

    /// Those of `numbers`, in order.
    ///
    /// # Errors
    /// `git` when git cannot be run; what is wrong with one of them is in its [`Read`].
    pub async fn read_many(&self, cat: &mut CatFile, numbers: &[u64]) -> Result<Vec<Read>> {
        let mut all = Vec::with_capacity(numbers.len());
        for chunk in numbers.chunks(BATCH) {
            self.read_chunk(cat, chunk, &mut all).await?;
        }
        Ok(all)
    }

    /// Those of `numbers` that are worth reading in full, because `wanted` takes their state or
    /// because a look at the state alone does not tell. It takes one lookup each, and not four.
    ///
    /// # Errors
    /// `git` when git cannot be run.
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
        let found = cat.get_many(&names).await?;
        let undecided = |number: u64, found: &Found| match found {
            Found::Object(object) => match Snapshot::decode(&object.data, number) {
                Ok(snapshot) => snapshot.intent.is_some() || wanted(&snapshot),
                Err(_) => true,
            },
            Found::Missing | Found::Unreadable(_) => true,
        };
        let pairs = numbers.iter().zip(&found);
        Ok(pairs
            .filter(|(n, f)| undecided(**n, f))
            .map(|(n, _)| *n)
            .collect())
    }

    async fn read_chunk(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
        all: &mut Vec<Read>,
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
        let files = cat.get_many(&files).await?;
        let begin = all.len();
        for ((number, tip), file) in numbers.iter().zip(tips).zip(files) {
            all.push(match tip {
                None if self.loose_ref_exists(*number) => Read::Broken(self.dangling(*number)),
                None => Read::Missing,
                Some(tip) if tip.kind != "commit" => {
                    Read::Broken(broken(*number, format!("the ref names a {}", tip.kind)))
                }
                Some(tip) => decode(*number, tip.oid, file),
            });
        }
        self.look_at_branches(cat, all.get_mut(begin..).unwrap_or_default())
            .await
    }

    /// Fills in what the branches say, and whether a merge that was begun has happened.
    async fn look_at_branches(&self, cat: &mut CatFile, pulls: &mut [Read]) -> Result<()> {
        let open = |read: &&mut Read| matches!(read, Read::Pull(p) if p.is_open());
        let mut names = Vec::new();
        for read in pulls.iter_mut().filter(open) {
            let Read::Pull(pull) = read else { continue };
            names.push(refs::branch(&pull.snapshot.head_branch));
            names.push(refs::branch(&pull.snapshot.base_branch));
        }
        let mut tips = cat.info_many(&names).await?.into_iter();
        for read in pulls.iter_mut().filter(open) {
            let Read::Pull(pull) = read else { continue };
            let head = tips.next().flatten().map(|i| i.oid);
            let base = tips.next().flatten().map(|i| i.oid);
            pull.head_exists = head.is_some();
            pull.base_exists = base.is_some();
            pull.head_oid = head.or_else(|| pull.snapshot.head_oid.clone());
            pull.base_oid = base.or_else(|| pull.snapshot.base_oid.clone());
            if let Some(intent) = pull.snapshot.intent.clone()
                && self.is_merged(&intent.result, &intent.base_branch).await?
            {
                pull.snapshot.finish_merge(&intent);
                pull.unrecorded_merge = Some(intent);
                pull.head_oid.clone_from(&pull.snapshot.head_oid);
                pull.base_oid.clone_from(&pull.snapshot.base_oid);
            }
        }
        Ok(())
    }

    /// Whether `commit` is in `branch`.
    async fn is_merged(&self, commit: &str, branch: &str) -> Result<bool> {
        let branch = refs::branch(branch);
        let asked = self
            .git
            .run(["merge-base", "--is-ancestor", "--", commit, &branch])
            .await?;
        Ok(asked.status == 0)
    }

    /// The index; made anew from the refs when it is lost, damaged or behind.
    pub async fn index(&self, cat: &mut CatFile) -> Result<LoadedIndex> {
        let stored = match cat.get(refs::INDEX).await {
            Ok(Some(object)) if object.kind == "blob" => {
                let index = std::str::from_utf8(&object.data)
                    .ok()
                    .and_then(Index::decode);
                index.map(|index| LoadedIndex {
                    index,
                    old: Some(object.oid),
                    rebuilt: false,
                })
            }
            _ => None,
        };
        if let Some(stored) = stored {
            // A fetch can bring pull requests that no index of ours has seen.
            let next = refs::pull(stored.index.highest + 1);
            if cat.info(&next).await?.is_none() {
                return Ok(stored);
            }
        }
        let names = self
            .git
            .run_ok(["for-each-ref", "--format=%(refname)", refs::PULLS])
            .await?;
        let names = String::from_utf8_lossy(&names).into_owned();
        let number = |name: &str| refs::number(name, refs::PULLS);
        let index = Index::rebuild(names.lines().filter_map(number));
        let old = self
            .git
            .run(["rev-parse", "--quiet", "--verify", refs::INDEX])
            .await?;
        let old = String::from_utf8_lossy(&old.stdout).trim().to_owned();
        Ok(LoadedIndex {
            index,
            old: (!old.is_empty()).then_some(old),
            rebuilt: true,
        })
    }

    /// Removes the file of the index ref if a crash left nothing readable in it: git would refuse to
    /// write the ref, and the index is made anew anyway.
    pub fn clear_unreadable_index(&self) {
        let file = self.common_dir.join(refs::INDEX);
        if file.is_file() && !is_ref_file(&file) {
            // If it stays, git says what is wrong.
            let _ = std::fs::remove_file(file);
        }
    }

    /// The error for a ref whose file is there although git finds no object through it.
    fn dangling(&self, number: u64) -> Error {
        let name = refs::pull(number);
        let file = self.common_dir.join(&name);
        if is_ref_file(&file) {
            return broken(number, "the object that the ref names is gone");
        }
        // Git deletes no ref that it cannot read.
        let file = forge_core::text::one_line(&file.to_string_lossy()).into_owned();
        broken(number, "the ref's file does not hold an object id").with_hint(format!(
            "the pull request is lost; drop what is left of it with rm '{file}'"
        ))
    }

    /// Whether a ref that git cannot read is there as a file.
    pub fn loose_ref_exists(&self, number: u64) -> bool {
        self.common_dir.join(refs::pull(number)).is_file()
    }
}

/// Whether `file` holds an object id, as the file of a ref does.
fn is_ref_file(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| {
        let id = text.trim_end();
        matches!(id.len(), 40 | 64) && id.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

fn decode(number: u64, tip: String, file: Found) -> Read {
    let object = match file {
        Found::Object(object) if object.kind == "blob" => object,
        Found::Object(_) => return Read::Broken(broken(number, "pull.json is no file")),
        Found::Missing => return Read::Broken(broken(number, Unreadable::Missing("pull.json"))),
        Found::Unreadable(e) => return Read::Broken(broken(number, e)),
    };
    match Snapshot::decode(&object.data, number) {
        Ok(snapshot) => Read::Pull(Box::new(Pull {
            number,
            tip,
            head_oid: snapshot.head_oid.clone(),
            base_oid: snapshot.base_oid.clone(),
            snapshot,
            head_exists: false,
            base_exists: false,
            unrecorded_merge: None,
        })),
        Err(why) => Read::Broken(broken(number, why)),
    }
}

/// A pull request that is there and cannot be read.
pub(crate) fn broken(number: u64, why: impl Into<Unreadable>) -> Error {
    let what = format!("pull request #{number}");
    why.into()
        .into_error(&what, &refs::pull(number), "drops this one")
}
