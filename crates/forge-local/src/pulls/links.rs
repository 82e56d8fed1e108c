//! The issues that a pull request closes, by the words of its description.

use forge_core::{
    Result, Warning,
    locator::Hosts,
    mentions::{Named, mentions},
    model::{IssueId, IssueState, LinkedIssue},
};
use forge_git::CatFile;

use super::warning_of;
use crate::{Local, store::Pull};

/// More issues than a description is read for.
const MOST: usize = 100;

impl Local {
    /// The issues that `pull` says it closes, and what could not be read of them.
    pub(crate) async fn linked_issues(
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

/// The numbers behind closing words: `Fixes #7`, `closes: #7`; each once, in order.
pub(crate) fn closing(text: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    for mention in mentions(text, &Hosts::builtin()) {
        if let (true, Named::Number(number)) = (mention.closes, mention.named)
            && !numbers.contains(&number)
        {
            numbers.push(number);
        }
    }
    numbers.truncate(MOST);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_issue_is_closed_once() {
        assert_eq!(closing("Fixes: #3, CLOSES #2\n(resolves #3)"), [3, 2]);
        assert_eq!(
            closing("See #7. Fixes octo/tools#8 and `fixes #9`."),
            [0; 0]
        );
    }
}
