//! Computes the comments of an issue from its events.

use std::collections::BTreeMap;

use forge_core::model::Comment;

use super::{CommentMapper, comment_id};
use crate::store::{IssueEvent, LoggedEvent};

/// Returns the current comments in `log`, oldest first.
pub(crate) fn fold_issue_comments(
    log: &[LoggedEvent<IssueEvent>],
    writer: &CommentMapper<'_>,
) -> Vec<Comment> {
    let mut comments: Vec<Option<Comment>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for logged in log {
        let entry = &logged.entry;
        if let Some(body) = entry.event.comment() {
            let id = comment_id(entry.seq);
            places.entry(id.clone()).or_insert(comments.len());
            comments.push(Some(writer.comment(id, &entry.actor, entry.at, body)));
        }
        let place = |key: &str| places.get(key).copied();
        match &entry.event {
            IssueEvent::CommentEdited { comment, body } => {
                let edited = place(comment).and_then(|at| comments.get_mut(at)?.as_mut());
                if let Some(edited) = edited {
                    edited.body.clone_from(body);
                    edited.updated_at = Some(entry.at);
                }
            }
            IssueEvent::CommentDeleted { comment } => {
                if let Some(deleted) = place(comment).and_then(|at| comments.get_mut(at)) {
                    *deleted = None;
                }
            }
            _ => {}
        }
    }
    comments.into_iter().flatten().collect()
}
