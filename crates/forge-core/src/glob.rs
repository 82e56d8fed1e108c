//! Glob patterns for file paths.

/// Returns true if `text` has a character that is special in a pattern.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '\\'])
}

/// Returns true if `path` or its file name matches `pattern`.
///
/// `*` and `?` do not match a `/`, `**` does. As in gitignore, `**/` at the start or after a `/`
/// matches whole directories: `**/x.rs` matches `x.rs` and `a/x.rs`, but not `ax.rs`. `[a-z]` and
/// `[!a-z]` are sets. `\` makes the next character literal.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let all: Vec<char> = path.chars().collect();
    let base: Vec<char> = path.rsplit('/').next().unwrap_or(path).chars().collect();
    matches_whole(&pattern, &all) || matches_whole(&pattern, &base)
}

/// Matches the whole text. Backtracks only to the last star, so the time for a hostile pattern is
/// bounded by the product of both lengths. The last `**` and the last `*` are stored apart, because
/// only `**` can also match a `/`.
fn matches_whole(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    // For the last `**`: the positions in pattern and text at which matching resumes, and whether
    // the text may resume only at the start of a path segment.
    let mut deep: Option<(usize, usize, bool)> = None;
    while t < text.len() || p < pattern.len() {
        if pattern.get(p) == Some(&'*') {
            if pattern.get(p + 1) == Some(&'*') {
                p += 2;
                // `**/x` also matches `x`.
                let is_dirs =
                    pattern.get(p) == Some(&'/') && (t == 0 || text.get(t - 1) == Some(&'/'));
                p += usize::from(is_dirs);
                // `a/**/` matches everything below `a`.
                let by_segment = is_dirs && p < pattern.len();
                (deep, star) = (Some((p, t, by_segment)), None);
            } else {
                p += 1;
                star = Some((p, t));
            }
            continue;
        }
        if let Some(next) = single(pattern, p, text.get(t).copied()) {
            (p, t) = (next, t + 1);
            continue;
        }
        match (star, deep) {
            (Some((sp, st)), _) if text.get(st).is_some_and(|c| *c != '/') => {
                star = Some((sp, st + 1));
                (p, t) = (sp, st + 1);
            }
            (_, Some((dp, dt, by_segment))) => {
                let mut rest = text.iter().skip(dt);
                let Some(end) = rest.position(|c| !by_segment || *c == '/') else {
                    return false;
                };
                (p, t) = (dp, dt + end + 1);
                (deep, star) = (Some((p, t, by_segment)), None);
            }
            _ => return false,
        }
    }
    true
}

/// Returns the position after the pattern element at `p`, if this element matches `c`.
fn single(pattern: &[char], p: usize, c: Option<char>) -> Option<usize> {
    let c = c?;
    match *pattern.get(p)? {
        '?' => (c != '/').then_some(p + 1),
        '\\' => (pattern.get(p + 1) == Some(&c)).then_some(p + 2),
        '[' => set(pattern, p + 1, c),
        literal => (literal == c).then_some(p + 1),
    }
}

fn set(pattern: &[char], mut p: usize, c: char) -> Option<usize> {
    let negated = matches!(pattern.get(p), Some('!' | '^'));
    p += usize::from(negated);
    let (first, mut found) = (p, false);
    loop {
        let mut low = *pattern.get(p)?;
        if low == ']' && p != first {
            return (found != negated && c != '/').then_some(p + 1);
        }
        if low == '\\' {
            p += 1;
            low = *pattern.get(p)?;
        }
        let mut high = low;
        if pattern.get(p + 1) == Some(&'-') && pattern.get(p + 2).is_some_and(|h| *h != ']') {
            p += 2;
            high = *pattern.get(p)?;
        }
        found |= (low..=high).contains(&c);
        p += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_path_or_base_name() {
        assert!(matches("*.lock", "a/b/Cargo.lock"));
        assert!(matches("Cargo.lock", "a/Cargo.lock"));
        assert!(matches("a/*.rs", "a/x.rs") && !matches("a/*.rs", "a/b/x.rs"));
        assert!(matches("a/**", "a/b/c.rs") && matches("**/c.rs", "a/b/c.rs"));
        assert!(matches("a/**/c.rs", "a/b/d/c.rs") && matches("a/**/c.rs", "a/c.rs"));
        assert!(matches("**/*.rs", "a/b/c.rs"));
        assert!(!matches("b/*", "a/b/c"));
    }

    #[test]
    fn double_star_slash_matches_whole_directories() {
        for (pattern, path, is_match) in [
            ("**/x.rs", "x.rs", true),
            ("**/x.rs", "a/b/x.rs", true),
            ("**/x.rs", "ax.rs", false),
            ("**/x.rs", "a/bx.rs", false),
            ("a/**/x.rs", "a/bx.rs", false),
            ("a/**/x.rs", "a/b/ax.rs", false),
            ("a/**/*.rs", "a/b/c/x.rs", true),
            ("**/b/**/x.rs", "ab/x.rs", false),
            ("**/b/**/x.rs", "b/c/b/x.rs", true),
            ("**/b**", "a/bc/d", true),
            ("**/b**", "a/cb/d", false),
            ("a/**/", "a/b/c", true),
            ("a**/c", "ab/d/c", true),
        ] {
            assert_eq!(matches(pattern, path), is_match, "{pattern} {path}");
        }
    }

    #[test]
    fn character_sets_and_escapes_follow_glob_rules() {
        assert!(matches("[a-c]?.md", "bx.md") && !matches("[!a-c]?.md", "bx.md"));
        assert!(matches(r"\*.md", "*.md") && !matches(r"\*.md", "x.md"));
        assert!(!matches("[a", "a") && !matches("\\", "x"));
        assert!(matches("漢*", "漢字.txt"));
        assert!(!matches(&"*a".repeat(200), &"a".repeat(150)));
    }
}
