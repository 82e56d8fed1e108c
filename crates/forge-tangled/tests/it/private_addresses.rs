//! Strangers' host names that resolve to private addresses.

use std::{
    io,
    net::{IpAddr, TcpListener},
    sync::{Arc, Mutex},
};

use forge_core::{Action, Call, Error, Param, Repos};
use forge_http::{Http, Lookup, RetryPolicy};
use forge_tangled::{FixedLogin, Reach, Tangled, TangledSettings};
use forge_tangled_world::Fault;
use futures::future::BoxFuture;
use serde_json::json;

use crate::stage::{Stage, action};

const DESCRIBE: &str = "sh.tangled.repo.describeRepo";

/// Resolves every name to one address and records the requested names.
#[derive(Debug)]
struct Everywhere(IpAddr, Mutex<Vec<String>>);

impl Lookup for Everywhere {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.1.lock().unwrap().push(name.to_owned());
        let found = vec![self.0];
        Box::pin(async move { Ok(found) })
    }
}

/// Returns a client for which every name resolves to `address`.
fn client(settings: TangledSettings, address: &str) -> (Tangled, Arc<Everywhere>) {
    let lookup = Arc::new(Everywhere(address.parse().unwrap(), Mutex::default()));
    let http = Http::new(forge_http::HttpSettings {
        lookup: Arc::clone(&lookup) as Arc<dyn Lookup>,
        retry: RetryPolicy::without_pauses(),
        in_flight: 8,
        ..forge_http::HttpSettings::default()
    });
    let forge = Tangled::new(settings, http.unwrap(), Arc::new(FixedLogin(None)));
    (forge, lookup)
}

/// Opens a port of this machine that must get no connection; returns it with a URL by name.
fn trap() -> (TcpListener, String) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, format!("stranger.example:{port}"))
}

#[track_caller]
fn refused(e: &Error, trap: &TcpListener) {
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(e.message().contains("leads to a private address"), "{e:?}");
    let set = Action::new(Call::ConfigSet)
        .with(Param::Key, "hosts.tangled.org.private_addresses")
        .with(Param::Value, "true");
    assert_eq!(*action(e), set);
    assert!(trap.accept().is_err(), "somebody connected");
}

#[tokio::test]
async fn pds_at_private_address_is_not_contacted() {
    let stage = Stage::new();
    let (trap, name) = trap();
    let directory = stage.world.directory();
    let (id, kind) = ("#atproto_pds", "AtprotoPersonalDataServer");
    directory.set_service(&stage.alice.did, id, kind, &format!("https://{name}"));
    for address in [
        "127.0.0.1",
        "198.18.0.1",
        "64:ff9b::10.0.0.1",
        "2002:7f00:1::",
    ] {
        for reach in [Reach::Public, Reach::Loopback] {
            let settings = TangledSettings {
                reach,
                ..stage.settings()
            };
            let (forge, lookup) = client(settings, address);
            let e = forge.repo(&stage.id()).await.unwrap_err();
            refused(&e, &trap);
            let mut asked = lookup.1.lock().unwrap().clone();
            asked.dedup();
            assert_eq!(asked, ["stranger.example"], "{address} with {reach:?}");
        }
    }
}

#[tokio::test]
async fn redirect_to_a_private_address_is_refused() {
    let stage = Stage::new();
    let (trap, name) = trap();
    let to = format!("https://{name}/xrpc");
    let list = "com.atproto.repo.listRecords";
    let sent = Fault::answer(302, &[("location", to.as_str())], "");
    stage.world.pds().host().fault(sent.on(list).always());
    let (forge, _) = client(stage.settings(), "10.0.0.1");
    let e = forge.repo(&stage.id()).await.unwrap_err();
    refused(&e, &trap);
}

/// The knot is queried for the owner; without an answer there would only be a warning.
#[tokio::test]
async fn knot_at_private_address_cannot_confirm_the_owner() {
    let stage = Stage::new();
    let (trap, name) = trap();
    let directory = stage.world.directory();
    for (id, kind) in [
        ("#atproto_pds", "AtprotoPersonalDataServer"),
        ("#tangled_knot", "TangledKnot"),
    ] {
        directory.set_service(&stage.repo.did, id, kind, &format!("https://{name}"));
    }
    let pds = stage.world.pds();
    let (_, mut record) = pds.record(&stage.repo.uri).unwrap();
    record["knot"] = json!(name);
    pds.put(&stage.alice.did, "sh.tangled.repo", "widget", record);
    let (forge, _) = client(stage.settings(), "10.0.0.1");
    let e = forge.repo(&stage.id()).await.unwrap_err();
    refused(&e, &trap);
    assert_eq!(stage.world.knot().host().count_of(DESCRIBE), 0);
}
