//! Rulesets, and the requirements for a merge that come from rulesets and from branch protection.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Id, Permission, Protection, Repo, State};
use crate::patterns;

/// Effect of a ruleset: violations are refused or only recorded, or the ruleset is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Enforcement {
    /// The ruleset refuses violations.
    #[default]
    Active,
    /// The ruleset only records violations.
    Evaluate,
    /// The ruleset is disabled.
    Disabled,
}

/// An actor that may bypass the rules of a ruleset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// Every account with at least this permission.
    Role(Permission),
    /// Every member of this team.
    Team(Id),
    /// The user with this number.
    User(Id),
}

/// A rule in the form of the REST API.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The `type` of the rule, such as `required_status_checks`.
    pub kind: String,
    /// The `parameters` of the rule; null if the rule has none.
    pub parameters: Value,
}

/// A set of rules for branches.
#[derive(Debug, Clone, Default)]
pub struct Ruleset {
    /// Number of the ruleset, which the seed assigns.
    pub id: Id,
    /// Name of the ruleset.
    pub name: String,
    /// True if the ruleset belongs to the organisation, not to the repository.
    pub of_org: bool,
    /// Effect of the ruleset on violations.
    pub enforcement: Enforcement,
    /// Refs to which the ruleset applies: full names with wildcards, `~DEFAULT_BRANCH` or `~ALL`.
    pub include: Vec<String>,
    /// Refs to which the ruleset does not apply, in the form of `include`.
    pub exclude: Vec<String>,
    /// Actors that may bypass the ruleset.
    pub bypass: Vec<Bypass>,
    /// Rules that the ruleset contains.
    pub rules: Vec<Rule>,
}

impl Ruleset {
    /// Returns true if the ruleset is active and applies to a branch.
    pub fn applies(&self, repo: &Repo, branch: &str) -> bool {
        let full = format!("refs/heads/{branch}");
        let matches = |pattern: &String| match pattern.as_str() {
            "~ALL" => true,
            "~DEFAULT_BRANCH" => branch == repo.default_branch,
            pattern => patterns::matches(pattern, &full),
        };
        self.enforcement == Enforcement::Active
            && self.include.iter().any(matches)
            && !self.exclude.iter().any(matches)
    }
}

/// Origin of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Source {
    /// The requirement comes from branch protection.
    #[default]
    Protection,
    /// The requirement comes from the ruleset with this number.
    Ruleset(Id),
}

/// Requirements for a merge from one ruleset, or from the protection of the branch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) source: Source,
    pub(crate) approvals: u32,
    pub(crate) code_owners: bool,
    pub(crate) dismiss_stale: bool,
    pub(crate) last_push: bool,
    pub(crate) conversations: bool,
    /// Names of the required checks, each with the app that must report it.
    pub(crate) checks: Vec<(String, Option<u64>)>,
    pub(crate) strict: bool,
    /// Merge method of the required queue; `None` if no queue is required.
    pub(crate) queue: Option<String>,
    pub(crate) linear: bool,
    pub(crate) signatures: bool,
    pub(crate) deployments: Vec<String>,
    /// Reason why no push or merge may change the branch.
    pub(crate) closed: Option<&'static str>,
    /// The only accounts that may push; `None` permits everybody with write access.
    pub(crate) pushers: Option<BTreeSet<Id>>,
    /// The allowed merge methods; `None` permits every method.
    pub(crate) methods: Option<Vec<String>>,
    /// Text with which a commit message must begin.
    pub(crate) message: Option<String>,
}

impl Wanted {
    fn of_protection(rule: &Protection) -> Self {
        Self {
            approvals: rule.approvals,
            code_owners: rule.code_owners,
            dismiss_stale: rule.dismiss_stale,
            last_push: rule.last_push,
            conversations: rule.conversations,
            checks: (rule.checks.iter())
                .map(|it| (it.clone(), rule.apps.get(it).copied()))
                .collect(),
            strict: rule.strict,
            queue: rule.merge_queue.then(|| "MERGE".to_owned()),
            linear: rule.linear,
            signatures: rule.signatures,
            deployments: rule.deployments.iter().cloned().collect(),
            closed: rule.locked.then_some("Cannot change this locked branch"),
            pushers: rule.pushers.clone(),
            ..Self::default()
        }
    }

    fn of_ruleset(ruleset: &Ruleset) -> Self {
        let mut wanted = Self {
            source: Source::Ruleset(ruleset.id),
            ..Self::default()
        };
        for rule in &ruleset.rules {
            wanted.add(rule);
        }
        wanted
    }

    fn add(&mut self, rule: &Rule) {
        let of = |key: &str| rule.parameters.get(key);
        let flag = |key: &str| of(key) == Some(&Value::Bool(true));
        let text = |key: &str| of(key).and_then(Value::as_str).map(str::to_owned);
        let list = |key: &str| of(key).and_then(Value::as_array).cloned();
        let name = rule.kind.as_str();
        match name {
            "pull_request" => {
                let count = of("required_approving_review_count").and_then(Value::as_u64);
                self.approvals = count.and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
                self.code_owners = flag("require_code_owner_review");
                self.dismiss_stale = flag("dismiss_stale_reviews_on_push");
                self.last_push = flag("require_last_push_approval");
                self.conversations = flag("required_review_thread_resolution");
                self.methods = list("allowed_merge_methods").map(|all| {
                    let names = all.iter().filter_map(Value::as_str);
                    names.map(str::to_uppercase).collect()
                });
            }
            "required_status_checks" => {
                self.strict = flag("strict_required_status_checks_policy");
                let all = list("required_status_checks").unwrap_or_default();
                self.checks = all
                    .iter()
                    .filter_map(|check| {
                        let name = check.get("context")?.as_str()?.to_owned();
                        Some((name, check.get("integration_id").and_then(Value::as_u64)))
                    })
                    .collect();
            }
            "merge_queue" => {
                self.queue = Some(text("merge_method").unwrap_or_else(|| "MERGE".to_owned()));
            }
            "required_linear_history" => self.linear = true,
            "required_signatures" => self.signatures = true,
            "required_deployments" => {
                let all = list("required_deployment_environments").unwrap_or_default();
                let names = all.iter().filter_map(Value::as_str);
                self.deployments = names.map(str::to_owned).collect();
            }
            "update" => self.closed = Some("Cannot update this protected ref."),
            "commit_message_pattern" if text("operator").as_deref() == Some("starts_with") => {
                self.message = text("pattern");
            }
            _ => {}
        }
    }

    /// Returns true if a merge requires reviews.
    pub(crate) fn reviews(&self) -> bool {
        self.approvals > 0 || self.code_owners || self.last_push
    }
}

impl State {
    /// Returns the requirements for a merge into a branch. They come from the branch's protection
    /// and from every ruleset that applies.
    pub(crate) fn wanted(&self, repo: Id, branch: &str) -> Vec<Wanted> {
        let Some(repo) = self.repos.get(&repo) else {
            return Vec::new();
        };
        let protection = repo.protections.get(branch).map(Wanted::of_protection);
        let rulesets = repo.rulesets.iter().filter(|it| it.applies(repo, branch));
        protection
            .into_iter()
            .chain(rulesets.map(Wanted::of_ruleset))
            .collect()
    }

    /// Returns true if an account may bypass the rules that come from a source.
    pub(crate) fn may_bypass(&self, account: Id, repo: &Repo, branch: &str, of: Source) -> bool {
        let permission = self.permission(account, repo);
        let Source::Ruleset(id) = of else {
            let rule = repo.protections.get(branch);
            let enforced = rule.is_some_and(|rule| rule.enforce_admins);
            return !enforced && permission == Some(Permission::Admin);
        };
        let ruleset = repo.rulesets.iter().find(|it| it.id == id);
        let mut actors = ruleset.into_iter().flat_map(|it| &it.bypass);
        actors.any(|actor| match actor {
            Bypass::Role(role) => permission >= Some(*role),
            Bypass::User(user) => *user == account,
            Bypass::Team(team) => {
                let team = self.teams.get(team);
                team.is_some_and(|team| team.members.contains(&account))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rule_parameters_have_the_form_of_rest() {
        let ruleset = Ruleset {
            id: 7,
            rules: vec![
                Rule {
                    kind: "required_status_checks".to_owned(),
                    parameters: json!({
                        "strict_required_status_checks_policy": true,
                        "required_status_checks": [
                            {"context": "build", "integration_id": 15_368},
                            {"context": "lint"},
                        ],
                    }),
                },
                Rule {
                    kind: "pull_request".to_owned(),
                    parameters: json!({
                        "required_approving_review_count": 2,
                        "allowed_merge_methods": ["squash"],
                    }),
                },
            ],
            ..Ruleset::default()
        };
        let wanted = Wanted::of_ruleset(&ruleset);
        assert_eq!(wanted.source, Source::Ruleset(7));
        assert!(wanted.strict && wanted.reviews() && !wanted.code_owners);
        let checks = [
            ("build".to_owned(), Some(15_368)),
            ("lint".to_owned(), None),
        ];
        assert_eq!(wanted.checks, checks);
        assert_eq!(wanted.methods, Some(vec!["SQUASH".to_owned()]));
    }
}
