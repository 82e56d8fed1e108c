use std::collections::BTreeMap;

use serde::Serialize;

use super::Actor;
use crate::{PrId, Timestamp};

/// Id of a comment: its pull request and the forge's opaque key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CommentId {
    /// The pull request.
    pub pr: PrId,
    /// The key of the comment.
    pub key: String,
}

/// A comment on a pull request, or on lines of its diff.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comment {
    /// Key of the comment. A [`CommentId`] consists of this key and the pull request.
    pub id: String,
    /// Author.
    pub author: Actor,
    /// The author's role in the repository, upper case as on GitHub (`OWNER`, `MEMBER`, `NONE`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_association: Option<String>,
    /// Text as Markdown.
    pub body: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last edit, if there was one.
    pub updated_at: Option<Timestamp>,
    /// Key of the comment to which this comment replies.
    pub reply_to: Option<String>,
    /// Round that the comment belongs to, counted from 0. `None` if the forge has no rounds or the
    /// round is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// Number of reactions by the name of the emoji.
    pub reactions: BTreeMap<String, u64>,
    /// Path of the file, for a comment on lines.
    pub file_path: Option<String>,
    /// Line, counted from 1, for a comment on lines.
    pub line_number: Option<u64>,
    /// Part of the diff around the line, for a comment on lines.
    pub diff_hunk: Option<String>,
    /// URL of the comment's page; empty if there is no such page.
    pub url: String,
    /// True if the viewer wrote the comment.
    pub viewer_did_author: bool,
    /// Reason why the comment is hidden; `None` for a visible comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimized_reason: Option<String>,
}

impl Comment {
    /// Builds a comment on the whole pull request or issue.
    pub fn new(
        id: impl Into<String>,
        author: Actor,
        body: impl Into<String>,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id: id.into(),
            author,
            author_association: None,
            body: body.into(),
            created_at,
            updated_at: None,
            reply_to: None,
            round: None,
            reactions: BTreeMap::new(),
            file_path: None,
            line_number: None,
            diff_hunk: None,
            url: String::new(),
            viewer_did_author: false,
            minimized_reason: None,
        }
    }
}
