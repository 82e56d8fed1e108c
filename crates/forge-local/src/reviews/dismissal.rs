//! Dismisses reviews.

use forge_core::{
    Action, Error, Hint, Noun, Op, Outcome, Param, Precondition, Result, Warning,
    model::{Review, ReviewState},
    text,
};

use crate::{
    Local,
    caps::LIMITS,
    ident::identity,
    store::{AppendOutcome, NewEvent, PullEvent, WriteRetry},
};

impl Local {
    pub(super) async fn dismiss(
        &self,
        number: u64,
        key: &str,
        message: &str,
    ) -> Result<Outcome<Review>> {
        LIMITS.check_comment("message", message)?;
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let said = self.conversation(&mut cat, &pull, Some(&by)).await?;
            let found = said.reviews.into_iter().find(|r| r.id == key);
            let mut review = found.ok_or_else(|| no_review(number, key))?;
            if review.state == ReviewState::Dismissed {
                let message = format!("the review {key} is dismissed already");
                return Ok(Outcome::unchanged(review, Warning::new(message)));
            }
            if !review.state.is_opinion() {
                return Err(Error::precondition(
                    Precondition::Rule,
                    format!("the review {key} of #{number} has no verdict to dismiss"),
                )
                .with_hint("do nothing: a review comment does not block a merge"));
            }
            let mut snapshot = pull.snapshot.clone();
            snapshot.dismiss_review(key);
            // The message of the dismissal counts as a comment.
            snapshot.comments += 1;
            let event = PullEvent::ReviewDismissed {
                review: key.to_owned(),
                message: message.to_owned(),
            };
            match self
                .store
                .append(&mut cat, &pull, &by, NewEvent::new(event, snapshot))
                .await?
            {
                AppendOutcome::Done(_) => {
                    review.state = ReviewState::Dismissed;
                    return Ok(Outcome::immediate(review));
                }
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }
}

fn no_review(number: u64, key: &str) -> Error {
    let shown = text::one_line(key);
    let view = Action::op(Op::PrView).with(Param::Include, "reviews");
    Error::not_found(Noun::Other, format!("#{number} has no review {shown}")).with_hint(
        Hint::from(format!("look for the id among the reviews of #{number}"))
            .with_action(view.on(number)),
    )
}
