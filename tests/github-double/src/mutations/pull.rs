//! Mutations that create, edit, close and lock pull requests.

use super::{Payload, author_or, check_length, ids_of, pull_target, repo_target, target, touch};
use crate::{
    actions, git,
    graphql::{Args, Ctx, Fail, Node, Val},
    state::{EventKind, Id, Lazy, Permission, Pull, PullState, Repo},
};

/// Maximum number of characters in a title.
const TITLE: usize = 256;

fn payload(id: Id) -> Payload {
    Ok(vec![("pullRequest", Node::Pull(id).into())])
}

fn check_title(title: &str) -> Result<(), Fail> {
    if title.trim().is_empty() {
        return Err(Fail::unprocessable("Title can't be blank"));
    }
    if title.chars().count() > TITLE {
        return Err(Fail::unprocessable(format!(
            "Title is too long (maximum is {TITLE} characters)"
        )));
    }
    Ok(())
}

pub(super) fn create(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let repo_id = repo_target(ctx, input, "repositoryId")?;
    ctx.require(repo_id, Permission::Read, "CreatePullRequest")?;
    let base_repo = ctx.repo(repo_id)?;
    let title = input.str("title").unwrap_or_default().trim();
    check_title(title)?;
    let body = input.str("body").unwrap_or_default();
    check_length(ctx, body)?;
    let base = input.str("baseRefName").unwrap_or_default();
    let base = base.strip_prefix("refs/heads/").unwrap_or(base);
    let head_name = input.str("headRefName").unwrap_or_default();
    let (head_repo, branch) = head(ctx, input, &base_repo, head_name)?;
    let pull = Pull {
        title: title.to_owned(),
        body: body.to_owned(),
        draft: input.bool("draft").unwrap_or(false),
        maintainer_can_modify: input.bool("maintainerCanModify").unwrap_or(true)
            && head_repo.id != base_repo.id,
        ..blank(ctx.viewer, repo_id, base, &head_repo, &branch)
    };
    let id = open(ctx, pull, &base_repo, &head_repo)?;
    payload(id)
}

/// Returns a pull request with default values, for the caller to fill in.
pub(crate) fn blank(author: Id, repo: Id, base: &str, head: &Repo, branch: &str) -> Pull {
    Pull {
        id: 0,
        repo,
        number: 0,
        title: String::new(),
        body: String::new(),
        edited: false,
        author,
        state: PullState::Open,
        draft: false,
        base_branch: base.to_owned(),
        base_oid: String::new(),
        head_repo: Some(head.id),
        head_owner: head.owner,
        head_branch: branch.to_owned(),
        head_oid: String::new(),
        pusher: author,
        maintainer_can_modify: false,
        labels: Vec::new(),
        assignees: Vec::new(),
        milestone: None,
        requested: Vec::new(),
        locked: None,
        merge: None,
        auto_merge: None,
        lazy: Lazy::Stale {
            reads: 0,
            request: 0,
        },
        events: Vec::new(),
        created_at: String::new(),
        updated_at: String::new(),
        closed_at: None,
    }
}

/// Returns the repository and the branch of a head. The head is `branch`, `owner:branch`, or a
/// branch of the repository with the id `headRepositoryId`.
fn head(ctx: &Ctx<'_>, input: &Args, base: &Repo, name: &str) -> Result<(Repo, String), Fail> {
    let (owner, branch) = match name.split_once(':') {
        Some((owner, branch)) => (Some(owner), branch),
        None => (None, name),
    };
    let branch = branch
        .strip_prefix("refs/heads/")
        .unwrap_or(branch)
        .to_owned();
    if input.has("headRepositoryId") {
        let id = repo_target(ctx, input, "headRepositoryId")?;
        return Ok((ctx.repo(id)?, branch));
    }
    let Some(owner) = owner else {
        return Ok((base.clone(), branch));
    };
    let state = ctx.state();
    if state.login(base.owner).eq_ignore_ascii_case(owner) {
        return Ok((base.clone(), branch));
    }
    let root = base.parent.unwrap_or(base.id);
    let fork = state.repos.values().find(|repo| {
        state.login(repo.owner).eq_ignore_ascii_case(owner)
            && (repo.parent == Some(root) || repo.id == root)
    });
    let fork = fork.cloned().ok_or_else(|| {
        Fail::unprocessable(format!(
            "Head sha can't be blank, Base sha can't be blank, No commits between {} and {name}, Head ref must be a branch",
            input.string("baseRefName").unwrap_or_default()
        ))
    })?;
    Ok((fork, branch))
}

/// Opens a pull request, if GitHub's checks of both branches succeed.
pub(super) fn open(ctx: &Ctx<'_>, mut pull: Pull, base: &Repo, head: &Repo) -> Result<Id, Fail> {
    let (base_name, head_name) = (pull.base_branch.clone(), pull.head_branch.clone());
    let base_oid = git::branch(&base.git_dir, &base_name);
    let head_oid = git::branch(&head.git_dir, &head_name);
    let nothing = format!("No commits between {base_name} and {head_name}");
    let (Some(base_oid), Some(head_oid)) = (base_oid.clone(), head_oid.clone()) else {
        let which = if head_oid.is_none() { "Head" } else { "Base" };
        return Err(Fail::unprocessable(format!(
            "Head sha can't be blank, Base sha can't be blank, {nothing}, {which} ref must be a branch"
        )));
    };
    {
        let state = ctx.state();
        let twin = state.pulls.values().any(|it| {
            it.state == PullState::Open
                && it.repo == base.id
                && it.base_branch == base_name
                && it.head_repo == Some(head.id)
                && it.head_branch == head_name
        });
        if twin {
            return Err(Fail::unprocessable(format!(
                "A pull request already exists for {}:{head_name}.",
                state.login(head.owner)
            )));
        }
    }
    if head.id != base.id {
        let source = format!("refs/heads/{head_name}");
        git::fetch(&base.git_dir, &head.git_dir, &source, "refs/forge/incoming")?;
        git::delete_ref(&base.git_dir, "refs/forge/incoming")?;
    }
    if git::count(&base.git_dir, &format!("{base_oid}..{head_oid}")) == 0 {
        return Err(Fail::unprocessable(nothing));
    }
    if git::merge_base(&base.git_dir, &base_oid, &head_oid).is_none() {
        return Err(Fail::unprocessable(format!(
            "The {head_name} branch has no history in common with {base_name}"
        )));
    }
    let id = {
        let mut state = ctx.state();
        let now = state.tick();
        pull.id = state.next_id();
        pull.number = state.next_number(base.id);
        pull.base_oid = base_oid;
        pull.created_at.clone_from(&now);
        pull.updated_at = now;
        let id = pull.id;
        state.pulls.insert(id, pull);
        id
    };
    let author = ctx.viewer;
    let mut state = ctx.state();
    actions::set_head(&mut state, id, &head_oid, author)?;
    actions::request_owners(&mut state, id);
    Ok(id)
}

pub(super) fn update(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let node = Node::Pull(id);
    let repo = author_or(ctx, &node, Permission::Triage, "UpdatePullRequest")?;
    if let Some(title) = input.str("title") {
        check_title(title)?;
    }
    if let Some(body) = input.str("body") {
        check_length(ctx, body)?;
    }
    let labels = listed(ctx, input, "labelIds", |node| match node {
        Node::Label(id) => Some(*id),
        _ => None,
    })?;
    let assignees = listed(ctx, input, "assigneeIds", |node| match node {
        Node::User(id) | Node::Bot(id) => Some(*id),
        _ => None,
    })?;
    let milestone = milestone(ctx, input)?;
    let base = match input.str("baseRefName") {
        Some(_) if ctx.state().stack_of(id).is_some() => {
            return Err(Fail::unprocessable(
                "Cannot change the base branch because the pull request is part of a stack.",
            ));
        }
        Some(base) => Some(new_base(ctx, id, repo, base)?),
        None => None,
    };
    {
        let actor = ctx.viewer;
        let mut state = ctx.state();
        if let Some((branch, oid)) = base {
            let old = state.pulls.get(&id).map(|pull| pull.base_branch.clone());
            if let Some(pull) = state.pulls.get_mut(&id) {
                pull.base_branch.clone_from(&branch);
                pull.base_oid = oid;
            }
            let kind = EventKind::BaseChanged(old.unwrap_or_default(), branch);
            actions::log(&mut state, id, actor, kind);
            actions::reset_merge_state(&mut state, id);
        }
        if let Some(title) = input.str("title").map(str::trim) {
            let old = state.pulls.get(&id).map(|pull| pull.title.clone());
            if old.as_deref() != Some(title) {
                let kind = EventKind::Renamed(old.unwrap_or_default(), title.to_owned());
                actions::log(&mut state, id, actor, kind);
            }
        }
        let Some(pull) = state.pulls.get_mut(&id) else {
            return payload(id);
        };
        if let Some(title) = input.str("title") {
            title.trim().clone_into(&mut pull.title);
        }
        if let Some(body) = input.str("body") {
            pull.edited |= pull.body != body;
            body.clone_into(&mut pull.body);
        }
        if let Some(labels) = labels {
            pull.labels = labels;
        }
        if let Some(assignees) = assignees {
            pull.assignees = assignees;
        }
        if let Some(milestone) = milestone {
            pull.milestone = milestone;
        }
        if let Some(modify) = input.bool("maintainerCanModify") {
            pull.maintainer_can_modify = modify;
        }
    }
    touch(ctx, &node);
    match input.str("state") {
        Some("CLOSED") => close(ctx, input),
        Some("OPEN") => reopen(ctx, input),
        _ => payload(id),
    }
}

/// Returns the list of ids with which the input replaces a list, or `None` if the input does not
/// mention it.
pub(super) fn listed(
    ctx: &Ctx<'_>,
    input: &Args,
    name: &str,
    pick: impl Fn(&Node) -> Option<Id>,
) -> Result<Option<Vec<Id>>, Fail> {
    input
        .strings(name)
        .map(|ids| ids_of(ctx, &ids, pick))
        .transpose()
}

/// Returns the milestone that the input sets. `Some(None)` means that the input removes the
/// milestone, by null or by an empty text.
pub(super) fn milestone(ctx: &Ctx<'_>, input: &Args) -> Result<Option<Option<Id>>, Fail> {
    if !input.0.contains_key("milestoneId") {
        return Ok(None);
    }
    if input.str("milestoneId").is_none_or(str::is_empty) {
        return Ok(Some(None));
    }
    match target(ctx, input, "milestoneId")? {
        Node::Milestone(id) => Ok(Some(Some(id))),
        _ => Err(Fail::not_found("Could not resolve to a Milestone.")),
    }
}

fn new_base(ctx: &Ctx<'_>, id: Id, repo: Id, branch: &str) -> Result<(String, String), Fail> {
    let (state_now, head) = {
        let state = ctx.state();
        let pull = state.pulls.get(&id);
        (
            pull.map(|it| it.state),
            pull.filter(|it| it.head_repo == Some(repo))
                .map(|it| it.head_branch.clone()),
        )
    };
    if state_now != Some(PullState::Open) {
        return Err(Fail::unprocessable(
            "Cannot change the base branch of a closed pull request.",
        ));
    }
    let dir = ctx.repo(repo)?.git_dir;
    let oid = git::branch(&dir, branch).ok_or_else(|| {
        Fail::unprocessable(format!("Proposed base branch '{branch}' was not found"))
    })?;
    if head.as_deref() == Some(branch) {
        return Err(Fail::unprocessable(format!(
            "There are no new commits between base branch '{branch}' and head branch '{branch}'"
        )));
    }
    Ok((branch.to_owned(), oid))
}

pub(super) fn close(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    author_or(ctx, &Node::Pull(id), Permission::Triage, "ClosePullRequest")?;
    let now = ctx.state().pulls.get(&id).map(|pull| pull.state);
    match now {
        Some(PullState::Open) => actions::close(&mut ctx.state(), id, ctx.viewer),
        Some(PullState::Merged) => {
            return Err(Fail::unprocessable(
                "state cannot be changed. The pull request has been merged.",
            ));
        }
        _ => {}
    }
    payload(id)
}

pub(super) fn reopen(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    author_or(
        ctx,
        &Node::Pull(id),
        Permission::Triage,
        "ReopenPullRequest",
    )?;
    let Some(pull) = ctx.state().pulls.get(&id).cloned() else {
        return payload(id);
    };
    match pull.state {
        PullState::Open => return payload(id),
        PullState::Merged => {
            return Err(Fail::unprocessable(
                "state cannot be changed. The pull request has been merged.",
            ));
        }
        PullState::Closed => {}
    }
    let head = pull.head_repo.and_then(|repo| ctx.repo(repo).ok());
    let tip = head.and_then(|repo| git::branch(&repo.git_dir, &pull.head_branch));
    let base = git::branch(&ctx.repo(pull.repo)?.git_dir, &pull.base_branch);
    let (Some(tip), Some(base)) = (tip, base) else {
        return Err(Fail::unprocessable(format!(
            "state cannot be changed. The {} branch has been deleted.",
            pull.head_branch
        )));
    };
    {
        let state = ctx.state();
        let twin = state.pulls.values().any(|it| {
            it.state == PullState::Open
                && it.repo == pull.repo
                && it.base_branch == pull.base_branch
                && it.head_repo == pull.head_repo
                && it.head_branch == pull.head_branch
        });
        if twin {
            return Err(Fail::unprocessable(format!(
                "state cannot be changed. There is already an open pull request from {} to {}.",
                pull.head_branch, pull.base_branch
            )));
        }
    }
    let actor = ctx.viewer;
    let mut state = ctx.state();
    let now = state.tick();
    if let Some(pull) = state.pulls.get_mut(&id) {
        pull.state = PullState::Open;
        pull.closed_at = None;
        pull.updated_at = now;
        pull.base_oid = base;
    }
    actions::log(&mut state, id, actor, EventKind::Reopened);
    actions::set_head(&mut state, id, &tip, actor)?;
    drop(state);
    payload(id)
}

pub(super) fn ready(ctx: &Ctx<'_>, input: &Args) -> Payload {
    set_draft(ctx, input, false, "MarkPullRequestReadyForReview")
}

pub(super) fn draft(ctx: &Ctx<'_>, input: &Args) -> Payload {
    set_draft(ctx, input, true, "ConvertPullRequestToDraft")
}

fn set_draft(ctx: &Ctx<'_>, input: &Args, draft: bool, mutation: &str) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    author_or(ctx, &Node::Pull(id), Permission::Write, mutation)?;
    let Some(pull) = ctx.state().pulls.get(&id).cloned() else {
        return payload(id);
    };
    if pull.state != PullState::Open {
        return Err(Fail::unprocessable("Pull request is closed"));
    }
    if pull.draft != draft {
        let kind = if draft {
            EventKind::ConvertedToDraft
        } else {
            EventKind::ReadyForReview
        };
        let mut state = ctx.state();
        actions::log(&mut state, id, ctx.viewer, kind);
        if let Some(pull) = state.pulls.get_mut(&id) {
            pull.draft = draft;
        }
        actions::request_owners(&mut state, id);
        drop(state);
        touch(ctx, &Node::Pull(id));
    }
    payload(id)
}

pub(super) fn lock(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let node = set_lock(ctx, input, Some(input.string("lockReason")), "LockLockable")?;
    Ok(vec![("lockedRecord", node.into())])
}

pub(super) fn unlock(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let node = set_lock(ctx, input, None, "UnlockLockable")?;
    Ok(vec![("unlockedRecord", node.into())])
}

fn set_lock(
    ctx: &Ctx<'_>,
    input: &Args,
    lock: Option<Option<String>>,
    mutation: &str,
) -> Result<Node, Fail> {
    let node = target(ctx, input, "lockableId")?;
    let (repo, _) = super::subject(ctx, &node)?;
    ctx.require(repo, Permission::Triage, mutation)?;
    let mut state = ctx.state();
    match &node {
        Node::Pull(id) => {
            if let Some(pull) = state.pulls.get_mut(id) {
                pull.locked = lock;
            }
        }
        Node::Issue(id) => {
            if let Some(issue) = state.issues.get_mut(id) {
                issue.locked = lock;
            }
        }
        _ => {}
    }
    Ok(node)
}

/// Returns a payload that contains a pull request. Other families of mutations use it too.
pub(super) fn with_pull(id: Id, more: Vec<(&'static str, Val)>) -> Payload {
    let mut fields = vec![("pullRequest", Node::Pull(id).into())];
    fields.extend(more);
    Ok(fields)
}
