//! `forge workflow position`: the phase of a group, which is an issue with its linked issues.

use clap::Args;
use forge::workflow::{GroupView, Member, Position};
use forge_core::{RepoId, Result, model::IssueId, text};

use super::shared::{
    IssueArg, NOT_ALL_READ, fields, id_json, issue_json, issue_name, json_or_null, member_json,
    recommendation_name, selection, state_word, warn,
};
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::{
        json::Json,
        table::{self, Cell, Column},
    },
};

/// `forge workflow position`
#[derive(Args, Debug)]
pub struct WorkflowPositionArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

type PositionView = (Position, GroupView);

fields! {
    FIELDS of PositionView:
        "convergence", |(p, _)| Json::Object(vec![
            ("required", Json::Bool(p.convergence.required)),
            ("met", Json::Bool(p.convergence.met)),
            ("blocking", Json::list(&p.convergence.blocking, |m| issue_json(&m.id, vec![
                ("title", Json::text(&m.title)),
                ("state", json_or_null(&m.state)),
            ]))),
        ]);
        "groupPrimary", |(p, g)| {
            Json::maybe(g.group.primary.as_ref().filter(|_| p.is_group), |id| {
                issue_json(id, Vec::new())
            })
        };
        "isGroup", |(p, _)| Json::Bool(p.is_group);
        "issues", |(_, g)| Json::list(&g.issues, member_json);
        "needsHuman", |(p, _)| Json::list(&p.needs_human, id_json);
        "phase", |(p, _)| Json::text(&p.phase);
        "reason", |(p, _)| Json::text(&p.reason);
        "recommendation", |(p, _)| Json::text(recommendation_name(p.recommendation));
        "remainingPhases", |(p, _)| Json::list(&p.remaining_phases, |phase| Json::text(phase));
        "truncated", |(_, g)| Json::Bool(g.group.truncated);
        "unknownStates", |(p, _)| Json::list(&p.unknown_states, |state| Json::text(state));
}

const MEMBERS: &[Column] = &[
    Column {
        title: "ISSUE",
        shrinks: false,
    },
    Column {
        title: "STATE",
        shrinks: false,
    },
    Column {
        title: "ESTIMATE",
        shrinks: false,
    },
    Column {
        title: "PRIORITY",
        shrinks: false,
    },
    Column {
        title: "TITLE",
        shrinks: true,
    },
];

/// Formats the members of a group as a table. `own` is the repository whose issues are named by
/// their number only.
pub(super) fn member_table(ctx: &Ctx, members: &[Member], own: &RepoId) -> String {
    let cell = |text: &str| Cell::plain(text::one_line(text));
    let rows = members.iter().map(|member| {
        vec![
            cell(&issue_name(&member.id, own)),
            cell(state_word(&member.state)),
            cell(member.estimate.as_deref().unwrap_or_default()),
            cell(member.priority.as_deref().unwrap_or_default()),
            cell(&member.title),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    table::render(MEMBERS, &rows, ctx.ui.table_width(), ctx.ui.palette())
}

/// Prints the phase of the issue's group.
///
/// # Errors
///
/// Fails if the issue cannot be read.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowPositionArgs) -> Result<Exit> {
    let selection = selection(&args.json, FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let found = workflow.position(&id).await?;
    warn(ctx, &found.1.warnings);
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.object(&found))?;
        return Ok(Exit::Ok);
    }
    let (position, group) = &found;
    // The definition, and with it phase and reason, may come from another person. Therefore neither
    // of them may add a line.
    let (phase, reason) = (&position.phase, &position.reason);
    let mut page = format!("{}: {}\n", text::one_line(phase), text::one_line(reason));
    let mut line = |what: &str, items: Vec<String>| {
        if !items.is_empty() {
            let items: Vec<_> = items.iter().map(|item| text::one_line(item)).collect();
            page.push_str(&format!("{what}: {}\n", items.join(", ")));
        }
    };
    let name = |other: &IssueId| issue_name(other, &id.repo);
    let blocking = position.convergence.blocking.iter();
    let blocking = blocking.map(|m| format!("{} ({})", name(&m.id), state_word(&m.state)));
    line("waits for", blocking.collect());
    line(
        "needs a person",
        position.needs_human.iter().map(name).collect(),
    );
    line("unknown states", position.unknown_states.clone());
    line("phases left", position.remaining_phases.clone());
    line(
        "recommendation",
        vec![recommendation_name(position.recommendation).to_owned()],
    );
    if group.group.truncated {
        page.push_str(NOT_ALL_READ);
        page.push('\n');
    }
    ctx.ui.page(&format!(
        "{page}\n{}",
        member_table(ctx, &group.issues, &id.repo)
    ))?;
    Ok(Exit::Ok)
}
