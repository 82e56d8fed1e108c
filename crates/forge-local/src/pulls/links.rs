//! The issues that a pull request closes, according to its description.

use std::borrow::Cow;

use forge_core::{
    Action, Arg, Call, Hint, Op, Param, Result, Warning,
    locator::Hosts,
    mentions::closing,
    model::{IssueId, IssueState, LinkedIssue},
};
use forge_git::CatFile;

use super::{label_names, warning_of};
use crate::{
    Local,
    store::{PullRead, StoredPull},
};

/// Maximum number of issues that are looked up for one description.
const MAX_LINKED_ISSUES: usize = 100;

/// Hint for numbers in a description that belong to no issue.
static CORRECT: Hint = Hint::fixed(
    "list the issues, and correct the description",
    Action::fixed(
        Call::Op(Op::IssueList),
        &[(Param::State, Arg::Set(Cow::Borrowed("all")))],
    ),
);

impl Local {
    /// Returns the issues that `pull` closes. Adds a warning for issues that are unreadable,
    /// missing or above the limit.
    pub(crate) async fn linked_issues(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<(Vec<LinkedIssue>, Vec<Warning>)> {
        let mut numbers = closing(&pull.snapshot.description, self.id(), &Hosts::builtin());
        let (mut linked, mut warnings) = (Vec::new(), Vec::new());
        if numbers.len() > MAX_LINKED_ISSUES {
            let cut = Warning::new(format!(
                "the description closes {} issues; the first {MAX_LINKED_ISSUES} were looked up",
                numbers.len()
            ));
            let hint = "close the others by hand, or name them in another pull request";
            warnings.push(cut.with_hint(hint).of_section("linked_issues"));
            numbers.truncate(MAX_LINKED_ISSUES);
        }
        let mut missing = Vec::new();
        let read = self.store.read_issues(cat, &numbers).await?;
        let mut issues = read.iter().flatten().flatten();
        let book = match issues.any(|issue| !issue.snapshot.labels.is_empty()) {
            true => self.store.labels(cat).await.map(|l| Some(l.book)),
            false => Ok(None),
        };
        for (number, read) in numbers.iter().zip(read) {
            match read {
                Some(Ok(issue)) => {
                    let (repo, number) = (self.id().clone(), issue.number());
                    let url = IssueId::number(repo.clone(), number).to_string();
                    let mut found = LinkedIssue::new(repo, number, &issue.snapshot.title, url);
                    found.open = issue.snapshot.state == IssueState::Open;
                    found.labels = Some(label_names(&issue.snapshot.labels, &book));
                    linked.push(found);
                }
                Some(Err(e)) => warnings.push(warning_of(&e).of_section("linked_issues")),
                None => missing.push(*number),
            }
        }
        warnings.extend(self.warn_of_unknown_numbers(cat, &missing).await?);
        Ok((linked, warnings))
    }

    /// Returns a warning about numbers that belong neither to an issue nor to a pull request.
    async fn warn_of_unknown_numbers(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
    ) -> Result<Option<Warning>> {
        let read = self.store.read_many(cat, numbers).await?;
        let missing = numbers.iter().zip(read);
        let missing: Vec<_> = missing
            .filter(|(_, read)| matches!(read, PullRead::Missing))
            .map(|(number, _)| format!("#{number}"))
            .collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let warning = Warning::new(format!(
            "the description closes issues that do not exist: {}",
            missing.join(", ")
        ));
        Ok(Some(
            warning.with_hint(&CORRECT).of_section("linked_issues"),
        ))
    }
}
