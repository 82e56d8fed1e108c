//! Moves the children (sub-issues) of an issue, or its parent once all children have reached a
//! gate.

use forge_core::{
    Error, Hint, Precondition, RepoId, Result, Warning,
    model::{Issue, IssueFields, IssueId},
    text::one_line,
};
use futures::{StreamExt as _, stream};
use serde::Serialize;

use super::{MAX_CONCURRENT_REQUESTS, Workflow, group::is_about_relations, now};
use crate::{
    AdvancePlan, ClaimGuarantee, IssueTrail, Member, SkippedMember, State, TrailEntry, TrailEvent,
    TrailSwap, advance_plan,
    ledger::took_effect,
    member::{name_in, order, short},
};

/// The command name in audit entries of these moves.
const COMMAND: &str = "advance";

/// Result of moving several issues.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct AdvanceReport {
    /// The target state.
    pub target_state: String,
    /// The issues that moved.
    pub advanced: Vec<AdvancedIssue>,
    /// The issues that stay, with reasons.
    pub skipped: Vec<SkippedMember>,
    /// The issues whose move failed, with errors.
    pub errors: Vec<FailedIssue>,
    /// Warnings for the caller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// True for a dry run, which writes nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// An issue that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AdvancedIssue {
    /// The issue.
    pub id: IssueId,
    /// The state before; `None` if the issue had no state.
    pub from_state: Option<String>,
    /// The state after.
    pub to_state: String,
}

/// An issue whose move failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailedIssue {
    /// The issue.
    pub id: IssueId,
    /// The message of the error that stopped the move.
    pub error: String,
    /// How to recover from the error.
    pub hint: Hint,
}

impl Workflow {
    /// Moves those children of `parent` to `target` whose state comes earlier in the state order.
    /// Children never move backwards. Locked or claimed children stay, unless `pass_locks` is set,
    /// which ends their claims. If the move of one child fails, the other children still move.
    ///
    /// # Errors
    ///
    /// Fails with `not_found` for the parent, and with `invalid_input` (field `target_state`).
    pub async fn advance(
        &self,
        parent: &IssueId,
        target: &str,
        pass_locks: bool,
        dry_run: bool,
    ) -> Result<AdvanceReport> {
        self.advance_children(parent, target, pass_locks, dry_run, None)
            .await
    }

    /// Moves children as [`Self::advance`] does, but only those in `confirmed`. These are the moves
    /// that an earlier dry run listed.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::advance`] does.
    pub async fn advance_confirmed(
        &self,
        parent: &IssueId,
        target: &str,
        pass_locks: bool,
        confirmed: &[IssueId],
    ) -> Result<AdvanceReport> {
        self.advance_children(parent, target, pass_locks, false, Some(confirmed))
            .await
    }

    async fn advance_children(
        &self,
        parent: &IssueId,
        target: &str,
        pass_locks: bool,
        dry_run: bool,
        confirmed: Option<&[IssueId]>,
    ) -> Result<AdvanceReport> {
        let empty = advance_plan(&self.definition, &[], target, pass_locks)?;
        let mut fields = self.fields();
        // A single query reads the children with their comments, so no trail needs a separate
        // request.
        fields.comments = self.promise() == ClaimGuarantee::Ordered;
        let (children, _, warnings) = self.children(parent, &fields).await?;
        let members: Vec<Member> = children.iter().map(|issue| self.member(issue)).collect();
        let plan = advance_plan(&self.definition, &members, target, pass_locks)?;
        let mut report = AdvanceReport {
            target_state: empty.target.name.clone(),
            skipped: plan.skipped.clone(),
            warnings,
            dry_run,
            ..AdvanceReport::default()
        };
        let behind = children.into_iter().filter(|c| is_moved(&plan, c));
        let (behind, new): (Vec<Issue>, Vec<Issue>) = behind.partition(|issue| {
            confirmed.is_none_or(|ids| ids.iter().any(|id| order(id) == order(&issue.id)))
        });
        report.skipped.extend(new.iter().map(|issue| SkippedMember {
            id: issue.id.clone(),
            current_state: self.state_of(issue),
            reason: "it was not among the confirmed moves; advance again".to_owned(),
        }));
        let mut sheets = self.sheets(behind, &mut report).await;
        // The plan is computed again, because a child may have moved between the two reads.
        let members: Vec<Member> = sheets.iter().map(|s| self.member(&s.issue)).collect();
        let plan = advance_plan(&self.definition, &members, target, pass_locks)?;
        sheets.retain(|sheet| is_moved(&plan, &sheet.issue));
        report.skipped.extend(plan.skipped);
        self.carry_out(sheets, plan.target, pass_locks, &mut report)
            .await?;
        Ok(report)
    }

    /// Reads the trails of issues. Adds failures to the errors of the report.
    async fn sheets(&self, issues: Vec<Issue>, report: &mut AdvanceReport) -> Vec<IssueTrail> {
        let read = stream::iter(issues)
            .map(|issue| async move { (self.sheet(&issue).await, issue) })
            .buffered(MAX_CONCURRENT_REQUESTS)
            .collect::<Vec<_>>()
            .await;
        let mut sheets = Vec::new();
        for (sheet, issue) in read {
            match sheet {
                Ok(sheet) => sheets.push(sheet),
                Err(e) => report
                    .errors
                    .push(failed_with(&issue.id, e, self.repo.id())),
            }
        }
        sheets
    }

    /// Returns the issue with its trail; reads the trail if the list did not include it.
    async fn sheet(&self, issue: &Issue) -> Result<IssueTrail> {
        match self.ledger.sheet_of(issue) {
            Some(sheet) => Ok(sheet),
            None => self.ledger.read(&issue.id).await,
        }
    }

    /// Moves the parent of `child` to the last gate that all of its children have reached. A
    /// claimed parent stays, and so does a parent whose sub-issues could not all be read.
    ///
    /// # Errors
    ///
    /// Fails with `precondition_failed` for an issue without a parent.
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
                .with_hint("name a sub-issue: its parent is advanced"));
        };
        let (children, all_read, mut warnings) = self.children(&parent, &self.fields()).await?;
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
        let sheet = self.sheet(&issue).await?;
        let from = self.state_of(&sheet.issue);
        let skip = |reason: String| SkippedMember {
            id: parent.clone(),
            current_state: from.clone(),
            reason,
        };
        match self.gate_of(&children) {
            // A sub-issue that was not read may not have reached the gate.
            _ if !all_read => report
                .skipped
                .push(skip("not all of its sub-issues could be read".to_owned())),
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
                            "it is in {}, outside the order of work",
                            at.name
                        )));
                    }
                    Some(at) if place(at) >= place(gate) => {
                        report
                            .skipped
                            .push(skip("it is already at the gate, or past it".to_owned()));
                    }
                    _ => {
                        self.carry_out(vec![sheet], gate, false, &mut report)
                            .await?;
                    }
                }
            }
        }
        report.warnings.append(&mut warnings);
        Ok(report)
    }

    /// Returns the last gate that all children have reached. Abandoned children are ignored.
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

    /// Reads the sub-issues of an issue, each with the parts that `fields` selects. Returns the
    /// sub-issues, true if all of them were read, and warnings.
    async fn children(
        &self,
        parent: &IssueId,
        fields: &IssueFields,
    ) -> Result<(Vec<Issue>, bool, Vec<Warning>)> {
        let mut set = self
            .repo
            .related_issues(std::slice::from_ref(parent), fields)
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
            let parent = name_in(parent, self.repo.id());
            let why = format!("{parent} may have more sub-issues than were read");
            warnings.push(Warning::new(why));
            warnings.extend(issue.warnings.into_iter().filter(is_about_relations));
        }
        let wanted: Vec<IssueId> = relations
            .sub_issues
            .into_iter()
            .map(|child| child.id)
            .collect();
        let count = wanted.len();
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
            let set = self.repo.related_issues(&unread, fields).await?;
            for (id, why) in set.failed {
                let id = name_in(&id, self.repo.id());
                let why = format!("{id} could not be read: {}", why.message());
                warnings.push(Warning::new(why));
            }
            let wanted = |issue: &Issue| unread.iter().any(|id| order(id) == order(&issue.id));
            children.extend(set.issues.into_iter().filter(|issue| wanted(issue)));
        }
        children.sort_by_key(|issue| order(&issue.id));
        let all_read = !relations.truncated && children.len() == count;
        Ok((children, all_read, warnings))
    }

    /// Moves issues to a state. A claimed issue stays, unless `pass_claims` is true; then the move
    /// ends the claim. If an issue is claimed after it was read, its move is reported as an error.
    async fn carry_out(
        &self,
        sheets: Vec<IssueTrail>,
        to: &State,
        pass_claims: bool,
        report: &mut AdvanceReport,
    ) -> Result<()> {
        let mut moves = Vec::new();
        let mut writes = Vec::new();
        for sheet in sheets {
            let from = self.state_of(&sheet.issue);
            let claim = sheet.trail.claim.as_ref();
            let held = claim.filter(|claim| !pass_claims && !claim.is_expired(now()));
            if let Some(claim) = held {
                report.skipped.push(SkippedMember {
                    id: sheet.issue.id.clone(),
                    current_state: from,
                    reason: format!("{} works on it", one_line(&claim.holder)),
                });
                continue;
            }
            moves.push(AdvancedIssue {
                id: sheet.issue.id.clone(),
                from_state: from.clone(),
                to_state: to.name.clone(),
            });
            let event = TrailEvent::Moved {
                from,
                to: to.name.clone(),
                command: COMMAND.to_owned(),
                intent: None,
                ends: claim.map(|claim| claim.id.clone()),
                merge: None,
            };
            let edit = self.edit_to(&sheet.issue, to);
            writes.push((sheet, edit, TrailEntry::new(event, None)));
        }
        report.skipped.sort_by_key(|left| order(&left.id));
        if report.dry_run || moves.is_empty() {
            report.advanced = moves;
            return Ok(());
        }
        let results = self.ledger.swap_all(&writes).await;
        let results = results.map_err(super::with_setup)?;
        let own = self.repo.id();
        for ((moved, (sheet, _, entry)), result) in moves.into_iter().zip(&writes).zip(results) {
            match result {
                Ok(TrailSwap::Written(outcome)) if took_effect(&outcome.ingestion) => {
                    match self.resolve_race(sheet, to, entry, outcome).await {
                        Ok(outcome) => {
                            report.advanced.push(moved);
                            report.warnings.extend(outcome.warnings);
                        }
                        Err(e) => report.errors.push(failed_with(&moved.id, e, own)),
                    }
                }
                Ok(TrailSwap::Written(_)) => {
                    let why = "its record is stored, but no index shows it";
                    report.errors.push(failed(&moved.id, why, own));
                }
                Ok(TrailSwap::Stale) => {
                    let why = "it was changed concurrently";
                    report.errors.push(failed(&moved.id, why, own));
                }
                Err(e) => report.errors.push(failed_with(&moved.id, e, own)),
            }
        }
        Ok(())
    }
}

fn is_moved(plan: &AdvancePlan<'_>, issue: &Issue) -> bool {
    let mut moves = plan.moves.iter();
    moves.any(|(id, _)| order(id) == order(&issue.id))
}

fn failed(id: &IssueId, why: &str, own: &RepoId) -> FailedIssue {
    let retry = format!(
        "retry advance, or move only {} with set-state",
        name_in(id, own)
    );
    FailedIssue {
        id: id.clone(),
        error: format!("Failed to update: {why}"),
        hint: retry.into(),
    }
}

/// Returns the same as [`failed`], but with the hint of the error if it has one.
fn failed_with(id: &IssueId, e: Error, own: &RepoId) -> FailedIssue {
    let e = super::with_setup(e);
    let mut failed = failed(id, e.message(), own);
    if let Some(hint) = super::hint_of_one(&e) {
        failed.hint = hint;
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::tests::id;

    #[test]
    fn retry_names_the_repository_of_a_foreign_issue() {
        let own = id(1).repo;
        let other = RepoId::local("/other");
        for (repo, named) in [(&own, "#1".to_owned()), (&other, id(1).to_string())] {
            let hint = failed(&id(1), "why", repo).hint;
            let wanted = format!("move only {named}");
            assert!(hint.text().contains(&wanted), "{hint:?}");
        }
    }
}
