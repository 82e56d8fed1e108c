//! Issues: one file for each operation.

mod comment;
mod create;
mod edit;
mod history;
pub(crate) mod list;
mod plan;
mod prepare;
mod related;
pub(crate) mod sections;
mod state;
mod version;
mod view;

pub(crate) use self::state::find_own_comment_since;
#[cfg(test)]
pub(crate) use self::{
    history::{IssueEvents, document as history_document},
    prepare::{IndexedEdit, document as edit_document},
    related::{MAX_ISSUES_PER_QUERY, document as related_document},
    sections::{FIRST_COMMENTS, selection},
    state::{NEWEST, RECENT},
    view::{COMMENTS, NEWEST_COMMENTS},
};

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Action, Error, Hint, Issues, Noun, Op, Outcome, Page, PageReq, Param, RepoId, Result,
    model::{
        BoardId, Comment, EditIssue, Issue, IssueField, IssueFields, IssueId, IssueQuery, IssueSet,
        Links, NewIssue, SetIssueState, StatusEvent, Subject,
    },
};
use serde_json::{Map, Value, json};

use crate::{GitHub, repo_variables};

#[async_trait]
impl Issues for GitHub {
    async fn issues(
        &self,
        repo: &RepoId,
        query: &IssueQuery,
        page: PageReq,
    ) -> Result<Page<Issue>> {
        self.list_issues(repo, query, page).await
    }

    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue> {
        self.fetch_issue(issue, fields).await
    }

    async fn listed_issues(&self, _: &RepoId, _: &[String]) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    async fn create_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>> {
        self.open_issue(repo, new).await
    }

    async fn edit_issue(&self, issue: &IssueId, edit: &EditIssue) -> Result<Outcome<Issue>> {
        self.change_issue(issue, edit).await
    }

    async fn set_issue_state(
        &self,
        issue: &IssueId,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        self.close_or_reopen(issue, req).await
    }

    async fn create_issue_comment(&self, issue: &IssueId, body: &str) -> Result<Outcome<Comment>> {
        self.add_issue_comment_once(issue, body).await
    }

    async fn related_issues(&self, ids: &[IssueId], fields: &IssueFields) -> Result<IssueSet> {
        self.issues_with_related(ids, fields).await
    }

    async fn edit_issue_comment(
        &self,
        issue: &IssueId,
        key: &str,
        body: &str,
        expected_version: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        self.replace_issue_comment(issue, key, body, expected_version)
            .await
    }

    async fn delete_issue_comment(&self, issue: &IssueId, key: &str) -> Result<Outcome<()>> {
        self.remove_issue_comment(issue, key).await
    }

    async fn edit_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>> {
        self.change_issues(edits).await
    }

    async fn delete_issue(&self, issue: &IssueId) -> Result<Outcome<()>> {
        self.remove_issue(issue).await
    }

    async fn issue_history(&self, issue: &IssueId, page: PageReq) -> Result<Page<StatusEvent>> {
        self.history_of(issue, page).await
    }

    async fn issue_fields(&self, _: &RepoId, board: Option<&BoardId>) -> Result<Vec<IssueField>> {
        self.board_fields(board).await
    }

    async fn define_issue_field(
        &self,
        _: &RepoId,
        board: Option<&BoardId>,
        field: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        self.define_board_field(board, field).await
    }

    async fn links(&self, subject: &Subject) -> Result<Links> {
        self.links_of(subject).await
    }
}

pub(crate) fn variables(issue: &IssueId) -> Result<Map<String, Value>> {
    let (_, _, number) = sections::place(&issue.repo.host, issue)?;
    let mut variables = repo_variables(&issue.repo)?;
    variables.insert("number".to_owned(), json!(number));
    Ok(variables)
}

/// Returns the error for a missing issue. Used if GitHub's answer contains no error.
pub(crate) fn missing(issue: &IssueId) -> Error {
    Error::not_found(Noun::Issue, format!("there is no issue {issue}")).with_hint(
        Hint::new("look for the number in the list of issues")
            .with_action(Action::op(Op::IssueList).with(Param::State, "all")),
    )
}
