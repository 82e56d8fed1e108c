use std::ops::Deref;

use forge_core::{
    PrKey,
    model::{Issue, IssueFields, IssueReason, IssueState, RelatedIssue, StatusEvent},
};

use super::{
    Field, Json, model_name,
    pull::{assignee, author, comment, label, login, milestone, number, section, time},
};

const PLAIN: IssueFields = IssueFields::NONE;
const RELATIONS: IssueFields = IssueFields::RELATIONS;

/// An issue with estimate and priority.
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

/// A list of related issues, in gh's form.
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

fn state(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "OPEN",
        IssueState::Closed => "CLOSED",
    }
}

macro_rules! fields {
    ($($name:literal $needs:expr, $get:expr;)*) => {
        /// gh's fields of `issue list` and `issue view` in the model, and additional ones, by name.
        pub const ISSUE_FIELDS: &[Field<ShownIssue, IssueFields>] =
            &[$(Field { name: $name, needs: $needs, get: $get },)*];
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
    "comments" IssueFields::COMMENTS, |i| section(i.comments.as_deref(), comment);
    "createdAt" PLAIN, |i| time(Some(i.created_at));
    "estimate" PLAIN, |i| Json::maybe(i.estimate.as_ref(), |t| Json::text(t));
    "id" PLAIN, |i| Json::text(&i.node_id);
    "labels" PLAIN, |i| Json::list(&i.labels, label);
    "milestone" PLAIN, |i| Json::maybe(i.milestone.as_ref(), milestone);
    "number" PLAIN, |i| number(i.number);
    "parent" RELATIONS, |i| {
        let parent = i.relations.as_ref().and_then(|r| r.parent.as_ref());
        Json::maybe(parent, relation)
    };
    "priority" PLAIN, |i| Json::maybe(i.priority.as_ref(), |t| Json::text(t));
    "state" PLAIN, |i| Json::text(state(i.state));
    "stateReason" PLAIN, |i| Json::text(match i.state_reason {
        Some(IssueReason::Completed) => "COMPLETED",
        Some(IssueReason::NotPlanned) => "NOT_PLANNED",
        Some(IssueReason::Duplicate) => "DUPLICATE",
        Some(IssueReason::Reopened) => "REOPENED",
        None => "",
    });
    "subIssues" RELATIONS, |i| related(i, |r| &r.sub_issues);
    "title" PLAIN, |i| Json::text(&i.title);
    "updatedAt" PLAIN, |i| time(Some(i.updated_at));
    "url" PLAIN, |i| Json::text(&i.url);
    "values" PLAIN, |i| Json::Map(
        i.values.iter().map(|(name, value)| (name.clone(), Json::text(value))).collect(),
    );
    "version" PLAIN, |i| Json::text(&i.version);
}

/// The fields of an event of a history.
pub const EVENT_FIELDS: &[Field<StatusEvent>] = &[
    Field {
        name: "actor",
        needs: (),
        get: |e| login(&e.actor),
    },
    Field {
        name: "createdAt",
        needs: (),
        get: |e| time(Some(e.created_at)),
    },
    Field {
        name: "detail",
        needs: (),
        get: |e| Json::maybe(e.detail.as_ref(), |t| Json::text(t)),
    },
    Field {
        name: "event",
        needs: (),
        get: |e| Json::text(model_name(e.kind)),
    },
    Field {
        name: "id",
        needs: (),
        get: |e| Json::text(&e.id),
    },
];
