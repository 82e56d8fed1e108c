//! `forge tangled …`: commands on atproto records.

use clap::{Args, Subcommand};
use forge::{IndexShows, IngestionReport};
use forge_core::{Ingestion, Result, Warning, text};

use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    ui::json::{self, Json, JsonField, Selection},
};

/// `forge tangled`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct TangledArgs {
    /// The command.
    #[command(subcommand)]
    pub command: TangledCommand,
}

/// The commands on the records of tangled.
#[derive(Debug, Subcommand)]
pub enum TangledCommand {
    /// Check where a record is stored, which services show it, and why others do not
    Ingestion(IngestionArgs),
}

/// `forge tangled ingestion`
#[derive(Args, Debug)]
pub struct IngestionArgs {
    /// The record: at://ACCOUNT/COLLECTION/KEY
    #[arg(value_name = "at-uri")]
    pub uri: String,
    /// Write the record again with a neutral change, so that an index that missed it ingests it
    #[arg(long)]
    pub put_again: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Runs a command on records.
///
/// # Errors
///
/// Fails if the command fails.
pub async fn run(ctx: &Ctx, args: &TangledArgs) -> Result<Exit> {
    match &args.command {
        TangledCommand::Ingestion(args) => ingestion(ctx, args).await,
    }
}

const FIELDS: &[JsonField<IngestionReport>] = &[
    JsonField {
        name: "because",
        needs: (),
        get: |r| Json::text(&r.because),
    },
    JsonField {
        name: "cid",
        needs: (),
        get: |r| Json::text(&r.cid),
    },
    JsonField {
        name: "collection",
        needs: (),
        get: |r| Json::text(&r.collection),
    },
    JsonField {
        name: "index",
        needs: (),
        get: |r| index(&r.index),
    },
    JsonField {
        name: "ingestion",
        needs: (),
        get: |r| json::ingestion(&r.ingestion),
    },
    JsonField {
        name: "instead",
        needs: (),
        get: |r| Json::maybe(r.instead.as_ref(), |hint| Json::text(hint.text())),
    },
    JsonField {
        name: "server",
        needs: (),
        get: |r| Json::text(&r.server),
    },
    JsonField {
        name: "uri",
        needs: (),
        get: |r| Json::text(&r.uri),
    },
];

async fn ingestion(ctx: &Ctx, args: &IngestionArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json.or_all(FIELDS.iter().map(|f| f.name)), FIELDS)?;
    let forges = ctx.forges()?;
    let report = if args.put_again {
        forges.retry_ingestion(&args.uri).await?
    } else {
        forges.check_ingestion(&args.uri).await?
    };
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&report))?,
        None => print(ctx, &report)?,
    }
    Ok(match &report.ingestion {
        Ingestion::Ineffective { .. } => Exit::Failure,
        Ingestion::PdsOnly { instead } => {
            ctx.ui
                .warning(&Warning::new(&report.because).with_hint(instead));
            Exit::Ok
        }
        _ => Exit::Ok,
    })
}

fn print(ctx: &Ctx, report: &IngestionReport) -> Result<()> {
    let (host, shows) = match &report.index {
        IndexShows::This { host } => (host.as_str(), "shows this version".to_owned()),
        IndexShows::Another { host, cid } => (host.as_str(), format!("shows the version {cid}")),
        IndexShows::Nothing { host } => (host.as_str(), "does not show it".to_owned()),
        IndexShows::NoAnswer { host, why } => (host.as_str(), format!("does not answer: {why}")),
        _ => ("", "was not asked".to_owned()),
    };
    let instead = report.instead.as_ref();
    let rows = [
        ("ingestion", report.ingestion.word().to_owned()),
        ("because", report.because.clone()),
        (
            "instead",
            instead.map_or(String::new(), |hint| ctx.ui.advice(hint)),
        ),
        ("record", report.uri.clone()),
        ("version", report.cid.clone()),
        ("server", report.server.clone()),
        ("index", format!("{host} {shows}").trim().to_owned()),
    ];
    let palette = ctx.ui.palette();
    for (key, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let value = text::one_line(value);
        if ctx.ui.is_tty() {
            let key = palette.bold(&format!("{key}:"));
            ctx.ui.line(&format!("{key} {value}"))?;
        } else {
            ctx.ui.line(&format!("{key}:\t{value}"))?;
        }
    }
    Ok(())
}

fn index(index: &IndexShows) -> Json {
    let (shows, host, more) = match index {
        IndexShows::This { host } => ("this", Some(host), None),
        IndexShows::Another { host, cid } => ("another", Some(host), Some(("cid", cid))),
        IndexShows::Nothing { host } => ("nothing", Some(host), None),
        IndexShows::NoAnswer { host, why } => ("no_answer", Some(host), Some(("why", why))),
        _ => ("not_asked", None, None),
    };
    let mut members = vec![("shows", Json::text(shows))];
    members.extend(host.map(|host| ("host", Json::text(host))));
    members.extend(more.map(|(key, value)| (key, Json::text(value))));
    Json::Object(members)
}
