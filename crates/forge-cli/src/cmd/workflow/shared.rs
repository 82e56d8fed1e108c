//! Parts shared by commands on workflow issues.

use clap::Args;
use forge::workflow::{
    Claim, DEFAULT_LEASE_S, Definition, LeftIssue, Member, MergeReport, MergeStep, Recommendation,
    StateChange, Workflow, name_in,
};
use forge_core::{
    Error, Outcome, PrKey, RepoId, Result, Warning,
    model::{IssueId, IssueReason},
    text,
};

use crate::{
    cmd::issue,
    ctx::Ctx,
    exit::Exit,
    ui::json::{Json, JsonField, Selection},
};

/// Declares the table of a command's `--json` fields.
macro_rules! fields {
    ($($vis:vis $table:ident of $kind:ty: $($name:literal, $get:expr;)*)*) => {
        $($vis const $table: &[$crate::ui::json::JsonField<$kind>] =
            &[$($crate::ui::json::JsonField { name: $name, needs: (), get: $get },)*];)*
    };
}
pub(super) use fields;

/// The issue argument of a command.
#[derive(Args, Clone, Debug, Default)]
pub struct IssueArg {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
}

impl IssueArg {
    /// Opens the issue and the workflow of its repository.
    ///
    /// # Errors
    ///
    /// `invalid_input` for an invalid issue; `config` for an unusable workflow.
    pub(super) async fn open(&self, ctx: &Ctx, flag: Option<&str>) -> Result<(Workflow, IssueId)> {
        let selected = issue::shared::select(ctx, flag, &self.selector).await?;
        let workflow = ctx.forges()?.workflow(&selected.repo).await?;
        Ok((workflow, selected.id))
    }
}

/// Holder and duration of a claim.
#[derive(Args, Clone, Debug, Default)]
pub struct HolderArgs {
    /// The holder's name in the claim [default: the account]
    #[arg(long, value_name = "name")]
    pub holder: Option<String>,
    /// Duration of the claim without a heartbeat, in seconds.
    #[arg(
        long,
        value_name = "seconds",
        help = format!(
            "Duration of the claim without a heartbeat, in seconds [default: {DEFAULT_LEASE_S}]"
        )
    )]
    pub lease: Option<u64>,
}

/// Returns the command of `--command`.
///
/// # Errors
///
/// `invalid_input` (field `command`) if the flag is missing; the error lists the workflow's
/// commands.
pub(super) fn command_named<'n>(
    definition: &Definition,
    named: Option<&'n str>,
) -> Result<&'n str> {
    named.ok_or_else(|| {
        let names = definition.commands.keys();
        let names: Vec<String> = names.map(|name| definition.full_name(name)).collect();
        let message = format!(
            "--command is missing: the commands of the workflow are {}",
            names.join(", ")
        );
        Error::invalid("command", message).with_hint(
            "retry with --command and one of them; `forge workflow show` lists the states of each",
        )
    })
}

/// Returns an issue's name: `#7` in the repository `own`, `owner/name#7` in another one, or its
/// at-uri.
pub(super) fn issue_name(id: &IssueId, own: &RepoId) -> String {
    text::one_line(&name_in(id, own)).into_owned()
}

/// Returns the JSON members that identify an issue, followed by `others`.
pub(super) fn issue_json(id: &IssueId, others: Vec<(&'static str, Json)>) -> Json {
    let mut members = vec![("id", id_json(id)), ("number", number_json(id))];
    members.extend(others);
    Json::Object(members)
}

pub(super) fn id_json(id: &IssueId) -> Json {
    Json::text(id.to_string())
}

pub(super) fn number_json(id: &IssueId) -> Json {
    match id.key {
        PrKey::Number(number) => Json::Number(number),
        PrKey::Record(_) => Json::Null,
    }
}

pub(super) fn json_or_null(value: &Option<String>) -> Json {
    Json::maybe(value.as_ref(), |value| Json::text(value))
}

pub(super) fn count(number: usize) -> Json {
    Json::Number(number as u64)
}

pub(super) fn member_json(member: &Member) -> Json {
    issue_json(&member.id, member_fields(member))
}

pub(super) fn member_fields(member: &Member) -> Vec<(&'static str, Json)> {
    vec![
        ("title", Json::text(&member.title)),
        ("workflowState", json_or_null(&member.state)),
        ("estimate", json_or_null(&member.estimate)),
        ("priority", json_or_null(&member.priority)),
    ]
}

pub(super) fn claim_json(claim: &Claim) -> Json {
    Json::Object(vec![
        ("id", Json::text(&claim.id)),
        ("holder", Json::text(&claim.holder)),
        ("command", Json::text(&claim.command)),
        ("since", Json::text(claim.since.to_string())),
        ("renewedAt", Json::text(claim.renewed_at.to_string())),
        ("expiresAt", Json::text(claim.expires_at().to_string())),
        ("leaseSeconds", Json::Number(claim.lease_s)),
    ])
}

pub(super) fn change_json(change: &StateChange) -> Json {
    Json::Object(
        CHANGE_FIELDS
            .iter()
            .map(|field| (field.name, (field.get)(change)))
            .collect(),
    )
}

/// Returns the serde name of a recommendation, such as `wait`.
pub(super) const fn recommendation_name(recommendation: Recommendation) -> &'static str {
    match recommendation {
        Recommendation::Proceed => "proceed",
        Recommendation::Wait => "wait",
        Recommendation::Escalate => "escalate",
    }
}

pub(super) fn state_word(state: &Option<String>) -> &str {
    state.as_deref().unwrap_or("no state")
}

fields! {
    pub(super) CHANGE_FIELDS of StateChange:
        "claim", |c| Json::maybe(c.claim.as_ref(), claim_json);
        "closed", |c| Json::maybe(c.closed.as_ref(), |closed| Json::Bool(*closed));
        "command", |c| Json::text(&c.command);
        "endedClaim", |c| json_or_null(&c.ended_claim);
        "id", |c| id_json(&c.id);
        "moved", |c| Json::Bool(c.moved);
        "newState", |c| Json::text(&c.new_state);
        "number", |c| number_json(&c.id);
        "previousState", |c| Json::text(&c.previous_state);
        "resolvedFrom", |c| json_or_null(&c.resolved_from);
        "title", |c| Json::text(&c.title);
    pub(super) REPORT_FIELDS of MergeReport:
        "failed", |r| Json::list(&r.failed, left_json);
        "skipped", |r| Json::list(&r.skipped, left_json);
        "transitioned", |r| Json::list(&r.transitioned, step_json);
}

fn left_json(left: &LeftIssue) -> Json {
    Json::Object(vec![
        ("issue", Json::text(&left.issue)),
        ("reason", Json::text(&left.reason)),
    ])
}

fn step_json(step: &MergeStep) -> Json {
    issue_json(
        &step.id,
        vec![
            ("fromState", json_or_null(&step.from)),
            ("toState", json_or_null(&step.to)),
            ("closed", Json::Bool(step.closes.is_some())),
            (
                "closedAs",
                Json::maybe(step.closes.as_ref(), |reason| {
                    Json::text(match reason {
                        IssueReason::Completed => "completed",
                        IssueReason::NotPlanned => "not_planned",
                        IssueReason::Duplicate => "duplicate",
                        IssueReason::Reopened => "reopened",
                    })
                }),
            ),
        ],
    )
}

/// Returns the `--json` selection of a command that gh does not have: without a value, all fields.
pub(super) fn selection<T>(
    json: &crate::args::output::JsonArgs,
    table: &'static [JsonField<T>],
) -> Result<Option<Selection<T>>> {
    Selection::from_args(&json.or_all(table.iter().map(|f| f.name)), table)
}

/// Formats a state change and its claim, such as `#3: In Review -> Done (closed), claim …`.
pub(super) fn change_line(change: &StateChange) -> String {
    let id = issue_name(&change.id, &change.id.repo);
    let mut line = format!("{id}: {}", change.previous_state);
    if change.previous_state != change.new_state {
        line.push_str(&format!(" -> {}", change.new_state));
    }
    match change.closed {
        Some(true) => line.push_str(" (closed)"),
        Some(false) => line.push_str(" (reopened)"),
        None => {}
    }
    if let Some(claim) = &change.claim {
        let until = claim.expires_at();
        line.push_str(&format!(
            ", claim {} of {} until {until}",
            claim.id, claim.holder
        ));
    }
    line
}

/// Prints the result of a move. An issue that did not move is a failure.
pub(super) fn show_change(
    ctx: &Ctx,
    selection: Option<&Selection<StateChange>>,
    outcome: Outcome<StateChange>,
) -> Result<Exit> {
    let change = ctx.ui.outcome(outcome)?;
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&change))?,
        None => ctx.ui.line(&text::one_line(&change_line(&change)))?,
    }
    Ok(match change.moved {
        true => Exit::Ok,
        false => Exit::Failure,
    })
}

/// Warning for a group (an issue with its linked issues) that was not read in full.
pub(super) const NOT_ALL_READ: &str = "not all issues of the group could be read";

pub(super) fn warn(ctx: &Ctx, warnings: &[Warning]) {
    for warning in warnings {
        ctx.ui.warning(warning);
    }
}
