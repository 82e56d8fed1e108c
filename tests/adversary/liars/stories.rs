//! What the random cases have found, each by itself.

use std::time::Duration;

use forge_testkit::{Identity, Scratch, tangled::World};
use serde_json::{Value, json};

use super::{
    child::{Running, check_end},
    lies::gzip,
};

#[test]
fn slow_server_of_record_ends_with_deadline() {
    let world = World::start().unwrap();
    let alice = world.pds().account("alice.test", "word");
    for (collection, group) in [
        ("sh.tangled.repo.pull", "pr"),
        ("sh.tangled.repo.issue", "issue"),
    ] {
        let (uri, _) = world.pds().add(&alice.did, collection, json!({}));
        world.pds().host().set_latency(Duration::from_secs(20));
        let scratch = Scratch::new();
        let run = scratch
            .forge(&scratch.path(""), &Identity::ADA)
            .env("TANGLED_PLC_URL", world.directory().host().url())
            .env("TANGLED_INDEX_URL", world.index().host().url())
            .env("FORGE_TIMEOUT", "1")
            .args([group, "view", &uri]);
        let result = scratch.path("probe.result");
        let ended = Running::start(&run, result, Duration::from_secs(12)).end();
        let ended = ended.unwrap_or_else(|why| panic!("{group}: {why}"));
        let said = ended.stderr_text();
        assert!(said.contains("took longer than 1 s"), "{said}");
        world.pds().host().set_latency(Duration::ZERO);
    }
}

/// Each takes some kilobytes on the wire, and as much memory as a patch may.
#[test]
fn large_rounds_together_take_little_memory() {
    const MIB: usize = 1 << 20;
    let world = World::start().unwrap();
    let alice = world.pds().account("alice.test", "word");
    let repo = world.repository(&alice, "widget");
    let line = format!("+{}\n", "x".repeat(MIB));
    for n in 0..8 {
        let patch = format!(
            "From {n:040} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.com>\n\
             Date: Fri, 20 Nov 2026 10:00:00 +0100\nSubject: [PATCH] Large\n\n---\n\n\
             diff --git a/large b/large\nnew file mode 100644\n--- /dev/null\n+++ b/large\n\
             @@ -0,0 +1,10 @@\n{}",
            line.repeat(10)
        );
        let packed = gzip(patch.as_bytes());
        let blob = world.pds().blob(&alice.did, "application/gzip", &packed);
        let time = "2026-11-01T00:00:00Z";
        let record = json!({
            "$type": "sh.tangled.repo.pull", "title": "Large", "createdAt": time,
            "target": { "repo": repo.did, "branch": "main" },
            "rounds": [{ "createdAt": time, "patchBlob": blob }],
        });
        world.pds().add(&alice.did, "sh.tangled.repo.pull", record);
    }
    let scratch = Scratch::new();
    let run = scratch
        .forge(&scratch.path(""), &Identity::ADA)
        .env("TANGLED_PLC_URL", world.directory().host().url())
        .env("TANGLED_INDEX_URL", world.index().host().url())
        .env("TANGLED_BACKLINKS_URL", world.index().backlinks().url())
        .env("TANGLED_RESOLVER_URL", world.pds().host().url())
        .env("FORGE_TIMEOUT", "100")
        .args(["pr", "list", "-R", "tangled:alice.test/widget"])
        .args(["--touches", "large", "--json", "title"]);
    let result = scratch.path("probe.result");
    let ended = Running::start(&run, result, Duration::from_secs(110)).end();
    let ended = ended.unwrap();
    check_end(&ended).unwrap();
    let listed: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let count = listed.as_array().map(Vec::len);
    assert_eq!(count, Some(8), "{}", ended.stderr_text());
}
