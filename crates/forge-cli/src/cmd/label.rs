//! `forge label`: the labels of a repository.

use clap::{Arg, Args, Subcommand};
use forge_core::{
    Error, Repo, Result,
    model::{Label, NewLabel},
    text,
};

use super::pages::collect;
use crate::{
    args::{ColorArg, output::JsonArgs, single_repo, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    ui::{
        json::{Json, JsonField, Selection},
        prompt,
        table::{self, Cell, Column},
    },
};

/// `forge label`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct LabelArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path or local:PATH
    #[arg(short = 'R', long, global = true, value_name = "repository")]
    pub repo: Vec<String>,
    /// The command.
    #[command(subcommand)]
    pub command: LabelCommand,
}

/// The commands on labels.
#[derive(Debug, Subcommand)]
pub enum LabelCommand {
    /// List the labels
    #[command(alias = "ls")]
    List(LabelListArgs),
    /// Define a label
    Create(LabelCreateArgs),
    /// Delete a label; pull requests lose it
    Delete(LabelDeleteArgs),
}

impl LabelCommand {
    /// Returns `--wait` and `--no-wait`; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::Create(args) => Some(&args.wait),
            Self::Delete(args) => Some(&args.wait),
            Self::List(_) => None,
        }
    }
}

/// `forge label list`
#[derive(Args, Debug)]
#[command(arg(sort()))]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct LabelListArgs {
    /// Maximum number of labels
    #[arg(short = 'L', long, value_name = "number", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Order of the names
    #[arg(long, value_name = "order", value_parser = ["asc", "desc"], default_value = "asc")]
    pub order: String,
    /// Labels with this text in their name or description
    #[arg(short = 'S', long, value_name = "text")]
    pub search: Option<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Returns gh's `--sort`. Labels are always sorted by name, so no other value is accepted.
fn sort() -> Arg {
    Arg::new("sort")
        .long("sort")
        .value_name("key")
        .value_parser(["name"])
        .help("Sort by this key")
}

/// `forge label create`
#[derive(Args, Debug)]
pub struct LabelCreateArgs {
    /// The name of the label
    pub name: String,
    /// Six hexadecimal digits, with or without '#'
    #[arg(short, long, value_name = "color", value_parser = ColorArg::label_parser())]
    pub color: Option<ColorArg>,
    /// The description of the label
    #[arg(short, long, value_name = "text")]
    pub description: Option<String>,
    /// Change the label if it exists
    #[arg(short, long)]
    pub force: bool,
    /// Allow this value: issues can then have the label 'name:value'; can be repeated
    #[arg(long, value_name = "text")]
    pub value: Vec<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge label delete`
#[derive(Args, Debug)]
pub struct LabelDeleteArgs {
    /// The name of the label
    pub name: String,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

const FIELDS: &[JsonField<Label>] = &[
    JsonField {
        name: "color",
        needs: (),
        get: |l| Json::text(&l.color),
    },
    JsonField {
        name: "description",
        needs: (),
        get: |l| Json::text(description(l)),
    },
    JsonField {
        name: "id",
        needs: (),
        get: |l| Json::text(&l.id),
    },
    JsonField {
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

/// Runs one of the commands.
///
/// # Errors
///
/// Fails if an operation on the repository fails.
pub async fn run(ctx: &Ctx, args: &LabelArgs) -> Result<Exit> {
    let repo = single_repo(&args.repo)?;
    match &args.command {
        LabelCommand::List(args) => list(ctx, repo, args).await,
        LabelCommand::Create(args) => create(ctx, repo, args).await,
        LabelCommand::Delete(args) => delete(ctx, repo, args).await,
    }
}

async fn list(ctx: &Ctx, repo: Option<&str>, args: &LabelListArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, FIELDS)?;
    let repo = ctx.repo(repo).await?;
    let mut all = find_matching(ctx, &repo, args.search.as_deref()).await?;
    if args.order == "desc" {
        all.reverse();
    }
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

/// Returns the repository's labels whose name or description contains `search`.
async fn find_matching(ctx: &Ctx, repo: &Repo, search: Option<&str>) -> Result<Vec<Label>> {
    let search = search.map(str::to_lowercase);
    let mut found = collect(ctx, repo, u32::MAX, async |page| repo.labels(page).await).await?;
    if let Some(search) = search {
        found.items.retain(|label| {
            label.name.to_lowercase().contains(&search)
                || description(label).to_lowercase().contains(&search)
        });
    }
    Ok(found.items)
}

async fn create(ctx: &Ctx, repo: Option<&str>, args: &LabelCreateArgs) -> Result<Exit> {
    let repo = ctx.repo(repo).await?;
    let mut new = NewLabel::new(args.name.clone());
    new.color = args
        .color
        .as_ref()
        .and_then(ColorArg::label)
        .map(|color| color.trim_start_matches('#').to_owned());
    new.description = args.description.clone();
    new.values = args.value.clone();
    new.overwrite = args.force;
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
                Error::invalid("yes", "there is no terminal to confirm the deletion")
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
