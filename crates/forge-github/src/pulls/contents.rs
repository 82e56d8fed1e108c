//! Reads files at a commit: from a clone that has the commit, otherwise from GitHub's blobs.

use std::fmt::Write as _;

use forge_core::{
    PrId, RepoId, Result,
    model::{ContentsReq, FileContent},
};
use forge_git::Git;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{GitHub, gql::GqlDocument, repo_variables};

/// How many blobs one request reads.
const MAX_BLOBS_PER_REQUEST: usize = 40;

#[derive(Debug, Deserialize)]
struct RepositoryFiles {
    repository: Option<Map<String, Value>>,
}

/// A blob; empty if the object is of another type.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Blob {
    text: Option<String>,
    is_truncated: bool,
    is_binary: Option<bool>,
    byte_size: Option<u64>,
}

impl From<Blob> for FileContent {
    fn from(blob: Blob) -> Self {
        match (blob.text, blob.byte_size) {
            (_, None) => Self::Missing,
            (_, Some(size)) if blob.is_truncated || size > Self::MAX_BYTES => Self::TooLarge,
            (Some(text), _) if blob.is_binary != Some(true) => Self::Text(text),
            _ => Self::Binary,
        }
    }
}

impl GitHub {
    pub(super) async fn file_contents(
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
        let mut contents = Vec::with_capacity(req.paths.len());
        for paths in req.paths.chunks(MAX_BLOBS_PER_REQUEST) {
            contents.extend(self.blobs(&pr.repo, &req.oid, paths).await?);
        }
        Ok(contents)
    }

    async fn blobs(&self, repo: &RepoId, oid: &str, paths: &[String]) -> Result<Vec<FileContent>> {
        let mut variables = repo_variables(repo)?;
        for (n, path) in paths.iter().enumerate() {
            variables.insert(format!("file{n}"), json!(format!("{oid}:{path}")));
        }
        let answer = self
            .api
            .query::<RepositoryFiles>(&document(paths.len()), &variables.into())
            .await?;
        let found = self
            .api
            .require_complete(answer)?
            .repository
            .unwrap_or_default();
        let blob = |n: usize| {
            let blob = found.get(&format!("file{n}"))?;
            Option::<Blob>::deserialize(blob).ok().flatten()
        };
        let contents = (0..paths.len()).map(|n| blob(n).map_or(FileContent::Missing, Into::into));
        Ok(contents.collect())
    }
}

/// Returns the document for `blobs` blobs, with the variables `file0`, `file1` and so on.
pub(crate) fn document(blobs: usize) -> String {
    let mut document = GqlDocument::query("Contents");
    let mut selection = String::new();
    for n in 0..blobs {
        document.variable(&format!("file{n}"), "String!");
        let _ = write!(
            selection,
            " file{n}: object(expression: $file{n}) {{ ... on Blob {{ text isTruncated isBinary byteSize }} }}"
        );
    }
    document.fragment("Contents", "Repository", selection.trim_start());
    document.text()
}
