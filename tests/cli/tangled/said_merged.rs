//! Tests pull requests that only a status record reports as merged.

use serde_json::json;

use super::world::{STATUS, Tangled, says};

#[test]
fn unproven_merge_claim_is_a_warning() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let head = t.repo.git.oid("topic");
    let status = json!({
        "pull": uri, "status": format!("{STATUS}.merged"), "createdAt": "2036-01-01T00:00:00Z",
    });
    t.world.pds().add(&t.bob.did, STATUS, status);
    let view = ["pr", "view", &uri, "--json", "state", "-q", ".state"];
    let view = t.forge(&t.alice, &view).output().exits(0);
    assert_eq!(view.stdout_text(), "MERGED\n");
    let said = view.stderr_text();
    let word = "warning: a status record of bob.test (collaborator) says that the pull request is \
                merged; ";
    assert!(said.contains(word), "{said}");
    let not_there = "is merged, and 'main' does not show the change";
    let look = ["pr", "view", &uri, "--json", "mergeable"];
    says(&t.forge(&t.alice, &look), 0, not_there);

    let with_branch = ["pr", "merge", &uri, "--rebase", "-d"];
    let refused = t.forge(&t.alice, &with_branch).output().exits(1);
    let said = refused.stderr_text();
    assert!(
        said.contains(&format!("{not_there}; nothing was merged")),
        "{said}"
    );
    assert!(said.contains(&format!("forge pr reopen {uri}")), "{said}");
    assert!(!said.contains("already"), "{said}");
    assert_eq!(t.repo.git.oid("topic"), head);

    says(&t.forge(&t.alice, &["pr", "reopen", &uri]), 0, not_there);
    let merge = ["pr", "merge", &uri, "--rebase"];
    says(&t.forge(&t.alice, &merge), 0, "confirmed: ");
    assert!(t.repo.git.log("main", "%s").starts_with("Add topic\n"));
    let looked = t.forge(&t.alice, &look).output().exits(0);
    let said = looked.stderr_text();
    assert!(
        said.contains("has a creation time in the future ("),
        "{said}"
    );
    says(&t.forge(&t.alice, &merge), 0, "was already merged");
}
