//! Shows the changes of a pull request since an earlier head: by git in a clone, otherwise by
//! GitHub's comparison.

use forge_core::{
    PrId, Result, Warning,
    diff::{SeriesCommit, between, changed_commits},
    model::{ChangedCommit, Diff, DiffReq, HeadChange, SinceHead},
};
use futures::{stream, try_join};
use http::Method;
use serde::Deserialize;

use super::{
    diff::SENT_LINES,
    fetched_diff::HeadAndBase,
    files::{has_next, repo_route},
};
use crate::{GitHub, api::JSON, error, paged::MAX_PAGE_SIZE};

const DIFF: &str = "application/vnd.github.diff";
/// How many pages of commits are read of one comparison.
const MAX_COMMIT_PAGES: usize = 10;

/// The answer of `GET /repos/{owner}/{repo}/compare/{basehead}`, without the files.
#[derive(Debug, Deserialize)]
struct Comparison {
    status: String,
    base_commit: ComparedCommit,
    merge_base_commit: ComparedCommit,
    commits: Vec<ComparedCommit>,
    total_commits: usize,
}

#[derive(Debug, Deserialize)]
struct ComparedCommit {
    sha: String,
    commit: CommitData,
    #[serde(default)]
    parents: Vec<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct CommitData {
    message: String,
    author: Option<CommitAuthor>,
}

#[derive(Debug, Deserialize)]
struct CommitAuthor {
    name: String,
    email: String,
    date: String,
}

impl Comparison {
    /// Returns whether the head only adds commits to the base.
    fn is_ahead(&self) -> bool {
        matches!(self.status.as_str(), "identical" | "ahead")
    }

    fn is_complete(&self) -> bool {
        self.commits.len() >= self.total_commits
    }
}

impl ComparedCommit {
    fn headline(&self) -> &str {
        self.commit.message.lines().next().unwrap_or_default()
    }

    /// Identifies the commit by author, time and message, because GitHub's comparison has no diffs
    /// of single commits.
    fn in_series(&self) -> SeriesCommit {
        let CommitData { message, author } = &self.commit;
        let by = author.as_ref();
        let by = by.map_or(String::new(), |a| {
            format!("{}\n{}\n{}", a.name, a.email, a.date)
        });
        let essence = format!("{by}\n{message}").into_bytes();
        SeriesCommit::new(&self.sha, self.headline(), essence)
    }
}

impl GitHub {
    pub(super) async fn diff_since(&self, pr: &PrId, req: &DiffReq, old: &str) -> Result<Diff> {
        let ends = self.read_ends(pr).await?;
        let mut warnings = Vec::new();
        if let Some(clone) = &req.clone {
            let context_lines = req.context_lines.unwrap_or(SENT_LINES);
            match self
                .fetched_since(pr, &ends, old, clone, context_lines)
                .await
            {
                Ok(diff) => return Ok(diff),
                Err(e) => warnings.push(Warning::new(format!(
                    "{} made the comparison, because git could not make it in {}: {}",
                    self.info.host,
                    clone.dir.display(),
                    e.message()
                ))),
            }
        }
        if req.context_lines.is_some_and(|n| n != SENT_LINES) && !req.prefers_context {
            warnings.push(Warning::new("GitHub always sends three lines of context"));
        }
        let mut diff = self.compared_since(pr, &ends, old).await?;
        warnings.append(&mut diff.warnings);
        diff.warnings = warnings;
        Ok(diff)
    }

    /// Compares through GitHub's API, without a clone. If the new head only adds commits to the old
    /// one, returns these commits and their diff. Otherwise, and if one of these commits may be a
    /// merge of the base, returns the files that the two heads change differently.
    async fn compared_since(&self, pr: &PrId, ends: &HeadAndBase, old: &str) -> Result<Diff> {
        let found = self
            .compare(pr, old, &ends.head, old, Comparison::is_ahead)
            .await?;
        let old = &found.base_commit.sha;
        let is_merge = |commit: &ComparedCommit| commit.parents.len() > 1;
        let is_ahead = found.is_ahead();
        if is_ahead && found.is_complete() && !found.commits.iter().any(is_merge) {
            let commits = found.commits.iter();
            let added = commits.map(|c| ChangedCommit::added(&c.sha, c.headline()));
            let head_change = match found.status.as_str() {
                "identical" => HeadChange::Unchanged,
                _ => HeadChange::Continued,
            };
            let since = SinceHead::new(Some(old.clone()), head_change, added.collect());
            let body = self.compared_diff(pr, old, &ends.head).await?;
            return Ok(complete_diff(ends, since, body, Some(old)));
        }
        let (base, head) = (&*ends.base, &*ends.head);
        let (before, after, old_diff, new_diff) = try_join!(
            self.compare(pr, base, old, old, |_| true),
            self.compare(pr, base, head, old, |_| true),
            self.compared_diff(pr, base, old),
            self.compared_diff(pr, base, head),
        )?;
        let between = between(&old_diff, &new_diff);
        let unplaced = between.unplaced_warning();
        let is_same = between.diff.is_empty() && between.gone.is_empty() && unplaced.is_none();
        let series = |c: &Comparison| -> Vec<SeriesCommit> {
            c.commits.iter().map(ComparedCommit::in_series).collect()
        };
        let commits = match is_same {
            true => Vec::new(),
            false => changed_commits(&series(&before), &series(&after)),
        };
        let is_rebased = before.merge_base_commit.sha != after.merge_base_commit.sha;
        let head_change = match (is_ahead, is_rebased) {
            (true, _) => HeadChange::Continued,
            (false, true) => HeadChange::Rebased,
            (false, false) => HeadChange::Rewritten,
        };
        let since = SinceHead::new(Some(old.clone()), head_change, commits);
        let mut diff = complete_diff(ends, since, between.diff, None);
        if !is_same {
            diff.warnings.push(
                Warning::new(
                    "files with the same changes are left out; every other file is shown with all \
                     of its changes. Commits that were amended under the same message are not \
                     listed",
                )
                .with_hint("ask in a clone of the repository, where git compares commit by commit"),
            );
        }
        diff.warnings
            .extend(forge_git::no_longer_changed(&between.gone));
        diff.warnings.extend(unplaced);
        diff.warnings.extend(match is_ahead && !found.is_complete() {
            true => Some(Warning::new(format!(
                "{} of {} new commits were read. Any other may be a merge of the base branch, so \
                 the changes of the base branch are left out",
                found.commits.len(),
                found.total_commits
            ))),
            false => [&before, &after]
                .into_iter()
                .find_map(unlisted_commits_warning),
        });
        Ok(diff)
    }

    /// Compares two commits. Reads all commits of a comparison that `needs_all`, up to a limit.
    /// The error for a missing commit names `old`.
    async fn compare(
        &self,
        pr: &PrId,
        base: &str,
        head: &str,
        old: &str,
        needs_all: fn(&Comparison) -> bool,
    ) -> Result<Comparison> {
        let (mut found, mut more) = self.compared_page(pr, base, head, old, 1).await?;
        let pages = if needs_all(&found) {
            MAX_COMMIT_PAGES
        } else {
            1
        };
        for page in 2..=pages {
            if !more || found.is_complete() {
                break;
            }
            let further = self.compared_page(pr, base, head, old, page).await?;
            found.commits.extend(further.0.commits);
            more = further.1;
        }
        Ok(found)
    }

    /// Returns the comparison with one page of its commits, and whether a next page exists.
    async fn compared_page(
        &self,
        pr: &PrId,
        base: &str,
        head: &str,
        old: &str,
        page: usize,
    ) -> Result<(Comparison, bool)> {
        // Only the first page has the files of the comparison. They are not needed here.
        let path = format!(
            "{}/compare/{base}...{head}?per_page={MAX_PAGE_SIZE}&page={page}",
            repo_route(&pr.repo)?
        );
        let (status, headers, bytes) = self.api.rest(Method::GET, &path, JSON, None).await?;
        if status.as_u16() == 404 {
            return Err(forge_git::commit_is_gone(old, &pr.repo.to_string()));
        }
        if !status.is_success() {
            let about = self.api.error_context(false);
            return Err(error::from_http(about, status, &headers, &bytes));
        }
        let found = serde_json::from_slice(&bytes).map_err(|e| {
            let what = format!("the comparison for {pr}");
            self.api.error_context(false).misread(&what, &e)
        })?;
        Ok((found, has_next(&headers).unwrap_or(false)))
    }

    /// Returns the diff from the merge base of two commits to the second.
    async fn compared_diff(&self, pr: &PrId, base: &str, head: &str) -> Result<Vec<u8>> {
        let path = format!("{}/compare/{base}...{head}", repo_route(&pr.repo)?);
        let (status, headers, bytes) = self.api.rest(Method::GET, &path, DIFF, None).await?;
        if status.is_success() {
            return Ok(bytes.to_vec());
        }
        let error = error::from_http(self.api.error_context(false), status, &headers, &bytes);
        Err(match status.as_u16() {
            // For the diff of a pull request, GitHub sends these statuses if the diff is too large.
            406 | 422 => error.with_hint("ask in a clone of the repository, where git compares"),
            _ => error,
        })
    }
}

fn complete_diff(
    ends: &HeadAndBase,
    since: SinceHead,
    body: Vec<u8>,
    base: Option<&String>,
) -> Diff {
    let mut diff = Diff::new(&ends.head, Box::pin(stream::iter([Ok(body)])));
    diff.base_oid = base.cloned();
    diff.context_lines = Some(SENT_LINES);
    diff.since = Some(since);
    diff
}

/// Returns a warning if only some commits of the comparison were read.
fn unlisted_commits_warning(found: &Comparison) -> Option<Warning> {
    let (listed, total) = (found.commits.len(), found.total_commits);
    let message = || format!("{listed} of {total} commits were read");
    (!found.is_complete()).then(|| Warning::new(message()))
}
