//! Mutations of labels, and of the labels on issues and pull requests.

use super::{Payload, ids_of, repo_target, subject, target, touch};
use crate::{
    actions,
    graphql::{Args, Ctx, Fail, Node, Val},
    state::{EventKind, Id, Label, Permission},
};

fn label_ids(ctx: &Ctx<'_>, input: &Args) -> Result<Vec<Id>, Fail> {
    let ids = input.strings("labelIds").unwrap_or_default();
    ids_of(ctx, &ids, |node| match node {
        Node::Label(id) => Some(*id),
        _ => None,
    })
}

pub(super) fn add(ctx: &Ctx<'_>, input: &Args) -> Payload {
    change(ctx, input, "AddLabelsToLabelable", |labels, id| {
        let new = !labels.contains(&id);
        if new {
            labels.push(id);
        }
        new.then_some(EventKind::Labeled(id))
    })
}

pub(super) fn remove(ctx: &Ctx<'_>, input: &Args) -> Payload {
    change(ctx, input, "RemoveLabelsFromLabelable", |labels, id| {
        let had = labels.contains(&id);
        labels.retain(|it| *it != id);
        had.then_some(EventKind::Unlabeled(id))
    })
}

fn change(
    ctx: &Ctx<'_>,
    input: &Args,
    mutation: &str,
    apply: impl Fn(&mut Vec<Id>, Id) -> Option<EventKind>,
) -> Payload {
    let node = target(ctx, input, "labelableId")?;
    let (repo, _) = subject(ctx, &node)?;
    ctx.require(repo, Permission::Triage, mutation)?;
    let ids = label_ids(ctx, input)?;
    {
        let mut state = ctx.state();
        for id in ids {
            match &node {
                Node::Pull(pull) => {
                    let event = state
                        .pulls
                        .get_mut(pull)
                        .and_then(|pull| apply(&mut pull.labels, id));
                    if let Some(event) = event {
                        actions::log(&mut state, *pull, ctx.viewer, event);
                    }
                }
                Node::Issue(issue) => {
                    let event = state
                        .issues
                        .get_mut(issue)
                        .and_then(|issue| apply(&mut issue.labels, id));
                    if let Some(event) = event {
                        actions::log(&mut state, *issue, ctx.viewer, event);
                    }
                }
                _ => {}
            }
        }
    }
    touch(ctx, &node);
    Ok(vec![("labelable", node.into())])
}

pub(super) fn create(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let repo = repo_target(ctx, input, "repositoryId")?;
    ctx.require(repo, Permission::Write, "CreateLabel")?;
    let name = input.string("name").unwrap_or_default();
    let mut state = ctx.state();
    let twin = state
        .labels
        .values()
        .any(|label| label.repo == repo && label.name.eq_ignore_ascii_case(&name));
    if twin {
        return Err(Fail::unprocessable("Name has already been taken"));
    }
    let id = state.next_id();
    let created_at = state.tick();
    state.labels.insert(
        id,
        Label {
            id,
            repo,
            name,
            color: input.string("color").unwrap_or_default(),
            description: input.string("description"),
            created_at,
        },
    );
    Ok(vec![("label", Node::Label(id).into())])
}

fn own_label(ctx: &Ctx<'_>, input: &Args, mutation: &str) -> Result<Id, Fail> {
    let Node::Label(id) = target(ctx, input, "id")? else {
        return Err(Fail::not_found("Could not resolve to a Label."));
    };
    let repo = ctx.state().labels.get(&id).map(|label| label.repo);
    ctx.require(repo.unwrap_or_default(), Permission::Write, mutation)?;
    Ok(id)
}

pub(super) fn update(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = own_label(ctx, input, "UpdateLabel")?;
    let mut state = ctx.state();
    if let Some(label) = state.labels.get_mut(&id) {
        if let Some(name) = input.string("name") {
            label.name = name;
        }
        if let Some(color) = input.string("color") {
            label.color = color;
        }
        if input.has("description") {
            label.description = input.string("description");
        }
    }
    Ok(vec![("label", Node::Label(id).into())])
}

pub(super) fn delete(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = own_label(ctx, input, "DeleteLabel")?;
    let mut state = ctx.state();
    state.labels.remove(&id);
    for pull in state.pulls.values_mut() {
        pull.labels.retain(|label| *label != id);
    }
    for issue in state.issues.values_mut() {
        issue.labels.retain(|label| *label != id);
    }
    Ok(Vec::<(&'static str, Val)>::new())
}
