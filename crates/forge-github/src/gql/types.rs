//! Types of GraphQL answers. Nearly every field is optional: partial failures leave `null`s, and
//! each document selects only some fields. Enumerations are strings, because GitHub extends them.

use std::{fmt, marker::PhantomData};

use forge_core::{Timestamp, is_full_oid};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor},
};

/// Maximum number of nodes in a page. No query requests so many. The limit bounds memory, because
/// even an empty node takes up to some kilobytes.
const MAX_NODES: usize = 1_000;

/// A GraphQL connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Nodes<T> {
    #[serde(
        default = "Option::default",
        deserialize_with = "bounded",
        bound(deserialize = "T: Deserialize<'de>")
    )]
    pub nodes: Option<Vec<Option<T>>>,
    #[serde(default)]
    pub page_info: Option<PageInfo>,
    #[serde(default)]
    pub total_count: Option<u64>,
}

fn bounded<'de, D, T>(d: D) -> Result<Option<Vec<Option<T>>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Bounded<T>>::deserialize(d)?.map(|list| list.0))
}

/// The nodes of one page.
struct Bounded<T>(Vec<Option<T>>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bounded<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_seq(BoundedVisitor(PhantomData))
    }
}

struct BoundedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BoundedVisitor<T> {
    type Value = Bounded<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element()? {
            if nodes.len() == MAX_NODES {
                let message = format!("a page has more than {MAX_NODES} nodes");
                return Err(A::Error::custom(message));
            }
            nodes.push(node);
        }
        Ok(Bounded(nodes))
    }
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self {
            nodes: None,
            page_info: None,
            total_count: None,
        }
    }
}

impl<T> Nodes<T> {
    /// Returns the nodes that are not null.
    pub fn into_vec(self) -> Vec<T> {
        self.nodes
            .unwrap_or_default()
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns whether the answer lacks the whole list, or has null for a node.
    pub fn has_gaps(&self) -> bool {
        let nodes = self.nodes.as_ref();
        nodes.is_none_or(|nodes| nodes.iter().any(Option::is_none))
    }

    /// Returns the cursor of the next page.
    pub fn next(&self) -> Option<String> {
        self.page_info.as_ref().and_then(PageInfo::next)
    }

    /// Appends the next page. A page without a list of nodes counts as one missing node.
    pub fn extend(&mut self, page: Self) {
        self.nodes
            .get_or_insert_default()
            .extend(page.nodes.unwrap_or_else(|| vec![None]));
        self.page_info = page.page_info;
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageInfo {
    #[serde(default)]
    pub has_next_page: bool,
    #[serde(default)]
    pub end_cursor: Option<String>,
}

impl PageInfo {
    pub fn next(&self) -> Option<String> {
        self.end_cursor.clone().filter(|_| self.has_next_page)
    }
}

/// The full hex id of a git object. An empty id counts as missing. Any other text is an error,
/// because git would read it as a revision or an option.
#[derive(Clone, Debug, Default)]
pub(crate) struct FullOid(pub Option<String>);

impl<'de> Deserialize<'de> for FullOid {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let id = Some(String::deserialize(d)?).filter(|id| !id.is_empty());
        match id.as_deref().is_none_or(is_full_oid) {
            true => Ok(Self(id)),
            false => Err(D::Error::custom("an object id has 40 or 64 hex digits")),
        }
    }
}

fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    d: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

macro_rules! wire {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty $(as $alias:literal)?,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub(crate) struct $name {
                $(#[serde(default, deserialize_with = "or_default" $(, rename = $alias)?)] pub $field: $ty,)*
            }
        )*
    };
}

wire! {
    /// An account of any kind.
    Account {
        kind: String as "__typename", id: String, login: String, name: Option<String>,
        database_id: Option<u64>,
    }
    /// A commit that is known only by its id.
    Oid { oid: FullOid, }
    /// An account or another object with a login; the other fields are optional.
    Login { id: String, login: String, name: Option<String>, }
    /// A repository by name; the id is optional.
    RepoName { id: String, name: String, owner: Login, }
    Milestone {
        number: Option<u64>, title: String, description: Option<String>, due_on: Option<Timestamp>,
    }
    /// A project board.
    Project { id: String, title: String, }
    /// The status of a board item; empty if the field "Status" is no single-select field.
    ProjectStatus { option_id: Option<String>, name: Option<String>, }
    ProjectItem { id: String, project: Project, status: Option<ProjectStatus>, }
    AutoMerge {
        merge_method: String, enabled_at: Option<Timestamp>, enabled_by: Option<Account>,
        commit_headline: Option<String>, commit_body: Option<String>, author_email: Option<String>,
    }
    /// An object of which only the id is read.
    Id { id: String, }
    Label { id: String, name: String, color: String, description: Option<String>, }
    Requested {
        kind: String as "__typename", login: String, user_name: Option<String>,
        team_name: Option<String>, combined_slug: String,
    }
    ReviewRequest { requested_reviewer: Option<Requested>, as_code_owner: bool, }
    Count { total_count: u64, }
    ReactionGroup { content: String, reactors: Count, }
    /// A conversation comment or a line comment.
    Comment {
        id: String, url: String, body: String, state: String,
        created_at: Option<Timestamp>, last_edited_at: Option<Timestamp>,
        author_association: Option<String>, is_minimized: bool, minimized_reason: Option<String>,
        viewer_did_author: bool, author: Option<Account>, reaction_groups: Vec<ReactionGroup>,
        path: Option<String>, line: Option<u64>, original_line: Option<u64>,
        diff_hunk: Option<String>, reply_to: Option<Id>,
    }
    Review {
        id: String, state: String, body: String, submitted_at: Option<Timestamp>,
        author_association: Option<String>, author: Option<Account>, commit: Option<Oid>, viewer_did_author: bool,
        author_can_push_to_repository: Option<bool>, comments: Nodes<Comment>, reaction_groups: Vec<ReactionGroup>,
        pull_request: Option<ReviewedPull>,
    }
    /// The pull request of a review, with the threads that the review opened.
    ReviewedPull { id: String, review_threads: Nodes<Thread>, }
    Thread {
        id: String, path: String, line: Option<u64>, start_line: Option<u64>,
        original_line: Option<u64>, original_start_line: Option<u64>, diff_side: String,
        is_resolved: bool, is_outdated: bool, resolved_by: Option<Account>,
        comments: Nodes<Comment>, newest_comment: Nodes<Id>, recent_comments: Nodes<Comment>,
    }
    Person { name: Option<String>, email: Option<String>, date: Option<Timestamp>, user: Option<Login>, }
    Commit {
        oid: FullOid, message_headline: String, message_body: String,
        authored_date: Option<Timestamp>, committed_date: Option<Timestamp>, authors: Nodes<Person>,
        committer: Option<Person>, status_check_rollup: Option<Rollup>,
    }
    PullCommit { commit: Commit, }
    File { path: String, additions: u64, deletions: u64, change_type: String, }
    Rollup { state: Option<String>, contexts: Nodes<Check>, }
    Workflow { name: String, }
    WorkflowRun { event: String, url: String, workflow: Workflow, }
    /// An app by its id.
    App { database_id: Option<u64>, }
    CheckSuite { workflow_run: Option<WorkflowRun>, app: Option<App>, }
    /// The line of an annotation.
    AnnotationPoint { line: u64, }
    AnnotationSpan { start: AnnotationPoint, }
    /// A message of a check run, at a line of a file.
    Annotation {
        annotation_level: String, path: String, location: AnnotationSpan, message: String,
    }
    /// A step of a check run.
    RunStep { name: String, conclusion: Option<String>, }
    /// The annotations and steps of a check run; empty for other nodes.
    RunDetails { id: String, annotations: Nodes<Annotation>, steps: Nodes<RunStep>, }
    Check {
        kind: String as "__typename", id: String, name: String, status: String, conclusion: Option<String>,
        started_at: Option<Timestamp>, completed_at: Option<Timestamp>, details_url: Option<String>,
        title: Option<String>, check_suite: CheckSuite, context: String, state: String,
        target_url: Option<String>, description: Option<String>, created_at: Option<Timestamp>,
        is_required: Option<bool>,
    }
    /// A comment or a thread, and its pull request.
    Part {
        kind: String as "__typename", body: String, conversation_of: Option<Id>,
        pull_request: Option<Id>, is_resolved: bool, newest_comment: Nodes<Id>,
    }
    /// An issue with the selected fields.
    Issue {
        id: String, number: u64, title: String, url: String, state: String, repository: RepoName,
        body: String, state_reason: Option<String>, created_at: Option<Timestamp>,
        updated_at: Option<Timestamp>, closed_at: Option<Timestamp>, author: Option<Account>,
        labels: Nodes<Label>, assignees: Nodes<Account>, milestone: Option<Milestone>,
        comments: Option<Nodes<Comment>>, all_comments: Option<Nodes<Comment>>, newest_comment: Nodes<Id>,
        recent_comments: Nodes<Comment>,
        parent: Option<Box<Issue>>, sub_issues: Option<Nodes<Issue>>,
        blocked_by: Option<Nodes<Issue>>, blocking: Option<Nodes<Issue>>,
        board_items: Option<Nodes<BoardItem>>, timeline_items: Option<Nodes<IssueEvent>>,
        issue_type: Option<IssueType>, is_pinned: bool, reaction_groups: Vec<ReactionGroup>,
        sub_issues_summary: SubIssuesSummary,
        project_items: Option<Nodes<ProjectItem>>,
        closed_by_pull_requests_references: Option<Nodes<Pull>>,
    }
    IssueType { id: String, name: String, description: Option<String>, color: Option<String>, }
    SubIssuesSummary { completed: u64, percent_completed: u64, total: u64, }
    /// An item of a board, with its values.
    BoardItem {
        id: String, is_archived: bool, project: BoardName, field_values: Nodes<FieldValue>,
    }
    /// An object of which only the name is read.
    Named { name: String, }
    /// A board by its number.
    BoardName { number: u64, owner: Login, }
    /// A board in the list of its owner.
    ListedBoard { number: u64, title: String, }
    /// The value of a single-select field; empty for other field types.
    FieldValue { name: Option<String>, field: Named, }
    /// A board and its fields.
    Board { id: String, fields: Nodes<BoardField>, }
    /// A board's field; a single-select field also has options.
    BoardField { id: String, name: String, data_type: String, options: Vec<FieldOption>, }
    FieldOption { id: String, name: String, color: String, description: String, }
    /// An event in the history of an issue.
    IssueEvent {
        kind: String as "__typename", id: String, created_at: Option<Timestamp>,
        actor: Option<Account>, author: Option<Account>, state_reason: Option<String>,
        label: Option<Named>, assignee: Option<Login>,
        previous_title: String, current_title: String, previous_status: String, status: String,
        other: Option<Box<Issue>>,
    }
    /// A pull request with the selected fields.
    Pull {
        id: String, number: u64, title: String, state: String, is_draft: bool, url: String,
        created_at: Option<Timestamp>, updated_at: Option<Timestamp>, closed_at: Option<Timestamp>,
        merged_at: Option<Timestamp>, repository: Option<Id>, found_in: Option<RepoName>, base_ref_name: String, base_ref_oid: FullOid,
        head_ref_name: String, head_ref_oid: FullOid, is_cross_repository: bool,
        head_repository: Option<RepoName>, head_repository_owner: Option<Login>,
        author: Option<Account>,
        body: String, merged_by: Option<Account>, merge_commit: Option<Oid>, milestone: Option<Milestone>,
        labels: Nodes<Label>, assignees: Nodes<Account>, review_requests: Nodes<ReviewRequest>,
        review_decision: Option<String>, latest_reviews: Nodes<Review>,
        latest_opinionated_reviews: Nodes<Review>,
        additions: Option<u64>, deletions: Option<u64>, changed_files: Option<u64>,
        mergeable: Option<String>, merge_state_status: Option<String>,
        comments: Option<Nodes<Comment>>, all_comments: Option<Nodes<Comment>>,
        reviews: Option<Nodes<Review>>,
        review_threads: Option<Nodes<Thread>>, commits: Option<Nodes<PullCommit>>,
        files: Option<Nodes<File>>, head: Option<Nodes<PullCommit>>,
        closing_issues_references: Option<Nodes<Issue>>, project_items: Option<Nodes<ProjectItem>>,
        auto_merge_request: Option<AutoMerge>, maintainer_can_modify: Option<bool>,
        full_database_id: Option<String>, potential_merge_commit: Option<Oid>,
        reaction_groups: Vec<ReactionGroup>,
        is_merge_queue_enabled: bool, is_in_merge_queue: bool,
        locked: bool, active_lock_reason: Option<String>,
        merge_queue_entry: Option<QueueEntry>, viewer_can_merge_as_admin: Option<bool>, head_ref: Option<HeadRef>,
        base_ref: Option<BaseRef>, base_repository: Option<Repo>, newest_comment: Nodes<Id>, newest_review: Nodes<Id>,
        recent_comments: Nodes<Comment>, recent_reviews: Nodes<Review>, pending_review: Nodes<Review>,
        timeline_items: Option<Nodes<Event>>,
    }
    /// An issue or a pull request at either end of a link.
    LinkEnd {
        kind: String as "__typename", number: u64, title: String, state: String,
        pull_state: String, repository: RepoName, head_ref_oid: FullOid,
    }
    CrossReference { source: Option<LinkEnd>, }
    /// An existing head branch.
    HeadRef { id: String, target: Option<Oid>, }
    /// A base branch, the pull requests whose head it is, and its protection.
    BaseRef {
        associated_pull_requests: Nodes<LinkEnd>, merged_heads: Nodes<LinkEnd>,
        target: Option<Oid>, ref_update_rule: Option<UpdateRule>,
        branch_protection_rule: Option<ProtectionRule>,
    }
    QueueEntry { position: Option<u64>, state: Option<String>, }
    /// The part of a branch protection that every reader of the branch can see.
    UpdateRule {
        required_approving_review_count: Option<u64>,
        required_status_check_contexts: Vec<String>, requires_code_owner_reviews: bool,
        requires_conversation_resolution: bool, requires_linear_history: bool,
        requires_signatures: bool, viewer_can_push: Option<bool>,
    }
    /// A check required by a branch protection, and the app that must report it.
    RequiredCheck { context: String, app: Option<App>, }
    /// The protection of a branch, visible to administrators.
    ProtectionRule {
        requires_approving_reviews: bool, required_approving_review_count: Option<u64>,
        requires_code_owner_reviews: bool, require_last_push_approval: bool,
        dismisses_stale_reviews: bool, requires_conversation_resolution: bool,
        requires_status_checks: bool, required_status_check_contexts: Vec<String>,
        required_status_checks: Vec<RequiredCheck>, requires_strict_status_checks: bool, requires_linear_history: bool,
        requires_commit_signatures: bool, requires_deployments: bool,
        required_deployment_environments: Vec<String>, lock_branch: bool, restricts_pushes: bool,
    }
    /// A ruleset by its id.
    RulesetName { database_id: Option<u64>, name: String, }
    /// An issue or a pull request whose links are read.
    LinkSubject {
        state: String, title: String, body: String, base_ref_name: String,
        base_ref: Option<BaseRef>, commits: Nodes<PullCommit>, comments: Nodes<Comment>,
        reviews: Nodes<Review>, closes: Nodes<LinkEnd>, closed_by: Nodes<LinkEnd>,
        timeline_items: Nodes<CrossReference>,
    }
    Repo {
        name: String, owner: Login, url: String, description: Option<String>,
        is_archived: bool, viewer_permission: Option<String>,
        viewer_default_merge_method: Option<String>, merge_commit_allowed: bool,
        squash_merge_allowed: bool, rebase_merge_allowed: bool, auto_merge_allowed: bool,
        default_branch_ref: Option<Workflow>, parent: Option<RepoName>, rulesets: Nodes<RulesetName>,
        open_pulls: Option<Nodes<OpenPull>>,
    }
    /// An open pull request and its base branch.
    OpenPull { id: String, number: u64, base_ref_name: String, }
    Event {
        kind: String as "__typename", id: String, created_at: Option<Timestamp>,
        actor: Option<Account>, commit: Option<Oid>, previous_title: String, current_title: String,
        previous_ref_name: String, current_ref_name: String, after_commit: Option<Oid>,
    }
}

impl Part {
    /// Returns whether this comment or thread belongs to the pull request with that id.
    pub fn is_of(&self, pull: &str) -> bool {
        let of = self.conversation_of.as_ref().or(self.pull_request.as_ref());
        of.is_some_and(|of| of.id == pull)
    }
}
