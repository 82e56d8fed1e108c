//! Checks: check runs and commit statuses of the head commit, deduplicated and summed up.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forge_core::{
    Checks, Error, Hint, Noun, Outcome, PrId, Result,
    model::{ByteStream, Check, CheckLog, CheckStatus, ChecksReport, PrFields},
    text::one_line,
};
use futures::TryStreamExt;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::json;

use crate::{
    GitHub,
    api::{JSON, chunks},
    error,
    gql::{
        GqlDocument,
        types::{self as wire, Nodes},
    },
    pulls::repo_route,
    rerun::linked_run,
};

impl GitHub {
    /// Reads the URL of a pull request, and its checks.
    pub(crate) async fn page_and_checks(&self, pr: &PrId) -> Result<(String, ChecksReport)> {
        let pull = self.fetch(pr, PrFields::CHECKS | PrFields::ROW).await?;
        // An incomplete report of the checks must not look complete.
        if let Some(warning) = pull.warnings.first() {
            return Err(Error::new(
                forge_core::ErrorKind::Upstream {
                    status: 200,
                    request_id: None,
                },
                warning.message.clone(),
            )
            .with_hint(
                warning
                    .hint
                    .clone()
                    .unwrap_or_else(|| Hint::new("try again")),
            ));
        }
        let report = pull.checks;
        let report = report
            .ok_or_else(|| Error::not_found(Noun::Commit, format!("{pr} has no head commit")))?;
        Ok((pull.url, report))
    }
}

#[async_trait]
impl Checks for GitHub {
    async fn checks(&self, pr: &PrId) -> Result<ChecksReport> {
        let (_, report) = self.page_and_checks(pr).await?;
        Ok(report)
    }

    /// Reads why each of `checks` failed, in one request.
    async fn check_reasons(&self, pr: &PrId, checks: &[&Check]) -> Result<Vec<Option<String>>> {
        let ids = checks.iter().map(|check| check.id.as_str());
        let ids: Vec<&str> = ids.filter(|id| !id.is_empty()).collect();
        if ids.is_empty() {
            return Ok(vec![None; checks.len()]);
        }
        repo_route(&pr.repo)?;
        let text = GqlDocument::query("CheckReasons").text();
        let answer = self.api.query(&text, &json!({ "ids": ids })).await?;
        let found: RunNodes = self.api.require_complete(answer)?;
        let mut reasons: BTreeMap<String, String> = (found.nodes.into_iter().flatten())
            .filter_map(|mut run| Some((std::mem::take(&mut run.id), run.reason()?)))
            .collect();
        Ok(checks.iter().map(|c| reasons.remove(&c.id)).collect())
    }

    async fn rerun_failed_checks(&self, pr: &PrId) -> Result<Outcome<Vec<Check>>> {
        self.rerun_failed(pr).await
    }

    /// Reads a job's log. The route redirects to a storage host (docs.github.com, REST, "Download
    /// job logs for a workflow run").
    async fn check_log(&self, pr: &PrId, check: &Check, most: usize) -> Result<Option<CheckLog>> {
        let job = linked_run(check).and(check.url.as_deref());
        let Some(job) = job.and_then(job_of) else {
            return Ok(None);
        };
        let path = format!("{}/actions/jobs/{job}/logs", repo_route(&pr.repo)?);
        let (parts, body) = self.api.stream(&path, JSON).await?.into_parts();
        if parts.status.is_success() {
            let http = self.api.error_context(false).http;
            let log = end_of(chunks(body), most, |text| http.redact_all(text));
            return log.await.map(Some);
        }
        // Logs exist only after the job has ended, and expire later.
        if matches!(parts.status.as_u16(), 404 | 410) {
            return Err(Error::not_found(
                Noun::Other,
                format!(
                    "the log of {} does not exist yet, or has expired",
                    one_line(&check.name)
                ),
            )
            .with_hint("look at the page of the check, or run it again"));
        }
        let bytes = body
            .collect()
            .await
            .map(|b| b.to_bytes())
            .unwrap_or_default();
        Err(error::from_http(
            self.api.error_context(false),
            parts.status,
            &parts.headers,
            &bytes,
        ))
    }
}

/// Maximum number of messages in the text that tells why a check failed.
const MAX_MESSAGES: usize = 10;
const MAX_MESSAGE: usize = 500;
/// GitHub Actions' message for every failed step. It does not tell what failed.
const EXIT_CODE: &str = "Process completed with exit code";

#[derive(Deserialize)]
struct RunNodes {
    nodes: Vec<Option<wire::RunDetails>>,
}

impl wire::RunDetails {
    /// Returns the messages of level FAILURE, or else the names of the failed steps.
    fn reason(self) -> Option<String> {
        let notes = self.annotations.into_vec().into_iter().filter(|note| {
            note.annotation_level == "FAILURE" && !note.message.starts_with(EXIT_CODE)
        });
        let lines: Vec<String> = notes.take(MAX_MESSAGES).map(|note| note.line()).collect();
        if !lines.is_empty() {
            return Some(lines.join("\n"));
        }
        let failed = self.steps.into_vec().into_iter().filter(|step| {
            let conclusion = step.conclusion.as_deref().unwrap_or_default();
            run_status("COMPLETED", Some(conclusion)) == CheckStatus::Failure
        });
        let names: Vec<String> = failed.map(|s| one_line(&s.name).into_owned()).collect();
        (!names.is_empty()).then(|| format!("failed in step: {}", names.join(", ")))
    }
}

impl wire::Annotation {
    fn line(&self) -> String {
        let message = one_line(self.message.trim());
        let end = message.floor_char_boundary(MAX_MESSAGE);
        let message = message.get(..end).unwrap_or_default();
        let path = one_line(&self.path);
        match self.location.start.line {
            // GitHub Actions uses the path `.github` for messages without a file.
            _ if path == ".github" => message.to_owned(),
            0 => format!("{path}: {message}"),
            line => format!("{path}:{line}: {message}"),
        }
    }
}

/// Returns the job number in the URL of a check run: `…/actions/runs/<run>/job/<job>`.
fn job_of(url: &str) -> Option<u64> {
    let (_, rest) = url.split_once("/actions/runs/")?;
    let (run, job) = rest.split_once("/job/")?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let job = job.split(['?', '#', '/']).next()?;
    (digits(run) && digits(job)).then(|| job.parse().ok())?
}

/// Reads the whole log and keeps its last `most` bytes.
async fn end_of(
    mut body: ByteStream,
    most: usize,
    mask: impl FnOnce(&str) -> String,
) -> Result<CheckLog> {
    // `without_time` later removes the timestamps. They are a third of a typical log, so twice the
    // wanted size is kept.
    let room = most.saturating_mul(2);
    let mut kept: Vec<u8> = Vec::new();
    let mut cut = false;
    while let Some(chunk) = body.try_next().await? {
        kept.extend_from_slice(&chunk);
        // Keeps one byte more than `room`. If this byte is a line feed, the kept text starts at the
        // start of a line.
        if kept.len() > room.saturating_mul(2).max(64 * 1024) {
            kept.drain(..kept.len() - room - 1);
            cut = true;
        }
    }
    let lines = kept.split_inclusive(|b| *b == b'\n');
    let text: Vec<u8> = lines.flat_map(without_time).copied().collect();
    // A cut through a credential would leave a part that is not recognized, so credentials are
    // masked before the cut.
    let masked = mask(&String::from_utf8_lossy(&text));
    Ok(CheckLog::end_of(masked.as_bytes(), most, cut))
}

/// Removes GitHub Actions' timestamp from the start of a log line.
///
/// A timestamp is `2026-01-02T03:04:05.1234567Z `. The first line of a log also has a byte order
/// mark, which is removed too.
fn without_time(line: &[u8]) -> &[u8] {
    const TIME: &[u8] = b"0000-00-00T00:00:00.0000000Z ";
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let Some((time, rest)) = line.split_at_checked(TIME.len()) else {
        return line;
    };
    let fits = |(found, wanted): (&u8, &u8)| match wanted {
        b'0' => found.is_ascii_digit(),
        _ => found == wanted,
    };
    if time.iter().zip(TIME).all(fits) {
        rest
    } else {
        line
    }
}

/// Builds the report of a pull request's checks from its last commit.
///
/// - `unread`: GitHub's answer has an error for the field of the checks. The error matters only if
///   the answer has no checks.
/// - `unstable`: GitHub says that a check has not passed. The report is then incomplete if all
///   checks in the answer have passed.
pub(crate) fn section(
    head: Option<Nodes<wire::PullCommit>>,
    head_oid: Option<&str>,
    unread: bool,
    unstable: bool,
) -> ChecksReport {
    let lacks_commit = head.as_ref().is_none_or(Nodes::has_gaps);
    let commit = head.map(Nodes::into_vec).unwrap_or_default().pop();
    let is_unnamed = commit.as_ref().is_some_and(|c| c.commit.oid.0.is_none());
    let commit = commit.unwrap_or_default().commit;
    let oid = commit.oid.0;
    // Ignores checks of another commit: the head has moved, or the answer is wrong.
    let is_other = oid
        .as_deref()
        .zip(head_oid)
        .is_some_and(|(of, head)| of != head);
    let rollup = commit.status_check_rollup.filter(|_| !is_other);
    let has_state = rollup.as_ref().is_some_and(|r| r.state.is_some());
    let contexts = rollup.map(|r| r.contexts);
    // A commit without checks has no `statusCheckRollup`, so a missing rollup does not make the
    // report incomplete. A null entry in a rollup does: it is a check that the viewer may not see.
    let cut = match &contexts {
        None => unread || is_other || lacks_commit || is_unnamed,
        // Checks of an unnamed commit may be those of another head.
        Some(all) => is_unnamed || all.next().is_some() || all.has_gaps(),
    };
    let all = contexts.map(Nodes::into_vec).unwrap_or_default();
    let lacks_result = all.iter().any(lacks_result);
    let checks: Vec<Check> = all.into_iter().map(check).collect();
    // A rollup has a state only if the commit has a check. A state without checks therefore means
    // that the answer lacks checks.
    let lacks_all = has_state && checks.is_empty();
    let passes = |c: &Check| matches!(c.status, CheckStatus::Success | CheckStatus::Skipped);
    let lacks_unstable = unstable && checks.iter().all(passes);
    let commit = head_oid.map(str::to_owned).or(oid);
    let report = ChecksReport::of(commit.unwrap_or_default(), checks);
    match cut || lacks_result || lacks_all || lacks_unstable {
        true => report.cut(),
        false => report,
    }
}

/// Maps the status of a check run. A run that could not start never finishes, so it counts as
/// failed. A run with the conclusion `STALE` counts as pending, as in gh.
fn run_status(status: &str, conclusion: Option<&str>) -> CheckStatus {
    match (status, conclusion.unwrap_or_default()) {
        ("COMPLETED", "SUCCESS") => CheckStatus::Success,
        ("COMPLETED", "NEUTRAL" | "SKIPPED") => CheckStatus::Skipped,
        ("COMPLETED", "CANCELLED") => CheckStatus::Cancelled,
        ("COMPLETED", "FAILURE" | "TIMED_OUT" | "ACTION_REQUIRED" | "STARTUP_FAILURE") => {
            CheckStatus::Failure
        }
        _ => CheckStatus::Pending,
    }
}

/// Returns whether the answer lacks the result of a check that has ended.
fn lacks_result(c: &wire::Check) -> bool {
    match c.kind.as_str() {
        "StatusContext" => c.state.is_empty(),
        _ => c.status.is_empty() || c.status == "COMPLETED" && c.conclusion.is_none(),
    }
}

fn check(c: wire::Check) -> Check {
    if c.kind == "StatusContext" {
        let status = match c.state.as_str() {
            "SUCCESS" => CheckStatus::Success,
            "FAILURE" | "ERROR" => CheckStatus::Failure,
            _ => CheckStatus::Pending,
        };
        let mut check = Check::new(c.context, status);
        check.conclusion = Some(c.state);
        check.url = c.target_url.filter(|u| !u.is_empty());
        check.started_at = c.created_at;
        check.summary = c.description.filter(|d| !d.is_empty());
        check.required = c.is_required;
        return check;
    }
    let app = c.check_suite.app.and_then(|app| app.database_id);
    let run = c.check_suite.workflow_run;
    let mut check = Check::new(c.name, run_status(&c.status, c.conclusion.as_deref()));
    check.id = c.id;
    check.progress = Some(c.status);
    check.conclusion = c.conclusion;
    check.event = run
        .as_ref()
        .map(|r| r.event.clone())
        .filter(|e| !e.is_empty());
    check.run_url = run
        .as_ref()
        .map(|r| r.url.clone())
        .filter(|u| !u.is_empty());
    check.workflow = run.map(|r| r.workflow.name).filter(|n| !n.is_empty());
    check.url = c.details_url.filter(|u| !u.is_empty());
    check.started_at = c.started_at;
    check.completed_at = c.completed_at;
    check.summary = c.title.filter(|t| !t.is_empty());
    check.required = c.is_required;
    check.app = app;
    check
}

#[cfg(test)]
mod tests {
    use forge_core::model::CheckRollup;
    use serde_json::{Value, json};

    use super::*;

    const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

    fn report(nodes: Value) -> ChecksReport {
        let head = json!({"nodes": [{"commit": {"oid": HEAD, "statusCheckRollup": {"contexts": {"nodes": nodes}}}}]});
        section(
            Some(serde_json::from_value(head).unwrap()),
            None,
            false,
            false,
        )
    }

    fn run(name: &str, status: &str, conclusion: Option<&str>) -> Value {
        json!({"__typename": "CheckRun", "name": name, "status": status, "conclusion": conclusion})
    }

    #[test]
    fn checks_of_another_commit_are_ignored() {
        let success = run("build", "COMPLETED", Some("SUCCESS"));
        let head = json!({"nodes": [{"commit": {"oid": HEAD, "statusCheckRollup": {"contexts": {"nodes": [success]}}}}]});
        let of = |oid| {
            section(
                Some(serde_json::from_value(head.clone()).unwrap()),
                Some(oid),
                false,
                false,
            )
        };
        assert_eq!(of(HEAD).overall, CheckRollup::Success);
        let other = of("def");
        assert_eq!((other.checks.len(), other.commit.as_str()), (0, "def"));
        assert_eq!(other.overall, CheckRollup::Pending);
    }

    #[test]
    fn rollup_with_missing_checks_is_truncated() {
        let (ok, open) = (
            run("a", "COMPLETED", Some("SUCCESS")),
            run("b", "QUEUED", None),
        );
        for (rollup, unstable, truncated) in [
            (
                json!({"state": "SUCCESS", "contexts": {"nodes": []}}),
                false,
                true,
            ),
            (
                json!({"state": "SUCCESS", "contexts": {"nodes": [ok]}}),
                false,
                false,
            ),
            (
                json!({"state": "SUCCESS", "contexts": {"nodes": [ok]}}),
                true,
                true,
            ),
            (
                json!({"state": "PENDING", "contexts": {"nodes": [ok, open]}}),
                true,
                false,
            ),
            (Value::Null, false, false),
            (Value::Null, true, true),
        ] {
            let head = json!({"nodes": [{"commit": {"oid": HEAD, "statusCheckRollup": rollup}}]});
            let head = serde_json::from_value(head).unwrap();
            let report = section(Some(head), Some(HEAD), false, unstable);
            assert_eq!(report.truncated, truncated, "{rollup} {unstable}");
        }
    }

    #[test]
    fn job_id_is_read_from_check_url() {
        let page = "https://github.com/o/r/actions/runs/12/job/345";
        for url in [
            page.to_owned(),
            format!("{page}?pr=7"),
            format!("{page}#step:3:1"),
        ] {
            assert_eq!(job_of(&url), Some(345), "{url}");
        }
        for url in [
            "https://ci.example/345",
            "https://github.com/o/r/runs/345",
            "https://github.com/o/r/actions/runs/12",
            "https://github.com/o/r/actions/runs/x/job/345",
            "https://github.com/o/r/actions/runs/12/job/",
        ] {
            assert_eq!(job_of(url), None, "{url}");
        }
    }

    #[test]
    fn check_run_conclusions_map_to_status() {
        // C-000-5: the conclusions that block a merge
        // are failures.
        for (status, conclusion, wanted) in [
            ("COMPLETED", Some("SUCCESS"), CheckStatus::Success),
            ("COMPLETED", Some("NEUTRAL"), CheckStatus::Skipped),
            ("COMPLETED", Some("SKIPPED"), CheckStatus::Skipped),
            ("COMPLETED", Some("STALE"), CheckStatus::Pending),
            ("COMPLETED", Some("CANCELLED"), CheckStatus::Cancelled),
            ("COMPLETED", Some("FAILURE"), CheckStatus::Failure),
            ("COMPLETED", Some("TIMED_OUT"), CheckStatus::Failure),
            ("COMPLETED", Some("ACTION_REQUIRED"), CheckStatus::Failure),
            ("COMPLETED", Some("STARTUP_FAILURE"), CheckStatus::Failure),
            ("IN_PROGRESS", None, CheckStatus::Pending),
            ("QUEUED", None, CheckStatus::Pending),
            ("REQUESTED", None, CheckStatus::Pending),
            ("WAITING", None, CheckStatus::Pending),
            ("PENDING", None, CheckStatus::Pending),
        ] {
            assert_eq!(
                report(json!([run("a", status, conclusion)])).checks[0].status,
                wanted,
                "{conclusion:?}"
            );
        }
    }

    #[test]
    fn commit_status_states_map_to_status() {
        for (state, wanted) in [
            ("SUCCESS", CheckStatus::Success),
            ("FAILURE", CheckStatus::Failure),
            ("ERROR", CheckStatus::Failure),
            ("PENDING", CheckStatus::Pending),
            ("EXPECTED", CheckStatus::Pending),
        ] {
            let got =
                report(json!([{"__typename": "StatusContext", "context": "ci", "state": state}]));
            assert_eq!(
                (got.checks[0].status, got.checks[0].name.as_str()),
                (wanted, "ci")
            );
        }
    }

    #[test]
    fn newest_check_per_name_workflow_event_is_kept() {
        // C-000-5: a check that ran twice counts once.
        let run = |event: &str, at: &str, conclusion: &str| {
            json!({"__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": conclusion,
                   "startedAt": at, "checkSuite": {"workflowRun": {"event": event, "workflow": {"name": "CI"}}}})
        };
        let got = report(json!([
            run("push", "2026-01-01T00:00:02Z", "SUCCESS"),
            run("push", "2026-01-01T00:00:01Z", "FAILURE"),
            run("pull_request", "2026-01-01T00:00:01Z", "SUCCESS"),
        ]));
        assert_eq!(got.checks.len(), 2);
        assert_eq!(got.overall, CheckRollup::Success);
    }

    #[test]
    fn checks_determine_the_overall_status() {
        let (ok, bad) = (
            run("a", "COMPLETED", Some("SUCCESS")),
            run("b", "COMPLETED", Some("FAILURE")),
        );
        let (open, off) = (
            run("c", "QUEUED", None),
            run("d", "COMPLETED", Some("CANCELLED")),
        );
        let skipped = run("e", "COMPLETED", Some("SKIPPED"));
        for (nodes, wanted) in [
            (json!([]), CheckRollup::Neutral),
            (json!([ok, skipped]), CheckRollup::Success),
            (json!([ok, open]), CheckRollup::Pending),
            (json!([ok, open, bad]), CheckRollup::Failure),
            (json!([ok, off]), CheckRollup::Failure),
        ] {
            assert_eq!(report(nodes).overall, wanted);
        }
        let names: Vec<_> = report(json!([ok, open, bad, off, skipped]))
            .checks
            .into_iter()
            .map(|c| c.name)
            .collect();
        assert_eq!(names, ["b", "d", "c", "a", "e"]);
    }
}
