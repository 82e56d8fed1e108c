//! How pull requests and issues refer to each other.

use std::{collections::BTreeSet, fmt};

use serde::Serialize;

use super::{IssueId, IssueState, PrState};
use crate::{PrId, PrKey, RepoId, Warning};

/// What is asked about: a pull request or an issue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A pull request.
    Pull(PrId),
    /// An issue.
    Issue(IssueId),
}

impl Subject {
    /// The repository that it is in.
    #[must_use]
    pub fn repo(&self) -> &RepoId {
        match self {
            Self::Pull(id) => &id.repo,
            Self::Issue(id) => &id.repo,
        }
    }

    /// Its key there.
    #[must_use]
    pub fn key(&self) -> &PrKey {
        match self {
            Self::Pull(id) => &id.key,
            Self::Issue(id) => &id.key,
        }
    }

    /// Which of the two it is.
    #[must_use]
    pub fn kind(&self) -> SubjectKind {
        match self {
            Self::Pull(_) => SubjectKind::PullRequest,
            Self::Issue(_) => SubjectKind::Issue,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pull(id) => id.fmt(f),
            Self::Issue(id) => id.fmt(f),
        }
    }
}

/// A pull request or an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A pull request.
    PullRequest,
    /// An issue.
    Issue,
}

/// The state of what a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Open.
    Open,
    /// Closed; a pull request without being merged.
    Closed,
    /// Merged.
    Merged,
}

impl From<PrState> for LinkState {
    fn from(state: PrState) -> Self {
        match state {
            PrState::Open => Self::Open,
            PrState::Closed => Self::Closed,
            PrState::Merged => Self::Merged,
        }
    }
}

impl From<IssueState> for LinkState {
    fn from(state: IssueState) -> Self {
        match state {
            IssueState::Open => Self::Open,
            IssueState::Closed => Self::Closed,
        }
    }
}

/// What is at the other end. `Display` is a locator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// What it is; `None` where a text names it by number alone in another repository, which nobody
    /// is asked about.
    pub kind: Option<SubjectKind>,
    /// Its repository; `None` for a record whose repository was not asked for.
    pub repo: Option<RepoId>,
    /// Its key there.
    pub key: PrKey,
    /// Its title, where it is known.
    pub title: Option<String>,
    /// Its state, where it is known.
    pub state: Option<LinkState>,
}

impl Link {
    /// One that is known by its address alone.
    #[must_use]
    pub fn bare(kind: Option<SubjectKind>, repo: Option<RepoId>, key: PrKey) -> Self {
        Self {
            kind,
            repo,
            key,
            title: None,
            state: None,
        }
    }

    /// What it is and where; equal for two links to the same thing.
    fn identity(&self) -> (Option<SubjectKind>, String) {
        let repo = self.repo.as_ref().map(RepoId::comparison_key);
        match &self.key {
            PrKey::Number(n) => (self.kind, format!("{}#{n}", repo.unwrap_or_default())),
            // A record says by itself what it is and where.
            PrKey::Record(uri) => (None, uri.clone()),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.key, &self.repo) {
            (PrKey::Number(n), Some(repo)) if self.kind == Some(SubjectKind::Issue) => {
                IssueId::number(repo.clone(), *n).fmt(f)
            }
            (PrKey::Number(n), Some(repo)) => write!(f, "{repo}#{n}"),
            (PrKey::Number(n), None) => write!(f, "#{n}"),
            (PrKey::Record(uri), _) => f.write_str(uri),
        }
    }
}

/// How a pull request or an issue is linked with others.
///
/// Each end is in one list in each direction, the strongest: what it closes or depends on is not
/// among what it mentions as well, and likewise for the other direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Links {
    /// The issues that merging it closes.
    pub closes: Vec<Link>,
    /// The pull requests that close it when they are merged.
    pub closed_by: Vec<Link>,
    /// What its own text and comments name, outside of code.
    pub mentions: Vec<Link>,
    /// What names it in its text or its comments.
    pub mentioned_by: Vec<Link>,
    /// The pull requests that it builds on: a record says so, or it is open and its base branch is
    /// the head branch of another open one.
    pub depends_on: Vec<Link>,
    /// The pull requests that build on it.
    pub needed_by: Vec<Link>,
    /// What could not be read in full, or cannot be known here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Links {
    /// Takes out what is there twice, what leads back to `subject`, and what a stronger list has.
    #[must_use]
    pub fn settled(mut self, subject: &Subject) -> Self {
        let own = Link::bare(
            Some(subject.kind()),
            Some(subject.repo().clone()),
            subject.key().clone(),
        )
        .identity();
        let outward = [&mut self.closes, &mut self.depends_on, &mut self.mentions];
        let inward = [
            &mut self.closed_by,
            &mut self.needed_by,
            &mut self.mentioned_by,
        ];
        for direction in [outward, inward] {
            let mut seen = BTreeSet::from([own.clone()]);
            for list in direction {
                list.retain(|link| {
                    let (kind, at) = link.identity();
                    let known = [SubjectKind::PullRequest, SubjectKind::Issue]
                        .iter()
                        .any(|kind| seen.contains(&(Some(*kind), at.clone())));
                    (kind.is_some() || !known) && seen.insert((kind, at))
                });
            }
        }
        self
    }

    /// Every list with its name, in the order in which they are shown.
    #[must_use]
    pub fn lists(&self) -> [(&'static str, &[Link]); 6] {
        [
            ("closes", &self.closes),
            ("closed by", &self.closed_by),
            ("depends on", &self.depends_on),
            ("needed by", &self.needed_by),
            ("mentions", &self.mentions),
            ("mentioned by", &self.mentioned_by),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(kind: SubjectKind, number: u64) -> Link {
        Link::bare(Some(kind), Some(RepoId::local("/r")), PrKey::Number(number))
    }

    #[test]
    fn each_end_is_there_once_in_each_direction() {
        let issue = |n| link(SubjectKind::Issue, n);
        let pull = |n| link(SubjectKind::PullRequest, n);
        let subject = Subject::Pull(PrId::number(RepoId::local("/r"), 1));
        let links = Links {
            closes: vec![issue(3)],
            mentions: vec![issue(3), pull(1), issue(1), pull(2), issue(1)],
            depends_on: vec![pull(2)],
            mentioned_by: vec![issue(3), pull(1)],
            ..Links::default()
        };
        let settled = links.settled(&subject);
        assert_eq!(settled.closes, [issue(3)]);
        assert_eq!(settled.depends_on, [pull(2)]);
        assert_eq!(settled.mentions, [issue(1)]);
        assert_eq!(settled.mentioned_by, [issue(3)]);
    }

    #[test]
    fn two_spellings_of_a_repository_are_one() {
        let github = |owner: &str| RepoId {
            kind: crate::ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: crate::RepoPath::Named {
                owner: owner.to_owned(),
                name: "r".to_owned(),
            },
        };
        let at = |owner: &str| Link::bare(None, Some(github(owner)), PrKey::Number(7));
        let links = Links {
            mentions: vec![at("Octo"), at("octo"), at("other")],
            ..Links::default()
        };
        let subject = Subject::Issue(IssueId::number(github("octo"), 9));
        assert_eq!(links.settled(&subject).mentions, [at("Octo"), at("other")]);
        // What is known better already is not there again.
        let closed = Link {
            kind: Some(SubjectKind::Issue),
            ..at("other")
        };
        let links = Links {
            closes: vec![closed],
            mentions: vec![at("other")],
            ..Links::default()
        };
        assert!(links.settled(&subject).mentions.is_empty());
    }
}
