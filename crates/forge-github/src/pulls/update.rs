//! Updates a head branch from its base branch: one query, and one mutation that names the head
//! commit.

use forge_core::{
    Error, ErrorKind, Outcome, PrId, Precondition, Result, Retry, Warning, check_expected_base,
    check_expected_head, head_moved,
    model::{PrFields, PullRequest, UpdateBranch, UpdateMethod},
};
use serde_json::json;

use super::merge::not_open;
use crate::{
    GitHub,
    error::ambiguous,
    gql::{
        mutation::{Batch, UPDATE_BRANCH},
        selections,
    },
    hints::solve_conflicts,
    map,
    mutate::{PullPayload, failed, last_pull, or_read_back},
    number,
};

impl GitHub {
    pub(super) async fn update_pull_branch(
        &self,
        pr: &PrId,
        req: &UpdateBranch,
    ) -> Result<Outcome<PullRequest>> {
        let (pull, unread) = match self.known.take(pr, PrFields::TO_MERGE) {
            Some(found) => (found, vec![]),
            None => self.lookup(pr, selections::TO_UPDATE_BRANCH).await?,
        };
        if pull.state != "OPEN" {
            return Err(not_open(pr, &pull.state));
        }
        check_expected_head(
            pr,
            req.expected_head.as_deref(),
            pull.head_ref_oid.0.as_deref(),
        )?;
        check_expected_base(pr, req.expected_base.as_deref(), &pull.base_ref_name)?;
        let head = pull.head_ref_oid.0.clone().unwrap_or_default();
        if pull.mergeable.as_deref() == Some("CONFLICTING") {
            let base = forge_core::text::one_line(&pull.base_ref_name).into_owned();
            return Err(Error::precondition(
                Precondition::Conflicts(Vec::new()),
                format!("{pr} conflicts with '{base}'; nothing was changed"),
            )
            .with_hint(solve_conflicts(&pull)));
        }
        let method = match req.method {
            UpdateMethod::Merge => "MERGE",
            UpdateMethod::Rebase => "REBASE",
        };
        let before = self.domain(&pr.repo, pull, PrFields::NONE, unread)?;
        let input = json!({
            "pullRequestId": before.node_id,
            "expectedHeadOid": head,
            "updateMethod": method,
        });
        let written = self
            .updated(&before, &Batch::of("update", UPDATE_BRANCH, input))
            .await;
        let written = match written {
            Err(e) if is_up_to_date(&e) => {
                let warning =
                    Warning::new(format!("{pr} is up to date already; nothing was changed"));
                return Ok(Outcome::unchanged(before, warning));
            }
            Err(e) if matches!(e.kind(), ErrorKind::Conflict { .. }) => {
                let now = self.lookup(pr, selections::ROW).await.ok();
                let actual = now.and_then(|(p, _)| p.head_ref_oid.0);
                return Err(head_moved(pr, &head, &actual.unwrap_or_default()));
            }
            written => written,
        };
        let (value, warning) = or_read_back(written, || async {
            let now = self.fetch(pr, PrFields::NONE).await?;
            Ok((now.head_oid.as_ref() != Some(&head)).then_some(now))
        })
        .await?;
        let mut outcome = Outcome::immediate(value);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    async fn updated(&self, before: &PullRequest, batch: &Batch) -> Result<PullRequest> {
        let mut answer = self.send::<PullPayload>(batch).await?;
        if let Some(e) = failed(&answer, "update") {
            return Err(self.api.error(&answer, e));
        }
        let unread = self.unread(&answer);
        match last_pull(batch, answer.data.take()) {
            Some(pull) => {
                self.check_number(&before.id, number(&before.id)?, pull.number)
                    .map_err(ambiguous)?;
                let now = self.domain(&before.id.repo, pull, PrFields::NONE, unread)?;
                Ok(map::after_change(before.clone(), now))
            }
            None => Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous)),
        }
    }
}

/// Returns whether a refusal means that the head already contains the base branch.
fn is_up_to_date(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Precondition(Precondition::NothingToMerge)
    )
}
