//! Closing and reopening an issue: a state record in the account of whoever does it.

use forge_core::{
    Capability, Ingestion, Outcome, Result, Warning,
    model::{Issue, IssueFields, IssueId, IssueState, PrState, SetIssueState},
};
use futures::future;
use serde_json::json;

use super::view::Located;
use crate::{
    Era, Tangled, caps,
    ingest::{Seen, worse},
    kinds,
    pulls::{
        state::Standing,
        status::{self, Words},
    },
    records::NewRecord,
    ticket_writes::{changed_on_the_way, done, learned_word},
    write,
};

impl Tangled {
    /// See [`forge_core::Issues::set_issue_state`].
    pub(super) async fn close_or_reopen(
        &self,
        id: &IssueId,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        if req.reason.is_some() {
            return Err(caps::refusal(Capability::IssueReason));
        }
        let located = self.locate_issue(id).await?;
        if located.repository.era == Era::Org10 {
            return self.set_ticket_issue(&located, req).await;
        }
        self.speaks_2026(&located.repository, Capability::IssueState)?;
        let record = &located.issue.record;
        self.may_set(&located.repository, &record.uri, &located.issue.author)
            .await?;
        let standing = self.issue_standing(&located).await?;
        if standing.state == wanted(req.state) {
            let view = self.view_issue_fresh(&located).await?;
            return Ok(Outcome::unchanged(view, already(&record.uri, req.state)));
        }
        let mut commented = Ingestion::Immediate;
        if let Some(comment) = &req.comment {
            let said = self.comment_about(record, None, comment, None).await?;
            commented = said.ingestion;
        }
        let mut outcome = self
            .write_issue_state(&located, req.state, standing)
            .await?;
        outcome.ingestion = worse(outcome.ingestion, commented);
        Ok(outcome)
    }

    /// The state of an issue, by the index's records, and those of the accounts that may set it,
    /// which the index may not have yet.
    async fn issue_standing(&self, located: &Located) -> Result<Standing> {
        let Located {
            repository, issue, ..
        } = located;
        let uri = issue.record.uri.as_str();
        let accounts = self.known_accounts(repository, Some(&issue.author)).await;
        let names = &self.settings.dialects;
        let kind = kinds::issue_states(names);
        let (found, [fresh]) = future::join(
            self.about(&kind, uri, future::ready(accounts.clone())),
            self.fresh([&kind], uri, &accounts),
        )
        .await;
        let writers = self.writers(repository).await;
        let all = fresh.over(found?.value);
        let words = Words::of_issues(&names.sh);
        let statuses = status::read_as(words, all, uri, &issue.author, &writers);
        Ok(Standing::of(&statuses))
    }

    /// Writes the state, later than the one that decides now, and waits for it to be seen.
    async fn write_issue_state(
        &self,
        located: &Located,
        state: IssueState,
        before: Standing,
    ) -> Result<Outcome<Issue>> {
        let names = &self.settings.dialects.sh;
        let [open, closed] = &names.issue_states;
        let uri = located.issue.record.uri.as_str();
        let record = write::checked(NewRecord::new(
            &names.issue_state,
            json!({
                "$type": names.issue_state,
                "issue": uri,
                "state": if state == IssueState::Open { open } else { closed },
                "createdAt": write::now_or_after(before.decided),
            }),
        ))?;
        let did = self.session.viewer().await?.identity.did.clone();
        let cids = self.create_records(std::slice::from_ref(&record)).await?;
        let written = record.written(&did, cids);
        let seen = Seen::About(kinds::issue_states(&self.settings.dialects), uri);
        let told = self.ingestion(seen, &written).await;
        let mut outcome = Outcome::immediate(self.view_issue_fresh(located).await?);
        outcome.ingestion = told.ingestion;
        Ok(outcome)
    }

    /// Closes or reopens a ticket. How this repository spells a closed issue is learned from its
    /// tickets.
    async fn set_ticket_issue(
        &self,
        located: &Located,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        let (repository, ticket) = (&located.repository, &located.issue.record);
        let before = self.view_issue(located, IssueFields::default()).await?;
        if before.state == req.state {
            return Ok(Outcome::unchanged(before, already(&ticket.uri, req.state)));
        }
        if let Some(comment) = &req.comment {
            self.comment_in_account(repository, ticket.rkey(), comment, None)
                .await?;
        }
        let word = match req.state {
            IssueState::Open => "open".to_owned(),
            IssueState::Closed => {
                let (others, _) = self.issue_tickets(repository).await?;
                learned_word(others.iter().map(|o| &o.record), PrState::Closed)
            }
        };
        self.change_ticket(repository, ticket, None, |map| {
            map.insert("state".to_owned(), json!(word));
        })
        .await?;
        let repository = std::sync::Arc::clone(repository);
        let again = self.read_back_issue(repository, &located.issue.uri).await?;
        if again.issue.record.text("state") != Some(word.as_str()) {
            return Err(changed_on_the_way(&ticket.uri, "the state"));
        }
        Ok(done(self.view_issue(&again, IssueFields::default()).await?))
    }
}

fn wanted(state: IssueState) -> PrState {
    match state {
        IssueState::Open => PrState::Open,
        IssueState::Closed => PrState::Closed,
    }
}

fn already(uri: &str, state: IssueState) -> Warning {
    let word = match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    };
    Warning::new(format!("{uri} is {word} already"))
}
