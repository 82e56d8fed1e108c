//! Issues: one file for each thing that is done with them.

mod create;
mod edit;
mod list;
pub(crate) mod record;
mod state;
mod view;

pub(crate) use list::Row;
pub(crate) use view::ISSUES;

use async_trait::async_trait;
use forge_core::{
    Capability, Issues, Outcome, Page, PageReq, RepoId, Result,
    model::{
        BoardId, Comment, EditIssue, Issue, IssueField, IssueFields, IssueId, IssueQuery, IssueSet,
        Links, NewIssue, SetIssueState, StatusEvent, Subject,
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

    async fn comment_issue(&self, issue: &IssueId, body: &str) -> Result<Outcome<Comment>> {
        let located = self.locate_issue(issue).await?;
        let (repository, record) = (&located.repository, &located.issue.record);
        if repository.era == Era::Org10 {
            return self
                .comment_in_account(repository, record.rkey(), body, None)
                .await;
        }
        self.speaks_2026(repository, Capability::IssueComment)?;
        self.comment_about(repository, record, None, body, None, None)
            .await
    }

    async fn related_issues(&self, _: &[IssueId], _: &IssueFields) -> Result<IssueSet> {
        Err(not_yet(Capability::IssueRelations))
    }

    async fn edit_issue_comment(
        &self,
        _: &IssueId,
        _: &str,
        _: &str,
        _: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        Err(not_yet(Capability::IssueCommentEdit))
    }

    async fn delete_issue_comment(&self, _: &IssueId, _: &str) -> Result<Outcome<()>> {
        Err(not_yet(Capability::IssueCommentEdit))
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

    async fn delete_issue(&self, _: &IssueId) -> Result<Outcome<()>> {
        Err(not_yet(Capability::IssueDelete))
    }

    async fn issue_history(&self, _: &IssueId, _: PageReq) -> Result<Page<StatusEvent>> {
        Err(not_yet(Capability::IssueHistory))
    }

    async fn issue_fields(&self, _: &RepoId, _: Option<&BoardId>) -> Result<Vec<IssueField>> {
        Err(not_yet(Capability::IssueFieldEdit))
    }

    async fn define_issue_field(
        &self,
        _: &RepoId,
        _: Option<&BoardId>,
        _: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        Err(not_yet(Capability::IssueFieldEdit))
    }

    async fn links(&self, subject: &Subject) -> Result<Links> {
        self.links_of(subject).await
    }
}

/// Replaced by the backend's own work.
pub(crate) fn not_yet(capability: Capability) -> forge_core::Error {
    static HINT: forge_core::Hint = forge_core::Hint::new("wait");
    forge_core::Error::unsupported(capability, "not built yet", &HINT)
}
