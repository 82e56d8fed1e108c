use std::collections::BTreeMap;

use serde::Serialize;

use super::Actor;
use crate::{PrId, Timestamp};

/// A comment's id: its pull request, and the forge's own key (opaque).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CommentId {
    /// Where it stands.
    pub pr: PrId,
    /// The key.
    pub key: String,
}

/// A comment on a pull request, or on lines of its diff.
#[derive(Clone, Debug, Serialize)]
pub struct Comment {
    /// Its key; [`CommentId`] with the pull request.
    pub id: String,
    /// Who wrote it.
    pub author: Actor,
    /// The author's role in the repository, upper case as GitHub writes it (`OWNER`, `MEMBER`,
    /// `NONE`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_association: Option<String>,
    /// Markdown.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed, if it was.
    pub updated_at: Option<Timestamp>,
    /// The key of the comment that it answers.
    pub reply_to: Option<String>,
    /// The round that it is about, counted from 0; `None` where the forge has no rounds, or nobody
    /// said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// Emoji name to count.
    pub reactions: BTreeMap<String, u64>,
    /// The file, for a comment on lines.
    pub file_path: Option<String>,
    /// The line, 1-based.
    pub line_number: Option<u64>,
    /// The hunk around it.
    pub diff_hunk: Option<String>,
    /// Its page; empty where it has none.
    pub url: String,
    /// The viewer wrote it.
    pub viewer_did_author: bool,
    /// It is hidden, for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimized_reason: Option<String>,
}
