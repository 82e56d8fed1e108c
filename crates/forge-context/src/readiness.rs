//! Whether a pull request is ready to be merged: which rule is not met, and who can clear it.

use forge_core::{
    Capabilities, Capability, PrKey, Timestamp,
    model::{
        Check, CheckStatus, MergeState, PrState, PullRequest, ReviewDecision, ReviewState, Reviewer,
    },
};
use serde::{Serialize, Serializer};

/// How many names a text lists; the others are counted.
const MAX_NAMES: usize = 20;

/// A rule that a pull request has to meet, in the order of what matters most: what ends all further
/// work first, then what people have to do, then what passes with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// It is open.
    Open,
    /// Head and base merge without conflicts.
    NoConflicts,
    /// It is no draft.
    NotDraft,
    /// What it builds on is merged.
    DependencyMerged,
    /// No reviewer's latest opinion requests changes.
    NoChangesRequested,
    /// It is approved.
    Approved,
    /// No check has failed.
    ChecksPassed,
    /// Every thread is resolved.
    ThreadsResolved,
    /// The head has the newest commits of the base, where the base branch wants that.
    UpToDate,
    /// The forge names no obstacle of its own.
    NotBlocked,
    /// Every check that is expected has reported.
    ChecksReported,
    /// Every check has finished.
    ChecksFinished,
}

/// What the documentation says of a [`Rule`].
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    /// The rule.
    pub rule: Rule,
    /// The stable name.
    pub name: &'static str,
    /// When it is met.
    pub met: &'static str,
    /// When that is not known; empty where it always is.
    pub unknown: &'static str,
    /// The text of its blocker; empty where it has none.
    pub blocker: &'static str,
    /// The place of its blocker, from 1.
    pub place: u8,
}

const fn info(
    rule: Rule,
    name: &'static str,
    met: &'static str,
    unknown: &'static str,
    (place, blocker): (u8, &'static str),
) -> RuleInfo {
    RuleInfo {
        rule,
        name,
        met,
        unknown,
        blocker,
        place,
    }
}

/// Every rule, in the order in which requirements are listed. Blockers 1 to 5 have the texts and the
/// order of requirement R-002-13.
pub const RULES: &[RuleInfo] = &[
    info(Rule::Open, "open", "the pull request is open", "", (0, "")),
    info(
        Rule::NoConflicts,
        "no_conflicts",
        "head and base merge without conflicts",
        "the forge has not worked it out yet, or could not be asked",
        (6, "Merge conflicts with BASE"),
    ),
    info(
        Rule::NotDraft,
        "not_draft",
        "it is no draft",
        "",
        (5, "PR is still in draft"),
    ),
    info(
        Rule::DependencyMerged,
        "dependency_merged",
        "the pull request that it builds on is merged; listed where it builds on one",
        "that one could not be read",
        (10, "Depends on #N, which is not merged"),
    ),
    info(
        Rule::NoChangesRequested,
        "no_changes_requested",
        "no reviewer's latest opinion requests changes; listed where the forge has verdicts",
        "",
        (2, "N reviewer(s) requested changes"),
    ),
    info(
        Rule::Approved,
        "approved",
        "the forge says APPROVED, or says nothing and somebody approves; listed where the forge has \
         verdicts",
        "",
        (4, "No approvals yet"),
    ),
    info(
        Rule::ChecksPassed,
        "checks_passed",
        "no check of the head has failed or was cancelled; listed where the forge has checks",
        "the checks could not be read",
        (1, "CI failing: a, b"),
    ),
    info(
        Rule::ThreadsResolved,
        "threads_resolved",
        "every review thread is resolved; listed where the forge has threads",
        "the threads could not be read",
        (3, "N unresolved comment thread(s)"),
    ),
    info(
        Rule::UpToDate,
        "up_to_date",
        "the forge does not say BEHIND; listed where it says either",
        "",
        (9, "Behind BASE"),
    ),
    info(
        Rule::NotBlocked,
        "not_blocked",
        "the forge says CLEAN, UNSTABLE or HAS_HOOKS; listed where it says so, or BLOCKED",
        "the forge says BLOCKED, and no rule of the base branch that can be read explains it: the \
         word can be stale, and depends on who asks",
        (0, ""),
    ),
    info(
        Rule::ChecksReported,
        "checks_reported",
        "every expected check has reported; listed where the forge has checks",
        "no check has reported, or not all could be read: none is not the same as green",
        (8, "Expected checks have not reported: a, b"),
    ),
    info(
        Rule::ChecksFinished,
        "checks_finished",
        "no check is under way; listed where the forge has checks",
        "the checks could not be read",
        (7, "CI pending: a, b"),
    ),
];

impl Rule {
    fn info(self) -> Option<&'static RuleInfo> {
        RULES.iter().find(|info| info.rule == self)
    }

    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().map_or("", |info| info.name)
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequirementStatus {
    /// It is not.
    Unmet,
    /// Nobody can tell.
    Unknown,
    /// It is.
    Met,
}

impl RequirementStatus {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unmet => "unmet",
            Self::Unknown => "unknown",
            Self::Met => "met",
        }
    }
}

/// Who makes a requirement one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequirementSource {
    /// The forge: it merges nothing that does not meet it.
    Forge,
    /// The base branch: a branch protection or a ruleset, which the forge does not tell apart.
    BaseRules,
    /// This program alone: the forge would merge all the same.
    Own,
}

impl RequirementSource {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forge => "forge",
            Self::BaseRules => "base_rules",
            Self::Own => "own",
        }
    }
}

/// Who can clear a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClearedBy {
    /// The author.
    Author,
    /// A reviewer.
    Reviewer,
    /// Somebody with rights over the repository.
    Admin,
    /// Continuous integration.
    Ci,
    /// Nobody: it passes.
    Time,
}

impl ClearedBy {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Reviewer => "reviewer",
            Self::Admin => "admin",
            Self::Ci => "ci",
            Self::Time => "time",
        }
    }
}

/// Who can clear a requirement, by name where names are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Clearer {
    /// In which role.
    pub who: ClearedBy,
    /// Logins, or `org/team`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// A rule that applies to a pull request, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The rule.
    pub rule: Rule,
    /// Whether it is met.
    pub status: RequirementStatus,
    /// Who wants it.
    pub source: RequirementSource,
    /// The facts that decide, as they were read.
    pub evidence: String,
    /// Who can clear it; empty where it is met, or nobody can.
    pub cleared_by: Vec<Clearer>,
    /// Its text among the blockers, while it is unmet and has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
}

/// Whether a pull request is ready to be merged, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// `false` where a requirement is unmet, else `None` where one is unknown.
    pub ready_to_merge: Option<bool>,
    /// Unmet ones first, then unknown ones, and in each the order of [`RULES`].
    pub requirements: Vec<Requirement>,
    /// The texts of what is unmet; none for one that is not open.
    pub blockers: Vec<String>,
    /// The head commit that was judged.
    pub head_sha: Option<String>,
    /// The base commit that it was judged against.
    pub base_sha: Option<String>,
    /// When.
    pub checked_at: Timestamp,
}

/// Which rules a forge can have at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgeRules {
    /// It has checks.
    pub checks: bool,
    /// Reviews approve and request changes.
    pub verdicts: bool,
    /// Threads are resolved.
    pub threads: bool,
}

impl From<&Capabilities> for ForgeRules {
    fn from(capabilities: &Capabilities) -> Self {
        Self {
            checks: capabilities.has(Capability::Checks),
            verdicts: capabilities.has(Capability::ReviewVerdict),
            threads: capabilities.has(Capability::ThreadResolve),
        }
    }
}

/// The pull request that another one builds on; `state` is `None` where it could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// What names it.
    pub key: PrKey,
    /// Its state.
    pub state: Option<PrState>,
}

impl Readiness {
    /// Judges `pull`, which has its mergeability, threads and checks where the forge has any.
    #[must_use]
    pub fn of(
        pull: &PullRequest,
        forge: ForgeRules,
        dependency: Option<&Dependency>,
        checked_at: Timestamp,
    ) -> Self {
        let mut requirements = Judge { pull, forge }.requirements(dependency);
        requirements.sort_by_key(|r| (r.status, r.rule));
        let any = |status| requirements.iter().any(|r| r.status == status);
        let ready_to_merge = if any(RequirementStatus::Unmet) {
            Some(false)
        } else if any(RequirementStatus::Unknown) {
            None
        } else {
            Some(true)
        };
        let mut blockers: Vec<(u8, String)> = requirements
            .iter()
            .filter_map(|r| Some((r.rule.info()?.place, r.blocker.clone()?)))
            .collect();
        blockers.sort();
        Self {
            ready_to_merge,
            requirements,
            blockers: blockers.into_iter().map(|(_, text)| text).collect(),
            head_sha: pull.head_oid.clone(),
            base_sha: pull.base_oid.clone(),
            checked_at,
        }
    }

    /// Those that are unmet.
    pub fn unmet(&self) -> impl Iterator<Item = &Requirement> {
        let unmet = |r: &&Requirement| r.status == RequirementStatus::Unmet;
        self.requirements.iter().filter(unmet)
    }
}

struct Judge<'a> {
    pull: &'a PullRequest,
    forge: ForgeRules,
}

impl Judge<'_> {
    fn requirements(&self, dependency: Option<&Dependency>) -> Vec<Requirement> {
        let open = self.open();
        if open.status != RequirementStatus::Met {
            return vec![open];
        }
        let mut all = vec![open, self.no_conflicts(), self.not_draft()];
        all.extend(dependency.map(dependency_merged));
        if self.forge.verdicts {
            all.extend([self.no_changes_requested(), self.approved()]);
        }
        if self.forge.checks {
            all.extend(self.checks());
        }
        if self.forge.threads {
            all.push(self.threads_resolved());
        }
        all.extend(self.up_to_date());
        let not_blocked = self.not_blocked(&all);
        all.extend(not_blocked);
        all
    }

    /// The forge's word for what a merge would meet, such as `CLEAN`.
    fn word(&self) -> &str {
        let found = self.pull.mergeability.as_ref();
        found.map_or("", |mergeability| &mergeability.status)
    }

    /// The forge would merge now, as far as its own rules go.
    fn is_let_through(&self) -> bool {
        matches!(self.word(), "CLEAN" | "UNSTABLE" | "HAS_HOOKS")
    }

    fn author(&self) -> Vec<Clearer> {
        vec![cleared(
            ClearedBy::Author,
            vec![self.pull.author.login.clone()],
        )]
    }

    fn open(&self) -> Requirement {
        let of = |status, evidence: &str, by| {
            requirement(Rule::Open, status, RequirementSource::Forge, evidence, by)
        };
        match self.pull.state {
            PrState::Open => of(RequirementStatus::Met, "it is open", vec![]),
            PrState::Closed => of(RequirementStatus::Unmet, "it is closed", self.author()),
            PrState::Merged => of(RequirementStatus::Unmet, "it is merged already", vec![]),
        }
    }

    fn no_conflicts(&self) -> Requirement {
        let of = |status, evidence: &str, by| {
            let source = RequirementSource::Forge;
            requirement(Rule::NoConflicts, status, source, evidence, by)
        };
        let Some(found) = &self.pull.mergeability else {
            let why = "whether head and base conflict could not be read";
            return of(RequirementStatus::Unknown, why, vec![]);
        };
        match found.state {
            MergeState::Mergeable => of(
                RequirementStatus::Met,
                "head and base merge without conflicts",
                vec![],
            ),
            MergeState::Unknown => of(
                RequirementStatus::Unknown,
                "the forge is still working it out: ask again in some seconds",
                vec![cleared(ClearedBy::Time, vec![])],
            ),
            MergeState::Conflicting => {
                let evidence = match found.conflicts.is_empty() {
                    true => "head and base conflict".to_owned(),
                    false => format!("conflicts in {}", listed(found.conflicts.iter())),
                };
                let text = format!("Merge conflicts with {}", self.pull.base_branch);
                of(RequirementStatus::Unmet, &evidence, self.author()).blocking(text)
            }
        }
    }

    fn not_draft(&self) -> Requirement {
        let source = RequirementSource::Forge;
        let of = |status, evidence, by| requirement(Rule::NotDraft, status, source, evidence, by);
        match self.pull.draft {
            false => of(RequirementStatus::Met, "it is no draft", vec![]),
            true => of(RequirementStatus::Unmet, "it is a draft", self.author())
                .blocking("PR is still in draft"),
        }
    }

    fn no_changes_requested(&self) -> Requirement {
        let rule = Rule::NoChangesRequested;
        let count = self.pull.changes_requested;
        let is_binding = self.pull.review_decision.is_some() && self.word() == "BLOCKED";
        let source = match is_binding {
            true => RequirementSource::BaseRules,
            false => RequirementSource::Own,
        };
        if count == 0 {
            let evidence = "no reviewer requests changes";
            return requirement(rule, RequirementStatus::Met, source, evidence, vec![]);
        }
        let latest = self.pull.latest_reviews.iter();
        let who: Vec<String> = latest
            .filter(|review| review.state == ReviewState::ChangesRequested)
            .map(|review| review.author.login.clone())
            .collect();
        let evidence = match who.is_empty() {
            true => format!("{count} request changes"),
            false => format!("changes requested by {}", listed(who.iter())),
        };
        let by = vec![cleared(ClearedBy::Reviewer, who)];
        requirement(rule, RequirementStatus::Unmet, source, &evidence, by)
            .blocking(format!("{count} reviewer(s) requested changes"))
    }

    fn approved(&self) -> Requirement {
        let approvals = self.pull.approvals;
        let decision = self.pull.review_decision;
        let source = match decision {
            Some(ReviewDecision::ReviewRequired) => RequirementSource::BaseRules,
            Some(ReviewDecision::ChangesRequested) if self.word() == "BLOCKED" => {
                RequirementSource::BaseRules
            }
            _ => RequirementSource::Own,
        };
        let given = format!("{approvals} approval(s)");
        let evidence = match decision {
            Some(ReviewDecision::ReviewRequired) => format!("{given}; a review is required"),
            _ => given,
        };
        let is_met = match decision {
            Some(ReviewDecision::Approved) => true,
            Some(ReviewDecision::ReviewRequired) => false,
            Some(ReviewDecision::ChangesRequested) | None => approvals > 0,
        };
        if is_met {
            let status = RequirementStatus::Met;
            return requirement(Rule::Approved, status, source, &evidence, vec![]);
        }
        let asked = self.pull.pending_reviewers.iter();
        let asked = asked.map(Reviewer::handle).map(str::to_owned).collect();
        let by = vec![cleared(ClearedBy::Reviewer, asked)];
        let text = match approvals {
            0 => "No approvals yet",
            _ => "Review required",
        };
        requirement(
            Rule::Approved,
            RequirementStatus::Unmet,
            source,
            &evidence,
            by,
        )
        .blocking(text)
    }

    /// Nothing where the forge has checks, and this repository has none that run at all.
    fn checks(&self) -> Vec<Requirement> {
        let own = RequirementSource::Own;
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
                let why = "the checks could not be read";
                requirement(rule, RequirementStatus::Unknown, own, why, vec![])
            };
            return rules.map(unknown).to_vec();
        };
        let of = |wanted: fn(&Check) -> bool| -> Vec<&Check> {
            report.checks.iter().filter(|c| wanted(c)).collect()
        };
        let is_expected = |c: &Check| c.conclusion.as_deref() == Some("EXPECTED");
        let ended = report.counts.total - report.counts.pending;
        let passed = self.judge_checks(
            Rule::ChecksPassed,
            &of(|c| matches!(c.status, CheckStatus::Failure | CheckStatus::Cancelled)),
            (
                "failed",
                &format!("none of {ended} finished check(s) failed"),
            ),
            &[ClearedBy::Author, ClearedBy::Ci],
            "CI failing",
        );
        let mut reported = self.judge_checks(
            Rule::ChecksReported,
            &of(is_expected),
            (
                "have not reported",
                &format!("{} check(s) reported", report.counts.total),
            ),
            &[ClearedBy::Ci],
            "Expected checks have not reported",
        );
        let sha = report.commit.get(..7).unwrap_or(&report.commit);
        let why = match (report.truncated, report.checks.is_empty()) {
            (true, _) => Some(format!("not all checks of {sha} could be read")),
            (false, true) => Some(format!(
                "no check has reported on {sha}: there may be none, or they have not begun"
            )),
            (false, false) => None,
        };
        if let Some(why) = why.filter(|_| reported.status == RequirementStatus::Met) {
            reported.status = RequirementStatus::Unknown;
            reported.evidence = why;
            reported.cleared_by = vec![cleared(ClearedBy::Ci, vec![])];
        }
        let finished = self.judge_checks(
            Rule::ChecksFinished,
            &of(|c| {
                c.status == CheckStatus::Pending && c.conclusion.as_deref() != Some("EXPECTED")
            }),
            ("have not finished", "no check is under way"),
            &[ClearedBy::Ci],
            "CI pending",
        );
        vec![passed, reported, finished]
    }

    fn judge_checks(
        &self,
        rule: Rule,
        against: &[&Check],
        (what, met): (&str, &str),
        by: &[ClearedBy],
        blocker: &str,
    ) -> Requirement {
        let source = match against.iter().any(|c| c.required == Some(true)) {
            true => RequirementSource::BaseRules,
            false => RequirementSource::Own,
        };
        if against.is_empty() {
            return requirement(rule, RequirementStatus::Met, source, met, vec![]);
        }
        let mut names: Vec<&String> = against.iter().map(|c| &c.name).collect();
        names.dedup();
        let names = listed(names.into_iter());
        let author = self.pull.author.login.clone();
        let by = by.iter().map(|who| match who {
            ClearedBy::Author => cleared(*who, vec![author.clone()]),
            _ => cleared(*who, vec![]),
        });
        let evidence = format!("{what}: {names}");
        requirement(
            rule,
            RequirementStatus::Unmet,
            source,
            &evidence,
            by.collect(),
        )
        .blocking(format!("{blocker}: {names}"))
    }

    fn threads_resolved(&self) -> Requirement {
        let (rule, own) = (Rule::ThreadsResolved, RequirementSource::Own);
        let Some(threads) = &self.pull.threads else {
            let why = "the threads could not be read";
            return requirement(rule, RequirementStatus::Unknown, own, why, vec![]);
        };
        let open: Vec<_> = threads.iter().filter(|t| !t.resolved).collect();
        if open.is_empty() {
            let evidence = format!("{} thread(s), all resolved", threads.len());
            return requirement(rule, RequirementStatus::Met, own, &evidence, vec![]);
        }
        let mut began: Vec<String> = open
            .iter()
            .filter_map(|t| Some(t.comments.first()?.author.login.clone()))
            .collect();
        began.sort();
        began.dedup();
        let places = open.iter().map(|t| match t.line {
            Some(line) => format!("{}:{line}", t.path),
            None => t.path.clone(),
        });
        let places: Vec<String> = places.collect();
        let evidence = format!("open at {}", listed(places.iter()));
        let mut by = self.author();
        by.push(cleared(ClearedBy::Reviewer, began));
        requirement(rule, RequirementStatus::Unmet, own, &evidence, by)
            .blocking(format!("{} unresolved comment thread(s)", open.len()))
    }

    fn up_to_date(&self) -> Option<Requirement> {
        let (rule, source) = (Rule::UpToDate, RequirementSource::BaseRules);
        let base = &self.pull.base_branch;
        if self.word() == "BEHIND" {
            let evidence = format!("the base branch wants the newest commits of {base}");
            let status = RequirementStatus::Unmet;
            let behind = requirement(rule, status, source, &evidence, self.author());
            return Some(behind.blocking(format!("Behind {base}")));
        }
        let evidence = "the forge does not say that it is behind";
        self.is_let_through()
            .then(|| requirement(rule, RequirementStatus::Met, source, evidence, vec![]))
    }

    fn not_blocked(&self, others: &[Requirement]) -> Option<Requirement> {
        let (rule, source) = (Rule::NotBlocked, RequirementSource::BaseRules);
        if self.is_let_through() {
            let evidence = format!("the forge says {}", self.word());
            let status = RequirementStatus::Met;
            return Some(requirement(rule, status, source, &evidence, vec![]));
        }
        let is_reason =
            |r: &Requirement| r.status == RequirementStatus::Unmet && r.source == source;
        if self.word() != "BLOCKED" || others.iter().any(is_reason) {
            return None;
        }
        let evidence = "the forge says BLOCKED, and nothing that can be read here explains it";
        let by = vec![cleared(ClearedBy::Admin, vec![])];
        let status = RequirementStatus::Unknown;
        Some(requirement(rule, status, source, evidence, by))
    }
}

fn dependency_merged(below: &Dependency) -> Requirement {
    let name = match &below.key {
        PrKey::Number(n) => format!("#{n}"),
        PrKey::Record(uri) => uri.clone(),
    };
    let of = |status, what: &str, by| {
        let evidence = format!("{name} {what}");
        let source = RequirementSource::Own;
        requirement(Rule::DependencyMerged, status, source, &evidence, by)
    };
    match below.state {
        None => of(RequirementStatus::Unknown, "could not be read", vec![]),
        Some(PrState::Merged) => of(RequirementStatus::Met, "is merged", vec![]),
        Some(state) => {
            let word = match state {
                PrState::Open => "is open",
                _ => "is closed",
            };
            let by = vec![cleared(ClearedBy::Author, vec![])];
            of(RequirementStatus::Unmet, word, by)
                .blocking(format!("Depends on {name}, which is not merged"))
        }
    }
}

fn requirement(
    rule: Rule,
    status: RequirementStatus,
    source: RequirementSource,
    evidence: &str,
    cleared_by: Vec<Clearer>,
) -> Requirement {
    Requirement {
        rule,
        status,
        source,
        evidence: evidence.to_owned(),
        cleared_by,
        blocker: None,
    }
}

impl Requirement {
    fn blocking(mut self, text: impl Into<String>) -> Self {
        self.blocker = Some(text.into());
        self
    }
}

fn cleared(who: ClearedBy, names: Vec<String>) -> Clearer {
    Clearer { who, names }
}

/// The first names, and how many there are besides.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let first: Vec<&str> = names.take(MAX_NAMES).map(String::as_str).collect();
    let first = first.join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
