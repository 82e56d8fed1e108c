use serde::Serialize;

use crate::Timestamp;

/// Where a check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It passed.
    Success,
    /// It failed, timed out, could not start, or wants somebody to act.
    Failure,
    /// It has not finished.
    Pending,
    /// It did not run, or its result does not count.
    Skipped,
    /// It was cancelled.
    Cancelled,
}

/// One check run or commit status, the newest of its name.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub status: CheckStatus,
    /// The forge's own word for how far a check run is, upper case (`QUEUED`, `COMPLETED`); `None`
    /// for a commit status, which has a result alone.
    pub progress: Option<String>,
    /// The forge's own word for the result, upper case.
    pub conclusion: Option<String>,
    /// The workflow it belongs to.
    pub workflow: Option<String>,
    /// What set it off (`push`, `pull_request`).
    pub event: Option<String>,
    /// Its page.
    pub url: Option<String>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it finished.
    pub completed_at: Option<Timestamp>,
    /// One line on the result, or on why it failed.
    pub summary: Option<String>,
    /// The base branch requires it; `None` where the forge does not say.
    pub required: Option<bool>,
}

/// What the checks of a commit add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckRollup {
    /// All that count passed.
    Success,
    /// At least one failed.
    Failure,
    /// None failed and at least one has not finished.
    Pending,
    /// There is none.
    Neutral,
}

/// The checks of a pull request's head.
#[derive(Clone, Debug, Serialize)]
pub struct ChecksReport {
    /// The commit.
    pub commit: String,
    /// What they add up to.
    pub overall: CheckRollup,
    /// Each, failed first, then by name.
    pub checks: Vec<Check>,
}

impl ChecksReport {
    /// From every check of a commit: of each name, workflow and event the one that started last is
    /// kept, since the others are earlier runs; failed ones come first.
    #[must_use]
    pub fn of(commit: String, checks: Vec<Check>) -> Self {
        let checks = ordered(newest(checks));
        Self {
            commit,
            overall: CheckRollup::of(&checks),
            checks,
        }
    }
}

impl CheckRollup {
    /// A cancelled check has not passed; skipped ones do not count.
    fn of(checks: &[Check]) -> Self {
        let any = |wanted: &[CheckStatus]| checks.iter().any(|c| wanted.contains(&c.status));
        if checks.is_empty() {
            Self::Neutral
        } else if any(&[CheckStatus::Failure, CheckStatus::Cancelled]) {
            Self::Failure
        } else if any(&[CheckStatus::Pending]) {
            Self::Pending
        } else {
            Self::Success
        }
    }
}

fn newest(checks: Vec<Check>) -> Vec<Check> {
    let mut kept: Vec<Check> = Vec::new();
    for check in checks {
        let key = |c: &Check| (c.name.clone(), c.workflow.clone(), c.event.clone());
        match kept.iter_mut().find(|k| key(k) == key(&check)) {
            Some(old) if check.started_at >= old.started_at => *old = check,
            Some(_) => {}
            None => kept.push(check),
        }
    }
    kept
}

/// Failed first, then by name, and by workflow and event where names are equal.
fn ordered(mut checks: Vec<Check>) -> Vec<Check> {
    checks.sort_by_cached_key(|c| {
        let rank = match c.status {
            CheckStatus::Failure => 0,
            CheckStatus::Cancelled => 1,
            CheckStatus::Pending => 2,
            CheckStatus::Success => 3,
            CheckStatus::Skipped => 4,
        };
        (rank, c.name.clone(), c.workflow.clone(), c.event.clone())
    });
    checks
}
