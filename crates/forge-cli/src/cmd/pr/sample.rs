//! A pull request for tests.

use forge_core::{
    PrId, RepoId,
    model::{
        Actor, Comment, Label, PrState, PullRequest, Review, ReviewDecision, ReviewState, Reviewer,
    },
};

pub(crate) fn pull() -> PullRequest {
    let at = |text: &str| text.parse().unwrap();
    let mut ada = Actor::new("ada");
    ada.name = Some("Ada Lovelace".into());
    PullRequest {
        id: PrId::number(RepoId::local("/srv/repo"), 7),
        node_id: String::new(),
        number: Some(7),
        title: "Greet  the\treader".into(),
        description: "Say *hello*.".into(),
        author: ada.clone(),
        state: PrState::Open,
        draft: false,
        base_branch: "main".into(),
        base_oid: Some("b".repeat(40)),
        head_branch: "polite".into(),
        head_oid: Some("a".repeat(40)),
        head_patch: None,
        head_ref: None,
        head_repo: None,
        rounds: None,
        depends_on: None,
        head_node: None,
        created_at: at("2026-11-20T10:00:00Z"),
        updated_at: at("2026-11-21T10:00:00Z"),
        closed_at: None,
        merged_at: None,
        merged_by: None,
        merge_commit: None,
        url: "file:///srv/repo#7".into(),
        labels: ["zeal", "Bug"]
            .map(|name| Label::new(name, "ff0000"))
            .into(),
        assignees: vec![ada],
        milestone: None,
        approvals: 1,
        changes_requested: 0,
        pending_reviewers: vec![Reviewer::user("alan")],
        review_decision: Some(ReviewDecision::Approved),
        latest_reviews: vec![review(
            ReviewState::Approved,
            "Good.",
            "2026-11-20T12:00:00Z",
        )],
        comments_count: 1,
        version: "1".into(),
        additions: Some(3),
        deletions: Some(1),
        changed_files: Some(1),
        mergeability: None,
        comments: None,
        reviews: None,
        threads: None,
        commits: None,
        files: None,
        checks: None,
        linked_issues: None,
        auto_merge: None,
        maintainer_can_modify: None,
        database_id: None,
        potential_merge_commit: None,
        base_rules: None,
        author_review: None,
        head_is_default: None,
        reactions: None,
        projects: None,
        ingestion: None,
        warnings: vec![],
    }
}

pub(crate) fn review(state: ReviewState, body: &str, at: &str) -> Review {
    let mut review = Review::new("r1", Actor::new("grace"), state, at.parse().unwrap());
    review.author_association = Some("MEMBER".into());
    review.body = (!body.is_empty()).then(|| body.into());
    review
}

pub(crate) fn comment(body: &str, at: &str) -> Comment {
    Comment::new("c1", Actor::new("ada"), body, at.parse().unwrap())
}
