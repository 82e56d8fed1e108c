//! Requirements of the base branch beyond reviews and checks.

use forge_core::model::{BaseRuleKind, MergeMethod, UnreadRules};

use super::{
    ClearedBy, Requirement, RequirementSource, RequirementStatus, Rule, cleared,
    judge::{Judge, MERGEABILITY, WantedBy},
    listed, requirement,
};

impl Judge<'_> {
    pub fn of_the_base(&self) -> Vec<Requirement> {
        let signed = self.wants(&BaseRuleKind::Signatures).map(|source| {
            let what = "signed commits".to_owned();
            self.unread_rule(Rule::CommitsSigned, source, &what, ClearedBy::Author)
        });
        let deployed = self.wanting(|kind| match kind {
            BaseRuleKind::Deployments { environments } => Some(environments),
            _ => None,
        });
        let deployed = deployed.map(|(names, source)| {
            let what = format!("a deployment to {}", listed(names.iter()));
            self.unread_rule(Rule::Deployed, source, &what, ClearedBy::Ci)
        });
        let all = [
            self.branch_unlocked(),
            self.method_allowed(),
            signed,
            self.up_to_date(),
            self.push_allowed(),
            self.other_rules(),
            deployed.into_iter().next(),
            self.out_of_queue(),
        ];
        all.into_iter().flatten().collect()
    }

    /// Returns the requirement of a rule that only the forge can judge.
    fn unread_rule(&self, rule: Rule, source: WantedBy, what: &str, who: ClearedBy) -> Requirement {
        let base = &self.pull.base_branch;
        if self.forge_would_merge() {
            let evidence = format!(
                "{base} requires {what}, and the forge says {}",
                self.merge_status()
            );
            return requirement(rule, RequirementStatus::Met, source, &evidence, vec![]);
        }
        let by = match who {
            ClearedBy::Author => self.pusher(),
            _ => vec![cleared(who, vec![])],
        };
        let evidence = format!("{base} requires {what}; only the forge can judge that");
        requirement(rule, RequirementStatus::Unknown, source, &evidence, by)
    }

    fn branch_unlocked(&self) -> Option<Requirement> {
        let source = self.wants(&BaseRuleKind::Locked)?;
        let base = &self.pull.base_branch;
        let rule = Rule::BranchUnlocked;
        if self.forge_would_merge() {
            let evidence = format!(
                "{base} is locked, and the forge says {}",
                self.merge_status()
            );
            let status = RequirementStatus::Met;
            return Some(requirement(rule, status, source, &evidence, vec![]));
        }
        let evidence =
            format!("{base} is locked: only accounts that may bypass the rules can change it");
        let by = vec![cleared(ClearedBy::Admin, vec![])];
        let locked = requirement(rule, RequirementStatus::Unmet, source, &evidence, by);
        Some(locked.blocking(format!("{base} is locked")))
    }

    /// Requires a merge method that repository and base branch allow. Returns `None` for a base
    /// branch with a merge queue, because the settings of the queue choose the method.
    fn method_allowed(&self) -> Option<Requirement> {
        let of_repo = &self.rules()?.repository_methods;
        let is_unread = of_repo.is_empty() && self.lacks_rules(UnreadRules::Repository);
        if of_repo.is_empty() && !is_unread || self.wants(&BaseRuleKind::MergeQueue).is_some() {
            return None;
        }
        let linear = [MergeMethod::Squash, MergeMethod::Rebase];
        let limits: Vec<(&[MergeMethod], WantedBy)> = self
            .wanting(|kind| match kind {
                BaseRuleKind::LinearHistory => Some(linear.as_slice()),
                BaseRuleKind::MergeMethods { allowed } => Some(allowed.as_slice()),
                _ => None,
            })
            .collect();
        let (_, source) = limits.first().cloned()?;
        let base = &self.pull.base_branch;
        if is_unread {
            let evidence = "the merge methods of the repository could not be read";
            let (rule, status) = (Rule::MethodAllowed, RequirementStatus::Unknown);
            return Some(requirement(rule, status, source, evidence, vec![]));
        }
        let left = of_repo.iter();
        let left = left.filter(|m| limits.iter().all(|(allowed, _)| allowed.contains(m)));
        let left: Vec<&str> = left.map(|m| m.as_str()).collect();
        let rule = Rule::MethodAllowed;
        if !left.is_empty() {
            let evidence = format!("merge methods allowed for {base}: {}", left.join(", "));
            let status = RequirementStatus::Met;
            return Some(requirement(rule, status, source, &evidence, vec![]));
        }
        let of_repo: Vec<&str> = of_repo.iter().map(|m| m.as_str()).collect();
        let evidence = format!(
            "the repository allows only {}, and {base} allows none of these",
            of_repo.join(", ")
        );
        let by = vec![cleared(ClearedBy::Admin, vec![])];
        let none = requirement(rule, RequirementStatus::Unmet, source, &evidence, by);
        Some(none.blocking(format!("No merge method is allowed for {base}")))
    }

    fn up_to_date(&self) -> Option<Requirement> {
        let rule = Rule::UpToDate;
        let base = &self.pull.base_branch;
        let wanted = self.wants(&BaseRuleKind::UpToDate);
        let source = wanted.clone();
        let source = source.unwrap_or_else(|| RequirementSource::Forge.into());
        if self.merge_status() == "BEHIND" {
            let evidence =
                format!("the head lacks newer commits of {base}, and {base} requires them");
            let status = RequirementStatus::Unmet;
            let behind = requirement(rule, status, source, &evidence, self.pusher());
            return Some(behind.blocking(format!("Behind {base}")));
        }
        if self.forge_would_merge() {
            let evidence = "the forge does not report BEHIND";
            let status = RequirementStatus::Met;
            return Some(requirement(rule, status, source, evidence, vec![]));
        }
        wanted?;
        let word = Some(self.merge_status()).filter(|word| !word.is_empty());
        let evidence = format!(
            "{base} requires its newest commits in the head; the forge reports {}, a state that \
             can mask BEHIND",
            word.unwrap_or("nothing")
        );
        let status = RequirementStatus::Unknown;
        Some(requirement(rule, status, source, &evidence, self.pusher()))
    }

    fn push_allowed(&self) -> Option<Requirement> {
        let rules = self.rules()?;
        let base = &self.pull.base_branch;
        let rule = Rule::PushAllowed;
        let by = || vec![cleared(ClearedBy::Admin, vec![])];
        let forge = WantedBy::from(RequirementSource::Forge);
        let restricted = self.wants(&BaseRuleKind::RestrictedPushes);
        let no_right = |source: WantedBy, evidence: &str| {
            requirement(rule, RequirementStatus::Unmet, source, evidence, by())
                .blocking(format!("No right to push to {base}"))
        };
        if rules.viewer_can_write == Some(false) {
            let evidence = "you have only read access to the repository";
            return Some(no_right(forge, evidence));
        }
        if rules.viewer_can_write.is_none() && self.lacks_rules(UnreadRules::Repository) {
            let evidence = "your rights in the repository could not be read";
            let status = RequirementStatus::Unknown;
            return Some(requirement(rule, status, forge, evidence, by()));
        }
        if self.forge_would_merge() || rules.viewer_can_push == Some(true) {
            let evidence = format!("you may push to {base}");
            let source = restricted.unwrap_or(forge);
            let status = RequirementStatus::Met;
            return Some(requirement(rule, status, source, &evidence, vec![]));
        }
        match (restricted, rules.viewer_can_push) {
            (Some(source), Some(false)) => {
                let evidence = format!(
                    "only selected accounts may push to {base}, and yours is not one of them"
                );
                Some(no_right(source, &evidence))
            }
            (Some(source), _) => {
                let evidence = format!("only selected accounts may push to {base}");
                let status = RequirementStatus::Unknown;
                Some(requirement(rule, status, source, &evidence, by()))
            }
            // GitHub reports `viewer_can_push` as `false` even for a branch that may change only
            // through pull requests. The viewer may still be allowed to merge.
            (None, Some(false)) => {
                let evidence =
                    format!("you may not push to {base} directly; a merge may still be allowed");
                let source = RequirementSource::BranchProtection;
                let status = RequirementStatus::Unknown;
                Some(requirement(rule, status, source, &evidence, by()))
            }
            (None, _) => {
                let write = rules.viewer_can_write.is_some();
                let evidence = "you may write to the repository";
                let met = RequirementStatus::Met;
                write.then(|| requirement(rule, met, forge, evidence, vec![]))
            }
        }
    }

    fn other_rules(&self) -> Option<Requirement> {
        let all = self.wanting(|kind| match kind {
            BaseRuleKind::Other { name } => Some(name.clone()),
            _ => None,
        });
        let (mut names, sources): (Vec<String>, Vec<WantedBy>) = all.unzip();
        names.sort();
        names.dedup();
        let source = sources.into_iter().next()?;
        let what = format!(
            "further conditions that this program does not evaluate: {}",
            listed(names.iter())
        );
        Some(self.unread_rule(Rule::OtherRules, source, &what, ClearedBy::Admin))
    }

    fn out_of_queue(&self) -> Option<Requirement> {
        let rules = self.rules()?;
        let wanted = self.wants(&BaseRuleKind::MergeQueue);
        let (rule, source) = (Rule::OutOfQueue, RequirementSource::MergeQueue);
        let base = &self.pull.base_branch;
        if rules.queue.is_none() && self.lacks_rules(UnreadRules::Queue) {
            let evidence = format!("the merge queue of {base} could not be read");
            let status = RequirementStatus::Unknown;
            return Some(requirement(rule, status, source, &evidence, vec![]));
        }
        let Some(place) = &rules.queue else {
            wanted?;
            let evidence = format!("a merge adds the pull request to the merge queue of {base}");
            let status = RequirementStatus::Met;
            return Some(requirement(rule, status, source, &evidence, vec![]));
        };
        let mut evidence = format!("the pull request is in the merge queue of {base}");
        let mut blocker = "In the merge queue".to_owned();
        if let Some(position) = place.position {
            evidence.push_str(&format!(" at position {position}"));
            blocker.push_str(&format!(" at position {position}"));
        }
        if let Some(state) = &place.state {
            evidence.push_str(&format!(": {state}"));
        }
        let by = match place.state.as_deref() {
            Some("UNMERGEABLE") => self.pusher(),
            _ => vec![cleared(ClearedBy::Time, vec![])],
        };
        let queued = requirement(rule, RequirementStatus::Unmet, source, &evidence, by);
        Some(queued.blocking(blocker))
    }

    /// Returns the requirement that the forge's merge state is not `BLOCKED`. Returns `None` if
    /// another unmet requirement already explains why the forge reports `BLOCKED`.
    pub fn not_blocked(&self, others: &[Requirement]) -> Option<Requirement> {
        let (rule, source) = (Rule::NotBlocked, RequirementSource::Forge);
        if self.forge_would_merge() {
            let evidence = format!("the forge says {}", self.merge_status());
            let status = RequirementStatus::Met;
            return Some(requirement(rule, status, source, &evidence, vec![]));
        }
        let by = || vec![cleared(ClearedBy::Admin, vec![])];
        if self.is_cut(MERGEABILITY) {
            let evidence = "the merge state could not be read";
            let status = RequirementStatus::Unknown;
            return Some(requirement(rule, status, source, evidence, by()));
        }
        let unread = self.unread_lists();
        if !unread.is_empty() {
            let word = Some(self.merge_status()).filter(|word| !word.is_empty());
            let evidence = format!(
                "the forge says {}, and these rules of {} could not be read: {}",
                word.unwrap_or("nothing"),
                self.pull.base_branch,
                unread.join(", ")
            );
            let status = RequirementStatus::Unknown;
            return Some(requirement(rule, status, source, &evidence, by()));
        }
        let is_reason = |r: &Requirement| {
            r.status == RequirementStatus::Unmet && r.source != RequirementSource::Own
        };
        // With a merge queue, GitHub reports BLOCKED for pull requests that the queue accepts.
        let is_queued = self.wants(&BaseRuleKind::MergeQueue).is_some();
        if self.merge_status() != "BLOCKED" || is_queued || others.iter().any(is_reason) {
            return None;
        }
        let mut evidence = "the forge says BLOCKED, and no readable rule explains that".to_owned();
        let bypass = self.rules().and_then(|rules| rules.viewer_can_bypass);
        if bypass == Some(true) {
            evidence.push_str("; you may merge past the rules");
        }
        let status = RequirementStatus::Unknown;
        Some(requirement(rule, status, source, &evidence, by()))
    }

    /// Returns true if rules of the kind `what` could not be read.
    fn lacks_rules(&self, what: UnreadRules) -> bool {
        self.rules()
            .is_some_and(|rules| rules.unread.contains(&what))
    }

    /// Lists the rules of the base branch that could not be read. Any of them may block the merge.
    fn unread_lists(&self) -> Vec<&'static str> {
        let unread = self.rules().map(|rules| rules.unread.as_slice());
        let names = unread.unwrap_or_default().iter().map(|what| match what {
            UnreadRules::Rulesets => Some("rulesets"),
            UnreadRules::Protection => Some("branch protection"),
            UnreadRules::ProtectionDetails | UnreadRules::Queue | UnreadRules::Repository => None,
        });
        names.flatten().collect()
    }
}
