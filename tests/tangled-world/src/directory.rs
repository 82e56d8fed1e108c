//! A directory of DIDs that answers `GET /<did>` as plc.directory does.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
};

use forge_double_wire::Reply;
use serde_json::{Value, json};

use super::{
    atproto::{cid, keys::Key},
    host::{Host, Incoming, Service, lock},
    identities::Identities,
    xrpc::{self, Failure},
};

/// The form in which a directory serves DID documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentForm {
    /// Uses the current form of plc.directory: the key type `Multikey`, and ids that begin with the
    /// DID.
    #[default]
    Multikey,
    /// Uses the form of older servers: the key type `EcdsaSecp256k1VerificationKey2019`, and ids
    /// without the DID.
    Verification2019,
}

/// A service in a DID document, with its address.
#[derive(Debug, Clone)]
struct Endpoint {
    id: String,
    kind: String,
    url: String,
}

#[derive(Clone)]
struct Entry {
    handle: Option<String>,
    key: Key,
    services: Vec<Endpoint>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Entry>,
    form: DocumentForm,
}

/// The DID documents of a directory. The other hosts add documents to it.
#[derive(Clone, Default)]
pub(crate) struct Entries(Arc<Mutex<State>>);

impl Entries {
    /// Adds a document under a DID that is derived from `seed`, and returns the DID.
    pub(crate) fn register(&self, seed: &str, handle: Option<&str>, key: &Key) -> String {
        let did = format!(
            "did:plc:{}",
            &cid::base32(seed_bytes(seed).as_slice())[..24]
        );
        self.register_as(&did, handle, key);
        did
    }

    /// Adds a document for a DID of another method. The host in the DID serves the document.
    pub(crate) fn register_as(&self, did: &str, handle: Option<&str>, key: &Key) {
        let entry = Entry {
            handle: handle.map(str::to_owned),
            key: key.clone(),
            services: Vec::new(),
        };
        lock(&self.0).entries.insert(did.to_owned(), entry);
    }

    /// Adds a service to a DID document, or changes the service's address.
    pub(crate) fn set_service(&self, did: &str, id: &str, kind: &str, url: &str) {
        if let Some(entry) = lock(&self.0).entries.get_mut(did) {
            entry.services.retain(|it| it.id != id);
            entry.services.push(Endpoint {
                id: id.to_owned(),
                kind: kind.to_owned(),
                url: url.to_owned(),
            });
        }
    }

    pub(crate) fn set_handle(&self, did: &str, handle: Option<&str>) {
        if let Some(entry) = lock(&self.0).entries.get_mut(did) {
            entry.handle = handle.map(str::to_owned);
        }
    }

    pub(crate) fn set_key(&self, did: &str, key: &Key) {
        if let Some(entry) = lock(&self.0).entries.get_mut(did) {
            entry.key = key.clone();
        }
    }

    /// Returns the DID of the document that names a handle.
    fn with_handle(&self, handle: &str) -> Option<String> {
        let state = lock(&self.0);
        let named = |it: &&Entry| it.handle.as_deref() == Some(handle);
        let found = state.entries.iter().find(|(_, it)| named(it));
        found.map(|(did, _)| did.clone())
    }

    fn remove(&self, did: &str) {
        lock(&self.0).entries.remove(did);
    }

    pub(crate) fn document(&self, did: &str) -> Option<Value> {
        let state = lock(&self.0);
        Some(document(did, state.entries.get(did)?, state.form))
    }
}

fn seed_bytes(seed: &str) -> Vec<u8> {
    cid::bytes(&cid::of_blob(seed.as_bytes())).unwrap_or_default()[4..].to_vec()
}

fn document(did: &str, entry: &Entry, form: DocumentForm) -> Value {
    const SECP256K1: &str = "https://w3id.org/security/suites/secp256k1-2019/v1";
    let (prefix, kind, key, contexts) = match form {
        DocumentForm::Multikey => (
            did,
            "Multikey",
            entry.key.multikey(),
            &["https://w3id.org/security/multikey/v1", SECP256K1][..],
        ),
        DocumentForm::Verification2019 => (
            "",
            "EcdsaSecp256k1VerificationKey2019",
            entry.key.point(),
            &[SECP256K1][..],
        ),
    };
    // A knot mints the document of a repository without a key, and so without the key's context.
    let has_key =
        entry.services.iter().any(|it| it.kind != "TangledKnot") || entry.services.is_empty();
    let contexts = contexts.iter().filter(|it| has_key || **it != SECP256K1);
    let contexts: Vec<&str> = std::iter::once("https://www.w3.org/ns/did/v1")
        .chain(contexts.copied())
        .collect();
    let keys = has_key.then(|| {
        json!({
            "id": format!("{prefix}#atproto"),
            "type": kind,
            "controller": did,
            "publicKeyMultibase": key,
        })
    });
    let services: Vec<Value> = entry
        .services
        .iter()
        .map(|it| json!({ "id": it.id, "type": it.kind, "serviceEndpoint": it.url }))
        .collect();
    let also: Vec<String> = entry.handle.iter().map(|it| format!("at://{it}")).collect();
    json!({
        "@context": contexts,
        "id": did,
        "alsoKnownAs": also,
        "verificationMethod": Vec::from_iter(keys),
        "service": services,
    })
}

/// A directory of DIDs on loopback. It stops when it is dropped.
pub struct DirectoryDouble {
    host: Host,
    entries: Entries,
}

/// Serves DID documents, and resolves handles for clients that use this directory for handles too.
struct Answers(Identities, Entries);

impl Service for Answers {
    fn answer(&self, request: &Incoming) -> Reply {
        if request.nsid() == Some("com.atproto.identity.resolveHandle") {
            let handle = request.param("handle").unwrap_or_default();
            return xrpc::reply(match self.1.with_handle(&handle) {
                Some(did) => Ok(json!({ "did": did })),
                None => {
                    let why = "Unable to resolve handle";
                    Err(Failure::new(400, "HandleNotFound", why))
                }
            });
        }
        let did = request.path.trim_start_matches('/');
        // The directory serves only `did:plc`. Other DIDs are known only to the hosts of the world.
        let known = did.starts_with("did:plc:").then(|| self.0.document(did));
        match known.flatten() {
            Some(document) => {
                let mut reply = Reply::json(200, &document);
                reply.set("content-type", "application/did+ld+json; charset=utf-8");
                reply
            }
            None => Reply::json(
                404,
                &json!({ "message": format!("DID not registered: {did}") }),
            ),
        }
    }
}

impl DirectoryDouble {
    /// Starts an empty directory.
    ///
    /// # Errors
    ///
    /// Fails if no port is available.
    pub fn start() -> io::Result<Self> {
        let entries = Entries::default();
        Self::serve(Identities::Entries(entries.clone()), entries)
    }

    /// Starts a directory that forwards requests for unknown DIDs to a real directory.
    pub(crate) fn in_front_of(url: &str) -> io::Result<Self> {
        let entries = Entries::default();
        let both = Identities::EntriesOr(entries.clone(), url.to_owned());
        Self::serve(both, entries)
    }

    fn serve(identities: Identities, entries: Entries) -> io::Result<Self> {
        let host =
            Host::claim()?.serve("directory-double", Answers(identities, entries.clone()))?;
        Ok(Self { host, entries })
    }

    /// Returns the host of the directory, with its address, its requests and its faults.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn entries(&self) -> Entries {
        self.entries.clone()
    }

    /// Sets the form in which the directory serves all documents from now on.
    pub fn set_form(&self, form: DocumentForm) {
        lock(&self.entries.0).form = form;
    }

    /// Returns the document of a DID.
    #[must_use]
    pub fn document(&self, did: &str) -> Option<Value> {
        self.entries.document(did)
    }

    /// Changes or removes an account's handle in this directory but not on the PDS, so that the two
    /// disagree.
    pub fn rename(&self, did: &str, handle: Option<&str>) {
        self.entries.set_handle(did, handle);
    }

    /// Adds a service to a DID document, such as `#atproto_pds` of type
    /// `AtprotoPersonalDataServer`.
    pub fn set_service(&self, did: &str, id: &str, kind: &str, url: &str) {
        self.entries.set_service(did, id, kind, url);
    }

    /// Replaces the signing key in a DID document, so that the account's signatures become invalid.
    pub fn rotate_key(&self, did: &str) {
        self.entries
            .set_key(did, &Key::from_seed(&format!("another key of {did}")));
    }

    /// Removes a DID and its document.
    pub fn forget(&self, did: &str) {
        self.entries.remove(did);
    }
}
