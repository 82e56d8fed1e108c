//! Closes, reopens and comments on issues: one query for id and state, one document of mutations.

use forge_core::{
    Action, Error, ErrorKind, Hint, Op, Outcome, Param, Result, Retry, Warning,
    model::{Comment, Issue, IssueId, IssueReason, IssueState, SetIssueState},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    GitHub,
    caps::LIMITS,
    error::ambiguous,
    gql::{
        mutation::{ADD_COMMENT, Batch, CLOSE_ISSUE, REOPEN_ISSUE},
        types as wire,
    },
    map,
    mutate::{CommentEdge, failed, or_read_back},
    pulls::is_mine,
};

/// The newest comment, read before a comment is added. The added comment comes after it.
pub(crate) const NEWEST: &str = "...IssueNode newestComment: comments(last: 1) { nodes { id } }";
/// Read after GitHub's answer was lost. The new comment is searched among these 20 comments.
pub(crate) const RECENT: &str =
    "...IssueNode recentComments: comments(last: 20) { nodes { ...CommentNode } }";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct IssueStatePayload {
    issue: Option<wire::Issue>,
    comment_edge: Option<CommentEdge>,
}

impl GitHub {
    pub(super) async fn close_or_reopen(
        &self,
        id: &IssueId,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        if let Some(comment) = &req.comment {
            LIMITS.check_comment("body", comment)?;
        }
        let (mut wire, warnings) = self.lookup_issue(id, NEWEST).await?;
        let newest = newest(&mut wire);
        let before = self.issue_of(id, wire, warnings)?;
        if before.state == req.state {
            let word = match req.state {
                IssueState::Open => "open",
                IssueState::Closed => "closed",
            };
            let warning = Warning::new(format!("{id} is {word} already; nothing was changed"));
            let mut outcome = Outcome::unchanged(before, warning);
            let why = "a comment is only written together with a change of the state, and the \
                       state does not change";
            let unsaid = req.comment.as_deref().map(|b| comment_failed(id, b, why));
            outcome.warnings.extend(unsaid);
            return Ok(outcome);
        }
        let other = match &req.duplicate_of {
            Some(other) => Some(self.lookup_issue(other, "id number").await?.0.id),
            None => None,
        };
        let node = &before.node_id;
        let mut batch = Batch::default();
        if let Some(comment) = &req.comment {
            let input = json!({ "subjectId": node, "body": comment });
            batch.push("comment", ADD_COMMENT, input);
        }
        match req.state {
            IssueState::Closed => {
                let mut input = json!({ "issueId": node });
                if let (Some(map), Some(reason)) = (input.as_object_mut(), req.reason) {
                    map.insert("stateReason".to_owned(), json!(reason_word(reason)));
                }
                if let (Some(map), Some(other)) = (input.as_object_mut(), other) {
                    map.insert("duplicateIssueId".to_owned(), json!(other));
                }
                batch.push("change", CLOSE_ISSUE, input);
            }
            IssueState::Open => {
                batch.push("change", REOPEN_ISSUE, json!({ "issueId": node }));
            }
        }
        let written = self.state_changed(id, &batch, req.comment.as_deref()).await;
        // If the answer shows the old state, the issue is read again as after a lost answer.
        let written = written.and_then(|outcome| match outcome.value.state == req.state {
            true => Ok(outcome),
            false => {
                let message = format!("{} answered that {id} is unchanged", self.info.host);
                Err(ambiguous(Error::new(ErrorKind::Protocol, message)))
            }
        });
        let (mut outcome, warning) = or_read_back(written, || async {
            let (mut wire, warnings) = self.lookup_issue(id, RECENT).await?;
            let recent = std::mem::take(&mut wire.recent_comments).into_vec();
            let issue = self.issue_of(id, wire, warnings)?;
            if issue.state != req.state {
                return Ok(None);
            }
            let mut outcome = Outcome::immediate(issue);
            if let Some(body) = &req.comment
                && find_own_comment_since(recent, newest.as_deref(), body).is_none()
            {
                outcome
                    .warnings
                    .push(comment_failed(id, body, "its answer was lost"));
            }
            Ok(Some(outcome))
        })
        .await?;
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// Sends the batch that changes the state. `comment` is the body of the comment in the batch.
    async fn state_changed(
        &self,
        id: &IssueId,
        batch: &Batch,
        comment: Option<&str>,
    ) -> Result<Outcome<Issue>> {
        let mut answer = self.send::<IssueStatePayload>(batch).await?;
        if let Some(error) = self.refused_change(&answer, comment) {
            return Err(error);
        }
        let refused = failed(&answer, "comment").map(|e| self.api.error(&answer, e));
        let payload = answer.data.take().and_then(|mut d| d.remove("change")?);
        let Some(issue) = payload.and_then(|p| p.issue) else {
            return Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous));
        };
        self.check_issue(id, &issue).map_err(ambiguous)?;
        let mut outcome = Outcome::immediate(self.issue_of(id, issue, vec![])?);
        let lost = comment.zip(refused);
        outcome
            .warnings
            .extend(lost.map(|(body, e)| comment_failed(id, body, e.message())));
        Ok(outcome)
    }

    pub(super) async fn add_issue_comment_once(
        &self,
        id: &IssueId,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let selection = "id number newestComment: comments(last: 1) { nodes { id } }";
        let (mut wire, _) = self.lookup_issue(id, selection).await?;
        let newest = newest(&mut wire);
        self.comment_on_node(id, &wire.id, newest.as_deref(), body)
            .await
    }

    /// Comments on the issue with the node id `node`. `newest` was its newest comment before.
    async fn comment_on_node(
        &self,
        id: &IssueId,
        node: &str,
        newest: Option<&str>,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        let input = json!({ "subjectId": node, "body": body });
        let written = self
            .send_one::<IssueStatePayload>(ADD_COMMENT, input)
            .await
            .map(|made| made.comment_edge.and_then(|e| e.node).unwrap_or_default());
        let (comment, warning) = or_read_back(written, || async {
            let (wire, _) = self.lookup_issue(id, RECENT).await?;
            Ok(find_own_comment_since(
                wire.recent_comments.into_vec(),
                newest,
                body,
            ))
        })
        .await?;
        let mut outcome = Outcome::immediate(map::comment(comment));
        outcome.warnings.extend(warning);
        Ok(outcome)
    }
}

/// Returns the id of the newest comment.
pub(super) fn newest(issue: &mut wire::Issue) -> Option<String> {
    let newest = std::mem::take(&mut issue.newest_comment);
    newest.into_vec().pop().map(|c| c.id)
}

/// Returns the viewer's comment with this body, if it is newer than `newest`.
pub(crate) fn find_own_comment_since(
    recent: Vec<wire::Comment>,
    newest: Option<&str>,
    body: &str,
) -> Option<wire::Comment> {
    let old = recent.iter().rposition(|c| Some(c.id.as_str()) == newest);
    let mut new = recent.into_iter().skip(old.map_or(0, |i| i + 1));
    new.find(|c| is_mine(c, body))
}

fn comment_failed(id: &IssueId, body: &str, why: &str) -> Warning {
    let again = Action::op(Op::IssueComment)
        .on(&id.key)
        .with(Param::Body, body);
    Warning::new(format!("the comment was not added: {why}"))
        .with_hint(Hint::new("write the comment again").with_action(again))
}

pub(super) fn reason_word(reason: IssueReason) -> &'static str {
    match reason {
        IssueReason::NotPlanned => "NOT_PLANNED",
        IssueReason::Duplicate => "DUPLICATE",
        IssueReason::Completed | IssueReason::Reopened => "COMPLETED",
    }
}
