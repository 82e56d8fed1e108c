//! The issues that a pull request closes, by the words of its description.

use forge_core::{
    Result, Warning,
    locator::Hosts,
    mentions::closing,
    model::{IssueId, IssueState, LinkedIssue},
};
use forge_git::CatFile;

use super::warning_of;
use crate::{Local, store::Pull};

/// More issues of one description are not looked up.
const MOST: usize = 100;

impl Local {
    /// The issues that `pull` says it closes, and what could not be read of them.
    pub(crate) async fn linked_issues(
        &self,
        cat: &mut CatFile,
        pull: &Pull,
    ) -> Result<(Vec<LinkedIssue>, Vec<Warning>)> {
        let mut numbers = closing(&pull.snapshot.description, self.id(), &Hosts::builtin());
        numbers.truncate(MOST);
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
