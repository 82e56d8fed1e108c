//! The issues that a pull request closes, according to its description.

use std::borrow::Cow;

use forge_core::{
    Action, Arg, Call, Hint, Op, Param, Result, Warning,
    call::Charge,
    locator::Hosts,
    mentions::closing,
    model::{IssueId, IssueState, LinkedIssue},
};
use forge_git::CatFile;

use super::{BYTES_PER_ITEM, BYTES_PER_ROW, label_names, warning_of};
use crate::{
    Local,
    links::short_title,
    store::{MAX_IN_MEMORY, NamedIssue, PullRead, StoredIssue, StoredPull},
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
    /// Returns the issues that the numbers of `description` mean now.
    pub(super) async fn bind_issues(
        &self,
        cat: &mut CatFile,
        description: &str,
    ) -> Result<Vec<NamedIssue>> {
        let mut numbers = closing(description, self.id(), &Hosts::builtin());
        numbers.truncate(MAX_LINKED_ISSUES);
        let read = self.store.read_issues(cat, &numbers).await?;
        let found: Vec<_> = read.iter().flatten().flatten().collect();
        let first_events = self.store.first_events(cat, &found).await?;
        let opened = |number: u64| {
            let at = found.iter().position(|issue| issue.number() == number)?;
            first_events.get(at)?.clone()
        };
        let named = numbers.into_iter().map(|number| NamedIssue {
            number,
            opened: opened(number),
        });
        Ok(named.collect())
    }

    /// Returns the issues that `pull` closes. Adds a warning for issues that are unreadable,
    /// missing, above the limit, or others than when the description was written.
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
        let mut read = self.store.read_issues(cat, &numbers).await?;
        let others = self.remove_other_issues(cat, pull, &mut read).await?;
        numbers.retain(|number| !others.contains(number));
        warnings.extend(
            others
                .iter()
                .map(|number| other_issue_warning(pull, *number)),
        );
        let mut issues = read.iter().flatten().flatten();
        let book = match issues.any(|issue| !issue.snapshot.labels.is_empty()) {
            true => self.store.labels(cat).await.map(|l| Some(l.book)),
            false => Ok(None),
        };
        let mut charge = Charge::new();
        for (number, read) in numbers.iter().zip(read) {
            match read {
                Some(Ok(issue)) => {
                    let names = label_names(&issue.snapshot.labels, &book);
                    let texts = names.iter().map(|name| 2 * name.len() + BYTES_PER_ITEM);
                    let weight = texts.fold(BYTES_PER_ROW, usize::saturating_add);
                    charge.add("the linked issues", weight)?;
                    let (repo, number) = (self.id().clone(), issue.number());
                    let url = IssueId::number(repo.clone(), number).to_string();
                    let title = short_title(&issue.snapshot.title);
                    let mut found = LinkedIssue::new(repo, number, title, url);
                    found.open = issue.snapshot.state == IssueState::Open;
                    found.labels = Some(names.into_iter().map(str::to_owned).collect());
                    linked.push(found);
                }
                Some(Err(e)) => warnings.push(warning_of(&e).of_section("linked_issues")),
                None => missing.push(*number),
            }
        }
        charge.keep();
        warnings.extend(self.warn_of_unknown_numbers(cat, &missing).await?);
        Ok((linked, warnings))
    }

    /// Removes the issues in `read` that are others than when the description of `pull` was
    /// written, and returns their numbers. A description of an older version of forge names the
    /// issues that have the numbers now.
    async fn remove_other_issues(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        read: &mut Vec<Option<Result<StoredIssue>>>,
    ) -> Result<Vec<u64>> {
        let closes = &pull.snapshot.closes;
        if closes.is_empty() {
            return Ok(Vec::new());
        }
        let found: Vec<_> = read.iter().flatten().flatten().collect();
        let first_events = self.store.first_events(cat, &found).await?;
        let pairs = found.into_iter().zip(&first_events);
        let others: Vec<u64> = pairs
            .filter(|(issue, first)| !is_named_issue(closes, issue.number(), first.as_deref()))
            .map(|(issue, _)| issue.number())
            .collect();
        let is_other = |read: &Option<Result<StoredIssue>>| matches!(read, Some(Ok(issue)) if others.contains(&issue.number()));
        read.retain(|read| !is_other(read));
        Ok(others)
    }

    /// Returns a warning about numbers that belong neither to an issue nor to a pull request.
    async fn warn_of_unknown_numbers(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
    ) -> Result<Option<Warning>> {
        let mut missing = Vec::new();
        for part in numbers.chunks(MAX_IN_MEMORY) {
            let read = self.store.read_many(cat, part).await?;
            let rows = part.iter().zip(read);
            let unknown = rows.filter(|(_, read)| matches!(read, PullRead::Missing));
            missing.extend(unknown.map(|(number, _)| format!("#{number}")));
        }
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

/// Returns true if a description means the issue with this number whose first event is the commit
/// `first`. `closes` has the issues that existed when the description was written.
pub(crate) fn is_named_issue(closes: &[NamedIssue], number: u64, first: Option<&str>) -> bool {
    match closes.iter().find(|named| named.number == number) {
        Some(named) => named.opened.is_some() && named.opened.as_deref() == first,
        None => true,
    }
}

fn other_issue_warning(pull: &StoredPull, number: u64) -> Warning {
    let closes = &pull.snapshot.closes;
    let named = closes.iter().find(|named| named.number == number);
    let why = match named.is_some_and(|named| named.opened.is_some()) {
        true => "is another issue here than when the description was written",
        false => "did not exist here when the description was written",
    };
    Warning::new(format!(
        "the merge of #{} does not close issue #{number}, which {why}",
        pull.number
    ))
    .with_hint(
        Hint::from(format!(
            "look at issue #{number}; if it is meant, write the description of #{} again",
            pull.number
        ))
        .with_action(Action::op(Op::PrEdit).on(pull.number)),
    )
    .of_section("linked_issues")
}
