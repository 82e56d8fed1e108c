//! The REST routes that clients use for pull requests in addition to GraphQL.

mod assets;
mod compare;
mod logs;
mod merge;
mod pulls;
mod refs;
mod repos;
mod reviewers;
mod rules;
mod runs;
mod stacks;
mod statuses;

use serde_json::{Value, json};

pub(crate) use logs::stored;

use super::{
    graphql::{Ctx, Node, account_node, node_id},
    reply::{self, Reply},
    server::{Incoming, reset_at},
    state::{AccountKind, Id, POINTS_AN_HOUR, Permission, Repo},
};

pub(crate) fn answer(ctx: &Ctx<'_>, request: &Incoming) -> Reply {
    let parts: Vec<String> = request
        .rest_path()
        .trim_matches('/')
        .split('/')
        .map(decode)
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET" | "HEAD", [""]) => Reply::json(200, &json!({ "current_user_url": ctx.web })),
        ("GET", ["user"]) => Reply::json(200, &profile(ctx, ctx.viewer)),
        ("GET", ["users", login]) => user(ctx, login),
        ("GET", ["rate_limit"]) => rate_limit(ctx),
        ("POST", ["user-attachments", "assets"]) => assets::upload(ctx, request),
        ("POST", ["orgs", owner, "repos"]) => repos::create(ctx, request, Some(owner)),
        ("POST", ["user", "repos"]) => repos::create(ctx, request, None),
        (method, ["repos", owner, name, rest @ ..]) => {
            let repo = match find(ctx, owner, name) {
                Ok(repo) => repo,
                Err(reply) => return reply,
            };
            let current = ctx.state().full_name(repo.id);
            if current.eq_ignore_ascii_case(&format!("{owner}/{name}")) {
                in_repo(ctx, request, method, &repo, rest)
            } else {
                redirect(ctx, request, &repo)
            }
        }
        (method, ["repositories", id, rest @ ..]) => {
            let id = id.parse().unwrap_or_default();
            match ctx.repo(id).ok().filter(|repo| ctx.may_see(repo.id)) {
                Some(repo) => in_repo(ctx, request, method, &repo, rest),
                None => reply::not_found(),
            }
        }
        _ => reply::not_found(),
    }
}

fn in_repo(ctx: &Ctx<'_>, request: &Incoming, method: &str, repo: &Repo, rest: &[&str]) -> Reply {
    match (method, rest) {
        ("GET", []) => Reply::json(200, &repos::json(ctx, repo)),
        ("DELETE", []) => repos::delete(ctx, repo),
        ("PATCH", []) => repos::edit(ctx, request, repo),
        ("POST", ["forks"]) => repos::fork(ctx, request, repo),
        ("GET", ["git", "ref" | "refs", name @ ..]) => refs::get(repo, &name.join("/")),
        ("DELETE", ["git", "refs", name @ ..]) => refs::delete(ctx, repo, &name.join("/")),
        ("GET", ["compare", range]) => compare::answer(ctx, request, repo, range),
        ("GET", ["pulls", number]) => pulls::get(ctx, request, repo, number),
        ("DELETE", ["pulls", number, "requested_reviewers"]) => {
            reviewers::remove(ctx, request, repo, number)
        }
        ("GET", ["rules", "branches", branch @ ..]) => {
            rules::of_branch(ctx, request, repo, &branch.join("/"))
        }
        ("GET", ["rulesets"]) => rules::rulesets(ctx, repo, None),
        ("GET", ["rulesets", id]) => rules::rulesets(ctx, repo, Some(id)),
        ("GET", ["branches", branch @ .., "protection"]) => {
            rules::protection(ctx, repo, &branch.join("/"))
        }
        ("GET", ["branches", branch @ ..]) => rules::branch(repo, &branch.join("/")),
        ("PUT", ["pulls", number, "merge"]) => merge::now(ctx, request, repo, number),
        ("PUT", ["pulls", number, "merge-async"]) => merge::start(ctx, request, repo, number),
        ("GET", ["pulls", _, "merge-async", key]) => merge::poll(ctx, key),
        (method, ["stacks", rest @ ..]) => stacks::answer(ctx, request, method, repo, rest),
        ("GET", ["actions", "jobs", job, "logs"]) => logs::redirect(ctx, repo, job),
        ("POST", ["actions", "runs", run, "rerun-failed-jobs"]) => runs::rerun(ctx, repo, run),
        ("POST", ["statuses", oid]) => statuses::create(ctx, request, repo, oid),
        ("GET", ["pulls", number, "files"]) => pulls::files(ctx, request, repo, number),
        _ => reply::not_found(),
    }
}

/// Returns GitHub's redirect from the old name of a repository to its number.
fn redirect(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo) -> Reply {
    let path = request.rest_path().trim_start_matches('/');
    let rest = path.splitn(4, '/').nth(3);
    let rest = rest.map(|rest| format!("/{rest}")).unwrap_or_default();
    let query = if request.query.is_empty() {
        String::new()
    } else {
        format!("?{}", request.query)
    };
    let api = ctx.web.replacen("://", "://api.", 1);
    let status = match request.method.as_str() {
        "GET" | "HEAD" => 301,
        _ => 307,
    };
    let url = format!("{api}/repositories/{}{rest}{query}", repo.id);
    let documentation_url = "https://docs.github.com/v3/#http-redirects";
    let mut reply = Reply::json(
        status,
        &json!({ "message": "Moved Permanently", "url": url, "documentation_url": documentation_url }),
    );
    reply.set("location", url);
    reply
}

/// Decodes the `%XX` sequences in a text.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match code {
            Some(code) if *first == b'%' => {
                bytes.push(code);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the repository if the viewer may see it. `Err` is the answer that hides it.
fn find(ctx: &Ctx<'_>, owner: &str, name: &str) -> Result<Repo, Reply> {
    let found = ctx.state().repo(owner, name).cloned();
    let Some(repo) = found.filter(|repo| ctx.may_see(repo.id)) else {
        return Err(reply::not_found());
    };
    ctx.check_sso(repo.owner)
        .map_err(|fail| reply::message(403, &fail.message))?;
    Ok(repo)
}

/// Checks the viewer's permission. `Err` is the answer to a viewer who lacks it.
fn require(ctx: &Ctx<'_>, repo: &Repo, least: Permission) -> Result<(), Reply> {
    if ctx.token.read_only {
        return Err(reply::message(
            403,
            "Resource not accessible by personal access token",
        ));
    }
    if ctx.permission(repo.id) >= Some(least) {
        return Ok(());
    }
    Err(if least == Permission::Admin {
        reply::message(403, "Must have admin rights to Repository.")
    } else {
        reply::not_found()
    })
}

fn user(ctx: &Ctx<'_>, login: &str) -> Reply {
    let found = ctx.state().account(login).map(|account| account.id);
    found.map_or_else(reply::not_found, |id| Reply::json(200, &profile(ctx, id)))
}

/// Formats an account as REST does where it is only named.
fn account(ctx: &Ctx<'_>, id: Id) -> Value {
    let state = ctx.state();
    let kind = match state.accounts.get(&id).map(|account| account.kind) {
        Some(AccountKind::Organization) => "Organization",
        Some(AccountKind::Bot) => "Bot",
        _ => "User",
    };
    let login = state.login(id);
    let api = ctx.web.replacen("://", "://api.", 1);
    let mut account = json!({
        "login": login,
        "id": id,
        "node_id": node_id(&account_node(&state, id)),
        "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
        "gravatar_id": "",
        "url": format!("{api}/users/{login}"),
        "html_url": format!("{}/{login}", ctx.web),
        "type": kind,
        "user_view_type": "public",
        "site_admin": false,
    });
    for (name, path) in [
        ("followers_url", "followers"),
        ("following_url", "following{/other_user}"),
        ("gists_url", "gists{/gist_id}"),
        ("starred_url", "starred{/owner}{/repo}"),
        ("subscriptions_url", "subscriptions"),
        ("organizations_url", "orgs"),
        ("repos_url", "repos"),
        ("events_url", "events{/privacy}"),
        ("received_events_url", "received_events"),
    ] {
        account[name] = format!("{api}/users/{login}/{path}").into();
    }
    account
}

/// Formats an account as REST does where it is asked for.
fn profile(ctx: &Ctx<'_>, id: Id) -> Value {
    let mut profile = account(ctx, id);
    let state = ctx.state();
    let name = state
        .accounts
        .get(&id)
        .and_then(|account| account.name.clone());
    profile["name"] = json!(name);
    profile
}

fn rate_limit(ctx: &Ctx<'_>) -> Reply {
    let remaining = ctx.remaining();
    let resource = json!({
        "limit": POINTS_AN_HOUR,
        "used": POINTS_AN_HOUR.saturating_sub(remaining),
        "remaining": remaining,
        "reset": reset_at().0,
    });
    Reply::json(
        200,
        &json!({
            "resources": { "core": resource, "graphql": resource, "search": resource },
            "rate": resource,
        }),
    )
}

fn query<'a>(request: &'a Incoming, name: &str) -> Option<&'a str> {
    request
        .query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

/// Returns the page of a list that a request asks for: its size and its number.
fn page_of(request: &Incoming) -> (usize, usize) {
    let number_of = |name: &str, otherwise: usize| {
        query(request, name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(otherwise)
    };
    let size = number_of("per_page", 30).clamp(1, 100);
    (size, number_of("page", 1).max(1))
}

/// Adds the links to the next and the last page, unless the answer is the last page of a list with
/// `all` rows.
fn link_pages(
    ctx: &Ctx<'_>,
    reply: &mut Reply,
    repo: &Repo,
    route: &str,
    (size, page): (usize, usize),
    all: usize,
) {
    let last = all.div_ceil(size).max(1);
    if page >= last {
        return;
    }
    let link = |page: usize, rel: &str| {
        format!(
            "<{}/repos/{}/{route}?per_page={size}&page={page}>; rel=\"{rel}\"",
            ctx.web.replacen("://", "://api.", 1),
            ctx.state().full_name(repo.id),
        )
    };
    let links = format!("{}, {}", link(page + 1, "next"), link(last, "last"));
    reply.set("link", links);
}

/// Returns the global id of a repository.
fn repo_node(id: Id) -> String {
    node_id(&Node::Repo(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_escapes_are_decoded_unless_invalid() {
        assert_eq!(decode("refs%2Fheads%2Fx"), "refs/heads/x");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz"), "%zz");
        assert_eq!(decode("%c3%bc"), "ü");
    }
}
