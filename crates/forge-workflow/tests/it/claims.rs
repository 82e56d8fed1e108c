//! Claims in a ledger in memory, with each guarantee, differing clocks and lost answers.

use std::sync::Mutex;

use async_trait::async_trait;
use forge_core::{
    ErrorKind,
    model::{EditIssue, IssueId},
};
use forge_workflow::{
    ClaimGuarantee, ClaimRequest, IssueTrail, Ledger, MoveRequest, PickRequest, TrailEntry,
    TrailEvent, TrailSwap, Workflow,
};

use crate::{
    local::{Stage, child},
    memory::{Fault, MemoryLedger},
};

const ALL: [ClaimGuarantee; 3] = [
    ClaimGuarantee::Exclusive,
    ClaimGuarantee::Ordered,
    ClaimGuarantee::Advisory,
];

fn by(holder: &str) -> ClaimRequest<'_> {
    let mut req = ClaimRequest::new("triage").with_holder(holder);
    req.lease_s = Some(100);
    req
}

async fn claim(flow: &Workflow, id: &IssueId, holder: &str) -> Result<String, (String, String)> {
    match flow.claim(id, &by(holder)).await {
        Ok(done) => Ok(done.value.claim.unwrap().id),
        Err(e) => {
            assert_eq!(e.code(), "conflict", "{e}");
            let context = e.context().iter().find(|(key, _)| *key == "holder");
            Err((context.unwrap().1.clone(), e.message().to_owned()))
        }
    }
}

#[tokio::test]
async fn twenty_claimers_have_one_named_winner() {
    let stage = Stage::new().await;
    for promise in ALL {
        let ledger = MemoryLedger::new(promise);
        let id = stage.id(1);
        let names: Vec<String> = (0..20).map(|n| format!("agent-{n}")).collect();
        let flows: Vec<Workflow> = (0..20_i64)
            .map(|n| stage.flow_with(Box::new(ledger.with_skew((n - 10) * 60))))
            .collect();
        let all = flows
            .iter()
            .zip(&names)
            .map(|(flow, name)| claim(flow, &id, name));
        let results = futures::future::join_all(all).await;
        let won: Vec<usize> = (0..20).filter(|n| results[*n].is_ok()).collect();
        let [winner] = won.as_slice() else {
            panic!("{promise:?}: {won:?}");
        };
        for result in results.iter().filter_map(|r| r.as_ref().err()) {
            assert_eq!(result.0, names[*winner], "{promise:?}");
            assert!(
                result.1.starts_with("cannot claim #1: agent-"),
                "{}",
                result.1
            );
        }
        // The losing claims are withdrawn.
        assert_eq!(ledger.entries().len(), 1, "{promise:?}");
    }
}

#[tokio::test]
async fn claim_of_dead_holder_is_reclaimed_once() {
    let stage = Stage::new().await;
    for promise in ALL {
        let ledger = MemoryLedger::new(promise);
        let id = stage.id(1);
        let first = stage.flow_with(Box::new(ledger.clone()));
        let dead = claim(&first, &id, "dead").await.unwrap();
        ledger.pass(90);
        assert_eq!(claim(&first, &id, "early").await.unwrap_err().0, "dead");
        ledger.pass(10);
        let names: Vec<String> = (0..20).map(|n| format!("agent-{n}")).collect();
        let all = names.iter().map(|name| claim(&first, &id, name));
        let results = futures::future::join_all(all).await;
        let won: Vec<&String> = results.iter().flatten().collect();
        assert_eq!(won.len(), 1, "{promise:?}: {results:?}");
        // The next write of the holder who was thought dead is refused, and the error names the new
        // holder.
        let e = first.heartbeat(&id, &dead).await.unwrap_err();
        assert_eq!(e.code(), "conflict");
        assert!(e.message().contains("holds it now"), "{e}");
        let e = first.release(&id, &dead, None, None).await.unwrap_err();
        assert_eq!(e.code(), "conflict");
        assert!(first.heartbeat(&id, won[0]).await.is_ok());
    }
}

#[tokio::test]
async fn fast_clock_does_not_take_running_lease() {
    let stage = Stage::new().await;
    let ledger = MemoryLedger::new(ClaimGuarantee::Ordered);
    let id = stage.id(1);
    let held = stage.flow_with(Box::new(ledger.clone()));
    let fast = stage.flow_with(Box::new(ledger.with_skew(600)));
    let slow = stage.flow_with(Box::new(ledger.with_skew(-600)));
    let mine = claim(&held, &id, "holder").await.unwrap();
    ledger.pass(50);
    for flow in [&fast, &slow] {
        assert_eq!(claim(flow, &id, "other").await.unwrap_err().0, "holder");
    }
    // A renewal extends the lease for every reader.
    held.heartbeat(&id, &mine).await.unwrap();
    ledger.pass(60);
    assert_eq!(claim(&fast, &id, "other").await.unwrap_err().0, "holder");
    ledger.pass(40);
    // A slow clock waits longer than necessary.
    assert_eq!(claim(&slow, &id, "other").await.unwrap_err().0, "holder");
    assert!(claim(&fast, &id, "other").await.is_ok());
    assert_eq!(
        held.trail(&id).await.unwrap().claim.unwrap().holder,
        "other"
    );
}

/// A ledger in which another holder claims between read and write.
#[derive(Debug)]
struct Late {
    inner: MemoryLedger,
    first: Mutex<Option<Workflow>>,
}

#[async_trait]
impl Ledger for Late {
    fn promise(&self) -> ClaimGuarantee {
        self.inner.promise()
    }

    async fn read(&self, issue: &IssueId) -> forge_core::Result<IssueTrail> {
        self.inner.read(issue).await
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> forge_core::Result<TrailSwap> {
        let first = self.first.lock().unwrap().take();
        if let Some(first) = first {
            claim(&first, &sheet.issue.id, "first").await.unwrap();
        }
        self.inner.swap(sheet, edit, entry).await
    }

    async fn renew(
        &self,
        sheet: &IssueTrail,
        comment: &str,
        entry: &TrailEntry,
    ) -> forge_core::Result<TrailSwap> {
        self.inner.renew(sheet, comment, entry).await
    }

    async fn withdraw(&self, sheet: &IssueTrail, entry: &TrailEntry) -> forge_core::Result<()> {
        self.inner.withdraw(sheet, entry).await
    }
}

#[tokio::test]
async fn advisory_race_follows_clocks_and_is_reported() {
    let stage = Stage::new().await;
    let id = stage.id(1);
    for skew in [-600, 0, 600] {
        let ledger = MemoryLedger::new(ClaimGuarantee::Advisory);
        let first = || stage.flow_with(Box::new(ledger.clone()));
        let second = stage.flow_with(Box::new(Late {
            inner: ledger.with_skew(skew),
            first: Mutex::new(Some(first())),
        }));
        let result = second.claim(&id, &by("second")).await;
        let holder = first().trail(&id).await.unwrap().claim.unwrap().holder;
        if skew >= 0 {
            let e = result.unwrap_err();
            assert!(e.message().contains("first holds it"), "{skew}: {e}");
            assert_eq!(holder, "first", "{skew}");
            continue;
        }
        // The claim by the slow clock has the earlier time. The winner gets a warning about the
        // race, and the next write of the loser fails.
        let warnings = result.unwrap().warnings;
        let told = warnings.iter().any(|w| {
            let race = "first claimed #1 at the same time";
            w.message.starts_with(race)
        });
        assert!(told, "{warnings:?}");
        assert_eq!(holder, "second");
        let entries = ledger.entries();
        let mine = entries
            .iter()
            .find(|e| matches!(&e.event, TrailEvent::Claimed { holder, .. } if holder == "first"));
        let e = first().heartbeat(&id, &mine.unwrap().id).await.unwrap_err();
        assert!(e.message().contains("second holds it now"), "{e}");
    }
}

#[tokio::test]
async fn heartbeat_after_the_lease_is_refused() {
    let stage = Stage::new().await;
    for promise in ALL {
        let ledger = MemoryLedger::new(promise);
        let id = stage.id(1);
        let flow = stage.flow_with(Box::new(ledger.clone()));
        let mine = claim(&flow, &id, "holder").await.unwrap();
        for _ in 0..3 {
            ledger.pass(60);
            let renewed = flow.heartbeat(&id, &mine).await.unwrap().value;
            assert_eq!(renewed.id, mine);
            assert!(renewed.renewed_at > renewed.since);
        }
        ledger.pass(101);
        let e = flow.heartbeat(&id, &mine).await.unwrap_err();
        assert!(e.message().ends_with("is over: nobody holds it now"), "{e}");
        assert!(claim(&flow, &id, "holder").await.is_ok());
    }
}

#[tokio::test]
async fn lost_answer_of_a_claim_is_read_back() {
    let stage = Stage::new().await;
    for promise in ALL {
        let ledger = MemoryLedger::new(promise);
        let id = stage.id(1);
        let flow = stage.flow_with(Box::new(ledger.clone()));
        ledger.fail(&[Fault::After]);
        let mine = claim(&flow, &id, "holder").await.unwrap();
        assert_eq!(flow.trail(&id).await.unwrap().claim.unwrap().id, mine);
        assert_eq!(claim(&flow, &id, "other").await.unwrap_err().0, "holder");
        flow.release(&id, &mine, Some("Backlog"), None)
            .await
            .unwrap();
        ledger.fail(&[Fault::Before]);
        let e = flow.claim(&id, &by("holder")).await.unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Internal), "{e}");
        assert_eq!(flow.trail(&id).await.unwrap().claim, None);
    }
}

#[tokio::test]
async fn force_needs_a_reason_and_takes_the_claim() {
    let stage = Stage::new().await;
    for promise in ALL {
        let ledger = MemoryLedger::new(promise);
        let id = stage.id(1);
        let flow = stage.flow_with(Box::new(ledger.clone()));
        let first = claim(&flow, &id, "first").await.unwrap();
        let mut req = by("second");
        req.force = true;
        let e = flow.claim(&id, &req).await.unwrap_err();
        assert_eq!(e.message(), "force needs a reason, and there is none");
        req.reason = Some("the first is gone");
        let taken = flow.claim(&id, &req).await.unwrap().value.claim.unwrap();
        assert_eq!((taken.holder.as_str(), taken.lease_s), ("second", 100));
        assert_eq!(
            flow.heartbeat(&id, &first).await.unwrap_err().code(),
            "conflict"
        );
        let last = ledger.entries().pop().unwrap();
        assert_eq!(last.reason.as_deref(), Some("the first is gone"));
        assert!(
            matches!(&last.event, TrailEvent::Claimed { forced: Some(of), .. } if *of == first)
        );
    }
}

#[tokio::test]
async fn advance_and_pick_use_only_the_ledger() {
    let stage = Stage::new().await;
    let parent = stage.issue("").await;
    let part = stage.open(child("Backlog", &parent)).await;
    for promise in ALL {
        let ledger = MemoryLedger::new(promise);
        let flow = stage.flow_with(Box::new(ledger.clone()));
        let report = flow.advance(&parent, "In Review", false, false).await;
        let report = report.unwrap();
        assert_eq!(report.advanced.len(), 1, "{promise:?}: {report:?}");
        let entries = ledger.entries();
        let moved = entries.first().map(|entry| &entry.event);
        assert!(matches!(moved, Some(TrailEvent::Moved { to, .. }) if to == "In Review"));
        let comments = stage.read(&part).await.comments;
        assert!(comments.unwrap().is_empty(), "{promise:?}");
        // An issue without comments may still have a claim in the ledger.
        claim(&flow, &part, "holder").await.unwrap();
        let request = PickRequest::of_state("Backlog");
        let picked = flow.pick(&request).await.unwrap().pick;
        assert_eq!(picked.issue, None, "{promise:?}");
        let skipped = (part.clone(), "holder works on it".to_owned());
        assert_eq!(picked.skipped, [skipped], "{promise:?}");
    }
}

#[tokio::test]
async fn out_of_range_lease_is_refused_before_reading() {
    let stage = Stage::new().await;
    let flow = stage.flow_with(Box::new(MemoryLedger::new(ClaimGuarantee::Ordered)));
    for lease in [0, 7 * 24 * 3600 + 1, u64::MAX] {
        let mut req = by("a");
        req.lease_s = Some(lease);
        let e = flow.claim(&stage.id(1), &req).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains("1 to 604800 seconds"), "{e}");
    }
    let mut req = by("a");
    req.command = "nonsense";
    let e = flow.claim(&stage.id(1), &req).await.unwrap_err();
    assert!(e.message().contains("nonsense"), "{e}");
}

#[tokio::test]
async fn unindexed_claim_reports_an_unmoved_issue() {
    let stage = Stage::new().await;
    let ledger = MemoryLedger::new(ClaimGuarantee::Advisory);
    ledger.fail(&[Fault::Unseen]);
    let flow = stage.flow_with(Box::new(ledger));
    let done = flow.claim(&stage.id(1), &by("ada")).await.unwrap();
    assert!(!done.value.moved);
    let said = done.warnings.iter().map(|w| w.message.as_str());
    let said = said.collect::<Vec<_>>().join("\n");
    assert!(said.contains("#1 did not move"), "{said}");
}

#[tokio::test]
async fn unindexed_moves_and_renewals_report_no_change() {
    let stage = Stage::new().await;
    let parent = stage.issue("").await;
    let part = stage.open(child("Backlog", &parent)).await;
    let ledger = MemoryLedger::new(ClaimGuarantee::Advisory);
    let flow = stage.flow_with(Box::new(ledger.clone()));
    let triage = MoveRequest::new("Research Needed", "triage");
    ledger.fail(&[Fault::Unseen]);
    let done = flow.set_state(&part, &triage).await.unwrap();
    assert!(!done.value.moved);
    let why = "#2 did not move: its record is stored, but no index shows it";
    assert_eq!(done.warnings[0].message, why);
    ledger.fail(&[Fault::Unseen]);
    let report = flow.advance(&parent, "In Review", false, false).await;
    let report = report.unwrap();
    assert!(report.advanced.is_empty(), "{report:?}");
    assert_eq!(report.errors[0].id, part);
    let why = "Failed to update: its record is stored, but no index shows it";
    assert_eq!(report.errors[0].error, why);
    let hint = report.errors[0].hint.text();
    assert!(hint.starts_with("retry advance, or move only #2"), "{hint}");
    let mine = claim(&flow, &part, "holder").await.unwrap();
    ledger.fail(&[Fault::Unseen]);
    let renewed = flow.heartbeat(&part, &mine).await.unwrap();
    let why = "the lease on #2 is not renewed: ";
    assert!(renewed.warnings[0].message.starts_with(why), "{renewed:?}");
    ledger.fail(&[Fault::Unseen]);
    let released = flow.release(&part, &mine, Some("Backlog"), None).await;
    assert!(!released.unwrap().value.moved);
}

/// Without the clock of a server, a holder with a fast clock can take an issue whose lease has not
/// ended, and the next write of the earlier holder fails. A slow clock takes nothing.
#[tokio::test]
async fn takeover_by_fast_clock_is_reported_to_holder() {
    let stage = Stage::new().await;
    let ledger = MemoryLedger::new(ClaimGuarantee::Advisory);
    let id = stage.id(1);
    let held = stage.flow_with(Box::new(ledger.clone()));
    let mine = claim(&held, &id, "holder").await.unwrap();
    ledger.pass(50);
    let slow = stage.flow_with(Box::new(ledger.with_skew(-600)));
    assert_eq!(claim(&slow, &id, "slow").await.unwrap_err().0, "holder");
    let fast = stage.flow_with(Box::new(ledger.with_skew(600)));
    claim(&fast, &id, "fast").await.unwrap();
    let e = held.heartbeat(&id, &mine).await.unwrap_err();
    assert_eq!(e.code(), "conflict");
    assert!(e.message().ends_with("is over: fast holds it now"), "{e}");
}
