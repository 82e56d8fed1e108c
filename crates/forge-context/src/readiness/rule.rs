//! The table of rules for the merge verdict.

use serde::{Serialize, Serializer};

/// A rule that a pull request has to meet before it can be merged.
///
/// The most important rules come first. Rules that stop all work are followed by rules that need a
/// person to act, and then by rules that become met with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The pull request is open.
    Open,
    /// The appview has indexed the record of the pull request.
    Indexed,
    /// Head and base merge without conflicts.
    NoConflicts,
    /// The base branch is not locked.
    BranchUnlocked,
    /// There is a merge method that both the repository and the base branch allow.
    MethodAllowed,
    /// The pull request is not a draft.
    NotDraft,
    /// The pull request that this one builds on is merged.
    DependencyMerged,
    /// No reviewer's latest review requests changes. A review that only comments is not counted.
    NoChangesRequested,
    /// Enough reviewers approve.
    Approved,
    /// An owner of the changed code has approved, where the base branch requires that.
    CodeOwnersApproved,
    /// A reviewer has approved the last push, where the base branch requires that.
    LastPushApproved,
    /// No check has failed.
    ChecksPassed,
    /// Every thread is resolved.
    ThreadsResolved,
    /// All commits are signed, where the base branch requires that.
    CommitsSigned,
    /// The head has the newest commits of the base, where the base branch requires that.
    UpToDate,
    /// The viewer has push access to the base branch.
    PushAllowed,
    /// The forge allows the merge under the rules of the base branch that this program cannot
    /// judge.
    OtherRules,
    /// The forge reports no obstacle beyond those that the other rules explain.
    NotBlocked,
    /// The head is deployed, where the base branch requires that.
    Deployed,
    /// Every expected check has reported.
    ChecksReported,
    /// Every check has finished.
    ChecksFinished,
    /// The pull request is not in a merge queue.
    OutOfQueue,
}

/// Description of a [`Rule`] for the documentation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RuleInfo {
    /// The rule.
    pub rule: Rule,
    /// The stable name.
    pub name: &'static str,
    /// The condition under which the status is met.
    pub met: &'static str,
    /// The condition under which the status is unknown; empty if it is always known.
    pub unknown: &'static str,
    /// The blocker text, which says what blocks the merge; empty if the rule has none.
    pub blocker: &'static str,
    /// The position of the blocker text in the list of blockers, from 1; 0 if the rule has none.
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

/// Every rule, in the order in which requirements are listed. Requirement R-002-13
/// (`docs/reference/requirements.md`) prescribes the texts and the order of blockers 1 to 5.
pub const RULES: &[RuleInfo] = &[
    info(Rule::Open, "open", "the pull request is open", "", (0, "")),
    info(
        Rule::Indexed,
        "indexed",
        "the index shows this version of the record; listed on forges that store records in one \
         place and show them in another (tangled)",
        "the index does not answer",
        (11, "Not shown by the index (WORD)"),
    ),
    info(
        Rule::NoConflicts,
        "no_conflicts",
        "head and base merge without conflicts",
        "the forge has not computed the mergeability yet, or it could not be read",
        (6, "Merge conflicts with BASE"),
    ),
    info(
        Rule::BranchUnlocked,
        "branch_unlocked",
        "the base branch is not locked, or the forge would merge despite the lock; listed if the \
         branch is locked",
        "",
        (12, "BASE is locked"),
    ),
    info(
        Rule::MethodAllowed,
        "method_allowed",
        "the repository and the base branch allow a common merge method; listed if the base branch \
         limits the methods (a linear history, allowed methods)",
        "the merge methods of the repository could not be read",
        (13, "No merge method is allowed for BASE"),
    ),
    info(
        Rule::NotDraft,
        "not_draft",
        "the pull request is not a draft",
        "whether it is a draft could not be read",
        (5, "PR is still in draft"),
    ),
    info(
        Rule::DependencyMerged,
        "dependency_merged",
        "the pull request that this one builds on is merged; listed if there is one",
        "the other pull request could not be read, or the forge did not tell whether there is one",
        (10, "Depends on #N, which is not merged"),
    ),
    info(
        Rule::NoChangesRequested,
        "no_changes_requested",
        "no reviewer's latest opinion requests changes; listed on forges with review verdicts",
        "the latest opinion of some reviewers could not be read",
        (2, "N reviewer(s) requested changes"),
    ),
    info(
        Rule::Approved,
        "approved",
        "the forge says APPROVED; or it says nothing, and the approvals by accounts with push \
         access reach the number that the base branch requires, at least one; listed on forges \
         with review verdicts",
        "the latest opinion of some reviewers or the decision of the forge could not be read, and \
         the forge reports neither APPROVED nor a missing review",
        (4, "No approvals yet"),
    ),
    info(
        Rule::CodeOwnersApproved,
        "code_owners_approved",
        "the forge says APPROVED, or would merge now; listed if the base branch requires a review \
         by code owners",
        "no code owner is asked for a review, or other missing approvals hide whether an owner's \
         approval is missing",
        (14, "Code owners have not approved: a, b"),
    ),
    info(
        Rule::LastPushApproved,
        "last_push_approved",
        "the forge says APPROVED, or would merge now; listed if the base branch requires that \
         another account approves the last push",
        "the head is approved, but perhaps only by the account that pushed it",
        (15, "The last push is not approved"),
    ),
    info(
        Rule::ChecksPassed,
        "checks_passed",
        "no check of the head failed or was cancelled; listed on forges with checks",
        "some or all checks could not be read, and none of the others failed",
        (1, "CI failing: a, b"),
    ),
    info(
        Rule::ThreadsResolved,
        "threads_resolved",
        "every review thread is resolved; listed on forges with review threads",
        "some or all threads could not be read, and no thread that was read is open",
        (3, "N unresolved comment thread(s)"),
    ),
    info(
        Rule::CommitsSigned,
        "commits_signed",
        "the forge would merge now; listed if the base branch requires signed commits",
        "the forge would not merge now, and signatures are not read",
        (0, ""),
    ),
    info(
        Rule::UpToDate,
        "up_to_date",
        "the forge would merge now; listed if it would, if it says BEHIND, or if the base branch \
         requires its newest commits in the head",
        "the forge says BLOCKED, which can mask BEHIND",
        (9, "Behind BASE"),
    ),
    info(
        Rule::PushAllowed,
        "push_allowed",
        "the viewer may push to the base branch; listed if the viewer's rights could be read",
        "the protection of the base branch may refuse the viewer's push, or the viewer's rights \
         could not be read",
        (16, "No right to push to BASE"),
    ),
    info(
        Rule::OtherRules,
        "other_rules",
        "the forge would merge now; listed if the base branch has rules that this program does not \
         judge",
        "the forge would not merge now",
        (0, ""),
    ),
    info(
        Rule::NotBlocked,
        "not_blocked",
        "the forge says CLEAN, UNSTABLE or HAS_HOOKS; listed if it says one of these or BLOCKED, \
         or if its merge state or rules of the base branch could not be read",
        "the merge state could not be read; or the forge says none of these, and rulesets or branch \
         protection could not be read; or it says BLOCKED, and no readable rule of the base branch explains that: BLOCKED can be \
         stale, and depends on who asks",
        (0, ""),
    ),
    info(
        Rule::Deployed,
        "deployed",
        "the forge would merge now; listed if the base branch requires a deployment",
        "the forge would not merge now, and deployments are not read",
        (0, ""),
    ),
    info(
        Rule::ChecksReported,
        "checks_reported",
        "every check that the forge expects or the base branch requires has reported, from the \
         required app, and at least one check has reported; listed on forges with checks",
        "no check has reported, also if none is required (a missing check does not count as \
         passed); or some checks could not be read; or a check that an app must report names no \
         app, as a commit status",
        (8, "Expected checks have not reported: a, b"),
    ),
    info(
        Rule::ChecksFinished,
        "checks_finished",
        "no check is queued or running; listed on forges with checks",
        "some or all checks could not be read, and all others have finished",
        (7, "CI pending: a, b"),
    ),
    info(
        Rule::OutOfQueue,
        "out_of_queue",
        "the pull request is not in the merge queue yet: a merge adds it there; listed if the base \
         branch has a queue",
        "the merge queue could not be read",
        (17, "In the merge queue"),
    ),
];

impl Rule {
    pub(super) fn info(self) -> Option<&'static RuleInfo> {
        RULES.iter().find(|info| info.rule == self)
    }

    /// Returns the stable name.
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
