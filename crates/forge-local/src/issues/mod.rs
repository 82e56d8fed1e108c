//! Issues, with one file for each operation.

mod comments;
mod create;
mod edit;
mod history;
mod list;
mod relations;
mod state;
mod view;

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Capability, Issues, Outcome, Page, PageReq, RepoId, Result,
    model::{
        BoardId, Comment, EditIssue, Issue, IssueField, IssueFields, IssueId, IssueQuery, IssueSet,
        Links, NewIssue, SetIssueState, StatusEvent, Subject,
    },
};

use crate::Local;

#[async_trait]
impl Issues for Local {
    async fn issues(
        &self,
        repo: &RepoId,
        query: &IssueQuery,
        page: PageReq,
    ) -> Result<Page<Issue>> {
        self.check(repo)?;
        self.list_issues(query, &page).await
    }

    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue> {
        let number = self.issue_number(issue)?;
        let mut cat = self.store.cat();
        let stored = self.store.read_issue(&mut cat, number).await?;
        self.present_issue(&mut cat, &stored, fields).await
    }

    async fn listed_issues(&self, _: &RepoId, _: &[String]) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    async fn create_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>> {
        self.check(repo)?;
        self.open_issue(new).await
    }

    async fn edit_issue(&self, issue: &IssueId, edit: &EditIssue) -> Result<Outcome<Issue>> {
        let number = self.issue_number(issue)?;
        self.change_issue(number, edit, |_| None).await
    }

    async fn set_issue_state(
        &self,
        issue: &IssueId,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        let number = self.issue_number(issue)?;
        self.close_or_reopen(number, req).await
    }

    async fn create_issue_comment(&self, issue: &IssueId, body: &str) -> Result<Outcome<Comment>> {
        let number = self.issue_number(issue)?;
        self.add_issue_comment(number, body).await
    }

    async fn related_issues(&self, ids: &[IssueId], fields: &IssueFields) -> Result<IssueSet> {
        self.read_related(ids, fields).await
    }

    async fn edit_issue_comment(
        &self,
        issue: &IssueId,
        key: &str,
        body: &str,
        expected_version: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        let number = self.issue_number(issue)?;
        self.change_issue_comment(number, key, body, expected_version)
            .await
    }

    async fn delete_issue_comment(&self, issue: &IssueId, key: &str) -> Result<Outcome<()>> {
        let number = self.issue_number(issue)?;
        self.remove_issue_comment(number, key).await
    }

    async fn edit_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>> {
        let mut results = Vec::new();
        for (issue, edit) in edits {
            results.push(self.edit_issue(issue, edit).await);
        }
        Ok(results)
    }

    async fn delete_issue(&self, issue: &IssueId) -> Result<Outcome<()>> {
        let number = self.issue_number(issue)?;
        self.remove_issue(number).await
    }

    async fn issue_history(&self, issue: &IssueId, page: PageReq) -> Result<Page<StatusEvent>> {
        let number = self.issue_number(issue)?;
        self.history_of_issue(number, &page).await
    }

    async fn issue_fields(&self, repo: &RepoId, _: Option<&BoardId>) -> Result<Vec<IssueField>> {
        self.check(repo)?;
        Err(Self::unsupported(Capability::IssueFieldEdit))
    }

    async fn define_issue_field(
        &self,
        repo: &RepoId,
        _: Option<&BoardId>,
        _: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        self.check(repo)?;
        Err(Self::unsupported(Capability::IssueFieldEdit))
    }

    async fn links(&self, subject: &Subject) -> Result<Links> {
        self.links_of(subject).await
    }
}
