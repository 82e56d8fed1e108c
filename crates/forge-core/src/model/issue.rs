use std::{collections::BTreeMap, fmt, hash::Hash};

use serde::{Deserialize, Serialize};

use super::{Actor, BoardId, Comment, Label, Milestone, ProjectItem, RepoNode, SetChange};
use crate::{Error, PrId, PrKey, RepoId, Result, Timestamp, locator::ISSUE_SUFFIX};

/// Id of an issue.
///
/// `Display` prints a locator (a text that names the issue), as for [`PrId`](crate::PrId). On some
/// forges, issues and pull requests share their numbers. A git repository numbers them separately.
/// The locator of an issue there therefore contains the kind: `file:///srv/tools#issue-3`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct IssueId {
    /// The repository.
    pub repo: RepoId,
    /// Key of the issue in the repository.
    pub key: PrKey,
}

impl IssueId {
    /// Returns the id of issue `number` in `repo`.
    #[must_use]
    pub fn number(repo: RepoId, number: u64) -> Self {
        Self {
            repo,
            key: PrKey::Number(number),
        }
    }
}

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            PrKey::Number(n) if self.repo.numbers_issues_apart() => {
                write!(f, "{}#{ISSUE_SUFFIX}{n}", self.repo)
            }
            PrKey::Number(n) => write!(f, "{}#{n}", self.repo),
            PrKey::Record(uri) => f.write_str(uri),
        }
    }
}

/// The state of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueState {
    /// Open.
    Open,
    /// Closed.
    Closed,
}

/// Reason for the state of an issue, if the forge records one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueReason {
    /// Closed as done.
    Completed,
    /// Closed as not planned.
    NotPlanned,
    /// Closed as a duplicate of another issue.
    Duplicate,
    /// Reopened.
    Reopened,
}

/// An issue.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Issue {
    /// Id of the issue.
    pub id: IssueId,
    /// The forge's internal id (a node id, a record's at-uri). Empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_id: String,
    /// Number, if the forge numbers issues.
    pub number: Option<u64>,
    /// Title, on one line.
    pub title: String,
    /// Description as Markdown; may be empty.
    pub body: String,
    /// Author.
    pub author: Actor,
    /// Open or closed.
    pub state: IssueState,
    /// Reason for the state; `None` if the forge records none.
    pub state_reason: Option<IssueReason>,
    /// Labels, sorted by name.
    pub labels: Vec<Label>,
    /// Assignees.
    pub assignees: Vec<Actor>,
    /// Milestone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<Milestone>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time of closing; `None` while open.
    pub closed_at: Option<Timestamp>,
    /// Number of comments.
    pub comments_count: u64,
    /// URL of the issue's page, or a locator if the issue has no page.
    pub url: String,
    /// Opaque version of the issue. An edit can require that it is unchanged (compare-and-swap).
    pub version: String,
    /// Field values by the name of the field. On GitHub the fields belong to the board in
    /// [`IssueFields::board`]; a git repository stores them in the issue.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// True if the issue is on the board in [`IssueFields::board`], and not archived there. `None`
    /// if no board is named, or if the boards of the issue are not all known.
    #[serde(skip)]
    pub on_board: Option<bool>,
    /// Comments, oldest first. ([`IssueFields::comments`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<Vec<Comment>>,
    /// Parent, sub-issues and dependencies. ([`IssueFields::relations`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relations: Option<IssueRelations>,
    /// Type, pin, reactions and number of sub-issues; `None` on a forge without them.
    /// ([`IssueFields::details`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<IssueDetails>,
    /// Pull requests that close the issue when merged. `None` on a forge where only
    /// [`Links`](super::Links) contains them. ([`IssueFields::closing_pulls`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing_pulls: Option<Vec<ClosingPull>>,
    /// Items on project boards. ([`IssueFields::projects`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectItem>>,
    /// Warnings about sections (optional groups of fields) that could not be read in full.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

impl Issue {
    /// Builds an open issue without a description. If the key is a number, it is also set as the
    /// number.
    pub fn new(
        id: IssueId,
        title: impl Into<String>,
        author: Actor,
        created_at: Timestamp,
    ) -> Self {
        Self {
            number: match id.key {
                PrKey::Number(number) => Some(number),
                PrKey::Record(_) => None,
            },
            id,
            node_id: String::new(),
            title: title.into(),
            body: String::new(),
            author,
            state: IssueState::Open,
            state_reason: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            milestone: None,
            created_at,
            updated_at: created_at,
            closed_at: None,
            comments_count: 0,
            url: String::new(),
            version: String::new(),
            values: BTreeMap::new(),
            on_board: None,
            comments: None,
            relations: None,
            details: None,
            closing_pulls: None,
            projects: None,
            warnings: Vec::new(),
        }
    }
}

/// The type of an issue, such as Bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IssueType {
    /// The forge's internal id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Purpose of the type.
    pub description: Option<String>,
    /// The forge's name of the colour.
    pub color: Option<String>,
}

impl IssueType {
    /// Builds the type `id` with its name.
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: None,
            color: None,
        }
    }
}

/// A pull request that closes an issue when merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClosingPull {
    /// Id of the pull request.
    pub id: PrId,
    /// The forge's internal id. Empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_id: String,
    /// The forge's internal ids of the pull request's repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_node: Option<RepoNode>,
    /// URL of the pull request's page, or a locator if there is no page.
    pub url: String,
}

impl ClosingPull {
    /// Builds a closing pull request from its id and URL, without the forge's internal ids.
    pub fn new(id: PrId, url: impl Into<String>) -> Self {
        Self {
            id,
            node_id: String::new(),
            repo_node: None,
            url: url.into(),
        }
    }
}

/// Number of sub-issues of an issue, including those that the viewer may not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SubIssuesSummary {
    /// Number of closed sub-issues.
    pub completed: u64,
    /// Closed sub-issues in percent of all.
    pub percent_completed: u64,
    /// Number of sub-issues.
    pub total: u64,
}

/// Type, pin, reactions and number of sub-issues of an issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IssueDetails {
    /// The type, if the issue has one.
    pub issue_type: Option<IssueType>,
    /// True if the issue is pinned to the top of the list.
    pub is_pinned: bool,
    /// Number of reactions by the name of the emoji.
    pub reactions: BTreeMap<String, u64>,
    /// Number of sub-issues.
    pub sub_issues: SubIssuesSummary,
}

/// Relations of an issue to other issues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IssueRelations {
    /// The parent issue.
    pub parent: Option<RelatedIssue>,
    /// The sub-issues, in the forge's order.
    pub sub_issues: Vec<RelatedIssue>,
    /// The issues that block this one.
    pub blocked_by: Vec<RelatedIssue>,
    /// The issues that this one blocks.
    pub blocking: Vec<RelatedIssue>,
    /// True if at least one of the lists is incomplete.
    pub truncated: bool,
}

/// An issue at the other end of a relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RelatedIssue {
    /// Id of the issue.
    pub id: IssueId,
    /// Title, on one line.
    pub title: String,
    /// Open or closed.
    pub state: IssueState,
    /// URL of the issue's page, or a locator if the issue has no page.
    pub url: String,
}

impl RelatedIssue {
    /// Builds the issue `id` with its title, state and URL.
    pub fn new(
        id: IssueId,
        title: impl Into<String>,
        state: IssueState,
        url: impl Into<String>,
    ) -> Self {
        Self {
            id,
            title: title.into(),
            state,
            url: url.into(),
        }
    }
}

/// Result of reading several issues.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct IssueSet {
    /// The requested issues, and related issues that the forge's response also contained.
    pub issues: Vec<Issue>,
    /// Requested issues that could not be read, with the reason.
    pub failed: Vec<(IssueId, Error)>,
}

/// A field that issues can have, with its fixed set of allowed values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IssueField {
    /// Name of the field.
    pub name: String,
    /// Allowed values, in order.
    pub options: Vec<String>,
}

impl IssueField {
    /// Builds the field `name` with the values `options`.
    pub fn new(name: impl Into<String>, options: Vec<String>) -> Self {
        Self {
            name: name.into(),
            options,
        }
    }
}

/// Selects which optional sections of an issue to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct IssueFields {
    /// Comments.
    pub comments: bool,
    /// Limits [`Self::comments`] to the newest five, on forges where reading all comments takes
    /// more requests.
    pub newest_comments: bool,
    /// Parent, sub-issues and dependencies.
    pub relations: bool,
    /// Values of the fields of this board.
    pub board: Option<BoardId>,
    /// Type, pin, reactions and number of sub-issues.
    pub details: bool,
    /// Items on project boards.
    pub projects: bool,
    /// Pull requests that close the issue when merged.
    pub closing_pulls: bool,
}

impl IssueFields {
    /// Selects no section.
    pub const NONE: Self = Self {
        comments: false,
        newest_comments: false,
        relations: false,
        board: None,
        details: false,
        projects: false,
        closing_pulls: false,
    };
    /// Selects only comments.
    pub const COMMENTS: Self = Self {
        comments: true,
        ..Self::NONE
    };
    /// Selects only the newest comments.
    pub const NEWEST_COMMENTS: Self = Self {
        newest_comments: true,
        ..Self::COMMENTS
    };
    /// Selects only parent, sub-issues and dependencies.
    pub const RELATIONS: Self = Self {
        relations: true,
        ..Self::NONE
    };
    /// Selects only type, pin, reactions and number of sub-issues.
    pub const DETAILS: Self = Self {
        details: true,
        ..Self::NONE
    };
    /// Selects only the pull requests that close the issue when merged.
    pub const CLOSING_PULLS: Self = Self {
        closing_pulls: true,
        ..Self::NONE
    };
    /// Selects only items on project boards.
    pub const PROJECTS: Self = Self {
        projects: true,
        ..Self::NONE
    };
}

/// States of the issues in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IssueFilter {
    /// Open issues.
    #[default]
    Open,
    /// Closed issues.
    Closed,
    /// All issues.
    All,
}

impl IssueFilter {
    /// Returns true if the filter shows issues in `state`.
    #[must_use]
    pub fn shows(self, state: IssueState) -> bool {
        match self {
            Self::Open => state == IssueState::Open,
            Self::Closed => state == IssueState::Closed,
            Self::All => true,
        }
    }
}

/// Query for issues. The result is sorted newest first unless `oldest_first` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct IssueQuery {
    /// Sort the result oldest first.
    pub oldest_first: bool,
    /// Sections (optional groups of fields) to read for each issue.
    pub fields: IssueFields,
    /// Filters by state.
    pub state: IssueFilter,
    /// Filters by the login of the author; `@me` is the viewer.
    pub author: Option<String>,
    /// Filters by the login of an assignee; `@me` is the viewer.
    pub assignee: Option<String>,
    /// Filters by labels; an issue must have all of them.
    pub labels: Vec<String>,
    /// Words and qualifiers in the forge's own search syntax.
    pub search: Option<String>,
    /// Filters by the login of a mentioned account; `@me` is the viewer.
    pub mention: Option<String>,
    /// Filters by the title of the milestone.
    pub milestone: Option<String>,
    /// Filters by the name of the type.
    pub issue_type: Option<String>,
    /// Filters by the app that opened the issue.
    pub app: Option<String>,
}

impl IssueQuery {
    /// Returns true if one of the filters needs the forge's search.
    #[must_use]
    pub fn searches(&self) -> bool {
        let filters = [
            &self.search,
            &self.mention,
            &self.milestone,
            &self.issue_type,
            &self.app,
        ];
        filters.iter().any(|filter| filter.is_some())
    }
}

/// A request to open an issue.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewIssue {
    /// Title: one line, not empty.
    pub title: String,
    /// Description as Markdown.
    pub body: String,
    /// Label names in any case; each label must exist.
    pub labels: Vec<String>,
    /// Assignees, by login; `@me` is the viewer.
    pub assignees: Vec<String>,
    /// Milestone, by title.
    pub milestone: Option<String>,
    /// Type, by name in any case.
    pub issue_type: Option<String>,
    /// Project boards, by title.
    pub projects: Vec<String>,
    /// Parent issue.
    pub parent: Option<IssueId>,
    /// Issues that block this one.
    pub blocked_by: Vec<IssueId>,
    /// Values of fields, by name.
    pub values: BTreeMap<String, String>,
    /// The board that the fields in `values` belong to.
    pub board: Option<BoardId>,
}

impl NewIssue {
    /// Builds a request with only title and description.
    pub fn new(title: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            body: body.into(),
            ..Self::default()
        }
    }
}

/// A request to change an issue. Fields that are not set stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditIssue {
    /// New title.
    pub title: Option<String>,
    /// New body.
    pub body: Option<String>,
    /// Label names in any case; labels to add must exist.
    pub labels: SetChange<String>,
    /// Assignees, by login; `@me` is the viewer.
    pub assignees: SetChange<String>,
    /// Milestone, by title; `Some(None)` removes the milestone.
    pub milestone: Option<Option<String>>,
    /// Type, by name in any case; `Some(None)` removes the type.
    pub issue_type: Option<Option<String>>,
    /// Project boards, by title.
    pub projects: SetChange<String>,
    /// Values of fields, by name; `None` clears a field.
    pub values: BTreeMap<String, Option<String>>,
    /// Like `values`, but a field or value that the board does not have is skipped.
    pub values_if_known: BTreeMap<String, Option<String>>,
    /// The board that the fields in `values` belong to.
    pub board: Option<BoardId>,
    /// Parent issue; `Some(None)` removes the parent.
    pub parent: Option<Option<IssueId>>,
    /// Issues that block this one.
    pub blocked_by: SetChange<IssueId>,
    /// New state.
    pub state: Option<IssueState>,
    /// Reason for closing; `None` lets the forge choose.
    pub reason: Option<IssueReason>,
    /// A comment to post with the changes.
    pub comment: Option<String>,
    /// Refuse the edit unless [`Issue::version`] has this value.
    pub expected_version: Option<String>,
}

/// A request to close or reopen an issue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetIssueState {
    /// New state.
    pub state: IssueState,
    /// Reason for closing; `None` lets the forge choose.
    pub reason: Option<IssueReason>,
    /// The original issue, if the reason is [`IssueReason::Duplicate`].
    pub duplicate_of: Option<IssueId>,
    /// A comment to post with the change.
    pub comment: Option<String>,
}

impl SetIssueState {
    /// Builds a request for `state` without reason and comment.
    #[must_use]
    pub fn to(state: IssueState) -> Self {
        Self {
            state,
            reason: None,
            duplicate_of: None,
            comment: None,
        }
    }

    /// Returns a request to close an issue as a duplicate of `other`.
    #[must_use]
    pub fn duplicate_of(other: IssueId) -> Self {
        Self {
            reason: Some(IssueReason::Duplicate),
            duplicate_of: Some(other),
            ..Self::to(IssueState::Closed)
        }
    }

    /// Sets the reason for closing.
    #[must_use]
    pub fn with_reason(mut self, reason: IssueReason) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Sets the comment to post with the change.
    #[must_use]
    pub fn with_comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }

    /// Returns this request for `issue`. If `duplicate_of` is set, the reason becomes `Duplicate`.
    ///
    /// # Errors
    /// `invalid_input` if `duplicate_of` is `issue` itself, or is combined with the state open or
    /// with another reason.
    pub(crate) fn with_duplicate_reason(&self, issue: &IssueId) -> Result<Self> {
        let Some(other) = &self.duplicate_of else {
            return Ok(self.clone());
        };
        let refused = |why: &str, hint: &'static str| {
            let message = format!("{issue} cannot be a duplicate of {other}: {why}");
            Err(Error::invalid("duplicate_of", message).with_hint(hint))
        };
        if self.state == IssueState::Open {
            return refused("a duplicate is closed", "omit duplicate_of to reopen it");
        }
        if self.reason.unwrap_or(IssueReason::Duplicate) != IssueReason::Duplicate {
            let hint = "pass 'duplicate' as the reason, or omit duplicate_of";
            return refused("the reason for closing is not duplicate", hint);
        }
        let same_repo = issue.repo.comparison_key() == other.repo.comparison_key();
        if same_repo && issue.key == other.key {
            return refused("it is the same issue", "name the issue that it repeats");
        }
        let req = self.clone();
        Ok(req.with_reason(IssueReason::Duplicate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_of_implies_its_state_and_reason() {
        let [one, two] = [1, 2].map(|n| IssueId::number(RepoId::local("/srv/tools"), n));
        let mut req = SetIssueState::to(IssueState::Closed);
        req.duplicate_of = Some(two.clone());
        let checked = req.with_duplicate_reason(&one).unwrap();
        assert_eq!(checked.reason, Some(IssueReason::Duplicate));
        let completed = req.clone().with_reason(IssueReason::Completed);
        let mut open = req.clone();
        open.state = IssueState::Open;
        for (req, issue) in [(&completed, &one), (&open, &one), (&req, &two)] {
            let e = req.with_duplicate_reason(issue).unwrap_err();
            assert_eq!(e.code(), "invalid_input", "{e}");
        }
    }
}
