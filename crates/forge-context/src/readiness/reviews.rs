//! Requirements about approvals, code owners, requested changes and threads.

use forge_core::model::{Actor, BaseRuleKind, Review, ReviewDecision, ReviewState, Reviewer};

use super::{
    ClearedBy, Clearer, Requirement, RequirementSource, RequirementStatus, Rule, cleared,
    judge::{Judge, WantedBy},
    listed, requirement,
};

/// Name of the section that has the latest review of each reviewer.
const LATEST_REVIEWS: &str = "latest_reviews";
/// Name of the section that has the forge's decision about the reviews.
const REVIEW_DECISION: &str = "review_decision";

impl Judge<'_> {
    pub fn no_changes_requested(&self) -> Requirement {
        let rule = Rule::NoChangesRequested;
        let count = self.pull.changes_requested;
        let is_binding = self.pull.review_decision.is_some() && self.merge_status() == "BLOCKED";
        let source = match (self.approvals_wanted(), is_binding) {
            (Some((_, by)), _) => by,
            (None, true) => RequirementSource::Forge.into(),
            (None, false) => RequirementSource::Own.into(),
        };
        if count == 0 && self.is_cut(LATEST_REVIEWS) {
            let why = "some reviews could not be read, and none of the others requests changes";
            return requirement(rule, RequirementStatus::Unknown, source, why, vec![]);
        }
        if count == 0 {
            let evidence = "no reviewer requests changes";
            return requirement(rule, RequirementStatus::Met, source, evidence, vec![]);
        }
        let latest = self.pull.latest_reviews.iter();
        let against: Vec<&Actor> = latest
            .filter(|review| review.state == ReviewState::ChangesRequested)
            .map(|review| &review.author)
            .collect();
        let who: Vec<String> = against.iter().map(|author| author.login.clone()).collect();
        let able = existing_logins(against);
        // The request of a deleted account stays until somebody dismisses it.
        let role = if able.is_empty() && !who.is_empty() {
            ClearedBy::Admin
        } else {
            ClearedBy::Reviewer
        };
        let by = vec![cleared(role, able)];
        requirement(rule, RequirementStatus::Unmet, source, "", by)
            .counting(format!("{count} request changes"), who)
            .blocking(format!("{count} reviewer(s) requested changes"))
    }

    /// Returns the largest number of approvals that a rule requires.
    fn approvals_wanted(&self) -> Option<(u64, WantedBy)> {
        let all = self.wanting(|kind| match kind {
            BaseRuleKind::Approvals { count } if *count > 0 => Some(*count),
            _ => None,
        });
        all.reduce(|most, other| if other.0 > most.0 { other } else { most })
    }

    /// Returns true if a rule restricts which approvals count.
    fn wants_certain_approvals(&self) -> bool {
        self.wants(&BaseRuleKind::CodeOwnerReview).is_some()
            || self.wants(&BaseRuleKind::LastPushApproval).is_some()
    }

    /// Counts the valid approvals. An approval by a reviewer without push access is not counted,
    /// because the forge ignores it.
    fn approvals(&self) -> u64 {
        let all = self.pull.latest_reviews.iter();
        let barred = all
            .filter(|r| r.state == ReviewState::Approved && lacks_push_access(r))
            .count();
        self.pull.approvals.saturating_sub(barred as u64)
    }

    fn has_enough_approvals(&self) -> bool {
        let least = self.approvals_wanted().map_or(1, |(count, _)| count);
        self.approvals() >= least
    }

    pub fn approved(&self) -> Requirement {
        let approvals = self.pull.approvals;
        let decision = self.pull.review_decision;
        let wanted = self.approvals_wanted();
        let mut evidence = match &wanted {
            Some((count, _)) => format!("{approvals} of {count} approval(s)"),
            None => format!("{approvals} approval(s)"),
        };
        match self.approvals() {
            counted if counted == approvals => {}
            0 => evidence.push_str(", none by an account with push access"),
            counted => evidence.push_str(&format!(", {counted} by accounts with push access")),
        }
        let is_met = match decision {
            Some(ReviewDecision::Approved) => true,
            Some(ReviewDecision::ReviewRequired) => {
                self.has_enough_approvals() && self.wants_certain_approvals()
            }
            Some(ReviewDecision::ChangesRequested) | None => self.has_enough_approvals(),
        };
        let source = match (wanted, decision) {
            (Some((_, by)), _) => by,
            (None, Some(ReviewDecision::ReviewRequired)) => RequirementSource::Forge.into(),
            (None, Some(ReviewDecision::ChangesRequested)) if self.merge_status() == "BLOCKED" => {
                RequirementSource::Forge.into()
            }
            (None, _) => RequirementSource::Own.into(),
        };
        let rule = Rule::Approved;
        let is_certain = match decision {
            Some(ReviewDecision::Approved) => true,
            Some(ReviewDecision::ReviewRequired) => !is_met,
            Some(ReviewDecision::ChangesRequested) | None => false,
        };
        if !is_certain && self.is_cut(LATEST_REVIEWS) {
            evidence.push_str("; some reviews could not be read");
            return requirement(rule, RequirementStatus::Unknown, source, &evidence, vec![]);
        }
        if decision.is_none() && self.is_cut(REVIEW_DECISION) {
            evidence.push_str("; the forge's review decision could not be read");
            return requirement(rule, RequirementStatus::Unknown, source, &evidence, vec![]);
        }
        if is_met {
            return requirement(rule, RequirementStatus::Met, source, &evidence, vec![]);
        }
        if decision == Some(ReviewDecision::ReviewRequired) {
            evidence.push_str("; a review is required");
        }
        if self.wants(&BaseRuleKind::DismissStaleApprovals).is_some() {
            evidence.push_str("; each push dismisses approvals");
        }
        let text = match approvals {
            0 => "No approvals yet",
            _ => "Review required",
        };
        let by = self.asked_reviewers();
        requirement(rule, RequirementStatus::Unmet, source, &evidence, by).blocking(text)
    }

    fn asked_reviewers(&self) -> Vec<Clearer> {
        vec![cleared(
            ClearedBy::Reviewer,
            handles(&self.pull.pending_reviewers),
        )]
    }

    /// Returns true if the forge requires no further approval.
    fn has_every_approval(&self) -> bool {
        self.pull.review_decision == Some(ReviewDecision::Approved) || self.forge_would_merge()
    }

    pub fn code_owners_approved(&self) -> Option<Requirement> {
        let wanted = self.wants(&BaseRuleKind::CodeOwnerReview)?;
        let (rule, source) = (Rule::CodeOwnersApproved, RequirementSource::CodeOwners);
        let of = |status, evidence: &str, by| {
            let evidence = format!("{evidence}; required by {}", wanted.text());
            requirement(rule, status, source, &evidence, by)
        };
        if self.has_every_approval() {
            let evidence = "no review by a code owner is missing";
            return Some(of(RequirementStatus::Met, evidence, vec![]));
        }
        let owners = self.rules().map(|rules| rules.code_owners.as_slice());
        let owners = handles(owners.unwrap_or_default());
        let names = listed(owners.iter());
        if owners.is_empty() {
            let why = "no code owner is asked for a review";
            let by = vec![cleared(ClearedBy::Reviewer, vec![])];
            return Some(of(RequirementStatus::Unknown, why, by));
        }
        let evidence = format!("asked, but not yet reviewed by {names}");
        let by = vec![cleared(ClearedBy::Reviewer, owners)];
        // An approval by one code owner is enough. The other owners stay requested, so a requested
        // owner alone does not prove that the owners' approval is missing.
        let is_certain = self.approvals() == 0 && !self.is_cut(LATEST_REVIEWS)
            || self.pull.review_decision == Some(ReviewDecision::ReviewRequired)
                && self.has_enough_approvals()
                && self.wants(&BaseRuleKind::LastPushApproval).is_none();
        Some(match is_certain {
            true => of(RequirementStatus::Unmet, &evidence, by)
                .blocking(format!("Code owners have not approved: {names}")),
            false => of(RequirementStatus::Unknown, &evidence, by),
        })
    }

    pub fn last_push_approved(&self) -> Option<Requirement> {
        let source = self.wants(&BaseRuleKind::LastPushApproval)?;
        let rule = Rule::LastPushApproved;
        if self.has_every_approval() {
            let (status, evidence) = (RequirementStatus::Met, "no approval is missing");
            return Some(requirement(rule, status, source, evidence, vec![]));
        }
        let approvals = self.pull.latest_reviews.iter();
        let mut approvals =
            approvals.filter(|r| r.state == ReviewState::Approved && !lacks_push_access(r));
        let head = self.pull.head_oid.as_deref();
        let may_be_of_head = approvals.any(|r| r.commit.is_none() || r.commit.as_deref() == head);
        let by = self.asked_reviewers();
        Some(match may_be_of_head {
            false if self.is_cut(LATEST_REVIEWS) => {
                let why =
                    "some reviews could not be read, and none of the others approves the head";
                requirement(rule, RequirementStatus::Unknown, source, why, by)
            }
            true => {
                let why = "the head is approved, but perhaps only by the account that pushed it";
                requirement(rule, RequirementStatus::Unknown, source, why, by)
            }
            false => {
                let why = "nobody has approved the head";
                requirement(rule, RequirementStatus::Unmet, source, why, by)
                    .blocking("The last push is not approved")
            }
        })
    }

    pub fn threads_resolved(&self) -> Requirement {
        let rule = Rule::ThreadsResolved;
        let source = self.wants(&BaseRuleKind::ResolvedThreads);
        let source = source.unwrap_or_else(|| RequirementSource::Own.into());
        let Some(threads) = &self.pull.threads else {
            let why = "the threads could not be read";
            return requirement(rule, RequirementStatus::Unknown, source, why, vec![]);
        };
        let threads: Vec<_> = threads.iter().filter(|t| !t.pending).collect();
        let open: Vec<_> = threads.iter().filter(|t| !t.resolved).collect();
        if open.is_empty() && self.is_cut("threads") {
            let why = format!(
                "{} thread(s) are resolved, and some could not be read",
                threads.len()
            );
            return requirement(rule, RequirementStatus::Unknown, source, &why, vec![]);
        }
        if open.is_empty() {
            let evidence = format!("{} thread(s), all resolved", threads.len());
            return requirement(rule, RequirementStatus::Met, source, &evidence, vec![]);
        }
        let starters = open
            .iter()
            .filter_map(|t| Some(&t.comments.first()?.author));
        let mut began = existing_logins(starters);
        began.sort();
        began.dedup();
        let places: Vec<String> = open.iter().map(|t| t.place()).collect();
        let mut by = self.author();
        if !began.is_empty() {
            by.push(cleared(ClearedBy::Reviewer, began));
        }
        let count = open.len();
        let (open, blocker) = match self.is_cut("threads") {
            true => (format!("at least {count}"), format!("At least {count}")),
            false => (count.to_string(), count.to_string()),
        };
        requirement(rule, RequirementStatus::Unmet, source, "", by)
            .counting(format!("{open} thread(s) open"), places)
            .blocking(format!("{blocker} unresolved comment thread(s)"))
    }
}

/// Returns true if the author of a review has no push access. If the forge does not report push
/// access, the author's association with the repository decides.
fn lacks_push_access(review: &Review) -> bool {
    match (review.author_can_push, review.author_association.as_deref()) {
        (Some(can_push), _) => !can_push,
        (None, Some(association)) => !matches!(association, "OWNER" | "MEMBER" | "COLLABORATOR"),
        (None, None) => false,
    }
}

/// Returns the logins without those of deleted accounts.
fn existing_logins<'a>(accounts: impl IntoIterator<Item = &'a Actor>) -> Vec<String> {
    let existing = accounts.into_iter().filter(|account| !account.deleted);
    existing.map(|account| account.login.clone()).collect()
}

fn handles(reviewers: &[Reviewer]) -> Vec<String> {
    let handles = reviewers.iter().map(Reviewer::handle);
    handles.map(str::to_owned).collect()
}
