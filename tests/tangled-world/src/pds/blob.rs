//! Upload and download of blobs.

use forge_double_wire::Reply;

use super::{Pds, auth};
use crate::{
    host::{Incoming, lock},
    xrpc::{Answer, Failure},
};

/// Detects a content type from the first bytes of a file.
fn sniff(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (&[0x1f, 0x8b], "application/gzip"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (&[0xff, 0xd8, 0xff], "image/jpeg"),
        (b"GIF8", "image/gif"),
    ];
    KNOWN
        .iter()
        .find(|(start, _)| bytes.starts_with(start))
        .map(|(_, mime)| *mime)
}

pub(crate) fn upload(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::writer(pds, request)?;
    if request.body.len() > pds.options.largest_blob {
        return Err(Failure::new(
            413,
            "PayloadTooLarge",
            "request entity too large",
        ));
    }
    let header = request.header("content-type");
    if header.is_empty() {
        let message = "Request encoding (Content-Type) required but not provided";
        return Err(Failure::invalid(message));
    }
    let mime = sniff(&request.body).unwrap_or(header);
    let mut state = lock(&pds.state);
    let account = state
        .accounts
        .get_mut(&viewer.did)
        .ok_or_else(Failure::internal)?;
    let blob = account.add_blob(mime, request.body.clone());
    Ok(serde_json::json!({ "blob": blob }))
}

pub(crate) fn get(pds: &Pds, request: &Incoming) -> Result<Reply, Failure> {
    let did = request.param("did").unwrap_or_default();
    let cid = request.param("cid").unwrap_or_default();
    let state = lock(&pds.state);
    let account = state.accounts.get(&did).ok_or_else(|| {
        Failure::new(
            400,
            "RepoNotFound",
            format!("Could not find repo for DID: {did}"),
        )
    })?;
    let blob = account
        .blobs
        .get(&cid)
        .filter(|it| it.permanent)
        .ok_or_else(|| Failure::invalid("Blob not found"))?;
    Ok(Reply::text(200, &blob.mime, blob.bytes.clone()))
}
