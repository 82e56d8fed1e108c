//! The capabilities of a forge. An unsupported capability states its reason and an alternative.

use serde::{Serialize, Serializer};

use crate::{
    Hint, Limits,
    op::{Effect, Op},
};

macro_rules! capabilities {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $title:literal;)*) => {
        /// A feature that a forge has or lacks.
        ///
        /// Names follow `<noun>.<verb>[.<variant>]`. [`Capability::name`] is stable:
        /// `forge capabilities --json`, errors and docs print the name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Capability { $($(#[$doc])* $variant,)* }

        impl Capability {
            /// Every capability, in the order of the docs.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable name, such as `pr.create`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the operation in words, as the start of a sentence.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

capabilities! {
    /// Open a pull request.
    PrCreate = "pr.create", "Opening a pull request";
    /// Open a pull request as a draft.
    PrCreateDraft = "pr.create.draft", "Opening a draft pull request";
    /// Open a pull request from a branch of another repository (a fork).
    PrCreateCrossRepository = "pr.create.cross_repository", "Opening a pull request from a fork";
    /// Open a pull request from a patch, without a branch that has the changes.
    PrCreatePatch = "pr.create.patch", "Opening a pull request from a patch";
    /// Open a pull request from whole files, without a clone.
    PrCreateEdits = "pr.create.edits", "Opening a pull request from edits of files";
    /// Open a pull request stacked on another one.
    PrCreateDependent = "pr.create.dependent", "Opening a pull request that depends on another";
    /// List in the description the issues that the merge closes.
    PrCreateCloses = "pr.create.closes", "Naming the issues that a pull request closes";
    /// List pull requests.
    PrList = "pr.list", "Listing pull requests";
    /// Free text and qualifiers in a list.
    PrListSearch = "pr.list.search", "Searching pull requests";
    /// List only the pull requests that a GitHub app opened.
    PrListApp = "pr.list.app", "Listing the pull requests of an app";
    /// View a pull request.
    PrView = "pr.view", "Viewing a pull request";
    /// Change title and description.
    PrEdit = "pr.edit", "Editing a pull request";
    /// Change the base branch.
    PrEditBase = "pr.edit.base", "Changing the base branch";
    /// Submit another round of changes.
    PrResubmit = "pr.resubmit", "Submitting another round";
    /// Bring the head branch up to date with the base.
    PrUpdateBranch = "pr.update_branch", "Updating the head branch";
    /// Labels on pull requests.
    PrLabels = "pr.labels", "Labelling a pull request";
    /// Assignees.
    PrAssignees = "pr.assignees", "Assigning a pull request";
    /// Requested reviewers, by account.
    PrReviewers = "pr.reviewers", "Requesting a review";
    /// Requested reviewers, by team.
    PrReviewersTeam = "pr.reviewers.team", "Requesting a review from a team";
    /// Milestones.
    PrMilestone = "pr.milestone", "Setting a milestone";
    /// Project boards.
    PrProjects = "pr.projects", "Adding a pull request to a project";
    /// Close without merging.
    PrClose = "pr.close", "Closing a pull request";
    /// Reopen.
    PrReopen = "pr.reopen", "Reopening a pull request";
    /// Switch a pull request between draft and ready.
    PrDraft = "pr.draft", "Switching between draft and ready";
    /// Lock or unlock the conversation.
    PrLock = "pr.lock", "Locking a conversation";
    /// Open a pull request that reverts a merged one.
    PrRevert = "pr.revert", "Reverting a merged pull request";
    /// Delete the head branch when closing or merging.
    PrDeleteBranch = "pr.delete_branch", "Deleting the head branch";
    /// Check in advance whether a merge would succeed.
    PrMergeability = "pr.mergeability", "Checking whether a pull request can be merged";
    /// Merge with a merge commit.
    MergeCommit = "pr.merge.merge", "Merging with a merge commit";
    /// Merge by squashing.
    MergeSquash = "pr.merge.squash", "Merging by squash";
    /// Merge by rebasing.
    MergeRebase = "pr.merge.rebase", "Merging by rebase";
    /// Refuse the merge when the head moved.
    MergeExpectedHead = "pr.merge.expected_head", "Merging only at an expected head";
    /// Let the forge merge once the requirements are met.
    MergeAuto = "pr.merge.auto", "Merging automatically later";
    /// Merge despite unmet requirements.
    MergeAdmin = "pr.merge.admin", "Merging past unmet requirements";
    /// The unified diff.
    PrDiff = "pr.diff", "Reading the diff";
    /// The commits as a patch series.
    PrPatch = "pr.diff.patch", "Reading the patch series";
    /// The diff of an earlier round, or between two rounds.
    PrRounds = "pr.diff.rounds", "Reading the rounds";
    /// The changed files.
    PrFiles = "pr.files", "Listing the changed files";
    /// The commits.
    PrCommits = "pr.commits", "Listing the commits";
    /// Read the status history: who opened, closed and merged, and when.
    PrHistory = "pr.history", "Reading the status history";
    /// Comment on a pull request.
    Comments = "comment.create", "Commenting";
    /// Replies to a comment.
    CommentReply = "comment.reply", "Replying to a comment";
    /// Edit a comment of the viewer.
    CommentEdit = "comment.edit", "Editing a comment";
    /// Delete a comment of the viewer.
    CommentDelete = "comment.delete", "Deleting a comment";
    /// Approve or request changes.
    ReviewVerdict = "review.verdict", "Giving a verdict in a review";
    /// Comments on lines.
    ReviewInline = "review.inline", "Commenting on lines of the diff";
    /// Keep a review that only its author sees until it is submitted.
    ReviewPending = "review.pending", "Keeping a review until it is submitted";
    /// Dismiss an approval or a request for changes.
    ReviewDismiss = "review.dismiss", "Dismissing a review";
    /// Resolve and unresolve threads.
    ThreadResolve = "thread.resolve", "Resolving a review thread";
    /// Upload an image or a video, to be shown in a description or a comment.
    Attachments = "attachment.upload", "Attaching a file";
    /// Check runs and statuses.
    Checks = "checks", "Reading checks";
    /// Read the end of a check's log.
    CheckLogs = "checks.log", "Reading the end of a check's log";
    /// Run failed checks again.
    ChecksRerun = "checks.rerun", "Running failed checks again";
    /// List issues.
    IssueList = "issue.list", "Listing issues";
    /// Free text, qualifiers, mentions, milestones and apps in a list.
    IssueListSearch = "issue.list.search", "Searching issues";
    /// View an issue.
    IssueView = "issue.view", "Viewing an issue";
    /// Open an issue.
    IssueCreate = "issue.create", "Opening an issue";
    /// Change title, body and labels of an issue.
    IssueEdit = "issue.edit", "Editing an issue";
    /// Close and reopen.
    IssueState = "issue.state", "Closing or reopening an issue";
    /// Give the reason for closing an issue.
    IssueReason = "issue.state.reason", "Saying why an issue is closed";
    /// Name the issue of which a closed one is a duplicate.
    IssueDuplicateOf = "issue.state.duplicate_of", "Naming the issue that a duplicate repeats";
    /// Comment on an issue.
    IssueComment = "issue.comment", "Commenting on an issue";
    /// Edit and delete a comment on an issue.
    IssueCommentEdit = "issue.comment.edit", "Editing a comment on an issue";
    /// The forge itself orders and dates comments, so that all readers see them in the same order.
    IssueCommentOrder = "issue.comment.order", "Ordering comments independently of their authors";
    /// Delete an issue.
    IssueDelete = "issue.delete", "Deleting an issue";
    /// Read who opened, closed and changed an issue, and when.
    IssueHistory = "issue.history", "Reading the history of an issue";
    /// Set the milestone of an issue.
    IssueMilestone = "issue.milestone", "Setting the milestone of an issue";
    /// Set the type of an issue, such as Bug.
    IssueTypes = "issue.types", "Setting the type of an issue";
    /// Put an issue on project boards.
    IssueProjects = "issue.projects", "Adding an issue to a project";
    /// Parents, sub-issues and dependencies.
    IssueRelations = "issue.relations", "Relating issues by parent, sub-issue and dependency";
    /// Fields that issues can have, such as a priority, and their values.
    IssueValues = "issue.values", "Using fields of issues";
    /// The fields of issues belong to a project board, so a request must name the board.
    IssueBoard = "issue.board", "Keeping the fields of issues on a board";
    /// Define fields of issues and their values.
    IssueFieldEdit = "issue.field", "Defining a field of issues";
    /// Edit an issue only if its version is unchanged (compare-and-swap).
    IssueSwap = "issue.edit.swap", "Changing an issue only if it is unchanged";
    /// Claim an issue in a workflow. The text of [`Support::Emulated`] begins with the guarantee:
    /// `exclusive`, `ordered` or `advisory`.
    IssueClaim = "issue.claim", "Claiming an issue";
    /// Links of a pull request or an issue: closes, mentions, depends on, and the reverse.
    Links = "links", "Reading links between pull requests and issues";
    /// List the labels of a repository.
    LabelList = "label.list", "Listing labels";
    /// Define labels.
    LabelEdit = "label.edit", "Defining a label";
    /// Labels that take one of several values.
    LabelValues = "label.values", "Using labels with values";
    /// Read a file of a branch.
    RepoFile = "repo.file", "Reading a file of a branch";
    /// Commit whole files on top of an existing branch, without a clone.
    BranchPush = "branch.push", "Committing edits of files to a branch";
    /// Fork a repository; the viewer may push to the fork.
    RepoFork = "repo.fork", "Forking a repository";
}

impl Capability {
    /// Returns true if the capability only reads. A read-only repository still supports such
    /// capabilities.
    #[must_use]
    pub fn reads(self) -> bool {
        // These capabilities are options of a read operation. No operation in `Op::ALL` requires
        // one of them as its own capability.
        let part = matches!(
            self,
            Self::PrListSearch
                | Self::PrListApp
                | Self::PrPatch
                | Self::PrRounds
                | Self::IssueListSearch
        );
        let of = |op: &&Op| op.capability() == Some(self);
        part || Op::ALL
            .iter()
            .find(of)
            .is_some_and(|op| op.effect() == Effect::Read)
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// How far a forge supports a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "support", rename_all = "snake_case")]
pub enum Support {
    /// The forge itself supports the capability.
    Native,
    /// `forge` builds the capability from other features of the forge.
    Emulated {
        /// The features that are combined.
        how: &'static str,
    },
    /// `forge` does the work on the client, at the stated cost.
    ClientSide {
        /// The method and its cost.
        how: &'static str,
    },
    /// The forge does not support the capability.
    No {
        /// The limit of the forge because of which it lacks the capability.
        why: &'static str,
        /// The nearest alternative that works.
        instead: &'static Hint,
    },
}

impl Support {
    /// Returns false only for [`Support::No`].
    #[must_use]
    pub const fn is_yes(&self) -> bool {
        !matches!(self, Self::No { .. })
    }
}

/// Hint for a capability that a backend's table does not list.
static REPORT: Hint = Hint::new("report this as a defect");

/// The table of a backend, with one row for each capability.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// The support for each of [`Capability::ALL`]. The behaviour suite, which tests all backends,
    /// checks that no row is missing.
    pub table: &'static [(Capability, Support)],
    /// Size limits of the forge.
    pub limits: Limits,
}

impl Capabilities {
    /// Returns how the backend supports `capability`. A missing row means that the capability is
    /// unsupported.
    #[must_use]
    pub fn get(&self, capability: Capability) -> Support {
        self.table.iter().find(|(c, _)| *c == capability).map_or(
            Support::No {
                why: "this backend has no entry for it",
                instead: &REPORT,
            },
            |(_, s)| *s,
        )
    }

    /// Returns true if the forge supports `capability` natively, emulated or on the client.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.get(capability).is_yes()
    }
}
