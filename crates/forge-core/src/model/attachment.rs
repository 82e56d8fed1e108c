use serde::{Deserialize, Serialize};

/// A file to upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAttachment {
    /// File name, without a path.
    pub name: String,
    /// Media type of the content (`image/png`).
    pub content_type: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// URL to use in a description or a comment.
    pub url: String,
}
