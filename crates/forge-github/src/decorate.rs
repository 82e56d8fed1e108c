//! Labels, people and milestones: what is put onto a pull request by id.

use forge_core::model::{PullRequest, Reviewer};
use serde_json::{Value, json};

use crate::gql::{
    lookups::Found,
    mutation::{ADD_ASSIGNEES, ADD_LABELS, Batch, REQUEST_REVIEWS, UPDATE_PULL},
};

/// What a new pull request is to have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoration<'a> {
    pub labels: &'a [String],
    pub assignees: &'a [String],
    pub reviewers: &'a [Reviewer],
    pub milestone: Option<&'a str>,
}

impl Decoration<'_> {
    /// The mutations: each part by itself, all in one request.
    pub fn batch(&self, pull: &str, found: &Found) -> Batch {
        let mut batch = Batch::default();
        if let Some(milestone) = &found.milestone {
            batch.push(
                "milestone",
                UPDATE_PULL,
                json!({ "pullRequestId": pull, "milestoneId": milestone }),
            );
        }
        if !self.labels.is_empty() {
            let ids = found.label_ids(self.labels);
            batch.push(
                "labels",
                ADD_LABELS,
                json!({ "labelableId": pull, "labelIds": unique(ids) }),
            );
        }
        if !self.assignees.is_empty() {
            let ids = found.user_ids(self.assignees);
            batch.push(
                "assignees",
                ADD_ASSIGNEES,
                json!({ "assignableId": pull, "assigneeIds": unique(ids) }),
            );
        }
        if !self.reviewers.is_empty() {
            batch.push(
                "reviewers",
                REQUEST_REVIEWS,
                add_reviewers(pull, found, self.reviewers),
            );
        }
        batch
    }

    /// The command that finishes the part behind `alias`.
    pub fn command(&self, alias: &str, pull: &PullRequest) -> String {
        let start = format!(
            "forge pr edit {} -R {}",
            pull.number.unwrap_or(0),
            pull.id.repo
        );
        let flag = |name: &str, values: &mut dyn Iterator<Item = &str>| {
            values.fold(start.clone(), |line, v| {
                format!("{line} --{name} {}", quoted(v))
            })
        };
        match alias {
            "labels" => flag("add-label", &mut self.labels.iter().map(String::as_str)),
            "assignees" => flag(
                "add-assignee",
                &mut self.assignees.iter().map(String::as_str),
            ),
            "reviewers" => flag(
                "add-reviewer",
                &mut self.reviewers.iter().map(Reviewer::handle),
            ),
            _ => flag("milestone", &mut self.milestone.into_iter()),
        }
    }

    /// Whether the part behind `alias` is on the pull request. `me` is the viewer's login.
    pub fn is_on(&self, alias: &str, pull: &PullRequest, me: &str) -> bool {
        match alias {
            "labels" => self.labels.iter().all(|n| has_label(pull, n)),
            "assignees" => self.assignees.iter().all(|l| has_assignee(pull, l, me)),
            "reviewers" => self.reviewers.iter().all(|r| has_reviewer(pull, r)),
            _ => {
                pull.milestone.as_ref().map(|m| m.title.to_lowercase())
                    == self.milestone.map(str::to_lowercase)
            }
        }
    }
}

/// The input that asks more people and teams for a review, and takes nobody off.
pub(crate) fn add_reviewers(pull: &str, found: &Found, reviewers: &[Reviewer]) -> Value {
    let (users, teams) = found.reviewer_ids(reviewers);
    json!({ "pullRequestId": pull, "userIds": unique(users), "teamIds": unique(teams), "union": true })
}

/// Without repetitions, in order.
pub(crate) fn unique(ids: Vec<&str>) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    ids.into_iter().filter(|id| seen.insert(*id)).collect()
}

pub(crate) fn has_label(pull: &PullRequest, name: &str) -> bool {
    pull.labels
        .iter()
        .any(|l| l.name.to_lowercase() == name.to_lowercase())
}

pub(crate) fn has_assignee(pull: &PullRequest, login: &str, me: &str) -> bool {
    let login = if login == "@me" {
        me
    } else {
        login.trim_start_matches('@')
    };
    pull.assignees
        .iter()
        .any(|a| a.login.eq_ignore_ascii_case(login))
}

pub(crate) fn has_reviewer(pull: &PullRequest, reviewer: &Reviewer) -> bool {
    let wanted = reviewer.handle().trim_start_matches('@');
    pull.pending_reviewers
        .iter()
        .any(|r| r.handle().eq_ignore_ascii_case(wanted))
}

fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./@:+".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}
