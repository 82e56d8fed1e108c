//! Tickets of an issue tracker: what a text may call one, and what the tracker says of it.

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

/// How many tickets are read.
const MAX_TICKETS: usize = 10;
/// The longest key, in bytes.
const MAX_KEY: usize = 64;
/// The longest pattern, and the largest program that it may become, in bytes.
const MAX_PATTERN: usize = 200;
const MAX_PROGRAM: usize = 256 * 1024;

/// A pattern of the user's for keys.
#[derive(Clone, Debug)]
pub struct TicketPattern(Regex);

impl TicketPattern {
    /// From a regular expression over ASCII; `None` for what is none, and for one that is too large.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let regex = RegexBuilder::new(&format!("^(?:{text})"))
            .unicode(false)
            .size_limit(MAX_PROGRAM)
            .build();
        regex.ok().filter(|_| text.len() <= MAX_PATTERN).map(Self)
    }

    /// The key that a text begins with. Only letters, digits, `-` and `_` can be in a key, as it
    /// becomes a part of an address.
    fn key_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        let (key, behind) = text.split_at_checked(self.0.find(text)?.end())?;
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        let is_key = (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(is_plain);
        (is_key && !goes_on(behind)).then_some(key)
    }
}

/// What a text may call a ticket.
#[derive(Clone, Debug)]
pub struct TicketKeys {
    /// Whether tickets are looked for.
    pub enabled: bool,
    /// Where the tracker is: its pages name tickets, and tickets get their pages there.
    pub base_url: Option<String>,
    /// The only projects that count; empty for all but the names of standards.
    pub projects: Vec<String>,
    /// The patterns of keys; empty for the usual one.
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
    /// The key of a ticket that a text begins with: the key itself, or the address of its page.
    #[must_use]
    pub fn key_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        let base = self.base_url.as_deref();
        let text = base
            .and_then(|base| text.strip_prefix(base)?.strip_prefix("/browse/"))
            .unwrap_or(text);
        let key = match self.patterns.as_slice() {
            [] => ticket_shape(text),
            patterns => patterns.iter().find_map(|pattern| pattern.key_of(text)),
        };
        key.filter(|key| self.enabled && self.is_allowed(key))
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

/// What a tracker says of a ticket.
#[derive(Clone, Debug)]
pub struct TicketDetails {
    /// Its summary.
    pub title: String,
    /// Its status in the tracker's words, such as `In Progress`.
    pub status: String,
    /// Whether that status ends the work.
    pub is_done: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// Its description, as text.
    pub body: String,
    /// The newest comments, oldest first.
    pub comments: Vec<Comment>,
}

/// Who knows tickets.
#[async_trait]
pub trait Tickets: fmt::Debug + Send + Sync {
    /// Reads the ticket with this key.
    ///
    /// # Errors
    /// `not_found` where the tracker knows no such ticket; everything else says nothing of the key.
    async fn read(&self, key: &str) -> Result<TicketDetails>;
}

/// What is a ticket, and who is asked for it.
#[derive(Clone, Debug, Default)]
pub struct TicketSource {
    /// What is one.
    pub keys: TicketKeys,
    /// Who is asked; `None` for nobody.
    pub tracker: Option<Arc<dyn Tickets>>,
}

/// A key, and what the tracker said.
pub(crate) type ReadTicket = (String, Result<TicketDetails>);

impl TicketSource {
    /// Asks for the first tickets among `items`, at once.
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
            observer.tell(&ContextEvent::JiraFetch {
                issue_key: key.clone(),
                duration_ms: milliseconds(begun.elapsed()),
            });
            (key.clone(), read)
        });
        join_all(reads).await
    }

    /// Fills in what was read; what the tracker does not know was no ticket. What failed.
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
    fn c_002_8_standards_are_no_tickets_unless_allowed() {
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
    fn r_002_18_patterns_of_the_user_replace_the_usual_one() {
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
    fn page_of_the_tracker_names_its_ticket() {
        let usual = keys(&[], &[]);
        let page = "https://acme.example/jira/browse/PROJ-7?focusedCommentId=1";
        assert_eq!(usual.key_of(page), Some("PROJ-7"));
        assert_eq!(usual.key_of("https://acme.example/browse/PROJ-7"), None);
        let url = usual.page_of("PROJ-7").unwrap();
        assert_eq!(url, "https://acme.example/jira/browse/PROJ-7");
    }

    proptest! {
        #[test]
        fn keys_of_any_text_are_plain(text in "(?s).{0,80}", pattern in ".{0,12}") {
            let mut keys = keys(&[], &[]);
            keys.patterns.extend(TicketPattern::parse(&pattern));
            if let Some(key) = keys.key_of(&text) {
                let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
                prop_assert!(key.bytes().all(is_plain) && key.len() <= MAX_KEY);
            }
        }
    }
}
