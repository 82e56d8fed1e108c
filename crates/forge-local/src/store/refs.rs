//! Names of the refs below `refs/forge/`.

pub(crate) const PULLS: &str = "refs/forge/pulls/";
pub(crate) const ISSUES: &str = "refs/forge/issues/";
/// The ref of the index blob.
pub(crate) const INDEX: &str = "refs/forge/index";
pub(crate) const LABELS: &str = "refs/forge/labels";
/// The file in the tree of a pull request's event commits.
pub(crate) const PULL_FILE: &str = "pull.json";
/// The file in the tree of an issue's event commits.
pub(crate) const ISSUE_FILE: &str = "issue.json";
/// The file in the tree of [`LABELS`].
pub(crate) const LABELS_FILE: &str = "labels.json";
/// The highest valid number of a pull request or issue. Real numbers stay far below this limit, and
/// sums of valid numbers do not overflow.
pub(crate) const MAX_NUMBER: u64 = 1 << 48;

/// Refuses stored counts above [`MAX_NUMBER`]. Real writes never reach such a count, and it could
/// overflow when it is increased.
pub(super) fn check_counts(file: &str, comments: u64, events: u64) -> Result<(), String> {
    match comments.max(events) {
        0..=MAX_NUMBER => Ok(()),
        most => Err(format!(
            "{file} has an impossible count of comments or events: {most}"
        )),
    }
}

pub(crate) fn pull(number: u64) -> String {
    format!("{PULLS}{number}")
}

pub(crate) fn issue(number: u64) -> String {
    format!("{ISSUES}{number}")
}

/// Returns the number at the end of a ref name below `prefix`.
pub(crate) fn number(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    let n: u64 = digits.parse().ok()?;
    (n > 0 && n <= MAX_NUMBER && n.to_string() == digits).then_some(n)
}

pub(crate) fn branch(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
