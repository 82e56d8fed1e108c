//! The rule for branch names: a record of somebody is nobody's word about a branch.
//!
//! Anybody can open a pull request that names a branch of the target repository as its head. Such a
//! pull request selects, blocks or deletes that branch only if its author may push there.

use std::fmt;

use serde::Serialize;

use super::PullRequest;
use crate::{Error, Hint, PrKey, Precondition, Result, text};

/// Right of a pull request's author to push to the repository of the head branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchClaim {
    /// The author may push, or the host accepts such a head only from an author who may.
    Proven,
    /// The head is a branch of another repository, such as a fork.
    OtherRepository,
    /// The author may not push.
    Unproven,
    /// An event names another head branch than the event that opened the pull request.
    Redirected,
    /// The deciding list could not be read, such as that of the accounts that may push.
    Unknown,
}

impl BranchClaim {
    /// Judges a head in the target repository; `may_push` is `None` if it is unknown.
    #[must_use]
    pub const fn of_author(may_push: Option<bool>) -> Self {
        match may_push {
            Some(true) => Self::Proven,
            Some(false) => Self::Unproven,
            None => Self::Unknown,
        }
    }

    /// Returns why the claim does not count; `None` if it counts.
    #[must_use]
    pub const fn objection(self) -> Option<&'static str> {
        match self {
            Self::Proven => None,
            Self::OtherRepository => Some("the branch is in another repository"),
            Self::Unproven => Some("the author may not push to this repository"),
            Self::Redirected => {
                Some("it was opened for another branch, and no command changes the head branch")
            }
            Self::Unknown => Some("it is unknown whether the author may name the branch"),
        }
    }

    /// Checks that the branch `head` may be deleted as the head branch of `pull`.
    ///
    /// # Errors
    /// `precondition_failed` unless the claim is [`Self::Proven`].
    pub fn check_deletion(self, pull: &dyn fmt::Display, head: &str) -> Result<()> {
        let Some(objection) = self.objection() else {
            return Ok(());
        };
        let head = text::one_line(head);
        let message = format!("cannot delete '{head}' as the head branch of {pull}: {objection}");
        Err(Error::precondition(Precondition::Rule, message)
            .with_hint("look at the branch, then delete it with git"))
    }
}

/// A pull request that names the searched branch as its head, although its author is not proven to
/// push there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnprovenPull {
    /// Key of the pull request, by which it can be named.
    pub key: PrKey,
    /// Why it does not count.
    pub claim: BranchClaim,
}

impl UnprovenPull {
    /// Names a pull request whose claim does not count.
    #[must_use]
    pub const fn new(key: PrKey, claim: BranchClaim) -> Self {
        Self { key, claim }
    }
}

/// The pull requests of a head branch.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HeadMatches {
    /// Pull requests for which the branch name stands, open ones first.
    pub pulls: Vec<PullRequest>,
    /// Other pull requests that name the branch. They are neither selected, nor do they prevent
    /// another pull request of the branch. At most [`Self::MAX_UNPROVEN`] are listed.
    pub unproven: Vec<UnprovenPull>,
}

impl HeadMatches {
    /// Maximum length of [`Self::unproven`], because strangers choose its length.
    pub const MAX_UNPROVEN: usize = 5;

    /// Moves pull requests whose head is in another repository to [`Self::unproven`].
    pub(crate) fn drop_other_repositories(&mut self) {
        let pulls = std::mem::take(&mut self.pulls);
        let (others, own): (Vec<_>, Vec<_>) = pulls
            .into_iter()
            .partition(PullRequest::is_cross_repository);
        self.pulls = own;
        for pull in others {
            self.add_unproven(pull.id.key, BranchClaim::OtherRepository);
        }
    }

    /// Adds a pull request whose claim does not count, unless [`Self::MAX_UNPROVEN`] are listed.
    pub fn add_unproven(&mut self, key: PrKey, claim: BranchClaim) {
        if self.unproven.len() < Self::MAX_UNPROVEN {
            self.unproven.push(UnprovenPull::new(key, claim));
        }
    }

    /// Returns the error if the branch `head` selects no pull request, but some name it.
    #[must_use]
    pub fn unproven_error(&self, head: &str) -> Option<Error> {
        let first = self.unproven.first()?;
        let named: Vec<String> = self.unproven.iter().map(describe_unproven).collect();
        let message = format!(
            "no pull request is selected by branch \"{}\": {}",
            text::one_line(head),
            named.join("; ")
        );
        let is_unknown = self
            .unproven
            .iter()
            .any(|p| p.claim == BranchClaim::Unknown);
        let error = if is_unknown {
            Error::precondition(Precondition::Rule, message)
        } else {
            Error::not_found(crate::Noun::PullRequest, message)
        };
        let hint = format!("if one of them is meant, name it: {}", name_of(&first.key));
        Some(error.with_hint(Hint::from(hint)))
    }
}

impl From<Vec<PullRequest>> for HeadMatches {
    fn from(pulls: Vec<PullRequest>) -> Self {
        Self {
            pulls,
            unproven: Vec::new(),
        }
    }
}

fn describe_unproven(pull: &UnprovenPull) -> String {
    let objection = pull.claim.objection().unwrap_or_default();
    format!("{} names it, but {objection}", name_of(&pull.key))
}

fn name_of(key: &PrKey) -> String {
    match key {
        PrKey::Number(number) => format!("#{number}"),
        PrKey::Record(uri) => text::one_line(uri).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ForgeKind, PrId, RepoId, RepoPath, Timestamp, model::Actor};

    #[test]
    fn only_proven_claim_may_delete_the_branch() {
        for (may_push, wanted) in [
            (Some(true), BranchClaim::Proven),
            (Some(false), BranchClaim::Unproven),
            (None, BranchClaim::Unknown),
        ] {
            let claim = BranchClaim::of_author(may_push);
            assert_eq!(claim, wanted);
            let checked = claim.check_deletion(&"#7", "feature");
            assert_eq!(checked.is_ok(), may_push == Some(true), "{checked:?}");
        }
        let e = BranchClaim::OtherRepository.check_deletion(&"#7", "a\u{1b}b");
        let e = e.unwrap_err();
        assert_eq!(e.code(), "precondition_failed");
        assert!(!e.message().contains('\u{1b}'), "{e:?}");
    }

    #[test]
    fn unproven_pulls_are_named_but_not_selected() {
        let mut found = HeadMatches::default();
        assert!(found.unproven_error("main").is_none());
        for number in 1..=9 {
            found.add_unproven(PrKey::Number(number), BranchClaim::Unproven);
        }
        let e = found.unproven_error("main").unwrap();
        assert!(e.is_not_found() && e.message().contains("#5"), "{e:?}");
        assert!(!e.message().contains("#6"), "{e:?}");
        assert!(e.hint().unwrap().text().contains("#1"), "{e:?}");
        found.unproven.truncate(1);
        found.add_unproven(PrKey::Number(12), BranchClaim::Unknown);
        let e = found.unproven_error("main").unwrap();
        assert_eq!(e.code(), "precondition_failed");
    }

    #[test]
    fn head_in_other_repository_is_not_selected() {
        let repo = RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Did("did:plc:a".to_owned()),
        };
        let pull = |number: u64| {
            let id = PrId {
                repo: repo.clone(),
                key: PrKey::Number(number),
            };
            PullRequest::new(id, "T", Actor::new("grace"), Timestamp::from_unix(0))
        };
        let mut fork = pull(1);
        fork.head_repo_is_unknown = true;
        let mut found = HeadMatches::from(vec![fork, pull(2)]);
        found.drop_other_repositories();
        let numbers: Vec<_> = found.pulls.iter().map(|pull| pull.number).collect();
        assert_eq!(numbers, [Some(2)]);
        let claim = BranchClaim::OtherRepository;
        assert_eq!(found.unproven, [UnprovenPull::new(PrKey::Number(1), claim)]);
    }
}
