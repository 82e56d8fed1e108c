//! Results of writes to an issue.

use std::collections::BTreeMap;

use forge::workflow::put_sizes;
use forge_core::{
    Capability, Error, Outcome, Repo, Result,
    model::{BoardId, EditIssue, Issue, IssueFields, IssueId},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::write_output;
use crate::{
    calls::{CallContext, ToolOutput},
    content::name_of,
    output::{IssueOut, WriteOut},
};

/// Result of a write to an issue.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IssueWritten {
    #[serde(flatten)]
    written: WriteOut,
    /// Pass as expected_version of the next edit
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// Returns the result for an edited or created issue.
pub(super) fn of_issue(
    call: &CallContext,
    did: &str,
    outcome: &Outcome<Issue>,
) -> ToolOutput<IssueWritten> {
    let issue = &outcome.value;
    let mut out = write_output::of_issue(call, &issue.id, did, outcome);
    let shown = IssueOut::of(issue, &call.cleaner);
    out.state = shown.state;
    out.url = Some(shown.url);
    answer(out, Some(issue.version.clone()).filter(|v| !v.is_empty()))
}

/// Returns the result for a comment, with its id and URL unless it was deleted.
pub(super) fn of_comment<T>(
    call: &CallContext,
    issue: &IssueId,
    did: &str,
    (id, url): (&str, &str),
    outcome: &Outcome<T>,
) -> ToolOutput<IssueWritten> {
    let mut out = write_output::of_issue(call, issue, did, outcome);
    out.id = Some(id.to_owned());
    out.url = Some(call.cleaner.line(url));
    answer(out, None)
}

fn answer(out: WriteOut, version: Option<String>) -> ToolOutput<IssueWritten> {
    let ToolOutput { mut text, data } = write_output::answer(out);
    if let Some(version) = &version {
        text.push_str(&format!("\nversion {}", name_of(version)));
    }
    ToolOutput {
        text,
        data: IssueWritten {
            written: data,
            version,
        },
    }
}

pub(super) fn non_blank(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.trim().is_empty())
}

/// Returns the list without blank names.
pub(super) fn names(list: Vec<String>) -> Vec<String> {
    let names = list.into_iter().filter(|name| !name.trim().is_empty());
    names.collect()
}

/// Parses a list of `Field=value`; blank items are skipped.
///
/// # Errors
///
/// Fails with `invalid_input` if an item has no name or no equals sign.
pub(super) fn pairs(list: Vec<String>) -> Result<BTreeMap<String, String>> {
    let mut pairs = BTreeMap::new();
    for pair in names(list) {
        let (name, value) = pair.split_once('=').unwrap_or_default();
        if name.trim().is_empty() {
            let why = format!(
                "'{}' is not of the form Field=value",
                forge_core::text::one_line(&pair)
            );
            return Err(
                Error::invalid("values", why).with_hint("pass each item of values as Field=value")
            );
        }
        if let Some(value) = non_blank(Some(value.trim().to_owned())) {
            pairs.insert(name.trim().to_owned(), value);
        }
    }
    Ok(pairs)
}

/// Returns the board on which fields are read and set, if the forge uses boards.
///
/// # Errors
///
/// Fails with `invalid_input` if the configuration names an invalid board.
pub(super) fn board(call: &CallContext, repo: &Repo) -> Result<Option<BoardId>> {
    let board = call.server.forges().config().workflow_board();
    let board = board.filter(|_| repo.supports(Capability::IssueBoard));
    board.map(|board| board.parse()).transpose()
}

/// Checks the estimate and priority in `edit`, and moves them to the field or label where the
/// workflow stores them. Without a project board, the issue `id` is read first: its label with the
/// old value may have to be removed, and the issue may spell the name of a field differently.
/// Returns true if `edit` now adds a label for one of the values.
///
/// # Errors
///
/// Fails with `invalid_input` (field `estimate` or `priority`) and names the scale.
pub(super) async fn put_values(
    call: &CallContext,
    repo: &Repo,
    id: Option<&IssueId>,
    edit: &mut EditIssue,
) -> Result<bool> {
    if edit.values.is_empty() {
        return Ok(false);
    }
    let labels = edit.labels.add.len();
    let workflow = call.server.forges().workflow(repo).await?;
    let issue = match id.filter(|_| workflow.store().board().is_none()) {
        Some(id) => Some(repo.issue(id, &IssueFields::NONE).await?),
        None => None,
    };
    put_sizes(
        workflow.store(),
        workflow.definition(),
        issue.as_ref(),
        edit,
    )?;
    if edit.values.is_empty() {
        edit.board = None;
    }
    Ok(edit.labels.add.len() > labels)
}

/// Resolves the issues that an argument names.
///
/// # Errors
///
/// Fails as [`CallContext::related`] does.
pub(super) async fn related(
    call: &CallContext,
    repo: &Repo,
    field: &'static str,
    list: Vec<String>,
) -> Result<Vec<IssueId>, Error> {
    let mut ids = Vec::new();
    for named in names(list) {
        ids.push(call.related(repo, field, &named).await?);
    }
    Ok(ids)
}
