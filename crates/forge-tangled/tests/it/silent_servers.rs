//! Servers of other accounts that do not answer. Lists and views go on without them.

use std::{sync::Arc, time::Duration};

use forge_core::{
    Client, Page, PageReq, Policy, Repo, Warning,
    model::{
        CreatePull, EditPull, IssueFields, IssueQuery, NewIssue, PrFields, PullQuery, PullRequest,
        SetChange,
    },
};
use forge_tangled::{Origin, TangledSettings};
use forge_tangled_world::{Account, Fault, PdsDouble, PdsOptions};
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage};

const PULL: &str = "sh.tangled.repo.pull";
const COMMENT: &str = "sh.tangled.feed.comment";
const LIST_RECORDS: &str = "com.atproto.repo.listRecords";
const RESOLVE: &str = "com.atproto.identity.resolveHandle";
const DOCUMENT: &str = "/.well-known/did.json";
const TIME: &str = "2026-11-01T00:00:00Z";

/// A command has this time. It is far longer than the limits of [`short`].
const DEADLINE: Duration = Duration::from_secs(12);

/// Returns settings with short limits for names and for the servers of others.
fn short(stage: &Stage) -> TangledSettings {
    TangledSettings {
        name_wait: Duration::from_millis(400),
        account_wait: Duration::from_millis(400),
        ..stage.settings()
    }
}

fn repo_with(stage: &Stage, settings: TangledSettings, deadline: Duration) -> Repo {
    let mut policy = Policy::default();
    policy.deadline = deadline;
    let forge = stage.tangled_with(settings, Some(&stage.bob));
    Client::new(Arc::new(forge), policy).repo(stage.id())
}

fn repo(stage: &Stage) -> Repo {
    repo_with(stage, short(stage), DEADLINE)
}

async fn list(repo: &Repo, query: &PullQuery) -> Page<PullRequest> {
    repo.pulls(query, PageReq::first(30)).await.unwrap()
}

async fn all(repo: &Repo) -> Page<PullRequest> {
    list(repo, &PullQuery::default()).await
}

/// A fault that never answers, as far as a test can see.
fn silence() -> Fault {
    Fault::delayed(Duration::from_secs(600)).always()
}

fn comment(subject: &PullRequest, text: &str) -> Value {
    json!({
        "subject": { "uri": subject.node_id, "cid": subject.version },
        "body": { "text": text }, "createdAt": TIME,
    })
}

fn pull(stage: &Stage, title: &str) -> Value {
    json!({
        "title": title, "target": { "repo": stage.repo.did, "branch": "main" },
        "createdAt": TIME, "rounds": [],
    })
}

#[track_caller]
fn told(warnings: &[Warning], parts: &[&str]) {
    let has_all = |w: &Warning| parts.iter().all(|part| w.message.contains(part));
    assert!(warnings.iter().any(has_all), "{parts:?} in {warnings:#?}");
}

/// Where the name of Mallory is looked up, and nothing answers.
#[derive(Clone, Copy, Debug)]
enum Silent {
    /// The host of a `did:web`.
    Document,
    /// The host of the handle.
    Handle,
    /// The directory.
    Directory,
    /// The host of a `did:web` that redirects to itself.
    Redirects,
}

/// Creates the account of Mallory, whose name cannot be looked up.
fn mallory(stage: &Stage, silent: Silent) -> (PdsDouble, Account) {
    let pds = stage.world.another_pds(PdsOptions::default()).unwrap();
    let host = pds.host();
    let account = match silent {
        Silent::Document | Silent::Redirects => pds.web_account("mallory.test", PASSWORD),
        Silent::Handle | Silent::Directory => pds.account("mallory.test", PASSWORD),
    };
    match silent {
        Silent::Document => host.fault(silence().on_path(DOCUMENT)),
        Silent::Redirects => {
            let again = format!("{}{DOCUMENT}", host.url());
            let fault = Fault::answer(302, &[("location", again.as_str())], "");
            host.fault(fault.on_path(DOCUMENT).always());
        }
        Silent::Handle => {
            let fault = silence().on(RESOLVE).about("mallory.test");
            stage.world.pds().host().fault(fault);
        }
        Silent::Directory => {
            let fault = silence().on_path(&format!("/{}", account.did));
            stage.world.directory().host().fault(fault);
        }
    }
    (pds, account)
}

#[tokio::test]
async fn silent_name_of_stranger_is_shown_as_did() {
    for silent in [
        Silent::Document,
        Silent::Handle,
        Silent::Directory,
        Silent::Redirects,
    ] {
        let stage = Stage::new();
        let owner = stage.handle(&stage.alice);
        let made = stage.open(&owner, "topic").await;
        let new = NewIssue::new("An issue", "");
        let issue = owner.create_issue(&new).await.unwrap().value;
        let (pds, mallory) = mallory(&stage, silent);
        pds.add(&mallory.did, COMMENT, comment(&made, "Hm."));
        let about = json!({
            "subject": { "uri": issue.node_id, "cid": issue.version },
            "body": { "text": "Hm." }, "createdAt": TIME,
        });
        pds.add(&mallory.did, COMMENT, about);
        pds.add(&mallory.did, PULL, pull(&stage, "Mallory's"));
        let said = comment(&made, "Fine.");
        stage.world.pds().add(&stage.bob.did, COMMENT, said);

        let logins = |comments: Option<Vec<forge_core::model::Comment>>| {
            let comments = comments.unwrap_or_default();
            let mut logins: Vec<String> = comments.into_iter().map(|c| c.author.login).collect();
            logins.sort();
            logins
        };
        let mut both = vec!["bob.test".to_owned(), mallory.did.clone()];
        both.sort();
        let view = repo(&stage).pull(&made.id, PrFields::COMMENTS).await;
        let view = view.unwrap_or_else(|e| panic!("{silent:?}: {e:?}"));
        assert_eq!(logins(view.comments), both, "{silent:?}");
        let issue = repo(&stage).issue(&issue.id, &IssueFields::COMMENTS).await;
        let issue = issue.unwrap_or_else(|e| panic!("{silent:?}: {e:?}"));
        assert_eq!(logins(issue.comments), [mallory.did.as_str()], "{silent:?}");
        let page = all(&repo(&stage)).await;
        let mut authors: Vec<String> = page.items.into_iter().map(|p| p.author.login).collect();
        authors.sort();
        let mut wanted = vec!["alice.test".to_owned(), mallory.did.clone()];
        wanted.sort();
        assert_eq!(authors, wanted, "{silent:?}");
    }
}

/// If each account had the whole limit, a hundred silent names would exceed the deadline.
#[tokio::test]
async fn silent_names_share_one_limit() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    for n in 0..100 {
        let account = pds.account(&format!("silent{n}.test"), PASSWORD);
        pds.add(&account.did, COMMENT, comment(&made, "Hm."));
    }
    let fault = silence().on(RESOLVE).about("silent");
    pds.host().fault(fault);
    let repo = repo_with(&stage, short(&stage), Duration::from_secs(5));
    let view = repo.pull(&made.id, PrFields::COMMENTS).await.unwrap();
    let comments = view.comments.unwrap();
    assert_eq!(comments.len(), 100);
    let by_did = |c: &&forge_core::model::Comment| c.author.login.starts_with("did:plc:");
    assert_eq!(comments.iter().filter(by_did).count(), 100);
    // The author of the pull request has a name: its server answers.
    assert_eq!(view.author.login, "alice.test");
}

#[tokio::test]
async fn failed_name_is_looked_up_once() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, mallory) = mallory(&stage, Silent::Document);
    pds.host().clear_faults();
    pds.host()
        .fault(Fault::gateway(404).on_path(DOCUMENT).always());
    for n in 0..20 {
        pds.add(&mallory.did, COMMENT, comment(&made, &format!("{n}")));
    }
    let repo = repo(&stage);
    for _ in 0..2 {
        let view = repo.pull(&made.id, PrFields::COMMENTS).await.unwrap();
        assert_eq!(view.comments.unwrap().len(), 20);
    }
    assert_eq!(pds.host().count(), 1);
}

/// A write depends on the accounts of the viewer and of the owner, so it waits for them.
#[tokio::test]
async fn silent_handle_of_login_or_owner_writes_nothing() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds().host();
    for handle in ["bob.test", "alice.test"] {
        pds.fault(silence().on(RESOLVE).about(handle));
        pds.reset_record();
        let repo = repo_with(&stage, short(&stage), Duration::from_secs(2));
        let e = repo.comment(&made.id, "Hm.", None).await.unwrap_err();
        assert_eq!(e.code(), "timeout", "{handle}: {e:?}");
        for write in ["applyWrites", "createRecord", "putRecord"] {
            let method = format!("com.atproto.repo.{write}");
            assert_eq!(pds.count_of(&method), 0, "{handle}");
        }
        pds.clear_faults();
    }
}

/// Puts a pull request of Carol on a server that is silent for `method`.
fn silent_pds(stage: &Stage, method: &str) -> (PdsDouble, Account) {
    let pds = stage.world.another_pds(PdsOptions::default()).unwrap();
    let carol = pds.account("carol.test", PASSWORD);
    pds.add(&carol.did, PULL, pull(stage, "Carol's"));
    pds.host().fault(silence().on(method));
    (pds, carol)
}

#[tokio::test]
async fn silent_author_server_is_named_and_others_are_listed() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, carol) = silent_pds(&stage, LIST_RECORDS);
    stage.world.index().host().set_down(true);
    let page = all(&repo(&stage)).await;
    let titles: Vec<&str> = page.items.iter().map(|p| p.title.as_str()).collect();
    assert_eq!(titles, ["Title of topic"]);
    told(&page.warnings, &[&carol.did, &pds.host().authority()]);
    assert_eq!(page.total, None);
}

#[tokio::test]
async fn silent_document_of_author_is_named_in_list() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.another_pds(PdsOptions::default()).unwrap();
    let carol = pds.web_account("carol.test", PASSWORD);
    pds.add(&carol.did, PULL, pull(&stage, "Carol's"));
    pds.host().fault(silence().on_path(DOCUMENT));
    stage.world.index().host().set_down(true);
    let page = all(&repo(&stage)).await;
    assert_eq!(page.items.len(), 1);
    told(&page.warnings, &[&carol.did, "localhost", "did not answer"]);
}

/// Thirty silent servers, of which not all are asked at once, take one window and not thirty.
#[tokio::test]
async fn many_silent_servers_do_not_exceed_the_deadline() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.another_pds(PdsOptions::default()).unwrap();
    for n in 0..60 {
        let account = pds.account(&format!("silent{n}.test"), PASSWORD);
        pds.add(&account.did, PULL, pull(&stage, "Silent"));
    }
    pds.host().fault(silence().on(LIST_RECORDS));
    stage.world.index().host().set_down(true);
    let settings = TangledSettings {
        account_wait: Duration::from_secs(60),
        ..short(&stage)
    };
    let repo = repo_with(&stage, settings, Duration::from_secs(4));
    let page = all(&repo).await;
    assert_eq!(page.items.len(), 1);
    told(&page.warnings, &["10 more accounts could not be read"]);
    assert!(page.warnings.len() < 70, "{}", page.warnings.len());
}

#[tokio::test]
async fn silent_commenter_is_named_and_other_comments_are_shown() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, carol) = silent_pds(&stage, "com.atproto.repo.getRecord");
    pds.add(&carol.did, COMMENT, comment(&made, "Hm."));
    let said = comment(&made, "Fine.");
    stage.world.pds().add(&stage.bob.did, COMMENT, said);
    stage.world.index().host().set_down(true);
    let view = repo(&stage).pull(&made.id, PrFields::COMMENTS).await;
    let view = view.unwrap();
    let bodies = view.comments.unwrap();
    let bodies: Vec<&str> = bodies.iter().map(|c| c.body.as_str()).collect();
    assert_eq!(bodies, ["Fine."]);
    told(&view.warnings, &[&carol.did, &pds.host().authority()]);
}

#[tokio::test]
async fn silent_patch_server_hides_one_row_of_touches() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (_, record) = stage.world.pds().record(&made.node_id).unwrap();
    let patch = record["rounds"][0]["patchBlob"]["ref"]["$link"].as_str();
    let patch = stage
        .world
        .pds()
        .blob_bytes(&stage.alice.did, patch.unwrap());
    let patch = patch.unwrap();
    let (pds, carol) = silent_pds(&stage, "com.atproto.sync.getBlob");
    for n in 0..5 {
        let blob = pds.blob(&carol.did, "application/gzip", &patch);
        let mut record = pull(&stage, &format!("Carol's {n}"));
        record["rounds"] = json!([{ "patchBlob": blob, "createdAt": TIME }]);
        pds.add(&carol.did, PULL, record);
    }
    let mut query = PullQuery::default();
    query.touches = vec!["topic.txt".to_owned()];
    let page = list(&repo(&stage), &query).await;
    let titles: Vec<&str> = page.items.iter().map(|p| p.title.as_str()).collect();
    assert_eq!(titles, ["Title of topic"]);
    told(&page.warnings, &[&pds.host().authority()]);
}

#[tokio::test]
async fn silent_label_server_is_named_and_view_is_shown() {
    let stage = Stage::new();
    let owner = stage.handle(&stage.alice);
    let made = stage.open(&owner, "topic").await;
    let pds = stage.world.another_pds(PdsOptions::default()).unwrap();
    let carol = pds.account("carol.test", PASSWORD);
    let definition = json!({ "name": "bug", "valueType": { "type": "null" }, "createdAt": TIME });
    let kind = "sh.tangled.label.definition";
    let (label, _) = pds.put(&carol.did, kind, "bug", definition);
    let (_, mut record) = stage.world.pds().record(&stage.repo.uri).unwrap();
    record["labels"].as_array_mut().unwrap().push(json!(label));
    let alice = &stage.alice.did;
    stage
        .world
        .pds()
        .put(alice, "sh.tangled.repo", "widget", record);
    let op = json!({
        "subject": made.node_id, "performedAt": TIME,
        "add": [{ "key": label, "value": "null" }], "delete": [],
    });
    stage.world.pds().add(alice, "sh.tangled.label.op", op);
    pds.host().fault(silence());
    let view = repo(&stage).pull(&made.id, PrFields::NONE).await.unwrap();
    told(&view.warnings, &[&label, &pds.host().authority()]);
    let mut edit = EditPull::default();
    edit.labels = SetChange {
        add: vec!["bug".to_owned()],
        remove: Vec::new(),
    };
    let e = repo(&stage).edit_pull(&made.id, &edit).await.unwrap_err();
    assert!(e.message().contains(&label), "{e:?}");
}

#[tokio::test]
async fn silent_knot_is_a_doubt_in_lists_and_stops_writes() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let knot = stage.world.knot().host();
    knot.fault(silence());
    let repo = repo_with(&stage, short(&stage), Duration::from_secs(3));
    let page = all(&repo).await;
    assert_eq!(page.items.len(), 1);
    told(
        &page.warnings,
        &["does not name its owner", "did not answer"],
    );
    let query = IssueQuery::default();
    let issues = repo.issues(&query, PageReq::first(30)).await.unwrap();
    assert!(issues.items.is_empty());
    let mut req = CreatePull::new("topic", "Again");
    req.base = Some("main".to_owned());
    assert!(repo.create_pull(&req).await.is_err());
    let own = stage.world.pds().records(&stage.bob.did, PULL);
    assert!(own.is_empty(), "{own:?}");
}

#[tokio::test]
async fn slow_server_within_the_limit_is_read() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    // Handles resolve at the directory, not at the slow server of the accounts.
    let settings = TangledSettings {
        handles: Some(Origin::configured(&stage.world.directory().host().url()).unwrap()),
        ..short(&stage)
    };
    stage.world.index().host().set_down(true);
    let pds = stage.world.pds().host();
    pds.set_latency(Duration::from_millis(100));
    let repo = repo_with(&stage, settings, DEADLINE);
    let view = repo.pull(&made.id, PrFields::COMMENTS).await.unwrap();
    assert_eq!(view.author.login, "alice.test");
    let unread = |w: &&Warning| w.message.contains("could not be read");
    assert_eq!(view.warnings.iter().find(unread), None);
}
