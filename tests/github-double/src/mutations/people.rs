//! Mutations of assignees and reviewers.

use super::{Payload, ids_of, pull::with_pull, pull_target, subject, target, touch};
use crate::{
    actions,
    graphql::{Args, Ctx, Fail, Node},
    resolve::get_pull,
    state::{AccountKind, EventKind, Id, Permission, Reviewer},
};

fn account(node: &Node) -> Option<Id> {
    match node {
        Node::User(id) | Node::Bot(id) => Some(*id),
        _ => None,
    }
}

fn assignees(ctx: &Ctx<'_>, node: &Node, change: impl FnOnce(&mut Vec<Id>)) -> Payload {
    {
        let mut state = ctx.state();
        let (id, list) = match node {
            Node::Pull(id) => (*id, state.pulls.get_mut(id).map(|it| &mut it.assignees)),
            Node::Issue(id) => (*id, state.issues.get_mut(id).map(|it| &mut it.assignees)),
            _ => (0, None),
        };
        let mut events = Vec::new();
        if let Some(list) = list {
            let before = list.clone();
            change(list);
            let new = list.iter().filter(|it| !before.contains(it));
            events.extend(new.map(|it| EventKind::Assigned(*it)));
            let gone = before.iter().filter(|it| !list.contains(it));
            events.extend(gone.map(|it| EventKind::Unassigned(*it)));
        }
        for event in events {
            actions::log(&mut state, id, ctx.viewer, event);
        }
    }
    touch(ctx, node);
    Ok(vec![("assignable", node.clone().into())])
}

pub(super) fn add_assignees(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let node = target(ctx, input, "assignableId")?;
    let (repo, _) = subject(ctx, &node)?;
    ctx.require(repo, Permission::Triage, "AddAssigneesToAssignable")?;
    let ids = input.strings("assigneeIds").unwrap_or_default();
    let ids = ids_of(ctx, &ids, account)?;
    assignees(ctx, &node, |assigned| {
        for id in ids {
            if !assigned.contains(&id) {
                assigned.push(id);
            }
        }
    })
}

pub(super) fn remove_assignees(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let node = target(ctx, input, "assignableId")?;
    let (repo, _) = subject(ctx, &node)?;
    ctx.require(repo, Permission::Triage, "RemoveAssigneesFromAssignable")?;
    let ids = input.strings("assigneeIds").unwrap_or_default();
    let ids = ids_of(ctx, &ids, account)?;
    assignees(ctx, &node, |assigned| {
        assigned.retain(|id| !ids.contains(id))
    })
}

pub(super) fn replace_actors(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let node = target(ctx, input, "assignableId")?;
    let (repo, _) = subject(ctx, &node)?;
    ctx.require(repo, Permission::Triage, "ReplaceActorsForAssignable")?;
    let ids = input.strings("actorIds").unwrap_or_default();
    let mut ids = ids_of(ctx, &ids, account)?;
    ids.extend(by_login(
        ctx,
        &input.strings("actorLogins").unwrap_or_default(),
    )?);
    assignees(ctx, &node, |assigned| *assigned = ids)
}

fn by_login(ctx: &Ctx<'_>, logins: &[String]) -> Result<Vec<Id>, Fail> {
    let state = ctx.state();
    logins
        .iter()
        .map(|login| {
            let plain = login.strip_suffix("[bot]").unwrap_or(login);
            state
                .account(plain)
                .filter(|account| account.kind != AccountKind::Organization)
                .map(|account| account.id)
                .ok_or_else(|| {
                    Fail::not_found(format!("Could not resolve user with login '{login}'."))
                })
        })
        .collect()
}

pub(super) fn request_reviews(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let list = |name: &str| input.strings(name).unwrap_or_default();
    let users = ids_of(ctx, &[list("userIds"), list("botIds")].concat(), account)?;
    let teams = ids_of(ctx, &list("teamIds"), |node| match node {
        Node::Team(id) => Some(*id),
        _ => None,
    })?;
    request(ctx, input, users, teams, "RequestReviews")
}

pub(super) fn request_reviews_by_login(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let list = |name: &str| input.strings(name).unwrap_or_default();
    let users = by_login(ctx, &[list("userLogins"), list("botLogins")].concat())?;
    let teams = {
        let state = ctx.state();
        let find = |slug: &String| {
            let short = slug.rsplit('/').next().unwrap_or(slug);
            let team = state.teams.values().find(|team| team.slug == short);
            team.map(|team| team.id).ok_or_else(|| {
                Fail::not_found(format!("Could not resolve team with slug '{slug}'."))
            })
        };
        list("teamSlugs")
            .iter()
            .map(find)
            .collect::<Result<Vec<_>, _>>()?
    };
    request(ctx, input, users, teams, "RequestReviewsByLogin")
}

fn request(ctx: &Ctx<'_>, input: &Args, users: Vec<Id>, teams: Vec<Id>, mutation: &str) -> Payload {
    let id = pull_target(ctx, input, "pullRequestId")?;
    let pull = get_pull(ctx, id)?;
    super::author_or(ctx, &Node::Pull(id), Permission::Triage, mutation)?;
    if users.contains(&pull.author) {
        return Err(Fail::unprocessable(
            "Review cannot be requested from pull request author.",
        ));
    }
    let repo = ctx.repo(pull.repo)?;
    {
        let state = ctx.state();
        let stranger = users.iter().any(|user| {
            let bot = state
                .accounts
                .get(user)
                .is_some_and(|account| account.kind == AccountKind::Bot);
            let known = *user == repo.owner
                || repo.collaborators.contains_key(user)
                || state
                    .accounts
                    .get(&repo.owner)
                    .is_some_and(|owner| owner.members.contains_key(user));
            !bot && !known
        }) || teams.iter().any(|team| {
            state
                .teams
                .get(team)
                .is_none_or(|team| team.org != repo.owner)
        });
        if stranger {
            return Err(Fail::unprocessable(format!(
                "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the {} repository.",
                state.full_name(repo.id)
            )));
        }
    }
    let wanted = users
        .into_iter()
        .map(Reviewer::Account)
        .chain(teams.into_iter().map(Reviewer::Team));
    {
        let mut state = ctx.state();
        let before = pull.requested.clone();
        let mut requested = if input.bool("union").unwrap_or(false) {
            before.clone()
        } else {
            Vec::new()
        };
        for reviewer in wanted {
            if !requested.contains(&reviewer) {
                requested.push(reviewer);
            }
        }
        for reviewer in requested.iter().filter(|it| !before.contains(it)) {
            actions::log(
                &mut state,
                id,
                ctx.viewer,
                EventKind::ReviewRequested(*reviewer),
            );
        }
        if let Some(pull) = state.pulls.get_mut(&id) {
            pull.requested = requested;
        }
    }
    touch(ctx, &Node::Pull(id));
    with_pull(id, Vec::new())
}
