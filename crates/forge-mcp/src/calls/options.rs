use std::path::PathBuf;

use forge::backends;
use forge_core::{Capability, ForgeKind};

use crate::safety::allow::AllowList;

/// Optional tool sets with their tools. Tools that are in none of these sets are offered by
/// default.
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

/// Tools that are offered only if the forge of an allowed repository has this capability.
const NEEDS: &[(&str, Capability)] = &[("pr_resubmit", Capability::PrResubmit)];

/// Options of a server.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// True if tools that write are offered.
    pub write: bool,
    /// The repositories that calls may access; an empty list allows all. A local directory must be
    /// in [`Self::paths`] or be the directory where the server was started.
    pub repos: AllowList,
    /// Directories (`--allow-path`) with repositories that calls may access, in addition to
    /// [`Self::repos`].
    pub paths: AllowList,
    /// The repositories that calls may change, if [`Self::repos`] or [`Self::paths`] also allows
    /// the access; an empty list adds no restriction.
    pub writable: AllowList,
    /// True if calls that need a confirmation are refused for clients that cannot ask the user.
    pub confirm_required: bool,
    /// The names of [`TOOL_SETS`] to offer in addition to the default tools.
    pub tool_sets: Vec<String>,
    /// The names of tools to offer. If the list is empty, all tools outside of [`TOOL_SETS`] are
    /// offered.
    pub tools: Vec<String>,
    /// Tools that are never offered.
    pub without_tools: Vec<String>,
    /// The directory of the default repository.
    pub dir: PathBuf,
}

impl ServerOptions {
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

    /// Returns true if the forge of a writable repository has the capability.
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

    /// Returns the patterns in [`Self::repos`] and [`Self::paths`] that name a single repository.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.repos.named().chain(self.paths.named())
    }
}
