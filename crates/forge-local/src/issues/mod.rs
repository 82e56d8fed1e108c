//! Issues: one file for each thing that is done with them.

mod create;
mod edit;
mod list;
mod state;
mod view;

use async_trait::async_trait;
use forge_core::{
    Issues, Outcome, Page, PageReq, RepoId, Result,
    model::{
        Comment, EditIssue, Issue, IssueFields, IssueId, IssueQuery, Links, NewIssue,
        SetIssueState, Subject,
    },
};

use crate::{
    Local,
    caps::LIMITS,
    ident::identity,
    store::{Attempts, IssueEvent},
};

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

    async fn issue(&self, issue: &IssueId, fields: IssueFields) -> Result<Issue> {
        let number = self.issue_number(issue)?;
        let mut cat = self.store.cat();
        let stored = self.store.read_issue(&mut cat, number).await?;
        self.present_issue(&mut cat, &stored, fields).await
    }

    async fn create_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>> {
        self.check(repo)?;
        self.open_issue(new).await
    }

    async fn edit_issue(&self, issue: &IssueId, edit: &EditIssue) -> Result<Outcome<Issue>> {
        let number = self.issue_number(issue)?;
        self.change_issue(number, edit).await
    }

    async fn set_issue_state(
        &self,
        issue: &IssueId,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        let number = self.issue_number(issue)?;
        self.close_or_reopen(number, req).await
    }

    async fn comment_issue(&self, issue: &IssueId, body: &str) -> Result<Outcome<Comment>> {
        let number = self.issue_number(issue)?;
        LIMITS.check_comment("body", body)?;
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let mut attempts = Attempts::begin(&self.store).await;
        loop {
            let before = self.store.read_issue(&mut cat, number).await?;
            let mut snapshot = before.snapshot.clone();
            snapshot.comments += 1;
            let event = IssueEvent::Commented {
                body: body.to_owned(),
            };
            let written = self.store.write_issue(Some(&before), snapshot, &by, event);
            match written.await? {
                Ok(issue) => {
                    let made = self.issue_comment(&issue, &by, body);
                    return Ok(Outcome::immediate(made));
                }
                Err(lost) => attempts.again(lost).await?,
            }
        }
    }

    async fn links(&self, subject: &Subject) -> Result<Links> {
        self.links_of(subject).await
    }
}
