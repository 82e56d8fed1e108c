//! The operations as data: name, effect, and required capability.

use crate::{
    Capability,
    model::{
        CloseReq, CreatePull, DiffFormat, DiffReq, EditIssue, EditPull, IssueQuery, MergeMethod,
        MergeReq, NewIssue, NewLabel, NewReview, PendingReview, PullQuery, Resubmit, RevertPull,
        Reviewer, SetIssueState, Verdict,
    },
};

/// Effect of an operation on the forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads only.
    Read,
    /// Writes.
    Write,
}

macro_rules! ops {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $effect:ident, $capability:expr;)*) => {
        /// An operation of the [`Forge`](crate::Forge) family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $($(#[$doc])* $variant,)* }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable name, as used in spans, errors and plans.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns whether the operation reads or writes.
            #[must_use]
            pub const fn effect(self) -> Effect {
                match self { $(Self::$variant => Effect::$effect,)* }
            }

            /// Returns the capability that the operation needs regardless of its arguments.
            #[must_use]
            pub const fn capability(self) -> Option<Capability> {
                match self { $(Self::$variant => $capability,)* }
            }
        }
    };
}

ops! {
    /// [`Repos::viewer`](crate::Repos::viewer)
    Viewer = "viewer", Read, None;
    /// [`Repos::repo`](crate::Repos::repo)
    RepoView = "repo.view", Read, None;
    /// [`Repos::branches`](crate::Repos::branches)
    BranchList = "branch.list", Read, None;
    /// [`Repos::branch_is_protected`](crate::Repos::branch_is_protected)
    BranchProtection = "branch.protection", Read, None;
    /// [`Repos::repo_file`](crate::Repos::repo_file)
    RepoFile = "repo.file", Read, Some(Capability::RepoFile);
    /// [`Repos::push_edits`](crate::Repos::push_edits)
    BranchPush = "branch.push", Write, Some(Capability::BranchPush);
    /// [`Repos::fork`](crate::Repos::fork)
    RepoFork = "repo.fork", Write, Some(Capability::RepoFork);
    /// [`Repos::examine`](crate::Repos::examine)
    Examine = "repo.examine", Read, None;
    /// [`PullRequests::create`](crate::PullRequests::create)
    PrCreate = "pr.create", Write, Some(Capability::PrCreate);
    /// [`PullRequests::list`](crate::PullRequests::list)
    PrList = "pr.list", Read, Some(Capability::PrList);
    /// [`PullRequests::list_across`](crate::PullRequests::list_across)
    PrListAcross = "pr.list_across", Read, Some(Capability::PrList);
    /// [`PullRequests::view`](crate::PullRequests::view)
    PrView = "pr.view", Read, Some(Capability::PrView);
    /// [`PullRequests::find`](crate::PullRequests::find)
    PrFind = "pr.find", Read, Some(Capability::PrList);
    /// [`PullRequests::status`](crate::PullRequests::status)
    PrStatus = "pr.status", Read, Some(Capability::PrList);
    /// [`PullRequests::edit`](crate::PullRequests::edit)
    PrEdit = "pr.edit", Write, None;
    /// [`PullRequests::resubmit`](crate::PullRequests::resubmit)
    PrResubmit = "pr.resubmit", Write, Some(Capability::PrResubmit);
    /// [`PullRequests::update_branch`](crate::PullRequests::update_branch)
    PrUpdateBranch = "pr.update_branch", Write, Some(Capability::PrUpdateBranch);
    /// [`PullRequests::close`](crate::PullRequests::close)
    PrClose = "pr.close", Write, Some(Capability::PrClose);
    /// [`PullRequests::reopen`](crate::PullRequests::reopen)
    PrReopen = "pr.reopen", Write, Some(Capability::PrReopen);
    /// [`PullRequests::set_draft`](crate::PullRequests::set_draft)
    PrSetDraft = "pr.set_draft", Write, Some(Capability::PrDraft);
    /// [`PullRequests::set_lock`](crate::PullRequests::set_lock)
    PrSetLock = "pr.set_lock", Write, Some(Capability::PrLock);
    /// [`PullRequests::revert`](crate::PullRequests::revert)
    PrRevert = "pr.revert", Write, Some(Capability::PrRevert);
    /// [`PullRequests::mergeability`](crate::PullRequests::mergeability)
    PrMergeability = "pr.mergeability", Read, Some(Capability::PrMergeability);
    /// [`PullRequests::base_rules`](crate::PullRequests::base_rules)
    PrBaseRules = "pr.base_rules", Read, None;
    /// [`PullRequests::merge`](crate::PullRequests::merge)
    PrMerge = "pr.merge", Write, None;
    /// [`PullRequests::cancel_merge`](crate::PullRequests::cancel_merge)
    PrCancelMerge = "pr.cancel_merge", Write, Some(Capability::MergeAuto);
    /// [`PullRequests::diff`](crate::PullRequests::diff)
    PrDiff = "pr.diff", Read, Some(Capability::PrDiff);
    /// [`PullRequests::contents`](crate::PullRequests::contents)
    PrContents = "pr.contents", Read, Some(Capability::PrDiff);
    /// [`PullRequests::files`](crate::PullRequests::files)
    PrFiles = "pr.files", Read, Some(Capability::PrFiles);
    /// [`PullRequests::commits`](crate::PullRequests::commits)
    PrCommits = "pr.commits", Read, Some(Capability::PrCommits);
    /// [`PullRequests::history`](crate::PullRequests::history)
    PrHistory = "pr.history", Read, Some(Capability::PrHistory);
    /// [`Reviews::comment`](crate::Reviews::comment)
    Comment = "comment.create", Write, Some(Capability::Comments);
    /// [`Reviews::edit_comment`](crate::Reviews::edit_comment)
    CommentEdit = "comment.edit", Write, Some(Capability::CommentEdit);
    /// [`Reviews::delete_comment`](crate::Reviews::delete_comment)
    CommentDelete = "comment.delete", Write, Some(Capability::CommentDelete);
    /// [`Reviews::comments`](crate::Reviews::comments)
    CommentList = "comment.list", Read, Some(Capability::PrView);
    /// [`Reviews::reviews`](crate::Reviews::reviews)
    ReviewList = "review.list", Read, Some(Capability::PrView);
    /// [`Reviews::submit_review`](crate::Reviews::submit_review)
    ReviewSubmit = "review.submit", Write, None;
    /// [`Reviews::discard_pending_review`](crate::Reviews::discard_pending_review)
    ReviewDiscard = "review.discard", Write, Some(Capability::ReviewPending);
    /// [`Reviews::dismiss_review`](crate::Reviews::dismiss_review)
    ReviewDismiss = "review.dismiss", Write, Some(Capability::ReviewDismiss);
    /// [`Reviews::threads`](crate::Reviews::threads)
    ThreadList = "thread.list", Read, Some(Capability::PrView);
    /// [`Reviews::resolve_thread`](crate::Reviews::resolve_thread)
    ThreadResolve = "thread.resolve", Write, Some(Capability::ThreadResolve);
    /// [`Attachments::attach`](crate::Attachments::attach)
    Attach = "attachment.upload", Write, Some(Capability::Attachments);
    /// [`Checks::checks`](crate::Checks::checks)
    Checks = "checks", Read, Some(Capability::Checks);
    /// [`Checks::check_log`](crate::Checks::check_log)
    CheckLog = "check.log", Read, Some(Capability::CheckLogs);
    /// [`Checks::check_reasons`](crate::Checks::check_reasons)
    CheckReasons = "check.reasons", Read, Some(Capability::Checks);
    /// [`Checks::rerun_failed_checks`](crate::Checks::rerun_failed_checks)
    ChecksRerun = "checks.rerun", Write, Some(Capability::ChecksRerun);
    /// [`Issues::issues`](crate::Issues::issues)
    IssueList = "issue.list", Read, Some(Capability::IssueList);
    /// [`Issues::issue`](crate::Issues::issue)
    IssueView = "issue.view", Read, Some(Capability::IssueView);
    /// [`Issues::create_issue`](crate::Issues::create_issue)
    IssueCreate = "issue.create", Write, Some(Capability::IssueCreate);
    /// [`Issues::edit_issue`](crate::Issues::edit_issue)
    IssueEdit = "issue.edit", Write, Some(Capability::IssueEdit);
    /// [`Issues::set_issue_state`](crate::Issues::set_issue_state)
    IssueSetState = "issue.set_state", Write, Some(Capability::IssueState);
    /// [`Issues::create_issue_comment`](crate::Issues::create_issue_comment)
    IssueComment = "issue.comment", Write, Some(Capability::IssueComment);
    /// [`Issues::edit_issue_comment`](crate::Issues::edit_issue_comment)
    IssueCommentEdit = "issue.comment_edit", Write, Some(Capability::IssueCommentEdit);
    /// [`Issues::delete_issue_comment`](crate::Issues::delete_issue_comment)
    IssueCommentDelete = "issue.comment_delete", Write, Some(Capability::IssueCommentEdit);
    /// [`Issues::delete_issue`](crate::Issues::delete_issue)
    IssueDelete = "issue.delete", Write, Some(Capability::IssueDelete);
    /// [`Issues::issue_history`](crate::Issues::issue_history)
    IssueHistory = "issue.history", Read, Some(Capability::IssueHistory);
    /// [`Issues::related_issues`](crate::Issues::related_issues)
    IssueRelated = "issue.related", Read, Some(Capability::IssueRelations);
    /// [`Issues::issue_fields`](crate::Issues::issue_fields)
    IssueFieldList = "issue.field_list", Read, Some(Capability::IssueValues);
    /// [`Issues::define_issue_field`](crate::Issues::define_issue_field)
    IssueFieldDefine = "issue.field_define", Write, Some(Capability::IssueFieldEdit);
    /// [`Issues::links`](crate::Issues::links)
    Links = "links", Read, Some(Capability::Links);
    /// [`Labels::labels`](crate::Labels::labels)
    LabelList = "label.list", Read, Some(Capability::LabelList);
    /// [`Labels::define_label`](crate::Labels::define_label)
    LabelDefine = "label.define", Write, Some(Capability::LabelEdit);
    /// [`Labels::delete_label`](crate::Labels::delete_label)
    LabelDelete = "label.delete", Write, Some(Capability::LabelEdit);
}

/// Capabilities that the arguments of a request need in addition to [`Op::capability`].
pub(crate) trait Needs {
    /// Returns the capabilities, in the order in which missing ones are reported.
    fn needs(&self) -> Vec<Capability>;
}

fn when(condition: bool, capability: Capability) -> Option<Capability> {
    condition.then_some(capability)
}

fn reviewers(list: &[Reviewer]) -> [Option<Capability>; 2] {
    let teams = list.iter().any(|r| matches!(r, Reviewer::Team { .. }));
    let users = list.iter().any(|r| !matches!(r, Reviewer::Team { .. }));
    [
        when(users, Capability::PrReviewers),
        when(teams, Capability::PrReviewersTeam),
    ]
}

impl Needs for CreatePull {
    fn needs(&self) -> Vec<Capability> {
        [
            when(self.draft, Capability::PrCreateDraft),
            when(
                self.head.owner.is_some(),
                Capability::PrCreateCrossRepository,
            ),
            when(self.patch.is_some(), Capability::PrCreatePatch),
            when(!self.edits.is_empty(), Capability::PrCreateEdits),
            when(self.depends_on.is_some(), Capability::PrCreateDependent),
            when(!self.labels.is_empty(), Capability::PrLabels),
            when(!self.assignees.is_empty(), Capability::PrAssignees),
            when(self.milestone.is_some(), Capability::PrMilestone),
            when(!self.projects.is_empty(), Capability::PrProjects),
        ]
        .into_iter()
        .chain(reviewers(&self.reviewers))
        .flatten()
        .collect()
    }
}

impl Needs for EditPull {
    fn needs(&self) -> Vec<Capability> {
        let plain = self.title.is_some() || self.description.is_some();
        [
            when(plain, Capability::PrEdit),
            when(self.base.is_some(), Capability::PrEditBase),
            when(!self.labels.is_empty(), Capability::PrLabels),
            when(!self.assignees.is_empty(), Capability::PrAssignees),
            when(self.milestone.is_some(), Capability::PrMilestone),
            when(!self.projects.is_empty(), Capability::PrProjects),
        ]
        .into_iter()
        .chain(reviewers(&self.reviewers.add))
        .chain(reviewers(&self.reviewers.remove))
        .flatten()
        .collect()
    }
}

impl Needs for RevertPull {
    fn needs(&self) -> Vec<Capability> {
        when(self.draft, Capability::PrCreateDraft)
            .into_iter()
            .collect()
    }
}

impl Needs for Resubmit {
    fn needs(&self) -> Vec<Capability> {
        when(self.comment.is_some(), Capability::Comments)
            .into_iter()
            .collect()
    }
}

impl Needs for CloseReq {
    fn needs(&self) -> Vec<Capability> {
        [
            when(self.comment.is_some(), Capability::Comments),
            when(self.delete_branch, Capability::PrDeleteBranch),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Needs for MergeReq {
    fn needs(&self) -> Vec<Capability> {
        let method = self.method.map(|m| match m {
            MergeMethod::Merge => Capability::MergeCommit,
            MergeMethod::Squash => Capability::MergeSquash,
            MergeMethod::Rebase => Capability::MergeRebase,
        });
        [
            method,
            when(self.expected_head.is_some(), Capability::MergeExpectedHead),
            when(self.auto, Capability::MergeAuto),
            when(self.admin, Capability::MergeAdmin),
            when(self.delete_branch, Capability::PrDeleteBranch),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Needs for NewReview {
    fn needs(&self) -> Vec<Capability> {
        let verdict = self.verdict != Verdict::Comment;
        let plain = !verdict && self.threads.is_empty();
        let pending = self.pending != PendingReview::Refuse;
        [
            when(pending, Capability::ReviewPending),
            when(verdict, Capability::ReviewVerdict),
            when(!self.threads.is_empty(), Capability::ReviewInline),
            when(plain, Capability::Comments),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Needs for DiffReq {
    fn needs(&self) -> Vec<Capability> {
        [
            when(self.format == DiffFormat::Patch, Capability::PrPatch),
            when(self.rounds.is_some(), Capability::PrRounds),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Needs for PullQuery {
    fn needs(&self) -> Vec<Capability> {
        [
            when(self.search.is_some(), Capability::PrListSearch),
            when(self.app.is_some(), Capability::PrListApp),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Needs for IssueQuery {
    fn needs(&self) -> Vec<Capability> {
        when(self.searches(), Capability::IssueListSearch)
            .into_iter()
            .collect()
    }
}

impl Needs for NewIssue {
    fn needs(&self) -> Vec<Capability> {
        let related = self.parent.is_some() || !self.blocked_by.is_empty();
        [
            when(!self.values.is_empty(), Capability::IssueValues),
            when(self.milestone.is_some(), Capability::IssueMilestone),
            when(self.issue_type.is_some(), Capability::IssueTypes),
            when(!self.projects.is_empty(), Capability::IssueProjects),
            when(related, Capability::IssueRelations),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Needs for EditIssue {
    fn needs(&self) -> Vec<Capability> {
        let related = self.parent.is_some() || !self.blocked_by.is_empty();
        [
            when(!self.values.is_empty(), Capability::IssueValues),
            when(self.milestone.is_some(), Capability::IssueMilestone),
            when(self.issue_type.is_some(), Capability::IssueTypes),
            when(!self.projects.is_empty(), Capability::IssueProjects),
            when(related, Capability::IssueRelations),
            when(self.state.is_some(), Capability::IssueState),
            when(self.reason.is_some(), Capability::IssueReason),
            when(self.comment.is_some(), Capability::IssueComment),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Needs for NewLabel {
    fn needs(&self) -> Vec<Capability> {
        when(!self.values.is_empty(), Capability::LabelValues)
            .into_iter()
            .collect()
    }
}

impl Needs for SetIssueState {
    fn needs(&self) -> Vec<Capability> {
        [
            when(self.reason.is_some(), Capability::IssueReason),
            when(self.duplicate_of.is_some(), Capability::IssueDuplicateOf),
            when(self.comment.is_some(), Capability::IssueComment),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_names_are_unique() {
        let mut names: Vec<_> = Op::ALL.iter().map(|o| o.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Op::ALL.len());
    }

    #[test]
    fn merge_arguments_determine_needed_capabilities() {
        let req = MergeReq {
            method: Some(MergeMethod::Rebase),
            expected_head: Some("abc".into()),
            ..MergeReq::default()
        };
        assert_eq!(
            req.needs(),
            [Capability::MergeRebase, Capability::MergeExpectedHead]
        );
    }
}
