//! Views, comments and diffs of single rounds.

use forge_core::{
    AtUri, PageReq, PrId, PullRequests,
    model::{CommentId, CreatePull, EditPull, MergeReq, PrFields, Resubmit},
};
use forge_tangled_world::Fault;
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn comment_names_the_commented_round() {
    let stage = Stage::new();
    let (alice, bob) = (stage.handle(&stage.alice), stage.handle(&stage.bob));
    let pr = stage.open(&alice, "topic").await.id;
    let first = bob.comment(&pr, "On the first.", None).await.unwrap().value;
    stage.repo.git.commit("topic", "B", &[("b", Some("y\n"))]);
    let forge = stage.tangled(&stage.alice);
    let mut again = Resubmit::default();
    again.comment = Some("Here it is.".into());
    forge.resubmit(&pr, &again).await.unwrap();
    let id = CommentId {
        pr: pr.clone(),
        key: first.id.clone(),
    };
    let answer = bob.comment(&pr, "Thanks.", Some(&id)).await.unwrap().value;
    assert_eq!((first.round, answer.round), (Some(0), Some(1)));

    let all = alice.comments(&pr, PageReq::first(10)).await.unwrap().items;
    let seen: Vec<_> = all.iter().map(|c| (c.body.as_str(), c.round)).collect();
    assert_eq!(
        seen,
        [
            ("On the first.", Some(0)),
            ("Here it is.", Some(1)),
            ("Thanks.", Some(1))
        ]
    );
    assert_eq!(all[2].reply_to.as_ref(), Some(&first.id));
}

/// The id of a comment does not contain the pull request that the comment is about.
#[tokio::test]
async fn comment_on_another_pull_request_is_not_found() {
    let stage = Stage::new();
    let bob = stage.handle(&stage.bob);
    let alice = stage.handle(&stage.alice);
    let pr = stage.open(&alice, "topic").await.id;
    let other = stage.open(&alice, "other").await.id;
    let said = bob.comment(&other, "Mine.", None).await.unwrap().value;
    let posing = CommentId {
        pr: pr.clone(),
        key: said.id.clone(),
    };
    let answered = bob.comment(&pr, "So.", Some(&posing)).await.map(drop);
    let edited = bob.edit_comment(&posing, "Changed.").await.map(drop);
    let deleted = bob.delete_comment(&posing).await.map(drop);
    for refused in [answered, edited, deleted] {
        let e = refused.unwrap_err();
        assert_eq!(e.code(), "not_found", "{e}");
        assert!(e.message().contains("is no comment on"), "{e}");
    }
    let first = || PageReq::first(9);
    assert!(bob.comments(&pr, first()).await.unwrap().items.is_empty());
    let there = bob.comments(&other, first()).await.unwrap().items;
    assert_eq!((there.len(), there[0].body.as_str()), (1, "Mine."));
    // Comments of 2025 name their pull request in another field.
    let old =
        json!({ "pull": pr.key.to_string(), "body": "Old", "createdAt": "2025-11-01T00:00:00Z" });
    let pds = stage.world.pds();
    let (key, _) = pds.add(&stage.bob.did, "sh.tangled.repo.pull.comment", old);
    let old = |pr: &PrId| CommentId {
        pr: pr.clone(),
        key: key.clone(),
    };
    let e = bob.delete_comment(&old(&other)).await.unwrap_err();
    assert_eq!(e.code(), "not_found", "{e}");
    bob.delete_comment(&old(&pr)).await.unwrap();
}

/// The web offers `original` for the next edit (lexicon `sh.tangled.markup.markdown`).
#[tokio::test]
async fn comment_edit_replaces_original_text() {
    let stage = Stage::new();
    let bob = stage.handle(&stage.bob);
    let pr = stage.open(&stage.handle(&stage.alice), "topic").await.id;
    let said = bob.comment(&pr, "Old.", None).await.unwrap().value;
    let (pds, uri) = (stage.world.pds(), AtUri::parse(&said.id).unwrap());
    let (_, mut record) = pds.record(&said.id).unwrap();
    record["body"]["original"] = json!("Old.");
    pds.put(&uri.authority, &uri.collection, &uri.rkey, record.clone());
    let key = said.id.clone();
    let comment = CommentId { pr, key };
    bob.edit_comment(&comment, "New.").await.unwrap();
    record["body"]["text"] = json!("New.");
    record["body"]["original"] = json!("New.");
    assert_eq!(pds.record(&said.id).unwrap().1, record);
}

#[tokio::test]
async fn versions_are_read_as_rounds_and_preserved() {
    const PULL: &str = "sh.tangled.repo.pull";
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, uri) = (stage.world.pds(), AtUri::parse(&made.node_id).unwrap());
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    let mut first = record["rounds"][0].clone();
    first["commit"] = json!({"oid": stage.repo.git.oid("topic")});
    record["rounds"] = json!([]);
    let last = json!({ "createdAt": "2026-09-01T00:00:00Z", "base": "main" });
    record["versions"] = json!([first, last]);
    pds.put(&uri.authority, PULL, &uri.rkey, record.clone());
    let forge = stage.tangled(&stage.alice);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.rounds, Some(2));
    let told = |part: &str| view.warnings.iter().any(|w| w.message.contains(part));
    assert!(told("version 1 of"), "{:?}", view.warnings);
    let patch = forge.round(&made.id, 0).await.unwrap();
    assert!(String::from_utf8_lossy(&patch).contains("topic.txt"));

    stage.repo.git.commit("topic", "B", &[("b", Some("y\n"))]);
    let again = forge.resubmit(&made.id, &Resubmit::default()).await;
    let e = again.unwrap_err();
    assert_eq!(e.code(), "unsupported", "{e:?}");
    assert!(e.message().contains("has versions instead"), "{e:?}");
    assert_eq!(pds.record(&made.node_id).unwrap().1, record);
    let mut edit = EditPull::default();
    edit.title = Some("Other".to_owned());
    forge.edit(&made.id, &edit).await.unwrap();
    record["title"] = json!("Other");
    assert_eq!(pds.record(&made.node_id).unwrap().1, record);
}

/// Two commits change the same line, so their common diff is shorter than both single diffs
/// together.
#[tokio::test]
async fn stacked_round_is_a_single_diff() {
    let stage = Stage::new();
    let (repo, git) = (stage.handle(&stage.alice), &stage.repo.git);
    let forge = stage.tangled(&stage.alice);
    let lower = stage.open(&repo, "lower").await.id;
    let build_on = |base: &str, contents: [&str; 2]| {
        git.set_branch("upper", base);
        for content in contents {
            git.commit("upper", "Change u", &[("u", Some(content))]);
        }
    };
    let seen = async |id: &PrId| {
        let view = forge.view(id, PrFields::STATS).await.unwrap();
        let mut told = view.warnings.iter().map(|w| w.message.clone());
        let told = told.find(|it| it.contains("commit by commit"));
        ((view.additions, view.deletions), told)
    };
    let (whole, summed) = ((Some(1), Some(0)), (Some(2), Some(1)));
    build_on("lower", ["1\n", "2\n"]);
    let mut req = CreatePull::new("upper", "Upper");
    req.depends_on = Some(lower.clone());
    let upper = repo.create_pull(&req).await.unwrap().value.id;
    assert_eq!(seen(&upper).await, (whole, None));

    let knot = stage.world.knot().host();
    let broken = Fault::error(500, "InternalServerError", "No disk.");
    knot.fault(broken.on("sh.tangled.repo.compare").always());
    let (sum, told) = seen(&upper).await;
    let told = told.unwrap();
    assert!(sum == summed && told.contains("No disk."), "{sum:?} {told}");
    knot.clear_faults();

    git.set_branch("lower", "main");
    git.commit("lower", "Add it otherwise", &[("l", Some("l\n"))]);
    forge.resubmit(&lower, &Resubmit::default()).await.unwrap();
    let (sum, told) = seen(&upper).await;
    let told = told.unwrap();
    let why = "returned commits other than those of this round";
    assert!(sum == summed && told.contains(why), "{sum:?} {told}");

    // The knot's merge creates new commits, and the next round builds on these.
    repo.merge(&lower, &MergeReq::default()).await.unwrap();
    build_on("main", ["3\n", "4\n"]);
    forge.resubmit(&upper, &Resubmit::default()).await.unwrap();
    assert_eq!(seen(&upper).await, (whole, None));
}
