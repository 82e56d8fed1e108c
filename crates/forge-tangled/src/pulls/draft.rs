//! Marks pull requests as draft or ready, if a marker for the title is configured.

use forge_core::{
    Action, Capability, Error, Hint, Op, Outcome, Param, PrId, Precondition, Result, Warning,
    model::{CreatePull, PrFields, PrState, PullRequest},
};
use serde_json::json;

use super::{merge_claim::CALLED_MERGED, record::TangledPull, view::LocatedPull};
use crate::{
    DraftMarker, Tangled,
    caps::{self, LIMITS},
    ingest::Seen,
};

impl Tangled {
    pub(crate) fn is_draft(&self, title: &str) -> bool {
        let marker = self.settings.draft_marker.as_ref();
        marker.is_some_and(|marker| marker.marks(title))
    }

    pub(crate) fn new_title(&self, req: &CreatePull) -> Result<String> {
        let title = LIMITS.check_title(&req.title)?;
        match (&self.settings.draft_marker, req.draft) {
            (_, false) => Ok(title.to_owned()),
            (Some(marker), true) => marked(marker, title),
            (None, true) => Err(caps::refusal(Capability::PrCreateDraft)),
        }
    }

    /// Returns the title to store after an edit. A draft keeps the draft marker in its title, so a
    /// new title does not mark it as ready.
    pub(crate) fn edited_title(&self, pull: &TangledPull, title: &str) -> Result<String> {
        match &self.settings.draft_marker {
            Some(marker) if marker.marks(&pull.title) => marked(marker, title),
            _ => Ok(title.to_owned()),
        }
    }

    pub(crate) fn refuse_draft(&self, pull: &TangledPull) -> Result<()> {
        if !self.is_draft(&pull.title) {
            return Ok(());
        }
        let uri = &pull.record.uri;
        Err(Error::precondition(
            Precondition::Draft,
            format!("{uri} is a draft, and drafts are not merged"),
        )
        .with_hint(
            Hint::new("mark it as ready first").with_action(
                Action::op(Op::PrSetDraft)
                    .on(uri)
                    .with(Param::Draft, "false"),
            ),
        ))
    }

    /// See [`forge_core::PullRequests::set_draft`].
    pub(crate) async fn set_pull_draft(
        &self,
        pr: &PrId,
        draft: bool,
    ) -> Result<Outcome<PullRequest>> {
        let Some(marker) = &self.settings.draft_marker else {
            return Err(caps::refusal(Capability::PrDraft));
        };
        let located = self.locate(pr).await?;
        self.require_2026(&located.repository, Capability::PrDraft)?;
        let (pull, uri) = (&located.pull, &located.pull.record.uri);
        // The state is read for the warning alone, so a failure does not matter.
        let closed = match self.state_of(&located.repository, pull).await {
            Ok(PrState::Closed) => Some("closed"),
            Ok(PrState::Merged) => Some(CALLED_MERGED),
            Ok(PrState::Open) | Err(_) => None,
        };
        let closed = closed.map(|word| Warning::new(format!("{uri} is {word}: it stays so")));
        let title = match (draft, marker.strip(&pull.title)) {
            (true, None) => marked(marker, &pull.title)?,
            (false, Some(title)) => title.to_owned(),
            _ => {
                let is = if draft { "a draft" } else { "ready" };
                let warning = Warning::new(format!("{uri} is {is} already"));
                return self.unchanged_pull(&located, warning).await;
            }
        };
        let undeclared = self.undeclared(&located.repository).await?;
        let mut record = self
            .edit_record(undeclared, &pull.uri, Some(pull.record.cid()), |value| {
                value.insert(self.fields().title.to_string(), json!(title));
                Ok(())
            })
            .await?;
        let told = self
            .ingestion_of_edit(&located.repository, Seen::Pull(&pull.target), &record)
            .await;
        record.cid = Some(told.cid);
        let located = LocatedPull {
            pull: TangledPull::parse(record, self.fields())?,
            ..located
        };
        let mut outcome = Outcome::immediate(self.view_fresh(&located, PrFields::NONE).await?);
        outcome.ingestion = told.ingestion;
        outcome.warnings.extend(closed);
        Ok(outcome)
    }
}

fn marked(marker: &DraftMarker, title: &str) -> Result<String> {
    let title = marker.add_to(title);
    Ok(LIMITS.check_title(&title)?.to_owned())
}
