//! The protocol's names, as data. Tangled changed its protocol twice in 2026; which of the three is
//! spoken is found out per repository.

use std::borrow::Cow;

type Name = Cow<'static, str>;

/// Which protocol a repository speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// Until spring 2026: repositories by at-uri, the patch in the record or as one blob.
    Sh2025,
    /// From May 2026: repositories by DID, rounds of gzipped patch blobs.
    Sh2026,
    /// Tangled 1.0, from October 2026: records in the repository's own account, rounds of commits.
    Org10,
}

impl Era {
    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sh2025 => "2025",
            Self::Sh2026 => "2026",
            Self::Org10 => "1.0",
        }
    }
}

/// The names of one protocol. A name that does not exist in it is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Pull requests (in 1.0: tickets).
    pub pull: Name,
    /// Rounds, where they are records of their own.
    pub patch: Name,
    /// Status records.
    pub status: Name,
    /// The status tokens: open, closed, merged.
    pub states: [Name; 3],
    /// Issues (in 1.0: tickets).
    pub issue: Name,
    /// States of issues.
    pub issue_state: Name,
    /// The tokens of these states: open, closed.
    pub issue_states: [Name; 2],
    /// Comments.
    pub comment: Name,
    /// Comments of an older kind, which are read and not written.
    pub old_comment: Name,
    /// Changes of labels.
    pub label_op: Name,
    /// Definitions of labels.
    pub label: Name,
    /// Repositories.
    pub repo: Name,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialects {
    /// `sh.tangled.*`, in both of its forms.
    pub sh: Dialect,
    /// `org.tangled.*`.
    pub org: Dialect,
}

const fn name(text: &'static str) -> Name {
    Cow::Borrowed(text)
}

impl Default for Dialects {
    fn default() -> Self {
        Self {
            sh: Dialect {
                pull: name("sh.tangled.repo.pull"),
                patch: name(""),
                status: name("sh.tangled.repo.pull.status"),
                states: [
                    name("sh.tangled.repo.pull.status.open"),
                    name("sh.tangled.repo.pull.status.closed"),
                    name("sh.tangled.repo.pull.status.merged"),
                ],
                issue: name("sh.tangled.repo.issue"),
                issue_state: name("sh.tangled.repo.issue.state"),
                issue_states: [
                    name("sh.tangled.repo.issue.state.open"),
                    name("sh.tangled.repo.issue.state.closed"),
                ],
                comment: name("sh.tangled.feed.comment"),
                old_comment: name("sh.tangled.repo.pull.comment"),
                label_op: name("sh.tangled.label.op"),
                label: name("sh.tangled.label.definition"),
                repo: name("sh.tangled.repo"),
            },
            org: Dialect {
                pull: name("org.tangled.track.ticket"),
                patch: name("org.tangled.review.patch"),
                status: name(""),
                states: [name("open"), name("closed"), name("merged")],
                issue: name("org.tangled.track.ticket"),
                issue_state: name(""),
                issue_states: [name("open"), name("closed")],
                comment: name("org.tangled.feed.comment"),
                old_comment: name(""),
                label_op: name(""),
                label: name("org.tangled.label.definition"),
                repo: name("org.tangled.repo.declaration"),
            },
        }
    }
}

impl Dialects {
    /// The names of an era.
    #[must_use]
    pub fn of(&self, era: Era) -> &Dialect {
        match era {
            Era::Sh2025 | Era::Sh2026 => &self.sh,
            Era::Org10 => &self.org,
        }
    }
}
