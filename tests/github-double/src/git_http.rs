//! Serves git's smart HTTP protocol for the bare repositories, with `git http-backend`.

use forge_double_wire::cgi;

use super::{
    actions,
    reply::{self, Reply},
    server::{Incoming, Shared},
    state::{Id, Permission, State},
};

/// Splits the path of a git request into owner, name and service.
pub(crate) fn repository(path: &str) -> Option<(&str, &str, &str)> {
    let rest = path.strip_prefix('/')?;
    let (owner, rest) = rest.split_once('/')?;
    let (name, service) = rest.split_once('/')?;
    let git = matches!(
        service,
        "info/refs" | "git-upload-pack" | "git-receive-pack"
    );
    git.then(|| (owner, name.strip_suffix(".git").unwrap_or(name), service))
}

/// Answers a request in git's smart HTTP protocol.
pub(crate) fn serve(shared: &Shared, request: &Incoming) -> Reply {
    let Some((owner, name, service)) = repository(&request.path) else {
        return reply::not_found();
    };
    let push = service == "git-receive-pack" || request.query.contains("git-receive-pack");
    let (id, root, before, actor) = {
        let state = shared.state();
        let viewer = request
            .token
            .as_ref()
            .and_then(|token| state.tokens.get(token))
            .filter(|token| !token.revoked);
        let Some(repo) = state.repo(owner, name) else {
            return refusal_reply(viewer.is_some());
        };
        let least = if push {
            Permission::Write
        } else {
            Permission::Read
        };
        let public = !repo.private && !push;
        let permission = viewer.and_then(|token| {
            let granted = state.permission(token.account, repo);
            let by_maintainer = maintainer_may_push(&state, repo.id, token.account);
            granted.max(by_maintainer.then_some(Permission::Write))
        });
        let open = shared.open_git;
        if !public && !open && permission < Some(least) {
            return refusal_reply(viewer.is_some());
        }
        let actor = viewer.map_or(repo.owner, |token| token.account);
        let before = if push {
            actions::branches(&state, repo.id)
        } else {
            actions::Branches::new()
        };
        (repo.id, state.root.clone(), before, actor)
    };
    let reply = cgi::git(
        &root,
        &format!("/{id}.git/{service}"),
        &cgi::Request {
            method: &request.method,
            query: &request.query,
            headers: &request.headers,
            body: &request.body,
        },
    );
    if service == "git-receive-pack" {
        let mut state = shared.state();
        actions::refs_moved(&mut state, id, &before, actor);
    }
    reply
}

/// Returns true if an account may push to a fork because a pull request's author allows edits by
/// maintainers.
fn maintainer_may_push(state: &State, repo: Id, account: Id) -> bool {
    state.pulls.values().any(|pull| {
        pull.head_repo == Some(repo)
            && pull.maintainer_can_modify
            && state
                .repos
                .get(&pull.repo)
                .and_then(|base| state.permission(account, base))
                >= Some(Permission::Write)
    })
}

fn refusal_reply(known: bool) -> Reply {
    if known {
        return Reply::text(404, "text/plain", b"Repository not found.\n".to_vec());
    }
    let mut reply = Reply::text(
        401,
        "text/plain",
        b"remote: Authentication required\n".to_vec(),
    );
    reply.set("www-authenticate", "Basic realm=\"GitHub\"");
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_paths_are_distinguished_from_web_paths() {
        assert_eq!(
            repository("/o/r.git/info/refs"),
            Some(("o", "r", "info/refs"))
        );
        assert_eq!(
            repository("/o/r/git-receive-pack"),
            Some(("o", "r", "git-receive-pack"))
        );
        assert_eq!(repository("/o/r/pull/1"), None);
        assert_eq!(repository("/graphql"), None);
    }
}
