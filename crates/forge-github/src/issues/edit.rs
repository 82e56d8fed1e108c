//! Changing an issue: one query for its id and what it says now, one mutation for its text, one for
//! the labels that are new on it, one for those that go.

use forge_core::{
    Action, Op, Outcome, Result, Warning, check_version,
    model::{EditIssue, Issue, IssueFields, IssueId, Label},
};
use serde_json::{Map, Value, json};

use super::create::Payload;
use crate::{
    GitHub,
    caps::LIMITS,
    decorate::unique,
    error::half_done,
    gql::mutation::{ADD_ISSUE_LABELS, Mutation, REMOVE_ISSUE_LABELS, UPDATE_ISSUE},
    mutate::or_read_back,
    pulls::same_text,
};

impl GitHub {
    pub(super) async fn change_issue(
        &self,
        id: &IssueId,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        if let Some(title) = &edit.title {
            LIMITS.check_title(title)?;
        }
        if let Some(body) = &edit.body {
            LIMITS.check_text("body", body)?;
        }
        LIMITS.check_label_count(edit.labels.add.len())?;
        let before = self.fetch_issue(id, &IssueFields::default()).await?;
        let expected = edit.expected_version.as_deref();
        check_version(
            id,
            expected,
            &before.version,
            Action::op(Op::IssueView).on(&id.key),
        )?;
        let is_done = |issue: &Issue| says(issue, edit) && is_labelled(issue, edit);
        if is_done(&before) {
            let warning = Warning::new(format!("{id} is so already; nothing was changed"));
            return Ok(Outcome::unchanged(before, warning));
        }
        let changes = self.changes(id, edit, &before).await?;
        let mut written = Ok(before);
        let mut done = Vec::new();
        for (part, mutation, input) in changes {
            let sent = self.send_one::<Payload>(mutation, input).await;
            written = sent
                .and_then(|p| {
                    self.issue_of(id, p.issue.or(p.labelable).unwrap_or_default(), vec![])
                })
                .map_err(|e| match done.is_empty() {
                    true => e,
                    false => half_done(e, &done),
                });
            if written.is_err() {
                break;
            }
            done.push(part);
        }
        let (issue, warning) = or_read_back(written, || async {
            let now = self.fetch_issue(id, &IssueFields::default()).await?;
            Ok(is_done(&now).then_some(now))
        })
        .await?;
        let mut outcome = Outcome::immediate(issue);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// The mutations that an edit takes, each with a word for it.
    async fn changes(
        &self,
        id: &IssueId,
        edit: &EditIssue,
        before: &Issue,
    ) -> Result<Vec<(&'static str, Mutation, Value)>> {
        let node = &before.node_id;
        let mut changes = Vec::new();
        if !says(before, edit) {
            let mut input = Map::from_iter([("id".to_owned(), json!(node))]);
            let title = edit.title.as_deref().map(str::trim);
            for (name, value) in [("title", title), ("body", edit.body.as_deref())] {
                input.extend(value.map(|v| (name.to_owned(), json!(v))));
            }
            changes.push(("text", UPDATE_ISSUE, Value::Object(input)));
        }
        let mut new = edit.labels.add.clone();
        new.retain(|name| !has_label(before, name));
        if !new.is_empty() {
            let found = self.label_ids(&id.repo, &new).await?;
            let ids = unique(found.label_ids(&new));
            let input = json!({ "labelableId": node, "labelIds": ids });
            changes.push(("new labels", ADD_ISSUE_LABELS, input));
        }
        // GitHub refuses to take off a label that is not on it; that one is off already.
        let off = before
            .labels
            .iter()
            .filter(|l| edit.labels.remove.iter().any(|n| is_named(l, n)));
        let off: Vec<&str> = off.map(|l| l.id.as_str()).collect();
        if !off.is_empty() {
            let input = json!({ "labelableId": node, "labelIds": off });
            changes.push(("labels to remove", REMOVE_ISSUE_LABELS, input));
        }
        Ok(changes)
    }
}

/// Whether title and body are as `edit` wants them.
fn says(issue: &Issue, edit: &EditIssue) -> bool {
    let title = edit.title.as_ref().is_none_or(|t| t.trim() == issue.title);
    title && edit.body.as_ref().is_none_or(|b| same_text(&issue.body, b))
}

/// Whether the labels are as `edit` wants them.
fn is_labelled(issue: &Issue, edit: &EditIssue) -> bool {
    let labels = &edit.labels;
    labels.add.iter().all(|name| has_label(issue, name))
        && !labels.remove.iter().any(|name| has_label(issue, name))
}

fn has_label(issue: &Issue, name: &str) -> bool {
    issue.labels.iter().any(|l| is_named(l, name))
}

fn is_named(label: &Label, name: &str) -> bool {
    label.name.to_lowercase() == name.to_lowercase()
}
