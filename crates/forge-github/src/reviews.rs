//! Reviews: verdict, text and threads in one go.

use async_trait::async_trait;
use forge_core::{
    Error, ErrorKind, Hint, Outcome, Page, PageReq, PrId, Precondition, Result, Reviews,
    check_expected_head,
    model::{
        Comment, CommentId, NewReview, NewThread, PrFields, Review, Side, Thread, ThreadFilter,
        ThreadId, Verdict,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    caps::LIMITS,
    gql::{mutation::ADD_REVIEW, selections, types as wire},
    hints::{CHOOSE_BODY, comment_instead},
    map,
    mutate::or_read_back,
    paged::{self, Paged},
    pulls::{same_text, since},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    pull_request_review: Option<wire::Review>,
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
        Ok(paged::map(
            self.section_page(pr, &page, &what).await?,
            map::review,
        ))
    }

    async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>> {
        check(review)?;
        let before = match self.known.take(pr, PrFields::TO_CHANGE) {
            Some(found) => found,
            None => self.lookup(pr, selections::NEWEST_REVIEW).await?.0,
        };
        if review.verdict != Verdict::Comment && before.state != "OPEN" {
            let (why, word) = match before.state.as_str() {
                "MERGED" => (Precondition::Merged, "merged"),
                _ => (Precondition::Closed, "closed"),
            };
            return Err(Error::precondition(
                why,
                format!("{pr} is {word}: a verdict has no effect any more"),
            )
            .with_hint(comment_instead()));
        }
        let head = before.head_ref_oid.clone();
        check_expected_head(pr, review.expected_head.as_deref(), head.as_deref())?;
        let head = head.unwrap_or_default();
        let input = json!({
            "pullRequestId": before.id,
            "commitOID": head,
            "event": event(review.verdict),
            "body": review.body,
            "threads": review.threads.iter().map(thread).collect::<Vec<_>>(),
        });
        let written = self.send_one::<Made>(ADD_REVIEW, input).await;
        let written = written.map(|m| m.pull_request_review.unwrap_or_default());
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
        outcome.warnings.extend(warning);
        Ok(outcome)
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

const fn event(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "APPROVE",
        Verdict::RequestChanges => "REQUEST_CHANGES",
        Verdict::Comment => "COMMENT",
    }
}

const fn state(verdict: Verdict) -> &'static str {
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

fn thread(new: &NewThread) -> Value {
    let mut input =
        json!({ "path": new.path, "line": new.line, "side": side(new.side), "body": new.body });
    if let (Value::Object(map), Some(start)) = (&mut input, new.start_line) {
        map.insert("startLine".into(), json!(start));
        map.insert("startSide".into(), json!(side(new.side)));
    }
    input
}

/// What can be refused before anything is sent.
fn check(review: &NewReview) -> Result<()> {
    LIMITS.check_text("body", &review.body)?;
    let silent = review.body.trim().is_empty();
    if silent && review.verdict == Verdict::RequestChanges {
        return Err(Error::invalid("body", "a request for changes needs a text")
            .with_hint(Hint::new("say what should change").with_action(CHOOSE_BODY)));
    }
    if silent && review.verdict == Verdict::Comment && review.threads.is_empty() {
        return Err(Error::invalid(
            "body",
            "a review that is a comment needs a text, or comments on lines",
        )
        .with_hint(Hint::new("write a text").with_action(CHOOSE_BODY)));
    }
    for new in &review.threads {
        LIMITS.check_comment("body", &new.body)?;
        if new.path.trim().is_empty() {
            return Err(Error::invalid("path", "a comment on a line names no file")
                .with_hint("name the file"));
        }
        let range = new.start_line.unwrap_or(new.line);
        if new.line == 0 || range == 0 || range > new.line {
            return Err(Error::invalid(
                "line",
                format!("{}:{}-{} is no range of lines", new.path, range, new.line),
            )
            .with_hint("count lines from 1, and let a range end where it begins or later"));
        }
    }
    Ok(())
}

/// GitHub does not say which of the lines it means.
fn about_lines(error: Error, review: &NewReview) -> Error {
    let field = match error.kind() {
        ErrorKind::InvalidInput {
            field: Some(field @ ("line" | "path")),
        } => *field,
        _ => return error,
    };
    let lines: Vec<String> = review
        .threads
        .iter()
        .map(|t| format!("{}:{}", t.path, t.line))
        .collect();
    let which = if lines.len() == 1 {
        lines.concat()
    } else {
        format!("one of {}", lines.join(", "))
    };
    let message = format!("{which} cannot be commented on: {}", error.message());
    let about = Error::invalid(field, message);
    let about = match error.hint() {
        Some(hint) => about.with_hint(hint),
        None => about,
    };
    about.with_source(error)
}
