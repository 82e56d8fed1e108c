//! Capabilities of tangled and of this backend.

use std::borrow::Cow;

use forge_core::{
    Action, Arg, Call, Capabilities,
    Capability::{self, *},
    Error, Hint, Limits, Op, Param, Support,
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

/// Makes a constant hint from a text, or from a text and an action.
macro_rules! hint {
    ($text:literal) => {
        const { &Hint::new($text) }
    };
    ($text:literal, $action:expr) => {
        const { &Hint::fixed($text, $action) }
    };
}

type Rows = [(Capability, Support); Capability::ALL.len()];

const NO_DRAFTS: Support = Support::No {
    why: "tangled has no drafts",
    instead: hint!(
        "configure a marker for drafts (`hosts.tangled.org.draft_marker`): forge puts it in front \
         of the title, and removes it when the pull request is ready",
        Action::fixed(
            Call::ConfigSet,
            &[
                (
                    Param::Key,
                    Arg::Set(Cow::Borrowed("hosts.tangled.org.draft_marker"))
                ),
                (Param::Value, Arg::Set(Cow::Borrowed("[draft]"))),
            ],
        )
    ),
};
const NO_VERDICTS: Support = Support::No {
    why: "tangled has no approvals and no requests for changes",
    instead: hint!(
        "write a comment, or set `hosts.tangled.org.verdict_comments`; forge then writes verdicts \
         as comments, and reads them back",
        Action::again(&[(Param::Verdict, Arg::Set(Cow::Borrowed("comment")))])
    ),
};
const DRAFTS: Support = Support::Emulated {
    how: "the configured marker in front of the title",
};
const VERDICTS: Support = Support::Emulated {
    how: "a comment whose first line says the verdict and the round",
};

/// Returns the capabilities of a repository with the protocol of 2026. Support for drafts and
/// review verdicts depends on the configuration.
const fn rows(drafts: Support, verdicts: Support) -> Rows {
    [
        yes(PrCreate),
        (PrCreateDraft, drafts),
        yes(PrCreateCrossRepository),
        yes(PrCreatePatch),
        (
            PrCreateEdits,
            Support::ClientSide {
                how: "forge makes the patch, from the edited files as the knot has them",
            },
        ),
        yes(PrCreateDependent),
        (
            PrCreateCloses,
            Support::ClientSide {
                how: "tangled itself closes no issue: a merge made by forge closes those that a \
                      closing word of the description names (`Closes #7`, a link or an at-uri), \
                      and those that the pull request's own record lists in `references`",
            },
        ),
        yes(PrList),
        (
            PrListSearch,
            Support::ClientSide {
                how: "forge reads the index's list of the repository and matches it itself",
            },
        ),
        no(
            PrListApp,
            "tangled does not distinguish accounts of people and of apps",
            hint!(
                "list by author",
                Action::fixed(Call::Op(Op::PrList), &[(Param::Author, Arg::Choose)])
            ),
        ),
        yes(PrView),
        yes(PrEdit),
        no(
            PrEditBase,
            "a round is a patch that was made against its target branch",
            hint!(
                "open a new pull request to the other branch",
                Action::fixed(Call::Op(Op::PrCreate), &[(Param::Base, Arg::Choose)])
            ),
        ),
        (
            PrResubmit,
            Support::Emulated {
                how: "a round is a patch in the author's record; a record with versions, which are \
                      pairs of commits, is refused, because no knot declares a method for them",
            },
        ),
        no(
            PrUpdateBranch,
            "a round is a patch, and stays as it was submitted",
            hint!(
                "rebase the branch, then submit another round",
                Action::op(Op::PrResubmit)
            ),
        ),
        yes(PrLabels),
        (
            PrAssignees,
            Support::Emulated {
                how: "through the label 'assignee' with accounts as values, if the repository uses \
                      that label",
            },
        ),
        no(
            PrReviewers,
            "tangled has no requests for reviews",
            hint!("mention the account in the description or in a comment"),
        ),
        no(
            PrReviewersTeam,
            "tangled has no teams",
            hint!("mention the accounts in the description or in a comment"),
        ),
        no(
            PrMilestone,
            "tangled has no milestones",
            hint!("use a label"),
        ),
        no(
            PrProjects,
            "tangled has no project boards",
            hint!("use a label"),
        ),
        yes(PrClose),
        yes(PrReopen),
        (PrDraft, drafts),
        no(
            PrLock,
            "tangled has no locks: everybody writes comments into an account of their own",
            hint!("close the pull request", Action::op(Op::PrClose)),
        ),
        no(
            PrRevert,
            "a knot applies patches, but makes none that reverts a merge",
            hint!(
                "run `git revert` in a clone, and open a pull request with the commit",
                Action::op(Op::PrCreate)
            ),
        ),
        yes(PrDeleteBranch),
        yes(PrMergeability),
        no(
            MergeCommit,
            "a knot applies the commits of a round as they are, as git am does",
            hint!(
                "merge by rebasing",
                Action::again(&[(Param::Method, Arg::Set(Cow::Borrowed("rebase")))])
            ),
        ),
        no(
            MergeSquash,
            "a knot applies the commits of a round as they are, as git am does",
            hint!(
                "squash the branch, submit another round, and merge that",
                Action::op(Op::PrResubmit)
            ),
        ),
        (
            MergeRebase,
            Support::Emulated {
                how: "a knot applies the patch of the newest round; a pull request with versions, \
                      which are pairs of commits, is refused, because no knot declares a method \
                      for them",
            },
        ),
        (
            MergeExpectedHead,
            Support::ClientSide {
                how: "forge sends the patch of the checked round, so exactly that patch is merged",
            },
        ),
        no(
            MergeAuto,
            "tangled does not merge by itself",
            hint!(
                "merge when it is ready",
                Action::again(&[(Param::Auto, Arg::Omit)])
            ),
        ),
        no(
            MergeAdmin,
            "tangled has no requirements that could be bypassed",
            hint!(
                "merge without bypassing requirements",
                Action::again(&[(Param::Admin, Arg::Omit)])
            ),
        ),
        yes(PrDiff),
        yes(PrPatch),
        yes(PrRounds),
        yes(PrFiles),
        yes(PrCommits),
        yes(PrHistory),
        yes(Comments),
        yes(CommentReply),
        yes(CommentEdit),
        yes(CommentDelete),
        (ReviewVerdict, verdicts),
        no(
            ReviewInline,
            "tangled has no comments on lines",
            hint!(
                "name the file and the line in a comment",
                Action::fixed(Call::Op(Op::Comment), &[(Param::Body, Arg::Choose)])
            ),
        ),
        no(
            ReviewPending,
            "a comment on tangled is a public record",
            // The same call without `pending` would publish an unfinished review, so the hint has
            // no action.
            hint!("write the comments when the review is finished"),
        ),
        no(
            ReviewDismiss,
            "a verdict on tangled is a comment, which belongs to the account of its author",
            hint!("ask its author for another verdict"),
        ),
        no(
            ThreadResolve,
            "tangled has no review threads",
            hint!("answer the comment"),
        ),
        no(
            Attachments,
            "tangled's records of pull requests and comments hold no files",
            hint!(
                "commit the file to the branch, and name its path",
                Action::again(&[(Param::Attach, Arg::Omit)])
            ),
        ),
        yes(Checks),
        no(
            CheckLogs,
            "a spindle provides logs only by subscription",
            hint!("look at the page of the pipeline"),
        ),
        no(
            ChecksRerun,
            "a spindle runs a pipeline once for what was pushed or submitted",
            hint!("submit another round"),
        ),
        yes(IssueList),
        no(
            IssueListSearch,
            "the index of tangled searches no issues, and tangled has no milestones",
            hint!(
                "list by author, assignee or label",
                Action::fixed(Call::Op(Op::IssueList), &[(Param::Author, Arg::Choose)])
            ),
        ),
        yes(IssueView),
        yes(IssueCreate),
        yes(IssueEdit),
        yes(IssueState),
        no(
            IssueReason,
            "the state of an issue on tangled is open or closed, without a reason",
            hint!(
                "say why in a comment",
                Action::fixed(Call::Op(Op::IssueComment), &[(Param::Body, Arg::Choose)])
            ),
        ),
        no(
            IssueDuplicateOf,
            "the state of an issue on tangled is open or closed, and names no other issue",
            hint!(
                "name the other issue in a comment, then close the issue",
                Action::fixed(Call::Op(Op::IssueComment), &[(Param::Body, Arg::Choose)])
            ),
        ),
        yes(IssueComment),
        yes(IssueCommentEdit),
        no(
            IssueCommentOrder,
            "authors set the times of their own records, so comments have no independent order",
            hint!("check who wrote the comments, and agree on the order with them"),
        ),
        yes(IssueDelete),
        yes(IssueHistory),
        no(
            IssueMilestone,
            "tangled has no milestones",
            hint!("use a label"),
        ),
        no(
            IssueTypes,
            "an issue on tangled has no type",
            hint!("use a label"),
        ),
        no(
            IssueProjects,
            "tangled has no project boards",
            hint!("use a label"),
        ),
        (
            IssueRelations,
            Support::Emulated {
                how: "labels named parent and blocked-by, whose values are the at-uris of issues",
            },
        ),
        (
            IssueValues,
            Support::Emulated {
                how: "a field is a label with values",
            },
        ),
        no(
            IssueBoard,
            "tangled has no boards",
            hint!("name the field without a board: it is a label with values"),
        ),
        (
            IssueFieldEdit,
            Support::Emulated {
                how: "a field is a label with values",
            },
        ),
        no(
            IssueSwap,
            "an issue's state, labels and comments are records of several accounts, which cannot \
             be changed conditionally",
            hint!("pass the version anyway: forge compares it right before the edit"),
        ),
        (
            IssueClaim,
            Support::Emulated {
                how: "advisory: a claim is a comment, and the one with the earliest time wins; \
                      authors set these times themselves, so a race is reported",
            },
        ),
        (
            Links,
            Support::ClientSide {
                how: "forge reads the index's lists of the repository and searches them itself",
            },
        ),
        yes(LabelList),
        yes(LabelEdit),
        yes(LabelValues),
        yes(RepoFile),
        no(
            BranchPush,
            "a knot takes commits only by git",
            hint!("push with git, or submit a new round with a patch"),
        ),
        no(
            RepoFork,
            "a pull request on tangled needs no fork: it can be made from a patch",
            hint!(
                "open the pull request from a patch",
                Action::fixed(Call::Op(Op::PrCreate), &[(Param::Patch, Arg::Choose)])
            ),
        ),
    ]
}

/// Tangled limits neither titles nor bodies nor labels. A PDS (account server) accepts a record of a
/// million bytes, so no longer text can be written.
pub(crate) const LIMITS: Limits = Limits {
    title_max: 1_000_000,
    body_max: 1_000_000,
    labels_max: None,
    page_max: 100,
    has_pull_per_account: true,
};

const fn table(table: &'static Rows) -> Capabilities {
    Capabilities {
        table,
        limits: LIMITS,
    }
}

static PLAIN: Rows = rows(NO_DRAFTS, NO_VERDICTS);
static WITH_DRAFTS: Rows = rows(DRAFTS, NO_VERDICTS);
static WITH_VERDICTS: Rows = rows(NO_DRAFTS, VERDICTS);
static WITH_BOTH: Rows = rows(DRAFTS, VERDICTS);

/// Tangled's capabilities if neither drafts nor verdicts are configured.
pub static CAPABILITIES: Capabilities = table(&PLAIN);
static CAPABILITIES_WITH_DRAFTS: Capabilities = table(&WITH_DRAFTS);
static CAPABILITIES_WITH_VERDICTS: Capabilities = table(&WITH_VERDICTS);
static CAPABILITIES_WITH_BOTH: Capabilities = table(&WITH_BOTH);

/// Returns the capabilities of a host. `drafts` and `verdicts` say whether its configuration
/// enables them.
pub(crate) fn with(drafts: bool, verdicts: bool) -> &'static Capabilities {
    match (drafts, verdicts) {
        (false, false) => &CAPABILITIES,
        (true, false) => &CAPABILITIES_WITH_DRAFTS,
        (false, true) => &CAPABILITIES_WITH_VERDICTS,
        (true, true) => &CAPABILITIES_WITH_BOTH,
    }
}

pub(crate) fn refusal(capability: Capability) -> Error {
    match CAPABILITIES.get(capability) {
        Support::No { why, instead } => Error::unsupported(capability, why, instead),
        _ => Error::unsupported(
            capability,
            "this backend does not support the operation here",
            "use the web",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_has_a_row() {
        let rows: Vec<_> = CAPABILITIES.table.iter().map(|(c, _)| *c).collect();
        assert_eq!(rows, Capability::ALL);
    }
}
