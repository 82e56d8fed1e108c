//! Pending reviews. GitHub keeps at most one for each viewer and pull request, and shows it to the
//! viewer alone until it is submitted.

use forge_core::{
    Action, Arg, Changed, Error, ErrorKind, Hint, Outcome, Param, PrId, Precondition, Result,
    Retry, Warning,
    model::{NewReview, NewThread, PendingReview, Review, Verdict},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    caps::LIMITS,
    gql::{
        mutation::{
            ADD_REVIEW_THREADS, ADD_THREAD, Batch, DELETE_LINE_COMMENT, DISCARD_REVIEW,
            SUBMIT_REVIEW, UPDATE_REVIEW,
        },
        selections, types as wire,
    },
    hints::END_PENDING,
    map,
    mutate::{failed, or_read_back},
    pulls::same_text,
    reviews::{CreatedReview, as_given, check_text_present, event, state, thread},
};

static WITHOUT_PENDING: Hint = Hint::fixed(
    "submit this review alone",
    Action::again(&[(Param::Pending, Arg::Omit)]),
);

#[derive(Deserialize)]
struct MadeThread {
    thread: Option<wire::Thread>,
}

/// The threads that GitHub added to a pending review, and the error of the first refused thread.
#[derive(Default)]
pub(crate) struct AddedThreads {
    made: Vec<wire::Thread>,
    refused: Option<Error>,
}

impl AddedThreads {
    /// Fails if a thread was refused.
    pub fn all(self) -> Result<Vec<wire::Thread>> {
        match self.refused {
            Some(error) => Err(error),
            None => Ok(self.made),
        }
    }
}

impl GitHub {
    /// Keeps or submits the viewer's pending review, depending on [`NewReview::pending`]. `before`
    /// was read with [`selections::PENDING_REVIEW`].
    pub(crate) async fn review_with_pending(
        &self,
        pr: &PrId,
        before: &wire::Pull,
        head: &str,
        review: &NewReview,
    ) -> Result<Outcome<Review>> {
        let pending = pending_of(before);
        let count = comment_count(pending);
        let body = join_bodies(pending.map_or("", |p| p.body.as_str()), &review.body);
        LIMITS.check_text("body", &body)?;
        let submits = review.pending == PendingReview::Submit;
        if submits {
            let has_comments = count > 0 || !review.threads.is_empty();
            check_text_present(review.verdict, &body, has_comments)?;
        }
        let behind = match pending {
            Some(pending) if submits => outdated_pending_error(pr, pending, head),
            _ => None,
        };
        let behind = match behind {
            Some(error) if review.verdict != Verdict::Comment => return Err(error),
            behind => behind.map(|e| Warning::new(e.message())),
        };
        let written = match pending {
            Some(pending) => self.extend_pending(pending, &body, review).await,
            None if submits => {
                let message = format!("you have no pending review of {pr}");
                return Err(
                    Error::precondition(Precondition::Rule, message).with_hint(&WITHOUT_PENDING)
                );
            }
            None => self.begin_pending(before, head, review).await,
        };
        let new = u64::try_from(review.threads.len()).unwrap_or(u64::MAX);
        let (mut made, warning) = or_read_back(written, || async {
            if submits {
                let (now, _) = self.lookup(pr, selections::RECENT_REVIEWS).await?;
                let mut reviews = now.recent_reviews.into_vec().into_iter();
                let is_it = |r: &wire::Review| {
                    pending.is_some_and(|p| p.id == r.id) && r.state == state(review.verdict)
                };
                return match reviews.find(is_it) {
                    Some(made) => Ok(Some(map::review(made))),
                    None if review.threads.is_empty() => Ok(None),
                    None => Err(unclear_state_error()),
                };
            }
            let (now, _) = self.lookup(pr, selections::PENDING_REVIEW).await?;
            let now = pending_of(&now);
            let kept = now.filter(|r| {
                comment_count(Some(r)) == count.saturating_add(new) && same_text(&r.body, &body)
            });
            match kept {
                Some(kept) => Ok(Some(map::review(kept.clone()))),
                None if comment_count(now) == count => Ok(None),
                None => Err(unclear_state_error()),
            }
        })
        .await?;
        made.pending_before = count;
        let mut outcome = Outcome::immediate(made);
        outcome.warnings.extend(behind);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// Deletes the viewer's pending review, and returns the number of its comments.
    pub(crate) async fn discard_pending(&self, pr: &PrId) -> Result<Outcome<u64>> {
        let (before, _) = self.lookup(pr, selections::PENDING_REVIEW).await?;
        let Some(pending) = pending_of(&before) else {
            let message = format!("you have no pending review of {pr}");
            return Ok(Outcome::unchanged(0, Warning::new(message)));
        };
        let input = json!({ "pullRequestReviewId": pending.id });
        let written = self.send_one::<Value>(DISCARD_REVIEW, input).await;
        let ((), warning) = or_read_back(written.map(|_| ()), || async {
            let (now, _) = self.lookup(pr, selections::PENDING_REVIEW).await?;
            Ok(pending_of(&now).is_none().then_some(()))
        })
        .await?;
        let mut outcome = Outcome::immediate(comment_count(Some(pending)));
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    async fn begin_pending(
        &self,
        before: &wire::Pull,
        head: &str,
        review: &NewReview,
    ) -> Result<Review> {
        let (on_lines, on_files): (Vec<&NewThread>, Vec<&NewThread>) =
            review.threads.iter().partition(|t| t.line.is_some());
        let input = json!({
            "pullRequestId": before.id,
            "commitOID": head,
            "body": review.body,
            "threads": on_lines.into_iter().map(thread).collect::<Vec<_>>(),
        });
        let begun = self
            .send_one::<CreatedReview>(ADD_REVIEW_THREADS, input)
            .await?;
        let mut begun = map::review(begun.pull_request_review.unwrap_or_default());
        let added = self.add_threads(&begun.id, &on_files).await;
        match added.and_then(AddedThreads::all) {
            Ok(made) => begun.threads.extend(made.into_iter().map(|t| t.id)),
            Err(error) if error.retry() == Retry::Ambiguous => return Err(error),
            Err(error) => return Err(self.discard_begun(&begun.id, error).await),
        }
        begun.threads = as_given(begun.threads, &review.threads);
        Ok(begun)
    }

    /// Discards the pending review that a failed request has created. Returns the error of that
    /// request.
    pub(crate) async fn discard_begun(&self, id: &str, error: Error) -> Error {
        let input = json!({ "pullRequestReviewId": id });
        match self.send_one::<Value>(DISCARD_REVIEW, input).await {
            Ok(_) => error,
            Err(_) => with_remainder(error, "a pending review remains"),
        }
    }

    /// Adds the threads to the viewer's pending review, then sets its body or submits it. Deletes
    /// the new threads if a step is refused.
    async fn extend_pending(
        &self,
        pending: &wire::Review,
        body: &str,
        review: &NewReview,
    ) -> Result<Review> {
        let threads: Vec<&NewThread> = review.threads.iter().collect();
        let AddedThreads { made, refused } = self.add_threads(&pending.id, &threads).await?;
        let last = match refused {
            Some(error) => Err(error),
            None => self.finish_pending(pending, body, review).await,
        };
        let mut extended = match last {
            Ok(extended) => map::review(extended),
            // The review may already be submitted together with these threads, so they are kept.
            Err(error) if error.retry() == Retry::Ambiguous => return Err(error),
            Err(error) => return Err(self.delete_added(&made, error).await),
        };
        if review.pending == PendingReview::Keep {
            extended.threads = made.into_iter().map(|t| t.id).collect();
        }
        Ok(extended)
    }

    async fn finish_pending(
        &self,
        pending: &wire::Review,
        body: &str,
        review: &NewReview,
    ) -> Result<wire::Review> {
        let id = &pending.id;
        let (mutation, input) = match review.pending {
            PendingReview::Submit => {
                let event = event(review.verdict);
                let input = json!({ "pullRequestReviewId": id, "event": event, "body": body });
                (SUBMIT_REVIEW, input)
            }
            _ if body == pending.body => return Ok(pending.clone()),
            _ => {
                let input = json!({ "pullRequestReviewId": id, "body": body });
                (UPDATE_REVIEW, input)
            }
        };
        let made = self.send_one::<CreatedReview>(mutation, input).await?;
        Ok(made.pull_request_review.unwrap_or_default())
    }

    /// Adds threads to a pending review, in order. Each thread may fail independently.
    pub(crate) async fn add_threads(
        &self,
        id: &str,
        threads: &[&NewThread],
    ) -> Result<AddedThreads> {
        let mut batch = Batch::default();
        for (n, new) in threads.iter().enumerate() {
            let mut input = match new.line {
                Some(_) => thread(new),
                None => json!({ "path": new.path, "body": new.body, "subjectType": "FILE" }),
            };
            if let Value::Object(input) = &mut input {
                input.insert("pullRequestReviewId".to_owned(), json!(id));
            }
            batch.push(&format!("t{n}"), ADD_THREAD, input);
        }
        if batch.is_empty() {
            return Ok(AddedThreads::default());
        }
        let mut answer = self.send::<MadeThread>(&batch).await?;
        let refused = batch.aliases().find_map(|alias| failed(&answer, alias));
        let refused = refused.map(|e| self.api.error(&answer, e));
        let mut payloads = answer.data.take().unwrap_or_default();
        let made: Vec<wire::Thread> = batch
            .aliases()
            .filter_map(|alias| payloads.remove(alias).flatten()?.thread)
            .collect();
        // GitHub may return null without an error for a thread outside the diff.
        let is_short = made.len() < threads.len();
        let refused = refused.or_else(|| is_short.then(no_thread));
        Ok(AddedThreads { made, refused })
    }

    /// Deletes threads that a failed request has added. Returns the error of that request.
    async fn delete_added(&self, added: &[wire::Thread], error: Error) -> Error {
        let mut batch = Batch::default();
        let comments = added
            .iter()
            .flat_map(|t| t.comments.nodes.iter().flatten().flatten());
        for (n, comment) in comments.enumerate() {
            let input = json!({ "id": comment.id });
            batch.push(&format!("c{n}"), DELETE_LINE_COMMENT, input);
        }
        if batch.is_empty() {
            return error;
        }
        match self.send::<Value>(&batch).await {
            Ok(answer) if batch.aliases().all(|of| failed(&answer, of).is_none()) => error,
            _ => with_remainder(error, "some of the comments remain in your pending review"),
        }
    }
}

/// Returns the viewer's pending review.
fn pending_of(pull: &wire::Pull) -> Option<&wire::Review> {
    let mut reviews = pull.pending_review.nodes.iter().flatten().flatten();
    reviews.find(|r| r.viewer_did_author && r.state == "PENDING")
}

/// Returns the error for a verdict if the pending review was begun at an older head: GitHub would
/// record the verdict for the commit of the pending review.
fn outdated_pending_error(pr: &PrId, pending: &wire::Review, head: &str) -> Option<Error> {
    let began = pending.commit.as_ref();
    let began = began.and_then(|c| c.oid.0.as_deref()).unwrap_or_default();
    if began == head {
        return None;
    }
    let at = match began {
        "" => "a commit that GitHub does not name",
        _ => began,
    };
    let message = format!("your pending review of {pr} was begun at {at}, and the head is {head}");
    let kind = ErrorKind::Conflict {
        what: Changed::Head,
        expected: began.to_owned(),
        actual: head.to_owned(),
    };
    let hint = Hint::new("submit it as a comment, or discard it and review the head")
        .with_action(Action::again(&[]).with(Param::Verdict, "comment"));
    Some(Error::new(kind, message).with_hint(hint))
}

fn comment_count(review: Option<&wire::Review>) -> u64 {
    let count = review.and_then(|r| r.comments.total_count);
    count.unwrap_or_default()
}

/// Returns the body of the pending review followed by the new body.
fn join_bodies(pending: &str, new: &str) -> String {
    match (pending.trim().is_empty(), new.trim().is_empty()) {
        (true, _) => new.to_owned(),
        (false, true) => pending.to_owned(),
        (false, false) => format!("{pending}\n\n{new}"),
    }
}

/// Returns the error for a pending review that has neither its earlier nor the requested content.
/// The caller reports the lost answer instead of this error.
fn unclear_state_error() -> Error {
    let message = "the pending review has neither its earlier content nor the requested content";
    Error::new(ErrorKind::Protocol, message)
}

fn no_thread() -> Error {
    Error::invalid("path", "GitHub created no thread for one of the comments")
        .with_hint("name lines and files that the diff shows")
}

fn with_remainder(error: Error, left: &str) -> Error {
    let message = format!("{}; {left}", error.message());
    Error::new(error.kind().clone(), message)
        .with_hint(&END_PENDING)
        .with_source(error)
}
