//! Maps GraphQL answers to the domain model.

use std::collections::BTreeMap;

use forge_core::{
    Error, ErrorKind, ForgeKind, PrId, PrKey, RepoId, RepoPath, Result, Timestamp, Warning,
    model::{
        Actor, AutoMerge, ClosingPull, Comment, Commit, FileChange, FileStatus, Issue,
        IssueDetails, IssueId, IssueReason, IssueState, IssueType, Label, LinkedIssue, MergeMethod,
        MergeState, Mergeability, Milestone, PrFields, PrState, ProjectItem, ProjectStatus,
        PullRequest, RepoNode, Review, ReviewCounts, ReviewDecision, ReviewState, Reviewer, Side,
        Signature, Thread,
    },
};

use crate::{
    checks,
    gql::{
        fields::is_less,
        types::{self as wire, Nodes},
    },
    pulls::{rules, view::Unread},
    reply, summary,
};

/// Returns a GitHub repository at `host`.
pub(crate) fn repo_id(host: &str, name: &wire::RepoName) -> RepoId {
    RepoId {
        kind: ForgeKind::GITHUB,
        host: host.to_owned(),
        path: RepoPath::Named {
            owner: name.owner.login.clone(),
            name: name.name.clone(),
        },
    }
}

/// Returns the ids of a repository and its owner, if they were requested.
fn repo_node(name: &wire::RepoName) -> Option<RepoNode> {
    (!name.id.is_empty()).then(|| {
        let mut node = RepoNode::new(&name.id, &name.owner.id);
        node.owner_name = name.owner.name.clone().filter(|n| !n.is_empty());
        node
    })
}

fn repo_owner(owner: wire::Login) -> Actor {
    let mut actor = Actor::new(owner.login);
    actor.name = owner.name.filter(|n| !n.is_empty());
    actor.id = owner.id;
    actor
}

/// Maps an account; GitHub shows deleted accounts as `ghost`.
pub(crate) fn actor(account: Option<wire::Account>) -> Actor {
    let Some(account) = account else {
        let mut ghost = Actor::new("ghost");
        ghost.deleted = true;
        return ghost;
    };
    let mut actor = Actor::new(account.login);
    actor.bot = account.kind == "Bot";
    actor.name = account.name.filter(|n| !n.is_empty());
    actor.id = account.id;
    actor.database_id = account.database_id;
    actor
}

pub(crate) fn label(l: wire::Label) -> Label {
    let mut label = Label::new(l.name, l.color);
    label.description = l.description.filter(|d| !d.is_empty());
    label.id = l.id;
    label
}

pub(crate) fn reviewer(r: wire::Requested) -> Reviewer {
    match r.kind.as_str() {
        "Team" => Reviewer::Team {
            slug: r.combined_slug,
            name: r.team_name,
        },
        "Bot" => Reviewer::Bot { login: r.login },
        _ => Reviewer::User {
            login: r.login,
            name: r.user_name.filter(|n| !n.is_empty()),
        },
    }
}

/// Returns whether the answer lacks the name of a team, which means that the token may not read
/// teams.
pub(crate) fn is_unnamed_team(r: &wire::Requested) -> bool {
    r.kind == "Team" && r.combined_slug.is_empty()
}

/// Maps the counts of reactions and drops those that are zero.
fn reactions(groups: Vec<wire::ReactionGroup>) -> BTreeMap<String, u64> {
    groups
        .into_iter()
        .map(|g| (g.content, g.reactors.total_count))
        .filter(|(_, count)| *count > 0)
        .collect()
}

pub(crate) fn comment(c: wire::Comment) -> Comment {
    let reply_to = c.reply_to.map(|r| r.id);
    let (author, at) = (actor(c.author), c.created_at.unwrap_or_else(epoch));
    let mut comment = Comment::new(c.id, author, c.body, at);
    comment.author_association = c.author_association;
    comment.reply_to = reply_to.or_else(|| reply::marked(&comment.body));
    comment.updated_at = c.last_edited_at;
    comment.reactions = reactions(c.reaction_groups);
    comment.line_number = c.line.or(c.original_line).filter(|_| c.path.is_some());
    comment.file_path = c.path;
    comment.diff_hunk = c.diff_hunk;
    comment.url = c.url;
    comment.viewer_did_author = c.viewer_did_author;
    comment.minimized_reason = c.minimized_reason.filter(|_| c.is_minimized);
    comment
}

/// Returns the placeholder for a time that is missing after a partial failure.
fn epoch() -> Timestamp {
    Timestamp::from_unix(0)
}

fn review_state(word: &str) -> ReviewState {
    match word {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "DISMISSED" => ReviewState::Dismissed,
        "PENDING" => ReviewState::Pending,
        _ => ReviewState::Commented,
    }
}

/// Returns the keys of the threads that a review opened, in the order of the review's comments.
/// Each thread begins with one of these comments.
fn opened_threads(r: &wire::Review) -> Vec<String> {
    fn first(thread: &wire::Thread) -> Option<&String> {
        let mut comments = thread.comments.nodes.iter().flatten().flatten();
        comments.next().map(|c| &c.id)
    }
    let of = r.pull_request.as_ref();
    let threads = of.and_then(|pull| pull.review_threads.nodes.as_ref());
    let threads: Vec<&wire::Thread> = threads.into_iter().flatten().flatten().collect();
    let comments = r.comments.nodes.iter().flatten().flatten();
    comments
        .filter_map(|c| threads.iter().find(|t| first(t) == Some(&c.id)))
        .map(|t| t.id.clone())
        .collect()
}

pub(crate) fn review(r: wire::Review) -> Review {
    let threads = opened_threads(&r);
    let (author, state) = (actor(r.author), review_state(&r.state));
    let mut review = Review::new(r.id, author, state, r.submitted_at.unwrap_or_else(epoch));
    review.author_association = r.author_association;
    review.author_can_push = r.author_can_push_to_repository;
    review.body = Some(r.body).filter(|b| !b.is_empty());
    review.commit = r.commit.and_then(|c| c.oid.0);
    review.reactions = reactions(r.reaction_groups);
    review.comments = r.comments.into_vec().into_iter().map(comment).collect();
    review.threads = threads;
    review
}

pub(crate) fn thread(t: wire::Thread) -> Thread {
    let mut comments = t.comments.nodes.iter().flatten().flatten();
    let pending = comments.next().is_some_and(|c| c.state == "PENDING");
    let mut thread = Thread::new(t.id, t.path);
    thread.pending = pending;
    // An outdated thread has line numbers only in the diff of the commit on which it was opened.
    (thread.line, thread.start_line) = if t.is_outdated {
        (t.original_line, t.original_start_line)
    } else {
        (t.line.or(t.original_line), t.start_line)
    };
    thread.side = if t.diff_side == "LEFT" {
        Side::Left
    } else {
        Side::Right
    };
    thread.resolved = t.is_resolved;
    thread.resolved_by = t.resolved_by.map(|a| actor(Some(a)));
    thread.outdated = t.is_outdated;
    thread.comments = t.comments.into_vec().into_iter().map(comment).collect();
    thread
}

fn signature(person: Option<wire::Person>, at: Option<Timestamp>) -> Signature {
    let person = person.unwrap_or_default();
    let mut signature = Signature::new(
        person.name.unwrap_or_default(),
        person.email.unwrap_or_default(),
        person.date.or(at).unwrap_or_else(epoch),
    );
    if let Some(user) = person.user {
        signature.login = Some(user.login);
        signature.account_id = Some(user.id).filter(|id| !id.is_empty());
    }
    signature
}

pub(crate) fn commit(c: wire::PullCommit) -> Commit {
    let c = c.commit;
    let (authored, committed) = (c.authored_date, c.committed_date);
    let authors = c.authors.into_vec().into_iter();
    let authors = authors.map(|p| signature(Some(p), authored)).collect();
    let committer = signature(c.committer, committed);
    let mut commit = Commit::new(
        c.oid.0.unwrap_or_default(),
        c.message_headline,
        authors,
        committer,
    );
    commit.message_body = c.message_body;
    commit
}

pub(crate) fn file(f: wire::File) -> FileChange {
    let status = match f.change_type.as_str() {
        "ADDED" => FileStatus::Added,
        "DELETED" => FileStatus::Deleted,
        "RENAMED" => FileStatus::Renamed,
        "COPIED" => FileStatus::Copied,
        _ => FileStatus::Modified,
    };
    // GraphQL lacks the previous name of a file. The module `files` reads that name by REST.
    let mut change = FileChange::new(f.path, status);
    change.additions = Some(f.additions);
    change.deletions = Some(f.deletions);
    change
}

fn linked_issue(host: &str, i: wire::Issue) -> LinkedIssue {
    let repo = repo_id(host, &i.repository);
    let mut linked = LinkedIssue::new(repo, i.number, i.title, i.url);
    linked.id = i.id;
    linked.repo_node = repo_node(&i.repository);
    linked.open = i.state == "OPEN";
    linked
}

/// Maps an issue of `repo`, without comments, relations, board values and version.
pub(crate) fn issue(host: &str, repo: &RepoId, i: wire::Issue) -> Result<Issue> {
    let (Some(created_at), Some(updated_at)) = (i.created_at, i.updated_at) else {
        return Err(lacks(host, "the times of an issue"));
    };
    if i.number == 0 {
        return Err(lacks(host, "the number of an issue"));
    }
    let id = IssueId::number(repo.clone(), i.number);
    let mut issue = Issue::new(id, i.title, actor(i.author), created_at);
    issue.node_id = i.id;
    issue.body = i.body;
    issue.state = match i.state.as_str() {
        "OPEN" => IssueState::Open,
        _ => IssueState::Closed,
    };
    issue.state_reason = match i.state_reason.as_deref() {
        Some("COMPLETED") => Some(IssueReason::Completed),
        Some("NOT_PLANNED") => Some(IssueReason::NotPlanned),
        Some("DUPLICATE") => Some(IssueReason::Duplicate),
        Some("REOPENED") => Some(IssueReason::Reopened),
        _ => None,
    };
    issue.labels = i.labels.into_vec().into_iter().map(label).collect();
    let assignees = i.assignees.into_vec().into_iter();
    issue.assignees = assignees.map(|a| actor(Some(a))).collect();
    issue.updated_at = updated_at;
    issue.closed_at = i.closed_at;
    issue.milestone = i.milestone.map(milestone);
    issue.comments_count = i.comments.and_then(|c| c.total_count).unwrap_or(0);
    issue.url = i.url;
    Ok(issue)
}

/// Maps the pull requests that close an issue. Leaves out pull requests that the viewer may not
/// see.
pub(crate) fn closing_pulls(host: &str, found: Nodes<wire::Pull>) -> Vec<ClosingPull> {
    let found = found.into_vec().into_iter();
    let mapped = found.filter_map(|pull| {
        let repo = pull.found_in?;
        let id = PrId::number(repo_id(host, &repo), pull.number);
        let mut mapped = ClosingPull::new(id, pull.url);
        mapped.node_id = pull.id;
        mapped.repo_node = repo_node(&repo);
        Some(mapped)
    });
    mapped.collect()
}

/// Extracts the issue type, the reactions, the number of sub-issues, and whether the issue is
/// pinned.
pub(crate) fn issue_details(i: &mut wire::Issue) -> IssueDetails {
    let mut details = IssueDetails::default();
    details.issue_type = i.issue_type.take().map(|found| {
        let mut issue_type = IssueType::new(found.id, found.name);
        issue_type.description = found.description.filter(|text| !text.is_empty());
        issue_type.color = found.color;
        issue_type
    });
    details.is_pinned = i.is_pinned;
    details.reactions = reactions(std::mem::take(&mut i.reaction_groups));
    details.sub_issues.completed = i.sub_issues_summary.completed;
    details.sub_issues.percent_completed = i.sub_issues_summary.percent_completed;
    details.sub_issues.total = i.sub_issues_summary.total;
    details
}

fn milestone(m: wire::Milestone) -> Milestone {
    let mut milestone = Milestone::new(m.title);
    milestone.number = m.number;
    milestone.description = m.description.filter(|d| !d.is_empty());
    milestone.due_on = m.due_on;
    milestone
}

pub(crate) fn project_items(items: Nodes<wire::ProjectItem>) -> Vec<ProjectItem> {
    items.into_vec().into_iter().map(project_item).collect()
}

fn project_item(item: wire::ProjectItem) -> ProjectItem {
    let status = item.status.unwrap_or_default();
    let mut mapped = ProjectItem::new(item.id, item.project.id, item.project.title);
    mapped.status = status
        .option_id
        .zip(status.name)
        .map(|(id, name)| ProjectStatus::new(id, name));
    mapped
}

fn auto_merge(a: wire::AutoMerge) -> AutoMerge {
    let method = match a.merge_method.as_str() {
        "SQUASH" => MergeMethod::Squash,
        "REBASE" => MergeMethod::Rebase,
        _ => MergeMethod::Merge,
    };
    let mut merge = AutoMerge::new(method, actor(a.enabled_by));
    merge.enabled_at = a.enabled_at;
    merge.subject = a.commit_headline;
    merge.body = a.commit_body;
    merge.author_email = a.author_email;
    merge
}

pub(crate) fn mergeability(pull: &wire::Pull) -> Mergeability {
    let state = match pull.mergeable.as_deref() {
        Some("MERGEABLE") => MergeState::Mergeable,
        Some("CONFLICTING") => MergeState::Conflicting,
        _ => MergeState::Unknown,
    };
    let status = pull.merge_state_status.as_deref().unwrap_or("UNKNOWN");
    let mut mergeability = Mergeability::new(state, status);
    mergeability.head_oid = pull.head_ref_oid.0.clone().unwrap_or_default();
    mergeability.base_oid = pull.base_ref_oid.0.clone().unwrap_or_default();
    mergeability
}

fn list<T, U>(section: Option<Nodes<T>>, wanted: bool, each: impl FnMut(T) -> U) -> Option<Vec<U>> {
    wanted.then(|| {
        section
            .map(Nodes::into_vec)
            .unwrap_or_default()
            .into_iter()
            .map(each)
            .collect()
    })
}

/// Maps a pull request of `repo` with the optional parts in `fields`. `unread` are the parts for
/// which GitHub reported an error.
pub(crate) fn pull(
    host: &str,
    repo: &RepoId,
    p: wire::Pull,
    fields: PrFields,
    unread: &Unread,
) -> Result<PullRequest> {
    let (Some(created_at), Some(updated_at)) = (p.created_at, p.updated_at) else {
        return Err(lacks(host, "the times of a pull request"));
    };
    if p.number == 0 {
        return Err(lacks(host, "the number of a pull request"));
    }
    let state = match p.state.as_str() {
        "OPEN" => PrState::Open,
        "CLOSED" => PrState::Closed,
        "MERGED" => PrState::Merged,
        other => {
            return Err(unknown_state(
                host,
                other,
                &format!("pull request {}", p.number),
            ));
        }
    };
    let mergeability = fields
        .contains(PrFields::MERGEABILITY)
        .then(|| mergeability(&p));
    let wants = |f: PrFields| fields.contains(f);
    let base_rules = wants(PrFields::RULES).then(|| rules::extract_rules(&p, &unread.rules));
    let head_repo = p
        .head_repository
        .as_ref()
        .map(|r| repo_id(host, r))
        .filter(|_| p.is_cross_repository);
    // GitHub sends no repository for a deleted fork, and often still its owner.
    let head_repo_is_unknown = p.is_cross_repository && p.head_repository.is_none();
    let unknown_head_owner = p
        .head_repository_owner
        .filter(|_| head_repo_is_unknown)
        .map(repo_owner);
    let head_node = p.head_repository.as_ref().and_then(repo_node);
    let default = p
        .base_repository
        .as_ref()
        .filter(|_| wants(PrFields::TO_CHANGE))
        .and_then(|r| r.default_branch_ref.as_ref());
    let head_is_default = default.map(|d| !p.is_cross_repository && d.name == p.head_ref_name);
    let merged_base = match (state, &p.base_ref) {
        (PrState::Open, Some(base)) if wants(PrFields::MERGED_BASE) => {
            let default = p.base_repository.as_ref();
            let default = default.and_then(|r| r.default_branch_ref.as_ref());
            default.and_then(|d| find_merged_base(host, repo, &d.name, &p.base_ref_name, base))
        }
        _ => None,
    };
    let depends_on = match state {
        PrState::Open if wants(PrFields::DEPENDS_ON) => {
            let default = p.base_repository.as_ref();
            let default = default.and_then(|r| r.default_branch_ref.as_ref());
            let heads = p.base_ref.map(|base| base.associated_pull_requests);
            find_lower_pulls(
                host,
                repo,
                default.map(|d| d.name.as_str()),
                &p.base_ref_name,
                heads.unwrap_or_default(),
            )
            .into_iter()
            .next()
            .map(|end| PrKey::Number(end.number))
        }
        _ => None,
    };
    let head_oid = p.head_ref_oid.0;
    let author = actor(p.author);
    let latest: Vec<Review> = p
        .latest_reviews
        .into_vec()
        .into_iter()
        .map(review)
        .collect();
    let author_review = latest.iter().find(|r| r.author.login == author.login);
    let author_review = author_review.cloned();
    let latest_reviews = summary::latest_reviews(
        p.latest_opinionated_reviews
            .into_vec()
            .into_iter()
            .map(review),
        latest.into_iter(),
        &author.login,
    );
    let reviews = ReviewCounts::of(latest_reviews.iter().map(|r| r.state));
    let comments_count = p.comments.as_ref().and_then(|c| c.total_count).unwrap_or(0);
    let unstable = p.merge_state_status.as_deref() == Some("UNSTABLE");
    let checks = wants(PrFields::CHECKS)
        .then(|| checks::section(p.head, head_oid.as_deref(), unread.checks, unstable));
    let id = PrId::number(repo.clone(), p.number);
    let mut pull = PullRequest::new(id, p.title, author, created_at);
    pull.node_id = p.id;
    pull.description = p.body;
    pull.state = state;
    pull.draft = p.is_draft;
    pull.base_branch = p.base_ref_name;
    pull.base_oid = p.base_ref_oid.0;
    pull.head_branch = p.head_ref_name;
    pull.head_oid = head_oid;
    // GitHub keeps this ref after the branch is deleted. The ref exists even if the branch is in a
    // fork.
    pull.head_ref = Some(format!("refs/pull/{}/head", p.number));
    pull.head_repo = head_repo;
    pull.head_repo_is_unknown = head_repo_is_unknown;
    pull.unknown_head_owner = unknown_head_owner;
    pull.depends_on = depends_on;
    pull.merged_base = merged_base;
    pull.head_node = head_node;
    pull.updated_at = updated_at;
    pull.closed_at = p.closed_at;
    pull.merged_at = p.merged_at;
    pull.merged_by = p.merged_by.map(|a| actor(Some(a)));
    pull.merge_commit = p.merge_commit.and_then(|c| c.oid.0);
    pull.url = p.url;
    pull.labels = p.labels.into_vec().into_iter().map(label).collect();
    pull.assignees = p
        .assignees
        .into_vec()
        .into_iter()
        .map(|a| actor(Some(a)))
        .collect();
    pull.milestone = p.milestone.map(milestone);
    pull.approvals = reviews.approved;
    pull.changes_requested = reviews.changes_requested;
    pull.pending_reviewers = p
        .review_requests
        .into_vec()
        .into_iter()
        .filter_map(|r| r.requested_reviewer)
        .filter(|r| !is_unnamed_team(r))
        .map(reviewer)
        .collect();
    pull.review_decision = match p.review_decision.as_deref() {
        Some("APPROVED") => Some(ReviewDecision::Approved),
        Some("CHANGES_REQUESTED") => Some(ReviewDecision::ChangesRequested),
        Some("REVIEW_REQUIRED") => Some(ReviewDecision::ReviewRequired),
        _ => None,
    };
    pull.latest_reviews = latest_reviews;
    pull.author_review = author_review;
    pull.comments_count = comments_count;
    pull.additions = p.additions.filter(|_| wants(PrFields::STATS));
    pull.deletions = p.deletions.filter(|_| wants(PrFields::STATS));
    pull.changed_files = p.changed_files.filter(|_| wants(PrFields::STATS));
    pull.mergeability = mergeability;
    pull.comments = list(p.all_comments, wants(PrFields::COMMENTS), comment);
    pull.reviews = list(p.reviews, wants(PrFields::REVIEWS), review);
    pull.threads = list(p.review_threads, wants(PrFields::THREADS), thread);
    pull.commits = list(p.commits, wants(PrFields::COMMITS), commit);
    pull.files = list(p.files, wants(PrFields::FILES), file);
    pull.checks = checks;
    pull.linked_issues = list(
        p.closing_issues_references,
        wants(PrFields::LINKED_ISSUES),
        |mut i| {
            let labels = std::mem::take(&mut i.labels).into_vec();
            let mut linked = linked_issue(host, i);
            let names = labels.into_iter().map(|label| label.name);
            linked.labels = wants(PrFields::LINKED_LABELS).then(|| names.collect());
            linked
        },
    );
    pull.auto_merge = p.auto_merge_request.map(auto_merge);
    pull.maintainer_can_modify = p.maintainer_can_modify;
    pull.database_id = p.full_database_id.and_then(|id| id.parse().ok());
    pull.potential_merge_commit = p.potential_merge_commit.and_then(|c| c.oid.0);
    pull.base_rules = base_rules;
    pull.head_is_default = head_is_default;
    pull.reactions = wants(PrFields::REACTIONS).then(|| reactions(p.reaction_groups));
    // Boards that could not be read must not look like an empty list.
    pull.projects = p.project_items.map(project_items);
    if !is_less(fields) {
        pull.version = version(&pull);
    }
    Ok(pull)
}

/// Finds the pull requests of `repo` whose head is `base`, the base branch of an open pull request.
/// Returns an empty list if `base` is the default branch, because most pull requests are based on
/// it, and it is rarely the head of another pull request.
pub(crate) fn find_lower_pulls(
    host: &str,
    repo: &RepoId,
    default: Option<&str>,
    base: &str,
    heads: Nodes<wire::LinkEnd>,
) -> Vec<wire::LinkEnd> {
    if default == Some(base) {
        return vec![];
    }
    let key = repo.comparison_key();
    let mut ends = heads.into_vec();
    ends.retain(|end| repo_id(host, &end.repository).comparison_key() == key);
    ends
}

/// Finds the merged pull request of `repo` whose head is the base branch `name`. The branch has no
/// later commits, so it is not a lasting one, such as `develop`.
fn find_merged_base(
    host: &str,
    repo: &RepoId,
    default: &str,
    name: &str,
    base: &wire::BaseRef,
) -> Option<PrKey> {
    let tip = base.target.as_ref()?.oid.0.as_deref()?;
    let merged = find_lower_pulls(host, repo, Some(default), name, base.merged_heads.clone());
    let mut merged = merged.into_iter();
    let found = merged.find(|end| end.head_ref_oid.0.as_deref() == Some(tip))?;
    Some(PrKey::Number(found.number))
}

/// Adds the fields that the answer to a state change lacks. The answer contains only the fragment
/// `PullState`, so the other fields come from the pull request before the change.
pub(crate) fn after_change(before: PullRequest, now: PullRequest) -> PullRequest {
    let mut pull = now;
    pull.description = before.description;
    pull.labels = before.labels;
    pull.assignees = before.assignees;
    pull.milestone = before.milestone;
    pull.pending_reviewers = before.pending_reviewers;
    pull.approvals = before.approvals;
    pull.changes_requested = before.changes_requested;
    pull.latest_reviews = before.latest_reviews;
    pull.author_review = before.author_review;
    pull.warnings = merge_warnings(before.warnings, pull.warnings);
    pull.version = version(&pull);
    pull
}

/// Adds the fields about reviews and the merge, which GitHub's answer to an edit lacks. They come
/// from the pull request before the edit.
pub(crate) fn after_edit(before: PullRequest, now: PullRequest) -> PullRequest {
    let mut pull = now;
    pull.merged_by = before.merged_by;
    pull.merge_commit = before.merge_commit;
    pull.approvals = before.approvals;
    pull.changes_requested = before.changes_requested;
    pull.latest_reviews = before.latest_reviews;
    pull.author_review = before.author_review;
    pull.warnings = merge_warnings(before.warnings, pull.warnings);
    pull
}

/// Combines the warnings of two answers without duplicates.
pub(crate) fn merge_warnings(mut before: Vec<Warning>, now: Vec<Warning>) -> Vec<Warning> {
    for warning in now {
        if before.iter().all(|w| w.message != warning.message) {
            before.push(warning);
        }
    }
    before
}

/// Removes reviewers from a pull request and updates its version.
pub(crate) fn without_reviewers(mut pull: PullRequest, gone: &[&Reviewer]) -> PullRequest {
    pull.pending_reviewers
        .retain(|r| !gone.iter().any(|g| g.handle() == r.handle()));
    pull.version = version(&pull);
    pull
}

/// Returns the error for an unknown state. The message quotes the text only if the text has the
/// form of a state, because any other text may be a credential.
pub(crate) fn unknown_state(host: &str, state: &str, of: &str) -> Error {
    let is_word = |b: u8| b.is_ascii_uppercase() || b == b'_';
    let message = match (1..=40).contains(&state.len()) && state.bytes().all(is_word) {
        true => format!("{host} sent the unknown state '{state}' of {of}"),
        false => format!("{host} sent an unreadable state of {of}"),
    };
    Error::new(ErrorKind::Protocol, message)
}

fn lacks(host: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::Protocol,
        format!("the answer of {host} lacks {what}"),
    )
}

/// Returns a fingerprint of all fields that an edit can change, because GitHub gives pull requests
/// no version. `updatedAt` is no substitute: it has a resolution of seconds, and changes with every
/// comment.
fn version(p: &PullRequest) -> String {
    let mut labels: Vec<&str> = p.labels.iter().map(|l| l.name.as_str()).collect();
    let mut assignees: Vec<&str> = p.assignees.iter().map(|a| a.login.as_str()).collect();
    let mut reviewers: Vec<&str> = p.pending_reviewers.iter().map(Reviewer::handle).collect();
    for list in [&mut labels, &mut assignees, &mut reviewers] {
        list.sort_unstable();
    }
    let all = (
        (&p.title, &p.description, &p.base_branch, p.state, p.draft),
        (
            labels,
            assignees,
            reviewers,
            p.milestone.as_ref().map(|m| &m.title),
        ),
    );
    format!("{:016x}", forge_core::fingerprint(&all))
}
