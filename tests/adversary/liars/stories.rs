//! What the random cases have found, each by itself.

use std::time::Duration;

use forge_testkit::{Identity, Scratch, tangled::World};
use serde_json::json;

use super::child::Running;

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
