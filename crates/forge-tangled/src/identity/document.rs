use serde_json::Value;

use crate::{Origin, Reach};
use forge_core::{AtUri, Error, ErrorKind, Result, text::truncate_chars};

/// The parts of a DID document that forge needs.
///
/// The id of a service has two forms: the directory of the PLC method writes full ids
/// (`did:plc:…#atproto_pds`), and older documents only fragments. Services are matched by the
/// fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DidDocument {
    /// The DID that the document describes.
    pub did: String,
    /// The claimed handle, in lower case. Only the first valid handle of the document counts
    /// (atproto specification, "DID Documents"). The claim alone proves nothing: the handle must
    /// also resolve to this DID.
    pub handle: Option<String>,
    pds: Option<String>,
    knot: Option<String>,
}

/// Maximum length of a stored endpoint, in characters. The URL of a real server is shorter.
const MAX_ENDPOINT: usize = 2_048;

impl DidDocument {
    /// Reads the document of `did`.
    ///
    /// # Errors
    /// `protocol` if the value is not a DID document, or describes another DID.
    pub fn parse(did: &str, value: &Value) -> Result<Self> {
        if value.get("id").and_then(Value::as_str) != Some(did) {
            return Err(Error::new(
                ErrorKind::Protocol,
                format!("the document found for {did} is not its identity document"),
            ));
        }
        let list = |name: &str| {
            value
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let handle = list("alsoKnownAs")
            .filter_map(|alias| alias.as_str()?.strip_prefix("at://"))
            .map(str::to_ascii_lowercase)
            .find(|name| is_handle(name));
        let service = |fragment: &str| {
            let endpoint = list("service").find_map(|service| {
                let (_, name) = service.get("id")?.as_str()?.rsplit_once('#')?;
                let endpoint = service.get("serviceEndpoint")?.as_str()?;
                (name == fragment).then_some(endpoint)
            });
            endpoint.map(|it| truncate_chars(it, MAX_ENDPOINT).0.into_owned())
        };
        Ok(Self {
            did: did.to_owned(),
            handle,
            pds: service("atproto_pds"),
            knot: service("tangled_knot"),
        })
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let texts = [&self.handle, &self.pds, &self.knot].into_iter().flatten();
        size_of::<Self>() + self.did.len() + texts.map(String::len).sum::<usize>()
    }

    /// Returns the personal data server.
    ///
    /// # Errors
    /// `protocol` if the document names no server, or a server whose address must not be contacted.
    pub fn pds(&self, reach: Reach) -> Result<Origin> {
        match &self.pds {
            Some(endpoint) => Origin::found(endpoint, reach),
            None => Err(Error::new(
                ErrorKind::Protocol,
                format!(
                    "the identity document of {} names no personal data server",
                    self.did
                ),
            )),
        }
    }

    /// Returns the knot (git server) of a repository, from the repository's own DID document.
    ///
    /// The knot is the service `#tangled_knot`, else `#atproto_pds`, because a knot of Tangled 1.0
    /// is also a personal data server.
    ///
    /// # Errors
    /// As [`Self::pds`].
    pub fn knot(&self, reach: Reach) -> Result<Origin> {
        match &self.knot {
            Some(endpoint) => Origin::of_knot_endpoint(endpoint, reach),
            None => self.pds(reach),
        }
    }
}

pub(super) fn is_handle(name: &str) -> bool {
    !name.starts_with("did:") && AtUri::parse(&format!("at://{name}/x.y.z/self")).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn did_document_has_first_handle_only() {
        for (aliases, handle) in [
            (
                json!(["at://alice.test", "at://bob.test"]),
                Some("alice.test"),
            ),
            (
                json!(["https://bob.test", "at://alice.test"]),
                Some("alice.test"),
            ),
            // The first alias has a path, so it is not a handle.
            (
                json!(["at://alice.test/path", "at://bob.test"]),
                Some("bob.test"),
            ),
            (
                json!(["at://did:plc:abc", "at://bob.test"]),
                Some("bob.test"),
            ),
            (json!(["at://nodot"]), None),
            (json!("at://alice.test"), None),
            (json!([]), None),
        ] {
            let doc = json!({"id": "did:plc:abc", "alsoKnownAs": aliases});
            let doc = DidDocument::parse("did:plc:abc", &doc).unwrap();
            assert_eq!(doc.handle.as_deref(), handle, "{aliases}");
        }
    }

    #[test]
    fn relative_and_absolute_service_ids_are_read() {
        for id in ["#atproto_pds", "did:plc:abc#atproto_pds"] {
            let doc = json!({
                "@context": "https://www.w3.org/ns/did/v1",
                "id": "did:plc:abc",
                "alsoKnownAs": ["at://Alice.Test", 7, "mailto:x"],
                "service": [
                    null,
                    {"id": 1, "serviceEndpoint": {}},
                    {"id": id, "type": "AtprotoPersonalDataServer", "serviceEndpoint": "https://pds.example"},
                ],
            });
            let doc = DidDocument::parse("did:plc:abc", &doc).unwrap();
            assert_eq!(doc.handle.as_deref(), Some("alice.test"));
            assert_eq!(
                doc.pds(Reach::Public).unwrap().as_str(),
                "https://pds.example"
            );
            assert_eq!(
                doc.knot(Reach::Public).unwrap().as_str(),
                "https://pds.example"
            );
        }
        let other = json!({"id": "did:plc:other"});
        assert!(DidDocument::parse("did:plc:abc", &other).is_err());
        let bare = DidDocument::parse("did:plc:other", &other).unwrap();
        assert_eq!(bare.pds(Reach::Public).unwrap_err().code(), "protocol");
    }
    /// The cache can hold a thousand documents, so a stored document must be small.
    #[test]
    fn large_did_document_is_stored_in_little_memory() {
        let service = |id: &str, at: &str| json!({"id": id, "serviceEndpoint": at});
        let mut services = vec![service("#other", "https://other.example"); 1_000];
        services.push(service("#tangled_knot", &"x".repeat(30_000)));
        services.push(service("#atproto_pds", "https://pds.example"));
        let doc = json!({"id": "did:plc:abc", "service": services});
        let doc = DidDocument::parse("did:plc:abc", &doc).unwrap();
        assert!(doc.weight() < 3_000, "{}", doc.weight());
        let pds = doc.pds(Reach::Public).unwrap();
        assert_eq!(pds.as_str(), "https://pds.example");
        assert_eq!(doc.knot(Reach::Public).unwrap_err().code(), "protocol");
    }
}
