//! Resolves the fields of the root type `Query`.

use serde_json::Value;

use crate::{
    graphql::{Args, Connection, Ctx, Fail, Node, Resolved, Val, account_node, find},
    search,
    state::{AccountKind, Id},
};

pub(super) fn field(ctx: &Ctx<'_>, name: &str, args: &Args) -> Resolved {
    Ok(Some(match name {
        "viewer" => ctx.viewer_node().into(),
        "relay" => Node::Query.into(),
        "repository" => repository(ctx, args)?,
        "repositoryOwner" => owner(ctx, args, |_| true, "RepositoryOwner").unwrap_or(Val::NULL),
        "user" => owner(ctx, args, |kind| kind == AccountKind::User, "User")?,
        "organization" => {
            let found = owner(
                ctx,
                args,
                |kind| kind == AccountKind::Organization,
                "Organization",
            )?;
            if let Val::Object(Node::Organization(id)) = found {
                ctx.check_sso(id)?;
            }
            found
        }
        "node" => node(ctx, args.str("id").unwrap_or_default())?,
        "nodes" => {
            let ids = args.strings("ids").unwrap_or_default();
            Val::List(
                ids.iter()
                    .map(|id| node(ctx, id).unwrap_or(Val::NULL))
                    .collect(),
            )
        }
        "resource" => resource(ctx, args.str("url").unwrap_or_default()),
        "rateLimit" => rate_limit(ctx),
        "search" => search_field(ctx, args)?,
        _ => return Ok(None),
    }))
}

fn repository(ctx: &Ctx<'_>, args: &Args) -> Result<Val, Fail> {
    let owner = args.str("owner").unwrap_or_default();
    let name = args.str("name").unwrap_or_default();
    let found = ctx
        .state()
        .repo(owner, name)
        .map(|repo| (repo.id, repo.owner));
    if let Some((id, owner)) = found
        && ctx.may_see(id)
    {
        ctx.check_sso(owner)?;
        return Ok(Node::Repo(id).into());
    }
    Err(Fail::not_found(format!(
        "Could not resolve to a Repository with the name '{owner}/{name}'."
    )))
}

fn owner(
    ctx: &Ctx<'_>,
    args: &Args,
    is: impl Fn(AccountKind) -> bool,
    what: &str,
) -> Result<Val, Fail> {
    let login = args.str("login").unwrap_or_default();
    let state = ctx.state();
    match state.account(login).filter(|account| is(account.kind)) {
        Some(account) => Ok(account_node(&state, account.id).into()),
        None => Err(Fail::not_found(format!(
            "Could not resolve to {} {what} with the login of '{login}'.",
            if what.starts_with('O') { "an" } else { "a" }
        ))),
    }
}

pub(crate) fn repo_of(ctx: &Ctx<'_>, node: &Node) -> Option<Id> {
    let state = ctx.state();
    let of_pull = |id: &Id| state.pulls.get(id).map(|pull| pull.repo);
    let of_subject = |id: &Id| of_pull(id).or_else(|| state.issues.get(id).map(|it| it.repo));
    match node {
        Node::Repo(id) | Node::Ref(id, _) | Node::Commit(id, _) => Some(*id),
        Node::Pull(id) => of_pull(id),
        Node::Issue(id) => state.issues.get(id).map(|issue| issue.repo),
        Node::Label(id) => state.labels.get(id).map(|label| label.repo),
        Node::Milestone(id) => state.milestones.get(id).map(|it| it.repo),
        Node::Comment(id) => of_subject(&state.comments.get(id)?.subject),
        Node::Review(id) => of_pull(&state.reviews.get(id)?.pull),
        Node::Thread(id) => of_pull(&state.threads.get(id)?.pull),
        Node::ReviewComment(id) => {
            let thread = state.review_comments.get(id)?.thread;
            of_pull(&state.threads.get(&thread)?.pull)
        }
        Node::Suite(id) => state.suites.get(id).map(|suite| suite.repo),
        Node::Run(id) => {
            let suite = state.runs.get(id)?.suite;
            state.suites.get(&suite).map(|suite| suite.repo)
        }
        Node::Status(id) => state.statuses.get(id).map(|status| status.repo),
        _ => None,
    }
}

fn node(ctx: &Ctx<'_>, id: &str) -> Result<Val, Fail> {
    let node = find(&ctx.state(), id)?;
    if let Some(repo) = repo_of(ctx, &node)
        && !ctx.may_see(repo)
    {
        return Err(Fail::not_found(format!(
            "Could not resolve to a node with the global id of '{id}'"
        )));
    }
    Ok(node.into())
}

fn resource(ctx: &Ctx<'_>, url: &str) -> Val {
    let path = url.split_once("://").map_or(url, |(_, rest)| {
        rest.split_once('/').map_or("", |(_, path)| path)
    });
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let found = |owner: &str, name: &str| ctx.state().repo(owner, name).map(|repo| repo.id);
    match parts.as_slice() {
        [login] => {
            let state = ctx.state();
            state
                .account(login)
                .map_or(Val::NULL, |account| account_node(&state, account.id).into())
        }
        [owner, name, kind, number, ..] => {
            let number: u64 = number.parse().unwrap_or(0);
            let Some(repo) = found(owner, name).filter(|repo| ctx.may_see(*repo)) else {
                return Val::NULL;
            };
            let state = ctx.state();
            match *kind {
                "pull" => Val::option(state.pull(repo, number).map(|it| Node::Pull(it.id))),
                "issues" => Val::option(state.issue(repo, number).map(|it| Node::Issue(it.id))),
                _ => Val::NULL,
            }
        }
        [owner, name] => Val::option(
            found(owner, name)
                .filter(|repo| ctx.may_see(*repo))
                .map(Node::Repo),
        ),
        _ => Val::NULL,
    }
}

fn rate_limit(ctx: &Ctx<'_>) -> Val {
    let cost = ctx.cost();
    let remaining = ctx.remaining();
    let limit = crate::state::POINTS_AN_HOUR;
    Val::record(
        "RateLimit",
        vec![
            ("cost", cost.points.into()),
            ("limit", limit.into()),
            ("nodeCount", cost.nodes.into()),
            ("remaining", remaining.into()),
            ("used", limit.saturating_sub(remaining).into()),
            ("resetAt", crate::server::reset_at().1.into()),
        ],
    )
}

fn search_field(ctx: &Ctx<'_>, args: &Args) -> Result<Val, Fail> {
    let query = search::Query::parse(args.str("query").unwrap_or_default())?;
    let kind = args.str("type").unwrap_or("ISSUE");
    let nodes = match kind {
        "USER" => search::accounts(ctx, &query),
        "REPOSITORY" => search::repositories(ctx, &query),
        kind if kind.starts_with("ISSUE") => search::issues(ctx, &query),
        _ => Vec::new(),
    };
    let count = |it: bool| Val::Json(Value::from(if it { nodes.len() } else { 0 }));
    let extra = vec![
        ("issueCount", count(kind.starts_with("ISSUE"))),
        ("repositoryCount", count(kind == "REPOSITORY")),
        ("userCount", count(kind == "USER")),
        ("codeCount", count(false)),
        ("discussionCount", count(false)),
        ("wikiCount", count(false)),
    ];
    Ok(Val::Connection(Connection {
        // GitHub's search returns only the first thousand results.
        nodes: nodes.into_iter().take(1_000).map(Val::Object).collect(),
        extra,
        ..Connection::default()
    }))
}
