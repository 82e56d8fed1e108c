//! The menu of `forge pr edit`. It opens on a terminal if no flag requests a change.

use forge_core::{
    Capability, Repo, Result,
    model::{EditPull, PrFields, PullRequest, Reviewer, SetChange},
    text,
};

use super::shared::{has, names, reviewers};
use crate::{
    cmd::pages,
    ctx::Ctx,
    ui::{editor, prompt},
};

#[derive(Clone, Copy)]
enum MenuItem {
    Title,
    Body,
    Reviewers,
    Assignees,
    Labels,
    Projects,
    Milestone,
}

/// The menu items in gh's order, each with the capability that it needs.
const ITEMS: [(MenuItem, &str, Option<Capability>); 7] = [
    (MenuItem::Title, "Title", None),
    (MenuItem::Body, "Body", None),
    (
        MenuItem::Reviewers,
        "Reviewers",
        Some(Capability::PrReviewers),
    ),
    (
        MenuItem::Assignees,
        "Assignees",
        Some(Capability::PrAssignees),
    ),
    (MenuItem::Labels, "Labels", Some(Capability::PrLabels)),
    (MenuItem::Projects, "Projects", Some(Capability::PrProjects)),
    (
        MenuItem::Milestone,
        "Milestone",
        Some(Capability::PrMilestone),
    ),
];

/// Returns the optional parts of the pull request that [`ask_edits`] needs.
pub(super) fn fields(repo: &Repo) -> PrFields {
    match has(repo, Capability::PrProjects) {
        true => PrFields::PROJECTS,
        false => PrFields::NONE,
    }
}

/// Asks what to edit, then for each new value, then for confirmation.
///
/// # Errors
///
/// `cancelled` if the user cancels; other kinds if the terminal, the editor or the labels are not
/// usable.
pub(super) async fn ask_edits(ctx: &Ctx, repo: &Repo, pull: &PullRequest) -> Result<EditPull> {
    let can = |needs: &Option<Capability>| needs.is_none_or(|capability| has(repo, capability));
    let items: Vec<(MenuItem, &str)> = ITEMS
        .iter()
        .filter(|(_, _, needs)| can(needs))
        .map(|(item, title, _)| (*item, *title))
        .collect();
    let menu: Vec<(&str, bool)> = items.iter().map(|(_, title)| (*title, false)).collect();
    let chosen = prompt::choose_many("What would you like to edit?", &menu)?;
    let mut edit = EditPull::default();
    for (item, _) in chosen.into_iter().filter_map(|at| items.get(at)) {
        match item {
            MenuItem::Title => edit.title = title(pull)?,
            MenuItem::Body => {
                let editor = ctx.config()?.editor();
                let written = editor::edit(editor.as_deref(), &pull.description)?;
                edit.description = (written != pull.description).then_some(written);
            }
            MenuItem::Reviewers => edit.reviewers = reviewers_of(pull)?,
            MenuItem::Assignees => {
                let before = pull.assignees.iter().map(|a| a.login.clone()).collect();
                edit.assignees = list("Assignees", before)?;
            }
            MenuItem::Labels => edit.labels = labels(repo, pull).await?,
            MenuItem::Projects => {
                let before = pull.projects.iter().flatten().map(|p| p.title.clone());
                edit.projects = list("Projects", before.collect())?;
            }
            MenuItem::Milestone => edit.milestone = milestone(pull)?,
        }
    }
    if edit.title.is_some() || edit.description.is_some() {
        edit.expected_version = Some(pull.version.clone());
    }
    if !edit.is_empty() {
        prompt::submit()?;
    }
    Ok(edit)
}

fn title(pull: &PullRequest) -> Result<Option<String>> {
    let before = text::one_line(&pull.title);
    let title = prompt::line("Title", &before)?;
    Ok((title != before).then_some(title))
}

fn milestone(pull: &PullRequest) -> Result<Option<Option<String>>> {
    let before = pull.milestone.as_ref().map_or("", |m| &m.title);
    let before = text::one_line(before);
    let typed = prompt::edit_line("Milestone (empty for none)", &before)?;
    let title = typed.trim();
    Ok((title != before).then(|| Some(title.to_owned()).filter(|t| !t.is_empty())))
}

fn reviewers_of(pull: &PullRequest) -> Result<SetChange<Reviewer>> {
    let asked = &pull.pending_reviewers;
    let before = asked.iter().map(|r| r.handle().to_owned()).collect();
    let SetChange { add, remove } = list("Reviewers", before)?;
    Ok(SetChange {
        add: reviewers(&add),
        remove: reviewers(&remove),
    })
}

/// Asks for a list of names on one line.
fn list(question: &str, before: Vec<String>) -> Result<SetChange<String>> {
    let after = typed_names(question, &before)?;
    Ok(change(before, after))
}

/// Asks for names on one line. The input initially contains the names of `before`.
pub(super) fn typed_names(question: &str, before: &[String]) -> Result<Vec<String>> {
    let shown: Vec<String> = before.iter().map(|name| quoted(name)).collect();
    let question = format!("{question} (with commas between them)");
    let typed = prompt::edit_line(&question, &text::one_line(&shown.join(",")))?;
    Ok(parse(&typed))
}

/// Quotes a name as [`parse`] expects it.
fn quoted(name: &str) -> String {
    match name.contains(',') || name.starts_with('"') {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

/// Parses names separated by commas and optional spaces.
fn parse(typed: &str) -> Vec<String> {
    let pieces: Vec<String> = typed
        .split(',')
        .map(|piece| match piece.trim_start() {
            name if name.starts_with('"') => name.to_owned(),
            _ => piece.to_owned(),
        })
        .collect();
    let mut found: Vec<String> = names(&pieces).iter().map(|n| n.trim().to_owned()).collect();
    found.retain(|name| !name.is_empty());
    found
}

fn change(before: Vec<String>, after: Vec<String>) -> SetChange<String> {
    let missing = |from: &[String], name: &String| {
        let shown = text::one_line(name);
        !from.iter().any(|other| text::one_line(other) == shown)
    };
    SetChange {
        add: after
            .iter()
            .filter(|n| missing(&before, n))
            .cloned()
            .collect(),
        remove: before
            .iter()
            .filter(|n| missing(&after, n))
            .cloned()
            .collect(),
    }
}

async fn labels(repo: &Repo, pull: &PullRequest) -> Result<SetChange<String>> {
    let before: Vec<String> = pull.labels.iter().map(|l| l.name.clone()).collect();
    let after = choose_labels(repo, &before).await?;
    Ok(change(before, after))
}

/// Asks for labels of the repository. The labels of `before` are preselected.
pub(super) async fn choose_labels(repo: &Repo, before: &[String]) -> Result<Vec<String>> {
    let mut all = before.to_vec();
    for label in pages::all(repo, async |page| repo.labels(page).await).await? {
        if !all.contains(&label.name) {
            all.push(label.name);
        }
    }
    all.sort_by_key(|name| name.to_lowercase());
    if all.is_empty() {
        return typed_names("Labels", before);
    }
    let shown: Vec<String> = all.iter().map(|n| text::one_line(n).into_owned()).collect();
    let menu: Vec<(&str, bool)> = shown
        .iter()
        .zip(&all)
        .map(|(shown, name)| (shown.as_str(), before.contains(name)))
        .collect();
    let chosen = prompt::choose_many("Labels", &menu)?;
    let chosen = chosen.into_iter().filter_map(|at| all.get(at).cloned());
    Ok(chosen.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_names_become_additions_and_removals() {
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let before = names(&["ada", "good, first"]);
        for (typed, add, remove) in [
            ("ada,\"good, first\"", &[][..], &[][..]),
            (" ada , \"good, first\", grace,", &["grace"], &[]),
            ("", &[], &["ada", "good, first"]),
            ("grace", &["grace"], &["ada", "good, first"]),
        ] {
            let change = change(before.clone(), parse(typed));
            assert_eq!(change.add, names(add), "{typed}");
            assert_eq!(change.remove, names(remove), "{typed}");
        }
        assert_eq!(
            parse(
                &before
                    .iter()
                    .map(|n| quoted(n))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            before
        );
    }
}
