//! Tickets of an issue tracker such as Jira: their keys in texts, and their details.

use std::{fmt, sync::Arc, time::Instant};

use async_trait::async_trait;
use forge_core::{
    Error, Result,
    mentions::{goes_on, is_standard, ticket_shape},
    model::{Comment, LinkState},
};
use futures::future::join_all;
use regex::{Regex, RegexBuilder};

use crate::{
    ContextEvent, ContextObserver,
    events::milliseconds,
    linked::{LinkTarget, LinkedItem},
};

const MAX_TICKETS: usize = 10;
/// Maximum length of a key, in bytes.
const MAX_KEY: usize = 64;
/// Maximum length of a regular expression for ticket keys, in bytes.
const MAX_PATTERN: usize = 200;
const MAX_PROGRAM: usize = 256 * 1024;

/// A user's regular expression for ticket keys.
#[derive(Clone, Debug)]
pub struct TicketPattern(Regex);

impl TicketPattern {
    /// Compiles a regular expression over ASCII; returns `None` if it is invalid or too large.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let regex = RegexBuilder::new(&format!("^(?:{text})"))
            .unicode(false)
            .size_limit(MAX_PROGRAM)
            .build();
        regex.ok().filter(|_| text.len() <= MAX_PATTERN).map(Self)
    }

    /// Returns the key at the beginning of a text. Only letters, digits, `-` and `_` are allowed,
    /// because a key becomes part of a URL.
    fn key_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        // The length of the text is limited. Otherwise matching could be slow, because a pattern
        // may read far ahead and is tried at many positions of a long word.
        let text = text.get(..text.floor_char_boundary(2 * MAX_KEY))?;
        let (key, behind) = text.split_at_checked(self.0.find(text)?.end())?;
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        let is_key = (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(is_plain);
        (is_key && !goes_on(behind)).then_some(key)
    }
}

/// Rules for recognising ticket keys in a text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TicketKeys {
    /// True to recognise tickets.
    pub enabled: bool,
    /// The URL of the tracker. A link to a page of this tracker is recognised as a ticket, and each
    /// ticket gets a link to its page. If `None`, an `https` URL of the form `…/browse/KEY` is
    /// recognised on any host.
    pub base_url: Option<String>,
    /// The allowed projects. An empty list allows all projects, but not names of standards such as
    /// `UTF-8`.
    pub projects: Vec<String>,
    /// The patterns of keys; an empty list means the default pattern.
    pub patterns: Vec<TicketPattern>,
}

impl Default for TicketKeys {
    fn default() -> Self {
        Self {
            enabled: true,
            base_url: None,
            projects: Vec::new(),
            patterns: Vec::new(),
        }
    }
}

impl TicketKeys {
    /// Returns the ticket key at the beginning of a text: the key itself, or the URL of its page.
    #[must_use]
    pub fn key_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        let text = self.skip_browse_path(text).unwrap_or(text);
        let key = match self.patterns.as_slice() {
            [] => ticket_shape(text),
            patterns => patterns.iter().find_map(|pattern| pattern.key_of(text)),
        };
        key.filter(|key| self.enabled && self.is_allowed(key))
    }

    /// Returns the text after `/browse/` in the URL of a ticket's page.
    fn skip_browse_path<'a>(&self, text: &'a str) -> Option<&'a str> {
        if let Some(base) = &self.base_url {
            return text.strip_prefix(base.as_str())?.strip_prefix("/browse/");
        }
        let (site, key) = text.strip_prefix("https://")?.split_once("/browse/")?;
        (!site.is_empty() && !site.contains(['?', '#'])).then_some(key)
    }

    fn is_allowed(&self, key: &str) -> bool {
        let project = key.rsplit_once('-').map_or(key, |(project, _)| project);
        match self.projects.as_slice() {
            [] => !is_standard(key),
            projects => projects.iter().any(|p| p.eq_ignore_ascii_case(project)),
        }
    }

    fn page_of(&self, key: &str) -> Option<String> {
        let base = self.base_url.as_deref()?;
        Some(format!("{base}/browse/{key}"))
    }
}

/// Details of a ticket from its tracker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TicketDetails {
    /// The summary.
    pub title: String,
    /// The status in the tracker's terms, such as `In Progress`.
    pub status: String,
    /// True if the status means that the work is done.
    pub is_done: bool,
    /// The labels.
    pub labels: Vec<String>,
    /// The description, as text.
    pub body: String,
    /// The newest comments, oldest first.
    pub comments: Vec<Comment>,
}

impl TicketDetails {
    /// Creates an open ticket with only title and status.
    pub fn new(title: impl Into<String>, status: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            status: status.into(),
            is_done: false,
            labels: Vec::new(),
            body: String::new(),
            comments: Vec::new(),
        }
    }
}

/// An issue tracker that can be read.
#[async_trait]
pub trait Tickets: fmt::Debug + Send + Sync {
    /// Reads the ticket with this key.
    ///
    /// # Errors
    ///
    /// Fails with `not_found` if the tracker has no such ticket. With any other error the ticket
    /// may exist.
    async fn read(&self, key: &str) -> Result<TicketDetails>;
}

/// Ticket keys, and the tracker to query.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TicketSource {
    /// The rules for ticket keys.
    pub keys: TicketKeys,
    /// The tracker; `None` to read no tickets.
    pub tracker: Option<Arc<dyn Tickets>>,
}

pub(crate) type ReadTicket = (String, Result<TicketDetails>);

impl TicketSource {
    /// Reads the first tickets among `items` concurrently.
    pub(crate) async fn read(
        &self,
        items: &[LinkedItem],
        observer: &ContextObserver,
    ) -> Vec<ReadTicket> {
        let Some(tracker) = &self.tracker else {
            return Vec::new();
        };
        let keys = items.iter().filter_map(|item| match &item.target {
            LinkTarget::Ticket(key) => Some(key),
            LinkTarget::Forge(..) => None,
        });
        let reads = keys.take(MAX_TICKETS).map(|key| async move {
            let begun = Instant::now();
            let read = tracker.read(key).await;
            observer.emit(&ContextEvent::JiraFetch {
                issue_key: key.clone(),
                duration_ms: milliseconds(begun.elapsed()),
            });
            (key.clone(), read)
        });
        join_all(reads).await
    }

    /// Adds details to the tickets that were read, and removes the items whose key the tracker does
    /// not know. Returns the errors.
    pub(crate) fn fill(&self, items: &mut Vec<LinkedItem>, read: Vec<ReadTicket>) -> Vec<Error> {
        for item in items.iter_mut() {
            if let LinkTarget::Ticket(key) = &item.target {
                item.url = self.keys.page_of(key);
            }
        }
        let mut errors = Vec::new();
        for (key, read) in read {
            let target = LinkTarget::Ticket(key);
            match read {
                Ok(details) => {
                    let item = items.iter_mut().find(|item| item.target == target);
                    if let Some(item) = item {
                        item.fill_ticket(details);
                    }
                }
                Err(e) if e.is_not_found() => items.retain(|item| item.target != target),
                Err(e) => errors.push(e),
            }
        }
        errors
    }
}

impl LinkedItem {
    fn fill_ticket(&mut self, details: TicketDetails) {
        self.title = Some(details.title);
        self.state = Some(match details.is_done {
            true => LinkState::Closed,
            false => LinkState::Open,
        });
        self.status = Some(details.status);
        self.labels = details.labels;
        self.body = Some(details.body);
        self.comments = details.comments;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(projects: &[&str], patterns: &[&str]) -> TicketKeys {
        TicketKeys {
            base_url: Some("https://acme.example/jira".to_owned()),
            projects: projects.iter().map(|p| (*p).to_owned()).collect(),
            patterns: patterns
                .iter()
                .map(|p| TicketPattern::parse(p).unwrap())
                .collect(),
            ..TicketKeys::default()
        }
    }

    #[test]
    fn c_002_8_names_of_standards_are_tickets_only_if_allowed() {
        let usual = keys(&[], &[]);
        assert_eq!(usual.key_of("PROJ2-14,"), Some("PROJ2-14"));
        for text in ["SHA-256", "UTF-8", "CVE-2024-1", "GH-12", "COVID-19"] {
            assert_eq!(usual.key_of(text), None, "{text}");
        }
        let allowed = keys(&["GH", "OPS"], &[]);
        assert_eq!(allowed.key_of("GH-12"), Some("GH-12"));
        assert_eq!(allowed.key_of("PROJ-1"), None);
        let off = TicketKeys {
            enabled: false,
            ..TicketKeys::default()
        };
        assert_eq!(off.key_of("PROJ-1"), None);
    }

    #[test]
    fn r_002_18_user_patterns_replace_the_default() {
        let own = keys(&[], &[r"[a-z]+-\d{1,3}", r"T\d+", r"[A-Z]{3}-\d+"]);
        for (text, key) in [
            ("proj-12", Some("proj-12")),
            ("proj-1234", None),
            ("T99:", Some("T99")),
            ("ABC-1", Some("ABC-1")),
            ("ABCD-1", None),
            ("SHA-256", None),
            ("ABC-1-2", None),
        ] {
            assert_eq!(own.key_of(text), key, "{text}");
        }
        let long = "a".repeat(MAX_PATTERN + 1);
        for bad in ["(", "[a", r"\w{1000}{1000}", ".", &long] {
            assert!(TicketPattern::parse(bad).is_none(), "{bad}");
        }
        let odd = keys(&[], &["[ -~]+"]);
        assert_eq!(odd.key_of("../../x?y"), None);
    }

    #[test]
    fn tracker_page_url_names_a_ticket() {
        let usual = keys(&[], &[]);
        let page = "https://acme.example/jira/browse/PROJ-7?focusedCommentId=1";
        assert_eq!(usual.key_of(page), Some("PROJ-7"));
        assert_eq!(usual.key_of("https://acme.example/browse/PROJ-7"), None);
        let url = usual.page_of("PROJ-7").unwrap();
        assert_eq!(url, "https://acme.example/jira/browse/PROJ-7");
    }

    #[test]
    fn c_002_9_ticket_page_is_recognised_without_jira() {
        let mut any = TicketKeys::default();
        for (url, key) in [
            ("https://acme.example/browse/PROJ-7?x=1", Some("PROJ-7")),
            ("https://acme.example/jira/browse/PROJ-7,", Some("PROJ-7")),
            ("https://acme.example/browse/UTF-8", None),
            ("https://acme.example/browse/src", None),
            ("https://acme.example/?to=/browse/PROJ-7", None),
            ("https://acme.example/PROJ-7", None),
            ("https:///browse/PROJ-7", None),
            ("http://acme.example/browse/PROJ-7", None),
        ] {
            assert_eq!(any.key_of(url), key, "{url}");
        }
        any.projects.push("OPS".to_owned());
        assert_eq!(any.key_of("https://acme.example/browse/PROJ-7"), None);
    }

    proptest! {
        #[test]
        fn ticket_keys_of_any_text_are_plain_ascii(text in "(?s).{0,80}", pattern in ".{0,12}") {
            let mut keys = keys(&[], &[]);
            keys.patterns.extend(TicketPattern::parse(&pattern));
            if let Some(key) = keys.key_of(&text) {
                let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
                prop_assert!(key.bytes().all(is_plain) && key.len() <= MAX_KEY);
            }
        }
    }
}
