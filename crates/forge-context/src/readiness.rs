//! The merge verdict: whether a pull request can be merged, which rules are unmet, and who can
//! clear them (make them met).

use forge_core::{
    Capabilities, Capability, PrKey, Timestamp,
    model::{PrState, PullRequest},
};
use serde::Serialize;

mod base;
mod checks;
mod indexed;
mod judge;
mod reviews;
mod rule;

pub(crate) use checks::lacks_required_check;
pub(crate) use indexed::not_indexed;
use judge::{Judge, WantedBy};
pub use rule::{RULES, Rule, RuleInfo};

/// Maximum number of names that a text lists. Of the remaining names, only the number is given.
const MAX_NAMES: usize = 20;

/// Status of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequirementStatus {
    /// The requirement is unmet.
    Unmet,
    /// The status cannot be determined.
    Unknown,
    /// The requirement is met.
    Met,
}

impl RequirementStatus {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unmet => "unmet",
            Self::Unknown => "unknown",
            Self::Met => "met",
        }
    }
}

/// Source of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequirementSource {
    /// A ruleset.
    Ruleset,
    /// The protection of the base branch.
    BranchProtection,
    /// The file that names the owners of code.
    CodeOwners,
    /// The merge queue of the base branch.
    MergeQueue,
    /// The forge itself, which refuses the merge while the requirement is unmet.
    Forge,
    /// A rule of this program. The forge would still allow the merge.
    Own,
}

impl RequirementSource {
    /// Every source with its description for the documentation.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (
            Self::Ruleset,
            "a ruleset of the repository, its organization or its enterprise, by its name \
             (`sourceName`)",
        ),
        (Self::BranchProtection, "the protection of the base branch"),
        (
            Self::CodeOwners,
            "the file `CODEOWNERS`, which a ruleset or the branch protection enforces",
        ),
        (Self::MergeQueue, "the merge queue of the base branch"),
        (
            Self::Forge,
            "the forge itself, which otherwise refuses the merge",
        ),
        (Self::Own, "this program alone: the forge would still merge"),
    ];

    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ruleset => "ruleset",
            Self::BranchProtection => "branch_protection",
            Self::CodeOwners => "code_owners",
            Self::MergeQueue => "merge_queue",
            Self::Forge => "forge",
            Self::Own => "own",
        }
    }
}

/// Role that can clear a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClearedBy {
    /// The author.
    Author,
    /// A reviewer.
    Reviewer,
    /// A person with administrative rights on the repository.
    Admin,
    /// Continuous integration.
    Ci,
    /// Nobody. The requirement becomes met with time.
    Time,
}

impl ClearedBy {
    /// Returns the stable name.
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

/// Role and names of the people who can clear a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Clearer {
    /// The role.
    pub who: ClearedBy,
    /// Logins, or `org/team`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// A rule that applies to a pull request, with its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Requirement {
    /// The rule.
    pub rule: Rule,
    /// The status.
    pub status: RequirementStatus,
    /// The source of the rule.
    pub source: RequirementSource,
    /// The name of the ruleset, as its author wrote it. If the ruleset belongs to somebody other
    /// than the repository, the owner follows in parentheses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_name: Option<String>,
    /// The facts that determine the status.
    pub evidence: String,
    /// The evidence as a count, such as `3 failed`, and the names of what was counted. The names
    /// are untrusted text.
    #[serde(skip)]
    pub counted: Option<(String, Vec<String>)>,
    /// People and programs that can make the requirement met. Empty if the requirement is already
    /// met, or if nobody can do so.
    pub cleared_by: Vec<Clearer>,
    /// A text that says what blocks the merge. Set for an unmet requirement if the rule has such a
    /// text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
}

/// Merge verdict on a pull request at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Readiness {
    /// `false` if a requirement is unmet. `None` if no requirement is unmet, but the status of one
    /// is unknown. Otherwise `true`.
    pub ready_to_merge: Option<bool>,
    /// Unmet requirements first, then unknown ones, each in the order of [`RULES`].
    pub requirements: Vec<Requirement>,
    /// The blocker texts of unmet requirements; empty for a pull request that is not open.
    pub blockers: Vec<String>,
    /// The head commit that was judged, as [`PullRequest::head_id`] returns it.
    pub head_sha: Option<String>,
    /// The commit of the base branch for which the pull request was judged.
    pub base_sha: Option<String>,
    /// The time when the pull request was judged.
    pub checked_at: Timestamp,
}

/// The kinds of rules that a forge supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForgeRules {
    /// True if the forge has checks.
    pub checks: bool,
    /// True if reviews can approve and request changes.
    pub verdicts: bool,
    /// True if threads can be resolved.
    pub threads: bool,
    /// True if an approval is required even when the forge requires none.
    pub approval: bool,
}

impl From<&Capabilities> for ForgeRules {
    fn from(capabilities: &Capabilities) -> Self {
        Self {
            checks: capabilities.has(Capability::Checks),
            verdicts: capabilities.has(Capability::ReviewVerdict),
            threads: capabilities.has(Capability::ThreadResolve),
            approval: true,
        }
    }
}

/// The pull request that another one builds on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dependency {
    /// The key of the pull request.
    pub key: PrKey,
    /// The state; `None` if it could not be read.
    pub state: Option<PrState>,
    /// True if the pull request was not read, because the forge does not list it in this
    /// repository.
    pub unlisted: bool,
}

impl Dependency {
    /// Creates a dependency on the pull request `key` in `state`.
    #[must_use]
    pub fn new(key: PrKey, state: Option<PrState>) -> Self {
        Self {
            key,
            state,
            unlisted: false,
        }
    }
}

impl Readiness {
    /// Judges whether `pull` can be merged. The mergeability, threads and checks of `pull` must
    /// have been read, as far as the forge has them.
    #[must_use]
    pub fn of(
        pull: &PullRequest,
        forge: ForgeRules,
        dependency: Option<&Dependency>,
        checked_at: Timestamp,
    ) -> Self {
        let mut requirements = Judge::new(pull, forge).requirements(dependency);
        let is_own =
            |r: &Requirement| r.rule == Rule::Approved && r.source == RequirementSource::Own;
        requirements.retain(|r| forge.approval || !is_own(r) || r.status == RequirementStatus::Met);
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
            head_sha: pull.head_id().map(str::to_owned),
            base_sha: pull.base_oid.clone(),
            checked_at,
        }
    }

    /// Returns the unmet requirements.
    pub fn unmet(&self) -> impl Iterator<Item = &Requirement> {
        let unmet = |r: &&Requirement| r.status == RequirementStatus::Unmet;
        self.requirements.iter().filter(unmet)
    }
}

fn requirement(
    rule: Rule,
    status: RequirementStatus,
    source: impl Into<WantedBy>,
    evidence: &str,
    cleared_by: Vec<Clearer>,
) -> Requirement {
    let WantedBy { source, name } = source.into();
    Requirement {
        rule,
        status,
        source,
        source_name: name,
        evidence: evidence.to_owned(),
        counted: None,
        cleared_by,
        blocker: None,
    }
}

impl Requirement {
    /// Returns the source for display: `ruleset "main"`, `branch protection`. The names of rulesets
    /// are untrusted.
    #[must_use]
    pub fn source_text(&self) -> String {
        let (source, name) = (self.source, self.source_name.clone());
        WantedBy { source, name }.text()
    }

    /// Sets evidence that begins with a count, so that long names cannot hide the count.
    fn counting(mut self, what: String, names: Vec<String>) -> Self {
        self.evidence = match names.is_empty() {
            true => what.clone(),
            false => format!("{what}: {}", listed(names.iter())),
        };
        self.counted = Some((what, names));
        self
    }

    fn blocking(mut self, text: impl Into<String>) -> Self {
        self.blocker = Some(text.into());
        self
    }
}

fn cleared(who: ClearedBy, names: Vec<String>) -> Clearer {
    Clearer { who, names }
}

/// Joins the first [`MAX_NAMES`] names, and counts the remaining names.
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
