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

    /// Returns the key of the pull request or issue in its repository.
    #[must_use]
    pub fn key(&self) -> &PrKey {
        match self {
            Self::Pull(id) => &id.key,
            Self::Issue(id) => &id.key,
        }
    }

    /// Returns whether the subject is a pull request or an issue.
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

/// State of the target of a link.
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

/// A link to a pull request or an issue. `Display` prints a locator, such as
/// `github.com/octo/tools#7`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// Kind of the target. `None` for a number in another repository, because such a target is not
    /// looked up.
    pub kind: Option<SubjectKind>,
    /// Repository of the target. `None` for an atproto record, because its repository is not looked
    /// up.
    pub repo: Option<RepoId>,
    /// Key of the target in that repository.
    pub key: PrKey,
    /// Title of the target, if known.
    pub title: Option<String>,
    /// State of the target, if known.
    pub state: Option<LinkState>,
}

impl Link {
    /// Builds a link without title and state.
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

    /// Returns kind and address. Two links to the same target have the same identity.
    fn identity(&self) -> (Option<SubjectKind>, String) {
        let repo = self.repo.as_ref().map(RepoId::comparison_key);
        match &self.key {
            PrKey::Number(n) => (self.kind, format!("{}#{n}", repo.unwrap_or_default())),
            // The at-uri of a record already determines its kind.
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
/// In each direction, a target is only in the list with the strongest relation. For example, an
/// issue in [`Self::closes`] is not repeated in [`Self::mentions`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Links {
    /// Issues that a merge of the subject closes.
    pub closes: Vec<Link>,
    /// Pull requests that close the subject when merged.
    pub closed_by: Vec<Link>,
    /// Targets that the text or comments of the subject mention, outside of code.
    pub mentions: Vec<Link>,
    /// Pull requests and issues that mention the subject in their text or comments.
    pub mentioned_by: Vec<Link>,
    /// Pull requests that the subject is stacked on. Either the atproto record of the subject names
    /// the other pull request, or both are open and the base branch of the subject is the head
    /// branch of the other.
    pub depends_on: Vec<Link>,
    /// Pull requests stacked on the subject.
    pub needed_by: Vec<Link>,
    /// Warnings about links that could not be read or cannot be known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Links {
    /// Removes duplicates, links to `subject` itself, and targets that are already in a list with a
    /// stronger relation.
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

    /// Returns the lists with their names, in the order for display.
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
        // A target that is already in a list with a stronger relation is not repeated.
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
