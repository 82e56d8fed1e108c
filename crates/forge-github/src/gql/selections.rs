//! Selection sets of one pull request for single operations. The selections of its optional parts
//! are in the module `fields`. The constants here are in a table, so that a test can check each
//! against the schema.

macro_rules! selections {
    ($all:ident: $($(#[$doc:meta])* $id:ident = $text:literal;)*) => {
        $($(#[$doc])* pub(crate) const $id: &str = $text;)*
        /// All selections.
        #[cfg(test)]
        pub(crate) const $all: &[&str] = &[$($id),*];
    };
}

selections! { ALL:
    /// The fields that a list shows, such as the state and the head commit.
    ROW = "...PullRow";
    /// Whether the pull request can be merged.
    MERGEABILITY = "...PullRow mergeable mergeStateStatus";
    /// The fields read before the head branch is updated.
    TO_UPDATE_BRANCH = "...PullCore mergeable";
    /// Read after GitHub's answer to a merge was lost. Shows whether the merge happened.
    AFTER_MERGE = "...PullCore isInMergeQueue autoMergeRequest { ...AutoMerge }";
    /// The lock of the conversation and its reason.
    TO_LOCK = "...PullCore locked activeLockReason";
    /// Shows whether the head branch exists.
    HEAD_BRANCH = "id number headRef { id }";
    /// The newest comment, read before a comment is added. The added comment comes after it.
    NEWEST_COMMENT = "id number newestComment: comments(last: 1) { nodes { id } }";
    /// Read after GitHub's answer to a new comment was lost, to find this comment.
    RECENT_COMMENTS = "id number recentComments: comments(last: 20) { nodes { ...CommentNode } }";
    /// Read after GitHub's answer to a state change was lost. Shows the state, and the comments
    /// among which the change's own comment is searched.
    AFTER_CHANGE = "...PullCore recentComments: comments(last: 20) { nodes { ...CommentNode } }";
    /// The newest review, read before a review is added. The added review comes after it.
    NEWEST_REVIEW = "...PullRow newestReview: reviews(last: 1) { nodes { id } }";
    /// The viewer's pending review, which nobody else sees, and the newest review.
    PENDING_REVIEW = "...PullRow newestReview: reviews(last: 1) { nodes { id } } pendingReview: reviews(first: 1, states: [PENDING]) { nodes { viewerDidAuthor ...ReviewNode comments { totalCount } } }";
    /// Read after GitHub's answer to a new review was lost, to find this review.
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

/// The branches that the query before a state change reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branches {
    None,
    Head,
    /// Head and base branch.
    Both,
}

/// Returns the selection set of the query before a state change. `comments` is true if the change
/// adds a comment, so that the newest comment must be known.
pub(crate) fn select_before_change(branches: Branches, comments: bool) -> String {
    let branches = match branches {
        Branches::None => "",
        Branches::Head => "headRef { id target { oid } } baseRepository { ...OpenPulls }",
        Branches::Both => "headRef { id } baseRef { id }",
    };
    let newest = match comments {
        true => "newestComment: comments(last: 1) { nodes { id } }",
        false => "",
    };
    format!("...PullCore {branches} {newest}")
}
