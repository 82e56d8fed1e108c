//! Tests the knot of Tangled 1.0, which is also the PDS of its repositories.

use forge_tangled_world::{
    Account, Audience, Caller, KnotOptions, PdsOptions, Repository, World, XrpcAnswer,
};
use forge_testkit::GitDir;
use serde_json::{Value, json};

use super::AT;

const CREATE: &str = "com.atproto.repo.createRecord";
const PUT: &str = "com.atproto.repo.putRecord";
const DELETE: &str = "com.atproto.repo.deleteRecord";
const SUBMIT: &str = "org.tangled.review.submitPatch";
const TICKET: &str = "org.tangled.track.ticket";

struct Fixture {
    world: World,
    alice: Account,
    bob: Account,
    repo: Repository,
}

impl Fixture {
    fn new(options: KnotOptions) -> Self {
        let world = World::with(PdsOptions::default(), options).unwrap();
        let alice = world.pds().account("alice.test", "a");
        let bob = world.pds().account("bob.test", "b");
        let repo = world.repository_1_0(&alice, "widget");
        Self {
            world,
            alice,
            bob,
            repo,
        }
    }

    fn call(&self, who: &Account, nsid: &str, body: &Value) -> XrpcAnswer {
        let host = self.world.knot().host();
        let token = self
            .world
            .pds()
            .service_token(&who.did, &host.did(), Some(nsid), 60);
        Caller::new(&host.url()).with_token(&token).post(nsid, body)
    }

    fn ticket(&self, who: &Account, rkey: &str) -> XrpcAnswer {
        let record = json!({
            "title": { "$type": "org.tangled.markup.markdown#inline", "text": "Add a thing" },
            "state": "open", "targetBranch": "main", "createdAt": AT, "x-tngl-editor": "did:plc:forged",
        });
        let body =
            json!({ "repo": self.repo.did, "collection": TICKET, "rkey": rkey, "record": record });
        self.call(who, CREATE, &body)
    }

    fn current(&self, rkey: &str) -> (String, Value) {
        let all = self.world.knot().records(&self.repo.did, TICKET);
        let uri = format!("at://{}/{TICKET}/{rkey}", self.repo.did);
        let (_, cid, value) = all.into_iter().find(|it| it.0 == uri).unwrap();
        (cid, value)
    }

    fn submit(&self, who: &Account, head: &GitDir, source: &str) -> XrpcAnswer {
        let oid = |git: &GitDir, rev: &str| json!({ "oid": git.oid(rev).unwrap() });
        let body = json!({ "repo": self.repo.did, "patch": {
            "ticket": "3mkuuamwfj322", "base": oid(&self.repo.git, "main"), "head": oid(head, "topic"),
            "sourceRepo": source, "sourceBranch": "topic",
        }});
        self.call(who, SUBMIT, &body)
    }
}

#[test]
fn pull_request_is_a_ticket_with_patches() {
    let it = Fixture::new(KnotOptions::default());
    let created = it.ticket(&it.bob, "3mkuuamwfj322").ok();
    assert!(created["x-tngl-change"].is_string());
    let (cid, ticket) = it.current("3mkuuamwfj322");
    assert_eq!(
        (created["cid"].as_str().unwrap(), &ticket["x-tngl-editor"]),
        (cid.as_str(), &json!(it.bob.did))
    );
    let fork = it.world.fork(&it.repo, &it.bob);
    fork.git
        .commit("topic", "Add one", &[("one.txt", Some("1\n"))]);
    let submitted = it.submit(&it.bob, &fork.git, &fork.did).ok();
    let patches = it
        .world
        .knot()
        .records(&it.repo.did, "org.tangled.review.patch");
    assert_eq!(patches[0].0, submitted["uri"].as_str().unwrap());
    let head = fork.git.oid("topic").unwrap();
    assert_eq!(patches[0].2["head"]["oid"], head.as_str());
    assert_eq!(
        patches[0].2["source"],
        json!({ "repo": fork.did, "branch": "topic" })
    );
    assert_eq!(it.repo.git.oid(&format!("{head}^{{commit}}")), Some(head));
    // Any atproto client can read the ticket from the account of the repository.
    let knot = Caller::new(&it.world.knot().host().url());
    let listed = knot
        .get(
            "com.atproto.repo.listRecords",
            &[("repo", &it.repo.did), ("collection", TICKET)],
        )
        .ok();
    assert_eq!(listed["records"][0]["cid"], cid.as_str());
}

#[test]
fn unknown_commits_are_refused() {
    let it = Fixture::new(KnotOptions::default());
    let _ = it.ticket(&it.bob, "3mkuuamwfj322").ok();
    let body = json!({ "repo": it.repo.did, "patch": {
        "ticket": "3mkuuamwfj322", "base": { "oid": "0".repeat(40) }, "head": { "oid": "1".repeat(40) },
        "sourceRepo": it.repo.did, "sourceBranch": "topic",
    }});
    assert_eq!(it.call(&it.bob, SUBMIT, &body).error(), "CommitNotFound");
    assert!(
        it.world
            .knot()
            .records(&it.repo.did, "org.tangled.review.patch")
            .is_empty()
    );
}

#[test]
fn ticket_edit_needs_swap_cid_and_permission() {
    let it = Fixture::new(KnotOptions::default());
    let _ = it.ticket(&it.bob, "3mkuuamwfj322").ok();
    let (cid, mut ticket) = it.current("3mkuuamwfj322");
    ticket["state"] = "closed".into();
    let put = |who: &Account, swap: &str| {
        let body = json!({
            "repo": it.repo.did, "collection": TICKET, "rkey": "3mkuuamwfj322",
            "record": ticket, "swapRecord": swap,
        });
        it.call(who, PUT, &body)
    };
    let carol = it.world.pds().account("carol.test", "c");
    assert_eq!(put(&carol, &cid).error(), "AccessControl");
    assert_eq!(put(&it.alice, &cid).status, 200);
    let stale = put(&it.alice, &cid);
    assert_eq!((stale.status, stale.error().as_str()), (400, "InvalidSwap"));
    assert_eq!(
        it.current("3mkuuamwfj322").1["x-tngl-editor"],
        it.alice.did.as_str()
    );
    let body = json!({ "repo": it.repo.did, "collection": TICKET, "rkey": "3mkuuamwfj322" });
    assert_eq!(it.call(&it.bob, DELETE, &body).error(), "AccessControl");
    assert_eq!(it.call(&it.alice, DELETE, &body).status, 200);
    assert!(it.world.knot().records(&it.repo.did, TICKET).is_empty());
}

#[test]
fn comment_must_reference_the_current_version() {
    let it = Fixture::new(KnotOptions::default());
    let created = it.ticket(&it.bob, "3mkuuamwfj322").ok();
    let comment = |cid: &Value, text: &str| {
        let record = json!({
            "subject": { "$type": "com.atproto.repo.strongRef", "uri": created["uri"], "cid": cid },
            "body": { "$type": "org.tangled.markup.markdown", "text": text }, "createdAt": AT,
        });
        let body = json!({ "repo": it.repo.did, "collection": "org.tangled.feed.comment", "record": record });
        it.call(&it.alice, CREATE, &body)
    };
    assert_eq!(comment(&created["cid"], "Fine.").status, 200);
    assert_eq!(
        comment(&created["cid"], " ").message(),
        "empty markdown body"
    );
    let other = json!("bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454");
    assert!(
        comment(&other, "Fine.")
            .message()
            .starts_with("subject is not the current version")
    );
}

#[test]
fn repository_did_can_be_the_token_audience() {
    let it = Fixture::new(KnotOptions {
        audience: Audience::Repository,
        ..KnotOptions::default()
    });
    assert_eq!(it.ticket(&it.bob, "3mkuuamwfj322").status, 403);
    let token = it
        .world
        .pds()
        .service_token(&it.bob.did, &it.repo.did, Some(CREATE), 60);
    let body = json!({ "repo": it.repo.did, "collection": TICKET, "record": { "state": "open" } });
    let knot = Caller::new(&it.world.knot().host().url());
    assert_eq!(knot.with_token(&token).post(CREATE, &body).status, 200);
}

#[test]
fn repository_claim_is_declaration_and_manifest() {
    let it = Fixture::new(KnotOptions::default());
    let declaration = it.world.pds().record(&it.repo.uri).unwrap().1;
    assert_eq!(declaration["repo"], it.repo.did.as_str());
    let manifest = &it
        .world
        .knot()
        .records(&it.repo.did, "org.tangled.repo.manifest")[0]
        .2;
    assert_eq!(
        (&manifest["owner"], &manifest["name"]),
        (&json!(it.alice.did), &json!("widget"))
    );
    let document = it.world.directory().document(&it.repo.did).unwrap();
    let ids: Vec<&Value> = document["service"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(ids, ["#tangled_knot", "#atproto_pds"]);
}
