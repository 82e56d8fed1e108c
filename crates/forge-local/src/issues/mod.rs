//! Issues: one file for each thing that is done with them.

mod create;
mod edit;
mod list;
mod state;
mod view;

use async_trait::async_trait;
use forge_core::{
    Capability, Issues, Outcome, Page, PageReq, RepoId, Result,
    model::{
        BoardId, Comment, EditIssue, Issue, IssueField, IssueFields, IssueId, IssueQuery, IssueSet,
        Links, NewIssue, SetIssueState, StatusEvent, Subject,
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

    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue> {
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
