//! Links between pull requests and issues.

use std::{collections::BTreeSet, fmt};

use serde::Serialize;

use super::{IssueId, IssueState, PrState};
use crate::{PrId, PrKey, RepoId, Warning};

/// The pull request or issue whose links are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A pull request.
    Pull(PrId),
    /// An issue.
    Issue(IssueId),
}

impl Subject {
    /// Returns the repository of the subject.
    #[must_use]
    pub fn repo(&self) -> &RepoId {
        match self {
            Self::Pull(id) => &id.repo,
            Self::Issue(id) => &id.repo,
        }
    }

    /// Key in that repository.
    #[must_use]
    pub fn key(&self) -> &PrKey {
        match self {
            Self::Pull(id) => &id.key,
            Self::Issue(id) => &id.key,
        }
    }

    /// Returns the kind of subject.
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

/// State of a link's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Open.
    Open,
    /// Closed; for a pull request, without a merge.
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

/// A link to a pull request or an issue. `Display` is a locator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// Kind of target; `None` for a bare number in another repository, which is not looked up.
    pub kind: Option<SubjectKind>,
    /// Repository of the target; `None` for a record whose repository was not looked up.
    pub repo: Option<RepoId>,
    /// Key in that repository.
    pub key: PrKey,
    /// Title, if known.
    pub title: Option<String>,
    /// State, if known.
    pub state: Option<LinkState>,
}

impl Link {
    /// Builds a link with only an address.
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

    /// Kind and address; equal for two links to the same target.
    fn identity(&self) -> (Option<SubjectKind>, String) {
        let repo = self.repo.as_ref().map(RepoId::comparison_key);
        match &self.key {
            PrKey::Number(n) => (self.kind, format!("{}#{n}", repo.unwrap_or_default())),
            // An at-uri identifies a record together with its kind.
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

/// All links of a pull request or an issue.
///
/// Each target is in one list per direction, the strongest: a closed issue or a dependency is not
/// repeated among the mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Links {
    /// Issues that a merge of the subject closes.
    pub closes: Vec<Link>,
    /// Pull requests that close the subject when merged.
    pub closed_by: Vec<Link>,
    /// Targets mentioned in the subject's own text and comments, outside of code.
    pub mentions: Vec<Link>,
    /// Pull requests and issues that mention the subject in their text or comments.
    pub mentioned_by: Vec<Link>,
    /// Pull requests below the subject in a stack: a record says so, or both are open and the
    /// subject's base branch is the head branch of the other pull request.
    pub depends_on: Vec<Link>,
    /// Pull requests stacked on the subject.
    pub needed_by: Vec<Link>,
    /// Links that could not be read or cannot be known, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Links {
    /// Removes duplicates, links to `subject` itself, and targets that a stronger list has.
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

    /// Returns the lists with their names, in display order.
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
    fn link_target_is_listed_once_per_direction() {
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
    fn links_with_different_repository_spelling_are_equal() {
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
        // A target already in a stronger list is not repeated.
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
