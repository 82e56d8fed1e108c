//! Converts stored issues to the public model.

use forge_core::{
    Result,
    model::{Actor, Issue, IssueFields},
};
use forge_git::CatFile;

use crate::{
    Local,
    labels::LabelSet,
    pulls::{shown_labels, warning_of},
    store::StoredIssue,
};

impl Local {
    /// Converts `issue`, with the sections of `fields`.
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
        self.add_comments(cat, issue, fields, &mut view).await;
        if fields.relations {
            match self.issue_graph(cat).await {
                Ok(graph) => graph.fill(self, &mut view),
                Err(e) => view.warnings.push(warning_of(&e)),
            }
        }
        Ok(view)
    }

    /// Adds the comments to `view` if `fields` request them.
    pub(super) async fn add_comments(
        &self,
        cat: &mut CatFile,
        issue: &StoredIssue,
        fields: &IssueFields,
        view: &mut Issue,
    ) {
        if !fields.comments {
            return;
        }
        match self.comments_of_issue(cat, issue, None).await {
            Ok(comments) => view.comments = Some(comments),
            Err(e) => view.warnings.push(warning_of(&e)),
        }
    }

    /// Converts `issue` without its sections. `book` has the labels already read, or the error of
    /// reading them.
    pub(super) fn issue_header(
        &self,
        issue: &StoredIssue,
        book: &Result<Option<LabelSet>>,
    ) -> Issue {
        let s = &issue.snapshot;
        let id = self.issue_id(s.number);
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
            milestone: None,
            comments: None,
            values: s.values.clone(),
            relations: None,
            details: None,
            projects: None,
            closing_pulls: None,
            warnings: warning.into_iter().collect(),
        }
    }
}
