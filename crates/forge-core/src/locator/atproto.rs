//! Parses DIDs, handles and at-uris by the syntax of the atproto specification.
//!
//! A DID is the permanent id of an account, and a handle is its domain name. An at-uri is the
//! address of a record, which belongs to a collection of an account.

use super::{AtUri, Hosts, Locator, ParseLocatorError, RepoId, RepoPath, error::sanitize_input};
use crate::locator::ForgeKind;

/// Kind of object that the records of an atproto collection describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordKind {
    /// Repositories. Either the record or the account that stores it is the repository.
    Repo,
    /// Settings of a repository, in the record `self` of the repository's account.
    Manifest,
    /// Pull requests, issues, or both.
    Ticket,
}

/// Collections that are known without a configuration, with their record kinds. A ticket is a pull
/// request or an issue.
const USUAL: [(&str, RecordKind); 6] = [
    ("sh.tangled.repo", RecordKind::Repo),
    ("org.tangled.repo.declaration", RecordKind::Repo),
    ("org.tangled.repo.manifest", RecordKind::Manifest),
    ("sh.tangled.repo.pull", RecordKind::Ticket),
    ("sh.tangled.repo.issue", RecordKind::Ticket),
    ("org.tangled.track.ticket", RecordKind::Ticket),
];

/// Returns the record kind of a collection that is known without a configuration.
pub(super) fn known_record_kind(collection: &str) -> Option<RecordKind> {
    let found = USUAL.iter().find(|(name, _)| *name == collection);
    found.map(|(_, kind)| *kind)
}

impl AtUri {
    /// Parses `at://<did or handle>/<collection>/<rkey>`, without a fragment or a query.
    ///
    /// # Errors
    ///
    /// [`ParseLocatorError::InvalidAtproto`].
    pub fn parse(text: &str) -> Result<Self, ParseLocatorError> {
        let refuse = |why| ParseLocatorError::InvalidAtproto {
            what: "at-uri",
            input: sanitize_input(text),
            why,
        };
        if text.len() > super::MAX_LENGTH {
            return Err(refuse("it is too long"));
        }
        let rest = text
            .strip_prefix("at://")
            .ok_or_else(|| refuse("it must begin with 'at://'"))?;
        let mut parts = rest.split('/');
        let (Some(authority), Some(collection), Some(rkey), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse(
                "it needs an authority, a collection and a record key",
            ));
        };
        let authority = if authority.starts_with("did:") {
            did(authority)?
        } else {
            handle(authority)?
        };
        if !is_nsid(collection) {
            return Err(refuse("the collection is not an NSID"));
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

/// Parses an at-uri as a locator. `hosts` may define further collections.
pub(super) fn locator(text: &str, hosts: &Hosts) -> Result<Locator, ParseLocatorError> {
    let uri = AtUri::parse(text)?;
    match hosts.records_of(&uri.collection) {
        Some(RecordKind::Ticket) => Ok(Locator::Record(uri)),
        Some(RecordKind::Manifest) if uri.rkey == "self" && uri.authority.starts_with("did:") => {
            Ok(Locator::Repo(repo(RepoPath::Did(uri.authority))))
        }
        Some(RecordKind::Repo | RecordKind::Manifest) => {
            Ok(Locator::Repo(repo(RepoPath::Record(uri))))
        }
        None => Err(ParseLocatorError::UnsupportedRecord {
            collection: sanitize_input(&uri.collection),
        }),
    }
}

/// Returns the id of a tangled repository on an unknown host.
pub(super) fn repo(path: RepoPath) -> RepoId {
    RepoId {
        kind: ForgeKind::TANGLED,
        host: String::new(),
        path,
    }
}

/// Checks a DID. Keeps its case, because DIDs are compared byte for byte.
pub(super) fn did(text: &str) -> Result<String, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::InvalidAtproto {
        what: "DID",
        input: sanitize_input(text),
        why,
    };
    let rest = text
        .strip_prefix("did:")
        .ok_or_else(|| refuse("it must begin with 'did:'"))?;
    let (method, id) = rest
        .split_once(':')
        .ok_or_else(|| refuse("it has no method"))?;
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_lowercase()) {
        return Err(refuse("its method may have only lower case letters"));
    }
    if text.len() > 2048 {
        return Err(refuse("it is too long"));
    }
    let allowed =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'%' | b'-');
    if id.is_empty() || !id.bytes().all(allowed) {
        return Err(refuse(
            "its identifier may have only letters, digits and . _ : % -",
        ));
    }
    if id.ends_with([':', '%']) {
        return Err(refuse("it ends with ':' or '%'"));
    }
    Ok(text.to_owned())
}

/// Checks a handle and converts it to lower case.
pub(super) fn handle(text: &str) -> Result<String, ParseLocatorError> {
    let refuse = |why| ParseLocatorError::InvalidAtproto {
        what: "handle",
        input: sanitize_input(text),
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
        return Err(refuse("its labels may have only letters, digits and '-'"));
    }
    let last = lower.rsplit('.').next().unwrap_or_default();
    if !last.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(refuse("its last label must begin with a letter"));
    }
    Ok(lower)
}

/// Returns true if the text is an NSID, the name of a collection: segments as in a domain name,
/// then a name of letters and digits.
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
