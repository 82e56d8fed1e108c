//! Cached facts expire and are looked up again: a process may run for weeks.

use std::time::Duration;

use forge_core::{
    Action, AtUri, Issues, Labels, PullRequests, RepoId, RepoPath, Repos, Reviews,
    model::{
        CloseReq, CommentId, CreatePull, EditIssue, EditPull, IssueState, MergeReq, NewIssue,
        NewLabel, PrFields, Resubmit, SetIssueState,
    },
};
use forge_tangled::{DraftMarker, Era, Origin, TangledSettings};
use forge_tangled_world::Fault;
use serde_json::json;

use crate::stage::{Stage, action};

const MERGE: &str = "sh.tangled.repo.merge";
const DECLARATION: &str = "org.tangled.repo.declaration";

/// Returns settings without a cache, as if each call came after expiry.
fn forgetful(stage: &Stage) -> TangledSettings {
    TangledSettings {
        kept: Duration::ZERO,
        ..stage.settings()
    }
}

#[tokio::test]
async fn former_collaborator_is_refused_before_write() {
    let stage = Stage::new();
    let owner = stage.handle(&stage.alice);
    let first = stage.open(&owner, "first").await;
    let second = stage.open(&owner, "second").await;
    let forge = stage.tangled_with(forgetful(&stage), Some(&stage.bob));
    let req = MergeReq::default();
    forge.merge(&first.id, &req).await.unwrap();
    let knot = stage.world.knot();
    knot.remove_collaborator(&stage.repo, &stage.bob.did);
    let e = forge.merge(&second.id, &req).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied", "{e:?}");
    assert_eq!(knot.host().count_of(MERGE), 1, "nothing was sent");
}

#[tokio::test]
async fn renamed_account_is_shown_by_new_handle() {
    let stage = Stage::new();
    let directory = stage.world.directory();
    let settings = TangledSettings {
        // The directory resolves each handle to the account whose document names it.
        handles: Some(Origin::configured(&directory.host().url()).unwrap()),
        ..forgetful(&stage)
    };
    let forge = stage.tangled_with(settings, None);
    let id = stage.id_of(&stage.repo);
    assert_eq!(forge.repo(&id).await.unwrap().id, stage.id());
    directory.rename(&stage.alice.did, Some("renamed.test"));
    let renamed = RepoId {
        path: RepoPath::Named {
            owner: "renamed.test".to_owned(),
            name: "widget".to_owned(),
        },
        ..stage.id()
    };
    assert_eq!(forge.repo(&id).await.unwrap().id, renamed);
    assert!(forge.repo(&stage.id()).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn declaration_during_process_switches_to_1_0() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "moving");
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    pds.delete(alice, DECLARATION, "moving");
    let older = json!({
        "name": "moving", "knot": stage.world.knot().host().authority(), "repoDid": repo.did,
        "createdAt": "2026-05-01T00:00:00Z",
    });
    pds.put(alice, "sh.tangled.repo", "moving", older);
    let forge = stage.tangled_with(forgetful(&stage), None);
    let id = RepoId {
        path: RepoPath::Named {
            owner: "alice.test".to_owned(),
            name: "moving".to_owned(),
        },
        ..stage.id()
    };
    assert_eq!(forge.era(&id).await.unwrap(), Era::Sh2026);
    let declaration = json!({ "repo": repo.did, "createdAt": "2026-11-01T00:00:00Z" });
    pds.put(alice, DECLARATION, "moving", declaration);
    assert_eq!(forge.era(&id).await.unwrap(), Era::Org10);
}

/// After the declaration no record of the older protocol is written; retries of earlier writes stop
/// as well.
#[tokio::test]
async fn declaration_during_process_stops_repeated_puts() {
    const PULL: &str = "sh.tangled.repo.pull";
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "moving");
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    pds.delete(alice, DECLARATION, "moving");
    let older = json!({
        "name": "moving", "knot": stage.world.knot().host().authority(), "repoDid": repo.did,
        "createdAt": "2026-05-01T00:00:00Z",
    });
    pds.put(alice, "sh.tangled.repo", "moving", older);
    let pull = json!({
        "$type": PULL, "title": "One", "target": { "repo": repo.did, "branch": "main" },
        "createdAt": "2026-06-01T00:00:00Z", "rounds": [],
    });
    let (pull, _) = pds.add(alice, PULL, pull);
    // The knot names the same owner as before the declaration.
    let described = json!({ "repoDid": repo.did, "ownerDid": alice, "rkey": "moving" });
    let answer = Fault::answer(
        200,
        &[("content-type", "application/json")],
        described.to_string(),
    );
    let knot = stage.world.knot().host();
    knot.fault(answer.on("sh.tangled.repo.describeRepo").always());
    // The account of the repository has no manifest yet.
    let missing = Fault::error(400, "RecordNotFound", "Could not locate record");
    knot.fault(missing.on("com.atproto.repo.getRecord").always());
    stage.world.index().lose_next(STATUS, 99);
    let status = json!({
        "$type": STATUS, "pull": pull, "status": format!("{STATUS}.closed"),
        "createdAt": "2026-06-02T00:00:00Z",
    });
    let (status, _) = pds.add(alice, STATUS, status);
    let settings = TangledSettings {
        wait: Duration::from_millis(50),
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let at = AtUri::parse(&status).unwrap();
    let version = || pds.record(&status).unwrap().0;
    let first = version();
    forge.put_again(&at).await.unwrap();
    let second = version();
    assert_ne!(first, second, "it was put again");
    let declaration = json!({ "repo": repo.did, "createdAt": "2026-11-01T00:00:00Z" });
    pds.put(alice, DECLARATION, "moving", declaration);
    // The first pass reads the declaration, the second uses the cache.
    for _ in 0..2 {
        let e = forge.put_again(&at).await.unwrap_err();
        assert_eq!(e.code(), "precondition_failed", "{e:?}");
        assert!(e.message().contains("uses Tangled 1.0 by now"), "{e:?}");
        assert_eq!(version(), second);
    }
}

#[tokio::test]
async fn cached_facts_send_no_requests() {
    let stage = Stage::new();
    let forge = stage.tangled_with(stage.settings(), None);
    forge.era(&stage.id()).await.unwrap();
    let hosts = [
        stage.world.directory().host(),
        stage.world.pds().host(),
        stage.world.knot().host(),
    ];
    let count = || hosts.iter().map(|host| host.count()).sum::<usize>();
    let before = count();
    forge.era(&stage.id()).await.unwrap();
    assert_eq!(count(), before);
    assert_eq!(stage.settings().kept, Duration::from_secs(300));
}

/// The writes to a repository of 2026, by name.
const WRITES: [&str; 17] = [
    "create",
    "resubmit",
    "title",
    "labels",
    "draft",
    "close",
    "close with a comment",
    "reopen",
    "merge",
    "comment",
    "answer",
    "edit a comment",
    "delete a comment",
    "open an issue",
    "edit an issue",
    "close an issue",
    "define a label",
];

/// Cached facts about a repository may be minutes old, so each write checks the declaration.
#[tokio::test]
async fn declaration_during_process_stops_older_writes() {
    let stage = Stage::new();
    let (pds, alice, id) = (stage.world.pds(), stage.alice.did.as_str(), stage.id());
    let repo = stage.handle(&stage.alice);
    let open = stage.open(&repo, "open").await.id;
    let closed = stage.open(&repo, "closed").await.id;
    let settings = TangledSettings {
        draft_marker: Some(DraftMarker::new("[draft]").unwrap()),
        ..stage.settings()
    };
    let client = || stage.tangled_with(settings.clone(), Some(&stage.alice));
    let forge = client();
    forge.close(&closed, &CloseReq::default()).await.unwrap();
    let bug = NewLabel::new("bug");
    forge.define_label(&id, &bug).await.unwrap();
    let said = forge.comment(&open, "Why?", None).await.unwrap().value.id;
    let said = CommentId {
        pr: open.clone(),
        key: said,
    };
    let new = NewIssue::new("One", "");
    let issue = forge.create_issue(&id, &new).await.unwrap().value.id;
    stage
        .repo
        .git
        .commit("topic", "Add a", &[("a", Some("1\n"))]);
    stage
        .repo
        .git
        .commit("open", "Add b", &[("b", Some("1\n"))]);
    let written = || {
        let methods = ["applyWrites", "putRecord", "deleteRecord", "uploadBlob"];
        let of = |method: &&str| pds.host().count_of(&format!("com.atproto.repo.{method}"));
        let merged = stage.world.knot().host().count_of(MERGE);
        methods.iter().map(of).sum::<usize>() + merged
    };
    let before = written();
    for what in WRITES {
        let forge = client();
        assert_eq!(forge.era(&id).await.unwrap(), Era::Sh2026);
        let declaration = json!({ "repo": stage.repo.did, "createdAt": "2026-11-01T00:00:00Z" });
        pds.put(alice, DECLARATION, "widget", declaration);
        let mut edit = EditPull::default();
        match what {
            "title" => edit.title = Some("Another".into()),
            _ => edit.labels.add = vec!["bug".into()],
        }
        let mut close = CloseReq::default();
        close.comment = (what != "close").then(|| "No.".to_owned());
        let mut body = EditIssue::default();
        body.body = Some("More".into());
        let another = NewLabel::new("docs");
        let state = SetIssueState::to(IssueState::Closed);
        let done = match what {
            "create" => forge
                .create(&id, &CreatePull::new("topic", "T"))
                .await
                .map(drop),
            "resubmit" => forge.resubmit(&open, &Resubmit::default()).await.map(drop),
            "title" | "labels" => forge.edit(&open, &edit).await.map(drop),
            "draft" => forge.set_draft(&open, true).await.map(drop),
            "close" | "close with a comment" => forge.close(&open, &close).await.map(drop),
            "reopen" => forge.reopen(&closed, None).await.map(drop),
            "merge" => forge.merge(&open, &MergeReq::default()).await.map(drop),
            "comment" => forge.comment(&open, "So?", None).await.map(drop),
            "answer" => forge.comment(&open, "So.", Some(&said)).await.map(drop),
            "edit a comment" => forge.edit_comment(&said, "Why not?").await.map(drop),
            "delete a comment" => forge.delete_comment(&said).await.map(drop),
            "open an issue" => forge.create_issue(&id, &new).await.map(drop),
            "edit an issue" => forge.edit_issue(&issue, &body).await.map(drop),
            "close an issue" => forge.set_issue_state(&issue, &state).await.map(drop),
            _ => forge.define_label(&id, &another).await.map(drop),
        };
        let e = done.unwrap_err();
        assert_eq!(e.code(), "precondition_failed", "{what}: {e:?}");
        assert!(e.message().contains("uses Tangled 1.0 by now"), "{e:?}");
        assert_eq!(*action(&e), Action::again(&[]), "{what}");
        assert_eq!(written(), before, "{what}");
        assert_eq!(forge.era(&id).await.unwrap(), Era::Org10, "{what}");
        pds.delete(alice, DECLARATION, "widget");
    }
}

/// Without the owner's list of declarations, writes cannot choose a protocol. Reads continue.
#[tokio::test]
async fn writes_need_the_owners_declaration_list() {
    let stage = Stage::new();
    let open = stage.open(&stage.handle(&stage.alice), "topic").await.id;
    let forge = stage.tangled(&stage.bob);
    forge.view(&open, PrFields::NONE).await.unwrap();
    let host = stage.world.pds().host();
    let down = Fault::gateway(503).on("com.atproto.repo.listRecords");
    host.fault(down.about(DECLARATION).always());
    let e = forge.comment(&open, "So?", None).await.unwrap_err();
    assert_eq!(e.code(), "upstream", "{e:?}");
    assert!(e.message().contains("it is unknown whether"), "{e:?}");
    assert_eq!(
        host.count_of("com.atproto.repo.applyWrites"),
        1,
        "the pull request alone"
    );
    forge.view(&open, PrFields::NONE).await.unwrap();
    host.clear_faults();
    forge.comment(&open, "So?", None).await.unwrap();
}
