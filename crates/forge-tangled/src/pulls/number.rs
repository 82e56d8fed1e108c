//! Finds the record of a pull request or an issue by its number. Only tangled's web pages show
//! numbers, so the at-uri of the record is read from the web page with that number.

use forge_core::{Action, AtUri, Error, ErrorKind, Hint, Noun, Op, Result};
use http::StatusCode;

use crate::{Tangled, WebNames, repository::TangledRepository};

/// Maximum size of a page, in bytes. A page shows the changes of a round and all comments.
const MAX_PAGE: usize = 4 * 1024 * 1024;

/// Maximum number of records that an error lists if a page has several.
const SHOWN: usize = 3;
/// Maximum number of different records that are counted on a page.
const MAX_FOUND: usize = 100;

/// A kind of object that has numbers on the web.
pub(crate) struct Numbered {
    /// Path of the pages, below the repository's page.
    pub path: &'static str,
    /// Name of the kind in messages.
    pub title: &'static str,
    pub noun: Noun,
    /// Operation that lists objects of the kind.
    pub list: Op,
}

pub(crate) const PULLS: Numbered = Numbered {
    path: "pulls",
    title: "pull request",
    noun: Noun::PullRequest,
    list: Op::PrList,
};

impl Tangled {
    /// Returns the record of the pull request that the web shows under a number.
    pub(crate) async fn number_to_uri(
        &self,
        repository: &TangledRepository,
        number: u64,
    ) -> Result<AtUri> {
        let collection = &self.settings.dialects.of(repository.era).pull;
        self.web_record(repository, &PULLS, number, collection)
            .await
    }

    /// Reads the record of `collection` that the web shows under a number.
    pub(crate) async fn web_record(
        &self,
        repository: &TangledRepository,
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
        let by_uri = Hint::from(format!(
            "name the {} by its at-uri, which the list shows: only the web pages know numbers",
            of.title
        ))
        .with_action(Action::op(of.list));
        let (status, page) = self.identities.page(&url, MAX_PAGE).await?;
        let missing = || {
            Error::not_found(
                of.noun,
                format!("{} has no {} #{number}", repository.id, of.title),
            )
            .with_hint(&by_uri)
        };
        if status == StatusCode::NOT_FOUND {
            return Err(missing());
        }
        let page = String::from_utf8_lossy(&page);
        let names = &self.settings.dialects.web;
        let found = match status.is_success() {
            true => record_of(&page, names, collection, of.path, number),
            false => Err(format!("it answers with status {}", status.as_u16())),
        };
        found.map_err(|why| {
            let message = format!("{url} does not say which record #{number} is: {why}");
            Error::new(ErrorKind::Protocol, message).with_hint(&by_uri)
        })
    }
}

/// Returns the record of `collection` that the page of a number names in an HTML attribute.
///
/// Fails with the reason unless the page names exactly one such record, because a guess could make
/// a command change another pull request.
fn record_of(
    page: &str,
    names: &WebNames,
    collection: &str,
    path: &str,
    number: u64,
) -> Result<AtUri, String> {
    let mut found: Vec<AtUri> = Vec::new();
    let begin = format!("{}=\"", names.record);
    for text in page.split(&begin).skip(1) {
        let uri = text.split('"').next().unwrap_or_default();
        match AtUri::parse(uri) {
            Ok(uri) if uri.collection == collection && !found.contains(&uri) => found.push(uri),
            _ => {}
        }
        if found.len() == MAX_FOUND {
            break;
        }
    }
    if found.len() > 1 {
        let names: Vec<String> = found.iter().take(SHOWN).map(AtUri::to_string).collect();
        let (count, names) = (found.len(), names.join(", "));
        return Err(format!("it names {count} records, {names}"));
    }
    let Some(uri) = found.pop() else {
        return Err(format!("it names no record of {collection}"));
    };
    match contains_number(page, path, number) {
        true => Ok(uri),
        false => Err(format!("it names {uri}, but not that number")),
    }
}

/// Returns true if a page contains its number: in a heading (`#7`) or an address (`/pulls/7`).
fn contains_number(page: &str, path: &str, number: u64) -> bool {
    [format!("#{number}"), format!("/{path}/{number}")]
        .iter()
        .any(|text| {
            page.match_indices(text.as_str()).any(|(at, _)| {
                let (before, behind) = page.split_at(at);
                let longer = behind
                    .strip_prefix(text.as_str())
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
                // `&#39;` is an escaped apostrophe, and not the number 39.
                !longer && !before.ends_with('&')
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: &str = "sh.tangled.repo.pull";

    fn of(page: &str) -> Result<String, String> {
        record_of(page, &WebNames::default(), PULL, "pulls", 7).map(|uri| uri.to_string())
    }

    #[test]
    fn pull_page_names_the_record() {
        let own = "at://did:plc:b/sh.tangled.repo.pull/3k";
        let names = format!(
            "<a data-aturi=\"at://did:plc:a/sh.tangled.repo/r\"></a>
             <div data-aturi=\"junk\"></div><div data-aturi=\"{own}\"><i data-aturi=\"{own}\">"
        );
        for said in ["<h1>#7</h1>", "<a href=\"/a/b/pulls/7/round/0\">", "x #7"] {
            assert_eq!(of(&format!("{names}{said}")), Ok(own.to_owned()));
        }
        for other in [
            "",
            "<h1>#71</h1>",
            "<h1>7</h1>",
            "<a href=\"/a/b/issues/7\">",
            "#7a",
        ] {
            let why = of(&format!("{names}{other}")).unwrap_err();
            assert_eq!(why, format!("it names {own}, but not that number"));
        }
        let usual = WebNames::default();
        assert!(record_of(&names, &usual, "sh.tangled.repo.issue", "issues", 7).is_err());
        assert_eq!(of(""), Err(format!("it names no record of {PULL}")));
    }

    #[test]
    fn pull_page_with_several_records_is_ambiguous() {
        let (one, other) = (
            format!("at://did:plc:a/{PULL}/3k"),
            format!("at://did:plc:b/{PULL}/3m"),
        );
        let page = format!("#7<i data-aturi=\"{one}\"></i><i data-aturi=\"{other}\"></i>");
        assert_eq!(
            of(&page),
            Err(format!("it names 2 records, {one}, {other}"))
        );
        let record = |n: usize| format!("<i data-aturi=\"at://did:plc:a/{PULL}/k{n}\">");
        let why = of(&(0..300).map(record).collect::<String>()).unwrap_err();
        assert!(why.starts_with("it names 100 records, at:"), "{why}");
    }
}
