use std::collections::BTreeMap;

use serde::Serialize;

use super::{MergeMethod, Reviewer};

/// What the base branch of a pull request wants before a merge, as far as the viewer may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BaseRules {
    /// Each rule with who wants it.
    pub rules: Vec<BaseRule>,
    /// Which rules could not be read; empty where [`Self::rules`] are all there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadRules>,
    /// Code owners who were asked for a review and have not given one since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_owners: Vec<Reviewer>,
    /// Its place in the merge queue, while it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlace>,
    /// The viewer has write access to the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer_can_write: Option<bool>,
    /// The viewer may push to the base branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer_can_push: Option<bool>,
    /// The viewer may merge past the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer_can_bypass: Option<bool>,
    /// The methods that the repository allows; empty where that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repository_methods: Vec<MergeMethod>,
    /// The names of rulesets by their numbers, for rules that are still to be read.
    #[serde(skip)]
    pub ruleset_names: BTreeMap<u64, String>,
}

/// A rule of a base branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BaseRule {
    /// What it wants.
    #[serde(flatten)]
    pub wants: BaseRuleKind,
    /// Who wants it.
    pub source: RuleSource,
}

/// What a [`BaseRule`] wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum BaseRuleKind {
    /// So many approvals.
    Approvals {
        /// How many; 0 wants a pull request alone.
        count: u64,
    },
    /// An approval by an owner of the changed code.
    CodeOwnerReview,
    /// An approval of the last push, by somebody who did not push it.
    LastPushApproval,
    /// A push takes approvals back.
    DismissStaleApprovals,
    /// Every review thread resolved.
    ResolvedThreads,
    /// A check that has passed.
    Check {
        /// Its name.
        name: String,
        /// The app that it has to come from, by its number in the forge's database.
        #[serde(skip_serializing_if = "Option::is_none")]
        app: Option<u64>,
    },
    /// The newest commits of the base branch.
    UpToDate,
    /// A merge through the queue.
    MergeQueue,
    /// No merge commits.
    LinearHistory,
    /// Signed commits.
    Signatures,
    /// A deployment that has succeeded to each of these.
    Deployments {
        /// Environments, by name.
        environments: Vec<String>,
    },
    /// Nobody changes the branch but who may pass the rules.
    Locked,
    /// Some people alone may change the branch.
    RestrictedPushes,
    /// One of these methods.
    MergeMethods {
        /// The methods.
        allowed: Vec<MergeMethod>,
    },
    /// A rule that this program does not judge.
    Other {
        /// The forge's name of it.
        name: String,
    },
}

/// Who wants a [`BaseRule`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RuleSource {
    /// A ruleset.
    Ruleset {
        /// Its number in the forge's database.
        id: u64,
        /// Its name, where that could be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Whose it is: `owner/repo`, an organization or an enterprise.
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
    /// The rulesets.
    Rulesets,
    /// The branch protection, or whether there is one.
    Protection,
    /// What of the branch protection administrators alone may see.
    ProtectionDetails,
}

/// The place of a pull request in a merge queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueuePlace {
    /// Its position; the first is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// The forge's own word, upper case: `QUEUED`, `AWAITING_CHECKS`, `UNMERGEABLE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl BaseRules {
    /// Nothing but what administrators alone may see is unread: the checks, the approvals, the
    /// threads and the history that the base branch wants are all known.
    #[must_use]
    pub fn knows_every_check(&self) -> bool {
        let hides = |unread: &UnreadRules| *unread != UnreadRules::ProtectionDetails;
        !self.unread.iter().any(hides)
    }

    /// Says once that rules are unread.
    pub fn mark_unread(&mut self, what: UnreadRules) {
        if !self.unread.contains(&what) {
            self.unread.push(what);
            self.unread.sort_unstable();
        }
    }
}
