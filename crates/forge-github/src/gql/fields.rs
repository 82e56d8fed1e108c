//! Table of the GraphQL selections for the sections of a pull request. A section is an optional
//! part that a bit of [`PrFields`] requests, such as the reviews or the checks.

use std::fmt::Write;

use forge_core::model::PrFields;

/// The fields of a pull request that are selected in addition to its sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseFields {
    /// The few fields that a list of pull requests shows.
    Row,
    /// All fields outside the sections.
    Core,
}

/// How a query asks GitHub whether a check is required for a certain pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Required {
    /// The required checks are not queried.
    No,
    /// The query names the pull request by the variable `$number`.
    Number,
    /// The query names the pull request by the variable `$id`.
    Id,
}

/// A section that is a GraphQL connection, read in pages of a hundred entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Section {
    Comments,
    Reviews,
    Threads,
    Commits,
    Files,
    Checks,
    LinkedIssues,
    Projects,
    LatestReviews,
    LatestOpinions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionPart<'a> {
    /// The first page.
    First,
    /// The page after the cursor in the named variable.
    After(&'a str),
    /// The last page, and the total count.
    Newest,
}

impl Section {
    pub const ALL: &'static [Self] = &[
        Self::Comments,
        Self::Reviews,
        Self::Threads,
        Self::Commits,
        Self::Files,
        Self::Checks,
        Self::LinkedIssues,
        Self::Projects,
        Self::LatestReviews,
        Self::LatestOpinions,
    ];

    /// Returns the bit that requests this section. The latest reviews have no bit, because the
    /// fragment `PullReviews` already selects them.
    pub const fn field(self) -> Option<PrFields> {
        Some(match self {
            Self::Comments => PrFields::COMMENTS,
            Self::Reviews => PrFields::REVIEWS,
            Self::Threads => PrFields::THREADS,
            Self::Commits => PrFields::COMMITS,
            Self::Files => PrFields::FILES,
            Self::Checks => PrFields::CHECKS,
            Self::LinkedIssues => PrFields::LINKED_ISSUES,
            Self::Projects => PrFields::PROJECTS,
            Self::LatestReviews | Self::LatestOpinions => return None,
        })
    }

    fn is_in(self, fields: PrFields) -> bool {
        self.field().is_some_and(|field| fields.contains(field))
    }

    /// Returns the section's key in GraphQL answers.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Comments => "allComments",
            Self::Reviews => "reviews",
            Self::Threads => "reviewThreads",
            Self::Commits => "commits",
            Self::Files => "files",
            Self::Checks => "head",
            Self::LinkedIssues => "closingIssuesReferences",
            Self::Projects => "projectItems",
            Self::LatestReviews => "latestReviews",
            Self::LatestOpinions => "latestOpinionatedReviews",
        }
    }

    /// Returns the section's name in messages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Comments => "comments",
            Self::Reviews => "reviews",
            Self::Threads => "review threads",
            Self::Commits => "commits",
            Self::Files => "files",
            Self::Checks => "checks",
            Self::LinkedIssues => "linked issues",
            Self::Projects => "projects",
            Self::LatestReviews | Self::LatestOpinions => "latest reviews",
        }
    }

    /// Returns the section's field in the model.
    pub const fn model_field(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::LinkedIssues => "linked_issues",
            Self::LatestReviews | Self::LatestOpinions => "latest_reviews",
            _ => self.title(),
        }
    }

    /// Finds the section by its key in an answer.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|s| s.key() == key)
    }

    /// Returns whether the section can be read as its newest page only ([`PrFields::NEWEST`]).
    const fn can_be_newest(self) -> bool {
        matches!(self, Self::Comments | Self::Reviews | Self::Commits)
    }

    /// Returns the section's GraphQL selection.
    fn selection(self, part: SectionPart<'_>, fields: PrFields, required: Required) -> String {
        let first = match part {
            SectionPart::After(variable) => format!("first: 100, after: ${variable}"),
            SectionPart::First => "first: 100".to_owned(),
            SectionPart::Newest => "last: 100".to_owned(),
        };
        let node = match self {
            Self::Comments => "CommentNode",
            Self::Reviews if fields.contains(PrFields::NO_REVIEW_COMMENTS) => "ReviewNode",
            Self::Reviews => "ReviewWithComments",
            Self::Threads => "ThreadNode",
            Self::Commits => "CommitNode",
            Self::Files => "FileNode",
            Self::LinkedIssues if fields.contains(PrFields::LINKED_LABELS) => {
                "IssueLink labels(first: 20) { nodes { name } }"
            }
            Self::LinkedIssues => "IssueLink",
            Self::Projects => "ProjectItemNode",
            Self::LatestReviews => "ReviewNode",
            Self::LatestOpinions => "ReviewNode authorCanPushToRepository",
            Self::Checks => return checks(&first, required),
        };
        // Pending reviews are visible only to their authors, so only submitted reviews are queried.
        let submitted = if self == Self::Reviews {
            ", states: [APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED]"
        } else {
            ""
        };
        // `comments` is always selected for its total count. GraphQL does not allow a second
        // selection of a field with other arguments, so this one has an alias.
        let field = if self == Self::Comments {
            "allComments: comments"
        } else {
            self.key()
        };
        let end = match part {
            // No page follows the newest one, so the page's end is not queried.
            SectionPart::Newest => "totalCount",
            _ => "pageInfo { ...PageEnd }",
        };
        format!("{field}({first}{submitted}) {{ nodes {{ ...{node} }} {end} }}")
    }
}

fn checks(first: &str, required: Required) -> String {
    let required = match required {
        Required::No => String::new(),
        by => {
            let argument = match by {
                Required::Number => "pullRequestNumber: $number",
                _ => "pullRequestId: $id",
            };
            format!(
                " ... on CheckRun {{ isRequired({argument}) checkSuite {{ app {{ databaseId }} }} }} ... on StatusContext {{ isRequired({argument}) }}"
            )
        }
    };
    format!(
        "head: commits(last: 1) {{ nodes {{ commit {{ oid statusCheckRollup {{ state contexts({first}) {{ \
         nodes {{ ...CheckNode{required} }} pageInfo {{ ...PageEnd }} }} }} }} }} }}"
    )
}

/// The sections that are not connections, each with its selection.
pub(super) const PLAIN: &[(PrFields, &str)] = &[
    (PrFields::STATS, "additions deletions changedFiles"),
    (PrFields::MERGEABILITY, "mergeable mergeStateStatus"),
    (PrFields::AUTO_MERGE, "autoMergeRequest { ...AutoMerge }"),
    (PrFields::MAINTAINER_ACCESS, "maintainerCanModify"),
    (PrFields::DATABASE_ID, "fullDatabaseId"),
    (PrFields::POTENTIAL_MERGE, "potentialMergeCommit { oid }"),
    (PrFields::REACTIONS, "...Reactions"),
    (
        PrFields::DEPENDS_ON,
        "baseRepository { defaultBranchRef { name } } baseRef { associatedPullRequests(first: 10, \
         states: [OPEN]) { nodes { __typename ...PullLink } } }",
    ),
    (PrFields::RULES, "...PullRules"),
    (
        PrFields::MERGED_BASE,
        "baseRef { target { oid } mergedHeads: associatedPullRequests(last: 1, states: [MERGED]) \
         { nodes { ...PullLink headRefOid } } }",
    ),
    (PrFields::DEPENDENTS, "baseRepository { ...OpenPulls }"),
    (
        PrFields::TO_CHANGE,
        "headRef { id target { oid } } baseRef { id } \
         baseRepository { defaultBranchRef { name } ...OpenPulls } \
         newestComment: comments(last: 1) { nodes { id } } \
         newestReview: reviews(last: 1) { nodes { id } }",
    ),
    (
        PrFields::TO_MERGE,
        "mergeable mergeStateStatus isMergeQueueEnabled isInMergeQueue \
         autoMergeRequest { ...AutoMerge } \
         baseRepository { viewerDefaultMergeMethod mergeCommitAllowed squashMergeAllowed \
         rebaseMergeAllowed ...OpenPulls } \
         closingIssuesReferences(first: 100) { nodes { ...IssueLink } pageInfo { ...PageEnd } }",
    ),
];

/// Parts that are queried unless the caller excludes them. Each is paired with the bit that
/// excludes it.
pub(super) const USUAL: &[(PrFields, &str)] = &[
    (PrFields::NO_DESCRIPTION, "body"),
    (PrFields::NO_MILESTONE, "...PullMilestone"),
    (PrFields::NO_LABELS, "...PullLabels"),
    (PrFields::NO_ASSIGNEES, "...PullAssignees"),
    (PrFields::NO_REVIEW_REQUESTS, "...PullRequests"),
    (PrFields::NO_LATEST_REVIEWS, "...PullReviews"),
];

/// Returns whether `fields` exclude a part that the pull request's version, a fingerprint, is
/// computed from.
pub(crate) fn is_less(fields: PrFields) -> bool {
    fields.contains(PrFields::ROW) || USUAL.iter().any(|(without, _)| fields.contains(*without))
}

/// Returns the selection set of a pull request: the fields of `base`, and the sections in `fields`.
pub(crate) fn selection(base: BaseFields, fields: PrFields, required: Required) -> String {
    let mut text = match base {
        BaseFields::Row => "...PullRow".to_owned(),
        BaseFields::Core if !is_less(fields) => "...PullCore".to_owned(),
        BaseFields::Core => {
            let mut text = "...PullState".to_owned();
            let usual = USUAL
                .iter()
                .filter(|(without, _)| !fields.contains(*without));
            for (_, part) in usual {
                let _ = write!(text, " {part}");
            }
            text
        }
    };
    for (_, plain) in PLAIN.iter().filter(|(field, _)| fields.contains(*field)) {
        let _ = write!(text, " {plain}");
    }
    for section in Section::ALL.iter().filter(|s| s.is_in(fields)) {
        let is_newest = fields.contains(PrFields::NEWEST) && section.can_be_newest();
        let part = if is_newest {
            SectionPart::Newest
        } else {
            SectionPart::First
        };
        let _ = write!(text, " {}", section.selection(part, fields, required));
    }
    text
}

/// Builds the selection set for the next page of each section. Each section is paired with the
/// variable that holds its cursor.
pub(crate) fn continuation(sections: &[(Section, String)]) -> String {
    let mut text = "id".to_owned();
    for (section, variable) in sections {
        let _ = write!(
            text,
            " {}",
            section.selection(SectionPart::After(variable), PrFields::NONE, Required::Id)
        );
    }
    text
}

/// Returns whether the entries of a requested section themselves contain long lists.
pub(crate) fn is_deep(fields: PrFields) -> bool {
    fields.contains(PrFields::REVIEWS) || fields.contains(PrFields::THREADS)
}

/// Returns whether a list of pull requests with these sections is slow to read. GitHub times out
/// after ten seconds.
pub(crate) fn is_heavy(fields: PrFields) -> bool {
    fields.contains(PrFields::MERGEABILITY)
        || fields.contains(PrFields::TO_MERGE)
        || fields.contains(PrFields::POTENTIAL_MERGE)
        || Section::ALL.iter().any(|s| s.is_in(fields))
}
