//! A sample pull request for tests.

use forge_core::{
    PrId, RepoId, Timestamp,
    model::{
        Actor, Check, CheckStatus, ChecksReport, FileChange, FileStatus, Issue, IssueId,
        MergeState, Mergeability, PullRequest, Review, ReviewState, Thread,
    },
};

/// Returns an open and approved pull request that is mergeable and has one green check.
pub(crate) fn pull() -> PullRequest {
    let at = Timestamp::from_unix(1_700_000_000);
    let id = PrId::number(RepoId::local("/r"), 7);
    let mut pull = PullRequest::new(id, "Work", Actor::new("ada"), at);
    pull.base_branch = "main".to_owned();
    pull.base_oid = Some("b".repeat(40));
    pull.head_branch = "work".to_owned();
    pull.head_oid = Some("a".repeat(40));
    pull.url = "file:///r#7".to_owned();
    pull.approvals = 1;
    pull.latest_reviews = vec![review("grace", ReviewState::Approved)];
    pull.additions = Some(1);
    pull.deletions = Some(0);
    pull.changed_files = Some(1);
    pull.mergeability = Some(mergeability(MergeState::Mergeable, "CLEAN"));
    pull.threads = Some(vec![]);
    pull.files = Some(vec![file("src/a.rs", 1, 0)]);
    pull.checks = Some(checks(&[("build", CheckStatus::Success)]));
    pull
}

pub(crate) fn review(author: &str, state: ReviewState) -> Review {
    let at = Timestamp::from_unix(1_700_000_000);
    Review::new(author, Actor::new(author), state, at)
}

pub(crate) fn checks(all: &[(&str, CheckStatus)]) -> ChecksReport {
    let checks = all.iter().map(|(name, status)| Check::new(*name, *status));
    ChecksReport::of("a".repeat(40), checks.collect())
}

pub(crate) fn mergeability(state: MergeState, status: &str) -> Mergeability {
    let mut mergeability = Mergeability::new(state, status);
    mergeability.head_oid = "a".repeat(40);
    mergeability.base_oid = "b".repeat(40);
    mergeability
}

pub(crate) fn thread(resolved: bool) -> Thread {
    let mut thread = Thread::new("t", "src/a.rs");
    thread.line = Some(1);
    thread.resolved = resolved;
    thread
}

pub(crate) fn file(path: &str, additions: u64, deletions: u64) -> FileChange {
    let mut file = FileChange::new(path, FileStatus::Modified);
    file.additions = Some(additions);
    file.deletions = Some(deletions);
    file
}

/// Returns an open issue of the repository of [`pull`].
pub(crate) fn issue(number: u64, title: &str) -> Issue {
    let at = Timestamp::from_unix(1_700_000_000);
    let id = IssueId::number(RepoId::local("/r"), number);
    let mut issue = Issue::new(id, title, Actor::new("ada"), at);
    issue.url = format!("file:///r#{number}");
    issue
}
