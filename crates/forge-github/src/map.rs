//! Answers to the domain model.

use std::collections::BTreeMap;

use forge_core::{
    Error, ErrorKind, ForgeKind, PrId, RepoId, RepoPath, Result, Timestamp,
    model::{
        Actor, Comment, Commit, FileChange, FileStatus, Label, LinkedIssue, MergeState,
        Mergeability, PrFields, PrState, PullRequest, Review, ReviewDecision, ReviewState,
        Reviewer, Side, Signature, Thread,
    },
};

use crate::{
    checks,
    gql::types::{self as wire, Nodes},
    reply, summary,
};

/// A GitHub repository at `host`.
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

/// An account; GitHub has no account for a deleted one, and shows `ghost`.
pub(crate) fn actor(account: Option<wire::Account>) -> Actor {
    let Some(account) = account else {
        return Actor::new("ghost");
    };
    Actor {
        bot: account.kind == "Bot",
        name: account.name.filter(|n| !n.is_empty()),
        ..Actor::new(account.login)
    }
}

pub(crate) fn label(l: wire::Label) -> Label {
    Label {
        name: l.name,
        color: l.color,
        description: l.description.filter(|d| !d.is_empty()),
        id: l.id,
    }
}

pub(crate) fn reviewer(r: wire::Requested) -> Reviewer {
    if r.kind == "Team" {
        Reviewer::Team {
            slug: r.combined_slug,
            name: r.team_name,
        }
    } else {
        Reviewer::User { login: r.login }
    }
}

pub(crate) fn comment(c: wire::Comment) -> Comment {
    let reactions: BTreeMap<String, u64> = c
        .reaction_groups
        .into_iter()
        .map(|g| (g.content, g.reactors.total_count))
        .filter(|(_, count)| *count > 0)
        .collect();
    Comment {
        id: c.id,
        author: actor(c.author),
        author_association: c.author_association,
        reply_to: c.reply_to.map(|r| r.id).or_else(|| reply::marked(&c.body)),
        body: c.body,
        created_at: c.created_at.unwrap_or_else(epoch),
        updated_at: c.last_edited_at,
        reactions,
        line_number: c.line.or(c.original_line).filter(|_| c.path.is_some()),
        file_path: c.path,
        diff_hunk: c.diff_hunk,
        url: c.url,
        viewer_did_author: c.viewer_did_author,
        minimized_reason: c.minimized_reason.filter(|_| c.is_minimized),
    }
}

/// A time that a partial failure took away.
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

pub(crate) fn review(r: wire::Review) -> Review {
    Review {
        id: r.id,
        author: actor(r.author),
        author_association: r.author_association,
        state: review_state(&r.state),
        body: Some(r.body).filter(|b| !b.is_empty()),
        submitted_at: r.submitted_at.unwrap_or_else(epoch),
        commit: r.commit.map(|c| c.oid),
        comments: r.comments.into_vec().into_iter().map(comment).collect(),
    }
}

pub(crate) fn thread(t: wire::Thread) -> Thread {
    // The lines of an outdated thread are those of the diff it was written on.
    let (line, start) = if t.is_outdated {
        (t.original_line, t.original_start_line)
    } else {
        (t.line.or(t.original_line), t.start_line)
    };
    Thread {
        id: t.id,
        path: t.path,
        line,
        start_line: start,
        side: if t.diff_side == "LEFT" {
            Side::Left
        } else {
            Side::Right
        },
        resolved: t.is_resolved,
        resolved_by: t.resolved_by.map(|a| actor(Some(a))),
        outdated: t.is_outdated,
        comments: t.comments.into_vec().into_iter().map(comment).collect(),
    }
}

fn signature(person: Option<wire::Person>, at: Option<Timestamp>) -> Signature {
    let person = person.unwrap_or_default();
    Signature {
        name: person.name.unwrap_or_default(),
        email: person.email.unwrap_or_default(),
        at: person.date.or(at).unwrap_or_else(epoch),
        login: person.user.map(|u| u.login),
    }
}

pub(crate) fn commit(c: wire::PullCommit) -> Commit {
    let c = c.commit;
    let (authored, committed) = (c.authored_date, c.committed_date);
    Commit {
        oid: c.oid,
        message_headline: c.message_headline,
        message_body: c.message_body,
        authors: c
            .authors
            .into_vec()
            .into_iter()
            .map(|p| signature(Some(p), authored))
            .collect(),
        committer: signature(c.committer, committed),
    }
}

pub(crate) fn file(f: wire::File) -> FileChange {
    FileChange {
        path: f.path,
        // GitHub's GraphQL interface does not tell the old name; `files` asks REST for it.
        previous_path: None,
        status: match f.change_type.as_str() {
            "ADDED" => FileStatus::Added,
            "DELETED" => FileStatus::Deleted,
            "RENAMED" => FileStatus::Renamed,
            "COPIED" => FileStatus::Copied,
            _ => FileStatus::Modified,
        },
        additions: Some(f.additions),
        deletions: Some(f.deletions),
    }
}

fn linked_issue(host: &str, i: wire::Issue) -> LinkedIssue {
    LinkedIssue {
        repo: repo_id(host, &i.repository),
        number: i.number,
        title: i.title,
        open: i.state == "OPEN",
        url: i.url,
    }
}

pub(crate) fn mergeability(pull: &wire::Pull) -> Mergeability {
    Mergeability {
        state: match pull.mergeable.as_deref() {
            Some("MERGEABLE") => MergeState::Mergeable,
            Some("CONFLICTING") => MergeState::Conflicting,
            _ => MergeState::Unknown,
        },
        status: pull
            .merge_state_status
            .clone()
            .unwrap_or_else(|| "UNKNOWN".to_owned()),
        conflicts: vec![],
        head_oid: pull.head_ref_oid.clone().unwrap_or_default(),
        base_oid: pull.base_ref_oid.clone().unwrap_or_default(),
    }
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

/// A pull request of `repo` with the sections of `fields`.
pub(crate) fn pull(
    host: &str,
    repo: &RepoId,
    p: wire::Pull,
    fields: PrFields,
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
            return Err(Error::new(
                ErrorKind::Protocol,
                format!(
                    "{host} sent the unknown state '{other}' of pull request {}",
                    p.number
                ),
            ));
        }
    };
    let mergeability = fields
        .contains(PrFields::MERGEABILITY)
        .then(|| mergeability(&p));
    let wants = |f: PrFields| fields.contains(f);
    let head_repo = p
        .head_repository
        .as_ref()
        .map(|r| repo_id(host, r))
        .filter(|_| p.is_cross_repository);
    let head_oid = p.head_ref_oid.filter(|o| !o.is_empty());
    let author = actor(p.author);
    let reviews = summary::of(
        p.latest_opinionated_reviews
            .into_vec()
            .into_iter()
            .map(review),
        p.latest_reviews.into_vec().into_iter().map(review),
        &author.login,
    );
    let comments_count = p.comments.as_ref().and_then(|c| c.total_count).unwrap_or(0);
    let checks = wants(PrFields::CHECKS).then(|| checks::section(p.head, head_oid.as_deref()));
    let mut pull = PullRequest {
        id: PrId::number(repo.clone(), p.number),
        node_id: p.id,
        number: Some(p.number),
        title: p.title,
        description: p.body,
        author,
        state,
        draft: p.is_draft,
        base_branch: p.base_ref_name,
        base_oid: p.base_ref_oid.filter(|o| !o.is_empty()),
        head_branch: p.head_ref_name,
        head_oid,
        head_repo,
        created_at,
        updated_at,
        closed_at: p.closed_at,
        merged_at: p.merged_at,
        merged_by: p.merged_by.map(|a| actor(Some(a))),
        merge_commit: p.merge_commit.map(|c| c.oid),
        url: p.url,
        labels: p.labels.into_vec().into_iter().map(label).collect(),
        assignees: p
            .assignees
            .into_vec()
            .into_iter()
            .map(|a| actor(Some(a)))
            .collect(),
        milestone: p.milestone.map(|m| m.title),
        approvals: reviews.approvals,
        changes_requested: reviews.changes_requested,
        pending_reviewers: p
            .review_requests
            .into_vec()
            .into_iter()
            .filter_map(|r| r.requested_reviewer.map(reviewer))
            .collect(),
        review_decision: match p.review_decision.as_deref() {
            Some("APPROVED") => Some(ReviewDecision::Approved),
            Some("CHANGES_REQUESTED") => Some(ReviewDecision::ChangesRequested),
            Some("REVIEW_REQUIRED") => Some(ReviewDecision::ReviewRequired),
            _ => None,
        },
        latest_reviews: reviews.latest,
        comments_count,
        version: String::new(),
        additions: p.additions.filter(|_| wants(PrFields::STATS)),
        deletions: p.deletions.filter(|_| wants(PrFields::STATS)),
        changed_files: p.changed_files.filter(|_| wants(PrFields::STATS)),
        mergeability,
        comments: list(p.all_comments, wants(PrFields::COMMENTS), comment),
        reviews: list(p.reviews, wants(PrFields::REVIEWS), review),
        threads: list(p.review_threads, wants(PrFields::THREADS), thread),
        commits: list(p.commits, wants(PrFields::COMMITS), commit),
        files: list(p.files, wants(PrFields::FILES), file),
        checks,
        linked_issues: list(
            p.closing_issues_references,
            wants(PrFields::LINKED_ISSUES),
            |i| linked_issue(host, i),
        ),
        warnings: vec![],
    };
    if !wants(PrFields::ROW) {
        pull.version = version(&pull);
    }
    Ok(pull)
}

fn lacks(host: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::Protocol,
        format!("the answer of {host} lacks {what}"),
    )
}

/// A fingerprint of everything that an edit can change. GitHub has no version of a pull request,
/// and its times count whole seconds and move with every comment.
fn version(p: &PullRequest) -> String {
    let mut labels: Vec<&str> = p.labels.iter().map(|l| l.name.as_str()).collect();
    let mut assignees: Vec<&str> = p.assignees.iter().map(|a| a.login.as_str()).collect();
    let mut reviewers: Vec<&str> = p.pending_reviewers.iter().map(Reviewer::handle).collect();
    for list in [&mut labels, &mut assignees, &mut reviewers] {
        list.sort_unstable();
    }
    let all = (
        (&p.title, &p.description, &p.base_branch, p.state, p.draft),
        (labels, assignees, reviewers, &p.milestone),
    );
    format!("{:016x}", forge_core::fingerprint(&all))
}
