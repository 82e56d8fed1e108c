use forge_core::{
    Action, Capability, Error, Hint, Op, Outcome, Param, Retry,
    model::{EditPull, PrFields, PullRequest, Reviewer, SetChange},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{confirmation::require_supported, reviewers};
use crate::{
    calls::{CLEARED, CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec, replacement},
    content::{has_hidden, has_marker},
};

pub(super) struct PrEdit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrEditInput {
    repo: Option<String>,
    number: String,
    title: Option<String>,
    /// Replaces the description
    body: Option<String>,
    append: Option<String>,
    base: Option<String>,
    draft: Option<DraftState>,
    #[serde(default)]
    add_labels: Vec<String>,
    #[serde(default)]
    remove_labels: Vec<String>,
    #[serde(default)]
    add_reviewers: Vec<String>,
    #[serde(default)]
    remove_reviewers: Vec<String>,
    #[serde(default)]
    add_assignees: Vec<String>,
    #[serde(default)]
    remove_assignees: Vec<String>,
}

// Not a boolean: some clients send false for an unset argument. (A doc comment would become part of
// the schema.)
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum DraftState {
    Draft,
    Ready,
}

impl DraftState {
    pub fn is_draft(self) -> bool {
        self == Self::Draft
    }
}

impl Tool for PrEdit {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_edit",
        title: "Edit a pull request",
        description: "Changes the given fields; \"-\" empties body; remove_*: [\"-\"] removes all. \
                      Prefer append: body drops HTML comments, which pr_view hides. To close: \
                      pr_set_state.",
        // A repeated call with `append` adds the text again, so the tool is not idempotent.
        effect: ToolEffect::Replace,
    };
    type Args = PrEditInput;
    type Out = reviewers::ReviewersOut;

    async fn run(
        call: &CallContext,
        args: PrEditInput,
    ) -> Result<ToolOutput<reviewers::ReviewersOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        // The draft state is changed last, but its capability is checked here, before any write.
        if args.draft.is_some() {
            require_supported(&target.repo, &[Capability::PrDraft])?;
        }
        let people = |names: &[String]| names.iter().map(|n| Reviewer::parse(n)).collect();
        let mut edit = EditPull::default();
        edit.title = args.title;
        edit.description = args.body.map(replacement);
        edit.base = args.base;
        edit.labels = SetChange {
            add: args.add_labels,
            remove: args.remove_labels,
        };
        edit.assignees = SetChange {
            add: args.add_assignees,
            remove: args.remove_assignees,
        };
        edit.reviewers = SetChange {
            add: people(&args.add_reviewers),
            remove: people(&args.remove_reviewers),
        };
        let removed = [
            &args.remove_reviewers,
            &edit.labels.remove,
            &edit.assignees.remove,
        ];
        let [all_reviewers, all_labels, all_assignees] = removed.map(|names| is_all(names));
        if all_reviewers || all_labels || all_assignees {
            let pull = target.repo.pull(&target.id, PrFields::NONE).await?;
            if all_labels {
                remove_all(&mut edit.labels, pull.labels.into_iter().map(|l| l.name));
            }
            if all_assignees {
                remove_all(
                    &mut edit.assignees,
                    pull.assignees.into_iter().map(|a| a.login),
                );
            }
            if all_reviewers {
                remove_all(&mut edit.reviewers, pull.pending_reviewers);
            }
        }
        if edit.description.as_deref().is_some_and(has_marker) {
            let stored = target.repo.pull(&target.id, PrFields::NONE).await?;
            if has_hidden(&stored.description) {
                return Err(lost_parts_error().into());
            }
        }
        if let Some(more) = &args.append {
            if edit.description.is_some() {
                return Err(Error::invalid("append", "body and append are both given")
                    .with_hint("pass body to replace the description, or append to add to it")
                    .into());
            }
            let pull = target.repo.pull(&target.id, PrFields::NONE).await?;
            // Makes the edit fail if the description changes after this read.
            edit.expected_version = Some(pull.version);
            edit.description = Some(match pull.description.trim_end() {
                "" => more.clone(),
                before => format!("{before}\n\n{more}"),
            });
        }
        let mut outcome: Option<Outcome<PullRequest>> = None;
        // The text names the new draft state. A client may have sent `false` only to fill the
        // argument; the text then tells it that it has published the draft.
        let did = match (edit.is_empty(), args.draft) {
            (_, None) => "edited",
            (true, Some(DraftState::Draft)) => "marked as draft",
            (true, Some(DraftState::Ready)) => "marked as ready for review",
            (false, Some(DraftState::Draft)) => "edited, marked as draft",
            (false, Some(DraftState::Ready)) => "edited, marked as ready for review",
        };
        if !edit.is_empty() {
            outcome = Some(target.repo.edit_pull(&target.id, &edit).await?);
        }
        if let Some(draft) = args.draft.map(DraftState::is_draft) {
            let before = outcome.take();
            let mut after = match target.repo.set_draft(&target.id, draft).await {
                Ok(after) => after,
                Err(e) if before.is_some() => return Err(partial_failure(e, draft).into()),
                Err(e) => return Err(e.into()),
            };
            if let Some(mut before) = before {
                after.ingestion = before.ingestion.combine(after.ingestion);
                after.already &= before.already;
                after.unchanged &= before.unchanged;
                before.steps.append(&mut after.steps);
                after.steps = before.steps;
                before.warnings.append(&mut after.warnings);
                after.warnings = before.warnings;
            }
            outcome = Some(after);
        }
        match outcome {
            Some(outcome) => Ok(reviewers::answer(call, did, &edit.reviewers.add, &outcome)),
            None => Err(Error::invalid("title", "there is nothing to change")
                .with_hint("pass title, body, append, base, draft, or labels, reviewers or assignees to add or remove; an empty value counts as absent, and '-' clears body")
                .into()),
        }
    }
}

/// Returns true if a list contains `-`, which means all current items.
pub(super) fn is_all(names: &[String]) -> bool {
    names.iter().any(|name| name.trim() == CLEARED)
}

/// Removes all current items from a set, except the items to add.
pub(super) fn remove_all<T: PartialEq>(
    change: &mut SetChange<T>,
    now: impl IntoIterator<Item = T>,
) {
    let now = now.into_iter().filter(|one| !change.add.contains(one));
    change.remove = now.collect();
}

/// Returns the error for a new description that contains markers. A marker stands for a hidden part
/// of the old description, which would be lost if the marker were written.
fn lost_parts_error() -> Error {
    let message = "cannot edit the body: it contains a marker of removed text (such as \
    `[html comment removed: …]`), which would overwrite the hidden text";
    Error::invalid("body", message).with_hint(
        "pass only the new text, as append; to replace the whole body, remove the marker",
    )
}

/// Converts the error of a call that has written all changes except the draft state. The hint
/// repeats only the change of the draft state, because the whole call would repeat the written
/// changes.
fn partial_failure(e: Error, draft: bool) -> Error {
    let more = e.hint().map_or(String::new(), |hint| format!("; {hint}"));
    let hint = Hint::from(format!(
        "all other changes are written: set draft alone{more}"
    ));
    let set = Action::op(Op::PrSetDraft).with(Param::Draft, draft.to_string());
    e.with_retry(Retry::Never).with_hint(hint.with_action(set))
}
