//! The table of rules.

use serde::{Serialize, Serializer};

/// A rule that a pull request has to meet, most important first: final states, then tasks for
/// people, then conditions that pass with time.
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
    /// Repository and base branch allow a common merge method.
    MethodAllowed,
    /// The pull request is not a draft.
    NotDraft,
    /// The pull request that this one builds on is merged.
    DependencyMerged,
    /// No reviewer's latest opinion requests changes.
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
    /// Rules of the base branch that this program does not judge.
    OtherRules,
    /// The forge reports no other obstacle.
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
    /// The text of the blocker; empty if the rule has no blocker.
    pub blocker: &'static str,
    /// The position of the blocker, from 1.
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

/// Every rule, in the order of the requirements. Texts and order of blockers 1 to 5 are those of
/// requirement R-002-13.
pub const RULES: &[RuleInfo] = &[
    info(Rule::Open, "open", "the pull request is open", "", (0, "")),
    info(
        Rule::Indexed,
        "indexed",
        "the index shows this version of its record; listed where records are stored in one place \
         and shown in another (tangled)",
        "the index does not answer",
        (11, "Not shown by the index (WORD)"),
    ),
    info(
        Rule::NoConflicts,
        "no_conflicts",
        "head and base merge without conflicts",
        "the forge has not worked it out yet, or could not be asked",
        (6, "Merge conflicts with BASE"),
    ),
    info(
        Rule::BranchUnlocked,
        "branch_unlocked",
        "the base branch is not locked, or the forge would merge all the same; listed where it is \
         locked",
        "",
        (12, "BASE is locked"),
    ),
    info(
        Rule::MethodAllowed,
        "method_allowed",
        "repository and base branch have a merge method in common; listed where the base branch \
         chooses (a linear history, allowed methods)",
        "",
        (13, "No merge method is allowed for BASE"),
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
        "not every reviewer's latest opinion could be read",
        (2, "N reviewer(s) requested changes"),
    ),
    info(
        Rule::Approved,
        "approved",
        "the forge says APPROVED, or says nothing and as many who may push approve as the base branch \
         wants, one at least; listed where the forge has verdicts",
        "the forge says neither APPROVED nor that a review is missing, and not every reviewer's latest \
         opinion could be read",
        (4, "No approvals yet"),
    ),
    info(
        Rule::CodeOwnersApproved,
        "code_owners_approved",
        "the forge says APPROVED, or would merge; listed where the base branch wants a review by code \
         owners",
        "no code owner is asked for a review, or approvals that are missing besides hide whether \
         theirs is",
        (14, "Code owners have not approved: a, b"),
    ),
    info(
        Rule::LastPushApproved,
        "last_push_approved",
        "the forge says APPROVED, or would merge; listed where the base branch wants the last push \
         approved by somebody else",
        "the head is approved, perhaps by who pushed it",
        (15, "The last push is not approved"),
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
        "the threads could not be read, or not all of them and none of the others is open",
        (3, "N unresolved comment thread(s)"),
    ),
    info(
        Rule::CommitsSigned,
        "commits_signed",
        "the forge would merge; listed where the base branch wants signed commits",
        "the forge would not merge: whether commits are signed is not read",
        (0, ""),
    ),
    info(
        Rule::UpToDate,
        "up_to_date",
        "the forge would merge; listed where it would, where it says BEHIND, or where the base branch \
         wants its newest commits",
        "the forge says BLOCKED, which can hide BEHIND",
        (9, "Behind BASE"),
    ),
    info(
        Rule::PushAllowed,
        "push_allowed",
        "the viewer may push to the base branch; listed where that could be read",
        "the protection of the base branch may keep the viewer out",
        (16, "No right to push to BASE"),
    ),
    info(
        Rule::OtherRules,
        "other_rules",
        "the forge would merge; listed where the base branch has rules that are not judged here",
        "the forge would not merge",
        (0, ""),
    ),
    info(
        Rule::NotBlocked,
        "not_blocked",
        "the forge says CLEAN, UNSTABLE or HAS_HOOKS; listed where it says so, or BLOCKED, or where \
         rules of the base branch could not be read",
        "the forge says nothing of the kind, and rulesets or branch protection could not be read; or it \
         says BLOCKED, and no rule of the base branch that can be read explains it: the word can be \
         stale, and depends on who asks",
        (0, ""),
    ),
    info(
        Rule::Deployed,
        "deployed",
        "the forge would merge; listed where the base branch wants a deployment",
        "the forge would not merge: deployments are not read",
        (0, ""),
    ),
    info(
        Rule::ChecksReported,
        "checks_reported",
        "every check that is expected, or that the base branch wants, has reported, from the app that \
         it must come from; where none is wanted and none has reported, nothing about the pull \
         request has changed for 120 seconds; listed where the forge has checks",
        "no check has reported and the rules are not all known, or a push is less than 120 seconds \
         ago, or not all checks could be read: none is not the same as green; or a check that an app \
         must report is a commit status, which does not say whose it is",
        (8, "Expected checks have not reported: a, b"),
    ),
    info(
        Rule::ChecksFinished,
        "checks_finished",
        "no check is under way; listed where the forge has checks",
        "the checks could not be read",
        (7, "CI pending: a, b"),
    ),
    info(
        Rule::OutOfQueue,
        "out_of_queue",
        "it is not in the merge queue, into which a merge puts it; listed where the base branch has \
         one",
        "",
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
