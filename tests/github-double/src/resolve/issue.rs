//! Resolves issues, their comments and their reactions.

use super::{
    common::{self, Written},
    project, pull_request,
};
use crate::{
    graphql::{Args, Connection, Ctx, Node, Resolved, Val, account_node},
    state::{Id, Issue, IssueType, Permission, PullState},
    timeline,
};

pub(super) fn list(ctx: &Ctx<'_>, args: &Args, of: impl Fn(&Issue) -> bool) -> Val {
    let states = args.strings("states").filter(|states| !states.is_empty());
    let filter = args.object("filterBy").unwrap_or_default();
    let state = ctx.state();
    let is = |id: &Id, name: &str| {
        let login = state.accounts.get(id).map_or("", |it| it.login.as_str());
        filter
            .string(name)
            .is_none_or(|wanted| wanted.eq_ignore_ascii_case(login))
    };
    let mut issues: Vec<_> = state
        .issues
        .values()
        .filter(|issue| of(issue))
        .filter(|issue| is(&issue.author, "createdBy"))
        .filter(|issue| {
            filter.string("assignee").is_none()
                || issue.assignees.iter().any(|id| is(id, "assignee"))
        })
        .filter(|issue| {
            states
                .as_ref()
                .is_none_or(|states| states.iter().any(|it| it == issue.state.name()))
        })
        .collect();
    common::sort_by(&mut issues, args, |issue, field| match field {
        "UPDATED_AT" => format!("{}{}", issue.updated_at, common::sortable(issue.id)),
        _ => common::sortable(issue.id),
    });
    Val::connection(issues.into_iter().map(|issue| Node::Issue(issue.id)))
}

pub(super) fn field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(issue) = ctx.state().issues.get(&id).cloned() else {
        return Err(common::gone("Issue"));
    };
    let node = Node::Issue(id);
    let triage = || ctx.permission(issue.repo) >= Some(Permission::Triage);
    Ok(Some(match name {
        "number" => issue.number.into(),
        "title" => (&issue.title).into(),
        "url" => format!("{}/issues/{}", ctx.repo_url(issue.repo), issue.number).into(),
        "state" => issue.state.name().into(),
        // Unless the query sets `enableDuplicate`, a duplicate is reported as not planned.
        "stateReason" => {
            Val::option(
                issue
                    .reason
                    .as_deref()
                    .map(|reason| match args.bool("enableDuplicate") {
                        Some(true) => reason,
                        _ if reason == "DUPLICATE" => "NOT_PLANNED",
                        _ => reason,
                    }),
            )
        }
        "duplicateOf" => {
            let found = issue.duplicate_of.and_then(|id| {
                let state = ctx.state();
                state.issues.get(&id).map(|it| (it.id, it.repo))
            });
            Val::option(seen(ctx, found).map(Node::Issue))
        }
        "closed" => (issue.state == PullState::Closed).into(),
        "closedAt" => Val::option(issue.closed_at.as_ref()),
        "labels" => common::labels(&ctx.state(), &issue.labels),
        "assignees" => common::users(ctx, &issue.assignees),
        "assignedActors" => common::actors(ctx, &issue.assignees),
        "suggestedActors" => pull_request::suggested_actors(ctx, issue.repo, args)?,
        "milestone" => Val::option(issue.milestone.map(Node::Milestone)),
        "issueType" => {
            let state = ctx.state();
            let found = issue.issue_type.and_then(|id| state.issue_types.get(&id));
            Val::option(found.map(issue_type))
        }
        "comments" => common::comments(ctx, id, args),
        "isPinned" => issue.pinned.into(),
        "locked" => issue.locked.is_some().into(),
        "activeLockReason" => Val::option(issue.locked.flatten()),
        "participants" => common::actors(ctx, &[issue.author]),
        "projectItems" => project::items_of(ctx, id, args)?,
        "parent" => {
            let found = ctx.state().parent(id).map(|it| (it.id, it.repo));
            Val::option(seen(ctx, found).map(Node::Issue))
        }
        "subIssues" => issues(ctx, &issue.sub_issues),
        "blockedBy" => issues(ctx, &ordered(issue.blocked_by, args)),
        "blocking" => issues(ctx, &ordered(blocked_by(ctx, id), args)),
        "subIssuesSummary" => {
            let (total, closed) = count(ctx, &issue.sub_issues);
            let percent = (closed * 100).checked_div(total).unwrap_or(0);
            Val::record(
                "SubIssuesSummary",
                vec![
                    ("total", total.into()),
                    ("completed", closed.into()),
                    ("percentCompleted", percent.into()),
                ],
            )
        }
        "issueDependenciesSummary" => {
            let (by, by_closed) = count(ctx, &issue.blocked_by);
            let (blocking, blocking_closed) = count(ctx, &blocked_by(ctx, id));
            Val::record(
                "IssueDependenciesSummary",
                vec![
                    ("blockedBy", (by - by_closed).into()),
                    ("blocking", (blocking - blocking_closed).into()),
                    ("totalBlockedBy", by.into()),
                    ("totalBlocking", blocking.into()),
                ],
            )
        }
        "closedByPullRequestsReferences" => {
            let state = ctx.state();
            let with_closed = args.bool("includeClosedPrs") == Some(true);
            let closing = state
                .pulls
                .values()
                .filter(|pull| with_closed || pull.state == PullState::Open)
                .filter(|pull| pull_request::closing_issues(&state, pull).contains(&id));
            Val::connection(closing.map(|pull| Node::Pull(pull.id)))
        }
        "timelineItems" => timeline::of_issue(ctx, &issue, args),
        "viewerCanClose" | "viewerCanReopen" => (issue.author == ctx.viewer || triage()).into(),
        "viewerCanLabel" => triage().into(),
        _ => {
            return common::written(
                ctx,
                &Written {
                    id,
                    repo: issue.repo,
                    author: issue.author,
                    body: &issue.body,
                    created_at: &issue.created_at,
                    updated_at: &issue.updated_at,
                    edited: false,
                    minimized: None,
                },
                &node,
                name,
                args,
            );
        }
    }))
}

fn issue_type(found: &IssueType) -> Val {
    Val::record(
        "IssueType",
        vec![
            ("id", found.node_id().into()),
            ("name", (&found.name).into()),
            ("description", format!("{} of a user", found.name).into()),
            ("color", "GRAY".into()),
            ("isEnabled", true.into()),
            ("isPrivate", false.into()),
        ],
    )
}

pub(super) fn issue_types(ctx: &Ctx<'_>, owner: Id) -> Val {
    let state = ctx.state();
    let of_owner = state.issue_types.values().filter(|it| it.owner == owner);
    Val::Connection(Connection {
        nodes: of_owner.map(issue_type).collect(),
        ..Connection::default()
    })
}

/// Returns an issue if the viewer may see the issue's repository.
fn seen(ctx: &Ctx<'_>, found: Option<(Id, Id)>) -> Option<Id> {
    found.filter(|(_, repo)| ctx.may_see(*repo)).map(|it| it.0)
}

/// Returns the issues of `ids` that the viewer may see.
fn issues(ctx: &Ctx<'_>, ids: &[Id]) -> Val {
    let known: Vec<(Id, Id)> = {
        let state = ctx.state();
        let issues = ids.iter().filter_map(|id| state.issues.get(id));
        issues.map(|it| (it.id, it.repo)).collect()
    };
    let seen = known.into_iter().filter_map(|it| seen(ctx, Some(it)));
    Val::connection(seen.map(Node::Issue))
}

/// Sorts the issues of a dependency as requested. The default order is newest first.
fn ordered(mut ids: Vec<Id>, args: &Args) -> Vec<Id> {
    let order = args.object("orderBy").unwrap_or_default();
    if order.str("direction") != Some("ASC") {
        ids.reverse();
    }
    ids
}

fn blocked_by(ctx: &Ctx<'_>, id: Id) -> Vec<Id> {
    let state = ctx.state();
    let waiting = state.issues.values();
    let waiting = waiting.filter(|it| it.blocked_by.contains(&id));
    waiting.map(|it| it.id).collect()
}

/// Returns the number of issues, and the number of closed ones.
fn count(ctx: &Ctx<'_>, ids: &[Id]) -> (usize, usize) {
    let state = ctx.state();
    let issues = ids.iter().filter_map(|id| state.issues.get(id));
    let closed = issues.filter(|it| it.state == PullState::Closed);
    (ids.len(), closed.count())
}

pub(super) fn comment_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(comment) = ctx.state().comments.get(&id).cloned() else {
        return Err(common::gone("IssueComment"));
    };
    let (repo, number, pull) = {
        let state = ctx.state();
        match state.pulls.get(&comment.subject) {
            Some(pull) => (pull.repo, pull.number, true),
            None => state
                .issues
                .get(&comment.subject)
                .map_or((0, 0, false), |issue| (issue.repo, issue.number, false)),
        }
    };
    let kind = if pull { "pull" } else { "issues" };
    Ok(Some(match name {
        "url" => format!("{}/{kind}/{number}#issuecomment-{id}", ctx.repo_url(repo)).into(),
        "pullRequest" => Val::option(pull.then_some(Node::Pull(comment.subject))),
        "issue" if !pull => Node::Issue(comment.subject).into(),
        _ => {
            return common::written(
                ctx,
                &Written {
                    id,
                    repo,
                    author: comment.author,
                    body: &comment.body,
                    created_at: &comment.created_at,
                    updated_at: &comment.updated_at,
                    edited: comment.edited,
                    minimized: comment.minimized.as_deref(),
                },
                &Node::Comment(id),
                name,
                args,
            );
        }
    }))
}

pub(super) fn reaction_field(ctx: &Ctx<'_>, subject: Id, id: Id, name: &str) -> Resolved {
    let state = ctx.state();
    let found = state
        .reactions
        .get(&subject)
        .into_iter()
        .flatten()
        .find(|reaction| reaction.id == id);
    let Some(reaction) = found else {
        return Err(common::gone("Reaction"));
    };
    Ok(Some(match name {
        "content" => (&reaction.content).into(),
        "createdAt" => (&reaction.created_at).into(),
        "databaseId" => id.into(),
        "user" => account_node(&state, reaction.user).into(),
        "reactable" => reactable(&state, subject).map_or(Val::NULL, Val::Object),
        _ => return Ok(None),
    }))
}

fn reactable(state: &crate::state::State, id: Id) -> Option<Node> {
    if state.pulls.contains_key(&id) {
        Some(Node::Pull(id))
    } else if state.issues.contains_key(&id) {
        Some(Node::Issue(id))
    } else if state.comments.contains_key(&id) {
        Some(Node::Comment(id))
    } else if state.reviews.contains_key(&id) {
        Some(Node::Review(id))
    } else if state.review_comments.contains_key(&id) {
        Some(Node::ReviewComment(id))
    } else {
        None
    }
}
