//! Projects and their items.

use super::common;
use crate::github::{
    graphql::{Args, Ctx, Fail, Node, Resolved, Val, account_node, node_id},
    state::Id,
};

/// Scopes of which a classic token needs one to read projects.
pub(super) const SCOPES: &[&str] = &["read:project", "project"];

pub(super) fn of_owner(ctx: &Ctx<'_>, owner: Id, name: &str, args: &Args) -> Resolved {
    ctx.check_scope(name, SCOPES)?;
    let state = ctx.state();
    let mut projects: Vec<_> = state
        .projects
        .values()
        .filter(|project| project.owner == owner)
        .collect();
    if name == "projectV2" {
        let number = args.int("number").unwrap_or_default();
        let found = projects
            .into_iter()
            .find(|project| i64::try_from(project.number) == Ok(number));
        return match found {
            Some(project) => Ok(Some(Node::Project(project.id).into())),
            None => Err(Fail::not_found(format!(
                "Could not resolve to a ProjectV2 with the number {number}."
            ))),
        };
    }
    let wanted = args.str("query").unwrap_or_default();
    let open_only = wanted.split_whitespace().any(|word| word == "is:open");
    let words: Vec<String> = wanted
        .split_whitespace()
        .filter(|word| !word.contains(':'))
        .map(str::to_lowercase)
        .collect();
    projects.retain(|project| {
        !(open_only && project.closed)
            && words
                .iter()
                .all(|word| project.title.to_lowercase().contains(word.as_str()))
    });
    common::sort_by(&mut projects, args, |project, field| match field {
        "TITLE" => project.title.to_lowercase(),
        _ => common::sortable(project.number),
    });
    Ok(Some(Val::connection(
        projects
            .into_iter()
            .map(|project| Node::Project(project.id)),
    )))
}

/// The project items of an issue or a pull request.
pub(super) fn items_of(ctx: &Ctx<'_>, content: Id) -> Result<Val, Fail> {
    ctx.check_scope("projectItems", SCOPES)?;
    let state = ctx.state();
    let items = state.items.values().filter(|item| item.content == content);
    Ok(Val::connection(items.map(|item| Node::Item(item.id))))
}

pub(super) fn field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(project) = ctx.state().projects.get(&id).cloned() else {
        return Err(common::gone("ProjectV2"));
    };
    let login = ctx.state().login(project.owner).to_owned();
    Ok(Some(match name {
        "number" => project.number.into(),
        "title" => project.title.into(),
        "closed" => project.closed.into(),
        "public" => true.into(),
        "databaseId" => id.into(),
        "createdAt" | "updatedAt" => project.created_at.into(),
        "creator" => common::actor(ctx, project.owner),
        "owner" => account_node(&ctx.state(), project.owner).into(),
        "url" => {
            let kind = match account_node(&ctx.state(), project.owner) {
                Node::Organization(_) => "orgs",
                _ => "users",
            };
            format!("{}/{kind}/{login}/projects/{}", ctx.web, project.number).into()
        }
        "field" if args.str("name") == Some("Status") => Node::StatusField(id).into(),
        "field" => Val::NULL,
        "items" => {
            let state = ctx.state();
            let items = state.items.values().filter(|item| item.project == id);
            Val::connection(items.map(|item| Node::Item(item.id)))
        }
        "viewerCanUpdate" | "viewerCanClose" | "viewerCanReopen" => true.into(),
        _ => return Ok(None),
    }))
}

/// The id of an option of the `Status` field.
pub(crate) fn option_id(project: Id, index: usize) -> String {
    format!("{project:04x}{index:04x}")
}

pub(super) fn status_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(project) = ctx.state().projects.get(&id).cloned() else {
        return Err(common::gone("ProjectV2"));
    };
    Ok(Some(match name {
        "name" => "Status".into(),
        "dataType" => "SINGLE_SELECT".into(),
        "databaseId" => id.into(),
        "createdAt" | "updatedAt" => project.created_at.into(),
        "project" => Node::Project(id).into(),
        "options" => {
            let wanted = args.strings("names");
            let options = project.options.iter().enumerate();
            Val::List(
                options
                    .filter(|(_, name)| wanted.as_ref().is_none_or(|it| it.contains(name)))
                    .map(|(index, name)| {
                        Val::record(
                            "ProjectV2SingleSelectFieldOption",
                            vec![
                                ("id", option_id(id, index).into()),
                                ("name", name.into()),
                                ("nameHTML", name.into()),
                                ("color", "GRAY".into()),
                                ("description", "".into()),
                            ],
                        )
                    })
                    .collect(),
            )
        }
        _ => return Ok(None),
    }))
}

pub(super) fn item_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(item) = ctx.state().items.get(&id).cloned() else {
        return Err(common::gone("ProjectV2Item"));
    };
    let pull = ctx.state().pulls.contains_key(&item.content);
    Ok(Some(match name {
        "databaseId" => id.into(),
        "project" => Node::Project(item.project).into(),
        "content" if pull => Node::Pull(item.content).into(),
        "content" => Node::Issue(item.content).into(),
        "type" => if pull { "PULL_REQUEST" } else { "ISSUE" }.into(),
        "createdAt" | "updatedAt" => item.created_at.into(),
        "fieldValueByName" if args.str("name") == Some("Status") => {
            let state = ctx.state();
            let name = item.status.and_then(|index| {
                let project = state.projects.get(&item.project)?;
                Some((index, project.options.get(index)?.clone()))
            });
            let Some((index, name)) = name else {
                return Ok(Some(Val::NULL));
            };
            Val::record(
                "ProjectV2ItemFieldSingleSelectValue",
                vec![
                    ("id", format!("PVTFSV_{}", node_id(&Node::Item(id))).into()),
                    ("name", name.clone().into()),
                    ("nameHTML", name.into()),
                    ("optionId", option_id(item.project, index).into()),
                    ("item", Node::Item(id).into()),
                    ("field", Node::StatusField(item.project).into()),
                    ("color", "GRAY".into()),
                ],
            )
        }
        "fieldValueByName" => Val::NULL,
        _ => return Ok(None),
    }))
}
