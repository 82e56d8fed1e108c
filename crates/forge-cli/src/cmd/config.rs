//! `forge config`: the configuration, key by key.
//!
//! The commands also work with a broken configuration, because a user repairs it with them.

use clap::{Args, Subcommand};
use forge::{
    Config,
    config::{ConfigEntry, Env, Level, Scope, Source},
};
use forge_core::{Action, Call, Error, Hint, Noun, Param, Result, Warning, text};

use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::{
        json::{Json, JsonField, Selection},
        table::{self, Cell, Column},
    },
};

/// `forge config`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ConfigArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The commands on the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the value of a key
    Get(ConfigGetArgs),
    /// Set a key, in your config.toml or in the repository's .forge.toml
    Set(ConfigSetArgs),
    /// Remove a key from a file
    Unset(ConfigUnsetArgs),
    /// Show every key, its value and the source of the value
    #[command(alias = "ls")]
    List(ConfigListArgs),
    /// List every problem in the files, with line and column
    Validate,
}

/// `forge config get`
#[derive(Args, Debug)]
pub struct ConfigGetArgs {
    /// The key, such as merge.method or hosts.git.example.org.kind
    pub key: String,
}

/// `forge config set`
#[derive(Args, Debug)]
pub struct ConfigSetArgs {
    /// The key, such as merge.method or hosts.git.example.org.kind
    pub key: String,
    /// The value
    #[arg(allow_hyphen_values = true)]
    pub value: String,
    /// Write the repository's .forge.toml
    #[arg(long)]
    pub repo: bool,
}

/// `forge config unset`
#[derive(Args, Debug)]
pub struct ConfigUnsetArgs {
    /// The key
    pub key: String,
    /// Change the repository's .forge.toml
    #[arg(long)]
    pub repo: bool,
}

/// `forge config list`
#[derive(Args, Debug)]
pub struct ConfigListArgs {
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

const FIELDS: &[JsonField<ConfigEntry>] = &[
    JsonField {
        name: "name",
        needs: (),
        get: |e| Json::text(&e.name),
    },
    JsonField {
        name: "source",
        needs: (),
        get: |e| Json::text(e.source.to_string()),
    },
    JsonField {
        name: "value",
        needs: (),
        get: |e| e.value.as_deref().map_or(Json::Null, Json::text),
    },
];

const COLUMNS: &[Column] = &[
    Column {
        title: "KEY",
        shrinks: false,
    },
    Column {
        title: "VALUE",
        shrinks: true,
    },
    Column {
        title: "SOURCE",
        shrinks: true,
    },
];

/// Runs one of the commands.
///
/// # Errors
///
/// `invalid_input` for an unknown key or an invalid value; `config` if a file cannot be read or
/// written.
pub async fn run(ctx: &Ctx, args: &ConfigArgs) -> Result<Exit> {
    let config = Config::read(Env::process(), &ctx.cwd)?;
    match &args.command {
        ConfigCommand::Get(args) => get(ctx, &config, &args.key),
        ConfigCommand::Set(args) => {
            let path = config.set(&args.key, &args.value, scope(args.repo))?;
            ctx.ui
                .success(&format!("set {} in {}", args.key, path.display()));
            overridden(ctx, &args.key)?;
            Ok(Exit::Ok)
        }
        ConfigCommand::Unset(args) => {
            let (path, was_there) = config.unset(&args.key, scope(args.repo))?;
            if was_there {
                ctx.ui
                    .success(&format!("removed {} from {}", args.key, path.display()));
            } else {
                ctx.ui
                    .caution(&format!("{} is not set in {}", args.key, path.display()));
            }
            Ok(Exit::Ok)
        }
        ConfigCommand::List(args) => list(ctx, &config, args),
        ConfigCommand::Validate => validate(ctx, &config),
    }
}

fn scope(repo: bool) -> Scope {
    if repo { Scope::Repo } else { Scope::User }
}

fn get(ctx: &Ctx, config: &Config, key: &str) -> Result<Exit> {
    problems(ctx, config);
    match config.get(key)?.value {
        Some(value) => ctx.ui.line(&value).map(|()| Exit::Ok),
        None => Err(
            Error::not_found(Noun::Other, format!("{key} is not set, and has no default"))
                .with_hint(
                    Hint::new("set it").with_action(
                        Action::new(Call::ConfigSet)
                            .with(Param::Key, key)
                            .choose(Param::Value),
                    ),
                ),
        ),
    }
}

/// Warns if the value just written has no effect, because another source overrides it.
fn overridden(ctx: &Ctx, key: &str) -> Result<()> {
    let entry = Config::read(Env::process(), &ctx.cwd)?.get(key)?;
    if let Source::Env(_) = entry.source {
        ctx.ui.caution(&format!(
            "{} is set in the environment and overrides the file",
            entry.source
        ));
    }
    Ok(())
}

fn list(ctx: &Ctx, config: &Config, args: &ConfigListArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json.or_all(FIELDS.iter().map(|f| f.name)), FIELDS)?;
    problems(ctx, config);
    let entries = config.list();
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.array(&entries))?;
    } else if ctx.ui.is_tty() {
        let cells: Vec<Vec<Cell>> = entries
            .iter()
            .map(|entry| {
                vec![
                    Cell::plain(&entry.name),
                    Cell::plain(text::one_line(entry.value.as_deref().unwrap_or_default())),
                    Cell::painted(text::one_line(&entry.source.to_string()), |p, t| p.gray(t)),
                ]
            })
            .collect();
        ctx.ui.page(&table::render(
            COLUMNS,
            &cells,
            ctx.ui.width(),
            ctx.ui.palette(),
        ))?;
    } else {
        for entry in &entries {
            let value = entry.value.as_deref().unwrap_or_default();
            ctx.ui
                .line(&format!("{}\t{value}\t{}", entry.name, entry.source))?;
        }
    }
    Ok(Exit::Ok)
}

fn validate(ctx: &Ctx, config: &Config) -> Result<Exit> {
    for problem in config.problems() {
        let at = problem.at.as_ref().map_or_else(
            || "environment".to_owned(),
            |(path, line, column)| format!("{}:{line}:{column}", path.display()),
        );
        let line = format!(
            "{at}: {}: {} ({})",
            problem.level.word(),
            problem.message,
            ctx.ui.advice(&problem.hint)
        );
        ctx.ui.line(&text::one_line(&line))?;
    }
    if !config.problems().is_empty() {
        return Ok(Exit::Failure);
    }
    for path in [config.user_file(), config.repo_file()]
        .into_iter()
        .flatten()
    {
        if path.exists() {
            ctx.ui
                .success(&format!("{} has no problems", path.display()));
        }
    }
    Ok(Exit::Ok)
}

/// Prints problems of the configuration as warnings, because they do not stop `forge config`.
fn problems(ctx: &Ctx, config: &Config) {
    for problem in config.problems() {
        let skipped = match problem.level {
            Level::Error => "; commands that need it stop here",
            Level::Warning => "",
        };
        ctx.ui
            .warning(&Warning::new(format!("{problem}{skipped}")).with_hint(&problem.hint));
    }
}
