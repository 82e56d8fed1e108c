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
    /// True if GitHub may have left out the patch and the counts because of the size of the page.
    #[serde(skip)]
    pub is_unsent: bool,
    /// True if the file was read again because of that, so that zero counts prove nothing.
    #[serde(skip)]
    pub is_reread: bool,
}

impl RestFile {
    /// Returns whether GitHub sent lines of the file, or counted some.
    pub fn has_lines(&self) -> bool {
        self.additions > 0 || self.deletions > 0 || self.patch.is_some()
    }

    /// Returns whether the change has no lines to show: a pure rename or copy, or an empty file.
    pub fn is_pure(&self) -> bool {
        let is_empty = self.sha.as_deref() == Some(EMPTY_BLOB);
        let is_moved = matches!(self.kind(), FileStatus::Renamed | FileStatus::Copied);
        !self.has_lines() && !self.is_unsent && (is_empty || is_moved)
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
        // GitHub counts no lines of a binary file, and none of a file that it left out.
        let (text, kind) = (self.has_lines() || self.is_pure(), self.kind());
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

    /// Reads a page of files. Reads files again in smaller pages if GitHub may have left out their
    /// patches and counts.
    pub(super) async fn rest_files(
        &self,
        pr: &PrId,
        size: usize,
        page: usize,
    ) -> Result<FilesPage> {
        let mut found = self.sent_files(pr, size, page).await?;
        let before = (page - 1) * size;
        let mut small = size;
        while small > 1 && found.files.iter().any(|file| file.is_unsent) {
            small = smaller_page(small);
            for (part, rows) in found.files.chunks_mut(small).enumerate() {
                if !rows.iter().any(|file| file.is_unsent) {
                    continue;
                }
                let again = self
                    .sent_files(pr, small, before / small + part + 1)
                    .await?;
                for (row, new) in rows.iter_mut().zip(again.files) {
                    if row.is_unsent && row.filename == new.filename {
                        *row = RestFile {
                            is_reread: true,
                            ..new
                        };
                    }
                }
            }
        }
        Ok(found)
    }

    /// Reads a page of files once, and marks the files that GitHub may have left out.
    async fn sent_files(&self, pr: &PrId, size: usize, page: usize) -> Result<FilesPage> {
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
        let mut files: Vec<RestFile> = serde_json::from_slice(&bytes).map_err(|e| {
            let what = format!("the files of {pr}");
            self.api.error_context(false).misread(&what, &e)
        })?;
        mark_unsent(&mut files);
        Ok(FilesPage {
            more: has_next(&headers).unwrap_or(files.len() == size),
            last: last_page(&headers),
            files,
        })
    }
}

/// Size of the patches of a page, in bytes, from which on GitHub may have left out further patches.
/// GitHub stops at about 1 MB, and a patch that would exceed the limit may itself be long.
const MAX_PATCH_BYTES: usize = 256 * 1024;
/// Number of lines in the patches of a page from which on GitHub may have left out further patches.
const MAX_PATCH_LINES: usize = 15_000;

/// Marks the files without patch and counts of a page whose patches may have reached GitHub's limit.
/// The first file of a page is always within the limit.
fn mark_unsent(files: &mut [RestFile]) {
    let patches = || files.iter().filter_map(|file| file.patch.as_deref());
    let is_full = patches().map(str::len).sum::<usize>() >= MAX_PATCH_BYTES
        || patches().map(|patch| patch.lines().count()).sum::<usize>() >= MAX_PATCH_LINES;
    for file in files.iter_mut().skip(1).filter(|_| is_full) {
        let is_empty = file.sha.as_deref() == Some(EMPTY_BLOB);
        file.is_unsent = file.patch.is_none() && !is_empty;
    }
}

/// Returns a smaller page size that divides `size`, so that the smaller pages begin with the same
/// files: a tenth if possible, otherwise 1.
fn smaller_page(size: usize) -> usize {
    if size.is_multiple_of(10) {
        size / 10
    } else {
        1
    }
}

/// Returns whether a `Link` header names a next page; `None` if none is about pages.
pub(super) fn has_next(headers: &HeaderMap) -> Option<bool> {
    let of_pages = ["next", "prev", "first", "last"];
    let mut found = of_pages
        .map(|relation| link_to(headers, relation).is_some())
        .into_iter();
    let has_next = found.next()?;
    (has_next || found.any(|is_there| is_there)).then_some(has_next)
}

/// Returns the target of the link with this relation from all `Link` headers (RFC 8288). An answer
/// under a deprecated version of the API has several of these headers.
fn link_to<'a>(headers: &'a HeaderMap, relation: &str) -> Option<&'a str> {
    let values = headers.get_all(header::LINK).iter();
    let mut links = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(links_of);
    let (target, _) = links.find(|(_, parameters)| has_relation(parameters, relation))?;
    Some(target)
}

/// Splits a `Link` header into its links, each with its parameters. A comma inside of a target or of
/// a quoted parameter separates nothing.
fn links_of(header: &str) -> Vec<(&str, &str)> {
    let mut links = Vec::new();
    let mut rest = header;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, parameters)) = after.split_once('>') else {
            break;
        };
        let mut is_quoted = false;
        let end = parameters.find(|c: char| {
            is_quoted ^= c == '"';
            c == ',' && !is_quoted
        });
        let (parameters, next) = parameters.split_at(end.unwrap_or(parameters.len()));
        links.push((target, parameters));
        rest = next;
    }
    links
}

/// Returns whether the parameters of a link name this relation. A link can have several relations.
fn has_relation(parameters: &str, relation: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
        name.trim().eq_ignore_ascii_case("rel")
            && relations.any(|found| found.eq_ignore_ascii_case(relation))
    })
}

/// Returns the number of the last page from the `Link` headers, if one has it.
fn last_page(headers: &HeaderMap) -> Option<usize> {
    let (_, query) = link_to(headers, "last")?.split_once('?')?;
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

    #[test]
    fn pages_are_found_in_every_link_header() {
        let deprecation = "<https://docs.example/changes>; rel=\"deprecation\"; type=\"text/html\"";
        let next = "<https://x/files?a=1,2&page=2>; rel=\"next\"";
        let last = "<https://x/files?page=9>; rel=\"last\"";
        for (links, wanted) in [
            (vec![deprecation, next], (Some(true), None)),
            (vec![next, deprecation, last], (Some(true), Some(9))),
            (
                vec![&*format!("{deprecation}, {next}, {last}")],
                (Some(true), Some(9)),
            ),
            (
                vec!["<https://x?page=3>; title=\"a, <b>; rel=next\"; REL=next"],
                (Some(true), None),
            ),
            (
                vec!["<https://x/files?page=4>; rel=\"last next\""],
                (Some(true), Some(4)),
            ),
            (
                vec![deprecation, "<https://x?page=1>; rel=\"prev\""],
                (Some(false), None),
            ),
            // A header that is not about pages does not tell whether there are more.
            (vec![deprecation], (None, None)),
            (vec![], (None, None)),
        ] {
            let links = links
                .iter()
                .map(|link| (header::LINK, link.parse().unwrap()));
            let mut headers = HeaderMap::new();
            for (name, value) in links {
                headers.append(name, value);
            }
            let found = (has_next(&headers), last_page(&headers));
            assert_eq!(found, wanted, "{headers:?}");
        }
    }

    #[test]
    fn smaller_pages_begin_with_the_same_files() {
        for size in 2..=100 {
            let small = smaller_page(size);
            assert!(small < size && size % small == 0, "{size}");
        }
    }

    #[test]
    fn file_after_full_page_of_patches_is_unsent() {
        let file = |patch: Option<usize>| RestFile {
            patch: patch.map(|length| "x".repeat(length)),
            ..RestFile::default()
        };
        for (patch, is_unsent) in [(MAX_PATCH_BYTES, true), (MAX_PATCH_BYTES - 1, false)] {
            let mut files = [file(None), file(Some(patch)), file(None)];
            mark_unsent(&mut files);
            assert_eq!(files.map(|file| file.is_unsent), [false, false, is_unsent]);
        }
    }
}
