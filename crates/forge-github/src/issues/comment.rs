//! Edits and deletes issue comments, and deletes issues. Each operation sends one query that
//! verifies the request, and one mutation.

use forge_core::{
    Action, Error, Hint, Noun, Op, Outcome, Param, Result,
    model::{Comment, IssueFields, IssueId},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{missing, variables, version};
use crate::{
    GitHub,
    api::GqlAnswer,
    caps::LIMITS,
    gql::{
        GqlDocument,
        mutation::{DELETE_COMMENT, DELETE_ISSUE, UPDATE_COMMENT},
        types as wire,
    },
    map,
    mutate::or_read_back,
    pulls::same_text,
};

#[derive(Deserialize)]
struct CommentOf {
    #[serde(default)]
    node: Option<CommentPlace>,
    repository: Option<CommentedIssueOf>,
}

#[derive(Deserialize)]
struct CommentPlace {
    #[serde(default)]
    issue: Option<wire::Id>,
}

#[derive(Deserialize)]
struct CommentedIssueOf {
    issue: Option<wire::Issue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommentMade {
    issue_comment: Option<wire::Comment>,
}

#[derive(Deserialize)]
struct CommentNode {
    node: Option<wire::Comment>,
}

impl GitHub {
    pub(super) async fn replace_issue_comment(
        &self,
        id: &IssueId,
        key: &str,
        body: &str,
        expected: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        self.is_comment_of(id, key, expected).await?;
        let input = json!({ "id": key, "body": body });
        let written = self
            .send_one::<CommentMade>(UPDATE_COMMENT, input)
            .await
            .map(|made| made.issue_comment.unwrap_or_default())
            .map_err(|e| about_comment(e, id, key));
        let (comment, warning) = or_read_back(written, || async {
            let now = self.comment_now(key).await?;
            Ok(now.filter(|c| same_text(&c.body, body)))
        })
        .await?;
        let mut outcome = Outcome::immediate(map::comment(comment));
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    pub(super) async fn remove_issue_comment(
        &self,
        id: &IssueId,
        key: &str,
    ) -> Result<Outcome<()>> {
        self.is_comment_of(id, key, None).await?;
        let written = self
            .send_one::<Value>(DELETE_COMMENT, json!({ "id": key }))
            .await
            .map(drop)
            .map_err(|e| about_comment(e, id, key));
        let ((), warning) = or_read_back(written, || async {
            Ok(self.comment_now(key).await?.is_none().then_some(()))
        })
        .await?;
        let mut outcome = Outcome::immediate(());
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    pub(super) async fn remove_issue(&self, id: &IssueId) -> Result<Outcome<()>> {
        let (wire, _) = self.lookup_issue(id, "id number").await?;
        let written = self
            .send_one::<Value>(DELETE_ISSUE, json!({ "issueId": wire.id }))
            .await
            .map(drop);
        let ((), warning) = or_read_back(written, || async {
            match self.lookup_issue(id, "id number").await {
                Ok(_) => Ok(None),
                Err(e) if e.is_not_found() => Ok(Some(())),
                Err(e) => Err(e),
            }
        })
        .await?;
        let mut outcome = Outcome::immediate(());
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// Checks that `key` is a comment on the issue, because GitHub resolves an id to any object.
    async fn is_comment_of(&self, id: &IssueId, key: &str, expected: Option<&str>) -> Result<()> {
        let text = GqlDocument::query("IssueComment").text();
        let mut variables = variables(id)?;
        variables.insert("id".into(), json!(key));
        let mut answer: GqlAnswer<CommentOf> = self.api.query(&text, &variables.into()).await?;
        let data = answer.data.take();
        let (node, issue) = data.map_or((None, None), |d| {
            (d.node, d.repository.and_then(|r| r.issue))
        });
        let Some(issue) = issue else {
            return Err(match answer.errors.iter().find(|e| e.root() != "node") {
                Some(error) => self.api.error(&answer, error),
                None => missing(id),
            });
        };
        if node
            .and_then(|n| n.issue)
            .is_none_or(|of| of.id != issue.id)
        {
            return Err(no_comment(id, key));
        }
        let issue = self.issue_with(&id.repo, issue, &IssueFields::NONE)?;
        version::check(&issue, expected)
    }

    /// Reads a comment again after a write.
    async fn comment_now(&self, key: &str) -> Result<Option<wire::Comment>> {
        let text = GqlDocument::query("Node").text();
        let answer: GqlAnswer<CommentNode> = self.api.query(&text, &json!({ "id": key })).await?;
        match self.api.require_complete(answer) {
            Ok(data) => Ok(data.node),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }
}

fn no_comment(id: &IssueId, key: &str) -> Error {
    let key = forge_core::text::one_line(key);
    Error::not_found(
        Noun::Comment,
        format!("there is no comment '{key}' on {id}"),
    )
    .with_hint(
        Hint::new("look for its id among the comments").with_action(
            Action::op(Op::IssueView)
                .on(&id.key)
                .with(Param::Include, "comments"),
        ),
    )
}

fn about_comment(error: Error, id: &IssueId, key: &str) -> Error {
    if error.is_not_found() {
        no_comment(id, key)
    } else {
        error
    }
}
