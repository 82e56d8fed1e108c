//! Stacked pull requests. The base branch of the upper pull request is the head branch of the lower
//! one. When the lower pull request is merged, the base branch of the upper one changes to the base
//! branch of the lower one.

use forge_core::{
    Action, Arg, Error, Hint, Op, Param, Precondition, Result, Step, Warning,
    model::{CreatePull, EditPull, MergeMethod, PrState, StateFilter},
    text,
};
use forge_git::CatFile;

use super::{ScanStep, require_open, warning_of};
use crate::{
    Local,
    store::{PullRead, Snapshot, StoredPull},
};

/// Result of changing the base of dependent pull requests.
#[derive(Debug, Default)]
pub(crate) struct Retargeted {
    /// A step for each dependent pull request.
    pub steps: Vec<Step>,
    /// A warning for each base that could not be changed. Its hint is the call that changes the
    /// base.
    pub warnings: Vec<Warning>,
}

impl Local {
    /// Returns the pull request that `req` depends on, if any.
    pub(super) async fn below(
        &self,
        cat: &mut CatFile,
        req: &CreatePull,
    ) -> Result<Option<StoredPull>> {
        let Some(id) = &req.depends_on else {
            return Ok(None);
        };
        let below = self.store.read(cat, self.number(id)?).await?;
        require_open(&below, "only an open pull request can have another on top")?;
        let branch = &below.snapshot.head_branch;
        match &req.base {
            Some(base) if base != branch => Err(Error::invalid(
                "base",
                format!(
                    "a pull request on top of #{} must have the base branch '{}', not '{}'",
                    below.number,
                    text::one_line(branch),
                    text::one_line(base)
                ),
            )
            .with_hint(
                Hint::new(
                    "leave the base branch out, or open the pull request without a dependency",
                )
                .with_action(Action::again(&[(Param::Base, Arg::Omit)])),
            )),
            _ => Ok(Some(below)),
        }
    }

    /// Returns the pull request below `pull` in the stack, if both are open.
    pub(crate) async fn open_below(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<Option<StoredPull>> {
        Ok(self
            .found_below(cat, pull)
            .await?
            .filter(StoredPull::is_open))
    }

    /// Returns the pull request below `pull` in the stack, if `pull` is open. Returns `None` if the
    /// base branch of `pull` has changed since, so that the two are no longer stacked.
    async fn found_below(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<Option<StoredPull>> {
        let Some(number) = pull.snapshot.depends_on.filter(|_| pull.is_open()) else {
            return Ok(None);
        };
        let base = &pull.snapshot.base_branch;
        match self.store.read_many(cat, &[number]).await?.pop() {
            Some(PullRead::Pull(below)) if below.snapshot.head_branch == *base => Ok(Some(*below)),
            Some(PullRead::Broken(e)) => Err(e),
            _ => Ok(None),
        }
    }

    /// Fails if the pull request below `pull` is still open, or is merged but its head branch is
    /// still the base of `pull`.
    pub(crate) async fn check_below(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        method: MergeMethod,
    ) -> Result<()> {
        let Some(below) = self.found_below(cat, pull).await? else {
            return Ok(());
        };
        let (number, lower) = (pull.number, below.number);
        let (unmet, why, hint) = match below.snapshot.state {
            PrState::Open => (
                Precondition::Stacked,
                format!("cannot merge #{number}: it builds on #{lower}, which is open"),
                Hint::from(format!("merge #{lower} first")).with_action(
                    Action::op(Op::PrMerge)
                        .on(lower)
                        .with(Param::Method, method.as_str()),
                ),
            ),
            PrState::Merged => (
                Precondition::Rule,
                format!(
                    "cannot merge #{number}: its base is the branch of #{lower}, which is already \
                     merged"
                ),
                change_base(number, &below.snapshot.base_branch),
            ),
            PrState::Closed => return Ok(()),
        };
        Err(Error::precondition(unmet, why).with_hint(hint))
    }

    /// Returns the numbers of the open pull requests that depend on `pull` and have its head branch
    /// as base, in order, and the error that ended the search early.
    pub(super) async fn read_dependents(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> (Vec<u64>, Option<Error>) {
        let from = &pull.snapshot.head_branch;
        let on_top = |s: &Snapshot| {
            s.state == PrState::Open && s.depends_on == Some(pull.number) && s.base_branch == *from
        };
        let mut found = Vec::new();
        let scan = self.scan(cat, StateFilter::Open, on_top, |other| {
            found.push(other.number);
            ScanStep::Continue
        });
        let scanned = Box::pin(scan).await;
        found.sort_unstable();
        (found, scanned.err())
    }

    /// Changes the base of the pull requests that depend on the merged `pull` to the base branch of
    /// `pull`. The caller must not hold the write lock, because each change acquires it.
    pub(crate) async fn retarget_dependents(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Retargeted {
        let mut followed = Retargeted::default();
        let into = &pull.snapshot.base_branch;
        let (found, unread) = self.read_dependents(cat, pull).await;
        followed.warnings.extend(unread.as_ref().map(warning_of));
        for number in found {
            let mut edit = EditPull::default();
            edit.base = Some(into.clone());
            let edited = Box::pin(self.edit_pull(number, &edit)).await;
            let shown = text::one_line(into);
            let name = format!("give #{number} the base branch '{shown}'");
            followed.steps.push(Step::new(name, edited.is_ok()));
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

/// Returns the hint: set the base branch into which the lower pull request was merged.
fn change_base(number: u64, base: &str) -> Hint {
    let shown = text::one_line(base);
    Hint::from(format!("give #{number} the base branch '{shown}'"))
        .with_action(Action::op(Op::PrEdit).on(number).with(Param::Base, base))
}
