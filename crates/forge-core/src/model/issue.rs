use std::{collections::BTreeMap, fmt, hash::Hash};

use serde::{Deserialize, Serialize};

use super::{Actor, BoardId, Comment, Label, Milestone, SetChange};
use crate::{Error, PrKey, RepoId, Timestamp, locator::ISSUE_SUFFIX};

/// An issue of a repository.
///
/// Its text is a locator, as that of a [`PrId`](crate::PrId) is. Whether issues and pull requests
/// share their numbers is a matter of the forge. In a git repository they do not, and the text says
/// which is meant: `file:///srv/tools#issue-3`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct IssueId {
    /// The repository that it is about.
    pub repo: RepoId,
    /// Its key there.
    pub key: PrKey,
}

impl IssueId {
    /// An issue by number.
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

/// Why an issue is in its state, where the forge keeps that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueReason {
    /// Closed: it is done.
    Completed,
    /// Closed: nobody is going to do it.
    NotPlanned,
    /// Closed: another one says the same.
    Duplicate,
    /// Open again.
    Reopened,
}

/// An issue.
#[derive(Clone, Debug, Serialize)]
pub struct Issue {
    /// What names it.
    pub id: IssueId,
    /// The forge's own id (a node id, a record's at-uri); empty where there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_id: String,
    /// Its number, where the forge numbers them.
    pub number: Option<u64>,
    /// One line.
    pub title: String,
    /// Markdown; may be empty.
    pub body: String,
    /// Who opened it.
    pub author: Actor,
    /// Open or closed.
    pub state: IssueState,
    /// Why; `None` where the forge does not keep it.
    pub state_reason: Option<IssueReason>,
    /// Labels, by name.
    pub labels: Vec<Label>,
    /// Assignees.
    pub assignees: Vec<Actor>,
    /// Its milestone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<Milestone>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything about it last changed.
    pub updated_at: Timestamp,
    /// When it was closed; `None` while it is open.
    pub closed_at: Option<Timestamp>,
    /// How many comments it has.
    pub comments_count: u64,
    /// Its page, or a locator where it has none.
    pub url: String,
    /// The version for a compare-and-swap edit (opaque).
    pub version: String,
    /// Values of its fields, by the field's name: those of the board of [`IssueFields::board`], and
    /// those that a git repository keeps in the issue itself.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Comments, oldest first. ([`IssueFields::comments`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<Vec<Comment>>,
    /// Parent, sub-issues and dependencies. ([`IssueFields::relations`])
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relations: Option<IssueRelations>,
    /// Sections that could not be read in full, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

/// How an issue stands to other issues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IssueRelations {
    /// The issue that it is a part of.
    pub parent: Option<RelatedIssue>,
    /// Its parts, in the forge's order.
    pub sub_issues: Vec<RelatedIssue>,
    /// The issues that it waits for.
    pub blocked_by: Vec<RelatedIssue>,
    /// The issues that wait for it.
    pub blocking: Vec<RelatedIssue>,
    /// Whether a list is longer than what was read of it.
    pub truncated: bool,
}

/// An issue at the other end of a relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelatedIssue {
    /// What names it.
    pub id: IssueId,
    /// One line.
    pub title: String,
    /// Open or closed.
    pub state: IssueState,
    /// Its page, or a locator where it has none.
    pub url: String,
}

/// What a reading of several issues found.
#[derive(Debug, Default)]
pub struct IssueSet {
    /// The issues that were asked for, and related ones that the forge gave along.
    pub issues: Vec<Issue>,
    /// Those that were asked for and could not be read.
    pub failed: Vec<(IssueId, Error)>,
}

/// A field of issues with a fixed set of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IssueField {
    /// Its name.
    pub name: String,
    /// Its values, in order.
    pub options: Vec<String>,
}

/// Which costly sections of an issue are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IssueFields {
    /// Comments.
    pub comments: bool,
    /// Parent, sub-issues and dependencies.
    pub relations: bool,
    /// The values of its fields on this board.
    pub board: Option<BoardId>,
}

impl IssueFields {
    /// No section.
    pub const NONE: Self = Self {
        comments: false,
        relations: false,
        board: None,
    };
    /// Comments alone.
    pub const COMMENTS: Self = Self {
        comments: true,
        ..Self::NONE
    };
}

/// Which states a list of issues shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IssueFilter {
    /// Open ones.
    #[default]
    Open,
    /// Closed ones.
    Closed,
    /// All.
    All,
}

impl IssueFilter {
    /// Whether it shows issues in `state`.
    #[must_use]
    pub fn shows(self, state: IssueState) -> bool {
        match self {
            Self::Open => state == IssueState::Open,
            Self::Closed => state == IssueState::Closed,
            Self::All => true,
        }
    }
}

/// Which issues, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IssueQuery {
    /// The oldest first.
    pub oldest_first: bool,
    /// The sections that each row has.
    pub fields: IssueFields,
    /// By state.
    pub state: IssueFilter,
    /// By author's login; `@me` is the viewer.
    pub author: Option<String>,
    /// By assignee's login; `@me` is the viewer.
    pub assignee: Option<String>,
    /// By labels: all of them must be on it.
    pub labels: Vec<String>,
    /// Words and qualifiers in the forge's own search syntax.
    pub search: Option<String>,
    /// By a login that it mentions; `@me` is the viewer.
    pub mention: Option<String>,
    /// By the title of its milestone.
    pub milestone: Option<String>,
    /// By the app that opened it.
    pub app: Option<String>,
}

impl IssueQuery {
    /// Whether it has a filter that is a search of the forge's.
    #[must_use]
    pub fn searches(&self) -> bool {
        [&self.search, &self.mention, &self.milestone, &self.app]
            .iter()
            .any(|filter| filter.is_some())
    }
}

/// An issue to open.
#[derive(Clone, Debug, Default)]
pub struct NewIssue {
    /// One line, not empty.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// Labels, by name without regard to case; each must exist.
    pub labels: Vec<String>,
    /// Assignees, by login; `@me` is the viewer.
    pub assignees: Vec<String>,
    /// Its milestone, by title.
    pub milestone: Option<String>,
    /// The issue that it is a part of.
    pub parent: Option<IssueId>,
    /// The issues that it waits for.
    pub blocked_by: Vec<IssueId>,
    /// Values of fields, by the field's name.
    pub values: BTreeMap<String, String>,
    /// The board whose fields `values` names.
    pub board: Option<BoardId>,
}

/// Changes to an issue; what is not named stays.
#[derive(Clone, Debug, Default)]
pub struct EditIssue {
    /// New title.
    pub title: Option<String>,
    /// New body.
    pub body: Option<String>,
    /// Labels, by name without regard to case; those to add must exist.
    pub labels: SetChange<String>,
    /// Assignees, by login; `@me` is the viewer.
    pub assignees: SetChange<String>,
    /// Its milestone, by title; `Some(None)` takes it off.
    pub milestone: Option<Option<String>>,
    /// Values of fields, by the field's name; `None` clears one.
    pub values: BTreeMap<String, Option<String>>,
    /// As `values`, of a board that may lack the field or the value: then that one is left out.
    pub values_if_known: BTreeMap<String, Option<String>>,
    /// The board whose fields `values` names.
    pub board: Option<BoardId>,
    /// The issue that it is a part of; `Some(None)` takes it out of its parent.
    pub parent: Option<Option<IssueId>>,
    /// The issues that it waits for.
    pub blocked_by: SetChange<IssueId>,
    /// Closed, or open again.
    pub state: Option<IssueState>,
    /// Why it is closed; `None` is the forge's own default.
    pub reason: Option<IssueReason>,
    /// A comment to leave with the changes.
    pub comment: Option<String>,
    /// Refuse unless [`Issue::version`] is this.
    pub expected_version: Option<String>,
}

/// How to close or reopen an issue.
#[derive(Clone, Debug)]
pub struct SetIssueState {
    /// Closed, or open again.
    pub state: IssueState,
    /// Why it is closed; `None` is the forge's own default.
    pub reason: Option<IssueReason>,
    /// A comment to leave with it.
    pub comment: Option<String>,
}

impl SetIssueState {
    /// That state, without a reason and without a comment.
    #[must_use]
    pub fn to(state: IssueState) -> Self {
        Self {
            state,
            reason: None,
            comment: None,
        }
    }
}
