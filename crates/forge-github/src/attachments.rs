//! Uploads attachments: images and videos that descriptions and comments show.
//!
//! GitHub stores attachments on a separate host: `POST /user-attachments/assets` takes the raw
//! bytes and the repository's database id. The route is undocumented; the request follows gh
//! 2.103.3. GitHub Enterprise Server has no attachment store.

use async_trait::async_trait;
use bytes::Bytes;
use forge_core::{
    Action, Arg, Attachments, Capability, Error, ErrorKind, Forge, Hint, Noun, Param, RepoId,
    Result, Retry, Support,
    model::{Attachment, NewAttachment},
};
use futures::{StreamExt, stream};
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::{GitHub, api::JSON, error, owner_and_name};

/// How many uploads run concurrently.
const MAX_CONCURRENT_UPLOADS: usize = 4;

#[derive(Deserialize)]
struct RestRepo {
    id: u64,
}

#[derive(Deserialize)]
struct Asset {
    url: String,
}

#[async_trait]
impl Attachments for GitHub {
    async fn attach(
        &self,
        repo: &RepoId,
        files: &[NewAttachment],
    ) -> Result<Vec<Result<Attachment>>> {
        if let Support::No { why, instead } = self.capabilities().get(Capability::Attachments) {
            return Err(Error::unsupported(Capability::Attachments, why, instead));
        }
        let id = self.database_id(repo).await?;
        let uploads: Vec<_> = files.iter().map(|f| self.upload(repo, id, f)).collect();
        Ok(stream::iter(uploads)
            .buffered(MAX_CONCURRENT_UPLOADS)
            .collect()
            .await)
    }
}

impl GitHub {
    async fn database_id(&self, repo: &RepoId) -> Result<u64> {
        let (owner, name) = owner_and_name(repo)?;
        let path = format!("/repos/{}/{}", encoded(owner), encoded(name));
        let (status, headers, bytes) = self.api.rest(Method::GET, &path, JSON, None).await?;
        if status == StatusCode::NOT_FOUND {
            return Err(
                Error::not_found(Noun::Repo, format!("there is no repository {repo}"))
                    .with_hint("check the name, and whether the account may see it"),
            );
        }
        if !status.is_success() {
            return Err(error::from_http(
                self.api.error_context(false),
                status,
                &headers,
                &bytes,
            ));
        }
        let found: RestRepo = serde_json::from_slice(&bytes).map_err(|e| {
            let what = format!("the answer of {} on {repo}", self.info.host);
            self.api.error_context(false).misread(&what, &e)
        })?;
        Ok(found.id)
    }

    async fn upload(&self, repo: &RepoId, id: u64, file: &NewAttachment) -> Result<Attachment> {
        let query = format!(
            "/user-attachments/assets?content_type={}&name={}&repository_id={id}",
            encoded(&file.content_type),
            encoded(&file.name)
        );
        let (status, headers, bytes) = self
            .api
            .upload(&query, Bytes::from(file.bytes.clone()))
            .await?;
        // GitHub answers 404 if the token may read the repository but not write to it.
        if status == StatusCode::NOT_FOUND {
            return Err(Error::new(
                ErrorKind::PermissionDenied {
                    missing: vec!["write".to_owned()],
                    sso_url: None,
                },
                format!("the account may not attach files in {repo}"),
            )
            .with_hint(
                Hint::new("ask for write access to the repository, or leave the attachments out")
                    .with_action(Action::again(&[(Param::Attach, Arg::Omit)])),
            ));
        }
        if !status.is_success() {
            return Err(error::from_http(
                self.api.error_context(true),
                status,
                &headers,
                &bytes,
            ));
        }
        match serde_json::from_slice::<Asset>(&bytes) {
            Ok(asset) => Ok(Attachment::new(asset.url)),
            Err(e) => Err(Error::new(
                ErrorKind::Protocol,
                format!(
                    "{} took the file but sent no URL: {}",
                    self.info.host,
                    self.api.error_context(true).sanitize(&e.to_string())
                ),
            )
            .with_retry(Retry::Ambiguous)
            .with_hint("attach it on the page of the pull request")),
        }
    }
}

/// Percent-encodes a value within a path or a query.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
