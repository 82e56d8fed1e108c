//! What operations ask of one pull request beside its sections. It stands here so that a test can
//! check every one of them against the schema.

macro_rules! selections {
    ($all:ident: $($(#[$doc:meta])* $id:ident = $text:literal;)*) => {
        $($(#[$doc])* pub(crate) const $id: &str = $text;)*
        /// Every one of them.
        #[cfg(test)]
        pub(crate) const $all: &[&str] = &[$($id),*];
    };
}

selections! { ALL:
    /// Its state and its head.
    ROW = "...PullRow";
    /// Whether it can be merged.
    MERGEABILITY = "...PullRow mergeable mergeStateStatus";
    /// What must be known before its branch is brought up to date.
    TO_UPDATE_BRANCH = "...PullCore mergeable";
    /// What tells of a merge whose answer was lost.
    AFTER_MERGE = "...PullCore isInMergeQueue autoMergeRequest { ...AutoMerge }";
    /// Whether its conversation is locked.
    TO_LOCK = "...PullCore locked activeLockReason";
    /// Whether its head branch is there.
    HEAD_BRANCH = "id number headRef { id }";
    /// What tells a comment that was made from those that were there.
    NEWEST_COMMENT = "id number newestComment: comments(last: 1) { nodes { id } }";
    /// The comments among which one is looked for when its answer was lost.
    RECENT_COMMENTS = "id number recentComments: comments(last: 20) { nodes { ...CommentNode } }";
    /// What tells of a change whose answer was lost, and of the comment that came with it.
    AFTER_CHANGE = "...PullCore recentComments: comments(last: 20) { nodes { ...CommentNode } }";
    /// What tells a review that was made from those that were there.
    NEWEST_REVIEW = "...PullRow newestReview: reviews(last: 1) { nodes { id } }";
    /// The reviews among which one is looked for when its answer was lost.
    RECENT_REVIEWS = "...PullRow recentReviews: reviews(last: 20) { nodes { viewerDidAuthor ...ReviewWithComments } }";
}

selections! { PAGES:
    /// A page of its commits.
    COMMITS = "commits(first: $first, after: $after) { totalCount nodes { ...CommitNode } pageInfo { ...PageEnd } }";
    /// A page of its comments.
    COMMENTS = "comments(first: $first, after: $after) { totalCount nodes { ...CommentNode } pageInfo { ...PageEnd } }";
    /// A page of its reviews, without those that were not sent.
    REVIEWS = "reviews(first: $first, after: $after, states: [APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED]) { totalCount nodes { ...ReviewWithComments } pageInfo { ...PageEnd } }";
}

/// Which branches of it a change of its state looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branches {
    /// None.
    None,
    /// That of the head.
    Head,
    /// Those of head and base.
    Both,
}

/// What must be known before a change of its state; with its newest comment where the change makes
/// one.
pub(crate) fn before_change(branches: Branches, comments: bool) -> String {
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
