use serde::{Deserialize, Serialize};

/// A file to upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAttachment {
    /// Its name, without a path.
    pub name: String,
    /// What is in it, as a media type (`image/png`).
    pub content_type: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Where a description or a comment finds it.
    pub url: String,
}
