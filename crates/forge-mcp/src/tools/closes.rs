//! The lines of a description that close issues.

use forge_core::{RepoId, locator::Hosts, mentions::closing};

/// The description of a pull request of `repo` with a line `Closes #N` before it for each issue that
/// it does not close yet, and a blank line between them. Without issues it is unchanged.
pub(super) fn with_closing_lines(
    description: String,
    issues: &[u64],
    repo: &RepoId,
    hosts: &Hosts,
) -> String {
    let mut closed = closing(&description, repo, hosts);
    let mut lines = String::new();
    for issue in issues {
        if !closed.contains(issue) {
            closed.push(*issue);
            lines.push_str(&format!("Closes #{issue}\n"));
        }
    }
    match (lines.as_str(), description.trim()) {
        ("", _) => description,
        (lines, "") => lines.trim_end().to_owned(),
        (lines, _) => format!("{lines}\n{description}"),
    }
}

#[cfg(test)]
mod tests {
    use forge_core::locator::{self, Locator};

    use super::*;

    fn with_lines(description: &str, issues: &[u64]) -> String {
        let hosts = Hosts::builtin();
        let own = match locator::parse("octo/tools", &hosts).unwrap().locator {
            Locator::Repo(own) => own,
            other => panic!("{other:?}"),
        };
        with_closing_lines(description.to_owned(), issues, &own, &hosts)
    }

    #[test]
    fn a_line_for_each_issue_before_the_description() {
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
    fn none_is_added_twice() {
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
