use serde::Serialize;

use crate::Timestamp;

/// State of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The check passed.
    Success,
    /// The check failed, timed out, could not start, or needs action.
    Failure,
    /// The check has not finished.
    Pending,
    /// The check did not run, or its result does not matter.
    Skipped,
    /// The check was cancelled.
    Cancelled,
}

/// A check run or commit status. If there are several with the same name, this is the newest.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// The forge's internal id, which [`Checks::check_reasons`](crate::Checks::check_reasons) uses.
    /// Empty if there is none.
    #[serde(skip)]
    pub id: String,
    /// Name.
    pub name: String,
    /// State.
    pub status: CheckStatus,
    /// Progress of a check run in the forge's words, upper case (`QUEUED`, `COMPLETED`). `None` for
    /// a commit status, which has only a result.
    pub progress: Option<String>,
    /// Result in the forge's words, upper case.
    pub conclusion: Option<String>,
    /// Name of the workflow that runs the check.
    pub workflow: Option<String>,
    /// Event that triggered the workflow (`push`, `pull_request`).
    pub event: Option<String>,
    /// URL of the check's page, set by the creator of the check.
    pub url: Option<String>,
    /// URL of the workflow run to which the forge assigns the check.
    #[serde(skip)]
    pub run_url: Option<String>,
    /// Start time.
    pub started_at: Option<Timestamp>,
    /// End time.
    pub completed_at: Option<Timestamp>,
    /// Short text about the result or the failure.
    pub summary: Option<String>,
    /// True if the base branch requires the check; `None` if the forge does not report it.
    pub required: Option<bool>,
    /// Id of the app that runs the check, in the forge's database, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<u64>,
}

impl Check {
    /// Builds a check from its name and state.
    pub fn new(name: impl Into<String>, status: CheckStatus) -> Self {
        Self {
            id: String::new(),
            name: name.into(),
            status,
            progress: None,
            conclusion: None,
            workflow: None,
            event: None,
            url: None,
            run_url: None,
            started_at: None,
            completed_at: None,
            summary: None,
            required: None,
            app: None,
        }
    }
}

/// The end of a check's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckLog {
    /// The last whole lines; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// True if earlier lines are left out.
    pub cut: bool,
}

impl CheckLog {
    /// Keeps the last whole lines of `bytes` that fit into `most` bytes. If the last line alone is
    /// longer, keeps its end. Pass `cut` as true if something before `bytes` was already left out.
    #[must_use]
    pub fn end_of(bytes: &[u8], most: usize, cut: bool) -> Self {
        let from = bytes.len().saturating_sub(most);
        let end = bytes.get(from..).unwrap_or_default();
        let inside = from > 0 || cut;
        let begins_a_line = from > 0 && bytes.get(from - 1) == Some(&b'\n');
        let line = end.iter().position(|b| *b == b'\n').map(|at| at + 1);
        let end = match line {
            Some(at) if inside && !begins_a_line && at < end.len() => {
                end.get(at..).unwrap_or_default()
            }
            _ => end,
        };
        Self {
            text: String::from_utf8_lossy(end).into_owned(),
            cut: inside,
        }
    }
}

/// Combined state of the checks of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckRollup {
    /// All checks passed, were skipped or are neutral.
    Success,
    /// At least one check failed.
    Failure,
    /// No check failed and at least one has not finished.
    Pending,
    /// There are no checks.
    Neutral,
}

/// Number of checks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckCounts {
    /// Checks that block nothing: passed, skipped and neutral.
    pub success: u64,
    /// Failed and cancelled checks.
    pub failure: u64,
    /// Unfinished checks.
    pub pending: u64,
    /// Skipped checks. `success` includes them.
    pub skipped: u64,
    /// Neutral checks, whose result does not matter. `success` includes them.
    pub neutral: u64,
    /// Sum of `success`, `failure` and `pending`.
    pub total: u64,
}

impl CheckCounts {
    fn of(checks: &[Check]) -> Self {
        let mut counts = Self::default();
        for check in checks {
            counts.total += 1;
            match check.status {
                CheckStatus::Success => counts.success += 1,
                CheckStatus::Failure | CheckStatus::Cancelled => counts.failure += 1,
                CheckStatus::Pending => counts.pending += 1,
                CheckStatus::Skipped => {
                    counts.success += 1;
                    match check.conclusion.as_deref() {
                        Some("NEUTRAL") => counts.neutral += 1,
                        _ => counts.skipped += 1,
                    }
                }
            }
        }
        counts
    }
}

/// The checks of a pull request's head commit.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChecksReport {
    /// Head commit.
    pub commit: String,
    /// Combined state. Never success if `truncated` is true.
    pub overall: CheckRollup,
    /// Number of the checks in [`Self::checks`], by state.
    pub counts: CheckCounts,
    /// True if some checks could not be read.
    pub truncated: bool,
    /// The checks: failed ones first, then by name.
    pub checks: Vec<Check>,
}

impl ChecksReport {
    /// Builds a report from all checks of a commit. Failed checks come first.
    ///
    /// Of several checks with the same name, workflow, event and app, only the one that started
    /// last is kept. A commit status never replaces a check run.
    #[must_use]
    pub fn of(commit: String, checks: Vec<Check>) -> Self {
        let checks = ordered(newest(checks));
        Self {
            commit,
            overall: CheckRollup::of(&checks),
            counts: CheckCounts::of(&checks),
            truncated: false,
            checks,
        }
    }

    /// Marks the report as incomplete. The combined state becomes pending unless it is a failure,
    /// because a check that was not read may have failed or be unfinished.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.truncated = true;
        if self.overall != CheckRollup::Failure {
            self.overall = CheckRollup::Pending;
        }
        self
    }
}

impl CheckRollup {
    /// Combines the states of all checks. A cancelled check counts as failed; skipped checks are
    /// ignored.
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
        let is_run = |c: &Check| c.progress.is_some();
        let is_same = |k: &&mut Check| {
            (&k.name, &k.workflow, &k.event, k.app)
                == (&check.name, &check.workflow, &check.event, check.app)
                && is_run(k) == is_run(&check)
        };
        match kept.iter_mut().find(is_same) {
            Some(old) if check.started_at >= old.started_at => *old = check,
            Some(_) => {}
            None => kept.push(check),
        }
    }
    kept
}

/// Sorts failed checks first, then by name, workflow and event.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, status: CheckStatus, conclusion: Option<&str>) -> Check {
        Check {
            conclusion: conclusion.map(str::to_owned),
            ..Check::new(name, status)
        }
    }

    #[test]
    fn r_000_6_checks_are_counted_by_result() {
        let report = ChecksReport::of(
            "abc".to_owned(),
            vec![
                check("a", CheckStatus::Success, Some("SUCCESS")),
                check("b", CheckStatus::Skipped, Some("SKIPPED")),
                check("c", CheckStatus::Skipped, Some("NEUTRAL")),
                check("d", CheckStatus::Cancelled, Some("CANCELLED")),
                check("e", CheckStatus::Failure, None),
                check("f", CheckStatus::Pending, None),
                check("f", CheckStatus::Pending, None),
            ],
        );
        let counts = CheckCounts {
            success: 3,
            failure: 2,
            pending: 1,
            skipped: 1,
            neutral: 1,
            total: 6,
        };
        assert_eq!((report.counts, report.truncated), (counts, false));
    }

    #[test]
    fn failed_run_is_replaced_only_by_same_app() {
        let run = |app, status| Check {
            progress: Some("COMPLETED".to_owned()),
            app: Some(app),
            ..check("build", status, None)
        };
        let failed = || run(1, CheckStatus::Failure);
        let status = check("build", CheckStatus::Success, None);
        let unknown = Check {
            app: None,
            ..failed()
        };
        for (earlier, later, wanted) in [
            (failed(), run(1, CheckStatus::Success), CheckRollup::Success),
            (failed(), run(2, CheckStatus::Success), CheckRollup::Failure),
            (failed(), status.clone(), CheckRollup::Failure),
            (unknown, status, CheckRollup::Failure),
        ] {
            let report = ChecksReport::of(String::new(), vec![earlier, later]);
            assert_eq!(report.overall, wanted);
        }
    }

    #[test]
    fn truncated_checks_are_never_a_success() {
        // C-000-6: missing checks are reported.
        let of = |status| ChecksReport::of(String::new(), vec![check("a", status, None)]);
        for (status, wanted) in [
            (CheckStatus::Success, CheckRollup::Pending),
            (CheckStatus::Pending, CheckRollup::Pending),
            (CheckStatus::Failure, CheckRollup::Failure),
        ] {
            let report = of(status).cut();
            assert_eq!((report.overall, report.truncated), (wanted, true));
        }
        let none = ChecksReport::of(String::new(), vec![]).cut();
        assert_eq!(none.overall, CheckRollup::Pending);
    }

    #[test]
    fn log_end_has_whole_lines() {
        let end = |text: &str, most| {
            let log = CheckLog::end_of(text.as_bytes(), most, false);
            (log.text, log.cut)
        };
        let own = |text: &str, cut| (text.to_owned(), cut);
        assert_eq!(end("one\ntwo\n", 100), own("one\ntwo\n", false));
        assert_eq!(end("one\ntwo\n", 8), own("one\ntwo\n", false));
        assert_eq!(end("one\ntwo\n", 7), own("two\n", true));
        assert_eq!(end("one\ntwo\n", 4), own("two\n", true));
        assert_eq!(end("one\ntwo\n", 3), own("wo\n", true));
        assert_eq!(end("", 3), own("", false));
        let rest = CheckLog::end_of(b"ne\ntwo", 100, true);
        assert_eq!((rest.text.as_str(), rest.cut), ("two", true));
        assert_eq!(CheckLog::end_of(b"a\xff", 9, false).text, "a\u{fffd}");
    }
}
