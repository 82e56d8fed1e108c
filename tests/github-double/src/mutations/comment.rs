//! Mutations of comments, of their minimized state, and of reactions.

use super::{Payload, check_body, subject, target, touch};
use crate::{
    graphql::{Args, Ctx, Fail, Node, Val},
    resolve::repo_of,
    state::{Comment, Id, Permission, Reaction},
};

pub(super) fn add(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let node = target(ctx, input, "subjectId")?;
    let (repo, _) = subject(ctx, &node)?;
    ctx.require(repo, Permission::Read, "AddComment")?;
    let body = input.string("body").unwrap_or_default();
    check_body(ctx, &body, false)?;
    let (locked, number) = {
        let state = ctx.state();
        match &node {
            Node::Pull(id) => (state.pulls.get(id).and_then(|it| it.locked.clone()), *id),
            Node::Issue(id) => (state.issues.get(id).and_then(|it| it.locked.clone()), *id),
            _ => (None, 0),
        }
    };
    if locked.is_some() && ctx.permission(repo) < Some(Permission::Write) {
        return Err(Fail::forbidden(
            "Unable to create comment because issue is locked.",
        ));
    }
    let id = {
        let mut state = ctx.state();
        let id = state.next_id();
        let now = state.tick();
        state.comments.insert(
            id,
            Comment {
                id,
                subject: number,
                author: ctx.viewer,
                body,
                created_at: now.clone(),
                updated_at: now,
                edited: false,
                minimized: None,
            },
        );
        id
    };
    touch(ctx, &node);
    let edge = Val::record(
        "IssueCommentEdge",
        vec![
            ("cursor", format!("comment:{id}").into()),
            ("node", Node::Comment(id).into()),
        ],
    );
    Ok(vec![("commentEdge", edge), ("subject", node.into())])
}

/// Returns the comment that the input names, if the viewer may change it.
fn own(ctx: &Ctx<'_>, input: &Args, mutation: &str) -> Result<Id, Fail> {
    let node = target(ctx, input, "id")?;
    let Node::Comment(id) = node else {
        return Err(Fail::not_found("Could not resolve to an IssueComment."));
    };
    let repo = repo_of(ctx, &node).unwrap_or_default();
    let author = ctx.state().comments.get(&id).map(|comment| comment.author);
    let least = if author == Some(ctx.viewer) {
        Permission::Read
    } else {
        Permission::Write
    };
    ctx.require(repo, least, mutation)?;
    Ok(id)
}

pub(super) fn update(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = own(ctx, input, "UpdateIssueComment")?;
    let body = input.string("body").unwrap_or_default();
    check_body(ctx, &body, false)?;
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(comment) = state.comments.get_mut(&id) {
        comment.body = body;
        comment.updated_at = now;
        comment.edited = true;
    }
    Ok(vec![("issueComment", Node::Comment(id).into())])
}

pub(super) fn delete(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = own(ctx, input, "DeleteIssueComment")?;
    ctx.state().comments.remove(&id);
    Ok(Vec::new())
}

pub(super) fn minimize(ctx: &Ctx<'_>, input: &Args, minimize: bool) -> Payload {
    let node = target(ctx, input, "subjectId")?;
    let repo = repo_of(ctx, &node).unwrap_or_default();
    let (mutation, field) = if minimize {
        ("MinimizeComment", "minimizedComment")
    } else {
        ("UnminimizeComment", "unminimizedComment")
    };
    ctx.require(repo, Permission::Triage, mutation)?;
    let reason = input.string("classifier").filter(|_| minimize);
    let mut state = ctx.state();
    let slot = match &node {
        Node::Comment(id) => state.comments.get_mut(id).map(|it| &mut it.minimized),
        Node::Review(id) => state.reviews.get_mut(id).map(|it| &mut it.minimized),
        Node::ReviewComment(id) => state
            .review_comments
            .get_mut(id)
            .map(|it| &mut it.minimized),
        _ => None,
    };
    match slot {
        Some(slot) => *slot = reason,
        None => return Err(Fail::not_found("Could not resolve to a Minimizable.")),
    }
    Ok(vec![(field, node.into())])
}

pub(super) fn react(ctx: &Ctx<'_>, input: &Args, add: bool) -> Payload {
    let node = target(ctx, input, "subjectId")?;
    let subject = match &node {
        Node::Pull(id)
        | Node::Issue(id)
        | Node::Comment(id)
        | Node::Review(id)
        | Node::ReviewComment(id) => *id,
        _ => return Err(Fail::not_found("Could not resolve to a Reactable.")),
    };
    let repo = repo_of(ctx, &node).unwrap_or_default();
    let mutation = if add { "AddReaction" } else { "RemoveReaction" };
    ctx.require(repo, Permission::Read, mutation)?;
    let content = input.string("content").unwrap_or_default();
    let mut state = ctx.state();
    let viewer = ctx.viewer;
    let same = |it: &Reaction| it.user == viewer && it.content == content;
    let given = state.reactions.get(&subject);
    let had = given.and_then(|given| given.iter().find(|it| same(it)).map(|it| it.id));
    let id = match had {
        Some(id) => id,
        None if add => {
            let id = state.next_id();
            let created_at = state.tick();
            state.reactions.entry(subject).or_default().push(Reaction {
                id,
                user: viewer,
                content: content.clone(),
                created_at,
            });
            id
        }
        None => 0,
    };
    if !add {
        if let Some(given) = state.reactions.get_mut(&subject) {
            given.retain(|it| !same(it));
        }
        return Ok(vec![("subject", node.into())]);
    }
    Ok(vec![
        ("reaction", Node::Reaction(subject, id).into()),
        ("subject", node.into()),
    ])
}
