//! Tangled 1.0, read from the account of the repository.

use forge_core::{
    PageReq, PrId, PrKey, PullRequests, RepoId, RepoPath,
    model::{PrFields, PrState, PullQuery, StateFilter},
};
use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn pull_requests_rounds_comments_and_labels_are_read() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "new");
    let base = repo.git.oid("main").unwrap();
    let first = repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let second = repo.git.commit("topic", "Add b", &[("b", Some("1\n2\n"))]);
    let knot = stage.world.knot();
    let put = |collection: &str, rkey: &str, value: Value| {
        knot.put_record(&repo.did, &format!("org.tangled.{collection}"), rkey, value)
    };
    let ticket = |title: &str, state: &str, branch: Option<&str>| {
        let mut value = json!({
            "title": {"$type": "org.tangled.markup.markdown#inline", "text": title},
            "body": {"$type": "org.tangled.markup.markdown", "text": "Why"},
            "state": state,
            "tangledLabels": [{"key": "bug"}],
            "createdAt": "2026-11-01T00:00:00Z",
            "x-tngl-editor": stage.alice.did,
        });
        if let Some(branch) = branch {
            value["targetBranch"] = json!(branch);
        }
        value
    };
    let (uri, cid) = put(
        "track.ticket",
        "3mkuuamwfj322",
        ticket("One", "open", Some("main")),
    );
    put(
        "track.ticket",
        "3mkuuamwfj323",
        ticket("Issue", "open", None),
    );
    put(
        "track.ticket",
        "3mkuuamwfj324",
        ticket("Done", "completed", Some("main")),
    );
    for (n, head) in [(1, &first), (2, &second)] {
        let patch = json!({
            "ticket": "3mkuuamwfj322", "base": {"oid": base}, "head": {"oid": head},
            "source": {"repo": repo.did, "branch": "topic"},
            "createdAt": format!("2026-11-0{n}T00:00:00Z"),
            "x-tngl-editor": stage.bob.did,
        });
        put("review.patch", &format!("patch{n}"), patch);
    }
    let comment = json!({
        "subject": {"$type": "com.atproto.repo.strongRef", "uri": uri, "cid": cid},
        "body": {"$type": "org.tangled.markup.markdown", "text": "Nice"},
        "createdAt": "2026-11-03T00:00:00Z", "x-tngl-editor": stage.bob.did,
    });
    put("feed.comment", "3mkuuamwfj325", comment);

    let id = RepoId {
        path: RepoPath::Did(repo.did.clone()),
        ..stage.id()
    };
    let forge = stage.tangled(&stage.alice);
    let list = |state| {
        let query = PullQuery {
            state,
            ..PullQuery::default()
        };
        let (forge, id) = (&forge, &id);
        async move { forge.list(id, &query, PageReq::first(30)).await.unwrap() }
    };
    let open = list(StateFilter::Open).await;
    assert_eq!((open.items.len(), open.scanned), (1, Some(2)));
    let closed = list(StateFilter::Closed).await;
    assert_eq!(closed.items[0].title, "Done");
    assert!(
        closed.warnings[0].message.contains("completed"),
        "{:?}",
        closed.warnings
    );

    let pr = PrId {
        repo: id.clone(),
        key: PrKey::Record(uri.clone()),
    };
    let fields = PrFields::COMMENTS | PrFields::COMMITS | PrFields::STATS;
    let view = forge.view(&pr, fields).await.unwrap();
    assert!(view.warnings.is_empty(), "{:?}", view.warnings);
    assert_eq!(
        (view.title.as_str(), view.description.as_str()),
        ("One", "Why")
    );
    assert_eq!(
        (view.state, view.author.login.as_str()),
        (PrState::Open, "bob.test")
    );
    assert_eq!(view.head_oid.as_deref(), Some(second.as_str()));
    assert_eq!(
        (view.head_branch.as_str(), view.base_branch.as_str()),
        ("topic", "main")
    );
    assert_eq!(view.labels[0].name, "bug");
    assert_eq!(view.commits.map(|c| c.len()), Some(2));
    assert_eq!((view.changed_files, view.additions), (Some(2), Some(3)));
    let comments = view.comments.unwrap();
    assert_eq!(
        (comments[0].body.as_str(), comments[0].author.login.as_str()),
        ("Nice", "bob.test")
    );

    let history = forge.history(&pr, PageReq::first(10)).await.unwrap();
    assert_eq!(history.items.len(), 2, "opened, and another round");
    assert!(!history.warnings.is_empty());
    let round = forge.round(&pr, 0).await.unwrap();
    assert!(String::from_utf8(round).unwrap().contains("Add a"));
    let found = forge
        .pull_of_record(&forge_core::AtUri::parse(&uri).unwrap())
        .await
        .unwrap();
    assert_eq!(found.key, pr.key);
    // The index was never needed.
    stage.world.index().host().set_down(true);
    assert!(stage.tangled(&stage.bob).view(&pr, fields).await.is_ok());
    let merge = forge.merge(&pr, &Default::default()).await.unwrap_err();
    assert_eq!(merge.code(), "unsupported");
}
