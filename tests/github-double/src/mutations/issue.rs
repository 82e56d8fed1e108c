//! Mutations of issues.

use super::{
    Payload, author_or, check_length,
    pull::{listed, milestone},
    repo_target, target,
};
use crate::{
    actions,
    graphql::{Args, Ctx, Fail, Node},
    state::{EventKind, Id, Issue, Permission, PullState},
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

/// Returns the issue type that the input sets. `None` means that the input does not mention the
/// type, and `Some(None)` that the input removes it.
fn issue_type(ctx: &Ctx<'_>, input: &Args) -> Result<Option<Option<Id>>, Fail> {
    if !input.0.contains_key("issueTypeId") {
        return Ok(None);
    }
    let Some(wanted) = input.str("issueTypeId") else {
        return Ok(Some(None));
    };
    let state = ctx.state();
    let mut types = state.issue_types.values();
    match types.find(|it| it.node_id() == wanted) {
        Some(found) => Ok(Some(Some(found.id))),
        None => Err(Fail::not_found("Could not resolve to an IssueType.")),
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
    let issue_type = issue_type(ctx, input)?.flatten();
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
            duplicate_of: None,
            labels,
            assignees,
            milestone,
            issue_type,
            locked: None,
            pinned: false,
            sub_issues: Vec::new(),
            blocked_by: Vec::new(),
            events: Vec::new(),
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
    let issue_type = issue_type(ctx, input)?;
    let mut state = ctx.state();
    let now = state.tick();
    let Some(issue) = state.issues.get_mut(&id) else {
        return payload(id);
    };
    let mut events = Vec::new();
    if let Some(title) = input.string("title") {
        if title != issue.title {
            events.push(EventKind::Renamed(issue.title.clone(), title.clone()));
        }
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
    if let Some(issue_type) = issue_type {
        issue.issue_type = issue_type;
    }
    match input.str("state") {
        Some("CLOSED") => events.extend(set_closed(issue, true, None, &now)),
        Some("OPEN") => events.extend(set_closed(issue, false, None, &now)),
        _ => {}
    }
    issue.updated_at = now;
    for event in events {
        actions::log(&mut state, id, ctx.viewer, event);
    }
    payload(id)
}

fn set_closed(
    issue: &mut Issue,
    closed: bool,
    reason: Option<&str>,
    now: &str,
) -> Option<EventKind> {
    let changes = closed != (issue.state == PullState::Closed);
    if closed {
        issue.state = PullState::Closed;
        issue.reason = Some(reason.unwrap_or("COMPLETED").to_owned());
        issue.closed_at = Some(now.to_owned());
    } else {
        issue.state = PullState::Open;
        issue.reason = Some("REOPENED".to_owned());
        issue.duplicate_of = None;
        issue.closed_at = None;
    }
    let event = match closed {
        true => EventKind::Closed,
        false => EventKind::Reopened,
    };
    changes.then_some(event)
}

pub(super) fn close(ctx: &Ctx<'_>, input: &Args, closed: bool) -> Payload {
    let mutation = if closed { "CloseIssue" } else { "ReopenIssue" };
    let id = issue_target(ctx, input, "issueId", mutation)?;
    let reason = input.string("stateReason");
    let other = match input.str("duplicateIssueId") {
        Some(_) => match target(ctx, input, "duplicateIssueId")? {
            Node::Issue(other) => Some(other),
            _ => return Err(Fail::not_found("Could not resolve to an Issue.")),
        },
        None => None,
    };
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(issue) = state.issues.get_mut(&id) {
        let event = set_closed(issue, closed, reason.as_deref(), &now);
        issue.duplicate_of = other.or(issue.duplicate_of);
        issue.updated_at = now;
        if let Some(event) = event {
            actions::log(&mut state, id, ctx.viewer, event);
        }
    }
    payload(id)
}

/// Deletes an issue with all of its data. Only administrators may do this.
pub(super) fn delete(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let Node::Issue(id) = target(ctx, input, "issueId")? else {
        return Err(Fail::not_found("Could not resolve to an Issue."));
    };
    let repo = ctx.state().issues.get(&id).map_or(0, |it| it.repo);
    ctx.require(repo, Permission::Admin, "DeleteIssue")?;
    let mut state = ctx.state();
    state.issues.remove(&id);
    state.comments.retain(|_, comment| comment.subject != id);
    state.items.retain(|_, item| item.content != id);
    for issue in state.issues.values_mut() {
        issue.sub_issues.retain(|it| *it != id);
        issue.blocked_by.retain(|it| *it != id);
    }
    Ok(vec![("repository", Node::Repo(repo).into())])
}

/// Returns the two issues that a relation connects. The viewer needs triage permission for the
/// first.
fn both(ctx: &Ctx<'_>, input: &Args, other: &str, mutation: &str) -> Result<(Id, Id), Fail> {
    let Node::Issue(one) = target(ctx, input, "issueId")? else {
        return Err(Fail::not_found("Could not resolve to an Issue."));
    };
    let Node::Issue(two) = target(ctx, input, other)? else {
        return Err(Fail::not_found("Could not resolve to an Issue."));
    };
    let repo = ctx.state().issues.get(&one).map_or(0, |it| it.repo);
    ctx.require(repo, Permission::Triage, mutation)?;
    Ok((one, two))
}

/// Records one event for each of the two issues that a relation connects.
fn log_both(ctx: &Ctx<'_>, one: (Id, EventKind), two: (Id, EventKind)) {
    let mut state = ctx.state();
    let now = state.tick();
    for (id, event) in [one, two] {
        actions::log(&mut state, id, ctx.viewer, event);
        if let Some(issue) = state.issues.get_mut(&id) {
            issue.updated_at.clone_from(&now);
        }
    }
}

/// Maximum number of sub-issues of an issue (docs.github.com, "Adding sub-issues").
const MAX_SUB_ISSUES: usize = 100;
/// Maximum number of issues that block one issue, and of issues that one issue blocks.
const MAX_BLOCKED_BY: usize = 50;

pub(super) fn add_sub_issue(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (parent, sub) = both(ctx, input, "subIssueId", "AddSubIssue")?;
    let replace = input.bool("replaceParent").unwrap_or(false);
    let old = {
        let state = ctx.state();
        let mut above = Some(parent);
        while let Some(id) = above {
            if id == sub {
                return Err(Fail::unprocessable(
                    "Sub issue cannot be an ancestor of its parent",
                ));
            }
            above = state.parent(id).map(|it| it.id);
        }
        let old = state.parent(sub).map(|it| it.id);
        if old == Some(parent) {
            return Err(Fail::unprocessable(
                "An error occured while adding the sub-issue to the parent issue. Issue may not contain duplicate sub-issues",
            ));
        }
        if old.is_some() && !replace {
            return Err(Fail::unprocessable(
                "An error occured while adding the sub-issue to the parent issue. Sub issue may only have one parent",
            ));
        }
        let full = |it: &Issue| it.sub_issues.len() >= MAX_SUB_ISSUES;
        if state.issues.get(&parent).is_some_and(full) {
            return Err(Fail::unprocessable(
                "Parent cannot have more than 100 sub-issues",
            ));
        }
        old
    };
    if let Some(old) = old {
        detach(ctx, old, sub);
    }
    if let Some(issue) = ctx.state().issues.get_mut(&parent) {
        issue.sub_issues.push(sub);
    }
    log_both(
        ctx,
        (parent, EventKind::SubIssueAdded(sub)),
        (sub, EventKind::ParentAdded(parent)),
    );
    relation("issue", parent, "subIssue", sub)
}

fn relation(one: &'static str, id: Id, two: &'static str, other: Id) -> Payload {
    Ok(vec![
        (one, Node::Issue(id).into()),
        (two, Node::Issue(other).into()),
    ])
}

fn detach(ctx: &Ctx<'_>, parent: Id, sub: Id) {
    if let Some(issue) = ctx.state().issues.get_mut(&parent) {
        issue.sub_issues.retain(|it| *it != sub);
    }
    log_both(
        ctx,
        (parent, EventKind::SubIssueRemoved(sub)),
        (sub, EventKind::ParentRemoved(parent)),
    );
}

pub(super) fn remove_sub_issue(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (parent, sub) = both(ctx, input, "subIssueId", "RemoveSubIssue")?;
    let is_parent = ctx.state().parent(sub).is_some_and(|it| it.id == parent);
    if !is_parent {
        return Err(Fail::unprocessable(
            "The provided sub-issue does not belong to the parent issue",
        ));
    }
    detach(ctx, parent, sub);
    relation("issue", parent, "subIssue", sub)
}

pub(super) fn add_blocked_by(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (id, other) = both(ctx, input, "blockingIssueId", "AddBlockedBy")?;
    if id == other {
        return Err(Fail::unprocessable("An issue cannot block itself"));
    }
    {
        let mut state = ctx.state();
        let Some(issue) = state.issues.get_mut(&id) else {
            return Err(Fail::not_found("Could not resolve to an Issue."));
        };
        if issue.blocked_by.contains(&other) {
            return Err(Fail::unprocessable("Target issue has already been taken"));
        }
        if issue.blocked_by.len() >= MAX_BLOCKED_BY {
            return Err(Fail::unprocessable(
                "An issue can be blocked by 50 issues at most",
            ));
        }
        issue.blocked_by.push(other);
    }
    log_both(
        ctx,
        (id, EventKind::BlockedByAdded(other)),
        (other, EventKind::BlockingAdded(id)),
    );
    relation("issue", id, "blockingIssue", other)
}

pub(super) fn remove_blocked_by(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (id, other) = both(ctx, input, "blockingIssueId", "RemoveBlockedBy")?;
    let had = {
        let mut state = ctx.state();
        let issue = state.issues.get_mut(&id);
        issue.is_some_and(|issue| {
            let before = issue.blocked_by.len();
            issue.blocked_by.retain(|it| *it != other);
            issue.blocked_by.len() < before
        })
    };
    if !had {
        return Err(Fail::not_found("The issue is not blocked by that issue"));
    }
    log_both(
        ctx,
        (id, EventKind::BlockedByRemoved(other)),
        (other, EventKind::BlockingRemoved(id)),
    );
    relation("issue", id, "blockingIssue", other)
}
