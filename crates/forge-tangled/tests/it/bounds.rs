//! Limits on how much data of strangers is read and kept in memory, and on requests after a write.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use forge_core::{
    Client, PageReq, Policy, PullRequests, Repo, Repos, Warning,
    model::{CloseReq, CreatePull, DiffReq, PrFields, PrState, PullQuery, PullScope, StateFilter},
};
use forge_tangled::{ReadLimits, TangledSettings};
use forge_tangled_world::{Account, Fault, KnotOptions, PdsOptions, Recorded, World};
use serde_json::json;

use crate::stage::{PASSWORD, Stage};

const REPO: &str = "sh.tangled.repo";
const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";
const COMMENT: &str = "sh.tangled.feed.comment";
const LIST: &str = "com.atproto.repo.listRecords";
const KIB: usize = 1024;

fn add_pulls(stage: &Stage, author: &Account, count: usize, bytes: usize) {
    for n in 0..count {
        let record = json!({
            "title": format!("Change {n}"), "body": "x".repeat(bytes),
            "target": { "repo": stage.repo.did, "branch": "main" },
            "createdAt": "2026-11-01T00:00:00Z", "rounds": [],
        });
        stage.world.pds().add(&author.did, PULL, record);
    }
}

fn limited(stage: &Stage, read_limits: ReadLimits) -> TangledSettings {
    TangledSettings {
        read_limits,
        ..stage.settings()
    }
}

fn repo_with(stage: &Stage, read_limits: ReadLimits) -> Repo {
    let forge = stage.tangled_with(limited(stage, read_limits), None);
    Client::new(std::sync::Arc::new(forge), Policy::default()).repo(stage.id())
}

fn all() -> PullQuery {
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    query.fields = PrFields::ROW;
    query
}

fn told(warnings: &[Warning], part: &str) -> bool {
    warnings.iter().any(|w| w.message.contains(part))
}

/// Returns the list requests for a collection of an account.
fn lists_of(stage: &Stage, account: &Account, collection: &str) -> Vec<Recorded> {
    let all = stage.world.pds().host().requests().into_iter();
    let did = account.did.replace(':', "%3A");
    let about = |it: &Recorded| it.query.contains(&did) && it.query.contains(collection);
    all.filter(|it| it.method() == Some(LIST) && about(it))
        .collect()
}

/// Each case reaches a different limit first.
#[tokio::test]
async fn list_over_byte_limit_is_cut_with_warning() {
    let carol_and_dave = ["carol.test", "dave.test"];
    for (limits, part) in [
        (
            ReadLimits {
                account: 500 * KIB,
                ..ReadLimits::default()
            },
            "exceed 500 KiB; only the newest were read",
        ),
        (
            ReadLimits {
                list: 500 * KIB,
                ..ReadLimits::default()
            },
            "of the accounts read before it exceed 500 KiB",
        ),
        (
            ReadLimits {
                command: 500 * KIB,
                ..ReadLimits::default()
            },
            "the answers to this command have more than 500 KiB in total",
        ),
    ] {
        let stage = Stage::new();
        for name in carol_and_dave {
            let account = stage.world.pds().account(name, PASSWORD);
            add_pulls(&stage, &account, 110, 10 * KIB);
        }
        let repo = repo_with(&stage, limits);
        // Without the index, the accounts' own lists are read.
        stage.world.index().host().set_down(true);
        let page = repo.pulls(&all(), PageReq::first(100)).await.unwrap();
        let count = page.items.len();
        assert!((20..220).contains(&count), "{count} for {part}");
        assert!(told(&page.warnings, part), "{part}: {:?}", page.warnings);
        assert_eq!(page.total, None, "{part}");
    }
}

#[tokio::test]
async fn patches_of_a_list_share_the_command_limit() {
    let stage = Stage::new();
    let (pds, time) = (stage.world.pds(), "2026-11-01T00:00:00Z");
    for n in 0..4 {
        let patch = format!(
            "From {n:040} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.com>\n\
             Date: Fri, 20 Nov 2026 10:00:00 +0100\nSubject: [PATCH] Large\n\n---\n\n\
             diff --git a/large b/large\nnew file mode 100644\n--- /dev/null\n+++ b/large\n\
             @@ -0,0 +1 @@\n+{}\n",
            "x".repeat(300 * KIB)
        );
        let mut gz = GzEncoder::new(Vec::new(), Compression::none());
        gz.write_all(patch.as_bytes()).unwrap();
        let blob = pds.blob(&stage.alice.did, "application/gzip", &gz.finish().unwrap());
        let record = json!({
            "title": "Large", "createdAt": time,
            "target": { "repo": stage.repo.did, "branch": "main" },
            "rounds": [{ "createdAt": time, "patchBlob": blob }],
        });
        pds.add(&stage.alice.did, PULL, record);
    }
    let limits = ReadLimits {
        command: 500 * KIB,
        ..ReadLimits::default()
    };
    let repo = repo_with(&stage, limits);
    let mut query = all();
    query.touches = vec!["large".to_owned()];
    let page = repo.pulls(&query, PageReq::first(10)).await.unwrap();
    assert_eq!(page.items.len(), 2, "{:?}", page.warnings);
    let part = "the answers to this command have more than 500 KiB in total";
    assert!(told(&page.warnings, part), "{:?}", page.warnings);
    assert_eq!(pds.host().count_of("com.atproto.sync.getBlob"), 2);
}

#[tokio::test]
async fn truncated_repository_list_gives_a_warning() {
    let stage = Stage::new();
    for n in 0..3 {
        let name = format!("long{n}");
        let record = json!({
            "name": name, "description": "x".repeat(200 * KIB),
            "createdAt": "2026-11-01T00:00:00Z",
        });
        stage.world.pds().put(&stage.alice.did, REPO, &name, record);
    }
    let mut scope = PullScope::default();
    scope.owners = vec!["alice.test".to_owned()];
    let part = "exceed 500 KiB; only the newest were read";
    for (account, is_cut) in [(500 * KIB, true), (ReadLimits::default().account, false)] {
        let limits = ReadLimits {
            account,
            ..ReadLimits::default()
        };
        let forge = stage.tangled_with(limited(&stage, limits), None);
        let across = forge.list_across(&scope, &[all()], 30).await.unwrap();
        assert_eq!(across.is_cut, is_cut, "{across:?}");
        assert_eq!(told(&across.warnings, part), is_cut, "{across:?}");
    }
}

#[tokio::test]
async fn oversized_index_list_continues_on_next_page() {
    let stage = Stage::new();
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    add_pulls(&stage, &carol, 110, 10 * KIB);
    let limits = ReadLimits {
        list: 300 * KIB,
        ..ReadLimits::default()
    };
    let repo = repo_with(&stage, limits);
    let (mut seen, mut next) = (0, Some(PageReq::first(100)));
    while let Some(req) = next.take() {
        let page = repo.pulls(&all(), req).await.unwrap();
        let is_cut = told(&page.warnings, "were read; the list has more");
        assert_eq!(is_cut, page.next.is_some(), "{:?}", page.warnings);
        assert!(page.items.len() < 50, "{}", page.items.len());
        seen += page.items.len();
        next = page.next.map(|cursor| PageReq::after(cursor, 100));
    }
    assert_eq!(seen, 110);
}

#[tokio::test]
async fn oversized_page_is_requested_with_fewer_rows() {
    let stage = Stage::new();
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    add_pulls(&stage, &carol, 35, 10 * KIB);
    let limits = ReadLimits {
        page: 150 * KIB,
        ..ReadLimits::default()
    };
    let repo = repo_with(&stage, limits);
    stage.world.index().host().set_down(true);
    let page = repo.pulls(&all(), PageReq::first(100)).await.unwrap();
    assert_eq!((page.items.len(), page.total), (35, Some(35)));
    let lists = lists_of(&stage, &carol, PULL);
    let of = |limit: &str| lists.iter().filter(|it| it.query.contains(limit)).count();
    // The number of requests for statuses does not change.
    let statuses = lists_of(&stage, &carol, STATUS).len();
    assert_eq!(
        (of("limit=100") - statuses, of("limit=10") - of("limit=100")),
        (1, 4)
    );
}

/// In memory, a page of many small values is many times as large as the body that the server sent.
#[tokio::test]
async fn page_of_many_small_values_is_refused() {
    let stage = Stage::new();
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let record = json!({
        "title": "Zeros", "target": { "repo": stage.repo.did, "branch": "main" },
        "createdAt": "2026-11-01T00:00:00Z", "rounds": [], "zeros": vec![0; 20 * KIB],
    });
    stage.world.pds().add(&carol.did, PULL, record);
    let limits = ReadLimits {
        page: 150 * KIB,
        ..ReadLimits::default()
    };
    let repo = repo_with(&stage, limits);
    stage.world.index().host().set_down(true);
    let page = repo.pulls(&all(), PageReq::first(100)).await.unwrap();
    assert!(page.items.is_empty() && page.total.is_none(), "{page:?}");
    let part = "more values than are read at once";
    assert!(told(&page.warnings, part), "{:?}", page.warnings);
}

#[tokio::test]
async fn record_of_many_small_values_is_refused() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let zeros = format!("{{\"z\":[{}0]}}", "0,".repeat(1_000_000));
    let rkey = made.node_id.rsplit('/').next().unwrap();
    let sent = Fault::answer(200, &[("content-type", "application/json")], zeros)
        .on("com.atproto.repo.getRecord")
        .about(rkey);
    stage.world.pds().host().fault(sent.always());
    let forge = stage.tangled(&stage.alice);
    let e = forge.view(&made.id, PrFields::NONE).await.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    let part = "more values than are read at once";
    assert!(e.message().contains(part), "{e:?}");
}

/// Each account has one record, which the backlinks name.
#[tokio::test]
async fn records_of_many_accounts_share_the_list_limit() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    for name in ["carol.test", "dave.test", "erin.test"] {
        let account = stage.world.pds().account(name, PASSWORD);
        let comment = json!({
            "subject": { "uri": made.node_id, "cid": made.version },
            "body": { "text": "x".repeat(300 * KIB) }, "createdAt": "2026-11-01T00:00:00Z",
        });
        stage.world.pds().add(&account.did, COMMENT, comment);
    }
    stage.world.index().host().set_down(true);
    let limits = ReadLimits {
        list: 500 * KIB,
        ..ReadLimits::default()
    };
    let forge = stage.tangled_with(limited(&stage, limits), None);
    let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
    assert_eq!(view.comments_count, 1, "{:?}", view.warnings);
    let part = "is left out: the records of the accounts read before it exceed 500 KiB";
    assert!(told(&view.warnings, part), "{:?}", view.warnings);
}

/// Strangers decide how many records and patches are read at once, so each has a size limit.
#[tokio::test]
async fn oversized_record_or_blob_is_refused() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let host = stage.world.pds().host();
    let rkey = made.node_id.rsplit('/').next().unwrap();
    let json = [("content-type", "application/json")];
    let record = json!({ "uri": made.node_id, "value": { "title": "x".repeat(5 << 20) } });
    let sent = Fault::answer(200, &json, record.to_string());
    host.fault(sent.on("com.atproto.repo.getRecord").about(rkey).always());
    let forge = stage.tangled(&stage.alice);
    let e = forge.view(&made.id, PrFields::NONE).await.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(e.message().contains("it is more than 4 MiB"), "{e:?}");
    host.clear_faults();
    let bytes = [("content-type", "application/octet-stream")];
    let blob = Fault::answer(200, &bytes, "x".repeat(17 << 20));
    host.fault(blob.on("com.atproto.sync.getBlob").always());
    let forge = stage.tangled(&stage.alice);
    let e = forge.diff(&made.id, &DiffReq::default()).await.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(e.message().contains("it is more than 16 MiB"), "{e:?}");
}

#[tokio::test]
async fn oversized_answer_of_a_service_is_refused() {
    let stage = Stage::new();
    let text = format!("{{\"hash\":\"{}\"}}", "x".repeat(17 << 20));
    let json = [("content-type", "application/json")];
    let sent = Fault::answer(200, &json, text).on("sh.tangled.repo.branches");
    stage.world.knot().host().fault(sent.always());
    let forge = stage.tangled(&stage.alice);
    let listed = forge.branches(stage.repo_id(), PageReq::first(10)).await;
    let e = listed.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(
        e.message().contains("more than 16 MiB in one answer"),
        "{e:?}"
    );
}

/// A JSON content type must not change the bytes of a blob.
#[tokio::test]
async fn blob_sent_as_json_is_read_as_bytes() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    // Parsing and serialising this JSON again would change its bytes.
    let odd = "{ \"a\" :  1 }\n";
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    let blob = pds.blob(&stage.alice.did, "application/gzip", odd.as_bytes());
    record["rounds"][0]["patchBlob"] = blob;
    let rkey = made.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, PULL, rkey, record);
    let sent = Fault::answer(200, &[("content-type", "application/json")], odd);
    pds.host()
        .fault(sent.on("com.atproto.sync.getBlob").always());
    let forge = stage.tangled(&stage.bob);
    assert_eq!(forge.round(&made.id, 0).await.unwrap(), odd.as_bytes());
}

#[tokio::test]
async fn write_does_not_read_strangers_collections() {
    let stage = Stage::new();
    let pds = stage.world.pds();
    let carol = pds.account("carol.test", PASSWORD);
    let record = json!({
        "title": "Carol's", "target": { "repo": stage.repo.did, "branch": "main" },
        "createdAt": "2026-11-01T00:00:00Z", "rounds": [],
    });
    let (uri, cid) = pds.add(&carol.did, PULL, record);
    for n in 0..250 {
        let comment = json!({
            "subject": { "uri": uri, "cid": cid }, "body": { "text": format!("{n}") },
            "createdAt": "2026-11-01T00:00:00Z",
        });
        pds.add(&carol.did, COMMENT, comment);
        let elsewhere = json!({
            "pull": format!("at://{}/{PULL}/elsewhere", carol.did),
            "status": format!("{STATUS}.closed"), "createdAt": "2026-11-01T00:00:00Z",
        });
        pds.add(&carol.did, STATUS, elsewhere);
    }
    let forge = stage.tangled(&stage.alice);
    let id = forge_core::PrId {
        repo: stage.id(),
        key: forge_core::PrKey::Record(uri),
    };
    let before = forge.view(&id, PrFields::NONE).await.unwrap();
    pds.host().reset_record();
    let closed = forge.close(&id, &CloseReq::default()).await.unwrap().value;
    assert_eq!(closed.state, PrState::Closed);
    assert_eq!(closed.comments_count, before.comments_count);
    for who in [&carol, &stage.bob] {
        assert_eq!(lists_of(&stage, who, COMMENT).len(), 0);
        assert_eq!(lists_of(&stage, who, "sh.tangled.label.op").len(), 0);
        // The states of writers alone decide, and are read in full before the write.
        let pages = lists_of(&stage, who, STATUS).len();
        assert!((1..=4).contains(&pages), "{pages} of {}", who.handle);
    }
}

/// Creates a stage whose PDS sends at most 50 records on a page, each time with a cursor.
fn stage_with_short_pages() -> Stage {
    let pds = PdsOptions {
        largest_page: 50,
        ..PdsOptions::default()
    };
    Stage::of(World::with(pds, KnotOptions::default()).unwrap())
}

#[tokio::test]
async fn status_behind_a_short_page_counts() {
    let stage = stage_with_short_pages();
    let made = stage.open(&stage.handle(&stage.bob), "topic").await;
    let (pds, alice) = (stage.world.pds(), &stage.alice.did);
    let close = |pull: &str| {
        let status = json!({
            "pull": pull, "status": format!("{STATUS}.closed"),
            "createdAt": "2036-01-01T00:00:00Z",
        });
        pds.add(alice, STATUS, status);
    };
    close(&made.node_id);
    for n in 0..60 {
        close(&format!("{}{n}", made.node_id));
    }
    let forge = stage.tangled(&stage.alice);
    let closed = forge.close(&made.id, &CloseReq::default()).await.unwrap();
    assert!(closed.unchanged, "{closed:?}");
    assert_eq!(pds.records(alice, STATUS).len(), 61);
}

#[tokio::test]
async fn own_open_pull_behind_a_short_page_is_found() {
    let stage = stage_with_short_pages();
    stage.open(&stage.handle(&stage.alice), "topic").await;
    add_pulls(&stage, &stage.alice, 60, 10);
    let forge = stage.tangled(&stage.alice);
    let again = CreatePull::new("topic", "Again");
    let e = forge.create(stage.repo_id(), &again).await.unwrap_err();
    assert_eq!(e.code(), "already_exists", "{e:?}");
}

#[tokio::test]
async fn short_pages_are_all_listed_without_index() {
    let stage = stage_with_short_pages();
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    add_pulls(&stage, &carol, 60, 10);
    stage.world.index().host().set_down(true);
    let repo = repo_with(&stage, ReadLimits::default());
    let page = repo.pulls(&all(), PageReq::first(100)).await.unwrap();
    assert_eq!((page.items.len(), page.total), (60, Some(60)));
}
