//! Reads the history of an issue: the opening, then GitHub's timeline.

use forge_core::{
    Page, PageReq, Result,
    model::{IssueId, StatusEvent, StatusEventKind},
};
use serde::Deserialize;
use serde_json::json;

use super::{missing, sections::id_of, variables};
use crate::{
    GitHub,
    gql::{GqlDocument, types as wire},
    map,
    timeline::{TimelinePage, events_page},
};

const SCHEME: &str = "github-issue-history";

#[derive(Deserialize)]
struct RepositoryHistoryOf {
    repository: Option<IssueHistoryOf>,
}

#[derive(Deserialize)]
struct IssueHistoryOf {
    issue: Option<wire::Issue>,
}

impl GitHub {
    pub(super) async fn history_of(
        &self,
        id: &IssueId,
        page: PageReq,
    ) -> Result<Page<StatusEvent>> {
        let text = &GqlDocument::query("IssueTimeline").text();
        events_page(SCHEME, id.to_string(), page, |first, after| async move {
            let mut variables = variables(id)?;
            variables.insert("first".into(), json!(first));
            variables.insert("after".into(), json!(after));
            let mut answer = self
                .api
                .query::<RepositoryHistoryOf>(text, &variables.into())
                .await?;
            let found = answer.data.take().and_then(|d| d.repository?.issue);
            let issue = match found {
                Some(issue) => issue,
                None if answer.errors.is_empty() => return Err(missing(id)),
                None => return Err(self.api.first_error(&answer)),
            };
            let Some(nodes) = issue.timeline_items else {
                return Err(self.api.first_error(&answer));
            };
            let warnings = self
                .api
                .warnings(&answer, |_| ("a part of the history".to_owned(), None));
            let next = nodes.next();
            let events = nodes.into_vec().into_iter();
            Ok(TimelinePage {
                opened: StatusEvent::new(
                    format!("{}-opened", issue.id),
                    StatusEventKind::Opened,
                    map::actor(issue.author),
                    issue
                        .created_at
                        .unwrap_or_else(|| forge_core::Timestamp::from_unix(0)),
                ),
                events: events.filter_map(|e| self.event(id, e)).collect(),
                next,
                warnings,
            })
        })
        .await
    }

    fn event(&self, of: &IssueId, e: wire::IssueEvent) -> Option<StatusEvent> {
        let other = e.other.map(|other| {
            let id = id_of(&self.info.host, &of.repo, &other);
            match id.repo == of.repo {
                true => format!("#{}", other.number),
                false => id.to_string(),
            }
        });
        let other = other.unwrap_or_else(|| "an issue that cannot be seen".to_owned());
        let label = e.label.unwrap_or_default().name;
        let person = e.assignee.unwrap_or_default().login;
        let (kind, detail) = match e.kind.as_str() {
            "ClosedEvent" => {
                let reason = e.state_reason.map(|r| r.to_lowercase().replace('_', " "));
                (StatusEventKind::Closed, reason)
            }
            "ReopenedEvent" => (StatusEventKind::Reopened, None),
            "RenamedTitleEvent" => {
                let detail = format!("title: '{}' to '{}'", e.previous_title, e.current_title);
                (StatusEventKind::Edited, Some(detail))
            }
            "LabeledEvent" => (StatusEventKind::Labeled, Some(format!("+{label}"))),
            "UnlabeledEvent" => (StatusEventKind::Labeled, Some(format!("-{label}"))),
            "AssignedEvent" => (StatusEventKind::Assigned, Some(format!("+{person}"))),
            "UnassignedEvent" => (StatusEventKind::Assigned, Some(format!("-{person}"))),
            "ProjectV2ItemStatusChangedEvent" => {
                let detail = format!("Status: '{}' to '{}'", e.previous_status, e.status);
                (StatusEventKind::Related, Some(detail))
            }
            "IssueComment" => (StatusEventKind::Commented, None),
            kind => {
                let (_, what) = RELATED.iter().find(|(name, _)| *name == kind)?;
                (StatusEventKind::Related, Some(format!("{what}{other}")))
            }
        };
        let actor = map::actor(e.actor.or(e.author));
        let mut event = StatusEvent::new(e.id, kind, actor, e.created_at?);
        event.detail = detail;
        Some(event)
    }
}

/// The event types about relations between issues. The second text is put before the related issue.
const RELATED: &[(&str, &str)] = &[
    ("ParentIssueAddedEvent", "parent: +"),
    ("ParentIssueRemovedEvent", "parent: -"),
    ("SubIssueAddedEvent", "sub-issue: +"),
    ("SubIssueRemovedEvent", "sub-issue: -"),
    ("BlockedByAddedEvent", "blocked by: +"),
    ("BlockedByRemovedEvent", "blocked by: -"),
    ("BlockingAddedEvent", "blocking: +"),
    ("BlockingRemovedEvent", "blocking: -"),
];
