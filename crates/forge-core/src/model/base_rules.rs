use std::collections::BTreeMap;

use serde::Serialize;

use super::{MergeMethod, Reviewer};

/// Requirements of a base branch for a merge, as far as the viewer may read them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BaseRules {
    /// The rules with their sources.
    pub rules: Vec<BaseRule>,
    /// Kinds of rules that could not be read. Empty if [`Self::rules`] is complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadRules>,
    /// Code owners whose review is requested and still missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_owners: Vec<Reviewer>,
    /// Position in the merge queue; `None` if the pull request is not queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlace>,
    /// True if the viewer has write access to the repository; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer_can_write: Option<bool>,
    /// True if the viewer may push to the base branch; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer_can_push: Option<bool>,
    /// True if the viewer may merge past the rules; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer_can_bypass: Option<bool>,
    /// Merge methods that the repository allows; empty if they could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repository_methods: Vec<MergeMethod>,
    /// Names of rulesets by number, for rulesets whose rules are not read yet.
    #[serde(skip)]
    pub ruleset_names: BTreeMap<u64, String>,
}

/// A rule of a base branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BaseRule {
    /// The requirement that the rule makes.
    #[serde(flatten)]
    pub wants: BaseRuleKind,
    /// Origin of the rule.
    pub source: RuleSource,
}

/// The requirement of a [`BaseRule`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum BaseRuleKind {
    /// A number of approvals.
    Approvals {
        /// Number of approvals. With 0, the rule requires only a pull request.
        count: u64,
    },
    /// An owner of the changed code approves.
    CodeOwnerReview,
    /// An account other than the author of the last push approves the pull request.
    LastPushApproval,
    /// Each push dismisses the approvals.
    DismissStaleApprovals,
    /// All review threads are resolved.
    ResolvedThreads,
    /// A check passes.
    Check {
        /// Name of the check.
        name: String,
        /// Id of the app that has to report the check, in the forge's database; `None` for any app.
        #[serde(skip_serializing_if = "Option::is_none")]
        app: Option<u64>,
    },
    /// The head contains the newest commits of the base branch.
    UpToDate,
    /// The merge goes through the queue.
    MergeQueue,
    /// Merge commits are not allowed.
    LinearHistory,
    /// All commits are signed.
    Signatures,
    /// The head is deployed to these environments.
    Deployments {
        /// Names of the environments.
        environments: Vec<String>,
    },
    /// Nobody may change the branch, except accounts that may bypass the rules.
    Locked,
    /// Only selected accounts may change the branch.
    RestrictedPushes,
    /// The merge uses one of these methods.
    MergeMethods {
        /// The methods.
        allowed: Vec<MergeMethod>,
    },
    /// A rule that this program does not evaluate.
    Other {
        /// The forge's name of the rule.
        name: String,
    },
}

/// Origin of a [`BaseRule`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RuleSource {
    /// A ruleset.
    Ruleset {
        /// Number in the forge's database.
        id: u64,
        /// Name, if readable.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Owner of the ruleset: `owner/repo`, an organization or an enterprise.
        owner: String,
    },
    /// The branch protection.
    BranchProtection,
    /// The merge queue of the branch.
    MergeQueue,
}

/// Rules that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnreadRules {
    /// The rulesets of the branch.
    Rulesets,
    /// The branch protection. It may be unknown whether the branch has one.
    Protection,
    /// Details of the branch protection that only administrators may see.
    ProtectionDetails,
    /// The merge queue: whether the branch has one, and whether the pull request is in it.
    Queue,
    /// The viewer's rights in the repository, and the merge methods that it allows.
    Repository,
}

/// The position of a pull request in a merge queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueuePlace {
    /// Position, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// State in the forge's words, upper case: `QUEUED`, `AWAITING_CHECKS`, `UNMERGEABLE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl BaseRule {
    /// Builds a rule with its origin.
    #[must_use]
    pub fn new(wants: BaseRuleKind, source: RuleSource) -> Self {
        Self { wants, source }
    }
}

impl QueuePlace {
    /// Builds a queue entry with position and state, if known.
    #[must_use]
    pub fn new(position: Option<u64>, state: Option<String>) -> Self {
        Self { position, state }
    }
}

impl BaseRules {
    /// Returns whether the branch has a merge queue; `None` if this could not be read.
    #[must_use]
    pub fn has_queue(&self) -> Option<bool> {
        let is_found = (self.rules.iter()).any(|rule| rule.wants == BaseRuleKind::MergeQueue);
        let hides = |unread| matches!(unread, &UnreadRules::Queue | &UnreadRules::Rulesets);
        let is_known = is_found || !self.unread.iter().any(hides);
        is_known.then_some(is_found)
    }

    /// Records that rules of the kind `what` are unread, once for each kind.
    pub fn mark_unread(&mut self, what: UnreadRules) {
        if !self.unread.contains(&what) {
            self.unread.push(what);
            self.unread.sort_unstable();
        }
    }
}
