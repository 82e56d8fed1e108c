use forge_core::{
    PrKey, Warning,
    model::{Actor, CheckStatus, MergeState, ReviewDecision, ReviewState, Reviewer},
};
use proptest::prelude::*;

use super::{judge::dependency_merged, *};
use crate::sample::{checks, mergeability, pull, review, thread};

mod base;
mod denied;

const ALL: ForgeRules = ForgeRules {
    checks: true,
    verdicts: true,
    threads: true,
    approval: true,
};

fn judge(pull: &PullRequest) -> Readiness {
    Readiness::of(pull, ALL, None, Timestamp::from_unix(0))
}

fn found(readiness: &Readiness, rule: Rule) -> &Requirement {
    let mut all = readiness.requirements.iter();
    all.find(|r| r.rule == rule).unwrap()
}

#[test]
fn readiness_of_green_pull_is_true() {
    let ready = judge(&pull());
    assert_eq!(ready.ready_to_merge, Some(true));
    assert!(ready.blockers.is_empty());
    // The pull request builds on no other, has no separate appview, and its base branch has no
    // rules.
    let names: Vec<&str> = ready.requirements.iter().map(|r| r.rule.name()).collect();
    assert_eq!(
        names,
        [
            "open",
            "no_conflicts",
            "not_draft",
            "no_changes_requested",
            "approved",
            "checks_passed",
            "threads_resolved",
            "up_to_date",
            "not_blocked",
            "checks_reported",
            "checks_finished",
        ]
    );
    assert!(ready.requirements.is_sorted_by_key(|r| r.rule));
}

#[test]
fn r_002_13_blockers_have_exact_texts_in_order() {
    let mut pull = pull();
    pull.draft = true;
    pull.approvals = 0;
    pull.changes_requested = 1;
    pull.latest_reviews = vec![review("grace", ReviewState::ChangesRequested)];
    pull.threads = Some(vec![thread(false), thread(true), thread(false)]);
    pull.checks = Some(checks(&[
        ("lint", CheckStatus::Pending),
        ("b", CheckStatus::Cancelled),
        ("a", CheckStatus::Failure),
    ]));
    pull.mergeability = Some(mergeability(MergeState::Conflicting, "DIRTY"));
    let ready = judge(&pull);
    assert_eq!(
        ready.blockers,
        [
            "CI failing: a, b",
            "1 reviewer(s) requested changes",
            "2 unresolved comment thread(s)",
            "No approvals yet",
            "PR is still in draft",
            "Merge conflicts with main",
            "CI pending: lint",
        ]
    );
    let first: Vec<&str> = ready.unmet().map(|r| r.rule.name()).collect();
    assert_eq!(
        first,
        [
            "no_conflicts",
            "not_draft",
            "no_changes_requested",
            "approved",
            "checks_passed",
            "threads_resolved",
            "checks_finished",
        ]
    );
    let changes = found(&ready, Rule::NoChangesRequested);
    let by = [cleared(ClearedBy::Reviewer, vec!["grace".to_owned()])];
    assert_eq!(changes.cleared_by, by);
    let failed = found(&ready, Rule::ChecksPassed);
    let by = [
        cleared(ClearedBy::Author, vec!["ada".to_owned()]),
        cleared(ClearedBy::Ci, vec![]),
    ];
    assert_eq!(failed.cleared_by, by);
}

#[test]
fn c_002_7_closed_or_merged_pull_has_no_blockers() {
    for (state, by) in [(PrState::Closed, 1), (PrState::Merged, 0)] {
        let mut pull = pull();
        pull.state = state;
        pull.approvals = 0;
        let ready = judge(&pull);
        assert_eq!(ready.ready_to_merge, Some(false));
        assert!(ready.blockers.is_empty());
        assert_eq!(ready.requirements.len(), 1);
        assert_eq!(ready.requirements[0].cleared_by.len(), by);
    }
}

#[test]
fn readiness_without_checks_is_unknown() {
    let mut pull = pull();
    pull.checks = Some(checks(&[]));
    let ready = judge(&pull);
    assert_eq!(ready.ready_to_merge, None);
    let reported = found(&ready, Rule::ChecksReported);
    assert_eq!(reported.status, RequirementStatus::Unknown);
    assert_eq!(ready.requirements[0].rule, Rule::ChecksReported);
    // The rule does not apply on a forge without checks.
    let none = ForgeRules {
        checks: false,
        ..ALL
    };
    let ready = Readiness::of(&pull, none, None, Timestamp::from_unix(0));
    assert_eq!(ready.ready_to_merge, Some(true));
    // Checks that cannot be read are unknown. A repository without checks has no rule about them.
    pull.checks = None;
    assert_eq!(judge(&pull).ready_to_merge, Some(true));
    pull.warnings = vec![Warning::new("no").of_section("checks")];
    assert_eq!(judge(&pull).ready_to_merge, None);
    pull.warnings.clear();
    pull.checks = Some(checks(&[("a", CheckStatus::Success)]).cut());
    assert_eq!(judge(&pull).ready_to_merge, None);
}

#[test]
fn readiness_of_unread_sections_is_unknown() {
    let mut unread = pull();
    unread.threads = None;
    assert_eq!(judge(&unread).ready_to_merge, None);
    let mut unread = pull();
    unread.mergeability = None;
    assert_eq!(judge(&unread).ready_to_merge, None);
    let mut unread = pull();
    unread.mergeability = Some(mergeability(MergeState::Unknown, "UNKNOWN"));
    let ready = judge(&unread);
    assert_eq!(ready.ready_to_merge, None);
    let by = &found(&ready, Rule::NoConflicts).cleared_by[0];
    assert_eq!(by.who, ClearedBy::Time);
    // If one rule is unmet, the verdict is `false` even if others are unknown.
    unread.draft = true;
    assert_eq!(judge(&unread).ready_to_merge, Some(false));
}

#[test]
fn c_002_17_approval_follows_the_forges_decision() {
    use ReviewDecision::{Approved, ChangesRequested, ReviewRequired};
    for (decision, approvals, blocker, source) in [
        (None, 0, Some("No approvals yet"), RequirementSource::Own),
        (None, 1, None, RequirementSource::Own),
        (Some(Approved), 0, None, RequirementSource::Own),
        (
            Some(ReviewRequired),
            0,
            Some("No approvals yet"),
            RequirementSource::Forge,
        ),
        (
            Some(ReviewRequired),
            1,
            Some("Review required"),
            RequirementSource::Forge,
        ),
        (
            Some(ChangesRequested),
            0,
            Some("No approvals yet"),
            RequirementSource::Forge,
        ),
    ] {
        let mut pull = pull();
        pull.mergeability = Some(mergeability(MergeState::Mergeable, "BLOCKED"));
        pull.review_decision = decision;
        pull.approvals = approvals;
        pull.pending_reviewers = vec![Reviewer::user("grace")];
        let ready = judge(&pull);
        let approved = found(&ready, Rule::Approved);
        let found = (approved.blocker.as_deref(), approved.source);
        assert_eq!(found, (blocker, source), "{decision:?} {approvals}");
        if blocker.is_some() {
            assert_eq!(approved.cleared_by[0].names, ["grace"]);
        }
    }
}

#[test]
fn unexplained_blocked_state_is_unknown() {
    let mut pull = pull();
    pull.mergeability = Some(mergeability(MergeState::Mergeable, "BLOCKED"));
    let ready = judge(&pull);
    assert_eq!(ready.ready_to_merge, None);
    let blocked = found(&ready, Rule::NotBlocked);
    assert_eq!(blocked.status, RequirementStatus::Unknown);
    assert_eq!(blocked.cleared_by[0].who, ClearedBy::Admin);
    let mut report = checks(&[("build", CheckStatus::Failure)]);
    report.checks[0].required = Some(true);
    pull.checks = Some(report);
    let ready = judge(&pull);
    let rules = ready.requirements.iter().map(|r| r.rule);
    assert!(!rules.into_iter().any(|rule| rule == Rule::NotBlocked));
    let failed = found(&ready, Rule::ChecksPassed);
    assert_eq!(failed.source, RequirementSource::Forge);
}

#[test]
fn thread_rule_is_unknown_after_a_truncated_page() {
    let mut pull = pull();
    pull.threads = Some(vec![thread(true)]);
    pull.warnings = vec![Warning::new("no").of_section("threads")];
    let ready = judge(&pull);
    let threads = found(&ready, Rule::ThreadsResolved);
    assert_eq!(threads.status, RequirementStatus::Unknown);
    assert_eq!(ready.ready_to_merge, None);
    // An open thread on the page that was read decides the status.
    pull.threads = Some(vec![thread(true), thread(false)]);
    let ready = judge(&pull);
    assert_eq!(ready.ready_to_merge, Some(false));
    let evidence = &found(&ready, Rule::ThreadsResolved).evidence;
    assert!(
        evidence.starts_with("at least 1 thread(s) open: "),
        "{evidence}"
    );
    let blocker = "At least 1 unresolved comment thread(s)".to_owned();
    assert!(ready.blockers.contains(&blocker), "{:?}", ready.blockers);
}

/// GitHub shows the texts of a deleted account as those of `ghost`.
#[test]
fn deleted_account_or_fork_clears_nothing() {
    let clearers = |pull: &PullRequest, rule| -> Vec<(ClearedBy, Vec<String>)> {
        let cleared_by = found(&judge(pull), rule).cleared_by.clone();
        cleared_by
            .into_iter()
            .map(|by| (by.who, by.names))
            .collect()
    };
    let ada = vec![(ClearedBy::Author, vec!["ada".to_owned()])];
    let mut ghost = Actor::new("ghost");
    ghost.deleted = true;
    let mut pull = pull();
    pull.draft = true;
    pull.mergeability = Some(mergeability(MergeState::Conflicting, "DIRTY"));
    for rule in [Rule::NotDraft, Rule::NoConflicts] {
        assert_eq!(clearers(&pull, rule), ada);
    }
    // A deleted fork takes no push, but the author can still mark the pull request as ready.
    pull.head_repo_is_unknown = true;
    assert_eq!(clearers(&pull, Rule::NoConflicts), []);
    assert_eq!(clearers(&pull, Rule::NotDraft), ada);
    pull.head_repo_is_unknown = false;
    pull.author = ghost.clone();
    for rule in [Rule::NotDraft, Rule::NoConflicts] {
        assert_eq!(clearers(&pull, rule), []);
    }
    let against = |login: &str| review(login, ReviewState::ChangesRequested);
    let mut of_ghost = against("ghost");
    of_ghost.author = ghost;
    pull.changes_requested = 1;
    pull.latest_reviews = vec![of_ghost];
    let admin = vec![(ClearedBy::Admin, Vec::new())];
    assert_eq!(clearers(&pull, Rule::NoChangesRequested), admin);
    pull.changes_requested = 2;
    pull.latest_reviews.push(against("grace"));
    let grace = vec![(ClearedBy::Reviewer, vec!["grace".to_owned()])];
    assert_eq!(clearers(&pull, Rule::NoChangesRequested), grace);
}

#[test]
fn review_rules_are_unknown_after_a_truncated_page() {
    use RequirementStatus::{Met, Unknown, Unmet};
    use ReviewDecision::{Approved, ChangesRequested, ReviewRequired};
    for (decision, approvals, changes, wanted) in [
        (None, 100, 0, (Unknown, Unknown)),
        (None, 0, 0, (Unknown, Unknown)),
        (None, 0, 1, (Unmet, Unknown)),
        (Some(ChangesRequested), 100, 0, (Unknown, Unknown)),
        (Some(ReviewRequired), 0, 0, (Unknown, Unmet)),
        (Some(Approved), 0, 0, (Unknown, Met)),
    ] {
        let mut pull = pull();
        pull.review_decision = decision;
        (pull.approvals, pull.changes_requested) = (approvals, changes);
        pull.warnings = vec![Warning::new("no").of_section("latest_reviews")];
        let ready = judge(&pull);
        let of = |rule| found(&ready, rule).status;
        let found = (of(Rule::NoChangesRequested), of(Rule::Approved));
        assert_eq!(found, wanted, "{decision:?} {approvals} {changes}");
        assert_ne!(ready.ready_to_merge, Some(true));
    }
}

#[test]
fn approval_without_right_to_push_does_not_count() {
    let mut pull = pull();
    let of = |pull: &PullRequest| {
        let ready = judge(pull);
        let approved = found(&ready, Rule::Approved);
        (approved.status, approved.evidence.clone())
    };
    let text = |status, evidence: &str| (status, evidence.to_owned());
    for (can_push, wanted) in [
        (None, text(RequirementStatus::Met, "1 approval(s)")),
        (Some(true), text(RequirementStatus::Met, "1 approval(s)")),
        (
            Some(false),
            text(
                RequirementStatus::Unmet,
                "1 approval(s), none by an account with push access",
            ),
        ),
    ] {
        pull.latest_reviews[0].author_can_push = can_push;
        assert_eq!(of(&pull), wanted, "{can_push:?}");
    }
    let mut other = review("linus", ReviewState::Approved);
    other.author_can_push = Some(true);
    pull.latest_reviews.push(other);
    pull.approvals = 2;
    let one = "2 approval(s), 1 by accounts with push access";
    assert_eq!(of(&pull), text(RequirementStatus::Met, one));
}

#[test]
fn stranger_approval_without_decision_is_ignored() {
    use RequirementStatus::{Met, Unmet};
    for (association, can_push, decision, wanted) in [
        (Some("NONE"), Some(false), None, Unmet),
        (Some("NONE"), None, None, Unmet),
        (Some("CONTRIBUTOR"), None, None, Unmet),
        (Some("MEMBER"), None, None, Met),
        (None, None, None, Met),
        // A bot may have push access even without an association.
        (Some("NONE"), Some(true), None, Met),
        (Some("NONE"), None, Some(ReviewDecision::Approved), Met),
    ] {
        let mut pull = pull();
        pull.review_decision = decision;
        pull.latest_reviews[0].author_association = association.map(str::to_owned);
        pull.latest_reviews[0].author_can_push = can_push;
        let ready = judge(&pull);
        let status = found(&ready, Rule::Approved).status;
        assert_eq!(status, wanted, "{association:?} {can_push:?} {decision:?}");
        if wanted == Unmet {
            assert_ne!(ready.ready_to_merge, Some(true));
        }
    }
}

#[test]
fn outdated_head_missing_checks_and_dependency_are_blockers() {
    let mut pull = pull();
    pull.mergeability = Some(mergeability(MergeState::Mergeable, "BEHIND"));
    let mut report = checks(&[("deploy", CheckStatus::Pending)]);
    report.checks[0].conclusion = Some("EXPECTED".to_owned());
    pull.checks = Some(report);
    let below = Dependency {
        key: PrKey::Number(3),
        state: Some(PrState::Open),
        unlisted: false,
    };
    let ready = Readiness::of(&pull, ALL, Some(&below), Timestamp::from_unix(0));
    assert_eq!(
        ready.blockers,
        [
            "Expected checks have not reported: deploy",
            "Behind main",
            "Depends on #3, which is not merged",
        ]
    );
    for (state, status) in [
        (None, RequirementStatus::Unknown),
        (Some(PrState::Merged), RequirementStatus::Met),
        (Some(PrState::Closed), RequirementStatus::Unmet),
    ] {
        let below = Dependency {
            state,
            ..below.clone()
        };
        assert_eq!(
            dependency_merged(&below, RequirementSource::Own).status,
            status,
            "{state:?}"
        );
    }
}

#[test]
fn long_list_of_names_is_cut_and_counted() {
    let names: Vec<String> = (0..400).map(|n| format!("check {n:03}")).collect();
    let failed: Vec<(&str, CheckStatus)> = names
        .iter()
        .map(|name| (name.as_str(), CheckStatus::Failure))
        .collect();
    let mut pull = pull();
    pull.checks = Some(checks(&failed));
    let ready = judge(&pull);
    assert!(ready.blockers[0].starts_with("CI failing: check 000, check 001, "));
    assert!(ready.blockers[0].ends_with(", check 019 and 380 more"));
}

#[test]
fn rules_are_all_listed_once_in_order() {
    assert!(RULES.is_sorted_by(|a, b| a.rule < b.rule));
    let mut places: Vec<u8> = RULES.iter().map(|r| r.place).filter(|p| *p > 0).collect();
    places.sort_unstable();
    assert_eq!(places, (1..).take(places.len()).collect::<Vec<u8>>());
}

proptest! {
    #[test]
    fn readiness_is_false_exactly_for_unmet_rules(
        (draft, approvals, changes, open) in (any::<bool>(), 0_u64..3, 0_u64..3, 0_usize..3),
        word in prop::sample::select(vec!["CLEAN", "BLOCKED", "BEHIND", "UNKNOWN", "DIRTY", ""]),
        state in prop::sample::select(vec![MergeState::Mergeable, MergeState::Conflicting, MergeState::Unknown]),
        of_checks in prop::collection::vec(prop::sample::select(vec![
            CheckStatus::Success, CheckStatus::Failure, CheckStatus::Pending, CheckStatus::Skipped,
        ]), 0..4),
        login in "[a-z]{1,9}",
    ) {
        let mut pull = pull();
        pull.author = Actor::new(login);
        pull.draft = draft;
        pull.approvals = approvals;
        pull.changes_requested = changes;
        pull.threads = Some((0..open).map(|_| thread(false)).collect());
        pull.mergeability = Some(mergeability(state, word));
        let named: Vec<(String, CheckStatus)> = of_checks.iter().enumerate()
            .map(|(n, status)| (n.to_string(), *status)).collect();
        let named: Vec<(&str, CheckStatus)> = named.iter().map(|(n, s)| (n.as_str(), *s)).collect();
        pull.checks = Some(checks(&named));
        let ready = judge(&pull);
        let unmet = ready.unmet().count();
        prop_assert_eq!(ready.ready_to_merge == Some(false), unmet > 0);
        prop_assert_eq!(ready.blockers.len(), unmet);
        let unknown = ready.requirements.iter().any(|r| r.status == RequirementStatus::Unknown);
        prop_assert_eq!(ready.ready_to_merge.is_none(), unmet == 0 && unknown);
        for requirement in &ready.requirements {
            let met = requirement.status == RequirementStatus::Met;
            prop_assert!(!met || requirement.cleared_by.is_empty());
            prop_assert!(!requirement.evidence.is_empty());
        }
        prop_assert_eq!(&ready, &judge(&pull));
    }
}
