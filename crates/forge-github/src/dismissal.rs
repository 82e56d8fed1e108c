//! Dismisses reviews.

use forge_core::{
    Action, Error, Hint, Noun, Op, Outcome, Param, PrId, Precondition, Result, Warning,
    model::{Review, ReviewState},
    text::one_line,
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    GitHub,
    api::GqlAnswer,
    caps::LIMITS,
    gql::{GqlDocument, mutation::DISMISS_REVIEW, types as wire},
    map,
    mutate::or_read_back,
    pr_variables,
};

#[derive(Deserialize)]
struct ReviewOf {
    node: Option<wire::Review>,
    repository: Option<PullIdOf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullIdOf {
    pull_request: Option<wire::Id>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dismissed {
    pull_request_review: Option<wire::Review>,
}

impl GitHub {
    pub(crate) async fn dismiss(
        &self,
        pr: &PrId,
        key: &str,
        message: &str,
    ) -> Result<Outcome<Review>> {
        LIMITS.check_comment("message", message)?;
        let before = map::review(self.review_of(pr, key).await?);
        let shown = one_line(key);
        if before.state == ReviewState::Dismissed {
            let message = format!("the review {shown} is dismissed already");
            return Ok(Outcome::unchanged(before, Warning::new(message)));
        }
        if !before.state.is_opinion() {
            return Err(Error::precondition(
                Precondition::Rule,
                format!("the review {shown} of {pr} has no verdict to dismiss"),
            )
            .with_hint("do nothing: a review comment does not block a merge"));
        }
        let input = json!({ "pullRequestReviewId": key, "message": message });
        let written = self.send_one::<Dismissed>(DISMISS_REVIEW, input).await;
        let written = written.map(|d| d.pull_request_review.unwrap_or_default());
        let (made, warning) = or_read_back(written, || async {
            let now = self.review_of(pr, key).await?;
            Ok(Some(now).filter(|r| r.state == "DISMISSED"))
        })
        .await?;
        let mut outcome = Outcome::immediate(map::review(made));
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// Reads a review and checks that it belongs to `pr`, because GitHub resolves an id to any
    /// object that the account can see.
    async fn review_of(&self, pr: &PrId, key: &str) -> Result<wire::Review> {
        let text = GqlDocument::query("Review").text();
        let mut variables = pr_variables(pr)?;
        variables.insert("id".into(), json!(key));
        let mut answer: GqlAnswer<ReviewOf> = self.api.query(&text, &variables.into()).await?;
        let Some(ReviewOf {
            node,
            repository: Some(PullIdOf {
                pull_request: Some(pull),
            }),
        }) = answer.data.take()
        else {
            return Err(self.not_found(pr, &answer));
        };
        if let Some(review) = node {
            let of = review.pull_request.as_ref();
            return match of.is_some_and(|of| of.id == pull.id) {
                true => Ok(review),
                false => Err(no_review(pr, key)),
            };
        }
        match answer.errors.is_empty() {
            true => Err(no_review(pr, key)),
            false => match self.api.first_error(&answer) {
                e if e.is_not_found() => Err(no_review(pr, key)),
                e => Err(e),
            },
        }
    }
}

fn no_review(pr: &PrId, key: &str) -> Error {
    let message = format!("there is no review '{}' on {pr}", one_line(key));
    let view = Action::op(Op::PrView).on(&pr.key);
    Error::not_found(Noun::Other, message).with_hint(
        Hint::new("look for its id among the reviews")
            .with_action(view.with(Param::Include, "reviews")),
    )
}
