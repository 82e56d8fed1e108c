//! Risk of a change, by its size and its paths.

use forge_core::{glob, model::PullRequest};
use serde::Serialize;

/// Level of care that a change needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// A score of 0.
    Low,
    /// A score of 1 or 2.
    Medium,
    /// A score of 3 or more.
    High,
}

impl RiskLevel {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    const fn of(score: u64) -> Self {
        match score {
            0 => Self::Low,
            1 | 2 => Self::Medium,
            _ => Self::High,
        }
    }
}

/// The risk of a change, with the rules that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Risk {
    /// The level.
    pub level: RiskLevel,
    /// The sum of the points in [`Risk::reasons`].
    pub score: u64,
    /// The rules that matched.
    pub reasons: Vec<RiskReason>,
}

/// A rule that adds to the risk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RiskReason {
    /// The name of the rule, as in [`RISK_RULES`].
    pub rule: &'static str,
    /// The points added to the score.
    pub points: u64,
    /// The number or path that matched.
    pub evidence: String,
}

/// Number of changed lines above which a change is large.
pub const LARGE_CHANGE_LINES: u64 = 500;
/// Number of changed lines above which a change is medium-sized.
pub const MEDIUM_CHANGE_LINES: u64 = 200;
/// Number of files above which a change touches many files.
pub const MANY_FILES: u64 = 20;

/// Names of directories, and of files without their extension, in which a mistake is costly. Only
/// whole segments of a path match, regardless of case: `auth/login.rs` and `src/auth.rs` match,
/// `author.rs` does not.
///
/// The last entry is a glob, which is matched against the whole path.
pub const CRITICAL_SEGMENTS: &[&str] = &[
    "migrations",
    "migration",
    "auth",
    "security",
    "payment",
    "payments",
    "**/secrets**",
];

/// The rules: name, points and condition. Only the larger one of the first two rules counts.
pub const RISK_RULES: &[(&str, u64, &str)] = &[
    ("large_change", 2, "more than 500 changed lines"),
    ("medium_change", 1, "more than 200 changed lines"),
    ("many_files", 1, "more than 20 changed files"),
    ("critical_path", 1, "at least one path is critical"),
];

/// Thresholds of a large change, and critical paths.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RiskLimits {
    /// Number of changed lines above which a change is large.
    pub large_lines: u64,
    /// Number of changed lines above which a change is medium-sized.
    pub medium_lines: u64,
    /// The critical paths. An entry is one path segment or several joined by `/` (see
    /// [`CRITICAL_SEGMENTS`]), or a glob of [`glob::matches`]. Both match regardless of case.
    pub critical_paths: Vec<String>,
}

impl Default for RiskLimits {
    fn default() -> Self {
        let critical = CRITICAL_SEGMENTS.iter();
        Self {
            large_lines: LARGE_CHANGE_LINES,
            medium_lines: MEDIUM_CHANGE_LINES,
            critical_paths: critical.map(|&segment| segment.to_owned()).collect(),
        }
    }
}

impl Risk {
    /// Computes the risk of `pull` from its statistics and files. Unread parts add nothing.
    #[must_use]
    pub fn of(pull: &PullRequest, limits: &RiskLimits) -> Self {
        let lines = pull.additions.unwrap_or(0) + pull.deletions.unwrap_or(0);
        let listed = pull.files.as_ref().map_or(0, |files| files.len() as u64);
        let files = pull.changed_files.unwrap_or(listed);
        let critical = pull.files.iter().flatten().find_map(|file| {
            let paths = [Some(&file.path), file.previous_path.as_ref()];
            let mut paths = paths.into_iter().flatten();
            paths.find(|path| limits.is_critical(path)).cloned()
        });
        let applies = |rule: &str| match rule {
            "large_change" => (lines > limits.large_lines).then(|| format!("{lines} lines")),
            "medium_change" => (lines > limits.medium_lines && lines <= limits.large_lines)
                .then(|| format!("{lines} lines")),
            "many_files" => (files > MANY_FILES).then(|| format!("{files} files")),
            _ => critical.clone(),
        };
        let reasons: Vec<RiskReason> = RISK_RULES
            .iter()
            .filter_map(|(rule, points, _)| {
                Some(RiskReason {
                    rule,
                    points: *points,
                    evidence: applies(rule)?,
                })
            })
            .collect();
        let score = reasons.iter().map(|reason| reason.points).sum();
        Self {
            level: RiskLevel::of(score),
            score,
            reasons,
        }
    }
}

impl RiskLimits {
    fn is_critical(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('/').collect();
        let lower = path.to_lowercase();
        let is_globbed = |pattern: &str| {
            // A slash at the end, as in `auth/`, means everything below that directory.
            let below = if pattern.ends_with('/') { "**" } else { "" };
            let pattern = format!("{}{below}", pattern.to_lowercase());
            glob::matches(&pattern, &lower)
        };
        self.critical_paths.iter().any(|critical| {
            if glob::is_pattern(critical) && is_globbed(critical) {
                return true;
            }
            let wanted: Vec<&str> = critical.split('/').filter(|s| !s.is_empty()).collect();
            let fits = |(segment, name): (&&str, &&str)| {
                let stem = segment.split_once('.').map_or(*segment, |(stem, _)| stem);
                segment.eq_ignore_ascii_case(name) || stem.eq_ignore_ascii_case(name)
            };
            let is_here = |part: &[&str]| part.iter().zip(&wanted).all(fits);
            !wanted.is_empty() && segments.windows(wanted.len()).any(is_here)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{file, pull};

    fn risk(lines: u64, files: u64, path: &str) -> (RiskLevel, u64) {
        let mut pull = pull();
        pull.additions = Some(lines / 2);
        pull.deletions = Some(lines - lines / 2);
        pull.changed_files = Some(files);
        pull.files = Some(vec![file(path, 1, 0)]);
        let risk = Risk::of(&pull, &RiskLimits::default());
        let sum: u64 = risk.reasons.iter().map(|r| r.points).sum();
        assert_eq!(sum, risk.score);
        (risk.level, risk.score)
    }

    #[test]
    fn r_002_14_risk_scores_follow_the_rules() {
        use RiskLevel::{High, Low, Medium};
        assert_eq!(risk(200, 20, "src/a.rs"), (Low, 0));
        assert_eq!(risk(201, 20, "src/a.rs"), (Medium, 1));
        assert_eq!(risk(500, 20, "src/a.rs"), (Medium, 1));
        assert_eq!(risk(501, 20, "src/a.rs"), (Medium, 2));
        assert_eq!(risk(1, 21, "src/a.rs"), (Medium, 1));
        assert_eq!(risk(501, 21, "src/a.rs"), (High, 3));
        assert_eq!(risk(501, 21, "auth/a.rs"), (High, 4));
        assert_eq!(risk(0, 0, "db/Migrations/1.sql"), (Medium, 1));
    }

    #[test]
    fn risk_level_name_matches_the_serialized_form() {
        for level in [RiskLevel::Low, RiskLevel::Medium, RiskLevel::High] {
            assert_eq!(serde_json::to_value(level).unwrap(), level.name());
        }
    }

    #[test]
    fn c_002_6_critical_paths_match_whole_segments() {
        let named = ["src/auth.rs", "Security/x", "a/payments/b", "x/secrets.yml"];
        for path in named.into_iter().chain(["deploy/secrets-prod.yaml"]) {
            assert!(RiskLimits::default().is_critical(path), "{path}");
        }
        for path in ["src/author.rs", "config/Config.toml", "insecurity/x", ""] {
            assert!(!RiskLimits::default().is_critical(path), "{path}");
        }
        let own = RiskLimits {
            critical_paths: vec!["Src/billing/".to_owned(), "/".to_owned()],
            ..RiskLimits::default()
        };
        assert!(own.is_critical("a/src/billing/x.rs") && own.is_critical("src/billing.rs"));
        assert!(!own.is_critical("billing/src/auth.rs"));
    }

    #[test]
    fn c_002_6_critical_globs_match_regardless_of_case() {
        for (glob, path, is_match) in [
            ("**/secrets**", "a/secrets-prod/x", true),
            ("**/Secrets**", "SECRETS.yml", true),
            ("**/secrets**", "a/secret/x", false),
            ("**/secrets**", "a/mysecrets/x", false),
            ("*.sql", "db/x.SQL", true),
            ("*.sql", "db/x.sql.md", false),
            ("DB/*/", "db/v1/deep/x.rs", true),
            ("app/[id]", "app/[id]/page.tsx", true),
        ] {
            let own = RiskLimits {
                critical_paths: vec![glob.to_owned()],
                ..RiskLimits::default()
            };
            assert_eq!(own.is_critical(path), is_match, "{glob} {path}");
        }
    }

    #[test]
    fn risk_rule_texts_contain_the_thresholds() {
        for (rule, limit) in [
            ("large_change", LARGE_CHANGE_LINES),
            ("medium_change", MEDIUM_CHANGE_LINES),
            ("many_files", MANY_FILES),
        ] {
            let found = RISK_RULES.iter().find(|(name, ..)| *name == rule).unwrap();
            assert!(found.2.contains(&limit.to_string()), "{rule}");
        }
    }
}
