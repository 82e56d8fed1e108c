use forge_core::{
    Error, ErrorKind, Retry, fingerprint,
    model::{Check, CheckStatus},
    text::strip_ansi,
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{self, Lengths, ResultPosition, cursor},
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec, seconds},
    content::{name_of, quote},
    output::{CheckCountsOut, CheckOut, Format, SectionItem, checks_word, serde_name},
};

pub(super) struct PrChecks;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrChecksInput {
    repo: Option<String>,
    number: String,
    /// Only failed and cancelled checks
    #[serde(default)]
    failed_only: bool,
    /// Also the end of failed checks' logs
    #[serde(default)]
    logs: bool,
    /// detailed adds URLs
    format: Option<Format>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PrChecksOut {
    commit: String,
    /// success, failure, pending or neutral
    overall: String,
    /// Counts of all checks
    counts: CheckCountsOut,
    /// Checks that match the request
    total: usize,
    /// Checks on this page
    checks: Vec<CheckOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Tool for PrChecks {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_checks",
        title: "Read the checks",
        description: "Every check of the head commit, failed ones first with summary and URL, \
                      and with logs=true the end of their logs. To wait: pr_context \
                      wait_for=checks.",
        effect: ToolEffect::Read,
    };
    type Args = PrChecksInput;
    type Out = PrChecksOut;

    async fn run(
        call: &CallContext,
        args: PrChecksInput,
    ) -> Result<ToolOutput<PrChecksOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let report = target.repo.checks(&target.id).await?;
        let failed = |s| matches!(s, CheckStatus::Failure | CheckStatus::Cancelled);
        let chosen: Vec<_> = report
            .checks
            .iter()
            .filter(|c| !args.failed_only || failed(c.status))
            .collect();
        let detailed = args.format == Some(Format::Detailed);
        let outs: Vec<CheckOut> = chosen
            .iter()
            .map(|c| CheckOut::of(c, &call.cleaner))
            .collect();
        let mut lines: Vec<String> = outs
            .iter()
            .map(|out| out.text(detailed, &call.cleaner))
            .collect();
        if args.logs {
            let failed: Vec<usize> = (0..chosen.len())
                .filter(|n| chosen.get(*n).is_some_and(|c| failed(c.status)))
                .collect();
            for (n, at) in failed.iter().enumerate() {
                if let (Some(check), Some(line)) = (chosen.get(*at), lines.get_mut(*at)) {
                    line.push_str(&log(call, &target, check, n).await?);
                }
            }
        }
        let bound = (
            target.id.to_string(),
            (args.failed_only, args.logs, detailed),
        );
        // A check moves within the list when it finishes. The cursor is therefore bound to the
        // earlier rows: if they have changed, the next page could skip a check that failed
        // meanwhile.
        let states: Vec<_> = chosen
            .iter()
            .map(|c| (&c.name, &c.workflow, &c.event, c.status))
            .collect();
        let before = |at: ResultPosition| fingerprint(&states.get(..at.block).unwrap_or_default());
        let from = match &args.cursor {
            None => ResultPosition::default(),
            Some(text) => cursor::unpin(
                cursor::read(Self::SPEC.name, &bound, &report.commit, text)?,
                cursor::SHOWN,
                before,
            )?,
        };
        let top = format!(
            "checks of {} at {}: {}\n",
            target.id,
            name_of(&report.commit),
            checks_word(&report)
        );
        let lengths: Vec<usize> = outs.iter().map(budget::length).collect();
        let (overall, counts) = (serde_name(&report.overall), CheckCountsOut::of(&report));
        let data = Lengths {
            always: budget::length(&(&report.commit, &overall, &counts)),
            blocks: &lengths,
        };
        let max = budget::chars(args.max_chars);
        let fitted = budget::fit_both(&top, &lines, data, from, max);
        let next = fitted.next.map(|at| {
            let at = cursor::pin(at, before(at));
            cursor::make(Self::SPEC.name, &bound, &report.commit, &at)
        });
        let tail = budget::tail("checks", &fitted, outs.len(), next.as_deref());
        let total = outs.len();
        Ok(ToolOutput {
            text: format!("{}{tail}", fitted.text),
            data: PrChecksOut {
                commit: report.commit.clone(),
                overall,
                counts,
                total,
                checks: outs
                    .into_iter()
                    .skip(fitted.begun.start)
                    .take(fitted.begun.len())
                    .collect(),
                next_cursor: next,
            },
        })
    }
}

/// Maximum number of logs per call.
const MAX_LOGS: usize = 5;

/// Maximum bytes of a log that are shown.
const MAX_LOG_BYTES: usize = 4_000;

/// Returns the end of a failed check's log, quoted, or the reason why there is no log.
async fn log(
    call: &CallContext,
    target: &PullTarget,
    check: &Check,
    n: usize,
) -> Result<String, Error> {
    if n >= MAX_LOGS {
        return Ok(format!(
            "  log: not read, because {MAX_LOGS} logs are above; see its page\n"
        ));
    }
    let total = u32::try_from(MAX_LOGS).ok();
    let done = u32::try_from(n + 1).unwrap_or_default();
    call.progress(done, total, "reading the logs of failed checks")
        .await;
    match target
        .repo
        .check_log(&target.id, check, MAX_LOG_BYTES)
        .await
    {
        Ok(Some(log)) => {
            let what = if log.cut {
                "the end of its log"
            } else {
                "its log"
            };
            let text = call.cleaner.plain(strip_ansi(&log.text).trim_end());
            Ok(format!("  {what}:\n{}", quote(&text)))
        }
        Ok(None) => Ok("  log: the forge has no log of this check; see its page\n".to_owned()),
        Err(e) if is_log_failure(&e) => {
            let why = call.cleaner.line(e.message());
            let next = next(&e, e.hint().map(|hint| call.advise(hint).to_string()));
            Ok(format!("  log: not read{next}: {why}\n"))
        }
        Err(e) => Err(e),
    }
}

/// Returns the end of the line about a missing log: the time to wait, if the forge reports one, and
/// the hint.
fn next(e: &Error, hint: Option<String>) -> String {
    let wait = match e.retry() {
        Retry::After(wait) => format!("; wait {} s", seconds(wait)),
        _ => String::new(),
    };
    let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
    format!("{wait}{hint}")
}

/// Returns true if the failure concerns only the log, not the checks: missing rights, a forge
/// without logs, an unavailable log storage, or a rate limit.
fn is_log_failure(e: &Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::NotFound { .. }
            | ErrorKind::PermissionDenied { .. }
            | ErrorKind::Unsupported { .. }
            | ErrorKind::Upstream { .. }
            | ErrorKind::RateLimited { .. }
            | ErrorKind::Network
            | ErrorKind::Timeout { .. }
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use forge_core::{Capability, Error, ErrorKind, Retry};

    #[test]
    fn missing_log_does_not_fail_checks() {
        let upstream = ErrorKind::Upstream {
            status: 503,
            request_id: None,
        };
        let late = ErrorKind::Timeout {
            after: Duration::from_secs(30),
        };
        let slow = ErrorKind::RateLimited {
            bucket: "core".to_owned(),
            reset: None,
        };
        let limited =
            Error::new(slow.clone(), "slow down").with_retry(Retry::After(Duration::from_secs(40)));
        let said = super::next(&limited, Some("ask for less".to_owned()));
        assert_eq!(said, "; wait 40 s; ask for less");
        for (kind, stays) in [
            (upstream, true),
            (slow, true),
            (late, true),
            (ErrorKind::Network, true),
            (ErrorKind::Cancelled, false),
            (ErrorKind::Protocol, false),
        ] {
            let e = Error::new(kind, "no");
            assert_eq!(super::is_log_failure(&e), stays, "{e:?}");
        }
        // The CI runners of tangled (spindles) provide no logs, for example.
        let none = Error::unsupported(Capability::CheckLogs, "why", "instead");
        assert!(super::is_log_failure(&none));
    }
}
