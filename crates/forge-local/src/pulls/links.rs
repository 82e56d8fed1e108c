//! The issues that a pull request closes, by the words of its description.

use forge_core::{
    Result, Warning,
    model::{IssueId, IssueState, LinkedIssue},
};
use forge_git::CatFile;

use super::warning_of;
use crate::{Local, store::Pull};

/// The words that GitHub takes for "closes", so that a description means the same here.
const KEYWORDS: [&str; 9] = [
    "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
];
/// More issues than a description is read for.
const MOST: usize = 100;

impl Local {
    /// The issues that `pull` says it closes, and what could not be read of them.
    pub(super) async fn linked_issues(
        &self,
        cat: &mut CatFile,
        pull: &Pull,
    ) -> Result<(Vec<LinkedIssue>, Vec<Warning>)> {
        let numbers = closing(&pull.snapshot.description);
        let (mut linked, mut warnings) = (Vec::new(), Vec::new());
        for read in self.store.read_issues(cat, &numbers).await? {
            match read {
                Some(Ok(issue)) => linked.push(LinkedIssue {
                    id: String::new(),
                    repo: self.id().clone(),
                    repo_node: None,
                    number: issue.number(),
                    title: issue.snapshot.title.clone(),
                    open: issue.snapshot.state == IssueState::Open,
                    url: IssueId::number(self.id().clone(), issue.number()).to_string(),
                }),
                Some(Err(e)) => warnings.push(warning_of(&e).of_section("linked_issues")),
                None => {}
            }
        }
        Ok((linked, warnings))
    }
}

/// The numbers behind closing keywords: `Fixes #7`, `closes: #7`; each once, in order.
fn closing(text: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut after_keyword = false;
    for word in text.split_whitespace() {
        if after_keyword
            && let Some(number) = number(word)
            && !numbers.contains(&number)
        {
            numbers.push(number);
            if numbers.len() == MOST {
                break;
            }
        }
        let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix(':').unwrap_or(bare).to_lowercase();
        after_keyword = KEYWORDS.contains(&bare.as_str());
    }
    numbers
}

/// `#7`, perhaps with punctuation behind it.
fn number(word: &str) -> Option<u64> {
    let digits = word.strip_prefix('#')?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(end)?;
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    digits.parse().ok().filter(|n| *n > 0 && ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_words_close_and_nothing_else_does() {
        for word in KEYWORDS {
            assert_eq!(closing(&format!("It {word} #7.")), [7], "{word}");
        }
        assert_eq!(closing("Fixes: #3, CLOSES #2\n(resolves #3)"), [3, 2]);
        for text in [
            "",
            "#7",
            "see #7",
            "fixes 7",
            "fixes #",
            "fixes #0",
            "fixes #7a",
            "prefix #7",
            "fixes the bug #7",
            "fixes #99999999999999999999",
        ] {
            assert_eq!(closing(text), [0; 0], "{text}");
        }
    }
}
