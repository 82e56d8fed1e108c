//! The user's settings for every bundle.

use crate::{LOOKBACK_DAYS, MAX_RELATED, RelatedBy, RiskLimits};

/// Settings that apply to every bundle of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextSettings {
    /// Minimum number of remaining requests of the rate limit. If fewer remain, optional sections
    /// are left out.
    pub rate_limit_buffer: u64,
    /// True if an approval is required even when the forge requires none.
    pub require_approval: bool,
    /// The number of context lines in a diff, used if the caller requests no number. No commit is
    /// fetched to provide this number of lines, because it is only a preference.
    pub diff_context_lines: u32,
    /// Thresholds of a large change, and critical paths.
    pub risk: RiskLimits,
    /// Settings for related pull requests.
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

/// Settings for related pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelatedSettings {
    /// The relations to search for, in addition to dependencies.
    pub strategies: Vec<RelatedBy>,
    /// Maximum number of related pull requests that are shown.
    pub max: usize,
    /// Age limit in days. Closed and merged pull requests without an update for longer are left
    /// out.
    pub lookback_days: i64,
}

impl RelatedSettings {
    /// Returns true if relation `by` is searched for.
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
