//! Lists that do not end, repeat themselves, or hold what strangers wrote. Their cost is bounded.

use std::{sync::Arc, time::Duration};

use forge_core::{
    Client, Issues, NamedAccounts, Page, PageReq, Policy, PrId, PrKey, PullRequests, Repo, Reviews,
    Warning,
    model::{
        CreatePull, EditPull, IssueFilter, IssueQuery, NewIssue, NewLabel, PrFields, PullQuery,
        PullRequest, SetChange, StateFilter,
    },
};
use forge_tangled_world::{Audience, Fault, Host, KnotOptions, PdsOptions, World};
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage, action};

const PULL: &str = "sh.tangled.repo.pull";
const COMMENT: &str = "sh.tangled.feed.comment";
const LABEL_OP: &str = "sh.tangled.label.op";
const LIST_PULLS: &str = "sh.tangled.repo.listPulls";
const LIST_COMMENTS: &str = "sh.tangled.feed.listComments";
const COLLABORATORS: &str = "sh.tangled.repo.listCollaborators";
const LIST_RECORDS: &str = "com.atproto.repo.listRecords";
const GET_RECORD: &str = "com.atproto.repo.getRecord";
const TIME: &str = "2026-11-01T00:00:00Z";
const AGAIN: &str = "a cursor was sent again";

fn pull(stage: &Stage, title: &str) -> Value {
    json!({
        "title": title, "target": { "repo": stage.repo.did, "branch": "main" },
        "createdAt": TIME, "rounds": [],
    })
}

fn label_op(subject: &str, key: &str) -> Value {
    json!({
        "subject": subject, "performedAt": TIME,
        "add": [{ "key": key, "value": "null" }], "delete": [],
    })
}

fn all() -> PullQuery {
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    query
}

fn has(warnings: &[Warning], part: &str) -> bool {
    warnings.iter().any(|w| w.message.contains(part))
}

async fn list(stage: &Stage, query: &PullQuery) -> Page<PullRequest> {
    let forge = stage.tangled(&stage.bob);
    let page = forge.list(stage.repo_id(), query, PageReq::first(100));
    page.await.unwrap()
}

/// Answers `method` with `body` and the cursors a, b, a, b and so on.
fn alternate(host: &Host, method: &str, body: &Value) {
    let answer = |cursor: &str| {
        let mut body = body.clone();
        body["cursor"] = json!(cursor);
        let json = [("content-type", "application/json")];
        Fault::answer(200, &json, body.to_string())
            .on(method)
            .always()
    };
    host.fault(answer("bbbb").about("cursor=aaaa"));
    host.fault(answer("aaaa").about("cursor=bbbb"));
    host.fault(answer("aaaa"));
}

/// Subscribes the repository to `count` labels in Bob's account.
fn use_labels(stage: &Stage, count: usize) {
    let pds = stage.world.pds();
    let kind = "sh.tangled.label.definition";
    let labels = (0..count).map(|n| {
        let name = format!("label{n}");
        let value = json!({ "name": name, "valueType": { "type": "null" }, "createdAt": TIME });
        pds.put(&stage.bob.did, kind, &name, value).0
    });
    let labels: Vec<String> = labels.collect();
    let (_, mut record) = pds.record(&stage.repo.uri).unwrap();
    record["labels"] = json!(labels);
    pds.put(&stage.alice.did, "sh.tangled.repo", "widget", record);
}

#[tokio::test]
async fn label_operations_of_strangers_cost_no_request() {
    let stage = Stage::new();
    let owner = stage.handle(&stage.alice);
    use_labels(&stage, 30);
    let strangers = stage.world.another_pds(PdsOptions::default()).unwrap();
    let carol = strangers.account("carol.test", PASSWORD);
    let issue = NewIssue::new("An issue", "");
    let issue = owner.create_issue(&issue).await.unwrap().value;
    strangers.add(
        &carol.did,
        LABEL_OP,
        label_op(&issue.node_id, "at://did:plc:x/l/i"),
    );
    let mut pulls = Vec::new();
    for n in 0..20 {
        let record = pull(&stage, &format!("{n}"));
        let (uri, _) = stage.world.pds().add(&stage.bob.did, PULL, record);
        let key = format!("at://did:plc:x/sh.tangled.label.definition/{n}");
        strangers.add(&carol.did, LABEL_OP, label_op(&uri, &key));
        pulls.push(uri);
    }
    let pds = stage.world.pds().host();
    let mut by_label = all();
    by_label.labels = vec!["label1".to_owned()];
    let mut issues = IssueQuery::default();
    issues.state = IssueFilter::All;
    issues.labels = vec!["label1".to_owned()];
    for index_is_down in [false, true] {
        stage.world.index().host().set_down(index_is_down);
        let forge = stage.tangled(&stage.bob);
        forge.era(stage.repo_id()).await.unwrap();
        pds.reset_record();
        let page = forge.list(stage.repo_id(), &by_label, PageReq::first(30));
        assert!(page.await.unwrap().items.is_empty());
        let found = forge.issues(stage.repo_id(), &issues, PageReq::first(9));
        assert!(found.await.unwrap().items.is_empty());
        // The record of the repository names the labels, each of which is read once.
        assert_eq!(pds.count_of(GET_RECORD), 31, "{index_is_down}");
        let id = PrId {
            repo: stage.id(),
            key: PrKey::Record(pulls[0].clone()),
        };
        pds.reset_record();
        let view = forge.view(&id, PrFields::NONE).await.unwrap();
        assert!(view.labels.is_empty());
        assert_eq!(pds.count_of(GET_RECORD), 1, "{index_is_down}");
        let asked = strangers.host().count_of(GET_RECORD) + strangers.host().count_of(LIST_RECORDS);
        assert_eq!(asked, 0, "{index_is_down}");
    }
}

/// A label that the repository has no more makes forge read its definitions once, not for each row.
#[tokio::test]
async fn unsubscribed_label_is_searched_for_once() {
    let stage = Stage::new();
    use_labels(&stage, 10);
    let pds = stage.world.pds();
    for n in 0..20 {
        let record = pull(&stage, &format!("{n}"));
        let (uri, _) = pds.add(&stage.bob.did, PULL, record);
        let op = label_op(&uri, "at://did:plc:x/sh.tangled.label.definition/gone");
        pds.add(&stage.alice.did, LABEL_OP, op);
    }
    let forge = stage.tangled(&stage.bob);
    forge.era(stage.repo_id()).await.unwrap();
    pds.host().reset_record();
    let mut by_label = all();
    by_label.labels = vec!["label1".to_owned()];
    let page = forge.list(stage.repo_id(), &by_label, PageReq::first(30));
    assert!(page.await.unwrap().items.is_empty());
    assert_eq!(pds.host().count_of(GET_RECORD), 22);
}

#[tokio::test]
async fn alternating_cursors_end_an_index_list() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let index = stage.world.index().host();
    let row = {
        let (uri, cid, value) = stage.world.pds().records(&stage.alice.did, PULL).remove(0);
        json!({ "uri": uri, "cid": cid, "value": value, "state": "open", "commentCount": 0 })
    };
    alternate(index, LIST_PULLS, &json!({ "items": [row, row, row] }));
    index.reset_record();
    let page = list(&stage, &all()).await;
    // Rows are unique, and the list has neither a next page nor a total.
    assert_eq!(page.items.len(), 1);
    assert_eq!((page.total, page.next), (None, None));
    assert!(has(&page.warnings, AGAIN), "{:?}", page.warnings);
    assert_eq!(index.count_of(LIST_PULLS), 3);
}

#[tokio::test]
async fn alternating_cursors_end_a_list_of_comments() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let said = json!({
        "subject": { "uri": made.node_id, "cid": made.version },
        "body": { "text": "Hm." }, "createdAt": TIME,
    });
    let (uri, cid) = stage.world.pds().add(&stage.bob.did, COMMENT, said.clone());
    let index = stage.world.index();
    let row = json!({ "uri": uri, "cid": cid, "value": said });
    alternate(index.host(), LIST_COMMENTS, &json!({ "items": [row, row] }));
    let forge = stage.tangled(&stage.alice);
    let page = forge.comments(&made.id, PageReq::first(30)).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert!(has(&page.warnings, AGAIN), "{:?}", page.warnings);
    assert_eq!(index.host().count_of(LIST_COMMENTS), 3);
}

#[tokio::test]
async fn alternating_cursors_end_the_backlinks() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let index = stage.world.index();
    index.host().set_down(true);
    let dids = "blue.microcosm.links.getBacklinkDids";
    let body = json!({ "total": 9, "linking_dids": [stage.alice.did] });
    alternate(index.backlinks(), dids, &body);
    let page = list(&stage, &all()).await;
    assert_eq!((page.items.len(), page.total), (1, None));
    let part = "a page named no further account";
    assert!(has(&page.warnings, part), "{:?}", page.warnings);
    let links = "blue.microcosm.links.getBacklinks";
    let body = json!({ "records": [{ "did": stage.bob.did, "collection": COMMENT, "rkey": "x" }] });
    alternate(index.backlinks(), links, &body);
    index.backlinks().reset_record();
    let forge = stage.tangled(&stage.bob);
    let page = forge.comments(&made.id, PageReq::first(30)).await.unwrap();
    assert!(has(&page.warnings, AGAIN), "{:?}", page.warnings);
    // Comments have two collections.
    assert!(index.backlinks().count_of(links) <= 6);
}

#[tokio::test]
async fn alternating_cursors_end_the_list_of_an_account() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    stage.world.index().host().set_down(true);
    let other = stage.world.another_pds(PdsOptions::default()).unwrap();
    let carol = other.account("carol.test", PASSWORD);
    let (uri, cid) = other.add(&carol.did, PULL, pull(&stage, "Carol's"));
    let (_, value) = other.record(&uri).unwrap();
    let row = json!({ "uri": uri, "cid": cid, "value": value });
    let rows = vec![row; 60];
    alternate(other.host(), LIST_RECORDS, &json!({ "records": rows }));
    let page = list(&stage, &all()).await;
    assert_eq!(page.items.len(), 2);
    assert!(has(&page.warnings, AGAIN), "{:?}", page.warnings);
    assert_eq!(page.total, None);
    // Pull requests and statuses.
    assert_eq!(other.host().count_of(LIST_RECORDS), 6);
}

/// Returns `count` answers of `method` with a row each, and always another cursor.
fn endless(method: &str, count: usize, row: impl Fn(usize) -> Value) -> Fault {
    let pages = (0..count).rev().map(|n| {
        let json = [("content-type", "application/json")];
        let mut body = row(n);
        body["cursor"] = json!(format!("page{n}"));
        Fault::answer(200, &json, body.to_string()).on(method)
    });
    pages.reduce(|later, page| page.then(later)).unwrap()
}

#[tokio::test]
async fn endless_list_of_collaborators_is_unknown_after_its_bound() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let knot = stage.world.knot().host();
    let row = |n: usize| json!({ "items": [{ "subject": format!("did:plc:pusher{n:018}") }] });
    knot.fault(endless(COLLABORATORS, 100, row));
    knot.reset_record();
    let forge = stage.tangled(&stage.bob);
    let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
    assert_eq!(knot.count_of(COLLABORATORS), 20);
    let part = "the knot does not list them";
    assert!(has(&view.warnings, part), "{:?}", view.warnings);
    assert!(has(&view.warnings, "does not end"), "{:?}", view.warnings);
}

fn numbered(stage: &Stage, number: u64) -> PrId {
    PrId {
        repo: stage.id(),
        key: PrKey::Number(number),
    }
}

#[tokio::test]
async fn page_of_a_number_follows_the_rule_for_documents() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let web = stage.world.index().web();
    for to in [
        "https://10.0.0.1/x",
        "https://intranet/x",
        "https://192.168.7.7/x",
    ] {
        let redirect = Fault::answer(302, &[("location", to)], "");
        web.fault(redirect.on_path("/"));
        let forge = stage.tangled(&stage.bob);
        let view = forge.view(&numbered(&stage, 1), PrFields::ROW).await;
        let e = view.unwrap_err();
        assert_eq!(e.code(), "protocol", "{to}: {e:?}");
        assert!(e.message().contains("which is not contacted"), "{e:?}");
    }
    let again = format!("{}/alice.test/widget/pulls/1", web.url());
    let redirect = Fault::answer(302, &[("location", again.as_str())], "");
    web.fault(redirect.on_path("/").times(4));
    web.reset_record();
    let forge = stage.tangled(&stage.bob);
    let view = forge.view(&numbered(&stage, 1), PrFields::ROW).await;
    assert!(
        view.unwrap_err()
            .message()
            .contains("more than 3 redirects")
    );
    assert_eq!(web.count(), 4);
    // A page that names the record is read up to 4 MiB.
    let page = format!("<h1>#1</h1><i data-aturi=\"{}\"></i>", made.node_id);
    for (length, is_read) in [(3 << 20, true), (5 << 20, false)] {
        let page = format!("{page}{}", "x".repeat(length));
        let page = Fault::answer(200, &[("content-type", "text/html")], page);
        web.fault(page.on_path("/"));
        let forge = stage.tangled(&stage.bob);
        match forge.view(&numbered(&stage, 1), PrFields::ROW).await {
            Ok(view) => assert!(is_read && view.number == Some(1), "{length}: {view:?}"),
            Err(e) => assert!(!is_read && e.code() == "protocol", "{length}: {e:?}"),
        }
    }
    let view = forge.view(&numbered(&stage, 1), PrFields::ROW).await;
    assert_eq!(view.unwrap().number, Some(1));
}

#[tokio::test]
async fn silent_page_of_a_number_is_an_error_before_the_deadline() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let web = stage.world.index().web();
    web.fault(
        Fault::delayed(Duration::from_secs(600))
            .on_path("/")
            .always(),
    );
    let mut policy = Policy::default();
    policy.deadline = Duration::from_secs(2);
    let forge = Arc::new(stage.tangled(&stage.bob));
    let repo = Client::new(forge, policy).repo(stage.id());
    let view = repo.pull(&numbered(&stage, 1), PrFields::ROW).await;
    let e = view.unwrap_err();
    assert_eq!(e.code(), "timeout", "{e:?}");
    assert!(
        e.message()
            .contains("/alice.test/widget/pulls/1 did not answer"),
        "{e:?}"
    );
}

#[tokio::test]
async fn refused_audience_leads_to_no_other_token() {
    let options = KnotOptions {
        audience: Audience::Repository,
        ..KnotOptions::default()
    };
    let stage = Stage::of(World::with(PdsOptions::default(), options).unwrap());
    let (repo, id) = stage.repo_1_0();
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let forge = stage.tangled(&stage.alice);
    let pds = stage.world.pds().host();
    for _ in 0..2 {
        let e = forge.create(&id, &CreatePull::new("topic", "One")).await;
        let e = e.unwrap_err();
        let set = action(&e);
        let shown = format!("{set:?}");
        assert!(
            shown.contains("hosts.tangled.org.dialect.audience"),
            "{shown}"
        );
        assert!(shown.contains("repository"), "{shown}");
    }
    let tokens = pds.requests().into_iter();
    let tokens = tokens.filter(|r| r.method() == Some("com.atproto.server.getServiceAuth"));
    let audiences: Vec<String> = tokens.map(|r| r.query).collect();
    assert!(!audiences.is_empty());
    let is_knot =
        |query: &String| query.contains("aud=did%3Aweb%3A") || query.contains("aud=did:web:");
    assert!(audiences.iter().all(is_knot), "{audiences:?}");
}

/// Returns a handle whose arguments may name only the accounts of the repository.
fn limited(stage: &Stage) -> Repo {
    let mut policy = Policy::default();
    policy.accounts = NamedAccounts::OfRepository;
    let forge = Arc::new(stage.tangled(&stage.alice));
    Client::new(forge, policy).repo(stage.id())
}

/// Returns how many requests of the world name the stranger.
fn asked_for(stage: &Stage, name: &str) -> usize {
    let world = &stage.world;
    let hosts = [
        world.directory().host(),
        world.pds().host(),
        world.knot().host(),
        world.index().host(),
    ];
    let all = hosts.into_iter().flat_map(Host::requests);
    all.filter(|r| format!("{r:?}").contains(name)).count()
}

#[tokio::test]
async fn account_beside_the_repository_is_not_looked_up() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let stranger = stage.world.another_pds(PdsOptions::default()).unwrap();
    let web = stranger.web_account("evil.test", PASSWORD).did;
    let repo = limited(&stage);
    let first = PageReq::first(9);
    for name in [
        "evil.test",
        "@EVIL.test",
        "evil.handles.example",
        web.as_str(),
    ] {
        let mut errors = Vec::new();
        let mut query = PullQuery::default();
        query.author = Some(name.to_owned());
        errors.push(repo.pulls(&query, first.clone()).await.err());
        let mut query = PullQuery::default();
        query.assignee = Some(name.to_owned());
        errors.push(repo.pulls(&query, first.clone()).await.err());
        if !name.starts_with(['@', 'd']) {
            let mut query = PullQuery::default();
            query.search = Some(format!("author:{name}"));
            errors.push(repo.pulls(&query, first.clone()).await.err());
        }
        let mut query = IssueQuery::default();
        query.author = Some(name.to_owned());
        errors.push(repo.issues(&query, first.clone()).await.err());
        let added = |label: bool| {
            let mut edit = EditPull::default();
            let change = SetChange {
                add: vec![match label {
                    true => format!("assignee:{name}"),
                    false => name.to_owned(),
                }],
                remove: Vec::new(),
            };
            match label {
                true => edit.labels = change,
                false => edit.assignees = change,
            }
            edit
        };
        errors.push(repo.edit_pull(&made.id, &added(false)).await.err());
        errors.push(repo.edit_pull(&made.id, &added(true)).await.err());
        let mut req = CreatePull::new("topic", "T");
        req.head = forge_core::model::HeadRef::branch("topic");
        req.head.owner = Some(name.to_owned());
        errors.push(repo.create_pull(&req).await.err());
        for (n, e) in errors.into_iter().enumerate() {
            let e = e.unwrap_or_else(|| panic!("{n} with {name} is no error"));
            assert_eq!(e.code(), "permission_denied", "{n} with {name}: {e:?}");
        }
    }
    assert_eq!(asked_for(&stage, "evil"), 0);
    assert_eq!(stranger.host().count(), 0);
    // A caller without limits may name any account.
    let repo = stage.handle(&stage.alice);
    let mut query = PullQuery::default();
    query.author = Some(web);
    assert!(repo.pulls(&query, first).await.unwrap().items.is_empty());
    assert!(stranger.host().count() > 0);
}

#[tokio::test]
async fn accounts_that_the_repository_names_are_found() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.bob), "topic").await;
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    stage
        .world
        .pds()
        .add(&carol.did, PULL, pull(&stage, "Carol's"));
    let dave = stage.world.pds().account("dave.test", PASSWORD);
    let issue = json!({ "repo": stage.repo.did, "title": "Dave's", "createdAt": TIME });
    stage
        .world
        .pds()
        .add(&dave.did, "sh.tangled.repo.issue", issue);
    let repo = limited(&stage);
    for (name, count) in [
        ("@me", 0),
        ("alice.test", 0),
        ("Bob.test", 1),
        (stage.bob.did.as_str(), 1),
        ("@carol.test", 1),
        ("dave.test", 0),
        (dave.did.as_str(), 0),
    ] {
        let mut query = all();
        query.author = Some(name.to_owned());
        let page = repo.pulls(&query, PageReq::first(9)).await;
        let page = page.unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(page.items.len(), count, "{name}");
    }
}

#[tokio::test]
async fn assignee_filter_needs_no_name() {
    let stage = Stage::new();
    let owner = stage.handle(&stage.alice);
    let made = stage.open(&owner, "topic").await;
    owner.define_label(&NewLabel::new("bug")).await.unwrap();
    let mut edit = EditPull::default();
    edit.assignees.add = vec!["bob.test".to_owned()];
    owner.edit_pull(&made.id, &edit).await.unwrap();
    // The name of the assignee cannot be looked up any more; his DID is known.
    stage
        .world
        .directory()
        .rename(&stage.bob.did, Some("other.test"));
    let mut query = PullQuery::default();
    query.assignee = Some(stage.bob.did.clone());
    let forge = stage.tangled(&stage.alice);
    let page = forge.list(stage.repo_id(), &query, PageReq::first(9)).await;
    assert_eq!(page.unwrap().items.len(), 1);
}
