//! Mutations of review threads and their comments.

use super::{Payload, check_body, pull_target, review, target};
use crate::{
    graphql::{Args, Ctx, Fail, Node, Val},
    resolve::{get_pull, thread_lines},
    state::{Id, Permission, Pull, ReviewComment, ReviewState, Thread},
};

/// The review thread that an input asks to create.
pub(super) struct Wish {
    pub(super) path: String,
    pub(super) line: Option<u32>,
    pub(super) side: String,
    pub(super) body: String,
    start_line: Option<u32>,
    start_side: Option<String>,
}

impl Wish {
    /// Parses the input of a thread. A position in the old form is treated as a line.
    pub(super) fn read(input: &Args) -> Result<Self, Fail> {
        let number = |name: &str| input.int(name).and_then(|it| u32::try_from(it).ok());
        let start_line = number("startLine");
        let line = match input.str("subjectType") {
            Some("FILE") => None,
            _ => Some(
                number("line")
                    .or(number("position"))
                    .ok_or_else(|| Fail::unprocessable("Line could not be resolved"))?,
            ),
        };
        if let (Some(start), Some(end)) = (start_line, line)
            && start >= end
        {
            return Err(Fail::unprocessable("Start line must precede the end line."));
        }
        Ok(Self {
            path: input.string("path").unwrap_or_default(),
            line,
            side: input.string("side").unwrap_or_else(|| "RIGHT".to_owned()),
            body: input.string("body").unwrap_or_default(),
            start_side: start_line.map(|_| {
                input
                    .string("startSide")
                    .unwrap_or_else(|| "RIGHT".to_owned())
            }),
            start_line,
        })
    }
}

/// Stores a thread with its first comment. The caller has already checked the position.
pub(super) fn store(ctx: &Ctx<'_>, pull: &Pull, review: Id, wish: Wish, hunk: String) -> Id {
    let thread = {
        let mut state = ctx.state();
        let id = state.next_id();
        state.threads.insert(
            id,
            Thread {
                id,
                pull: pull.id,
                path: wish.path,
                line: wish.line,
                start_line: wish.start_line,
                side: wish.side,
                start_side: wish.start_side,
                commit: pull.head_oid.clone(),
                resolved_by: None,
            },
        );
        id
    };
    comment(ctx, thread, review, None, wish.body, hunk);
    thread
}

fn comment(
    ctx: &Ctx<'_>,
    thread: Id,
    review: Id,
    reply_to: Option<Id>,
    body: String,
    hunk: String,
) -> Id {
    let mut state = ctx.state();
    let id = state.next_id();
    let now = state.tick();
    state.review_comments.insert(
        id,
        ReviewComment {
            id,
            thread,
            review,
            reply_to,
            author: ctx.viewer,
            body,
            hunk,
            created_at: now.clone(),
            updated_at: now,
            edited: false,
            minimized: None,
        },
    );
    id
}

/// Returns the review for a new comment, and true if that review is new. The input may name the
/// review; otherwise the viewer's pending review is used, or a new one is started.
fn review_for(ctx: &Ctx<'_>, input: &Args, pull: &Pull) -> Result<(Id, bool), Fail> {
    if input.has("pullRequestReviewId") {
        let Node::Review(id) = target(ctx, input, "pullRequestReviewId")? else {
            return Err(Fail::not_found("Could not resolve to a PullRequestReview."));
        };
        return Ok((id, false));
    }
    match review::pending(ctx, pull.id) {
        Some(id) => Ok((id, false)),
        None => Ok((review::begin(ctx, pull, &pull.head_oid), true)),
    }
}

fn pull_of(ctx: &Ctx<'_>, input: &Args) -> Result<Pull, Fail> {
    if input.has("pullRequestId") {
        return get_pull(ctx, pull_target(ctx, input, "pullRequestId")?);
    }
    let Node::Review(id) = target(ctx, input, "pullRequestReviewId")? else {
        return Err(Fail::not_found("Could not resolve to a PullRequestReview."));
    };
    let pull = ctx.state().reviews.get(&id).map(|review| review.pull);
    get_pull(ctx, pull.unwrap_or_default())
}

pub(super) fn add(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let pull = pull_of(ctx, input)?;
    ctx.require(pull.repo, Permission::Read, "AddPullRequestReviewThread")?;
    let wish = Wish::read(input)?;
    check_body(ctx, &wish.body, false)?;
    let dir = ctx.repo(pull.repo)?.git_dir;
    let hunk = thread_lines::place(&dir, &pull, &wish.path, wish.line, &wish.side)?;
    let (review, _) = review_for(ctx, input, &pull)?;
    let id = store(ctx, &pull, review, wish, hunk);
    Ok(vec![("thread", Node::Thread(id).into())])
}

fn thread_target(ctx: &Ctx<'_>, input: &Args, name: &str) -> Result<Thread, Fail> {
    let Node::Thread(id) = target(ctx, input, name)? else {
        return Err(Fail::not_found(
            "Could not resolve to a PullRequestReviewThread.",
        ));
    };
    let found = ctx.state().threads.get(&id).cloned();
    found.ok_or_else(|| Fail::not_found("Could not resolve to a PullRequestReviewThread."))
}

pub(super) fn reply(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let thread = thread_target(ctx, input, "pullRequestReviewThreadId")?;
    let id = answer(ctx, input, &thread, "AddPullRequestReviewThreadReply")?;
    Ok(vec![("comment", Node::ReviewComment(id).into())])
}

fn answer(ctx: &Ctx<'_>, input: &Args, thread: &Thread, mutation: &str) -> Result<Id, Fail> {
    let pull = get_pull(ctx, thread.pull)?;
    ctx.require(pull.repo, Permission::Read, mutation)?;
    let body = input.string("body").unwrap_or_default();
    check_body(ctx, &body, false)?;
    let first = {
        let state = ctx.state();
        let mut comments = state.review_comments.values();
        comments
            .find(|it| it.thread == thread.id)
            .map(|it| (it.id, it.hunk.clone()))
    };
    let (first, hunk) = first.map_or((None, String::new()), |(id, hunk)| (Some(id), hunk));
    let (review, new) = review_for(ctx, input, &pull)?;
    let id = comment(ctx, thread.id, review, first, body, hunk);
    if new {
        review::publish(ctx, &pull, review, ReviewState::Commented);
    }
    Ok(id)
}

/// Adds a comment by the deprecated mutation, which starts a thread or replies in one.
pub(super) fn add_comment(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = if input.has("inReplyTo") {
        let Node::ReviewComment(first) = target(ctx, input, "inReplyTo")? else {
            return Err(Fail::not_found(
                "Could not resolve to a PullRequestReviewComment.",
            ));
        };
        let thread = {
            let state = ctx.state();
            let comment = state.review_comments.get(&first);
            comment
                .and_then(|it| state.threads.get(&it.thread))
                .cloned()
        };
        let thread = thread
            .ok_or_else(|| Fail::not_found("Could not resolve to a PullRequestReviewThread."))?;
        answer(ctx, input, &thread, "AddPullRequestReviewComment")?
    } else {
        let pull = pull_of(ctx, input)?;
        ctx.require(pull.repo, Permission::Read, "AddPullRequestReviewComment")?;
        let wish = Wish::read(input)?;
        check_body(ctx, &wish.body, false)?;
        let dir = ctx.repo(pull.repo)?.git_dir;
        let hunk = thread_lines::place(&dir, &pull, &wish.path, wish.line, &wish.side)?;
        let (review, _) = review_for(ctx, input, &pull)?;
        let thread = store(ctx, &pull, review, wish, hunk);
        let state = ctx.state();
        let mut comments = state.review_comments.values();
        comments
            .find(|it| it.thread == thread)
            .map_or(0, |it| it.id)
    };
    Ok(vec![("comment", Node::ReviewComment(id).into())])
}

fn own_comment(ctx: &Ctx<'_>, input: &Args, name: &str, mutation: &str) -> Result<Id, Fail> {
    let node = target(ctx, input, name)?;
    let Node::ReviewComment(id) = node else {
        return Err(Fail::not_found(
            "Could not resolve to a PullRequestReviewComment.",
        ));
    };
    let author = ctx.state().review_comments.get(&id).map(|it| it.author);
    let repo = crate::resolve::repo_of(ctx, &node).unwrap_or_default();
    let least = if author == Some(ctx.viewer) {
        Permission::Read
    } else {
        Permission::Write
    };
    ctx.require(repo, least, mutation)?;
    Ok(id)
}

pub(super) fn update_comment(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = own_comment(
        ctx,
        input,
        "pullRequestReviewCommentId",
        "UpdatePullRequestReviewComment",
    )?;
    let body = input.string("body").unwrap_or_default();
    check_body(ctx, &body, false)?;
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(comment) = state.review_comments.get_mut(&id) {
        comment.body = body;
        comment.edited = true;
        comment.updated_at = now;
    }
    Ok(vec![(
        "pullRequestReviewComment",
        Node::ReviewComment(id).into(),
    )])
}

pub(super) fn delete_comment(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = own_comment(ctx, input, "id", "DeletePullRequestReviewComment")?;
    let mut state = ctx.state();
    let Some(comment) = state.review_comments.remove(&id) else {
        return Ok(Vec::new());
    };
    let left = state
        .review_comments
        .values()
        .any(|it| it.thread == comment.thread);
    if !left {
        state.threads.remove(&comment.thread);
    }
    Ok(vec![
        ("pullRequestReview", Node::Review(comment.review).into()),
        ("pullRequestReviewComment", Val::NULL),
    ])
}

pub(super) fn resolve(ctx: &Ctx<'_>, input: &Args, resolved: bool) -> Payload {
    let thread = thread_target(ctx, input, "threadId")?;
    let mutation = if resolved {
        "ResolveReviewThread"
    } else {
        "UnresolveReviewThread"
    };
    super::author_or(ctx, &Node::Pull(thread.pull), Permission::Write, mutation)?;
    if let Some(thread) = ctx.state().threads.get_mut(&thread.id) {
        thread.resolved_by = resolved.then_some(ctx.viewer);
    }
    Ok(vec![("thread", Node::Thread(thread.id).into())])
}
