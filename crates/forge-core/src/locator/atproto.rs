//! DIDs, handles and at-uris, after the atproto specification.

use super::{AtUri, Locator, ParseLocatorError, RepoId, RepoPath, error::shown};
use crate::locator::ForgeKind;

/// Collections that hold repositories; the record or its account is the repository.
const REPO: [&str; 2] = ["sh.tangled.repo", "org.tangled.repo.declaration"];
/// The record `self` of this collection is in the account of the repository itself.
const MANIFEST: &str = "org.tangled.repo.manifest";
/// Collections of pull requests and issues. A ticket is either.
const TICKETS: [&str; 3] = [
    "sh.tangled.repo.pull",
    "sh.tangled.repo.issue",
    "org.tangled.track.ticket",
];

impl AtUri {
    /// Parses `at://<did or handle>/<collection>/<rkey>`, without a fragment or a query.
    ///
    /// # Errors
    ///
    /// [`ParseLocatorError::InvalidAtproto`].
    pub fn parse(text: &str) -> Result<Self, ParseLocatorError> {
        let refuse = |why| ParseLocatorError::InvalidAtproto {
            what: "at-uri",
            input: shown(text),
            why,
        };
        if text.len() > super::MAX_LENGTH {
            return Err(refuse("it is too long"));
        }
        let rest = text
            .strip_prefix("at://")
            .ok_or_else(|| refuse("it begins with 'at://'"))?;
        let mut parts = rest.split('/');
        let (Some(authority), Some(collection), Some(rkey), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse("it has an authority, a collection and a record key"));
        };
        let authority = if authority.starts_with("did:") {
            did(authority)?
        } else {
            handle(authority)?
        };
        if !is_nsid(collection) {
            return Err(refuse("the collection is no NSID"));
        }
        if !is_rkey(rkey) {
            return Err(refuse("the record key is invalid"));
        }
        Ok(Self {
            authority,
            collection: collection.to_owned(),
            rkey: rkey.to_owned(),
        })
    }
}

/// What an at-uri names.
pub(super) fn locator(text: &str) -> Result<Locator, ParseLocatorError> {
    let uri = AtUri::parse(text)?;
    let collection = uri.collection.as_str();
    if TICKETS.contains(&collection) {
        return Ok(Locator::Record(uri));
    }
    if collection == MANIFEST && uri.rkey == "self" && uri.authority.starts_with("did:") {
        return Ok(Locator::Repo(repo(RepoPath::Did(uri.authority))));
    }
    if REPO.contains(&collection) || collection == MANIFEST {
        return Ok(Locator::Repo(repo(RepoPath::Record(uri))));
    }
    Err(ParseLocatorError::UnsupportedRecord {
        collection: shown(collection),
    })
}

/// A tangled repository that is known without a host.
pub(super) fn repo(path: RepoPath) -> RepoId {
    RepoId {
        kind: ForgeKind::TANGLED,
        host: String::new(),
        path,
    }
}

/// Checks a DID. Its case is kept: DIDs are compared byte for byte.
pub(super) fn did(text: &str) -> Result<String, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::InvalidAtproto {
        what: "DID",
        input: shown(text),
        why,
    };
    let rest = text
        .strip_prefix("did:")
        .ok_or_else(|| refuse("it begins with 'did:'"))?;
    let (method, id) = rest
        .split_once(':')
        .ok_or_else(|| refuse("it has no method"))?;
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_lowercase()) {
        return Err(refuse("its method is lower case letters"));
    }
    if text.len() > 2048 {
        return Err(refuse("it is too long"));
    }
    let allowed =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'%' | b'-');
    if id.is_empty() || !id.bytes().all(allowed) {
        return Err(refuse("its identifier is letters, digits and . _ : % -"));
    }
    if id.ends_with([':', '%']) {
        return Err(refuse("it ends with ':' or '%'"));
    }
    Ok(text.to_owned())
}

/// Checks a handle and lowers its case.
pub(super) fn handle(text: &str) -> Result<String, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::InvalidAtproto {
        what: "handle",
        input: shown(text),
        why,
    };
    if text.len() > 253 {
        return Err(refuse("it is too long"));
    }
    let lower = text.to_ascii_lowercase();
    let label_ok = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !lower.contains('.') {
        return Err(refuse("a handle is a domain name, such as 'alice.example'"));
    }
    if !lower.split('.').all(label_ok) {
        return Err(refuse("its labels are letters, digits and '-'"));
    }
    let last = lower.rsplit('.').next().unwrap_or_default();
    if !last.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(refuse("its last label begins with a letter"));
    }
    Ok(lower)
}

/// Authority segments as in a domain name, then a name of letters and digits.
fn is_nsid(text: &str) -> bool {
    let segments: Vec<&str> = text.split('.').collect();
    let [authority @ .., name] = segments.as_slice() else {
        return false;
    };
    let label_ok = |label: &&str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 317
        && authority.len() >= 2
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && authority.iter().all(label_ok)
        && (1..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn is_rkey(text: &str) -> bool {
    (1..=512).contains(&text.len())
        && !matches!(text, "." | "..")
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'~' | b'-'))
}
