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
    /// The forge's own id, which [`Checks::check_reasons`](crate::Checks::check_reasons) asks by;
    /// empty where it has none.
    #[serde(skip)]
    pub id: String,
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
    /// The number of the app that runs it, in the forge's database; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<u64>,
}

impl Check {
    /// One of which nothing else is known.
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
            started_at: None,
            completed_at: None,
            summary: None,
            required: None,
            app: None,
        }
    }
}

/// The end of what a check has printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckLog {
    /// Its last lines, each as a whole; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// There is more before them.
    pub cut: bool,
}

impl CheckLog {
    /// The last whole lines of `bytes` that fit into `most` bytes; of a single longer line its end.
    /// `cut` says that something was left out before `bytes` already.
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

/// How many checks stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckCounts {
    /// Those that stop nothing: passed, skipped and neutral.
    pub success: u64,
    /// Failed and cancelled.
    pub failure: u64,
    /// Not finished.
    pub pending: u64,
    /// Those of `success` that did not run.
    pub skipped: u64,
    /// Those of `success` whose result does not count.
    pub neutral: u64,
    /// All: `success`, `failure` and `pending`.
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

/// The checks of a pull request's head.
#[derive(Clone, Debug, Serialize)]
pub struct ChecksReport {
    /// The commit.
    pub commit: String,
    /// What they add up to; never success when it is truncated.
    pub overall: CheckRollup,
    /// How many stand where, of those that are here.
    pub counts: CheckCounts,
    /// There are checks that could not be read.
    pub truncated: bool,
    /// Each, failed first, then by name.
    pub checks: Vec<Check>,
}

impl ChecksReport {
    /// From every check of a commit: of each name, workflow, event and app the one that started last
    /// is kept, since the others are earlier runs; failed ones come first. A commit status replaces no
    /// check run.
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

    /// The same as a part of all the checks: one that is not here may have failed, or not have
    /// finished.
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
    fn r_000_6_checks_are_counted_by_how_they_ended() {
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
    fn failed_run_is_replaced_by_its_own_app_alone() {
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
    fn a_part_of_the_checks_is_never_a_success() {
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
    fn the_end_of_a_log_has_whole_lines() {
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
