//! Properties of moves and picks, in git repositories.

use forge_core::model::{EditIssue, IssueState, SetChange};
use forge_workflow::{ClaimRequest, Definition, PickRequest};
use proptest::prelude::*;

use crate::local::{Stage, child, in_state};

fn names() -> Vec<String> {
    let definition = Definition::preset("ralph").unwrap();
    definition.states.into_iter().map(|s| s.name).collect()
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 10,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn advance_is_idempotent_and_never_moves_backwards(
        states in prop::collection::vec(0_usize..12, 1..6), target in 0_usize..9, locks: bool,
    ) {
        let all = names();
        let definition = Definition::preset("ralph").unwrap();
        let place = |name: &str| all.iter().position(|n| n == name);
        let target = definition.states.iter().filter(|s| !s.aside).nth(target).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let stage = Stage::new().await;
            let parent = stage.issue("Backlog").await;
            let mut before = Vec::new();
            for state in &states {
                let state = all.get(*state).map_or("", String::as_str);
                let id = stage.open(child(state, &parent)).await;
                before.push((id, state.to_owned()));
            }
            let first = stage.flow.advance(&parent, &target.name, locks, false).await.unwrap();
            assert!(first.errors.is_empty(), "{first:?}");
            assert_eq!(first.advanced.len() + first.skipped.len(), states.len());
            let again = stage.flow.advance(&parent, &target.name, locks, false).await.unwrap();
            assert!(again.advanced.is_empty() && again.errors.is_empty(), "{again:?}");
            for (id, was) in &before {
                let is = stage.state(id).await;
                let moved = first.advanced.iter().any(|a| a.id == *id);
                if moved {
                    assert_eq!(is, target.name);
                    assert!(place(was).is_none_or(|was| Some(was) < place(&is)), "{was} {is}");
                    let lock = definition.states.iter().any(|s| s.name == *was && s.lock);
                    assert!(locks || !lock, "{was}");
                } else {
                    assert_eq!(is, *was);
                }
            }
        });
    }

    #[test]
    fn pick_returns_no_claimed_blocked_or_closed_issue(
        rows in prop::collection::vec((0_u8..4, 0_usize..4, 0_usize..5), 1..8),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let stage = Stage::new().await;
            let blocker = stage.issue("In Progress").await;
            let mut free = 0;
            for (kind, priority, estimate) in &rows {
                let mut new = in_state("Backlog");
                let priority = ["P0", "P1", "P2", "P3"][*priority];
                let estimate = ["XS", "S", "M", "L", "XL"][*estimate];
                new.values.insert("Priority".to_owned(), priority.to_owned());
                new.values.insert("Estimate".to_owned(), estimate.to_owned());
                new.title = format!("{kind}");
                let id = stage.open(new).await;
                match kind {
                    0 => {
                        let req = ClaimRequest::new("triage");
                        stage.flow.claim(&id, &req).await.unwrap();
                    }
                    1 => {
                        let blocked_by = SetChange { add: vec![blocker.clone()], ..SetChange::default() };
                        let mut edit = EditIssue::default();
                        edit.blocked_by = blocked_by;
                        stage.repo.edit_issue(&id, &edit).await.unwrap();
                    }
                    2 => {
                        let mut edit = EditIssue::default();
                        edit.state = Some(IssueState::Closed);
                        stage.repo.edit_issue(&id, &edit).await.unwrap();
                    }
                    _ => free += 1,
                }
            }
            let mut request = PickRequest::of_state("Backlog");
            request.max_estimate = Some("XL");
            let picked = stage.flow.pick(&request).await.unwrap().pick;
            assert_eq!(picked.issue.is_some(), free > 0, "{picked:?}");
            if let Some(found) = picked.issue {
                assert_eq!(found.member.title, "3");
            }
        });
    }
}
