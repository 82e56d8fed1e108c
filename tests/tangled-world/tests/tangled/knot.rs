//! Tests the knot of 2025 and 2026, which reads and merges real git repositories.

use forge_tangled_world::{Caller, KnotOptions, PdsOptions, World};
use forge_testkit::{GitDir, Scratch};
use serde_json::{Value, json};

use super::Fixture;

const MERGE: &str = "sh.tangled.repo.merge";

/// Adds two commits to branch `topic`.
fn topic(git: &GitDir) {
    git.commit("topic", "Add one", &[("one.txt", Some("1\n"))]);
    git.commit("topic", "Add two", &[("two.txt", Some("2\n"))]);
}

fn patch(it: &Fixture) -> String {
    let knot = Caller::new(&it.world.knot().host().url());
    let params = [
        ("repo", it.repo.did.as_str()),
        ("rev1", "main"),
        ("rev2", "topic"),
    ];
    let compared = knot.get("sh.tangled.repo.compare", &params).ok();
    assert_eq!(compared["format_patch"].as_array().unwrap().len(), 2);
    compared["patch"].as_str().unwrap().to_owned()
}

fn input(it: &Fixture, patch: &str) -> Value {
    json!({ "repo": it.repo.did, "patch": patch, "branch": "main" })
}

#[test]
fn branches_and_files_match_git() {
    let it = Fixture::new();
    topic(&it.repo.git);
    let knot = Caller::new(&it.world.knot().host().url());
    let repo = ("repo", it.repo.did.as_str());
    let branches = knot.get("sh.tangled.repo.branches", &[repo]).ok();
    let tip = it.repo.git.oid("refs/heads/topic").unwrap();
    assert_eq!(branches["branches"][0]["is_default"], true);
    assert_eq!(
        branches["branches"][1]["reference"],
        json!({ "name": "topic", "hash": tip })
    );
    assert_eq!(
        branches["branches"][1]["commit"]["Hash"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
    let default = knot.get("sh.tangled.repo.getDefaultBranch", &[repo]).ok();
    assert_eq!(default["name"], "main");
    let blob = knot
        .get(
            "sh.tangled.repo.blob",
            &[repo, ("ref", "topic"), ("path", "two.txt")],
        )
        .ok();
    assert_eq!(
        (&blob["content"], &blob["encoding"]),
        (&json!("2\n"), &json!("utf-8"))
    );
    let tree = knot
        .get("sh.tangled.repo.tree", &[repo, ("ref", "topic")])
        .ok();
    assert_eq!(tree["files"].as_array().unwrap().len(), 4);
    let log = knot
        .get(
            "sh.tangled.repo.log",
            &[repo, ("ref", "topic"), ("limit", "2")],
        )
        .ok();
    assert_eq!(
        (log["commits"].as_array().unwrap().len(), &log["total"]),
        (2, &json!(3))
    );
    let described = knot
        .get("sh.tangled.repo.describeRepo", &[("repoDid", &it.repo.did)])
        .ok();
    assert_eq!(described["ownerDid"], it.alice.did.as_str());
    assert_eq!(
        knot.get("sh.tangled.repo.branches", &[("repo", "did:plc:x")])
            .error(),
        "RepoNotFound"
    );
    assert_eq!(
        knot.get("sh.tangled.knot.version", &[]).ok()["capabilities"],
        json!(["knot-acl", "repo-did-input"])
    );
}

#[test]
fn merge_keeps_commits_and_authors() {
    let it = Fixture::new();
    topic(&it.repo.git);
    let patch = patch(&it);
    let knot = Caller::new(&it.world.knot().host().url());
    let check = knot
        .post("sh.tangled.repo.mergeCheck", &input(&it, &patch))
        .ok();
    assert_eq!(check, json!({ "is_conflicted": false }));
    let merged = it.knot(&it.alice, MERGE).post(MERGE, &input(&it, &patch));
    assert_eq!((merged.status, merged.bytes.len()), (200, 0));
    let log = it.repo.git.log("main", "%an %s");
    assert_eq!(
        log,
        "Ada Lovelace Add two\nAda Lovelace Add one\nAda Lovelace First commit"
    );
    assert_eq!(it.repo.git.show("main", "one.txt"), "1\n");
    // A patch that is merged does not apply a second time.
    let again = it.knot(&it.alice, MERGE).post(MERGE, &input(&it, &patch));
    assert_eq!(
        (again.status, again.error().as_str()),
        (409, "MergeConflict")
    );
}

#[test]
fn plain_diff_becomes_one_commit() {
    let it = Fixture::new();
    topic(&it.repo.git);
    let diff = it.repo.git.run(["diff", "main", "topic"]).text();
    let body = json!({
        "did": it.alice.did, "name": "widget", "patch": diff, "branch": "main",
        "commitMessage": "Both", "commitBody": "Why.", "authorName": "Grace", "authorEmail": "g@example.com",
    });
    assert_eq!(it.knot(&it.alice, MERGE).post(MERGE, &body).status, 200);
    assert_eq!(
        it.repo.git.log("main", "%an %s"),
        "Grace Both\nAda Lovelace First commit"
    );
}

#[test]
fn conflict_names_the_files() {
    let it = Fixture::new();
    it.repo
        .git
        .commit("topic", "Change it", &[("README.md", Some("# Theirs\n"))]);
    let params = [
        ("repo", it.repo.did.as_str()),
        ("rev1", "main"),
        ("rev2", "topic"),
    ];
    let knot = Caller::new(&it.world.knot().host().url());
    let patch = knot.get("sh.tangled.repo.compare", &params).ok()["patch"]
        .as_str()
        .unwrap()
        .to_owned();
    it.repo
        .git
        .commit("main", "Change it here", &[("README.md", Some("# Ours\n"))]);
    let before = it.repo.git.refs();
    let check = knot
        .post("sh.tangled.repo.mergeCheck", &input(&it, &patch))
        .ok();
    assert_eq!(
        check["conflicts"],
        json!([{ "filename": "README.md", "reason": "patch failed" }])
    );
    let refused = it.knot(&it.alice, MERGE).post(MERGE, &input(&it, &patch));
    assert_eq!(
        (refused.status, refused.error().as_str()),
        (409, "MergeConflict")
    );
    assert_eq!(it.repo.git.refs(), before);
}

#[test]
fn service_token_claims_are_all_checked() {
    let it = Fixture::new();
    topic(&it.repo.git);
    let body = input(&it, &patch(&it));
    let (pds, did) = (it.world.pds(), it.world.knot().host().did());
    let knot = Caller::new(&it.world.knot().host().url());
    let with = |token: &str| knot.with_token(token).post(MERGE, &body);
    let before = it.repo.git.refs();
    for refused in [
        knot.post(MERGE, &body),
        with("x"),
        with(&pds.service_token(&it.alice.did, "did:web:other.example", Some(MERGE), 60)),
        with(&pds.service_token(&it.alice.did, &did, Some("sh.tangled.repo.create"), 60)),
        with(&pds.service_token(&it.alice.did, &did, None, 60)),
        with(&pds.service_token(&it.alice.did, &did, Some(MERGE), -1)),
    ] {
        assert_eq!(
            (refused.status, refused.error().as_str()),
            (403, "Auth"),
            "{}",
            refused.message()
        );
    }
    let bob = with(&pds.service_token(&it.bob.did, &did, Some(MERGE), 60));
    assert_eq!((bob.status, bob.error().as_str()), (401, "AccessControl"));
    assert_eq!(it.repo.git.refs(), before);
    it.world.directory().rotate_key(&it.alice.did);
    let old = with(&pds.service_token(&it.alice.did, &did, Some(MERGE), 60));
    assert_eq!(
        (old.status, old.message().as_str()),
        (403, "signature verification failed: signature is invalid")
    );
    it.world.knot().add_collaborator(&it.repo, &it.bob.did);
    assert_eq!(
        with(&pds.service_token(&it.bob.did, &did, Some(MERGE), 60)).status,
        200
    );
}

#[test]
fn knot_of_2025_uses_the_old_protocol() {
    let options = KnotOptions {
        legacy: true,
        ..KnotOptions::default()
    };
    let world = World::with(PdsOptions::default(), options).unwrap();
    let alice = world.pds().account("alice.test", "a");
    let repo = world.repository_2025(&alice, "widget");
    topic(&repo.git);
    let knot = Caller::new(&world.knot().host().url());
    let name = format!("{}/widget", alice.did);
    let branches = knot
        .get("sh.tangled.repo.branches", &[("repo", &name)])
        .ok();
    assert_eq!(branches["branches"][0]["is_deafult"], true);
    assert_eq!(knot.get("sh.tangled.knot.version", &[]).status, 404);
    let diff = repo.git.run(["diff", "main", "topic"]).text();
    let token = world
        .pds()
        .service_token(&alice.did, &world.knot().host().did(), None, 60);
    let merge = |body: Value| knot.with_token(&token).post(MERGE, &body);
    let by_did = merge(json!({ "repo": "did:plc:x", "patch": diff, "branch": "main" }));
    assert_eq!(by_did.status, 400);
    let by_name =
        merge(json!({ "did": alice.did, "name": "widget", "patch": diff, "branch": "main" }));
    assert_eq!(by_name.status, 200);
}

#[test]
fn knot_without_did_input_takes_uris_and_keys() {
    const DELETE: &str = "sh.tangled.repo.deleteBranch";
    let options = KnotOptions {
        capabilities: vec!["knot-acl".to_owned()],
        ..KnotOptions::default()
    };
    let world = World::with(PdsOptions::default(), options).unwrap();
    let alice = world.pds().account("alice.test", "a");
    let key = "3mkuuamwfj322";
    let repo = world.repository_with_key(&alice, "widget", key);
    topic(&repo.git);
    let diff = repo.git.run(["diff", "main", "topic"]).text();
    let knot = Caller::new(&world.knot().host().url());
    for (name, status) in [(key, 200), ("widget", 200), ("other", 404)] {
        let body = json!({
            "did": alice.did, "name": name, "repo": repo.did, "patch": diff, "branch": "main",
        });
        let checked = knot.post("sh.tangled.repo.mergeCheck", &body);
        assert_eq!(checked.status, status, "{name}");
    }
    let audience = world.knot().host().did();
    let token = world
        .pds()
        .service_token(&alice.did, &audience, Some(DELETE), 60);
    let delete = |name: &str| {
        let body = json!({ "repo": name, "branch": "topic" });
        knot.with_token(&token).post(DELETE, &body)
    };
    let by_did = delete(&repo.did);
    assert_eq!(
        (by_did.status, by_did.error().as_str()),
        (400, "InvalidRepo")
    );
    assert_eq!(delete(&repo.uri).status, 200);
    assert!(repo.git.oid("topic").is_none());
}

#[test]
fn merge_check_failure_has_status_200() {
    let options = KnotOptions {
        broken_merge_check: true,
        ..KnotOptions::default()
    };
    let world = World::with(PdsOptions::default(), options).unwrap();
    let alice = world.pds().account("alice.test", "a");
    let repo = world.repository(&alice, "widget");
    let body = json!({ "repo": repo.did, "patch": "", "branch": "main" });
    let check = Caller::new(&world.knot().host().url())
        .post("sh.tangled.repo.mergeCheck", &body)
        .ok();
    assert_eq!(check["is_conflicted"], true);
    assert!(
        check["error"]
            .as_str()
            .unwrap()
            .starts_with("failed to clone")
    );
}

#[test]
fn fork_is_compared_through_hidden_ref() {
    let it = Fixture::new();
    let fork = it.world.fork(&it.repo, &it.bob);
    fork.git
        .commit("topic", "Add one", &[("one.txt", Some("1\n"))]);
    it.repo
        .git
        .commit("main", "Go on", &[("other.txt", Some("o\n"))]);
    let nsid = "sh.tangled.repo.hiddenRef";
    let body = json!({ "repo": fork.did, "forkRef": "topic", "remoteRef": "main" });
    assert_eq!(it.knot(&it.alice, nsid).post(nsid, &body).status, 401);
    let hidden = it.knot(&it.bob, nsid).post(nsid, &body).ok();
    assert_eq!(
        hidden,
        json!({ "success": true, "ref": "hidden/topic/main" })
    );
    let params = [
        ("repo", fork.did.as_str()),
        ("rev1", "hidden/topic/main"),
        ("rev2", "topic"),
    ];
    let compared = Caller::new(&it.world.knot().host().url())
        .get("sh.tangled.repo.compare", &params)
        .ok();
    assert_eq!(compared["format_patch"].as_array().unwrap().len(), 1);
    assert_eq!(
        compared["rev1"].as_str(),
        it.repo.git.oid("main").as_deref()
    );
    let none = json!({ "repo": it.repo.did, "forkRef": "topic", "remoteRef": "main" });
    assert_eq!(
        it.knot(&it.alice, nsid).post(nsid, &none).ok()["success"],
        false
    );
}

#[test]
fn git_clones_over_http_and_pushes_with_permission() {
    let it = Fixture::new();
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    let url = format!("{}/@alice.test/widget", it.world.knot().host().url());
    let git = || {
        scratch
            .run("git")
            .env("HTTPS_PROXY", "")
            .env("NO_PROXY", "*")
    };
    git().args(["clone", "--quiet", &url]).arg(&tree).ok();
    let clone = GitDir::at(&tree);
    assert_eq!(clone.oid("HEAD"), it.repo.git.oid("main"));
    clone.commit("topic", "Add one", &[("one.txt", Some("1\n"))]);
    let push = |headers: &[String]| {
        let mut run = git().dir(&tree);
        for header in headers {
            run = run.arg("-c").arg(format!("http.extraHeader={header}"));
        }
        run.args(["push", "--quiet", &url, "topic"]).output()
    };
    let _ = push(&[]).exits(128).says("403");
    let aud = it.world.knot().host().did();
    let lxm = "org.tangled.git.receivePack";
    let token = |did: &str| {
        format!(
            "authorization: Bearer {}",
            it.world.pds().service_token(did, &aud, Some(lxm), 60)
        )
    };
    let _ = push(&[token(&it.bob.did)]).exits(128);
    let _ = push(&[token(&it.alice.did)]).success();
    assert_eq!(it.repo.git.oid("topic"), clone.oid("topic"));
}
