//! Changes and deletes comments on an issue, and deletes an issue.

use forge_core::{
    Action, AtUri, Capability, Error, Noun, Op, Outcome, Result, Warning, check_version,
    model::{Comment, IssueId},
};

use super::view::LocatedIssue;
use crate::{Tangled, caps::LIMITS, hints::issue_comment_ids, ingest::Seen, related_records};

impl Tangled {
    /// See [`forge_core::Issues::edit_issue_comment`].
    pub(super) async fn change_issue_comment(
        &self,
        id: &IssueId,
        key: &str,
        body: &str,
        expected: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let located = self.locate_issue(id).await?;
        let uri = self.issue_comment(&located, key).await?;
        let issue = &located.issue.record;
        let view = Action::op(Op::IssueView).on(&issue.uri);
        check_version(&issue.uri, expected, issue.cid(), view)?;
        self.rewrite_comment(&located.repository, &uri, &issue.uri, body)
            .await
    }

    /// See [`forge_core::Issues::delete_issue_comment`].
    pub(super) async fn remove_issue_comment(
        &self,
        id: &IssueId,
        key: &str,
    ) -> Result<Outcome<()>> {
        let located = self.locate_issue(id).await?;
        let uri = self.issue_comment(&located, key).await?;
        let undeclared = self.undeclared(&located.repository).await?;
        self.delete_record(undeclared, &uri).await?;
        let kind = related_records::comments(&self.settings.dialects);
        let seen = Seen::About(kind, &located.issue.record.uri);
        let mut outcome = Outcome::immediate(());
        outcome.ingestion = self.ingestion_of_removal(seen, &uri).await;
        Ok(outcome)
    }

    /// Returns the at-uri of an existing comment on this issue.
    async fn issue_comment(&self, located: &LocatedIssue, key: &str) -> Result<AtUri> {
        self.require_2026(&located.repository, Capability::IssueCommentEdit)?;
        self.session.viewer().await?;
        let names = &self.settings.dialects;
        let fields = &names.sh_fields;
        let uri = self.comment_uri(key, &names.sh.old_issue_comment);
        let uri = uri.map_err(|e| e.with_hint(issue_comment_ids()))?;
        let record = self.comment_at(&uri).await?;
        let about = record
            .text_at(&[&*fields.subject, "uri"])
            .or_else(|| record.text(&fields.old_issue));
        let issue = located.issue.record.uri.as_str();
        if about != Some(issue) {
            let message = format!("{uri} is no comment on {issue}");
            return Err(Error::not_found(Noun::Comment, message).with_hint(issue_comment_ids()));
        }
        Ok(uri)
    }

    /// See [`forge_core::Issues::delete_issue`].
    pub(super) async fn remove_issue(&self, id: &IssueId) -> Result<Outcome<()>> {
        let located = self.locate_issue(id).await?;
        self.require_2026(&located.repository, Capability::IssueDelete)?;
        let uri = &located.issue.uri;
        let undeclared = self.undeclared(&located.repository).await?;
        self.delete_record(undeclared, uri).await?;
        let stays = Warning::new(
            "the comments, states and labels of the issue are separate records, which stay in the \
             accounts of their authors",
        );
        let mut outcome = Outcome::immediate(()).with_warning(stays);
        let seen = Seen::Issue(&located.issue.target);
        outcome.ingestion = self.ingestion_of_removal(seen, uri).await;
        Ok(outcome)
    }
}
