//! Parses `owner/name` and the path after it in a URL, for every forge with a host.

use super::{
    ForgeKind, Hosts, Locator, ParseLocatorError, PrId, PrKey, RepoId, RepoPath, atproto,
    hosts::TANGLED,
};

/// First path segments of GitHub's own pages. These names cannot be owners of repositories.
const NOT_OWNERS: [&str; 9] = [
    "apps",
    "enterprises",
    "features",
    "marketplace",
    "notifications",
    "orgs",
    "settings",
    "sponsors",
    "users",
];
/// Names of pages of a tangled repository. In a path such as `did:plc:x/issues`, the DID before
/// such a name is that of a repository and not of an owner.
const TANGLED_PAGES: [&str; 16] = [
    "archive",
    "blob",
    "branches",
    "commit",
    "commits",
    "compare",
    "feed.atom",
    "fork",
    "forks",
    "issues",
    "labels",
    "pipelines",
    "pulls",
    "raw",
    "settings",
    "tree",
];

/// Returns the repository `owner`/`name` of `kind` at `host`, which must be canonical.
pub(super) fn repo(
    kind: ForgeKind,
    host: String,
    owner: &str,
    name: &str,
) -> Result<RepoId, &'static str> {
    let owner = if kind == ForgeKind::TANGLED {
        tangled_owner(owner)?
    } else {
        let github = kind == ForgeKind::GITHUB;
        let ok =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_') || (b == b'.' && !github);
        if !(1..=100).contains(&owner.len()) || !owner.bytes().all(ok) || is_dots(owner) {
            return Err(if github {
                "an owner has only letters, digits and '-'"
            } else {
                "an owner has only letters, digits, '-', '_' and '.'"
            });
        }
        owner.to_owned()
    };
    let name = name.strip_suffix(".git").unwrap_or(name);
    let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if name.is_empty() || is_dots(name) {
        return Err("the name is missing");
    }
    if name.len() > 100 || !name.bytes().all(ok) {
        return Err("a name is at most 100 letters, digits, '-', '_' and '.'");
    }
    // A name that ends in `.git` has no canonical form, because parsing strips this suffix.
    if name.ends_with(".git") {
        return Err("a name does not end with '.git'");
    }
    Ok(RepoId {
        kind,
        host,
        path: RepoPath::Named {
            owner,
            name: name.to_owned(),
        },
    })
}

/// Returns a tangled repository by its DID. The host of the public appview (tangled.org) is left
/// out, because a DID identifies the repository without a host.
pub(super) fn did_repo(host: String, did: String) -> RepoId {
    let host = if host == TANGLED { String::new() } else { host };
    RepoId {
        kind: ForgeKind::TANGLED,
        host,
        path: RepoPath::Did(did),
    }
}

/// Parses the owner of a tangled repository: `handle`, `@handle` or a DID.
fn tangled_owner(text: &str) -> Result<String, &'static str> {
    if text.starts_with("did:") {
        atproto::did(text).map_err(|_| "the owner is not a valid DID")
    } else {
        let text = text.strip_prefix('@').unwrap_or(text);
        atproto::handle(text).map_err(|_| "an owner on tangled is a handle with a dot, or a DID")
    }
}

fn is_dots(text: &str) -> bool {
    matches!(text, "." | "..")
}

/// Splits a path into segments. Accepts one leading slash and any number of trailing ones. Refuses
/// empty segments and dot segments, because programs interpret them differently.
pub(super) fn segments(path: &str) -> Result<Vec<&str>, &'static str> {
    let path = path.strip_prefix('/').unwrap_or(path).trim_end_matches('/');
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let segments: Vec<&str> = path.split('/').collect();
    if segments.iter().any(|s| s.is_empty()) {
        return Err("the path has an empty part");
    }
    if segments.iter().any(|s| is_dots(s)) {
        return Err("the path has a '.' or '..' part");
    }
    Ok(segments)
}

/// Parses a path that names only a repository: `owner/name`, or a DID on tangled.
pub(super) fn exact(
    kind: ForgeKind,
    host: String,
    segments: &[&str],
) -> Result<RepoId, &'static str> {
    match *segments {
        [did] if kind == ForgeKind::TANGLED && did.starts_with("did:") => {
            let did = atproto::did(did).map_err(|_| "this is not a valid DID")?;
            Ok(did_repo(host, did))
        }
        [owner, name] => repo(kind, host, owner, name),
        _ => Err("the path is not owner/name"),
    }
}

/// Reason why the path of a web page is not a locator.
pub(super) enum PageError {
    /// The path is invalid for this reason.
    Path(&'static str),
    /// The path has this text where a valid number is required.
    Number(String),
}

impl From<&'static str> for PageError {
    fn from(why: &'static str) -> Self {
        Self::Path(why)
    }
}

/// Parses the path of a web page of a repository, a pull request or an issue. Any other page of a
/// repository, such as the page of a file, stands for the repository.
pub(super) fn page(kind: ForgeKind, host: String, segments: &[&str]) -> Result<Locator, PageError> {
    let tangled = kind == ForgeKind::TANGLED;
    let (repo, rest) = match *segments {
        [did, ref rest @ ..]
            if tangled
                && did.starts_with("did:")
                && rest.first().is_none_or(|page| TANGLED_PAGES.contains(page)) =>
        {
            (exact(kind, host, &[did])?, rest)
        }
        [owner, ..] if !tangled && NOT_OWNERS.contains(&owner) => {
            return Err("this page belongs to no repository".into());
        }
        [owner, name, ref rest @ ..] => (repo(kind, host, owner, name)?, rest),
        [_] => return Err("the URL names an owner, not a repository".into()),
        [] => return Err("the URL names no repository".into()),
    };
    match *rest {
        ["pull" | "pulls" | "issues", "new", ..] => Ok(Locator::Repo(repo)),
        ["pull" | "pulls", number, ref rest @ ..] => {
            let id = PrId::number(repo, number_of(number)?);
            Ok(Locator::Pull {
                id,
                round: if tangled { round(rest)? } else { None },
            })
        }
        ["issues", number, ..] => Ok(Locator::Issue {
            key: PrKey::Number(number_of(number)?),
            repo,
        }),
        _ => Ok(Locator::Repo(repo)),
    }
}

/// Parses `round/R`, `round/R.patch` or `round/R/interdiff`. A round is a version of a pull request
/// on tangled.
fn round(rest: &[&str]) -> Result<Option<u32>, PageError> {
    let ["round", round, ..] = rest else {
        return Ok(None);
    };
    let digits = round.strip_suffix(".patch").unwrap_or(round);
    let ok = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match digits.parse() {
        Ok(round) if ok => Ok(Some(round)),
        _ => Err(PageError::Number((*round).to_owned())),
    }
}

fn number_of(text: &str) -> Result<u64, PageError> {
    // GitHub serves the diff and the patch of a pull request at its URL with the suffix `.diff` or
    // `.patch`.
    let digits = text
        .strip_suffix(".diff")
        .or_else(|| text.strip_suffix(".patch"))
        .unwrap_or(text);
    number(digits).ok_or_else(|| PageError::Number(text.to_owned()))
}

/// Parses digits as a number of at least 1.
pub(super) fn number(digits: &str) -> Option<u64> {
    let ok = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|&n| ok && n > 0)
}

/// Returns the canonical form of `host`, or an error if the host is known to have another kind of
/// forge.
pub(super) fn host_of_kind(
    host: String,
    kind: &ForgeKind,
    hosts: &Hosts,
) -> Result<String, ParseLocatorError> {
    match hosts.lookup(&host) {
        None => Ok(host),
        Some((host, known)) if known == *kind => Ok(host),
        Some((host, known)) => Err(ParseLocatorError::WrongKind {
            host,
            known,
            asked: kind.clone(),
        }),
    }
}
