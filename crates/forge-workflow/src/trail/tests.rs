use forge_core::{
    ForgeKind, PrId, RepoId, RepoPath,
    model::{Actor, IssueId},
};
use proptest::prelude::*;

use super::*;

const LEASE: u64 = 100;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_unix(secs)
}

pub fn comment(key: usize, secs: i64, entry: &TrailEntry) -> Comment {
    let (author, body) = (Actor::new("ada"), entry.to_comment());
    let mut comment = Comment::new(key.to_string(), author, body, at(secs));
    comment.author_association = Some("MEMBER".to_owned());
    comment
}

fn trail(comments: &[Comment]) -> Trail {
    Trail::of(&issue(comments), &[])
}

pub fn issue(comments: &[Comment]) -> Issue {
    let id = IssueId::number(RepoId::local("/tools"), 1);
    let mut issue = Issue::new(id, "", Actor::new("ada"), at(0));
    issue.comments = Some(comments.to_vec());
    issue
}

pub fn claimed(id: &str, over: Option<(&str, i64)>) -> TrailEntry {
    TrailEntry {
        id: id.to_owned(),
        reason: None,
        event: TrailEvent::Claimed {
            holder: format!("holder of {id}"),
            lease_s: LEASE,
            command: "ralph_impl".to_owned(),
            from: None,
            renewed: None,
            renewing: None,
            over: over.map(|(claim, renewed)| ExpiredClaim {
                claim: claim.to_owned(),
                renewed_at: at(renewed),
            }),
            forced: None,
        },
    }
}

fn moved(id: &str, ends: Option<&str>, merge: Option<(&str, &str)>) -> TrailEntry {
    TrailEntry {
        id: id.to_owned(),
        reason: None,
        event: TrailEvent::Moved {
            from: None,
            to: "Done".to_owned(),
            command: "ralph_merge".to_owned(),
            intent: None,
            ends: ends.map(str::to_owned),
            merge: merge.map(|(pull, commit)| MergeRef {
                pull: pull.to_owned(),
                commit: commit.to_owned(),
            }),
        },
    }
}

fn holder(comments: &[Comment]) -> Option<String> {
    trail(comments).claim.map(|claim| claim.id)
}

#[test]
fn second_claim_loses_until_the_first_ends() {
    let mut all = vec![
        comment(1, 10, &claimed("a", None)),
        comment(2, 11, &claimed("b", None)),
    ];
    let found = trail(&all);
    assert_eq!(found.claim.as_ref().unwrap().id, "a");
    assert_eq!(found.claim.unwrap().comment, "1");
    assert_eq!(found.lost[0].id, "b");
    // An entry that ends a claim other than the current one has no effect.
    all.push(comment(3, 12, &moved("m", Some("b"), None)));
    assert_eq!(holder(&all).as_deref(), Some("a"));
    all.push(comment(4, 13, &moved("n", Some("a"), None)));
    assert_eq!(holder(&all), None);
    all.push(comment(5, 14, &claimed("c", None)));
    assert_eq!(holder(&all).as_deref(), Some("c"));
    assert_eq!(trail(&all).ids.len(), 5);
}

#[test]
fn reclaim_before_the_lease_ends_loses() {
    for (since, wins) in [(109, false), (110, true)] {
        let all = [
            comment(1, 10, &claimed("a", None)),
            comment(2, since, &claimed("b", Some(("a", 10)))),
        ];
        let wanted = if wins { "b" } else { "a" };
        assert_eq!(holder(&all).as_deref(), Some(wanted), "at {since}");
    }
    // An earlier timestamp gives a claim no priority.
    let all = [
        comment(1, 10, &claimed("a", None)),
        comment(2, 50, &claimed("b", Some(("a", -1_000)))),
    ];
    assert_eq!(holder(&all).as_deref(), Some("a"));
}

#[test]
fn renewal_keeps_the_claim_only_within_the_lease() {
    let renew = |before: Option<i64>, now: i64| {
        let mut entry = claimed("a", None);
        if let TrailEvent::Claimed { renewed, .. } = &mut entry.event {
            *renewed = before.map(at);
        }
        let mut first = comment(1, 10, &entry);
        first.updated_at = Some(at(now));
        first
    };
    let second = |since| comment(2, since, &claimed("b", Some(("a", 10))));
    for (first, since, wanted) in [
        (renew(None, 90), 110, "a"),
        (renew(None, 90), 190, "b"),
        (renew(None, 109), 110, "a"),
        // The renewal is late. It comes in the same second as, before, or after another holder's
        // claim.
        (renew(None, 110), 110, "b"),
        (renew(None, 111), 120, "b"),
        (renew(None, 130), 120, "b"),
        // The time of the renewal before the last one decides whether the last one was late.
        (renew(Some(90), 189), 120, "a"),
        (renew(Some(90), 190), 190, "b"),
        // A renewal before the claim or after the last change of its comment is ignored.
        (renew(Some(-500), 109), 115, "a"),
        (renew(Some(5_000), 300), 399, "a"),
        (renew(Some(5_000), 300), 400, "b"),
    ] {
        let all = [first, second(since)];
        assert_eq!(holder(&all).as_deref(), Some(wanted), "{since} {all:?}");
    }
    let late = trail(&[renew(None, 110)]).claim.unwrap();
    assert_eq!((late.is_late, late.renewed_at), (true, at(10)));
    let kept = trail(&[renew(None, 109)]).claim.unwrap();
    assert_eq!(
        (kept.is_late, kept.renewed_at, kept.since),
        (false, at(109), at(10))
    );
}

#[test]
fn forced_claim_replaces_the_named_claim() {
    let forced = |id: &str, of: &str| {
        let mut entry = claimed(id, None);
        if let TrailEvent::Claimed { forced, .. } = &mut entry.event {
            *forced = Some(of.to_owned());
        }
        entry
    };
    let all = [
        comment(1, 10, &claimed("a", None)),
        comment(2, 11, &forced("b", "a")),
        comment(3, 12, &forced("c", "a")),
    ];
    assert_eq!(holder(&all).as_deref(), Some("b"));
}

#[test]
fn entries_of_strangers_do_not_count() {
    for (role, counts) in [
        (Some("NONE"), false),
        (Some("CONTRIBUTOR"), false),
        (Some("FIRST_TIMER"), false),
        (Some("owner"), false),
        (Some(""), false),
        (Some("OWNER"), true),
        (Some("MEMBER"), true),
        (Some("COLLABORATOR"), true),
        (None, true),
    ] {
        let mut by = comment(1, 10, &claimed("a", None));
        by.author_association = role.map(str::to_owned);
        // There is no exception for comments of the viewer.
        by.viewer_did_author = true;
        assert_eq!(holder(&[by.clone()]).is_some(), counts, "{role:?}");
    }
}

#[test]
fn entries_of_a_named_app_are_accepted() {
    let mut by = comment(1, 10, &claimed("a", None));
    by.author.bot = true;
    for (login, bots, counts) in [
        ("github-actions", &["github-actions"][..], true),
        ("github-actions[bot]", &["github-actions"], true),
        ("agents", &["other", "Agents[bot]"], true),
        // A translator app repeats the text of a stranger.
        ("translator", &["github-actions"], false),
        ("github-actions", &[], false),
    ] {
        by.author.login = login.to_owned();
        for role in [None, Some("NONE"), Some("COLLABORATOR")] {
            by.author_association = role.map(str::to_owned);
            let bots: Vec<String> = bots.iter().map(|bot| (*bot).to_owned()).collect();
            let found = Trail::of(&issue(std::slice::from_ref(&by)), &bots);
            assert_eq!(found.claim.is_some(), counts, "{login} {bots:?} {role:?}");
        }
    }
    // A user whose login is the name of an app is not the app.
    by.author.bot = false;
    by.author.login = "github-actions".to_owned();
    by.author_association = Some("NONE".to_owned());
    assert_eq!(holder(&[by]), None);
}

#[test]
fn renewal_without_forge_time_uses_the_holders_clock() {
    let renewed = |last: i64, now: i64| {
        let mut entry = claimed("a", None);
        if let TrailEvent::Claimed {
            renewed, renewing, ..
        } = &mut entry.event
        {
            (*renewed, *renewing) = (Some(at(last)), Some(at(now)));
        }
        comment(1, 0, &entry)
    };
    let first = trail(&[renewed(0, 50)]).claim.unwrap();
    assert_eq!((first.renewed_at, first.is_late), (at(50), false));
    let second = trail(&[renewed(50, 100)]).claim.unwrap();
    assert_eq!((second.renewed_at, second.is_late), (at(100), false));
    // A renewal after the end of the lease has no effect, whoever has claimed the issue since then.
    let late = [
        renewed(0, LEASE as i64 + 5),
        comment(2, LEASE as i64 + 1, &claimed("b", Some(("a", 0)))),
    ];
    assert_eq!(holder(&late).as_deref(), Some("b"));
    // The renewal time from the forge takes precedence over the one from the holder's clock.
    let mut edited = renewed(0, 5_000);
    edited.updated_at = Some(at(10));
    let known = trail(&[edited]).claim.unwrap();
    assert_eq!((known.renewed_at, known.is_late), (at(10), false));
}

#[test]
fn repeated_id_has_no_effect() {
    let all = [
        comment(1, 10, &claimed("a", None)),
        comment(2, 11, &moved("a", Some("a"), None)),
        comment(3, 12, &claimed("a", None)),
    ];
    let found = trail(&all);
    assert_eq!(found.claim.unwrap().comment, "1");
    assert!(found.moves.is_empty() && found.lost.is_empty());
}

#[test]
fn extreme_lease_and_instant_do_not_overflow() {
    let mut entry = claimed("a", None);
    let TrailEvent::Claimed { lease_s, .. } = &mut entry.event else {
        panic!("a claim");
    };
    *lease_s = u64::MAX;
    let end: Timestamp = "9999-12-31T23:59:59-23:00".parse().unwrap();
    for (since, wanted) in [
        (at(0), at(7 * 24 * 3600)),
        (at(LAST_INSTANT), at(LAST_INSTANT)),
        (end, end),
    ] {
        let claim = Claim::made_by(&entry, since).unwrap();
        assert_eq!(claim.expires_at(), wanted, "{since}");
        assert!(claim.expires_at() >= claim.renewed_at);
        assert!(claim.is_expired(wanted));
    }
    assert!(!Claim::made_by(&entry, at(0)).unwrap().is_expired(at(1)));
    let none = Claim::made_by(&moved("m", None, None), at(0));
    assert_eq!(none, None);
}

#[test]
fn quoted_entry_is_ignored() {
    let entry = claimed("a", None);
    let body = entry.to_comment();
    assert_eq!(TrailEntry::parse(&body), Some(entry.clone()));
    assert_eq!(
        TrailEntry::parse(&format!("{}\r\n", body.replace('\n', "\r\n"))),
        Some(entry)
    );
    let marker = body.lines().last().unwrap();
    for wrong in [
        format!("Look:\n\n{body}"),
        format!("> {}", body.replace('\n', "\n> ")),
        format!("```\n{body}"),
        format!("```\n\n{marker}"),
        format!("{body}\n\nWhat is this?"),
        format!("**a**\n\n    {marker}"),
        format!("**a**\nb\n{marker}"),
        format!(" {body}"),
        marker.to_owned(),
        format!("\n\n{marker}"),
        body.replace(" -->", ""),
        body.replace("{\"id\"", "{\"ID\""),
    ] {
        assert_eq!(TrailEntry::parse(&wrong), None, "{wrong}");
    }
}

#[test]
fn merge_reference_without_commit_matches_same_pull() {
    let all = [comment(1, 10, &moved("m", None, Some(("x#1", "c1"))))];
    let found = trail(&all);
    let of = |pull: &str, commit: &str| {
        let merge = MergeRef {
            pull: pull.to_owned(),
            commit: commit.to_owned(),
        };
        found.moved_by(&merge).is_some()
    };
    assert!(of("x#1", "c1") && of("x#1", ""));
    assert!(!of("x#1", "c2") && !of("x#2", "c1") && !of("x#2", ""));
}

#[test]
fn merge_reference_of_local_pull_names_no_path() {
    let local = RepoId::local("/home/alice/tools");
    let here = MergeRef::new(&PrId::number(local, 1), "c1");
    assert_eq!(here.pull, "#1");
    // An entry of an older version has the path of another clone.
    let old = moved("m", None, Some(("file:///home/bob/tools#1", "c1")));
    assert!(trail(&[comment(1, 10, &old)]).moved_by(&here).is_some());
    let sentence = moved("m", None, Some(("#1", "c1"))).to_comment();
    assert!(sentence.contains("the merge of #1"), "{sentence}");
    let hosted = RepoId {
        kind: ForgeKind::GITHUB,
        host: "github.com".to_owned(),
        path: RepoPath::Named {
            owner: "octo".to_owned(),
            name: "tools".to_owned(),
        },
    };
    let hosted = PrId::number(hosted, 1);
    assert!(MergeRef::new(&hosted, "c1").pull.ends_with("octo/tools#1"));
}

#[test]
fn merge_reference_matches_after_repository_rename() {
    let pull = "github.com/octo/tools#1";
    let found = trail(&[comment(1, 10, &moved("m", None, Some((pull, "c1"))))]);
    let of = |pull: &str, commit: &str| {
        let merge = MergeRef {
            pull: pull.to_owned(),
            commit: commit.to_owned(),
        };
        found.moved_by(&merge).is_some()
    };
    assert!(of("github.com/Octo/Tools#1", "c1") && of("github.com/Octo/Tools#1", ""));
    assert!(of("github.com/octo/renamed#1", "c1") && !of("github.com/octo/renamed#1", ""));
    assert!(!of("github.com/octo/tools#2", "c1") && !of("github.com/octo/tools#1", "c2"));
}

#[test]
fn entry_id_is_unique_and_reason_one_line() {
    let event = moved("", None, None).event;
    let (one, two) = (
        TrailEntry::new(event.clone(), Some(" a\nb ")),
        TrailEntry::new(event, None),
    );
    assert_ne!(one.id, two.id);
    assert_eq!((one.id.len(), one.reason.as_deref()), (16, Some("a b")));
}

#[test]
fn entry_sentence_has_no_mentions_or_markup() {
    let mut entry = claimed("a", None);
    entry.reason = Some("<b> @ada `x` closes\n[y](z)".to_owned());
    let body = entry.to_comment();
    let sentence = body.lines().next().unwrap();
    assert_eq!(
        sentence,
        "Claimed by **holder of a** for ralph_impl, 2 min after the last renewal: b ada x closes y(z)"
    );
    let body = moved("m", None, Some(("x#1", ""))).to_comment();
    assert!(body.starts_with("**no state** → **Done** by the merge of x#1\n\n"));
    let body = moved("m", None, None).to_comment();
    assert!(body.starts_with("**no state** → **Done** by ralph_merge\n\n"));
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("-->".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n\r\n".to_owned()),
        Just("<!-- forge-workflow: {".to_owned()),
        Just("\u{2028}".to_owned()),
        Just(">".to_owned()),
        ".{0,12}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|parts| parts.concat())
}

/// An agent that shares an issue with other agents through a server. Their steps are interleaved.
#[derive(Clone, Debug, Default)]
struct Agent {
    skew: i64,
    /// The expired claim that the agent read before it wrote a claim.
    read: Option<Option<ExpiredClaim>>,
    /// The claim that was written but not read back.
    written: Option<String>,
    /// The claim that the agent believes to be current, with the last renewal that the agent knows
    /// of.
    holds: Option<(String, i64)>,
    /// The time of the last renewal, which the agent reads before it renews the lease.
    renewing: Option<Timestamp>,
    /// True from a renewal until the agent has read the trail back.
    unread: bool,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Pass(i64),
    Step(usize),
    Crash(usize),
    Finish(usize),
}

#[derive(Debug, Default)]
struct Server {
    clock: i64,
    keys: usize,
    comments: Vec<Comment>,
}

impl Server {
    fn write(&mut self, entry: &TrailEntry) {
        self.keys += 1;
        self.comments.push(comment(self.keys, self.clock, entry));
    }

    fn step(&mut self, agent: &mut Agent) {
        let found = trail(&self.comments);
        let is_mine = |id: &str| found.claim.as_ref().is_some_and(|claim| claim.id == id);
        if let Some((id, _)) = agent.holds.clone() {
            if agent.unread || agent.renewing.is_none() {
                let claim = found.claim.as_ref().filter(|claim| claim.id == id);
                agent.holds = claim.map(|claim| (id, claim.renewed_at.unix()));
                agent.renewing = claim.map(|claim| claim.renewed_at);
                if std::mem::take(&mut agent.unread) {
                    agent.renewing = None;
                }
            } else if let Some(last) = agent.renewing.take() {
                let is = |c: &&mut Comment| TrailEntry::parse(&c.body).is_some_and(|e| e.id == id);
                let Some(comment) = self.comments.iter_mut().find(is) else {
                    return;
                };
                let mut entry = TrailEntry::parse(&comment.body).unwrap();
                if let TrailEvent::Claimed { renewed, .. } = &mut entry.event {
                    *renewed = Some(last);
                }
                comment.body = entry.to_comment();
                comment.updated_at = Some(at(self.clock));
                agent.unread = true;
            }
        } else if let Some(id) = agent.written.take() {
            match is_mine(&id) {
                true => {
                    let renewed = found.claim.unwrap().renewed_at.unix();
                    agent.holds = Some((id, renewed));
                }
                // The comment of a claim that was ever current is kept, because a later claim may
                // name it as the expired claim that it replaces.
                false if found.lost.iter().any(|claim| claim.id == id) => {
                    self.comments.retain(|c| {
                        let entry = TrailEntry::parse(&c.body);
                        entry.is_none_or(|entry| entry.id != id)
                    });
                }
                false => {}
            }
        } else if let Some(over) = agent.read.take() {
            let mut entry = claimed(&format!("c{}", self.keys), None);
            if let TrailEvent::Claimed { over: field, .. } = &mut entry.event {
                *field = over;
            }
            self.write(&entry);
            agent.written = Some(entry.id);
        } else {
            agent.read = match found.claim {
                None => Some(None),
                Some(claim) => claim
                    .is_expired(at(self.clock + agent.skew))
                    .then_some(Some(ExpiredClaim {
                        claim: claim.id,
                        renewed_at: claim.renewed_at,
                    })),
            };
        }
    }
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (1_i64..130).prop_map(Act::Pass),
        12 => (0_usize..4).prop_map(Act::Step),
        1 => (0_usize..4).prop_map(Act::Crash),
        1 => (0_usize..4).prop_map(Act::Finish),
    ]
}

proptest! {
    #[test]
    fn entry_survives_the_comment_round_trip(
        holder in text(), command in text(), from in proptest::option::of(text()),
        reason in proptest::option::of(text()), id in text(), lease_s: u64, renewed: bool,
        over in proptest::option::of((text(), -9_000_000_i64..9_000_000)),
    ) {
        let event = TrailEvent::Claimed {
            holder: holder.clone(),
            lease_s,
            command: command.clone(),
            from: from.clone(),
            renewed: renewed.then(|| at(1)),
            renewing: renewed.then(|| at(2)),
            over: over.map(|(claim, secs)| ExpiredClaim { claim, renewed_at: at(secs) }),
            forced: from.clone(),
        };
        let claim = TrailEntry { id: id.clone(), reason: reason.clone(), event };
        prop_assert_eq!(TrailEntry::parse(&claim.to_comment()), Some(claim));
        let event = TrailEvent::Moved {
            from,
            to: holder.clone(),
            command,
            intent: reason.clone(),
            ends: Some(id.clone()),
            merge: Some(MergeRef { pull: holder, commit: id.clone() }),
        };
        let moved = TrailEntry { id, reason, event };
        prop_assert_eq!(TrailEntry::parse(&moved.to_comment()), Some(moved));
    }

    #[test]
    fn parse_of_any_text_does_not_panic(body in text(), json in ".{0,80}") {
        let _ = TrailEntry::parse(&body);
        let _ = TrailEntry::parse(&format!("**a**\n\n{MARK}{json}{MARK_END}"));
    }

    #[test]
    fn first_of_many_reclaims_wins(
        gaps in prop::collection::vec(0_i64..60, 2..8), lies in prop::collection::vec(-500_i64..500, 8),
    ) {
        let mut comments = vec![comment(0, 0, &claimed("a", None))];
        let mut now = 100;
        for (n, gap) in gaps.iter().enumerate() {
            now += gap;
            let renewed = lies.get(n).copied().unwrap_or_default().min(0);
            comments.push(comment(n + 1, now, &claimed(&format!("r{n}"), Some(("a", renewed)))));
        }
        // The first claim after the expired one wins, whatever the other entries contain.
        let found = trail(&comments);
        prop_assert_eq!(found.claim.unwrap().id, "r0");
        prop_assert_eq!(found.lost.len(), gaps.len() - 1);
    }

    #[test]
    fn strangers_do_not_change_the_trail(
        order in prop::collection::vec((0_usize..4, any::<bool>()), 1..12),
    ) {
        let entries = [
            claimed("a", None), claimed("b", Some(("a", 0))), moved("m", Some("a"), None),
            claimed("c", None),
        ];
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for (n, (entry, stranger)) in order.iter().enumerate() {
            let mut of = comment(n, 60 * n as i64, &entries[*entry]);
            if *stranger {
                of.author_association = Some("NONE".to_owned());
            } else {
                without.push(of.clone());
            }
            with.push(of);
        }
        prop_assert_eq!(trail(&with), trail(&without));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// By the server's clock, an issue has at most one holder with a running lease, even if clocks
    /// differ, agents crash, or answers come late.
    #[test]
    fn running_lease_has_at_most_one_holder(
        skews in prop::collection::vec(-600_i64..=600, 4), acts in prop::collection::vec(act(), 1..80),
    ) {
        let mut agents: Vec<Agent> =
            skews.iter().map(|skew| Agent { skew: *skew, ..Agent::default() }).collect();
        let mut server = Server { clock: 10_000, ..Server::default() };
        for (n, act) in acts.iter().enumerate() {
            match *act {
                Act::Pass(secs) => server.clock += secs,
                Act::Step(of) => server.step(&mut agents[of]),
                // The crashed agent's comments stay, and another process takes its place.
                Act::Crash(of) => agents[of] = Agent { skew: agents[of].skew, ..Agent::default() },
                Act::Finish(of) => {
                    if let Some((id, _)) = agents[of].holds.take() {
                        server.write(&moved(&format!("m{n}"), Some(&id), None));
                        agents[of] = Agent { skew: agents[of].skew, ..Agent::default() };
                    }
                }
            }
            let running = agents.iter().filter_map(|agent| agent.holds.as_ref());
            let running = running.filter(|(_, renewed)| server.clock < renewed + LEASE as i64);
            let running: Vec<_> = running.collect();
            prop_assert!(running.len() <= 1, "{n}: {running:?}\n{:#?}", server.comments);
        }
    }
}
