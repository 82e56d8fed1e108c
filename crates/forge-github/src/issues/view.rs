//! Reads one issue: one request, and another for each further hundred comments.

use forge_core::{
    Error, ErrorKind, Result, Warning,
    model::{Issue, IssueFields, IssueId, IssueRelations},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    missing,
    sections::{COMMENTS_KEY, access, cut_comments, need_board, place, selection},
    variables,
};
use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    error::{is_unknown_field, is_without_projects},
    gql::{
        GqlDocument,
        types::{self as wire, Nodes},
    },
    paged::MAX_PAGE_SIZE,
    pulls::view::projects_unread,
};

/// A page of comments; the variable `after` holds its cursor.
pub(crate) const COMMENTS: &str = "allComments: comments(first: 100, after: $after) { nodes { ...CommentNode } pageInfo { ...PageEnd } }";
/// The newest comments, without further pages.
pub(crate) const NEWEST_COMMENTS: &str =
    "allComments: comments(last: 5) { nodes { ...CommentNode } }";

#[derive(Debug, Deserialize)]
struct RepositoryIssueOf {
    repository: Option<IssueOf>,
    #[serde(flatten)]
    lookups: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct IssueOf {
    issue: Option<wire::Issue>,
}

/// Returns the error for an answer without the requested comments.
fn no_comments() -> Error {
    Error::new(ErrorKind::Protocol, "the answer has no comments")
}

impl GitHub {
    /// Reads an issue; without its boards if the token may not read them, and without its relations
    /// if the host has none.
    pub(super) async fn fetch_issue(&self, id: &IssueId, fields: &IssueFields) -> Result<Issue> {
        let mut rest = fields.clone();
        let mut warnings = Vec::new();
        let mut issue = loop {
            match self.read_issue(id, &rest).await {
                Err(e) if rest.projects && is_without_projects(&e) => {
                    rest.projects = false;
                    warnings.push(projects_unread(&e));
                }
                // Older Enterprise Servers lack relations between issues.
                Err(e) if rest.relations && is_unknown_field(&e) => {
                    rest.relations = false;
                    let message = format!(
                        "parent, sub-issues and blockers could not be read: {}",
                        e.message()
                    );
                    warnings.push(Warning::new(message).of_section("blocked_by"));
                }
                found => break found?,
            }
        };
        if fields.relations && !rest.relations {
            let mut unread = IssueRelations::default();
            unread.truncated = true;
            issue.relations = Some(unread);
        }
        issue.warnings.extend(warnings);
        Ok(issue)
    }

    async fn read_issue(&self, id: &IssueId, fields: &IssueFields) -> Result<Issue> {
        let mut document = GqlDocument::query("IssueView");
        let mut variables = variables(id)?;
        let section = match fields.newest_comments {
            true => NEWEST_COMMENTS,
            false => COMMENTS,
        };
        if fields.comments && !fields.newest_comments {
            document.variable("after", "String");
            variables.insert("after".into(), json!(null));
        }
        document.fragment("IssueSections", "Issue", &selection(fields, section));
        let lookups = self.board_lookup(fields);
        lookups.select_boards(&mut document);
        lookups.bind_boards(&mut variables);
        let text = document.text();
        let mut size = MAX_PAGE_SIZE;
        let mut answer: GqlAnswer<RepositoryIssueOf> = self
            .api
            .query_in_pages(access(fields), &text, &variables.into(), &mut size)
            .await?;
        let roots = answer.data.as_ref().map(|data| &data.lookups);
        self.keep_board(fields, &lookups, roots, &mut answer.errors);
        need_board(self, fields, &answer)?;
        let (mut wire, mut warnings) = self.found_issue(id, answer)?;
        let comments = wire.all_comments.take();
        if fields.comments && comments.is_none() {
            warnings.push(cut_comments(no_comments().message()));
        }
        let comments = comments.unwrap_or_default();
        let mut issue = self.issue_with(&id.repo, wire, fields)?;
        self.check_board(fields, std::slice::from_ref(&issue))
            .await?;
        if fields.comments {
            issue.comments = Some(self.all_comments(id, comments, &mut warnings).await);
        }
        issue.warnings.extend(warnings);
        Ok(issue)
    }

    /// Reads a further page of at most `size` comments.
    pub(super) async fn comment_page_of(
        &self,
        id: &IssueId,
        after: &str,
        size: &mut usize,
    ) -> Result<(Nodes<wire::Comment>, Vec<Warning>)> {
        let mut document = GqlDocument::query("IssueView");
        document.variable("after", "String");
        document.fragment("IssueSections", "Issue", COMMENTS);
        let mut variables = variables(id)?;
        variables.insert("after".into(), json!(after));
        let answer = self
            .api
            .query_in_pages(
                TokenChoice::Account,
                &document.text(),
                &variables.into(),
                size,
            )
            .await?;
        let (page, warnings) = self.found_issue(id, answer)?;
        let page = page.all_comments.ok_or_else(no_comments);
        Ok((page?, warnings))
    }

    /// Reads an issue with a custom selection. Parts that cannot be read become warnings.
    pub(super) async fn lookup_issue(
        &self,
        id: &IssueId,
        selection: &str,
    ) -> Result<(wire::Issue, Vec<Warning>)> {
        let mut document = GqlDocument::query("IssueView");
        document.fragment("IssueSections", "Issue", selection);
        let answer = self
            .api
            .query_as(
                TokenChoice::Account,
                &document.text(),
                &variables(id)?.into(),
            )
            .await?;
        self.found_issue(id, answer)
    }

    fn found_issue(
        &self,
        id: &IssueId,
        mut answer: GqlAnswer<RepositoryIssueOf>,
    ) -> Result<(wire::Issue, Vec<Warning>)> {
        match answer.data.take().and_then(|d| d.repository?.issue) {
            Some(issue) => {
                self.check_issue(id, &issue)?;
                let warnings =
                    self.api
                        .warnings(&answer, |e| match e.names().contains(&COMMENTS_KEY) {
                            true => ("a part of the comments".to_owned(), Some("comments")),
                            false => ("a part of the issue".to_owned(), None),
                        });
                Ok((issue, warnings))
            }
            None if answer.errors.is_empty() => Err(missing(id)),
            None => Err(self.api.first_error(&answer)),
        }
    }

    /// Refuses an answer about another issue.
    pub(super) fn check_issue(&self, id: &IssueId, issue: &wire::Issue) -> Result<()> {
        let (_, _, number) = place(&id.repo.host, id)?;
        self.check_number(id, number, issue.number)
    }

    /// Maps an issue that was read without sections.
    pub(super) fn issue_of(
        &self,
        id: &IssueId,
        issue: wire::Issue,
        warnings: Vec<Warning>,
    ) -> Result<Issue> {
        let mut issue = self.issue_with(&id.repo, issue, &IssueFields::NONE)?;
        issue.warnings.extend(warnings);
        Ok(issue)
    }
}
