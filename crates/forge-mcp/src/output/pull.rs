use forge_core::{
    PrKey, RepoId, Step,
    model::{CheckRollup, ChecksReport, PrState, PullRequest, ReviewState},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::{IngestionDetail, WarningOut, serde_name};
use crate::{
    budget,
    content::{Clean, Cleaner, issue_id, name, name_of, names, people},
};

/// Returns the issues that a merge by forge closes, on a forge that closes none itself.
fn closed_on_merge(pull: &PullRequest, cleaner: &Cleaner) -> Vec<Clean> {
    let own = pull.id.repo.comparison_key();
    let named = pull.closed_on_merge.iter().map(|issue| match &issue.key {
        PrKey::Number(number) if issue.repo.comparison_key() == own => format!("#{number}"),
        PrKey::Number(number) => format!("{}#{number}", issue.repo),
        PrKey::Record(uri) => uri.clone(),
    });
    named.map(|name| cleaner.line(&name)).collect()
}

/// Summary of the reviews: the latest opinion of each reviewer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReviewsOut {
    pub approved: u64,
    pub changes_requested: u64,
    /// Reviewers who neither approved nor requested changes
    pub commented: usize,
    /// Reviewers whose opinion was dismissed
    pub dismissed: usize,
    /// Reviewers who were asked and have not reviewed since
    pub pending: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The latest review of each reviewer; only in pr_view
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<ReviewerOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details_total: Option<usize>,
}

/// The latest review of a reviewer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReviewerOut {
    pub login: Clean,
    pub state: String,
}

impl ReviewsOut {
    fn of(pull: &PullRequest, cleaner: &Cleaner) -> Self {
        let latest = &pull.latest_reviews;
        let count = |state| latest.iter().filter(|r| r.state == state).count();
        Self {
            approved: pull.approvals,
            changes_requested: pull.changes_requested,
            commented: count(ReviewState::Commented),
            dismissed: count(ReviewState::Dismissed),
            pending: pull
                .pending_reviewers
                .iter()
                .map(|r| cleaner.line(r.handle()))
                .collect(),
            pending_total: None,
            decision: pull.review_decision.map(|d| serde_name(&d)),
            details: Vec::new(),
            details_total: None,
        }
    }

    fn detailed(pull: &PullRequest, cleaner: &Cleaner) -> Self {
        let details = pull.latest_reviews.iter().map(|r| ReviewerOut {
            login: cleaner.line(&r.author.login),
            state: serde_name(&r.state),
        });
        Self {
            details: details.collect(),
            ..Self::of(pull, cleaner)
        }
    }

    fn shorten(&mut self, room: &mut usize) {
        self.pending_total = shorten(&mut self.pending, room);
        self.details_total = shorten(&mut self.details, room);
    }

    fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.approved > 0 {
            parts.push(format!("{} approved", self.approved));
        }
        if self.changes_requested > 0 {
            parts.push(format!("{} request changes", self.changes_requested));
        }
        for (count, what) in [(self.commented, "commented"), (self.dismissed, "dismissed")] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        if !self.pending.is_empty() {
            parts.push(format!("{} asked", self.pending.len()));
        }
        if parts.is_empty() {
            "none".to_owned()
        } else {
            parts.join(", ")
        }
    }

    /// Returns the requested reviewers, for the end of a line about reviews.
    fn format_asked(&self) -> String {
        match self.pending.is_empty() {
            true => String::new(),
            false => format!(" | asked: {}", people(&self.pending)),
        }
    }
}

/// Number of checks by status.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckCountsOut {
    pub total: u64,
    /// Includes skipped and neutral checks
    pub success: u64,
    /// Includes cancelled checks
    pub failure: u64,
    pub pending: u64,
    /// Included in success
    pub skipped: u64,
    /// Included in success
    pub neutral: u64,
    /// More checks exist, but could not be read
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl CheckCountsOut {
    pub fn of(report: &ChecksReport) -> Self {
        let counts = report.counts;
        Self {
            total: counts.total,
            success: counts.success,
            failure: counts.failure,
            pending: counts.pending,
            skipped: counts.skipped,
            neutral: counts.neutral,
            truncated: report.truncated,
        }
    }
}

/// A row of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RowOut {
    pub number: String,
    pub title: Clean,
    /// open, draft, closed or merged
    pub state: String,
    pub author: Clean,
    pub head: Clean,
    pub base: Clean,
    /// success, failure, pending or neutral
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<String>,
    pub reviews: ReviewsOut,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_total: Option<usize>,
    pub created_at: String,
    pub updated_at: String,
    pub url: Clean,
}

impl RowOut {
    pub fn of(pull: &PullRequest, cleaner: &Cleaner) -> Self {
        Self {
            number: pull.id.key.to_string(),
            title: cleaner.line(&pull.title),
            state: state_word(pull).to_owned(),
            author: cleaner.line(&pull.author.login),
            head: cleaner.line(&head_label(pull)),
            base: cleaner.line(&pull.base_branch),
            checks: pull.checks.as_ref().map(|c| serde_name(&c.overall)),
            reviews: ReviewsOut::of(pull, cleaner),
            labels: pull.labels.iter().map(|l| cleaner.line(&l.name)).collect(),
            labels_total: None,
            created_at: pull.created_at.to_string(),
            updated_at: pull.updated_at.to_string(),
            url: cleaner.line(&pull.url),
        }
    }

    /// Shortens the name lists in the structured data for a result of `max` characters, and sets
    /// the total of each shortened list. Call this after making the text, because the text shows
    /// all names.
    pub fn shorten(&mut self, max: usize) {
        let mut room = budget::names(max);
        self.labels_total = shorten(&mut self.labels, &mut room);
        self.reviews.shorten(&mut room);
    }

    pub fn text(&self) -> String {
        let mut line = format!("#{} {}", self.number, self.state);
        if let Some(checks) = self.checks.as_ref().filter(|c| *c != "neutral") {
            line.push_str(&format!(" | checks: {checks}"));
        }
        let reviews = self.reviews.text();
        if reviews != "none" {
            line.push_str(&format!(" | reviews: {reviews}"));
        }
        line.push_str(&format!(
            " | {} | by @{}: {} -> {}{}",
            self.updated_at,
            name(&self.author),
            name(&self.head),
            name(&self.base),
            self.reviews.format_asked()
        ));
        if !self.labels.is_empty() {
            line.push_str(&format!(" | labels: {}", names(&self.labels)));
        }
        line.push_str(&format!(" | {}\n", self.title));
        line
    }

    /// Returns the row, and a second line with less common fields.
    pub fn detailed(&self) -> String {
        format!(
            "{}  opened {} | {}\n",
            self.text(),
            self.created_at,
            name(&self.url)
        )
    }
}

/// A pull request without its lists.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PullOut {
    pub repo: String,
    pub number: String,
    pub title: Clean,
    /// open, draft, closed or merged
    pub state: String,
    pub author: Clean,
    pub head: Clean,
    /// Absent if the branch is gone and its head is unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_oid: Option<Clean>,
    /// For a patch: the commit that its author names as the source of the patch.
    #[serde(skip)]
    claimed: Option<Clean>,
    pub base: Clean,
    pub url: Clean,
    pub created_at: String,
    pub updated_at: String,
    /// When it was closed or merged
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_commit: Option<Clean>,
    /// mergeable, conflicting or unknown (ask again in some seconds)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mergeable: Option<String>,
    /// Merge state in the forge's words
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_status: Option<Clean>,
    /// The first conflicting paths; on the first page only
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<u64>,
    /// success, failure, pending or neutral
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_counts: Option<CheckCountsOut>,
    pub reviews: ReviewsOut,
    pub labels: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_total: Option<usize>,
    pub assignees: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignees_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<Clean>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linked_issues: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked_issues_total: Option<usize>,
    /// The pull request it builds on
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<String>,
    /// Absent with bodies_in_text
    #[serde(skip_serializing_if = "Clean::is_empty")]
    pub description: Clean,
}

/// Maximum number of conflicting files that are named. `conflicts_total` counts all of them.
const MAX_CONFLICTS: usize = 50;

/// Maximum total length of the names of conflicting files, in characters.
const MAX_CONFLICT_CHARS: usize = 800;

/// Returns the names of the first conflicting files, at least one.
fn name_conflicts(conflicts: &[String], cleaner: &Cleaner) -> Vec<Clean> {
    let mut names: Vec<Clean> = Vec::new();
    let mut used = 0;
    for conflict in conflicts.iter().take(MAX_CONFLICTS) {
        let name = cleaner.line(conflict);
        used += name.as_data().chars().count();
        if used > MAX_CONFLICT_CHARS && !names.is_empty() {
            break;
        }
        names.push(name);
    }
    names
}

/// Keeps the first items that fit in `room`, but at least one, and subtracts their length from
/// `room`. Returns the original number of items if some were dropped.
fn shorten<T: Serialize>(all: &mut Vec<T>, room: &mut usize) -> Option<usize> {
    let total = all.len();
    let mut kept = 0;
    for item in all.iter() {
        let length = budget::length(item) + 1;
        if length > *room && kept > 0 {
            break;
        }
        *room = room.saturating_sub(length);
        kept += 1;
    }
    all.truncate(kept);
    (kept < total).then_some(total)
}

impl PullOut {
    pub fn of(pull: &PullRequest, cleaner: &Cleaner) -> Self {
        let merge = pull.mergeability.as_ref();
        let conflicts = merge.map(|m| m.conflicts.as_slice()).unwrap_or_default();
        let line = |text: &Option<String>| text.as_ref().map(|t| cleaner.line(t));
        Self {
            repo: pull.id.repo.to_string(),
            number: pull.id.key.to_string(),
            title: cleaner.line(&pull.title),
            state: state_word(pull).to_owned(),
            author: cleaner.line(&pull.author.login),
            head: cleaner.line(&head_label(pull)),
            head_oid: pull.head_id().map(|id| cleaner.line(id)),
            claimed: line(&pull.head_oid).filter(|_| pull.head_patch.is_some()),
            base: cleaner.line(&pull.base_branch),
            url: cleaner.line(&pull.url),
            created_at: pull.created_at.to_string(),
            updated_at: pull.updated_at.to_string(),
            closed_at: pull.closed_at.map(|t| t.to_string()),
            merged_at: pull.merged_at.map(|t| t.to_string()),
            merge_commit: line(&pull.merge_commit),
            mergeable: merge.map(|m| serde_name(&m.state)),
            merge_status: merge.map(|m| cleaner.line(&m.status)),
            conflicts: name_conflicts(conflicts, cleaner),
            conflicts_total: Some(conflicts.len()).filter(|n| *n > 0),
            additions: pull.additions,
            deletions: pull.deletions,
            changed_files: pull.changed_files,
            checks: pull.checks.as_ref().map(|c| serde_name(&c.overall)),
            check_counts: pull.checks.as_ref().map(CheckCountsOut::of),
            reviews: ReviewsOut::detailed(pull, cleaner),
            labels: pull.labels.iter().map(|l| cleaner.line(&l.name)).collect(),
            labels_total: None,
            assignees: pull
                .assignees
                .iter()
                .map(|a| cleaner.line(&a.login))
                .collect(),
            assignees_total: None,
            milestone: pull.milestone.as_ref().map(|m| cleaner.line(&m.title)),
            linked_issues: pull
                .linked_issues
                .iter()
                .flatten()
                .map(|i| {
                    let own = i.repo.comparison_key() == pull.id.repo.comparison_key();
                    cleaner.line(&match own {
                        true => format!("#{}", i.number),
                        false => format!("{}#{}", i.repo, i.number),
                    })
                })
                .chain(closed_on_merge(pull, cleaner))
                .collect(),
            linked_issues_total: None,
            // The name of the other pull request is cleaned, because on tangled the author can put
            // any text there.
            depends_on: pull
                .depends_on
                .as_ref()
                .map(|below| cleaner.line(&below.to_string())),
            auto_merge: pull
                .auto_merge
                .as_ref()
                .map(|a| a.method.as_str().to_owned()),
            description: cleaner.markdown(&pull.description),
        }
    }

    /// Shortens the name lists in the structured data, except the conflicting files, for a result
    /// of `max` characters. Sets the total of each shortened list. Call this after making the text,
    /// because the text shows all names.
    pub fn shorten(&mut self, max: usize) {
        let mut room = budget::names(max).saturating_sub(budget::length(&self.conflicts));
        self.linked_issues_total = shorten(&mut self.linked_issues, &mut room);
        self.labels_total = shorten(&mut self.labels, &mut room);
        self.assignees_total = shorten(&mut self.assignees, &mut room);
        self.reviews.shorten(&mut room);
    }

    /// Returns the lines before the description.
    pub fn text(&self, checks: Option<&ChecksReport>) -> String {
        let mut text = format!(
            "#{} {} {}\n{} by @{}: {} -> {}",
            self.number,
            self.state,
            self.title,
            self.repo,
            name(&self.author),
            name(&self.head),
            name(&self.base)
        );
        if let Some(head) = &self.head_oid {
            text.push_str(&format!("\nhead {}", name(head)));
        }
        if let (Some(a), Some(d), Some(f)) = (self.additions, self.deletions, self.changed_files) {
            text.push_str(&format!(" | {} +{a} -{d}", super::files(f)));
        }
        if let Some(commit) = &self.claimed {
            text.push_str(&format!(" | commit {}, as its author claims", name(commit)));
        }
        text.push('\n');
        if let Some(state) = self
            .mergeable
            .as_ref()
            .filter(|_| matches!(self.state.as_str(), "open" | "draft"))
        {
            text.push_str(&format!("merge: {state}"));
            if state == "unknown" {
                text.push_str(" (not computed yet: ask again in some seconds)");
            }
            let is_news = |s: &&Clean| !["CLEAN", "UNKNOWN"].contains(&s.as_data());
            if let Some(status) = self.merge_status.as_ref().filter(is_news) {
                text.push_str(&format!(" ({})", name(status)));
            }
            if !self.conflicts.is_empty() {
                let all = self.conflicts_total.unwrap_or_default();
                let more = match all.saturating_sub(self.conflicts.len()) {
                    0 => String::new(),
                    more => format!(", {more} of them not named"),
                };
                let files = super::files(all as u64);
                text.push_str(&format!(" in {files}{more}: {}", names(&self.conflicts)));
            }
            text.push('\n');
        }
        if let Some(method) = &self.auto_merge {
            text.push_str(&format!("will merge by itself ({method})\n"));
        }
        if let Some(report) = checks {
            text.push_str(&format!("checks: {}\n", checks_word(report)));
        }
        let reviews = self.reviews.text();
        // GitHub leaves the author's own review out of the latest reviews. The section `reviews`
        // below can still list that review. This line therefore says `none by others` instead of
        // `none`.
        let others = if reviews == "none" { " by others" } else { "" };
        text.push_str(&format!("reviews: {reviews}{others}"));
        if let Some(decision) = &self.reviews.decision {
            text.push_str(&format!(" ({decision})"));
        }
        text.push_str(&format!("{}\n", self.reviews.format_asked()));
        let list = |name: &str, items: &[Clean]| {
            if items.is_empty() {
                return String::new();
            }
            format!("{name}: {}\n", names(items))
        };
        text.push_str(&list("labels", &self.labels));
        text.push_str(&list("assignees", &self.assignees));
        if let Some(milestone) = &self.milestone {
            text.push_str(&format!("milestone: {}\n", name(milestone)));
        }
        if !self.linked_issues.is_empty() {
            let ids: Vec<String> = self.linked_issues.iter().map(issue_id).collect();
            text.push_str(&format!("closes: {}\n", ids.join(", ")));
        }
        if let Some(below) = &self.depends_on {
            text.push_str(&format!("builds on: #{}\n", name(below)));
        }
        if let Some(at) = &self.merged_at {
            let commit = self.merge_commit.as_ref();
            let commit = commit.map_or(String::new(), |c| format!(" as {}", name(c)));
            text.push_str(&format!("merged {at}{commit}\n"));
        } else if let Some(at) = &self.closed_at {
            text.push_str(&format!("closed {at}\n"));
        }
        text.push_str(&format!(
            "updated {} | {}\n",
            self.updated_at,
            name(&self.url)
        ));
        text
    }
}

/// Result of a write.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WriteOut {
    pub repo: String,
    pub number: String,
    /// Locator of the pull request or issue. Shown only in the text output.
    #[serde(skip)]
    pub name: String,
    /// What was done
    pub did: String,
    /// Already in effect; nothing was written
    pub unchanged: bool,
    /// Steps done although the pull request was already in the requested state. Shown only in the
    /// text output.
    #[serde(skip)]
    pub extra_steps: Option<String>,
    /// Whether the index shows the write: immediate, confirmed, pending, pds_only or ineffective
    pub ingestion: String,
    /// Details of ingestion; absent for immediate
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingestion_detail: Option<IngestionDetail>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_oid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_branch: Option<DeletedBranchOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Clean>,
    /// Id of the written comment, review, thread or commit
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Ids of the threads that a review opened, in the order of its comments
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningOut>,
}

/// A branch that the call deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeletedBranchOut {
    pub name: Clean,
    pub commit: String,
    /// Command that brings it back
    pub restore: String,
}

impl DeletedBranchOut {
    /// Returns the branch that a step of a write to `repo` deleted.
    pub fn of(repo: &RepoId, steps: &[Step], cleaner: &Cleaner) -> Option<Self> {
        let deleted = steps.iter().find_map(|step| step.deleted_branch.as_ref())?;
        Some(Self {
            name: cleaner.line(&deleted.name),
            commit: deleted.commit.clone(),
            restore: forge::restore_command(repo, None, deleted),
        })
    }

    /// Renders the branch for the text of a result.
    pub fn text(&self) -> String {
        format!(
            "deleted branch {} at {}; to bring it back: {}\n",
            name(&self.name),
            name_of(&self.commit),
            name_of(&self.restore)
        )
    }
}

/// Returns the state as a word; an open draft is `draft`.
pub(crate) fn state_word(pull: &PullRequest) -> &'static str {
    match pull.state {
        PrState::Open if pull.draft => "draft",
        PrState::Open => "open",
        PrState::Closed => "closed",
        PrState::Merged => "merged",
    }
}

/// Returns the overall result of the checks, with the count of each status.
pub(crate) fn checks_word(report: &ChecksReport) -> String {
    let overall = match report.overall {
        CheckRollup::Success => "success",
        CheckRollup::Failure => "failure",
        CheckRollup::Pending if report.truncated && report.counts.pending == 0 => "unknown",
        CheckRollup::Pending => "pending",
        CheckRollup::Neutral => "none",
    };
    let counts = report.counts;
    let passed = counts
        .success
        .saturating_sub(counts.skipped + counts.neutral);
    let counts = [
        (counts.failure, "failed"),
        (counts.pending, "pending"),
        (passed, "passed"),
        (counts.skipped, "skipped"),
        (counts.neutral, "neutral"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let mut counts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
    if report.truncated {
        counts.push("more not read".to_owned());
    }
    if counts.is_empty() {
        overall.to_owned()
    } else {
        format!("{overall} ({})", counts.join(", "))
    }
}

fn head_label(pull: &PullRequest) -> String {
    match pull.fork_owner() {
        Some(owner) => format!("{owner}:{}", pull.head_branch),
        None => pull.head_branch.clone(),
    }
}

#[cfg(test)]
mod tests {
    use forge_core::model::{Check, CheckStatus, ChecksReport};
    use serde_json::json;

    use super::{CheckCountsOut, checks_word};

    #[test]
    fn skipped_checks_count_as_successful() {
        let check = |name: &str, status, conclusion: Option<&str>| {
            let mut check = Check::new(name, status);
            check.conclusion = conclusion.map(str::to_owned);
            check
        };
        let checks = vec![
            check("a", CheckStatus::Success, None),
            check("b", CheckStatus::Skipped, Some("SKIPPED")),
            check("c", CheckStatus::Skipped, Some("NEUTRAL")),
        ];
        let report = ChecksReport::of("abc".to_owned(), checks);
        let mut counts = json!({
            "total": 3, "success": 3, "failure": 0, "pending": 0, "skipped": 1, "neutral": 1
        });
        let told =
            |report: &ChecksReport| serde_json::to_value(CheckCountsOut::of(report)).unwrap();
        assert_eq!(told(&report), counts);
        let word = "success (1 passed, 1 skipped, 1 neutral)";
        assert_eq!(checks_word(&report), word);
        let cut = report.cut();
        counts["truncated"] = json!(true);
        assert_eq!(told(&cut), counts);
        let word = "unknown (1 passed, 1 skipped, 1 neutral, more not read)";
        assert_eq!(checks_word(&cut), word);
    }
}
