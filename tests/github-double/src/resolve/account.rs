//! Resolves fields of users, organisations, bots and teams.

use super::common;
use crate::{
    graphql::{Args, Connection, Ctx, Fail, Node, Resolved, TEAM_SCOPES, Val},
    state::{AccountKind, Id, PullState},
};

pub(super) fn field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(account) = ctx.state().accounts.get(&id).cloned() else {
        return Err(common::gone("User"));
    };
    let url = format!("{}/{}", ctx.web, account.login);
    Ok(Some(match name {
        "login" => account.login.into(),
        "name" => Val::option(account.name),
        "url" => url.into(),
        "avatarUrl" => format!("{}/avatars/u/{id}?v=4", ctx.web).into(),
        "databaseId" => id.into(),
        "createdAt" | "updatedAt" => account.created_at.into(),
        "email" if account.kind == AccountKind::User => "".into(),
        "isViewer" => (id == ctx.viewer).into(),
        "membersUrl" | "teamsUrl" | "newTeamUrl" | "projectsUrl" => {
            format!("{url}/{}", name.trim_end_matches("Url")).into()
        }
        "viewerIsAMember" => account.members.contains_key(&ctx.viewer).into(),
        "viewerCanCreateProjects" | "viewerCanAdminister" => {
            (id == ctx.viewer || account.members.contains_key(&ctx.viewer)).into()
        }
        "repository" => {
            let wanted = args.str("name").unwrap_or_default();
            let found = ctx.state().repo(&account.login, wanted).map(|repo| repo.id);
            match found.filter(|repo| ctx.may_see(*repo)) {
                Some(repo) => Node::Repo(repo).into(),
                None => {
                    return Err(Fail::not_found(format!(
                        "Could not resolve to a Repository with the name '{}/{wanted}'.",
                        account.login
                    )));
                }
            }
        }
        "repositories" => {
            let ids: Vec<Id> = ctx
                .state()
                .repos
                .values()
                .filter(|repo| repo.owner == id)
                .filter(|repo| {
                    args.bool("isFork")
                        .is_none_or(|fork| fork == repo.parent.is_some())
                })
                .map(|repo| repo.id)
                .collect();
            Val::connection(
                ids.into_iter()
                    .filter(|repo| ctx.may_see(*repo))
                    .map(Node::Repo),
            )
        }
        "organizations" => {
            let state = ctx.state();
            Val::connection(
                state
                    .accounts
                    .values()
                    .filter(|org| org.members.contains_key(&id))
                    .map(|org| Node::Organization(org.id)),
            )
        }
        "organization" => {
            let state = ctx.state();
            let found = state.account(args.str("login").unwrap_or_default());
            Val::option(
                found
                    .filter(|org| org.members.contains_key(&id))
                    .map(|org| Node::Organization(org.id)),
            )
        }
        "membersWithRole" => {
            ctx.check_scope(
                "membersWithRole",
                &["read:org", "write:org", "admin:org", "repo"],
            )?;
            let members: Vec<Id> = account.members.keys().copied().collect();
            let edges = members
                .iter()
                .map(|_| vec![("role", Val::from("MEMBER"))])
                .collect();
            Val::Connection(Connection {
                nodes: members
                    .into_iter()
                    .map(|id| Val::Object(Node::User(id)))
                    .collect(),
                edges,
                ..Connection::default()
            })
        }
        "teams" => {
            may_read_teams(ctx, "teams")?;
            let state = ctx.state();
            let wanted = args.str("query").unwrap_or_default().to_lowercase();
            let logins = args.strings("userLogins").unwrap_or_default();
            Val::connection(
                state
                    .teams
                    .values()
                    .filter(|team| team.org == id && team.slug.contains(&wanted))
                    .filter(|team| {
                        logins.is_empty()
                            || team
                                .members
                                .iter()
                                .any(|id| logins.iter().any(|it| it == state.login(*id)))
                    })
                    .map(|team| Node::Team(team.id)),
            )
        }
        "team" => {
            may_read_teams(ctx, "team")?;
            let state = ctx.state();
            let slug = args.str("slug").unwrap_or_default();
            let found = state
                .teams
                .values()
                .find(|team| team.org == id && team.slug == slug);
            Val::option(found.map(|team| Node::Team(team.id)))
        }
        "pullRequests" => {
            let state = ctx.state();
            let states = args.strings("states");
            let mut pulls: Vec<_> = state
                .pulls
                .values()
                .filter(|pull| pull.author == id)
                .filter(|pull| {
                    states
                        .as_ref()
                        .is_none_or(|states| states.iter().any(|it| it == pull.state.name()))
                })
                .map(|pull| (pull.id, pull.repo, pull.created_at.clone()))
                .collect();
            drop(state);
            pulls.retain(|(_, repo, _)| ctx.may_see(*repo));
            common::sort_by(&mut pulls, args, |pull, _| pull.2.clone());
            Val::connection(pulls.into_iter().map(|(id, _, _)| Node::Pull(id)))
        }
        "issues" => {
            let state = ctx.state();
            Val::connection(
                state
                    .issues
                    .values()
                    .filter(|issue| issue.author == id && issue.state == PullState::Open)
                    .map(|issue| Node::Issue(issue.id)),
            )
        }
        "projectsV2" | "projectV2" | "recentProjects" => {
            return super::project::of_owner(ctx, id, name, args);
        }
        _ => return Ok(None),
    }))
}

/// Checks that a fine-grained token may read teams. The double refuses a classic token without the
/// scope before execution.
fn may_read_teams(ctx: &Ctx<'_>, field: &str) -> Result<(), Fail> {
    if ctx.token.no_teams {
        return Err(Fail::forbidden(
            "Resource not accessible by personal access token",
        ));
    }
    ctx.check_scope(field, TEAM_SCOPES)
}

pub(super) fn team_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(team) = ctx.state().teams.get(&id).cloned() else {
        return Err(common::gone("Team"));
    };
    may_read_teams(ctx, name)?;
    let org = ctx.state().login(team.org).to_owned();
    let url = format!("{}/orgs/{org}/teams/{}", ctx.web, team.slug);
    Ok(Some(match name {
        "name" => team.name.into(),
        "slug" => team.slug.into(),
        "combinedSlug" => format!("{org}/{}", team.slug).into(),
        "url" => url.into(),
        "databaseId" => id.into(),
        "privacy" => "VISIBLE".into(),
        "createdAt" | "updatedAt" => team.created_at.into(),
        "organization" => Node::Organization(team.org).into(),
        "members" => {
            let wanted = args.str("query").unwrap_or_default().to_lowercase();
            let state = ctx.state();
            let nodes: Vec<Val> = team
                .members
                .iter()
                .filter(|id| state.login(**id).to_lowercase().contains(&wanted))
                .map(|id| Val::Object(Node::User(*id)))
                .collect();
            let edges = nodes
                .iter()
                .map(|_| vec![("role", Val::from("MEMBER"))])
                .collect();
            Val::Connection(Connection {
                nodes,
                edges,
                ..Connection::default()
            })
        }
        _ => return Ok(None),
    }))
}
