use serde::{Deserialize, Serialize};

/// A file to upload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewAttachment {
    /// File name, without a path.
    pub name: String,
    /// Media type of the content (`image/png`).
    pub content_type: String,
    /// The content.
    pub bytes: Vec<u8>,
}

impl NewAttachment {
    /// Builds a file to upload from its name, media type and content.
    pub fn new(name: impl Into<String>, content_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self {
            name: name.into(),
            content_type: content_type.into(),
            bytes,
        }
    }
}

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attachment {
    /// URL to use in a description or a comment.
    pub url: String,
}

impl Attachment {
    /// Builds an uploaded file with its URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into() }
    }
}
