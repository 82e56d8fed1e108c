//! Passes a request to the method that answers it.

use std::sync::Arc;

use forge_double_wire::Reply;

use super::{Pds, auth, blob, identity, limits, repo, session, write};
use crate::{
    host::{Incoming, Service},
    xrpc::{self, Answer, Failure},
};

/// Maximum size of a JSON body, in bytes.
const MAX_JSON_BYTES: usize = 1_000_000;

pub(super) struct Answers(pub(super) Arc<Pds>);

type Method = fn(&Pds, &Incoming) -> Answer;

/// Returns the HTTP method and the handler of an XRPC method.
fn method(nsid: &str) -> Option<(&'static str, Method)> {
    Some(match nsid {
        "com.atproto.server.describeServer" => ("GET", identity::describe_server),
        "com.atproto.server.createAccount" => ("POST", session::create_account),
        "com.atproto.server.createSession" => ("POST", session::create),
        "com.atproto.server.refreshSession" => ("POST", session::refresh),
        "com.atproto.server.deleteSession" => ("POST", session::delete),
        "com.atproto.server.getSession" => ("GET", session::get),
        "com.atproto.server.createAppPassword" => ("POST", session::create_app_password),
        "com.atproto.server.revokeAppPassword" => ("POST", session::revoke_app_password),
        "com.atproto.server.deactivateAccount" => ("POST", session::deactivate),
        "com.atproto.server.activateAccount" => ("POST", session::activate),
        "com.atproto.server.getServiceAuth" => ("GET", session::service_auth),
        "com.atproto.identity.resolveHandle" => ("GET", identity::resolve_handle),
        "com.atproto.repo.describeRepo" => ("GET", repo::describe),
        "com.atproto.repo.getRecord" => ("GET", repo::get),
        "com.atproto.repo.listRecords" => ("GET", repo::list),
        "com.atproto.repo.createRecord" => ("POST", write::create),
        "com.atproto.repo.putRecord" => ("POST", write::put),
        "com.atproto.repo.deleteRecord" => ("POST", write::delete),
        "com.atproto.repo.applyWrites" => ("POST", write::apply),
        "com.atproto.repo.uploadBlob" => ("POST", blob::upload),
        "com.atproto.sync.getLatestCommit" => ("GET", repo::latest_commit),
        "com.atproto.sync.getRepoStatus" => ("GET", repo::status),
        _ => return None,
    })
}

impl Service for Answers {
    fn answer(&self, request: &Incoming) -> Reply {
        let pds = &self.0;
        if request.path == "/.well-known/atproto-did" {
            return identity::well_known(pds, request);
        }
        if request.path == "/.well-known/did.json" {
            return identity::did_json(pds, request);
        }
        let Some(nsid) = request.nsid() else {
            return Reply::text(404, "text/plain", b"Not Found".to_vec());
        };
        let spent = limits::spend(pds, nsid, request);
        let mut reply = match &spent {
            Err(failure) => failure.reply(),
            Ok(_) if nsid == "com.atproto.sync.getBlob" => {
                blob::get(pds, request).unwrap_or_else(|failure| failure.reply())
            }
            Ok(_) => xrpc::reply(call(pds, nsid, request)),
        };
        if reply.status == 401 && request.header("authorization").starts_with("DPoP ") {
            auth::challenge(&mut reply);
        }
        limits::add_headers(pds, nsid, request, &mut reply);
        reply
    }
}

fn call(pds: &Pds, nsid: &str, request: &Incoming) -> Answer {
    let Some((verb, method)) = method(nsid) else {
        return Err(Failure::invalid(format!(
            "No service configured for {nsid}"
        )));
    };
    if verb != request.method {
        let message = format!("Incorrect HTTP method ({}) expected {verb}", request.method);
        return Err(Failure::invalid(message));
    }
    let is_blob = nsid == "com.atproto.repo.uploadBlob";
    if !is_blob && request.body.len() > MAX_JSON_BYTES {
        return Err(Failure::new(
            413,
            "PayloadTooLargeError",
            "request entity too large",
        ));
    }
    method(pds, request)
}
