//! Checks names by the rules of `git check-ref-format`, without a process.

/// Maximum length of a component, in bytes. A file name has at most 255 bytes, including the suffix
/// of git's lock file.
const MAX_PART: usize = 240;
/// Maximum length of a name, in bytes. A path has at most 4096 bytes.
const MAX_NAME: usize = 2000;

/// Returns why `name` is invalid as a full ref name (`refs/heads/x`), or `None` if it is valid.
#[must_use]
pub fn refname_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if !name.contains('/') {
        return Some("it has no '/'");
    }
    component_problem(name)
}

/// Returns why `name` is invalid as a branch name (`feature/x`), or `None` if it is valid.
#[must_use]
pub fn branch_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.starts_with('-') {
        return Some("it starts with '-'");
    }
    if name == "HEAD" {
        return Some("'HEAD' is not a branch");
    }
    component_problem(name)
}

fn component_problem(name: &str) -> Option<&'static str> {
    if name == "@" {
        return Some("it is '@'");
    }
    if name.contains("..") {
        return Some("it contains '..'");
    }
    if name.contains("@{") {
        return Some("it contains '@{'");
    }
    if name.ends_with('.') {
        return Some("it ends with '.'");
    }
    if name.chars().any(|c| c.is_ascii_control()) {
        return Some("it contains a control character");
    }
    if name.contains([' ', '~', '^', ':', '?', '*', '[', '\\']) {
        return Some("it contains a space or one of ~ ^ : ? * [ \\");
    }
    if name.len() > MAX_NAME {
        return Some("it is longer than 2000 bytes");
    }
    for part in name.split('/') {
        if part.len() > MAX_PART {
            return Some("a part of it is longer than 240 bytes");
        }
        if part.is_empty() {
            return Some("it has an empty part between slashes, or at an end");
        }
        if part.starts_with('.') {
            return Some("a part of it starts with '.'");
        }
        if part.ends_with(".lock") {
            return Some("a part of it ends with '.lock'");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_rules_match_check_ref_format() {
        for good in [
            "main",
            "feature/x",
            "a.b",
            "wörk",
            "x@y",
            "a{b",
            "\u{1f600}",
            "a\"b",
            "'",
        ] {
            assert_eq!(branch_problem(good), None, "{good}");
        }
        for bad in [
            "", "-x", "HEAD", "@", "a..b", "a@{b", "a.", "a b", "a\nb", "a~", "a^", "a:b", "a?",
            "a*", "a[", "a\\b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "\x7f",
        ] {
            assert!(branch_problem(bad).is_some(), "{bad:?}");
        }
        assert!(refname_problem("main").is_some());
        assert_eq!(
            branch_problem(&["x".repeat(240), "y".repeat(240)].join("/")),
            None
        );
        assert!(branch_problem(&"x".repeat(241)).is_some());
        assert!(branch_problem(&["x"; 1001].join("/")).is_some());
        assert_eq!(refname_problem("refs/heads/-x"), None);
    }

    #[test]
    fn refname_rules_match_installed_git() {
        for name in [
            "a/b", "a..b", "x@{1}", "a.lock", "é", "a b", "@", "-", "a/.b", "q'", "{}",
        ] {
            let git = std::process::Command::new("git")
                .args(["check-ref-format", &format!("refs/heads/{name}")])
                .status()
                .unwrap();
            let ours = refname_problem(&format!("refs/heads/{name}"));
            assert_eq!(ours.is_none(), git.success(), "{name}: {ours:?}");
        }
    }
}
