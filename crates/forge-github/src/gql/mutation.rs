//! The table of mutations, and documents of several mutations.

use serde_json::{Map, Value};

use super::GqlDocument;

/// A mutation, and the selection on its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mutation {
    /// The mutation's name. The input type is this name, capitalized, with the suffix `Input`.
    pub name: &'static str,
    /// The selection on the payload.
    pub selection: &'static str,
}

macro_rules! mutations {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $selection:literal;)*) => {
        $($(#[$doc])* pub(crate) const $id: Mutation = Mutation { name: $name, selection: $selection };)*
        /// All mutations.
        pub(crate) const ALL: &[Mutation] = &[$($id),*];
    };
}

// A mutation selects the fields that it can change. An earlier query provides the other fields.
// Opening a pull request and marking it as ready can request reviews from code owners, so these
// mutations also select the reviewers.
mutations! {
    CREATE_PULL = "createPullRequest", "pullRequest { ...PullEdited }";
    UPDATE_PULL = "updatePullRequest", "pullRequest { ...PullEdited }";
    CLOSE_PULL = "closePullRequest", "pullRequest { ...PullState }";
    REOPEN_PULL = "reopenPullRequest", "pullRequest { ...PullState }";
    MARK_READY = "markPullRequestReadyForReview", "pullRequest { ...PullEdited }";
    CONVERT_TO_DRAFT = "convertPullRequestToDraft", "pullRequest { ...PullState }";
    MERGE_PULL = "mergePullRequest", "pullRequest { ...PullState }";
    ENQUEUE = "enqueuePullRequest", "mergeQueueEntry { position pullRequest { ...PullState } }";
    ENABLE_AUTO_MERGE = "enablePullRequestAutoMerge", "pullRequest { ...PullState }";
    DISABLE_AUTO_MERGE = "disablePullRequestAutoMerge", "pullRequest { ...PullState }";
    REVERT = "revertPullRequest", "revertPullRequest { ...PullEdited }";
    LOCK = "lockLockable", "lockedRecord { locked }";
    UNLOCK = "unlockLockable", "unlockedRecord { locked }";
    ADD_LABELS = "addLabelsToLabelable", "labelable { ... on PullRequest { ...PullEdited } }";
    REMOVE_LABELS = "removeLabelsFromLabelable", "labelable { ... on PullRequest { ...PullEdited } }";
    ADD_ISSUE_LABELS = "addLabelsToLabelable", "labelable { ... on Issue { ...IssueNode } }";
    REMOVE_ISSUE_LABELS = "removeLabelsFromLabelable", "labelable { ... on Issue { ...IssueNode } }";
    ADD_ASSIGNEES = "addAssigneesToAssignable", "assignable { ... on PullRequest { ...PullEdited } }";
    REMOVE_ASSIGNEES = "removeAssigneesFromAssignable", "assignable { ... on PullRequest { ...PullEdited } }";
    REQUEST_REVIEWS = "requestReviews", "pullRequest { ...PullEdited }";
    REQUEST_REVIEWS_BY_LOGIN = "requestReviewsByLogin", "pullRequest { ...PullEdited }";
    ADD_TO_PROJECT = "addProjectV2ItemById", "item { id }";
    REMOVE_FROM_PROJECT = "deleteProjectV2Item", "deletedItemId";
    CREATE_REF = "createRef", "ref { id }";
    CREATE_COMMIT = "createCommitOnBranch", "commit { oid }";
    UPDATE_BRANCH = "updatePullRequestBranch", "pullRequest { ...PullState }";
    DELETE_REF = "deleteRef", "clientMutationId";
    ADD_COMMENT = "addComment", "commentEdge { node { ...CommentNode } }";
    UPDATE_COMMENT = "updateIssueComment", "issueComment { ...CommentNode }";
    UPDATE_LINE_COMMENT = "updatePullRequestReviewComment", "pullRequestReviewComment { ...LineComment }";
    DELETE_COMMENT = "deleteIssueComment", "clientMutationId";
    DELETE_LINE_COMMENT = "deletePullRequestReviewComment", "clientMutationId";
    ADD_REVIEW = "addPullRequestReview", "pullRequestReview { ...ReviewWithComments }";
    ADD_REVIEW_THREADS = "addPullRequestReview", "pullRequestReview { ...ReviewWithComments ...OpenedThreads }";
    BEGIN_REVIEW = "addPullRequestReview", "pullRequestReview { id }";
    ADD_THREAD = "addPullRequestReviewThread", "thread { id comments(first: 1) { nodes { id } } }";
    UPDATE_REVIEW = "updatePullRequestReview", "pullRequestReview { ...ReviewNode }";
    SUBMIT_REVIEW = "submitPullRequestReview", "pullRequestReview { ...ReviewWithComments ...OpenedThreads }";
    DISCARD_REVIEW = "deletePullRequestReview", "clientMutationId";
    DISMISS_REVIEW = "dismissPullRequestReview", "pullRequestReview { ...ReviewWithComments }";
    REPLY = "addPullRequestReviewThreadReply", "comment { state ...LineComment }";
    RESOLVE = "resolveReviewThread", "thread { ...ThreadNode }";
    UNRESOLVE = "unresolveReviewThread", "thread { ...ThreadNode }";
    CREATE_ISSUE = "createIssue", "issue { ...IssueNode }";
    UPDATE_ISSUE = "updateIssue", "issue { ...IssueNode }";
    CLOSE_ISSUE = "closeIssue", "issue { ...IssueNode }";
    REOPEN_ISSUE = "reopenIssue", "issue { ...IssueNode }";
    DELETE_ISSUE = "deleteIssue", "clientMutationId";
    COMMENT_ON_ISSUE = "addComment", "commentEdge { node { id } } subject { ... on Issue { ...IssueNode } }";
    ADD_ISSUE_ASSIGNEES = "addAssigneesToAssignable", "assignable { ... on Issue { ...IssueNode } }";
    REMOVE_ISSUE_ASSIGNEES = "removeAssigneesFromAssignable", "assignable { ... on Issue { ...IssueNode } }";
    ADD_SUB_ISSUE = "addSubIssue", "subIssue { ...IssueNode }";
    REMOVE_SUB_ISSUE = "removeSubIssue", "subIssue { ...IssueNode }";
    ADD_BLOCKED_BY = "addBlockedBy", "issue { ...IssueNode }";
    REMOVE_BLOCKED_BY = "removeBlockedBy", "issue { ...IssueNode }";
    SET_VALUE = "updateProjectV2ItemFieldValue", "projectV2Item { content { ... on Issue { ...IssueNode } } }";
    CLEAR_VALUE = "clearProjectV2ItemFieldValue", "projectV2Item { content { ... on Issue { ...IssueNode } } }";
    CREATE_FIELD = "createProjectV2Field", "projectV2Field { ... on ProjectV2FieldCommon { id } }";
    UPDATE_FIELD = "updateProjectV2Field", "projectV2Field { ... on ProjectV2FieldCommon { id } }";
    CREATE_LABEL = "createLabel", "label { ...LabelNode }";
    UPDATE_LABEL = "updateLabel", "label { ...LabelNode }";
    DELETE_LABEL = "deleteLabel", "clientMutationId";
}

impl Mutation {
    fn input_type(self) -> String {
        let mut letters = self.name.chars();
        let first = letters
            .next()
            .map(|c| c.to_ascii_uppercase())
            .unwrap_or_default();
        format!("{first}{}Input!", letters.as_str())
    }
}

/// Several mutations in one document; GitHub runs them in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    parts: Vec<(String, Mutation)>,
    inputs: Map<String, Value>,
}

impl Batch {
    /// Adds a mutation whose payload appears under `alias` in the answer.
    pub fn push(&mut self, alias: &str, mutation: Mutation, input: Value) {
        self.parts.push((alias.to_owned(), mutation));
        self.inputs.insert(alias.to_owned(), input);
    }

    /// Creates a batch of one mutation.
    pub fn of(alias: &str, mutation: Mutation, input: Value) -> Self {
        let mut batch = Self::default();
        batch.push(alias, mutation, input);
        batch
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the aliases, in order.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(alias, _)| alias.as_str())
    }

    /// Returns the aliases, mutations and inputs, in order.
    pub fn parts(&self) -> impl Iterator<Item = (&str, Mutation, &Value)> {
        self.parts.iter().map(|(alias, mutation)| {
            let input = self.inputs.get(alias).unwrap_or(&Value::Null);
            (alias.as_str(), *mutation, input)
        })
    }

    /// Returns whether the batch consists only of these mutations.
    pub fn is_of(&self, mutations: &[Mutation]) -> bool {
        self.parts.iter().all(|(_, m)| mutations.contains(m))
    }

    /// Composes the document, an operation named after the first mutation.
    pub fn document(&self) -> String {
        let name = self.parts.first().map_or("", |(_, m)| m.name);
        let fields: Vec<String> = self
            .parts
            .iter()
            .map(|(alias, m)| format!("{alias}: {}(input: ${alias}) {{ {} }}", m.name, m.selection))
            .collect();
        let mut document = GqlDocument::generated(&format!("mutation {name}"), &fields.join(" "));
        for (alias, mutation) in &self.parts {
            document.variable(alias, &mutation.input_type());
        }
        document.text()
    }

    /// Returns the variables of the document: one input for each mutation.
    pub fn variables(&self) -> Value {
        Value::Object(self.inputs.clone())
    }
}
