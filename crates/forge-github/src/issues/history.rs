//! Reads the history of an issue: the opening, then GitHub's timeline.

use forge_core::{
    Page, PageReq, Result, Warning,
    model::{IssueId, StatusEvent, StatusEventKind},
};
use serde::Deserialize;
use serde_json::json;

use super::{missing, sections::id_of, variables};
use crate::{
    GitHub,
    error::{is_unknown_field, is_without_projects},
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

/// The events that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssueEvents {
    /// All events.
    All,
    /// The events that every Enterprise Server has.
    Old,
}

/// The types of [`IssueEvents::Old`].
const OLD_TYPES: [&str; 8] = [
    "CLOSED_EVENT",
    "REOPENED_EVENT",
    "RENAMED_TITLE_EVENT",
    "LABELED_EVENT",
    "UNLABELED_EVENT",
    "ASSIGNED_EVENT",
    "UNASSIGNED_EVENT",
    "ISSUE_COMMENT",
];
/// The types of the fragment `NewerIssueEvent`.
const NEWER_TYPES: [&str; 9] = [
    "PARENT_ISSUE_ADDED_EVENT",
    "PARENT_ISSUE_REMOVED_EVENT",
    "SUB_ISSUE_ADDED_EVENT",
    "SUB_ISSUE_REMOVED_EVENT",
    "BLOCKED_BY_ADDED_EVENT",
    "BLOCKED_BY_REMOVED_EVENT",
    "BLOCKING_ADDED_EVENT",
    "BLOCKING_REMOVED_EVENT",
    "PROJECT_V2_ITEM_STATUS_CHANGED_EVENT",
];

impl IssueEvents {
    fn types(self) -> Vec<&'static str> {
        match self {
            Self::All => [OLD_TYPES.as_slice(), &NEWER_TYPES].concat(),
            Self::Old => OLD_TYPES.to_vec(),
        }
    }
}

/// Returns the document that reads a page of `events`.
pub(crate) fn document(events: IssueEvents) -> String {
    let newer = match events {
        IssueEvents::All => "...NewerIssueEvent",
        IssueEvents::Old => "",
    };
    let mut document = GqlDocument::query("IssueTimeline");
    document.fragment("NewerEvents", "IssueTimelineItems", newer);
    document.text()
}

impl GitHub {
    /// Reads a page of the history; without newer events if the host lacks them.
    pub(super) async fn history_of(
        &self,
        id: &IssueId,
        page: PageReq,
    ) -> Result<Page<StatusEvent>> {
        match self.read_history(id, page.clone(), IssueEvents::All).await {
            Err(e) if is_unknown_field(&e) || is_without_projects(&e) => {
                let mut found = self.read_history(id, page, IssueEvents::Old).await?;
                let message = format!("a part of the history could not be read: {}", e.message());
                found.warnings.push(Warning::new(message));
                Ok(found)
            }
            found => found,
        }
    }

    async fn read_history(
        &self,
        id: &IssueId,
        page: PageReq,
        kinds: IssueEvents,
    ) -> Result<Page<StatusEvent>> {
        let text = &document(kinds);
        events_page(SCHEME, id.to_string(), page, |first, after| async move {
            let mut variables = variables(id)?;
            variables.insert("first".into(), json!(first));
            variables.insert("after".into(), json!(after));
            variables.insert("types".into(), json!(kinds.types()));
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
