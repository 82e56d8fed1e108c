//! `forge label`: the labels of a repository.

use forge_core::{
    Error, PageReq, Repo, Result,
    model::{Label, NewLabel},
    text,
};

use crate::ctx::Ctx;
use crate::{
    args::{
        ColorArg, LabelArgs,
        label::{LabelCommand, LabelCreateArgs, LabelDeleteArgs, LabelListArgs},
    },
    exit::Exit,
    ui::{
        json::{Field, Json, Selection},
        prompt,
        table::{self, Cell, Column},
    },
};

/// The fields of `--json`.
const FIELDS: &[Field<Label>] = &[
    Field {
        name: "color",
        needs: (),
        get: |l| Json::text(&l.color),
    },
    Field {
        name: "description",
        needs: (),
        get: |l| Json::text(description(l)),
    },
    Field {
        name: "id",
        needs: (),
        get: |l| Json::text(&l.id),
    },
    Field {
        name: "name",
        needs: (),
        get: |l| Json::text(&l.name),
    },
];

const COLUMNS: &[Column] = &[
    Column {
        title: "NAME",
        shrinks: false,
    },
    Column {
        title: "DESCRIPTION",
        shrinks: true,
    },
    Column {
        title: "COLOR",
        shrinks: false,
    },
];

/// How many are asked for at once.
const PAGE: usize = 100;

/// Runs one of the commands.
///
/// # Errors
/// As the operations of the repository.
pub async fn run(ctx: &Ctx, args: &LabelArgs) -> Result<Exit> {
    let repo = args.repo.as_deref();
    match &args.command {
        LabelCommand::List(args) => list(ctx, repo, args).await,
        LabelCommand::Create(args) => create(ctx, repo, args).await,
        LabelCommand::Delete(args) => delete(ctx, repo, args).await,
    }
}

async fn list(ctx: &Ctx, repo: Option<&str>, args: &LabelListArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, FIELDS)?;
    let repo = ctx.repo(repo).await?;
    let all = matching(ctx, &repo, args.search.as_deref()).await?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let shown: Vec<Label> = all.iter().take(limit).cloned().collect();
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.array(&shown))?;
        return Ok(Exit::Ok);
    }
    if !ctx.ui.is_tty() {
        for label in &shown {
            let line = [&label.name, description(label)].map(text::one_line);
            ctx.ui.line(&format!(
                "{}\t#{}",
                line.join("\t"),
                text::one_line(&label.color)
            ))?;
        }
        return Ok(Exit::Ok);
    }
    if shown.is_empty() {
        ctx.ui.note(&format!("no labels found in {}", repo.id()));
        return Ok(Exit::Ok);
    }
    let heading = format!(
        "\nShowing {} of {} labels in {}\n\n",
        shown.len(),
        all.len(),
        repo.id()
    );
    let cells: Vec<Vec<Cell>> = shown
        .iter()
        .map(|label| {
            vec![
                Cell::plain(text::one_line(&label.name)),
                Cell::plain(text::one_line(description(label))),
                Cell::plain(format!("#{}", text::one_line(&label.color))),
            ]
        })
        .collect();
    let table = table::render(COLUMNS, &cells, ctx.ui.width(), ctx.ui.palette());
    ctx.ui.page(&format!("{heading}{table}"))?;
    Ok(Exit::Ok)
}

/// The labels of the repository, those with `search` in name or description.
async fn matching(ctx: &Ctx, repo: &Repo, search: Option<&str>) -> Result<Vec<Label>> {
    let search = search.map(str::to_lowercase);
    let mut found = Vec::new();
    let mut page = Some(PageReq::first(PAGE));
    while let Some(req) = page {
        let got = repo.labels(req).await?;
        for warning in &got.warnings {
            ctx.ui.warning(warning);
        }
        found.extend(got.items.into_iter().filter(|label| {
            search.as_ref().is_none_or(|search| {
                label.name.to_lowercase().contains(search)
                    || description(label).to_lowercase().contains(search)
            })
        }));
        page = got.next.map(|cursor| PageReq::after(cursor, PAGE));
    }
    Ok(found)
}

async fn create(ctx: &Ctx, repo: Option<&str>, args: &LabelCreateArgs) -> Result<Exit> {
    let repo = ctx.repo(repo).await?;
    let new = NewLabel {
        name: args.name.clone(),
        color: args
            .color
            .as_ref()
            .and_then(ColorArg::label)
            .map(|color| color.trim_start_matches('#').to_owned()),
        description: args.description.clone(),
        overwrite: args.force,
    };
    let outcome = repo.define_label(&new).await?;
    let label = ctx.ui.outcome(outcome)?;
    ctx.ui.success(&format!(
        "label '{}' (#{}) is defined in {}",
        label.name,
        label.color,
        repo.id()
    ));
    Ok(Exit::Ok)
}

async fn delete(ctx: &Ctx, repo: Option<&str>, args: &LabelDeleteArgs) -> Result<Exit> {
    let repo = ctx.repo(repo).await?;
    if !args.yes {
        if !ctx.ui.can_prompt() {
            return Err(
                Error::invalid("yes", "there is no terminal to ask whether to delete it")
                    .with_hint("pass --yes"),
            );
        }
        let question = format!(
            "Delete label '{}' from {}?",
            text::one_line(&args.name),
            repo.id()
        );
        if !prompt::confirm(&question)? {
            return Err(prompt::cancelled());
        }
    }
    let outcome = repo.delete_label(&args.name).await?;
    ctx.ui.outcome(outcome)?;
    ctx.ui.success(&format!(
        "label '{}' is deleted from {}",
        args.name,
        repo.id()
    ));
    Ok(Exit::Ok)
}

fn description(label: &Label) -> &str {
    label.description.as_deref().unwrap_or_default()
}
