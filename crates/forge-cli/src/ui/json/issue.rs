use std::ops::Deref;

use forge_core::{
    PrKey,
    model::{
        ClosingPull, Issue, IssueFields, IssueReason, IssueState, IssueType, RelatedIssue,
        StatusEvent,
    },
};

use super::{
    Json, JsonField, model_name,
    pull::{
        assignee, author, comment, label, linked, login, milestone, number, project_item,
        reactions, section, time,
    },
};

const PLAIN: IssueFields = IssueFields::NONE;
const RELATIONS: IssueFields = IssueFields::RELATIONS;
const DETAILS: IssueFields = IssueFields::DETAILS;
const CLOSING_PULLS: IssueFields = IssueFields::CLOSING_PULLS;
const PROJECTS: IssueFields = IssueFields::PROJECTS;

/// An issue with the values that the workflow stores: estimate and priority.
pub struct ShownIssue {
    /// The issue.
    pub issue: Issue,
    /// The estimate.
    pub estimate: Option<String>,
    /// The priority.
    pub priority: Option<String>,
}

impl Deref for ShownIssue {
    type Target = Issue;

    fn deref(&self) -> &Issue {
        &self.issue
    }
}

/// Returns a list of related issues, in gh's form.
fn related(issue: &Issue, list: fn(&forge_core::model::IssueRelations) -> &[RelatedIssue]) -> Json {
    let items = issue.relations.as_ref().map(list).unwrap_or_default();
    Json::Object(vec![
        ("nodes", Json::list(items, relation)),
        ("totalCount", Json::Number(items.len() as u64)),
    ])
}

fn relation(to: &RelatedIssue) -> Json {
    let own_number = match to.id.key {
        PrKey::Number(number) => Some(number),
        PrKey::Record(_) => None,
    };
    Json::Object(vec![
        ("number", number(own_number)),
        ("state", Json::text(state(to.state))),
        ("title", Json::text(&to.title)),
        ("url", Json::text(&to.url)),
    ])
}

/// Returns the counts of all and of completed sub-issues, in gh's form. If the forge sent no
/// summary, counts the sub-issues in the issue's relations.
fn sub_issues_summary(issue: &Issue) -> Json {
    if let Some(details) = &issue.details {
        let summary = details.sub_issues;
        return summary_json(summary.completed, summary.percent_completed, summary.total);
    }
    let relations = issue.relations.as_ref();
    let parts = relations.map(|r| r.sub_issues.as_slice());
    let parts = parts.unwrap_or_default();
    let closed = parts.iter().filter(|i| i.state == IssueState::Closed);
    let (total, completed) = (parts.len() as u64, closed.count() as u64);
    let percent = (completed * 100).checked_div(total).unwrap_or(0);
    summary_json(completed, percent, total)
}

fn summary_json(completed: u64, percent: u64, total: u64) -> Json {
    Json::Object(vec![
        ("completed", Json::Number(completed)),
        ("percentCompleted", Json::Number(percent)),
        ("total", Json::Number(total)),
    ])
}

fn closing_pull(pull: &ClosingPull) -> Json {
    let own_number = match pull.id.key {
        PrKey::Number(number) => Some(number),
        PrKey::Record(_) => None,
    };
    let node = pull.repo_node.as_ref();
    linked(
        &pull.node_id,
        number(own_number),
        &pull.id.repo,
        node,
        &pull.url,
    )
}

fn issue_type(of: &IssueType) -> Json {
    let text = |text: &Option<String>| Json::text(text.as_deref().unwrap_or_default());
    Json::Object(vec![
        ("color", text(&of.color)),
        ("description", text(&of.description)),
        ("id", Json::text(&of.id)),
        ("name", Json::text(&of.name)),
    ])
}

fn state(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "OPEN",
        IssueState::Closed => "CLOSED",
    }
}

macro_rules! fields {
    ($($name:literal $needs:expr, $get:expr;)*) => {
        /// The fields of gh's `issue list` and `issue view` that the model supports, and additional
        /// fields, sorted by name.
        pub const ISSUE_FIELDS: &[JsonField<ShownIssue, IssueFields>] =
            &[$(JsonField { name: $name, needs: $needs, get: $get },)*];
    };
}

fields! {
    "assignees" PLAIN, |i| Json::list(&i.assignees, assignee);
    "author" PLAIN, |i| author(&i.author);
    "blockedBy" RELATIONS, |i| related(i, |r| &r.blocked_by);
    "blocking" RELATIONS, |i| related(i, |r| &r.blocking);
    "body" PLAIN, |i| Json::text(&i.body);
    "closed" PLAIN, |i| Json::Bool(i.state == IssueState::Closed);
    "closedAt" PLAIN, |i| time(i.closed_at);
    "closedByPullRequestsReferences" CLOSING_PULLS, |i| {
        section(i.closing_pulls.as_deref(), closing_pull)
    };
    "comments" IssueFields::COMMENTS, |i| section(i.comments.as_deref(), comment);
    "createdAt" PLAIN, |i| time(Some(i.created_at));
    "estimate" PLAIN, |i| Json::maybe(i.estimate.as_ref(), |t| Json::text(t));
    "id" PLAIN, |i| Json::text(&i.node_id);
    "isPinned" DETAILS, |i| Json::Bool(i.details.as_ref().is_some_and(|d| d.is_pinned));
    "issueType" DETAILS, |i| {
        let details = i.details.as_ref();
        Json::maybe(details.and_then(|d| d.issue_type.as_ref()), issue_type)
    };
    "labels" PLAIN, |i| Json::list(&i.labels, label);
    "milestone" PLAIN, |i| Json::maybe(i.milestone.as_ref(), milestone);
    "number" PLAIN, |i| number(i.number);
    "parent" RELATIONS, |i| {
        let parent = i.relations.as_ref().and_then(|r| r.parent.as_ref());
        Json::maybe(parent, relation)
    };
    "priority" PLAIN, |i| Json::maybe(i.priority.as_ref(), |t| Json::text(t));
    "projectCards" PLAIN, |_| Json::Array(vec![]);
    "projectItems" PROJECTS, |i| section(i.projects.as_deref(), project_item);
    "reactionGroups" DETAILS, |i| {
        let details = i.details.as_ref();
        details.map_or(Json::Array(vec![]), |d| reactions(&d.reactions))
    };
    "state" PLAIN, |i| Json::text(state(i.state));
    "stateReason" PLAIN, |i| Json::text(match i.state_reason {
        Some(IssueReason::Completed) => "COMPLETED",
        Some(IssueReason::NotPlanned) => "NOT_PLANNED",
        Some(IssueReason::Duplicate) => "DUPLICATE",
        Some(IssueReason::Reopened) => "REOPENED",
        None => "",
    });
    "subIssues" RELATIONS, |i| related(i, |r| &r.sub_issues);
    "subIssuesSummary" DETAILS, |i| sub_issues_summary(i);
    "title" PLAIN, |i| Json::text(&i.title);
    "updatedAt" PLAIN, |i| time(Some(i.updated_at));
    "url" PLAIN, |i| Json::text(&i.url);
    "values" PLAIN, |i| Json::Map(
        i.values.iter().map(|(name, value)| (name.clone(), Json::text(value))).collect(),
    );
    "version" PLAIN, |i| Json::text(&i.version);
}

/// The fields of an event in an issue's history.
pub const EVENT_FIELDS: &[JsonField<StatusEvent>] = &[
    JsonField {
        name: "actor",
        needs: (),
        get: |e| login(&e.actor),
    },
    JsonField {
        name: "createdAt",
        needs: (),
        get: |e| time(Some(e.created_at)),
    },
    JsonField {
        name: "detail",
        needs: (),
        get: |e| Json::maybe(e.detail.as_ref(), |t| Json::text(t)),
    },
    JsonField {
        name: "event",
        needs: (),
        get: |e| Json::text(model_name(e.kind)),
    },
    JsonField {
        name: "id",
        needs: (),
        get: |e| Json::text(&e.id),
    },
];
