//! Opens an issue: one query verifies the request, and one mutation opens the issue. Another
//! document then sets the relations and the board values.

use std::collections::HashMap;

use forge_core::{
    Error, Outcome, PageReq, Precondition, RepoId, Result, Step, Timestamp,
    model::{
        BoardId, EditIssue, Issue, IssueFields, IssueFilter, IssueQuery, IssueRelations, NewIssue,
        SetChange,
    },
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    edit::needs_board,
    plan::{FoundIssue, PlanNames},
    prepare::EditedIssue,
};
use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    caps::LIMITS,
    error::{self, no_repository},
    gql::{
        GqlDocument,
        lookups::Lookups,
        mutation::CREATE_ISSUE,
        types::{self as wire, Nodes},
    },
    mutate::or_read_back,
    pulls::same_text,
    repo_variables,
};

/// How many of the newest issues are searched for the new one if GitHub's answer is lost.
const MAX_RECENT_ISSUES: usize = 20;

#[derive(Deserialize)]
struct PreparedIssue {
    viewer: Option<wire::Login>,
    repository: Option<PreparedIssueRepo>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedIssueRepo {
    id: String,
    #[serde(default)]
    is_archived: bool,
    #[serde(default)]
    has_issues_enabled: Option<bool>,
    #[serde(default)]
    newest: Nodes<wire::Issue>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct CreatedIssue {
    issue: Option<wire::Issue>,
}

/// Returns the relations, board values and boards of a new issue. They are set after opening.
fn rest_of(new: &NewIssue) -> EditIssue {
    let values = new.values.iter();
    let mut edit = EditIssue::default();
    edit.parent = new.parent.clone().map(Some);
    edit.blocked_by = SetChange {
        add: new.blocked_by.clone(),
        remove: vec![],
    };
    edit.values = values.map(|(k, v)| (k.clone(), Some(v.clone()))).collect();
    edit.board = new.board.clone();
    edit.projects.add = new.projects.clone();
    edit
}

impl GitHub {
    pub(super) async fn open_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>> {
        LIMITS.check_title(&new.title)?;
        LIMITS.check_text("body", &new.body)?;
        LIMITS.check_label_count(new.labels.len())?;
        needs_board(new.values.is_empty(), new.board.is_some())?;
        let mut lookups = Lookups::default();
        lookups.labels(&new.labels);
        lookups.assignees(&new.assignees);
        if let Some(title) = &new.milestone {
            lookups.milestone(title);
        }
        if new.issue_type.is_some() {
            lookups.issue_types();
        }
        lookups.projects(&new.projects);
        let board = new.board.as_ref().filter(|_| !new.values.is_empty());
        let ends = new.parent.iter().chain(&new.blocked_by);
        self.look_up(&mut lookups, ends, board)?;
        let (prepared, found) = self.prepare(repo, &lookups, board).await?;
        let refused = |why: &str| Error::precondition(Precondition::Rule, format!("{repo} {why}"));
        if found.is_archived {
            return Err(refused("is archived").with_hint("ask an admin to unarchive it"));
        }
        if found.has_issues_enabled == Some(false) {
            return Err(refused("has disabled issues")
                .with_hint("ask an admin to enable them in the settings of the repository"));
        }
        let ids = lookups.resolve(&prepared.rest, &found.rest)?;
        let issue_type = match &new.issue_type {
            Some(name) => Some(lookups.issue_type_id(name, &found.rest)?),
            None => None,
        };
        let mut names = self.names(lookups, prepared.rest, new, board).await?;
        names.repos.insert(repo.comparison_key(), found.rest);
        let rest = rest_of(new);
        // Unknown names fail here, before the issue is created.
        let draft = self.draft(repo)?;
        draft.found.plan(&rest, &names)?;
        let mut input = json!({
            "repositoryId": found.id,
            "title": new.title.trim(),
            "body": new.body,
            "labelIds": ids.label_ids(&new.labels),
            "assigneeIds": ids.user_ids(&new.assignees),
        });
        if let (Some(map), Some(milestone)) = (input.as_object_mut(), &ids.milestone) {
            map.insert("milestoneId".to_owned(), json!(milestone));
        }
        if let (Some(map), Some(issue_type)) = (input.as_object_mut(), issue_type) {
            map.insert("issueTypeId".to_owned(), json!(issue_type));
        }
        let written = self.send_one::<CreatedIssue>(CREATE_ISSUE, input).await;
        let written = written.and_then(|p| {
            let issue = p.issue.unwrap_or_default();
            self.issue_with(repo, issue, &IssueFields::NONE)
        });
        let newest = found
            .newest
            .into_vec()
            .pop()
            .map_or(0, |issue| issue.number);
        let viewer = prepared.viewer.map(|v| v.login).unwrap_or_default();
        let (issue, warning) = or_read_back(written, || async {
            let mut query = IssueQuery::default();
            query.state = IssueFilter::All;
            let page = self
                .list_issues(repo, &query, PageReq::first(MAX_RECENT_ISSUES))
                .await?;
            Ok(page.items.into_iter().find(|issue| {
                issue.number.is_some_and(|n| n > newest)
                    && issue.author.login.eq_ignore_ascii_case(&viewer)
                    && issue.title == new.title.trim()
                    && same_text(&issue.body, &new.body)
            }))
        })
        .await?;
        let mut outcome = self.finish(issue, &rest, &names).await;
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// Adds a new issue to its board, then sets its relations and values in one document. Failures
    /// become incomplete steps with warnings.
    async fn finish(&self, made: Issue, rest: &EditIssue, names: &PlanNames) -> Outcome<Issue> {
        let id = made.id.clone();
        let mut before = made.clone();
        let related = rest.parent.is_some() || !rest.blocked_by.add.is_empty();
        before.relations = related.then(IssueRelations::default);
        let before = self.new_issue(before);
        let Ok(plan) = before.found.plan(rest, names) else {
            return Outcome::immediate(made);
        };
        if plan.parts.is_empty() {
            return Outcome::immediate(made);
        }
        let (done, finished) = self.finish_issue(&id, rest, before, names).await;
        let all = finished.is_ok();
        let steps = plan.parts.into_iter().map(|part| {
            let done = all || done.contains(&part.title);
            Step::new(part.title, done)
        });
        let mut outcome = match finished {
            Ok(outcome) => outcome,
            Err(error) => {
                let message = format!(
                    "{id} was created, but some of its fields were not set: {}",
                    error.message()
                );
                Outcome::immediate(made).with_warning(error::warning(message, &error))
            }
        };
        outcome.add_steps(steps);
        outcome
    }

    /// Collects the resolved names, and the board on which the issue gets values.
    async fn names(
        &self,
        lookups: Lookups,
        query: Map<String, Value>,
        new: &NewIssue,
        board: Option<&BoardId>,
    ) -> Result<PlanNames> {
        let mut boards = HashMap::new();
        if let Some(id) = board {
            let read = match lookups.board_of(id, &query) {
                Some(read) => self.boards.put(id, read),
                None => match self.boards.get(id) {
                    Some(known) => {
                        let knows = |(field, value): (&String, &String)| {
                            known.ids(id, field, Some(value)).is_ok()
                        };
                        match new.values.iter().all(knows) {
                            true => known,
                            false => self.read_board(id).await?,
                        }
                    }
                    None => return Err(self.no_board(id).await),
                },
            };
            boards.insert(id.clone(), read);
        }
        let mut names = self.names_of(lookups, query, vec![]);
        names.boards = boards;
        Ok(names)
    }

    /// Returns a placeholder for the new issue. It serves to check the relations and values before
    /// the issue exists.
    fn draft(&self, repo: &RepoId) -> Result<EditedIssue> {
        let wire = wire::Issue {
            number: 1,
            created_at: Some(Timestamp::from_unix(0)),
            updated_at: Some(Timestamp::from_unix(0)),
            ..wire::Issue::default()
        };
        let issue = self.issue_with(repo, wire, &IssueFields::NONE)?;
        Ok(self.new_issue(issue))
    }

    fn new_issue(&self, issue: Issue) -> EditedIssue {
        EditedIssue {
            found: FoundIssue::new(&self.info.host, issue, &wire::Issue::default()),
            newest: None,
            recent: vec![],
        }
    }

    /// Reads the parts of the repository that opening an issue needs.
    async fn prepare(
        &self,
        repo: &RepoId,
        lookups: &Lookups,
        board: Option<&BoardId>,
    ) -> Result<(PreparedIssue, PreparedIssueRepo)> {
        let mut document = GqlDocument::query("IssuePrepare");
        let mut variables = repo_variables(repo)?;
        lookups.add_to(&mut document, &mut variables);
        let changes_boards = board.is_some() || lookups.reads_boards();
        let access = match changes_boards {
            true => TokenChoice::Board,
            false => TokenChoice::Account,
        };
        let mut answer: GqlAnswer<PreparedIssue> = self
            .api
            .query_as(access, &document.text(), &variables.into())
            .await?;
        answer.errors.retain(|e| !lookups.expects(e));
        if changes_boards {
            self.api.may_change_boards(&answer)?;
        }
        let mut prepared = self.api.require_complete(answer)?;
        let found = prepared.repository.take();
        let found = found.ok_or_else(|| no_repository(repo))?;
        Ok((prepared, found))
    }
}
