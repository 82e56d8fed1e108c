use std::{
    collections::BTreeMap,
    ops::{BitOr, BitOrAssign},
};

use serde::{Deserialize, Serialize};

use super::{
    Actor, AutoMerge, BaseRules, ChecksReport, Comment, Commit, FileChange, IssueId, Label,
    Mergeability, Milestone, ProjectItem, RepoNode, Review, ReviewCounts, ReviewDecision, Reviewer,
    Thread,
};
use crate::{Hint, Ingestion, PrId, PrKey, RepoId, Timestamp, pull_filter::same_login};

/// State of a pull request. A draft is open and also has `draft` set.
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
/// A section is a group of fields that takes more requests to read, such as the comments. It is
/// `None` unless [`PrFields`] selects it. The comment of such a field names the constant of
/// [`PrFields`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PullRequest {
    /// Id of the pull request.
    pub id: PrId,
    /// The forge's internal id (a node id, a record's at-uri). Empty if there is none.
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
    /// True if the pull request is a draft.
    pub draft: bool,
    /// The branch to merge into.
    pub base_branch: String,
    /// The base commit, hex. While the pull request is open, the tip of the base branch; afterwards
    /// the commit onto which it was merged. If the changes are stored as two commits (a version on
    /// tangled), the first of them.
    pub base_oid: Option<String>,
    /// The branch with the changes.
    pub head_branch: String,
    /// The head commit, hex. `None` if the branch is gone and the commit was not recorded. If there
    /// is a [`Self::head_patch`], the commit is unverified, because the author states it.
    pub head_oid: Option<String>,
    /// CID (content hash) of the patch, if the forge stores the changes as a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_patch: Option<String>,
    /// The ref of the base repository from which git can fetch the head, such as
    /// `refs/pull/7/head`. `None` on a forge that stores a patch, because the commits are made from
    /// the patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_ref: Option<String>,
    /// The repository of the head branch, if it is not the repository of the base branch (a fork).
    /// See [`Self::is_cross_repository`].
    pub head_repo: Option<RepoId>,
    /// True if the head branch is in another repository that the forge does not name: a deleted
    /// fork, or one that the viewer cannot see. [`Self::head_repo`] is then `None`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub head_repo_is_unknown: bool,
    /// The owner of an unknown head repository, if the forge names the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_head_owner: Option<Actor>,
    /// Number of submitted rounds (versions of the changes, on tangled). `None` on forges where a
    /// pull request follows its head branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The pull request that this one is stacked on, if the forge records it.
    /// ([`PrFields::DEPENDS_ON`], on forges where reading it takes a request)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<PrKey>,
    /// The open pull requests whose base is the head branch and that a deletion of the branch would
    /// close or leave without a base. ([`PrFields::DEPENDENTS`]; `None` if they could not be read,
    /// or on a forge where they do not depend on the branch)
    #[serde(skip)]
    pub dependents: Option<Vec<PrKey>>,
    /// The merged pull request whose head branch is the base branch, if that branch still ends with
    /// what was merged. A merge into it may reach no other branch. ([`PrFields::MERGED_BASE`])
    #[serde(skip)]
    pub merged_base: Option<PrKey>,
    /// The forge's internal ids of the repository of the head branch.
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
    /// Account that merged the pull request.
    pub merged_by: Option<Actor>,
    /// The commit that the merge created, hex.
    pub merge_commit: Option<String>,
    /// URL of the pull request's page, or a `file://` locator.
    pub url: String,
    /// Labels, sorted by name.
    pub labels: Vec<Label>,
    /// Assignees.
    pub assignees: Vec<Actor>,
    /// Milestone.
    pub milestone: Option<Milestone>,
    /// Number of reviewers whose latest opinion is an approval. An opinion is a review with a
    /// verdict.
    pub approvals: u64,
    /// Number of reviewers whose latest opinion requests changes.
    pub changes_requested: u64,
    /// Reviewers whose review is requested and still missing.
    pub pending_reviewers: Vec<Reviewer>,
    /// Combined decision of the reviews.
    pub review_decision: Option<ReviewDecision>,
    /// The latest opinion of each reviewer, sorted by time. A reviewer without an opinion is listed
    /// with the latest comment.
    pub latest_reviews: Vec<Review>,
    /// The latest review by the author of the pull request. It is not among
    /// [`Self::latest_reviews`] and does not count. `None` if there is no such review, or if the
    /// forge lists it elsewhere.
    #[serde(skip)]
    pub author_review: Option<Review>,
    /// Number of comments, not including threads.
    pub comments_count: u64,
    /// Opaque version of the pull request. An edit can require that it is unchanged
    /// (compare-and-swap).
    pub version: String,
    /// Added lines. ([`PrFields::STATS`])
    pub additions: Option<u64>,
    /// Deleted lines. ([`PrFields::STATS`])
    pub deletions: Option<u64>,
    /// Number of changed files. ([`PrFields::STATS`])
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
    /// Checks of the head. ([`PrFields::CHECKS`]; `None` if the forge has no checks)
    pub checks: Option<ChecksReport>,
    /// Issues that the merge closes, as listed by the forge. ([`PrFields::LINKED_ISSUES`]; `None`
    /// if the forge has no such list)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked_issues: Option<Vec<LinkedIssue>>,
    /// Issues that the pull request's own record (its atproto document) lists as references. They
    /// count like closing lines of the description (`Closes #3`). Empty on forges without records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closing_references: Vec<IssueId>,
    /// Issues that a merge by forge closes, on a forge that closes none itself: those after a
    /// closing word of the description, then [`Self::closing_references`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_on_merge: Vec<IssueId>,
    /// Settings of an automatic merge. ([`PrFields::AUTO_MERGE`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<AutoMerge>,
    /// True if maintainers of the base repository may push to the head branch.
    /// ([`PrFields::MAINTAINER_ACCESS`]; `None` if the forge has no such right)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintainer_can_modify: Option<bool>,
    /// Id in the forge's database. ([`PrFields::DATABASE_ID`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_id: Option<u64>,
    /// The forge's test merge commit, hex. ([`PrFields::POTENTIAL_MERGE`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub potential_merge_commit: Option<String>,
    /// Number of reactions by the name of the emoji. ([`PrFields::REACTIONS`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactions: Option<BTreeMap<String, u64>>,
    /// Items on project boards. ([`PrFields::PROJECTS`]; `None` if the forge has no boards or they
    /// could not be read)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectItem>>,
    /// Whether the index (the service that displays atproto records) has ingested the pull
    /// request's record. ([`PrFields::INGESTION`]; `None` on forges without a separate index)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingestion: Option<RecordIngestion>,
    /// Requirements of the base branch. ([`PrFields::RULES`]; `None` if the forge has no branch
    /// rules)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rules: Option<BaseRules>,
    /// True if the head branch is the default branch of its repository. ([`PrFields::TO_CHANGE`];
    /// `None` on forges where reading this takes a request)
    #[serde(skip)]
    pub head_is_default: Option<bool>,
    /// Warnings about sections that could not be read in full.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

impl PullRequest {
    /// Builds an open pull request. Branches and description are empty, and the sections of
    /// [`PrFields`] are `None`. A key that is a number also sets [`Self::number`].
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
            head_repo_is_unknown: false,
            unknown_head_owner: None,
            rounds: None,
            depends_on: None,
            dependents: None,
            merged_base: None,
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
            closing_references: Vec::new(),
            closed_on_merge: Vec::new(),
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

    /// Returns whether the head branch is in another repository than the base branch. A branch of
    /// the base repository with the name [`Self::head_branch`] is then unrelated.
    #[must_use]
    pub fn is_cross_repository(&self) -> bool {
        let differs = |head: &RepoId| head.comparison_key() != self.id.repo.comparison_key();
        self.head_repo_is_unknown || self.head_repo.as_ref().is_some_and(differs)
    }

    /// Returns the owner of the head's repository, if the head branch is in another repository.
    /// Empty if the forge does not name the account, and `None` if repositories have no owner.
    #[must_use]
    pub fn fork_owner(&self) -> Option<&str> {
        if self.head_repo_is_unknown {
            let owner = self.unknown_head_owner.as_ref();
            return Some(owner.map_or("", |owner| &owner.login));
        }
        let head = self.head_repo.as_ref()?;
        let (owner, _) = head.owner_and_name()?;
        self.is_cross_repository().then_some(owner)
    }

    /// Returns true if the head branch belongs to the author: its repository is the author's, or
    /// `viewer` is the author. The forge does not say who made a branch of a shared repository, and
    /// everybody can open a pull request from a branch of others.
    #[must_use]
    pub fn head_is_authors(&self, viewer: Option<&Actor>) -> bool {
        let is_author = |login: &str| same_login(login, &self.author.login);
        let owner = match (&self.unknown_head_owner, &self.head_repo) {
            (Some(owner), _) => Some(owner.login.as_str()),
            (None, Some(head)) => head.owner_and_name().map(|(owner, _)| owner),
            (None, None) if self.head_repo_is_unknown => None,
            (None, None) => self.id.repo.owner_and_name().map(|(owner, _)| owner),
        };
        owner.is_some_and(is_author) || viewer.is_some_and(|viewer| is_author(&viewer.login))
    }

    /// Counts the reviews in [`Self::latest_reviews`].
    #[must_use]
    pub fn review_counts(&self) -> ReviewCounts {
        ReviewCounts::of(self.latest_reviews.iter().map(|r| r.state))
    }

    /// Returns the id of the changes: the CID of the patch if there is one, otherwise the head
    /// commit. Requests compare this id with an expected head.
    #[must_use]
    pub fn head_id(&self) -> Option<&str> {
        self.head_patch.as_deref().or(self.head_oid.as_deref())
    }
}

/// An issue linked to a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinkedIssue {
    /// The forge's internal id. Empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The repository of the issue. It may differ from the repository of the pull request.
    pub repo: RepoId,
    /// The forge's internal ids of that repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_node: Option<RepoNode>,
    /// Number of the issue in that repository.
    pub number: u64,
    /// Title, on one line.
    pub title: String,
    /// True if the issue is open.
    pub open: bool,
    /// URL of the issue's page.
    pub url: String,
    /// The names of the labels. ([`PrFields::LINKED_LABELS`]; `None` if not read)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
}

impl LinkedIssue {
    /// Builds an open issue of `repo`, without the forge's internal ids.
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
            labels: None,
        }
    }
}

/// Result of checking whether the index has ingested the record of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecordIngestion {
    /// The record's at-uri.
    pub uri: String,
    /// The version of the record that was checked.
    pub cid: String,
    /// Whether the index has ingested the record.
    pub verdict: Ingestion,
    /// The observations on which the verdict is based.
    pub evidence: String,
    /// True if the index answered, or if the check did not need the index. If false, the verdict
    /// `pending` proves nothing.
    pub answered: bool,
    /// Hint on what to do about the verdict, if something can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Hint>,
}

impl RecordIngestion {
    /// Builds a verdict without a recovery, for an index that answered or was not needed.
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

/// Selects which optional sections of a pull request to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrFields(u32);

impl PrFields {
    /// Selects no sections.
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
    /// For rows of a list, which need no description, labels, people, milestone and reviews. A
    /// forge may leave these empty if reading them takes more requests.
    pub const ROW: Self = Self(1 << 9);
    /// Settings of an automatic merge.
    pub const AUTO_MERGE: Self = Self(1 << 10);
    /// Permission of maintainers to push to the head branch.
    pub const MAINTAINER_ACCESS: Self = Self(1 << 11);
    /// Id in the forge's database.
    pub const DATABASE_ID: Self = Self(1 << 12);
    /// The forge's test merge commit.
    pub const POTENTIAL_MERGE: Self = Self(1 << 13);
    /// Reactions.
    pub const REACTIONS: Self = Self(1 << 14);
    /// Items on project boards.
    pub const PROJECTS: Self = Self(1 << 15);
    /// Leaves out the description. [`PullRequest::version`] is then unusable. As with
    /// [`Self::ROW`], a forge may read the description anyway.
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
    /// The pull request that this one is stacked on.
    pub const DEPENDS_ON: Self = Self(1 << 22);
    /// Leaves out the comments of reviews. A forge may read them anyway.
    pub const NO_REVIEW_COMMENTS: Self = Self(1 << 23);
    /// Whether the index has ingested the pull request's record.
    pub const INGESTION: Self = Self(1 << 24);
    /// Requirements of the base branch that need no extra request.
    /// [`PullRequests::base_rules`](crate::PullRequests::base_rules) reads the other requirements.
    pub const RULES: Self = Self(1 << 25);
    /// Only the newest hundred comments, reviews and commits, on forges where reading all of them
    /// takes more requests.
    pub const NEWEST: Self = Self(1 << 26);
    /// The issues that the merge closes, with the names of their labels. On GitHub, only the first
    /// hundred issues have labels.
    pub const LINKED_LABELS: Self = Self(1 << 8 | 1 << 27);
    /// The open pull requests whose base is the head branch.
    pub const DEPENDENTS: Self = Self(1 << 30);
    /// The merged pull request whose head branch is the base branch. Needs [`Self::DEPENDS_ON`],
    /// which tells the default branch from other branches.
    pub const MERGED_BASE: Self = Self(1 << 22 | 1 << 31);
    /// Facts that a change of the pull request needs. If a caller selects them when it finds the
    /// pull request, the change does not read the pull request again.
    pub const TO_CHANGE: Self = Self(1 << 28);
    /// Like [`Self::TO_CHANGE`], but for a merge or an update of the head branch.
    pub const TO_MERGE: Self = Self(1 << 28 | 1 << 29);

    /// Returns true if all sections of `other` are selected.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds the sections of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Removes the sections of `other`.
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
    /// The newest pull request of the branch that the caller named.
    pub current_branch: Option<PullRequest>,
    /// Open pull requests by the viewer.
    pub created_by: Vec<PullRequest>,
    /// Open pull requests that wait for the viewer's review.
    pub needs_review: Vec<PullRequest>,
    /// Warnings about parts that could not be read. All other parts are valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

impl PullStatus {
    /// Builds the lists for the viewer, without a pull request of the current branch.
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
