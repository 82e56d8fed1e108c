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
        Comment, EditIssue, Issue, IssueFields, IssueId, IssueQuery, Links, NewIssue,
        SetIssueState, Subject,
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

    async fn issue(&self, issue: &IssueId, fields: IssueFields) -> Result<Issue> {
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

    async fn links(&self, subject: &Subject) -> Result<Links> {
        self.links_of(subject).await
    }
}
