use forge_core::model::CheckStatus;
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{self, Position, cursor},
    output::{CheckOut, checks_word, word},
    server::{Answer, Call, Effect, Spec, Stop, Tool},
};

pub(super) struct PrChecks;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Failed and cancelled ones alone
    #[serde(default)]
    failed_only: bool,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Out {
    commit: String,
    /// success, failure, pending or neutral
    overall: String,
    total: usize,
    checks: Vec<CheckOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Tool for PrChecks {
    const SPEC: Spec = Spec {
        name: "pr_checks",
        title: "Read the checks",
        description: "Every check of the head commit, failed ones first with their summary and \
                      page. Waits for nothing: call again while some are pending.",
        effect: Effect::Read,
    };
    type Args = Args;
    type Out = Out;

    async fn run(call: &Call, args: Args) -> Result<Answer<Out>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let report = target.repo.checks(&target.id).await?;
        let failed = |s| matches!(s, CheckStatus::Failure | CheckStatus::Cancelled);
        let chosen: Vec<_> = report
            .checks
            .iter()
            .filter(|c| !args.failed_only || failed(c.status))
            .collect();
        let outs: Vec<CheckOut> = chosen
            .iter()
            .map(|c| CheckOut::of(c, &call.cleaner))
            .collect();
        let lines: Vec<String> = outs
            .iter()
            .zip(&chosen)
            .map(|(o, c)| o.text(c.status, false))
            .collect();
        let bound = (target.id.to_string(), args.failed_only);
        let from = match &args.cursor {
            None => Position::default(),
            Some(text) => {
                Position::from_text(cursor::read(Self::SPEC.name, &bound, &report.commit, text)?)
                    .unwrap_or_default()
            }
        };
        let top = format!(
            "checks of {} at {}: {}\n",
            target.id,
            report.commit,
            checks_word(&report)
        );
        let fitted = budget::fit(&top, &lines, from, budget::DEFAULT_CHARS);
        let next = fitted
            .next
            .map(|at| cursor::make(Self::SPEC.name, &bound, &report.commit, &at.to_text()));
        let tail = budget::tail("checks", &fitted, outs.len(), next.as_deref());
        let total = outs.len();
        Ok(Answer {
            text: format!("{}{tail}", fitted.text),
            data: Out {
                commit: report.commit.clone(),
                overall: word(&report.overall),
                total,
                checks: outs
                    .into_iter()
                    .skip(fitted.from)
                    .take(fitted.to - fitted.from)
                    .collect(),
                next_cursor: next,
            },
        })
    }
}
