//! Handles of accounts, and the server's description of itself.

use forge_double_wire::Reply;
use serde_json::json;

use super::{Pds, auth::SELF};
use crate::{
    host::{Incoming, lock},
    xrpc::{Answer, Failure},
};

pub(super) fn describe_server(pds: &Pds, _: &Incoming) -> Answer {
    Ok(json!({
        "did": SELF,
        "availableUserDomains": [".test"],
        "inviteCodeRequired": false,
        "blobUploadLimit": pds.options.largest_blob,
        "links": {},
        "contact": {},
    }))
}

pub(super) fn resolve_handle(pds: &Pds, request: &Incoming) -> Answer {
    let Some(handle) = request.param("handle") else {
        let message = "Missing required key \"handle\" at $";
        return Err(Failure::invalid(message));
    };
    let state = lock(&pds.state);
    let did = state.find(&handle).filter(|did| *did != handle);
    match did {
        Some(did) => Ok(json!({ "did": did })),
        None => Err(Failure::new(
            400,
            "HandleNotFound",
            "Unable to resolve handle",
        )),
    }
}

/// Serves `https://<handle>/.well-known/atproto-did`. The requested host is the handle.
pub(super) fn well_known(pds: &Pds, request: &Incoming) -> Reply {
    let host = request.header("host");
    let handle = host.split_once(':').map_or(host, |(handle, _)| handle);
    match lock(&pds.state).find(handle) {
        Some(did) => Reply::text(200, "text/plain; charset=utf-8", did.into_bytes()),
        None => Reply::text(404, "text/plain; charset=utf-8", b"User not found".to_vec()),
    }
}

/// Serves the DID document of the `did:web` account on this host.
pub(super) fn did_json(pds: &Pds, request: &Incoming) -> Reply {
    let did = format!("did:web:{}", request.header("host").replace(':', "%3A"));
    match pds.directory.document(&did) {
        Some(document) => Reply::json(200, &document),
        None => Reply::text(404, "text/plain; charset=utf-8", b"Not Found".to_vec()),
    }
}
