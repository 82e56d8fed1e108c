//! Review verdicts, which tangled lacks. If the configuration allows it, a comment whose first line
//! states a verdict counts as a verdict.
//!
//! The line names the round and the CID of its patch (`Approved round 2 (bafkrei…)`), so that every
//! reader knows what was reviewed. The record of the comment names the round as well. A line that
//! does not match the pull request is ordinary text.

use crate::{
    ShFields, Tangled, comments,
    hints::another_round_hint,
    part_window::PartWindow,
    pulls::{
        record::{Content, Round, TangledPull},
        status::{Authority, Writers},
        view::LocatedPull,
    },
    records::{self, Record},
    related_records,
    sources::IN_FLIGHT,
};
use forge_core::{
    AtUri, Error, ErrorKind, Outcome, Result, Warning,
    model::{NewReview, PullRequest, Review, ReviewState, Verdict, fold_review},
    text::one_line,
};
use futures::{StreamExt as _, stream};

/// Maximum number of verdicts that are read from the servers of their authors.
const MAX_CONFIRMED: usize = 100;
/// The section of a pull request's view that is incomplete if a verdict is missing.
pub(crate) const SECTION: &str = "latest_reviews";

const APPROVED: &str = "Approved round ";
const REQUESTED: &str = "Requested changes to round ";

/// Verdict in the first line of a comment, and the text of the comment after this line.
#[derive(Debug, PartialEq, Eq)]
struct VerdictComment<'a> {
    state: ReviewState,
    round: usize,
    /// The changes of the round, as [`named_changes`] names them.
    patch: &'a str,
    text: &'a str,
}

impl<'a> VerdictComment<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (line, text) = text.split_once('\n').unwrap_or((text, ""));
        let (state, rest) = match line.strip_prefix(APPROVED) {
            Some(rest) => (ReviewState::Approved, rest),
            None => (ReviewState::ChangesRequested, line.strip_prefix(REQUESTED)?),
        };
        let (round, patch) = rest.trim_end().strip_suffix(')')?.split_once(" (")?;
        Some(Self {
            state,
            round: round.parse().ok()?,
            patch,
            text: text.strip_prefix('\n').unwrap_or(text),
        })
    }

    /// Parses the verdict of a comment, if the comment is on an existing round of `pull`.
    fn of(record: &'a Record, pull: &TangledPull, fields: &ShFields) -> Option<Self> {
        let said = Self::parse(comments::text(&record.value, fields)?)?;
        let round = pull.rounds.get(said.round)?;
        // A comment on a version names no round.
        let commented = comments::round(&record.value, fields);
        let fits = (commented == Some(said.round) || round.head().is_some() && commented.is_none())
            && comments::is_first(record, fields)
            && named_changes(round).as_deref() == Some(said.patch);
        fits.then_some(said)
    }
}

/// Returns the text by which a verdict names the changes of a round: the CID of its patch, or the
/// base and the head of a version.
fn named_changes(round: &Round) -> Option<String> {
    match &round.content {
        Content::Blob(cid) => Some(cid.clone()),
        Content::Commits { base, head } => Some(format!("{base}..{head}")),
        Content::Text { .. } | Content::Missing => None,
    }
}

/// Builds the first line of a comment with a verdict on a round.
fn first_line(verdict: Verdict, round: usize, patch: &str) -> Option<String> {
    let words = match verdict {
        Verdict::Approve => APPROVED,
        Verdict::RequestChanges => REQUESTED,
        Verdict::Comment => return None,
    };
    Some(format!("{words}{round} ({patch})"))
}

/// A review, and whether its verdict counts.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    did: String,
    /// True if the review is by the author of the pull request.
    own: bool,
    counts: bool,
    review: Review,
}

/// Returns the effect of a verdict. The author's own verdict is only a comment. An approval of an
/// older round no longer counts. A request for changes counts until the same reviewer approves.
fn effective_state(said: ReviewState, own: bool, newest: bool) -> ReviewState {
    match said {
        _ if own => ReviewState::Commented,
        ReviewState::Approved if !newest => ReviewState::Dismissed,
        said => said,
    }
}

/// Sets the review summary of the view: the last verdict of each account that may push.
pub(crate) fn add_up(view: &mut PullRequest, given: &[Given]) {
    let mut latest: Vec<&Given> = Vec::new();
    for given in given.iter().filter(|g| g.counts) {
        fold_review(
            &mut latest,
            given,
            |g| g.review.state,
            |a, b| a.did == b.did,
        );
    }
    view.latest_reviews = latest.iter().map(|g| g.review.clone()).collect();
    view.latest_reviews.sort_by_key(|r| r.submitted_at);
    let own = given.iter().filter(|g| g.own).map(|g| &g.review);
    view.author_review = own.max_by_key(|r| r.submitted_at).cloned();
    let counts = view.review_counts();
    view.approvals = counts.approved;
    view.changes_requested = counts.changes_requested;
    view.review_decision = counts.decision();
}

pub(crate) fn reviews(given: Vec<Given>) -> Vec<Review> {
    given.into_iter().map(|g| g.review).collect()
}

impl Tangled {
    /// Splits comments into comments that give a verdict and all other comments.
    pub(crate) fn split_verdicts(
        &self,
        pull: &TangledPull,
        all: Vec<Record>,
    ) -> (Vec<Record>, Vec<Record>) {
        let verdicts = self.settings.verdict_comments;
        all.into_iter().partition(|record| {
            verdicts && VerdictComment::of(record, pull, self.fields()).is_some()
        })
    }

    /// Replaces verdicts that would count by the records on their authors' servers. The reason is
    /// that an index can show verdicts that nobody has given. If a verdict cannot be read there, a
    /// request for changes counts and an approval does not.
    async fn confirm_verdicts(
        &self,
        pull: &TangledPull,
        verdicts: Vec<Record>,
        writers: &Writers,
    ) -> (Vec<Record>, Vec<Warning>) {
        let (kind, fields) = (
            related_records::comments(&self.settings.dialects),
            self.fields(),
        );
        let counts = |record: &Record| {
            record.author() != pull.author() && writers.may_write(record.author())
        };
        let (mut counted, mut all): (Vec<_>, Vec<_>) = verdicts.into_iter().partition(counts);
        let mut warnings = Vec::new();
        let older = counted.len().saturating_sub(MAX_CONFIRMED);
        if older > 0 {
            let message = format!(
                "{older} older verdicts of those who may push are left out: the newest \
                 {MAX_CONFIRMED} were read"
            );
            warnings.push(Warning::new(message).of_section(SECTION));
        }
        let window = &PartWindow::begin();
        let read: Vec<_> = stream::iter(counted.split_off(older))
            .map(|shown| async move { (self.read_verdict(&shown, window).await, shown) })
            .buffered(IN_FLIGHT)
            .collect()
            .await;
        for (found, shown) in read {
            let uri = one_line(&shown.uri).into_owned();
            match found {
                Ok(Some(record))
                    if record.collection() == kind.collection
                        && kind.subject(&record) == Some(pull.record.uri.as_str())
                        && VerdictComment::of(&record, pull, fields).is_some() =>
                {
                    all.push(record);
                }
                Ok(_) => warnings.push(Warning::new(format!(
                    "the verdict {uri} is left out: only the index shows it, and its author's \
                     server does not"
                ))),
                Err(e) => {
                    let said = VerdictComment::of(&shown, pull, fields);
                    let approves = said.is_none_or(|it| it.state == ReviewState::Approved);
                    let effect = if approves { "does not count" } else { "counts" };
                    let message = format!(
                        "the verdict {uri} could not be read from its author's server, and \
                         {effect}: {}",
                        e.message()
                    );
                    warnings.push(Warning::new(message).of_section(SECTION));
                    if !approves {
                        all.push(shown);
                    }
                }
            }
        }
        (comments::sorted(all, fields), warnings)
    }

    /// Reads a verdict from its author's server; `None` if the server does not have it.
    async fn read_verdict(&self, shown: &Record, window: &PartWindow) -> Result<Option<Record>> {
        let Ok(uri) = AtUri::parse(&shown.uri) else {
            return Ok(None);
        };
        let (did, uri) = (&uri.authority, &uri);
        let read = |pds| async move { records::find(&pds, did, &uri.collection, &uri.rkey).await };
        self.identities.read_account(did, window, read).await
    }

    /// Converts verdict comments to reviews, in their order. The warnings name comments that are
    /// left out. With `commits`, each review names the reviewed commit; this reads the patch of its
    /// round.
    pub(crate) async fn convert_verdicts(
        &self,
        located: &LocatedPull,
        verdicts: Vec<Record>,
        writers: &Writers,
        commits: bool,
    ) -> (Vec<Given>, Vec<Warning>) {
        let pull = &located.pull;
        let newest = pull.latest().map(|(number, _)| number);
        let (verdicts, warnings) = self.confirm_verdicts(pull, verdicts, writers).await;
        let authors = verdicts.iter().map(|record| record.author().to_owned());
        self.learn_names(authors.collect()).await;
        let mut all = Vec::new();
        for record in &verdicts {
            let Some(said) = VerdictComment::of(record, pull, self.fields()) else {
                continue;
            };
            let did = record.author();
            let own = did == pull.author();
            let association = match writers.authority(did, "") {
                Some(Authority::Owner) => "OWNER",
                Some(Authority::Collaborator) => "COLLABORATOR",
                Some(Authority::Author | Authority::Tangled) | None => "NONE",
            };
            let commit = match pull.rounds.get(said.round).filter(|_| commits) {
                Some(round) if round.head().is_some() => round.head().map(str::to_owned),
                Some(round) => {
                    let patch = self.patch_of(&located.repository, pull, said.round, round);
                    let patch = patch.await.ok();
                    patch.and_then(|patch| patch.head().map(str::to_owned))
                }
                None => None,
            };
            let author = self.actor(did).await;
            let state = effective_state(said.state, own, newest == Some(said.round));
            let at = record
                .created_at(&self.fields().created_at)
                .unwrap_or(pull.created_at);
            let mut review = Review::new(&record.uri, author, state, at);
            review.author_association = Some(association.to_owned());
            review.body = (!said.text.is_empty()).then(|| said.text.to_owned());
            review.commit = commit;
            review.round = Some(said.round);
            all.push(Given {
                did: did.to_owned(),
                own,
                counts: !own && writers.may_write(did),
                review,
            });
        }
        (all, warnings)
    }

    /// Adds warnings to a verdict that does not count or comes too late. Neither is refused, because
    /// tangled accepts every comment.
    pub(crate) async fn warn_if_not_counted(
        &self,
        located: &LocatedPull,
        review: &NewReview,
        mut outcome: Outcome<Review>,
    ) -> Result<Outcome<Review>> {
        let pull = &located.pull;
        let uri = &pull.record.uri;
        let viewer = self.session.viewer().await?;
        let writers = self.writers(&located.repository).await;
        if viewer.identity.did == pull.author() {
            outcome.warnings.push(Warning::new(format!(
                "this verdict is shown but does not count: you opened {uri}, and an author's own \
                 verdict is a comment"
            )));
        } else if !writers.may_write(&viewer.identity.did) {
            let id = &located.repository.id;
            outcome.warnings.push(Warning::new(format!(
                "this verdict is shown but does not count: only verdicts of the owner and the \
                 collaborators of {id} count"
            )));
        }
        // The state is read for the warning alone, so a failure does not matter.
        let state = self.state_of(&located.repository, pull).await.ok();
        let late = state.and_then(|state| review.late_verdict_warning(uri, state));
        outcome.warnings.extend(late);
        Ok(outcome)
    }
}

/// Returns the comment text of a verdict.
///
/// # Errors
/// `protocol` if the newest round has no patch that a verdict could name.
pub(crate) fn verdict_text(pull: &TangledPull, review: &NewReview) -> Result<String> {
    let line = pull
        .latest()
        .and_then(|(number, round)| first_line(review.verdict, number, &named_changes(round)?));
    match line {
        Some(line) if review.body.is_empty() => Ok(line),
        Some(line) => Ok(format!("{line}\n\n{}", review.body)),
        None => {
            let uri = &pull.record.uri;
            let message =
                format!("the newest round of {uri} has no patch that a verdict could name");
            Err(Error::new(ErrorKind::Protocol, message).with_hint(another_round_hint(uri)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIRST: &str = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
    const PATCH: &str = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";

    fn pull() -> TangledPull {
        let round =
            |cid: &str| json!({ "patchBlob": { "$type": "blob", "ref": { "$link": cid } } });
        let value = json!({
            "title": "T", "target": { "repo": "did:plc:r", "branch": "main" },
            "rounds": [round(FIRST), round(PATCH)],
        });
        let uri = "at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322".to_owned();
        let record = Record {
            uri,
            cid: None,
            value,
        };
        TangledPull::parse(record, &ShFields::default()).unwrap()
    }

    fn comment(text: &str, round: Option<usize>, reply: bool) -> Record {
        let mut value = json!({ "body": { "text": text } });
        if let Some(round) = round {
            value["pullRoundIdx"] = json!(round);
        }
        if reply {
            value["replyTo"] = json!({ "uri": "at://x" });
        }
        Record {
            uri: "at://did:plc:b/sh.tangled.feed.comment/3mkuuamwfj322".to_owned(),
            cid: None,
            value,
        }
    }

    #[test]
    fn written_verdict_line_is_read_back() {
        for (verdict, state) in [
            (Verdict::Approve, ReviewState::Approved),
            (Verdict::RequestChanges, ReviewState::ChangesRequested),
        ] {
            let line = first_line(verdict, 1, PATCH).unwrap();
            for (text, rest) in [
                (line.clone(), ""),
                (format!("{line}\n\nWhy.\n\nMore."), "Why.\n\nMore."),
            ] {
                let record = comment(&text, Some(1), false);
                let said = VerdictComment::of(&record, &pull(), &ShFields::default()).unwrap();
                assert_eq!((said.state, said.round, said.text), (state, 1, rest));
            }
        }
        assert_eq!(first_line(Verdict::Comment, 1, PATCH), None);
    }

    #[test]
    fn verdict_line_of_another_round_is_plain_text() {
        let good = format!("{APPROVED}1 ({PATCH})");
        let fields = ShFields::default();
        assert!(VerdictComment::of(&comment(&good, Some(1), false), &pull(), &fields).is_some());
        for (text, round, reply) in [
            (good.as_str(), None, false),
            (&good, Some(0), false),
            (&good, Some(1), true),
            (&format!("> {good}"), Some(1), false),
            (&format!("Look:\n{good}"), Some(1), false),
            (&format!("{APPROVED}2 ({PATCH})"), Some(2), false),
            (&format!("{APPROVED}0 ({PATCH})"), Some(0), false),
            (&format!("{APPROVED}1"), Some(1), false),
            (&format!("{APPROVED}-1 ({PATCH})"), Some(1), false),
            ("Approved", Some(1), false),
            ("", Some(1), false),
        ] {
            let record = comment(text, round, reply);
            assert_eq!(
                VerdictComment::of(&record, &pull(), &fields),
                None,
                "{text}"
            );
        }
    }
}
