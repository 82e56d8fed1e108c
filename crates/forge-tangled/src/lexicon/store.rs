//! The lexicon documents, which are compiled into forge.

use std::{collections::BTreeMap, sync::LazyLock};

use super::schema::{Def, LexiconDocument};

/// A version of tangled's record formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// `sh.tangled.*` until April 2026.
    Sh2025,
    /// `sh.tangled.*` from May to about September 2026.
    Sh2026,
    /// `org.tangled.*`: Tangled 1.0.
    Org10,
}

/// The documents of one folder of `lexicons/`.
macro_rules! documents {
    ($folder:literal: $($id:literal)*) => {
        &[$(($id, include_str!(concat!("../../../../lexicons/", $folder, "/", $id, ".json")))),*]
    };
}

type Documents = &'static [(&'static str, &'static str)];

pub(super) const ATPROTO: Documents = documents!("atproto": "com.atproto.repo.strongRef");

pub(super) const SH_2025: Documents = documents!("2025":
    "sh.tangled.repo"
    "sh.tangled.repo.collaborator"
    "sh.tangled.repo.issue"
    "sh.tangled.repo.issue.comment"
    "sh.tangled.repo.issue.state"
    "sh.tangled.repo.pull"
    "sh.tangled.repo.pull.comment"
    "sh.tangled.repo.pull.status"
);

pub(super) const SH_2026: Documents = documents!("2026":
    "sh.tangled.feed.comment"
    "sh.tangled.label.definition"
    "sh.tangled.label.op"
    "sh.tangled.markup.markdown"
    "sh.tangled.pipeline"
    "sh.tangled.pipeline.status"
    "sh.tangled.repo"
    "sh.tangled.repo.collaborator"
    "sh.tangled.repo.issue"
    "sh.tangled.repo.issue.comment"
    "sh.tangled.repo.issue.state"
    "sh.tangled.repo.issue.state.closed"
    "sh.tangled.repo.issue.state.open"
    "sh.tangled.repo.pull"
    "sh.tangled.repo.pull.comment"
    "sh.tangled.repo.pull.status"
    "sh.tangled.repo.pull.status.closed"
    "sh.tangled.repo.pull.status.merged"
    "sh.tangled.repo.pull.status.open"
);

pub(super) const ORG_1_0: Documents = documents!("1.0":
    "org.tangled.embed.commit"
    "org.tangled.feed.comment"
    "org.tangled.git.oid"
    "org.tangled.graph.collaborator"
    "org.tangled.label.definition"
    "org.tangled.label.defs"
    "org.tangled.markup.embed.image"
    "org.tangled.markup.markdown"
    "org.tangled.repo.declaration"
    "org.tangled.repo.manifest"
    "org.tangled.review.patch"
    "org.tangled.track.ticket"
);

type Parsed = BTreeMap<&'static str, LexiconDocument>;

/// Parses the documents. An invalid document is left out; a test ensures that there is none.
fn parse(all: &[Documents]) -> Parsed {
    all.iter()
        .flat_map(|documents| documents.iter())
        .filter_map(|(id, text)| Some((*id, serde_json::from_str(text).ok()?)))
        .filter(|(id, document): &(&str, LexiconDocument)| {
            document.lexicon == 1 && document.id == *id
        })
        .collect()
}

impl Set {
    /// All versions, oldest first.
    pub const ALL: [Self; 3] = [Self::Sh2025, Self::Sh2026, Self::Org10];

    fn documents(self) -> &'static Parsed {
        // Lexicons that did not change between 2025 and 2026 are only in `SH_2026`. The lexicons in
        // `SH_2025` replace those that changed.
        static SH_2025_ALL: LazyLock<Parsed> =
            LazyLock::new(|| parse(&[ATPROTO, SH_2026, SH_2025]));
        static SH_2026_ALL: LazyLock<Parsed> = LazyLock::new(|| parse(&[ATPROTO, SH_2026]));
        static ORG_1_0_ALL: LazyLock<Parsed> = LazyLock::new(|| parse(&[ATPROTO, ORG_1_0]));
        match self {
            Self::Sh2025 => &SH_2025_ALL,
            Self::Sh2026 => &SH_2026_ALL,
            Self::Org10 => &ORG_1_0_ALL,
        }
    }

    /// Returns the definition `name` of the document `id`.
    pub(super) fn find(self, id: &str, name: &str) -> Option<&'static Def> {
        self.documents().get(id)?.defs.get(name)
    }

    pub(super) fn ids(self) -> impl Iterator<Item = &'static str> {
        self.documents().keys().copied()
    }
}
