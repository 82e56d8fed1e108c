//! Opens a pull request that reverts a merged one; GitHub creates the branch and the commit.

use forge_core::{
    Action, Error, Hint, Op, Outcome, PrId, Precondition, Result, Retry,
    model::{PrFields, PrState, PullRequest, RevertPull},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    caps::LIMITS,
    error::ambiguous,
    gql::{mutation::REVERT, selections::Branches, types as wire},
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RevertPayload {
    revert_pull_request: wire::Pull,
}

impl GitHub {
    pub(super) async fn revert_pull(
        &self,
        pr: &PrId,
        req: &RevertPull,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(title) = &req.title {
            LIMITS.check_title(title)?;
        }
        if let Some(body) = &req.body {
            LIMITS.check_text("body", body)?;
        }
        let (wire, pull) = self.read_before_change(pr, false, Branches::None).await?;
        let state = match pull.state {
            PrState::Merged => None,
            PrState::Open => Some((Precondition::Open, "open")),
            PrState::Closed => Some((Precondition::Closed, "closed")),
        };
        if let Some((why, state)) = state {
            let message = format!("{pr} cannot be reverted: it is {state}, and not merged");
            return Err(
                Error::precondition(why, message).with_hint("name a pull request that was merged")
            );
        }
        let mut input = json!({ "pullRequestId": wire.id, "draft": req.draft });
        if let Value::Object(map) = &mut input {
            for (name, text) in [("title", &req.title), ("body", &req.body)] {
                if let Some(text) = text {
                    map.insert(name.to_owned(), json!(text));
                }
            }
        }
        let payload: RevertPayload = match self.send_one(REVERT, input).await {
            Ok(payload) => payload,
            // An earlier revert looks the same as this one. A read of GitHub's state therefore
            // cannot show whether this revert was opened.
            Err(e) if e.retry() == Retry::Ambiguous => {
                let look = Hint::new("check whether the revert was opened before you try again")
                    .with_action(Action::op(Op::PrList));
                return Err(e.with_hint(look));
            }
            Err(e) => return Err(e),
        };
        let opened = payload.revert_pull_request;
        let opened = self.domain(&pr.repo, opened, PrFields::NONE, Vec::new());
        // The revert is open even if the answer cannot be mapped, so the error is ambiguous.
        Ok(Outcome::immediate(opened.map_err(ambiguous)?))
    }
}
