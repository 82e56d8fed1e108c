//! The workflow states of issues that a merge moves, where the configuration keeps such states.

use forge_core::{
    Action, Capability, Changed, Error, ErrorKind, Hint, Op, Repo, Trust,
    model::{Issue, IssueFields, IssueId, IssueReason, IssueState, SetIssueState},
};
use forge_git::Place;
use forge_workflow::{Definition, LabelStore, Policy, Rule, Terminal};

use crate::calls::ServerState;

/// What moves an issue from one state into another.
pub(super) struct States {
    definition: Definition,
    policy: Policy,
    store: LabelStore,
}

/// Why an issue is not where it was to go.
pub(super) struct Stopped {
    pub why: Error,
    /// Whether it has its new label, and is open still.
    pub half_done: bool,
}

impl From<Error> for Stopped {
    fn from(why: Error) -> Self {
        Self {
            why,
            half_done: false,
        }
    }
}

/// What is to be done with one issue.
#[derive(Debug)]
pub(super) struct Move {
    from: String,
    to: String,
    /// Set where it is to be closed with that.
    closes: Option<IssueReason>,
}

impl Move {
    /// `In Review -> Done (closed)`.
    pub fn in_words(&self) -> String {
        let closed = match self.closes {
            Some(_) => " (closed)",
            None => "",
        };
        match self.from == self.to {
            true => format!("{}{closed}", self.to),
            false => format!("{} -> {}{closed}", self.from, self.to),
        }
    }
}

impl States {
    /// Those of the configuration for `repo`; `None` where it has none.
    ///
    /// # Errors
    /// `config` for states that there are not.
    pub async fn of(server: &ServerState, repo: &Repo) -> Result<Option<Self>, Error> {
        let place = Place::at(&server.options().dir, Trust::Guarded);
        let config = server.forges().config_for(&place, repo).await?;
        let Some(prefix) = config.workflow_label_prefix() else {
            return Ok(None);
        };
        let definition = Definition::preset(&config.workflow_preset().unwrap_or_default())?;
        let rule = Rule {
            from: config.workflow_from(),
            only_default_branch: config.workflow_only_default_branch(),
            force: config.workflow_force(),
        };
        Ok(Some(Self {
            policy: Policy::new(&definition, &rule)?,
            store: LabelStore::new(prefix),
            definition,
        }))
    }

    /// Whether a merge into another than the default branch moves nothing.
    pub fn only_default_branch(&self) -> bool {
        self.policy.only_default_branch()
    }

    /// What a merge does with an issue.
    ///
    /// # Errors
    /// With the reason, where it does nothing.
    pub fn plan(&self, issue: &Issue) -> Result<Move, String> {
        let standing = self.store.standing(&self.definition, issue);
        let ended = standing.state().is_some_and(|s| s.terminal.is_some());
        if issue.state == IssueState::Closed && ended && !is_given_up(issue) {
            return Err(format!("it was closed before, as {standing}"));
        }
        self.step(issue)
    }

    /// Why `step` would be one too many for an open issue whose pull request is merged: the merge
    /// may have moved it to where it stands. To close it there is no further step.
    pub fn moved_before(&self, issue: &Issue, step: &Move) -> Option<String> {
        let standing = self.store.standing(&self.definition, issue);
        let further = issue.state == IssueState::Open && step.from != step.to;
        (further && self.policy.leads_to(&standing))
            .then(|| format!("the merge may have moved it to {standing}"))
    }

    /// What is to be done with an issue that is open, or that the merge itself may have closed.
    fn step(&self, issue: &Issue) -> Result<Move, String> {
        let closed = issue.state == IssueState::Closed;
        let standing = self.store.standing(&self.definition, issue);
        if is_given_up(issue) {
            return Err("it was closed, and not because it is done".to_owned());
        }
        let to = self.policy.goal(&self.definition, &standing)?;
        if standing.state() == Some(to) && to.terminal.is_none() {
            return Err(format!("it is {standing} already"));
        }
        if closed && to.terminal.is_none() {
            return Err("it is closed; a state that is not the end needs it open".to_owned());
        }
        Ok(Move {
            from: standing.to_string(),
            to: to.name.clone(),
            closes: to.terminal.map(|end| match end {
                Terminal::Completed => IssueReason::Completed,
                Terminal::Abandoned => IssueReason::NotPlanned,
            }),
        })
    }

    /// Moves an issue, then closes it where that is where it ends. What the forge has closed by then
    /// is not closed again. In this order what stops between the two is open, in a state that ends
    /// it: another call closes it. One that is closed as given up is moved by nobody any more.
    ///
    /// # Errors
    /// `conflict` where it has moved since it was planned, or was closed in a way that leaves nothing
    /// to do; those of the edit and of the closing.
    pub async fn carry_out(&self, repo: &Repo, id: &IssueId, step: &Move) -> Result<(), Stopped> {
        let issue = repo.issue(id, &IssueFields::default()).await?;
        let standing = self.store.standing(&self.definition, &issue).to_string();
        if standing != step.from {
            return Err(Error::new(
                ErrorKind::Conflict {
                    what: Changed::View,
                    expected: step.from.clone(),
                    actual: standing.clone(),
                },
                format!("it went from {} to {standing} meanwhile", step.from),
            )
            .with_hint(Hint::fixed(
                "merge again to look at it anew",
                Action::op(Op::PrMerge),
            ))
            .into());
        }
        if let Err(why) = self.step(&issue) {
            let expected = step.in_words();
            let actual = why.clone();
            let what = Changed::View;
            let kind = ErrorKind::Conflict {
                what,
                expected,
                actual,
            };
            return Err(Error::new(kind, why).into());
        }
        let definition = &self.definition;
        let moved = match definition.state(&step.to) {
            Some(to) => self.store.set(repo, id, &issue, definition, to).await?,
            None => false,
        };
        let Some(reason) = step.closes.filter(|_| issue.state == IssueState::Open) else {
            return Ok(());
        };
        let keeps = repo.client().forge().capabilities();
        let close = SetIssueState {
            reason: keeps.has(Capability::IssueReason).then_some(reason),
            ..SetIssueState::to(IssueState::Closed)
        };
        match repo.set_issue_state(id, &close).await {
            Ok(_) => Ok(()),
            Err(e) if moved => Err(Stopped {
                why: not_closed(&step.to, &e),
                half_done: true,
            }),
            Err(e) => Err(e.into()),
        }
    }
}

/// Why an issue that is in its new state is open still.
fn not_closed(state: &str, e: &Error) -> Error {
    let first = e.hint().map_or(String::new(), |hint| format!("{hint}; "));
    Error::new(
        e.kind().clone(),
        format!(
            "it is {state} now, and could not be closed: {}",
            e.message()
        ),
    )
    .with_hint(
        Hint::from(format!("{first}merge again to close it")).with_action(Action::op(Op::PrMerge)),
    )
}

/// Whether an issue was closed without being done.
fn is_given_up(issue: &Issue) -> bool {
    let why = issue.state_reason;
    issue.state == IssueState::Closed
        && matches!(why, Some(IssueReason::NotPlanned | IssueReason::Duplicate))
}
