//! One issue, as callers see it.

use forge_core::{
    Result,
    model::{Actor, Comment, Issue, IssueFields, IssueId},
};
use forge_git::CatFile;

use crate::{
    Local,
    ident::{Identity, identity},
    labels::Book,
    pulls::{shown_labels, warning_of},
    reviews::{Writer, comment_id},
    store::StoredIssue,
};

impl Local {
    /// `issue` with the sections of `fields`.
    pub(super) async fn present_issue(
        &self,
        cat: &mut CatFile,
        issue: &StoredIssue,
        fields: &IssueFields,
    ) -> Result<Issue> {
        let book = match issue.snapshot.labels.is_empty() {
            true => Ok(None),
            false => self.store.labels(cat).await.map(|l| Some(l.book)),
        };
        let mut view = self.issue_header(issue, &book);
        if fields.comments {
            match self.comments_of_issue(cat, issue).await {
                Ok(comments) => view.comments = Some(comments),
                Err(e) => view.warnings.push(warning_of(&e)),
            }
        }
        Ok(view)
    }

    /// All but the sections, with the labels at hand (or the reason why they are not).
    pub(super) fn issue_header(&self, issue: &StoredIssue, book: &Result<Option<Book>>) -> Issue {
        let s = &issue.snapshot;
        let id = IssueId::number(self.id().clone(), s.number);
        let (labels, warning) = shown_labels(&s.labels, book);
        Issue {
            url: id.to_string(),
            version: issue.tip.clone(),
            id,
            node_id: String::new(),
            number: Some(s.number),
            title: s.title.clone(),
            body: s.body.clone(),
            author: s.author.clone(),
            state: s.state,
            state_reason: s.state_reason,
            labels,
            assignees: s.assignees.iter().map(Actor::new).collect(),
            created_at: s.created_at,
            updated_at: s.updated_at,
            closed_at: s.closed_at,
            comments_count: s.comments,
            comments: None,
            values: std::collections::BTreeMap::new(),
            relations: None,
            warnings: warning.into_iter().collect(),
        }
    }

    async fn comments_of_issue(
        &self,
        cat: &mut CatFile,
        issue: &StoredIssue,
    ) -> Result<Vec<Comment>> {
        let (log, viewer) = tokio::join!(self.store.issue_log(cat, issue), identity(self.here()));
        // Without a viewer nothing is the viewer's, and reading needs none.
        let viewer = viewer.ok();
        let url = IssueId::number(self.id().clone(), issue.number()).to_string();
        let writer = Writer {
            url: &url,
            viewer: viewer.as_ref().map(|i| i.actor.login.as_str()),
        };
        let said = log?.into_iter().filter_map(|logged| {
            let entry = logged.entry;
            let body = entry.event.into_comment()?;
            let id = comment_id(entry.seq);
            Some(writer.comment(id, &entry.actor, entry.at, &body))
        });
        Ok(said.collect())
    }

    /// The comment that the last event of `issue` made.
    pub(super) fn issue_comment(&self, issue: &StoredIssue, by: &Identity, body: &str) -> Comment {
        let url = IssueId::number(self.id().clone(), issue.number()).to_string();
        let writer = Writer {
            url: &url,
            viewer: Some(&by.actor.login),
        };
        let id = comment_id(issue.snapshot.events);
        writer.comment(id, &by.actor, by.at, body)
    }
}
