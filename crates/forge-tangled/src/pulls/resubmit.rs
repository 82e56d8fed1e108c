//! Submits another round (a version of the changes) of a pull request.

use forge_core::{
    Action, Arg, Capability, Error, ErrorKind, Hint, Ingestion, Op, Outcome, Param, PrId,
    Precondition, Result, Warning,
    model::{PrFields, PrState, PullRequest, Resubmit},
};
use futures::future;
use serde_json::{Value, json};

use super::{
    create::{parse_given_patch, refused_form, replaced},
    merge_claim::find_merge_claim,
    merge_detection::MergeDetection,
    record::TangledPull,
    state::EffectiveState,
    versions::NO_VERSION_METHOD,
    view::LocatedPull,
};
use crate::{
    Era, Tangled, blocking,
    caps::LIMITS,
    comments,
    declaration::Undeclared,
    hints::{AS_PATCH, reopen},
    ingest::Seen,
    ingested_collections::RecordWrite,
    patch::{self, Patch},
    ticket_comments::GoesWith,
    write,
};

/// Hint that lists other ways to pass the changes.
static ELSEWHERE: Hint = Hint::fixed(
    "pass the changes as a patch, or name a branch of your clone that has them",
    AS_PATCH,
);

impl Tangled {
    /// See [`forge_core::PullRequests::resubmit`].
    pub(crate) async fn resubmit_pull(
        &self,
        pr: &PrId,
        req: &Resubmit,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(comment) = &req.comment {
            LIMITS.check_comment("comment", comment)?;
        }
        let patch = req.patch.as_deref().map(parse_given_patch).transpose()?;
        let located = self.locate(pr).await?;
        let now = located.pull.record.cid();
        if let Some(expected) = req.expected_version.as_deref().filter(|e| *e != now) {
            return Err(self.stale(&located.pull.uri, expected, now));
        }
        let mut outcome = if located.repository.era == Era::Org10 {
            // A patch is accepted only together with a branch. The patch has the changes of that
            // branch, so it is not needed: the knot makes its own patch.
            if patch.is_some() && req.head.is_none() {
                return Err(Error::unsupported(
                    Capability::PrResubmit,
                    "a round of Tangled 1.0 is two commits on the knot, and no patch",
                    Hint::new("push the head branch, and submit the round without a patch")
                        .with_action(Action::again(&[(Param::Patch, Arg::Omit)])),
                ));
            }
            self.resubmit_ticket(&located, req.head.as_deref()).await?
        } else {
            self.require_2026(&located.repository, Capability::PrResubmit)?;
            self.check_author(&located.pull).await?;
            check_takes_rounds(&located.pull)?;
            let from_knot = patch.is_none();
            let (undeclared, patch) = future::join(self.undeclared(&located.repository), async {
                match patch {
                    Some(patch) => Ok(patch),
                    None => self.patch_of_head(&located, req.head.as_deref()).await,
                }
            })
            .await;
            let (undeclared, patch) = (undeclared?, patch?);
            let mut outcome = self.add_round(undeclared, &located, &patch).await?;
            let uri = &located.pull.record.uri;
            if from_knot {
                outcome.warnings.extend(replaced(&patch, uri));
            }
            outcome.warnings.extend(refused_form(&patch, uri));
            outcome
        };
        if let Some(comment) = req.comment.as_deref() {
            self.comment_on_round(pr, comment, &mut outcome).await;
        }
        Ok(outcome)
    }

    /// Writes the comment on a round. If that fails, the round stays, and the result has a warning.
    async fn comment_on_round(&self, pr: &PrId, comment: &str, outcome: &mut Outcome<PullRequest>) {
        let written = async {
            let located = self.locate(pr).await?;
            if located.repository.era == Era::Org10 {
                let round = located
                    .pull
                    .latest()
                    .and_then(|(_, round)| round.created_at);
                let ticket = located.pull.record.rkey();
                let with = GoesWith::Round(round);
                return self
                    .comment_in_account_once(&located.repository, ticket, comment, with)
                    .await;
            }
            self.comment_once(&located, comment, None).await
        };
        let round = std::mem::replace(&mut outcome.ingestion, Ingestion::Immediate);
        match written.await {
            Ok(written) => {
                outcome.add_steps(comments::comment_step(&written));
                outcome.ingestion = round.combine(written.ingestion);
                for warning in written.warnings {
                    // The writes of the round and of the comment give the same warning about
                    // Tangled 1.0. It is shown once.
                    if !outcome.warnings.contains(&warning) {
                        outcome.warnings.push(warning);
                    }
                }
            }
            Err(e) => {
                outcome.ingestion = round;
                let uri = &outcome.value.node_id;
                let comment = Action::op(Op::Comment).on(uri).with(Param::Body, comment);
                let hint = Hint::new("comment on the round, which is submitted");
                outcome.warnings.push(
                    Warning::new(format!("the comment was not written: {}", e.message()))
                        .with_hint(hint.with_action(comment)),
                );
            }
        }
    }

    async fn check_author(&self, pull: &TangledPull) -> Result<()> {
        let viewer = self.session.viewer().await?;
        if viewer.identity.did == pull.author() {
            return Ok(());
        }
        Err(self.foreign_record_error(&pull.uri).await)
    }

    /// Reads the patch of the branch `head`, or else of the pull request's head branch.
    ///
    /// The patch is on top of the base branch or, in a stack, of the pull request below.
    async fn patch_of_head(&self, located: &LocatedPull, head: Option<&str>) -> Result<Patch> {
        let (repository, pull) = (&located.repository, &located.pull);
        let head = head.unwrap_or(&pull.head);
        let fork = match pull.fork(repository) {
            Some(source) => {
                let fork = self.fork_of_source(source, Era::Sh2026).await;
                Some(fork.map_err(|e| e.with_hint(&ELSEWHERE))?)
            }
            None => None,
        };
        if head.is_empty() {
            return Err(Error::invalid(
                "patch",
                format!(
                    "{} was not made from a branch of its repository, so the source of its next \
                     round is unknown",
                    pull.record.uri
                ),
            )
            .with_hint(&ELSEWHERE));
        }
        let below = self.open_below(located).await?;
        let from = match below.last() {
            Some(below) => Some(self.tip_of(below).await?),
            None => None,
        };
        let (base, from) = (pull.base.as_str(), from.as_deref());
        let (patch, _) = match fork {
            Some(fork) => {
                self.patch_from_fork(repository, &fork, (base, from), head)
                    .await?
            }
            None => {
                self.patch_from_knot(repository, base, from.unwrap_or(base), head)
                    .await?
            }
        };
        Ok(patch)
    }

    async fn add_round(
        &self,
        undeclared: Undeclared,
        located: &LocatedPull,
        patch: &Patch,
    ) -> Result<Outcome<PullRequest>> {
        let pull = &located.pull;
        let statuses = self.statuses_of(&located.repository, pull).await?;
        let standing = EffectiveState::of(&statuses);
        if let Some(said) = find_merge_claim(&statuses) {
            let landed = self.landed_as_titled(located, said).await?;
            if landed != MergeDetection::Yes {
                return Err(self
                    .unproved(located, said, &landed, "no round was added")
                    .await);
            }
        }
        if standing.state != PrState::Open {
            let (why, hint) = match standing.state {
                PrState::Merged => (
                    Precondition::Merged,
                    Hint::new("open a new pull request").with_action(Action::op(Op::PrCreate)),
                ),
                _ => (Precondition::Closed, reopen(&pull.record.uri)),
            };
            return Err(Error::precondition(
                why,
                format!("{} is not open, so no round can be added", pull.record.uri),
            )
            .with_hint(hint));
        }
        let latest = self.latest_patch(&located.repository, pull).await;
        if latest.is_ok_and(|latest| latest.raw == patch.raw) {
            let warning =
                Warning::new("nothing was submitted: the newest round has the same changes");
            return self.unchanged_pull(located, warning).await;
        }
        let raw = patch.raw.clone();
        let packed = blocking::run_long(move |may| patch::pack(&raw, may)).await?;
        let blob = self.upload(&undeclared, "application/gzip", packed).await?;
        let fields = self.fields();
        let round = json!({
            (fields.created_at.to_string()): write::now(),
            (fields.patch_blob.to_string()): blob,
        });
        let mut record = self
            .edit_record(undeclared, &pull.uri, Some(pull.record.cid()), |value| {
                let rounds = value.get_mut(&*fields.rounds);
                match rounds.and_then(Value::as_array_mut) {
                    Some(rounds) => {
                        rounds.push(round.clone());
                        Ok(())
                    }
                    None => Err(Error::new(
                        ErrorKind::Protocol,
                        format!("{} has no list of rounds to add one to", pull.record.uri),
                    )),
                }
            })
            .await?;
        let seen = Seen::Pull(&pull.target);
        let told = self
            .ingestion_after(RecordWrite::Round, &located.repository, seen, &record)
            .await;
        record.cid = Some(told.cid);
        let located = LocatedPull {
            pull: TangledPull::parse(record, self.fields())?,
            ..located.clone()
        };
        let mut outcome = Outcome::immediate(self.view_fresh(&located, PrFields::NONE).await?);
        outcome.ingestion = told.ingestion;
        Ok(outcome)
    }
}

/// Refuses another round if the record stores its rounds in the field `versions`.
///
/// How a version is added was never recorded: its commits have to be kept on the knot. An entry in
/// the older field for rounds does not fit such a record.
fn check_takes_rounds(pull: &TangledPull) -> Result<()> {
    if !pull.has_versions {
        return Ok(());
    }
    let uri = &pull.record.uri;
    Err(Error::unsupported(
        Capability::PrResubmit,
        &format!("{uri} has versions instead of rounds, and {NO_VERSION_METHOD}"),
        Hint::new("submit the round on the web, or open another pull request")
            .with_action(Action::op(Op::PrCreate)),
    ))
}
