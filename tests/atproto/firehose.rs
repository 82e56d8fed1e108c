//! Tests that our index follows a real PDS's firehose, and that our knot accepts the tokens that
//! this PDS issues.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use forge_tangled_world::{Caller, RealWorld};
use serde_json::json;

/// Calls `look` until it returns a value, because the index receives records with a delay.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "the index heard of nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn gzip(patch: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(patch.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn pull_on_real_pds_is_indexed_and_merged() {
    let Some(dir) = RealWorld::installed() else {
        return;
    };
    let world = RealWorld::start(&dir).unwrap();
    let alice = world.account("alice.test", "0canary0-of-alice");
    let bob = world.account("bob.test", "0canary0-of-bob");
    let repo = world.repository(&alice, "widget");
    repo.git
        .commit("topic", "Add one", &[("one.txt", Some("1\n"))]);
    let patch = repo
        .git
        .run(["format-patch", "--stdout", "main..topic"])
        .text();

    let pds = Caller::new(&world.pds_url()).sign_in("bob.test", "0canary0-of-bob");
    let blob = pds
        .post_bytes(
            "com.atproto.repo.uploadBlob",
            "application/gzip",
            &gzip(&patch),
        )
        .ok();
    let at = "2026-08-02T10:00:00.000Z";
    let record = json!({
        "$type": "sh.tangled.repo.pull", "target": { "repo": repo.did, "branch": "main" },
        "title": "Add one", "rounds": [{ "createdAt": at, "patchBlob": blob["blob"] }], "createdAt": at,
    });
    forge_tangled::lexicon::check("sh.tangled.repo.pull", &record).unwrap();
    let uri = format!("at://{}/sh.tangled.repo.pull/3mkuuamwfj322", bob.did);
    let writes = json!({ "repo": bob.did, "writes": [
        {
            "$type": "com.atproto.repo.applyWrites#create", "collection": "sh.tangled.repo.pull",
            "rkey": "3mkuuamwfj322", "value": record,
        },
        {
            "$type": "com.atproto.repo.applyWrites#create", "collection": "sh.tangled.repo.pull.status",
            "rkey": "3mkuuamwfj322", "value": {
                "pull": uri, "status": "sh.tangled.repo.pull.status.open", "createdAt": at,
            },
        },
    ]});
    let written = pds.post("com.atproto.repo.applyWrites", &writes).ok();
    let cid = until(|| world.index().knows(&uri));
    assert_eq!(written["results"][0]["cid"], cid.as_str());
    assert_eq!(world.index().dropped(), []);
    assert_eq!(world.index().number(&uri), Some(1));

    let merge = "sh.tangled.repo.merge";
    let knot = world.knot().host();
    let owner = Caller::new(&world.pds_url()).sign_in("alice.test", "0canary0-of-alice");
    let params = [("aud", knot.did()), ("lxm", merge.to_owned())];
    let params: Vec<(&str, &str)> = params
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let token = owner.get("com.atproto.server.getServiceAuth", &params).ok();
    let caller = Caller::new(&knot.url()).with_token(token["token"].as_str().unwrap());
    let body = json!({ "repo": repo.did, "patch": patch, "branch": "main" });
    assert_eq!(caller.post(merge, &body).status, 200);
    assert_eq!(repo.git.show("main", "one.txt"), "1\n");

    // The index removes deleted records.
    let body =
        json!({ "repo": bob.did, "collection": "sh.tangled.repo.pull", "rkey": "3mkuuamwfj322" });
    let _ = pds.post("com.atproto.repo.deleteRecord", &body).ok();
    until(|| world.index().knows(&uri).is_none().then_some(()));
}
