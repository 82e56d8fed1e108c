//! Calls the light PDS and the real PDS through atrium, another project's client, and compares the
//! results. atrium has its own transport and types.

use atrium_api::{
    agent::atp_agent::{AtpAgent, store::MemorySessionStore},
    client::AtpServiceClient,
    com::atproto::{
        repo::{apply_writes, get_record, list_records},
        sync::get_blob,
    },
    types::{TryIntoUnknown, string::Cid},
};
use atrium_xrpc_client::reqwest::{ReqwestClient, ReqwestClientBuilder};
use forge_tangled_world::{Caller, DocumentForm, RealWorld, World};
use serde_json::{Value, json};

const COLLECTION: &str = "sh.tangled.repo.issue";
const PASSWORD: &str = "0canary0-of-atrium";
/// The smallest possible gzip file, which is empty.
const GZIP: [u8; 20] = [
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

fn transport(url: &str) -> ReqwestClient {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    ReqwestClientBuilder::new(url).client(client).build()
}

fn record(title: &str) -> Value {
    json!({
        "$type": COLLECTION, "title": title, "repo": "did:web:repo.example",
        "createdAt": "2026-08-02T10:00:00.000Z",
    })
}

/// Returns an item of `applyWrites` that creates a record, in atrium's types.
fn create(rkey: &str, record: Value) -> apply_writes::InputWritesItem {
    let data = apply_writes::CreateData {
        collection: COLLECTION.parse().unwrap(),
        rkey: Some(rkey.parse().unwrap()),
        value: record.try_into_unknown().unwrap(),
    };
    apply_writes::InputWritesItem::Create(Box::new(data.into()))
}

fn listing(did: &str, limit: u8, cursor: Option<&str>) -> list_records::Parameters {
    list_records::ParametersData {
        collection: COLLECTION.parse().unwrap(),
        cursor: cursor.map(str::to_owned),
        limit: Some(limit.try_into().unwrap()),
        repo: did.parse().unwrap(),
        reverse: None,
    }
    .into()
}

/// Returns what atrium reports for calls to the PDS at `url` with the account `did`.
async fn results_of_calls(url: &str, did: &str, handle: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut note = |what: &str, told: String| {
        let told = told.replace(did, "did:one").replace(url, "http://pds");
        lines.push(format!("{what}: {told}"));
    };
    let agent = AtpAgent::new(transport(url), MemorySessionStore::default());
    let wrong = agent.login(handle, "wrong").await;
    note("a wrong password", format!("{:?}", wrong.unwrap_err()));
    let session = agent.login(handle, PASSWORD).await.unwrap();
    note(
        "a session",
        format!(
            "{:?} {:?} {:?} {:?} {:?} {}",
            session.did,
            session.handle,
            session.email,
            session.email_confirmed,
            session.active,
            session.did_doc.is_some()
        ),
    );
    let repo = &agent.api.com.atproto.repo;
    let apply = |writes, swap_commit| {
        let input = apply_writes::InputData {
            repo: did.parse().unwrap(),
            swap_commit,
            validate: None,
            writes,
        };
        repo.apply_writes(input.into())
    };
    let both = vec![create("a", record("One")), create("b", record("Two"))];
    let written = apply(both, None).await.unwrap();
    assert!(written.commit.is_some());
    note("two records", format!("{:?}", written.results));
    let again = apply(vec![create("a", record("One"))], None).await;
    note("one of them again", format!("{:?}", again.unwrap_err()));
    let other: Cid = "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyka"
        .parse()
        .unwrap();
    let swapped = apply(vec![create("c", record("Three"))], Some(other)).await;
    // The error message contains the commit id, which differs between the PDSes.
    let swapped = format!("{:?}", swapped.unwrap_err());
    note(
        "on another commit",
        swapped.contains("InvalidSwap").to_string(),
    );

    let blob = repo.upload_blob(GZIP.to_vec()).await.unwrap();
    let blob = serde_json::to_value(&blob.blob).unwrap();
    note("a blob", blob.to_string());
    let mut with_blob = record("With a blob");
    with_blob["blob"] = blob.clone();
    let written = apply(vec![create("d", with_blob)], None).await.unwrap();
    note("a record of it", format!("{:?}", written.results));
    let params = get_blob::ParametersData {
        cid: blob["ref"]["$link"].as_str().unwrap().parse().unwrap(),
        did: did.parse().unwrap(),
    };
    let bytes = agent.api.com.atproto.sync.get_blob(params.into()).await;
    assert_eq!(bytes.unwrap(), GZIP);

    // Reading needs no login, but writing does.
    let nobody = AtpServiceClient::new(transport(url));
    let public = &nobody.service.com.atproto.repo;
    for key in ["a", "d", "gone"] {
        let params = get_record::ParametersData {
            cid: None,
            collection: COLLECTION.parse().unwrap(),
            repo: did.parse().unwrap(),
            rkey: key.parse().unwrap(),
        };
        let found = public.get_record(params.into()).await;
        note(&format!("record {key}"), format!("{found:?}"));
    }
    let mut cursor = None;
    for page in 0..3 {
        let listed = public
            .list_records(listing(did, 2, cursor.as_deref()))
            .await;
        let listed = listed.unwrap();
        note(&format!("page {page}"), format!("{listed:?}"));
        cursor.clone_from(&listed.cursor);
        if cursor.is_none() {
            break;
        }
    }
    let input = apply_writes::InputData {
        repo: did.parse().unwrap(),
        swap_commit: None,
        validate: None,
        writes: vec![create("e", record("Five"))],
    };
    let refused = public.apply_writes(input.into()).await;
    note("as nobody", format!("{:?}", refused.unwrap_err()));
    lines
}

/// Creates an account on the PDS at `url`, and returns what atrium reports for calls with it.
fn results_on_pds(url: &str) -> Vec<String> {
    let handle = "anton.test";
    let body = json!({ "handle": handle, "email": "anton@example.com", "password": PASSWORD });
    let create = "com.atproto.server.createAccount";
    let created = Caller::new(url).post(create, &body).ok();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(results_of_calls(
        url,
        created["did"].as_str().unwrap(),
        handle,
    ))
}

#[test]
fn atrium_gets_equal_results_from_both_pdses() {
    let light = World::start().unwrap();
    light.directory().set_form(DocumentForm::Verification2019);
    let lights = results_on_pds(&light.pds().host().url());
    assert!(lights.len() > 10, "{lights:?}");
    let Some(dir) = RealWorld::installed() else {
        return;
    };
    let real = RealWorld::start(&dir).unwrap();
    assert_eq!(
        results_on_pds(&real.pds_url()).join("\n"),
        lights.join("\n")
    );
}
