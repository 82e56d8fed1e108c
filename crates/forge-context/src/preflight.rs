//! Computes only the merge verdict, for a caller who is about to merge.

use std::slice;

use forge_core::{
    AtUri, PrId, PrKey, Repo, Result, Timestamp,
    model::{BaseRules, PrFields, PrState, PullRequest, UnreadRules},
};
use futures::join;

use crate::{
    ContextSettings, Dependency, ForgeRules, Readiness, Requirement, RequirementStatus, Rule,
};

/// Fields of a pull request that [`readiness`] needs.
pub const VERDICT_FIELDS: PrFields = PrFields::MERGEABILITY
    .with(PrFields::THREADS)
    .with(PrFields::CHECKS)
    .with(PrFields::AUTO_MERGE)
    .with(PrFields::DEPENDS_ON)
    .with(PrFields::INGESTION)
    .with(PrFields::RULES);

/// Judges `pull`, which must have been read with [`VERDICT_FIELDS`].
///
/// Makes these requests:
/// - one if `pull` builds on another pull request
/// - one more if the lower pull request is a record of another account
/// - one if the forge has rules for base branches
pub async fn readiness(repo: &Repo, pull: &PullRequest, settings: &ContextSettings) -> Readiness {
    let (below, rules) = join!(dependency(repo, pull), base_rules(repo, pull));
    let forge = rules_of(repo, settings);
    let judge = |pull| Readiness::of(pull, forge, below.as_ref(), Timestamp::now());
    match rules {
        Some(_) => {
            let mut pull = pull.clone();
            pull.base_rules = rules;
            judge(&pull)
        }
        None => judge(pull),
    }
}

/// Reads the rules of the base branch of an open pull request, if the forge has such rules.
pub(crate) async fn base_rules(repo: &Repo, pull: &PullRequest) -> Option<BaseRules> {
    let mut seen = pull.base_rules.clone()?;
    if pull.state != PrState::Open {
        return None;
    }
    repo.base_rules(pull).await.unwrap_or_else(|_| {
        seen.mark_unread(UnreadRules::Rulesets);
        Some(seen)
    })
}

/// Returns the rules that the forge of `repo` can have.
pub(crate) fn rules_of(repo: &Repo, settings: &ContextSettings) -> ForgeRules {
    ForgeRules {
        approval: settings.require_approval,
        ..repo.client().forge().capabilities().into()
    }
}

/// Reads the state of the pull request that `pull` builds on.
pub(crate) async fn dependency(repo: &Repo, pull: &PullRequest) -> Option<Dependency> {
    let key = pull.depends_on.clone()?;
    let id = PrId {
        repo: repo.id().clone(),
        key: key.clone(),
    };
    let listed = is_listed(repo, pull, &key).await;
    let below = match listed {
        Ok(true) => repo.pull(&id, PrFields::ROW).await.ok(),
        _ => None,
    };
    Some(Dependency {
        key,
        state: below.map(|below| below.state),
        unlisted: matches!(listed, Ok(false)),
    })
}

/// Returns true if `below`, the pull request that `pull` builds on, may be read.
///
/// This is so if its key is a number, if its record belongs to the author of `pull`, or if the
/// forge lists it. Any other record could be on a host that a stranger chose when writing `pull`.
async fn is_listed(repo: &Repo, pull: &PullRequest, below: &PrKey) -> Result<bool> {
    let PrKey::Record(uri) = below else {
        return Ok(true);
    };
    let account = |uri: &str| AtUri::parse(uri).ok().map(|uri| uri.authority);
    // Reading `pull` has already contacted the host of its author's account. Reading another record
    // of that account contacts no new host.
    let author = account(&pull.node_id);
    if author.is_some() && author == account(uri) {
        return Ok(true);
    }
    let listed = repo.listed_pulls(slice::from_ref(uri)).await?;
    Ok(listed.contains(uri))
}

impl Readiness {
    /// Returns the requirements that a merge would ignore: first those that are unmet, then those
    /// that are unknown.
    pub fn open(&self) -> impl Iterator<Item = &Requirement> {
        let all = self.requirements.iter();
        all.filter(|r| r.status != RequirementStatus::Met)
    }

    /// Returns true if all of `rules` are listed and met.
    #[must_use]
    pub fn are_met(&self, rules: &[Rule]) -> bool {
        rules.iter().all(|rule| {
            let mut all = self.requirements.iter();
            all.any(|r| r.rule == *rule && r.status == RequirementStatus::Met)
        })
    }
}

#[cfg(test)]
mod tests {
    use forge_core::model::{BaseRule, BaseRuleKind, RuleSource};

    use super::*;
    use crate::stub::StubForge;

    fn forge() -> StubForge {
        let mut forge = StubForge::default();
        forge.pull.base_rules = Some(BaseRules::default());
        forge
    }

    #[tokio::test]
    async fn readiness_before_merge_applies_base_rules() {
        let mut forge = forge();
        let approvals = BaseRuleKind::Approvals { count: 2 };
        forge.rulesets = vec![BaseRule::new(approvals, RuleSource::BranchProtection)];
        let pull = forge.pull.clone();
        let (repo, _) = forge.repo();
        let found = readiness(&repo, &pull, &ContextSettings::default()).await;
        let open: Vec<_> = found.open().map(|r| (r.rule, &*r.evidence)).collect();
        assert_eq!(open, [(Rule::Approved, "1 of 2 approval(s)")]);
    }

    #[tokio::test]
    async fn approval_setting_applies_without_a_forge_rule() {
        for wanted in [true, false] {
            let mut forge = forge();
            forge.pull.approvals = 0;
            forge.pull.latest_reviews.clear();
            let pull = forge.pull.clone();
            let (repo, _) = forge.repo();
            let settings = ContextSettings {
                require_approval: wanted,
                ..ContextSettings::default()
            };
            let found = readiness(&repo, &pull, &settings).await;
            assert_eq!(found.ready_to_merge, Some(!wanted));
        }
    }

    #[tokio::test]
    async fn rule_absent_from_verdict_counts_as_unmet() {
        let mut forge = forge();
        forge.pull.draft = true;
        let pull = forge.pull.clone();
        let (repo, _) = forge.repo();
        let found = readiness(&repo, &pull, &ContextSettings::default()).await;
        assert!(found.are_met(&[]));
        assert!(found.are_met(&[Rule::Open, Rule::Approved]));
        assert!(!found.are_met(&[Rule::Open, Rule::NotDraft]));
        // A rule that is missing from the verdict counts as unmet.
        assert!(!found.are_met(&[Rule::Open, Rule::Deployed]));
    }
}
