//! Finds the signing key and the PDS of an account in its DID document.

use serde_json::Value;

use super::{directory::Entries, host};

/// Where DID documents come from.
#[derive(Clone)]
pub(crate) enum Identities {
    /// The directory in this process. The hosts read it in memory, because a test would count
    /// requests.
    Entries(Entries),
    /// The directory in this process, and for unknown DIDs the real directory at this address.
    EntriesOr(Entries, String),
}

impl Identities {
    pub(crate) fn document(&self, did: &str) -> Option<Value> {
        match self {
            Self::Entries(entries) => entries.document(did),
            Self::EntriesOr(entries, url) => entries.document(did).or_else(|| {
                let (status, body) = host::get(&format!("{url}/{did}")).ok()?;
                (status == 200).then(|| serde_json::from_slice(&body).ok())?
            }),
        }
    }

    /// Returns the public key of an account.
    pub(crate) fn key(&self, did: &str) -> Option<String> {
        let document = self.document(did)?;
        let methods = document["verificationMethod"].as_array()?;
        let method = methods
            .iter()
            .find(|it| it["id"].as_str().is_some_and(|id| id.ends_with("#atproto")))?;
        method["publicKeyMultibase"].as_str().map(str::to_owned)
    }

    /// Returns the handle that an account claims.
    pub(crate) fn handle(&self, did: &str) -> Option<String> {
        let document = self.document(did)?;
        let alias = document["alsoKnownAs"]
            .get(0)?
            .as_str()?
            .strip_prefix("at://")?;
        Some(alias.to_owned())
    }

    /// Returns the address of an account's PDS.
    pub(crate) fn pds(&self, did: &str) -> Option<String> {
        let document = self.document(did)?;
        let services = document["service"].as_array()?;
        let pds = services.iter().find(|it| {
            it["id"]
                .as_str()
                .is_some_and(|id| id.ends_with("#atproto_pds"))
        })?;
        pds["serviceEndpoint"].as_str().map(str::to_owned)
    }
}
