//! `forge capabilities`: lists the capabilities of a repository's forge, with a reason for each
//! missing one.

use clap::Args;
use forge_core::{Capability, Hint, IndexLimit, Result, Support};

use crate::{
    args::{output::JsonArgs, single_repo},
    ctx::Ctx,
    exit::Exit,
    ui::{
        json::{Json, JsonField, Selection},
        table::{self, Cell, Column},
    },
};

/// `forge capabilities`
#[derive(Args, Debug)]
pub struct CapabilitiesArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path or local:PATH
    #[arg(short = 'R', long, value_name = "repository")]
    pub repo: Vec<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

type CapabilityRow = (Capability, Support);

const FIELDS: &[JsonField<CapabilityRow>] = &[
    JsonField {
        name: "how",
        needs: (),
        get: |(_, s)| how(s).map_or(Json::Null, Json::text),
    },
    JsonField {
        name: "instead",
        needs: (),
        get: |(_, s)| instead(s).map_or(Json::Null, |hint| Json::text(hint.text())),
    },
    JsonField {
        name: "name",
        needs: (),
        get: |(c, _)| Json::text(c.name()),
    },
    JsonField {
        name: "support",
        needs: (),
        get: |(_, s)| Json::text(support_name(s)),
    },
    JsonField {
        name: "title",
        needs: (),
        get: |(c, _)| Json::text(c.title()),
    },
    JsonField {
        name: "why",
        needs: (),
        get: |(_, s)| why(s).map_or(Json::Null, Json::text),
    },
];

const COLUMNS: &[Column] = &[
    Column {
        title: "CAPABILITY",
        shrinks: false,
    },
    Column {
        title: "SUPPORT",
        shrinks: false,
    },
    Column {
        title: "HOW, OR WHY NOT",
        shrinks: true,
    },
    Column {
        title: "INSTEAD",
        shrinks: true,
    },
];

/// Prints the table of capabilities.
///
/// # Errors
/// Fails if the repository cannot be opened.
pub async fn run(ctx: &Ctx, args: &CapabilitiesArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json.or_all(FIELDS.iter().map(|f| f.name)), FIELDS)?;
    let repo = ctx.repo(single_repo(&args.repo)?).await?;
    let info = repo.info().await?;
    let rows = repo.capabilities_by(&info);
    let limits = repo.index_limits().await?;
    for warning in info
        .warnings
        .iter()
        .chain(&IndexLimit::warnings_of_all(&limits))
    {
        ctx.ui.warning(warning);
    }
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.array(&rows))?;
        return Ok(Exit::Ok);
    }
    if !ctx.ui.is_tty() {
        for (capability, support) in &rows {
            let detail = how(support).or_else(|| why(support)).unwrap_or_default();
            let instead = instead(support).map_or(String::new(), |hint| ctx.ui.advice(hint));
            ctx.ui.line(&format!(
                "{}\t{}\t{detail}\t{instead}",
                capability.name(),
                support_name(support)
            ))?;
        }
        return Ok(Exit::Ok);
    }
    let cells: Vec<Vec<Cell>> = rows
        .iter()
        .map(|(capability, support)| {
            let word = match support {
                Support::No { .. } => Cell::painted(support_name(support), |p, t| p.red(t)),
                Support::Native => Cell::painted(support_name(support), |p, t| p.green(t)),
                _ => Cell::painted(support_name(support), |p, t| p.yellow(t)),
            };
            vec![
                Cell::plain(capability.name()),
                word,
                Cell::plain(how(support).or_else(|| why(support)).unwrap_or_default()),
                Cell::plain(instead(support).map_or(String::new(), |hint| ctx.ui.advice(hint))),
            ]
        })
        .collect();
    ctx.ui.page(&table::render(
        COLUMNS,
        &cells,
        ctx.ui.width(),
        ctx.ui.palette(),
    ))?;
    Ok(Exit::Ok)
}

/// Returns the JSON name for how a forge supports a capability.
fn support_name(support: &Support) -> &'static str {
    match support {
        Support::Native => "native",
        Support::Emulated { .. } => "emulated",
        Support::ClientSide { .. } => "client_side",
        Support::No { .. } => "no",
    }
}

fn how(support: &Support) -> Option<&'static str> {
    match support {
        Support::Emulated { how } | Support::ClientSide { how } => Some(how),
        _ => None,
    }
}

fn why(support: &Support) -> Option<&'static str> {
    match support {
        Support::No { why, .. } => Some(why),
        _ => None,
    }
}

fn instead(support: &Support) -> Option<&'static Hint> {
    match support {
        Support::No { instead, .. } => Some(instead),
        _ => None,
    }
}
