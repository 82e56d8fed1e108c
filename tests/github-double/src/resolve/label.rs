//! Resolves labels and milestones.

use super::{common, repository};
use crate::{
    graphql::{Args, Ctx, Node, Resolved, Val},
    state::{Id, Permission, PullState},
};

pub(super) fn field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(label) = ctx.state().labels.get(&id).cloned() else {
        return Err(common::gone("Label"));
    };
    Ok(Some(match name {
        "name" => label.name.into(),
        "color" => label.color.into(),
        "description" => Val::option(label.description),
        "createdAt" | "updatedAt" => label.created_at.into(),
        "repository" => Node::Repo(label.repo).into(),
        "url" => {
            let name = label.name.replace(' ', "%20").replace(',', "%2C");
            format!("{}/labels/{name}", ctx.repo_url(label.repo)).into()
        }
        "pullRequests" => {
            let with: Vec<Id> = {
                let state = ctx.state();
                let with = state
                    .pulls
                    .values()
                    .filter(|pull| pull.labels.contains(&id));
                with.map(|pull| pull.id).collect()
            };
            repository::pulls(ctx, args, |_, pull| with.contains(&pull))
        }
        "issues" => super::issue::list(ctx, args, |issue| issue.labels.contains(&id)),
        _ => return Ok(None),
    }))
}

pub(super) fn list(ctx: &Ctx<'_>, repo: Id, args: &Args) -> Val {
    let wanted = args.str("query").unwrap_or_default().to_lowercase();
    let state = ctx.state();
    let mut labels: Vec<_> = state
        .labels
        .values()
        .filter(|label| label.repo == repo && label.name.to_lowercase().contains(&wanted))
        .collect();
    common::sort_by(&mut labels, args, |label, field| match field {
        "NAME" => label.name.to_lowercase(),
        _ => common::sortable(label.id),
    });
    Val::connection(labels.into_iter().map(|label| Node::Label(label.id)))
}

pub(super) fn milestones(ctx: &Ctx<'_>, repo: Id, args: &Args) -> Val {
    let wanted = args.str("query").unwrap_or_default().to_lowercase();
    let states = args.strings("states").filter(|states| !states.is_empty());
    let state = ctx.state();
    let mut milestones: Vec<_> = state
        .milestones
        .values()
        .filter(|it| it.repo == repo && it.title.to_lowercase().contains(&wanted))
        .filter(|it| {
            let name = if it.closed { "CLOSED" } else { "OPEN" };
            states
                .as_ref()
                .is_none_or(|states| states.iter().any(|state| state == name))
        })
        .collect();
    common::sort_by(&mut milestones, args, |it, field| match field {
        "DUE_DATE" => it.due_on.clone().unwrap_or_default(),
        _ => common::sortable(it.number),
    });
    Val::connection(milestones.into_iter().map(|it| Node::Milestone(it.id)))
}

pub(super) fn milestone_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(milestone) = ctx.state().milestones.get(&id).cloned() else {
        return Err(common::gone("Milestone"));
    };
    let counts = || {
        let (mut open, mut closed) = repository::open_pulls(ctx, id);
        let state = ctx.state();
        for issue in state.issues.values().filter(|it| it.milestone == Some(id)) {
            match issue.state {
                PullState::Open => open += 1,
                _ => closed += 1,
            }
        }
        (open, closed)
    };
    Ok(Some(match name {
        "number" => milestone.number.into(),
        "title" => milestone.title.into(),
        "description" => Val::option(milestone.description),
        "dueOn" => Val::option(milestone.due_on),
        "state" => if milestone.closed { "CLOSED" } else { "OPEN" }.into(),
        "closed" => milestone.closed.into(),
        "createdAt" | "updatedAt" => milestone.created_at.into(),
        "creator" => common::actor(ctx, milestone.creator),
        "repository" => Node::Repo(milestone.repo).into(),
        "url" => format!(
            "{}/milestone/{}",
            ctx.repo_url(milestone.repo),
            milestone.number
        )
        .into(),
        "openIssueCount" => counts().0.into(),
        "closedIssueCount" => counts().1.into(),
        "progressPercentage" => {
            let (open, closed) = counts();
            let all = u32::try_from(open + closed).unwrap_or(0);
            let done = u32::try_from(closed).unwrap_or(0);
            let percent = if all == 0 {
                0.0
            } else {
                f64::from(done) * 100.0 / f64::from(all)
            };
            Val::Json(percent.into())
        }
        "viewerCanClose" | "viewerCanReopen" => {
            (ctx.permission(milestone.repo) >= Some(Permission::Write)).into()
        }
        "pullRequests" => {
            let with: Vec<Id> = {
                let state = ctx.state();
                let with = state.pulls.values().filter(|it| it.milestone == Some(id));
                with.map(|pull| pull.id).collect()
            };
            repository::pulls(ctx, args, |_, pull| with.contains(&pull))
        }
        "issues" => super::issue::list(ctx, args, |issue| issue.milestone == Some(id)),
        _ => return Ok(None),
    }))
}
