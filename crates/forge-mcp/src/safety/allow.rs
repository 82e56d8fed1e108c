//! Allow lists of repositories.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use forge_core::{
    Error, ForgeKind, Locator, RepoId, RepoPath, Result,
    locator::{self, Hosts},
};

/// A list of repository patterns; an empty list allows every repository.
///
/// A pattern is a locator, or a locator with `*` as its last part: `octo/tools`,
/// `https://github.com/octo/*`, `github.com/*`, `/srv/git/*`. Patterns and repositories are
/// compared in canonical form, without case, `.git`, default ports and credentials in a URL.
#[derive(Clone, Debug, Default)]
pub struct AllowList(Vec<Pattern>);

#[derive(Clone, Debug)]
struct Pattern {
    /// The pattern as typed, but with an absolute path.
    text: String,
    kind: ForgeKind,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// A repository, by comparison key.
    Exact(String),
    /// All repositories of an owner or host, by a prefix of their comparison keys.
    Below(String),
    Dir(PathBuf),
    /// All directories below a directory.
    Tree(PathBuf),
}

impl AllowList {
    /// Parses patterns; `absolute` makes relative paths absolute.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` and names the invalid pattern.
    pub fn parse(
        patterns: &[String],
        hosts: &Hosts,
        absolute: impl Fn(&RepoId) -> RepoId,
    ) -> Result<Self> {
        let read = |text: &String| pattern(text, hosts, &absolute);
        patterns.iter().map(read).collect::<Result<_>>().map(Self)
    }

    /// Parses directories. `DIR/*` allows all directories below `DIR`; `absolute` makes relative
    /// paths absolute.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` and names the invalid pattern.
    pub fn of_paths(patterns: &[String], absolute: impl Fn(&RepoId) -> RepoId) -> Result<Self> {
        let read = |text: &String| {
            let (dir, shape): (_, fn(PathBuf) -> Shape) = match text.strip_suffix("/*") {
                Some("") => ("/", Shape::Tree),
                Some(above) => (above, Shape::Tree),
                None => (text.as_str(), Shape::Dir),
            };
            if dir.is_empty() || dir.contains('*') {
                let shown = forge_core::text::one_line(text);
                return Err(Error::invalid(
                    "path",
                    format!("'{shown}' is not a pattern for directories"),
                )
                .with_hint("pass a directory, or all below one: /srv/git/tools, '/srv/git/*'"));
            }
            let dir = dir.strip_prefix("file://").unwrap_or(dir);
            let path = match absolute(&RepoId::local(dir)).path {
                RepoPath::Dir(path) => path,
                _ => PathBuf::from(dir),
            };
            Ok(Pattern {
                text: match text.strip_suffix("/*") {
                    Some(_) => path.join("*").display().to_string(),
                    None => path.display().to_string(),
                },
                kind: ForgeKind::LOCAL,
                shape: shape(canonical(&path)),
            })
        };
        patterns.iter().map(read).collect::<Result<_>>().map(Self)
    }

    /// Returns the patterns with absolute paths, so that their meaning does not depend on the
    /// current directory.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|p| p.text.as_str())
    }

    /// Returns true if the list has no patterns and thus allows everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the list allows `id`. A path in `id` must be absolute.
    pub(crate) fn has(&self, id: &RepoId) -> bool {
        self.is_empty() || self.lists(id)
    }

    /// Returns true if a pattern matches `id`.
    pub(crate) fn lists(&self, id: &RepoId) -> bool {
        self.0.iter().any(|pattern| pattern.shape.matches(id))
    }

    /// Returns the kind of forge for each pattern.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &ForgeKind> {
        self.0.iter().map(|pattern| &pattern.kind)
    }

    /// Returns the directories that are listed without a wildcard, with symbolic links resolved.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|pattern| match &pattern.shape {
            Shape::Dir(dir) => Some(dir.as_path()),
            _ => None,
        })
    }

    /// Returns the repositories that are listed without a wildcard.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|p| match p.shape {
            Shape::Exact(_) | Shape::Dir(_) => Some(p.text.as_str()),
            Shape::Below(_) | Shape::Tree(_) => None,
        })
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.patterns().collect();
        f.write_str(&texts.join(", "))
    }
}

/// A placeholder for `*` during parsing. It is a valid name on every forge.
const ANY: &str = "any-repository";

fn pattern(text: &str, hosts: &Hosts, absolute: &dyn Fn(&RepoId) -> RepoId) -> Result<Pattern> {
    let refused = |why: String| {
        Error::invalid("repo", format!("'{}' is not a pattern for repositories: {why}", forge_core::text::one_line(text)))
            .with_hint("pass a repository, or all of an owner: 'octo/tools', 'github.com/octo/*', '/srv/git/*'")
    };
    let parse = |text: &str| match locator::parse(text, hosts) {
        Ok(parsed) => match parsed.locator {
            Locator::Repo(id) => Ok(id),
            _ => Err(refused("it names an object in a repository".to_owned())),
        },
        Err(e) => Err(refused(e.to_string())),
    };
    let typed = |id: &RepoId, shape: Shape| Pattern {
        text: text.to_owned(),
        kind: id.kind.clone(),
        shape,
    };
    let directory = |id: &RepoId| match absolute(id).path {
        RepoPath::Dir(path) => Some(path),
        _ => None,
    };
    // A relative path is made absolute, because in a process with another current directory it
    // would name another directory.
    let is_relative = |id: &RepoId| matches!(&id.path, RepoPath::Dir(path) if path.is_relative());
    let Some(above) = text.strip_suffix("/*") else {
        if text.contains('*') {
            return Err(refused("only its last part can be '*'".to_owned()));
        }
        let id = parse(text)?;
        let Some(path) = directory(&id) else {
            return Ok(typed(&id, Shape::Exact(id.comparison_key())));
        };
        let mut pattern = typed(&id, Shape::Dir(canonical(&path)));
        if is_relative(&id) {
            pattern.text = path.display().to_string();
        }
        return Ok(pattern);
    };
    if above.contains('*') {
        return Err(refused("only its last part can be '*'".to_owned()));
    }
    // The pattern for a whole host has no owner, so it is parsed with two placeholders: owner and
    // name.
    let id = parse(&format!("{above}/{ANY}"))
        .or_else(|e| parse(&format!("{above}/{ANY}/{ANY}")).map_err(|_| e))?;
    if let Some(path) = directory(&id) {
        let above = path.parent().unwrap_or(&path);
        let mut pattern = typed(&id, Shape::Tree(canonical(above)));
        if is_relative(&id) {
            pattern.text = format!("{}/*", above.display());
        }
        return Ok(pattern);
    }
    let key = id.comparison_key();
    let below = key.strip_suffix(ANY).unwrap_or(&key);
    let below = below.strip_suffix(&format!("{ANY}/")).unwrap_or(below);
    Ok(typed(&id, Shape::Below(below.to_owned())))
}

impl Shape {
    fn matches(&self, id: &RepoId) -> bool {
        match (self, &id.path) {
            (Self::Dir(dir), RepoPath::Dir(path)) => canonical(path) == *dir,
            (Self::Tree(dir), RepoPath::Dir(path)) => {
                let path = canonical(path);
                path.starts_with(dir) && path != *dir
            }
            (Self::Exact(key), _) => id.comparison_key() == *key,
            (Self::Below(start), RepoPath::Named { .. }) => {
                id.comparison_key().starts_with(start.as_str())
            }
            _ => false,
        }
    }
}

/// Resolves symbolic links and `..` in the part of the path that exists.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize()
        .unwrap_or_else(|_| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> AllowList {
        let patterns: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
        AllowList::parse(&patterns, &Hosts::builtin(), RepoId::clone).unwrap()
    }

    fn has(list: &AllowList, text: &str) -> bool {
        match locator::parse(text, &Hosts::builtin()) {
            Ok(parsed) => parsed.locator.repo().is_some_and(|id| list.has(id)),
            Err(_) => false,
        }
    }

    #[test]
    fn spellings_of_repository_match_each_other() {
        let one = list(&["https://github.com/Octo/Tools.git"]);
        for same in [
            "octo/tools",
            "OCTO/tools",
            "https://github.com/octo/tools",
            "https://github.com:443/octo/tools.git",
            "https://user:secret@github.com/octo/tools",
            "git@github.com:octo/tools.git",
            "https://github.com/octo/tools/pull/7",
        ] {
            assert!(has(&one, same), "{same}");
        }
        for other in [
            "octo/tools2",
            "octo/tool",
            "octo2/tools",
            "https://github.com.evil.example/octo/tools",
            "https://github.com@evil.example/octo/tools",
            "https://gıthub.com/octo/tools",
            "https://github.com:8443/octo/tools",
            "https://octo.ghe.com/octo/tools",
            "tangled.org/octo.example/tools",
        ] {
            assert!(!has(&one, other), "{other}");
        }
    }

    #[test]
    fn wildcard_covers_owner_or_host() {
        let owner = list(&["github.com/octo/*"]);
        assert!(has(&owner, "octo/tools") && has(&owner, "Octo/x"));
        assert!(!has(&owner, "octopus/x") && !has(&owner, "other/octo"));
        let host = list(&["github.com/*"]);
        assert!(has(&host, "any/thing") && !has(&host, "https://a.ghe.com/o/r"));
        assert!(has(&list(&["octo/*"]), "octo/tools"));
    }

    #[test]
    fn directories_are_compared_with_links_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for below in ["srv/one", "srv/two", "other/three"] {
            std::fs::create_dir_all(root.join(below)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("other/three"), root.join("srv/link")).unwrap();
        let allowed = list(&[&format!("{}/srv/*", root.display())]);
        let has = |below: &str| allowed.has(&RepoId::local(root.join(below)));
        assert!(has("srv/one") && has("srv/one/../two"));
        assert!(
            !has("other/three") && !has("srv/../other/three") && !has("srv/link") && !has("srv")
        );
        let exact = list(&[&format!("file://{}/srv/one", root.display())]);
        assert!(exact.has(&RepoId::local(root.join("srv/one/."))));
        assert!(!exact.has(&RepoId::local(root.join("srv/two"))));
    }

    #[test]
    fn invalid_pattern_is_refused() {
        for text in [
            "*",
            "",
            "git*/octo/x",
            "github.com/*/tools",
            "https://evil.example/o/*",
            "octo/tools/pull/7",
        ] {
            let patterns = [text.to_owned()];
            assert!(
                AllowList::parse(&patterns, &Hosts::builtin(), RepoId::clone).is_err(),
                "{text}"
            );
        }
    }
}
