use std::collections::BTreeMap;

use forge_core::{
    PrKey,
    model::{Actor, Issue, IssueId, IssueState, RelatedIssue},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::{WarningOut, quoted, serde_name};
use crate::{
    budget,
    calls::HintContext,
    content::{Clean, Cleaner, issue_id, name, names, people},
};

/// An issue without its body.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IssueOut {
    pub number: String,
    pub title: Clean,
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub author: Clean,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Clean>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<Clean>,
    /// Values of fields
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Clean>,
    pub comments_count: u64,
    pub updated_at: String,
    pub url: Clean,
}

impl IssueOut {
    pub fn of(issue: &Issue, cleaner: &Cleaner) -> Self {
        let login = |actor: &Actor| cleaner.line(&actor.login);
        let values = issue.values.iter();
        Self {
            number: issue.id.key.to_string(),
            title: cleaner.line(&issue.title),
            state: state_word(issue.state).to_owned(),
            reason: issue.state_reason.as_ref().map(serde_name),
            author: login(&issue.author),
            labels: issue.labels.iter().map(|l| cleaner.line(&l.name)).collect(),
            assignees: issue.assignees.iter().map(login).collect(),
            values: values
                .map(|(name, value)| (cleaner.line(name).as_data().to_owned(), cleaner.line(value)))
                .collect(),
            comments_count: issue.comments_count,
            updated_at: issue.updated_at.to_string(),
            url: cleaner.line(&issue.url),
        }
    }

    /// Shortens the name lists in the structured data. `max` is the length limit of the text, in
    /// characters.
    pub fn shorten(&mut self, max: usize) {
        let mut room = budget::names(max);
        let mut fits = |length: usize| {
            let fits = length <= room;
            room = room.saturating_sub(length);
            fits
        };
        self.labels.retain(|label| fits(budget::length(label)));
        self.assignees.retain(|login| fits(budget::length(login)));
        self.values
            .retain(|name, value| fits(budget::length(name) + budget::length(value)));
    }

    /// Returns the issue as a row of a list.
    pub fn row(&self) -> String {
        let mut line = format!(
            "#{} {} | {} | {} | by @{}",
            self.number,
            self.state_and_reason(),
            comments(self.comments_count),
            self.updated_at,
            name(&self.author)
        );
        if !self.labels.is_empty() {
            line.push_str(&format!(" | labels: {}", names(&self.labels)));
        }
        if !self.values.is_empty() {
            line.push_str(&format!(" | {}", self.values_text()));
        }
        line.push_str(&format!(" | {}\n", self.title));
        line
    }

    /// Returns the lines before the body.
    pub fn text(&self, repo: &impl std::fmt::Display) -> String {
        let mut text = format!(
            "#{} {} {}\n{repo} by @{}\n",
            self.number,
            self.state_and_reason(),
            self.title,
            name(&self.author)
        );
        if !self.labels.is_empty() {
            text.push_str(&format!("labels: {}\n", names(&self.labels)));
        }
        if !self.assignees.is_empty() {
            text.push_str(&format!("assignees: {}\n", people(&self.assignees)));
        }
        if !self.values.is_empty() {
            text.push_str(&format!("values: {}\n", self.values_text()));
        }
        text.push_str(&format!("{}\n", comments(self.comments_count)));
        text.push_str(&format!(
            "updated {} | {}\n",
            self.updated_at,
            name(&self.url)
        ));
        text
    }

    fn state_and_reason(&self) -> String {
        let reason = self.reason.as_ref().map(|r| format!(" ({r})"));
        format!("{}{}", self.state, reason.unwrap_or_default())
    }

    /// Formats the values: `Estimate=M, Priority=P1`.
    fn values_text(&self) -> String {
        let all = self.values.iter();
        let all: Vec<Clean> = all
            .map(|(name, value)| Cleaner::new().line(&format!("{name}={}", value.as_data())))
            .collect();
        names(&all)
    }
}

/// An issue at the other end of a relation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RelatedOut {
    /// Number in the same repository, or a locator
    pub id: Clean,
    pub title: Clean,
    pub state: String,
}

impl RelatedOut {
    /// Converts an issue that is related to the issue `of`. Title and state are included only if
    /// `is_shown` is true.
    pub fn of(to: &RelatedIssue, of: &IssueId, is_shown: bool, cleaner: &Cleaner) -> Self {
        let id = match &to.id.key {
            PrKey::Number(number) if to.id.repo == of.repo => format!("#{number}"),
            _ => to.id.to_string(),
        };
        let (title, state) = match is_shown {
            true => (cleaner.line(&to.title), state_word(to.state)),
            false => (Clean::default(), "not shown"),
        };
        Self {
            id: cleaner.line(&id),
            title,
            state: state.to_owned(),
        }
    }

    /// Formats a relation: `parent: #3 open "Its title"`.
    pub fn text(&self, relation: &str) -> String {
        let id = issue_id(&self.id);
        format!("{relation}: {id} {} {}\n", self.state, self.title)
    }
}

/// Returns an issue as a row of a list of open issues.
pub(crate) fn issue_row(issue: &Issue, cleaner: &Cleaner) -> String {
    IssueOut::of(issue, cleaner).row()
}

/// Returns an issue with its quoted body. The body comes last, because a long body is cut.
pub(crate) fn issue_text(issue: &Issue, about: &HintContext, cleaner: &Cleaner) -> String {
    let mut text = IssueOut::of(issue, cleaner).text(&issue.id.repo);
    for warning in WarningOut::all(&issue.warnings, about, cleaner) {
        text.push_str(&warning.text());
    }
    text.push_str(&quoted(&cleaner.markdown(&issue.body), true, 0, cleaner));
    text
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
