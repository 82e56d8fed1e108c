//! Calls the doubles of tangled's world over HTTP, as any client does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod index;
mod knot;
mod knot_1_0;
mod pds;

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use forge_tangled_world::{Account, Caller, Repository, World};
use serde_json::{Value, json};

const AT: &str = "2026-08-02T10:00:00.000Z";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A world with a repository of Alice's, and a second account.
struct Fixture {
    world: World,
    alice: Account,
    bob: Account,
    repo: Repository,
}

impl Fixture {
    fn new() -> Self {
        let world = World::start().unwrap();
        let alice = world.pds().account("alice.test", "a");
        let bob = world.pds().account("bob.test", "b");
        let repo = world.repository(&alice, "widget");
        Self {
            world,
            alice,
            bob,
            repo,
        }
    }

    fn pds(&self, who: &Account) -> Caller {
        Caller::new(&self.world.pds().host().url()).sign_in(&who.handle, &who.password)
    }

    /// Returns a caller of the knot with a token from the PDS of the account.
    fn knot(&self, who: &Account, nsid: &str) -> Caller {
        let aud = self.world.knot().host().did();
        let token = self
            .pds(who)
            .get(
                "com.atproto.server.getServiceAuth",
                &[("aud", &aud), ("lxm", nsid)],
            )
            .ok();
        Caller::new(&self.world.knot().host().url()).with_token(token["token"].as_str().unwrap())
    }

    fn index(&self) -> Caller {
        Caller::new(&self.world.index().host().url())
    }

    /// Creates a pull request of Bob's with one round, and returns the at-uri and the CID.
    fn pull(&self, rkey: &str, patch: &str) -> (String, String) {
        let pds = self.world.pds();
        let blob = pds.blob(&self.bob.did, "application/gzip", &gzip(patch));
        pds.put(
            &self.bob.did,
            "sh.tangled.repo.pull",
            rkey,
            pull(&self.repo.did, &blob),
        )
    }

    fn status(&self, who: &Account, pull: &str, word: &str, at: &str) -> String {
        let record = json!({
            "pull": pull, "status": format!("sh.tangled.repo.pull.status.{word}"), "createdAt": at,
        });
        self.world
            .pds()
            .add(&who.did, "sh.tangled.repo.pull.status", record)
            .0
    }
}

fn pull(repo: &str, blob: &Value) -> Value {
    json!({
        "target": { "repo": repo, "branch": "main" },
        "source": { "branch": "topic" },
        "title": "Add a thing",
        "rounds": [{ "createdAt": AT, "patchBlob": blob }],
        "createdAt": AT,
    })
}
