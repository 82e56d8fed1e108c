//! Refuses attachments: tangled's records cannot hold files.

use async_trait::async_trait;
use forge_core::{
    Attachments, Capability, RepoId, Result,
    model::{Attachment, NewAttachment},
};

use crate::{Tangled, caps};

#[async_trait]
impl Attachments for Tangled {
    async fn attach(&self, _: &RepoId, _: &[NewAttachment]) -> Result<Vec<Result<Attachment>>> {
        Err(caps::refusal(Capability::Attachments))
    }
}
