//! Diffs of single rounds, and diffs between two rounds. A round is a submitted version of the
//! changes.

use std::sync::Arc;

use forge_core::{
    Action, Arg, Error, ErrorKind, Hint, Noun, Param, PrId, Result, Warning,
    diff::{SeriesCommit, between_results, changed_commits},
    model::{Diff, DiffFormat, DiffReq, HeadChange, Signature, SinceHead},
    text::one_line,
};
use futures::stream;

use super::{
    diff::{base_id, differs_from_applied, head_id, unseen_changes},
    view::LocatedPull,
};
use crate::{
    Tangled,
    hints::resubmit,
    patch::{Patch, PatchMail},
};

/// Action that repeats the failed call for another round.
const OTHER_ROUND: Action = Action::again(&[(Param::Round, Arg::Choose)]);

/// Maximum number of commits that a warning about their authors names.
const MAX_AUTHORS: usize = 20;

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
        let patch = self.patch_of_round(&located, round).await?;
        match patch.doubt() {
            None => Ok(patch.raw.clone()),
            Some(doubt) => {
                let message = format!("the changes of round {round} are not proved: {doubt}");
                Err(Error::new(ErrorKind::Protocol, message))
            }
        }
    }

    async fn patch_of_round(&self, located: &LocatedPull, round: usize) -> Result<Arc<Patch>> {
        let pull = &located.pull;
        match pull.rounds.get(round) {
            Some(found) => {
                self.shown_patch_of(&located.repository, pull, round, found)
                    .await
            }
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
            diff.base_oid = base_id(&located.pull, round, &patch);
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
        // A patch is written by a stranger, and `git am` takes more from it than lines: positions,
        // modes, and the content of binary files by the ids in `index` lines.
        let between = between_results(&old, &new);
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
        warnings.extend(author_changes(&before, &patch));
        warnings.extend(differs_from_applied(located, round, &patch, req.clone.as_ref()).await);
        let head_oid = head_id(&located.pull, round, &patch);
        let mut diff = Diff::new(head_oid, Box::pin(stream::iter([Ok(between.diff)])));
        diff.base_oid = base_id(&located.pull, round, &patch);
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
        let commits = patch
            .mails
            .iter()
            .map(|mail| SeriesCommit::new(&mail.oid, &mail.subject, essence_of(mail)));
        commits.collect()
    };
    let commits = changed_commits(&series(old), &series(new));
    SinceHead::new(old.head().map(str::to_owned), head_change, commits)
}

/// Returns what a commit of a round makes: its author, and its diff with positions and modes. Blob
/// ids are shortened, because git abbreviates them to different lengths.
fn essence_of(mail: &PatchMail) -> Vec<u8> {
    let Signature { name, email, .. } = &mail.author;
    let mut essence = format!("{name}\0{email}\0").into_bytes();
    for line in mail.diff.split_inclusive(|b| *b == b'\n') {
        match line.strip_prefix(b"index ") {
            Some(ids) => essence.extend(short_ids(ids)),
            None => essence.extend_from_slice(line),
        }
    }
    essence
}

/// Returns the ids and the mode of an `index` line, with at most 7 digits of each id.
fn short_ids(ids: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(ids);
    let (ids, mode) = text.split_once(' ').unwrap_or((&text, ""));
    let ids = ids.trim_end().split("..");
    let ids: Vec<String> = ids.map(|id| id.chars().take(7).collect()).collect();
    format!("index {} {mode}", ids.join("..")).into_bytes()
}

/// Returns a warning that names the commits that have another author in the newer of two rounds. A
/// diff does not show the author.
fn author_changes(old: &Patch, new: &Patch) -> Option<Warning> {
    let mut left: Vec<&PatchMail> = old.mails.iter().collect();
    let mut changes = Vec::new();
    for mail in &new.mails {
        let Some(at) = left
            .iter()
            .position(|before| before.subject == mail.subject)
        else {
            continue;
        };
        let before = &left.remove(at).author;
        let author = &mail.author;
        if (&before.name, &before.email) != (&author.name, &author.email) {
            changes.push(format!(
                "'{}' ({} <{}> instead of {} <{}>)",
                one_line(&mail.subject),
                one_line(&author.name),
                one_line(&author.email),
                one_line(&before.name),
                one_line(&before.email),
            ));
        }
    }
    let others = changes.len().saturating_sub(MAX_AUTHORS);
    changes.truncate(MAX_AUTHORS);
    if others > 0 {
        changes.push(format!("{others} others"));
    }
    let named = changes.join(", ");
    (!changes.is_empty()).then(|| Warning::new(format!("commits with another author: {named}")))
}
