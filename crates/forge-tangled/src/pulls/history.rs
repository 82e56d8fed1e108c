//! The status history: every status record, with who wrote it and whether it counts.

use forge_core::{
    Page, PageReq, PrId, Result, Warning,
    model::{PrState, StatusEvent, StatusEventKind},
};

use super::status::{self, Status};
use crate::{Era, Tangled, kinds, page, skipped};

impl Tangled {
    /// See [`forge_core::PullRequests::history`].
    pub(crate) async fn history_of(&self, pr: &PrId, req: PageReq) -> Result<Page<StatusEvent>> {
        let located = self.locate(pr).await?;
        let (repository, pull) = (&located.repository, &located.pull);
        let uri = pull.record.uri.as_str();
        let names = &self.settings.dialects;
        // A ticket of 1.0 holds its state and not how it came to it.
        let (statuses, warnings) = if repository.era == Era::Org10 {
            let why = "a ticket of Tangled 1.0 does not say when it was closed, merged or reopened";
            (Vec::new(), vec![Warning::new(why)])
        } else {
            let accounts = self.known_accounts(repository, Some(pull.author()));
            let found = self.about(&kinds::statuses(names), uri, accounts).await?;
            let writers = self.writers(repository).await;
            let mut warnings = found.warnings;
            warnings.extend(skipped::told(&found.value, |r| status::broken(r, names)));
            let read = status::read(found.value, uri, pull.author(), &writers, names);
            (read, warnings)
        };
        let mut events = vec![StatusEvent {
            id: uri.to_owned(),
            kind: StatusEventKind::Opened,
            actor: self.actor(pull.author()).await,
            created_at: pull.created_at,
            authority: Some(status::Authority::Author.word().to_owned()),
            detail: None,
        }];
        for (number, round) in pull.rounds.iter().enumerate().skip(1) {
            events.push(StatusEvent {
                id: format!("{uri}#round-{number}"),
                kind: StatusEventKind::HeadChanged,
                actor: self.actor(pull.author()).await,
                created_at: round.created_at.unwrap_or(pull.created_at),
                authority: Some(status::Authority::Author.word().to_owned()),
                detail: Some(format!("round {number}")),
            });
        }
        let mut before = PrState::Open;
        for status in &statuses {
            let Some(kind) = kind(status, &mut before) else {
                continue;
            };
            events.push(StatusEvent {
                id: status.uri.clone(),
                kind,
                actor: self.actor(&status.author).await,
                created_at: status.at,
                authority: Some(status.authority.map_or("none", |a| a.word()).to_owned()),
                detail: detail(status),
            });
        }
        events.sort_by_key(|e| e.created_at);
        let mut page = page::of("tangled-history", uri, events, &req)?;
        page.warnings = warnings;
        Ok(page)
    }
}

/// What a status did to the state before it; `None` for the opening one, which repeats what the
/// record says.
fn kind(status: &Status, before: &mut PrState) -> Option<StatusEventKind> {
    let Some(state) = status.state else {
        return Some(StatusEventKind::Edited);
    };
    let kind = match state {
        PrState::Open if *before == PrState::Open => return None,
        PrState::Open => StatusEventKind::Reopened,
        PrState::Closed => StatusEventKind::Closed,
        PrState::Merged => StatusEventKind::Merged,
    };
    if status.authority.is_some() {
        *before = state;
    }
    Some(kind)
}

fn detail(status: &Status) -> Option<String> {
    if status.state.is_none() {
        let token = forge_core::text::one_line(&status.token).into_owned();
        return Some(format!("the status '{token}', which changes nothing"));
    }
    status
        .authority
        .is_none()
        .then(|| "does not count: the account may not set the state".to_owned())
}
