//! A sample pull request for tests.

use forge_core::{
    PrId, RepoId, Timestamp,
    model::{
        Actor, Check, CheckStatus, ChecksReport, FileChange, FileStatus, Issue, IssueId,
        MergeState, Mergeability, PrState, PullRequest, Review, ReviewState, Thread,
    },
};

/// An open and approved pull request that is mergeable and has one green check.
pub(crate) fn pull() -> PullRequest {
    let at = Timestamp::from_unix(1_700_000_000);
    PullRequest {
        id: PrId::number(RepoId::local("/r"), 7),
        node_id: String::new(),
        number: Some(7),
        title: "Work".to_owned(),
        description: String::new(),
        author: Actor::new("ada"),
        state: PrState::Open,
        draft: false,
        base_branch: "main".to_owned(),
        base_oid: Some("b".repeat(40)),
        head_branch: "work".to_owned(),
        head_oid: Some("a".repeat(40)),
        head_patch: None,
        head_ref: None,
        head_repo: None,
        rounds: None,
        depends_on: None,
        head_node: None,
        created_at: at,
        updated_at: at,
        closed_at: None,
        merged_at: None,
        merged_by: None,
        merge_commit: None,
        url: "file:///r#7".to_owned(),
        labels: vec![],
        assignees: vec![],
        milestone: None,
        approvals: 1,
        changes_requested: 0,
        pending_reviewers: vec![],
        review_decision: None,
        latest_reviews: vec![review("grace", ReviewState::Approved)],
        comments_count: 0,
        version: String::new(),
        additions: Some(1),
        deletions: Some(0),
        changed_files: Some(1),
        mergeability: Some(mergeability(MergeState::Mergeable, "CLEAN")),
        comments: None,
        reviews: None,
        threads: Some(vec![]),
        commits: None,
        files: Some(vec![file("src/a.rs", 1, 0)]),
        checks: Some(checks(&[("build", CheckStatus::Success)])),
        linked_issues: None,
        auto_merge: None,
        maintainer_can_modify: None,
        database_id: None,
        potential_merge_commit: None,
        reactions: None,
        projects: None,
        ingestion: None,
        base_rules: None,
        author_review: None,
        head_is_default: None,
        warnings: vec![],
    }
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

/// An open issue of the repository of [`pull`].
pub(crate) fn issue(number: u64, title: &str) -> Issue {
    let at = Timestamp::from_unix(1_700_000_000);
    let id = IssueId::number(RepoId::local("/r"), number);
    let mut issue = Issue::new(id, title, Actor::new("ada"), at);
    issue.url = format!("file:///r#{number}");
    issue
}
