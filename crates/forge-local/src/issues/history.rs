//! The history of an issue, computed from its events.

use forge_core::{
    Page, PageReq, Result,
    call::charge,
    model::{IssueReason, StatusEvent, StatusEventKind as Kind},
};

use crate::{
    Local, paging,
    reviews::comment_id,
    store::{IssueChanges, IssueEvent, LoggedEvent},
};

impl Local {
    pub(super) async fn history_of_issue(
        &self,
        number: u64,
        page: &PageReq,
    ) -> Result<Page<StatusEvent>> {
        let mut cat = self.store.cat();
        let issue = self.store.read_issue(&mut cat, number).await?;
        let log = self.store.issue_log(&mut cat, &issue).await?;
        charge("the history of the issue", 2 * log.weight())?.keep();
        let events = log.iter().flat_map(status_events).collect();
        paging::slice(events, page, &("issue-history", number))
    }
}

/// Converts an event to history entries. An edit of several fields has several entries.
fn status_events(logged: &LoggedEvent<IssueEvent>) -> Vec<StatusEvent> {
    let entry = &logged.entry;
    let mut lines: Vec<(Kind, Option<String>)> = match &entry.event {
        IssueEvent::Opened { .. } => vec![(Kind::Opened, None)],
        IssueEvent::Edited { changes, .. } => change_lines(changes),
        IssueEvent::Closed {
            reason, changes, ..
        } => {
            let mut lines = change_lines(changes);
            lines.push((Kind::Closed, reason.map(|r| reason_word(r).to_owned())));
            lines
        }
        IssueEvent::Reopened { changes, .. } => {
            let mut lines = change_lines(changes);
            lines.push((Kind::Reopened, None));
            lines
        }
        IssueEvent::CommentEdited { comment, .. } => {
            vec![(Kind::Edited, Some(format!("comment {comment}")))]
        }
        IssueEvent::CommentDeleted { comment } => {
            vec![(Kind::Edited, Some(format!("comment {comment} deleted")))]
        }
        IssueEvent::Commented { .. } | IssueEvent::Deleted | IssueEvent::Unknown => Vec::new(),
    };
    if entry.event.comment().is_some() {
        lines.push((Kind::Commented, Some(comment_id(entry.seq))));
    }
    let events = lines.into_iter().map(|(kind, detail)| {
        let mut event = StatusEvent::new(&logged.oid, kind, entry.actor.clone(), entry.at);
        event.detail = detail;
        event
    });
    events.collect()
}

fn change_lines(changes: &IssueChanges) -> Vec<(Kind, Option<String>)> {
    let mut text = Vec::new();
    text.extend(
        changes
            .title
            .as_ref()
            .map(|title| format!("title: {title}")),
    );
    text.extend(changes.body.as_ref().map(|_| "body".to_owned()));
    let labels = signed(&changes.labels_added, &changes.labels_removed);
    let assignees = signed(&changes.assignees_added, &changes.assignees_removed);
    let mut related: Vec<String> = changes
        .values
        .iter()
        .map(|(name, value)| match value {
            Some(value) => format!("{name}: {value}"),
            None => format!("{name} cleared"),
        })
        .collect();
    related.extend(match (changes.parent_added, changes.parent_removed) {
        (Some(parent), _) => Some(format!("parent: #{parent}")),
        (None, Some(parent)) => Some(format!("parent #{parent} removed")),
        (None, None) => None,
    });
    let numbers = |all: &[u64]| all.iter().map(|n| format!("#{n}")).collect::<Vec<_>>();
    let blockers = signed(
        &numbers(&changes.blocked_by_added),
        &numbers(&changes.blocked_by_removed),
    );
    if !blockers.is_empty() {
        related.push(format!("blocked by: {}", blockers.join(" ")));
    }
    [
        (Kind::Edited, text),
        (Kind::Labeled, labels),
        (Kind::Assigned, assignees),
        (Kind::Related, related),
    ]
    .into_iter()
    .filter(|(_, parts)| !parts.is_empty())
    .map(|(kind, parts)| (kind, Some(parts.join(", "))))
    .collect()
}

/// Formats added items as `+a` and removed ones as `-b`.
fn signed(added: &[String], removed: &[String]) -> Vec<String> {
    let added = added.iter().map(|name| format!("+{name}"));
    let removed = removed.iter().map(|name| format!("-{name}"));
    added.chain(removed).collect()
}

fn reason_word(reason: IssueReason) -> &'static str {
    match reason {
        IssueReason::Completed => "completed",
        IssueReason::NotPlanned => "not planned",
        IssueReason::Duplicate => "duplicate",
        IssueReason::Reopened => "reopened",
    }
}
