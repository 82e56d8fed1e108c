//! Comments of 2025, which were records of two other collections.

use forge_core::{
    Issues, PullRequests, Reviews,
    model::{CommentId, IssueFields, NewIssue, PrFields},
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
