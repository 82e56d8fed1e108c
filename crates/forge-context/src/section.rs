//! Sections of a bundle, and the request that selects them.

use std::{collections::BTreeSet, fmt, sync::Arc};

use forge_core::{
    Action, Error, Hint, Param, RepoId, Result, Timestamp, locator::Hosts, model::LocalClone,
    suggest,
};
use serde::{Serialize, Serializer};

use crate::{ContextObserver, ContextSettings, DEFAULT_DIFF_BYTES, TicketSource};

/// A section of the bundle that a caller can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ContextSection {
    /// Comments and review threads.
    Comments,
    /// Reviews with their comments.
    Reviews,
    /// The checks of the head.
    Ci,
    /// The ends of the logs of failed checks.
    CiLogs,
    /// Linked issues: closed, related or mentioned.
    LinkedIssues,
    /// Related pull requests.
    RelatedPrs,
    /// The diff, cut to its byte budget.
    Diff,
    /// The changed files.
    Files,
    /// Status events: opened, edited, closed, merged, each with actor and time.
    History,
    /// The text of the changed files at the head, around their hunks.
    Source,
}

impl ContextSection {
    /// Every section, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Comments,
        Self::Reviews,
        Self::Ci,
        Self::CiLogs,
        Self::LinkedIssues,
        Self::RelatedPrs,
        Self::Diff,
        Self::Files,
        Self::History,
        Self::Source,
    ];

    /// The default sections.
    pub const DEFAULT: [Self; 5] = [
        Self::Comments,
        Self::Reviews,
        Self::Ci,
        Self::LinkedIssues,
        Self::Diff,
    ];

    /// Sections that are left out if the rate limit is low. Linked issues are still listed, but
    /// without their texts.
    pub const OPTIONAL: [Self; 4] = [
        Self::CiLogs,
        Self::LinkedIssues,
        Self::RelatedPrs,
        Self::Source,
    ];

    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Comments => "comments",
            Self::Reviews => "reviews",
            Self::Ci => "ci",
            Self::CiLogs => "ci_logs",
            Self::LinkedIssues => "linked_issues",
            Self::RelatedPrs => "related_prs",
            Self::Diff => "diff",
            Self::Files => "files",
            Self::History => "history",
            Self::Source => "source",
        }
    }

    /// Returns a description of the content, for the documentation.
    #[must_use]
    pub const fn content(self) -> &'static str {
        match self {
            Self::Comments => "comments, and review threads with their comments",
            Self::Reviews => "reviews with their comments on lines",
            Self::Ci => "the checks of the head, failed ones first",
            Self::CiLogs => "the ends of the logs of at most 5 failed checks, 200 lines each",
            Self::LinkedIssues => {
                "the issues that the pull request closes, relates to or mentions; for the first 10 \
                 also text, labels and the newest 5 comments, at most 60,000 bytes of text in all"
            }
            Self::RelatedPrs => "at most 5 related pull requests",
            Self::Diff => "the diff under a budget",
            Self::Files => "the changed files",
            Self::History => "the status history, at most 100 events",
            Self::Source => {
                "the changed files at the head: small files whole, otherwise 20 lines around each \
                 hunk; the budget is as large as that of the diff, and separate"
            }
        }
    }

    /// Parses a name; `-` is accepted for `_`.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` (field `include`) for an unknown name; the error lists the known
    /// names.
    pub fn parse(name: &str) -> Result<Self> {
        let wanted = name.trim().replace('-', "_");
        let found = Self::ALL.into_iter().find(|s| s.name() == wanted);
        found.ok_or_else(|| {
            let names = || Self::ALL.iter().map(|s| s.name());
            let all = names().collect::<Vec<_>>().join(", ");
            let message = format!("'{name}' is not a section; the sections are {all}");
            let error = Error::invalid("include", message);
            match suggest::near(&wanted, names()).first() {
                Some(near) => {
                    let action = Action::again(&[]).replace(Param::Include, name, *near);
                    let hint = Hint::from(format!("did you mean '{near}'?"));
                    error.with_hint(hint.with_action(action))
                }
                None => error.with_hint("name some of these sections, or leave the argument out"),
            }
        })
    }
}

impl Serialize for ContextSection {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// The repositories whose issues may be read, besides the repository of the pull request. By
/// default, all repositories of the same host are allowed.
#[derive(Clone, Default)]
pub struct OtherRepos(Option<Arc<RepoFilter>>);

type RepoFilter = dyn Fn(&RepoId) -> bool + Send + Sync;

impl OtherRepos {
    /// Allows the repositories that `filter` accepts.
    pub fn only(filter: impl Fn(&RepoId) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(filter)))
    }

    pub(crate) fn has(&self, repo: &RepoId) -> bool {
        self.0.as_ref().is_none_or(|filter| filter(repo))
    }
}

impl fmt::Debug for OtherRepos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_limited = self.0.is_some();
        f.debug_tuple("OtherRepos").field(&is_limited).finish()
    }
}

/// Request for a bundle.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContextReq {
    /// The requested sections. The merge verdict does not depend on them.
    pub include: BTreeSet<ContextSection>,
    /// The byte budget of the diff, for which only the hunks count.
    pub diff_bytes: usize,
    /// The number of context lines around changes. If the forge cannot provide so many lines, the
    /// local clone provides them. Without a clone, a warning says how many context lines are shown.
    pub context_lines: Option<u32>,
    /// Adds the changes since an earlier point: `review` (the viewer's latest review), the id of a
    /// review, or a commit.
    pub since: Option<String>,
    /// The commit to which git resolves `since`. If `since` is also the id of a review, the review
    /// takes precedence.
    pub since_commit: Option<String>,
    /// A local clone. It provides context lines, large diffs, other head commits, and files.
    pub clone: Option<LocalClone>,
    /// The known hosts, for resolving issue links in texts.
    pub hosts: Hosts,
    /// Other repositories whose issues are read if the pull request mentions them.
    pub other_repos: OtherRepos,
    /// Rules for the keys of tickets (`PROJ-12`), and the issue tracker to query.
    pub tickets: TicketSource,
    /// The user's settings.
    pub settings: ContextSettings,
    /// The receiver of progress events.
    pub observer: ContextObserver,
    /// The time that the bundle reports as the time of the merge verdict.
    pub checked_at: Timestamp,
}

impl ContextReq {
    /// Creates a request for the default sections at the current time.
    #[must_use]
    pub fn new(hosts: Hosts) -> Self {
        Self {
            include: ContextSection::DEFAULT.into(),
            diff_bytes: DEFAULT_DIFF_BYTES,
            context_lines: None,
            since: None,
            since_commit: None,
            clone: None,
            hosts,
            other_repos: OtherRepos::default(),
            tickets: TicketSource::default(),
            settings: ContextSettings::default(),
            observer: ContextObserver::default(),
            checked_at: Timestamp::now(),
        }
    }

    /// Returns true for a requested section.
    #[must_use]
    pub fn wants(&self, section: ContextSection) -> bool {
        self.include.contains(&section)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_section_name_is_parsed_or_refused(name in ".{0,20}") {
            match ContextSection::parse(&name) {
                Ok(section) => prop_assert_eq!(section.name(), name.trim().replace('-', "_")),
                Err(e) => prop_assert!(e.hint().is_some()),
            }
        }
    }

    #[test]
    fn r_002_1_default_sections_match_the_requirement() {
        let names = ContextSection::DEFAULT.map(ContextSection::name);
        let wanted = ["comments", "reviews", "ci", "linked_issues", "diff"];
        assert_eq!(names, wanted);
    }

    #[test]
    fn section_names_round_trip() {
        for section in ContextSection::ALL {
            assert_eq!(ContextSection::parse(section.name()).unwrap(), section);
        }
        let dashed = ContextSection::parse("related-prs").unwrap();
        assert_eq!(dashed, ContextSection::RelatedPrs);
        let error = ContextSection::parse("dif").unwrap_err();
        assert_eq!(error.hint().unwrap().text(), "did you mean 'diff'?");
    }
}
