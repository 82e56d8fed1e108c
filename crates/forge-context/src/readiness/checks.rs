//! Requirements about the checks of the head commit.

use forge_core::model::{BaseRuleKind, Check, CheckStatus, ChecksReport, PullRequest};

use super::{
    ClearedBy, ForgeRules, Requirement, RequirementSource, RequirementStatus, Rule, cleared,
    judge::{Judge, WantedBy},
    listed, requirement,
};

/// A check that the base branch requires.
struct WantedCheck<'a> {
    name: &'a str,
    app: Option<u64>,
    by: WantedBy,
}

impl WantedCheck<'_> {
    /// Returns true if `check` may come from the required app. The caller has compared the names.
    fn may_match(&self, check: &Check) -> bool {
        check.app.is_none() || self.matches(check)
    }

    /// Returns true if `check` comes from the required app. The caller has compared the names. A
    /// check whose app is unknown never counts as the check of a required app: anybody with push
    /// access can set a commit status, which names no app.
    fn matches(&self, check: &Check) -> bool {
        self.app.is_none() || check.app == self.app
    }
}

/// The result of a rule about checks.
struct Finding<'a> {
    rule: Rule,
    names: Vec<String>,
    source: WantedBy,
    /// The fault of the checks in `names`, such as `failed`.
    what: &'a str,
    /// The evidence if `names` is empty, so that the rule is met.
    met: String,
    by: &'a [ClearedBy],
    blocker: &'a str,
}

impl Judge<'_> {
    /// Returns the requirements about checks. Empty if the repository has no checks.
    pub fn checks(&self) -> Vec<Requirement> {
        let Some(report) = &self.pull.checks else {
            let mut unread = self.pull.warnings.iter();
            if !unread.any(|w| w.section == Some("checks")) {
                return vec![];
            }
            let rules = [
                Rule::ChecksPassed,
                Rule::ChecksReported,
                Rule::ChecksFinished,
            ];
            let unknown = |rule| {
                let (own, why) = (RequirementSource::Own, "the checks could not be read");
                requirement(rule, RequirementStatus::Unknown, own, why, vec![])
            };
            return rules.map(unknown).to_vec();
        };
        let failed = |c: &Check| matches!(c.status, CheckStatus::Failure | CheckStatus::Cancelled);
        let failed = of(report, failed);
        let ended = report.counts.total - report.counts.pending;
        let passed = Finding {
            rule: Rule::ChecksPassed,
            source: self.source_of(&failed),
            names: names(&failed),
            what: "failed",
            met: format!("none of {ended} finished check(s) failed"),
            by: &[ClearedBy::Author, ClearedBy::Ci],
            blocker: "CI failing",
        };
        let running = |c: &Check| c.status == CheckStatus::Pending && !is_expected(c);
        let running = of(report, running);
        let finished = Finding {
            rule: Rule::ChecksFinished,
            source: self.source_of(&running),
            names: names(&running),
            what: "not finished",
            met: "no check is queued or running".to_owned(),
            by: &[ClearedBy::Ci],
            blocker: "CI pending",
        };
        let passed = self.judge_read(report, passed);
        let finished = self.judge_read(report, finished);
        vec![passed, self.reported(report), finished]
    }

    fn wanted_checks(&self) -> impl Iterator<Item = WantedCheck<'_>> {
        let all = self.wanting(|kind| match kind {
            BaseRuleKind::Check { name, app } => Some((name.as_str(), *app)),
            _ => None,
        });
        all.map(|((name, app), by)| WantedCheck { name, app, by })
    }

    /// Returns the source of the rule that requires the first required check among `checks`.
    fn source_of(&self, checks: &[&Check]) -> WantedBy {
        let mut sources = checks.iter().filter_map(|check| {
            let mut named = self.wanted_checks().filter(|w| w.name == check.name);
            match named.find(|wanted| wanted.may_match(check)) {
                Some(wanted) => Some(wanted.by),
                // The required check of this name comes from another app, so `check` is not the
                // required one.
                None if self.wanted_checks().any(|w| w.name == check.name) => None,
                None => (check.required == Some(true)).then(|| RequirementSource::Forge.into()),
            }
        });
        let source = sources.next();
        source.unwrap_or_else(|| RequirementSource::Own.into())
    }

    fn reported(&self, report: &ChecksReport) -> Requirement {
        let expected = of(report, is_expected);
        let mut source = self.source_of(&expected);
        let mut missing = names(&expected);
        let mut unsure: Vec<(String, WantedBy)> = Vec::new();
        // A truncated report may lack checks that have reported, so no check counts as missing.
        let wanted = self.wanted_checks().filter(|_| !report.truncated);
        for check in wanted {
            let all = report.checks.iter();
            let named: Vec<&Check> = all.filter(|c| c.name == check.name).collect();
            if named.iter().any(|c| check.matches(c)) {
                continue;
            }
            let may_have = named.iter().any(|c| check.may_match(c));
            let name = match (may_have, named.first()) {
                (true, _) if unsure.iter().any(|(name, _)| name == check.name) => continue,
                (true, _) => {
                    unsure.push((check.name.to_owned(), check.by));
                    continue;
                }
                (false, Some(_)) => format!("{} (another app reported it)", check.name),
                (false, None) => check.name.to_owned(),
            };
            if missing.is_empty() {
                source = check.by;
            }
            if !missing.contains(&name) {
                missing.push(name);
            }
        }
        let mut reported = self.judge(Finding {
            rule: Rule::ChecksReported,
            names: missing,
            source,
            what: "not reported",
            met: format!("{} check(s) reported", report.counts.total),
            by: &[ClearedBy::Ci],
            blocker: "Expected checks have not reported",
        });
        if reported.status == RequirementStatus::Met
            && let Some((_, by)) = unsure.first().cloned()
        {
            let names: Vec<String> = unsure.into_iter().map(|(name, _)| name).collect();
            let what = format!(
                "{} check(s) must be reported by an app, and the app that reported them is not known \
                 (a commit status names none)",
                names.len()
            );
            let ci = vec![cleared(ClearedBy::Ci, vec![])];
            return requirement(reported.rule, RequirementStatus::Unknown, by, "", ci)
                .counting(what, names);
        }
        if reported.status == RequirementStatus::Met {
            let why = match (report.truncated, report.checks.is_empty()) {
                (true, _) => Some(unread_checks(report)),
                (false, true) => Some(format!(
                    "no check has reported on {}: either there is no check, or none has begun",
                    short_commit(report)
                )),
                (false, false) => None,
            };
            if let Some(why) = why {
                reported.status = RequirementStatus::Unknown;
                reported.evidence = why;
                reported.cleared_by = vec![cleared(ClearedBy::Ci, vec![])];
            }
        }
        reported
    }

    /// Like [`Self::judge`], but a check that could not be read may be at fault, so the rule is not
    /// met.
    fn judge_read(&self, report: &ChecksReport, finding: Finding<'_>) -> Requirement {
        let mut judged = self.judge(finding);
        if report.truncated && judged.status == RequirementStatus::Met {
            judged.status = RequirementStatus::Unknown;
            judged.evidence = unread_checks(report);
        }
        judged
    }

    fn judge(&self, finding: Finding<'_>) -> Requirement {
        let (rule, source) = (finding.rule, finding.source);
        if finding.names.is_empty() {
            let met = RequirementStatus::Met;
            return requirement(rule, met, source, &finding.met, vec![]);
        }
        let names = listed(finding.names.iter());
        let by = finding.by.iter().map(|who| match who {
            ClearedBy::Author => cleared(*who, vec![self.pull.author.login.clone()]),
            _ => cleared(*who, vec![]),
        });
        let what = format!("{} {}", finding.names.len(), finding.what);
        requirement(rule, RequirementStatus::Unmet, source, "", by.collect())
            .counting(what, finding.names)
            .blocking(format!("{}: {names}", finding.blocker))
    }
}

/// Returns true if the base branch requires a check that has not reported.
pub(crate) fn lacks_required_check(pull: &PullRequest) -> bool {
    let forge = ForgeRules {
        checks: true,
        verdicts: false,
        threads: false,
        approval: false,
    };
    pull.checks.as_ref().is_some_and(|report| {
        let reported = Judge::new(pull, forge).reported(report);
        reported.status == RequirementStatus::Unmet
    })
}

fn short_commit(report: &ChecksReport) -> &str {
    report.commit.get(..7).unwrap_or(&report.commit)
}

/// Returns the evidence of a rule that depends on checks that could not be read.
fn unread_checks(report: &ChecksReport) -> String {
    format!("not all checks of {} could be read", short_commit(report))
}

fn of(report: &ChecksReport, wanted: impl Fn(&Check) -> bool) -> Vec<&Check> {
    report.checks.iter().filter(|c| wanted(c)).collect()
}

/// Returns true if the forge expects the check, but the check has not reported.
fn is_expected(check: &Check) -> bool {
    check.conclusion.as_deref() == Some("EXPECTED")
}

/// Returns the names without duplicates: a check appears once for each of its triggers.
fn names(checks: &[&Check]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for check in checks {
        if !names.contains(&check.name) {
            names.push(check.name.clone());
        }
    }
    names
}
