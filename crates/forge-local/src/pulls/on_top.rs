//! A pull request on top of another: its base branch is the other's head branch, and becomes the
//! other's base branch when that one is merged.

use forge_core::{
    Action, Arg, Error, Hint, Op, Param, Precondition, Result, Step, Warning,
    model::{CreatePull, EditPull, MergeMethod, PrState, StateFilter},
    text,
};
use forge_git::CatFile;

use super::{Scan, require_open, warning_of};
use crate::{
    Local,
    store::{Pull, Read, Snapshot},
};

/// What became of the pull requests on top of one that is merged.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// One for each of them.
    pub steps: Vec<Step>,
    /// What could not be done, each with the call that does it.
    pub warnings: Vec<Warning>,
}

impl Local {
    /// What `req` is to be put on top of.
    pub(super) async fn below(&self, cat: &mut CatFile, req: &CreatePull) -> Result<Option<Pull>> {
        let Some(id) = &req.depends_on else {
            return Ok(None);
        };
        let below = self.store.read(cat, self.number(id)?).await?;
        require_open(&below, "nothing can be put on top of it")?;
        let branch = &below.snapshot.head_branch;
        match &req.base {
            Some(base) if base != branch => Err(Error::invalid(
                "base",
                format!(
                    "on top of #{} the base branch is '{}', and not '{}'",
                    below.number,
                    text::one_line(branch),
                    text::one_line(base)
                ),
            )
            .with_hint(
                Hint::new("leave the base branch out, or open it without depending on another")
                    .with_action(Action::again(&[(Param::Base, Arg::Omit)])),
            )),
            _ => Ok(Some(below)),
        }
    }

    /// The open one that `pull`, which is open, is on top of.
    pub(crate) async fn open_below(&self, cat: &mut CatFile, pull: &Pull) -> Result<Option<Pull>> {
        Ok(self.found_below(cat, pull).await?.filter(Pull::is_open))
    }

    /// What `pull`, which is open, was opened on top of, if that one's head branch is its base still.
    async fn found_below(&self, cat: &mut CatFile, pull: &Pull) -> Result<Option<Pull>> {
        let Some(number) = pull.snapshot.depends_on.filter(|_| pull.is_open()) else {
            return Ok(None);
        };
        let base = &pull.snapshot.base_branch;
        match self.store.read_many(cat, &[number]).await?.pop() {
            Some(Read::Pull(below)) if below.snapshot.head_branch == *base => Ok(Some(*below)),
            Some(Read::Broken(e)) => Err(e),
            _ => Ok(None),
        }
    }

    /// Refuses to merge `pull` before what it is on top of, and into the branch of what is merged.
    pub(crate) async fn check_below(
        &self,
        cat: &mut CatFile,
        pull: &Pull,
        method: MergeMethod,
    ) -> Result<()> {
        let Some(below) = self.found_below(cat, pull).await? else {
            return Ok(());
        };
        let (number, lower) = (pull.number, below.number);
        let (unmet, why, hint) = match below.snapshot.state {
            PrState::Open => (
                Precondition::Stacked,
                format!("#{number} is on top of #{lower}, which is open and is merged first"),
                Hint::from(format!("merge #{lower} first")).with_action(
                    Action::op(Op::PrMerge)
                        .on(lower)
                        .with(Param::Method, method.as_str()),
                ),
            ),
            PrState::Merged => (
                Precondition::Rule,
                format!("#{number} goes into the branch of #{lower}, which is merged"),
                change_base(number, &below.snapshot.base_branch),
            ),
            PrState::Closed => return Ok(()),
        };
        Err(Error::precondition(unmet, why).with_hint(hint))
    }

    /// Gives what is on top of `pull`, which is merged, the base branch that it was merged into. The
    /// caller holds no turn: each of them takes its own.
    pub(crate) async fn bring_along(&self, cat: &mut CatFile, pull: &Pull) -> Followed {
        let mut followed = Followed::default();
        let (from, into) = (&pull.snapshot.head_branch, &pull.snapshot.base_branch);
        let on_top = |s: &Snapshot| {
            s.state == PrState::Open && s.depends_on == Some(pull.number) && s.base_branch == *from
        };
        let mut found = Vec::new();
        let scanned = self
            .scan(cat, StateFilter::Open, on_top, |other| {
                found.push(other.number);
                Scan::Goes
            })
            .await;
        if let Err(e) = scanned {
            followed.warnings.push(warning_of(&e));
        }
        for number in found {
            let edit = EditPull {
                base: Some(into.clone()),
                ..EditPull::default()
            };
            let edited = self.edit_pull(number, &edit).await;
            let shown = text::one_line(into);
            followed.steps.push(Step {
                name: format!("give #{number} the base branch '{shown}'"),
                done: edited.is_ok(),
            });
            if let Err(e) = edited {
                let message = format!(
                    "#{number} did not get the base branch '{shown}': {}",
                    e.message()
                );
                followed
                    .warnings
                    .push(Warning::new(message).with_hint(change_base(number, into)));
            }
        }
        followed
    }
}

/// Gives pull request `number` the base branch that those below it were merged into.
fn change_base(number: u64, base: &str) -> Hint {
    let shown = text::one_line(base);
    Hint::from(format!("give #{number} the base branch '{shown}'"))
        .with_action(Action::op(Op::PrEdit).on(number).with(Param::Base, base))
}
