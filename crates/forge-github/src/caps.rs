//! Declares the capabilities and limits of the GitHub backend.

use forge_core::{
    Action, Arg, Capabilities,
    Capability::{self, *},
    Error, ErrorKind, Hint, Limits, Param, Support,
};

const fn yes(capability: Capability) -> (Capability, Support) {
    (capability, Support::Native)
}

const fn no(
    capability: Capability,
    why: &'static str,
    instead: &'static Hint,
) -> (Capability, Support) {
    (capability, Support::No { why, instead })
}

/// Returns the error for a capability that neither github.com nor an Enterprise Server has.
pub(crate) fn refusal(capability: Capability) -> Error {
    match CAPABILITIES.get(capability) {
        Support::No { why, instead } => Error::unsupported(capability, why, instead),
        _ => Error::new(
            ErrorKind::Internal,
            format!("{} was refused although it is supported", capability.name()),
        ),
    }
}

/// The capabilities of github.com and ghe.com.
pub static CAPABILITIES: Capabilities = Capabilities {
    table: &CLOUD,
    limits: LIMITS,
};

/// The capabilities of GitHub Enterprise Server.
pub static SERVER_CAPABILITIES: Capabilities = Capabilities {
    table: &SERVER,
    limits: LIMITS,
};

static CLOUD: [(Capability, Support); Capability::ALL.len()] = table(Support::Native);
static SERVER: [(Capability, Support); Capability::ALL.len()] = table(Support::No {
    why: "a GitHub Enterprise Server has no store for attachments",
    instead: &LINK_TO_FILE,
});

static LINK_TO_FILE: Hint = Hint::new("commit the file, and link to it");
static APPLY_PATCH: Hint = Hint::fixed(
    "apply the patch to a branch with `git am`, push it, and open the pull request from it",
    Action::again(&[(Param::Patch, Arg::Omit), (Param::Head, Arg::Choose)]),
);
static PUSH: Hint = Hint::new("push to the head branch");
static RANGE_DIFF: Hint = Hint::new("compare two heads of the branch with `git range-diff`");

pub(crate) const LIMITS: Limits = Limits {
    title_max: 256,
    body_max: 65_536,
    labels_max: Some(100),
    page_max: 100,
    has_pull_per_account: false,
};

const fn table(attachments: Support) -> [(Capability, Support); Capability::ALL.len()] {
    [
        yes(PrCreate),
        yes(PrCreateDraft),
        yes(PrCreateCrossRepository),
        no(
            PrCreatePatch,
            "a pull request on GitHub is made from a branch",
            &APPLY_PATCH,
        ),
        yes(PrCreateEdits),
        // GitHub's stacks, a public preview since 2026-07-30: docs.github.com/en/rest/pulls/stacks.
        yes(PrCreateDependent),
        yes(PrCreateCloses),
        yes(PrList),
        yes(PrListSearch),
        yes(PrListApp),
        yes(PrView),
        yes(PrEdit),
        yes(PrEditBase),
        no(
            PrResubmit,
            "a pull request on GitHub has no rounds: it shows what its head branch has",
            &PUSH,
        ),
        yes(PrUpdateBranch),
        yes(PrLabels),
        yes(PrAssignees),
        yes(PrReviewers),
        yes(PrReviewersTeam),
        yes(PrMilestone),
        yes(PrProjects),
        yes(PrClose),
        yes(PrReopen),
        yes(PrDraft),
        yes(PrLock),
        yes(PrRevert),
        yes(PrDeleteBranch),
        yes(PrMergeability),
        yes(MergeCommit),
        yes(MergeSquash),
        yes(MergeRebase),
        yes(MergeExpectedHead),
        yes(MergeAuto),
        yes(MergeAdmin),
        yes(PrDiff),
        yes(PrPatch),
        no(
            PrRounds,
            "a pull request on GitHub has no rounds: it shows what its head branch has",
            &RANGE_DIFF,
        ),
        yes(PrFiles),
        yes(PrCommits),
        yes(PrHistory),
        yes(Comments),
        (
            CommentReply,
            Support::Emulated {
                how: "GitHub has replies only in threads on lines; a reply to any other comment is \
                      a new comment that quotes it",
            },
        ),
        yes(CommentEdit),
        yes(CommentDelete),
        yes(ReviewVerdict),
        yes(ReviewInline),
        yes(ReviewPending),
        yes(ReviewDismiss),
        yes(ThreadResolve),
        (Attachments, attachments),
        yes(Checks),
        yes(CheckLogs),
        yes(ChecksRerun),
        yes(IssueList),
        yes(IssueListSearch),
        yes(IssueView),
        yes(IssueCreate),
        yes(IssueEdit),
        yes(IssueState),
        yes(IssueReason),
        yes(IssueDuplicateOf),
        yes(IssueComment),
        yes(IssueCommentEdit),
        yes(IssueCommentOrder),
        yes(IssueDelete),
        yes(IssueHistory),
        yes(IssueMilestone),
        yes(IssueTypes),
        yes(IssueProjects),
        yes(IssueRelations),
        yes(IssueValues),
        yes(IssueBoard),
        yes(IssueFieldEdit),
        no(
            IssueSwap,
            "GitHub has no conditional update of issues: an edit overwrites newer changes",
            const { &Hint::new("pass the version anyway: forge compares it right before the edit") },
        ),
        (
            IssueClaim,
            Support::Emulated {
                how: "ordered: the claim is a comment, and the first in GitHub's order counts; the \
                      later of two is withdrawn",
            },
        ),
        yes(Links),
        yes(LabelList),
        yes(LabelEdit),
        no(
            LabelValues,
            "a label on GitHub has no values",
            const { &Hint::new("define a label for each value") },
        ),
        yes(RepoFile),
        yes(BranchPush),
        yes(RepoFork),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_has_one_row_in_table() {
        for capabilities in [&CAPABILITIES, &SERVER_CAPABILITIES] {
            let rows: Vec<_> = capabilities.table.iter().map(|(c, _)| *c).collect();
            assert_eq!(rows, Capability::ALL);
        }
    }
}
