//! Creates repositories of Tangled 1.0 for tests that write tickets.

use forge_core::{
    PullRequests, RepoId,
    model::{CreatePull, PullRequest},
};
use forge_tangled::Tangled;
use forge_tangled_world::Repository;
use serde_json::{Value, json};

use crate::stage::Stage;

pub const TICKET: &str = "org.tangled.track.ticket";

/// Creates a repository with the branch `topic`.
pub fn ground(stage: &Stage) -> (Repository, RepoId) {
    let (repo, id) = stage.repo_1_0();
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    (repo, id)
}

/// Creates a repository with labels, learned from an existing ticket.
pub fn labelled_ground(stage: &Stage, labels: &[&str]) -> (Repository, RepoId) {
    let (repo, id) = ground(stage);
    let tokens: Vec<Value> = labels.iter().map(|key| json!({ "key": key })).collect();
    let labelled = json!({
        "title": {"text": "Labelled"}, "state": "open", "targetBranch": "other",
        "tangledLabels": tokens, "createdAt": "2026-11-01T00:00:00Z",
    });
    let knot = stage.world.knot();
    knot.put_record(&repo.did, TICKET, "3mkuuamwfj322", labelled);
    (repo, id)
}

/// Opens the pull request `One` from `topic`.
pub async fn opened(forge: &Tangled, repo: &RepoId) -> PullRequest {
    let made = forge.create(repo, &CreatePull::new("topic", "One")).await;
    made.unwrap().value
}

pub fn record(stage: &Stage, repo: &Repository, uri: &str) -> Value {
    let all = stage.world.knot().records(&repo.did, TICKET);
    all.into_iter().find(|(it, ..)| it == uri).unwrap().2
}
