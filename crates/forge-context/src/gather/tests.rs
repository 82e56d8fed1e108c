//! Requests and results of gathering a bundle.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use forge_core::{
    ForgeKind, Noun, Observer, Op, Policy, PrKey, RepoId, RepoPath, Timestamp,
    locator::Hosts,
    model::{
        BaseRule, BaseRuleKind, BaseRules, Link, LinkState, LinkedIssue, LocalClone, ReviewState,
        RuleSource, SubjectKind, UnreadRules,
    },
};
use proptest::prelude::*;

use super::*;
use crate::{
    OtherRepos, TicketDetails, Tickets,
    sample::{checks, issue, mergeability, review, thread},
    stub::{MakeError, StubForge, capabilities_without},
};

const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n\
                    @@ -1 +1,2 @@\n one\n+two\n";

fn req(include: &[ContextSection]) -> ContextReq {
    ContextReq {
        include: include.iter().copied().collect(),
        checked_at: Timestamp::from_unix(1_700_000_500),
        ..ContextReq::new(Hosts::builtin())
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(work)
}

/// Gathers a bundle, and returns it with the recorded requests.
fn read(forge: StubForge, req: &ContextReq) -> (PullContext, Vec<String>) {
    let (repo, forge) = forge.repo();
    let found = run(context(&repo, &forge.pull.id, req)).unwrap();
    (found, forge.asked_for())
}

fn network() -> Error {
    Error::new(ErrorKind::Network, "no connection")
}

fn gone() -> Error {
    Error::not_found(Noun::PullRequest, "it is gone")
}

fn failed(found: &PullContext) -> Vec<(&'static str, &'static str)> {
    found.errors.iter().map(|e| (e.section, e.kind)).collect()
}

#[test]
fn diff_counts_against_the_memory_of_all_calls() {
    let forge = StubForge {
        diff: DIFF.to_owned(),
        ..StubForge::default()
    };
    let (repo, forge) = forge.repo();
    let req = req(&[ContextSection::Diff]);
    let read = async {
        context(&repo, &forge.pull.id, &req).await.unwrap();
        call::kept_weight()
    };
    let (weight, _) = run(call::kept(true, read));
    assert!(weight >= 2 * DIFF.len(), "{weight}");
}

#[test]
fn requests_follow_the_included_sections() {
    let asked = |include: &[ContextSection]| {
        let forge = StubForge {
            diff: DIFF.to_owned(),
            ..StubForge::default()
        };
        read(forge, &req(include)).1
    };
    let diff = "diff U5 prefers=true clone=false since=- round=None";
    assert_eq!(asked(&[]), ["view 7"]);
    assert_eq!(asked(&[ContextSection::Diff]), [diff, "view 7"]);
    assert_eq!(
        asked(&[ContextSection::Source]),
        ["contents", diff, "view 7"]
    );
    assert_eq!(
        asked(&[ContextSection::RelatedPrs]),
        ["links", "list All 50 true", "view 7"]
    );
    assert_eq!(asked(&[ContextSection::LinkedIssues]), ["links", "view 7"]);
    assert_eq!(asked(&[ContextSection::History]), ["history", "view 7"]);
    assert_eq!(asked(&ContextSection::DEFAULT), [diff, "links", "view 7"]);
}

#[test]
fn error_of_unread_field_names_a_section() {
    for (field, section) in [
        ("checks", "ci"),
        ("threads", "comments"),
        ("latest_reviews", "reviews"),
        ("commits", "linked_issues"),
        ("files", "files"),
        ("labels", "labels"),
    ] {
        let mut forge = StubForge::default();
        forge.pull.warnings = vec![Warning::new("no").of_section(field)];
        let (found, _) = read(forge, &req(&[]));
        assert_eq!(failed(&found), [(section, "incomplete")]);
        // The warning of the pull request keeps its field, from which the verdict is computed.
        assert_eq!(found.pull.warnings[0].section, Some(field));
    }
}

#[test]
fn unexamined_pulls_are_a_warning() {
    let warnings = |count: u64| {
        let other = |n: u64| {
            let mut pull = crate::sample::pull();
            pull.id = PrId::number(pull.id.repo, n + 10);
            pull
        };
        let forge = StubForge {
            others: (0..count).map(other).collect(),
            ..StubForge::default()
        };
        let (found, _) = read(forge, &req(&[ContextSection::RelatedPrs]));
        found.warnings
    };
    assert_eq!(warnings(50), []);
    let told = warnings(51);
    let said = "only 50 of 51 pull requests were examined for related ones";
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].message, said);
    assert!(told[0].hint.is_some());
}

#[test]
fn issue_linked_only_by_forge_relates_pulls() {
    let mut forge = StubForge::default();
    forge.pull.description = "Closes #14.".to_owned();
    forge.pull.files = Some(vec![]);
    let mut other = crate::sample::pull();
    other.id = PrId::number(other.id.repo, 8);
    other.head_branch = "else".to_owned();
    other.linked_issues = Some(vec![linked(14)]);
    forge.others = vec![other];
    let (found, _) = read(forge, &req(&[ContextSection::RelatedPrs]));
    let related = found.related_prs.unwrap();
    assert_eq!(related.len(), 1);
    assert_eq!(related[0].relationship, crate::RelatedBy::LinkedIssue);
}

#[test]
fn unsupported_links_are_not_requested() {
    let forge = StubForge {
        capabilities: capabilities_without(&[Capability::Links]),
        ..StubForge::default()
    };
    let (found, asked) = read(forge, &req(&[ContextSection::LinkedIssues]));
    assert_eq!(asked, ["view 7"]);
    assert_eq!(failed(&found), []);
}

#[test]
fn explicit_context_lines_are_required_of_the_forge() {
    let mut wanted = req(&[ContextSection::Diff]);
    wanted.context_lines = Some(9);
    let trust = forge_core::Trust::default();
    wanted.clone = Some(LocalClone::new("/clone", "origin", trust));
    let forge = StubForge {
        diff: DIFF.to_owned(),
        ..StubForge::default()
    };
    let (found, asked) = read(forge, &wanted);
    assert_eq!(
        asked[0],
        "diff U9 prefers=false clone=true since=- round=None"
    );
    let diff = found.diff.unwrap();
    assert_eq!(diff.context_lines, Some(9));
    assert_eq!(diff.base_sha, Some("b".repeat(40)));
    assert_eq!(diff.head_sha, Some("a".repeat(40)));
    assert_eq!(diff.files.len(), 1);
}

#[test]
fn truncated_diff_has_hint_to_read_whole_diff() {
    let recovery = |max_bytes| {
        let wanted = ContextReq {
            diff_bytes: max_bytes,
            ..req(&[ContextSection::Diff])
        };
        let forge = StubForge {
            diff: DIFF.to_owned(),
            ..StubForge::default()
        };
        let (found, _) = read(forge, &wanted);
        found.diff.unwrap().recovery.map(|hint| hint.to_string())
    };
    assert_eq!(recovery(60_000), None);
    assert!(recovery(1).is_some_and(|said| said.contains("read the whole diff")));
}

#[test]
fn log_tail_has_the_last_200_lines() {
    let log = |lines: usize| -> String { (1..=lines).map(|n| format!("line {n}\n")).collect() };
    let tail = |lines, cut| log_tail("build", &log(lines), cut);
    assert_eq!(tail(200, false).text.lines().next(), Some("line 1"));
    assert_eq!(tail(201, false).text.lines().next(), Some("line 2"));
    let cut = [tail(200, false), tail(201, false), tail(3, true)].map(|tail| tail.cut);
    assert_eq!(cut, [false, true, true]);
}

#[test]
fn failed_run_without_reason_has_no_summary() {
    let read_with = |failed: usize, failing, include: &[ContextSection]| {
        let mut forge = StubForge {
            failing,
            ..StubForge::default()
        };
        let names: Vec<String> = (0..failed).map(|n| format!("job {n}")).collect();
        let of = |name| (name, CheckStatus::Failure);
        let all: Vec<_> = names.iter().map(String::as_str).map(of).collect();
        let mut report = checks(&all);
        for check in &mut report.checks {
            check.id = "run".to_owned();
            check.summary = Some("Some checks failed".to_owned());
        }
        // A commit status has no id. Its description is the reason.
        report.checks[0].id = String::new();
        // The title of an app such as Codecov is its result.
        if let Some(check) = report.checks.get_mut(2) {
            check.app = Some(5);
        }
        forge.pull.checks = Some(report);
        let (found, asked) = read(forge, &req(include));
        let checks = found.pull.checks.unwrap().checks;
        let summaries: Vec<_> = checks.into_iter().map(|check| check.summary).collect();
        let told: Vec<_> = found.warnings.into_iter().map(|w| w.message).collect();
        let asked = asked.iter().filter(|a| *a == "check_reasons").count();
        (summaries, told, asked)
    };
    let ci = &[ContextSection::Ci];
    let (summaries, told, asked) = read_with(21, vec![], ci);
    assert_eq!(summaries, vec![Some("a step".to_owned()); 21]);
    assert_eq!((told, asked), (vec![], 1));
    let (summaries, told, _) = read_with(102, vec![], ci);
    assert_eq!(summaries.iter().filter(|s| s.is_none()).count(), 2);
    let said = "2 failed check(s) are shown without their reason";
    assert!(told.iter().any(|told| told == said), "{told:?}");
    let (summaries, told, _) = read_with(3, vec![("check_reasons", network)], ci);
    let title = Some("Some checks failed".to_owned());
    assert_eq!(summaries, [title.clone(), None, title.clone()]);
    assert_eq!(told, [said]);
    let (summaries, told, asked) = read_with(2, vec![], &[]);
    assert_eq!((&summaries[1], told.len(), asked), (&title, 0, 0));
}

#[test]
fn viewer_is_requested_only_for_since_review() {
    let mut seen = review("grace", ReviewState::Commented);
    seen.commit = Some("c".repeat(40));
    let asked = |since: &str| {
        let mut forge = StubForge::default();
        forge.pull.reviews = Some(vec![seen.clone()]);
        let wanted = ContextReq {
            since: Some(since.to_owned()),
            ..req(&[])
        };
        let (found, asked) = read(forge, &wanted);
        (
            found.since.unwrap().from_sha,
            found.reviews.is_some(),
            asked,
        )
    };
    let diff = format!(
        "diff U5 prefers=true clone=false since={} round=None",
        "c".repeat(40)
    );
    let from = Some("c".repeat(40));
    let by_word = asked("review");
    assert_eq!(by_word.2, [&diff, "view 7", "viewer"]);
    let by_id = asked("grace");
    assert_eq!(by_id.2, [&diff, "view 7"]);
    // `since` reads reviews; the bundle shows reviews only if they are included.
    assert_eq!((by_word.0, by_word.1), (from.clone(), false));
    assert_eq!((by_id.0, by_id.1), (from, false));
}

#[test]
fn diff_since_earlier_round_compares_rounds() {
    let asked = |round: usize| {
        let mut seen = review("grace", ReviewState::Commented);
        (seen.commit, seen.round) = (Some("c".repeat(40)), Some(round));
        let mut forge = StubForge::default();
        (forge.pull.rounds, forge.pull.reviews) = (Some(3), Some(vec![seen]));
        let wanted = ContextReq {
            since: Some("grace".to_owned()),
            ..req(&[])
        };
        read(forge, &wanted).1[0].clone()
    };
    for round in [0, 1] {
        let wanted = format!("diff U5 prefers=true clone=false since=- round=Some({round})");
        assert_eq!(asked(round), wanted);
    }
    let newest = asked(2);
    assert!(newest.ends_with("cc round=None"), "{newest}");
}

#[test]
fn failed_since_diff_is_a_separate_error() {
    let forge = StubForge {
        failing: vec![("diff", network)],
        ..StubForge::default()
    };
    let wanted = ContextReq {
        since: Some("c".repeat(40)),
        ..req(&[ContextSection::Diff])
    };
    let (found, _) = read(forge, &wanted);
    assert_eq!(failed(&found), [("diff", "network"), ("since", "network")]);
    assert!(found.partial);
}

/// The view could not read the changes for the same reason as the diff.
#[test]
fn cause_of_unread_section_is_reported_once() {
    let told = |include: &[ContextSection], warning: &str| {
        let mut forge = StubForge {
            failing: vec![("diff", network)],
            ..StubForge::default()
        };
        forge.pull.warnings = vec![Warning::new(warning)];
        let (found, _) = read(forge, &req(include));
        let errors = found.errors.iter().map(|e| e.message.clone());
        let warnings = found.warnings.iter().map(|w| w.message.clone());
        errors.chain(warnings).collect::<Vec<_>>()
    };
    let diff = &[ContextSection::Diff][..];
    let unread = "the changes could not be read: no connection";
    assert_eq!(told(diff, unread), ["no connection"]);
    assert_eq!(told(diff, "no connection"), ["no connection"]);
    // Without the diff, only the view names the cause. Another cause is named, too.
    assert_eq!(told(&[], unread), [unread]);
    for other in [
        "the changes could not be read: the patch is damaged",
        "the round was pushed over no connection",
    ] {
        assert_eq!(told(diff, other), ["no connection", other]);
    }
}

#[test]
fn costly_view_is_repeated_without_long_sections() {
    let forge = StubForge {
        is_costly: true,
        ..StubForge::default()
    };
    let (found, asked) = read(forge, &req(&ContextSection::DEFAULT));
    assert_eq!(asked.iter().filter(|a| *a == "view 7").count(), 2);
    let sections = failed(&found);
    let wanted = ["comments", "reviews", "linked_issues"].map(|name| (name, "internal"));
    assert_eq!(sections, wanted);
    let hint = found.errors[0].hint.as_ref().unwrap().text();
    assert_eq!(hint, "request only this section, or read it in pages");
    assert_eq!(found.readiness.ready_to_merge, Some(true));
}

#[test]
fn view_of_a_missing_pull_is_not_repeated() {
    let forge = StubForge {
        failing: vec![("view", gone)],
        ..StubForge::default()
    };
    let (repo, forge) = forge.repo();
    let wanted = req(&ContextSection::DEFAULT);
    let error = run(context(&repo, &forge.pull.id, &wanted)).unwrap_err();
    assert!(error.is_not_found());
    let views = forge.asked_for();
    assert_eq!(views.iter().filter(|a| *a == "view 7").count(), 1);
}

#[test]
fn unknown_issue_named_only_by_branch_is_dropped() {
    let mut forge = StubForge::default();
    forge.pull.head_branch = "12-work".to_owned();
    forge.pull.description = "See #13 and #14.".to_owned();
    forge.issues = vec![issue(14, "Leak")];
    let (found, asked) = read(forge, &req(&[ContextSection::LinkedIssues]));
    assert_eq!(asked[..3], ["issue 12", "issue 13", "issue 14"]);
    let items = found.linked_issues.unwrap();
    let shown: Vec<_> = items
        .iter()
        .map(|i| (&*i.key, i.title.as_deref()))
        .collect();
    assert_eq!(shown, [("#13", None), ("#14", Some("Leak"))]);
    assert_eq!(found.errors, []);
}

#[test]
fn unread_issues_of_other_repositories_are_a_warning() {
    let read_with = |other_repos, failing| {
        let mut forge = StubForge {
            failing,
            ..StubForge::default()
        };
        forge.pull.id.repo = RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Named {
                owner: "octo".to_owned(),
                name: "tools".to_owned(),
            },
        };
        forge.pull.description = "Fixes octo/wide#14, see octo/wide#15.".to_owned();
        forge.issues = vec![issue(14, "Leak")];
        let wanted = ContextReq {
            other_repos: OtherRepos::only(move |_| other_repos),
            ..req(&[ContextSection::LinkedIssues])
        };
        let (found, asked) = read(forge, &wanted);
        assert_eq!(found.errors, []);
        let items = found.linked_issues.unwrap();
        let titles: Vec<_> = items.iter().map(|item| item.title.clone()).collect();
        let told: Vec<_> = found.warnings.into_iter().map(|w| w.message).collect();
        (titles, told, asked)
    };
    let (titles, told, asked) = read_with(true, vec![]);
    assert_eq!(titles, [Some("Leak".to_owned()), None]);
    let unread = "issue(s) or pull request(s) of other repositories were not read:";
    assert_eq!(told, [format!("1 {unread} octo/wide#15")]);
    assert_eq!(asked[..2], ["issue 14", "issue 15"]);
    let all = format!("2 {unread} octo/wide#14, octo/wide#15");
    let (titles, told, asked) = read_with(false, vec![]);
    assert_eq!((titles, &told[..]), (vec![None, None], &[all.clone()][..]));
    assert_eq!(asked, ["links", "view 7"]);
    assert_eq!(read_with(true, vec![("issue", network)]).1, [all]);
}

#[test]
fn linked_issues_without_text_are_named() {
    let mut forge = StubForge::default();
    forge.pull.linked_issues = Some((21..=31).map(linked).collect());
    forge.issues = (21..=31).map(|n| issue(n, "Leak")).collect();
    let own = forge.pull.id.repo.clone();
    let kind = Some(SubjectKind::Issue);
    let named = Link::bare(kind, Some(own), PrKey::Number(41));
    forge.links.mentions = vec![named];
    let (found, asked) = read(forge, &req(&[ContextSection::LinkedIssues]));
    assert_eq!(asked.iter().filter(|a| a.starts_with("issue ")).count(), 10);
    let items = found.linked_issues.unwrap();
    assert_eq!(items.iter().filter(|i| i.body.is_some()).count(), 10);
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    let warning = &found.warnings[0];
    let said = "the texts of 2 linked issue(s) were not read: #31, #41";
    assert_eq!(warning.message, said);
    let action = warning.hint.as_ref().and_then(Hint::action);
    assert_eq!(action, Some(&Action::op(Op::IssueView).on(31)));
}

#[test]
fn equal_issue_failures_are_one_error() {
    let forge = || {
        let mut forge = StubForge::default();
        forge.pull.description = "See #13 and #14.".to_owned();
        forge.failing = vec![("issue", network)];
        forge
    };
    let (found, _) = read(forge(), &req(&[ContextSection::LinkedIssues]));
    assert_eq!(failed(&found), [("linked_issues", "network")]);
    assert_eq!(found.linked_issues.unwrap().len(), 2);
    // If the forge lists the issue, only the error reports it, and no warning repeats it.
    let mut listed = forge();
    listed.pull.linked_issues = Some(vec![linked(21)]);
    let (found, _) = read(listed, &req(&[ContextSection::LinkedIssues]));
    assert_eq!(failed(&found), [("linked_issues", "network")]);
    assert_eq!(found.warnings, []);
}

#[test]
fn issues_of_pull_record_relate_pulls() {
    let mut forge = StubForge::default();
    let reference = issue(14, "Leak").id;
    forge.pull.closing_references = vec![reference.clone()];
    forge.pull.files = Some(vec![]);
    forge.issues = vec![issue(14, "Leak")];
    let mut other = crate::sample::pull();
    other.id = PrId::number(other.id.repo, 8);
    other.head_branch = "else".to_owned();
    other.closing_references = vec![reference];
    forge.others = vec![other];
    let sections = [ContextSection::LinkedIssues, ContextSection::RelatedPrs];
    let (found, asked) = read(forge, &req(&sections));
    assert!(asked.contains(&"issue 14".to_owned()), "{asked:?}");
    let items = found.linked_issues.unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].relationship, crate::Relationship::Closes);
    assert_eq!(items[0].title.as_deref(), Some("Leak"));
    let related = found.related_prs.unwrap();
    assert_eq!(related[0].relationship, crate::RelatedBy::LinkedIssue);
}

/// A tracker that knows `PROJ-1`, does not know `PROJ-2`, and fails for all other keys.
#[derive(Debug)]
struct StubTracker;

#[async_trait]
impl Tickets for StubTracker {
    async fn read(&self, key: &str) -> Result<TicketDetails> {
        match key {
            "PROJ-1" => Ok(TicketDetails {
                title: "Leak".to_owned(),
                status: "Done".to_owned(),
                is_done: true,
                labels: vec![],
                body: String::new(),
                comments: vec![],
            }),
            "PROJ-2" => Err(Error::not_found(Noun::Issue, "no such ticket")),
            _ => Err(network()),
        }
    }
}

#[test]
fn equal_ticket_failures_are_one_error() {
    let mut forge = StubForge::default();
    forge.pull.description = "PROJ-1 PROJ-2 PROJ-3 PROJ-4".to_owned();
    let mut wanted = req(&[ContextSection::LinkedIssues]);
    wanted.tickets.tracker = Some(Arc::new(StubTracker));
    let (found, _) = read(forge, &wanted);
    assert_eq!(failed(&found), [("linked_issues", "network")]);
    let items = found.linked_issues.unwrap();
    let shown: Vec<_> = items.iter().map(|i| (&*i.key, i.state)).collect();
    // `PROJ-2` is dropped: the tracker does not know the key.
    assert_eq!(
        shown,
        [
            ("PROJ-1", Some(LinkState::Closed)),
            ("PROJ-3", None),
            ("PROJ-4", None)
        ]
    );
}

#[test]
fn tickets_beyond_the_limit_are_named() {
    let mut forge = StubForge::default();
    let keys: Vec<String> = (10..=21).map(|n| format!("PROJ-{n}")).collect();
    forge.pull.description = keys.join(" ");
    let mut wanted = req(&[ContextSection::LinkedIssues]);
    wanted.tickets.tracker = Some(Arc::new(StubTracker));
    let (found, _) = read(forge, &wanted);
    let said: Vec<&str> = found.warnings.iter().map(|w| &*w.message).collect();
    assert_eq!(said, ["2 ticket(s) were not read: PROJ-20, PROJ-21"]);
}

#[test]
fn duplicate_warnings_are_merged() {
    let mut forge = StubForge::default();
    forge.links.warnings = vec![Warning::new("a"), Warning::new("b")];
    forge.pull.warnings = vec![Warning::new("a")];
    let (found, _) = read(forge, &req(&[ContextSection::LinkedIssues]));
    let said: Vec<&str> = found.warnings.iter().map(|w| &*w.message).collect();
    assert_eq!(said, ["a", "b"]);
}

/// An observer that records which operations began.
#[derive(Default)]
struct Began(Mutex<Vec<&'static str>>);

impl Observer for Began {
    fn started(&self, op: Op, _: &str) {
        self.0.lock().unwrap().push(op.name());
    }
    fn finished(&self, _: Op, _: &str, _: Duration, _: Option<&'static str>) {}
    fn rate_limited(&self, _: &str, _: Duration) {}
}

fn quota(remaining: u64) -> Quota {
    Quota::new(5_000, remaining, Timestamp::from_unix(1_700_000_000))
}

#[test]
fn requests_reach_both_observers() {
    let outer = Arc::new(Began::default());
    let mut policy = Policy::default();
    policy.observer = Some(outer.clone());
    let forge = StubForge {
        quota: Some(quota(4_000)),
        ..StubForge::default()
    };
    let (repo, forge) = forge.repo_with(policy);
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    let mut wanted = req(&[]);
    wanted.observer = crate::ContextObserver::new(move |event| {
        let event = serde_json::to_value(event).unwrap();
        told.lock().unwrap().push(event["event"].clone());
    });
    run(context(&repo, &forge.pull.id, &wanted)).unwrap();
    assert_eq!(*outer.0.lock().unwrap(), ["pr.view"]);
    let events = events.lock().unwrap();
    assert_eq!(
        *events,
        [
            "tool:pr_context:start",
            "tool:pr_context:local_fetch",
            "tool:pr_context:complete"
        ]
    );
}

#[test]
fn low_rate_limit_leaves_optional_sections_out() {
    let read_at = |remaining| {
        let mut forge = StubForge {
            quota: Some(quota(remaining)),
            ..StubForge::default()
        };
        forge.pull.description = "See #14.".to_owned();
        forge.issues = vec![issue(14, "Leak")];
        let wanted = [ContextSection::LinkedIssues, ContextSection::RelatedPrs];
        let (found, asked) = read(forge, &req(&wanted));
        (failed(&found), asked)
    };
    let (errors, asked) = read_at(99);
    let left_out = ["linked_issues", "related_prs"].map(|name| (name, "rate_limited"));
    assert_eq!(errors, left_out);
    assert_eq!(asked, ["links", "view 7"]);
    let (errors, asked) = read_at(100);
    assert_eq!(errors, []);
    assert_eq!(asked.len(), 4, "{asked:?}");
}

fn linked(number: u64) -> LinkedIssue {
    let (title, url) = (format!("Issue {number}"), format!("file:///r#{number}"));
    let mut issue = LinkedIssue::new(crate::sample::pull().id.repo, number, title, url);
    issue.labels = Some(vec!["bug".to_owned()]);
    issue
}

const OPERATIONS: [&str; 9] = [
    "base_rules",
    "check_log",
    "check_reasons",
    "contents",
    "diff",
    "history",
    "issue",
    "links",
    "list",
];

/// Generated answers of a forge: everything that affects a verdict, and an optional error for each
/// operation.
#[derive(Clone, Debug)]
struct Answers {
    state: PrState,
    draft: bool,
    word: &'static str,
    merges: MergeState,
    settled: Option<MergeState>,
    checks: Vec<CheckStatus>,
    threads: Vec<bool>,
    reviews: Vec<ReviewState>,
    rules: Option<Vec<BaseRuleKind>>,
    rulesets: Vec<BaseRuleKind>,
    has_unread_rules: bool,
    dependency: Option<PrState>,
    unread: Option<&'static str>,
    failing: BTreeSet<&'static str>,
    is_costly: bool,
    remaining: Option<u64>,
    lacking: Vec<Capability>,
}

impl Answers {
    fn forge(&self) -> StubForge {
        let mut forge = StubForge {
            diff: DIFF.to_owned(),
            is_costly: self.is_costly,
            quota: self.remaining.map(quota),
            settled: self.settled.map(|state| mergeability(state, self.word)),
            failing: self
                .failing
                .iter()
                .map(|op| (*op, network as MakeError))
                .collect(),
            capabilities: capabilities_without(&self.lacking),
            issues: vec![issue(14, "Leak")],
            rulesets: of_a_ruleset(&self.rulesets),
            ..StubForge::default()
        };
        let pull = &mut forge.pull;
        pull.state = self.state;
        pull.draft = self.draft;
        pull.description = "Closes #14, see #15 and PROJ-1.".to_owned();
        pull.mergeability = Some(mergeability(self.merges, self.word));
        let names: Vec<String> = (0..self.checks.len()).map(|n| n.to_string()).collect();
        let of_checks = names.iter().map(String::as_str);
        let of_checks: Vec<_> = of_checks.zip(self.checks.iter().copied()).collect();
        pull.checks = Some(checks(&of_checks));
        pull.threads = Some(self.threads.iter().map(|done| thread(*done)).collect());
        let authors = ["grace", "alan", "kay", "mary"];
        let reviews = authors.iter().zip(&self.reviews);
        let reviews: Vec<Review> = reviews.map(|(who, state)| review(who, *state)).collect();
        let count = |wanted| reviews.iter().filter(|r| r.state == wanted).count() as u64;
        pull.approvals = count(ReviewState::Approved);
        pull.changes_requested = count(ReviewState::ChangesRequested);
        pull.latest_reviews.clone_from(&reviews);
        pull.reviews = Some(reviews);
        pull.comments = Some(vec![]);
        pull.commits = Some(vec![]);
        pull.linked_issues = Some(vec![linked(14)]);
        pull.base_rules = self.rules.as_ref().map(|kinds| {
            let mut rules = BaseRules::default();
            rules.rules = of_a_ruleset(kinds);
            if self.has_unread_rules {
                rules.mark_unread(UnreadRules::Protection);
            }
            rules
        });
        let unread = self.unread.map(|section| {
            Warning::new(format!("{section} could not be read in full")).of_section(section)
        });
        pull.warnings.extend(unread);
        if let Some(state) = self.dependency {
            pull.depends_on = Some(PrKey::Number(3));
            let mut below = crate::sample::pull();
            below.id = PrId::number(below.id.repo, 3);
            below.state = state;
            forge.others = vec![below];
        }
        forge
    }
}

fn of_a_ruleset(kinds: &[BaseRuleKind]) -> Vec<BaseRule> {
    let source = RuleSource::Ruleset {
        id: 7,
        name: Some("main".to_owned()),
        owner: String::new(),
    };
    let of = |wants: &BaseRuleKind| BaseRule::new(wants.clone(), source.clone());
    kinds.iter().map(of).collect()
}

fn any_rules() -> impl Strategy<Value = Vec<BaseRuleKind>> {
    prop::collection::vec(
        prop::sample::select(vec![
            BaseRuleKind::Approvals { count: 2 },
            BaseRuleKind::CodeOwnerReview,
            BaseRuleKind::LastPushApproval,
            BaseRuleKind::ResolvedThreads,
            BaseRuleKind::Check {
                name: "0".to_owned(),
                app: None,
            },
            BaseRuleKind::UpToDate,
            BaseRuleKind::Signatures,
        ]),
        0..3,
    )
}

fn any_state() -> impl Strategy<Value = PrState> {
    prop::sample::select(vec![
        PrState::Open,
        PrState::Open,
        PrState::Open,
        PrState::Closed,
        PrState::Merged,
    ])
}

fn any_answers() -> impl Strategy<Value = Answers> {
    let merges = || {
        prop::sample::select(vec![
            MergeState::Mergeable,
            MergeState::Conflicting,
            MergeState::Unknown,
        ])
    };
    let words = vec!["CLEAN", "BLOCKED", "BEHIND", "UNKNOWN", "UNSTABLE", ""];
    let of_checks = prop::sample::select(vec![
        CheckStatus::Success,
        CheckStatus::Failure,
        CheckStatus::Pending,
    ]);
    let of_reviews = prop::sample::select(vec![
        ReviewState::Approved,
        ReviewState::ChangesRequested,
        ReviewState::Commented,
    ]);
    let lacking = prop::sample::subsequence(
        vec![
            Capability::Checks,
            Capability::ReviewVerdict,
            Capability::ThreadResolve,
            Capability::Links,
            Capability::IssueView,
        ],
        0..3,
    );
    let verdict = (
        any_state(),
        any::<bool>(),
        prop::sample::select(words),
        merges(),
        prop::option::of(merges()),
        prop::collection::vec(of_checks, 0..3),
        prop::collection::vec(any::<bool>(), 0..3),
        prop::collection::vec(of_reviews, 0..4),
    );
    let rules = (
        prop::option::of(any_rules()),
        any_rules(),
        any::<bool>(),
        prop::option::of(any_state()),
        prop::option::of(prop::sample::select(vec![
            "threads",
            "checks",
            "latest_reviews",
        ])),
    );
    let trouble = (
        prop::sample::subsequence(OPERATIONS.to_vec(), 0..4),
        any::<bool>(),
        prop::option::of(0_u64..200),
        lacking,
    );
    (verdict, rules, trouble).prop_map(|(verdict, rules, trouble)| Answers {
        state: verdict.0,
        draft: verdict.1,
        word: verdict.2,
        merges: verdict.3,
        settled: verdict.4,
        checks: verdict.5,
        threads: verdict.6,
        reviews: verdict.7,
        rules: rules.0,
        rulesets: rules.1,
        has_unread_rules: rules.2,
        dependency: rules.3,
        unread: rules.4,
        failing: trouble.0.into_iter().collect(),
        is_costly: trouble.1,
        remaining: trouble.2,
        lacking: trouble.3,
    })
}

fn any_include() -> impl Strategy<Value = Vec<ContextSection>> {
    prop::sample::subsequence(ContextSection::ALL.to_vec(), 0..=ContextSection::ALL.len())
}

proptest! {
    #[test]
    fn verdict_does_not_depend_on_included_sections(
        answers in any_answers(),
        include in any_include(),
        since in prop::option::of(Just("grace".to_owned())),
    ) {
        let (bare, _) = read(answers.forge(), &req(&[]));
        let wanted = ContextReq { since, ..req(&include) };
        let (found, _) = read(answers.forge(), &wanted);
        prop_assert_eq!(&found.readiness, &bare.readiness);
        let summary = |found: &PullContext| serde_json::to_value(&found.summary).unwrap();
        prop_assert_eq!(summary(&found), summary(&bare));
        // Sections that were not requested are absent.
        let wants = |section| include.contains(&section);
        prop_assert!(wants(ContextSection::Comments) || found.comments.is_none());
        prop_assert!(wants(ContextSection::Comments) || found.threads.is_none());
        prop_assert!(wants(ContextSection::Reviews) || found.reviews.is_none());
        prop_assert!(wants(ContextSection::Ci) || found.ci.is_none());
        prop_assert!(wants(ContextSection::CiLogs) || found.ci_logs.is_none());
        prop_assert!(wants(ContextSection::LinkedIssues) || found.linked_issues.is_none());
        prop_assert!(wants(ContextSection::RelatedPrs) || found.related_prs.is_none());
        prop_assert!(wants(ContextSection::Diff) || found.diff.is_none());
        prop_assert!(wants(ContextSection::Files) || found.files.is_none());
        prop_assert!(wants(ContextSection::History) || found.history.is_none());
        prop_assert!(wants(ContextSection::Source) || found.source.is_none());
        prop_assert_eq!(found.partial, !found.errors.is_empty());
    }

    #[test]
    fn equal_answers_give_equal_bundle_bytes(
        answers in any_answers(),
        include in any_include(),
    ) {
        let bytes = || {
            let (found, _) = read(answers.forge(), &req(&include));
            serde_json::to_vec(&found).unwrap()
        };
        prop_assert_eq!(bytes(), bytes());
    }
}
