//! Updates GitHub's pull requests after git refs have moved.

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    git,
    graphql::{Ctx, Fail},
    mutations, resolve,
    state::{
        Event, EventKind, Id, Lazy, MergeInfo, Pull, PullState, ReviewState, Reviewer, State, Token,
    },
};

/// The tip commit of each branch of a repository, by the branch's name.
pub(crate) type Branches = BTreeMap<String, String>;

pub(crate) fn branches(state: &State, repo: Id) -> Branches {
    state
        .repos
        .get(&repo)
        .and_then(|repo| git::refs(&repo.git_dir, "refs/heads/").ok())
        .unwrap_or_default()
}

/// Updates the pull requests of a repository after its branches have moved.
pub(crate) fn refs_moved(state: &mut State, repo: Id, before: &Branches, actor: Id) {
    let after = branches(state, repo);
    let now = state.tick();
    let changed: Vec<String> = before
        .keys()
        .chain(after.keys())
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect();
    if changed.is_empty() {
        return;
    }
    if let Some(repo) = state.repos.get_mut(&repo) {
        repo.pushed_at = now;
    }
    for full in changed {
        let Some(branch) = full.strip_prefix("refs/heads/") else {
            continue;
        };
        match after.get(&full) {
            Some(tip) => {
                head_moved(state, repo, branch, tip, actor);
                let old = before.get(&full).map(String::as_str);
                base_moved(state, repo, branch, (old, tip), actor);
            }
            None => branch_deleted(state, repo, branch, actor),
        }
    }
}

fn open_pulls(state: &State, of: impl Fn(&Pull) -> bool) -> Vec<Id> {
    state
        .pulls
        .values()
        .filter(|pull| pull.state == PullState::Open && of(pull))
        .map(|pull| pull.id)
        .collect()
}

fn git_dir(state: &State, repo: Id) -> Option<PathBuf> {
    state.repos.get(&repo).map(|repo| repo.git_dir.clone())
}

fn head_moved(state: &mut State, repo: Id, branch: &str, tip: &str, actor: Id) {
    for id in open_pulls(state, |it| {
        it.head_repo == Some(repo) && it.head_branch == branch
    }) {
        if let Err(error) = set_head(state, id, tip, actor) {
            // Moving the ref fails only in a broken bare repository; the next read of the head
            // reports the failure.
            eprintln!("forge-github-double: {error}");
        }
    }
}

/// Sets the head of a pull request, and its ref in the base repository.
pub(crate) fn set_head(
    state: &mut State,
    id: Id,
    tip: &str,
    actor: Id,
) -> Result<(), git::GitError> {
    let Some(pull) = state.pulls.get(&id).cloned() else {
        return Ok(());
    };
    let Some(dir) = git_dir(state, pull.repo) else {
        return Ok(());
    };
    let name = format!("refs/pull/{}/head", pull.number);
    match pull.head_repo.filter(|repo| *repo != pull.repo) {
        Some(fork) => {
            if let Some(from) = git_dir(state, fork) {
                let source = format!("refs/heads/{}", pull.head_branch);
                git::fetch(&dir, &from, &source, &name)?;
            }
        }
        None => git::update_ref(&dir, &name, tip, None)?,
    }
    let forced = !pull.head_oid.is_empty() && !git::is_ancestor(&dir, &pull.head_oid, tip);
    if forced {
        let kind = EventKind::ForcePushed(pull.head_oid.clone(), tip.to_owned());
        log(state, id, actor, kind);
    }
    let now = state.now();
    let pushed = !pull.head_oid.is_empty() && pull.head_oid != tip;
    if let Some(pull) = state.pulls.get_mut(&id) {
        tip.clone_into(&mut pull.head_oid);
        pull.pusher = actor;
        pull.updated_at = now;
    }
    if pushed {
        dismiss_stale(state, &pull);
    }
    reset_merge_state(state, id);
    Ok(())
}

/// Dismisses approvals of earlier commits after a push, if a rule of the base branch requires this.
fn dismiss_stale(state: &mut State, pull: &Pull) {
    let wanted = state.wanted(pull.repo, &pull.base_branch);
    if !wanted.iter().any(|it| it.dismiss_stale) {
        return;
    }
    for review in state.reviews.values_mut() {
        if review.pull == pull.id && review.state == ReviewState::Approved {
            review.state = ReviewState::Dismissed;
        }
    }
}

/// Removes the review requests that a submitted review answers: those to its author and to the
/// author's teams.
pub(crate) fn remove_answered_requests(state: &mut State, pull: Id, author: Id) {
    let teams = state.teams.values();
    let teams = teams.filter(|team| team.members.contains(&author));
    let teams: Vec<Id> = teams.map(|team| team.id).collect();
    if let Some(pull) = state.pulls.get_mut(&pull) {
        pull.requested.retain(|it| match it {
            Reviewer::Account(id) => *id != author,
            Reviewer::Team(id) => !teams.contains(id),
        });
    }
}

/// Requests reviews from the owners of the changed code, unless the pull request is a draft.
pub(crate) fn request_owners(state: &mut State, id: Id) {
    let Some(pull) = state.pulls.get(&id).filter(|pull| !pull.draft).cloned() else {
        return;
    };
    let owners: Vec<Reviewer> = resolve::owned_by(state, &pull)
        .into_iter()
        .flatten()
        .collect();
    if let Some(pull) = state.pulls.get_mut(&id) {
        for owner in owners {
            if owner != Reviewer::Account(pull.author) && !pull.requested.contains(&owner) {
                pull.requested.push(owner);
            }
        }
    }
}

/// Resets the merge state to unknown.
pub(crate) fn reset_merge_state(state: &mut State, id: Id) {
    if let Some(pull) = state.pulls.get_mut(&id) {
        pull.lazy = Lazy::Stale {
            reads: 0,
            request: 0,
        };
    }
}

/// Records an event of a pull request or an issue.
pub(crate) fn log(state: &mut State, subject: Id, actor: Id, kind: EventKind) {
    let id = state.next_id();
    let at = state.now();
    let events = match state.pulls.get_mut(&subject) {
        Some(pull) => Some(&mut pull.events),
        None => state.issues.get_mut(&subject).map(|it| &mut it.events),
    };
    if let Some(events) = events {
        events.push(Event {
            id,
            actor,
            at,
            kind,
        });
    }
}

fn base_moved(
    state: &mut State,
    repo: Id,
    branch: &str,
    (old, tip): (Option<&str>, &str),
    actor: Id,
) {
    let open = open_pulls(state, |it| it.repo == repo && it.base_branch == branch);
    if open.is_empty() {
        return;
    }
    let landed = git_dir(state, repo)
        .map(|dir| git::new_commits(&dir, old, tip))
        .unwrap_or_default();
    for id in open {
        let Some(pull) = state.pulls.get(&id) else {
            continue;
        };
        if landed.contains(&pull.head_oid) {
            // Somebody pushed the commits to the base by hand, so GitHub marks the pull request as
            // merged.
            finish_merge(state, id, tip.to_owned(), actor);
            continue;
        }
        if let Some(pull) = state.pulls.get_mut(&id) {
            tip.clone_into(&mut pull.base_oid);
        }
        reset_merge_state(state, id);
    }
}

fn branch_deleted(state: &mut State, repo: Id, branch: &str, actor: Id) {
    let ended: Vec<Id> = state
        .pulls
        .values()
        .filter(|it| it.head_repo == Some(repo) && it.head_branch == branch)
        .map(|pull| pull.id)
        .collect();
    for id in ended {
        log(state, id, actor, EventKind::HeadDeleted);
    }
    let with = |it: &Pull| {
        (it.head_repo == Some(repo) && it.head_branch == branch)
            || (it.repo == repo && it.base_branch == branch)
    };
    for id in open_pulls(state, with) {
        close(state, id, actor);
    }
}

/// Closes a pull request without merging it.
pub(crate) fn close(state: &mut State, id: Id, actor: Id) {
    let now = state.tick();
    if let Some(pull) = state.pulls.get_mut(&id) {
        pull.state = PullState::Closed;
        pull.closed_at = Some(now.clone());
        pull.updated_at = now;
        pull.auto_merge = None;
    }
    log(state, id, actor, EventKind::Closed);
}

/// Marks a pull request as merged by a commit, and closes the issues that the pull request names.
pub(crate) fn finish_merge(state: &mut State, id: Id, commit: String, by: Id) {
    let now = state.tick();
    let Some(pull) = state.pulls.get_mut(&id) else {
        return;
    };
    pull.state = PullState::Merged;
    pull.closed_at = Some(now.clone());
    pull.updated_at = now.clone();
    pull.auto_merge = None;
    pull.merge = Some(MergeInfo {
        commit,
        by,
        at: now.clone(),
    });
    let pull = pull.clone();
    let closed = match state.keeps_linked_open {
        true => Vec::new(),
        false => resolve::closing_issues(state, &pull),
    };
    for issue in closed {
        if let Some(issue) = state.issues.get_mut(&issue) {
            issue.state = PullState::Closed;
            issue.closed_at = Some(now.clone());
        }
    }
    log(state, id, by, EventKind::Merged);
    log(state, id, by, EventKind::Closed);
}

/// Merges the pull requests that have auto-merge enabled and no unmet requirement left.
pub(crate) fn auto_merges(state: &mut State, web: &str) -> Result<(), Fail> {
    let waiting: Vec<(Id, Id)> = state
        .pulls
        .values()
        .filter(|pull| pull.state == PullState::Open)
        .filter_map(|pull| Some((pull.id, pull.auto_merge.as_ref()?.by)))
        .collect();
    for (id, by) in waiting {
        let token = full_token(state, by);
        let ctx = Ctx::new(state, "", token, web, 0);
        mutations::merge_when_clean(&ctx, id)?;
    }
    Ok(())
}

/// Merges all pull requests in merge queues, in queue order.
pub(crate) fn run_queue(state: &mut State) -> Result<(), Fail> {
    for id in state.queue.clone() {
        let by = state.pulls.get(&id).map_or(0, |pull| pull.author);
        let token = full_token(state, by);
        let ctx = Ctx::new(state, "", token, "", 0);
        mutations::merge_queued(&ctx, id)?;
    }
    Ok(())
}

/// Returns a token of an account that has all permissions.
fn full_token(state: &State, account: Id) -> Token {
    Token {
        account,
        scopes: None,
        read_only: false,
        no_teams: false,
        authorised: state.accounts.keys().copied().collect(),
        revoked: false,
        remaining: 0,
    }
}
