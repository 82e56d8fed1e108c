//! Resolves projects and their items.

use super::common;
use crate::{
    graphql::{Args, Connection, Ctx, Fail, Node, Resolved, Val, account_node, node_id},
    state::{FieldOption, Id, ProjectField, ProjectItem, State},
};

/// Scopes that permit reading projects. A classic token needs one of them.
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

/// Returns the project items of an issue or a pull request.
pub(super) fn items_of(ctx: &Ctx<'_>, content: Id, args: &Args) -> Result<Val, Fail> {
    ctx.check_scope("projectItems", SCOPES)?;
    let archived = args.bool("includeArchived").unwrap_or(true);
    let state = ctx.state();
    let items = state.items.values();
    let items = items.filter(|item| item.content == content && (archived || !item.archived));
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
        "field" => {
            let wanted = args.str("name");
            let mut fields = project.fields.iter();
            let found = fields.find(|it| Some(it.name.as_str()) == wanted);
            Val::option(found.map(|it| Node::Field(it.id)))
        }
        "fields" => Val::connection(project.fields.iter().map(|it| Node::Field(it.id))),
        "items" => {
            let state = ctx.state();
            let items = state.items.values().filter(|item| item.project == id);
            Val::connection(items.map(|item| Node::Item(item.id)))
        }
        "viewerCanUpdate" | "viewerCanClose" | "viewerCanReopen" => true.into(),
        _ => return Ok(None),
    }))
}

/// Returns a field by its number, with the number of its project.
fn of_field(state: &State, id: Id) -> Option<(Id, ProjectField)> {
    state.projects.values().find_map(|project| {
        let field = project.fields.iter().find(|field| field.id == id)?;
        Some((project.id, field.clone()))
    })
}

pub(super) fn field_type(state: &State, id: Id) -> &'static str {
    match of_field(state, id) {
        Some((_, field)) if field.kind == "SINGLE_SELECT" => "ProjectV2SingleSelectField",
        Some((_, field)) if field.kind == "ITERATION" => "ProjectV2IterationField",
        _ => "ProjectV2Field",
    }
}

pub(super) fn field_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some((project, field)) = of_field(&ctx.state(), id) else {
        return Err(common::gone("ProjectV2Field"));
    };
    Ok(Some(match name {
        "name" => field.name.into(),
        "dataType" => field.kind.into(),
        "databaseId" => id.into(),
        "createdAt" | "updatedAt" => {
            let state = ctx.state();
            Val::option(state.projects.get(&project).map(|it| &it.created_at))
        }
        "project" => Node::Project(project).into(),
        "options" => {
            let wanted = args.strings("names");
            let options = field.options.iter();
            let options =
                options.filter(|it| wanted.as_ref().is_none_or(|all| all.contains(&it.name)));
            Val::List(options.map(option).collect())
        }
        _ => return Ok(None),
    }))
}

fn option(option: &FieldOption) -> Val {
    Val::record(
        "ProjectV2SingleSelectFieldOption",
        vec![
            ("id", (&option.id).into()),
            ("name", (&option.name).into()),
            ("nameHTML", (&option.name).into()),
            ("color", (&option.color).into()),
            ("description", (&option.description).into()),
        ],
    )
}

fn value(state: &State, item: &ProjectItem, field: &ProjectField) -> Option<Val> {
    let node = Node::Item(item.id);
    if field.kind == "TEXT" || field.kind == "TITLE" {
        let pull = state.pulls.get(&item.content).map(|it| &it.title);
        let title = pull.or(state.issues.get(&item.content).map(|it| &it.title))?;
        return Some(Val::record(
            "ProjectV2ItemFieldTextValue",
            vec![
                ("id", format!("PVTFTV_{}", node_id(&node)).into()),
                ("text", title.into()),
                ("item", node.into()),
                ("field", Node::Field(field.id).into()),
            ],
        ));
    }
    let chosen = item.values.get(&field.id)?;
    let option = field.options.iter().find(|it| it.id == *chosen)?;
    Some(Val::record(
        "ProjectV2ItemFieldSingleSelectValue",
        vec![
            (
                "id",
                format!("PVTFSV_{}{}", node_id(&node), field.id).into(),
            ),
            ("name", (&option.name).into()),
            ("nameHTML", (&option.name).into()),
            ("optionId", (&option.id).into()),
            ("item", node.into()),
            ("field", Node::Field(field.id).into()),
            ("color", (&option.color).into()),
        ],
    ))
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
        "isArchived" => item.archived.into(),
        "fieldValues" => {
            let state = ctx.state();
            let fields = state.projects.get(&item.project).map(|it| &it.fields);
            let fields = fields.into_iter().flatten();
            Val::Connection(Connection {
                nodes: fields.filter_map(|it| value(&state, &item, it)).collect(),
                ..Connection::default()
            })
        }
        "fieldValueByName" => {
            let state = ctx.state();
            let project = state.projects.get(&item.project);
            let mut fields = project.into_iter().flat_map(|it| &it.fields);
            let found = fields.find(|it| Some(it.name.as_str()) == args.str("name"));
            Val::option(found.and_then(|it| value(&state, &item, it)))
        }
        _ => return Ok(None),
    }))
}
