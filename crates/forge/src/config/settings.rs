//! Typed access to the configuration.

use std::{collections::BTreeSet, time::Duration};

use forge_context::{ContextSection, ContextSettings, RelatedBy};
use forge_context::{TicketKeys, TicketPattern};
use forge_core::model::MergeMethod;

use super::{Config, Source};

/// When the output of commands has colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// Colour only on a terminal.
    #[default]
    Auto,
    /// Colour everywhere.
    Always,
    /// No colour.
    Never,
}

impl Config {
    /// Returns the value of `color`.
    #[must_use]
    pub fn color(&self) -> ColorChoice {
        match self.value("color").as_deref() {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => ColorChoice::Auto,
        }
    }

    /// `prompt`: whether commands on a terminal ask the user for missing arguments.
    #[must_use]
    pub fn prompt(&self) -> bool {
        self.flag("prompt")
    }

    /// `timeout_s`: maximum duration of one operation.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let seconds = self.value("timeout_s").and_then(|text| text.parse().ok());
        Duration::from_secs(seconds.unwrap_or(120))
    }

    /// `wait_s`: how long a write waits until the index of the forge shows it.
    #[must_use]
    pub fn wait(&self) -> Duration {
        let seconds = self.value("wait_s").and_then(|text| text.parse().ok());
        Duration::from_secs(seconds.unwrap_or(10))
    }

    /// Returns the value of `merge.method`.
    #[must_use]
    pub fn merge_method(&self) -> Option<MergeMethod> {
        match self.value("merge.method")?.as_str() {
            "merge" => Some(MergeMethod::Merge),
            "squash" => Some(MergeMethod::Squash),
            "rebase" => Some(MergeMethod::Rebase),
            _ => None,
        }
    }

    /// Returns the value of `merge.delete_branch`.
    #[must_use]
    pub fn merge_delete_branch(&self) -> bool {
        self.flag("merge.delete_branch")
    }

    /// `mcp.confirm_required`: whether the MCP server refuses an action that needs confirmation
    /// when the client cannot ask the user.
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

    /// `workflow.preset`: the name of a built-in workflow.
    #[must_use]
    pub fn workflow_preset(&self) -> Option<String> {
        self.value("workflow.preset")
    }

    /// `workflow.definition`: the file that defines the workflow.
    #[must_use]
    pub fn workflow_definition(&self) -> Option<String> {
        self.value("workflow.definition")
    }

    /// `workflow.store`: whether the workflow states of issues are stored in `fields` or `labels`.
    #[must_use]
    pub fn workflow_store(&self) -> Option<String> {
        self.value("workflow.store")
    }

    /// `workflow.label_prefix`: the prefix of labels that store a workflow state.
    #[must_use]
    pub fn workflow_label_prefix(&self) -> Option<String> {
        self.value("workflow.label_prefix")
    }

    /// `workflow.board`: the project board whose fields store the workflow states.
    #[must_use]
    pub fn workflow_board(&self) -> Option<String> {
        self.value("workflow.board")
    }

    /// Returns true if the user's configuration chooses a workflow, or where its states are stored.
    /// In this case a merge changes the state of an issue instead of only closing it.
    #[must_use]
    pub fn chooses_workflow(&self) -> bool {
        let keys = ["definition", "preset", "store", "label_prefix", "board"];
        keys.iter().any(|key| {
            // The default of `workflow.preset` is not a choice of the user.
            let entry = self.get(&format!("workflow.{key}"));
            entry.is_ok_and(|entry| entry.value.is_some() && entry.source != Source::Default)
        })
    }

    /// `context.include`: the default sections in the result of `forge pr context`.
    #[must_use]
    pub fn context_include(&self) -> BTreeSet<ContextSection> {
        let names = self.value("context.include").unwrap_or_default();
        let sections = names.split(' ').map(ContextSection::parse);
        sections.filter_map(Result::ok).collect()
    }

    /// `context.cache_ttl_seconds`: how long the result of `forge pr context` is cached.
    #[must_use]
    pub fn context_cache_ttl(&self) -> Duration {
        Duration::from_secs(self.count("context.cache_ttl_seconds").unwrap_or(60))
    }

    /// Returns the settings of the table `context` that have no method of their own.
    #[must_use]
    pub fn context_settings(&self) -> ContextSettings {
        let words = |name: &str| -> Vec<String> {
            let text = self.value(name).unwrap_or_default();
            text.split(' ').map(str::to_owned).collect()
        };
        let mut settings = ContextSettings::default();
        let (risk, related) = (&mut settings.risk, &mut settings.related);
        let set = |field: &mut u64, name: &str| *field = self.count(name).unwrap_or(*field);
        set(&mut settings.rate_limit_buffer, "context.rate_limit_buffer");
        set(&mut risk.large_lines, "context.summary.high_risk_lines");
        set(&mut risk.medium_lines, "context.summary.medium_risk_lines");
        risk.critical_paths = words("context.summary.critical_paths");
        let lines = self.count("context.diff_context_lines");
        settings.diff_context_lines = lines
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(settings.diff_context_lines);
        settings.require_approval = self.flag("context.summary.require_approval");
        let wanted = words("context.related_prs.strategies");
        related.strategies = wanted
            .iter()
            .filter_map(|name| match name.as_str() {
                "same_files" => Some(RelatedBy::SameFiles),
                "same_branch_prefix" => Some(RelatedBy::SameBranchPrefix),
                "linked_issues" => Some(RelatedBy::LinkedIssue),
                _ => None,
            })
            .collect();
        let as_i64 = |n: u64| i64::try_from(n).ok();
        let days = self.count("context.related_prs.lookback_days");
        related.lookback_days = days.and_then(as_i64).unwrap_or(related.lookback_days);
        let max = self.count("context.related_prs.max_related");
        related.max = max
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(related.max);
        settings
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// Returns the patterns of JIRA ticket keys, from `jira.enabled`, `jira.project_keys` and
    /// `jira.key_patterns`.
    pub(crate) fn ticket_keys(&self) -> TicketKeys {
        let list = |name| self.value(name).unwrap_or_default();
        let patterns = list("jira.key_patterns");
        let projects = list("jira.project_keys");
        let mut keys = TicketKeys::default();
        // If `jira.project_keys` names a variable that is unset, tickets are disabled. Otherwise
        // the list of projects would be empty, and an empty list allows every project.
        keys.enabled = self.flag("jira.enabled") && !self.lacks_variable("jira.project_keys");
        keys.projects = projects.split_whitespace().map(str::to_owned).collect();
        keys.patterns = patterns
            .split_whitespace()
            .filter_map(TicketPattern::parse)
            .collect();
        keys
    }

    /// Returns the command of the text editor; `None` if neither the configuration nor the
    /// environment sets it.
    #[must_use]
    pub fn editor(&self) -> Option<String> {
        self.value("editor").filter(|command| !command.is_empty())
    }

    /// Returns the pager command, if set; `Some("")` disables paging.
    #[must_use]
    pub fn pager(&self) -> Option<String> {
        self.value("pager")
    }

    /// Returns the command that opens the browser; `None` for the system's default browser.
    #[must_use]
    pub fn browser(&self) -> Option<String> {
        self.value("browser").filter(|command| !command.is_empty())
    }

    fn flag(&self, name: &str) -> bool {
        self.value(name).as_deref() == Some("true")
    }
}
