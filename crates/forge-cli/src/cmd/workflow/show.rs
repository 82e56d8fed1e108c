//! `forge workflow show`: the states and commands of a workflow, and its intents (goals that stand
//! for a state).

use clap::Args;
use forge::workflow::{Command, Definition, Intent, State, Terminal};
use forge_core::{Result, text};

use super::DefinitionArgs;
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::{
        json::{Json, JsonField, Selection},
        table::{self, Cell, Column},
    },
};

/// `forge workflow show`
#[derive(Args, Debug)]
pub struct WorkflowShowArgs {
    /// The definition to show.
    #[command(flatten)]
    pub definition: DefinitionArgs,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

const FIELDS: &[JsonField<Definition>] = &[
    JsonField {
        name: "commands",
        needs: (),
        get: |d| Json::Array(d.commands.iter().map(command_json).collect()),
    },
    JsonField {
        name: "intents",
        needs: (),
        get: |d| {
            let intent = |(name, intent): (&String, &Intent)| {
                Json::Object(vec![
                    ("gloss", Json::text(&intent.gloss)),
                    ("name", Json::text(name)),
                    (
                        "state",
                        Json::maybe(intent.state.as_ref(), |s| Json::text(s)),
                    ),
                ])
            };
            Json::Array(d.intents.iter().map(intent).collect())
        },
    },
    JsonField {
        name: "states",
        needs: (),
        get: |d| Json::list(d.states(), |state| state_json(d, state)),
    },
];

fn command_json((name, command): (&String, &Command)) -> Json {
    let intent = |(name, state): (&String, &String)| {
        Json::Object(vec![
            ("name", Json::text(name)),
            ("state", Json::text(state)),
        ])
    };
    Json::Object(vec![
        ("inputs", texts(&command.inputs)),
        (
            "intents",
            Json::Array(command.intents.iter().map(intent).collect()),
        ),
        (
            "lock",
            Json::maybe(command.lock.as_ref(), |s| Json::text(s)),
        ),
        ("name", Json::text(name)),
        ("outputs", texts(&command.outputs)),
        (
            "role",
            Json::maybe(command.role.as_ref(), |s| Json::text(s)),
        ),
    ])
}

fn state_json(definition: &Definition, state: &State) -> Json {
    let order = definition.order_of(state);
    Json::Object(vec![
        ("gate", Json::Bool(state.gate)),
        ("human", Json::Bool(state.human)),
        ("lock", Json::Bool(state.lock)),
        ("name", Json::text(&state.name)),
        ("next", texts(&state.next)),
        (
            "order",
            order.map_or(Json::Null, |at| Json::Number(at as u64)),
        ),
        ("terminal", end(state).map_or(Json::Null, Json::text)),
    ])
}

const STATES: &[Column] = &[
    Column {
        title: "STATE",
        shrinks: false,
    },
    Column {
        title: "IS",
        shrinks: false,
    },
    Column {
        title: "NEXT",
        shrinks: true,
    },
];

const COMMANDS: &[Column] = &[
    Column {
        title: "COMMAND",
        shrinks: false,
    },
    Column {
        title: "FROM",
        shrinks: true,
    },
    Column {
        title: "TO",
        shrinks: true,
    },
    Column {
        title: "LOCK",
        shrinks: false,
    },
];

fn texts(all: &[String]) -> Json {
    Json::list(all, |text| Json::text(text))
}

fn end(state: &State) -> Option<&'static str> {
    Some(match state.terminal? {
        Terminal::Completed => "completed",
        Terminal::Abandoned => "abandoned",
    })
}

fn join_flags(state: &State) -> String {
    let flags = [
        (state.lock, "lock"),
        (state.gate, "gate"),
        (state.human, "human"),
        (state.aside, "aside"),
    ];
    let flags = flags
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, mark)| mark);
    flags.chain(end(state)).collect::<Vec<_>>().join(", ")
}

pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowShowArgs) -> Result<Exit> {
    let fields = args.json.or_all(FIELDS.iter().map(|f| f.name));
    let selection = Selection::from_args(&fields, FIELDS)?;
    let definition = args.definition.read(ctx, repo).await?;
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.object(&definition))?;
        return Ok(Exit::Ok);
    }
    let line = |text: &str| Cell::plain(text::one_line(text));
    let states = definition.states().iter();
    let states = states.map(|s| {
        vec![
            line(&s.name),
            line(&join_flags(s)),
            line(&s.next.join(", ")),
        ]
    });
    let commands = definition.commands.iter().map(|(name, command)| {
        vec![
            line(&format!("{}{name}", definition.command_prefix)),
            line(&command.inputs.join(", ")),
            line(&command.outputs.join(", ")),
            line(command.lock.as_deref().unwrap_or_default()),
        ]
    });
    let (width, palette) = (ctx.ui.table_width(), ctx.ui.palette());
    let states = table::render(STATES, &states.collect::<Vec<_>>(), width, palette);
    let commands = table::render(COMMANDS, &commands.collect::<Vec<_>>(), width, palette);
    ctx.ui.page(&format!("{states}\n{commands}"))?;
    Ok(Exit::Ok)
}
