//! Tests the index with each of its moods.

use std::time::Duration;

use forge_tangled_world::{Caller, Fault, Moods};
use serde_json::{Value, json};

use super::{AT, Fixture, gzip, pull};

fn list(it: &Fixture, more: &[(&str, &str)]) -> Value {
    let mut params = vec![("subject", it.repo.did.as_str())];
    params.extend(more);
    it.index().get("sh.tangled.repo.listPulls", &params).ok()
}

#[test]
fn pull_requests_are_listed_with_their_states() {
    let it = Fixture::new();
    let (uri, cid) = it.pull("3mkuuamwfj322", "patch");
    let items = &list(&it, &[])["items"];
    assert_eq!(items[0]["uri"], uri.as_str());
    assert_eq!(
        (
            &items[0]["cid"],
            &items[0]["state"],
            &items[0]["commentCount"]
        ),
        (&json!(cid), &json!("open"), &json!(0))
    );
    let _ = it.status(&it.bob, &uri, "closed", "2026-08-03T00:00:00Z");
    // The latest status decides, unless the index checks permissions.
    let _ = it.status(&it.alice, &uri, "open", "2026-08-02T00:00:00Z");
    assert_eq!(list(&it, &[])["items"][0]["state"], "closed");
    assert_eq!(list(&it, &[("status", "open")])["items"], json!([]));
    assert_eq!(list(&it, &[("author", &it.alice.did)])["items"], json!([]));
    let statuses = it
        .index()
        .get("sh.tangled.repo.pull.listStatuses", &[("subject", &uri)])
        .ok();
    assert_eq!(statuses["items"].as_array().unwrap().len(), 2);
    let one = it
        .index()
        .get("sh.tangled.repo.getPull", &[("pull", &uri)])
        .ok();
    assert_eq!(one["value"]["title"], "Add a thing");
    assert_eq!(
        it.index()
            .get("sh.tangled.repo.getPull", &[("pull", "at://x")])
            .status,
        404
    );
    let by_uri = it
        .index()
        .get("sh.tangled.repo.listPulls", &[("subject", &it.repo.uri)]);
    assert_eq!(by_uri.status, 400);
}

#[test]
fn cursor_leads_to_next_page_of_same_query() {
    let it = Fixture::new();
    for number in 2..7 {
        let _ = it.pull(&format!("3mkuuamwfj32{number}"), "patch");
    }
    let first = list(&it, &[("limit", "3"), ("order", "asc")]);
    let cursor = first["cursor"].as_str().unwrap();
    let second = list(&it, &[("limit", "3"), ("order", "asc"), ("cursor", cursor)]);
    let count = |page: &Value| page["items"].as_array().unwrap().len();
    assert_eq!(
        (count(&first), count(&second), &second["cursor"]),
        (3, 2, &Value::Null)
    );
    let other = [("subject", it.bob.did.as_str()), ("cursor", cursor)];
    assert_eq!(
        it.index().get("sh.tangled.repo.listPullsBy", &other).status,
        400
    );
}

#[test]
fn invalid_record_is_dropped_with_reason() {
    let it = Fixture::new();
    let pds = it.world.pds();
    let good = pds.blob(&it.bob.did, "application/gzip", &gzip("p"));
    let plain = pds.blob(&it.bob.did, "application/gzip", b"p");
    let base = pull(&it.repo.did, &good);
    let with = |pointer: &str, value: Value| {
        let mut record = base.clone();
        *record.pointer_mut(pointer).unwrap() = value;
        pds.add(&it.bob.did, "sh.tangled.repo.pull", record);
    };
    with("/target/repo", json!(it.repo.uri));
    with("/createdAt", json!("yesterday"));
    with("/title", json!(" "));
    with("/rounds/0/patchBlob", plain);
    let mut stacked = base.clone();
    stacked["dependentOn"] = json!("at://did:plc:x/sh.tangled.repo.pull/y");
    pds.add(&it.bob.did, "sh.tangled.repo.pull", stacked.clone());
    pds.add(&it.bob.did, "sh.tangled.repo.pull", stacked);
    let reasons: Vec<String> = it
        .world
        .index()
        .dropped()
        .into_iter()
        .map(|it| it.1)
        .collect();
    assert_eq!(
        reasons,
        [
            "target.repo is no DID",
            "bad time \"yesterday\"",
            "empty title",
            "the patch is not gzip",
            "another pull request depends on the same one",
        ]
    );
    assert_eq!(list(&it, &[])["items"].as_array().unwrap().len(), 1);
}

/// Go's reader continues with the next gzip member, and refuses any other bytes after a member.
#[test]
fn all_gzip_members_of_a_patch_are_read() {
    let it = Fixture::new();
    let pds = it.world.pds();
    let two = [gzip("p"), gzip("q")].concat();
    let behind = [gzip("p"), b"\0\0\0\0".to_vec()].concat();
    for blob in [two, behind] {
        let blob = pds.blob(&it.bob.did, "application/gzip", &blob);
        let record = pull(&it.repo.did, &blob);
        pds.add(&it.bob.did, "sh.tangled.repo.pull", record);
    }
    let dropped = it.world.index().dropped().into_iter();
    let reasons: Vec<String> = dropped.map(|it| it.1).collect();
    assert_eq!(reasons, ["the patch is not gzip"]);
    assert_eq!(list(&it, &[])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn index_moods_have_documented_effects() {
    let it = Fixture::new();
    let index = it.world.index();
    index.set_moods(Moods {
        pulls: false,
        ..Moods::default()
    });
    let (unseen, _) = it.pull("3mkuuamwfj322", "patch");
    assert_eq!(index.knows(&unseen), None);
    index.set_moods(Moods {
        statuses: false,
        ..Moods::default()
    });
    let (uri, cid) = it.pull("3mkuuamwfj323", "patch");
    let _ = it.status(&it.bob, &uri, "closed", AT);
    assert_eq!(list(&it, &[])["items"][0]["state"], "open");
    index.set_moods(Moods {
        drops_unauthorised: true,
        ..Moods::default()
    });
    let carol = it.world.pds().account("carol.test", "c");
    let strange = it.status(&carol, &uri, "merged", AT);
    let owners = it.status(&it.alice, &uri, "closed", AT);
    assert_eq!(
        (index.knows(&strange), index.knows(&owners).is_some()),
        (None, true)
    );
    index.set_moods(Moods {
        other_cid: true,
        ..Moods::default()
    });
    let told = list(&it, &[])["items"][0]["cid"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        told != cid && told.starts_with("bafyrei") && told.len() == cid.len(),
        "{told}"
    );
    index.set_moods(Moods {
        lag: Duration::from_secs(3_600),
        ..Moods::default()
    });
    let (late, _) = it.pull("3mkuuamwfj324", "patch");
    assert_eq!(index.knows(&late), None);
    index.set_moods(Moods::default());
    assert!(index.knows(&late).is_some());
}

/// Tangled's index of mid-2026 (`accept_state_source` in bobbin).
#[test]
fn author_only_index_ignores_states_of_maintainers() {
    let it = Fixture::new();
    let index = it.world.index();
    index.set_moods(Moods {
        counts_authors_only: true,
        ..Moods::default()
    });
    let (uri, _) = it.pull("3mkuuamwfj322", "patch");
    let _ = it.status(&it.alice, &uri, "merged", AT);
    assert_eq!(list(&it, &[])["items"][0]["state"], "open");
    assert_eq!(list(&it, &[("status", "merged")])["items"], json!([]));
    let _ = it.status(&it.bob, &uri, "closed", "2026-08-01T00:00:00Z");
    assert_eq!(list(&it, &[])["items"][0]["state"], "closed");
    index.set_moods(Moods::default());
    assert_eq!(list(&it, &[])["items"][0]["state"], "merged");
}

#[test]
fn rows_of_unreadable_account_are_dropped_before_the_cursor() {
    let it = Fixture::new();
    for number in 2..5 {
        let _ = it.pull(&format!("3mkuuamwfj32{number}"), "patch");
    }
    it.world.index().set_moods(Moods {
        unreadable: [it.bob.did.clone()].into(),
        ..Moods::default()
    });
    let first = list(&it, &[("limit", "2")]);
    let cursor = first["cursor"].as_str().unwrap();
    let second = list(&it, &[("limit", "2"), ("cursor", cursor)]);
    let none = json!([]);
    assert_eq!((&first["items"], &second["items"]), (&none, &none));
    assert_eq!(second["cursor"], Value::Null);
}

#[test]
fn lost_record_returns_after_rewrite() {
    let it = Fixture::new();
    it.world.index().lose_next("sh.tangled.repo.pull", 1);
    let (uri, lost) = it.pull("3mkuuamwfj322", "patch");
    assert_eq!(it.world.index().knows(&uri), None);
    assert_eq!(list(&it, &[])["items"], json!([]));
    // A request for the record itself reads the author's PDS.
    let params = [("pull", uri.as_str())];
    let read = it.index().get("sh.tangled.repo.getPull", &params).ok();
    assert_eq!(read["cid"], lost.as_str());
    let (_, mut value) = it.world.pds().record(&uri).unwrap();
    value["body"] = "again".into();
    let (_, cid) = it
        .world
        .pds()
        .put(&it.bob.did, "sh.tangled.repo.pull", "3mkuuamwfj322", value);
    assert_eq!(it.world.index().knows(&uri), Some(cid));
}

#[test]
fn backlinks_are_served_without_the_index() {
    let it = Fixture::new();
    it.world.index().set_moods(Moods {
        pulls: false,
        ..Moods::default()
    });
    let (uri, _) = it.pull("3mkuuamwfj322", "patch");
    it.world
        .index()
        .host()
        .fault(Fault::rate_limited(7).always());
    let limited = it.index().get("sh.tangled.repo.getPull", &[("pull", &uri)]);
    assert_eq!((limited.status, limited.header("retry-after")), (429, "7"));
    let links = Caller::new(&it.world.index().backlinks().url());
    let params = [
        ("subject", it.repo.did.as_str()),
        ("source", "sh.tangled.repo.pull:target.repo"),
    ];
    let found = links.get("blue.microcosm.links.getBacklinks", &params).ok();
    let record =
        json!({ "did": it.bob.did, "collection": "sh.tangled.repo.pull", "rkey": "3mkuuamwfj322" });
    assert_eq!(
        (&found["total"], &found["records"][0]),
        (&json!(1), &record)
    );
    it.world.index().host().set_down(true);
    let index = it.index();
    let refused = std::panic::catch_unwind(move || index.get("sh.tangled.bobbin.getCoverage", &[]));
    assert!(refused.is_err());
}

#[test]
fn page_of_pull_number_has_record_and_patches() {
    let it = Fixture::new();
    let (first, _) = it.pull("3mkuuamwfj322", "one");
    let (second, _) = it.pull("3mkuuamwfj323", "two");
    assert_eq!(
        (
            it.world.index().number(&first),
            it.world.index().number(&second)
        ),
        (Some(1), Some(2))
    );
    let web = Caller::new(&it.world.index().web().url());
    let page = String::from_utf8(web.page("/@alice.test/widget/pulls/2").bytes).unwrap();
    assert!(page.contains(&format!("data-aturi=\"{second}\"")), "{page}");
    assert_eq!(
        web.page("/alice.test/widget/pulls/2/round/0.patch").bytes,
        b"two"
    );
    assert_eq!(web.page("/alice.test/widget/pulls/3").status, 404);
}
