//! Many concurrent claims on one issue in a git repository.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use forge_core::{
    Result,
    model::{EditIssue, IssueId},
};
use forge_workflow::{
    ClaimGuarantee, ClaimRequest, CommentLedger, IssueTrail, Ledger, MoveRequest, TrailEntry,
    TrailEvent, TrailSwap, Workflow,
};

use crate::local::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_claimers_in_a_repository_have_one_winner() {
    let stage = Arc::new(Stage::new().await);
    let id = stage.issue("Research Needed").await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        let (stage, id) = (stage.clone(), id.clone());
        tasks.spawn(async move {
            let name = format!("agent-{n:02}");
            let req = ClaimRequest::new("research").with_holder(&name);
            (stage.flow.claim(&id, &req).await, name.clone())
        });
    }
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    while let Some(done) = tasks.join_next().await {
        match done.unwrap() {
            (Ok(done), name) => won.push((name, done.value.claim.unwrap())),
            (Err(e), _) => lost.push(e),
        }
    }
    let [(winner, claim)] = won.as_slice() else {
        panic!("{won:?}");
    };
    for e in &lost {
        assert_eq!(e.code(), "conflict", "{e}");
        assert!(e.message().contains(&format!("{winner} holds it")), "{e}");
    }
    assert_eq!(lost.len(), 19);
    // Claim and move are one commit.
    assert_eq!(stage.events(1), 3);
    assert_eq!(stage.state(&id).await, "Research in Progress");
    let mut moved = MoveRequest::new("__COMPLETE__", "research");
    moved.claim = Some(&claim.id);
    stage.flow.set_state(&id, &moved).await.unwrap();
}

#[tokio::test]
async fn expired_claim_is_reclaimed_and_stale_holder_refused() {
    let stage = Stage::new().await;
    let id = stage.issue("Research Needed").await;
    let by = |holder, lease_s| {
        let mut req = ClaimRequest::new("research").with_holder(holder);
        req.lease_s = Some(lease_s);
        req
    };
    let dead = stage
        .flow
        .claim(&id, &by("dead", 1))
        .await
        .unwrap()
        .value
        .claim
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(2_100)).await;
    let (one, other) = (by("one", 60), by("other", 60));
    let (one, other) = tokio::join!(stage.flow.claim(&id, &one), stage.flow.claim(&id, &other));
    assert_eq!(
        usize::from(one.is_ok()) + usize::from(other.is_ok()),
        1,
        "{one:?} {other:?}"
    );
    let mut stale = MoveRequest::new("__COMPLETE__", "research");
    stale.claim = Some(&dead.id);
    let e = stage.flow.set_state(&id, &stale).await.unwrap_err();
    assert_eq!(e.code(), "conflict");
    assert!(
        e.message()
            .contains(&format!("the claim {} on #1 is over", dead.id)),
        "{e}"
    );
    assert_eq!(stage.state(&id).await, "Research in Progress");
    // The issue goes back to the state before the first claim.
    let winner = one.or(other).unwrap().value.claim.unwrap();
    let released = stage.flow.release(&id, &winner.id, None, None).await;
    assert_eq!(released.unwrap().value.new_state, "Research Needed");
}

#[tokio::test]
async fn forced_claim_release_restores_original_state() {
    let stage = Stage::new().await;
    let id = stage.issue("Research Needed").await;
    for holder in ["ada", "bob", "carol"] {
        let mut req = ClaimRequest::new("research").with_holder(holder);
        (req.force, req.reason) = (holder != "ada", Some("urgent"));
        let claimed = stage.flow.claim(&id, &req).await.unwrap().value;
        if holder == "carol" {
            assert_eq!(claimed.previous_state, "Research in Progress");
            let claim = claimed.claim.unwrap().id;
            let released = stage.flow.release(&id, &claim, None, None).await;
            assert_eq!(released.unwrap().value.new_state, "Research Needed");
        }
    }
    assert_eq!(stage.state(&id).await, "Research Needed");
}

/// A ledger in which another writer changes the issue after the second read.
#[derive(Debug)]
struct Interrupted {
    inner: CommentLedger,
    other: Workflow,
    /// True if the other writer takes the claim away, false if that writer comments.
    forces: bool,
    reads: AtomicUsize,
}

#[async_trait]
impl Ledger for Interrupted {
    fn promise(&self) -> ClaimGuarantee {
        self.inner.promise()
    }

    async fn read(&self, issue: &IssueId) -> Result<IssueTrail> {
        let sheet = self.inner.read(issue).await?;
        match (self.reads.fetch_add(1, Ordering::Relaxed), self.forces) {
            (1, true) => {
                let mut req = ClaimRequest::new("research").with_holder("grace");
                req.force = true;
                req.reason = Some("urgent");
                drop(self.other.claim(issue, &req).await?);
            }
            (1, false) => drop(
                self.other
                    .repo()
                    .create_issue_comment(issue, "Seen.")
                    .await?,
            ),
            _ => {}
        }
        Ok(sheet)
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        self.inner.swap(sheet, edit, entry).await
    }

    async fn renew(
        &self,
        sheet: &IssueTrail,
        comment: &str,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        self.inner.renew(sheet, comment, entry).await
    }

    async fn withdraw(&self, sheet: &IssueTrail, entry: &TrailEntry) -> Result<()> {
        self.inner.withdraw(sheet, entry).await
    }
}

#[tokio::test]
async fn takeover_moves_issue_only_while_claimed() {
    for forces in [false, true] {
        let stage = Stage::new().await;
        let id = stage.issue("Research Needed").await;
        let ledger = || CommentLedger::new(stage.repo.clone(), None);
        // A lease of 0 seconds expires at once.
        let event = TrailEvent::Claimed {
            holder: "dead".to_owned(),
            lease_s: 0,
            command: "ralph_research".to_owned(),
            from: None,
            renewed: None,
            renewing: None,
            over: None,
            forced: None,
        };
        let sheet = ledger().read(&id).await.unwrap();
        let dead = TrailEntry::new(event, None);
        let written = ledger().swap(&sheet, EditIssue::default(), &dead).await;
        assert!(matches!(written.unwrap(), TrailSwap::Written(_)));
        let flow = stage.flow_with(Box::new(Interrupted {
            inner: ledger(),
            other: stage.flow_with(Box::new(ledger())),
            forces,
            reads: AtomicUsize::new(0),
        }));
        let req = ClaimRequest::new("research").with_holder("one");
        let claimed = flow.claim(&id, &req).await;
        let holder = flow.trail(&id).await.unwrap().claim.unwrap().holder;
        if forces {
            let e = claimed.unwrap_err();
            assert_eq!(e.code(), "conflict", "{e}");
            assert!(e.message().ends_with("is over: grace holds it now"), "{e}");
            assert_eq!(holder, "grace");
        } else {
            assert!(claimed.unwrap().value.moved);
            assert_eq!(holder, "one");
        }
        assert_eq!(stage.state(&id).await, "Research in Progress");
    }
}
