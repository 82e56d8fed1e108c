//! Numbers of pull requests and issues. No record has one: the web counts, and names the record on
//! its page.

use bytes::Bytes;
use forge_core::{AtUri, Error, ErrorKind, Noun, Result};
use http::{Request, StatusCode};

use crate::{Tangled, repository::Repository};

/// What the web counts.
pub(crate) struct Numbered {
    /// Where its pages are, below the repository's.
    pub path: &'static str,
    /// What it is called.
    pub title: &'static str,
    pub noun: Noun,
    /// The command that lists it.
    pub list: &'static str,
}

pub(crate) const PULLS: Numbered = Numbered {
    path: "pulls",
    title: "pull request",
    noun: Noun::PullRequest,
    list: "forge pr list",
};

impl Tangled {
    /// The record of the pull request that the web shows under a number.
    pub(crate) async fn number_to_uri(
        &self,
        repository: &Repository,
        number: u64,
    ) -> Result<AtUri> {
        let collection = &self.settings.dialects.of(repository.era).pull;
        self.web_record(repository, &PULLS, number, collection)
            .await
    }

    /// The record of `collection` that the web shows under a number.
    pub(crate) async fn web_record(
        &self,
        repository: &Repository,
        of: &Numbered,
        number: u64,
        collection: &str,
    ) -> Result<AtUri> {
        let url = format!(
            "{}/{}/{}/{}/{number}",
            self.settings.web,
            repository.owner.name(),
            repository.name,
            of.path
        );
        let by_uri = format!(
            "name it by its at-uri, which `{}` shows: numbers are known to the web pages alone",
            of.list
        );
        let request = Request::get(&url)
            .body(Bytes::new())
            .map_err(|e| Error::new(ErrorKind::Internal, format!("'{url}' is no address: {e}")))?;
        let response = self.http.send(request).await?;
        let status = response.status();
        let missing = || {
            Error::not_found(
                of.noun,
                format!("{} has no {} #{number}", repository.id, of.title),
            )
            .with_hint(by_uri.clone())
        };
        if status == StatusCode::NOT_FOUND {
            return Err(missing());
        }
        let page = response.into_body().into_bytes().unwrap_or_default();
        let page = String::from_utf8_lossy(&page);
        let found = status
            .is_success()
            .then(|| record_of(&page, collection))
            .flatten();
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                format!(
                    "{url} does not say which record #{number} is (status {})",
                    status.as_u16()
                ),
            )
            .with_hint(by_uri.clone())
        })
    }
}

/// The first record of `collection` that the page carries as `data-aturi`.
fn record_of(page: &str, collection: &str) -> Option<AtUri> {
    page.split("data-aturi=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter_map(|uri| AtUri::parse(uri).ok())
        .find(|uri| uri.collection == collection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_the_record() {
        let page = r#"<a data-aturi="at://did:plc:a/sh.tangled.repo/r"></a>
            <div data-aturi="junk"></div><div data-aturi="at://did:plc:b/sh.tangled.repo.pull/3k">"#;
        let found = record_of(page, "sh.tangled.repo.pull").unwrap();
        assert_eq!(found.to_string(), "at://did:plc:b/sh.tangled.repo.pull/3k");
        assert_eq!(record_of(page, "sh.tangled.repo.issue"), None);
        assert_eq!(record_of("", "sh.tangled.repo.pull"), None);
    }
}
