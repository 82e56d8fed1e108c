use std::collections::BTreeMap;

use forge::workflow::with_setup;
use forge_core::{
    Error, Warning,
    model::{EditIssue, IssueFields, IssueReason, IssueState, SetChange},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    issue_write_output::{
        IssueWritten, board, names, non_blank, of_issue, pairs, put_values, related,
    },
    pr_edit::{is_all, remove_all},
};
use crate::{
    calls::{CLEARED, CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec, replacement},
    content::{has_hidden, has_marker},
};

pub(super) struct IssueEdit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueEditInput {
    repo: Option<String>,
    issue: String,
    title: Option<String>,
    body: Option<String>,
    state: Option<IssueEditState>,
    reason: Option<Reason>,
    #[serde(default)]
    add_labels: Vec<String>,
    #[serde(default)]
    remove_labels: Vec<String>,
    #[serde(default)]
    add_assignees: Vec<String>,
    #[serde(default)]
    remove_assignees: Vec<String>,
    parent: Option<String>,
    #[serde(default)]
    blocked_by: Vec<String>,
    /// Field=value
    #[serde(default)]
    values: Vec<String>,
    expected_version: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IssueEditState {
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reason {
    Completed,
    NotPlanned,
    Duplicate,
}

impl Tool for IssueEdit {
    const SPEC: ToolSpec = ToolSpec {
        name: "issue_edit",
        title: "Edit an issue",
        description: "Edits; \"-\" clears body, parent, value, all in remove_*; \"-#1\" a blocker. \
                      Recovery: issue_view.",
        effect: ToolEffect::Replace,
    };
    type Args = IssueEditInput;
    type Out = IssueWritten;

    async fn run(
        call: &CallContext,
        args: IssueEditInput,
    ) -> Result<ToolOutput<IssueWritten>, ToolError> {
        let target = call
            .issue(non_blank(args.repo).as_deref(), &args.issue)
            .await?;
        let repo = &target.repo;
        let reason = args.reason.map(|reason| match reason {
            Reason::Completed => IssueReason::Completed,
            Reason::NotPlanned => IssueReason::NotPlanned,
            Reason::Duplicate => IssueReason::Duplicate,
        });
        let state = args.state.map(|state| match state {
            IssueEditState::Open => IssueState::Open,
            IssueEditState::Closed => IssueState::Closed,
        });
        if reason.is_some() && state.is_none() {
            return Err(Error::invalid("reason", "a reason is only for closing")
                .with_hint("pass state=closed with it, or omit reason")
                .into());
        }
        // Clients in a strict mode send a value for every argument. Even an edit of the title then
        // comes with a reason and with the state `open`, the first choice. That state must not
        // reopen a closed issue.
        let ignores_state = reason.is_some() && state == Some(IssueState::Open);
        if ignores_state {
            let issue = repo.issue(&target.id, &IssueFields::NONE).await?;
            if issue.state == IssueState::Closed {
                let message = "a reason is only for closing, and the issue is closed already";
                return Err(Error::invalid("reason", message)
                    .with_hint("omit reason to reopen the issue; omit both to keep it closed")
                    .into());
            }
        }
        let parent = match non_blank(args.parent).as_deref() {
            None => None,
            Some(CLEARED) => Some(None),
            Some(parent) => Some(Some(call.related(repo, "parent", parent).await?)),
        };
        let values = pairs(args.values)?.into_iter();
        let values = values.map(|(name, value)| (name, Some(value).filter(|v| v != CLEARED)));
        let values: BTreeMap<String, Option<String>> = values.collect();
        let (mut blockers, mut unblocked) = (Vec::new(), Vec::new());
        for named in names(args.blocked_by) {
            // A leading `-` marks a removal. No number or locator begins with `-`.
            match named.trim().strip_prefix('-') {
                None => blockers.push(named),
                Some("") => return Err(no_blocker().into()),
                Some(issue) => unblocked.push(issue.to_owned()),
            }
        }
        let mut edit = EditIssue::default();
        edit.title = non_blank(args.title);
        edit.body = non_blank(args.body).map(replacement);
        edit.labels = SetChange {
            add: names(args.add_labels),
            remove: names(args.remove_labels),
        };
        edit.assignees = SetChange {
            add: names(args.add_assignees),
            remove: names(args.remove_assignees),
        };
        edit.board = board(call, repo)?.filter(|_| !values.is_empty());
        edit.values = values;
        edit.parent = parent;
        edit.blocked_by = SetChange {
            add: related(call, repo, "blocked_by", blockers).await?,
            remove: related(call, repo, "blocked_by", unblocked).await?,
        };
        edit.state = state.filter(|_| !ignores_state);
        edit.reason = reason.filter(|_| !ignores_state);
        edit.expected_version = non_blank(args.expected_version);
        let [all_labels, all_assignees] =
            [&edit.labels.remove, &edit.assignees.remove].map(|names| is_all(names));
        if all_labels || all_assignees {
            let issue = repo.issue(&target.id, &IssueFields::NONE).await?;
            if all_labels {
                remove_all(&mut edit.labels, issue.labels.into_iter().map(|l| l.name));
            }
            if all_assignees {
                remove_all(
                    &mut edit.assignees,
                    issue.assignees.into_iter().map(|a| a.login),
                );
            }
        }
        if changes_nothing(&edit) && !ignores_state {
            return Err(Error::invalid("title", "there is nothing to change")
                .with_hint(
                    "pass title, body, state, values, or labels, assignees, parent or blocked_by; an \
                     empty value counts as absent, and '-' clears body or parent",
                )
                .into());
        }
        let labelled = put_values(call, repo, Some(&target.id), &mut edit).await?;
        if edit.body.as_deref().is_some_and(has_marker) {
            let stored = repo.issue(&target.id, &IssueFields::NONE).await?;
            if has_hidden(&stored.body) {
                return Err(Error::invalid(
                    "body",
                    "cannot edit the body: it contains a marker of removed text (such as \
                    `[html comment removed: …]`), which would overwrite the hidden text",
                )
                .with_hint("remove the marker to replace the whole body, or omit body")
                .into());
            }
        }
        let edited = repo.edit_issue(&target.id, &edit).await;
        let mut outcome = edited.map_err(|e| if labelled { with_setup(e) } else { e })?;
        if ignores_state {
            let message = "state and reason were ignored: the issue is open, and only \
                           state=closed takes a reason";
            outcome.warnings.push(Warning::new(message));
        }
        Ok(of_issue(call, "edited", &outcome))
    }
}

fn no_blocker() -> Error {
    Error::invalid("blocked_by", "'-' names no issue")
        .with_hint("to remove a blocker, put '-' before it, as in -#1")
}

fn changes_nothing(edit: &EditIssue) -> bool {
    edit.title.is_none()
        && edit.body.is_none()
        && edit.labels.is_empty()
        && edit.assignees.is_empty()
        && edit.values.is_empty()
        && edit.parent.is_none()
        && edit.blocked_by.is_empty()
        && edit.state.is_none()
}
