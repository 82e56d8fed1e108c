//! The status history: every status record, with who wrote it and whether it counts.

use forge_core::{
    Page, PageReq, PrId, Result, Warning,
    model::{PrState, StatusEvent, StatusEventKind},
};

use super::{
    record::TangledPull,
    status::{self, Status},
};
use crate::{Era, Tangled, malformed, page, related_records};

impl Tangled {
    /// See [`forge_core::PullRequests::history`].
    pub(crate) async fn history_of(&self, pr: &PrId, req: PageReq) -> Result<Page<StatusEvent>> {
        let located = self.locate(pr).await?;
        let (repository, pull) = (&located.repository, &located.pull);
        let uri = pull.record.uri.as_str();
        let names = &self.settings.dialects;
        // A ticket (a pull request of Tangled 1.0) has its current state but no state history.
        let (statuses, warnings) = if repository.era == Era::Org10 {
            let why = "a ticket of Tangled 1.0 does not record when it was closed, merged or \
                       reopened";
            (Vec::new(), vec![Warning::new(why)])
        } else {
            let accounts = self.known_accounts(repository, Some(pull.author()));
            let mut found = self
                .about(&related_records::statuses(names), uri, accounts)
                .await;
            let mut writers = self.writers(repository).await;
            self.confirm_states(&mut found, &mut writers).await;
            let found = found?;
            let mut warnings = found.warnings;
            warnings.extend(writers.doubt.clone());
            warnings.extend(malformed::malformed_warnings(&found.value, |r| {
                status::broken(r, names)
            }));
            let read = status::read(found.value, uri, pull.author(), &writers, names);
            (read, warnings)
        };
        let authors = statuses.iter().map(|status| status.author.clone());
        self.learn_names(authors.collect()).await;
        let opening = opening(pull, &statuses);
        let actor = self.actor(pull.author()).await;
        let mut opened = StatusEvent::new(uri, StatusEventKind::Opened, actor, pull.created_at);
        opened.authority = Some(status::Authority::Author.word().to_owned());
        opened.detail = opening.map(|s| format!("its status record is {}", s.uri));
        let mut events = vec![opened];
        for (number, round) in pull.rounds.iter().enumerate().skip(1) {
            let id = format!("{uri}#round-{number}");
            let actor = self.actor(pull.author()).await;
            let at = round.created_at.unwrap_or(pull.created_at);
            let mut event = StatusEvent::new(id, StatusEventKind::HeadChanged, actor, at);
            event.authority = Some(status::Authority::Author.word().to_owned());
            event.detail = Some(format!("round {number}"));
            events.push(event);
        }
        let mut before = PrState::Open;
        let opening = opening.map(|s| s.uri.as_str());
        for status in statuses.iter().filter(|s| opening != Some(s.uri.as_str())) {
            let kind = kind(status, &mut before);
            let actor = self.actor(&status.author).await;
            let mut event = StatusEvent::new(&status.uri, kind, actor, status.at);
            event.authority = Some(status.authority.map_or("none", |a| a.word()).to_owned());
            let is_backfilled = status.is_backfilled(&pull.record);
            event.detail = detail(status, kind, is_backfilled);
            events.push(event);
        }
        events.sort_by_key(|e| e.created_at);
        let mut page = page::of("tangled-history", uri, events, &req)?;
        page.warnings = warnings;
        page.warnings.extend(repository.doubt());
        Ok(page)
    }
}

/// Maximum time between a pull request and the status that was written with it, in seconds.
const TOGETHER: u64 = 60;

/// Returns the status that was written together with the pull request. This status adds no event,
/// because it says only that the pull request is open.
fn opening<'a>(pull: &TangledPull, statuses: &'a [Status]) -> Option<&'a Status> {
    let first = statuses
        .iter()
        .find(|s| s.authority.is_some() && s.state.is_some())?;
    let apart = first.at.unix().abs_diff(pull.created_at.unix());
    let opens = first.state == Some(PrState::Open) && first.author == pull.author();
    (opens && apart <= TOGETHER).then_some(first)
}

/// Returns the kind of event for a status that follows the state `before`. Sets `before` to the new
/// state.
pub(crate) fn kind(status: &Status, before: &mut PrState) -> StatusEventKind {
    let kind = match status.state {
        None => return StatusEventKind::Edited,
        Some(PrState::Open) if *before == PrState::Open => return StatusEventKind::Edited,
        Some(PrState::Open) => StatusEventKind::Reopened,
        Some(PrState::Closed) => StatusEventKind::Closed,
        Some(PrState::Merged) => StatusEventKind::Merged,
    };
    if status.authority.is_some() {
        *before = status.state.unwrap_or(*before);
    }
    kind
}

/// Returns the text of an event for a status. The time of a backfilled status tells nothing.
pub(crate) fn detail(
    status: &Status,
    kind: StatusEventKind,
    is_backfilled: bool,
) -> Option<String> {
    let mut said = Vec::new();
    if is_backfilled {
        said.push("written later; when it happened is unknown".to_owned());
    }
    if kind == StatusEventKind::Edited {
        let token = forge_core::text::one_line(&status.token);
        said.push(format!("the status '{token}', which changes nothing"));
    }
    if status.authority.is_none() {
        said.push("does not count: the account may not set the state".to_owned());
    }
    (!said.is_empty()).then(|| said.join("; "))
}
