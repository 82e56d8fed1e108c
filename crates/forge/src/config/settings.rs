//! The configuration as the types that its readers want.

use std::time::Duration;

use forge_core::model::MergeMethod;

use super::Config;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Config {
    /// `color`.
    #[must_use]
    pub fn color(&self) -> ColorChoice {
        match self.value("color").as_deref() {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => ColorChoice::Auto,
        }
    }

    /// `prompt`: whether to ask for what is missing, on a terminal.
    #[must_use]
    pub fn prompt(&self) -> bool {
        self.flag("prompt")
    }

    /// `timeout_s`: how long one operation may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let seconds = self.value("timeout_s").and_then(|text| text.parse().ok());
        Duration::from_secs(seconds.unwrap_or(120))
    }

    /// `wait_s`: how long a write waits for an index to show it.
    #[must_use]
    pub fn wait(&self) -> Duration {
        let seconds = self.value("wait_s").and_then(|text| text.parse().ok());
        Duration::from_secs(seconds.unwrap_or(10))
    }

    /// `merge.method`.
    #[must_use]
    pub fn merge_method(&self) -> Option<MergeMethod> {
        match self.value("merge.method")?.as_str() {
            "merge" => Some(MergeMethod::Merge),
            "squash" => Some(MergeMethod::Squash),
            "rebase" => Some(MergeMethod::Rebase),
            _ => None,
        }
    }

    /// `merge.delete_branch`.
    #[must_use]
    pub fn merge_delete_branch(&self) -> bool {
        self.flag("merge.delete_branch")
    }

    /// `mcp.confirm_required`: whether the MCP server refuses what needs the user's word where the
    /// client cannot ask for it.
    #[must_use]
    pub fn mcp_confirm_required(&self) -> bool {
        self.flag("mcp.confirm_required")
    }

    /// `pr.draft`: whether new pull requests are drafts.
    #[must_use]
    pub fn pr_draft(&self) -> bool {
        self.flag("pr.draft")
    }

    /// `pr.base`: the base branch of new pull requests.
    #[must_use]
    pub fn pr_base(&self) -> Option<String> {
        self.value("pr.base")
    }

    /// `workflow.label_prefix`: what the label of a workflow state begins with; `None` where issues
    /// have no workflow states.
    #[must_use]
    pub fn workflow_label_prefix(&self) -> Option<String> {
        self.value("workflow.label_prefix")
    }

    /// `workflow.preset`: the name of the definition of the workflow.
    #[must_use]
    pub fn workflow_preset(&self) -> Option<String> {
        self.value("workflow.preset")
    }

    /// `workflow.on_merge.from`: from which state a merge leads to which state or intent.
    #[must_use]
    pub fn workflow_from(&self) -> Vec<(String, String)> {
        self.by_state("workflow.on_merge.from")
    }

    /// `workflow.on_merge.only_default_branch`: whether only a merge into the default branch moves
    /// issues.
    #[must_use]
    pub fn workflow_only_default_branch(&self) -> bool {
        self.flag("workflow.on_merge.only_default_branch")
    }

    /// `workflow.on_merge.force`: whether a merge moves every issue, from whatever state.
    #[must_use]
    pub fn workflow_force(&self) -> bool {
        self.flag("workflow.on_merge.force")
    }

    /// The command that edits texts; `None` when neither configuration nor environment has one.
    #[must_use]
    pub fn editor(&self) -> Option<String> {
        self.value("editor").filter(|command| !command.is_empty())
    }

    /// The pager; `Some("")` when none is wanted, `None` when nobody has said.
    #[must_use]
    pub fn pager(&self) -> Option<String> {
        self.value("pager")
    }

    /// The browser; `None` for the system's.
    #[must_use]
    pub fn browser(&self) -> Option<String> {
        self.value("browser").filter(|command| !command.is_empty())
    }

    fn flag(&self, name: &str) -> bool {
        self.value(name).as_deref() == Some("true")
    }
}
