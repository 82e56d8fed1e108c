//! Plans the mutations that an edit of an issue still needs.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use forge_core::{
    Error, Result,
    model::{
        BoardId, EditIssue, Issue, IssueId, IssueReason, IssueRelations, IssueState, Label,
        ProjectItem,
    },
};
use serde_json::{Map, Value, json};

use super::sections::{id_of, related, same_issue};
use crate::{
    api::TokenChoice,
    boards::{Board, FieldChoice, archived, item_on, no_board},
    decorate::unique,
    gql::{
        lookups::{Lookups, milestone_id},
        mutation::{
            ADD_BLOCKED_BY, ADD_ISSUE_ASSIGNEES, ADD_ISSUE_LABELS, ADD_SUB_ISSUE, ADD_TO_PROJECT,
            CLEAR_VALUE, CLOSE_ISSUE, COMMENT_ON_ISSUE, Mutation, REMOVE_BLOCKED_BY,
            REMOVE_FROM_PROJECT, REMOVE_ISSUE_ASSIGNEES, REMOVE_ISSUE_LABELS, REMOVE_SUB_ISSUE,
            REOPEN_ISSUE, SET_VALUE, UPDATE_ISSUE,
        },
        types::{self as wire, Nodes},
    },
    map,
    pulls::same_text,
};

/// The names and ids that a query returned in addition to the issues.
pub(super) struct PlanNames {
    pub host: String,
    pub lookups: Lookups,
    pub query: Map<String, Value>,
    /// For each repository, its part of the answer. The key is the repository's comparison key.
    pub repos: HashMap<String, Map<String, Value>>,
    pub boards: HashMap<BoardId, Arc<Board>>,
}

/// An issue as read, with the ids for its mutations.
pub(super) struct FoundIssue {
    pub issue: Issue,
    parent: Option<(IssueId, String)>,
    blockers: Vec<(IssueId, String)>,
    items: Nodes<wire::BoardItem>,
    issue_type: Option<String>,
    on_boards: Vec<ProjectItem>,
}

#[derive(Clone)]
pub(super) struct EditPart {
    /// The part's name in messages.
    pub title: String,
    pub mutation: Mutation,
    pub input: Value,
    /// True if the input needs the id of the board item, the issue's entry on a board.
    pub on_board: bool,
    /// The token that the mutation is sent with.
    pub access: TokenChoice,
}

/// The mutations still to send, and the issue's values and relations after them. GitHub's answers
/// contain neither values nor relations, so the plan computes both.
pub(super) struct EditPlan {
    pub parts: Vec<EditPart>,
    /// The board to which the issue is added before the mutations run.
    pub add_to: Option<String>,
    /// The id of the issue's board item.
    pub item: Option<String>,
    pub values: BTreeMap<String, String>,
    pub relations: Option<IssueRelations>,
}

impl FoundIssue {
    /// Builds the issue. `issue` was mapped from the answer `wire`.
    pub fn new(host: &str, issue: Issue, wire: &wire::Issue) -> Self {
        let ends = |nodes: &Option<Nodes<wire::Issue>>| {
            let nodes = nodes.iter().filter_map(|n| n.nodes.as_ref());
            let ends = nodes.flatten().flatten();
            ends.map(|i| (id_of(host, &issue.id.repo, i), i.id.clone()))
                .collect()
        };
        let blockers = ends(&wire.blocked_by);
        let parent = wire.parent.as_deref();
        let parent = parent.map(|i| (id_of(host, &issue.id.repo, i), i.id.clone()));
        Self {
            blockers,
            parent,
            items: wire.board_items.clone().unwrap_or_default(),
            issue_type: wire.issue_type.as_ref().map(|found| found.id.clone()),
            on_boards: map::project_items(wire.project_items.clone().unwrap_or_default()),
            issue,
        }
    }

    /// Plans the changes that `edit` still needs. A comment is always a change.
    pub fn plan(&self, edit: &EditIssue, names: &PlanNames) -> Result<EditPlan> {
        let mut plan = EditPlan {
            parts: Vec::new(),
            add_to: None,
            item: None,
            values: self.issue.values.clone(),
            relations: self.issue.relations.clone(),
        };
        self.text(edit, &mut plan);
        self.labels(edit, names, &mut plan)?;
        self.assignees(edit, names, &mut plan)?;
        self.milestone(edit, names, &mut plan)?;
        self.issue_type(edit, names, &mut plan)?;
        self.projects(edit, names, &mut plan)?;
        self.relations(edit, names, &mut plan)?;
        self.values(edit, names, &mut plan)?;
        let node = &self.issue.node_id;
        if let Some(body) = &edit.comment {
            let input = json!({ "subjectId": node, "body": body });
            plan.push("comment", COMMENT_ON_ISSUE, input);
        }
        let state = edit.state.unwrap_or(self.issue.state);
        let reason = edit.reason.filter(|_| state == IssueState::Closed);
        let changes = state != self.issue.state || !has_reason(&self.issue, reason);
        match state {
            IssueState::Closed if changes => {
                let mut input = json!({ "issueId": node });
                if let (Some(map), Some(reason)) = (input.as_object_mut(), reason) {
                    let word = super::state::reason_word(reason);
                    map.insert("stateReason".to_owned(), json!(word));
                }
                plan.push("state", CLOSE_ISSUE, input);
            }
            IssueState::Open if changes => {
                plan.push("state", REOPEN_ISSUE, json!({ "issueId": node }));
            }
            _ => {}
        }
        Ok(plan)
    }

    fn text(&self, edit: &EditIssue, plan: &mut EditPlan) {
        let title = edit.title.as_deref().map(str::trim);
        let title = title.filter(|t| *t != self.issue.title);
        let body = edit.body.as_deref();
        let body = body.filter(|b| !same_text(&self.issue.body, b));
        if title.is_none() && body.is_none() {
            return;
        }
        let mut input = Map::from_iter([("id".to_owned(), json!(self.issue.node_id))]);
        for (name, value) in [("title", title), ("body", body)] {
            input.extend(value.map(|v| (name.to_owned(), json!(v))));
        }
        plan.push("text", UPDATE_ISSUE, Value::Object(input));
    }

    fn milestone(&self, edit: &EditIssue, names: &PlanNames, plan: &mut EditPlan) -> Result<()> {
        let Some(wanted) = &edit.milestone else {
            return Ok(());
        };
        let title = |title: &String| title.to_lowercase();
        let had = self.issue.milestone.as_ref().map(|m| title(&m.title));
        if had != wanted.as_ref().map(title) {
            let repo = self.repo(names);
            let id = wanted.as_ref().map(|title| milestone_id(title, &repo));
            let input = json!({ "id": self.issue.node_id, "milestoneId": id.transpose()? });
            plan.push("milestone", UPDATE_ISSUE, input);
        }
        Ok(())
    }

    fn issue_type(&self, edit: &EditIssue, names: &PlanNames, plan: &mut EditPlan) -> Result<()> {
        let Some(wanted) = &edit.issue_type else {
            return Ok(());
        };
        let wanted = match wanted {
            Some(name) => Some(names.lookups.issue_type_id(name, &self.repo(names))?),
            None => None,
        };
        if wanted != self.issue_type {
            let input = json!({ "id": self.issue.node_id, "issueTypeId": wanted });
            plan.push("type", UPDATE_ISSUE, input);
        }
        Ok(())
    }

    fn projects(&self, edit: &EditIssue, names: &PlanNames, plan: &mut EditPlan) -> Result<()> {
        let repo = self.repo(names);
        let items = |title: &String| {
            let title = title.to_lowercase();
            let items = self.on_boards.iter();
            items.filter(move |item| item.title.to_lowercase() == title)
        };
        let new = edit.projects.add.iter();
        for title in new.filter(|title| items(title).next().is_none()) {
            let board = names.lookups.board_id(title, &names.query, &repo)?;
            let input = json!({ "projectId": board, "contentId": self.issue.node_id });
            plan.push_board(format!("project '{title}'"), ADD_TO_PROJECT, input);
        }
        for title in &edit.projects.remove {
            // A title that no board has is refused. If the board exists but does not contain the
            // issue, nothing changes.
            if items(title).next().is_none() {
                names.lookups.board_id(title, &names.query, &repo)?;
            }
            for item in items(title) {
                let input = json!({ "projectId": item.project_id, "itemId": item.id });
                plan.push_board(
                    format!("project '{title}' to remove"),
                    REMOVE_FROM_PROJECT,
                    input,
                );
            }
        }
        Ok(())
    }

    fn labels(&self, edit: &EditIssue, names: &PlanNames, plan: &mut EditPlan) -> Result<()> {
        let on = |name: &String| self.issue.labels.iter().any(|l| is_named(l, name));
        let new = edit.labels.add.iter().filter(|name| !on(name));
        let repo = self.repo(names);
        let new: Vec<String> = new
            .map(|name| names.lookups.label_id(name, &repo))
            .collect::<Result<_>>()?;
        let node = &self.issue.node_id;
        if !new.is_empty() {
            let ids = unique(new.iter().map(String::as_str).collect());
            let input = json!({ "labelableId": node, "labelIds": ids });
            plan.push("new labels", ADD_ISSUE_LABELS, input);
        }
        // GitHub refuses to remove a label that the issue does not have, so such a label is
        // skipped.
        let gone = |l: &&Label| edit.labels.remove.iter().any(|name| is_named(l, name));
        let off: Vec<&str> = self
            .issue
            .labels
            .iter()
            .filter(gone)
            .map(|l| l.id.as_str())
            .collect();
        if !off.is_empty() {
            let input = json!({ "labelableId": node, "labelIds": off });
            plan.push("labels to remove", REMOVE_ISSUE_LABELS, input);
        }
        Ok(())
    }

    fn assignees(&self, edit: &EditIssue, names: &PlanNames, plan: &mut EditPlan) -> Result<()> {
        let repo = self.repo(names);
        let ids = |logins: &[String], on: bool| -> Result<Vec<String>> {
            let mut ids = Vec::new();
            for login in logins {
                let id = names.lookups.user_id(login, &names.query, &repo)?;
                let is_on = self.issue.assignees.iter().any(|a| a.id == id);
                if is_on == on && !ids.contains(&id) {
                    ids.push(id);
                }
            }
            Ok(ids)
        };
        let node = &self.issue.node_id;
        for (title, mutation, ids) in [
            (
                "new assignees",
                ADD_ISSUE_ASSIGNEES,
                ids(&edit.assignees.add, false)?,
            ),
            (
                "assignees to remove",
                REMOVE_ISSUE_ASSIGNEES,
                ids(&edit.assignees.remove, true)?,
            ),
        ] {
            if !ids.is_empty() {
                let input = json!({ "assignableId": node, "assigneeIds": ids });
                plan.push(title, mutation, input);
            }
        }
        Ok(())
    }

    fn relations(&self, edit: &EditIssue, names: &PlanNames, plan: &mut EditPlan) -> Result<()> {
        let node = &self.issue.node_id;
        let mut after = self.issue.relations.clone().unwrap_or_default();
        match (&edit.parent, &self.parent) {
            (Some(Some(wanted)), had)
                if !had.as_ref().is_some_and(|(id, _)| same_issue(id, wanted)) =>
            {
                let parent = self.target("parent", wanted, names)?;
                let input =
                    json!({ "issueId": parent.id, "subIssueId": node, "replaceParent": true });
                plan.push("parent", ADD_SUB_ISSUE, input);
                after.parent = Some(related(&names.host, &self.issue.id.repo, &parent));
            }
            (Some(None), Some((_, parent))) => {
                let input = json!({ "issueId": parent, "subIssueId": node });
                plan.push("parent", REMOVE_SUB_ISSUE, input);
                after.parent = None;
            }
            _ => {}
        }
        for wanted in &edit.blocked_by.add {
            let is = |end: &IssueId| same_issue(end, wanted);
            if after.blocked_by.iter().any(|end| is(&end.id)) {
                continue;
            }
            let blocker = self.target("blocked_by", wanted, names)?;
            let input = json!({ "issueId": node, "blockingIssueId": blocker.id });
            plan.push(format!("blocked by {wanted}"), ADD_BLOCKED_BY, input);
            let end = related(&names.host, &self.issue.id.repo, &blocker);
            after.blocked_by.push(end);
        }
        for gone in &edit.blocked_by.remove {
            let is = |end: &IssueId| same_issue(end, gone);
            let Some((_, blocker)) = self.blockers.iter().find(|(id, _)| is(id)) else {
                continue;
            };
            let input = json!({ "issueId": node, "blockingIssueId": blocker });
            plan.push(
                format!("no longer blocked by {gone}"),
                REMOVE_BLOCKED_BY,
                input,
            );
            after.blocked_by.retain(|end| !is(&end.id));
        }
        plan.relations = self.issue.relations.as_ref().map(|_| after);
        Ok(())
    }

    /// Returns the looked-up issue to which a relation points.
    fn target(&self, field: &'static str, id: &IssueId, names: &PlanNames) -> Result<wire::Issue> {
        let found = id.repo.owner_and_name().and_then(|(owner, name)| {
            let forge_core::PrKey::Number(number) = id.key else {
                return None;
            };
            names.lookups.issue_of(owner, name, number, &names.query)
        });
        found.filter(|i| !i.id.is_empty()).ok_or_else(|| {
            Error::invalid(
                field,
                format!("there is no issue {id}; nothing was changed"),
            )
            .with_hint("look for its number in the list of issues")
        })
    }

    fn values(&self, edit: &EditIssue, names: &PlanNames, plan: &mut EditPlan) -> Result<()> {
        let (Some(id), false) = (&edit.board, edit.values.is_empty()) else {
            return Ok(());
        };
        let board = names.boards.get(id).ok_or_else(|| no_board(id))?;
        let item = item_on(id, &self.items);
        plan.item = item.map(|item| item.id.clone());
        let known = (edit.values_if_known.iter())
            .filter(|(field, value)| board.ids(id, field, value.as_deref()).is_ok());
        for (field, value) in edit.values.iter().chain(known) {
            let ids = board.ids(id, field, value.as_deref())?;
            let had = self.issue.values.get(ids.field_name);
            if had.map(String::as_str) == ids.option.map(|(_, name)| name) {
                continue;
            }
            if item.is_some_and(|item| item.is_archived) {
                return Err(archived(id, &self.issue.id));
            }
            let input = value_input(board, &ids);
            let mutation = match ids.option {
                Some((_, name)) => {
                    plan.values
                        .insert(ids.field_name.to_owned(), name.to_owned());
                    plan.add_to = item.is_none().then(|| board.id.clone());
                    SET_VALUE
                }
                None => {
                    plan.values.remove(ids.field_name);
                    CLEAR_VALUE
                }
            };
            plan.parts.push(EditPart {
                title: ids.field_name.to_owned(),
                mutation,
                input,
                on_board: true,
                access: TokenChoice::Board,
            });
        }
        Ok(())
    }

    fn repo(&self, names: &PlanNames) -> Map<String, Value> {
        let key = self.issue.id.repo.comparison_key();
        names.repos.get(&key).cloned().unwrap_or_default()
    }
}

impl EditPlan {
    fn push(&mut self, title: impl Into<String>, mutation: Mutation, input: Value) {
        self.parts.push(EditPart {
            title: title.into(),
            mutation,
            input,
            on_board: false,
            access: TokenChoice::Account,
        });
    }

    /// Adds a part that changes which boards contain the issue.
    fn push_board(&mut self, title: String, mutation: Mutation, input: Value) {
        self.parts.push(EditPart {
            title,
            mutation,
            input,
            on_board: false,
            access: TokenChoice::Board,
        });
    }
}

/// Returns the input that sets or clears a value, without the id of the board item.
pub(super) fn value_input(board: &Board, ids: &FieldChoice<'_>) -> Value {
    let mut input = json!({ "projectId": board.id, "fieldId": ids.field });
    if let (Some((option, _)), Some(map)) = (ids.option, input.as_object_mut()) {
        let value = json!({ "singleSelectOptionId": option });
        map.insert("value".to_owned(), value);
    }
    input
}

fn is_named(label: &Label, name: &str) -> bool {
    label.name.to_lowercase() == name.to_lowercase()
}

/// Returns whether an issue is closed for that reason. GitHub reports duplicates as not planned.
fn has_reason(issue: &Issue, reason: Option<IssueReason>) -> bool {
    match reason {
        None => true,
        Some(IssueReason::Duplicate) => matches!(
            issue.state_reason,
            Some(IssueReason::Duplicate | IssueReason::NotPlanned)
        ),
        reason => issue.state_reason == reason,
    }
}
