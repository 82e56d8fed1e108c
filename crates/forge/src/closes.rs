//! Adds lines such as `Closes #7` to the description of a pull request.

use forge_core::{
    PrKey, RepoId,
    locator::Hosts,
    mentions::{MentionTarget, mentions},
    model::{IssueId, SubjectKind},
};

/// Prepends a line `Closes #N` to a pull request's description for each of `issues` that the
/// description does not close yet. A blank line separates these lines from the description. `repo`
/// is the repository of the pull request.
///
/// The line names an issue of another repository as `owner/name#N`. It names an issue without a
/// number by its at-uri (the atproto address of the issue's record).
#[must_use]
pub fn with_closing_lines(
    description: String,
    issues: &[IssueId],
    repo: &RepoId,
    hosts: &Hosts,
) -> String {
    let named = mentions(&description, hosts, &mut Vec::new());
    let mut closed: Vec<&IssueId> = Vec::new();
    let mut lines = String::new();
    for issue in issues {
        let is_there = (named.iter()).any(|m| m.closes && is_named(&m.named, issue, repo));
        if !is_there && !closed.contains(&issue) {
            closed.push(issue);
            lines.push_str(&format!("Closes {}\n", name_of(issue, repo)));
        }
    }
    match (lines.as_str(), description.trim()) {
        ("", _) => description,
        (lines, "") => lines.trim_end().to_owned(),
        (lines, _) => format!("{lines}\n{description}"),
    }
}

fn is_own(issue: &IssueId, repo: &RepoId) -> bool {
    issue.repo.comparison_key() == repo.comparison_key()
}

/// Returns true if `named`, a reference in a text of `repo`, means `issue`.
fn is_named(named: &MentionTarget, issue: &IssueId, repo: &RepoId) -> bool {
    match (named, &issue.key) {
        (MentionTarget::Record(uri), PrKey::Record(_)) => PrKey::from(uri.clone()) == issue.key,
        (MentionTarget::Number(found), PrKey::Number(number)) => {
            is_own(issue, repo) && found == number
        }
        (_, PrKey::Number(number)) => named.number_in(&issue.repo).is_some_and(|(kind, found)| {
            kind != Some(SubjectKind::PullRequest) && found == *number
        }),
        (_, PrKey::Record(_)) => false,
    }
}

/// Returns the reference to an issue in a text of `repo`: `#7`, `owner/name#7`, or an at-uri.
fn name_of(issue: &IssueId, repo: &RepoId) -> String {
    let is_near = issue.repo.kind == repo.kind && issue.repo.host == repo.host;
    match (&issue.key, issue.repo.owner_and_name()) {
        (PrKey::Record(uri), _) => uri.clone(),
        (PrKey::Number(number), _) if is_own(issue, repo) => format!("#{number}"),
        (PrKey::Number(number), Some((owner, name))) if is_near => {
            format!("{owner}/{name}#{number}")
        }
        (PrKey::Number(_), _) => issue.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use forge_core::locator::{self, Locator};

    use super::*;

    fn repo(name: &str) -> RepoId {
        match locator::parse(name, &Hosts::builtin()).unwrap().locator {
            Locator::Repo(repo) => repo,
            other => panic!("{other:?}"),
        }
    }

    fn with(description: &str, issues: &[IssueId]) -> String {
        with_closing_lines(
            description.to_owned(),
            issues,
            &repo("octo/tools"),
            &Hosts::builtin(),
        )
    }

    fn with_lines(description: &str, issues: &[u64]) -> String {
        let issues = issues.iter();
        let issues = issues.map(|number| IssueId::number(repo("octo/tools"), *number));
        with(description, &issues.collect::<Vec<_>>())
    }

    #[test]
    fn unnumbered_and_foreign_issues_are_named_in_full() {
        let other = IssueId::number(repo("octo/other"), 7);
        assert_eq!(
            with("Why.", std::slice::from_ref(&other)),
            "Closes octo/other#7\n\nWhy."
        );
        for there in [
            "Closes octo/other#7",
            "fixes https://github.com/octo/other/issues/7",
        ] {
            assert_eq!(with(there, std::slice::from_ref(&other)), there);
        }
        assert_eq!(
            with("Closes #7", &[other]),
            "Closes octo/other#7\n\nCloses #7"
        );
        let uri = "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/sh.tangled.repo.issue/3kabc";
        let record = IssueId {
            repo: repo("octo/tools"),
            key: PrKey::Record(uri.to_owned()),
        };
        let once = with("Why.", std::slice::from_ref(&record));
        assert_eq!(once, format!("Closes {uri}\n\nWhy."));
        assert_eq!(with(&once, &[record]), once);
    }

    #[test]
    fn closing_lines_precede_description() {
        for (description, issues, wanted) in [
            ("Why.", &[][..], "Why."),
            ("Why.\n", &[], "Why.\n"),
            ("", &[], ""),
            ("", &[7], "Closes #7"),
            ("Why.\n", &[7, 8], "Closes #7\nCloses #8\n\nWhy.\n"),
            ("Why.", &[7, 7], "Closes #7\n\nWhy."),
        ] {
            assert_eq!(
                with_lines(description, issues),
                wanted,
                "{description:?} {issues:?}"
            );
        }
    }

    #[test]
    fn closing_line_is_not_added_twice() {
        for closing in [
            "Closes #7",
            "fixes: #7.",
            "It RESOLVED #7, at last",
            "(closes #7)",
            "Closes #7\n\n```\ncode\n```",
            "Closes Octo/Tools#7",
            "Closes https://github.com/octo/tools/issues/7",
        ] {
            assert_eq!(with_lines(closing, &[7]), closing);
            let once = with_lines("Why.", &[7]);
            assert_eq!(with_lines(&once, &[7]), once);
        }
        for other in [
            "Closes #70",
            "Closes octo/other#7",
            "Closes https://github.com/octo/tools/pull/7",
            "encloses #7",
            "See #7",
            "Closes #6, #7",
            "`Closes #7`",
            "```\nCloses #7\n```",
            "<!-- Closes #7 -->",
            "Closes #7x",
            "Put this into your text:\n\n    Closes #7",
        ] {
            assert_eq!(with_lines(other, &[7]), format!("Closes #7\n\n{other}"));
        }
    }
}
