//! Diffs, files and commits of the newest round. A round is a submitted version of the changes.

use std::collections::BTreeSet;

use forge_core::{
    Error, ErrorKind, Page, PageReq, PrId, Result, Warning,
    model::{Commit, Diff, DiffFormat, DiffReq, FileChange, LocalClone, Rounds},
    text::one_line,
};
use futures::stream;

use super::{
    record::{Content, TangledPull},
    view::LocatedPull,
};
use crate::{
    Era, Tangled, applied, page,
    patch::{self, Patch},
    repository::TangledRepository,
};

impl Tangled {
    /// See [`forge_core::PullRequests::diff`].
    pub(crate) async fn diff_pull(&self, pr: &PrId, req: &DiffReq) -> Result<Diff> {
        let located = self.locate(pr).await?;
        let mut diff = self.diff_located(&located, req).await?;
        diff.warnings.extend(located.repository.doubt());
        Ok(diff)
    }

    async fn diff_located(&self, located: &LocatedPull, req: &DiffReq) -> Result<Diff> {
        if let Some(Rounds { round, since, .. }) = req.rounds {
            return self.diff_of_rounds(located, round, since, req).await;
        }
        if let Some(commit) = &req.since {
            return self.diff_since_commit(located, commit, req).await;
        }
        let newest = located.pull.rounds.len().saturating_sub(1);
        let patch = self
            .latest_shown_patch(&located.repository, &located.pull)
            .await?;
        self.diff_of_patch(located, newest, &patch, req).await
    }

    /// Returns the changes of one round.
    pub(crate) async fn diff_of_patch(
        &self,
        located: &LocatedPull,
        round: usize,
        patch: &Patch,
        req: &DiffReq,
    ) -> Result<Diff> {
        let (body, mut warnings) = match req.format {
            DiffFormat::Patch if patch.mails.is_empty() => {
                let why = "this round is a plain diff without commits: it was not made by git format-patch";
                (patch.raw.clone(), vec![Warning::new(why)])
            }
            DiffFormat::Patch => {
                let doubt = doubt_warning("this round", patch);
                (patch.raw.clone(), doubt.into_iter().collect())
            }
            DiffFormat::Diff => {
                let (diff, warning) = self.net_diff(located, patch).await;
                (diff, warning.into_iter().collect())
            }
        };
        if req.context_lines.is_some() && !req.prefers_context {
            warnings.push(Warning::new(
                "a round is stored as a patch, so its number of context lines is fixed",
            ));
        }
        warnings.extend(differs_from_applied(located, round, patch, req.clone.as_ref()).await);
        let head_oid = head_id(&located.pull, round, patch);
        let mut diff = Diff::new(head_oid, Box::pin(stream::iter([Ok(body)])));
        diff.base_oid = base_id(&located.pull, round, patch);
        diff.warnings = warnings;
        Ok(diff)
    }

    /// Returns a single diff of a round, from the merge base to the head.
    ///
    /// - One commit: its diff is returned, because it already goes from the merge base to the head.
    /// - Several commits: a knot makes the diff. If it makes none, the diffs of the commits are
    ///   returned with a warning that says why.
    pub(crate) async fn net_diff(
        &self,
        located: &LocatedPull,
        patch: &Patch,
    ) -> (Vec<u8>, Option<Warning>) {
        let unseen = unseen_changes("this round", patch);
        if let Some(combined) = patch.combined_diff() {
            return (combined, unseen);
        }
        if unseen.is_some() {
            return (patch.diff(), unseen);
        }
        if patch.mails.len() < 2 {
            return (patch.diff(), None);
        }
        // Two kinds of knots (git servers) are not asked for the diff:
        // - Tangled 1.0: no method is known that makes a single diff of several commits.
        // - The knot of a fork: it belongs to the fork's owner, so its diff proves nothing.
        let unasked = match located.repository.era {
            Era::Org10 => {
                Some("no method of a Tangled 1.0 knot is known that builds a combined diff")
            }
            _ if patch.range.is_some() => Some("the knot sent no combined diff of them"),
            _ => (located.pull.fork(&located.repository))
                .map(|_| "a fork's knot is not trusted to build the combined diff"),
        };
        if let Some(why) = unasked {
            let warning = (!has_distinct_files(patch)).then(|| {
                Warning::new(format!(
                    "the changes are shown commit by commit: several commits change the same file, \
                     and {why}"
                ))
            });
            return (patch.diff(), warning);
        }
        match self.read_combined_diff(located, patch).await {
            Ok(diff) => (diff, None),
            Err(e) => {
                let warning = Warning::new(format!(
                    "the changes are shown commit by commit, because there is no single diff: {}",
                    e.message()
                ));
                (patch.diff(), Some(warning))
            }
        }
    }

    /// Reads the combined diff of a round of several commits from the knot of its repository. The
    /// diff starts at the tip of the pull request below in the stack, or at the base branch if
    /// there is no pull request below.
    async fn read_combined_diff(&self, located: &LocatedPull, patch: &Patch) -> Result<Vec<u8>> {
        let (repository, base) = (&*located.repository, located.pull.base.clone());
        let on_top = match self.tip_below(located).await {
            Ok(None) => return self.read_combined_diff_from(repository, &base, patch).await,
            Ok(Some(tip)) => self.read_combined_diff_from(repository, &tip, patch).await,
            Err(e) => Err(e),
        };
        match on_top {
            Ok(diff) => Ok(diff),
            // If the pull request below is merged, a newer round starts from the base branch. So
            // the base branch is tried as well.
            Err(e) => {
                let from_base = self.read_combined_diff_from(repository, &base, patch).await;
                from_base.map_err(|_| e)
            }
        }
    }

    /// Reads the knot's combined diff from the revision `from` to the head of a round.
    ///
    /// Fails if the round does not have exactly the commits of this range.
    async fn read_combined_diff_from(
        &self,
        repository: &TangledRepository,
        from: &str,
        patch: &Patch,
    ) -> Result<Vec<u8>> {
        let head = patch.head().unwrap_or_default();
        let other = |what: &str| {
            let (from, of) = (one_line(from), &repository.id);
            let why = format!("for the range '{from}'..{head}, the knot of {of} returned {what}");
            Error::new(ErrorKind::Protocol, why)
        };
        let compared = self.compare(repository, from, head).await?;
        let found = Patch::parse(compared.patch.unwrap_or_default().into_bytes());
        // The commit ids of a round come from its author, who could write the ids of another
        // change. So the diffs are compared as well.
        let is_same = found.mails.len() == patch.mails.len()
            && (found.mails.iter().zip(&patch.mails))
                .all(|(one, other)| patch::is_same_diff(&one.diff, &other.diff));
        if !is_same || found.head() != Some(head) {
            return Err(other("commits other than those of this round"));
        }
        match compared.combined_patch_raw.filter(|d| !d.is_empty()) {
            Some(diff) => Ok(Patch::parse(diff.into_bytes()).diff()),
            None => Err(other("only the separate commits, without a combined diff")),
        }
    }

    /// See [`forge_core::PullRequests::files`].
    pub(crate) async fn files_of(&self, pr: &PrId, req: PageReq) -> Result<Page<FileChange>> {
        let located = self.locate(pr).await?;
        let patch = self
            .latest_shown_patch(&located.repository, &located.pull)
            .await?;
        let (diff, warning) = self.net_diff(&located, &patch).await;
        let mut page = page::of(
            "tangled-files",
            located.pull.record.cid(),
            patch::files(&diff),
            &req,
        )?;
        page.warnings.extend(warning);
        page.warnings.extend(located.repository.doubt());
        Ok(page)
    }

    /// See [`forge_core::PullRequests::commits`].
    pub(crate) async fn commits_of(&self, pr: &PrId, req: PageReq) -> Result<Page<Commit>> {
        let located = self.locate(pr).await?;
        let patch = self
            .latest_shown_patch(&located.repository, &located.pull)
            .await?;
        let mut page = page::of(
            "tangled-commits",
            located.pull.record.cid(),
            patch.commits(),
            &req,
        )?;
        page.warnings.extend(doubt_warning("this round", &patch));
        page.warnings.extend(located.repository.doubt());
        Ok(page)
    }
}

/// Returns a warning if the diffs of a round may not show all its changes. `name` stands for the
/// round in the warning.
pub(super) fn unseen_changes(name: &str, patch: &Patch) -> Option<Warning> {
    let doubt = doubt_warning(name, patch);
    if doubt.is_some() {
        return doubt;
    }
    let why = patch.fault()?;
    Some(Warning::new(format!(
        "forge does not merge {name}: git may apply other changes than the ones shown, because the \
         patch {why}"
    )))
}

/// Returns a warning if a server may have shown other changes than those between the two commits of
/// a version.
pub(super) fn doubt_warning(name: &str, patch: &Patch) -> Option<Warning> {
    let doubt = patch.doubt()?;
    Some(Warning::new(format!(
        "the changes of {name} are not proved: {doubt}"
    )))
}

/// Applies a round in a scratch repository, if there is a clone, and returns a warning if git makes
/// other changes of it than it shows.
pub(super) async fn differs_from_applied(
    located: &LocatedPull,
    round: usize,
    patch: &Patch,
    clone: Option<&LocalClone>,
) -> Option<Warning> {
    let content = located.pull.rounds.get(round).map(|round| &round.content);
    let is_patch = matches!(content, Some(Content::Blob(_) | Content::Text { .. }));
    match clone.filter(|_| is_patch && patch.fault().is_none()) {
        Some(clone) => applied::difference_warning(clone, &located.pull.base, patch).await,
        None => None,
    }
}

/// Returns the id of the head of a round, in the form of
/// [`forge_core::model::PullRequest::head_id`].
pub(super) fn head_id(pull: &TangledPull, round: usize, patch: &Patch) -> String {
    let of_round = pull.rounds.get(round);
    let id = of_round.and_then(|round| pull.patch_id(round));
    id.or(patch.head()).unwrap_or_default().to_owned()
}

/// Returns the commit on which a round begins, if its record names it. A doubtful patch may begin at
/// another commit.
pub(super) fn base_id(pull: &TangledPull, round: usize, patch: &Patch) -> Option<String> {
    let of_round = pull.rounds.get(round).filter(|_| patch.doubt().is_none());
    of_round.and_then(|round| round.base()).map(str::to_owned)
}

/// Returns true if no two commits change the same file, so that their diffs can be joined into one.
fn has_distinct_files(patch: &Patch) -> bool {
    let mut seen = BTreeSet::new();
    patch.mails.iter().all(|mail| {
        let files = patch::files(&mail.diff);
        let names = files
            .into_iter()
            .flat_map(|f| f.previous_path.into_iter().chain([f.path]));
        // A file that keeps its name is listed with equal old and new names, so they count once.
        let names: BTreeSet<String> = names.collect();
        names.into_iter().all(|name| seen.insert(name))
    })
}
