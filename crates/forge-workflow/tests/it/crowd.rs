//! Many concurrent claims on one issue in a git repository.

use std::sync::Arc;

use forge_workflow::{ClaimRequest, MoveRequest};

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
}
