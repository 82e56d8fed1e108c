//! Derives a one-line summary and key facts of a change, by rules only.

use forge_core::{
    mentions::ticket_key,
    model::{FileChange, FileStatus, PullRequest},
};
use serde::Serialize;

use crate::FileClass;

/// Kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeType {
    /// A new feature.
    Feature,
    /// A bug fix.
    Bugfix,
    /// A change of form without a change of behaviour.
    Refactor,
    /// Documentation only.
    Docs,
    /// Tests only.
    Test,
    /// A speed-up without a change of behaviour.
    Perf,
    /// Continuous integration.
    Ci,
    /// Build system.
    Build,
    /// Versions of dependencies.
    Deps,
    /// Reverts an earlier change.
    Revert,
    /// Maintenance without an effect on users.
    Chore,
}

impl ChangeType {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feature => "feature",
            Self::Bugfix => "bugfix",
            Self::Refactor => "refactor",
            Self::Docs => "docs",
            Self::Test => "test",
            Self::Perf => "perf",
            Self::Ci => "ci",
            Self::Build => "build",
            Self::Deps => "deps",
            Self::Revert => "revert",
            Self::Chore => "chore",
        }
    }
}

use ChangeType::{Bugfix, Build, Chore, Ci, Deps, Docs, Feature, Perf, Refactor, Revert, Test};

/// Prefixes of a title (`fix: …`, `feat(api)!: …`) or a branch (`fix/…`), with the types of change
/// that they mean.
pub const PREFIX_TYPES: &[(&str, ChangeType)] = &[
    ("feat", Feature),
    ("feature", Feature),
    ("fix", Bugfix),
    ("bugfix", Bugfix),
    ("hotfix", Bugfix),
    ("bug", Bugfix),
    ("refactor", Refactor),
    ("style", Refactor),
    ("docs", Docs),
    ("doc", Docs),
    ("test", Test),
    ("tests", Test),
    ("perf", Perf),
    ("ci", Ci),
    ("build", Build),
    ("deps", Deps),
    ("dependabot", Deps),
    ("renovate", Deps),
    ("revert", Revert),
    ("chore", Chore),
];

/// Labels with the types of change that they mean. Labels match regardless of case, also with the
/// prefix `kind/`, `type/`, `kind:` or `type:`.
pub const LABEL_TYPES: &[(&str, ChangeType)] = &[
    ("bug", Bugfix),
    ("bugfix", Bugfix),
    ("regression", Bugfix),
    ("enhancement", Feature),
    ("feature", Feature),
    ("refactor", Refactor),
    ("refactoring", Refactor),
    ("documentation", Docs),
    ("docs", Docs),
    ("test", Test),
    ("tests", Test),
    ("testing", Test),
    ("performance", Perf),
    ("ci", Ci),
    ("build", Build),
    ("dependencies", Deps),
    ("chore", Chore),
];

/// File classes that decide the type of a change if all changed files are in one class.
pub const CLASS_TYPES: &[(FileClass, ChangeType)] = &[
    (FileClass::Docs, Docs),
    (FileClass::Test, Test),
    (FileClass::Ci, Ci),
    (FileClass::Lock, Deps),
];

const MAX_KEY_CHANGES: usize = 5;

/// Returns the type of a change. The first of these decides: the prefix of the title, a label, the
/// files, the prefix of the branch, a label of an issue that the forge closes with the merge. The
/// default is `feature`.
#[must_use]
pub fn change_type(pull: &PullRequest) -> ChangeType {
    let issues = pull.linked_issues.iter().flatten();
    by_title(&pull.title)
        .or_else(|| by_labels(pull.labels.iter().map(|label| &label.name)))
        .or_else(|| by_files(pull.files.as_deref()?))
        .or_else(|| by_branch(&pull.head_branch))
        .or_else(|| by_labels(issues.filter_map(|issue| issue.labels.as_ref()).flatten()))
        .unwrap_or(Feature)
}

fn by_title(title: &str) -> Option<ChangeType> {
    if title.starts_with("Revert \"") {
        return Some(Revert);
    }
    let (word, _) = conventional(title)?;
    of_prefix(word)
}

fn of_prefix(word: &str) -> Option<ChangeType> {
    let found = PREFIX_TYPES
        .iter()
        .find(|(prefix, _)| word.eq_ignore_ascii_case(prefix));
    found.map(|(_, kind)| *kind)
}

/// Splits a title of the form `word(scope)!: rest` into word and rest.
fn conventional(title: &str) -> Option<(&str, &str)> {
    let (head, rest) = title.split_once(':')?;
    let head = head.trim_end().strip_suffix('!').unwrap_or(head.trim_end());
    let word = match head.split_once('(') {
        Some((word, scope)) if scope.ends_with(')') => word,
        Some(_) => return None,
        None => head,
    };
    Some((word, rest))
}

fn by_labels<'a>(mut names: impl Iterator<Item = &'a String>) -> Option<ChangeType> {
    names.find_map(|name| {
        let name = name.to_lowercase();
        let name = ["kind", "type"]
            .iter()
            .find_map(|group| name.strip_prefix(group)?.strip_prefix(['/', ':']))
            .unwrap_or(&name)
            .trim();
        let found = LABEL_TYPES.iter().find(|(known, _)| name == *known);
        found.map(|(_, kind)| *kind)
    })
}

fn by_files(files: &[FileChange]) -> Option<ChangeType> {
    let class = FileClass::of(&files.first()?.path);
    if !files.iter().all(|file| FileClass::of(&file.path) == class) {
        return None;
    }
    let found = CLASS_TYPES.iter().find(|(known, _)| *known == class);
    found.map(|(_, kind)| *kind)
}

fn by_branch(branch: &str) -> Option<ChangeType> {
    of_prefix(branch.split(['/', '-', '_']).next()?)
}

/// Removes type prefix and ticket from a title: `fix(api): PROJ-12: stop` becomes `stop`.
#[must_use]
pub fn one_liner(title: &str) -> String {
    let mut rest = title.trim();
    loop {
        let next = match conventional(rest) {
            Some((word, behind)) if of_prefix(word).is_some() => behind,
            _ => skip_ticket_key(rest),
        };
        let next = next.trim_start();
        if next.is_empty() {
            return rest.to_owned();
        }
        if next.len() == rest.len() {
            return rest.to_owned();
        }
        rest = next;
    }
}

/// Returns the text after a leading ticket key: `PROJ-12: x`, `[PROJ-12] x`.
fn skip_ticket_key(text: &str) -> &str {
    let (inner, closing) = match text.strip_prefix('[') {
        Some(inner) => (inner, ']'),
        None => (text, ':'),
    };
    match inner.split_once(closing) {
        Some((key, rest)) if ticket_key(key) == Some(key) => rest.trim_start_matches(':'),
        _ => text,
    }
}

/// Returns the most important changes: first code, then tests, then other files. Within each of
/// these classes, larger changes come first. Lists at most five files, and counts the remaining
/// files.
#[must_use]
pub fn key_changes(files: &[FileChange]) -> Vec<String> {
    let lines = |file: &FileChange| file.additions.unwrap_or(0) + file.deletions.unwrap_or(0);
    let mut ranked: Vec<&FileChange> = files.iter().collect();
    ranked.sort_by(|a, b| {
        let class = |file: &FileChange| FileClass::of(&file.path);
        class(a)
            .cmp(&class(b))
            .then_with(|| lines(b).cmp(&lines(a)))
            .then_with(|| a.path.cmp(&b.path))
    });
    let mut facts: Vec<String> = ranked
        .iter()
        .take(MAX_KEY_CHANGES)
        .map(|f| fact(f))
        .collect();
    let more = files.len().saturating_sub(MAX_KEY_CHANGES);
    if more > 0 {
        let noun = if more == 1 { "file" } else { "files" };
        facts.push(format!("and {more} more {noun}"));
    }
    facts
}

fn fact(file: &FileChange) -> String {
    let verb = match file.status {
        FileStatus::Added => "adds",
        FileStatus::Modified => "changes",
        FileStatus::Deleted => "deletes",
        FileStatus::Renamed => "renames",
        FileStatus::Copied => "copies",
    };
    let path = match &file.previous_path {
        Some(previous) => format!("{previous} to {}", file.path),
        None => file.path.clone(),
    };
    let counts = match (file.additions, file.deletions) {
        (None, _) | (_, None) => " (binary)".to_owned(),
        (Some(0), Some(0)) => String::new(),
        (Some(added), Some(0)) => format!(" (+{added})"),
        (Some(0), Some(deleted)) => format!(" (-{deleted})"),
        (Some(added), Some(deleted)) => format!(" (+{added} -{deleted})"),
    };
    format!("{verb} {path}{counts}")
}

#[cfg(test)]
mod tests {
    use forge_core::model::{Label, LinkedIssue};
    use proptest::prelude::*;

    use super::*;
    use crate::sample::{file, pull};

    fn kind(title: &str, labels: &[&str], paths: &[&str], branch: &str) -> ChangeType {
        let mut pull = pull();
        pull.title = title.to_owned();
        pull.head_branch = branch.to_owned();
        pull.labels = labels.iter().map(|name| Label::new(*name, "")).collect();
        pull.files = Some(paths.iter().map(|path| file(path, 1, 1)).collect());
        let mut issue = LinkedIssue::new(pull.id.repo.clone(), 7, "Slow start", "u");
        issue.labels = Some(vec!["area/api".to_owned(), "type: performance".to_owned()]);
        pull.linked_issues = Some(vec![issue]);
        change_type(&pull)
    }

    #[test]
    fn c_002_16_change_type_comes_from_first_matching_source() {
        let code = &["src/a.rs"][..];
        for (title, wanted) in [
            ("fix: x", Bugfix),
            ("Feat(api)!: x", Feature),
            ("refactor : x", Refactor),
            ("Revert \"Add x\"", Revert),
            ("perf(core): x", Perf),
        ] {
            assert_eq!(kind(title, &["bug"], code, "docs/x"), wanted, "{title}");
        }
        assert_eq!(kind("Add x", &["x", "kind/bug"], code, "docs/x"), Bugfix);
        assert_eq!(kind("Add: x", &["Type: Feature"], code, "fix/x"), Feature);
        assert_eq!(kind("Add x", &[], &["README.md", "docs/a"], "fix/x"), Docs);
        assert_eq!(kind("Add x", &[], &["tests/a.rs"], "fix/x"), Test);
        assert_eq!(kind("Add x", &[], &["Cargo.lock"], "fix/x"), Deps);
        let mixed = &["README.md", "src/a.rs"];
        assert_eq!(kind("Add x", &[], mixed, "fix/x"), Bugfix);
        assert_eq!(kind("Add x", &[], mixed, "work"), Perf);
        assert_eq!(kind("Add x", &[], &[], "fixture"), Perf);
        let mut bare = pull();
        bare.title = "Add x".to_owned();
        assert_eq!(change_type(&bare), Feature);
    }

    #[test]
    fn c_002_15_one_liner_drops_prefix_and_ticket() {
        for (title, line) in [
            ("fix(api): stop the leak", "stop the leak"),
            ("[PROJ-12] Stop", "Stop"),
            ("PROJ-12: fix: stop", "stop"),
            ("feat!: PROJ2-1: go", "go"),
            ("Note: this stays", "Note: this stays"),
            ("fix:", "fix:"),
            ("UTF-8 names", "UTF-8 names"),
            (" x ", "x"),
        ] {
            assert_eq!(one_liner(title), line, "{title}");
        }
    }

    #[test]
    fn c_002_15_key_changes_are_ranked_facts() {
        let mut renamed = file("src/new.rs", 0, 0);
        renamed.status = FileStatus::Renamed;
        renamed.previous_path = Some("src/old.rs".to_owned());
        let mut added = file("payments/retry.py", 120, 0);
        added.status = FileStatus::Added;
        let files = [
            file("Cargo.lock", 900, 800),
            file("tests/a.rs", 40, 0),
            renamed,
            added,
            file("README.md", 1, 1),
            file("src/b.rs", 3, 2),
        ];
        assert_eq!(
            key_changes(&files),
            [
                "adds payments/retry.py (+120)",
                "changes src/b.rs (+3 -2)",
                "renames src/old.rs to src/new.rs",
                "changes tests/a.rs (+40)",
                "changes README.md (+1 -1)",
                "and 1 more file",
            ]
        );
        assert!(key_changes(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn one_liner_of_any_title_is_a_suffix(title in "(?s).{0,80}") {
            prop_assert!(title.trim().ends_with(&one_liner(&title)));
        }
    }
}
