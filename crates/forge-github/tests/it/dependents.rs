//! Open pull requests whose base is a head branch that is deleted: GitHub would close them.

use forge_core::{
    PrId, PrKey,
    model::{CloseReq, HeadRef, MergeReq, PrFields, PrState, StateFilter},
};
use forge_github_double::{Fault, PullSeed};
use serde_json::{Value, json};

use crate::{
    double::World,
    merge::{merged, ready},
    script::{Script, answer, body, data, error},
    wire::{nodes, page},
};

const REPO: &str = "octo/tools";

/// Returns a world with a pull request of `feature`, and two that are based on this branch.
fn stacked() -> (World, PrId, [PrId; 2]) {
    let world = World::new();
    let mut seed = world.double.seed();
    let lower = PullSeed {
        author: "ada",
        title: "Title",
        head: "feature",
        ..PullSeed::default()
    };
    let lower = seed.open_pull(REPO, &lower);
    let upper = ["one", "two"].map(|head| {
        let file = format!("{head}.txt");
        seed.commit(REPO, head, &[(file.as_str(), Some("1\n"))], "Add");
        let pull = PullSeed {
            author: "ada",
            title: "Title",
            head,
            base: "feature",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull)
    });
    drop(seed);
    let id = |number| world.ada.pull_id(number);
    let (lower, upper) = (id(lower), upper.map(id));
    (world, lower, upper)
}

fn with_deletion() -> MergeReq {
    let mut req = MergeReq::default();
    req.delete_branch = true;
    req
}

async fn state_and_base(world: &World, pr: &PrId) -> (PrState, String) {
    let pull = world.ada.pull(pr, PrFields::ROW).await.unwrap();
    (pull.state, pull.base_branch)
}

#[tokio::test]
async fn merge_gives_dependents_its_base_before_deletion() {
    let (world, lower, upper) = stacked();
    world.ada.mergeability(&lower).await.unwrap();
    world.double.reset_record();
    let done = world.ada.merge(&lower, &with_deletion()).await.unwrap();
    // Read, merge, give another base, delete.
    assert_eq!(world.double.counts().api, 4);
    assert!(
        done.value.branch_deleted && done.warnings.is_empty(),
        "{done:?}"
    );
    let steps: Vec<&str> = done.steps.iter().map(|step| step.name.as_str()).collect();
    let [one, two] = upper
        .clone()
        .map(|pr| format!("give #{} the base branch 'main'", pr.key));
    assert_eq!(steps, ["merge", &one, &two, "delete head branch"]);
    for pr in &upper {
        let wanted = (PrState::Open, "main".to_owned());
        assert_eq!(state_and_base(&world, pr).await, wanted);
    }
}

#[tokio::test]
async fn merge_by_branch_name_spares_dependents() {
    let (world, lower, upper) = stacked();
    world.ada.mergeability(&lower).await.unwrap();
    let head = HeadRef::branch("feature");
    let fields = PrFields::TO_CHANGE | PrFields::TO_MERGE;
    let found = world
        .ada
        .find(&head, StateFilter::Open, fields)
        .await
        .unwrap()
        .pulls;
    world.double.reset_record();
    let done = world
        .ada
        .merge(&found[0].id, &with_deletion())
        .await
        .unwrap();
    assert_eq!(world.double.counts().api, 3);
    assert!(done.value.branch_deleted);
    assert_eq!(state_and_base(&world, &upper[1]).await.0, PrState::Open);
}

#[tokio::test]
async fn dependents_that_keep_their_base_keep_the_branch() {
    let (world, lower, upper) = stacked();
    let refused = json!({ "data": { "d0": null, "d1": null }, "errors": [
        { "type": "UNPROCESSABLE", "path": ["d0"], "message": "The moon is full" },
        { "type": "UNPROCESSABLE", "path": ["d1"], "message": "The moon is full" },
    ]});
    let kind = [("content-type", "application/json; charset=utf-8")];
    let fault = Fault::answer(200, &kind, refused.to_string());
    world.double.fault(fault.on_operation("updatePullRequest"));
    let done = world.ada.merge(&lower, &with_deletion()).await.unwrap();
    assert_eq!(done.value.pull_request.state, PrState::Merged);
    assert!(!done.value.branch_deleted);
    let told: Vec<&str> = done.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains("The moon is full"), "{told:?}");
    assert!(told[2].contains("head branch was kept"), "{told:?}");
    for pr in &upper {
        let wanted = (PrState::Open, "feature".to_owned());
        assert_eq!(state_and_base(&world, pr).await, wanted);
    }
    // A later call finishes what is left.
    let mut req = with_deletion();
    req.only_left_over = true;
    let done = world.ada.merge(&lower, &req).await.unwrap();
    assert!(done.value.branch_deleted, "{done:?}");
    assert_eq!(state_and_base(&world, &upper[0]).await.1, "main");
}

#[tokio::test]
async fn close_with_deletion_is_refused_for_dependents() {
    let (world, lower, upper) = stacked();
    let mut req = CloseReq::default();
    req.delete_branch = true;
    world.double.reset_record();
    let refused = world.ada.close(&lower, &req).await.unwrap_err();
    assert_eq!(world.double.counts().api, 1);
    let names = upper.clone().map(|pr| format!("#{}", pr.key));
    for name in &names {
        assert!(refused.message().contains(name.as_str()), "{refused}");
    }
    assert!(refused.hint().is_some());
    for pr in [&lower, &upper[0], &upper[1]] {
        assert_eq!(state_and_base(&world, pr).await.0, PrState::Open);
    }
    // Without the deletion, nothing speaks against it. The branch of a closed one is kept, too.
    world.ada.close(&lower, &CloseReq::default()).await.unwrap();
    let kept = world.ada.close(&lower, &req).await.unwrap();
    assert!(
        kept.warnings
            .iter()
            .any(|w| w.message.contains("was not deleted")),
        "{kept:?}"
    );
    assert_eq!(state_and_base(&world, &upper[0]).await.0, PrState::Open);
}

fn merge_step() -> crate::script::Step {
    data(
        "mergePullRequest",
        json!({ "merge": { "pullRequest": merged() } }),
    )
}

fn open(number: u64, base: &str) -> Value {
    json!({ "id": format!("PR_{number}"), "number": number, "baseRefName": base })
}

#[tokio::test]
async fn long_list_of_open_pulls_is_read_by_base() {
    let all = json!({ "openPulls": page(vec![open(8, "main")], "c1") });
    let of_base = nodes(vec![open(9, "feature"), open(8, "main")]);
    let upper = crate::wire::changed(9, json!({ "baseRefName": "main", "headRefName": "one" }));
    let moved = json!({ "d0": { "pullRequest": upper } });
    let script = Script::play(vec![
        data("MergePrepare", ready(json!({ "baseRepository": all }))),
        merge_step(),
        data(
            "Dependents",
            json!({ "repository": { "pullRequests": of_base } }),
        ),
        data("updatePullRequest", moved),
        data("deleteRef", json!({ "m": { "clientMutationId": null } })),
    ])
    .await;
    let done = script
        .repo
        .merge(&script.pr(), &with_deletion())
        .await
        .unwrap();
    assert!(done.value.branch_deleted, "{done:?}");
    let sent = script.sent();
    assert_eq!(sent[2].1["base"], "feature");
    assert_eq!(
        sent[3].1,
        json!({ "d0": { "pullRequestId": "PR_9", "baseRefName": "main" } })
    );
}

#[tokio::test]
async fn unreadable_dependents_keep_the_branch() {
    let path = ["repository", "pullRequest", "baseRepository"];
    let denied = "Resource not accessible by personal access token";
    let prepared = |base: Value, errors: Value| {
        body(
            "MergePrepare",
            json!({ "data": ready(json!({ "baseRepository": base })), "errors": errors }),
        )
    };
    let forbidden = || json!([error(&path, "FORBIDDEN", denied)]);
    let gap = json!({ "openPulls": nodes(vec![Value::Null]) });
    let none = json!({ "data": { "repository": { "pullRequests": null } },
        "errors": [error(&["repository", "pullRequests"], "FORBIDDEN", denied)] });
    let script = Script::play(vec![
        prepared(Value::Null, forbidden()),
        merge_step(),
        body("Dependents", none),
        prepared(gap, json!([])),
        merge_step(),
        data(
            "Dependents",
            json!({ "repository": { "pullRequests": page(vec![open(9, "feature")], "c1") } }),
        ),
    ])
    .await;
    for _ in 0..2 {
        let done = script
            .repo
            .merge(&script.pr(), &with_deletion())
            .await
            .unwrap();
        assert!(!done.value.branch_deleted);
        let is_kept = |w: &forge_core::Warning| w.message.contains("head branch was kept");
        assert!(done.warnings.iter().any(is_kept), "{:?}", done.warnings);
    }
    script.sent();
}

#[tokio::test]
async fn unread_dependents_refuse_close_with_deletion() {
    let prepared = crate::wire::changed(
        7,
        json!({ "baseRepository": null, "headRef": { "id": "H", "target": { "oid": "a".repeat(40) } } }),
    );
    let script = Script::play(vec![
        data("PullView", crate::wire::one(prepared)),
        answer("Dependents", wiremock::ResponseTemplate::new(404)),
    ])
    .await;
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let refused = script.repo.close(&script.pr(), &req).await;
    assert!(refused.is_err());
    script.sent();
}

fn keys(numbers: &[u64]) -> Option<Vec<PrKey>> {
    Some(numbers.iter().copied().map(PrKey::Number).collect())
}

#[tokio::test]
async fn view_names_dependents_on_request() {
    let (world, lower, upper) = stacked();
    let numbers = upper.clone().map(|pr| pr.key);
    world.double.reset_record();
    let dependents = async |pr: &PrId, fields| world.ada.pull(pr, fields).await.unwrap().dependents;
    let named = dependents(&lower, PrFields::DEPENDENTS).await;
    assert_eq!(named.as_deref(), Some(&numbers[..]));
    assert_eq!(world.double.counts().api, 1);
    assert_eq!(dependents(&lower, PrFields::NONE).await, None);
    assert_eq!(dependents(&upper[0], PrFields::DEPENDENTS).await, keys(&[]));
    // A closed pull request is not affected.
    world
        .ada
        .close(&upper[0], &CloseReq::default())
        .await
        .unwrap();
    let named = dependents(&lower, PrFields::DEPENDENTS).await;
    assert_eq!(named.as_deref(), Some(&numbers[1..]));
}

#[tokio::test]
async fn dependents_of_view_beyond_first_page_are_read_by_base() {
    let all = json!({ "openPulls": page(vec![open(8, "main")], "c1") });
    let of_base = nodes(vec![open(9, "feature"), open(8, "main")]);
    let viewed = crate::wire::changed(7, json!({ "baseRepository": all }));
    let fork = crate::wire::changed(
        7,
        json!({ "baseRepository": all, "isCrossRepository": true }),
    );
    let script = Script::play(vec![
        data("PullView", crate::wire::one(viewed)),
        data(
            "Dependents",
            json!({ "repository": { "pullRequests": of_base } }),
        ),
        data("PullView", crate::wire::one(fork)),
    ])
    .await;
    for wanted in [keys(&[9]), keys(&[])] {
        let view = script.repo.pull(&script.pr(), PrFields::DEPENDENTS).await;
        let view = view.unwrap();
        assert_eq!(view.dependents, wanted);
        assert_eq!(view.warnings, []);
    }
    script.sent();
}

#[tokio::test]
async fn unreadable_dependents_of_view_are_unknown() {
    let path = ["repository", "pullRequest", "baseRepository", "openPulls"];
    let denied = "Resource not accessible by personal access token";
    let viewed = crate::wire::changed(7, json!({ "baseRepository": { "openPulls": null } }));
    let gap = json!({ "baseRepository": { "openPulls": nodes(vec![Value::Null]) } });
    let script = Script::play(vec![
        body(
            "PullView",
            json!({ "data": crate::wire::one(viewed), "errors": [error(&path, "FORBIDDEN", denied)] }),
        ),
        answer("Dependents", wiremock::ResponseTemplate::new(404)),
        data("PullView", crate::wire::one(crate::wire::changed(7, gap))),
        answer("Dependents", wiremock::ResponseTemplate::new(404)),
    ])
    .await;
    for _ in 0..2 {
        let view = script.repo.pull(&script.pr(), PrFields::DEPENDENTS).await;
        let view = view.unwrap();
        assert_eq!(view.dependents, None);
        let sections: Vec<_> = view.warnings.iter().map(|w| w.section).collect();
        assert_eq!(sections, [Some("dependents")], "{:?}", view.warnings);
    }
    script.sent();
}

#[tokio::test]
async fn view_names_merged_pull_of_base_branch() {
    let (world, lower, upper) = stacked();
    let merged_base = async |pr: &PrId| {
        let view = world.ada.pull(pr, PrFields::MERGED_BASE).await.unwrap();
        assert_eq!(view.warnings, []);
        view.merged_base
    };
    assert_eq!(merged_base(&upper[0]).await, None);
    world.ada.mergeability(&lower).await.unwrap();
    world.ada.merge(&lower, &MergeReq::default()).await.unwrap();
    assert_eq!(merged_base(&upper[0]).await, Some(lower.key.clone()));
    assert_eq!(merged_base(&lower).await, None);
    // A branch that goes on after the merge is a base branch like any other.
    let more = [("more.txt", Some("1\n"))];
    world.double.seed().commit(REPO, "feature", &more, "More");
    assert_eq!(merged_base(&upper[0]).await, None);
}
