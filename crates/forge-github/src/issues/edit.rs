//! Changing the text of an issue: one query for its id and what it says now, one mutation.

use forge_core::{
    Outcome, Result, Warning,
    model::{EditIssue, Issue, IssueFields, IssueId},
};
use serde_json::{Map, Value, json};

use super::create::Payload;
use crate::{
    GitHub, gql::mutation::UPDATE_ISSUE, mutate::or_read_back, pulls::same_text, validate,
};

impl GitHub {
    pub(super) async fn change_issue(
        &self,
        id: &IssueId,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        if let Some(title) = &edit.title {
            validate::title(title)?;
        }
        if let Some(body) = &edit.body {
            validate::body("body", body)?;
        }
        let before = self.fetch_issue(id, IssueFields::default()).await?;
        let is_done = |issue: &Issue| {
            let title = edit.title.as_ref().is_none_or(|t| t.trim() == issue.title);
            title && edit.body.as_ref().is_none_or(|b| same_text(&issue.body, b))
        };
        if is_done(&before) {
            let warning = Warning::new(format!("{id} is so already; nothing was changed"));
            return Ok(Outcome::unchanged(before, warning));
        }
        let mut input = Map::from_iter([("id".to_owned(), json!(before.node_id))]);
        for (name, value) in [("title", &edit.title), ("body", &edit.body)] {
            input.extend(value.as_ref().map(|v| (name.to_owned(), json!(v))));
        }
        let written = self
            .send_one::<Payload>(UPDATE_ISSUE, Value::Object(input))
            .await
            .and_then(|p| self.issue_of(id, p.issue.unwrap_or_default(), vec![]));
        let (issue, warning) = or_read_back(written, || async {
            let now = self.fetch_issue(id, IssueFields::default()).await?;
            Ok(is_done(&now).then_some(now))
        })
        .await?;
        let mut outcome = Outcome::immediate(issue);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }
}
