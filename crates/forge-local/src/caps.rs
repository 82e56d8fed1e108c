//! The capabilities and limits of the local backend.

use std::borrow::Cow;

use forge_core::{
    Action, Arg, Call, Capabilities, Capability as C, Error, Hint, Limits, Op, Param,
    Support::{self, ClientSide, Native, No},
};

use crate::Local;

/// The limits of GitHub, so that local pull requests and issues can be moved to GitHub.
pub(crate) const LIMITS: Limits = Limits {
    title_max: 256,
    body_max: 65_536,
    labels_max: Some(100),
    page_max: 100,
    has_pull_per_account: false,
};

/// Hint where CI checks are unsupported: run the tests on this machine.
static TEST_YOURSELF: Hint = Hint::fixed(
    "run the tests on the head yourself and say so in a review",
    Action::fixed(
        Call::Op(Op::ReviewSubmit),
        &[
            (Param::Verdict, Arg::Set(Cow::Borrowed("comment"))),
            (Param::Body, Arg::Choose),
        ],
    ),
);

/// The capabilities of this backend, with a reason for each unsupported one.
pub static CAPABILITIES: Capabilities = Capabilities {
    table: &[
        (C::PrCreate, Native),
        (C::PrCreateDraft, Native),
        (
            C::PrCreateCrossRepository,
            No {
                why: "a git repository does not know its forks",
                instead: &Hint::fixed(
                    "fetch the branch into this repository and open the pull request from it",
                    Action::again(&[(Param::Head, Arg::Choose)]),
                ),
            },
        ),
        (C::PrCreatePatch, Native),
        (C::PrCreateEdits, Native),
        (C::PrCreateDependent, Native),
        (
            C::PrCreateCloses,
            Support::Emulated {
                how: "a merge made by forge closes them",
            },
        ),
        (C::PrList, Native),
        (
            C::PrListSearch,
            Support::ClientSide {
                how: "forge reads every candidate and matches it itself",
            },
        ),
        (
            C::PrListApp,
            No {
                why: "no app opens pull requests in a git repository",
                instead: &Hint::fixed(
                    "list by author",
                    Action::fixed(Call::Op(Op::PrList), &[(Param::Author, Arg::Choose)]),
                ),
            },
        ),
        (C::PrView, Native),
        (C::PrEdit, Native),
        (C::PrEditBase, Native),
        (
            C::PrResubmit,
            No {
                why: "a pull request in a git repository has no rounds: it follows its head branch",
                instead: &Hint::new("commit or push to the head branch"),
            },
        ),
        (C::PrUpdateBranch, Native),
        (C::PrLabels, Native),
        (C::PrAssignees, Native),
        (C::PrReviewers, Native),
        (
            C::PrReviewersTeam,
            No {
                why: "a git repository has no teams",
                instead: &Hint::new("ask the members, each by login"),
            },
        ),
        (
            C::PrMilestone,
            No {
                why: "a git repository has no milestones",
                instead: &Hint::new("use a label"),
            },
        ),
        (
            C::PrProjects,
            No {
                why: "a git repository has no project boards",
                instead: &Hint::new("use labels"),
            },
        ),
        (C::PrClose, Native),
        (C::PrReopen, Native),
        (C::PrDraft, Native),
        (
            C::PrLock,
            No {
                why: "everybody who may write to a git repository may write comments in it",
                instead: &Hint::fixed("close the pull request", Action::op(Op::PrClose)),
            },
        ),
        (C::PrRevert, Native),
        (C::PrDeleteBranch, Native),
        (C::PrMergeability, Native),
        (C::MergeCommit, Native),
        (C::MergeSquash, Native),
        (C::MergeRebase, Native),
        (C::MergeExpectedHead, Native),
        (
            C::MergeAuto,
            No {
                why: "a plain git repository has no server that could wait",
                instead: &Hint::fixed(
                    "merge when it is ready",
                    Action::again(&[(Param::Auto, Arg::Omit)]),
                ),
            },
        ),
        (
            C::MergeAdmin,
            No {
                why: "a plain git repository has no requirements that could be bypassed",
                instead: &Hint::fixed(
                    "merge without the bypass",
                    Action::again(&[(Param::Admin, Arg::Omit)]),
                ),
            },
        ),
        (C::PrDiff, Native),
        (C::PrPatch, Native),
        (
            C::PrRounds,
            No {
                why: "a pull request in a git repository has no rounds: it follows its head branch",
                instead: &Hint::new("compare two heads of the branch with `git range-diff`"),
            },
        ),
        (C::PrFiles, Native),
        (C::PrCommits, Native),
        (C::PrHistory, Native),
        (C::Comments, Native),
        (C::CommentReply, Native),
        (C::CommentEdit, Native),
        (C::CommentDelete, Native),
        (C::ReviewVerdict, Native),
        (C::ReviewInline, Native),
        (
            C::ReviewPending,
            No {
                why: "a comment in a git repository is visible to every reader, so none can be \
                      kept pending",
                // The same call without `pending` would publish an unfinished review, so the hint
                // has no action.
                instead: &Hint::new(
                    "collect the comments in a file, and submit them in one review",
                ),
            },
        ),
        (C::ReviewDismiss, Native),
        (C::ThreadResolve, Native),
        (
            C::Attachments,
            No {
                why: "a plain git repository has no server that would show the file",
                instead: &Hint::new("commit the file to the branch, and name its path"),
            },
        ),
        (
            C::Checks,
            No {
                why: "a plain git repository runs no checks and stores no results of them",
                instead: &TEST_YOURSELF,
            },
        ),
        (
            C::CheckLogs,
            No {
                why: "a plain git repository runs no checks and stores no results of them",
                instead: &TEST_YOURSELF,
            },
        ),
        (
            C::ChecksRerun,
            No {
                why: "a plain git repository runs no checks and stores no results of them",
                instead: &TEST_YOURSELF,
            },
        ),
        (C::IssueList, Native),
        (
            C::IssueMilestone,
            No {
                why: "a git repository has no milestones",
                instead: &Hint::new("use a label"),
            },
        ),
        (
            C::IssueTypes,
            No {
                why: "an issue in a git repository has no type",
                instead: &Hint::new("use a label"),
            },
        ),
        (
            C::IssueProjects,
            No {
                why: "a git repository has no project boards",
                instead: &Hint::new("use labels"),
            },
        ),
        (
            C::IssueListSearch,
            No {
                why: "a git repository has no search index for issues, and no milestones",
                instead: &Hint::fixed(
                    "list by author, assignee or label",
                    Action::fixed(Call::Op(Op::IssueList), &[(Param::Author, Arg::Choose)]),
                ),
            },
        ),
        (C::IssueView, Native),
        (C::IssueCreate, Native),
        (C::IssueEdit, Native),
        (C::IssueState, Native),
        (C::IssueReason, Native),
        (
            C::IssueDuplicateOf,
            Support::Emulated {
                how: "the closing comment says `Duplicate of` and the number of the other issue",
            },
        ),
        (C::IssueComment, Native),
        (C::IssueCommentEdit, Native),
        (C::IssueCommentOrder, Native),
        (C::IssueDelete, Native),
        (C::IssueHistory, Native),
        (C::IssueRelations, Native),
        (C::IssueValues, Native),
        (
            C::IssueBoard,
            No {
                why: "an issue in a git repository keeps its fields itself",
                instead: &Hint::new("name the field without a board"),
            },
        ),
        (
            C::IssueFieldEdit,
            No {
                why: "a git repository takes any value in any field of an issue",
                instead: &Hint::new("set the value, which also creates the field"),
            },
        ),
        (C::IssueSwap, Native),
        (
            C::IssueClaim,
            Support::Emulated {
                how: "exclusive: the claim is a comment, written with the move in one commit, only \
                      if the issue is unchanged",
            },
        ),
        (
            C::Links,
            ClientSide {
                how: "every text is searched for the number by git, in one process",
            },
        ),
        (C::LabelList, Native),
        (C::LabelEdit, Native),
        (
            C::LabelValues,
            No {
                why: "a label of a git repository has no values",
                instead: &Hint::new("define a label for each value"),
            },
        ),
        (C::RepoFile, Native),
        (C::BranchPush, Native),
        (
            C::RepoFork,
            No {
                why: "a copy of a git repository is a clone, made with git",
                instead: &Hint::new("run `git clone`"),
            },
        ),
    ],
    limits: LIMITS,
};

impl Local {
    pub(crate) fn unsupported(capability: C) -> Error {
        match CAPABILITIES.get(capability) {
            No { why, instead } => Error::unsupported(capability, why, instead),
            _ => Error::new(
                forge_core::ErrorKind::Internal,
                format!("{} was refused although it is supported", capability.name()),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_has_one_row() {
        for capability in C::ALL {
            let rows = CAPABILITIES
                .table
                .iter()
                .filter(|(c, _)| c == capability)
                .count();
            assert_eq!(rows, 1, "{}", capability.name());
        }
    }
}
