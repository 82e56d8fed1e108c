//! What the user has chosen once for every bundle.

use crate::{LOOKBACK_DAYS, MAX_RELATED, RelatedBy, RiskLimits};

/// What holds for every bundle of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextSettings {
    /// So many requests of the forge's rate limit are kept in reserve: with fewer left, optional
    /// sections are left out.
    pub rate_limit_buffer: u64,
    /// Whether somebody has to approve although the forge asks for no approval.
    pub require_approval: bool,
    /// Lines of context around changes where the caller names no number: a preference, for which no
    /// commit is fetched.
    pub diff_context_lines: u32,
    /// When a change is large, and where a mistake costs much.
    pub risk: RiskLimits,
    /// What relates two pull requests.
    pub related: RelatedSettings,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            rate_limit_buffer: 100,
            require_approval: true,
            diff_context_lines: 5,
            risk: RiskLimits::default(),
            related: RelatedSettings::default(),
        }
    }
}

/// What relates two pull requests, and how many are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedSettings {
    /// What is looked for beside dependencies.
    pub strategies: Vec<RelatedBy>,
    /// How many are shown.
    pub max: usize,
    /// Closed pull requests that nobody touched for so many days are left out.
    pub lookback_days: i64,
}

impl RelatedSettings {
    /// Whether that is looked for.
    #[must_use]
    pub fn looks_for(&self, by: RelatedBy) -> bool {
        self.strategies.contains(&by)
    }
}

impl Default for RelatedSettings {
    fn default() -> Self {
        Self {
            strategies: vec![
                RelatedBy::SameFiles,
                RelatedBy::SameBranchPrefix,
                RelatedBy::LinkedIssue,
            ],
            max: MAX_RELATED,
            lookback_days: LOOKBACK_DAYS,
        }
    }
}
