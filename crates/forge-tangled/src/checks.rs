//! Checks: the pipelines that the repository's spindle ran for the head of the newest round.

use async_trait::async_trait;
use forge_core::{
    Capability, Checks, Error, PrId, Result, Timestamp,
    model::{Check, CheckLog, CheckStatus, ChecksReport},
    text::one_line,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{Era, Origin, Tangled, caps, fault, repository::Repository};

/// The most pipelines that one question gets (`sh.tangled.ci.queryPipelines`).
const PAGE: &str = "250";
/// More pages than the pipelines of one commit fill.
const PAGES_MOST: usize = 20;

/// An answer of `sh.tangled.ci.queryPipelines`; the newest come first.
#[derive(Deserialize)]
struct Pipelines {
    /// Left out where there are none.
    #[serde(default)]
    pipelines: Vec<Pipeline>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pipeline {
    #[serde(default)]
    commit: String,
    #[serde(default)]
    created_at: Option<Timestamp>,
    /// An open union: kinds that nobody has seen yet are kept.
    #[serde(default)]
    trigger: Value,
    #[serde(default)]
    workflows: Vec<Workflow>,
}

#[derive(Deserialize)]
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

#[async_trait]
impl Checks for Tangled {
    async fn checks(&self, pr: &PrId) -> Result<ChecksReport> {
        let located = self.locate(pr).await?;
        let why = match located.repository.era {
            Era::Org10 => Some("how a spindle of Tangled 1.0 is asked for pipelines was not seen"),
            Era::Sh2025 => Some("this repository has no DID of its own to ask its spindle for"),
            Era::Sh2026 => None,
        };
        if let Some(why) = why {
            let instead = "look at the page of the pull request";
            return Err(Error::unsupported(Capability::Checks, why, instead));
        }
        let patch = self
            .latest_patch(&located.repository, &located.pull)
            .await?;
        let head = patch.head().unwrap_or_default().to_owned();
        let checks = match self.spindle(&located.repository)? {
            Some(spindle) if !head.is_empty() => {
                self.pipelines(&located.repository, spindle, &head).await?
            }
            _ => Vec::new(),
        };
        Ok(ChecksReport::of(head, checks))
    }

    async fn check_log(&self, _: &PrId, _: &Check, _: usize) -> Result<Option<CheckLog>> {
        Err(caps::refusal(Capability::CheckLogs))
    }
}

impl Tangled {
    /// The service that runs the repository's pipelines; `None` where none was chosen.
    fn spindle(&self, repository: &Repository) -> Result<Option<Origin>> {
        let named = repository.record.text("spindle");
        let named = named.map(str::trim).filter(|host| !host.is_empty());
        named
            .map(|host| Origin::of_host(host, self.settings.reach))
            .transpose()
    }

    async fn pipelines(
        &self,
        repository: &Repository,
        spindle: Origin,
        head: &str,
    ) -> Result<Vec<Check>> {
        let spindle = self.identities.service(spindle).await?;
        let mut checks = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MOST {
            let mut params = vec![
                ("repo", repository.target()),
                ("commits", head),
                ("limit", PAGE),
            ];
            if let Some(cursor) = &cursor {
                params.push(("cursor", cursor));
            }
            let page: Pipelines = spindle
                .query("sh.tangled.ci.queryPipelines", &params)
                .await?;
            let of_head = page.pipelines.into_iter().filter(|p| p.commit == head);
            checks.extend(of_head.flat_map(Pipeline::into_checks));
            cursor = page.cursor.filter(|c| !c.is_empty());
            if cursor.is_none() {
                return Ok(checks);
            }
        }
        Err(fault::garbled(
            spindle.origin(),
            "sh.tangled.ci.queryPipelines",
            "its pages do not end",
            false,
        ))
    }
}

impl Pipeline {
    fn into_checks(self) -> Vec<Check> {
        let kind = self.trigger.get("$type").and_then(Value::as_str);
        let event = kind
            .and_then(|kind| kind.rsplit('#').next())
            .map(|kind| one_line(kind).into_owned());
        let begun = self.created_at;
        let check = |workflow: Workflow| Check {
            status: status(&workflow.status),
            progress: None,
            conclusion: Some(workflow.status.to_uppercase()),
            workflow: None,
            event: event.clone(),
            url: None,
            started_at: workflow.started_at.or(begun),
            completed_at: workflow.finished_at,
            summary: workflow.error.filter(|e| !e.is_empty()),
            required: None,
            name: workflow.name,
        };
        self.workflows.into_iter().map(check).collect()
    }
}

/// The words of `sh.tangled.pipeline.status`. One that is not known yet is taken for unfinished:
/// nobody may take it for a success.
fn status(word: &str) -> CheckStatus {
    match word {
        "success" => CheckStatus::Success,
        "failed" | "timeout" => CheckStatus::Failure,
        "cancelled" => CheckStatus::Cancelled,
        _ => CheckStatus::Pending,
    }
}
