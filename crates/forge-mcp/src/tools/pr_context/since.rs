//! The section of the changes since a review or a commit.

use std::ops::Range;

use forge::context::SinceChanges;
use forge_core::model::ChangedCommit;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::{DiffOut, DiffSection, packed};
use crate::{
    content::{Clean, Cleaner, name, name_of},
    output::{BlockList, Blocks, SectionItem, serde_name},
};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SinceOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_sha: Option<Clean>,
    /// unchanged, continued, rebased or rewritten
    head_change: String,
    /// Commits that changed since then
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commits: Vec<ChangedCommitOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<DiffOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChangedCommitOut {
    /// added, changed or dropped
    change: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_sha: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha: Option<Clean>,
    headline: Clean,
}

impl ChangedCommitOut {
    fn of(commit: &ChangedCommit, c: &Cleaner) -> Self {
        let oid = |oid: &Option<String>| oid.as_ref().map(|oid| c.line(oid));
        Self {
            change: commit.change().to_owned(),
            old_sha: oid(&commit.old),
            sha: oid(&commit.new),
            headline: c.line(&commit.headline),
        }
    }
}

impl SectionItem for ChangedCommitOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        let short = |oid: &Clean| name_of(&oid.as_data().chars().take(12).collect::<String>());
        let oids = [&self.old_sha, &self.sha].into_iter().flatten().map(short);
        let oids = oids.collect::<Vec<_>>().join(" -> ");
        format!("{} {oids} {}\n", self.change, self.headline)
    }
}

/// The section of the changes, as blocks.
pub(super) struct SinceSection {
    out: SinceOut,
    commits: BlockList<ChangedCommitOut>,
    pub diff: DiffSection,
}

impl SinceSection {
    pub fn of(found: &SinceChanges, c: &Cleaner, blocks: &mut Blocks) -> Self {
        let review = found.review.as_ref().map(|id| c.line(id));
        let from_sha = found.from_sha.as_ref().map(|oid| c.line(oid));
        let names = [("review", &review), ("commit", &from_sha)];
        let named = names
            .into_iter()
            .filter_map(|(what, id)| Some(format!("{what} {}", name(id.as_ref()?))));
        let name = format!(
            "since {}: the head {}; other commits",
            named.collect::<Vec<_>>().join(", "),
            found.head_change.meaning()
        );
        let of = |commit: &ChangedCommit| ChangedCommitOut::of(commit, c);
        let commits = found.commits.iter().map(of).collect();
        let commits = blocks.section(&name, "", commits, false, c);
        let out = SinceOut {
            review,
            from_sha,
            head_change: serde_name(&found.head_change),
            commits: Vec::new(),
            diff: None,
        };
        let diff = packed("changes since then", &found.diff, c, blocks);
        Self { out, commits, diff }
    }

    /// Returns the part of the data that belongs to a page.
    pub fn on(self, page: &Range<usize>) -> Option<SinceOut> {
        let (commits, diff) = (self.commits.on(page), self.diff.on(page));
        (commits.is_some() || diff.is_some()).then(|| SinceOut {
            commits: commits.unwrap_or_default(),
            diff,
            ..self.out
        })
    }
}
