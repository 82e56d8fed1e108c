//! Reads files at a commit: from a local clone that has the commit, else from the knot (git server)
//! that has the head.

use forge_core::{
    PrId, Result,
    model::{ContentsReq, FileContent},
};
use forge_git::Git;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::{Tangled, sources::IN_FLIGHT};

impl Tangled {
    /// See [`forge_core::PullRequests::contents`].
    pub(crate) async fn contents_of(
        &self,
        pr: &PrId,
        req: &ContentsReq,
    ) -> Result<Vec<FileContent>> {
        if let Some(clone) = &req.clone {
            let git = Git::at(&clone.dir).with_trust(clone.trust);
            if git.has_commit(&req.oid).await
                && let Ok(contents) = git.contents(&req.oid, &req.paths).await
            {
                return Ok(contents);
            }
        }
        let located = self.locate(pr).await?;
        let target = &located.repository;
        let fork = match located.pull.fork(target) {
            Some(source) => Some(self.fork_of_source(source, target.era).await?),
            None => None,
        };
        let repository = fork.as_deref().unwrap_or(target);
        let reads: Vec<_> = req
            .paths
            .iter()
            .map(|path| self.file_content(repository, &req.oid, path))
            .collect();
        stream::iter(reads).buffered(IN_FLIGHT).try_collect().await
    }
}
