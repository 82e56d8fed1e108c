//! Issues.

use super::{
    Payload, author_or, check_length,
    pull::{listed, milestone},
    repo_target, target,
};
use crate::github::{
    graphql::{Args, Ctx, Fail, Node},
    state::{Id, Issue, Permission, PullState},
};

fn payload(id: Id) -> Payload {
    Ok(vec![("issue", Node::Issue(id).into())])
}

fn label(node: &Node) -> Option<Id> {
    match node {
        Node::Label(id) => Some(*id),
        _ => None,
    }
}

fn user(node: &Node) -> Option<Id> {
    match node {
        Node::User(id) | Node::Bot(id) => Some(*id),
        _ => None,
    }
}

pub(super) fn create(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let repo = repo_target(ctx, input, "repositoryId")?;
    ctx.require(repo, Permission::Read, "CreateIssue")?;
    let title = input.string("title").unwrap_or_default();
    if title.trim().is_empty() {
        return Err(Fail::unprocessable("Title can't be blank"));
    }
    let body = input.string("body").unwrap_or_default();
    check_length(ctx, &body)?;
    let labels = listed(ctx, input, "labelIds", label)?.unwrap_or_default();
    let assignees = listed(ctx, input, "assigneeIds", user)?.unwrap_or_default();
    let milestone = milestone(ctx, input)?.flatten();
    let mut state = ctx.state();
    let id = state.next_id();
    let now = state.tick();
    let number = state.next_number(repo);
    state.issues.insert(
        id,
        Issue {
            id,
            repo,
            number,
            title,
            body,
            author: ctx.viewer,
            state: PullState::Open,
            reason: None,
            labels,
            assignees,
            milestone,
            locked: None,
            created_at: now.clone(),
            updated_at: now,
            closed_at: None,
        },
    );
    payload(id)
}

fn issue_target(ctx: &Ctx<'_>, input: &Args, name: &str, mutation: &str) -> Result<Id, Fail> {
    let node = target(ctx, input, name)?;
    author_or(ctx, &node, Permission::Triage, mutation)?;
    match node {
        Node::Issue(id) => Ok(id),
        _ => Err(Fail::not_found("Could not resolve to an Issue.")),
    }
}

pub(super) fn update(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = issue_target(ctx, input, "id", "UpdateIssue")?;
    let labels = listed(ctx, input, "labelIds", label)?;
    let assignees = listed(ctx, input, "assigneeIds", user)?;
    let milestone = milestone(ctx, input)?;
    let mut state = ctx.state();
    let now = state.tick();
    let Some(issue) = state.issues.get_mut(&id) else {
        return payload(id);
    };
    if let Some(title) = input.string("title") {
        issue.title = title;
    }
    if let Some(body) = input.string("body") {
        issue.body = body;
    }
    if let Some(labels) = labels {
        issue.labels = labels;
    }
    if let Some(assignees) = assignees {
        issue.assignees = assignees;
    }
    if let Some(milestone) = milestone {
        issue.milestone = milestone;
    }
    match input.str("state") {
        Some("CLOSED") => set_closed(issue, true, None, &now),
        Some("OPEN") => set_closed(issue, false, None, &now),
        _ => {}
    }
    issue.updated_at = now;
    payload(id)
}

fn set_closed(issue: &mut Issue, closed: bool, reason: Option<&str>, now: &str) {
    if closed {
        issue.state = PullState::Closed;
        issue.reason = Some(reason.unwrap_or("COMPLETED").to_owned());
        issue.closed_at = Some(now.to_owned());
    } else {
        issue.state = PullState::Open;
        issue.reason = Some("REOPENED".to_owned());
        issue.closed_at = None;
    }
}

pub(super) fn close(ctx: &Ctx<'_>, input: &Args, closed: bool) -> Payload {
    let mutation = if closed { "CloseIssue" } else { "ReopenIssue" };
    let id = issue_target(ctx, input, "issueId", mutation)?;
    let reason = input.string("stateReason");
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(issue) = state.issues.get_mut(&id) {
        set_closed(issue, closed, reason.as_deref(), &now);
        issue.updated_at = now;
    }
    payload(id)
}
