//! The workflow engine of one repository: reads issues, decides, and moves them.

mod advance;
mod claim;
mod group;
mod init;
mod merge;
mod pick;
mod race;
mod set_state;

use forge_core::{
    Action, Call, Changed, Error, ErrorKind, Hint, Param, Repo, Timestamp,
    model::{EditIssue, Issue, IssueFields, IssueId, IssueReason, IssueState},
};

pub use advance::{AdvanceReport, AdvancedIssue, FailedIssue};
pub use claim::{ClaimRequest, DEFAULT_LEASE_S};
pub use group::GroupView;
pub use init::InitReport;
pub use merge::{
    LeftIssue, MAX_LINKED_ISSUES, MergeEffects, MergePlan, MergeReport, MergeStep, linked_issues,
};
pub use pick::{PickRequest, PickResult};
pub use set_state::{MoveRequest, StateChange};

use crate::{
    Claim, ClaimGuarantee, CommentLedger, Definition, Ledger, Member, State, Store, Terminal,
    store::{member_of, state_name},
};

/// Maximum number of attempts for a write that conflicts with other writers.
const MAX_ATTEMPTS: usize = 12;
/// Maximum number of concurrent reads or writes.
const MAX_CONCURRENT_REQUESTS: usize = 4;

/// A workflow engine for one repository.
#[derive(Debug)]
pub struct Workflow {
    repo: Repo,
    definition: Definition,
    store: Box<dyn Store>,
    ledger: Box<dyn Ledger>,
}

impl Workflow {
    /// Creates an engine for `repo` that stores states in `store` and audit trails in comments.
    #[must_use]
    pub fn new(repo: Repo, definition: Definition, store: Box<dyn Store>) -> Self {
        let ledger = CommentLedger::new(repo.clone(), store.board().cloned())
            .with_bots(definition.bots.clone());
        Self {
            repo,
            definition,
            store,
            ledger: Box::new(ledger),
        }
    }

    /// Replaces the ledger, for example with a database that several agents share.
    #[must_use]
    pub fn with_ledger(mut self, ledger: Box<dyn Ledger>) -> Self {
        self.ledger = ledger;
        self
    }

    /// Returns the definition.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns the repository.
    #[must_use]
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Returns the store of states.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Returns the guarantee that this ledger gives for claims.
    #[must_use]
    pub fn promise(&self) -> ClaimGuarantee {
        self.ledger.promise()
    }

    /// Returns which parts of an issue the decisions need: its relations and its board fields.
    fn fields(&self) -> IssueFields {
        let mut fields = IssueFields::RELATIONS;
        fields.board = self.store.board().cloned();
        fields
    }

    fn member(&self, issue: &Issue) -> Member {
        member_of(self.store.as_ref(), &self.definition, issue)
    }

    /// Returns the name of the state of an issue; `None` if the issue has no state.
    #[must_use]
    pub fn state_of(&self, issue: &Issue) -> Option<String> {
        state_name(self.store.as_ref(), &self.definition, issue)
    }

    /// Returns the edit that moves `issue` to `state`. It also closes or reopens the issue if the
    /// state requires this.
    fn edit_to(&self, issue: &Issue, state: &State) -> EditIssue {
        let mut edit = EditIssue::default();
        let states = self.store.states(&self.definition, issue);
        if states.as_slice() != [state.name.clone()] {
            self.store
                .put_state(&self.definition, issue, state, &mut edit);
        }
        match (state.terminal, issue.state) {
            (Some(end), IssueState::Open) => {
                edit.state = Some(IssueState::Closed);
                let reason = match end {
                    Terminal::Completed => IssueReason::Completed,
                    Terminal::Abandoned => IssueReason::NotPlanned,
                };
                let keeps = self.repo.supports(forge_core::Capability::IssueReason);
                edit.reason = keeps.then_some(reason);
            }
            (None, IssueState::Closed) => edit.state = Some(IssueState::Open),
            _ => {}
        }
        edit
    }
}

/// Returns the error for an issue that another holder has claimed.
fn held(id: &IssueId, what: &str, claim: &Claim) -> Error {
    let kind = ErrorKind::Conflict {
        what: Changed::Record,
        expected: "no claim".to_owned(),
        actual: claim.holder.clone(),
    };
    let holder = forge_core::text::one_line(&claim.holder);
    let message = format!(
        "cannot {what} {}: {holder} holds it for {} until {}, unless the lease is renewed",
        crate::member::short(id),
        forge_core::text::one_line(&claim.command),
        claim.expires_at(),
    );
    let hint = match what {
        "move" => Hint::new(
            "pass the id of the claim if you hold it; otherwise pick another issue, wait for the \
             lease to end, or use force with a reason",
        )
        .with_action(Action::again(&[]).choose(Param::Claim)),
        _ => Hint::new("pick another issue, wait for the lease to end, or use force with a reason"),
    };
    Error::new(kind, message)
        .with_hint(hint)
        .with_context("holder", claim.holder.clone())
}

/// Returns the error for a caller's claim that has ended.
fn claim_lost_error(id: &IssueId, mine: &str, now: Option<&Claim>) -> Error {
    let actual = now.map_or_else(|| "no claim".to_owned(), |claim| claim.holder.clone());
    let kind = ErrorKind::Conflict {
        what: Changed::Record,
        expected: mine.to_owned(),
        actual: actual.clone(),
    };
    let now = match now {
        Some(claim) => format!("{} holds it now", forge_core::text::one_line(&claim.holder)),
        None => "nobody holds it now".to_owned(),
    };
    let message = format!(
        "the claim {} on {} is over: {now}",
        forge_core::text::one_line(mine),
        crate::member::short(id)
    );
    Error::new(kind, message)
        .with_hint("stop working on the issue, and claim it again or pick another one")
        .with_context("holder", actual)
}

/// Adds a recovery to an error about a missing field, option or label.
#[must_use]
pub fn with_setup(e: Error) -> Error {
    let is_missing = matches!(
        e.kind(),
        ErrorKind::InvalidInput {
            field: Some("values" | "labels")
        }
    );
    let Some(names) = e.hint().filter(|_| is_missing) else {
        return e;
    };
    let text = format!("{}; or create what the workflow needs", names.text());
    e.with_hint(Hint::from(text).with_action(Action::new(Call::WorkflowInit)))
}

/// Returns the hint of an error about one issue, for a call that is about several issues. Drops an
/// action that repeats the call or calls an operation, because the target of that call would not be
/// this issue.
fn hint_of_one(e: &Error) -> Option<Hint> {
    let hint = e.hint()?;
    Some(match hint.action().map(Action::call) {
        Some(Call::Again | Call::Op(_)) => Hint::from(hint.text()),
        _ => hint.clone(),
    })
}

fn too_many_conflicts(id: &IssueId) -> Error {
    let kind = ErrorKind::Conflict {
        what: Changed::Record,
        expected: "an unchanged issue".to_owned(),
        actual: "others changed it".to_owned(),
    };
    let id = crate::member::short(id);
    Error::new(
        kind,
        format!("others changed {id} {MAX_ATTEMPTS} times in a row; nothing was written"),
    )
    .with_hint("try again")
    .with_retry(forge_core::Retry::Transient)
}

/// Returns the time of this machine's clock.
fn now() -> Timestamp {
    Timestamp::now()
}
