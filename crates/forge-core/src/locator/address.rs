//! Parses `forge://` addresses: the URIs of this program's MCP resources. They are also accepted
//! wherever a locator is.

use percent_encoding::percent_decode_str;

use super::{AtUri, PrKey, RepoId, RepoPath};

/// A `forge://` address, split into a repository and a part of it.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Address {
    /// The repository's locator.
    pub repo: String,
    /// The part of the repository.
    pub part: Part,
}

/// The part of a repository that an [`Address`] names.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// The repository itself.
    Repo,
    /// The branches.
    Branches,
    /// The open pull requests.
    Open,
    /// The issues.
    Issues,
    /// A pull request.
    Pull(PrKey),
    /// The diff of a pull request.
    Diff(PrKey),
    /// A changed file of a pull request, by path.
    File(PrKey, String),
    /// The links of a pull request.
    PullLinks(PrKey),
    /// An issue.
    Issue(PrKey),
    /// The links of an issue.
    IssueLinks(PrKey),
}

impl Part {
    /// Returns the key of the pull request or issue in this part, if there is one.
    #[must_use]
    pub fn key(&self) -> Option<&PrKey> {
        match self {
            Self::Repo | Self::Branches | Self::Open | Self::Issues => None,
            Self::Pull(key)
            | Self::Diff(key)
            | Self::File(key, _)
            | Self::PullLinks(key)
            | Self::Issue(key)
            | Self::IssueLinks(key) => Some(key),
        }
    }
}

pub(super) const SCHEME: &str = "forge://";

impl Address {
    /// Returns the address of a repository. The path of a local repository is percent-encoded, as
    /// in a `file:` URL.
    #[must_use]
    pub fn of_repo(id: &RepoId) -> String {
        let locator = id.to_string();
        match (&id.path, locator.strip_prefix("file://")) {
            (RepoPath::Dir(_), Some(path)) => format!("{SCHEME}local{path}"),
            _ => format!("{SCHEME}{locator}"),
        }
    }

    /// Splits a `forge://` URI. Returns `None` for any other text.
    #[must_use]
    pub fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?.trim_end_matches('/');
        let (repo, part) = split(rest);
        if repo.is_empty() {
            return None;
        }
        let repo = match repo.strip_prefix("local/") {
            Some(path) => format!("file:///{path}"),
            None => repo.to_owned(),
        };
        Some(Self { repo, part })
    }
}

fn split(rest: &str) -> (&str, Part) {
    // The path of a changed file can itself contain `/pull/` or `/issue/`, so the first match
    // decides.
    for (at, _) in rest.match_indices('/') {
        let Some((repo, behind)) = rest.split_at_checked(at) else {
            continue;
        };
        let part = match (
            behind.strip_prefix("/pull/"),
            behind.strip_prefix("/issue/"),
        ) {
            (Some(behind), _) => of_pull(behind),
            (_, Some(behind)) => of_issue(behind),
            _ => None,
        };
        if let Some(part) = part {
            return (repo, part);
        }
    }
    for (end, part) in [
        ("/pulls/open", Part::Open),
        ("/issues", Part::Issues),
        ("/branches", Part::Branches),
    ] {
        if let Some(repo) = rest.strip_suffix(end) {
            return (repo, part);
        }
    }
    (rest, Part::Repo)
}

fn of_pull(behind: &str) -> Option<Part> {
    let (key, what) = key(behind)?;
    Some(match what {
        "" => Part::Pull(key),
        "diff" => Part::Diff(key),
        "links" => Part::PullLinks(key),
        // The path is percent-decoded. A URI must not contain spaces, non-ASCII letters and '%', so
        // URI templates encode them.
        _ => match what.strip_prefix("files/").filter(|p| !p.is_empty()) {
            Some(path) => Part::File(key, percent_decode_str(path).decode_utf8().ok()?.into()),
            None => return None,
        },
    })
}

fn of_issue(behind: &str) -> Option<Part> {
    let (key, what) = key(behind)?;
    match what {
        "" => Some(Part::Issue(key)),
        "links" => Some(Part::IssueLinks(key)),
        _ => None,
    }
}

/// Splits a number or an at-uri from the text after it. URI templates may have percent-encoded the
/// `/` and `:` of an at-uri.
fn key(text: &str) -> Option<(PrKey, &str)> {
    if text.starts_with("at://") {
        let end = text
            .match_indices('/')
            .nth(4)
            .map_or(text.len(), |(at, _)| at);
        let (uri, rest) = text.split_at_checked(end)?;
        return Some((record(uri)?, rest.strip_prefix('/').unwrap_or(rest)));
    }
    let (first, rest) = text.split_once('/').unwrap_or((text, ""));
    if let Ok(number) = first.parse() {
        return Some((PrKey::Number(number), rest));
    }
    let decoded = percent_decode_str(first).decode_utf8().ok()?;
    Some((record(&decoded)?, rest))
}

fn record(uri: &str) -> Option<PrKey> {
    AtUri::parse(uri)
        .ok()
        .map(|uri| PrKey::Record(uri.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_split_into_repo_and_part() {
        let n = PrKey::Number;
        let file = |number, p: &str| Part::File(n(number), p.to_owned());
        let at = "at://did:plc:a/sh.tangled.repo.issue/3k";
        let record = || PrKey::Record(at.to_owned());
        for (uri, repo, part) in [
            ("forge://github.com/o/r", "github.com/o/r", Part::Repo),
            (
                "forge://github.com/o/r/pulls/open",
                "github.com/o/r",
                Part::Open,
            ),
            (
                "forge://github.com/o/r/branches",
                "github.com/o/r",
                Part::Branches,
            ),
            (
                "forge://github.com/o/r/pull/7/files/branches",
                "github.com/o/r",
                file(7, "branches"),
            ),
            (
                "forge://github.com/o/r/pull/7",
                "github.com/o/r",
                Part::Pull(n(7)),
            ),
            (
                "forge://github.com/o/r/pull/7/diff",
                "github.com/o/r",
                Part::Diff(n(7)),
            ),
            (
                "forge://github.com/o/r/pull/7/links",
                "github.com/o/r",
                Part::PullLinks(n(7)),
            ),
            (
                "forge://github.com/o/r/pull/7/files/a/pull/8/b.rs",
                "github.com/o/r",
                file(7, "a/pull/8/b.rs"),
            ),
            (
                "forge://local/srv/git/x/pull/1",
                "file:///srv/git/x",
                Part::Pull(n(1)),
            ),
            ("forge://local/srv/pull/x", "file:///srv/pull/x", Part::Repo),
            (
                "forge://local/srv/issue/x",
                "file:///srv/issue/x",
                Part::Repo,
            ),
            (
                "forge://local/my%20repo/pull/7/files/a%20b/%C3%A9%25.rs",
                "file:///my%20repo",
                file(7, "a b/é%.rs"),
            ),
            (
                "forge://github.com/o/r/pull/7/files/a b/100%.rs",
                "github.com/o/r",
                file(7, "a b/100%.rs"),
            ),
            (
                "forge://github.com/o/r/issues",
                "github.com/o/r",
                Part::Issues,
            ),
            (
                "forge://github.com/o/r/issue/7",
                "github.com/o/r",
                Part::Issue(n(7)),
            ),
            (
                "forge://github.com/o/r/issue/7/links",
                "github.com/o/r",
                Part::IssueLinks(n(7)),
            ),
            (
                "forge://tangled.org/o/r/issue/at%3A%2F%2Fdid%3Aplc%3Aa%2Fsh.tangled.repo.issue%2F3k/links",
                "tangled.org/o/r",
                Part::IssueLinks(record()),
            ),
            (
                &format!("forge://tangled.org/o/r/issue/{at}"),
                "tangled.org/o/r",
                Part::Issue(record()),
            ),
            (
                &format!("forge://tangled.org/o/r/pull/{at}/files/a/issue/8"),
                "tangled.org/o/r",
                Part::File(record(), "a/issue/8".to_owned()),
            ),
        ] {
            assert_eq!(
                Address::parse(uri).unwrap(),
                Address {
                    repo: repo.to_owned(),
                    part
                },
                "{uri}"
            );
        }
        let id = RepoId::local("/my repo#1/%");
        let address = Address::of_repo(&id);
        assert_eq!(address, "forge://local/my%20repo%231/%25");
        assert_eq!(Address::parse(&address).unwrap().repo, id.to_string());
        for uri in ["https://github.com/o/r", "forge://", "x"] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
    }
}
