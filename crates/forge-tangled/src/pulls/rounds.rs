//! Diffs of single rounds, and diffs between two rounds. A round is a submitted version of the
//! changes.

use std::sync::Arc;

use forge_core::{
    Action, Arg, Error, ErrorKind, Hint, Noun, Param, PrId, Result, Warning,
    diff::{SeriesCommit, between, changed_commits, changed_lines},
    model::{Diff, DiffFormat, DiffReq, HeadChange, SinceHead},
    text::one_line,
};
use futures::stream;

use super::{
    diff::{head_id, unseen_changes},
    view::LocatedPull,
};
use crate::{Tangled, hints::resubmit, patch::Patch};

/// Action that repeats the failed call for another round.
const OTHER_ROUND: Action = Action::again(&[(Param::Round, Arg::Choose)]);

/// Action that repeats the failed call, with the changes since another round.
const OTHER_ROUND_SINCE: Action = Action::again(&[(Param::Since, Arg::Choose)]);

impl Tangled {
    /// Returns the patch of the round `round`, counted from 0, as stored.
    ///
    /// # Errors
    /// `not_found` if the round does not exist; also the errors of
    /// [`forge_core::PullRequests::diff`].
    pub async fn round(&self, pr: &PrId, round: usize) -> Result<Vec<u8>> {
        let located = self.locate(pr).await?;
        Ok(self.patch_of_round(&located, round).await?.raw.clone())
    }

    async fn patch_of_round(&self, located: &LocatedPull, round: usize) -> Result<Arc<Patch>> {
        let pull = &located.pull;
        match pull.rounds.get(round) {
            Some(found) => self.patch_of(&located.repository, pull, round, found).await,
            None => Err(Error::new(
                ErrorKind::NotFound { what: Noun::Other },
                format!("{} has no round {round}", pull.record.uri),
            )
            .with_hint(match pull.rounds.len() {
                0 => Hint::new("have its author submit a round")
                    .with_action(resubmit(&pull.record.uri)),
                1 => Hint::new("name round 0, the only one").with_action(OTHER_ROUND),
                many => Hint::from(format!(
                    "name one of its rounds; it has {many}, from round 0 to round {}",
                    many - 1
                ))
                .with_action(OTHER_ROUND),
            })),
        }
    }

    /// Returns the changes of the newest round since the round whose head was `commit`. If several
    /// rounds name the same commit with different patches, the oldest of them is compared, so that
    /// no change is left out.
    pub(crate) async fn diff_since_commit(
        &self,
        located: &LocatedPull,
        commit: &str,
        req: &DiffReq,
    ) -> Result<Diff> {
        for round in 0..located.pull.rounds.len() {
            let patch = self.patch_of_round(located, round).await?;
            if !patch.head().is_some_and(|head| head.starts_with(commit)) {
                continue;
            }
            if round + 1 < located.pull.rounds.len() {
                return self.diff_of_rounds(located, None, Some(round), req).await;
            }
            let head_oid = head_id(&located.pull, round, &patch);
            let mut diff = Diff::new(head_oid, Box::pin(stream::empty()));
            diff.since = Some(since_head(&patch, &patch));
            diff.warnings = unseen_changes("this round", &patch).into_iter().collect();
            return Ok(diff);
        }
        let message = format!(
            "no round of {} ends with commit {}",
            located.pull.record.uri,
            one_line(commit)
        );
        Err(Error::not_found(Noun::Commit, message).with_hint(
            Hint::new(
                "name a review of this pull request, or the head commit of one of its rounds",
            )
            .with_action(OTHER_ROUND_SINCE),
        ))
    }

    /// Returns the changes of a round, by default of the newest. With `since`, leaves out the files
    /// that the round `since` changes in the same way.
    pub(crate) async fn diff_of_rounds(
        &self,
        located: &LocatedPull,
        round: Option<usize>,
        since: Option<usize>,
        req: &DiffReq,
    ) -> Result<Diff> {
        let newest = located.pull.rounds.len().saturating_sub(1);
        let round = round.unwrap_or(newest);
        let patch = self.patch_of_round(located, round).await?;
        let Some(since) = since else {
            return self.diff_of_patch(located, round, &patch, req).await;
        };
        if since >= round {
            let message = match round {
                0 => "round 0 is the first round, so no round comes before it".to_owned(),
                _ => format!("round {since} does not come before round {round}"),
            };
            return Err(Error::invalid("since", message).with_hint(
                Hint::new("name an earlier round; they are counted from 0, the newest last")
                    .with_action(OTHER_ROUND_SINCE),
            ));
        }
        if req.format == DiffFormat::Patch {
            return Err(Error::invalid(
                "since",
                "there is no patch series from one round to another",
            )
            .with_hint("read the diff between them, or the patch series of one round"));
        }
        let before = self.patch_of_round(located, since).await?;
        // Both rounds are checked for hidden changes, because the diff between rounds lacks a
        // change that is hidden in one of them.
        let unseen =
            |number: usize, patch: &Patch| unseen_changes(&format!("round {number}"), patch);
        let (old_unseen, new_unseen) = (unseen(since, &before), unseen(round, &patch));
        let ((old, first), (new, second)) = futures::join!(
            self.net_diff(located, &before),
            self.net_diff(located, &patch)
        );
        let between = between(&old, &new);
        // `net_diff` returns the same warning for a round with hidden changes, so that copy of the
        // warning is dropped here.
        let first = first.filter(|_| old_unseen.is_none());
        let second = second.filter(|_| new_unseen.is_none());
        let unseen = [new_unseen, old_unseen].into_iter().flatten();
        let mut warnings: Vec<Warning> = unseen.chain(first.or(second)).collect();
        warnings.push(
            Warning::new(format!(
                "files with the same changes as in round {since} are left out; every other file is \
                 shown with all of its changes"
            ))
            .with_hint("see more with `git range-diff` in a clone that has both heads"),
        );
        if !between.gone.is_empty() {
            warnings.push(Warning::new(format!(
                "changed in round {since} and no longer in round {round}: {}",
                between.gone.join(", ")
            )));
        }
        warnings.extend(between.unplaced_warning());
        let head_oid = head_id(&located.pull, round, &patch);
        let mut diff = Diff::new(head_oid, Box::pin(stream::iter([Ok(between.diff)])));
        diff.since = Some(since_head(&before, &patch));
        diff.warnings = warnings;
        Ok(diff)
    }
}

/// Compares the commits of two rounds.
fn since_head(old: &Patch, new: &Patch) -> SinceHead {
    // Compares whole mails, because a round can contain the same commit id with other changes.
    let head_change = match new.mails.starts_with(&old.mails) {
        _ if old.raw == new.raw => HeadChange::Unchanged,
        true if !old.mails.is_empty() => HeadChange::Continued,
        // A patch does not name its base, so a rebase cannot be recognized.
        _ => HeadChange::Rewritten,
    };
    let series = |patch: &Patch| -> Vec<SeriesCommit> {
        let commits = patch.mails.iter().map(|mail| {
            let essence = changed_lines(&mail.diff);
            SeriesCommit::new(&mail.oid, &mail.subject, essence)
        });
        commits.collect()
    };
    let commits = changed_commits(&series(old), &series(new));
    SinceHead::new(old.head().map(str::to_owned), head_change, commits)
}
