//! Items of projects.

use super::{Payload, target};
use crate::github::{
    graphql::{Args, Ctx, Fail, Node, node_id},
    resolve::option_id,
    state::{Id, ProjectItem},
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
                    status: None,
                    created_at,
                },
            );
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

pub(super) fn set_field(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let project = project_target(ctx, input, "updateProjectV2ItemFieldValue")?;
    let id = item_target(ctx, input)?;
    let wanted = input
        .object("value")
        .and_then(|value| value.string("singleSelectOptionId"));
    let mut state = ctx.state();
    let options = state
        .projects
        .get(&project)
        .map_or(0, |it| it.options.len());
    let index = (0..options).find(|index| Some(option_id(project, *index)) == wanted);
    let Some(index) = index else {
        return Err(Fail::unprocessable(
            "The single select option Id does not belong to the field",
        ));
    };
    if let Some(item) = state.items.get_mut(&id) {
        item.status = Some(index);
    }
    Ok(vec![("projectV2Item", Node::Item(id).into())])
}
