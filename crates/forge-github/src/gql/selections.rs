//! Selections on one pull request outside its sections, in a table so that a test can check each
//! selection against the schema.

macro_rules! selections {
    ($all:ident: $($(#[$doc:meta])* $id:ident = $text:literal;)*) => {
        $($(#[$doc])* pub(crate) const $id: &str = $text;)*
        /// All selections.
        #[cfg(test)]
        pub(crate) const $all: &[&str] = &[$($id),*];
    };
}

selections! { ALL:
    /// State and head.
    ROW = "...PullRow";
    /// Mergeability.
    MERGEABILITY = "...PullRow mergeable mergeStateStatus";
    /// The fields read before the head branch is updated.
    TO_UPDATE_BRANCH = "...PullCore mergeable";
    /// Shows whether the merge happened, after a lost answer.
    AFTER_MERGE = "...PullCore isInMergeQueue autoMergeRequest { ...AutoMerge }";
    /// The lock of the conversation and its reason.
    TO_LOCK = "...PullCore locked activeLockReason";
    /// Shows whether the head branch exists.
    HEAD_BRANCH = "id number headRef { id }";
    /// The newest comment; every comment after it is new.
    NEWEST_COMMENT = "id number newestComment: comments(last: 1) { nodes { id } }";
    /// The last comments, among which a new comment is searched after a lost answer.
    RECENT_COMMENTS = "id number recentComments: comments(last: 20) { nodes { ...CommentNode } }";
    /// The state, and the last comments, among which the comment of the change is searched after a
    /// lost answer.
    AFTER_CHANGE = "...PullCore recentComments: comments(last: 20) { nodes { ...CommentNode } }";
    /// The newest review; every review after it is new.
    NEWEST_REVIEW = "...PullRow newestReview: reviews(last: 1) { nodes { id } }";
    /// The viewer's pending review, which nobody else sees, and the newest review.
    PENDING_REVIEW = "...PullRow newestReview: reviews(last: 1) { nodes { id } } pendingReview: reviews(first: 1, states: [PENDING]) { nodes { viewerDidAuthor ...ReviewNode comments { totalCount } } }";
    /// The last reviews, among which a new review is searched after a lost answer.
    RECENT_REVIEWS = "...PullRow recentReviews: reviews(last: 20) { nodes { viewerDidAuthor ...ReviewWithComments } }";
}

selections! { PAGES:
    /// A page of commits.
    COMMITS = "commits(first: $first, after: $after) { totalCount nodes { ...CommitNode } pageInfo { ...PageEnd } }";
    /// A page of comments.
    COMMENTS = "comments(first: $first, after: $after) { totalCount nodes { ...CommentNode } pageInfo { ...PageEnd } }";
    /// A page of submitted reviews.
    REVIEWS = "reviews(first: $first, after: $after, states: [APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED]) { totalCount nodes { ...ReviewWithComments } pageInfo { ...PageEnd } }";
}

/// The branches that a state change reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branches {
    None,
    Head,
    /// Head and base branch.
    Both,
}

/// Returns the selection before a state change; includes the newest comment if the change adds one.
pub(crate) fn select_before_change(branches: Branches, comments: bool) -> String {
    let branches = match branches {
        Branches::None => "",
        Branches::Head => "headRef { id target { oid } }",
        Branches::Both => "headRef { id } baseRef { id }",
    };
    let newest = match comments {
        true => "newestComment: comments(last: 1) { nodes { id } }",
        false => "",
    };
    format!("...PullCore {branches} {newest}")
}
