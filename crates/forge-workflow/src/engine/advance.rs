//! Moves of several issues: the children of an issue, or a parent whose children are through a gate.

use forge_core::{
    Error, Precondition, Result, Warning,
    model::{EditIssue, Issue, IssueId},
};
use serde::Serialize;

use super::Workflow;
use crate::{
    Entry, Event, Member, SkippedMember, State, advance_plan,
    ledger::{is_done, is_partial, took_effect},
    member::{order, short},
};

/// The command that the trail names for a move of several issues.
const COMMAND: &str = "advance";

/// What became of the children of an issue.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AdvanceReport {
    /// The state that they go to.
    pub target_state: String,
    /// Those that moved.
    pub advanced: Vec<Advanced>,
    /// Those that stay, and why.
    pub skipped: Vec<SkippedMember>,
    /// Those that could not be moved, and why.
    pub errors: Vec<FailedIssue>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Whether nothing was written: it says what would be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// An issue that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advanced {
    /// What names it.
    pub id: IssueId,
    /// The state before; `None` without one.
    pub from_state: Option<String>,
    /// The state after.
    pub to_state: String,
}

/// An issue that could not be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedIssue {
    /// What names it.
    pub id: IssueId,
    /// Why, and what to do.
    pub error: String,
}

impl Workflow {
    /// Moves the children of `parent` that are behind `target` to it. No child moves backwards, and a
    /// child that somebody works on stays unless `pass_locks`.
    ///
    /// # Errors
    /// `not_found` for the parent; `invalid_input` (field `target_state`). A child that cannot be
    /// moved stops no other one.
    pub async fn advance(
        &self,
        parent: &IssueId,
        target: &str,
        pass_locks: bool,
        dry_run: bool,
    ) -> Result<AdvanceReport> {
        let empty = advance_plan(&self.definition, &[], target, pass_locks)?;
        let (children, warnings) = self.children(parent).await?;
        let members: Vec<Member> = children.iter().map(|issue| self.member(issue)).collect();
        let plan = advance_plan(&self.definition, &members, target, pass_locks)?;
        let mut report = AdvanceReport {
            target_state: empty.target.name.clone(),
            skipped: plan.skipped,
            warnings,
            dry_run,
            ..AdvanceReport::default()
        };
        let moves: Vec<(&Issue, Option<String>)> = plan
            .moves
            .iter()
            .filter_map(|(id, from)| Some((children.iter().find(|c| c.id == *id)?, from.clone())))
            .collect();
        self.carry_out(&moves, plan.target, &mut report).await?;
        Ok(report)
    }

    /// Moves the parent of `child` to the last gate that all of its children have reached.
    ///
    /// # Errors
    /// `precondition_failed` for an issue without a parent.
    pub async fn advance_parent(&self, child: &IssueId, dry_run: bool) -> Result<AdvanceReport> {
        let set = self
            .repo
            .related_issues(std::slice::from_ref(child), &self.fields())
            .await?;
        let of = set
            .issues
            .iter()
            .find(|issue| order(&issue.id) == order(child));
        let parent = of.and_then(|issue| issue.relations.as_ref()?.parent.as_ref());
        let Some(parent) = parent.map(|parent| parent.id.clone()) else {
            if let Some((_, why)) = set.failed.into_iter().next() {
                return Err(why);
            }
            let why = format!("{} has no parent", short(child));
            return Err(Error::precondition(Precondition::Rule, why)
                .with_hint("name a sub-issue of the issue that is to advance"));
        };
        let (children, mut warnings) = self.children(&parent).await?;
        let set = self
            .repo
            .related_issues(std::slice::from_ref(&parent), &self.fields())
            .await?;
        let issue = set
            .issues
            .into_iter()
            .find(|issue| order(&issue.id) == order(&parent));
        let Some(issue) = issue else {
            return Err(set.failed.into_iter().next().map_or_else(
                || {
                    Error::not_found(
                        forge_core::Noun::Issue,
                        format!("there is no issue {parent}"),
                    )
                },
                |(_, why)| why,
            ));
        };
        let mut report = AdvanceReport {
            dry_run,
            ..AdvanceReport::default()
        };
        let from = self.state_of(&issue);
        let skip = |reason: String| SkippedMember {
            id: parent.clone(),
            current_state: from.clone(),
            reason,
        };
        match self.gate_of(&children) {
            None => report
                .skipped
                .push(skip("not all of its sub-issues are at a gate".to_owned())),
            Some(gate) => {
                report.target_state.clone_from(&gate.name);
                let at = from.as_deref().and_then(|name| self.definition.state(name));
                let place = |state: &State| self.definition.order_of(state);
                match at {
                    Some(at) if at.aside => {
                        report.skipped.push(skip(format!(
                            "it is in {}, beside the order of work",
                            at.name
                        )));
                    }
                    Some(at) if place(at) >= place(gate) => {
                        report
                            .skipped
                            .push(skip("it is there already, or past it".to_owned()));
                    }
                    _ => {
                        self.carry_out(&[(&issue, from.clone())], gate, &mut report)
                            .await?
                    }
                }
            }
        }
        report.warnings.append(&mut warnings);
        Ok(report)
    }

    /// The last gate that all children have reached. Children that were given up do not count.
    fn gate_of(&self, children: &[Issue]) -> Option<&State> {
        let definition = &self.definition;
        let mut least: Option<usize> = None;
        for child in children {
            let member = self.member(child);
            let state = member.state_in(definition)?;
            if state.terminal == Some(crate::Terminal::Abandoned) {
                continue;
            }
            let place = definition.order_of(state)?;
            least = Some(least.map_or(place, |least| least.min(place)));
        }
        let least = least?;
        let ordered = definition.states.iter().filter(|s| !s.aside);
        ordered.take(least + 1).filter(|s| s.gate).last()
    }

    /// The sub-issues of an issue, as they are.
    async fn children(&self, parent: &IssueId) -> Result<(Vec<Issue>, Vec<Warning>)> {
        let fields = self.fields();
        let mut set = self
            .repo
            .related_issues(std::slice::from_ref(parent), &fields)
            .await?;
        let at = set
            .issues
            .iter()
            .position(|issue| order(&issue.id) == order(parent));
        let Some(issue) = at.map(|at| set.issues.swap_remove(at)) else {
            return Err(set.failed.into_iter().next().map_or_else(
                || {
                    Error::not_found(
                        forge_core::Noun::Issue,
                        format!("there is no issue {parent}"),
                    )
                },
                |(_, why)| why,
            ));
        };
        let relations = issue.relations.unwrap_or_default();
        let mut warnings = Vec::new();
        if relations.truncated {
            let why = format!("{} has more sub-issues than were read", short(parent));
            warnings.push(Warning::new(why));
        }
        let wanted: Vec<IssueId> = relations
            .sub_issues
            .into_iter()
            .map(|child| child.id)
            .collect();
        let mut children: Vec<Issue> = Vec::new();
        let mut unread = Vec::new();
        for id in wanted {
            match set
                .issues
                .iter()
                .position(|issue| order(&issue.id) == order(&id))
            {
                Some(at) => children.push(set.issues.swap_remove(at)),
                None => unread.push(id),
            }
        }
        if !unread.is_empty() {
            let set = self.repo.related_issues(&unread, &fields).await?;
            for (id, why) in set.failed {
                let why = format!("{} could not be read: {}", short(&id), why.message());
                warnings.push(Warning::new(why));
            }
            let wanted = |issue: &Issue| unread.iter().any(|id| order(id) == order(&issue.id));
            children.extend(set.issues.into_iter().filter(|issue| wanted(issue)));
        }
        children.sort_by_key(|issue| order(&issue.id));
        Ok((children, warnings))
    }

    async fn carry_out(
        &self,
        moves: &[(&Issue, Option<String>)],
        to: &State,
        report: &mut AdvanceReport,
    ) -> Result<()> {
        let advanced = |issue: &Issue, from: &Option<String>| Advanced {
            id: issue.id.clone(),
            from_state: from.clone(),
            to_state: to.name.clone(),
        };
        if report.dry_run || moves.is_empty() {
            report.advanced = moves
                .iter()
                .map(|(issue, from)| advanced(issue, from))
                .collect();
            return Ok(());
        }
        let (edits, entries): (Vec<(IssueId, EditIssue)>, Vec<Entry>) = moves
            .iter()
            .map(|(issue, from)| {
                let event = Event::Moved {
                    from: from.clone(),
                    to: to.name.clone(),
                    command: COMMAND.to_owned(),
                    intent: None,
                    ends: None,
                    merge: None,
                };
                let entry = Entry::new(event, None);
                let edit = EditIssue {
                    comment: Some(entry.to_comment()),
                    expected_version: Some(issue.version.clone()).filter(|v| !v.is_empty()),
                    board: self.store.board().cloned(),
                    ..self.edit_to(issue, to)
                };
                ((issue.id.clone(), edit), entry)
            })
            .unzip();
        let results = self.repo.edit_issues(&edits).await?;
        let sent = edits.iter().zip(&entries);
        for (((issue, from), ((_, edit), entry)), result) in moves.iter().zip(sent).zip(results) {
            let failed = |why: &str| FailedIssue {
                id: issue.id.clone(),
                error: format!(
                    "Failed to update: {why}. Recovery: retry advance, or move {} by itself with set-state",
                    short(&issue.id)
                ),
            };
            match result {
                Ok(outcome) if took_effect(&outcome.ingestion) => {
                    report.advanced.push(advanced(issue, from));
                    report.warnings.extend(outcome.warnings);
                }
                Ok(_) => report
                    .errors
                    .push(failed("its record is stored, and nothing shows it")),
                Err(e) if is_partial(&e) && self.is_moved(issue, edit, entry).await => {
                    report.advanced.push(advanced(issue, from));
                }
                Err(e) => report.errors.push(failed(e.message())),
            }
        }
        Ok(())
    }

    /// Whether a move that failed in part has happened. An entry that tells of one that has not is
    /// withdrawn.
    async fn is_moved(&self, issue: &Issue, edit: &EditIssue, entry: &Entry) -> bool {
        let Ok(now) = self.ledger.read(&issue.id).await else {
            return false;
        };
        let is_told = now.trail.ids.contains(&entry.id);
        let is_there = is_done(&now.issue, edit);
        if is_told && !is_there {
            // The error of the move says more than one of the withdrawal.
            self.ledger.withdraw(&now, entry).await.ok();
        }
        is_told && is_there
    }
}
