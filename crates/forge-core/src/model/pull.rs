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

/// The state of a pull request. A draft is an open one with `draft` set.
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
/// Sections that cost more are `None` unless [`PrFields`] asked for them.
#[derive(Clone, Debug, Serialize)]
pub struct PullRequest {
    /// What names it.
    pub id: PrId,
    /// The forge's own id (a node id, a record's at-uri); empty where there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_id: String,
    /// Its number, where the forge numbers them.
    pub number: Option<u64>,
    /// One line.
    pub title: String,
    /// Markdown; may be empty.
    pub description: String,
    /// Who opened it.
    pub author: Actor,
    /// Open, closed or merged.
    pub state: PrState,
    /// It is a draft.
    pub draft: bool,
    /// The branch that is to change.
    pub base_branch: String,
    /// The base commit, hex: the branch's tip while open, what it was merged onto afterwards.
    pub base_oid: Option<String>,
    /// The branch with the changes.
    pub head_branch: String,
    /// The head commit, hex; `None` when the branch is gone and nothing remembers it. Where there is
    /// a [`Self::head_patch`], only its author's word.
    pub head_oid: Option<String>,
    /// The CID of the patch that the changes are, where the forge keeps a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_patch: Option<String>,
    /// The ref of the base repository by which git fetches the head, such as `refs/pull/7/head`;
    /// `None` where there is none, and the commits are made from the patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_ref: Option<String>,
    /// The repository of the head branch, when it is another one (a fork).
    pub head_repo: Option<RepoId>,
    /// How many rounds were submitted; `None` where a pull request follows its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The pull request that this one builds on, where the forge knows such a thing.
    /// ([`PrFields::DEPENDS_ON`], where it would have to be asked for)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<PrKey>,
    /// The forge's own ids of the repository of the head branch, this one or a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_node: Option<RepoNode>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything about it last changed.
    pub updated_at: Timestamp,
    /// When it was closed or merged.
    pub closed_at: Option<Timestamp>,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// Who merged it.
    pub merged_by: Option<Actor>,
    /// The commit that the merge made, hex.
    pub merge_commit: Option<String>,
    /// Its page, or a `file://` locator.
    pub url: String,
    /// Labels, by name.
    pub labels: Vec<Label>,
    /// Assignees.
    pub assignees: Vec<Actor>,
    /// Its milestone.
    pub milestone: Option<Milestone>,
    /// How many reviewers' latest opinion is an approval.
    pub approvals: u64,
    /// How many reviewers' latest opinion requests changes.
    pub changes_requested: u64,
    /// Who was asked for a review and has not given one since.
    pub pending_reviewers: Vec<Reviewer>,
    /// What the reviews add up to.
    pub review_decision: Option<ReviewDecision>,
    /// The latest opinion of each reviewer (else the latest comment), by time.
    pub latest_reviews: Vec<Review>,
    /// The latest review by its own author, which counts for nothing; `None` where there is none, or
    /// the forge does not list it with the others.
    #[serde(skip)]
    pub author_review: Option<Review>,
    /// How many comments it has, threads not counted.
    pub comments_count: u64,
    /// The version for a compare-and-swap edit (opaque).
    pub version: String,
    /// Added lines. ([`PrFields::STATS`])
    pub additions: Option<u64>,
    /// Deleted lines. ([`PrFields::STATS`])
    pub deletions: Option<u64>,
    /// Changed files. ([`PrFields::STATS`])
    pub changed_files: Option<u64>,
    /// Whether it can be merged. ([`PrFields::MERGEABILITY`])
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
    /// Checks of the head. ([`PrFields::CHECKS`]; stays `None` where the forge has none)
    pub checks: Option<ChecksReport>,
    /// The issues that merging it closes, as the forge lists them.
    /// ([`PrFields::LINKED_ISSUES`]; stays `None` where the forge has none)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked_issues: Option<Vec<LinkedIssue>>,
    /// Who asked that it merges by itself, and how. ([`PrFields::AUTO_MERGE`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<AutoMerge>,
    /// Maintainers of the base repository may push to its head branch.
    /// ([`PrFields::MAINTAINER_ACCESS`]; stays `None` where the forge has no such right)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintainer_can_modify: Option<bool>,
    /// Its number in the forge's database. ([`PrFields::DATABASE_ID`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_id: Option<u64>,
    /// The commit that the forge made to try the merge, hex. ([`PrFields::POTENTIAL_MERGE`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub potential_merge_commit: Option<String>,
    /// Emoji name to count. ([`PrFields::REACTIONS`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactions: Option<BTreeMap<String, u64>>,
    /// Its places on project boards. ([`PrFields::PROJECTS`]; stays `None` where the forge has none,
    /// or where they could not be read)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectItem>>,
    /// Whether the place that shows it has its record. ([`PrFields::INGESTION`]; stays `None` where
    /// a forge stores and shows in one place)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingestion: Option<RecordIngestion>,
    /// What its base branch wants. ([`PrFields::RULES`]; stays `None` where a forge has no rules of
    /// branches)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rules: Option<BaseRules>,
    /// Its head branch is the default branch of its repository. ([`PrFields::TO_CHANGE`]; stays
    /// `None` where that would have to be asked for)
    #[serde(skip)]
    pub head_is_default: Option<bool>,
    /// Sections that could not be read in full, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

impl PullRequest {
    /// What its reviewers say, by [`Self::latest_reviews`].
    #[must_use]
    pub fn review_counts(&self) -> ReviewCounts {
        ReviewCounts::of(self.latest_reviews.iter().map(|r| r.state))
    }

    /// What its changes are known by, and an expected head is compared with: the CID of the patch
    /// that they are, else the head commit.
    #[must_use]
    pub fn head_id(&self) -> Option<&str> {
        self.head_patch.as_deref().or(self.head_oid.as_deref())
    }
}

/// An issue that a pull request is linked to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkedIssue {
    /// The forge's own id; empty where it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Its repository, which may be another one.
    pub repo: RepoId,
    /// The forge's own ids of that repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_node: Option<RepoNode>,
    /// Its number there.
    pub number: u64,
    /// One line.
    pub title: String,
    /// It is open.
    pub open: bool,
    /// Its page.
    pub url: String,
}

/// Whether the place that shows a pull request has its record, in the version that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordIngestion {
    /// The record's at-uri.
    pub uri: String,
    /// The version of it that was read.
    pub cid: String,
    /// The verdict.
    pub verdict: Ingestion,
    /// The facts that decide.
    pub evidence: String,
    /// The index answered, or need not be asked. Without an answer `pending` proves nothing.
    pub answered: bool,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Hint>,
}

/// Which costly sections of a pull request are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrFields(u32);

impl PrFields {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// Added and deleted lines, changed files.
    pub const STATS: Self = Self(1);
    /// Whether it can be merged.
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
    /// The issues that merging closes.
    pub const LINKED_ISSUES: Self = Self(1 << 8);
    /// Less than usual: a caller who shows rows of a list needs no description, labels, people,
    /// milestone or reviews, and a forge where these cost something may leave them empty.
    pub const ROW: Self = Self(1 << 9);
    /// Whether it merges by itself.
    pub const AUTO_MERGE: Self = Self(1 << 10);
    /// Whether maintainers may push to its head branch.
    pub const MAINTAINER_ACCESS: Self = Self(1 << 11);
    /// Its number in the forge's database.
    pub const DATABASE_ID: Self = Self(1 << 12);
    /// The commit of a merge that was tried.
    pub const POTENTIAL_MERGE: Self = Self(1 << 13);
    /// Reactions to it.
    pub const REACTIONS: Self = Self(1 << 14);
    /// Project boards that it is on.
    pub const PROJECTS: Self = Self(1 << 15);
    /// Less than usual: nobody looks at the description. As with [`Self::ROW`], a forge may read it
    /// all the same; the version is of no use then.
    pub const NO_DESCRIPTION: Self = Self(1 << 16);
    /// Less than usual: nobody looks at the labels.
    pub const NO_LABELS: Self = Self(1 << 17);
    /// Less than usual: nobody looks at the assignees.
    pub const NO_ASSIGNEES: Self = Self(1 << 18);
    /// Less than usual: nobody looks at the milestone.
    pub const NO_MILESTONE: Self = Self(1 << 19);
    /// Less than usual: nobody looks at who was asked for a review.
    pub const NO_REVIEW_REQUESTS: Self = Self(1 << 20);
    /// Less than usual: nobody looks at the latest reviews and their counts.
    pub const NO_LATEST_REVIEWS: Self = Self(1 << 21);
    /// What it builds on.
    pub const DEPENDS_ON: Self = Self(1 << 22);
    /// Whether the place that shows it has its record.
    pub const INGESTION: Self = Self(1 << 24);
    /// What its base branch wants, as far as that takes no request of its own; the rest is
    /// [`PullRequests::base_rules`](crate::PullRequests::base_rules).
    pub const RULES: Self = Self(1 << 25);
    /// Less than usual: of comments, reviews and commits the newest hundred alone, where reading more
    /// costs something.
    pub const NEWEST: Self = Self(1 << 26);
    /// What a change needs to know beforehand. Who searches for a pull request in order to change it
    /// asks for this, and a forge may then spare the change a look of its own.
    pub const TO_CHANGE: Self = Self(1 << 28);
    /// As [`Self::TO_CHANGE`], for a merge or an update of its branch.
    pub const TO_MERGE: Self = Self(1 << 28 | 1 << 29);

    /// Whether all of `other` is wanted.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether none is wanted.
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

/// What concerns the viewer in a repository.
#[derive(Clone, Debug, Serialize)]
pub struct PullStatus {
    /// The newest pull request of the branch that was asked about.
    pub current_branch: Option<PullRequest>,
    /// Open ones that the viewer opened.
    pub created_by: Vec<PullRequest>,
    /// Open ones that wait for the viewer's review.
    pub needs_review: Vec<PullRequest>,
    /// What could not be read; the rest is right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}
