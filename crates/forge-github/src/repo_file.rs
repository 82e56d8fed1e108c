//! Reads a file or a directory of a branch, a tag or a commit.

use forge_core::{
    Error, ErrorKind, Hint, Noun, RepoId, Result,
    limits::MAX_REPO_FILE,
    model::{DirectoryEntry, PathContent},
    text::one_line,
};
use serde::Deserialize;
use serde_json::json;

use crate::{GitHub, error::no_repository, gql::GqlDocument, repo_variables};

#[derive(Deserialize)]
struct RepositoryFileOf {
    repository: Option<FileObjects>,
}

#[derive(Deserialize)]
struct FileObjects {
    at: Option<GitObject>,
    file: Option<GitObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GitObject {
    #[serde(rename = "__typename")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    is_truncated: bool,
    #[serde(default)]
    is_binary: Option<bool>,
    #[serde(default)]
    byte_size: Option<u64>,
    #[serde(default)]
    entries: Option<Vec<GitTreeEntry>>,
}

#[derive(Deserialize)]
struct GitTreeEntry {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

impl From<GitTreeEntry> for DirectoryEntry {
    fn from(entry: GitTreeEntry) -> Self {
        Self::new(entry.name, entry.kind == "tree")
    }
}

impl GitHub {
    pub(crate) async fn file_at(
        &self,
        repo: &RepoId,
        path: &str,
        at: Option<&str>,
    ) -> Result<Option<PathContent>> {
        // An empty path means the root directory.
        let path = path.trim_matches('/');
        let mut variables = repo_variables(repo)?;
        let commit = at.unwrap_or("HEAD");
        variables.insert("at".into(), json!(commit));
        variables.insert("file".into(), json!(format!("{commit}:{path}")));
        let text = GqlDocument::query("RepositoryFile").text();
        let answer = self
            .api
            .query::<RepositoryFileOf>(&text, &variables.into())
            .await?;
        let found = self.api.require_complete(answer)?.repository;
        let found = found.ok_or_else(|| no_repository(repo))?;
        let Some(file) = found.file else {
            return match (at, found.at) {
                (Some(at), None) => Err(Error::not_found(
                    Noun::Commit,
                    format!("there is no commit '{}' in {repo}", one_line(at)),
                )
                .with_hint("name a branch, a tag or a full commit id")),
                _ => Ok(None),
            };
        };
        let size = file.byte_size.unwrap_or(0);
        match (file.kind.as_str(), file.text) {
            ("Tree", _) => {
                let entries = file.entries.ok_or_else(|| {
                    let path = one_line(path);
                    let message = format!("{} returned '{path}' without its entries", repo.host);
                    Error::new(ErrorKind::Protocol, message)
                })?;
                let entries = entries.into_iter().map(DirectoryEntry::from).collect();
                Ok(Some(PathContent::Directory(entries)))
            }
            ("Blob", _) if file.is_truncated || size > MAX_REPO_FILE as u64 => {
                let why = format!("has {size} bytes: more than {MAX_REPO_FILE} are not read");
                Err(invalid(path, &why))
            }
            // GraphQL returns the text of a blob, but not its bytes.
            ("Blob", Some(text)) if file.is_binary != Some(true) => {
                Ok(Some(PathContent::File(text.into_bytes())))
            }
            ("Blob", _) => Err(invalid(path, "is a binary file")),
            _ => Err(invalid(path, "is not a file")),
        }
    }
}

fn invalid(path: &str, why: &str) -> Error {
    Error::invalid("path", format!("'{}' {why}", one_line(path)))
        .with_hint(Hint::new("name a text file"))
}
