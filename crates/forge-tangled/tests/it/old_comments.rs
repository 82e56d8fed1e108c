//! Comments of 2025, which were records of two other collections.

use forge_core::{
    Issues, PageReq, PullRequests, Reviews,
    model::{CommentId, IssueFields, NewIssue, PrFields, StatusEventKind},
};
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn comments_of_2025_are_read_without_index() {
    let stage = Stage::new();
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let new = NewIssue::new("One", "");
    let forge = stage.tangled(&stage.alice);
    let issue = forge.create_issue(&stage.id(), &new).await.unwrap().value;
    for (field, uri) in [("pull", &pull.node_id), ("issue", &issue.node_id)] {
        let collection = format!("sh.tangled.repo.{field}.comment");
        for (about, body) in [(uri.clone(), "Old"), (format!("{uri}x"), "Elsewhere")] {
            let mut comment = json!({ "body": body, "createdAt": "2025-11-01T00:00:00Z" });
            comment[field] = json!(about);
            stage.world.pds().add(&stage.bob.did, &collection, comment);
        }
    }
    let index = stage.world.index();
    index.host().set_down(true);
    for backlinks_too in [false, true] {
        index.backlinks().set_down(backlinks_too);
        let forge = stage.tangled(&stage.alice);
        let view = forge.view(&pull.id, PrFields::COMMENTS).await.unwrap();
        let on_pull = view.comments.unwrap();
        let fields = IssueFields::COMMENTS;
        let view = forge.issue(&issue.id, &fields).await.unwrap();
        let on_issue = view.comments.unwrap();
        for comments in [on_pull, on_issue] {
            let said: Vec<_> = comments
                .iter()
                .map(|c| (c.author.login.as_str(), c.body.as_str()))
                .collect();
            assert_eq!(said, [("bob.test", "Old")], "{backlinks_too}");
        }
    }
}

#[tokio::test]
async fn edited_comment_of_2025_keeps_form() {
    let stage = Stage::new();
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let new = NewIssue::new("One", "");
    let forge = stage.tangled(&stage.bob);
    let issue = forge.create_issue(&stage.id(), &new).await.unwrap().value;
    let pds = stage.world.pds();
    for (field, uri) in [("pull", &pull.node_id), ("issue", &issue.node_id)] {
        let collection = format!("sh.tangled.repo.{field}.comment");
        let mut comment = json!({ "body": "Old", "createdAt": "2025-11-01T00:00:00Z" });
        comment[field] = json!(uri);
        let (key, _) = pds.add(&stage.bob.did, &collection, comment);
        let edited = if field == "pull" {
            let pr = pull.id.clone();
            let comment = CommentId {
                pr,
                key: key.clone(),
            };
            forge.edit_comment(&comment, "New").await
        } else {
            forge.edit_issue_comment(&issue.id, &key, "New", None).await
        };
        assert_eq!(edited.unwrap().value.body, "New");
        let (_, record) = pds.record(&key).unwrap();
        assert_eq!(record["body"], "New", "{field}");
    }
}

/// Tangled has copied comments of 2025 to the collection of 2026 under the same record key.
#[tokio::test]
async fn copies_of_a_comment_are_one() {
    let stage = Stage::new();
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let new = NewIssue::new("One", "");
    let forge = stage.tangled(&stage.alice);
    let issue = forge.create_issue(&stage.id(), &new).await.unwrap().value;
    let pds = stage.world.pds();
    let at = "2025-11-01T00:00:00Z";
    for (field, uri, key) in [
        ("pull", &pull.node_id, "3lm3svl4pgh22"),
        ("issue", &issue.node_id, "3lm3svl4pgh32"),
    ] {
        let older = format!("sh.tangled.repo.{field}.comment");
        let mut old = json!({ "body": "Old", "createdAt": at });
        old[field] = json!(uri);
        let (cid, _) = pds.record(uri).unwrap();
        let new = json!({
            "$type": "sh.tangled.feed.comment", "createdAt": at,
            "subject": { "uri": uri, "cid": cid },
            "body": { "$type": "sh.tangled.markup.markdown", "text": "Edited" },
        });
        pds.put(&stage.bob.did, &older, key, old.clone());
        pds.put(&stage.bob.did, "sh.tangled.feed.comment", key, new);
        // The comment of another account under the same key, and one without a copy.
        pds.put(&stage.alice.did, &older, key, old.clone());
        pds.put(&stage.bob.did, &older, "3lm3svl4pgh23", old);
    }
    let view = forge.view(&pull.id, PrFields::COMMENTS).await.unwrap();
    assert_eq!(view.comments_count, 3);
    let listed = forge.comments(&pull.id, PageReq::first(9)).await.unwrap();
    let fields = IssueFields::COMMENTS;
    let of_issue = forge.issue(&issue.id, &fields).await.unwrap();
    assert_eq!(of_issue.comments_count, 3);
    for comments in [
        view.comments.unwrap(),
        listed.items,
        of_issue.comments.unwrap(),
    ] {
        let mut bodies: Vec<_> = comments.iter().map(|c| c.body.as_str()).collect();
        bodies.sort_unstable();
        assert_eq!(bodies, ["Edited", "Old", "Old"]);
        let edited = comments.iter().find(|c| c.body == "Edited").unwrap();
        assert!(
            edited.id.contains("/sh.tangled.feed.comment/"),
            "{}",
            edited.id
        );
    }
    let history = forge.issue_history(&issue.id, PageReq::first(9)).await;
    let history = history.unwrap().items.into_iter();
    let comments = history.filter(|it| it.kind == StatusEventKind::Commented);
    assert_eq!(comments.count(), 3);
}
