use std::path::PathBuf;

use forge::backends;
use forge_core::{Capability, ForgeKind};

use crate::safety::allow::AllowList;

/// Optional tool sets, each with its tools; all other tools are offered by default.
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

/// Tools that are offered only if a forge of the allowed repositories has this capability.
const NEEDS: &[(&str, Capability)] = &[("pr_resubmit", Capability::PrResubmit)];

/// Options of a server.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Offers tools that write.
    pub write: bool,
    /// The accessible repositories; empty allows all, except that a local directory has to be in
    /// [`Self::paths`] or be where the server was started.
    pub repos: AllowList,
    /// The directories whose repositories are also accessible.
    pub paths: AllowList,
    /// The writable ones of these repositories; empty allows all of them.
    pub writable: AllowList,
    /// Refuses calls that need a confirmation if the client cannot ask the user.
    pub confirm_required: bool,
    /// The names of [`TOOL_SETS`] to offer in addition.
    pub tool_sets: Vec<String>,
    /// The tools offered in addition to those sets; empty offers all that are in no set.
    pub tools: Vec<String>,
    /// The tools that are not offered.
    pub without_tools: Vec<String>,
    /// The directory of the default repository.
    pub dir: PathBuf,
}

impl ServerOptions {
    /// Returns true if the tool is offered.
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

    /// Returns true if a forge with writable repositories has a capability.
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

    /// The repositories that the lists name individually.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.repos.named().chain(self.paths.named())
    }
}
