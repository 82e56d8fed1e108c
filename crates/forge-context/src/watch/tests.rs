//! Tests of watches with prepared polls on a paused clock.

use std::time::Duration;

use forge_core::model::{Actor, BaseRuleKind, BaseRules, Check, ChecksReport, MergeState, Review};
use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::{
    ForgeRules, MAX_PAUSE,
    sample::{checks, mergeability, pull, review},
    stub::StubForge,
};

fn judged(pull: PullRequest) -> Result<PollResult> {
    let rules = ForgeRules {
        checks: true,
        verdicts: true,
        threads: true,
        approval: true,
    };
    let at = Timestamp::from_unix(1_700_000_000);
    let readiness = Readiness::of(&pull, rules, None, at);
    Ok((pull, Some(readiness)))
}

fn with_checks(all: &[(&str, CheckStatus)]) -> PullRequest {
    let mut pull = pull();
    pull.checks = Some(checks(all));
    pull
}

fn of_state(state: PrState) -> PullRequest {
    let mut pull = pull();
    pull.state = state;
    pull
}

/// Runs a watch over `polls`, repeating the last one. Returns the lines of output and the duration.
async fn run(
    until: &[WatchUntil],
    since: Option<WatchBaseline>,
    polls: Vec<Result<PollResult>>,
) -> (Vec<String>, u64) {
    let mut polls = VecDeque::from(polls);
    let mut last = None;
    let poll = move || -> BoxFuture<'static, Result<PollResult>> {
        let next = match polls.pop_front() {
            Some(Ok(poll)) => {
                last = Some(poll.clone());
                Ok(poll)
            }
            Some(Err(e)) => Err(e),
            None => Ok(last.clone().unwrap()),
        };
        Box::pin(async move { next })
    };
    let req = WatchReq {
        until: until.iter().copied().collect(),
        pace: Pace {
            first: Duration::from_secs(10),
            longest: MAX_PAUSE,
            timeout: Some(Duration::from_secs(600)),
        },
        since,
        settings: ContextSettings::default(),
    };
    let began = Instant::now();
    let mut watch = Watch::over(Box::new(poll), req);
    let mut lines = Vec::new();
    loop {
        match watch.next().await {
            Ok(Some(WatchEvent::Began)) => lines.push(watch.seen().unwrap().to_string()),
            Ok(Some(WatchEvent::Same)) => {}
            Ok(Some(WatchEvent::Change(c))) => {
                let from = c.from.unwrap_or_default();
                lines.push(format!("{} {} {from}>{}", c.what, c.name, c.to));
            }
            Ok(Some(WatchEvent::Waits { error, .. })) => lines.push(error.message().to_owned()),
            Ok(Some(WatchEvent::Ended(end))) => {
                let by = end.by.map_or("-", WatchUntil::name);
                lines.push(format!("{} {by}", end.outcome.name()));
            }
            Ok(None) => return (lines, began.elapsed().as_secs()),
            Err(e) => lines.push(format!("error {}", e.code())),
        }
        if lines.last().is_some_and(|line| line.starts_with("error")) {
            return (lines, began.elapsed().as_secs());
        }
    }
}

const CHECKS: &[WatchUntil] = &[WatchUntil::Checks];
const REVIEW: &[WatchUntil] = &[WatchUntil::Review];
const STATE: &[WatchUntil] = &[WatchUntil::State];
const VERDICT: &[WatchUntil] = &[WatchUntil::Verdict];

fn plain(pull: PullRequest) -> Result<PollResult> {
    Ok((pull, None))
}

#[tokio::test(start_paused = true)]
async fn unregistered_checks_are_awaited() {
    let polls = vec![
        plain(with_checks(&[])),
        plain(with_checks(&[])),
        plain(with_checks(&[("build", CheckStatus::Pending)])),
        plain(with_checks(&[("build", CheckStatus::Success)])),
    ];
    let (lines, took) = run(CHECKS, None, polls).await;
    assert_eq!(
        lines,
        [
            "open at aaaaaaa, no check has reported yet, reviews: 1 approved, 0 requested changes",
            "check build >pending",
            "check build pending>success",
            "passed checks",
        ]
    );
    assert_eq!(took, 10 + 15 + 10);
}

#[tokio::test(start_paused = true)]
async fn unregistered_checks_are_pending_at_the_deadline() {
    let (lines, took) = run(CHECKS, None, vec![plain(with_checks(&[]))]).await;
    assert_eq!(lines.last().unwrap(), "pending -");
    assert_eq!(took, 600);
}

#[tokio::test(start_paused = true)]
async fn checks_watch_passes_only_without_a_failure() {
    use CheckStatus::{Cancelled, Failure, Pending, Skipped, Success};
    for (all, end) in [
        (&[("a", Success), ("b", Skipped)][..], "passed checks"),
        (&[("a", Success), ("b", Cancelled)], "passed checks"),
        (&[("a", Success), ("b", Failure)], "failed checks"),
        (&[("a", Failure), ("b", Pending)], "pending -"),
    ] {
        let (lines, _) = run(CHECKS, None, vec![plain(with_checks(all))]).await;
        assert_eq!(lines.last().unwrap(), end, "{all:?}");
    }
    let mut cut = with_checks(&[("a", Success)]);
    cut.checks = cut.checks.map(forge_core::model::ChecksReport::cut);
    let (lines, _) = run(CHECKS, None, vec![plain(cut)]).await;
    assert_eq!(lines.last().unwrap(), "pending -");
    let mut none = pull();
    none.checks = None;
    let (lines, took) = run(CHECKS, None, vec![plain(none)]).await;
    assert_eq!((lines[0].as_str(), took), ("error not_found", 0));
}

fn required_check(name: &str, source: RuleSource) -> BaseRule {
    let (name, app) = (name.to_owned(), None);
    BaseRule::new(BaseRuleKind::Check { name, app }, source)
}

#[tokio::test(start_paused = true)]
async fn missing_required_check_is_awaited() {
    use CheckStatus::{Failure, Success};
    let poll = |all: &[(&str, CheckStatus)]| {
        let mut pull = with_checks(all);
        let mut rules = BaseRules::default();
        rules.rules = vec![required_check("deploy", RuleSource::BranchProtection)];
        pull.base_rules = Some(rules);
        pull
    };
    let alone = || poll(&[("build", Success)]);
    let (lines, took) = run(CHECKS, None, vec![plain(alone())]).await;
    assert!(
        lines[0].contains("0 pending, a required check is missing"),
        "{lines:?}"
    );
    assert_eq!((lines.last().unwrap().as_str(), took), ("pending -", 600));
    let both = poll(&[("build", Success), ("deploy", Success)]);
    let (lines, _) = run(CHECKS, None, vec![plain(alone()), plain(both)]).await;
    assert_eq!(lines[1..], ["check deploy >success", "passed checks"]);
    // A failed check ends the watch, even if a required check is still missing.
    let failed = poll(&[("build", Failure)]);
    let (lines, _) = run(CHECKS, None, vec![plain(failed)]).await;
    assert_eq!(lines.last().unwrap(), "failed checks");
    // After a merge, a missing required check no longer matters.
    let mut merged = alone();
    merged.state = PrState::Merged;
    let (lines, _) = run(CHECKS, None, vec![plain(merged)]).await;
    assert_eq!(lines.last().unwrap(), "passed checks");
}

#[tokio::test(start_paused = true)]
async fn failed_check_is_shown_despite_passed_namesake() {
    use CheckStatus::{Failure, Pending, Success};
    for (status, counts, end) in [
        (Failure, "1 passed, 1 failed, 0 pending", "failed checks"),
        (Pending, "1 passed, 0 failed, 1 pending", "pending -"),
    ] {
        let mut of_workflow = Check::new("test", status);
        of_workflow.workflow = Some("CI".to_owned());
        let all = vec![Check::new("CI / test", Success), of_workflow];
        let report = ChecksReport::of("a".repeat(40), all);
        let mut pull = pull();
        pull.checks = Some(report);
        let seen = WatchSeen::of(&pull, None);
        let named = seen.checks.unwrap();
        assert_eq!(named, BTreeMap::from([("CI / test".to_owned(), status)]));
        let (lines, _) = run(CHECKS, None, vec![plain(pull)]).await;
        assert!(lines[0].contains(counts), "{lines:?}");
        assert_eq!(lines.last().unwrap(), end);
    }
}

#[tokio::test(start_paused = true)]
async fn new_review_ends_the_watch() {
    for (state, end) in [
        (ReviewState::Approved, "passed review"),
        (ReviewState::Commented, "passed review"),
        (ReviewState::ChangesRequested, "failed review"),
    ] {
        let mut reviewed = pull();
        reviewed.latest_reviews.push(review("hubot", state));
        let polls = vec![plain(pull()), plain(reviewed)];
        let (lines, took) = run(REVIEW, None, polls).await;
        let line = format!("review hubot >{}", review_name(state));
        assert_eq!(lines[1..], [line, end.to_owned()]);
        assert_eq!(took, 10);
    }
}

#[tokio::test(start_paused = true)]
async fn comment_of_earlier_reviewer_ends_the_watch() {
    use ReviewState::{Approved, Commented, Pending};
    let poll = |more: &[(&str, ReviewState)]| {
        let mut pull = pull();
        let mut all = pull.latest_reviews.clone();
        let at = Timestamp::from_unix(1_700_000_060);
        for (login, state) in more {
            let id = format!("{login} {state:?}");
            all.push(Review::new(id, Actor::new(*login), *state, at));
        }
        pull.reviews = Some(all);
        plain(pull)
    };
    let polls = vec![poll(&[]), poll(&[("grace", Commented)])];
    let (lines, _) = run(REVIEW, None, polls).await;
    assert!(
        lines[0].ends_with(", reviews: 1 approved, 0 requested changes"),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["review grace >commented", "passed review"]);
    // "ada" is the author of the pull request.
    for unheard in [("grace", Pending), ("ada", Commented), ("Ada", Approved)] {
        let (lines, _) = run(REVIEW, None, vec![poll(&[]), poll(&[unheard])]).await;
        assert_eq!(lines.last().unwrap(), "pending -", "{unheard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn changed_state_ends_the_watch() {
    let mut draft = pull();
    draft.draft = true;
    for (before, after, change, end) in [
        (pull(), of_state(PrState::Merged), "open>merged", "passed"),
        (pull(), of_state(PrState::Closed), "open>closed", "failed"),
        (of_state(PrState::Closed), pull(), "closed>open", "passed"),
        (draft.clone(), pull(), "draft>open", "passed"),
        (pull(), draft.clone(), "open>draft", "passed"),
    ] {
        let (lines, _) = run(STATE, None, vec![plain(before), plain(after)]).await;
        assert_eq!(
            lines[1..],
            [format!("state  {change}"), format!("{end} state")]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn ready_verdict_ends_the_watch() {
    let polls = vec![
        judged(with_checks(&[("build", CheckStatus::Pending)])),
        judged(pull()),
    ];
    let (lines, _) = run(VERDICT, None, polls).await;
    assert_eq!(
        lines[1..],
        [
            "check build pending>success",
            "requirement checks_finished unmet>met",
            "verdict ready_to_merge no>yes",
            "passed verdict",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn verdict_awaiting_people_ends_the_watch() {
    let mut conflicting = pull();
    conflicting.mergeability = Some(mergeability(MergeState::Conflicting, "DIRTY"));
    let mut unapproved = pull();
    unapproved.approvals = 0;
    unapproved.latest_reviews = vec![];
    let waits = || judged(with_checks(&[("build", CheckStatus::Pending)]));
    let polls = vec![waits(), judged(conflicting.clone())];
    let (lines, _) = run(VERDICT, None, polls).await;
    assert_eq!(lines.last().unwrap(), "failed verdict");
    // The watch waits for an approval that is missing at the start.
    let polls = vec![judged(unapproved), judged(pull())];
    let (lines, _) = run(VERDICT, None, polls).await;
    assert_eq!(lines.last().unwrap(), "passed verdict");
    let (lines, _) = run(VERDICT, None, vec![judged(conflicting)]).await;
    assert_eq!(lines.last().unwrap(), "pending -");
}

#[tokio::test(start_paused = true)]
async fn changed_verdict_ends_the_watch() {
    let ready = || judged(pull());
    let running = || judged(with_checks(&[("build", CheckStatus::Pending)]));
    let unknown = || judged(with_checks(&[]));
    let computing = || {
        let mut pull = pull();
        pull.mergeability = Some(mergeability(MergeState::Unknown, "UNKNOWN"));
        judged(pull)
    };
    let merged = || judged(of_state(PrState::Merged));
    let blocked = |unread: &[UnreadRules]| {
        let mut pull = pull();
        pull.mergeability = Some(mergeability(MergeState::Mergeable, "BLOCKED"));
        let mut rules = BaseRules::default();
        rules.unread = unread.to_vec();
        pull.base_rules = Some(rules);
        judged(pull)
    };
    let unread_checks = || {
        let mut pull = pull();
        pull.checks = None;
        pull.warnings = vec![forge_core::Warning::new("no answer").of_section("checks")];
        judged(pull)
    };
    for (before, after, end) in [
        (ready(), ready(), "pending -"),
        (ready(), running(), "failed verdict"),
        // After a push, checks register only some time later, so an unknown verdict ends nothing.
        (ready(), unknown(), "pending -"),
        (ready(), blocked(&[]), "failed verdict"),
        (ready(), computing(), "pending -"),
        (ready(), merged(), "passed -"),
        (running(), ready(), "passed verdict"),
        (running(), unknown(), "pending -"),
        (running(), computing(), "pending -"),
        (running(), blocked(&[]), "failed verdict"),
        (running(), blocked(&[UnreadRules::Rulesets]), "pending -"),
        (running(), unread_checks(), "pending -"),
        (unknown(), ready(), "passed verdict"),
        // The check can still succeed.
        (unknown(), running(), "pending -"),
        (unknown(), unknown(), "pending -"),
    ] {
        let (pull, readiness) = before.unwrap();
        let verdicts = [&readiness, &after.as_ref().unwrap().1]
            .map(|r| r.as_ref().and_then(|r| r.ready_to_merge));
        let since = WatchBaseline::of(&WatchSeen::of(&pull, readiness));
        let (lines, _) = run(VERDICT, Some(since), vec![after]).await;
        assert_eq!(lines.last().unwrap(), end, "{verdicts:?}");
    }
    // Without a baseline, a ready pull request ends the watch at once.
    let (lines, took) = run(VERDICT, None, vec![ready()]).await;
    assert_eq!((lines[1].as_str(), took), ("passed verdict", 0));
}

#[tokio::test(start_paused = true)]
async fn merged_or_closed_pull_ends_the_watch() {
    for (state, end) in [(PrState::Merged, "passed -"), (PrState::Closed, "failed -")] {
        let polls = vec![plain(pull()), plain(of_state(state))];
        let (lines, _) = run(REVIEW, None, polls).await;
        assert_eq!(lines.last().unwrap(), end);
    }
    let mut running = with_checks(&[("build", CheckStatus::Pending)]);
    running.state = PrState::Merged;
    let polls = vec![plain(running), plain(of_state(PrState::Merged))];
    let (lines, _) = run(CHECKS, None, polls).await;
    assert_eq!(lines.last().unwrap(), "passed checks");
}

#[tokio::test(start_paused = true)]
async fn first_of_several_events_ends_the_watch() {
    let mut reviewed = with_checks(&[("build", CheckStatus::Pending)]);
    reviewed
        .latest_reviews
        .push(review("hubot", ReviewState::Approved));
    let polls = vec![
        plain(with_checks(&[("build", CheckStatus::Pending)])),
        plain(reviewed),
    ];
    let (lines, _) = run(&[CHECKS, REVIEW].concat(), None, polls).await;
    assert_eq!(lines.last().unwrap(), "passed review");
}

#[tokio::test(start_paused = true)]
async fn change_since_earlier_baseline_ends_the_watch() {
    let before = WatchSeen::of(&pull(), None);
    let since = WatchBaseline::from_text(&WatchBaseline::of(&before).to_text());
    assert!(since.is_some());
    let mut reviewed = pull();
    reviewed
        .latest_reviews
        .push(review("hubot", ReviewState::Approved));
    let (lines, took) = run(REVIEW, since, vec![plain(reviewed)]).await;
    assert_eq!((lines[1].as_str(), took), ("passed review", 0));
}

#[test]
fn baseline_text_round_trips() {
    let mut draft = pull();
    draft.draft = true;
    draft.checks = Some(checks(&[("build", CheckStatus::Failure)]));
    let (draft, readiness) = judged(draft).unwrap();
    let baseline = WatchBaseline::of(&WatchSeen::of(&draft, readiness));
    let text = baseline.to_text();
    assert!(!text.contains([' ', '"']), "{text}");
    assert_eq!(WatchBaseline::from_text(&text), Some(baseline));
    for state in [PrState::Closed, PrState::Merged] {
        let (pull, readiness) = judged(of_state(state)).unwrap();
        let baseline = WatchBaseline::of(&WatchSeen::of(&pull, readiness));
        assert_eq!(
            WatchBaseline::from_text(&baseline.to_text()),
            Some(baseline)
        );
    }
    for junk in [
        "",
        "open",
        "open.x..no",
        "none...no",
        "open.-zz..no",
        "open...",
    ] {
        assert_eq!(WatchBaseline::from_text(junk), None, "{junk}");
    }
}

#[tokio::test(start_paused = true)]
async fn failed_polls_are_repeated_and_reported() {
    let limited = Error::new(
        ErrorKind::RateLimited {
            bucket: "graphql".to_owned(),
            reset: None,
        },
        "slow down",
    );
    let gone = Error::new(ErrorKind::Network, "gone");
    let polls = vec![Err(gone), Err(limited), plain(pull())];
    let (lines, took) = run(CHECKS, None, polls).await;
    assert_eq!(lines[..2], ["gone", "slow down"]);
    assert_eq!(lines.last().unwrap(), "passed checks");
    assert_eq!(took, 10 + 60);
    let broken = Error::new(ErrorKind::Internal, "broken");
    let (lines, _) = run(CHECKS, None, vec![Err(broken)]).await;
    assert_eq!(lines, ["error internal"]);
}

#[test]
fn poll_reads_only_the_watched_fields() {
    let fields = |until: &[WatchUntil]| {
        let req = WatchReq {
            until: until.iter().copied().collect(),
            pace: Pace {
                first: Duration::ZERO,
                longest: Duration::ZERO,
                timeout: None,
            },
            since: None,
            settings: ContextSettings::default(),
        };
        req.fields()
    };
    let of_checks = PrFields::CHECKS | PrFields::RULES | PrFields::ROW;
    assert_eq!(fields(CHECKS), of_checks);
    assert_eq!(fields(STATE), PrFields::ROW);
    assert!(fields(VERDICT).contains(VERDICT_FIELDS));
    assert!(!fields(VERDICT).contains(PrFields::FILES));
    assert!(!fields(REVIEW).contains(PrFields::ROW));
    assert!(!fields(REVIEW).contains(PrFields::CHECKS));
    let of_reviews = PrFields::REVIEWS | PrFields::NEWEST | PrFields::NO_REVIEW_COMMENTS;
    assert!(!fields(VERDICT).contains(PrFields::REVIEWS));
    assert!(fields(REVIEW).contains(of_reviews));
    assert!(fields(&[VERDICT, REVIEW].concat()).contains(VERDICT_FIELDS | of_reviews));
}

#[test]
fn baseline_keeps_the_newest_hundred_reviews() {
    let mut pull = pull();
    let of = |n: i64| {
        let at = Timestamp::from_unix(1_700_000_000 + n);
        Review::new(
            format!("r{n}"),
            Actor::new("grace"),
            ReviewState::Commented,
            at,
        )
    };
    pull.reviews = Some((1..=102).map(of).collect());
    pull.latest_reviews = vec![of(102)];
    let seen = WatchSeen::of(&pull, None);
    assert_eq!(seen.reviews.len(), 100);
    assert!(!seen.reviews.contains_key("r2") && seen.reviews.contains_key("r3"));
}

/// A host can send any text as the id of a commit, and the line of output puts no quotes around it.
#[test]
fn head_without_object_id_form_is_hidden() {
    for (head, shown) in [
        ("0123456789abcdef", "open at 0123456"),
        ("merged\u{e9} Next: pr_merge", "open at unknown"),
        ("a | checks: success", "open at unknown"),
    ] {
        let mut pull = pull();
        pull.head_oid = Some(head.to_owned());
        let seen = WatchSeen::of(&pull, None).to_string();
        assert!(seen.starts_with(shown), "{seen}");
        assert!(!seen.contains("Next"), "{seen}");
    }
}

#[tokio::test(start_paused = true)]
async fn merged_pull_without_running_checks_ends_the_watch() {
    let running = ("build", CheckStatus::Pending);
    for (of_checks, end, wanted) in [(&[][..], "passed -", 0), (&[running], "pending -", 600)] {
        let mut merged = pull();
        merged.state = PrState::Merged;
        merged.checks = Some(checks(of_checks));
        let (lines, took) = run(CHECKS, None, vec![plain(merged)]).await;
        assert_eq!((lines.last().unwrap().as_str(), took), (end, wanted));
    }
}

fn ruleset() -> RuleSource {
    RuleSource::Ruleset {
        id: 7,
        name: None,
        owner: String::new(),
    }
}

/// The rulesets are read once all reported checks have finished, and are then cached.
#[tokio::test]
async fn rulesets_of_a_checks_watch_are_read_once() {
    use CheckStatus::{Pending, Success};
    let mut forge = StubForge {
        rulesets: vec![required_check("deploy", ruleset())],
        ..StubForge::default()
    };
    forge.pull.base_rules = Some(BaseRules::default());
    let pull = forge.pull.clone();
    let (repo, forge) = forge.repo();
    let judge = PollJudge {
        repo: &repo,
        settings: ContextSettings::default(),
        rulesets: Mutex::default(),
    };
    for (all, is_missing, reads) in [
        (&[("build", Pending)][..], false, 0),
        (&[("build", Success)], true, 1),
        (&[("build", Success)], true, 1),
        (&[("build", Success), ("deploy", Success)], false, 2),
    ] {
        let mut pull = pull.clone();
        pull.checks = Some(checks(all));
        let seen = WatchSeen::of(&judge.checks(pull).await, None);
        assert_eq!(seen.lacks_check, is_missing, "{all:?}");
        assert_eq!(forge.asked_for().len(), reads, "{all:?}");
    }
}

#[tokio::test]
async fn rulesets_of_a_base_branch_are_read_once() {
    let mut forge = StubForge {
        rulesets: vec![BaseRule::new(
            BaseRuleKind::Approvals { count: 2 },
            ruleset(),
        )],
        ..StubForge::default()
    };
    forge.pull.base_rules = Some(BaseRules::default());
    let mut pull = forge.pull.clone();
    let (repo, forge) = forge.repo();
    let judge = PollJudge {
        repo: &repo,
        settings: ContextSettings::default(),
        rulesets: Mutex::default(),
    };
    for (base, reads) in [("main", 1), ("main", 1), ("next", 2), ("next", 2)] {
        pull.base_branch = base.to_owned();
        let (seen, verdict) = judge.verdict(pull.clone()).await;
        assert_eq!(verdict.unwrap().ready_to_merge, Some(false), "{base}");
        assert_eq!(seen.base_rules.unwrap().rules.len(), 1, "{base}");
        assert_eq!(forge.asked_for().len(), reads, "{base}");
    }
}

proptest! {
    #[test]
    fn baseline_of_any_text_never_panics(text in "[a-z0-9.-]{0,30}|.{0,20}") {
        if let Some(baseline) = WatchBaseline::from_text(&text) {
            prop_assert_eq!(WatchBaseline::from_text(&baseline.to_text()), Some(baseline));
        }
    }
}

#[test]
fn watch_end_names_are_parsed() {
    for until in WatchUntil::ALL {
        assert_eq!(WatchUntil::parse(until.name()).unwrap(), until);
    }
    let error = WatchUntil::parse("check").unwrap_err();
    assert!(error.hint().unwrap().text().contains("checks"));
}
