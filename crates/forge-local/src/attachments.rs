//! Attachments: unsupported, because a git repository has no page to show them.

use async_trait::async_trait;
use forge_core::{
    Attachments, Capability, RepoId, Result,
    model::{Attachment, NewAttachment},
};

use crate::Local;

#[async_trait]
impl Attachments for Local {
    async fn attach(&self, _: &RepoId, _: &[NewAttachment]) -> Result<Vec<Result<Attachment>>> {
        Err(Self::unsupported(Capability::Attachments))
    }
}
