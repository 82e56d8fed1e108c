//! Compares two heads of a pull request, even if the head was rebased in between.

use std::collections::HashMap;

use forge_core::{
    Action, Arg, Error, Hint, Noun, Param, Result, Warning,
    call::{self, Charge, Charged},
    diff::{SeriesCommit, between, changed_commits},
    model::{ByteStream, ChangedCommit, Diff, HeadChange, SinceHead},
    text::one_line,
};
use futures::{TryStreamExt as _, stream, try_join};
use sha2::{Digest as _, Sha256};

use crate::{Git, Merged, decode_text, diff_args};

/// Maximum number of commits that are compared, for each of the two heads.
const MAX_COMMITS: usize = 250;

/// Maximum size of the changes that are compared, for each of the two heads, in bytes.
const MAX_COMPARED: usize = call::MAX_HELD / 4;

/// Number of bytes from the start of a line that are enough to know its kind. The longest start to
/// recognise is a commit id of SHA-256 with its newline.
const MAX_LINE_START: usize = 65;

/// Two heads of a pull request.
#[derive(Clone, Copy, Debug)]
pub struct TwoHeads<'a> {
    /// The earlier head, full hex.
    pub old: &'a str,
    /// The current head, full hex.
    pub new: &'a str,
    /// Tip of the base branch, full hex.
    pub base: &'a str,
}

/// What a head changes: the diff from `base` to `result`.
#[derive(Debug)]
struct HeadRange {
    base: String,
    /// The head, or the tree after merging it.
    result: String,
}

impl HeadRange {
    fn new(base: &str, result: &str) -> Self {
        Self {
            base: base.to_owned(),
            result: result.to_owned(),
        }
    }

    /// Returns the arguments of git that print the diff.
    fn args<'a>(&'a self, context: &'a str) -> Vec<&'a str> {
        diff_args(&["-p", context], &self.base, &self.result)
    }
}

/// The two sides of the comparison of two heads.
#[derive(Debug)]
struct Sides {
    /// The old head or its result, on the base of `after`. `None` if it conflicts with that base.
    from: Option<String>,
    before: HeadRange,
    after: HeadRange,
    /// The head that conflicts if `from` is `None`, for a warning.
    conflicting: String,
}

impl Git {
    /// Returns the full id of the commit that `id` abbreviates, or `None` if no commit matches.
    ///
    /// # Errors
    /// `invalid_input` (field `since`) if the abbreviation is ambiguous.
    pub async fn find_commit(&self, id: &str) -> Result<Option<String>> {
        let asked = format!("--disambiguate={id}");
        // `--disambiguate` never accepts the name of a ref, even if the name looks like an id.
        let found = self.run(["rev-parse", &asked]).await?;
        let ids = String::from_utf8_lossy(&found.stdout);
        let ids: Vec<&str> = ids.lines().collect();
        let infos = self.cat_file().info_many(&ids).await?;
        let mut commits: Vec<String> = infos
            .into_iter()
            .flatten()
            .filter(|i| i.kind == "commit")
            .map(|i| i.oid)
            .collect();
        if commits.len() > 1 {
            let message = format!("several commits begin with '{id}'");
            let hint = "give more digits of the commit id";
            return Err(Error::invalid("since", message).with_hint(hint));
        }
        Ok(commits.pop())
    }

    /// Returns the diff from the changes of the old head to those of the new head, with
    /// `context_lines` lines of context. Leaves out changes that the base branch made in between.
    ///
    /// # Errors
    /// `not_found` if a head shares no commit with the base branch; `git` if git fails.
    pub async fn diff_since(&self, heads: TwoHeads<'_>, context_lines: u32) -> Result<Diff> {
        self.diff_since_within(heads, context_lines, MAX_COMPARED)
            .await
    }

    async fn diff_since_within(
        &self,
        heads: TwoHeads<'_>,
        context_lines: u32,
        max_compared: usize,
    ) -> Result<Diff> {
        let TwoHeads { old, new, base } = heads;
        let (old_bases, new_bases, continues) = try_join!(
            self.merge_bases_of_head(base, old),
            self.merge_bases_of_head(base, new),
            self.contains(new, old)
        )?;
        let head_change = match continues {
            _ if old == new => HeadChange::Unchanged,
            true => HeadChange::Continued,
            false if old_bases != new_bases => HeadChange::Rebased,
            false => HeadChange::Rewritten,
        };
        let shown = self.for_diffs().await?;
        let context = format!("-U{context_lines}");
        let sides = shown.sides_of(heads, &old_bases, &new_bases).await?;
        let (body, mut warnings) = shown.compare_sides(&sides, &context, max_compared).await?;
        let commits = match head_change {
            HeadChange::Unchanged => Vec::new(),
            HeadChange::Continued => self.added_commits(heads).await?,
            HeadChange::Rebased | HeadChange::Rewritten => {
                let (commits, warning) = shown.rewritten_commits(heads, max_compared).await?;
                warnings.extend(warning);
                commits
            }
        };
        let mut diff = Diff::new(new, body);
        diff.base_oid = sides.from.filter(|from| from == old);
        diff.context_lines = Some(context_lines);
        diff.since = Some(SinceHead::new(Some(old.to_owned()), head_change, commits));
        diff.warnings = warnings;
        Ok(diff)
    }

    /// Prints the changes between the two sides, and returns warnings about what is left out.
    async fn compare_sides(
        &self,
        sides: &Sides,
        context: &str,
        max_compared: usize,
    ) -> Result<(ByteStream, Vec<Warning>)> {
        let Sides { before, after, .. } = sides;
        if let Some(from) = &sides.from {
            let moved = HeadRange::new(from, &after.result);
            return Ok((self.stream(moved.args(context))?, Vec::new()));
        }
        let conflicts = format!(
            "the {} conflicts with the newer base branch",
            sides.conflicting
        );
        let whole = try_join!(
            self.run_within(before.args(context), max_compared),
            self.run_within(after.args(context), max_compared)
        )?;
        let (Some(before), Some(whole_after)) = whole else {
            let warning = Warning::new(format!(
                "{conflicts}, and changes beyond {} are not compared: all changes of the pull \
                 request are shown, and files that it no longer changes are not listed",
                size(max_compared)
            ));
            return Ok((self.stream(after.args(context))?, vec![warning]));
        };
        let between = between(&before, &whole_after);
        let mut warnings = vec![Warning::new(format!(
            "{conflicts}: files with the same changes are left out; every other file is shown with \
             all of its changes, old and new"
        ))];
        warnings.extend(no_longer_changed(&between.gone));
        warnings.extend(between.unplaced_warning());
        Ok((Box::pin(stream::iter([Ok(between.diff)])), warnings))
    }

    /// Moves the old head onto the newer base, and returns the resulting commit or tree. Returns
    /// `None` if git cannot move it.
    async fn moved_onto(
        &self,
        old: &str,
        old_base: &str,
        new_base: &str,
    ) -> Result<Option<String>> {
        if old_base == new_base {
            return Ok(Some(old.to_owned()));
        }
        // If the new base does not contain the old base, the base branch itself was rewritten. The
        // old head is then not moved.
        if !self.contains(new_base, old_base).await? {
            return Ok(None);
        }
        Ok(self.merge_result(new_base, old).await)
    }

    /// Returns what is compared for the two heads.
    ///
    /// With one merge base for each head, the old head is moved onto the newer merge base. With
    /// several, no merge base has all changes that the branches share. The results of merging each
    /// head into the base branch are then compared, because a merge brings them.
    async fn sides_of(
        &self,
        heads: TwoHeads<'_>,
        old_bases: &[String],
        new_bases: &[String],
    ) -> Result<Sides> {
        let TwoHeads { old, new, base } = heads;
        let earlier = || format!("earlier head {}", short(old));
        if let ([old_base], [new_base]) = (old_bases, new_bases) {
            return Ok(Sides {
                from: self.moved_onto(old, old_base, new_base).await?,
                before: HeadRange::new(old_base, old),
                after: HeadRange::new(new_base, new),
                conflicting: earlier(),
            });
        }
        let (old_result, new_result) = (
            self.merge_result(base, old).await,
            self.merge_result(base, new).await,
        );
        let range = |result: &Option<String>, bases: &[String], head| match (result, bases) {
            (Some(tree), _) => HeadRange::new(base, tree),
            (None, [first, ..]) => HeadRange::new(first, head),
            (None, []) => HeadRange::new(base, head),
        };
        Ok(Sides {
            before: range(&old_result, old_bases, old),
            after: range(&new_result, new_bases, new),
            conflicting: match new_result {
                Some(_) => earlier(),
                None => format!("head {}", short(new)),
            },
            from: old_result.filter(|_| new_result.is_some()),
        })
    }

    /// Returns the tree after merging `head` into `base`. `None` if git cannot merge them, or only
    /// with a merge driver of the repository, which a read must not run.
    async fn merge_result(&self, base: &str, head: &str) -> Option<String> {
        match self.merge_by_attributes_of(base, [base, head], false).await {
            Ok(Merged::Clean(tree)) => Some(tree),
            Ok(Merged::Conflicts(_)) | Err(_) => None,
        }
    }

    async fn merge_bases_of_head(&self, base: &str, head: &str) -> Result<Vec<String>> {
        let bases = self.merge_bases(base, head).await.unwrap_or_default();
        if bases.is_empty() {
            return Err(Error::not_found(
                Noun::Commit,
                format!("{} shares no commit with the base branch", short(head)),
            )
            .with_hint("name a commit that was a head of this pull request"));
        }
        Ok(bases)
    }

    /// Returns the commits that were added on top of the old head, without commits of the base
    /// branch.
    async fn added_commits(&self, heads: TwoHeads<'_>) -> Result<Vec<ChangedCommit>> {
        let (old, base) = (format!("^{}", heads.old), format!("^{}", heads.base));
        let listed = self.commits_of(&[heads.new, &old, &base]).await?;
        let added = listed.into_iter();
        Ok(added
            .map(|(oid, headline)| ChangedCommit::added(oid, headline))
            .collect())
    }

    /// Returns id and headline of the newest commits in a range, oldest first.
    async fn commits_of(&self, range: &[&str]) -> Result<Vec<(String, String)>> {
        let most = format!("--max-count={MAX_COMMITS}");
        let options = [
            "rev-list",
            "--reverse",
            "--topo-order",
            "--no-commit-header",
            "--encoding=UTF-8",
            "--format=%H %s",
            &most,
            "--end-of-options",
        ];
        let listed = self.run_ok(options.iter().chain(range)).await?;
        let text = decode_text(&listed);
        let commits = text.lines().filter_map(|line| {
            let (oid, headline) = line.split_once(' ')?;
            Some((oid.to_owned(), headline.to_owned()))
        });
        Ok(commits.collect())
    }

    /// Returns the commits that differ between the two versions, and a warning if not all were
    /// compared.
    async fn rewritten_commits(
        &self,
        heads: TwoHeads<'_>,
        max_compared: usize,
    ) -> Result<(Vec<ChangedCommit>, Option<Warning>)> {
        let not_base = format!("^{}", heads.base);
        let (old, new) = ([heads.old, &not_base], [heads.new, &not_base]);
        let (mut before, mut after) = try_join!(self.commits_of(&old), self.commits_of(&new))?;
        let kept = before.clone();
        before.retain(|commit| !after.contains(commit));
        after.retain(|commit| !kept.contains(commit));
        let (before, after) = try_join!(
            self.series(before, max_compared),
            self.series(after, max_compared)
        )?;
        let warning = (before.is_cut || after.is_cut).then(|| {
            Warning::new(format!(
                "only the first {} of changes were compared: a later commit may be listed although \
                only its id is new",
                size(max_compared)
            ))
        });
        let commits = changed_commits(&before.commits, &after.commits);
        Ok((commits, warning))
    }

    /// Returns the commits of a version, with a hash of the changed lines of each.
    async fn series(
        &self,
        commits: Vec<(String, String)>,
        max_compared: usize,
    ) -> Result<HashedSeries> {
        let input: String = commits.iter().map(|(oid, _)| format!("{oid}\n")).collect();
        let mut args = diff_args(&["-p", "-U0", "--root", "--stdin"], "", "");
        args.retain(|arg| !arg.is_empty() && *arg != "--end-of-options");
        let printed = self.stream_with_stdin(args, input.into_bytes())?;
        HashedSeries::read(printed, commits, max_compared).await
    }

    /// Returns the output of a command. If the output exceeds `max` bytes, kills the command and
    /// returns `None`. The output counts for the memory of the call until it is dropped.
    ///
    /// # Errors
    /// The errors of [`Git::run_ok`].
    pub async fn run_within(
        &self,
        args: Vec<&str>,
        max: usize,
    ) -> Result<Option<Charged<Vec<u8>>>> {
        let (name, _) = self.named(&args);
        let what = format!("the output of git {name}");
        let mut chunks = self.stream(args)?;
        let (mut charge, mut printed) = (Charge::new(), Vec::new());
        while let Some(chunk) = chunks.try_next().await? {
            if printed.len() + chunk.len() > max {
                return Ok(None);
            }
            charge.add(&what, chunk.len())?;
            printed.extend_from_slice(&chunk);
        }
        Ok(Some(Charged::new(printed, charge)))
    }
}

#[derive(Debug)]
struct HashedSeries {
    commits: Vec<SeriesCommit>,
    /// True if the diffs of the last commits are missing, because they exceed the size limit.
    is_cut: bool,
}

impl HashedSeries {
    /// Reads the diffs that `git diff-tree --stdin` prints for `commits`, up to `max` bytes.
    async fn read(
        mut printed: ByteStream,
        commits: Vec<(String, String)>,
        max: usize,
    ) -> Result<Self> {
        let mut reader = SeriesReader::default();
        let mut left = max;
        let mut is_cut = false;
        while let Some(chunk) = printed.try_next().await? {
            let Some(rest) = left.checked_sub(chunk.len()) else {
                is_cut = true;
                break;
            };
            left = rest;
            reader.read(&chunk);
        }
        let unfinished = match is_cut {
            true => reader.commit.as_ref().map(|(oid, _)| oid.clone()),
            false => {
                reader.end_commit();
                None
            }
        };
        let mut was_read = !is_cut || unfinished.is_some();
        let of = |(oid, headline): (String, String)| {
            was_read &= unfinished.as_deref() != Some(oid.as_bytes());
            let essence = match reader.hashes.remove(oid.as_bytes()) {
                Some(hash) => hash,
                // Merges and empty commits have no diff, so their headlines are compared.
                None if was_read => headline.clone().into_bytes(),
                None => oid.clone().into_bytes(),
            };
            SeriesCommit::new(oid, headline, essence)
        };
        Ok(Self {
            commits: commits.into_iter().map(of).collect(),
            is_cut,
        })
    }
}

/// Hashes the diff of each commit in the output of `git diff-tree --stdin`.
///
/// Before each diff, this command prints the id of the commit. No line of a diff looks like a
/// commit id. The hash covers the lines that name or change files. It ignores context, line
/// numbers, and the blob ids of files whose changed lines are shown.
#[derive(Default)]
struct SeriesReader {
    hashes: HashMap<Vec<u8>, Vec<u8>>,
    commit: Option<(Vec<u8>, Sha256)>,
    /// The start of a line whose kind is not known yet.
    start: Vec<u8>,
    /// True if the rest of the current line is hashed, false if it is ignored. `None` while the
    /// kind of the line is not known.
    rest: Option<bool>,
    /// The most recent line with blob ids (`index 1a2b..3c4d`).
    ids: Vec<u8>,
}

impl SeriesReader {
    fn read(&mut self, chunk: &[u8]) {
        for part in chunk.split_inclusive(|b| *b == b'\n') {
            let is_end = part.ends_with(b"\n");
            match self.rest {
                Some(true) => self.hash(part),
                Some(false) => {}
                None => {
                    self.start.extend_from_slice(part);
                    if is_end || self.start.len() > MAX_LINE_START {
                        self.rest = Some(self.read_start());
                    }
                }
            }
            if is_end {
                self.rest = None;
            }
        }
    }

    /// Determines the kind of a line from its start. Returns true if the line is hashed.
    fn read_start(&mut self) -> bool {
        let line = std::mem::take(&mut self.start);
        let name = line.strip_suffix(b"\n").unwrap_or(&line);
        if name.len() >= 40 && name.iter().all(u8::is_ascii_hexdigit) {
            self.end_commit();
            self.commit = Some((name.to_vec(), Sha256::new()));
            return false;
        }
        if line.starts_with(b"index ") {
            self.ids = line;
            return false;
        }
        if line.starts_with(b" ") || line.starts_with(b"@@ ") {
            return false;
        }
        if line.starts_with(b"Binary files ") {
            let ids = std::mem::take(&mut self.ids);
            self.hash(&ids);
        }
        self.hash(&line);
        true
    }

    fn hash(&mut self, bytes: &[u8]) {
        if let Some((_, hash)) = &mut self.commit {
            hash.update(bytes);
        }
    }

    fn end_commit(&mut self) {
        if let Some((oid, hash)) = self.commit.take() {
            self.hashes.insert(oid, hash.finalize().to_vec());
        }
    }
}

fn size(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Returns a warning that names the files which only the earlier version changed.
#[must_use]
pub fn no_longer_changed(gone: &[String]) -> Option<Warning> {
    let named = gone.iter().map(|path| one_line(path)).collect::<Vec<_>>();
    (!named.is_empty()).then(|| {
        Warning::new(format!(
            "no longer changed since then: {}",
            named.join(", ")
        ))
    })
}

/// Returns the error for an earlier head commit that no longer exists.
#[must_use]
pub fn commit_is_gone(id: &str, place: &str) -> Error {
    let message = format!("{place} has no commit {} (any more)", one_line(id));
    Error::not_found(Noun::Commit, message).with_hint(
        Hint::new(
            "name a later review or commit, or omit `since` to read the whole diff; a clone that \
             still has the commit can compare it, too",
        )
        .with_action(Action::again(&[(Param::Since, Arg::Choose)])),
    )
}

fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const C: &str = "cccccccccccccccccccccccccccccccccccccccc";

    fn diff(index: &str, at: u32, line: &str) -> String {
        format!(
            "diff --git a/f b/f\nindex {index}\n--- a/f\n+++ b/f\n@@ -{at} +{at} @@\n-old\n+{line}\n"
        )
    }

    fn binary(index: &str) -> String {
        format!("diff --git a/f b/f\nindex {index}\nBinary files a/f and b/f differ\n")
    }

    async fn read(printed: &str, chunk: usize, max: usize) -> (Vec<Vec<u8>>, bool) {
        let chunks = printed.as_bytes().chunks(chunk).map(|c| Ok(c.to_vec()));
        let chunks: Vec<Result<Vec<u8>>> = chunks.collect();
        let commits = [A, B, C].map(|oid| (oid.to_owned(), "headline".to_owned()));
        let read = HashedSeries::read(Box::pin(stream::iter(chunks)), commits.to_vec(), max);
        let read = read.await.unwrap();
        let essences = read.commits.into_iter().map(|c| c.essence);
        (essences.collect(), read.is_cut)
    }

    #[tokio::test]
    async fn series_hash_covers_changed_lines() {
        let long = "x".repeat(100);
        let one = format!("{A}\n{}{B}\n{}", diff("1..2", 1, &long), binary("1..2"));
        let other = format!("{A}\n{}{B}\n{}", diff("7..8", 9, &long), binary("7..8"));
        let (first, _) = read(&one, 4096, 4096).await;
        let (second, _) = read(&other, 4096, 4096).await;
        // The positions of lines do not affect the hash. A binary file is compared only by its blob
        // ids.
        assert_eq!(first[0], second[0]);
        assert_ne!(first[1], second[1]);
        assert_eq!(first[2], b"headline");
        for chunk in [1, 7, 64, 65, 66] {
            assert_eq!(read(&one, chunk, 4096).await, (first.clone(), false));
        }
        let (changed, _) = read(&one.replace("x\n", "y\n"), 4096, 4096).await;
        assert_ne!(changed[0], first[0]);
    }

    #[tokio::test]
    async fn series_beyond_the_limit_is_not_compared() {
        let first = format!("{A}\n{}", diff("1..2", 1, "one"));
        let printed = format!("{first}{B}\n{}", diff("1..2", 1, "two"));
        let (whole, _) = read(&printed, 1, 4096).await;
        let (cut, is_cut) = read(&printed, 1, printed.len() - 1).await;
        assert!(is_cut);
        assert_eq!(cut, [&whole[0], B.as_bytes(), C.as_bytes()]);
        let (cut, _) = read(&printed, 4096, 8).await;
        assert_eq!(cut, [A, B, C].map(str::as_bytes));
    }

    /// Creates a commit on `parents` with a file `f` that contains `text`.
    async fn commit(git: &Git, text: &str, parents: &[&str]) -> String {
        let blob = git.put("blob", text.as_bytes()).await.unwrap();
        let tree = format!("100644 blob {blob}\tf\n");
        let tree = git.run_ok_with_stdin(["mktree"], tree.as_bytes()).await;
        let tree = String::from_utf8(tree.unwrap()).unwrap();
        let commit = crate::RawCommit {
            tree: tree.trim(),
            parents: parents.to_vec(),
            author: b"A <a@b> 1 +0000",
            committer: b"A <a@b> 1 +0000",
            encoding: None,
            message: b"m\n",
        };
        git.put("commit", &commit.encode()).await.unwrap()
    }

    #[tokio::test]
    async fn oversized_diff_since_head_is_whole_with_warnings() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let root = commit(&git, "one\n", &[]).await;
        let base = commit(&git, "two\n", &[&root]).await;
        let old = commit(&git, "three\n", &[&root]).await;
        let new = commit(&git, "three\n", &[&base]).await;
        let (old, new, base) = (&*old, &*new, &*base);
        let heads = TwoHeads { old, new, base };
        let found = async |max| {
            let diff = git.diff_since_within(heads, 3, max).await.unwrap();
            let body: Vec<Vec<u8>> = diff.body.try_collect().await.unwrap();
            let said: Vec<String> = diff.warnings.into_iter().map(|w| w.message).collect();
            (
                String::from_utf8(body.concat()).unwrap(),
                diff.since.unwrap().commits.len(),
                said.join("\n"),
            )
        };
        let whole = found(MAX_COMPARED).await;
        let cut = found(100).await;
        assert_eq!(cut.0, whole.0);
        assert!(!whole.2.contains("MiB"), "{}", whole.2);
        for said in [
            "changes beyond 0 MiB are not compared",
            "first 0 MiB of changes",
        ] {
            assert!(cut.2.contains(said), "{}", cut.2);
        }
        assert_eq!(cut.1, 1);
    }
}
