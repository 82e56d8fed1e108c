//! Asks on a terminal for the metadata of a new pull request.

use forge_core::{Capability, Repo, Result, text};

use super::{
    draft::Draft,
    edit_prompt::{choose_labels, typed_names},
    shared::has,
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

/// The kinds that the forge supports.
pub(super) fn offered(repo: &Repo) -> Vec<(Capability, &'static str)> {
    let kinds = KINDS.into_iter();
    kinds.filter(|(kind, _)| has(repo, *kind)).collect()
}

/// Asks which kinds to add, then for each kind.
pub(super) async fn ask(repo: &Repo, draft: &mut Draft) -> Result<()> {
    let kinds = offered(repo);
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
