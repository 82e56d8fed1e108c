//! Checks: the pipelines of the repository's spindle (CI service) for a pull request's head commit.

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Capability, Checks, Error, ErrorKind, Outcome, PrId, Result, Timestamp, Warning,
    model::{Check, CheckLog, CheckStatus, ChecksReport, PullRequest},
    text::one_line,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Era, Origin, SpindleAnswers, Tangled, caps,
    dialect::Table,
    field_rename::{Answer, AnswerField},
    json_field::null_as_default,
    page_trail::{NextPage, PageTrail},
    pulls::{record::TangledPull, view::unread},
    records,
    repository::TangledRepository,
    xrpc_error,
};

/// Maximum page size of `sh.tangled.ci.queryPipelines`.
const PAGE: &str = "250";
/// Maximum number of pages. The pipelines of one commit fill fewer.
const MAX_PAGES: usize = 20;
/// Number of commits in one request: with 40 digits each, they fit into the URL limit of any
/// server.
const COMMITS: usize = 50;

/// An answer of `sh.tangled.ci.queryPipelines`, with the newest pipelines first.
#[derive(Debug, Deserialize)]
struct Pipelines {
    /// Missing from the answer, or `null`, if there are no pipelines.
    #[serde(default, deserialize_with = "null_as_default")]
    pipelines: Vec<Pipeline>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pipeline {
    #[serde(default, deserialize_with = "null_as_default")]
    commit: String,
    #[serde(default)]
    created_at: Option<Timestamp>,
    /// An open union in the lexicon, so unknown kinds of trigger are kept.
    #[serde(default)]
    trigger: Value,
    #[serde(default, deserialize_with = "null_as_default")]
    workflows: Vec<Workflow>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Workflow {
    name: String,
    status: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    started_at: Option<Timestamp>,
    #[serde(default)]
    finished_at: Option<Timestamp>,
}

impl Answer for Pipelines {
    type Names = SpindleAnswers;

    fn fields(names: &SpindleAnswers) -> Vec<AnswerField<'_>> {
        let workflow = AnswerField::from_names([
            &names.workflow_name,
            &names.workflow_status,
            &names.workflow_error,
            &names.workflow_started,
            &names.workflow_finished,
        ]);
        let mut pipeline =
            AnswerField::from_names([&names.commit, &names.created_at, &names.trigger]);
        pipeline.push(AnswerField::of(&names.workflows, workflow));
        vec![AnswerField::of(&names.pipelines, pipeline)]
    }
}

#[async_trait]
impl Checks for Tangled {
    async fn checks(&self, pr: &PrId) -> Result<ChecksReport> {
        let located = self.locate(pr).await?;
        if let Some(why) = unknown_checks_reason(&located.repository) {
            let instead = "look at the page of the pull request";
            return Err(Error::unsupported(Capability::Checks, why, instead));
        }
        self.checks_of(&located.repository, &located.pull).await
    }

    /// Returns no reasons, because a check's summary already has the reason from the spindle's
    /// status record.
    async fn check_reasons(&self, _: &PrId, checks: &[&Check]) -> Result<Vec<Option<String>>> {
        Ok(vec![None; checks.len()])
    }

    async fn check_log(&self, _: &PrId, _: &Check, _: usize) -> Result<Option<CheckLog>> {
        Err(caps::refusal(Capability::CheckLogs))
    }

    async fn rerun_failed_checks(&self, _: &PrId) -> Result<Outcome<Vec<Check>>> {
        Err(caps::refusal(Capability::ChecksRerun))
    }
}

/// Returns why the checks of a repository cannot be read; `None` if its spindle can be queried.
fn unknown_checks_reason(repository: &TangledRepository) -> Option<&'static str> {
    (repository.era == Era::Sh2025)
        .then_some("spindles list pipelines by repository DID, and this repository has none")
}

impl Tangled {
    async fn checks_of(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<ChecksReport> {
        let head = match recorded_head(pull) {
            Some(head) => head.to_owned(),
            None => {
                let patch = self.latest_patch(repository, pull).await?;
                patch.head().unwrap_or_default().to_owned()
            }
        };
        let pipelines = match self.spindle(repository).await? {
            Some(spindle) if !head.is_empty() => {
                self.pipelines(repository, spindle, &[&head]).await?
            }
            _ => Vec::new(),
        };
        let names = &self.settings.dialects.answers.spindle;
        let checks = pipelines.into_iter().flat_map(|p| p.into_checks(names));
        Ok(ChecksReport::of(head, checks.collect()))
    }

    /// Reads the checks section of a pull request's view. Returns `None` if checks of this
    /// repository cannot be read, or if it has no spindle. Without the patch of the newest round,
    /// the checks are unknown. The view's warning about the changes then has the cause.
    pub(crate) async fn checks_section(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Option<Result<ChecksReport>> {
        let has_spindle = !matches!(self.spindle(repository).await, Ok(None));
        if unknown_checks_reason(repository).is_some() || !has_spindle {
            return None;
        }
        if recorded_head(pull).is_none() && self.patch_for_view(repository, pull).await.is_err() {
            let why = "the head commit is not known";
            return Some(Err(Error::new(ErrorKind::Protocol, why)));
        }
        Some(self.checks_of(repository, pull).await)
    }

    /// Reads the checks of all list rows whose head commit is known. A request names at most
    /// [`COMMITS`] commits.
    pub(crate) async fn checks_of_rows(
        &self,
        repository: &TangledRepository,
        rows: &mut [PullRequest],
    ) {
        if unknown_checks_reason(repository).is_some() {
            return;
        }
        let heads: BTreeSet<String> = rows.iter().filter_map(|r| r.head_oid.clone()).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let asked = async {
            let mut pipelines = Vec::new();
            if let Some(spindle) = self.spindle(repository).await? {
                for heads in heads.chunks(COMMITS) {
                    let found = self.pipelines(repository, spindle.clone(), heads).await?;
                    pipelines.extend(found);
                }
            }
            Ok::<_, Error>(pipelines)
        };
        match asked.await {
            Ok(pipelines) => {
                let names = &self.settings.dialects.answers.spindle;
                for row in rows {
                    let Some(head) = row.head_oid.clone() else {
                        continue;
                    };
                    let of_head = pipelines.iter().filter(|p| p.commit == head).cloned();
                    let checks = of_head.flat_map(|p| p.into_checks(names)).collect();
                    row.checks = Some(ChecksReport::of(head, checks));
                }
            }
            Err(e) => rows
                .iter_mut()
                .for_each(|row| row.warnings.push(unread_checks(&e))),
        }
    }

    /// Returns the spindle of the repository, or `None` if the owner has chosen none.
    pub(crate) async fn spindle(&self, repository: &TangledRepository) -> Result<Option<Origin>> {
        if repository.era == Era::Org10 {
            return self.spindle_of_manifest(repository).await.map(Some);
        }
        let named = repository.record.text(&self.fields().repo_spindle);
        let named = named.map(str::trim).filter(|host| !host.is_empty());
        named
            .map(|host| Origin::of_host(host, self.settings.reach))
            .transpose()
    }

    /// Returns the spindle that the manifest of a Tangled 1.0 repository names.
    ///
    /// # Errors
    /// `unsupported` if there is none: the name of the field is known from prose alone, so a
    /// manifest without it does not prove that there are no checks.
    async fn spindle_of_manifest(&self, repository: &TangledRepository) -> Result<Origin> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let manifest = records::find(&knot, did, &names.org.manifest, "self").await?;
        let field = &*names.manifest.spindle;
        let named = manifest.as_ref().and_then(|manifest| {
            let nested = || manifest.text_at(&[&*names.manifest.in_repo, field]);
            manifest.text(field).or_else(nested)
        });
        let Some(named) = named.map(str::trim).filter(|named| !named.is_empty()) else {
            let why = format!("the repository's manifest has no field `{field}` with its spindle");
            let hint = "look at the page of the pull request; where the manifest has another name, \
                        set `dialect.manifest_spindle` in the configuration of the host";
            return Err(Error::unsupported(Capability::Checks, &why, hint));
        };
        let host = named.strip_prefix("did:web:").unwrap_or(named);
        Origin::of_host(&host.replace("%3A", ":"), self.settings.reach)
    }

    async fn pipelines(
        &self,
        repository: &TangledRepository,
        spindle: Origin,
        heads: &[&str],
    ) -> Result<Vec<Pipeline>> {
        let spindle = self.identities.service(spindle).await?;
        let spindle = spindle.patient(self.settings.account_wait);
        let names = &self.settings.dialects;
        let method = match repository.era {
            Era::Org10 => &names.methods.spindle.org_pipelines,
            Era::Sh2025 | Era::Sh2026 => &names.methods.spindle.pipelines,
        };
        let of = &names.inputs.spindle;
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        let mut trail = PageTrail::new(MAX_PAGES);
        let why = loop {
            let mut params = vec![(&*of.repo, repository.target()), ("limit", PAGE)];
            params.extend(heads.iter().map(|head| (&*of.commits, *head)));
            if let Some(cursor) = &cursor {
                params.push(("cursor", cursor));
            }
            let answers = &names.answers.spindle;
            let page: Pipelines = spindle.ask(method, &params, answers).await?;
            let of_heads = page.pipelines.into_iter();
            found.extend(of_heads.filter(|p| heads.contains(&p.commit.as_str())));
            match trail.next(page.cursor, 1) {
                NextPage::End => return Ok(found),
                NextPage::Cut { why, .. } => break why,
                NextPage::At(next) => cursor = Some(next),
            }
        };
        let why = format!("the list of pages is endless: {why}");
        Err(xrpc_error::garbled(spindle.origin(), method, &why, false))
    }
}

/// Returns the head commit that the record of the newest round names.
fn recorded_head(pull: &TangledPull) -> Option<&str> {
    pull.latest().and_then(|(_, round)| round.head())
}

/// The warning of a view or a row whose spindle did not answer.
pub(crate) fn unread_checks(error: &Error) -> Warning {
    unread("the checks", error).of_section("checks")
}

impl Pipeline {
    fn into_checks(self, names: &SpindleAnswers) -> Vec<Check> {
        let kind = self.trigger.get("$type").and_then(Value::as_str);
        let event = kind
            .and_then(|kind| kind.rsplit('#').next())
            .map(|kind| one_line(kind).into_owned());
        let begun = self.created_at;
        let check = |workflow: Workflow| {
            let (status, word) = status(&workflow.status, names);
            let mut check = Check::new(workflow.name, status);
            check.conclusion = Some(word.to_uppercase());
            check.event = event.clone();
            check.started_at = workflow.started_at.or(begun);
            check.completed_at = workflow.finished_at;
            check.summary = workflow.error.filter(|e| !e.is_empty());
            check
        };
        self.workflows.into_iter().map(check).collect()
    }
}

/// Maps a state of `sh.tangled.pipeline.status` to a check status and the default name of the
/// state. An unknown state counts as unfinished, so that it never counts as success.
fn status<'a>(word: &'a str, names: &SpindleAnswers) -> (CheckStatus, &'a str) {
    let usual = SpindleAnswers::usual();
    [
        (&names.success, &usual.success, CheckStatus::Success),
        (&names.failed, &usual.failed, CheckStatus::Failure),
        (&names.timeout, &usual.timeout, CheckStatus::Failure),
        (&names.cancelled, &usual.cancelled, CheckStatus::Cancelled),
    ]
    .into_iter()
    .find(|(now, ..)| **now == word)
    .map_or((CheckStatus::Pending, word), |(_, usual, status)| {
        (status, &**usual)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field_rename::tests::{assert_reads_configured_names, other_names};

    #[test]
    fn spindle_answer_is_read_by_configured_names() {
        let at = "2026-11-01T00:00:00Z";
        let workflow = json!({
            "name": "n", "status": "s", "error": "e", "startedAt": at, "finishedAt": at,
        });
        let pipeline =
            json!({ "commit": "c", "createdAt": at, "trigger": "t", "workflows": [workflow] });
        let sample = json!({ "pipelines": [pipeline] });
        assert_reads_configured_names::<Pipelines>(&other_names().spindle, &sample);
    }
}
