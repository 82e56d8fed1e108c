//! Verifies a status record that says "merged" against the target branch.
//!
//! Every account that may set the state can write such a status, even an author without push access
//! (tangled's ingester, `authorizeStateRecord`). A view therefore names the account that wrote the
//! status, and operations that depend on the merge first look for the change in the knot's log.

use forge_core::{
    Action, Error, Hint, Op, Param, Precondition, Result, Warning,
    model::{PrState, PullRequest},
    text::one_line,
};

use super::{
    merge_detection::{MergeDetection, Until, subject_of},
    record::{Round, TangledPull},
    status::{self, Status},
    view::LocatedPull,
};
use crate::{Tangled, part_window::PartWindow};

/// The section of a view that the warnings of this file belong to.
const SECTION: &str = "state";

/// Text in error messages for the state of a pull request with an unverified merged status.
pub(crate) const CALLED_MERGED: &str = "merged, as a status record says";

impl Tangled {
    /// Searches the target branch for the rounds that a "merged" status can mean.
    ///
    /// No record says which round was merged, so the times decide. The newest round is searched
    /// for. If it was submitted after the status, the last round before the status is searched for
    /// as well. `names` has the possible commit subjects, as in [`Self::landed_in`].
    pub(super) async fn landed_as_said(
        &self,
        located: &LocatedPull,
        said: &Status,
        names: &[String],
    ) -> Result<MergeDetection> {
        let (repository, pull) = (&located.repository, &located.pull);
        let Some(base) = self.branch(repository, &pull.base).await? else {
            let why = format!("{} has no such branch", repository.id);
            return Ok(MergeDetection::Unknown(why));
        };
        let mut landed = MergeDetection::Unknown("it has no round".to_owned());
        for (number, round) in meant(pull, said) {
            let patch = self.patch_of(repository, pull, number, round).await?;
            let until = Until::since(round.created_at.unwrap_or(pull.created_at));
            landed = self
                .landed_in(located, &patch, &base.hash, until, names)
                .await?;
            if landed == MergeDetection::Yes {
                break;
            }
            if landed == MergeDetection::No && patch.mails.is_empty() {
                landed = MergeDetection::Unknown(
                    "it is a plain diff, which may have been merged under another subject"
                        .to_owned(),
                );
            }
        }
        Ok(landed)
    }

    /// As [`Self::landed_as_said`], with the title as the only possible subject of a plain diff.
    pub(super) async fn landed_as_titled(
        &self,
        located: &LocatedPull,
        said: &Status,
    ) -> Result<MergeDetection> {
        let names = [subject_of(&located.pull.title)];
        self.landed_as_said(located, said, &names).await
    }

    /// Describes a "merged" status: the account that wrote it, and whether the branch has the
    /// change.
    pub(super) async fn describe_merge_claim(
        &self,
        located: &LocatedPull,
        said: &Status,
        landed: &MergeDetection,
    ) -> String {
        let who = self.identities.name_of(&said.author).await;
        let pull = &located.pull;
        let base = one_line(&pull.base);
        let seen = match landed {
            MergeDetection::Yes => format!("and '{base}' has the change"),
            MergeDetection::No => format!("and '{base}' does not show the change"),
            MergeDetection::Perhaps(subject) => format!(
                "and '{base}' has a commit '{}', which is not proved to be the change",
                one_line(subject)
            ),
            MergeDetection::Unknown(why) => {
                format!("and it is unknown whether '{base}' has the change: {why}")
            }
        };
        let uri = &pull.record.uri;
        format!("{} says that {uri} is merged, {seen}", claim(&who, said))
    }

    /// Returns the error for an operation that an unproved "merged" status prevents.
    ///
    /// Such an operation needs proof that the changes are on the branch, or that they are not.
    pub(super) async fn unproved(
        &self,
        located: &LocatedPull,
        said: &Status,
        landed: &MergeDetection,
        what: &str,
    ) -> Error {
        let told = self.describe_merge_claim(located, said, landed).await;
        Error::precondition(Precondition::Rule, format!("{told}; {what}"))
            .with_hint(reopen_to_merge(&located.pull.record.uri))
    }

    /// Searches the branch for the change of a pull request with a merged status, and updates the
    /// view's warnings.
    pub(super) async fn verify_merge_claim(
        &self,
        located: &LocatedPull,
        said: &Status,
        view: &mut PullRequest,
    ) {
        let servers = || format!("a server of {}", located.repository.id);
        let window = PartWindow::begin();
        let landed = window.read(servers, self.landed_as_titled(located, said));
        let landed = landed
            .await
            .unwrap_or_else(|e| MergeDetection::Unknown(e.message().to_owned()));
        drop_unproved_warning(view);
        if landed != MergeDetection::Yes {
            let told = self.describe_merge_claim(located, said, &landed).await;
            let warning = Warning::new(told).with_hint(reopen_to_merge(&located.pull.record.uri));
            view.warnings.push(warning.of_section(SECTION));
        }
    }
}

/// Returns the status that decides the state, if it says "merged".
pub(super) fn find_merge_claim(statuses: &[Status]) -> Option<&Status> {
    status::winner(statuses).filter(|s| s.state == Some(PrState::Merged))
}

/// Returns the warning that only a status record says that the pull request is merged.
pub(super) fn by_record(who: &str, said: &Status, pull: &TangledPull) -> Warning {
    Warning::new(format!(
        "{} says that the pull request is merged; '{}' was not searched for the change",
        claim(who, said),
        one_line(&pull.base)
    ))
    .with_hint(
        Hint::new(
            "view the pull request with its mergeability, which searches the branch for the \
             change",
        )
        .with_action(
            Action::op(Op::PrView)
                .on(&pull.record.uri)
                .with(Param::Include, "mergeable"),
        ),
    )
    .of_section(SECTION)
}

/// Removes the warning of an unproved merge from a view.
pub(super) fn drop_unproved_warning(view: &mut PullRequest) {
    view.warnings.retain(|w| w.section != Some(SECTION));
}

fn claim(who: &str, said: &Status) -> String {
    let right = said.authority.map_or("none", |a| a.word());
    format!("a status record of {} ({right})", one_line(who))
}

fn reopen_to_merge(uri: &str) -> Hint {
    Hint::new(
        "to merge it, reopen it first; the search does not find a change that was squashed or \
         reverted",
    )
    .with_action(Action::op(Op::PrReopen).on(uri))
}

/// Returns the rounds that a "merged" status can mean, with their numbers.
fn meant<'a>(pull: &'a TangledPull, said: &Status) -> Vec<(usize, &'a Round)> {
    let in_time = |round: &Round| round.created_at.is_none_or(|at| at <= said.at);
    let newest = pull.latest();
    let mut backwards = pull.rounds.iter().enumerate().rev();
    let fits = backwards.find(|(_, round)| in_time(round));
    let older = fits.filter(|(number, _)| newest.is_none_or(|(newest, _)| newest != *number));
    newest.into_iter().chain(older).collect()
}
