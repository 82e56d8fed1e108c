//! Tangled 1.0: the result of a write equals the stored record, field by field.

use forge_core::{
    Issues, PullRequests, Reviews,
    model::{CloseReq, CommentId, CreatePull, EditIssue, EditPull, NewIssue, SetChange},
};
use forge_tangled_world::{Fault, KnotOptions, PdsOptions, World};
use serde_json::json;

use crate::{
    stage::Stage,
    ticket_ground::{TICKET, labelled_ground, opened, record},
};

const GET: &str = "com.atproto.repo.getRecord";
const PUT: &str = "com.atproto.repo.putRecord";

fn described(text: &str) -> EditPull {
    let mut edit = EditPull::default();
    edit.description = Some(text.to_owned());
    edit
}

fn labelled(add: &[&str], remove: &[&str]) -> EditPull {
    let names = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    let mut edit = EditPull::default();
    edit.labels = SetChange {
        add: names(add),
        remove: names(remove),
    };
    edit
}

#[tokio::test]
async fn ticket_edit_keeps_unknown_fields() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug", "docs"]);
    let forge = stage.tangled(&stage.alice);
    let made = opened(&forge, &id).await;
    let (pr, uri) = (made.id, made.node_id);
    let mut odd = record(&stage, &repo, &uri);
    odd["body"] = json!({"text": "B", "more": 1});
    odd["unheardOf"] = json!({"deep": [1, {"x": null}]});
    let rkey = uri.rsplit('/').next().unwrap();
    stage.world.knot().put_record(&repo.did, TICKET, rkey, odd);
    let edited = forge.edit(&pr, &described("Why")).await.unwrap();
    assert_eq!(edited.value.description, "Why");
    let edited = forge.edit(&pr, &labelled(&["docs", "BUG"], &[])).await;
    let names = |labels: &[forge_core::model::Label]| {
        let names = labels.iter().map(|l| l.name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&edited.unwrap().value.labels), ["docs", "bug"]);
    let edited = forge.edit(&pr, &labelled(&[], &["docs"])).await.unwrap();
    assert_eq!(names(&edited.value.labels), ["bug"]);
    let now = record(&stage, &repo, &uri);
    assert_eq!(now["body"], json!({"text": "Why", "more": 1}));
    assert_eq!(now["unheardOf"], json!({"deep": [1, {"x": null}]}));
    assert_eq!(now["targetBranch"], "main");
    let edited = forge.edit(&pr, &described(" ")).await.unwrap();
    assert_eq!(edited.value.description, "");
    assert!(record(&stage, &repo, &uri).get("body").is_none());
}

#[tokio::test]
async fn concurrent_edits_by_two_accounts_are_kept() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug", "docs"]);
    let forge = stage.tangled(&stage.alice);
    stage.world.knot().add_collaborator(&repo, &stage.bob.did);
    let made = opened(&forge, &id).await;
    let other = stage.tangled(&stage.bob);
    for n in 0..5 {
        let (title, text) = (format!("Title {n}"), format!("Text {n}"));
        let mut titled = EditPull::default();
        titled.title = Some(title.clone());
        let (ours, theirs) = (described(&text), titled);
        let done = futures::join!(forge.edit(&made.id, &ours), other.edit(&made.id, &theirs));
        assert!(done.0.is_ok() && done.1.is_ok(), "{done:?}");
        let now = record(&stage, &repo, &made.node_id);
        assert_eq!(now["title"]["text"], title.as_str());
        assert_eq!(now["body"]["text"], text.as_str());
    }
}

#[tokio::test]
async fn merge_between_read_and_write_is_not_overwritten() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug", "docs"]);
    let knot = stage.world.knot();
    let forge = stage.tangled(&stage.alice);
    let made = opened(&forge, &id).await;
    let rkey = made.node_id.rsplit('/').next().unwrap();
    for before in ["open", "closed"] {
        let mut value = record(&stage, &repo, &made.node_id);
        value["state"] = json!(before);
        let (uri, cid) = knot.put_record(&repo.did, TICKET, rkey, value.clone());
        let old = json!({"uri": uri, "cid": cid, "value": value}).to_string();
        value["state"] = json!("merged");
        knot.put_record(&repo.did, TICKET, rkey, value);
        // The first read returns the version before the merge.
        let old = Fault::answer(200, &[("content-type", "application/json")], old);
        knot.host().fault(old.on(GET).about(rkey));
        let set = match before {
            "open" => forge.close(&made.id, &CloseReq::default()).await,
            _ => forge.reopen(&made.id, None).await,
        };
        assert_eq!(set.unwrap_err().code(), "conflict", "{before}");
        assert_eq!(record(&stage, &repo, &made.node_id)["state"], "merged");
    }
}

#[tokio::test]
async fn lost_edit_answer_is_decided_by_current_record() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug", "docs"]);
    let forge = stage.tangled(&stage.alice);
    let made = opened(&forge, &id).await;
    let host = stage.world.knot().host();
    for (n, fault) in [Fault::reset().committed(), Fault::reset()]
        .into_iter()
        .enumerate()
    {
        let before = host.count_of(PUT);
        host.fault(fault.on(PUT));
        let text = format!("Text {n}");
        let edited = forge.edit(&made.id, &described(&text)).await.unwrap();
        assert!(!edited.unchanged);
        assert_eq!(
            record(&stage, &repo, &made.node_id)["body"]["text"],
            text.as_str()
        );
        assert_eq!(
            host.count_of(PUT) - before,
            n + 1,
            "sent again only when it was not there"
        );
    }
}

#[tokio::test]
async fn dropped_ticket_field_is_named_in_error() {
    for field in ["body", "tangledLabels", "state", "title.text"] {
        let options = KnotOptions {
            loses: vec![field.to_owned()],
            ..KnotOptions::default()
        };
        let stage = Stage::of(World::with(PdsOptions::default(), options).unwrap());
        let (repo, id) = labelled_ground(&stage, &["bug", "docs"]);
        let forge = stage.tangled(&stage.alice);
        let mut req = CreatePull::new("topic", "One");
        (req.description, req.labels) = ("Why".into(), vec!["bug".into()]);
        let e = forge.create(&id, &req).await.unwrap_err();
        assert!(
            e.message()
                .contains(&format!("`{field}` differs from what was sent")),
            "{e}"
        );
        let mut issue = NewIssue::new("Two", "Why");
        issue.labels = vec!["bug".into()];
        let knot = stage.world.knot();
        let old = json!({
            "title": {"text": "Old"}, "state": "open", "tangledLabels": [{"key": "bug"}],
            "$type": TICKET, "createdAt": "2026-11-01T00:00:00Z",
        });
        let (uri, _) = knot.put_record(&repo.did, TICKET, "3mkuuamwfj323", old);
        let e = forge.create_issue(&id, &issue).await.unwrap_err();
        assert!(e.message().contains(&format!("`{field}`")), "{e}");
        let found = forge_core::AtUri::parse(&uri).unwrap();
        let found = forge.issue_of_record(&found);
        let mut edit = EditIssue::default();
        edit.body = Some("Now".into());
        let e = forge
            .edit_issue(&found.await.unwrap(), &edit)
            .await
            .unwrap_err();
        assert!(e.message().contains(&format!("`{field}`")), "{e}");
    }
}

#[tokio::test]
async fn reply_refers_to_current_version_of_parent() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug", "docs"]);
    let forge = stage.tangled(&stage.alice);
    let pr = opened(&forge, &id).await.id;
    let first = forge.comment(&pr, "First.", None).await.unwrap().value;
    let key = |key: &str| CommentId {
        pr: pr.clone(),
        key: key.to_owned(),
    };
    let bob = stage.tangled(&stage.bob);
    let answer = bob.comment(&pr, "Answer.", Some(&key(&first.id))).await;
    let answer = answer.unwrap().value;
    assert_eq!(answer.reply_to.as_ref(), Some(&first.id));
    let all = stage
        .world
        .knot()
        .records(&repo.did, "org.tangled.feed.comment");
    let cid = &all.iter().find(|(uri, ..)| *uri == first.id).unwrap().1;
    let stored = &all.iter().find(|(uri, ..)| *uri == answer.id).unwrap().2;
    assert_eq!(stored["replyTo"]["cid"], cid.as_str());
    forge_tangled::lexicon::check("org.tangled.feed.comment", stored).unwrap();
    let elsewhere = format!(
        "at://{}/sh.tangled.feed.comment/3mkuuamwfj322",
        stage.alice.did
    );
    for none in [first.id.replace("3", "2"), elsewhere, "junk".to_owned()] {
        let e = forge.comment(&pr, "To nothing.", Some(&key(&none))).await;
        assert_eq!(e.unwrap_err().code(), "not_found");
    }
}

#[tokio::test]
async fn comment_on_replaced_version_retries_on_current() {
    let stage = Stage::new();
    let (repo, id) = labelled_ground(&stage, &["bug", "docs"]);
    let forge = stage.tangled(&stage.alice);
    let made = opened(&forge, &id).await;
    let other = stage.tangled(&stage.bob);
    for n in 0..5 {
        let text = format!("Text {n}");
        let edit = described(&text);
        let said = futures::join!(
            other.comment(&made.id, "Nice.", None),
            forge.edit(&made.id, &edit)
        );
        assert!(said.0.is_ok() && said.1.is_ok(), "{said:?}");
    }
    let all = stage
        .world
        .knot()
        .records(&repo.did, "org.tangled.feed.comment");
    assert_eq!(all.len(), 5);
}
