use std::path::PathBuf;

use forge::backends;
use forge_core::{Capability, ForgeKind};

use crate::safety::allow::AllowList;

/// The sets of tools that are there when they are named, and the tools of each: all others are there
/// from the start.
pub const TOOL_SETS: &[(&str, &[&str])] = &[
    (
        "issues",
        &[
            "issue_comment",
            "issue_create",
            "issue_edit",
            "issue_list",
            "issue_view",
        ],
    ),
    (
        "workflow",
        &[
            "workflow_advance",
            "workflow_claim",
            "workflow_pick",
            "workflow_set_state",
            "workflow_view",
        ],
    ),
];

/// The tools that are there where a forge of the allowed repositories can do this.
const NEEDS: &[(&str, Capability)] = &[("pr_resubmit", Capability::PrResubmit)];

/// What a server may do.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Tools that change something are there.
    pub write: bool,
    /// The repositories that it may touch; all where the list is empty, except that a directory needs
    /// a place in [`Self::paths`] or to be where the server was started.
    pub repos: AllowList,
    /// The directories whose repositories it may touch as well.
    pub paths: AllowList,
    /// The repositories among them that it may change; all of them where the list is empty.
    pub writable: AllowList,
    /// Refuses what needs somebody's word where the client cannot ask for it.
    pub confirm_required: bool,
    /// The names of [`TOOL_SETS`] whose tools are there as well.
    pub tool_sets: Vec<String>,
    /// The tools that are there beside those sets; where it is empty, all that are in no set.
    pub tools: Vec<String>,
    /// The tools that are not there.
    pub without_tools: Vec<String>,
    /// The directory whose repository is meant where none is named.
    pub dir: PathBuf,
}

impl Options {
    /// Whether a tool of this name is there.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|name| name == tool);
        let set = TOOL_SETS.iter().find(|(_, tools)| tools.contains(&tool));
        let by_itself = match set {
            Some((set, _)) => self.tool_sets.iter().any(|named| named == set),
            None => self.tools.is_empty(),
        };
        let needed = NEEDS.iter().find(|(name, _)| *name == tool);
        (by_itself || has(&self.tools))
            && !has(&self.without_tools)
            && needed.is_none_or(|(_, needed)| self.reaches(*needed))
    }

    /// Whether a forge that may be changed has a capability.
    fn reaches(&self, needed: Capability) -> bool {
        let can = |kind: &ForgeKind| {
            let mut backends = backends().iter();
            backends.any(|b| b.kind() == kind && b.capabilities().has(needed))
        };
        let lists = [&self.repos, &self.writable];
        lists
            .iter()
            .all(|list| list.is_empty() || list.kinds().any(&can))
    }

    /// The repositories that the lists name one by one.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.repos.named().chain(self.paths.named())
    }
}
