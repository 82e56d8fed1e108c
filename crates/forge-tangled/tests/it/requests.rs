//! Request counts of calls, and their behaviour while the index is down.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use forge_core::{
    Page, PageReq, PullRequests, Warning,
    model::{
        CreatePull, FileEdit, HeadRef, MergeReq, NewLabel, PrFields, PrState, PullQuery,
        PullRequest, Resubmit, StateFilter,
    },
};
use forge_tangled::{Origin, Tangled, TangledSettings};
use forge_tangled_world::{Fault, Host, Moods, Recorded};
use serde_json::json;

use crate::stage::Stage;

const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";

/// The allowed requests: a method on any host, its maximum count, and its purpose.
type Costs = [(&'static str, usize, &'static str)];

/// Requests for opening with a label, if identities and the repository's host are cached.
const CREATE: &Costs = &[
    (
        "sh.tangled.repo.getDefaultBranch",
        1,
        "the base, which is not named",
    ),
    (
        "sh.tangled.repo.listCollaborators",
        1,
        "whether the viewer's labels count",
    ),
    (
        "com.atproto.repo.getRecord",
        4,
        "the repository's list of labels, and the two that are in it; whether the repository has \
         a manifest by now",
    ),
    ("sh.tangled.repo.branch", 2, "the tips of base and head"),
    ("sh.tangled.repo.compare", 1, "the patch"),
    (
        "com.atproto.repo.listRecords",
        2,
        "whether the repository is declared by now; whether the viewer has one of these branches \
         open",
    ),
    (
        "sh.tangled.repo.listPulls",
        2,
        "whether others have; whether the index shows the pull request",
    ),
    ("com.atproto.repo.uploadBlob", 1, "the patch is written"),
    ("com.atproto.repo.applyWrites", 1, "all else is written"),
    (
        "sh.tangled.label.listOps",
        1,
        "whether the index shows the label",
    ),
];

/// Requests for a second round and the view after it, if the newest round is already read.
const RESUBMIT: &Costs = &[
    (
        "com.atproto.repo.getRecord",
        3,
        "the pull request; and as it is when the round is added; whether the repository has a \
         manifest by now",
    ),
    ("sh.tangled.repo.branch", 2, "the tips of base and head"),
    ("sh.tangled.repo.compare", 1, "the patch"),
    (
        "sh.tangled.repo.pull.listStatuses",
        2,
        "whether it is open; and for the view",
    ),
    (
        "com.atproto.repo.listRecords",
        6,
        "whether the repository is declared by now; what owner and collaborator say of its state; \
         and what the viewer says of state, comments and labels, for the view",
    ),
    ("com.atproto.repo.uploadBlob", 1, "the patch is written"),
    ("com.atproto.repo.putRecord", 1, "the round is written"),
    (
        "sh.tangled.repo.listPulls",
        1,
        "whether the index shows the round",
    ),
    (
        "sh.tangled.feed.listComments",
        1,
        "the comments, for the view",
    ),
    ("sh.tangled.label.listOps", 1, "the labels, for the view"),
    (
        "com.atproto.sync.getBlob",
        1,
        "the new round as it was stored, for the view",
    ),
];

/// Long enough that concurrent requests overlap, even on a slow machine.
const SLOW: Duration = Duration::from_millis(200);

fn hosts(stage: &Stage) -> [&Host; 5] {
    let (world, index) = (&stage.world, stage.world.index());
    [
        world.directory().host(),
        world.pds().host(),
        world.knot().host(),
        index.host(),
        index.backlinks(),
    ]
}

fn reset(stage: &Stage) {
    hosts(stage).iter().for_each(|host| host.reset_record());
}

/// Checks that every request since the last reset is in `costs`, and that none exceeds its count.
fn cost_at_most(stage: &Stage, name: &str, costs: &Costs) {
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for request in hosts(stage).iter().flat_map(|host| host.requests()) {
        let what = request.method().unwrap_or(&request.path);
        *asked.entry(what.to_owned()).or_default() += 1;
    }
    let all: usize = asked.values().sum();
    let chain = Recorded::longest_chain(&hosts(stage));
    println!("{name}: {all} requests, {chain} after each other: {asked:#?}");
    for (what, times) in asked {
        let cost = costs.iter().find(|(named, ..)| *named == what);
        let Some((_, most, why)) = cost else {
            panic!("{name}: {what} is asked {times} times, and nothing says what for");
        };
        assert!(times <= *most, "{name}: {what} {times} times; {why}");
    }
}

fn rows() -> PullQuery {
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    query
}

async fn first_page(forge: &Tangled, stage: &Stage, query: &PullQuery) -> Page<PullRequest> {
    let page = PageReq::first(30);
    forge.list(stage.repo_id(), query, page).await.unwrap()
}

fn procedures(host: &Host) -> Vec<String> {
    let all = host.requests().into_iter().filter(|it| it.verb == "POST");
    all.filter_map(|it| it.method().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn create_takes_two_writes_and_an_index_read() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let label = NewLabel::new("bug");
    repo.define_label(&label).await.unwrap();
    // The first pull request creates the session and fills the caches.
    stage.open(&repo, "first").await;
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let mut req = CreatePull::new("topic", "T");
    req.labels = vec!["bug".into()];
    reset(&stage);
    let made = repo.create_pull(&req).await.unwrap();
    cost_at_most(&stage, "create", CREATE);
    assert_eq!(
        procedures(stage.world.pds().host()),
        [
            "com.atproto.repo.uploadBlob",
            "com.atproto.repo.applyWrites"
        ]
    );
    assert_eq!(made.ingestion.word(), "confirmed");
    let index = stage.world.index().host();
    assert_eq!(index.count_of("sh.tangled.repo.listPulls"), 2);
    assert!(procedures(stage.world.knot().host()).is_empty());

    stage.repo.git.commit("topic", "B", &[("b", Some("y\n"))]);
    let forge = stage.tangled(&stage.alice);
    forge
        .resubmit(&made.value.id, &Resubmit::default())
        .await
        .unwrap();
    stage.repo.git.commit("topic", "C", &[("c", Some("z\n"))]);
    reset(&stage);
    let round = forge
        .resubmit(&made.value.id, &Resubmit::default())
        .await
        .unwrap();
    cost_at_most(&stage, "resubmit", RESUBMIT);
    assert_eq!(
        procedures(stage.world.pds().host()),
        ["com.atproto.repo.uploadBlob", "com.atproto.repo.putRecord"]
    );
    assert_eq!(round.ingestion.word(), "confirmed");
    assert_eq!(index.count_of("sh.tangled.repo.listPulls"), 1);
}

#[tokio::test]
async fn file_edits_add_a_request_per_path() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    stage.open(&repo, "first").await;
    let mut req = CreatePull::new("", "Edit three files");
    req.base = Some("main".into());
    req.edits = vec![
        FileEdit::write("README.md", "other\n"),
        FileEdit::write("src/lib.rs", "other\n"),
        FileEdit::write("src/new.rs", "new\n"),
    ];
    reset(&stage);
    repo.create_pull(&req).await.unwrap();
    assert_eq!(
        procedures(stage.world.pds().host()),
        [
            "com.atproto.repo.uploadBlob",
            "com.atproto.repo.applyWrites"
        ]
    );
    let knot = stage.world.knot().host();
    for (method, count) in [
        ("sh.tangled.repo.branch", 1),
        ("sh.tangled.repo.tree", 2),
        ("sh.tangled.repo.blob", 2),
        ("sh.tangled.repo.mergeCheck", 1),
        ("com.atproto.repo.getRecord", 1),
    ] {
        assert_eq!(knot.count_of(method), count, "{method}");
    }
    assert_eq!(knot.count(), 7);
}

#[tokio::test]
async fn view_takes_a_single_round_trip() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.bob);
    // Fills the caches: identities, collaborators, and the newest round, which never changes.
    forge.view(&made.id, PrFields::COMMENTS).await.unwrap();
    for host in hosts(&stage) {
        host.set_latency(SLOW);
    }
    let (pds, index) = (stage.world.pds().host(), stage.world.index().host());
    for (fields, kinds) in [
        (PrFields::ROW, 2),
        (PrFields::NONE, 3),
        (PrFields::COMMENTS | PrFields::COMMITS, 3),
    ] {
        reset(&stage);
        let view = forge.view(&made.id, fields).await.unwrap();
        assert_eq!(
            (view.state, view.title),
            (PrState::Open, made.title.clone())
        );
        assert_eq!(pds.count_of("com.atproto.repo.getRecord"), 1, "{fields:?}");
        assert_eq!(index.count(), kinds, "{fields:?}");
        let all: usize = hosts(&stage).iter().map(|host| host.count()).sum();
        assert_eq!(all, 1 + kinds, "{fields:?}");
        assert_eq!(Recorded::longest_chain(&hosts(&stage)), 1, "{fields:?}");
    }
}

#[tokio::test]
async fn list_trusts_indexed_states_and_view_verifies() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let carol = stage
        .world
        .pds()
        .account("carol.test", crate::stage::PASSWORD);
    let status = json!({
        "pull": made.node_id,
        "status": format!("{STATUS}.merged"),
        "createdAt": "2036-01-01T00:00:00Z",
    });
    stage.world.pds().add(&carol.did, STATUS, status);
    let forge = stage.tangled(&stage.bob);
    let mut query = rows();
    query.state = StateFilter::All;
    for index_is_down in [false, true] {
        stage.world.index().host().set_down(index_is_down);
        let page = first_page(&forge, &stage, &query).await;
        let row = &page.items[0];
        let marks: Vec<_> = row.warnings.iter().map(|w| w.section).collect();
        if index_is_down {
            // Without the index, the author of the status was checked.
            assert_eq!((row.state, marks), (PrState::Open, vec![]));
        } else {
            assert_eq!((row.state, marks), (PrState::Merged, vec![Some("state")]));
        }
        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Open);
        assert!(view.warnings.iter().all(|w| w.section != Some("state")));
    }
}

#[tokio::test]
async fn merged_pull_view_asks_knot_when_needed() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    forge.view(&made.id, PrFields::NONE).await.unwrap();
    let knot = stage.world.knot().host();
    // Requests for the branch, its log, and the changes of a candidate commit.
    for (fields, asked, told) in [(PrFields::NONE, 0, 1), (PrFields::MERGEABILITY, 3, 0)] {
        reset(&stage);
        let view = forge.view(&made.id, fields).await.unwrap();
        assert_eq!(view.state, PrState::Merged, "{fields:?}");
        assert_eq!(view.warnings.len(), told, "{:?}", view.warnings);
        assert_eq!(knot.count(), asked, "{fields:?}");
    }
}

#[tokio::test]
async fn merge_is_proved_by_one_comparison() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    forge.view(&made.id, PrFields::NONE).await.unwrap();
    reset(&stage);
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    let knot = stage.world.knot().host();
    for (method, count) in [
        ("sh.tangled.repo.branch", 2),
        ("sh.tangled.repo.log", 1),
        ("sh.tangled.repo.mergeCheck", 1),
        ("sh.tangled.repo.merge", 1),
        ("sh.tangled.repo.compare", 1),
    ] {
        assert_eq!(knot.count_of(method), count, "{method}");
    }
}

/// At 100 ms per request, 20 sequential requests take two seconds.
const CHAIN: usize = 20;
const AUTHORS: usize = 50;
const PULLS: usize = 1_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_pulls_without_index_stay_in_budget() {
    let stage = Stage::new();
    let pds = stage.world.pds();
    for author in 0..AUTHORS {
        let account = pds.account(&format!("author{author}.test"), crate::stage::PASSWORD);
        for n in 0..PULLS / AUTHORS {
            let record = json!({
                "title": format!("Change {n} of {author}"),
                "target": { "repo": stage.repo.did, "branch": "main" },
                "createdAt": format!("2026-11-01T{:02}:{author:02}:00Z", n),
                "rounds": [],
            });
            let (uri, _) = pds.add(&account.did, PULL, record);
            if n == 0 {
                let status = json!({
                    "pull": uri,
                    "status": format!("{STATUS}.closed"),
                    "createdAt": "2026-11-02T00:00:00Z",
                });
                pds.add(&account.did, STATUS, status);
            }
        }
    }
    // Handles resolve at their owners' hosts, not at the server of all accounts.
    let settings = TangledSettings {
        handles: Some(Origin::configured(&stage.world.directory().host().url()).unwrap()),
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, None);
    forge.era(&stage.id()).await.unwrap();
    stage.world.index().host().set_down(true);
    for host in hosts(&stage) {
        // Longer than a busy machine delays a request: those sent at once then overlap.
        host.set_latency(Duration::from_millis(300));
    }
    let query = rows();
    reset(&stage);
    let begun = Instant::now();
    let page = forge
        .list(&stage.id(), &query, PageReq::first(PULLS))
        .await
        .unwrap();
    let took = begun.elapsed();
    assert_eq!(page.items.len(), PULLS - AUTHORS, "each has closed one");
    assert!(page.items.iter().all(|p| p.author.login.ends_with(".test")));
    assert_eq!(page.scanned, Some(PULLS as u64));
    assert_eq!(page.total, Some((PULLS - AUTHORS) as u64));
    let source = page.source.as_deref().unwrap_or_default();
    assert!(source.starts_with("the backlinks at "), "{source}");

    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for host in hosts(&stage) {
        assert!(host.most_at_once() <= 8, "{}", host.most_at_once());
        for it in host.requests() {
            *asked
                .entry(format!("{}?{}", it.path, it.query))
                .or_default() += 1;
        }
    }
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
    let documents = asked.keys().filter(|it| it.starts_with("/did:plc:"));
    // Bob's document is looked up because he may write; Alice's is cached.
    assert_eq!(documents.count(), AUTHORS + 1);
    let requests: usize = hosts(&stage).iter().map(|host| host.count()).sum();
    let chain = Recorded::longest_chain(&hosts(&stage));
    println!("{PULLS} pull requests: {requests} requests, {chain} after each other, {took:?}");
    assert!(chain <= CHAIN, "{chain} requests after each other");

    // Each row occurs once in the pages, and the next page needs no request.
    let all: Vec<_> = page.items.iter().map(|p| p.id.clone()).collect();
    let mut paged = Vec::new();
    let mut request = PageReq::first(300);
    loop {
        let page = forge.list(&stage.id(), &query, request).await.unwrap();
        paged.extend(page.items.into_iter().map(|p| p.id));
        let Some(next) = page.next else { break };
        reset(&stage);
        request = PageReq::after(next, 300);
    }
    let asked: usize = hosts(&stage).iter().map(|host| host.count()).sum();
    assert_eq!((paged, asked), (all, 0));
}

#[tokio::test]
async fn rows_of_a_list_cost_one_request() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    for branch in ["a", "b", "c"] {
        stage.open(&repo, branch).await;
    }
    let forge = stage.tangled(&stage.bob);
    forge.era(&stage.id()).await.unwrap();
    let (index, knot) = (stage.world.index().host(), stage.world.knot().host());
    index.reset_record();
    knot.reset_record();
    let page = first_page(&forge, &stage, &rows()).await;
    assert_eq!((page.items.len(), page.scanned), (3, Some(3)));
    assert_eq!(page.total, Some(3));
    let source = page.source.as_deref().unwrap_or_default();
    assert!(source.starts_with("the index at "), "{source}");
    assert_eq!((index.count(), knot.count()), (1, 0));
}

#[tokio::test]
async fn search_filters_people_labels_and_states_locally() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let label = NewLabel::new("bug");
    repo.define_label(&label).await.unwrap();
    stage.repo.git.commit("mine", "A", &[("a", Some("x\n"))]);
    let mut req = CreatePull::new("mine", "Mine");
    req.labels = vec!["bug".into()];
    req.assignees = vec!["bob.test".into()];
    repo.create_pull(&req).await.unwrap();
    let title = stage.open(&stage.handle(&stage.bob), "theirs").await.title;
    let forge = stage.tangled(&stage.alice);
    let search = |text: &str| {
        let mut query = rows();
        query.search = Some(text.to_owned());
        query
    };
    let mine: &[&str] = &["Mine"];
    let theirs: &[&str] = &[title.as_str()];
    let none: &[&str] = &[];
    let by_did = format!("author:{}", stage.bob.did);
    for (text, titles) in [
        ("author:@me", mine),
        (by_did.as_str(), theirs),
        ("-author:bob.test", mine),
        ("label:BUG assignee:bob.test", mine),
        ("assignee:alice.test", none),
        ("-label:bug", theirs),
        ("title is:open", theirs),
        ("is:closed", none),
    ] {
        let page = first_page(&forge, &stage, &search(text)).await;
        let found: Vec<&str> = page.items.iter().map(|pr| pr.title.as_str()).collect();
        assert_eq!(
            (found.as_slice(), page.scanned),
            (titles, Some(2)),
            "{text}"
        );
    }
    let reviews = search("review:none");
    let refused = forge.list(stage.repo_id(), &reviews, PageReq::first(9));
    assert_eq!(refused.await.unwrap_err().code(), "invalid_input");
    // The same search works without the index.
    stage.world.index().host().set_down(true);
    let page = first_page(&forge, &stage, &search("author:@me label:bug")).await;
    assert_eq!(page.items.len(), 1, "{:?}", page.warnings);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_list_waits_for_four_requests() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled_with(stage.settings(), None);
    for host in hosts(&stage) {
        host.set_latency(SLOW);
    }
    reset(&stage);
    let page = first_page(&forge, &stage, &rows()).await;
    assert_eq!(page.items.len(), 1);
    let knot = stage.world.knot().host();
    assert_eq!(knot.count_of("sh.tangled.repo.describeRepo"), 1);
    // The chain: handle, DID document, record; the knot confirms the owner while the index lists.
    assert_eq!(Recorded::longest_chain(&hosts(&stage)), 4);
}

#[tokio::test]
async fn consecutive_pages_have_no_gaps() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    for branch in ["a", "b", "c", "d", "e"] {
        stage.open(&repo, branch).await;
    }
    for base in [None, Some("main".to_owned())] {
        let mut query = rows();
        query.base = base;
        let mut seen = Vec::new();
        let mut next = PageReq::first(2);
        loop {
            let page = repo.pulls(&query, next).await.unwrap();
            // The index does not report the total.
            assert_eq!(page.total, None);
            seen.extend(page.items.into_iter().map(|p| p.head_branch));
            match page.next {
                Some(cursor) => next = PageReq::after(cursor, 2),
                None => break,
            }
        }
        assert_eq!(seen, ["e", "d", "c", "b", "a"]);
    }
}

/// Adds pull requests from `source` to an account, a minute apart from `first` on.
fn add_pulls(stage: &Stage, did: &str, first: usize, count: usize, source: &str) {
    for n in first..first + count {
        let record = json!({
            "title": format!("Change {n}"),
            "target": { "repo": stage.repo.did, "branch": "main" },
            "source": { "repo": stage.repo.did, "branch": source },
            "createdAt": format!("2036-11-01T{:02}:{:02}:00Z", n / 60, n % 60),
            "rounds": [],
        });
        stage.world.pds().add(did, PULL, record);
    }
}

/// Makes the index drop the rows of a new account, Carol's.
fn drop_carols_rows(stage: &Stage) -> String {
    let carol = stage
        .world
        .pds()
        .account("carol.test", crate::stage::PASSWORD);
    stage.world.index().set_moods(Moods {
        unreadable: [carol.did.clone()].into(),
        ..Moods::default()
    });
    carol.did
}

#[tokio::test]
async fn empty_index_page_does_not_end_a_list() {
    let stage = Stage::new();
    let carol = drop_carols_rows(&stage);
    add_pulls(&stage, &stage.bob.did, 0, 40, "bobs");
    add_pulls(&stage, &carol, 40, 100, "carols");
    let forge = stage.tangled(&stage.alice);
    let index = stage.world.index().host();
    forge.era(stage.repo_id()).await.unwrap();
    for limit in [1, 30] {
        index.reset_record();
        let page = PageReq::first(limit);
        let page = forge.list(stage.repo_id(), &rows(), page).await.unwrap();
        assert_eq!((page.items.len(), page.total), (limit, None));
        assert_eq!(page.items[0].title, "Change 39");
        assert_eq!(index.count_of("sh.tangled.repo.listPulls"), 2);
    }
    // Another account's open pull request behind the dropped rows is named in a warning.
    stage.repo.git.commit("bobs", "A", &[("a", Some("x\n"))]);
    let req = CreatePull::new("bobs", "T");
    let made = forge.create(stage.repo_id(), &req).await.unwrap();
    let mut warnings = made.warnings.iter();
    assert!(
        warnings.any(|w| w.message.contains("another account")),
        "{made:?}"
    );
}

#[tokio::test]
async fn list_of_many_empty_pages_is_cut_with_warning() {
    const LIST: &str = "sh.tangled.repo.listPulls";
    let stage = Stage::new();
    let forge = stage.tangled(&stage.bob);
    let empty = |n: usize| {
        let body = json!({ "items": [], "cursor": n.to_string() }).to_string();
        Fault::answer(200, &[("content-type", "application/json")], body).on(LIST)
    };
    let index = stage.world.index().host();
    let pages = || {
        (0..100)
            .rev()
            .map(empty)
            .reduce(|later, page| page.then(later))
    };
    index.fault(pages().unwrap());
    let page = first_page(&forge, &stage, &rows()).await;
    assert!(page.items.is_empty() && page.next.is_some(), "{page:?}");
    assert_eq!(page.total, None);
    let told = &page.warnings[0].message;
    assert!(told.contains("100 pages were empty"), "{told}");
    assert_eq!(index.count_of(LIST), 100);
    index.fault(pages().unwrap());
    let (head, all) = (HeadRef::branch("topic"), StateFilter::All);
    let found = forge.find(stage.repo_id(), &head, all, PrFields::ROW);
    let e = found.await.unwrap_err();
    assert!(e.message().contains("it is unknown whether"), "{e:?}");
}

#[tokio::test]
async fn list_without_index_uses_fallbacks_with_warning() {
    for backlinks in [true, false] {
        let stage = Stage::new();
        let repo = stage.handle(&stage.alice);
        let open = stage.open(&repo, "open").await;
        let closed = stage.open(&repo, "closed").await;
        stage
            .tangled(&stage.bob)
            .close(&closed.id, &Default::default())
            .await
            .unwrap();
        let index = stage.world.index();
        index.host().set_down(true);
        index.backlinks().set_down(!backlinks);
        let forge = stage.tangled(&stage.bob);
        let page = first_page(&forge, &stage, &PullQuery::default()).await;
        let ids: Vec<_> = page.items.iter().map(|p| p.id.clone()).collect();
        assert_eq!(
            ids,
            std::slice::from_ref(&open.id),
            "backlinks: {backlinks}"
        );
        let said = &page.warnings[0].message;
        let by = if backlinks {
            "the backlinks at"
        } else {
            "the servers of"
        };
        assert!(
            said.contains(by) && said.contains("index does not answer"),
            "{said}"
        );
        let mut query = PullQuery::default();
        query.state = StateFilter::All;
        let all = first_page(&forge, &stage, &query).await;
        assert_eq!(all.items.len(), 2);
        let view = forge.view(&closed.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, forge_core::model::PrState::Closed);
        assert!(view.warnings[0].message.contains(by), "{:?}", view.warnings);
    }
}

/// Makes the backlinks name two accounts and then fail.
fn break_off(stage: &Stage, named: &str) {
    const LINKS: &str = "blue.microcosm.links.getBacklinkDids";
    let page = json!({ "total": 2, "linking_dids": [named], "cursor": "1" }).to_string();
    let json = [("content-type", "application/json")];
    let gone = Fault::gateway(503).on(LINKS).always();
    let fault = Fault::answer(200, &json, page).on(LINKS).then(gone);
    stage.world.index().backlinks().fault(fault);
}

#[tokio::test]
async fn interrupted_backlinks_are_marked_incomplete() {
    let stage = Stage::new();
    let pds = stage.world.pds();
    let carol = pds.account("carol.test", crate::stage::PASSWORD);
    let record = json!({
        "title": "Carol's", "target": { "repo": stage.repo.did, "branch": "main" },
        "createdAt": "2026-11-01T00:00:00Z", "rounds": [],
    });
    pds.add(&carol.did, PULL, record);
    stage.world.index().host().set_down(true);
    let forge = stage.tangled(&stage.bob);
    let page = first_page(&forge, &stage, &rows()).await;
    assert_eq!(page.total, Some(1), "{:?}", page.warnings);
    break_off(&stage, &carol.did);
    let page = first_page(&forge, &stage, &rows()).await;
    assert_eq!((page.items.len(), page.total), (1, None));
    let told = |part: &str| page.warnings.iter().any(|w| w.message.contains(part));
    assert!(told("named 1 of 2 accounts"), "{:?}", page.warnings);
    // The remaining backlink queries failed completely.
    assert!(told("named 0 accounts"), "{:?}", page.warnings);
}

#[tokio::test]
async fn unanswered_record_is_a_warning() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    let carol = pds.account("carol.test", crate::stage::PASSWORD);
    let comment = json!({
        "subject": { "uri": made.node_id, "cid": made.version }, "body": { "text": "Hm." },
        "createdAt": "2026-11-01T00:00:00Z",
    });
    let (uri, _) = pds.add(&carol.did, "sh.tangled.feed.comment", comment);
    let key = uri.rsplit('/').next().unwrap();
    stage.world.index().host().set_down(true);
    let forge = stage.tangled(&stage.bob);
    let unread = format!("the records of {} could not be read", carol.did);
    let missing = Fault::error(400, "RecordNotFound", "Could not locate record");
    for (answer, is_told) in [(Fault::gateway(404), true), (missing, false)] {
        pds.host().fault(answer.about(key).always());
        let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
        let told = view.warnings.iter().any(|w| w.message.contains(&unread));
        assert_eq!((told, view.comments_count), (is_told, 0));
        pds.host().clear_faults();
    }
}

#[tokio::test]
async fn not_found_is_reported_only_after_full_search() {
    let stage = Stage::new();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let (index, forge) = (stage.world.index(), stage.tangled(&stage.bob));
    let find = async |branch: &str| {
        let head = HeadRef::branch(branch);
        let all = StateFilter::All;
        forge.find(stage.repo_id(), &head, all, PrFields::ROW).await
    };
    assert!(find("nowhere").await.unwrap().pulls.is_empty());
    index.host().set_down(true);
    // The backlinks are complete as well, so the search is certain.
    assert!(find("nowhere").await.unwrap().pulls.is_empty());
    index.backlinks().set_down(true);
    let e = find("nowhere").await.unwrap_err();
    assert_eq!(e.code(), "network", "{e:?}");
    assert!(e.message().contains("the index does not answer"), "{e:?}");
    assert!(e.hint().unwrap().text().contains("at-uri"), "{e:?}");
    let found = find("topic").await.unwrap().pulls.remove(0);
    let told = |w: &Warning| {
        w.message
            .starts_with("the records were read from the servers of")
    };
    assert!(found.warnings.iter().any(told), "{:?}", found.warnings);
}

#[tokio::test]
async fn version_takes_a_comparison_instead_of_its_patch() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    let version = json!({
        "base": stage.repo.git.oid("main"), "head": made.head_oid,
        "createdAt": "2026-09-30T11:59:19.791Z",
    });
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    record["rounds"] = json!([]);
    record["versions"] = json!([version]);
    let key = made.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, PULL, key, record);
    let forge = stage.tangled(&stage.bob);
    let counts = || {
        let count = |host: &Host, method| host.count_of(method);
        [
            count(stage.world.knot().host(), "sh.tangled.repo.compare"),
            count(stage.world.index().host(), "sh.tangled.repo.compare"),
            count(pds.host(), "com.atproto.sync.getBlob"),
        ]
    };
    reset(&stage);
    // A version never changes, so the second view has its comparison already.
    for _ in 0..2 {
        let view = forge.view(&made.id, PrFields::COMMITS).await.unwrap();
        assert_eq!(view.commits.unwrap().len(), 1);
        assert_eq!(counts(), [1, 0, 0]);
    }
    let forge = stage.tangled(&stage.bob);
    let missing = Fault::error(404, "RevisionNotFound", "failed to resolve revision");
    let missing = missing.on("sh.tangled.repo.compare").always();
    stage.world.knot().host().fault(missing);
    reset(&stage);
    let read = forge.commits(&made.id, PageReq::first(9)).await;
    assert!(read.is_err(), "{read:?}");
    assert_eq!(counts(), [1, 1, 0]);
}
