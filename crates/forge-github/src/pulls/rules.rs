//! Reads the rules of a pull request's base branch: the branch protection through GraphQL together
//! with the pull request, and the rulesets through a REST route of the branch.

use forge_core::{
    Result,
    model::{
        BaseRule, BaseRuleKind, BaseRules, MergeMethod, PullRequest, QueuePlace, RuleSource,
        UnreadRules,
    },
};
use http::{Method, StatusCode};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;

use super::files::{SEGMENT, has_next, repo_route};
use crate::{GitHub, api::JSON, error, gql::types as wire, map, paged::MAX_PAGE_SIZE, repos};

/// The name of the model's field for these rules.
pub(crate) const BASE_RULES: &str = "base_rules";
/// The name of the part of these rules that concerns the merge queue.
pub(crate) const MERGE_QUEUE: &str = "merge_queue";
/// The name of the part of these rules that the repository has.
pub(crate) const REPOSITORY: &str = "base_repository";
/// The names above, each with the rules that are unread if GitHub reports an error for it.
pub(crate) const SECTIONS: &[(&str, UnreadRules)] = &[
    (BASE_RULES, UnreadRules::Protection),
    (MERGE_QUEUE, UnreadRules::Queue),
    (REPOSITORY, UnreadRules::Repository),
];
/// The maximum count of pages of rules that are read.
const MAX_PAGES: usize = 10;
/// Rules that a merge cannot violate: they concern branch names or require nothing.
const IGNORED_RULES: &[&str] = &[
    "branch_name_pattern",
    "copilot_code_review",
    "creation",
    "deletion",
    "non_fast_forward",
    "tag_name_pattern",
];

/// A ruleset's rule in REST (docs.github.com, REST, "Get rules for a branch").
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RestRule {
    #[serde(rename = "type")]
    kind: String,
    ruleset_id: u64,
    ruleset_source: String,
    parameters: Option<RuleParameters>,
}

/// The parameters of all rule types in one struct. A parameter's name means the same in all types.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RuleParameters {
    required_approving_review_count: u64,
    require_code_owner_review: bool,
    require_last_push_approval: bool,
    dismiss_stale_reviews_on_push: bool,
    required_review_thread_resolution: bool,
    allowed_merge_methods: Option<Vec<String>>,
    strict_required_status_checks_policy: bool,
    required_status_checks: Vec<RestCheck>,
    required_deployment_environments: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RestCheck {
    context: String,
    integration_id: Option<i64>,
}

impl RestRule {
    fn into_kinds(self) -> Vec<BaseRuleKind> {
        let p = self.parameters.unwrap_or_default();
        match self.kind.as_str() {
            "pull_request" => {
                let count = p.required_approving_review_count;
                let mut all = vec![BaseRuleKind::Approvals { count }];
                let flags = [
                    (p.require_code_owner_review, BaseRuleKind::CodeOwnerReview),
                    (p.require_last_push_approval, BaseRuleKind::LastPushApproval),
                    (
                        p.dismiss_stale_reviews_on_push,
                        BaseRuleKind::DismissStaleApprovals,
                    ),
                    (
                        p.required_review_thread_resolution,
                        BaseRuleKind::ResolvedThreads,
                    ),
                ];
                all.extend(wanted(flags));
                all.extend(p.allowed_merge_methods.map(|names| {
                    let allowed = names.iter().filter_map(|name| method(name)).collect();
                    BaseRuleKind::MergeMethods { allowed }
                }));
                all
            }
            "required_status_checks" => {
                let checks = p.required_status_checks.into_iter();
                let checks = checks.map(|check| BaseRuleKind::Check {
                    name: check.context,
                    // A negative id means any app.
                    app: check.integration_id.and_then(|id| u64::try_from(id).ok()),
                });
                let strict = p.strict_required_status_checks_policy;
                checks
                    .chain(strict.then_some(BaseRuleKind::UpToDate))
                    .collect()
            }
            "merge_queue" => vec![BaseRuleKind::MergeQueue],
            "required_linear_history" => vec![BaseRuleKind::LinearHistory],
            "required_signatures" => vec![BaseRuleKind::Signatures],
            "required_deployments" => vec![BaseRuleKind::Deployments {
                environments: p.required_deployment_environments,
            }],
            "update" => vec![BaseRuleKind::Locked],
            other if IGNORED_RULES.contains(&other) => vec![],
            _ => vec![BaseRuleKind::Other { name: self.kind }],
        }
    }
}

fn method(name: &str) -> Option<MergeMethod> {
    let all = [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase];
    all.into_iter().find(|m| m.as_str() == name)
}

fn wanted<const N: usize>(flags: [(bool, BaseRuleKind); N]) -> impl Iterator<Item = BaseRuleKind> {
    let kept = flags.into_iter().filter(|(wanted, _)| *wanted);
    kept.map(|(_, kind)| kind)
}

impl GitHub {
    /// Combines the rules in `pull` with those from the rulesets.
    pub(super) async fn rules_of_base(&self, pull: &PullRequest) -> BaseRules {
        let mut rules = pull.base_rules.clone().unwrap_or_else(unread);
        if self.ruleset_rules(pull, &mut rules).await.is_err() {
            rules.mark_unread(UnreadRules::Rulesets);
        }
        rules
    }

    /// Adds the ruleset rules of all pages.
    async fn ruleset_rules(&self, pull: &PullRequest, rules: &mut BaseRules) -> Result<()> {
        let repo = repo_route(&pull.id.repo)?;
        let branch = utf8_percent_encode(&pull.base_branch, SEGMENT);
        for page in 1..=MAX_PAGES {
            let path =
                format!("{repo}/rules/branches/{branch}?per_page={MAX_PAGE_SIZE}&page={page}");
            let (status, headers, bytes) = self.api.rest(Method::GET, &path, JSON, None).await?;
            let about = self.api.error_context(false);
            if status == StatusCode::FORBIDDEN && error::is_paid_feature(&bytes) {
                return Ok(());
            }
            if !status.is_success() {
                return Err(error::from_http(about, status, &headers, &bytes));
            }
            let found: Vec<RestRule> = serde_json::from_slice(&bytes)
                .map_err(|e| about.misread("the rules of the base branch", &e))?;
            let more = has_next(&headers).unwrap_or(found.len() == MAX_PAGE_SIZE);
            for rule in found {
                let source = RuleSource::Ruleset {
                    id: rule.ruleset_id,
                    name: rules.ruleset_names.get(&rule.ruleset_id).cloned(),
                    owner: rule.ruleset_source.clone(),
                };
                add(rules, rule.into_kinds(), &source);
            }
            if !more {
                return Ok(());
            }
        }
        rules.mark_unread(UnreadRules::Rulesets);
        Ok(())
    }
}

fn add(rules: &mut BaseRules, wants: impl IntoIterator<Item = BaseRuleKind>, source: &RuleSource) {
    let of = |wants| BaseRule::new(wants, source.clone());
    rules.rules.extend(wants.into_iter().map(of));
}

/// Returns the rules of a branch whose protection could not be read at all.
pub(crate) fn unread() -> BaseRules {
    let mut rules = BaseRules::default();
    rules.mark_unread(UnreadRules::Protection);
    rules
}

/// Extracts the rules from the answer to a view of the pull request. `unread` are the kinds of rules
/// for which GitHub reported an error. A missing protection then does not prove that the branch is
/// unprotected.
pub(crate) fn extract_rules(pull: &wire::Pull, unread: &[UnreadRules]) -> BaseRules {
    let mut rules = BaseRules::default();
    let failed = unread.contains(&UnreadRules::Protection);
    for what in unread {
        if *what != UnreadRules::Protection {
            rules.mark_unread(*what);
        }
    }
    let queued = pull.merge_queue_entry.as_ref();
    rules.queue = queued.map(|entry| QueuePlace::new(entry.position, entry.state.clone()));
    rules.viewer_can_bypass = pull.viewer_can_merge_as_admin;
    if pull.is_in_merge_queue {
        rules.queue.get_or_insert_default();
    }
    if pull.is_merge_queue_enabled {
        add(
            &mut rules,
            [BaseRuleKind::MergeQueue],
            &RuleSource::MergeQueue,
        );
    }
    let requests = pull.review_requests.nodes.iter().flatten().flatten();
    let owners = requests.filter(|request| request.as_code_owner);
    let owners = owners.filter_map(|request| request.requested_reviewer.clone());
    rules.code_owners = owners
        .filter(|who| !map::is_unnamed_team(who))
        .map(map::reviewer)
        .collect();
    if let Some(repo) = &pull.base_repository {
        rules.viewer_can_write = repo
            .viewer_permission
            .as_deref()
            .map(|word| matches!(word, "ADMIN" | "MAINTAIN" | "WRITE"));
        rules.repository_methods = repos::methods(repo);
        let named = repo.rulesets.nodes.iter().flatten().flatten();
        let named = named.filter_map(|it| Some((it.database_id?, it.name.clone())));
        rules.ruleset_names = named.collect();
    }
    let base = pull.base_ref.as_ref();
    let update = base.and_then(|base| base.ref_update_rule.as_ref());
    rules.viewer_can_push = update.and_then(|rule| rule.viewer_can_push);
    let protection = base.and_then(|base| base.branch_protection_rule.as_ref());
    let source = &RuleSource::BranchProtection;
    match (protection, update) {
        (Some(protection), _) => add(&mut rules, of_protection(protection), source),
        (None, Some(update)) => {
            add(&mut rules, of_update(update), source);
            rules.mark_unread(UnreadRules::ProtectionDetails);
        }
        // Without permission, GitHub answers null even if a protection exists.
        (None, None) if failed => rules.mark_unread(UnreadRules::Protection),
        (None, None) => {}
    }
    rules
}

/// Returns the required checks with these names. `of_apps` tells which app must report a check.
fn checks(names: &[String], of_apps: &[wire::RequiredCheck]) -> impl Iterator<Item = BaseRuleKind> {
    names.iter().map(|name| {
        let of_app = of_apps.iter().find(|check| check.context == *name);
        BaseRuleKind::Check {
            name: name.clone(),
            app: of_app.and_then(|check| check.app.as_ref()?.database_id),
        }
    })
}

fn of_protection(p: &wire::ProtectionRule) -> Vec<BaseRuleKind> {
    let count = p.required_approving_review_count.unwrap_or_default();
    let mut all = Vec::new();
    if p.requires_approving_reviews {
        all.push(BaseRuleKind::Approvals { count });
    }
    if p.requires_status_checks {
        let apps = &p.required_status_checks;
        all.extend(checks(&p.required_status_check_contexts, apps));
    }
    let environments = p.required_deployment_environments.clone();
    all.extend(wanted([
        (p.requires_code_owner_reviews, BaseRuleKind::CodeOwnerReview),
        (p.require_last_push_approval, BaseRuleKind::LastPushApproval),
        (
            p.dismisses_stale_reviews,
            BaseRuleKind::DismissStaleApprovals,
        ),
        (
            p.requires_conversation_resolution,
            BaseRuleKind::ResolvedThreads,
        ),
        (p.requires_strict_status_checks, BaseRuleKind::UpToDate),
        (p.requires_linear_history, BaseRuleKind::LinearHistory),
        (p.requires_commit_signatures, BaseRuleKind::Signatures),
        (
            p.requires_deployments,
            BaseRuleKind::Deployments { environments },
        ),
        (p.lock_branch, BaseRuleKind::Locked),
        (p.restricts_pushes, BaseRuleKind::RestrictedPushes),
    ]));
    all
}

fn of_update(u: &wire::UpdateRule) -> Vec<BaseRuleKind> {
    let count = u.required_approving_review_count;
    let approvals = count.map(|count| BaseRuleKind::Approvals { count });
    let flags = wanted([
        (u.requires_code_owner_reviews, BaseRuleKind::CodeOwnerReview),
        (
            u.requires_conversation_resolution,
            BaseRuleKind::ResolvedThreads,
        ),
        (u.requires_linear_history, BaseRuleKind::LinearHistory),
        (u.requires_signatures, BaseRuleKind::Signatures),
    ]);
    approvals
        .into_iter()
        .chain(checks(&u.required_status_check_contexts, &[]))
        .chain(flags)
        .collect()
}
