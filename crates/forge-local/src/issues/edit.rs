//! Edits an issue. An edit is a single event, so it is atomic.

use std::collections::BTreeMap;

use forge_core::{
    Action, Capability, Error, Op, Outcome, Result, Warning, check_version,
    model::{EditIssue, Issue, IssueFields, IssueReason, IssueState},
    text,
};
use forge_git::CatFile;

use super::relations::MAX_BLOCKERS;
use crate::{
    Local,
    caps::LIMITS,
    ident::{CommitIdentity, identity},
    pulls::{change_assignees, change_labels},
    store::{IssueChanges, IssueEvent, IssueSnapshot, RefChange, WriteRetry},
};

/// Maximum number of custom fields with a value in one issue.
const MAX_FIELDS: usize = 100;
/// Maximum length of a custom field's name, in characters.
const MAX_FIELD_NAME: usize = 50;
/// Maximum length of a custom field's value, in characters.
const MAX_VALUE: usize = 4096;

pub(super) struct AppliedEdit {
    pub snapshot: IssueSnapshot,
    /// The event that records the changes; `None` if nothing changes.
    pub event: Option<IssueEvent>,
    /// Refs that must not change before the event is written.
    pub unmoved: Vec<RefChange>,
}

impl Local {
    /// Applies `edit`. `done` returns a warning if the issue is already in the requested state. In
    /// this case nothing is changed, and the warning is returned.
    pub(super) async fn change_issue(
        &self,
        number: u64,
        edit: &EditIssue,
        done: impl Fn(&IssueSnapshot) -> Option<Warning> + Send,
    ) -> Result<Outcome<Issue>> {
        check_edit(edit)?;
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        let fields = IssueFields::NONE;
        loop {
            let before = self.store.read_issue(&mut cat, number).await?;
            let expected = edit.expected_version.as_deref();
            let view = Action::op(Op::IssueView).on(number);
            check_version(&self.issue_id(number), expected, &before.tip, view)?;
            if let Some(warning) = done(&before.snapshot) {
                let view = self.present_issue(&mut cat, &before, &fields).await?;
                return Ok(Outcome::unchanged(view, warning));
            }
            let applied = self
                .apply_edit(&mut cat, &before.snapshot, edit, &by)
                .await?;
            let Some(event) = applied.event else {
                let view = self.present_issue(&mut cat, &before, &fields).await?;
                let warning = Warning::new(format!("issue #{number} is already as requested"));
                return Ok(Outcome::unchanged(view, warning));
            };
            let written = self.store.write_issue(
                Some(&before),
                applied.snapshot,
                &by,
                event,
                applied.unmoved,
            );
            match written.await? {
                Ok(issue) => {
                    let view = self.present_issue(&mut cat, &issue, &fields).await?;
                    return Ok(Outcome::immediate(view));
                }
                Err(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    /// Applies `edit` to the state `before`.
    pub(super) async fn apply_edit(
        &self,
        cat: &mut CatFile,
        before: &IssueSnapshot,
        edit: &EditIssue,
        by: &CommitIdentity,
    ) -> Result<AppliedEdit> {
        let mut s = before.clone();
        let mut changes = IssueChanges::default();
        if let Some(title) = &edit.title
            && let title = LIMITS.check_title(title)?
            && title != s.title
        {
            title.clone_into(&mut s.title);
            changes.title = Some(title.to_owned());
        }
        if let Some(body) = edit.body.as_ref().filter(|b| **b != s.body) {
            s.body.clone_from(body);
            changes.body = Some(body.clone());
        }
        if !edit.labels.is_empty() {
            let book = self.store.labels(cat).await?.book;
            (changes.labels_added, changes.labels_removed) =
                change_labels(&mut s.labels, &edit.labels, &book)?;
        }
        (changes.assignees_added, changes.assignees_removed) =
            change_assignees(&mut s.assignees, &edit.assignees, by)?;
        changes.values = change_values(&mut s.values, &edit.values)?;
        let unmoved = self
            .change_relations(cat, &mut s, edit, &mut changes)
            .await?;
        let comment = edit.comment.clone();
        s.comments += u64::from(comment.is_some());
        let state = change_state(&mut s, edit, by)?;
        let changes = Box::new(changes);
        let event = match (state, comment) {
            (Some(IssueState::Closed), comment) => Some(IssueEvent::Closed {
                reason: s.state_reason,
                comment,
                changes,
            }),
            (Some(IssueState::Open), comment) => Some(IssueEvent::Reopened { comment, changes }),
            (None, None) if *changes == IssueChanges::default() => None,
            (None, Some(body)) if *changes == IssueChanges::default() => {
                Some(IssueEvent::Commented { body })
            }
            (None, comment) => Some(IssueEvent::Edited { comment, changes }),
        };
        Ok(AppliedEdit {
            snapshot: s,
            event,
            unmoved,
        })
    }

    async fn change_relations(
        &self,
        cat: &mut CatFile,
        s: &mut IssueSnapshot,
        edit: &EditIssue,
        changes: &mut IssueChanges,
    ) -> Result<Vec<RefChange>> {
        let mut unmoved = Vec::new();
        if let Some(parent) = &edit.parent {
            let parent = match parent {
                Some(id) => Some(self.related_number("parent", id)?),
                None => None,
            };
            if parent != s.parent {
                if let Some(parent) = parent {
                    unmoved = self.check_parent(cat, s.number, parent).await?;
                }
                changes.parent_added = parent;
                changes.parent_removed = s.parent;
                s.parent = parent;
            }
        }
        for id in &edit.blocked_by.add {
            let blocker = self.related_number("blocked_by", id)?;
            if !s.blocked_by.contains(&blocker) {
                s.blocked_by.push(blocker);
                changes.blocked_by_added.push(blocker);
            }
        }
        if s.blocked_by.len() > MAX_BLOCKERS && !changes.blocked_by_added.is_empty() {
            let message = format!(
                "{} blocking issues are too many: the maximum is {MAX_BLOCKERS}",
                s.blocked_by.len()
            );
            return Err(Error::invalid("blocked_by", message).with_hint("name fewer"));
        }
        self.check_blockers(cat, s.number, &changes.blocked_by_added)
            .await?;
        for id in &edit.blocked_by.remove {
            let blocker = self.related_number("blocked_by", id)?;
            if let Some(at) = s.blocked_by.iter().position(|n| *n == blocker) {
                changes.blocked_by_removed.push(s.blocked_by.remove(at));
            }
        }
        Ok(unmoved)
    }
}

/// Checks those parts of an edit that do not depend on the issue.
pub(super) fn check_edit(edit: &EditIssue) -> Result<()> {
    if edit.board.is_some() {
        return Err(Local::unsupported(Capability::IssueBoard));
    }
    if let Some(title) = &edit.title {
        LIMITS.check_title(title)?;
    }
    if let Some(body) = &edit.body {
        LIMITS.check_text("body", body)?;
    }
    if let Some(comment) = &edit.comment {
        LIMITS.check_comment("comment", comment)?;
    }
    for (name, value) in &edit.values {
        if let Some(value) = value {
            check_value(name, value)?;
        }
    }
    Ok(())
}

/// Refuses a name or value of a custom field that does not fit on one line of a list.
fn check_value(name: &str, value: &str) -> Result<()> {
    let refuse =
        |message, hint: &'static str| Err(Error::invalid("values", message).with_hint(hint));
    let length = name.chars().count();
    let is_name = (1..=MAX_FIELD_NAME).contains(&length)
        && name.trim() == name
        && !name.chars().any(char::is_control);
    if !is_name {
        let (shown, _) = text::truncate_chars(name, MAX_FIELD_NAME);
        let message = format!(
            "'{}' is not a field name: it has 1 to {MAX_FIELD_NAME} characters, none of them a \
             control character, and no blank at its ends",
            text::one_line(&shown)
        );
        return refuse(message, "choose another name");
    }
    let length = value.chars().count();
    if length > MAX_VALUE {
        let message = format!(
            "the value of '{name}' has {length} characters, and the maximum is {MAX_VALUE}"
        );
        return refuse(
            message,
            "shorten it, and put the rest into the body or a comment",
        );
    }
    if value.trim().is_empty() {
        return refuse(
            format!("the value of '{name}' is empty"),
            "clear the field instead",
        );
    }
    if value.chars().any(char::is_control) {
        let message = format!("the value of '{name}' has a control character");
        return refuse(message, "write it on one line");
    }
    Ok(())
}

/// Applies `edit` to `values`. Returns the changed fields, with `None` for a removed field.
fn change_values(
    values: &mut BTreeMap<String, String>,
    edit: &BTreeMap<String, Option<String>>,
) -> Result<BTreeMap<String, Option<String>>> {
    let mut changed = BTreeMap::new();
    for (name, value) in edit {
        let differs = match value {
            Some(value) => values.insert(name.clone(), value.clone()).as_ref() != Some(value),
            None => values.remove(name).is_some(),
        };
        if differs {
            changed.insert(name.clone(), value.clone());
        }
    }
    if values.len() > MAX_FIELDS && changed.values().any(Option::is_some) {
        let message = format!(
            "{} fields are too many: the maximum is {MAX_FIELDS}",
            values.len()
        );
        return Err(Error::invalid("values", message).with_hint("clear some first"));
    }
    Ok(changed)
}

/// Closes or reopens an issue. Returns the new state if the state or its reason changes.
fn change_state(
    s: &mut IssueSnapshot,
    edit: &EditIssue,
    by: &CommitIdentity,
) -> Result<Option<IssueState>> {
    let wanted = edit.state.unwrap_or(s.state);
    let is_reopening = edit.reason == Some(IssueReason::Reopened);
    if edit.reason.is_some() && is_reopening != (wanted == IssueState::Open) {
        let message = match wanted {
            IssueState::Open => {
                format!(
                    "the reason is for closing, but issue #{} would be open",
                    s.number
                )
            }
            IssueState::Closed => {
                format!(
                    "the reason is for reopening, but issue #{} would be closed",
                    s.number
                )
            }
        };
        return Err(Error::invalid("reason", message)
            .with_hint("name the state that goes with the reason, or leave the reason out"));
    }
    let turns = wanted != s.state;
    let reason = match wanted {
        IssueState::Open if turns => Some(IssueReason::Reopened),
        IssueState::Closed if turns => Some(edit.reason.unwrap_or(IssueReason::Completed)),
        IssueState::Closed => edit.reason.or(s.state_reason),
        IssueState::Open => s.state_reason,
    };
    if !turns && reason == s.state_reason {
        return Ok(None);
    }
    if turns {
        s.closed_at = (wanted == IssueState::Closed).then_some(by.at);
    }
    s.state = wanted;
    s.state_reason = reason;
    Ok(Some(wanted))
}
