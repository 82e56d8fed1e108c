//! The issues that a pull request closes, once it is merged.
//!
//! Those of its own repository, and only where it goes into the default branch, as on GitHub, which
//! closes them itself: what is closed by then is not closed again. A forge without closing words
//! has none.

use forge_core::model::{
    IssueFields, IssueId, IssueReason, IssueState, LinkedIssue, PullRequest, RepoInfo,
    SetIssueState,
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use crate::{
    content::Clean,
    server::{Call, Target},
};

/// How many issues a question names; the others are counted.
const NAMED: usize = 10;

/// Which issues are to be closed, and which are not.
#[derive(Debug, Default)]
pub(super) struct Plan {
    close: Vec<u64>,
    /// Each with the reason.
    left: Vec<(String, String)>,
}

impl Plan {
    /// What merging `pull` closes. Costs nothing where it names no issue.
    pub async fn of(target: &Target, pull: &PullRequest) -> Self {
        let linked = pull.linked_issues.as_deref().unwrap_or_default();
        let mut plan = Self::default();
        if linked.is_empty() {
            return plan;
        }
        let info = target.repo.info().await;
        for issue in linked {
            let why = match &info {
                Ok(info) => why_not(issue, pull, info),
                Err(e) => Some(format!(
                    "the default branch could not be read: {}",
                    e.message()
                )),
            };
            match why {
                None => plan.close.push(issue.number),
                Some(why) => plan.left.push((name(issue, pull), why)),
            }
        }
        plan
    }

    /// Without those that somebody has opened again, for a pull request that was merged before.
    pub async fn without_reopened(mut self, target: &Target) -> Self {
        for number in std::mem::take(&mut self.close) {
            let id = IssueId::number(target.repo.id().clone(), number);
            let why = match target.repo.issue(&id, IssueFields::default()).await {
                Ok(issue) if issue.state_reason == Some(IssueReason::Reopened) => {
                    "it was opened again".to_owned()
                }
                Ok(_) => {
                    self.close.push(number);
                    continue;
                }
                Err(e) => e.message().to_owned(),
            };
            self.left.push((format!("#{number}"), why));
        }
        self
    }

    /// None of them is closed, for this reason.
    pub fn left_alone(mut self, why: &str) -> Self {
        let close = std::mem::take(&mut self.close);
        self.left
            .extend(close.iter().map(|n| (format!("#{n}"), why.to_owned())));
        self
    }

    /// Those that are to be closed: `#3, #4`; empty where there are none.
    pub fn in_words(&self) -> String {
        let mut names: Vec<String> = self.close.iter().map(|n| format!("#{n}")).collect();
        let more = names.len().saturating_sub(NAMED);
        if more > 0 {
            names.truncate(NAMED);
            names.push(format!("and {more} more"));
        }
        names.join(", ")
    }

    /// All of those that are to be closed, for a seal.
    pub fn bound(&self) -> String {
        format!("{:?}", self.close)
    }

    /// Closes them. One that cannot be closed stops nothing: the pull request is merged.
    pub async fn carry_out(self, call: &Call, target: &Target) -> Linked {
        let closed = SetIssueState::to(IssueState::Closed);
        let mut linked = Linked::default();
        for number in self.close {
            let id = IssueId::number(target.repo.id().clone(), number);
            let issue = call.cleaner.line(&format!("#{number}"));
            match target.repo.set_issue_state(&id, &closed).await {
                Ok(_) => linked.linked_issues_transitioned.push(issue),
                Err(e) => linked.linked_issues_failed.push(Left {
                    issue,
                    reason: call.cleaner.line(e.message()),
                }),
            }
        }
        for (issue, reason) in self.left {
            linked.linked_issues_skipped.push(Left {
                issue: call.cleaner.line(&issue),
                reason: call.cleaner.line(&reason),
            });
        }
        linked
    }
}

/// `#7`, with its repository where that is another.
fn name(issue: &LinkedIssue, pull: &PullRequest) -> String {
    if issue.repo.comparison_key() == pull.id.repo.comparison_key() {
        format!("#{}", issue.number)
    } else {
        format!("{}#{}", issue.repo, issue.number)
    }
}

/// Why the merge leaves an issue alone; `None` where it closes it.
fn why_not(issue: &LinkedIssue, pull: &PullRequest, info: &RepoInfo) -> Option<String> {
    if !issue.open {
        return Some("it was closed before".to_owned());
    }
    if issue.repo.comparison_key() != info.id.comparison_key() {
        return Some("it is in another repository".to_owned());
    }
    match &info.default_branch {
        Some(default) if *default == pull.base_branch => None,
        Some(default) => Some(format!("only a merge into {default} closes issues")),
        None => Some("the repository has no default branch".to_owned()),
    }
}

/// What became of the issues that a merged pull request closes.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Linked {
    /// Issues that it closes, and that are closed now
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_transitioned: Vec<Clean>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_failed: Vec<Left>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_skipped: Vec<Left>,
}

/// An issue that the merge has not closed.
#[derive(Debug, Serialize, JsonSchema)]
struct Left {
    issue: Clean,
    reason: Clean,
}

impl Linked {
    /// Whether no issue was closed.
    pub fn is_unchanged(&self) -> bool {
        self.linked_issues_transitioned.is_empty()
    }

    /// A line for what was closed, and one for each that was not.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.linked_issues_transitioned.is_empty() {
            let names = self.linked_issues_transitioned.iter().map(Clean::as_str);
            let names: Vec<&str> = names.collect();
            text.push_str(&format!("\nclosed: {}", names.join(", ")));
        }
        let failed = self
            .linked_issues_failed
            .iter()
            .map(|l| ("could not close", l));
        let skipped = self.linked_issues_skipped.iter().map(|l| ("not closed", l));
        for (what, Left { issue, reason }) in failed.chain(skipped) {
            text.push_str(&format!("\n{what}: {issue} ({reason})"));
        }
        text
    }
}
