//! `forge workflow init`: creates the fields, options and labels of a workflow.

use clap::Args;
use forge::workflow::{InitReport, SetupItem};
use forge_core::{Result, text};
use forge_git::command_line;

use super::shared::{fields, selection};
use crate::{args::output::JsonArgs, ctx::Ctx, exit::Exit, ui::json::Json};

/// `forge workflow init`
#[derive(Args, Debug)]
pub struct WorkflowInitArgs {
    /// Print what would be created, and create nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

fields! {
    FIELDS of InitReport:
        "dryRun", |r| Json::Bool(r.dry_run);
        "failed", |r| Json::list(&r.failed, |(setup, why)| {
            let mut members = setup_members(setup);
            members.push(("error", Json::text(why)));
            Json::Object(members)
        });
        "made", |r| Json::list(&r.made, |setup| Json::Object(setup_members(setup)));
}

fn setup_members(setup: &SetupItem) -> Vec<(&'static str, Json)> {
    vec![
        ("kind", Json::text(setup.kind)),
        ("name", Json::text(&setup.name)),
        (
            "options",
            Json::list(&setup.options, |option| Json::text(option)),
        ),
    ]
}

/// Creates missing fields, options and labels. A second call creates nothing.
///
/// # Errors
///
/// Fails if the existing items cannot be read, or nothing could be created.
pub async fn run(ctx: &Ctx, flag: Option<&str>, args: &WorkflowInitArgs) -> Result<Exit> {
    let selection = selection(&args.json, FIELDS)?;
    let repo = ctx.repo(flag).await?;
    let forges = ctx.forges()?;
    let workflow = forges.workflow(&repo).await?;
    let report = workflow.init(args.dry_run).await?;
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&report))?,
        None => {
            let would = if args.dry_run {
                "would create"
            } else {
                "created"
            };
            for setup in &report.made {
                ctx.ui.line(&text::one_line(&format!(
                    "{would} {}",
                    describe_item(setup)
                )))?;
            }
            if report.made.is_empty() && report.failed.is_empty() {
                ctx.ui.note("nothing to create: everything exists");
            }
        }
    }
    for (setup, why) in &report.failed {
        ctx.ui
            .caution(&format!("could not create {}: {why}", describe_item(setup)));
    }
    if !forges.config().chooses_workflow() {
        let mut states = workflow.definition().states().iter();
        let kind = match states.any(|state| workflow.store().label_of(state).is_some()) {
            true => "labels",
            false => "fields",
        };
        ctx.ui.note(&format!(
            "Merges move issues once the store is configured: {}",
            command_line(["forge", "config", "set", "workflow.store", kind])
        ));
    }
    Ok(match report.failed.is_empty() {
        true => Exit::Ok,
        false => Exit::Failure,
    })
}

/// Describes an item to create: `the field State (Todo, Doing)`.
fn describe_item(setup: &SetupItem) -> String {
    let options = match setup.options.is_empty() {
        true => String::new(),
        false => format!(" ({})", setup.options.join(", ")),
    };
    format!("the {} {}{options}", setup.kind, setup.name)
}
