//! Resolves pull requests, their commits, files and review requests.

use super::{
    commit,
    common::{self, Written},
    merge_state, project, repository, review, rules,
};
use crate::{
    git::{self, DiffSummary},
    graphql::{Args, Connection, Ctx, Fail, Node, Resolved, Val, account_node},
    messages,
    state::{Id, Lazy, Permission, Pull, PullState, Reviewer, State},
    timeline,
};

/// Returns a copy of a pull request.
pub(crate) fn get(ctx: &Ctx<'_>, id: Id) -> Result<Pull, Fail> {
    ctx.state()
        .pulls
        .get(&id)
        .cloned()
        .ok_or_else(|| common::gone("PullRequest"))
}

pub(super) fn field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let pull = get(ctx, id)?;
    if let Some(value) = plain(ctx, &pull, name) {
        return Ok(Some(value));
    }
    if let Some(value) = in_git(ctx, &pull, name, args)? {
        return Ok(Some(value));
    }
    if let Some(value) = people(ctx, &pull, name, args)? {
        return Ok(Some(value));
    }
    if let Some(value) = viewer(ctx, &pull, name, args)? {
        return Ok(Some(value));
    }
    Ok(Some(match name {
        "labels" => common::labels(&ctx.state(), &pull.labels),
        "milestone" => Val::option(pull.milestone.map(Node::Milestone)),
        "comments" => common::comments(ctx, id, args),
        "totalCommentsCount" => {
            let state = ctx.state();
            let plain = state
                .comments
                .values()
                .filter(|it| it.subject == id)
                .count();
            let threads = state.threads.values().filter(|it| it.pull == id);
            let inline: usize = threads
                .map(|thread| {
                    let comments = state.review_comments.values();
                    comments.filter(|it| it.thread == thread.id).count()
                })
                .sum();
            (plain + inline).into()
        }
        "reviews"
        | "latestReviews"
        | "latestOpinionatedReviews"
        | "reviewThreads"
        | "reviewDecision"
        | "viewerLatestReview" => return review::of_pull(ctx, &pull, name, args),
        "reviewRequests" => {
            Val::connection((0..pull.requested.len()).map(|index| Node::ReviewRequest(id, index)))
        }
        "statusCheckRollup" => super::check::of_commit(ctx, pull.repo, &pull.head_oid, name, args),
        "mergeQueueEntry" => queue_entry(ctx, id),
        "mergeable" => merge_state::of(ctx, id)?.mergeable.into(),
        "mergeStateStatus" => merge_state::of(ctx, id)?.status.into(),
        "canBeRebased" => (merge_state::of(ctx, id)?.mergeable == "MERGEABLE").into(),
        "autoMergeRequest" => auto_merge(ctx, &pull),
        "closingIssuesReferences" => {
            let state = ctx.state();
            Val::connection(closing_issues(&state, &pull).into_iter().map(Node::Issue))
        }
        "projectItems" => project::items_of(ctx, id, args)?,
        "timelineItems" => timeline::items(ctx, &pull, args)?,
        _ => {
            return common::written(
                ctx,
                &Written {
                    id,
                    repo: pull.repo,
                    author: pull.author,
                    body: &pull.body,
                    created_at: &pull.created_at,
                    updated_at: &pull.updated_at,
                    edited: pull.edited,
                    minimized: None,
                },
                &Node::Pull(id),
                name,
                args,
            );
        }
    }))
}

fn plain(ctx: &Ctx<'_>, pull: &Pull, name: &str) -> Option<Val> {
    let url = || format!("{}/pull/{}", ctx.repo_url(pull.repo), pull.number);
    Some(match name {
        "number" => pull.number.into(),
        "title" => (&pull.title).into(),
        "url" => url().into(),
        "checksUrl" => format!("{}/checks", url()).into(),
        "revertUrl" => format!("{}/revert", url()).into(),
        "state" => pull.state.name().into(),
        "isDraft" => pull.draft.into(),
        "closed" => (pull.state != PullState::Open).into(),
        "merged" => (pull.state == PullState::Merged).into(),
        "closedAt" => Val::option(pull.closed_at.as_ref()),
        "mergedAt" => Val::option(pull.merge.as_ref().map(|merge| &merge.at)),
        "mergedBy" => pull
            .merge
            .as_ref()
            .map_or(Val::NULL, |merge| common::actor(ctx, merge.by)),
        "mergeCommit" => Val::option(
            pull.merge
                .as_ref()
                .map(|merge| Node::Commit(pull.repo, merge.commit.clone())),
        ),
        "baseRefName" => (&pull.base_branch).into(),
        "baseRefOid" => (&pull.base_oid).into(),
        "headRefName" => (&pull.head_branch).into(),
        "headRefOid" => (&pull.head_oid).into(),
        "baseRepository" => Node::Repo(pull.repo).into(),
        "headRepository" => Val::option(pull.head_repo.map(Node::Repo)),
        "headRepositoryOwner" => common::actor(ctx, pull.head_owner),
        "isCrossRepository" => (pull.head_repo != Some(pull.repo)).into(),
        "maintainerCanModify" => pull.maintainer_can_modify.into(),
        "locked" => pull.locked.is_some().into(),
        "activeLockReason" => Val::option(pull.locked.clone().flatten()),
        "isInMergeQueue" => ctx.state().queue.contains(&pull.id).into(),
        "isMergeQueueEnabled" => ctx
            .state()
            .wanted(pull.repo, &pull.base_branch)
            .iter()
            .any(|wanted| wanted.queue.is_some())
            .into(),
        _ => return None,
    })
}

/// Returns the changes of a pull request. The double computes them only once.
pub(crate) fn summary(ctx: &Ctx<'_>, pull: &Pull) -> Result<DiffSummary, Fail> {
    let key = (pull.repo, pull.base_oid.clone(), pull.head_oid.clone());
    if let Some(summary) = ctx.state().diff_cache.get(&key) {
        return Ok(summary.clone());
    }
    let dir = ctx.repo(pull.repo)?.git_dir;
    let summary = git::summary(&dir, &pull.base_oid, &pull.head_oid)?;
    ctx.state().diff_cache.insert(key, summary.clone());
    Ok(summary)
}

fn in_git(ctx: &Ctx<'_>, pull: &Pull, name: &str, _args: &Args) -> Resolved {
    let exists = |repo: Id, branch: &str| {
        let dir = ctx
            .state()
            .repos
            .get(&repo)
            .map(|repo| repo.git_dir.clone());
        dir.is_some_and(|dir| git::branch(&dir, branch).is_some())
    };
    Ok(Some(match name {
        "additions" => summary(ctx, pull)?.totals().0.into(),
        "deletions" => summary(ctx, pull)?.totals().1.into(),
        "changedFiles" => summary(ctx, pull)?.files.len().into(),
        "files" => {
            let files = summary(ctx, pull)?.files;
            let nodes = files.into_iter().map(|file| {
                let change = match file.letter {
                    'A' => "ADDED",
                    'D' => "DELETED",
                    'R' => "RENAMED",
                    'C' => "COPIED",
                    'T' => "CHANGED",
                    _ => "MODIFIED",
                };
                Val::record(
                    "PullRequestChangedFile",
                    vec![
                        ("path", file.path.into()),
                        ("additions", file.additions.into()),
                        ("deletions", file.deletions.into()),
                        ("changeType", change.into()),
                        ("viewerViewedState", "UNVIEWED".into()),
                    ],
                )
            });
            Val::Connection(Connection {
                nodes: nodes.collect(),
                ..Connection::default()
            })
        }
        "commits" => {
            let oids = commit_oids(ctx, pull)?;
            Val::connection(oids.into_iter().map(|oid| Node::PullCommit(pull.id, oid)))
        }
        "headRef" => match pull
            .head_repo
            .filter(|repo| exists(*repo, &pull.head_branch))
        {
            Some(repo) => Node::Ref(repo, format!("refs/heads/{}", pull.head_branch)).into(),
            None => Val::NULL,
        },
        "baseRef" if exists(pull.repo, &pull.base_branch) => {
            Node::Ref(pull.repo, format!("refs/heads/{}", pull.base_branch)).into()
        }
        "potentialMergeCommit" => {
            if pull.state == PullState::Open && pull.lazy == Lazy::Known {
                let tried = tried_merge(ctx, pull)?;
                Val::option(tried.map(|oid| Node::Commit(pull.repo, oid)))
            } else {
                Val::NULL
            }
        }
        _ => return Ok(None),
    }))
}

/// Returns the commit of a test merge. Its id stays the same until the head or the base moves.
fn tried_merge(ctx: &Ctx<'_>, pull: &Pull) -> Result<Option<String>, Fail> {
    let dir = ctx.repo(pull.repo)?.git_dir;
    let (base, head) = (pull.base_oid.as_str(), pull.head_oid.as_str());
    let Some(tree) = git::merge_tree(&dir, base, head)? else {
        return Ok(None);
    };
    let github = git::Person {
        name: "GitHub".to_owned(),
        email: "noreply@github.com".to_owned(),
        date: pull.created_at.clone(),
    };
    let message = format!("Merge {head} into {base}");
    let parents = [base, head];
    Ok(Some(git::commit_tree(
        &dir, &tree, &parents, &message, &github, &github,
    )?))
}

fn commit_oids(ctx: &Ctx<'_>, pull: &Pull) -> Result<Vec<String>, Fail> {
    let merge_base = summary(ctx, pull)?.merge_base;
    let dir = ctx.repo(pull.repo)?.git_dir;
    let commits = git::commits(&dir, &format!("{merge_base}..{}", pull.head_oid))?;
    let mut state = ctx.state();
    Ok(commits
        .into_iter()
        .map(|commit| {
            let oid = commit.oid.clone();
            state.commit_cache.insert((pull.repo, oid.clone()), commit);
            oid
        })
        .collect())
}

fn people(ctx: &Ctx<'_>, pull: &Pull, name: &str, args: &Args) -> Resolved {
    Ok(Some(match name {
        "assignees" => common::users(ctx, &pull.assignees),
        "assignedActors" => common::actors(ctx, &pull.assignees),
        "suggestedActors" => suggested_actors(ctx, pull.repo, args)?,
        "suggestedReviewerActors" => {
            let repo = ctx.repo(pull.repo)?;
            let ids: Vec<Id> = repository::assignable(ctx, &repo)
                .into_iter()
                .filter(|id| *id != pull.author && matches(&ctx.state(), *id, args))
                .collect();
            let state = ctx.state();
            Val::connection(ids.into_iter().map(|id| account_node(&state, id)))
        }
        "participants" => {
            let state = ctx.state();
            let mut ids = vec![pull.author];
            let comments = state.comments.values().filter(|it| it.subject == pull.id);
            ids.extend(comments.map(|comment| comment.author));
            let reviews = state.reviews.values().filter(|it| it.pull == pull.id);
            ids.extend(reviews.map(|review| review.author));
            ids.sort_unstable();
            ids.dedup();
            Val::connection(ids.into_iter().map(Node::User))
        }
        _ => return Ok(None),
    }))
}

fn matches(state: &State, id: Id, args: &Args) -> bool {
    let wanted = args.str("query").unwrap_or_default().to_lowercase();
    state.login(id).to_lowercase().contains(&wanted)
}

/// Returns the accounts that can be assigned, as the menus on GitHub's pages list them.
pub(super) fn suggested_actors(ctx: &Ctx<'_>, repo: Id, args: &Args) -> Result<Val, Fail> {
    let repo = ctx.repo(repo)?;
    let ids: Vec<Id> = repository::assignable(ctx, &repo)
        .into_iter()
        .filter(|id| matches(&ctx.state(), *id, args))
        .collect();
    Ok(common::actors(ctx, &ids))
}

fn viewer(ctx: &Ctx<'_>, pull: &Pull, name: &str, args: &Args) -> Resolved {
    let can = |least| ctx.permission(pull.repo) >= Some(least);
    let own = pull.author == ctx.viewer;
    let open = pull.state == PullState::Open;
    Ok(Some(match name {
        "viewerCanUpdate" | "viewerCanClose" | "viewerCanReopen" => {
            (own || can(Permission::Triage)).into()
        }
        "viewerCanLabel" => can(Permission::Triage).into(),
        "viewerCanMergeAsAdmin" => {
            (open && can(Permission::Write) && rules::may_bypass(ctx, pull)).into()
        }
        "viewerCanUpdateBranch" | "viewerCanEditFiles" => {
            (open && (own || can(Permission::Write))).into()
        }
        "viewerCanEnableAutoMerge" => {
            let allowed = ctx.repo(pull.repo)?.allow_auto_merge;
            (open && allowed && pull.auto_merge.is_none() && can(Permission::Write)).into()
        }
        "viewerCanDisableAutoMerge" => (pull.auto_merge.is_some() && can(Permission::Write)).into(),
        "viewerCanDeleteHeadRef" => (!open
            && pull.head_repo.and_then(|repo| ctx.permission(repo)) >= Some(Permission::Write))
        .into(),
        "viewerMergeHeadlineText" | "viewerMergeBodyText" => {
            let repo = ctx.repo(pull.repo)?;
            let method = args.str("mergeType").unwrap_or("MERGE");
            let (headline, body) = messages::default(&ctx.state(), &repo.git_dir, pull, method);
            if name == "viewerMergeBodyText" {
                body
            } else {
                headline
            }
            .into()
        }
        _ => return Ok(None),
    }))
}

pub(crate) fn queue_entry(ctx: &Ctx<'_>, id: Id) -> Val {
    let place = ctx.state().queue.iter().position(|it| *it == id);
    let Some(place) = place else {
        return Val::NULL;
    };
    let created_at = get(ctx, id).map(|pull| pull.updated_at);
    Val::record(
        "MergeQueueEntry",
        vec![
            ("id", format!("MQE_{id}").into()),
            ("position", (place + 1).into()),
            ("state", "QUEUED".into()),
            ("jump", false.into()),
            ("solo", false.into()),
            ("enqueuer", common::actor(ctx, ctx.viewer)),
            ("enqueuedAt", Val::option(created_at.ok())),
            ("pullRequest", Node::Pull(id).into()),
        ],
    )
}

fn auto_merge(ctx: &Ctx<'_>, pull: &Pull) -> Val {
    let Some(auto) = &pull.auto_merge else {
        return Val::NULL;
    };
    Val::record(
        "AutoMergeRequest",
        vec![
            ("enabledAt", (&auto.at).into()),
            ("enabledBy", common::actor(ctx, auto.by)),
            ("mergeMethod", (&auto.method).into()),
            ("commitHeadline", Val::option(auto.headline.as_ref())),
            ("commitBody", Val::option(auto.body.as_ref())),
            ("authorEmail", Val::option(auto.email.as_ref())),
            ("pullRequest", Node::Pull(pull.id).into()),
        ],
    )
}

/// Returns the issues that keywords in a pull request's body close.
pub(crate) fn closing_issues(state: &State, pull: &Pull) -> Vec<Id> {
    const WORDS: [&str; 9] = [
        "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
    ];
    let default = state
        .repos
        .get(&pull.repo)
        .is_some_and(|repo| repo.default_branch == pull.base_branch);
    if !default {
        return Vec::new();
    }
    let body = crate::references::without_code(&pull.body);
    let words: Vec<&str> = body.split_whitespace().collect();
    let mut found = Vec::new();
    for pair in words.windows(2) {
        let [word, target] = pair else { continue };
        let word = word.trim_end_matches(':').to_lowercase();
        if !WORDS.contains(&word.as_str()) {
            continue;
        }
        let Some((name, rest)) = target.split_once('#') else {
            continue;
        };
        let repo = match name.split_once('/') {
            Some((owner, name)) => state.repo(owner, name).map(|repo| repo.id),
            None => name.is_empty().then_some(pull.repo),
        };
        let digits = rest.trim_end_matches(|it: char| !it.is_ascii_digit());
        let issue = repo
            .zip(digits.parse().ok())
            .and_then(|(repo, number)| state.issue(repo, number));
        if let Some(issue) = issue
            && !found.contains(&issue.id)
        {
            found.push(issue.id);
        }
    }
    found
}

/// Returns the review decision, or `None` if no review is required and no review exists.
pub(crate) fn decision(state: &State, pull: &Pull) -> Option<&'static str> {
    let verdicts = review::verdicts(state, pull);
    if verdicts.against > 0 {
        return Some("CHANGES_REQUESTED");
    }
    let (required, enough) = rules::review_state(state, pull);
    if !verdicts.approvers.is_empty() && enough {
        return Some("APPROVED");
    }
    required.then_some("REVIEW_REQUIRED")
}

pub(super) fn commit_field(ctx: &Ctx<'_>, id: Id, oid: &str, name: &str) -> Resolved {
    let pull = get(ctx, id)?;
    Ok(Some(match name {
        "commit" => {
            // Reading the commit fails if it was deleted.
            commit::info(ctx, pull.repo, oid)?;
            Node::Commit(pull.repo, oid.to_owned()).into()
        }
        "pullRequest" => Node::Pull(id).into(),
        "url" => format!(
            "{}/pull/{}/commits/{oid}",
            ctx.repo_url(pull.repo),
            pull.number
        )
        .into(),
        _ => return Ok(None),
    }))
}

pub(super) fn request_field(ctx: &Ctx<'_>, id: Id, index: usize, name: &str) -> Resolved {
    let pull = get(ctx, id)?;
    Ok(Some(match name {
        "databaseId" => id.into(),
        "pullRequest" => Node::Pull(id).into(),
        "asCodeOwner" => {
            let owners = rules::owned_by(&ctx.state(), &pull);
            let asked = pull.requested.get(index);
            let owns = asked.is_some_and(|it| owners.iter().flatten().any(|owner| owner == it));
            owns.into()
        }
        "requestedReviewer" => match pull.requested.get(index) {
            Some(Reviewer::Account(account)) => common::actor(ctx, *account),
            Some(Reviewer::Team(team)) => Node::Team(*team).into(),
            None => Val::NULL,
        },
        _ => return Ok(None),
    }))
}
