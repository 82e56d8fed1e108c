//! Properties of moves and picks in git repositories, and of groups on the double of GitHub.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    RepoPath,
    model::{EditIssue, IssueId, IssueState, SetChange},
};
use forge_github_double::state::{Permission, PullState};
use forge_workflow::{ClaimRequest, Definition, Group, PickRequest};
use proptest::prelude::*;

use crate::{
    hub::{Hub, REPO},
    local::{Stage, child, in_state},
};

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
        states in prop::collection::vec(0_usize..12, 1..6), target in 0_usize..6, locks: bool,
    ) {
        let all = names();
        let definition = Definition::preset("ralph").unwrap();
        let place = |name: &str| all.iter().position(|n| n == name);
        let target = definition.states.iter().filter(|s| !s.aside && !s.lock).nth(target).unwrap();
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

/// Number of issues in a random graph.
const ISSUES: usize = 7;

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..config() })]

    #[test]
    fn random_graph_group_is_equal_for_all_issues(
        is_closed in prop::collection::vec(any::<bool>(), ISSUES),
        parents in prop::collection::vec(0..2 * ISSUES, ISSUES),
        blocks in prop::collection::btree_set((0..ISSUES, 0..ISSUES), 0..ISSUES),
    ) {
        const OTHER: &str = "octo/other";
        // Only an earlier issue is a parent, because GitHub refuses cycles of parents.
        let parents: BTreeMap<usize, usize> =
            parents.into_iter().enumerate().filter(|(n, parent)| parent < n).collect();
        let blocks: Vec<(usize, usize)> = blocks.into_iter().filter(|(a, b)| a != b).collect();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let hub = runtime.block_on(async { Hub::new() });
        let places: Vec<(&str, u64)> = {
            let mut seed = hub.double.seed();
            seed.repo_with_readme(OTHER);
            seed.collaborator(OTHER, "ada", Permission::Admin);
            let repos = [REPO, REPO, OTHER].into_iter().cycle().take(ISSUES);
            repos.map(|repo| (repo, seed.open_issue(repo, "ada", "Part", ""))).collect()
        };
        {
            let mut seed = hub.double.seed();
            for (place, is_closed) in places.iter().zip(&is_closed) {
                let id = seed.issue_of(place.0, place.1).id;
                let issue = seed.issues.get_mut(&id).unwrap();
                if *is_closed {
                    issue.state = PullState::Closed;
                    issue.closed_at = Some(issue.updated_at.clone());
                }
            }
            for (part, parent) in &parents {
                seed.sub_issue(places[*parent], places[*part]);
            }
            for (blocker, blocked) in &blocks {
                seed.blocked_by(places[*blocked], places[*blocker]);
            }
        }
        let ids: Vec<IssueId> = places.iter().map(|(repo, number)| {
            let mut id = hub.id(*number);
            if *repo == OTHER {
                id.repo.path = RepoPath::Named { owner: "octo".into(), name: "other".into() };
            }
            id
        }).collect();
        // The component of an issue is the smallest index that is reachable from the issue.
        let mut component: Vec<usize> = (0..ISSUES).collect();
        for _ in 0..ISSUES {
            let family = parents.iter().map(|(part, parent)| (*part, *parent));
            for (a, b) in family.chain(blocks.iter().copied()) {
                let low = component[a].min(component[b]);
                (component[a], component[b]) = (low, low);
            }
        }
        let is_container =
            |n: usize| parents.iter().any(|(part, parent)| *parent == n && !is_closed[*part]);
        runtime.block_on(async {
            let mut wholes: BTreeMap<usize, Group> = BTreeMap::new();
            for (id, of) in ids.iter().zip(&component) {
                let view = hub.flow.group(id).await.unwrap();
                assert!(view.warnings.is_empty() && !view.group.truncated, "{view:?}");
                let members: BTreeSet<String> =
                    view.group.members.iter().map(ToString::to_string).collect();
                let wanted: BTreeSet<String> = (0..ISSUES)
                    .filter(|n| component[*n] == *of && !is_container(*n))
                    .map(|n| ids[n].to_string())
                    .collect();
                assert_eq!(members, wanted, "from {id}");
                let whole = wholes.entry(*of).or_insert_with(|| view.group.clone());
                assert_eq!(*whole, view.group, "from {id}");
            }
        });
    }
}
