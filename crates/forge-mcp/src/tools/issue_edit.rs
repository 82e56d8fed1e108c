use std::collections::BTreeMap;

use forge_core::{
    Error,
    model::{EditIssue, IssueFields, IssueReason, IssueState, SetChange},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::issue_written::{IssueWritten, board, given, names, of_issue, related};
use crate::{
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    content::{has_comments, has_marker},
};

pub(super) struct IssueEdit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    issue: String,
    title: Option<String>,
    /// Replaces the body
    body: Option<String>,
    state: Option<State>,
    /// Why it is closed
    reason: Option<Reason>,
    /// To leave with it
    comment: Option<String>,
    #[serde(default)]
    add_labels: Vec<String>,
    #[serde(default)]
    remove_labels: Vec<String>,
    #[serde(default)]
    add_assignees: Vec<String>,
    #[serde(default)]
    remove_assignees: Vec<String>,
    /// Number or URL
    parent: Option<String>,
    #[serde(default)]
    remove_parent: bool,
    #[serde(default)]
    add_blocked_by: Vec<String>,
    #[serde(default)]
    remove_blocked_by: Vec<String>,
    /// Field to value
    #[serde(default)]
    values: BTreeMap<String, String>,
    #[serde(default)]
    clear_values: Vec<String>,
    expected_version: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
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
    const SPEC: Spec = Spec {
        name: "issue_edit",
        title: "Edit an issue",
        description: "Changes what is named, leaves the rest; closes and reopens too. Pass \
                      expected_version of issue_view. Recovery: after a conflict read issue_view \
                      and decide anew.",
        // A comment is left once more by the same call.
        effect: Effect::Replace,
    };
    type Args = Args;
    type Out = IssueWritten;

    async fn run(call: &Call, args: Args) -> Result<Answer<IssueWritten>, Stop> {
        let target = call.issue(given(args.repo).as_deref(), &args.issue).await?;
        let repo = &target.repo;
        let reason = args.reason.map(|reason| match reason {
            Reason::Completed => IssueReason::Completed,
            Reason::NotPlanned => IssueReason::NotPlanned,
            Reason::Duplicate => IssueReason::Duplicate,
        });
        let state = args.state.map(|state| match state {
            State::Open => IssueState::Open,
            State::Closed => IssueState::Closed,
        });
        if reason.is_some() && state != Some(IssueState::Closed) {
            return Err(Error::invalid("reason", "a reason is that of closing")
                .with_hint("pass state=closed with it, or leave reason away")
                .into());
        }
        let parent = match (given(args.parent), args.remove_parent) {
            (Some(_), true) => {
                return Err(
                    Error::invalid("parent", "parent and remove_parent are both given")
                        .with_hint("pass one of them")
                        .into(),
                );
            }
            (Some(parent), false) => Some(Some(call.related(repo, "parent", &parent).await?)),
            (None, removed) => removed.then_some(None),
        };
        let set = args.values.into_iter();
        let set = set.filter(|(_, value)| !value.trim().is_empty());
        let cleared = names(args.clear_values).into_iter();
        let mut values: BTreeMap<String, Option<String>> =
            set.map(|(name, value)| (name, Some(value))).collect();
        for name in cleared {
            if values.insert(name.clone(), None).is_some() {
                let message = format!("{name} is in values and in clear_values");
                return Err(Error::invalid("clear_values", message)
                    .with_hint("name it once")
                    .into());
            }
        }
        let edit = EditIssue {
            title: given(args.title),
            body: given(args.body),
            labels: SetChange {
                add: names(args.add_labels),
                remove: names(args.remove_labels),
            },
            assignees: SetChange {
                add: names(args.add_assignees),
                remove: names(args.remove_assignees),
            },
            board: board(call, repo)?.filter(|_| !values.is_empty()),
            values,
            parent,
            blocked_by: SetChange {
                add: related(call, repo, "add_blocked_by", args.add_blocked_by).await?,
                remove: related(call, repo, "remove_blocked_by", args.remove_blocked_by).await?,
            },
            state,
            reason,
            comment: given(args.comment),
            expected_version: given(args.expected_version),
        };
        if changes_nothing(&edit) {
            return Err(Error::invalid("title", "there is nothing to change")
                .with_hint("pass title, body, state, comment, values, or labels, assignees, parent or blocked_by")
                .into());
        }
        if edit.body.as_deref().is_some_and(has_marker) {
            let stored = repo.issue(&target.id, &IssueFields::NONE).await?;
            if has_comments(&stored.body) {
                return Err(Error::invalid(
                    "body",
                    "it has the marker of an HTML comment, which would be lost",
                )
                .with_hint("leave the marker out to replace all of it, or leave body away")
                .into());
            }
        }
        let outcome = repo.edit_issue(&target.id, &edit).await?;
        Ok(of_issue(call, "edited", &outcome))
    }
}

fn changes_nothing(edit: &EditIssue) -> bool {
    let texts = [&edit.title, &edit.body, &edit.comment];
    texts.iter().all(|text| text.is_none())
        && edit.labels.is_empty()
        && edit.assignees.is_empty()
        && edit.values.is_empty()
        && edit.parent.is_none()
        && edit.blocked_by.is_empty()
        && edit.state.is_none()
}
