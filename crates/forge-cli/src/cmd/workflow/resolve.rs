//! `forge workflow resolve`: resolves a state name for a command, or an intent (a goal that stands
//! for a state).

use clap::Args;
use forge::workflow::{check_transition, resolve};
use forge_core::{Error, Result, text};

use super::{DefinitionArgs, shared::command_named};
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::json::{Json, JsonField, Selection},
};

/// `forge workflow resolve`
#[derive(Args, Debug)]
pub struct WorkflowResolveArgs {
    /// A state, or an intent such as __COMPLETE__
    #[arg(value_name = "state")]
    pub state: String,
    /// The workflow's command, such as research
    #[arg(short, long, value_name = "name")]
    pub command: Option<String>,
    /// Check the transition from this state, if the workflow's transitions are strict
    #[arg(long, value_name = "state")]
    pub from: Option<String>,
    /// The definition with the command.
    #[command(flatten)]
    pub definition: DefinitionArgs,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

struct ResolvedName {
    state: String,
    was_intent: bool,
    said: String,
    command: String,
}

const FIELDS: &[JsonField<ResolvedName>] = &[
    JsonField {
        name: "command",
        needs: (),
        get: |m| Json::text(&m.command),
    },
    JsonField {
        name: "originalState",
        needs: (),
        get: |m| Json::text(&m.said),
    },
    JsonField {
        name: "resolvedState",
        needs: (),
        get: |m| Json::text(&m.state),
    },
    JsonField {
        name: "wasIntent",
        needs: (),
        get: |m| Json::Bool(m.was_intent),
    },
];

pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowResolveArgs) -> Result<Exit> {
    let fields = args.json.or_all(FIELDS.iter().map(|f| f.name));
    let selection = Selection::from_args(&fields, FIELDS)?;
    let definition = args.definition.read(ctx, repo).await?;
    let command = command_named(&definition, args.command.as_deref())?;
    let resolved = resolve(&definition, &args.state, command)?;
    if let Some(from) = &args.from {
        let from = definition.state(from).ok_or_else(|| {
            let names: Vec<&str> = definition
                .states()
                .iter()
                .map(|s| s.name.as_str())
                .collect();
            let why = format!("unknown state '{}'", text::one_line(from));
            Error::invalid("from", why).with_hint(format!("name one of: {}", names.join(", ")))
        })?;
        check_transition(&definition, from, &resolved)?;
    }
    let meaning = ResolvedName {
        state: resolved.state.name.clone(),
        was_intent: resolved.was_intent,
        said: args.state.clone(),
        command: command.to_owned(),
    };
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&meaning))?,
        None => ctx.ui.line(&text::one_line(&meaning.state))?,
    }
    Ok(Exit::Ok)
}
