//! Asks on a terminal for the metadata of a new pull request.

use forge_core::{Capability, Error, ErrorKind, Repo, Result, model::CreatePull, text};

use super::{
    draft::PullDraft,
    edit_prompt::{choose_labels, typed_names},
    shared::{has, reviewers},
};
use crate::ui::prompt;

/// The kinds of metadata, in gh's order.
const KINDS: [(Capability, &str); 5] = [
    (Capability::PrReviewers, "Reviewers"),
    (Capability::PrAssignees, "Assignees"),
    (Capability::PrLabels, "Labels"),
    (Capability::PrProjects, "Projects"),
    (Capability::PrMilestone, "Milestone"),
];

/// Returns the kinds that the forge supports.
pub(super) fn supported_kinds(repo: &Repo) -> Vec<(Capability, &'static str)> {
    let kinds = KINDS.into_iter();
    kinds.filter(|(kind, _)| has(repo, *kind)).collect()
}

/// Asks which kinds of metadata to add, then for the names of each kind.
pub(super) async fn ask_metadata(repo: &Repo, draft: &mut PullDraft) -> Result<()> {
    let kinds = supported_kinds(repo);
    let titles: Vec<(&str, bool)> = kinds.iter().map(|(_, title)| (*title, false)).collect();
    let chosen = prompt::choose_many("What would you like to add?", &titles)?;
    for (kind, title) in chosen.into_iter().filter_map(|at| kinds.get(at)) {
        let list = match kind {
            Capability::PrReviewers => &mut draft.reviewers,
            Capability::PrAssignees => &mut draft.assignees,
            Capability::PrLabels => {
                draft.labels = choose_labels(repo, &draft.labels).await?;
                continue;
            }
            Capability::PrProjects => &mut draft.projects,
            _ => {
                let now = draft.milestone.clone().unwrap_or_default();
                let typed = prompt::line(title, &text::one_line(&now))?;
                draft.milestone = (!typed.is_empty()).then_some(typed);
                continue;
            }
        };
        *list = typed_names(title, list)?;
    }
    Ok(())
}

/// Returns the metadata field whose names the forge refused. Such an error means that nothing was
/// created.
pub(super) fn refused(e: &Error) -> Option<&'static str> {
    const FIELDS: [&str; 5] = ["assignees", "labels", "milestone", "projects", "reviewers"];
    match e.kind() {
        ErrorKind::InvalidInput { field: Some(field) } if FIELDS.contains(field) => Some(*field),
        _ => None,
    }
}

/// Asks again for the names of `field`, which [`refused`] returned.
pub(super) fn correct(field: &str, req: &mut CreatePull) -> Result<()> {
    match field {
        "assignees" => req.assignees = typed_names("Assignees", &req.assignees)?,
        "labels" => req.labels = typed_names("Labels", &req.labels)?,
        "projects" => req.projects = typed_names("Projects", &req.projects)?,
        "reviewers" => {
            let before = req.reviewers.iter().map(|r| r.handle().to_owned());
            let before: Vec<String> = before.collect();
            req.reviewers = reviewers(&typed_names("Reviewers", &before)?);
        }
        _ => {
            let before = req.milestone.clone().unwrap_or_default();
            let question = "Milestone (empty for none)";
            let typed = prompt::edit_line(question, &text::one_line(&before))?;
            req.milestone = Some(typed.trim().to_owned()).filter(|title| !title.is_empty());
        }
    }
    Ok(())
}
