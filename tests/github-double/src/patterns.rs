//! Matches ref patterns of rulesets, and file patterns of `CODEOWNERS`.

/// Returns true if a pattern with `?`, `*` and `**` matches the whole path. `*` and `?` do not
/// match a slash. `**/` matches any number of directories, including none.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    fn step(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => path.is_empty(),
            [b'*', b'*', b'/', rest @ ..] => {
                step(rest, path) || after_slashes(path).any(|path| step(rest, path))
            }
            [b'*', b'*', rest @ ..] => (0..=path.len()).any(|n| step(rest, skip(path, n))),
            [b'*', rest @ ..] => {
                let stop = path.iter().position(|it| *it == b'/');
                (0..=stop.unwrap_or(path.len())).any(|n| step(rest, skip(path, n)))
            }
            [b'?', rest @ ..] => match path {
                [first, path @ ..] => *first != b'/' && step(rest, path),
                [] => false,
            },
            [wanted, rest @ ..] => match path {
                [first, path @ ..] => first == wanted && step(rest, path),
                [] => false,
            },
        }
    }
    fn skip(path: &[u8], n: usize) -> &[u8] {
        path.get(n..).unwrap_or_default()
    }
    fn after_slashes(path: &[u8]) -> impl Iterator<Item = &[u8]> {
        let slashes = path.iter().enumerate().filter(|(_, it)| **it == b'/');
        slashes.map(|(at, _)| skip(path, at + 1))
    }
    step(pattern.as_bytes(), path.as_bytes())
}

/// Returns the owners of a file. The last line with a matching pattern decides; a line without
/// owners means none.
///
/// Syntax:
/// <https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners>.
pub(crate) fn owners<'a>(code_owners: &'a str, path: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for line in code_owners.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        if words.next().is_some_and(|pattern| is_owned(pattern, path)) {
            found = words.collect();
        }
    }
    found
}

fn is_owned(pattern: &str, path: &str) -> bool {
    let inner = pattern.trim_end_matches('/');
    let anchored = inner.contains('/');
    let inner = inner.trim_start_matches('/');
    let inner = if anchored {
        inner.to_owned()
    } else {
        format!("**/{inner}")
    };
    let below = || matches(&format!("{inner}/**"), path);
    // `docs/*` matches only the files directly in `docs`, unlike in gitignore.
    let is_direct = anchored && inner.ends_with("/*");
    if pattern.ends_with('/') {
        return below();
    }
    matches(&inner, path) || (!is_direct && below())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_patterns_stop_at_slashes() {
        for (pattern, path, wanted) in [
            ("refs/heads/main", "refs/heads/main", true),
            ("refs/heads/main", "refs/heads/main2", false),
            ("refs/heads/release/*", "refs/heads/release/1", true),
            ("refs/heads/release/*", "refs/heads/release/1/x", false),
            ("refs/heads/release/**", "refs/heads/release/1/x", true),
            ("refs/heads/**/*", "refs/heads/a/b/c", true),
            ("refs/heads/**/*", "refs/heads/a", true),
            ("refs/heads/v?", "refs/heads/v1", true),
            ("refs/heads/v?", "refs/heads/v/", false),
        ] {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn last_matching_code_owners_line_counts() {
        let file = "* @all\n*.js @js # scripts\n/build/logs/ @logs\ndocs/* @docs\napps/ @apps\n\
                    **/generated @gen\n/apps/github\n";
        for (path, wanted) in [
            ("README.md", &["@all"][..]),
            ("src/a.js", &["@js"]),
            ("build/logs/x/y", &["@logs"]),
            ("sub/build/logs/x", &["@all"]),
            ("docs/start.md", &["@docs"]),
            ("docs/build/start.md", &["@all"]),
            ("x/apps/y", &["@apps"]),
            ("deep/generated/z", &["@gen"]),
            ("apps/github/file", &[]),
        ] {
            assert_eq!(owners(file, path), wanted, "{path}");
        }
    }
}
