//! What changed since another commit was the head, also after a rebase.

use std::collections::HashMap;

use forge_core::{
    Action, Arg, Error, Hint, Noun, Param, Result, Warning,
    diff::{SeriesCommit, between, changed_commits, changed_lines},
    model::{ChangedCommit, Diff, HeadChange, SinceHead},
    text::one_line,
};
use futures::{stream, try_join};

use crate::{Git, Merged, diff_args};

/// More commits of one version are not compared.
const MAX_COMMITS: usize = 250;

/// Two heads of a pull request.
#[derive(Clone, Copy, Debug)]
pub struct TwoHeads<'a> {
    /// The head that was, full hex.
    pub old: &'a str,
    /// The head that is, full hex.
    pub new: &'a str,
    /// The base branch, full hex.
    pub base: &'a str,
}

impl Git {
    /// The full id of a commit, of which the first digits may be given; `None` when there is none.
    ///
    /// # Errors
    /// `invalid_input` (field `since`) where several begin so.
    pub async fn find_commit(&self, id: &str) -> Result<Option<String>> {
        let asked = format!("--disambiguate={id}");
        // No name of a ref is an id, whatever it looks like.
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
            return Err(Error::invalid("since", message).with_hint("give more digits"));
        }
        Ok(commits.pop())
    }

    /// The diff from what the old head had to what the new one has, with so many lines of context.
    /// What the base branch brought in between is in neither.
    ///
    /// # Errors
    /// `not_found` where a head shares no commit with the base branch; `git`.
    pub async fn diff_since(&self, heads: TwoHeads<'_>, context_lines: u32) -> Result<Diff> {
        let TwoHeads { old, new, base } = heads;
        let (old_base, new_base, continues) = try_join!(
            self.merge_base(base, old),
            self.merge_base(base, new),
            self.contains(new, old)
        )?;
        let head_change = match continues {
            _ if old == new => HeadChange::Unchanged,
            true => HeadChange::Continued,
            false if old_base != new_base => HeadChange::Rebased,
            false => HeadChange::Rewritten,
        };
        let mut warnings = Vec::new();
        let context = format!("-U{context_lines}");
        let from = self.moved_onto(old, &old_base, &new_base).await?;
        let body = match &from {
            Some(from) => self.stream(diff_args(&["-p", &context], from, new))?,
            None => {
                let whole = |base, head| self.run_ok(diff_args(&["-p", &context], base, head));
                let (before, after) = try_join!(whole(&old_base, old), whole(&new_base, new))?;
                let between = between(&before, &after);
                warnings.push(Warning::new(format!(
                    "{} does not merge with the newer base branch by itself: files whose changes are \
                     the same are left out, the others are shown with all of their changes",
                    short(old)
                )));
                warnings.extend(no_longer_changed(&between.gone));
                Box::pin(stream::iter([Ok(between.diff)]))
            }
        };
        let commits = match head_change {
            HeadChange::Unchanged => Vec::new(),
            HeadChange::Continued => self.added_commits(heads).await?,
            HeadChange::Rebased | HeadChange::Rewritten => {
                let (before, after) = try_join!(self.series(base, old), self.series(base, new))?;
                changed_commits(&before, &after)
            }
        };
        Ok(Diff {
            base_oid: from.filter(|from| from == old),
            head_oid: new.to_owned(),
            context_lines: Some(context_lines),
            since: Some(SinceHead {
                oid: Some(old.to_owned()),
                head_change,
                commits,
            }),
            body,
            warnings,
        })
    }

    /// The commit or tree that `old` is on the newer base; `None` where that takes a person.
    async fn moved_onto(
        &self,
        old: &str,
        old_base: &str,
        new_base: &str,
    ) -> Result<Option<String>> {
        if old_base == new_base {
            return Ok(Some(old.to_owned()));
        }
        // The base branch was rewritten itself.
        if !self.contains(new_base, old_base).await? {
            return Ok(None);
        }
        // A merge that needs a program of the repository is none for a read.
        match self.merge_trees(old, new_base, false).await {
            Ok(Merged::Clean(tree)) => Ok(Some(tree)),
            Ok(Merged::Conflicts(_)) | Err(_) => Ok(None),
        }
    }

    async fn merge_base(&self, base: &str, head: &str) -> Result<String> {
        let found = self.run(["merge-base", "--", base, head]).await?;
        let printed = String::from_utf8_lossy(&found.stdout);
        match printed.lines().next() {
            Some(oid) if found.status == 0 => Ok(oid.to_owned()),
            _ => Err(Error::not_found(
                Noun::Commit,
                format!("{} shares no commit with the base branch", short(head)),
            )
            .with_hint("name a commit that was a head of this pull request")),
        }
    }

    /// The commits that came on top of the old head, without those of the base branch.
    async fn added_commits(&self, heads: TwoHeads<'_>) -> Result<Vec<ChangedCommit>> {
        let (old, base) = (format!("^{}", heads.old), format!("^{}", heads.base));
        let listed = self.commits_of(&[heads.new, &old, &base]).await?;
        let of = |(oid, headline)| ChangedCommit {
            old: None,
            new: Some(oid),
            headline,
        };
        Ok(listed.into_iter().map(of).collect())
    }

    /// The newest commits of a range, oldest first: id and headline.
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
        let text = String::from_utf8_lossy(&listed);
        let commits = text.lines().filter_map(|line| {
            let (oid, headline) = line.split_once(' ')?;
            Some((oid.to_owned(), headline.to_owned()))
        });
        Ok(commits.collect())
    }

    /// The commits that `head` has and `base` has not, each with the lines that it changes.
    async fn series(&self, base: &str, head: &str) -> Result<Vec<SeriesCommit>> {
        let not_base = format!("^{base}");
        let commits = self.commits_of(&[head, &not_base]).await?;
        let input: String = commits.iter().map(|(oid, _)| format!("{oid}\n")).collect();
        let mut args = diff_args(&["-p", "-U0", "--root", "--stdin"], "", "");
        args.retain(|arg| !arg.is_empty() && *arg != "--end-of-options");
        let diffs = self.run_ok_with_stdin(args, input.as_bytes()).await?;
        let by_oid = diffs_by_commit(&diffs);
        let of = |(oid, headline): (String, String)| {
            let diff = by_oid.get(oid.as_bytes()).copied().unwrap_or_default();
            SeriesCommit {
                // A merge, or an empty commit, is the one that has its message.
                essence: match diff {
                    [] => headline.clone().into_bytes(),
                    diff => changed_lines(diff),
                },
                oid,
                headline,
            }
        };
        Ok(commits.into_iter().map(of).collect())
    }
}

/// The diffs that `git diff-tree --stdin` prints, each behind the id of its commit. No line of a diff is
/// an id.
fn diffs_by_commit(printed: &[u8]) -> HashMap<&[u8], &[u8]> {
    let is_id = |line: &[u8]| line.len() >= 40 && line.iter().all(u8::is_ascii_hexdigit);
    let mut diffs = HashMap::new();
    let (mut commit, mut from, mut at) = (None, 0, 0);
    for line in printed.split_inclusive(|b| *b == b'\n') {
        let name = line.strip_suffix(b"\n").unwrap_or(line);
        if is_id(name) {
            if let Some(commit) = commit {
                diffs.insert(commit, printed.get(from..at).unwrap_or_default());
            }
            (commit, from) = (Some(name), at + line.len());
        }
        at += line.len();
    }
    if let Some(commit) = commit {
        diffs.insert(commit, printed.get(from..).unwrap_or_default());
    }
    diffs
}

/// A warning that names the files which only the earlier version changes.
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

/// What `forge` answers where the commit that was the head is not there any more.
#[must_use]
pub fn commit_is_gone(id: &str, place: &str) -> Error {
    let message = format!("{place} has no commit {} (any more)", one_line(id));
    Error::not_found(Noun::Commit, message).with_hint(
        Hint::new(
            "name a later review or commit, or leave since out and read the whole diff; a clone that \
             still has the commit can compare it, too",
        )
        .with_action(Action::again(&[(Param::Since, Arg::Choose)])),
    )
}

fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}
