//! Tests features of the PDS double that the comparison with a real PDS does not cover.

use forge_tangled_world::KnotOptions;
use forge_tangled_world::{Caller, DocumentForm, Fault, PdsOptions, World};
use serde_json::json;

use super::Fixture;

#[test]
fn lost_answer_after_commit_leaves_record() {
    let it = Fixture::new();
    let pds = it.pds(&it.bob);
    it.world.pds().host().reset_record();
    let nsid = "com.atproto.repo.createRecord";
    it.world
        .pds()
        .host()
        .fault(Fault::gateway(502).on(nsid).committed());
    it.world
        .pds()
        .host()
        .fault(Fault::error(500, "InternalServerError", "Internal Server Error").on(nsid));
    let body = |rkey: &str| json!({ "repo": it.bob.did, "collection": "a.b.c", "rkey": rkey, "record": { "n": 1 } });
    assert_eq!(pds.post(nsid, &body("one")).status, 502);
    assert_eq!(pds.post(nsid, &body("two")).status, 500);
    let keys: Vec<String> = it
        .world
        .pds()
        .records(&it.bob.did, "a.b.c")
        .into_iter()
        .map(|it| it.0)
        .collect();
    assert_eq!(keys, [format!("at://{}/a.b.c/one", it.bob.did)]);
    assert_eq!(
        (
            it.world.pds().host().count_of(nsid),
            it.world.pds().host().faults_left()
        ),
        (2, 0)
    );
    let executed: Vec<bool> = it
        .world
        .pds()
        .host()
        .requests()
        .iter()
        .map(|it| it.executed)
        .collect();
    assert_eq!(executed, [true, false]);
}

#[test]
fn access_token_expires_and_refresh_token_is_revoked() {
    let it = Fixture::new();
    let nobody = Caller::new(&it.world.pds().host().url());
    let body = json!({ "identifier": "bob.test", "password": "b" });
    let session = nobody.post("com.atproto.server.createSession", &body).ok();
    let text = |name: &str| session[name].as_str().unwrap().to_owned();
    let (access, refresh) = (text("accessJwt"), text("refreshJwt"));
    let get = || {
        nobody
            .with_token(&access)
            .get("com.atproto.server.getSession", &[])
    };
    assert_eq!(get().status, 200);
    it.world.pds().set_clock(7_300);
    assert_eq!(
        (get().status, get().error().as_str()),
        (400, "ExpiredToken")
    );
    let again = nobody
        .with_token(&refresh)
        .post_nothing("com.atproto.server.refreshSession")
        .ok();
    assert_ne!(again["refreshJwt"], session["refreshJwt"]);
    it.world.pds().revoke_sessions(&it.bob.did);
    let refused = nobody
        .with_token(&refresh)
        .post_nothing("com.atproto.server.refreshSession");
    assert_eq!(
        (refused.status, refused.message().as_str()),
        (400, "Token has been revoked")
    );
}

#[test]
fn rate_limits_are_announced_and_enforced() {
    let options = PdsOptions {
        rate_limits: true,
        write_points: 7,
        ..PdsOptions::default()
    };
    let world = World::with(options, KnotOptions::default()).unwrap();
    let alice = world.pds().account("alice.test", "a");
    let pds = Caller::new(&world.pds().host().url()).sign_in("alice.test", "a");
    let create = || {
        let body = json!({ "repo": alice.did, "collection": "a.b.c", "record": {} });
        pds.post("com.atproto.repo.createRecord", &body)
    };
    let first = create();
    assert_eq!(
        (first.status, first.header("ratelimit-remaining")),
        (200, "4")
    );
    assert_eq!(first.header("ratelimit-policy"), "7;w=3600");
    assert_eq!(create().status, 200);
    let third = create();
    assert_eq!(
        (third.status, third.error().as_str()),
        (429, "RateLimitExceeded")
    );
    assert!(third.header("retry-after").parse::<i64>().unwrap() > 3_500);
    assert_eq!(world.pds().records(&alice.did, "a.b.c").len(), 2);
}

#[test]
fn did_documents_have_both_forms_and_can_move() {
    let it = Fixture::new();
    let directory = it.world.directory();
    let get = || Caller::new(&directory.host().url()).page(&it.alice.did);
    let document = get().ok();
    assert_eq!(document["verificationMethod"][0]["type"], "Multikey");
    assert_eq!(document["alsoKnownAs"], json!(["at://alice.test"]));
    assert_eq!(
        document["service"][0]["serviceEndpoint"],
        it.world.pds().host().url().as_str()
    );
    directory.set_form(DocumentForm::Verification2019);
    let document = get().ok();
    assert_eq!(document["verificationMethod"][0]["id"], "#atproto");
    directory.rename(&it.alice.did, None);
    assert_eq!(get().ok()["alsoKnownAs"], json!([]));
    directory.set_service(
        &it.alice.did,
        "#atproto_pds",
        "AtprotoPersonalDataServer",
        "http://localhost:1",
    );
    assert_eq!(get().ok()["service"].as_array().unwrap().len(), 1);
    directory.forget(&it.alice.did);
    assert_eq!(get().status, 404);
    assert_eq!(directory.host().count(), 5);
}

#[test]
fn blob_is_deleted_with_last_record() {
    let it = Fixture::new();
    let (uri, _) = it.pull("3mkuuamwfj322", "patch");
    let value = it.world.pds().record(&uri).unwrap().1;
    let cid = value["rounds"][0]["patchBlob"]["ref"]["$link"]
        .as_str()
        .unwrap();
    assert_eq!(
        it.world.pds().blob_bytes(&it.bob.did, cid).unwrap(),
        super::gzip("patch")
    );
    it.world
        .pds()
        .delete(&it.bob.did, "sh.tangled.repo.pull", "3mkuuamwfj322");
    assert_eq!(it.world.pds().blob_bytes(&it.bob.did, cid), None);
}

#[test]
fn did_web_account_lives_on_own_host() {
    let it = Fixture::new();
    let host = it.world.pds().host();
    let carol = it.world.pds().web_account("carol.test", "c");
    assert_eq!(carol.did, host.did());
    let document = Caller::new(&host.url()).page("/.well-known/did.json").ok();
    assert_eq!(document["id"], carol.did.as_str());
    assert_eq!(document["alsoKnownAs"], json!(["at://carol.test"]));
    let directory = Caller::new(&it.world.directory().host().url());
    assert_eq!(directory.page(&carol.did).status, 404);
    let nsid = "sh.tangled.repo.merge";
    it.world.knot().add_collaborator(&it.repo, &carol.did);
    it.repo
        .git
        .commit("topic", "Add one", &[("one.txt", Some("1\n"))]);
    let patch = it.repo.git.run(["diff", "main", "topic"]).text();
    let body = json!({ "repo": it.repo.did, "patch": patch, "branch": "main" });
    assert_eq!(it.knot(&carol, nsid).post(nsid, &body).status, 200);
}
