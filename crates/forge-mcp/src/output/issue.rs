use forge_core::model::{Actor, Issue, IssueState};

use super::{WarningOut, quoted, word};
use crate::{
    calls::About,
    content::{self, Clean, Cleaner, name, title},
};

/// A row of a list of open issues.
pub(crate) fn issue_row(issue: &Issue, cleaner: &Cleaner) -> String {
    let mut line = format!(
        "#{} {} @{}",
        issue.id.key,
        title(&cleaner.line(&issue.title)),
        name(&cleaner.line(&issue.author.login))
    );
    let labels = labels(issue, cleaner);
    if !labels.is_empty() {
        line.push_str(&format!(" | {labels}"));
    }
    line.push_str(&format!(
        " | {} | {}\n",
        comments(issue.comments_count),
        issue.updated_at
    ));
    line
}

/// An issue with its body as a quotation, at the end, where a long one is cut.
pub(crate) fn issue_text(issue: &Issue, about: &About, cleaner: &Cleaner) -> String {
    let mut text = format!(
        "#{} {} {}\n{} by @{}",
        issue.id.key,
        state_word(issue.state),
        title(&cleaner.line(&issue.title)),
        issue.id.repo,
        name(&cleaner.line(&issue.author.login))
    );
    if let Some(reason) = &issue.state_reason {
        text.push_str(&format!(" | {}", word(reason)));
    }
    text.push('\n');
    let labels = labels(issue, cleaner);
    if !labels.is_empty() {
        text.push_str(&format!("labels: {labels}\n"));
    }
    if !issue.assignees.is_empty() {
        let login = |a: &Actor| format!("@{}", name(&cleaner.line(&a.login)));
        let names: Vec<String> = issue.assignees.iter().map(login).collect();
        text.push_str(&format!("assignees: {}\n", names.join(", ")));
    }
    text.push_str(&format!("{}\n", comments(issue.comments_count)));
    text.push_str(&format!(
        "updated {} | {}\n",
        issue.updated_at,
        cleaner.line(&issue.url)
    ));
    for warning in WarningOut::all(&issue.warnings, about, cleaner) {
        text.push_str(&warning.text());
    }
    text.push_str(&quoted(&cleaner.markdown(&issue.body), true, 0, cleaner));
    text
}

fn labels(issue: &Issue, cleaner: &Cleaner) -> String {
    let names: Vec<Clean> = issue.labels.iter().map(|l| cleaner.line(&l.name)).collect();
    content::labels(&names)
}

fn comments(count: u64) -> String {
    let noun = if count == 1 { "comment" } else { "comments" };
    format!("{count} {noun}")
}

fn state_word(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    }
}
