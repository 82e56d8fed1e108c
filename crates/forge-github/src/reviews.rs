//! Submits reviews: verdict, text and threads together.

use async_trait::async_trait;
use forge_core::{
    Action, Error, ErrorKind, Hint, Op, Outcome, Page, PageReq, Param, PrId, Result, Retry,
    Reviews, check_expected_head,
    model::{
        Comment, CommentId, NewReview, NewThread, PendingReview, PrFields, PrState, Review, Side,
        Thread, ThreadFilter, ThreadId, Verdict,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    caps::LIMITS,
    gql::{
        mutation::{ADD_REVIEW, ADD_REVIEW_THREADS, BEGIN_REVIEW, SUBMIT_REVIEW},
        selections, types as wire,
    },
    hints::CHOOSE_BODY,
    map,
    mutate::or_read_back,
    paged::{self, Paged},
    pulls::{same_text, since},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedReview {
    pub pull_request_review: Option<wire::Review>,
}

#[async_trait]
impl Reviews for GitHub {
    async fn comment(
        &self,
        pr: &PrId,
        body: &str,
        reply_to: Option<&CommentId>,
    ) -> Result<Outcome<Comment>> {
        self.add_comment(pr, body, reply_to).await
    }

    async fn edit_comment(&self, comment: &CommentId, body: &str) -> Result<Outcome<Comment>> {
        self.replace_comment(comment, body).await
    }

    async fn delete_comment(&self, comment: &CommentId) -> Result<Outcome<()>> {
        self.remove_comment(comment).await
    }

    async fn comments(&self, pr: &PrId, page: PageReq) -> Result<Page<Comment>> {
        self.comment_page(pr, page).await
    }

    async fn reviews(&self, pr: &PrId, page: PageReq) -> Result<Page<Review>> {
        let what = Paged {
            scheme: "github-reviews",
            selection: selections::REVIEWS,
            take: |pull| pull.reviews,
        };
        let mut found: Page<wire::Review> = self.section_page(pr, &page, &what).await?;
        let reviews = found.items.iter_mut();
        let lists = reviews.map(|r| (r.id.clone(), &mut r.comments)).collect();
        let mut size = paged::MAX_PAGE_SIZE;
        let unread = self.complete_lists(lists, &mut size).await;
        found.warnings.extend(unread);
        Ok(paged::map(found, map::review))
    }

    async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>> {
        check(review)?;
        let before = match review.pending {
            PendingReview::Refuse => match self.known.take(pr, PrFields::TO_CHANGE) {
                Some(found) => found,
                None => self.lookup(pr, selections::NEWEST_REVIEW).await?.0,
            },
            // Cached pull requests lack their pending reviews, so the cache is not used here.
            PendingReview::Keep | PendingReview::Submit => {
                self.lookup(pr, selections::PENDING_REVIEW).await?.0
            }
        };
        let late = match before.state.as_str() {
            "MERGED" => review.late_verdict_warning(pr, PrState::Merged),
            "CLOSED" => review.late_verdict_warning(pr, PrState::Closed),
            _ => None,
        };
        let head = before.head_ref_oid.0.clone();
        check_expected_head(pr, review.expected_head.as_deref(), head.as_deref())?;
        let head = head.unwrap_or_default();
        if review.pending != PendingReview::Refuse {
            let outcome = self.review_with_pending(pr, &before, &head, review).await;
            let outcome = outcome.map_err(|e| about_lines(e, review));
            return outcome.map(|mut outcome| {
                outcome.warnings.extend(late);
                outcome
            });
        }
        let written = match review.threads.iter().all(|t| t.line.is_some()) {
            true => self.submit_at_once(&before.id, &head, review).await,
            false => self.submit_in_parts(&before.id, &head, review).await,
        };
        let written = written.map_err(|e| about_lines(e, review));
        let (made, warning) = or_read_back(written, || async {
            let (now, _) = self.lookup(pr, selections::RECENT_REVIEWS).await?;
            let mut new = since(now.recent_reviews.into_vec(), &before, |r| &r.id);
            Ok(new.find(|r| {
                r.viewer_did_author
                    && r.state == state(review.verdict)
                    && same_text(&r.body, &review.body)
            }))
        })
        .await?;
        let mut outcome = Outcome::immediate(map::review(made));
        let opened = std::mem::take(&mut outcome.value.threads);
        outcome.value.threads = as_given(opened, &review.threads);
        outcome.warnings.extend(warning);
        outcome.warnings.extend(late);
        Ok(outcome)
    }

    async fn discard_pending_review(&self, pr: &PrId) -> Result<Outcome<u64>> {
        self.discard_pending(pr).await
    }

    async fn dismiss_review(&self, pr: &PrId, key: &str, message: &str) -> Result<Outcome<Review>> {
        self.dismiss(pr, key, message).await
    }

    async fn threads(
        &self,
        pr: &PrId,
        filter: ThreadFilter,
        page: PageReq,
    ) -> Result<Page<Thread>> {
        self.thread_page(pr, filter, page).await
    }

    async fn resolve_thread(&self, thread: &ThreadId, resolved: bool) -> Result<Outcome<Thread>> {
        self.set_resolved(thread, resolved).await
    }
}

impl GitHub {
    /// Submits a review whose threads are all on lines, in one request.
    async fn submit_at_once(
        &self,
        pull: &str,
        head: &str,
        review: &NewReview,
    ) -> Result<wire::Review> {
        let input = json!({
            "pullRequestId": pull,
            "commitOID": head,
            "event": event(review.verdict),
            "body": review.body,
            "threads": review.threads.iter().map(thread).collect::<Vec<_>>(),
        });
        let mutation = match review.threads.is_empty() {
            true => ADD_REVIEW,
            false => ADD_REVIEW_THREADS,
        };
        let made = self.send_one::<CreatedReview>(mutation, input).await?;
        Ok(made.pull_request_review.unwrap_or_default())
    }

    /// Submits a review with threads on whole files, which `DraftPullRequestReviewThread` does not
    /// support. Creates a pending review, adds the threads and submits the review. Discards the
    /// pending review if one of these steps fails.
    async fn submit_in_parts(
        &self,
        pull: &str,
        head: &str,
        review: &NewReview,
    ) -> Result<wire::Review> {
        let on_lines = review.threads.iter().filter(|t| t.line.is_some());
        let input = json!({
            "pullRequestId": pull,
            "commitOID": head,
            "body": review.body,
            "threads": on_lines.map(thread).collect::<Vec<_>>(),
        });
        let begun = self.send_one::<CreatedReview>(BEGIN_REVIEW, input).await?;
        let id = begun.pull_request_review.unwrap_or_default().id;
        match self.finish_review(&id, review).await {
            Ok(made) => Ok(made),
            // The review may already be submitted. A submitted review cannot be discarded.
            Err(error) if error.retry() == Retry::Ambiguous => Err(error),
            Err(error) => Err(self.discard_begun(&id, error).await),
        }
    }

    async fn finish_review(&self, id: &str, review: &NewReview) -> Result<wire::Review> {
        let on_files = review.threads.iter().filter(|t| t.line.is_none());
        let on_files: Vec<&NewThread> = on_files.collect();
        self.add_threads(id, &on_files).await?.all()?;
        let input = json!({
            "pullRequestReviewId": id,
            "event": event(review.verdict),
            "body": review.body,
        });
        let made = self.send_one::<CreatedReview>(SUBMIT_REVIEW, input).await?;
        Ok(made.pull_request_review.unwrap_or_default())
    }
}

/// Puts the thread keys into the order of the request; GitHub opens threads on lines first.
pub(crate) fn as_given(opened: Vec<String>, given: &[NewThread]) -> Vec<String> {
    if opened.len() != given.len() {
        return opened;
    }
    let lines = given.iter().filter(|t| t.line.is_some()).count();
    let (on_lines, on_files) = opened.split_at(lines);
    let (mut on_lines, mut on_files) = (on_lines.iter(), on_files.iter());
    let next = |t: &NewThread| match t.line {
        Some(_) => on_lines.next(),
        None => on_files.next(),
    };
    given.iter().filter_map(next).cloned().collect()
}

pub(crate) const fn event(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "APPROVE",
        Verdict::RequestChanges => "REQUEST_CHANGES",
        Verdict::Comment => "COMMENT",
    }
}

pub(crate) const fn state(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "APPROVED",
        Verdict::RequestChanges => "CHANGES_REQUESTED",
        Verdict::Comment => "COMMENTED",
    }
}

const fn side(side: Side) -> &'static str {
    match side {
        Side::Left => "LEFT",
        Side::Right => "RIGHT",
    }
}

pub(crate) fn thread(new: &NewThread) -> Value {
    let mut input =
        json!({ "path": new.path, "line": new.line, "side": side(new.side), "body": new.body });
    // GitHub refuses a range that begins at its last line.
    let start = new.start_line.filter(|start| Some(*start) != new.line);
    if let (Value::Object(map), Some(start)) = (&mut input, start) {
        map.insert("startLine".into(), json!(start));
        map.insert("startSide".into(), json!(side(new.side)));
    }
    input
}

/// Refuses invalid reviews before any request.
fn check(review: &NewReview) -> Result<()> {
    LIMITS.check_text("body", &review.body)?;
    if review.pending == PendingReview::Keep && review.verdict != Verdict::Comment {
        let hint = Hint::new("give the verdict when you submit the review, and comment until then")
            .with_action(Action::again(&[]).with(Param::Verdict, "comment"));
        return Err(
            Error::invalid("verdict", "a review that is kept pending has no verdict")
                .with_hint(hint),
        );
    }
    // A pending review that is submitted may already have a text and comments.
    if review.pending != PendingReview::Submit {
        check_text_present(review.verdict, &review.body, !review.threads.is_empty())?;
    }
    for new in &review.threads {
        LIMITS.check_comment("body", &new.body)?;
        if new.path.trim().is_empty() {
            return Err(Error::invalid("path", "a comment on a line names no file")
                .with_hint("name the file"));
        }
        new.check_lines()?;
    }
    Ok(())
}

/// Refuses a review that needs a text and has none.
pub(crate) fn check_text_present(verdict: Verdict, body: &str, has_comments: bool) -> Result<()> {
    if !body.trim().is_empty() {
        return Ok(());
    }
    match verdict {
        Verdict::RequestChanges => {
            Err(Error::invalid("body", "a request for changes needs a text")
                .with_hint(Hint::new("say what should change").with_action(CHOOSE_BODY)))
        }
        Verdict::Comment if !has_comments => Err(Error::invalid(
            "body",
            "a comment review needs a text or line comments",
        )
        .with_hint(Hint::new("write a text").with_action(CHOOSE_BODY))),
        Verdict::Comment | Verdict::Approve => Ok(()),
    }
}

/// Returns the call that shows the diff of the files with comments.
fn diff_of(review: &NewReview) -> Action {
    let mut paths: Vec<&str> = review.threads.iter().map(|t| t.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let diff = Action::op(Op::PrDiff);
    // A path with a comma would be read as two paths, so the diff of all files is shown instead.
    match paths.iter().any(|path| path.contains(',')) {
        true => diff,
        false => (paths.iter()).fold(diff, |diff, path| diff.with(Param::Path, *path)),
    }
}

/// Adds the threads' lines to an error, because GitHub does not say which line is wrong.
fn about_lines(error: Error, review: &NewReview) -> Error {
    let field = match error.kind() {
        ErrorKind::InvalidInput {
            field: Some(field @ ("line" | "path")),
        } => *field,
        _ => return error,
    };
    let lines: Vec<String> = review.threads.iter().map(NewThread::place).collect();
    let which = if lines.len() == 1 {
        lines.concat()
    } else {
        format!("one of {}", lines.join(", "))
    };
    let message = format!("{which} cannot be commented on: {}", error.message());
    let about = Error::invalid(field, message);
    let about = match error.hint() {
        Some(hint) if field == "line" => about.with_hint(hint.clone().with_action(diff_of(review))),
        Some(hint) => about.with_hint(hint),
        None => about,
    };
    about.with_source(error)
}
