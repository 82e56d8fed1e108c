//! Versions of issues: fingerprints of the parts that were read, since GitHub has no versions.
//!
//! Queries read different parts of an issue. A version has one fingerprint for each part, and two
//! versions are compared by their common parts.

use forge_core::{
    Action, Op, Result,
    model::{Issue, IssueRelations, IssueState},
    version_moved,
};

/// The parts of an issue that were read in addition to title, state, labels and assignees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadParts {
    pub body: bool,
    /// The values on one board.
    pub values: bool,
}

impl ReadParts {
    /// The body, and no board values.
    pub const BODY: Self = Self {
        body: true,
        values: false,
    };
}

/// The prefix letters of a version's parts; the first part has no prefix.
const BODY: char = 'b';
const RELATIONS: char = 'r';
const VALUES: char = 'v';

pub(crate) fn of(issue: &Issue, parts: ReadParts) -> String {
    let mut labels: Vec<&str> = issue.labels.iter().map(|l| l.name.as_str()).collect();
    labels.sort_unstable();
    let mut people: Vec<&str> = issue.assignees.iter().map(|a| a.login.as_str()).collect();
    people.sort_unstable();
    let open = issue.state == IssueState::Open;
    let mut version = print(&(&issue.title, open, labels, people));
    let mut add = |letter: char, print: String| {
        version.push('-');
        version.push(letter);
        version.push_str(&print);
    };
    if parts.body {
        add(BODY, print(&issue.body));
    }
    if let Some(relations) = &issue.relations {
        add(RELATIONS, print(&collect_related_ids(relations)));
    }
    if parts.values {
        add(VALUES, print(&issue.values));
    }
    version
}

fn print<T: std::hash::Hash>(part: &T) -> String {
    format!("{:016x}", forge_core::fingerprint(part))
}

/// Returns the ids of related issues. The version ignores titles and states of related issues.
fn collect_related_ids(relations: &IssueRelations) -> [Vec<String>; 4] {
    let parent: Vec<_> = relations.parent.iter().collect();
    let lists = [
        parent,
        relations.sub_issues.iter().collect(),
        relations.blocked_by.iter().collect(),
        relations.blocking.iter().collect(),
    ];
    lists.map(|list| {
        let mut ids: Vec<String> = list.iter().map(|end| end.id.to_string()).collect();
        ids.sort_unstable();
        ids
    })
}

pub(crate) fn has_relations(version: &str) -> bool {
    version
        .split('-')
        .skip(1)
        .any(|part| part.starts_with(RELATIONS))
}

/// Returns whether the common parts of two versions are equal.
fn agree(expected: &str, actual: &str) -> bool {
    let mut expected = expected.split('-');
    let mut actual = actual.split('-');
    if expected.next() != actual.next() {
        return false;
    }
    let actual: Vec<&str> = actual.collect();
    expected.all(|part| {
        let mut same = actual
            .iter()
            .filter(|it| it.chars().next() == part.chars().next());
        same.all(|it| *it == part)
    })
}

/// Checks that `issue` still has the expected version.
///
/// # Errors
///
/// Fails with `conflict` and both versions if the issue changed.
pub(super) fn check(issue: &Issue, expected: Option<&str>) -> Result<()> {
    match expected {
        Some(expected) if !agree(expected, &issue.version) => {
            let read = Action::op(Op::IssueView).on(&issue.id.key);
            Err(version_moved(&issue.id, expected, &issue.version, read))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_common_parts() {
        for (expected, actual, same) in [
            ("1", "1", true),
            ("1", "2", false),
            ("1-b2", "1-b2-r3", true),
            ("1-b2-r3", "1-b2", true),
            ("1-b2-r3", "1-b2-r4", false),
            ("1-v5", "1-b2-v5", true),
            ("1-v5", "1-b2-v6", false),
            ("", "1", false),
            ("1-", "1-b2", true),
            ("nonsense", "1-b2", false),
        ] {
            assert_eq!(agree(expected, actual), same, "{expected} {actual}");
        }
    }
}
