//! Issues: one file for each thing that is done with them.

mod create;
mod edit;
mod list;
mod state;
mod view;

#[cfg(test)]
pub(crate) use self::{
    state::{NEWEST, RECENT},
    view::COMMENTS,
};

use async_trait::async_trait;
use forge_core::{
    Action, Capability, Error, Hint, Issues, Noun, Op, Outcome, Page, PageReq, Param, PrKey,
    RepoId, Result,
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
        self.say_on_issue(issue, body).await
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

/// The variables that name an issue.
pub(crate) fn variables(issue: &IssueId) -> Result<Map<String, Value>> {
    let number = match &issue.key {
        // GraphQL's numbers have 31 bits.
        PrKey::Number(number) if i32::try_from(*number).is_ok() => *number,
        PrKey::Number(_) => return Err(missing(issue)),
        PrKey::Record(uri) => {
            return Err(
                Error::invalid("issue", format!("'{uri}' is not an issue on GitHub"))
                    .with_hint("name it by its number"),
            );
        }
    };
    let mut variables = repo_variables(&issue.repo)?;
    variables.insert("number".to_owned(), json!(number));
    Ok(variables)
}

/// There is no such issue, and GitHub did not say so itself.
pub(crate) fn missing(issue: &IssueId) -> Error {
    Error::not_found(Noun::Issue, format!("there is no issue {issue}")).with_hint(
        Hint::new("look for its number in the list")
            .with_action(Action::op(Op::IssueList).with(Param::State, "all")),
    )
}
