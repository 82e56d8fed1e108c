//! Verdicts on base branch rules.

use forge_core::{
    RepoId, RepoPath,
    model::{
        BaseRule, BaseRuleKind, BaseRules, Check, MergeMethod, QueuePlace, RuleSource, UnreadRules,
    },
};

use super::*;

/// Returns the rules of a branch protection that was read completely.
fn wants(kinds: impl IntoIterator<Item = BaseRuleKind>) -> BaseRules {
    let of = |wants| BaseRule::new(wants, RuleSource::BranchProtection);
    let mut rules = BaseRules::default();
    rules.rules = kinds.into_iter().map(of).collect();
    rules
}

fn check(name: &str, app: Option<u64>) -> BaseRuleKind {
    BaseRuleKind::Check {
        name: name.to_owned(),
        app,
    }
}

/// Returns a green pull request whose base branch requires `kinds`, with the merge state `word`.
fn under(word: &str, kinds: impl IntoIterator<Item = BaseRuleKind>) -> PullRequest {
    let mut pull = pull();
    pull.mergeability = Some(mergeability(MergeState::Mergeable, word));
    pull.base_rules = Some(wants(kinds));
    pull
}

fn status(pull: &PullRequest, rule: Rule) -> (RequirementStatus, RequirementSource) {
    let ready = judge(pull);
    let found = found(&ready, rule);
    (found.status, found.source)
}

fn is_listed(pull: &PullRequest, rule: Rule) -> bool {
    let ready = judge(pull);
    ready.requirements.iter().any(|r| r.rule == rule)
}

use RequirementSource::{BranchProtection, CodeOwners, Forge, MergeQueue, Own, Ruleset};
use RequirementStatus::{Met, Unknown, Unmet};

#[test]
fn approvals_must_reach_the_largest_required_count() {
    let ruleset = BaseRule::new(
        BaseRuleKind::Approvals { count: 2 },
        RuleSource::Ruleset {
            id: 7,
            name: Some("main".to_owned()),
            owner: "octo".to_owned(),
        },
    );
    let mut pull = under("BLOCKED", [BaseRuleKind::Approvals { count: 1 }]);
    pull.base_rules.as_mut().unwrap().rules.push(ruleset);
    pull.review_decision = Some(ReviewDecision::ReviewRequired);
    let ready = judge(&pull);
    let approved = found(&ready, Rule::Approved);
    assert_eq!((approved.status, approved.source), (Unmet, Ruleset));
    assert_eq!(approved.source_name.as_deref(), Some("main (octo)"));
    assert_eq!(approved.source_text(), "ruleset \"main (octo)\"");
    assert_eq!(
        approved.evidence,
        "1 of 2 approval(s); a review is required"
    );
    assert_eq!(ready.blockers, ["Review required"]);
    // Without a review decision, the number of approvals decides.
    pull.review_decision = None;
    assert_eq!(status(&pull, Rule::Approved), (Unmet, Ruleset));
    pull.approvals = 2;
    assert_eq!(status(&pull, Rule::Approved), (Met, Ruleset));
}

#[test]
fn ruleset_of_the_repository_is_named_without_owner() {
    let mut pull = under("CLEAN", []);
    pull.id.repo = RepoId {
        path: RepoPath::Named {
            owner: "octo".to_owned(),
            name: "tools".to_owned(),
        },
        ..pull.id.repo.clone()
    };
    for (name, owner, wanted) in [
        (Some("main"), "octo/tools", "main"),
        (Some("main"), "octo", "main (octo)"),
        (None, "Octo/Tools", "9"),
    ] {
        let source = RuleSource::Ruleset {
            id: 9,
            name: name.map(str::to_owned),
            owner: owner.to_owned(),
        };
        let wants = BaseRuleKind::ResolvedThreads;
        pull.base_rules.as_mut().unwrap().rules = vec![BaseRule::new(wants, source)];
        let ready = judge(&pull);
        let found = found(&ready, Rule::ThreadsResolved);
        assert_eq!(found.source_name.as_deref(), Some(wanted));
    }
}

#[test]
fn code_owner_rule_needs_possible_owner_approval() {
    let kinds = || {
        [
            BaseRuleKind::Approvals { count: 1 },
            BaseRuleKind::CodeOwnerReview,
        ]
    };
    let mut pull = under("BLOCKED", kinds());
    let team = Reviewer::parse("octo/owners");
    pull.base_rules.as_mut().unwrap().code_owners = vec![team, Reviewer::user("grace")];
    pull.review_decision = Some(ReviewDecision::ReviewRequired);
    let ready = judge(&pull);
    let owners = found(&ready, Rule::CodeOwnersApproved);
    assert_eq!((owners.status, owners.source), (Unmet, CodeOwners));
    assert_eq!(owners.cleared_by[0].names, ["octo/owners", "grace"]);
    assert_eq!(
        owners.evidence,
        "asked, but not yet reviewed by octo/owners, grace; required by branch protection"
    );
    // The number of approvals suffices, and only the approval of an owner is missing.
    assert_eq!(status(&pull, Rule::Approved), (Met, BranchProtection));
    assert_eq!(
        ready.blockers,
        ["Code owners have not approved: octo/owners, grace"]
    );
    // More approvals are required than given, so one of the approvers may be an owner.
    pull.base_rules.as_mut().unwrap().rules[0].wants = BaseRuleKind::Approvals { count: 2 };
    assert_eq!(
        status(&pull, Rule::CodeOwnersApproved),
        (Unknown, CodeOwners)
    );
    pull.approvals = 0;
    assert_eq!(status(&pull, Rule::CodeOwnersApproved), (Unmet, CodeOwners));
    pull.base_rules.as_mut().unwrap().code_owners.clear();
    assert_eq!(
        status(&pull, Rule::CodeOwnersApproved),
        (Unknown, CodeOwners)
    );
    pull.review_decision = Some(ReviewDecision::Approved);
    assert_eq!(status(&pull, Rule::CodeOwnersApproved), (Met, CodeOwners));
}

#[test]
fn last_push_rule_needs_head_approval() {
    let mut pull = under(
        "BLOCKED",
        [
            BaseRuleKind::Approvals { count: 1 },
            BaseRuleKind::LastPushApproval,
        ],
    );
    pull.review_decision = Some(ReviewDecision::ReviewRequired);
    pull.latest_reviews[0].commit = Some("c".repeat(40));
    let rule = Rule::LastPushApproved;
    assert_eq!(status(&pull, rule), (Unmet, BranchProtection));
    assert_eq!(status(&pull, Rule::Approved).0, Met);
    pull.latest_reviews[0].commit = pull.head_oid.clone();
    assert_eq!(status(&pull, rule), (Unknown, BranchProtection));
    pull.review_decision = Some(ReviewDecision::Approved);
    assert_eq!(status(&pull, rule), (Met, BranchProtection));
}

#[test]
fn unreported_required_check_is_named() {
    let rule = Rule::ChecksReported;
    let mut pull = under("BLOCKED", [check("build", None), check("deploy", None)]);
    let ready = judge(&pull);
    assert_eq!(
        ready.blockers,
        ["Expected checks have not reported: deploy"]
    );
    assert_eq!(status(&pull, rule), (Unmet, BranchProtection));
    assert!(!is_listed(&pull, Rule::NotBlocked));
    // A truncated report may lack a check that has reported.
    pull.checks = Some(checks(&[("build", CheckStatus::Success)]).cut());
    assert_eq!(status(&pull, rule), (Unknown, Own));
    pull.checks = Some(checks(&[]));
    assert_eq!(
        found(&judge(&pull), rule).evidence,
        "2 not reported: build, deploy"
    );
}

#[test]
fn required_check_ignores_other_apps() {
    let mut pull = under("BLOCKED", [check("build", Some(15_368))]);
    pull.checks.as_mut().unwrap().checks[0].progress = Some("COMPLETED".to_owned());
    for (app, wanted) in [(Some(15_368), Met), (None, Unknown), (Some(5), Unmet)] {
        pull.checks.as_mut().unwrap().checks[0].app = app;
        assert_eq!(status(&pull, Rule::ChecksReported).0, wanted, "{app:?}");
    }
    assert_eq!(
        judge(&pull).blockers,
        ["Expected checks have not reported: build (another app reported it)"]
    );
    // A failed check of the same name from another app is not the required check.
    let mut report = checks(&[("build", CheckStatus::Failure)]);
    report.checks[0].app = Some(5);
    report.checks[0].required = Some(true);
    pull.checks = Some(report);
    assert_eq!(status(&pull, Rule::ChecksPassed), (Unmet, Own));
}

#[test]
fn commit_status_never_meets_app_check() {
    let rule = Rule::ChecksReported;
    for (word, ready) in [("CLEAN", None), ("BLOCKED", None)] {
        let pull = under(word, [check("build", Some(15_368))]);
        assert_eq!(judge(&pull).ready_to_merge, ready, "{word}");
        assert_eq!(status(&pull, rule), (Unknown, BranchProtection), "{word}");
        let evidence = found(&judge(&pull), rule).evidence.clone();
        assert!(evidence.ends_with(": build"), "{evidence}");
    }
    // A required check without an app may be a commit status.
    let any = under("CLEAN", [check("build", None)]);
    assert_eq!(judge(&any).ready_to_merge, Some(true));
    // The check run of the app counts even if there is a commit status of the same name.
    let mut pull = under("CLEAN", [check("build", Some(15_368))]);
    let mut run = Check::new("build", CheckStatus::Success);
    (run.progress, run.app) = (Some("COMPLETED".to_owned()), Some(15_368));
    pull.checks.as_mut().unwrap().checks.push(run);
    assert_eq!(status(&pull, rule).0, Met);
    pull.checks = Some(checks(&[("build", CheckStatus::Failure)]));
    let failed = status(&pull, Rule::ChecksPassed);
    assert_eq!(failed, (Unmet, BranchProtection));
}

#[test]
fn check_with_two_triggers_is_named_once() {
    let mut pull = under("BLOCKED", [check("build", None)]);
    let mut report = checks(&[
        ("build", CheckStatus::Failure),
        ("lint", CheckStatus::Failure),
    ]);
    let mut other = report.checks[0].clone();
    other.status = CheckStatus::Cancelled;
    other.event = Some("push".to_owned());
    report.checks.push(other);
    pull.checks = Some(report);
    assert_eq!(judge(&pull).blockers, ["CI failing: build, lint"]);
    let source = status(&pull, Rule::ChecksPassed);
    assert_eq!(source, (Unmet, BranchProtection));
}

#[test]
fn check_rule_is_unknown_without_checks() {
    let mut pull = under("CLEAN", []);
    pull.checks = Some(checks(&[]));
    let ready = judge(&pull);
    let found = found(&ready, Rule::ChecksReported);
    assert_eq!(found.status, Unknown);
    let (none, _) = found.evidence.split_once(" on ").unwrap();
    assert_eq!(none, "no check has reported");
    assert_eq!(ready.ready_to_merge, None);
    pull.checks = Some(checks(&[("build", CheckStatus::Success)]));
    assert_eq!(status(&pull, Rule::ChecksReported).0, Met);
}

#[test]
fn unresolved_thread_rule_reports_its_source() {
    let mut pull = under("BLOCKED", [BaseRuleKind::ResolvedThreads]);
    pull.threads = Some(vec![thread(false)]);
    assert_eq!(
        status(&pull, Rule::ThreadsResolved),
        (Unmet, BranchProtection)
    );
    pull.base_rules = None;
    assert_eq!(status(&pull, Rule::ThreadsResolved), (Unmet, Own));
}

#[test]
fn up_to_date_rule_is_unknown_unless_clean_or_behind() {
    let rule = Rule::UpToDate;
    for (word, wanted) in [("CLEAN", Met), ("BEHIND", Unmet), ("BLOCKED", Unknown)] {
        let pull = under(word, [BaseRuleKind::UpToDate]);
        assert_eq!(status(&pull, rule), (wanted, BranchProtection), "{word}");
    }
    assert_eq!(status(&under("BEHIND", []), rule), (Unmet, Forge));
    assert!(!is_listed(&under("BLOCKED", []), rule));
    for (word, said) in [
        ("BLOCKED", "reports BLOCKED, a state"),
        ("", "reports nothing, a state"),
    ] {
        let ready = judge(&under(word, [BaseRuleKind::UpToDate]));
        let evidence = &found(&ready, rule).evidence;
        assert!(evidence.contains(said), "{evidence}");
    }
}

#[test]
fn out_of_queue_rule_is_unmet_while_queued() {
    let rule = Rule::OutOfQueue;
    let mut pull = under("BLOCKED", [BaseRuleKind::MergeQueue]);
    assert_eq!(status(&pull, rule), (Met, MergeQueue));
    assert_eq!(judge(&pull).ready_to_merge, Some(true));
    for (position, state, blocker, who) in [
        (
            Some(2),
            Some("AWAITING_CHECKS"),
            "In the merge queue at position 2",
            ClearedBy::Time,
        ),
        (
            None,
            Some("UNMERGEABLE"),
            "In the merge queue",
            ClearedBy::Author,
        ),
        (None, None, "In the merge queue", ClearedBy::Time),
    ] {
        let place = QueuePlace::new(position, state.map(str::to_owned));
        pull.base_rules.as_mut().unwrap().queue = Some(place);
        let ready = judge(&pull);
        let queued = found(&ready, rule);
        assert_eq!((queued.status, queued.source), (Unmet, MergeQueue));
        assert_eq!(ready.blockers, [blocker]);
        assert_eq!(queued.cleared_by[0].who, who);
    }
    assert!(!is_listed(&under("CLEAN", []), rule));
}

#[test]
fn queued_blocked_state_with_unread_rules_is_unknown() {
    let rule = Rule::NotBlocked;
    for (unread, word, wanted) in [
        (UnreadRules::Rulesets, "BLOCKED", Some((Unknown, Forge))),
        (UnreadRules::Protection, "BLOCKED", Some((Unknown, Forge))),
        (UnreadRules::Protection, "", Some((Unknown, Forge))),
        (UnreadRules::Rulesets, "UNSTABLE", Some((Met, Forge))),
        (UnreadRules::ProtectionDetails, "BLOCKED", None),
    ] {
        let mut pull = under(word, [BaseRuleKind::MergeQueue]);
        pull.base_rules.as_mut().unwrap().mark_unread(unread);
        let ready = judge(&pull);
        let found = ready.requirements.iter().find(|r| r.rule == rule);
        let found = found.map(|r| (r.status, r.source));
        assert_eq!(found, wanted, "{unread:?} {word}");
    }
    let mut pull = under("BLOCKED", [BaseRuleKind::MergeQueue, BaseRuleKind::Locked]);
    let rules = pull.base_rules.as_mut().unwrap();
    rules.mark_unread(UnreadRules::Rulesets);
    rules.mark_unread(UnreadRules::Protection);
    assert_eq!(
        found(&judge(&pull), rule).evidence,
        "the forge says BLOCKED, and these rules of main could not be read: rulesets, branch \
         protection"
    );
}

#[test]
fn rules_without_a_common_merge_method_are_unmet() {
    let rule = Rule::MethodAllowed;
    let squash = BaseRuleKind::MergeMethods {
        allowed: vec![MergeMethod::Squash],
    };
    let of = |kinds: &[BaseRuleKind], methods: &[MergeMethod]| {
        let mut pull = under("BLOCKED", kinds.to_vec());
        pull.base_rules.as_mut().unwrap().repository_methods = methods.to_vec();
        let ready = judge(&pull);
        let found = ready.requirements.iter().find(|r| r.rule == rule);
        found.map(|r| (r.status, r.evidence.clone()))
    };
    let linear = BaseRuleKind::LinearHistory;
    let (merge, both) = (
        [MergeMethod::Merge],
        [MergeMethod::Merge, MergeMethod::Rebase],
    );
    assert_eq!(of(std::slice::from_ref(&linear), &merge).unwrap().0, Unmet);
    let (met, evidence) = of(std::slice::from_ref(&linear), &both).unwrap();
    assert_eq!(
        (met, evidence.as_str()),
        (Met, "merge methods allowed for main: rebase")
    );
    let found = of(&[linear.clone(), squash.clone()], &both).unwrap();
    assert_eq!(
        found,
        (
            Unmet,
            "the repository allows only merge, rebase, and main allows none of these".to_owned()
        )
    );
    for (kinds, methods) in [
        (vec![], &both[..]),
        (vec![squash], &[]),
        (vec![linear, BaseRuleKind::MergeQueue], &merge),
    ] {
        assert_eq!(of(&kinds, methods), None, "{kinds:?}");
    }
}

#[test]
fn rules_known_only_to_forge_follow_merge_state() {
    let environments = vec!["staging".to_owned()];
    let name = "code_scanning".to_owned();
    for (kind, rule, evidence) in [
        (
            BaseRuleKind::Signatures,
            Rule::CommitsSigned,
            "main requires signed commits; only the forge can judge that",
        ),
        (
            BaseRuleKind::Deployments { environments },
            Rule::Deployed,
            "main requires a deployment to staging; only the forge can judge that",
        ),
        (
            BaseRuleKind::Other { name },
            Rule::OtherRules,
            "main requires further conditions that this program does not evaluate: \
             code_scanning; only the forge can judge that",
        ),
    ] {
        let blocked = under("BLOCKED", [kind.clone()]);
        assert_eq!(status(&blocked, rule), (Unknown, BranchProtection));
        assert_eq!(found(&judge(&blocked), rule).evidence, evidence);
        let clean = under("CLEAN", [kind]);
        assert_eq!(status(&clean, rule), (Met, BranchProtection));
    }
}

#[test]
fn locked_branch_rule_is_cleared_by_an_administrator() {
    let pull = under("BLOCKED", [BaseRuleKind::Locked]);
    let ready = judge(&pull);
    assert_eq!(ready.blockers, ["main is locked"]);
    let locked = found(&ready, Rule::BranchUnlocked);
    assert_eq!(locked.cleared_by[0].who, ClearedBy::Admin);
    let clean = under("CLEAN", [BaseRuleKind::Locked]);
    assert_eq!(
        status(&clean, Rule::BranchUnlocked),
        (Met, BranchProtection)
    );
}

#[test]
fn push_access_follows_rights_and_restrictions() {
    let rule = Rule::PushAllowed;
    let restricted = || [BaseRuleKind::RestrictedPushes];
    let of = |word, kinds: &[BaseRuleKind], write, push| {
        let mut pull = under(word, kinds.to_vec());
        let rules = pull.base_rules.as_mut().unwrap();
        (rules.viewer_can_write, rules.viewer_can_push) = (write, push);
        let ready = judge(&pull);
        let found = ready.requirements.iter().find(|r| r.rule == rule);
        found.map(|r| (r.status, r.source))
    };
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(of("BLOCKED", &[], no, None), Some((Unmet, Forge)));
    assert_eq!(of("CLEAN", &[], no, yes), Some((Unmet, Forge)));
    assert_eq!(of("BLOCKED", &[], yes, None), Some((Met, Forge)));
    assert_eq!(of("BLOCKED", &[], None, None), None);
    let out = of("BLOCKED", &restricted(), yes, no);
    assert_eq!(out, Some((Unmet, BranchProtection)));
    let unread = of("BLOCKED", &restricted(), yes, None);
    assert_eq!(unread, Some((Unknown, BranchProtection)));
    let listed = of("BLOCKED", &restricted(), yes, yes);
    assert_eq!(listed, Some((Met, BranchProtection)));
    let hidden = of("BLOCKED", &[], yes, no);
    assert_eq!(hidden, Some((Unknown, BranchProtection)));
}

#[test]
fn unexplained_blocked_state_mentions_the_bypass_right() {
    let mut pull = under("BLOCKED", []);
    pull.base_rules.as_mut().unwrap().viewer_can_bypass = Some(true);
    let ready = judge(&pull);
    assert_eq!(ready.ready_to_merge, None);
    let blocked = found(&ready, Rule::NotBlocked);
    assert!(blocked.evidence.ends_with("; you may merge past the rules"));
}

#[test]
fn changes_requested_rule_reports_its_source() {
    let mut pull = under("BLOCKED", [BaseRuleKind::Approvals { count: 1 }]);
    pull.changes_requested = 1;
    let rule = Rule::NoChangesRequested;
    assert_eq!(status(&pull, rule), (Unmet, BranchProtection));
    pull.base_rules = Some(wants([BaseRuleKind::Approvals { count: 0 }]));
    assert_eq!(status(&pull, rule), (Unmet, Own));
}

proptest! {
    #[test]
    fn unmet_base_rules_have_blockers_and_clearers(
        kinds in prop::collection::vec(prop::sample::select(vec![
            BaseRuleKind::Approvals { count: 2 }, BaseRuleKind::CodeOwnerReview,
            BaseRuleKind::LastPushApproval, BaseRuleKind::ResolvedThreads, check("deploy", Some(1)),
            BaseRuleKind::UpToDate, BaseRuleKind::MergeQueue, BaseRuleKind::LinearHistory,
            BaseRuleKind::Signatures, BaseRuleKind::Locked, BaseRuleKind::RestrictedPushes,
            BaseRuleKind::Other { name: "x".to_owned() },
        ]), 0..6),
        word in prop::sample::select(vec!["CLEAN", "BLOCKED", "BEHIND", "UNKNOWN"]),
        (approvals, queued, write) in (0_u64..3, any::<bool>(), prop::option::of(any::<bool>())),
    ) {
        let mut pull = under(word, kinds);
        pull.approvals = approvals;
        let rules = pull.base_rules.as_mut().unwrap();
        rules.queue = queued.then(QueuePlace::default);
        rules.viewer_can_write = write;
        rules.repository_methods = vec![MergeMethod::Merge];
        let ready = judge(&pull);
        prop_assert_eq!(ready.blockers.len(), ready.unmet().count());
        for requirement in &ready.requirements {
            let met = requirement.status == Met;
            prop_assert!(met == requirement.cleared_by.is_empty(), "{:?}", requirement);
            let named = requirement.source == Ruleset;
            prop_assert_eq!(requirement.source_name.is_some(), named);
        }
    }
}
