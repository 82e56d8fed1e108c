//! Lists changed files by REST, because GraphQL lacks their previous names.

use forge_core::{
    Cursor, Error, Page, PageReq, PrId, RepoId, Result, call,
    model::{FileChange, FileStatus},
};
use http::{HeaderMap, Method, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Deserialize;

use crate::{
    GitHub, api::JSON, error, error::missing, gql::types as wire, number, owner_and_name,
    paged::MAX_PAGE_SIZE,
};

const SCHEME: &str = "github-files";
/// The object id of an empty file, which has no changed lines although it is not binary.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
pub(crate) const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'/')
    .add(b'?')
    .add(b'#')
    .add(b'%')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\');

/// A file in GitHub's REST API.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RestFile {
    pub sha: Option<String>,
    pub filename: String,
    pub status: String,
    pub additions: u64,
    pub deletions: u64,
    pub patch: Option<String>,
    pub previous_filename: Option<String>,
}

impl RestFile {
    /// Returns whether the file is binary: the file changed, but GitHub counts no lines.
    fn is_binary(&self) -> bool {
        let lines = self.additions > 0 || self.deletions > 0 || self.patch.is_some();
        let empty = self.sha.as_deref() == Some(EMPTY_BLOB);
        !lines
            && !empty
            && matches!(
                self.status.as_str(),
                "added" | "modified" | "removed" | "changed"
            )
    }

    pub fn kind(&self) -> FileStatus {
        match self.status.as_str() {
            "added" => FileStatus::Added,
            "removed" => FileStatus::Deleted,
            "renamed" => FileStatus::Renamed,
            "copied" => FileStatus::Copied,
            _ => FileStatus::Modified,
        }
    }

    /// Converts the file to the type of GraphQL answers.
    pub fn node(&self) -> wire::File {
        let change_type = match self.kind() {
            FileStatus::Added => "ADDED",
            FileStatus::Deleted => "DELETED",
            FileStatus::Renamed => "RENAMED",
            FileStatus::Copied => "COPIED",
            FileStatus::Modified => "MODIFIED",
        };
        wire::File {
            path: self.filename.clone(),
            additions: self.additions,
            deletions: self.deletions,
            change_type: change_type.to_owned(),
        }
    }

    fn change(self) -> FileChange {
        let (text, kind) = (!self.is_binary(), self.kind());
        let mut change = FileChange::new(self.filename, kind);
        change.previous_path = self.previous_filename;
        change.additions = text.then_some(self.additions);
        change.deletions = text.then_some(self.deletions);
        change
    }
}

#[derive(Clone, Debug)]
pub(super) struct FilesPage {
    pub files: Vec<RestFile>,
    pub more: bool,
    /// The number of the last page, if the answer contains this number.
    pub last: Option<usize>,
}

/// Returns the REST path of a pull request.
pub(super) fn route(pr: &PrId) -> Result<String> {
    Ok(format!("{}/pulls/{}", repo_route(&pr.repo)?, number(pr)?))
}

/// Returns the REST path of a repository.
///
/// # Errors
///
/// Fails with `invalid_input` if the repository is not on GitHub.
pub(crate) fn repo_route(repo: &RepoId) -> Result<String> {
    let (owner, name) = owner_and_name(repo)?;
    let segment = |text| utf8_percent_encode(text, SEGMENT);
    Ok(format!("/repos/{}/{}", segment(owner), segment(name)))
}

impl GitHub {
    pub(super) async fn pull_files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>> {
        let key = pr.to_string();
        let cursor = page.position(SCHEME, &key)?;
        // REST pages are numbered, so all pages of one listing have the size of the first page.
        let (size, mut at) = match cursor {
            None => (page.limit.min(MAX_PAGE_SIZE), 1),
            Some(position) => position
                .split_once('.')
                .and_then(|(size, at)| Some((size.parse().ok()?, at.parse().ok()?)))
                .ok_or_else(|| {
                    Error::invalid("cursor", "the cursor does not belong to a list of files")
                        .with_hint("start again without a cursor")
                })?,
        };
        let (mut items, mut warnings) = (Vec::new(), Vec::new());
        loop {
            let more = match self.rest_files(pr, size, at).await {
                Err(error) if call::is_spent(&error) && !items.is_empty() => {
                    warnings.push(call::cut_list(&error));
                    true
                }
                page_of_files => {
                    let page_of_files = page_of_files?;
                    items.extend(page_of_files.files.into_iter().map(RestFile::change));
                    at += 1;
                    page_of_files.more
                }
            };
            if !more || !warnings.is_empty() || items.len() + size > page.limit {
                let next = more.then(|| Cursor::new(SCHEME, &key, &format!("{size}.{at}")));
                let mut result = Page::new(items);
                result.next = next;
                result.warnings = warnings;
                return Ok(result);
            }
        }
    }

    /// Reads a page of files.
    pub(super) async fn rest_files(
        &self,
        pr: &PrId,
        size: usize,
        page: usize,
    ) -> Result<FilesPage> {
        let path = format!("{}/files?per_page={size}&page={page}", route(pr)?);
        let (status, headers, bytes) = self.api.rest(Method::GET, &path, JSON, None).await?;
        if status.as_u16() == 404 {
            return Err(missing(pr));
        }
        if !status.is_success() {
            return Err(error::from_http(
                self.api.error_context(false),
                status,
                &headers,
                &bytes,
            ));
        }
        let files: Vec<RestFile> = serde_json::from_slice(&bytes).map_err(|e| {
            let what = format!("the files of {pr}");
            self.api.error_context(false).misread(&what, &e)
        })?;
        Ok(FilesPage {
            more: has_next(&headers).unwrap_or(files.len() == size),
            last: last_page(&headers),
            files,
        })
    }
}

/// Returns whether a `Link` header names a next page; `None` without such a header.
pub(super) fn has_next(headers: &HeaderMap) -> Option<bool> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    Some(link.split(',').any(|part| part.contains("rel=\"next\"")))
}

/// Returns the number of the last page from a `Link` header, if the header has one.
fn last_page(headers: &HeaderMap) -> Option<usize> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    let last = link.split(',').find(|part| part.contains("rel=\"last\""))?;
    let (address, _) = last.trim_start().strip_prefix('<')?.split_once('>')?;
    let (_, query) = address.split_once('?')?;
    let page = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("page="))?;
    page.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_page_of_link_header_is_read() {
        for (link, wanted) in [
            (
                "<https://x/files?per_page=100&page=2>; rel=\"next\", \
                 <https://x/files?per_page=100&page=30>; rel=\"last\"",
                Some(30),
            ),
            ("<https://x/files?page=7&per_page=5>; rel=\"last\"", Some(7)),
            ("<https://x/files?per_page=100>; rel=\"last\"", None),
            ("<https://x/files?page=1>; rel=\"prev\"", None),
            ("rel=\"last\"", None),
        ] {
            let headers = HeaderMap::from_iter([(header::LINK, link.parse().unwrap())]);
            assert_eq!(last_page(&headers), wanted, "{link}");
        }
        assert_eq!(last_page(&HeaderMap::new()), None);
    }
}
