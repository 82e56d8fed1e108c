use forge_core::model::{Issue, IssueFields, IssueReason, IssueState};

use super::{
    Field, Json,
    pull::{assignee, author, comment, label, number, section, time},
};

const PLAIN: IssueFields = IssueFields::NONE;

macro_rules! fields {
    ($($name:literal $needs:expr, $get:expr;)*) => {
        /// Those of gh's fields of `issue list` and `issue view` that the model has, by name.
        pub const ISSUE_FIELDS: &[Field<Issue, IssueFields>] =
            &[$(Field { name: $name, needs: $needs, get: $get },)*];
    };
}

fields! {
    "assignees" PLAIN, |i| Json::list(&i.assignees, assignee);
    "author" PLAIN, |i| author(&i.author);
    "body" PLAIN, |i| Json::text(&i.body);
    "closed" PLAIN, |i| Json::Bool(i.state == IssueState::Closed);
    "closedAt" PLAIN, |i| time(i.closed_at);
    "comments" IssueFields::COMMENTS, |i| section(i.comments.as_deref(), comment);
    "createdAt" PLAIN, |i| time(Some(i.created_at));
    "id" PLAIN, |i| Json::text(&i.node_id);
    "labels" PLAIN, |i| Json::list(&i.labels, label);
    "number" PLAIN, |i| number(i.number);
    "state" PLAIN, |i| Json::text(match i.state {
        IssueState::Open => "OPEN",
        IssueState::Closed => "CLOSED",
    });
    "stateReason" PLAIN, |i| Json::text(match i.state_reason {
        Some(IssueReason::Completed) => "COMPLETED",
        Some(IssueReason::NotPlanned) => "NOT_PLANNED",
        Some(IssueReason::Duplicate) => "DUPLICATE",
        Some(IssueReason::Reopened) => "REOPENED",
        None => "",
    });
    "title" PLAIN, |i| Json::text(&i.title);
    "updatedAt" PLAIN, |i| time(Some(i.updated_at));
    "url" PLAIN, |i| Json::text(&i.url);
}
