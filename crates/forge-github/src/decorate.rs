//! Sets the labels, people, milestone and boards of a pull request. GitHub's mutations identify
//! these objects by id.

use forge_core::{
    Action, Op, Param,
    model::{PullRequest, Reviewer},
};
use serde_json::json;

use crate::gql::{
    lookups::{self, ResolvedIds},
    mutation::{
        ADD_ASSIGNEES, ADD_LABELS, ADD_TO_PROJECT, Batch, REQUEST_REVIEWS,
        REQUEST_REVIEWS_BY_LOGIN, UPDATE_PULL,
    },
};

/// The labels, people, milestone and boards of a new pull request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoration<'a> {
    pub labels: &'a [String],
    pub assignees: &'a [String],
    pub reviewers: &'a [Reviewer],
    pub milestone: Option<&'a str>,
    pub projects: &'a [String],
}

impl Decoration<'_> {
    /// Builds a batch with one mutation for each kind of object (labels, assignees and so on), and
    /// one for each board.
    pub fn batch(&self, pull: &str, found: &ResolvedIds) -> Batch {
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
        add_reviewers(&mut batch, pull, found, self.reviewers);
        for (i, title) in self.projects.iter().enumerate() {
            if let Ok(board) = found.board(title) {
                let input = json!({ "projectId": board, "contentId": pull });
                batch.push(&format!("{PROJECT}{i}"), ADD_TO_PROJECT, input);
            }
        }
        batch
    }

    /// Returns the title of the board for the alias of an "add to board" mutation.
    fn project(&self, alias: &str) -> Option<&str> {
        let index: usize = alias.strip_prefix(PROJECT)?.parse().ok()?;
        self.projects.get(index).map(String::as_str)
    }

    /// Returns what the mutation with this alias sets, as a text for messages.
    pub fn title(&self, alias: &str) -> String {
        match self.project(alias) {
            Some(title) => format!("project '{title}'"),
            None if alias == BOTS => "bots among the reviewers".to_owned(),
            None => alias.to_owned(),
        }
    }

    /// Returns the call by which the user can repeat a failed mutation with this alias.
    pub fn action(&self, alias: &str, pull: &PullRequest) -> Action {
        let (param, values): (Param, Vec<&str>) = match alias {
            "labels" => (Param::AddLabel, texts(self.labels)),
            "assignees" => (Param::AddAssignee, texts(self.assignees)),
            "reviewers" | BOTS => {
                let bots = alias == BOTS;
                let part = self.reviewers.iter();
                let part = part.filter(|r| lookups::bot(r).is_some() == bots);
                (Param::AddReviewer, part.map(Reviewer::handle).collect())
            }
            "milestone" => (Param::Milestone, self.milestone.into_iter().collect()),
            _ => (Param::AddProject, self.project(alias).into_iter().collect()),
        };
        let edit = Action::op(Op::PrEdit).on(&pull.id.key);
        values
            .into_iter()
            .fold(edit, |edit, value| edit.with(param, value))
    }

    /// Returns whether the pull request already has what the mutation with this alias adds. `me` is
    /// the viewer's login.
    pub fn is_on(&self, alias: &str, pull: &PullRequest, me: &str) -> bool {
        match alias {
            "labels" => self.labels.iter().all(|n| has_label(pull, n)),
            "assignees" => self.assignees.iter().all(|l| has_assignee(pull, l, me)),
            "reviewers" | BOTS => {
                let bots = alias == BOTS;
                let mut part = self.reviewers.iter();
                part.all(|r| lookups::bot(r).is_some() != bots || has_reviewer(pull, r))
            }
            "milestone" => {
                pull.milestone.as_ref().map(|m| m.title.to_lowercase())
                    == self.milestone.map(str::to_lowercase)
            }
            _ => self
                .project(alias)
                .is_some_and(|title| is_on_board(pull, title)),
        }
    }
}

/// Prefix of the aliases of "add to board" mutations. The index in [`Decoration::projects`]
/// follows.
const PROJECT: &str = "project";

pub(crate) fn is_on_board(pull: &PullRequest, title: &str) -> bool {
    pull.projects
        .iter()
        .flatten()
        .any(|item| item.title.to_lowercase() == title.to_lowercase())
}

/// The alias of the mutation that requests reviews from bots.
const BOTS: &str = "bots";

/// Requests reviews from additional people, teams and bots.
pub(crate) fn add_reviewers(
    batch: &mut Batch,
    pull: &str,
    found: &ResolvedIds,
    reviewers: &[Reviewer],
) {
    let (users, teams) = found.reviewer_ids(reviewers);
    if !(users.is_empty() && teams.is_empty()) {
        let input = json!({ "pullRequestId": pull, "userIds": unique(users), "teamIds": unique(teams), "union": true });
        batch.push("reviewers", REQUEST_REVIEWS, input);
    }
    let bots: Vec<String> = reviewers.iter().filter_map(bot_login).collect();
    if !bots.is_empty() {
        let input = json!({ "pullRequestId": pull, "botLogins": bots, "union": true });
        batch.push(BOTS, REQUEST_REVIEWS_BY_LOGIN, input);
    }
}

/// Returns a bot's login as review requests spell it: with the suffix `[bot]`.
pub(crate) fn bot_login(reviewer: &Reviewer) -> Option<String> {
    let login = lookups::bot(reviewer)?;
    Some(format!("{}[bot]", login.trim_end_matches("[bot]")))
}

/// Removes duplicates, preserving order.
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
    } else if lookups::is_copilot(login) {
        lookups::COPILOT_AGENT
    } else {
        login.trim_start_matches('@')
    };
    pull.assignees
        .iter()
        .any(|a| a.login.eq_ignore_ascii_case(login))
}

pub(crate) fn has_reviewer(pull: &PullRequest, reviewer: &Reviewer) -> bool {
    let wanted = lookups::bot(reviewer).unwrap_or(reviewer.handle());
    let wanted = wanted.trim_start_matches('@');
    pull.pending_reviewers
        .iter()
        .any(|r| r.handle().eq_ignore_ascii_case(wanted))
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
