//! Judges a pull request by all rules.

use forge_core::{
    PrKey,
    model::{BaseRule, BaseRuleKind, BaseRules, MergeState, PrState, PullRequest, RuleSource},
};

use super::{
    ClearedBy, Clearer, Dependency, ForgeRules, Requirement, RequirementSource, RequirementStatus,
    Rule, cleared, listed, requirement,
};

/// Name of the section that has the mergeability and the merge state.
pub(super) const MERGEABILITY: &str = "mergeability";
/// Name of the section that has the pull request that this one builds on.
const DEPENDS_ON: &str = "depends_on";

pub(super) struct Judge<'a> {
    pub pull: &'a PullRequest,
    forge: ForgeRules,
}

/// Source of a rule, with the name of its ruleset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WantedBy {
    pub source: RequirementSource,
    pub name: Option<String>,
}

impl WantedBy {
    /// Returns the source for display. The name of a ruleset is untrusted.
    pub fn text(&self) -> String {
        let word = self.source.name().replace('_', " ");
        match &self.name {
            Some(name) => format!("{word} \"{name}\""),
            None => word,
        }
    }
}

impl From<RequirementSource> for WantedBy {
    fn from(source: RequirementSource) -> Self {
        Self { source, name: None }
    }
}

impl<'a> Judge<'a> {
    pub fn new(pull: &'a PullRequest, forge: ForgeRules) -> Self {
        Self { pull, forge }
    }

    pub fn requirements(&self, dependency: Option<&Dependency>) -> Vec<Requirement> {
        let open = self.open();
        if open.status != RequirementStatus::Met {
            return vec![open];
        }
        let mut all = vec![open, self.no_conflicts(), self.not_draft()];
        all.extend(super::indexed::indexed(self.pull));
        // This source is for the rule that the pull request below has to be merged first. If GitHub
        // reports BLOCKED, GitHub itself enforces the rule. For a GitHub stack, GitHub does not
        // report BLOCKED, because one operation merges the whole stack, lowest pull request first.
        let source = match self.merge_status() {
            "BLOCKED" => RequirementSource::Forge,
            _ => RequirementSource::Own,
        };
        all.extend(match dependency {
            Some(below) => Some(dependency_merged(below, source)),
            None => self.unread_dependency(source),
        });
        if self.forge.verdicts {
            all.extend([self.no_changes_requested(), self.approved()]);
            all.extend(self.code_owners_approved());
            all.extend(self.last_push_approved());
        }
        if self.forge.checks {
            all.extend(self.checks());
        }
        if self.forge.threads {
            all.push(self.threads_resolved());
        }
        all.extend(self.of_the_base());
        let not_blocked = self.not_blocked(&all);
        all.extend(not_blocked);
        all
    }

    pub fn rules(&self) -> Option<&'a BaseRules> {
        self.pull.base_rules.as_ref()
    }

    /// Returns the rules of the base branch that `of` selects, with their sources.
    pub fn wanting<T>(
        &self,
        of: impl Fn(&'a BaseRuleKind) -> Option<T>,
    ) -> impl Iterator<Item = (T, WantedBy)> {
        let all = self.rules().map(|rules| rules.rules.as_slice());
        let all = all.unwrap_or_default().iter();
        all.filter_map(move |rule| Some((of(&rule.wants)?, self.wanted_by(rule))))
    }

    /// Returns the source of the base branch rule of this kind, if there is one.
    pub fn wants(&self, kind: &BaseRuleKind) -> Option<WantedBy> {
        let mut all = self.wanting(|wants| (wants == kind).then_some(()));
        all.next().map(|(_, by)| by)
    }

    fn wanted_by(&self, rule: &BaseRule) -> WantedBy {
        match &rule.source {
            RuleSource::BranchProtection => RequirementSource::BranchProtection.into(),
            RuleSource::MergeQueue => RequirementSource::MergeQueue.into(),
            RuleSource::Ruleset { id, name, owner } => {
                let name = name.clone().unwrap_or_else(|| id.to_string());
                let repo = self.pull.id.repo.owner_and_name();
                let is_own = repo.is_some_and(|(of, name)| {
                    let repo = format!("{of}/{name}");
                    owner.eq_ignore_ascii_case(&repo)
                });
                WantedBy {
                    source: RequirementSource::Ruleset,
                    name: Some(match is_own || owner.is_empty() {
                        true => name,
                        false => format!("{name} ({owner})"),
                    }),
                }
            }
        }
    }

    /// Returns the forge's merge state, such as `CLEAN`.
    pub fn merge_status(&self) -> &str {
        let found = self.pull.mergeability.as_ref();
        found.map_or("", |mergeability| &mergeability.status)
    }

    /// Returns true if the forge's own rules allow the merge now.
    pub fn forge_would_merge(&self) -> bool {
        matches!(self.merge_status(), "CLEAN" | "UNSTABLE" | "HAS_HOOKS")
    }

    /// Returns true if part of a section could not be read.
    pub fn is_cut(&self, section: &str) -> bool {
        let mut unread = self.pull.warnings.iter();
        unread.any(|warning| warning.section == Some(section))
    }

    pub fn author(&self) -> Vec<Clearer> {
        let author = &self.pull.author;
        if author.deleted {
            return Vec::new();
        }
        vec![cleared(ClearedBy::Author, vec![author.login.clone()])]
    }

    /// Returns the author, who clears a requirement by a push. If the repository of the head is
    /// deleted or hidden, nobody is known who can push there.
    pub fn pusher(&self) -> Vec<Clearer> {
        if self.pull.head_repo_is_unknown {
            return Vec::new();
        }
        self.author()
    }

    fn open(&self) -> Requirement {
        let of = |status, evidence: &str, by| {
            requirement(Rule::Open, status, RequirementSource::Forge, evidence, by)
        };
        match self.pull.state {
            PrState::Open => of(RequirementStatus::Met, "it is open", vec![]),
            PrState::Closed => of(RequirementStatus::Unmet, "it is closed", self.author()),
            PrState::Merged => of(RequirementStatus::Unmet, "it is already merged", vec![]),
        }
    }

    fn no_conflicts(&self) -> Requirement {
        let of = |status, evidence: &str, by| {
            let source = RequirementSource::Forge;
            requirement(Rule::NoConflicts, status, source, evidence, by)
        };
        let Some(found) = &self.pull.mergeability else {
            let why = "the mergeability could not be read";
            return of(RequirementStatus::Unknown, why, vec![]);
        };
        match found.state {
            MergeState::Mergeable => of(
                RequirementStatus::Met,
                "head and base merge without conflicts",
                vec![],
            ),
            MergeState::Unknown if self.is_cut(MERGEABILITY) => of(
                RequirementStatus::Unknown,
                "the mergeability could not be read",
                vec![],
            ),
            MergeState::Unknown => of(
                RequirementStatus::Unknown,
                "the forge is still computing the mergeability: ask again in a few seconds",
                vec![cleared(ClearedBy::Time, vec![])],
            ),
            MergeState::Conflicting => {
                let evidence = match found.conflicts.is_empty() {
                    true => "head and base conflict".to_owned(),
                    false => format!("conflicts in {}", listed(found.conflicts.iter())),
                };
                let text = format!("Merge conflicts with {}", self.pull.base_branch);
                of(RequirementStatus::Unmet, &evidence, self.pusher()).blocking(text)
            }
        }
    }

    /// Returns an unknown requirement if the forge did not tell which pull request this one builds
    /// on.
    fn unread_dependency(&self, source: RequirementSource) -> Option<Requirement> {
        let evidence = "the pull request that this one builds on could not be read";
        let (rule, status) = (Rule::DependencyMerged, RequirementStatus::Unknown);
        let unread = || requirement(rule, status, source, evidence, vec![]);
        self.is_cut(DEPENDS_ON).then(unread)
    }

    fn not_draft(&self) -> Requirement {
        let source = RequirementSource::Forge;
        let of = |status, evidence, by| requirement(Rule::NotDraft, status, source, evidence, by);
        match self.pull.draft {
            false if self.is_cut("draft") => {
                let why = "whether it is a draft could not be read";
                of(RequirementStatus::Unknown, why, vec![])
            }
            false => of(RequirementStatus::Met, "it is not a draft", vec![]),
            true => of(RequirementStatus::Unmet, "it is a draft", self.author())
                .blocking("PR is still in draft"),
        }
    }
}

pub(super) fn dependency_merged(below: &Dependency, source: RequirementSource) -> Requirement {
    let name = match &below.key {
        PrKey::Number(n) => format!("#{n}"),
        PrKey::Record(uri) => uri.clone(),
    };
    let of = |status, what: &str, by| {
        let evidence = format!("{name} {what}");
        requirement(Rule::DependencyMerged, status, source, &evidence, by)
    };
    match below.state {
        None if below.unlisted => of(
            RequirementStatus::Unknown,
            "was not read: the forge does not list it as a pull request of the repository",
            vec![],
        ),
        None => of(RequirementStatus::Unknown, "could not be read", vec![]),
        Some(PrState::Merged) => of(RequirementStatus::Met, "is merged", vec![]),
        Some(state) => {
            let word = match state {
                PrState::Open => "is open",
                _ => "is closed",
            };
            let by = vec![cleared(ClearedBy::Author, vec![])];
            of(RequirementStatus::Unmet, word, by)
                .blocking(format!("Depends on {name}, which is not merged"))
        }
    }
}
