//! Mutations of projects and their items.

use super::{Payload, target};
use crate::{
    actions,
    graphql::{Args, Ctx, Fail, Node, Val, node_id},
    state::{EventKind, FieldOption, Id, Project, ProjectField, ProjectItem, State},
};

fn project_target(ctx: &Ctx<'_>, input: &Args, mutation: &str) -> Result<Id, Fail> {
    ctx.check_scope(mutation, &["project"])?;
    match target(ctx, input, "projectId")? {
        Node::Project(id) => Ok(id),
        _ => Err(Fail::not_found("Could not resolve to a ProjectV2.")),
    }
}

fn item_target(ctx: &Ctx<'_>, input: &Args) -> Result<Id, Fail> {
    match target(ctx, input, "itemId")? {
        Node::Item(id) => Ok(id),
        _ => Err(Fail::not_found("Could not resolve to a ProjectV2Item.")),
    }
}

pub(super) fn add(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let project = project_target(ctx, input, "addProjectV2ItemById")?;
    let content = match target(ctx, input, "contentId")? {
        Node::Pull(id) | Node::Issue(id) => id,
        _ => {
            return Err(Fail::unprocessable(
                "The content cannot be added to a project.",
            ));
        }
    };
    let mut state = ctx.state();
    let had = state
        .items
        .values()
        .find(|item| item.project == project && item.content == content)
        .map(|item| item.id);
    let id = match had {
        Some(id) => id,
        None => {
            let id = state.next_id();
            let created_at = state.tick();
            state.items.insert(
                id,
                ProjectItem {
                    id,
                    project,
                    content,
                    values: std::collections::BTreeMap::new(),
                    archived: false,
                    created_at,
                },
            );
            if state.issues.contains_key(&content) {
                let event = EventKind::ProjectAdded(project);
                actions::log(&mut state, content, ctx.viewer, event);
            }
            id
        }
    };
    Ok(vec![("item", Node::Item(id).into())])
}

pub(super) fn delete(ctx: &Ctx<'_>, input: &Args) -> Payload {
    project_target(ctx, input, "deleteProjectV2Item")?;
    let id = item_target(ctx, input)?;
    ctx.state().items.remove(&id);
    Ok(vec![("deletedItemId", node_id(&Node::Item(id)).into())])
}

fn no_field() -> Fail {
    Fail::not_found("Could not resolve to a ProjectV2Field.")
}

fn field_target(ctx: &Ctx<'_>, input: &Args) -> Result<Id, Fail> {
    match target(ctx, input, "fieldId")? {
        Node::Field(id) => Ok(id),
        _ => Err(no_field()),
    }
}

/// Returns the item, the field and the option that the input names.
fn item_and_field(
    ctx: &Ctx<'_>,
    input: &Args,
    mutation: &str,
) -> Result<(ProjectItem, ProjectField), Fail> {
    let project = project_target(ctx, input, mutation)?;
    let item = item_target(ctx, input)?;
    let field = field_target(ctx, input)?;
    let state = ctx.state();
    let item = state.items.get(&item).filter(|it| it.project == project);
    let item = item.ok_or_else(|| Fail::not_found("The item does not exist in the project"))?;
    if item.archived {
        return Err(Fail::unprocessable(
            "The item is archived and cannot be updated",
        ));
    }
    let project = state.projects.get(&project).into_iter();
    let mut fields = project.flat_map(|it| &it.fields);
    let field = fields.find(|it| it.id == field).ok_or_else(no_field)?;
    Ok((item.clone(), field.clone()))
}

pub(super) fn set_field(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (item, field) = item_and_field(ctx, input, "updateProjectV2ItemFieldValue")?;
    let wanted = input
        .object("value")
        .and_then(|value| value.string("singleSelectOptionId"));
    let option = field
        .options
        .iter()
        .find(|it| Some(&it.id) == wanted.as_ref());
    let Some(option) = option else {
        return Err(Fail::unprocessable(
            "The single select option Id does not belong to the field",
        ));
    };
    set_value(ctx, &item, &field, Some(option))
}

pub(super) fn clear_field(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let (item, field) = item_and_field(ctx, input, "clearProjectV2ItemFieldValue")?;
    set_value(ctx, &item, &field, None)
}

fn set_value(
    ctx: &Ctx<'_>,
    item: &ProjectItem,
    field: &ProjectField,
    option: Option<&FieldOption>,
) -> Payload {
    let mut state = ctx.state();
    let before = item.values.get(&field.id);
    if let Some(item) = state.items.get_mut(&item.id) {
        match option {
            Some(option) => item.values.insert(field.id, option.id.clone()),
            None => item.values.remove(&field.id),
        };
    }
    let after = option.map(|it| &it.id);
    if field.name == "Status" && before != after && state.issues.contains_key(&item.content) {
        let name = |id: Option<&String>| {
            let found = field.options.iter().find(|it| Some(&it.id) == id);
            found.map_or_else(String::new, |it| it.name.clone())
        };
        let event = EventKind::StatusChanged(item.project, name(before), name(after));
        actions::log(&mut state, item.content, ctx.viewer, event);
    }
    Ok(vec![("projectV2Item", Node::Item(item.id).into())])
}

/// Returns the options in an input. An option with an existing id replaces that option and keeps
/// its id.
fn options(state: &mut State, input: &Args, had: &[FieldOption]) -> Result<Vec<FieldOption>, Fail> {
    let mut options: Vec<FieldOption> = Vec::new();
    for wanted in input.objects("singleSelectOptions") {
        let name = wanted.string("name").unwrap_or_default();
        if name.trim().is_empty() {
            return Err(Fail::unprocessable("Name can't be blank"));
        }
        if options.iter().any(|it| it.name == name) {
            return Err(Fail::unprocessable("Options must be unique"));
        }
        let known = wanted.string("id");
        if let Some(id) = known
            .as_ref()
            .filter(|id| had.iter().all(|it| it.id != **id))
        {
            return Err(Fail::unprocessable(format!("There is no option {id}")));
        }
        options.push(FieldOption {
            id: known.unwrap_or_else(|| format!("{:08x}", state.next_id())),
            name,
            color: wanted.string("color").unwrap_or_default(),
            description: wanted.string("description").unwrap_or_default(),
        });
    }
    Ok(options)
}

fn field_payload(id: Id) -> Vec<(&'static str, Val)> {
    vec![("projectV2Field", Node::Field(id).into())]
}

pub(super) fn create_field(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let project = project_target(ctx, input, "createProjectV2Field")?;
    let name = input.string("name").unwrap_or_default();
    let kind = input.string("dataType").unwrap_or_default();
    let mut state = ctx.state();
    let taken = |it: &Project| it.field(&name).is_some();
    if state.projects.get(&project).is_some_and(taken) {
        return Err(Fail::unprocessable("Name has already been taken"));
    }
    let options = options(&mut state, input, &[])?;
    if kind == "SINGLE_SELECT" && options.is_empty() {
        return Err(Fail::unprocessable("Single select options can't be blank"));
    }
    let id = state.next_id();
    if let Some(project) = state.projects.get_mut(&project) {
        project.fields.push(ProjectField {
            id,
            name,
            kind,
            options,
        });
    }
    Ok(field_payload(id))
}

/// Replaces the options of a field. Items keep a value if its option remains.
pub(super) fn update_field(ctx: &Ctx<'_>, input: &Args) -> Payload {
    ctx.check_scope("updateProjectV2Field", &["project"])?;
    let id = field_target(ctx, input)?;
    let mut state = ctx.state();
    let mut fields = state.projects.values().flat_map(|it| &it.fields);
    let had = fields.find(|it| it.id == id).map(|it| it.options.clone());
    let given = options(&mut state, input, &had.unwrap_or_default())?;
    let mut fields = state.projects.values_mut().flat_map(|it| &mut it.fields);
    if let Some(field) = fields.find(|it| it.id == id) {
        if let Some(name) = input.string("name") {
            field.name = name;
        }
        if !given.is_empty() {
            field.options.clone_from(&given);
        }
    }
    if !given.is_empty() {
        for item in state.items.values_mut() {
            let gone = |chosen: &String| given.iter().all(|it| it.id != *chosen);
            if item.values.get(&id).is_some_and(gone) {
                item.values.remove(&id);
            }
        }
    }
    Ok(field_payload(id))
}
