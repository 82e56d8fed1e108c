use std::{
    collections::BTreeMap,
    ops::{BitOr, BitOrAssign},
};

use serde::{Deserialize, Serialize};

use super::{
    Actor, AutoMerge, BaseRules, ChecksReport, Comment, Commit, FileChange, Label, Mergeability,
    Milestone, ProjectItem, RepoNode, Review, ReviewCounts, ReviewDecision, Reviewer, Thread,
};
use crate::{Hint, Ingestion, PrId, PrKey, RepoId, Timestamp};

/// The state of a pull request. A draft is open with `draft` set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrState {
    /// Open.
    Open,
    /// Closed without merging.
    Closed,
    /// Merged.
    Merged,
}

/// A pull request.
///
/// Expensive sections are `None` unless [`PrFields`] selects them.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PullRequest {
    /// Identity.
    pub id: PrId,
    /// The forge's own id (a node id, a record's at-uri); empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_id: String,
    /// Number, if the forge numbers pull requests.
    pub number: Option<u64>,
    /// Title, on one line.
    pub title: String,
    /// Description as Markdown; may be empty.
    pub description: String,
    /// Author.
    pub author: Actor,
    /// Open, closed or merged.
    pub state: PrState,
    /// The pull request is a draft.
    pub draft: bool,
    /// The branch to merge into.
    pub base_branch: String,
    /// The base commit, hex: the branch's tip while open, the commit merged onto afterwards.
    pub base_oid: Option<String>,
    /// The branch with the changes.
    pub head_branch: String,
    /// The head commit, hex; `None` if the branch is gone and the commit was not recorded. With a
    /// [`Self::head_patch`] the value is only the author's statement.
    pub head_oid: Option<String>,
    /// CID of the patch, if the forge stores the changes as a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_patch: Option<String>,
    /// The ref of the base repository from which git fetches the head, such as `refs/pull/7/head`;
    /// `None` if there is none and the commits are made from the patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_ref: Option<String>,
    /// The repository of the head branch, if it differs from the base branch's repository (a fork).
    pub head_repo: Option<RepoId>,
    /// Number of submitted rounds; `None` where a pull request follows its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The pull request below in the stack, on forges that record one. ([`PrFields::DEPENDS_ON`],
    /// if reading takes a request)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<PrKey>,
    /// The forge's own ids of the head branch's repository, this one or a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_node: Option<RepoNode>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time of closing or merging.
    pub closed_at: Option<Timestamp>,
    /// Time of merging.
    pub merged_at: Option<Timestamp>,
    /// Account that merged.
    pub merged_by: Option<Actor>,
    /// The commit that the merge created, hex.
    pub merge_commit: Option<String>,
    /// URL of the pull request's page, or a `file://` locator.
    pub url: String,
    /// Labels, by name.
    pub labels: Vec<Label>,
    /// Assignees.
    pub assignees: Vec<Actor>,
    /// Milestone.
    pub milestone: Option<Milestone>,
    /// Number of reviewers whose latest opinion is an approval.
    pub approvals: u64,
    /// Number of reviewers whose latest opinion requests changes.
    pub changes_requested: u64,
    /// Reviewers with a requested review that is still missing.
    pub pending_reviewers: Vec<Reviewer>,
    /// Combined decision of the reviews.
    pub review_decision: Option<ReviewDecision>,
    /// The latest opinion of each reviewer, or the latest comment of a reviewer without an opinion;
    /// by time.
    pub latest_reviews: Vec<Review>,
    /// The latest review by the pull request's author, which does not count. `None` if the author
    /// has not reviewed, or if the forge lists the review elsewhere.
    #[serde(skip)]
    pub author_review: Option<Review>,
    /// Number of comments, without threads.
    pub comments_count: u64,
    /// The version for a compare-and-swap edit (opaque).
    pub version: String,
    /// Added lines. ([`PrFields::STATS`])
    pub additions: Option<u64>,
    /// Deleted lines. ([`PrFields::STATS`])
    pub deletions: Option<u64>,
    /// Changed files. ([`PrFields::STATS`])
    pub changed_files: Option<u64>,
    /// Mergeability of head and base. ([`PrFields::MERGEABILITY`])
    pub mergeability: Option<Mergeability>,
    /// Comments, oldest first. ([`PrFields::COMMENTS`])
    pub comments: Option<Vec<Comment>>,
    /// Reviews, oldest first. ([`PrFields::REVIEWS`])
    pub reviews: Option<Vec<Review>>,
    /// Review threads. ([`PrFields::THREADS`])
    pub threads: Option<Vec<Thread>>,
    /// Commits, oldest first. ([`PrFields::COMMITS`])
    pub commits: Option<Vec<Commit>>,
    /// Files, by path. ([`PrFields::FILES`])
    pub files: Option<Vec<FileChange>>,
    /// Checks of the head. ([`PrFields::CHECKS`]; stays `None` if the forge has no checks)
    pub checks: Option<ChecksReport>,
    /// The forge's own list of the issues that the merge closes. ([`PrFields::LINKED_ISSUES`];
    /// stays `None` if the forge has no such list)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked_issues: Option<Vec<LinkedIssue>>,
    /// Settings of a scheduled merge. ([`PrFields::AUTO_MERGE`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<AutoMerge>,
    /// Maintainers of the base repository may push to the head branch.
    /// ([`PrFields::MAINTAINER_ACCESS`]; stays `None` if the forge has no such right)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintainer_can_modify: Option<bool>,
    /// Number in the forge's database. ([`PrFields::DATABASE_ID`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_id: Option<u64>,
    /// The forge's test merge commit, hex. ([`PrFields::POTENTIAL_MERGE`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub potential_merge_commit: Option<String>,
    /// Number of reactions by emoji name. ([`PrFields::REACTIONS`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactions: Option<BTreeMap<String, u64>>,
    /// Items on project boards. ([`PrFields::PROJECTS`]; stays `None` if the forge has no boards or
    /// they could not be read)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectItem>>,
    /// Ingestion of the pull request's record by the index. ([`PrFields::INGESTION`]; stays `None`
    /// on forges without a separate index)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingestion: Option<RecordIngestion>,
    /// Requirements of the base branch. ([`PrFields::RULES`]; stays `None` if the forge has no
    /// branch rules)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rules: Option<BaseRules>,
    /// The head branch is its repository's default branch. ([`PrFields::TO_CHANGE`]; stays `None`
    /// if reading takes a request)
    #[serde(skip)]
    pub head_is_default: Option<bool>,
    /// Sections that could not be read in full, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

impl PullRequest {
    /// Builds an open pull request without branches, a text and the sections of [`PrFields`]; a key
    /// that is a number is its number.
    pub fn new(id: PrId, title: impl Into<String>, author: Actor, created_at: Timestamp) -> Self {
        Self {
            number: match id.key {
                PrKey::Number(number) => Some(number),
                PrKey::Record(_) => None,
            },
            id,
            node_id: String::new(),
            title: title.into(),
            description: String::new(),
            author,
            state: PrState::Open,
            draft: false,
            base_branch: String::new(),
            base_oid: None,
            head_branch: String::new(),
            head_oid: None,
            head_patch: None,
            head_ref: None,
            head_repo: None,
            rounds: None,
            depends_on: None,
            head_node: None,
            created_at,
            updated_at: created_at,
            closed_at: None,
            merged_at: None,
            merged_by: None,
            merge_commit: None,
            url: String::new(),
            labels: Vec::new(),
            assignees: Vec::new(),
            milestone: None,
            approvals: 0,
            changes_requested: 0,
            pending_reviewers: Vec::new(),
            review_decision: None,
            latest_reviews: Vec::new(),
            author_review: None,
            comments_count: 0,
            version: String::new(),
            additions: None,
            deletions: None,
            changed_files: None,
            mergeability: None,
            comments: None,
            reviews: None,
            threads: None,
            commits: None,
            files: None,
            checks: None,
            linked_issues: None,
            auto_merge: None,
            maintainer_can_modify: None,
            database_id: None,
            potential_merge_commit: None,
            reactions: None,
            projects: None,
            ingestion: None,
            base_rules: None,
            head_is_default: None,
            warnings: Vec::new(),
        }
    }

    /// Review counts from [`Self::latest_reviews`].
    #[must_use]
    pub fn review_counts(&self) -> ReviewCounts {
        ReviewCounts::of(self.latest_reviews.iter().map(|r| r.state))
    }

    /// Id of the changes, to compare with an expected head: the CID of the patch if there is one,
    /// otherwise the head commit.
    #[must_use]
    pub fn head_id(&self) -> Option<&str> {
        self.head_patch.as_deref().or(self.head_oid.as_deref())
    }
}

/// An issue linked to a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinkedIssue {
    /// The forge's own id; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The issue's repository, possibly another than the pull request's.
    pub repo: RepoId,
    /// The forge's own ids of that repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_node: Option<RepoNode>,
    /// Number in that repository.
    pub number: u64,
    /// Title, on one line.
    pub title: String,
    /// The issue is open.
    pub open: bool,
    /// URL of the issue's page.
    pub url: String,
}

impl LinkedIssue {
    /// Builds an open issue of `repo`, without the forge's own ids.
    pub fn new(
        repo: RepoId,
        number: u64,
        title: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {
        Self {
            id: String::new(),
            repo,
            repo_node: None,
            number,
            title: title.into(),
            open: true,
            url: url.into(),
        }
    }
}

/// Ingestion of a pull request's record by the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecordIngestion {
    /// The record's at-uri.
    pub uri: String,
    /// The version that was read.
    pub cid: String,
    /// The verdict.
    pub verdict: Ingestion,
    /// Evidence for the verdict.
    pub evidence: String,
    /// The index answered, or was not needed. Otherwise `pending` proves nothing.
    pub answered: bool,
    /// The recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Hint>,
}

impl RecordIngestion {
    /// Builds a verdict for which the index answered, or was not needed; without a recovery.
    pub fn new(
        uri: impl Into<String>,
        cid: impl Into<String>,
        verdict: Ingestion,
        evidence: impl Into<String>,
    ) -> Self {
        Self {
            uri: uri.into(),
            cid: cid.into(),
            verdict,
            evidence: evidence.into(),
            answered: true,
            recovery: None,
        }
    }
}

/// Selects the expensive sections of a pull request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrFields(u32);

impl PrFields {
    /// No sections.
    pub const NONE: Self = Self(0);
    /// Added and deleted lines, changed files.
    pub const STATS: Self = Self(1);
    /// Mergeability of head and base.
    pub const MERGEABILITY: Self = Self(1 << 1);
    /// Comments.
    pub const COMMENTS: Self = Self(1 << 2);
    /// Reviews.
    pub const REVIEWS: Self = Self(1 << 3);
    /// Review threads.
    pub const THREADS: Self = Self(1 << 4);
    /// Commits.
    pub const COMMITS: Self = Self(1 << 5);
    /// Files.
    pub const FILES: Self = Self(1 << 6);
    /// Checks.
    pub const CHECKS: Self = Self(1 << 7);
    /// The issues that the merge closes.
    pub const LINKED_ISSUES: Self = Self(1 << 8);
    /// For rows of a list, which need no description, labels, people, milestone or reviews: a forge
    /// may leave these empty if reading them is expensive.
    pub const ROW: Self = Self(1 << 9);
    /// Settings of a scheduled merge.
    pub const AUTO_MERGE: Self = Self(1 << 10);
    /// Right of maintainers to push to the head branch.
    pub const MAINTAINER_ACCESS: Self = Self(1 << 11);
    /// Number in the forge's database.
    pub const DATABASE_ID: Self = Self(1 << 12);
    /// The forge's test merge commit.
    pub const POTENTIAL_MERGE: Self = Self(1 << 13);
    /// Reactions.
    pub const REACTIONS: Self = Self(1 << 14);
    /// Items on project boards.
    pub const PROJECTS: Self = Self(1 << 15);
    /// Leaves out the description, which makes the version unusable. As with [`Self::ROW`], a forge
    /// may read the description anyway.
    pub const NO_DESCRIPTION: Self = Self(1 << 16);
    /// Leaves out the labels.
    pub const NO_LABELS: Self = Self(1 << 17);
    /// Leaves out the assignees.
    pub const NO_ASSIGNEES: Self = Self(1 << 18);
    /// Leaves out the milestone.
    pub const NO_MILESTONE: Self = Self(1 << 19);
    /// Leaves out the requested reviewers.
    pub const NO_REVIEW_REQUESTS: Self = Self(1 << 20);
    /// Leaves out the latest reviews and their counts.
    pub const NO_LATEST_REVIEWS: Self = Self(1 << 21);
    /// The pull request below in the stack.
    pub const DEPENDS_ON: Self = Self(1 << 22);
    /// Ingestion of the record by the index.
    pub const INGESTION: Self = Self(1 << 24);
    /// Requirements of the base branch, as far as they take no extra request;
    /// [`PullRequests::base_rules`](crate::PullRequests::base_rules) reads the rest.
    pub const RULES: Self = Self(1 << 25);
    /// Only the newest hundred comments, reviews and commits, on forges where reading more is
    /// expensive.
    pub const NEWEST: Self = Self(1 << 26);
    /// Facts needed before a change. A caller selects these when finding a pull request to change,
    /// and the change may then skip its own read.
    pub const TO_CHANGE: Self = Self(1 << 28);
    /// Like [`Self::TO_CHANGE`], for a merge or an update of the head branch.
    pub const TO_MERGE: Self = Self(1 << 28 | 1 << 29);

    /// Returns true if all sections of `other` are selected.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the union with `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the sections without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if no section is selected.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for PrFields {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for PrFields {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The pull requests of a repository that concern the viewer.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PullStatus {
    /// The newest pull request of the given branch.
    pub current_branch: Option<PullRequest>,
    /// Open pull requests by the viewer.
    pub created_by: Vec<PullRequest>,
    /// Open pull requests that wait for the viewer's review.
    pub needs_review: Vec<PullRequest>,
    /// Parts that could not be read; the rest is valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

impl PullStatus {
    /// Builds the lists of the viewer, without a pull request of a given branch.
    #[must_use]
    pub fn new(created_by: Vec<PullRequest>, needs_review: Vec<PullRequest>) -> Self {
        Self {
            current_branch: None,
            created_by,
            needs_review,
            warnings: Vec::new(),
        }
    }
}
