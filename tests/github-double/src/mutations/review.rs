//! Mutations of reviews.

use super::{Payload, check_length, pull_target, target, thread};
use crate::{
    actions,
    graphql::{Args, Ctx, Fail, Node, Val},
    resolve::{get_pull, thread_lines},
    state::{Id, Permission, Pull, Review, ReviewState},
};

fn payload(id: Id) -> Payload {
    let edge = Val::record(
        "PullRequestReviewEdge",
        vec![
            ("cursor", format!("review:{id}").into()),
            ("node", Node::Review(id).into()),
        ],
    );
    Ok(vec![
        ("pullRequestReview", Node::Review(id).into()),
        ("reviewEdge", edge),
    ])
}

/// Starts an empty review that only its author sees.
pub(super) fn begin(ctx: &Ctx<'_>, pull: &Pull, commit: &str) -> Id {
    let mut state = ctx.state();
    let id = state.next_id();
    let now = state.tick();
    state.reviews.insert(
        id,
        Review {
            id,
            pull: pull.id,
            author: ctx.viewer,
            state: ReviewState::Pending,
            body: String::new(),
            commit: commit.to_owned(),
            created_at: now.clone(),
            submitted_at: None,
            updated_at: now,
            edited: false,
            minimized: None,
        },
    );
    id
}

/// Returns the viewer's review if it is not submitted yet.
pub(super) fn pending(ctx: &Ctx<'_>, pull: Id) -> Option<Id> {
    let state = ctx.state();
    state
        .reviews
        .values()
        .find(|review| {
            review.pull == pull
                && review.author == ctx.viewer
                && review.state == ReviewState::Pending
        })
        .map(|review| review.id)
}

fn verdict(ctx: &Ctx<'_>, pull: &Pull, event: &str, body: &str) -> Result<ReviewState, Fail> {
    let own = pull.author == ctx.viewer;
    match event {
        "APPROVE" if own => Err(Fail::unprocessable("Can not approve your own pull request")),
        "REQUEST_CHANGES" if own => Err(Fail::unprocessable(
            "Can not request changes on your own pull request",
        )),
        "APPROVE" => Ok(ReviewState::Approved),
        "REQUEST_CHANGES" if body.trim().is_empty() => {
            Err(Fail::unprocessable("Body can't be blank"))
        }
        "REQUEST_CHANGES" => Ok(ReviewState::ChangesRequested),
        "COMMENT" => Ok(ReviewState::Commented),
        _ => Err(Fail::unprocessable(format!(
            "Could not {} the review",
            event.to_lowercase()
        ))),
    }
}

pub(super) fn add(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let pull = get_pull(ctx, pull_target(ctx, input, "pullRequestId")?)?;
    ctx.require(pull.repo, Permission::Read, "AddPullRequestReview")?;
    let body = input.string("body").unwrap_or_default();
    check_length(ctx, &body)?;
    let commit = input.str("commitOID").unwrap_or(&pull.head_oid).to_owned();
    let threads = input.objects("threads");
    let comments = input.objects("comments");
    let event = input.str("event");
    let state = event
        .map(|event| verdict(ctx, &pull, event, &body))
        .transpose()?;
    if event == Some("COMMENT")
        && body.trim().is_empty()
        && threads.is_empty()
        && comments.is_empty()
    {
        return Err(Fail::unprocessable("Body can't be blank"));
    }
    if pending(ctx, pull.id).is_some() {
        return Err(Fail::unprocessable(
            "User can only have one pending review per pull request",
        ));
    }
    // The mutation checks all threads before it stores any of them.
    let dir = ctx.repo(pull.repo)?.git_dir;
    let mut placed = Vec::new();
    for it in threads.iter().chain(&comments) {
        let wish = thread::Wish::read(it)?;
        check_length(ctx, &wish.body)?;
        let hunk = thread_lines::place(&dir, &pull, &wish.path, wish.line, &wish.side)?;
        placed.push((wish, hunk));
    }
    let id = begin(ctx, &pull, &commit);
    if let Some(review) = ctx.state().reviews.get_mut(&id) {
        review.body = body;
    }
    for (wish, hunk) in placed {
        thread::store(ctx, &pull, id, wish, hunk);
    }
    if let Some(state) = state {
        publish(ctx, &pull, id, state);
    }
    payload(id)
}

/// Submits a review, so that everybody sees it.
pub(super) fn publish(ctx: &Ctx<'_>, pull: &Pull, id: Id, to: ReviewState) {
    let viewer = ctx.viewer;
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(review) = state.reviews.get_mut(&id) {
        review.state = to;
        review.submitted_at = Some(now.clone());
        review.updated_at.clone_from(&now);
    }
    if let Some(pull) = state.pulls.get_mut(&pull.id) {
        pull.updated_at = now;
    }
    actions::remove_answered_requests(&mut state, pull.id, viewer);
}

fn own_review(ctx: &Ctx<'_>, input: &Args) -> Result<Review, Fail> {
    let Node::Review(id) = target(ctx, input, "pullRequestReviewId")? else {
        return Err(Fail::not_found("Could not resolve to a PullRequestReview."));
    };
    let found = ctx.state().reviews.get(&id).cloned();
    found.ok_or_else(|| Fail::not_found("Could not resolve to a PullRequestReview."))
}

pub(super) fn submit(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let review = if input.has("pullRequestReviewId") {
        own_review(ctx, input)?
    } else {
        let pull = pull_target(ctx, input, "pullRequestId")?;
        let id = pending(ctx, pull)
            .ok_or_else(|| Fail::unprocessable("There is no pending review to submit"))?;
        ctx.state()
            .reviews
            .get(&id)
            .cloned()
            .ok_or_else(|| Fail::not_found("Could not resolve to a PullRequestReview."))?
    };
    if review.state != ReviewState::Pending || review.author != ctx.viewer {
        return Err(Fail::unprocessable(
            "Can not submit a review that is not pending",
        ));
    }
    let pull = get_pull(ctx, review.pull)?;
    let body = input.string("body").unwrap_or_else(|| review.body.clone());
    check_length(ctx, &body)?;
    let event = input.str("event").unwrap_or_default();
    let state = verdict(ctx, &pull, event, &body)?;
    if let Some(review) = ctx.state().reviews.get_mut(&review.id) {
        review.body = body;
    }
    publish(ctx, &pull, review.id, state);
    payload(review.id)
}

pub(super) fn update(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let review = own_review(ctx, input)?;
    let pull = get_pull(ctx, review.pull)?;
    let least = if review.author == ctx.viewer {
        Permission::Read
    } else {
        Permission::Write
    };
    ctx.require(pull.repo, least, "UpdatePullRequestReview")?;
    let body = input.string("body").unwrap_or_default();
    check_length(ctx, &body)?;
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(review) = state.reviews.get_mut(&review.id) {
        review.body = body;
        review.edited = true;
        review.updated_at = now;
    }
    Ok(vec![("pullRequestReview", Node::Review(review.id).into())])
}

pub(super) fn delete(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let review = own_review(ctx, input)?;
    if review.state != ReviewState::Pending {
        return Err(Fail::unprocessable(
            "Can not delete a non-pending pull request review",
        ));
    }
    if review.author != ctx.viewer {
        return Err(Fail::forbidden(
            "You do not have permission to delete this review",
        ));
    }
    let mut state = ctx.state();
    state.reviews.remove(&review.id);
    state.review_comments.retain(|_, it| it.review != review.id);
    let kept: Vec<Id> = state.review_comments.values().map(|it| it.thread).collect();
    state
        .threads
        .retain(|id, thread| thread.pull != review.pull || kept.contains(id));
    Ok(vec![("pullRequestReview", Val::NULL)])
}

pub(super) fn dismiss(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let review = own_review(ctx, input)?;
    let pull = get_pull(ctx, review.pull)?;
    ctx.require(pull.repo, Permission::Write, "DismissPullRequestReview")?;
    if !matches!(
        review.state,
        ReviewState::Approved | ReviewState::ChangesRequested
    ) {
        return Err(Fail::unprocessable(format!(
            "Can not dismiss a {} pull request review",
            review.state.name().to_lowercase()
        )));
    }
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(review) = state.reviews.get_mut(&review.id) {
        review.state = ReviewState::Dismissed;
        review.updated_at = now;
    }
    Ok(vec![("pullRequestReview", Node::Review(review.id).into())])
}
