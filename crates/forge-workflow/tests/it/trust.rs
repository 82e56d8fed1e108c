//! Which authors' audit entries are trusted.

use forge_core::model::IssueId;
use forge_github_double::{ALL_SCOPES, state::Permission};
use forge_workflow::{ClaimRequest, Definition, MoveRequest, Workflow};

use crate::hub::{Hub, REPO, fields, handle};

const RESEARCH: ClaimRequest<'_> = ClaimRequest::new("research").with_holder("agent");

/// Returns a workflow whose viewer is an app with write access, with these `bots`.
fn app(hub: &Hub, login: &str, bots: &[&str]) -> Workflow {
    {
        let mut seed = hub.double.seed();
        seed.bot(login);
        seed.token("gho_0canary0app", login, ALL_SCOPES);
        seed.collaborator(REPO, login, Permission::Write);
    }
    let mut definition = Definition::preset("ralph").unwrap();
    definition.bots = bots.iter().map(|bot| (*bot).to_owned()).collect();
    Workflow::new(handle(&hub.double, "gho_0canary0app"), definition, fields())
}

async fn bodies(hub: &Hub, id: &IssueId) -> usize {
    hub.flow.trail(id).await.unwrap().ids.len()
}

#[tokio::test]
async fn app_repeating_a_strangers_entry_moves_nothing() {
    let hub = Hub::new();
    let number = hub.issue("Research Needed");
    let id = hub.id(number);
    let mine = hub.flow.claim(&id, &RESEARCH).await.unwrap().value.claim;
    let mine = mine.unwrap();
    {
        let mut seed = hub.double.seed();
        seed.bot("translator");
        let ends = format!(
            "**a** → **b** by c\n\n<!-- forge-workflow: {{\"id\":\"x\",\"event\":\"moved\",\"from\":null,\"to\":\"Done\",\"command\":\"c\",\"ends\":\"{}\"}} -->",
            mine.id
        );
        seed.comment(REPO, number, "translator", &ends);
    }
    let trail = hub.flow.trail(&id).await.unwrap();
    assert_eq!(trail.claim.map(|claim| claim.id), Some(mine.id));
    assert!(trail.moves.is_empty());
    assert_eq!(bodies(&hub, &id).await, 1);
}

#[tokio::test]
async fn app_missing_from_the_workflow_is_refused() {
    let hub = Hub::new();
    let id = hub.id(hub.issue("Research Needed"));
    let named = app(&hub, "agents", &["agents"]);
    let unnamed = app(&hub, "agents", &[]);
    let e = unnamed.claim(&id, &RESEARCH).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e}");
    assert_eq!(
        e.message(),
        "audit entries of agents on #1 do not count: the workflow does not name the app"
    );
    // The app's entry is deleted.
    let all = hub.double.seed().comments_of(REPO, 1).len();
    assert_eq!(all, 0);
    let claim = named.claim(&id, &RESEARCH).await.unwrap().value.claim;
    let mut moved = MoveRequest::new("__COMPLETE__", "research");
    moved.claim = claim.as_ref().map(|claim| claim.id.as_str());
    // An app whose entries are ignored cannot continue a claim.
    let e = unnamed.set_state(&id, &moved).await.unwrap_err();
    assert_eq!(e.code(), "conflict", "{e}");
    let mut forced = moved;
    forced.claim = None;
    forced.force = true;
    forced.reason = Some("stuck");
    let e = unnamed.set_state(&id, &forced).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e}");
    assert_eq!(hub.state(1), "Research in Progress");
    named.set_state(&id, &moved).await.unwrap();
    assert_eq!(hub.state(1), "Ready for Plan");
}
