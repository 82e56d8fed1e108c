//! Malformed answers and transient failures must not look like missing data.

use forge_core::{
    Issues, PageReq, PullRequests, RepoId, RepoPath, Repos, Reviews, Timestamp,
    model::{CloseReq, CreatePull, IssueQuery, MergeReq, PrFields, PrState, PullQuery},
};
use forge_tangled_world::{Fault, KnotOptions, PdsOptions, World};
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage};

const STATUS: &str = "sh.tangled.repo.pull.status";
const COLLABORATORS: &str = "sh.tangled.repo.listCollaborators";
const LIST_PULLS: &str = "sh.tangled.repo.listPulls";
const LIST_ISSUES: &str = "sh.tangled.repo.listIssues";

fn answer(body: Value) -> Fault {
    Fault::answer(
        200,
        &[("content-type", "application/json")],
        body.to_string(),
    )
}

fn first() -> PageReq {
    PageReq::first(30)
}

#[tokio::test]
async fn malformed_index_answer_error_names_the_field() {
    let row = |more: Value| {
        let mut row = json!({
            "uri": "at://did:plc:x/sh.tangled.repo.pull/3mkuuamwfj322", "cid": "c", "value": {},
            "state": "open", "commentCount": 0,
        });
        for (name, value) in more.as_object().unwrap() {
            row[name] = value.clone();
        }
        json!({ "items": [row] })
    };
    let without = |name: &str| {
        let mut answer = row(json!({}));
        answer["items"][0].as_object_mut().unwrap().remove(name);
        answer
    };
    for (body, field) in [
        (json!({}), "missing field `items`"),
        (json!({ "pulls": [] }), "missing field `items`"),
        (json!({ "items": null }), "`items`: invalid type: null"),
        (json!({ "items": {} }), "`items`: invalid type: map"),
        (
            json!({ "items": [], "cursor": 7 }),
            "`cursor`: invalid type",
        ),
        (without("state"), "`items[0]`: missing field `state`"),
        (
            row(json!({ "state": null })),
            "`items[0]`: missing field `state`",
        ),
        (without("value"), "`items[0]`: missing field `value`"),
        (
            without("commentCount"),
            "`items[0]`: missing field `commentCount`",
        ),
        (row(json!({ "uri": 7 })), "`items[0]`: its `uri` is no text"),
    ] {
        let stage = Stage::new();
        let index = stage.world.index();
        index.backlinks().set_down(true);
        let forge = stage.tangled(&stage.bob);
        for method in [LIST_PULLS, LIST_ISSUES] {
            index.host().fault(answer(body.clone()).on(method).always());
        }
        let (pulls, issues) = (PullQuery::default(), IssueQuery::default());
        let pulls = forge.list(stage.repo_id(), &pulls, first());
        let issues = forge.issues(stage.repo_id(), &issues, first());
        for (e, method) in [
            (pulls.await.err(), LIST_PULLS),
            (issues.await.err(), LIST_ISSUES),
        ] {
            let e = e.unwrap_or_else(|| panic!("{body} of {method} is taken for an empty list"));
            assert_eq!(e.code(), "protocol", "{e:?}");
            for part in [method, "localhost", field] {
                assert!(e.message().contains(part), "{part}: {e:?}");
            }
        }
    }
}

#[tokio::test]
async fn malformed_account_answer_error_names_the_field() {
    let stage = Stage::new();
    let (_, id) = stage.repo_1_0();
    let forge = stage.tangled(&stage.bob);
    forge.era(&id).await.unwrap();
    let list = "com.atproto.repo.listRecords";
    let knot = stage.world.knot().host();
    knot.fault(answer(json!({ "items": [] })).on(list).always());
    let e = forge.list(&id, &PullQuery::default(), first()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    for part in [list, knot.authority().as_str(), "missing field `records`"] {
        let part = part.split(':').next().unwrap();
        assert!(e.message().contains(part), "{part}: {e:?}");
    }
}

#[tokio::test]
async fn unknown_branch_method_is_not_a_missing_branch() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.bob);
    let knot = stage.world.knot().host();
    let question = "sh.tangled.repo.getDefaultBranch";
    for odd in [Fault::gateway(404), Fault::gateway(400)] {
        knot.fault(odd.on(question).always());
        let e = forge.repo(&stage.id()).await.unwrap_err();
        assert!(e.message().contains(question), "{e:?}");
        knot.clear_faults();
    }
    knot.fault(answer(json!({})).on("sh.tangled.repo.branches").always());
    let e = forge.branches(&stage.id(), first()).await.unwrap_err();
    assert!(e.message().contains("missing field `branches`"), "{e:?}");
}

#[tokio::test]
async fn unknown_record_method_is_not_a_missing_record() {
    let stage = Stage::new();
    let owner = stage.handle(&stage.alice);
    let (lower, upper) = (
        stage.open(&owner, "lower").await,
        stage.open(&owner, "upper").await,
    );
    let rkey = |uri: &str| uri.rsplit('/').next().unwrap().to_owned();
    let pds = stage.world.pds();
    let (_, mut record) = pds.record(&upper.node_id).unwrap();
    record["dependentOn"] = json!(lower.node_id);
    let kind = "sh.tangled.repo.pull";
    pds.put(&stage.alice.did, kind, &rkey(&upper.node_id), record);
    let answers = |odd: Fault| {
        pds.host().clear_faults();
        let odd = odd.on("com.atproto.repo.getRecord");
        pds.host().fault(odd.about(&rkey(&lower.node_id)).always());
    };
    let forge = stage.tangled(&stage.bob);
    for odd in [
        Fault::gateway(404),
        Fault::error(404, "XRPCNotSupported", ""),
    ] {
        answers(odd);
        let e = forge.view(&lower.id, PrFields::NONE).await.unwrap_err();
        assert!(!e.message().contains("there is no pull request"), "{e:?}");
        // The parent in the stack is then unknown.
        let e = forge.merge(&upper.id, &MergeReq::default()).await;
        let e = e.unwrap_err();
        assert!(e.message().contains("getRecord"), "{e:?}");
    }
    let knot = stage.world.knot().host();
    assert_eq!(knot.count_of("sh.tangled.repo.merge"), 0);
    let missing = "Could not locate record";
    answers(Fault::error(400, "RecordNotFound", missing));
    let e = forge.view(&lower.id, PrFields::NONE).await.unwrap_err();
    assert!(e.message().contains("there is no pull request"), "{e:?}");
    forge.merge(&upper.id, &MergeReq::default()).await.unwrap();
}

/// The index is retried before all accounts are read instead.
#[tokio::test]
async fn transient_index_failure_is_retried_once() {
    for passing in [
        Fault::gateway(500),
        Fault::gateway(503),
        Fault::reset(),
        Fault::error(502, "UpstreamFailure", "slingshot is down"),
    ] {
        let stage = Stage::new();
        let made = stage.open(&stage.handle(&stage.alice), "topic").await;
        let forge = stage.tangled(&stage.bob);
        let index = stage.world.index();
        index.host().fault(passing.clone().on(LIST_PULLS));
        let query = PullQuery::default();
        let page = forge.list(stage.repo_id(), &query, first());
        let page = page.await.unwrap();
        assert_eq!(page.items.len(), 1);
        assert!(page.warnings.is_empty(), "{passing:?}: {:?}", page.warnings);
        assert_eq!(index.backlinks().count(), 0, "{passing:?}");
        index
            .host()
            .fault(passing.clone().on("sh.tangled.feed.listComments"));
        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        assert!(view.warnings.is_empty(), "{passing:?}: {:?}", view.warnings);
        // A lasting failure is retried only once.
        index.host().reset_record();
        index.host().fault(passing.on(LIST_PULLS).always());
        let query = PullQuery::default();
        let page = forge.list(stage.repo_id(), &query, first());
        assert_eq!(page.await.unwrap().items.len(), 1);
        assert!(index.host().count_of(LIST_PULLS) <= 2);
    }
}

/// Anybody can write such a record into their own account, and an index can invent one of the
/// owner.
#[tokio::test]
async fn collaborator_record_of_stranger_does_not_count() {
    let collection = "sh.tangled.repo.collaborator";
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let carol = stage.world.pds().account("carol.test", PASSWORD).did;
    let alice = stage.alice.did.as_str();
    let soon = Timestamp::from_unix(Timestamp::now().unix() + 2);
    let status = json!({
        "pull": made.node_id, "status": format!("{STATUS}.closed"), "createdAt": soon.to_string(),
    });
    let pds = stage.world.pds();
    pds.add(&carol, STATUS, status);
    let (index, knot) = (stage.world.index().host(), stage.world.knot().host());
    knot.fault(
        Fault::error(501, "MethodNotImplemented", "")
            .on(COLLABORATORS)
            .always(),
    );
    let record = json!({
        "repo": stage.repo.did, "subject": carol, "createdAt": "2026-11-01T00:00:00Z",
    });
    pds.add(&carol, collection, record.clone());
    let invented = format!("at://{alice}/{collection}/3mkuuamwfj322");
    for row in [
        json!({ "subject": carol, "addedBy": alice }),
        json!({ "subject": carol, "addedBy": alice, "uri": invented, "value": record }),
    ] {
        index.clear_faults();
        let body = json!({ "items": [row] });
        index.fault(answer(body.clone()).on(COLLABORATORS).always());
        let forge = stage.tangled(&stage.alice);
        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Open, "{body}");
    }
    pds.add(alice, collection, record);
    let forge = stage.tangled(&stage.alice);
    let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
    assert_eq!(view.state, PrState::Closed);
}

#[tokio::test]
async fn branch_of_unconfirmed_repository_is_kept() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    let knot = stage.world.knot().host();
    let unknown = Fault::error(501, "MethodNotImplemented", "");
    knot.fault(unknown.on("sh.tangled.repo.describeRepo").always());
    let mut req = MergeReq::default();
    req.delete_branch = true;
    // The pull request is already merged, so only the branch would be deleted.
    let merged = stage.tangled(&stage.alice).merge(&made.id, &req).await;
    let told = merged.unwrap().warnings;
    let refused = |w: &forge_core::Warning| w.message.contains("nothing was written");
    assert!(told.iter().any(refused), "{told:?}");
    assert!(stage.repo.git.oid("topic").is_some());
    knot.clear_faults();
    let merged = stage.tangled(&stage.alice).merge(&made.id, &req).await;
    merged.unwrap();
    assert!(stage.repo.git.oid("topic").is_none());
}

/// The knot reports its version, and has no collaborators method.
#[tokio::test]
async fn missing_collaborators_method_is_doubted_on_new_knots() {
    for (capabilities, is_doubted) in [
        (vec!["knot-acl", "repo-did-input"], true),
        (vec!["repo-did-input"], false),
    ] {
        let options = KnotOptions {
            capabilities: capabilities.iter().map(|it| (*it).to_owned()).collect(),
            ..KnotOptions::default()
        };
        let stage = Stage::of(World::with(PdsOptions::default(), options).unwrap());
        let made = stage.open(&stage.handle(&stage.alice), "topic").await.id;
        let unknown = Fault::error(501, "MethodNotImplemented", "");
        let knot = stage.world.knot().host();
        knot.fault(unknown.on(COLLABORATORS).always());
        let forge = stage.tangled(&stage.alice);
        let view = forge.view(&made, PrFields::NONE).await.unwrap();
        let told = "the collaborators are read from the owner's records";
        let about = |w: &forge_core::Warning| w.message.starts_with(told);
        let is_told = view.warnings.iter().any(about);
        assert_eq!(is_told, is_doubted, "{capabilities:?}: {:?}", view.warnings);
    }
}

/// The knot reports its version, and does not accept repository DIDs.
#[tokio::test]
async fn proven_old_knot_is_not_asked_for_owner() {
    let question = "sh.tangled.repo.describeRepo";
    let version = "sh.tangled.knot.version";
    for (capabilities, answers, is_believed) in [
        (vec![], None, true),
        (vec!["knot-acl"], None, true),
        (vec!["knot-acl", "repo-did-input"], None, false),
        (vec![], Some(Fault::gateway(404)), false),
        (
            vec![],
            Some(Fault::error(501, "MethodNotImplemented", "")),
            false,
        ),
        (vec![], Some(answer(json!({ "capabilities": [] }))), false),
        (vec![], Some(answer(json!({ "version": "" }))), false),
        (vec![], Some(answer(json!({ "version": "v1.11.0" }))), true),
    ] {
        let options = KnotOptions {
            capabilities: capabilities.iter().map(|it| (*it).to_owned()).collect(),
            ..KnotOptions::default()
        };
        let stage = Stage::of(World::with(PdsOptions::default(), options).unwrap());
        let made = stage.open(&stage.handle(&stage.alice), "topic").await.id;
        let knot = stage.world.knot().host();
        knot.fault(Fault::gateway(404).on(question).always());
        if let Some(answers) = answers {
            knot.fault(answers.on(version).always());
        }
        let forge = stage.tangled(&stage.bob);
        let view = forge.view(&made, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Open);
        let about = |w: &forge_core::Warning| w.message.contains("does not name its owner");
        let is_told = view.warnings.iter().any(about);
        assert_eq!(
            is_told, !is_believed,
            "{capabilities:?}: {:?}",
            view.warnings
        );
        let said = forge.comment(&made, "So?", None).await;
        assert_eq!(said.is_ok(), is_believed, "{capabilities:?}: {said:?}");
        let closed = forge.close(&made, &CloseReq::default()).await;
        assert_eq!(closed.is_ok(), is_believed, "{capabilities:?}: {closed:?}");
    }
}

/// Creates a stage whose knot takes no DIDs of repositories, as knots before August 2026.
fn stage_with_old_knot() -> Stage {
    let options = KnotOptions {
        capabilities: vec!["knot-acl".to_owned()],
        ..KnotOptions::default()
    };
    Stage::of(World::with(PdsOptions::default(), options).unwrap())
}

#[tokio::test]
async fn branch_on_old_knot_is_deleted_by_record() {
    let stage = stage_with_old_knot();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let forge = stage.tangled(&stage.alice);
    let closed = forge.close(&made.id, &req).await.unwrap();
    assert!(stage.repo.git.oid("topic").is_none(), "{closed:?}");
}

#[tokio::test]
async fn old_knot_merges_by_record_key_or_name() {
    let stage = stage_with_old_knot();
    let (pds, owner) = (stage.world.pds(), &stage.alice.did);
    let collection = "sh.tangled.repo";
    // This repository was renamed, so the knot knows the key of its record alone.
    let keyed = stage
        .world
        .repository_with_key(&stage.alice, "gadget", "3mkuuamwfj322");
    let (_, mut record) = pds.record(&keyed.uri).unwrap();
    record["name"] = json!("renamed");
    pds.put(owner, collection, "3mkuuamwfj322", record);
    // The knot of this repository is older, and knows its name alone.
    let named = stage.world.repository(&stage.alice, "thing");
    let (_, mut record) = pds.record(&named.uri).unwrap();
    record["name"] = json!("thing");
    pds.delete(owner, collection, "thing");
    pds.put(owner, collection, "3mkuuamwfj323", record);
    let knot = stage.world.knot().host();
    for (repo, name, calls) in [(&keyed, "renamed", 1), (&named, "thing", 2)] {
        repo.git.commit("topic", "Add a", &[("a", Some("x\n"))]);
        let id = RepoId {
            path: RepoPath::Named {
                owner: stage.alice.handle.clone(),
                name: name.to_owned(),
            },
            ..stage.id()
        };
        let forge = stage.tangled(&stage.alice);
        let made = forge.create(&id, &CreatePull::new("topic", "T")).await;
        let made = made.unwrap().value;
        knot.reset_record();
        forge.merge(&made.id, &MergeReq::default()).await.unwrap();
        assert_eq!(repo.git.show("main", "a"), "x\n", "{name}");
        assert_eq!(knot.count_of("sh.tangled.repo.merge"), calls, "{name}");
        assert_eq!(knot.count_of("sh.tangled.repo.mergeCheck"), calls, "{name}");
    }
}
