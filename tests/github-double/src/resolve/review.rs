//! Resolves reviews, threads and the comments in threads.

use std::collections::BTreeMap;

use super::{
    common::{self, Written},
    decision,
    pull_request::get,
    thread_lines,
};
use crate::{
    graphql::{Args, Ctx, Node, Resolved, Val},
    state::{Id, Permission, Pull, PullState, Review, ReviewState, Reviewer, State},
};

pub(super) fn of_pull(ctx: &Ctx<'_>, pull: &Pull, name: &str, args: &Args) -> Resolved {
    let state = ctx.state();
    let visible: Vec<&Review> = state
        .reviews
        .values()
        .filter(|review| review.pull == pull.id)
        .filter(|review| review.state != ReviewState::Pending || review.author == ctx.viewer)
        .collect();
    Ok(Some(match name {
        "reviews" => {
            let states = args.strings("states").filter(|states| !states.is_empty());
            let author = args.str("author");
            let chosen = visible.into_iter().filter(|review| {
                states
                    .as_ref()
                    .is_none_or(|states| states.iter().any(|it| it == review.state.name()))
                    && author.is_none_or(|author| author == state.login(review.author))
            });
            Val::connection(chosen.map(|review| Node::Review(review.id)))
        }
        "latestReviews" => {
            let mut latest = BTreeMap::new();
            for review in visible {
                let asked = pull.requested.contains(&Reviewer::Account(review.author));
                if review.state != ReviewState::Pending && !asked {
                    latest.insert(review.author, review.id);
                }
            }
            in_order(latest)
        }
        "latestOpinionatedReviews" => {
            let mut latest = BTreeMap::new();
            for review in visible {
                if opinionated(review.state) {
                    latest.insert(review.author, review.id);
                }
            }
            in_order(latest)
        }
        "viewerLatestReview" => {
            let own = visible
                .iter()
                .rev()
                .find(|review| review.author == ctx.viewer);
            Val::option(own.map(|review| Node::Review(review.id)))
        }
        "reviewDecision" => Val::option(decision(&state, pull)),
        "reviewThreads" => {
            let threads = state.threads.values().filter(|thread| {
                thread.pull == pull.id && thread_visible(&state, thread.id, ctx.viewer)
            });
            Val::connection(threads.map(|thread| Node::Thread(thread.id)))
        }
        _ => return Ok(None),
    }))
}

fn in_order(latest: BTreeMap<Id, Id>) -> Val {
    let mut ids: Vec<Id> = latest.into_values().collect();
    ids.sort_unstable();
    Val::connection(ids.into_iter().map(Node::Review))
}

fn opinionated(state: ReviewState) -> bool {
    matches!(
        state,
        ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed
    )
}

/// Returns true if an account sees a thread. A thread is hidden while its only comment belongs to
/// another account's pending review.
fn thread_visible(state: &State, thread: Id, viewer: Id) -> bool {
    state
        .review_comments
        .values()
        .any(|comment| comment.thread == thread && comment_visible(state, comment.review, viewer))
}

fn comment_visible(state: &State, review: Id, viewer: Id) -> bool {
    state
        .reviews
        .get(&review)
        .is_some_and(|review| review.state != ReviewState::Pending || review.author == viewer)
}

/// The latest verdicts of reviewers who have write access.
#[derive(Default)]
pub(super) struct Verdicts {
    /// Approving accounts, each with the commit that the account approved.
    pub(super) approvers: BTreeMap<Id, String>,
    /// Number of reviewers who request changes.
    pub(super) against: usize,
}

/// Returns the verdicts that count for a merge.
pub(super) fn verdicts(state: &State, pull: &Pull) -> Verdicts {
    let mut latest = BTreeMap::new();
    for review in state.reviews.values().filter(|it| it.pull == pull.id) {
        if opinionated(review.state) {
            latest.insert(review.author, review);
        }
    }
    let mut found = Verdicts::default();
    for (author, review) in latest {
        let writes = state
            .repos
            .get(&pull.repo)
            .and_then(|repo| state.permission(author, repo))
            >= Some(Permission::Write);
        match review.state {
            ReviewState::Approved if writes => {
                found.approvers.insert(author, review.commit.clone());
            }
            ReviewState::ChangesRequested if writes => found.against += 1,
            _ => {}
        }
    }
    found
}

pub(super) fn field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(review) = ctx.state().reviews.get(&id).cloned() else {
        return Err(common::gone("PullRequestReview"));
    };
    let pull = get(ctx, review.pull)?;
    let node = Node::Review(id);
    Ok(Some(match name {
        "state" => review.state.name().into(),
        "submittedAt" => Val::option(review.submitted_at),
        "publishedAt" => Val::option(review.submitted_at),
        "commit" => Node::Commit(pull.repo, review.commit).into(),
        "pullRequest" => Node::Pull(pull.id).into(),
        "url" => format!(
            "{}/pull/{}#pullrequestreview-{id}",
            ctx.repo_url(pull.repo),
            pull.number
        )
        .into(),
        "authorCanPushToRepository" => {
            let state = ctx.state();
            let repo = state.repos.get(&pull.repo);
            let permission = repo.and_then(|repo| state.permission(review.author, repo));
            (permission >= Some(Permission::Write)).into()
        }
        "comments" => {
            let state = ctx.state();
            let comments = state.review_comments.values().filter(|it| it.review == id);
            Val::connection(comments.map(|comment| Node::ReviewComment(comment.id)))
        }
        "viewerCanDelete" => {
            (review.author == ctx.viewer && review.state == ReviewState::Pending).into()
        }
        _ => {
            return common::written(
                ctx,
                &Written {
                    id,
                    repo: pull.repo,
                    author: review.author,
                    body: &review.body,
                    created_at: &review.created_at,
                    updated_at: &review.updated_at,
                    edited: review.edited,
                    minimized: review.minimized.as_deref(),
                },
                &node,
                name,
                args,
            );
        }
    }))
}

pub(super) fn thread_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(thread) = ctx.state().threads.get(&id).cloned() else {
        return Err(common::gone("PullRequestReviewThread"));
    };
    let pull = get(ctx, thread.pull)?;
    let now = || thread_lines::now(ctx, &pull, &thread);
    let may = || pull.author == ctx.viewer || ctx.permission(pull.repo) >= Some(Permission::Write);
    Ok(Some(match name {
        "path" => thread.path.clone().into(),
        "isResolved" => thread.resolved_by.is_some().into(),
        "isCollapsed" => thread.resolved_by.is_some().into(),
        "resolvedBy" => Val::option(thread.resolved_by.map(Node::User)),
        "isOutdated" => now()?.outdated.into(),
        "line" => Val::option(now()?.line),
        "startLine" => Val::option(now()?.start),
        "originalLine" => Val::option(thread.line),
        "originalStartLine" => Val::option(thread.start_line),
        "diffSide" => thread.side.clone().into(),
        "startDiffSide" => Val::option(thread.start_side.clone()),
        "subjectType" => if thread.line.is_some() {
            "LINE"
        } else {
            "FILE"
        }
        .into(),
        "pullRequest" => Node::Pull(pull.id).into(),
        "repository" => Node::Repo(pull.repo).into(),
        "viewerCanReply" => (pull.locked.is_none() || may()).into(),
        "viewerCanResolve" => (thread.resolved_by.is_none() && may()).into(),
        "viewerCanUnresolve" => (thread.resolved_by.is_some() && may()).into(),
        "comments" => {
            let skip = args.int("skip").and_then(|it| usize::try_from(it).ok());
            let state = ctx.state();
            let comments = state
                .review_comments
                .values()
                .filter(|it| it.thread == id && comment_visible(&state, it.review, ctx.viewer));
            Val::connection(
                comments
                    .skip(skip.unwrap_or(0))
                    .map(|comment| Node::ReviewComment(comment.id)),
            )
        }
        _ => return Ok(None),
    }))
}

pub(super) fn comment_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(comment) = ctx.state().review_comments.get(&id).cloned() else {
        return Err(common::gone("PullRequestReviewComment"));
    };
    let Some(thread) = ctx.state().threads.get(&comment.thread).cloned() else {
        return Err(common::gone("PullRequestReviewThread"));
    };
    let pull = get(ctx, thread.pull)?;
    let now = || thread_lines::now(ctx, &pull, &thread);
    Ok(Some(match name {
        "path" => thread.path.clone().into(),
        "diffHunk" => comment.hunk.into(),
        "line" => Val::option(now()?.line),
        "startLine" => Val::option(now()?.start),
        "outdated" => now()?.outdated.into(),
        "originalLine" => Val::option(thread.line),
        "originalStartLine" => Val::option(thread.start_line),
        "subjectType" => if thread.line.is_some() {
            "LINE"
        } else {
            "FILE"
        }
        .into(),
        "position" => Val::option(now()?.line),
        "originalPosition" => thread.line.unwrap_or(1).into(),
        "commit" => Node::Commit(pull.repo, pull.head_oid.clone()).into(),
        "originalCommit" => Node::Commit(pull.repo, thread.commit.clone()).into(),
        "pullRequest" => Node::Pull(pull.id).into(),
        "pullRequestReview" => Node::Review(comment.review).into(),
        "replyTo" => Val::option(comment.reply_to.map(Node::ReviewComment)),
        "draftedAt" => (&comment.created_at).into(),
        "state" => {
            let state = ctx.state();
            let review = state.reviews.get(&comment.review);
            let pending = review.is_some_and(|review| review.state == ReviewState::Pending);
            if pending { "PENDING" } else { "SUBMITTED" }.into()
        }
        "url" => format!(
            "{}/pull/{}#discussion_r{id}",
            ctx.repo_url(pull.repo),
            pull.number
        )
        .into(),
        "viewerCanDelete" | "viewerCanUpdate" if pull.state == PullState::Open => {
            (comment.author == ctx.viewer).into()
        }
        _ => {
            return common::written(
                ctx,
                &Written {
                    id,
                    repo: pull.repo,
                    author: comment.author,
                    body: &comment.body,
                    created_at: &comment.created_at,
                    updated_at: &comment.updated_at,
                    edited: comment.edited,
                    minimized: comment.minimized.as_deref(),
                },
                &Node::ReviewComment(id),
                name,
                args,
            );
        }
    }))
}
