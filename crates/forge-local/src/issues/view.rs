//! Converts stored issues to the domain model.

use forge_core::{
    Result,
    call::charge,
    model::{Actor, Issue, IssueFields},
};
use forge_git::CatFile;

use crate::{
    Local,
    labels::LabelSet,
    pulls::{BYTES_PER_ITEM, BYTES_PER_ROW, charged_labels, shown_labels, warning_of},
    store::{IssueSnapshot, STORED_ISSUES, StoredIssue},
};

impl Local {
    /// Converts `issue`, with the optional parts (such as comments) that `fields` selects.
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
        let mut view = self.issue_header(issue, &book)?;
        self.add_comments(cat, issue, fields, &mut view).await;
        if fields.relations {
            match self.issue_graph(cat).await {
                Ok(graph) => graph.fill(self, &mut view),
                Err(e) => {
                    let unread = warning_of(&e).of_section("relations");
                    view.warnings.push(unread);
                }
            }
        }
        Ok(view)
    }

    /// Adds the comments to `view` if `fields` selects them.
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
            Err(e) => view.warnings.push(warning_of(&e).of_section("comments")),
        }
    }

    /// Converts `issue` without optional parts. `book` has the labels of the repository, or the
    /// error if they could not be read.
    pub(super) fn issue_header(
        &self,
        issue: &StoredIssue,
        book: &Result<Option<LabelSet>>,
    ) -> Result<Issue> {
        let s = &issue.snapshot;
        let weight = weight_of_row(s) + charged_labels(&s.labels, book);
        charge(STORED_ISSUES, weight)?.keep();
        let id = self.issue_id(s.number);
        let (labels, warning) = shown_labels(&s.labels, book);
        let url = id.to_string();
        let mut shown = Issue::new(id, &s.title, s.author.clone(), s.created_at);
        shown.url = url;
        shown.version.clone_from(&issue.tip);
        shown.number = Some(s.number);
        shown.body.clone_from(&s.body);
        shown.state = s.state;
        shown.state_reason = s.state_reason;
        shown.labels = labels;
        shown.assignees = s.assignees.iter().map(Actor::new).collect();
        shown.updated_at = s.updated_at;
        shown.closed_at = s.closed_at;
        shown.comments_count = s.comments;
        shown.values.clone_from(&s.values);
        shown.warnings.extend(warning);
        Ok(shown)
    }
}

/// Returns the memory of an issue in a result, in bytes, without its labels and optional parts.
fn weight_of_row(s: &IssueSnapshot) -> usize {
    let assignees = s.assignees.iter().map(String::len);
    let values = s.values.iter().map(|(key, value)| key.len() + value.len());
    let items = assignees.chain(values);
    let items: usize = items.map(|text| 2 * text + BYTES_PER_ITEM).sum();
    BYTES_PER_ROW + 2 * (s.title.len() + s.body.len()) + items
}
