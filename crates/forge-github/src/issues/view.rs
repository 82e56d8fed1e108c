//! One issue: a request, and one more for each further hundred of its comments.

use forge_core::{
    Result, Warning,
    model::{Issue, IssueFields, IssueId},
};
use serde::Deserialize;
use serde_json::json;

use super::{missing, variables};
use crate::{
    GitHub,
    api::Answer,
    gql::{Document, types as wire},
    map,
};

/// The comments of a page; the variable `after` is its position.
pub(crate) const COMMENTS: &str = "allComments: comments(first: 100, after: $after) { nodes { ...CommentNode } pageInfo { ...PageEnd } }";

#[derive(Debug, Deserialize)]
struct RepositoryOf {
    repository: Option<IssueOf>,
}

#[derive(Debug, Deserialize)]
struct IssueOf {
    issue: Option<wire::Issue>,
}

impl GitHub {
    pub(super) async fn fetch_issue(&self, id: &IssueId, fields: &IssueFields) -> Result<Issue> {
        if !fields.comments {
            let (issue, warnings) = self.lookup_issue(id, "...IssueNode").await?;
            return self.issue_of(id, issue, warnings);
        }
        let first = format!("...IssueNode {COMMENTS}");
        let (mut issue, mut warnings) = self.issue_page(id, &first, None).await?;
        let mut comments = issue.all_comments.take().unwrap_or_default();
        while let Some(after) = comments.next() {
            match self.issue_page(id, COMMENTS, Some(&after)).await {
                Ok((page, more)) => {
                    warnings.extend(more);
                    comments.extend(page.all_comments.unwrap_or_default());
                    // A position that stays where it is would be asked for again without end.
                    if comments.next().as_ref() == Some(&after) {
                        break;
                    }
                }
                Err(e) => {
                    let message = format!("comments could not be read in full: {}", e.message());
                    warnings.push(Warning::new(message).of_section("comments"));
                    break;
                }
            }
        }
        let mut issue = self.issue_of(id, issue, warnings)?;
        issue.comments = Some(comments.into_vec().into_iter().map(map::comment).collect());
        Ok(issue)
    }

    /// An issue with a selection of one's own. What could not be read is a warning.
    pub(super) async fn lookup_issue(
        &self,
        id: &IssueId,
        selection: &str,
    ) -> Result<(wire::Issue, Vec<Warning>)> {
        let mut document = Document::query("IssueView");
        document.fragment("IssueSections", "Issue", selection);
        let answer = self
            .api
            .query(&document.text(), &variables(id)?.into())
            .await?;
        self.found_issue(id, answer)
    }

    async fn issue_page(
        &self,
        id: &IssueId,
        selection: &str,
        after: Option<&str>,
    ) -> Result<(wire::Issue, Vec<Warning>)> {
        let mut document = Document::query("IssueView");
        document.variable("after", "String");
        document.fragment("IssueSections", "Issue", selection);
        let mut variables = variables(id)?;
        variables.insert("after".into(), json!(after));
        let answer = self.api.query(&document.text(), &variables.into()).await?;
        self.found_issue(id, answer)
    }

    fn found_issue(
        &self,
        id: &IssueId,
        mut answer: Answer<RepositoryOf>,
    ) -> Result<(wire::Issue, Vec<Warning>)> {
        match answer.data.take().and_then(|d| d.repository?.issue) {
            Some(issue) => {
                let warnings = self
                    .api
                    .warnings(&answer, |_| ("a part of the issue".to_owned(), None));
                Ok((issue, warnings))
            }
            None if answer.errors.is_empty() => Err(missing(id)),
            None => Err(self.api.first_error(&answer)),
        }
    }

    pub(super) fn issue_of(
        &self,
        id: &IssueId,
        issue: wire::Issue,
        warnings: Vec<Warning>,
    ) -> Result<Issue> {
        let mut issue = map::issue(&self.info.host, &id.repo, issue)?;
        issue.warnings = warnings;
        Ok(issue)
    }
}
