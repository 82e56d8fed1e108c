//! Resolves the timelines of pull requests and issues.

use super::{
    graphql::{Args, Connection, Ctx, Fail, Node, Val, account_node, node_id},
    references::{self, Target},
    state::{Event, EventKind, Id, Issue, Pull, ReviewState, Reviewer},
};

const CROSS_REFERENCED: &str = "CROSS_REFERENCED_EVENT";

/// Returns the timeline items that the arguments of `timelineItems` select, oldest first.
pub(crate) fn items(ctx: &Ctx<'_>, pull: &Pull, args: &Args) -> Result<Val, Fail> {
    let wanted = args.strings("itemTypes");
    let since = args.str("since").unwrap_or_default();
    let mut items: Vec<(String, &'static str, Val)> = Vec::new();
    {
        let state = ctx.state();
        for comment in state.comments.values().filter(|it| it.subject == pull.id) {
            items.push((
                comment.created_at.clone(),
                "ISSUE_COMMENT",
                Node::Comment(comment.id).into(),
            ));
        }
        for review in state.reviews.values().filter(|it| it.pull == pull.id) {
            if review.state != ReviewState::Pending {
                let at = review.submitted_at.clone().unwrap_or_default();
                items.push((at, "PULL_REQUEST_REVIEW", Node::Review(review.id).into()));
            }
        }
    }
    for event in &pull.events {
        let (kind, value) = event_item(ctx, &Node::Pull(pull.id), Some(pull), event);
        items.push((event.at.clone(), kind, value));
    }
    let is_wanted = |kind: &str| {
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.iter().any(|it| it == kind))
    };
    if is_wanted(CROSS_REFERENCED) {
        let target = Target {
            node: Node::Pull(pull.id),
            id: pull.id,
            repo: pull.repo,
            number: pull.number,
        };
        let named = references::events(ctx, &target).into_iter();
        items.extend(named.map(|(at, event)| (at, CROSS_REFERENCED, event)));
    }
    items.sort_by(|one, other| one.0.cmp(&other.0));
    let nodes = items
        .into_iter()
        .filter(|(at, kind, _)| at.as_str() >= since && is_wanted(kind))
        .map(|(_, _, value)| value)
        .collect();
    Ok(Val::Connection(Connection {
        nodes,
        ..Connection::default()
    }))
}

pub(crate) fn of_issue(ctx: &Ctx<'_>, issue: &Issue, args: &Args) -> Val {
    let wanted = args.strings("itemTypes");
    let mut items: Vec<(String, &'static str, Val)> = Vec::new();
    for comment in ctx.state().comments.values() {
        if comment.subject == issue.id {
            let node = Node::Comment(comment.id).into();
            items.push((comment.created_at.clone(), "ISSUE_COMMENT", node));
        }
    }
    let node = Node::Issue(issue.id);
    for event in &issue.events {
        let (kind, value) = event_item(ctx, &node, None, event);
        items.push((event.at.clone(), kind, value));
    }
    let target = Target {
        node,
        id: issue.id,
        repo: issue.repo,
        number: issue.number,
    };
    let named = references::events(ctx, &target).into_iter();
    items.extend(named.map(|(at, event)| (at, CROSS_REFERENCED, event)));
    items.sort_by(|one, other| one.0.cmp(&other.0));
    let nodes = items
        .into_iter()
        .filter(|(_, kind, _)| {
            let wanted = wanted.as_ref();
            wanted.is_none_or(|wanted| wanted.iter().any(|it| it == kind))
        })
        .map(|(_, _, value)| value)
        .collect();
    Val::Connection(Connection {
        nodes,
        ..Connection::default()
    })
}

/// Returns an event of `node` as a timeline item. `pull` is set if the node is a pull request.
fn event_item(
    ctx: &Ctx<'_>,
    node: &Node,
    pull: Option<&Pull>,
    event: &Event,
) -> (&'static str, Val) {
    let commit = |oid: &str| Val::option(pull.map(|it| Node::Commit(it.repo, oid.to_owned())));
    let issue = |id: &Id| Val::from(Node::Issue(*id));
    let (kind, type_name, mut fields) = match &event.kind {
        EventKind::Closed => ("CLOSED_EVENT", "ClosedEvent", Vec::new()),
        EventKind::Reopened => ("REOPENED_EVENT", "ReopenedEvent", Vec::new()),
        EventKind::Merged => {
            let oid = pull.and_then(|it| Some(commit(&it.merge.as_ref()?.commit)));
            (
                "MERGED_EVENT",
                "MergedEvent",
                vec![
                    ("commit", oid.unwrap_or(Val::NULL)),
                    ("mergeRefName", Val::option(pull.map(|it| &it.base_branch))),
                ],
            )
        }
        EventKind::ConvertedToDraft => {
            ("CONVERT_TO_DRAFT_EVENT", "ConvertToDraftEvent", Vec::new())
        }
        EventKind::ReadyForReview => ("READY_FOR_REVIEW_EVENT", "ReadyForReviewEvent", Vec::new()),
        EventKind::ForcePushed(before, after) => (
            "HEAD_REF_FORCE_PUSHED_EVENT",
            "HeadRefForcePushedEvent",
            vec![
                ("beforeCommit", commit(before)),
                ("afterCommit", commit(after)),
            ],
        ),
        EventKind::HeadDeleted => (
            "HEAD_REF_DELETED_EVENT",
            "HeadRefDeletedEvent",
            vec![("headRefName", Val::option(pull.map(|it| &it.head_branch)))],
        ),
        EventKind::Renamed(before, after) => (
            "RENAMED_TITLE_EVENT",
            "RenamedTitleEvent",
            vec![
                ("previousTitle", before.into()),
                ("currentTitle", after.into()),
                ("subject", node.clone().into()),
            ],
        ),
        EventKind::BaseChanged(before, after) => (
            "BASE_REF_CHANGED_EVENT",
            "BaseRefChangedEvent",
            vec![
                ("previousRefName", before.into()),
                ("currentRefName", after.into()),
            ],
        ),
        EventKind::Labeled(label) => (
            "LABELED_EVENT",
            "LabeledEvent",
            vec![("label", Node::Label(*label).into())],
        ),
        EventKind::Unlabeled(label) => (
            "UNLABELED_EVENT",
            "UnlabeledEvent",
            vec![("label", Node::Label(*label).into())],
        ),
        EventKind::Assigned(account) | EventKind::Unassigned(account) => {
            let node = Val::from(account_node(&ctx.state(), *account));
            let (kind, type_name) = match event.kind {
                EventKind::Assigned(_) => ("ASSIGNED_EVENT", "AssignedEvent"),
                _ => ("UNASSIGNED_EVENT", "UnassignedEvent"),
            };
            let fields = vec![("assignee", node.clone()), ("user", node)];
            (kind, type_name, fields)
        }
        EventKind::ParentAdded(id) => (
            "PARENT_ISSUE_ADDED_EVENT",
            "ParentIssueAddedEvent",
            vec![("parent", issue(id))],
        ),
        EventKind::ParentRemoved(id) => (
            "PARENT_ISSUE_REMOVED_EVENT",
            "ParentIssueRemovedEvent",
            vec![("parent", issue(id))],
        ),
        EventKind::SubIssueAdded(id) => (
            "SUB_ISSUE_ADDED_EVENT",
            "SubIssueAddedEvent",
            vec![("subIssue", issue(id))],
        ),
        EventKind::SubIssueRemoved(id) => (
            "SUB_ISSUE_REMOVED_EVENT",
            "SubIssueRemovedEvent",
            vec![("subIssue", issue(id))],
        ),
        EventKind::BlockedByAdded(id) => (
            "BLOCKED_BY_ADDED_EVENT",
            "BlockedByAddedEvent",
            vec![("blockingIssue", issue(id))],
        ),
        EventKind::BlockedByRemoved(id) => (
            "BLOCKED_BY_REMOVED_EVENT",
            "BlockedByRemovedEvent",
            vec![("blockingIssue", issue(id))],
        ),
        EventKind::BlockingAdded(id) => (
            "BLOCKING_ADDED_EVENT",
            "BlockingAddedEvent",
            vec![("blockedIssue", issue(id))],
        ),
        EventKind::BlockingRemoved(id) => (
            "BLOCKING_REMOVED_EVENT",
            "BlockingRemovedEvent",
            vec![("blockedIssue", issue(id))],
        ),
        EventKind::ProjectAdded(id) => (
            "ADDED_TO_PROJECT_V2_EVENT",
            "AddedToProjectV2Event",
            vec![("project", Node::Project(*id).into())],
        ),
        EventKind::StatusChanged(id, before, after) => (
            "PROJECT_V2_ITEM_STATUS_CHANGED_EVENT",
            "ProjectV2ItemStatusChangedEvent",
            vec![
                ("project", Node::Project(*id).into()),
                ("previousStatus", before.into()),
                ("status", after.into()),
            ],
        ),
        EventKind::ReviewRequested(reviewer) => {
            let node = match reviewer {
                Reviewer::Account(account) => account_node(&ctx.state(), *account),
                Reviewer::Team(team) => Node::Team(*team),
            };
            (
                "REVIEW_REQUESTED_EVENT",
                "ReviewRequestedEvent",
                vec![("requestedReviewer", node.into())],
            )
        }
    };
    let pull_node = Val::option(pull.map(|it| Node::Pull(it.id)));
    fields.extend([
        (
            "id",
            Val::from(format!("{}_EVENT{}", node_id(node), event.id)),
        ),
        ("actor", account_node(&ctx.state(), event.actor).into()),
        ("createdAt", (&event.at).into()),
        ("pullRequest", pull_node),
        ("closable", node.clone().into()),
        ("labelable", node.clone().into()),
        ("assignable", node.clone().into()),
    ]);
    (kind, Val::record(type_name, fields))
}
