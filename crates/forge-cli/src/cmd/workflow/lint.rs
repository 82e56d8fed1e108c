//! `forge workflow lint`: prints every mistake in a workflow definition.

use clap::Args;
use forge::workflow::{Mistake, lint};
use forge_core::{Result, text};

use super::DefinitionArgs;
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::json::{Json, JsonField, Selection},
};

/// `forge workflow lint`
#[derive(Args, Debug)]
pub struct WorkflowLintArgs {
    /// The definition to check.
    #[command(flatten)]
    pub definition: DefinitionArgs,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

const FIELDS: &[JsonField<Mistake>] = &[
    JsonField {
        name: "column",
        needs: (),
        get: |m| Json::Number(m.column as u64),
    },
    JsonField {
        name: "key",
        needs: (),
        get: |m| Json::text(&m.key),
    },
    JsonField {
        name: "line",
        needs: (),
        get: |m| Json::Number(m.line as u64),
    },
    JsonField {
        name: "message",
        needs: (),
        get: |m| Json::text(&m.message),
    },
];

pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowLintArgs) -> Result<Exit> {
    let fields = args.json.or_all(FIELDS.iter().map(|f| f.name));
    let selection = Selection::from_args(&fields, FIELDS)?;
    let mistakes = lint(&args.definition.text(ctx, repo).await?);
    let file = args.definition.file.as_ref();
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.array(&mistakes))?,
        None => {
            for mistake in &mistakes {
                let file = file.map_or(String::new(), |f| format!("{}:", f.display()));
                ctx.ui.line(&text::one_line(&format!("{file}{mistake}")))?;
            }
        }
    }
    if !mistakes.is_empty() {
        return Ok(Exit::Failure);
    }
    ctx.ui.success("the definition has no mistakes");
    Ok(Exit::Ok)
}
