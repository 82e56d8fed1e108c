//! Addresses of resources.

use forge_core::{Error, RepoId, RepoPath, Result};

/// An address, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// A locator.
    pub repo: String,
    pub part: Part,
}

/// What of the repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Repo,
    Branches,
    Open,
    Pull(u64),
    Diff(u64),
    File(u64, String),
    Links(u64),
}

const SCHEME: &str = "forge://";

/// The address of a repository.
pub(super) fn of_repo(id: &RepoId) -> String {
    match &id.path {
        RepoPath::Dir(path) => format!("{SCHEME}local{}", path.display()),
        _ => format!("{SCHEME}{id}"),
    }
}

/// Takes an address apart.
///
/// # Errors
/// `not_found` for one that is none.
pub(super) fn parse(uri: &str) -> Result<Address> {
    let unknown = || {
        Error::not_found(
            forge_core::Noun::Other,
            format!("there is no resource {}", forge_core::text::one_line(uri)),
        )
        .with_hint("resources/templates/list has the forms")
    };
    let rest = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let rest = rest.trim_end_matches('/');
    let (repo, part) = split(rest);
    if repo.is_empty() {
        return Err(unknown());
    }
    let repo = match repo.strip_prefix("local/") {
        Some(path) => format!("/{path}"),
        None => repo.to_owned(),
    };
    Ok(Address { repo, part })
}

fn split(rest: &str) -> (&str, Part) {
    // The path of a file can hold anything, so the first place that fits counts.
    for (at, _) in rest.match_indices("/pull/") {
        let Some((repo, behind)) = rest.split_at_checked(at) else {
            continue;
        };
        let behind = behind.strip_prefix("/pull/").unwrap_or(behind);
        let (number, what) = behind.split_once('/').unwrap_or((behind, ""));
        let Ok(number) = number.parse() else {
            continue;
        };
        let part = match what {
            "" => Part::Pull(number),
            "diff" => Part::Diff(number),
            "links" => Part::Links(number),
            _ => match what.strip_prefix("files/") {
                Some(path) if !path.is_empty() => Part::File(number, path.to_owned()),
                _ => continue,
            },
        };
        return (repo, part);
    }
    for (end, part) in [("/pulls/open", Part::Open), ("/branches", Part::Branches)] {
        if let Some(repo) = rest.strip_suffix(end) {
            return (repo, part);
        }
    }
    (rest, Part::Repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_their_parts() {
        let file = |n, p: &str| Part::File(n, p.to_owned());
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
                Part::Pull(7),
            ),
            (
                "forge://github.com/o/r/pull/7/diff",
                "github.com/o/r",
                Part::Diff(7),
            ),
            (
                "forge://github.com/o/r/pull/7/links",
                "github.com/o/r",
                Part::Links(7),
            ),
            (
                "forge://github.com/o/r/pull/7/files/a/pull/8/b.rs",
                "github.com/o/r",
                file(7, "a/pull/8/b.rs"),
            ),
            (
                "forge://local/srv/git/x/pull/1",
                "/srv/git/x",
                Part::Pull(1),
            ),
            ("forge://local/srv/pull/x", "/srv/pull/x", Part::Repo),
        ] {
            assert_eq!(
                parse(uri).unwrap(),
                Address {
                    repo: repo.to_owned(),
                    part
                },
                "{uri}"
            );
        }
        for uri in ["https://github.com/o/r", "forge://", "x"] {
            assert_eq!(parse(uri).unwrap_err().code(), "not_found", "{uri}");
        }
    }
}
