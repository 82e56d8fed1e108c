//! Reads the group of an issue layer by layer: the issue, then the issues linked with it, and so
//! on.

use std::collections::BTreeMap;

use forge_core::{
    RepoId, Result, Warning,
    model::{Issue, IssueId, IssueState},
};
use serde::Serialize;

use super::Workflow;
use crate::{
    Convergence, Definition, Group, IssueLinks, LinkMap, Member, Position, Recommendation,
    convergence,
    group::MAX_GROUP,
    member::{name_in, order},
    position,
};

/// The group of an issue.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct GroupView {
    /// The members' ids, their order, and cycles.
    #[serde(flatten)]
    pub group: Group,
    /// The members with their workflow state, in the same order.
    #[serde(skip)]
    pub issues: Vec<Member>,
    /// The repository of the issue whose group was read.
    #[serde(skip)]
    pub own: RepoId,
    /// Warnings about unreadable issues.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl GroupView {
    /// Determines the phase of the group. If the group was not read completely, the recommendation
    /// is to wait, because an unread member may be in an earlier state.
    #[must_use]
    pub fn position(&self, definition: &Definition) -> Position {
        let mut found = position(definition, &self.issues, &self.own);
        if self.group.truncated {
            found.convergence.met = false;
            found.recommendation = downgrade_to_wait(found.recommendation);
        }
        found
    }

    /// Checks whether the group has converged at `target`. A group that was not read completely has
    /// not converged.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` (field `target_state`).
    pub fn convergence(&self, definition: &Definition, target: &str) -> Result<Convergence> {
        let mut found = convergence(definition, &self.issues, target)?;
        if self.group.truncated {
            found.truncated = true;
            found.converged = false;
            found.recommendation = downgrade_to_wait(found.recommendation);
        }
        Ok(found)
    }
}

/// Returns the recommendation for a group that must not proceed.
const fn downgrade_to_wait(found: Recommendation) -> Recommendation {
    match found {
        Recommendation::Proceed => Recommendation::Wait,
        other => other,
    }
}

impl Workflow {
    /// Reads the issues linked with `seed`; the group is the same for every member. An issue that
    /// cannot be read becomes a warning.
    ///
    /// # Errors
    ///
    /// Fails with `not_found` for `seed`.
    pub async fn group(&self, seed: &IssueId) -> Result<GroupView> {
        let fields = self.fields();
        let mut links = LinkMap::default();
        let mut issues = BTreeMap::new();
        let mut warnings = Vec::new();
        let mut failed = std::collections::BTreeSet::new();
        let mut next = vec![seed.clone()];
        while !next.is_empty() {
            let found = self.repo.related_issues(&next, &fields).await?;
            for (id, why) in found.failed {
                // If no issue is known yet, the issue that could not be read is `seed` itself.
                if issues.is_empty() {
                    return Err(why);
                }
                let id = failed.insert(order(&id)).then(|| name_in(&id, &seed.repo));
                warnings.extend(id.map(|id| {
                    Warning::new(format!(
                        "{id} of the group could not be read: {}",
                        why.message()
                    ))
                }));
            }
            for issue in found.issues {
                let known = issues.contains_key(&order(&issue.id));
                if known || issues.len() >= MAX_GROUP || issue.relations.is_none() {
                    continue;
                }
                let of_issue = links_of(&issue);
                if of_issue.truncated {
                    // The warnings about relations say which links are missing.
                    for warning in issue.warnings.iter().filter(|w| is_about_relations(w)) {
                        if !warnings.contains(warning) {
                            warnings.push(warning.clone());
                        }
                    }
                }
                links.insert(issue.id.clone(), of_issue);
                issues.insert(order(&issue.id), self.member(&issue));
            }
            // An issue that the answer lacks counts as failed. Otherwise it would be requested
            // forever.
            failed.extend(
                next.iter()
                    .map(order)
                    .filter(|key| !issues.contains_key(key)),
            );
            next = links.unknown();
            next.retain(|id| !failed.contains(&order(id)));
            // Each layer adds known or failed issues, so the maximum group size bounds both the
            // issues and the layers that are read.
            next.truncate(MAX_GROUP.saturating_sub(issues.len() + failed.len()));
        }
        let mut group = links.group_of(seed);
        group.truncated |= !warnings.is_empty();
        let issues = group
            .members
            .iter()
            .filter_map(|id| issues.get(&order(id)).cloned());
        Ok(GroupView {
            issues: issues.collect(),
            own: seed.repo.clone(),
            group,
            warnings,
        })
    }

    /// Determines the phase of the group of `seed`.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::group`] does.
    pub async fn position(&self, seed: &IssueId) -> Result<(Position, GroupView)> {
        let group = self.group(seed).await?;
        Ok((group.position(&self.definition), group))
    }

    /// Checks whether the group of `seed` has converged at `target`.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::group`] does, and with `invalid_input` (field `target_state`).
    pub async fn convergence(
        &self,
        seed: &IssueId,
        target: &str,
    ) -> Result<(Convergence, GroupView)> {
        // An invalid state is refused before any read.
        convergence(&self.definition, &[], target)?;
        let group = self.group(seed).await?;
        Ok((group.convergence(&self.definition, target)?, group))
    }
}

pub(super) fn is_about_relations(warning: &Warning) -> bool {
    warning.section == Some("relations")
}

/// Returns the links of an issue that was read with its relations.
pub(super) fn links_of(issue: &Issue) -> IssueLinks {
    let relations = issue.relations.clone().unwrap_or_default();
    let ids = |of: Vec<forge_core::model::RelatedIssue>| of.into_iter().map(|r| r.id).collect();
    IssueLinks {
        parent: relations.parent.map(|p| p.id),
        children: ids(relations.sub_issues),
        blocked_by: ids(relations.blocked_by),
        blocking: ids(relations.blocking),
        open: issue.state == IssueState::Open,
        truncated: relations.truncated,
    }
}
