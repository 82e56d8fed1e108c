//! Tests all features of issues on a real PDS: fields, values, relations, edits, comments,
//! deletion.

use std::{sync::Arc, time::Duration};

use forge_core::{
    ForgeKind, Issues as _, PageReq, RepoId, RepoPath, Secret,
    model::{EditIssue, IssueField, IssueFields, IssueState, NewIssue, StatusEventKind},
};
use forge_http::{Http, RetryPolicy};
use forge_tangled::{FixedLogin, Origin, PdsLogin, Reach, Tangled, TangledSettings, lexicon};
use forge_tangled_world::{Account, RealWorld};

const PASSWORD: &str = "0canary0-of-somebody";

fn all_sections() -> IssueFields {
    let mut fields = IssueFields::COMMENTS;
    fields.relations = true;
    fields
}
fn forge(world: &RealWorld, account: &Account) -> Tangled {
    let at = |url: String| Origin::configured(&url).unwrap();
    let index = world.index();
    let settings = TangledSettings {
        web: at(index.web().url()),
        index: at(index.host().url()),
        backlinks: Some(at(index.backlinks().url())),
        plc: at(world.directory().host().url()),
        handles: Some(at(world.pds_url())),
        reach: Reach::Loopback,
        wait: Duration::from_secs(10),
        poll: Duration::from_millis(20),
        ..TangledSettings::usual().unwrap()
    };
    let http = Http::new(forge_http::HttpSettings {
        retry: RetryPolicy::without_pauses(),
        ..forge_http::HttpSettings::default()
    });
    let login = PdsLogin {
        account: account.handle.clone(),
        password: Secret::new(PASSWORD),
        pin: None,
    };
    Tangled::new(settings, http.unwrap(), Arc::new(FixedLogin(Some(login))))
}

fn field(name: &str, options: &[&str]) -> IssueField {
    IssueField::new(name, options.iter().map(|o| (*o).to_owned()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_on_real_pds_is_written_and_read() {
    let Some(dir) = RealWorld::installed() else {
        return;
    };
    let world = tokio::task::block_in_place(|| RealWorld::start(&dir).unwrap());
    let alice = tokio::task::block_in_place(|| world.account("alice.test", PASSWORD));
    let bob = tokio::task::block_in_place(|| world.account("bob.test", PASSWORD));
    let repo = tokio::task::block_in_place(|| world.repository(&alice, "widget"));
    world.knot().add_collaborator(&repo, &bob.did);
    let id = RepoId {
        kind: ForgeKind::TANGLED,
        host: "tangled.org".to_owned(),
        path: RepoPath::Named {
            owner: alice.handle.clone(),
            name: repo.name.clone(),
        },
    };
    let (owner, other) = (forge(&world, &alice), forge(&world, &bob));
    for wanted in [
        field("state", &["Todo"]),
        field("state", &["Doing", "Done"]),
        field("parent", &[]),
        field("blocked-by", &[]),
    ] {
        let defined = owner.define_issue_field(&id, None, &wanted).await.unwrap();
        assert_eq!(defined.ingestion.word(), "confirmed", "{wanted:?}");
    }
    let fields = owner.issue_fields(&id, None).await.unwrap();
    assert_eq!(fields[0], field("state", &["Todo", "Doing", "Done"]));

    let new = |title: &str| NewIssue::new(title, "");
    let parent = owner.create_issue(&id, &new("Parent")).await.unwrap().value;
    let mut part = new("Part");
    part.parent = Some(parent.id.clone());
    part.values = [("state".to_owned(), "Todo".to_owned())].into();
    let part = other.create_issue(&id, &part).await.unwrap();
    assert_eq!(part.ingestion.word(), "confirmed");
    let part = part.value;
    let mut edit = EditIssue::default();
    edit.title = Some("Part one".to_owned());
    edit.values = [("state".to_owned(), Some("Done".to_owned()))].into();
    edit.state = Some(IssueState::Closed);
    edit.comment = Some("Done.".to_owned());
    edit.expected_version = Some(part.version.clone());
    let edited = other.edit_issue(&part.id, &edit).await.unwrap();
    assert_eq!(edited.ingestion.word(), "confirmed");
    let stale = other.edit_issue(&part.id, &edit).await.unwrap_err();
    assert_eq!(stale.code(), "conflict");

    let set = owner
        .related_issues(std::slice::from_ref(&parent.id), &all_sections())
        .await
        .unwrap();
    let of = |title: &str| set.issues.iter().find(|i| i.title == title).unwrap();
    let children = &of("Parent").relations.as_ref().unwrap().sub_issues;
    assert_eq!(
        (children[0].title.as_str(), children[0].state),
        ("Part one", IssueState::Closed)
    );
    assert_eq!(of("Part one").values["state"], "Done");
    let comment = &of("Part one").comments.as_ref().unwrap()[0];
    assert_eq!(comment.author_association.as_deref(), Some("COLLABORATOR"));

    let changed = other.edit_issue_comment(&part.id, &comment.id, "Done, I think.", None);
    assert_eq!(changed.await.unwrap().value.body, "Done, I think.");
    let history = owner
        .issue_history(&part.id, PageReq::first(9))
        .await
        .unwrap();
    let kinds: Vec<_> = history.items.iter().map(|e| e.kind).collect();
    for kind in [
        StatusEventKind::Related,
        StatusEventKind::Commented,
        StatusEventKind::Closed,
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    other
        .delete_issue_comment(&part.id, &comment.id)
        .await
        .unwrap();
    for (uri, collection) in [
        (&part.node_id, "sh.tangled.repo.issue"),
        (&of("Part one").labels[0].id, "sh.tangled.label.definition"),
    ] {
        let (_, value) = tokio::task::block_in_place(|| world.record(uri));
        assert_eq!(lexicon::check(collection, &value), Ok(()));
    }
    let deleted = other.delete_issue(&part.id).await.unwrap();
    assert_eq!(deleted.ingestion.word(), "confirmed");
    let view = owner.issue(&parent.id, &all_sections()).await.unwrap();
    assert!(view.relations.unwrap().sub_issues.is_empty());
}
