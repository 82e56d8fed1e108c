//! Operations on issues, one file each.

mod comments;
mod create;
mod edit;
mod graph;
mod history;
mod list;
pub(crate) mod record;
mod related;
mod state;
mod values;
mod view;

pub(crate) use list::IssueRow;
pub(crate) use view::ISSUES;

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Capability, Issues, Outcome, Page, PageReq, RepoId, Result,
    model::{
        BoardId, Comment, EditIssue, Issue, IssueField, IssueFields, IssueId, IssueQuery, IssueSet,
        Links, NewIssue, SetIssueState, StatusEvent, Subject, SubjectKind,
    },
};

use crate::{Era, Tangled};

#[async_trait]
impl Issues for Tangled {
    async fn issues(
        &self,
        repo: &RepoId,
        query: &IssueQuery,
        page: PageReq,
    ) -> Result<Page<Issue>> {
        self.list_issues(repo, query, page).await
    }

    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue> {
        let located = self.locate_issue(issue).await?;
        self.view_issue(&located, fields).await
    }

    async fn listed_issues(&self, repo: &RepoId, records: &[String]) -> Result<BTreeSet<String>> {
        let repository = self.repository(repo).await?;
        self.listed_records(&repository, SubjectKind::Issue, records)
            .await
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
        let located = self.locate_issue(issue).await?;
        let (repository, record) = (&located.repository, &located.issue.record);
        if repository.era == Era::Org10 {
            return self
                .comment_in_account(repository, record.rkey(), body, None)
                .await;
        }
        self.require_2026(repository, Capability::IssueComment)?;
        self.comment_about(repository, record, None, body, None, None)
            .await
    }

    async fn related_issues(&self, ids: &[IssueId], fields: &IssueFields) -> Result<IssueSet> {
        self.issues_with_relations(ids, fields).await
    }

    async fn edit_issue_comment(
        &self,
        issue: &IssueId,
        key: &str,
        body: &str,
        expected_version: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        self.change_issue_comment(issue, key, body, expected_version)
            .await
    }

    async fn delete_issue_comment(&self, issue: &IssueId, key: &str) -> Result<Outcome<()>> {
        self.remove_issue_comment(issue, key).await
    }

    async fn edit_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>> {
        Ok(self.change_issues(edits).await)
    }

    async fn delete_issue(&self, issue: &IssueId) -> Result<Outcome<()>> {
        self.remove_issue(issue).await
    }

    async fn issue_history(&self, issue: &IssueId, page: PageReq) -> Result<Page<StatusEvent>> {
        self.history_of_issue(issue, page).await
    }

    async fn issue_fields(
        &self,
        repo: &RepoId,
        board: Option<&BoardId>,
    ) -> Result<Vec<IssueField>> {
        self.fields_of_issues(repo, board).await
    }

    async fn define_issue_field(
        &self,
        repo: &RepoId,
        board: Option<&BoardId>,
        field: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        self.define_field(repo, board, field).await
    }

    async fn links(&self, subject: &Subject) -> Result<Links> {
        self.links_of(subject).await
    }
}
